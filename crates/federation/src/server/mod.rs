//! The server: runs over a store, and the line that parties call.

mod engine;
mod hall;
mod line;
mod rounds;
mod size;
mod sparse;

pub use engine::{Answer, Call, Caller, Draft, Engine, Ticket, Woken};
pub use hall::{Glance, Hall, Unwatched, Watcher};
pub use line::{Clock, Reception, Told};
pub use size::longest_request;
