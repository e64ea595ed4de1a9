//! Commands of federations: what sites, nodes and servers are asked on a terminal.

pub(crate) mod codes;
pub(crate) mod commands;
mod inspect;
mod net;

pub(crate) use net::of_home;

use crate::arguments::{AgentCommand, NodeCommand, PolicyCommand, StudyCommand};
use crate::failure::Failure;
use ::federation::identity::PartyRole;

/// `posterity agent`
pub(crate) fn agent(asked: &AgentCommand, json: bool) -> Result<String, Failure> {
    match asked {
        AgentCommand::Check { data, schema, declared_rows } => inspect::text(data, schema, *declared_rows, json),
        AgentCommand::Join { invite, home } => commands::join::join(invite, PartyRole::Site, home, json),
        AgentCommand::Run(asked) => commands::agent::run(asked, json),
        AgentCommand::Approve { digest, home } => commands::approve::approve(digest.as_deref(), home, json),
        AgentCommand::Preview { digest, home, policy } => commands::preview::run(digest, home, policy.as_deref(), json),
        AgentCommand::Withdraw { run, home } => commands::withdraw::run(run, home, json),
        AgentCommand::Fingerprint { home } => commands::agent::fingerprint(PartyRole::Site, home, json),
        AgentCommand::Policy { asked: PolicyCommand::Init } => Ok(policy(json)),
    }
}

/// `posterity node`
pub(crate) fn node(asked: &NodeCommand, json: bool) -> Result<String, Failure> {
    match asked {
        NodeCommand::Join { invite, home } => commands::join::join(invite, PartyRole::Node, home, json),
        NodeCommand::Fingerprint { home } => commands::agent::fingerprint(PartyRole::Node, home, json),
        NodeCommand::Run { home } => commands::node::run(home, json),
    }
}

/// `posterity study`
pub(crate) fn study(asked: &StudyCommand, json: bool) -> Result<String, Failure> {
    let StudyCommand::Bundle { run, home, store, out } = asked;
    commands::bundle::write(run, home, store.as_deref(), out, json)
}

/// The policy that a site begins with.
fn policy(json: bool) -> String {
    let text = federation::policy::DEFAULT;
    if json { format!("{}\n", serde_json::json!({ "policy": text })) } else { text.to_owned() }
}
