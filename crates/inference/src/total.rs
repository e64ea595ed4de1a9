//! Exact sums of damped integer changes.

use crate::settings::Damping;
use privacy::{Grid, GridVector};
use serde::{Deserialize, Serialize};

/// An integer vector in units of 2^−exponent: fine enough that a damped change is a whole number of units.
///
/// Sums are exact, so that laws about them are equalities: the total is the sum of the factors, whatever was damped,
/// noised, lost or came late.
///
/// With changes on a grid of 2^−g and ρ a multiple of 2^−20, a damped change is a whole number of units
/// of 2^−(g + 20). Addition of integers does not depend on the order, so that late and lost answers
/// leave no rounding behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// A unit is 2^−exponent.
    exponent: i32,
    /// One integer for each coordinate.
    units: Vec<i128>,
}

impl Total {
    /// Zero, on a grid that takes damped changes of this grid exactly.
    pub fn zeros(dimension: usize, finest: Grid) -> Self {
        Self { exponent: i32::from(finest) + Damping::BITS as i32, units: vec![0; dimension] }
    }

    /// ρ times a change, in units of this total; none if the change has another dimension or a finer grid.
    pub fn damped(&self, change: &GridVector, damping: Damping) -> Option<Self> {
        let shift = self.shift(change)?;
        let factor = i128::from(damping.parts()) << shift;
        Some(Self { exponent: self.exponent, units: change.units().iter().map(|&u| i128::from(u) * factor).collect() })
    }

    /// Whether a change has the dimension of this total and a grid that it can hold.
    pub fn takes(&self, change: &GridVector) -> bool {
        self.shift(change).is_some()
    }

    /// By how many bits a damped change is shifted onto this total's grid; none if it does not fit.
    fn shift(&self, change: &GridVector) -> Option<i32> {
        let shift = self.exponent - i32::from(change.grid()) - Damping::BITS as i32;
        // 63 bits of a change, 20 of damping and 40 of shift stay within i128.
        (change.units().len() == self.units.len() && (0..=40).contains(&shift)).then_some(shift)
    }

    /// Adds another total of the same grid. Wraps far beyond any use, so that addition stays associative.
    pub fn add(&mut self, other: &Self) {
        self.units.iter_mut().zip(&other.units).for_each(|(t, o)| *t = t.wrapping_add(*o));
    }

    /// The sum of several, or none if there are none.
    pub fn sum<'a>(totals: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut totals = totals.into_iter();
        let mut sum = totals.next()?.clone();
        totals.for_each(|t| sum.add(t));
        Some(sum)
    }

    /// Coordinates as real numbers.
    pub fn values(&self) -> Vec<f64> {
        self.units.iter().map(|&u| libm::scalbn(u as f64, -self.exponent)).collect()
    }

    /// True if the other has the same grid and dimension, so that their sum is one.
    pub fn is_like(&self, other: &Self) -> bool {
        self.exponent == other.exponent && self.units.len() == other.units.len()
    }

    /// Number of coordinates.
    pub fn dimension(&self) -> usize {
        self.units.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(units: &[i64], exponent: i32) -> GridVector {
        serde_json::from_value(serde_json::json!({ "grid": exponent, "units": units })).unwrap()
    }

    #[test]
    fn damped_changes_are_exact_on_the_grid_of_the_total() {
        let total = Total::zeros(2, Grid::new(24).unwrap());
        let rho = Damping::new(0.3).unwrap();
        let damped = total.damped(&change(&[3, -5], 24), rho).unwrap();
        assert_eq!(damped.units, [3 * i128::from(rho.parts()), -5 * i128::from(rho.parts())]);
        let coarse = total.damped(&change(&[3, -5], 20), Damping::NONE).unwrap();
        assert_eq!(coarse.values(), [3.0 / 1_048_576.0, -5.0 / 1_048_576.0]);
        assert!(total.damped(&change(&[1, 1], 25), rho).is_none());
        assert!(total.damped(&change(&[1], 24), rho).is_none());
    }

    #[test]
    fn the_order_of_additions_does_not_matter() {
        let total = Total::zeros(1, Grid::new(24).unwrap());
        let parts: Vec<Total> = [i64::MAX, -7, i64::MIN, 12]
            .iter()
            .map(|&u| total.damped(&change(&[u], 20), Damping::NONE).unwrap())
            .collect();
        assert_eq!(Total::sum(&parts), Total::sum(parts.iter().rev()));
    }
}
