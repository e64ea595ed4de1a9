//! δ at an ε from a composed law, rounded to one side.
//!
//! δ(ε) = Σ y (1 − e^{ε−l})₊ over the nodes above ε, with the tilt undone. Sums of blocks are kept, so that a search for ε reads few
//! nodes.

use super::Interval;
use super::fft::ComposedMasses;

/// Nodes that share one exponential, and are summed beforehand.
const BLOCK: usize = 256;

/// Sums over nodes, each weighted from the first of them on.
#[derive(Debug, Clone, Copy, Default)]
struct TailSums {
    /// Σ y e^{−λt}: the tilted mass under P.
    slow: f64,
    /// Σ y e^{−(λ+1)t}: the tilted mass under e^ε Q.
    fast: f64,
    /// Σ |y| e^{−λt}: what rounding errors are proportional to.
    moduli: f64,
}

/// Weights of the first node of a block: e^{−λt} and e^{−(λ+1)t} at its distance t from ε.
#[derive(Clone, Copy)]
struct BlockWeights {
    slow: f64,
    fast: f64,
}

/// A composed law as a certified curve.
pub(super) struct DeltaCurve {
    composed: ComposedMasses,
    /// Σ T anchor: loss of node 0 of the composition.
    offset: Interval,
    /// Σ T η: by how much the losses of the composition may differ.
    slack: f64,
    powers: Vec<(f64, f64)>,
    /// The sums over each block of the window.
    blocks: Vec<TailSums>,
}

impl DeltaCurve {
    /// A curve whose losses lie at offset + k·step, up to slack.
    pub(super) fn new(composed: ComposedMasses, offset: Interval, slack: f64) -> Self {
        let (h, l) = (composed.settings.step, composed.settings.tilt);
        let power = |i: usize| (libm::exp(-l * h * i as f64), libm::exp(-(l + 1.0) * h * i as f64));
        let powers = (0..BLOCK).map(power).collect();
        let mut curve = Self { composed, offset, slack: slack.next_up(), powers, blocks: Vec::new() };
        let size = curve.composed.settings.size;
        curve.blocks = (0..size / BLOCK).map(|b| curve.between(b * BLOCK, (b + 1) * BLOCK)).collect();
        curve
    }

    /// The nodes from..to of the window, at most one block of them.
    fn between(&self, from: usize, to: usize) -> TailSums {
        let s = &self.composed.settings;
        let base = s.start.rem_euclid(s.size as i64) as usize;
        let mut sums = TailSums::default();
        for (i, &(slow, fast)) in (from..to.min(s.size)).zip(&self.powers) {
            let y = self.composed.values[(base + i) & (s.size - 1)];
            sums.slow += y * slow;
            sums.fast += y * fast;
            sums.moduli += y.abs() * slow;
        }
        sums
    }

    /// δ(ε) = M e^{−λe} Σ_{kh > e} y_k w(kh − e), w(t) = e^{−λt}(1 − e^{−t}), e = ε − offset; from above.
    ///
    /// Added: rounding; the mass beyond the window, at most outside.1 e^{−λ(top − e)}; infinite losses.
    pub(super) fn upper(&self, epsilon: f64) -> f64 {
        let e = (Interval::exact(epsilon) - self.offset - Interval::exact(self.slack)).lo;
        let Some((value, error)) = self.value(e) else { return 1.0 };
        let s = &self.composed.settings;
        let top = (s.start as f64 + s.size as f64) * s.step;
        let beyond = self.composed.outside.1 * libm::exp(-s.tilt * (top - e)) * (1.0 + 1e-9);
        let sum = value + error + beyond;
        let delta = self.scale(e) * Interval::new(0.0, sum.next_up()) + self.composed.infinite;
        delta.hi.min(1.0)
    }

    /// The same from below. Subtracted: rounding, and the mass wrapped into the window at the largest weight.
    pub(super) fn lower(&self, epsilon: f64) -> f64 {
        let e = (Interval::exact(epsilon) - self.offset + Interval::exact(self.slack)).hi;
        let infinite = self.composed.infinite.lo.max(0.0);
        let Some((value, error)) = self.value(e) else { return infinite };
        let l = self.composed.settings.tilt;
        let largest = libm::exp(l * libm::log(l) - (l + 1.0) * libm::log1p(l)) * (1.0 + 1e-9);
        let (below, above) = self.composed.outside;
        let sum = value - error - largest * (below + above);
        let delta = self.scale(e) * Interval::new(sum.next_down(), f64::INFINITY);
        (delta.lo.max(0.0) + infinite).next_down().clamp(0.0, 1.0)
    }

