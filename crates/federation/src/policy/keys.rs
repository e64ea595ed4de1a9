//! The keys of a site's policy, described for editors.

use inference::describe::{Key, Otherwise, ValueKind};

const ANY_COUNT: ValueKind = ValueKind::ANY_COUNT;
const NAMES: ValueKind = ValueKind::Either(&[ValueKind::Word(&["any"]), ValueKind::Texts]);

/// The outermost table of a policy.
pub const POLICY_KEYS: &[Key] = &[
    Key::new(
        "schema",
        "version of the policy language",
        ValueKind::Count { least: 1, most: 1 },
        Otherwise::Required,
        "1",
    ),
    Key::new("max_epsilon", "ε of all runs at this site together", ValueKind::Positive, Otherwise::Required, "6.0"),
    Key::new(
        "max_delta",
        "δ of all runs at this site together, well under one over its rows",
        ValueKind::Within { least: 0.0, most: 1.0 },
        Otherwise::Required,
        "3.1e-4",
    ),
    Key::new("allowed_models", "kinds of models, or \"any\"", NAMES, Otherwise::Required, "[\"linear\", \"logistic\"]"),
    Key::new("allowed_columns", "columns that a study may use, or \"any\"", NAMES, Otherwise::Required, "\"any\""),
    Key::new("minimum_rows", "fewest declared rows of this site", ANY_COUNT, Otherwise::Required, "50"),
    Key::new(
        "require_secure_sum",
        "whether the server may see sums over all sites only",
        ValueKind::Flag,
        Otherwise::Required,
        "false",
    ),
    Key::new(
        "minimum_sites",
        "fewest sites in a run; in a secure sum, fewest sites that open it",
        ANY_COUNT,
        Otherwise::Required,
        "2",
    ),
    Key::new(
        "approval",
        "who approves an allowed run: someone at the site, or the agent at once",
        ValueKind::Word(&["manual", "automatic"]),
        Otherwise::Required,
        "\"manual\"",
    ),
    Key::new(
        "max_epsilon_per_answer",
        "ε of a single answer at the run's δ",
        ValueKind::Positive,
        Otherwise::Nothing,
        "3.0",
    ),
    Key::new(
        "adjacency",
        "neighbouring relation of all runs: one row replaced, or one added or removed",
        ValueKind::Word(&["substitute", "add-remove"]),
        Otherwise::Word("substitute"),
        "\"substitute\"",
    ),
    Key::new(
        "unit",
        "unit of protection of all runs: one row, or all rows of this site",
        ValueKind::Word(&["example", "client"]),
        Otherwise::Word("example"),
        "\"example\"",
    ),
    Key::new(
        "known",
        "fingerprints of the nodes and sites that a secure sum may rest on, by name",
        ValueKind::Map(&ValueKind::Text),
        Otherwise::Nothing,
        "{ alice = \"0123 4567 89ab cdef 0123 4567 89ab cdef\" }",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::{DEFAULT, Policy};
    use super::*;
    use inference::describe::{Registry, validate};

    #[test]
    fn every_key_that_is_read_is_described_and_no_other() {
        let error = toml::from_str::<Policy>("no_such_key = 1").unwrap_err().message().to_owned();
        let mut read: Vec<&str> = error.split('`').skip(1).step_by(2).filter(|word| *word != "no_such_key").collect();
        let mut described: Vec<&str> = POLICY_KEYS.iter().map(|key| key.name).collect();
        read.sort_unstable();
        described.sort_unstable();
        assert_eq!(read, described, "{error}");
    }

    #[test]
    fn the_default_policy_has_every_key_as_described() {
        let default: toml::Table = toml::from_str(DEFAULT).unwrap();
        let found = validate(&default, POLICY_KEYS, &Registry::standard());
        assert!(found.is_empty() && default.len() == POLICY_KEYS.len(), "{found:?}");
    }
}
