//! The tables of a study file, described key by key: what is validated, offered by editors, and listed in the reference.

use inference::describe::{Key, Otherwise, ValueKind};
use inference::{MODEL_KEYS, method::METHOD_KEYS};

const ANY_COUNT: ValueKind = ValueKind::ANY_COUNT;
const ANY_NUMBER: ValueKind = ValueKind::ANY_NUMBER;

const fn key(
    name: &'static str,
    about: &'static str,
    kind: ValueKind,
    otherwise: Otherwise,
    example: &'static str,
) -> Key {
    Key::new(name, about, kind, otherwise, example)
}

/// `schema`, with which every study begins.
pub(crate) const SCHEMA_KEY: Key = key("schema", "version of the study language", ANY_COUNT, Otherwise::Required, "1");

/// `name` of `[study]`.
pub(crate) const STUDY_NAME: Key = key(
    "name",
    "names the folder of results: letters, digits, - and _",
    ValueKind::Text,
    Otherwise::Required,
    "\"my-study\"",
);

/// `seeds` of `[study]`.
pub(crate) const STUDY_SEEDS: Key = key(
    "seeds",
    "seeds of the simulated runs",
    ValueKind::Counts { least: 0, most: u64::MAX },
    Otherwise::Required,
    "[1, 2, 3]",
);

const STUDY: &[Key] = &[
    STUDY_NAME,
    STUDY_SEEDS,
    key(
        "baselines",
        "whether \"local only\" and \"non-private\" are fitted beside the methods",
        ValueKind::Flag,
        Otherwise::Flag(true),
        "false",
    ),
];

const SPLIT: &[Key] = &[
    key("test", "share of the rows that is held out", ValueKind::Share, Otherwise::Nothing, "0.2"),
    key("test_rows", "number of held-out rows", ValueKind::AT_LEAST_ONE, Otherwise::Nothing, "500"),
    key("half", "hold out half of the rows", ValueKind::Flag, Otherwise::Nothing, "true"),
    key("column", "column that says which rows are held out", ValueKind::Text, Otherwise::Nothing, "\"split\""),
    key("test_level", "its value in held-out rows", ValueKind::Text, Otherwise::Nothing, "\"test\""),
    key("seed", "draws the split once, instead of with each run's seed", ANY_COUNT, Otherwise::Nothing, "7"),
];

const SPLIT_KEY: Key = key(
    "split",
    "which rows are held out: one of test, test_rows, half or column",
    ValueKind::Table(SPLIT),
    Otherwise::Follows("needed by studies that are simulated"),
    "{ test = 0.2 }",
);

const SYNTHETIC: &[Key] = &[
    key("rows_per_client", "rows of each client", ValueKind::AT_LEAST_ONE, Otherwise::Required, "100"),
    key("seed", "draws the rows once, instead of with each run's seed", ANY_COUNT, Otherwise::Nothing, "1"),
    key("inputs", "synthetic-linear: inputs of a row", ValueKind::AT_LEAST_ONE, Otherwise::Nothing, "5"),
    key(
        "effect_variance",
        "synthetic-linear: variance of the coefficients",
        ValueKind::Positive,
        Otherwise::Nothing,
        "1.0",
    ),
    key(
        "noise_deviation",
        "synthetic-linear: range of the standard deviation of the noise",
        ValueKind::Positives { length: 2 },
        Otherwise::Nothing,
        "[0.5, 2.0]",
    ),
    key(
        "at",
        "synthetic-mixture: the parameters that rows are drawn at",
        ValueKind::Numbers { length: 2 },
        Otherwise::Nothing,
        "[0.0, 1.0]",
    ),
];

const DATA: &[Key] = &[
    key(
        "source",
        "a bundled or fetched data set, or csv:PATH",
        ValueKind::Text,
        Otherwise::Required,
        "\"csv:patients.csv\"",
    ),
    key(
        "schema",
        "the schema file of a CSV, where it is not beside it",
        ValueKind::Text,
        Otherwise::Nothing,
        "\"schema.toml\"",
    ),
    SPLIT_KEY,
    key(
        "declared_rows",
        "rows of all clients together, or of each, where a plan cannot count them",
        ValueKind::Either(&[ValueKind::AT_LEAST_ONE, ValueKind::Counts { least: 0, most: u64::MAX }]),
        Otherwise::Nothing,
        "[200, 150]",
    ),
    key("declared_inputs", "inputs of a row after encoding", ValueKind::AT_LEAST_ONE, Otherwise::Nothing, "12"),
    key(
        "synthetic",
        "the law of made-up rows",
        ValueKind::Table(SYNTHETIC),
        Otherwise::Nothing,
        "{ rows_per_client = 100 }",
    ),
    key(
        "scores_in",
        "units of errors and log-likelihoods of a number: the outcome's own, or the encoded outcome's",
        ValueKind::Word(&["units", "encoded"]),
        Otherwise::Word("units"),
        "\"encoded\"",
    ),
];

