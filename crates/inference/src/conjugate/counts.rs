//! Counts that were released with noise: their law given the release, and the mixtures of beta and gamma laws that follow from it.
//!
//! s is a whole number, so that p(s | r) is a list of numbers on a window outside of which less than e⁻⁴⁵ of the greatest is left out.

use super::incomplete_gamma;
use super::marginal::ExactMarginal;
use crate::chain::beta;
use libm::{exp, lgamma, log, log1p};

/// Logarithms of chances that far below the greatest are left out.
const NEGLIGIBLE: f64 = 45.0;

/// How many standard deviations of the noise a window reaches at first.
const FIRST_REACH: f64 = 9.0;

/// The longest list of chances: of a sum whose noise is wider, nothing is said.
const LONGEST: f64 = 16_777_216.0;

/// The law of a count given its noisy release.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LatentCount {
    /// The first count that is not left out.
    first: u64,
    /// Chances of it and of those after it; they add up to 1.
    chances: Vec<f64>,
}

/// log of n over s.
pub(crate) fn log_binomial(n: u64, s: u64) -> f64 {
    let of = |k: u64| lgamma(k as f64 + 1.0);
    of(n) - of(s) - of(n.saturating_sub(s))
}

impl LatentCount {
    /// p(s | r) ∝ p(s)·N(r − s; 0, v) for s up to `most`, where there is a greatest; the nearest count itself where v is 0.
    ///
    /// None of a release that is not finite, or whose noise is wider than any list.
    pub(crate) fn of(seen: f64, variance: f64, most: Option<u64>, log_prior: impl Fn(u64) -> f64) -> Option<Self> {
        let top = most.map_or(LONGEST * LONGEST, |most| most as f64);
        if !(seen.is_finite() && variance.is_finite() && variance >= 0.0) {
            return None;
        }
        let centre = seen.round().clamp(0.0, top);
        if variance == 0.0 {
            return Some(Self { first: centre as u64, chances: vec![1.0] });
        }
        let mut reach = (FIRST_REACH * variance.sqrt()).ceil();
        loop {
            let (low, high) = ((centre - reach).max(0.0), (centre + reach).min(top));
            if high - low > LONGEST {
                return None;
            }
            let noise = |s: u64| -0.5 * (s as f64 - seen) * (s as f64 - seen) / variance;
            let logs: Vec<f64> = (low as u64..=high as u64).map(|s| log_prior(s) + noise(s)).collect();
            let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let counts = |log: Option<&f64>| log.is_some_and(|log| *log > greatest - NEGLIGIBLE);
            if (low > 0.0 && counts(logs.first())) || (high < top && counts(logs.last())) {
                reach *= 2.0;
                continue;
            }
            return Self::of_weights(low as u64, logs.iter().map(|log| exp(log - greatest)).collect());
        }
    }

    /// Counts of several levels that add up to n, of which each was released with its own noise of variance v, given weights of each
    /// count before its release. One law for each level: the margins of ∏ w(sₖ)·N(rₖ − sₖ; 0, v) on Σ sₖ = n.
    ///
    /// Given n the noise in Σ rₖ says nothing of s, so that an even share of Σ rₖ − n is taken from each release first.
    pub(crate) fn of_levels(
        seen: &[f64],
        variance: f64,
        n: u64,
        log_weight: impl Fn(usize, u64) -> f64,
    ) -> Option<Vec<Self>> {
        let (top, excess) = (n as f64, (seen.iter().sum::<f64>() - n as f64) / seen.len() as f64);
        if !(excess.is_finite() && variance.is_finite() && variance >= 0.0) {
            return None;
        }
        if variance == 0.0 {
            return seen.iter().map(|&seen| Self::of(seen, 0.0, Some(n), |_| 0.0)).collect();
        }
        let mut reach = ((FIRST_REACH + 3.0) * variance.sqrt()).ceil();
        loop {
            let window = |(level, seen): (usize, &f64)| {
                let seen = seen - excess;
                let centre = seen.round().clamp(0.0, top);
                let (low, high) = ((centre - reach).max(0.0) as u64, (centre + reach).min(top) as u64);
                let noise = |s: u64| -0.5 * (s as f64 - seen) * (s as f64 - seen) / variance;
                let logs: Vec<f64> = (low..=high).map(|s| log_weight(level, s) + noise(s)).collect();
                let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Window { first: low, weights: logs.iter().map(|log| exp(log - greatest)).collect() }
            };
            let windows: Vec<Window> = seen.iter().enumerate().map(window).collect();
            if windows.iter().map(|w| w.weights.len() as f64).sum::<f64>() > LONGEST {
                return None;
            }
            let margins: Option<Vec<Self>> = Window::margins(&windows, n);
            if margins.is_some() || reach > top {
                return margins;
            }
            reach *= 2.0;
        }
    }

