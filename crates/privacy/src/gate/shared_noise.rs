//! One noise for sites that clip to different bounds: what it is for each of them.
//!
//! A sum over all sites gets noise of one deviation σ = z·Δ, sized for one bound. A unit of site m moves the sum by at most Δ_m, the
//! factor of the relation times the site's own bound C_m. For this unit the sum is a Gaussian mechanism of multiplier σ/Δ_m, since the cost of
//! Gaussian noise depends on σ/Δ alone (Balle, Wang 2018, Theorem 8; with sampling, on σ/Δ and the rate): with the same noise a site
//! with half of the bound spends what twice the multiplier costs (`docs/maths/group-and-overlap.md`).

use super::{gaussian_multiplier, sensitivity_units};
use crate::outgoing::Contribution;
use crate::{Event, Mechanism, NoiseMultiplier, PrivacyError, Shape, Trust};

/// The event of a site whose vectors have a bound of their own, under the noise of a sum of this event and shape.
///
/// The multiplier is σ/Δ_m in grid units, rounded down until the noise of the sum covers it. The shapes may differ in their bounds only.
///
/// # Examples
///
/// ```
/// use privacy::{Adjacency, Event, Grain, Grid, NoiseMultiplier, NormBound, Shape, Steps, event_under_bound};
///
/// let shape = |bound: f64| Shape::new(3, NormBound::new(bound)?, Grain::Example, Grid::new(20)?);
/// let event = Event::gaussian(NoiseMultiplier::new(4.0)?, Adjacency::Substitute, Steps::ONE);
/// let own = event_under_bound(&event, &shape(1.0)?, &shape(0.5)?)?;
/// let z = own.noise_multiplier().map_or(0.0, NoiseMultiplier::get);
/// assert!((z - 8.0).abs() < 1e-12, "half of the bound, twice the multiplier");
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
///
/// # Errors
///
/// [`PrivacyError::WrongGate`] for other noise than Gaussian, and [`PrivacyError::Shape`] for shapes that differ in more than the bound.
pub fn event_under_bound(event: &Event, shape: &Shape, own: &Shape) -> Result<Event, PrivacyError> {
    if !differ_in_bound(shape, own) {
        return Err(PrivacyError::Shape { found: own.to_string(), expected: format!("{shape}, but for the bound") });
    }
    let deviation = deviation(event, shape)?;
    let mut z = deviation / sensitivity_units(own, event, Trust::Aggregate)? as f64;
    loop {
        let found = with_multiplier(event, NoiseMultiplier::new(z)?)?;
        if self::deviation(&found, own)? <= deviation {
            return Ok(found);
        }
        z = z.next_down();
    }
}

/// Whether a contribution was charged for no more noise than a sum of this event and shape gets, and is like it but for the bound.
pub(super) fn covers(event: &Event, shape: &Shape, one: &Contribution) -> bool {
    let like = |z| with_multiplier(event, z).is_ok_and(|like| like == one.event.repeated(event.steps()));
    let asked = deviation(&one.event, &one.shape);
    differ_in_bound(shape, &one.shape)
        && one.event.noise_multiplier().is_some_and(like)
        && matches!((asked, deviation(event, shape)), (Ok(asked), Ok(given)) if asked <= given)
}

/// σ in grid units, as a gate adds it: z·Δ, rounded up.
fn deviation(event: &Event, shape: &Shape) -> Result<f64, PrivacyError> {
    Ok((gaussian_multiplier(event)? * sensitivity_units(shape, event, Trust::Aggregate)? as f64).next_up())
}

/// Whether sums of both shapes can be added up.
fn differ_in_bound(one: &Shape, other: &Shape) -> bool {
    (one.dimension(), one.grain(), one.grid()) == (other.dimension(), other.grain(), other.grid())
}

