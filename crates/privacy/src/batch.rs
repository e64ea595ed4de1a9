//! Batches of rows, drawn by a gate from its own keyed stream, so that how a batch was drawn is what is charged.

use crate::{PrivacyError, Sampling, SamplingRate};
use rand_core::Rng;

/// The rows of one step. Only a gate makes one, and a sum made from it can be released by that gate only.
#[derive(Default)]
pub struct Batch {
    rows: Vec<usize>,
    ticket: u64,
}

impl Batch {
    /// Row numbers, increasing. Which rows were drawn is private: they stay where the rows are.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.ticket
    }
}

/// Rows at one site: what the argument for [`GeometricGaps`] covers.
const MOST_ROWS: usize = 1 << 31;

/// Draws batches in the way that an event names.
pub(crate) enum Sampler {
    All,
    Poisson(GeometricGaps),
    WithoutReplacement { batch: u64, of: u64 },
}

impl Sampler {
    pub(crate) fn new(sampling: &Sampling) -> Self {
        match *sampling {
            Sampling::None => Self::All,
            Sampling::Poisson { rate } => Self::Poisson(GeometricGaps::new(rate)),
            Sampling::WithoutReplacement { batch, of } => Self::WithoutReplacement { batch, of },
        }
    }

    /// Fills `into` with a batch of the rows 0..rows.
    pub(crate) fn draw(
        &self,
        rng: &mut impl Rng,
        rows: usize,
        ticket: u64,
        into: &mut Batch,
    ) -> Result<(), PrivacyError> {
        if rows > MOST_ROWS {
            return Err(PrivacyError::Shape { found: "more rows".into(), expected: "at most 2^31 rows".into() });
        }
        into.ticket = ticket;
        into.rows.clear();
        match self {
            Self::All => into.rows.extend(0..rows),
            Self::Poisson(gaps) => gaps.draw(rng, rows, &mut into.rows),
            Self::WithoutReplacement { batch, of } if *of == rows as u64 => {
                subset(rng, *batch as usize, rows, &mut into.rows);
            }
            Self::WithoutReplacement { of, .. } => {
                // The number of rows is public under substitution, so this says nothing private.
                return Err(PrivacyError::Shape {
                    found: format!("{rows} rows"),
                    expected: format!("the {of} rows of the declared sampling"),
                });
            }
        }
        Ok(())
    }
}

/// Poisson sampling by skipping: every row is in with probability at most q, in time proportional to the batch.
///
/// Survival thresholds t₀ = 2⁶⁴, t_{k+1} = t_k − ⌊t_k·q'⌋ are integers, so the chance that row k after the last one
/// is taken, ⌊t_k·q'⌋/t_k, never exceeds q' = q(1 − 2⁻³⁰). Thresholds end after at most [`MOST_THRESHOLDS`] rows and
/// start again, which keeps t_k ≥ 2⁶²: all chances lie within 2⁻⁶² of q', and the margin of 2⁻³⁰ covers what the
/// other rows' coins can tell about one row's (`docs/maths/poisson-substitution.md`). Amplification grows with the
/// rate, so what is charged for q covers what is drawn.
pub(crate) struct GeometricGaps {
    thresholds: Vec<u64>,
}

/// Thresholds kept: rows skipped at a time.
const MOST_THRESHOLDS: usize = 4096;

impl GeometricGaps {
    pub(crate) fn new(rate: SamplingRate) -> Self {
        if rate.get() == 1.0 {
            return Self { thresholds: Vec::new() };
        }
        let q = rate.get() * (1.0 - libm::scalbn(1.0, -30));
        // q = mantissa · 2^−shift with an integer mantissa under 2^53.
        let (fraction, exponent) = libm::frexp(q);
        let mantissa = libm::scalbn(fraction, 53) as u128;
        let shift = u32::try_from(53 - exponent).unwrap_or(u32::MAX);
        let take = |t: u128| (t * mantissa).checked_shr(shift).unwrap_or(0);
        let mut thresholds = Vec::new();
        let mut t = 1_u128 << 64;
        while thresholds.len() < MOST_THRESHOLDS && (thresholds.is_empty() || t > 1 << 62) {
            t -= take(t);
            thresholds.push(u64::try_from(t).unwrap_or(u64::MAX));
        }
        Self { thresholds }
    }

