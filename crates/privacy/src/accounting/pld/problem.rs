//! A composition prepared for the FFT: choice of tilt, step and window, and the two curves that follow.
//!
//! The choice of grid is free; the curves that follow are certified for it.

use super::blur::BlurredCurve;
use super::discretise::{Discrete, LossGrid, Masses, connected, discretise};
use super::estimate::{Rough, TiltedSaddle};
use super::evaluate::DeltaCurve;
use super::fft::{RepeatedMasses, Settings, compose};
use super::law::{LossLaw, LossRange};
use super::{Interval, refuse};
use crate::accounting::pair::DominatingPair;
use crate::{PrivacyError, Steps};
use realfft::RealFftPlanner;

/// Longest transform: 2^22 numbers keep the peak of memory under 256 MB.
const LONGEST: f64 = 4_194_304.0;

/// Most steps for which the rounding constants were proved.
const MOST_STEPS: u64 = 1 << 30;

/// Which bound a curve is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BoundSide {
    /// A curve that is nowhere below δ.
    Upper,
    /// A curve that is nowhere above δ.
    Lower,
}

/// A composition and a place to look at it.
pub(super) struct GridProblem {
    laws: Vec<(LossLaw, f64)>,
    counts: Vec<u64>,
    total: f64,
    detail: GridDetail,
}

/// What a grid resolves. Any choice is valid.
#[derive(Debug, Clone, Copy)]
pub(super) struct GridDetail {
    /// Share of δ that may be cut off above, as if those losses were infinite.
    pub(super) cut: f64,
    /// Longest step, in units of the typical loss.
    pub(super) longest_step: f64,
}

impl GridDetail {
    /// All of the law: nothing of weight is cut, and the bulk is resolved.
    pub(super) const ALL: Self = Self { cut: 1e-10, longest_step: 0.25 };

    /// Few and heavy jumps only, with the bulk in a single cell.
    ///
    /// Rounding is bounded node by node and relative to e^{−λε}. Far jumps keep λ small and tiny losses ask for many nodes;
    /// where the answer is a matter of single jumps, neither is needed.
    pub(super) fn jumps(cut: f64) -> Self {
        Self { cut, longest_step: f64::INFINITY }
    }
}

/// A composition on a grid, tilted to one place; valid everywhere, narrow there.
pub(super) struct PreparedGrid<'a> {
    laws: &'a [(LossLaw, f64)],
    grids: Vec<LossGrid>,
    discrete: Vec<Discrete>,
    counts: Vec<u64>,
    settings: Settings,
    offset: Interval,
    slack: f64,
    planner: RealFftPlanner<f64>,
}

impl GridProblem {
    /// The loss laws of a composition; equal pairs are joined.
    pub(super) fn new(composition: &[(DominatingPair, Steps)], detail: GridDetail) -> Result<Self, PrivacyError> {
        let mut joined: Vec<(&DominatingPair, u64)> = Vec::new();
        for (pair, steps) in composition {
            match joined.iter_mut().find(|(known, _)| *known == pair) {
                Some((_, count)) => *count = count.saturating_add(steps.get()),
                None => joined.push((pair, steps.get())),
            }
        }
        let counts: Vec<u64> = joined.iter().map(|j| j.1).collect();
        let total = counts.iter().fold(0_u64, |sum, &n| sum.saturating_add(n));
        if total > MOST_STEPS {
            return Err(refuse("more than 2^30 steps"));
        }
        let laws = joined.iter().map(|(pair, count)| (LossLaw::new(pair), *count as f64)).collect();
        Ok(Self { laws, counts, total: total as f64, detail })
    }

    /// Lower bound on the probability of an outcome that Q cannot produce: 1 − Π (1 − i)^T.
    pub(super) fn infinite(&self) -> f64 {
        let log: f64 = self.laws.iter().map(|(law, count)| count * libm::log1p(-law.infinite.lo.max(0.0))).sum();
        -libm::expm1(log) * (1.0 - 1e-9)
    }

    /// The losses between which each law is kept: what is cut off above costs at most a small share of δ.
    fn ranges(&self, log_delta: f64) -> Vec<LossRange> {
        let top = libm::exp(log_delta.clamp(-600.0, 0.0)) * self.detail.cut / self.total;
        let range = |law: &LossLaw| law.density.as_ref().map_or(LossRange::POINT, |d| d.range(1e-13 / self.total, top));
        self.laws.iter().map(|(law, _)| range(law)).collect()
    }

