//! Fair coins with one that leans: the pair that all shuffle pairs are mixtures of.
//!
//! Given how many coins are in play, the two neighbouring data sets differ in one coin. Everything else about a shuffle is a mixture
//! over that number.

use super::super::binomial::{Binomial, Central};
use super::{TAIL, rounding, tally::OutcomeTally};
use crate::PrivacyError;
use crate::accounting::Enclosure;

/// How one coin falls among fair ones, under P. Under Q heads and tails change places.
#[derive(Clone, Copy)]
pub(super) struct Lean {
    /// Probability that the leaning coin shows heads.
    pub(super) heads: f64,
    /// Probability that the leaning coin shows tails.
    pub(super) tails: f64,
    /// Heads − tails, not negative, to full relative precision.
    pub(super) difference: f64,
}

/// Probabilities of a heads among m fair coins, from a = ⌈m/2⌉ up.
pub(super) struct FairCoins {
    count: u64,
    pmf: Vec<f64>,
}

impl FairCoins {
    /// All numbers of heads but for a probability of `TAIL`, by P(a + 1) = P(a) (m − a) / (a + 1).
    pub(super) fn new(count: u64) -> Self {
        let middle = count.div_ceil(2);
        let mut next = Binomial::new(count, 0.5, 0.5).pmf(middle);
        let pmf = (middle..=most_heads(count, 1.0)).map(|heads| {
            let p = next;
            next *= (count - heads) as f64 / (heads + 1) as f64;
            p
        });
        Self { count, pmf: pmf.collect() }
    }

    /// Adds the row of outcomes with m coins, of which one leans; the row has probability `weight` under P and Q.
    ///
    /// a heads and b tails have P(a) = w · Bin(a; m, ½) · 2(ha + tb)/m with h and t the leaning coin's heads and tails:
    /// it is heads and a − 1 others are, h · C(m−1, a−1) = h · (a/m) · C(m, a), or it is tails and a others are heads.
    /// Under Q, h and t change places, so P/Q − 1 = (h−t)(a−b) / (ta + hb). The mirror image of (a, b) is (b, a).
    /// As 2(ha + tb)/m ≤ 2, cutting probability τ from the fair coins cuts at most 2wτ from the row.
    pub(super) fn add_row(&self, weight: f64, lean: Lean, tally: &mut OutcomeTally) {
        if weight <= TAIL {
            return tally.cut(weight);
        }
        tally.cut(2.0 * TAIL);
        let middle = self.count.div_ceil(2);
        let scale = 2.0 * weight / self.count as f64;
        for (heads, fair) in (middle..=most_heads(self.count, weight)).zip(&self.pmf) {
            let (a, b) = (heads as f64, (self.count - heads) as f64);
            let excess = lean.difference * (a - b);
            if excess > 0.0 {
                let (p, q) = (lean.heads * a + lean.tails * b, lean.tails * a + lean.heads * b);
                tally.add(libm::log1p(excess / q), scale * fair * p, scale * fair * q);
            } else {
                // An outcome and its mirror image, unless it is its own.
                let images = if a == b { 1.0 } else { 2.0 };
                tally.add_equal(images * weight * fair);
            }
        }
    }
}

/// The largest a that is kept of a row of m coins.
///
/// Hoeffding: P(|A − m/2| ≥ t) ≤ 2 e^{−2t²/m} for A heads among m fair coins. Cuts at most τ = `TAIL` / weight.
pub(super) fn most_heads(count: u64, weight: f64) -> u64 {
    let half = count as f64 / 2.0;
    let t = (half * libm::log(2.0 * weight / TAIL)).sqrt() + 1.0;
    ((half + t).ceil() as u64).min(count)
}

/// The pair of 1 + C coins, one of which leans, where C ~ `others`: a row for each value of C, which is seen.
///
/// Lemma 11 of Koskela, Heikkilä, Honkela 2023 cuts to O(n) outcomes by Hoeffding's inequality for C and for heads
/// given C. Here the range of C has a sharper tail, and rows that are rare need fewer outcomes.
pub(super) fn one_leaning(others: Binomial, lean: Lean) -> Result<Enclosure, PrivacyError> {
    let Central { range, cut } = others.central(TAIL);
    let (rows, coins) = (range.end() - range.start() + 1, range.end() + 1);
    let width = most_heads(coins, 1.0) - coins / 2;
    let deviation = 2.0 * lean.difference / (others.mean() + 1.0).sqrt();
    let mut tally = OutcomeTally::new(rows as f64 * width as f64, deviation)?;
    tally.cut(cut);
    for clones in range {
        FairCoins::new(clones + 1).add_row(others.pmf(clones), lean, &mut tally);
    }
    Ok(tally.finish(rounding(rows / 2 + 1, width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fair_coins_are_binomial() {
        for count in [1_u64, 2, 7, 8, 301, 40_000] {
            let coins = FairCoins::new(count);
            let law = Binomial::new(count, 0.5, 0.5);
            let mut total = 0.0;
            for (heads, &p) in (count.div_ceil(2)..).zip(&coins.pmf) {
                assert!((p / law.pmf(heads) - 1.0).abs() < 1e-12, "{count} coins, {heads}: {p}");
                total += if 2 * heads == count { p } else { 2.0 * p };
            }
            assert!((total - 1.0).abs() < 1e-13, "{count} coins: {total}");
        }
    }

    #[test]
    fn what_is_kept_leaves_out_no_more_than_hoeffding_says() {
        let law = Binomial::new(900, 0.5, 0.5);
        let weight = 1e-20;
        let high = most_heads(900, weight);
        let outside: f64 = (high + 1..=900).map(|a| 2.0 * law.pmf(a)).sum();
        assert!(outside <= TAIL / weight && high < 700, "{high}: {outside:e}");
    }
}
