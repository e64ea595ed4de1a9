//! The listening side: one call each on two ports, and a stop that lets calls under way finish.

use super::accept::{TlsSource, accept};
use super::accepted::PeerInfo;
use super::deadline::{Arrival, Deadline, is_too_large};
use super::{CallRefusal, ConnectionLimits, Enroller, Excesses, Handler, LengthLimit};
use crate::wire::{SMALL_BYTES, proto};
use proto::enrolment_server::{Enrolment, EnrolmentServer};
use proto::federation_server::{Federation, FederationServer};
use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
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
#[error("the server cannot continue: {0}")]
pub struct ServeError(#[from] tonic::transport::Error);

/// Serves the federation's port until `shutdown`, then closes the listener and lets calls under way finish.
///
/// The configuration must demand client certificates: a caller without one is refused, whatever it says.
pub async fn serve(
    listener: TcpListener,
    tls: TlsSource,
    handler: Arc<dyn Handler>,
    limits: ConnectionLimits,
    excesses: Arc<Excesses>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let service = LengthLimited { exchanges: Arc::new(FederationCalls(handler)), most: limits.message };
    run(listener, tls, service, limits, excesses, shutdown).await
}

/// Serves the port of enrolment, whose callers have no certificate yet, until `shutdown`.
pub async fn serve_enrolment(
    listener: TcpListener,
    tls: TlsSource,
    enroller: Arc<dyn Enroller>,
    limits: ConnectionLimits,
    excesses: Arc<Excesses>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let service = EnrolmentServer::new(EnrolmentCalls(enroller))
        .max_decoding_message_size(limits.message)
        .max_encoding_message_size(limits.message);
    run(listener, tls, service, limits, excesses, shutdown).await
}

/// Calls of the federation, none longer than is expected of its caller just now.
#[derive(Clone)]
struct LengthLimited {
    exchanges: Arc<FederationCalls>,
    most: usize,
}

impl Service<http::Request<Body>> for LengthLimited {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let caller = request.extensions().get::<PeerInfo>();
        let peer = caller.and_then(|caller| caller.certificate.as_ref());
        let longest = peer.map_or(LengthLimit::Final(SMALL_BYTES), |peer| self.exchanges.0.longest(peer));
        let (LengthLimit::Final(bytes) | LengthLimit::SoFar(bytes)) = longest;
        let call = FederationServer::from_arc(self.exchanges.clone())
            .max_decoding_message_size(bytes.min(self.most))
            .max_encoding_message_size(self.most)
            .call(request);
        Box::pin(async move {
            let answer = call.await?;
            let later = matches!(longest, LengthLimit::SoFar(_)) && is_too_large(&answer);
            Ok(if later { Status::from(CallRefusal::Unavailable).into_http() } else { answer })
        })
    }
}

/// Calls of the federation.
struct FederationCalls(Arc<dyn Handler>);

#[tonic::async_trait]
impl Federation for FederationCalls {
    async fn exchange(&self, request: Request<proto::Signed>) -> Result<Response<proto::Signed>, Status> {
        arrived(&request);
        let caller = request.extensions().get::<PeerInfo>().and_then(|caller| caller.certificate.clone());
        let peer = caller.ok_or(CallRefusal::NotPermitted)?;
        Ok(Response::new(self.0.exchange(peer, request.into_inner()).await?))
    }
}

/// Calls of parties to be.
struct EnrolmentCalls(Arc<dyn Enroller>);

#[tonic::async_trait]
impl Enrolment for EnrolmentCalls {
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
    limits: ConnectionLimits,
    excesses: Arc<Excesses>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    let (ready, open) = mpsc::channel(WAITING);
    let (cut, over) = watch::channel(false);
    let ConnectionLimits { reading, answering, .. } = limits;
    let service = Deadline { inner, reading, answering, excesses: excesses.clone() };
    // Serving ends by itself when no connections can come any more and the last one is closed.
    let serving = http2(limits).serve_with_incoming_shutdown(service, ReceiverStream::new(open), pending());
    let stopping = async {
        tokio::select! {
            () = accept(listener, tls, limits, excesses, ready, over) => {}
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

fn http2(limits: ConnectionLimits) -> Server {
    Server::builder()
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(limits.window)
        .initial_connection_window_size(limits.window)
        .http2_max_header_list_size(limits.headers)
        .http2_keepalive_interval(Some(limits.ping))
        .http2_keepalive_timeout(Some(limits.pong))
        .max_connection_age(limits.age)
}
