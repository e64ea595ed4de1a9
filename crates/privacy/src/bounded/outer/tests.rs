//! One row's outer product for another's moves the sum by twice the bound at most, whatever the rows.

use super::*;
use crate::bounded::norm_squared;
use crate::{Grain, Grid, NormBound, Sampling};
use chacha20::ChaCha20Rng;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_core::SeedableRng as _;

/// An empty sum of these rows' outer products, of a bound of so many units, which are 2^−exponent each.
fn sum_for(d: usize, rows: usize, units: f64, exponent: i32) -> Bounded {
    let grid = Grid::new(exponent).unwrap();
    let bound = NormBound::new(units * grid.unit()).unwrap();
    let shape = Shape::new(entries(d), bound, Grain::Example, grid).unwrap();
    let (mut batch, mut rng) = (Batch::default(), ChaCha20Rng::from_seed([0; 32]));
    crate::batch::BatchSampler::new(&Sampling::None).draw(&mut rng, rows, 1, &mut batch).unwrap();
    Bounded::outer_products(shape, &batch).unwrap()
}

/// How a row becomes integers of a sum.
type Push = fn(&mut Bounded, &[f64]);

fn honest(sum: &mut Bounded, z: &[f64]) {
    sum.push_outer(z).unwrap();
}

/// ‖q − q'‖ / 2B for a row and its replacement.
fn moved(push: Push, pair: [&[f64]; 2], units: f64, exponent: i32) -> f64 {
    let [q, other] = pair.map(|z| {
        let mut sum = sum_for(z.len(), 1, units, exponent);
        push(&mut sum, z);
        sum.units().to_vec()
    });
    let between: Vec<i64> = q.iter().zip(&other).map(|(a, b)| a - b).collect();
    let (squared, most) = (norm_squared(&between), 2 * units.floor() as u128);
    // Decided in integers; the quotient is for those who read it.
    let share = (squared as f64).sqrt() / most as f64;
    if squared > most * most { share.max(1.0_f64.next_up()) } else { share.min(1.0) }
}

fn any_entry() -> impl Strategy<Value = f64> {
    prop_oneof![
        12 => -3.0..3.0_f64,
        2 => prop::num::f64::ANY,
        1 => Just(5e-324), 1 => Just(0.0), 1 => Just(1e160), 1 => Just(-1e150), 1 => Just(f64::NAN)
    ]
}

/// A row of `a` made orthogonal to it, nearly parallel, opposite, or left alone.
fn related(a: &[f64], b: Vec<f64>, kind: usize) -> Vec<f64> {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let along = dot(a, &b) / dot(a, a);
    match kind {
        0 => b.iter().zip(a).map(|(b, a)| b - along * a).collect(),
        1 => b.iter().zip(a).map(|(b, a)| a + 1e-9 * b).collect(),
        2 => a.iter().map(|a| -a).collect(),
        _ => b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, cases: 2000, ..Default::default() })]

    #[test]
    fn to_replace_an_outer_product_moves_the_sum_by_twice_the_bound_at_most(
        rows in (1..9_usize).prop_flat_map(|d| (prop::collection::vec(any_entry(), d), prop::collection::vec(any_entry(), d))),
        kind in 0..4_usize, units in prop_oneof![20.0..60.0_f64, 1e3..1e7_f64, 1e11..1e12_f64],
        exponent in prop_oneof![Just(20), Just(0), -900..861_i32], scale in -600..600_i32,
    ) {
        // Rows about as long as the bound, far longer, far shorter, and as they come.
        let length = libm::sqrt(units) * libm::scalbn(1.0, -exponent / 2);
        let by = match kind { 0 | 1 => length, 2 => libm::scalbn(1.0, scale), _ => 1.0 };
        let a: Vec<f64> = rows.0.iter().map(|v| v * by).collect();
        let b = related(&a, rows.1.iter().map(|v| v * by).collect(), kind);
        prop_assert!(moved(honest, [&a, &b], units, exponent) <= 1.0, "{:?} {:?}", a, b);
    }

    #[test]
    fn a_clipped_product_is_within_the_slack_of_a_multiple_of_it(
        z in prop::collection::vec(-2.0..2.0_f64, 1..13), length in 1e-3..1e3_f64, units in 20.0..1e6_f64,
    ) {
        let z: Vec<f64> = z.iter().map(|v| v * length * units.sqrt()).collect();
        let mut sum = sum_for(z.len(), 1, units, 0);
        sum.push_outer(&z).unwrap();
        let (q, m) = (sum.units().iter().map(|q| *q as f64).collect::<Vec<_>>(), &sum.products[..]);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let c = dot(&q, m) / dot(m, m).max(f64::MIN_POSITIVE);
        let rest: Vec<f64> = q.iter().zip(m).map(|(q, m)| q - c * m).collect();
        prop_assert!(c >= 0.0 && dot(&rest, &rest).sqrt() <= 1.5 * (q.len() as f64).sqrt() + 1.0);
        // It is not lost either: as long as it was, or as the bound allows.
        let clipped = dot(m, m).sqrt().min(SQRT_2 * units) - 2.0 * slack(q.len()) as f64 - 2.0;
        prop_assert!(dot(&q, &q).sqrt() >= clipped);
    }
}

