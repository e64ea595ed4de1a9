//! The Rényi curve of an event: a function from orders to upper bounds.
//!
//! An order α goes in, an upper bound of (α−1)·D_α comes out, for one step. Composition multiplies by the number of steps and adds.

use super::barker::{BarkerCurve, LEAST_BATCH};
use super::enclosed::EnclosedCurve;
use super::fixed_pair::FixedPair;
use super::gaussian::{concentration, laplace};
use super::mixture::MixturePair;
use super::skellam::SkellamCurve;
use super::without_replacement::FixedBatch;
use crate::accounting::Interval;
use crate::accounting::pair::{Atoms, DominatingPair, directions};
use crate::accounting::special::ln_add_exp;
use crate::{Event, Mechanism, NoiseMultiplier, PrivacyError, SamplingRate};

/// One step's curve. Divergences of a dominating pair bound the mechanism's: they are f-divergences of it
/// (Zhu, Dong, Wang 2022, section 2).
#[derive(Debug, Clone)]
pub(super) enum RenyiCurve {
    /// A line, D_α ≤ ρα: unsampled Gaussian noise and what is concentrated like it.
    Line { rho: f64 },
    /// Laplace noise of scale s.
    Laplace { s: f64 },
    /// Gaussian noise on Poisson batches, as a pair of mixtures.
    Mixture(MixturePair),
    /// Batches of fixed size: two upper bounds.
    Fixed(FixedPair, FixedBatch),
    /// A sum of Skellam shares.
    Skellam(SkellamCurve),
    /// A Barker test on all rows or on batches of fixed size.
    Barker(BarkerCurve),
    /// (loss, log P-probability) of finitely many outcomes.
    Finite(Vec<(Interval, Interval)>),
    /// A shuffle, between two laws.
    Enclosed(EnclosedCurve),
}

impl RenyiCurve {
    /// The curves of an event in its two directions, which may be the same.
    pub(super) fn both(event: &Event) -> Result<(Self, Option<Self>), PrivacyError> {
        if let Some(rho) = concentration(event) {
            return Ok((Self::Line { rho }, None));
        }
        if let Mechanism::SkellamSum { noise_multiplier, shares, share_deviation, dimension } = event.mechanism() {
            // Symmetric noise: both directions are the same.
            let skellam = SkellamCurve::new(*noise_multiplier, *shares, *share_deviation, *dimension);
            return Ok((Self::Skellam(skellam), None));
        }
        if let Mechanism::BarkerTest { batch, slack } = event.mechanism() {
            if batch.get() < LEAST_BATCH {
                return Err(unsupported(event));
            }
            // The theorem holds for both orders of the neighbours.
            let barker = BarkerCurve { batch: batch.get(), slack: slack.get(), rate: event.sampling().rate() };
            return Ok((Self::Barker(barker), None));
        }
        let mut pairs = directions("rdp", std::slice::from_ref(event))?.into_iter().flatten().map(|(pair, _)| pair);
        let first = Self::of(event, pairs.next())?;
        let second = match pairs.next() {
            // The remove direction bounds both: see `MixturePair::remove`.
            None | Some(DominatingPair::GaussianAdd { .. }) => None,
            other => Some(Self::of(event, other)?),
        };
        Ok((first, second))
    }

    /// The curve of one direction; refused where the pair has an infinite divergence or no formula here.
    fn of(event: &Event, pair: Option<DominatingPair>) -> Result<Self, PrivacyError> {
        match pair {
            Some(DominatingPair::GaussianRemove { q, s }) => Ok(Self::Mixture(MixturePair::remove(q, s))),
            Some(DominatingPair::GaussianSubstitute { q, s }) => Ok(Self::Mixture(MixturePair::substitute(q, s))),
            Some(DominatingPair::GaussianFixed { q, s }) => {
                let batch = FixedBatch::new(SamplingRate::new(q)?, NoiseMultiplier::new(s)?);
                Ok(Self::Fixed(FixedPair::new(q, s), batch))
            }
            Some(DominatingPair::Laplace { s }) => Ok(Self::Laplace { s }),
            Some(DominatingPair::Finite(atoms)) if atoms.infinite == 0.0 => Ok(Self::Finite(outcomes(&atoms))),
            Some(DominatingPair::Enclosed(law)) if law.largest_loss().is_finite() => {
                Ok(Self::Enclosed(EnclosedCurve::new(&law, event.sampling().rate())))
            }
            _ => Err(unsupported(event)),
        }
    }

