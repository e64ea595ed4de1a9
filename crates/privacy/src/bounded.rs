//! Sums of clipped vectors on an integer grid, which can be added to and released but not read.
//!
//! What goes in is clipped in integers: a vector is scaled to the grid by a public power of two and rounded to the nearest
//! integers. If these are too long, they are shortened and truncated towards zero, and their norm, whose square is exact, is
//! checked again. A vector that fails contributes zero and no error, because whether it
//! failed is private. Sums are of integers, hence exact in any order, and one unit can move them by no more than
//! [`crate::sensitivity_factor`] times the integer bound.
//!
//! `layers.rs` sums gradients of network layers that are never formed, `outer.rs` outer products, `numbers.rs` single
//! numbers with their spread, `persons.rs` vectors of persons, whose rows are summed before they are clipped.

mod layers;
mod numbers;
mod outer;
mod persons;

pub use layers::{Inputs, Layer};

use crate::batch::Batch;
use crate::shape::power_of_two;
use crate::{Grain, PrivacyError, Shape};
use std::fmt;
use zeroize::Zeroizing;

/// A sum of vectors, each clipped to the shape's bound.
///
/// It has no accessor, no serialiser, and its `Debug` shows the public shape only: the one way to its contents is a
/// gate. Private data reach it through [`Bounded::push`], [`Bounded::push_halves`], [`Bounded::push_sparse`],
/// [`Bounded::push_layers`], [`Bounded::push_outer`] and [`Bounded::push_numbers`] alone. Its buffers are wiped when it is dropped.
///
/// # Examples
///
/// ```
/// use privacy::{Bounded, Grain, Grid, NormBound, Shape};
///
/// let shape = Shape::new(2, NormBound::new(1.0)?, Grain::Whole, Grid::new(20)?)?;
/// let sum = Bounded::whole(shape, &[3.0, 4.0])?;
/// // Only the public shape can be printed.
/// assert!(format!("{sum:?}").starts_with("Bounded(2 coordinates"));
///
/// // The whole change of a client is one vector: a second one is refused.
/// let two = [[1.0, 0.0], [0.0, 1.0]];
/// assert!(Bounded::parts(shape, two.iter().map(|change| change.as_slice())).is_err());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub struct Bounded {
    shape: Shape,
    /// Sum in grid units, modulo 2^64. Wrapping keeps privacy whatever happens: (sum + noise) mod 2^64 is
    /// post-processing of the sum over the integers. That nothing wraps in practice is a matter of use, not of trust.
    units: Zeroizing<Vec<i64>>,
    /// The vector that is being clipped, in grid units. Kept so that a step allocates nothing.
    scratch: Zeroizing<Vec<i64>>,
    clip: Clipper,
    pushed: u64,
    room: u64,
    drawn_by: Option<u64>,
    reach: Reach,
    ghost: Box<layers::GhostBuffers>,
    /// One row's outer product, where these are summed.
    products: Zeroizing<Vec<f64>>,
    /// Σ of squared units as long as nothing but single numbers was added; none after anything else.
    squares: Option<Zeroizing<u128>>,
    /// The persons of the batch, where the sum has one vector for each of these.
    persons: Option<Box<persons::PersonSums>>,
}

/// Where the vectors of a sum lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// In the ball of the bound.
    Ball,
    /// In the part of the ball of √2 times the bound without negative coordinates.
    Orthant,
    /// Among the multiples of outer products in the ball of √2 times the bound, but for roundings.
    Cone,
}

impl Reach {
    /// Takes a clipped vector to where it must lie. Its norm does not grow.
    fn hold(self, units: &mut [i64]) {
        if self == Self::Orthant {
            units.iter_mut().for_each(|q| *q = (*q).max(0));
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ball => "vectors of any sign",
            Self::Orthant => "non-negative vectors",
            Self::Cone => "outer products",
        })
    }
}

