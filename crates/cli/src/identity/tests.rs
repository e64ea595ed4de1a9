//! Invites, lists and revocations over a store in memory.

use super::arguments::{InviteArguments, RoleAsTyped};
use super::party::{InviteFormat, invite, list, meant, named, revoke};
use crate::failure::Failure;
use federation::coordinator::{Change, Header, SavedRun};
use federation::identity::{Authority, IdentityKey, Invite, PartyName, PartyRole, PublicKey};
use federation::log::{Position, RunId};
use federation::store::{History, InviteRow, PartyRow, Redemption, RunRow, ServerStore, StoreError};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Mutex;

const NOW: u64 = 1_790_000_000;

/// Invites and parties in memory; nothing else is asked of it.
#[derive(Default)]
struct InviteStore {
    invites: Mutex<Vec<InviteRow>>,
    parties: Mutex<Vec<PartyRow>>,
}

impl ServerStore for InviteStore {
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
        self.invites.lock().unwrap().push(invite.clone());
        Ok(())
    }

    fn redeem(&self, _: &[u8; 32], _: &[u8; 32], _: u64) -> Result<Redemption, StoreError> {
        unreachable!("nobody joins here")
    }

    fn enrol(&self, party: &PartyRow) -> Result<(), StoreError> {
        self.parties.lock().unwrap().push(party.clone());
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

/// An authority in a folder that goes with it.
struct TestAuthority(PathBuf);

impl TestAuthority {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-site-{}-{name}", std::process::id()));
        Authority::init(&path, &named("consortium").unwrap(), NOW).unwrap();
        Self(path)
    }

    fn asked(&self, name: &str, role: RoleAsTyped) -> InviteArguments {
        InviteArguments {
            name: name.into(),
            role,
            ca: self.0.clone(),
            store: "not opened here".into(),
            server: "server.example.org:8444".into(),
            valid: "24h".into(),
            quiet: false,
        }
    }
}

impl Drop for TestAuthority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn enrolled(store: &InviteStore, role: PartyRole, name: &str, expires: u64) {
    let key = IdentityKey::generate().unwrap().public();
    let name = named(name).unwrap();
    store.enrol(&PartyRow { role, name, key, sealing: None, expires, revoked: None }).unwrap();
}

#[test]
fn an_invite_is_shown_once_and_only_its_digest_is_kept() {
    let (room, store) = (TestAuthority::new("once"), InviteStore::default());
    let wanted = meant(&room.asked("hospital-a", RoleAsTyped::Node), NOW).unwrap();
    let text = invite(&store, &wanted, NOW, InviteFormat::Explained).unwrap();
    let read = Invite::parse(text.lines().next().unwrap()).unwrap();
    let facts = Authority::facts(&room.0).unwrap();
    assert_eq!((read.role, read.name.as_str(), read.root), (PartyRole::Node, "hospital-a", facts.fingerprint));
    assert_eq!(read.server.as_str(), "server.example.org:8444");
    let name = named("hospital-a").unwrap();
    let row = InviteRow { secret: read.secret.digest(), role: PartyRole::Node, name, expires: NOW + 86_400 };
    assert_eq!(*store.invites.lock().unwrap(), [row]);
    assert!(text.contains("2026-09-22 14:13 UTC"), "{text}");

    let wanted = meant(&room.asked("hospital-b", RoleAsTyped::Site), NOW).unwrap();
    let object: Value = serde_json::from_str(&invite(&store, &wanted, NOW, InviteFormat::Object).unwrap()).unwrap();
    let other = Invite::parse(object["invite"].as_str().unwrap()).unwrap();
    assert_ne!(other.secret, read.secret);
    assert_eq!((object["role"].as_str(), object["expires"].as_u64()), (Some("site"), Some(NOW + 86_400)));
}

