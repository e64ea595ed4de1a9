//! From a method as meant to the parts that carry it out. The only place where choices are looked at by name.

mod chain;

use chain::chain;

use crate::algorithm::{
    Cavity, Committee, GlobalVi, GlobalViAtClients, Home, NoiseAware, Protocol, Pvi, SourceTerms, Statistics, Wander,
};
use crate::client::Summing;
use crate::plan::{Costs, MethodPlan, plan_with, sampling};
use crate::regression::{SyntheticSearch, Thresholds};
use crate::settings::{
    Aggregator, Covariance, Curvature, Damping, Gradients, Local, Method, NoiseAware as NoiseAwareSettings,
    NoiseReading, Optimiser, Rates, Schedule, Scheme, SecureSum, Solver, Statistics as StatisticsSettings,
    StatisticsRule,
};
use crate::solve::{Analytic, Average, Descend, Hybrid, Likelihood, LocalSolve, Perturb, Prior, Problem, Virtual};
use crate::{Family, Model, Opening, RunError, Stage, Terms};
use privacy::{
    Adjacency, Cohort, Event, Grain, Grant, Grid, Mechanism, NoiseMultiplier, NormBound, PrivacyError, Sampling, Shape,
    Steps, Unit,
};
use std::sync::Arc;

/// Assigns rows to parts, the same in every run: a constant of the program.
const PARTS_KEY: u64 = 0x706f_7374_6572;

/// Grid exponent of changes that are computed from released values: 2^-24 is far below any noise that made them.
const SENDING: i32 = 24;

/// A method with everything that it needs, for clients of known sizes.
pub struct Built {
    /// The algorithm.
    pub protocol: Box<dyn Protocol>,
    /// What is learnt together.
    pub problem: Problem,
    /// What a site learns with it for itself, if the method lets it.
    pub home: Option<Home>,
    /// What was agreed for each client.
    pub terms: Vec<Terms>,
    /// What was agreed for the first answers of each client, where that differs.
    pub openings: Vec<Option<Opening>>,
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
        let Some(Some(opening)) = self.openings.first() else { return Ok(self.terms.first()) };
        Ok(match self.protocol.stage(query)? {
            Some(Stage::Opening) => Some(&opening.terms),
            Some(Stage::Main) => self.terms.first(),
            None => None,
        })
    }
}

/// Builds a method for clients with these declared numbers of rows, on a model of `width` shared inputs. The seed is that of
/// public coins, where the method throws any.
pub fn build(
    method: &Method,
    rows: &[u64],
    model: Arc<dyn Model>,
    width: usize,
    prior_precision: f64,
    seed: u64,
) -> Result<Built, RunError> {
    build_with(&Costs::default(), method, rows, model, width, prior_precision, seed)
}

/// The same, where some costs are known already.
pub(crate) fn build_with(
    costs: &Costs,
    method: &Method,
    rows: &[u64],
    model: Arc<dyn Model>,
    width: usize,
    prior_precision: f64,
    seed: u64,
) -> Result<Built, RunError> {
    let dimension = model.parameters(width);
    let family = match method.covariance {
        Covariance::MeanField => Family::MeanField { dimension },
        Covariance::Full => Family::Full { dimension },
    };
    let prior = Prior(family.prior_of_each(&model.precisions(dimension, prior_precision)));
    let problem = Problem { model, family, prior };
    if let Scheme::NoiseAware(NoiseAwareSettings { curvature: Curvature::Moments { .. }, .. }) = method.scheme
        && problem.model.mean_curvature(1.0).is_none()
    {
        let what = "the rule of second moments is for models of xᵀθ, linear and logistic: release the curvature";
        return Err(RunError::Settings { what: what.into() });
    }
    if method.solver.is_conjugate() && problem.model.outcome_variance().is_none() {
        let what = "analytic, likelihood and hybrid solvers need a Gaussian likelihood: the model is linear";
        return Err(RunError::Settings { what: what.into() });
    }
    if method.local.gradients == Gradients::Aligned && !problem.model.draws_once() {
        let what = "aligned gradients are for models that draw their parameters once for a batch: networks";
        return Err(RunError::Settings { what: what.into() });
    }
    let home = home(method, &problem)?;
    let plan = plan_with(costs, method, rows, dimension)?;
    let terms = terms(method, &plan, rows, home.as_ref().map_or(family, |home| home.problem.family))?;
    let openings = openings(method, &plan, &terms, family)?;
    let grants = match &method.promise {
        None => vec![Grant::Unlimited; rows.len()],
        Some(promise) => plan.clients.iter().map(|c| c.grant(promise)).collect::<Result<_, _>>()?,
    };
    let summing = match method.promise.map(|p| p.aggregator) {
        None | Some(Aggregator::None) => Summing::Nobody,
        Some(Aggregator::Curator) => Summing::Curator,
        Some(Aggregator::SecureSum(SecureSum { nodes, noise, colluders, dropouts })) => {
            let cohort = Cohort::new(rows.len() as u64, colluders, dropouts)?;
            Summing::Secure { cohort, nodes, noise }
        }
    };
    let protocol = protocol(method, (&problem, &home), (&terms, &openings), rows, summing, seed)?;
    let rates = rows.iter().map(|&n| rate(method.schedule, n)).collect();
    Ok(Built { protocol, problem, home, terms, openings, grants, summing, rates, plan })
}

