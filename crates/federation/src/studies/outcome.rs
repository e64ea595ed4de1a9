//! What a finished run of a federation leaves in its folder: the posterior, from which `posterity predict` predicts, and what was
//! granted and spent.

use super::builder::Studies;
use super::error::StudyRunError;
use super::run_parts::read_schema;
use super::run_warnings::refused;
use super::spent::SpentCache;
use crate::log::RunId;
use crate::manifest::{Manifest, RunParts};
use crate::message::RunOutcome;
use inference::results::{Coefficient, Provenance, SCHEMA, SecureSumResult};
use inference::warning::PublicWarnings;
use inference::{Gaussian, Intervals, Quantiles, RunError};
use privacy::{Grant, Unit};
use serde::Serialize;
use std::path::{Path, PathBuf};
use study::Study;
use study::digits::hexadecimal;
use study::file_name;
use study::marginals;
use study::{Fault, words, write_whole};
use study::{Intercepts, Made, POSTERIOR_SCHEMA, Posterior, stored_model};

/// What a posterior of a federation is.
const RELEASED: &str = "Released by a federation: the sites drew their noise from their operating systems, and their answers cost no \
     more than the ε in results.json. The posterior was not scored on any rows.";

/// A run that has come to its end.
#[derive(Clone, Copy)]
pub struct EndedRun<'a> {
    /// What all have signed.
    pub manifest: &'a Manifest,
    /// What was built from it.
    pub parts: &'a RunParts,
    /// The algorithm's last state.
    pub state: &'a [u8],
    /// Rounds that were made.
    pub rounds: u64,
    /// How it ended; none if it has not.
    pub outcome: Option<RunOutcome>,
    /// Charged answers of each site that the server knows of.
    pub answers: &'a [u64],
    /// When the results are written, and by which build.
    pub made: &'a Made,
    /// What the run itself warns of, from what was released. Nothing read from rows can stand here.
    pub warnings: &'a PublicWarnings,
}

/// `results.json` of a federation: these names are a contract.
#[derive(Serialize)]
struct FederationResults<'a> {
    schema: u32,
    /// `federation`: there are no held-out rows, and so no scores.
    kind: &'static str,
    version: &'static str,
    study: &'a str,
    study_toml: &'a str,
    data_schema: &'a str,
    /// The run, and the digest of the manifest that all have signed, in hexadecimal.
    run: String,
    manifest: String,
    method: &'a str,
    algorithm: &'a str,
    solver: String,
    schedule: &'a str,
    rounds: u64,
    /// How the run ended in one word, and because of whom, if its sums failed.
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_member: Option<String>,
    privacy: FederationPrivacy,
    nodes: Vec<&'a str>,
    sites: Vec<FederationSite<'a>>,
    posterior: Vec<Coefficient>,
    /// What the intervals of that posterior are worth.
    intervals: Intervals,
    /// When and by what these results were written. It has no digest of anybody's rows.
    provenance: Provenance,
    /// Of public source only.
    warnings: &'a PublicWarnings,
}

#[derive(Serialize)]
struct FederationPrivacy {
    unit: String,
    adjacency: String,
    epsilon: f64,
    aggregator: &'static str,
    #[serde(flatten)]
    secure_sum: Option<SecureSumResult>,
    promise: String,
    noise_multiplier: f64,
    clip: f64,
}

/// One site's account, as far as the server knows it.
#[derive(Serialize)]
struct FederationSite<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_rows: Option<u64>,
    /// In place of rows, where persons are protected.
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_persons: Option<u64>,
    granted_epsilon: f64,
    delta: f64,
    /// Charged answers that arrived.
    answers: u64,
    /// Certified ε of these. A site's own ledger has what it charged for answers that never arrived, too.
    spent_epsilon: f64,
}

