//! What the dashboard shows: public values only, and where they come from.

use crate::message::Attempt;
use inference::Intervals;
use inference::warning::PublicWarnings;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A run in the list of all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its id, in hexadecimal digits.
    pub id: String,
    /// The study's name.
    pub name: String,
    /// Which of the study's methods is run.
    pub method: String,
    /// Whether it waits for signatures, runs, or has ended.
    pub phase: RunPhase,
    /// Rounds that were made.
    pub round: u64,
    /// Rounds to make.
    pub rounds: u64,
    /// How many sites take part.
    pub sites: usize,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// Whether there is more to see of it.
    pub detail: RunDetail,
}

/// Whether a run of the list has a page of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunDetail {
    /// It is served now, and [`DashboardSource::run`] has it.
    Page,
    /// It is kept in the store, and only its line is shown.
    Line,
}

/// Everything that is shown of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// Its id, in hexadecimal digits.
    pub id: String,
    /// The study's name.
    pub name: String,
    /// Which of the study's methods is run.
    pub method: String,
    /// The model, in words.
    pub model: String,
    /// What is promised: ε, δ, relation and unit, in words.
    pub promise: String,
    /// Who is asked when, in words.
    pub schedule: String,
    /// Who adds up, in words: "each site noises its own answer", or "secure sum over 2 nodes".
    pub summing: String,
    /// Whether it waits for signatures, runs, or has ended.
    pub phase: RunPhase,
    /// How it ended; none before.
    pub end: Option<RunEnd>,
    /// Rounds that were made.
    pub round: u64,
    /// Seconds for which the present round is known to be under way; none if none is.
    pub round_age: Option<u64>,
    /// Rounds to make.
    pub rounds: u64,
    /// Changes of the posterior that were made.
    pub folds: u64,
    /// Fewest sites with which it goes on.
    pub quorum: u64,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// When this was looked up, in seconds since 1970.
    pub taken: u64,
    /// The commit that the server's program was built from, or `unknown`.
    pub commit: String,
    /// Seconds since this server took it up.
    pub watched: u64,
    /// The sites, in the order of the manifest.
    pub sites: Vec<SiteView>,
    /// The compute nodes; none without a secure sum.
    pub nodes: Vec<NodeView>,
    /// How the posterior came about, one point a round.
    pub curve: Vec<RoundPoint>,
    /// Names of the model's inputs.
    pub inputs: Vec<String>,
    /// The posterior as it is now, in the order of [`RoundPoint::coefficients`].
    pub posterior: Vec<CoefficientView>,
    /// What its intervals are worth; none where that is not known, and then they are not shown.
    #[serde(default)]
    pub intervals: Option<Intervals>,
    /// What was checked of what is kept.
    pub checks: ReplayCheck,
    /// What the run itself warns of, of public source only: nothing that was read from rows can stand here.
    #[serde(default)]
    pub warnings: PublicWarnings,
}

/// How a run ended, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The outcome in one word, for monitors.
    pub outcome: String,
    /// The role and name of the member because of whom its sums failed.
    pub member: Option<String>,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunPhase {
    /// Not all have signed the manifest.
    Signing,
    /// Rounds are made.
    Running,
    /// It is over; how, in words.
    Finished(String),
}

impl RunPhase {
    /// Words of all phases, for people and for metrics.
    pub const WORDS: [&'static str; 3] = ["signing", "running", "finished"];

    /// The value of the label `phase`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Signing => "signing",
            Self::Running => "running",
            Self::Finished(_) => "finished",
        }
    }
}

/// A site of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteView {
    /// The site's name in the manifest.
    pub name: String,
    /// Whether it can be asked.
    pub standing: SiteStatus,
    /// It has signed the manifest.
    pub signed: bool,
    /// ε that its accepted answers cost, as an upper bound.
    pub epsilon_spent: f64,
    /// ε that it granted.
    pub epsilon_granted: f64,
    /// δ of both.
    pub delta: f64,
    /// Answers that were accepted.
    pub answers: u64,
    /// Folds since the state from which its present question was made.
    pub staleness: u64,
    /// What it is asked now.
    pub asked: Option<Attempt>,
    /// Seconds since it was last heard of.
    pub last_heard: Option<u64>,
    /// The last place of its log that the server has countersigned.
    pub ledger: Option<LedgerHead>,
    /// When its certificate ends, in seconds since 1970.
    pub certificate_ends: Option<u64>,
    /// Attempts at sums that failed because of it.
    pub failed_attempts: u64,
}

