//! Two finished runs beside each other: scores paired by seed, promises, and what each says about the columns.
//!
//! What cannot be compared is not, and says why: scores need the same rows, the same split and seeds in common; effects need the same
//! outcome and scale.

use crate::error::StudyError;
use crate::run_results::{MethodEffects, RunResults};
use inference::comparison::{Difference, comparable};
use inference::effects::{EffectScale, Effects};
use inference::results::{MethodResult, Results, Summary};
use serde::Serialize;
use std::path::Path;

/// A part of a comparison, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared<T> {
    /// Its rows.
    Rows(Vec<T>),
    /// Why it was not made.
    Refused(String),
}

impl<T> Compared<T> {
    fn of(rows: Result<Vec<T>, String>) -> Self {
        rows.map_or_else(Self::Refused, Self::Rows)
    }
}

/// Two runs beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// Studies of the two runs.
    pub studies: [String; 2],
    /// Scores on held-out rows.
    pub scores: Compared<ScoreDifference>,
    /// What each promises.
    pub privacy: Vec<PrivacyBeside>,
    /// What each says about the columns.
    pub effects: Compared<EffectDifference>,
    /// The seed whose posterior the effects are of, in each run; none of a fit, whose noise has no seed.
    pub effect_seeds: [Option<u64>; 2],
}

/// One score of one method in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreDifference {
    /// The method in the first run.
    pub method: String,
    /// The method in the second run.
    pub other: String,
    /// The score.
    pub score: &'static str,
    /// Means over the seeds that both have.
    pub means: [f64; 2],
    /// Second less first, paired by seed.
    pub difference: Difference,
}

/// What one method promises in both runs; none where it promises nothing or is not there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrivacyBeside {
    /// The method in the first run, or in the second where the first has none.
    pub method: String,
    /// In each run.
    pub promises: [Option<PromiseBeside>; 2],
}

/// A promise in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromiseBeside {
    /// ε that was granted.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// Largest certified ε of a site.
    pub certified: Option<f64>,
    /// Whom it protects, which tables are neighbours, and who is trusted.
    pub terms: String,
}

/// One effect in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectDifference {
    /// The method in the first run.
    pub method: String,
    /// The effect in words.
    pub effect: String,
    /// Posterior means: log odds, outcome's units, or the encoded coefficient.
    pub means: [f64; 2],
    /// Posterior standard deviations.
    pub deviations: [f64; 2],
    /// Second less first.
    pub difference: f64,
    /// The same in units of the larger standard deviation. The runs may share rows, so this is no test.
    pub in_deviations: f64,
}

/// Compares two runs by their directories or files of results.
///
/// # Errors
/// Files that are no results, and runs of which neither scores nor effects can be compared, with the reasons.
pub fn compare(one: &Path, other: &Path) -> Result<RunComparison, StudyError> {
    let runs = [RunResults::open(one)?, RunResults::open(other)?];
    let compared = between(&runs);
    if let (Compared::Refused(scores), Compared::Refused(effects)) = (&compared.scores, &compared.effects) {
        let message = format!(
            "{} and {} cannot be compared: scores: {scores}; effects: {effects}",
            one.display(),
            other.display()
        );
        return Err(StudyError::usage(
            message,
            "compare runs of one outcome, or simulations of the same rows and split",
        ));
    }
    Ok(compared)
}

/// Compares two runs.
pub fn between(runs: &[RunResults; 2]) -> RunComparison {
    let studies = [runs[0].study().to_owned(), runs[1].study().to_owned()];
    let scores = Compared::of(scores(runs));
    let effect_seeds = [first_seed(&runs[0]), first_seed(&runs[1])];
    RunComparison { studies, scores, privacy: privacy(runs), effects: Compared::of(effects(runs)), effect_seeds }
}

fn first_seed(run: &RunResults) -> Option<u64> {
    let RunResults::Simulation(results) = run else { return None };
    results.methods.iter().find_map(|method| method.curves.first()).map(|curve| curve.seed)
}

