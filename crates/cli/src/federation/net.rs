//! What the commands that talk over the network share: a runtime, logs, failures in the words of this program.

use crate::clock;
use crate::failure::Failure;
use crate::say;
use federation::calendar::{moment, span};
use federation::drive::DriveError;
use federation::identity::{
    Credentials, FileError, Home, HomeError, InviteError, PartyRole, Peer, TlsError, Validity, client_config,
};
use federation::log::LogError;
use federation::node::NodeError;
use federation::party::PartyError;
use federation::transport::{ConnectionError, Distrust, InviteRefusal};
use rustls::ClientConfig;
use std::path::Path;
use std::sync::Arc;
use study::is_full;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A runtime for the network.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| socket("cannot use the network", &error))
}

/// Structured logs on standard error: what happened and to whom, never what was learnt or from which rows.
pub(super) fn logs() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("POSTERITY_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,posterity=info,federation=info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    say::hook_panics();
    let set = if say::is_json() { lines.json().try_init() } else { lines.with_ansi(false).try_init() };
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

/// The signals that tell a process to end. A signal that the process cannot listen for never arrives.
struct Signals {
    #[cfg(unix)]
    unix: [Option<tokio::signal::unix::Signal>; 2],
}

impl Signals {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self { unix: [SignalKind::terminate(), SignalKind::interrupt()].map(|kind| signal(kind).ok()) }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    #[cfg(unix)]
    async fn next(self) {
        let heard = |signal: Option<tokio::signal::unix::Signal>| async {
            match signal {
                Some(mut signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        let [terminate, interrupt] = self.unix.map(heard);
        tokio::select! {
            () = terminate => {}
            () = interrupt => {}
        }
    }

    #[cfg(not(unix))]
    async fn next(self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// The TLS of a party by what its home has now.
pub(super) fn client(home: &Home) -> Result<Arc<ClientConfig>, Failure> {
    let credentials = home.credentials().map_err(of_home)?;
    client_config(credentials.chain, home.key(), &credentials.root).map(Arc::new).map_err(of_tls)
}

/// Whether a renewal is due, by the clock of this machine.
pub(super) fn renewal_is_due(home: &Home) -> bool {
    home.credentials().is_ok_and(|credentials| credentials.renewal_is_due(clock::seconds()))
}

/// The home of a site.
pub(super) fn home(folder: &Path) -> Result<Home, Failure> {
    home_of(folder, PartyRole::Site)
}

/// The home of a party of this role; one of another role is named.
pub(super) fn home_of(folder: &Path, role: PartyRole) -> Result<Home, Failure> {
    if !Home::is_in(folder).map_err(of_home)? {
        let message = format!("{} is not the home folder of a party", folder.display());
        let hint = format!("join with an invite first: `posterity {} join INVITE --home DIR`", command(role));
        return Err(failure("F201", message, hint));
    }
    let home = Home::open(folder).map_err(of_home)?;
    match home.credentials() {
        Ok(credentials) if credentials.party.role != role => {
            let Peer { role: found, name, .. } = credentials.party;
            let message =
                format!("{} is the home of the {found} {name}, but this command is for a {role}", folder.display());
            let hint = format!("use `posterity {} run --home {}` for it", command(found), folder.display());
            Err(failure("F201", message, hint))
        }
        _ => Ok(home),
    }
}

/// The command of a party of this role.
pub(super) fn command(role: PartyRole) -> &'static str {
    match role {
        PartyRole::Node => "node",
        PartyRole::Site | PartyRole::Server | PartyRole::Viewer => "agent",
    }
}

pub(super) fn failure(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::Federation { code, message: message.into(), hint: hint.into() }
}

pub(crate) fn of_home(error: HomeError) -> Failure {
    match error {
        HomeError::File(FileError::Failed { path, source, .. }) if is_full(&source) => {
            Failure::file("cannot write", &path, source)
        }
        other => failure("F201", other.to_string(), other.hint()),
    }
}

pub(super) fn of_invite(error: InviteError) -> Failure {
    failure("F202", error.to_string(), error.hint())
}

pub(super) fn of_tls(error: TlsError) -> Failure {
    failure("F201", error.to_string(), "issue the certificates again")
}

pub(super) fn of_line(error: &ConnectionError) -> Failure {
    match error {
        ConnectionError::Invite(InviteRefusal::Unknown | InviteRefusal::Expired | InviteRefusal::Used) => {
            failure("F202", error.to_string(), error.hint())
        }
        ConnectionError::Tls { found: Distrust::Clock { .. }, .. } => failure("F208", error.to_string(), CLOCKS),
        _ => failure("F203", error.to_string(), error.hint()),
    }
}

/// Why a party has left its line. A disk that failed or is full is a failure of the machine: starting again may help.
pub(super) fn of_drive(error: DriveError, credentials: &Credentials) -> Failure {
    match error {
        DriveError::Connection(error) => {
            of_clocks(&error, credentials, clock::seconds()).unwrap_or_else(|| of_line(&error))
        }
        DriveError::Party(PartyError::Log(error)) => error.into(),
        DriveError::Party(PartyError::Node(NodeError::Disk(error))) => LogError::from(error).into(),
        other => failure(
            "F204",
            other.to_string(),
            "the agent sent nothing more, and its ledger is intact: `posterity ledger show`",
        ),
    }
}

/// The server has refused this party's certificate for its time: it has ended, or the two clocks do not agree.
fn of_clocks(error: &ConnectionError, credentials: &Credentials, now: u64) -> Option<Failure> {
    let ConnectionError::Tls { found: Distrust::OurTime { server }, .. } = error else { return None };
    let Validity { from, until } = credentials.validity;
    let here = format!("this machine's clock says {}", moment(now));
    if now > until {
        let message =
            format!("the certificate of this party expired at {}, {} ago; {here}", moment(until), span(now - until));
        let hint = "if that clock is right, ask for a new invite and join again with the same --home; if not, correct the clock";
        return Some(failure("F203", message, hint));
    }
    let apart = match server {
        _ if now < from => format!("this clock is behind by at least {}", span(from - now)),
        Some(server) if *server > now => {
            format!("the server's clock is ahead of it by at least {}", span(server - now))
        }
        Some(server) => format!("the server's clock is behind it by about {}", span(now - server)),
        None => "the server's clock shows another time".to_owned(),
    };
    let good = format!("the certificate of this party is valid from {} to {}", moment(from), moment(until));
    let message = format!(
        "the clocks do not agree: {good}, {here}, but the server refuses the certificate for its time; {apart}"
    );
    Some(failure("F208", message, CLOCKS))
}

/// What to do where clocks do not agree.
const CLOCKS: &str = "compare `date -u` on both machines and correct the wrong clock, preferably with a time service; certificates tolerate \
                      one hour";

pub(super) fn socket(what: &str, error: &std::io::Error) -> Failure {
    failure("F205", format!("{what}: {error}"), "choose another address or port, or stop the process that uses it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use federation::identity::{Address, Authority, IdentityKey, PARTY_LIFE, PartyName, certificates, validity};
    use federation::log::DiskError;
    use std::io::ErrorKind;

    const NOW: u64 = 1_790_000_000;

    /// The papers of a site whose certificate was made now.
    fn credentials(name: &str) -> Credentials {
        let folder = std::env::temp_dir().join(format!("posterity-clocks-{}-{name}", std::process::id()));
        let party = PartyName::new("north").unwrap();
        Authority::init(&folder, &party, NOW).unwrap();
        let authority = Authority::open(&folder).unwrap();
        let key = IdentityKey::generate().unwrap().public();
        let chain =
            certificates(&authority.issue(PartyRole::Site, &party, &key, NOW, PARTY_LIFE).unwrap().chain).unwrap();
        let root = authority.root().clone();
        std::fs::remove_dir_all(folder).unwrap();
        let (party, validity) = (Peer::of_der(&chain[0]).unwrap(), validity(&chain[0]).unwrap());
        Credentials { party, chain, root, server: Address::new("server.example:7443").unwrap(), validity }
    }

    #[test]
    fn a_full_disk_ends_an_agent_or_a_node_so_that_its_unit_starts_it_again() {
        let credentials = credentials("full");
        let full = || DiskError::of("cannot write the ledger", &ErrorKind::StorageFull.into());
        let agent = of_drive(DriveError::Party(LogError::from(full()).into()), &credentials);
        let node = of_drive(DriveError::Party(NodeError::from(full()).into()), &credentials);
        for failure in [agent, node] {
            assert_eq!((failure.code(), failure.exit()), ("L007", 1), "{failure}");
            assert!(failure.to_string().contains("the disk is full") && failure.hint().starts_with("make room"));
        }
        let broken = DiskError::of("cannot write the ledger", &ErrorKind::Other.into());
        let failure = of_drive(DriveError::Party(LogError::from(broken).into()), &credentials);
        assert_eq!((failure.code(), failure.exit()), ("L002", 1));
        let damaged = of_drive(DriveError::Party(LogError::Damaged { record: 1, what: "x" }.into()), &credentials);
        assert_eq!((damaged.code(), damaged.exit()), ("L003", 3));
    }

    #[test]
    fn a_certificate_refused_for_its_time_is_an_ended_one_or_a_clock_that_is_off() {
        let credentials = credentials("time");
        let refused =
            |server: Option<u64>| ConnectionError::Tls { address: "x".into(), found: Distrust::OurTime { server } };
        let told = |server, now| of_clocks(&refused(server), &credentials, now).unwrap();
        let ended = told(Some(NOW + 9 * 86_400), NOW + 9 * 86_400);
        assert_eq!((ended.code(), ended.exit()), ("F203", 2));
        assert!(
            ended.to_string().contains("expired at 2026-09-28") && ended.to_string().contains("2 days ago"),
            "{ended}"
        );
        for (server, now, words) in [
            (Some(NOW), NOW - 4 * 86_400, "this clock is behind by at least 3 days"),
            (Some(NOW + 9 * 86_400), NOW + 60, "the server's clock is ahead of it by at least 8 days"),
            (Some(NOW - 86_400), NOW + 60, "the server's clock is behind it by about 24 h"),
            (None, NOW + 60, "the server's clock shows another time"),
        ] {
            let failure = told(server, now);
            assert_eq!((failure.code(), failure.exit()), ("F208", 2));
            assert!(failure.to_string().contains(words) && failure.hint().contains("date -u"), "{failure}");
        }
        assert!(of_clocks(&ConnectionError::Lost, &credentials, NOW).is_none());
    }
}
