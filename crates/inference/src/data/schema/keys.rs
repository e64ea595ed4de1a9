//! The tables of a data schema, described key by key, for editors.

use crate::describe::{Key, Otherwise, ValueKind};

/// Least and largest value.
const BOUNDS: ValueKind = ValueKind::Numbers { length: 2 };

/// `missing = { fill = … }` of a numeric column.
const FILL: &[Key] =
    &[Key::new("fill", ValueKind::ANY_NUMBER, "0.0").about("the number that stands for a missing one")];

/// `outcome`: classes have levels, a number has bounds.
pub(super) const OUTCOME: &[Key] = &[
    Key::new("column", ValueKind::Text, "\"ill\"").about("the column that is learnt"),
    Key::new("levels", ValueKind::Texts, "[\"no\", \"yes\"]")
        .about("classes: every level, two or more; a number has bounds instead")
        .optional(),
    Key::new("bounds", BOUNDS, "[0, 100]")
        .about("a number: least and largest value; others are moved to the nearest of the two")
        .optional(),
    Key::new("centre", ValueKind::ANY_NUMBER, "50")
        .about("a number: public constant that is subtracted")
        .otherwise(Otherwise::Number(0.0)),
    Key::new("scale", ValueKind::Positive, "10")
        .about("a number: public constant that is divided by")
        .otherwise(Otherwise::Number(1.0)),
    Key::new("missing", ValueKind::Word(&["drop"]), "\"drop\"")
        .about("\"drop\" leaves out rows without an outcome")
        .otherwise(Otherwise::Follows("a row without an outcome is refused")),
    Key::new("units", ValueKind::Text, "\"kg\"").about("a number: its units of measurement, for readers").optional(),
];

/// One entry of `column`. Which of its keys are needed depends on `kind`.
pub(super) const COLUMN: &[Key] = &[
    Key::new("name", ValueKind::Text, "\"age\"").about("the column's name in the header"),
    Key::new("kind", ValueKind::Word(&["numeric", "category", "ignore"]), "\"numeric\"")
        .about("how the column is encoded; an ignored one has a name only"),
    Key::new("centre", ValueKind::ANY_NUMBER, "55")
        .about("numeric, needed: public constant that is subtracted")
        .optional(),
    Key::new("scale", ValueKind::Positive, "10")
        .about("numeric, needed: public constant that is divided by")
        .optional(),
    Key::new("bounds", BOUNDS, "[0, 110]")
        .about("numeric: least and largest value; others are moved to the nearest of the two")
        .optional(),
    Key::new("log", ValueKind::Flag, "true")
        .about("numeric: take the logarithm, before centre and scale; the lower bound is over 0")
        .otherwise(Otherwise::Flag(false)),
    Key::new("levels", ValueKind::Texts, "[\"a\", \"b\"]").about("category, needed: every level").optional(),
    Key::new("missing", ValueKind::Either(&[ValueKind::Word(&["flag", "level"]), ValueKind::Table(FILL)]), "\"flag\"")
        .about("what an empty cell becomes: numeric \"flag\" (an input of its own) or a number, category \"level\"")
        .otherwise(Otherwise::Follows("an empty cell is refused")),
    Key::new("per", ValueKind::Positive, "10")
        .about("numeric: the change for which reports tell its effect; with log = true a factor, 2 is per doubling")
        .otherwise(Otherwise::Follows("a round number near the scale; per doubling with log = true")),
    Key::new("units", ValueKind::Text, "\"years\"").about("numeric: its units of measurement, for readers").optional(),
    Key::new("reference", ValueKind::Text, "\"a\"")
        .about("category: the level with which reports compare the others; it changes no input")
        .otherwise(Otherwise::Follows("the first level")),
];

/// The outermost table of a data schema.
pub const SCHEMA_KEYS: &[Key] = &[
    Key::new("outcome", ValueKind::Table(OUTCOME), "{ column = \"ill\", levels = [\"no\", \"yes\"] }")
        .about("what is learnt"),
    Key::new("record_id", ValueKind::Text, "\"patient\"")
        .about("the column that tells records apart; it is never learnt from")
        .optional(),
    Key::new("person_id", ValueKind::Text, "\"patient\"")
        .about("the column that tells whose row a row is, for unit = \"person\"; it is never learnt from")
        .optional(),
    Key::new("only", ValueKind::Map(&ValueKind::Text), "{ ward = \"a\" }")
        .about("which rows belong: those with this level in this one column")
        .otherwise(Otherwise::Follows("all rows belong")),
    Key::new("column", ValueKind::Tables(COLUMN), "[{ name = \"age\", kind = \"numeric\", centre = 55, scale = 10 }]")
        .about("the columns beside the outcome, one table each"),
];