    /// A rough idea of the ε at a δ.
    pub(super) fn saddle_at_delta(&self, delta: f64) -> TiltedSaddle {
        let log_delta = libm::log(delta);
        Rough::new(&self.laws, &self.ranges(log_delta)).find(|s| s.log_delta <= log_delta)
    }

    /// A rough idea of the δ at an ε.
    pub(super) fn saddle_at_epsilon(&self, epsilon: f64, log_delta: f64) -> TiltedSaddle {
        let found = Rough::new(&self.laws, &self.ranges(log_delta)).find(|s| s.epsilon >= epsilon);
        TiltedSaddle { epsilon, ..found }
    }

    /// Discretises for a place, aiming at a relative width of ε.
    ///
    /// The errors of both bounds move ε by T h² (λ+1)/8, or less than twice that where cells are wide; an
    /// atom off the grid moves it by up to T h.
    pub(super) fn prepare(&self, saddle: TiltedSaddle, width: f64) -> Result<PreparedGrid<'_>, PrivacyError> {
        let ranges = self.ranges(saddle.log_delta);
        let rough = Rough::new(&self.laws, &ranges);
        let (tilt, window) = self.choose_tilt(&rough, &saddle, width);
        let anchors: Vec<f64> = self.laws.iter().map(|(law, _)| law.anchor()).collect();
        let sizes = rough.sizes(saddle.tilt, &anchors);
        let room = width * saddle.epsilon.max(1e-3);
        let smooth = (5.0 * room / (self.total * (saddle.tilt + 1.0))).sqrt();
        let smooth = smooth.min(self.detail.longest_step * rough.typical_loss());
        // One atom at a time costs h a step; blurred, 4 T h² (λ+1).
        let wanted = smooth.min((room / self.steps_off_grid()).max(0.15 * smooth));
        if (window.1 - window.0) / LONGEST > 4.0 * self.detail.longest_step * rough.typical_loss() {
            return Err(refuse("a grid as fine as the loss of a step would need too much memory"));
        }
        let (step, size) = self.choose_step(wanted, window.1 - window.0)?;
        let (mut grids, mut discrete) = (Vec::new(), Vec::new());
        let (mut offset, mut slack) = (Interval::exact(0.0), 0.0);
        for (i, (law, count)) in self.laws.iter().enumerate() {
            let fine = (2.0 * sizes[i] / step).clamp(4.0, 32_768.0) as u64;
            let grid = LossGrid { step, anchor: anchors[i], fine: fine.next_power_of_two() as i64 };
            let one = discretise(law, &grid, ranges[i], tilt)?;
            offset = offset + Interval::exact(*count) * Interval::exact(anchors[i]);
            slack += count * one.slack;
            grids.push(grid);
            discrete.push(one);
        }
        let spare = size as f64 - (window.1 - window.0) / step;
        let start = ((window.0 - offset.lo) / step - 0.5 * spare).floor() as i64;
        let settings = Settings { tilt, step, size, start };
        let (counts, planner) = (self.counts.clone(), RealFftPlanner::new());
        let slack = slack * (1.0 + 1e-9);
        Ok(PreparedGrid { laws: &self.laws, grids, discrete, counts, settings, offset, slack, planner })
    }

    /// The tilt at or below the saddle that needs the narrowest window, if rounding allows it.
    ///
    /// Heavy single jumps make the window at the saddle wide. Below the saddle κ = K − λε − log δ grows, and rounding with it.
    fn choose_tilt(&self, rough: &Rough, saddle: &TiltedSaddle, width: f64) -> (f64, (f64, f64)) {
        let depth = -libm::log(0.01 * width);
        let excess = |tilt: f64| rough.cumulants(tilt).value - tilt * saddle.epsilon - saddle.log_delta;
        let window = |tilt: f64| {
            let (low, high) = rough.window(tilt, depth + excess(tilt).max(0.0));
            (low.min(saddle.epsilon - 0.1 * (high - low)), high.max(saddle.epsilon + 0.1 * (high - low)))
        };
        let allowed = libm::log(0.01 * width / (self.total * 2e-14)).max(0.0);
        let at_saddle = excess(saddle.tilt);
        let mut best = (saddle.tilt, window(saddle.tilt));
        for share in [0.8, 0.6, 0.45, 0.3] {
            let tilt = share * saddle.tilt;
            let found = window(tilt);
            let gained = found.1 - found.0 < 0.9 * (best.1.1 - best.1.0);
            if gained && excess(tilt) - at_saddle <= allowed {
                best = (tilt, found);
            }
        }
        best
    }

    /// Distance of the outer atoms of the law that has them and occurs most, or 0; the step divides it by a multiple of 8.
    fn span(&self) -> f64 {
        let spans = self.laws.iter().filter(|(law, _)| law.span() > 0.0);
        spans.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |(law, _)| law.span())
    }

    /// How many steps have an atom that is neither an anchor nor on every grid that divides the span by a multiple of 8.
    fn steps_off_grid(&self) -> f64 {
        let unit = self.span() / 8.0;
        let off = |law: &LossLaw| {
            let off_node = |loss: &Interval| {
                let place = (0.5 * (loss.lo + loss.hi) - law.anchor()) / unit;
                (place - place.round()).abs() > 1e-9
            };
            !law.is_dense() && law.atoms.iter().any(|(loss, _)| off_node(loss))
        };
        self.laws.iter().filter(|(law, _)| off(law)).fold(0.0, |sum, (_, count)| sum + count)
    }

    /// Step and length for a window, near the wanted step; a step that divides the distance of atoms if there are any.
    fn choose_step(&self, wanted: f64, window: f64) -> Result<(f64, usize), PrivacyError> {
        let wanted = wanted.max(window / LONGEST);
        if !(wanted > 0.0 && window.is_finite() && window > 0.0) {
            return Err(refuse("no window holds the composed law"));
        }
        let span = self.span();
        let parts = span / wanted;
        let aligned = match parts {
            _ if span <= 0.0 => None,
            p if window / (span / ((p / 8.0).ceil() * 8.0)) <= LONGEST => Some(span / ((p / 8.0).ceil() * 8.0)),
            p if p >= 8.0 => Some(span / ((p / 8.0).floor() * 8.0)),
            _ => None,
        };
        let length = (window / aligned.unwrap_or(wanted)).clamp(1024.0, LONGEST).ceil() as usize;
        let size = length.next_power_of_two();
        Ok((aligned.unwrap_or(window / size as f64), size))
    }
}

