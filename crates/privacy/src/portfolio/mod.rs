//! Lifetime budgets: what all runs at one site cost together, for one neighbouring relation and one unit.
//!
//! A portfolio holds five filters, its members, each with a share of the cap's δ. A run is admitted if some member still has
//! room for its whole plan beside everything that was charged and everything that other open runs may still charge. Everything
//! that ever leaves the site is then (ε, δ)-private (`docs/maths/filters.md`, Lemma 1).
//!
//! Members, shares and Rényi orders follow from the cap alone, so that no released number has chosen them. Costs are only
//! added up in here: an event of another relation or unit is converted by a theorem or refused, and an account cannot be
//! compared with the limits of another cap.

mod member;
mod pair;

#[cfg(test)]
mod tests;

pub use member::FilterMember;
pub use pair::PromisePair;

use crate::{Delta, Epsilon, Event, Filter, Grant, PrivacyError, Steps};
use member::{Member, MemberCost};
use serde::{Deserialize, Serialize};

/// How many members a portfolio has.
const MEMBERS: usize = 5;

/// A cap on everything that ever leaves a site, with the filters that hold it.
///
/// # Examples
///
/// ```
/// use privacy::{
///     Adjacency, Delta, Epsilon, Event, Filter, Grant, LifetimeCap, NoiseMultiplier, Portfolio, PromisePair, RunUse, Steps, Unit,
/// };
///
/// let pair = PromisePair { adjacency: Adjacency::Substitute, unit: Unit::Example };
/// let portfolio = Portfolio::new(LifetimeCap { epsilon: Epsilon::new(3.0)?, delta: Delta::new(1e-4)?, pair });
///
/// // Ten runs, each (1, 1e-5)-private by itself, count as much less than ε = 10.
/// let event = Event::gaussian(NoiseMultiplier::new(37.31)?, Adjacency::Substitute, Steps::new(100)?);
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-5)?);
/// let grant = Grant::Limited { epsilon, delta, filter: Filter::Plan(vec![event]) };
/// let mut account = portfolio.account();
/// for _ in 0..10 {
///     account = account.with(&RunUse::open(pair, &grant))?;
/// }
/// let counts = account.counts_as().expect("no run is without a limit");
/// assert!(3.2 < counts.epsilon && counts.epsilon < 3.3);
/// assert!(account.fitting().is_none(), "the cap is 3");
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Portfolio {
    cap: LifetimeCap,
    members: [Member; MEMBERS],
}

/// What a site promises for everything that ever leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LifetimeCap {
    /// ε of all runs together.
    pub epsilon: Epsilon,
    /// δ of all runs together.
    pub delta: Delta,
    /// For which neighbours.
    pub pair: PromisePair,
}

/// What one run uses of a site's lifetime budget.
///
/// An open run counts with everything that its grant allows. A closed one counts with what it charged: what was not charged was
/// never released. Members that see a run only through its certified (ε, δ) count the whole of it as soon as anything was
/// charged, because when a run stops may depend on its answers, and the ε of its prefix is then no promise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunUse<'a> {
    pair: PromisePair,
    grant: &'a Grant,
    charged: Option<&'a [Event]>,
}

impl<'a> RunUse<'a> {
    /// A run that may still charge whatever its grant allows.
    pub fn open(pair: PromisePair, grant: &'a Grant) -> Self {
        Self { pair, grant, charged: None }
    }

    /// A run that will never charge again, with its charges, burnt ones included.
    pub fn closed(pair: PromisePair, grant: &'a Grant, charged: &'a [Event]) -> Self {
        Self { pair, grant, charged: Some(charged) }
    }
}

/// What a member's sum means at its share of the cap's δ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberGauge {
    /// Whose sum it is.
    pub member: FilterMember,
    /// The smallest cap on ε that the sum would fit, rounded up. It is a gauge: what is promised is the cap.
    pub epsilon: f64,
}

/// The sums of a portfolio's members over some runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PortfolioAccount {
    portfolio: Portfolio,
    sums: [MemberCost; MEMBERS],
    known: Vec<KnownCost>,
}

/// The cost of one step of an event for each member; alike events are costed once.
#[derive(Debug, Clone, PartialEq)]
struct KnownCost {
    event: Event,
    steps: [f64; MEMBERS],
}

impl Portfolio {
    /// The portfolio of a cap.
    pub fn new(cap: LifetimeCap) -> Self {
        Self { cap, members: Member::all(cap.epsilon, cap.delta) }
    }

    /// What it holds.
    pub fn cap(&self) -> LifetimeCap {
        self.cap
    }

    /// An account without a run.
    pub fn account(&self) -> PortfolioAccount {
        PortfolioAccount { portfolio: *self, sums: [MemberCost::ZERO; MEMBERS], known: Vec::new() }
    }
}

impl PortfolioAccount {
    /// This and one run more.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::NoTheorem`] if the run's promise is for another relation or unit, and no theorem converts it;
    /// [`PrivacyError::MixedRelations`] if an event is not of the run's own pair.
    pub fn with(mut self, run: &RunUse<'_>) -> Result<Self, PrivacyError> {
        let costs = self.costs(run)?;
        for (sum, cost) in self.sums.iter_mut().zip(costs) {
            *sum = sum.plus(cost);
        }
        Ok(self)
    }

