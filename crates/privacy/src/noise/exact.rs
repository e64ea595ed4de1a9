//! A point of the ziggurat on big integers, for the draws that floating point cannot decide.
//!
//! The fast path decides 98 % of draws in machine arithmetic, with a margin that covers every rounding. What is left comes here,
//! reads more random bits until the decision is certain, and is as slow as it needs to be.

use super::dyadic::Dyadic;
use super::fixed_point::exp_neg;
use super::ziggurat_table::{AREA, RIGHT};
use num_bigint::BigUint;
use rand_core::Rng;

/// Where a candidate lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Region {
    /// Layer i: [0, x_i) × [y_i, y_i + A/x_i).
    Layer(usize),
    /// Rectangle j of the tail: [r + j/4, r + (j+1)/4) × [0, 2A/2^j).
    Tail(u64),
}

/// A point that is uniform in its region and of which only leading bits have been read.
///
/// With n words read beyond the first of each coordinate, x = left + width·(across + U)/2^(55+64n) and
/// y = floor + height·(up + V)/2^(64+64n), with U and V uniform on [0, 1) and not yet looked at. Every answer holds
/// for all U and V, or more bits are read first: hence an answer says nothing about what is still unread.
pub(super) struct Candidate {
    region: Region,
    across: BigUint,
    up: BigUint,
    words: u64,
}

impl Candidate {
    /// The point with 55 bits across and 64 bits up.
    pub(super) fn new(region: Region, across: u64, up: u64) -> Self {
        Self { region, across: across.into(), up: up.into(), words: 0 }
    }

    /// Whether the point lies under f(x) = e^(−x²/2).
    pub(super) fn is_inside<R: Rng + ?Sized>(&mut self, rng: &mut R) -> bool {
        loop {
            let (lowest, highest) = self.heights();
            let (left, right) = self.ends();
            if highest <= self.curve(&right).0 {
                return true;
            }
            if lowest >= self.curve(&left).1 {
                return false;
            }
            self.refine(rng);
        }
    }

    /// ⌊s·x + 1/2⌋: the point's distance from zero, in units of the grid, rounded.
    ///
    /// Saturates at `i64::MAX`, which for s ≤ 2^40 needs x > 2^22, of probability below exp(−2^43).
    pub(super) fn rounded<R: Rng + ?Sized>(&mut self, deviation: Dyadic, rng: &mut R) -> i64 {
        loop {
            let (left, right) = self.ends();
            let (low, high) = (self.grid_point(&left, deviation), self.grid_point(&right, deviation));
            if low == high {
                return i64::try_from(low).unwrap_or(i64::MAX);
            }
            self.refine(rng);
        }
    }

    /// Reads 64 more bits of both coordinates.
    fn refine<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        self.across = (&self.across << 64) + rng.next_u64();
        self.up = (&self.up << 64) + rng.next_u64();
        self.words += 1;
    }

    /// Bits after the point of `ends`.
    fn scale(&self) -> u64 {
        105 + 64 * self.words
    }

    /// The ends of x's interval, in units of 2^−scale. With x_i = X_i/2^50: in layer i, x·2^105 = X_i·(across + U);
    /// in the tail, x·2^105 = X_0·2^55 + j·2^103 + 2^48·(across + U).
    fn ends(&self) -> (BigUint, BigUint) {
        let (base, step) = match self.region {
            Region::Layer(i) => (BigUint::ZERO, RIGHT[i]),
            Region::Tail(j) => ((BigUint::from(RIGHT[0]) << 55) + (BigUint::from(j) << 103), 1 << 48),
        };
        let left = (base << (64 * self.words)) + &self.across * step;
        let right = &left + step;
        (left, right)
    }

    /// Bits after the point of `heights` and `curve`: enough for a value near 2A/2^j and all bits that were read.
    fn bits(&self) -> u64 {
        let depth = if let Region::Tail(j) = self.region { 2 * j } else { 0 };
        64 * (self.words + 3) + depth
    }

    /// An enclosure of y in units of 2^−bits.
    ///
    /// A/x_k = a/(2^12·X_k) is truncated by less than one unit, so y_i = Σ_(k<i) A/x_k by less than i.
    fn heights(&self) -> (BigUint, BigUint) {
        let (bits, read) = (self.bits(), 64 * (self.words + 1));
        match self.region {
            Region::Layer(i) => {
                let area = BigUint::from(AREA) << (bits - 12);
                let floor: BigUint = RIGHT[..i].iter().map(|&x| &area / x).sum();
                let height = area / RIGHT[i];
                let lowest = &floor + ((&height * &self.up) >> read);
                let highest = floor + (((height + 1_u32) * (&self.up + 1_u32)) >> read) + 1_u32 + i;
                (lowest, highest)
            }
            Region::Tail(j) => {
                let up = bits - 61 - j - read;
                ((&self.up * AREA) << up, ((&self.up + 1_u32) * AREA) << up)
            }
        }
    }

    /// An enclosure of f at one end of x's interval, in units of 2^−bits.
    fn curve(&self, end: &BigUint) -> (BigUint, BigUint) {
        exp_neg(&(end * end), 2 * self.scale() + 1, self.bits())
    }

    /// ⌊s·x + 1/2⌋ at one end of x's interval. s = mantissa·2^exponent ≤ 2^40 has an exponent of at most 40.
    fn grid_point(&self, end: &BigUint, deviation: Dyadic) -> BigUint {
        let down = self.scale().saturating_add_signed(-i64::from(deviation.exponent));
        let half = BigUint::from(1_u32) << (down - 1);
        (end * deviation.mantissa + half) >> down
    }
}

