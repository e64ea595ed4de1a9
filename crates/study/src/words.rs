//! The names of a method's choices, as in a study and in `results.json`, and sentences made of them.

use super::bounded;
use super::meant::{Likelihood, Model, Study};
use crate::digits::shortest;
use inference::results::SecureSumResult;
use inference::settings::{
    Aggregator, Batching, Chain, Claim, CommitteePrior, Covariance, Curvature, DeltaRule, Deviations, FactorRule,
    Gradients, Hybrid, Method, Noise, NoiseAware, NoiseReading, Optimiser, Promise, Rates, Repair, Rounds, Sampler,
    Schedule, Scheme, SecureNoise, SecureSum, Solver, Start, Statistics, StatisticsReading, StatisticsRule, TestNoise,
};
use inference::{Expectation, Partition, Predictive, Skew, Split};
use privacy::{Adjacency, ShareNoise, Unit};

/// `pvi`, `committee`, `global-vi`, `global-vi-at-clients`, `noise-aware`, `statistics`, `chain`.
pub fn algorithm(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Pvi => "pvi",
        Scheme::Committee(_) => "committee",
        Scheme::GlobalVi => "global-vi",
        Scheme::GlobalViAtClients => "global-vi-at-clients",
        Scheme::NoiseAware(_) => "noise-aware",
        Scheme::Statistics(_) => "statistics",
        Scheme::Chain(_) => "chain",
    }
}

/// The solver's name.
pub fn solver(solver: Solver) -> &'static str {
    match solver {
        Solver::Clear => "clear",
        Solver::DpOptimisation => "dp-optimisation",
        Solver::Perturb => "perturb",
        Solver::Average { .. } => "average",
        Solver::Virtual { .. } => "virtual",
        Solver::Analytic => "analytic",
        Solver::Likelihood => "likelihood",
        Solver::Hybrid(_) => "hybrid",
    }
}

/// The solver's name, or what noise-aware PVI has in its place; with what sites have of their own.
pub fn does(method: &Method) -> String {
    let solver = match method.scheme {
        Scheme::NoiseAware(_) => "residuals",
        Scheme::Statistics(statistics) => rule(&statistics.rule),
        Scheme::Chain(chain) => sampler(&chain.sampler),
        _ => solver(method.solver),
    };
    let own = if method.site_intercept.is_some() { ", site intercept" } else { "" };
    format!("{solver}{own}")
}

/// The sampler's name.
fn sampler(sampler: &Sampler) -> &'static str {
    match sampler {
        Sampler::Barker { .. } => "barker",
        Sampler::Penalty { .. } => "penalty",
        Sampler::Langevin { .. } => "langevin",
        Sampler::Hamiltonian { .. } => "hamiltonian",
    }
}

/// The rule's name.
fn rule(rule: &StatisticsRule) -> &'static str {
    match rule {
        StatisticsRule::Plain { .. } => "plain",
        StatisticsRule::Projected { .. } => "projected",
        StatisticsRule::RowNorm { .. } => "row-norm",
        StatisticsRule::Inputs { .. } => "inputs",
    }
}

/// What of a row is released, and how it is read, in a sentence.
fn statistics(statistics: &Statistics) -> String {
    let asked = |bound: f64, share: f64, of: &str| {
        format!("deviations of values within ±{} for {} of {of}", shortest(bound), shortest(share))
    };
    let rule = match statistics.rule {
        StatisticsRule::Plain { bound } => format!("products of values within ±{}", shortest(bound)),
        StatisticsRule::Projected { bound, share } => {
            format!("{}, then products of values projected to fractions of them", asked(bound, share, "the budget"))
        }
        StatisticsRule::RowNorm { deviations, radius } => {
            let first = match deviations {
                Deviations::Known => String::new(),
                Deviations::Asked { bound, share } => format!("{}, then ", asked(bound, share, "μ²")),
            };
            format!("{first}outer products of rows clipped to a norm of {}", bounded::norm(radius))
        }
        StatisticsRule::Inputs { bound } => format!("each row noised by itself, values within ±{}", shortest(bound)),
    };
    let reading = match statistics.reading {
        StatisticsReading::NoiseAware => "read noise-aware",
        StatisticsReading::Ridge => "read with a ridge",
        StatisticsReading::Naive => "read naively",
    };
    format!("{rule}, {reading}")
}

/// The schedule's name.
pub fn schedule(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::Sequential => "sequential",
        Schedule::Synchronous => "synchronous",
        Schedule::Asynchronous(_) => "asynchronous",
    }
}

