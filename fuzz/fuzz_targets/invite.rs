//! Invites: what is read is written as the same line.
#![no_main]

use federation::identity::{Address, Invite, Peer, certificates, requested_key};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = (Peer::of_der(bytes), requested_key(bytes));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = (Address::new(text), certificates(text));
    if let Ok(invite) = Invite::parse(text) {
        assert_eq!(invite.text().as_str(), text.trim());
    }
});
