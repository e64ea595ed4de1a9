//! Effects against what predictors of rows say, and the words that they are told in.

use super::*;
use crate::{RowReading, read};

const SCHEMA: &str = r#"
    outcome = { column = "y", levels = ["no", "yes"] }
    column = [
        { name = "ward", kind = "category", levels = ["a", "b", "c"], reference = "b", missing = "level" },
        { name = "age", kind = "numeric", centre = 50, scale = 16, bounds = [0, 110], units = "years", missing = "flag" },
        { name = "note", kind = "ignore" },
        { name = "dose", kind = "numeric", centre = 1, scale = 3, bounds = [0.1, 100], log = true },
        { name = "male", kind = "numeric", centre = 0.5, scale = 0.5, bounds = [0, 1] },
    ]
"#;

/// A posterior with covariances: Λ = AᵀA + I of numbers without a pattern.
fn posterior(dimension: usize) -> Gaussian {
    let number = |i: usize, j: usize| ((i * 7 + j * 13) % 11) as f64 / 11.0 - 0.4;
    let mut precision = Vec::new();
    for i in 0..dimension {
        for j in 0..=i {
            let product: f64 = (0..dimension).map(|k| number(k, i) * number(k, j)).sum();
            precision.push(product + f64::from(u8::from(i == j)));
        }
    }
    let mean = (0..dimension).map(|j| number(j, 3)).collect();
    Gaussian::from_precision(mean, &precision).unwrap()
}

/// The difference of two rows' linear predictors under q: mean and standard deviation.
fn between(schema: &Schema, q: &Gaussian, [one, other]: [&str; 2]) -> (f64, f64) {
    let csv = format!("ward,age,note,dose,male,y\n{one},yes\n{other},yes\n");
    let rows = read(csv.as_bytes(), schema, true, &[], RowReading::Strict).unwrap().rows;
    let [a, b] = [0, 1].map(|i| rows.row(i).to_dense(q.dimension()));
    let c: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    (dot(&c, q.mean()), dot(&c, &q.covariance_times(&c)).sqrt())
}

/// Every effect is the difference between two rows that differ in what it says, and in nothing else.
#[test]
fn an_effect_is_the_difference_between_two_rows() {
    let schema = Schema::from_toml(SCHEMA).unwrap();
    let q = posterior(schema.inputs(true).len());
    let told = effects(&schema, EffectScale::OddsRatio, &q).unwrap();
    let pairs = [
        ("ward: a against b", ["a,50,x,1,1", "b,50,x,1,1"]),
        ("ward: c against b", ["c,50,x,1,1", "b,50,x,1,1"]),
        ("ward: missing against b", [",50,x,1,1", "b,50,x,1,1"]),
        ("age, per 20 years", ["a,60,x,1,1", "a,40,x,1,1"]),
        ("age: missing against 50 years", ["a,,x,1,1", "a,50,x,1,1"]),
        ("dose, per doubling", ["a,50,x,6,1", "a,50,x,3,1"]),
        ("male, per 1", ["a,50,x,1,1", "a,50,x,1,0"]),
    ];
    assert_eq!(told.effects.len(), pairs.len());
    for (effect, (words, rows)) in told.effects.iter().zip(pairs) {
        let (mean, deviation) = between(&schema, &q, rows);
        assert_eq!(effect.words(), words);
        assert!((effect.mean - mean).abs() < 1e-12 && (effect.deviation - deviation).abs() < 1e-12, "{effect:?}");
    }
    assert!(told.covariances);
    assert_eq!((told.outcome.as_str(), told.level.as_deref()), ("y", Some("yes")));
}

