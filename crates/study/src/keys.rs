//! The tables of a study file, described key by key: what is validated, offered by editors, and listed in the reference.

use crate::reproduce::DIVERGENCE;
use crate::short::SHARED_PRIVACY;
use inference::describe::{Key, Otherwise, ValueKind};
use inference::score::{ALL, Prominence};
use inference::{MODEL_KEYS, method::METHOD_KEYS};

const ANY_COUNT: ValueKind = ValueKind::ANY_COUNT;
const ANY_NUMBER: ValueKind = ValueKind::ANY_NUMBER;

/// `schema`, with which a study may begin.
pub(crate) const SCHEMA_KEY: Key =
    Key::new("schema", ANY_COUNT, "1").about("version of the study language").otherwise(Otherwise::Number(1.0));

/// `name` of `[study]`.
pub(crate) const STUDY_NAME: Key =
    Key::new("name", ValueKind::Text, "\"my-study\"").about("names the folder of results: letters, digits, - and _");

/// `seeds` of `[study]`.
pub(crate) const STUDY_SEEDS: Key =
    Key::new("seeds", ValueKind::Counts { least: 0, most: u64::MAX }, "[1, 2, 3]").about("seeds of the simulated runs");

const STUDY: &[Key] = &[
    STUDY_NAME.otherwise(Otherwise::Follows("the name of the file, or of its folder for study.toml")),
    STUDY_SEEDS.otherwise(Otherwise::Follows("[1, 2, 3, 4, 5]")),
    Key::new("baselines", ValueKind::Flag, "false")
        .about("whether \"local only\" and \"non-private\" are fitted beside the methods")
        .otherwise(Otherwise::Flag(true)),
    Key::new("table", ValueKind::Word(&["scores", "epsilon-steps"]), "\"epsilon-steps\"")
        .about("what reproduce shows: scores, or what every ε of a list gains on the one before it")
        .otherwise(Otherwise::Word("scores")),
];

const SPLIT: &[Key] = &[
    Key::new("test", ValueKind::Share, "0.2").about("share of the rows that is held out").optional(),
    Key::new("test_rows", ValueKind::AT_LEAST_ONE, "500").about("number of held-out rows").optional(),
    Key::new("half", ValueKind::Flag, "true").about("hold out half of the rows").optional(),
    Key::new("column", ValueKind::Text, "\"split\"").about("column that says which rows are held out").optional(),
    Key::new("test_level", ValueKind::Text, "\"test\"").about("its value in held-out rows").optional(),
    Key::new("seed", ANY_COUNT, "7").about("draws the split once, instead of with each run's seed").optional(),
];

const SPLIT_KEY: Key = Key::new("split", ValueKind::Table(SPLIT), "{ test = 0.2 }")
    .about("which rows are held out: one of test, test_rows, half or column")
    .otherwise(Otherwise::Follows("{ test = 0.2 } in a simulation"));

const SYNTHETIC: &[Key] = &[
    Key::new("rows_per_client", ValueKind::AT_LEAST_ONE, "100").about("rows of each client"),
    Key::new("seed", ANY_COUNT, "1").about("draws the rows once, instead of with each run's seed").optional(),
    Key::new("inputs", ValueKind::AT_LEAST_ONE, "5")
        .about("synthetic-linear, synthetic-logistic: inputs of a row, the intercept apart")
        .optional(),
    Key::new("effect_variance", ValueKind::Positive, "1.0")
        .about("synthetic-linear, synthetic-logistic: variance of the coefficients, which each seed draws")
        .optional(),
    Key::new("design", ValueKind::Word(&["dense", "correlated", "dummies", "heavy-tails"]), "\"dense\"")
        .about(
            "synthetic-logistic: independent normals, neighbours with a correlation, categories, or Student's t with 5 degrees of \
             freedom; numbers have variance 1 and are clamped to ±4",
        )
        .optional(),
    Key::new("correlation", ANY_NUMBER, "0.5")
        .about("synthetic-logistic, correlated: correlation of neighbours, 0.5 if left out")
        .optional(),
    Key::new("levels", ValueKind::AT_LEAST_ONE, "5")
        .about(
            "synthetic-logistic, dummies: levels of each category, 5 if left out; inputs counts levels of all categories. \
             synthetic-conjugate: levels of the outcome, 2 if left out",
        )
        .optional(),
    Key::new("noise_deviation", ValueKind::Positives { length: 2 }, "[0.5, 2.0]")
        .about("synthetic-linear: range of the standard deviation of the noise")
        .optional(),
    Key::new("effect", ANY_NUMBER, "2.0")
        .about("synthetic-linear: every coefficient, in place of effect_variance")
        .optional(),
    Key::new("at", ValueKind::Numbers { length: 2 }, "[0.0, 1.0]")
        .about("synthetic-mixture: the parameters that rows are drawn at")
        .optional(),
    Key::new("bounds", ValueKind::Numbers { length: 2 }, "[0.0, 40.0]")
        .about("synthetic-conjugate: range of a count or a number; parameters are drawn from the model's prior")
        .optional(),
];

