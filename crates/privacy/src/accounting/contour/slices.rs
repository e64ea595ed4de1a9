//! How fast a characteristic function decays: a bound for all u ≥ U at once, from uniform slices of the density.
//!
//! If the tilted law of L contains the uniform laws on [a_j, b_j] with masses p_j, the rest has |φ| at most its mass,
//! and a uniform law of width w has |φ(u)| = |sin v / v| at v = u w / 2. Hence for all u ≥ U
//!
//! |φ(u)| ≤ 1 − Σ_j p_j (1 − env(U w_j / 2)), env(v) = sup over v' ≥ v of |sin v'/v'|.
//!
//! The slices are the level sets of a step function below the density: on a cell [x0, x1] the density of L is at
//! least min p · min e^{cl} / (M(c) max|l'|), and every factor is least at an end of the cell.
//!
//! Where the integrand is cut off, everything beyond must be bounded at once. A density that lies over a uniform slice has a
//! characteristic function that is damped by it.

use super::law::SegmentedLaw;
use super::quadrature::{Panel, sketch};
use super::segment::{DensityPoint, Segment};

/// Cells of a panel.
const CELLS: u32 = 8;

/// One uniform law inside the tilted law.
#[derive(Debug, Clone, Copy)]
struct Slice {
    mass: f64,
    half_width: f64,
}

/// The slices of one step's law, tilted by e^{cl}.
#[derive(Debug, Clone)]
pub(super) struct Slices(Vec<Slice>);

/// [low, high] in loss, and a lower bound of the tilted density there.
#[derive(Debug, Clone, Copy)]
struct SliceCell {
    low: f64,
    high: f64,
    level: f64,
}

/// sup over v' ≥ v of |sin v'/v'|: the sinc to its first crossing of 0.21724 (before v = 2.56), its second hump's height, then 1/v.
fn envelope(v: f64) -> f64 {
    if v < 1e-4 {
        1.0
    } else if v < 2.56 {
        (libm::sin(v) / v).max(0.217_24)
    } else {
        (1.0 / v).min(0.217_24)
    }
}

impl Slices {
    /// The slices of the law tilted at c, where `moment` is not below M(c).
    pub(super) fn new(law: &SegmentedLaw, c: f64, moment: f64) -> Self {
        let mut all: Vec<SliceCell> = Vec::new();
        for segment in &law.segments {
            all.extend(cells(segment, c, moment));
        }
        all.sort_by(|a, b| a.low.total_cmp(&b.low));
        Self(nested(&all))
    }

    /// log of a bound of |φ(u)|, u ≥ from.
    ///
    /// Masses are lowered by 1e-9 of themselves and the result is raised by 1e-14, far more than their round-off.
    pub(super) fn log_bound(&self, from: f64) -> f64 {
        let gone: f64 = self.0.iter().map(|s| s.mass * (1.0 - envelope(from * s.half_width))).sum();
        libm::log1p(-(gone * (1.0 - 1e-9)).clamp(0.0, 1.0 - 1e-12)) + 1e-14
    }
}

/// log of the tilted density in x.
fn log_tilted(point: &DensityPoint, c: f64) -> f64 {
    libm::log(point.density) + c * point.loss
}

/// A step function below the tilted density of the loss, on the panels where that density matters.
fn cells(segment: &Segment, c: f64, moment: f64) -> Vec<SliceCell> {
    let panels = sketch(segment);
    let height = |panel: &Panel| {
        let at = |x| log_tilted(&segment.point(x, 0.0), c);
        at(panel.edge(-1.0)).max(at(panel.edge(0.0))).max(at(panel.edge(1.0)))
    };
    let heights: Vec<f64> = panels.iter().map(height).collect();
    let top = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut cells = Vec::with_capacity(panels.len() * CELLS as usize);
    for (panel, _) in panels.iter().zip(&heights).filter(|(_, height)| **height > top - 14.0) {
        add_cells(segment, panel, c, moment, &mut cells);
    }
    cells
}

/// The cells of one panel.
fn add_cells(segment: &Segment, panel: &Panel, c: f64, moment: f64, cells: &mut Vec<SliceCell>) {
    let edge = |k: u32| panel.edge(2.0 * f64::from(k) / f64::from(CELLS) - 1.0);
    let (mut x0, mut left) = (edge(0), segment.point(edge(0), 0.0));
    for k in 1..=CELLS {
        let x1 = edge(k);
        let right = segment.point(x1, 0.0);
        let (low, high) = (left.loss.min(right.loss), left.loss.max(right.loss));
        let slope = left.slopes[0].max(right.slopes[0]) + left.slopes[1].max(right.slopes[1]);
        let level = segment.least_density(x0, x1) * libm::exp(c * low) / (slope * moment);
        if level.is_finite() && high > low {
            cells.push(SliceCell { low, high, level });
        }
        (x0, left) = (x1, right);
    }
}

