//! What the commands that talk over the network share: a runtime, logs, failures in the words of this program.

use crate::clock;
use crate::failure::Failure;
use federation::drive::DriveError;
use federation::identity::{Home, HomeError, InviteError, Peer, Role, TlsError, client_config};
use federation::transport::{InviteRefusal, LineError};
use rustls::ClientConfig;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A runtime for the network.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| socket("the network cannot be used", &error))
}

/// Structured logs on standard error: what happened and to whom, never what was learnt or from which rows.
pub(super) fn logs() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("POSTERITY_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,posterity=info,federation=info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let set = match std::env::var("POSTERITY_LOG_FORMAT").as_deref() {
        Ok("json") => lines.json().try_init(),
        _ => lines.with_ansi(false).try_init(),
    };
    // Somebody has set another before: that one stays.
    let _ = set;
}

/// Moves when the process is told to end: by a terminal, or by whoever keeps services.
pub(super) fn stopped() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    // Listened for from now on, and not only when the task gets its turn: until then a signal would end the process at once.
    let signals = Signals::new();
    tokio::spawn(async move {
        signals.next().await;
        let _ = sender.send(true);
        // Those who look for the end of this channel see the value, and not that nobody would send any more.
        std::future::pending::<()>().await;
    });
    receiver
}

/// The signals that tell a process to end: one that cannot be listened for never comes.
#[cfg(unix)]
struct Signals([Option<tokio::signal::unix::Signal>; 2]);

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self([SignalKind::terminate(), SignalKind::interrupt()].map(|kind| signal(kind).ok()))
    }

    async fn next(self) {
        let heard = |signal: Option<tokio::signal::unix::Signal>| async {
            match signal {
                Some(mut signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        let [terminate, interrupt] = self.0.map(heard);
        tokio::select! {
            () = terminate => {}
            () = interrupt => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// The TLS of a party by what its home has now.
pub(super) fn client(home: &Home) -> Result<Arc<ClientConfig>, Failure> {
    let papers = home.papers().map_err(of_home)?;
    client_config(papers.chain, home.key(), &papers.root).map(Arc::new).map_err(of_tls)
}

/// Whether a renewal is due, by the clock of this machine.
pub(super) fn renewal_is_due(home: &Home) -> bool {
    home.papers().is_ok_and(|papers| papers.renewal_is_due(clock::seconds()))
}

/// The home of a site.
pub(super) fn home(folder: &Path) -> Result<Home, Failure> {
    home_of(folder, Role::Site)
}

/// The home of a party of this role; one of another role is named.
pub(super) fn home_of(folder: &Path, role: Role) -> Result<Home, Failure> {
    if !Home::is_in(folder).map_err(of_home)? {
        let message = format!("nobody lives in {}", folder.display());
        let hint = format!("join with an invite first: `posterity {} join INVITE --home DIR`", command(role));
        return Err(failure("F201", message, hint));
    }
    let home = Home::open(folder).map_err(of_home)?;
    match home.papers() {
        Ok(papers) if papers.party.role != role => {
            let Peer { role: found, name, .. } = papers.party;
            let message = format!("{} is the home of the {found} {name}, and a {role} is asked for", folder.display());
            let hint = format!("`posterity {} run --home {}` is for it", command(found), folder.display());
            Err(failure("F201", message, hint))
        }
        _ => Ok(home),
    }
}

/// The command of a party of this role.
pub(super) fn command(role: Role) -> &'static str {
    match role {
        Role::Node => "node",
        Role::Site | Role::Server | Role::Viewer => "agent",
    }
}

pub(super) fn failure(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::Federation { code, message: message.into(), hint: hint.into() }
}

pub(super) fn of_home(error: HomeError) -> Failure {
    failure("F201", error.to_string(), error.hint())
}

pub(super) fn of_invite(error: InviteError) -> Failure {
    failure("F202", error.to_string(), error.hint())
}

pub(super) fn of_tls(error: TlsError) -> Failure {
    failure("F201", error.to_string(), "make the certificates again")
}

pub(super) fn of_line(error: &LineError) -> Failure {
    let code = match error {
        LineError::Invite(InviteRefusal::Unknown | InviteRefusal::Expired | InviteRefusal::Used) => "F202",
        _ => "F203",
    };
    failure(code, error.to_string(), error.hint())
}

pub(super) fn of_drive(error: DriveError) -> Failure {
    match error {
        DriveError::Line(error) => of_line(&error),
        other => failure(
            "F204",
            other.to_string(),
            "nothing more was sent; the ledger is as it was: `posterity ledger show`",
        ),
    }
}

pub(super) fn socket(what: &str, error: &std::io::Error) -> Failure {
    failure("F205", format!("{what}: {error}"), "choose another address or port, or end what has it")
}
