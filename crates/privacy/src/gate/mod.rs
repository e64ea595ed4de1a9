//! Gates: the only way from a clipped sum to a released number, each with its unit, its trust and its noise.
//!
//! | gate | who adds noise | who may see a message |
//! |---|---|---|
//! | [`LocalGate`] | the site | anyone |
//! | [`CuratorGate`] with a [`Curator`] | the curator, once | the curator |
//! | [`CuratorGate`] with a secure sum | each node | nobody; the total is opened |
//! | [`ShareGate`] | each client, a share | nobody; the total is opened |
//! | [`BarkerGate`] | the site, for an acceptance test | anyone |
//! | [`ResponseGate`] | each user, by randomised response | the shuffler, as counts |
//! | [`OpenGate`] | nobody, at infinite cost | anyone |
//! | [`AgentGate`] | one of the above, in production | as above |
//!
//! Every gate checks, in this order: the sum has the gate's shape, the sum was made from the gate's own batch, and a step of
//! the charge is left. Noise for a release is drawn before the sum arrives.

mod agent;
mod barker;
mod curator;
mod local;
mod open;
mod response;
mod share;
mod shared_noise;

pub use agent::AgentGate;
pub use barker::BarkerGate;
pub(crate) use curator::check_match;
pub use curator::{Curator, CuratorGate};
pub use local::LocalGate;
pub use open::OpenGate;
pub use response::{ResponseGate, ShuffledRound, Shuffler, UserReport};
pub use share::{Cohort, ShareGate, ShareNoise};
pub use shared_noise::event_under_bound;

use crate::batch::Batch;
use crate::bounded::Reach;
use crate::noise::RoundedGaussian;
use crate::{
    Adjacency, Bounded, Event, Mechanism, Outgoing, PrivacyError, Released, Sampling, Shape, Trust, sensitivity_factor,
};

/// Where noise enters and who is trusted. Every call of `release` or `send` uses up one step of a charged event.
///
/// A gate is built from the receipt of a charge. Every kind has a `check` of event and shape beside its constructor, for
/// those who ask before they charge.
pub trait Gate {
    /// The shape of the sums that this gate takes.
    fn shape(&self) -> &Shape;

    /// Draws the rows of the next step in the way that the charged event names; the persons, where these are its unit, and
    /// `rows` is how many persons there are.
    ///
    /// The batch is good for one release at this gate.
    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError>;

    /// Noises the sum and writes it into a released vector, without allocating.
    ///
    /// Under a secure sum or a curator nothing is released at the client: [`PrivacyError::WrongGate`].
    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError>;

    /// Turns the sum into what travels.
    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError>;
}

/// Sensitivity of a sum in whole grid units: the factor of the relation times the enforced integer bound.
///
/// A whole change, or a part of one, is computed from all rows: to charge it at a sampling rate would claim an
/// amplification that is not there.
pub(crate) fn sensitivity_units(shape: &Shape, event: &Event, trust: Trust) -> Result<u64, PrivacyError> {
    if !shape.grain().is_by_unit() && *event.sampling() != Sampling::None {
        return Err(PrivacyError::NoTheorem {
            what: format!("{} for a sum in which {shape}", event.sampling()),
            why: "only a sum with one clipped vector for each drawn row or person is amplified by sampling",
            hint: "charge the event without sampling, or clip each example or person",
        });
    }
    let factor = sensitivity_factor(shape.grain(), event.unit(), event.adjacency(), trust)?;
    Ok(factor * shape.bound_units())
}

/// Noise of z·sensitivity, rounded up, for a Gaussian event on sums of one shape, in grid units.
pub(crate) struct CalibratedNoise {
    sensitivity: u64,
    deviation: f64,
    pub(crate) gaussian: RoundedGaussian,
}

impl CalibratedNoise {
    /// Standard deviation z·sensitivity in grid units, rounded up, so that rounding adds noise and never takes it away.
    pub(crate) fn new(shape: &Shape, event: &Event, trust: Trust) -> Result<Self, PrivacyError> {
        let multiplier = gaussian_multiplier(event)?;
        let sensitivity = sensitivity_units(shape, event, trust)?;
        let deviation = (multiplier * sensitivity as f64).next_up();
        Ok(Self { sensitivity, deviation, gaussian: RoundedGaussian::new(deviation)? })
    }
}