/// The level sets of a step function on adjoining cells, as slices: each cell that ends a run of higher ones cuts it off.
///
/// A stack holds cells of rising level, each with the place where its run began. A lower cell closes the higher runs.
fn level_sets(cells: &[SliceCell], slices: &mut Vec<Slice>) {
    let mut open: Vec<(f64, f64)> = Vec::new();
    let end = cells.last().map_or(0.0, |cell| cell.high);
    let nothing = SliceCell { low: end, high: end, level: 0.0 };
    for cell in cells.iter().chain([&nothing]) {
        let mut start = cell.low;
        while let Some((from, level)) = open.pop_if(|top| top.1 > cell.level) {
            let below = open.last().map_or(0.0, |top| top.1).max(cell.level);
            let width = cell.low - from;
            slices.push(Slice { mass: (level - below) * width, half_width: 0.5 * width });
            start = from;
        }
        open.push((start, cell.level));
    }
}

/// The slices of all runs of adjoining cells.
fn nested(cells: &[SliceCell]) -> Vec<Slice> {
    let mut slices = Vec::new();
    let joined = |a: &SliceCell, b: &SliceCell| a.high == b.low;
    cells.chunk_by(joined).for_each(|run| level_sets(run, &mut slices));
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;
    use crate::accounting::contour::law::Laws;
    use crate::accounting::pair::DominatingPair;

    #[test]
    fn the_envelope_is_above_the_sinc_and_falls() {
        let mut last = 1.0;
        for i in 1..40_000 {
            let v = f64::from(i) * 1e-3;
            let env = envelope(v);
            assert!(env >= (libm::sin(v) / v).abs() && env <= last, "{v}");
            last = env;
        }
    }

    /// |φ| summed directly stays under the bound, for u from U on.
    #[test]
    fn the_bound_holds_beyond_its_start() {
        for pair in [
            DominatingPair::GaussianRemove { q: 0.1, s: 1.0 },
            DominatingPair::GaussianAdd { q: 0.3, s: 0.8 },
            DominatingPair::GaussianSubstitute { q: 0.2, s: 1.5 },
            DominatingPair::GaussianFixed { q: 0.2, s: 1.0 },
            DominatingPair::LaplaceRemove { q: 0.4, s: 0.5 },
        ] {
            let laws = Laws::new(&[(pair.clone(), Steps::ONE)], 1e-12);
            let (law, c) = (&laws.laws[0], 2.0);
            let (losses, weights) = fine(law, c);
            let moment: f64 = weights.iter().sum();
            let slices = Slices::new(law, c, moment * (1.0 + 1e-3));
            assert!(slices.log_bound(200.0) < -0.1, "{pair:?}: {}", slices.log_bound(200.0));
            for from in [0.5, 3.0, 20.0, 60.0] {
                let bound = libm::exp(slices.log_bound(from));
                for step in 0..30 {
                    let u = from * (1.0 + 0.1 * f64::from(step));
                    let (re, im) = losses
                        .iter()
                        .zip(&weights)
                        .fold((0.0, 0.0), |(re, im), (l, w)| (re + w * libm::cos(u * l), im + w * libm::sin(u * l)));
                    let phi = libm::sqrt(re * re + im * im) / moment;
                    assert!(phi <= bound + 1e-6, "{pair:?} at {u} from {from}: {phi} > {bound}");
                }
            }
        }
    }

    /// The tilted law on a fine midpoint grid, with its atoms and the atom at zero.
    fn fine(law: &SegmentedLaw, c: f64) -> (Vec<f64>, Vec<f64>) {
        let (mut losses, mut weights, mut mass) = (Vec::new(), Vec::new(), 0.0);
        for segment in &law.segments {
            for i in 0..4 * (segment.to - segment.from) {
                let x = segment.at(segment.from) + segment.unit * (i as f64 + 0.5) / 4.0;
                let point = segment.point(x, 0.0);
                losses.push(point.loss);
                weights.push(point.density * segment.unit / 4.0 * libm::exp(c * point.loss));
                mass += point.density * segment.unit / 4.0;
            }
        }
        for atom in &law.atoms {
            losses.push(atom.loss);
            weights.push(atom.mass * libm::exp(c * atom.loss));
            mass += atom.mass;
        }
        losses.push(0.0);
        weights.push((1.0 - mass).max(0.0));
        (losses, weights)
    }
}