/// The problem with an intercept of the site's own as its last parameter.
fn home(method: &Method, shared: &Problem) -> Result<Option<Home>, RunError> {
    let Some(precision) = method.site_intercept else { return Ok(None) };
    if shared.model.mean_curvature(1.0).is_none() {
        let what = "an intercept of each site's own is for models of xᵀθ: linear and logistic";
        return Err(RunError::Settings { what: what.into() });
    }
    let family = Family::MeanField { dimension: shared.family.dimension() + 1 };
    let mut prior = shared.prior.0.clone();
    prior.insert(shared.family.dimension(), 0.0);
    prior.push(-0.5 * precision);
    Ok(Some(Home { problem: Problem { model: shared.model.clone(), family, prior: Prior(prior) } }))
}

fn rate(schedule: Schedule, rows: u64) -> f64 {
    match schedule {
        Schedule::Asynchronous(Rates::InverseRows) => 1.0 / rows as f64,
        _ => 1.0,
    }
}

/// What is agreed with each client: the planned event, or an open one. Weights follow declared rows, where rows are the
/// unit, and are equal where clients are.
fn terms(method: &Method, plan: &MethodPlan, rows: &[u64], family: Family) -> Result<Vec<Terms>, RunError> {
    let by_client = method.promise.is_some_and(|p| p.unit == Unit::Client);
    let all = if by_client { rows.len() as f64 } else { rows.iter().sum::<u64>() as f64 };
    rows.iter()
        .enumerate()
        .map(|(m, &n)| {
            let weight = if by_client { 1.0 } else { n as f64 } / all;
            let (event, shape) = match plan.clients.get(m) {
                Some(client) => (client.event.clone(), client.shape),
                None => open(method, method.solver, n, family)?,
            };
            Ok(Terms { stage: Stage::Main, event, shape, weight })
        })
        .collect()
}

/// The first answers of each client, where a method opens otherwise than it goes on.
fn openings(
    method: &Method,
    plan: &MethodPlan,
    terms: &[Terms],
    family: Family,
) -> Result<Vec<Option<Opening>>, RunError> {
    let of = |(m, terms): (usize, &Terms)| {
        let (answers, event, shape) = match (plan.clients.get(m).map(|client| &client.opening), method.solver) {
            (Some(Some(opening)), _) => (opening.updates, opening.event.clone(), opening.shape),
            (None, Solver::Hybrid(hybrid)) => {
                let (event, shape) = open(method, Solver::Analytic, 0, family)?;
                (hybrid.updates, event, shape)
            }
            (None, _) if matches!(method.scheme, Scheme::Chain(chain) if chain.alternates()) => {
                let (bound, grain, grid) = (terms.shape.bound(), terms.shape.grain(), terms.shape.grid());
                (0, terms.event.clone(), Shape::new(family.dimension(), bound, grain, grid)?)
            }
            _ => return Ok(None),
        };
        let terms = Terms { stage: Stage::Opening, event, shape, weight: terms.weight };
        Ok(Some(Opening { answers, terms }))
    };
    terms.iter().enumerate().map(of).collect()
}

