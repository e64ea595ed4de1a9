//! The dominating family of a Barker test's neighbouring batches, as one finite law from above.
//!
//! `docs/maths/dp-mcmc.md` has the proofs; its letters are used here.
//!
//! The release of a Barker test on one batch and on a neighbouring one are two normal laws of different variance. A family with one
//! parameter dominates all such pairs; this module bounds its supremum at many losses and connects the dots. The law that
//! comes out is an upper bound for every pair, and no lower end is claimed (`docs/maths/dp-mcmc.md`).

use super::symmetric::{completed, subsampled};
use super::{Enclosure, Interval};
use crate::{Event, Mechanism, PrivacyError};
use std::sync::{Mutex, PoisonError};

/// Least batch that Theorem 2 knows.
const LEAST_BATCH: u64 = 20;

/// Times that the range of m is halved: the family is covered by 2^DEPTH cells.
const DEPTH: u32 = 10;

/// Nodes for each deviation of the release.
const NODES: u32 = 64;

/// Deviations up to which there are nodes: beyond, a loss counts as infinite.
const REACH: u32 = 12;

/// Total variation between a release and one whose deviation is not rounded: a relative error e of the variance has
/// KL ≤ e²/4·(1 + e), hence by Pinsker at most |e|/√8, and e ≤ 2⁻⁴⁹ (`gate/barker.rs`).
const ROUNDED: f64 = 8.9e-16;

/// Relative error of a probability: of products of four factors, and of what is missing to one.
const ERROR: f64 = 1e-13;

/// The law of a Barker test's event, sampled as the event is; refused for other events and for batches under 20 rows.
pub(super) fn enclosure(accountant: &'static str, event: &Event) -> Result<Enclosure, PrivacyError> {
    let rate = event.sampling().rate();
    match event.mechanism() {
        Mechanism::BarkerTest { batch, slack } if batch.get() >= LEAST_BATCH => {
            let all = remembered(batch.get(), slack.get());
            Ok(if rate < 1.0 { subsampled(&all, rate) } else { all })
        }
        _ => Err(PrivacyError::Unsupported {
            accountant,
            event: event.to_string(),
            hint: "a dominating pair is proved for Barker tests on at least 20 rows; use `rdp` for smaller batches",
        }),
    }
}

/// b and the bits of L, and their law.
type RememberedLaw = ((u64, u64), Enclosure);

/// [`dominating`], which takes longer than to compose what it gives: the last law is kept, because a search for steps, or a
/// run that tells its ε on the way, asks for the same one again and again.
fn remembered(batch: u64, slack: f64) -> Enclosure {
    static LAST: Mutex<Option<RememberedLaw>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = (batch, slack.to_bits());
    match &*last {
        Some((known, law)) if *known == asked => law.clone(),
        _ => {
            let law = dominating(batch, slack);
            *last = Some((asked, law.clone()));
            law
        }
    }
}

/// A law that dominates every ordered pair of neighbouring batches of b ≥ 20 rows, with 1 ≤ L ≤ 3.
///
/// Theorem 2: for γ ≥ 1, H_γ of every pair is at most h̄(γ) = sup_m H_γ(N(0, 1) ‖ N(θ(m), 1 − ξ(m))) with
/// 0 ≤ m ≤ 1, θ² = 4/(b(L + m²)) and ξ = 4m/(b(L + m²)). For γ < 1 symmetry says the rest.
///
/// The least upper bound h of all pairs is convex, so it is under every convex chain of chords that is not under h̄ at its nodes
/// (connect the dots: Doroshenko et al. 2022). With Q-masses Q_i at nodes γ_i and P_∞ of infinite loss, such a chain is
/// P_∞ + Σ Q_i (γ_i − γ)₊: it falls from node to node by (γ_i − γ_{i−1}) Σ_{k≥i} Q_k, and is made from the last node down.
fn dominating(batch: u64, slack: f64) -> Enclosure {
    let exact = Interval::exact;
    let family = BatchPairs { batch: exact(batch as f64), slack: exact(slack) };
    let nodes = family.nodes();
    let values = family.bounds(&nodes);
    let infinite = values.last().copied().unwrap_or(1.0);
    let (mut curve, mut total, mut positive) = (infinite, exact(0.0), Vec::with_capacity(nodes.len()));
    for i in (1..nodes.len()).rev() {
        let (below, gamma) = (exact(nodes[i - 1]).exp(), exact(nodes[i]).exp());
        let width = below * (exact(nodes[i]) - exact(nodes[i - 1])).exp_m1();
        let missing = (exact(values[i - 1]) - exact(curve)) / width - total;
        if missing.hi > 0.0 {
            positive.push((nodes[i], (exact(missing.hi) * gamma).hi));
            total = exact((total + exact(missing.hi)).lo);
        }
        curve = (exact(curve) + width * total).lo;
    }
    positive.reverse();
    Enclosure::from_above(completed(&positive, infinite, ERROR), ERROR)
}

