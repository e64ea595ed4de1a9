//! ε and δ of one composition by the FFT: discretised on a grid, tilted, composed, and bounded from both sides.
//!
//! The first answer is rough and tells where to look; the second is on a grid fine enough for the width that is asked for.

use super::problem::{BoundSide, GridDetail, GridProblem, PreparedGrid};
use super::solve::{Crossing, Missed, crossing};
use super::{no_epsilon, refuse};
use crate::PrivacyError;
use crate::accounting::Bounds;
use crate::accounting::pair::Composition;

/// ε at δ, to about the relative `width`; `rough` bounds from an earlier search say where to look.
pub(super) fn epsilon(
    composition: &Composition,
    delta: f64,
    width: f64,
    rough: Option<Bounds>,
) -> Result<Bounds, PrivacyError> {
    let problem = GridProblem::new(composition, GridDetail::ALL)?;
    let [upper, lower] = search(&problem, delta, width, rough, [EpsilonEnd::Upper, EpsilonEnd::Lower(f64::INFINITY)])?;
    Ok(Bounds::between(lower, upper))
}

/// Cuts, and relative widths that are aimed at, for laws with few and heavy jumps.
const JUMPS: [(f64, f64); 4] = [(1e-6, 1e-6), (1e-5, 1e-5), (1e-4, 1e-4), (1e-3, 1e-3)];

/// ε at δ where it is a matter of single jumps: bounds that are wide are narrowed until they are within `enough`.
pub(super) fn epsilon_of_jumps(composition: &Composition, delta: f64, wide: Bounds, enough: f64) -> Bounds {
    let mut known = wide;
    for (cut, width) in JUMPS {
        if known.relative_width() <= enough {
            break;
        }
        let Ok(problem) = GridProblem::new(composition, GridDetail::jumps(cut)) else { break };
        // The bulk in one cell may leave nothing of the lower bound: each end is looked for by itself.
        let find = |end: EpsilonEnd| search(&problem, delta, width, Some(known), [end]).ok();
        let upper = find(EpsilonEnd::Upper).map_or(known.upper, |[upper]| known.upper.min(upper));
        let lower = find(EpsilonEnd::Lower(f64::INFINITY)).map_or(known.lower, |[lower]| known.lower.max(lower));
        known = Bounds { lower, upper };
    }
    known
}

/// The upper end of ε at δ, near rough bounds.
pub(super) fn upper(composition: &Composition, delta: f64, width: f64, rough: Bounds) -> Result<f64, PrivacyError> {
    let [end] =
        search(&GridProblem::new(composition, GridDetail::ALL)?, delta, width, Some(rough), [EpsilonEnd::Upper])?;
    Ok(end.max(0.0))
}

/// The lower end of ε at δ, near rough bounds and narrow enough for the upper end `upper`, if that is possible.
pub(super) fn lower(
    composition: &Composition,
    delta: f64,
    width: f64,
    rough: Bounds,
    upper: f64,
) -> Result<f64, PrivacyError> {
    let [end] = search(
        &GridProblem::new(composition, GridDetail::ALL)?,
        delta,
        width,
        Some(rough),
        [EpsilonEnd::Lower(upper)],
    )?;
    Ok(end.max(0.0))
}

/// An end of ε that is looked for.
#[derive(Debug, Clone, Copy)]
enum EpsilonEnd {
    Upper,
    /// Under an upper end that is known, or was found just before.
    Lower(f64),
}

/// Looks for ε where the rough law has it, and where the curve points if it is not there.
fn search<const N: usize>(
    problem: &GridProblem,
    delta: f64,
    width: f64,
    rough: Option<Bounds>,
    ends: [EpsilonEnd; N],
) -> Result<[f64; N], PrivacyError> {
    if problem.infinite() > delta {
        return Err(refuse("outcomes that a neighbouring data set cannot produce have a probability over δ"));
    }
    let mut saddle = problem.saddle_at_delta(delta);
    if let Some(bounds) = rough {
        saddle.epsilon = 0.5 * (bounds.lower + bounds.upper);
    }
    for _ in 0..4 {
        saddle.epsilon = saddle.epsilon.max(0.0);
        saddle.log_delta = libm::log(delta);
        let mut near = NearEpsilon { prepared: problem.prepare(saddle, width)?, delta, width, epsilon: saddle.epsilon };
        let (mut found, mut missed, mut least) = ([0.0; N], None, f64::INFINITY);
        for (end, slot) in ends.into_iter().zip(&mut found) {
            let end = match end {
                EpsilonEnd::Upper => near.upper()?.inspect(|upper| least = *upper),
                EpsilonEnd::Lower(upper) => near.lower(upper.min(least))?,
            };
            match end {
                Ok(end) => *slot = end,
                Err(m) => missed = Some(m),
            }
        }
        let Some(missed) = missed else { return Ok(found) };
        let reach = near.reach();
        let next = if missed == Missed::Above { saddle.epsilon + reach } else { (saddle.epsilon - reach).max(0.0) };
        saddle = problem.saddle_at_epsilon(next, libm::log(delta));
    }
    Err(no_epsilon(delta))
}

