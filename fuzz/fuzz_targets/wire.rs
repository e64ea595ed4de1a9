//! Signed contents: what is understood names its sender, and no bytes break the reader.
#![no_main]

use federation::wire::{self, UnverifiedContent, proto};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = wire::content_digest(bytes);
    // As it comes from the line, and as a content alone, which is found sooner.
    let content = proto::Signed { content: bytes.to_vec(), signature: Vec::new() };
    for said in [UnverifiedContent::read(bytes), UnverifiedContent::of(content)].into_iter().flatten() {
        let _ = (said.claimed_request(), said.claimed_reply(&[0; 32]), said.is_update(), said.digest());
    }
});
