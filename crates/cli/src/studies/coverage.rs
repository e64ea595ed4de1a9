//! Coverage of coefficients for a terminal: one line for each cell, and how many cells are honest.

use report::layout::{LayoutColumn, fit, wrapped};
use study::{CoverageCell, CoverageShare, coverage_count};

/// What the columns mean.
const LEGEND: &str = "cover: share of coefficients inside the intervals of each nominal level, in %, ± standard error over replicates. \
                      non-private: the posterior of all rows without noise, in the same replicates. rmse: error of posterior means, as a \
                      multiple of non-private.";

/// Columns that are kept while names still have room.
const LEAST: usize = 4;

/// In per cent, with the standard error where it is known.
fn per_cent(share: CoverageShare) -> String {
    let mean = format!("{:.1}", 100.0 * share.mean);
    share.error.map_or(mean.clone(), |error| format!("{mean} ± {:.1}", 100.0 * error))
}

/// The table, in lines of at most so many letters.
pub(super) fn table(cells: &[CoverageCell], width: Option<usize>) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let width = width.unwrap_or(usize::MAX);
    let column = |heading: &'static str, of: &dyn Fn(&CoverageCell) -> String| LayoutColumn {
        heading: heading.into(),
        cells: cells.iter().map(of).collect(),
    };
    let level = |at: usize| move |cell: &CoverageCell| format!("{:.1}", 100.0 * cell.covered[at].mean);
    let columns = vec![
        column("cell", &|cell| format!("{}; {}", cell.column, cell.method)),
        column("cover 90", &|cell| per_cent(cell.judged())),
        column("non-private", &|cell| per_cent(cell.non_private)),
        column("honest", &|cell| if cell.is_honest() { "yes" } else { "NO" }.to_owned()),
        column("rmse", &|cell| format!("{:.2}", cell.error_ratio)),
        column("50", &level(0)),
        column("80", &level(1)),
        column("95", &level(3)),
        column("replicates", &|cell| cell.replicates.to_string()),
    ];
    let fitted = fit(columns, width, LEAST);
    let mut text = fitted.head + "\n";
    fitted.rows.iter().flatten().for_each(|line| text += &format!("{line}\n"));
    for line in wrapped(&coverage_count(cells), width).into_iter().chain(wrapped(LEGEND, width.min(120))) {
        text += &format!("{line}\n");
    }
    text
}
