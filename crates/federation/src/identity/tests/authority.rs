//! The authority: what it makes, when it refuses.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_authority_is_made_once_and_its_keys_are_for_its_owner() {
    let folders = TestFolders::new();
    let folder = folders.folder("ca");
    let facts = Authority::init(&folder, &name("consortium"), NOW).unwrap();
    assert_eq!((facts.root_until, facts.issuing_until), (NOW + ROOT_LIFE, NOW + ISSUING_LIFE));
    assert_eq!(mode(folder.clone()), 0o700);
    assert_eq!(["root.key", "issuing.key"].map(|file| mode(folder.join(file))), [0o600; 2]);
    let again = Authority::init(&folder, &name("consortium"), NOW);
    assert!(matches!(again, Err(AuthorityError::Exists { .. })), "{again:?}");
    assert_eq!(Authority::facts(&folder).unwrap(), facts);
}

#[test]
fn the_root_key_is_needed_only_to_renew() {
    let folders = TestFolders::new();
    let folder = folders.folder("ca");
    folders.authority("ca", NOW);
    let (key, away) = (folder.join("root.key"), folders.folder("safe"));
    fs::rename(&key, &away).unwrap();
    let authority = Authority::open(&folder).unwrap();
    assert!(Authority::facts(&folder).unwrap().root_key.is_none());
    let later = NOW + 80 * DAY;
    let refused = Authority::renew(&folder, IssuingKey::Keep, later).unwrap_err();
    assert!(matches!(refused, AuthorityError::RootOffline { .. }), "{refused}");

    fs::rename(&away, &key).unwrap();
    for which in [IssuingKey::Keep, IssuingKey::Fresh] {
        let facts = Authority::renew(&folder, which, later).unwrap();
        assert_eq!(facts.issuing_until, later + ISSUING_LIFE);
        let renewed = Authority::open(&folder).unwrap();
        assert_eq!((renewed.root(), renewed.until()), (authority.root(), later + ISSUING_LIFE));
    }
    assert_eq!(mode(folder.join("issuing.key")), 0o600);
}

#[test]
fn a_certificate_ends_no_later_than_the_one_that_signed_it() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let key = IdentityKey::generate().unwrap().public();
    let issued = |now| authority.issue(PartyRole::Site, &name("a"), &key, now, PARTY_LIFE);
    assert_eq!(issued(NOW).unwrap().expires, NOW + PARTY_LIFE);
    assert_eq!(issued(NOW + 88 * DAY).unwrap().expires, NOW + ISSUING_LIFE);
    let late = issued(NOW + ISSUING_LIFE).unwrap_err();
    assert!(late.hint().contains("renew the authority"), "{late}");
    let root = Authority::renew(&folders.folder("ca"), IssuingKey::Keep, NOW + ROOT_LIFE).unwrap_err();
    assert!(matches!(root, AuthorityError::Ended { which: "root", .. }));
}

#[test]
fn a_certificate_says_who_it_is_for() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    for role in PartyRole::ALL {
        let key = IdentityKey::generate().unwrap().public();
        let issued = authority.issue(role, &name("hospital-a"), &key, NOW, PARTY_LIFE).unwrap();
        let chain = certificates(&issued.chain).unwrap();
        assert_eq!(chain.len(), 2);
        let peer = Peer { role, name: name("hospital-a"), key, expires: NOW + PARTY_LIFE };
        assert_eq!(Peer::of_der(&chain[0]), Ok(peer));
        assert_eq!(validity(&chain[0]).unwrap().from, NOW - 3600);
        assert_eq!(Peer::of_der(&chain[1]), Err(CertificateError::Authority));
    }
}

#[test]
fn serial_numbers_differ() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let key = IdentityKey::generate().unwrap().public();
    let issue = || authority.issue(PartyRole::Site, &name("a"), &key, NOW, PARTY_LIFE).unwrap().chain;
    let (one, other) = (certificates(&issue()).unwrap(), certificates(&issue()).unwrap());
    let serial = |der: &[u8]| x509_parser::parse_x509_certificate(der).unwrap().1.raw_serial().to_vec();
    assert_eq!(serial(&one[0]).len(), 16);
    assert_ne!(serial(&one[0]), serial(&other[0]));
}

#[test]
fn files_of_two_authorities_are_not_mixed() {
    let folders = TestFolders::new();
    folders.authority("one", NOW);
    folders.authority("other", NOW);
    for file in ["root.pem", "issuing.pem", "issuing.key"] {
        let (mine, theirs) = (folders.folder("one").join(file), folders.folder("other").join(file));
        let kept = fs::read(&mine).unwrap();
        fs::copy(theirs, &mine).unwrap();
        let refused = Authority::open(&folders.folder("one")).unwrap_err();
        assert!(matches!(refused, AuthorityError::Mixed { .. }), "{file}: {refused}");
        fs::write(&mine, kept).unwrap();
    }
    Authority::open(&folders.folder("one")).unwrap();
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let folders = TestFolders::new();
    folders.authority("ca", NOW);
    let path = folders.folder("ca").join("issuing.key");
    for open in [0o640, 0o604, 0o620] {
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
        let refused = Authority::open(&folders.folder("ca")).unwrap_err();
        assert!(refused.hint().contains("chmod 600"), "{open:o}: {refused}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    Authority::open(&folders.folder("ca")).unwrap();
}
