//! Units, names and refusals of stated priors.

use super::*;
use crate::describe::{Registry, UNKNOWN};

const SCHEMA: &str = r#"
    outcome = { column = "ill", levels = ["no", "yes"] }
    column = [
        { name = "age", kind = "numeric", centre = 55, scale = 20, per = 10, units = "years" },
        { name = "dose", kind = "numeric", centre = 1, scale = 0.5, bounds = [0.1, 100], log = true },
        { name = "smoker", kind = "category", levels = ["no", "yes"] },
    ]
"#;

const PRESSURE: &str = r#"
    outcome = { column = "pressure", centre = 120, scale = 15, bounds = [60, 240], units = "mmHg" }
    column = [{ name = "age", kind = "numeric", centre = 55, scale = 10 }]
"#;

fn model(text: &str) -> StudyModel {
    let table = toml::from_str(text).unwrap();
    StudyModel::read(&table, &Registry::standard()).unwrap_or_else(|all| panic!("{all:?}"))
}

fn refused(text: &str) -> Conflict {
    let table = toml::from_str(text).unwrap();
    StudyModel::read(&table, &Registry::standard()).unwrap_err().remove(0)
}

fn prior(text: &str, schema: &str) -> Result<PriorTerm, Conflict> {
    match model(text).encoded_prior(&Schema::from_toml(schema).unwrap(), true)? {
        EncodedPrior::Stated(term) => Ok(term),
        EncodedPrior::Same(_) => panic!("one precision"),
    }
}

fn near(found: &[f64], expected: &[f64]) {
    let close = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(close, "{found:?} {expected:?}");
}

/// Encoded deviations.
fn deviations(term: &PriorTerm) -> Vec<f64> {
    term.diagonal().iter().map(|p| 1.0 / p.sqrt()).collect()
}

#[test]
fn effects_per_unit_become_effects_per_scale() {
    let text = r#"
        kind = "logistic"
        prior = { precision = 4.0, coefficients = {
            age = { mean = 0.02, sd = 0.1 }, dose = { mean = 0.7, sd = 0.2, per = 2 },
            "smoker=yes" = { odds_ratio = [1.0, 4.0] }, intercept = { mean = -1.0, sd = 2.0 } } }
    "#;
    let term = prior(text, SCHEMA).unwrap();
    let (log2, reach) = (2.0_f64.ln(), 1.959_963_984_540_054);
    near(term.mean(), &[0.4, 0.7 / log2 * 0.5, 0.0, log2, -1.0]);
    near(&deviations(&term), &[2.0, 0.2 / log2 * 0.5, 0.5, log2 / reach, 2.0]);
    let told = model(text).converted_priors(&Schema::from_toml(SCHEMA).unwrap(), true).unwrap();
    let words: Vec<String> = told.iter().map(ConvertedPrior::words).collect();
    assert!(words.contains(&"age: mean 0.02, sd 0.1 per 1 years; encoded mean 0.4, sd 2".to_owned()), "{words:?}");
    assert!(
        words.iter().any(|line| line.starts_with("intercept: mean -1, sd 2 at the centre of the inputs")),
        "{words:?}"
    );
}

/// An effect of 5 mmHg per decade and a mean of 130 mmHg at the centre of the ages.
#[test]
fn an_outcome_with_units_scales_effects_and_moves_the_intercept() {
    let text = r#"
        kind = "linear"
        prior = { coefficients = { age = { mean = 5.0, sd = 3.0, per = 10 }, intercept = { mean = 130, sd = 15 } } }
    "#;
    let term = prior(text, PRESSURE).unwrap();
    near(term.mean(), &[5.0 / 15.0, 10.0 / 15.0]);
    near(&deviations(&term), &[0.2, 1.0]);
}

/// The way back, by which effects are told, gives what was stated.
#[test]
fn effects_of_the_prior_are_what_was_stated() {
    let schema = Schema::from_toml(SCHEMA).unwrap();
    let text = r#"
        kind = "logistic"
        prior = { coefficients = { age = { mean = 0.3, sd = 0.1, per = 10 }, dose = { mean = 0.7, sd = 0.2, per = 2 } } }
    "#;
    let q = prior(text, SCHEMA).unwrap().gaussian().unwrap();
    let told = crate::effects::effects(&schema, crate::effects::EffectScale::OddsRatio, &q).unwrap().effects;
    near(&[told[0].mean, told[0].deviation], &[0.3, 0.1]);
    near(&[told[1].mean, told[1].deviation], &[0.7, 0.2]);
}

#[test]
fn without_coefficients_there_is_one_precision() {
    let schema = Schema::from_toml(SCHEMA).unwrap();
    for (text, precision) in [("kind = 'logistic'", 1.0), ("kind = 'logistic'\nprior = { precision = 0.5 }", 0.5)] {
        assert_eq!(model(text).encoded_prior(&schema, true).unwrap(), EncodedPrior::Same(precision));
    }
}

