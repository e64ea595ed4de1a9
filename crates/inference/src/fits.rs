//! Fits of rows in one place, each made once: seeds that share a split, and partitions of the same rows, share them.

use crate::fit::Fitted;
use privacy::noise::Digest;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Fits by what they are of. Whoever asks for one that is being made waits for it.
#[derive(Default)]
pub struct Fits(Mutex<BTreeMap<Digest, FitSlot>>);

/// Where a fit is, or comes to be.
type FitSlot = Arc<OnceLock<Option<Fitted>>>;

impl Fits {
    /// The fit of this key, made now if it is not there. A fit that cannot be made is none for all who ask.
    pub(crate) fn of(&self, key: Digest, make: impl FnOnce() -> Option<Fitted>) -> Option<Fitted> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        place.get_or_init(make).clone()
    }

    /// How many different fits were asked for.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True before the first.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Fits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fits({})", self.len())
    }
}

/// The key of a fit: a digest of everything that it follows from. Slots are places of rows in the source, in order.
pub(crate) fn key(source: Digest, settings: &str, width: usize, slots: &[u64]) -> Digest {
    let mut digest = Sha256::new().chain_update(source).chain_update((settings.len() as u64).to_le_bytes());
    digest.update(settings);
    digest.update((width as u64).to_le_bytes());
    slots.iter().for_each(|slot| digest.update(slot.to_le_bytes()));
    digest.finalize().into()
}