    /// P-mass of the total losses within `radius` of ε, from above. Mass that is wrapped into the window only adds.
    pub(super) fn mass_near(&self, epsilon: f64, radius: f64) -> f64 {
        let s = &self.composed.settings;
        let e = (Interval::exact(epsilon) - self.offset).hi;
        let wide = radius + self.slack + 2.0 * s.step + 1e-12 * (1.0 + e.abs());
        let (first, last) = (((e - wide) / s.step).floor(), ((e + wide) / s.step).ceil());
        if !(first >= s.start as f64 && last < s.start as f64 + s.size as f64) {
            return 1.0;
        }
        let (mut sum, mut weights) = (0.0, 0.0);
        for k in first as i64..=last as i64 {
            let weight = libm::exp(-s.tilt * (k as f64 * s.step - e));
            let y = self.composed.values[k.rem_euclid(s.size as i64) as usize];
            sum += y.max(0.0) * weight;
            weights += weight;
        }
        let rounded = sum * (1.0 + 1e-6) + self.composed.entry_error * weights * (1.0 + 1e-6);
        (self.scale(e) * Interval::new(0.0, rounded)).hi.min(1.0)
    }

    /// M e^{−λe}: undoes the tilt at ε.
    fn scale(&self, e: f64) -> Interval {
        (self.composed.log_scale - Interval::exact(self.composed.settings.tilt) * Interval::exact(e)).exp()
    }

    /// Σ_{kh > e} y_k w(kh − e) and a bound on its error, or nothing if e is outside the window.
    ///
    /// Errors: of the values times the weights, Σ w a difference of two geometric sums; of weights and summation
    /// times the moduli. t = kh − e has error 4u(|e| + |kh|), amplified by λ + 1; a weight takes an exponential for its block
    /// and one within it. Blocks more than e^{−60} away are left out: they hold less than the total, which is 1.
    fn value(&self, e: f64) -> Option<(f64, f64)> {
        let s = &self.composed.settings;
        let first = (e / s.step).floor() + 1.0;
        let place = first - s.start as f64;
        if !(place >= 1.0 && place < s.size as f64) {
            return None;
        }
        let weights_at = |k: f64| {
            let t = ((s.start as f64 + k) * s.step - e).max(0.0);
            BlockWeights { slow: libm::exp(-s.tilt * t), fast: libm::exp(-(s.tilt + 1.0) * t) }
        };
        let next = place as usize / BLOCK + 1;
        let reach = (60.0 / (s.tilt * s.step * BLOCK as f64)).ceil().min(self.blocks.len() as f64) as usize;
        let nearest = weights_at(place);
        let mut sums = TailSums::default().and(self.between(place as usize, next * BLOCK), nearest);
        for b in next..(next + reach + 1).min(self.blocks.len()) {
            sums = sums.and(self.blocks[b], weights_at((b * BLOCK) as f64));
        }
        let nodes = s.size as f64 - place;
        let geometric = |rate: f64| libm::expm1(-rate * s.step * nodes) / libm::expm1(-rate * s.step);
        let weights = nearest.slow * geometric(s.tilt) - nearest.fast * geometric(s.tilt + 1.0);
        let far = e.abs() + (s.start.unsigned_abs() as f64 + s.size as f64) * s.step;
        let unit = f64::EPSILON * (40.0 + BLOCK as f64 + reach as f64 + 4.0 * (s.tilt + 1.0) * far);
        let left_out = libm::exp(-60.0) * (1.001 + s.size as f64 * self.composed.entry_error);
        let error = self.composed.entry_error * weights * (1.0 + 1e-6) + unit * sums.moduli + left_out;
        Some((sums.slow - sums.fast, error * (1.0 + 1e-9)))
    }
}

impl TailSums {
    /// These and more, which begin where the weights are `far`.
    fn and(self, more: Self, far: BlockWeights) -> Self {
        Self {
            slow: self.slow + far.slow * more.slow,
            fast: self.fast + far.fast * more.fast,
            moduli: self.moduli + far.slow * more.moduli,
        }
    }
}

#[cfg(test)]
mod tests;