    /// From weights of counts; none where they add up to nothing.
    fn of_weights(first: u64, weights: Vec<f64>) -> Option<Self> {
        let sum: f64 = weights.iter().sum();
        let chances: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        (sum > 0.0 && sum.is_finite()).then_some(Self { first, chances })
    }

    /// Every count with its chance.
    fn each(&self) -> impl Iterator<Item = (f64, f64)> {
        (self.first..).map(|s| s as f64).zip(self.chances.iter().copied())
    }

    /// Mean and variance of the count.
    fn moments(&self) -> (f64, f64) {
        let mean: f64 = self.each().map(|(s, chance)| chance * s).sum();
        (mean, self.each().map(|(s, chance)| chance * (s - mean) * (s - mean)).sum())
    }

    /// The mixture of Beta(a + s, total − a − s): of a share that is Beta(a, total − n − a) before n rows of which s have it.
    pub(crate) fn of_share(&self, a: f64, total: f64) -> Option<ExactMarginal> {
        let (mean, spread) = self.moments();
        let within: f64 = self.each().map(|(s, chance)| chance * (a + s) * (total - a - s)).sum();
        let variance = (within / (total + 1.0) + spread) / (total * total);
        ExactMarginal::of((a + mean) / total, variance, (0.0, 1.0), |x| self.share_under(x, a, total))
    }

    /// The mixture of Gamma(shape + s, rate): of a rate that is Gamma(shape, rate − n) before n rows that add up to s.
    pub(crate) fn of_rate(&self, shape: f64, rate: f64) -> Option<ExactMarginal> {
        let (mean, spread) = self.moments();
        let variance = (shape + mean + spread) / (rate * rate);
        let under = |x: f64| self.rate_under(rate * x, shape);
        ExactMarginal::of((shape + mean) / rate, variance, (0.0, f64::MAX), under)
    }

    /// Σ p(s) I_x(a + s, b − s) with a + b = total.
    ///
    /// One value of I_x is computed and the others by I_x(a, b) − I_x(a + 1, b − 1) = xᵃ(1 − x)^(b−1)/(a B(a, b)) (DLMF 8.17.20 and
    /// 8.17.21): from where these steps are longest into both directions, so that none is lost to underflow that would count.
    fn share_under(&self, x: f64, a: f64, total: f64) -> f64 {
        if x <= 0.0 || x >= 1.0 {
            return f64::from(x >= 1.0);
        }
        let start = self.place_of(total * x - a);
        let at = |place: usize| a + (self.first + place as u64) as f64;
        let odds = x / (1.0 - x);
        let (own, other) = (at(start), total - at(start));
        let value = beta::distribution(x, own, other);
        let log_step = own * log(x) + (other - 1.0) * log1p(-x) + lgamma(total) - lgamma(own + 1.0) - lgamma(other);
        let up = |place: usize, step: f64| step * odds * (total - at(place) - 1.0) / (at(place) + 1.0);
        let down = |place: usize, step: f64| step * at(place) / (odds * (total - at(place)));
        self.summed(start, value, exp(log_step), up, down)
    }

