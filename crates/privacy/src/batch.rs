//! Batches of rows, or of persons where these are the unit, drawn by a gate from its own keyed stream, so that how a batch was drawn is what is charged.
//!
//! Amplification by sampling is a statement about the law of the batch, so nobody but the gate may draw one. A gate draws
//! from a branch of its noise stream, and a batch carries a ticket: a sum made from it can be released once, by that gate.
//! Which rows were drawn is as private as the rows themselves.
//!
//! Both laws are drawn exactly, given ideal random bits: Poisson batches by geometric gaps with thresholds computed in
//! integers, fixed batches by Floyd's method with unbiased integers. The cost grows with the batch, not with the rows.

use crate::{PrivacyError, Sampling, SamplingRate};
use num_bigint::BigUint;
use rand_core::Rng;

/// The rows of one step. Only a gate makes one, and a sum made from it can be released by that gate only.
///
/// # Examples
///
/// ```
/// use privacy::Batch;
///
/// // A buffer that a gate fills with the rows of a step (`Gate::batch`).
/// assert!(Batch::default().rows().is_empty());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Default)]
pub struct Batch {
    rows: Vec<usize>,
    ticket: u64,
}

impl Batch {
    /// Numbers of rows, or of persons where these are the unit, each once, in no order. Which rows were drawn is private: they stay where the rows are.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The number that ties the batch to the gate that drew it and to one release.
    pub(crate) fn ticket(&self) -> u64 {
        self.ticket
    }
}

/// Rows at one site at most.
const MOST_ROWS: usize = 1 << 31;

/// Draws batches in the way that an event names.
pub(crate) enum BatchSampler {
    All,
    Poisson(GeometricGaps),
    WithoutReplacement { batch: u64, of: u64 },
}

impl BatchSampler {
    /// The sampler of an event. Tables that depend on the rate alone are made here, once.
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

/// Poisson sampling by skipping: every row is in with probability exactly q, independently, given ideal random bits.
///
/// A uniform real U in [0, 1) skips as many rows as there are k ≥ 1 with U < (1−q)^k, at most [`MOST_SKIPPED`] at a time.
/// The first 64 bits of U decide all but one comparison in 2⁶⁴: they are compared with ⌊2⁶⁴(1−q)^k⌋. On equality further
/// bits of U are read and compared with further digits of (1−q)^k, which has finitely many, since q is a dyadic rational.
/// See `docs/maths/poisson-substitution.md`.
pub(crate) struct GeometricGaps {
    /// ⌊2⁶⁴(1−q)^k⌋ for k = 1, 2, …; empty for q = 1.
    thresholds: Vec<u64>,
    /// 1 − q = kept / 2^scale.
    kept: BigUint,
    scale: u64,
}

/// Rows skipped by one word at most.
const MOST_SKIPPED: usize = 64;

impl GeometricGaps {
    /// Writes the rate as the dyadic rational that it is and tabulates the first 64 powers of 1 − q.
    pub(crate) fn new(rate: SamplingRate) -> Self {
        // q = mantissa / 2^scale with an integer mantissa under 2^53; 1e-9 ≤ q ≤ 1.
        let (fraction, exponent) = libm::frexp(rate.get());
        let mantissa = libm::scalbn(fraction, 53) as u64;
        let scale = 53_i32.saturating_sub(exponent).unsigned_abs().into();
        let kept = (BigUint::from(1_u32) << scale) - mantissa;
        let (mut thresholds, mut power) = (Vec::new(), BigUint::from(1_u32));
        let most = if rate.get() < 1.0 { MOST_SKIPPED as u64 } else { 0 };
        for k in 1..=most {
            power *= &kept;
            thresholds.push(word(&power, scale * k, 0));
        }
        Self { thresholds, kept, scale }
    }

    /// Bits 64·place to 64·place + 63 of (1−q)^k after the point.
    fn digits(&self, k: usize, place: u64) -> u64 {
        word(&self.kept.pow(k as u32), self.scale * k as u64, place)
    }

