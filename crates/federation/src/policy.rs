//! What a site allows, whatever a study asks for: `site.toml`, held against a manifest before anything is signed.

mod budget;
mod keys;
mod text;
mod totals;

pub use keys::POLICY_KEYS;
pub use text::DEFAULT;
pub use totals::GrantTotals;

use crate::log::Account;
use crate::manifest::{Manifest, RunParts};
use inference::settings::SecureNoise;
use inference::{Kind, Schema, Summing};
use privacy::{Adjacency, Delta, Grant, PromisePair, Unit};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The version of policies that this program writes. It also reads version 1, which need not name a relation and a unit.
pub const VERSION: i64 = 2;

/// The relation and the unit of a policy of version 1 that names none, at a site without a run: those of the studies that
/// `posterity init` writes.
pub const PAIR: PromisePair = PromisePair { adjacency: Adjacency::Substitute, unit: Unit::Example };

/// What a site allows.
///
/// Most keys have to be there: what a site allows is said, not left out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// [`VERSION`] or 1, which was checked before the rest was read.
    #[serde(rename = "schema")]
    pub version: i64,
    /// ε of all runs at this site together, at most: what the site promises.
    pub max_epsilon: f64,
    /// δ of all runs at this site together, at most: what the site promises.
    pub max_delta: f64,
    /// Runs that may be open at a time, at most.
    #[serde(default = "default_open_runs")]
    pub max_open_runs: u64,
    /// Kinds of models, as studies name them.
    pub allowed_models: AllowedNames,
    /// Columns that a schema may use: inputs, outcome, ids of records and persons, and what rows are chosen by.
    pub allowed_columns: AllowedNames,
    /// Declared rows of this site, at least; persons, where these are the unit.
    pub minimum_rows: u64,
    /// Whether single answers may be seen.
    pub require_secure_sum: bool,
    /// Sites in a run, at least; in a secure sum those without which it is not opened.
    pub minimum_sites: u64,
    /// Who says yes to what is allowed.
    pub approval: Approval,
    /// ε of a single answer at the run's δ, at most.
    pub max_epsilon_per_answer: Option<f64>,
    /// The relation that the site's promise is for. A file of version 1 may leave it out.
    pub adjacency: Option<Adjacency>,
    /// Whom it protects. A file of version 1 may leave it out.
    pub unit: Option<Unit>,
    /// Names of nodes and sites, and the fingerprints that their owners have read out: whom a secure sum may rest on.
    #[serde(default)]
    pub known: BTreeMap<String, String>,
}

/// Open runs that a policy allows if it does not say.
fn default_open_runs() -> u64 {
    4
}

/// Names that are allowed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected \"any\", or a list of names")]
pub enum AllowedNames {
    /// The word "any": every name is allowed.
    Any(AnyWord),
    /// Only these names are allowed.
    Names(Vec<String>),
}

/// `"any"`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnyWord {
    /// Every name.
    Any,
}

/// Who says yes to a run that the policy allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// The agent signs.
    Automatic,
    /// The agent waits for somebody at the site.
    Manual,
}

/// Why a site does not sign, or has no policy to go by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The file is no policy.
    #[error("line {line} of the policy: {what}")]
    Unreadable {
        /// Where the reader stopped, counted from one.
        line: usize,
        /// What was found there.
        what: String,
    },
    /// The policy does not allow the run.
    #[error("the policy's {key} does not allow this run: found {found}, expected {expected}")]
    Refused {
        /// The key of the policy.
        key: &'static str,
        /// What the run has.
        found: String,
        /// What the policy asks for.
        expected: String,
        /// What the site's administrator can do.
        hint: &'static str,
    },
}

impl PolicyError {
    /// The code that `posterity explain` describes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "F110",
            Self::Refused { .. } => "F111",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "a new policy has every key explained",
            Self::Refused { hint, .. } => hint,
        }
    }
}

