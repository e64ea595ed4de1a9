//! Ghost clipping: sums of the per-example gradients of layers, each clipped by its norm, none of them ever formed.
//!
//! The proof that such a sum moves no further than its shape declares is in `docs/maths/ghost-clipping.md`. In short:
//! every example's clip factor comes from its inputs and deltas alone; every entry of its clipped gradient is truncated
//! towards zero on the grid, which shortens it; sums are of integers, hence exact in any order.
//!
//! A batch of B examples and a layer with n inputs and m outputs would need B·n·m numbers for per-example gradients. Ghost
//! clipping needs B·(n + m): the norm of an outer product is the product of the norms.

use super::{Bounded, Reach};
use crate::shape::power_of_two;
use crate::{PrivacyError, Shape};
use zeroize::Zeroizing;

/// One layer of a batch: example i has the gradient Aᵢⱼ·Dᵢₖ by the weight from input j to output k.
///
/// Weights are counted input by input: j·outputs + k, one layer after the other.
#[derive(Clone, Copy)]
pub struct Layer<'a> {
    /// A, the inputs of the layer, one row for each example.
    pub inputs: Inputs<'a>,
    /// D: derivatives by the layer's outputs before its activation, row by row.
    pub deltas: &'a [f64],
    /// Number of outputs; `deltas` has as many numbers for each example.
    pub outputs: usize,
}

/// Inputs of a layer, row by row: first some numbers, then positions that hold a one.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Number of inputs, stored numbers and possible positions of ones together.
    pub width: usize,
    /// Inputs 0..dense are numbers.
    pub dense: usize,
    /// The numbers, `dense` for each row.
    pub numbers: &'a [f64],
    /// Positions from `dense` on that hold a one, increasing within a row.
    pub ones: &'a [u32],
    /// Row i has the ones `starts[i]..starts[i + 1]`.
    pub starts: &'a [u32],
}

impl Inputs<'_> {
    /// Positions and values of one row's stored inputs, increasing.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let numbers = self.numbers(row).iter().copied().enumerate();
        numbers.chain(self.ones(row).iter().map(|&p| (p as usize, 1.0)))
    }

    /// The stored numbers of one row.
    fn numbers(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.dense..(row + 1) * self.dense]
    }

    /// Positions of the ones of one row, increasing.
    fn ones(&self, row: usize) -> &[u32] {
        &self.ones[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Whether there are so many rows, each with increasing positions in range: the norm counts every input once.
    fn fit(&self, rows: usize) -> bool {
        let increasing = |row: &[u32]| row.windows(2).all(|w| w[0] < w[1]);
        let inside = |row: &[u32]| row.iter().all(|&p| (self.dense..self.width).contains(&(p as usize)));
        let ordered = self.starts.len() == rows + 1 && self.starts.windows(2).all(|w| w[0] <= w[1]);
        let ends = self.starts.last().is_some_and(|&end| end as usize <= self.ones.len());
        let shaped = self.dense <= self.width && self.numbers.len() == rows * self.dense;
        shaped && ordered && ends && (0..rows).map(|i| self.ones(i)).all(|row| increasing(row) && inside(row))
    }
}

impl Layer<'_> {
    /// Public weights of a second block are no larger in size: 2^18.
    pub const MOST_WEIGHT: f64 = (1_u64 << 18) as f64;

    /// Number of weights, inputs times outputs.
    fn len(&self) -> usize {
        self.inputs.width * self.outputs
    }

    /// Derivatives of one row by the outputs of the layer.
    fn deltas(&self, row: usize) -> &[f64] {
        &self.deltas[row * self.outputs..(row + 1) * self.outputs]
    }
}

/// What is taken off the bound for the roundings of norms, factors and products, which are together under 2^−24.
const MARGIN: f64 = 1.0 / (1 << 20) as f64;

/// Σ A² and Σ D², in units, up to which an example counts: no square of a normal size over- or underflows then. An
/// example beyond contributes zero.
const MOST_SQUARED: f64 = power_of_two(800);

