//! Certificates and requests for them, as read: who is at the other end, and by which key.

use super::key::{IdentityKey, PublicKey};
use super::name::{PartyName, PartyRole};
use privacy::noise::Digest;
use rcgen::{CertificateParams, DistinguishedName, DnType, PKCS_ED25519, PublicKeyData, SanType, SignatureAlgorithm};
use ring::signature::{ED25519, UnparsedPublicKey};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::oid_registry::OID_SIG_ED25519;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

/// The name that every server's certificate has and no other: clients verify it, whatever host they dial.
pub const SERVER_NAME: &str = "posterity-server";

/// Larger than any certificate or request of ours.
const MOST: usize = 4096;

/// Why a certificate or a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// The bytes are not a certificate or a request.
    #[error("the certificate or request cannot be read")]
    Malformed,
    /// The other side showed no certificate.
    #[error("there is no certificate")]
    Missing,
    /// Its key is of another kind.
    #[error("the key is not an Ed25519 key")]
    Key,
    /// Its names are not those of a party.
    #[error("the certificate does not name one party, expected one URI posterity://role/name")]
    Names,
    /// It belongs to an authority.
    #[error("it is the certificate of an authority, expected one of a party")]
    Authority,
    /// The signature is not by the key that it should be by.
    #[error("the signature is not valid")]
    Signature,
}

/// Who is at the other end, as its certificate says. Whether to believe it is for the handshake that took it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The role that the certificate is for.
    pub role: PartyRole,
    /// The name of the party.
    pub name: PartyName,
    /// The Ed25519 key of the party.
    pub key: PublicKey,
    /// When its certificate ends, in seconds since 1970.
    pub expires: u64,
}

/// From when until when a certificate is good, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The first second of validity.
    pub from: u64,
    /// The last second of validity.
    pub until: u64,
}

impl Peer {
    /// The party of a certificate with one Ed25519 key, one URI and the name that goes with its role.
    pub fn of_der(bytes: &[u8]) -> Result<Self, CertificateError> {
        let certificate = parsed(bytes)?;
        if certificate.is_ca() {
            return Err(CertificateError::Authority);
        }
        let key = ed25519(certificate.public_key())?;
        let names = certificate.subject_alternative_name().map_err(|_| CertificateError::Malformed)?;
        let (role, name) = party(&names.ok_or(CertificateError::Names)?.value.general_names)?;
        Ok(Self { role, name, key, expires: validity_of(&certificate)?.until })
    }

    /// The party at the other end of a handshake, by the certificates that it has shown.
    pub fn of_chain(chain: Option<&[CertificateDer<'_>]>) -> Result<Self, CertificateError> {
        Self::of_der(chain.and_then(<[_]>::first).ok_or(CertificateError::Missing)?)
    }
}

/// The certificates of a text in PEM, at least one.
pub fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or(CertificateError::Malformed)
}

/// SHA-256 of a certificate.
pub fn fingerprint(certificate: &[u8]) -> Digest {
    Sha256::digest(certificate).into()
}

/// SHA-256 of the key of a certificate, which stays when the certificate is renewed.
pub fn subject_key(certificate: &[u8]) -> Result<Digest, CertificateError> {
    Ok(Sha256::digest(parsed(certificate)?.public_key().raw).into())
}

/// From when until when a certificate is good.
pub fn validity(certificate: &[u8]) -> Result<Validity, CertificateError> {
    validity_of(&parsed(certificate)?)
}

/// A request for a certificate, signed by the key that it is for. The names say what the sender expects, no more.
pub fn request(key: &IdentityKey, role: PartyRole, name: &PartyName) -> Result<Vec<u8>, CertificateError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name.as_str());
    params.subject_alt_names = vec![uri(role, name)?];
    let request = params.serialize_request(&Signer(key)).map_err(|_| CertificateError::Malformed)?;
    Ok(request.der().to_vec())
}

