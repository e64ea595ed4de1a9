//! A certificate authority in a folder: a root that is kept offline, and an issuing certificate that a server uses.

use super::certificate::{
    CertificateError, SERVER_NAME, Signer, Subject, authority_key, certificates, fingerprint, issued_by, uri, validity,
};
use super::file::{FileError, Readers, private_folder, read_private, read_public, replace, write_new};
use super::key::{IdentityKey, PublicKey};
use super::name::{PartyName, PartyRole};
use crate::calendar::moment;
use privacy::noise::Digest;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyUsagePurpose, SanType, SerialNumber,
};
use rustls::pki_types::CertificateDer;
use std::path::{Path, PathBuf};
use std::time::Duration;

const DAY: u64 = 24 * 3600;
/// How long a root is good: five years.
pub const ROOT_LIFE: u64 = 5 * 365 * DAY;
/// How long an issuing certificate is good: 90 days.
pub const ISSUING_LIFE: u64 = 90 * DAY;
/// How long a party's certificate is good, if nothing else is said: seven days.
pub const PARTY_LIFE: u64 = 7 * DAY;
/// A party's certificate this close to its end was not renewed when it should have been: agents and nodes renew theirs when a
/// third of its life is left, as long as they run.
pub const PARTY_LATE: u64 = 2 * DAY;
/// Certificates are good from a little before they are made, because clocks differ.
pub const EARLY: u64 = 3600;

const ROOT_KEY: &str = "root.key";
const ROOT: &str = "root.pem";
const ISSUING_KEY: &str = "issuing.key";
const ISSUING: &str = "issuing.pem";

/// Why an authority cannot be made, opened or used.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The folder already holds an authority.
    #[error("{} already exists, and an authority is created only once", path.display())]
    Exists {
        /// The file that was found.
        path: PathBuf,
    },
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The root's key is not in the folder.
    #[error("{} is missing, and a new issuing certificate needs it", path.display())]
    RootOffline {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Keys and certificates are not of one authority.
    #[error("the files in {} belong to different authorities", folder.display())]
    Mixed {
        /// The folder.
        folder: PathBuf,
    },
    /// The certificate that signs others is over.
    #[error("the {which} certificate expired at {}", moment(*until))]
    Ended {
        /// `root` or `issuing`.
        which: &'static str,
        /// When it expired, in seconds since 1970.
        until: u64,
    },
    /// A certificate could not be made or read.
    #[error("a certificate of the authority cannot be created or read: {0}")]
    Certificate(#[from] CertificateError),
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes")]
    Randomness,
}

impl AuthorityError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Exists { .. } => "choose a new folder, or use the existing authority".into(),
            Self::File(error) if error.is_missing() => "create an authority first".into(),
            Self::File(error) => error.hint(),
            Self::RootOffline { .. } => "put root.key back into the folder, and renew the authority".into(),
            Self::Mixed { .. } => {
                "put root.key back and renew the authority, or restore the folder from a backup".into()
            }
            Self::Ended { which: "issuing", .. } => "put root.key back and renew the authority".into(),
            Self::Ended { .. } => "create a new authority and invite all parties again".into(),
            Self::Certificate(_) => "restore the folder of the authority from a backup".into(),
            Self::Randomness => "try again, or ask the administrator of the machine".into(),
        }
    }
}

/// Which key a new issuing certificate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuingKey {
    /// The one in use.
    Keep,
    /// A new key, which replaces the one in use.
    Fresh,
}

/// What can be said of an authority without any of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityFacts {
    /// SHA-256 of the root's certificate.
    pub fingerprint: Digest,
    /// When the root ends, in seconds since 1970.
    pub root_until: u64,
    /// When the issuing certificate ends, in seconds since 1970.
    pub issuing_until: u64,
    /// Where the root's key lies, if it is still in the folder.
    pub root_key: Option<PathBuf>,
}

/// A certificate that was issued, with the one that signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedCertificate {
    /// The party's certificate and the issuing one, in PEM.
    pub chain: String,
    /// When the party's certificate ends, in seconds since 1970.
    pub expires: u64,
}

/// An authority that can issue: its issuing key, and the certificates up to the root.
#[derive(Debug)]
pub struct Authority {
    key: IdentityKey,
    issuing_text: String,
    issuing: CertificateDer<'static>,
    until: u64,
    root_text: String,
    root: CertificateDer<'static>,
}

