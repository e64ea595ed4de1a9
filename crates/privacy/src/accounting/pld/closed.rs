//! Closed forms: one step of any pair, any number of Gaussian steps, and the largest loss of bounded laws.
//!
//! The contour and the grid agree with these where both apply; `tests/pld.rs` holds them to it.

use super::super::normal::gaussian_delta;
use super::super::pair::{Atoms, DominatingPair};
use super::law::LossLaw;
use super::{Bounds, Interval};
use crate::Steps;

/// One as an interval of a single float.
const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };
/// One half as an interval of a single float.
const HALF: Interval = Interval { lo: 0.5, hi: 0.5 };

/// True if the composition has a closed form: Gaussians without sampling, or a single step.
pub(super) fn covers(composition: &[(DominatingPair, Steps)]) -> bool {
    gaussian_mu(composition).is_some() || matches!(composition, [(_, steps)] if *steps == Steps::ONE)
}

/// δ(ε) of a composition that has a closed form; of any other, that it lies between 0 and 1.
pub(super) fn delta(composition: &[(DominatingPair, Steps)], epsilon: f64) -> Interval {
    match (gaussian_mu(composition), composition) {
        (Some(mu), _) => gaussian_delta(mu, Interval::exact(epsilon)),
        (None, [(pair, steps)]) if *steps == Steps::ONE => single(pair, epsilon),
        _ => Interval::new(0.0, 1.0),
    }
}

/// μ of a composition of Gaussians without sampling: μ² = Σ T / s².
///
/// Corollary 3.3 of Dong, Roth, Su 2022 (arXiv:1905.02383): T-fold composition of G_μ is G_{√T μ}.
fn gaussian_mu(composition: &[(DominatingPair, Steps)]) -> Option<Interval> {
    let mut square = Interval::exact(0.0);
    for (pair, steps) in composition {
        let DominatingPair::Gaussian { s } = pair else { return None };
        square = square + Interval::exact(steps.get() as f64) / (Interval::exact(*s) * Interval::exact(*s));
    }
    Some(square.sqrt())
}

/// δ(ε) = H_{e^ε}(P ‖ Q) of one step.
///
/// With base curve δ₀ of the unsampled pair, and ε ≥ 0:
/// remove: q δ₀(log(1 + (e^ε − 1)/q)); add: (1 − e^ε(1−q)) δ₀(−log(1 + (e^{−ε} − 1)/q)), and 0 once e^ε(1−q) ≥ 1.
/// Both follow by collecting the terms of N(0, s²) in P(E) − e^ε Q(E) on the best event E (Zhu et al. 2022, Theorem 11).
/// Without replacement equals remove for ε ≥ 0 (their Proposition 30).
pub(super) fn single(pair: &DominatingPair, epsilon: f64) -> Interval {
    let eps = Interval::exact(epsilon);
    let gaussian = |s: f64| move |e: Interval| gaussian_delta(ONE / Interval::exact(s), e);
    let laplace = |s: f64| move |e: Interval| laplace_delta(s, e);
    match pair {
        DominatingPair::Gaussian { s } => gaussian(*s)(eps),
        DominatingPair::GaussianRemove { q, s } | DominatingPair::GaussianFixed { q, s } => {
            removed(*q, eps, gaussian(*s))
        }
        DominatingPair::GaussianAdd { q, s } => added(*q, eps, gaussian(*s)),
        DominatingPair::GaussianSubstitute { q, s } => substituted(*q, *s, eps),
        DominatingPair::Laplace { s } => laplace(*s)(eps),
        DominatingPair::LaplaceRemove { q, s } => removed(*q, eps, laplace(*s)),
        DominatingPair::LaplaceAdd { q, s } => added(*q, eps, laplace(*s)),
        DominatingPair::Finite(atoms) => finite(atoms, eps),
        DominatingPair::Enclosed(laws) => {
            let bounds = laws.hockey_stick(epsilon);
            Interval::new(bounds.lower, bounds.upper)
        }
    }
}

/// q δ₀(ε₀) with e^{ε₀} = (e^ε − 1 + q)/q.
fn removed(q: f64, epsilon: Interval, base: impl Fn(Interval) -> Interval) -> Interval {
    let rate = Interval::exact(q);
    let inner = if epsilon.hi < 30.0 {
        (epsilon.exp_m1() / rate).ln_1p()
    } else {
        epsilon + (-((ONE - rate) * (-epsilon).exp())).ln_1p() - rate.ln()
    };
    rate * base(inner.clamp_positive())
}

