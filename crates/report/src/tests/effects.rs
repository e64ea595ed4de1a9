//! What was learnt, on the page: which intervals are shown, in which units, and in which words.

use super::{sample, sound};
use inference::effects::{EffectScale, Effects, effects};
use inference::score::{CheckGroup, PredictiveChecks};
use inference::{Gaussian, Intervals, Schema};

const COLUMNS: &str = r#"column = [
    { name = "<age>", kind = "numeric", centre = 50, scale = 10, per = 10, units = "years" },
    { name = "ward", kind = "category", levels = ["a", "b", "c"], reference = "b" },
    { name = "flat", kind = "numeric", centre = 0, scale = 1 },
]"#;

fn told(outcome: &str, scale: EffectScale, mean: Vec<f64>) -> Effects {
    let schema = Schema::from_toml(&format!("outcome = {outcome}\n{COLUMNS}")).unwrap();
    let variances = vec![0.01; mean.len()];
    effects(&schema, scale, &Gaussian::new_diagonal(mean, variances).unwrap()).unwrap()
}

fn logistic() -> Effects {
    told("{ column = \"ill\", levels = [\"no\", \"yes\"] }", EffectScale::OddsRatio, vec![0.693, 0.05, 1.0, 0.0, -0.5])
}

/// Intervals that count the noise, with what was measured of them.
fn counted() -> Intervals {
    Intervals::CountNoise { measured: "90 % intervals held 86 to 94 % of the coefficients".into() }
}

/// The sample with these effects in its best private method, whose intervals are worth this, and in the non-private one.
fn page(effects: &Effects, intervals: Intervals) -> String {
    let mut results = sample();
    for method in &mut results.methods {
        match method.name.as_str() {
            "trusted-sum" => method.intervals = Some(intervals.clone()),
            "non-private" => method.intervals = Some(Intervals::WithoutNoise),
            _ => {}
        }
        if ["trusted-sum", "non-private"].contains(&method.name.as_str()) {
            method.effects = Some(effects.clone());
        }
    }
    sound(&results)
}

/// The section and the paragraph before it.
fn learnt(page: &str) -> &str {
    page.split("id=\"learnt\"").nth(1).unwrap().split("</section>").next().unwrap()
}

#[test]
fn odds_ratios_have_intervals_where_these_count_the_noise() {
    let page = page(&logistic(), counted());
    let section = learnt(&page);
    assert!(section.contains("Odds ratios of ill = yes"), "{section}");
    for part in ["per 10 years", "a against b", "2.00", "1.64 to 2.43", "&gt; 99.9 %", "69.1 %", ">ward, against b<"] {
        assert!(section.contains(part), "{part}");
    }
    assert!(section.contains("&lt;age&gt;") && !section.contains("<age>"));
    assert!(section.contains("In simulations 90 % intervals held 86 to 94 % of the coefficients"), "{section}");
    let first = page.split("<p>").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(first.starts_with("What goes with ill = yes?") && !first.contains('ε'), "{first}");
    assert!(first.contains("Of 4 comparisons 3 are clear") && first.contains("2.00 times the odds"), "{first}");
}

/// Whatever the reason, there is no bar, no interval, no probability, and a sentence that says why.
#[test]
fn intervals_that_are_not_to_be_relied_on_are_not_shown() {
    let short = Intervals::DoNotHold { measured: "90 % intervals held 31 to 100 % of the coefficients".into() };
    for (intervals, why) in [
        (Intervals::IgnoreNoise, "they do not count the noise"),
        (short, "in simulations 90 % intervals held 31 to 100 %"),
        (Intervals::FittedPrior, "fitted to the releases"),
    ] {
        let page = page(&logistic(), intervals);
        let own = learnt(&page).split("<details>").next().unwrap();
        assert!(own.contains(why) && own.contains(">2.00<"), "{why}: {own}");
        let table = own.split("<table>").nth(1).unwrap();
        assert!(!table.contains("1.64 to 2.43") && !table.contains("95 % interval<"), "{table}");
        assert!(!table.contains("probability of"), "{table}");
        let other = learnt(&page).split("<details>").nth(1).unwrap();
        assert!(other.contains("non-private") && other.contains("1.64 to 2.43"), "{other}");
        let bars = own.matches("stroke-width=\"1.8\" ").count() + own.matches("stroke-width=\"1.8\"/>").count();
        assert!(bars >= 4, "of the non-private method alone: {bars}");
    }
}

#[test]
fn numbers_are_told_in_their_units_and_levels_against_the_first() {
    let outcome = "{ column = \"weight\", bounds = [0, 200], centre = 70, scale = 10, units = \"kg\" }";
    let kilograms = told(outcome, EffectScale::Difference, vec![0.5, 0.0, 0.0, 0.0, 0.0]);
    let page_of = page(&kilograms, counted());
    let section = learnt(&page_of);
    for part in ["Differences in weight (kg)", ">5.00<", "3.04 to 6.96", "probability of an increase"] {
        assert!(section.contains(part), "{part}");
    }
    assert!(page_of.contains("+5.00 kg"));
    let stages =
        told("{ column = \"stage\", levels = [\"I\", \"II\", \"III\"] }", EffectScale::OddsRatio, vec![0.1; 15]);
    let page = page(&stages, counted());
    assert!(learnt(&page).contains("effects-1") && learnt(&page).contains("II against I"));
}

#[test]
fn checks_say_which_groups_are_outside_what_was_expected() {
    let mut results = sample();
    let group = |name: &str, observed: f64| CheckGroup {
        name: name.into(),
        rows: 500,
        predicted: 0.2,
        observed,
        deviation: 0.02,
    };
    let checks =
        PredictiveChecks { tenths: vec![group("1", 0.2)], sites: vec![group("<north>", 0.21), group("south", 0.3)] };
    results.methods.iter_mut().for_each(|method| method.checks = Some(checks.clone()));
    let page = sound(&results);
    let section = page.split("id=\"checks\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(section.matches("outside<").count(), 1, "{section}");
    assert!(section.contains("16.1 % to 23.9 %") && section.contains("30.0 %"), "{section}");
}

/// The page of a fit follows the same rule, in its effects and in its coefficients; what says nothing of its intervals shows none.
#[test]
fn a_fit_shows_intervals_only_where_they_are_to_be_relied_on() {
    let page = |intervals: Option<Intervals>| {
        let effects = Some(logistic());
        crate::fit::html(&fit_with(intervals, effects))
    };
    let coefficients = "[\u{2212}1.196, \u{2212}0.804]";
    let shown = page(Some(counted()));
    assert!(learnt(&shown).contains("1.64 to 2.43") && shown.contains(coefficients), "{shown}");
    for (intervals, why) in [
        (Some(Intervals::IgnoreNoise), "do not count the noise"),
        (Some(Intervals::FittedPrior), "fitted to the releases"),
        (None, "do not say whether"),
    ] {
        let page = page(intervals);
        assert!(!learnt(&page).contains("1.64 to 2.43") && !page.contains(coefficients), "{why}");
        assert!(page.matches(why).count() >= 2, "{why}");
    }
}

fn fit_with(intervals: Option<Intervals>, effects: Option<Effects>) -> study::FitResults {
    study::FitResults { intervals, effects, ..crate::fit::tests::sample() }
}
