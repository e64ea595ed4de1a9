//! The correction distribution: its constants, its errors, and the two facts of `docs/maths/correction.md`.

use crate::fit_correction::{VARIANCES, fit};
use inference::chain::Correction;
use std::f64::consts::PI;

/// S(x), the logistic distribution function, accurate for negative x.
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// 1/(12√3) = sup |S''| / 2.
fn half_curvature() -> f64 {
    1.0 / (12.0 * 3.0_f64.sqrt())
}

#[test]
fn a_fit_from_nothing_finds_the_shipped_constants() {
    for variance in VARIANCES {
        let shipped = Correction::for_variance(variance).unwrap();
        let fitted = fit(variance);
        assert_eq!(fitted.len(), shipped.components().len(), "C = {variance}");
        for (ours, theirs) in fitted.iter().zip(shipped.components()) {
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-10 * b.abs();
            let same = near(ours.weight, theirs.weight)
                && near(ours.mean, theirs.mean)
                && near(ours.deviation, theirs.deviation);
            assert!(same, "C = {variance}: fitted {ours:?}, shipped {theirs:?}");
        }
    }
}

#[test]
fn every_mixture_is_a_distribution() {
    for variance in VARIANCES {
        let correction = Correction::for_variance(variance).unwrap();
        let components = correction.components();
        assert!(components.iter().all(|c| c.weight > 0.0 && c.mean >= 0.0 && c.deviation > 0.0));
        let sum: f64 = components.iter().map(|c| c.weight).sum();
        assert!((sum - 1.0).abs() < 1e-14, "C = {variance}: {sum}");
    }
}

/// D = F − S is odd, so x ≥ 0 suffices. Between nodes h apart |D| is at most the larger of its values there plus
/// h²/8 · sup |D''|, and |D''| ≤ |F''| + |S''| ≤ 1/(C√(2πe)) + 1/(6√3). Beyond 40 both tails are under their values at 40.
#[test]
fn the_errors_are_those_that_are_stated() {
    let h = 1.0 / 2048.0;
    for (variance, most, most_logit) in [(2.0, 1.17e-3, 9e-3), (1.5, 6.1e-5, 5.3e-4), (1.0, 2.9e-7, 4.9e-6)] {
        let correction = Correction::for_variance(variance).unwrap();
        let curvature = 1.0 / (variance * (2.0 * PI * 1.0_f64.exp()).sqrt()) + 2.0 * half_curvature();
        let (mut error, mut logit) = (0.0_f64, 0.0_f64);
        for x in (0..=40 * 2048).map(|i| f64::from(i) * h) {
            let tail = correction.distribution(-x);
            error = error.max((tail - logistic(-x)).abs());
            if x <= 5.0 {
                logit = logit.max((libm::log(correction.distribution(x) / tail) - x).abs());
            }
        }
        let proved = error + h * h / 8.0 * curvature + correction.distribution(-40.0).max(logistic(-40.0));
        assert!(proved <= most && proved > 0.9 * most, "C = {variance}: |F − S| ≤ {proved:e}, stated {most:e}");
        assert!(
            logit <= most_logit && logit > 0.9 * most_logit,
            "C = {variance}: logit {logit:e}, stated {most_logit:e}"
        );
    }
}

/// |S * N(0, v) − S| ≤ v/(12√3), and the bound is attained as v → 0.
#[test]
fn excess_variance_costs_what_the_bound_says() {
    for (variance, expected) in [(0.01, 0.000_479), (0.1, 0.0047), (0.25, 0.0113), (0.5, 0.0215), (1.0, 0.0391)] {
        let deviation = f64::sqrt(variance);
        // The trapezium rule is exact to round-off for such a smooth integrand.
        let blurred = |x: f64| -> f64 {
            let nodes = (-80..=80).map(|i| f64::from(i) * 0.1);
            nodes.map(|z| 0.1 * libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt() * logistic(x + deviation * z)).sum()
        };
        let error = (0..800).map(|i| f64::from(i) * 0.01).map(|x| (blurred(x) - logistic(x)).abs()).fold(0.0, f64::max);
        let bound = variance * half_curvature();
        assert!(error <= bound && (error - expected).abs() < 6e-5, "v = {variance}: {error}, at most {bound}");
        assert!(variance > 0.01 || error > 0.99 * bound, "{error} is far under {bound}");
    }
}

/// E e^(itL) = πt/sinh(πt) for L logistic. Were L = N(0, C) + V, V would have e^(Ct²/2) times that, which is over one,
/// and no characteristic function is.
#[test]
fn no_distribution_corrects_exactly() {
    let transform = |t: f64| PI * t / libm::sinh(PI * t);
    for t in [0.3, 1.0, 2.0] {
        let density = |x: f64| logistic(x) * logistic(-x);
        let integral: f64 =
            (-8000..=8000).map(|i| f64::from(i) * 0.005).map(|x| 0.005 * libm::cos(t * x) * density(x)).sum();
        assert!((integral - transform(t)).abs() < 1e-12, "t = {t}: {integral}, not {}", transform(t));
    }
    for (variance, from) in [(2.0, 1.790), (1.5, 2.835), (1.0, 4.881)] {
        let needed = |t: f64| libm::exp(0.5 * variance * t * t) * transform(t);
        assert!(needed(from - 0.001) < 1.0 && needed(from) > 1.0 && needed(2.0 * from) > 100.0, "C = {variance}");
    }
}
