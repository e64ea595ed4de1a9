//! Reports: a run's results as one HTML file that needs nothing else, and as a table of text.
//!
//! [`html`] makes the page of a run, [`fit`](fn@fit) that of a fit, [`beside`] that of a table with its published numbers, [`accounting`] and [`histogram`] those
//! of figures of accounting and of histograms. [`table`] is the short form for a terminal of a given width. The plots
//! ([`svg`]) serve the dashboard of a federation, too. Nothing here reads or writes a file: text comes back.

pub mod accounting;
mod beside;
mod budget;
mod calibration;
mod chains;
mod charts;
mod checks;
mod curves;
mod differences;
mod effects;
mod figures;
mod fit;
mod headline;
pub mod histogram;
pub mod layout;
mod ledger;
mod measured;
mod numbers;
mod page;
mod posterior;
mod profile;
mod promise;
mod protection;
mod provenance;
mod scores;
mod sites;
mod standing;
mod summary;
pub mod svg;
mod terminal;
mod warnings;

use inference::results::Results;
use standing::Standing;

pub use beside::{Beside, beside};
pub use curves::{ColumnCurves, against_messages, alone as errors_along_the_way};
pub use fit::html as fit;
pub use measured::MeasuredTable;
pub use numbers::{divergence, error};
pub use profile::profile_svg;
pub use terminal::{Terminal, table};
pub use warnings::lines as warnings;

/// The report as one HTML file, without scripts and without anything from the network. The same results give the same
/// bytes.
pub fn html(results: &Results) -> String {
    let standing = Standing::of(results);
    let sections = [
        summary::section(&standing),
        effects::section(&standing),
        headline::section(&standing),
        promise::section(&standing),
        curves::section(&standing),
        sites::section(&standing),
        budget::section(&standing),
        posterior::section(&standing),
        chains::section(&standing),
        calibration::section(&standing),
        checks::section(&standing),
        ledger::section(&standing),
        provenance::section(&standing),
    ];
    page::document(&results.study, &curves::toggles(&standing), &sections.concat(), &results.version)
}

#[cfg(test)]
mod tests;