/// The pairs N(0, 1) ‖ N(θ(m), 1 − ξ(m)), 0 ≤ m ≤ 1.
struct BatchPairs {
    /// b, the number of rows in the batch.
    batch: Interval,
    /// L, the variance slack.
    slack: Interval,
}

/// A pair N(0, 1) ‖ N(θ, 1 − ξ) of θ > 0 and 0 < ξ < 1.
#[derive(Debug, Clone, Copy)]
struct ShiftedGaussians {
    theta: f64,
    xi: f64,
}

/// One of the 2^depth equal parts of 0 ≤ m ≤ 1, counted from 0.
#[derive(Clone, Copy)]
struct DyadicCell {
    depth: u32,
    place: u32,
}

impl BatchPairs {
    /// A pair that dominates those of m between two numbers: θ falls in m, ξ grows, and H_γ grows in both (Lemma 3).
    fn cell(&self, from: f64, to: f64) -> ShiftedGaussians {
        let exact = Interval::exact;
        let below = |m: f64| self.batch * (self.slack + exact(m) * exact(m));
        let theta = (exact(4.0) / below(from)).sqrt().hi;
        ShiftedGaussians { theta, xi: (exact(4.0) * exact(to) / below(to)).hi }
    }

    /// log γ of the nodes: losses of the pair of Corollary 2, which dominates all others, at equal steps of the release.
    fn nodes(&self) -> Vec<f64> {
        let ShiftedGaussians { theta, xi } = self.cell(0.0, 1.0);
        let loss = |x: f64| 0.5 * ((x + theta) * (x + theta) / (1.0 - xi) + libm::log1p(-xi) - x * x);
        let steps = (1..=REACH * NODES).map(|k| loss(f64::from(k) / f64::from(NODES) - 0.5 * theta));
        std::iter::once(0.0).chain(steps.filter(|&log| log > 0.0)).collect()
    }

    /// Bounds of H_γ of rounded releases at increasing nodes, themselves not increasing, since H_γ falls in γ.
    ///
    /// P(E) − γQ(E) of rounded releases is at most (1 + γ) times their distance over that of exact ones.
    fn bounds(&self, nodes: &[f64]) -> Vec<f64> {
        let exact = Interval::exact;
        let rounded = |log: f64| (exact(1.0) + exact(log).exp()) * exact(ROUNDED);
        let mut least = 1.0_f64;
        let mut bound = |log: f64| {
            least = least.min((exact(self.largest(log)) + rounded(log)).hi);
            least
        };
        nodes.iter().map(|&log| bound(log)).collect()
    }

    /// h̄ at γ = e^`log`, from above: the largest of the cells' bounds.
    fn largest(&self, log: f64) -> f64 {
        let mut best = 0.0;
        self.search(log, DyadicCell { depth: 0, place: 0 }, self.cell(0.0, 1.0).hockey_stick(log), &mut best);
        best
    }

    /// Raises `best` to the largest bound of the smallest cells in `cell`, whose own bound is `bound`.
    ///
    /// The bound of a cell is not under those of its halves: a cell that is not over `best` is left out.
    fn search(&self, log: f64, cell: DyadicCell, bound: f64, best: &mut f64) {
        let DyadicCell { depth, place } = cell;
        if bound <= *best {
            return;
        }
        if depth == DEPTH {
            *best = bound;
            return;
        }
        let width = 1.0 / f64::from(2_u32 << depth);
        let halves = [2 * place, 2 * place + 1].map(|place| {
            let from = f64::from(place) * width;
            (place, self.cell(from, from + width).hockey_stick(log))
        });
        let [first, second] = if halves[0].1 >= halves[1].1 { halves } else { [halves[1], halves[0]] };
        for (place, bound) in [first, second] {
            self.search(log, DyadicCell { depth: depth + 1, place }, bound, best);
        }
    }
}

