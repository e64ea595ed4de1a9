//! The members of a portfolio: what each adds up, its share of δ, and its limit.
//!
//! Shares of δ add up to one. Each is a power of two, so that δ is divided exactly.

use super::PromisePair;
use crate::accounting::composition::pure_epsilon;
use crate::accounting::rdp::{Conversion, Orders, renyi_divergence};
use crate::accounting::{Interval, add_up, gdp};
use crate::budget::{MOST_STEPS, how_many_fit, limit, renyi_limit};
use crate::{Delta, Epsilon, Event, Filter, Grant, Mechanism, Order, PrivacyError, Sampling, Steps};
use std::fmt;

/// A filter of a portfolio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterMember {
    /// μ² of Gaussian differential privacy: unsampled Gaussian noise and mechanisms with a pure ε.
    Gdp,
    /// Rényi divergence of the cap's order.
    Renyi,
    /// Rényi divergence of twice that order.
    RenyiDouble,
    /// Rényi divergence of four times that order.
    RenyiQuadruple,
    /// ε and δ of whole runs, added up.
    AddedUp,
}

impl fmt::Display for FilterMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gdp => "gdp",
            Self::Renyi => "renyi",
            Self::RenyiDouble => "renyi, twice the order",
            Self::RenyiQuadruple => "renyi, four times the order",
            Self::AddedUp => "added up",
        })
    }
}

/// What a member adds up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Measure {
    /// μ²: a filter for adaptive events (Smith, Thakurta 2022, arXiv:2210.17520).
    MuSquared,
    /// D_α at one fixed α (Feldman, Zrnic 2021).
    Divergence(Order),
    /// ε and δ of whole runs (Rogers, Roth, Ullman, Vadhan 2016).
    Whole,
}

/// What was added up, or may be at most: a loss in the member's measure, and the probability of what the measure leaves out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MemberCost {
    pub(super) loss: f64,
    pub(super) failure: f64,
}

impl MemberCost {
    pub(super) const ZERO: Self = Self { loss: 0.0, failure: 0.0 };
    pub(super) const INFINITE: Self = Self { loss: f64::INFINITY, failure: 0.0 };

    pub(super) fn loss(loss: f64) -> Self {
        Self { loss, failure: 0.0 }
    }

    /// Both sums, rounded up.
    pub(super) fn plus(self, other: Self) -> Self {
        Self { loss: add_up(self.loss, other.loss), failure: add_up(self.failure, other.failure) }
    }

    /// Written so that a cost that is not a number is over every limit.
    pub(super) fn is_within(self, limit: Self) -> bool {
        self.loss <= limit.loss && self.failure <= limit.failure
    }
}

/// One filter, with its limit under a cap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Member {
    pub(super) name: FilterMember,
    pub(super) measure: Measure,
    /// δ at which the loss is converted; 0 where losses are ε already.
    converted: f64,
    pub(super) limit: MemberCost,
}

impl Member {
    /// The five members under a cap. Order: the tightest for plain Gaussian noise first.
    ///
    /// | member | share of δ | of which for runs that are known by (ε, δ) only |
    /// |---|---|---|
    /// | μ² | 1/2 | none |
    /// | D_α | 1/8 | none |
    /// | D_2α | 1/16 | half |
    /// | D_4α | 1/16 | half |
    /// | ε and δ added up | 1/4 | all |
    pub(super) fn all(epsilon: Epsilon, delta: Delta) -> [Self; super::MEMBERS] {
        use FilterMember::*;
        let of = |share: f64| delta.get() * share;
        let order = first_order(epsilon, of(0.125));
        let renyi = |name, times, converted, failure| {
            let order = times_order(order, times);
            let loss = order.map_or(0.0, |order| most_loss(&Filter::Renyi { order }, epsilon, converted));
            let measure = order.map_or(Measure::Whole, Measure::Divergence);
            Self { name, measure, converted, limit: MemberCost { loss, failure } }
        };
        [
            Self {
                name: Gdp,
                measure: Measure::MuSquared,
                converted: of(0.5),
                limit: MemberCost::loss(most_loss(&Filter::Gdp, epsilon, of(0.5))),
            },
            renyi(Renyi, 1, of(0.125), 0.0),
            renyi(RenyiDouble, 2, of(0.031_25), of(0.031_25)),
            renyi(RenyiQuadruple, 4, of(0.031_25), of(0.031_25)),
            Self {
                name: AddedUp,
                measure: Measure::Whole,
                converted: 0.0,
                limit: MemberCost { loss: epsilon.get(), failure: of(0.25) },
            },
        ]
    }

    /// How often a cost can be added one by one. From a thousand on the sums are taken as products, rounded up more.
    pub(super) fn room(&self, mut sum: MemberCost, cost: MemberCost) -> u64 {
        const SINGLY: u64 = 1000;
        if !sum.is_within(self.limit) {
            return 0;
        }
        for room in 0..SINGLY {
            let next = sum.plus(cost);
            if !next.is_within(self.limit) {
                return room;
            }
            sum = next;
        }
        let fit = |sum, cost, limit| if cost == 0.0 { MOST_STEPS } else { how_many_fit(sum, cost, limit) };
        let of_loss = fit(sum.loss, cost.loss, self.limit.loss);
        SINGLY.saturating_add(of_loss.min(fit(sum.failure, cost.failure, self.limit.failure))).min(MOST_STEPS)
    }

