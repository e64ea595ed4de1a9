//! The normal law with unknown mean and variance, from noisy sums of values and of squares.
//!
//! With μ | σ² ~ N(m, σ²/κ) and σ² ~ inverse gamma(α, β), and S = Σ(u − ū)²:
//!
//! ```text
//! p(ū, S) ∝ S^((n−3)/2) · β'^(−α'),    α' = α + n/2,    β' = β + S/2 + κn(ū − m)²/(2(κ + n)),
//! σ² | ū, S ~ inverse gamma(α', β'),   μ | ū, S ~ t with 2α' degrees of freedom about (κm + nū)/(κ + n).
//! ```
//!
//! The integral over (ū, log S) is a sum over a grid, which converges faster than any power of its width; a posterior is served only
//! where a grid and every other point of it agree. Each parameter has a grid of its own, whose steps in one direction are narrower than
//! the parts of the mixture.

use super::NoisyTotals;
use super::marginal::ExactMarginal;
use crate::model::quadrature::{nodes, settled};
use libm::{asinh, cosh, exp, log, log1p, sinh};
use serde::Serialize;

/// The prior of mean and variance; and, after rows, their posterior.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct NormalInverseGamma {
    /// m, the mean of μ.
    pub(crate) mean: f64,
    /// κ, as how many rows the mean counts.
    pub(crate) strength: f64,
    /// α of σ².
    pub(crate) shape: f64,
    /// β of σ².
    pub(crate) scale: f64,
}

/// How far from its release a sum is looked for, in standard deviations of the noise.
const REACH: f64 = 10.0;

impl NormalInverseGamma {
    /// Mean and variance of μ and of σ²; α is over 2.
    pub(crate) fn moments(&self) -> [(f64, f64); 2] {
        let variance = self.scale / (self.shape - 1.0);
        [(self.mean, variance / self.strength), (variance, variance * variance / (self.shape - 2.0))]
    }

    /// The same belief of (y − middle)/half.
    pub(crate) fn in_units(self, middle: f64, half: f64) -> Self {
        Self { mean: (self.mean - middle) / half, scale: self.scale / (half * half), ..self }
    }

    /// After n rows of mean ū with Σ(u − ū)² = S.
    fn given(&self, n: f64, mean: f64, squares: f64) -> Self {
        let strength = self.strength + n;
        let off = mean - self.mean;
        Self {
            mean: (self.strength * self.mean + n * mean) / strength,
            strength,
            shape: self.shape + 0.5 * n,
            scale: self.scale + 0.5 * squares + 0.5 * self.strength * n * off * off / strength,
        }
    }

    /// The posterior of μ and σ² given these outcomes; none of fewer than two.
    pub(crate) fn exact(&self, outcomes: &[f64]) -> Option<Vec<ExactMarginal>> {
        let n = outcomes.len() as f64;
        let mean = outcomes.iter().sum::<f64>() / n;
        let squares: f64 = outcomes.iter().map(|y| (y - mean) * (y - mean)).sum();
        if outcomes.len() < 2 {
            return None;
        }
        let alone = Mixture::of(vec![(self.given(n, mean, squares), 1.0)]);
        Some(vec![alone.mean()?, alone.variance()?])
    }

    /// The posterior of μ and σ² given noisy Σu and Σu²; none of fewer than two rows, or where quadrature fails.
    pub(crate) fn posterior(&self, seen: &NoisyTotals) -> Option<Vec<ExactMarginal>> {
        let &[sum, squares] = seen.sums.as_slice() else { return None };
        let (n, v) = (seen.rows as f64, seen.variance);
        if seen.rows < 2 || !(sum.is_finite() && squares.is_finite() && v > 0.0 && v.is_finite()) {
            return None;
        }
        Latent { prior: *self, n, sum, squares, variance: v }.marginals()
    }
}

/// The law of (ū, log S) given noisy sums.
struct Latent {
    prior: NormalInverseGamma,
    n: f64,
    sum: f64,
    squares: f64,
    /// v of the noise in both sums.
    variance: f64,
}

/// Steps of a grid in a direction in which the answer is smooth.
const COARSE: usize = 48;

/// Most steps in a direction in which each part of the mixture is narrow.
const FINE: f64 = 40_000.0;

/// Steps of a mixture's parts in standard deviations of one part: the sum of parts then differs from the integral by less than e⁻³⁰ of it
/// for normal parts, and by less than 1e-6 of it for any.
const STEP: f64 = 0.8;

