//! The promise of a method as meant: unit, relation, budget, bound, noise and who is trusted, where they fit together.

use super::chain;
use super::fault::Fault;
use super::method::At;
use super::typed::{
    AccountantWord, AggregatorWord, AlgorithmWord, BatchAsTyped, ClipAsTyped, DeltaAsTyped, PrivacyAsTyped,
    ScheduleWord, SumNoiseWord,
};
use inference::settings::{Aggregator, Claim, Clip, DeltaRule, Noise, Promise, SecureNoise, SecureSum, Solver};
use privacy::{Adjacency, Delta, Epsilon, NoiseMultiplier, NormBound, PrivacyError, ShareNoise, Unit};

/// The promise of a method; none for one that solves in the clear and says nothing of privacy.
pub(super) fn of(at: &At<'_>, solver: Solver) -> Result<Option<Promise>, Fault> {
    let typed = match (&at.typed.privacy, solver) {
        (None, Solver::Clear) => return Ok(None),
        (None, _) if at.typed.algorithm == AlgorithmWord::Statistics => {
            let why = "sufficient statistics are noised, but no privacy is promised";
            return Err(at.fault("algorithm", "S006", why, "add privacy = { … }; without it every run has a baseline"));
        }
        (None, _) => {
            let why = "this solver clips and noises, but no privacy is promised";
            return Err(at.fault("solver", "S006", why, "add privacy = { … }, or use solver = \"clear\""));
        }
        (Some(_), Solver::Clear) => {
            let why = "a method that solves in the clear adds no noise, so it cannot promise privacy";
            return Err(at.fault("privacy", "S006", why, "leave privacy out, or use another solver"));
        }
        (Some(typed), _) => typed,
    };
    let promise = Promise {
        unit: typed.unit,
        adjacency: typed.adjacency,
        epsilon: epsilon(at)?,
        delta: delta(at, typed)?,
        clip: clip(at, typed, solver)?,
        noise: noise(at, typed)?,
        aggregator: aggregator(at, typed)?,
        accountant: match typed.accountant {
            AccountantWord::Certified => Claim::Certified,
            AccountantWord::Moments => Claim::Moments,
        },
    };
    check_unit(at, &promise, solver)?;
    check_aggregator(at, &promise, solver)?;
    check_sampling(at, &promise, solver)?;
    Ok(Some(promise))
}

/// What the privacy room says of a number, at its key.
fn checked<T>(at: &At<'_>, key: &str, hint: &str, found: Result<T, PrivacyError>) -> Result<T, Fault> {
    found.map_err(|error| at.fault(&format!("privacy.{key}"), "S004", &error.to_string(), hint))
}

fn epsilon(at: &At<'_>) -> Result<Epsilon, Fault> {
    let epsilon = at.named.epsilon.unwrap_or(f64::NAN);
    let hint = "ε is usually between 0.1 and 10; for no noise at all use solver = \"clear\" without privacy";
    if epsilon == 0.0 {
        let why = "epsilon is 0: that promises that nothing at all is learnt from the data";
        return Err(at.fault("privacy.epsilon", "S004", why, hint));
    }
    checked(at, "epsilon", hint, Epsilon::new(epsilon))
}

fn delta(at: &At<'_>, typed: &PrivacyAsTyped) -> Result<DeltaRule, Fault> {
    let hint = "take δ well under one over the number of rows, such as 1e-5";
    match typed.delta {
        DeltaAsTyped::Word(_) if typed.unit == Unit::Client => {
            let why = "delta = \"power-of-ten\" goes by a client's rows, but the unit is the client";
            Err(at.fault("privacy.delta", "S008", why, "give a number under one over the number of clients"))
        }
        DeltaAsTyped::Word(_) => Ok(DeltaRule::PowerOfTenBelowRows),
        DeltaAsTyped::Number(0.0) => {
            Err(at.fault("privacy.delta", "S004", "delta is 0, which Gaussian noise cannot promise", hint))
        }
        DeltaAsTyped::Number(delta) => Ok(DeltaRule::Fixed(checked(at, "delta", hint, Delta::new(delta))?)),
    }
}

