//! `posterity ca` as a person or a program meets it: files, codes, hints and exit codes.

use crate::common::refused;
use crate::common::room::Room;
use std::fs;

#[test]
fn an_authority_is_made_shown_and_renewed() {
    let room = Room::new("made", "");
    let text = room.told(&["ca", "init", "authority", "--name", "consortium"]);
    assert!(text.contains("Move authority/root.key to offline storage") && text.contains("not encrypted"), "{text}");
    let shown = room.answer(&["ca", "show", "authority", "--json"]);
    assert_eq!(shown["root_key"], "authority/root.key");
    assert!(text.contains(shown["fingerprint"].as_str().unwrap()), "{text}");

    let (key, safe) = (room.0.join("authority/root.key"), room.0.join("safe.key"));
    fs::rename(&key, &safe).unwrap();
    assert!(room.answer(&["ca", "show", "authority", "--json"])["root_key"].is_null());
    let at = room.0.join("authority").display().to_string();
    refused(&format!("ca renew {at}"), "F001", 2, "put root.key back");
    fs::rename(&safe, &key).unwrap();
    for words in [&["ca", "renew", "authority", "--json"][..], &["ca", "renew", "authority", "--new-key", "--json"]] {
        let renewed = room.answer(words);
        assert_eq!(renewed["fingerprint"], shown["fingerprint"]);
        assert!(renewed["issuing_until"].as_u64() >= shown["issuing_until"].as_u64());
    }
    refused(&format!("ca init {at}"), "F001", 2, "choose a new folder");
}

#[test]
fn what_is_not_there_or_not_closed_is_refused() {
    let room = Room::new("refused", "");
    let at = room.0.join("authority").display().to_string();
    refused(&format!("ca show {at}"), "F001", 2, "posterity ca init");
    refused(&format!("ca init {at} --name ?"), "C001", 2, "--name");
    room.told(&["ca", "init", "authority"]);
    open(&room.0.join("authority/root.key"));
    refused(&format!("ca renew {at}"), "F002", 2, "chmod 600");
}

#[cfg(unix)]
fn open(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}