impl Studies {
    /// Writes the folder's files, each whole or not at all: `posterior/NAME.json`, `study.toml`, `schema.toml`, and last
    /// `results.json`. A folder with results of another run is left alone.
    pub fn write_results(
        &self,
        folder: &Path,
        ended: &EndedRun<'_>,
        spent: &SpentCache,
    ) -> Result<PathBuf, StudyRunError> {
        let EndedRun { manifest, parts, state, .. } = ended;
        let study = self.of(manifest)?;
        let inputs = read_schema(&manifest.schema)?.inputs(study.model.intercept);
        let (path, run) = (folder.join("results.json"), hexadecimal(&manifest.run()));
        check_folder(&path, &run)?;
        let q = served(parts, state)?;
        let refused = refused(ended.warnings).cloned();
        let named = match refused {
            Some(_) => Vec::new(),
            None => {
                let quantiles = parts.built.protocol.quantiles(state)?;
                coefficients(&study, &q, quantiles.as_deref(), &inputs, &manifest.schema)
            }
        };
        let results = results(ended, &study, run, spent, named)?;
        let stored = stored(&study, parts, state, &q, inputs, &manifest.schema)?.unless(refused);
        put_json(&folder.join(format!("posterior/{}.json", file_name(&manifest.method))), &stored)?;
        put(&folder.join("study.toml"), manifest.study.as_bytes())?;
        put(&folder.join("schema.toml"), manifest.schema.as_bytes())?;
        put_json(&path, &results)?;
        Ok(path)
    }
}

/// Whether the results of a run can be written here when it is over: the folder can be made and written, and holds no results
/// of another run. A run that does not exist yet has none.
pub fn check_room(folder: &Path, run: Option<&RunId>) -> Result<(), StudyRunError> {
    let run = run.map(|run| hexadecimal(run)).unwrap_or_default();
    check_folder(&folder.join("results.json"), &run)?;
    let probe = folder.join(".writable");
    let tried = write_whole(&probe, b"").and_then(|()| std::fs::remove_file(&probe));
    tried.map_err(|source| StudyRunError::file("cannot write", folder, source))
}

/// The proper Gaussian that is served.
pub(crate) fn served(parts: &RunParts, state: &[u8]) -> Result<Gaussian, RunError> {
    let eta = parts.built.protocol.posterior(state)?;
    let improper =
        || RunError::Unusable { what: "the run ended without a proper posterior: the noise was too large".into() };
    parts.built.problem.family.gaussian(&eta).ok_or_else(improper)
}

/// The parameters of a posterior by their names; quantiles where it is no Gaussian.
pub(crate) fn coefficients(
    study: &Study,
    q: &Gaussian,
    quantiles: Option<&[Quantiles]>,
    inputs: &[String],
    schema: &str,
) -> Vec<Coefficient> {
    let names = study.model.names(inputs, read_schema(schema).ok().as_ref());
    Coefficient::named(&names, q.mean(), &q.deviations(), quantiles)
}

/// The posterior, ready to predict from. Intercepts of the sites' own have not left them: an unknown site's is the prior's.
pub(crate) fn stored(
    study: &Study,
    parts: &RunParts,
    state: &[u8],
    q: &Gaussian,
    inputs: Vec<String>,
    schema: &str,
) -> Result<Posterior, RunError> {
    let own = |precision: f64| Intercepts { prior_deviation: precision.sqrt().recip(), sites: Vec::new() };
    let mut numbers = marginals(q);
    numbers.quantiles = parts.built.protocol.quantiles(state)?;
    numbers.intercepts = parts.method.algorithm.site_intercept().map(own);
    Ok(Posterior {
        intervals: Some(parts.method.intervals()),
        schema: POSTERIOR_SCHEMA,
        study: study.name.clone(),
        method: parts.method.name.clone(),
        seed: study.seeds.first().copied().unwrap_or(1),
        model: stored_model(&study.model, parts.built.protocol.outcome_variance(state)?),
        bias: study.model.intercept,
        inputs,
        data_schema: schema.to_owned(),
        outside_epsilon: RELEASED.to_owned(),
        posterior: numbers,
        not_served: None,
    })
}

