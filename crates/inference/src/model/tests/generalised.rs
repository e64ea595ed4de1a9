//! Generalised linear models: the slopes of their expected log-likelihoods, and logistic regression as one of them.

use super::*;
use crate::model::sigmoid::expectations;

/// Poisson regression with a log link.
#[derive(Debug)]
struct Counts;

impl ResponseDistribution for Counts {
    fn log_density(&self, outcome: f64, a: f64) -> f64 {
        outcome * a - libm::exp(a) - libm::lgamma(outcome + 1.0)
    }

    fn expected(&self, outcome: f64, a: LinearPredictor) -> Pull {
        let rate = libm::exp(a.mean + 0.5 * a.variance);
        Pull { residual: outcome - rate, curvature: rate }
    }

    fn predict(&self, a: LinearPredictor) -> Prediction {
        Prediction::Normal { mean: libm::exp(a.mean + 0.5 * a.variance), deviation: 1.0 }
    }
}

/// Logistic regression, stated as a distribution of a.
#[derive(Debug)]
struct Binary;

impl ResponseDistribution for Binary {
    fn log_density(&self, outcome: f64, a: f64) -> f64 {
        outcome * a - a.max(0.0) - libm::log1p(libm::exp(-a.abs()))
    }

    fn expected(&self, outcome: f64, a: LinearPredictor) -> Pull {
        let (mut value, mut slope) = ([a.mean], [a.variance]);
        expectations(&mut value, &mut slope);
        Pull { residual: outcome - value[0], curvature: slope[0] }
    }

    fn predict(&self, a: LinearPredictor) -> Prediction {
        let (mut value, mut slope) = ([a.mean], [a.variance]);
        expectations(&mut value, &mut slope);
        Prediction::Probability(value[0])
    }
}

fn counts() -> Rows {
    let mut counted = Rows::new(5, 2).unwrap();
    for (row, outcome) in rows(true).iter().zip([3.0, 0.0, 1.0, 7.0]) {
        counted.push(Row { outcome, ..row }).unwrap();
    }
    counted
}

const NARROW: [f64; 5] = [0.3, 0.2, 0.4, 0.3, 0.25];

#[test]
fn gradients_and_statistics_are_the_slopes_of_the_expected_log_likelihood() {
    let (model, counts, which) = (GeneralisedLinear(Counts), counts(), [0, 1, 3]);
    let at: Vec<f64> = MEAN.into_iter().chain(NARROW.map(libm::log)).collect();
    let moved = |j: usize, by: f64| {
        let mut x = at.clone();
        x[j] += by;
        objective(&model, &counts, &which, &x)
    };
    let slopes: Vec<f64> = (0..10).map(|j| (moved(j, 1e-4) - moved(j, -1e-4)) / 2e-4).collect();
    let mut sum = vec![0.0; 10];
    let point = Point { mean: &MEAN, deviation: &NARROW };
    model.gradients(&counts, &which, point, 0, &mut Scratch::default(), &mut sum).unwrap();
    assert_close(&sum, &slopes, 1e-5);
    let q = Gaussian::new_diagonal(MEAN.to_vec(), NARROW.map(|s| s * s).to_vec()).unwrap();
    for (family, full) in [(Family::MeanField { dimension: 5 }, false), (Family::Full { dimension: 5 }, true)] {
        let numerical = numerical_factor(&model, &counts, &which, &q, full);
        assert_close(&model.statistics(&counts, &which, &q, family), &numerical, 1e-5);
    }
}

#[test]
fn logistic_regression_as_a_generalised_linear_model_is_logistic_regression() {
    let (wrapped, own, rows, which) = (GeneralisedLinear(Binary), Logistic::default(), rows(true), [3, 0, 1]);
    assert!(wrapped.offers().iter().all(|offer| own.offers().contains(offer)));
    assert_eq!(wrapped.parameters(5), own.parameters(5));
    assert_close(&gradient(&wrapped, &rows, &which, 0), &gradient(&own, &rows, &which, 0), 1e-14);
    let q = diagonal();
    for family in [Family::MeanField { dimension: 5 }, Family::Full { dimension: 5 }] {
        let ours = wrapped.statistics(&rows, &which, &q, family);
        assert_close(&ours, &own.statistics(&rows, &which, &q, family), 1e-13);
    }
    let (a, b) = (wrapped.at(&rows, &MEAN), own.at(&rows, &MEAN));
    assert!((a.value - b.value).abs() < 1e-12);
    assert_close(&a.natural, &b.natural, 1e-4);
    assert_eq!(wrapped.mean_curvature(2.0), own.mean_curvature(2.0));
    for (a, b) in wrapped.predict(&rows, &q).into_iter().zip(own.predict(&rows, &q)) {
        let (Prediction::Probability(a), Prediction::Probability(b)) = (a, b) else { panic!("not a probability") };
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}
