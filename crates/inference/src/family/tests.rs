//! Laws that every family obeys.

use super::*;
use crate::data::Row;
use chacha20::ChaCha8Rng;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_core::SeedableRng;

const D: usize = 4;

fn families() -> [Family; 2] {
    [Family::MeanField { dimension: D }, Family::Full { dimension: D }]
}

/// A proper member of the family, different for each seed.
fn member(family: Family, seed: u64) -> Gaussian {
    let value = |k: u64| ((seed * 31 + k * 17 + k * k * 5) % 29) as f64 / 14.5 - 1.0;
    let mut natural: Vec<f64> = (0..family.len() as u64).map(value).collect();
    (0..D).for_each(|j| natural[family.diagonal(j)] = -3.0 - value(j as u64 + 90));
    family.gaussian(&natural).unwrap()
}

fn close(a: &[f64], b: &[f64], slack: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= slack * (1.0 + y.abs()))
}

#[test]
fn natural_parameters_and_moments_are_two_names_of_one_gaussian() {
    for family in families() {
        for seed in 0..50 {
            let q = member(family, seed);
            let natural = family.natural(&q);
            let back = family.gaussian(&natural).unwrap();
            assert!(close(back.mean(), q.mean(), 1e-12) && close(&back.variances(), &q.variances(), 1e-12));
            assert!(close(&family.natural(&back), &natural, 1e-12), "{family:?}, seed {seed}");
        }
    }
}

#[test]
fn log_density_is_linear_in_the_natural_parameters() {
    // log q(θ) − log q(0) = η·T(θ), with the density by its own formula.
    for family in families() {
        let q = member(family, 3);
        let (natural, theta) = (family.natural(&q), [0.3, -1.1, 2.0, 0.7]);
        let mut statistic = theta.to_vec();
        match family {
            Family::MeanField { .. } => statistic.extend(theta.map(|t| t * t)),
            Family::Full { .. } => statistic.extend((0..D).flat_map(|i| (0..=i).map(move |j| theta[i] * theta[j]))),
        }
        let linear: f64 = natural.iter().zip(&statistic).map(|(a, b)| a * b).sum();
        let energy = |at: &[f64]| {
            let off: Vec<f64> = at.iter().zip(q.mean()).map(|(a, m)| a - m).collect();
            let precise = linalg::symmetric_times(&q.precision(), &off);
            -0.5 * off.iter().zip(&precise).map(|(a, b)| a * b).sum::<f64>()
        };
        assert!((linear - (energy(&theta) - energy(&[0.0; D]))).abs() < 1e-11);
    }
}

#[test]
fn divergence_is_zero_between_equals_and_positive_otherwise() {
    for family in families() {
        for other in families() {
            for seed in 0..20 {
                let q = member(family, seed);
                assert!(q.kl(&q) < 1e-12);
                assert!(q.kl(&member(other, seed + 1)) > 1e-4, "{family:?} {other:?} {seed}");
            }
        }
    }
}

#[test]
fn divergence_and_entropy_are_those_of_the_closed_form() {
    // KL(N(1, 4) ‖ N(−1, 9)) = log(3/2) + (4 + 4)/18 − 1/2; the entropy of N(·, 4) is ½ log(8πe).
    let q = Gaussian::new_diagonal(vec![1.0], vec![4.0]).unwrap();
    let full_q = Gaussian::from_precision(vec![1.0], &[0.25]).unwrap();
    let p = Gaussian::new_diagonal(vec![-1.0], vec![9.0]).unwrap();
    let full_p = Gaussian::from_precision(vec![-1.0], &[1.0 / 9.0]).unwrap();
    for q in [&q, &full_q] {
        for p in [&p, &full_p] {
            assert!((q.kl(p) - 0.349_909_552_552_608_9).abs() < 1e-13, "{}", q.kl(p));
        }
        assert!((q.entropy() - 2.112_085_713_764_618).abs() < 1e-13, "{}", q.entropy());
    }
}

#[test]
fn correlations_count_in_divergence_and_volume() {
    // Λ = [[2, 1], [1, 2]]: |Σ| = 1/3, Σ = [[2, −1], [−1, 2]]/3.
    let q = Gaussian::from_precision(vec![0.0, 0.0], &[2.0, 1.0, 2.0]).unwrap();
    let unit = Gaussian::new_diagonal(vec![1.0, 0.0], vec![1.0, 1.0]).unwrap();
    assert!((q.kl(&unit) - 0.5 * (4.0 / 3.0 + 1.0 - 2.0 + libm::log(3.0))).abs() < 1e-13);
    assert!((unit.kl(&q) - 0.5 * (4.0 + 2.0 - 2.0 - libm::log(3.0))).abs() < 1e-13);
    assert!(close(&q.variances(), &[2.0 / 3.0, 2.0 / 3.0], 1e-14));
    assert!(close(&q.covariance_times(&[3.0, 6.0]), &[0.0, 3.0], 1e-14));
}

#[test]
fn projections_have_the_variance_of_the_row() {
    let row = Row { numbers: &[0.5, -2.0], ones: &[3], outcome: 1.0 };
    for family in families() {
        let q = member(family, 8);
        let x = row.to_dense(D);
        let expected: f64 = q.covariance_times(&x).iter().zip(&x).map(|(a, b)| a * b).sum();
        let (m, v) = q.projections().of(&row);
        assert!((v - expected).abs() < 1e-13 && (q.quadratic(&row) - expected).abs() < 1e-13);
        assert!((m - row.dot(q.mean())).abs() < 1e-15);
    }
}