/// An event that promises nothing, and a shape whose bound no honest sum reaches.
fn open(method: &Method, solver: Solver, rows: u64, family: Family) -> Result<(Event, Shape), PrivacyError> {
    let sampled = |steps| -> Result<_, PrivacyError> {
        let numbers = method.local.gradients.numbers(family.dimension());
        Ok((Grain::Example, sampling(method.local.batch, rows)?, steps, numbers))
    };
    let whole = |grain| (grain, Sampling::None, 1, family.len());
    let (grain, sampling, steps, dimension) = match (method.scheme, solver) {
        (Scheme::GlobalVi | Scheme::GlobalViAtClients, _) => sampled(1)?,
        (Scheme::Chain(chain), _) => {
            (Grain::Example, sampling(method.local.batch, rows)?, 1, chain.numbers(family.dimension()))
        }
        (Scheme::NoiseAware(settings), _) => (Grain::Example, Sampling::None, 1, settings.numbers(family.dimension())),
        (_, Solver::DpOptimisation | Solver::Hybrid(_)) => sampled(method.local.steps)?,
        (_, Solver::Clear) if method.local.optimiser != Optimiser::Natural => sampled(method.local.steps)?,
        (_, Solver::Analytic | Solver::Likelihood) => whole(Grain::Example),
        (_, Solver::Clear | Solver::Perturb) => whole(Grain::Whole),
        (_, Solver::Average { parts } | Solver::Virtual { parts }) => whole(Grain::Part { count: u64::from(parts) }),
    };
    // 2^40 units: the finest grid that holds the bound.
    let (bound, exponent) = match grain {
        Grain::Example if matches!(solver, Solver::Analytic | Solver::Likelihood) => (2_f64.powi(16), 24),
        Grain::Example => (2_f64.powi(10), 30),
        Grain::Whole | Grain::Part { .. } => (2_f64.powi(24), 16),
    };
    let event = Event::new(Mechanism::Open, Adjacency::Substitute, Unit::Example, sampling, Steps::new(steps)?)?;
    Ok((event, Shape::new(dimension, NormBound::new(bound)?, grain, Grid::new(exponent)?)?))
}

fn solver(solver: Solver, local: Local) -> Box<dyn LocalSolve> {
    match solver {
        Solver::Clear if local.optimiser == Optimiser::Natural => Box::new(Perturb { local }),
        Solver::Clear | Solver::DpOptimisation => Box::new(Descend { local }),
        Solver::Perturb => Box::new(Perturb { local }),
        Solver::Average { parts } => Box::new(Average { parts, key: PARTS_KEY, local }),
        Solver::Analytic => Box::new(Analytic),
        Solver::Likelihood => Box::new(Likelihood),
        Solver::Hybrid(_) => Box::new(Hybrid { descend: Descend { local } }),
        Solver::Virtual { parts } => Box::new(Virtual { parts, key: PARTS_KEY, local }),
    }
}

/// Where releases come from, and the noise in them: every client, or the sum over all.
fn sources(terms: &[Terms], summing: Summing) -> Vec<SourceTerms> {
    let one = |terms: &Terms, weight: f64, times: f64| {
        let (deviation, moment_bound) = (times * terms.noise_deviation(), terms.non_negative_bound());
        SourceTerms { weight, deviation, moment_bound }
    };
    match (summing, terms.first()) {
        (Summing::Nobody, _) => terms.iter().map(|t| one(t, t.weight, 1.0)).collect(),
        (_, None) => Vec::new(),
        (_, Some(first)) => vec![one(first, 1.0, summing.times(terms.len()).sqrt())],
    }
}

/// Seeds the synthetic data on which projection thresholds are found: a constant of the program.
const SYNTHETIC: [u8; 32] = *b"projection thresholds, synthetic";

