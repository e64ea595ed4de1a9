//! The keys of an accounting figure, described for editors and the reference.

use crate::keys::{SCHEMA_KEY, STUDY_NAME};
use inference::describe::{Key, Otherwise, ValueKind};

/// A number, or its text.
const NUMBER: ValueKind = ValueKind::Either(&[ValueKind::ANY_NUMBER, ValueKind::Text]);

const fn number(name: &'static str, about: &'static str, example: &'static str) -> Key {
    Key::new(name, NUMBER, example).about(about).optional()
}

const fn word(name: &'static str, about: &'static str, words: &'static [&'static str], example: &'static str) -> Key {
    Key::new(name, ValueKind::Word(words), example).about(about).optional()
}

const PLAN: &[Key] = &[
    word(
        "mechanism",
        "the privacy mechanism",
        &["gaussian", "laplace", "randomised-response", "shuffle-clones", "shuffle-krr", "approximate", "barker"],
        "\"gaussian\"",
    ),
    number(
        "noise_multiplier",
        "gaussian: noise standard deviation / sensitivity; laplace: noise scale / sensitivity",
        "1.1",
    ),
    number("steps", "how often the mechanism is applied", "100"),
    word("sampling", "how the rows of a step are sampled", &["none", "poisson", "without-replacement"], "\"poisson\""),
    number("rate", "share of the rows in a step; shuffle-clones, shuffle-krr: share of all users in a shuffle", "0.01"),
    word(
        "adjacency",
        "neighbouring relation: one unit added or removed, or one replaced",
        &["add-remove", "substitute"],
        "\"substitute\"",
    ),
    word(
        "unit",
        "unit of protection: one row, all rows of a person, or all rows of a client",
        &["example", "person", "client"],
        "\"example\"",
    ),
    number("categories", "randomised-response, shuffle-krr: number of possible answers", "4"),
    number("gamma", "randomised-response, shuffle-krr: probability of answering at random", "0.25"),
    number("users", "shuffle-clones, shuffle-krr: users in one shuffle", "10000"),
    number("local_epsilon", "shuffle-clones: ε of each user's own answer", "1.0"),
    word(
        "adversary",
        "shuffle-krr: what is known beside the shuffled answers",
        &["strong", "weak", "outside"],
        "\"outside\"",
    ),
    number("step_epsilon", "approximate: ε of one step", "0.1"),
    number("step_delta", "approximate: δ of one step", "1e-8"),
    number("batch", "barker: rows in the batch of one test", "1000"),
    number("rows", "barker: rows that a batch is drawn from", "50000"),
];

const GRID: &[Key] = &[
    Key::new("reach", ValueKind::ANY_NUMBER, "0.25").about("the last value of log α; the first is its negative"),
    Key::new("points", ValueKind::AT_LEAST_ONE, "200").about("how many values"),
];

const FORMULA: &[Key] = &[
    Key::new("name", ValueKind::Word(FORMULA_NAMES), "\"collusion-factor\"").about("which formula"),
    count("clients", "collusion-factor: clients who add noise, unless along the axis", "100"),
    count("colluders", "collusion-factor: clients who tell their noise, unless along the axis", "5"),
    count("users", "shuffled-gaussian: users in the shuffle, up to 12", "3"),
    count("rows", "negative-at-convergence: rows of a client", "10"),
    real(
        "deviation",
        "shuffled-gaussian: noise of an answer whose true value moves by 1; negative-at-start, negative-at-convergence: noise in \
         clipping bounds; noisy-mean, noisy-variance: noise of each natural parameter",
        "2",
    ),
    real("noise_variance", "negative-at-convergence: variance of the outcome around its mean", "4"),
    real("damping", "negative-at-convergence: damping", "0.1"),
    real("clip", "negative-at-convergence: clipping bound", "5"),
    real("precision", "noisy-mean, noisy-variance: the precision that is noised", "16"),
    real("mean", "noisy-mean: the mean whose product with the precision is noised", "2"),
    real("bound", "clipped-ratios: the size to which log-ratios are clipped", "0.3"),
    real("test_variance", "acceptance-error, correction-density: C, variance of the test's Gaussian part", "2"),
];

const FORMULA_NAMES: &[&str] = &[
    "collusion-factor",
    "shuffled-gaussian",
    "negative-at-start",
    "negative-at-convergence",
    "noisy-mean",
    "noisy-variance",
    "clipped-ratios",
    "correction-error",
    "acceptance-error",
    "correction-density",
];

