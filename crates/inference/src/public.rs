//! Settings that follow from public numbers: what a study leaves out is derived from rows, sites, inputs and the promise.
//!
//! A method is read twice. The first reading takes stand-ins for what was left out; the settings so read say what should stand in
//! their place for these numbers ([`crate::method::AlgorithmSettings::derived`]); what the study states itself stays. The second
//! reading is of the completed table. Everything here is known before any row is read, or is the public number of rows.

use crate::InputLayout;
use crate::describe::{Conflict, Registry};
use crate::method::Method;
use privacy::Unit;
use toml::{Table, Value};

/// What everybody knows of a study before it runs.
///
/// Under substitution the number of rows is public. Under add-remove, or where persons or clients are protected, it is a declared
/// constant.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicNumbers {
    /// Declared rows of each site.
    pub rows: Vec<u64>,
    /// What the inputs of a row are.
    pub inputs: InputLayout,
}

impl PublicNumbers {
    /// n: declared rows of all sites.
    pub fn all_rows(&self) -> f64 {
        self.rows.iter().fold(0.0, |sum, &rows| sum + rows as f64)
    }
}

/// A setting that was left out, what it became, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// Its key in the method's table, such as `local.rate`.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Why, in words that name the numbers.
    pub why: String,
}

impl Derived {
    /// A setting and its reason.
    pub fn new(key: impl Into<String>, value: impl Into<Value>, why: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), why: why.into() }
    }
}

/// A method without anything left out, and the settings that were derived.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The method.
    pub method: Method,
    /// What was derived, in the order of the method's keys.
    pub derived: Vec<Derived>,
}

impl Method {
    /// Reads a `[[method]]` and derives what it leaves out from public numbers.
    pub fn settled(table: &Table, registry: &Registry, public: &PublicNumbers) -> Result<Settled, Vec<Conflict>> {
        let first = Self::read(table, registry)?;
        // Where persons are protected the number of rows is private: nothing is derived from it.
        let mut derived = match first.unit() {
            Unit::Person => Vec::new(),
            Unit::Example | Unit::Client => first.algorithm.derived(first.promise.as_ref(), public),
        };
        derived.retain(|setting| !stands(table, &setting.key));
        if derived.is_empty() {
            return Ok(Settled { method: first, derived });
        }
        let mut completed = table.clone();
        derived.iter().for_each(|setting| put(&mut completed, &setting.key, setting.value.clone()));
        Ok(Settled { method: Self::read(&completed, registry)?, derived })
    }
}

/// Whether a table has this key.
fn stands(table: &Table, key: &str) -> bool {
    match key.split_once('.') {
        None => table.contains_key(key),
        Some((outer, inner)) => match table.get(outer) {
            Some(Value::Table(inside)) => stands(inside, inner),
            Some(_) => true,
            None => false,
        },
    }
}

fn put(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => drop(table.insert(key.to_owned(), value)),
        Some((outer, inner)) => {
            let inside = table.entry(outer).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inside) = inside {
                put(inside, inner, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_study_states_stays_and_what_it_leaves_out_is_put() {
        let mut table: Table = "rounds = 3\nlocal = { rate = 0.1 }\nopening = \"none\"".parse().unwrap();
        for (key, there) in [
            ("rounds", true),
            ("local.rate", true),
            ("local.steps", false),
            ("readout.average", false),
            ("opening.share", true),
        ] {
            assert_eq!(stands(&table, key), there, "{key}");
        }
        put(&mut table, "local.steps", 7.into());
        put(&mut table, "readout.average", 6.into());
        let expected: Table =
            "rounds = 3\nlocal = { rate = 0.1, steps = 7 }\nopening = \"none\"\nreadout = { average = 6 }"
                .parse()
                .unwrap();
        assert_eq!(table, expected);
    }
}
