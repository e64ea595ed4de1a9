//! What a fit publishes: posterior, draws, results and report, from releases and public numbers alone.
//!
//! No function here takes a row, a shard or a number that was read from the table; the number of rows, or of
//! persons where these are protected, is the manifest's, which is public.

use super::FitError;
use crate::failpoint;
use crate::log::RunAccount;
use crate::manifest::{Manifest, RunParts};
use crate::studies::{
    FinishedRun, RunWarnings, StudyRunError, coefficients, read_schema, refused, served_posterior, stored,
};
use inference::chain::{Collected, Draws, kept};
use inference::effects::effects;
use inference::warning::PublicWarnings;
use inference::{Gaussian, Schema};
use privacy::Unit;
use std::path::Path;
use study::digits::hexadecimal;
use study::{
    FIT, FIT_SCHEMA, FitDraws, FitLifetime, FitPrivacy, FitResults, Made, Posterior, Study, draws, file_name, words,
    write_whole,
};

/// What the posterior of a fit is.
const RELEASED: &str = "Released by a fit: the owner drew the noise from the operating system, and what was charged for it is in \
     results.json. The posterior was not scored on any rows.";

/// Everything that a publication follows from.
pub(super) struct Release<'a> {
    pub(super) study: &'a Study,
    pub(super) manifest: &'a Manifest,
    pub(super) parts: &'a RunParts,
    /// The algorithm's last state: a function of released answers.
    pub(super) state: &'a [u8],
    pub(super) rounds: u64,
    /// Posterior means before the last round.
    pub(super) before: Option<&'a [f64]>,
    pub(super) granted: (f64, f64),
    /// The charges of this fit.
    pub(super) account: &'a RunAccount,
    pub(super) lifetime: FitLifetime,
    pub(super) made: &'a Made,
}

/// A posterior with its names, and what there is to say of it.
struct ServedFit {
    q: Gaussian,
    schema: Schema,
    warnings: PublicWarnings,
    draws: Option<Draws>,
}

