//! Sums of single numbers, many at a time, with their spread: what tests of log-likelihood ratios are made of.
//!
//! Log-likelihood ratios are one number for each row. The gate of a Barker test needs their sum and the sum of their squares;
//! both are kept in integers, and a sum that has seen anything else has no spread.

use super::{Bounded, ROUNDER, Reach};
use crate::PrivacyError;
use zeroize::Zeroizing;

impl Bounded {
    /// Adds a number for each of as many rows, each rounded to the grid and clipped to the bound by itself.
    ///
    /// For sums of one coordinate of any sign. A number that is not finite contributes exactly zero, silently: whether that
    /// happened is private.
    pub fn push_numbers(&mut self, values: &[f64]) -> Result<(), PrivacyError> {
        if self.units.len() != 1 || self.reach != Reach::Ball || self.persons.is_some() {
            return Err(PrivacyError::Shape { found: "single numbers".into(), expected: self.shape.to_string() });
        }
        if self.room - self.pushed < values.len() as u64 {
            return Err(PrivacyError::TooMany { expected: "one number for each row of its batch".into() });
        }
        self.pushed += values.len() as u64;
        let (scale, bound) = (self.clip.scale, self.clip.bound as f64);
        let (mut sum, mut squares) = (0_i64, 0_u128);
        for &value in values {
            let held = if value.is_finite() { (value * scale).clamp(-bound, bound) } else { 0.0 };
            let units = nearest_integer(held);
            sum = sum.wrapping_add(units);
            squares += u128::from(units.unsigned_abs()) * u128::from(units.unsigned_abs());
        }
        self.units[0] = self.units[0].wrapping_add(sum);
        self.squares = self.squares().map(|so_far| Zeroizing::new(so_far.saturating_add(squares)));
        Ok(())
    }
}

/// The nearest integer to a, for |a| < 2^51: it stands in the low bits of a + [`ROUNDER`].
#[inline(always)]
fn nearest_integer(a: f64) -> i64 {
    (a + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits()).cast_signed()
}

#[cfg(test)]
mod tests {
    use crate::batch::{Batch, BatchSampler};
    use crate::{Bounded, Grain, Grid, NormBound, PrivacyError, Sampling, Shape};
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn sum(rows: usize, dimension: usize) -> Bounded {
        let shape = Shape::new(dimension, NormBound::new(1.0).unwrap(), Grain::Example, Grid::new(4).unwrap()).unwrap();
        let mut batch = Batch::default();
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        BatchSampler::new(&Sampling::None).draw(&mut rng, rows, 7, &mut batch).unwrap();
        Bounded::examples(shape, &batch).unwrap()
    }

    #[test]
    fn numbers_are_clipped_one_by_one_and_what_is_none_counts_as_zero() {
        let mut one = sum(7, 1);
        one.push_numbers(&[0.5, -0.25, 3.0, -1e300]).unwrap();
        one.push_numbers(&[f64::NAN, f64::INFINITY, 0.03]).unwrap();
        // In sixteenths: 8 − 4 + 16 − 16 + 0 + 0 + 0.
        assert_eq!((one.units(), one.squares()), (&[4][..], Some(64 + 16 + 256 + 256)));
        assert!(matches!(one.push_numbers(&[0.0]), Err(PrivacyError::TooMany { .. })));
        assert!(matches!(sum(3, 2).push_numbers(&[0.0]), Err(PrivacyError::Shape { .. })));
    }

    /// The sum of numbers is that of vectors of one coordinate; only the first knows its spread.
    #[test]
    fn numbers_are_vectors_of_one_coordinate() {
        let values = [0.4, -0.9, 0.123, -0.007, 0.99];
        let (mut numbers, mut vectors) = (sum(5, 1), sum(5, 1));
        numbers.push_numbers(&values).unwrap();
        values.iter().for_each(|v| vectors.push(&[*v]).unwrap());
        assert_eq!(numbers.units(), vectors.units());
        assert_eq!(vectors.squares(), None);
    }
}