const LABELS: &[Key] = &[
    Key::new("drawn", ValueKind::Word(&["prior", "fit"]), "\"prior\"")
        .about("with coefficients from N(0, effect_variance), or with those of a non-private fit of the real labels"),
    Key::new("effect_variance", ValueKind::Positive, "0.25").about("prior: variance of the coefficients").optional(),
];

/// Effects of levels against their reference, or of a number and of its missing cells.
const EFFECTS_OF_LEVELS: ValueKind = ValueKind::Map(&ANY_NUMBER);

const DRAWN_ROWS: &[Key] = &[
    Key::new(
        "rows",
        ValueKind::Either(&[
            ValueKind::AT_LEAST_ONE,
            ValueKind::Counts { least: 1, most: u64::MAX },
            ValueKind::Map(&ValueKind::AT_LEAST_ONE),
        ]),
        "2000",
    )
    .about(
        "rows of all sites together; with a partition by column also a list in the order of its levels, or a table from sites to \
         numbers",
    ),
    Key::new("effects", ValueKind::Map(&ValueKind::Either(&[ANY_NUMBER, EFFECTS_OF_LEVELS])), "{ age = 0.3, smoker = { yes = 0.5 } }")
        .about(
            "effects as reports tell them: log odds of the last level, or differences in the outcome's units, per change of a number \
             (`per` of the schema, else the round number near its scale) and of a level against its reference; 0 if left out",
        )
        .optional(),
    Key::new("intercept", ANY_NUMBER, "-1.0")
        .about("log odds, or the expected number, of a row with all numbers at their centres and all categories at their references")
        .otherwise(Otherwise::Follows("0; the outcome's centre where it is a number")),
    Key::new("noise_deviation", ValueKind::Positive, "5.0")
        .about("an outcome that is a number, needed: its standard deviation given the inputs, in its units")
        .optional(),
    Key::new("correlation", ValueKind::Within { least: 0.0, most: 0.99 }, "0.3")
        .about("correlation of every two numbers, before they are brought into their bounds")
        .otherwise(Otherwise::Number(0.0)),
    Key::new("shares", ValueKind::Map(&ValueKind::Map(&ValueKind::Positive)), "{ smoker = { no = 0.8, yes = 0.2 } }")
        .about("how often the levels of a category occur, in proportion; a level that is not named does not occur")
        .otherwise(Otherwise::Follows("all levels equally often")),
    Key::new("missing", ValueKind::Within { least: 0.0, most: 0.99 }, "0.05")
        .about("share of empty cells in every column that has a rule for them")
        .otherwise(Otherwise::Number(0.0)),
    Key::new("seed", ANY_COUNT, "1").about("draws the rows once, instead of with each run's seed").optional(),
];

/// One number for all clients together, or one for each.
const DECLARED: ValueKind =
    ValueKind::Either(&[ValueKind::AT_LEAST_ONE, ValueKind::Counts { least: 0, most: u64::MAX }]);

