//! The loss law of one step as the contour sees it: analytic segments, atoms, and the mass that is left out.
//!
//! Cutting. Let a step's law lose the P-mass η outside of the kept range. The T-fold composition of the kept part is a
//! lower bound of δ(ε), because dropping outcomes lowers E(1 − e^{ε−S})₊; and adding T η gives an upper bound, because
//! the integrand is at most one and some step leaves its range with probability at most T η. This holds for any kept
//! range: the far tails of the noise, and equally the rare heavy single jumps of a small sampling rate, whose
//! exponential moments would otherwise hide the bulk.

use super::segment::{NoiseDensity, Segment, U};
use crate::Steps;
use crate::accounting::pair::DominatingPair;

/// A point mass. Errors are in units of round-off: relative for the mass, absolute for the loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct Atom {
    pub(super) loss: f64,
    pub(super) loss_error: f64,
    pub(super) mass: f64,
    pub(super) mass_error: f64,
}

/// One step's law, and how often it occurs.
///
/// Probability one is completed by an atom at loss 0 that is not listed, because nothing here depends on it. A listed atom
/// whose loss was computed as 0 is another matter: its loss has an error.
#[derive(Debug, Clone)]
pub(super) struct SegmentedLaw {
    pub(super) segments: Vec<Segment>,
    pub(super) atoms: Vec<Atom>,
    /// P-mass of outcomes that Q cannot produce.
    pub(super) infinite: f64,
    /// η: an upper bound of the P-mass outside of the segments' ranges.
    pub(super) lost: f64,
    /// T: how often the step occurs.
    pub(super) steps: f64,
}

/// A composition: the laws, and the sum of T/s² of the plain Gaussian steps, whose cumulant has a closed form.
#[derive(Debug, Clone, Default)]
pub(super) struct Laws {
    pub(super) laws: Vec<SegmentedLaw>,
    pub(super) gaussian: f64,
    /// Number of terms in that sum.
    pub(super) gaussians: u32,
}

impl Laws {
    /// The composition with at most `mass` of P cut away in all its steps together.
    pub(super) fn new(composition: &[(DominatingPair, Steps)], mass: f64) -> Self {
        let mut all = Self::default();
        let each = mass / composition.len() as f64;
        for (pair, steps) in composition {
            let steps = steps.get() as f64;
            match pair {
                DominatingPair::Gaussian { s } => {
                    all.gaussian += steps / (s * s);
                    all.gaussians += 1;
                }
                _ => all.laws.push(law(pair, steps, each / steps)),
            }
        }
        all
    }

    /// K of the plain Gaussian steps, Σ T c(c+1)/(2s²).
    pub(super) fn gaussian_cumulant(&self, c: f64) -> f64 {
        0.5 * self.gaussian * c * (c + 1.0)
    }

    /// Relative error of the above and of `gaussian`, in units of round-off.
    pub(super) fn gaussian_units(&self) -> f64 {
        f64::from(self.gaussians) + 10.0
    }

    /// T η summed over the laws, rounded up.
    pub(super) fn lost(&self) -> f64 {
        self.laws.iter().map(|law| law.steps * law.lost).sum::<f64>() * (1.0 + 1e-12)
    }

    /// Bounds of the probability that some step has an infinite loss: 1 − Π(1 − p)^T.
    pub(super) fn infinite(&self) -> (f64, f64) {
        let log: f64 = self.laws.iter().map(|law| law.steps * libm::log1p(-law.infinite)).sum();
        let (value, slack) = (-libm::expm1(log), 1e-15 * (self.laws.len() as f64 + 20.0));
        ((value * (1.0 - slack)).max(0.0), value * (1.0 + slack))
    }
}

