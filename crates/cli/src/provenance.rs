//! When and by which build results are made, for `results.json` and the report.

use crate::clock;
use federation::calendar::timestamp;
use study::Made;

/// The commit that this program was built from.
pub(crate) const COMMIT: &str = env!("POSTERITY_COMMIT");

/// Results that are written now, by this program.
pub(crate) fn now() -> Made {
    Made { date: timestamp(clock::seconds()), commit: COMMIT.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_knows_its_commit_or_says_that_it_does_not() {
        let made = now().provenance(None);
        let digits = made.commit.split('+').next().unwrap();
        let is_commit = digits.len() == 40 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        assert!(is_commit || std::env::var("POSTERITY_COMMIT").is_ok() || made.commit == "unknown", "{made:?}");
        assert!(made.date.starts_with("20") && made.date.ends_with('Z'), "{made:?}");
        assert!(!serde_json::to_string(&made).unwrap().contains("data_digest"), "what there is not is not shown");
    }
}
