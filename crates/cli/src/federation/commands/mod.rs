//! The commands that run a federation: a server, agents at sites, compute nodes, and all of them on one machine as a demonstration.

pub(crate) mod agent;
pub(crate) mod approve;
pub(crate) mod bundle;
mod certificates;
pub(crate) mod demo;
mod expiry;
pub(crate) mod hooks;
pub(crate) mod join;
pub(crate) mod node;
pub(crate) mod preview;
mod progress;
mod proposing;
pub(crate) mod rehearsal;
pub(crate) mod run_monitor;
pub(crate) mod serve;
mod server_source;
pub(crate) mod withdraw;
