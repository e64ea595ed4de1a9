//! The tail of the normal law, enclosed where `libm::erfc` would vanish or cancel.
//!
//! δ of 1e-20 and below depends on normal tails that vanish in double precision if they are computed as differences.

use super::Interval;

/// Depth of the continued fraction of the Mills ratio; the enclosure is then as narrow as rounding for x ≥ 2.
const DEPTH: u32 = 160;

/// The enclosure of a real constant by the neighbours of its nearest number.
fn around(nearest: f64) -> Interval {
    Interval::new(nearest.next_down(), nearest.next_up())
}

/// Mills ratio R(x) = (1 − Φ(x)) / φ(x) of the standard normal law, for x ≥ 0.
///
/// For x ≥ 2 by Laplace's continued fraction R = 1/(x + 1/(x + 2/(x + 3/(x + …)))) (Abramowitz and Stegun 26.2.14). All
/// its parts are positive, so the cut tail n/(x + …) lies in [0, n/x], and interval arithmetic carries that enclosure
/// outwards: no error constant is needed. Below 2, R = √(π/2) e^{x²/2} erfc(x/√2).
pub fn mills_ratio(x: Interval) -> Interval {
    if x.lo < 2.0 {
        let scaled = (x * x * Interval::exact(0.5)).exp();
        return around(1.253_314_137_315_500_3) * scaled * (x * around(std::f64::consts::FRAC_1_SQRT_2)).erfc();
    }
    let cut = Interval::exact(f64::from(DEPTH)) / x;
    let mut tail = x + Interval::new(0.0, cut.hi);
    for k in (1..DEPTH).rev() {
        tail = x + Interval::exact(f64::from(k)) / tail;
    }
    Interval::exact(1.0) / tail
}

/// Density φ(x) = e^{−x²/2} / √(2π) of the standard normal law.
pub fn normal_density(x: Interval) -> Interval {
    around(0.398_942_280_401_432_7) * (-(x * x * Interval::exact(0.5))).exp()
}

/// δ(ε) of N(μ, 1) against N(0, 1) for ε ≥ 0, without loss of digits for small δ or large ε.
///
/// Theorem 8 of Balle and Wang 2018 (arXiv:1805.06530): δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ). With
/// a = ε/μ − μ/2 and b = ε/μ + μ/2, e^ε φ(b) = φ(a), so the second term is φ(a) R(b) and for a ≥ 0 the first is φ(a) R(a).
pub fn gaussian_delta(mu: Interval, epsilon: Interval) -> Interval {
    let (ratio, half) = (epsilon / mu, mu * Interval::exact(0.5));
    let (a, b) = (ratio - half, (ratio + half).clamp_positive());
    let first = if a.lo >= 0.0 { normal_density(a) * mills_ratio(a) } else { (-a).phi() };
    let delta = match a.lo >= 0.0 {
        true => normal_density(a) * (mills_ratio(a) - mills_ratio(b)),
        false => first - normal_density(a) * mills_ratio(b),
    };
    Interval::new(delta.lo.max(0.0), delta.hi.min(first.hi).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (x, R(x)) by mpmath at 40 digits.
    const MILLS: [(f64, f64); 7] = [
        (0.0, 1.2533141373155002512),
        (0.5, 0.87636445645369234673),
        (1.99, 0.42294720386441742582),
        (2.0, 0.42136922928805447322),
        (5.0, 0.19280810471531576488),
        (37.0, 0.027007327965128336063),
        (1e4, 0.00009999999900000003),
    ];

    #[test]
    fn mills_ratio_encloses_the_reference_tightly() {
        for (x, exact) in MILLS {
            let r = mills_ratio(Interval::exact(x));
            assert!(r.lo <= exact * (1.0 + 4e-16) && exact * (1.0 - 4e-16) <= r.hi, "{x}: {r:?} {exact}");
            assert!(r.hi - r.lo <= 2e-14 * exact, "{x}: {r:?}");
        }
    }

    #[test]
    fn gaussian_delta_keeps_its_digits_where_the_textbook_form_has_none() {
        // (μ, ε, δ) by mpmath at 60 digits.
        for (mu, epsilon, exact) in GAUSSIAN {
            let d = gaussian_delta(Interval::exact(mu), Interval::exact(epsilon));
            assert!(d.lo <= exact * (1.0 + 4e-16) && exact * (1.0 - 4e-16) <= d.hi, "{mu} {epsilon}: {d:?} {exact}");
            assert!(d.hi - d.lo <= 1e-9 * exact, "{mu} {epsilon}: {d:?}");
        }
    }

    const GAUSSIAN: [(f64, f64, f64); 5] = [
        (1.0, 4.375, 0.000010093718669777848009),
        (0.01, 0.09, 1.2811374959494435397e-22),
        (120.0, 8400.0, 7.0279958390981095181e-24),
        (0.0009765625, 0.005, 2.7318303171458671662e-11),
        (3.0, 0.0, 0.86638559746228386799),
    ];
}
