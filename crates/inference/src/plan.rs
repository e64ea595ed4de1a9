//! What a method will cost each client, known before any row is read: the event of an update, its shape,
//! how many fit.
//!
//! Planning is arithmetic on public constants. It turns [`Releases`] and a [`Promise`] into
//! [`Event`]s, finds the noise multiplier z or the number of updates, and certifies the ε of the whole
//! plan. The same plan is what a ledger is opened with, so that a run cannot spend more.
//!
//! - z: noise multiplier, standard deviation of the noise divided by the sensitivity.
//! - C: bound of one clipped vector; the sensitivity is a small multiple of it
//!   ([`sensitivity_factor`]).
//! - δ: of each client, fixed or the power of ten below 1/rows.
//!
//! # Examples
//! See the crate's own page for a plan from a study's table.

mod client;
mod costs;
mod fitting;
mod opening;
mod shares;
mod site_clip;

pub use client::ClientPlan;
pub use costs::Costs;
pub(crate) use costs::Spent;
pub use opening::PlannedStage;

use crate::describe::{Conflict, NOT_TOGETHER};
use crate::method::Method;
use crate::release::{Bound, OpeningRelease, Releases};
use crate::settings::{
    Aggregator, Batching, Claim, Clip, DeltaRule, Noise, Promise, Schedule, SecureNoise, SecureSumSettings,
    SitePromise, SitePromises,
};
use crate::{RunError, build};
use privacy::accounting::moments::Moments;
use privacy::accounting::{Pld, calibrate};
use privacy::{
    Accountant, Cohort, Delta, Epsilon, Event, Grain, Grid, Mechanism, NoiseMultiplier, NormBound, PrivacyError,
    Sampling, SamplingRate, Shape, ShareNoise, Steps, Trust, Unit, VarianceSlack, sensitivity_factor,
};
use rayon::prelude::*;
use serde::Serialize;

/// A method, planned for clients of declared sizes: what each will be charged, and what will be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodPlan {
    /// One for each client, in order; empty for a method without privacy.
    pub clients: Vec<ClientPlan>,
    /// What the sum of all is noised by, as the plan of a client with the method's own clip; none where every client adds its own noise.
    pub sum: Option<ClientPlan>,
    /// Rounds that are made at most.
    pub rounds: u64,
    /// Server-client exchanges, all clients together, at most.
    pub messages: u64,
    /// Bytes that one client sends in one message, at most: its numbers, and the seeds of a secure sum; no envelopes.
    pub bytes_per_message: u64,
}

/// Plans a method for clients with these declared numbers of rows, or of persons where these are the unit, and a model of
/// `dimension` parameters.
///
/// Pure arithmetic on public constants. With a calibrated noise the multiplier is the least with which every client's
/// planned updates cost at most its ε; with a given one the updates are as many as fit, and not more than are asked for.
/// Under an aggregator all clients share one noise, sized for the smallest δ among them. Where the method needs record
/// ids, rows are taken to have them; a run looks whether they do.
///
/// # Errors
/// What [`Method::check`] refuses; sizes that the algorithm refuses; a noise multiplier with which not one
/// update fits; and a release that no accountant certifies.
pub fn plan(method: &Method, clients: &[u64], dimension: usize) -> Result<MethodPlan, RunError> {
    plan_with(&Costs::default(), method, clients, dimension)
}

