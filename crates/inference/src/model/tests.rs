//! What the models say, against numerical integration and differentiation.

mod generalised;

use super::*;
use crate::data::Row;

fn rows(binary: bool) -> Rows {
    let mut rows = Rows::new(5, 2).unwrap();
    let inputs: [(&[f64], &[u32], f64); 4] = [
        (&[0.5, -1.2], &[2, 4], 1.0),
        (&[-0.3, 0.8], &[3], 0.0),
        (&[2.0, 0.0], &[], 1.0),
        (&[0.1, 1.5], &[2, 3, 4], 0.0),
    ];
    for (k, (numbers, ones, y)) in inputs.into_iter().enumerate() {
        let outcome = if binary { y } else { y * 2.5 - k as f64 };
        rows.push(Row { numbers, ones, outcome }).unwrap();
    }
    rows
}

const MEAN: [f64; 5] = [0.4, -0.7, 0.2, 1.1, -0.5];
const DEVIATION: [f64; 5] = [0.9, 0.3, 1.4, 0.6, 0.8];

/// E log p(yᵢ | a), a ~ N(m, v), by the trapezoidal rule.
fn expected(model: &dyn Model, outcome: f64, m: f64, v: f64) -> f64 {
    let mut one = Rows::new(1, 1).unwrap();
    one.push(Row { numbers: &[1.0], ones: &[], outcome }).unwrap();
    let h = 1.0 / 64.0;
    let density = |z: f64| libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
    let nodes = (-10 * 64..=10 * 64).map(|i| f64::from(i) * h);
    nodes.map(|z| model.log_likelihood(&one, &[m + v.sqrt() * z]) * density(z) * h).sum()
}

/// Σ E log p over `which` at (μ, log s).
fn objective(model: &dyn Model, rows: &Rows, which: &[usize], x: &[f64]) -> f64 {
    let variances: Vec<f64> = x[5..].iter().map(|l| libm::exp(2.0 * l)).collect();
    let of = |row: Row<'_>| expected(model, row.outcome, row.dot(&x[..5]), row.dot_squared(&variances));
    which.iter().map(|&i| of(rows.row(i))).sum()
}

fn numerical_gradient(model: &dyn Model, rows: &Rows, which: &[usize]) -> Vec<f64> {
    let at: Vec<f64> = MEAN.into_iter().chain(DEVIATION.map(libm::log)).collect();
    let moved = |j: usize, by: f64| {
        let mut x = at.clone();
        x[j] += by;
        objective(model, rows, which, &x)
    };
    (0..10).map(|j| (moved(j, 1e-4) - moved(j, -1e-4)) / 2e-4).collect()
}

fn gradient(model: &dyn Model, rows: &Rows, which: &[usize], seed: u64) -> Vec<f64> {
    let mut sum = vec![0.0; 10];
    let at = Point { mean: &MEAN, deviation: &DEVIATION };
    model.gradients(rows, which, at, seed, &mut Scratch::default(), &mut sum).unwrap();
    sum
}

fn assert_close(a: &[f64], b: &[f64], slack: f64) {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).enumerate().for_each(|(j, (x, y))| assert!((x - y).abs() < slack, "{j}: {a:?} {b:?}"));
}

fn diagonal() -> Gaussian {
    Gaussian::new_diagonal(MEAN.to_vec(), DEVIATION.map(|s| s * s).to_vec()).unwrap()
}

#[test]
fn gradients_are_the_slopes_of_the_expected_log_likelihood() {
    let which = [0, 1, 3];
    let logistic = Logistic::default();
    let rows = rows(true);
    let slopes = numerical_gradient(&logistic, &rows, &which);
    assert_close(&gradient(&logistic, &rows, &which, 0), &slopes, 1e-4);
    let rows = self::rows(false);
    let linear = Linear::known(0.7);
    let slopes = numerical_gradient(&linear, &rows, &which);
    assert_close(&gradient(&linear, &rows, &which, 0), &slopes, 1e-6);
}

