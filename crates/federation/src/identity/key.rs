//! Ed25519 keys that sign what a party says. The key of a party is that of its certificate, and never leaves it.

use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

/// An Ed25519 signature.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature(Vec<u8>);

/// A signature that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not fit")]
pub struct SignatureError;

/// A party's own key.
pub struct IdentityKey {
    pair: Ed25519KeyPair,
    pkcs8: Zeroizing<Vec<u8>>,
    public: PublicKey,
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

impl IdentityKey {
    /// A fresh key.
    pub fn generate() -> Result<Self, SignatureError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| SignatureError)?;
        Self::from_pkcs8(document.as_ref())
    }

    /// A key that was kept.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, SignatureError> {
        let pair = Ed25519KeyPair::from_pkcs8(bytes).map_err(|_| SignatureError)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| SignatureError)?;
        Ok(Self { pair, pkcs8: Zeroizing::new(bytes.to_vec()), public: PublicKey(public) })
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
        self.pair.sign(content).as_ref().to_vec()
    }

    /// Signs, for a purpose.
    pub fn sign(&self, domain: &str, content: &[u8]) -> Signature {
        Signature(self.pair.sign(&bound(domain, content)).as_ref().to_vec())
    }
}

impl PublicKey {
    /// Refuses a signature that is not of this key over this content for this purpose.
    pub fn verify(&self, domain: &str, content: &[u8], signature: &Signature) -> Result<(), SignatureError> {
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        key.verify(&bound(domain, content), &signature.0).map_err(|_| SignatureError)
    }

    /// The first bytes, for people.
    pub fn short(&self) -> String {
        self.0.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
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