/// The key of a request that was signed by this very key. Its names are ignored: the authority decides them.
pub fn requested_key(request: &[u8]) -> Result<PublicKey, CertificateError> {
    if request.len() > MOST {
        return Err(CertificateError::Malformed);
    }
    let (rest, request) = X509CertificationRequest::from_der(request).map_err(|_| CertificateError::Malformed)?;
    if !rest.is_empty() {
        return Err(CertificateError::Malformed);
    }
    let info = &request.certification_request_info;
    let key = ed25519(&info.subject_pki)?;
    signed_by(&key, &request.signature_algorithm, info.raw, &request.signature_value.data)?;
    Ok(key)
}

/// The key of an authority's certificate.
pub(super) fn authority_key(certificate: &[u8]) -> Result<PublicKey, CertificateError> {
    ed25519(parsed(certificate)?.public_key())
}

/// Refuses a certificate that this key has not signed.
pub(super) fn issued_by(certificate: &[u8], key: &PublicKey) -> Result<(), CertificateError> {
    let certificate = parsed(certificate)?;
    let content = certificate.tbs_certificate.as_ref();
    signed_by(key, &certificate.signature_algorithm, content, &certificate.signature_value.data)
}

/// The name of a party in a certificate.
pub(super) fn uri(role: PartyRole, name: &PartyName) -> Result<SanType, CertificateError> {
    let text = format!("posterity://{role}/{name}");
    Ok(SanType::URI(text.try_into().map_err(|_| CertificateError::Names)?))
}

/// A public key, for a certificate to name.
pub(super) struct Subject(pub(super) PublicKey);

impl PublicKeyData for Subject {
    fn der_bytes(&self) -> &[u8] {
        &self.0.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ED25519
    }
}

/// A key that signs certificates or requests.
pub(super) struct Signer<'a>(pub(super) &'a IdentityKey);

impl PublicKeyData for Signer<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.0.public_bytes()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ED25519
    }
}

impl rcgen::SigningKey for Signer<'_> {
    fn sign(&self, content: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Ok(self.0.sign_certificate(content))
    }
}

fn parsed(bytes: &[u8]) -> Result<X509Certificate<'_>, CertificateError> {
    match X509Certificate::from_der(bytes) {
        Ok(([], certificate)) if bytes.len() <= MOST => Ok(certificate),
        _ => Err(CertificateError::Malformed),
    }
}

fn validity_of(certificate: &X509Certificate<'_>) -> Result<Validity, CertificateError> {
    let seconds = |at: i64| u64::try_from(at).map_err(|_| CertificateError::Malformed);
    let validity = certificate.validity();
    Ok(Validity { from: seconds(validity.not_before.timestamp())?, until: seconds(validity.not_after.timestamp())? })
}

fn ed25519(key: &SubjectPublicKeyInfo<'_>) -> Result<PublicKey, CertificateError> {
    if key.algorithm.algorithm != OID_SIG_ED25519 || key.algorithm.parameters.is_some() {
        return Err(CertificateError::Key);
    }
    let bytes = key.subject_public_key.data.as_ref().try_into().map_err(|_| CertificateError::Key)?;
    Ok(PublicKey(bytes))
}

fn signed_by(
    key: &PublicKey,
    algorithm: &AlgorithmIdentifier<'_>,
    content: &[u8],
    signature: &[u8],
) -> Result<(), CertificateError> {
    if algorithm.algorithm != OID_SIG_ED25519 {
        return Err(CertificateError::Signature);
    }
    UnparsedPublicKey::new(&ED25519, key.0).verify(content, signature).map_err(|_| CertificateError::Signature)
}

