//! From finished runs to the entries of `results.json`.

use super::engine::Work;
use super::posterior::Marginals;
use super::state::Finished;
use super::warnings::StudyContext;
use super::words;
use inference::Fit;
use inference::Method;
use inference::comparison::comparisons;
use inference::recovery::RecoveryResult;
use inference::results::{
    CalibrationBin, ChainResult, Coefficient, Curve, MethodResult, PrivacyResult, SiteResult, Summary, several_sites,
};
use inference::score::{PredictiveChecks, Scores, pooled_calibration};
use inference::settings::{Aggregator, Promise};
use inference::warning::{Code, Warning};
use std::collections::BTreeMap;

/// One method over all seeds; never called without a run.
pub(crate) fn method(work: Work<'_>, runs: &[Finished], inputs: &[String], known: &StudyContext<'_>) -> MethodResult {
    let each = |of: &dyn Fn(&Finished) -> Option<f64>| -> Option<Summary> {
        runs.iter().map(of).collect::<Option<Vec<_>>>().map(Summary::of)
    };
    let mean = |of: &dyn Fn(&Finished) -> f64| runs.iter().map(of).sum::<f64>() / runs.len().max(1) as f64;
    let (algorithm, solver, schedule) = names(work);
    // Scores of "local only" are means over sites; a posterior or a calibration would be that of one of them.
    let one = runs.first().filter(|_| work.has_posterior());
    let served = one.filter(|run| known.refused(work, run).is_none());
    MethodResult {
        name: work.name().to_owned(),
        algorithm: algorithm.to_owned(),
        solver,
        schedule: schedule.to_owned(),
        baseline: !matches!(work, Work::Method(_)),
        scores: Scores::summarised(&runs.iter().map(|run| &run.scores).collect::<Vec<_>>()),
        compared: Vec::new(),
        kl: each(&|run| run.kl),
        parameter: runs.iter().filter_map(|run| run.parameter).collect(),
        recovery: RecoveryResult::of(&runs.iter().map(|run| run.recovery.as_ref()).collect::<Vec<_>>()),
        sites: sites(runs),
        rounds: mean(&|run| run.rounds as f64),
        messages: mean(&|run| run.messages as f64),
        bytes: mean(&|run| run.bytes as f64),
        privacy: promised(work).and_then(|(method, promise)| privacy(method, promise, runs)),
        chain: one.and_then(|run| run.chain.as_ref()).map(|chain| named(chain, inputs)),
        moved: each(&|run| run.chain.as_ref().map(|chain| chain.moved)),
        bulk_ess: each(&|run| run.chain.as_ref().and_then(ChainResult::least_ess)),
        mean_error: each(&|run| run.curve.last().and_then(|point| point.mean_error)),
        variance_error: each(&|run| run.curve.last().and_then(|point| point.variance_error)),
        cpu_seconds: runs.iter().map(|run| run.cpu_seconds).sum(),
        curves: runs.iter().map(|run| Curve { seed: run.seed, points: run.curve.clone() }).collect(),
        posterior: served.map(|run| coefficients(run, inputs)).unwrap_or_default(),
        effects: served.and_then(|run| known.effects(run)),
        calibration: one.map(|_| calibration(runs)).unwrap_or_default(),
        checks: one.and_then(|_| checks(runs)),
        intervals: work.intervals(),
        fit: each_fit(runs),
        warnings: known.of_method(work, runs).into_iter().chain(each_fit(runs).and_then(not_converged)).collect(),
    }
}

/// Sets every method of the study beside the baselines, which are among them.
pub(crate) fn compare(methods: &mut [MethodResult]) {
    for number in 0..methods.len() {
        methods[number].compared = match methods[number].baseline {
            true => Vec::new(),
            false => comparisons(methods, number),
        };
    }
}

/// Calibration of all seeds together.
fn calibration(runs: &[Finished]) -> Vec<CalibrationBin> {
    pooled_calibration(&runs.iter().map(|run| run.calibration.as_slice()).collect::<Vec<_>>())
}

/// Predictive checks of all seeds together; none where a seed has none, or nothing could be checked.
fn checks(runs: &[Finished]) -> Option<PredictiveChecks> {
    let seeds: Vec<&PredictiveChecks> = runs.iter().map(|run| run.checks.as_ref()).collect::<Option<_>>()?;
    Some(PredictiveChecks::pooled(&seeds)).filter(|checks| !checks.tenths.is_empty())
}

/// How the searches of all seeds ended together.
fn each_fit(runs: &[Finished]) -> Option<Fit> {
    runs.iter().filter_map(|run| run.fit).reduce(Fit::and)
}

