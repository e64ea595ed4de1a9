//! The report of a federated run: the page as one file, without scripts and without anything from the network.

use super::page::meta;
use super::run::{Edition, sections};
use super::view::RunView;
use super::words::moment;
use maud::{DOCTYPE, html};

/// The report as one HTML file. The same view gives the same bytes.
pub fn report_html(view: &RunView) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                (meta(&view.name))
            }
            body {
                main { (sections(view, Edition::Still)) }
                footer {
                    "Created by Posterity " (env!("CARGO_PKG_VERSION")) ", commit " (view.commit) ", at " (moment(view.taken))
                    ". This file needs no network and runs no scripts."
                }
            }
        }
    };
    page.into_string()
}
