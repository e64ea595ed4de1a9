//! Sums of clipped vectors on an integer grid, which can be added to and released but not read.

use crate::batch::Batch;
use crate::shape::power_of_two;
use crate::{Grain, PrivacyError, Shape};
use std::fmt;

/// A sum of vectors, each clipped to the shape's bound.
///
/// It has no accessor, no serialiser, and its `Debug` shows the public shape only: the one way to its contents is a
/// gate. Private data reach it through [`Bounded::push`] and [`Bounded::push_halves`] alone.
pub struct Bounded {
    shape: Shape,
    /// Sum in grid units, modulo 2^64. Wrapping keeps privacy whatever happens: (sum + noise) mod 2^64 is
    /// post-processing of the sum over the integers. That nothing wraps in practice is a matter of use, not of trust.
    units: Vec<i64>,
    /// One vector's integers.
    scratch: Vec<i64>,
    clip: Clip,
    pushed: u64,
    room: u64,
    drawn_by: Option<u64>,
}

impl Bounded {
    /// An empty sum over the rows of a batch that a gate drew: at most one vector per row.
    pub fn examples(shape: Shape, batch: &Batch) -> Result<Self, PrivacyError> {
        match shape.grain() {
            Grain::Example => {
                let mut sum = Self::empty(shape, 0);
                sum.begin(batch)?;
                Ok(sum)
            }
            Grain::Whole | Grain::Part { .. } => {
                Err(PrivacyError::Shape { found: "vectors of single examples".into(), expected: shape.to_string() })
            }
        }
    }

    /// A whole change as one clipped vector.
    pub fn whole(shape: Shape, change: &[f64]) -> Result<Self, PrivacyError> {
        Self::parts(shape, std::iter::once(change))
    }

