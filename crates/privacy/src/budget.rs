//! Grants and the filters that hold them: a charge is refused before it would exceed what was granted.
//!
//! A ledger asks this module before each charge. There are two kinds of answer. A fixed plan is certified as a whole when
//! the ledger is opened, by the loss distribution, and is then only walked through: stopping early is free, deviating is
//! refused. An adaptive filter adds up one number (Rényi divergence of one order, ρ or μ²) and stops before it would
//! exceed what (ε, δ) allow. Sums are rounded up, limits are rounded down.
//!
//! Composition of adaptively chosen events needs such a filter: to choose between two plans that each cost (ε, δ) can cost
//! more than either (`docs/maths/filters.md`).

use crate::accounting::{Interval, check_one_relation, gdp, pld::Pld, rdp, zcdp};
use crate::{Accountant, Delta, Epsilon, Event, Mechanism, Order, PrivacyError, Rho, Steps};
use serde::{Deserialize, Serialize};

/// How charges are added up.
///
/// A certified loss distribution holds for a sequence of events that is fixed before the first release. Where an
/// event may depend on earlier releases, only measures with a proved filter add up: Rényi divergence of one fixed
/// order (Feldman and Zrnic 2021), zero-concentrated DP (the same at every order), Gaussian DP (Smith
/// and Thakurta 2022). See `docs/maths/filters.md`.
///
/// # Examples
///
/// ```
/// use privacy::{Adjacency, Delta, Epsilon, Event, Filter, Grant, Ledger, MemoryJournal, NoiseMultiplier, Steps};
///
/// // With an adaptive filter, the next event may depend on what was released before.
/// let grant = Grant::Limited { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-6)?, filter: Filter::Zcdp };
/// let mut journal = MemoryJournal::default();
/// let mut ledger = Ledger::open(grant, &mut journal)?;
/// let event = Event::gaussian(NoiseMultiplier::new(40.0)?, Adjacency::Substitute, Steps::ONE);
/// let before = ledger.fits(&event)?;
/// ledger.charge(&event, &mut journal)?;
/// assert_eq!(ledger.fits(&event)?, before - 1);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// These events in this order, costed as a whole by the certified accountant. Stopping early is free.
    Plan(Vec<Event>),
    /// Any events, by Rényi divergence of this order.
    Renyi {
        /// α, fixed when the ledger is opened.
        order: Order,
    },
    /// Any events with a zCDP cost.
    Zcdp,
    /// Any events with a Gaussian-DP cost.
    Gdp,
}

/// What a site allows itself to spend.
///
/// # Examples
///
/// ```
/// use privacy::{Delta, Epsilon, Filter, Grant, Ledger, MemoryJournal};
///
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let grant = Grant::Limited { epsilon, delta, filter: Filter::Gdp };
/// let ledger = Ledger::open(grant, &mut MemoryJournal::default())?;
/// assert!(ledger.events().is_empty());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    /// At most (ε, δ).
    Limited {
        /// ε that all charges together may cost at most.
        epsilon: Epsilon,
        /// δ at which ε is promised.
        delta: Delta,
        /// How charges add up, which also says whether events may be chosen on the way.
        filter: Filter,
    },
    /// No promise at all, chosen by name: for baselines without privacy.
    Unlimited,
}

/// A grant and what was spent of it.
#[derive(Debug)]
pub(crate) struct GrantSpending {
    grant: Grant,
    meter: Meter,
    events: Vec<Event>,
}

/// Where the filter stands.
#[derive(Debug, Clone, Copy)]
enum Meter {
    /// Entry of the plan that is next, and how many of its steps were used.
    Plan {
        entry: usize,
        used: u64,
    },
    /// Sum of costs, and its limit, in the filter's own measure.
    Sum {
        spent: f64,
        limit: f64,
    },
    Unlimited,
}

/// A charge that fits; spending it is a separate step.
#[must_use]
pub(crate) struct ApprovedCharge<'a> {
    spending: &'a mut GrantSpending,
    event: Event,
    after: Meter,
}

