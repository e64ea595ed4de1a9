//! The privacy loss of one step under P: an increasing function of a coordinate with closed-form masses, and atoms.
//!
//! Masses of intervals come from normal and Laplace distribution functions, as enclosures, and the coordinate of a loss from a
//! formula in plain arithmetic, whose error is found afterwards and carried along.

use super::super::pair::DominatingPair;
use super::Interval;
use super::closed::{atom, probability};

/// Zero as an interval of a single float.
const ZERO: Interval = Interval { lo: 0.0, hi: 0.0 };
/// One as an interval of a single float.
const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };
/// One half as an interval of a single float.
const HALF: Interval = Interval { lo: 0.5, hi: 0.5 };

/// Atoms of a law without a density, up to which they are placed one by one.
const DENSE: usize = 200;

/// The loss law of one pair.
#[derive(Debug, Clone)]
pub(super) struct LossLaw {
    /// The part that has a density.
    pub(super) density: Option<Density>,
    /// Enclosures of (loss, P-probability), losses increasing.
    pub(super) atoms: Vec<(Interval, Interval)>,
    /// P-probability of infinite loss.
    pub(super) infinite: Interval,
}

/// Losses from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LossRange {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl LossRange {
    /// The range of a law without a density.
    pub(super) const POINT: Self = Self { low: 0.0, high: 0.0 };
}

/// Noise around a centre.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NoiseShape {
    Gaussian,
    Laplace,
}

/// (1 − rate) of the noise around 0 and `rate` of it around `centre`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TwoPointMixture {
    rate: f64,
    centre: f64,
}

/// P and Q as mixtures on a coordinate x along which the loss increases.
#[derive(Debug, Clone)]
pub(super) struct Density {
    noise: NoiseShape,
    s: f64,
    p: TwoPointMixture,
    q: TwoPointMixture,
    /// Fixed-size batches: x > ½ only, and the same with P and Q exchanged at the negative losses.
    folded: bool,
    /// Where the loss varies with x.
    edges: (f64, f64),
}

/// The coordinate of a loss, and by how much the loss there may differ from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossNode {
    /// Loss of the node.
    pub(super) loss: f64,
    x: f64,
    /// Bound on |loss(x) − loss|, where mass on the wrong side of the node is possible.
    pub(super) slack: f64,
}

impl LossLaw {
    /// The loss law of a pair. Laws of the add direction are written in the coordinate −x.
    pub(super) fn new(pair: &DominatingPair) -> Self {
        let none = TwoPointMixture { rate: 0.0, centre: 0.0 };
        let at = |rate: f64, centre: f64| TwoPointMixture { rate, centre };
        use NoiseShape::{Gaussian, Laplace};
        let density = match *pair {
            DominatingPair::Gaussian { s } => Density::new(Gaussian, s, at(1.0, 1.0), none),
            DominatingPair::GaussianRemove { q, s } => Density::new(Gaussian, s, at(q, 1.0), none),
            DominatingPair::GaussianAdd { q, s } => Density::new(Gaussian, s, none, at(q, -1.0)),
            DominatingPair::GaussianSubstitute { q, s } => Density::new(Gaussian, s, at(q, 0.5), at(q, -0.5)),
            DominatingPair::GaussianFixed { q, s } => return Self::fixed(q, s),
            DominatingPair::Laplace { s } => Density::new(Laplace, s, at(1.0, 1.0), none),
            DominatingPair::LaplaceRemove { q, s } => Density::new(Laplace, s, at(q, 1.0), none),
            DominatingPair::LaplaceAdd { q, s } => Density::new(Laplace, s, none, at(q, -1.0)),
            DominatingPair::Finite(ref atoms) => {
                let infinite = if atoms.infinite > 0.0 { probability(atoms.infinite) } else { ZERO };
                let finite = atoms.finite.iter().map(|&(loss, p)| atom(loss, p)).collect();
                return Self { density: None, atoms: finite, infinite };
            }
            // `Pld` takes the two laws of an enclosure apart first. As one law it says nothing: δ is between 0 and 1.
            DominatingPair::Enclosed(_) => {
                return Self { density: None, atoms: Vec::new(), infinite: Interval::new(0.0, 1.0) };
            }
        };
        Self { atoms: density.end_atoms(), density: Some(density), infinite: ZERO }
    }

