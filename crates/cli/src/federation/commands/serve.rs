//! `posterity serve`: the server of one study, from the first invite that is redeemed to the report.

use super::certificates::{Certificates, RENEWAL};
use super::expiry::Expiry;
use super::stage::Stage;
use super::telling::Telling;
use super::watch::Watch;
use crate::arguments::ServeArguments;
use crate::clock;
use crate::failure::Failure;
use crate::federation::net::{failure, logs, of_home, runtime, socket, stopped};
use crate::federation::outcome::{Ended, write};
use crate::federation::programme::read_study;
use crate::federation::propose;
use crate::federation::spent::Spent;
use crate::say;
use crate::terminal;
use federation::coordinator::Phase;
use federation::dashboard::{self, Metrics, Port, Source, Token};
use federation::identity::{Authority, Home, HomeError, PartyName, Role};
use federation::manifest::{Manifest, Programme};
use federation::message::Member;
use federation::server::{Engine, Hall, Reception};
use federation::store::{self, Store};
use federation::transport::{self, Limits, TlsSource};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use study::digits::hexadecimal;
use study::{Study, datasets};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How often a server looks whether all parties have joined.
const LOOK: Duration = Duration::from_millis(500);

/// How long a server that is to go with its run waits for parties that have not heard of the end.
const FAREWELL: Duration = Duration::from_secs(30);

/// Serves a study until it is told to stop, or, if that is wished, until the run is over.
pub(crate) fn serve(asked: &ServeArguments, json: bool) -> Result<String, Failure> {
    logs();
    let text = std::fs::read_to_string(&asked.study);
    let text = text.map_err(|source| Failure::file("cannot read", &asked.study, source))?;
    let study = read_study(&asked.study.display().to_string(), &text)?;
    propose::served(&study)?;
    let folders = terminal::folders(&asked.study);
    let schema = datasets::schema_of(&study.data.source, study.data.schema.as_deref(), &folders)?.0;
    let programme = Arc::new(propose::programme(&study, &schema, asked.method.as_deref())?);
    let authority = Arc::new(Authority::open(&asked.ca)?);
    let home = match Home::is_in(&asked.home).map_err(of_home)? {
        true => Home::open(&asked.home),
        false => Home::create(&asked.home, Role::Server),
    };
    let home = home.map_err(of_home)?;
    let place = asked.store.clone().unwrap_or_else(|| asked.home.join("server.sqlite").display().to_string());
    let store: Arc<dyn Store> = Arc::from(store::serve(&place)?);
    let out = asked.out.clone().unwrap_or_else(|| Path::new("runs").join(&study.name));
    let (asked, kept) = (asked.clone(), store.clone());
    let server = Server { study, schema, programme, asked, authority, home, store: kept, out, json };
    let said = server.check_out().and_then(|()| runtime()?.block_on(server.run()));
    // A database's client ends here, on a thread where waiting is allowed.
    drop(server);
    drop(store);
    said
}

/// The server of one study.
pub(super) struct Server {
    pub(super) study: Study,
    pub(super) schema: String,
    /// The parts of a run, should one be proposed.
    pub(super) programme: Arc<Programme>,
    pub(super) asked: ServeArguments,
    pub(super) authority: Arc<Authority>,
    pub(super) home: Home,
    pub(super) store: Arc<dyn Store>,
    pub(super) out: PathBuf,
    json: bool,
}

/// A run that is served.
struct Served {
    hall: Arc<Hall>,
    watch: Arc<Watch>,
    manifest: Arc<Manifest>,
    programme: Arc<Programme>,
}

/// A run that is kept: its manifest and parts, and when it was made.
pub(super) type Proposed = (Arc<Manifest>, Arc<Programme>, u64);

impl Server {
    fn name(&self) -> Result<PartyName, Failure> {
        PartyName::new("server").map_err(|why| failure("F201", why, "report this"))
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
        let ending = Expiry::default().keep(self.store.clone(), self.asked.ca.clone(), clock::seconds);
        let ending = tokio::spawn(ending);
        let (hall_sender, hall) = watch::channel(None);
        let reception = Arc::new(self.reception(address, hall, metrics.clone())?);
        let token = self.token()?;
        self.announce(&parties, &enrolment, &page)?;
        let (limits, enrolling, each) = self.limits();
        let excesses = metrics.excesses();
        let line = transport::serve(
            parties,
            TlsSource::new(tls.parties.subscribe()).watched_by(metrics.door(Port::Parties)),
            reception.clone(),
            limits,
            excesses.clone(),
            either(stop.clone(), closing.clone()),
        );
        let join = transport::serve_enrolment(
            enrolment,
            TlsSource::new(tls.enrolment.subscribe()).watched_by(metrics.door(Port::Enrolment)),
            reception,
            enrolling,
            excesses.clone(),
            either(stop.clone(), closing.clone()),
        );
        let (line, join) = (tokio::spawn(line), tokio::spawn(join));
        let stage = Arc::new(Stage::new(self.store.clone()));
        let tls_page = (!is_loopback(&page)).then(|| tls.dashboard.subscribe());
        let source: Arc<dyn Source> = stage.clone();
        let closed = either(stop.clone(), closing.clone());
        let shown = tokio::spawn(dashboard::serve(page, tls_page, source, metrics.clone(), token, each, closed));
        let served = self.served(stop.clone(), &metrics, &stage).await?;
        let Some(served) = served else {
            close.send_replace(true);
            shown.abort();
            return left(&[line, join]).await;
        };
        hall_sender.send_replace(Some(served.hall.clone()));
        stage.show(served.watch.clone());
        let text = self.follow(&served, stop).await;
        let hall = served.hall.clone();
        let closed = tokio::task::spawn_blocking(move || hall.close()).await;
        let _ = (closed, hall_sender.send_replace(None));
        close.send_replace(true);
        left(&[line, join]).await?;
        shown.abort();
        renewing.abort();
        ending.abort();
        text
    }

