//! Predictive checks: whether groups of held-out rows came out as the best method predicted.

use super::numbers::{count, fixed, percent};
use super::page::{Table, folded, note, section as titled};
use super::posterior::REACH;
use super::standing::Standing;
use crate::svg::escape;
use inference::score::CheckGroup;

/// Groups of sites and of tenths of the rows; nothing where nothing was checked.
pub(crate) fn section(standing: &Standing) -> String {
    let Some((placed, checks)) = standing
        .leading()
        .into_iter()
        .find_map(|m| Some((m, m.method.checks.as_ref().filter(|c| !c.tenths.is_empty())?)))
    else {
        return String::new();
    };
    let shares = !placed.method.calibration.is_empty();
    let seeds = standing.seeds().max(1);
    let number = |value: f64| if shares { percent(value) } else { fixed(value, 3) };
    let table = |caption: &str, first: &str, groups: &[CheckGroup]| {
        let head = [first, "rows", "predicted", "expected range", "observed", ""];
        let mut table = Table::new(caption, head.map(str::to_owned).to_vec());
        for group in groups {
            let reach = REACH * group.deviation;
            let ends = [group.predicted - reach, group.predicted + reach];
            let ends = if shares { ends.map(|end| end.clamp(0.0, 1.0)) } else { ends };
            let outside = if group.distance().abs() > REACH { "outside" } else { "" };
            let rows = count(group.rows as f64 / seeds as f64);
            let range = format!("{} to {}", number(ends[0]), number(ends[1]));
            let cells =
                [escape(&group.name), rows, number(group.predicted), range, number(group.observed), outside.into()];
            table.push("", cells.to_vec());
        }
        table.html()
    };
    let name = &placed.method.name;
    let what = if shares { "frequency of the outcome" } else { "mean outcome" };
    let sites = match checks.sites.is_empty() {
        true => String::new(),
        false => table(&format!("Predicted and observed {what} at each site, {name}"), "site", &checks.sites),
    };
    let tenths =
        table(&format!("Predicted and observed {what}, {name}"), "tenth of the rows, lowest first", &checks.tenths);
    let tenths = if sites.is_empty() {
        tenths
    } else {
        folded("By tenths of the rows, from the lowest prediction to the highest", &tenths)
    };
    titled("checks", "Predictive checks", &format!("{sites}{tenths}{}", note(&explained(seeds))))
}

fn explained(seeds: usize) -> String {
    let pooled = if seeds > 1 { "Means over seeds; rows are those of one seed on average. " } else { "" };
    format!(
        "{pooled}The expected range holds the observed value in 95 of 100 cases if predictions are right, counting the chance of single \
         rows and not what is uncertain about the model. \u{201c}Outside\u{201d} in one group of twenty is chance."
    )
}
