//! A whole server over TLS in one process, with a dashboard, a clock that can be set and a disk that can be full.

use crate::common::scripted_server::{ScriptedServer, TestServer, ask, update};
use crate::common::study::{TestBuilder, TestKeys};
use federation::coordinator::{Change, Header, SavedRun};
use federation::dashboard::{
    self, CONNECTIONS_OF_AN_ADDRESS, DashboardSource, Metrics, Port, RunSummary, RunView, Token,
};
use federation::identity::{
    Authority, IdentityKey, PARTY_LIFE, PartyName, PartyRole, PublicKey, certificates, client_config, enrolment_config,
    fingerprint, joining_config, request, server_config,
};
use federation::log::{Position, RunId};
use federation::manifest::{Pace, RunBuilder};
use federation::message::{Instruction, Request, Update};
use federation::server::{Gateway, RunEngine, RunService};
use federation::store::{History, InviteRow, MemoryStore, PartyRow, Redemption, RunRow, ServerStore, StoreError};
use federation::transport::{self, Connection, ConnectionError, ConnectionLimits, TlsSource};
use federation::wire::{self, Sender, UnverifiedContent, proto};
use privacy::noise::Digest;
use prost::Message as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A store on a disk that is full when it is told to be: it is read, and nothing is kept.
#[derive(Clone)]
pub(crate) struct FullableStore {
    pub(crate) store: MemoryStore,
    pub(crate) full: Arc<AtomicBool>,
}

impl FullableStore {
    fn room(&self) -> Result<(), StoreError> {
        match self.full.load(Ordering::Relaxed) {
            true => Err(StoreError::Failed { why: "database or disk is full at /secret/place".into() }),
            false => Ok(()),
        }
    }
}

impl ServerStore for FullableStore {
    fn create(&self, row: &RunRow, saved: &SavedRun) -> Result<(), StoreError> {
        self.room().and_then(|()| self.store.create(row, saved))
    }
    fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.store.runs()
    }
    fn version(&self, run: &RunId) -> Result<u64, StoreError> {
        self.store.version(run)
    }
    fn load(&self, run: &RunId) -> Result<SavedRun, StoreError> {
        self.store.load(run)
    }
    fn commit(&self, run: &RunId, version: u64, header: &Header, change: &Change) -> Result<u64, StoreError> {
        self.room().and_then(|()| self.store.commit(run, version, header, change))
    }
    fn history(&self, run: &RunId) -> Result<History, StoreError> {
        self.store.history(run)
    }
    fn head(&self, key: &PublicKey) -> Result<Option<Position>, StoreError> {
        self.store.head(key)
    }
    fn invite(&self, invite: &InviteRow) -> Result<(), StoreError> {
        self.room().and_then(|()| self.store.invite(invite))
    }
    fn redeem(&self, secret: &Digest, request: &Digest, now: u64) -> Result<Redemption, StoreError> {
        self.room().and_then(|()| self.store.redeem(secret, request, now))
    }
    fn enrol(&self, party: &PartyRow) -> Result<(), StoreError> {
        self.room().and_then(|()| self.store.enrol(party))
    }
    fn parties(&self) -> Result<Vec<PartyRow>, StoreError> {
        self.store.parties()
    }
    fn revoke(&self, role: PartyRole, name: &PartyName, now: u64) -> Result<bool, StoreError> {
        self.room().and_then(|()| self.store.revoke(role, name, now))
    }
}

/// A dashboard that shows no run: the server's own numbers are what is read here.
struct NoRuns(watch::Sender<u64>);

