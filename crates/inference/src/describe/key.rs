//! One key of a study, described once.
//!
//! A study is a tree of tables. Every table has a list of [`Key`]s, most of them constants beside the
//! settings that they become. The list is the only description of the table: what is read, what a
//! hint says, what an editor offers and what the reference prints are all made from it.

use super::Registered;

/// One key: its reader, hints, the reference of the guide and JSON Schemas are made from this.
///
/// # Examples
/// A key that a study must set, and one with a default:
/// ```
/// use inference::describe::{Key, Otherwise, ValueKind};
/// const STEP: Key = Key::new("step", ValueKind::Positive, "0.1").about("standard deviation of a proposal");
/// const THIN: Key = Key::new("thin", ValueKind::AT_LEAST_ONE, "10")
///     .about("keep every n-th draw")
///     .otherwise(Otherwise::Number(1.0));
/// assert!(STEP.is_required() && !THIN.is_required());
/// assert_eq!(STEP.kind.expected(), "a finite number over 0");
/// assert_eq!(THIN.otherwise.words(), "1");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As in a study.
    pub name: &'static str,
    /// What it means, in a sentence without a full stop.
    pub about: &'static str,
    /// Which values it takes.
    pub kind: ValueKind,
    /// What holds where it is left out.
    pub otherwise: Otherwise,
    /// A value that makes sense, as TOML.
    pub example: &'static str,
}

impl Key {
    /// A required key of this name and kind, with an example in TOML. [`Key::about`] completes it.
    pub const fn new(name: &'static str, kind: ValueKind, example: &'static str) -> Self {
        Self { name, about: "", kind, otherwise: Otherwise::Required, example }
    }

    /// The same with its meaning: a phrase without a full stop, shown by hints, editors and the reference.
    #[must_use]
    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// The same with what holds where a study leaves it out.
    #[must_use]
    pub const fn otherwise(self, otherwise: Otherwise) -> Self {
        Self { otherwise, ..self }
    }

    /// The same as a key that may be left out, without a default.
    #[must_use]
    pub const fn optional(self) -> Self {
        self.otherwise(Otherwise::Nothing)
    }

    /// Whether a study must set it.
    pub fn is_required(&self) -> bool {
        matches!(self.otherwise, Otherwise::Required)
    }

    /// Whether it is there to be refused with its reason; references and schemas leave it out.
    pub fn is_refused(&self) -> bool {
        matches!(self.kind, ValueKind::Refused(_))
    }
}

/// Which values a key takes.
///
/// A kind is a closed description of the values, not a function: an editor's JSON Schema and the
/// reference are made from it as well as the check. What depends on other keys does not belong here;
/// the reader of the settings refuses it with a [`Conflict`](super::Conflict).
#[derive(Debug, Clone, Copy)]
pub enum ValueKind {
    /// A finite number over 0.
    Positive,
    /// A number over 0 and under 1.
    Share,
    /// A number over 0 and at most 1.
    Fraction,
    /// A number from `least` to `most`.
    Within {
        /// The smallest.
        least: f64,
        /// The largest.
        most: f64,
    },
    /// A whole number.
    Count {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A text.
    Text,
    /// A list of so many finite numbers over 0.
    Positives {
        /// How many; 0 is one or more.
        length: usize,
    },
    /// A list of so many finite numbers.
    Numbers {
        /// How many; 0 is one or more.
        length: usize,
    },
    /// A list of one or more whole numbers.
    Counts {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A list of texts.
    Texts,
    /// A table with these keys.
    Table(&'static [Key]),
    /// A list of tables with these keys.
    Tables(&'static [Key]),
    /// A table from names to values of this kind.
    Map(&'static ValueKind),
    /// The name of something in the registry, whose own keys stand beside this one.
    Named(Registered),
    /// No value: the key belongs to similar tables, and here there is this reason against it.
    Refused(&'static str),
    /// Any of these.
    Either(&'static [ValueKind]),
}

impl ValueKind {
    /// A whole number of at least one.
    pub const AT_LEAST_ONE: Self = Self::Count { least: 1, most: u64::MAX };

    /// A whole number.
    pub const ANY_COUNT: Self = Self::Count { least: 0, most: u64::MAX };

    /// A finite number.
    pub const ANY_NUMBER: Self = Self::Within { least: f64::MIN, most: f64::MAX };

    /// What is expected, as the end of a sentence.
    pub fn expected(&self) -> String {
        match self {
            Self::Positive => "a finite number over 0".to_owned(),
            Self::Share => "a number over 0 and under 1".to_owned(),
            Self::Fraction => "a number over 0 and at most 1".to_owned(),
            Self::Within { least: f64::MIN, most: f64::MAX } => "a finite number".to_owned(),
            Self::Within { least, most } => format!("a number from {} to {}", short(*least), short(*most)),
            Self::Count { least, most } if least == most => format!("{least}"),
            Self::Count { least, most: u64::MAX } => format!("a whole number of at least {least}"),
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                match quoted.split_last() {
                    Some((last, [])) => last.clone(),
                    Some((last, others)) => format!("{} or {last}", others.join(", ")),
                    None => String::new(),
                }
            }
            Self::Flag => "true or false".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Positives { length: 0 } => "a list of finite numbers over 0".to_owned(),
            Self::Numbers { length: 0 } => "a list of finite numbers".to_owned(),
            Self::Numbers { length } => format!("a list of {length} finite numbers"),
            Self::Positives { length } => format!("a list of {length} finite numbers over 0"),
            Self::Counts { least, most: u64::MAX } => {
                format!("a list of one or more whole numbers of at least {least}")
            }
            Self::Counts { least, most } => format!("a list of whole numbers from {least} to {most}"),
            Self::Table(keys) => {
                let open = keys.iter().filter(|key| !key.is_refused());
                let keys: Vec<String> = open.map(|key| format!("{} = {}", key.name, key.example)).collect();
                format!("{{ {} }}", keys.join(", "))
            }
            Self::Texts => "a list of texts".to_owned(),
            Self::Tables(keys) => format!("a list of {}", Self::Table(keys).expected()),
            Self::Map(kind) => format!("a table of names, each with {}", kind.expected()),
            Self::Named(kind) => format!("the name of {}", kind.article()),
            Self::Refused(why) => format!("nothing: {why}"),
            Self::Either(kinds) => kinds.iter().map(Self::expected).collect::<Vec<_>>().join(", or "),
        }
    }
}

/// A number in as few characters as it takes: 1e-6 instead of 0.000001.
fn short(number: f64) -> String {
    let (plain, powers) = (format!("{number}"), format!("{number:e}"));
    if powers.len() < plain.len() { powers } else { plain }
}

/// What holds where a key is left out.
///
/// Numbers, words and flags are defaults that readers use. [`Otherwise::Follows`] is for people: the
/// value is worked out from other settings by the code that reads the key.
#[derive(Debug, Clone, Copy)]
pub enum Otherwise {
    /// The study is refused.
    Required,
    /// This number.
    Number(f64),
    /// This word.
    Word(&'static str),
    /// This flag.
    Flag(bool),
    /// What follows from other settings, in words.
    Follows(&'static str),
    /// Nothing: what the key describes is not there.
    Nothing,
}

impl Otherwise {
    /// In words, for the reference.
    pub fn words(&self) -> String {
        match self {
            Self::Required => "required".to_owned(),
            Self::Number(number) => format!("{number}"),
            Self::Word(word) => format!("\"{word}\""),
            Self::Flag(flag) => flag.to_string(),
            Self::Follows(words) => (*words).to_owned(),
            Self::Nothing => "none".to_owned(),
        }
    }
}
