//! `posterity serve`: the server of one study, from the first invite that is redeemed to the report.

use super::certificates::{Certificates, RENEWAL};
use super::expiry::ExpiryWarnings;
use super::progress::ProgressLines;
use super::run_monitor::RunMonitor;
use super::server_source::ServerSource;
use crate::arguments::ServeArguments;
use crate::clock;
use crate::failure::Failure;
use crate::federation::net::{failure, logs, of_home, runtime, socket, stopped};
use crate::provenance;
use crate::say;
use crate::terminal;
use federation::coordinator::CoordinatorPhase;
use federation::dashboard::{self, DashboardSource, Metrics, Port, Token};
use federation::identity::{Authority, Home, HomeError, PartyName, PartyRole};
use federation::manifest::{Manifest, RunParts};
use federation::message::MemberId;
use federation::server::{Gateway, RunEngine, RunService};
use federation::store::{self, ServerStore};
use federation::studies::{self, EndedRun, SpentCache, Studies};
use federation::transport::{self, ConnectionLimits, TlsSource};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use study::digits::hexadecimal;
use study::{Study, datasets, study_text};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How often a server looks whether all parties have joined.
const LOOK: Duration = Duration::from_millis(500);

/// How long a server that is to go with its run waits for parties that have not heard of the end.
const FAREWELL: Duration = Duration::from_secs(30);

/// Serves a study until it is told to stop, or, if that is wished, until the run is over.
pub(crate) fn serve(asked: &ServeArguments, json: bool) -> Result<String, Failure> {
    logs();
    let text = study_text(&asked.study)?;
    let studies = Studies::default();
    let study = studies.read(&asked.study.display().to_string(), &text)?;
    studies::served(&study)?;
    let folders = terminal::folders(&asked.study);
    let schema = datasets::schema_of(&study.data.source, study.data.schema.as_deref(), &folders)?.0;
    let parts = Arc::new(studies::parts(&study, &schema, asked.method.as_deref())?);
    let authority = Arc::new(Authority::open(&asked.ca)?);
    let home = match Home::is_in(&asked.home).map_err(of_home)? {
        true => Home::open(&asked.home),
        false => Home::create(&asked.home, PartyRole::Server),
    };
    let home = home.map_err(of_home)?;
    let place = asked.store.clone().unwrap_or_else(|| asked.home.join("server.sqlite").display().to_string());
    let store: Arc<dyn ServerStore> = Arc::from(store::serve(&place)?);
    let out = asked.out.clone().unwrap_or_else(|| Path::new("runs").join(&study.name));
    let (asked, kept) = (asked.clone(), store.clone());
    let server = Server { studies, study, schema, parts, asked, authority, home, store: kept, out, json };
    let said = server.check_out().and_then(|()| runtime()?.block_on(server.run()));
    // A database's client ends here, on a thread where waiting is allowed.
    drop(server);
    drop(store);
    said
}

/// The server of one study.
pub(super) struct Server {
    /// Reads studies, with the methods and models that this server knows.
    pub(super) studies: Studies,
    pub(super) study: Study,
    pub(super) schema: String,
    /// The parts of a run, should one be proposed.
    pub(super) parts: Arc<RunParts>,
    pub(super) asked: ServeArguments,
    pub(super) authority: Arc<Authority>,
    pub(super) home: Home,
    pub(super) store: Arc<dyn ServerStore>,
    pub(super) out: PathBuf,
    json: bool,
}

/// A run that is served.
struct ServedRun {
    service: Arc<RunService>,
    watch: Arc<RunMonitor>,
    manifest: Arc<Manifest>,
    parts: Arc<RunParts>,
}

/// A run that the store holds, under way or just proposed.
pub(super) struct StoredProposal {
    pub(super) manifest: Arc<Manifest>,
    pub(super) parts: Arc<RunParts>,
    /// When it was proposed, in seconds since 1970.
    pub(super) created: u64,
}

impl Server {
    fn name(&self) -> Result<PartyName, Failure> {
        PartyName::new("server").map_err(|why| failure("F201", why, "report this as a bug"))
    }

