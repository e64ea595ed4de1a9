//! What a run leaves behind, in the stable shape of `results.json`.

mod coefficient;
mod own;

pub use coefficient::{Coefficient, NORMAL_95};
pub use own::{OwnPromise, SeveralSites, several_sites};

use crate::Intervals;
use crate::comparison::Comparison;
use crate::effects::Effects;
use crate::fit::Fit;
use crate::last_rounds::OneParameter;
use crate::recovery::RecoveryResult;
use crate::score::{PredictiveChecks, Scores};
use crate::warning::Warning;
use privacy::Unit;
use serde::{Deserialize, Serialize};

/// Version of this shape.
pub const SCHEMA: u32 = 2;

/// Which of the numbers no ε covers.
pub const OUTSIDE_EPSILON: &str = "Scores on the test rows, the baselines and the comparison of methods are computed on \
     the data itself and are not covered by ε; in a federation only the posterior is released. This is a simulation: its \
     noise follows from the published seed, so that its own posterior is not protected, and numbers of rows are exact.";

/// Everything that a run of a study found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Name of the study.
    pub study: String,
    /// The study as it was read, in TOML.
    pub study_toml: String,
    /// Where the rows came from, and how many.
    pub data: DataSummary,
    /// [`OUTSIDE_EPSILON`]; empty in results of a program that did not say so yet.
    #[serde(default)]
    pub outside_epsilon: String,
    /// One for each method, in the study's order, then the baselines that are always shown.
    pub methods: Vec<MethodResult>,
    /// Warnings about the data, which belong to no method.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// When and by what they were made; none in results of a program that did not say so yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// When and by what results were made. Two runs of one study differ here and nowhere else, so comparisons leave it out, and
/// finished work is found again whatever it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// When the results were written, in UTC, as RFC 3339 has it.
    pub date: String,
    /// Version of the program.
    pub version: String,
    /// The commit that the program was built from: with `+changes` where files differed, with `+development` in a build that is not
    /// a release and may be newer; `unknown` without a repository.
    pub commit: String,
    /// SHA-256 of the rows and their schema, in hexadecimal digits: of a simulation, whose reader has the rows. A federation has
    /// none: who knows all rows but one could find the last by trying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_digest: Option<String>,
}

/// The data of a study, in public numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// Name or path.
    pub source: String,
    /// The outcome: its column, with the level whose odds are told where it has two, or its units. None of results of a program that
    /// did not say so yet, and of rows that are not those of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Names of the inputs, in order.
    pub inputs: Vec<String>,
    /// Rows used for training, all clients together.
    pub train_rows: usize,
    /// Rows held out.
    pub test_rows: usize,
    /// Clients, by name. Row counts are those of the first seed.
    pub clients: Vec<ClientSummary>,
    /// Errors, widths and log-likelihoods are those of the encoded outcome, not in its units.
    #[serde(default)]
    pub encoded_scores: bool,
    /// What a reader should know of rows that are made up; none of rows in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_up: Option<String>,
}

impl DataSummary {
    /// Persons who have training rows, where the schema tells whose all rows are.
    pub fn persons(&self) -> Option<usize> {
        let persons = self.clients.iter().map(|client| client.persons).sum::<Option<usize>>();
        persons.filter(|_| !self.clients.is_empty())
    }
}

/// One client, in public numbers: a simulation knows them; under add-remove a real site would not tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientSummary {
    /// Its name: a value of the partition's column, or a number.
    pub name: String,
    /// Its training rows.
    pub rows: usize,
    /// Its own held-out rows; 0 where held-out rows belong to no client.
    #[serde(default)]
    pub test_rows: usize,
    /// Persons who have its training rows, where the schema tells whose rows are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persons: Option<usize>,
}

impl ClientSummary {
    /// What a promise to this unit goes by: persons where they are protected and known, else rows.
    pub fn count(&self, unit: Unit) -> usize {
        self.persons.filter(|_| unit == Unit::Person).unwrap_or(self.rows)
    }
}

