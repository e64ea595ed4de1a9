//! What would leave a site if it took part in a run: public facts of the manifest, before anybody approves it.
//!
//! Nothing in here is computed from rows. Manifest, policy and ledger are enough.

use crate::identity::PartyName;
use crate::log::Account;
use crate::manifest::{Manifest, RunParts};
use crate::policy::{Policy, PolicyError, columns_of, model_of};
use inference::{Kind, Schema, Summing, Terms};
use privacy::{Delta, Event, Grant, PromisePair};

/// What would leave one site in one run, to whom, and what it would cost.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPreview {
    /// The kind of model, as the study names it; none if the study's text does not say.
    pub model: Option<String>,
    /// The method.
    pub method: String,
    /// The sites with their declared rows, or persons where these are protected.
    pub sites: Vec<(PartyName, u64)>,
    /// Which of them is this one.
    pub site: usize,
    /// The compute nodes that open sums; none where the server sees every answer.
    pub nodes: Vec<PartyName>,
    /// Rounds of the run, at most.
    pub rounds: u64,
    /// Answers of this site, kind by kind in their order.
    pub answers: Vec<AnswerPreview>,
    /// Columns that the study reads; none if the schema cannot be read.
    pub columns: Option<Vec<String>>,
    /// Columns that are in the schema and are not read.
    pub ignored: Vec<String>,
    /// For which neighbours the run promises.
    pub pair: PromisePair,
    /// ε and δ of the whole run; none without a promise.
    pub promise: Option<(f64, f64)>,
}

/// Answers of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerPreview {
    /// How many there are, at most.
    pub count: u64,
    /// Numbers in each, at most.
    pub numbers: u64,
    /// The mechanism of each, in words.
    pub event: Event,
    /// Certified ε of one at the run's δ; none where nothing is certified.
    pub epsilon: Option<f64>,
}

/// What a policy says of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyPreview {
    /// What all runs of the site would count as with this one, whole; none if no theorem says.
    pub counts_as: Option<f64>,
    /// The cap on ε.
    pub max_epsilon: f64,
    /// The cap on δ.
    pub max_delta: f64,
    /// Why the agent would refuse the run, if it would.
    pub refusal: Option<PolicyError>,
}

impl RunPreview {
    /// What a manifest means for a site, by the parts that the site has built from it; none for a site that is not in it.
    pub fn of(manifest: &Manifest, parts: &RunParts, site: usize) -> Option<Self> {
        let built = &parts.built;
        let (main, grant) = (built.terms.get(site)?, built.grants.get(site)?);
        let promise = match grant {
            Grant::Limited { epsilon, delta, .. } => Some((epsilon.get(), delta.get())),
            Grant::Unlimited => None,
        };
        let delta = promise.and_then(|(_, delta)| Delta::new(delta).ok());
        let preview = |count: u64, terms: &Terms| AnswerPreview {
            count,
            // What passes a gate has the agreed shape; what is made of it is a change of the posterior.
            numbers: terms.shape.dimension().max(built.problem.family.len()) as u64,
            event: terms.event.clone(),
            epsilon: delta.and_then(|delta| inference::plan::certified(std::slice::from_ref(&terms.event), delta).ok()),
        };
        let openings = built.openings.get(site).map_or(&[][..], Vec::as_slice);
        let mut answers: Vec<AnswerPreview> =
            openings.iter().map(|opening| preview(opening.answers, &opening.terms)).collect();
        let first = openings.iter().fold(0_u64, |sum, opening| sum.saturating_add(opening.answers));
        answers.push(preview(manifest.pace.rounds.saturating_sub(first), main));
        let nodes = match built.summing {
            Summing::Secure { .. } => manifest.nodes.iter().map(|node| node.name.clone()).collect(),
            Summing::Nobody | Summing::Curator => Vec::new(),
        };
        Some(Self {
            model: model_of(&manifest.study),
            method: manifest.method.clone(),
            sites: manifest.sites.iter().map(|site| (site.name.clone(), site.rows)).collect(),
            site,
            nodes,
            rounds: manifest.pace.rounds,
            answers,
            columns: columns_of(&manifest.schema),
            ignored: ignored_by(&manifest.schema),
            pair: parts.pair(site)?,
            promise,
        })
    }

    /// Numbers that would leave the site in all, at most.
    pub fn numbers(&self) -> u64 {
        self.answers.iter().fold(0, |sum, answers| sum.saturating_add(answers.count.saturating_mul(answers.numbers)))
    }
}

impl PolicyPreview {
    /// What the policy of a site says, given its ledger.
    pub fn of(policy: &Policy, manifest: &Manifest, parts: &RunParts, site: usize, account: &Account) -> Self {
        let after = policy.lifetime_with(manifest, parts, site, account).ok().flatten();
        Self {
            counts_as: after.and_then(|after| after.counts_as()).map(|gauge| gauge.epsilon),
            max_epsilon: policy.max_epsilon,
            max_delta: policy.max_delta,
            refusal: policy.check(manifest, parts, site, account).err(),
        }
    }
}

/// Columns that a schema names and does not use.
fn ignored_by(schema: &str) -> Vec<String> {
    let Ok(schema) = Schema::from_toml(schema) else { return Vec::new() };
    let ignored = schema.columns().iter().filter(|column| column.kind == Kind::Ignore);
    ignored.map(|column| column.name.clone()).collect()
}
