//! Special functions that the `libm` crate lacks, as enclosures.
//!
//! Each function says how it avoids cancellation and what it leaves out; the result encloses the true value.

use super::Interval;

/// ln 2π, an enclosure.
const LN_TWO_PI: Interval = Interval { lo: 1.837877066409345, hi: 1.837877066409346 };

/// φ(0) = 1/√(2π), enclosed between neighbouring floats.
pub(crate) const PHI_AT_ZERO: Interval = Interval { lo: 0.39894228040143265, hi: 0.39894228040143276 };

/// e^x − 1 − x, which is never negative, without the cancellation near 0.
///
/// For |x| < ½ the Taylor series x²/2 · (1 + x/3 (1 + x/4 (…))) up to x^17/17!; what is left out lies within
/// |x|^18/18! · e^½ < 2^-60 · x²/2.
pub fn exp_m1_minus(x: Interval) -> Interval {
    if x.lo <= -0.5 || x.hi >= 0.5 {
        return (x.exp_m1() - x).clamp_positive();
    }
    let one = Interval::exact(1.0);
    let mut series = one;
    for k in (3..=17).rev() {
        series = one + x / Interval::exact(f64::from(k)) * series;
    }
    let rest = f64::EPSILON / 128.0;
    let square = x * x * Interval::exact(0.5);
    (square * (series + Interval::new(-rest, rest))).clamp_positive()
}

/// log(1 − q + q e^r): the log of a mixture of 1 and e^r, for 0 < q < 1.
pub fn ln_mixture(q: f64, r: Interval) -> Interval {
    let weight = Interval::exact(q);
    if r.hi <= 1.0 {
        return (weight * r.exp_m1()).ln_1p();
    }
    r + (weight + (Interval::exact(1.0) - weight) * (-r).exp()).ln()
}

/// log(1 + Σ e^t), for terms of any size.
pub fn ln_1p_sum_exp(terms: &[Interval]) -> Interval {
    let top = terms.iter().map(|t| t.hi).fold(0.0, f64::max);
    if top == f64::INFINITY {
        return Interval::new(0.0, f64::INFINITY);
    }
    let shift = if top > 600.0 { top } else { 0.0 };
    let sum = terms.iter().fold(Interval::exact(0.0), |sum, &t| sum + (t - Interval::exact(shift)).exp());
    if shift == 0.0 {
        return sum.clamp_positive().ln_1p();
    }
    Interval::exact(shift) + (sum + Interval::exact(-shift).exp()).ln()
}

/// log(e^a + e^b): increasing in both, so each end comes from the same ends.
pub fn ln_add_exp(a: Interval, b: Interval) -> Interval {
    let point = |a: f64, b: f64| {
        let (small, large) = (Interval::exact(a.min(b)), Interval::exact(a.max(b)));
        if small.lo == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
    };
    Interval::new(point(a.lo, b.lo).lo, point(a.hi, b.hi).hi)
}

/// log n!, exact up to 20! and by Stirling's series above.
///
/// log n! = (n + ½) log n − n + ½ log 2π + 1/(12n) − 1/(360n³) + 1/(1260n⁵) − 1/(1680n⁷) + 1/(1188n⁹) − …: the partial
/// sums enclose the value (the remainder has the sign of the first term left out and is smaller; Whittaker and Watson,
/// section 12.33).
pub fn ln_factorial(n: u64) -> Interval {
    if n <= 20 {
        return Interval::exact((1..=n).product::<u64>() as f64).ln();
    }
    let exact = Interval::exact;
    let x = exact(n as f64);
    let inverse = exact(1.0) / x;
    let square = inverse * inverse;
    let last = Interval::new(0.0, (square * square * square * square / exact(1188.0)).hi);
    let third = exact(1.0) / exact(1260.0) - square / exact(1680.0);
    let series = exact(1.0) / exact(12.0) - square * (exact(1.0) / exact(360.0) - square * third) + last;
    (x + exact(0.5)) * x.ln() - x + LN_TWO_PI * exact(0.5) + inverse * series
}

/// log of the binomial coefficient C(n, k), for k ≤ n.
pub fn ln_binomial(n: u64, k: u64) -> Interval {
    if k == 0 || k >= n {
        return Interval::exact(0.0);
    }
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval contains the value and is at most `relative` wide.
    fn assert_tight(x: Interval, value: f64, relative: f64) {
        let room = 2.0 * f64::EPSILON * value.abs();
        assert!(x.lo <= value + room && value - room <= x.hi, "{x:?} misses {value}");
        assert!(x.hi - x.lo <= relative * value.abs(), "{x:?} is wide");
    }

    // Values to 17 digits from a 50-digit calculation.
    #[test]
    fn exp_m1_minus_keeps_its_digits_near_zero() {
        for (x, value) in [
            (1e-9, 5.0000000016666667e-19),
            (-1e-3, 4.9983337499166806e-7),
            (0.3, 0.049858807576003104),
            (-0.49, 0.10262639418441606),
            (0.5, 0.14872127070012815),
            (-3.0, 2.0497870683678639),
        ] {
            assert_tight(exp_m1_minus(Interval::exact(x)), value, 1e-13);
        }
    }

    #[test]
    fn ln_factorial_agrees_with_known_values() {
        assert_tight(ln_factorial(10), 15.104412573075516, 1e-14);
        assert_tight(ln_factorial(21), 45.380138898476908, 1e-13);
        assert_tight(ln_factorial(100), 363.73937555556349, 1e-13);
        assert_tight(ln_factorial(1_000_000), 12815518.384658169, 1e-13);
        assert_eq!(ln_factorial(0), ln_factorial(1));
    }

    #[test]
    fn ln_binomial_agrees_with_known_values() {
        assert_tight(ln_binomial(10, 3), 120.0_f64.ln(), 1e-13);
        assert_tight(ln_binomial(1000, 500), 689.46726156785118, 1e-11);
        assert_eq!(ln_binomial(7, 7), Interval::exact(0.0));
    }

    #[test]
    fn sums_of_exponentials_do_not_overflow() {
        let terms = [Interval::exact(1000.0), Interval::exact(999.0)];
        assert_tight(ln_1p_sum_exp(&terms), 1000.3132616875182, 1e-14);
        assert_tight(ln_1p_sum_exp(&[Interval::exact(-40.0)]), 4.2483542552915890e-18, 1e-13);
        assert_eq!(ln_1p_sum_exp(&[]).hi.max(1e-300), 1e-300);
        assert_tight(ln_add_exp(terms[0], terms[1]), 1000.3132616875182, 1e-14);
    }

    #[test]
    fn a_mixture_is_continuous_where_its_formula_changes() {
        for (r, value) in [
            (-50.0, -0.010050335853501441),
            (-1e-6, -9.9999950500016168e-9),
            (0.999999, 0.017036836512558565),
            (1.000001, 0.017036889959820542),
            (900.0, 895.39482981401191),
        ] {
            assert_tight(ln_mixture(0.01, Interval::exact(r)), value, 1e-12);
        }
    }
}