/// One method over all seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodResult {
    /// Name as in the study.
    pub name: String,
    /// `pvi`, `committee`, `global-vi`, `global-vi-at-clients`, `constant`, `local-only`, `non-private`.
    pub algorithm: String,
    /// The local solver's name.
    pub solver: String,
    /// `sequential`, `synchronous`, `asynchronous`.
    pub schedule: String,
    /// Added by the program for comparison, not named by the study.
    pub baseline: bool,
    /// Every score on held-out rows that goes with the outcome, over all seeds. Methods are ordered by
    /// [`MAIN`](crate::score::MAIN).
    #[serde(flatten)]
    pub scores: Scores<Summary>,
    /// What it gains on each baseline, paired over seeds; empty for baselines themselves and where nothing was comparable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<Comparison>,
    /// Scores on each client's own held-out rows, where the partition says whose they are. Of `local-only` those of each
    /// client's own fit, else on all held-out rows.
    #[serde(default)]
    pub sites: Vec<SiteResult>,
    /// KL(q ‖ exact posterior of all rows), in nats, the mean of the last ten rounds of each seed. None where the posterior
    /// has no closed form.
    #[serde(default)]
    pub kl: Option<Summary>,
    /// The only parameter of a conjugate model, one entry for each seed; empty of other models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter: Vec<OneParameter>,
    /// How well it recovers the coefficients that labels were drawn with; none where nobody knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryResult>,
    /// Rounds of the schedule (mean over seeds).
    pub rounds: f64,
    /// Server-client exchanges, all clients together (mean over seeds).
    pub messages: f64,
    /// Bytes sent by clients (mean over seeds).
    pub bytes: f64,
    /// What was promised; none for methods without privacy.
    pub privacy: Option<PrivacyResult>,
    /// What was drawn, where the method makes draws; first seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainResult>,
    /// The share of draws that differ from the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Summary>,
    /// Effective sample size in the bulk of all chains together, the least of all parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk_ess: Option<Summary>,
    /// Distance of the parameters' means from those of the exact posterior, the mean over parameters. None where they are not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_error: Option<Summary>,
    /// The same of their variances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance_error: Option<Summary>,
    /// Processor time of all seeds, reading and encoding apart.
    pub cpu_seconds: f64,
    /// Scores along the way, one curve for each seed.
    pub curves: Vec<Curve>,
    /// The posterior of the first seed.
    pub posterior: Vec<Coefficient>,
    /// What the intervals of that posterior are worth: where they do not count the noise they are not shown. None of methods without a
    /// posterior, and in results of a program that did not say so yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// What the posterior of the first seed says about the columns, in the reader's units; none where it is not served or its
    /// coefficients are no effects of columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// Predicted against observed frequency on held-out rows, of all seeds together. Empty for regression.
    pub calibration: Vec<CalibrationBin>,
    /// Predicted against observed outcomes in groups of held-out rows, of all seeds together; none of results of a program that did
    /// not make them yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<PredictiveChecks>,
    /// How the search for the optimum ended, of baselines that search for one: the longest of all seeds, converged if all have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Warnings that belong to this method.
    pub warnings: Vec<Warning>,
}

impl MethodResult {
    /// Mean over seeds of the score by which methods are compared; not a number where nothing was scored.
    pub fn main_score(&self) -> f64 {
        self.scores.main().map_or(f64::NAN, |summary| summary.mean)
    }

    /// Why the intervals of its posterior are not shown; none where they are.
    pub fn intervals_not_shown(&self) -> Option<&'static str> {
        self.intervals.as_ref().and_then(Intervals::not_shown)
    }

    /// Whether other methods may be compared with this one: a baseline whose search for the optimum ended short of it says
    /// nothing of what can be reached.
    pub fn is_comparable(&self) -> bool {
        self.fit.is_none_or(|fit| fit.converged != Some(false))
    }
}

