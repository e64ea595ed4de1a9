//! Sums of clipped vectors on an integer grid, which can be added to and released but not read.

mod layers;

pub use layers::{Inputs, Layer};

use crate::batch::Batch;
use crate::shape::power_of_two;
use crate::{Grain, PrivacyError, Shape};
use std::fmt;

/// A sum of vectors, each clipped to the shape's bound.
///
/// It has no accessor, no serialiser, and its `Debug` shows the public shape only: the one way to its contents is a
/// gate. Private data reach it through [`Bounded::push`], [`Bounded::push_sparse`] and [`Bounded::push_layers`] alone.
pub struct Bounded {
    shape: Shape,
    /// Sum in grid units, modulo 2^64. Wrapping keeps privacy whatever happens: (sum + noise) mod 2^64 is
    /// post-processing of the sum over the integers. That nothing wraps in practice is a matter of use, not of trust.
    units: Vec<i64>,
    scratch: Vec<i64>,
    clip: Clip,
    pushed: u64,
    room: u64,
    drawn_by: Option<u64>,
    reach: Reach,
    ghost: layers::Ghost,
}

/// Where the vectors of a sum lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// In the ball of the bound.
    Ball,
    /// In the part of the ball of √2 times the bound without negative coordinates.
    Orthant,
}

impl Reach {
    /// Takes a clipped vector to where it must lie. Its norm does not grow.
    fn hold(self, units: &mut [i64]) {
        if self == Self::Orthant {
            units.iter_mut().for_each(|q| *q = (*q).max(0));
        }
    }
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

    /// An empty sum over the rows of a batch, of vectors without negative coordinates, each clipped to √2 times the bound.
    ///
    /// For a, b ≥ 0 the inner product is not negative, so ‖a − b‖² ≤ ‖a‖² + ‖b‖² ≤ 2·(√2·C)² = (2C)²: to replace one
    /// such vector moves the sum no further than to replace one of length C of any sign. Gates take it for
    /// substitution only; to add or remove one would move it by √2·C.
    pub fn non_negative(shape: Shape, batch: &Batch) -> Result<Self, PrivacyError> {
        let mut sum = Self::examples(shape, batch)?;
        sum.clip = Clip::in_orthant(&shape);
        sum.reach = Reach::Orthant;
        Ok(sum)
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
        let (reach, ghost) = (Reach::Ball, layers::Ghost::default());
        Self { shape, units, scratch, clip, pushed: 0, room, drawn_by: None, reach, ghost }
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

    /// Clips a vector to the bound, rounds it toward zero, and adds it.
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
        self.reach.hold(&mut self.scratch);
        for (total, &part) in self.units.iter_mut().zip(&self.scratch) {
            *total = total.wrapping_add(part);
        }
        Ok(())
    }