    /// Who answers parties, of whichever run is served.
    fn reception(
        &self,
        address: String,
        hall: watch::Receiver<Option<Arc<Hall>>>,
        metrics: Arc<Metrics>,
    ) -> Result<Reception, Failure> {
        let clock: federation::server::Clock = Arc::new(clock::seconds);
        let (store, authority, key) = (self.store.clone(), self.authority.clone(), self.home.key().clone());
        Ok(Reception::new(store, authority, key, self.name()?, address, clock, hall, metrics))
    }

    /// Limits of the ports of parties and of joining, and connections of one address at the dashboard.
    fn limits(&self) -> (Limits, Limits, usize) {
        let parties = Limits { connections_of_a_party: self.asked.connections_per_party.get(), ..Limits::default() };
        match self.asked.connections_per_address.map(NonZeroUsize::get) {
            None => (parties, Limits::enrolment(), dashboard::CONNECTIONS_OF_AN_ADDRESS),
            Some(each) => (
                parties.with_strangers_of_an_address(each),
                Limits::enrolment().with_strangers_of_an_address(each),
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
        say::line(format!("dashboard   {scheme}://{page_at}/login?token=…, the token is in {}", token.display()));
        Ok(())
    }

    /// The run: the one that was under way, or a new one once all parties of the study have joined. None if the server is
    /// stopped before.
    async fn served(
        &self,
        mut stop: watch::Receiver<bool>,
        metrics: &Arc<Metrics>,
        stage: &Stage,
    ) -> Result<Option<Served>, Failure> {
        let mut missing_before = String::new();
        loop {
            let store = self.store.clone();
            let rows = blocking(move || Ok((store.parties()?, store.runs()?))).await?;
            let proposed = match self.kept(&rows.1).await? {
                Some(kept) => {
                    say::line(format!("taking up run {}", hexadecimal(&kept.0.run())));
                    Some(kept)
                }
                None => match self.members(&rows.0) {
                    Ok(members) => match self.propose(&members, propose::nonce(&rows.0, &rows.1)).await? {
                        Some(proposed) => Some(proposed),
                        None => continue,
                    },
                    Err(missing) => {
                        if missing != missing_before {
                            say::line(format!("waiting for {missing} to join"));
                            stage.wait_for(Some(missing.clone()));
                            missing_before = missing;
                        }
                        None
                    }
                },
            };
            if let Some((manifest, programme, started)) = proposed {
                return self.open(manifest, programme, started, metrics).await.map(Some);
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = stop.changed() => return Ok(None),
            }
        }
    }

    async fn open(
        &self,
        manifest: Arc<Manifest>,
        programme: Arc<Programme>,
        started: u64,
        metrics: &Arc<Metrics>,
    ) -> Result<Served, Failure> {
        let (store, key, name) = (self.store.clone(), self.home.key().clone(), self.name()?);
        let (made, parts, metrics) = (manifest.clone(), programme.clone(), metrics.clone());
        let (hall, watch) = blocking(move || {
            let engine = Engine::open(store.clone(), made.clone(), parts.clone(), key, name)?;
            let opened = Hall::open(engine, metrics).map_err(|error| socket("no thread can be started", &error))?;
            let hall = Arc::new(opened);
            let watch = Arc::new(Watch::new(hall.clone(), store, made, parts, started));
            Ok((hall, watch))
        })
        .await?;
        Ok(Served { hall, watch, manifest, programme })
    }

    /// Tells of rounds as they are made, and writes the results when the run is over. Results that cannot be written end nothing:
    /// parties hear of the end all the same.
    async fn follow(&self, served: &Served, mut stop: watch::Receiver<bool>) -> Result<String, Failure> {
        let (mut changes, mut telling, mut written) = (served.hall.changes(), Telling::default(), false);
        loop {
            let header = served.hall.glance().header;
            let lines = telling.lines(&served.manifest, &header);
            if !lines.is_empty() {
                let watch = served.watch.clone();
                let _ = tokio::task::spawn_blocking(move || watch.look()).await;
                lines.iter().for_each(say::line);
            }
            if let (Phase::Finished(_), false) = (header.phase, written) {
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
    async fn until_heard(&self, served: &Served, stop: &watch::Receiver<bool>) {
        let members = served.manifest.members().filter(|(member, _)| *member != Member::Server).count();
        let end = tokio::time::Instant::now() + FAREWELL;
        let waits = || served.hall.glance().dismissed.len() < members && !*stop.borrow();
        while waits() && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Results, posterior and report in the output folder.
    async fn finish(&self, served: &Served) -> Result<String, Failure> {
        let (manifest, programme) = (served.manifest.clone(), served.programme.clone());
        let (watch, glance, out, json) = (served.watch.clone(), served.hall.glance(), self.out.clone(), self.json);
        blocking(move || {
            watch.replay();
            let answers: Vec<u64> = glance.header.seats.iter().map(|seat| seat.answers).collect();
            let warnings = watch.warnings();
            let ended = Ended {
                manifest: &manifest,
                programme: &programme,
                state: &glance.state,
                rounds: glance.header.round,
                outcome: match glance.header.phase {
                    Phase::Finished(outcome) => Some(outcome),
                    Phase::Signing | Phase::Running => None,
                },
                answers: &answers,
                warnings: &warnings,
            };
            let results = write(&out, &ended, &Spent::default())?;
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
    let lost = |_| failure("F205", "a thread of the server was lost", "start it again: it goes on where it was");
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
