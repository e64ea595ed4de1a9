//! Gradient steps of a mean-field q in (mean, log spread).
//!
//! Optimisers are post-processing of released gradients: their state is public, and may be kept between
//! rounds. All arithmetic is coordinate by coordinate, in a fixed order.

use crate::model::Point;
use crate::settings::{Chart, Local, Optimiser};
use crate::special;
use serde::{Deserialize, Serialize};

/// Keeps a division by a moment from overflowing: Kingma and Ba's ε, used by Adagrad too.
const SMALL: f64 = 1e-8;
/// Decay of Adam's first and second moment (Kingma and Ba 2015, arXiv:1412.6980, section 2).
const DECAY: [f64; 2] = [0.9, 0.999];
/// log s is held within ± this, so that s, s² and their inverses are numbers.
const MOST_LOG_DEVIATION: f64 = 100.0;

/// What an optimiser remembers of earlier gradients, coordinate by coordinate.
///
/// SGD and natural steps remember nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OptimiserState {
    /// Nothing.
    None,
    /// Adagrad: the sum of squared gradients, which begins at 0.
    Adagrad {
        /// Σ g².
        squares: Vec<f64>,
    },
    /// Adam: decaying means of gradients and of their squares.
    Adam {
        /// Mean of g.
        first: Vec<f64>,
        /// Mean of g².
        second: Vec<f64>,
        /// Steps so far.
        steps: u64,
    },
}

impl OptimiserState {
    /// Those of an optimiser that has seen no gradient of this length.
    pub fn new(optimiser: Optimiser, len: usize) -> Self {
        match optimiser {
            Optimiser::Sgd | Optimiser::Natural => Self::None,
            Optimiser::Adagrad => Self::Adagrad { squares: vec![0.0; len] },
            Optimiser::Adam => Self::Adam { first: vec![0.0; len], second: vec![0.0; len], steps: 0 },
        }
    }

    /// True if they are those of this optimiser and length.
    pub(crate) fn fit(&self, optimiser: Optimiser, len: usize) -> bool {
        match (self, optimiser) {
            (Self::None, Optimiser::Sgd | Optimiser::Natural) => true,
            (Self::Adagrad { squares }, Optimiser::Adagrad) => squares.len() == len,
            (Self::Adam { first, second, .. }, Optimiser::Adam) => first.len() == len && second.len() == len,
            _ => false,
        }
    }

    /// Replaces the gradient by the direction to move in, for a step of size one.
    ///
    /// Adagrad (Duchi, Hazan and Singer 2011): g / (√Σg² + ε). Adam (algorithm 1): m̂ / (√v̂ + ε), both corrected for
    /// their start at zero.
    pub(crate) fn direct(&mut self, gradient: &mut [f64]) {
        match self {
            Self::None => {}
            Self::Adagrad { squares } => {
                for (g, sum) in gradient.iter_mut().zip(squares) {
                    *sum += *g * *g;
                    *g /= sum.sqrt() + SMALL;
                }
            }
            Self::Adam { first, second, steps } => {
                *steps += 1;
                let unbiased = DECAY.map(|decay| 1.0 / (1.0 - libm::pow(decay, *steps as f64)));
                for ((g, m), v) in gradient.iter_mut().zip(first).zip(second) {
                    *m = DECAY[0] * *m + (1.0 - DECAY[0]) * *g;
                    *v = DECAY[1] * *v + (1.0 - DECAY[1]) * *g * *g;
                    *g = (*m * unbiased[0]) / ((*v * unbiased[1]).sqrt() + SMALL);
                }
            }
        }
    }
}

