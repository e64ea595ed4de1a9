//! Optimal composition of equal (ε, δ) mechanisms: no better bound follows from (ε, δ) alone.
//!
//! Where (ε, δ) of each step is all that is known, this is the whole truth about k steps: the theorem is an equality. It needs equal
//! steps; for steps that differ, `pld` composes the same four-outcome pairs.

use super::composition::as_steps;
use super::special::{ln_add_exp, ln_binomial};
use super::{AboutAccountant, Accountant, Bounds, Interval};
use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError};

/// Most steps that are summed.
const MOST_STEPS: u64 = 1 << 20;

/// Kairouz, Oh, Viswanath 2015, Theorem 3.3, for k mechanisms of the same (ε, δ).
///
/// Every (ε, δ) mechanism is a post-processing of one with four outcomes, so the k-fold product of that one is the
/// worst case: l of k losses are −ε and the others +ε with probability C(k, l) e^{(k−l)ε}/(1 + e^ε)^k, and
/// δ' = 1 − (1−δ)^k (1 − max_i (A_i − e^{ε'} B_i)), A_i and B_i the probabilities of l < i under both data sets. The
/// theorem states the corners ε' = (k−2i)ε; the same product gives every ε' between them.
///
/// Supports what `basic` does, if all steps have one (ε, δ). Does not support: mechanisms that differ (their optimal
/// composition is #P-hard: Murtagh, Vadhan 2016), more than 2^20 steps. Both ends are certified where the events are
/// (ε, δ) mechanisms; for others, of which more is known, only the upper end.
///
/// # Examples
///
/// ```
/// use privacy::accounting::optimal::Optimal;
/// use privacy::{Accountant, Adjacency, Delta, Epsilon, Event, Mechanism, Sampling, Steps, Unit};
///
/// let one = Mechanism::Approximate { epsilon: Epsilon::new(0.1)?, delta: Delta::new(0.0)? };
/// let plan = [Event::new(one, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::new(100)?)?];
/// assert!(Optimal.epsilon(&plan, Delta::new(1e-5)?)?.upper < 5.0);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Optimal;

/// k mechanisms of one (ε, δ). `exact` if nothing more is known of them, so that lower ends hold too.
struct EqualMechanisms {
    epsilon: f64,
    delta: f64,
    k: u64,
    exact: bool,
}

impl EqualMechanisms {
    /// The plan as equal mechanisms; none if it is empty, refused if they differ or are too many.
    fn new(plan: &[Event]) -> Result<Option<Self>, PrivacyError> {
        let steps = as_steps("optimal", plan)?;
        let Some(first) = steps.first() else { return Ok(None) };
        if let Some((event, _)) =
            plan.iter().zip(&steps).find(|(_, s)| (s.epsilon, s.delta) != (first.epsilon, first.delta))
        {
            return Err(PrivacyError::Unsupported {
                accountant: "optimal",
                event: format!("{event} beside mechanisms of another (ε, δ)"),
                hint: "use `pld`, which composes different mechanisms, or `advanced`",
            });
        }
        let k = steps.iter().map(|s| s.steps).sum();
        if k > MOST_STEPS {
            return Err(PrivacyError::Uncertified {
                accountant: "optimal",
                why: format!("{k} steps are too many to sum"),
                hint: "use `pld` or `zcdp`",
            });
        }
        let exact = steps.iter().all(|s| s.exact);
        Ok(Some(Self { epsilon: first.epsilon, delta: first.delta, k, exact }))
    }

    /// k log(1 − δ): the log-probability that no mechanism fails outright.
    fn ln_sound(&self) -> Interval {
        Interval::exact(self.k as f64) * (-Interval::exact(self.delta)).ln_1p()
    }

    /// (A_i, log B_i) for i = 1 … ⌈k/2⌉: P and Q of "fewer than i negative losses".
    fn tails(&self) -> Vec<(Interval, Interval)> {
        let exact = Interval::exact;
        let (k, epsilon) = (self.k, exact(self.epsilon));
        let norm = exact(k as f64) * ln_add_exp(exact(0.0), epsilon);
        let (mut a, mut ln_b) = (exact(0.0), exact(f64::NEG_INFINITY));
        (0..k.div_ceil(2))
            .map(|l| {
                let weight = ln_binomial(k, l) - norm;
                a = a + (weight + exact((k - l) as f64) * epsilon).exp();
                ln_b = ln_add_exp(ln_b, weight + exact(l as f64) * epsilon);
                (a, ln_b)
            })
            .collect()
    }

    /// ε' = max_i log((A_i − δ'')/B_i), where δ' = 1 − (1−δ)^k (1 − δ'').
    fn epsilon_at(&self, delta: Delta) -> Result<Bounds, PrivacyError> {
        let slack = -((-Interval::exact(delta.get())).ln_1p() - self.ln_sound()).exp_m1();
        if slack.hi < 0.0 {
            return Err(PrivacyError::Uncertified {
                accountant: "optimal",
                why: format!("{} mechanisms of δ = {} fail with more than δ = {delta}", self.k, self.delta),
                hint: "choose a larger δ",
            });
        }
        let whole = Interval::exact(self.k as f64) * Interval::exact(self.epsilon);
        if slack.lo <= 0.0 {
            return Ok(Bounds::between(if delta.get() == 0.0 { whole.lo } else { 0.0 }, whole.hi));
        }
        let (mut lower, mut upper) = (0.0_f64, 0.0_f64);
        for (a, ln_b) in self.tails() {
            let rest = a - slack;
            if rest.hi > 0.0 {
                upper = upper.max((Interval::exact(rest.hi).ln() - ln_b).hi);
            }
            if rest.lo > 0.0 {
                lower = lower.max((Interval::exact(rest.lo).ln() - ln_b).lo);
            }
        }
        Ok(Bounds::between(lower, upper.min(whole.hi)))
    }

    /// δ' at ε': the largest of A_i − e^{ε'} B_i, with what fails outright.
    fn delta_at(&self, epsilon: f64) -> Bounds {
        let (mut lower, mut upper) = (0.0_f64, 0.0_f64);
        // One rounding keeps the sign: true if and only if kε is over ε'.
        if self.epsilon.mul_add(self.k as f64, -epsilon) > 0.0 {
            for (a, ln_b) in self.tails() {
                let value = a - (Interval::exact(epsilon) + ln_b).exp();
                (lower, upper) = (lower.max(value.lo), upper.max(value.hi));
            }
        }
        let total = |x: f64| -((-Interval::exact(x.min(1.0))).ln_1p() + self.ln_sound()).exp_m1();
        let upper = if upper == 0.0 && self.delta == 0.0 { 0.0 } else { total(upper).hi.min(1.0) };
        Bounds::between(total(lower).lo, upper)
    }

    /// Keeps the lower end only where it was proved.
    fn ends(&self, bounds: Bounds) -> Bounds {
        if self.exact { bounds } else { Bounds::at_most(bounds.upper) }
    }
}

impl Accountant for Optimal {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: "optimal",
            method: "optimal composition",
            use_for: "where only one (ε, δ) of every step is known",
            published_only: false,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        match EqualMechanisms::new(plan)? {
            Some(equal) => Ok(equal.ends(equal.epsilon_at(delta)?)),
            None => Ok(Bounds::ZERO),
        }
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        match EqualMechanisms::new(plan)? {
            Some(equal) => Ok(equal.ends(equal.delta_at(epsilon.get()))),
            None => Ok(Bounds::ZERO),
        }
    }

    fn two_sided(&self, plan: &[Event]) -> bool {
        plan.iter().all(|event| matches!(event.mechanism(), Mechanism::Approximate { .. }))
    }
}
