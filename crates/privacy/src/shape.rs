//! The public shape of a clipped sum: its dimension, bound, grain, and the integer grid that it lives on.
//!
//! Floating-point sums depend on the order of their terms, and their low bits can tell a row apart. Here numbers live on an
//! integer grid of 2^−k: clipping, summing and noise are exact, and the conversion back is post-processing. The grid is chosen
//! from public numbers alone, so that the noise has between 2^16 and 2^24 units ([`Grid::for_noise`]).

use crate::{Grain, NormBound, PrivacyError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest clipping bound on the grid, in units: keeps squared norms within u128 for any dimension.
const MOST_UNITS: f64 = (1_u64 << 40) as f64;

/// Most coordinates of a vector.
const MOST_COORDINATES: usize = 100_000_000;

/// A lattice of multiples of 2^−exponent.
///
/// # Examples
///
/// ```
/// use privacy::{Grid, NormBound};
///
/// // Rows clipped to 1 and noise of standard deviation 4: a grid on which the noise has 2^16 to 2^24 units.
/// let grid = Grid::for_noise(NormBound::new(1.0)?, 4.0)?;
/// assert!((65_536.0..16_777_216.0).contains(&(4.0 / grid.value(1))));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i32", into = "i32")]
pub struct Grid {
    exponent: i32,
}

impl Grid {
    /// The grid of unit 2^−exponent.
    pub fn new(exponent: i32) -> Result<Self, PrivacyError> {
        if !(-900..=900).contains(&exponent) {
            return Err(PrivacyError::Parameter {
                name: "grid exponent",
                found: exponent.to_string(),
                expected: "a whole number from -900 to 900",
            });
        }
        Ok(Self { exponent })
    }

    /// A grid on which noise of this deviation has 2^20 to 2^21 units, or the bound at least 2^12 of them.
    ///
    /// Fine enough that rounding is invisible beside the noise, coarse enough that sums stay far from 2^63.
    pub fn for_noise(bound: NormBound, deviation: f64) -> Result<Self, PrivacyError> {
        let exponent_of = |x: f64| libm::frexp(x).1 - 1;
        Self::new((20 - exponent_of(deviation)).max(12 - exponent_of(bound.get())))
    }

    /// k, where a unit is 2^−k.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The size of one unit.
    pub fn unit(&self) -> f64 {
        power_of_two(-self.exponent)
    }

    /// How many units, not rounded: exact unless it leaves the range of f64.
    pub fn in_units(&self, x: f64) -> f64 {
        x * power_of_two(self.exponent)
    }

    /// The real number that an integer stands for. Exact up to 2^53 units.
    pub fn value(&self, units: i64) -> f64 {
        units as f64 * self.unit()
    }
}

/// 2^exponent, for exponents of normal numbers: −1022 to 1023. Multiplying by it rounds only where f64 ends.
pub(crate) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent).unsigned_abs() as u64) << 52)
}

impl TryFrom<i32> for Grid {
    type Error = PrivacyError;
    fn try_from(exponent: i32) -> Result<Self, PrivacyError> {
        Self::new(exponent)
    }
}

impl From<Grid> for i32 {
    fn from(grid: Grid) -> i32 {
        grid.exponent
    }
}

/// Everything public about a sum of clipped vectors. A sum and the gate that releases it are built from one shape.
///
/// # Examples
///
/// ```
/// use privacy::{Grain, Grid, NormBound, Shape};
///
/// let bound = NormBound::new(1.0)?;
/// let shape = Shape::new(10, bound, Grain::Example, Grid::new(20)?)?;
/// assert_eq!((shape.dimension(), shape.bound_units()), (10, 1 << 20));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ShapeAsTyped")]
pub struct Shape {
    dimension: usize,
    bound: NormBound,
    grain: Grain,
    grid: Grid,
}

/// `Shape` as it may stand in a file, before it is checked.
#[derive(Deserialize)]
struct ShapeAsTyped {
    dimension: usize,
    bound: NormBound,
    grain: Grain,
    grid: Grid,
}

impl TryFrom<ShapeAsTyped> for Shape {
    type Error = PrivacyError;
    fn try_from(t: ShapeAsTyped) -> Result<Self, PrivacyError> {
        Self::new(t.dimension, t.bound, t.grain, t.grid)
    }
}

impl Shape {
    /// Checks that the bound has at least one and at most 2^40 units on the grid.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] outside 1 to 10^8 coordinates, or if the grid is too coarse or too fine for the bound.
    pub fn new(dimension: usize, bound: NormBound, grain: Grain, grid: Grid) -> Result<Self, PrivacyError> {
        let units = grid.in_units(bound.get());
        if !(1..=MOST_COORDINATES).contains(&dimension) || !(1.0..=MOST_UNITS).contains(&units) {
            return Err(PrivacyError::Parameter {
                name: "shape",
                found: format!("{dimension} coordinates, a bound of {units} grid units"),
                expected: "1 to 10^8 coordinates, and a bound of 1 to 2^40 grid units",
            });
        }
        Ok(Self { dimension, bound, grain, grid })
    }

    /// d: the number of coordinates of every vector of the sum.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// C as declared, in real units.
    pub fn bound(&self) -> NormBound {
        self.bound
    }

    /// What one clipped vector was computed from.
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// The grid on which the sum is kept and the noise is added.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// √2·C: what vectors without negative coordinates are clipped to under substitution ([`crate::Bounded::non_negative`]),
    /// and outer products nearly ([`crate::Bounded::outer_products`]). A scale for those who push them; what is
    /// enforced is decided in integers.
    pub fn non_negative_bound(&self) -> f64 {
        std::f64::consts::SQRT_2 * self.bound.get()
    }

    /// ⌊√(2·⌊C·2^k⌋²)⌋: the same bound as it is enforced.
    pub(crate) fn non_negative_bound_units(&self) -> u64 {
        let bound = u128::from(self.bound_units());
        (2 * bound * bound).isqrt() as u64
    }

    /// ⌊C·2^k⌋: the bound that is enforced in integers. Never above C.
    pub fn bound_units(&self) -> u64 {
        self.grid.in_units(self.bound.get()).floor() as u64
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grain = match self.grain {
            Grain::Example => "each example".into(),
            Grain::Whole => "the whole change".into(),
            Grain::Part { count } => format!("each of {count} parts"),
            Grain::Person => "each person".into(),
        };
        write!(f, "{} coordinates, {grain} clipped to {}, grid 2^{}", self.dimension, self.bound, -self.grid.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_keeps_the_noise_between_its_limits() {
        for c in [1e-9, 0.3, 1.0, 75.0, 1e12] {
            for z in [0.02, 0.5, 1.0, 33.3, 250.0] {
                let bound = NormBound::new(c).unwrap();
                let grid = Grid::for_noise(bound, z * c).unwrap();
                let units = grid.in_units(z * c);
                assert!((65_536.0..16_777_216.0).contains(&units), "C {c}, z {z}: {units}");
                assert!(Shape::new(3, bound, Grain::Whole, grid).unwrap().bound_units() >= 1 << 12);
            }
        }
    }

    #[test]
    fn a_bound_that_the_grid_cannot_hold_is_refused() {
        let bound = NormBound::new(1.0).unwrap();
        assert!(Shape::new(3, bound, Grain::Whole, Grid::new(-1).unwrap()).is_err());
        assert!(Shape::new(3, bound, Grain::Whole, Grid::new(41).unwrap()).is_err());
        assert!(Shape::new(0, bound, Grain::Whole, Grid::new(10).unwrap()).is_err());
        assert!(Grid::new(1000).is_err());
    }
}