/// The same, where some costs are known already; what is worked out is known from then on.
pub fn plan_with(costs: &Costs, method: &Method, clients: &[u64], dimension: usize) -> Result<MethodPlan, RunError> {
    method.check()?;
    method.sites.check_placed(clients.len())?;
    method.algorithm.check_size(method, clients, dimension)?;
    let (planned, sum) = match &method.promise {
        None => (Vec::new(), None),
        Some(promise) => {
            Costing::new(method, promise, clients, dimension + method.own_parameters())?.clients(costs, clients)?
        }
    };
    planned
        .iter()
        .chain(&sum)
        .try_for_each(|client| method.algorithm.check_shape(&client.shape, client.event.adjacency()))?;
    let free = method.algorithm.releases(dimension).reused;
    let most_rounds = method.most_rounds();
    let rounds = match (&method.promise, method.schedule) {
        (Some(_), Schedule::Sequential | Schedule::Synchronous) if !free => {
            planned.iter().map(ClientPlan::charges).max().unwrap_or(0)
        }
        _ => most_rounds,
    };
    let asked = most_rounds.saturating_mul(clients.len() as u64);
    let paid = planned.iter().fold(0_u64, |sum, client| sum.saturating_add(client.charges()));
    let messages = if method.promise.is_some() && !free { asked.min(paid) } else { asked };
    let bytes_per_message = message_bytes(method, clients, dimension);
    let plan = MethodPlan { clients: planned, sum, rounds, messages, bytes_per_message };
    if method.promise.is_some() {
        let terms = build::terms(method, &plan, clients, dimension)?;
        method.algorithm.check_noise(&terms, build::summing(method, clients.len())?, clients)?;
    }
    Ok(plan)
}

/// Bytes of one number in a message, without its envelope.
const BYTES_OF_A_NUMBER: u64 = 8;

/// Bytes of a seed, which stands for the share of a compute node.
const BYTES_OF_A_SEED: u64 = 16;

/// Bytes of seeds that a client sends in one message of a secure sum: one to each node but the one that gets numbers.
pub fn seed_bytes(nodes: u32) -> u64 {
    BYTES_OF_A_SEED * u64::from(nodes.saturating_sub(1))
}

/// Bytes of the largest message of a client: a change, or the longest of its sums.
fn message_bytes(method: &Method, clients: &[u64], dimension: usize) -> u64 {
    let rows = clients.iter().copied().max().unwrap_or(0);
    let sums = || method.algorithm.releases(dimension).most_numbers(rows);
    let numbers = method.algorithm.message_numbers(dimension).unwrap_or_else(sums);
    let seeds = match method.promise.map(|promise| promise.aggregator) {
        Some(Aggregator::SecureSum(SecureSumSettings { nodes, .. })) => seed_bytes(nodes),
        _ => 0,
    };
    BYTES_OF_A_NUMBER.saturating_mul(numbers as u64).saturating_add(seeds)
}

/// `updates` of these one after the other.
fn times(event: &Event, updates: u64) -> Result<Event, PrivacyError> {
    Ok(event.repeated(Steps::new(event.steps().get().saturating_mul(updates))?))
}

/// A plan with one more event at its end.
fn after(before: &[Event], last: Event) -> Vec<Event> {
    before.iter().cloned().chain([last]).collect()
}

/// Certified upper bound of ε of these events at δ; 0 of none. By the loss distribution, or by Rényi
/// divergence for Skellam shares, whose loss distribution is not certified.
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
    /// All that a client's plan follows from, with its own terms and the releases: the method, the number of clients, the
    /// parameters.
    constants: (&'a Method, usize, usize),
    /// What is promised.
    promise: &'a Promise,
    /// What a client releases.
    releases: Releases,
    /// How many sums one update releases, after the opening.
    sums: Steps,
    /// Whether sums are noised at the client or after they were added up.
    trust: Trust,
    /// The cohort whose clients noise their shares, and the law of these.
    cohort: Option<(Cohort, ShareNoise)>,
    /// Most updates that a client is asked for, after the opening.
    asked: u64,
}

/// What may differ from client to client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct ClientTerms {
    /// How the rows of a step are drawn.
    sampling: Sampling,
    /// What the promise says of C.
    clip: Option<Clip>,
    /// C.
    bound: NormBound,
    /// ε of this client.
    epsilon: Epsilon,
    /// δ of this client.
    delta: Delta,
    /// Length of a released sum.
    numbers: usize,
}

