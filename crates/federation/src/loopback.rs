//! A whole federation in one process: a server and the agents of all sites, over TLS on the loopback device.
//!
//! Nothing is simulated: the parties have keys and certificates of an authority of their own, every site holds the run against
//! its policy, charges its ledger on disk, and draws its noise from the operating system. Only the machine is shared, so this is
//! for examples, tests and trying a study out, not for rows that must stay apart.

use crate::calendar::timestamp;
use crate::coordinator::CoordinatorPhase;
use crate::dashboard::Metrics;
use crate::drive::{DriveError, DriverHooks, drive};
use crate::identity::{
    Address, Authority, AuthorityError, ExpectedIdentity, Home, HomeError, Invite, InviteSecret, PARTY_LIFE, PartyName,
    PartyRole, TlsError, certificates, client_config, enrolment_config, fingerprint, joining_config, server_config,
};
use crate::log::Account;
use crate::log::{FolderDisk, Log, LogError};
use crate::manifest::{Manifest, RunParts};
use crate::message::{RefusalCode, RunOutcome};
use crate::party::{PartyPhase, SiteOwner, SiteParty, Verdict};
use crate::policy::{self, Policy, PolicyError};
use crate::server::{Gateway, NoMetrics, RunEngine, RunService, RunSnapshot};
use crate::store::{self, InviteRow, ServerStore, StoreError};
use crate::studies::{
    self, EndedRun, FinishedRun, MemberKeys, RunWarnings, SiteFile, SiteFiles, SpentCache, Studies, StudyRunError,
    read_schema,
};
use crate::transport::{self, Connection, ConnectionError, ConnectionLimits, Excesses, TlsSource};
use crate::wire::{self, proto};
use inference::{Shard, Summing};
use privacy::noise::{Digest, OsKeyed};
use privacy::{Grant, LifetimeCap, PrivacyError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use study::{Folders, Made, Study, datasets};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

/// How long an invite is good, in seconds.
const INVITED: u64 = 3600;

/// Why a federation on the loopback device has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopbackError {
    /// The study cannot be served, or its results cannot be written.
    #[error(transparent)]
    Study(#[from] StudyRunError),
    /// The authority cannot be created.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The folder of a party cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server's database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger of a site failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The policy of the sites cannot be read.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A site could not join.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// A site has left the run, or refused it.
    #[error("site {site}: {error}")]
    Site {
        /// Its name.
        site: PartyName,
        /// Why.
        error: DriveError,
    },
    /// The machine has no port, thread, folder or random numbers to offer.
    #[error("cannot use this machine: {0}")]
    Machine(#[from] std::io::Error),
    /// The run ended otherwise than planned.
    #[error("the run did not end as planned: {0}")]
    Ended(String),
    /// What this function does not do.
    #[error("{0}")]
    Unsupported(&'static str),
}

/// What a federation on the loopback device has left in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopbackRun {
    /// The folder of the results: a posterior to predict from, and what was granted and spent.
    pub results: PathBuf,
    /// How the run ended.
    pub outcome: RunOutcome,
    /// Rounds that were made.
    pub rounds: u64,
    /// The homes of the sites, with their keys and ledgers, in the order of the study.
    pub homes: Vec<PathBuf>,
}

/// Serves a study to agents of all its sites in this process, and comes back when its run is over.
///
/// The study has both a `[partition]`, by which its rows are dealt to files of the sites, and a `[federation]`. Its methods and
/// model are those of the registry that it was read with. `method` names the one to run; without it, the only private one is. The
/// folder, which must not hold a federation yet, gets `ca`, `server`, `data`, `results` and a home for every site, each with the
/// policy under which it takes part: the default one, which allows the study's model, relation and unit, and signs by itself.
///
/// To be called outside of an asynchronous runtime: it brings its own.
///
/// # Errors
/// Where the study cannot be served or a party cannot go on. Methods with a secure sum, which need compute nodes, and chains are
/// refused.
pub fn run(
    study: &Study,
    folders: &Folders,
    method: Option<&str>,
    folder: &Path,
) -> Result<LoopbackRun, LoopbackError> {
    let studies = Arc::new(Studies::new(study.registry.clone()));
    let schema = datasets::schema_of(&study.data.source, study.data.schema.as_deref(), folders);
    let schema = schema.map_err(StudyRunError::from)?.0;
    let parts = Arc::new(studies::parts(study, &schema, method)?);
    if !matches!(parts.built.summing, Summing::Nobody) || parts.method.algorithm.draws().is_some() {
        return Err(LoopbackError::Unsupported("only methods without a secure sum and without chains are run here"));
    }
    let files = studies::deal(study, folders, &folder.join("data"))?;
    let authority = folder.join("ca");
    Authority::init(&authority, &name("loopback-authority")?, now())?;
    let home = Home::create(&folder.join("server"), PartyRole::Server)?;
    let database = folder.join("server").join("server.sqlite");
    let server = LoopbackServer {
        text: policy_of(study, &parts),
        store: Arc::from(store::serve(&database.display().to_string())?),
        authority: Arc::new(Authority::open(&authority)?),
        name: name("server")?,
        studies,
        study,
        schema,
        parts,
        files,
        folder,
        home,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (manifest, snapshot) = runtime.block_on(server.run())?;
    server.finish(&manifest, &snapshot)
}

/// The policy of the sites: the default one, for this study's model, relation and unit, without somebody to ask.
fn policy_of(study: &Study, parts: &RunParts) -> String {
    let model = study.model.settings.descriptor().name;
    let text = policy::DEFAULT
        .replace("approval = \"manual\"", "approval = \"automatic\"")
        .replace("allowed_models = [\"linear\", \"logistic\"]", &format!("allowed_models = [\"{model}\"]"));
    match &parts.method.promise {
        None => text,
        Some(promise) => text
            .replace("max_delta = 1e-4\n", &format!("max_delta = {:?}\n", most_delta(parts)))
            .replace("adjacency = \"substitute\"\n", &format!("adjacency = \"{}\"\n", promise.adjacency))
            .replace("unit = \"example\"\n", &format!("unit = \"{}\"\n", promise.unit)),
    }
}

/// δ of a policy that takes any one run of this study: four times its δ, or the default if that is more.
fn most_delta(parts: &RunParts) -> f64 {
    let deltas = parts.built.grants.iter().map(|grant| match grant {
        Grant::Limited { delta, .. } => 4.0 * delta.get(),
        Grant::Unlimited => 0.0,
    });
    deltas.fold(1e-4, f64::max)
}

/// Seconds since 1970, for certificates and invites alone.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn name(text: &str) -> Result<PartyName, LoopbackError> {
    PartyName::new(text).map_err(LoopbackError::Ended)
}

/// A server with everything that it needs, before its ports are open.
struct LoopbackServer<'a> {
    studies: Arc<Studies>,
    study: &'a Study,
    schema: String,
    parts: Arc<RunParts>,
    files: SiteFiles,
    /// The policy of every site.
    text: String,
    folder: &'a Path,
    authority: Arc<Authority>,
    home: Home,
    store: Arc<dyn ServerStore>,
    name: PartyName,
}

/// The channel in which the gateway finds the run.
type ServiceChannel = watch::Sender<Option<Arc<RunService>>>;

impl LoopbackServer<'_> {
    /// Opens the ports, plays the run, and closes them.
    async fn run(&self) -> Result<(Arc<Manifest>, RunSnapshot), LoopbackError> {
        let (parties, enrolment) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
        let (address, join_at) = (parties.local_addr()?.to_string(), enrolment.local_addr()?.to_string());
        let key = self.home.key();
        let issued = self.authority.issue(PartyRole::Server, &self.name, &key.public(), now(), PARTY_LIFE)?;
        let chain = certificates(&issued.chain).map_err(HomeError::from)?;
        let root = self.authority.root();
        let (_tls, of_parties) =
            watch::channel(Arc::new(server_config(chain.clone(), key, std::slice::from_ref(root))?));
        let (_tls_of_joining, of_joining) = watch::channel(Arc::new(enrolment_config(chain, key, root)?));
        let (channel, service) = watch::channel(None);
        let (store, authority, own) = (self.store.clone(), self.authority.clone(), self.name.clone());
        let metrics = Arc::new(Metrics::default());
        let gateway =
            Arc::new(Gateway::new(store, authority, key.clone(), own, address, Arc::new(now), service, metrics));
        let (close, closing) = watch::channel(false);
        let excesses = Arc::new(Excesses::default());
        let mut ports = JoinSet::new();
        let (limits, tls, closed) = (ConnectionLimits::default(), TlsSource::new(of_parties), told(closing.clone()));
        ports.spawn(transport::serve(parties, tls, gateway.clone(), limits, excesses.clone(), closed));
        let (limits, tls, closed) = (ConnectionLimits::enrolment(), TlsSource::new(of_joining), told(closing));
        ports.spawn(transport::serve_enrolment(enrolment, tls, gateway, limits, excesses, closed));
        let ended = self.play(&join_at, &channel).await;
        close.send_replace(true);
        ports.shutdown().await;
        ended
    }

    /// All sites join, the run is proposed, and every agent attends it to its end.
    async fn play(
        &self,
        join_at: &str,
        channel: &ServiceChannel,
    ) -> Result<(Arc<Manifest>, RunSnapshot), LoopbackError> {
        let mut agents = Vec::new();
        for file in &self.files.sites {
            agents.push(self.joined(file, join_at).await?);
        }
        let manifest = Arc::new(self.propose()?);
        let (store, key) = (self.store.clone(), self.home.key().clone());
        let engine = RunEngine::open(store, manifest.clone(), self.parts.clone(), key, self.name.clone())?;
        let service = Arc::new(RunService::open(engine, Arc::new(NoMetrics))?);
        channel.send_replace(Some(service.clone()));
        let (_stop, stop) = watch::channel(false);
        let mut attending = JoinSet::new();
        agents.into_iter().for_each(|agent| drop(attending.spawn(agent.attend(stop.clone()))));
        let mut outcome = Ok(());
        while let Some(ended) = attending.join_next().await {
            let ended = ended.unwrap_or_else(|_| Err(LoopbackError::Ended("a thread of a site was lost".into())));
            outcome = outcome.and(ended);
            if outcome.is_err() {
                break;
            }
        }
        attending.shutdown().await;
        channel.send_replace(None);
        let snapshot = service.snapshot();
        let closed = tokio::task::spawn_blocking(move || service.close()).await;
        outcome?;
        closed.map_err(|_| LoopbackError::Ended("the thread of the run was lost".into()))?;
        Ok((manifest, snapshot))
    }

    /// Invites a site, which makes its keys and joins over TLS, as two people would on two machines.
    async fn joined(&self, file: &SiteFile, join_at: &str) -> Result<LoopbackAgent, LoopbackError> {
        let (role, site) = (PartyRole::Site, name(&file.name)?);
        let secret = InviteSecret::generate().ok_or(HomeError::Randomness)?;
        let expires = now().saturating_add(INVITED);
        self.store.invite(&InviteRow { secret: secret.digest(), role, name: site.clone(), expires })?;
        let root = fingerprint(self.authority.root());
        let server = Address::new(join_at).map_err(LoopbackError::Ended)?;
        let invite = Invite { server, secret, root, role, name: site };
        let home = Home::create(&self.folder.join(invite.name.as_str()), role)?;
        std::fs::write(home.folder().join("site.toml"), &self.text)?;
        let request = proto::JoinRequest {
            version: wire::VERSION,
            secret: invite.secret.bytes().to_vec(),
            request: home.request(role, &invite.name)?,
            sealing: Vec::new(),
        };
        let tls = Arc::new(joining_config(invite.root)?);
        let reply = transport::join(invite.server.as_str().to_owned(), tls, request).await?;
        let server = Address::new(&reply.server).map_err(LoopbackError::Ended)?;
        let expected = ExpectedIdentity { root: invite.root, role, name: &invite.name };
        home.joined(expected, &reply.chain, &reply.authority, &server)?;
        LoopbackAgent::new(home, file, &self.text, self.studies.clone())
    }

    /// Keeps a new run for those who have joined.
    fn propose(&self) -> Result<Manifest, LoopbackError> {
        let (parties, runs) = (self.store.parties()?, self.store.runs()?);
        let sites = parties.iter().map(|row| (row.name.clone(), row.key)).collect();
        let members = MemberKeys { sites, nodes: Vec::new(), server: self.home.key().public() };
        let nonce = studies::nonce(&parties, &runs);
        let manifest = studies::manifest(self.study, &self.schema, &self.parts, &members, nonce)?;
        let (kept, key) = (Arc::new(manifest.clone()), self.home.key().clone());
        RunEngine::create(&self.store, kept, self.parts.clone(), key, now())?;
        Ok(manifest)
    }

    /// Results and posterior in the folder.
    fn finish(&self, manifest: &Manifest, snapshot: &RunSnapshot) -> Result<LoopbackRun, LoopbackError> {
        let CoordinatorPhase::Finished(outcome) = snapshot.header.phase else {
            return Err(LoopbackError::Ended("the sites left before the run was over".into()));
        };
        let (results, parts) = (self.folder.join("results"), self.parts.as_ref());
        let schema = read_schema(&self.schema)?;
        let names = self.study.model.names(&schema.inputs(self.study.model.intercept), Some(&schema));
        let eta = parts.built.protocol.posterior(&snapshot.state).map_err(StudyRunError::from)?;
        let numbers = parts.built.problem.family.gaussian(&eta).map(|q| (q.mean().to_vec(), q.deviations()));
        let of_method = parts.built.protocol.warning(&snapshot.state).map_err(StudyRunError::from)?;
        let end = numbers.as_ref().map(|(mean, deviations)| FinishedRun {
            mean,
            deviations,
            before: None,
            draws: None,
            of_method,
        });
        let known = RunWarnings::new(Some(self.study), Some(&schema), &names, parts);
        let answers: Vec<u64> = snapshot.header.sites.iter().map(|site| site.answers).collect();
        let ended = EndedRun {
            manifest,
            parts,
            state: &snapshot.state,
            rounds: snapshot.header.round,
            outcome: Some(outcome),
            answers: &answers,
            made: &Made { date: timestamp(now()), commit: "unknown".to_owned() },
            warnings: &known.of(parts, end.as_ref()),
        };
        self.studies.write_results(&results, &ended, &SpentCache::default())?;
        let homes = self.files.sites.iter().map(|file| self.folder.join(&file.name)).collect();
        Ok(LoopbackRun { results, outcome, rounds: snapshot.header.round, homes })
    }
}

