//! From a method as meant to the parts that carry it out.
//!
//! Building comes after planning: it makes the protocol, the terms and grants of every client, and the
//! rates of an asynchronous schedule. Server and site build from the same public constants and get the
//! same parts; a site refuses a question whose terms are not its own.

use crate::algorithm::{Protocol, SiteProblem};
use crate::client::Summing;
use crate::method::{Method, Parts};
use crate::plan::{ClientPlan, Costs, MethodPlan, plan_with, sampling};
use crate::release::{Clipped, OpeningRelease, Release};
use crate::settings::{Aggregator, Rates, Schedule, SecureSumSettings};
use crate::solve::{Prior, Problem};
use crate::{EncodedPrior, Family, InputLayout, Model, Opening, RunError, Stage, SumTerms, Terms};
use privacy::{
    Adjacency, Cohort, Event, Grant, Grid, Mechanism, NormBound, PrivacyError, Sampling, Shape, Steps, Unit,
};
use std::sync::Arc;

/// A method with everything that it needs, for clients of known sizes.
pub struct Built {
    /// The algorithm.
    pub protocol: Box<dyn Protocol>,
    /// What is learnt together.
    pub problem: Problem,
    /// What a site learns with it for itself, if the method lets it.
    pub home: Option<SiteProblem>,
    /// What was agreed for each client.
    pub terms: Vec<Terms>,
    /// What was agreed for the first answers of each client, where that differs, stage by stage.
    pub openings: Vec<Vec<Opening>>,
    /// What each client may spend.
    pub grants: Vec<Grant>,
    /// Who adds up.
    pub summing: Summing,
    /// How often each client comes back in an asynchronous run: declared, like the numbers of rows that it follows.
    pub rates: Vec<f64>,
    /// The plan; without clients if nothing is promised.
    pub plan: MethodPlan,
}

impl Built {
    /// On what terms the answers to a question are summed, where all clients have the same and only sums are opened. None
    /// where they do not follow from the question: a party that sees no ledger could not tell.
    pub fn sum_terms(&self, query: &[u8]) -> Result<Option<&Terms>, RunError> {
        let openings = self.openings.first().map_or(&[][..], Vec::as_slice);
        if openings.is_empty() {
            return Ok(self.terms.first());
        }
        Ok(match self.protocol.stage(query)? {
            Some(Stage::Opening(k)) => openings.get(usize::from(k)).map(|opening| &opening.terms),
            Some(Stage::Main) => self.terms.first(),
            None => None,
        })
    }
}

/// Builds a method for clients with these declared numbers of rows, or of persons where these are the unit, on a model of these inputs, which all sites
/// share. The seed is that of public coins, where the method throws any.
///
/// # Errors
/// A [`Conflict`](crate::describe::Conflict) where the method's parts do not go together, the model does
/// not offer what it needs, or the budget does not cover it; a [`PrivacyError`] where no theorem covers a
/// release.
pub fn build(
    method: &Method,
    rows: &[u64],
    model: Arc<dyn Model>,
    inputs: &InputLayout,
    prior: &EncodedPrior,
    seed: u64,
) -> Result<Built, RunError> {
    build_with(&Costs::default(), method, rows, model, inputs, prior, seed)
}

/// The same, where some costs are known already.
pub(crate) fn build_with(
    costs: &Costs,
    method: &Method,
    rows: &[u64],
    model: Arc<dyn Model>,
    inputs: &InputLayout,
    prior: &EncodedPrior,
    seed: u64,
) -> Result<Built, RunError> {
    let dimension = model.parameters(inputs.width());
    let family = method.family(dimension);
    let prior = Prior(prior.natural(model.as_ref(), family)?);
    let problem = Problem { model, family, prior };
    method.check_model(problem.model.offers())?;
    let home = home(method, &problem);
    let plan = plan_with(costs, method, rows, dimension)?;
    let terms = terms(method, &plan, rows, dimension + method.own_parameters())?;
    let openings = openings(method, &plan, &terms, dimension)?;
    let grants = match &method.promise {
        None => vec![Grant::Unlimited; rows.len()],
        Some(_) => plan.clients.iter().map(ClientPlan::grant).collect::<Result<_, _>>()?,
    };
    let summing = summing(method, rows.len())?;
    let protocol = method.algorithm.build(&Parts {
        problem: &problem,
        inputs,
        home: home.as_ref(),
        terms: &terms,
        openings: &openings,
        rows,
        summing,
        adjacency: method.promise.map_or(Adjacency::Substitute, |promise| promise.adjacency),
        seed,
    })?;
    let rates = rows.iter().map(|&n| rate(method.schedule, n)).collect();
    Ok(Built { protocol, problem, home, terms, openings, grants, summing, rates, plan })
}

