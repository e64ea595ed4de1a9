//! Quantiles of the beta distribution, by its distribution function and bisection.

/// Terms of the continued fraction; of the order of √(a + b) are used.
const TERMS: u32 = 100_000;
/// Bisections: a double has no more digits.
const HALVINGS: u32 = 60;

/// The x with I_x(a, b) = p, for a, b ≥ 1 and 0 < p < 1.
pub(super) fn quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if distribution(middle, a, b) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// I_x(a, b), the regularised incomplete beta function, for 0 < x < 1.
///
/// DLMF 8.17.22, which converges fast for x < (a + 1)/(a + b + 2); beyond by I_x(a, b) = 1 − I_(1−x)(b, a), DLMF 8.17.4.
pub(crate) fn distribution(x: f64, a: f64, b: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - distribution(1.0 - x, b, a);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    libm::exp(a * libm::log(x) + b * libm::log1p(-x) - log_beta) / (a * fraction(x, a, b))
}

/// The continued fraction 1 + d₁/(1 + d₂/(1 + …)) of DLMF 8.17.22, by the method of Lentz: products of ratios of numerators
/// and of denominators.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let term = |k: u32| {
        let m = f64::from(k / 2);
        if k.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        }
    };
    let (mut value, mut numerators, mut denominators) = (1.0, 1.0, 0.0);
    for k in 1..=TERMS {
        denominators = 1.0 / (1.0 + term(k) * denominators);
        numerators = 1.0 + term(k) / numerators;
        let ratio: f64 = numerators * denominators;
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

    /// For whole a and b, I_x(a, b) is the chance of a or more successes in a + b − 1 trials.
    #[test]
    fn whole_parameters_give_binomial_tails() {
        for (a, b) in [(1_u32, 1_u32), (2, 5), (7, 3), (20, 31)] {
            for x in [0.01, 0.2, 0.5, 0.77, 0.99] {
                let n = a + b - 1;
                let choose = |k: u32| (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product::<f64>();
                let chance = |k: u32| choose(k) * f64::powf(x, f64::from(k)) * f64::powf(1.0 - x, f64::from(n - k));
                let expected: f64 = (a..=n).map(chance).sum();
                let found = distribution(x, f64::from(a), f64::from(b));
                assert!((found - expected).abs() < 1e-13, "I_{x}({a}, {b}) = {found}, not {expected}");
            }
        }
    }

    #[test]
    fn quantiles_invert_the_distribution_for_large_parameters_too() {
        for (a, b) in [(1.0, 1.0), (21.5, 380.5), (5000.3, 5000.3), (20_001.0, 380_001.0)] {
            for p in [0.158_655_253_931_457_05, 0.5, 0.841_344_746_068_542_9] {
                let x = quantile(p, a, b);
                assert!((distribution(x, a, b) - p).abs() < 1e-9, "({a}, {b}): {x}");
            }
        }
        assert!((quantile(0.3, 1.0, 1.0) - 0.3).abs() < 1e-15);
    }
}
