//! One finished run of one method with one seed, as it is kept so that a study can go on where it stopped.

use super::posterior::Marginals;
use inference::chain::shown;
use inference::results::{CalibrationBin, ChainResult, ClientSpending, CurvePoint};
use inference::score::{PredictiveChecks, Prominence, Scores};
use inference::warning::Warning;
use inference::{Fit, OneParameter, Record, Recovery, RunError, SiteScores};
use serde::{Deserialize, Serialize};

/// What a run left, in a form that can be written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finished {
    pub(crate) seed: u64,
    pub(crate) rounds: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) cpu_seconds: f64,
    pub(crate) scores: Scores<f64>,
    pub(crate) kl: Option<f64>,
    /// The only parameter of a conjugate model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parameter: Option<OneParameter>,
    /// The posterior against the coefficients that labels were drawn with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recovery: Option<Recovery>,
    pub(crate) sites: Vec<AtSite>,
    pub(crate) curve: Vec<CurvePoint>,
    pub(crate) posterior: Marginals,
    /// What was drawn, where the method makes draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) chain: Option<ChainResult>,
    /// The variance of the encoded outcome around its mean, where the method learnt it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outcome_variance: Option<f64>,
    pub(crate) calibration: Vec<CalibrationBin>,
    /// None in work that a program finished which did not make them yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checks: Option<PredictiveChecks>,
    pub(crate) noise_multiplier: Option<f64>,
    pub(crate) clip: Option<f64>,
    pub(crate) spending: Vec<ClientSpending>,
    /// How the search for the optimum ended, of baselines that search for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fit: Option<Fit>,
    /// How far each served mean moved in the last round, in its standard deviations.
    pub(crate) last_moves: Vec<f64>,
    pub(crate) warnings: Vec<Warning>,
}

/// Leading scores on one client's held-out rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AtSite {
    pub(crate) name: String,
    pub(crate) scores: Scores<f64>,
}

impl AtSite {
    fn of(SiteScores { site, scores }: SiteScores) -> Self {
        Self { name: site, scores: scores.shown_in(Prominence::Leading) }
    }
}

impl Finished {
    /// A record with the posterior's numbers and the time that it took.
    pub(crate) fn of(record: Record, posterior: Marginals, cpu_seconds: f64) -> Result<Self, RunError> {
        let chain = shown(&record.chains, record.warm_up, posterior.mean.len())?;
        Ok(Self {
            seed: record.seed,
            rounds: record.rounds,
            messages: record.messages,
            bytes: record.bytes,
            cpu_seconds,
            scores: record.scores,
            kl: record.kl,
            parameter: record.parameter,
            recovery: record.recovery,
            sites: record.sites.into_iter().map(AtSite::of).collect(),
            curve: record.curve,
            posterior,
            chain,
            outcome_variance: record.outcome_variance,
            calibration: record.calibration,
            checks: Some(record.checks),
            noise_multiplier: record.noise_multiplier,
            clip: record.clip,
            spending: record.spending,
            fit: record.fit,
            last_moves: record.last_moves,
            warnings: record.warnings,
        })
    }
}
