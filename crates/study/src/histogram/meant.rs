//! A histogram study: the keys of a file with `[histogram]`, and what they mean.

use crate::error::StudyError;
use crate::{Fault, StudyText, check_name, check_seeds, check_version};
use privacy::{
    Adjacency, Adversary, Categories, Delta, Epsilon, Event, Gamma, Mechanism, PrivacyError, Sampling, Steps, Unit,
};
use serde::Deserialize;
use std::path::Path;

/// How far shares may be from one together.
const SLACK: f64 = 1e-9;

/// Users of a simulation at most.
const MOST_USERS: u64 = 1_000_000;

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileAsTyped {
    /// Version of this shape, which was checked before the rest was read.
    #[serde(rename = "schema")]
    _schema: Option<i64>,
    study: HistogramTableAsTyped,
    histogram: HistogramAsTyped,
}

/// `[study]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistogramTableAsTyped {
    name: String,
    seeds: Vec<u64>,
}

/// `[histogram]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistogramAsTyped {
    users: u64,
    /// Users who are drawn for each round; all without it.
    users_per_round: Option<u64>,
    /// Their names.
    categories: Vec<String>,
    /// Shares of the users, in the order of the categories.
    truth: Vec<f64>,
    /// Probability of an answer at random; or local_epsilon.
    gamma: Option<f64>,
    local_epsilon: Option<f64>,
    rounds: u64,
    delta: f64,
}

/// A histogram study, checked.
#[derive(Debug, Clone)]
pub struct Histogram {
    pub(super) name: String,
    pub(super) seeds: Vec<u64>,
    pub(super) users: u64,
    pub(super) per_round: u64,
    pub(super) categories: Vec<String>,
    pub(super) truth: Vec<f64>,
    pub(super) gamma: Gamma,
    pub(super) rounds: Steps,
    pub(super) delta: Delta,
}

impl Histogram {
    /// Reads and checks a file.
    pub fn open(path: &Path) -> Result<Self, StudyError> {
        let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
        Ok(Self::read(path.display().to_string(), &text)?)
    }

    /// Checks a text; `file` is its name in errors.
    pub(super) fn read(file: String, text: &str) -> Result<Self, Fault> {
        let source = &StudyText::new(file, text);
        check_version(source)?;
        let FileAsTyped { study, histogram: typed, .. } =
            toml::from_str(text).map_err(|error| source.unreadable(&error))?;
        check_name(&study.name, source)?;
        check_seeds(&study.seeds, source)?;
        check_users(&typed, source)?;
        check_categories(&typed, source)?;
        Ok(Self {
            gamma: gamma(&typed, source)?,
            rounds: number("rounds", Steps::new(typed.rounds), source)?,
            delta: delta(typed.delta, source)?,
            name: study.name,
            seeds: study.seeds,
            users: typed.users,
            per_round: typed.users_per_round.unwrap_or(typed.users),
            categories: typed.categories,
            truth: typed.truth,
        })
    }

    /// The same study with one seed.
    pub fn with_seed(self, seed: Option<u64>) -> Self {
        Self { seeds: seed.map_or(self.seeds, |seed| vec![seed]), ..self }
    }

    /// Its name, which becomes a directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if a part of the users is drawn for each round.
    pub(super) fn sampled(&self) -> bool {
        self.per_round < self.users
    }

    /// ε of one answer that is seen by itself: log(1 + (1−γ)k/γ).
    pub(super) fn local_epsilon(&self) -> f64 {
        let gamma = self.gamma.get();
        ((1.0 - gamma) * self.categories.len() as f64 / gamma).ln_1p()
    }

    /// Who may look at what is charged: with a sample, whoever sees the published counts; else, who knows more.
    pub(super) fn charged_for(&self) -> Adversary {
        if self.sampled() { Adversary::Outside } else { Adversary::Weak }
    }

    /// The event that every user is charged with: what is run.
    pub(super) fn event(&self) -> Result<Event, PrivacyError> {
        self.shuffled(self.charged_for(), self.rounds)
    }

    /// The shuffled answers of so many rounds, against an adversary.
    pub(super) fn shuffled(&self, adversary: Adversary, rounds: Steps) -> Result<Event, PrivacyError> {
        let users = Steps::new(self.per_round)?;
        let (categories, gamma) = (self.k()?, self.gamma);
        self.of(Mechanism::ShuffleRandomisedResponse { users, categories, gamma, adversary }, rounds)
    }

    /// The same rounds as those of any report of the same local ε.
    pub(super) fn clones(&self, rounds: Steps) -> Result<Event, PrivacyError> {
        let local_epsilon = Epsilon::new(self.local_epsilon().next_up())?;
        self.of(Mechanism::ShuffleClones { users: Steps::new(self.per_round)?, local_epsilon }, rounds)
    }

