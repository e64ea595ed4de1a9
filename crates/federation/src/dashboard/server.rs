//! What is shown of the server itself: whether it keeps what it is told, whom it has refused, who is connected.

use super::metrics::{Metrics, Port};
use super::monitor::resident_bytes;
use super::refusals::RefusalReason;
use super::table::{HtmlTable, TableCell};
use super::words::moment;
use maud::{Markup, html};
use std::sync::atomic::{AtomicU64, Ordering};

/// On every live page while changes are not kept: nothing else matters then.
pub(super) fn failing(metrics: &Metrics) -> Markup {
    html! {
        @if let Some(why) = metrics.failure() {
            aside.warnings {
                h2 { "The last change could not be stored" }
                p { (why) }
                p { "The server asks parties to try again. Everything that it acknowledged is stored." }
            }
        }
    }
}

/// The section on the page of all runs.
pub(super) fn server(metrics: &Metrics) -> Markup {
    let ends = read(&metrics.certificate_ends);
    let connections: Vec<String> = Port::ALL
        .iter()
        .zip(&metrics.connections)
        .map(|(port, open)| format!("{} {}", read(open), port.word()))
        .collect();
    html! {
        section #server {
            h2 { "Server" }
            p {
                "Connections: " (connections.join(", ")) ". Waiting polls: " (read(&metrics.parked)) ". \
                 Changes that could not be stored: " (read(&metrics.unkept)) ". Failed reads: " (read(&metrics.unread)) "."
                @if let Some(bytes) = resident_bytes() { " Memory: " (megabytes(bytes)) " MB." }
                @if ends > 0 { " The server's certificate expires " (moment(ends)) "; the server renews it automatically." }
            }
            (refusals(metrics))
        }
    }
}

/// Refusals since the server was started, those that there were.
fn refusals(metrics: &Metrics) -> Markup {
    let mut table = HtmlTable::new("refusals-table", "Refusals since the server started", vec!["reason", "times"]);
    let mut none = true;
    for (reason, times) in RefusalReason::ALL.iter().zip(&metrics.refusals) {
        let times = read(times);
        if times > 0 {
            none = false;
            table.push(vec![TableCell::name(reason.word()), TableCell::text(times)]);
        }
    }
    html! { @if none { p.note { "The server has refused nobody since it started." } } @else { (table.html()) } }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Whole megabytes, rounded up.
fn megabytes(bytes: f64) -> u64 {
    (bytes / 1e6).ceil() as u64
}
