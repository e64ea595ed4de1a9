//! The folder of a party: keys, papers, renewal.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn server() -> Address {
    Address::new("server.example.org:8443").unwrap()
}

fn expected<'a>(authority: &Authority, role: PartyRole, name: &'a PartyName) -> ExpectedIdentity<'a> {
    ExpectedIdentity { root: fingerprint(authority.root()), role, name }
}

/// A site that has joined.
fn joined(folders: &TestFolders, authority: &Authority, life: u64) -> (Home, Credentials) {
    let home = Home::create(&folders.folder("home"), PartyRole::Site).unwrap();
    let who = name("hospital-a");
    let issued = authority.issue(PartyRole::Site, &who, &home.key().public(), NOW, life).unwrap();
    let credentials = home
        .joined(expected(authority, PartyRole::Site, &who), &issued.chain, authority.root_pem(), &server())
        .unwrap();
    (home, credentials)
}

#[test]
fn each_role_has_its_keys_and_they_are_kept() {
    let folders = TestFolders::new();
    for (role, sealing, noise) in [
        (PartyRole::Site, false, true),
        (PartyRole::Node, true, true),
        (PartyRole::Server, false, false),
        (PartyRole::Viewer, false, false),
    ] {
        let folder = folders.folder(role.word());
        assert!(!Home::is_in(&folder).unwrap());
        let home = Home::create(&folder, role).unwrap();
        assert!(Home::is_in(&folder).unwrap());
        assert_eq!((home.sealing().is_ok(), home.noise_secret().is_ok()), (sealing, noise), "{role}");
        let again = Home::open(&folder).unwrap();
        assert_eq!(again.key().public(), home.key().public());
        if sealing {
            assert_eq!(again.sealing().unwrap().public(), home.sealing().unwrap().public());
        }
        if noise {
            assert_eq!(again.noise_secret().unwrap(), home.noise_secret().unwrap());
        }
        assert!(matches!(Home::create(&folder, role), Err(HomeError::Exists { .. })));
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(matches!(home.credentials(), Err(HomeError::NotJoined { .. })));
    }
}

#[test]
fn a_key_file_that_others_can_read_is_refused() {
    let folders = TestFolders::new();
    for (role, file) in
        [(PartyRole::Site, "identity.key"), (PartyRole::Site, "noise.key"), (PartyRole::Node, "sealing.key")]
    {
        let folder = folders.folder(&format!("{role}-{file}"));
        Home::create(&folder, role).unwrap();
        fs::set_permissions(folder.join(file), fs::Permissions::from_mode(0o644)).unwrap();
        let refused = Home::open(&folder).unwrap_err();
        assert!(matches!(refused, HomeError::File(FileError::Exposed { .. })), "{file}: {refused}");
        assert!(refused.hint().contains("chmod 600"), "{}", refused.hint());
    }
}

#[test]
fn a_folder_that_is_open_to_others_is_not_used_for_keys() {
    let folders = TestFolders::new();
    let folder = folders.folder("open");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = Home::create(&folder, PartyRole::Site).unwrap_err();
    assert!(refused.hint().contains("chmod 700"), "{refused}");
    assert!(!Home::is_in(&folder).unwrap());
}

#[test]
fn a_home_that_never_joined_can_be_discarded() {
    let folders = TestFolders::new();
    let folder = folders.folder("home");
    Home::create(&folder, PartyRole::Node).unwrap().discard().unwrap();
    assert!(!Home::is_in(&folder).unwrap() && fs::read_dir(&folder).unwrap().next().is_none());
}

#[test]
fn a_home_that_cannot_be_looked_at_is_not_taken_for_an_empty_one() {
    let folders = TestFolders::new();
    fs::create_dir_all(folders.folder("")).unwrap();
    fs::write(folders.folder("file"), "").unwrap();
    assert!(matches!(Home::is_in(&folders.folder("file/home")), Err(HomeError::File(FileError::Failed { .. }))));
}