#[test]
fn draws_estimate_the_same_gradient_without_bias() {
    let rows = rows(true);
    let which = [0, 1, 2, 3];
    let exact = numerical_gradient(&Logistic::default(), &rows, &which);
    let many = Logistic { expectation: Expectation::MonteCarlo { draws: 40_000 }, ..Logistic::default() };
    assert_close(&gradient(&many, &rows, &which, 1), &exact, 0.03);
    let one = Logistic { expectation: Expectation::MonteCarlo { draws: 1 }, ..Logistic::default() };
    let mut mean = vec![0.0; 10];
    for seed in 0..40_000 {
        mean.iter_mut().zip(gradient(&one, &rows, &which, seed)).for_each(|(m, g)| *m += g / 40_000.0);
    }
    assert_close(&mean, &exact, 0.03);
    assert_eq!(gradient(&one, &rows, &which, 5), gradient(&one, &rows, &which, 5));
    assert_ne!(gradient(&one, &rows, &which, 5), gradient(&one, &rows, &which, 6));
}

/// Σᵢ rᵢ xᵢ and Λ = Σ hᵢ xᵢxᵢᵀ by differences of E log p in m and v: ∂/∂m = r, ∂/∂v = −h/2.
fn numerical_factor(model: &dyn Model, rows: &Rows, which: &[usize], q: &Gaussian, full: bool) -> Vec<f64> {
    let (mut first, mut precision) = (vec![0.0; 5], vec![vec![0.0; 5]; 5]);
    for &i in which {
        let row = rows.row(i);
        let (m, v) = q.projections().of(&row);
        let e = |m, v| expected(model, row.outcome, m, v);
        let r = (e(m + 1e-4, v) - e(m - 1e-4, v)) / 2e-4;
        let h = -(e(m, v + 1e-4) - e(m, v - 1e-4)) / 1e-4;
        let x = row.to_dense(5);
        for j in 0..5 {
            first[j] += r * x[j];
            (0..5).filter(|k| full || *k == j).for_each(|k| precision[j][k] += h * x[j] * x[k]);
        }
    }
    let mut natural: Vec<f64> =
        (0..5).map(|j| first[j] + (0..5).map(|k| precision[j][k] * q.mean()[k]).sum::<f64>()).collect();
    for (j, row) in precision.iter().enumerate() {
        natural.extend((0..=j).filter(|k| full || *k == j).map(|k| row[k] * if j == k { -0.5 } else { -1.0 }));
    }
    natural
}

#[test]
fn statistics_are_the_natural_gradient_in_both_families() {
    let correlated = {
        let mut precision = vec![0.0; 15];
        (0..5).for_each(|i| (0..=i).for_each(|j| precision[i * (i + 1) / 2 + j] = if i == j { 2.0 } else { 0.3 }));
        Gaussian::from_precision(MEAN.to_vec(), &precision).unwrap()
    };
    let which = [0, 1, 3];
    let linear = Linear::known(0.7);
    for q in [diagonal(), correlated] {
        for (family, full) in [(Family::MeanField { dimension: 5 }, false), (Family::Full { dimension: 5 }, true)] {
            let numerical = numerical_factor(&Logistic::default(), &rows(true), &which, &q, full);
            assert_close(&Logistic::default().statistics(&rows(true), &which, &q, family), &numerical, 2e-4);
            let numerical = numerical_factor(&linear, &rows(false), &which, &q, full);
            assert_close(&linear.statistics(&rows(false), &which, &q, family), &numerical, 1e-6);
        }
    }
}

#[test]
fn a_gaussian_likelihood_gives_the_same_factor_at_every_q() {
    let (family, linear) = (Family::Full { dimension: 5 }, Linear::known(0.7));
    let prior = family.gaussian(&family.prior(1.0)).unwrap();
    let all = [0, 1, 2, 3];
    let at_prior = linear.statistics(&rows(false), &all, &prior, family);
    assert_eq!(linear.statistics(&rows(false), &all, &diagonal(), family), at_prior);
    // The conjugate answer: gradients of E log p − KL vanish there. Here: (Σxxᵀ/n + I)μ = Σxy/n.
    let natural: Vec<f64> = at_prior.iter().zip(family.prior(1.0)).map(|(a, b)| a + b).collect();
    let posterior = family.gaussian(&natural).unwrap();
    for row in rows(false).iter() {
        let x = row.to_dense(5);
        let residual: f64 =
            rows(false).iter().map(|r| (r.outcome - r.dot(posterior.mean())) / 0.7 * r.dot(&x)).sum::<f64>()
                - row.dot(posterior.mean());
        assert!(residual.abs() < 1e-12);
    }
}

