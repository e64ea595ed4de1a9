//! Settings that follow from public numbers: what a study leaves out is derived from rows, sites, inputs and the promise.
//!
//! A method is read twice. The first reading takes stand-ins for what was left out; the settings so read say what should stand in
//! their place for these numbers ([`crate::method::AlgorithmSettings::derived`]); what the study states itself stays. The second
//! reading is of the completed table. Everything here is known before any row is read, or is the public number of rows.
//!
//! A study that states its clip was set by hand: where a setting had a default before it could be derived, that default holds.

use crate::describe::{Conflict, Registry};
use crate::method::Method;
use crate::settings::{Aggregator, Promise};
use crate::{InputLayout, Schema};
use privacy::{Adjacency, Unit};
use toml::{Table, Value};

/// What everybody knows of a study before it runs.
///
/// Under substitution the number of rows is public. Under add-remove, or where persons or clients are protected, it is a declared
/// constant.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicNumbers {
    /// Rows of each site; persons, where a method protects these.
    pub rows: Vec<u64>,
    /// Where the rows come from.
    pub rows_are: RowCounts,
    /// Declared persons of each site; none where they are not declared.
    pub persons: Option<Vec<u64>>,
    /// What the inputs of a row are.
    pub inputs: InputLayout,
    /// The column whose encoded values reach farthest from 0 by the schema, the outcome among them, and how far; none where some
    /// column has no bounds.
    pub reach: Option<(String, f64)>,
    /// What a row's gradient is of its inputs at the start: 1 for a class, 1/σ² for a number; none where the model does not say.
    pub residual: Option<f64>,
    /// Least and greatest encoded outcome by the schema; none where it has levels, or no schema was given.
    pub outcome: Option<(f64, f64)>,
    /// How many levels the outcome has by the schema; none where it is a number, or no schema was given.
    pub classes: Option<usize>,
    /// The names of the sites in their order; none where they are not known.
    pub names: Option<Vec<String>>,
}

/// Where numbers of rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCounts {
    /// The tables were counted, which only substitution allows settings to follow from.
    Counted,
    /// The study declares them.
    Declared,
    /// The parties of a run have agreed on them, of rows and of persons: whatever else a study declares is for simulations.
    Agreed,
    /// Nobody said.
    Unknown,
}

/// x under which noise costs more than any bias of a clip.
const LITTLE_INFORMATION: f64 = 400.0;

/// x from which on bias of a clip costs more than its noise.
const MUCH_INFORMATION: f64 = 1_500.0;

impl PublicNumbers {
    /// These rows and inputs, and nothing else.
    pub fn new(rows: Vec<u64>, rows_are: RowCounts, inputs: InputLayout) -> Self {
        Self {
            rows,
            rows_are,
            persons: None,
            inputs,
            reach: None,
            residual: None,
            outcome: None,
            classes: None,
            names: None,
        }
    }

    /// The same with the bounds of a schema.
    #[must_use]
    pub fn with_schema(self, schema: &Schema) -> Self {
        let (column, reach) = schema.reach();
        let reach = reach.is_finite().then(|| (column.to_owned(), reach));
        Self { reach, outcome: schema.outcome().encoded_bounds(), classes: schema.classes(), ..self }
    }

    /// The same with the names of the sites.
    #[must_use]
    pub fn with_names(self, names: Option<Vec<String>>) -> Self {
        Self { names, ..self }
    }

    /// n: declared rows of all sites.
    pub fn all_rows(&self) -> f64 {
        self.rows.iter().fold(0.0, |sum, &rows| sum + rows as f64)
    }

    /// The rows of the smallest site.
    pub fn least_rows(&self) -> u64 {
        self.rows.iter().copied().min().unwrap_or(1).max(1)
    }

    /// k: inputs that are not 0 in a row: the numbers, one level of each category, and the intercept.
    pub fn nonzero_inputs(&self) -> f64 {
        let ones = self.inputs.blocks().len() + usize::from(self.inputs.intercept().is_some());
        ((self.inputs.numbers() + ones) as f64).max(1.0)
    }

    /// How many noises are in a sum over all sites.
    pub fn sources(&self, promise: &Promise) -> f64 {
        if promise.aggregator == Aggregator::None { self.rows.len().max(1) as f64 } else { 1.0 }
    }

    /// x = rows·ε/√sources: what all rows say, in units of the noise.
    pub fn information(&self, promise: &Promise) -> f64 {
        self.all_rows() * promise.epsilon.get() / self.sources(promise).sqrt()
    }

