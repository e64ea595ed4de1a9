//! The pages around the sections: all runs, one run, the login, and errors.

use super::metrics::Metrics;
use super::run::{Edition, phase, sections};
use super::server::{failing, server};
use super::table::{HtmlTable, TableCell, bar};
use super::view::{RunDetail, RunSummary, RunView};
use super::words::moment;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

/// Colours for light and dark, for print and for small screens.
pub(super) const STYLE: &str = include_str!("style.css");

/// The few lines that put a new fragment in place when the server says that something changed.
const SCRIPT: &str = include_str!("live.js");

/// A sign for the tab, in the page itself.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M1 14C6 \
                    14 5 2 8 2s2 12 7 12Z' fill='%230072b2'/%3E%3C/svg%3E";

/// Where a page gets its parts again.
struct Live {
    fragment: String,
    events: String,
}

/// What a browser may do with a page: its own style and script, known by their digests, and nothing from elsewhere.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; connect-src 'self'; \
         form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        base64(&Sha256::digest(STYLE)),
        base64(&Sha256::digest(SCRIPT))
    )
}

/// The page of all runs.
pub(super) fn all(runs: &[RunSummary], waiting: Option<&str>, metrics: &Metrics) -> Markup {
    let live = Live { fragment: "/fragment".into(), events: "/events".into() };
    page("Runs", Some(&live), all_fragment(runs, waiting, metrics))
}

/// What is inside the page of all runs.
pub(super) fn all_fragment(runs: &[RunSummary], waiting: Option<&str>, metrics: &Metrics) -> Markup {
    let columns = vec!["study", "method", "phase", "rounds", "sites", "started"];
    let mut table = HtmlTable::new("runs-table", "All runs of this server, latest first", columns);
    for run in runs {
        table.push(vec![
            TableCell::Name(match run.detail {
                RunDetail::Page => html! { a #{ "run-" (run.id) } href={ "/runs/" (run.id) } { (run.name) } },
                RunDetail::Line => html! { (run.name) },
            }),
            TableCell::text(&run.method),
            TableCell::of(phase(&run.phase)),
            TableCell::of(html! {
                (bar(run.round as f64, run.rounds as f64))
                span.numbers { (run.round) " of " (run.rounds) " completed" }
            }),
            TableCell::text(run.sites),
            TableCell::text(moment(run.started)),
        ]);
    }
    html! {
        header { p.kind { "Federation" } h1 { "Runs" } }
        (failing(metrics))
        section {
            @if let Some(names) = waiting { p #waiting { "Waiting for " (names) " to join." } }
            @if runs.is_empty() { p { "No run has been proposed yet." } } @else { (table.html()) }
        }
        (server(metrics))
    }
}

/// The page of a run.
pub(super) fn run(view: &RunView, metrics: &Metrics) -> Markup {
    let at = |part| format!("/runs/{}/{part}", view.id);
    let live = Live { fragment: at("fragment"), events: at("events") };
    page(&view.name, Some(&live), run_fragment(view, metrics))
}

/// What is inside the page of a run.
pub(super) fn run_fragment(view: &RunView, metrics: &Metrics) -> Markup {
    html! { (failing(metrics)) (sections(view, Edition::Live)) }
}

/// The page for those who have not shown the token.
pub(super) fn closed() -> Markup {
    let body = html! {
        header { p.kind { "Federation" } h1 { "A token is needed" } }
        section {
            p {
                "The server created a token when it started. The first lines of its output name the file of the token, \
                 which only the server's operator can read."
            }
            form action="/login" method="get" autocomplete="off" {
                label for="token" { "Token" }
                input #token name="token" type="password" required pattern="[0-9a-f]{32}" spellcheck="false";
                button type="submit" { "Open the dashboard" }
            }
            p.note { "Programs send the token as " code { "Authorization: Bearer <token>" } "." }
        }
    };
    page("A token is needed", None, body)
}

/// A page that says one thing.
pub(super) fn saying(heading: &str, words: &str) -> Markup {
    let body = html! { header { h1 { (heading) } } section { p { (words) } p { a href="/" { "All runs" } } } };
    page(heading, None, body)
}

fn page(title: &str, live: Option<&Live>, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (meta(title))
                @if live.is_some() { noscript { meta http-equiv="refresh" content="15"; } }
            }
            body {
                nav { a href="/" { "Posterity" } @if live.is_some() { span #live role="status" {} } }
                main data-fragment=[live.map(|live| &live.fragment)] data-events=[live.map(|live| &live.events)] {
                    (body)
                }
                footer { "Posterity " (env!("CARGO_PKG_VERSION")) ". Read-only. This page loads nothing from other servers." }
                @if live.is_some() { script { (PreEscaped(SCRIPT)) } }
            }
        }
    }
}

/// The head that page and report share.
pub(super) fn meta(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        link rel="icon" href=(ICON);
        title { (title) " – Posterity" }
        style { (PreEscaped(STYLE)) }
    }
}

/// Base64 with padding, as a content security policy spells digests.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS.get((bits >> (18 - 6 * place)) as usize & 63).filter(|_| place <= three.len());
            text.push(letter.map_or('=', |letter| char::from(*letter)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        for (plain, expected) in cases {
            assert_eq!(base64(plain.as_bytes()), expected);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn style_and_script_cannot_end_their_elements_or_fetch_anything() {
        for text in [STYLE, SCRIPT] {
            assert!(
                !text.contains("</") && !text.contains("http") && !text.contains("url(") && !text.contains("@import")
            );
        }
    }
}