impl Policy {
    /// Reads and checks a policy.
    pub fn read(text: &str) -> Result<Self, PolicyError> {
        #[derive(Deserialize)]
        struct PolicyVersion {
            schema: Option<i64>,
        }
        let unreadable = |error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            let before = text.get(..at).unwrap_or(text);
            let what = error.message().trim().replace('\n', ", ");
            PolicyError::Unreadable { line: before.matches('\n').count() + 1, what }
        };
        let PolicyVersion { schema } = toml::from_str(text).map_err(unreadable)?;
        if !schema.is_some_and(|found| (1..=VERSION).contains(&found)) {
            let found = schema.map_or_else(|| "missing".to_owned(), |found| found.to_string());
            let what = format!("schema is {found}, expected {VERSION}");
            return Err(PolicyError::Unreadable { line: line_of(text, "schema"), what });
        }
        let policy: Self = toml::from_str(text).map_err(unreadable)?;
        let absent = [("adjacency", policy.adjacency.is_none()), ("unit", policy.unit.is_none())];
        if let Some((key, _)) = absent.into_iter().find(|(_, absent)| *absent && policy.version > 1) {
            let what = format!("{key} is missing: a promise is for one relation and one unit");
            return Err(PolicyError::Unreadable { line: line_of(text, "schema"), what });
        }
        policy.check_numbers(text)?;
        Ok(policy)
    }

    fn check_numbers(&self, text: &str) -> Result<(), PolicyError> {
        let over = |number: f64| number.is_finite() && number > 0.0;
        let per_answer = self.max_epsilon_per_answer;
        let (key, found, expected) = if !over(self.max_epsilon) {
            ("max_epsilon", self.max_epsilon, "a finite number greater than 0")
        } else if !(0.0..1.0).contains(&self.max_delta) {
            ("max_delta", self.max_delta, "a number from 0 to less than 1")
        } else if let Some(found) = per_answer.filter(|epsilon| !over(*epsilon)) {
            ("max_epsilon_per_answer", found, "a finite number greater than 0")
        } else {
            return Ok(());
        };
        let what = format!("{key} is {found}, expected {expected}");
        Err(PolicyError::Unreadable { line: line_of(text, key), what })
    }

    /// Refuses a run that this policy does not allow. To be asked before a manifest is signed, with the parts that the site
    /// has built for itself and what its ledger says of all runs.
    ///
    /// Rows are those that the manifest declares: public numbers. Where the number of rows is private, a refusal by the true
    /// one would tell of it; where it is not, both are the same.
    pub fn check(
        &self,
        manifest: &Manifest,
        parts: &RunParts,
        site: usize,
        account: &Account,
    ) -> Result<(), PolicyError> {
        self.check_promise(parts, site, account)?;
        self.check_budget(manifest, parts, site, account)?;
        self.check_answers(parts, site)?;
        self.check_contents(manifest)?;
        self.check_company(manifest, parts, site)?;
        self.check_known(manifest, parts, site)
    }

    /// ε of one answer of each kind: less noise in it than this site stands for is refused, however few answers there are.
    fn check_answers(&self, parts: &RunParts, site: usize) -> Result<(), PolicyError> {
        let Some(most) = self.max_epsilon_per_answer else { return Ok(()) };
        let built = &parts.built;
        let delta = match built.grants.get(site) {
            Some(Grant::Limited { delta, .. }) => Some(*delta),
            _ => None,
        };
        let openings = built.openings.get(site).into_iter().flatten().map(|opening| &opening.terms.event);
        let events = built.terms.get(site).map(|terms| &terms.event).into_iter().chain(openings);
        for event in events {
            let cost = |delta: Delta| inference::plan::certified(std::slice::from_ref(event), delta).ok();
            let found = delta.and_then(cost);
            if found.is_none_or(|epsilon| epsilon > most) {
                let found = found.map_or_else(|| "no certified cost".to_owned(), |epsilon| format!("ε = {epsilon}"));
                return Err(PolicyError::Refused {
                    key: "max_epsilon_per_answer",
                    found: format!("{found} for one answer"),
                    expected: format!("at most {most}"),
                    hint: "ask for a study with more rounds or a smaller ε; either adds more noise to each answer",
                });
            }
        }
        Ok(())
    }

    /// The model and the columns, by the very texts that every party builds from.
    fn check_contents(&self, manifest: &Manifest) -> Result<(), PolicyError> {
        if let AllowedNames::Names(allowed) = &self.allowed_models {
            let model = model_of(&manifest.study);
            if !model.as_ref().is_some_and(|model| allowed.contains(model)) {
                return Err(PolicyError::Refused {
                    key: "allowed_models",
                    found: model.unwrap_or_else(|| "no model".into()),
                    expected: one_of(allowed),
                    hint: "ask for a study with another model, or allow this one",
                });
            }
        }
        let AllowedNames::Names(allowed) = &self.allowed_columns else { return Ok(()) };
        let used = columns_of(&manifest.schema);
        let stranger = match &used {
            None => Some("a schema that cannot be read".to_owned()),
            Some(used) => used.iter().find(|column| !allowed.contains(column)).cloned(),
        };
        match stranger {
            None => Ok(()),
            Some(found) => Err(PolicyError::Refused {
                key: "allowed_columns",
                found,
                expected: one_of(allowed),
                hint: "ask for a schema that ignores the column, or allow the column",
            }),
        }
    }

    /// How many rows and sites there are, and who sees single answers.
    fn check_company(&self, manifest: &Manifest, parts: &RunParts, site: usize) -> Result<(), PolicyError> {
        let rows = manifest.sites.get(site).map_or(0, |site| site.rows);
        if rows < self.minimum_rows {
            return Err(PolicyError::Refused {
                key: "minimum_rows",
                found: format!("{rows} declared {} at this site", self.counted()),
                expected: format!("at least {}", self.minimum_rows),
                hint: "take part with more rows, or not at all: a few rows are easy to identify",
            });
        }
        let (sites, secure) = match &parts.built.summing {
            Summing::Secure { cohort, .. } => (cohort.quorum(), true),
            Summing::Nobody | Summing::Curator => (manifest.sites.len() as u64, false),
        };
        if self.require_secure_sum && !secure {
            return Err(PolicyError::Refused {
                key: "require_secure_sum",
                found: "single answers that the server sees".into(),
                expected: "a secure sum".into(),
                hint: "ask for a study with aggregator = \"secure-sum\"",
            });
        }
        if sites < self.minimum_sites {
            return Err(PolicyError::Refused {
                key: "minimum_sites",
                found: format!("{sites} sites"),
                expected: format!("at least {}", self.minimum_sites),
                hint: "ask for more sites or, in a secure sum, for fewer dropouts",
            });
        }
        Ok(())
    }
}

