//! Manifests: what is read is written with the same bytes.
#![no_main]

use federation::manifest::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(manifest) = Manifest::read(bytes) {
        assert_eq!(manifest.bytes(), bytes);
        let _ = (manifest.run(), manifest.members().count(), manifest.check_signatures(&[]));
    }
});