    async fn run(&self) -> Result<String, Failure> {
        let stop = stopped();
        let (close, closing) = watch::channel(false);
        let (parties, enrolment, page) =
            (bind(&self.asked.listen).await?, bind(&self.asked.enrol).await?, bind(&self.asked.dashboard).await?);
        let address = match &self.asked.address {
            Some(address) => address.clone(),
            None => local(&parties)?,
        };
        let metrics = Arc::new(Metrics::default());
        let (authority, key) = (self.authority.clone(), self.home.key().clone());
        let certificates = Certificates { authority, key, name: self.name()?, metrics: metrics.clone() };
        let tls = Arc::new(certificates.tls()?);
        let renewing = tokio::spawn(certificates.keep(tls.clone(), RENEWAL));
        let ending = ExpiryWarnings::default().keep(self.store.clone(), self.asked.ca.clone(), clock::seconds);
        let ending = tokio::spawn(ending);
        let (hall_sender, service) = watch::channel(None);
        let gateway = Arc::new(self.gateway(address, service, metrics.clone())?);
        let token = self.token()?;
        self.announce(&parties, &enrolment, &page)?;
        let (limits, enrolling, each) = self.limits();
        let excesses = metrics.excesses();
        let line = transport::serve(
            parties,
            TlsSource::new(tls.parties.subscribe()).watched_by(metrics.observer(Port::Parties)),
            gateway.clone(),
            limits,
            excesses.clone(),
            either(stop.clone(), closing.clone()),
        );
        let join = transport::serve_enrolment(
            enrolment,
            TlsSource::new(tls.enrolment.subscribe()).watched_by(metrics.observer(Port::Enrolment)),
            gateway,
            enrolling,
            excesses.clone(),
            either(stop.clone(), closing.clone()),
        );
        let (line, join) = (tokio::spawn(line), tokio::spawn(join));
        let pages = Arc::new(ServerSource::new(self.store.clone(), self.studies.clone()));
        let tls_page = (!is_loopback(&page)).then(|| tls.dashboard.subscribe());
        let source: Arc<dyn DashboardSource> = pages.clone();
        let closed = either(stop.clone(), closing.clone());
        let shown = tokio::spawn(dashboard::serve(page, tls_page, source, metrics.clone(), token, each, closed));
        let served = self.served(stop.clone(), &metrics, &pages).await?;
        let Some(served) = served else {
            close.send_replace(true);
            shown.abort();
            return left(&[line, join]).await;
        };
        hall_sender.send_replace(Some(served.service.clone()));
        pages.show(served.watch.clone());
        let text = self.follow(&served, stop).await;
        let service = served.service.clone();
        let closed = tokio::task::spawn_blocking(move || service.close()).await;
        let _ = (closed, hall_sender.send_replace(None));
        close.send_replace(true);
        left(&[line, join]).await?;
        shown.abort();
        renewing.abort();
        ending.abort();
        text
    }

    /// Who answers parties, of whichever run is served.
    fn gateway(
        &self,
        address: String,
        service: watch::Receiver<Option<Arc<RunService>>>,
        metrics: Arc<Metrics>,
    ) -> Result<Gateway, Failure> {
        let clock: federation::server::UnixClock = Arc::new(clock::seconds);
        let (store, authority, key) = (self.store.clone(), self.authority.clone(), self.home.key().clone());
        Ok(Gateway::new(store, authority, key, self.name()?, address, clock, service, metrics))
    }

    /// Limits of the ports of parties and of joining, and connections of one address at the dashboard.
    fn limits(&self) -> (ConnectionLimits, ConnectionLimits, usize) {
        let parties = ConnectionLimits {
            connections_of_a_party: self.asked.connections_per_party.get(),
            ..ConnectionLimits::default()
        };
        match self.asked.connections_per_address.map(NonZeroUsize::get) {
            None => (parties, ConnectionLimits::enrolment(), dashboard::CONNECTIONS_OF_AN_ADDRESS),
            Some(each) => (
                parties.with_strangers_of_an_address(each),
                ConnectionLimits::enrolment().with_strangers_of_an_address(each),
                each,
            ),
        }
    }

