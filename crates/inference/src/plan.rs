//! What a method will cost each client, known before any row is read: the event of an update, its shape, how many fit.

mod chain;
mod client;
mod conjugate;
mod costs;
mod fitting;
mod lengths;
mod opening;
mod possible;
mod shares;

pub use client::ClientPlan;
pub use conjugate::statistics_rounds;
pub use costs::Costs;
pub(crate) use costs::Spent;
pub use lengths::seed_bytes;
pub use opening::PlannedStage;

use lengths::{Numbers, message_bytes, summed};
use opening::Opening;
use possible::{coherent, possible};

use crate::RunError;
use crate::settings::{
    Aggregator, Batching, Claim, Clip, DeltaRule, Method, Noise, Promise, Rounds, Schedule, Scheme, SecureNoise,
    SecureSum, Solver,
};
use privacy::accounting::moments::Moments;
use privacy::accounting::{Pld, calibrate};
use privacy::{
    Accountant, Cohort, Delta, Event, Grain, Grid, Mechanism, NoiseMultiplier, NormBound, PrivacyError, Sampling,
    SamplingRate, Shape, ShareNoise, Steps, Trust, Unit, sensitivity_factor,
};
use rayon::prelude::*;
use serde::Serialize;

/// A method, planned for clients of declared sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodPlan {
    /// One for each client, in order; empty for a method without privacy.
    pub clients: Vec<ClientPlan>,
    /// Rounds that are made at most.
    pub rounds: u64,
    /// Server-client exchanges, all clients together, at most.
    pub messages: u64,
    /// Bytes that one client sends in one message, at most: its numbers, and the seeds of a secure sum; no envelopes.
    pub bytes_per_message: u64,
}

/// Plans a method for clients with these declared numbers of rows and a model of `dimension` parameters.
///
/// Pure arithmetic on public constants. With a calibrated noise the multiplier is the least with which every client's
/// planned updates cost at most ε; with a given one the updates are as many as fit, and not more than are asked for.
/// Under an aggregator all clients share one event, sized for the smallest δ among them. Where the method needs record
/// ids, rows are taken to have them; a run looks whether they do.
pub fn plan(method: &Method, clients: &[u64], dimension: usize) -> Result<MethodPlan, RunError> {
    plan_with(&Costs::default(), method, clients, dimension)
}

/// The same, where some costs are known already; what is worked out is known from then on.
pub fn plan_with(costs: &Costs, method: &Method, clients: &[u64], dimension: usize) -> Result<MethodPlan, RunError> {
    coherent(method)?;
    chain::is_possible(method)?;
    chain::counts(method, clients)?;
    conjugate::is_possible(method)?;
    conjugate::is_readable(method, dimension)?;
    let planned = match &method.promise {
        None => Vec::new(),
        Some(promise) => {
            Costing::new(method, promise, clients, dimension + method.own_parameters())?.clients(costs, clients)?
        }
    };
    conjugate::sums_are_possible(method, &planned)?;
    let free = method.scheme == Scheme::Pvi && method.solver == Solver::Likelihood;
    let rounds = match (&method.promise, method.schedule) {
        _ if free => most_rounds(method),
        (Some(_), Schedule::Sequential | Schedule::Synchronous) => {
            planned.iter().map(ClientPlan::charges).max().unwrap_or(0)
        }
        _ => most_rounds(method),
    };
    let asked = most_rounds(method).saturating_mul(clients.len() as u64);
    let paid = planned.iter().fold(0_u64, |sum, client| sum.saturating_add(client.charges()));
    let messages = if method.promise.is_some() && !free { asked.min(paid) } else { asked };
    let bytes_per_message = message_bytes(method, clients, dimension);
    Ok(MethodPlan { clients: planned, rounds, messages, bytes_per_message })
}

/// Refuses a method that no clients and no data could carry out: what [`plan`] refuses before it counts.
pub fn check(method: &Method) -> Result<(), RunError> {
    coherent(method)?;
    chain::is_possible(method)?;
    conjugate::is_possible(method)?;
    match &method.promise {
        Some(promise) => possible(method, promise).and_then(|()| released(method).map(|_| ())),
        None => Ok(()),
    }
}