/// Public weights of the second block are truncated to multiples of 2^−32.
const WEIGHT_BITS: i32 = 32;

/// Most that a sum may reach, in units, where it is multiplied by weights: it must not wrap before.
const MOST_SUM: u128 = 1 << 62;

/// Buffers that are kept from batch to batch.
#[derive(Default)]
pub(super) struct GhostBuffers {
    /// Σ over layers of an example's squared norm, in squared units.
    squared: Zeroizing<Vec<f64>>,
    /// W as integers, in multiples of 2^−32, and 1 + W².
    weights: Vec<i64>,
    lengths: Vec<f64>,
    outputs: OutputBuffers,
}

/// One number for each output of a layer: a clipped delta, and the same truncated to grid units.
#[derive(Default)]
struct OutputBuffers {
    delta: Zeroizing<Vec<f64>>,
    whole: Zeroizing<Vec<i64>>,
}

impl Bounded {
    /// Adds the clipped gradients of all rows of a batch, given layer by layer, without forming any of them.
    ///
    /// With `second` each example's vector has a second half, its first half times these public weights, one by one: it
    /// is clipped together with the first. A sum is made by one such call. An example that is not finite contributes
    /// exactly zero, and so does one whose inputs or deltas are over 2^400 in grid units.
    pub fn push_layers(&mut self, layers: &[Layer<'_>], second: Option<&[f64]>) -> Result<(), PrivacyError> {
        if self.persons.is_some() {
            return Err(PrivacyError::NoTheorem {
                what: "a sum of persons over network layers".into(),
                why: "layers give the norm of each row's gradient, and not that of a person's sum",
                hint: "account for examples, or use a method that clips whole changes",
            });
        }
        let rows = self.rows_of(layers, second)?;
        let clip = effective_bound(&self.shape, second.is_some())?;
        self.ghost.prepare(rows, second)?;
        self.pushed = rows as u64;
        self.squares = None;
        let scale = self.shape.grid().in_units(1.0);
        let GhostBuffers { squared, weights, lengths, outputs } = &mut *self.ghost;
        let mut at = 0;
        for layer in layers {
            let own = if second.is_some() { &lengths[at..at + layer.len()] } else { &[] };
            add_norms(layer, scale, own, &mut outputs.delta, squared);
            at += layer.len();
        }
        at = 0;
        // From squared norms to what D is multiplied by.
        squared.iter_mut().for_each(|s| *s = factor(*s, clip) * scale);
        for layer in layers {
            add_sum(layer, squared, outputs, &mut self.units[at..at + layer.len()]);
            at += layer.len();
        }
        if second.is_some() {
            let (sum, weighted) = self.units.split_at_mut(at);
            weighted.iter_mut().zip(sum).zip(&*weights).for_each(|((q, s), w)| *q = product(*s, *w));
        }
        Ok(())
    }

    /// How many rows the layers have, if they fit each other, the weights, the shape and the batch.
    fn rows_of(&self, layers: &[Layer<'_>], second: Option<&[f64]>) -> Result<usize, PrivacyError> {
        let refuse = |found: &str| Err(PrivacyError::Shape { found: found.into(), expected: self.shape.to_string() });
        let rows = layers.first().map_or(0, |layer| layer.deltas.len() / layer.outputs.max(1));
        let fits = |layer: &Layer<'_>| layer.inputs.fit(rows) && layer.deltas.len() == rows * layer.outputs;
        if !layers.iter().all(fits) {
            return refuse("layers of different rows, or inputs at positions that are not increasing or not in range");
        }
        let first: usize = layers.iter().map(Layer::len).sum();
        let halves = if second.is_some() { 2 } else { 1 };
        if second.is_some_and(|w| w.len() != first) || halves * first != self.shape.dimension() {
            return refuse("layers with another number of weights");
        }
        if self.reach != Reach::Ball {
            return refuse("layers, whose gradients have any sign, for a sum that holds signs");
        }
        if second.is_some() && u128::from(self.shape.bound_units()) * rows as u128 > MOST_SUM {
            return refuse("layers of so many rows that their sum may leave 64 bits");
        }
        if self.pushed > 0 || rows as u64 > self.room {
            return Err(PrivacyError::TooMany { expected: "one call of all layers for the rows of its batch".into() });
        }
        Ok(rows)
    }
}

/// C′, to which examples are clipped: C·(1 − margin) units, less √d where d products are truncated after the sum.
fn effective_bound(shape: &Shape, second: bool) -> Result<f64, PrivacyError> {
    let truncated = if second { (shape.dimension() as f64 / 2.0).sqrt() } else { 0.0 };
    let bound = shape.bound_units() as f64 * (1.0 - MARGIN) - truncated;
    if bound >= 1.0 {
        return Ok(bound);
    }
    Err(PrivacyError::Shape {
        found: format!("{shape}: {} units", shape.bound_units()),
        expected: "a bound of more grid units than the root of the number of weights".into(),
    })
}

impl GhostBuffers {
    /// Resets the buffers for so many rows and truncates the public weights to multiples of 2^−32.
    fn prepare(&mut self, rows: usize, second: Option<&[f64]>) -> Result<(), PrivacyError> {
        self.squared.clear();
        self.squared.resize(rows, 0.0);
        self.weights.clear();
        self.lengths.clear();
        let weights = second.unwrap_or_default();
        if !weights.iter().all(|w| w.abs() <= Layer::MOST_WEIGHT) {
            return Err(PrivacyError::Shape {
                found: "weights of a second block that are not finite or too large".into(),
                expected: "numbers between -2^18 and 2^18".into(),
            });
        }
        let scale = power_of_two(WEIGHT_BITS);
        self.weights.extend(weights.iter().map(|w| to_units(w * scale)));
        self.lengths.extend(self.weights.iter().map(|&w| w as f64 / scale).map(|w| 1.0 + w * w));
        Ok(())
    }
}

/// What an example is multiplied by. Written so that NaN and infinity take the refusing branch.
fn factor(squared: f64, clip: f64) -> f64 {
    if squared <= clip * clip {
        1.0
    } else if squared < f64::INFINITY {
        clip / squared.sqrt()
    } else {
        0.0
    }
}

/// Adds to every row's squared norm that of its gradient by this layer's weights, in squared units:
/// Σⱼₖ Aⱼ²Dₖ²(1 + Wⱼₖ²), which is ‖A‖²‖D‖² where there is no second block.
fn add_norms(layer: &Layer<'_>, scale: f64, lengths: &[f64], per_output: &mut Vec<f64>, squared: &mut [f64]) {
    let inputs = &layer.inputs;
    per_output.clear();
    per_output.resize(layer.outputs, 0.0);
    for (i, total) in squared.iter_mut().enumerate() {
        let (numbers, ones) = (inputs.numbers(i), inputs.ones(i));
        let in_units = |d: &f64| (d * scale) * (d * scale);
        let of_inputs = numbers.iter().map(|a| a * a).sum::<f64>() + ones.len() as f64;
        let of_deltas = layer.deltas(i).iter().map(in_units).sum::<f64>();
        *total += if !(of_inputs <= MOST_SQUARED && of_deltas <= MOST_SQUARED) {
            f64::INFINITY
        } else if lengths.is_empty() {
            of_inputs * of_deltas
        } else {
            weighted(lengths, numbers, ones, per_output);
            layer.deltas(i).iter().zip(&*per_output).map(|(d, e)| in_units(d) * e).sum::<f64>()
        };
    }
}

/// Σⱼ Aⱼ²(1 + Wⱼₖ²) for every output k.
fn weighted(lengths: &[f64], numbers: &[f64], ones: &[u32], into: &mut [f64]) {
    if let [single] = into {
        let dense: f64 = numbers.iter().zip(lengths).map(|(a, length)| a * a * length).sum();
        *single = ones.iter().fold(dense, |sum, &p| sum + lengths[p as usize]);
        return;
    }
    into.fill(0.0);
    for (a, of_input) in numbers.iter().zip(lengths.chunks(into.len())) {
        into.iter_mut().zip(of_input).for_each(|(e, length)| *e += a * a * length);
    }
    for &p in ones {
        let of_input = &lengths[p as usize * into.len()..][..into.len()];
        into.iter_mut().zip(of_input).for_each(|(e, length)| *e += length);
    }
}

/// Adds tr(Aⱼ·(factor·Dₖ)) of every row to the integers of this layer.
fn add_sum(layer: &Layer<'_>, factors: &[f64], buffers: &mut OutputBuffers, units: &mut [i64]) {
    let (OutputBuffers { delta, whole }, outputs) = (buffers, layer.outputs);
    for (i, factor) in factors.iter().enumerate().filter(|(_, factor)| **factor > 0.0) {
        delta.clear();
        delta.extend(layer.deltas(i).iter().map(|d| d * factor));
        whole.clear();
        whole.extend(delta.iter().map(|d| to_units(*d)));
        let (numbers, ones) = (layer.inputs.numbers(i), layer.inputs.ones(i));
        if let [single] = delta[..] {
            add(units, numbers.iter().map(|a| to_units(a * single)));
        } else {
            for (a, total) in numbers.iter().zip(units.chunks_mut(outputs)).filter(|(a, _)| **a != 0.0) {
                add(total, delta.iter().map(|d| to_units(a * d)));
            }
        }
        for &p in ones {
            add(&mut units[p as usize * outputs..][..outputs], whole.iter().copied());
        }
    }
}

/// Adds integers modulo 2^64. Inlined, so that the loop becomes vector code.
#[inline(always)]
fn add(total: &mut [i64], parts: impl Iterator<Item = i64>) {
    total.iter_mut().zip(parts).for_each(|(t, q)| *t = t.wrapping_add(q));
}

/// 2^52, whose low bits hold a number up to 2^51 that is added to it.
const ROUNDER: f64 = (1_u64 << 52) as f64;

/// x truncated toward zero, for |x| ≤ 2^51. For vector code, which a cast is not.
#[inline(always)]
fn to_units(x: f64) -> i64 {
    let size = x.abs();
    let nearest = (size + ROUNDER) - ROUNDER;
    let whole = if nearest > size { nearest - 1.0 } else { nearest };
    let low_bits = (whole + ROUNDER).to_bits() & ((1 << 52) - 1);
    if x < 0.0 { (low_bits as i64).wrapping_neg() } else { low_bits as i64 }
}

/// sum·w·2^−32, truncated toward zero.
fn product(sum: i64, weight: i64) -> i64 {
    ((i128::from(sum) * i128::from(weight)) / (1 << WEIGHT_BITS)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::norm_squared;
    use crate::{Grain, Grid, NormBound};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    /// Two layers: four inputs, two of them numbers, to three outputs; those and a bias to the next.
    const WIDTHS: [usize; 2] = [4, 4];

    /// A batch in the clear.
    #[derive(Clone, Debug)]
    struct Example {
        numbers: [f64; 2],
        ones: Vec<u32>,
        hidden: [f64; 3],
        deltas: [Vec<f64>; 2],
    }

    struct Stored {
        numbers: Vec<f64>,
        ones: Vec<u32>,
        starts: Vec<u32>,
        hidden: Vec<f64>,
        bias: Vec<u32>,
        each: Vec<u32>,
        deltas: [Vec<f64>; 2],
        outputs: [usize; 2],
    }

    impl Stored {
        fn of(batch: &[Example]) -> Self {
            let mut starts = vec![0];
            batch.iter().fold(0, |end, e| {
                starts.push(end + e.ones.len() as u32);
                end + e.ones.len() as u32
            });
            Self {
                numbers: batch.iter().flat_map(|e| e.numbers).collect(),
                ones: batch.iter().flat_map(|e| e.ones.clone()).collect(),
                starts,
                hidden: batch.iter().flat_map(|e| e.hidden).collect(),
                bias: vec![3; batch.len()],
                each: (0..=batch.len() as u32).collect(),
                deltas: [0, 1].map(|l| batch.iter().flat_map(|e| e.deltas[l].clone()).collect()),
                outputs: [3, batch.first().map_or(1, |e| e.deltas[1].len())],
            }
        }

        fn layers(&self) -> [Layer<'_>; 2] {
            let [first, second] = WIDTHS;
            let (numbers, ones, starts) = (&self.numbers[..], &self.ones[..], &self.starts[..]);
            let low = Inputs { width: first, dense: 2, numbers, ones, starts };
            let high = Inputs { width: second, dense: 3, numbers: &self.hidden, ones: &self.bias, starts: &self.each };
            let layer = |inputs, l: usize| Layer { inputs, deltas: &self.deltas[l], outputs: self.outputs[l] };
            [layer(low, 0), layer(high, 1)]
        }
    }

    /// One example's gradient, formed.
    fn formed(e: &Example, second: Option<&[f64]>) -> Vec<f64> {
        let mut inputs = vec![0.0; 4];
        inputs[..2].copy_from_slice(&e.numbers);
        e.ones.iter().for_each(|&p| inputs[p as usize] = 1.0);
        let hidden: Vec<f64> = e.hidden.iter().copied().chain([1.0]).collect();
        let outer = |a: &[f64], d: &[f64]| a.iter().flat_map(|a| d.iter().map(move |d| a * d)).collect::<Vec<f64>>();
        let first = [outer(&inputs, &e.deltas[0]), outer(&hidden, &e.deltas[1])].concat();
        let weighted: Vec<f64> = first.iter().zip(second.unwrap_or_default()).map(|(g, w)| g * w).collect();
        [first, weighted].concat()
    }

    fn shape(dimension: usize, bound: f64, exponent: i32) -> Shape {
        let (bound, grid) = (NormBound::new(bound).unwrap(), Grid::new(exponent).unwrap());
        Shape::new(dimension, bound, Grain::Example, grid).unwrap()
    }

    fn ghost(batch: &[Example], second: Option<&[f64]>, shape: Shape) -> Vec<i64> {
        let stored = Stored::of(batch);
        let mut sum = Bounded::empty(shape, batch.len() as u64);
        sum.push_layers(&stored.layers(), second).unwrap();
        sum.units().to_vec()
    }

    fn naive(batch: &[Example], second: Option<&[f64]>, shape: Shape) -> Vec<i64> {
        let mut sum = Bounded::empty(shape, batch.len() as u64);
        batch.iter().for_each(|e| sum.push(&formed(e, second)).unwrap());
        sum.units().to_vec()
    }

    fn number() -> BoxedStrategy<f64> {
        prop_oneof![
            6 => -3.0..3.0_f64,
            1 => Just(0.0), 1 => Just(1e-300), 1 => Just(-1e-160), 1 => Just(1e3), 1 => Just(-1e60), 1 => Just(1e118),
            1 => Just(1e150), 1 => Just(5e-324)
        ]
        .boxed()
    }

    fn example(number: BoxedStrategy<f64>, outputs: usize) -> impl Strategy<Value = Example> {
        let ones = prop_oneof![Just(vec![]), Just(vec![2]), Just(vec![3]), Just(vec![2, 3])];
        let some = |n: usize| prop::collection::vec(number.clone(), n);
        (some(2), ones, some(3), some(3), some(outputs)).prop_map(|(x, ones, h, d, e)| Example {
            numbers: [x[0], x[1]],
            ones,
            hidden: [h[0], h[1], h[2]],
            deltas: [d, e],
        })
    }

    /// Moved by more than so many units?
    fn within(a: &[i64], b: &[i64], most: u64) -> bool {
        let moved: Vec<i64> = a.iter().zip(b).map(|(a, b)| a.wrapping_sub(*b)).collect();
        norm_squared(&moved) <= u128::from(most).pow(2)
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..Default::default() })]

        #[test]
        fn one_example_moves_the_sum_by_no_more_than_declared(
            batch in prop::collection::vec(example(number(), 1), 1..6), other in example(number(), 1),
            weights in prop::collection::vec(prop_oneof![-2.0..2.0_f64, Just(0.0), Just(1e5)], 16),
            both in any::<bool>(), bound in prop_oneof![Just(1.0), 1e-6..1e6_f64], units in 8..38_i32,
        ) {
            let second = both.then_some(&weights[..]);
            let exponent = units - libm::ilogb(bound);
            let shape = shape(if both { 32 } else { 16 }, bound, exponent);
            let sum = ghost(&batch, second, shape);
            let fewer = ghost(&batch[1..], second, shape);
            prop_assert!(within(&sum, &fewer, shape.bound_units()));
            let replaced: Vec<Example> = std::iter::once(other).chain(batch[1..].iter().cloned()).collect();
            prop_assert!(within(&sum, &ghost(&replaced, second, shape), 2 * shape.bound_units()));
        }

        #[test]
        fn it_is_the_sum_of_clipped_vectors(
            batch in prop::collection::vec(example((-3.0..3.0_f64).boxed(), 2), 1..6),
            weights in prop::collection::vec(-2.0..2.0_f64, 20), both in any::<bool>(), bound in 0.1..100.0_f64,
        ) {
            let second = both.then_some(&weights[..]);
            let shape = shape(if both { 40 } else { 20 }, bound, 24);
            // The margin, √d, and one unit of truncation for each example.
            let slack = shape.bound_units() as f64 * MARGIN + 20_f64.sqrt() + 3.0;
            let (fast, slow) = (ghost(&batch, second, shape), naive(&batch, second, shape));
            for (a, b) in fast.iter().zip(&slow) {
                prop_assert!((a - b).abs() as f64 <= slack * batch.len() as f64, "{fast:?} {slow:?}");
            }
        }

        #[test]
        fn sums_do_not_depend_on_order(batch in prop::collection::vec(example(number(), 2), 1..6)) {
            let reversed: Vec<Example> = batch.iter().rev().cloned().collect();
            let shape = shape(20, 1.0, 20);
            prop_assert_eq!(ghost(&batch, None, shape), ghost(&reversed, None, shape));
        }
    }