#[test]
fn predictions_are_the_integrals_they_stand_for() {
    let rows = rows(true);
    let q = diagonal();
    let probability = |predictive| -> Vec<f64> {
        let model = Logistic { predictive, ..Logistic::default() };
        let of = |p| match p {
            Prediction::Probability(p) => p,
            Prediction::Classes(_) | Prediction::Normal { .. } => f64::NAN,
        };
        model.predict(&rows, &q).into_iter().map(of).collect()
    };
    let exact: Vec<f64> = rows
        .iter()
        .map(|row| {
            let (m, v) = q.projections().of(&row);
            let h = 1.0 / 64.0;
            let term = |z: f64| libm::exp(-0.5 * z * z) / (1.0 + libm::exp(-m - v.sqrt() * z));
            (-640..=640).map(|i| term(f64::from(i) * h)).sum::<f64>() * h / (2.0 * std::f64::consts::PI).sqrt()
        })
        .collect();
    assert_close(&probability(Predictive::Mixture), &exact, 1e-5);
    assert_close(&probability(Predictive::Probit), &exact, 0.02);
    assert_close(&probability(Predictive::MonteCarlo { draws: 20_000 }), &exact, 0.01);
    let linear = Linear::known(0.7);
    let (m, v) = q.projections().of(&rows.row(3));
    assert_eq!(linear.predict(&rows, &q)[3], Prediction::Normal { mean: m, deviation: (v + 0.7).sqrt() });
}

#[test]
fn log_likelihoods_are_those_of_the_textbook_and_survive_extremes() {
    let rows = rows(true);
    let by_hand: f64 = rows
        .iter()
        .map(|row| {
            let p = 1.0 / (1.0 + libm::exp(-row.dot(&MEAN)));
            libm::log(if row.outcome == 1.0 { p } else { 1.0 - p })
        })
        .sum();
    assert!((Logistic::default().log_likelihood(&rows, &MEAN) - by_hand).abs() < 1e-12);
    assert_eq!(Logistic::default().log_likelihood(&rows.select(&[2]), &[-1e5, 0.0, 0.0, 0.0, 0.0]), -2e5);
}

#[test]
fn positions_increase_and_buffers_are_kept() {
    struct Check(usize);
    impl Sink for Check {
        fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
            let dense = values.len() / 2 - positions.len();
            assert!(positions.windows(2).all(|w| w[0] < w[1]) && positions.iter().all(|p| dense <= *p as usize));
            assert_eq!((values.len() % 2, dense), (0, 2));
            self.0 += 1;
            Ok(())
        }
    }
    let draws = Expectation::MonteCarlo { draws: 3 };
    let models: [&dyn Model; 3] =
        [&Logistic::default(), &Logistic { expectation: draws, ..Logistic::default() }, &Linear::known(1.0)];
    for model in models {
        let (mut scratch, mut check) = (Scratch::default(), Check(0));
        let at = Point { mean: &MEAN, deviation: &DEVIATION };
        let room =
            |s: &Scratch| (s.per_row.each_ref().map(Vec::capacity), s.values.capacity(), s.per_parameter.capacity());
        model.gradients(&rows(true), &[3, 0, 1, 2], at, 1, &mut scratch, &mut check).unwrap();
        let warm = room(&scratch);
        model.gradients(&rows(true), &[3, 1, 2, 0], at, 2, &mut scratch, &mut check).unwrap();
        assert_eq!((room(&scratch), check.0), (warm, 8));
    }
}