/// The aggregator's name.
pub fn aggregator(aggregator: Aggregator) -> &'static str {
    match aggregator {
        Aggregator::None => "none",
        Aggregator::Curator => "curator",
        Aggregator::SecureSum(_) => "secure-sum",
    }
}

/// The noise of a secure sum, as a study names it.
pub fn sum_noise(noise: SecureNoise) -> &'static str {
    match noise {
        SecureNoise::Nodes => "nodes",
        SecureNoise::Clients(ShareNoise::DiscreteGaussian) => "discrete-gaussian",
        SecureNoise::Clients(ShareNoise::Skellam) => "skellam",
    }
}

/// Who takes part in a secure sum, for results and plans; none without one.
pub fn secure_sum(aggregator: Aggregator) -> Option<SecureSumResult> {
    let Aggregator::SecureSum(SecureSum { nodes, noise, colluders, dropouts }) = aggregator else { return None };
    Some(SecureSumResult { nodes, noise: sum_noise(noise).to_owned(), colluders, dropouts })
}

/// The accountant's name.
pub fn accountant(claim: Claim) -> &'static str {
    match claim {
        Claim::Certified => "certified",
        Claim::Moments => "moments",
    }
}

/// What is asked, how it is solved and when it ends.
pub fn method(method: &Method) -> String {
    if let Scheme::Chain(settings) = &method.scheme {
        return chain(settings, method.covariance);
    }
    let scheme = match method.scheme {
        Scheme::Committee(CommitteePrior::Same) => "committee with the same prior".to_owned(),
        Scheme::Committee(CommitteePrior::Split) => "committee with a split prior".to_owned(),
        Scheme::NoiseAware(NoiseAware { curvature: Curvature::Moments { .. }, .. }) => {
            "noise-aware by moments".to_owned()
        }
        Scheme::NoiseAware(NoiseAware { curvature: Curvature::EveryRound { .. }, .. }) => {
            "noise-aware by curvature of every round".to_owned()
        }
        other => algorithm(other).to_owned(),
    };
    let solver = match method.solver {
        _ if matches!(method.scheme, Scheme::NoiseAware(_)) => "residuals of all rows".to_owned(),
        _ if let Scheme::Statistics(settings) = &method.scheme => statistics(settings),
        Solver::Average { parts } => format!("average of {parts} parts"),
        Solver::Virtual { parts } => format!("{parts} virtual clients"),
        Solver::Likelihood => "one likelihood, released once and reused".to_owned(),
        Solver::Hybrid(Hybrid { updates, share, clip }) => format!(
            "hybrid of {updates} analytic updates (clipped to {clip}, {} of the budget) and dp-optimisation",
            shortest(share)
        ),
        other => solver(other).to_owned(),
    };
    let schedule = match method.schedule {
        Schedule::Asynchronous(Rates::InverseRows) => "asynchronous (small clients come more often)",
        other => schedule(other),
    };
    let rounds = match method.rounds {
        Rounds::Count(1) => "1 round".to_owned(),
        Rounds::Count(rounds) => format!("{rounds} rounds"),
        Rounds::UntilSpent { at_most } => format!("until the budget is spent, at most {at_most} rounds"),
    };
    let covariance = if method.covariance == Covariance::Full { ", full covariance" } else { "" };
    let damping = rounded(method.damping.get());
    let own = match method.site_intercept {
        Some(precision) => format!(", an intercept of each site's own with prior precision {}", shortest(precision)),
        None => String::new(),
    };
    format!("{scheme}, {solver}, {schedule}, {rounds}, damping {damping}{covariance}{own}")
}

