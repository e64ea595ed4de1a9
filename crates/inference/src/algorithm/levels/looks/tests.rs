//! Sensitivities over arbitrary pairs of rows, and what the first look reads from exact sums.

use super::*;
use crate::algorithm::levels::{InputDesign, level_bound, second_look_bound};
use crate::linalg::{dot, isometric_weights, packed};
use chacha20::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

const BOTH: [Adjacency; 2] = [Adjacency::Substitute, Adjacency::AddRemove];

/// Three numbers, two flags, two blocks.
fn design() -> InputDesign {
    InputDesign::new(3, vec![3, 8], vec![4..8, 9..11]).unwrap()
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A legal row: numbers of very different sizes, flags at random, one level of each block, the intercept.
fn any_row(rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<u32>, f64) {
    let size = libm::exp2(12.0 * uniform(rng) - 6.0);
    let numbers = (0..3).map(|_| size * (2.0 * uniform(rng) - 1.0)).collect();
    let mut pick = |from: u32, of: u32| from + (rng.next_u64() % u64::from(of)) as u32;
    let (levels, flags, label) = ([pick(4, 4), pick(9, 2), 11], [pick(0, 2), pick(0, 2)], pick(0, 2));
    let flagged = [3, 8].into_iter().zip(flags).filter(|(_, set)| *set == 1).map(|(place, _)| place);
    let mut ones: Vec<u32> = levels.into_iter().chain(flagged).collect();
    ones.sort_unstable();
    (numbers, ones, f64::from(label))
}

fn borrowed((numbers, ones, outcome): &(Vec<f64>, Vec<u32>, f64)) -> Row<'_> {
    Row { numbers, ones, outcome: *outcome }
}

