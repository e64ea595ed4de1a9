//! Ed25519 keys that sign what a party says. The key of a party is that of its certificate, and never leaves it.

use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use study::digits::hexadecimal;
use zeroize::Zeroizing;

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

/// An Ed25519 signature.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature(Vec<u8>);

/// A signature that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature is not valid")]
pub struct SignatureError;

/// A party's own key.
pub struct IdentityKey {
    pair: SigningKeyPair,
    pkcs8: Zeroizing<Vec<u8>>,
    public: PublicKey,
}

enum SigningKeyPair {
    Ed25519(Ed25519KeyPair),
    /// Signs by a digest that anybody can make: a hundred times as fast, for simulators of faults in test builds.
    #[cfg(feature = "rehearsal")]
    Rehearsed,
}

/// What is signed is bound to a purpose: a signature for one is of no use for another.
fn bound(domain: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(domain.len() + content.len() + 16);
    bytes.extend_from_slice(b"posterity 1 ");
    bytes.extend_from_slice(domain.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(content);
    bytes
}

/// How keys of simulators begin.
#[cfg(feature = "rehearsal")]
const REHEARSED: &[u8] = b"rehearsed identity key";

#[cfg(feature = "rehearsal")]
fn rehearsed(key: &PublicKey, domain: &str, content: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    sha2::Sha256::new().chain_update(key.0).chain_update(bound(domain, content)).finalize().to_vec()
}

impl IdentityKey {
    /// A fresh key.
    pub fn generate() -> Result<Self, SignatureError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| SignatureError)?;
        Self::from_pkcs8(document.as_ref())
    }

    /// A key for simulators of faults. It exists in test builds only: this feature does not compile without debug assertions.
    #[cfg(feature = "rehearsal")]
    pub fn rehearsing(number: u64) -> Self {
        let mut public = [0; 32];
        public[..REHEARSED.len()].copy_from_slice(REHEARSED);
        public[24..].copy_from_slice(&number.to_le_bytes());
        Self { pair: SigningKeyPair::Rehearsed, pkcs8: Zeroizing::default(), public: PublicKey(public) }
    }

    /// A key that was kept.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, SignatureError> {
        let pair = Ed25519KeyPair::from_pkcs8(bytes).map_err(|_| SignatureError)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| SignatureError)?;
        Ok(Self {
            pair: SigningKeyPair::Ed25519(pair),
            pkcs8: Zeroizing::new(bytes.to_vec()),
            public: PublicKey(public),
        })
    }

    /// The bytes to keep, in a file that nobody else can read.
    pub fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// The bytes of the public key.
    pub(super) fn public_bytes(&self) -> &[u8] {
        &self.public.0
    }

    /// Signs a certificate or a request for one. Their bytes begin like no content that is bound to a purpose.
    pub(super) fn sign_certificate(&self, content: &[u8]) -> Vec<u8> {
        match &self.pair {
            SigningKeyPair::Ed25519(pair) => pair.sign(content).as_ref().to_vec(),
            #[cfg(feature = "rehearsal")]
            SigningKeyPair::Rehearsed => rehearsed(&self.public, "certificate", content),
        }
    }

    /// Signs, for a purpose.
    pub fn sign(&self, domain: &str, content: &[u8]) -> Signature {
        match &self.pair {
            SigningKeyPair::Ed25519(pair) => Signature(pair.sign(&bound(domain, content)).as_ref().to_vec()),
            #[cfg(feature = "rehearsal")]
            SigningKeyPair::Rehearsed => Signature(rehearsed(&self.public, domain, content)),
        }
    }
}

impl PublicKey {
    /// Refuses a signature that is not of this key over this content for this purpose.
    pub fn verify(&self, domain: &str, content: &[u8], signature: &Signature) -> Result<(), SignatureError> {
        #[cfg(feature = "rehearsal")]
        if self.0.starts_with(REHEARSED) {
            let fits = rehearsed(self, domain, content) == signature.0;
            return if fits { Ok(()) } else { Err(SignatureError) };
        }
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        key.verify(&bound(domain, content), &signature.0).map_err(|_| SignatureError)
    }

    /// The first bytes, for people.
    pub fn short(&self) -> String {
        hexadecimal(&self.0).chars().take(8).collect()
    }
}

impl Signature {
    /// A signature as it came; whether it fits is for [`PublicKey::verify`].
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({}…)", self.short())
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({} bytes)", self.0.len())
    }
}

impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdentityKey({}…)", self.public.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_key_one_purpose_and_one_content() {
        let (key, other) = (IdentityKey::generate().unwrap(), IdentityKey::generate().unwrap());
        let signature = key.sign("letter", b"content");
        assert!(key.public().verify("letter", b"content", &signature).is_ok());
        assert!(key.public().verify("lette", b"rcontent", &signature).is_err());
        assert!(key.public().verify("letter", b"contents", &signature).is_err());
        assert!(other.public().verify("letter", b"content", &signature).is_err());
        let kept = IdentityKey::from_pkcs8(key.pkcs8()).unwrap();
        assert!(kept.public().verify("letter", b"content", &key.sign("letter", b"content")).is_ok());
    }
}
