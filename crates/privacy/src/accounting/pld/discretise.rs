//! A loss law on a grid, from above and from below in the order of the hockey-stick curve.
//!
//! H(α) = E_P(1 − αY)₊ with Y = e^{−L}. A law with the larger curve dominates, and so do its compositions
//! (`docs/maths/certified-pld.md`, section 1); it may have any total mass.
//!
//! Between two nodes the hockey-stick curve of a law is convex. The chord above it is an upper law on the grid (connect the dots:
//! Doroshenko et al. 2022). From below, densities use the chord less its gap (`lower.rs`) and atoms are merged onto nodes
//! (`merge.rs`). Both laws have their masses on nodes.

use super::Interval;
use super::law::{Density, LossLaw, LossNode, LossRange};
use super::lower::lower;
use super::merge::{MergedCell, merge};
use super::refuse;
use crate::PrivacyError;

/// One as an interval of a single float.
const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };

/// Most nodes that a density may take, each of which costs a dozen tails of the normal law.
const MOST_NODES: f64 = 3e5;

/// Most nodes that atoms may take.
const MOST_FOR_ATOMS: f64 = 4e6;

/// Nodes at anchor + k·step. Cells have one step up to |k| = `fine`, and double each time |k| doubles beyond.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossGrid {
    /// h: width of the narrowest cells.
    pub(super) step: f64,
    /// Loss of node 0.
    pub(super) anchor: f64,
    /// A power of two.
    pub(super) fine: i64,
}

/// P-masses (node, mass) that bound a law from one side.
#[derive(Debug, Clone, Default)]
pub(super) struct Masses {
    /// Finite losses: node and P-mass.
    pub(super) finite: Vec<(i64, f64)>,
    /// P-mass of infinite loss: outcomes that Q cannot produce.
    pub(super) infinite: f64,
}

/// Both bounds of one law.
#[derive(Debug, Clone)]
pub(super) struct Discrete {
    /// Its curve is not below the law's.
    pub(super) upper: Masses,
    /// Its curve is not above the law's.
    pub(super) lower: Masses,
    /// η: losses of the law may differ from those that were discretised by this much.
    pub(super) slack: f64,
}

/// What the two bounds need to know of the law between two neighbouring nodes.
pub(super) struct LossCell {
    /// Width of the cell in loss.
    pub(super) width: Interval,
    /// P-mass of the cell.
    pub(super) p: Interval,
    /// P-mass that connecting the dots gives to the upper node.
    pub(super) up: Interval,
    /// At least the largest distance of the chord of H from H over the cell.
    pub(super) gap: f64,
}

/// Discretises a law whose density part is cut to the losses `range`.
///
/// By Jensen a loss of 0 is dominated by every pair. Where cells are wider than the losses it is the better lower bound,
/// which `tilt` decides: any is valid.
pub(super) fn discretise(
    law: &LossLaw,
    grid: &LossGrid,
    range: LossRange,
    tilt: f64,
) -> Result<Discrete, PrivacyError> {
    let mut out = Discrete {
        upper: Masses { finite: Vec::new(), infinite: law.infinite.hi },
        lower: Masses { finite: Vec::new(), infinite: law.infinite.lo },
        slack: 0.0,
    };
    if law.is_dense() {
        add_dense(&mut out, grid, &law.atoms, tilt)?;
    } else {
        law.atoms.iter().for_each(|&(loss, mass)| add_atom(&mut out, grid, loss, mass));
    }
    if let Some(density) = &law.density {
        add_density(&mut out, grid, density, range)?;
        if moment(&out.lower, grid, tilt) < 1.0 {
            let zero = (-grid.anchor / grid.step).floor() as i64;
            out.lower = Masses { finite: vec![(zero, 1.0)], infinite: 0.0 };
        }
    }
    match out.slack.is_finite() && out.upper.finite.iter().all(|m| m.1.is_finite()) {
        true => Ok(out),
        false => Err(refuse("the loss of a step leaves the range of floating-point numbers")),
    }
}