/// Pairs of items with the same name; where no names agree and each side has one item that is no baseline, these two.
fn matched<'a, T>(one: &'a [T], other: &'a [T], name: fn(&T) -> &str, own: fn(&T) -> bool) -> Vec<(&'a T, &'a T)> {
    let pairs: Vec<(&T, &T)> =
        one.iter().filter_map(|a| Some((a, other.iter().find(|b| name(a) == name(b))?))).collect();
    let (mut a, mut b) = (one.iter().filter(|a| own(a)), other.iter().filter(|b| own(b)));
    let named = pairs.iter().any(|(a, _)| own(a));
    match (a.next(), b.next(), a.next(), b.next()) {
        (Some(a), Some(b), None, None) if !named => [(a, b)].into_iter().chain(pairs).collect(),
        _ => pairs,
    }
}

fn scores(runs: &[RunResults; 2]) -> Result<Vec<ScoreDifference>, String> {
    let [RunResults::Simulation(one), RunResults::Simulation(other)] = runs else {
        return Err("a fit has no held-out rows to score".into());
    };
    same_rows(one, other)?;
    let pairs = matched(&one.methods, &other.methods, |m| &m.name, |m| !m.baseline);
    let mut found = Vec::new();
    let mut seeds = 0;
    for (a, b) in pairs.into_iter().filter(|(a, b)| comparable(a) && comparable(b)) {
        for (score, first) in a.scores.iter() {
            let Some(second) = b.scores.get(score.name) else { continue };
            let (first, second) = common(a, first, b, second);
            seeds = seeds.max(first.per_seed.len());
            if let Some(difference) = Difference::paired(&second, &first) {
                let (method, other) = (a.name.clone(), b.name.clone());
                let means = [first.mean, second.mean];
                found.push(ScoreDifference { method, other, score: score.name, means, difference });
            }
        }
    }
    match (found.is_empty(), seeds) {
        (false, _) => Ok(found),
        (true, 0) => Err("the runs have no method and seed in common".into()),
        (true, _) => Err("no method has a score in both runs".into()),
    }
}

/// Rows, split and partition must be the same: else differences would be between tables and not between methods.
fn same_rows(one: &Results, other: &Results) -> Result<(), String> {
    let digest = |results: &Results| results.provenance.as_ref().and_then(|made| made.data_digest.clone());
    match (digest(one), digest(other)) {
        (Some(a), Some(b)) if a == b => {}
        (Some(_), Some(_)) => return Err("the runs are of different rows or schemas".into()),
        _ => return Err("a run does not say which rows it is of".into()),
    }
    let dealt = |results: &Results| -> Result<Vec<Option<toml::Value>>, String> {
        let study: toml::Table = results.study_toml.parse().map_err(|_| "a study cannot be read again".to_owned())?;
        let data = study.get("data").and_then(|data| data.as_table());
        let of_data = ["split", "split_seed", "scores_in"].map(|key| data.and_then(|data| data.get(key)).cloned());
        Ok(of_data.into_iter().chain([study.get("partition").cloned()]).collect())
    };
    let (a, b) = (dealt(one)?, dealt(other)?);
    let differs = ["split", "split_seed", "scores_in", "partition"].into_iter().zip(a.iter().zip(&b));
    match differs.filter(|(_, (a, b))| a != b).map(|(key, _)| key).next() {
        None => Ok(()),
        Some(key) => {
            Err(format!("the studies differ in {key}, so the same seed holds out other rows or deals them otherwise"))
        }
    }
}

/// Both scores of the seeds that both methods ran.
fn common(a: &MethodResult, first: &Summary, b: &MethodResult, second: &Summary) -> (Summary, Summary) {
    let seeds = |method: &MethodResult| method.curves.iter().map(|curve| curve.seed).collect::<Vec<u64>>();
    let of = |own: &[u64], other: &[u64], summary: &Summary| {
        let mut each: Vec<(u64, f64)> = own.iter().copied().zip(summary.per_seed.iter().copied()).collect();
        each.retain(|(seed, _)| other.contains(seed));
        each.sort_by_key(|(seed, _)| *seed);
        Summary::of(each.into_iter().map(|(_, value)| value).collect())
    };
    let (ours, theirs) = (seeds(a), seeds(b));
    (of(&ours, &theirs, first), of(&theirs, &ours, second))
}