/// Rounds after which the schedule ends in any case.
pub(crate) fn most_rounds(method: &Method) -> u64 {
    match (method.scheme, method.rounds) {
        (Scheme::Committee(_), _) => 1,
        (Scheme::Chain(chain), _) => chain.rounds(),
        (_, Rounds::Count(rounds)) => rounds,
        (_, Rounds::UntilSpent { at_most }) => at_most,
    }
}

/// `updates` of these one after the other.
fn times(event: &Event, updates: u64) -> Result<Event, PrivacyError> {
    Ok(event.repeated(Steps::new(event.steps().get().saturating_mul(updates))?))
}

/// A plan with one more event at its end.
fn after(before: &[Event], last: Event) -> Vec<Event> {
    before.iter().cloned().chain([last]).collect()
}

/// Certified upper bound of ε of these events at δ; 0 of none.
pub fn certified(events: &[Event], delta: Delta) -> Result<f64, PrivacyError> {
    match events.first() {
        Some(first) => Ok(certifier(first).epsilon(events, delta)?.upper),
        None => Ok(0.0),
    }
}

/// Whose upper bound is certified for this event.
pub(crate) fn certifier(event: &Event) -> &'static dyn Accountant {
    match event.mechanism() {
        Mechanism::SkellamSum { .. } => shares::renyi(),
        _ => &Pld,
    }
}

/// Who says what an event costs.
pub(crate) fn claimant(claim: Claim, event: &Event) -> &'static dyn Accountant {
    match claim {
        Claim::Certified => certifier(event),
        Claim::Moments => &Moments,
    }
}

/// What all clients of a method have in common.
struct Costing<'a> {
    /// All that a client's plan follows from, with its own terms: the method, the number of clients, the parameters.
    constants: (&'a Method, usize, usize),
    promise: &'a Promise,
    batch: Batching,
    /// C of a sum.
    clip: Clip,
    /// What one clipped vector is computed from, and how many sums one update releases.
    grain: Grain,
    releases: Steps,
    trust: Trust,
    /// The cohort whose clients noise their shares, and the law of these.
    cohort: Option<(Cohort, ShareNoise)>,
    opening: Option<Opening>,
    alternates: bool,
    /// Whether noise makes up the spread of a batch (Barker's test).
    completed: bool,
    /// Most updates that a client is asked for, after the opening.
    asked: u64,
    numbers: Numbers,
}

/// What may differ from client to client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Terms {
    sampling: Sampling,
    bound: NormBound,
    delta: Delta,
    /// Length of a released sum.
    numbers: usize,
}

impl<'a> Costing<'a> {
    fn new(method: &'a Method, promise: &'a Promise, clients: &[u64], dimension: usize) -> Result<Self, RunError> {
        possible(method, promise)?;
        let (grain, releases) = released(method)?;
        let cohort = match promise.aggregator {
            Aggregator::SecureSum(SecureSum { noise: SecureNoise::Clients(share), colluders, dropouts, .. }) => {
                Some((Cohort::new(clients.len() as u64, colluders, dropouts)?, share))
            }
            Aggregator::SecureSum(SecureSum { colluders, dropouts, .. }) => {
                Cohort::new(clients.len() as u64, colluders, dropouts)?;
                None
            }
            Aggregator::None | Aggregator::Curator => None,
        };
        let trust = if promise.aggregator == Aggregator::None { Trust::Local } else { Trust::Aggregate };
        let numbers = summed(method, dimension);
        let opening = match numbers {
            Numbers::Fixed(numbers) => Opening::of(method, promise, dimension, numbers)?,
            Numbers::PerRow(_) => None,
        };
        let asked = asked(method, promise, clients.len() as u64)
            .saturating_sub(opening.map_or(0, |opening| opening.updates))
            .max(1);
        let (batch, clip) = (method.local.batch, clip(method, promise)?);
        let alternates = matches!(method.scheme, Scheme::Chain(chain) if chain.alternates());
        let completed = matches!(method.scheme, Scheme::Chain(chain) if chain.completes());
        if completed && clients.len() > 1 {
            return refuse(
                "no site knows the variance of all sites' batches: with several sites the test's noise is fixed",
            );
        }
        Ok(Self {
            constants: (method, clients.len(), dimension),
            promise,
            batch,
            clip,
            grain,
            releases,
            trust,
            cohort,
            opening,
            alternates,
            completed,
            asked,
            numbers,
        })
    }