    /// Σ p(s) P(a + s, y), by P(a, y) − P(a + 1, y) = yᵃe^(−y)/Γ(a + 1) (DLMF 8.8.5), as above.
    fn rate_under(&self, y: f64, a: f64) -> f64 {
        if y <= 0.0 {
            return 0.0;
        }
        let start = self.place_of(y - a);
        let at = |place: usize| a + (self.first + place as u64) as f64;
        let value = incomplete_gamma::distribution(at(start), y);
        let log_step = at(start) * log(y) - y - lgamma(at(start) + 1.0);
        let up = |place: usize, step: f64| step * y / (at(place) + 1.0);
        let down = |place: usize, step: f64| step * at(place) / y;
        self.summed(start, value, exp(log_step), up, down)
    }

    /// The place of the count that is nearest to this number.
    fn place_of(&self, count: f64) -> usize {
        (count - self.first as f64).round().clamp(0.0, (self.chances.len() - 1) as f64) as usize
    }

    /// Σ p(s) F(s) for F that falls from one count to the next by a step: given F and the step at one place, and how a step follows
    /// from its neighbour.
    fn summed(
        &self,
        start: usize,
        value: f64,
        step: f64,
        up: impl Fn(usize, f64) -> f64,
        down: impl Fn(usize, f64) -> f64,
    ) -> f64 {
        let mut sum = self.chances[start] * value;
        let (mut above, mut next) = (value, step);
        for (place, chance) in self.chances.iter().enumerate().skip(start + 1) {
            above = (above - next).max(0.0);
            sum += chance * above;
            next = up(place - 1, next);
        }
        let (mut below, mut next) = (value, step);
        for (place, chance) in self.chances[..start].iter().enumerate().rev() {
            next = down(place + 1, next);
            below = (below + next).min(1.0);
            sum += chance * below;
        }
        sum.clamp(0.0, 1.0)
    }
}

/// Weights of one level's counts from a first one on; the greatest is 1.
#[derive(Debug, Clone)]
struct Window {
    first: u64,
    weights: Vec<f64>,
}