impl PreparedGrid<'_> {
    /// A lower bound that suits atoms anywhere, if all laws are finite.
    pub(super) fn blurred(&mut self) -> Result<Option<BlurredCurve>, PrivacyError> {
        if self.laws.iter().any(|(law, _)| law.density.is_some()) {
            return Ok(None);
        }
        let dots: Vec<Masses> =
            self.laws.iter().zip(&self.grids).map(|((law, _), grid)| connected(law, grid)).collect();
        let factors: Vec<RepeatedMasses<'_>> =
            dots.iter().zip(&self.counts).map(|(masses, &count)| RepeatedMasses { masses, count }).collect();
        let composed = compose(&factors, self.settings, false, &mut self.planner)?;
        let held = |m: &Masses| m.infinite + m.finite.iter().map(|(_, mass)| mass).sum::<f64>();
        let missing = |(d, dots): (&Discrete, &Masses)| (held(&d.upper) - held(dots)).max(0.0) + 1e-13;
        let counts = self.counts.iter().map(|&c| c as f64);
        let lost = self.discrete.iter().zip(&dots).map(missing).zip(counts.clone()).map(|(m, count)| m * count).sum();
        let curve = DeltaCurve::new(composed, self.offset, self.slack);
        Ok(Some(BlurredCurve::new(curve, counts.sum(), self.settings.step, lost)))
    }

    /// How far from a loss one may look, to both sides, without leaving the window.
    pub(super) fn reach(&self, loss: f64) -> f64 {
        let start = self.offset.lo + self.settings.start as f64 * self.settings.step;
        let end = start + self.settings.size as f64 * self.settings.step;
        0.95 * (loss - start).min(end - loss).max(0.0)
    }

    /// The certified curve of one side.
    pub(super) fn curve(&mut self, side: BoundSide) -> Result<DeltaCurve, PrivacyError> {
        let factors: Vec<RepeatedMasses<'_>> = self
            .discrete
            .iter()
            .zip(&self.counts)
            .map(|(d, &count)| RepeatedMasses {
                masses: if side == BoundSide::Upper { &d.upper } else { &d.lower },
                count,
            })
            .collect();
        let composed = compose(&factors, self.settings, side == BoundSide::Upper, &mut self.planner)?;
        Ok(DeltaCurve::new(composed, self.offset, self.slack))
    }
}
