//! Regret of derived settings for a terminal: one line for each method and data set.

use report::layout::{LayoutColumn, fit, wrapped};
use study::RegretCell;

/// What the columns mean.
const LEGEND: &str = "regret: held-out log-likelihood of the best settings of the grid less that of the derived ones, in nats, ± standard \
                      error of the paired difference. The best is chosen on the first seeds and judged on the others. afterwards: the same \
                      of the settings that are best on the seeds that judge, which is too large. over constant: the derived settings less \
                      the constant answer, on the worst of all seeds.";

/// Columns that are kept while names still have room.
const LEAST: usize = 4;

/// The table, in lines of at most so many letters.
pub(super) fn table(cells: &[RegretCell], width: Option<usize>) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let width = width.unwrap_or(usize::MAX);
    let column = |heading: &'static str, of: &dyn Fn(&RegretCell) -> String| LayoutColumn {
        heading: heading.into(),
        cells: cells.iter().map(of).collect(),
    };
    let columns = vec![
        column("cell", &|cell| format!("{}; {}", cell.column, cell.method)),
        column("derived", &|cell| format!("{:.4}", cell.derived)),
        column("regret", &|cell| super::epsilon_steps::nats(&cell.regret)),
        column("over constant", &|cell| {
            cell.least_over_constant.map_or_else(|| "–".to_owned(), |least| format!("{least:+.4}"))
        }),
        column("afterwards", &|cell| format!("{:.4}", cell.chosen_afterwards)),
        column("best of the grid", &|cell| cell.best.clone()),
    ];
    let fitted = fit(columns, width, LEAST);
    let mut text = fitted.head + "\n";
    fitted.rows.iter().flatten().for_each(|line| text += &format!("{line}\n"));
    for line in wrapped(&count(cells), width).into_iter().chain(wrapped(LEGEND, width.min(120))) {
        text += &format!("{line}\n");
    }
    text
}

/// How much is lost, in a sentence.
fn count(cells: &[RegretCell]) -> String {
    let seen = |cell: &&RegretCell| cell.regret.mean > 0.01 && cell.regret.seen == Some(true);
    let mean = cells.iter().map(|cell| cell.regret.mean).sum::<f64>() / cells.len() as f64;
    let behind = cells.iter().filter(|cell| cell.least_over_constant.is_some_and(|least| least < 0.0)).count();
    format!(
        "Mean regret {mean:.4} nats; {} of {} cells lose more than .01 by two standard errors or more; {behind} have a seed behind the \
         constant answer.",
        cells.iter().filter(seen).count(),
        cells.len()
    )
}