/// Σ_k w_k², where w_k = Σ_{t ≥ k} (1 − β₁)β₁^(t−k)/(1 − β₁^t) is how far a gradient of step k moves Adam over T steps of size
/// one, in units of √v̂: the variance of the way that T gradients of pure noise make.
///
/// Where moments are kept, no step is a first one and every gradient moves by one in all: T.
pub(crate) fn adam_noise(steps: u64, kept: bool) -> f64 {
    if kept {
        return steps as f64;
    }
    let (mut sum, mut weight) = (0.0, 0.0);
    // From the last step back: w_k = (1 − β₁)/(1 − β₁^k) + the later terms, which decay by β₁ from one k to the one before.
    for k in (1..=steps).rev() {
        let own = (1.0 - DECAY[0]) / (1.0 - libm::pow(DECAY[0], k as f64));
        weight = own + DECAY[0] * weight;
        sum += weight * weight;
    }
    sum
}

/// A mean-field q on its way uphill.
///
/// It moves (μ, log s) or (μ, log s²), by the [`Chart`], and holds log s within ±100, so that s, s² and
/// their inverses stay finite numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// μ.
    mean: Vec<f64>,
    /// log s, or log s², by the chart.
    log_spread: Vec<f64>,
    /// s, kept beside its logarithm.
    deviation: Vec<f64>,
    /// What the optimiser remembers.
    moments: OptimiserState,
    #[serde(skip)]
    direction: Vec<f64>,
}

impl Descent {
    /// Starts at N(mean, deviations²) with no memory.
    pub fn new(mean: &[f64], deviations: &[f64], local: &Local) -> Self {
        let len = 2 * mean.len();
        let per_log_s = coordinates_per_log_deviation(local.chart);
        let log_spread = deviations.iter().map(|s| per_log_s * libm::log(*s)).collect();
        let (moments, direction) = (OptimiserState::new(local.optimiser, len), Vec::with_capacity(len));
        let mut start = Self { mean: mean.to_vec(), log_spread, deviation: deviations.to_vec(), moments, direction };
        start.spread_out(local.chart);
        start
    }

    /// Where q stands.
    pub fn point(&self) -> Point<'_> {
        Point { mean: &self.mean, deviation: &self.deviation }
    }

    /// Goes on with moments that were kept, if they are of this optimiser and length.
    pub fn take_up(&mut self, moments: &OptimiserState, local: &Local) {
        if moments.fit(local.optimiser, 2 * self.mean.len()) {
            self.moments.clone_from(moments);
        }
    }

    /// Goes this way, in (μ, the chart's coordinate of s).
    pub(crate) fn go(&mut self, way: &[f64], chart: Chart) {
        let coordinates = self.mean.iter_mut().chain(&mut self.log_spread);
        coordinates.zip(way).for_each(|(at, by)| *at += by);
        self.spread_out(chart);
    }

    /// The way here from there, in (μ, the chart's coordinate of s).
    pub(crate) fn way_from(&self, there: &Self) -> Vec<f64> {
        let (here, there) = (self.mean.iter().chain(&self.log_spread), there.mean.iter().chain(&there.log_spread));
        here.zip(there).map(|(here, there)| here - there).collect()
    }

    /// The moments, to be kept for another time.
    pub fn into_moments(self) -> OptimiserState {
        self.moments
    }

    /// One step uphill along a gradient by (μ, log s). What is not a number stays so: nothing is hidden here.
    ///
    /// In the chart log s² the gradient is half of that by log s. [`Optimiser::Natural`] does not step by gradients; here
    /// it is the same as SGD.
    pub fn step(&mut self, gradient: &[f64], local: &Local) {
        let d = self.mean.len();
        let per_log_s = coordinates_per_log_deviation(local.chart);
        self.direction.clear();
        self.direction.extend_from_slice(gradient);
        self.direction[d..].iter_mut().for_each(|g| *g /= per_log_s);
        self.moments.direct(&mut self.direction);
        let (by_mean, by_spread) = self.direction.split_at(d);
        self.mean.iter_mut().zip(by_mean).for_each(|(m, g)| *m += local.learning_rate * g);
        self.log_spread.iter_mut().zip(by_spread).for_each(|(l, g)| *l += local.learning_rate * g);
        self.spread_out(local.chart);
    }

    /// Deviations from log spreads, both held within their limits.
    fn spread_out(&mut self, chart: Chart) {
        let per_log_s = coordinates_per_log_deviation(chart);
        let most = MOST_LOG_DEVIATION * per_log_s;
        for (s, l) in self.deviation.iter_mut().zip(&mut self.log_spread) {
            *l = l.clamp(-most, most);
            *s = special::exp(*l / per_log_s);
        }
    }
}

