//! `results.json` of a fit: what one owner's table was allowed to tell, and what that cost.
//!
//! Everything in it follows from releases and from public numbers. There are no scores, no baselines and no count but the
//! public one, of rows or of persons, so the file may be published.

use crate::error::StudyError;
use inference::Intervals;
use inference::effects::Effects;
use inference::results::{Coefficient, Provenance};
use inference::warning::PublicWarnings;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The word by which the file says what it is.
pub const FIT: &str = "fit";

/// Version of this shape.
pub const FIT_SCHEMA: u32 = 1;

/// `results.json` of a fit: these names are a contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitResults {
    /// [`FIT_SCHEMA`].
    pub schema: u32,
    /// [`FIT`].
    pub kind: String,
    /// Version of the program.
    pub version: String,
    /// Name of the study.
    pub study: String,
    /// The study as it was read, in TOML.
    pub study_toml: String,
    /// The schema of the rows, in TOML.
    pub data_schema: String,
    /// The run, and the digest of its manifest, in hexadecimal digits.
    pub run: String,
    /// SHA-256 of the manifest, in hexadecimal digits.
    pub manifest: String,
    /// The method that was fitted.
    pub method: String,
    /// Its algorithm.
    pub algorithm: String,
    /// Its solver, sampler or rule.
    pub solver: String,
    /// The model, in words.
    pub model: String,
    /// The column that is explained.
    pub outcome_column: String,
    /// The public number of rows: counted where neighbours have as many rows, declared by the study otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// In place of rows, where persons are protected: their declared number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persons: Option<u64>,
    /// Rounds that are in the posterior.
    pub rounds: u64,
    /// Rounds that were planned. An interruption that burnt a charge leaves fewer.
    pub planned_rounds: u64,
    /// What was promised, and what it took.
    pub privacy: FitPrivacy,
    /// What all fits of this home were granted together.
    pub lifetime: FitLifetime,
    /// The posterior, coefficient by coefficient; empty where it is not served.
    pub posterior: Vec<Coefficient>,
    /// What the intervals of that posterior are worth: where they do not count the noise, or did not hold where that was measured,
    /// they are not shown. None in results of a program that did not say so yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// What the posterior says about the columns, in the reader's units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// The files of draws.
    pub draws: Option<FitDraws>,
    /// When and by what these results were written. There is no digest of the rows.
    pub provenance: Provenance,
    /// Of public source only.
    pub warnings: PublicWarnings,
}

/// The promise of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitPrivacy {
    /// Whom it protects.
    pub unit: String,
    /// Which tables are neighbours.
    pub adjacency: String,
    /// ε that was granted to this fit.
    pub epsilon: f64,
    /// δ that was granted to this fit.
    pub delta: f64,
    /// The promise as one sentence.
    pub promise: String,
    /// Largest standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// The clipping bound.
    pub clip: f64,
    /// Certified ε of all charges of this fit, at the same δ; at most what was granted.
    pub spent_epsilon: f64,
    /// Charges on record.
    pub charges: u64,
    /// Those of them that an interruption has burnt: charged, and no answer was made.
    pub burnt: u64,
}

/// All fits of one home together, each with its whole grant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FitLifetime {
    /// Fits before this one, finished or not.
    pub earlier_fits: u64,
    /// ε that they were granted.
    pub earlier_epsilon: f64,
    /// δ that they were granted.
    pub earlier_delta: f64,
    /// ε of all, with this one.
    pub epsilon: f64,
    /// δ of all, with this one.
    pub delta: f64,
}

/// Draws from the posterior, as files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitDraws {
    /// Their folder, beside `results.json`.
    pub folder: String,
    /// Chains: files of draws.
    pub chains: usize,
    /// Draws in each.
    pub iterations: usize,
}

impl FitResults {
    /// The public number of rows, or of persons where these are protected, and what it is of.
    pub fn counted(&self) -> (u64, &'static str) {
        match (self.persons, self.rows) {
            (Some(persons), _) => (persons, "persons"),
            (None, rows) => (rows.unwrap_or(0), "rows"),
        }
    }

    /// Reads the results of a fit from their folder or file; none where the file is of another kind.
    pub fn open(path: &Path) -> Result<Option<Self>, StudyError> {
        let path = &if path.is_dir() { path.join("results.json") } else { path.to_owned() };
        let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
        let wrong = |message: String| StudyError::Results { path: path.display().to_string(), message };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if value.get("kind").is_none_or(|kind| kind != FIT) {
            return Ok(None);
        }
        match value.get("schema").and_then(serde_json::Value::as_u64) {
            Some(schema) if schema == u64::from(FIT_SCHEMA) => {}
            found => return Err(wrong(format!("schema is {}, expected {FIT_SCHEMA}", found.unwrap_or_default()))),
        }
        serde_json::from_value(value).map(Some).map_err(|error| wrong(error.to_string()))
    }
}