/// The one party that these names are of: its URI, and beside it a server's name for a server, nothing for others.
fn party(names: &[GeneralName<'_>]) -> Result<(PartyRole, PartyName), CertificateError> {
    let (uri, server) = match names {
        [GeneralName::URI(uri)] => (uri, false),
        [GeneralName::URI(uri), GeneralName::DNSName(SERVER_NAME)] => (uri, true),
        _ => return Err(CertificateError::Names),
    };
    let (word, name) =
        uri.strip_prefix("posterity://").and_then(|rest| rest.split_once('/')).ok_or(CertificateError::Names)?;
    let role = PartyRole::of_word(word)
        .filter(|role| (*role == PartyRole::Server) == server)
        .ok_or(CertificateError::Names)?;
    Ok((role, PartyName::new(name).map_err(|_| CertificateError::Names)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hospital() -> PartyName {
        PartyName::new("hospital-a").unwrap()
    }

    fn certificate(key: &IdentityKey, names: Vec<SanType>) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names;
        params.self_signed(&Signer(key)).unwrap().der().to_vec()
    }

    #[test]
    fn a_request_gives_the_key_that_signed_it() {
        let key = IdentityKey::generate().unwrap();
        let bytes = request(&key, PartyRole::Site, &hospital()).unwrap();
        assert_eq!(requested_key(&bytes), Ok(key.public()));
        assert_eq!(
            bytes,
            request(&key, PartyRole::Site, &hospital()).unwrap(),
            "the same request, whenever it is made"
        );
    }

    #[test]
    fn no_signed_byte_of_a_request_can_be_changed() {
        let key = IdentityKey::generate().unwrap();
        let bytes = request(&key, PartyRole::Site, &hospital()).unwrap();
        // Between what is signed and the signature stand ten bytes that name the algorithm: no key, no name.
        let framing = bytes.len() - 74..bytes.len() - 64;
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            let found = requested_key(&other);
            let same = framing.contains(&at) && found == Ok(key.public());
            assert!(found.is_err() || same, "byte {at}");
        }
        assert!(requested_key(&[bytes.as_slice(), &[0]].concat()).is_err());
        assert!(requested_key(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn a_peer_has_one_name_of_its_own_role() {
        let key = IdentityKey::generate().unwrap();
        let named = |text: &str| SanType::URI(text.try_into().unwrap());
        let host = |text: &str| SanType::DnsName(text.try_into().unwrap());
        let peer = Peer::of_der(&certificate(&key, vec![named("posterity://site/hospital-a")])).unwrap();
        assert_eq!((peer.role, peer.name, peer.key), (PartyRole::Site, hospital(), key.public()));
        let server = Peer::of_der(&certificate(&key, vec![named("posterity://server/a"), host(SERVER_NAME)])).unwrap();
        assert_eq!(server.role, PartyRole::Server);
        for names in [
            vec![],
            vec![host(SERVER_NAME)],
            vec![named("posterity://site/a"), named("posterity://site/b")],
            vec![named("posterity://site/a"), host(SERVER_NAME)],
            vec![named("posterity://site/a"), host("a.example")],
            vec![named("posterity://server/a")],
            vec![named("posterity://server/a"), host("other-server")],
            vec![named("posterity://curator/a")],
            vec![named("posterity://site/a/b")],
            vec![named("posterity://site/")],
            vec![named("https://site/a")],
        ] {
            assert_eq!(Peer::of_der(&certificate(&key, names.clone())), Err(CertificateError::Names), "{names:?}");
        }
    }

    #[test]
    fn a_key_of_another_kind_is_refused() {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![uri(PartyRole::Site, &hospital()).unwrap()];
        assert_eq!(Peer::of_der(params.self_signed(&pair).unwrap().der()), Err(CertificateError::Key));
        assert_eq!(requested_key(params.serialize_request(&pair).unwrap().der()), Err(CertificateError::Key));
    }

    #[test]
    fn an_authority_is_no_party() {
        let key = IdentityKey::generate().unwrap();
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![uri(PartyRole::Site, &hospital()).unwrap()];
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
        let der = params.self_signed(&Signer(&key)).unwrap();
        assert_eq!(Peer::of_der(der.der()), Err(CertificateError::Authority));
        assert_eq!(Peer::of_chain(None), Err(CertificateError::Missing));
    }
}