    /// True if there are so many atoms that they are better treated as a density than one by one.
    pub(super) fn is_dense(&self) -> bool {
        self.density.is_none() && self.atoms.len() > DENSE
    }

    /// The loss that a grid should have as a node: that of the first atom.
    pub(super) fn anchor(&self) -> f64 {
        if self.is_dense() {
            return 0.0;
        }
        self.atoms.first().map_or(0.0, |(loss, _)| 0.5 * (loss.lo + loss.hi))
    }

    /// Distance of the first and the last atom, which a grid should divide.
    pub(super) fn span(&self) -> f64 {
        if self.is_dense() {
            return 0.0;
        }
        self.atoms.last().map_or(0.0, |(loss, _)| 0.5 * (loss.lo + loss.hi) - self.anchor())
    }

    /// Least and largest loss, if the density is cut to a range.
    pub(super) fn ends(&self, range: LossRange) -> LossRange {
        let nothing = LossRange { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let density = if self.density.is_some() { range } else { nothing };
        self.atoms
            .iter()
            .fold(density, |ends, (loss, _)| LossRange { low: ends.low.min(loss.lo), high: ends.high.max(loss.hi) })
    }

    /// Zhu et al. 2022, Proposition 30; the atom at 0 has mass (1−q)(1 − 2Φ(−1/2s)).
    fn fixed(q: f64, s: f64) -> Self {
        let p = TwoPointMixture { rate: q, centre: 1.0 };
        let mut density = Density::new(NoiseShape::Gaussian, s, p, TwoPointMixture { rate: 0.0, centre: 0.0 });
        (density.folded, density.edges.0) = (true, 0.5);
        let tail = (-(HALF / Interval::exact(s))).phi();
        let mass = (ONE - Interval::exact(q)) * (ONE - tail - tail);
        Self { density: Some(density), atoms: vec![(ZERO, mass.clamp_positive())], infinite: ZERO }
    }
}

impl Density {
    /// The density of the loss of p against q. Laplace losses vary between the two centres only: beyond are atoms.
    fn new(noise: NoiseShape, s: f64, p: TwoPointMixture, q: TwoPointMixture) -> Self {
        let centre = p.centre + q.centre;
        let edges = match noise {
            NoiseShape::Gaussian => (f64::NEG_INFINITY, f64::INFINITY),
            NoiseShape::Laplace => (centre.min(0.0), centre.max(0.0)),
        };
        Self { noise, s, p, q, folded: false, edges }
    }

    /// The atoms outside the edges, where a Laplace ratio is constant.
    fn end_atoms(&self) -> Vec<(Interval, Interval)> {
        if self.noise == NoiseShape::Gaussian {
            return Vec::new();
        }
        let (low, high) = self.edges;
        let below = (self.loss(Interval::exact(low)), self.mass(self.p, f64::NEG_INFINITY, low));
        let above = (self.loss(Interval::exact(high)), self.mass(self.p, high, f64::INFINITY));
        vec![below, above]
    }

    /// The privacy loss log p(x)/q(x) at a coordinate.
    pub(super) fn loss(&self, x: Interval) -> Interval {
        self.log_mixture(self.p, x) - self.log_mixture(self.q, x)
    }

