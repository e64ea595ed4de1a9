//! Sums of clipped vectors on an integer grid, which can be added to and released but not read.

use crate::batch::Batch;
use crate::{Grain, PrivacyError, Shape};
use std::fmt;

/// A sum of vectors, each clipped to the shape's bound.
///
/// It has no accessor, no serialiser, and its `Debug` shows the public shape only: the one way to its contents is a
/// gate. Private data reach it through [`Bounded::push`] alone.
pub struct Bounded {
    shape: Shape,
    /// Sum in grid units, modulo 2^64. Wrapping keeps privacy whatever happens: (sum + noise) mod 2^64 is
    /// post-processing of the sum over the integers. That nothing wraps in practice is a matter of use, not of trust.
    units: Vec<i64>,
    scratch: Vec<i64>,
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
        Self { shape, units: vec![0; d], scratch: vec![0; d], pushed: 0, room, drawn_by: None }
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
        if self.pushed == self.room {
            let expected = match self.shape.grain() {
                Grain::Example => "one vector for each row of its batch".into(),
                Grain::Whole => "one vector".into(),
                Grain::Part { count } => format!("{count} vectors"),
            };
            return Err(PrivacyError::TooMany { expected });
        }
        self.pushed += 1;
        clip_to_grid(vector, &self.shape, &mut self.scratch);
        for (total, &part) in self.units.iter_mut().zip(&self.scratch) {
            *total = total.wrapping_add(part);
        }
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

/// Clips x to norm C in floating point, truncates toward zero on the grid, and re-checks Σ qᵢ² ≤ ⌊C·2^k⌋² in integers.
///
/// The clip aims a margin below the bound that covers the rounding of norm, quotient and products, so the re-check
/// never fails for finite input; should it fail all the same, the vector contributes zero.
pub(crate) fn clip_to_grid(x: &[f64], shape: &Shape, out: &mut [i64]) {
    let bound = u128::from(shape.bound_units());
    clip_in_floats(x, shape, out);
    if norm_squared(out) > bound * bound {
        out.fill(0);
    }
}

/// Σ qᵢ², saturating.
pub(crate) fn norm_squared(q: &[i64]) -> u128 {
    q.iter().fold(0_u128, |sum, &v| {
        let a = u128::from(v.unsigned_abs());
        sum.saturating_add(a * a)
    })
}

/// x·min(1, C/‖x‖) on the grid, or zero if a coordinate is not finite.
///
/// Coordinates are divided by the largest first, so squares neither overflow nor vanish. Comparisons are written so
/// that NaN takes the refusing branch: `(C / norm).min(1.0)` would let it through.
fn clip_in_floats(x: &[f64], shape: &Shape, out: &mut [i64]) {
    let largest = x.iter().fold(0.0_f64, |m, v| if v.is_finite() { m.max(v.abs()) } else { f64::INFINITY });
    if !(largest > 0.0 && largest.is_finite()) {
        return out.fill(0);
    }
    let ratio = x.iter().map(|v| (v / largest) * (v / largest)).sum::<f64>().sqrt();
    // The radius that the integers enforce, less a few roundings per coordinate.
    let radius = shape.bound_units() as f64 * shape.grid().unit();
    let safe = radius * (1.0 - (x.len() as f64 + 16.0) * f64::EPSILON);
    let grid = shape.grid();
    let inside = largest * ratio <= safe;
    for (q, &v) in out.iter_mut().zip(x) {
        let clipped = if inside { v } else { (v / largest) * (safe / ratio) };
        *q = grid.in_units(clipped) as i64; // truncates toward zero
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, NormBound};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    type Clip = fn(&[f64], &Shape, &mut [i64]);

    fn shape(dimension: usize, bound: f64) -> Shape {
        let bound = NormBound::new(bound).unwrap();
        let grid = Grid::for_noise(bound, bound.get()).unwrap();
        Shape::new(dimension, bound, Grain::Example, grid).unwrap()
    }

    /// The law of clipping: whatever comes in, the integers lie within the bound; short vectors are kept.
    fn holds_its_bound(clip: Clip, x: &[f64], bound: f64) -> Result<(), String> {
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
            let mut q = vec![0; x.len()];
            clip_in_floats(&x, &shape, &mut q);
            prop_assert!(norm_squared(&q) <= u128::from(shape.bound_units()).pow(2));
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
    fn caught(mutant: Clip) -> bool {
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
    fn debug_shows_the_shape_only() {
        let bound = NormBound::new(1.0).unwrap();
        let shape = Shape::new(1, bound, Grain::Whole, Grid::new(20).unwrap()).unwrap();
        let sum = Bounded::whole(shape, &[0.777_123]).unwrap();
        assert_eq!(format!("{sum:?}"), "Bounded(1 coordinates, the whole change clipped to 1, grid 2^-20)");
    }
}
