//! Descriptions: what a study may say about a method or a model, stated once, by the file that
//! defines it.
//!
//! A [`Descriptor`] has a name, a sentence, the keys that a study may set ([`Key`]), the limits
//! ([`Limits`]) and the function that reads the keys. Readers, hints, `check`, the reference of the
//! guide and JSON Schemas are made from it. Settings themselves stay typed structs, private to their
//! files.
//!
//! - A [`Key`] says which values it takes ([`ValueKind`]) and what holds without it ([`Otherwise`]).
//! - A [`Registry`] lists the descriptors. `Registry::standard().with(&MINE)` adds one.
//! - [`validate`] compares a table with its keys and finds everything that is wrong with it at once.
//! - [`Keys`] then reads values whose kind and range are known to be right.
//! - [`Limits`] state with which schedules, aggregators, units, families and models a part goes, and
//!   why not with others. One function checks them for every method.
//! - A [`Conflict`] is a refusal: the key, a stable code, what was found, and a hint. Hints name keys
//!   and meanings. A command line adds file and line.

mod conflict;
mod key;
mod limits;
mod own_numbers;
mod reading;
mod registry;
mod validate;

pub use conflict::{Conflict, NOT_TOGETHER, PRIVACY_OR_NOT, STRAY, UNKNOWN, UNREADABLE, VALUE};
pub use key::{Key, Otherwise, ValueKind};
pub(crate) use limits::fits;
pub use limits::{ANY_UNIT, Allowed, Limits, Need, Offer, Pacing, PrivacyNeed, TrustedParty};
pub use own_numbers::{AT_OWN_GATES, OwnNumber};
pub use reading::{Keys, Reading};
pub(crate) use registry::resolve;
pub use registry::{Descriptor, Entry, EntrySummary, Registered, Registry};
pub use validate::validate;

use crate::RunError;
use crate::algorithm::encode;
use serde::Serialize;

/// Settings with canonical bytes, by which runs are told apart and costs are found again.
pub trait Canonical {
    /// The bytes.
    fn canonical(&self) -> Result<Vec<u8>, RunError>;
}

impl<T: Serialize> Canonical for T {
    fn canonical(&self) -> Result<Vec<u8>, RunError> {
        encode(self, "settings")
    }
}
