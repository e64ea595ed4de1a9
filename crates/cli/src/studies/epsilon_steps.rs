//! What every ε gains on the one before it, for a terminal.

use inference::comparison::Difference;
use report::layout::{LayoutColumn, fit, wrapped};
use study::{EpsilonStep, steps_count};

/// What the columns mean.
const LEGEND: &str = "log-lik.: held-out log-likelihood, in nats. step: the same less that at the next smaller ε; ± is the standard error of \
                      the paired difference. falls: a step of under 0 by two standard errors or more. to non-private, to constant: \
                      differences to the fit of all rows in one place and to the answer without inputs.";

/// Columns that are kept while names still have room.
const LEAST: usize = 5;

/// A difference in nats, with its standard error where there is one.
pub(super) fn nats(difference: &Difference) -> String {
    let mean = format!("{:+.4}", difference.mean);
    difference.standard_error.map_or(mean.clone(), |error| format!("{mean} ± {error:.4}"))
}

/// The table, in lines of at most so many letters.
pub(super) fn table(steps: &[EpsilonStep], width: Option<usize>) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let width = width.unwrap_or(usize::MAX);
    let column = |heading: &'static str, of: &dyn Fn(&EpsilonStep) -> String| LayoutColumn {
        heading: heading.into(),
        cells: steps.iter().map(of).collect(),
    };
    let shown = |of: Option<Difference>| of.map_or_else(|| "–".to_owned(), |difference| nats(&difference));
    let columns = vec![
        column("cell", &|step| format!("{}; {}", step.column, step.method)),
        column("ε", &|step| step.epsilon.to_string()),
        column("log-lik.", &|step| format!("{:.4}", step.score)),
        column("step", &|step| shown(step.step)),
        column("falls", &|step| if step.falls() { "YES" } else { "" }.to_owned()),
        column("to non-private", &|step| shown(step.to_non_private)),
        column("to constant", &|step| shown(step.to_constant)),
    ];
    let fitted = fit(columns, width, LEAST);
    let mut text = fitted.head + "\n";
    fitted.rows.iter().flatten().for_each(|line| text += &format!("{line}\n"));
    for line in wrapped(&steps_count(steps), width).into_iter().chain(wrapped(LEGEND, width.min(120))) {
        text += &format!("{line}\n");
    }
    text
}
