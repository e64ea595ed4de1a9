//! Every file of tests that needs no program of its own, as one: what they share is built and linked once.

mod common;
mod decoding;
#[path = "common/laws.rs"]
mod laws;
mod ledger_support;
#[path = "common/postgres.rs"]
mod postgres;
#[path = "common/store_changes.rs"]
mod store_changes;

mod alarms;
mod attempts;
mod bundle;
mod decoders;
mod equality;
mod fit;
mod golden_wire;
mod grants;
mod ledger;
mod malicious_client;
mod malicious_server;
mod preview;
mod run_service;
mod schema;
mod sealed_messages;
mod size;
mod split_question;
mod store;
mod sums;
