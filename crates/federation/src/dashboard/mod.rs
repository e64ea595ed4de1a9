//! The server's window: a read-only page, metrics and health, on a port of its own.
//!
//! What is shown is public: it follows from manifests, schedules and released numbers. It is shown to those who have the
//! token all the same, because a study may not be. Nothing can be changed here, and a page loads nothing from elsewhere.

mod auth;
mod events;
mod figures;
mod listen;
mod metrics;
mod monitor;
mod openmetrics;
mod page;
mod refusals;
mod report;
mod run;
mod serve;
mod server;
mod table;
mod view;
mod words;

pub use auth::{Token, Transport};
pub use listen::{CONNECTIONS_OF_AN_ADDRESS, DashboardError, serve};
pub use metrics::{Metrics, Port};
pub use refusals::RefusalReason;
pub use report::report_html;
pub use serve::router;
pub use view::{
    CertificateView, CoefficientView, DashboardSource, LedgerHead, NodeView, ReplayCheck, RoundPoint, RunDetail,
    RunEnd, RunPhase, RunSummary, RunView, SiteStatus, SiteView,
};
