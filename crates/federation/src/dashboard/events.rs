//! Server-sent events: a browser is told that something changed, and fetches it when it likes.

use crate::transport::BusyGuard;
use axum::response::sse::{Event, KeepAlive, Sse};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

/// Time between two events at least: what changes in between is one event.
const PACE: Duration = Duration::from_millis(250);

/// Time after which a browser comes again.
const RETRY: Duration = Duration::from_secs(2);

/// Time after which a connection without news shows that it is there.
const QUIET: Duration = Duration::from_secs(15);

/// An event at once, since something may have changed while the page was on its way, and one after each change.
/// While it lasts, its connection is at work.
pub(super) fn events(
    changes: watch::Receiver<u64>,
    work: Option<BusyGuard>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        tell(changes, sender).await;
        drop(work);
    });
    Sse::new(ReceiverStream::new(receiver)).keep_alive(KeepAlive::new().interval(QUIET))
}

/// Tells until the browser or the source is gone.
async fn tell(mut changes: watch::Receiver<u64>, sender: mpsc::Sender<Result<Event, Infallible>>) {
    loop {
        let number = changes.borrow_and_update().to_string();
        let event = Event::default().event("change").retry(RETRY).data(number);
        if sender.send(Ok(event)).await.is_err() {
            return;
        }
        tokio::time::sleep(PACE).await;
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = sender.closed() => return,
        }
    }
}
