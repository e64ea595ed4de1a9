//! A lower bound of many atoms on a grid: neighbours are merged onto the nodes between them.
//!
//! Merging outcomes is post-processing, so a law whose outcomes are merged is dominated by the law itself. Two atoms with
//! a node between them can be merged, in the right proportion, into an outcome whose loss is exactly the node's; what is
//! left of one of them goes on to its next neighbour. The error is of second order in the distance of the atoms, however
//! fine the grid is.

use super::Interval;
use super::discretise::LossGrid;

/// The outcomes of one cell, merged: their loss and P-mass, both from below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MergedCell {
    loss: f64,
    mass: f64,
}

impl MergedCell {
    /// A cell with lower node `from`, P-mass p and e^from times its Q-mass; nothing if it is empty.
    pub(super) fn new(from: f64, p: Interval, q: Interval) -> Option<Self> {
        let loss = (Interval::exact(from) - (q / p).ln()).lo;
        (p.lo > 0.0 && loss.is_finite()).then_some(Self { loss, mass: p.lo })
    }
}

/// Masses (node, mass) of a law that is dominated by the pools, which are in the order of their losses.
///
/// From the largest loss down: `above` is what is left of the pools so far.
pub(super) fn merge(pools: &[MergedCell], grid: &LossGrid) -> Vec<(i64, f64)> {
    let mut out = Vec::with_capacity(pools.len());
    let mut above: Option<MergedCell> = None;
    for &pool in pools.iter().rev() {
        above = match above {
            Some(first) => join(first, pool, grid, &mut out),
            None => Some(pool),
        };
    }
    // What is left at the bottom moves down to the next node.
    out.extend(above.map(|p| (((p.loss - grid.anchor) / grid.step).floor() as i64, p.mass)));
    out
}

/// Merges two pools onto a node between them, the one nearest to the loss of both together, and returns what is left.
///
/// With shares x of the upper one and z of the lower one, at distances a above and b below the node, the merged outcome
/// has the node's loss if z/x = (1 − e^{−a})/(e^b − 1). A z that is smaller leaves its loss above the node's, from which
/// it moves down: rounding goes that way, and masses are rounded down.
fn join(upper: MergedCell, lower: MergedCell, grid: &LossGrid, out: &mut Vec<(i64, f64)>) -> Option<MergedCell> {
    let place = |loss: f64| (loss - grid.anchor) / grid.step;
    let (least, most) = (place(lower.loss).ceil(), place(upper.loss).floor());
    let both = upper.mass + lower.mass;
    let together = lower.loss - libm::log1p(upper.mass / both * libm::expm1(lower.loss - upper.loss));
    let node = place(together).round().clamp(least.min(most), most);
    let at = grid.anchor + node * grid.step;
    let (a, b) = (upper.loss - at, at - lower.loss);
    if least > most || a < 0.0 || b <= 0.0 {
        // No node between them, or the lower pool lies on it: the upper one moves down to its node alone.
        out.push((most as i64, upper.mass));
        return Some(lower);
    }
    let ratio = -libm::expm1(-a) / libm::expm1(b) * (1.0 - 1e-13);
    let (x, z) = match upper.mass * ratio <= lower.mass {
        true => (upper.mass, upper.mass * ratio),
        false => ((lower.mass / ratio).min(upper.mass), lower.mass),
    };
    out.push((node as i64, (x + z).next_down().next_down()));
    let left = |pool: MergedCell, taken: f64| MergedCell { mass: (pool.mass - taken) * (1.0 - 1e-15), ..pool };
    if x < upper.mass { Some(left(upper, x)) } else { Some(left(lower, z)) }.filter(|p| p.mass > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E(1 − e^{ε−L})₊.
    fn curve(atoms: impl Iterator<Item = (f64, f64)>, epsilon: f64) -> f64 {
        atoms.map(|(loss, mass)| mass * (-libm::expm1(epsilon - loss)).max(0.0)).sum()
    }

    #[test]
    fn merged_pools_are_dominated_and_close() {
        for (count, step) in [(40, 1e-3), (40, 0.01), (400, 0.001), (7, 0.05)] {
            let grid = LossGrid { step, anchor: 0.0, fine: 1 << 40 };
            // Irregular losses between −½ and ½, in increasing order, with masses of a bell.
            let pools: Vec<MergedCell> = (0..count)
                .map(|i| {
                    let t = (f64::from(i) + 0.4 * libm::sin(f64::from(i * i))) / f64::from(count) - 0.5;
                    MergedCell { loss: t, mass: libm::exp(-20.0 * t * t) / f64::from(count) }
                })
                .collect();
            let merged = merge(&pools, &grid);
            let spacing = (1.0 / f64::from(count)).max(step);
            for i in -600..=600 {
                let epsilon = f64::from(i) * 1e-3;
                let exact = curve(pools.iter().map(|p| (p.loss, p.mass)), epsilon);
                let low = curve(merged.iter().map(|&(k, m)| (k as f64 * step, m)), epsilon);
                assert!(low <= exact + 1e-15, "{count} {step} at {epsilon}: {low} over {exact}");
                assert!(low >= exact - 2.0 * spacing * spacing, "{count} {step} at {epsilon}: {low} far below {exact}");
            }
        }
    }
}
