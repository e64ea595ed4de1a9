//! `algorithm = "statistics"` as typed and as meant: its rule, its reading, and the keys that it has no use for.

use super::fault::Fault;
use super::method::At;
use super::typed::{CovarianceWord, FactorWord};
use inference::regression::{DEFAULT_RADIUS, DEFAULT_SHARE};
use inference::settings::{
    Batching, Chart, Covariance, Deviations, Gradients, Local, Method, Optimiser, Scheme, Statistics,
    StatisticsReading, StatisticsRule,
};
use serde::Deserialize;

/// The paper's share of the budget for deviations.
const PROJECTED_SHARE: f64 = 0.3;

/// `statistics`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatisticsAsTyped {
    #[serde(default)]
    rule: RuleWord,
    /// Assumed bounds of inputs and outcome, as encoded.
    bound: Option<f64>,
    /// row-norm: where deviations come from.
    deviations: Option<DeviationsWord>,
    /// projected, row-norm: the deviations' share of the budget.
    share: Option<f64>,
    /// row-norm: R.
    radius: Option<f64>,
    reading: Option<ReadingWord>,
}

/// What of a row is released.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleWord {
    #[default]
    RowNorm,
    Plain,
    Projected,
    Inputs,
}

/// Where deviations come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DeviationsWord {
    Asked,
    Known,
}

/// How noisy statistics are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReadingWord {
    NoiseAware,
    Ridge,
    Naive,
}

/// Rule and reading.
pub(super) fn settings(at: &At<'_>) -> Result<Statistics, Fault> {
    let typed = at.typed.statistics.clone().unwrap_or_default();
    let rule = match typed.rule {
        RuleWord::Plain => StatisticsRule::Plain { bound: bound(at, &typed)? },
        RuleWord::Inputs => StatisticsRule::Inputs { bound: bound(at, &typed)? },
        RuleWord::Projected => {
            StatisticsRule::Projected { bound: bound(at, &typed)?, share: share(at, &typed, PROJECTED_SHARE)? }
        }
        RuleWord::RowNorm => {
            let radius = over_zero(at, "radius", typed.radius.unwrap_or(DEFAULT_RADIUS))?;
            StatisticsRule::RowNorm { deviations: deviations(at, &typed)?, radius }
        }
    };
    stray(at, &typed)?;
    let reading = match typed.reading {
        Some(ReadingWord::NoiseAware) => StatisticsReading::NoiseAware,
        Some(ReadingWord::Ridge) => StatisticsReading::Ridge,
        Some(ReadingWord::Naive) => StatisticsReading::Naive,
        None if typed.rule == RuleWord::RowNorm => StatisticsReading::NoiseAware,
        None => StatisticsReading::Naive,
    };
    let unknown = reading == StatisticsReading::NoiseAware && typed.rule != RuleWord::RowNorm;
    if unknown || typed.rule == RuleWord::Inputs && reading != StatisticsReading::Naive {
        let why =
            "this reading needs sums whose noise it knows: noise-aware goes with row-norm, ridge with all but inputs";
        return Err(at.fault("statistics.reading", "S009", why, "use reading = \"naive\", or rule = \"row-norm\""));
    }
    Ok(Statistics { rule, reading })
}

fn deviations(at: &At<'_>, typed: &StatisticsAsTyped) -> Result<Deviations, Fault> {
    match typed.deviations {
        Some(DeviationsWord::Known) => Ok(Deviations::Known),
        Some(DeviationsWord::Asked) | None => {
            Ok(Deviations::Asked { bound: bound(at, typed)?, share: share(at, typed, DEFAULT_SHARE)? })
        }
    }
}

