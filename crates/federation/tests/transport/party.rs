//! Authorities, parties, servers and handlers for the tests of the transport.

use federation::transport::{
    CallFuture, Connection, ConnectionLimits, Excesses, Handler, LengthLimit, PeerCertificate, ServeError, TlsSource,
    serve,
};
use federation::wire::MOST_BYTES;
use federation::wire::proto::Signed;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, PKCS_ED25519, date_time_ymd};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// An authority of its own.
pub(crate) struct TestCa(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
pub(crate) struct TestParty {
    pub(crate) certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

impl TestCa {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub(crate) fn party(&self, name: &str) -> TestParty {
        self.signed(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    /// A party whose certificate is good from the beginning of one year to the beginning of another.
    pub(crate) fn party_between(&self, name: &str, from: i32, until: i32) -> TestParty {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
        self.signed(params)
    }

    fn signed(&self, params: CertificateParams) -> TestParty {
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap().der().clone();
        TestParty { certificate, key: PrivateKeyDer::try_from(key.serialize_der()).unwrap() }
    }

    /// A server of this authority.
    pub(crate) fn server(&self) -> TestParty {
        self.party("posterity-server")
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        Arc::new(roots)
    }

    /// A configuration of a server that demands certificates of this authority.
    pub(crate) fn listening(&self, own: &TestParty) -> Arc<ServerConfig> {
        let verifier = WebPkiClientVerifier::builder_with_provider(self.roots(), provider()).build().unwrap();
        let config = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]).unwrap();
        let config = config.with_client_cert_verifier(verifier);
        Arc::new(config.with_single_cert(vec![own.certificate.clone()], own.key.clone_key()).unwrap())
    }

    /// A configuration of a server that asks for no certificates.
    pub(crate) fn open(&self, own: &TestParty) -> Arc<ServerConfig> {
        let config = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]).unwrap();
        let config = config.with_no_client_auth();
        Arc::new(config.with_single_cert(vec![own.certificate.clone()], own.key.clone_key()).unwrap())
    }

    /// A configuration of a client that trusts this authority, with a certificate or without one.
    pub(crate) fn calling(&self, own: Option<&TestParty>) -> Arc<ClientConfig> {
        let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]).unwrap();
        let config = config.with_root_certificates(self.roots());
        Arc::new(match own {
            Some(own) => config.with_client_auth_cert(vec![own.certificate.clone()], own.key.clone_key()).unwrap(),
            None => config.with_no_client_auth(),
        })
    }
}

/// Answers each content with itself after a while, and remembers who said what.
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) after: Duration,
    /// Longest content that is expected, if it is less than any.
    pub(crate) longest: Option<usize>,
    pub(crate) heard: Mutex<Vec<(PeerCertificate, Signed)>>,
}

impl Echo {
    pub(crate) fn after(after: Duration) -> Arc<Self> {
        Arc::new(Self { after, ..Self::default() })
    }

    pub(crate) fn calls(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

impl Handler for Echo {
    fn longest(&self, _: &PeerCertificate) -> LengthLimit {
        LengthLimit::Final(self.longest.unwrap_or(MOST_BYTES))
    }

    fn exchange(&self, peer: PeerCertificate, content: Signed) -> CallFuture<'_, Signed> {
        self.heard.lock().unwrap().push((peer, content.clone()));
        Box::pin(async move {
            tokio::time::sleep(self.after).await;
            Ok(content)
        })
    }
}

/// A server that runs, and how to reach and stop it.
pub(crate) struct RunningServer {
    pub(crate) address: SocketAddr,
    pub(crate) tls: watch::Sender<Arc<ServerConfig>>,
    pub(crate) excesses: Arc<Excesses>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl RunningServer {
    pub(crate) async fn at(
        address: SocketAddr,
        config: Arc<ServerConfig>,
        handler: Arc<dyn Handler>,
        limits: ConnectionLimits,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tls, current) = watch::channel(config);
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            // A test that drops the server stops it too.
            let _ = stopped.await;
        };
        let excesses = Arc::new(Excesses::default());
        let task = tokio::spawn(serve(listener, TlsSource::new(current), handler, limits, excesses.clone(), shutdown));
        Self { address, tls, excesses, stop, task }
    }

    pub(crate) async fn start(config: Arc<ServerConfig>, handler: Arc<dyn Handler>, limits: ConnectionLimits) -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0)), config, handler, limits).await
    }

    /// Stops, and comes back when all is closed.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

/// A line with a configuration that does not change.
pub(crate) fn line(address: impl ToString, config: Arc<ClientConfig>) -> Connection {
    Connection::new(address.to_string(), watch::channel(config).1, 0)
}

/// A content with a text in it.
pub(crate) fn said(text: &str) -> Signed {
    Signed { content: text.into(), signature: vec![7; 64] }
}
