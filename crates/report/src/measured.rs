//! What a study measures beside scores: coverage of coefficients, regret of derived settings, and what every ε gains. One table serves the
//! terminal and the page.

use crate::layout::{LayoutColumn, fit, wrapped};
use crate::page::{note, paragraph, section};
use crate::svg::escape;
use inference::comparison::Difference;
use study::{CoverageCell, CoverageShare, EpsilonStep, RegretCell, coverage_count, steps_count};

/// Letters of a legend's line on a terminal, at most.
const LINE: usize = 120;

/// A line for each cell, how many cells are as they should be, and what the columns mean.
pub struct MeasuredTable {
    id: &'static str,
    title: &'static str,
    columns: Vec<LayoutColumn>,
    /// Columns that are kept while names still have room.
    least: usize,
    count: String,
    legend: &'static str,
}

impl MeasuredTable {
    /// Whether intervals hold coefficients that are known; none where no cell is.
    pub fn coverage(cells: &[CoverageCell]) -> Option<Self> {
        let level = |at: usize| move |cell: &CoverageCell| format!("{:.1}", 100.0 * cell.covered[at].mean);
        let columns = vec![
            column("cell", cells, |cell| format!("{}; {}", cell.column, cell.method)),
            column("cover 90", cells, |cell| per_cent(cell.judged())),
            column("non-private", cells, |cell| per_cent(cell.non_private)),
            column("honest", cells, |cell| if cell.is_honest() { "yes" } else { "NO" }.to_owned()),
            column("rmse", cells, |cell| format!("{:.2}", cell.error_ratio)),
            column("50", cells, level(0)),
            column("80", cells, level(1)),
            column("95", cells, level(3)),
            column("replicates", cells, |cell| cell.replicates.to_string()),
        ];
        let legend = "cover: share of coefficients inside the intervals of each nominal level, in %, ± standard error over replicates. \
                      non-private: the posterior of all rows without noise, in the same replicates. rmse: error of posterior means, as a \
                      multiple of non-private.";
        let title = "Coverage of coefficients";
        (!cells.is_empty()).then(|| Self {
            id: "coverage",
            title,
            columns,
            least: 4,
            count: coverage_count(cells),
            legend,
        })
    }

    /// What derived settings lose to the best of a grid; none where no cell is.
    pub fn regret(cells: &[RegretCell]) -> Option<Self> {
        let constant = |cell: &RegretCell| cell.least_over_constant.map_or_else(dash, |least| format!("{least:+.4}"));
        let columns = vec![
            column("cell", cells, |cell| format!("{}; {}", cell.column, cell.method)),
            column("derived", cells, |cell| format!("{:.4}", cell.derived)),
            column("regret", cells, |cell| nats(&cell.regret)),
            column("over constant", cells, constant),
            column("afterwards", cells, |cell| format!("{:.4}", cell.chosen_afterwards)),
            column("best of the grid", cells, |cell| cell.best.clone()),
        ];
        let legend = "regret: held-out log-likelihood of the best settings of the grid less that of the derived ones, in nats, ± standard \
                      error of the paired difference. The best is chosen on the first seeds and judged on the others. afterwards: the \
                      same of the settings that are best on the seeds that judge, which is too large. over constant: the derived settings \
                      less the constant answer, on the worst of all seeds.";
        let title = "Regret of derived settings";
        (!cells.is_empty()).then(|| Self { id: "regret", title, columns, least: 4, count: regret_count(cells), legend })
    }

    /// What every ε gains on the one before it; none where no step is.
    pub fn epsilon_steps(steps: &[EpsilonStep]) -> Option<Self> {
        let shown = |of: Option<Difference>| of.map_or_else(dash, |difference| nats(&difference));
        let columns = vec![
            column("cell", steps, |step| format!("{}; {}", step.column, step.method)),
            column("ε", steps, |step| step.epsilon.to_string()),
            column("log-lik.", steps, |step| format!("{:.4}", step.score)),
            column("step", steps, |step| shown(step.step)),
            column("falls", steps, |step| if step.falls() { "YES" } else { "" }.to_owned()),
            column("to non-private", steps, |step| shown(step.to_non_private)),
            column("to constant", steps, |step| shown(step.to_constant)),
        ];
        let legend = "log-lik.: held-out log-likelihood, in nats. step: the same less that at the next smaller ε; ± is the standard error \
                      of the paired difference. falls: a step of under 0 by two standard errors or more. to non-private, to constant: \
                      differences to the fit of all rows in one place and to the answer without inputs.";
        let title = "What every ε gains";
        (!steps.is_empty()).then(|| Self { id: "steps", title, columns, least: 5, count: steps_count(steps), legend })
    }

    /// For a terminal, in lines of at most so many letters.
    pub fn text(self, width: Option<usize>) -> String {
        let width = width.unwrap_or(usize::MAX);
        let fitted = fit(self.columns, width, self.least);
        let mut text = fitted.head + "\n";
        fitted.rows.iter().flatten().for_each(|line| text += &format!("{line}\n"));
        for line in wrapped(&self.count, width).into_iter().chain(wrapped(self.legend, width.min(LINE))) {
            text += &format!("{line}\n");
        }
        text
    }

    /// A section of a page.
    pub(crate) fn html(&self) -> String {
        let mut html = String::from("<div class=\"wide\"><table><thead><tr>");
        self.columns.iter().for_each(|column| html += &format!("<th>{}</th>", escape(&column.heading)));
        html += "</tr></thead><tbody>\n";
        for row in 0..self.columns.first().map_or(0, |names| names.cells.len()) {
            let cells = self.columns.iter().filter_map(|column| column.cells.get(row)).enumerate();
            let cells = cells.map(|(at, cell)| match at {
                0 => format!("<th>{}</th>", escape(cell)),
                _ => format!("<td class=\"n\">{}</td>", escape(cell)),
            });
            html += &format!("<tr>{}</tr>\n", cells.collect::<String>());
        }
        html += "</tbody></table></div>\n";
        section(self.id, self.title, &(html + &paragraph(&self.count) + &note(self.legend)))
    }
}

fn column<T>(heading: &'static str, of: &[T], cell: impl Fn(&T) -> String) -> LayoutColumn {
    LayoutColumn { heading: heading.into(), cells: of.iter().map(cell).collect() }
}

/// What stands where there is no number.
fn dash() -> String {
    "–".to_owned()
}

/// In per cent, with the standard error where it is known.
fn per_cent(share: CoverageShare) -> String {
    let mean = format!("{:.1}", 100.0 * share.mean);
    share.error.map_or(mean.clone(), |error| format!("{mean} ± {:.1}", 100.0 * error))
}

/// A difference in nats, with its standard error where there is one.
fn nats(difference: &Difference) -> String {
    let mean = format!("{:+.4}", difference.mean);
    difference.standard_error.map_or(mean.clone(), |error| format!("{mean} ± {error:.4}"))
}

/// How much derived settings lose, in a sentence.
fn regret_count(cells: &[RegretCell]) -> String {
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
