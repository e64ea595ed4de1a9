//! Composition of mechanisms of which only (ε, δ) is known: basic and advanced.
//!
//! Basic composition adds ε and δ up and is exact at δ = 0. Advanced composition grows with the root of the number of steps. Both
//! see a mechanism only through its (ε, δ), so accountants that know more give less.

use super::pair::{Atoms, DominatingPair, directions};
use super::rdp::answered;
use super::special::ln_mixture;
use super::{AboutAccountant, Accountant, Bounds, Interval, check_one_relation};
use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError};

/// ε with which one step is (ε, 0)-differentially private, rounded up, or `None` if there is none.
///
/// Laplace noise of scale z: 1/z, and log(1 + q(e^{1/z} − 1)) with Poisson batches under add-remove (Balle, Barthe,
/// Gaboardi 2018, Theorem 8). k-randomised response: log(((1−γ)k + γ)/γ). Finite pairs: the largest loss.
pub fn pure_epsilon(event: &Event) -> Result<Option<f64>, PrivacyError> {
    let exact = Interval::exact;
    Ok(match event.mechanism() {
        Mechanism::Laplace { noise_multiplier: z } => {
            let (q, epsilon) = (event.sampling().rate(), exact(1.0) / exact(z.get()));
            Some(if q < 1.0 { ln_mixture(q, epsilon).hi } else { epsilon.hi })
        }
        Mechanism::RandomisedResponse { categories, gamma } => {
            let (k, g) = (exact(categories.get() as f64), exact(gamma.get()));
            Some(((exact(1.0) - g) * k / g).clamp_positive().ln_1p().hi)
        }
        Mechanism::Finite(_) => largest_loss(event)?,
        Mechanism::Approximate { epsilon, delta } if delta.get() == 0.0 => Some(epsilon.get()),
        _ => None,
    })
}

/// The largest loss of a finite pair in either direction, if all are finite.
fn largest_loss(event: &Event) -> Result<Option<f64>, PrivacyError> {
    let mut largest = 0.0_f64;
    for (pair, _) in directions("basic", std::slice::from_ref(event))?.into_iter().flatten() {
        let DominatingPair::Finite(Atoms { finite, infinite: 0.0 }) = pair else { return Ok(None) };
        // A loss is a difference of two logarithms, each within 4 units in the last place.
        let rounded_up = |&(loss, p): &(f64, f64)| loss + (1.0 + loss.abs() - libm::log(p)) * 4.0 * f64::EPSILON;
        largest = finite.iter().map(rounded_up).fold(largest, f64::max);
    }
    Ok(Some(largest))
}

/// One step as an (ε, δ) mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ApproximateStep {
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) steps: u64,
    /// True where (ε, δ) is all that is known, so that nothing is lost by using only that.
    pub(super) exact: bool,
}

/// The plan, event by event, as (ε, δ) mechanisms.
pub(super) fn as_steps(accountant: &'static str, plan: &[Event]) -> Result<Vec<ApproximateStep>, PrivacyError> {
    check_one_relation(plan)?;
    let refuse = |event: &Event| PrivacyError::Unsupported {
        accountant,
        event: event.to_string(),
        hint: "it supports mechanisms with a pure ε or a stated (ε, δ); use `pld`, `gdp`, `zcdp` or `rdp`",
    };
    let step = |event: &Event| {
        let steps = event.steps().get();
        if let Mechanism::Approximate { epsilon, delta } = event.mechanism() {
            return Ok(ApproximateStep { epsilon: epsilon.get(), delta: delta.get(), steps, exact: true });
        }
        let epsilon = pure_epsilon(event)?.ok_or_else(|| refuse(event))?;
        Ok(ApproximateStep { epsilon, delta: 0.0, steps, exact: false })
    };
    plan.iter().map(step).collect()
}

/// Σ over all steps of a function of one step.
fn over_steps(steps: &[ApproximateStep], f: impl Fn(&ApproximateStep) -> Interval) -> Interval {
    steps.iter().fold(Interval::exact(0.0), |sum, s| sum + Interval::exact(s.steps as f64) * f(s)).clamp_positive()
}

/// δ that is left after the mechanisms' own, or an error that says how much they need.
fn left_over(accountant: &'static str, steps: &[ApproximateStep], delta: Delta) -> Result<f64, PrivacyError> {
    let own = own_delta(steps);
    let left = Interval::exact(delta.get()) - Interval::exact(own);
    if delta.get() >= own {
        return Ok(left.lo.max(0.0));
    }
    Err(PrivacyError::Uncertified {
        accountant,
        why: format!("the mechanisms' own δ add up to {own}, over δ = {delta}"),
        hint: "choose a larger δ",
    })
}

/// Σ δ of the mechanisms; exactly 0 if all are pure.
fn own_delta(steps: &[ApproximateStep]) -> f64 {
    let sum = over_steps(steps, |s| Interval::exact(s.delta));
    if steps.iter().all(|s| s.delta == 0.0) { 0.0 } else { sum.hi }
}

/// Basic composition: ε and δ add up (Dwork, Roth 2014, Theorem 3.16).
///
/// Supports mechanisms with a pure ε (Laplace noise, also in Poisson batches under add-remove; randomised response;
/// finite pairs) and (ε, δ) mechanisms. Does not support: Gaussian noise of any kind; an answer without noise.
///
/// # Examples
///
/// ```
/// use privacy::accounting::composition::Basic;
/// use privacy::{Accountant, Adjacency, Delta, Epsilon, Event, Mechanism, Sampling, Steps, Unit};
///
/// let one = Mechanism::Approximate { epsilon: Epsilon::new(0.1)?, delta: Delta::new(0.0)? };
/// let plan = [Event::new(one, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::new(100)?)?];
/// assert!((Basic.epsilon(&plan, Delta::new(1e-5)?)?.upper - 10.0).abs() < 1e-9);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Basic;

