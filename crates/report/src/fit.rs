//! The page of a fit: what was learnt from one owner's table and what was promised, in numbers that may be published.

use super::effects::{self, Told};
use super::numbers::{bound, count, fixed};
use super::page::{Table, document, figure, folded, note, paragraph, section};
use super::posterior::{
    DRAWN, LISTED, OF_THE_OUTCOME, axis_of, beside_effects, described, estimate, has_quantiles, order, point, shows,
};
use super::protection::Protection;
use super::warnings::about;
use crate::svg::{Mark, RowPlot, Shown, SvgRow, escape};
use inference::results::Coefficient;
use study::FitResults;
use study::digits::{shortest, up};

/// The whole page. It has no scores and no calibration: those are computed from rows.
pub fn html(results: &FitResults) -> String {
    let sections = [head(results), learnt(results), promise(results), posterior(results), origin(results)];
    document(&results.study, "", &sections.concat(), &results.version)
}

/// Title, the paragraph, and what to be warned of.
fn head(results: &FitResults) -> String {
    let facts = [results.model.clone(), counted(results), format!("{} coefficients", results.posterior.len())];
    format!(
        "<header>\n<p class=\"kind\">Fit with a privacy guarantee</p>\n<h1>{}</h1>\n<p class=\"facts\">{}</p>\n{}</header>\n{}",
        escape(&results.study),
        escape(&facts.join(" · ")),
        paragraph(&words(results)),
        warnings(results)
    )
}

/// The public number of rows or persons, in words.
fn counted(results: &FitResults) -> String {
    let (number, units) = results.counted();
    format!("{} {units}", count(number as f64))
}

/// What was learnt, and what was promised.
fn words(results: &FitResults) -> String {
    let (outcome, size) = (&results.outcome_column, counted(results));
    let learnt = match (told(results), &leading(&results.posterior)[..]) {
        (Some(told), _) => told.found(),
        (None, several) if has_quantiles(several.iter().copied()) && shows(results.intervals.as_ref()) => {
            let named: Vec<String> = results
                .posterior
                .iter()
                .take(LISTED_IN_WORDS)
                .map(|one| format!("{} {}", one.name, estimate(one, true)))
                .collect();
            format!("With 95 % intervals: {}.", named.join("; "))
        }
        (None, []) => "No posterior is shown; the warnings say why.".to_owned(),
        (None, several) => {
            let (sure, many) = (results.posterior.iter().filter(|one| is_sure(one)).count(), results.posterior.len());
            let shown = shows(results.intervals.as_ref());
            let named: Vec<String> =
                several.iter().map(|one| format!("{} {}", one.name, estimate(one, shown))).collect();
            let named = named.join("; ");
            match shown {
                true => format!(
                    "The 95 % intervals of {sure} of {many} coefficients do not contain 0. Farthest from 0 are, with their \
                     intervals: {named}."
                ),
                false => format!("The most pronounced of {many} coefficients: {named}."),
            }
        }
    };
    let privacy = &results.privacy;
    let protection = Protection {
        unit: &privacy.unit,
        adjacency: &privacy.adjacency,
        epsilon: privacy.epsilon,
        delta: privacy.delta,
        client: "the table as a whole",
    };
    let (whom, if_different) = (protection.whom(), protection.difference());
    let effect = protection.effect("nothing on this page");
    let outcome = results.effects.as_ref().map_or_else(|| outcome.clone(), effects::named);
    format!(
        "This page shows what a table of {size} says about the outcome \u{201c}{outcome}\u{201d}. {learnt} Noise from the operating \
         system protects {whom}: {if_different}, {effect}. In the terms of the field the guarantee is {}.",
        privacy.promise
    )
}

/// The effects as they may be shown; none where there are none.
fn told(results: &FitResults) -> Option<Told<'_>> {
    let (name, mark, stated) = (results.method.as_str(), Mark::of(0), results.intervals.as_ref());
    Some(Told { name, effects: results.effects.as_ref()?, stated, mark })
}

/// Effects in the reader's units; nothing without them.
fn learnt(results: &FitResults) -> String {
    told(results).map_or_else(String::new, |told| section("learnt", "What was learnt", &effects::told(&[told], "")))
}

/// The three coefficients farthest from 0, in standard deviations.
fn leading(posterior: &[Coefficient]) -> Vec<&Coefficient> {
    order(posterior).into_iter().take(3).filter_map(|place| posterior.get(place)).collect()
}

/// Parameters of a model without inputs that the first paragraph names.
const LISTED_IN_WORDS: usize = 6;

