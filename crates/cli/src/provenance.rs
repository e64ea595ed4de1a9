//! When and by which build results are made, for `results.json` and the report.

use crate::clock;
use federation::calendar::timestamp;
use inference::results::Provenance;

/// The commit that this program was built from.
pub(crate) const COMMIT: &str = env!("POSTERITY_COMMIT");

/// Of results that are written now. Only a simulation has a digest of its data to show: its reader has the rows anyway.
pub(crate) fn now(data_digest: Option<String>) -> Provenance {
    Provenance {
        date: timestamp(clock::seconds()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: COMMIT.to_owned(),
        data_digest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_knows_its_commit_or_says_that_it_does_not() {
        let made = now(None);
        let digits = made.commit.split('+').next().unwrap();
        let is_commit = digits.len() == 40 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        assert!(is_commit || std::env::var("POSTERITY_COMMIT").is_ok() || made.commit == "unknown", "{made:?}");
        assert!(made.date.starts_with("20") && made.date.ends_with('Z'), "{made:?}");
        assert!(!serde_json::to_string(&made).unwrap().contains("data_digest"), "what there is not is not shown");
    }
}
