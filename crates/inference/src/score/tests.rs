//! Scores by hand, and the rules that every score of the list obeys.

use super::held_out::REACH;
use super::*;
use std::f64::consts::PI;

fn of(scores: &Scores<f64>, name: &str) -> Option<f64> {
    scores.get(name).copied()
}

fn probable(values: &[f64]) -> Vec<Prediction> {
    values.iter().map(|p| Prediction::Probability(*p)).collect()
}

#[test]
fn classification_is_scored_by_hand() {
    let found = scores(&probable(&[0.9, 0.4, 0.4, 0.2]), &[1.0, 1.0, 0.0, 0.0]);
    assert_eq!(of(&found, "accuracy"), Some(0.75));
    // Pairs of a one and a zero: 0.9 beats both, 0.4 ties with one and beats the other.
    assert_eq!(of(&found, "auc"), Some(3.5 / 4.0));
    assert_eq!((of(&found, "absolute_error"), of(&found, "coverage"), of(&found, "width")), (None, None, None));
    let expected = (0.9_f64.ln() + 0.4_f64.ln() + 0.6_f64.ln() + 0.8_f64.ln()) / 4.0;
    assert!((*found.main().unwrap() - expected).abs() < 1e-15);
}

#[test]
fn the_area_counts_pairs() {
    let p: Vec<f64> = (0..60).map(|i| f64::from(i * i * 7 % 23) / 23.0).collect();
    let y: Vec<f64> = (0..60).map(|i| f64::from(i * 5 % 7 % 2)).collect();
    let mut counted = (0.0, 0.0);
    for (a, _) in p.iter().zip(&y).filter(|(_, y)| **y == 1.0) {
        for (b, _) in p.iter().zip(&y).filter(|(_, y)| **y == 0.0) {
            counted.0 += if a > b { 1.0 } else { f64::from(u8::from(a == b)) / 2.0 };
            counted.1 += 1.0;
        }
    }
    let auc = of(&scores(&probable(&p), &y), "auc").unwrap();
    assert!((auc - counted.0 / counted.1).abs() < 1e-12, "{auc} {counted:?}");
    assert_eq!(of(&scores(&probable(&p), &[1.0; 60]), "auc"), None);
}

#[test]
fn more_classes_are_scored_by_hand() {
    let three = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.6, 0.3]].map(|p| Prediction::Classes(p.to_vec()));
    let found = scores(&three, &[0.0, 1.0, 1.0]);
    assert_eq!(
        (of(&found, "accuracy"), of(&found, "auc"), of(&found, "absolute_error")),
        (Some(2.0 / 3.0), None, None)
    );
    let expected = (0.7_f64.ln() + 0.3_f64.ln() + 0.6_f64.ln()) / 3.0;
    assert!((*found.main().unwrap() - expected).abs() < 1e-15);
    let bins = calibration(&three, &[0.0, 1.0, 1.0]);
    let found: Vec<_> = bins.iter().map(|b| (b.predicted, b.observed, b.rows)).collect();
    assert_eq!(found, [(0.4, 0.0, 1), (0.6, 1.0, 1), (0.7, 1.0, 1)]);
}

#[test]
fn regression_is_scored_by_hand() {
    let normal = [Prediction::Normal { mean: 1.0, deviation: 2.0 }, Prediction::Normal { mean: 0.0, deviation: 1.0 }];
    let found = scores(&normal, &[3.0, -0.5]);
    assert_eq!((of(&found, "accuracy"), of(&found, "auc"), of(&found, "absolute_error")), (None, None, Some(1.25)));
    assert_eq!(of(&found, "root_squared_error"), Some(2.125_f64.sqrt()));
    assert_eq!(of(&scores_at(&[1], &normal, &[3.0, -0.5]), "absolute_error"), Some(0.5));
    let expected = -0.5 * ((1.0 + 0.25) / 2.0 + 2.0_f64.ln() + (2.0 * PI).ln());
    assert!((*found.main().unwrap() - expected).abs() < 1e-15, "{} {expected}", *found.main().unwrap());
    assert!(calibration(&normal, &[3.0, -0.5]).is_empty());
}

