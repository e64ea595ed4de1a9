//! Draws from posteriors as files, by the chains of a study or from its Gaussian posteriors, and how well they have mixed.

use super::engine::{Engine, Work};
use super::fault::Fault;
use super::meant::Study;
use super::observer::{Piece, RunObserver, Watched};
use super::posterior::Posterior;
use super::predict;
use super::run;
use super::run_results::RunResults;
use super::store::{file_name, write_whole};
use crate::draws;
use crate::error::StudyError;
use inference::Method;
use inference::chain::{Draws, diagnose, kept, shown};
use inference::describe::Registry;
use inference::results::ParameterResult;
use inference::warning::Warning;
use inference::warning::public::few_draws;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// File of what is said of the draws.
pub const DIAGNOSTICS: &str = "diagnostics.json";

/// One method with one seed.
#[derive(Debug, Serialize)]
pub struct Sampled {
    /// The method.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// How many chains it ran.
    pub chains: usize,
    /// Iterations of a chain after its warm-up, which the files leave out.
    pub iterations: usize,
    /// Largest certified ε of a client; none without privacy.
    pub epsilon: Option<f64>,
    /// Where the draws are.
    pub folder: PathBuf,
    /// What to be warned of.
    pub warnings: Vec<Warning>,
    /// Each parameter with its diagnostics.
    pub parameters: Vec<ParameterResult>,
}

/// Runs all methods of a study and writes draws: those of their chains, or independent ones from their Gaussian posterior.
pub(crate) fn sample(
    study: &Study,
    engine: &dyn Engine,
    out: &Path,
    observer: &dyn RunObserver,
) -> Result<Vec<Sampled>, StudyError> {
    run::plannable(study, &engine.summary()?, engine.data_schema().as_deref(), &engine.costs())?;
    let mut all = Vec::new();
    observer.begins(study.methods.len() * study.seeds.len());
    for method in &study.methods {
        for &seed in &study.seeds {
            all.push(one(study, method, seed, engine, out, observer)?);
        }
    }
    observer.ends();
    told(out, all)
}

/// Draws from the stored posteriors of a finished run or fit, without running it again.
///
/// # Errors
/// A directory without posteriors, and one whose methods all draw by chains: their draws are made by running the study.
pub fn sample_run(results: &Path, out: &Path, seed: Option<u64>) -> Result<Vec<Sampled>, StudyError> {
    let registry = Registry::standard();
    let run = RunResults::open(results)?;
    let mut all = Vec::new();
    for posterior in predict::stored(results, &registry)? {
        let by_chain = run.algorithm(&posterior.method) == Some("chain");
        if posterior.not_served.is_none() && !by_chain && posterior.posterior.quantiles.is_none() {
            all.push(of_stored(&posterior, &run, out, seed, &registry)?);
        }
    }
    if all.is_empty() {
        let message = "no method of this run has a Gaussian posterior to draw from".to_owned();
        let hint = "methods with Markov chains write draws when their study is sampled".to_owned();
        return Err(Fault { code: "S013", place: results.display().to_string(), message, hint }.into());
    }
    told(out, all)
}

fn of_stored(
    posterior: &Posterior,
    run: &RunResults,
    out: &Path,
    seed: Option<u64>,
    registry: &Registry,
) -> Result<Sampled, StudyError> {
    let improper = || StudyError::usage("the stored posterior is not a proper distribution", "run the study again");
    let q = posterior.posterior.gaussian().ok_or_else(improper)?;
    let seed = seed.unwrap_or(posterior.seed);
    let names = named(posterior.names(registry)?, q.dimension());
    let draws = Draws::of_posterior(names, &q, seed)?;
    let epsilon = run.certified(&posterior.method);
    written(out, DrawnMethod { method: &posterior.method, seed, epsilon, warnings: Vec::new() }, &draws)
}

/// Writes what is said of all draws.
fn told(out: &Path, all: Vec<Sampled>) -> Result<Vec<Sampled>, StudyError> {
    let path = out.join(DIAGNOSTICS);
    let mut text =
        serde_json::to_vec_pretty(&all).map_err(|error| cannot_write(&path, std::io::Error::other(error)))?;
    text.push(b'\n');
    write_whole(&path, &text).map_err(|source| cannot_write(&path, source))?;
    Ok(all)
}

fn cannot_write(path: &Path, source: std::io::Error) -> StudyError {
    StudyError::file("cannot write", path, source)
}

/// One method with one seed: run, written, described.
fn one(
    study: &Study,
    method: &Method,
    seed: u64,
    engine: &dyn Engine,
    out: &Path,
    observer: &dyn RunObserver,
) -> Result<Sampled, StudyError> {
    if observer.stops() {
        return Err(StudyError::Stopped);
    }
    let work = Work::Method(method);
    let piece = Piece::of(&work, seed);
    let record = engine.record(work, seed, &mut Watched { piece, observer })?;
    observer.finished(piece, None, false);
    let (inputs, schema) = (engine.summary()?.inputs, engine.data_schema());
    let schema = schema.as_deref().and_then(|text| inference::Schema::from_toml(text).ok());
    let names = named(study.model.names(&inputs, schema.as_ref()), record.posterior.dimension());
    let epsilon = record.spending.iter().map(|client| client.certified).reduce(f64::max);
    let mut warnings = record.warnings;
    let draws = if method.algorithm.draws().is_some() {
        let drawn = shown(&record.chains, record.warm_up, record.posterior.dimension())?;
        warnings.extend(few_draws(drawn.as_ref()));
        Draws::new(names, kept(&record.chains, record.warm_up, record.posterior.dimension()))?
    } else if record.quantiles.is_some() {
        let message = format!(
            "method {:?} has the exact posterior, by its moments and quantiles, and makes no draws",
            method.name
        );
        return Err(StudyError::usage(message, "simulate the study: results.json has the quantiles"));
    } else {
        Draws::of_posterior(names, &record.posterior, seed)?
    };
    written(out, DrawnMethod { method: &method.name, seed, epsilon, warnings }, &draws)
}

/// The parameters' own names, or numbers where they have none.
fn named(names: Vec<String>, dimension: usize) -> Vec<String> {
    if names.len() == dimension { names } else { (1..=dimension).map(|j| format!("θ{j}")).collect() }
}

/// What is known of draws beside the draws.
struct DrawnMethod<'a> {
    method: &'a str,
    seed: u64,
    epsilon: Option<f64>,
    warnings: Vec<Warning>,
}

/// Writes draws into the folder of their method and seed, and describes them.
fn written(out: &Path, of: DrawnMethod<'_>, draws: &Draws) -> Result<Sampled, StudyError> {
    let folder = out.join(file_name(of.method)).join(format!("seed-{}", of.seed));
    for (name, bytes) in draws::files(draws)? {
        let path = folder.join(name);
        write_whole(&path, &bytes).map_err(|source| cannot_write(&path, source))?;
    }
    let parameters = diagnose(draws)?.into_iter().map(ParameterResult::from).collect();
    Ok(Sampled {
        method: of.method.to_owned(),
        seed: of.seed,
        chains: draws.chains(),
        iterations: draws.iterations(),
        epsilon: of.epsilon,
        folder,
        warnings: of.warnings,
        parameters,
    })
}
