//! A table against the keys that describe it: everything that is wrong with it, at once.
//!
//! The check goes in two passes. First, names are resolved: a key of kind [`ValueKind::Named`] brings
//! the keys of what it names, which may name something in turn (an algorithm its solver). Then every
//! value is held against its key, and missing keys are reported. Keys of something whose name is not
//! known cannot be told from slips, so they are not reported until the name is right.

use super::reading::number;
use super::{Conflict, Entry, Key, Registered, Registry, STRAY, UNKNOWN, UNREADABLE, VALUE, ValueKind};
use crate::data::nearest;
use toml::{Table, Value};

/// The key that says who is protected.
const UNIT: &str = "unit";

/// Everything that is wrong with a table: unknown keys, missing ones, values outside their range,
/// names that nobody has.
///
/// Where a key names something of the registry, the keys of that stand beside it and are looked at
/// too. An empty list means that [`Keys`](super::Keys) can read every value of the table by its kind.
///
/// Codes of the conflicts: [`UNKNOWN`] for a name that nobody has, [`STRAY`] for a key that belongs to
/// another method, [`UNREADABLE`] for a missing key or a value of another type, [`VALUE`] for a value
/// of the right type outside its range.
///
/// # Examples
/// ```
/// use inference::describe::{Registry, validate};
/// use inference::method::METHOD_KEYS;
///
/// let table = toml::from_str(r#"
///     name = "mine"
///     algorithm = "pvi"
///     solver = "pertub"
///     rounds = 0
/// "#)?;
/// let found = validate(&table, METHOD_KEYS, &Registry::standard());
/// assert_eq!((found[0].key.as_str(), found[0].hint.as_str()), ("solver", "did you mean \"perturb\"?"));
/// assert_eq!(found[1].what, "rounds is 0, expected a whole number of at least 1, or \"until-spent\"");
/// # Ok::<(), toml::de::Error>(())
/// ```
pub fn validate(table: &Table, keys: &[Key], registry: &Registry) -> Vec<Conflict> {
    let mut found = Vec::new();
    let mut known: Vec<Key> = keys.to_vec();
    // The key that named whatever brought each of them; none for those of the table itself.
    let mut origins: Vec<&str> = vec![""; known.len()];
    let mut at = 0;
    // What is named may name something in its turn, as an algorithm does its solver.
    while let Some(key) = known.get(at).copied() {
        if let (ValueKind::Named(kind), Some(name)) = (key.kind, named(table, &key)) {
            match registry.find(kind, name) {
                Ok(entry) => known.extend(added(entry, &known)),
                Err(conflict) => found.push(Conflict { key: key.name.to_owned(), ..conflict }),
            }
            origins.resize(known.len(), key.name);
        }
        at += 1;
    }
    let all_named = found.is_empty();
    let mut meant = Vec::new();
    for (name, value) in table {
        match known.iter().find(|key| key.name == name) {
            Some(key) => found.extend(value_conflicts(key, value, registry)),
            // Keys of something whose name is not known cannot be told from slips.
            None if all_named => {
                meant.extend(nearest(name, open(&known)));
                found.push(unknown(name, &known, registry));
            }
            None => {}
        }
    }
    // A key that was misspelt is not missing too.
    let missing = |key: &Key| key.is_required() && !table.contains_key(key.name) && !meant.contains(&key.name);
    for (key, origin) in known.iter().zip(origins).filter(|(key, _)| missing(key)) {
        let what = format!("`{}` ({}) is missing", key.name, key.about);
        found.push(Conflict::new(origin, UNREADABLE, what, format!("for example {} = {}", key.name, key.example)));
    }
    found
}

/// Names of the keys that may be set. Keys that exist only to be refused with a reason are left out.
fn open(known: &[Key]) -> impl Iterator<Item = &'static str> {
    known.iter().filter(|key| !key.is_refused()).map(|key| key.name)
}

/// The name that a key of kind [`ValueKind::Named`] has in this table, or has by default.
fn named<'a>(table: &'a Table, key: &Key) -> Option<&'a str> {
    match (table.get(key.name), key.otherwise) {
        (Some(value), _) => value.as_str(),
        (None, super::Otherwise::Word(word)) => Some(word),
        (None, _) => None,
    }
}

