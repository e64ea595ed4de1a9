//! A method as meant: from its keys to the settings of the inference room, one refusal for each thing that cannot be.

use super::fault::{Fault, Source};
use super::hybrid;
use super::meant::{Likelihood, Model};
use super::typed::{
    AlgorithmWord, BatchAsTyped, ChartWord, CommitteeWord, CovarianceWord, FactorWord, GradientsWord, LocalAsTyped,
    MethodAsTyped, NoiseWord, RatesWord, RepairAsTyped, RoundsAsTyped, ScheduleWord, SolverWord,
};
use super::unroll::Named;
use super::{chain, noise_aware, promise, statistics};
use inference::settings::{
    Aggregator, Batching, Chart, CommitteePrior, Covariance, Curvature, Damping, FactorRule, Gradients, Local, Method,
    NoiseReading, Optimiser, Promise, Rates, Readout, Repair, Rounds, Schedule, Scheme, Solver,
};
use privacy::SamplingRate;

/// Rounds of a method that goes on until its budget is spent, where the study sets no limit.
const MOST_ROUNDS: u64 = 10_000;

/// The optimisers by name.
const OPTIMISERS: [(&str, Optimiser); 4] = [
    ("sgd", Optimiser::Sgd),
    ("adagrad", Optimiser::Adagrad),
    ("adam", Optimiser::Adam),
    ("natural", Optimiser::Natural),
];

/// One method with its place in the file.
pub(super) struct At<'a> {
    source: &'a Source<'a>,
    pub(super) named: &'a Named,
    pub(super) typed: &'a MethodAsTyped,
}

impl At<'_> {
    /// Who is asked when.
    pub(super) fn schedule(&self) -> ScheduleWord {
        let usual = match self.typed.algorithm {
            AlgorithmWord::Statistics | AlgorithmWord::Chain => ScheduleWord::Synchronous,
            _ => ScheduleWord::Sequential,
        };
        self.typed.schedule.unwrap_or(usual)
    }

    /// Whether rows are drawn at a rate.
    pub(super) fn local_rate(&self) -> bool {
        self.typed.local.as_ref().is_some_and(|local| local.rate.is_some())
    }

    /// The other way in which rows are drawn.
    pub(super) fn local_batch(&self) -> Option<BatchAsTyped> {
        self.typed.local.as_ref().and_then(|local| local.batch)
    }

    /// A fault at a key of this method; its name is in the message.
    pub(super) fn fault(&self, key: &str, code: &'static str, message: &str, hint: &str) -> Fault {
        let message = format!("method {:?}: {message}", self.named.name);
        self.source.fault(&format!("method.{}.{key}", self.named.index), code, message, hint)
    }
}

/// All methods, in order.
pub(super) fn all(typed: &[MethodAsTyped], names: &[Named], source: &Source<'_>) -> Result<Vec<Method>, Fault> {
    names.iter().map(|named| method(&At { source, named, typed: &typed[named.index] })).collect()
}

fn method(at: &At<'_>) -> Result<Method, Fault> {
    let typed = at.typed;
    let scheme = scheme(at)?;
    let (solver, local) = match (scheme, &typed.local) {
        (Scheme::NoiseAware(_), _) => (noise_aware::solver(at)?, noise_aware::local()),
        (Scheme::Statistics(_), _) => (Solver::Likelihood, statistics::local().0),
        (Scheme::Chain(_), _) if typed.privacy.is_some() => (Solver::DpOptimisation, chain::local(at).0),
        (Scheme::Chain(_), _) => (Solver::Clear, chain::local(at).0),
        (_, Some(given)) => (solver(at)?, local(at, given)?),
        (_, None) => {
            let hint = "for example local = { steps = 10, rate = 0.05, optimiser = \"adam\", learning_rate = 0.05 }";
            return Err(at.fault("algorithm", "S011", "local, the optimisation at a client, is missing", hint));
        }
    };
    let promise = promise::of(at, solver)?;
    let covariance = match typed.covariance {
        _ if matches!(scheme, Scheme::Statistics(_)) => statistics::local().1,
        None if matches!(scheme, Scheme::Chain(_)) => chain::local(at).1,
        Some(CovarianceWord::MeanField) | None => Covariance::MeanField,
        Some(CovarianceWord::Full) => Covariance::Full,
    };
    check_solver(at, scheme, solver, covariance, &local)?;
    Ok(Method {
        name: at.named.name.clone(),
        scheme,
        solver,
        schedule: schedule(at)?,
        rounds: rounds(at, scheme, promise.as_ref())?,
        damping: damping(at, promise.as_ref())?,
        covariance,
        factor: factor(at, promise.as_ref())?,
        readout: readout(at)?,
        local,
        site_intercept: site_intercept(at, (scheme, solver, covariance), promise.as_ref())?,
        promise,
    })
}