const DATA: &[Key] = &[
    Key::new("source", ValueKind::Text, "\"csv:patients.csv\"")
        .about("a bundled or fetched data set, csv:PATH, or \"schema\" for rows that are drawn from the schema"),
    Key::new("schema", ValueKind::Text, "\"schema.toml\"")
        .about("the schema file of a CSV, where it is not beside it; needed by source = \"schema\"")
        .optional(),
    SPLIT_KEY,
    Key::new("declared_rows", DECLARED, "[200, 150]")
        .about("rows of all clients together, or of each, where a plan cannot count them")
        .optional(),
    Key::new("declared_persons", DECLARED, "[80, 60]")
        .about("the same of persons, for methods with unit = \"person\"")
        .optional(),
    Key::new("declared_inputs", ValueKind::AT_LEAST_ONE, "12").about("inputs of a row after encoding").optional(),
    Key::new("synthetic", ValueKind::Table(SYNTHETIC), "{ rows_per_client = 100 }")
        .about("the law of made-up rows")
        .optional(),
    Key::new("drawn", ValueKind::Table(DRAWN_ROWS), "{ rows = 2000, effects = { age = 0.3 } }")
        .about("source = \"schema\": how rows are drawn from the schema's ranges and levels, with stated effects")
        .optional(),
    Key::new("labels", ValueKind::Table(LABELS), "{ drawn = \"prior\", effect_variance = 0.25 }")
        .about("real inputs with drawn labels, so that coverage of coefficients is scored; two-class outcomes")
        .optional(),
    Key::new("scores_in", ValueKind::Word(&["units", "encoded"]), "\"encoded\"")
        .about("units of errors and log-likelihoods of a number: the outcome's own, or the encoded outcome's")
        .otherwise(Otherwise::Word("units")),
];

const PARTITION: &[Key] = &[
    Key::new("kind", ValueKind::Word(&["even", "column", "skewed"]), "\"even\"")
        .about("how rows are dealt to clients: evenly, by a column, or with skewed sizes and classes")
        .otherwise(Otherwise::Follows("what the other keys belong to: column, clients, or rho and kappa")),
    Key::new("clients", ANY_COUNT, "10").about("even, skewed: number of clients").optional(),
    Key::new("rho", ANY_NUMBER, "0.7").about("skewed: how unlike the sizes are").optional(),
    Key::new("kappa", ANY_NUMBER, "-3.0").about("skewed: how unlike the classes are").optional(),
    Key::new("column", ValueKind::Text, "\"hospital\"").about("column: the column that names the clients").optional(),
    Key::new("at_most", ValueKind::Map(&ANY_COUNT), "{ north = 50 }")
        .about("column: training rows that some clients have at most")
        .optional(),
];

const PARTITION_KEY: Key = Key::new("partition", ValueKind::Table(PARTITION), "{ column = \"hospital\" }")
    .about("how rows are dealt to simulated clients")
    .otherwise(Otherwise::Follows("needed by studies that are simulated"));

const COLUMN: &[Key] = &[
    Key::new("name", ValueKind::Text, "\"A\"").about("the column's name in a table of results"),
    PARTITION_KEY.otherwise(Otherwise::Required),
    Key::new("source", ValueKind::Text, "\"adult\"").about("data of this column, in place of the study's").optional(),
    SPLIT_KEY,
    Key::new("rows_per_client", ANY_COUNT, "50").about("of made-up data, in place of the study's number").optional(),
    Key::new("synthetic", ValueKind::Table(SYNTHETIC), "{ rows_per_client = 100 }")
        .about("of made-up data, in place of the study's law")
        .optional(),
    Key::new("data", ValueKind::Table(DATA), "{ source = \"digits\" }")
        .about("in place of the study's [data]; without source, split, rows_per_client and synthetic")
        .optional(),
    Key::new("model", ValueKind::Table(MODEL_KEYS), "{ kind = \"softmax\" }")
        .about("in place of the study's [model]")
        .optional(),
    Key::new("privacy", ValueKind::Table(SHARED_PRIVACY), "{ aggregator = \"curator\" }")
        .about("added to the study's [privacy], key by key")
        .optional(),
];

const CELLS: ValueKind = ValueKind::Map(&ValueKind::Map(&ANY_NUMBER));

const fn published(score: &'static str) -> Key {
    Key::new(score, CELLS, "{ pvi = { A = 0.85 } }").about("published numbers by method and column").optional()
}