impl<'a> Costing<'a> {
    /// What the clients of a method share; refused where a cohort is too small for its colluders and
    /// dropouts.
    fn new(method: &'a Method, promise: &'a Promise, clients: &[u64], dimension: usize) -> Result<Self, RunError> {
        let releases = method.algorithm.releases(dimension);
        let cohort = match promise.aggregator {
            Aggregator::SecureSum(SecureSumSettings {
                noise: SecureNoise::Clients(share),
                colluders,
                dropouts,
                ..
            }) => Some((Cohort::new(clients.len() as u64, colluders, dropouts)?, share)),
            Aggregator::SecureSum(SecureSumSettings { colluders, dropouts, .. }) => {
                Cohort::new(clients.len() as u64, colluders, dropouts)?;
                None
            }
            Aggregator::None | Aggregator::Curator => None,
        };
        let trust = if promise.aggregator == Aggregator::None { Trust::Local } else { Trust::Aggregate };
        let asked = asked(method, promise, &releases, clients.len() as u64).saturating_sub(releases.opened()).max(1);
        let (constants, sums) = ((method, clients.len(), dimension), Steps::new(releases.main.sums)?);
        Ok(Self { constants, promise, releases, sums, trust, cohort, asked })
    }

    /// The plan of every client, and that of the sum where only sums are opened. Clients on equal terms are costed once, those on different
    /// terms in parallel.
    fn clients(&self, costs: &Costs, rows: &[u64]) -> Result<(Vec<ClientPlan>, Option<ClientPlan>), RunError> {
        let terms = rows.iter().enumerate().map(|(m, &n)| self.terms(self.own(m), n));
        let mut terms = terms.collect::<Result<Vec<_>, _>>()?;
        if self.trust == Trust::Aggregate {
            share_terms(&mut terms)?;
        }
        let shared = |terms: &ClientTerms| costs.plan(&(self.constants, &self.releases, terms), || self.client(terms));
        let planned = |(m, terms): (usize, &ClientTerms)| match self.clip_in_sum(m) {
            None => shared(terms),
            Some(clip) => {
                let key = (self.constants, &self.releases, terms, clip);
                costs.plan(&key, || self.under_clip(&shared(terms)?, clip))
            }
        };
        let all = terms.par_iter().enumerate().map(planned);
        // The first refusal in the order of the clients, whichever came first on the threads.
        let all: Vec<Result<ClientPlan, RunError>> = all.collect();
        let among = |n: u64| if self.promise.unit == Unit::Client { rows.len() as u64 } else { n };
        let all = all.into_iter().zip(rows).map(|(plan, &n)| Ok(ClientPlan { among: among(n), ..plan? }));
        let all = all.collect::<Result<Vec<_>, RunError>>()?;
        let sum = terms.first().filter(|_| self.trust == Trust::Aggregate).map(shared).transpose()?;
        Ok((all, sum))
    }

    /// What a client has of its own, where it adds its own noise.
    fn own(&self, client: usize) -> SitePromise {
        match self.trust {
            Trust::Local => self.constants.0.sites.of(client),
            Trust::Aggregate => SitePromise::default(),
        }
    }

    /// Sampling, bound, ε and δ of a client with so many declared rows.
    fn terms(&self, own: SitePromise, rows: u64) -> Result<ClientTerms, RunError> {
        let main = &self.releases.main;
        let sampling = if main.grain.is_by_unit() { sampling(main.batch, rows)? } else { Sampling::None };
        let delta = match (own.delta, self.promise.delta) {
            (Some(delta), _) | (None, DeltaRule::Fixed(delta)) => delta,
            (None, DeltaRule::PowerOfTenBelowRows) => power_of_ten_below(rows)?,
            (None, DeltaRule::LeftOut) => return Err(without_delta(self.promise.unit).into()),
        };
        let epsilon = own.epsilon.unwrap_or(self.promise.epsilon);
        let clip = own.clip.map(Clip::Fixed).or(self.promise.clip);
        let bound = bound(main.bound, clip, sampling)?;
        Ok(ClientTerms { sampling, clip, bound, epsilon, delta, numbers: main.numbers.of(rows) })
    }