    fn token(&self) -> Result<Token, Failure> {
        let path = self.asked.home.join("dashboard.token");
        if let Some(token) = Token::read(&path).map_err(|error| of_home(HomeError::File(error)))? {
            return Ok(token);
        }
        let token = Token::generate().map_err(|error| failure("F201", error.to_string(), "try again"))?;
        token.write(&path).map_err(|error| Failure::file("cannot write", &path, error))?;
        Ok(token)
    }

    /// Says where everything is, and keeps it for programs.
    fn announce(&self, parties: &TcpListener, enrolment: &TcpListener, page: &TcpListener) -> Result<(), Failure> {
        let (parties, enrolment, page_at) = (local(parties)?, local(enrolment)?, local(page)?);
        let scheme = if is_loopback(page) { "http" } else { "https" };
        let token = self.asked.home.join("dashboard.token");
        let addresses = serde_json::json!({
            "parties": parties, "enrolment": enrolment, "dashboard": format!("{scheme}://{page_at}"), "token": token,
            "process": std::process::id(),
        });
        let path = self.asked.home.join("addresses.json");
        std::fs::write(&path, format!("{addresses}\n")).map_err(|error| Failure::file("cannot write", &path, error))?;
        say::line(format!("parties     {parties}"));
        say::line(format!("enrolment   {enrolment}"));
        say::line(format!("dashboard   {scheme}://{page_at}/login?token=… (the token is in {})", token.display()));
        Ok(())
    }

    /// The run: the one that was under way, or a new one once all parties of the study have joined. None if the server is
    /// stopped before.
    async fn served(
        &self,
        mut stop: watch::Receiver<bool>,
        metrics: &Arc<Metrics>,
        pages: &ServerSource,
    ) -> Result<Option<ServedRun>, Failure> {
        let mut missing_before = String::new();
        loop {
            let store = self.store.clone();
            let rows = blocking(move || Ok((store.parties()?, store.runs()?))).await?;
            let proposed = match self.kept(&rows.1).await? {
                Some(kept) => {
                    say::line(format!("resuming run {}", hexadecimal(&kept.manifest.run())));
                    Some(kept)
                }
                None => match self.members(&rows.0) {
                    Ok(members) => match self.propose(&members, studies::nonce(&rows.0, &rows.1)).await? {
                        Some(proposed) => Some(proposed),
                        None => continue,
                    },
                    Err(missing) => {
                        if missing != missing_before {
                            say::line(format!("waiting for {missing} to join"));
                            pages.wait_for(Some(missing.clone()));
                            missing_before = missing;
                        }
                        None
                    }
                },
            };
            if let Some(proposal) = proposed {
                return self.open(proposal, metrics).await.map(Some);
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = stop.changed() => return Ok(None),
            }
        }
    }

    async fn open(&self, proposal: StoredProposal, metrics: &Arc<Metrics>) -> Result<ServedRun, Failure> {
        let StoredProposal { manifest, parts, created } = proposal;
        let (store, key, name) = (self.store.clone(), self.home.key().clone(), self.name()?);
        let (studies, signed, built) = (self.studies.clone(), manifest.clone(), parts.clone());
        let metrics = metrics.clone();
        let (service, watch) = blocking(move || {
            let engine = RunEngine::open(store.clone(), signed.clone(), built.clone(), key, name)?;
            let opened = RunService::open(engine, metrics).map_err(|error| socket("cannot start a thread", &error))?;
            let service = Arc::new(opened);
            let watch = Arc::new(RunMonitor::new(&studies, service.clone(), store, signed, built, created));
            Ok((service, watch))
        })
        .await?;
        Ok(ServedRun { service, watch, manifest, parts })
    }