fn privacy(runs: &[RunResults; 2]) -> Vec<PrivacyBeside> {
    let [mut one, mut other] = [promises(&runs[0]), promises(&runs[1])];
    if one.len() == 1 && other.len() == 1 {
        let (method, first) = one.remove(0);
        return vec![PrivacyBeside { method, promises: [Some(first), Some(other.remove(0).1)] }];
    }
    let mut found = Vec::new();
    for (method, promise) in one {
        let second = other.iter().position(|(name, _)| *name == method).map(|at| other.remove(at).1);
        found.push(PrivacyBeside { method, promises: [Some(promise), second] });
    }
    found.extend(other.into_iter().map(|(method, promise)| PrivacyBeside { method, promises: [None, Some(promise)] }));
    found
}

/// Every method's promise.
fn promises(run: &RunResults) -> Vec<(String, PromiseBeside)> {
    match run {
        RunResults::Fit(fit) => {
            let privacy = &fit.privacy;
            let terms = format!("{}, {}, no trusted party", privacy.unit, privacy.adjacency);
            let certified = Some(privacy.spent_epsilon);
            let promise = PromiseBeside { epsilon: privacy.epsilon, delta: privacy.delta, certified, terms };
            vec![(fit.method.clone(), promise)]
        }
        RunResults::Simulation(results) => {
            let private = results.methods.iter().filter_map(|method| Some((method, method.privacy.as_ref()?)));
            private
                .map(|(method, privacy)| {
                    let certified = privacy.clients.iter().map(|client| client.certified).reduce(f64::max);
                    let terms = format!("{}, {}, aggregator {}", privacy.unit, privacy.adjacency, privacy.aggregator);
                    let promise = PromiseBeside { epsilon: privacy.epsilon, delta: privacy.delta, certified, terms };
                    (method.name.clone(), promise)
                })
                .collect()
        }
    }
}

fn effects(runs: &[RunResults; 2]) -> Result<Vec<EffectDifference>, String> {
    let [one, other] = [runs[0].methods(), runs[1].methods()];
    let pairs = matched(&one, &other, |m| m.method, |m| !m.baseline);
    if pairs.is_empty() {
        return Err("the runs have no method with a posterior in common".into());
    }
    let mut found = Vec::new();
    for (a, b) in pairs {
        found.extend(of_method(a, b)?);
    }
    if found.is_empty() { Err("no comparison is in both runs".into()) } else { Ok(found) }
}

/// The outcome of some effects in words: "ill = yes, odds ratios".
fn outcome(effects: &Effects) -> String {
    let level = effects.level.as_ref().map_or_else(String::new, |level| format!(" = {level}"));
    let units = effects.units.as_ref().map_or_else(String::new, |units| format!(" in {units}"));
    let scale = match effects.scale {
        EffectScale::OddsRatio => "odds ratios",
        EffectScale::Difference => "differences",
    };
    format!("{}{level}{units}, {scale}", effects.outcome)
}

/// Mean and standard deviation of everything that both methods tell, by its words.
fn of_method(a: &MethodEffects<'_>, b: &MethodEffects<'_>) -> Result<Vec<EffectDifference>, String> {
    let told = |method: &MethodEffects<'_>| -> Vec<(String, f64, f64)> {
        match (method.effects, a.effects.is_some() && b.effects.is_some()) {
            (Some(effects), true) => effects.effects.iter().map(|e| (e.words(), e.mean, e.deviation)).collect(),
            _ => method.coefficients.iter().map(|c| (c.name.clone(), c.mean, c.deviation)).collect(),
        }
    };
    if let (Some(one), Some(other)) = (a.effects, b.effects) {
        let about = |e: &Effects| (e.outcome.clone(), e.level.clone(), e.units.clone(), e.scale);
        if about(one) != about(other) {
            return Err(format!("the outcomes differ: {} and {}", outcome(one), outcome(other)));
        }
    } else if told(a).iter().map(|c| &c.0).ne(told(b).iter().map(|c| &c.0)) {
        return Err("the models have other coefficients".into());
    }
    let second = told(b);
    let pair = |(words, mean, deviation): (String, f64, f64)| {
        let (_, other, other_deviation) = second.iter().find(|(name, ..)| *name == words)?;
        let difference = other - mean;
        Some(EffectDifference {
            method: a.method.to_owned(),
            effect: words,
            means: [mean, *other],
            deviations: [deviation, *other_deviation],
            difference,
            in_deviations: difference / deviation.max(*other_deviation),
        })
    };
    Ok(told(a).into_iter().filter_map(pair).collect())
}