    /// The same as [`Bounded::push`] of the vector that has these values at these positions and zeros elsewhere.
    ///
    /// Positions must increase, and there is one for each value.
    pub fn push_sparse(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        let increasing = positions.windows(2).fold(true, |so_far, w| so_far & (w[0] < w[1]));
        let inside = positions.last().is_none_or(|&p| (p as usize) < self.units.len());
        if !increasing || !inside || positions.len() != values.len() {
            return Err(PrivacyError::Shape {
                found: "values at positions that are not increasing, not in range, or not as many".into(),
                expected: self.shape.to_string(),
            });
        }
        self.count_one()?;
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

/// Units up to which squares are added in 64 bits, for at most [`FEW`] coordinates: 2^11·(2^26)² < 2^64.
const SMALL: f64 = (1_u64 << 26) as f64;
const FEW: usize = 1 << 11;

/// Units up to which coordinates become integers as they are. Over twice the largest bound, and 10^8 squares of such
/// integers stay under 2^109.
const WIDE: f64 = (1_u64 << 41) as f64;

/// Clipping to a shape's bound on its grid, with the public powers of two at hand.
#[derive(Debug, Clone, Copy)]
struct Clip {
    /// ⌊C·2^k⌋.
    bound: u64,
    /// 2^k.
    scale: f64,
    /// One unit, 2^−k.
    unit: f64,
}

impl Clip {
    fn to(shape: &Shape) -> Self {
        Self { bound: shape.bound_units(), scale: shape.grid().in_units(1.0), unit: shape.grid().unit() }
    }

    /// To ⌊√2·⌊C·2^k⌋⌋ units, for vectors without negative coordinates.
    fn in_orthant(shape: &Shape) -> Self {
        let bound = u128::from(shape.bound_units());
        Self { bound: (2 * bound * bound).isqrt() as u64, ..Self::to(shape) }
    }

    /// Truncates x toward zero on the grid, shrinks the integers q into Σ qᵢ² ≤ ⌊C·2^k⌋², and checks that again.
    ///
    /// Everything is decided on integers, exactly: zeros and the order of coordinates make no difference, and a vector
    /// that fits is taken as it is. The shrinking aims a margin below the bound that covers its roundings, so the check
    /// never fails; should it fail all the same, the vector contributes zero. Comparisons are written so that NaN takes
    /// the refusing branch: `(C / norm).min(1.0)` would let it through.
    fn vector(&self, x: &[f64], q: &mut [i64]) {
        let squared = self.shrunk(x, q);
        if squared > self.bound_squared() {
            q.fill(0);
        }
    }

    fn bound_squared(&self) -> u128 {
        u128::from(self.bound) * u128::from(self.bound)
    }

    /// The integers before the last check, and Σ qᵢ².
    ///
    /// Vectors of few, small coordinates, which most are, go by vector code; the others do the same in plain integers.
    fn shrunk(&self, x: &[f64], q: &mut [i64]) -> u128 {
        let units = |v: f64| truncated(v * self.scale);
        match small(x, q, units) {
            Some(squared) if squared <= self.bound_squared() => squared,
            Some(squared) => {
                let factor = self.factor(squared);
                small(x, q, |v| truncated(units(v) * factor)).unwrap_or(u128::MAX)
            }
            None => self.shrunk_large(x, q),
        }
    }

    /// The same for coordinates of any size; zero if one is not finite.
    ///
    /// A vector with a coordinate over 2^41 units, twice what any bound allows, is first brought to between 2^40 and
    /// 2^41 units by a power of two: it is then as long as a bound of C, or longer (of √2·C, it may be a little shorter).
    fn shrunk_large(&self, x: &[f64], q: &mut [i64]) -> u128 {
        let wide = x.iter().all(|v| v.abs() <= WIDE * self.unit);
        let scale = if wide { self.scale } else { scale_of_large(x) };
        q.iter_mut().zip(x).for_each(|(q, &v)| *q = (v * scale) as i64);
        let squared = norm_squared(q);
        if squared > self.bound_squared() {
            let factor = self.factor(squared);
            q.iter_mut().for_each(|q| *q = (*q as f64 * factor) as i64);
        }
        norm_squared(q)
    }

    /// B/‖q‖ for Σ qᵢ² = `squared`, with a margin, so that truncated products with it stay within B.
    ///
    /// Relative errors: 2^−53 each for the sum as f64 (half of it after the root), the root, the margin's product, the
    /// quotient, and each coordinate's product; together under 2^−50, which the margin takes off. |qᵢ| ≤ 2^41 is exact.
    fn factor(&self, squared: u128) -> f64 {
        self.bound as f64 * (1.0 - power_of_two(-50)) / (squared as f64).sqrt()
    }
}

/// 2^52: a number from 0 to 2^51 that is added to it is rounded to an integer, which stands in its low bits.
const ROUNDER: f64 = (1_u64 << 52) as f64;

/// The integer part of 0 ≤ a ≤ 2^51. For vector code, which a cast is not.
#[inline(always)]
fn truncated(a: f64) -> f64 {
    let nearest = (a + ROUNDER) - ROUNDER;
    if nearest > a { nearest - 1.0 } else { nearest }
}

/// qᵢ = ±units(|xᵢ|), and Σ qᵢ²; none if a coordinate would be over 2^26 or NaN, or there are over 2^11 of them.
///
/// `units` gives integers. The sum cannot wrap: 2^11·(2^26)² < 2^64. An overflow check would only forbid vector code.
#[inline(always)]
fn small(x: &[f64], q: &mut [i64], units: impl Fn(f64) -> f64) -> Option<u128> {
    let (mut sum, mut within) = (0_u64, x.len() <= FEW);
    for (q, v) in q.iter_mut().zip(x) {
        let size = units(v.abs());
        within &= size <= SMALL;
        let size = u64::from((size + ROUNDER).to_bits() as u32);
        *q = if *v < 0.0 { -(size as i64) } else { size as i64 };
        sum = sum.wrapping_add(size * size);
    }
    within.then_some(u128::from(sum))
}

/// The power of two that brings the largest coordinate to between 2^40 and 2^41; 0 if one is not finite.
fn scale_of_large(x: &[f64]) -> f64 {
    if !x.iter().all(|v| v.is_finite()) {
        return 0.0;
    }
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
    use rand_core::SeedableRng;

    type Clipping = fn(&[f64], &Shape, &mut [i64]);

    fn clip_to_grid(x: &[f64], shape: &Shape, out: &mut [i64]) {
        Clip::to(shape).vector(x, out);
    }

    fn shape(dimension: usize, bound: f64) -> Shape {
        let bound = NormBound::new(bound).unwrap();
        let grid = Grid::for_noise(bound, bound.get()).unwrap();
        Shape::new(dimension, bound, Grain::Example, grid).unwrap()
    }

    /// A sum of one non-negative vector on a shape of this bound.
    fn one_non_negative(x: &[f64], bound: f64) -> Vec<i64> {
        let mut batch = Batch::default();
        crate::batch::Sampler::new(&crate::Sampling::None)
            .draw(&mut chacha20::ChaCha20Rng::from_seed([0; 32]), 1, 1, &mut batch)
            .unwrap();
        let mut sum = Bounded::non_negative(shape(x.len(), bound), &batch).unwrap();
        sum.push(x).unwrap();
        sum.units().to_vec()
    }

    #[test]
    fn non_negative_vectors_keep_root_two_of_the_bound_and_nothing_below_zero() {
        let (c, units) = (1.0, shape(2, 1.0).bound_units() as f64);
        let long = one_non_negative(&[3.0, 4.0], c);
        assert!(
            (norm_squared(&long) as f64).sqrt() / units > 1.414 && norm_squared(&long) as f64 <= 2.0 * units * units
        );
        assert!(one_non_negative(&[-3.0, 0.5], c)[0] == 0);
        assert_eq!(one_non_negative(&[f64::NAN, 0.5], c), [0, 0]);
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
        fn to_replace_a_non_negative_vector_moves_the_sum_by_twice_the_bound_at_most(
            a in prop::collection::vec(-1e3..1e3_f64, 4),
            b in prop::collection::vec(-1e3..1e3_f64, 4),
            bound in 0.01..100.0_f64,
        ) {
            let (a, b) = (one_non_negative(&a, bound), one_non_negative(&b, bound));
            let moved: Vec<i64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let most = 2 * u128::from(shape(4, bound).bound_units());
            prop_assert!(norm_squared(&moved) <= most * most);
        }

        #[test]
        fn clipping_holds_its_bound_for_every_float(x in any_vector(), bound in prop_oneof![Just(1.0), 1e-6..1e6_f64]) {
            prop_assert_eq!(holds_its_bound(clip_to_grid, &x, bound), Ok(()));
        }

        #[test]
        fn the_integer_check_never_has_to_save_a_finite_vector(x in any_vector(), bound in 1e-6..1e6_f64) {
            let shape = shape(x.len(), bound);
            let mut q = vec![0; x.len()];
            let squared = Clip::to(&shape).shrunk(&x, &mut q);
            prop_assert_eq!(squared, norm_squared(&q));
            prop_assert!(squared <= u128::from(shape.bound_units()).pow(2));
        }

        #[test]
        fn a_sparse_vector_counts_as_its_dense_form(
            x in any_vector(), there in prop::collection::vec(any::<bool>(), 12), bound in prop_oneof![Just(2.0), 1e-6..1e6_f64]
        ) {
            let (positions, values): (Vec<u32>, Vec<f64>) =
                x.iter().zip(&there).enumerate().filter(|(_, (_, there))| **there).map(|(p, (v, _))| (p as u32, *v)).unzip();
            let dense: Vec<f64> = x.iter().zip(&there).map(|(v, there)| if *there { *v } else { 0.0 }).collect();
            let (mut by_dense, mut by_sparse) =
                (Bounded::empty(shape(x.len(), bound), 2), Bounded::empty(shape(x.len(), bound), 2));
            for _ in 0..2 {
                by_dense.push(&dense).unwrap();
                by_sparse.push_sparse(&positions, &values).unwrap();
            }
            prop_assert_eq!(by_dense.units, by_sparse.units);
        }

        #[test]
        fn short_and_long_arithmetic_agree(x in prop::collection::vec(-70e6..70e6_f64, 1..12), exponent in 0..40_u32) {
            // On the grid of units: the short path takes all coordinates up to 2^26, about 67e6.
            let clip = Clip { bound: (1 << exponent) + 1, scale: 1.0, unit: 1.0 };
            let (mut q, mut long) = (vec![0; x.len()], vec![0; x.len()]);
            let squared = clip.shrunk(&x, &mut q);
            prop_assert_eq!((squared, &q), (clip.shrunk_large(&x, &mut long), &long));
        }

        #[test]
        fn the_largest_bounds_hold_too(x in prop::collection::vec(-1.0..1.0_f64, 1..12), power in 0..1000_i32) {
            let bound = NormBound::new(1.0).unwrap();
            let shape = Shape::new(x.len(), bound, Grain::Example, Grid::new(40).unwrap()).unwrap();
            let long: Vec<f64> = x.iter().map(|v| libm::scalbn(*v, power)).collect();
            let mut q = vec![0; x.len()];
            let squared = Clip::to(&shape).shrunk(&long, &mut q);
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
    fn sparse_vectors_that_do_not_fit_are_refused_and_not_counted() {
        let mut sum = Bounded::empty(shape(4, 1.0), 1);
        for (positions, values) in
            [(vec![1, 1], vec![0.1, 0.2]), (vec![2, 1], vec![0.1, 0.2]), (vec![4], vec![0.1]), (vec![1], vec![])]
        {
            assert!(sum.push_sparse(&positions, &values).is_err(), "{positions:?}");
        }
        sum.push_sparse(&[0, 3], &[0.5, -0.25]).unwrap();
        assert_eq!(sum.units, [1 << 19, 0, 0, -(1 << 18)]);
        assert!(matches!(sum.push_sparse(&[], &[]), Err(PrivacyError::TooMany { .. })));
    }

    #[test]
    fn debug_shows_the_shape_only() {
        let bound = NormBound::new(1.0).unwrap();
        let shape = Shape::new(1, bound, Grain::Whole, Grid::new(20).unwrap()).unwrap();
        let sum = Bounded::whole(shape, &[0.777_123]).unwrap();
        assert_eq!(format!("{sum:?}"), "Bounded(1 coordinates, the whole change clipped to 1, grid 2^-20)");
    }
}