/// A bound of δ(0), the total variation distance: that of a product is at most the sum of its factors'.
///
/// Two normal laws one apart: 2Φ(1/(2s)) − 1 ≤ 1/(s√(2π)); two Laplace laws: 1 − e^{−1/(2s)} ≤ 1/(2s); sampling
/// multiplies by q. Of finite laws every loss is raised by its error.
pub(super) fn variation(composition: &[(DominatingPair, Steps)]) -> f64 {
    let gaussian = |s: f64| (0.398_943 / s).min(1.0);
    let one = |pair: &DominatingPair| match pair {
        DominatingPair::Gaussian { s } => gaussian(*s),
        DominatingPair::GaussianRemove { q, s }
        | DominatingPair::GaussianAdd { q, s }
        | DominatingPair::GaussianSubstitute { q, s }
        | DominatingPair::GaussianFixed { q, s } => q * gaussian(*s),
        DominatingPair::Laplace { s } => (0.5 / s).min(1.0),
        DominatingPair::LaplaceRemove { q, s } | DominatingPair::LaplaceAdd { q, s } => q * (0.5 / s).min(1.0),
        DominatingPair::Finite(atoms) => {
            let raised = |l: f64, p: f64| (l + U * loss_error(l, p)).max(0.0);
            atoms.infinite + atoms.finite.iter().map(|&(l, p)| p * -libm::expm1(-raised(l, p))).sum::<f64>()
        }
        DominatingPair::Enclosed(laws) => laws.hockey_stick(0.0).upper,
    };
    composition.iter().map(|(pair, steps)| one(pair) * steps.get() as f64).sum::<f64>() * (1.0 + 1e-12)
}

/// The largest loss that can occur in all steps together, rounded up; infinite if there is none. Zero for no steps.
pub(super) fn largest_loss(composition: &[(DominatingPair, Steps)]) -> f64 {
    let one = |pair: &DominatingPair| match pair {
        DominatingPair::GaussianAdd { q, .. } => -libm::log1p(-q),
        DominatingPair::Laplace { s } => 1.0 / s,
        DominatingPair::LaplaceRemove { q, s } => libm::log1p(q * libm::expm1(1.0 / s)),
        DominatingPair::LaplaceAdd { q, s } => -libm::log1p(q * libm::expm1(-1.0 / s)),
        DominatingPair::Finite(atoms) if atoms.infinite == 0.0 => {
            atoms.finite.last().map_or(0.0, |&(l, p)| l + 1e-14 * (l.abs() - libm::log(p)))
        }
        _ => f64::INFINITY,
    };
    composition.iter().map(|(pair, steps)| one(pair) * steps.get() as f64).sum::<f64>() * (1.0 + 1e-14)
}

/// A bound of the error of a finite law's loss in units of round-off: it is a difference of two logarithms, each within 8.
fn loss_error(loss: f64, mass: f64) -> f64 {
    16.0 * libm::log(mass).abs() + 10.0 * loss.abs()
}

/// The law of one sampled, Laplace or finite pair, cut so that at most `mass` is lost.
fn law(pair: &DominatingPair, steps: f64, mass: f64) -> SegmentedLaw {
    let mut law = SegmentedLaw { segments: Vec::new(), atoms: Vec::new(), infinite: 0.0, lost: 0.0, steps };
    let gaussian = |q, s, p_shift, q_shift| blank(NoiseDensity::Gaussian, s, q, p_shift, q_shift);
    match pair {
        DominatingPair::Gaussian { s } => law.add_line(gaussian(1.0, *s, 1.0, 0.0), mass),
        DominatingPair::GaussianRemove { q, s } => law.add_line(gaussian(*q, *s, 1.0, 0.0), mass),
        DominatingPair::GaussianAdd { q, s } => law.add_line(gaussian(*q, *s, 0.0, 1.0), mass),
        DominatingPair::GaussianSubstitute { q, s } => law.add_line(gaussian(*q, *s, 0.5, -0.5), mass),
        DominatingPair::GaussianFixed { q, s } => {
            // x > ½ as when a row is removed, and its mirror image, whose P-density is the noise.
            law.add_half(gaussian(*q, *s, 1.0, 0.0), 0.5 * mass);
            law.add_half(gaussian(*q, *s, 0.0, 1.0), 0.5 * mass);
        }
        DominatingPair::Laplace { s } => law.add_laplace(1.0, *s, 1.0),
        DominatingPair::LaplaceRemove { q, s } => law.add_laplace(*q, *s, 1.0),
        DominatingPair::LaplaceAdd { q, s } => law.add_laplace(*q, *s, 0.0),
        // `Pld` takes the two laws of an enclosure apart first; as one law it is refused, by a loss that is infinite.
        DominatingPair::Enclosed(_) => law.infinite = 1.0,
        DominatingPair::Finite(atoms) => {
            law.infinite = atoms.infinite;
            law.atoms.extend(atoms.finite.iter().map(|&(loss, mass)| Atom {
                loss,
                loss_error: loss_error(loss, mass),
                mass,
                mass_error: 4.0,
            }));
        }
    }
    law
}