    /// The terms of the opening, whose sums are over all rows.
    fn opening_terms(&self, opening: &OpeningRelease, terms: &ClientTerms) -> Result<ClientTerms, RunError> {
        let bound = bound(opening.release.bound, terms.clip, Sampling::None)?;
        Ok(ClientTerms { sampling: Sampling::None, bound, numbers: opening.release.numbers.of(0), ..*terms })
    }

    /// One update of so many releases with this noise, and the shape of its sums.
    fn update(
        &self,
        terms: &ClientTerms,
        grain: Grain,
        z: NoiseMultiplier,
        releases: Steps,
    ) -> Result<(Event, Shape), PrivacyError> {
        let (unit, adjacency) = (self.promise.unit, self.promise.adjacency);
        let grain = grain.for_unit(unit);
        let factor = sensitivity_factor(grain, unit, adjacency, self.trust)?;
        let test = if self.releases.completes { Some(test(terms.sampling)?) } else { None };
        let deviation = match test {
            Some((_, deviation)) => deviation * terms.bound.get(),
            None => z.get() * factor as f64 * terms.bound.get(),
        };
        let shape = Shape::new(terms.numbers, terms.bound, grain, Grid::for_noise(terms.bound, deviation)?)?;
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
        terms: &ClientTerms,
    ) -> Result<NoiseMultiplier, PrivacyError> {
        let plan = plan_of(NoiseMultiplier::new(1.0)?)?;
        let Some(last) = plan.last() else { return NoiseMultiplier::new(1.0) };
        let z = calibrate::calibrate(self.claimant(last), plan_of, terms.epsilon, terms.delta)?;
        let added_up = self.releases.alternates || matches!(self.cohort, Some((_, ShareNoise::Skellam)));
        if added_up { NoiseMultiplier::new(z.get() * (1.0 + 1e-9)) } else { Ok(z) }
    }

    /// Whose ε is claimed for this event, by the promise.
    fn claimant(&self, event: &Event) -> &'static dyn Accountant {
        claimant(self.promise.accountant, event)
    }
}

/// The event of one test on a batch, and the standard deviation of its noise at most, in units of a ratio's bound.
///
/// Σu has noise of variance b(1 + L − s²) at most b(1 + L), with L = 1: ratios are clipped to √(C/2)·√b/N₀.
fn test(sampling: Sampling) -> Result<(Mechanism, f64), PrivacyError> {
    let Sampling::WithoutReplacement { batch, .. } = sampling else {
        return Err(PrivacyError::NoTheorem {
            what: "a test whose noise makes up the spread of a batch, on all rows".into(),
            why: "all rows have no spread from drawing them",
            hint: "draw a batch of fewer rows than there are, or fix the noise",
        });
    };
    let (slack, variance) = (VarianceSlack::new(1.0)?, 2.0 * batch as f64);
    Ok((Mechanism::BarkerTest { batch: Steps::new(batch)?, slack }, variance.sqrt()))
}

/// What vectors of rows that are drawn so are clipped to.
fn bound(bound: Bound, clip: Option<Clip>, sampling: Sampling) -> Result<NormBound, RunError> {
    Ok(match (bound, clip) {
        (Bound::Fixed(bound), _) | (Bound::Clip, Some(Clip::Fixed(bound))) => bound,
        (Bound::Unit, _) => NormBound::new(1.0)?,
        (Bound::Clip, Some(Clip::TimesRate(bound))) => NormBound::new(bound.get() * sampling.rate())?,
        (Bound::Clip, None) => {
            let what = "`clip`, the largest norm of one row's gradient or of a change, is missing";
            let hint = "for example clip = 2.0; for models of xᵀθ it is derived where the schema is known";
            return Err(Conflict::new("privacy", crate::describe::UNREADABLE, what, hint).into());
        }
    })
}

/// Most updates that one client is asked for.
///
/// A release that is reused is made once. An asynchronous client may be drawn at every tick. With a calibrated noise it is
/// planned for one update a round all the same, and refuses what comes after.
fn asked(method: &Method, promise: &Promise, releases: &Releases, clients: u64) -> u64 {
    match (method.schedule, promise.noise) {
        _ if releases.reused => 1,
        (Schedule::Asynchronous(_), Noise::Multiplier(_)) => method.most_rounds().saturating_mul(clients),
        _ => method.most_rounds(),
    }
}