/// E e^{λL}: the moment by which tilted masses are divided.
fn moment(masses: &Masses, grid: &LossGrid, tilt: f64) -> f64 {
    let term = |&(k, m): &(i64, f64)| m * libm::exp(tilt * (grid.anchor + k as f64 * grid.step));
    masses.finite.iter().map(term).sum::<f64>() + masses.infinite
}

/// An atom on a node is exact. Otherwise: connect the dots above, the node below it below.
fn add_atom(out: &mut Discrete, grid: &LossGrid, loss: Interval, mass: Interval) {
    let middle = 0.5 * (loss.lo + loss.hi);
    let place = (middle - grid.anchor) / grid.step;
    let nearest = place.round();
    let uncertainty = 0.5 * (loss.hi - loss.lo) + rounding(middle, grid);
    let distance = (place - nearest).abs() * grid.step;
    if distance <= 64.0 * f64::EPSILON * (middle.abs() + grid.anchor.abs()) {
        out.slack = out.slack.max(uncertainty + distance);
        out.upper.finite.push((nearest as i64, mass.hi));
        out.lower.finite.push((nearest as i64, mass.lo));
        return;
    }
    out.slack = out.slack.max(uncertainty);
    let below = place.floor();
    let (t, w) = (Interval::exact((place - below) * grid.step), Interval::exact(grid.step));
    let up = (mass * (-t).exp_m1() / (-w).exp_m1()).hi.min(mass.hi);
    out.upper.finite.push((below as i64, (mass.hi - up).next_up()));
    out.upper.finite.push((below as i64 + 1, up));
    out.lower.finite.push((below as i64, mass.lo));
}

/// The atoms of a law with their dots connected on neighbouring nodes, all masses rounded down; see `blur`.
pub(super) fn connected(law: &LossLaw, grid: &LossGrid) -> Masses {
    let mut out = Masses { finite: Vec::with_capacity(2 * law.atoms.len()), infinite: law.infinite.lo };
    for (loss, mass) in &law.atoms {
        let place = (0.5 * (loss.lo + loss.hi) - grid.anchor) / grid.step;
        let below = place.floor();
        let (t, w) = (Interval::exact((place - below) * grid.step), Interval::exact(grid.step));
        let up = *mass * (-t).exp_m1() / (-w).exp_m1();
        out.finite.push((below as i64, (mass.lo - up.hi).next_down().max(0.0)));
        out.finite.push((below as i64 + 1, up.lo.clamp(0.0, mass.lo)));
    }
    out
}

/// Bound on the rounding error of a computed loss near `loss`, relative to the exact anchor + k·step.
fn rounding(loss: f64, grid: &LossGrid) -> f64 {
    4.0 * f64::EPSILON * (loss.abs() + 2.0 * grid.anchor.abs())
}

impl LossGrid {
    /// Width of the cell that begins at node k ≥ 0; the cells below 0 mirror it.
    fn cell_width(&self, k: i64) -> i64 {
        if k < self.fine { 1 } else { 2 << (k / self.fine).ilog2() }
    }

    /// The places of two losses, from below and from above.
    fn places(&self, range: LossRange) -> (f64, f64) {
        (((range.low - self.anchor) / self.step).floor(), ((range.high - self.anchor) / self.step).ceil())
    }

    /// About how many nodes cover the range.
    fn count(&self, range: LossRange) -> f64 {
        let (first, last) = self.places(range);
        let doublings = libm::log2(1.0 + last.abs().max(first.abs()) / self.fine as f64);
        (last - first).min(2.0 * self.fine as f64 * (1.0 + doublings))
    }

    /// The same with cells that double sooner, if it would take too many nodes to cover the range.
    fn coarser(mut self, range: LossRange, most: f64) -> Self {
        while self.fine > 1 && self.count(range) >= most {
            self.fine /= 2;
        }
        self
    }