fn scheme(at: &At<'_>) -> Result<Scheme, Fault> {
    let prior = match at.typed.prior {
        Some(CommitteeWord::Same) => CommitteePrior::Same,
        Some(CommitteeWord::Split) | None => CommitteePrior::Split,
    };
    match at.typed.algorithm {
        AlgorithmWord::Committee => Ok(Scheme::Committee(prior)),
        _ if at.typed.prior.is_some() => Err(at.fault(
            "prior",
            "S011",
            "a prior is chosen for a committee only",
            "leave it out; [model] has the prior",
        )),
        AlgorithmWord::NoiseAware => Ok(Scheme::NoiseAware(noise_aware::settings(at)?)),
        _ if at.typed.noise_aware.is_some() => Err(at.fault(
            "noise_aware",
            "S011",
            "these are constants of noise-aware PVI",
            "leave them out, or use algorithm = \"noise-aware\"",
        )),
        AlgorithmWord::Statistics => Ok(Scheme::Statistics(statistics::settings(at)?)),
        _ if at.typed.statistics.is_some() => Err(at.fault(
            "statistics",
            "S011",
            "these are constants of sufficient statistics",
            "leave them out, or use algorithm = \"statistics\"",
        )),
        AlgorithmWord::Chain => Ok(Scheme::Chain(chain::settings(at)?)),
        _ if at.typed.chain.is_some() => Err(at.fault(
            "chain",
            "S011",
            "these are constants of a chain",
            "leave them out, or use algorithm = \"chain\"",
        )),
        AlgorithmWord::Pvi => Ok(Scheme::Pvi),
        AlgorithmWord::GlobalVi => Ok(Scheme::GlobalVi),
        AlgorithmWord::GlobalViAtClients => Ok(Scheme::GlobalViAtClients),
    }
}

fn solver(at: &At<'_>) -> Result<Solver, Fault> {
    let parts = || match at.typed.parts {
        Some(parts @ 1..) => Ok(parts),
        Some(0) => Err(at.fault("parts", "S004", "parts is 0", "a client has at least one part, such as parts = 100")),
        None => Err(at.fault("solver", "S011", "this solver needs parts", "for example parts = 100")),
    };
    let Some(solver) = at.typed.solver else {
        let hint = "clear without privacy; dp-optimisation, perturb, average or virtual with it";
        return Err(at.fault("algorithm", "S011", "solver, how a client solves, is missing", hint));
    };
    match solver {
        SolverWord::Average => Ok(Solver::Average { parts: parts()? }),
        SolverWord::Virtual => Ok(Solver::Virtual { parts: parts()? }),
        _ if at.typed.parts.is_some() => {
            Err(at.fault("parts", "S011", "only average and virtual solvers have parts", "leave parts out"))
        }
        SolverWord::Hybrid => hybrid::solver(at),
        _ if at.typed.opening.is_some() => {
            Err(at.fault("opening", "S011", "only a hybrid solver has an opening", "leave opening out"))
        }
        SolverWord::Analytic => Ok(Solver::Analytic),
        SolverWord::Likelihood => Ok(Solver::Likelihood),
        SolverWord::Clear => Ok(Solver::Clear),
        SolverWord::DpOptimisation => Ok(Solver::DpOptimisation),
        SolverWord::Perturb => Ok(Solver::Perturb),
    }
}