fn clip(at: &At<'_>, typed: &PrivacyAsTyped, solver: Solver) -> Result<Clip, Fault> {
    let hint = "for example clip = 2.0";
    let Some(clip) = typed.clip else {
        let ratios = at.typed.algorithm == AlgorithmWord::Chain && !chain::clips_gradients(at);
        if at.typed.algorithm == AlgorithmWord::Statistics || ratios {
            return Ok(Clip::Fixed(checked(at, "clip", hint, NormBound::new(1.0))?));
        }
        return Err(at.fault(
            "privacy",
            "S001",
            "`clip`, the largest norm of one row's gradient or of a change, is missing",
            hint,
        ));
    };
    match clip {
        _ if at.typed.algorithm == AlgorithmWord::Statistics => {
            let why = "the bound of a row's statistics follows from the rule";
            Err(at.fault("privacy.clip", "S011", why, "leave clip out; `statistics` has bound and radius"))
        }
        _ if at.typed.algorithm == AlgorithmWord::Chain && !chain::clips_gradients(at) => {
            let why = "the bound of a row's log-ratio follows from the noise";
            Err(at.fault("privacy.clip", "S011", why, "leave clip out"))
        }
        ClipAsTyped::Bound(bound) => Ok(Clip::Fixed(checked(at, "clip", hint, NormBound::new(bound))?)),
        ClipAsTyped::TimesRate(_) if !matches!(solver, Solver::DpOptimisation | Solver::Hybrid(_)) => {
            let why = "times_rate bounds gradients that are scaled by rows / batch, and this solver clips changes";
            Err(at.fault("privacy.clip", "S009", why, hint))
        }
        ClipAsTyped::TimesRate(by) => Ok(Clip::TimesRate(checked(at, "clip", hint, NormBound::new(by.times_rate))?)),
    }
}

fn noise(at: &At<'_>, typed: &PrivacyAsTyped) -> Result<Noise, Fault> {
    let hint = "noise deviation / sensitivity, usually between 0.5 and 50; leave it out to have it calibrated";
    match typed.noise_multiplier {
        None => Ok(Noise::Calibrated),
        Some(z) => Ok(Noise::Multiplier(checked(at, "noise_multiplier", hint, NoiseMultiplier::new(z))?)),
    }
}

/// Most compute nodes: the privacy room's limit.
const MOST_NODES: u32 = 256;

/// Compute nodes where a study does not say how many.
const NODES: u32 = 2;

fn aggregator(at: &At<'_>, typed: &PrivacyAsTyped) -> Result<Aggregator, Fault> {
    let aggregator = match typed.aggregator {
        AggregatorWord::None => Aggregator::None,
        AggregatorWord::Curator => Aggregator::Curator,
        AggregatorWord::SecureSum => {
            let noise = match typed.noise.unwrap_or(SumNoiseWord::Nodes) {
                SumNoiseWord::Nodes => SecureNoise::Nodes,
                SumNoiseWord::DiscreteGaussian => SecureNoise::Clients(ShareNoise::DiscreteGaussian),
                SumNoiseWord::Skellam => SecureNoise::Clients(ShareNoise::Skellam),
            };
            let nodes = typed.nodes.unwrap_or(NODES);
            if !(2..=MOST_NODES).contains(&nodes) {
                let why = format!(
                    "nodes is {nodes}, expected from 2 (one alone would see every client's sum) to {MOST_NODES}"
                );
                return Err(at.fault("privacy.nodes", "S004", &why, "nodes = 2, run by two organisations"));
            }
            if noise == SecureNoise::Nodes && typed.colluders.is_some() {
                let why = "colluders tell their shares of the noise, and here the nodes add it";
                return Err(at.fault(
                    "privacy.colluders",
                    "S011",
                    why,
                    "leave colluders out, or let clients add the noise",
                ));
            }
            let (colluders, dropouts) = (typed.colluders.unwrap_or(0), typed.dropouts.unwrap_or(0));
            return Ok(Aggregator::SecureSum(SecureSum { nodes, noise, colluders, dropouts }));
        }
    };
    let stray = [
        ("nodes", typed.nodes.is_some()),
        ("noise", typed.noise.is_some()),
        ("colluders", typed.colluders.is_some()),
        ("dropouts", typed.dropouts.is_some()),
    ];
    match stray.iter().find(|(_, stray)| *stray) {
        Some((key, _)) => {
            let why = format!("{key} belongs to a secure sum");
            let hint = format!("leave {key} out, or use aggregator = \"secure-sum\"");
            Err(at.fault(&format!("privacy.{key}"), "S011", &why, &hint))
        }
        None => Ok(aggregator),
    }
}

