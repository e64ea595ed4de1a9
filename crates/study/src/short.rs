//! What a study leaves out: the method that its model names, the promise that its methods share, its name, and δ.
//!
//! `[data]`, `[partition]`, `[model]` and `[privacy]` are a whole study. Without a `[[method]]`, the model's own file names the
//! method ([`inference::ModelSettings::default_method`]) and `[privacy]` is its promise. With `[[method]]`s, `[privacy]` is what
//! their own `privacy` leaves out; `privacy = "none"` keeps a method without privacy.

use super::data::DeclaredRows;
use super::fault::{Fault, StudyText};
use super::meant::Study;
use inference::describe::{Key, Otherwise, ValueKind};
use inference::method::NO_PRIVACY;
use inference::public::{Derived, PublicNumbers, delta_below};
use inference::settings::{DeltaRule, PRIVACY_KEYS};
use inference::{DefaultSetting, Method, OpenedAnswers, StudyModel};
use privacy::{Adjacency, Unit};
use std::path::Path;
use toml::{Table, Value};

/// The name of the method of a study that names none.
const DEFAULT_NAME: &str = "private";

/// Keys of a promise that are a method's own, and stay in it.
const OF_METHODS: [&str; 2] = ["clip", "noise_multiplier"];

/// Keys of a secure sum, which go with the aggregator of the same table.
const OF_SUMS: [&str; 4] = ["nodes", "noise", "colluders", "dropouts"];

/// `[privacy]`: the keys of a promise that methods may share.
pub(crate) const SHARED_PRIVACY: &[Key] = &{
    let mut keys = [PRIVACY_KEYS[0]; PRIVACY_KEYS.len()];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = shared(PRIVACY_KEYS[at]);
        at += 1;
    }
    keys
};

/// The same key as one of `[privacy]`.
const fn shared(key: Key) -> Key {
    match key.name.as_bytes() {
        b"epsilon" => key.otherwise(Otherwise::Follows("required, unless every [[method]] has its own")),
        b"clip" | b"noise_multiplier" => Key {
            kind: ValueKind::Refused("it is the matter of one method, in the `privacy` of its [[method]]"),
            ..key.optional()
        },
        _ => key,
    }
}

/// Where a method comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The `[[method]]` of this number, counted from 0.
    Method(usize),
    /// The model, in a study without a `[[method]]`.
    Default,
}

/// The table of one method, complete with what the study says elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MethodTable {
    pub(super) origin: Origin,
    pub(super) table: Table,
    /// The keys of its promise that are those of `[privacy]`.
    pub(super) shared: Vec<String>,
}

/// The methods of a study: those that it lists, or the default one of its model where it has a `[privacy]` and lists none.
///
/// # Errors
/// A study without methods and without `[privacy]`, and one whose model has no default method.
pub(super) fn methods(
    table: &Table,
    model: Option<&StudyModel>,
    source: &StudyText<'_>,
) -> Result<Vec<MethodTable>, Fault> {
    let privacy = table.get("privacy").and_then(Value::as_table);
    let listed = table.get("method").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let listed = listed.iter().filter_map(Value::as_table).enumerate();
    let listed: Vec<MethodTable> =
        listed.map(|(index, own)| with_shared(Origin::Method(index), own, privacy)).collect();
    match (listed.is_empty(), table.contains_key("method"), model) {
        (false, ..) | (_, true, _) | (_, _, None) => Ok(listed),
        (true, false, Some(_)) if !table.contains_key("privacy") => {
            let hint = "add [privacy] with epsilon = 1.0 for the default method, or a [[method]] to compare";
            Err(source.fault("method", "S005", "there is no [privacy] and no method".into(), hint))
        }
        (true, false, Some(model)) => Ok(vec![default_of(model, privacy, source)?]),
    }
}