/// A segment without a range. Its unit resolves both the noise and the passage between the mixture's components.
fn blank(kernel: NoiseDensity, s: f64, q: f64, p_shift: f64, q_shift: f64) -> Segment {
    let scale = if kernel == NoiseDensity::Gaussian { s.min(s * s) } else { s.min(1.0) };
    // The largest power of two that is not above the scale, over 64.
    let unit = f64::from_bits(scale.to_bits() & f64::INFINITY.to_bits()) / 64.0;
    Segment { kernel, s, q, p_shift, q_shift, origin: 0.0, unit, from: 0, to: 0 }
}

impl SegmentedLaw {
    /// The whole line, cut on both sides.
    fn add_line(&mut self, mut segment: Segment, mass: f64) {
        segment.to = first_index(&segment, |x| upper_tail(&segment, x) <= 0.5 * mass);
        segment.from = -first_index(&segment, |x| lower_tail(&segment, -x) <= 0.5 * mass);
        self.lost += upper_tail(&segment, segment.at(segment.to)) + lower_tail(&segment, segment.at(segment.from));
        self.segments.push(segment);
    }

    /// x > ½, cut above.
    fn add_half(&mut self, mut segment: Segment, mass: f64) {
        segment.origin = 0.5;
        segment.to = first_index(&segment, |x| upper_tail(&segment, x) <= mass);
        self.lost += upper_tail(&segment, segment.at(segment.to));
        self.segments.push(segment);
    }

    /// Laplace noise: outside of 0 ≤ x ≤ 1 the loss is constant, so that there is one segment and two atoms.
    ///
    /// With w± = 1−q + q e^{±1/s}: P-mass ½((1−q) + q e^{−1/s}) or ½ has x < 0 and loss ±log w₋, and
    /// P-mass ½((1−q)e^{−1/s} + q) or ½e^{−1/s} has x > 1 and loss ±log w₊; P shifted and + if `p_shift` is 1.
    fn add_laplace(&mut self, q: f64, s: f64, p_shift: f64) {
        let mut segment = blank(NoiseDensity::Laplace, s, q, p_shift, 1.0 - p_shift);
        segment.to = libm::round(1.0 / segment.unit) as i64;
        let small = libm::exp(-1.0 / s);
        let ends = if p_shift == 0.0 { [1.0, small] } else { [1.0 - q + q * small, (1.0 - q) * small + q] };
        for (x, end) in [0.0, 1.0].into_iter().zip(ends) {
            let point = segment.point(x, 0.0);
            let mass_error = 20.0 + 2.0 / s;
            self.atoms.push(Atom { loss: point.loss, loss_error: point.loss_error, mass: 0.5 * end, mass_error });
        }
        self.segments.push(segment);
    }
}

/// The smallest index i ≥ 0 at which a decreasing tail has become small enough, by bisection.
fn first_index(segment: &Segment, small: impl Fn(f64) -> bool) -> i64 {
    let width = |i: i64| segment.at(i);
    let (mut below, mut above) = (0_i64, 1_i64);
    while !small(width(above)) && width(above) < 40.0 * segment.s + 2.0 {
        (below, above) = (above, above * 2);
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        (below, above) = if small(width(middle)) { (below, middle) } else { (middle, above) };
    }
    above
}

/// P(X > x) rounded up: a mixture of ½ erfc(·/(s√2)), whose argument may be off by five roundings.
fn upper_tail(segment: &Segment, x: f64) -> f64 {
    tail(segment, |shift| x - shift)
}

/// P(X < x), rounded up.
fn lower_tail(segment: &Segment, x: f64) -> f64 {
    tail(segment, |shift| shift - x)
}