#[test]
fn the_interval_is_the_central_90_in_100_of_the_predictive() {
    let normal = [(0.0, 1.0), (0.0, 1.0), (5.0, 2.0), (5.0, 2.0)];
    let normal = normal.map(|(mean, deviation)| Prediction::Normal { mean, deviation });
    let found = scores(&normal, &[1.64, -1.65, 8.28, 8.30]);
    assert_eq!(of(&found, "coverage"), Some(0.5));
    assert!((of(&found, "width").unwrap() - 2.0 * 1.5 * 1.644_853_627).abs() < 1e-8, "{:?}", of(&found, "width"));
    assert!((libm::erf(REACH * std::f64::consts::FRAC_1_SQRT_2) - 0.9).abs() < 1e-15);
}

#[test]
fn certainty_that_is_wrong_is_finite_and_edges_have_a_bin() {
    let found = scores(&probable(&[0.0, 1.0]), &[1.0, 0.0]);
    assert!((*found.main().unwrap() - f64::EPSILON.ln()).abs() < 1e-12);
    let bins = calibration(&probable(&[0.0, 1.0, 0.95, 0.55]), &[0.0, 1.0, 0.0, 1.0]);
    let expected = [(0.0, 0.0, 1), (0.55, 1.0, 1), (0.975, 0.5, 2)];
    assert_eq!(bins.iter().map(|b| (b.predicted, b.observed, b.rows)).collect::<Vec<_>>(), expected);
    assert_eq!(of(&scores(&[], &[]), "accuracy"), None);
}

#[test]
fn names_and_labels_are_different_and_words_are_names_with_hyphens() {
    let different = |of: fn(&Score) -> &'static str| {
        let mut texts: Vec<&str> = ALL.iter().map(|score| of(score)).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.len() == ALL.len()
    };
    assert!(different(|score| score.name) && different(|score| score.label), "labels make the ids of figures");
    assert!(ALL.contains(&MAIN) && ALL.iter().all(|score| score.word == score.name.replace('_', "-")));
}

#[test]
fn a_score_goes_with_the_outcomes_that_it_names() {
    let classes = scores(&probable(&[0.9, 0.4]), &[1.0, 0.0]);
    let normal = [1.0, 2.0].map(|mean| Prediction::Normal { mean, deviation: 2.0 });
    let numbers = scores(&normal, &[3.0, 5.0]);
    for score in ALL {
        let found = (classes.get(score.name).is_some(), numbers.get(score.name).is_some());
        let expected = match score.outcome {
            ScoredOutcome::Class => (true, false),
            ScoredOutcome::Number => (false, true),
            ScoredOutcome::Any => (true, true),
        };
        assert_eq!(found, expected, "{score:?}");
    }
}

#[test]
fn scores_are_read_as_they_were_written_and_other_names_are_passed_over() {
    let found = scores(&probable(&[0.9, 0.4]), &[1.0, 0.0]);
    let text = serde_json::to_string(&found).unwrap();
    assert!(text.starts_with("{\"accuracy\":1.0,\"log_likelihood\":"), "{text}");
    assert_eq!(serde_json::from_str::<Scores<f64>>(&text).unwrap(), found);
    let other = r#"{"later": {"a": [1]}, "log_likelihood": -0.5, "width": null, "accuracy": 0.75}"#;
    let read: Scores<f64> = serde_json::from_str(other).unwrap();
    assert_eq!(
        read.iter().map(|(score, value)| (score.name, *value)).collect::<Vec<_>>(),
        [("accuracy", 0.75), ("log_likelihood", -0.5)]
    );
}

#[test]
fn units_are_those_of_the_outcome() {
    let normal = [Prediction::Normal { mean: 1.0, deviation: 2.0 }];
    let (encoded, scaled) = (scores(&normal, &[3.0]), [Prediction::Normal { mean: 10.0, deviation: 20.0 }]);
    let direct = scores(&scaled, &[30.0]);
    for (score, value) in encoded.in_units(10.0).iter() {
        assert!((value - direct.get(score.name).unwrap()).abs() < 1e-12, "{score:?}");
    }
}