    /// A clip of this many times √k, in the units of the model's residuals, with its reason; none where the model does not say
    /// how large these are.
    pub(crate) fn clip(&self, times: f64, why: &str) -> Option<Derived> {
        let (residual, k) = (self.residual?, self.nonzero_inputs());
        let clip = rounded(times * residual * k.sqrt());
        let scale = if residual == 1.0 { String::new() } else { format!(" · {}", rounded(residual)) };
        let factor = if times == 1.0 { String::new() } else { format!(" · {times}") };
        Some(Derived::new("privacy.clip", clip, format!("√{k}{factor}{scale}: each row has {k} non-zero inputs{why}")))
    }

    /// The clip of single rows' gradients in many noisy steps, with its reason: ¼, ½ or 1 times √k, by how much the rows say through
    /// the noise. A small clip has less noise, and more bias where rows of a rare class are cut.
    pub(crate) fn clip_of_steps(&self, promise: &Promise) -> Option<Derived> {
        let x = self.information(promise);
        let (times, range) = if x < LITTLE_INFORMATION {
            (0.25, format!("under {LITTLE_INFORMATION}"))
        } else if x < MUCH_INFORMATION {
            (0.5, format!("from {LITTLE_INFORMATION} to {MUCH_INFORMATION}"))
        } else {
            (1.0, format!("at least {MUCH_INFORMATION}"))
        };
        self.clip(times, &format!("; {} · ε / √sources is {x:.0}, {range}", counted(promise.unit)))
    }

    /// What settings of a method may follow from: its persons in place of rows where these are protected, and nothing where the
    /// numbers are private and not declared.
    fn known_to(&self, method: &Method) -> Option<Self> {
        let Some(promise) = &method.promise else { return Some(self.clone()) };
        if promise.unit == Unit::Person {
            return self.persons.clone().map(|rows| Self { rows, rows_are: RowCounts::Declared, ..self.clone() });
        }
        let countable = promise.unit == Unit::Example && promise.adjacency == Adjacency::Substitute;
        let known = match self.rows_are {
            RowCounts::Declared | RowCounts::Agreed => true,
            RowCounts::Counted => countable,
            RowCounts::Unknown => false,
        };
        known.then(|| self.clone())
    }

    /// The same with so many rows at each site.
    fn with_rows(&self, rows: u64) -> Self {
        Self { rows: vec![rows; self.rows.len()], ..self.clone() }
    }
}

/// What the numbers of a promise are of, in words.
pub(crate) fn counted(unit: Unit) -> &'static str {
    match unit {
        Unit::Person => "persons",
        Unit::Example | Unit::Client => "rows",
    }
}

/// Three digits after the point.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
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
    /// Keys each of which says the same: where one is stated there is nothing to derive.
    pub or: &'static [&'static str],
    /// Keys that, where all of them are stated, leave the documented default in place.
    pub by_hand: &'static [&'static str],
}

impl Derived {
    /// A setting and its reason.
    pub fn new(key: impl Into<String>, value: impl Into<Value>, why: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), why: why.into(), or: &[], by_hand: &[] }
    }

    /// The same, unless one of these is stated.
    #[must_use]
    pub fn or(self, or: &'static [&'static str]) -> Self {
        Self { or, ..self }
    }

    /// The same, unless all of these are stated.
    #[must_use]
    pub fn unless(self, by_hand: &'static [&'static str]) -> Self {
        Self { by_hand, ..self }
    }

    /// Whether a table leaves it out.
    fn is_left_out_of(&self, table: &Table) -> bool {
        let by_hand = !self.by_hand.is_empty() && self.by_hand.iter().all(|key| stands(table, key));
        !by_hand && !stands(table, &self.key) && !self.or.iter().any(|key| stands(table, key))
    }
}

/// Largest δ that is taken where a study leaves it out, as a power of one tenth.
const LARGEST_DELTA: u32 = 5;

/// δ for a number n of rows, persons or clients, where a study leaves it out.
///
/// The largest power of ten that is at most 1/(10·n), and at most 1e-5. `units` says what is counted, such as "rows".
pub fn delta_below(number: u64, units: &str) -> Derived {
    let enough = |zeros: &u32| 10_u128.pow(*zeros) >= 10 * u128::from(number);
    let zeros = (LARGEST_DELTA..=21).find(enough).unwrap_or(21);
    let delta: f64 = format!("1e-{zeros}").parse().unwrap_or(f64::MIN_POSITIVE);
    let why =
        format!("the largest power of ten that is at most 1 / (10 · {number} {units}), and at most 1e-{LARGEST_DELTA}");
    Derived::new("privacy.delta", delta, why)
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
    ///
    /// # Errors
    /// What [`Method::read`] refuses; promises of sites that there are not; and settings that were left out and follow from numbers
    /// of rows or persons that are private and not declared.
    pub fn settled(table: &Table, registry: &Registry, public: &PublicNumbers) -> Result<Settled, Vec<Conflict>> {
        let one = |conflict| vec![conflict];
        let mut first = Self::read(table, registry)?;
        if let Some(names) = &public.names {
            first.sites = first.sites.placed(names).map_err(one)?;
        }
        let derived = match public.known_to(&first) {
            Some(known) => left_out(table, &first, &known),
            None => without_rows(table, &first, public).map_err(one)?,
        };
        if derived.is_empty() {
            return Ok(Settled { method: first, derived });
        }
        let mut completed = table.clone();
        derived.iter().for_each(|setting| put(&mut completed, &setting.key, setting.value.clone()));
        let method = Self { sites: first.sites, ..Self::read(&completed, registry)? };
        Ok(Settled { method, derived })
    }
}