#[test]
fn orthogonal_rows_nearly_reach_the_bound() {
    for (a, b) in [([1e3, 0.0, 0.0], [0.0, 1e3, 0.0]), ([1e3, 1e3, 0.0], [-1e7, 1e7, 0.0])] {
        let share = moved(honest, [&a, &b], 1048576.0, 20);
        assert!(share > 0.999 && share <= 1.0, "{share}");
    }
    // Rows of one direction, or opposite ones, have the same product.
    assert_eq!(moved(honest, [&[1e3, 2e3], &[-1e3, -2e3]], 1048576.0, 20), 0.0);
}

#[test]
fn products_are_packed_by_rows_and_keep_inner_products() {
    let (z, other) = ([1.0, -2.0, 0.5], [0.25, 1.5, 3.0]);
    let packed = |z: &[f64]| {
        let mut sum = sum_for(3, 1, 1e9, 20);
        sum.push_outer(z).unwrap();
        sum.units().iter().map(|q| *q as f64 / libm::scalbn(1.0, 20)).collect::<Vec<f64>>()
    };
    let expected = [1.0, -2.0 * SQRT_2, 4.0, 0.5 * SQRT_2, -SQRT_2, 0.25];
    assert!(packed(&z).iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", packed(&z));
    let inner: f64 = packed(&z).iter().zip(packed(&other)).map(|(a, b)| a * b).sum();
    assert!((inner - 1.25_f64.powi(2)).abs() < 1e-4, "{inner}");
}

#[test]
fn a_long_row_is_shrunk_as_a_whole() {
    // A label that is twice an entry plus the intercept is so after clipping too.
    let mut sum = sum_for(3, 1, 1048576.0, 20);
    sum.push_outer(&[1e4, 3e4, 7e4]).unwrap();
    let q: Vec<f64> = sum.units().iter().map(|q| *q as f64).collect();
    for (place, expected) in [(1, 3.0 * SQRT_2), (2, 9.0), (3, 7.0 * SQRT_2), (4, 21.0 * SQRT_2), (5, 49.0)] {
        assert!((q[place] / q[0] / expected - 1.0).abs() < 1e-3, "{place}: {q:?}");
    }
}

#[test]
fn a_row_that_is_not_finite_contributes_nothing() {
    for entry in [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e200, f64::MAX] {
        let mut sum = sum_for(2, 1, 1000.0, 0);
        sum.push_outer(&[1.0, entry]).unwrap();
        assert_eq!(sum.units(), [0; 3], "{entry}");
    }
}

#[test]
fn only_outer_products_enter_their_sum_and_no_other() {
    let mut sum = sum_for(2, 1, 1000.0, 0);
    assert!(sum.push(&[1.0, 2.0, 3.0]).is_err() && sum.push_sparse(&[1], &[-9.0]).is_err());
    assert!(sum.push_outer(&[1.0]).is_err() && sum.push_outer(&[1.0; 3]).is_err());
    sum.push_outer(&[2.0, -1.0]).unwrap();
    assert_eq!(sum.units(), [4, -3, 1], "what was refused was not counted");
    assert!(matches!(sum.push_outer(&[1.0, 1.0]), Err(PrivacyError::TooMany { .. })));
    // Six coordinates have halves, too.
    assert!(sum_for(3, 1, 1000.0, 0).push_halves(&[1], &[1.0, -1.0]).is_err());
    for reach in [Reach::Ball, Reach::Orthant] {
        let mut other = sum_for(2, 1, 1000.0, 0);
        other.reach = reach;
        assert!(other.push_outer(&[1.0, 1.0]).is_err());
    }
}

#[test]
fn shapes_that_hold_no_outer_product_are_refused() {
    let taken = |dimension: usize, units: f64, grain: Grain| {
        let shape = Shape::new(dimension, NormBound::new(units).unwrap(), grain, Grid::new(0).unwrap()).unwrap();
        Bounded::outer_products(shape, &Batch::default()).is_ok()
    };
    let triangles: Vec<usize> = (1..100).filter(|p| taken(*p, 1000.0, Grain::Example)).collect();
    assert_eq!(triangles, [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91]);
    assert!(!taken(3, 1000.0, Grain::Whole));
    // 78 entries: 15 units are the roundings', and ⌊√2·11⌋ is 15.
    assert!(!taken(78, 11.0, Grain::Example) && taken(78, 12.0, Grain::Example));
}

/// Found by review: on a grid of 2^12 units to the bound, as there are under much noise, some thousands of inputs leave nothing
/// for the rows, and that is said without a batch. Nothing of the size of such a product is made.
#[test]
fn with_thousands_of_inputs_roundings_can_take_the_whole_bound() {
    let shape = |d: usize, units: f64| {
        Shape::new(entries(d), NormBound::new(units).unwrap(), Grain::Example, Grid::new(0).unwrap()).unwrap()
    };
    let most = (1..14_000).rev().find(|d| Bounded::check_outer_products(&shape(*d, 4096.0)).is_ok());
    // ⌊√2·4096⌋ = 5792 units are more than ⌈3√p/2⌉ + 1 for p = d(d+1)/2 up to d = 5458.
    assert_eq!((most, slack(entries(5458)), slack(entries(5459))), (Some(5458), 5791, 5792));
    let error = Bounded::check_outer_products(&shape(5459, 4096.0)).unwrap_err();
    assert_eq!(error.code(), "P002");
    assert!(error.to_string().contains("outer products of 5459 entries within 5792 grid units"), "{error}");
    // On the grids that usual noise has it is no limit.
    assert!(Bounded::check_outer_products(&shape(14_000, 1_048_576.0)).is_ok());
}

/// Whether a pair of rows, with a bound in units, shows that a way to push is wrong.
fn caught(mutant: Push) -> bool {
    // The first two fit as they are, and are orthogonal until they are rounded: (9, 17, 14) and (14, −17, 9).
    let canaries = [([3.08, 3.8], [3.8, -3.08], 17.0), ([1e3, 0.0], [0.0, 1e3], 1e3), ([1e3, 1.0], [-1e3, 1.0], 1e3)];
    assert!(canaries.iter().all(|(a, b, units)| moved(honest, [a, b], *units, 0) <= 1.0));
    canaries.iter().any(|(a, b, units)| moved(mutant, [a, b], *units, 0) > 1.0)
}

#[test]
fn mutant_without_slack_for_rounding_is_caught() {
    assert!(caught(|sum, z| {
        sum.clip = Clipper::new(sum.shape.non_negative_bound_units(), 1.0, 1.0);
        honest(sum, z);
    }));
}

#[test]
fn mutant_clipped_to_twice_the_bound_is_caught() {
    assert!(caught(|sum, z| {
        sum.clip = Clipper::new(2 * sum.shape.bound_units(), 1.0, 1.0);
        honest(sum, z);
    }));
}

#[test]
fn mutant_vectors_of_any_sign_at_root_two_of_the_bound_are_caught() {
    assert!(caught(|sum, z| {
        sum.reach = Reach::Ball;
        sum.push(&[z[0], z[1], z[0] * z[1]]).unwrap();
    }));
}

/// The diagonal is shrunk, the rest is not: no multiple of a product, and two of opposite signs are far apart.
#[test]
fn mutant_rows_scaled_entry_by_entry_are_caught() {
    assert!(caught(|sum, z| {
        sum.reach = Reach::Ball;
        sum.push(&[z[0] * z[0] / 1e6, SQRT_2 * z[0] * z[1], z[1] * z[1] / 1e6]).unwrap();
    }));
}