    /// Tells of rounds as they are made, and writes the results when the run is over. Results that cannot be written end nothing:
    /// parties hear of the end all the same.
    async fn follow(&self, served: &ServedRun, mut stop: watch::Receiver<bool>) -> Result<String, Failure> {
        let (mut changes, mut progress, mut written) = (served.service.changes(), ProgressLines::default(), false);
        loop {
            let header = served.service.snapshot().header;
            let lines = progress.lines(&served.manifest, &header);
            if !lines.is_empty() {
                let watch = served.watch.clone();
                let _ = tokio::task::spawn_blocking(move || watch.look()).await;
                lines.iter().for_each(say::line);
            }
            if let (CoordinatorPhase::Finished(_), false) = (header.phase, written) {
                written = true;
                let finished = self.finish(served).await;
                let finished = finished.map_err(|failure| Failure::Unwritten { failure: Box::new(failure) });
                if let Ok(text) = &finished
                    && !self.json
                {
                    say::line(text);
                }
                if self.asked.until_finished {
                    self.until_heard(served, &stop).await;
                    return finished.map(|text| if self.json { format!("{text}\n") } else { String::new() });
                }
                if let Err(failure) = finished {
                    failure.report(self.json);
                }
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Ok(String::new()) },
                _ = stop.changed() => return Ok(String::new()),
            }
        }
    }

    /// Parties hear of the end before the server goes; who is away does not hold it for ever, nor if it is told to stop.
    async fn until_heard(&self, served: &ServedRun, stop: &watch::Receiver<bool>) {
        let members = served.manifest.members().filter(|(member, _)| *member != MemberId::Server).count();
        let end = tokio::time::Instant::now() + FAREWELL;
        let waits = || served.service.snapshot().dismissed.len() < members && !*stop.borrow();
        while waits() && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Results, posterior and report in the output folder.
    async fn finish(&self, served: &ServedRun) -> Result<String, Failure> {
        let (studies, manifest, parts) = (self.studies.clone(), served.manifest.clone(), served.parts.clone());
        let (watch, snapshot, out, json) =
            (served.watch.clone(), served.service.snapshot(), self.out.clone(), self.json);
        blocking(move || {
            watch.replay();
            let answers: Vec<u64> = snapshot.header.sites.iter().map(|seat| seat.answers).collect();
            let warnings = watch.warnings();
            let ended = EndedRun {
                manifest: &manifest,
                parts: &parts,
                state: &snapshot.state,
                rounds: snapshot.header.round,
                outcome: match snapshot.header.phase {
                    CoordinatorPhase::Finished(outcome) => Some(outcome),
                    CoordinatorPhase::Signing | CoordinatorPhase::Running => None,
                },
                answers: &answers,
                made: &provenance::now(),
                warnings: &warnings,
            };
            let results = studies.write_results(&out, &ended, &SpentCache::default())?;
            let id = hexadecimal(&manifest.run());
            let report = out.join("report.html");
            let page = watch.report_html(&id).unwrap_or_default();
            std::fs::write(&report, page).map_err(|error| Failure::file("cannot write", &report, error))?;
            Ok(match json {
                true => serde_json::json!({ "run": id, "results": results, "report": report }).to_string(),
                false => {
                    let told =
                        warnings.iter().map(|w| format!("warning     {}: {} ({})\n", w.code.as_str(), w.what, w.hint));
                    let told: String = told.collect();
                    format!("{told}results     {}\nreport      {}", results.display(), report.display())
                }
            })
        })
        .await
    }
}

/// Work that may wait, away from the network's threads.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let lost = |_| failure("F205", "a thread of the server was lost", "restart the server: it resumes the run");
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

async fn bind(address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| socket(&format!("cannot listen on {address}"), &error))
}

fn local(listener: &TcpListener) -> Result<String, Failure> {
    let address = listener.local_addr().map_err(|error| socket("a port has no address", &error))?;
    Ok(address.to_string())
}

fn is_loopback(listener: &TcpListener) -> bool {
    listener.local_addr().is_ok_and(|address| address.ip().is_loopback())
}

/// Waits for the ports to be closed: calls that are under way may come to their end, some seconds.
async fn left(tasks: &[tokio::task::JoinHandle<Result<(), transport::ServeError>>]) -> Result<String, Failure> {
    for _ in 0..100 {
        if tasks.iter().all(tokio::task::JoinHandle::is_finished) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(String::new())
}

/// Until one of the two says so.
async fn either(stop: watch::Receiver<bool>, closing: watch::Receiver<bool>) {
    tokio::select! {
        () = told(stop) => {}
        () = told(closing) => {}
    }
}

async fn told(mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        if stop.changed().await.is_err() {
            return;
        }
    }
}
