//! The server: runs over a store, and the line that parties call.

mod engine;
mod gateway;
mod rounds;
mod run_service;
mod size;
mod throttle;

pub use engine::{Call, CallOutcome, CallerIdentity, ReplyDraft, RunEngine, WaitingPoll, WakeUp};
pub use gateway::{Gateway, RequestMetrics, UnixClock};
pub use run_service::{NoMetrics, RunMetrics, RunService, RunSnapshot};
pub use size::longest_request;