impl Policy {
    /// Whom the promise of a secure sum rests on: one node at least must keep its shares to itself, and where sites add the
    /// noise, most of them must. A server that could put keys of its own under their names would be all of them at once, and
    /// read this site's answer without noise. So their keys are those that the site has learnt by another way.
    fn check_known(&self, manifest: &Manifest, parts: &RunParts, site: usize) -> Result<(), PolicyError> {
        let Summing::Secure { noise, .. } = &parts.built.summing else { return Ok(()) };
        let nodes = manifest.nodes.iter().map(|node| ("node", &node.name, node.fingerprint()));
        let others = manifest.sites.iter().enumerate().filter(|(other, _)| *other != site);
        let sites = others.filter(|_| matches!(noise, SecureNoise::Clients(_)));
        let sites = sites.map(|(_, other)| ("site", &other.name, other.fingerprint()));
        for (role, name, found) in nodes.chain(sites) {
            let known = self.known.get(name.as_str()).map(|known| known.replace(' ', "").to_lowercase());
            if known.as_ref() != Some(&found) {
                return Err(PolicyError::Refused {
                    key: "known",
                    found: format!("{role} {name} with fingerprint {found}"),
                    expected: known.map_or_else(|| format!("an entry for {name} under [known]"), |known| known.clone()),
                    hint: "ask the owner of that node or site, not the server, for its fingerprint. If it \
                           is the one found, add it under [known]; if not, do not take part",
                });
            }
        }
        Ok(())
    }
}

/// The `kind` of a study's `[model]`.
pub(crate) fn model_of(study: &str) -> Option<String> {
    let study: toml::Table = toml::from_str(study).ok()?;
    Some(study.get("model")?.get("kind")?.as_str()?.to_owned())
}

/// Every column that a schema reads: inputs, outcome, ids of records and persons, and the one that rows are chosen by; none if it cannot be
/// read.
pub fn columns_of(schema: &str) -> Option<Vec<String>> {
    let schema = Schema::from_toml(schema).ok()?;
    let inputs = schema.columns().iter().filter(|column| column.kind != Kind::Ignore).map(|column| column.name.clone());
    let others = [
        Some(schema.outcome().column.clone()),
        schema.record_id().map(str::to_owned),
        schema.person_id().map(str::to_owned),
        schema.only().map(|only| only.column.clone()),
    ];
    Some(inputs.chain(others.into_iter().flatten()).collect())
}

/// A list in words.
fn one_of(names: &[String]) -> String {
    if names.is_empty() { "no names".to_owned() } else { format!("one of {}", names.join(", ")) }
}

/// The line on which a key stands, counted from one; the first if it is not there.
fn line_of(text: &str, key: &str) -> usize {
    let is_key =
        |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    text.lines().position(is_key).map_or(1, |line| line + 1)
}

#[cfg(test)]
mod tests;