fn bound(at: &At<'_>, typed: &StatisticsAsTyped) -> Result<f64, Fault> {
    match typed.bound {
        Some(bound) => over_zero(at, "bound", bound),
        None => {
            let why = "the bound that inputs and outcome are assumed to have, as encoded, is missing";
            let hint = match typed.rule {
                RuleWord::RowNorm => {
                    "statistics = { bound = 7.5 }, from the schema; or deviations = \"known\" where the schema scales by them"
                }
                _ => "bound = 7.5 in `statistics`, from the schema",
            };
            let key = if at.typed.statistics.is_some() { "statistics" } else { "algorithm" };
            Err(at.fault(key, "S011", why, hint))
        }
    }
}

fn share(at: &At<'_>, typed: &StatisticsAsTyped, usual: f64) -> Result<f64, Fault> {
    match typed.share.unwrap_or(usual) {
        share if share > 0.0 && share < 1.0 => Ok(share),
        share => {
            let why = format!("statistics.share is {share}, expected a share of the budget between 0 and 1");
            Err(at.fault("statistics.share", "S004", &why, &format!("share = {usual} is usual")))
        }
    }
}

fn over_zero(at: &At<'_>, key: &str, value: f64) -> Result<f64, Fault> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    let why = format!("statistics.{key} is {value}, expected a finite number over 0");
    Err(at.fault(&format!("statistics.{key}"), "S004", &why, "for example statistics = { bound = 7.5, radius = 0.7 }"))
}

/// Keys that have no meaning for the rule, or for the algorithm.
fn stray(at: &At<'_>, typed: &StatisticsAsTyped) -> Result<(), Fault> {
    let row_norm = typed.rule == RuleWord::RowNorm;
    let known = typed.deviations == Some(DeviationsWord::Known);
    let asks = typed.rule == RuleWord::Projected || row_norm && !known;
    let own = [
        ("deviations", typed.deviations.is_some() && !row_norm),
        ("radius", typed.radius.is_some() && !row_norm),
        ("share", typed.share.is_some() && !asks),
        ("bound", typed.bound.is_some() && row_norm && known),
    ];
    if let Some((key, _)) = own.iter().find(|(_, stray)| *stray) {
        let why = format!("statistics.{key} has no meaning for this rule");
        return Err(at.fault(&format!("statistics.{key}"), "S011", &why, &format!("leave {key} out")));
    }
    let typed = at.typed;
    let other = [
        ("solver", typed.solver.is_some()),
        ("local", typed.local.is_some()),
        ("parts", typed.parts.is_some()),
        ("opening", typed.opening.is_some()),
        ("rounds", typed.rounds.is_some()),
        ("damping", typed.damping.is_some()),
        ("site_intercept", typed.site_intercept.is_some()),
        ("readout", typed.readout.average.is_some() || typed.readout.repair.is_some()),
        ("factor", typed.factor != FactorWord::Free),
    ];
    if typed.covariance == Some(CovarianceWord::MeanField) {
        let why = "the posterior of a linear model by sufficient statistics has a full covariance";
        return Err(at.fault("covariance", "S009", why, "leave covariance out, or write covariance = \"full\""));
    }
    match other.iter().find(|(_, stray)| *stray) {
        Some((key, _)) => {
            let why =
                "sufficient statistics are one sum over all rows, read once: there is nothing of that kind to choose";
            Err(at.fault(key, "S011", why, &format!("leave {key} out")))
        }
        None => Ok(()),
    }
}

/// True where values are cut to a bound under 1 before they are multiplied, so that an input of ones is cut too.
pub(super) fn cuts_ones(method: &Method) -> bool {
    let Scheme::Statistics(statistics) = method.scheme else { return false };
    let (StatisticsRule::Plain { bound } | StatisticsRule::Inputs { bound }) = statistics.rule else { return false };
    bound < 1.0
}

/// What stands where a local optimisation would: one natural step on all rows, of a q with full covariance.
pub(super) fn local() -> (Local, Covariance) {
    let (optimiser, chart, gradients) = (Optimiser::Natural, Chart::LogDeviation, Gradients::Full);
    let local =
        Local { steps: 1, batch: Batching::All, optimiser, learning_rate: 1.0, keep_state: false, chart, gradients };
    (local, Covariance::Full)
}
