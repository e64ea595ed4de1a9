#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
//! How it travels: wire messages, coordinator, agent and compute node as state machines, stores, server, identity, dashboard;
//! and how a study becomes a run ([`studies`]).

pub mod agent;
pub mod bundle;
pub mod calendar;
pub mod coordinator;
pub mod dashboard;
pub mod drive;
pub mod failpoint;
pub mod fit;
pub mod identity;
pub mod log;
pub mod loopback;
pub mod manifest;
pub mod message;
pub mod node;
pub mod party;
pub mod policy;
pub mod preview;
pub mod sealed_message;
pub mod server;
pub mod store;
pub mod studies;
pub mod transport;
pub mod wire;