/// A site's agent that has joined.
struct LoopbackAgent {
    site: PartyName,
    party: SiteParty<FolderDisk>,
    connection: Connection,
}

impl LoopbackAgent {
    fn new(home: Home, file: &SiteFile, policy: &str, studies: Arc<Studies>) -> Result<Self, LoopbackError> {
        let credentials = home.credentials()?;
        let tls = client_config(credentials.chain, home.key(), &credentials.root)?;
        let disk = FolderDisk::open(&home.folder().join("ledger")).map_err(LogError::from)?;
        let owner = LoopbackOwner {
            policy: Policy::read(policy)?,
            data: file.path.clone(),
            studies: studies.clone(),
            secret: home.noise_secret()?.clone(),
        };
        let site = credentials.party.name;
        let party = SiteParty::new(site.clone(), home.key().clone(), studies, Box::new(owner), Log::open(disk)?);
        let server = credentials.server.as_str().to_owned();
        Ok(Self { site, party, connection: Connection::new(server, watch::channel(Arc::new(tls)).1, 0) })
    }

    /// Attends a run to its end.
    async fn attend(mut self, stop: watch::Receiver<bool>) -> Result<(), LoopbackError> {
        let driven = drive(Box::new(self.party), &mut self.connection, &mut QuietHooks, stop).await;
        match driven.map_err(|error| LoopbackError::Site { site: self.site.clone(), error })? {
            PartyPhase::Finished(_) => Ok(()),
            PartyPhase::Stopped(why) => Err(LoopbackError::Ended(format!("site {} stopped: {why}", self.site))),
            PartyPhase::Waiting | PartyPhase::Signed | PartyPhase::Running => {
                Err(LoopbackError::Ended(format!("site {} left early", self.site)))
            }
        }
    }
}

