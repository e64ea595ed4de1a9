//! Readouts: from a noised total with known noise to a proper q, and the mean of the last of them. Functions of released
//! values only.

use serde::{Deserialize, Serialize};

/// s: public powers of two by which coordinates are multiplied before a sum is clipped.
///
/// Powers of two, so that neither scaling nor scaling back rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Whitening(Vec<i8>);

impl Whitening {
    /// All one.
    pub(super) fn none(dimension: usize) -> Self {
        Self(vec![0; dimension])
    }

    /// sⱼ.
    pub fn of(&self, j: usize) -> f64 {
        libm::exp2(f64::from(self.0[j]))
    }

    /// Those after the first j.
    pub(super) fn after(self, j: usize) -> Self {
        Self(self.0.into_iter().skip(j).collect())
    }

    /// Puts other scales behind these.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// L·L²/(L² + v), L = max(level, 0): a precision seen through noise of variance v, shrunk to what can be told from it.
pub(super) fn shrunk(level: &[f64], variance: f64) -> Vec<f64> {
    level
        .iter()
        .map(|l| {
            let l = l.max(0.0);
            let square = l * l;
            if square > 0.0 { l * (square / (square + variance)) } else { 0.0 }
        })
        .collect()
}

/// sⱼ = ((Λⱼ/max Λ + f₀)/(1 + f₀))^−τ, to the nearest power of two: coordinates with little information are scaled up.
pub(super) fn scales(precision: &[f64], whitening: f64, floor: f64) -> Whitening {
    let most = precision.iter().copied().fold(0.0, f64::max);
    if most.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return Whitening::none(precision.len());
    }
    let exponent = |l: &f64| -whitening * libm::log2((l / most + floor) / (1.0 + floor));
    Whitening(precision.iter().map(|l| exponent(l).round().clamp(-60.0, 60.0) as i8).collect())
}

/// q given an observation `first` of the data's Λμ with noise of variance ν: precision p₀ + WΛ and Λμ = η₀ + W·first, with
/// W = Λ/(Λ + κν). The precision is never under the prior's.
///
/// - `first`: the data's Λμ, seen with noise.
/// - `precision`: the data's Λ, of each coordinate.
/// - `noise`: ν, the variance of the noise in `first`.
/// - `caution`: κ, by which the noise is weighed; 1 is Wiener's weight.
pub(super) fn read_out(prior: &[f64], first: &[f64], precision: &[f64], noise: &[f64], caution: f64) -> Vec<f64> {
    let d = first.len();
    let weight = |j: usize| {
        let (l, n) = (precision[j], caution * noise[j]);
        if l > 0.0 { l / (l + n) } else { 0.0 }
    };
    let mean = (0..d).map(|j| prior[j] + weight(j) * first[j]);
    let half = (0..d).map(|j| prior[d + j] - 0.5 * weight(j) * precision[j]);
    mean.chain(half).collect()
}

/// Puts the newest readout behind the others, of which as many stay as are averaged, at least one.
pub(super) fn keep_newest(served: &mut Vec<Vec<f64>>, newest: Vec<f64>, average: usize) {
    served.push(newest);
    let surplus = served.len().saturating_sub(average.max(1));
    served.drain(..surplus);
}

/// The mean of the readouts that are kept, in natural parameters: proper, since each of them is.
pub(super) fn mean_of(served: &[Vec<f64>], len: usize) -> Vec<f64> {
    let count = served.len() as f64;
    let mut mean = vec![0.0; len];
    for one in served {
        mean.iter_mut().zip(one).for_each(|(m, s)| *m += s / count);
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    #[test]
    fn scales_are_powers_of_two_and_lift_what_says_little() {
        let s = scales(&[100.0, 10.0, 1.0, 0.0], 0.5, 0.05);
        let of: Vec<f64> = (0..4).map(|j| s.of(j)).collect();
        // (1.05/0.15)^½ = 2.6, (1.05/0.06)^½ = 4.2, (1.05/0.05)^½ = 4.6
        assert_eq!(of, [1.0, 2.0, 4.0, 4.0]);
        assert_eq!(scales(&[0.0, 0.0], 0.5, 0.05), Whitening::none(2));
        assert_eq!(scales(&[5.0, 1.0], 0.0, 0.05), Whitening::none(2));
    }

    #[test]
    fn a_readout_without_noise_is_the_total_and_with_much_of_it_the_prior() {
        let prior = [0.0, 0.0, -0.5, -0.5];
        let (first, precision) = ([3.0, -4.0], [6.0, 2.0]);
        assert_eq!(read_out(&prior, &first, &precision, &[0.0, 0.0], 3.0), [3.0, -4.0, -3.5, -1.5]);
        let noised = read_out(&prior, &first, &precision, &[2.0, 1e300], 3.0);
        assert_eq!(noised[0], 1.5); // W = 6/(6 + 6)
        assert!(noised[1].abs() < 1e-290 && (noised[3] + 0.5).abs() < 1e-290);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_served_precision_is_never_under_the_priors(
            level in prop::collection::vec(-1e9..1e9_f64, 3),
            noise in prop::collection::vec(0.0..1e12_f64, 3),
            variance in 0.0..1e12_f64,
        ) {
            let precision = shrunk(&level, variance);
            prop_assert!(precision.iter().zip(&level).all(|(p, l)| *p >= 0.0 && *p <= l.max(0.0)));
            let eta = read_out(&[0.0, 0.0, 0.0, -0.5, -0.5, -0.5], &level, &precision, &noise, 3.0);
            prop_assert!(eta[3..].iter().all(|half| *half <= -0.5) && eta.iter().all(|v| v.is_finite()));
        }
    }
}