#[test]
fn a_quiet_invite_is_its_line_alone() {
    let (room, store) = (TestAuthority::new("quiet"), InviteStore::default());
    let wanted = meant(&room.asked("hospital-a", RoleAsTyped::Site), NOW).unwrap();
    assert_eq!(InviteFormat::of(false, true), InviteFormat::Alone);
    let text = invite(&store, &wanted, NOW, InviteFormat::Alone).unwrap();
    assert_eq!((text.lines().count(), text.ends_with('\n')), (1, true), "{text}");
    assert_eq!(Invite::parse(text.trim_end()).unwrap().name.as_str(), "hospital-a");
    assert_eq!(InviteFormat::of(true, true), InviteFormat::Object, "an object has everything, quiet or not");
}

#[test]
fn a_name_that_somebody_holds_is_not_given_away() {
    let (room, store) = (TestAuthority::new("holds"), InviteStore::default());
    enrolled(&store, PartyRole::Site, "hospital-a", NOW + 1);
    let ask =
        |role, now| invite(&store, &meant(&room.asked("hospital-a", role), now).unwrap(), now, InviteFormat::Explained);
    let refused = ask(RoleAsTyped::Site, NOW).unwrap_err();
    assert_eq!(refused.code(), "F004");
    assert!(refused.hint().contains("site revoke hospital-a --role site"), "{}", refused.hint());
    assert!(store.invites.lock().unwrap().is_empty());
    ask(RoleAsTyped::Node, NOW).unwrap();
    ask(RoleAsTyped::Site, NOW + 2).unwrap(); // its certificate is over: it joins again with the key that it has
    store.revoke(PartyRole::Site, &named("hospital-a").unwrap(), NOW).unwrap();
    ask(RoleAsTyped::Site, NOW).unwrap();
}

#[test]
fn what_is_typed_is_checked_before_the_store_is_asked() {
    let room = TestAuthority::new("typed");
    let code = |change: fn(&mut InviteArguments), now| {
        let mut asked = room.asked("hospital-a", RoleAsTyped::Site);
        change(&mut asked);
        meant(&asked, now).map(|_| ()).map_err(|failure| failure.code())
    };
    assert_eq!(code(|_| {}, NOW), Ok(()));
    assert_eq!(code(|asked| asked.name = "a b".into(), NOW), Err("C001"));
    assert_eq!(code(|asked| asked.server = "host".into(), NOW), Err("C001"));
    assert_eq!(code(|asked| asked.valid = "1y".into(), NOW), Err("C001"));
    assert_eq!(code(|asked| asked.ca.push("nowhere"), NOW), Err("F001"));
    assert_eq!(code(|_| {}, NOW + 91 * 86_400), Err("F001"), "the issuing certificate is over");
}

#[test]
fn a_list_says_how_everybody_stands() {
    let store = InviteStore::default();
    assert!(list(&store, NOW, false).unwrap().contains("site invite"));
    enrolled(&store, PartyRole::Site, "hospital-a", NOW + 1);
    enrolled(&store, PartyRole::Site, "hospital-b", NOW - 1);
    enrolled(&store, PartyRole::Node, "node-1", NOW + 1);
    let (role, name) = (PartyRole::Node, named("node-1").unwrap());
    assert!(revoke(&store, role, &name, NOW, false).unwrap().contains("node-1 is revoked"));
    let again = revoke(&store, role, &name, NOW, false);
    assert!(matches!(again, Err(Failure::Party { .. })));
    let text = list(&store, NOW, false).unwrap();
    let ends: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(ends, ["standing", "good", "ended", "revoked"], "{text}");
    // One fingerprint: the digits that the party's own owner reads out.
    for row in store.parties.lock().unwrap().iter() {
        let read_out = federation::manifest::fingerprint(row.role, &row.key, row.sealing.as_ref());
        assert!(text.contains(&format!("  {read_out}  ")), "{read_out}: {text}");
    }
    assert!(text.lines().next().unwrap().contains("fingerprint"), "{text}");
    let object: Value = serde_json::from_str(&list(&store, NOW, true).unwrap()).unwrap();
    assert_eq!(object["parties"][2]["revoked"], NOW);
    assert_eq!(object["parties"][1]["standing"], "ended");
}
