//! Trust by fingerprint: a server is believed if its chain ends in the root whose SHA-256 stands in an invite.

use super::certificate::fingerprint;
use privacy::noise::Digest;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, PeerIncompatible, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Believes chains to one root, which is known by its fingerprint and comes with the chain.
#[derive(Debug)]
pub(super) struct PinnedRoot {
    root: Digest,
    provider: Arc<CryptoProvider>,
}

impl PinnedRoot {
    pub(super) fn new(root: Digest, provider: Arc<CryptoProvider>) -> Self {
        Self { root, provider }
    }
}

impl ServerCertVerifier for PinnedRoot {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let unknown = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let (root, between) = intermediates.split_last().ok_or_else(unknown)?;
        if fingerprint(root) != self.root {
            return Err(unknown());
        }
        let mut anchors = RootCertStore::empty();
        anchors.add(root.clone())?;
        WebPkiServerVerifier::builder_with_provider(Arc::new(anchors), Arc::clone(&self.provider))
            .build()
            .map_err(|_| unknown())?
            .verify_server_cert(end_entity, between, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