/// The same Gaussian event with another multiplier.
fn with_multiplier(event: &Event, noise_multiplier: NoiseMultiplier) -> Result<Event, PrivacyError> {
    gaussian_multiplier(event)?;
    let mechanism = Mechanism::Gaussian { noise_multiplier };
    Event::new(mechanism, event.adjacency(), event.unit(), *event.sampling(), event.steps())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_float::fixed;
    use crate::noise::{NoiseContext, Seeded};
    use crate::{
        Adjacency, Batch, Bounded, Curator, CuratorGate, Gate, Grain, Grant, Grid, Ledger, MemoryJournal, NormBound,
        Steps,
    };

    fn shape(bound: f64) -> Shape {
        Shape::new(2, NormBound::new(bound).unwrap(), Grain::Example, Grid::new(16).unwrap()).unwrap()
    }

    fn event(z: f64) -> Event {
        Event::gaussian(NoiseMultiplier::new(z).unwrap(), Adjacency::Substitute, Steps::ONE)
    }

    /// z_m·Δ_m ≤ σ without rounding, and hardly less.
    #[test]
    fn the_multiplier_of_a_site_is_rounded_down_from_the_noise_that_there_is() {
        for k in 0..2_000_u32 {
            let (z, own) = (0.7 + f64::from(k) * 0.001_237, shape(0.05 + f64::from(k) * 0.003));
            let found = event_under_bound(&event(z), &shape(1.0), &own).unwrap();
            let multiplier = found.noise_multiplier().unwrap().get();
            let given = deviation(&event(z), &shape(1.0)).unwrap();
            let sensitivity = 2 * own.bound_units();
            assert!(fixed(multiplier) * sensitivity <= fixed(given), "{z}");
            assert!(fixed(multiplier * (1.0 + 1e-14)) * sensitivity > fixed(given), "{z}");
        }
    }

    /// A site that clips to twice the bound is taken by a sum only if it was charged for what that costs.
    #[test]
    fn a_contribution_that_the_noise_does_not_cover_is_refused() {
        let (mut source, round) = (Seeded::new(3), NoiseContext::default());
        let mut taken = |charged: &Event, own: Shape| {
            let mut journal = MemoryJournal::default();
            let receipt = Ledger::open(Grant::Unlimited, &mut journal).unwrap().charge(charged, &mut journal).unwrap();
            let mut gate = CuratorGate::new(receipt, own, &mut source, &round).unwrap();
            let mut batch = Batch::default();
            gate.batch(1, &mut batch).unwrap();
            let mut sum = Bounded::examples(own, &batch).unwrap();
            sum.push(&[0.1, 0.2]).unwrap();
            let mut curator = Curator::new(&event(4.0), shape(1.0), &mut source, &round, None).unwrap();
            curator.add(gate.send(&sum).unwrap()).is_ok()
        };
        for bound in [0.5, 1.0, 2.0] {
            let own = event_under_bound(&event(4.0), &shape(1.0), &shape(bound)).unwrap();
            assert!(taken(&own, shape(bound)), "{bound}");
        }
        assert!(!taken(&event(4.0), shape(2.0)), "twice the bound at the same multiplier");
        assert!(taken(&event(4.0), shape(0.5)), "more was charged than it costs");
        let other = Event::gaussian(NoiseMultiplier::new(2.0).unwrap(), Adjacency::AddRemove, Steps::ONE);
        assert!(!taken(&other, shape(1.0)), "another relation");
    }

    #[test]
    fn shapes_that_differ_in_more_than_the_bound_are_refused() {
        let other = Shape::new(3, NormBound::new(0.5).unwrap(), Grain::Example, Grid::new(16).unwrap()).unwrap();
        assert!(event_under_bound(&event(1.0), &shape(1.0), &other).is_err());
        let finer = Shape::new(2, NormBound::new(0.5).unwrap(), Grain::Example, Grid::new(17).unwrap()).unwrap();
        assert!(event_under_bound(&event(1.0), &shape(1.0), &finer).is_err());
    }
}