impl Authority {
    /// Makes an authority in a folder that has none.
    pub fn init(folder: &Path, name: &PartyName, now: u64) -> Result<AuthorityFacts, AuthorityError> {
        private_folder(folder)?;
        let there = [ROOT_KEY, ROOT, ISSUING_KEY, ISSUING].map(|file| folder.join(file));
        if let Some(path) = there.into_iter().find(|path| path.exists()) {
            return Err(AuthorityError::Exists { path });
        }
        let (root_key, key) = (fresh_key()?, fresh_key()?);
        let mut params = ca("root", name.as_str(), 1)?;
        last(&mut params, now, now.saturating_add(ROOT_LIFE))?;
        let root = params.self_signed(&Signer(&root_key)).map_err(unmade)?;
        let issuing = issuing_certificate(&root_key, root.der(), name.as_str(), key.public(), now)?;
        write_new(&folder.join(ROOT_KEY), root_key.pkcs8(), Readers::Owner)?;
        write_new(&folder.join(ROOT), root.pem().as_bytes(), Readers::All)?;
        write_new(&folder.join(ISSUING_KEY), key.pkcs8(), Readers::Owner)?;
        write_new(&folder.join(ISSUING), issuing.as_bytes(), Readers::All)?;
        Self::facts(folder)
    }

    /// Opens an authority by its issuing key; the root's key is not needed.
    pub fn open(folder: &Path) -> Result<Self, AuthorityError> {
        let (root_text, root) = stored(&folder.join(ROOT))?;
        let (issuing_text, issuing) = stored(&folder.join(ISSUING))?;
        let key = stored_key(&folder.join(ISSUING_KEY))?;
        let belongs = issued_by(&issuing, &authority_key(&root)?).is_ok() && authority_key(&issuing)? == key.public();
        if !belongs {
            return Err(AuthorityError::Mixed { folder: folder.to_owned() });
        }
        let until = validity(&issuing)?.until;
        Ok(Self { key, issuing_text, issuing, until, root_text, root })
    }

    /// What can be said of an authority without its keys.
    pub fn facts(folder: &Path) -> Result<AuthorityFacts, AuthorityError> {
        let (_, root) = stored(&folder.join(ROOT))?;
        let (_, issuing) = stored(&folder.join(ISSUING))?;
        let root_key = folder.join(ROOT_KEY);
        Ok(AuthorityFacts {
            fingerprint: fingerprint(&root),
            root_until: validity(&root)?.until,
            issuing_until: validity(&issuing)?.until,
            root_key: root_key.exists().then_some(root_key),
        })
    }

    /// Makes a new issuing certificate; the root's key must be in the folder. Certificates issued before stay good.
    pub fn renew(folder: &Path, which: IssuingKey, now: u64) -> Result<AuthorityFacts, AuthorityError> {
        let path = folder.join(ROOT_KEY);
        let root_key = match stored_key(&path) {
            Err(AuthorityError::File(error)) if error.is_missing() => return Err(AuthorityError::RootOffline { path }),
            other => other?,
        };
        let (_, root) = stored(&folder.join(ROOT))?;
        if authority_key(&root)? != root_key.public() {
            return Err(AuthorityError::Mixed { folder: folder.to_owned() });
        }
        let name = organisation(&root)?;
        let key = match which {
            IssuingKey::Keep => stored_key(&folder.join(ISSUING_KEY))?,
            IssuingKey::Fresh => fresh_key()?,
        };
        let issuing = issuing_certificate(&root_key, &root, &name, key.public(), now)?;
        if which == IssuingKey::Fresh {
            replace(&folder.join(ISSUING_KEY), key.pkcs8(), Readers::Owner)?;
        }
        replace(&folder.join(ISSUING), issuing.as_bytes(), Readers::All)?;
        Self::facts(folder)
    }