/// How a chain moves, how long, and where it starts.
fn chain(settings: &Chain, covariance: Covariance) -> String {
    let step = |step: f64| shortest(step);
    let sampler = match settings.sampler {
        Sampler::Barker { step: s, noise } => {
            let part = match noise {
                TestNoise::Completed { .. } => "the batch's own spread is a part of it",
                TestNoise::Fixed { .. } => "all of it added",
            };
            format!(
                "Barker's test of proposals {} away, noise of variance {} ({part})",
                step(s),
                step(noise.variance())
            )
        }
        Sampler::Penalty { step: s, variance } => {
            format!("penalty test of proposals {} away, noise of variance {}", step(s), step(variance))
        }
        Sampler::Langevin { step: s } => format!("Langevin steps of {}", step(s)),
        Sampler::Hamiltonian { step: s, leaps, variance, .. } => {
            format!("{leaps} leaps of {}, then a penalty test with noise of variance {}", step(s), step(variance))
        }
    };
    let chains = if settings.chains == 1 { "1 chain".to_owned() } else { format!("{} chains", settings.chains) };
    let counts = settings.counts_as.map_or(String::new(), |rows| format!(", data count as {rows} rows"));
    let start = match settings.start {
        Start::Origin => "from the origin".to_owned(),
        Start::Prior => "from a draw of the prior".to_owned(),
        Start::Variational { rounds, share, .. } => {
            format!("from a variational posterior of {rounds} rounds ({} of the budget)", shortest(share))
        }
        Start::Climbed { rounds, .. } => format!("from where {rounds} steps along gradients lead"),
    };
    let moments = if covariance == Covariance::Full { ", full covariance" } else { "" };
    let (iterations, warm_up) = (settings.iterations, settings.warm_up);
    format!(
        "chain, {sampler}; {chains} of {iterations} iterations, {warm_up} of them warm-up, {start}{counts}{moments}"
    )
}

/// A damping without the digits that its grid adds.
fn rounded(value: f64) -> String {
    shortest((value * 1e6).round() / 1e6)
}

/// The local optimisation.
pub fn local(method: &Method) -> String {
    if matches!(method.scheme, Scheme::NoiseAware(_) | Scheme::Statistics(_)) {
        return "all rows in every round".to_owned();
    }
    let local = &method.local;
    let rows = match local.batch {
        Batching::All => "all rows".to_owned(),
        Batching::Poisson(rate) => format!("each row with probability {rate}"),
        Batching::PoissonOf { fraction, at_least } => {
            format!("each row at random, {} of them but at least {at_least} expected", shortest(fraction))
        }
        Batching::WithoutReplacement(rows) => format!("{rows} rows without replacement"),
    };
    if matches!(method.scheme, Scheme::Chain(_)) {
        return format!("{rows} in every step");
    }
    let optimiser = match local.optimiser {
        Optimiser::Sgd => "sgd",
        Optimiser::Adagrad => "adagrad",
        Optimiser::Adam => "adam",
        Optimiser::Natural => "natural",
    };
    let steps = if local.steps == 1 { "1 step".to_owned() } else { format!("{} steps", local.steps) };
    let kept = if local.keep_state { ", state kept" } else { "" };
    let aligned = if local.gradients == Gradients::Aligned { ", aligned gradients" } else { "" };
    format!("{steps} of {optimiser} at {}, {rows}{kept}{aligned}", shortest(local.learning_rate))
}