    /// Upper bound of (α−1)·D_α.
    pub(super) fn cumulant(&self, order: f64) -> f64 {
        match self {
            Self::Line { rho } => (Interval::exact(*rho) * Interval::exact(order) * Interval::exact(order - 1.0)).hi,
            Self::Laplace { s } => laplace(*s, order),
            Self::Mixture(pair) => pair.cumulant(order),
            Self::Fixed(pair, batch) => pair.cumulant(order).min(batch.cumulant(order)),
            Self::Skellam(noise) => noise.cumulant(order),
            Self::Barker(test) => test.cumulant(order),
            Self::Enclosed(law) => law.cumulant(order),
            Self::Finite(outcomes) => {
                let less = Interval::exact(order - 1.0);
                let nothing = Interval::exact(f64::NEG_INFINITY);
                outcomes.iter().fold(nothing, |sum, &(loss, ln_p)| ln_add_exp(sum, ln_p + less * loss)).hi.max(0.0)
            }
        }
    }
}

impl RenyiCurve {
    /// Probability of outcomes that `kept` leaves out in each step.
    pub(super) fn cut(&self) -> f64 {
        if let Self::Enclosed(law) = self { law.cut() } else { 0.0 }
    }

    /// Upper bound of log E_P[e^{(α−1)L}] over all outcomes but those that were cut.
    pub(super) fn kept(&self, order: f64) -> f64 {
        if let Self::Enclosed(law) = self { law.kept(order) } else { self.cumulant(order) }
    }
}

/// (α−1)·D_α from above at any order, from a bound of it at integers from two on.
///
/// It is convex in α (van Erven, Harremoës 2014, Corollary 2), so between integers a chord bounds it; at α = 1 it is 0.
pub(super) fn between_integers(order: f64, at: impl Fn(f64) -> f64) -> f64 {
    let (floor, part) = (order.floor(), order - order.floor());
    let below = if floor < 2.0 { 0.0 } else { at(floor) };
    if part == 0.0 {
        return below;
    }
    let exact = Interval::exact;
    (exact(1.0 - part) * exact(below) + exact(part) * exact(at(floor + 1.0))).hi
}

/// Outcomes with their rounding made good: probabilities within 2^-50 of the meant ones, a loss the difference of two
/// logarithms of such. The meant probabilities are those that were given; their sums are not corrected.
fn outcomes(atoms: &Atoms) -> Vec<(Interval, Interval)> {
    let widened = |&(loss, p): &(f64, f64)| {
        let ln_p = Interval::exact(p).ln();
        let slack = (1.0 + loss.abs() + ln_p.lo.abs()) * (4.0 * f64::EPSILON);
        let around = |x: Interval| x + Interval::new(-slack, slack);
        (around(Interval::exact(loss)), around(ln_p))
    };
    atoms.finite.iter().map(widened).collect()
}

/// A refusal, with accountants that know the event.
fn unsupported(event: &Event) -> PrivacyError {
    let hint = match event.mechanism() {
        Mechanism::Laplace { .. } => "sampled Laplace noise is accounted by `pld`",
        Mechanism::BarkerTest { .. } => "the theorem on Barker tests begins at batches of 7 rows: use larger ones",
        Mechanism::Approximate { .. } => "an (ε, δ) mechanism has no finite Rényi divergence: use `optimal` or `pld`",
        _ => "outcomes that one data set cannot produce have no finite Rényi divergence: use `pld`",
    };
    PrivacyError::Unsupported { accountant: "rdp", event: event.to_string(), hint }
}