impl Latent {
    /// log p(ū, log S | r), up to a constant.
    fn log_density(&self, [mean, log_squares]: [f64; 2]) -> f64 {
        let (n, within) = (self.n, exp(log_squares));
        let (off, off_squares) = (self.sum - n * mean, self.squares - within - n * mean * mean);
        let predictive = 0.5 * (n - 1.0) * log_squares;
        predictive
            - (self.prior.shape + 0.5 * n) * log(self.prior.given(n, mean, within).scale)
            - 0.5 * (off * off + off_squares * off_squares) / self.variance
    }

    /// Where ū lies by noise and prior together, roughly: coordinates in which a law with heavy tails is as easily summed as a normal one
    /// are w with ū = centre + width·sinh w.
    fn centre_and_width(&self) -> (f64, f64) {
        let [(about, of_mean), (variance, _)] = self.prior.moments();
        let by_prior = (of_mean + variance / self.n).recip();
        let by_noise = self.n * self.n / self.variance;
        let precision = by_prior + by_noise;
        ((by_prior * about + by_noise * self.sum / self.n) / precision, precision.sqrt().recip())
    }

    /// Both parameters, each from a grid that is fine where its own parts are narrow.
    fn marginals(&self) -> Option<Vec<ExactMarginal>> {
        let (centre, width) = self.centre_and_width();
        let mean_at = |w: f64| centre + width * sinh(w);
        let turned = |[w, log_squares]: [f64; 2]| self.log_density([mean_at(w), log_squares]) + log(cosh(w));
        let [[low, bottom], [high, top]] = self.within();
        let place = |mean: f64| asinh((mean - centre) / width);
        let [[low, bottom], [high, top]] = settled(turned, [[place(low), bottom], [place(high), top]])?;
        let shape = self.prior.shape + 0.5 * self.n;
        let strength = self.prior.strength + self.n;
        let narrowest = ((self.prior.scale + 0.5 * exp(bottom)) / (shape * strength)).sqrt();
        let (first, last) = (mean_at(low), mean_at(high));
        let of_mean = steps((last - first) / narrowest)?;
        let of_variance = steps((top - bottom) * shape.sqrt())?;
        let given =
            |(mean, log_squares, weight): (f64, f64, f64)| (self.prior.given(self.n, mean, exp(log_squares)), weight);
        let plain = nodes(|at| self.log_density(at), [[first, bottom], [last, top]], [of_mean, COARSE]);
        let turned = nodes(turned, [[low, bottom], [high, top]], [COARSE, of_variance]);
        let by_mean = plain.into_iter().map(|([mean, squares], weight)| given((mean, squares, weight)));
        let by_variance = turned.into_iter().map(|([w, squares], weight)| given((mean_at(w), squares, weight)));
        Some(vec![Mixture::of(by_mean.collect()).mean()?, Mixture::of(by_variance.collect()).variance()?])
    }

    /// A box of (ū, log S) outside of which nothing counts.
    ///
    /// ū lies within [`REACH`] deviations of its release, and S within as many of r₂ − nū²; below β, where that is no bound, S has a
    /// density that falls like S^((n−1)/2) in log S.
    fn within(&self) -> [[f64; 2]; 2] {
        let (n, sum, squares, deviation) = (self.n, self.sum, self.squares, self.variance.sqrt());
        let (low, high) = ((sum - REACH * deviation) / n, (sum + REACH * deviation) / n);
        let (low_square, high_square) = (low * low, high * high);
        let most = n * low_square.max(high_square);
        let least = if low <= 0.0 && high >= 0.0 { 0.0 } else { n * low_square.min(high_square) };
        let top = (squares - least + REACH * deviation).max(deviation);
        let by_noise = squares - most - REACH * deviation;
        let by_prior = log(self.prior.scale.min(top)) - 2.0 - 100.0 / (n - 1.0);
        let bottom = if by_noise > 0.0 { log(by_noise).max(by_prior) } else { by_prior };
        [[low, bottom], [high, log(top)]]
    }
}

/// Steps for a range of so many standard deviations of a part; none where they would be too many.
fn steps(range: f64) -> Option<usize> {
    let steps = (range / STEP).ceil();
    (steps <= FINE).then_some((steps as usize).max(COARSE))
}

/// A mixture of posteriors with one shape and one strength.
struct Mixture {
    parts: Vec<(NormalInverseGamma, f64)>,
}

impl Mixture {
    /// Parts with their weights, which add up to 1; without those that together weigh less than 1e-9.
    fn of(mut parts: Vec<(NormalInverseGamma, f64)>) -> Self {
        let least = 1e-9 / parts.len() as f64;
        parts.retain(|(_, weight)| *weight > least);
        Self { parts }
    }

    /// Σ w·f.
    fn sum(&self, of: impl Fn(&NormalInverseGamma) -> f64) -> f64 {
        self.parts.iter().map(|(part, weight)| weight * of(part)).sum()
    }

