//! The certified accountant: two-sided bounds on ε and δ from the privacy loss distribution.
//!
//! Closed forms where they exist, else composition by FFT (`docs/maths/certified-pld.md`). A number that is returned is
//! enclosed by bounds that include every error made on the way; where that fails the answer is a refusal.

mod closed;
mod discretise;
mod estimate;
mod evaluate;
mod fft;
mod law;
mod lower;
mod problem;
mod solve;

use super::pair::{Composition, Pair, directions};
use super::{Accountant, Bounds, Interval};
use crate::{Delta, Epsilon, Event, PrivacyError, Steps};
use problem::{Problem, Side};
use solve::{Missed, crossing};

/// Relative width of ε at which directions are compared.
const COARSE: f64 = 1e-3;

/// Relative width of ε that is aimed at.
const FINE: f64 = 1e-6;

/// A largest loss that counts as none.
const FREE: f64 = 1e-12;

/// The name on the command line.
const NAME: &str = "pld";

/// The accountant of exact privacy loss distributions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pld;

/// How a composition is evaluated.
enum Route {
    /// No loss exceeds what rounding can hide: ε and δ are at most this loss (δ ≤ 1 − e^{−loss}).
    Free(f64),
    /// By a formula.
    Closed,
    /// By composition on a grid.
    Fft,
}

/// Decides by the composition alone.
fn route(composition: &[(Pair, Steps)]) -> Route {
    match closed::largest_loss(composition) {
        Some(most) if most.hi < FREE => Route::Free(most.hi.max(0.0)),
        _ if closed::covers(composition) => Route::Closed,
        _ => Route::Fft,
    }
}

impl Accountant for Pld {
    fn name(&self) -> &'static str {
        NAME
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let all = directions(NAME, plan)?;
        if delta.get() == 0.0 {
            return worst(all.iter().map(pure));
        }
        let coarse = |c: &Composition, proved: f64| match closed::largest_loss(c) {
            Some(most) if most.hi <= proved => Ok(Bounds::at_most(most.hi)),
            _ => epsilon_of(c, delta.get(), COARSE, None),
        };
        narrowed(&all, coarse, |c, rough| epsilon_of(c, delta.get(), FINE, Some(rough)))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let at = |c: &Composition, width: f64| delta_of(c, epsilon.get(), width);
        narrowed(&directions(NAME, plan)?, |c, _| at(c, COARSE), |c, _| at(c, FINE))
    }
}

/// Coarse bounds of all directions, and fine ones of those that can still be the worst.
///
/// `coarse` is told the lower bound that the directions before it have proved: it needs no more than to stay below.
fn narrowed(
    all: &[Composition],
    coarse: impl Fn(&Composition, f64) -> Result<Bounds, PrivacyError>,
    fine: impl Fn(&Composition, Bounds) -> Result<Bounds, PrivacyError>,
) -> Result<Bounds, PrivacyError> {
    let (mut rough, mut proved) = (Vec::new(), Bounds::ZERO);
    for composition in all {
        let one = coarse(composition, proved.lower)?;
        proved = proved.max(one);
        rough.push(one);
    }
    worst(all.iter().zip(rough).map(|(c, one)| if one.upper > proved.lower { fine(c, one) } else { Ok(one) }))
}

/// The worse of the directions; a refusal of one is a refusal.
fn worst(each: impl Iterator<Item = Result<Bounds, PrivacyError>>) -> Result<Bounds, PrivacyError> {
    each.into_iter().try_fold(Bounds::ZERO, |worst, one| Ok(worst.max(one?)))
}

/// ε at δ = 0: the largest loss of the composition.
fn pure(composition: &Composition) -> Result<Bounds, PrivacyError> {
    match closed::largest_loss(composition) {
        Some(loss) => Ok(Bounds::between(loss.lo, loss.hi)),
        None => Err(PrivacyError::Parameter {
            name: "delta",
            found: "0".into(),
            expected: "a number over 0, because the privacy loss of this plan is unbounded",
        }),
    }
}

fn epsilon_of(
    composition: &Composition,
    delta: f64,
    width: f64,
    rough: Option<Bounds>,
) -> Result<Bounds, PrivacyError> {
    match route(composition) {
        Route::Free(loss) => Ok(Bounds::at_most(loss)),
        Route::Closed => closed_epsilon(composition, delta),
        Route::Fft => fft_epsilon(&Problem::new(composition)?, delta, width, rough),
    }
}

