//! The server: runs over a store, and the line that parties call.

mod engine;

pub use engine::{Answer, Call, Caller, Engine, Ticket, Woken};