    /// Appends the rows of one Poisson batch, in increasing order.
    fn draw(&self, rng: &mut impl Rng, rows: usize, into: &mut Vec<usize>) {
        if self.thresholds.is_empty() {
            return into.extend(0..rows);
        }
        let mut next = 0;
        while next < rows {
            let gap = self.gap(rng);
            next += gap;
            if gap < self.thresholds.len() && next < rows {
                into.push(next);
                next += 1;
            }
        }
    }

    /// The number of k with U < (1−q)^k, for a new U.
    fn gap(&self, rng: &mut impl Rng) -> usize {
        let u = rng.next_u64();
        let mut gap = self.thresholds.partition_point(|&t| u < t);
        let mut more = Vec::new();
        while self.thresholds.get(gap) == Some(&u) && self.is_below(gap + 1, &mut more, rng) {
            gap += 1;
        }
        gap
    }

    /// Whether U < (1−q)^k, where the first 64 bits agree; `more` holds the bits of U that were read after them.
    fn is_below(&self, k: usize, more: &mut Vec<u64>, rng: &mut impl Rng) -> bool {
        for place in 1.. {
            if more.len() < place {
                more.push(rng.next_u64());
            }
            let (u, t) = (more[place - 1], self.digits(k, place as u64));
            if u != t {
                return u < t;
            }
        }
        false
    }
}

/// Bits 64·place to 64·place + 63 of number/2^scale after the point.
fn word(number: &BigUint, scale: u64, place: u64) -> u64 {
    ((number << (64 * (place + 1))) >> scale).iter_u64_digits().next().unwrap_or(0)
}

/// A uniform subset of fixed size (Floyd's method), in no order. Its cost does not grow with the number of rows.
fn subset(rng: &mut impl Rng, size: usize, of: usize, into: &mut Vec<usize>) {
    let mut seen = RowSet::with_room_for(size);
    into.reserve(size);
    // At most 2^31 rows: their numbers fit.
    for last in (of - size) as u32..of as u32 {
        let candidate = below(rng, last + 1);
        let row = if seen.insert(candidate) {
            candidate
        } else {
            // It was out of reach until now: it cannot be among those seen.
            seen.insert(last);
            last
        };
        into.push(row as usize);
    }
}

/// Row numbers, in a table of at least four times as many slots, searched from where a row's hash points to.
struct RowSet {
    slots: Vec<u32>,
    shift: u32,
}

impl RowSet {
    /// Marks an empty slot. It is no row number, because a site has at most 2^31 rows.
    const FREE: u32 = u32::MAX;

    /// An empty set with at least four slots for each row, so that probes stay short.
    fn with_room_for(rows: usize) -> Self {
        let slots = (4 * rows.max(1)).next_power_of_two();
        Self { slots: vec![Self::FREE; slots], shift: 64 - slots.trailing_zeros() }
    }