impl Accountant for Basic {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: "basic",
            method: "basic composition, sums of ε and δ",
            use_for: "for a few steps, or to check by hand",
            published_only: false,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        let steps = as_steps("basic", plan)?;
        left_over("basic", &steps, delta)?;
        if steps.is_empty() {
            return Ok(Bounds::ZERO);
        }
        answered("basic", over_steps(&steps, |s| Interval::exact(s.epsilon)).hi)
    }

    /// Σδ at or above Σε; below it nothing but δ ≤ 1 is known.
    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        let steps = as_steps("basic", plan)?;
        let enough = steps.is_empty() || over_steps(&steps, |s| Interval::exact(s.epsilon)).hi <= epsilon.get();
        Ok(Bounds::at_most(if enough { own_delta(&steps).min(1.0) } else { 1.0 }))
    }

    fn two_sided(&self, _: &[Event]) -> bool {
        false
    }
}

/// Advanced composition: ε' = √(2 log(1/δ') Σε²) + Σ ε(e^ε − 1) at δ' + Σδ.
///
/// Dwork, Rothblum, Vadhan 2010, Theorem III.3 (Dwork, Roth 2014, Theorem 3.20) for k equal mechanisms,
/// ε' = ε√(2k log(1/δ')) + kε(e^ε − 1); its proof, Azuma's inequality for a sum of losses of at most ε each with mean
/// at most ε(e^ε − 1), holds for unequal ones in the form above. It may exceed basic composition; use the smaller.
///
/// Supports what `basic` does, for δ over the mechanisms' own.
///
/// # Examples
///
/// ```
/// use privacy::accounting::composition::Advanced;
/// use privacy::{Accountant, Adjacency, Delta, Epsilon, Event, Mechanism, Sampling, Steps, Unit};
///
/// let one = Mechanism::Approximate { epsilon: Epsilon::new(0.1)?, delta: Delta::new(0.0)? };
/// let plan = [Event::new(one, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::new(100)?)?];
/// assert!(Advanced.epsilon(&plan, Delta::new(1e-5)?)?.upper < 6.0);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Advanced;

/// Σ ε(e^ε − 1) and Σ ε².
fn advanced_sums(steps: &[ApproximateStep]) -> (Interval, Interval) {
    let epsilon = |s: &ApproximateStep| Interval::exact(s.epsilon);
    (over_steps(steps, |s| epsilon(s) * epsilon(s).exp_m1()), over_steps(steps, |s| epsilon(s) * epsilon(s)))
}

impl Accountant for Advanced {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: "advanced",
            method: "advanced composition",
            use_for: "to compare with papers that use it",
            published_only: true,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        let steps = as_steps("advanced", plan)?;
        if steps.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let slack = left_over("advanced", &steps, delta)?;
        if slack <= 0.0 {
            return Err(PrivacyError::Uncertified {
                accountant: "advanced",
                why: "no δ is left over for the composition".into(),
                hint: "choose a larger δ, or use `basic`",
            });
        }
        let (mean, squares) = advanced_sums(&steps);
        let root = (Interval::exact(-2.0) * Interval::exact(slack).ln() * squares).sqrt();
        super::rdp::answered("advanced", (root + mean).hi)
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        let steps = as_steps("advanced", plan)?;
        if steps.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let (mean, squares) = advanced_sums(&steps);
        let excess = (Interval::exact(epsilon.get()) - mean).lo;
        if excess <= 0.0 {
            return Ok(Bounds::at_most(1.0));
        }
        let exponent = -(Interval::exact(excess) * Interval::exact(excess) / (Interval::exact(2.0) * squares));
        let slack = exponent.exp();
        Ok(Bounds::at_most((slack + Interval::exact(own_delta(&steps))).hi.min(1.0)))
    }

    fn two_sided(&self, _: &[Event]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_float::{ONE, fixed};
    use crate::{Adjacency, Categories, Gamma, Sampling, Steps, Unit};
    use num_bigint::BigUint;

    /// k = 2^m + 1 categories and γ = k/2^(m+1) make the largest ratio of probabilities 2^m: ε is m·ln 2, known to a hundred bits.
    #[test]
    fn the_epsilon_of_a_randomised_response_is_rounded_up() {
        // ⌊2^100 ln 2⌋.
        const LN_2: u128 = 0xb_1721_7f7d_1cf7_9abc_9e3b_3980;
        for m in 1..20_u32 {
            let k = (1_u64 << m) + 1;
            let gamma = Gamma::new(k as f64 / (1_u64 << (m + 1)) as f64).unwrap();
            let mechanism = Mechanism::RandomisedResponse { categories: Categories::new(k).unwrap(), gamma };
            let event =
                Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap();
            let epsilon = pure_epsilon(&event).unwrap().unwrap();
            let exact = BigUint::from(LN_2 * u128::from(m)) << (ONE - 100);
            assert!(fixed(epsilon) > exact && fixed(epsilon * (1.0 - 1e-14)) < exact, "{m}: {epsilon}");
        }
    }
}
