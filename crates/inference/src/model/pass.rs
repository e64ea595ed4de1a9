//! One pass of a batch through a network of ReLU layers, forwards and back.
//!
//! Forwards: aₗ₊₁ = ReLU(Wₗ aₗ), the last layer without the ReLU. Back: deltas of a layer are those of
//! the next one, times its weights, where the unit was active. The gradient of a row by Wₗ is
//! aₗ ⊗ deltaₗ; both halves are handed over as they are, and no such product is formed here.

use crate::data::Rows;
use privacy::{Inputs, Layer};

/// Buffers of a pass, kept between calls.
///
/// Weights stand layer after layer, in a layer input by input, and of every layer but the first the last input is a one.
#[derive(Default)]
pub struct Pass {
    /// Rows of the batch.
    rows: usize,
    /// Inputs that are numbers.
    dense: usize,
    /// Inputs of the batch, row by row.
    numbers: Vec<f64>,
    /// Positions that hold a one, row after row.
    ones: Vec<u32>,
    /// Row i has the ones `starts[i]..starts[i + 1]`.
    starts: Vec<u32>,
    /// Of each layer, row by row: after the activation; of the last there is none.
    outputs: Vec<Vec<f64>>,
    /// Of each layer, row by row: derivatives by its outputs before the activation.
    deltas: Vec<Vec<f64>>,
    /// Of each layer, for each row: the position of the bias.
    biases: Vec<Vec<u32>>,
    /// 0, 1, …: row i has the bias i.
    each: Vec<u32>,
}

/// Inputs of layer l: the row's own, or those of the layer before and a one.
fn inputs_of(sizes: &[usize], l: usize) -> usize {
    sizes[l] + usize::from(l > 0)
}

/// Number of weights of a network of these sizes: inputs, hidden layers, outputs.
pub(super) fn weights(sizes: &[usize]) -> usize {
    (0..sizes.len() - 1).map(|l| inputs_of(sizes, l) * sizes[l + 1]).sum()
}

impl Pass {
    /// Takes up the inputs of some rows.
    pub(super) fn load(&mut self, rows: &Rows, which: impl ExactSizeIterator<Item = usize>) {
        (self.rows, self.dense) = (which.len(), rows.dense());
        self.numbers.clear();
        self.ones.clear();
        self.starts.clear();
        self.starts.push(0);
        for i in which {
            let row = rows.row(i);
            self.numbers.extend_from_slice(row.numbers);
            self.ones.extend_from_slice(row.ones);
            self.starts.push(self.ones.len() as u32);
        }
    }

    /// Outputs of the last layer, row by row, with weights θ.
    ///
    /// - `sizes`: inputs, hidden layers, outputs.
    /// - `theta`: all weights, layer after layer.
    pub(super) fn forward(&mut self, sizes: &[usize], theta: &[f64]) -> &mut [f64] {
        let depth = sizes.len() - 1;
        self.outputs.resize(depth, Vec::new());
        let mut rest = theta;
        for l in 0..depth {
            let (weights, after) = rest.split_at(inputs_of(sizes, l) * sizes[l + 1]);
            rest = after;
            let (before, from) = self.outputs.split_at_mut(l);
            let (outputs, into) = (sizes[l + 1], &mut from[0]);
            into.clear();
            into.resize(self.rows * outputs, 0.0);
            for (i, into) in into.chunks_mut(outputs).enumerate() {
                match before.last() {
                    None => {
                        let ones = &self.ones[self.starts[i] as usize..self.starts[i + 1] as usize];
                        multiply(&self.numbers[i * self.dense..(i + 1) * self.dense], ones, weights, into);
                    }
                    Some(before) => {
                        let bias = [sizes[l] as u32];
                        multiply(&before[i * sizes[l]..(i + 1) * sizes[l]], &bias, weights, into);
                    }
                }
            }
            if l + 1 < depth {
                into.iter_mut().for_each(|a| *a = a.max(0.0));
            }
        }
        self.outputs.last_mut().map_or(&mut [], |last| &mut last[..])
    }

    /// Derivatives by the outputs of every layer, from those by the last one's, which stand in its outputs.
    ///
    /// To be called after [`Pass::forward`] with the same weights, with derivatives by the last outputs in
    /// their place.
    pub(super) fn backward(&mut self, sizes: &[usize], theta: &[f64]) {
        let depth = sizes.len() - 1;
        self.deltas.resize(depth, Vec::new());
        if let (Some(to), Some(from)) = (self.deltas.last_mut(), self.outputs.last_mut()) {
            std::mem::swap(to, from);
        }
        let mut end = theta.len();
        for l in (1..depth).rev() {
            let (outputs, hidden) = (sizes[l + 1], sizes[l]);
            let start = end - inputs_of(sizes, l) * outputs;
            let weights = &theta[start..end];
            end = start;
            let (lower, upper) = self.deltas.split_at_mut(l);
            let into = &mut lower[l - 1];
            into.clear();
            into.resize(self.rows * hidden, 0.0);
            let active = self.outputs[l - 1].chunks(hidden);
            for ((into, active), above) in into.chunks_mut(hidden).zip(active).zip(upper[0].chunks(outputs)) {
                for ((d, a), w) in into.iter_mut().zip(active).zip(weights.chunks(outputs)) {
                    let back: f64 = w.iter().zip(above).map(|(w, d)| w * d).sum();
                    *d = if *a > 0.0 { back } else { 0.0 };
                }
            }
        }
    }

    /// Inputs and deltas of every layer, as a sink takes them.
    pub(super) fn layers(&mut self, sizes: &[usize]) -> Vec<Layer<'_>> {
        let depth = sizes.len() - 1;
        self.each.clear();
        self.each.extend(0..=self.rows as u32);
        self.biases.resize(depth, Vec::new());
        for (bias, &size) in self.biases.iter_mut().zip(sizes) {
            bias.clear();
            bias.resize(self.rows, size as u32);
        }
        let (numbers, ones, starts) = (&self.numbers[..], &self.ones[..], &self.starts[..]);
        let first = Inputs { width: sizes[0], dense: self.dense, numbers, ones, starts };
        let later = |l: usize| Inputs {
            width: sizes[l] + 1,
            dense: sizes[l],
            numbers: &self.outputs[l - 1],
            ones: &self.biases[l],
            starts: &self.each,
        };
        (0..depth)
            .map(|l| {
                let inputs = if l == 0 { first } else { later(l) };
                Layer { inputs, deltas: &self.deltas[l], outputs: sizes[l + 1] }
            })
            .collect()
    }
}

/// Adds inputs times weights, which stand input by input.
fn multiply(numbers: &[f64], ones: &[u32], weights: &[f64], into: &mut [f64]) {
    let outputs = into.len();
    if let [single] = into {
        let dense: f64 = numbers.iter().zip(weights).map(|(a, w)| a * w).sum();
        *single += ones.iter().fold(dense, |sum, &p| sum + weights[p as usize]);
        return;
    }
    for (a, w) in numbers.iter().zip(weights.chunks(outputs)).filter(|(a, _)| **a != 0.0) {
        into.iter_mut().zip(w).for_each(|(z, w)| *z += a * w);
    }
    for &p in ones {
        into.iter_mut().zip(&weights[p as usize * outputs..]).for_each(|(z, w)| *z += w);
    }
}
