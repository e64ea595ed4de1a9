//! The server: runs over a store, and the line that parties call.

mod engine;
mod hall;

pub use engine::{Answer, Call, Caller, Engine, Ticket, Woken};
pub use hall::{Glance, Hall, Unwatched, Watcher};
