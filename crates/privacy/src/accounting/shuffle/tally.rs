//! Gathers outcomes into an enclosure: one by one while they are few, in narrow bins of the loss when they are many.
//!
//! Outcomes with nearly the same loss may share a bin: the upper law takes the larger loss, the lower law the smaller one.

use super::super::symmetric::symmetric;
use super::super::{Enclosure, pair::Atoms, sum::CompensatedSum};
use crate::PrivacyError;

/// Up to so many outcomes are kept one by one.
const FEW: f64 = 262_144.0;
/// More outcomes than this are refused, as they would take longer than some ten seconds.
const MANY: f64 = 536_870_912.0;
/// Bins per standard deviation of the loss, at least. Both laws then have the variance of the exact one to 6e-8.
const FINENESS: f64 = 2048.0;
/// Bins at most. Outcomes beyond them are cut.
const FARTHEST: f64 = 4_194_304.0;

/// Outcomes of a symmetric pair seen so far: those of positive loss, each standing for its mirror image as well.
pub(super) struct OutcomeTally {
    /// Width of a bin, or nothing if outcomes are kept one by one.
    width: Option<f64>,
    atoms: Vec<(f64, f64)>,
    bins: Vec<Bin>,
    equal: CompensatedSum,
    infinite: CompensatedSum,
    cut: CompensatedSum,
}

/// P- and Q-probability of all outcomes in one bin.
#[derive(Clone, Copy, Default)]
struct Bin {
    p: CompensatedSum,
    q: CompensatedSum,
}

/// One half of a symmetric law: atoms of positive loss, and the probability of loss 0.
type Half = (Vec<(f64, f64)>, f64);

impl OutcomeTally {
    /// Prepares for about so many outcomes, whose loss has about this standard deviation.
    pub(super) fn new(outcomes: f64, deviation: f64) -> Result<Self, PrivacyError> {
        if outcomes > MANY {
            return Err(PrivacyError::Uncertified {
                accountant: "pld",
                why: format!("the shuffle has about {outcomes:.0e} outcomes that matter"),
                hint: "account for fewer users, which bounds the cost from above, or for the strong adversary",
            });
        }
        let width = libm::exp2(libm::log2(deviation.max(1e-9) / FINENESS).floor());
        Ok(Self {
            width: (outcomes > FEW).then_some(width),
            atoms: Vec::new(),
            bins: Vec::new(),
            equal: CompensatedSum::default(),
            infinite: CompensatedSum::default(),
            cut: CompensatedSum::default(),
        })
    }

    /// Adds an outcome of positive `loss` = log(p / q) and its mirror image, of loss log(q / p).
    pub(super) fn add(&mut self, loss: f64, p: f64, q: f64) {
        match self.width {
            _ if q == 0.0 => self.infinite.add(p),
            None => self.atoms.push((loss, p)),
            Some(width) => self.add_to_bin(loss / width, p, q),
        }
    }

    /// Adds an outcome that is as likely under P as under Q.
    pub(super) fn add_equal(&mut self, p: f64) {
        self.equal.add(p);
    }

    /// Adds both probabilities of an outcome to its bin; what lies too far out is cut.
    fn add_to_bin(&mut self, position: f64, p: f64, q: f64) {
        if position > FARTHEST {
            return self.cut(p + q);
        }
        let index = position as usize;
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        self.bins[index].p.add(p);
        self.bins[index].q.add(q);
    }

    /// Leaves out outcomes of at most this P-probability altogether.
    pub(super) fn cut(&mut self, p: f64) {
        self.cut.add(p);
    }

    /// The two laws. The relative error of the probabilities that were added is at most `error`.
    pub(super) fn finish(self, error: f64) -> Enclosure {
        let (infinite, cut) = (self.infinite.get(), self.cut.get());
        let law = |(positive, equal): Half, infinite| symmetric(&positive, equal, infinite);
        let (upper, lower): (Atoms, Atoms) = match self.width {
            None => {
                let half = self.one_by_one();
                (law(half.clone(), infinite + cut), law(half, infinite))
            }
            Some(width) => (law(self.on_edges(width), infinite + cut), law(self.merged(width), infinite)),
        };
        Enclosure::computed(upper, lower, error)
    }

    /// Outcomes of the same loss become one.
    fn one_by_one(self) -> Half {
        let mut atoms = self.atoms;
        atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
        atoms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        (atoms, self.equal.get())
    }

    /// The lower law: all outcomes of a bin become one, which is post-processing.
    fn merged(&self, width: f64) -> Half {
        let atoms = self.occupied(width).map(|(_, loss, p)| (loss, p));
        (atoms.collect(), self.equal.get())
    }