/// (1 − e^ε(1−q)) δ₀(−ε₀) with e^{ε₀} = (e^{−ε} − 1 + q)/q.
fn added(q: f64, epsilon: Interval, base: impl Fn(Interval) -> Interval) -> Interval {
    let rate = Interval::exact(q);
    let factor = (rate - (ONE - rate) * epsilon.exp_m1()).clamp_positive();
    let argument = (-epsilon).exp_m1() / rate;
    if factor.hi <= 0.0 || argument.hi <= -1.0 {
        return Interval::exact(0.0);
    }
    if argument.lo <= -1.0 || factor.lo <= 0.0 {
        return Interval::new(0.0, factor.hi);
    }
    factor * base((-argument.ln_1p()).clamp_positive())
}

/// One step of Laplace noise of scale s: δ(ε) = 1 − e^{(ε − 1/s)/2} for ε ≤ 1/s, else 0 (Balle and Wang 2018, section 2).
fn laplace_delta(s: f64, epsilon: Interval) -> Interval {
    (-((epsilon - ONE / Interval::exact(s)) * HALF).exp_m1()).clamp_positive()
}

/// P(x > y) − e^ε Q(x > y) at the y where the loss is ε: y = 2s² (ε/2 + asinh((1−q)/(q e^{−1/8s²}) sinh(ε/2))).
fn substituted(q: f64, s: f64, epsilon: Interval) -> Interval {
    let (rate, s) = (Interval::exact(q), Interval::exact(s));
    let half = epsilon * HALF;
    let sinh = (half.exp_m1() + half.exp_m1() / half.exp()) * HALF;
    let weight = (ONE - rate) / rate * (ONE / (Interval::exact(8.0) * s * s)).exp();
    let y = Interval::exact(2.0) * s * s * (half + inverse_sinh((weight * sinh).clamp_positive()));
    let above = |centre: f64| ((Interval::exact(centre) - y) / s).phi();
    let alpha = epsilon.exp();
    let delta = rate * (above(0.5) - alpha * above(-0.5)) - (ONE - rate) * epsilon.exp_m1() * above(0.0);
    Interval::new(delta.lo.max(0.0), delta.hi.clamp(0.0, 1.0))
}

/// asinh b for b ≥ 0, in the form that does not overflow.
fn inverse_sinh(b: Interval) -> Interval {
    if b.lo > 1.0 {
        return b.ln() + (ONE + (ONE + ONE / (b * b)).sqrt()).ln();
    }
    (b + (b * b + ONE).sqrt()).ln()
}

/// Σ p (1 − e^{ε − l})₊ plus the mass of infinite loss.
fn finite(atoms: &Atoms, epsilon: Interval) -> Interval {
    let terms = atoms.finite.iter().map(|&(loss, p)| {
        let (loss, p) = atom(loss, p);
        p * (-(epsilon - loss).exp_m1()).clamp_positive()
    });
    terms.fold(probability(atoms.infinite), |sum, term| sum + term)
}

/// Enclosures of an atom's loss log p − log q and probability, as `Atoms` computes them.
///
/// Two logarithms within 4 ulp each and their difference: 16 u (|log p| + |log q|). Probabilities within 4 ulp.
pub(super) fn atom(loss: f64, p: f64) -> (Interval, Interval) {
    let log_p = libm::log(p).abs();
    let error = 8.0 * f64::EPSILON * (2.0 * log_p + loss.abs());
    (Interval::new(loss - error, loss + error), probability(p))
}

/// A probability known to 4 ulp.
pub(super) fn probability(p: f64) -> Interval {
    Interval::new(p * (1.0 - 4.0 * f64::EPSILON), p * (1.0 + 4.0 * f64::EPSILON))
}

/// The largest loss of the composition if it is bounded: Σ T max L. At that ε, and not below, δ = 0.
pub(super) fn largest_loss(composition: &[(DominatingPair, Steps)]) -> Option<Interval> {
    LargestLoss::of(composition).filter(|top| top.infinite.hi == 0.0).map(|top| top.loss)
}

