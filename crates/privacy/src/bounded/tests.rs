//! Clipping holds its bound, whatever comes in.

use super::*;
use crate::{Grid, NormBound};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_core::SeedableRng;

type Clipping = fn(&[f64], &Shape, &mut [i64]);

fn clip_to_grid(x: &[f64], shape: &Shape, out: &mut [i64]) {
    Clipper::to(shape).vector(x, out);
}

fn shape(dimension: usize, bound: f64) -> Shape {
    let bound = NormBound::new(bound).unwrap();
    let grid = Grid::for_noise(bound, bound.get()).unwrap();
    Shape::new(dimension, bound, Grain::Example, grid).unwrap()
}

/// A sum of one non-negative vector on a shape of this bound.
fn one_non_negative(x: &[f64], bound: f64) -> Vec<i64> {
    let mut batch = Batch::default();
    crate::batch::BatchSampler::new(&crate::Sampling::None)
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
        (norm_squared(&long) as f64).sqrt() / units > 0.999_99 * std::f64::consts::SQRT_2
            && norm_squared(&long) as f64 <= 2.0 * units * units
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
        let (mut q, clip, finite) = (vec![0; x.len()], Clipper::to(&shape), x.iter().all(|v| v.is_finite()));
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
        // On the grid of units: √2^53 is about 95e6, so that some sums are exact and some are not.
        let clip = Clipper::new((1 << exponent) + 1, 1.0, 1.0);
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
    let canaries: [&[f64]; 5] = [&[1000.0, 0.1], &[0.1, 1000.0], &[f64::NAN, 1.0], &[0.9, 0.9], &[f64::INFINITY, 0.0]];
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
    assert_eq!(sum.units(), [1 << 19, 0, 0, -(1 << 18)]);
    assert!(matches!(sum.push_sparse(&[], &[]), Err(PrivacyError::TooMany { .. })));
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
    assert_eq!(sum.units(), [1 << 19, 0, 0, -(1 << 18), 0, 0, 0, 1 << 17]);
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