    fn draw(&self, rng: &mut impl Rng, rows: usize, into: &mut Vec<usize>) {
        if self.thresholds.is_empty() {
            return into.extend(0..rows);
        }
        let mut next = 0;
        while next < rows {
            let u = rng.next_u64();
            // The number of rows that survive: u < t₁, …, u < t_gap.
            let gap = self.thresholds.partition_point(|&t| u < t);
            next += gap;
            if gap < self.thresholds.len() && next < rows {
                into.push(next);
                next += 1;
            }
        }
    }
}

/// A uniform subset of fixed size (Floyd's method), in increasing order.
fn subset(rng: &mut impl Rng, size: usize, of: usize, into: &mut Vec<usize>) {
    let mut chosen = std::collections::BTreeSet::new();
    for last in of - size..of {
        let candidate = below(rng, last as u64 + 1) as usize;
        if !chosen.insert(candidate) {
            chosen.insert(last);
        }
    }
    into.extend(chosen);
}

/// A uniform integer under `limit`, exactly, by rejection.
fn below(rng: &mut impl Rng, limit: u64) -> u64 {
    let excess = (u64::MAX % limit + 1) % limit;
    loop {
        let u = rng.next_u64();
        if u <= u64::MAX - excess {
            return u % limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn inclusion_counts(sampling: &Sampling, rows: usize, draws: usize) -> (Vec<u64>, Vec<u64>) {
        let sampler = Sampler::new(sampling);
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let (mut single, mut pairs) = (vec![0; rows], vec![0; rows * rows]);
        let mut batch = Batch::default();
        for ticket in 0..draws {
            sampler.draw(&mut rng, rows, ticket as u64, &mut batch).unwrap();
            for &i in batch.rows() {
                single[i] += 1;
                batch.rows().iter().filter(|&&j| j > i).for_each(|&j| pairs[i * rows + j] += 1);
            }
        }
        (single, pairs)
    }

    /// Largest deviation of counts from draws·p, in standard deviations.
    fn worst(counts: impl Iterator<Item = u64>, draws: usize, p: f64) -> f64 {
        let (n, sd) = (draws as f64, (draws as f64 * p * (1.0 - p)).sqrt());
        counts.map(|c| ((c as f64 - n * p) / sd).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn rows_and_pairs_are_included_at_their_rate() {
        let (rows, draws) = (12, 100_000);
        for q in [0.02, 0.3, 0.9] {
            let sampling = Sampling::Poisson { rate: SamplingRate::new(q).unwrap() };
            let (single, pairs) = inclusion_counts(&sampling, rows, draws);
            assert!(worst(single.into_iter(), draws, q) < 5.0, "q {q}");
            let upper = (0..rows).flat_map(|i| (i + 1..rows).map(move |j| i * rows + j)).map(|k| pairs[k]);
            assert!(worst(upper, draws, q * q) < 5.5, "pairs at q {q}");
        }
        let (single, pairs) = inclusion_counts(&Sampling::without_replacement(3, 12).unwrap(), rows, draws);
        assert!(worst(single.into_iter(), draws, 0.25) < 5.0);
        let upper = (0..rows).flat_map(|i| (i + 1..rows).map(move |j| i * rows + j)).map(|k| pairs[k]);
        assert!(worst(upper, draws, 3.0 * 2.0 / (12.0 * 11.0)) < 5.5);
    }

    #[test]
    fn no_row_is_taken_more_often_than_the_rate() {
        for q in [1e-5, 1e-3, 0.02, 0.1, 1.0 / 3.0, 0.5, 0.999] {
            let gaps = GeometricGaps::new(SamplingRate::new(q).unwrap());
            let mut before = 1_u128 << 64;
            for &t in &gaps.thresholds {
                let taken = before - u128::from(t);
                assert!((taken as f64) <= q * before as f64 * (1.0 - 1e-10), "q {q}");
                assert!((taken as f64) >= q * before as f64 * (1.0 - 2e-9), "q {q}");
                before = u128::from(t);
            }
        }
    }

    #[test]
    fn rate_one_takes_every_row_and_a_wrong_row_count_is_refused() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut batch = Batch::default();
        let all = Sampling::Poisson { rate: SamplingRate::new(1.0).unwrap() };
        Sampler::new(&all).draw(&mut rng, 5, 0, &mut batch).unwrap();
        assert_eq!(batch.rows(), [0, 1, 2, 3, 4]);
        let fixed = Sampling::without_replacement(2, 10).unwrap();
        assert!(Sampler::new(&fixed).draw(&mut rng, 9, 0, &mut batch).is_err());
    }
}