/// One method on the held-out rows of one client, over the seeds in which it has any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteResult {
    /// The client's name.
    pub name: String,
    /// Its leading scores.
    #[serde(flatten)]
    pub scores: Scores<Summary>,
}

/// Mean, deviation and the single values over seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean over seeds.
    pub mean: f64,
    /// Sample deviation over seeds; 0 for one seed.
    pub sd: f64,
    /// One value for each seed.
    pub per_seed: Vec<f64>,
}

impl Summary {
    /// Summarises one value for each seed.
    pub fn of(per_seed: Vec<f64>) -> Self {
        let n = per_seed.len() as f64;
        let mean = per_seed.iter().sum::<f64>() / n;
        let squares: f64 = per_seed.iter().map(|v| (v - mean) * (v - mean)).sum();
        let sd = if per_seed.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        Self { mean, sd, per_seed }
    }

    /// The value under which this share of the seeds lies, between neighbours in proportion; NaN of no seeds.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.per_seed.clone();
        sorted.sort_by(f64::total_cmp);
        let place = share.clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
        let (low, part) = (place.floor() as usize, place.fract());
        match (sorted.get(low), sorted.get(low + 1)) {
            (Some(a), Some(b)) if part > 0.0 => a + part * (b - a),
            (Some(a), _) => *a,
            (None, _) => f64::NAN,
        }
    }
}

/// What was promised and what was spent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrivacyResult {
    /// `example` or `client`.
    pub unit: String,
    /// `substitute` or `add-remove`.
    pub adjacency: String,
    /// The ε that every client granted, or the largest of them.
    pub epsilon: f64,
    /// The δ of every client, or the largest of them.
    pub delta: f64,
    /// Who is trusted: `none`, `curator`, `secure-sum`.
    pub aggregator: String,
    /// Of a secure sum: its four keys, named as in a study.
    #[serde(flatten)]
    pub secure_sum: Option<SecureSumResult>,
    /// One plain sentence: what exactly is promised to whom, against whom.
    pub promise: String,
    /// Noise deviation divided by sensitivity (the largest, where clients differ).
    pub noise_multiplier: f64,
    /// Clipping bound C. 1 for sufficient statistics, whose rule bounds a row in units of its own.
    pub clip: f64,
    /// How every row or change is bounded, in the method's own words; empty in results of a program that did not say so yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bounded: String,
    /// Accountant of the claim.
    pub accountant: String,
    /// What each client spent, first seed.
    pub clients: Vec<ClientSpending>,
    /// What somebody with rows at several sites is promised, where sites promise different things.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub several_sites: Vec<SeveralSites>,
}

/// Who took part in a secure sum, and where its noise came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecureSumResult {
    /// Compute nodes, of which one is honest.
    pub nodes: u32,
    /// `nodes`, `discrete-gaussian` or `skellam`.
    pub noise: String,
    /// Clients that may tell the adversary their noise.
    pub colluders: u64,
    /// Clients that may never arrive.
    pub dropouts: u64,
}

/// One client's ledger, summed up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientSpending {
    /// The client's name.
    pub name: String,
    /// ε by the study's accountant.
    pub claimed: f64,
    /// Certified upper bound of ε.
    pub certified: f64,
    /// δ at which both hold.
    pub delta: f64,
    /// Updates that were charged.
    pub charges: u64,
    /// Releases that they covered.
    pub steps: u64,
    /// The events, in words: one line for each different event, with its count.
    pub events: Vec<String>,
    /// Digest of the ledger's last record, in hexadecimal.
    pub head: String,
    /// What the site promises for itself, where sites promise different things.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnPromise>,
    /// What other theorems say of the same events, where a paper's own is among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_others: Vec<OtherBound>,
}

impl ClientSpending {
    /// ε that the site granted: its own, or that of all.
    pub fn granted(&self, of_all: f64) -> f64 {
        self.own.as_ref().map_or(of_all, |own| own.epsilon)
    }
}

