//! The page of a fit: what was learnt from one owner's table and what was promised, in numbers that may be published.

use super::numbers::{bound, count};
use super::page::{Table, document, figure, folded, note, paragraph, section};
use super::posterior::{DRAWN, LISTED, REACH, axis_of, described, interval, order};
use super::warnings::about;
use crate::svg::{Mark, RowPlot, Shown, SvgInterval, SvgRow, escape};
use inference::results::Coefficient;
use study::FitResults;
use study::digits::shortest;

/// The whole page. It has no scores and no calibration: those are computed from rows.
pub fn html(results: &FitResults) -> String {
    let sections = [head(results), posterior(results), promise(results), origin(results)];
    document(&results.study, "", &sections.concat(), &results.version)
}

/// Title, the paragraph, and what to be warned of.
fn head(results: &FitResults) -> String {
    let facts = [
        results.model.clone(),
        format!("{} rows", count(results.rows as f64)),
        format!("{} coefficients", results.posterior.len()),
    ];
    format!(
        "<header>\n<p class=\"kind\">Fit with a privacy guarantee</p>\n<h1>{}</h1>\n<p class=\"facts\">{}</p>\n{}</header>\n{}",
        escape(&results.study),
        escape(&facts.join(" · ")),
        paragraph(&words(results)),
        warnings(results)
    )
}

/// What was learnt, and what was promised.
fn words(results: &FitResults) -> String {
    let (outcome, rows) = (&results.outcome_column, count(results.rows as f64));
    let learnt = match leading(&results.posterior)[..] {
        [] => "No posterior is shown; the warnings say why.".to_owned(),
        ref several => {
            let sure = results.posterior.iter().filter(|one| is_sure(one)).count();
            let many = results.posterior.len();
            let named: Vec<String> = several.iter().map(|one| format!("{} {}", one.name, interval(one))).collect();
            format!(
                "The 95 % intervals of {sure} of {many} coefficients do not contain 0. Farthest from 0 are, with their intervals: {}.",
                named.join("; ")
            )
        }
    };
    let privacy = &results.privacy;
    let whom = if privacy.unit == "client" { "the whole table" } else { "every single row" };
    format!(
        "This page shows what a table of {rows} rows says about {outcome}. {learnt} Noise from the operating system protects {whom}: \
         whoever reads this page can hardly tell whether one of them was different. The guarantee is {}.",
        privacy.promise
    )
}

/// The three coefficients farthest from 0, in standard deviations.
fn leading(posterior: &[Coefficient]) -> Vec<&Coefficient> {
    order(posterior).into_iter().take(3).filter_map(|place| posterior.get(place)).collect()
}

fn is_sure(one: &Coefficient) -> bool {
    one.mean.abs() > REACH * one.deviation
}

/// Warnings of the plan and of what was served; nothing without any.
fn warnings(results: &FitResults) -> String {
    let item =
        |words: &str, about: &str| format!("<li>{} <span class=\"how\">{}</span></li>\n", escape(words), escape(about));
    let mut items: String = results.warnings.iter().map(|warning| item(&warning.what, &about(warning))).collect();
    if results.rounds < results.planned_rounds {
        let (made, planned) = (results.rounds, results.planned_rounds);
        let words = format!("{made} of {planned} planned rounds are in this posterior.");
        items += &item(&words, "An interruption cost a charge without an answer; the guarantee is the same.");
    }
    if items.is_empty() {
        return String::new();
    }
    format!("<aside class=\"warnings\" role=\"note\">\n<h2>Warnings</h2>\n<ul>\n{items}</ul>\n</aside>\n")
}