/// A composition prepared near the ε that is looked for.
struct NearEpsilon<'a> {
    prepared: PreparedGrid<'a>,
    delta: f64,
    width: f64,
    epsilon: f64,
}

impl NearEpsilon<'_> {
    /// How far to look.
    fn reach(&self) -> f64 {
        (0.5 * self.epsilon + 0.1).min(self.prepared.reach(self.epsilon))
    }

    /// Where a curve falls under δ, near the ε that is known roughly.
    fn crossing(&self, curve: impl Fn(f64) -> f64) -> Result<Crossing, Missed> {
        crossing(curve, self.delta, self.epsilon, self.reach(), 0.01 * self.width)
    }

    /// The upper end of ε; the inner error asks for another place to look.
    fn upper(&mut self) -> Result<Result<f64, Missed>, PrivacyError> {
        let curve = self.prepared.curve(BoundSide::Upper)?;
        Ok(self.crossing(|e| curve.upper(e)).map(|c| c.first_below))
    }

    /// The better of two lower bounds. The blurred one costs one more transform and is asked where the other is far from `upper`.
    fn lower(&mut self, upper: f64) -> Result<Result<f64, Missed>, PrivacyError> {
        let curve = self.prepared.curve(BoundSide::Lower)?;
        let first = self.crossing(|e| curve.lower(e)).map(|c| c.last_above);
        if first.is_ok_and(|lower| lower >= upper * (1.0 - 2.0 * self.width)) {
            return Ok(first);
        }
        let Some(blurred) = self.prepared.blurred()? else { return Ok(first) };
        let tail = 1e-3 * self.width * self.delta;
        Ok(self.crossing(|e| curve.lower(e).max(blurred.lower(e, tail))).map(|c| c.last_above))
    }
}

/// Relative width of δ over which single jumps are looked at.
const WIDE: f64 = 1e-4;

/// δ at ε, to about the relative `width`; where few and heavy jumps decide, as narrow as they allow.
pub(super) fn delta(composition: &Composition, epsilon: f64, width: f64) -> Result<Bounds, PrivacyError> {
    let mut known = delta_in_detail(composition, epsilon, width, GridDetail::ALL)?;
    for (cut, width) in JUMPS {
        if known.relative_width() <= WIDE {
            break;
        }
        if let Ok(found) = delta_in_detail(composition, epsilon, width, GridDetail::jumps(cut)) {
            known = Bounds { lower: known.lower.max(found.lower), upper: known.upper.min(found.upper) };
        }
    }
    Ok(known)
}

/// δ at ε on a grid of this detail, from both sides.
fn delta_in_detail(
    composition: &Composition,
    epsilon: f64,
    width: f64,
    detail: GridDetail,
) -> Result<Bounds, PrivacyError> {
    let problem = GridProblem::new(composition, detail)?;
    let first = problem.saddle_at_epsilon(epsilon, libm::log(1e-12));
    let saddle = problem.saddle_at_epsilon(epsilon, first.log_delta);
    let mut prepared = problem.prepare(saddle, width)?;
    let upper = prepared.curve(BoundSide::Upper)?.upper(epsilon);
    let lower = prepared.curve(BoundSide::Lower)?.lower(epsilon);
    if lower >= upper * (1.0 - 2.0 * width) {
        return Ok(Bounds::between(lower, upper));
    }
    let blurred = prepared.blurred()?.map_or(0.0, |b| b.lower(epsilon, 1e-3 * width * upper));
    Ok(Bounds::between(lower.max(blurred), upper))
}

#[cfg(test)]
mod tests {
    use super::super::{CostQuestion, Evaluator, FINE, closed_epsilon};
    use super::*;
    use crate::Steps;
    use crate::accounting::pair::{Atoms, DominatingPair};

