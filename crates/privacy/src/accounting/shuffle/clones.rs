//! Shuffled reports that are each ε₀-locally private, by their clones.
//!
//! Feldman, McMillan, Talwar 2023: every user's report hides among clones of the protected user's, whose number is binomial.

use super::super::{Enclosure, binomial::Binomial};
use super::fair::{Lean, one_leaning};
use crate::PrivacyError;

/// The dominating pair of a shuffle of n reports, each ε₀-locally private, when one user's data are replaced.
///
/// Theorem 3.1 of Feldman, McMillan, Talwar 2023 (SODA), as Lemma 8 and eq. 3.1 of Koskela, Heikkilä, Honkela 2023
/// (TMLR): P = (A + Δ₁, C − A + Δ₂) and Q = (A + Δ₂, C − A + Δ₁) with C ~ Bin(n−1, 2p), A ~ Bin(C, ½),
/// Δ₁ ~ Bern(e^{ε₀} p), Δ₂ ~ Bin(1 − Δ₁, p / (1 − e^{ε₀} p)) and p = 1 / (e^{ε₀} + 1).
/// The loss is largest, ε₀, where only heads are seen.
/// As e^{ε₀} p + p = 1, Δ₂ = 1 − Δ₁: one coin that falls on heads with probability e^{ε₀} p among C fair ones.
pub(in crate::accounting) fn clones(users: u64, local_epsilon: f64) -> Result<Enclosure, PrivacyError> {
    if local_epsilon > 600.0 {
        return Err(PrivacyError::Uncertified {
            accountant: "pld",
            why: format!("e^-{local_epsilon} is too small for floating point"),
            hint: "a local ε over 600 protects nobody; account for an answer without noise",
        });
    }
    let odds = libm::exp(-local_epsilon);
    let p = odds / (1.0 + odds);
    let difference = libm::tanh(local_epsilon / 2.0);
    let lean = Lean { heads: 1.0 / (1.0 + odds), tails: p, difference };
    let law = one_leaning(Binomial::new(users - 1, 2.0 * p, difference), lean)?;
    Ok(law.with_largest_loss(local_epsilon))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_user_has_the_local_loss() {
        let law = clones(1, 1.5).unwrap();
        let losses: Vec<f64> = law.lower().finite.iter().map(|a| a.0).collect();
        assert!((losses[0] + 1.5).abs() < 1e-13 && (losses[1] - 1.5).abs() < 1e-13, "{losses:?}");
    }

    #[test]
    fn the_ends_of_the_range_of_epsilon() {
        let nothing = clones(1000, 0.0).unwrap();
        assert!(nothing.hockey_stick(0.0).upper < 1e-13);
        assert!(clones(100, 600.0).unwrap().hockey_stick(599.0).lower > 0.6);
        assert_eq!(clones(100, 601.0).unwrap_err().code(), "P004");
    }
}