/// Who adds up the answers of so many clients.
pub(crate) fn summing(method: &Method, clients: usize) -> Result<Summing, PrivacyError> {
    Ok(match method.promise.map(|p| p.aggregator) {
        None | Some(Aggregator::None) => Summing::Nobody,
        Some(Aggregator::Curator) => Summing::Curator,
        Some(Aggregator::SecureSum(SecureSumSettings { nodes, noise, colluders, dropouts })) => {
            let cohort = Cohort::new(clients as u64, colluders, dropouts)?;
            Summing::Secure { cohort, nodes, noise }
        }
    })
}

/// The problem with a site-specific intercept as its last parameter.
fn home(method: &Method, shared: &Problem) -> Option<SiteProblem> {
    let precision = method.algorithm.site_intercept()?;
    let family = Family::MeanField { dimension: shared.family.dimension() + 1 };
    let mut prior = shared.prior.0.clone();
    prior.insert(shared.family.dimension(), 0.0);
    prior.push(-0.5 * precision);
    Some(SiteProblem { problem: Problem { model: shared.model.clone(), family, prior: Prior(prior) } })
}

/// How often a client comes back, relative to the others.
fn rate(schedule: Schedule, rows: u64) -> f64 {
    match schedule {
        Schedule::Asynchronous(Rates::InverseRows) => 1.0 / rows as f64,
        _ => 1.0,
    }
}

/// What is agreed with each client: the planned event, or an open one. Weights follow declared rows or persons, where these
/// are the unit, and are equal where clients are.
pub(crate) fn terms(
    method: &Method,
    plan: &MethodPlan,
    rows: &[u64],
    dimension: usize,
) -> Result<Vec<Terms>, RunError> {
    let by_client = method.promise.is_some_and(|p| p.unit == Unit::Client);
    let all = if by_client { rows.len() as f64 } else { rows.iter().sum::<u64>() as f64 };
    rows.iter()
        .enumerate()
        .map(|(m, &n)| {
            let weight = if by_client { 1.0 } else { n as f64 } / all;
            let (event, shape) = match plan.clients.get(m) {
                Some(client) => (client.event.clone(), client.shape),
                None => open(&method.algorithm.releases(dimension).main, n)?,
            };
            let sum = plan.sum.as_ref().map(|sum| SumTerms { event: sum.event.clone(), shape: sum.shape });
            let sum = sum.filter(|sum| sum.shape != shape);
            Ok(Terms { stage: Stage::Main, event, shape, weight, sum })
        })
        .collect()
}

/// The first answers of each client, where a method opens otherwise than it goes on.
fn openings(
    method: &Method,
    plan: &MethodPlan,
    terms: &[Terms],
    dimension: usize,
) -> Result<Vec<Vec<Opening>>, RunError> {
    let releases = method.algorithm.releases(dimension).openings;
    let of = |(m, terms): (usize, &Terms)| {
        let planned = plan.clients.get(m).map(|client| client.openings.as_slice());
        let one = |(k, opening): (usize, &OpeningRelease)| {
            let (event, shape) = match planned.and_then(|stages| stages.get(k)) {
                Some(stage) => (stage.event.clone(), stage.shape),
                None => open(&opening.release, 0)?,
            };
            let stage = Stage::Opening(u8::try_from(k).unwrap_or(u8::MAX));
            let sum = plan.sum.as_ref().and_then(|sum| sum.openings.get(k));
            let sum = sum.map(|sum| SumTerms { event: sum.event.clone(), shape: sum.shape });
            let sum = sum.filter(|sum| sum.shape != shape);
            let terms = Terms { stage, event, shape, weight: terms.weight, sum };
            Ok(Opening { answers: opening.answers, terms })
        };
        releases.iter().enumerate().map(one).collect()
    };
    terms.iter().enumerate().map(of).collect()
}

/// An event that promises nothing, and a shape whose bound no honest sum reaches.
fn open(release: &Release, rows: u64) -> Result<(Event, Shape), PrivacyError> {
    let sampling = if release.grain.is_by_unit() { sampling(release.batch, rows)? } else { Sampling::None };
    // 2^40 units: the finest grid that holds the bound.
    let (bound, exponent) = match release.clipped {
        Clipped::Statistics => (2_f64.powi(16), 24),
        Clipped::Gradients | Clipped::Ratios => (2_f64.powi(10), 30),
        Clipped::Change => (2_f64.powi(24), 16),
    };
    let steps = Steps::new(release.sums)?;
    let event = Event::new(Mechanism::Open, Adjacency::Substitute, Unit::Example, sampling, steps)?;
    let shape = Shape::new(release.numbers.of(rows), NormBound::new(bound)?, release.grain, Grid::new(exponent)?)?;
    Ok((event, shape))
}
