//! Federations: how a study becomes a run of its sites, what stands ready at a site before it joins, and what a run leaves.

pub(crate) mod codes;
pub(crate) mod deal;
mod inspect;
pub(crate) mod library;
pub(crate) mod outcome;
mod programme;
pub(crate) mod propose;
pub(crate) mod rows;
pub(crate) mod spent;
mod unzipped;

use crate::arguments::{AgentCommand, PolicyCommand};
use crate::failure::Failure;

/// `posterity agent`
pub(crate) fn agent(asked: &AgentCommand, json: bool) -> Result<String, Failure> {
    match asked {
        AgentCommand::Check { data, schema } => inspect::text(data, schema, json),
        AgentCommand::Policy { asked: PolicyCommand::Init } => Ok(policy(json)),
    }
}

/// The policy that a site begins with.
fn policy(json: bool) -> String {
    let text = federation::policy::DEFAULT;
    if json { format!("{}\n", serde_json::json!({ "policy": text })) } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
