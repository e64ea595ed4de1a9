//! How tests of identities get folders, authorities and a store.

mod authority;
mod enrol;
mod handshake;
mod home;

use super::*;
use crate::coordinator::{Change, Header, SavedRun};
use crate::log::{Position, RunId};
use crate::store::{History, InviteRow, PartyRow, Redemption, RunRow, ServerStore, StoreError};
use privacy::noise::Digest;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Some second of 2026.
const NOW: u64 = 1_790_000_000;
const DAY: u64 = 24 * 3600;

/// A folder of one test's own, gone when it goes.
struct TestFolders(PathBuf);

impl TestFolders {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("posterity-identity-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A folder in it that is not there yet.
    fn folder(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// An authority in a new folder, of the same name.
    fn authority(&self, folder: &str, now: u64) -> Authority {
        self.namesake(folder, folder, now)
    }

    /// An authority in a new folder, under any name.
    fn namesake(&self, folder: &str, called: &str, now: u64) -> Authority {
        Authority::init(&self.folder(folder), &name(called), now).unwrap();
        Authority::open(&self.folder(folder)).unwrap()
    }
}

impl Drop for TestFolders {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn name(text: &str) -> PartyName {
    PartyName::new(text).unwrap()
}

/// Invites and parties in memory; runs are not asked of it.
#[derive(Default)]
struct PartyStore {
    invites: Mutex<Vec<(InviteRow, Option<Digest>)>>,
    parties: Mutex<Vec<PartyRow>>,
}

impl ServerStore for PartyStore {
    fn create(&self, _: &RunRow, _: &SavedRun) -> Result<(), StoreError> {
        unreachable!("no runs here")
    }

    fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        unreachable!("no runs here")
    }

    fn version(&self, _: &RunId) -> Result<u64, StoreError> {
        unreachable!("no runs here")
    }

    fn load(&self, _: &RunId) -> Result<SavedRun, StoreError> {
        unreachable!("no runs here")
    }

    fn commit(&self, _: &RunId, _: u64, _: &Header, _: &Change) -> Result<u64, StoreError> {
        unreachable!("no runs here")
    }

    fn history(&self, _: &RunId) -> Result<History, StoreError> {
        unreachable!("no runs here")
    }

    fn head(&self, _: &PublicKey) -> Result<Option<Position>, StoreError> {
        unreachable!("no runs here")
    }

    fn invite(&self, invite: &InviteRow) -> Result<(), StoreError> {
        self.invites.lock().unwrap().push((invite.clone(), None));
        Ok(())
    }

    fn redeem(&self, secret: &Digest, request: &Digest, now: u64) -> Result<Redemption, StoreError> {
        let mut invites = self.invites.lock().unwrap();
        let Some((invite, used)) = invites.iter_mut().find(|(invite, _)| invite.secret == *secret) else {
            return Ok(Redemption::Unknown);
        };
        match used {
            Some(other) if other != request => Ok(Redemption::Used),
            _ if now > invite.expires => Ok(Redemption::Expired),
            _ => {
                *used = Some(*request);
                Ok(Redemption::Good(invite.clone()))
            }
        }
    }

    fn enrol(&self, party: &PartyRow) -> Result<(), StoreError> {
        let mut parties = self.parties.lock().unwrap();
        parties.retain(|row| (row.role, &row.name) != (party.role, &party.name));
        parties.push(party.clone());
        Ok(())
    }

    fn parties(&self) -> Result<Vec<PartyRow>, StoreError> {
        Ok(self.parties.lock().unwrap().clone())
    }

    fn revoke(&self, role: PartyRole, name: &PartyName, now: u64) -> Result<bool, StoreError> {
        let mut parties = self.parties.lock().unwrap();
        let found = parties.iter_mut().find(|row| row.role == role && row.name == *name && row.revoked.is_none());
        Ok(found.map(|row| row.revoked = Some(now)).is_some())
    }
}