/// A figure and a table of all coefficients; nothing without a posterior.
fn posterior(results: &FitResults) -> String {
    let all = &results.posterior;
    if all.is_empty() {
        return String::new();
    }
    let order = order(all);
    let drawn: Vec<&Coefficient> = order.iter().take(DRAWN).map(|&place| &all[place]).collect();
    let rows = drawn.iter().map(|one| SvgRow {
        name: one.name.clone(),
        words: format!("{}: {}", one.name, interval(one)),
        shown: Shown::Intervals(vec![SvgInterval { at: one.mean, reach: REACH * one.deviation, mark: Mark::of(0) }]),
    });
    let title = "Posterior means with 95 % intervals".to_owned();
    let plot = RowPlot { title, axis: axis_of(drawn.iter().copied()), rows: rows.collect() };
    let caption = match order.len() {
        many if many > DRAWN => format!("The {DRAWN} of {many} farthest from 0, in standard deviations"),
        _ => "All coefficients, those farthest from 0 first".to_owned(),
    };
    let mut table =
        Table::new("Posterior mean and 95 % interval", vec!["coefficient".into(), "mean and interval".into()]);
    for &place in order.iter().take(LISTED) {
        table.push("", vec![escape(&all[place].name), interval(&all[place])]);
    }
    let body = format!(
        "<div class=\"figures single\">\n{}</div>\n{}{}",
        figure(&plot.figure("posterior-plot", &described(all, &order)), &caption),
        note(
            "Points are posterior means and lines are 95 % intervals. Coefficients belong to inputs as the schema scales them. \
             The intervals come from the fitted posterior; methods that are not noise-aware ignore the noise in them."
        ),
        folded(&format!("All {} coefficients", order.len()), &table.html())
    );
    section("posterior", "What was learnt", &body)
}

/// What exactly was promised, and what the ledger says.
fn promise(results: &FitResults) -> String {
    let privacy = &results.privacy;
    let granted = format!("ε = {} at δ = {}", shortest(privacy.epsilon), shortest(privacy.delta));
    let burnt = if privacy.burnt == 0 { String::new() } else { format!(", {} of them burnt", privacy.burnt) };
    let lifetime = &results.lifetime;
    let earlier = match lifetime.earlier_fits {
        0 => "no earlier fit of this table is in its ledger".to_owned(),
        fits => format!(
            "{fits} earlier in its ledger, with ε = {} at δ = {}",
            bound(lifetime.earlier_epsilon),
            bound(lifetime.earlier_delta)
        ),
    };
    let rows = [
        ("guarantee", privacy.promise.clone()),
        ("granted to this fit", granted),
        ("certified cost", format!("ε = {} for {} charges{burnt}", bound(privacy.spent_epsilon), privacy.charges)),
        ("other fits", earlier),
        ("all fits together", format!("ε = {} at δ = {}", bound(lifetime.epsilon), bound(lifetime.delta))),
        ("noise multiplier", shortest(privacy.noise_multiplier)),
        ("clipping bound", shortest(privacy.clip)),
    ];
    let body = format!(
        "{}{}",
        list(&rows),
        paragraph(
            "Every number on this page follows from releases that passed the owner's gate, or is public. Nothing here was computed \
             from the rows without noise: there are no scores, no held-out rows and no baselines."
        )
    );
    section("promise", "What exactly was promised", &body)
}

/// Where the results come from.
fn origin(results: &FitResults) -> String {
    let made = &results.provenance;
    let mut rows = vec![
        ("method", format!("{} ({}, {})", results.method, results.algorithm, results.solver)),
        ("rounds", format!("{} of {}", results.rounds, results.planned_rounds)),
        ("program", format!("posterity {}", results.version)),
        ("written", made.date.clone()),
        ("commit", made.commit.clone()),
        ("run", results.run.clone()),
    ];
    if let Some(draws) = &results.draws {
        let words = format!("{} chains of {} in {}/", draws.chains, draws.iterations, draws.folder);
        rows.insert(2, ("draws", words));
    }
    let text = |text: &str| format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(text));
    let body = format!(
        "{}{}{}",
        list(&rows),
        folded("The study, as it was read (TOML)", &text(&results.study_toml)),
        folded("The schema of the rows (TOML)", &text(&results.data_schema))
    );
    section("origin", "Study and versions", &body)
}

fn list(rows: &[(&str, String)]) -> String {
    let rows: String =
        rows.iter().map(|(term, words)| format!("<dt>{term}</dt><dd>{}</dd>\n", escape(words))).collect();
    format!("<dl class=\"origin\">\n{rows}</dl>\n")
}