impl Window {
    /// Weights of a sum of two counts.
    fn plus(&self, other: &Self) -> Self {
        let mut weights = vec![0.0; self.weights.len() + other.weights.len() - 1];
        for (i, a) in self.weights.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            weights[i..].iter_mut().zip(&other.weights).for_each(|(sum, b)| *sum += a * b);
        }
        let greatest = weights.iter().copied().fold(0.0, f64::max);
        if greatest > 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= greatest);
        }
        Self { first: self.first + other.first, weights }
    }

    /// The weight of a count.
    fn at(&self, count: u64) -> f64 {
        let place = count.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.weights.get(place)).copied().unwrap_or(0.0)
    }

    /// The law of each count given that all add up to n; none where no counts of these windows do.
    fn margins(windows: &[Self], n: u64) -> Option<Vec<LatentCount>> {
        let nothing = Self { first: 0, weights: vec![1.0] };
        let sums = |all: &mut dyn Iterator<Item = &Self>| {
            let mut sums = vec![nothing.clone()];
            for window in all {
                let sum = sums[sums.len() - 1].plus(window);
                sums.push(sum);
            }
            sums
        };
        let (before, after) = (sums(&mut windows.iter()), sums(&mut windows.iter().rev()));
        let margin = |(k, window): (usize, &Self)| {
            let (before, after) = (&before[k], &after[windows.len() - 1 - k]);
            let (short, long) =
                if before.weights.len() < after.weights.len() { (before, after) } else { (after, before) };
            // The weight of all others adding up to a count.
            let others = |rest: u64| -> f64 {
                let each = short.weights.iter().zip(short.first..);
                each.filter_map(|(weight, count)| Some(weight * long.at(rest.checked_sub(count)?))).sum()
            };
            let counts = (window.first..).zip(&window.weights);
            let weights =
                counts.map(|(s, weight)| n.checked_sub(s).map_or(0.0, |rest| weight * others(rest))).collect();
            LatentCount::of_weights(window.first, weights)
        };
        windows.iter().enumerate().map(margin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n = 12 with a wide and with a narrow noise, by sums over all counts.
    #[test]
    fn the_law_of_a_count_is_that_of_the_sum_over_all_counts() {
        for (seen, variance) in [(3.7, 4.0), (-6.0, 9.0), (40.0, 25.0), (5.0, 1e-3), (6.0, 1e6)] {
            let log_prior = |s: u64| log_binomial(12, s) - 0.3 * s as f64;
            let found = LatentCount::of(seen, variance, Some(12), log_prior).unwrap();
            let weight = |s: u64| log_prior(s) - 0.5 * (s as f64 - seen).powi(2) / variance;
            let greatest = (0..=12).map(weight).fold(f64::MIN, f64::max);
            let whole: f64 = (0..=12).map(|s| exp(weight(s) - greatest)).sum();
            for (s, chance) in found.each() {
                assert!((chance - exp(weight(s as u64) - greatest) / whole).abs() < 1e-13, "{seen} {variance}: {s}");
            }
        }
        assert_eq!(LatentCount::of(f64::NAN, 1.0, Some(3), |_| 0.0), None);
        assert_eq!(LatentCount::of(2.2, 0.0, Some(3), |_| 0.0).unwrap().first, 2);
    }

    /// Three levels, by a sum over all counts that add up.
    #[test]
    fn counts_of_levels_add_up() {
        let (n, seen, variance) = (9_u64, [4.6, -1.2, 8.0], 3.0);
        let log_weight = |level: usize, s: u64| lgamma(1.0 + 0.5 * level as f64 + s as f64) - lgamma(s as f64 + 1.0);
        let found = LatentCount::of_levels(&seen, variance, n, log_weight).unwrap();
        let mut by_hand = [[0.0; 10]; 3];
        for a in 0..=n {
            for b in 0..=n - a {
                let counts = [a, b, n - a - b];
                let term = |k: usize| log_weight(k, counts[k]) - 0.5 * (counts[k] as f64 - seen[k]).powi(2) / variance;
                let weight = exp((0..3).map(term).sum());
                (0..3).for_each(|k| by_hand[k][counts[k] as usize] += weight);
            }
        }
        let whole: f64 = by_hand[0].iter().sum();
        for (k, found) in found.iter().enumerate() {
            for (s, chance) in found.each() {
                assert!((chance - by_hand[k][s as usize] / whole).abs() < 1e-12, "{k} {s}: {chance}");
            }
        }
        let means: f64 = found.iter().map(|level| level.moments().0).sum();
        assert!((means - 9.0).abs() < 1e-11);
    }

    /// Mixtures by one distribution function for each count.
    #[test]
    fn mixtures_are_sums_of_their_parts() {
        let law = LatentCount::of(31.4, 60.0, Some(90), |s| log_binomial(90, s)).unwrap();
        for x in [1e-4, 0.05, 0.3, 0.37, 0.6, 0.999] {
            let parts: f64 = law.each().map(|(s, p)| p * beta::distribution(x, 1.5 + s, 92.5 - s)).sum();
            let found = law.share_under(x, 1.5, 94.0);
            assert!((found - parts).abs() < 1e-12, "share {x}: {found} {parts}");
            let y = 90.0 * x;
            let parts: f64 = law.each().map(|(s, p)| p * incomplete_gamma::distribution(0.7 + s, y)).sum();
            let found = law.rate_under(y, 0.7);
            assert!((found - parts).abs() < 1e-12, "rate {y}: {found} {parts}");
        }
    }
}