/// How many scores are shown in such a place.
const fn shown(place: Prominence) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < ALL.len() {
        count += ALL[at].is_shown_in(place) as usize;
        at += 1;
    }
    count
}

/// The divergence from the exact posterior, then every leading score.
const PAPER: &[Key] = &{
    let mut keys = [published(DIVERGENCE); shown(Prominence::Leading) + 1];
    let (mut at, mut next) = (0, 1);
    while at < ALL.len() {
        if ALL[at].is_shown_in(Prominence::Leading) {
            keys[next] = published(ALL[at].name);
            next += 1;
        }
        at += 1;
    }
    keys
};

/// What a figure can draw: the divergence from the exact posterior, then every score of `reproduce`.
const DRAWN: &[&str] = &{
    let mut words = [DIVERGENCE; shown(Prominence::Reproduced) + 1];
    let (mut at, mut next) = (0, 1);
    while at < ALL.len() {
        if ALL[at].is_shown_in(Prominence::Reproduced) {
            words[next] = ALL[at].word;
            next += 1;
        }
        at += 1;
    }
    words
};

const SITE: &[Key] = &[
    Key::new("name", ValueKind::Text, "\"north\"").about("the site's name, as in its certificate"),
    Key::new("rows", ANY_COUNT, "200")
        .about("declared rows, never counted")
        .otherwise(Otherwise::Follows("required, unless persons are declared")),
    Key::new("persons", ANY_COUNT, "80").about("declared persons in place of rows, for unit = \"person\"").optional(),
];

const FEDERATION: &[Key] = &[
    Key::new("sites", ValueKind::Tables(SITE), "[{ name = \"north\", rows = 200 }]")
        .about("who takes part, in the order of clients"),
    Key::new("nodes", ValueKind::Texts, "[\"alice\", \"bob\"]")
        .about("names of the compute nodes of a secure sum")
        .optional(),
    Key::new("quorum", ANY_COUNT, "3")
        .about("fewest sites with which a round goes on")
        .otherwise(Otherwise::Follows("as many as the method needs")),
    Key::new("deadline", ANY_COUNT, "60")
        .about("seconds after which a round does without stragglers")
        .otherwise(Otherwise::Follows("a round waits")),
];

const POINT: &[Key] = &[
    Key::new("at", ANY_NUMBER, "1.0").about("place on the horizontal axis"),
    Key::new("method", ValueKind::Text, "\"pvi\"").about("name of a method"),
    Key::new("column", ValueKind::Text, "\"A\"").about("name of a column").optional(),
];

const LINE: &[Key] = &[
    Key::new("name", ValueKind::Text, "\"pvi\"").about("name in the legend"),
    Key::new("points", ValueKind::Tables(POINT), "[{ at = 1.0, method = \"pvi\" }]").about("the points of the line"),
];

const HEAT_CELL: &[Key] = &[
    Key::new("at", ANY_NUMBER, "0.3").about("place on the horizontal axis"),
    Key::new("up", ANY_NUMBER, "0.5").about("place on the vertical axis"),
    Key::new("column", ValueKind::Text, "\"A\"").about("name of a column"),
];