/// Methods with the models that they are not for; the library refuses these too, but without a line.
pub(super) fn check_model(
    (names, methods): (&[Named], &[Method]),
    model: &Model,
    source: &Source<'_>,
) -> Result<(), Fault> {
    let kind = &model.kind;
    let of_lines = matches!(kind, Likelihood::Linear { .. } | Likelihood::Logistic { .. });
    let by_draws = matches!(kind, Likelihood::Network { .. });
    let gaussian = matches!(kind, Likelihood::Linear { .. });
    for (named, method) in names.iter().zip(methods) {
        let moments =
            matches!(method.scheme, Scheme::NoiseAware(n) if matches!(n.curvature, Curvature::Moments { .. }));
        let (key, why, hint) = if method.local.gradients == Gradients::Aligned && !by_draws {
            (
                "local.gradients",
                "aligned gradients are for networks, which draw their parameters once for a batch",
                "use gradients = \"full\"",
            )
        } else if moments && !of_lines {
            (
                "algorithm",
                "the rule of second moments is for linear and logistic models",
                "use noise_aware = { curvature = \"every-round\" }",
            )
        } else if matches!(method.scheme, Scheme::Statistics(_)) && !gaussian {
            (
                "algorithm",
                "sufficient statistics are those of linear models",
                "use algorithm = \"noise-aware\", \"pvi\" or \"global-vi\"",
            )
        } else if matches!(kind, Likelihood::Mixture { .. }) && !matches!(method.scheme, Scheme::Chain(_)) {
            ("algorithm", "a mixture's posterior has two modes, which no Gaussian q has", "use algorithm = \"chain\"")
        } else if model.bias && statistics::cuts_ones(method) {
            (
                "statistics.bound",
                "the bias is an input that is always 1, and a bound under 1 would cut it",
                "a bound of at least 1, or bias = false in [model]",
            )
        } else if method.solver.is_conjugate() && !gaussian {
            ("solver", "this solver rests on a Gaussian likelihood, which linear models have", "use dp-optimisation")
        } else if method.site_intercept.is_some() && !of_lines {
            (
                "site_intercept",
                "an intercept of each site's own is for linear and logistic models",
                "leave site_intercept out",
            )
        } else if let Err(error) = inference::plan::check(method) {
            let message = format!("method {:?}: {error}", method.name);
            let hint = "docs/guide/studies.md says what goes with what";
            return Err(source.fault(&format!("method.{}", named.index), "S009", message, hint));
        } else {
            continue;
        };
        let message = format!("method {:?}: {why}", method.name);
        return Err(source.fault(&format!("method.{}.{key}", named.index), "S009", message, hint));
    }
    Ok(())
}