fn delta_of(composition: &Composition, epsilon: f64, width: f64) -> Result<Bounds, PrivacyError> {
    if closed::largest_loss(composition).is_some_and(|most| epsilon >= most.hi) {
        return Ok(Bounds::ZERO);
    }
    match route(composition) {
        Route::Free(loss) => Ok(Bounds::at_most(loss)),
        Route::Closed => {
            let delta = closed::delta(composition, epsilon);
            Ok(Bounds::between(delta.lo, delta.hi))
        }
        Route::Fft => fft_delta(&Problem::new(composition)?, epsilon, width),
    }
}

/// Bisects the enclosing curve of a closed form at both ends.
fn closed_epsilon(composition: &Composition, delta: f64) -> Result<Bounds, PrivacyError> {
    let at = |epsilon: f64| closed::delta(composition, epsilon);
    let guess = closed::largest_loss(composition).map_or(1.0, |most| most.hi);
    let find = |curve: &dyn Fn(f64) -> f64| crossing(curve, delta, guess, 1e9, 1e-14).map_err(|_| no_epsilon(delta));
    let (upper, lower) = (find(&|e| at(e).hi)?, find(&|e| at(e).lo)?);
    Ok(Bounds::between(lower.last_above, upper.first_below))
}

/// Looks for ε where the rough law has it, and where the curve points if it is not there.
fn fft_epsilon(problem: &Problem, delta: f64, width: f64, rough: Option<Bounds>) -> Result<Bounds, PrivacyError> {
    if problem.infinite() > delta {
        return Err(refuse("outcomes that a neighbour cannot produce are more likely than delta"));
    }
    let mut saddle = problem.saddle_at_delta(delta);
    if let Some(bounds) = rough {
        saddle.epsilon = 0.5 * (bounds.lower + bounds.upper);
    }
    for _ in 0..4 {
        saddle.epsilon = saddle.epsilon.max(0.0);
        saddle.log_delta = libm::log(delta);
        let mut prepared = problem.prepare(saddle, width)?;
        let reach = (0.5 * saddle.epsilon + 0.1).min(prepared.reach(saddle.epsilon));
        let mut found = [0.0; 2];
        let mut missed = None;
        for (side, slot) in [Side::Upper, Side::Lower].into_iter().zip(&mut found) {
            let curve = prepared.curve(side)?;
            let value = |e: f64| if side == Side::Upper { curve.upper(e) } else { curve.lower(e) };
            match crossing(value, delta, saddle.epsilon, reach, 0.01 * width) {
                Ok(c) => *slot = if side == Side::Upper { c.first_below } else { c.last_above },
                Err(m) => missed = Some(m),
            }
        }
        let Some(missed) = missed else { return Ok(Bounds::between(found[1], found[0])) };
        let next = if missed == Missed::Above { saddle.epsilon + reach } else { (saddle.epsilon - reach).max(0.0) };
        saddle = problem.saddle_at_epsilon(next, libm::log(delta));
    }
    Err(no_epsilon(delta))
}

fn fft_delta(problem: &Problem, epsilon: f64, width: f64) -> Result<Bounds, PrivacyError> {
    let first = problem.saddle_at_epsilon(epsilon, libm::log(1e-12));
    let saddle = problem.saddle_at_epsilon(epsilon, first.log_delta);
    let mut prepared = problem.prepare(saddle, width)?;
    let upper = prepared.curve(Side::Upper)?.upper(epsilon);
    let lower = prepared.curve(Side::Lower)?.lower(epsilon);
    Ok(Bounds::between(lower, upper))
}

/// A refusal, with what to do.
fn refuse(why: &str) -> PrivacyError {
    PrivacyError::Uncertified {
        accountant: NAME,
        why: why.into(),
        hint: "the `rdp` accountant gives an upper bound for any number of steps",
    }
}

fn no_epsilon(delta: f64) -> PrivacyError {
    refuse(&format!("no epsilon was found at which delta is certified to be {delta:e}"))
}

#[cfg(test)]
mod tests {
    use super::super::pair::Atoms;
    use super::*;

    fn steps(n: u64) -> Steps {
        Steps::new(n).unwrap()
    }

    fn finite(table: &[(f64, f64)]) -> Pair {
        Pair::Finite(Atoms::from_outcomes(table.iter().copied()))
    }

    fn contains(outer: Bounds, inner: Bounds, what: &str) {
        assert!(outer.lower <= inner.upper && inner.lower <= outer.upper, "{what}: {outer:?} {inner:?}");
        assert!(outer.relative_width() < 1e-5, "{what}: {outer:?}");
    }