    /// The smallest ε of a cap with this δ under which the sum would be within the limit, rounded up.
    pub(super) fn epsilon_of(&self, sum: MemberCost) -> f64 {
        if !sum.loss.is_finite() || sum.failure > self.limit.failure {
            return f64::INFINITY;
        }
        let delta = Delta::new(self.converted).ok().filter(|delta| delta.get() > 0.0);
        match (self.measure, delta) {
            _ if sum.loss == 0.0 => 0.0,
            (Measure::Whole, _) => sum.loss,
            (Measure::MuSquared, Some(delta)) => {
                gdp::gaussian_epsilon(Interval::exact(sum.loss), delta.get()).map_or(f64::INFINITY, |e| e.upper)
            }
            (Measure::Divergence(order), Some(delta)) => {
                let curve = |_| (Interval::exact(order.get() - 1.0) * Interval::exact(sum.loss)).hi;
                Orders::Listed(vec![order]).epsilon(&curve, Conversion::Canonne2020, delta)
            }
            (_, None) => f64::INFINITY,
        }
    }
}

impl Measure {
    /// One step of an event, from above; infinite where the measure does not cover it.
    ///
    /// An event that the measure covers only by its pure ε, such as sampled Laplace noise, costs what any mechanism of that ε does.
    pub(super) fn of_step(self, event: &Event) -> Result<f64, PrivacyError> {
        let found = match self {
            Self::MuSquared => gdp::mu_squared(std::slice::from_ref(event)),
            Self::Divergence(order) => renyi_divergence(event, order),
            Self::Whole => return Ok(f64::INFINITY),
        };
        match found {
            Err(PrivacyError::Unsupported { .. } | PrivacyError::Uncertified { .. }) => match pure_epsilon(event)? {
                Some(pure) if !matches!(event.mechanism(), Mechanism::Approximate { .. }) => {
                    self.of_whole(Epsilon::new(pure)?, PromisePair::of(event))
                }
                _ => Ok(f64::INFINITY),
            },
            found => found,
        }
    }

    /// A run of which (ε, δ) is all that is known, from above, but for its δ.
    ///
    /// It is post-processing of a pair that with probability δ tells everything and is else randomised response of ε
    /// (Kairouz, Oh, Viswanath 2015, Theorem 2; Lyu 2022 for interactive runs).
    pub(super) fn of_whole(self, epsilon: Epsilon, pair: PromisePair) -> Result<f64, PrivacyError> {
        if self == Self::Whole {
            return Ok(epsilon.get());
        }
        let pure = Mechanism::Approximate { epsilon, delta: Delta::new(0.0)? };
        self.of_step(&Event::new(pure, pair.adjacency, pair.unit, Sampling::None, Steps::ONE)?)
    }

    /// Everything that a grant with an adaptive filter allows, from above; infinite where its filter says nothing of this measure.
    ///
    /// D_α ≤ ρα under ρ-zCDP; D_α ≤ αμ²/2 under μ-GDP, whose pair is the Gaussian one; D_α grows with α (van Erven, Harremoës
    /// 2014, Theorem 3).
    pub(super) fn of_limit(self, grant: &Grant) -> f64 {
        let Grant::Limited { epsilon, delta, filter } = grant else { return f64::INFINITY };
        let Ok(most) = limit(filter, *epsilon, *delta) else { return f64::INFINITY };
        let times = |a: f64, b: f64| (Interval::exact(a) * Interval::exact(b)).hi;
        match (self, filter) {
            (Self::MuSquared, Filter::Gdp) => most,
            (Self::Divergence(order), Filter::Gdp) => times(order.get(), times(0.5, most)),
            (Self::Divergence(order), Filter::Zcdp) => times(order.get(), most),
            (Self::Divergence(order), Filter::Renyi { order: filtered }) if order <= *filtered => most,
            _ => f64::INFINITY,
        }
    }
}

/// The most loss that keeps (ε, δ), rounded down; 0 where no loss does.
fn most_loss(filter: &Filter, epsilon: Epsilon, delta: f64) -> f64 {
    let delta = Delta::new(delta).ok().filter(|delta| delta.get() > 0.0);
    delta.and_then(|delta| limit(filter, epsilon, delta).ok()).unwrap_or(0.0)
}

/// Highest order of the first Rényi member. Beyond it the search ends: such caps have hardly any ε.
const HIGHEST_ORDER: u64 = 1 << 20;

/// α*: the real order at which a Rényi filter of (ε, δ) allows most of a divergence that is proportional to the order, rounded
/// up to an integer from two on. Skellam noise, batches of fixed size and Barker tests have their bounds at integers.
///
/// Any order would be sound, because it follows from the cap alone.
fn first_order(epsilon: Epsilon, delta: f64) -> Option<u64> {
    let delta = Delta::new(delta).ok().filter(|delta| delta.get() > 0.0)?;
    let allowed = |order: f64| Order::new(order).map_or(f64::NEG_INFINITY, |o| renyi_limit(o, epsilon, delta) / order);
    let is_past_the_best = |order: u64| allowed(order as f64) <= allowed(order as f64 - 0.001);
    let mut high = 2;
    while !is_past_the_best(high) {
        high *= 2;
        if high >= HIGHEST_ORDER {
            return Some(HIGHEST_ORDER);
        }
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_past_the_best(middle) { high = middle } else { low = middle }
    }
    Some(high.max(2))
}

/// A multiple of the first order.
fn times_order(order: Option<u64>, times: u64) -> Option<Order> {
    Order::new((order? * times) as f64).ok()
}