    fn steps(n: u64) -> Steps {
        Steps::new(n).unwrap()
    }

    fn finite(table: &[(f64, f64)]) -> DominatingPair {
        DominatingPair::Finite(Atoms::from_outcomes(table.iter().copied()))
    }

    fn contains(outer: Bounds, inner: Bounds, what: &str) {
        assert!(outer.lower <= inner.upper && inner.lower <= outer.upper, "{what}: {outer:?} {inner:?}");
        assert!(outer.relative_width() < 1e-5, "{what}: {outer:?}");
    }

    #[test]
    fn one_step_by_fft_encloses_the_closed_form() {
        let (q, s) = (0.1, 0.9);
        let pairs = [
            DominatingPair::Gaussian { s },
            DominatingPair::GaussianRemove { q, s },
            DominatingPair::GaussianAdd { q, s },
            DominatingPair::GaussianSubstitute { q, s },
            DominatingPair::GaussianFixed { q, s },
            DominatingPair::Laplace { s },
            DominatingPair::LaplaceRemove { q, s },
            DominatingPair::LaplaceAdd { q, s },
            finite(&[(0.7, 0.1), (0.1, 0.7), (0.2, 0.2)]),
        ];
        for pair in pairs {
            let composition = vec![(pair, steps(1))];
            let what = format!("{composition:?}");
            let delta = 1e-3;
            let exact = closed_epsilon(&composition, delta).unwrap();
            contains(epsilon(&composition, delta, FINE, None).unwrap(), exact, &what);
            let smaller = 0.7 * exact.upper;
            let exact = Evaluator::Closed.answer(&composition, CostQuestion::DeltaAt(smaller)).unwrap();
            contains(super::delta(&composition, smaller, FINE).unwrap(), exact, &what);
        }
    }

    /// Almost every step has a loss at which the inverse is lost in rounding, and the few others cost hundreds.
    #[test]
    fn rare_and_large_losses_are_found() {
        for (q, s) in [(1.3e-4, 0.0284), (6.2e-5, 0.0576), (2e-5, 0.1)] {
            for pair in [DominatingPair::GaussianRemove { q, s }, DominatingPair::GaussianFixed { q, s }] {
                let composition = vec![(pair, steps(1))];
                let exact = closed_epsilon(&composition, 1e-8).unwrap();
                let got = epsilon(&composition, 1e-8, FINE, None).unwrap();
                assert!(got.intersects(&exact) && got.relative_width() < 1e-3, "{composition:?}: {got:?} {exact:?}");
            }
        }
    }

    /// δ of two steps by quadrature of one closed curve over the other step (mpmath, 25 digits).
    #[test]
    fn two_steps_enclose_a_quadrature() {
        let (q, s) = (0.1, 0.9);
        for (pair, epsilon, exact) in [
            (DominatingPair::GaussianRemove { q, s }, 0.5, 0.008091237702525886),
            (DominatingPair::GaussianRemove { q, s }, 1.5, 0.0002494545864429763),
            (DominatingPair::GaussianAdd { q, s }, 0.05, 0.03668675267147923),
            (DominatingPair::GaussianAdd { q, s }, 0.15, 0.002467387553576239),
            (DominatingPair::GaussianSubstitute { q, s }, 0.5, 0.0001670247963088475),
            (DominatingPair::GaussianSubstitute { q, s }, 1.0, 1.598539897135002e-7),
            (DominatingPair::GaussianFixed { q, s }, 0.5, 0.008464245027132913),
            (DominatingPair::GaussianFixed { q, s }, 1.5, 0.0002582429657542847),
            (DominatingPair::LaplaceRemove { q, s }, 0.05, 0.04266130208619933),
            (DominatingPair::LaplaceRemove { q, s }, 0.3, 0.003122785682646613),
            (DominatingPair::LaplaceAdd { q, s }, 0.05, 0.03625847000492483),
            (DominatingPair::LaplaceAdd { q, s }, 0.1, 0.01333557807169387),
        ] {
            let what = format!("{pair:?} {epsilon}");
            let got = super::delta(&vec![(pair, steps(2))], epsilon, FINE).unwrap();
            contains(got, Bounds::between(exact * (1.0 - 1e-14), exact * (1.0 + 1e-14)), &what);
        }
    }

