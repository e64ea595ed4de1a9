//! The listening side: one call each on two ports, and a stop that lets calls under way finish.

use super::accept::{TlsSource, accept};
use super::connection::Caller;
use super::deadline::{Arrival, Deadline};
use super::{Enroller, Handler, Limits, Refused};
use crate::wire::proto;
use proto::enrolment_server::{Enrolment, EnrolmentServer};
use proto::federation_server::{Federation, FederationServer};
use std::convert::Infallible;
use std::future::{Future, pending};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// Open connections that wait to be taken up.
const WAITING: usize = 64;

/// A server that cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("the server cannot go on: {0}")]
pub struct ServeError(#[from] tonic::transport::Error);

/// Serves the federation's port until `shutdown`, then closes the listener and lets calls under way finish.
///
/// The configuration must demand client certificates: a caller without one is refused, whatever it says.
pub async fn serve(
    listener: TcpListener,
    tls: TlsSource,
    handler: Arc<dyn Handler>,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let service = FederationServer::new(Exchanges(handler))
        .max_decoding_message_size(limits.message)
        .max_encoding_message_size(limits.message);
    run(listener, tls, service, limits, shutdown).await
}

/// Serves the port of enrolment, whose callers have no certificate yet, until `shutdown`.
pub async fn serve_enrolment(
    listener: TcpListener,
    tls: TlsSource,
    enroller: Arc<dyn Enroller>,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let service = EnrolmentServer::new(Invites(enroller))
        .max_decoding_message_size(limits.message)
        .max_encoding_message_size(limits.message);
    run(listener, tls, service, limits, shutdown).await
}

/// Calls of the federation.
struct Exchanges(Arc<dyn Handler>);

#[tonic::async_trait]
impl Federation for Exchanges {
    async fn exchange(&self, request: Request<proto::Signed>) -> Result<Response<proto::Signed>, Status> {
        arrived(&request);
        let caller = request.extensions().get::<Caller>().and_then(|caller| caller.0.clone());
        let peer = caller.ok_or(Refused::NotPermitted)?;
        Ok(Response::new(self.0.exchange(peer, request.into_inner()).await?))
    }
}

/// Calls of parties to be.
struct Invites(Arc<dyn Enroller>);

#[tonic::async_trait]
impl Enrolment for Invites {
    async fn join(&self, request: Request<proto::JoinRequest>) -> Result<Response<proto::JoinReply>, Status> {
        arrived(&request);
        Ok(Response::new(self.0.join(request.into_inner()).await?))
    }
}

fn arrived<T>(request: &Request<T>) {
    if let Some(arrival) = request.extensions().get::<Arrival>() {
        arrival.tell();
    }
}

async fn run<S>(
    listener: TcpListener,
    tls: TlsSource,
    inner: S,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    let (ready, open) = mpsc::channel(WAITING);
    let (cut, over) = watch::channel(false);
    let service = Deadline { inner, reading: limits.reading, answering: limits.answering };
    // Serving ends by itself when no connections can come any more and the last one is closed.
    let serving = http2(limits).serve_with_incoming_shutdown(service, ReceiverStream::new(open), pending());
    let stopping = async {
        tokio::select! {
            () = accept(listener, tls, limits, ready, over) => {}
            () = shutdown => {}
        }
        sleep(limits.grace).await;
        cut.send_replace(true);
        pending::<()>().await;
    };
    tokio::select! {
        ended = serving => Ok(ended?),
        () = stopping => Ok(()),
    }
}

fn http2(limits: Limits) -> Server {
    Server::builder()
        .max_concurrent_streams(limits.streams)
        .http2_max_header_list_size(limits.headers)
        .http2_keepalive_interval(Some(limits.ping))
        .http2_keepalive_timeout(Some(limits.pong))
        .max_connection_age(limits.age)
}