const fn real(name: &'static str, about: &'static str, example: &'static str) -> Key {
    Key::new(name, ValueKind::ANY_NUMBER, example).about(about).optional()
}

const fn count(name: &'static str, about: &'static str, example: &'static str) -> Key {
    Key::new(name, ValueKind::Count { least: 0, most: u64::MAX }, example).about(about).optional()
}

const LINE: &[Key] = &[
    Key::new("name", ValueKind::Text, "\"Gaussian\"").about("name in the legend"),
    Key::new("accountant", ValueKind::Text, "\"rdp\"")
        .about("who accounts for the plan")
        .otherwise(Otherwise::Word("pld")),
    Key::new(
        "plan",
        ValueKind::Table(PLAN),
        "{ mechanism = \"gaussian\", noise_multiplier = 1.1, steps = 100, adjacency = \"substitute\" }",
    )
    .about("the plan, with the keys of accounting")
    .optional(),
    Key::new("grid", ValueKind::Table(GRID), "{ reach = 0.25, points = 200 }")
        .about("take the plan's privacy profile at these values of log α only, with straight lines between")
        .optional(),
    Key::new("formula", ValueKind::Table(FORMULA), "{ name = \"collusion-factor\", clients = 100 }")
        .about("a formula instead of a plan")
        .optional(),
];

const RANGE: &[Key] = &[
    Key::new("from", ValueKind::ANY_NUMBER, "0.1").about("first value"),
    Key::new("to", ValueKind::ANY_NUMBER, "2").about("last value"),
    Key::new("points", ValueKind::AT_LEAST_ONE, "20").about("how many values"),
];

const CURVES: &[Key] = &[
    Key::new("title", ValueKind::Text, "\"Cost of a plan\"").about("the figure's title"),
    Key::new(
        "along",
        ValueKind::Word(&[
            "epsilon",
            "delta",
            "steps",
            "epochs",
            "users",
            "local_epsilon",
            "gamma",
            "categories",
            "rate",
            "noise_multiplier",
            "batch",
            "colluders",
            "clients",
            "value",
            "proposal_variance",
            "test_variance",
        ]),
        "\"epsilon\"",
    )
    .about("what is on the horizontal axis: ε, δ, or a number of the plans or formulas (epochs: steps times rate)"),
    Key::new(
        "values",
        ValueKind::Either(&[ValueKind::Numbers { length: 0 }, ValueKind::Table(RANGE)]),
        "{ from = 0.1, to = 2, points = 20 }",
    )
    .about("values on the horizontal axis: a rising list, or a range (by powers of ten for δ)"),
    Key::new("delta", ValueKind::Share, "1e-6")
        .about("δ of the ε that is drawn, where neither is on the horizontal axis")
        .optional(),
    Key::new("line", ValueKind::Tables(LINE), "[]").about("the lines, one [[curves.line]] each"),
];

const ABOUT: &[Key] = &[STUDY_NAME];

/// The outermost table of a file with accounting figures.
pub(crate) const CURVES_KEYS: &[Key] = &[
    SCHEMA_KEY,
    Key::new("study", ValueKind::Table(ABOUT), "{ name = \"my-figure\" }").about("the study's name"),
    Key::new("curves", ValueKind::Tables(CURVES), "[]").about("accounting figures, one [[curves]] each"),
];

#[cfg(test)]
mod tests {
    use super::super::typed::{
        AccountingFigureAsTyped, AccountingLineAsTyped, CurvesAsTyped, CurvesTableAsTyped, FormulaAsTyped, GridAsTyped,
        RangeAsTyped,
    };
    use super::*;
    use crate::account::MechanismAsTyped;
    use crate::keys::tests::{described, read};

    #[test]
    fn every_key_that_is_read_is_described_and_no_other() {
        assert_eq!(read::<CurvesAsTyped>(), described(CURVES_KEYS));
        assert_eq!(read::<CurvesTableAsTyped>(), described(ABOUT));
        assert_eq!(read::<AccountingFigureAsTyped>(), described(CURVES));
        assert_eq!(read::<RangeAsTyped>(), described(RANGE));
        assert_eq!(read::<AccountingLineAsTyped>(), described(LINE));
        assert_eq!(read::<GridAsTyped>(), described(GRID));
        assert_eq!(read::<FormulaAsTyped>(), described(FORMULA));
        let aliases = |name: &String| name.contains('-');
        let plan: Vec<String> = read::<MechanismAsTyped>().into_iter().filter(|name| !aliases(name)).collect();
        assert_eq!(plan, described(PLAN));
    }
}
