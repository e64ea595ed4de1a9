//! The lower bound of a density on a grid: the chord of H minus the gap, kept convex.
//!
//! Connecting the dots gives the chord of H through the nodes. Subtracting a function d, linear in α between nodes and at
//! least the gap of each cell, gives a curve below H. Where it is not convex its convex hull is taken.
//!
//! A lower law must stay a law: its curve is kept convex and its mass is not above one.

use super::Interval;
use super::discretise::LossCell;

/// One as an interval of a single float.
const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };

/// Connected dots, rounded down, and what they add up to from above.
struct Dots {
    /// Mass at each node.
    mass: Vec<f64>,
    /// Mass at this node and all above.
    above: Vec<Interval>,
    /// H at each node.
    curve: Vec<Interval>,
}

/// Masses of a law that the density dominates, at nodes `index` in multiples of `step`, between which are the cells.
///
/// `top`: mass above the last node. Mass below the first node is dropped. If the construction fails (too few cells), all mass goes to the lower node of its cell, which is always below.
pub(super) fn lower(cells: &[LossCell], index: &[i64], step: f64, top: f64) -> Vec<f64> {
    // Loss between two nodes.
    let distance = |from: usize, to: usize| Interval::exact((index[to] - index[from]) as f64) * Interval::exact(step);
    subtract_gaps(cells, &distance, top).unwrap_or_else(|| {
        let floor = cells.iter().map(|c| c.p.lo.max(0.0));
        floor.chain(std::iter::once(top.max(0.0))).collect()
    })
}

/// 1 − e^{−w}: the part of a cell of width w that Q does not have.
fn part(width: Interval) -> Interval {
    -(-width).exp_m1()
}

/// Underestimates of p, and of the part that goes up, lower the curve. H_j = e^{−w} H_{j+1} + (1 − e^{−w}) S_{j+1}.
fn connect(cells: &[LossCell], top: f64) -> Dots {
    let n = cells.len();
    let mut mass = vec![0.0; n + 1];
    for (j, c) in cells.iter().enumerate() {
        mass[j] = (mass[j] + (c.p.lo - c.up.lo).next_down().max(0.0)).next_down().max(0.0);
        mass[j + 1] = c.up.lo.max(0.0);
    }
    mass[n] = (mass[n] + top).next_down().max(0.0);
    let (mut above, mut curve) = (vec![Interval::exact(0.0); n + 1], vec![Interval::exact(0.0); n + 1]);
    above[n] = Interval::exact(mass[n]);
    for j in (0..n).rev() {
        above[j] = above[j + 1] + Interval::exact(mass[j]);
        curve[j] = (-cells[j].width).exp() * curve[j + 1] + part(cells[j].width) * above[j + 1];
    }
    Dots { mass, above, curve }
}

/// d between the ends: the larger gap of the two cells at a node.
fn depth(cells: &[LossCell], j: usize) -> Interval {
    Interval::exact(cells[j].gap.max(cells[j - 1].gap))
}

/// The last node: from it on the curve is 0, which covers the gap of the cell below it if H there is not less.
fn last_node(cells: &[LossCell], dots: &Dots) -> Option<usize> {
    (2..cells.len())
        .rev()
        .find(|&j| dots.curve[j].lo >= cells[j - 1].gap && dots.curve[j - 1].lo >= depth(cells, j - 1).hi)
}

/// The first node, d there, and its mass. Up to it the curve is the tangent of H at α = 0.
///
/// That is below H by G_j = Σ_{i<j} m_i (e^{l_j − l_i} − 1), with G_{j+1} = e^{w_j} G_j + (e^{w_j} − 1) Σ_{i≤j} m_i; it
/// covers the gap of the cell above if G_j is not less. The mass is what keeps Σ m: Σ_{i≤j} m_i + d_j − (d_{j+1} −
/// d_j)/(e^{w_j} − 1).
fn first_node(cells: &[LossCell], dots: &Dots, last: usize) -> Option<(usize, f64, f64)> {
    let (mut below, mut most, mut least) = (0.0, Interval::exact(0.0), Interval::exact(0.0));
    for j in 0..last.checked_sub(2)? {
        let (c, rise) = (&cells[j], cells[j].width.exp_m1());
        least = least + Interval::exact(dots.mass[j]);
        let here = Interval::exact(below);
        let mass = least + here - (depth(cells, j + 1) - here) / rise;
        if below >= c.gap && mass.lo >= 0.0 {
            return Some((j, below, mass.lo));
        }
        let lower_part = Interval::exact(c.p.hi) - Interval::exact(c.up.lo);
        below = (c.width.exp() * here + rise * (most + lower_part)).hi;
        most = most + Interval::exact(c.p.hi);
    }
    None
}

/// Masses of chord − d: m_j − (d_{j+1} − d_j)/(e^{w_j} − 1) + (d_j − d_{j−1})/(1 − e^{−w_{j−1}}), then made convex.
///
/// At the last node d = H, and its mass is (H_{j−1} − d_{j−1})/(1 − e^{−w_{j−1}}).
fn subtract_gaps(cells: &[LossCell], distance: &dyn Fn(usize, usize) -> Interval, top: f64) -> Option<Vec<f64>> {
    let dots = connect(cells, top);
    let last = last_node(cells, &dots)?;
    let (first, first_depth, first_mass) = first_node(cells, &dots, last)?;
    let d = |j: usize| match j {
        _ if j == first => Interval::exact(first_depth),
        _ if j == last => dots.curve[j],
        _ => depth(cells, j),
    };
    let mut mass = vec![0.0; cells.len() + 1];
    mass[first] = first_mass;
    for j in first + 1..last {
        let falling = (d(j + 1) - d(j)) / cells[j].width.exp_m1();
        let rising = (d(j) - d(j - 1)) / part(cells[j - 1].width);
        mass[j] = (Interval::exact(dots.mass[j]) - falling + rising).lo;
    }
    let width = cells[last - 1].width;
    mass[last] = (dots.above[last] + ((-width).exp() * dots.curve[last] - d(last - 1)) / part(width)).lo;
    convex(&mut mass, distance, last).then_some(mass)
}

/// Takes the convex hull: a node with negative mass is removed, its mass split between the nodes beside it such that P- and
/// Q-mass are kept (connecting the dots of a negative mass lowers the curve). Without a node to the left all moves right.
///
/// False if negative mass is left at the last node.
fn convex(mass: &mut [f64], distance: &dyn Fn(usize, usize) -> Interval, last: usize) -> bool {
    let mut kept: Vec<usize> = Vec::new();
    for j in 0..=last {
        let mut at = Some(j);
        while let Some(node) = at.filter(|&node| mass[node] < 0.0) {
            if j == last {
                return false;
            }
            let owed = Interval::exact(-mass[node]);
            mass[node] = 0.0;
            let beside = if node == j { kept.last().copied() } else { kept.iter().rev().nth(1).copied() };
            let Some(left) = beside else {
                mass[j + 1] = (Interval::exact(mass[j + 1]) - owed).lo;
                kept.clear();
                break;
            };
            if node != j {
                kept.pop();
            }
            let share = part(distance(left, node)) / part(distance(left, j + 1));
            mass[j + 1] = (Interval::exact(mass[j + 1]) - owed * share).lo;
            mass[left] = (Interval::exact(mass[left]) - owed * (ONE - share)).lo;
            at = Some(left);
        }
        if mass[j] > 0.0 {
            kept.push(j);
        }
    }
    true
}