impl ApprovedCharge<'_> {
    /// Counts the charge as spent. It was checked against the grant before.
    pub(crate) fn spend(self) {
        self.spending.meter = self.after;
        self.spending.events.push(self.event);
    }
}

impl GrantSpending {
    /// Checks that the grant leaves room for its plan, or computes the limit in the measure of its filter.
    pub(crate) fn new(grant: Grant) -> Result<Self, PrivacyError> {
        let meter = match &grant {
            Grant::Unlimited => Meter::Unlimited,
            Grant::Limited { epsilon, delta, filter: Filter::Plan(plan) } => {
                plan_fits(plan, *epsilon, *delta)?;
                Meter::Plan { entry: 0, used: 0 }
            }
            Grant::Limited { epsilon, delta, filter } => {
                Meter::Sum { spent: 0.0, limit: limit(filter, *epsilon, *delta)? }
            }
        };
        Ok(Self { grant, meter, events: Vec::new() })
    }

    /// A grant whose plan is certified to be within it.
    pub(crate) fn of_certified(grant: Grant) -> Self {
        Self { grant, meter: Meter::Plan { entry: 0, used: 0 }, events: Vec::new() }
    }

    /// The same grant with nothing spent of it.
    pub(crate) fn unspent(&self) -> Self {
        let meter = match self.meter {
            Meter::Plan { .. } => Meter::Plan { entry: 0, used: 0 },
            Meter::Sum { limit, .. } => Meter::Sum { spent: 0.0, limit },
            Meter::Unlimited => Meter::Unlimited,
        };
        Self { grant: self.grant.clone(), meter, events: Vec::new() }
    }

    /// Checks a charge against the grant.
    pub(crate) fn check(&mut self, event: &Event) -> Result<ApprovedCharge<'_>, PrivacyError> {
        let after = match (&self.grant, self.meter) {
            (Grant::Limited { filter: Filter::Plan(plan), .. }, Meter::Plan { entry, used }) => {
                next_of_plan(plan, entry, used, event)?
            }
            (Grant::Limited { filter, epsilon, delta }, Meter::Sum { spent, limit }) => {
                if let Some(first) = self.events.first() {
                    check_one_relation(&[first.clone(), event.clone()])?;
                }
                let one = cost_of_one(filter, event)?;
                let after = add_cost(spent, one, event.steps().get());
                // Written so that a cost that is not a number is refused.
                if after <= limit {
                    Meter::Sum { spent: after, limit }
                } else {
                    return Err(PrivacyError::Budget {
                        event: event.to_string(),
                        cost: format!("{} = {after:.6}", symbol(filter)),
                        granted: format!("{} = {limit:.6} (ε = {epsilon} at δ = {delta})", symbol(filter)),
                        fits: how_many_fit(spent, one, limit),
                    });
                }
            }
            (Grant::Unlimited, Meter::Unlimited) => Meter::Unlimited,
            // Meters are made from their grants: were one of another kind, nothing would be known of what is left.
            (grant, _) => {
                return Err(PrivacyError::Budget {
                    event: event.to_string(),
                    cost: "unknown, because the grant is metered in another measure".into(),
                    granted: words_of(grant),
                    fits: 0,
                });
            }
        };
        Ok(ApprovedCharge { spending: self, event: event.clone(), after })
    }

    /// How many more steps of this event fit.
    pub(crate) fn fits(&self, event: &Event) -> Result<u64, PrivacyError> {
        Ok(match (&self.grant, self.meter) {
            (Grant::Limited { filter: Filter::Plan(plan), .. }, Meter::Plan { entry, used }) => plan
                .get(entry)
                .filter(|next| next.repeated(Steps::ONE) == event.repeated(Steps::ONE))
                .map_or(0, |next| next.steps().get() - used),
            (Grant::Limited { filter, .. }, Meter::Sum { spent, limit }) => {
                how_many_fit(spent, cost_of_one(filter, event)?, limit)
            }
            (Grant::Unlimited, Meter::Unlimited) => u64::MAX,
            _ => 0,
        })
    }

    /// Events that were spent, in order.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The grant as it was given.
    pub(crate) fn grant(&self) -> &Grant {
        &self.grant
    }
}

