//! Warnings from the study, declared numbers and released values alone. Nothing here takes a row, or a score on rows: on
//! neighbouring tables with equal releases the warnings are equal (`tests/record_play.rs`).

use super::{Code, PublicWarnings, Warning};
use crate::method::Method;
use crate::plan::{ClientPlan, MethodPlan};
use crate::results::ChainResult;
use crate::settings::{Aggregator, Clip, Noise, Rounds};
use crate::{Intervals, PriorTerm};
use privacy::Unit;

/// ε over which little is promised: odds of a guess about a row may change by the factor e^10 = 22,026.
const LARGE_EPSILON: f64 = 10.0;

/// Rounds that take a week at one round a minute.
const PATIENCE: u64 = 10_000;

/// The same of chains, whose rounds are draws.
const PATIENCE_FOR_DRAWS: u64 = 10_000_000;

/// The share of a standard deviation by which a mean that has settled may still move in a round, where nothing is noisy.
const SETTLED: f64 = 0.1;

/// The same under noise that intervals count. An interval of nominal 90 % that stands half a standard deviation off its place holds
/// the truth in 86 % of cases: Φ(1.645 − ½) − Φ(−1.645 − ½).
const SETTLED_UNDER_NOISE: f64 = 0.5;

/// Prior standard deviations beyond which a coefficient is where the prior has 6 in 100,000 of its mass.
const FAR_IN_PRIOR: f64 = 4.0;

/// The least share of draws of a chain that differ from the one before.
const LEAST_MOVED: f64 = 0.01;

/// The fewest independent draws whose moments are served as a posterior.
const FEWEST_DRAWS: f64 = 10.0;

/// How many times a clipping bound may be larger or smaller than what a typical row reaches.
const FAR_FROM_SCALE: f64 = 10.0;

/// What a run has served, in released values alone.
#[derive(Debug, Clone, Copy)]
pub struct ServedPosterior<'a> {
    /// Names of the parameters; θ1, θ2 … where there are fewer.
    pub names: &'a [String],
    /// Their prior; none where it is not known.
    pub prior: Option<&'a PriorTerm>,
    /// Posterior means at the end.
    pub mean: &'a [f64],
    /// How far each mean moved in the last round ([`moves`]); empty where the method does not approach its answer by rounds.
    pub last_moves: &'a [f64],
    /// What the intervals of this posterior are worth.
    pub intervals: &'a Intervals,
    /// What was drawn: outer none for a method that does not draw, inner none where its draws are too few to be described.
    pub draws: Option<Option<&'a ChainResult>>,
}

/// Warnings about what is served.
pub fn of_served(served: &ServedPosterior<'_>) -> PublicWarnings {
    let all = [still_moving(served), beyond_prior(served), served.draws.and_then(few_draws)];
    PublicWarnings::of(all.into_iter().flatten())
}

/// Warnings about a method as it is planned for declared numbers.
pub fn of_plan(method: &Method, plan: &MethodPlan) -> PublicWarnings {
    let rounds = too_many_rounds(method, plan).or_else(|| drowned_rounds(method, plan));
    let all = [large_epsilon(method), rounds, private_row_counts(method), loose_delta(plan)];
    PublicWarnings::of(all.into_iter().flatten())
}

/// The same where the rows of each client are not declared: what would compare noise or δ with them is left out.
pub fn of_plan_without_rows(method: &Method, plan: &MethodPlan) -> PublicWarnings {
    let all = [large_epsilon(method), too_many_rounds(method, plan), private_row_counts(method)];
    PublicWarnings::of(all.into_iter().flatten())
}

/// Whether a method approaches its answer round by round, so that a last round that still moves it says something.
pub fn approaches(method: &Method) -> bool {
    method.algorithm.approaches() && method.most_rounds() > 1
}

/// How far each served mean moved, in standard deviations of what is served now.
pub fn moves(before: &[f64], now: &[f64], deviations: &[f64]) -> Vec<f64> {
    let distances = before.iter().zip(now).map(|(a, b)| (a - b).abs());
    distances.zip(deviations).map(|(distance, deviation)| distance / deviation).collect()
}

/// The name of a parameter, or its number.
fn name(names: &[String], place: usize) -> String {
    names.get(place).cloned().unwrap_or_else(|| format!("θ{}", place + 1))
}

