//! The owners of a world's sites and nodes.

use super::super::study::cap;
use federation::log::Account;
use federation::manifest::{Manifest, RunParts};
use federation::party::{NodeOwner, SiteOwner, Verdict};
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use privacy::{LifetimeCap, PrivacyError, PromisePair};
use std::sync::Arc;

/// A site that signs everything.
pub(super) struct RowsOwner {
    pub(super) shard: Arc<Shard>,
    pub(super) seed: u64,
    /// The relation and the unit of what was proposed last.
    pub(super) pair: PromisePair,
}

impl SiteOwner for RowsOwner {
    fn consider(&mut self, _: &Manifest, parts: &RunParts, site: usize, _: &Account) -> Verdict {
        self.pair = parts.pair(site).unwrap();
        Verdict::Sign
    }
    fn cap(&self, _: &Account) -> Result<LifetimeCap, PrivacyError> {
        Ok(cap(self.pair))
    }
    fn rows(&mut self, _: &Manifest, _: &RunParts, _: usize) -> Result<(Arc<Shard>, Digest), String> {
        Ok((self.shard.clone(), [1; 32]))
    }
    fn noise(&mut self) -> OsKeyed {
        noise(self.seed)
    }
}

/// The noise of a world: the seed's, where the build allows that.
#[cfg(feature = "rehearsal")]
fn noise(seed: u64) -> OsKeyed {
    OsKeyed::rehearsing(seed)
}

/// The noise of a world: the system's.
#[cfg(not(feature = "rehearsal"))]
fn noise(seed: u64) -> OsKeyed {
    OsKeyed::new([seed as u8; 32])
}

/// A node that signs everything.
pub(super) struct WillingNode(pub(super) u64);

impl NodeOwner for WillingNode {
    fn consider(&mut self, _: &Manifest) -> Verdict {
        Verdict::Sign
    }
    fn noise(&mut self) -> OsKeyed {
        noise(self.0)
    }
}