    /// Mean and variance of one of the parameters: μ is the first, σ² the second.
    fn moments(&self, place: usize) -> (f64, f64) {
        let mean = self.sum(|part| part.moments()[place].0);
        let off = |part: &NormalInverseGamma| part.moments()[place].0 - mean;
        (mean, self.sum(|part| part.moments()[place].1 + off(part) * off(part)))
    }

    /// μ.
    fn mean(&self) -> Option<ExactMarginal> {
        let (first, _) = self.parts.first()?;
        let (shape, strength) = (first.shape, first.strength);
        let student = StudentTable::of(2.0 * shape);
        let width = |part: &NormalInverseGamma| (part.scale / (shape * strength)).sqrt();
        let parts: Vec<[f64; 3]> = self.parts.iter().map(|(part, weight)| [part.mean, width(part), *weight]).collect();
        let (mean, variance) = self.moments(0);
        let under = |x: f64| parts.iter().map(|[m, s, weight]| weight * student.under((x - m) / s)).sum();
        ExactMarginal::of(mean, variance, (f64::MIN, f64::MAX), under)
    }

    /// σ².
    fn variance(&self) -> Option<ExactMarginal> {
        let (first, _) = self.parts.first()?;
        let gamma = Tabulated::log_gamma(first.shape);
        let logs: Vec<(f64, f64)> = self.parts.iter().map(|(part, weight)| (log(part.scale), *weight)).collect();
        let (mean, variance) = self.moments(1);
        let under = |x: f64| {
            let log_x = log(x);
            1.0 - logs.iter().map(|(scale, weight)| weight * gamma.under(scale - log_x)).sum::<f64>()
        };
        ExactMarginal::of(mean, variance, (f64::MIN_POSITIVE, f64::MAX), under)
    }
}

/// A distribution function in a table, with cubic interpolation by its own density.
struct Tabulated {
    low: f64,
    step: f64,
    /// Distribution function and density at each point.
    points: Vec<(f64, f64)>,
}

/// Steps of a table. Widths are at most a hundredth of a standard deviation where the law is near to normal: interpolation then errs by
/// less than 1e-9.
const STEPS: usize = 2400;

/// Logarithms of densities that far below the greatest are left out of a table.
const LEFT_OUT: f64 = 45.0;

impl Tabulated {
    /// Of a density on an interval, up to its constant: by Simpson's rule in every step.
    fn of(low: f64, high: f64, log_density: impl Fn(f64) -> f64) -> Self {
        let step = (high - low) / STEPS as f64;
        let at = |place: usize| exp(log_density(low + 0.5 * step * place as f64));
        let densities: Vec<f64> = (0..=2 * STEPS).map(at).collect();
        let mut sum = 0.0;
        let mut sums = vec![0.0];
        for place in (0..2 * STEPS).step_by(2) {
            sum += step / 6.0 * (densities[place] + 4.0 * densities[place + 1] + densities[place + 2]);
            sums.push(sum);
        }
        let points = sums.iter().zip(densities.iter().step_by(2)).map(|(s, d)| (s / sum, d / sum)).collect();
        Self { low, step, points }
    }

    /// The logarithm of a gamma variable of rate 1.
    fn log_gamma(shape: f64) -> Self {
        let mode = log(shape);
        let below = (2.7 * LEFT_OUT / shape).sqrt() + (1.0 + LEFT_OUT) / shape;
        let above = (2.0 * LEFT_OUT / shape).sqrt();
        Self::of(mode - below, mode + above, |w| shape * (w - mode) - (exp(w) - shape))
    }

    /// The distribution function: 0 and 1 outside of the table.
    fn under(&self, x: f64) -> f64 {
        let place = (x - self.low) / self.step;
        if place.is_nan() || place <= 0.0 {
            return 0.0;
        }
        let cell = place as usize;
        let (Some(&(f, g)), Some(&(next, next_g))) = (self.points.get(cell), self.points.get(cell + 1)) else {
            return 1.0;
        };
        let t = place - cell as f64;
        let (t2, t3) = (t * t, t * t * t);
        let slopes = self.step * (g * (t3 - 2.0 * t2 + t) + next_g * (t3 - t2));
        f + (next - f) * (3.0 * t2 - 2.0 * t3) + slopes
    }
}

/// Student's t with ν degrees of freedom.
enum StudentTable {
    /// As it is: its tails are nearly those of a normal law.
    Light(Tabulated),
    /// Its asinh, which has light tails.
    Heavy(Tabulated),
}

/// Degrees of freedom from which on less than 1e-15 of a t law lies beyond [`LIGHT_REACH`].
const LIGHT: f64 = 60.0;

/// Where the table of a t law with light tails ends.
const LIGHT_REACH: f64 = 12.0;

