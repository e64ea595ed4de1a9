//! One server and its agents in one process: real TLS, real signatures, a real store.

use crate::measure::{Clocks, load_average, megabytes, process_seconds, quantile, sorted};
use crate::parties::{TimedAgent, party};
use crate::study::LoadStudy;
use crate::{LoadArguments, check};
use federation::coordinator::CoordinatorPhase;
use federation::drive::{DriverHooks, drive};
use federation::identity::{Authority, PARTY_LIFE, PartyName, PartyRole, certificates, client_config, server_config};
use federation::message::{RefusalCode, RunOutcome};
use federation::party::PartyPhase;
use federation::server::{Gateway, RunEngine, RunService};
use federation::store::{self, PartyRow, ServerStore};
use federation::transport::{Connection, ConnectionError, ConnectionLimits, TlsSource, serve};
use rustls::ClientConfig;
use serde_json::json;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

type LoadError = Box<dyn Error + Send + Sync>;

/// Runs the load in a folder, and prints what was measured as one line of JSON.
pub(crate) fn run(asked: &LoadArguments, folder: &Path) -> Result<(), Box<dyn Error>> {
    let study = LoadStudy::new(asked.agents, asked.rounds, asked.numbers)?;
    let file = folder.join("server.db");
    let place = asked.store.clone().unwrap_or_else(|| file.to_string_lossy().into_owned());
    let store: Arc<dyn ServerStore> = Arc::from(store::serve(&place)?);
    let clocks = Arc::new(Clocks::default());
    // As many threads for work as may wait for a disk: a thousand agents are no thousand threads.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().max_blocking_threads(32).build()?;
    let times = runtime
        .block_on(play(&study, store.clone(), clocks.clone(), asked, folder))
        .map_err(|error| -> Box<dyn Error> { error })?;
    drop(runtime);
    let (peak, before) = (megabytes("VmHWM"), Instant::now());
    let (key, name) = (study.server.clone(), PartyName::new("server")?);
    RunEngine::open(store.clone(), study.manifest.clone(), study.parts.clone(), key, name)?;
    let reopened = before.elapsed().as_secs_f64();
    let kept = match asked.store {
        None => check::file(&file, &study, &*store)?,
        Some(_) => check::history(&study, &*store)?,
    };
    report(asked, &study, &clocks, &times, kept, peak, reopened);
    Ok(())
}

/// When rounds were over, in seconds from the first question, and what it took to come there.
struct Times {
    start: f64,
    rounds: Vec<f64>,
    processor: f64,
}

/// Serves the study to its agents until all of them have heard that it is over.
async fn play(
    study: &LoadStudy,
    store: Arc<dyn ServerStore>,
    clocks: Arc<Clocks>,
    asked: &LoadArguments,
    folder: &Path,
) -> Result<Times, LoadError> {
    let begin = Instant::now();
    let world = LoadKeys::new(study, &store, folder).map_err(|error| error.to_string())?;
    let service = open(study, &store, &clocks)?;
    let rounds = tokio::spawn(follow(service.clone(), begin));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let (_run, run) = watch::channel(Some(service.clone()));
    let clock = Arc::new(now);
    let name = PartyName::new("server")?;
    let (key, told) = (study.server.clone(), clocks.clone());
    let gateway = Gateway::new(store, world.authority.clone(), key, name, address.clone(), clock, run, told);
    let (_tls, tls) = watch::channel(world.server.clone());
    let (stop, stopped) = watch::channel(false);
    let mut closing = stopped.clone();
    let shutdown = async move { drop(closing.changed().await) };
    let served = tokio::spawn(serve(
        listener,
        TlsSource::new(tls),
        Arc::new(gateway),
        ConnectionLimits::default(),
        Arc::default(),
        shutdown,
    ));
    let mut agents = JoinSet::new();
    for (site, tls) in world.sites.iter().enumerate() {
        let party = party(study, site, asked.kind, folder).map_err(|error| error.to_string())?;
        let party = Box::new(TimedAgent { party, clocks: clocks.clone(), sent: None });
        let mut line = Connection::new(address.clone(), watch::channel(tls.clone()).1, site as u64);
        let (mut around, stopped) = (LoadHooks(clocks.clone()), stopped.clone());
        agents.spawn(async move { drive(party, &mut line, &mut around, stopped).await });
    }
    while let Some(ended) = agents.join_next().await {
        match ended?? {
            PartyPhase::Finished(RunOutcome::Complete) => {}
            other => return Err(format!("an agent ended {other:?}, expected a complete run").into()),
        }
    }
    let (start, rounds, processor) = rounds.await??;
    stop.send_replace(true);
    tokio::task::spawn_blocking(move || service.close()).await?;
    served.abort();
    Ok(Times { start, rounds, processor: process_seconds() - processor })
}

fn open(study: &LoadStudy, store: &Arc<dyn ServerStore>, clocks: &Arc<Clocks>) -> Result<Arc<RunService>, LoadError> {
    let (manifest, parts, key) = (study.manifest.clone(), study.parts.clone(), study.server.clone());
    RunEngine::create(store, manifest.clone(), parts.clone(), key.clone(), now())?;
    let engine = RunEngine::open(store.clone(), manifest, parts, key, PartyName::new("server")?)?;
    Ok(Arc::new(RunService::open(engine, clocks.clone())?))
}