/// ε of a ledger by one more accountant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherBound {
    /// Its name.
    pub accountant: String,
    /// Its upper bound.
    pub epsilon: f64,
}

/// Draws of chains after their warm-up, in released numbers alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainResult {
    /// How many chains.
    pub chains: usize,
    /// Draws of each.
    pub iterations: usize,
    /// The share of draws that differ from the one before.
    pub moved: f64,
    /// Every parameter.
    pub parameters: Vec<ParameterResult>,
    /// Of each chain by itself the effective sample size in the bulk, the least of all parameters; none where one did not move.
    #[serde(default)]
    pub each_ess: Vec<Option<f64>>,
    /// Of each chain by itself the share of draws that differ from the one before.
    #[serde(default)]
    pub each_moved: Vec<f64>,
    /// The first of them, drawn.
    pub courses: Vec<CourseResult>,
}

impl ChainResult {
    /// Effective sample size in the bulk of all chains together, the least of all parameters; none where one did not move.
    pub fn least_ess(&self) -> Option<f64> {
        least_ess(&self.parameters)
    }
}

/// The least of all parameters; none where one did not move.
pub(crate) fn least_ess(parameters: &[ParameterResult]) -> Option<f64> {
    let each: Option<Vec<f64>> = parameters.iter().map(|parameter| parameter.bulk_ess).collect();
    each?.into_iter().reduce(f64::min)
}

/// One parameter's draws in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterResult {
    /// The parameter.
    pub name: String,
    /// Mean of all draws.
    pub mean: f64,
    /// Their deviation.
    pub deviation: f64,
    /// 5 %, 50 %, 95 %.
    pub quantiles: [f64; 3],
    /// None of a parameter that did not move.
    pub rhat: Option<f64>,
    /// Effective sample size in the bulk.
    pub bulk_ess: Option<f64>,
    /// Effective sample size in the tails.
    pub tail_ess: Option<f64>,
    /// Monte Carlo standard error of the mean.
    pub error_of_mean: Option<f64>,
}

/// Where one parameter was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CourseResult {
    /// Of each chain some draws, evenly spaced.
    pub traces: Vec<Vec<f64>>,
    /// The least draw, where the first bar of the histogram begins.
    pub from: f64,
    /// Width of a bar.
    pub width: f64,
    /// Draws in each bar.
    pub counts: Vec<u64>,
}

/// Scores of one seed along the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The seed.
    pub seed: u64,
    /// Points, in order.
    pub points: Vec<CurvePoint>,
}

/// Scores after some messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Rounds so far.
    pub round: u64,
    /// Messages so far.
    pub messages: u64,
    /// Certified ε spent so far, the largest over clients; on the way over the sixteen different costs of those furthest in their
    /// plans, where there are more. None without privacy.
    pub epsilon: Option<f64>,
    /// Leading scores on held-out rows.
    #[serde(flatten)]
    pub scores: Scores<f64>,
    /// KL(q ‖ exact posterior), in nats; none where the posterior has no closed form.
    #[serde(default)]
    pub kl: Option<f64>,
    /// Precision, and precision times mean, of the only parameter of a conjugate model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural: Option<[f64; 2]>,
    /// Distance of the parameters' means from those of the exact posterior, the mean over parameters; none where they are not
    /// known.
    #[serde(default)]
    pub mean_error: Option<f64>,
    /// The same of their variances.
    #[serde(default)]
    pub variance_error: Option<f64>,
}

/// Held-out rows whose predicted probability fell into one bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibrationBin {
    /// Mean predicted probability.
    pub predicted: f64,
    /// Observed frequency.
    pub observed: f64,
    /// Rows.
    pub rows: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let summary = Summary::of(vec![4.0, 1.0, 3.0, 2.0, 10.0]);
        assert_eq!([0.0, 0.5, 0.625, 1.0].map(|share| summary.quantile(share)), [1.0, 3.0, 3.5, 10.0]);
        assert!(Summary::of(Vec::new()).quantile(0.5).is_nan());
    }
}
