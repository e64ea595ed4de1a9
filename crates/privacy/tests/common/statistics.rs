//! The statistics by which noise is judged: chi-square against exact probabilities, spread, and correlation.

use std::f64::consts::SQRT_2;

/// A statistic beyond this many deviations is a failure.
pub(crate) const LIMIT: f64 = 6.0;

/// Pearson's statistic of a table of counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChiSquare {
    pub(crate) statistic: f64,
    pub(crate) degrees: usize,
}

impl ChiSquare {
    /// The statistic as a standard normal variable, by the cube root of Wilson and Hilferty 1931.
    pub(crate) fn z(&self) -> f64 {
        let spread = 2.0 / (9.0 * self.degrees as f64);
        ((self.statistic / self.degrees as f64).cbrt() - (1.0 - spread)) / spread.sqrt()
    }
}

/// Intervals of integers with their probabilities: below the first edge, between the edges, from the last edge on.
#[derive(Debug, Clone)]
pub(crate) struct IntegerCells {
    first: i64,
    width: i64,
    probabilities: Vec<f64>,
}

impl IntegerCells {
    /// Cells of one width around zero, from a function that gives P(K < edge) without cancellation for edge ≤ 0, for a
    /// distribution that is symmetric about zero.
    pub(crate) fn symmetric(deviation: f64, below: impl Fn(f64) -> f64) -> Self {
        let width = (deviation / 50.0).ceil() as i64;
        let half = (6.0 * deviation / width as f64).ceil() as i64;
        let edge = |i: i64| (i - half) * width;
        let mut probabilities = vec![below(edge(0) as f64)];
        probabilities.extend((0..2 * half).map(|i| between(edge(i), edge(i + 1), &below)));
        probabilities.push(below((1 - edge(2 * half)) as f64));
        Self { first: edge(0), width, probabilities }
    }

    /// The rounded Gaussian: P(K < k) = Φ((k − ½)/s).
    pub(crate) fn rounded_gaussian(s: f64) -> Self {
        Self::symmetric(s, |edge| phi((edge - 0.5) / s))
    }

    /// One cell for each of the integers from `first` on, of the given weights.
    pub(crate) fn points(first: i64, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut probabilities = vec![0.0];
        probabilities.extend(weights.iter().map(|w| w / total));
        probabilities.push(0.0);
        Self { first, width: 1, probabilities }
    }

    /// Neighbouring cells joined, so many at a time.
    pub(crate) fn joined(mut self, many: usize) -> Self {
        let inner = &self.probabilities[1..self.probabilities.len() - 1];
        let mut probabilities = vec![self.probabilities[0]];
        probabilities.extend(inner.chunks(many).map(|chunk| chunk.iter().sum::<f64>()));
        probabilities.push(0.0);
        self.width *= many as i64;
        self.probabilities = probabilities;
        self
    }

    /// The cell of a value.
    pub(crate) fn index(&self, value: i64) -> usize {
        let cell = (value - self.first).div_euclid(self.width) + 1;
        cell.clamp(0, self.probabilities.len() as i64 - 1) as usize
    }

    /// Compares draws with the probabilities. Cells that expect fewer than ten draws are joined with the next.
    pub(crate) fn judge(&self, draws: impl Iterator<Item = i64>) -> ChiSquare {
        let mut counts = vec![0_u64; self.probabilities.len()];
        let mut total = 0_u64;
        for value in draws {
            counts[self.index(value)] += 1;
            total += 1;
        }
        chi_square(&counts, &self.probabilities, total)
    }
}

/// P(a ≤ K < b) from P(K < edge) at edges that are not positive: P(K ≥ a) = P(K < 1 − a).
fn between(a: i64, b: i64, below: &impl Fn(f64) -> f64) -> f64 {
    let (left, right) = (|edge: i64| below(edge as f64), |edge: i64| below((1 - edge) as f64));
    match (a > 0, b > 0) {
        (false, false) => left(b) - left(a),
        (false, true) => 1.0 - left(a) - right(b),
        _ => right(a) - right(b),
    }
}

/// Pearson's statistic of counts against probabilities.
pub(crate) fn chi_square(counts: &[u64], probabilities: &[f64], total: u64) -> ChiSquare {
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut seen, mut expected) = (0.0, 0.0);
    let mut left = probabilities.iter().sum::<f64>() * total as f64;
    for (i, (&count, p)) in counts.iter().zip(probabilities).enumerate() {
        seen += count as f64;
        expected += p * total as f64;
        left -= p * total as f64;
        // What is left must be able to form a cell of its own; otherwise it joins this one.
        if i + 1 == counts.len() || (expected >= 10.0 && left >= 10.0) {
            statistic += (seen - expected) * (seen - expected) / expected;
            cells += 1;
            (seen, expected) = (0.0, 0.0);
        }
    }
    ChiSquare { statistic, degrees: cells - 1 }
}

/// Uniformity of the low six bits.
pub(crate) fn low_bits(draws: impl Iterator<Item = i64>) -> ChiSquare {
    let mut counts = [0_u64; 64];
    let mut total = 0;
    for value in draws {
        counts[(value & 63) as usize] += 1;
        total += 1;
    }
    chi_square(&counts, &[1.0 / 64.0; 64], total)
}

/// How many deviations the mean square lies from s² + 1/12, the variance of a rounded Gaussian of s ≥ 1.
pub(crate) fn spread(noise: &[i64], s: f64) -> f64 {
    let n = noise.len() as f64;
    let square = noise.iter().map(|&k| (k as f64 / s).powi(2)).sum::<f64>() / n;
    (square / (1.0 + 1.0 / (12.0 * s * s)) - 1.0) * (n / 2.0).sqrt()
}

/// r·√n: the correlation of two sequences of mean zero, in deviations.
pub(crate) fn correlation(a: &[i64], b: &[i64]) -> f64 {
    let dot = |x: &[i64], y: &[i64]| x.iter().zip(y).map(|(&p, &q)| p as f64 * q as f64).sum::<f64>();
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt() * (n as f64).sqrt()
}

/// Φ, without cancellation for negative arguments.
pub(crate) fn phi(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}
