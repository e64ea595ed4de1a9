//! Seeded numbers of every method, recorded: a revision that changes them says so.
#![allow(clippy::disallowed_methods)] // the vectors are written here, where that is asked for

use crate::common::{methods, rows, simulation, sites};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// Digests by the names of methods.
const VECTORS: &str = include_str!("vectors/seeded.json");

/// The first eight bytes of SHA-256 over the bits of these numbers, in hexadecimal digits.
fn digest(numbers: &[f64]) -> String {
    let mut hash = Sha256::new();
    numbers.iter().for_each(|number| hash.update(number.to_bits().to_le_bytes()));
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The posterior mean of every method of the laws is bit for bit what it was when `tests/vectors/seeded.json` was recorded.
///
/// Noise is keyed by the settings, the model, the data and the seed of a run, so that a change of any of these changes all
/// digests of the methods that have it. Where that is meant, run this test with `POSTERITY_RECORD=1`: it then writes the file
/// anew, and the change is seen in its diff.
#[test]
fn seeded_numbers_are_those_of_this_revision() {
    let (sites, test, methods) = (sites(), rows(30, 9), methods());
    let found: BTreeMap<&str, String> = methods
        .iter()
        .map(|method| {
            let record = simulation(method, &sites, &test).run(&mut ()).unwrap();
            (method.name.as_str(), digest(record.posterior.mean()))
        })
        .collect();
    assert_eq!(found.len(), methods.len(), "two methods have one name");
    if std::env::var_os("POSTERITY_RECORD").is_some_and(|value| value == "1") {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/seeded.json");
        std::fs::write(file, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
        return;
    }
    let recorded: BTreeMap<&str, String> = serde_json::from_str(VECTORS).unwrap();
    let differ = found.iter().filter(|(name, digest)| recorded.get(*name) != Some(digest)).map(|(name, _)| *name);
    let (changed, new): (Vec<&str>, Vec<&str>) = differ.partition(|name| recorded.contains_key(name));
    assert!(changed.is_empty(), "other numbers than recorded (POSTERITY_RECORD=1 records them anew): {changed:?}");
    assert!(new.is_empty(), "new methods, to be recorded with POSTERITY_RECORD=1: {new:?}");
    assert_eq!(found.len(), recorded.len(), "a recorded method is gone");
}