    fn plain() -> Example {
        let deltas = [vec![0.1, 0.2, -0.1], vec![0.3]];
        Example { numbers: [0.5, -0.4], ones: vec![2], hidden: [0.1, 0.0, 0.7], deltas }
    }

    /// Examples a thousand times over the bound: by the inputs or deltas of each layer alone, and of all.
    fn canaries() -> Vec<Example> {
        let quiet = Example { deltas: [vec![0.0; 3], vec![0.0]], ..plain() };
        vec![
            Example { deltas: [vec![0.0, 1000.0, 0.0], vec![0.0]], ..quiet.clone() },
            Example { deltas: [vec![0.0; 3], vec![-1000.0]], ..quiet.clone() },
            Example { numbers: [1000.0, 0.0], deltas: [vec![1.0, 0.0, 0.0], vec![0.0]], ..quiet.clone() },
            Example { hidden: [0.0, 0.0, 1000.0], deltas: [vec![0.0; 3], vec![1.0]], ..quiet },
            Example {
                numbers: [1000.0; 2],
                ones: vec![2, 3],
                hidden: [1000.0; 3],
                deltas: [vec![1000.0; 3], vec![1000.0]],
            },
        ]
    }

    const WEIGHTS: [f64; 16] = [0.5, -0.1, 0.0, 2.0, 0.3, 0.3, -1.0, 0.2, 0.7, 0.1, 0.0, -0.4, 1.5, -0.2, 0.9, 0.05];