#[test]
fn what_cannot_be_meant_is_refused_at_its_key() {
    let with = |stated: &str| format!("kind = 'logistic'\nprior = {{ {stated} }}");
    for (stated, key, code) in [
        ("coefficients = { age = { mean = 1 } }", "prior.coefficients.age", UNREADABLE),
        ("coefficients = { age = { sd = -1 } }", "prior.coefficients.age.sd", VALUE),
        ("coefficients = { age = { sd = 1, width = 2 } }", "prior.coefficients.age.width", UNKNOWN),
        ("coefficients = { age = 1 }", "prior.coefficients.age", UNREADABLE),
        ("coefficients = { age = { sd = 1, odds_ratio = [1, 2] } }", "prior.coefficients.age.odds_ratio", STRAY),
        ("coefficients = { age = { odds_ratio = [2, 1] } }", "prior.coefficients.age.odds_ratio", VALUE),
        ("discount = 0.5", "prior.discount", STRAY),
        ("from = 'p.json'", "prior.from", UNREADABLE),
    ] {
        let found = refused(&with(stated));
        assert_eq!((found.key.as_str(), found.code), (key, code), "{stated}: {}", found.what);
    }
    for (stated, key, hint) in [
        ("coefficients = { agee = { sd = 1 } }", "prior.coefficients", "did you mean \"age\"?"),
        ("coefficients = { smoker = { sd = 1 } }", "prior.coefficients", "\"smoker=no\", \"smoker=yes\""),
        ("coefficients = { 'smoker=yes' = { sd = 1, per = 2 } }", "prior.coefficients.smoker=yes", "leave per out"),
        ("coefficients = { dose = { sd = 1, per = 0.5 } }", "prior.coefficients.dose", "per = 2"),
        ("coefficients = { age = { sd = 1e-7 } }", "prior.coefficients.age", "far off"),
        ("coefficients = { intercept = { odds_ratio = [1, 2] } }", "prior.coefficients.intercept", "log odds"),
    ] {
        let found = prior(&with(stated), SCHEMA).unwrap_err();
        assert_eq!(found.key, key, "{}", found.what);
        assert!(found.hint.contains(hint), "{}", found.hint);
    }
    let ratio = prior("kind = 'linear'\nprior = { coefficients = { age = { odds_ratio = [1, 2] } } }", PRESSURE);
    assert!(ratio.unwrap_err().what.contains("the outcome is a number"));
    let softmax = prior("kind = 'softmax'\nprior = { coefficients = { 'yes: age' = { sd = 1 } } }", SCHEMA);
    assert!(softmax.unwrap_err().what.contains("no units"));
}

/// A posterior of the study above, in another order of its coefficients.
fn earlier(schema: &str, names: &[&str]) -> EarlierPosterior {
    let d = names.len();
    let entry = |i: usize, j: usize| if i == j { 2.0 + i as f64 } else { 0.1 };
    EarlierPosterior {
        source: "first, levels".into(),
        released: true,
        kind: "logistic".into(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        encoding: super::super::encodings(&Schema::from_toml(schema).unwrap()),
        mean: (0..d).map(|j| j as f64).collect(),
        deviation: vec![1.0; d],
        precision: Some((0..d).flat_map(|i| (0..=i).map(move |j| entry(i, j))).collect()),
    }
}

const NAMES: [&str; 5] = ["intercept", "dose", "smoker=yes", "smoker=no", "age"];

fn from(earlier: &EarlierPosterior, more: &str, schema: &str) -> Result<PriorTerm, Conflict> {
    let table = toml::Value::Table(earlier.table());
    prior(&format!("kind = 'logistic'\nprior = {{ posterior = {table}{more} }}"), schema)
}

#[test]
fn an_earlier_posterior_is_matched_by_names() {
    let term = from(&earlier(SCHEMA, &NAMES), "", SCHEMA).unwrap();
    assert_eq!(term.mean(), [4.0, 1.0, 3.0, 2.0, 0.0], "age, dose, no, yes, intercept");
    assert_eq!(term.diagonal(), [6.0, 3.0, 5.0, 4.0, 2.0]);
    assert_eq!(term.off_diagonal().unwrap()[1], 0.1);
    let half = from(&earlier(SCHEMA, &NAMES), ", discount = 0.5", SCHEMA).unwrap();
    assert_eq!((half.mean(), half.diagonal()[0]), (term.mean(), 3.0));
    let alone = from(&earlier(SCHEMA, &NAMES), ", correlations = false", SCHEMA).unwrap();
    assert!(alone.off_diagonal().is_none());
    assert!(EncodedPrior::Stated(term).check(crate::settings::Covariance::MeanField).is_err());
    assert!(EncodedPrior::Stated(alone).check(crate::settings::Covariance::MeanField).is_ok());
}

#[test]
fn other_coefficients_encodings_and_models_are_refused() {
    let good = earlier(SCHEMA, &NAMES);
    let what = |earlier: &EarlierPosterior, schema: &str| from(earlier, "", schema).unwrap_err().what;
    assert!(what(&EarlierPosterior { kind: "linear".into(), ..good.clone() }, SCHEMA).contains("linear model"));
    let renamed = earlier(SCHEMA, &["intercept", "dose", "smoker=yes", "smoker=never", "age"]);
    assert!(what(&renamed, SCHEMA).contains("no coefficient \"smoker=no\""), "{}", what(&renamed, SCHEMA));
    let moved = SCHEMA.replace("centre = 55", "centre = 50");
    let told = what(&good, &moved);
    assert!(told.contains("\"age: centre 55, scale 20\", and this schema \"age: centre 50, scale 20\""), "{told}");
    let turned = SCHEMA.replace(
        "outcome = { column = \"ill\", levels = [\"no\", \"yes\"] }",
        "outcome = { column = \"ill\", levels = [\"yes\", \"no\"] }",
    );
    assert!(what(&good, &turned).contains("outcome ill"), "the sign of every effect would turn");
    let short = EarlierPosterior { mean: vec![0.0; 4], ..good };
    let table = toml::Value::Table(short.table());
    assert_eq!(refused(&format!("kind = 'logistic'\nprior = {{ posterior = {table} }}")).code, VALUE);
}