const FIGURE: &[Key] = &[
    Key::new("kind", ValueKind::Word(&["lines", "heat-map", "rounds", "posteriors", "seeds", "draws"]), "\"heat-map\"")
        .about(
            "lines: a score against a number; heat-map: a score over a grid of columns; and of synthetic-linear rows with one input: \
             rounds, single runs along their rounds; posteriors, densities of single runs beside the exact one; seeds, a point for \
             every run by the coefficient that its rows were drawn with; and of chains: draws, their first two parameters",
        )
        .otherwise(Otherwise::Word("lines")),
    Key::new("along", ValueKind::Text, "\"epsilon\"").about("what is on the horizontal axis"),
    Key::new("score", ValueKind::Word(DRAWN), "\"log-likelihood\"")
        .about("lines, heat-map: what is on the vertical axis, or coloured")
        .otherwise(Otherwise::Word(DIVERGENCE)),
    Key::new("range", ValueKind::Numbers { length: 2 }, "[-0.5, -0.3]")
        .about("lines: least and largest score that is drawn")
        .optional(),
    Key::new("methods", ValueKind::Texts, "[\"pvi\"]")
        .about("lines: methods with a list of ε, and as levels baselines and methods without privacy; runs, draws: the methods drawn")
        .optional(),
    Key::new("column", ValueKind::Text, "\"A\"")
        .about("the column of methods; without it each column of lines has a panel")
        .optional(),
    Key::new("line", ValueKind::Tables(LINE), "[]").about("lines point by point").optional(),
    Key::new("up", ValueKind::Text, "\"kappa\"").about("heat-map, draws: what is on the vertical axis").optional(),
    Key::new("method", ValueKind::Text, "\"pvi\"").about("heat-map: the method whose score is coloured").optional(),
    Key::new("minus", ValueKind::Text, "\"global VI\"")
        .about("heat-map: the method whose score is taken away from it")
        .optional(),
    Key::new("cells", ValueKind::Tables(HEAT_CELL), "[]").about("heat-map: where each column lies").optional(),
    Key::new(
        "quantity",
        ValueKind::Word(&["precision", "precision-mean", "kl", "epsilon", "precision-ratio"]),
        "\"precision\"",
    )
    .about(
        "rounds: precision of q, precision times mean, KL(q ‖ exact posterior), or ε spent; seeds: kl, or precision-ratio, that of q \
         over the exact posterior's",
    )
    .otherwise(Otherwise::Word("precision")),
    Key::new("seeds", ValueKind::Counts { least: 0, most: u64::MAX }, "[1, 2]")
        .about("rounds, posteriors: the runs drawn, a panel for each seed")
        .optional(),
    Key::new("epsilon", ValueKind::Positive, "10.0")
        .about("rounds: an upright line stands where the first method has spent this ε")
        .optional(),
];

/// Values of a setting: numbers or words.
const SETTINGS: ValueKind = ValueKind::Map(&ValueKind::Either(&[ValueKind::Numbers { length: 0 }, ValueKind::Texts]));

const REGRET: &[Key] = &[
    Key::new("methods", ValueKind::Texts, "[\"global VI\"]").about("methods whose derived settings are judged"),
    Key::new("choose", ANY_COUNT, "3")
        .about("the number of seeds, from the first, on which the best of the grid is chosen; the others judge. 0 for a grid of one"),
    Key::new("times", ValueKind::Map(&ValueKind::Positives { length: 0 }), "{ \"privacy.clip\" = [0.5, 1, 2] }")
        .about("multiples of derived settings; every combination is run, at most 12")
        .optional(),
    Key::new("values", SETTINGS, "{ \"statistics.radius\" = [0.7, 1.2] }")
        .about("values of settings, in the same combinations")
        .optional(),
];

/// A tolerance for each metric that a paper may have.
const TOLERANCE: &[Key] = &{
    let mut keys = [allowed(DIVERGENCE); shown(Prominence::Leading) + 1];
    let (mut at, mut next) = (0, 1);
    while at < ALL.len() {
        if ALL[at].is_shown_in(Prominence::Leading) {
            keys[next] = allowed(ALL[at].name);
            next += 1;
        }
        at += 1;
    }
    keys
};

const fn allowed(metric: &'static str) -> Key {
    Key::new(metric, ValueKind::ANY_NUMBER, "0.005").about("the tolerance of this metric").optional()
}

const DIFFERS: &[Key] = &[
    Key::new("method", ValueKind::Text, "\"pvi\"").about("the method; without it every method").optional(),
    Key::new("column", ValueKind::Text, "\"A\"").about("the column; without it every column").optional(),
    Key::new("metric", ValueKind::Text, "\"accuracy\"").about("the metric; without it every metric").optional(),
    Key::new("why", ValueKind::Text, "\"settings were not published\"").about("the reason, in a sentence"),
];