/// Mass of both normal terms of a segment beyond the distances of their centres, from above.
fn tail(segment: &Segment, distance: impl Fn(f64) -> f64) -> f64 {
    let one = |(factor, shift): (f64, f64)| {
        let z = distance(shift) * std::f64::consts::FRAC_1_SQRT_2 / segment.s;
        0.5 * factor * libm::erfc(z) * (1.0 + U * (40.0 + 20.0 * z * z))
    };
    let [first, second] = segment.terms();
    one(first) + one(second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::double::{Double, TAU};
    use crate::accounting::pair::Atoms;

    #[test]
    fn a_cut_loses_at_most_what_it_may() {
        for pair in [
            DominatingPair::GaussianRemove { q: 1e-4, s: 1.0 },
            DominatingPair::GaussianAdd { q: 0.3, s: 0.02 },
            DominatingPair::GaussianSubstitute { q: 0.1, s: 30.0 },
            DominatingPair::GaussianFixed { q: 0.01, s: 2.0 },
        ] {
            for mass in [1e-6, 1e-15, 1e-40] {
                let law = law(&pair, 10.0, mass);
                assert!(law.lost <= mass, "{pair:?} {mass}: {}", law.lost);
                assert!(law.lost > 1e-6 * mass || mass < 1e-20, "{pair:?} {mass}: {} is wasteful", law.lost);
            }
        }
    }

    #[test]
    fn laplace_atoms_and_segment_make_a_probability() {
        for pair in [
            DominatingPair::Laplace { s: 0.7 },
            DominatingPair::LaplaceRemove { q: 0.2, s: 3.0 },
            DominatingPair::LaplaceAdd { q: 0.2, s: 3.0 },
        ] {
            let law = law(&pair, 1.0, 0.0);
            let atoms: f64 = law.atoms.iter().map(|a| a.mass).sum();
            let segment = &law.segments[0];
            let n = segment.to;
            let inside: f64 = (0..n)
                .map(|i| segment.point(0.5 * (segment.at(i) + segment.at(i + 1)), 0.0).density * segment.unit)
                .sum();
            assert!((atoms + inside - 1.0).abs() < 1e-4, "{pair:?}: {atoms} + {inside}");
        }
    }

    #[test]
    fn infinite_mass_composes() {
        let atoms = Atoms { finite: vec![(0.1, 0.9)], infinite: 0.1 };
        let laws = Laws::new(&[(DominatingPair::Finite(atoms), Steps::new(3).unwrap())], 1e-9);
        let (lower, upper) = laws.infinite();
        assert!(lower <= 1.0 - 0.729 && 1.0 - 0.729 <= upper && upper - lower < 1e-13);
    }

    /// 1 − Φ(x) for x ≥ 3 in about 106 bits, by Laplace's continued fraction.
    fn normal_tail(x: Double) -> Double {
        let fraction = (1..500).rev().fold(x, |tail, k| x.plus(Double::of(f64::from(k)).over(tail)));
        let square = x.times(x).times(Double::of(-0.5));
        let norm = TAU.ln().times(Double::of(-0.5));
        square.plus(norm).exp().over(fraction)
    }

    /// What is cut is rounded up: the tail's argument has passed several roundings, and plain values are often too small.
    #[test]
    fn what_is_lost_is_not_less_than_it_is() {
        let mut small = 0;
        for i in 0..300 {
            let (s, x) = (0.7 + 1e-3 * f64::from(i), 3.5 + 0.05 * f64::from(i));
            let exact = normal_tail(Double::of(x).over(Double::of(s)));
            let segment = blank(NoiseDensity::Gaussian, s, 0.3, 0.0, 1.0);
            let (above, below) = (upper_tail(&segment, x), lower_tail(&segment, -x));
            assert!(exact.off(above) >= 0.0 && exact.off(below) >= 0.0, "{s} {x}: {above:e} {exact:?}");
            let plain = 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2 / s);
            small += usize::from(exact.off(plain) < 0.0);
        }
        assert!(small > 50, "{small}: plain values must be seen to be too small");
        // Nor is what all steps lose together.
        let laws = Laws::new(&[(DominatingPair::GaussianAdd { q: 0.3, s: 1.0 }, Steps::new(1000).unwrap())], 1e-6);
        assert!(laws.lost() >= 1000.0 * laws.laws[0].lost && laws.lost() > 1e-8);
    }
}