/// Notes when the first question was asked, when each round was over, and the processor time before them.
async fn follow(service: Arc<RunService>, begin: Instant) -> Result<(f64, Vec<f64>, f64), LoadError> {
    let (mut changes, mut first, mut rounds) = (service.changes(), None, Vec::new());
    loop {
        let header = service.snapshot().header;
        if header.phase != CoordinatorPhase::Signing {
            let (at, _) = *first.get_or_insert_with(|| (Instant::now(), process_seconds()));
            rounds.resize(usize::try_from(header.round)?.max(rounds.len()), at.elapsed().as_secs_f64());
        }
        if let (CoordinatorPhase::Finished(_), Some((at, processor))) = (header.phase, first) {
            return Ok((at.duration_since(begin).as_secs_f64(), rounds, processor));
        }
        changes.changed().await?;
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// An authority, and everybody's certificates.
struct LoadKeys {
    authority: Arc<Authority>,
    server: Arc<rustls::ServerConfig>,
    sites: Vec<Arc<ClientConfig>>,
}

impl LoadKeys {
    fn new(study: &LoadStudy, store: &Arc<dyn ServerStore>, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let (place, name) = (folder.join("authority"), PartyName::new("server")?);
        Authority::init(&place, &name, now())?;
        let authority = Arc::new(Authority::open(&place)?);
        let issued = authority.issue(PartyRole::Server, &name, &study.server.public(), now(), PARTY_LIFE)?;
        let roots = std::slice::from_ref(authority.root());
        let server = Arc::new(server_config(certificates(&issued.chain)?, &study.server, roots)?);
        let mut sites = Vec::with_capacity(study.sites.len());
        for (name, key) in &study.sites {
            let issued = authority.issue(PartyRole::Site, name, &key.public(), now(), PARTY_LIFE)?;
            let (role, name, public) = (PartyRole::Site, name.clone(), key.public());
            let expires = issued.expires;
            store.enrol(&PartyRow { role, name, key: public, sealing: None, expires, revoked: None })?;
            sites.push(Arc::new(client_config(certificates(&issued.chain)?, key, authority.root())?));
        }
        Ok(Self { authority, server, sites })
    }
}

/// What is around an agent of the load: no renewals, and lost lines are counted.
struct LoadHooks(Arc<Clocks>);

impl DriverHooks for LoadHooks {
    fn renewal(&mut self) -> Option<Vec<u8>> {
        None
    }
    fn renewed(&mut self, _: &str) {}
    fn tell(&mut self, _: PartyPhase) {}
    fn refused(&mut self, _: RefusalCode) {}
    fn lost(&mut self, _: &ConnectionError) {
        self.0.lost.fetch_add(1, Ordering::Relaxed);
    }
}

fn report(
    asked: &LoadArguments,
    study: &LoadStudy,
    clocks: &Clocks,
    times: &Times,
    kept: u64,
    peak: f64,
    reopened: f64,
) {
    let (accepts, (batches, together)) = (clocks.accepts(), clocks.batches());
    let seconds = times.rounds.last().copied().unwrap_or(f64::NAN);
    let each = times.rounds.iter().scan(0.0, |last, at| Some(at - std::mem::replace(last, *at)));
    let rounds = sorted(each.collect());
    let (agents, server) = clocks.processor();
    let milliseconds = |of: &[f64], share: f64| (quantile(of, share) * 1e6).round() / 1e3;
    let rounded = |number: f64| (number * 1e3).round() / 1e3;
    let count = |of: &std::sync::atomic::AtomicU64| of.load(Ordering::Relaxed);
    let line = json!({
        "what": "load", "agents": asked.agents, "kind": format!("{:?}", asked.kind), "rounds": asked.rounds,
        "numbers": study.numbers(), "store": if asked.store.is_some() { "PostgreSQL" } else { "SQLite" },
        "updates_per_second": rounded(kept as f64 / seconds), "accept_p50_ms": milliseconds(&accepts, 0.5),
        "accept_p99_ms": milliseconds(&accepts, 0.99), "accept_max_ms": milliseconds(&accepts, 1.0),
        "batch_p50_ms": milliseconds(&batches, 0.5), "batch_p99_ms": milliseconds(&batches, 0.99),
        "requests_in_a_batch": rounded(together), "round_p50_ms": milliseconds(&rounds, 0.5),
        "round_p99_ms": milliseconds(&rounds, 0.99), "start_s": rounded(times.start), "run_s": rounded(seconds),
        "reopen_s": rounded(reopened), "peak_mb": peak.round(), "requests": count(&clocks.requests),
        "updates": count(&clocks.updates), "kept_once": kept, "lost": asked.agents as u64 * asked.rounds - kept,
        "lines_lost": count(&clocks.lost), "turned_away": count(&clocks.refused),
        "cpu_s": rounded(times.processor), "cpu_agents_s": rounded(agents), "cpu_run_thread_s": rounded(server),
        "load_average": load_average(),
    });
    println!("{line}");
}