impl StudentTable {
    fn of(freedom: f64) -> Self {
        let log_density = |z: f64| -0.5 * (freedom + 1.0) * log1p(z * z / freedom);
        if freedom >= LIGHT {
            return Self::Light(Tabulated::of(-LIGHT_REACH, LIGHT_REACH, log_density));
        }
        let far = asinh((freedom * libm::expm1(2.0 * LEFT_OUT / (freedom + 1.0))).sqrt());
        Self::Heavy(Tabulated::of(-far, far, |w| log_density(sinh(w)) + log(cosh(w))))
    }

    /// The distribution function.
    fn under(&self, z: f64) -> f64 {
        match self {
            Self::Light(table) => table.under(z),
            Self::Heavy(table) => table.under(asinh(z)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::beta;
    use crate::conjugate::incomplete_gamma;

    #[test]
    fn tables_are_the_distribution_functions() {
        for freedom in [5.0, 12.0, 206.0, 20_000.0] {
            let table = StudentTable::of(freedom);
            for z in [-30.0, -4.0, -1.3, -0.01, 0.7, 2.5, 8.0] {
                let tail = 0.5 * beta::distribution(freedom / (freedom + z * z), 0.5 * freedom, 0.5);
                let expected = if z < 0.0 { tail } else { 1.0 - tail };
                let found = table.under(z);
                assert!((found - expected).abs() < 1e-9, "t {freedom} at {z}: {found} {expected}");
            }
        }
        for shape in [2.5, 6.0, 103.0, 10_000.0] {
            let table = Tabulated::log_gamma(shape);
            for x in [0.01, 0.5, 0.9, 0.98, 1.0, 1.01, 1.1, 1.7, 4.0].map(|x| x * shape) {
                let (found, expected) = (table.under(log(x)), incomplete_gamma::distribution(shape, x));
                assert!((found - expected).abs() < 1e-9, "gamma {shape} at {x}: {found} {expected}");
            }
        }
    }

    /// Hardly any noise leaves the posterior of the rows.
    #[test]
    fn without_much_noise_it_is_the_conjugate_posterior() {
        let prior = NormalInverseGamma { mean: 0.1, strength: 0.5, shape: 3.0, scale: 0.4 };
        let u: Vec<f64> = (0..40).map(|i| 0.3 + 0.25 * libm::sin(f64::from(i) * 1.7)).collect();
        let sums = vec![u.iter().sum::<f64>(), u.iter().map(|u| u * u).sum::<f64>()];
        let exact = prior.exact(&u).unwrap();
        let found = prior.posterior(&NoisyTotals { rows: 40, sums, variance: 1e-8, units: (0.0, 1.0) }).unwrap();
        for (found, exact) in found.iter().zip(&exact) {
            assert!((found.mean - exact.mean).abs() < 1e-4 * exact.deviation, "{found:?} {exact:?}");
            assert!((found.deviation / exact.deviation - 1.0).abs() < 1e-4, "{found:?} {exact:?}");
            for (a, b) in found.quantiles.0.iter().zip(exact.quantiles.0) {
                assert!((a - b).abs() < 1e-4 * exact.deviation, "{found:?} {exact:?}");
            }
        }
    }

    /// So much noise leaves the prior, and whatever came in leaves a proper posterior.
    #[test]
    fn much_noise_leaves_the_prior_and_strange_sums_a_proper_posterior() {
        let prior = NormalInverseGamma { mean: 0.1, strength: 5.0, shape: 6.0, scale: 0.5 };
        let found =
            prior.posterior(&NoisyTotals { rows: 20, sums: vec![1.0, 3.0], variance: 1e8, units: (0.0, 1.0) }).unwrap();
        for (found, (mean, variance)) in found.iter().zip(prior.moments()) {
            let deviation = variance.sqrt();
            assert!((found.mean - mean).abs() < 0.02 * deviation, "{found:?} {mean}");
            assert!((found.deviation / deviation - 1.0).abs() < 0.05, "{found:?} {deviation}");
        }
        for (rows, sum, squares, variance) in
            [(100, 30.0, -12.0, 50.0_f64), (1_000_000, -5.0, 2e5, 4.0), (1000, 999.0, 998.5, 1e-6)]
        {
            let seen = NoisyTotals { rows, sums: vec![sum, squares], variance, units: (0.0, 1.0) };
            let found = prior.posterior(&seen).unwrap_or_else(|| panic!("{seen:?}"));
            assert!(found.iter().all(|one| one.quantiles.0.windows(2).all(|w| w[0] < w[1])), "{seen:?}: {found:?}");
            assert!(found[1].quantiles.0[0] > 0.0);
        }
        assert_eq!(
            prior.posterior(&NoisyTotals { rows: 1, sums: vec![0.0, 0.0], variance: 1.0, units: (0.0, 1.0) }),
            None
        );
    }
}
