#![forbid(unsafe_code)]
//! How it travels: wire messages, coordinator, agent and compute node as state machines, stores, server, identity, dashboard.
