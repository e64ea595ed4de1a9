//! The Rényi bound of Girgis, Data, Diggavi 2021 for shuffles of sampled users, as Paper III compares with it.

use super::super::moments::listed;
use super::super::rdp::{Conversion, Orders, answered, positive_delta};
use super::super::special::{ln_1p_sum_exp, ln_factorial};
use super::super::{AboutAccountant, Accountant, Bounds, Interval, check_one_relation};
use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError};

/// The name under which it is found.
const NAME: &str = "girgis2021";

/// Largest order: that of the public code.
const LARGEST_ORDER: u64 = 1000;

/// Largest local ε: beyond, e^{2ε₀} leaves floating point.
const MOST_EPSILON: f64 = 300.0;

/// Shuffles of n reports that are each ε₀-locally private and discrete, from users drawn at rate γ without replacement.
///
/// Theorem 2 of Girgis, Data, Diggavi 2021 (NeurIPS), as the public code of Koskela, Heikkilä, Honkela 2023 has it, at
/// integer orders λ from 2 to 1000 and with the conversion of Canonne, Kamath, Steinke 2020:
///
/// (λ−1) D_λ ≤ log(1 + 4 C(λ,2) γ² (e^{ε₀}−1)² / (n̄ e^{ε₀}) + Σ_{j=3}^{λ} C(λ,j) γ^j j Γ(j/2) (2(e^{2ε₀}−1)² / (n̄ e^{2ε₀}))^{j/2} + Υ),
/// n̄ = ⌊(n−1)/2e^{ε₀}⌋ + 1, Υ = ((1+r)^λ − 1 − λr) e^{−(n−1)/8e^{ε₀}}, r = γ(e^{2ε₀}−1)/2e^{ε₀}.
///
/// It is a published number: nothing is charged by it, and no proof of it stands in this project. `pld` is far below it.
///
/// Does not support: any other mechanism; δ = 0. Only the upper end is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Girgis2021;

/// What the theorem knows of a shuffle.
struct SampledShuffle {
    /// n: reports in the shuffle.
    users: f64,
    /// ε₀ of each report.
    local: f64,
    /// γ: the share of all users who report.
    rate: f64,
}

impl SampledShuffle {
    fn of(event: &Event) -> Result<Self, PrivacyError> {
        match event.mechanism() {
            Mechanism::ShuffleClones { local_epsilon, .. } if local_epsilon.get() > MOST_EPSILON => {
                Err(PrivacyError::Uncertified {
                    accountant: NAME,
                    why: format!("e^{} is beyond floating point", 2.0 * local_epsilon.get()),
                    hint: "a local ε over 300 protects nobody",
                })
            }
            Mechanism::ShuffleClones { users, local_epsilon } => {
                let rate = event.sampling().rate();
                Ok(Self { users: users.get() as f64, local: local_epsilon.get(), rate })
            }
            _ => Err(PrivacyError::Unsupported {
                accountant: NAME,
                event: event.to_string(),
                hint: "it supports shuffles of locally private reports (shuffle-clones); use `pld` or `rdp`",
            }),
        }
    }

