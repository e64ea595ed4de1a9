//! Made-up rows of a conjugate family, whose parameters are drawn from its prior by the seed.

use super::synthetic::{dealt, generator_of};
use super::{Federation, Row, Rows};
use crate::conjugate::ConjugateFamily;
use crate::{DataError, RowStatistics};
use std::sync::Arc;

/// Clients with equally many rows of one law, which has no input that is looked at.
///
/// θ is drawn from the family's prior and every outcome from its likelihood at θ; counts and numbers are held to bounds.
#[derive(Debug, Clone)]
pub struct SyntheticConjugate {
    /// M.
    pub clients: usize,
    /// Rows of each client.
    pub rows: usize,
    /// Rows held out.
    pub held_out: usize,
    /// The family.
    pub family: Arc<dyn ConjugateFamily>,
    /// Least and greatest outcome of a count or a number.
    pub bounds: Option<[f64; 2]>,
}

/// What came out.
#[derive(Debug)]
pub struct DrawnConjugate {
    /// The clients and the held-out rows.
    pub federation: Federation,
    /// θ.
    pub theta: Vec<f64>,
}

impl SyntheticConjugate {
    /// Draws everything from the seed. A simulated site without rows is refused: nobody meant it.
    pub fn draw(&self, seed: u64) -> Result<DrawnConjugate, DataError> {
        let mut rng = generator_of(b"conjugate", seed);
        let theta = self.family.draw(&mut rng);
        let held = |y: f64| self.bounds.map_or(y, |[low, high]| y.clamp(low, high));
        let federation = dealt(self.clients, self.rows, self.held_out, |count| {
            let mut rows = Rows::new(1, 1)?;
            for _ in 0..count {
                let outcome = held(self.family.draw_outcome(&theta, &mut rng));
                rows.push(Row { numbers: &[0.0], ones: &[], outcome })?;
            }
            Ok(rows)
        })?;
        Ok(DrawnConjugate { federation, theta })
    }

    /// How many levels outcomes have; none of numbers.
    pub fn levels(&self) -> Option<u32> {
        match self.family.asks(self.bounds) {
            Some(RowStatistics::Level { levels }) => Some(levels),
            Some(RowStatistics::Value { .. }) if self.bounds.is_none() => Some(2),
            _ => None,
        }
    }
}