const PARTITION: &[Key] = &[
    key(
        "kind",
        "how rows are dealt to clients: evenly, by a column, or with skewed sizes and classes",
        ValueKind::Word(&["even", "column", "skewed"]),
        Otherwise::Required,
        "\"even\"",
    ),
    key("clients", "even, skewed: number of clients", ANY_COUNT, Otherwise::Nothing, "10"),
    key("rho", "skewed: how unlike the sizes are", ANY_NUMBER, Otherwise::Nothing, "0.7"),
    key("kappa", "skewed: how unlike the classes are", ANY_NUMBER, Otherwise::Nothing, "-3.0"),
    key("column", "column: the column that names the clients", ValueKind::Text, Otherwise::Nothing, "\"hospital\""),
    key(
        "at_most",
        "column: training rows that some clients have at most",
        ValueKind::Map(&ANY_COUNT),
        Otherwise::Nothing,
        "{ north = 50 }",
    ),
];

const PARTITION_KEY: Key = key(
    "partition",
    "how rows are dealt to simulated clients",
    ValueKind::Table(PARTITION),
    Otherwise::Follows("needed by studies that are simulated"),
    "{ kind = \"even\", clients = 10 }",
);

const COLUMN: &[Key] = &[
    key("name", "the column's name in a table of results", ValueKind::Text, Otherwise::Required, "\"A\""),
    Key { otherwise: Otherwise::Required, ..PARTITION_KEY },
    key("source", "data of this column, in place of the study's", ValueKind::Text, Otherwise::Nothing, "\"adult\""),
    SPLIT_KEY,
    key("rows_per_client", "of made-up data, in place of the study's number", ANY_COUNT, Otherwise::Nothing, "50"),
];

const CELLS: ValueKind = ValueKind::Map(&ValueKind::Map(&ANY_NUMBER));

const PAPER: &[Key] = &[
    key("accuracy", "published numbers by method and column", CELLS, Otherwise::Nothing, "{ pvi = { A = 0.85 } }"),
    key(
        "log_likelihood",
        "published numbers by method and column",
        CELLS,
        Otherwise::Nothing,
        "{ pvi = { A = -0.32 } }",
    ),
    key("kl", "published numbers by method and column", CELLS, Otherwise::Nothing, "{ pvi = { A = 0.1 } }"),
    key("absolute_error", "published numbers by method and column", CELLS, Otherwise::Nothing, "{ pvi = { A = 0.7 } }"),
];

const SITE: &[Key] = &[
    key("name", "the site's name, as in its certificate", ValueKind::Text, Otherwise::Required, "\"north\""),
    key("rows", "declared rows, never counted", ANY_COUNT, Otherwise::Required, "200"),
];

const FEDERATION: &[Key] = &[
    key(
        "sites",
        "who takes part, in the order of clients",
        ValueKind::Tables(SITE),
        Otherwise::Required,
        "[{ name = \"north\", rows = 200 }]",
    ),
    key(
        "nodes",
        "names of the compute nodes of a secure sum",
        ValueKind::Texts,
        Otherwise::Nothing,
        "[\"alice\", \"bob\"]",
    ),
    key(
        "quorum",
        "fewest sites with which a round goes on",
        ANY_COUNT,
        Otherwise::Follows("as many as the method needs"),
        "3",
    ),
    key(
        "deadline",
        "seconds after which a round does without stragglers",
        ANY_COUNT,
        Otherwise::Follows("a round waits"),
        "60",
    ),
];

const POINT: &[Key] = &[
    key("at", "place on the horizontal axis", ANY_NUMBER, Otherwise::Required, "1.0"),
    key("method", "name of a method", ValueKind::Text, Otherwise::Required, "\"pvi\""),
    key("column", "name of a column", ValueKind::Text, Otherwise::Nothing, "\"A\""),
];

const LINE: &[Key] = &[
    key("name", "name in the legend", ValueKind::Text, Otherwise::Required, "\"pvi\""),
    key(
        "points",
        "the points of the line",
        ValueKind::Tables(POINT),
        Otherwise::Required,
        "[{ at = 1.0, method = \"pvi\" }]",
    ),
];