/// z of a Gaussian event, or a refusal: other noise is not added here.
fn gaussian_multiplier(event: &Event) -> Result<f64, PrivacyError> {
    match event.mechanism() {
        Mechanism::Gaussian { noise_multiplier } => Ok(noise_multiplier.get()),
        _ => Err(PrivacyError::WrongGate {
            what: "noise other than Gaussian",
            gate: "local or curator",
            hint: "charge a Gaussian event",
        }),
    }
}

/// Checks that a sum has the gate's shape and, where rows are clipped, was made from the gate's last batch, which is void
/// from then on. A sum that is refused leaves its batch the one to release: else one could draw again for nothing.
///
/// A sum of vectors whose inner products are not negative is declared at the bound of any sign, which holds for
/// substitution only.
fn check_sum(sum: &Bounded, shape: &Shape, event: &Event, tickets: &mut Tickets) -> Result<(), PrivacyError> {
    let replaced = event.adjacency() == Adjacency::Substitute && !matches!(event.sampling(), Sampling::Poisson { .. });
    if sum.reach() != Reach::Ball && !replaced {
        return Err(PrivacyError::NoTheorem {
            what: format!("a sum of {} clipped to √2 times the bound", sum.reach()),
            why: "adding, removing or sampling one row moves the sum by more than the bound",
            hint: "account for substitution without sampling, or clip each vector to the bound itself",
        });
    }
    if sum.shape() != shape {
        return Err(PrivacyError::Shape { found: sum.shape().to_string(), expected: shape.to_string() });
    }
    if !sum.is_complete() {
        return Err(PrivacyError::Shape {
            found: "a sum that lacks rows of a person".into(),
            expected: "every row of every person of the batch, or none".into(),
        });
    }
    if sum.ticket() != tickets.current {
        return Err(PrivacyError::Shape {
            found: "rows that this gate did not draw for this release".into(),
            expected: "the rows of the gate's last batch, each used once".into(),
        });
    }
    tickets.current = None;
    Ok(())
}

/// Numbers batches so that each is released at most once, by the gate that drew it.
#[derive(Debug)]
struct Tickets {
    next: u64,
    current: Option<u64>,
    rows: Option<usize>,
}

impl Tickets {
    /// Starts at a number taken from the gate's stream, so that gates do not take each other's batches.
    fn starting_at(number: u64) -> Self {
        Self { next: number, current: None, rows: None }
    }

    /// A ticket for the next batch of these rows. A batch that was drawn must be released before another is: to draw
    /// again until a row is in would undo the sampling. The number of rows stays what it was at first.
    fn issue(&mut self, rows: usize) -> Result<u64, PrivacyError> {
        if self.current.is_some() || self.rows.is_some_and(|known| known != rows) {
            return Err(PrivacyError::WrongGate {
                what: "drawing a second batch before a release, or from another number of rows",
                gate: "sampling",
                hint: "release the sum of each batch before drawing the next, always from the same rows",
            });
        }
        self.rows = Some(rows);
        self.next = self.next.wrapping_add(1);
        self.current = Some(self.next);
        Ok(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grain;
    use crate::exact_float::fixed;
    use crate::{Grid, NoiseMultiplier, NormBound, Steps};

    /// σ ≥ z·sensitivity without rounding, and hardly more.
    #[test]
    fn noise_is_rounded_up_from_z_times_the_sensitivity() {
        for k in 0..2000_u32 {
            let (z, bound) = (0.7 + f64::from(k) * 0.001_237, NormBound::new(1.0 + f64::from(k) * 0.017).unwrap());
            let shape = Shape::new(1, bound, Grain::Example, Grid::new(12).unwrap()).unwrap();
            let event = Event::gaussian(NoiseMultiplier::new(z).unwrap(), Adjacency::Substitute, Steps::ONE);
            let noise = CalibratedNoise::new(&shape, &event, Trust::Local).unwrap();
            let promised = fixed(z) * (2 * shape.bound_units());
            assert!(fixed(noise.deviation) >= promised, "{z} times {}", noise.sensitivity);
            assert!(fixed(noise.deviation * (1.0 - 1e-15)) < promised, "{z} times {}", noise.sensitivity);
        }
    }
}
