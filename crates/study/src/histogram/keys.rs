//! The keys of a histogram study, described for editors and the reference.

use crate::keys::{SCHEMA_KEY, STUDY_NAME, STUDY_SEEDS};
use inference::describe::{Key, Otherwise, ValueKind};

const ABOUT: &[Key] = &[STUDY_NAME, STUDY_SEEDS];

const HISTOGRAM: &[Key] = &[
    Key::new("users", ValueKind::Count { least: 1, most: 1_000_000 }, "10000").about("number of users"),
    Key::new("users_per_round", ValueKind::AT_LEAST_ONE, "1000")
        .about("users who are drawn for each round")
        .otherwise(Otherwise::Follows("all users")),
    Key::new("categories", ValueKind::Texts, "[\"red\", \"blue\"]").about("names of the possible answers, two or more"),
    Key::new("truth", ValueKind::Numbers { length: 0 }, "[0.25, 0.75]")
        .about("shares of the users, in the order of the categories"),
    Key::new("gamma", ValueKind::Share, "0.5").about("probability of an answer at random; or local_epsilon").optional(),
    Key::new("local_epsilon", ValueKind::Positive, "2.0").about("ε of a user's own answer; or gamma").optional(),
    Key::new("rounds", ValueKind::AT_LEAST_ONE, "1").about("how often users are asked"),
    Key::new("delta", ValueKind::Share, "1e-6").about("δ of every promise"),
];

/// The outermost table of a histogram study.
pub(crate) const HISTOGRAM_KEYS: &[Key] = &[
    SCHEMA_KEY,
    Key::new("study", ValueKind::Table(ABOUT), "{ name = \"my-survey\", seeds = [1] }").about("the study's name and seeds"),
    Key::new("histogram", ValueKind::Table(HISTOGRAM), "{ users = 10000, categories = [\"red\", \"blue\"], truth = [0.25, 0.75], gamma = 0.5, rounds = 1, delta = 1e-6 }").about("answers through a shuffler"),
];

#[cfg(test)]
mod tests {
    use super::super::meant::{FileAsTyped, HistogramAsTyped, HistogramTableAsTyped};
    use super::*;
    use crate::keys::tests::{described, read};

    #[test]
    fn every_key_that_is_read_is_described_and_no_other() {
        assert_eq!(read::<FileAsTyped>(), described(HISTOGRAM_KEYS));
        assert_eq!(read::<HistogramTableAsTyped>(), described(ABOUT));
        assert_eq!(read::<HistogramAsTyped>(), described(HISTOGRAM));
    }
}
