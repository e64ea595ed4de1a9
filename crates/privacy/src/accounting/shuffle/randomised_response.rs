//! Shuffled k-randomised response, against adversaries that know the other users' answers in part.
//!
//! Koskela, Heikkilä, Honkela 2023. The strong adversary knows who answered at random; the weak one knows it of the others only, and
//! the one outside sees counts alone, which is less.

use super::super::{
    Enclosure,
    binomial::{Binomial, Central},
};
use super::fair::{FairCoins, Lean, most_heads, one_leaning};
use super::{TAIL, rounding, tally::OutcomeTally};
use crate::PrivacyError;
use std::ops::RangeInclusive;

/// The dominating pair against the strong adversary, who sees which answers were random, the protected user's included.
///
/// Theorem 14 of Koskela, Heikkilä, Honkela 2023 (TMLR): loss log((N₁ + 1) / N₂), where N₁ and N₂ count the random
/// answers of the n − 1 others in the user's two possible categories: A ~ Bin(n−1, γ/k), C ~ Bin(n−1−A, γ/(k−γ)).
/// Their sum is Bin(n−1, 2γ/k) and each is one or the other like a fair coin; the user's own answer is heads for sure.
///
/// The theorem takes the user's answer as truthful. When it is random, which the adversary sees, nothing is lost; the
/// whole view has 1 − γ times this H_α for α ≥ 1, so the theorem's pair is an upper bound.
pub(in crate::accounting) fn strong(users: u64, categories: u64, gamma: f64) -> Result<Enclosure, PrivacyError> {
    let k = categories as f64;
    let others = Binomial::new(users - 1, 2.0 * gamma / k, (k - 2.0 * gamma) / k);
    one_leaning(others, Lean { heads: 1.0, tails: 0.0, difference: 1.0 })
}

/// The dominating pair against the weak adversary, who sees which of the other users' answers were random.
///
/// Theorem 16 of Koskela, Heikkilä, Honkela 2023 (TMLR): the loss is
/// log(((1−γ)N₁ + (γ/k)(B+1)) / ((1−γ)N₂ + (γ/k)(B+1))), B ~ Bin(n−1, γ) the random answers of others and N₁, N₂ the
/// answers in the user's two possible categories among these B and the user's own.
///
/// B and m = N₁ + N₂ are seen: a row of outcomes for each. A random answer is in either category with probability 2/k.
/// So m = M + 1, M ~ Bin(B, 2/k), with probability 1 − γ + 2γ/k, and m = M with (k−2)γ/k, the user's own answer being
/// elsewhere. Given B and m, a = N₁ has P ∝ Bin(a; m, ½) ((1−γ)a + g) with g = (γ/k)(B+1): as g = (g/m)(a + b), one of
/// m coins leans, heads : tails = 1−γ + g/m : g/m. The loss is largest where a = m = B + 1: log(1 + (1−γ)k/γ), that of an
/// answer that is seen by itself.
///
/// Whoever sees the shuffled answers alone sees less: the pair dominates what is published, too.
pub(in crate::accounting) fn weak(users: u64, categories: u64, gamma: f64) -> Result<Enclosure, PrivacyError> {
    let response = ResponseTerms { k: categories as f64, gamma };
    let random = Binomial::new(users - 1, gamma, 1.0 - gamma);
    let Central { range, cut } = random.central(TAIL);
    let widest = response.messages(*range.end(), TAIL).range;
    let (rows, columns) = (range.end() - range.start() + 1, widest.end() - widest.start() + 1);
    let width = most_heads(*widest.end(), 1.0) - widest.end() / 2;
    let mut tally = OutcomeTally::new(rows as f64 * columns as f64 * width as f64, response.deviation(random.mean()))?;
    tally.cut(cut);
    let given: Vec<Given> = range.filter_map(|b| response.given(b, random.pmf(b), &mut tally)).collect();
    let least = given.iter().map(|g| *g.messages.start()).min().unwrap_or(0);
    let most = given.iter().map(|g| *g.messages.end()).max().unwrap_or(0);
    for m in least..=most {
        let coins = FairCoins::new(m);
        for Given { b, weight, .. } in given.iter().filter(|g| g.messages.contains(&m)) {
            let row = weight * response.messages_pmf(*b, m);
            if m == 0 { tally.add_equal(row) } else { coins.add_row(row, response.lean(*b, m), &mut tally) }
        }
    }
    let law = tally.finish(rounding((rows + columns) / 2 + 2, width));
    Ok(law.with_largest_loss(libm::log1p((1.0 - gamma) * response.k / gamma)))
}

/// A number of random answers, its probability, and the values of m that are kept for it.
struct Given {
    b: u64,
    weight: f64,
    messages: RangeInclusive<u64>,
}

/// k and γ of the response, as floats.
struct ResponseTerms {
    k: f64,
    gamma: f64,
}

impl ResponseTerms {
    /// The values of m to keep for one b, which has probability `weight`. The others are cut.
    fn given(&self, b: u64, weight: f64, tally: &mut OutcomeTally) -> Option<Given> {
        if weight <= TAIL {
            tally.cut(weight);
            return None;
        }
        let Central { range: messages, cut } = self.messages(b, TAIL / weight);
        tally.cut(weight * cut);
        Some(Given { b, weight, messages })
    }

    /// M ~ Bin(b, 2/k): random answers of others in the two categories.
    fn others(&self, b: u64) -> Binomial {
        Binomial::new(b, 2.0 / self.k, (self.k - 2.0) / self.k)
    }

    /// The range of m = M or M + 1 outside of which lies at most `tail`.
    fn messages(&self, b: u64, tail: f64) -> Central {
        let Central { range, cut } = self.others(b).central(tail);
        Central { range: *range.start()..=range.end() + 1, cut }
    }

    /// P(m | b): the probability that m answers show one of the two categories, given b uniform answers.
    fn messages_pmf(&self, b: u64, m: u64) -> f64 {
        let (k, gamma, others) = (self.k, self.gamma, self.others(b));
        let own = (1.0 - gamma + 2.0 * gamma / k) * if m > 0 { others.pmf(m - 1) } else { 0.0 };
        own + (k - 2.0) * gamma / k * others.pmf(m)
    }

    /// How the odd one of m coins falls when b others answered at random.
    fn lean(&self, b: u64, m: u64) -> Lean {
        let truthful = 1.0 - self.gamma;
        let shared = self.gamma / self.k * (b + 1) as f64 / m as f64;
        let all = truthful + 2.0 * shared;
        Lean { heads: (truthful + shared) / all, tails: shared / all, difference: truthful / all }
    }

    /// The loss's deviation in the middle of the outcomes: about 2(h − t)/√m.
    fn deviation(&self, mean: f64) -> f64 {
        let (b, m) = (mean.round(), (1.0 + 2.0 * mean / self.k).round());
        2.0 * self.lean(b as u64, m as u64).difference / m.sqrt()
    }
}
