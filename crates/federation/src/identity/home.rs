//! The folder of a party: its keys, which never leave it, its certificate, and where its server is.

use super::address::Address;
use super::authority::EARLY;
use super::certificate::{
    CertificateError, Peer, Validity, authority_key, certificates, fingerprint, issued_by, request, validity,
};
use super::file::{
    FileError, Readers, is_there, private_folder, read_private, read_public, remove, replace, write_new,
};
use super::key::IdentityKey;
use super::name::{PartyName, PartyRole};
use hpke::kem::{Kem as _, X25519HkdfSha256};
use hpke::{Deserializable as _, Serializable as _};
use privacy::noise::Digest;
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

const IDENTITY: &str = "identity.key";
const SEALING: &str = "sealing.key";
const NOISE: &str = "noise.key";
const CHAIN: &str = "chain.pem";
const ROOT: &str = "root.pem";
const SERVER: &str = "server";

/// Why the folder of a party cannot be used, or a certificate was not taken.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// A party lives there.
    #[error("{} already exists", path.display())]
    Exists {
        /// The file that was found.
        path: PathBuf,
    },
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key that this role needs is not there.
    #[error("{} is missing", path.display())]
    NoKey {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A file is not what was written.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The damaged file.
        path: PathBuf,
    },
    /// The party has no certificate yet.
    #[error("the party in {} has no certificate yet", folder.display())]
    NotJoined {
        /// The folder.
        folder: PathBuf,
    },
    /// The root is not the one of the invite.
    #[error("the server's root certificate is not the one in the invite")]
    OtherRoot,
    /// The certificate is for another key, name or role.
    #[error("the server sent a certificate for another key, name or role")]
    OtherParty,
    /// The certificate does not hold.
    #[error("the server sent a certificate that is not valid: {0}")]
    Certificate(#[from] CertificateError),
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes")]
    Randomness,
}

impl HomeError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Exists { .. } => "a party joins once: choose a new folder, or use the existing one".into(),
            Self::File(error) if error.is_missing() => "give the home folder of a party that has joined".into(),
            Self::File(error) => error.hint(),
            Self::NoKey { .. } | Self::Damaged { .. } => {
                "restore the file from a backup, or revoke the party and join with a new invite and a new home folder"
                    .into()
            }
            Self::NotJoined { .. } => "join with an invite first".into(),
            Self::OtherRoot | Self::OtherParty | Self::Certificate(_) => {
                "ask the server's operator; do not use this server until then".into()
            }
            Self::Randomness => "try again, or ask the administrator of the machine".into(),
        }
    }
}

/// A node's X25519 key: shares are encrypted to it.
pub struct SealingKey {
    secret: Zeroizing<[u8; 32]>,
    public: [u8; 32],
}

impl SealingKey {
    /// A key that was kept; none if it has another length.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let secret = Zeroizing::new(<[u8; 32]>::try_from(bytes).ok()?);
        let private = <X25519HkdfSha256 as hpke::Kem>::PrivateKey::from_bytes(secret.as_ref()).ok()?;
        let public = X25519HkdfSha256::sk_to_pk(&private).to_bytes().into();
        Some(Self { secret, public })
    }

    /// The secret bytes.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The public key.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey")
    }
}

/// What a party shows, and whom it talks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The party that the certificate names.
    pub party: Peer,
    /// Its certificate and the issuing one.
    pub chain: Vec<CertificateDer<'static>>,
    /// The root that it believes.
    pub root: CertificateDer<'static>,
    /// Where its server is.
    pub server: Address,
    /// From when until when its certificate is good.
    pub validity: Validity,
}

impl Credentials {
    /// Whether two thirds of the certificate's life are over.
    pub fn renewal_is_due(&self, now: u64) -> bool {
        let issued = self.validity.from.saturating_add(EARLY).min(self.validity.until);
        let life = self.validity.until.saturating_sub(issued);
        now >= issued.saturating_add(life.saturating_sub(life / 3))
    }
}

/// What a party was invited as, and by whom: a certificate must fit it.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedIdentity<'a> {
    /// SHA-256 of the root certificate.
    pub root: Digest,
    /// The role.
    pub role: PartyRole,
    /// The name.
    pub name: &'a PartyName,
}

/// A party's folder with its keys.
pub struct Home {
    folder: PathBuf,
    key: Arc<IdentityKey>,
    sealing: Option<Arc<SealingKey>>,
    noise: Option<Zeroizing<[u8; 32]>>,
}

impl Home {
    /// Whether a party lives in this folder; an error if that cannot be seen.
    pub fn is_in(folder: &Path) -> Result<bool, HomeError> {
        Ok(is_there(&folder.join(IDENTITY))?)
    }

    /// Removes the keys of a party that was made and never joined.
    pub fn discard(self) -> Result<(), HomeError> {
        for file in [IDENTITY, SEALING, NOISE] {
            remove(&self.folder.join(file))?;
        }
        Ok(())
    }

    /// Makes the keys of a new party: one to sign; a node's for shares; the secret of a site or a node for its noise.
    pub fn create(folder: &Path, role: PartyRole) -> Result<Self, HomeError> {
        private_folder(folder)?;
        let path = folder.join(IDENTITY);
        if path.exists() {
            return Err(HomeError::Exists { path });
        }
        let others: &[&str] = match role {
            PartyRole::Site => &[NOISE],
            PartyRole::Node => &[SEALING, NOISE],
            PartyRole::Server | PartyRole::Viewer => &[],
        };
        for file in others {
            let mut bytes = Zeroizing::new([0_u8; 32]);
            getrandom::fill(bytes.as_mut()).map_err(|_| HomeError::Randomness)?;
            replace(&folder.join(file), bytes.as_ref(), Readers::Owner)?;
        }
        let key = IdentityKey::generate().map_err(|_| HomeError::Randomness)?;
        write_new(&path, key.pkcs8(), Readers::Owner)?;
        Self::open(folder)
    }