    /// log(1 − rate + rate e^u), u the log ratio of the noise around the centre to that around 0.
    ///
    /// u = (cx − c²/2)/s² for Gaussian noise; (2cx − 1)/s for Laplace noise of centre c = ±1 between the edges.
    fn log_mixture(&self, m: TwoPointMixture, x: Interval) -> Interval {
        if m.rate == 0.0 {
            return ZERO;
        }
        let (c, s) = (Interval::exact(m.centre), Interval::exact(self.s));
        let u = match self.noise {
            NoiseShape::Gaussian => (c * x - c * c * HALF) / (s * s),
            NoiseShape::Laplace => (c * x + c * x - ONE) / s,
        };
        let rate = Interval::exact(m.rate);
        if m.rate == 1.0 {
            u
        } else if u.lo > 30.0 {
            u + ((ONE - rate) * (-u).exp_m1()).ln_1p()
        } else {
            (rate * u.exp_m1()).ln_1p()
        }
    }

    /// The inverse of `loss` in plain arithmetic; its error is found afterwards, by `node`.
    fn point(&self, loss: f64) -> f64 {
        let x = match (self.p.rate > 0.0, self.q.rate > 0.0) {
            (true, true) => {
                let ratio = (1.0 - self.p.rate) / self.p.rate * libm::exp(1.0 / (8.0 * self.s * self.s));
                2.0 * self.s * self.s * (0.5 * loss + libm::asinh(ratio * libm::sinh(0.5 * loss)))
            }
            (true, false) => self.unmix(self.p, loss),
            (false, _) => self.unmix(self.q, -loss),
        };
        x.clamp(self.edges.0, self.edges.1)
    }

    /// The x where `log_mixture` has this value, or the end of the axis towards which it comes closest.
    fn unmix(&self, m: TwoPointMixture, value: f64) -> f64 {
        let u = match value < 600.0 {
            true => libm::log1p((libm::expm1(value) / m.rate).max(-1.0)),
            false => value - libm::log(m.rate),
        };
        match self.noise {
            NoiseShape::Gaussian => (u * self.s * self.s + 0.5 * m.centre * m.centre) / m.centre,
            NoiseShape::Laplace => (u * self.s + 1.0) / (2.0 * m.centre),
        }
    }

    /// The node at a loss that is known up to `error`.
    ///
    /// At an edge of the support only mass inside can be misplaced: at the lower edge if the node lies above it.
    pub(super) fn node(&self, loss: f64, error: f64) -> LossNode {
        let size = if self.folded { loss.abs() } else { loss };
        let x = self.point(size);
        let there = self.loss(Interval::exact(x));
        let (above, below) = (there.hi - size, size - there.lo);
        let slack = if self.folded {
            above.max(below)
        } else if x == self.edges.0 {
            below
        } else if x == self.edges.1 {
            above
        } else {
            above.max(below)
        };
        LossNode { loss, x, slack: slack.max(0.0) + error }
    }

    /// P- and Q-mass between two nodes, the first of which has the smaller loss.
    pub(super) fn masses(&self, from: &LossNode, to: &LossNode) -> (Interval, Interval) {
        if self.folded && from.loss < 0.0 {
            (self.mass(self.q, to.x, from.x), self.mass(self.p, to.x, from.x))
        } else {
            (self.mass(self.p, from.x, to.x), self.mass(self.q, from.x, to.x))
        }
    }

    /// P-mass of losses above a node.
    pub(super) fn mass_above(&self, node: &LossNode) -> Interval {
        self.mass(self.p, node.x, self.edges.1)
    }

    /// P-mass of losses below a node.
    pub(super) fn mass_below(&self, node: &LossNode) -> Interval {
        match self.folded {
            true => self.mass(self.q, node.x, self.edges.1),
            false => self.mass(self.p, self.edges.0, node.x),
        }
    }

    /// Losses below and above which P has at most `bottom` and `top` mass (by Φ(−z) ≤ e^{−z²/2}/2), or the end of the law.
    pub(super) fn range(&self, bottom: f64, top: f64) -> LossRange {
        let reach = |mass: f64| self.s * (-2.0 * libm::log(mass)).max(0.0).sqrt();
        let (least, most) = (self.p.centre.min(0.0), self.p.centre.max(0.0));
        let at = |x: f64| {
            let l = self.loss(Interval::exact(x.clamp(self.edges.0, self.edges.1)));
            0.5 * (l.lo + l.hi)
        };
        let high = at(most + reach(top));
        let low = if self.folded { -at(reach(bottom).max(0.5)) } else { at(least - reach(bottom)) };
        LossRange { low, high }
    }