impl Bounded {
    /// An empty sum over the rows of a batch that a gate drew: at most one vector per row.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Shape`] if the shape clips whole changes or parts, not examples.
    pub fn examples(shape: Shape, batch: &Batch) -> Result<Self, PrivacyError> {
        match shape.grain() {
            Grain::Example => {
                let mut sum = Self::empty(shape, 0);
                sum.begin(batch)?;
                Ok(sum)
            }
            Grain::Whole | Grain::Part { .. } | Grain::Person => {
                Err(PrivacyError::Shape { found: "vectors of single examples".into(), expected: shape.to_string() })
            }
        }
    }

    /// An empty sum over the rows of a batch, of vectors without negative coordinates, each clipped to √2 times the bound.
    ///
    /// For a, b ≥ 0 the inner product is not negative, so ‖a − b‖² ≤ ‖a‖² + ‖b‖² ≤ 2·(√2·C)² = (2C)²: to replace one
    /// such vector moves the sum no further than to replace one of length C of any sign. Gates take it for
    /// substitution only, and not for Poisson batches: to add or remove one, or to draw it or not, moves it by √2·C.
    pub fn non_negative(shape: Shape, batch: &Batch) -> Result<Self, PrivacyError> {
        Ok(Self::examples(shape, batch)?.in_orthant())
    }

    /// The same sum with vectors held to the orthant.
    fn in_orthant(mut self) -> Self {
        self.clip = Clipper::in_orthant(&self.shape);
        self.reach = Reach::Orthant;
        self
    }

    /// A whole change as one clipped vector.
    pub fn whole(shape: Shape, change: &[f64]) -> Result<Self, PrivacyError> {
        Self::parts(shape, std::iter::once(change))
    }

