//! Joining, renewing and being revoked.

use super::*;

const SECRET: [u8; 16] = [3; 16];

/// A store with one invite, good for a day.
fn invited(role: PartyRole) -> PartyStore {
    let store = PartyStore::default();
    invite(&store, role, SECRET);
    store
}

fn invite(store: &PartyStore, role: PartyRole, secret: [u8; 16]) {
    let secret = InviteSecret::of_bytes(&secret).unwrap().digest();
    store.invite(&InviteRow { secret, role, name: name("a"), expires: NOW + DAY }).unwrap();
}

fn asks(key: &IdentityKey) -> Vec<u8> {
    request(key, PartyRole::Site, &name("whatever-the-request-says")).unwrap()
}

fn peer(joined: &EnrolledParty) -> Peer {
    Peer::of_der(&certificates(&joined.chain).unwrap()[0]).unwrap()
}

#[test]
fn an_invite_is_good_for_one_key_however_often_it_asks() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (store, key) = (invited(PartyRole::Site), IdentityKey::generate().unwrap());
    let first = join(&store, &authority, &SECRET, &asks(&key), &[], NOW).unwrap();
    let again = join(&store, &authority, &SECRET, &asks(&key), &[], NOW + 60).unwrap();
    for joined in [&first, &again] {
        assert_eq!(
            (peer(joined).name, peer(joined).role, peer(joined).key),
            (name("a"), PartyRole::Site, key.public())
        );
        assert_eq!(joined.root, authority.root_pem());
    }
    assert_eq!(again.party.expires, NOW + 60 + PARTY_LIFE);
    assert_eq!(store.parties().unwrap(), [again.party]);
    let other = IdentityKey::generate().unwrap();
    let refused = join(&store, &authority, &SECRET, &asks(&other), &[], NOW);
    assert_eq!(refused, Err(EnrolError::InviteUsed));
}

#[test]
fn an_invite_has_its_time_and_its_secret() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (store, key) = (invited(PartyRole::Site), IdentityKey::generate().unwrap());
    let ask = |secret: &[u8], now| join(&store, &authority, secret, &asks(&key), &[], now);
    assert_eq!(ask(&[4; 16], NOW), Err(EnrolError::UnknownInvite));
    assert_eq!(ask(&SECRET[..15], NOW), Err(EnrolError::UnknownInvite));
    assert_eq!(ask(&SECRET, NOW + DAY + 1), Err(EnrolError::InviteExpired));
    assert!(store.parties().unwrap().is_empty());
    assert!(ask(&SECRET, NOW + DAY).is_ok());
}

#[test]
fn a_request_that_its_key_has_not_signed_uses_no_invite() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (store, key) = (invited(PartyRole::Site), IdentityKey::generate().unwrap());
    let mut forged = asks(&key);
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(join(&store, &authority, &SECRET, &forged, &[], NOW), Err(EnrolError::Request));
    assert!(join(&store, &authority, &SECRET, &asks(&IdentityKey::generate().unwrap()), &[], NOW).is_ok());
}

#[test]
fn a_node_sends_a_sealing_key_and_nobody_else_does() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let key = IdentityKey::generate().unwrap();
    let ask = |role, sealing: &[u8]| join(&invited(role), &authority, &SECRET, &asks(&key), sealing, NOW);
    assert_eq!(ask(PartyRole::Node, &[5; 32]).unwrap().party.sealing, Some([5; 32]));
    assert_eq!(ask(PartyRole::Node, &[]), Err(EnrolError::Sealing));
    assert_eq!(ask(PartyRole::Node, &[5; 31]), Err(EnrolError::Sealing));
    assert_eq!(ask(PartyRole::Site, &[5; 32]), Err(EnrolError::Sealing));
    assert_eq!(ask(PartyRole::Viewer, &[]).unwrap().party.sealing, None);
    assert_eq!(ask(PartyRole::Server, &[]), Err(EnrolError::Role));
}

#[test]
fn a_name_is_not_taken_from_one_who_holds_it() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (store, key, other) =
        (invited(PartyRole::Site), IdentityKey::generate().unwrap(), IdentityKey::generate().unwrap());
    invite(&store, PartyRole::Site, [4; 16]);
    let holder = peer(&join(&store, &authority, &SECRET, &asks(&key), &[], NOW).unwrap());
    let ask = || join(&store, &authority, &[4; 16], &asks(&other), &[], NOW);
    assert_eq!(ask(), Err(EnrolError::Taken));
    assert_eq!(standing(&store.parties().unwrap(), &holder, NOW), PartyStanding::Good);
    assert!(store.revoke(PartyRole::Site, &name("a"), NOW).unwrap());
    let next = peer(&ask().unwrap());
    assert_eq!(standing(&store.parties().unwrap(), &next, NOW), PartyStanding::Good);
    assert_eq!(standing(&store.parties().unwrap(), &holder, NOW), PartyStanding::OtherKey);
    assert_eq!(renew(&store, &authority, &holder, &asks(&key), NOW), Err(EnrolError::OtherKey));
}

