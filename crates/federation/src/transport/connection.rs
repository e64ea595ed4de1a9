//! The calling side: one line to a server, outbound only, opened when needed and again when it broke.

use super::backoff::Backoff;
use super::dial::{OpenChannel, dial};
use super::fault::ConnectionError;
use crate::wire::{MOST_BYTES, proto};
use prost::Message as _;
use proto::enrolment_client::EnrolmentClient;
use proto::federation_client::FederationClient;
use rustls::ClientConfig;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::{Response, Status};

/// What an exchange may take beyond the wait that was asked for.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// What joining may take.
const JOINING: Duration = Duration::from_secs(45);

/// One line to a server. It needs no thread of its own.
pub struct Connection {
    address: String,
    tls: watch::Receiver<Arc<ClientConfig>>,
    open: Option<OpenChannel>,
    backoff: Backoff,
}

impl Connection {
    /// A line to `host:port`, not opened yet. The server there must be [`super::SERVER_NAME`] to the configuration.
    ///
    /// The configuration of the moment is used; when it changes, the next exchange opens the line anew.
    /// `jitter`: lines with different numbers try again at different moments.
    pub fn new(address: String, tls: watch::Receiver<Arc<ClientConfig>>, jitter: u64) -> Self {
        Self { address, tls, open: None, backoff: Backoff::new(jitter) }
    }

    /// Sends a content and waits for the reply, for `wait` and [`PATIENCE`] at most; opens the line if need be.
    ///
    /// After a failure the next exchange first rests, twice as long each time, up to 30 seconds and beyond the time
    /// above. Nothing is sent twice by itself; but who sends again after [`ConnectionError::Lost`] or [`ConnectionError::TimedOut`]
    /// must reckon with the server seeing it twice. Dropping the future gives the exchange up.
    pub async fn exchange(&mut self, content: proto::Signed, wait: Duration) -> Result<proto::Signed, ConnectionError> {
        if content.encoded_len() > MOST_BYTES {
            return Err(ConnectionError::TooLarge);
        }
        if let Some(length) = self.backoff.length() {
            sleep(length).await;
        }
        let tried = timeout(wait.saturating_add(PATIENCE), self.attempt(content)).await;
        let reply = tried.unwrap_or(Err(ConnectionError::TimedOut));
        match &reply {
            Ok(_) => self.backoff.clear(),
            Err(error) => {
                self.backoff.lengthen();
                if error.ends_the_connection() {
                    self.open = None;
                }
            }
        }
        reply
    }

    async fn attempt(&mut self, content: proto::Signed) -> Result<proto::Signed, ConnectionError> {
        let open = self.opened().await?;
        let mut client = FederationClient::new(open.channel.clone())
            .max_decoding_message_size(MOST_BYTES)
            .max_encoding_message_size(MOST_BYTES);
        call(&open, async move { client.exchange(content).await }).await
    }

    async fn opened(&mut self) -> Result<OpenChannel, ConnectionError> {
        // An error here means that the configuration cannot change any more.
        let renewed = self.tls.has_changed().unwrap_or(false);
        match &self.open {
            Some(open) if !renewed && !open.is_over() => Ok(open.clone()),
            _ => {
                self.open = None;
                let config = Arc::clone(&self.tls.borrow_and_update());
                let open = dial(&self.address, &config).await?;
                self.open = Some(open.clone());
                Ok(open)
            }
        }
    }
}

/// Joins a federation at the port of enrolment, over a connection that is closed afterwards.
pub async fn join(
    address: String,
    tls: Arc<ClientConfig>,
    request: proto::JoinRequest,
) -> Result<proto::JoinReply, ConnectionError> {
    let attempt = async {
        let open = dial(&address, &tls).await?;
        let mut client = EnrolmentClient::new(open.channel.clone()).max_decoding_message_size(MOST_BYTES);
        call(&open, async move { client.join(request).await }).await
    };
    timeout(JOINING, attempt).await.unwrap_or(Err(ConnectionError::TimedOut))
}

/// Makes a call in a task of its own, which ends with it: a reply that makes the library panic is an error like others.
async fn call<T: Send + 'static>(
    open: &OpenChannel,
    call: impl Future<Output = Result<Response<T>, Status>> + Send + 'static,
) -> Result<T, ConnectionError> {
    let mut task = JoinSet::new();
    task.spawn(call);
    match task.join_next().await {
        Some(Ok(Ok(reply))) => Ok(reply.into_inner()),
        Some(Ok(Err(status))) => Err(open.fault(&status)),
        Some(Err(_)) | None => Err(ConnectionError::Strange),
    }
}