/// Solvers with the optimisers, families and algorithms that they cannot have.
fn check_solver(at: &At<'_>, scheme: Scheme, solver: Solver, family: Covariance, local: &Local) -> Result<(), Fault> {
    if matches!(scheme, Scheme::Chain(_)) {
        return Ok(());
    }
    let natural = local.optimiser == Optimiser::Natural;
    let stepwise = matches!(solver, Solver::DpOptimisation | Solver::Hybrid(_));
    let global = matches!(scheme, Scheme::GlobalVi | Scheme::GlobalViAtClients);
    let by_gradient = stepwise || global;
    if natural && by_gradient {
        let why = "natural steps are taken in the clear, but here every step's gradient is clipped and noised";
        return Err(at.fault("local.optimiser", "S009", why, "use sgd, adagrad or adam"));
    }
    let local_steps = solver == Solver::DpOptimisation && matches!(scheme, Scheme::Pvi | Scheme::Committee(_));
    if local.gradients == Gradients::Aligned && !local_steps {
        let why = "aligned gradients belong to local steps of DP optimisation, of pvi or a committee";
        return Err(at.fault("local.gradients", "S009", why, "use gradients = \"full\""));
    }
    let adam = solver == Solver::DpOptimisation && local.optimiser == Optimiser::Adam && scheme == Scheme::Pvi;
    if at.typed.readout.noise == NoiseWord::Aware && !adam {
        let why = "the noise-aware readout is for PVI by DP optimisation with Adam, whose noise it knows";
        return Err(at.fault("readout.noise", "S009", why, "leave noise out of the readout"));
    }
    if family == Covariance::Full && by_gradient {
        let why = "a full covariance is solved in the clear, but here every step's gradient is clipped and noised";
        return Err(at.fault("covariance", "S009", why, "use covariance = \"mean-field\", or another solver"));
    }
    if family == Covariance::Full && !natural {
        let why = "a full covariance is moved by natural steps only";
        return Err(at.fault("local.optimiser", "S009", why, "use optimiser = \"natural\""));
    }
    if natural && local.batch != Batching::All {
        let key = if at.local_rate() { "local.rate" } else { "local.batch" };
        return Err(at.fault(key, "S009", "natural steps use all rows", "leave rate and batch out"));
    }
    if global && !matches!(solver, Solver::Clear | Solver::DpOptimisation) {
        let why = "global VI asks for one gradient a round";
        return Err(at.fault("solver", "S009", why, "use solver = \"clear\", or \"dp-optimisation\" with privacy"));
    }
    if global && local.steps != 1 {
        let why = "global VI makes one step a round";
        return Err(at.fault("local.steps", "S009", why, "leave steps out, and set rounds"));
    }
    Ok(())
}

/// An intercept of each site's own, with what it cannot be combined with.
fn site_intercept(
    at: &At<'_>,
    (scheme, solver, family): (Scheme, Solver, Covariance),
    promise: Option<&Promise>,
) -> Result<Option<f64>, Fault> {
    let Some(typed) = at.typed.site_intercept else { return Ok(None) };
    if !(1e-6..=1e6).contains(&typed.precision) {
        let why = format!("site_intercept.precision is {}, expected a number from 1e-6 to 1e6", typed.precision);
        return Err(at.fault(
            "site_intercept.precision",
            "S004",
            &why,
            "for example site_intercept = { precision = 1.0 }",
        ));
    }
    let (why, hint) = if promise.is_some_and(|p| p.aggregator != Aggregator::None) {
        (
            "a site's own intercept passes its own gate and never leaves it, so there is no sum to add it to",
            "no aggregator",
        )
    } else if !matches!(scheme, Scheme::Pvi | Scheme::NoiseAware(_)) {
        ("sites keep an intercept of their own in PVI and noise-aware PVI only", "use one of these")
    } else if solver.is_conjugate() {
        ("this solver has no intercept of each site's own", "use dp-optimisation, perturb, average or virtual")
    } else if family == Covariance::Full {
        ("with an intercept of each site's own q is mean-field", "use covariance = \"mean-field\"")
    } else {
        return Ok(Some(typed.precision));
    };
    Err(at.fault("site_intercept", "S009", why, &format!("{hint}, or leave site_intercept out")))
}

fn schedule(at: &At<'_>) -> Result<Schedule, Fault> {
    let rates = match at.typed.rates {
        Some(RatesWord::InverseRows) => Rates::InverseRows,
        Some(RatesWord::Equal) | None => Rates::Equal,
    };
    match at.schedule() {
        ScheduleWord::Asynchronous => Ok(Schedule::Asynchronous(rates)),
        _ if at.typed.rates.is_some() => {
            Err(at.fault("rates", "S011", "only an asynchronous schedule has rates", "leave rates out"))
        }
        ScheduleWord::Sequential => Ok(Schedule::Sequential),
        ScheduleWord::Synchronous => Ok(Schedule::Synchronous),
    }
}

