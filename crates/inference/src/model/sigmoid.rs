//! Expectations of the logistic function and its slope under a normal variable, in closed form.

use crate::special::normal;

/// σ(a) ≈ Σ wₖ Φ(cₖ a), to 5.4e-6 for every a (Monahan and Stefanski 1992, k = 4).
const TERMS: [(f64, f64); 4] = [
    (0.060_085_537_2, 0.320_615_441_7),
    (0.370_222_202_5, 0.473_743_937_0),
    (0.460_175_130_6, 0.696_064_363_7),
    (0.109_517_129_7, 1.019_367_693_2),
];

/// Term k of both sums for a ~ N(m, v): wₖ Φ(zₖ) and wₖ cₖ φ(zₖ)/√(1 + cₖ²v), zₖ = cₖ m/√(1 + cₖ²v).
#[inline(always)]
fn term(k: usize, m: f64, v: f64) -> (f64, f64) {
    let (w, c) = TERMS[k];
    let shrunk = c / (1.0 + c * c * v).sqrt();
    let (cdf, pdf) = normal(shrunk * m);
    (w * cdf, w * shrunk * pdf)
}

/// E σ(a) and E σ'(a) for a ~ N(m, v), row by row: m becomes the first, v the second.
///
/// By E Φ(c a) = Φ(c m/√(1 + c²v)) and its derivative by m. The terms are written out, so that the loop over rows is the
/// innermost and becomes vector code.
pub(crate) fn expectations(mean: &mut [f64], variance: &mut [f64]) {
    for (m, v) in mean.iter_mut().zip(variance) {
        let [a, b, c, d] = [term(0, *m, *v), term(1, *m, *v), term(2, *m, *v), term(3, *m, *v)];
        (*m, *v) = ((a.0 + b.0) + (c.0 + d.0), (a.1 + b.1) + (c.1 + d.1));
    }
}

/// The same with E log(1 + eᵃ), row by row, for the integral of that mixture: Σ wₖ (m Φ(zₖ) + φ(zₖ)/c'ₖ), c'ₖ = cₖ/√(1 + cₖ²v).
///
/// Its derivative by m is the first of [`expectations`] and by v half the second, exactly: what is searched along them rises.
pub(crate) fn with_softplus(mean: &mut [f64], variance: &mut [f64], softplus: &mut [f64]) {
    let whole = |k: usize, m: f64, v: f64| {
        let (w, c) = TERMS[k];
        let shrunk = c / (1.0 + c * c * v).sqrt();
        let (cdf, pdf) = normal(shrunk * m);
        (w * cdf, w * shrunk * pdf, w * (m * cdf + pdf / shrunk))
    };
    for ((m, v), s) in mean.iter_mut().zip(variance).zip(softplus) {
        let [a, b, c, d] = [whole(0, *m, *v), whole(1, *m, *v), whole(2, *m, *v), whole(3, *m, *v)];
        *s = (a.2 + b.2) + (c.2 + d.2);
        (*m, *v) = ((a.0 + b.0) + (c.0 + d.0), (a.1 + b.1) + (c.1 + d.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ∫ f(m + √v z) φ(z) dz by the trapezoidal rule, which is exact to rounding for such an integrand.
    fn integral(f: impl Fn(f64) -> f64, m: f64, v: f64) -> f64 {
        let h = 1.0 / 512.0;
        let sum: f64 = (-12 * 512..=12 * 512)
            .map(|i| f64::from(i) * h)
            .map(|z| f(m + v.sqrt() * z) * libm::exp(-0.5 * z * z))
            .sum();
        sum * h / (2.0 * std::f64::consts::PI).sqrt()
    }

    #[test]
    fn the_closed_form_is_the_integral() {
        let sigma = |a: f64| 1.0 / (1.0 + libm::exp(-a));
        for m in [-30.0, -4.0, -0.3, 0.0, 1.0, 7.5] {
            for v in [1e-6, 0.1, 1.0, 15.0, 400.0] {
                let (mut value, mut slope) = ([m], [v]);
                expectations(&mut value, &mut slope);
                let (e1, e2) = (integral(sigma, m, v), integral(|a| sigma(a) * (1.0 - sigma(a)), m, v));
                assert!((value[0] - e1).abs() < 6e-6, "E σ at ({m}, {v}): {} {e1}", value[0]);
                assert!((slope[0] - e2).abs() < 3e-5, "E σ' at ({m}, {v}): {} {e2}", slope[0]);
            }
        }
    }

    /// The mixture's softplus is off by at most ∫|σ − Σ wΦ|, and its slopes are the two other expectations.
    #[test]
    fn the_expected_softplus_is_the_integral_and_rises_as_the_expectations_say() {
        let of = |m: f64, v: f64| {
            let (mut value, mut slope, mut softplus) = ([m], [v], [0.0]);
            with_softplus(&mut value, &mut slope, &mut softplus);
            (value[0], slope[0], softplus[0])
        };
        for m in [-9.0, -0.3, 0.0, 1.0, 7.5] {
            for v in [1e-6, 0.1, 1.0, 15.0, 400.0] {
                let exact = integral(|a| a.max(0.0) + libm::log1p(libm::exp(-a.abs())), m, v);
                assert!((of(m, v).2 - exact).abs() < 3e-5, "({m}, {v}): {} {exact}", of(m, v).2);
                let (mut value, mut slope) = ([m], [v]);
                expectations(&mut value, &mut slope);
                assert_eq!((value[0], slope[0]), (of(m, v).0, of(m, v).1), "the same bits");
                let by_mean = (of(m + 1e-4, v).2 - of(m - 1e-4, v).2) / 2e-4;
                assert!((by_mean - value[0]).abs() < 1e-5, "({m}, {v}): {by_mean} {}", value[0]);
                let h = 1e-3 * v;
                let by_variance = (of(m, v + h).2 - of(m, v - h).2) / (2.0 * h);
                assert!(
                    v < 0.1 || (by_variance - 0.5 * slope[0]).abs() < 1e-5,
                    "({m}, {v}): {by_variance} {}",
                    slope[0]
                );
            }
        }
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let (mut m, mut v) = ([f64::NAN, 1.0, f64::INFINITY], [1.0, f64::NAN, 1.0]);
        expectations(&mut m, &mut v);
        assert!(m[0].is_nan() && m[1].is_nan() && (m[2] - 1.0).abs() < 1e-9);
    }
}