/// The owner of a site: its policy decides, and its rows are read from its file.
struct LoopbackOwner {
    policy: Policy,
    data: PathBuf,
    studies: Arc<Studies>,
    secret: Zeroizing<[u8; 32]>,
}

impl SiteOwner for LoopbackOwner {
    fn consider(&mut self, manifest: &Manifest, parts: &RunParts, site: usize, account: &Account) -> Verdict {
        if let Err(error) = self.policy.check(manifest, parts, site, account) {
            return Verdict::Refuse(error.to_string());
        }
        match self.studies.open_rows(&self.data, manifest, parts, site) {
            Ok(_) => Verdict::Sign,
            Err(error) => Verdict::Refuse(error.line()),
        }
    }

    fn cap(&self, account: &Account) -> Result<LifetimeCap, PrivacyError> {
        self.policy.cap(account)
    }

    fn rows(&mut self, manifest: &Manifest, parts: &RunParts, site: usize) -> Result<(Arc<Shard>, Digest), String> {
        let opened = self.studies.open_rows(&self.data, manifest, parts, site).map_err(|error| error.line())?;
        Ok((Arc::new(opened.shard), opened.data_version))
    }

    fn noise(&mut self) -> OsKeyed {
        OsKeyed::new(*self.secret)
    }
}

/// Hooks of a run that is over long before a certificate is.
struct QuietHooks;

impl DriverHooks for QuietHooks {
    fn renewal(&mut self) -> Option<Vec<u8>> {
        None
    }
    fn renewed(&mut self, _: &str) {}
    fn tell(&mut self, _: PartyPhase) {}
    fn lost(&mut self, _: &ConnectionError) {}
    fn refused(&mut self, _: RefusalCode) {}
}

/// Until the ports are to be closed.
async fn told(mut closing: watch::Receiver<bool>) {
    while !*closing.borrow() {
        if closing.changed().await.is_err() {
            return;
        }
    }
}
