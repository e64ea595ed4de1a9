//! The gate of a Barker test: noise that makes up, with a batch's own spread, the variance that the test needs.
//!
//! A Barker test compares log-likelihood ratios of a proposal. Its noise is not of one variance: the batch's own spread counts as
//! part of the variance that the test needs, and the gate adds the rest. That the spread is data is what the theorem accounts
//! for (`docs/maths/dp-mcmc.md`).

use super::{Gate, Tickets, check_sum, sensitivity_units};
use crate::batch::{Batch, BatchSampler};
use crate::journal::InMemory;
use crate::ledger::{Allowance, ChargeReceipt};
use crate::noise::{NoiseContext, NoiseSource, NoiseStream, RoundedGaussian};
use crate::outgoing::GridVector;
use crate::record::{NoiseCall, Tape};
use crate::{Bounded, Event, Grain, Mechanism, Outgoing, PrivacyError, Released, Sampling, Shape, Trust};
use rand_core::Rng;

/// Releases Σu + N(0, b(1 + L − s²)) for b numbers u within ±1, in units of the bound, s² their variance (divisor b).
///
/// Divided by √b it is the mechanism of `docs/maths/dp-mcmc.md`, rounded to the grid, which is post-processing. Its deviation
/// is a float: that of the law is off by a relative 2⁻⁵⁰ at most, which the accountant counts.
/// The noise depends on the batch, so it is drawn after the sum is handed over: timing is not hidden from whoever can
/// measure it at the site.
pub struct BarkerGate {
    shape: Shape,
    allowance: Allowance,
    law: BarkerVariance,
    sampler: BatchSampler,
    stream: NoiseStream,
    tickets: Tickets,
    tape: Option<Tape>,
}

/// What the deviation of the noise follows from.
#[derive(Debug, Clone, Copy)]
struct BarkerVariance {
    /// b, the number of rows in the batch of the test.
    batch: u64,
    /// 1 + L, the total variance of the test in units of the squared bound.
    whole: f64,
    /// B, in grid units.
    bound: u64,
}

/// Most rows of a batch: (bB)² for B of 2^40 units stays under 2^127.
const MOST_ROWS: u64 = 1 << 23;

impl BarkerVariance {
    /// Reads b and L from the charged event, and refuses other events and shapes.
    fn of(event: &Event, shape: &Shape) -> Result<Self, PrivacyError> {
        let Mechanism::BarkerTest { batch, slack } = event.mechanism() else {
            return Err(PrivacyError::WrongGate {
                what: "noise of a fixed variance",
                gate: "Barker test's",
                hint: "charge a Barker test, or use a local gate",
            });
        };
        if shape.dimension() != 1 || shape.grain() != Grain::Example || batch.get() > MOST_ROWS {
            return Err(PrivacyError::Shape {
                found: format!("{shape}, {batch} rows"),
                expected: "one number of each of at most 2^23 rows".into(),
            });
        }
        // Of a row, as the theorem is; a client's rows together are not bounded.
        sensitivity_units(shape, event, Trust::Local)?;
        let law = Self { batch: batch.get(), whole: 1.0 + slack.get(), bound: shape.bound_units() };
        // The largest noise there can be is possible: later, whether it is would go by the rows.
        RoundedGaussian::new(law.deviation(0, 0))?;
        Ok(law)
    }

    /// √(b(1 + L)B² − (bΣq² − (Σq)²)/b), in grid units, for the sum Σq and the sum of squares Σq² of the batch.
    ///
    /// bΣq² − (Σq)² is exact. It is at most (bB)², half of what it is taken from or less, so that roundings of seven operations move
    /// the difference by a relative 2⁻⁴⁹ at most, and its root by 2⁻⁵⁰.
    fn deviation(&self, sum: i64, squares: u128) -> f64 {
        let (b, bound) = (self.batch as f64, self.bound as f64);
        let apart = u128::from(sum.unsigned_abs()).pow(2);
        let spread = (u128::from(self.batch) * squares).saturating_sub(apart) as f64 / b;
        (b * self.whole * bound * bound - spread).sqrt()
    }
}

impl BarkerGate {
    /// Refuses an event and a shape that this gate could not serve.
    pub fn check(event: &Event, shape: &Shape) -> Result<(), PrivacyError> {
        BarkerVariance::of(event, shape).map(drop)
    }

    /// A gate for simulations: a charge in memory, any noise source; with a tape, it reports every noise call.
    pub fn simulated(
        receipt: ChargeReceipt<InMemory>,
        shape: Shape,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
        tape: Option<&Tape>,
    ) -> Result<Self, PrivacyError> {
        Self::new(receipt.into_allowance(), shape, source.stream(context)?, tape.cloned())
    }

    /// A gate for an allowance that was charged, on a stream of its own.
    pub(super) fn new(
        allowance: Allowance,
        shape: Shape,
        mut stream: NoiseStream,
        tape: Option<Tape>,
    ) -> Result<Self, PrivacyError> {
        let law = BarkerVariance::of(&allowance.event, &shape)?;
        let sampler = BatchSampler::new(allowance.event.sampling());
        let tickets = Tickets::starting_at(stream.next_u64());
        Ok(Self { shape, allowance, law, sampler, stream, tickets, tape })
    }