/// What a grant allows, for messages.
fn words_of(grant: &Grant) -> String {
    match grant {
        Grant::Limited { epsilon, delta, .. } => format!("ε = {epsilon} at δ = {delta}"),
        Grant::Unlimited => "no limit".into(),
    }
}

/// Certifies that a whole plan costs at most (ε, δ).
fn plan_fits(plan: &[Event], epsilon: Epsilon, delta: Delta) -> Result<(), PrivacyError> {
    let cost = Pld.epsilon(plan, delta)?.upper;
    if cost <= epsilon.get() {
        return Ok(());
    }
    let total = plan.iter().fold(0_u64, |sum, event| sum.saturating_add(event.steps().get()));
    let fits = largest(total, |steps| Ok(Pld.epsilon(&prefix(plan, steps)?, delta)?.upper <= epsilon.get()))?;
    Err(PrivacyError::Budget {
        event: "the plan".into(),
        cost: format!("ε = {cost:.6}"),
        granted: format!("ε = {epsilon} at δ = {delta}"),
        fits,
    })
}

/// The largest number under `total` for which the test, true at 0 and monotone, is true.
fn largest(total: u64, test: impl Fn(u64) -> Result<bool, PrivacyError>) -> Result<u64, PrivacyError> {
    let (mut good, mut bad) = (0, total);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if test(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

/// The first `steps` steps of a plan.
fn prefix(plan: &[Event], mut steps: u64) -> Result<Vec<Event>, PrivacyError> {
    let mut events = Vec::new();
    for event in plan {
        let taken = steps.min(event.steps().get());
        if taken > 0 {
            events.push(event.repeated(Steps::new(taken)?));
        }
        steps -= taken;
    }
    Ok(events)
}

/// Moves on in a plan. An entry of many steps may be charged in pieces.
fn next_of_plan(plan: &[Event], entry: usize, used: u64, event: &Event) -> Result<Meter, PrivacyError> {
    let Some(next) = plan.get(entry) else {
        return Err(PrivacyError::OffPlan {
            event: event.to_string(),
            expected: "nothing, because the plan is complete".into(),
        });
    };
    let left = next.steps().get() - used;
    if next.repeated(Steps::ONE) != event.repeated(Steps::ONE) || event.steps().get() > left {
        return Err(PrivacyError::OffPlan {
            event: event.to_string(),
            expected: next.repeated(Steps::new(left)?).to_string(),
        });
    }
    let used = used + event.steps().get();
    Ok(if used == next.steps().get() { Meter::Plan { entry: entry + 1, used: 0 } } else { Meter::Plan { entry, used } })
}

/// An upper bound on the cost of one step in the filter's measure.
fn cost_of_one(filter: &Filter, event: &Event) -> Result<f64, PrivacyError> {
    if *event.mechanism() == Mechanism::Open {
        return Err(PrivacyError::WrongGate {
            what: "an answer without noise",
            gate: "limited",
            hint: "for a non-private baseline, open the ledger with an unlimited grant",
        });
    }
    match filter {
        Filter::Renyi { order } => rdp::renyi_divergence(event, *order),
        Filter::Zcdp => Ok(zcdp::rho(&[event.repeated(Steps::ONE)])?.get()),
        Filter::Gdp | Filter::Plan(_) => gdp::mu_squared(&[event.repeated(Steps::ONE)]),
    }
}

/// The letter of what the filter adds up, for messages.
fn symbol(filter: &Filter) -> &'static str {
    match filter {
        Filter::Renyi { .. } => "Rényi divergence",
        Filter::Zcdp => "ρ",
        Filter::Gdp | Filter::Plan(_) => "μ²",
    }
}

/// Steps that one event can have at most.
pub(crate) const MOST_STEPS: u64 = 1_000_000_000_000;

/// spent + n·one, rounded up.
pub(crate) fn add_cost(spent: f64, one: f64, steps: u64) -> f64 {
    (spent + (one * steps as f64).next_up()).next_up()
}

/// The most steps n for which spent + n·one, rounded up, stays within the limit.
pub(crate) fn how_many_fit(spent: f64, one: f64, limit: f64) -> u64 {
    // The quotient is rounded, so that one step more may fit. A cost of almost nothing makes it larger than any integer.
    let (mut good, mut bad) = (0, ((limit - spent) / one).clamp(0.0, MOST_STEPS as f64) as u64 + 2);
    if bad > MOST_STEPS {
        bad = MOST_STEPS + 1;
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if add_cost(spent, one, middle) <= limit { good = middle } else { bad = middle }
    }
    good
}

/// The most that may be spent in the filter's measure so that (ε, δ) holds, rounded down.
pub(crate) fn limit(filter: &Filter, epsilon: Epsilon, delta: Delta) -> Result<f64, PrivacyError> {
    let too_small = || PrivacyError::Parameter {
        name: "grant",
        found: format!("ε = {epsilon} at δ = {delta}"),
        expected: "an ε and δ that leave room for a charge under this filter",
    };
    let limit = match filter {
        Filter::Renyi { order } => renyi_limit(*order, epsilon, delta),
        Filter::Zcdp => most(|rho| Ok(zcdp::epsilon_at(Rho::new(rho)?, delta)? <= epsilon.get()))?,
        Filter::Gdp | Filter::Plan(_) => {
            most(|square| Ok(gdp::gaussian_delta(Interval::exact(square), epsilon.get()).hi <= delta.get()))?
        }
    };
    if limit > 0.0 { Ok(limit) } else { Err(too_small()) }
}

/// ε − log((α−1)/α) + (log δ + log α)/(α−1): Canonne, Kamath, Steinke 2020, Proposition 12, solved for the divergence.
pub(crate) fn renyi_limit(order: Order, epsilon: Epsilon, delta: Delta) -> f64 {
    let (one, a) = (Interval::exact(1.0), Interval::exact(order.get()));
    let slack = (Interval::exact(delta.get()).ln() + a.ln()) / (a - one);
    (Interval::exact(epsilon.get()) - ((a - one) / a).ln() + slack).lo
}

/// The largest x in (0, 2^40) that passes a monotone test, to the last digits, on the passing side; 0 if none does.
fn most(test: impl Fn(f64) -> Result<bool, PrivacyError>) -> Result<f64, PrivacyError> {
    let (mut good, mut bad) = (0.0_f64, 1_099_511_627_776.0_f64);
    for _ in 0..200 {
        let middle = if good == 0.0 { bad / 16.0 } else { (good * bad).sqrt() };
        if middle < 1e-30 || middle <= good || middle >= bad {
            break;
        }
        if test(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_float::fixed;
    use crate::{Adjacency, NoiseMultiplier};

    fn gaussian(z: f64) -> Event {
        Event::gaussian(NoiseMultiplier::new(z).unwrap(), Adjacency::Substitute, Steps::ONE)
    }

    fn limited(filter: Filter) -> Grant {
        Grant::Limited { epsilon: Epsilon::new(1.0).unwrap(), delta: Delta::new(1e-6).unwrap(), filter }
    }

    /// Found by audit: the quotient of limit and cost was more than 64 bits hold, and its next even number overflowed.
    #[test]
    fn an_event_of_almost_no_cost_fits_as_often_as_any_event_may() {
        for filter in [Filter::Zcdp, Filter::Gdp, Filter::Renyi { order: Order::new(20.0).unwrap() }] {
            let mut spending = GrantSpending::new(limited(filter)).unwrap();
            assert_eq!(spending.fits(&gaussian(1e12)).unwrap(), MOST_STEPS);
            let most = Steps::new(MOST_STEPS).unwrap();
            assert!(spending.check(&gaussian(1e12).repeated(most)).is_ok());
        }
        assert_eq!(how_many_fit(0.0, 0.0, 1.0), MOST_STEPS);
        // What is said to fit does, and one more does not, also where quotients are rounded.
        for (spent, one, limit) in
            [(0.0, 0.1, 1.0), (0.7, 0.1, 1.0), (0.3, 1e-3, 0.3), (0.0, 2.0, 1.0), (0.0, 1.0 / 3.0, 1.0)]
        {
            let fits = how_many_fit(spent, one, limit);
            assert!(fits == 0 || add_cost(spent, one, fits) <= limit, "{spent} + {fits} times {one}");
            assert!(add_cost(spent, one, fits + 1) > limit, "{spent} + {fits} times {one}");
        }
    }

    /// The limit itself is certified to be within the grant, and what is a little over it is not.
    #[test]
    fn the_limits_of_other_filters_are_rounded_down_too() {
        for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-5), (3.0, 1e-6), (8.0, 1e-3)] {
            let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
            let within_mu = |square: f64| gdp::gaussian_delta(Interval::exact(square), epsilon.get()).hi <= delta.get();
            let within_rho = |rho: f64| zcdp::epsilon_at(Rho::new(rho).unwrap(), delta).unwrap() <= epsilon.get();
            let mu = limit(&Filter::Gdp, epsilon, delta).unwrap();
            let rho = limit(&Filter::Zcdp, epsilon, delta).unwrap();
            assert!(within_mu(mu) && !within_mu(mu * (1.0 + 1e-12)), "μ² {mu}");
            assert!(within_rho(rho) && !within_rho(rho * (1.0 + 1e-12)), "ρ {rho}");
        }
    }

    /// spent + n·one without rounding, which what is counted never stays under.
    #[test]
    fn costs_are_added_up_rounded_up() {
        let mut spent = 0.0;
        for k in 1..2000_u32 {
            let (one, steps) = (f64::from(k).sqrt() / 700.0, u64::from(k % 11) + 1);
            let counted = add_cost(spent, one, steps);
            let exact = fixed(spent) + fixed(one) * steps;
            assert!(fixed(counted) >= exact, "{spent} + {steps} times {one}");
            assert!(fixed(counted * (1.0 - 1e-15)) < exact, "{spent} + {steps} times {one} gives too much away");
            spent = counted;
        }
    }

    /// What is not known to fit is refused: a sum that is not a number, and a meter that is not the grant's.
    #[test]
    fn a_charge_that_cannot_be_compared_is_refused() {
        let broken = [
            (limited(Filter::Zcdp), Meter::Sum { spent: f64::NAN, limit: 1.0 }),
            (limited(Filter::Zcdp), Meter::Sum { spent: 0.0, limit: f64::NAN }),
            (limited(Filter::Zcdp), Meter::Unlimited),
            (limited(Filter::Zcdp), Meter::Plan { entry: 0, used: 0 }),
            (limited(Filter::Plan(vec![gaussian(9.0)])), Meter::Unlimited),
        ];
        for (grant, meter) in broken {
            let mut spending = GrantSpending { grant, meter, events: Vec::new() };
            assert!(matches!(spending.check(&gaussian(9.0)), Err(PrivacyError::Budget { .. })), "{meter:?}");
            assert_eq!(spending.fits(&gaussian(9.0)).unwrap(), 0, "{meter:?}");
        }
    }

    /// At α = 2 and δ = 2^−20 the limit is ε − 18 ln 2, which is known to a hundred bits.
    #[test]
    fn the_limit_of_a_renyi_filter_is_rounded_down() {
        // ⌊2^100 ln 2⌋.
        const LN_2: i128 = 0xb_1721_7f7d_1cf7_9abc_9e3b_3980;
        let (order, delta) = (Order::new(2.0).unwrap(), Delta::new(libm::scalbn(1.0, -20)).unwrap());
        for eighths in 120..400_u32 {
            let epsilon = f64::from(eighths) / 8.0;
            let limit = renyi_limit(order, Epsilon::new(epsilon).unwrap(), delta);
            // Both are exact: a limit over 1 has no bits below 2^−52.
            let fixed = |x: f64| (libm::scalbn(x, 60) as i128) << 40;
            let exact = fixed(epsilon) - 18 * (LN_2 + 1);
            assert!(fixed(limit) <= exact, "{epsilon}: {limit}");
            assert!(exact - fixed(limit) < fixed(1e-13), "{epsilon}: {limit} gives too much away");
        }
    }
}
