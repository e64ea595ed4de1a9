//! How connections are secured: TLS 1.3 alone, certificates of our own authority alone, nothing remembered between two.

use super::certificate::SERVER_NAME;
use super::key::IdentityKey;
use super::pinned::PinnedRoot;
use privacy::noise::Digest;
use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{default_provider, sign::any_eddsa_type};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

/// The protocol of the federation and of enrolment.
const HTTP2: &[u8] = b"h2";
/// The protocol of the dashboard.
const HTTP1: &[u8] = b"http/1.1";

/// Why connections cannot be secured with what was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The certificate is not for this key.
    #[error("the certificate is not for this key")]
    OtherKey,
    /// A certificate or key cannot be used.
    #[error("a certificate or key cannot be used for TLS")]
    Unusable,
}

/// A server that talks only to clients with a certificate of these roots.
pub fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: &IdentityKey,
    roots: &[CertificateDer<'_>],
) -> Result<ServerConfig, TlsError> {
    let verifier = WebPkiClientVerifier::builder_with_provider(anchors(roots)?, provider());
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| TlsError::Unusable)?
        .with_client_cert_verifier(verifier.build().map_err(|_| TlsError::Unusable)?);
    Ok(forgetful(builder.with_cert_resolver(own(chain, key)?), HTTP2))
}

/// A server for those who have no certificate yet. It sends the root too: an invite has its fingerprint.
pub fn enrolment_config(
    mut chain: Vec<CertificateDer<'static>>,
    key: &IdentityKey,
    root: &CertificateDer<'static>,
) -> Result<ServerConfig, TlsError> {
    chain.push(root.clone());
    one_sided(chain, key, HTTP2)
}

/// A server for people with browsers, who are known by a token and not by a certificate.
pub fn dashboard_config(chain: Vec<CertificateDer<'static>>, key: &IdentityKey) -> Result<ServerConfig, TlsError> {
    one_sided(chain, key, HTTP1)
}

/// A party that talks to a server of this root. Connect with [`server_name`], whatever host is dialled.
pub fn client_config(
    chain: Vec<CertificateDer<'static>>,
    key: &IdentityKey,
    root: &CertificateDer<'_>,
) -> Result<ClientConfig, TlsError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| TlsError::Unusable)?
        .with_root_certificates(anchors(std::slice::from_ref(root))?);
    let mut config = builder.with_client_cert_resolver(own(chain, key)?);
    settle(&mut config);
    Ok(config)
}

/// A party that has only an invite: it talks to the server whose root has this fingerprint. Connect with [`server_name`].
pub fn joining_config(root: Digest) -> Result<ClientConfig, TlsError> {
    let verifier: Arc<dyn ServerCertVerifier> = Arc::new(PinnedRoot::new(root, provider()));
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| TlsError::Unusable)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    settle(&mut config);
    Ok(config)
}

/// The name that clients ask of every server.
pub fn server_name() -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(SERVER_NAME).map_err(|_| TlsError::Unusable)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

fn anchors(roots: &[CertificateDer<'_>]) -> Result<Arc<RootCertStore>, TlsError> {
    let mut store = RootCertStore::empty();
    for root in roots {
        store.add(root.clone()).map_err(|_| TlsError::Unusable)?;
    }
    Ok(Arc::new(store))
}

/// A chain with its key, of which no second copy is made.
fn own(chain: Vec<CertificateDer<'static>>, key: &IdentityKey) -> Result<Arc<SingleCertAndKey>, TlsError> {
    let signer = any_eddsa_type(&PrivatePkcs8KeyDer::from(key.pkcs8())).map_err(|_| TlsError::Unusable)?;
    let certified = CertifiedKey::new(chain, signer);
    certified.keys_match().map_err(|_| TlsError::OtherKey)?;
    Ok(Arc::new(SingleCertAndKey::from(certified)))
}

fn one_sided(
    chain: Vec<CertificateDer<'static>>,
    key: &IdentityKey,
    protocol: &[u8],
) -> Result<ServerConfig, TlsError> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| TlsError::Unusable)?
        .with_no_client_auth();
    Ok(forgetful(builder.with_cert_resolver(own(chain, key)?), protocol))
}

/// A resumed session would be believed without looking at a certificate again, even one that has ended since.
fn forgetful(mut config: ServerConfig, protocol: &[u8]) -> ServerConfig {
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.alpn_protocols = vec![protocol.to_vec()];
    config
}

fn settle(config: &mut ClientConfig) {
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![HTTP2.to_vec()];
}