/// How the served posterior is read out, where that is not the usual way.
pub fn readout(method: &Method) -> Option<String> {
    let repair = match method.readout.repair {
        Repair::Project => None,
        Repair::Floor(floor) => Some(format!("precision at least {}", shortest(floor))),
    };
    let factor = match method.factor {
        FactorRule::Free => None,
        FactorRule::Project => Some("clients hold their factors at precision 0 or more".to_owned()),
        FactorRule::Reset => Some("clients give up a factor's coordinate where its precision is negative".to_owned()),
    };
    let average = (method.readout.average > 1).then(|| format!("mean of the last {} rounds", method.readout.average));
    let noise = (method.readout.noise == NoiseReading::Aware).then(|| "noise-aware readout".to_owned());
    let parts: Vec<String> = factor.into_iter().chain(repair).chain(average).chain(noise).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What is promised to whom.
pub fn promise(promise: &Promise) -> String {
    let delta = match promise.delta {
        DeltaRule::Fixed(delta) => format!("δ = {delta}"),
        DeltaRule::PowerOfTenBelowRows => "δ the power of ten below 1 / rows".to_owned(),
    };
    let whom = match (promise.unit, promise.adjacency) {
        (Unit::Example, Adjacency::Substitute) => "one row, replaced by any other",
        (Unit::Example, Adjacency::AddRemove) => "one row, more or less",
        (Unit::Client, Adjacency::Substitute) => "all rows of a client, replaced by any others",
        (Unit::Client, Adjacency::AddRemove) => "all rows of a client, there or not (it answers either way)",
    };
    format!("ε = {} at {delta} for {whom}; {}", promise.epsilon, trusted(promise.aggregator))
}

fn trusted(aggregator: Aggregator) -> String {
    match aggregator {
        Aggregator::None => "nobody is trusted".to_owned(),
        Aggregator::Curator => "a curator is trusted with the clipped sums".to_owned(),
        Aggregator::SecureSum(SecureSum { nodes, noise: SecureNoise::Nodes, dropouts, .. }) => format!(
            "at least one of {nodes} compute nodes is honest; each adds all the noise, and a sum opens with at most {} \
             missing",
            clients(dropouts)
        ),
        Aggregator::SecureSum(SecureSum { nodes, noise: SecureNoise::Clients(share), colluders, dropouts }) => {
            let law = match share {
                ShareNoise::DiscreteGaussian => "discrete Gaussian",
                ShareNoise::Skellam => "Skellam",
            };
            format!(
                "at least one of {nodes} compute nodes is honest, and at most {} \
                 {}; clients' {law} shares make the noise, and a sum opens with at most {} missing",
                clients(colluders),
                if colluders == 1 { "colludes" } else { "collude" },
                clients(dropouts)
            )
        }
    }
}

fn clients(count: u64) -> String {
    if count == 1 { "1 client".to_owned() } else { format!("{count} clients") }
}

/// Bound and noise as chosen.
pub fn noise(method: &Method, promise: &Promise) -> String {
    let clip = bounded::words(method, promise);
    let noise = match promise.noise {
        Noise::Multiplier(z) => format!("noise multiplier {z}"),
        Noise::Calibrated => "noise calibrated to the budget".to_owned(),
    };
    format!("{clip}, {noise}, {} accountant", accountant(promise.accountant))
}

/// The data and what is held out.
pub fn data(study: &Study) -> String {
    if !study.simulated {
        return "at the sites: this study is served, and not simulated".to_owned();
    }
    let held_out = match &study.data.split {
        Split::Fraction { test } => format!("{} of the rows held out", shortest(*test)),
        Split::Half => "half of the rows held out".to_owned(),
        Split::Rows { test } => format!("{test} rows held out"),
        Split::Column { column, test_level } => format!("rows with {column} = {test_level} held out"),
    };
    let by = study.data.split_seed.map_or_else(String::new, |seed| format!(", drawn once by seed {seed}"));
    format!("{}, {held_out}{by}", study.data.source)
}

/// How rows are dealt out.
pub fn partition(partition: &Partition) -> String {
    match partition {
        Partition::Even { clients } => format!("{clients}, of the same size"),
        Partition::Column { column, at_most } => {
            let cut = at_most.iter().map(|(name, most)| format!(", at most {most} training rows at {name}"));
            format!("one for each {column}{}", cut.collect::<String>())
        }
        Partition::Skewed(Skew { clients, rho, kappa }) => {
            format!("{clients}, skewed (rho {}, kappa {})", shortest(*rho), kappa)
        }
    }
}

/// The model and its prior.
pub fn model(model: &Model) -> String {
    let kind = match &model.kind {
        Likelihood::Linear { noise_variance } => format!("linear, noise variance {}", shortest(*noise_variance)),
        Likelihood::Logistic { expectation, predictive } => format!("logistic{}", draws(*expectation, *predictive)),
        Likelihood::Mixture { variance, precisions: [first, second] } => format!(
            "mixture of two normal halves of variance {}, precisions times {} and {}",
            shortest(*variance),
            shortest(*first),
            shortest(*second)
        ),
        Likelihood::Softmax => "softmax".to_owned(),
        Likelihood::Network { hidden, draws } => {
            let sizes: Vec<String> = hidden.iter().map(usize::to_string).collect();
            format!("network of {} hidden units, predictions by {draws} draws", sizes.join(", "))
        }
    };
    let bias = if model.bias { "with bias" } else { "without bias" };
    format!("{kind}, {bias}, prior precision {}", shortest(model.prior_precision))
}

/// What is not the closed form.
fn draws(expectation: Expectation, predictive: Predictive) -> String {
    let expectation = match expectation {
        Expectation::Mixture => String::new(),
        Expectation::MonteCarlo { draws } => format!(", expectations by {draws} draws"),
    };
    let predictive = match predictive {
        Predictive::Mixture => String::new(),
        Predictive::Probit => ", probit predictions".to_owned(),
        Predictive::MonteCarlo { draws } => format!(", predictions by {draws} draws"),
    };
    format!("{expectation}{predictive}")
}

/// One line of a table for people: a label, and its text.
pub type Row = (String, String);

/// One row of a table.
pub fn row(label: &str, text: impl Into<String>) -> Row {
    (label.to_owned(), text.into())
}
