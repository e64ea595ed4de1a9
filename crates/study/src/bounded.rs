//! What bounds a row's part of a sum, in words: a clipping bound, or what a rule of sufficient statistics does to the row.

use crate::digits::shortest;
use inference::settings::{Chain, Clip, Deviations, Method, Promise, Sampler, Scheme, Start, StatisticsRule};

/// How every row is bounded, as chosen.
pub(super) fn words(method: &Method, promise: &Promise) -> String {
    let Some(rule) = rule(method) else {
        return match promise.clip {
            Clip::Fixed(bound) if asks_ratios(method) => match method.scheme {
                Scheme::Chain(chain) if clips_gradients(&chain) => {
                    format!("gradients clipped to {bound}, log-ratios to {RATIO}")
                }
                _ => format!("log-ratios clipped to {RATIO}"),
            },
            Clip::Fixed(bound) => format!("clipped to {bound}"),
            Clip::TimesRate(bound) => format!("clipped to {bound} times the sampling rate"),
        };
    };
    match rule {
        StatisticsRule::Plain { bound } | StatisticsRule::Inputs { bound } => cut(bound),
        StatisticsRule::Projected { bound, .. } => {
            format!("{} for the deviations, then projected to fractions of these", cut(bound))
        }
        StatisticsRule::RowNorm { deviations: Deviations::Asked { bound, .. }, radius } => {
            format!("{} for the deviations, then {}", cut(bound), scaled_down(radius))
        }
        StatisticsRule::RowNorm { deviations: Deviations::Known, radius } => scaled_down(radius),
    }
}

/// What the noise of the last stage is on, whose largest bound is `clip`.
pub(super) fn sums(method: &Method, clip: &str) -> String {
    match rule(method) {
        None if asks_ratios(method) => format!("sums of log-ratios, each clipped to {RATIO}"),
        None => format!("sums clipped at {clip}"),
        Some(StatisticsRule::Plain { bound }) => format!("sums of products, {}", cut(bound)),
        Some(StatisticsRule::Inputs { bound }) => format!("each row, {}", cut(bound)),
        Some(StatisticsRule::Projected { .. }) => {
            "sums of products, values projected to fractions of their deviations".to_owned()
        }
        Some(StatisticsRule::RowNorm { radius, .. }) => format!("sums of outer products, {}", scaled_down(radius)),
    }
}

/// The same of the stage before it.
pub(super) fn first_sums(method: &Method, clip: &str) -> String {
    match rule(method) {
        Some(
            StatisticsRule::Projected { bound, .. }
            | StatisticsRule::RowNorm { deviations: Deviations::Asked { bound, .. }, .. },
        ) => format!("sums of squares, {}", cut(bound)),
        _ => format!("sums clipped at {clip}"),
    }
}

/// R of a row, as it is said: times the root of the inputs and the outcome.
pub(super) fn norm(radius: f64) -> String {
    format!("{}·√(d + 1)", shortest((radius * 1e4).round() / 1e4))
}

/// What a log-ratio is clipped to.
const RATIO: &str = "a bound that follows from the noise";

/// Whether a chain's last question is about log-ratios.
fn asks_ratios(method: &Method) -> bool {
    matches!(method.scheme, Scheme::Chain(chain) if !matches!(chain.sampler, Sampler::Langevin { .. }))
}

/// Whether gradients are asked for beside these.
fn clips_gradients(chain: &Chain) -> bool {
    matches!(chain.sampler, Sampler::Hamiltonian { .. }) || matches!(chain.start, Start::Variational { .. })
}

fn rule(method: &Method) -> Option<StatisticsRule> {
    if let Scheme::Statistics(statistics) = method.scheme { Some(statistics.rule) } else { None }
}

fn cut(bound: f64) -> String {
    format!("values cut to ±{}", shortest(bound))
}

fn scaled_down(radius: f64) -> String {
    format!("rows scaled down to a norm of {} in units of their deviations", norm(radius))
}