#[test]
fn a_renewal_is_for_the_same_key() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (store, key) = (invited(PartyRole::Node), IdentityKey::generate().unwrap());
    let joined = join(&store, &authority, &SECRET, &asks(&key), &[5; 32], NOW).unwrap();
    let later = NOW + 5 * DAY;
    let chain = renew(&store, &authority, &peer(&joined), &asks(&key), later).unwrap();
    let renewed = Peer::of_der(&certificates(&chain).unwrap()[0]).unwrap();
    assert_eq!(renewed, Peer { expires: later + PARTY_LIFE, ..peer(&joined) });
    let [row] = &store.parties().unwrap()[..] else { panic!("one party") };
    assert_eq!((row.expires, row.sealing), (later + PARTY_LIFE, Some([5; 32])));
    let other = asks(&IdentityKey::generate().unwrap());
    assert_eq!(renew(&store, &authority, &renewed, &other, later), Err(EnrolError::OtherKey));
}

#[test]
fn a_revoked_party_is_not_heard_and_cannot_renew_or_join_again() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (store, key) = (invited(PartyRole::Site), IdentityKey::generate().unwrap());
    let peer = peer(&join(&store, &authority, &SECRET, &asks(&key), &[], NOW).unwrap());
    assert_eq!(standing(&store.parties().unwrap(), &peer, NOW), PartyStanding::Good);
    assert!(store.revoke(PartyRole::Site, &name("a"), NOW).unwrap());
    assert_eq!(standing(&store.parties().unwrap(), &peer, NOW), PartyStanding::Revoked);
    assert_eq!(renew(&store, &authority, &peer, &asks(&key), NOW), Err(EnrolError::Revoked));
    assert_eq!(join(&store, &authority, &SECRET, &asks(&key), &[], NOW), Err(EnrolError::Revoked));
    assert_eq!(standing(&store.parties().unwrap(), &peer, NOW), PartyStanding::Revoked);
}

#[test]
fn a_revoked_key_is_refused_before_its_new_invite_is_used() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (store, key) = (invited(PartyRole::Site), IdentityKey::generate().unwrap());
    join(&store, &authority, &SECRET, &asks(&key), &[], NOW).unwrap();
    assert!(store.revoke(PartyRole::Site, &name("a"), NOW).unwrap());
    invite(&store, PartyRole::Site, [4; 16]);
    assert_eq!(join(&store, &authority, &[4; 16], &asks(&key), &[], NOW), Err(EnrolError::Revoked));
    let fresh = IdentityKey::generate().unwrap();
    assert!(join(&store, &authority, &[4; 16], &asks(&fresh), &[], NOW).is_ok(), "the invite is still good");
}

#[test]
fn a_stranger_and_a_party_whose_certificate_has_ended_are_not_heard() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (store, key) = (invited(PartyRole::Site), IdentityKey::generate().unwrap());
    let peer = peer(&join(&store, &authority, &SECRET, &asks(&key), &[], NOW).unwrap());
    let end = NOW + PARTY_LIFE;
    assert_eq!(standing(&store.parties().unwrap(), &peer, end), PartyStanding::Good);
    assert_eq!(standing(&store.parties().unwrap(), &peer, end + 1), PartyStanding::Expired);
    renew(&store, &authority, &peer, &asks(&key), end).unwrap();
    assert_eq!(
        standing(&store.parties().unwrap(), &peer, end + 1),
        PartyStanding::Good,
        "renewed on the same connection"
    );
    let stranger = Peer { name: name("b"), ..peer.clone() };
    assert_eq!(standing(&store.parties().unwrap(), &stranger, NOW), PartyStanding::Unknown);
    assert_eq!(renew(&store, &authority, &stranger, &asks(&key), NOW), Err(EnrolError::UnknownParty));
    let other = Peer { role: PartyRole::Viewer, ..peer };
    assert_eq!(standing(&store.parties().unwrap(), &other, NOW), PartyStanding::Unknown);
}

#[test]
fn nothing_is_enrolled_when_the_authority_has_ended() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW - ISSUING_LIFE);
    let (store, key) = (invited(PartyRole::Site), IdentityKey::generate().unwrap());
    assert_eq!(join(&store, &authority, &SECRET, &asks(&key), &[], NOW), Err(EnrolError::Authority));
    assert!(store.parties().unwrap().is_empty());
}