const FIGURE: &[Key] = &[
    key("along", "what is on the horizontal axis", ValueKind::Text, Otherwise::Required, "\"epsilon\""),
    key(
        "score",
        "what is on the vertical axis",
        ValueKind::Word(&["kl", "log-likelihood", "accuracy", "absolute-error", "coverage"]),
        Otherwise::Word("kl"),
        "\"log-likelihood\"",
    ),
    key(
        "range",
        "least and largest score that is drawn",
        ValueKind::Numbers { length: 2 },
        Otherwise::Nothing,
        "[-0.5, -0.3]",
    ),
    key("methods", "methods with a list of ε, and baselines", ValueKind::Texts, Otherwise::Nothing, "[\"pvi\"]"),
    key(
        "column",
        "the column of methods; without it each column has a panel",
        ValueKind::Text,
        Otherwise::Nothing,
        "\"A\"",
    ),
    key("line", "lines point by point", ValueKind::Tables(LINE), Otherwise::Nothing, "[]"),
];

/// The outermost table of a study.
pub const STUDY_KEYS: &[Key] = &[
    SCHEMA_KEY,
    key(
        "study",
        "the study's name and seeds",
        ValueKind::Table(STUDY),
        Otherwise::Required,
        "{ name = \"my-study\", seeds = [1] }",
    ),
    key("data", "where rows come from", ValueKind::Table(DATA), Otherwise::Required, "{ source = \"heart\" }"),
    PARTITION_KEY,
    key("column", "columns of a table, in place of one partition", ValueKind::Tables(COLUMN), Otherwise::Nothing, "[]"),
    key(
        "model",
        "the likelihood and the prior",
        ValueKind::Table(MODEL_KEYS),
        Otherwise::Required,
        "{ kind = \"logistic\" }",
    ),
    key(
        "method",
        "the methods to compare, one [[method]] each",
        ValueKind::Tables(METHOD_KEYS),
        Otherwise::Nothing,
        "[]",
    ),
    key("paper", "published numbers, shown beside ours", ValueKind::Table(PAPER), Otherwise::Nothing, "{}"),
    key(
        "federation",
        "who takes part where the study is served",
        ValueKind::Table(FEDERATION),
        Otherwise::Nothing,
        "{ sites = [] }",
    ),
    key("figure", "what of a table is drawn", ValueKind::Tables(FIGURE), Otherwise::Nothing, "[]"),
];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::figure::FigureAsTyped;
    use crate::synthetic::SyntheticAsTyped;
    use crate::typed::{
        DataAsTyped, FederationAsTyped, Paper, PartitionAsTyped, SplitAsTyped, StudyTableAsTyped, TableColumnAsTyped,
    };
    use crate::typed::{SiteAsTyped, StudyAsTyped};
    use serde::de::DeserializeOwned;

    /// The keys that a reader knows, from what it says of one that it does not know.
    pub(crate) fn read<T: DeserializeOwned>() -> Vec<String> {
        let error = toml::from_str::<T>("no_such_key = 1").err().map(|error| error.message().to_owned());
        let error = error.unwrap_or_default();
        let mut words: Vec<String> = error.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        assert_eq!(words.first().map(String::as_str), Some("no_such_key"), "{error}");
        words.remove(0);
        words.sort();
        words
    }

    pub(crate) fn described(keys: &[Key]) -> Vec<String> {
        let mut names: Vec<String> = keys.iter().map(|key| key.name.to_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn every_key_that_is_read_is_described_and_no_other() {
        assert_eq!(read::<StudyAsTyped>(), described(STUDY_KEYS));
        assert_eq!(read::<StudyTableAsTyped>(), described(STUDY));
        assert_eq!(read::<DataAsTyped>(), described(DATA));
        assert_eq!(read::<SplitAsTyped>(), described(SPLIT));
        assert_eq!(read::<SyntheticAsTyped>(), described(SYNTHETIC));
        assert_eq!(read::<PartitionAsTyped>(), described(PARTITION));
        assert_eq!(read::<TableColumnAsTyped>(), described(COLUMN));
        assert_eq!(read::<Paper>(), described(PAPER));
        assert_eq!(read::<FederationAsTyped>(), described(FEDERATION));
        assert_eq!(read::<SiteAsTyped>(), described(SITE));
        assert_eq!(read::<FigureAsTyped>(), described(FIGURE));
    }
}