    /// The law between two losses as equidistant pieces of the coordinate: (loss, P-mass), roughly.
    ///
    /// Where the loss hardly varies its inverse is lost in rounding: the bulk of P is kept in any case.
    pub(super) fn sketch(&self, range: LossRange, pieces: usize) -> Vec<(f64, f64)> {
        let middle = |i: Interval| 0.5 * (i.lo + i.hi);
        let far = |x: f64| x.clamp(-1.0 - 40.0 * self.s, 1.0 + 40.0 * self.s);
        let bulk = |x: f64| x.clamp(self.edges.0, self.edges.1);
        let (least, most) = (bulk(self.p.centre.min(0.0) - 9.0 * self.s), bulk(self.p.centre.max(0.0) + 9.0 * self.s));
        let low = if self.folded { self.edges.0 } else { far(self.point(range.low)).min(least) };
        let width = (far(self.point(range.high)).max(most) - low) / pieces as f64;
        let mut out = Vec::with_capacity(2 * pieces);
        for i in 0..pieces {
            let (from, to) = (low + width * i as f64, low + width * (i + 1) as f64);
            let loss = middle(self.loss(Interval::exact(0.5 * (from + to))));
            out.push((loss, middle(self.mass(self.p, from, to))));
            if self.folded {
                out.push((-loss, middle(self.mass(self.q, from, to))));
            }
        }
        out
    }

    /// Mass of a mixture between two coordinates.
    fn mass(&self, m: TwoPointMixture, from: f64, to: f64) -> Interval {
        if from >= to {
            return ZERO;
        }
        let around = |centre: f64| self.noise_mass(from, to, centre);
        let rate = Interval::exact(m.rate);
        if m.rate == 0.0 {
            around(0.0)
        } else if m.rate == 1.0 {
            around(m.centre)
        } else {
            (ONE - rate) * around(0.0) + rate * around(m.centre)
        }
    }

    /// Mass of the noise around a centre, by the tail that loses no digits.
    fn noise_mass(&self, from: f64, to: f64, centre: f64) -> Interval {
        let (right, left) = (from >= centre, to <= centre);
        let standard = |x: f64| (Interval::exact(x) - Interval::exact(centre)) / Interval::exact(self.s);
        let (from, to) = (standard(from), standard(to));
        let mass = match self.noise {
            NoiseShape::Gaussian if right => (-from).phi() - (-to).phi(),
            NoiseShape::Gaussian => to.phi() - from.phi(),
            NoiseShape::Laplace if right => -((-from).exp() * (from - to).exp_m1()) * HALF,
            NoiseShape::Laplace if left => -(to.exp() * (from - to).exp_m1()) * HALF,
            NoiseShape::Laplace => ONE - (from.exp() + (-to).exp()) * HALF,
        };
        mass.clamp_positive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a loss hardly varies, its inverse is lost in rounding: the node says by how much.
    #[test]
    fn a_node_says_how_far_it_is_from_its_loss() {
        let law = LossLaw::new(&DominatingPair::GaussianRemove { q: 1e-6, s: 0.05 });
        let density = law.density.as_ref().unwrap();
        let mut most = 0.0_f64;
        for i in 0..400 {
            // The least loss is log(1 − q), and the law comes close to it for all x well below 1/2.
            let loss = libm::log1p(-1e-6) * (1.0 - 1e-3 * f64::from(i));
            let node = density.node(loss, 0.0);
            let there = density.loss(Interval::exact(node.x));
            let off = (0.5 * (there.lo + there.hi) - loss).abs();
            assert!(node.slack >= off, "{i}: {:e} {off:e}", node.slack);
            most = most.max(off);
        }
        assert!(most > 0.0, "no node is where it should be to the last digit");
    }
}