/// The keys that an entry brings, without those that are known already.
fn added(entry: &Entry, known: &[Key]) -> Vec<Key> {
    let new = |key: &&Key| known.iter().all(|other| other.name != key.name);
    entry.summary().keys.iter().filter(new).copied().collect()
}

/// A key that the table does not know: it belongs to another method, or it is misspelt.
fn unknown(name: &str, known: &[Key], registry: &Registry) -> Conflict {
    let kinds = [Registered::Algorithm, Registered::Solver, Registered::Sampler, Registered::Rule, Registered::Model];
    let owners: Vec<String> = kinds
        .into_iter()
        .filter_map(|kind| match registry.owners(kind, name).as_slice() {
            [] => None,
            [one] => Some(format!("{} {one:?}", kind.noun())),
            [one, other] => Some(format!("{}s {one:?} and {other:?}", kind.noun())),
            [one, other, ..] => Some(format!("{}s such as {one:?} and {other:?}", kind.noun())),
        })
        .collect();
    if !owners.is_empty() {
        let what = format!("{name} has no meaning here: it belongs to {}", owners.join(" and to "));
        return Conflict::new(name, STRAY, what, format!("leave {name} out"));
    }
    let hint = match nearest(name, open(known)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("expected one of {}", open(known).collect::<Vec<_>>().join(", ")),
    };
    Conflict::new(name, UNKNOWN, format!("there is no key `{name}`"), hint)
}

/// What is wrong with one value. Tables inside it are validated by their own keys, and the keys of
/// their conflicts are prefixed with the path that leads there.
fn value_conflicts(key: &Key, value: &Value, registry: &Registry) -> Vec<Conflict> {
    if let (ValueKind::Table(keys), Value::Table(table)) = (key.kind, value) {
        return validate(table, keys, registry).into_iter().map(|c| c.under(key.name)).collect();
    }
    if let (ValueKind::Tables(keys), Value::Array(list)) = (key.kind, value) {
        let of = |(at, value): (usize, &Value)| {
            let found = match value {
                Value::Table(table) => validate(table, keys, registry),
                other => {
                    let what = format!("{} is {other}, expected {}", key.name, ValueKind::Table(keys).expected());
                    vec![Conflict::new("", UNREADABLE, what, format!("for example {} = {}", key.name, key.example))]
                }
            };
            found.into_iter().map(move |conflict| conflict.under(&at.to_string())).collect::<Vec<_>>()
        };
        return list.iter().enumerate().flat_map(of).map(|conflict| conflict.under(key.name)).collect();
    }
    if let (ValueKind::Map(ValueKind::Table(keys)), Value::Table(map)) = (key.kind, value) {
        return named_tables(keys, map, registry).into_iter().map(|conflict| conflict.under(key.name)).collect();
    }
    if let (ValueKind::Either(kinds), Value::Table(table)) = (key.kind, value)
        && kinds.iter().any(|kind| matches!(kind, ValueKind::Table(_)))
    {
        return either_table(key, kinds, table, registry);
    }
    if let ValueKind::Refused(why) = key.kind {
        let what = format!("{} has no meaning here: {why}", key.name);
        return vec![Conflict::new(key.name, STRAY, what, format!("leave {} out", key.name))];
    }
    if fits(&key.kind, value) {
        return Vec::new();
    }
    let near = match (&key.kind, value) {
        // Who is protected is not guessed from letters: "patient" is near "client", which is a whole site.
        (ValueKind::Word(words), Value::String(word)) if key.name != UNIT => nearest(word, words.iter().copied()),
        _ => None,
    };
    let code = match (&key.kind, value) {
        (ValueKind::Word(_), Value::String(_)) => UNKNOWN,
        (kind, value) if is_of_type(kind, value) => VALUE,
        _ => UNREADABLE,
    };
    let what = format!("{} is {value}, expected {}", key.name, key.kind.expected());
    let hint = match near {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("{}; for example {} = {}", key.about, key.name, key.example),
    };
    vec![Conflict::new(key.name, code, what, hint)]
}