/// The outermost table of a study.
pub const STUDY_KEYS: &[Key] = &[
    SCHEMA_KEY,
    Key::new("study", ValueKind::Table(STUDY), "{ name = \"my-study\", seeds = [1] }")
        .about("the study's name and seeds")
        .optional(),
    Key::new("data", ValueKind::Table(DATA), "{ source = \"heart\" }").about("where rows come from"),
    PARTITION_KEY,
    Key::new("column", ValueKind::Tables(COLUMN), "[]")
        .about("columns of a table, in place of one partition")
        .optional(),
    Key::new("model", ValueKind::Table(MODEL_KEYS), "{ kind = \"logistic\" }").about("the likelihood and the prior"),
    Key::new("method", ValueKind::Tables(METHOD_KEYS), "[]")
        .about("the methods to compare, one [[method]] each")
        .otherwise(Otherwise::Follows("the default method of the model, with the promise of [privacy]")),
    Key::new("privacy", ValueKind::Table(SHARED_PRIVACY), "{ epsilon = 1.0 }")
        .about("what the default method promises; with [[method]]s, what their own `privacy` leaves out")
        .optional(),
    Key::new("paper", ValueKind::Table(PAPER), "{}").about("published numbers, shown beside ours").optional(),
    Key::new("tolerance", ValueKind::Table(TOLERANCE), "{ accuracy = 0.005 }")
        .about("how far ours may be from a published number")
        .optional(),
    Key::new("differs", ValueKind::Tables(DIFFERS), "[]")
        .about("why numbers are better or worse than published by more than that, one [[differs]] each")
        .optional(),
    Key::new("federation", ValueKind::Table(FEDERATION), "{ sites = [] }")
        .about("who takes part where the study is served")
        .optional(),
    Key::new("figure", ValueKind::Tables(FIGURE), "[]").about("what of a table is drawn").optional(),
    Key::new("regret", ValueKind::Tables(REGRET), "[]")
        .about("grids of settings by hand, beside which derived settings are judged")
        .optional(),
];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::agreement::DiffersAsTyped;
    use crate::chart::HeatCellAsTyped;
    use crate::figure::FigureAsTyped;
    use crate::labels::LabelsAsTyped;
    use crate::regret::RegretAsTyped;
    use crate::schema_rows::SchemaRows;
    use crate::synthetic::SyntheticAsTyped;
    use crate::typed::{
        DataAsTyped, FederationAsTyped, PartitionAsTyped, SplitAsTyped, StudyTableAsTyped, TableColumnAsTyped,
    };
    use crate::typed::{SiteAsTyped, StudyAsTyped};
    use inference::Score;
    use inference::describe::{Registry, validate};
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
        assert_eq!(read::<LabelsAsTyped>(), described(LABELS));
        assert_eq!(read::<SchemaRows>(), described(DRAWN_ROWS));
        assert_eq!(read::<PartitionAsTyped>(), described(PARTITION));
        assert_eq!(read::<TableColumnAsTyped>(), described(COLUMN));
        assert_eq!(read::<FederationAsTyped>(), described(FEDERATION));
        assert_eq!(read::<SiteAsTyped>(), described(SITE));
        assert_eq!(read::<FigureAsTyped>(), described(FIGURE));
        assert_eq!(read::<RegretAsTyped>(), described(REGRET));
        assert_eq!(read::<DiffersAsTyped>(), described(DIFFERS));
        assert!(TOLERANCE.iter().map(|key| key.name).eq(PAPER.iter().map(|key| key.name)));
        assert_eq!(read::<HeatCellAsTyped>(), described(HEAT_CELL));
    }

    #[test]
    fn published_numbers_are_of_leading_scores_and_of_divergences() {
        let leading = ["kl"].into_iter().chain(Score::shown_in(Prominence::Leading).map(|score| score.name));
        assert!(PAPER.iter().map(|key| key.name).eq(leading));
        let drawn = ["kl"].into_iter().chain(Score::shown_in(Prominence::Reproduced).map(|score| score.word));
        assert!(DRAWN.iter().copied().eq(drawn) && DRAWN.contains(&"coverage"));
        let published = |score: &str| {
            let table: toml::Table = toml::from_str(&format!("{score} = {{ pvi = {{ A = 0.5 }} }}")).unwrap();
            validate(&table, PAPER, &Registry::standard()).into_iter().map(|conflict| conflict.key).collect::<Vec<_>>()
        };
        assert!(published("accuracy").is_empty() && published("kl").is_empty());
        assert_eq!(published("acuracy"), ["acuracy"]);
    }
}