    /// The portfolio whose sums these are.
    pub fn portfolio(&self) -> &Portfolio {
        &self.portfolio
    }

    /// The first member within its limit; none if no member is.
    pub fn fitting(&self) -> Option<FilterMember> {
        let mut members = self.portfolio.members.iter().zip(&self.sums);
        members.find(|(member, sum)| sum.is_within(member.limit)).map(|(member, _)| member.name)
    }

    /// What every member's sum counts as, at the cap's δ; infinite where a member does not cover a run.
    pub fn gauges(&self) -> Vec<MemberGauge> {
        let members = self.portfolio.members.iter().zip(&self.sums);
        members.map(|(member, sum)| MemberGauge { member: member.name, epsilon: member.epsilon_of(*sum) }).collect()
    }

    /// The smallest of the gauges; none if all are infinite.
    pub fn counts_as(&self) -> Option<MemberGauge> {
        let gauges = self.gauges().into_iter().filter(|gauge| gauge.epsilon.is_finite());
        gauges.reduce(|best, next| if next.epsilon < best.epsilon { next } else { best })
    }

    /// How many more runs like this fit one after the other, if nothing else comes.
    ///
    /// # Errors
    ///
    /// As [`PortfolioAccount::with`].
    pub fn room(&self, run: &RunUse<'_>) -> Result<u64, PrivacyError> {
        let costs = self.clone().costs(run)?;
        let room = |((member, sum), cost): ((&Member, &MemberCost), MemberCost)| member.room(*sum, cost);
        Ok(self.portfolio.members.iter().zip(&self.sums).zip(costs).map(room).max().unwrap_or(0))
    }

    /// What a run costs each member.
    ///
    /// For each member the grant alone decides whether a run is counted event by event or as a whole: event by event where
    /// that is finite for the plan. So reservation and charges are counted alike, and closing a run never costs more.
    fn costs(&mut self, run: &RunUse<'_>) -> Result<[MemberCost; MEMBERS], PrivacyError> {
        if run.charged.is_some_and(<[Event]>::is_empty) {
            return Ok([MemberCost::ZERO; MEMBERS]);
        }
        let to = self.portfolio.cap.pair;
        let Grant::Limited { epsilon, delta, filter } = run.grant else { return Ok([MemberCost::INFINITE; MEMBERS]) };
        let (epsilon, delta) = run.pair.convert_whole(to, *epsilon, *delta)?;
        let charged = run.charged.map(|events| self.by_event(run.pair, events)).transpose()?;
        let planned = match filter {
            Filter::Plan(plan) => self.by_event(run.pair, plan)?,
            _ if run.pair.is_same_cost(to) => self.portfolio.members.map(|member| member.measure.of_limit(run.grant)),
            _ => [f64::INFINITY; MEMBERS],
        };
        let mut costs = [MemberCost::INFINITE; MEMBERS];
        for (place, (cost, member)) in costs.iter_mut().zip(&self.portfolio.members).enumerate() {
            let planned = planned.get(place).copied().unwrap_or(f64::INFINITY);
            let charged = charged.and_then(|charged| charged.get(place).copied());
            *cost = match planned.is_finite() {
                // A ledger keeps charges within its plan, so that both are bounds.
                true => MemberCost::loss(charged.map_or(planned, |charged| charged.min(planned))),
                false => MemberCost { loss: member.measure.of_whole(epsilon, to)?, failure: delta.get() },
            };
        }
        Ok(costs)
    }

    /// Σ over events of what each costs the members, rounded up; infinite where one is not covered.
    fn by_event(&mut self, pair: PromisePair, events: &[Event]) -> Result<[f64; MEMBERS], PrivacyError> {
        let mut sums = [0.0; MEMBERS];
        for event in Event::merged(events)? {
            let one = self.of_step(pair, &event.repeated(Steps::ONE))?;
            for (sum, one) in sums.iter_mut().zip(one) {
                *sum = crate::budget::add_cost(*sum, one, event.steps().get());
            }
        }
        Ok(sums)
    }

    /// One step of an event, for each member.
    fn of_step(&mut self, pair: PromisePair, event: &Event) -> Result<[f64; MEMBERS], PrivacyError> {
        let found = PromisePair::of(event);
        if found != pair {
            return Err(PrivacyError::MixedRelations { first: pair.to_string(), second: found.to_string() });
        }
        if let Some(known) = self.known.iter().find(|known| known.event == *event) {
            return Ok(known.steps);
        }
        let mut steps = [f64::INFINITY; MEMBERS];
        if let Some(converted) = pair.convert(self.portfolio.cap.pair, event)? {
            for (step, member) in steps.iter_mut().zip(&self.portfolio.members) {
                *step = member.measure.of_step(&converted)?;
            }
        }
        self.known.push(KnownCost { event: event.clone(), steps });
        Ok(steps)
    }
}