fn first_look_vector(look: &FirstLook<'_>, row: &Row<'_>) -> Vec<f64> {
    let mut entries = SparseEntries::default();
    look.row(row, &mut entries);
    assert!(entries.positions.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", entries.positions);
    let mut dense = vec![0.0; look.bound().length];
    entries.positions.iter().zip(&entries.values).for_each(|(p, v)| dense[*p as usize] = *v);
    dense
}

fn packed_product(y: &[f64]) -> Vec<f64> {
    let products = (0..y.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
    products.zip(isometric_weights(y.len())).map(|((i, j), weight)| weight * y[i] * y[j]).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// A summary of these inputs with centres away from 0 and variances of several sizes.
fn summary() -> InputSummary {
    let centre = vec![0.4, -0.2, 0.0, 0.1, 0.6, 0.3, 0.08, 0.02, 0.5, 0.7, 0.3];
    InputSummary { design: design(), rows: 1000.0, centre, variances: vec![1.1, 0.3, 2.0], noise: 0.01 }
}

/// What a row contributes to a release.
type VectorOf = Box<dyn Fn(&Row<'_>) -> Vec<f64>>;

/// Vectors of rows for every release of the method.
fn releases(adjacency: Adjacency) -> Vec<(SumBound, VectorOf)> {
    let (design, inputs) = (design(), summary().centred());
    let first = FirstLook::new(&design, adjacency).bound();
    let (second, level) = (second_look_bound(&design), level_bound(&design));
    let for_first = design.clone();
    let (for_second, for_zero) = (inputs.clone(), inputs.clone());
    let theta: Vec<f64> = (0..inputs.width()).map(|j| 0.9 - 0.25 * j as f64).collect();
    let at = |inputs: &CentredInputs, theta: &[f64], level: usize, row: &Row<'_>| {
        let mut vector = vec![0.0; inputs.width() + 1];
        LevelPoint { inputs, theta, clip: inputs.clip(level) }.row(row, &mut vector);
        vector
    };
    vec![
        (first, Box::new(move |row| first_look_vector(&FirstLook::new(&for_first, adjacency), row))),
        (
            second,
            Box::new(move |row| {
                let mut y = vec![0.0; for_second.width()];
                for_second.second_look_row(row, &mut y);
                packed_product(&y)
            }),
        ),
        (level, Box::new(move |row| at(&for_zero, &vec![0.0; for_zero.width()], 0, row))),
        (level, Box::new(move |row| at(&inputs, &theta, 3, row))),
    ]
}

#[test]
fn no_pair_of_rows_is_further_apart_than_the_declared_sensitivity() {
    for adjacency in BOTH {
        for (k, (bound, vector)) in releases(adjacency).into_iter().enumerate() {
            let (mut rng, mut worst) = (ChaCha8Rng::from_seed([k as u8; 32]), 0.0_f64);
            let declared = bound.sensitivity(adjacency);
            for _ in 0..20_000 {
                let a = vector(&borrowed(&any_row(&mut rng)));
                let b = vector(&borrowed(&any_row(&mut rng)));
                assert_eq!(a.len(), bound.length);
                let moved = match adjacency {
                    Adjacency::Substitute => distance(&a, &b),
                    Adjacency::AddRemove => dot(&a, &a).sqrt(),
                };
                worst = worst.max(moved / declared);
            }
            assert!(worst <= 1.0 && worst > 0.85, "release {k}, {adjacency:?}: {worst} of the declared sensitivity");
        }
    }
}

/// Of dummies alone the bound is attained: two rows that differ in every block and flag are √2 apart.
#[test]
fn the_first_look_needs_one_level_in_each_block() {
    let design = InputDesign::new(0, vec![0, 4], vec![1..4, 5..7]).unwrap();
    let look = FirstLook::new(&design, Adjacency::Substitute);
    let vector = |ones: &[u32]| first_look_vector(&look, &Row { numbers: &[], ones, outcome: 0.0 });
    let declared = look.bound().sensitivity(Adjacency::Substitute);
    let (a, b) = (vector(&[0, 1, 5, 7]), vector(&[2, 4, 6, 7]));
    assert!(distance(&a, &b) <= declared && distance(&a, &b) > declared * (1.0 - 1e-12));
    let two_levels = vector(&[0, 1, 2, 5, 7]);
    assert!(dot(&two_levels, &two_levels).sqrt() > look.bound().norm * 1.1, "a gate would shorten this row");
    assert!(distance(&two_levels, &vector(&[3, 4, 6, 7])) > declared * 1.05);
}

#[test]
fn sums_without_noise_are_read_as_they_are() {
    let (design, mut rng) = (design(), ChaCha8Rng::from_seed([9; 32]));
    let rows: Vec<_> = (0..4000).map(|_| any_row(&mut rng)).collect();
    let small = |row: &&(Vec<f64>, Vec<u32>, f64)| row.0.iter().all(|x| x.abs() < 0.9);
    let rows: Vec<_> = rows.iter().filter(small).collect();
    let n = rows.len() as f64;
    for adjacency in BOTH {
        let look = FirstLook::new(&design, adjacency);
        let mut sum = vec![0.0; look.bound().length];
        for row in &rows {
            let vector = first_look_vector(&look, &borrowed(row));
            sum.iter_mut().zip(vector).for_each(|(sum, v)| *sum += v);
        }
        let read = look.read(&sum, 0.0, n).unwrap();
        let mut means = vec![0.0; 12];
        rows.iter().for_each(|row| borrowed(row).add_to(1.0 / n, &mut means));
        for (j, (found, mean)) in read.centre().iter().zip(&means).enumerate() {
            assert!((found - mean).abs() < 1e-12, "input {j}: {found} {mean}");
        }
        for (j, (found, mean)) in read.variances.iter().zip(&means).enumerate() {
            let square: f64 = rows.iter().map(|row| row.0[j] * row.0[j]).sum::<f64>() / n;
            assert!((found - (square - mean * mean)).abs() < 1e-12);
        }
        assert_eq!(look.read(&sum[1..], 0.0, n), None);
    }
}

#[test]
fn norms_from_stored_entries_are_those_of_the_dense_rows() {
    let (inputs, mut rng) = (summary().centred(), ChaCha8Rng::from_seed([4; 32]));
    let theta: Vec<f64> = (0..12).map(|j| 0.3 * j as f64 - 1.0).collect();
    for _ in 0..500 {
        let row = any_row(&mut rng);
        let row = borrowed(&row);
        let x = row.to_dense(12);
        let z: Vec<f64> = (0..12).map(|j| if j < 11 { x[j] - inputs.centre()[j] } else { x[j] }).collect();
        let scaled: Vec<f64> = z.iter().zip(inputs.scales()).map(|(z, s)| z * s).collect();
        assert!((inputs.squared_norm(&row) / dot(&scaled, &scaled) - 1.0).abs() < 1e-12);
        assert!((row.dot(&inputs.uncentred(&theta)) - dot(&z, &theta)).abs() < 1e-12 * (1.0 + dot(&x, &x)));
    }
    let mut nothing = vec![1.0; 12];
    inputs.second_look_row(&Row { numbers: &[0.0; 3], ones: &[], outcome: 0.0 }, &mut nothing);
    assert_eq!(nothing, [0.0; 12], "an empty row contributes nothing");
    assert_eq!(second_look_bound(&design()).length, packed(12));
}

/// The weight c looks at the inputs alone: with it the score of the true coefficients has mean 0, however small the clip is.
#[test]
fn the_weight_of_a_row_does_not_look_at_its_label() {
    let (inputs, mut rng) = (summary().centred(), ChaCha8Rng::from_seed([6; 32]));
    let theta: Vec<f64> = (0..12).map(|j| 0.4 * j as f64 - 2.0).collect();
    let point = LevelPoint { inputs: &inputs, theta: &theta, clip: inputs.clip(3) };
    let mut clipped = 0;
    for _ in 0..500 {
        let (numbers, ones, _) = any_row(&mut rng);
        let [no, yes] = [0.0, 1.0].map(|outcome| {
            let mut vector = vec![0.0; 13];
            point.row(&Row { numbers: &numbers, ones: &ones, outcome }, &mut vector);
            vector
        });
        assert_eq!(no[12], yes[12], "{numbers:?}");
        clipped += usize::from(no[12] < 0.5 * WEIGHT);
        // E[c(y − σ)z] is 0 at the point: σ of the score of "yes" and 1 − σ of that of "no".
        let probability = 1.0 / (1.0 + libm::exp(-Row { numbers: &numbers, ones: &ones, outcome: 0.0 }.dot(&theta)));
        let mean = |j: usize| probability * yes[j] + (1.0 - probability) * no[j];
        assert!((0..12).all(|j| mean(j).abs() < 1e-12));
    }
    assert!(clipped > 100, "{clipped} of 500 rows are clipped");
}