/// The default method of a model, with the study's promise.
fn default_of(model: &StudyModel, privacy: Option<&Table>, source: &StudyText<'_>) -> Result<MethodTable, Fault> {
    let kind = model.settings.descriptor().name;
    let protected = privacy.and_then(|privacy| privacy.get("unit")).and_then(Value::as_str);
    let unit = match protected {
        Some("person") => Unit::Person,
        Some("client") => Unit::Client,
        _ => Unit::Example,
    };
    let aggregator = privacy.and_then(|privacy| privacy.get("aggregator")).and_then(Value::as_str);
    let opened = match aggregator {
        None | Some("none") => OpenedAnswers::OfEachSite,
        Some(_) => OpenedAnswers::SumOnly,
    };
    let own =
        model.settings.default_method(DefaultSetting { unit, opened }).and_then(|text| text.parse::<Table>().ok());
    let Some(mut own) = own else {
        let message = format!("a {kind} model has no default method");
        let hint = "add a [[method]] with an algorithm of your choice; [privacy] is then its default promise";
        return Err(source.fault("model.kind", "S005", message, hint));
    };
    own.insert("name".to_owned(), DEFAULT_NAME.into());
    // An empty promise is a promise that lacks everything, and not none.
    Ok(with_shared(Origin::Default, &own, Some(privacy.unwrap_or(&Table::new()))))
}

/// A method's table with what its promise leaves out and `[privacy]` says.
fn with_shared(origin: Origin, own: &Table, privacy: Option<&Table>) -> MethodTable {
    let (mut table, mut shared) = (own.clone(), Vec::new());
    let Some(privacy) = privacy else { return MethodTable { origin, table, shared } };
    let mine = table.entry("privacy").or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(mine) = mine {
        let aggregator_is_own = mine.contains_key("aggregator");
        for (key, value) in privacy {
            let of_sum = aggregator_is_own && OF_SUMS.contains(&key.as_str());
            if !mine.contains_key(key) && !of_sum && !OF_METHODS.contains(&key.as_str()) {
                mine.insert(key.clone(), value.clone());
                shared.push(key.clone());
            }
        }
    }
    MethodTable { origin, table, shared }
}

/// What to do about a promise that a method cannot make: one of its own is left out, one of `[privacy]` is declined.
pub(super) fn without_privacy(hint: &str, shared: &[String]) -> String {
    if shared.is_empty() {
        return hint.to_owned();
    }
    format!("write privacy = \"{NO_PRIVACY}\" in this method: [privacy] is the default of every method")
}

/// What a study file is called that says nothing of what it is about.
const UNTOLD: &str = "study";

/// A legal name for a study in this file, which may be relative to the present folder.
pub(super) fn name_at(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    name_of(&whole.to_string_lossy())
}

/// A legal name from that of a study file: its stem, with - in place of what a name cannot have. A file study.toml has the name of
/// its folder, so that studies in different folders have different names.
pub(super) fn name_of(file: &str) -> String {
    let path = Path::new(file);
    let stem = path.file_stem().filter(|_| path.extension().is_some_and(|end| end == "toml"));
    let folder = path.parent().and_then(Path::file_name).filter(|_| stem.is_some_and(|stem| stem == UNTOLD));
    let stem = folder.or(stem);
    let stem = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = stem.chars().map(plain).collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { UNTOLD.to_owned() } else { name.to_owned() }
}

/// δ of a method that leaves it out, from numbers that are public; none where it is stated, and where they are not.
///
/// Under substitution the number of rows is public. Under add-remove a declared one counts, and where persons are protected,
/// the declared number of persons. The number of clients is public in any case.
pub(super) fn delta(study: &Study, method: &Method, public: &PublicNumbers) -> Option<Derived> {
    let promise = method.promise.as_ref().filter(|promise| promise.delta == DeltaRule::LeftOut)?;
    match (promise.unit, promise.adjacency) {
        (Unit::Client, _) => Some(delta_below(public.rows.len() as u64, "clients")),
        (Unit::Example, Adjacency::Substitute) => Some(delta_below(public.rows.iter().sum(), "rows")),
        (Unit::Example, Adjacency::AddRemove) => Some(delta_below(declared(study, false)?, "declared rows")),
        (Unit::Person, _) => Some(delta_below(declared(study, true)?, "declared persons")),
    }
}

/// How many rows, or persons, the study declares, of all sites together.
fn declared(study: &Study, persons: bool) -> Option<u64> {
    let served = study.served.as_ref().filter(|served| served.by_person == persons);
    let data = if persons { &study.data.declared_persons } else { &study.data.declared_rows };
    match (served, data) {
        (Some(served), _) => Some(served.rows().iter().sum()),
        (None, Some(DeclaredRows::All(all))) => Some(*all),
        (None, Some(DeclaredRows::Each(each))) => Some(each.iter().sum()),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