    /// The plan of every client. Clients on equal terms are costed once, those on different terms in parallel.
    fn clients(&self, costs: &Costs, rows: &[u64]) -> Result<Vec<ClientPlan>, RunError> {
        let mut terms = rows.iter().map(|&n| self.terms(n)).collect::<Result<Vec<_>, _>>()?;
        if self.trust == Trust::Aggregate {
            share_terms(&mut terms)?;
        }
        let all = terms.par_iter().map(|terms| costs.plan(&(self.constants, terms), || self.client(terms)));
        // The first refusal in the order of the clients, whichever came first on the threads.
        let all: Vec<Result<ClientPlan, RunError>> = all.collect();
        let among = |n: u64| if self.promise.unit == Unit::Client { rows.len() as u64 } else { n };
        all.into_iter().zip(rows).map(|(plan, &n)| Ok(ClientPlan { among: among(n), ..plan? })).collect()
    }

    /// Sampling, bound and δ of a client with so many declared rows.
    fn terms(&self, rows: u64) -> Result<Terms, RunError> {
        let sampling = if self.grain == Grain::Example { sampling(self.batch, rows)? } else { Sampling::None };
        let bound = match self.clip {
            Clip::Fixed(bound) => bound,
            Clip::TimesRate(bound) => NormBound::new(bound.get() * sampling.rate())?,
        };
        let delta = match self.promise.delta {
            DeltaRule::Fixed(delta) => delta,
            DeltaRule::PowerOfTenBelowRows => power_of_ten_below(rows)?,
        };
        let numbers = match self.numbers {
            Numbers::Fixed(numbers) => numbers,
            Numbers::PerRow(numbers) => numbers.saturating_mul(usize::try_from(rows).unwrap_or(usize::MAX)),
        };
        Ok(Terms { sampling, bound, delta, numbers })
    }

    /// One update of so many releases with this noise, and the shape of its sums.
    fn update(&self, terms: &Terms, z: NoiseMultiplier, releases: Steps) -> Result<(Event, Shape), PrivacyError> {
        let (unit, adjacency) = (self.promise.unit, self.promise.adjacency);
        let factor = sensitivity_factor(self.grain, unit, adjacency, self.trust)?;
        let test = if self.completed { Some(chain::test(terms.sampling)?) } else { None };
        let deviation = match test {
            Some((_, deviation)) => deviation * terms.bound.get(),
            None => z.get() * factor as f64 * terms.bound.get(),
        };
        let shape = Shape::new(terms.numbers, terms.bound, self.grain, Grid::for_noise(terms.bound, deviation)?)?;
        let event = match &self.cohort {
            Some((cohort, share)) => cohort.event(*share, &shape, z, adjacency, unit, releases)?,
            None => {
                let gaussian = Mechanism::Gaussian { noise_multiplier: z };
                let mechanism = test.map_or(gaussian, |(mechanism, _)| mechanism);
                Event::new(mechanism, adjacency, unit, terms.sampling, releases)?
            }
        };
        Ok((event, shape))
    }

    /// The least multiplier with which a plan fits.
    ///
    /// A ledger that adds up charge by charge (Skellam shares, alternating kinds) rounds up each time: a billionth more noise
    /// covers that.
    fn calibrated(
        &self,
        plan_of: &dyn Fn(NoiseMultiplier) -> Result<Vec<Event>, PrivacyError>,
        delta: Delta,
    ) -> Result<NoiseMultiplier, PrivacyError> {
        let plan = plan_of(NoiseMultiplier::new(1.0)?)?;
        let Some(last) = plan.last() else { return NoiseMultiplier::new(1.0) };
        let z = calibrate::calibrate(self.claimant(last), plan_of, self.promise.epsilon, delta)?;
        let added_up = self.alternates || matches!(self.cohort, Some((_, ShareNoise::Skellam)));
        if added_up { NoiseMultiplier::new(z.get() * (1.0 + 1e-9)) } else { Ok(z) }
    }

    fn claimant(&self, event: &Event) -> &'static dyn Accountant {
        claimant(self.promise.accountant, event)
    }
}

/// What sums are clipped to: log-ratios, in units of a bound that follows from the noise, to 1.
fn clip(method: &Method, promise: &Promise) -> Result<Clip, PrivacyError> {
    match method.scheme {
        Scheme::Chain(chain) if chain.asks_ratios() => Ok(Clip::Fixed(NormBound::new(1.0)?)),
        _ => Ok(promise.clip),
    }
}

