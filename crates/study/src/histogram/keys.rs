//! The keys of a histogram study, described for editors and the reference.

use crate::keys::{SCHEMA_KEY, STUDY_NAME, STUDY_SEEDS};
use inference::describe::{Key, Otherwise, ValueKind};

const ABOUT: &[Key] = &[STUDY_NAME, STUDY_SEEDS];

const HISTOGRAM: &[Key] = &[
    Key::new("users", "number of users", ValueKind::Count { least: 1, most: 1_000_000 }, Otherwise::Required, "10000"),
    Key::new(
        "users_per_round",
        "users who are drawn for each round",
        ValueKind::AT_LEAST_ONE,
        Otherwise::Follows("all users"),
        "1000",
    ),
    Key::new(
        "categories",
        "names of the possible answers, two or more",
        ValueKind::Texts,
        Otherwise::Required,
        "[\"red\", \"blue\"]",
    ),
    Key::new(
        "truth",
        "shares of the users, in the order of the categories",
        ValueKind::Numbers { length: 0 },
        Otherwise::Required,
        "[0.25, 0.75]",
    ),
    Key::new(
        "gamma",
        "probability of an answer at random; or local_epsilon",
        ValueKind::Share,
        Otherwise::Nothing,
        "0.5",
    ),
    Key::new("local_epsilon", "ε of a user's own answer; or gamma", ValueKind::Positive, Otherwise::Nothing, "2.0"),
    Key::new("rounds", "how often users are asked", ValueKind::AT_LEAST_ONE, Otherwise::Required, "1"),
    Key::new("delta", "δ of every promise", ValueKind::Share, Otherwise::Required, "1e-6"),
];

/// The outermost table of a histogram study.
pub(crate) const HISTOGRAM_KEYS: &[Key] = &[
    SCHEMA_KEY,
    Key::new(
        "study",
        "the study's name and seeds",
        ValueKind::Table(ABOUT),
        Otherwise::Required,
        "{ name = \"my-survey\", seeds = [1] }",
    ),
    Key::new(
        "histogram",
        "answers through a shuffler",
        ValueKind::Table(HISTOGRAM),
        Otherwise::Required,
        "{ users = 10000, categories = [\"red\", \"blue\"], truth = [0.25, 0.75], gamma = 0.5, rounds = 1, delta = 1e-6 }",
    ),
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