    /// The sum of the changes of a client's parts, each clipped. More parts than the shape declares are an error.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Shape`] for a shape of examples or a vector of another length, and [`PrivacyError::TooMany`] for a part too
    /// many. Non-finite vectors are no error.
    pub fn parts<'a>(shape: Shape, changes: impl Iterator<Item = &'a [f64]>) -> Result<Self, PrivacyError> {
        let room = match shape.grain() {
            Grain::Whole => 1,
            Grain::Part { count } => count,
            Grain::Example | Grain::Person => {
                return Err(PrivacyError::Shape {
                    found: "changes of whole parts".into(),
                    expected: shape.to_string(),
                });
            }
        };
        let mut sum = Self::empty(shape, room);
        for change in changes {
            sum.push(change)?;
        }
        Ok(sum)
    }

    /// A sum of nothing that takes up to `room` vectors.
    fn empty(shape: Shape, room: u64) -> Self {
        let d = shape.dimension();
        let zeros = || Zeroizing::new(vec![0; d]);
        let (units, scratch, clip) = (zeros(), zeros(), Clipper::to(&shape));
        let (reach, ghost, products) = (Reach::Ball, Box::default(), Zeroizing::default());
        let (drawn_by, squares, persons) = (None, Some(Zeroizing::new(0)), None);
        Self { shape, units, scratch, clip, pushed: 0, room, drawn_by, reach, ghost, products, squares, persons }
    }

    /// Starts the sum again at zero for the rows of the next batch, keeping its buffers.
    pub fn begin(&mut self, batch: &Batch) -> Result<(), PrivacyError> {
        if self.shape.grain() != Grain::Example {
            return Err(PrivacyError::Shape { found: "a batch of rows".into(), expected: self.shape.to_string() });
        }
        self.restart(batch, batch.rows().len() as u64);
        Ok(())
    }

    /// Empties the sum, which then has room for so many vectors of this batch.
    fn restart(&mut self, batch: &Batch, room: u64) {
        self.units.fill(0);
        self.pushed = 0;
        self.squares = Some(Zeroizing::new(0));
        self.room = room;
        self.drawn_by = Some(batch.ticket());
    }

    /// Rounds a vector to the grid, clips it to the bound, and adds it.
    ///
    /// A vector with a non-finite coordinate contributes exactly zero, silently: whether that happened is private.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Shape`] for a vector of another length and [`PrivacyError::TooMany`] beyond the rows of the batch: both
    /// follow from public numbers.
    pub fn push(&mut self, vector: &[f64]) -> Result<(), PrivacyError> {
        if vector.len() != self.shape.dimension() {
            return Err(PrivacyError::Shape {
                found: format!("a vector of {} coordinates", vector.len()),
                expected: self.shape.to_string(),
            });
        }
        self.takes_vectors()?;
        self.count_one()?;
        if self.persons.is_some() {
            self.add_row(vector.iter().copied().enumerate());
            return Ok(());
        }
        self.clip.vector(vector, &mut self.scratch);
        self.reach.hold(&mut self.scratch);
        add(&mut self.units, &self.scratch);
        Ok(())
    }

    /// The same as [`Bounded::push`] of a vector of two halves that are zero at the same places.
    ///
    /// Half of the values belong to each half: one at each of these positions, which increase, and before them one for each
    /// of its first coordinates.
    pub fn push_halves(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        let (d, stored) = (self.units.len() / 2, values.len() / 2);
        let dense = stored.saturating_sub(positions.len());
        let increasing = positions.windows(2).fold(true, |so_far, w| so_far & (w[0] < w[1]));
        let inside = match (positions.first(), positions.last()) {
            (Some(&first), Some(&last)) => dense <= first as usize && (last as usize) < d,
            _ => dense <= d,
        };
        let even = self.units.len().is_multiple_of(2) && values.len().is_multiple_of(2);
        if !increasing || !inside || !even || stored < positions.len() {
            return Err(PrivacyError::Shape {
                found: "halves with positions that are not increasing or not in range, or too few values".into(),
                expected: self.shape.to_string(),
            });
        }
        self.takes_vectors()?;
        self.count_one()?;
        if self.persons.is_some() {
            let places = || (0..dense).chain(positions.iter().map(|&p| p as usize));
            self.add_row(places().chain(places().map(|p| d + p)).zip(values.iter().copied()));
            return Ok(());
        }
        // Dense coordinates and increasing positions after them are at most as many as there are coordinates.
        let parts = &mut self.scratch[..values.len()];
        self.clip.vector(values, parts);
        self.reach.hold(parts);
        let ((low, high), (low_parts, high_parts)) = (self.units.split_at_mut(d), parts.split_at(stored));
        add(&mut low[..dense], low_parts);
        add(&mut high[..dense], high_parts);
        for ((&p, &low_part), &high_part) in positions.iter().zip(&low_parts[dense..]).zip(&high_parts[dense..]) {
            let p = p as usize;
            low[p] = low[p].wrapping_add(low_part);
            high[p] = high[p].wrapping_add(high_part);
        }
        Ok(())
    }

    /// The same as [`Bounded::push`] of the vector that has these values at these positions and zeros elsewhere.
    ///
    /// Positions must increase, and there is one for each value.
    pub fn push_sparse(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        let increasing = positions.windows(2).all(|w| w[0] < w[1]);
        let inside = positions.last().is_none_or(|&p| (p as usize) < self.units.len());
        if !increasing || !inside || positions.len() != values.len() {
            return Err(PrivacyError::Shape {
                found: "values at positions that are not increasing, not in range, or not as many".into(),
                expected: self.shape.to_string(),
            });
        }
        self.takes_vectors()?;
        self.count_one()?;
        if self.persons.is_some() {
            self.add_row(positions.iter().map(|&p| p as usize).zip(values.iter().copied()));
            return Ok(());
        }
        // Increasing positions in range are at most as many as there are coordinates.
        let parts = &mut self.scratch[..values.len()];
        self.clip.vector(values, parts);
        self.reach.hold(parts);
        for (&p, &part) in positions.iter().zip(&*parts) {
            let total = &mut self.units[p as usize];
            *total = total.wrapping_add(part);
        }
        Ok(())
    }

    /// Refuses a vector that need not be an outer product where these are summed: nothing would hold its sign.
    fn takes_vectors(&self) -> Result<(), PrivacyError> {
        match self.reach {
            Reach::Ball | Reach::Orthant => Ok(()),
            Reach::Cone => Err(PrivacyError::Shape {
                found: "a vector".into(),
                expected: format!("{}, {}", self.reach, self.shape),
            }),
        }
    }

    /// Counts a vector, or refuses it where there is no room for another.
    fn count_one(&mut self) -> Result<(), PrivacyError> {
        if self.pushed == self.room {
            let expected = match self.shape.grain() {
                Grain::Example => "one vector for each row of its batch".into(),
                Grain::Whole => "one vector".into(),
                Grain::Part { count } => format!("{count} vectors"),
                Grain::Person => "one vector for each row of the persons of its batch".into(),
            };
            return Err(PrivacyError::TooMany { expected });
        }
        self.pushed += 1;
        self.squares = None;
        Ok(())
    }

    /// Dimension, bound, grain and grid. They are constants of the study and say nothing about the rows.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The sum. For gates only.
    pub(crate) fn units(&self) -> &[i64] {
        &self.units
    }

    /// Σ of squared units, if only single numbers were added. For gates only.
    pub(crate) fn squares(&self) -> Option<u128> {
        self.squares.as_deref().copied()
    }

    /// Where its vectors lie. For gates only.
    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }

    /// Which batch the sum was made from. For gates only.
    pub(crate) fn ticket(&self) -> Option<u64> {
        self.drawn_by
    }
}

