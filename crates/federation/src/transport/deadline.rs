//! Deadlines of one call at a server: a short one until the request is there, a longer one until it is answered.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tonic::Status;
use tonic::codegen::{Service, http};

/// Tells the deadline that the request has come in as a whole.
#[derive(Clone)]
pub(super) struct Arrival(Arc<Notify>);

impl Arrival {
    /// The request is there: from now on the time of the answer counts.
    pub(super) fn tell(&self) {
        self.0.notify_one();
    }
}

/// A service whose calls are cut off when they take too long. Dropping a call frees what was read of it.
#[derive(Clone)]
pub(super) struct Deadline<S> {
    pub(super) inner: S,
    pub(super) reading: Duration,
    pub(super) answering: Duration,
}

impl<S, In, Out> Service<http::Request<In>> for Deadline<S>
where
    S: Service<http::Request<In>, Response = http::Response<Out>, Error = Infallible>,
    S::Future: Send + 'static,
    Out: Default + 'static,
{
    type Response = http::Response<Out>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<In>) -> Self::Future {
        let (reading, answering) = (self.reading, self.answering);
        let arrived = Arc::new(Notify::new());
        request.extensions_mut().insert(Arrival(Arc::clone(&arrived)));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut answer = pin!(answer);
            tokio::select! {
                biased;
                answer = &mut answer => return answer,
                () = arrived.notified() => {}
                () = sleep(reading) => return Ok(late("the request came too slowly")),
            }
            timeout(answering, answer).await.unwrap_or_else(|_| Ok(late("no answer in time")))
        })
    }
}

fn late<Out: Default>(why: &'static str) -> http::Response<Out> {
    Status::deadline_exceeded(why).into_http()
}