fn rounds(at: &At<'_>, scheme: Scheme, promise: Option<&Promise>) -> Result<Rounds, Fault> {
    if let Scheme::Statistics(statistics) = scheme {
        return Ok(Rounds::Count(inference::plan::statistics_rounds(&statistics.rule)));
    }
    if let Scheme::Chain(chain) = scheme {
        return Ok(Rounds::Count(chain.rounds()));
    }
    let counted = match at.typed.rounds {
        Some(RoundsAsTyped::Word(_)) => return until_spent(at, scheme, promise),
        Some(RoundsAsTyped::Count(rounds)) => Some(rounds),
        None => None,
    };
    if at.typed.at_most.is_some() {
        return Err(at.fault("at_most", "S011", "at_most goes with rounds = \"until-spent\"", "leave at_most out"));
    }
    match (scheme, counted) {
        (Scheme::Committee(_), None | Some(1)) => Ok(Rounds::Count(1)),
        (Scheme::Committee(_), Some(_)) => {
            Err(at.fault("rounds", "S009", "a committee has one round", "leave rounds out, or use algorithm = \"pvi\""))
        }
        (_, None) => Err(at.fault("rounds", "S004", "rounds is missing", "for example rounds = 20")),
        (_, Some(0)) => Err(at.fault("rounds", "S004", "rounds is 0", "a method has at least one round")),
        (_, Some(rounds)) => Ok(Rounds::Count(rounds)),
    }
}

fn until_spent(at: &At<'_>, scheme: Scheme, promise: Option<&Promise>) -> Result<Rounds, Fault> {
    if promise.is_none() {
        let why = "without privacy there is no budget to spend";
        return Err(at.fault("rounds", "S006", why, "give a number of rounds"));
    }
    if at.typed.privacy.as_ref().is_some_and(|privacy| privacy.noise_multiplier.is_none()) {
        let why = "rounds until the budget is spent need a noise_multiplier: there is nothing to calibrate it for";
        return Err(at.fault("rounds", "S009", why, "add noise_multiplier to privacy, or give a number of rounds"));
    }
    match (scheme, at.typed.at_most.unwrap_or(MOST_ROUNDS)) {
        (Scheme::Committee(_), _) => Err(at.fault("rounds", "S009", "a committee has one round", "leave rounds out")),
        (_, 0) => Err(at.fault("at_most", "S004", "at_most is 0", "a method has at least one round")),
        (_, at_most) => Ok(Rounds::UntilSpent { at_most }),
    }
}

fn damping(at: &At<'_>, promise: Option<&Promise>) -> Result<Damping, Fault> {
    let rho = match (at.typed.damping, at.typed.algorithm) {
        (Some(rho), _) => rho,
        (None, AlgorithmWord::NoiseAware) => noise_aware::damping(promise),
        (None, _) => return Ok(Damping::NONE),
    };
    let why = format!("damping is {rho}, expected a number over 0 and at most 1");
    Damping::new(rho).ok_or_else(|| at.fault("damping", "S004", &why, "1 keeps every change whole; 0.1 keeps a tenth"))
}

fn factor(at: &At<'_>, promise: Option<&Promise>) -> Result<FactorRule, Fault> {
    match at.typed.factor {
        FactorWord::Free => Ok(FactorRule::Free),
        _ if promise.is_some_and(|p| p.aggregator != Aggregator::None) => Err(at.fault(
            "factor",
            "S011",
            "where only sums are opened, a client has no factor of its own",
            "leave factor out; readout.repair mends the total",
        )),
        FactorWord::Project => Ok(FactorRule::Project),
        FactorWord::Reset => Ok(FactorRule::Reset),
    }
}