    /// The answers of one user who is asked in every round, without a shuffler: each is seen.
    pub(super) fn local(&self, rounds: Steps) -> Result<Event, PrivacyError> {
        let mechanism = Mechanism::RandomisedResponse { categories: self.k()?, gamma: self.gamma };
        Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, rounds)
    }

    fn k(&self) -> Result<Categories, PrivacyError> {
        Categories::new(self.categories.len() as u64)
    }

    fn of(&self, mechanism: Mechanism, rounds: Steps) -> Result<Event, PrivacyError> {
        let sampling = match self.sampled() {
            true => Sampling::without_replacement(self.per_round, self.users)?,
            false => Sampling::None,
        };
        Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, rounds)
    }
}

fn check_users(typed: &HistogramAsTyped, source: &StudyText<'_>) -> Result<(), Fault> {
    let fault =
        |key: &str, message: String, hint: &str| Err(source.fault(&format!("histogram.{key}"), "S004", message, hint));
    if !(1..=MOST_USERS).contains(&typed.users) {
        let message = format!("users is {}, expected 1 to {MOST_USERS}", typed.users);
        return fault("users", message, "users = 10000, for example");
    }
    match typed.users_per_round {
        Some(drawn) if drawn == 0 || drawn > typed.users => {
            let message = format!("users_per_round is {drawn}, expected 1 to {}, the number of users", typed.users);
            fault("users_per_round", message, "leave it out to ask all users in every round")
        }
        _ => Ok(()),
    }
}

fn check_categories(typed: &HistogramAsTyped, source: &StudyText<'_>) -> Result<(), Fault> {
    let fault = |key: &str, code, message: String, hint: &str| {
        Err(source.fault(&format!("histogram.{key}"), code, message, hint))
    };
    let (names, truth) = (&typed.categories, &typed.truth);
    if names.len() < 2 {
        let message = format!("there is {} category, expected 2 or more", names.len());
        return fault("categories", "S004", message, "one category is known without asking");
    }
    if let Some(at) = (0..names.len()).find(|&at| names[at].trim().is_empty() || names[..at].contains(&names[at])) {
        let message = format!("a category is named {:?}, which is empty or there twice", names[at]);
        return fault("categories", "S005", message, "categories are told apart by their names");
    }
    if truth.len() != names.len() {
        let message = format!("truth has {} shares for {} categories", truth.len(), names.len());
        return fault("truth", "S004", message, "one share for each category, in their order");
    }
    let sum: f64 = truth.iter().sum();
    if truth.iter().any(|share| !(0.0..=1.0).contains(share)) || (sum - 1.0).abs() > SLACK {
        let message = format!("the shares of truth add up to {sum}, expected shares from 0 to 1 that add up to 1");
        return fault("truth", "S004", message, "truth = [0.5, 0.3, 0.2], for example");
    }
    Ok(())
}

/// γ, or the γ with which one answer has the local ε: k/(e^ε₀ + k − 1).
fn gamma(typed: &HistogramAsTyped, source: &StudyText<'_>) -> Result<Gamma, Fault> {
    let wrong = |key: &str, message: String| {
        let hint = "γ is the probability of answering at random, over 0 and under 1, such as 0.5";
        source.fault(&format!("histogram.{key}"), "S004", message, hint)
    };
    let (key, value) = match (typed.gamma, typed.local_epsilon) {
        (Some(gamma), None) => ("gamma", gamma),
        (None, Some(epsilon)) if epsilon.is_finite() && epsilon > 0.0 => {
            let k = typed.categories.len() as f64;
            ("local_epsilon", k / (epsilon.exp() + k - 1.0))
        }
        (None, Some(epsilon)) => {
            return Err(wrong("local_epsilon", format!("local_epsilon is {epsilon}, expected a number over 0")));
        }
        (given, _) => {
            let message = match given {
                Some(_) => "gamma and local_epsilon say the same twice",
                None => "neither gamma nor local_epsilon is given",
            };
            return Err(source.fault("histogram", "S011", message.into(), "gamma = 0.5, or local_epsilon = 2.0"));
        }
    };
    match Gamma::new(value) {
        Ok(gamma) if value < 1.0 => Ok(gamma),
        _ => Err(wrong(key, format!("{key} makes γ {value}, expected a number over 0 and under 1"))),
    }
}

fn delta(value: f64, source: &StudyText<'_>) -> Result<Delta, Fault> {
    match Delta::new(value) {
        Ok(delta) if value > 0.0 => Ok(delta),
        _ => {
            let message = format!("delta is {value}, expected a number over 0 and under 1");
            let hint = "well under one over the number of users, such as 1e-6";
            Err(source.fault("histogram.delta", "S004", message, hint))
        }
    }
}

fn number<T>(key: &str, value: Result<T, PrivacyError>, source: &StudyText<'_>) -> Result<T, Fault> {
    value.map_err(|error| {
        source.fault(&format!("histogram.{key}"), "S004", error.to_string(), format!("{key} = 4, for example"))
    })
}