    /// The nodes that cover the range.
    fn nodes(&self, range: LossRange, most: f64) -> Result<Vec<i64>, PrivacyError> {
        let ((first, last), count) = (self.places(range), self.count(range));
        if !(first.abs() < 1e15 && last.abs() < 1e15 && count < most) {
            return Err(refuse("the loss of a step needs too many cells"));
        }
        let (mut at, last) = (first as i64, last as i64);
        at = match at >= 0 {
            true => at - at % self.cell_width(at),
            false => -((-at + self.cell_width(-at - 1) - 1) / self.cell_width(-at - 1) * self.cell_width(-at - 1)),
        };
        let mut out = vec![at];
        while at < last || out.len() < 2 {
            at += if at >= 0 { self.cell_width(at) } else { self.cell_width(-at - 1) };
            out.push(at);
        }
        Ok(out)
    }
}

/// Adds the part of the law that has a density, cell by cell, from above and from below.
fn add_density(out: &mut Discrete, grid: &LossGrid, density: &Density, range: LossRange) -> Result<(), PrivacyError> {
    let index = grid.coarser(range, MOST_NODES).nodes(range, MOST_NODES)?;
    let node = |place: f64| {
        let loss = grid.anchor + place * grid.step;
        density.node(loss, rounding(loss, grid))
    };
    let at: Vec<LossNode> = index.iter().map(|&k| node(k as f64)).collect();
    let slack = at.iter().fold(0.0, |most: f64, n| most.max(n.slack));
    let cells: Vec<LossCell> = (0..at.len() - 1)
        .map(|j| {
            let width = Interval::exact((index[j + 1] - index[j]) as f64) * Interval::exact(grid.step);
            cell(density, [&at[j], &node(0.5 * (index[j] + index[j + 1]) as f64), &at[j + 1]], width)
        })
        .collect();
    let (bottom, top) = (density.mass_below(&at[0]), density.mass_above(&at[at.len() - 1]));
    out.slack = out.slack.max(slack);
    out.upper.infinite = (out.upper.infinite + top.hi).next_up();
    out.upper.finite.extend(index.iter().copied().zip(upper(&cells, bottom.hi)));
    out.lower.finite.extend(index.iter().copied().zip(lower(&cells, &index, grid.step, top.lo)));
    Ok(())
}

/// The cell of a density between the first and the last of three nodes.
///
/// Where losses may differ by η, q of the shifted law is q e^{±η}.
fn cell(density: &Density, [from, middle, to]: [&LossNode; 3], width: Interval) -> LossCell {
    let ((p1, q1), (p2, q2)) = (density.masses(from, middle), density.masses(middle, to));
    let eta = 2.0 * from.slack.max(to.slack);
    let alpha = Interval::exact(from.loss).exp() * Interval::new(1.0 - eta, 1.0 + eta);
    LossCell::of_halves([(p1, alpha * q1), (p2, alpha * q2)], width)
}

impl LossCell {
    /// P-mass, its connected dots and the gap, from (p, e^l q) of both halves of a cell with lower node l.
    ///
    /// Connecting the dots (Doroshenko et al. 2022, arXiv:2207.04380) keeps the P- and Q-mass of the cell: with width w
    /// and t = L − l, up = ∫ (1 − e^{−t})/(1 − e^{−w}) dP = (p − e^l q)/(1 − e^{−w}); its H is the chord of H.
    ///
    /// Gap: by Jensen, collapsing both halves of the cell to their mean Y lowers H; the chord minus that piecewise
    /// linear curve is largest at one of its two kinks α = e^l/y. Never more than p tanh(w/4) ≤ p w/4, the gap of one
    /// atom.
    fn of_halves([(p1, a1), (p2, a2)]: [(Interval, Interval); 2], width: Interval) -> Self {
        let p = p1 + p2;
        let up = (p - (a1 + a2)) / -(-width).exp_m1();
        let up = Interval::new(up.lo.clamp(0.0, p.lo.max(0.0)), up.hi.clamp(0.0, p.hi.max(0.0)));
        let least = (-width).exp();
        let mean = |p: Interval, a: Interval| {
            let y = a / p;
            Interval::new(y.lo.clamp(least.lo, 1.0), y.hi.clamp(least.lo, 1.0))
        };
        let (y1, y2) = (mean(p1, a1), mean(p2, a2));
        let first = up * (ONE - least / y1) - (p2 - a2 / y1).clamp_positive();
        let second = up * (ONE - least / y2);
        let gap = first.hi.max(second.hi).min(p.hi * width.hi * 0.250_000_001).max(0.0);
        Self { width, p, up, gap }
    }
}