/// A client as the unit: only a whole change bounds what a client can do.
fn check_unit(at: &At<'_>, promise: &Promise, solver: Solver) -> Result<(), Fault> {
    if promise.unit == Unit::Example {
        return Ok(());
    }
    if at.typed.algorithm == AlgorithmWord::Statistics {
        let why = "sufficient statistics bound what a row does, not what a whole client can change";
        return Err(at.fault("privacy.unit", "S008", why, "use unit = \"example\""));
    }
    if solver != Solver::Perturb {
        let why = "clipping each example or part does not bound what a whole client can change";
        return Err(at.fault("privacy.unit", "S008", why, "use solver = \"perturb\", or unit = \"example\""));
    }
    if promise.adjacency == Adjacency::AddRemove && promise.aggregator == Aggregator::None {
        let why = "a client that joins or leaves is seen by its missing message, whatever noise the others carry";
        return Err(at.fault("privacy.adjacency", "S008", why, "use adjacency = \"substitute\", or an aggregator"));
    }
    Ok(())
}

/// An aggregator adds up one sum of all clients in a round.
fn check_aggregator(at: &At<'_>, promise: &Promise, solver: Solver) -> Result<(), Fault> {
    if promise.aggregator == Aggregator::None {
        return Ok(());
    }
    let global = matches!(
        at.typed.algorithm,
        AlgorithmWord::GlobalVi | AlgorithmWord::NoiseAware | AlgorithmWord::Statistics | AlgorithmWord::Chain
    );
    let why = match solver {
        _ if global => None,
        Solver::DpOptimisation => Some(
            "DP optimisation releases every local step at the client, so there is no sum for an aggregator to noise",
        ),
        _ if solver.is_conjugate() => {
            Some("this solver releases its sums at the client, which reads its factor off them")
        }
        _ => None,
    };
    if let Some(why) = why {
        let hint = "use aggregator = \"none\"; with an aggregator use average, virtual or perturb, global-vi, noise-aware, statistics or chain";
        return Err(at.fault("privacy.aggregator", "S007", why, hint));
    }
    if at.schedule() != ScheduleWord::Synchronous {
        let why = "an aggregator adds up all clients at once";
        return Err(at.fault("schedule", "S007", why, "use schedule = \"synchronous\""));
    }
    let sampled = at.local_rate() || !matches!(at.local_batch(), None | Some(BatchAsTyped::Word(_)));
    if promise.aggregator.by_shares() && solver == Solver::DpOptimisation && sampled {
        let why = "noise shares are charged for all rows: no amplification by sampling is proved for them";
        return Err(at.fault("local", "S007", why, "use batch = \"all\", or noise = \"nodes\""));
    }
    Ok(())
}

/// Ways to draw rows that the relation or the accountant does not know.
fn check_sampling(at: &At<'_>, promise: &Promise, solver: Solver) -> Result<(), Fault> {
    if !matches!(solver, Solver::DpOptimisation | Solver::Hybrid(_)) {
        return Ok(());
    }
    let fixed = matches!(at.local_batch(), Some(BatchAsTyped::Fixed(_)));
    if fixed && promise.adjacency == Adjacency::AddRemove {
        let why = "a batch of fixed size changes its law for every row when one row is added or removed";
        return Err(at.fault("local.batch", "S009", why, "use adjacency = \"substitute\", or a rate"));
    }
    let sampled = at.local_rate() || matches!(at.local_batch(), Some(BatchAsTyped::Fraction(_)));
    if promise.accountant == Claim::Moments && (fixed || sampled && promise.adjacency == Adjacency::Substitute) {
        let why = "the moments accountant knows batches drawn at a rate under add-remove only";
        return Err(at.fault("privacy.accountant", "S009", why, "use accountant = \"certified\""));
    }
    Ok(())
}