fn refuse<T>(what: &str) -> Result<T, RunError> {
    Err(RunError::Settings { what: what.to_owned() })
}

/// What a clipped vector is computed from, and how many sums one update releases.
///
/// DP optimisation releases each of its T steps; the others release one change; global VI one gradient a round.
fn released(method: &Method) -> Result<(Grain, Steps), RunError> {
    let part = |parts: u32| (Grain::Part { count: u64::from(parts) }, Steps::ONE);
    match (method.scheme, method.solver) {
        (_, Solver::Clear) => refuse("a method that solves in the clear keeps no promise: name another solver"),
        (
            Scheme::GlobalVi | Scheme::GlobalViAtClients | Scheme::NoiseAware(_) | Scheme::Chain(_),
            Solver::DpOptimisation,
        ) => Ok((Grain::Example, Steps::ONE)),
        (Scheme::NoiseAware(_), _) => refuse("noise-aware PVI clips each example's residual: it has no other solver"),
        (Scheme::Chain(_), _) => refuse("a chain has no solver of its own"),
        (Scheme::GlobalVi | Scheme::GlobalViAtClients, _) => {
            refuse("global VI clips each example's gradient: its private solver is DP optimisation")
        }
        (_, Solver::DpOptimisation | Solver::Hybrid(_)) => Ok((Grain::Example, Steps::new(method.local.steps)?)),
        (_, Solver::Analytic | Solver::Likelihood) => Ok((Grain::Example, Steps::ONE)),
        (_, Solver::Perturb) => Ok((Grain::Whole, Steps::ONE)),
        (_, Solver::Average { parts } | Solver::Virtual { parts }) => Ok(part(parts)),
    }
}

/// Most updates that one client is asked for.
///
/// A likelihood is released once. An asynchronous client may be drawn at every tick. With a calibrated noise it is planned for one update a round all
/// the same, and refuses what comes after.
fn asked(method: &Method, promise: &Promise, clients: u64) -> u64 {
    match (method.schedule, promise.noise) {
        _ if method.scheme == Scheme::Pvi && method.solver == Solver::Likelihood => 1,
        (Schedule::Asynchronous(_), Noise::Multiplier(_)) => most_rounds(method).saturating_mul(clients),
        _ => most_rounds(method),
    }
}

/// How a client of so many declared rows draws the rows of a step.
///
/// A batch of all rows, or more, is all rows.
pub fn sampling(batch: Batching, rows: u64) -> Result<Sampling, PrivacyError> {
    match batch {
        Batching::All => Ok(Sampling::None),
        Batching::Poisson(rate) => Ok(poisson(rate)),
        Batching::PoissonOf { fraction, at_least } => {
            // A product that is a whole number but for rounding is that number.
            let share = (fraction * rows as f64 - 1e-9).ceil().max(at_least as f64);
            Ok(poisson(SamplingRate::new((share / rows as f64).min(1.0))?))
        }
        Batching::WithoutReplacement(batch) if batch >= rows => Ok(Sampling::None),
        Batching::WithoutReplacement(batch) => Sampling::without_replacement(batch, rows),
    }
}

fn poisson(rate: SamplingRate) -> Sampling {
    if rate.get() == 1.0 { Sampling::None } else { Sampling::Poisson { rate } }
}

/// 10^⌊log₁₀(1/N)⌋: the largest power of ten that is not over 1/N.
fn power_of_ten_below(rows: u64) -> Result<Delta, PrivacyError> {
    let zeros = (0..20_u32).find(|&zeros| 10_u128.pow(zeros) >= u128::from(rows)).unwrap_or(20);
    Delta::try_from(format!("1e-{zeros}").parse().unwrap_or(f64::NAN))
}

/// Under an aggregator there is one sum, hence one event: the smallest δ holds for everyone.
fn share_terms(terms: &mut [Terms]) -> Result<(), RunError> {
    let Some(first) = terms.first().copied() else { return Ok(()) };
    if terms.iter().any(|t| (t.sampling, t.bound) != (first.sampling, first.bound)) {
        return refuse("an aggregator noises one sum: all clients draw their rows at one rate and clip to one bound");
    }
    let least = terms.iter().map(|t| t.delta).fold(first.delta, |a, b| if b < a { b } else { a });
    terms.iter_mut().for_each(|t| t.delta = least);
    Ok(())
}

#[cfg(test)]
mod tests;