#[cfg(test)]
mod tests {
    use super::super::ziggurat_table::{FLOOR, INSIDE};
    use super::*;
    use crate::noise::fixed_words::FixedWords;

    /// Bits of the proof.
    const BITS: u64 = 400;

    /// f at numerator / 2^scale, enclosed.
    fn f(numerator: &BigUint, scale: u64) -> (BigUint, BigUint) {
        exp_neg(&(numerator * numerator), 2 * scale + 1, BITS)
    }

    /// y_0 to y_255, each enclosed: truncated sums, off by less than i.
    fn floors() -> Vec<(BigUint, BigUint)> {
        let mut sum = BigUint::ZERO;
        let mut floors = vec![(sum.clone(), sum.clone())];
        for (i, &right) in RIGHT.iter().enumerate() {
            sum += (BigUint::from(AREA) << (BITS - 12)) / right;
            floors.push((sum.clone(), &sum + (i as u64 + 1)));
        }
        floors
    }

    #[test]
    fn the_layers_cover_the_curve() {
        let floors = floors();
        for i in 1..RIGHT.len() {
            assert!(f(&RIGHT[i].into(), 50).1 <= floors[i].0, "the curve leaves layer {i} at its right end");
            assert!(RIGHT[i] <= RIGHT[0] && RIGHT[i] > 0);
        }
        assert!(f(&RIGHT[0].into(), 50).1 <= floors[1].0, "the curve leaves the lowest layer");
        assert!(floors[RIGHT.len()].0 >= BigUint::from(1_u32) << BITS, "the layers end below the top");
        assert!(RIGHT[0] < 1 << 52);
    }

    #[test]
    fn the_tail_covers_the_curve() {
        for j in 0..60_u64 {
            let left = BigUint::from(RIGHT[0]) + (BigUint::from(j) << 48);
            let height = BigUint::from(AREA) << (BITS - 61 - j);
            assert!(f(&left, 50).1 <= height, "rectangle {j}");
        }
        // From one rectangle to the next f falls by e^(−r/4) or more, and r/4 > ln 2: once covered, always covered.
        let (_, fall) = exp_neg(&RIGHT[0].into(), 52, BITS);
        assert!(fall < BigUint::from(1_u32) << (BITS - 1));
    }

    #[test]
    fn columns_taken_without_a_comparison_lie_under_the_curve() {
        let floors = floors();
        for i in 0..RIGHT.len() {
            assert!(INSIDE[i] < 1 << 55);
            let lowest = f(&(BigUint::from(INSIDE[i]) * RIGHT[i]), 105).0;
            assert!(INSIDE[i] == 0 || lowest >= floors[i + 1].1, "layer {i}");
        }
        let share = INSIDE.iter().map(|&t| t as f64).sum::<f64>() / 2_f64.powi(63);
        assert!((share - 0.98146).abs() < 1e-5, "the fast path takes {share} of the draws");
    }

    #[test]
    fn the_floors_in_machine_words_are_truncated() {
        for ((lower, upper), &floor) in floors().iter().zip(&FLOOR) {
            assert!(lower >> (BITS - 63) == BigUint::from(floor) && upper >> (BITS - 63) == BigUint::from(floor));
        }
    }

    #[test]
    fn a_wrong_table_would_be_noticed() {
        let floors = floors();
        let i = 100;
        assert!(f(&(RIGHT[i] - 1).into(), 50).1 > floors[i].0, "a right end one unit less no longer covers");
        let beyond = f(&(BigUint::from(INSIDE[i] + 1) * RIGHT[i]), 105).0;
        assert!(beyond < floors[i + 1].1, "a threshold one more is no longer inside");
    }

    /// The value of a quotient that fits a word.
    fn word(quotient: BigUint) -> u64 {
        u64::try_from(quotient).unwrap()
    }

    #[test]
    fn an_undecided_rounding_reads_more_bits() {
        // With s = 2^40, s·x = X_i·(across + U)/2^65 passes k + 1/2 inside this column, for k = 10^6.
        let deviation = Dyadic { mantissa: 1, exponent: 40 };
        let i = 7;
        let target = BigUint::from(2_000_001_u64) << 64;
        let across = word(&target / RIGHT[i]);
        let within = word(((target - BigUint::from(across) * RIGHT[i]) << 64) / RIGHT[i]);
        for (next, expected) in [(within - 1, 1_000_000), (within + 1, 1_000_001)] {
            let mut bits = FixedWords(vec![next, 0]);
            assert_eq!(Candidate::new(Region::Layer(i), across, 0).rounded(deviation, &mut bits), expected);
            assert!(bits.0.is_empty());
        }
    }

    #[test]
    fn an_undecided_comparison_reads_more_bits() {
        // The first column of the top layer, at the height of the curve's top.
        let floors = floors();
        let height = &floors[255].0 - &floors[254].0;
        let top = (BigUint::from(1_u32) << BITS) - &floors[254].0;
        let up = word((top << 64) / height);
        for (next, expected) in [(0, true), (u64::MAX, false)] {
            let mut bits = FixedWords(vec![0, next]);
            assert_eq!(Candidate::new(Region::Layer(254), 0, up).is_inside(&mut bits), expected);
            assert!(bits.0.is_empty());
        }
    }
}