/// How a client of so many declared rows draws the rows of a step.
///
/// A batch of all rows, or more, is all rows.
///
/// # Errors
/// A rate or a batch that is none: over 0 and at most 1, or of at least one row.
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

/// A rate of 1 is no sampling.
fn poisson(rate: SamplingRate) -> Sampling {
    if rate.get() == 1.0 { Sampling::None } else { Sampling::Poisson { rate } }
}

/// 10^⌊log₁₀(1/N)⌋: the largest power of ten that is not over 1/N.
fn power_of_ten_below(rows: u64) -> Result<Delta, PrivacyError> {
    let zeros = (0..20_u32).find(|&zeros| 10_u128.pow(zeros) >= u128::from(rows)).unwrap_or(20);
    Delta::try_from(format!("1e-{zeros}").parse().unwrap_or(f64::NAN))
}

/// The refusal of a promise whose δ is left out where the number that it would follow from is not public.
fn without_delta(unit: Unit) -> Conflict {
    let (units, declared) = match unit {
        Unit::Example => ("rows", "declared_rows = N in [data]"),
        Unit::Person => ("persons", "declared_persons = N in [data]"),
        Unit::Client => ("clients", "the clients"),
    };
    let what =
        format!("`delta` is left out, and the number of {units}, from which it would follow, is not public here");
    let hint =
        format!("write delta = 1e-6 in privacy, well under one over the number of {units}; or declare {declared}");
    Conflict::new("privacy", crate::describe::UNREADABLE, what, hint)
}

/// μ of the Gaussian mechanism that costs what a promise grants clients of these rows: what settings are derived from. Where sites have
/// budgets of their own, that with which the noise of all sites together has the variance that it has: 1/μ² is the mean of 1/μ_m².
pub(crate) fn gaussian_mu(promise: &Promise, sites: &SitePromises, rows: &[u64]) -> Option<f64> {
    let shared = match promise.delta {
        DeltaRule::Fixed(delta) => delta,
        DeltaRule::PowerOfTenBelowRows => power_of_ten_below(rows.iter().copied().min()?).ok()?,
        DeltaRule::LeftOut => return None,
    };
    let plan_of = |z| Ok(vec![Event::gaussian(z, promise.adjacency, Steps::ONE)]);
    let multiplier = |own: SitePromise| {
        let (epsilon, delta) = (own.epsilon.unwrap_or(promise.epsilon), own.delta.unwrap_or(shared));
        Some(calibrate::calibrate(&Pld, &plan_of, epsilon, delta).ok()?.get())
    };
    if sites.iter().all(|(_, own)| own.budget_key().is_none()) {
        return multiplier(SitePromise::default()).map(|z| 1.0 / z);
    }
    let each: Option<Vec<f64>> = (0..rows.len()).map(|m| multiplier(sites.of(m)).map(|z| z * z)).collect();
    let each = each?;
    Some((each.len() as f64 / each.iter().sum::<f64>()).sqrt())
}

/// Under an aggregator there is one sum, hence one event: the smallest δ holds for everyone.
fn share_terms(terms: &mut [ClientTerms]) -> Result<(), RunError> {
    let Some(first) = terms.first().copied() else { return Ok(()) };
    if terms.iter().any(|t| (t.sampling, t.bound) != (first.sampling, first.bound)) {
        let what = "an aggregator noises one sum: all clients draw their rows at one rate and clip to one bound";
        let hint = "state a rate in place of a number of rows, or use aggregator = \"none\"";
        return Err(Conflict::new("local", NOT_TOGETHER, what, hint).into());
    }
    let least = terms.iter().map(|t| t.delta).fold(first.delta, |a, b| if b < a { b } else { a });
    terms.iter_mut().for_each(|t| t.delta = least);
    Ok(())
}

#[cfg(test)]
mod tests;
