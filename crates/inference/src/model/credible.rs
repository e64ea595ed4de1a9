//! How sure a posterior is of a row's probability.

use crate::special::sigmoid;
use crate::{Gaussian, Rows};

/// For each row the interval of σ(xᵀθ) that lies `reach` posterior deviations of xᵀθ around its mean.
///
/// xᵀθ ~ N(m, v) under q and σ increases, so [σ(m − z√v), σ(m + z√v)] has the probability of [−z, z] under N(0, 1).
/// reach: z, 1.96 for 95 in 100.
pub fn credible(rows: &Rows, q: &Gaussian, reach: f64) -> Vec<(f64, f64)> {
    let projections = q.projections();
    let interval = |(mean, variance): (f64, f64)| {
        let half = reach * variance.sqrt();
        (sigmoid(mean - half), sigmoid(mean + half))
    };
    rows.iter().map(|row| interval(projections.of(&row))).collect()
}

/// The interval, widened to the point where that lies outside.
///
/// A predicted probability is a mean, E σ(a), and its interval is central: where the posterior is wide and far from 0, the mean lies
/// beyond the central 95 in 100, since few draws near ½ outweigh many near 0. The widened interval has at least their probability.
pub fn holding(point: f64, (low, high): (f64, f64)) -> (f64, f64) {
    (low.min(point), high.max(point))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expectation, Linear, Logistic, Model, Prediction, Predictive, Row};

    /// Found: a probability of 1.9e-310 beside an interval from 1e-52 on, since the point and the interval went by different
    /// functions; and means of wide posteriors beyond the central interval.
    #[test]
    fn a_point_lies_in_its_interval_whatever_the_row_and_the_posterior() {
        let sizes = [0.0, 1e-300, 1e-9, 0.3, 1.0, 7.0, 37.0, 120.0, 800.0, 1e6, 1e150];
        let signed = sizes.iter().flat_map(|size| [*size, -size]);
        let predictives = [Predictive::Mixture, Predictive::Probit, Predictive::MonteCarlo { draws: 20 }];
        for (mean, deviation) in signed.flat_map(|m| sizes.iter().skip(1).map(move |s| (m, *s))) {
            let Some(q) = Gaussian::new_diagonal(vec![mean], vec![deviation * deviation]) else { continue };
            for x in [1.0, -1.0, 1e-3, 1e3] {
                let mut rows = Rows::new(1, 1).unwrap();
                rows.push(Row { numbers: &[x], ones: &[], outcome: 0.0 }).unwrap();
                for predictive in predictives {
                    let logistic = Logistic { expectation: Expectation::Mixture, predictive };
                    let Prediction::Probability(p) = logistic.predict(&rows, &q)[0] else { panic!() };
                    let (low, high) = holding(p, credible(&rows, &q, 1.96)[0]);
                    assert!(
                        low <= p && p <= high && (0.0..=1.0).contains(&low) && high <= 1.0,
                        "{mean} {deviation} {x}"
                    );
                }
                let Prediction::Normal { mean: m, deviation: s } = Linear::known(1.0).predict(&rows, &q)[0] else {
                    panic!()
                };
                let (low, high) = holding(m, (m - 1.96 * s, m + 1.96 * s));
                assert!(low <= m && m <= high, "{mean} {deviation} {x}: {low} {m} {high}");
            }
        }
    }

    #[test]
    fn a_probability_is_never_farther_from_a_half_than_that_of_the_mean() {
        let predict = |m: f64, v: f64| {
            let mut rows = Rows::new(1, 1).unwrap();
            rows.push(Row { numbers: &[1.0], ones: &[], outcome: 0.0 }).unwrap();
            let q = Gaussian::new_diagonal(vec![m], vec![v]).unwrap();
            let Prediction::Probability(p) = Logistic::default().predict(&rows, &q)[0] else { panic!() };
            p
        };
        // Without a widening: the point itself is right, and so is the order of the two.
        for m in [-700.0, -120.0, -30.0, -4.0, 4.0, 30.0] {
            let (p, at_mean) = (predict(m, 1e-4), 1.0 / (1.0 + libm::exp(-m)));
            assert!((p / at_mean - 1.0).abs() < 1e-3, "{m}: {p} {at_mean}");
        }
        assert!(predict(-120.0, 1.0) >= 1.0 / (1.0 + libm::exp(120.0)) * (1.0 - 1e-9));
    }

    #[test]
    fn the_interval_is_that_of_the_score_and_holds_the_prediction() {
        let mut rows = Rows::new(2, 2).unwrap();
        rows.push(Row { numbers: &[1.0, 2.0], ones: &[], outcome: 0.0 }).unwrap();
        // xᵀθ has mean 0.5 − 1 = −0.5 and variance 0.25 + 4 · 0.16 = 0.89.
        let q = Gaussian::new_diagonal(vec![0.5, -0.5], vec![0.25, 0.16]).unwrap();
        let (low, high) = credible(&rows, &q, 1.96)[0];
        let expected = |z: f64| 1.0 / (1.0 + (0.5 - z * 0.89_f64.sqrt()).exp());
        assert!((low - expected(-1.96)).abs() < 1e-12 && (high - expected(1.96)).abs() < 1e-12, "{low} {high}");
        let Prediction::Probability(p) = Logistic::default().predict(&rows, &q)[0] else { panic!() };
        assert!(low < p && p < high);
    }
}