/// What a table leaves out, for these numbers.
fn left_out(table: &Table, method: &Method, public: &PublicNumbers) -> Vec<Derived> {
    let mut derived = method.algorithm.derived(method, public);
    // The gradient of a whole client is no row's.
    let derivable = |setting: &Derived| method.unit() != Unit::Client || setting.key != "privacy.clip";
    derived.retain(|setting| derivable(setting) && setting.is_left_out_of(table));
    derived
}

/// Rows of a small and of a large site: what differs between them follows from the number of rows.
const FEW_AND_MANY: [u64; 2] = [50, 10_000_000];

/// The same where the number of rows is not known: what follows from it is refused.
fn without_rows(table: &Table, method: &Method, public: &PublicNumbers) -> Result<Vec<Derived>, Conflict> {
    let [few, many] = FEW_AND_MANY.map(|rows| left_out(table, method, &public.with_rows(rows)));
    let differs =
        |setting: &&Derived| many.iter().all(|other| (&other.key, &other.value) != (&setting.key, &setting.value));
    let keys: Vec<&str> = few.iter().filter(differs).map(|setting| setting.key.as_str()).collect();
    if keys.is_empty() {
        return Ok(few);
    }
    let (units, key) = match method.unit() {
        Unit::Person => ("persons", "declared_persons"),
        Unit::Example | Unit::Client => ("rows", "declared_rows"),
    };
    let what = format!("{} left out, and would follow from the number of {units}, which is not declared", said(&keys));
    let hint = format!("under [data] add {key} = N, the {units} of all clients together; or state {}", keys.join(", "));
    Err(Conflict::new("privacy", "S012", what, hint))
}

/// "a is", "a and b are".
fn said(keys: &[&str]) -> String {
    match keys {
        [one] => format!("{one} is"),
        all => format!("{} are", all.join(", ")),
    }
}

/// Whether a table has this key, such as `local.rate`.
pub fn stands(table: &Table, key: &str) -> bool {
    match key.split_once('.') {
        None => table.contains_key(key),
        Some((outer, inner)) => match table.get(outer) {
            Some(Value::Table(inside)) => stands(inside, inner),
            Some(_) => true,
            None => false,
        },
    }
}

/// Puts a value at a key such as `local.rate`, and makes the tables on its way.
pub fn put(table: &mut Table, key: &str, value: Value) {
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
    fn delta_is_a_power_of_ten_below_a_tenth_of_one_over_the_number() {
        let delta = |n| delta_below(n, "rows").value.as_float().unwrap();
        for (number, expected) in [(1, 1e-5), (10_000, 1e-5), (10_001, 1e-6), (45_222, 1e-6), (1_000_000, 1e-7)] {
            assert_eq!(delta(number), expected, "{number}");
        }
        assert!((1..200).map(|k| k * 7_919).all(|n| delta(n) * 10.0 * n as f64 <= 1.0 + 1e-12));
        assert!(delta(u64::MAX) > 0.0);
    }

    #[test]
    fn a_clip_of_steps_grows_with_what_rows_say_through_the_noise() {
        let table = "name = \"vi\"\nalgorithm = \"global-vi\"\n\
                     privacy = { unit = \"example\", adjacency = \"substitute\", epsilon = 1.0, delta = 1e-5 }";
        let method = Method::read(&table.parse().unwrap(), &Registry::standard()).unwrap();
        let of = |rows: [u64; 4]| {
            let inputs = InputLayout::new(9, 8).unwrap().with_intercept();
            let public =
                PublicNumbers { residual: Some(1.0), ..PublicNumbers::new(rows.to_vec(), RowCounts::Counted, inputs) };
            public.clip_of_steps(&method.promise.unwrap()).unwrap()
        };
        // Nine inputs are not 0 in a row, and four sites add noise: x is half the number of rows.
        for (rows, clip, range) in [
            ([150; 4], 0.75, "is 300, under 400"),
            ([200; 4], 1.5, "is 400, from 400 to 1500"),
            ([750; 4], 3.0, "is 1500, at least 1500"),
        ] {
            let found = of(rows);
            assert_eq!((found.key.as_str(), found.value.as_float()), ("privacy.clip", Some(clip)));
            assert!(found.why.ends_with(range), "{}", found.why);
        }
    }

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
