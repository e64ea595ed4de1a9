//! The tables of a data schema, described key by key, for editors.

use crate::describe::{Key, Otherwise, ValueKind};

const BOUNDS: ValueKind = ValueKind::Numbers { length: 2 };

const FILL: &[Key] =
    &[Key::new("fill", "the number that stands for a missing one", ValueKind::ANY_NUMBER, Otherwise::Required, "0.0")];

pub(super) const OUTCOME: &[Key] = &[
    Key::new("column", "the column that is learnt", ValueKind::Text, Otherwise::Required, "\"ill\""),
    Key::new(
        "levels",
        "classes: every level, two or more; a number has bounds instead",
        ValueKind::Texts,
        Otherwise::Nothing,
        "[\"no\", \"yes\"]",
    ),
    Key::new(
        "bounds",
        "a number: least and largest value; others are moved to the nearest of the two",
        BOUNDS,
        Otherwise::Nothing,
        "[0, 100]",
    ),
    Key::new(
        "centre",
        "a number: public constant that is subtracted",
        ValueKind::ANY_NUMBER,
        Otherwise::Number(0.0),
        "50",
    ),
    Key::new(
        "scale",
        "a number: public constant that is divided by",
        ValueKind::Positive,
        Otherwise::Number(1.0),
        "10",
    ),
    Key::new(
        "missing",
        "\"drop\" leaves out rows without an outcome",
        ValueKind::Word(&["drop"]),
        Otherwise::Follows("a row without an outcome is refused"),
        "\"drop\"",
    ),
];

pub(super) const COLUMN: &[Key] = &[
    Key::new("name", "the column's name in the header", ValueKind::Text, Otherwise::Required, "\"age\""),
    Key::new(
        "kind",
        "how the column is encoded; an ignored one has a name only",
        ValueKind::Word(&["numeric", "category", "ignore"]),
        Otherwise::Required,
        "\"numeric\"",
    ),
    Key::new(
        "centre",
        "numeric, needed: public constant that is subtracted",
        ValueKind::ANY_NUMBER,
        Otherwise::Nothing,
        "55",
    ),
    Key::new(
        "scale",
        "numeric, needed: public constant that is divided by",
        ValueKind::Positive,
        Otherwise::Nothing,
        "10",
    ),
    Key::new(
        "bounds",
        "numeric: least and largest value; others are moved to the nearest of the two",
        BOUNDS,
        Otherwise::Nothing,
        "[0, 110]",
    ),
    Key::new(
        "log",
        "numeric: take the logarithm, before centre and scale; the lower bound is over 0",
        ValueKind::Flag,
        Otherwise::Flag(false),
        "true",
    ),
    Key::new("levels", "category, needed: every level", ValueKind::Texts, Otherwise::Nothing, "[\"a\", \"b\"]"),
    Key::new(
        "missing",
        "what an empty cell becomes: numeric \"flag\" (an input of its own) or a number, category \"level\"",
        ValueKind::Either(&[ValueKind::Word(&["flag", "level"]), ValueKind::Table(FILL)]),
        Otherwise::Follows("an empty cell is refused"),
        "\"flag\"",
    ),
];

/// The outermost table of a data schema.
pub const SCHEMA_KEYS: &[Key] = &[
    Key::new(
        "outcome",
        "what is learnt",
        ValueKind::Table(OUTCOME),
        Otherwise::Required,
        "{ column = \"ill\", levels = [\"no\", \"yes\"] }",
    ),
    Key::new(
        "record_id",
        "the column that tells records apart; it is never learnt from",
        ValueKind::Text,
        Otherwise::Nothing,
        "\"patient\"",
    ),
    Key::new(
        "only",
        "which rows belong: those with this level in this one column",
        ValueKind::Map(&ValueKind::Text),
        Otherwise::Follows("all rows belong"),
        "{ ward = \"a\" }",
    ),
    Key::new(
        "column",
        "the columns beside the outcome, one table each",
        ValueKind::Tables(COLUMN),
        Otherwise::Required,
        "[{ name = \"age\", kind = \"numeric\", centre = 55, scale = 10 }]",
    ),
];