fn results<'a>(
    ended: &'a EndedRun<'_>,
    study: &'a Study,
    run: String,
    spent: &SpentCache,
    posterior: Vec<Coefficient>,
) -> Result<FederationResults<'a>, StudyRunError> {
    let (manifest, method, built) = (ended.manifest, &ended.parts.method, &ended.parts.built);
    let mut sites = Vec::new();
    for (m, (site, grant)) in manifest.sites.iter().zip(&built.grants).enumerate() {
        let (granted_epsilon, delta) = match grant {
            Grant::Limited { epsilon, delta, .. } => (epsilon.get(), delta.get()),
            Grant::Unlimited => (f64::INFINITY, 1.0),
        };
        let answers = ended.answers.get(m).copied().unwrap_or(0);
        let spent_epsilon = spent.after(built, m, answers)?;
        let by_person = method.unit() == Unit::Person;
        sites.push(FederationSite {
            name: site.name.as_str(),
            declared_rows: (!by_person).then_some(site.rows),
            declared_persons: by_person.then_some(site.rows),
            granted_epsilon,
            delta,
            answers,
            spent_epsilon,
        });
    }
    Ok(FederationResults {
        schema: SCHEMA,
        kind: "federation",
        version: env!("CARGO_PKG_VERSION"),
        study: &study.name,
        study_toml: &study.text,
        data_schema: &manifest.schema,
        run,
        manifest: hexadecimal(&manifest.digest()),
        method: &method.name,
        algorithm: method.algorithm.descriptor().name,
        solver: words::does(method),
        schedule: words::schedule(method.schedule),
        rounds: ended.rounds,
        outcome: ended.outcome.map(RunOutcome::word),
        failed_member: ended.outcome.and_then(|outcome| manifest.blamed(outcome)),
        privacy: privacy(ended.parts)?,
        nodes: manifest.nodes.iter().map(|node| node.name.as_str()).collect(),
        sites,
        posterior,
        intervals: method.intervals(),
        provenance: ended.made.provenance(None),
        warnings: ended.warnings,
    })
}

fn privacy(parts: &RunParts) -> Result<FederationPrivacy, StudyRunError> {
    let (method, clients) = (&parts.method, &parts.built.plan.clients);
    let Some(promise) = &method.promise else {
        return Err(super::run_parts::refuse("a run without a privacy promise has no results", "add privacy = { … }"));
    };
    let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, f64::max);
    Ok(FederationPrivacy {
        unit: promise.unit.to_string(),
        adjacency: promise.adjacency.to_string(),
        epsilon: largest(&mut clients.iter().map(|client| client.epsilon.get())),
        aggregator: words::aggregator(promise.aggregator),
        secure_sum: words::secure_sum(promise.aggregator),
        promise: format!("{} promises {}.", method.name, words::promised(method, promise)),
        noise_multiplier: largest(&mut clients.iter().map(|client| client.noise_multiplier())),
        clip: largest(&mut clients.iter().map(|client| client.shape.bound().get())),
    })
}

/// Results of this run may be written again; those of another are not overwritten.
pub(crate) fn check_folder(path: &Path, run: &str) -> Result<(), StudyRunError> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(()) };
    let found: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    if found.get("run").and_then(serde_json::Value::as_str) == Some(run) {
        return Ok(());
    }
    let fault = Fault {
        code: "S013",
        place: path.display().to_string(),
        message: "this directory holds the results of another run".into(),
        hint: "choose another directory".into(),
    };
    Err(fault.into())
}

fn put_json(path: &Path, value: &impl Serialize) -> Result<(), StudyRunError> {
    let text = serde_json::to_vec_pretty(value);
    let mut text = text.map_err(|error| StudyRunError::file("cannot write", path, std::io::Error::other(error)))?;
    text.push(b'\n');
    put(path, &text)
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), StudyRunError> {
    write_whole(path, bytes).map_err(|source| StudyRunError::file("cannot write", path, source))
}
