//! The chains of a study: their draws as files, and how well they have mixed.

use super::engine::{Engine, Work};
use super::fault::Fault;
use super::meant::Study;
use super::observer::{Piece, RunObserver, Watched};
use super::run;
use super::store::{file_name, write_whole};
use crate::draws;
use crate::error::StudyError;
use inference::Method;
use inference::chain::{Draws, diagnose, kept, shown};
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

/// Runs all chains of a study and writes their draws.
pub(crate) fn sample(
    study: &Study,
    engine: &dyn Engine,
    out: &Path,
    observer: &dyn RunObserver,
) -> Result<Vec<Sampled>, StudyError> {
    let chains: Vec<&Method> = study.methods.iter().filter(|method| method.algorithm.draws().is_some()).collect();
    if chains.is_empty() {
        return Err(Fault {
            code: "S009",
            place: study.file.clone(),
            message: "no method of this study draws".to_owned(),
            hint: "use algorithm = \"chain\"; all other methods are simulated".to_owned(),
        }
        .into());
    }
    run::plannable(study, &engine.summary()?, engine.data_schema().as_deref(), &engine.costs())?;
    let mut all = Vec::new();
    observer.begins(chains.len() * study.seeds.len());
    for method in chains {
        for &seed in &study.seeds {
            all.push(one(study, method, seed, engine, out, observer)?);
        }
    }
    observer.ends();
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
    let mut names =
        study.model.names(&inputs, schema.as_deref().and_then(|text| inference::Schema::from_toml(text).ok()).as_ref());
    if names.is_empty() {
        names = (1..=record.posterior.dimension()).map(|j| format!("θ{j}")).collect();
    }
    let epsilon = record.spending.iter().map(|client| client.certified).reduce(f64::max);
    let draws = Draws::new(names, kept(&record.chains, record.warm_up, record.posterior.dimension()))?;
    let folder = out.join(file_name(&method.name)).join(format!("seed-{seed}"));
    for (name, bytes) in draws::files(&draws)? {
        let path = folder.join(name);
        write_whole(&path, &bytes).map_err(|source| cannot_write(&path, source))?;
    }
    let parameters = diagnose(&draws)?.into_iter().map(ParameterResult::from).collect();
    let (chains, iterations) = (draws.chains(), draws.iterations());
    let drawn = shown(&record.chains, record.warm_up, record.posterior.dimension())?;
    let few = few_draws(drawn.as_ref());
    let (method, warnings) = (method.name.clone(), record.warnings.into_iter().chain(few).collect());
    Ok(Sampled { method, seed, chains, iterations, epsilon, folder, warnings, parameters })
}