    /// A certificate for a party's key, good for `life` seconds or until the issuing certificate ends.
    pub fn issue(
        &self,
        role: PartyRole,
        name: &PartyName,
        key: &PublicKey,
        now: u64,
        life: u64,
    ) -> Result<IssuedCertificate, AuthorityError> {
        if now >= self.until {
            return Err(AuthorityError::Ended { which: "issuing", until: self.until });
        }
        let expires = now.saturating_add(life).min(self.until);
        let mut params = plain(name.as_str())?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        params.subject_alt_names = vec![uri(role, name)?];
        params.extended_key_usages = vec![match role {
            PartyRole::Site | PartyRole::Node | PartyRole::Viewer => ExtendedKeyUsagePurpose::ClientAuth,
            PartyRole::Server => ExtendedKeyUsagePurpose::ServerAuth,
        }];
        if role == PartyRole::Server {
            let host = SERVER_NAME.try_into().map_err(|_| CertificateError::Names)?;
            params.subject_alt_names.push(SanType::DnsName(host));
        }
        last(&mut params, now, expires)?;
        let issuer = Issuer::from_ca_cert_der(&self.issuing, Signer(&self.key)).map_err(unmade)?;
        let leaf = params.signed_by(&Subject(*key), &issuer).map_err(unmade)?;
        Ok(IssuedCertificate { chain: leaf.pem() + &self.issuing_text, expires })
    }

    /// The root's certificate.
    pub fn root(&self) -> &CertificateDer<'static> {
        &self.root
    }

    /// The root's certificate, in PEM.
    pub fn root_pem(&self) -> &str {
        &self.root_text
    }

    /// When the issuing certificate ends, in seconds since 1970. Nothing is issued after that.
    pub fn until(&self) -> u64 {
        self.until
    }
}

/// An issuing certificate for a key, in PEM.
fn issuing_certificate(
    root_key: &IdentityKey,
    root: &CertificateDer<'_>,
    name: &str,
    key: PublicKey,
    now: u64,
) -> Result<String, AuthorityError> {
    let until = validity(root)?.until;
    if now >= until {
        return Err(AuthorityError::Ended { which: "root", until });
    }
    let mut params = ca("issuing", name, 0)?;
    params.use_authority_key_identifier_extension = true;
    last(&mut params, now, now.saturating_add(ISSUING_LIFE).min(until))?;
    let issuer = Issuer::from_ca_cert_der(root, Signer(root_key)).map_err(unmade)?;
    Ok(params.signed_by(&Subject(key), &issuer).map_err(unmade)?.pem())
}

/// What the certificates of an authority have in common; `below` counts the authorities that may follow.
fn ca(which: &str, name: &str, below: u8) -> Result<CertificateParams, AuthorityError> {
    let mut params = plain(&format!("posterity {which}"))?;
    params.distinguished_name.push(DnType::OrganizationName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

/// A certificate of this name with a random number of 127 bits, and nothing else yet.
fn plain(name: &str) -> Result<CertificateParams, AuthorityError> {
    let mut serial = [0_u8; 16];
    getrandom::fill(&mut serial).map_err(|_| AuthorityError::Randomness)?;
    let [first, ..] = &mut serial;
    *first = *first & 0x7f | 0x40;
    let mut params = CertificateParams::default();
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

/// Sets from when until when a certificate is good.
fn last(params: &mut CertificateParams, now: u64, until: u64) -> Result<(), CertificateError> {
    let origin = rcgen::date_time_ymd(1970, 1, 1);
    let after = |seconds: u64| {
        let since = Duration::from_secs(seconds).try_into().ok()?;
        origin.checked_add(since)
    };
    params.not_before = after(now.saturating_sub(EARLY)).ok_or(CertificateError::Malformed)?;
    params.not_after = after(until).ok_or(CertificateError::Malformed)?;
    Ok(())
}

fn fresh_key() -> Result<IdentityKey, AuthorityError> {
    IdentityKey::generate().map_err(|_| AuthorityError::Randomness)
}

fn stored_key(path: &Path) -> Result<IdentityKey, AuthorityError> {
    let bytes = read_private(path)?;
    Ok(IdentityKey::from_pkcs8(&bytes).map_err(|_| CertificateError::Key)?)
}

/// The one certificate of a file, as text and as bytes.
fn stored(path: &Path) -> Result<(String, CertificateDer<'static>), AuthorityError> {
    let text = read_public(path)?;
    match <[_; 1]>::try_from(certificates(&text)?) {
        Ok([certificate]) => Ok((text, certificate)),
        Err(_) => Err(CertificateError::Malformed.into()),
    }
}

/// The name that an authority was given.
fn organisation(root: &[u8]) -> Result<String, CertificateError> {
    let (_, root) = x509_parser::parse_x509_certificate(root).map_err(|_| CertificateError::Malformed)?;
    let name = root.subject().iter_organization().next().and_then(|name| name.as_str().ok());
    Ok(name.ok_or(CertificateError::Malformed)?.to_owned())
}

fn unmade(_: rcgen::Error) -> CertificateError {
    CertificateError::Malformed
}
