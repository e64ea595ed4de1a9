//! Deadlines of one call at a server: a short one until the request is there, a longer one until it is answered.

use super::accepted::PeerInfo;
use super::{Excess, Excesses};
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tonic::codegen::{Service, http};
use tonic::{Code, Status};

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
    pub(super) excesses: Arc<Excesses>,
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
        let (reading, answering, excesses) = (self.reading, self.answering, self.excesses.clone());
        let arrived = Arc::new(Notify::new());
        request.extensions_mut().insert(Arrival(Arc::clone(&arrived)));
        let activity = request.extensions().get::<PeerInfo>().map(|caller| caller.activity.clone());
        if let Some(activity) = &activity {
            activity.touch();
        }
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut answer = pin!(answer);
            tokio::select! {
                biased;
                answer = &mut answer => return answer.inspect(|answer| count_if_too_large(answer, &excesses)),
                () = arrived.notified() => {}
                () = sleep(reading) => {
                    excesses.count(Excess::Reading);
                    return Ok(late("the request arrived too slowly"));
                }
            }
            let _work = activity.map(|activity| activity.hold());
            timeout(answering, answer).await.unwrap_or_else(|_| Ok(late("no answer in time")))
        })
    }
}

/// Before a request has come in as a whole, only its announced length is out of range.
fn count_if_too_large<Out>(answer: &http::Response<Out>, excesses: &Excesses) {
    if is_too_large(answer) {
        excesses.count(Excess::Message);
    }
}

/// Whether a request was refused by its announced length.
pub(super) fn is_too_large<Out>(answer: &http::Response<Out>) -> bool {
    Status::from_header_map(answer.headers()).is_some_and(|status| status.code() == Code::OutOfRange)
}

fn late<Out: Default>(why: &'static str) -> http::Response<Out> {
    Status::deadline_exceeded(why).into_http()
}