    #[test]
    fn gaussian_compositions_by_fft_enclose_the_closed_form() {
        for counts in [(1_u64, 2_u64), (3, 4), (50, 1), (400, 900)] {
            let composition = vec![
                (DominatingPair::Gaussian { s: 4.0 }, steps(counts.0)),
                (DominatingPair::Gaussian { s: 7.0 }, steps(counts.1)),
            ];
            for delta in [1e-2, 1e-6, 1e-18] {
                let exact = closed_epsilon(&composition, delta).unwrap();
                contains(epsilon(&composition, delta, FINE, None).unwrap(), exact, &format!("{counts:?} {delta}"));
            }
        }
    }

    #[test]
    fn steps_in_two_parts_cost_what_they_cost_together() {
        let pair = DominatingPair::GaussianRemove { q: 0.05, s: 1.0 };
        let whole = vec![(pair.clone(), steps(40))];
        let nearly = DominatingPair::GaussianRemove { q: 0.05 * (1.0 + 1e-13), s: 1.0 };
        let parts = vec![(pair.clone(), steps(13)), (nearly, steps(27))];
        let joined = vec![(pair.clone(), steps(13)), (pair, steps(27))];
        let cost = |c: &Composition| epsilon(c, 1e-6, FINE, None).unwrap();
        assert!(cost(&whole).intersects(&cost(&parts)));
        assert_eq!(cost(&whole), cost(&joined));
    }

    #[test]
    fn a_mechanism_of_known_epsilon_and_delta_composes_exactly() {
        // Kairouz, Oh, Viswanath 2015: losses ±ε and infinite. Two steps, by hand.
        let (e, d) = (0.5_f64, 1e-3);
        let high = (1.0 - d) / (1.0 + libm::exp(-e));
        let low = (1.0 - d) / (1.0 + libm::exp(e));
        let composition = vec![(finite(&[(d, 0.0), (high, low), (low, high), (0.0, d)]), steps(2))];
        let infinite = 1.0 - (1.0 - d) * (1.0 - d);
        for epsilon in [0.0, 0.3, 0.9] {
            let exact = infinite + high * high * -libm::expm1(epsilon - 2.0 * e);
            let got = super::delta(&composition, epsilon, FINE).unwrap();
            assert!(got.lower <= exact * (1.0 + 1e-13) && exact * (1.0 - 1e-13) <= got.upper, "{got:?} {exact}");
            assert!(got.relative_width() < 1e-7, "{got:?}");
        }
        let refused = super::epsilon(&composition, 1e-4, FINE, None).unwrap_err();
        assert_eq!(refused.code(), "P004");
    }

    #[test]
    fn incommensurable_atoms_are_enclosed() {
        let table = [(0.5, 0.2), (0.3, 0.31), (0.2, 0.49)];
        let composition = vec![(finite(&table), steps(6))];
        let mut exact = 0.0;
        let (epsilon, n) = (1.7, 3_usize.pow(6));
        for mut code in 0..n {
            let (mut p, mut q) = (1.0, 1.0);
            for _ in 0..6 {
                (p, q) = (p * table[code % 3].0, q * table[code % 3].1);
                code /= 3;
            }
            exact += (p - libm::exp(epsilon) * q).max(0.0);
        }
        let got = super::delta(&composition, epsilon, FINE).unwrap();
        assert!(got.lower <= exact * (1.0 + 1e-12) && exact * (1.0 - 1e-12) <= got.upper, "{got:?} {exact}");
        assert!(got.relative_width() < 2e-5, "{got:?}");
    }

    /// The ends of ε are where a curve was found on the certain side of δ, and not next to it.
    #[test]
    fn ends_from_a_grid_have_certified_signs() {
        for pair in [DominatingPair::GaussianRemove { q: 0.1, s: 0.9 }, finite(&[(0.5, 0.2), (0.3, 0.31), (0.2, 0.49)])]
        {
            let composition = vec![(pair, steps(20))];
            let (delta, width) = (1e-5, 1e-3);
            let problem = GridProblem::new(&composition, GridDetail::ALL).unwrap();
            let saddle = problem.saddle_at_delta(delta);
            let mut near = NearEpsilon {
                prepared: problem.prepare(saddle, width).unwrap(),
                delta,
                width,
                epsilon: saddle.epsilon,
            };
            let upper = near.upper().unwrap().unwrap();
            let lower = near.lower(f64::NEG_INFINITY).unwrap().unwrap();
            assert!(near.prepared.curve(BoundSide::Upper).unwrap().upper(upper) <= delta, "{composition:?}");
            assert!(near.prepared.curve(BoundSide::Lower).unwrap().lower(lower) > delta, "{composition:?}");
        }
    }
}
