#![forbid(unsafe_code)]
//! How it travels: wire messages, coordinator, agent and compute node as state machines, stores, server, identity, dashboard.

pub mod agent;
pub mod coordinator;
pub mod identity;
pub mod log;
pub mod manifest;
pub mod message;
pub mod policy;
pub mod store;
pub mod wire;
