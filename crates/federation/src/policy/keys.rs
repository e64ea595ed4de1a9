//! The keys of a site's policy, described for editors.

use inference::describe::{Key, Otherwise, ValueKind};

const ANY_COUNT: ValueKind = ValueKind::ANY_COUNT;
const NAMES: ValueKind = ValueKind::Either(&[ValueKind::Word(&["any"]), ValueKind::Texts]);

/// The outermost table of a policy.
pub const POLICY_KEYS: &[Key] = &[
    Key::new("schema", ValueKind::Count { least: 1, most: 2 }, "2").about("version of the policy language"),
    Key::new("max_epsilon", ValueKind::Positive, "6.0").about("ε of all runs at this site together"),
    Key::new("max_delta", ValueKind::Within { least: 0.0, most: 1.0 }, "1e-4")
        .about("δ of all runs at this site together: four times that of a study or more, and under one over the rows"),
    Key::new("max_open_runs", ValueKind::Count { least: 1, most: 1_000_000 }, "4")
        .about("runs that may be open at a time; each reserves its whole grant")
        .otherwise(Otherwise::Number(4.0)),
    Key::new("allowed_models", NAMES, "[\"linear\", \"logistic\"]").about("kinds of models, or \"any\""),
    Key::new("allowed_columns", NAMES, "\"any\"").about("columns that a study may use, or \"any\""),
    Key::new("minimum_rows", ANY_COUNT, "50")
        .about("fewest declared rows of this site, or persons where unit is \"person\""),
    Key::new("require_secure_sum", ValueKind::Flag, "false")
        .about("whether the server may see sums over all sites only"),
    Key::new("minimum_sites", ANY_COUNT, "2")
        .about("fewest sites in a run; in a secure sum, fewest sites that open it"),
    Key::new("approval", ValueKind::Word(&["manual", "automatic"]), "\"manual\"")
        .about("who approves an allowed run: someone at the site, or the agent at once"),
    Key::new("max_epsilon_per_answer", ValueKind::Positive, "3.0")
        .about("ε of a single answer at the run's δ")
        .optional(),
    Key::new("adjacency", ValueKind::Word(&["substitute", "add-remove"]), "\"substitute\"")
        .about("neighbouring relation of the promise for all runs: one row replaced, or one added or removed"),
    Key::new("unit", ValueKind::Word(&["example", "person", "client"]), "\"example\"")
        .about("unit of the promise for all runs: one row, all rows of a person, or all rows of this site"),
    Key::new("known", ValueKind::Map(&ValueKind::Text), "{ alice = \"0123 4567 89ab cdef 0123 4567 89ab cdef\" }")
        .about("fingerprints of the nodes and sites that a secure sum may rest on, by name")
        .optional(),
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
