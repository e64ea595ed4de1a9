//! The values of a table, read by the keys that describe it.
//!
//! Everything here comes after [`validate`](super::validate). A method that still finds a value of
//! another type, or none where there must be one, returns a [`Conflict`] instead of a panic: a table
//! may come from a program that did not validate it.

use super::{Conflict, Key, Otherwise, Registry, UNREADABLE};
use crate::settings::Promise;
use toml::{Table, Value};

/// What a descriptor reads its settings from: the values, the promise of the method, and the registry
/// in which it looks up its own parts.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The table, whose values were validated against the keys.
    pub keys: Keys<'a>,
    /// What the method promises; none without privacy, and for models.
    pub promise: Option<&'a Promise>,
    /// Where names of other parts are looked up.
    pub registry: &'a Registry,
}

impl<'a> Reading<'a> {
    /// The same, of a table inside this one; an empty one where it is left out.
    pub fn table(&self, name: &'static str, keys: &'static [Key]) -> Reading<'a> {
        Reading { keys: self.keys.table(name, keys), ..*self }
    }
}

/// A table of values with the keys that describe them.
///
/// Methods come in pairs. `number`, `count`, `word` and `flag` fall back on the default of the key,
/// and refuse where there is none. `maybe_number` and its like return `None` where the study is
/// silent, for settings whose absence has a meaning of its own.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    /// The values.
    table: &'a Table,
    /// Their descriptions, which have the defaults.
    keys: &'static [Key],
    /// The table's own key, empty for the outermost.
    at: &'static str,
}

/// The table of a key that is left out.
fn empty() -> &'static Table {
    static EMPTY: std::sync::LazyLock<Table> = std::sync::LazyLock::new(Table::new);
    &EMPTY
}

impl<'a> Keys<'a> {
    /// Values of a table that was validated against these keys.
    pub fn new(table: &'a Table, keys: &'static [Key]) -> Self {
        Self { table, keys, at: "" }
    }

    /// The same table by the keys of another description.
    #[must_use]
    pub fn by(self, keys: &'static [Key]) -> Self {
        Self { keys, ..self }
    }

    /// A table inside this one; an empty one where it is left out or where the value is no table.
    pub fn table(&self, name: &'static str, keys: &'static [Key]) -> Keys<'a> {
        let table = self.table.get(name).and_then(Value::as_table).unwrap_or(empty());
        Keys { table, keys, at: name }
    }

    /// The tables inside a table from names to tables; none where it is left out.
    pub fn tables(&self, name: &str, keys: &'static [Key]) -> impl Iterator<Item = (&'a str, Keys<'a>)> {
        let named = self.table.get(name).and_then(Value::as_table).unwrap_or(empty());
        named.iter().map(move |(name, value)| {
            (name.as_str(), Keys { table: value.as_table().unwrap_or(empty()), keys, at: "" })
        })
    }

    /// Whether the study sets the key.
    pub fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// Whether the key is set to a table.
    pub fn is_table(&self, name: &str) -> bool {
        self.table.get(name).is_some_and(Value::is_table)
    }

    /// A refusal at a key of this table.
    pub fn conflict(
        &self,
        name: &str,
        code: &'static str,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Conflict {
        Conflict::new(name, code, what, hint).under(self.at)
    }

    /// A number, or what holds where it is left out.
    ///
    /// # Errors
    /// A conflict where the key is left out and has no default, or its value is no number.
    pub fn number(&self, name: &str) -> Result<f64, Conflict> {
        match (self.maybe_number(name)?, self.otherwise(name)) {
            (Some(number), _) => Ok(number),
            (None, Some(Otherwise::Number(number))) => Ok(number),
            (None, _) => Err(self.missing(name)),
        }
    }

    /// A number, if the study sets one.
    pub fn maybe_number(&self, name: &str) -> Result<Option<f64>, Conflict> {
        self.table.get(name).map(|value| number(value).ok_or_else(|| self.wrong(name, "a number"))).transpose()
    }

    /// A whole number, or what holds where it is left out.
    ///
    /// # Errors
    /// A conflict where the key is left out and has no default, or its value is no whole number of at least 0.
    pub fn count(&self, name: &str) -> Result<u64, Conflict> {
        match (self.maybe_count(name)?, self.otherwise(name)) {
            (Some(count), _) => Ok(count),
            (None, Some(Otherwise::Number(number))) => Ok(number as u64),
            (None, _) => Err(self.missing(name)),
        }
    }

    /// A whole number, if the study sets one.
    pub fn maybe_count(&self, name: &str) -> Result<Option<u64>, Conflict> {
        let count = |value: &Value| value.as_integer().and_then(|number| u64::try_from(number).ok());
        self.table.get(name).map(|value| count(value).ok_or_else(|| self.wrong(name, "a whole number"))).transpose()
    }

    /// A whole number that fits 32 bits, or what holds where it is left out.
    pub fn small_count(&self, name: &str) -> Result<u32, Conflict> {
        let count = self.count(name)?;
        u32::try_from(count).map_err(|_| self.wrong(name, "at most 4294967295"))
    }

    /// A word, or what holds where it is left out.
    ///
    /// # Errors
    /// A conflict where the key is left out and has no default.
    pub fn word(&self, name: &str) -> Result<&'a str, Conflict> {
        match (self.maybe_word(name), self.otherwise(name)) {
            (Some(word), _) => Ok(word),
            (None, Some(Otherwise::Word(word))) => Ok(word),
            (None, _) => Err(self.missing(name)),
        }
    }

    /// A word, if the study sets one.
    pub fn maybe_word(&self, name: &str) -> Option<&'a str> {
        self.table.get(name).and_then(Value::as_str)
    }

    /// A flag, or what holds where it is left out.
    ///
    /// # Errors
    /// A conflict where the key is left out and has no default, or its value is neither true nor false.
    pub fn flag(&self, name: &str) -> Result<bool, Conflict> {
        match (self.table.get(name).map(Value::as_bool), self.otherwise(name)) {
            (Some(Some(flag)), _) => Ok(flag),
            (None, Some(Otherwise::Flag(flag))) => Ok(flag),
            (Some(None), _) => Err(self.wrong(name, "true or false")),
            (None, _) => Err(self.missing(name)),
        }
    }

    /// A list of numbers, if the study sets one.
    pub fn maybe_numbers(&self, name: &str) -> Result<Option<Vec<f64>>, Conflict> {
        let list = |value: &Value| value.as_array()?.iter().map(number).collect::<Option<Vec<f64>>>();
        self.table.get(name).map(|value| list(value).ok_or_else(|| self.wrong(name, "a list of numbers"))).transpose()
    }

    /// What holds where a key of this table is left out; none where the table has no such key.
    fn otherwise(&self, name: &str) -> Option<Otherwise> {
        self.keys.iter().find(|key| key.name == name).map(|key| key.otherwise)
    }

    /// The refusal of a table without a key that it needs.
    fn missing(&self, name: &str) -> Conflict {
        let key = self.keys.iter().find(|key| key.name == name);
        let (about, example) = key.map_or(("", "…"), |key| (key.about, key.example));
        let about = if about.is_empty() { String::new() } else { format!(" ({about})") };
        self.conflict("", UNREADABLE, format!("`{name}`{about} is missing"), format!("for example {name} = {example}"))
    }

    /// The refusal of a value of another type.
    fn wrong(&self, name: &str, expected: &str) -> Conflict {
        let found = self.table.get(name).map_or_else(String::new, Value::to_string);
        self.conflict(name, UNREADABLE, format!("{name} is {found}, expected {expected}"), "change the value")
    }
}

/// A number, whole or not.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}