impl DashboardSource for NoRuns {
    fn runs(&self) -> Vec<RunSummary> {
        Vec::new()
    }
    fn run(&self, _: &str) -> Option<RunView> {
        None
    }
    fn changes(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
    fn posterior_json(&self, _: &str) -> Option<String> {
        None
    }
    fn manifest_json(&self, _: &str) -> Option<String> {
        None
    }
    fn healthy(&self) -> bool {
        true
    }
}

/// A party, by its name and key.
pub(crate) type NamedKey = (PartyName, Arc<IdentityKey>);

/// The server and everybody who may call it. Sites 0 to 2 are members, and site 2 was revoked.
pub(crate) struct AlarmServer {
    folder: PathBuf,
    authority: Arc<Authority>,
    pub(crate) keys: Arc<TestKeys>,
    pub(crate) disk: FullableStore,
    /// Added to the time by which certificates are judged.
    pub(crate) later: Arc<AtomicU64>,
    pub(crate) manifest: Digest,
    /// An answer of site 0 that the server would take.
    pub(crate) good: Update,
    service: Arc<RunService>,
    /// The run is not there before this is set.
    open: watch::Sender<Option<Arc<RunService>>>,
    pub(crate) parties: String,
    pub(crate) enrolment: String,
    page: String,
    token: Token,
    _tls: [watch::Sender<Arc<rustls::ServerConfig>>; 2],
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn name(text: &str) -> PartyName {
    PartyName::new(text).unwrap()
}

fn key() -> Arc<IdentityKey> {
    Arc::new(IdentityKey::generate().unwrap())
}

/// A study of three sites with keys that TLS takes.
fn script() -> ScriptedServer {
    let sites = (0..3).map(|m| (name(&format!("site-{m}")), key())).collect();
    let keys = Arc::new(TestKeys { server: key(), sites, nodes: Vec::new() });
    let builder: Arc<dyn RunBuilder> = Arc::new(TestBuilder::default());
    let pace = Pace { rounds: 2, quorum: 2, deadline: None };
    let manifest = keys.manifest("synchronous/2/0", 1, pace, builder.as_ref());
    let parts = manifest.check(builder.as_ref()).unwrap();
    ScriptedServer { keys, builder, manifest, parts }
}

/// The members' store: the run has begun, all are enrolled, and site 2 was revoked.
fn furnished(front: &TestServer) -> FullableStore {
    let disk = FullableStore { store: front.store.clone(), full: Arc::default() };
    for (name, key) in &front.script.keys.sites {
        let expires = now() + PARTY_LIFE;
        let (role, name, key) = (PartyRole::Site, name.clone(), key.public());
        disk.enrol(&PartyRow { role, name, key, sealing: None, expires, revoked: None }).unwrap();
    }
    disk.revoke(PartyRole::Site, &front.script.keys.sites[2].0, now()).unwrap();
    disk
}

/// The run's own thread over this store.
fn opened(front: &TestServer, disk: &FullableStore, metrics: &Arc<Metrics>) -> Arc<RunService> {
    let (manifest, parts) = (front.script.manifest.clone(), front.script.parts.clone());
    let (store, server) = (Arc::new(disk.clone()), front.script.keys.server.clone());
    let engine = RunEngine::open(store, manifest, parts, server, name("server")).unwrap();
    Arc::new(RunService::open(engine, metrics.clone()).unwrap())
}

/// TLS of the ports for parties and for enrolment.
fn tls(
    authority: &Authority,
    server: &IdentityKey,
    metrics: &Metrics,
) -> [watch::Sender<Arc<rustls::ServerConfig>>; 2] {
    let issued = authority.issue(PartyRole::Server, &name("server"), &server.public(), now(), PARTY_LIFE).unwrap();
    metrics.certified(issued.expires);
    let (chain, root) = (certificates(&issued.chain).unwrap(), authority.root());
    let parties = server_config(chain.clone(), server, std::slice::from_ref(root)).unwrap();
    let enrolment = enrolment_config(chain, server, root).unwrap();
    [parties, enrolment].map(|config| watch::channel(Arc::new(config)).0)
}

impl AlarmServer {
    pub(crate) async fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("posterity-alarms-{}-{number}", std::process::id()));
        Authority::init(&folder, &name("alarms"), now()).unwrap();
        let authority = Arc::new(Authority::open(&folder).unwrap());
        let script = script();
        let (mut party, _) = script.running(0);
        let good = update(&script.tell(&mut party, ask(0, 0, &script.question())).unwrap());
        let front = TestServer::running(script);
        let (keys, metrics) = (front.script.keys.clone(), Arc::new(Metrics::default()));
        let disk = furnished(&front);
        let service = opened(&front, &disk, &metrics);
        let (open, runs) = watch::channel(None);
        let later = Arc::new(AtomicU64::new(0));
        let ahead = later.clone();
        let gateway = Arc::new(Gateway::new(
            Arc::new(disk.clone()),
            authority.clone(),
            keys.server.clone(),
            name("server"),
            "127.0.0.1:1".to_owned(),
            Arc::new(move || now() + ahead.load(Ordering::Relaxed)),
            runs,
            metrics.clone(),
        ));
        let tls = tls(&authority, &keys.server, &metrics);
        let (listener, parties) = bound().await;
        let source = TlsSource::new(tls[0].subscribe()).watched_by(metrics.observer(Port::Parties));
        let (limits, excesses) = (ConnectionLimits::default(), metrics.excesses().clone());
        tokio::spawn(transport::serve(
            listener,
            source,
            gateway.clone(),
            limits,
            excesses.clone(),
            std::future::pending(),
        ));
        let (listener, enrolment) = bound().await;
        let source = TlsSource::new(tls[1].subscribe()).watched_by(metrics.observer(Port::Enrolment));
        let (limits, never) = (ConnectionLimits::enrolment(), std::future::pending());
        tokio::spawn(transport::serve_enrolment(listener, source, gateway, limits, excesses, never));
        let (listener, page) = bound().await;
        let (token, bare) = (Token::generate().unwrap(), Arc::new(NoRuns(watch::channel(0).0)));
        let (counted, shown, never) = (metrics.clone(), token.clone(), std::future::pending());
        tokio::spawn(dashboard::serve(listener, None, bare, counted, shown, CONNECTIONS_OF_AN_ADDRESS, never));
        Self {
            folder,
            authority,
            keys,
            disk,
            later,
            manifest: front.script.manifest.digest(),
            good,
            service,
            open,
            parties,
            enrolment,
            page,
            token,
            _tls: tls,
        }
    }

