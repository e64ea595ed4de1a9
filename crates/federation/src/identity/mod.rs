//! Who is who: names and roles, keys that sign, certificates that say which key is whose, and the authority that issues them.

mod key;
mod name;

pub use key::{IdentityKey, PublicKey, Signature, SignatureError};
pub use name::{PartyName, Role};