    /// Checks and pays, then gives the noised sum.
    fn noised(&mut self, sum: &Bounded) -> Result<i64, PrivacyError> {
        let (Some(squares), [total]) = (sum.squares(), sum.units()) else {
            return Err(PrivacyError::Shape {
                found: "a sum of vectors".into(),
                expected: "a sum of single numbers, whose spread is known".into(),
            });
        };
        check_sum(sum, &self.shape, &self.allowance.event, &mut self.tickets)?;
        self.allowance.take_one()?;
        let deviation = self.law.deviation(*total, squares);
        let mut noise = RoundedGaussian::new(deviation)?.sample(&mut self.stream);
        if let Some(tape) = &self.tape {
            let (input, event) = (vec![*total], self.allowance.event.clone());
            let call = NoiseCall { input, noise: vec![vec![noise]], sensitivity: 2 * self.law.bound, deviation, event };
            noise = tape.note(call).swap_remove(0).first().copied().unwrap_or(noise);
        }
        Ok(total.wrapping_add(noise))
    }
}

impl Gate for BarkerGate {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        if *self.allowance.event.sampling() == Sampling::None && rows as u64 != self.law.batch {
            return Err(PrivacyError::Shape {
                found: format!("{rows} rows"),
                expected: format!("the {} rows of the test", self.law.batch),
            });
        }
        let ticket = self.tickets.issue(rows)?;
        self.sampler.draw(&mut self.stream.branch(), rows, ticket, into)
    }

    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        let noised = self.noised(sum)?;
        let values = into.slot();
        values.clear();
        values.push(self.shape.grid().value(noised));
        Ok(())
    }

    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        let noised = self.noised(sum)?;
        Ok(Outgoing::clear(GridVector::new(self.shape.grid(), vec![noised])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Grid, NormBound, Steps, Unit, VarianceSlack};

    const LAW: BarkerVariance = BarkerVariance { batch: 5, whole: 2.0, bound: 100 };

    /// b(1 + L)B² less b times the variance.
    #[test]
    fn the_noise_makes_up_what_the_batch_is_missing() {
        let numbers = [100_i64, -100, 30, 0, 7];
        let (sum, squares) = (numbers.iter().sum::<i64>(), numbers.iter().map(|q| (q * q) as u128).sum());
        let mean = sum as f64 / 5.0;
        let variance = numbers.iter().map(|q| (*q as f64 - mean).powi(2)).sum::<f64>() / 5.0;
        let expected = (5.0 * 2.0 * 1e4 - 5.0 * variance).sqrt();
        assert!((LAW.deviation(sum, squares) / expected - 1.0).abs() < 1e-15);
        // A batch without spread gets all of it; one of ±1, half of it (L = 1).
        assert_eq!(LAW.deviation(500, 50_000), (1e5_f64).sqrt());
        let even = BarkerVariance { batch: 4, ..LAW };
        assert_eq!(even.deviation(0, 40_000), (8e4_f64 - 4e4).sqrt());
    }

    /// The exact root of the exact difference, at the largest numbers that there may be, by integers.
    #[test]
    fn the_deviation_is_right_to_a_few_units_in_the_last_place() {
        let law = BarkerVariance { batch: MOST_ROWS, whole: 2.0, bound: 1 << 40 };
        for (sum, each) in
            [(1_i64 << 60, 1_u128 << 79), (-(1 << 62), (1 << 80) - 1), (3, 12_345_678_901_234_567_890_123)]
        {
            let squares = each * u128::from(MOST_ROWS);
            let b = num_bigint::BigInt::from(MOST_ROWS);
            let numerator =
                &b * &b * 2 * (num_bigint::BigInt::from(1) << 80) - &b * squares + num_bigint::BigInt::from(sum) * sum;
            // √(numerator/b)·2^40, rounded down.
            let scaled: num_bigint::BigInt = (numerator << 80) / &b;
            let root: f64 = scaled.sqrt().to_string().parse().unwrap();
            let expected = root / (1_u64 << 40) as f64;
            let off = (law.deviation(sum, squares) / expected - 1.0).abs();
            assert!(off < 2_f64.powi(-50), "{sum}: {off}");
        }
    }

    #[test]
    fn other_events_and_shapes_are_refused() {
        let shape = |dimension| {
            Shape::new(dimension, NormBound::new(1.0).unwrap(), Grain::Example, Grid::new(10).unwrap()).unwrap()
        };
        let (batch, slack) = (Steps::new(20).unwrap(), VarianceSlack::new(1.0).unwrap());
        let test = Mechanism::BarkerTest { batch, slack };
        let event = Event::new(test, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap();
        assert!(BarkerGate::check(&event, &shape(1)).is_ok());
        assert!(matches!(BarkerGate::check(&event, &shape(2)), Err(PrivacyError::Shape { .. })));
        let gaussian = Event::gaussian(crate::NoiseMultiplier::new(1.0).unwrap(), Adjacency::Substitute, Steps::ONE);
        assert!(matches!(BarkerGate::check(&gaussian, &shape(1)), Err(PrivacyError::WrongGate { .. })));
        assert!(crate::LocalGate::check(&event, &shape(1)).is_err());
    }
}