/// What is wrong with tables that each have a name of the study's choice.
fn named_tables(keys: &'static [Key], map: &Table, registry: &Registry) -> Vec<Conflict> {
    let of = |(name, value): (&String, &Value)| {
        let found = match value {
            Value::Table(table) => validate(table, keys, registry),
            other => {
                let expected = ValueKind::Table(keys).expected();
                let what = format!("{name} is {other}, expected {expected}");
                vec![Conflict::new("", UNREADABLE, what, format!("for example {name} = {expected}"))]
            }
        };
        found.into_iter().map(|conflict| conflict.under(name)).collect::<Vec<_>>()
    };
    map.iter().flat_map(of).collect()
}

/// Whether a value is of the kind's type, in its range or not. Decides between the codes
/// [`VALUE`] and [`UNREADABLE`].
fn is_of_type(kind: &ValueKind, value: &Value) -> bool {
    match kind {
        ValueKind::Positive | ValueKind::Share | ValueKind::Fraction | ValueKind::Within { .. } => {
            number(value).is_some()
        }
        ValueKind::Count { .. } => value.is_integer(),
        ValueKind::Positives { .. } | ValueKind::Numbers { .. } | ValueKind::Counts { .. } => {
            value.as_array().is_some_and(|list| list.iter().all(|entry| number(entry).is_some()))
        }
        ValueKind::Either(kinds) => kinds.iter().any(|kind| is_of_type(kind, value)),
        other => fits(other, value),
    }
}

/// A table where one of several may stand: what is wrong with the one that it is nearest to, which is
/// the one with the fewest conflicts.
fn either_table(key: &Key, kinds: &[ValueKind], table: &Table, registry: &Registry) -> Vec<Conflict> {
    let tables = kinds.iter().filter_map(|kind| if let ValueKind::Table(keys) = kind { Some(*keys) } else { None });
    let tried = tables.map(|keys| validate(table, keys, registry));
    match tried.min_by_key(Vec::len) {
        Some(least) => least.into_iter().map(|conflict| conflict.under(key.name)).collect(),
        None => {
            let what = format!("{} is a table, expected {}", key.name, key.kind.expected());
            vec![Conflict::new(key.name, UNREADABLE, what, format!("for example {} = {}", key.name, key.example))]
        }
    }
}

/// Whether a value is a list of `length` such numbers, or of one or more where `length` is 0.
fn numbers(value: &Value, length: usize, is_legal: fn(f64) -> bool) -> bool {
    value.as_array().is_some_and(|list| {
        (if length == 0 { !list.is_empty() } else { list.len() == length })
            && list.iter().all(|x| number(x).is_some_and(is_legal))
    })
}

/// Whether a value is one that the kind takes. Whole numbers are numbers too; NaN and infinities are
/// in no range.
fn fits(kind: &ValueKind, value: &Value) -> bool {
    let over = |range: fn(f64) -> bool| number(value).is_some_and(|x| x.is_finite() && range(x));
    let count = |value: &Value, least: u64, most: u64| {
        value.as_integer().and_then(|x| u64::try_from(x).ok()).is_some_and(|x| (least..=most).contains(&x))
    };
    match kind {
        ValueKind::Positive => over(|x| x > 0.0),
        ValueKind::Share => over(|x| x > 0.0 && x < 1.0),
        ValueKind::Fraction => over(|x| x > 0.0 && x <= 1.0),
        ValueKind::Within { least, most } => number(value).is_some_and(|x| (*least..=*most).contains(&x)),
        ValueKind::Count { least, most } => count(value, *least, *most),
        ValueKind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        ValueKind::Flag => value.is_bool(),
        ValueKind::Text | ValueKind::Named(_) => value.is_str(),
        ValueKind::Numbers { length } => numbers(value, *length, f64::is_finite),
        ValueKind::Positives { length } => numbers(value, *length, |x| x.is_finite() && x > 0.0),
        ValueKind::Counts { least, most } => {
            value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(|x| count(x, *least, *most)))
        }
        ValueKind::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_str)),
        ValueKind::Table(_) => value.is_table(),
        ValueKind::Tables(_) => value.is_array(),
        ValueKind::Map(kind) => value.as_table().is_some_and(|table| table.values().all(|value| fits(kind, value))),
        ValueKind::Refused(_) => false,
        ValueKind::Either(kinds) => kinds.iter().any(|kind| fits(kind, value)),
    }
}