/// What is said of a search that ended short of an optimum.
fn not_converged(fit: Fit) -> Option<Warning> {
    (fit.converged == Some(false)).then(|| Warning {
        code: Code::NotConverged,
        what: format!("this baseline did not converge in {} steps, and nothing is compared with it", fit.steps),
        hint: "scale the inputs to numbers near 1, or raise the precision of the prior".into(),
    })
}

/// The draws under the parameters' own names, where these are known.
fn named(chain: &ChainResult, names: &[String]) -> ChainResult {
    let mut chain = chain.clone();
    if names.len() == chain.parameters.len() {
        chain.parameters.iter_mut().zip(names).for_each(|(parameter, name)| parameter.name.clone_from(name));
    }
    chain
}

/// Each client's scores over the seeds in which it has held-out rows, in the order of the first seed.
fn sites(runs: &[Finished]) -> Vec<SiteResult> {
    let mut found: Vec<(&str, Vec<&Scores<f64>>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for site in runs.iter().flat_map(|run| &run.sites) {
        let place = *places.entry(&site.name).or_insert(found.len());
        if place == found.len() {
            found.push((&site.name, Vec::new()));
        }
        found[place].1.push(&site.scores);
    }
    let site = |(name, seeds): (&str, Vec<_>)| SiteResult { name: name.to_owned(), scores: Scores::summarised(&seeds) };
    found.into_iter().map(site).collect()
}

fn names(work: Work<'_>) -> (&'static str, String, &'static str) {
    let baseline = |name| (name, "clear".to_owned(), "sequential");
    match work {
        Work::Method(method) => {
            (method.algorithm.descriptor().name, words::does(method), words::schedule(method.schedule))
        }
        Work::Constant { .. } => baseline("constant"),
        Work::LocalOnly(_) => baseline("local-only"),
        Work::NonPrivate(_) => baseline("non-private"),
    }
}

fn promised(work: Work<'_>) -> Option<(&Method, &Promise)> {
    match work {
        Work::Method(method) => method.promise.as_ref().map(|promise| (method, promise)),
        Work::Constant { .. } | Work::LocalOnly(_) | Work::NonPrivate(_) => None,
    }
}

fn privacy(method: &Method, promise: &Promise, runs: &[Finished]) -> Option<PrivacyResult> {
    let first = runs.first()?;
    let most = |of: &dyn Fn(&Finished) -> Option<f64>| runs.iter().filter_map(of).fold(0.0, f64::max);
    let granted = first.spending.iter().map(|client| (client.granted(promise.epsilon.get()), client.delta));
    Some(PrivacyResult {
        unit: promise.unit.to_string(),
        adjacency: promise.adjacency.to_string(),
        epsilon: granted.clone().map(|(epsilon, _)| epsilon).reduce(f64::max).unwrap_or(promise.epsilon.get()),
        delta: first.spending.iter().map(|client| client.delta).fold(0.0, f64::max),
        aggregator: words::aggregator(promise.aggregator).to_owned(),
        secure_sum: words::secure_sum(promise.aggregator),
        promise: format!("{} promises {}.", method.name, words::promised(method, promise)),
        noise_multiplier: most(&|run| run.noise_multiplier),
        clip: most(&|run| run.clip),
        bounded: method.algorithm.bounded(promise).rows,
        accountant: words::accountant(promise.accountant).to_owned(),
        clients: first.spending.clone(),
        several_sites: match method.sites.is_empty() {
            true => Vec::new(),
            false => several_sites(&granted.collect::<Vec<_>>(), promise.aggregator != Aggregator::None),
        },
    })
}

fn coefficients(run: &Finished, inputs: &[String]) -> Vec<Coefficient> {
    let Marginals { mean, deviation, quantiles, .. } = &run.posterior;
    Coefficient::named(inputs, mean, deviation, quantiles.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_ended_short_of_an_optimum_is_warned_of_by_its_code() {
        let fit = |converged| Fit { steps: 200, converged };
        assert_eq!((not_converged(fit(Some(true))), not_converged(fit(None))), (None, None));
        let said = not_converged(fit(Some(false))).unwrap();
        assert_eq!(said.code.as_str(), "S017");
        assert!(said.what.starts_with("this baseline did not converge in 200 steps"), "{said:?}");
        assert_eq!(fit(Some(true)).and(fit(Some(false))).converged, Some(false));
        assert_eq!(fit(None).and(fit(Some(true))), fit(None));
    }
}