    /// Opens a folder; a key that others can read is refused.
    pub fn open(folder: &Path) -> Result<Self, HomeError> {
        let path = folder.join(IDENTITY);
        let key = IdentityKey::from_pkcs8(&read_private(&path)?).map_err(|_| HomeError::Damaged { path })?;
        let (sealing, noise) = (optional(&folder.join(SEALING))?, optional(&folder.join(NOISE))?);
        let sealing = sealing.and_then(|bytes| SealingKey::of_bytes(bytes.as_ref())).map(Arc::new);
        Ok(Self { folder: folder.to_owned(), key: Arc::new(key), sealing, noise })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The key that signs.
    pub fn key(&self) -> &Arc<IdentityKey> {
        &self.key
    }

    /// A node's key for shares.
    pub fn sealing(&self) -> Result<&Arc<SealingKey>, HomeError> {
        self.sealing.as_ref().ok_or_else(|| HomeError::NoKey { path: self.folder.join(SEALING) })
    }

    /// The secret of a site or a node for its noise.
    pub fn noise_secret(&self) -> Result<&Zeroizing<[u8; 32]>, HomeError> {
        self.noise.as_ref().ok_or_else(|| HomeError::NoKey { path: self.folder.join(NOISE) })
    }

    /// A request for a certificate, always the same for the same role and name.
    pub fn request(&self, role: PartyRole, name: &PartyName) -> Result<Vec<u8>, HomeError> {
        Ok(request(&self.key, role, name)?)
    }

    /// Keeps the first certificate, after a look whether it is the expected one; and where the server is.
    pub fn joined(
        &self,
        expected: ExpectedIdentity<'_>,
        chain: &str,
        root: &str,
        server: &Address,
    ) -> Result<Credentials, HomeError> {
        let anchor = single(root)?;
        if fingerprint(&anchor) != expected.root {
            return Err(HomeError::OtherRoot);
        }
        let party = self.party(chain, &anchor)?;
        if (party.role, &party.name) != (expected.role, expected.name) {
            return Err(HomeError::OtherParty);
        }
        replace(&self.folder.join(ROOT), root.as_bytes(), Readers::All)?;
        replace(&self.folder.join(SERVER), server.as_str().as_bytes(), Readers::All)?;
        replace(&self.folder.join(CHAIN), chain.as_bytes(), Readers::All)?;
        self.credentials()
    }

    /// Keeps a renewed certificate: of the same root, key, role and name.
    pub fn renewed(&self, chain: &str) -> Result<Credentials, HomeError> {
        let credentials = self.credentials()?;
        let party = self.party(chain, &credentials.root)?;
        if (party.role, &party.name) != (credentials.party.role, &credentials.party.name) {
            return Err(HomeError::OtherParty);
        }
        replace(&self.folder.join(CHAIN), chain.as_bytes(), Readers::All)?;
        self.credentials()
    }

    /// What was kept when the party joined.
    pub fn credentials(&self) -> Result<Credentials, HomeError> {
        let text = match read_public(&self.folder.join(CHAIN)) {
            Err(error) if error.is_missing() => return Err(HomeError::NotJoined { folder: self.folder.clone() }),
            other => other?,
        };
        let path = self.folder.join(SERVER);
        let server = Address::new(read_public(&path)?.trim()).map_err(|_| HomeError::Damaged { path })?;
        let root = single(&read_public(&self.folder.join(ROOT))?)?;
        let party = self.party(&text, &root)?;
        let chain = certificates(&text)?;
        let validity = validity(chain.first().ok_or(CertificateError::Missing)?)?;
        Ok(Credentials { party, chain, root, server, validity })
    }

    /// The party of a chain of two that leads to this root and is for our key.
    fn party(&self, chain: &str, root: &CertificateDer<'_>) -> Result<Peer, HomeError> {
        let chain = certificates(chain)?;
        let [leaf, issuing] = chain.as_slice() else { return Err(CertificateError::Malformed.into()) };
        issued_by(issuing, &authority_key(root)?)?;
        issued_by(leaf, &authority_key(issuing)?)?;
        let party = Peer::of_der(leaf)?;
        if party.key != self.key.public() {
            return Err(HomeError::OtherParty);
        }
        Ok(party)
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Home({}, {:?})", self.folder.display(), self.key)
    }
}

/// The one certificate of a text.
fn single(pem: &str) -> Result<CertificateDer<'static>, CertificateError> {
    let [certificate] = <[_; 1]>::try_from(certificates(pem)?).map_err(|_| CertificateError::Malformed)?;
    Ok(certificate)
}

/// A secret of 32 bytes, if there is one.
fn optional(path: &Path) -> Result<Option<Zeroizing<[u8; 32]>>, HomeError> {
    match read_private(path) {
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
        Ok(bytes) => match <[u8; 32]>::try_from(bytes.as_slice()) {
            Ok(secret) => Ok(Some(Zeroizing::new(secret))),
            Err(_) => Err(HomeError::Damaged { path: path.to_owned() }),
        },
    }
}