/// Many atoms, taken together cell by cell as a density would be: the error from below is then of second order too.
///
/// The atom at the anchor, if there is one, may hold most of the mass: it stays exact.
fn add_dense(
    out: &mut Discrete,
    grid: &LossGrid,
    atoms: &[(Interval, Interval)],
    tilt: f64,
) -> Result<(), PrivacyError> {
    let middle = |loss: &Interval| 0.5 * (loss.lo + loss.hi);
    let uncertainty = |loss: &Interval| 0.5 * (loss.hi - loss.lo) + rounding(middle(loss), grid);
    let at_anchor = |atom: &&(Interval, Interval)| (middle(&atom.0) - grid.anchor).abs() < 1e-12;
    for (loss, mass) in atoms.iter().filter(at_anchor) {
        out.slack = out.slack.max(uncertainty(loss) + (middle(loss) - grid.anchor).abs());
        out.upper.finite.push((0, mass.hi));
        out.lower.finite.push((0, mass.lo));
    }
    let (Some((first, _)), Some((last, _))) = (atoms.first(), atoms.last()) else { return Ok(()) };
    let range = LossRange { low: middle(first) - grid.step, high: middle(last) + grid.step };
    let index = grid.nodes(range, MOST_FOR_ATOMS)?;
    let mut rest = atoms.iter().filter(|atom| !at_anchor(atom)).peekable();
    let (mut cells, mut pools) = (Vec::new(), Vec::new());
    for ends in index.windows(2) {
        let (from, to) = (grid.anchor + ends[0] as f64 * grid.step, grid.anchor + ends[1] as f64 * grid.step);
        let mut halves = [(Interval::exact(0.0), Interval::exact(0.0)); 2];
        while let Some((loss, mass)) = rest.next_if(|(loss, _)| middle(loss) < to) {
            let half = &mut halves[usize::from(2.0 * middle(loss) >= from + to)];
            let decay = (Interval::exact(from) - Interval::exact(middle(loss))).exp();
            *half = (half.0 + *mass, half.1 + *mass * decay);
            out.slack = out.slack.max(uncertainty(loss));
        }
        pools.extend(MergedCell::new(from, halves[0].0 + halves[1].0, halves[0].1 + halves[1].1));
        cells.push(LossCell::of_halves(
            halves,
            Interval::exact((ends[1] - ends[0]) as f64) * Interval::exact(grid.step),
        ));
    }
    out.upper.finite.extend(index.iter().copied().zip(upper(&cells, 0.0)));
    let by_gaps =
        Masses { finite: index.iter().copied().zip(lower(&cells, &index, grid.step, 0.0)).collect(), infinite: 0.0 };
    let by_pairs = Masses { finite: merge(&pools, grid), infinite: 0.0 };
    // Both are dominated by the law; the one with the larger moment is the better one where it matters.
    let better = if moment(&by_pairs, grid, tilt) > moment(&by_gaps, grid, tilt) { by_pairs } else { by_gaps };
    out.lower.finite.extend(better.finite);
    Ok(())
}