/// The place of the largest number, and the number.
fn largest(numbers: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    numbers.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
}

/// W002: a served mean that moved so far in the last round that its interval says too much.
///
/// Where no interval is shown there is nothing to correct, and the move says little: with the default settings it is .1 to .4 of a
/// standard deviation on the heart data (117 of 120 runs over a tenth), .3 to 1.8 on Adult and wine, and with two to five rounds .1
/// to 1.3. Noise moves the mean, however long the run.
fn still_moving(served: &ServedPosterior<'_>) -> Option<Warning> {
    let most_allowed = match served.intervals {
        Intervals::WithoutNoise => SETTLED,
        Intervals::CountNoise { .. } => SETTLED_UNDER_NOISE,
        Intervals::DoNotHold { .. } | Intervals::IgnoreNoise | Intervals::FittedPrior => return None,
    };
    let (place, most) = largest(served.last_moves.iter().copied()).filter(|(_, most)| *most > most_allowed)?;
    Some(Warning {
        code: Code::StillMoving,
        what: format!(
            "the served mean of {} moved by {most:.2} of its standard deviation in the last round",
            name(served.names, place)
        ),
        hint: "the answer has not settled: more rounds, a smaller damping, or readout.average over more rounds".into(),
    })
}

/// W004: a coefficient more than four prior deviations from the prior's mean. Inputs or prior have the wrong scale, or
/// noise has led it there.
fn beyond_prior(served: &ServedPosterior<'_>) -> Option<Warning> {
    let prior = served.prior?;
    let in_deviations = |((mean, centre), precision): ((&f64, &f64), f64)| (mean - centre).abs() * precision.sqrt();
    let precisions = prior.clone().without_correlations().diagonal();
    let far = served.mean.iter().zip(prior.mean()).zip(precisions).map(in_deviations);
    let (place, most) = largest(far).filter(|(_, most)| *most > FAR_IN_PRIOR)?;
    Some(Warning {
        code: Code::BeyondPrior,
        what: format!(
            "the coefficient of {} is {most:.1} prior standard deviations from {}",
            name(served.names, place),
            if prior.mean()[place] == 0.0 { "0" } else { "the prior's mean" }
        ),
        hint: "give the input a scale of about its standard deviation in the schema, or the prior a smaller precision"
            .into(),
    })
}

/// Whether the moments of these draws are not to be served as a posterior; a parameter that did not move is worth no draws.
pub fn few_draws(draws: Option<&ChainResult>) -> Option<Warning> {
    let what = match draws {
        None => "its chains have too few draws to say anything".to_owned(),
        Some(chain) => {
            let moved = chain.each_moved.iter().copied().fold(chain.moved, f64::min);
            let stuck = chain.each_ess.contains(&None);
            let worth = chain.least_ess().unwrap_or(0.0);
            if stuck {
                "some parameters of a chain did not move at all".to_owned()
            } else if moved < LEAST_MOVED {
                format!("a chain moved in {:.2} % of its draws", 100.0 * moved)
            } else if worth < FEWEST_DRAWS {
                format!("its draws are worth {worth:.1} independent ones")
            } else {
                return None;
            }
        }
    };
    Some(Warning {
        code: Code::FewDraws,
        what: format!("{what}: their Gaussian is not served as a posterior"),
        hint: "smaller steps are accepted more often, and longer chains are worth more; or a larger ε".into(),
    })
}

/// An ε over 10.
pub fn large_epsilon(method: &Method) -> Option<Warning> {
    let epsilon = method.promise.as_ref()?.epsilon.get();
    (epsilon > LARGE_EPSILON).then(|| Warning {
        code: Code::LargeEpsilon,
        what: format!("ε is {epsilon}: it lets the odds of a guess about a row change by a factor of e^{epsilon}"),
        hint: "an ε of at most 10 bounds what can be learnt about a row; of at most 1 it bounds it well".into(),
    })
}