#[test]
fn draws_have_the_moments_of_the_distribution() {
    for family in families() {
        let q = member(family, 5);
        let mut rng = ChaCha8Rng::from_seed([7; 32]);
        let n = 100_000;
        let mut sums = [0.0; D];
        let mut squares = [[0.0; D]; D];
        for _ in 0..n {
            let off: Vec<f64> = q.sample(&mut rng).iter().zip(q.mean()).map(|(a, m)| a - m).collect();
            for i in 0..D {
                sums[i] += off[i];
                (0..D).for_each(|j| squares[i][j] += off[i] * off[j]);
            }
        }
        for i in 0..D {
            let mut unit = [0.0; D];
            unit[i] = 1.0;
            let column = q.covariance_times(&unit);
            assert!((sums[i] / n as f64).abs() < 5.0 * (column[i] / n as f64).sqrt());
            // Var(xy) ≤ 2 of unit scale, here at most 0.5²·2.
            (0..D).for_each(|j| assert!((squares[i][j] / n as f64 - column[j]).abs() < 5.0 * 0.7 / (n as f64).sqrt()));
        }
    }
}

#[test]
fn what_is_not_proper_is_no_gaussian() {
    for family in families() {
        let good = family.prior(2.0);
        let q = family.gaussian(&good).unwrap();
        assert!(q.mean() == [0.0; D] && close(&q.variances(), &[0.5; D], 1e-15));
        for bad in [0.0, 0.1, f64::NAN, f64::NEG_INFINITY, -1e-320] {
            let mut natural = good.clone();
            natural[family.diagonal(1)] = bad;
            assert!(family.gaussian(&natural).is_none(), "{family:?} {bad}");
        }
        let mut natural = good.clone();
        natural[0] = f64::NAN;
        assert!(family.gaussian(&natural).is_none());
        assert!(family.gaussian(&good[1..]).is_none());
    }
}

#[test]
fn projection_keeps_what_data_could_have_said_and_lifts_the_rest_to_the_prior() {
    let family = Family::MeanField { dimension: 2 };
    let prior = family.prior(1.0);
    assert_eq!(family.repair(&[3.0, 4.0, -5.0, 0.2], &prior, Repair::Project), [3.0, 4.0, -5.0, -0.5]);
    assert_eq!(family.repair(&[3.0, 4.0, -5.0, 0.2], &prior, Repair::Floor(0.1)), [3.0, 4.0, -5.0, -0.05]);
    assert_eq!(family.repair(&[f64::NAN, 4.0, -0.01, f64::NAN], &prior, Repair::Floor(0.1)), [0.0, 4.0, -0.05, -0.5]);
    // Over the prior: [[2, 3], [3, 2]] with eigenvalues 5 along (1, 1) and −1 along (1, −1), which is taken away.
    let family = Family::Full { dimension: 2 };
    let natural = [1.0, 2.0, -1.5, -3.0, -1.5];
    let served = family.repair(&natural, &family.prior(1.0), Repair::Project);
    assert!(close(&served, &[1.0, 2.0, -1.75, -2.5, -1.75], 1e-12), "{served:?}");
    // [[3, 3], [3, 3]] with eigenvalues 6 and 0, which is raised to 0.5.
    let served = family.repair(&natural, &family.prior(1.0), Repair::Floor(0.5));
    assert!(close(&served, &[1.0, 2.0, -1.625, -2.75, -1.625], 1e-12), "{served:?}");
}

fn any_numbers(len: usize) -> impl Strategy<Value = Vec<f64>> {
    let number = prop_oneof![
        8 => -3.0..3.0_f64, 3 => -1e9..1e9_f64, 2 => prop::num::f64::ANY,
        1 => Just(f64::MAX), 1 => Just(-f64::MAX), 1 => Just(5e-324), 1 => Just(0.0), 1 => Just(-1e155)
    ];
    prop::collection::vec(number, len)
}

fn any_repair() -> impl Strategy<Value = Repair> {
    prop_oneof![Just(Repair::Project), (1e-6..1e3_f64).prop_map(Repair::Floor), Just(Repair::Floor(0.0))]
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(4), failure_persistence: None, cases: 2000, ..Default::default() })]

    #[test]
    fn repair_is_proper_and_settled_for_every_float(
        numbers in any_numbers(Family::Full { dimension: D }.len()), how in any_repair(), precision in 1e-3..1e3_f64
    ) {
        for family in families() {
            let prior = family.prior(precision);
            let served = family.repair(&numbers[..family.len()], &prior, how);
            prop_assert!(family.gaussian(&served).is_some(), "{:?} served {:?}", family, served);
            prop_assert_eq!(&family.repair(&served, &prior, how), &served);
        }
    }

    #[test]
    fn repair_leaves_what_needs_none(seed in 0..500_u64) {
        for family in families() {
            let natural = family.natural(&member(family, seed));
            prop_assert_eq!(&family.repair(&natural, &family.prior(0.1), Repair::Floor(0.01)), &natural);
        }
    }

    #[test]
    fn the_served_precision_is_at_least_what_was_asked(numbers in prop::collection::vec(-9.0..9.0_f64, 14)) {
        for family in families() {
            for (how, least) in [(Repair::Project, 2.0), (Repair::Floor(0.5), 0.5)] {
                let served = family.repair(&numbers[..family.len()], &family.prior(2.0), how);
                let precision = family.gaussian(&served).unwrap().precision();
                let smallest = linalg::Eigen::of(&precision, D).values.into_iter().fold(f64::MAX, f64::min);
                prop_assert!(smallest >= least * (1.0 - 1e-12), "{smallest}");
            }
        }
    }
}