impl Release<'_> {
    /// Writes all files into a folder, each whole or not at all, and the results last.
    pub(super) fn publish(&self, out: &Path, drawn: Collected) -> Result<FitResults, FitError> {
        let served = self.served(drawn)?;
        let method = &self.parts.method.name;
        let refused = refused(&served.warnings).cloned();
        let inputs = served.schema.inputs(self.study.model.intercept);
        let file = stored(self.study, self.parts, self.state, &served.q, inputs.clone(), &self.manifest.schema)?;
        let file = Posterior { outside_epsilon: RELEASED.to_owned(), ..file }.unless(refused.clone());
        put_json(&out.join(format!("posterior/{}.json", file_name(method))), &file)?;
        let mut written = None;
        if let Some(drawn) = served.draws.as_ref().filter(|_| refused.is_none()) {
            let folder = "draws".to_owned();
            for (name, bytes) in draws::files(drawn)? {
                put(&out.join(&folder).join(name), &bytes)?;
            }
            written = Some(FitDraws { folder, chains: drawn.chains(), iterations: drawn.iterations() });
        }
        put(&out.join("study.toml"), without_folders(self.study).as_bytes())?;
        put(&out.join("schema.toml"), self.manifest.schema.as_bytes())?;
        let posterior = match refused {
            Some(_) => Vec::new(),
            None => {
                let quantiles = self.parts.built.protocol.quantiles(self.state)?;
                coefficients(self.study, &served.q, quantiles.as_deref(), &inputs, &self.manifest.schema)
            }
        };
        let scale = self.study.model.settings.effect_scale().filter(|_| !posterior.is_empty());
        let effects = scale.and_then(|scale| effects(&served.schema, scale, &served.q));
        let results = FitResults { posterior, effects, draws: written, ..self.results(&served)? };
        put(&out.join("report.html"), report::fit(&results).as_bytes())?;
        put_json(&out.join("results.json"), &results)?;
        Ok(results)
    }

    /// The posterior that is served, its warnings and its draws.
    fn served(&self, drawn: Collected) -> Result<ServedFit, FitError> {
        let (study, parts) = (self.study, self.parts);
        let schema = read_schema(&self.manifest.schema)?;
        let q = served_posterior(parts, self.state)?;
        let inputs = schema.inputs(study.model.intercept);
        let mut names = study.model.names(&inputs, Some(&schema));
        if names.len() != q.dimension() {
            names = (1..=q.dimension()).map(|j| format!("θ{j}")).collect();
        }
        let chains = drawn.into_chains();
        let of_chain = parts.method.algorithm.draws();
        let (chain, draws) = match of_chain {
            Some(settings) => {
                let kept = kept(&chains, settings.warm_up, q.dimension());
                let shown = inference::chain::shown(&chains, settings.warm_up, q.dimension())?;
                (Some(shown), Draws::new(names.clone(), kept).ok())
            }
            // Draws from a Gaussian with these moments would be none from the posterior.
            None if parts.built.protocol.quantiles(self.state)?.is_some() => (None, None),
            None => {
                let seed = study.seeds.first().copied().unwrap_or(1);
                (None, Some(Draws::of_posterior(names.clone(), &q, seed)?))
            }
        };
        let deviations = q.deviations();
        let end = FinishedRun {
            mean: q.mean(),
            deviations: &deviations,
            before: self.before,
            draws: chain.as_ref().map(Option::as_ref),
            of_method: parts.built.protocol.warning(self.state)?,
        };
        let warnings = RunWarnings::new(Some(study), Some(&schema), &names, parts).of(parts, Some(&end));
        Ok(ServedFit { q, schema, warnings, draws })
    }

    /// The results, without posterior and draws.
    fn results(&self, served: &ServedFit) -> Result<FitResults, FitError> {
        let (study, manifest, method) = (self.study, self.manifest, &self.parts.method);
        let (number, by_person) = (manifest.sites.first().map(|site| site.rows), method.unit() == Unit::Person);
        Ok(FitResults {
            schema: FIT_SCHEMA,
            kind: FIT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            study: study.name.clone(),
            study_toml: without_folders(study),
            data_schema: manifest.schema.clone(),
            run: hexadecimal(&manifest.run()),
            manifest: hexadecimal(&manifest.digest()),
            method: method.name.clone(),
            algorithm: method.algorithm.descriptor().name.to_owned(),
            solver: words::does(method),
            model: study.model.describe(),
            outcome_column: served.schema.outcome().column.clone(),
            rows: number.filter(|_| !by_person),
            persons: number.filter(|_| by_person),
            rounds: self.rounds,
            planned_rounds: manifest.pace.rounds,
            privacy: self.privacy()?,
            lifetime: self.lifetime,
            posterior: Vec::new(),
            intervals: Some(method.intervals()),
            effects: None,
            draws: None,
            provenance: self.made.provenance(None),
            warnings: served.warnings.clone(),
        })
    }

    fn privacy(&self) -> Result<FitPrivacy, FitError> {
        let (method, clients) = (&self.parts.method, &self.parts.built.plan.clients);
        let Some(promise) = &method.promise else {
            return Err(FitError::refused("F121", "a fit without a promise has no results", "add privacy = { … }"));
        };
        let (epsilon, delta) = self.granted;
        let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, f64::max);
        Ok(FitPrivacy {
            unit: promise.unit.to_string(),
            adjacency: promise.adjacency.to_string(),
            epsilon,
            delta,
            promise: words::promise(promise),
            noise_multiplier: largest(&mut clients.iter().map(|client| client.noise_multiplier())),
            clip: largest(&mut clients.iter().map(|client| client.shape.bound().get())),
            spent_epsilon: self.account.spent()?,
            charges: self.account.charges,
            burnt: self.account.burnt,
        })
    }
}

/// The text of a study with the names of its files, but not the folders that they are in: these are the owner's affair.
fn without_folders(study: &Study) -> String {
    let table = study.data.source.strip_prefix("csv:").map(Path::new);
    let mut text = study.text.clone();
    for path in table.into_iter().chain(study.data.schema.as_deref()) {
        let (Some(whole), Some(name)) = (path.to_str(), path.file_name().and_then(|name| name.to_str())) else {
            continue;
        };
        // A path with backslashes may be escaped.
        for written in [whole.to_owned(), whole.replace('\\', "\\\\")] {
            text = text.replace(&written, name);
        }
    }
    text
}

fn put_json(path: &Path, value: &impl serde::Serialize) -> Result<(), FitError> {
    let text = serde_json::to_vec_pretty(value);
    let mut text = text.map_err(|error| StudyRunError::file("cannot write", path, std::io::Error::other(error)))?;
    text.push(b'\n');
    put(path, &text)
}

/// Writes a file, whole or not at all.
fn put(path: &Path, bytes: &[u8]) -> Result<(), FitError> {
    failpoint::pass("publish");
    write_whole(path, bytes).map_err(|source| StudyRunError::file("cannot write", path, source))?;
    failpoint::pass("published");
    Ok(())
}