    /// The sum of the changes of a client's parts, each clipped. More parts than the shape declares are an error.
    pub fn parts<'a>(shape: Shape, changes: impl Iterator<Item = &'a [f64]>) -> Result<Self, PrivacyError> {
        let room = match shape.grain() {
            Grain::Whole => 1,
            Grain::Part { count } => count,
            Grain::Example => {
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

    fn empty(shape: Shape, room: u64) -> Self {
        let d = shape.dimension();
        let (units, scratch, clip) = (vec![0; d], vec![0; d], Clip::to(&shape));
        Self { shape, units, scratch, clip, pushed: 0, room, drawn_by: None }
    }

    /// Starts the sum again at zero for the rows of the next batch, keeping its buffers.
    pub fn begin(&mut self, batch: &Batch) -> Result<(), PrivacyError> {
        if self.shape.grain() != Grain::Example {
            return Err(PrivacyError::Shape { found: "a batch of rows".into(), expected: self.shape.to_string() });
        }
        self.units.fill(0);
        self.pushed = 0;
        self.room = batch.rows().len() as u64;
        self.drawn_by = Some(batch.ticket());
        Ok(())
    }

    /// Rounds a vector to the grid, clips it to the bound, and adds it.
    ///
    /// A vector with a non-finite coordinate contributes exactly zero, silently: whether that happened is private.
    pub fn push(&mut self, vector: &[f64]) -> Result<(), PrivacyError> {
        if vector.len() != self.shape.dimension() {
            return Err(PrivacyError::Shape {
                found: format!("a vector of {} coordinates", vector.len()),
                expected: self.shape.to_string(),
            });
        }
        self.count_one()?;
        self.clip.vector(vector, &mut self.scratch);
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
        self.count_one()?;
        // Dense coordinates and increasing positions after them are at most as many as there are coordinates.
        let parts = &mut self.scratch[..values.len()];
        self.clip.vector(values, parts);
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

    /// Counts a vector, or refuses it where there is no room for another.
    fn count_one(&mut self) -> Result<(), PrivacyError> {
        if self.pushed == self.room {
            let expected = match self.shape.grain() {
                Grain::Example => "one vector for each row of its batch".into(),
                Grain::Whole => "one vector".into(),
                Grain::Part { count } => format!("{count} vectors"),
            };
            return Err(PrivacyError::TooMany { expected });
        }
        self.pushed += 1;
        Ok(())
    }

    /// The public shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The sum. For gates only.
    pub(crate) fn units(&self) -> &[i64] {
        &self.units
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
struct Clip {
    /// B = ⌊C·2^k⌋.
    bound: u64,
    /// B², or the largest sum that is exact.
    fits: f64,
    /// 2^k.
    scale: f64,
    /// One unit, 2^−k.
    unit: f64,
}

impl Clip {
    fn to(shape: &Shape) -> Self {
        Self::new(shape.bound_units(), shape.grid().in_units(1.0), shape.grid().unit())
    }

    fn new(bound: u64, scale: f64, unit: f64) -> Self {
        Self { bound, fits: (bound as f64 * bound as f64).min(EXACT), scale, unit }
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
    /// 2^41 units by a power of two: it is still as long as the bound, or longer.
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

/// Σ qᵢ², saturating.
pub(crate) fn norm_squared(q: &[i64]) -> u128 {
    q.iter().fold(0_u128, |sum, &v| {
        let a = u128::from(v.unsigned_abs());
        sum.saturating_add(a * a)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, NormBound};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    type Clipping = fn(&[f64], &Shape, &mut [i64]);

    fn clip_to_grid(x: &[f64], shape: &Shape, out: &mut [i64]) {
        Clip::to(shape).vector(x, out);
    }

    fn shape(dimension: usize, bound: f64) -> Shape {
        let bound = NormBound::new(bound).unwrap();
        let grid = Grid::for_noise(bound, bound.get()).unwrap();
        Shape::new(dimension, bound, Grain::Example, grid).unwrap()
    }

    /// The law of clipping: whatever comes in, the integers lie within the bound; short vectors are kept.
    fn holds_its_bound(clip: Clipping, x: &[f64], bound: f64) -> Result<(), String> {
        let shape = shape(x.len(), bound);
        let mut q = vec![0; x.len()];
        clip(x, &shape, &mut q);
        let limit = u128::from(shape.bound_units()).pow(2);
        if norm_squared(&q) > limit {
            return Err(format!("{x:?} left the ball: {q:?}"));
        }
        let finite = x.iter().all(|v| v.is_finite());
        if !finite && q.iter().any(|&v| v != 0) {
            return Err(format!("{x:?} is not finite and contributed {q:?}"));
        }
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        if finite && norm > 0.0 && norm < 1e150 {
            let kept = (norm_squared(&q) as f64).sqrt() * shape.grid().unit();
            let slack = shape.grid().unit() * ((x.len() as f64).sqrt() + 2.0) + 1e-9 * bound;
            if kept < norm.min(bound) - slack {
                return Err(format!("{x:?} of norm {norm} shrank to {kept}"));
            }
        }
        Ok(())
    }

    fn any_vector() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(
            prop_oneof![
                8 => -3.0..3.0_f64,
                2 => prop::num::f64::ANY,
                1 => Just(f64::MAX), 1 => Just(-f64::MAX), 1 => Just(5e-324), 1 => Just(0.0), 1 => Just(1e160)
            ],
            1..12,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]

        #[test]
        fn clipping_holds_its_bound_for_every_float(x in any_vector(), bound in prop_oneof![Just(1.0), 1e-6..1e6_f64]) {
            prop_assert_eq!(holds_its_bound(clip_to_grid, &x, bound), Ok(()));
        }

        #[test]
        fn the_integer_check_never_has_to_save_a_finite_vector(x in any_vector(), bound in 1e-6..1e6_f64) {
            let shape = shape(x.len(), bound);
            let (mut q, clip, finite) = (vec![0; x.len()], Clip::to(&shape), x.iter().all(|v| v.is_finite()));
            let known = clip.short(&x, &mut q) || clip.long(&x, &mut q);
            prop_assert_eq!(known, finite);
            prop_assert!(!finite || norm_squared(&q) <= u128::from(shape.bound_units()).pow(2));
        }

        #[test]
        fn halves_count_as_their_dense_form(
            x in any_vector(), y in any_vector(), there in prop::collection::vec(any::<bool>(), 12),
            dense in 0..4_usize, bound in prop_oneof![Just(2.0), 1e-6..1e6_f64]
        ) {
            let d = x.len().min(y.len());
            let stored: Vec<usize> = (0..d).filter(|&j| j < dense || there[j]).collect();
            let positions: Vec<u32> = stored.iter().filter(|j| **j >= dense).map(|j| *j as u32).collect();
            let values: Vec<f64> = [&x, &y].into_iter().flat_map(|half| stored.iter().map(|j| half[*j])).collect();
            let plain: Vec<f64> = [&x, &y]
                .into_iter()
                .flat_map(|half| (0..d).map(|j| if stored.contains(&j) { half[j] } else { 0.0 }))
                .collect();
            let (mut whole, mut halves) = (Bounded::empty(shape(2 * d, bound), 2), Bounded::empty(shape(2 * d, bound), 2));
            for _ in 0..2 {
                whole.push(&plain).unwrap();
                halves.push_halves(&positions, &values).unwrap();
            }
            prop_assert_eq!(whole.units, halves.units);
        }

        #[test]
        fn short_and_long_arithmetic_agree(x in prop::collection::vec(-70e6..70e6_f64, 1..12), exponent in 0..40_u32) {
            // On the grid of units: √2^53 is about 95e6, so that some sums are exact and some are not.
            let clip = Clip::new((1 << exponent) + 1, 1.0, 1.0);
            let (mut short, mut long) = (vec![0; x.len()], vec![0; x.len()]);
            prop_assert!(clip.long(&x, &mut long));
            let exact = x.iter().map(|v| (v.round_ties_even().abs() as u128).pow(2)).sum::<u128>() < 1 << 53;
            prop_assert_eq!(clip.short(&x, &mut short), exact);
            prop_assert!(!exact || short == long);
        }

        #[test]
        fn the_largest_bounds_hold_too(x in prop::collection::vec(-1.0..1.0_f64, 1..12), power in 0..1000_i32) {
            let bound = NormBound::new(1.0).unwrap();
            let shape = Shape::new(x.len(), bound, Grain::Example, Grid::new(40).unwrap()).unwrap();
            let long: Vec<f64> = x.iter().map(|v| libm::scalbn(*v, power)).collect();
            let mut q = vec![0; x.len()];
            clip_to_grid(&long, &shape, &mut q);
            let squared = norm_squared(&q);
            prop_assert!(squared <= 1 << 80);
            let norm = long.iter().map(|v| libm::scalbn(*v, -power)).map(|v| v * v).sum::<f64>().sqrt();
            let kept = (squared as f64).sqrt() / libm::scalbn(1.0, 40);
            prop_assert!(kept >= libm::scalbn(norm, power).min(1.0) - 1e-11, "{long:?} of norm {norm} kept {kept}");
        }

        #[test]
        fn sums_do_not_depend_on_order(rows in prop::collection::vec(prop::collection::vec(-9.0..9.0_f64, 3), 1..20)) {
            let shape = shape(3, 2.0);
            let sum = |rows: &mut dyn Iterator<Item = &Vec<f64>>| {
                let mut total = Bounded::empty(shape, 20);
                rows.for_each(|r| total.push(r).unwrap());
                total.units
            };
            prop_assert_eq!(sum(&mut rows.iter()), sum(&mut rows.iter().rev()));
        }
    }

    /// Runs the law on inputs where each wrong variant shows itself.
    fn caught(mutant: Clipping) -> bool {
        let canaries: [&[f64]; 5] =
            [&[1000.0, 0.1], &[0.1, 1000.0], &[f64::NAN, 1.0], &[0.9, 0.9], &[f64::INFINITY, 0.0]];
        canaries.iter().all(|x| holds_its_bound(clip_to_grid, x, 1.0).is_ok())
            && canaries.iter().any(|x| holds_its_bound(mutant, x, 1.0).is_err())
    }

    fn to_grid(x: impl Iterator<Item = f64>, shape: &Shape, out: &mut [i64]) {
        out.iter_mut().zip(x).for_each(|(q, v)| *q = shape.grid().in_units(v) as i64);
    }

    #[test]
    fn mutant_m5_one_block_unclipped_is_caught() {
        assert!(caught(|x, shape, out| {
            let factor = (shape.bound().get() / x[0].abs()).min(1.0);
            to_grid(x.iter().enumerate().map(|(i, v)| if i == 0 { v * factor } else { *v }), shape, out);
        }));
    }

    #[test]
    fn mutant_m6_per_parameter_clip_is_caught() {
        assert!(caught(|x, shape, out| {
            let c = shape.bound().get();
            to_grid(x.iter().map(|v| if v.is_finite() { v.clamp(-c, c) } else { 0.0 }), shape, out);
        }));
    }

    #[test]
    fn mutant_m8_minimum_that_lets_nan_through_is_caught() {
        assert!(caught(|x, shape, out| {
            let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            let factor = (shape.bound().get() / norm).min(1.0) * (1.0 - 1e-12);
            to_grid(x.iter().map(|v| v * factor), shape, out);
        }));
    }

    #[test]
    fn a_whole_change_is_one_vector_and_parts_are_counted() {
        let bound = NormBound::new(1.0).unwrap();
        let grid = Grid::new(20).unwrap();
        let whole = Shape::new(2, bound, Grain::Whole, grid).unwrap();
        let parts = Shape::new(2, bound, Grain::Part { count: 2 }, grid).unwrap();
        let x: &[f64] = &[1.0, 2.0];
        assert!(Bounded::whole(whole, x).is_ok());
        assert!(Bounded::parts(whole, [x, x].into_iter()).is_err());
        assert!(Bounded::parts(parts, [x, x].into_iter()).is_ok());
        assert!(Bounded::parts(parts, [x, x, x].into_iter()).is_err());
        assert!(Bounded::whole(whole, &[1.0]).is_err());
    }

    #[test]
    fn halves_that_do_not_fit_are_refused_and_not_counted() {
        let mut sum = Bounded::empty(shape(8, 1.0), 1);
        for (positions, count) in [
            (vec![1, 1], 4), // twice the same coordinate
            (vec![2, 1], 4),
            (vec![4], 2), // the other half's
            (vec![1], 0),
            (vec![1], 3),
            (vec![1], 6), // a dense coordinate again
            (vec![], 10),
        ] {
            assert!(sum.push_halves(&positions, &vec![0.1; count]).is_err(), "{positions:?}, {count}");
        }
        sum.push_halves(&[3], &[0.5, -0.25, 0.0, 0.125]).unwrap();
        assert_eq!(sum.units, [1 << 19, 0, 0, -(1 << 18), 0, 0, 0, 1 << 17]);
        assert!(matches!(sum.push_halves(&[], &[]), Err(PrivacyError::TooMany { .. })));
        assert!(Bounded::empty(shape(3, 1.0), 1).push_halves(&[], &[]).is_err());
    }

    #[test]
    fn a_sum_of_squares_that_is_not_exact_is_not_taken_for_less() {
        // The squares make 2^53 + 1, which is no f64.
        let mut q = [0; 4];
        assert_eq!(integers(&[94_906_265.0, -10_884.0, 136.0, 104.0], &mut q, |v| v), EXACT + 1.0);
        assert_eq!((q[1], norm_squared(&q)), (-10_884, (1 << 53) + 1));
    }

    #[test]
    fn debug_shows_the_shape_only() {
        let bound = NormBound::new(1.0).unwrap();
        let shape = Shape::new(1, bound, Grain::Whole, Grid::new(20).unwrap()).unwrap();
        let sum = Bounded::whole(shape, &[0.777_123]).unwrap();
        assert_eq!(format!("{sum:?}"), "Bounded(1 coordinates, the whole change clipped to 1, grid 2^-20)");
    }
}