#[test]
fn a_cut_key_is_refused() {
    let folders = TestFolders::new();
    let folder = folders.folder("home");
    Home::create(&folder, PartyRole::Site).unwrap();
    for file in ["identity.key", "noise.key"] {
        let kept = fs::read(folder.join(file)).unwrap();
        fs::write(folder.join(file), &kept[..kept.len() - 1]).unwrap();
        assert!(matches!(Home::open(&folder), Err(HomeError::Damaged { .. })), "{file}");
        fs::write(folder.join(file), kept).unwrap();
    }
}

#[test]
fn papers_are_kept_and_found_again() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (home, credentials) = joined(&folders, &authority, PARTY_LIFE);
    assert_eq!(credentials.party.key, home.key().public());
    assert_eq!((credentials.party.role, credentials.party.name.as_str()), (PartyRole::Site, "hospital-a"));
    assert_eq!((&credentials.server, &credentials.root), (&server(), authority.root()));
    assert_eq!(Home::open(home.folder()).unwrap().credentials().unwrap(), credentials);
}

#[test]
fn renewal_is_due_after_two_thirds_of_a_life() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (home, credentials) = joined(&folders, &authority, 9 * 60);
    assert!(!credentials.renewal_is_due(NOW + 6 * 60 - 1));
    assert!(credentials.renewal_is_due(NOW + 6 * 60));
    let key = home.key().public();
    let issued = authority.issue(PartyRole::Site, &name("hospital-a"), &key, NOW + 6 * 60, 9 * 60).unwrap();
    let renewed = home.renewed(&issued.chain).unwrap();
    assert_eq!((renewed.party.key, renewed.party.expires), (key, NOW + 15 * 60));
    assert!(!renewed.renewal_is_due(NOW + 6 * 60));
}

#[test]
fn a_certificate_for_somebody_else_is_not_kept() {
    let folders = TestFolders::new();
    let (authority, stranger) = (folders.authority("ca", NOW), folders.authority("other", NOW));
    let home = Home::create(&folders.folder("home"), PartyRole::Site).unwrap();
    let (who, mine) = (name("hospital-a"), home.key().public());
    let other = IdentityKey::generate().unwrap().public();
    let chain =
        |by: &Authority, role, name: &PartyName, key| by.issue(role, name, &key, NOW, PARTY_LIFE).unwrap().chain;
    let keep = |chain: &str, root: &str| {
        home.joined(expected(&authority, PartyRole::Site, &who), chain, root, &server()).unwrap_err()
    };
    let root = authority.root_pem();
    assert!(matches!(keep(&chain(&authority, PartyRole::Site, &who, other), root), HomeError::OtherParty));
    assert!(matches!(keep(&chain(&authority, PartyRole::Node, &who, mine), root), HomeError::OtherParty));
    assert!(matches!(keep(&chain(&authority, PartyRole::Site, &name("b"), mine), root), HomeError::OtherParty));
    assert!(matches!(keep(&chain(&stranger, PartyRole::Site, &who, mine), root), HomeError::Certificate(_)));
    assert!(matches!(keep(&chain(&stranger, PartyRole::Site, &who, mine), stranger.root_pem()), HomeError::OtherRoot));
    assert!(matches!(keep("", root), HomeError::Certificate(_)));
    assert!(matches!(home.credentials(), Err(HomeError::NotJoined { .. })), "nothing was kept");

    home.joined(
        expected(&authority, PartyRole::Site, &who),
        &chain(&authority, PartyRole::Site, &who, mine),
        root,
        &server(),
    )
    .unwrap();
    let kept = home.credentials().unwrap();
    assert!(home.renewed(&chain(&authority, PartyRole::Site, &name("b"), mine)).is_err());
    assert!(home.renewed(&chain(&stranger, PartyRole::Site, &who, mine)).is_err());
    assert_eq!(home.credentials().unwrap(), kept);
}