/// The upper end of the loss law of a composition whose finite losses are bounded.
pub(super) struct LargestLoss {
    /// The largest finite loss.
    loss: Interval,
    /// With a probability of at least `mass` the loss is at least this.
    reached: f64,
    /// Zero where the largest loss is approached only.
    mass: f64,
    /// Probability of an infinite loss.
    infinite: Interval,
}

impl LargestLoss {
    /// Losses add up; probabilities that all steps do the same multiply.
    pub(super) fn of(composition: &[(DominatingPair, Steps)]) -> Option<Self> {
        let zero = Interval::exact(0.0);
        let (mut loss, mut reached, mut log_mass, mut log_finite) = (zero, zero, zero, zero);
        for (pair, steps) in composition {
            let count = Interval::exact(steps.get() as f64);
            loss = loss + count * single_largest_loss(pair)?;
            let (at, mass) = last_atom(pair);
            reached = reached + count * Interval::exact(at);
            log_mass = log_mass + count * Interval::exact(mass).ln();
            match pair {
                DominatingPair::Finite(atoms) if atoms.infinite > 0.0 => {
                    log_finite = log_finite + count * (-probability(atoms.infinite)).ln_1p();
                }
                _ => {}
            }
        }
        let infinite = if log_finite.lo == 0.0 { zero } else { (-log_finite.exp_m1()).clamp_positive() };
        let mass = if log_mass.lo.is_finite() { log_mass.exp().lo.max(0.0) } else { 0.0 };
        Some(Self { loss, reached: reached.lo, mass, infinite })
    }

    /// ε at δ: at most the largest loss l, if an infinite one is no likelier than δ (its probability is i).
    ///
    /// At least l + log(1 − (δ − i)/m), if the largest loss has probability m: δ(ε) ≥ i + m(1 − e^{ε − l}).
    pub(super) fn epsilon(&self, delta: f64) -> Option<Bounds> {
        if self.infinite.hi > delta {
            return None;
        }
        let rest = (Interval::exact(delta) - Interval::exact(self.infinite.lo)) / Interval::exact(self.mass);
        let lower = match self.mass > 0.0 && rest.hi < 1.0 {
            true => (Interval::exact(self.reached) + (-Interval::exact(rest.hi)).ln_1p()).lo,
            false => 0.0,
        };
        Some(Bounds::between(lower, self.loss.hi))
    }

    /// δ at an ε from the largest loss on: only infinite losses count.
    pub(super) fn delta(&self, epsilon: f64) -> Option<Bounds> {
        (epsilon >= self.loss.hi).then(|| Bounds::between(self.infinite.lo, self.infinite.hi))
    }
}

/// A loss from below and the probability from below that a step has no smaller one, (0, 0) if it has no such atom.
///
/// Of an enclosure, the lower law says so: δ is not below that law's.
fn last_atom(pair: &DominatingPair) -> (f64, f64) {
    match pair {
        DominatingPair::Enclosed(laws) => laws.lower().finite.last().copied().unwrap_or_default(),
        pair => LossLaw::new(pair).atoms.last().map_or((0.0, 0.0), |(loss, mass)| (loss.lo, mass.lo.max(0.0))),
    }
}

/// The largest finite loss of a step.
fn single_largest_loss(pair: &DominatingPair) -> Option<Interval> {
    match pair {
        DominatingPair::Laplace { s } => Some(ONE / Interval::exact(*s)),
        DominatingPair::LaplaceRemove { q, s } => {
            Some((Interval::exact(*q) * (ONE / Interval::exact(*s)).exp_m1()).ln_1p()).filter(|l| l.hi.is_finite())
        }
        DominatingPair::LaplaceAdd { q, s } => {
            Some(-(Interval::exact(*q) * (-(ONE / Interval::exact(*s))).exp_m1()).ln_1p())
        }
        DominatingPair::GaussianAdd { q, .. } => Some(-(-Interval::exact(*q)).ln_1p()),
        DominatingPair::Finite(atoms) => atoms.finite.last().map(|&(loss, p)| atom(loss, p).0),
        DominatingPair::Enclosed(laws) => {
            let most = laws.largest_loss();
            most.is_finite().then(|| Interval::new(most * (1.0 - 1e-14), most * (1.0 + 1e-14)))
        }
        _ => None,
    }
}
