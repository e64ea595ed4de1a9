//! Loss laws of symmetric pairs, and what drawing a batch without replacement makes of them.
//!
//! Shuffles and Barker tests have pairs whose two directions have one law. Drawing their users or rows without replacement is
//! Proposition 30 of Zhu, Dong, Wang 2022, which this module applies to finite laws exactly.

use super::{Enclosure, pair::Atoms, sum::CompensatedSum};

/// The law with these atoms of positive loss, their mirror images, and the probability `equal` at loss 0.
///
/// An outcome of probability p and loss l has q = p e^{−l}; its mirror image has probability q and loss −l.
pub(super) fn symmetric(positive: &[(f64, f64)], equal: f64, infinite: f64) -> Atoms {
    let mut finite: Vec<(f64, f64)> = positive.iter().rev().map(|&(l, p)| (-l, p * libm::exp(-l))).collect();
    finite.push((0.0, equal));
    finite.extend(positive);
    finite.retain(|atom| atom.1 > 0.0);
    Atoms { finite, infinite }
}

/// The same with the probability at loss 0 that makes it a probability law, up to `rounding`.
pub(super) fn completed(positive: &[(f64, f64)], infinite: f64, rounding: f64) -> Atoms {
    let used: CompensatedSum = positive.iter().map(|&(l, p)| p + p * libm::exp(-l)).chain([infinite]).collect();
    symmetric(positive, (1.0 + rounding - used.get()).max(0.0), infinite)
}

/// The dominating pair when the batch of a mechanism is drawn without replacement at rate q, one of its rows being replaced.
///
/// Proposition 30 of Zhu, Dong, Wang 2022, as Lemma 7 and eq. 2.3 of Koskela, Heikkilä, Honkela 2023 (TMLR), for a
/// symmetric pair (P, Q): h(α) = H_α(qP + (1−q)Q ‖ Q) for α ≥ 1, and h(α) = 1 − α + α h(1/α) for α < 1.
/// Algorithm 1 of Doroshenko et al. 2022 makes a pair from h by straight lines between chosen α. For finitely many
/// outcomes h consists of straight lines, and the pair that has exactly this h can be written down (`amplified`).
pub(super) fn subsampled(all: &Enclosure, rate: f64) -> Enclosure {
    all.map(|law, rounding| amplified(law, rate, rounding)).with_largest_loss(gain(all.largest_loss(), 1.0, rate).0)
}

/// The pair with H_α = q Σ_{loss > 0} (p − α'·p e^{−loss})₊ for α = 1 + q(α' − 1) ≥ 1, and its mirror image for α < 1.
///
/// For α ≥ 1, (qP + (1−q)Q − αQ)₊ = q (P − α'Q)₊: only losses over 0 count. An outcome (p, p e^{−l}) with l > 0 becomes
/// (qp + (1−q) p e^{−l}, p e^{−l}), of loss log(1 − q + q e^l), and mirrored (p e^{−l}, qp + (1−q) p e^{−l}).
/// What is missing to probability one is alike under both and has loss 0, and is rounded by `rounding`.
/// More H_α for α' ≥ 1 gives more h everywhere, so that upper laws become upper and lower laws lower ones.
fn amplified(law: &Atoms, q: f64, rounding: f64) -> Atoms {
    let gains: Vec<(f64, f64)> = law.finite.iter().filter(|atom| atom.0 > 0.0).map(|&(l, p)| gain(l, p, q)).collect();
    completed(&gains, q * law.infinite, rounding)
}

/// Loss and probability of the outcome after sampling.
fn gain(loss: f64, p: f64, q: f64) -> (f64, f64) {
    (libm::log1p(q * libm::expm1(loss)), q * p + (1.0 - q) * p * libm::exp(-loss))
}

#[cfg(test)]
mod tests {
    use super::super::shuffle::clones;
    use super::*;

    #[test]
    fn the_pair_has_the_profile_of_the_theorem() {
        let (all, q) = (clones(60, 1.2).unwrap(), 0.07);
        let sampled = subsampled(&all, q);
        for alpha in [1.0, 1.001, 1.01, 1.03, 1.07, 1.12] {
            // q H_{α'}(P ‖ Q) with α = 1 + q(α' − 1).
            let expected = q * all.hockey_stick(libm::log1p((alpha - 1.0) / q)).upper;
            let found = sampled.hockey_stick(libm::log(alpha));
            assert!((found.upper - expected).abs() < 1e-12 && (found.lower - expected).abs() < 1e-12, "α = {alpha}");
            let mirrored = sampled.hockey_stick(-libm::log(alpha));
            let by_symmetry = 1.0 - 1.0 / alpha + expected / alpha;
            assert!((mirrored.upper - by_symmetry).abs() < 1e-12, "α = 1/{alpha}: {mirrored:?} {by_symmetry}");
            assert!((mirrored.lower - by_symmetry).abs() < 1e-12, "α = 1/{alpha}: {mirrored:?} {by_symmetry}");
        }
    }

    #[test]
    fn a_sample_of_everyone_is_everyone() {
        let all = clones(40, 2.0).unwrap();
        let sampled = subsampled(&all, 1.0);
        for log_alpha in [-1.0, -0.2, 0.0, 0.3, 1.0] {
            let (a, b) = (all.hockey_stick(log_alpha), sampled.hockey_stick(log_alpha));
            assert!((a.upper - b.upper).abs() < 1e-12, "{log_alpha}: {a:?} {b:?}");
        }
    }
}