/// Projection thresholds of inputs and outcome, in deviations; ones where nothing is projected.
fn thresholds(
    problem: &Problem,
    settings: &StatisticsSettings,
    terms: &[Terms],
    summing: Summing,
    rows: &[u64],
) -> Result<[f64; 2], RunError> {
    let (StatisticsRule::Projected { .. }, Some(first)) = (settings.rule, terms.first()) else { return Ok([1.0; 2]) };
    let multiplier = first.event.noise_multiplier().map_or(0.0, NoiseMultiplier::get);
    let times = if summing == Summing::Nobody { terms.len() as f64 } else { summing.times(terms.len()) };
    let search = SyntheticSearch {
        rows: usize::try_from(rows.iter().sum::<u64>()).unwrap_or(usize::MAX),
        inputs: problem.family.dimension(),
        precision: -2.0 * problem.prior.0[problem.family.diagonal(0)],
        noise_variance: problem.model.outcome_variance().unwrap_or(1.0),
        noise_multiplier: multiplier * times.sqrt(),
    };
    let Thresholds { inputs, outcome } = search.thresholds(SYNTHETIC)?;
    Ok([inputs, outcome])
}

fn protocol(
    method: &Method,
    (problem, home): (&Problem, &Option<Home>),
    (terms, openings): (&[Terms], &[Option<Opening>]),
    rows: &[u64],
    summing: Summing,
    seed: u64,
) -> Result<Box<dyn Protocol>, RunError> {
    let home = home.clone();
    let (problem, solver) = (problem.clone(), solver(method.solver, method.local));
    let sending = Grid::new(SENDING)?;
    let finest = terms.iter().map(|t| i32::from(t.shape.grid())).fold(SENDING, i32::max);
    let finest = Grid::new(finest)?;
    Ok(match method.scheme {
        Scheme::Pvi => {
            let own = method.promise.is_none_or(|p| p.aggregator == Aggregator::None);
            let (cavity, weight) = if own { (Cavity::OwnFactor, 1.0) } else { (Cavity::ShareOfTotal, solver.weight()) };
            let kept = Damping::new(method.damping.get() * weight).ok_or_else(|| RunError::Settings {
                what: "damping divided by the number of parts is under 2^-21, expected less damping or fewer parts"
                    .into(),
            })?;
            let (factor, readout) = (method.factor, method.readout);
            let wander = match readout.noise {
                NoiseReading::Plain => Vec::new(),
                NoiseReading::Aware => terms.iter().map(|t| Wander::of(t, &method.local)).collect(),
            };
            Box::new(Pvi { problem, home, solver, cavity, factor, kept, readout, wander, finest, sending })
        }
        Scheme::Committee(prior) => {
            let (members, repair) = (terms.len(), method.readout.repair);
            Box::new(Committee { problem, solver, prior, members, repair, finest, sending })
        }
        Scheme::NoiseAware(settings) => {
            let (kept, average) = (method.damping.get(), method.readout.average as usize);
            let sources = sources(terms, summing);
            let rows = rows.iter().sum::<u64>() as f64;
            Box::new(NoiseAware { problem, home, settings, kept, average, sources, rows })
        }
        Scheme::Statistics(settings) => {
            let opening = openings.iter().flatten().map(|opening| opening.terms.clone()).collect();
            let (terms, rows) = ([opening, terms.to_vec()], rows.to_vec());
            let adjacency = method.promise.map_or(Adjacency::Substitute, |promise| promise.adjacency);
            let thresholds = thresholds(&problem, &settings, &terms[1], summing, &rows)?;
            Box::new(Statistics { problem, settings, adjacency, terms, summing, rows, thresholds })
        }
        Scheme::Chain(settings) => Box::new(chain(&settings, &problem, terms, rows, summing, (method.local, seed))?),
        Scheme::GlobalVi => {
            let inverse_rates = terms.iter().map(Terms::inverse_rate).collect();
            Box::new(GlobalVi { problem, local: method.local, inverse_rates })
        }
        Scheme::GlobalViAtClients => {
            Box::new(GlobalViAtClients { problem, local: method.local, kept: method.damping, sending })
        }
    })
}