    /// Puts a row in, and says whether it is new.
    fn insert(&mut self, row: u32) -> bool {
        // 2⁶⁴ over the golden ratio: neighbours land far apart (Knuth, volume 3, section 6.4).
        let mut at = (u64::from(row).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            match self.slots[at] {
                Self::FREE => {
                    self.slots[at] = row;
                    return true;
                }
                found if found == row => return false,
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }
}

/// A uniform integer under `limit`, exactly, by rejection (Lemire 2019, arXiv:1805.10941).
///
/// Of the 2³² products u·limit, those whose low word is under 2³² mod `limit` are too many for their high words.
fn below(rng: &mut impl Rng, limit: u32) -> u32 {
    loop {
        let product = u64::from(rng.next_u32()) * u64::from(limit);
        let low = product as u32;
        if low >= limit || low >= limit.wrapping_neg() % limit {
            return (product >> 32) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::fixed_words::FixedWords;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    fn inclusion_counts(sampling: &Sampling, rows: usize, draws: usize) -> (Vec<u64>, Vec<u64>) {
        let sampler = BatchSampler::new(sampling);
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
    fn thresholds_are_the_powers_of_one_minus_the_rate() {
        for q in [1e-9, 1e-5, 0.02, 1.0 / 3.0, 0.5, 0.999, 1.0 - f64::EPSILON] {
            let gaps = GeometricGaps::new(SamplingRate::new(q).unwrap());
            for (k, &t) in (1..).zip(&gaps.thresholds) {
                let expected = (1.0 - q).powi(k) * 18_446_744_073_709_551_616.0;
                assert!((t as f64 - expected).abs() <= 1.0 + 1e-12 * expected, "q {q}, k {k}");
            }
        }
        // 1 − q = 3/4: the digits of 3/4, 9/16 and 27/64 are known, and end.
        let gaps = GeometricGaps::new(SamplingRate::new(0.25).unwrap());
        assert_eq!(gaps.thresholds[..3], [3 << 62, 9 << 60, 27 << 58]);
        assert_eq!((gaps.digits(1, 1), gaps.digits(3, 1)), (0, 0));
        // (1 − 2^-29)² = 1 − 2^-28 + 2^-58.
        let gaps = GeometricGaps::new(SamplingRate::new(2_f64.powi(-29)).unwrap());
        assert_eq!(gaps.digits(2, 0), u64::MAX - (1 << 36) + 1 + (1 << 6));
    }

    #[test]
    fn an_undecided_comparison_reads_more_bits() {
        let gaps = GeometricGaps::new(SamplingRate::new(1.0 / 3.0).unwrap());
        let (first, second) = (gaps.digits(2, 0), gaps.digits(2, 1));
        assert!(second > 0 && second < u64::MAX);
        for (word, expected) in [(second - 1, 2), (second + 1, 1)] {
            let mut bits = FixedWords(vec![first, word]);
            assert_eq!(gaps.gap(&mut bits), expected);
            assert!(bits.0.is_empty());
        }
        assert_eq!(gaps.gap(&mut FixedWords(vec![first + 1])), 1);
        assert_eq!(gaps.gap(&mut FixedWords(vec![first - 1])), 2);
    }

    /// A word that is under every threshold skips 64 rows and decides nothing about the next one.
    #[test]
    fn after_the_longest_gap_the_next_row_is_drawn_anew() {
        let gaps = GeometricGaps::new(SamplingRate::new(0.01).unwrap());
        let drawn = |words: &[u64], rows: usize| {
            let (mut bits, mut into) = (FixedWords(words.to_vec()), Vec::new());
            gaps.draw(&mut bits, rows, &mut into);
            assert!(bits.0.is_empty(), "a word is left");
            into
        };
        assert!(drawn(&[0], MOST_SKIPPED).is_empty());
        assert_eq!(drawn(&[0, u64::MAX], MOST_SKIPPED + 1), [MOST_SKIPPED]);
        assert!(drawn(&[0, 0], MOST_SKIPPED + 1).is_empty());
    }

    /// Mutant: no rejection. 2³² mod 3 is 1, so that of the words whose product has the high word 0 the first is one too many.
    #[test]
    fn a_word_that_would_make_a_row_likelier_is_drawn_again() {
        let mut bits = FixedWords(vec![0, 1]);
        assert_eq!(below(&mut bits, 3), 0);
        assert!(bits.0.is_empty(), "the first word was taken");
    }

    #[test]
    fn rate_one_takes_every_row_and_a_wrong_row_count_is_refused() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut batch = Batch::default();
        let all = Sampling::Poisson { rate: SamplingRate::new(1.0).unwrap() };
        BatchSampler::new(&all).draw(&mut rng, 5, 0, &mut batch).unwrap();
        assert_eq!(batch.rows(), [0, 1, 2, 3, 4]);
        let fixed = Sampling::without_replacement(2, 10).unwrap();
        assert!(BatchSampler::new(&fixed).draw(&mut rng, 9, 0, &mut batch).is_err());
    }
}
