//! The binomial law: probabilities to about 1e-14 for any number of trials, and ranges with certified tails.
//!
//! Laws of shuffled answers are binomial with up to 10^9 trials. Probabilities far in the tail decide δ, so relative accuracy matters
//! there too.

use std::f64::consts::TAU;
use std::ops::RangeInclusive;

/// Bin(n, p), with both p and 1 − p given, so that neither is lost when it is small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binomial {
    trials: u64,
    success: f64,
    failure: f64,
}

/// A range of outcomes, and a certified bound on the probability of all others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Central {
    /// The outcomes that are kept.
    pub(crate) range: RangeInclusive<u64>,
    /// At least the probability of the others.
    pub(crate) cut: f64,
}

impl Binomial {
    /// `success` and `failure` are probabilities that sum to one up to rounding.
    pub(crate) fn new(trials: u64, success: f64, failure: f64) -> Self {
        Self { trials, success, failure }
    }

    /// log P(X = x), after Loader 2000, "Fast and accurate computation of binomial probabilities".
    ///
    /// log P = s(n) − s(x) − s(n−x) − D(x, np) − D(n−x, n(1−p)) + ½ log(n / (2π x (n−x))), with Stirling's error s and
    /// the deviance D(x, μ) = x log(x/μ) + μ − x. No term is larger than the result, so nothing cancels.
    /// A relative error η of p and of 1 − p moves the result by at most 2η |x − np|.
    pub(crate) fn log_pmf(&self, x: u64) -> f64 {
        let (n, p, q) = (self.trials as f64, self.success, self.failure);
        match x {
            _ if x > self.trials => f64::NEG_INFINITY,
            _ if p == 0.0 => {
                if x == 0 {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            _ if q == 0.0 => {
                if x == self.trials {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            0 => n * log_of(q, p),
            _ if x == self.trials => n * log_of(p, q),
            _ => {
                let y = (self.trials - x) as f64;
                let x = x as f64;
                let deviances = deviance(x, n, p) + deviance(y, n, q);
                let stirling = stirling_error(n) - stirling_error(x) - stirling_error(y);
                stirling - deviances + 0.5 * libm::log(n / (TAU * x * y))
            }
        }
    }

    /// P(X = x), from its logarithm.
    pub(crate) fn pmf(&self, x: u64) -> f64 {
        libm::exp(self.log_pmf(x))
    }

    /// The mean np, near which the probable outcomes lie.
    pub(crate) fn mean(&self) -> f64 {
        self.trials as f64 * self.success
    }

    /// A range around the mode outside of which lies at most `tail` of the probability.
    pub(crate) fn central(&self, tail: f64) -> Central {
        let mode = (((self.trials + 1) as f64 * self.success).floor() as u64).min(self.trials);
        let mirrored = Self { success: self.failure, failure: self.success, ..*self };
        let high = self.last_needed(mode, tail / 2.0);
        let low = self.trials - mirrored.last_needed(self.trials - mode, tail / 2.0);
        Central { range: low..=high, cut: if high - low == self.trials { 0.0 } else { tail } }
    }

    /// The smallest x ≥ mode with P(X > x) certified to be at most `tail`, by bisection.
    fn last_needed(&self, mode: u64, tail: f64) -> u64 {
        let (mut low, mut high) = (mode, self.trials);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.tail_above(middle) <= tail {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// A bound on P(X > x) for x at least the mode.
    ///
    /// The ratio r = P(X = x+1) / P(X = x) = (n − x) / (x + 1) · p / (1 − p) decreases in x, so that the tail is at
    /// most the geometric series P(X = x+1) / (1 − r) with the ratio r at x + 1. One in 10⁶ is added for rounding.
    fn tail_above(&self, x: u64) -> f64 {
        if x >= self.trials {
            return 0.0;
        }
        let next = (x + 1) as f64;
        let ratio = (self.trials as f64 - next) / (next + 1.0) * self.success / self.failure;
        if ratio < 1.0 { 1.000_001 * self.pmf(x + 1) / (1.0 - ratio) } else { 1.0 }
    }
}

/// log p, from whichever of p and 1 − p is smaller.
fn log_of(p: f64, complement: f64) -> f64 {
    if complement < 0.5 { libm::log1p(-complement) } else { libm::log(p) }
}

/// D(x, μ) = x log(x/μ) + μ − x for μ = n·p, with the product taken to twice the precision.
///
/// With v = (x−μ)/(x+μ), log(x/μ) = 2 (v + v³/3 + v⁵/5 + …), hence D = (x−μ) v + 2x (v³/3 + v⁵/5 + …).
fn deviance(x: f64, n: f64, p: f64) -> f64 {
    let mean = n * p;
    let difference = (x - mean) - libm::fma(n, p, -mean);
    let v = difference / (x + mean);
    if v.abs() > 0.6 {
        return x * libm::log(x / mean) - difference;
    }
    let (mut sum, mut power, mut odd) = (0.0, v, 1.0);
    loop {
        power *= v * v;
        odd += 2.0;
        let next = sum + power / odd;
        if next == sum {
            return difference * v + 2.0 * x * sum;
        }
        sum = next;
    }
}

/// Stirling's error log n! − log(√(2πn) (n/e)ⁿ): tabulated to 15, then 1/12n − 1/360n³ + 1/1260n⁵ − 1/1680n⁷ + 1/1188n⁹.
fn stirling_error(n: f64) -> f64 {
    const TABLE: [f64; 16] = [
        0.0,
        0.08106146679532725822,
        0.04134069595540929409,
        0.02767792568499833915,
        0.02079067210376509311,
        0.01664469118982119216,
        0.013876128823070748,
        0.0118967099458917701,
        0.0104112652619720965,
        0.009255462182712732918,
        0.008330563433362871256,
        0.007573675487951840795,
        0.006942840107209529866,
        0.006408994188004207068,
        0.005951370112758847736,
        0.005554733551962801371,
    ];
    if n <= 15.0 {
        return TABLE[n as usize];
    }
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (x, n, p, log P(X = x)) to 18 digits, by arbitrary-precision log-gamma functions.
    const REFERENCE: [(u64, u64, f64, f64); 28] = [
        (0, 1, 0.03597241992418312, -0.0366353747436963023),
        (1, 1, 0.25, -1.38629436111989062),
        (0, 7, 0.5, -4.85203026391961717),
        (6, 7, 0.03597241992418312, -18.0407417098355693),
        (7, 7, 0.9, -0.737523609604783936),
        (1, 16, 0.5, -8.31776616671934371),
        (9, 16, 0.03597241992418312, -20.8366010844928648),
        (16, 16, 0.25, -22.1807097779182499),
        (14, 16, 0.9, -1.29272566241561369),
        (24, 100, 0.03597241992418312, -29.8508438096680189),
        (73, 100, 0.25, -53.0539163923756553),
        (80, 100, 0.9, -6.74990830339071928),
        (100, 100, 0.5, -69.3147180559945309),
        (298, 9999, 0.03597241992418312, -9.57088408166187311),
        (565, 9999, 0.03597241992418312, -56.0961291406474589),
        (2976, 9999, 0.25, -62.9274584501829152),
        (5000, 9999, 0.5, -4.83098653863277713),
        (9329, 9999, 0.9, -71.7594293591595248),
        (35972, 1000000, 0.03597241992418312, -6.1458739943338406),
        (38021, 1000000, 0.03597241992418312, -65.6057887577801164),
        (254763, 1000000, 0.25, -67.2390949540896667),
        (500000, 1000000, 0.5, -7.13354688162686448),
        (505500, 1000000, 0.5, -67.6347065203958522),
        (899010, 1000000, 0.9, -12.0562048848584594),
        (36037197, 1000000000, 0.03597241992418312, -70.0654385680372973),
        (250150624, 1000000000, 0.25, -70.9359248924478052),
        (500173925, 1000000000, 0.5, -71.0872366809438976),
        (899968693, 1000000000, 0.9, -15.5213896838370166),
    ];

    #[test]
    fn probabilities_match_arbitrary_precision() {
        for (x, n, p, expected) in REFERENCE {
            let error = (Binomial::new(n, p, 1.0 - p).log_pmf(x) - expected).abs();
            // 1 − p may be rounded, which moves the result by its relative error times |x − np|.
            let complement = if p == 0.5 || p == 0.25 { 0.0 } else { 2e-16 * (x as f64 - n as f64 * p).abs() };
            let allowed = 1e-14 + 2e-16 * expected.abs() + complement;
            assert!(error <= allowed, "x {x}, n {n}, p {p}: off by {error:e}, allowed {allowed:e}");
        }
    }

    #[test]
    fn probabilities_sum_to_one() {
        for (n, p, q) in [(0, 0.3, 0.7), (1, 0.3, 0.7), (40, 1e-9, 1.0 - 1e-9), (5_000, 0.018, 0.982), (60, 1.0, 0.0)] {
            let law = Binomial::new(n, p, q);
            let total: f64 = (0..=n).map(|x| law.pmf(x)).sum();
            assert!((total - 1.0).abs() < 1e-13, "n {n}, p {p}: {total}");
        }
    }

    #[test]
    fn the_cut_bounds_what_lies_outside_and_is_not_generous() {
        for (n, p) in [(3, 0.5), (50, 0.02), (400, 0.3), (2_000, 0.97)] {
            let law = Binomial::new(n, p, 1.0 - p);
            for tail in [1e-3, 1e-12, 1e-30] {
                let central = law.central(tail);
                let outside =
                    |range: &RangeInclusive<u64>| (0..=n).filter(|x| !range.contains(x)).map(|x| law.pmf(x)).sum();
                let cut: f64 = outside(&central.range);
                assert!(cut <= central.cut, "n {n}, p {p}, tail {tail}: {cut}");
                let (low, high) = (*central.range.start(), *central.range.end());
                let narrower: f64 = outside(&(low + 3..=high.saturating_sub(3)));
                assert!(narrower > tail / 2.0 || high - low < 10, "n {n}, p {p}: {low}..={high} could be narrower");
            }
        }
    }
}
