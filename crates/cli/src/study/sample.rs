//! `posterity sample`: the chains of a study, their draws as files, and how well they have mixed.

use super::engine::{Engine, Work};
use super::fault::Fault;
use super::likelihood;
use super::meant::Study;
use super::progress::Progress;
use super::run;
use super::store::{file_name, write_whole};
use crate::draws;
use crate::failure::Failure;
use inference::chain::{Draws, LEVELS, diagnose, kept, shown};
use inference::results::ParameterResult;
use inference::settings::{Method, Scheme};
use inference::warning::Warning;
use inference::warning::public::few_draws;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// File of what is said of the draws.
const DIAGNOSTICS: &str = "diagnostics.json";

/// R-hat over which chains disagree (Vehtari et al. 2021).
const DISAGREE: f64 = 1.01;

/// One method with one seed.
#[derive(Debug, Serialize)]
struct Sampled {
    method: String,
    seed: u64,
    chains: usize,
    /// Iterations of a chain after its warm-up, which the files leave out.
    iterations: usize,
    /// Largest certified ε of a client; none without privacy.
    epsilon: Option<f64>,
    folder: PathBuf,
    warnings: Vec<Warning>,
    parameters: Vec<ParameterResult>,
}

/// Runs all chains of a study and writes their draws.
pub(crate) fn sample(study: &Study, engine: &dyn Engine, out: &Path, json: bool) -> Result<String, Failure> {
    let chains: Vec<&Method> =
        study.methods.iter().filter(|method| matches!(method.scheme, Scheme::Chain(_))).collect();
    if chains.is_empty() {
        return Err(Fault {
            code: "S009",
            place: study.file.clone(),
            message: "no method of this study draws".to_owned(),
            hint: "use algorithm = \"chain\"; posterity simulate is for all other methods".to_owned(),
        }
        .into());
    }
    run::plannable(study, &engine.summary()?, engine.data_schema().as_deref(), &engine.costs())?;
    let mut all = Vec::new();
    let progress = Progress::new(chains.len() * study.seeds.len(), json);
    for method in chains {
        for &seed in &study.seeds {
            all.push(one(study, method, seed, engine, out, &progress)?);
        }
    }
    progress.end();
    let path = out.join(DIAGNOSTICS);
    let mut text =
        serde_json::to_vec_pretty(&all).map_err(|error| cannot_write(&path, std::io::Error::other(error)))?;
    text.push(b'\n');
    write_whole(&path, &text).map_err(|source| cannot_write(&path, source))?;
    if json {
        return Ok(format!("{}\n", serde_json::to_string(&all).unwrap_or_default()));
    }
    let tables: Vec<String> = all.iter().map(table).collect();
    Ok(format!("{}\ndiagnostics {}\n", tables.join("\n"), path.display()))
}

fn cannot_write(path: &Path, source: std::io::Error) -> Failure {
    Failure::file("cannot write", path, source)
}

/// One method with one seed: run, written, described.
fn one(
    study: &Study,
    method: &Method,
    seed: u64,
    engine: &dyn Engine,
    out: &Path,
    progress: &Progress,
) -> Result<Sampled, Failure> {
    let record = engine.record(Work::Method(method), seed, &mut progress.piece())?;
    progress.done(&Work::Method(method), seed, "done");
    let (inputs, schema) = (engine.summary()?.inputs, engine.data_schema());
    let mut names = likelihood::names(&study.model.kind, &inputs, schema.as_deref().unwrap_or_default());
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

/// A table for people.
fn table(of: &Sampled) -> String {
    let promised = of.epsilon.map_or("no privacy".to_owned(), |epsilon| format!("ε at most {epsilon:.4}, certified"));
    let mut text = format!(
        "method      {}, seed {}: {} of {} draws after the warm-up; {promised}\n",
        of.method,
        of.seed,
        if of.chains == 1 { "1 chain".to_owned() } else { format!("{} chains", of.chains) },
        of.iterations
    );
    let width = of.parameters.iter().map(|p| p.name.chars().count()).max().unwrap_or(0).max(9);
    let [low, _, high] = LEVELS.map(|level| format!("{} %", 100.0 * level));
    text += &format!(
        "{:width$}  {:>10} {:>10} {low:>10} {high:>10} {:>7} {:>8} {:>8} {:>9}\n",
        "parameter", "mean", "deviation", "R-hat", "bulk ESS", "tail ESS", "error"
    );
    let or_dash = |number: Option<f64>, digits: usize| number.map_or("–".to_owned(), |x| format!("{x:.digits$}"));
    for p in &of.parameters {
        text += &format!(
            "{:width$}  {:>10.4} {:>10.4} {:>10.4} {:>10.4} {:>7} {:>8} {:>8} {:>9}\n",
            p.name,
            p.mean,
            p.deviation,
            p.quantiles[0],
            p.quantiles[2],
            or_dash(p.rhat, 3),
            or_dash(p.bulk_ess, 0),
            or_dash(p.tail_ess, 0),
            or_dash(p.error_of_mean, 4)
        );
    }
    for warning in &of.warnings {
        text += &format!("warning     {}: {} ({})\n", warning.code.as_str(), warning.what, warning.hint);
    }
    if of.parameters.iter().any(|p| p.rhat.is_some_and(|rhat| rhat > DISAGREE)) {
        text += "warning     chains disagree, or the halves of one (R-hat over 1.01): do not rely on these draws. Longer chains mix better, \
                 and at the same ε clip more; a larger ε, a smaller counts_as or a better start may serve more\n";
    }
    text += &format!("draws       {}\n", of.folder.display());
    text
}