fn is_sure(one: &Coefficient) -> bool {
    let (low, high) = one.ends();
    low > 0.0 || high < 0.0
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
    let shown = shows(results.intervals.as_ref());
    let rows = drawn.iter().map(|one| SvgRow {
        name: one.name.clone(),
        words: format!("{}: {}", one.name, estimate(one, shown)),
        shown: Shown::Intervals(vec![point(one, shown, Mark::of(0))]),
    });
    let (title, column) = match shown {
        true => ("Posterior means with 95 % intervals", "mean and 95 % interval"),
        false => ("Posterior means", "mean"),
    };
    let plot = RowPlot { title: title.to_owned(), axis: axis_of(drawn.iter().copied()), rows: rows.collect() };
    let caption = match order.len() {
        many if many > DRAWN => format!("The {DRAWN} of {many} farthest from 0, in standard deviations"),
        _ => "All coefficients, those farthest from 0 first".to_owned(),
    };
    let mut table = Table::new(title, vec!["coefficient".into(), column.into()]);
    for &place in order.iter().take(LISTED) {
        table.push("", vec![escape(&all[place].name), estimate(&all[place], shown)]);
    }
    let body = format!(
        "<div class=\"figures single\">\n{}</div>\n{}{}",
        figure(&plot.figure("posterior-plot", &described(all, &order, shown)), &caption),
        note(&format!(
            "Points are posterior means{}. {} {}",
            if shown { " and lines are 95 % intervals" } else { "" },
            match has_quantiles(all.iter()) {
                true => OF_THE_OUTCOME,
                false => "A coefficient belongs to an input as the schema scales it.",
            },
            effects::worth(results.intervals.as_ref())
        )),
        folded(&format!("All {} coefficients", order.len()), &table.html())
    );
    beside_effects(results.effects.is_some(), "What was learnt", &body)
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
            sum(lifetime.earlier_epsilon),
            sum(lifetime.earlier_delta)
        ),
    };
    let rows = [
        ("guarantee", privacy.promise.clone()),
        ("granted to this fit", granted),
        ("certified cost", format!("ε = {} for {} charges{burnt}", bound(privacy.spent_epsilon), privacy.charges)),
        ("other fits", earlier),
        ("all fits together", format!("ε = {} at δ = {}", sum(lifetime.epsilon), sum(lifetime.delta))),
        ("noise multiplier", fixed(privacy.noise_multiplier, 3)),
        ("clipping bound", bound(privacy.clip)),
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

/// A sum of budgets in all its digits, or rounded upwards where these are many.
fn sum(value: f64) -> String {
    let all = shortest(value);
    if all.len() <= 8 { all } else { up(value) }
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::well_formed;
    use inference::results::Provenance;
    use inference::warning::PublicWarnings;
    use study::{FIT, FIT_SCHEMA, FitLifetime, FitPrivacy};

    /// A fit with a burnt charge and an earlier fit, in which every name tries to leave its place.
    pub(crate) fn sample() -> FitResults {
        let name = |text: &str| format!("<script>{text}</script>&\"");
        let one = |text: &str, mean: f64| Coefficient { name: name(text), mean, deviation: 0.1, quantiles: None };
        FitResults {
            schema: FIT_SCHEMA,
            kind: FIT.into(),
            version: name("0"),
            study: name("study"),
            study_toml: name("toml"),
            data_schema: name("schema"),
            run: name("run"),
            manifest: name("manifest"),
            method: name("method"),
            algorithm: name("algorithm"),
            solver: name("solver"),
            model: name("model"),
            outcome_column: name("outcome"),
            rows: Some(1234),
            persons: None,
            rounds: 5,
            planned_rounds: 6,
            privacy: FitPrivacy {
                unit: "example".into(),
                adjacency: "add-remove".into(),
                epsilon: 1.0,
                delta: 1e-5,
                promise: name("promise"),
                noise_multiplier: 2.0,
                clip: 1.0,
                spent_epsilon: 0.9,
                charges: 6,
                burnt: 1,
            },
            lifetime: FitLifetime {
                earlier_fits: 1,
                earlier_epsilon: 0.1,
                earlier_delta: 1e-5,
                epsilon: 1.1,
                delta: 2e-5,
            },
            posterior: vec![one("a", 0.0), one("b", -1.0), one("c", 0.15)],
            intervals: Some(inference::Intervals::CountNoise { measured: name("measured").into() }),
            effects: None,
            draws: None,
            provenance: Provenance {
                date: name("date"),
                version: name("version"),
                commit: name("commit"),
                data_digest: None,
            },
            warnings: PublicWarnings::default(),
        }
    }

    #[test]
    fn the_page_is_well_formed_and_escapes_every_name() {
        let page = html(&sample());
        well_formed(&page);
        assert!(!page.contains("<script"), "{page}");
    }

    #[test]
    fn the_first_paragraph_says_what_was_learnt_and_promised() {
        let words = words(&sample());
        for part in [
            "1\u{202f}234 rows",
            "of 1 of 3 coefficients do not contain 0",
            "one row were missing",
            "more than 2.719 times",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        let client = FitPrivacy { unit: "client".into(), ..sample().privacy };
        assert!(super::words(&FitResults { privacy: client, ..sample() }).contains("the table as a whole"));
        let person = FitPrivacy { unit: "person".into(), adjacency: "substitute".into(), ..sample().privacy };
        let persons = FitResults { rows: None, persons: Some(400), privacy: person, ..sample() };
        let words = super::words(&persons);
        for part in ["a table of 400 persons", "protects every person: if all rows of one person were different"] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(!words.contains("single row"), "{words}");
        let empty = FitResults { posterior: Vec::new(), ..sample() };
        assert!(super::words(&empty).contains("No posterior is shown") && !html(&empty).contains("posterior-plot"));
    }

    #[test]
    fn quantiles_are_the_ends_of_intervals_and_named_as_parameters() {
        let quantiles = Some(inference::Quantiles([0.31, 0.32, 0.33, 0.35, 0.4, 0.45, 0.47, 0.48, 0.57]));
        let one = |name: &str| Coefficient { name: name.into(), mean: 0.41, deviation: 0.06, quantiles };
        let words = words(&FitResults { posterior: vec![one("probability of yes")], ..sample() });
        assert!(words.contains("With 95 % intervals: probability of yes 0.410 [0.310, 0.570]."), "{words}");
        assert!(!words.contains("do not contain 0"), "{words}");
    }

    #[test]
    fn burnt_charges_and_earlier_fits_are_told() {
        let page = html(&sample());
        for part in [
            "5 of 6 planned rounds",
            "for 6 charges, 1 of them burnt",
            "1 earlier in its ledger",
            "ε = 1.1 at δ = 2e-5",
        ] {
            assert!(page.contains(part), "{part}");
        }
        let whole = FitResults { rounds: 6, ..sample() };
        assert!(!html(&whole).contains("<h2>Warnings</h2>"));
    }
}
