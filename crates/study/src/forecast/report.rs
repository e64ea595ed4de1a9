//! A plan as one JSON object.

use super::{ExpectedIntervals, Guidance};
use inference::plan::PlannedStage;
use inference::results::{SecureSumResult, SeveralSites};
use privacy::{Adjacency, Unit};
use serde::Serialize;

/// The JSON object: these names are a contract.
#[derive(Serialize)]
pub(super) struct ForecastReport<'a> {
    pub(super) study: &'a str,
    pub(super) clients: Option<usize>,
    pub(super) rows: Option<&'a [u64]>,
    pub(super) rows_are: &'a str,
    pub(super) parameters: Option<usize>,
    pub(super) methods: Vec<MethodReport<'a>>,
    pub(super) guidance: &'a Guidance,
    pub(super) notes: &'a [String],
    pub(super) warnings: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct MethodReport<'a> {
    pub(super) name: &'a str,
    pub(super) algorithm: &'a str,
    pub(super) solver: &'a str,
    pub(super) schedule: &'a str,
    pub(super) rounds: u64,
    pub(super) messages: u64,
    pub(super) bytes_per_message: Option<u64>,
    /// What the study leaves out: each key with its value and the reason.
    pub(super) derived: Vec<serde_json::Value>,
    pub(super) privacy: Option<PrivacyReport<'a>>,
    /// What intervals to expect, by ε, where the method has a forecast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<&'a ExpectedIntervals>,
}

#[derive(Serialize)]
pub(super) struct PrivacyReport<'a> {
    pub(super) unit: Unit,
    pub(super) adjacency: Adjacency,
    pub(super) epsilon: f64,
    pub(super) aggregator: &'a str,
    #[serde(flatten)]
    pub(super) secure_sum: Option<SecureSumResult>,
    pub(super) accountant: &'a str,
    pub(super) clients: Vec<ClientReport>,
    /// Where sites promise different things.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) several_sites: Vec<SeveralSites>,
}

#[derive(Serialize)]
pub(super) struct ClientReport {
    /// Where sites promise different things.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epsilon_granted: Option<f64>,
    pub(super) rows: Option<u64>,
    /// What the plan goes by, where persons are protected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) persons: Option<u64>,
    pub(super) delta: f64,
    pub(super) noise_multiplier: f64,
    pub(super) clip: f64,
    pub(super) rate: f64,
    pub(super) releases_per_update: u64,
    pub(super) updates: u64,
    pub(super) epsilon_certified: f64,
    pub(super) epsilon_claimed: f64,
    /// All updates in order; the numbers above are those of the last stage.
    pub(super) stages: Vec<StageReport>,
}

#[derive(Serialize)]
pub(super) struct StageReport {
    pub(super) updates: u64,
    pub(super) releases_per_update: u64,
    pub(super) noise_multiplier: f64,
    pub(super) clip: f64,
    pub(super) rate: f64,
    pub(super) event: String,
}

impl From<&PlannedStage> for StageReport {
    fn from(stage: &PlannedStage) -> Self {
        Self {
            updates: stage.updates,
            releases_per_update: stage.event.steps().get(),
            noise_multiplier: stage.noise_multiplier(),
            clip: stage.shape.bound().get(),
            rate: stage.event.sampling().rate(),
            event: stage.event.to_string(),
        }
    }
}
