//! δ at an ε from a composed law, rounded to one side.

use super::Interval;
use super::fft::Composed;

/// Nodes that share one exponential.
const BLOCK: usize = 256;

/// Weights below e^{−REACH} are left out; the upper bound counts the mass there.
const REACH: f64 = 60.0;

/// What the weighted sum over the window comes to.
struct Sums {
    /// Σ y w.
    value: f64,
    /// Σ w.
    weights: f64,
    /// Σ |y| e^{−λt}.
    moduli: f64,
    /// Number of blocks.
    blocks: f64,
}

/// A composed law as a certified curve.
pub(super) struct Curve {
    composed: Composed,
    /// Σ T anchor: loss of node 0 of the composition.
    offset: Interval,
    /// Σ T η: by how much the losses of the composition may differ.
    slack: f64,
    powers: Vec<(f64, f64)>,
}

impl Curve {
    /// A curve whose losses lie at offset + k·step, up to slack.
    pub(super) fn new(composed: Composed, offset: Interval, slack: f64) -> Self {
        let (h, l) = (composed.settings.step, composed.settings.tilt);
        let power = |i: usize| (libm::exp(-l * h * i as f64), libm::exp(-(l + 1.0) * h * i as f64));
        Self { composed, offset, slack: slack.next_up(), powers: (0..BLOCK).map(power).collect() }
    }

    /// δ(ε) = M e^{−λe} Σ_{kh > e} y_k w(kh − e), w(t) = e^{−λt}(1 − e^{−t}), e = ε − offset; from above.
    ///
    /// Added: rounding; the mass beyond the window, at most outside.1 e^{−λ(top − e)}; infinite losses.
    pub(super) fn upper(&self, epsilon: f64) -> f64 {
        let e = (Interval::exact(epsilon) - self.offset - Interval::exact(self.slack)).lo;
        let Some(sums) = self.sums(e) else { return 1.0 };
        let s = &self.composed.settings;
        let top = (s.start as f64 + s.size as f64) * s.step;
        let beyond = self.composed.outside.1 * libm::exp(-s.tilt * (top - e)) * (1.0 + 1e-9);
        let skipped = self.composed.total * libm::exp(1.0 + s.tilt * s.step - REACH);
        let sum = sums.value + self.rounding(&sums, e) + beyond + skipped;
        let delta = self.scale(e) * Interval::new(0.0, sum.next_up()) + self.composed.infinite;
        delta.hi.min(1.0)
    }

    /// The same from below. Subtracted: rounding, and the mass wrapped into the window at the largest weight.
    pub(super) fn lower(&self, epsilon: f64) -> f64 {
        let e = (Interval::exact(epsilon) - self.offset + Interval::exact(self.slack)).hi;
        let infinite = self.composed.infinite.lo.max(0.0);
        let Some(sums) = self.sums(e) else { return infinite };
        let l = self.composed.settings.tilt;
        let largest = libm::exp(l * libm::log(l) - (l + 1.0) * libm::log1p(l)) * (1.0 + 1e-9);
        let (below, above) = self.composed.outside;
        let sum = sums.value - self.rounding(&sums, e) - largest * (below + above);
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

    /// M e^{−λe}.
    fn scale(&self, e: f64) -> Interval {
        (self.composed.log_scale - Interval::exact(self.composed.settings.tilt) * Interval::exact(e)).exp()
    }

    /// Error of the values times the weights; error of weights and summation times the values.
    ///
    /// t = kh − e has error 4u(|e| + |kh|), amplified by λ + 1; each weight takes four exponentials and three products.
    fn rounding(&self, sums: &Sums, e: f64) -> f64 {
        let s = &self.composed.settings;
        let far = e.abs() + (s.start.unsigned_abs() as f64 + s.size as f64) * s.step;
        let unit = f64::EPSILON * (40.0 + BLOCK as f64 + sums.blocks + 4.0 * (s.tilt + 1.0) * far);
        (self.composed.entry_error * sums.weights + unit * sums.moduli) * (1.0 + 1e-9)
    }

    /// The sums over the nodes above e, or nothing if e is outside the window.
    fn sums(&self, e: f64) -> Option<Sums> {
        let s = &self.composed.settings;
        let first = (e / s.step).floor();
        let end = s.start as f64 + s.size as f64;
        if !(first >= s.start as f64 && first < end) {
            return None;
        }
        let reach = first + (REACH / (s.tilt * s.step)).ceil();
        let count = (reach.min(end) - first) as usize;
        let mut sums = Sums { value: 0.0, weights: 0.0, moduli: 0.0, blocks: 0.0 };
        let mut place = (first as i64).rem_euclid(s.size as i64) as usize;
        for block in 0..count.div_ceil(BLOCK) {
            let t = (first + (block * BLOCK) as f64) * s.step - e;
            let base = (libm::exp(-s.tilt * t), libm::exp(-(s.tilt + 1.0) * t));
            let part = self.block(base, place, BLOCK.min(count - block * BLOCK));
            place = (place + BLOCK) % s.size;
            sums.value += part.value;
            sums.weights += part.weights;
            sums.moduli += part.moduli;
            sums.blocks += 1.0;
        }
        Some(sums)
    }

    fn block(&self, base: (f64, f64), place: usize, count: usize) -> Sums {
        let (values, size) = (&self.composed.values, self.composed.settings.size);
        let mut sums = Sums { value: 0.0, weights: 0.0, moduli: 0.0, blocks: 0.0 };
        for (i, &(slow, fast)) in self.powers[..count].iter().enumerate() {
            let y = values[(place + i) & (size - 1)];
            let high = base.0 * slow;
            let weight = (high - base.1 * fast).max(0.0);
            sums.value += y * weight;
            sums.weights += weight;
            sums.moduli += y.abs() * high;
        }
        sums
    }
}
