//! Two finite loss laws around one that is too large to write down: one dominates it, the other is dominated.
//!
//! A shuffle of a million answers has too many outcomes to list. Two shorter laws, one on each side in the order of hockey-stick
//! curves, stand for it: products keep the order, so a composition of the upper laws bounds the composition.

use super::{Bounds, pair::Atoms};

/// What is allowed for rounding in a computed loss, 2⁻⁴⁶: a hundred times what a logarithm of products of ten factors loses.
const LOSS_ERROR: f64 = 1.4e-14;

/// An upper and a lower law for one exact pair (P, Q).
///
/// For all α and all products with other pairs, H_α(lower) ≤ H_α(P ‖ Q) ≤ H_α(upper). Neither needs to be a probability
/// law: the lower one lacks the outcomes that were cut, the upper one counts them as outcomes that Q cannot produce.
#[derive(Debug, Clone, PartialEq)]
pub struct Enclosure {
    upper: Atoms,
    lower: Atoms,
    error: f64,
    /// A bound of the losses of the exact pair that some outcome reaches or comes near, or infinite where none is known.
    largest_loss: f64,
}

impl Enclosure {
    /// Both laws as computed: probabilities to a relative error of `error`, losses to an error of `LOSS_ERROR`, and
    /// losses of the right sign.
    pub(crate) fn computed(upper: Atoms, lower: Atoms, error: f64) -> Self {
        Self { upper, lower, error, largest_loss: f64::INFINITY }
    }

    /// A law from above only. From below stands a loss of 0, which every pair dominates (Jensen's inequality).
    pub(crate) fn from_above(upper: Atoms, error: f64) -> Self {
        Self::computed(upper, Atoms { finite: vec![(0.0, 1.0)], infinite: 0.0 }, error)
    }

    /// True if the lower law has no loss over 0, so that it proves nothing.
    pub(crate) fn is_from_above(&self) -> bool {
        self.lower.infinite == 0.0 && self.lower.finite.iter().all(|&(loss, _)| loss <= 0.0)
    }

    /// The same pair, of which the least upper bound of its losses is known.
    pub(crate) fn with_largest_loss(self, largest_loss: f64) -> Self {
        Self { largest_loss, ..self }
    }

    /// The least upper bound of the losses of the exact pair, up to rounding; infinite where none is known.
    pub fn largest_loss(&self) -> f64 {
        self.largest_loss
    }

    /// Applies to both laws what keeps the order of H_α; `law` is told how to round what it takes the difference of.
    pub(crate) fn map(&self, law: impl Fn(&Atoms, f64) -> Atoms) -> Self {
        let error = self.error + 2.0 * LOSS_ERROR;
        Self::computed(law(&self.upper, error), law(&self.lower, -error), error)
    }

    /// The law that dominates.
    ///
    /// Rounding is allowed for: let an outcome have exact masses p and q. H_α = Σ (p − αq)₊ does not decrease if (p, q)
    /// becomes (cp, cq) with c ≥ 1, or if q shrinks; the same holds outcome by outcome in products. So probabilities
    /// and losses go up for the upper law, and down for the lower one.
    pub fn upper(&self) -> Atoms {
        moved(&self.upper, 1.0 + self.error, LOSS_ERROR)
    }

    /// The law that is dominated.
    pub fn lower(&self) -> Atoms {
        moved(&self.lower, 1.0 - self.error, -LOSS_ERROR)
    }

    /// H_α of the exact pair, for α = e^`log_alpha`.
    pub fn hockey_stick(&self, log_alpha: f64) -> Bounds {
        let (lower, upper) = (self.lower(), self.upper());
        Bounds { lower: lower.hockey_stick(log_alpha).lower, upper: upper.hockey_stick(log_alpha).upper }
    }
}

/// The law with probabilities times `factor` and losses moved by `shift`: the margin for rounding.
fn moved(law: &Atoms, factor: f64, shift: f64) -> Atoms {
    Atoms {
        finite: law.finite.iter().map(|&(loss, p)| (loss + shift, p * factor)).collect(),
        infinite: law.infinite * factor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enclosure_encloses() {
        let atoms = Atoms::from_outcomes([(0.6, 0.1), (0.3, 0.3), (0.1, 0.6)].into_iter());
        let enclosure = Enclosure::computed(atoms.clone(), atoms.clone(), 1e-10);
        for log_alpha in [-2.0, -0.5, 0.0, 0.5, 1.7] {
            let (exact, wide) = (atoms.hockey_stick(log_alpha), enclosure.hockey_stick(log_alpha));
            assert!(wide.lower < exact.lower && exact.upper < wide.upper, "{wide:?} {exact:?}");
            assert!(wide.relative_width() < 1e-9);
        }
    }
}
