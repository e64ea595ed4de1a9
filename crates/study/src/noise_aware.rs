//! `algorithm = "noise-aware"` as meant: its rule, its constants, and the keys that it has no use for.

use super::fault::Fault;
use super::method::At;
use super::typed::{CurvatureWord, NoiseAwareAsTyped};
use inference::settings::{
    Aggregator, Batching, Chart, Curvature, Gradients, Local, NoiseAware, Optimiser, Promise, Solver,
};

/// Chosen on Adult, on other splits than those of the studies; used unchanged on every other data set
/// (docs/maths/noise-aware.md).
const WHITENING: f64 = 0.6;
const FLOOR: f64 = 0.1;
const CAUTION: f64 = 3.0;
const WEIGHT: f64 = 2.0;
/// Usual bound of second moments, as a share of the clip.
const MOMENTS_OF_CLIP: f64 = 0.7;
/// Bound of second moments where nothing is clipped.
const UNBOUNDED: f64 = 1000.0;
/// ρ where each client noises its own sums.
const DAMPING_ALONE: f64 = 0.15;
/// ρ where clients share one noise, or there is none.
const DAMPING_SHARED: f64 = 0.25;
/// Readouts that are averaged.
const AVERAGE: u32 = 6;

/// The rule and its constants.
pub(super) fn settings(at: &At<'_>) -> Result<NoiseAware, Fault> {
    let typed = at.typed.noise_aware.clone().unwrap_or_default();
    let NoiseAwareAsTyped { curvature, looks, moment_bound, weight, whitening, floor, caution } = typed;
    let positive = |key: &str, value: Option<f64>, usual: f64| match value.unwrap_or(usual) {
        value if value.is_finite() && value > 0.0 => Ok(value),
        value => {
            let why = format!("noise_aware.{key} is {value}, expected a finite number over 0");
            Err(at.fault(&format!("noise_aware.{key}"), "S004", &why, &format!("{key} = {usual} is usual")))
        }
    };
    let curvature = match curvature {
        CurvatureWord::Moments => {
            let bound =
                positive("moment_bound", moment_bound, clip(at).map_or(UNBOUNDED, |clip| MOMENTS_OF_CLIP * clip))?;
            Curvature::Moments { looks: looks.unwrap_or(1).max(1), bound }
        }
        CurvatureWord::EveryRound => Curvature::EveryRound { weight: positive("weight", weight, WEIGHT)? },
    };
    let whitening = match whitening.unwrap_or(WHITENING) {
        value if (0.0..=1.0).contains(&value) => value,
        value => {
            let why = format!("noise_aware.whitening is {value}, expected a number from 0 to 1");
            return Err(at.fault("noise_aware.whitening", "S004", &why, "0 does not whiten; 0.6 is usual"));
        }
    };
    let (floor, caution) = (positive("floor", floor, FLOOR)?, positive("caution", caution, CAUTION)?);
    Ok(NoiseAware { curvature, whitening, floor, caution })
}

/// ρ where the study does not set it.
pub(super) fn damping(promise: Option<&Promise>) -> f64 {
    let each = promise.is_some_and(|promise| promise.aggregator == Aggregator::None);
    if each { DAMPING_ALONE } else { DAMPING_SHARED }
}

/// How many readouts are averaged where the study does not say.
pub(super) fn average() -> u32 {
    AVERAGE
}

/// The bound of residuals.
fn clip(at: &At<'_>) -> Option<f64> {
    match at.typed.privacy.as_ref()?.clip? {
        super::typed::ClipAsTyped::Bound(bound) => Some(bound),
        super::typed::ClipAsTyped::TimesRate(_) => None,
    }
}

/// One clipped sum over all rows an answer: in the clear where nothing is promised.
pub(super) fn solver(at: &At<'_>) -> Result<Solver, Fault> {
    for (key, given) in [("solver", at.typed.solver.is_some()), ("local", at.typed.local.is_some())] {
        if given {
            let why = "noise-aware PVI sends one sum over all rows a round: there is no local optimisation to choose";
            return Err(at.fault(key, "S011", why, &format!("leave {key} out")));
        }
    }
    Ok(if at.typed.privacy.is_some() { Solver::DpOptimisation } else { Solver::Clear })
}

/// What stands where a local optimisation would: all rows, once.
pub(super) fn local() -> Local {
    let (optimiser, chart, gradients) = (Optimiser::Sgd, Chart::LogDeviation, Gradients::Full);
    Local { steps: 1, batch: Batching::All, optimiser, learning_rate: 1.0, keep_state: false, chart, gradients }
}