    /// The upper law: the outcomes of a bin go to its two edges, with their P- and Q-probability conserved.
    ///
    /// Doroshenko et al. 2022 ("connect the dots"): an outcome of loss l between edges g and g' is the mixture of an
    /// outcome at g and one at g' with the same P- and Q-probability in all, so those two dominate it. With masses
    /// p' at g' and p − p' at g, p' = p (1 − e^{g−l}) / (1 − e^{g−g'}), which is linear in the outcome's p and q = p e^{−l}:
    /// moving the sum of a bin is moving every outcome of it.
    fn on_edges(&self, width: f64) -> Half {
        let mut edges = vec![0.0; self.bins.len() + 1];
        for (index, loss, p) in self.occupied(width) {
            let right = (p * libm::expm1(index as f64 * width - loss) / libm::expm1(-width)).min(p);
            edges[index] += p - right;
            edges[index + 1] += right;
        }
        // What lies on the edge 0 was moved there from the right, and its mirror image from the left.
        let equal = self.equal.get() + 2.0 * edges[0];
        let positive = edges.iter().enumerate().skip(1).filter(|(_, p)| **p > 0.0);
        (positive.map(|(index, &p)| (index as f64 * width, p)).collect(), equal)
    }

    /// (index, loss of all its outcomes taken together, P-probability) of the bins that have any.
    fn occupied(&self, width: f64) -> impl Iterator<Item = (usize, f64, f64)> {
        let bins = self.bins.iter().map(|bin| (bin.p.get(), bin.q.get())).enumerate();
        bins.filter(|(_, (p, q))| *p > 0.0 && *q > 0.0).map(move |(index, (p, q))| {
            let low = index as f64 * width;
            (index, libm::log1p((p - q) / q).clamp(low, low + width), p)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(width: Option<f64>) -> Enclosure {
        let mut tally = OutcomeTally { width, ..OutcomeTally::new(1.0, 1.0).unwrap() };
        for i in 0..1000 {
            let z = (i as f64 + 0.5) / 1000.0;
            tally.add(libm::log((1.0 + z) / (1.0 - z)), 0.9 * (1.0 + z) / 2000.0, 0.9 * (1.0 - z) / 2000.0);
        }
        tally.add_equal(0.1);
        tally.finish(1e-13)
    }

    #[test]
    fn bins_enclose_what_outcomes_one_by_one_say() {
        let (exact, narrow, wide) = (gather(None), gather(Some(0.015625)), gather(Some(0.25)));
        assert!(narrow.lower().finite.len() < 700 && wide.lower().finite.len() < 70);
        for log_alpha in [-3.0, -1.0, -0.1, 0.0, 0.03, 0.5, 2.0, 4.0] {
            let [exact, narrow, wide] = [&exact, &narrow, &wide].map(|e| e.hockey_stick(log_alpha));
            assert!(wide.lower <= exact.upper && exact.lower <= wide.upper, "{log_alpha}: {exact:?} {wide:?}");
            assert!(wide.lower <= narrow.lower + 1e-12 && narrow.upper <= wide.upper + 1e-12, "{narrow:?} {wide:?}");
            assert!(narrow.lower <= exact.upper && exact.lower <= narrow.upper, "{exact:?} {narrow:?}");
            assert!(narrow.upper - narrow.lower < 2e-4, "{narrow:?}");
        }
        assert!(wide.hockey_stick(0.6).upper > exact.hockey_stick(0.6).upper + 1e-4, "wide bins cost something");
        assert!(wide.hockey_stick(0.6).lower < exact.hockey_stick(0.6).lower - 1e-4, "wide bins cost something");
    }

    #[test]
    fn an_outcome_that_q_lacks_has_infinite_loss() {
        let mut tally = OutcomeTally::new(1.0, 1.0).unwrap();
        tally.add(f64::INFINITY, 0.25, 0.0);
        tally.add_equal(0.5);
        tally.cut(1e-3);
        let law = tally.finish(0.0);
        assert_eq!((law.lower().infinite, law.upper().infinite), (0.25, 0.251));
        assert_eq!(law.upper().finite.len(), 1);
    }

    #[test]
    fn outcomes_beyond_the_last_bin_are_cut() {
        let mut tally = OutcomeTally { width: Some(1e-9), ..OutcomeTally::new(1.0, 1.0).unwrap() };
        tally.add(libm::log(3.0), 0.75, 0.25);
        let law = tally.finish(0.0);
        assert_eq!((law.lower().infinite, law.upper().infinite), (0.0, 1.0));
        assert!(law.lower().finite.is_empty());
    }

    #[test]
    fn too_many_outcomes_are_refused() {
        assert_eq!(OutcomeTally::new(1e12, 1.0).err().unwrap().code(), "P004");
    }
}
