//! The regularised incomplete gamma function.

/// Terms of the series or the fraction; of the order of √a are used.
const TERMS: u32 = 1_000_000;

/// P(a, x) for a > 0: the chance that a gamma variable of shape a and rate 1 is at most x.
///
/// The series of DLMF 8.11.4 for x < a + 1, beyond by Q = 1 − P and the continued fraction of DLMF 8.9.2.
pub(super) fn distribution(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 { front * series(a, x) } else { 1.0 - front * fraction(a, x) }
}

/// Σ xᵏ / (a(a + 1)⋯(a + k)).
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    for k in 1..=TERMS {
        term *= x / (a + f64::from(k));
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum
}

/// 1/(x + 1 − a − 1·(1 − a)/(x + 3 − a − …)), by the method of Lentz.
fn fraction(a: f64, x: f64) -> f64 {
    let tiny = f64::MIN_POSITIVE / f64::EPSILON;
    let mut b = x + 1.0 - a;
    let mut numerators = 1.0 / tiny;
    let mut denominators = 1.0 / if b.abs() < tiny { tiny } else { b };
    let mut value = denominators;
    for k in 1..=TERMS {
        let k = f64::from(k);
        let term = k * (a - k);
        b += 2.0;
        denominators = term * denominators + b;
        denominators = 1.0 / if denominators.abs() < tiny { tiny } else { denominators };
        numerators = b + term / numerators;
        numerators = if numerators.abs() < tiny { tiny } else { numerators };
        let ratio = denominators * numerators;
        value *= ratio;
        if (ratio - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For whole a, P(a, x) is the chance of a or more events of a Poisson law of mean x.
    #[test]
    fn whole_shapes_give_poisson_tails() {
        for a in [1_u32, 2, 7, 40] {
            for x in [0.01, 0.9, 3.0, 8.0, 39.0, 60.0] {
                let mut term = libm::exp(-x);
                let mut under = 0.0;
                for k in 0..a {
                    under += term;
                    term *= x / f64::from(k + 1);
                }
                let found = distribution(f64::from(a), x);
                assert!((found - (1.0 - under)).abs() < 1e-13, "P({a}, {x}) = {found}");
            }
        }
    }

    #[test]
    fn it_is_one_function_on_both_sides_of_the_switch_for_large_shapes_too() {
        for a in [0.3, 5.5, 1000.5, 200_000.0] {
            let (below, above) = (a + 1.0 - 1e-9 * a, a + 1.0 + 1e-9 * a);
            let (p, q) = (distribution(a, below), distribution(a, above));
            assert!(q >= p && q - p < 1e-6, "{a}: {p} {q}");
        }
        assert!((distribution(0.5, 0.5) - 0.682_689_492_137_085_9).abs() < 1e-14, "P(½, x²/2) is erf");
    }
}
