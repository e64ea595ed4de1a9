//! How much of a server anybody may take up, and for how long.

use crate::wire::{MOST_BYTES, SMALL_BYTES};
use std::time::Duration;

/// Limits of a listening server. What is over one of them is refused or closed; others do not notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections at a time of parties that have shown a certificate. Nobody else's take a place among them.
    pub connections: usize,
    /// Connections at a time of one party: the one that was idle longest gives way to a new one.
    pub connections_of_a_party: usize,
    /// Connections at a time without a certificate: those that are being opened and, where none is asked for, all.
    /// When there are more, the address that has most loses the one that was idle longest.
    pub strangers: usize,
    /// Those from one address: the one that was idle longest gives way to a new one.
    pub strangers_of_an_address: usize,
    /// Time in which a connection must be open: TLS and the first bytes of HTTP/2.
    pub handshake: Duration,
    /// Time after which a connection without a call is closed.
    pub idle: Duration,
    /// Longest message in bytes, in and out, whatever a handler expects. A longer one is refused by its announced length,
    /// before it is read.
    pub message: usize,
    /// Calls at a time on one connection.
    pub streams: u32,
    /// Bytes of one connection that HTTP/2 takes in before anybody reads them.
    pub window: u32,
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

impl Default for ConnectionLimits {
    /// For the port of the federation: long polls of up to 60 seconds live.
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_of_a_party: 4,
            strangers: 512,
            strangers_of_an_address: 256,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            message: MOST_BYTES,
            streams: 2,
            window: 512 << 10,
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

impl ConnectionLimits {
    /// For the port of enrolment, where anybody may knock: little of everything.
    pub fn enrolment() -> Self {
        Self {
            strangers: 256,
            strangers_of_an_address: 128,
            idle: Duration::from_secs(10),
            message: SMALL_BYTES,
            streams: 1,
            window: 64 << 10,
            reading: Duration::from_secs(10),
            answering: Duration::from_secs(30),
            age: Duration::from_secs(60),
            ..Self::default()
        }
    }

    /// The same with another limit for one address; the limit in all is never below it.
    pub fn with_strangers_of_an_address(self, most: usize) -> Self {
        Self { strangers: self.strangers.max(most), strangers_of_an_address: most, ..self }
    }
}