/// Whether a descent can stand at this deviation; a few units in the last place beyond its limits count as within.
pub(crate) fn is_within_limits(deviation: f64) -> bool {
    libm::log(deviation).abs() <= MOST_LOG_DEVIATION + 1e-9
}

/// How far the chart's coordinate moves when log s moves by one.
fn coordinates_per_log_deviation(chart: Chart) -> f64 {
    match chart {
        Chart::LogDeviation => 1.0,
        Chart::LogVariance => 2.0,
    }
}

/// The gradient of −KL(q ‖ c) by (μ, log s), for a mean-field q and a mean-field c of natural parameters (η₁, −½Λ).
///
/// −KL = Σ log sⱼ − ½Λⱼsⱼ² + η₁ⱼμⱼ − ½Λⱼμⱼ² + constants, so the gradient is (η₁ − Λμ, 1 − Λs²). It is the same where c
/// is not proper (Λ ≤ 0, as a cavity may be): the constants differ only.
pub fn kl_gradient(at: Point<'_>, cavity: &[f64], out: &mut [f64]) {
    let d = at.mean.len();
    let (information, half) = cavity.split_at(d);
    let (by_mean, by_log) = out.split_at_mut(d);
    for j in 0..d {
        let precision = -2.0 * half[j];
        by_mean[j] = information[j] - precision * at.mean[j];
        by_log[j] = 1.0 - precision * at.deviation[j] * at.deviation[j];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Batching, Gradients};
    use crate::{Family, Gaussian};

    fn local(optimiser: Optimiser, chart: Chart) -> Local {
        let gradients = Gradients::Full;
        Local { steps: 1, batch: Batching::All, optimiser, learning_rate: 0.1, keep_state: false, chart, gradients }
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-9)
    }

    #[test]
    fn plain_steps_follow_the_gradient_in_the_chart() {
        let local_s = local(Optimiser::Sgd, Chart::LogDeviation);
        let mut q = Descent::new(&[1.0], &[2.0], &local_s);
        q.step(&[3.0, -1.0], &local_s);
        assert!(close(q.point().mean, &[1.3]) && close(q.point().deviation, &[2.0 * libm::exp(-0.1)]));
        // log s² moves by 0.1·(−1/2), so log s by a quarter of what it did.
        let local_v = local(Optimiser::Sgd, Chart::LogVariance);
        let mut q = Descent::new(&[1.0], &[2.0], &local_v);
        q.step(&[3.0, -1.0], &local_v);
        assert!(close(q.point().mean, &[1.3]) && close(q.point().deviation, &[2.0 * libm::exp(-0.025)]));
    }

    #[test]
    fn adagrad_and_adam_take_the_steps_of_their_papers() {
        // By hand: gradients 3 and 4 by the mean. Adagrad: 0.1·3/3 + 0.1·4/5.
        let with = local(Optimiser::Adagrad, Chart::LogDeviation);
        let mut q = Descent::new(&[0.0], &[1.0], &with);
        q.step(&[3.0, 0.0], &with);
        q.step(&[4.0, 0.0], &with);
        assert!((q.point().mean[0] - 0.18).abs() < 1e-8 && q.point().deviation == [1.0]);
        // Adam: 0.1, then 0.1·m̂/√v̂ with m̂ = (0.27 + 0.4)/0.19 and v̂ = (0.008991 + 0.016)/0.001999.
        let with = local(Optimiser::Adam, Chart::LogDeviation);
        let mut q = Descent::new(&[0.0], &[1.0], &with);
        q.step(&[3.0, 0.0], &with);
        q.step(&[4.0, 0.0], &with);
        let second = 0.1 * (0.67 / 0.19) / f64::sqrt(0.024_991 / 0.001_999);
        assert!((q.point().mean[0] - (0.1 + second)).abs() < 1e-8, "{:?}", q.point());
    }

    #[test]
    fn the_way_of_pure_noise_is_that_of_adams_weights() {
        // By hand for two steps: w₂ = 0.1/0.19, w₁ = 0.1/0.1 + 0.09/0.19.
        let (w1, w2) = (1.0 + 0.09 / 0.19, 0.1 / 0.19);
        assert!((adam_noise(2, false) - (w1 * w1 + w2 * w2)).abs() < 1e-12);
        assert!((adam_noise(10, false) - 14.997_330_810_939_33).abs() < 1e-9);
        assert_eq!(adam_noise(10, true), 10.0);
    }

    #[test]
    fn kept_moments_go_on_where_they_stopped() {
        for optimiser in [Optimiser::Sgd, Optimiser::Adagrad, Optimiser::Adam] {
            let with = local(optimiser, Chart::LogVariance);
            let mut whole = Descent::new(&[0.5, 0.1], &[1.0, 2.0], &with);
            let mut halved = whole.clone();
            for (k, q) in [(0, &mut whole), (1, &mut halved)] {
                q.step(&[1.0, -2.0, 0.3, 0.4], &with);
                if k == 1 {
                    let (mean, deviation) = (q.point().mean.to_vec(), q.point().deviation.to_vec());
                    let bytes = postcard::to_allocvec(&q.clone().into_moments()).unwrap();
                    *q = Descent::new(&mean, &deviation, &with);
                    q.take_up(&postcard::from_bytes(&bytes).unwrap(), &with);
                }
                q.step(&[0.7, 1.0, -0.6, 0.1], &with);
            }
            assert!(close(whole.point().mean, halved.point().mean));
            assert!(close(whole.point().deviation, halved.point().deviation));
            assert_eq!(whole.moments, halved.moments);
            let mut other = Descent::new(&[0.5], &[1.0], &with);
            other.take_up(&whole.into_moments(), &with);
            assert_eq!(other.moments, OptimiserState::new(optimiser, 2));
        }
    }

    #[test]
    fn no_finite_gradient_makes_q_improper() {
        for optimiser in [Optimiser::Sgd, Optimiser::Adagrad, Optimiser::Adam] {
            let with = local(optimiser, Chart::LogDeviation);
            let mut q = Descent::new(&[0.0, 0.0, 0.0], &[1.0, 1.0, 1e-300], &with);
            for g in [1e12, -1e15, 1e-300] {
                q.step(&[g; 6], &with);
                let variances = q.point().deviation.iter().map(|s| s * s).collect();
                assert!(Gaussian::new_diagonal(q.point().mean.to_vec(), variances).is_some(), "{q:?}");
            }
        }
    }

    #[test]
    fn the_divergence_gradient_is_that_of_the_divergence() {
        let family = Family::MeanField { dimension: 2 };
        let cavity = [0.7, -1.2, -0.4, -2.5];
        let c = family.gaussian(&cavity).unwrap();
        let (mean, deviation) = ([0.3, 0.9], [0.8, 1.7]);
        let objective = |x: &[f64]| {
            let variances = x[2..].iter().map(|l| libm::exp(2.0 * l)).collect();
            -Gaussian::new_diagonal(x[..2].to_vec(), variances).unwrap().kl(&c)
        };
        let mut gradient = [0.0; 4];
        kl_gradient(Point { mean: &mean, deviation: &deviation }, &cavity, &mut gradient);
        let at = [mean[0], mean[1], libm::log(deviation[0]), libm::log(deviation[1])];
        for j in 0..4 {
            let moved = |by: f64| {
                let mut x = at;
                x[j] += by;
                objective(&x)
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((gradient[j] - slope).abs() < 1e-8, "{j}: {} {slope}", gradient[j]);
        }
        // An improper cavity, Λ = −1: −KL is log s + ½s² + η₁μ + ½μ² and constants.
        kl_gradient(Point { mean: &[2.0], deviation: &[3.0] }, &[0.5, 0.5], &mut gradient[..2]);
        assert_eq!(gradient[..2], [2.5, 10.0]);
    }
}