#[test]
fn the_intercept_changes_no_effect_and_other_posteriors_have_none() {
    let schema = Schema::from_toml(SCHEMA).unwrap();
    let inputs = schema.inputs(false).len();
    let q = |d: usize| Gaussian::new_diagonal((0..d).map(|j| j as f64).collect(), vec![0.25; d]).unwrap();
    let told = |d: usize| effects(&schema, EffectScale::OddsRatio, &q(d)).map(|told| told.effects);
    assert_eq!(told(inputs), told(inputs + 1));
    assert!(told(inputs).is_some());
    assert_eq!((told(inputs - 1), told(inputs + 2), told(3 * inputs)), (None, None, None));
    // A softmax of two levels has a coefficient of each.
    assert!(told(2 * inputs).unwrap().iter().all(|effect| effect.of.as_deref() == Some("yes against no")));
}

#[test]
fn intervals_and_signs_follow_from_the_normal_law() {
    let schema = Schema::from_toml(
        "outcome = { column = 'kg', bounds = [0, 200], centre = 70, scale = 10, units = 'kg' }\n\
         column = [{ name = 'a', kind = 'numeric', centre = 0, scale = 4, per = 2 }]",
    )
    .unwrap();
    let q = Gaussian::new_diagonal(vec![0.392], vec![0.04]).unwrap();
    let told = effects(&schema, EffectScale::Difference, &q).unwrap();
    let one = &told.effects[0];
    // In kilograms per 2: 10 · 2 / 4 = 5 times the coefficient.
    assert!((one.mean - 1.96).abs() < 1e-12 && (one.deviation - 1.0).abs() < 1e-12, "{one:?}");
    assert!(one.lower.abs() < 1e-3 && (one.positive - 0.975).abs() < 1e-5 && one.sign() == one.positive);
    assert_eq!((one.shown(told.scale)[0], told.scale.neutral()), (one.mean, 0.0));
    let ratio = one.shown(EffectScale::OddsRatio);
    assert!((ratio[0] - 1.96_f64.exp()).abs() < 1e-9 && ratio[1] < ratio[0] && ratio[0] < ratio[2]);
    assert_eq!((told.level, told.units.as_deref(), told.covariances), (None, Some("kg"), false));
}

/// Adding the same to all classes changes no probability, and no effect.
#[test]
fn several_levels_are_told_against_the_first() {
    let schema = Schema::from_toml(
        "outcome = { column = 'stage', levels = ['I', 'II', 'III'] }\n\
         column = [{ name = 'a', kind = 'numeric', centre = 0, scale = 1 }]",
    )
    .unwrap();
    let told = |shift: f64| {
        let mean = [0.5, 9.0, 0.75, 9.0, 2.0, 9.0].map(|m| m + shift).to_vec();
        effects(&schema, EffectScale::OddsRatio, &Gaussian::new_diagonal(mean, vec![0.5; 6]).unwrap()).unwrap()
    };
    let (plain, shifted) = (told(0.0), told(8.0));
    assert_eq!(plain, shifted);
    let found: Vec<(String, f64, f64)> = plain.effects.iter().map(|e| (e.words(), e.mean, e.deviation)).collect();
    assert_eq!(found, [("a, per 1 (II against I)".into(), 0.25, 1.0), ("a, per 1 (III against I)".into(), 1.5, 1.0)]);
}

#[test]
fn a_change_that_nobody_stated_is_round_and_within_the_range() {
    let per = |scale: f64, bounds: &str| {
        let text = format!(
            "outcome = {{ column = 'y', levels = ['0', '1'] }}\n\
             column = [{{ name = 'a', kind = 'numeric', centre = 0, scale = {scale}{bounds} }}]"
        );
        contrasts(&Schema::from_toml(&text).unwrap())[0].comparison.clone()
    };
    for (scale, told) in [(1.1, "per 1"), (17.6, "per 20"), (60.0, "per 50"), (0.03, "per 0.02"), (25.0, "per 20")] {
        assert_eq!(per(scale, ""), told, "{scale}");
    }
    assert_eq!(per(10.0, ", bounds = [2, 5]"), "per 3");
    assert_eq!(per(0.3, ", bounds = [0, 1]"), "per 1");
}