impl ShiftedGaussians {
    /// H_γ from above, for γ = e^`log` ≥ 1.
    ///
    /// p > γq left of s and right of t, the roots of Ax² − 2Bx + c with A = ξ/η, B = θ/η, c = θ²/η + log η − 2 log γ and
    /// η = 1 − ξ: H = Φ(s) − γΦ((s − θ)/√η) + Φ(−t) − γΦ((θ − t)/√η).
    fn hockey_stick(self, log: f64) -> f64 {
        let (exact, log) = (Interval::exact, Interval::exact(log));
        let (theta, eta) = (exact(self.theta), exact(1.0) - exact(self.xi));
        let (a, b) = (exact(self.xi) / eta, theta / eta);
        let c = theta * b + (-exact(self.xi)).ln_1p() - exact(2.0) * log;
        let far = b + (b * b - a * c).sqrt();
        let (s, t, root, gamma) = (c / far, far / a, eta.sqrt(), log.exp());
        let left = s.phi() - gamma * ((s - theta) / root).phi();
        let right = (-t).phi() - gamma * ((theta - t) / root).phi();
        (left + right).hi.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(batch: f64, slack: f64) -> BatchPairs {
        BatchPairs { batch: Interval::exact(batch), slack: Interval::exact(slack) }
    }

    /// (θ, ξ, log γ, H_γ), by mpmath at 40 digits.
    const MEMBERS: [(f64, f64, f64, f64); 6] = [
        (0.0625, 0.0009765625, 0.0, 0.024936683318194329353),
        (0.0625, 0.001953125, 0.125, 0.00068273172448397400406),
        (0.0625, 0.001953125, 0.5, 3.9468812002164416914e-15),
        (0.4375, 0.09375, 0.0, 0.17838717331360629551),
        (0.4375, 0.09375, 4.0, 1.307819593322104018e-8),
        (0.001953125, 1e-06, 0.0078125, 1.4280912716975325605e-8),
    ];

    #[test]
    fn members_have_their_hockey_sticks_from_above() {
        for (theta, xi, log, exact) in MEMBERS {
            let found = ShiftedGaussians { theta, xi }.hockey_stick(log);
            assert!(
                found >= exact * (1.0 - 1e-15) && found <= exact * (1.0 + 1e-9),
                "{theta} {xi} {log}: {found} {exact}"
            );
        }
    }

    /// The search leaves cells out; every one of them by itself is not over what it finds.
    #[test]
    fn the_search_finds_the_largest_cell() {
        for (batch, slack) in [(20.0, 1.0), (1000.0, 1.0), (300.0, 2.7)] {
            let family = family(batch, slack);
            for log in [0.0, 0.01, 0.1, 0.3] {
                let cells = 1_u32 << DEPTH;
                let cell = |k: u32| (f64::from(k) / f64::from(cells), f64::from(k + 1) / f64::from(cells));
                let all = (0..cells).map(cell).map(|(from, to)| family.cell(from, to).hockey_stick(log));
                assert_eq!(family.largest(log), all.fold(0.0, f64::max), "b {batch}, L {slack}, log γ {log}");
            }
        }
    }

    /// At the nodes the law has the bounds of the family, up to rounding; the law is one of probability and symmetric.
    #[test]
    fn the_law_connects_the_bounds_at_its_nodes() {
        for (batch, slack) in [(20, 1.0), (1000, 1.0), (1000, 3.0), (1_000_000, 1.2)] {
            let (law, family) = (dominating(batch, slack), family(batch as f64, slack));
            let nodes = family.nodes();
            assert!(nodes.is_sorted() && nodes.len() > 700);
            let bounds = family.bounds(&nodes);
            for (at, (&log, &bound)) in nodes.iter().zip(&bounds).enumerate().step_by(37) {
                let found = law.hockey_stick(log).upper;
                // What the rounding of the noise's deviation is allowed is in it, but no bound is over the one before.
                let before = if at == 0 { f64::INFINITY } else { bounds[at - 1] };
                let (exact, rounded) = (family.largest(log), 8.8e-16 * (1.0 + libm::exp(log)));
                assert!(bound >= (exact + rounded).min(before) && bound <= exact + 1e-11, "{log}: {bound} {exact}");
                assert!(
                    found >= bound * (1.0 - 1e-15) && found <= bound * (1.0 + 1e-8) + 1e-31,
                    "b {batch}, L {slack}, {log}: {found} {bound}"
                );
                let (mirrored, expected) = (law.hockey_stick(-log).upper, -libm::expm1(-log) + libm::exp(-log) * bound);
                assert!(
                    mirrored >= expected * (1.0 - 1e-12) && mirrored <= expected + 1e-11,
                    "{log}: {mirrored} {expected}"
                );
            }
            let upper = law.upper();
            let mass = upper.finite.iter().map(|atom| atom.1).sum::<f64>() + upper.infinite;
            assert!((1.0..1.0 + 1e-11).contains(&mass) && upper.infinite < 1e-11, "{mass} {}", upper.infinite);
        }
    }
}
