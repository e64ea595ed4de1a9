//! Plans as typed, on a command line or in a file of events: numbers are still text, so that a bad one is answered by name.

use super::mechanism;
use crate::error::StudyError;
use serde::{Deserialize, Deserializer};

/// A plan as typed: its mechanisms, how often one person may be in it, and how many units are protected together.
#[derive(Debug, Clone, Default)]
pub struct PlanAsTyped {
    /// What happens at one client.
    pub mechanisms: Vec<MechanismAsTyped>,
    /// The same person may be at up to so many clients that each run the plan.
    pub overlap: Option<String>,
    /// Protect any so many units together instead of one.
    pub group: Option<String>,
}

/// Reads the mechanisms of a plan from a JSON list of flat objects; `file` is its name in errors.
pub fn read_events(file: &str, text: &str) -> Result<Vec<MechanismAsTyped>, StudyError> {
    mechanism::read(file, text)
}

/// A word from a short list, with its name and what it means.
pub trait Choice: Copy + 'static {
    /// All of them: the choice, its name, and what it means.
    const ALL: &'static [(Self, &'static str, &'static str)];
}

/// One mechanism as typed, flat: the flags, and the keys of an object in a file of events.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MechanismAsTyped {
    /// What is done to the data
    pub mechanism: Option<MechanismKind>,
    /// gaussian: noise deviation / sensitivity; laplace: noise scale / sensitivity
    #[serde(alias = "noise-multiplier", deserialize_with = "text")]
    pub noise_multiplier: Option<String>,
    /// How often it is done
    #[serde(deserialize_with = "text")]
    pub steps: Option<String>,
    /// How the rows of a step are drawn; every row takes part without it
    pub sampling: Option<SamplingAsTyped>,
    /// The share of the rows in a step; shuffle-clones, shuffle-krr: the share of all users in a shuffle
    #[serde(deserialize_with = "text")]
    pub rate: Option<String>,
    /// Which data sets are neighbours: one unit more or less, or one replaced
    pub adjacency: Option<AdjacencyAsTyped>,
    /// Who is protected: one row (the default), or all rows of a client
    pub unit: Option<UnitAsTyped>,
    /// randomised-response, shuffle-krr: number of possible answers
    #[serde(deserialize_with = "text")]
    pub categories: Option<String>,
    /// randomised-response, shuffle-krr: probability of answering at random
    #[serde(deserialize_with = "text")]
    pub gamma: Option<String>,
    /// shuffle-clones, shuffle-krr: users in one shuffle
    #[serde(deserialize_with = "text")]
    pub users: Option<String>,
    /// shuffle-clones: ε of each user's own answer
    #[serde(alias = "local-epsilon", deserialize_with = "text")]
    pub local_epsilon: Option<String>,
    /// shuffle-krr: what is known beside the shuffled answers
    pub adversary: Option<AdversaryAsTyped>,
    /// approximate: ε of one step
    #[serde(alias = "step-epsilon", deserialize_with = "text")]
    pub step_epsilon: Option<String>,
    /// approximate: δ of one step
    #[serde(alias = "step-delta", deserialize_with = "text")]
    pub step_delta: Option<String>,
    /// barker: rows in the batch of one test, drawn without replacement
    #[serde(deserialize_with = "text")]
    pub batch: Option<String>,
    /// barker: rows that a batch is drawn from
    #[serde(deserialize_with = "text")]
    pub rows: Option<String>,
}

/// The mechanisms by their names on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MechanismKind {
    /// Gaussian noise on a clipped sum
    Gaussian,
    /// Laplace noise on a clipped sum
    Laplace,
    /// The true category, or sometimes a random one
    RandomisedResponse,
    /// Private answers of many users, shuffled
    ShuffleClones,
    /// Randomised responses of many users, shuffled
    ShuffleKrr,
    /// Anything of which only (ε, δ) is known
    Approximate,
    /// Barker tests of a Markov chain on batches, whose spread is part of the noise
    Barker,
}

/// How rows are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingAsTyped {
    /// Every row takes part
    None,
    /// Each row on its own, with the rate as its probability
    Poisson,
    /// Batches of fixed size, the rate as their share of the rows
    WithoutReplacement,
}

/// Which data sets are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdjacencyAsTyped {
    /// One unit more or one less: the number of units is private
    AddRemove,
    /// One unit replaced: the number of units is public
    Substitute,
}

/// Who is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitAsTyped {
    /// One row
    Example,
    /// All rows of one person
    Person,
    /// All rows of one client
    Client,
}

/// What the observer of a shuffle sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdversaryAsTyped {
    /// Who answered at random, the protected user included
    Strong,
    /// Who answered at random among the others
    Weak,
    /// The shuffled answers alone
    Outside,
}

impl Choice for MechanismKind {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Gaussian, "gaussian", "Gaussian noise on a clipped sum"),
        (Self::Laplace, "laplace", "Laplace noise on a clipped sum"),
        (Self::RandomisedResponse, "randomised-response", "The true category, or sometimes a random one"),
        (Self::ShuffleClones, "shuffle-clones", "Private answers of many users, shuffled"),
        (Self::ShuffleKrr, "shuffle-krr", "Randomised responses of many users, shuffled"),
        (Self::Approximate, "approximate", "Anything of which only (ε, δ) is known"),
        (Self::Barker, "barker", "Barker tests of a Markov chain on batches, whose spread is part of the noise"),
    ];
}

impl Choice for SamplingAsTyped {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::None, "none", "Every row takes part"),
        (Self::Poisson, "poisson", "Each row on its own, with the rate as its probability"),
        (Self::WithoutReplacement, "without-replacement", "Batches of fixed size, the rate as their share of the rows"),
    ];
}

impl Choice for AdjacencyAsTyped {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::AddRemove, "add-remove", "One unit more or one less: the number of units is private"),
        (Self::Substitute, "substitute", "One unit replaced: the number of units is public"),
    ];
}

impl Choice for UnitAsTyped {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Example, "example", "One row"),
        (Self::Person, "person", "All rows of one person"),
        (Self::Client, "client", "All rows of one client"),
    ];
}

impl Choice for AdversaryAsTyped {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Strong, "strong", "Who answered at random, the protected user included"),
        (Self::Weak, "weak", "Who answered at random among the others"),
        (Self::Outside, "outside", "The shuffled answers alone"),
    ];
}

/// A JSON number or string, kept as text until its meaning is known.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match serde_json::Value::deserialize(from)? {
        serde_json::Value::Number(number) => Ok(Some(number.to_string())),
        serde_json::Value::String(text) => Ok(Some(text)),
        other => Err(serde::de::Error::custom(format!("expected a number, found {other}"))),
    }
}