    #[test]
    fn one_step_by_fft_encloses_the_closed_form() {
        let (q, s) = (0.1, 0.9);
        let pairs = [
            Pair::Gaussian { s },
            Pair::GaussianRemove { q, s },
            Pair::GaussianAdd { q, s },
            Pair::GaussianSubstitute { q, s },
            Pair::GaussianFixed { q, s },
            Pair::Laplace { s },
            Pair::LaplaceRemove { q, s },
            Pair::LaplaceAdd { q, s },
            finite(&[(0.7, 0.1), (0.1, 0.7), (0.2, 0.2)]),
        ];
        for pair in pairs {
            let composition = vec![(pair, steps(1))];
            let (problem, what) = (Problem::new(&composition).unwrap(), format!("{composition:?}"));
            let delta = 1e-3;
            let exact = closed_epsilon(&composition, delta).unwrap();
            contains(fft_epsilon(&problem, delta, FINE, None).unwrap(), exact, &what);
            let epsilon = 0.7 * exact.upper;
            let exact = delta_of(&composition, epsilon, FINE).unwrap();
            contains(fft_delta(&problem, epsilon, FINE).unwrap(), exact, &what);
        }
    }

    /// δ of two steps by quadrature of one closed curve over the other step (mpmath, 25 digits).
    #[test]
    fn two_steps_enclose_a_quadrature() {
        let (q, s) = (0.1, 0.9);
        for (pair, epsilon, exact) in [
            (Pair::GaussianRemove { q, s }, 0.5, 0.008091237702525886),
            (Pair::GaussianRemove { q, s }, 1.5, 0.0002494545864429763),
            (Pair::GaussianAdd { q, s }, 0.05, 0.03668675267147923),
            (Pair::GaussianAdd { q, s }, 0.15, 0.002467387553576239),
            (Pair::GaussianSubstitute { q, s }, 0.5, 0.0001670247963088475),
            (Pair::GaussianSubstitute { q, s }, 1.0, 1.598539897135002e-7),
            (Pair::GaussianFixed { q, s }, 0.5, 0.008464245027132913),
            (Pair::GaussianFixed { q, s }, 1.5, 0.0002582429657542847),
            (Pair::LaplaceRemove { q, s }, 0.05, 0.04266130208619933),
            (Pair::LaplaceRemove { q, s }, 0.3, 0.003122785682646613),
            (Pair::LaplaceAdd { q, s }, 0.05, 0.03625847000492483),
            (Pair::LaplaceAdd { q, s }, 0.1, 0.01333557807169387),
        ] {
            let what = format!("{pair:?} {epsilon}");
            let got = delta_of(&vec![(pair, steps(2))], epsilon, FINE).unwrap();
            contains(got, Bounds::between(exact * (1.0 - 1e-14), exact * (1.0 + 1e-14)), &what);
        }
    }

    #[test]
    fn gaussian_compositions_by_fft_enclose_the_closed_form() {
        for counts in [(1_u64, 2_u64), (3, 4), (50, 1), (400, 900)] {
            let composition =
                vec![(Pair::Gaussian { s: 4.0 }, steps(counts.0)), (Pair::Gaussian { s: 7.0 }, steps(counts.1))];
            let problem = Problem::new(&composition).unwrap();
            for delta in [1e-2, 1e-6, 1e-18] {
                let exact = closed_epsilon(&composition, delta).unwrap();
                contains(fft_epsilon(&problem, delta, FINE, None).unwrap(), exact, &format!("{counts:?} {delta}"));
            }
        }
    }

    #[test]
    fn steps_in_two_parts_cost_what_they_cost_together() {
        let pair = Pair::GaussianRemove { q: 0.05, s: 1.0 };
        let whole = vec![(pair.clone(), steps(40))];
        let nearly = Pair::GaussianRemove { q: 0.05 * (1.0 + 1e-13), s: 1.0 };
        let parts = vec![(pair.clone(), steps(13)), (nearly, steps(27))];
        let joined = vec![(pair.clone(), steps(13)), (pair, steps(27))];
        let cost = |c: &Composition| epsilon_of(c, 1e-6, FINE, None).unwrap();
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
            let got = delta_of(&composition, epsilon, FINE).unwrap();
            assert!(got.lower <= exact * (1.0 + 1e-13) && exact * (1.0 - 1e-13) <= got.upper, "{got:?} {exact}");
            assert!(got.relative_width() < 1e-7, "{got:?}");
        }
        let refused = epsilon_of(&composition, 1e-4, FINE, None).unwrap_err();
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
        let got = delta_of(&composition, epsilon, FINE).unwrap();
        assert!(got.lower <= exact * (1.0 + 1e-12) && exact * (1.0 - 1e-12) <= got.upper, "{got:?} {exact}");
        assert!(got.relative_width() < 2e-5, "{got:?}");
    }
}
