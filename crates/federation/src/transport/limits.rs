//! How much of a server anybody may take up, and for how long.

use crate::wire::MOST_BYTES;
use std::time::Duration;

/// Limits of a listening server. What is over one of them is refused or closed; others do not notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time, those that are being opened included. Further ones are closed at once.
    pub connections: usize,
    /// Time in which a connection must be open: TLS and the first bytes of HTTP/2.
    pub handshake: Duration,
    /// Longest message in bytes, in and out. A longer one is refused by its announced length, before it is read.
    pub message: usize,
    /// Calls at a time on one connection.
    pub streams: u32,
    /// Bytes of a call's headers.
    pub headers: u32,
    /// Time in which a request must have come in as a whole.
    pub reading: Duration,
    /// Time that an answer may take, the wait of a long poll included.
    pub answering: Duration,
    /// Time without a sign of life after which the other side is asked for one.
    pub ping: Duration,
    /// Time in which it must give one.
    pub pong: Duration,
    /// Age at which a connection is closed, so that certificates are shown anew. Calls under way may finish.
    pub age: Duration,
    /// Time that calls under way have when the server is told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    /// For the port of the federation: long polls of up to 60 seconds live.
    fn default() -> Self {
        Self {
            connections: 4096,
            handshake: Duration::from_secs(10),
            message: MOST_BYTES,
            streams: 4,
            headers: 16 << 10,
            reading: Duration::from_secs(60),
            answering: Duration::from_secs(90),
            ping: Duration::from_secs(20),
            pong: Duration::from_secs(20),
            age: Duration::from_secs(3600),
            grace: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// For the port of enrolment, where anybody may knock: little of everything.
    pub fn enrolment() -> Self {
        Self {
            connections: 256,
            message: 64 << 10,
            streams: 1,
            reading: Duration::from_secs(10),
            answering: Duration::from_secs(30),
            age: Duration::from_secs(60),
            ..Self::default()
        }
    }
}