impl fmt::Debug for Bounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bounded({})", self.shape)
    }
}

/// Adds integers to a sum, modulo 2^64.
#[inline(always)]
fn add(units: &mut [i64], parts: &[i64]) {
    units.iter_mut().zip(parts).for_each(|(total, &part)| *total = total.wrapping_add(part));
}

/// Sums of squares up to this are exact in f64, and no sum that is larger comes out as little.
///
/// Squares of integers are added up. As long as the exact sum is under 2^53 nothing was rounded, and since rounding keeps
/// order, a sum from 2^53 on comes out as 2^53 or more.
const EXACT: f64 = ((1_u64 << 53) - 1) as f64;

/// Units up to which coordinates become integers as they are. Over twice the largest bound, and 10^8 squares of such
/// integers stay under 2^109.
const WIDE: f64 = (1_u64 << 41) as f64;

/// Clipping to a shape's bound on its grid, with the public powers of two at hand.
#[derive(Debug, Clone, Copy)]
struct Clipper {
    /// B = ⌊C·2^k⌋, the bound in whole grid units.
    bound: u64,
    /// B², or the largest sum that is exact.
    fits: f64,
    /// 2^k, grid units to one.
    scale: f64,
    /// 2^−k, the size of one grid unit.
    unit: f64,
}

impl Clipper {
    /// Clips to the bound of the shape.
    fn to(shape: &Shape) -> Self {
        Self::new(shape.bound_units(), shape.grid().in_units(1.0), shape.grid().unit())
    }

    /// Clips to `bound` units on a grid of 2^k = `scale` units to one; `unit` is 1/`scale`.
    fn new(bound: u64, scale: f64, unit: f64) -> Self {
        Self { bound, fits: (bound as f64 * bound as f64).min(EXACT), scale, unit }
    }

    /// To ⌊√2·⌊C·2^k⌋⌋ units, for vectors without negative coordinates.
    fn in_orthant(shape: &Shape) -> Self {
        Self::new(shape.non_negative_bound_units(), shape.grid().in_units(1.0), shape.grid().unit())
    }

    /// Rounds x to the grid, shrinks the integers q into Σ qᵢ² ≤ B², and checks that again.
    ///
    /// Everything is decided on integers, exactly, though f64 adds their squares: zeros and the order of coordinates make no
    /// difference, and integers that fit are taken as they are. The shrinking aims a margin below the bound that covers
    /// its roundings, so the check never fails; should it fail all the same, the vector contributes zero. Comparisons are
    /// written so that NaN takes the refusing branch: `(C / norm).min(1.0)` would let it through.
    fn vector(&self, x: &[f64], q: &mut [i64]) {
        if !self.short(x, q) && !self.long(x, q) {
            q.fill(0);
        }
    }