/// Masses of the dominating law: dots connected, mass below the first node moved up to it.
///
/// Overestimates of p and of the part that goes up raise the curve.
fn upper(cells: &[LossCell], bottom: f64) -> Vec<f64> {
    let mut out = vec![0.0; cells.len() + 1];
    out[0] = bottom;
    for (j, c) in cells.iter().enumerate() {
        out[j] = (out[j] + (c.p.hi - c.up.hi).next_up()).next_up();
        out[j + 1] = c.up.hi;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::closed::single;
    use super::*;
    use crate::accounting::pair::{Atoms, DominatingPair};

    /// Rates and deviations whose laws a few thousand cells resolve.
    const RESOLVED: [(f64, f64); 3] = [(0.02, 1.0), (0.5, 0.5), (0.2, 5.0)];

    /// Every kind of pair with its reverse.
    fn pairs(settings: &[(f64, f64)]) -> Vec<(DominatingPair, DominatingPair)> {
        let mut out = Vec::new();
        for &(q, s) in settings {
            out.push((DominatingPair::Gaussian { s }, DominatingPair::Gaussian { s }));
            out.push((DominatingPair::GaussianRemove { q, s }, DominatingPair::GaussianAdd { q, s }));
            out.push((DominatingPair::GaussianSubstitute { q, s }, DominatingPair::GaussianSubstitute { q, s }));
            out.push((DominatingPair::GaussianFixed { q, s }, DominatingPair::GaussianFixed { q, s }));
            out.push((DominatingPair::Laplace { s }, DominatingPair::Laplace { s }));
            out.push((DominatingPair::LaplaceRemove { q, s }, DominatingPair::LaplaceAdd { q, s }));
        }
        let table = [(0.5, 0.2), (0.3, 0.3), (0.1, 0.5), (0.1, 0.0)];
        let finite = |t: &[(f64, f64)]| DominatingPair::Finite(Atoms::from_outcomes(t.iter().copied()));
        out.push((finite(&table), finite(&table.map(|(p, q)| (q, p)))));
        let turned = out.iter().map(|(a, b)| (b.clone(), a.clone())).collect::<Vec<_>>();
        out.extend(turned);
        out
    }

    /// H_{e^ε}(P ‖ Q) for any ε: below 0 by H_α(P ‖ Q) = 1 − α + α H_{1/α}(Q ‖ P).
    fn exact(pair: &DominatingPair, reverse: &DominatingPair, epsilon: f64) -> Interval {
        if epsilon >= 0.0 {
            return single(pair, epsilon);
        }
        let e = Interval::exact(epsilon);
        -e.exp_m1() + e.exp() * single(reverse, -epsilon)
    }

    fn curve(grid: &LossGrid, masses: &Masses, epsilon: f64) -> f64 {
        let term = |&(k, m): &(i64, f64)| m * (-libm::expm1(epsilon - grid.anchor - k as f64 * grid.step)).max(0.0);
        masses.finite.iter().map(term).sum::<f64>() + masses.infinite
    }

    fn ends(law: &LossLaw) -> LossRange {
        law.ends(law.density.as_ref().map_or(LossRange::POINT, |d| d.range(1e-13, 1e-20)))
    }

    fn prepared(pair: &DominatingPair, cells: f64) -> (LossLaw, LossGrid, Discrete) {
        let law = LossLaw::new(pair);
        let LossRange { low, high } = ends(&law);
        let fine = ((cells / 6.0) as u64).next_power_of_two() as i64;
        let grid = LossGrid { step: (high - low) / cells, anchor: law.anchor(), fine };
        let range = law.density.as_ref().map_or(LossRange::POINT, |d| d.range(1e-13, 1e-20));
        let discrete = discretise(&law, &grid, range, 5.0).unwrap();
        (law, grid, discrete)
    }

    #[test]
    fn both_curves_enclose_every_pair_off_the_grid() {
        for (pair, reverse) in pairs(&[RESOLVED.as_slice(), &[(0.001, 0.6)]].concat()) {
            for cells in [37.3, 611.7, 2003.1] {
                let (law, grid, d) = prepared(&pair, cells);
                let LossRange { low, high } = ends(&law);
                let (mut visible, slack) = (0, d.slack + 1e-15);
                for i in 0..1000 {
                    let epsilon = low - 0.1 + (high - low + 0.2) * (i as f64 + 0.377) / 1000.0;
                    let h = exact(&pair, &reverse, epsilon);
                    let (up, down) = (curve(&grid, &d.upper, epsilon - slack), curve(&grid, &d.lower, epsilon + slack));
                    assert!(up >= h.lo * (1.0 - 1e-12), "{pair:?} {cells} cells, {epsilon}: {up:e} < {h:?}");
                    assert!(down <= h.hi * (1.0 + 1e-12), "{pair:?} {cells} cells, {epsilon}: {down:e} > {h:?}");
                    visible += usize::from(up > h.hi * (1.0 + 1e-10) && down < h.lo * (1.0 - 1e-10));
                }
                assert!(visible > 0 || law.density.is_none(), "{pair:?}: the error of {cells} cells should show");
            }
        }
    }

    /// Errors fall with the square of the step, at the ends of the law too: halving it four times divides
    /// them by 256 where the rough grid resolves the law.
    #[test]
    fn both_curves_close_in_with_the_square_of_the_step() {
        for (pair, reverse) in pairs(&RESOLVED).into_iter().filter(|p| !matches!(p.0, DominatingPair::Finite(_))) {
            let excess = |cells: f64| {
                let (law, grid, d) = prepared(&pair, cells);
                let (low, high) = (ends(&law).low, single_median(&law));
                let points = (0..60).map(|i| low + (high - low) * (i as f64 + 0.377) / 60.0);
                let gaps = points.map(|e| {
                    let h = exact(&pair, &reverse, e);
                    (curve(&grid, &d.upper, e) - h.lo, h.hi - curve(&grid, &d.lower, e))
                });
                gaps.fold((0.0, 0.0), |sum: (f64, f64), g| (sum.0 + g.0, sum.1 + g.1))
            };
            let (rough, fine) = (excess(1000.0), excess(16_000.0));
            assert!(fine.0 < rough.0 / 20.0 + 1e-11 && fine.1 < rough.1 / 20.0 + 1e-11, "{pair:?} {rough:?} {fine:?}");
        }
    }

    /// A loss in the upper half of the bulk.
    fn single_median(law: &LossLaw) -> f64 {
        law.density.as_ref().map_or(0.0, |d| d.range(0.3, 0.3).high)
    }

    #[test]
    fn masses_are_those_of_p_and_q() {
        for (pair, _) in pairs(&RESOLVED) {
            let (law, grid, d) = prepared(&pair, 3000.0);
            // Q-mass of the losses below the grid, where P has at most 1e-13.
            let cut = 1e-11 + 1e-13 * libm::exp(-ends(&law).low);
            let sum = |m: &Masses| m.finite.iter().map(|x| x.1).sum::<f64>() + m.infinite;
            let q = |m: &Masses| {
                let term = |&(k, x): &(i64, f64)| x * libm::exp(-grid.anchor - k as f64 * grid.step);
                m.finite.iter().map(term).sum::<f64>()
            };
            assert!((sum(&d.upper) - 1.0).abs() < 1e-11 && d.upper.finite.iter().all(|m| m.1 >= 0.0), "{pair:?}");
            assert!((sum(&d.lower) - 1.0).abs() < 1e-11 && d.lower.finite.iter().all(|m| m.1 >= 0.0), "{pair:?}");
            assert!(q(&d.upper) <= 1.0 + 1e-11, "{pair:?}: {}", q(&d.upper));
            if law_reaches_all_of_q(&pair) {
                assert!((q(&d.upper) - 1.0).abs() < cut, "{pair:?}: {}", q(&d.upper));
                assert!(
                    matches!(pair, DominatingPair::Finite(_)) || (q(&d.lower) - 1.0).abs() < 1e-9 + cut,
                    "{pair:?}"
                );
            }
        }
    }

    /// True unless Q has mass where P has none.
    fn law_reaches_all_of_q(pair: &DominatingPair) -> bool {
        let DominatingPair::Finite(atoms) = pair else { return true };
        atoms.finite.iter().map(|(l, p)| p * libm::exp(-l)).sum::<f64>() > 0.99
    }

    #[test]
    fn cells_are_aligned_and_cover_the_range() {
        let grid = LossGrid { step: 0.5, anchor: 0.25, fine: 4 };
        let nodes = grid.nodes(LossRange { low: -20.3, high: 33.1 }, MOST_NODES).unwrap();
        assert!(grid.anchor + nodes[0] as f64 * 0.5 <= -20.3);
        assert!(grid.anchor + nodes[nodes.len() - 1] as f64 * 0.5 >= 33.1);
        for pair in nodes.windows(2) {
            let width = pair[1] - pair[0];
            let outer = pair[0].abs().max(pair[1].abs());
            assert!(width.count_ones() == 1 && pair[0] % width == 0 && width <= (outer / 2).max(1), "{pair:?}");
        }
        assert!(nodes.contains(&0));
        assert!(grid.nodes(LossRange { low: 0.0, high: f64::INFINITY }, MOST_NODES).is_err());
        let wide = LossGrid { step: 1e-6, anchor: 0.0, fine: 1 << 15 };
        assert!(wide.nodes(LossRange { low: -0.1, high: 400.0 }, 1e5).is_err());
        let fewer = wide
            .coarser(LossRange { low: -0.1, high: 400.0 }, 1e5)
            .nodes(LossRange { low: -0.1, high: 400.0 }, 1e5)
            .unwrap();
        assert!(fewer.len() > 10_000 && fewer.len() < 100_000, "{}", fewer.len());
    }

    /// A range that leaves out a sixth of the law at either end: what is cut is infinite above and at the first node below,
    /// from above; and from below at the last node above and gone below.
    #[test]
    fn what_is_cut_off_counts_from_above_and_not_from_below() {
        let (pair, reverse) = (DominatingPair::Gaussian { s: 1.0 }, DominatingPair::Gaussian { s: 1.0 });
        let law = LossLaw::new(&pair);
        let range = LossRange { low: -0.5, high: 1.5 };
        let grid = LossGrid { step: (range.high - range.low) / 500.0, anchor: law.anchor(), fine: 1 << 12 };
        let d = discretise(&law, &grid, range, 1.0).unwrap();
        let inside: f64 = d.lower.finite.iter().map(|m| m.1).sum();
        assert!(d.upper.infinite > 0.01 && d.lower.infinite == 0.0 && inside < 0.99, "{inside}: the cut must show");
        for i in 0..200 {
            let epsilon = range.low - 3.0 + (range.high - range.low + 6.0) * f64::from(i) / 200.0;
            let h = exact(&pair, &reverse, epsilon);
            let (up, down) = (curve(&grid, &d.upper, epsilon - d.slack), curve(&grid, &d.lower, epsilon + d.slack));
            assert!(up >= h.lo && down <= h.hi, "{epsilon}: {down} {h:?} {up}");
        }
    }

    /// Masses that are known to two percent, and are at the far end of what is known.
    #[test]
    fn masses_are_rounded_outwards() {
        let (pair, reverse) = (DominatingPair::Gaussian { s: 1.0 }, DominatingPair::Gaussian { s: 1.0 });
        let law = LossLaw::new(&pair);
        let density = law.density.as_ref().unwrap();
        let range = density.range(1e-13, 1e-20);
        let grid = LossGrid { step: (range.high - range.low) / 2000.0, anchor: law.anchor(), fine: 1 << 12 };
        let index = grid.nodes(range, MOST_NODES).unwrap();
        let node = |place: f64| density.node(grid.anchor + place * grid.step, 0.0);
        let at: Vec<LossNode> = index.iter().map(|&k| node(k as f64)).collect();
        let cells = |least: f64, most: f64| -> Vec<LossCell> {
            let known = |x: Interval| Interval::new(x.lo * least, x.hi * most);
            (0..at.len() - 1)
                .map(|j| {
                    let width = Interval::exact((index[j + 1] - index[j]) as f64) * Interval::exact(grid.step);
                    let middle = node(0.5 * (index[j] + index[j + 1]) as f64);
                    let LossCell { p, up, gap, .. } = cell(density, [&at[j], &middle, &at[j + 1]], width);
                    LossCell { width, p: known(p), up: known(up), gap: gap * most }
                })
                .collect()
        };
        let placed = |masses: Vec<f64>| Masses { finite: index.iter().copied().zip(masses).collect(), infinite: 0.0 };
        let above = placed(upper(&cells(0.98, 1.0), 0.0));
        let below = placed(lower(&cells(1.0, 1.02), &index, grid.step, 0.0));
        for i in 0..100 {
            let epsilon = -2.0 + 4.0 * f64::from(i) / 100.0;
            let h = exact(&pair, &reverse, epsilon);
            let (up, down) = (curve(&grid, &above, epsilon - 1e-12), curve(&grid, &below, epsilon + 1e-12));
            assert!(up >= h.lo * (1.0 - 1e-12) && down <= h.hi * (1.0 + 1e-12), "{epsilon}: {down} {h:?} {up}");
            assert!(up < h.hi * 1.001 && down > h.lo * 0.95, "{epsilon}: the other end would show");
        }
    }

    /// An atom whose loss is known to a tenth and whose mass to a percent.
    #[test]
    fn what_is_not_known_of_an_atom_widens_both_bounds() {
        for at in [0.5, 0.53] {
            let (loss, mass) = (Interval::new(at - 0.1, at + 0.1), Interval::new(0.49, 0.51));
            let grid = LossGrid { step: 0.25, anchor: 0.0, fine: 64 };
            for dense in [false, true] {
                let mut out = Discrete { upper: Masses::default(), lower: Masses::default(), slack: 0.0 };
                match dense {
                    true => add_dense(&mut out, &grid, &[(loss, mass)], 1.0).unwrap(),
                    false => add_atom(&mut out, &grid, loss, mass),
                }
                let sum = |m: &Masses| m.finite.iter().map(|x| x.1).sum::<f64>();
                assert!(
                    out.slack >= 0.1 && sum(&out.upper) >= 0.51 && sum(&out.lower) <= 0.49,
                    "{at} {dense}: {out:?}"
                );
            }
            let law = LossLaw { density: None, atoms: vec![(loss, mass)], infinite: Interval::new(0.01, 0.02) };
            let d = discretise(&law, &grid, LossRange::POINT, 1.0).unwrap();
            assert!(d.upper.infinite >= 0.02 && d.lower.infinite <= 0.01);
        }
    }

    /// What is not known of a node's loss moves the Q-mass of its cells by e^{±η}, and with it what goes up.
    #[test]
    fn what_is_not_known_of_a_node_widens_its_cells() {
        let law = LossLaw::new(&DominatingPair::Gaussian { s: 1.0 });
        let density = law.density.as_ref().unwrap();
        assert!(density.node(0.1, 0.25).slack >= 0.25);
        let wide = |error: f64| {
            let nodes = [0.1, 0.15, 0.2].map(|loss| density.node(loss, error));
            cell(density, [&nodes[0], &nodes[1], &nodes[2]], Interval::exact(0.1)).up
        };
        let (known, unknown) = (wide(0.0), wide(0.01));
        // up = (p − e^l q)/(1 − e^{−w}), and e^l q is about p: a hundredth of it is a tenth of what goes up.
        let middle = 0.5 * (known.hi + known.lo);
        assert!(unknown.lo < 0.9 * middle && unknown.hi > 1.1 * middle, "{known:?} {unknown:?}");
    }
}