    /// The run is there from now on.
    pub(crate) fn begin(&self) {
        self.open.send_replace(Some(self.service.clone()));
    }

    /// A line of somebody with a certificate of the authority.
    pub(crate) fn line(&self, (name, key): &NamedKey) -> Connection {
        let issued = self.authority.issue(PartyRole::Site, name, &key.public(), now(), PARTY_LIFE).unwrap();
        let config = client_config(certificates(&issued.chain).unwrap(), key, self.authority.root()).unwrap();
        Connection::new(self.parties.clone(), watch::channel(Arc::new(config)).1, 1)
    }

    /// A member's request as it is signed by this key for this manifest.
    pub(crate) fn signed(&self, site: usize, key: &IdentityKey, manifest: Digest, said: &Request) -> proto::Signed {
        let sender = Sender { role: PartyRole::Site, name: self.keys.sites[site].0.clone(), manifest: Some(manifest) };
        proto::Signed::decode(wire::sign(key, &sender, said).0.as_slice()).unwrap()
    }

    /// What a site hears to a request over a line of its own.
    pub(crate) async fn says(&self, site: usize, said: &Request) -> Result<Vec<Instruction>, ConnectionError> {
        let party = &self.keys.sites[site];
        let signed = self.signed(site, &party.1, self.manifest, said);
        self.exchange(&mut self.line(party), signed).await
    }

    pub(crate) async fn exchange(
        &self,
        line: &mut Connection,
        signed: proto::Signed,
    ) -> Result<Vec<Instruction>, ConnectionError> {
        let to = wire::content_digest(&signed.encode_to_vec()).unwrap();
        let reply = line.exchange(signed, Duration::ZERO).await?;
        let reply = UnverifiedContent::of(reply).unwrap().reply(&self.keys.server.public(), &to).unwrap();
        Ok(reply.instructions)
    }

    /// What somebody hears who comes with an invite that nobody has made.
    pub(crate) async fn join(&self, secret: &[u8]) -> Result<proto::JoinReply, ConnectionError> {
        let tls = Arc::new(joining_config(fingerprint(self.authority.root())).unwrap());
        let (called, own) = (name("newcomer"), key());
        let request = request(&own, PartyRole::Site, &called).unwrap();
        let asked =
            proto::JoinRequest { version: wire::VERSION, secret: secret.to_vec(), request, sealing: Vec::new() };
        transport::join(self.enrolment.clone(), tls, asked).await
    }

    /// The whole answer of the dashboard.
    pub(crate) async fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.page).await.unwrap();
        let token = self.token.hex();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    /// A number that a monitor reads.
    pub(crate) async fn metric(&self, sample: &str) -> Option<f64> {
        let text = self.page("/metrics").await;
        let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    /// Waits until a number is there; a test in which it never is hangs no longer than its patience.
    pub(crate) async fn until(&self, sample: &str, wanted: f64) {
        for _ in 0..1200 {
            if self.metric(sample).await == Some(wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{sample} is {:?}, expected {wanted}", self.metric(sample).await);
    }
}

impl Drop for AlarmServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn bound() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}