    #[test]
    fn a_canary_in_each_layer_or_in_all_is_cut_to_the_bound() {
        for second in [None, Some(&WEIGHTS[..])] {
            let shape = shape(if second.is_some() { 32 } else { 16 }, 1.0, 24);
            for canary in canaries() {
                let norm = (norm_squared(&ghost(&[canary], second, shape)) as f64).sqrt() / shape.bound_units() as f64;
                assert!(norm <= 1.0 && norm > 0.999_99, "{norm}");
            }
        }
    }

    #[test]
    fn an_example_that_is_not_finite_contributes_exactly_zero_and_spoils_no_other() {
        let shape = shape(16, 1.0, 24);
        let alone = ghost(&[plain()], None, shape);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            for place in 0..4 {
                let mut e = plain();
                match place {
                    0 => e.numbers[1] = bad,
                    1 => e.hidden[0] = bad,
                    2 => e.deltas[0][2] = bad,
                    _ => e.deltas[1][0] = bad,
                }
                assert_eq!(ghost(&[e.clone(), plain()], None, shape), alone, "{bad} at {place}");
                assert_eq!(ghost(&[e], None, shape), [0; 16]);
            }
        }
    }

    #[test]
    fn truncation_is_that_of_a_cast() {
        for x in [0.0, 0.5, 0.999_999, 1.0, 1.5, 2.5, 3.5, 1e9 + 0.75, 1_099_511_627_775.9, 1_099_511_627_776.0, 5e-324]
        {
            assert_eq!((to_units(x), to_units(-x)), (x as i64, -(x as i64)), "{x}");
        }
        for (sum, weight) in [(7, 3 << 31), (-7, 3 << 31), (7, -(3 << 31)), (i64::MAX >> 1, 1 << 31)] {
            let exact = i128::from(sum) * i128::from(weight);
            assert_eq!(i128::from(product(sum, weight)), exact.signum() * (exact.abs() >> 32));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let stored = Stored::of(&[plain(), plain()]);
        let refused = |shape: Shape, room: u64, layers: &[Layer<'_>], second: Option<&[f64]>| {
            Bounded::empty(shape, room).push_layers(layers, second).is_err()
        };
        let (good, layers) = (shape(16, 1.0, 20), stored.layers());
        assert!(!refused(good, 2, &layers, None));
        assert!(refused(good, 1, &layers, None), "more rows than the batch has");
        assert!(refused(shape(17, 1.0, 20), 2, &layers, None) && refused(good, 2, &layers, Some(&WEIGHTS)));
        assert!(refused(good, 2, &layers[..1], None));
        let both = shape(32, 1.0, 20);
        assert!(!refused(both, 2, &layers, Some(&WEIGHTS)));
        assert!(refused(both, 2, &layers, Some(&[f64::NAN; 16])) && refused(both, 2, &layers, Some(&[1e9; 16])));
        assert!(refused(shape(32, 1.0, 2), 2, &layers, Some(&WEIGHTS)), "four units, and sixteen products");
        let mut sum = Bounded::empty(good, 4);
        sum.push_layers(&layers, None).unwrap();
        assert!(sum.push_layers(&layers, None).is_err(), "a second call");
        for reach in [Reach::Orthant, Reach::Cone] {
            let mut signed = Bounded::empty(good, 2);
            signed.reach = reach;
            assert!(signed.push_layers(&layers, None).is_err(), "gradients have any sign");
        }
        // A position named twice would count twice in the sum and once in each norm.
        for ones in [vec![2, 2], vec![3, 2], vec![1, 2], vec![2, 4]] {
            let stored = Stored::of(&[Example { ones, ..plain() }]);
            assert!(refused(good, 1, &stored.layers(), None));
        }
    }

    /// A gate that tests a sum of single numbers needs Σ of their squares, which layers do not keep. A sum of one weight has the
    /// shape of single numbers: it must not look as if its numbers had no spread.
    #[test]
    fn a_sum_of_layers_does_not_claim_to_know_its_spread() {
        let numbers = [0.5, -0.25];
        let inputs = Inputs { width: 1, dense: 1, numbers: &[1.0, 1.0], ones: &[], starts: &[0, 0, 0] };
        let mut sum = Bounded::empty(shape(1, 1.0, 4), 4);
        assert_eq!(sum.squares(), Some(0), "nothing was added yet");
        sum.push_layers(&[Layer { inputs, outputs: 1, deltas: &numbers }], None).unwrap();
        assert_eq!((sum.units(), sum.squares()), (&[4][..], None));
        sum.push_numbers(&numbers).unwrap();
        assert_eq!((sum.units(), sum.squares()), (&[8][..], None), "nor after numbers that come later");
    }

    /// The mutant without the check of [`MOST_SUM`]: weights would be multiplied by a sum that has wrapped.
    #[test]
    fn a_batch_whose_weighted_sum_could_wrap_is_refused() {
        // 2^40 units a row: 2^22 rows reach 2^62, one more is over it.
        let bound = 2_f64.powi(40);
        let refused = |rows: usize, second: bool| {
            let (zeros, starts) = (vec![0.0; rows], vec![0; rows + 1]);
            let inputs = Inputs { width: 1, dense: 1, numbers: &zeros, ones: &[], starts: &starts };
            let layer = Layer { inputs, outputs: 1, deltas: &zeros };
            let mut sum = Bounded::empty(shape(if second { 2 } else { 1 }, bound, 0), rows as u64);
            sum.push_layers(&[layer], second.then_some(&[0.5][..])).is_err()
        };
        assert!(!refused(1 << 22, true) && refused((1 << 22) + 1, true));
        assert!(!refused((1 << 22) + 1, false), "without weights a sum may wrap");
    }

    /// The sum with something forgotten: a layer in the norms, or what is taken off the bound.
    fn mutant(
        batch: &[Example],
        forgotten: Option<usize>,
        second: Option<&[f64]>,
        shape: Shape,
        clip: f64,
    ) -> Vec<i64> {
        let stored = Stored::of(batch);
        let (scale, mut ghost, mut at) = (shape.grid().in_units(1.0), GhostBuffers::default(), 0);
        ghost.prepare(batch.len(), second).unwrap();
        let GhostBuffers { squared, weights, lengths, outputs } = &mut ghost;
        let mut units = vec![0; shape.dimension()];
        for (l, layer) in stored.layers().iter().enumerate() {
            if forgotten != Some(l) {
                let own = lengths.get(at..at + layer.len()).unwrap_or_default();
                add_norms(layer, scale, own, &mut outputs.delta, squared);
            }
            at += layer.len();
        }
        squared.iter_mut().for_each(|s| *s = factor(*s, clip) * scale);
        at = 0;
        for layer in &stored.layers() {
            add_sum(layer, squared, outputs, &mut units[at..at + layer.len()]);
            at += layer.len();
        }
        let (sum, weighted) = units.split_at_mut(at);
        weighted.iter_mut().zip(sum).zip(&*weights).for_each(|((q, s), w)| *q = product(*s, *w));
        units
    }

    #[test]
    fn mutant_one_layers_norm_forgotten_is_caught() {
        let shape = shape(16, 1.0, 24);
        let clip = effective_bound(&shape, false).unwrap();
        let holds = |forgotten| {
            let bounded =
                |c: Example| within(&mutant(&[c], forgotten, None, shape, clip), &[0; 16], shape.bound_units());
            canaries().into_iter().all(bounded)
        };
        assert!(holds(None) && !holds(Some(0)) && !holds(Some(1)));
    }

    #[test]
    fn mutant_margin_of_truncation_forgotten_is_caught() {
        // Six units. Three coordinates of 3, and half of each, have the norm √33.75; beside three of 1 the halves grow
        // from tr(1/2) to tr(4/2), by 2 each: √39.
        let shape = shape(32, 6.0, 0);
        let of = |d: f64| Example { numbers: [0.0; 2], deltas: [vec![d; 3], vec![0.0]], ..plain() };
        let holds = |clip: f64| {
            let sum = |batch: &[Example]| mutant(batch, None, Some(&[0.5; 16]), shape, clip);
            within(&sum(&[of(3.0), of(1.0)]), &sum(&[of(1.0)]), shape.bound_units())
        };
        assert!(holds(effective_bound(&shape, true).unwrap()));
        assert!(!holds(shape.bound_units() as f64));
    }
}
