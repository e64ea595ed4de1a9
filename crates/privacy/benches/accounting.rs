//! How long certified accounting takes: five tasks, both directions of neighbouring where they differ.

use divan::black_box;
use privacy::accounting::contour;
use privacy::accounting::pair::{Composition, DominatingPair};
use privacy::{PrivacyError, Steps};

fn main() {
    divan::main();
}

fn steps(t: u64) -> Steps {
    Steps::new(t).expect("a valid number of steps")
}

fn remove_and_add(events: &[(f64, f64, u64)]) -> [Composition; 2] {
    [
        events.iter().map(|&(q, s, t)| (DominatingPair::GaussianRemove { q, s }, steps(t))).collect(),
        events.iter().map(|&(q, s, t)| (DominatingPair::GaussianAdd { q, s }, steps(t))).collect(),
    ]
}

/// ε of the first direction, if the second one does not exceed it.
fn worse(directions: &[Composition; 2], delta: f64) -> Result<f64, PrivacyError> {
    let first = contour::epsilon(&directions[0], delta)?;
    match contour::within(&directions[1], first.lower, delta)? {
        true => Ok(first.upper),
        false => Ok(first.max(contour::epsilon(&directions[1], delta)?).upper),
    }
}

/// W1: q = 0.01, z = 1, T = 10⁴, δ = 1e-5.
#[divan::bench]
fn w1_typical(bencher: divan::Bencher) {
    let plan = remove_and_add(&[(0.01, 1.0, 10_000)]);
    bencher.bench(|| worse(black_box(&plan), 1e-5));
}

/// W2: q = 1e-4, z = 1, T = 10⁵, δ = 1e-10.
#[divan::bench]
fn w2_rare(bencher: divan::Bencher) {
    let plan = remove_and_add(&[(1e-4, 1.0, 100_000)]);
    bencher.bench(|| worse(black_box(&plan), 1e-10));
}

/// W3: a hundred different steps, ten times each, δ = 1e-5.
#[divan::bench]
fn w3_mixed(bencher: divan::Bencher) {
    let events: Vec<_> = (0..100).map(|i| (0.001 + 0.0005 * f64::from(i), 1.0 + 0.03 * f64::from(i), 10)).collect();
    let plan = remove_and_add(&events);
    bencher.bench(|| worse(black_box(&plan), 1e-5));
}

/// W4: the noise multiplier for (1, 1e-5) at q = 0.01, T = 10⁴, to nine digits.
#[divan::bench]
fn w4_calibrate(bencher: divan::Bencher) {
    bencher.bench(|| calibrate(black_box(0.01), 10_000, 1.0, 1e-5));
}

/// The secant rule on log ε against log z; the other direction is checked at the end.
fn calibrate(q: f64, t: u64, epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
    let removed =
        |z: f64| contour::epsilon(&[(DominatingPair::GaussianRemove { q, s: z }, steps(t))], delta).map(|b| b.upper);
    let (mut a, mut b) = (2.0, 4.0);
    let (mut at_a, mut at_b) = (removed(a)?, removed(b)?);
    while (b / a - 1.0_f64).abs() > 1e-9 {
        let slope = (at_b / at_a).ln() / (b / a).ln();
        let next = b * ((epsilon * (1.0 - 1e-9) / at_b).ln() / slope).exp();
        (a, at_a, b) = (b, at_b, next);
        at_b = removed(b)?;
    }
    contour::within(&[(DominatingPair::GaussianAdd { q, s: b }, steps(t))], epsilon, delta)?;
    Ok(b)
}

/// W5: without replacement, substitution, q = 0.02, z = 1, T = 1000, δ = 1e-5.
#[divan::bench]
fn w5_fixed_batches(bencher: divan::Bencher) {
    let plan = vec![(DominatingPair::GaussianFixed { q: 0.02, s: 1.0 }, steps(1000))];
    bencher.bench(|| contour::epsilon(black_box(&plan), 1e-5));
}