fn readout(at: &At<'_>) -> Result<Readout, Fault> {
    let typed = &at.typed.readout;
    let repair = match typed.repair {
        None | Some(RepairAsTyped::Word(_)) => Repair::Project,
        Some(RepairAsTyped::Floor(by)) if by.floor.is_finite() && by.floor > 0.0 => Repair::Floor(by.floor),
        Some(RepairAsTyped::Floor(by)) => {
            let why = format!("floor is {}, expected a finite number over 0", by.floor);
            return Err(at.fault("readout.repair", "S004", &why, "for example { floor = 1e-3 }"));
        }
    };
    let usual = if at.typed.algorithm == AlgorithmWord::NoiseAware { noise_aware::average() } else { 1 };
    let noise = match typed.noise {
        NoiseWord::Plain => NoiseReading::Plain,
        NoiseWord::Aware => NoiseReading::Aware,
    };
    match typed.average {
        Some(0) => Err(at.fault("readout.average", "S004", "average is 0", "1 serves the last round")),
        average => Ok(Readout { repair, average: average.unwrap_or(usual), noise }),
    }
}

fn local(at: &At<'_>, typed: &LocalAsTyped) -> Result<Local, Fault> {
    let names = OPTIMISERS.map(|(name, _)| name);
    let Some((_, optimiser)) = OPTIMISERS.iter().find(|(name, _)| *name == typed.optimiser) else {
        let hint = match inference::nearest(&typed.optimiser, names.iter().copied()) {
            Some(name) => format!("did you mean {name:?}?"),
            None => format!("one of {}", names.join(", ")),
        };
        return Err(at.fault(
            "local.optimiser",
            "S004",
            &format!("there is no optimiser {:?}", typed.optimiser),
            &hint,
        ));
    };
    if typed.steps == 0 {
        return Err(at.fault("local.steps", "S004", "steps is 0", "an update has at least one step"));
    }
    if !(typed.learning_rate.is_finite() && typed.learning_rate > 0.0) {
        let why = format!("learning_rate is {}, expected a finite number over 0", typed.learning_rate);
        return Err(at.fault("local.learning_rate", "S004", &why, "for example 0.05"));
    }
    let chart = match typed.chart {
        ChartWord::LogDeviation => Chart::LogDeviation,
        ChartWord::LogVariance => Chart::LogVariance,
    };
    let gradients = match typed.gradients {
        GradientsWord::Full => Gradients::Full,
        GradientsWord::Aligned => Gradients::Aligned,
    };
    let (steps, learning_rate, keep_state) = (typed.steps, typed.learning_rate, typed.keep_state);
    Ok(Local { steps, batch: batch(at, typed)?, optimiser: *optimiser, learning_rate, keep_state, chart, gradients })
}

fn batch(at: &At<'_>, typed: &LocalAsTyped) -> Result<Batching, Fault> {
    match (typed.rate, typed.batch) {
        (Some(_), Some(_)) => {
            Err(at.fault("local.batch", "S011", "rate and batch both say how rows are drawn", "leave one of them out"))
        }
        (None, None | Some(BatchAsTyped::Word(_))) => Ok(Batching::All),
        (Some(rate), None) => SamplingRate::new(rate).map(Batching::Poisson).map_err(|e| {
            at.fault("local.rate", "S004", &e.to_string(), "the share of the rows in a step, such as 0.05")
        }),
        (None, Some(BatchAsTyped::Fraction(by))) if by.fraction > 0.0 && by.fraction <= 1.0 && by.at_least > 0 => {
            Ok(Batching::PoissonOf { fraction: by.fraction, at_least: by.at_least })
        }
        (None, Some(BatchAsTyped::Fixed(by))) if by.rows > 0 && by.without_replacement => {
            Ok(Batching::WithoutReplacement(by.rows))
        }
        (None, Some(_)) => Err(at.fault(
            "local.batch",
            "S004",
            "a batch has a fraction over 0 and at most 1, or rows over 0 drawn without replacement",
            "{ fraction = 0.02, at_least = 20 } or { rows = 100, without_replacement = true }",
        )),
    }
}