    /// Clips, and says whether q is known to fit: not where Σ qᵢ² before shrinking is over [`EXACT`], or not a number.
    fn short(&self, x: &[f64], q: &mut [i64]) -> bool {
        let squared = integers(x, q, |v| v * self.scale);
        if squared > self.fits && squared <= EXACT {
            let factor = self.factor(squared);
            return integers(x, q, |v| smaller(nearest(v * self.scale) * factor)) <= self.fits;
        }
        squared <= self.fits
    }

    /// The same for coordinates of any size; false if one is not finite.
    ///
    /// A vector with a coordinate over 2^41 units, twice what any bound allows, is first brought to between 2^40 and
    /// 2^41 units by a power of two: it is then as long as a bound of C, or longer (of √2·C, it may be a
    /// little shorter).
    #[cold]
    fn long(&self, x: &[f64], q: &mut [i64]) -> bool {
        if !x.iter().all(|v| v.is_finite()) {
            return false;
        }
        let wide = x.iter().all(|v| v.abs() <= WIDE * self.unit);
        let scale = if wide { self.scale } else { scale_of_large(x) };
        integers(x, q, |v| v * scale);
        let (squared, most) = (norm_squared(q), u128::from(self.bound) * u128::from(self.bound));
        if squared > most {
            let factor = self.factor(squared as f64);
            integers(x, q, |v| smaller(nearest(v * scale) * factor));
        }
        norm_squared(q) <= most
    }

    /// B/‖q‖ for Σ qᵢ² = `squared`, with a margin, so that products with it, made smaller, stay within B.
    ///
    /// Relative errors: 2^−53 each for the sum as f64 (half of it after the root), the root, the margin's product, the
    /// quotient, each coordinate's product, and [`smaller`]; together under 2^−50, which the margin takes off.
    fn factor(&self, squared: f64) -> f64 {
        self.bound as f64 * (1.0 - power_of_two(-50)) / squared.sqrt()
    }
}

/// 1.5·2^52: a number up to 2^51 that is added to it is rounded to an integer, which stands in its low bits.
const ROUNDER: f64 = (3_u64 << 51) as f64;

/// The nearest integer to |a| ≤ 2^51, ties to the even one. For vector code, which a cast is not.
#[inline(always)]
fn nearest(a: f64) -> f64 {
    (a + ROUNDER) - ROUNDER
}

/// A number whose nearest integer is no longer than a, but for a rounding of 2^−53·|a|: half a unit towards zero.
#[inline(always)]
fn smaller(a: f64) -> f64 {
    a - 0.5_f64.copysign(a)
}

/// qᵢ = the integer that is nearest to units(xᵢ), and Σ qᵢ², which is exact up to [`EXACT`].
///
/// Over 2^51 units qᵢ means nothing, but then the sum is over [`EXACT`]. Four sums, so that this is vector code.
#[inline(always)]
fn integers(x: &[f64], q: &mut [i64], units: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 4];
    let mut add = |q: &mut [i64], x: &[f64]| {
        for ((q, x), sum) in q.iter_mut().zip(x).zip(&mut sums) {
            let low_bits = units(*x) + ROUNDER;
            let integer = low_bits - ROUNDER;
            *sum += integer * integer;
            *q = low_bits.to_bits().wrapping_sub(ROUNDER.to_bits()) as i64;
        }
    };
    let (fours, rest) = x.as_chunks::<4>();
    let (q_fours, q_rest) = q.as_chunks_mut::<4>();
    q_fours.iter_mut().zip(fours).for_each(|(q, x)| add(q, x));
    add(q_rest, rest);
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// The power of two that brings the largest of finite coordinates to between 2^40 and 2^41.
fn scale_of_large(x: &[f64]) -> f64 {
    let largest = x.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let exponent = libm::frexp(largest).1 - 1; // 2^exponent ≤ largest < 2^(exponent + 1)
    power_of_two(40 - exponent)
}

/// Σ qᵢ² of a vector in grid units, in 128 bits; saturates, so that an overflow is never taken for a short vector.
pub(crate) fn norm_squared(q: &[i64]) -> u128 {
    q.iter().fold(0_u128, |sum, &v| {
        let a = u128::from(v.unsigned_abs());
        sum.saturating_add(a * a)
    })
}

#[cfg(test)]
mod tests;
