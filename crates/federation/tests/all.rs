//! Every file of tests that needs no program of its own, as one: what they share is built and linked once.

mod common;
mod decoding;
#[path = "common/kept.rs"]
mod kept;
#[path = "common/laws.rs"]
mod laws;
mod ledger_support;
#[path = "common/postgres.rs"]
mod postgres;

mod alarms;
mod attempts;
mod decoders;
mod equality;
mod golden_wire;
mod grants;
mod hall;
mod ledger;
mod letters;
mod malicious_client;
mod malicious_server;
mod schema;
mod size;
mod split_question;
mod store;
mod sums;