/// W010: more rounds than the budget pays for, or than anybody waits for.
fn too_many_rounds(method: &Method, plan: &MethodPlan) -> Option<Warning> {
    let patience = if method.algorithm.draws().is_some() { PATIENCE_FOR_DRAWS } else { PATIENCE };
    let (asked, made) = (method.most_rounds(), plan.rounds);
    let given = method.promise.as_ref().is_some_and(|promise| matches!(promise.noise, Noise::Multiplier(_)));
    let (what, hint) = if given && matches!(method.algorithm.rounds(), Rounds::Count(_)) && made < asked {
        let what = format!("{asked} rounds are asked for, and the budget ends after {made}");
        (what, "take fewer rounds, a larger noise_multiplier, or leave it out to have it calibrated".to_owned())
    } else if made > patience {
        (format!("{made} rounds are planned"), format!("a server and its sites seldom make more than {patience}"))
    } else {
        return None;
    };
    Some(Warning { code: Code::TooManyRounds, what, hint })
}

/// So many rounds that the noise of each outweighs all rows together.
fn drowned_rounds(method: &Method, plan: &MethodPlan) -> Option<Warning> {
    let noise = drowned(method, plan)?;
    Some(Warning {
        code: Code::TooManyRounds,
        what: format!(
            "with {} rounds each release has the noise multiplier {noise:.0}, so its noise is larger than the sum of all \
             clipped rows can be",
            plan.rounds
        ),
        hint: "use fewer rounds, so that each gets more of the budget".into(),
    })
}

/// The noise multiplier where sums of clipped rows, or persons, are smaller than their own noise, however their rows agree.
fn drowned(method: &Method, plan: &MethodPlan) -> Option<f64> {
    let promise = method.promise.as_ref().filter(|promise| promise.unit != Unit::Client)?;
    if !method.algorithm.clips_rows() || promise.noise != Noise::Calibrated {
        return None;
    }
    let rows = |client: &ClientPlan| client.among as f64 * client.event.sampling().rate();
    let all: f64 = plan.clients.iter().map(rows).sum();
    let summed = promise.aggregator != Aggregator::None;
    let drowned = |client: &&ClientPlan| client.noise_multiplier() > if summed { all } else { rows(client) };
    let every = !plan.clients.is_empty() && plan.clients.iter().all(|client| drowned(&client));
    every.then(|| plan.clients.iter().map(|client| client.noise_multiplier()).fold(0.0, f64::max))
}

/// W011: a rate, a weight or δ that goes by numbers of rows which the relation calls private.
fn private_row_counts(method: &Method) -> Option<Warning> {
    method.goes_by_private_rows().then(|| Warning {
        code: Code::PrivateRowCounts,
        what: "under add-remove the number of rows is private, but rates, weights or δ depend on it".into(),
        hint: "the promise holds for declared numbers; a simulation declares the true ones".into(),
    })
}

/// S014: a δ that is not under one over the units among which one is hidden.
fn loose_delta(plan: &MethodPlan) -> Option<Warning> {
    plan.clients.iter().any(ClientPlan::delta_is_loose).then(|| Warning {
        code: Code::LooseDelta,
        what: "δ is at least 1/n for some site: publishing one row outright would still satisfy the guarantee".into(),
        hint: "take δ well under one over the number of rows".into(),
    })
}

/// A clipping bound of rows' gradients beside what a typical row reaches by the schema's ranges; none where they are near.
///
/// typical: the root mean square of a row's gradient where values are spread evenly over their ranges, at the prior's mean.
pub fn clip_out_of_scale(method: &Method, typical: f64) -> Option<Warning> {
    let promise = method.promise.as_ref().filter(|_| method.algorithm.clips_rows())?;
    let Some(Clip::Fixed(clip)) = promise.clip else { return None };
    let ratio = clip.get() / typical;
    let (times, side, effect) = if ratio > FAR_FROM_SCALE {
        (ratio, "larger", "its noise hides rows that never come near it")
    } else if ratio < 1.0 / FAR_FROM_SCALE {
        (1.0 / ratio, "smaller", "almost every row is cut to it")
    } else {
        return None;
    };
    Some(Warning {
        code: Code::ClipOutOfScale,
        what: format!(
            "clip is {}, {times:.0} times {side} than what a row reaches by the schema's ranges ({typical:.2}): {effect}",
            clip.get()
        ),
        hint: format!("try clip = {typical:.2}, or mend centre, scale and bounds of the schema"),
    })
}