impl SiteView {
    /// How it stands at this second since 1970: a site that could be asked, but whose certificate has ended, cannot call.
    pub fn standing_at(&self, now: u64) -> SiteStatus {
        match self.standing {
            SiteStatus::Online if has_ended(self.certificate_ends, now) => SiteStatus::Expired,
            standing => standing,
        }
    }
}

/// Whether a certificate that ends then has ended by now.
pub(super) fn has_ended(ends: Option<u64>, now: u64) -> bool {
    ends.is_some_and(|ends| ends <= now)
}

/// Whether a site can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiteStatus {
    /// The server can ask it.
    Online,
    /// Its budget covers no more answers.
    Spent,
    /// It refuses, or has stopped.
    Withdrawn,
    /// Two copies of it were alive; an operator has to look.
    Frozen,
    /// Its certificate was revoked.
    Revoked,
    /// Its certificate has ended: it has to join again.
    Expired,
}

impl SiteStatus {
    /// Every status, in the order in which metrics list them.
    pub const ALL: [Self; 6] = [Self::Online, Self::Spent, Self::Withdrawn, Self::Frozen, Self::Revoked, Self::Expired];

    /// The value of the label `standing`, and the word on the page.
    pub fn word(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Spent => "spent",
            Self::Withdrawn => "withdrawn",
            Self::Frozen => "frozen",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }
}

/// A place in a site's log, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerHead {
    /// Number of the record.
    pub sequence: u64,
    /// The first hexadecimal digits of its digest.
    pub digest: String,
}

/// A compute node of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeView {
    /// The node's name in the manifest.
    pub name: String,
    /// It has signed the manifest.
    pub signed: bool,
    /// Seconds since it was last heard of.
    pub last_heard: Option<u64>,
    /// When its certificate ends, in seconds since 1970.
    pub certificate_ends: Option<u64>,
    /// Attempts at sums that failed because of it.
    pub failed_attempts: u64,
}

/// A party's certificate, as it was issued last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateView {
    /// The party's role.
    pub role: String,
    /// The party's name.
    pub name: String,
    /// When it ends, in seconds since 1970.
    pub ends: u64,
}

/// The posterior after a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundPoint {
    /// Rounds that were made.
    pub round: u64,
    /// How far the means moved in this round (Euclidean norm).
    pub change: f64,
    /// Average of the posterior deviations.
    pub mean_deviation: f64,
    /// Posterior means.
    pub coefficients: Vec<f64>,
    /// ε that each site had spent.
    pub epsilon: Vec<f64>,
}

/// One coefficient of the posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoefficientView {
    /// The input, or `intercept`.
    pub name: String,
    /// Posterior mean.
    pub mean: f64,
    /// Posterior deviation.
    pub deviation: f64,
    /// The ends of the 95 % interval, where the posterior is no Gaussian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<[f64; 2]>,
}

/// What was checked of what is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayCheck {
    /// Whether the state that was made again from the kept answers is the kept state, or what differs; none before a check.
    pub replayed: Option<Result<(), String>>,
    /// Folds that were made again.
    pub folds: u64,
    /// When that was, in seconds since 1970.
    pub last_checked: Option<u64>,
}

/// Where the dashboard looks. Calls may take a moment: they are made where waiting is allowed.
pub trait DashboardSource: Send + Sync + 'static {
    /// All runs, the latest first.
    fn runs(&self) -> Vec<RunSummary>;

    /// Who has not joined yet, in words; none if nobody is waited for.
    fn waiting(&self) -> Option<String> {
        None
    }

    /// The run with this id; none if there is none.
    fn run(&self, id: &str) -> Option<RunView>;

    /// A number that moves whenever something that is shown has changed.
    fn changes(&self) -> watch::Receiver<u64>;

    /// The posterior for programs, as JSON.
    fn posterior_json(&self, id: &str) -> Option<String>;

    /// The manifest with its signatures, as JSON.
    fn manifest_json(&self, id: &str) -> Option<String>;

    /// The report of the run, as one file.
    fn report_html(&self, id: &str) -> Option<String> {
        self.run(id).map(|view| super::report_html(&view))
    }

    /// The certificates of all parties that were not revoked.
    fn certificates(&self) -> Vec<CertificateView> {
        Vec::new()
    }

    /// What is kept can be read. Whether changes are kept is known to [`super::Metrics`].
    fn healthy(&self) -> bool;
}