    /// (λ−1) D_λ of the theorem at λ = 2, 3, …, 1000. Every term of the sums is positive, so none is lost in logarithms.
    fn curve(&self) -> Vec<f64> {
        let exact = Interval::exact;
        if self.local == 0.0 {
            return vec![0.0; LARGEST_ORDER as usize - 1];
        }
        let (local, e, two) = (exact(self.local), exact(self.local).exp(), exact(2.0));
        let others = exact(self.users - 1.0);
        // n̄ in a denominator: the smaller one is the safe one.
        let ln_groups = exact((others / (two * e)).lo.max(0.0).floor() + 1.0).ln();
        let (once, twice) = (local.exp_m1().ln(), (two * local).exp_m1().ln());
        let ln_rate = exact(self.rate).ln();
        let first = exact(4.0).ln() + two * ln_rate + two * once - ln_groups - local;
        let base = exact(0.5) * (two.ln() + two * twice - ln_groups - two * local) + ln_rate;
        let (ln_r, rare) = (ln_rate + twice - two.ln() - local, others / (exact(8.0) * e));
        let factorials: Vec<Interval> = (0..=LARGEST_ORDER).map(ln_factorial).collect();
        let gammas = halves();
        let at = |order: u64| {
            let mut terms = Vec::with_capacity(2 * order as usize);
            for j in 2..=order {
                let (count, place) = (exact(j as f64), j as usize);
                let ways = factorials[order as usize] - factorials[place] - factorials[(order - j) as usize];
                let close = if j == 2 { first } else { count.ln() + gammas[place] + count * base };
                terms.push(ways + close);
                terms.push(ways + count * ln_r - rare);
            }
            ln_1p_sum_exp(&terms).hi
        };
        (2..=LARGEST_ORDER).map(at).collect()
    }
}

/// log Γ(j/2) for j = 0 (which is left infinite) to 1000, by Γ(x + 1) = xΓ(x) from Γ(½) = √π and Γ(1) = 1.
fn halves() -> Vec<Interval> {
    let exact = Interval::exact;
    let ln_pi = Interval::new(1.144_729_885_849_400_1, 1.144_729_885_849_400_3);
    let mut found = vec![exact(f64::INFINITY), ln_pi * exact(0.5), exact(0.0)];
    for j in 3..=LARGEST_ORDER as usize {
        found.push(found[j - 2] + exact((j - 2) as f64 * 0.5).ln());
    }
    found
}

/// The orders, and the theorem's sum over all steps of a plan.
fn curve(plan: &[Event]) -> Result<(Orders, impl Fn(f64) -> f64), PrivacyError> {
    check_one_relation(plan)?;
    let mut total = vec![Interval::exact(0.0); LARGEST_ORDER as usize - 1];
    for event in plan {
        let steps = Interval::exact(event.steps().get() as f64);
        for (sum, step) in total.iter_mut().zip(SampledShuffle::of(event)?.curve()) {
            *sum = *sum + Interval::exact(step) * steps;
        }
    }
    listed((2..=LARGEST_ORDER).zip(total).map(|(order, sum)| (order as f64, sum.hi)).collect())
}

impl Accountant for Girgis2021 {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: NAME,
            method: "Girgis et al. 2021 as printed, for shuffles of sampled users",
            use_for: "to compare with Figure 3 of Koskela et al. 2023, far above pld",
            published_only: true,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let (orders, curve) = curve(plan)?;
        answered(NAME, orders.epsilon(&curve, Conversion::Canonne2020, positive_delta(NAME, delta)?))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let (orders, curve) = curve(plan)?;
        answered(NAME, orders.delta(&curve, Conversion::Canonne2020, epsilon))
    }

    fn two_sided(&self, _: &[Event]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Sampling, Steps, Unit};

    /// 1,000 of 100,000 users, ε₀ = 3, δ = 1e-5, by a double-precision program of the formula above (log-gamma of SciPy 1.17).
    #[test]
    fn the_bound_is_that_of_another_program() {
        let sampling = Sampling::without_replacement(1000, 100_000).unwrap();
        let mechanism =
            Mechanism::ShuffleClones { users: Steps::new(1000).unwrap(), local_epsilon: Epsilon::new(3.0).unwrap() };
        for (steps, expected) in REFERENCE {
            let steps = Steps::new(steps).unwrap();
            let event = Event::new(mechanism.clone(), Adjacency::Substitute, Unit::Example, sampling, steps).unwrap();
            let found = Girgis2021.epsilon(&[event], Delta::new(1e-5).unwrap()).unwrap().upper;
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
    }

    /// Steps and ε.
    const REFERENCE: [(u64, f64); 3] =
        [(10, 0.7307678940458819), (1000, 4.28734409730367), (10_000, 11.878782815964431)];
}
