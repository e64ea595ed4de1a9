//! A list of ε in one method: a method for each, with names of their own.

use super::regret::HandSettings;
use super::short::{MethodTable, Origin};
use toml::{Table, Value};

/// One method of a study, and where it stands in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    /// Where it comes from.
    pub(super) origin: Origin,
    /// As typed, or "NAME, ε X" for one of a list.
    pub(super) name: String,
    /// The name as typed, where it is one of a list.
    pub(super) listed: Option<String>,
    /// Its table, with one ε and with what `[privacy]` adds.
    pub(super) table: Table,
    /// The keys of its promise that are those of `[privacy]`.
    pub(super) shared: Vec<String>,
    /// Which settings of it were set by hand, where it stands beside a derived one.
    pub(super) hand: Option<HandSettings>,
}

impl Named {
    /// Where a key of it stands in the file: in its own table, or in `[privacy]`.
    pub(super) fn path(&self, key: &str) -> String {
        match (self.origin, key.strip_prefix("privacy.")) {
            (_, Some(inner)) if self.shared.iter().any(|shared| inner.split('.').next() == Some(shared)) => {
                key.to_owned()
            }
            (Origin::Method(index), _) if key.is_empty() => format!("method.{index}"),
            (Origin::Method(index), _) => format!("method.{index}.{key}"),
            (Origin::Default, _) if key.is_empty() || key.starts_with("privacy") => "privacy".to_owned(),
            (Origin::Default, _) => "model.kind".to_owned(),
        }
    }

    /// The ε that it promises; none where nothing is promised.
    pub(super) fn epsilon(&self) -> Option<f64> {
        let epsilon = self.table.get("privacy")?.get("epsilon")?;
        epsilon.as_float().or_else(|| epsilon.as_integer().map(|number| number as f64))
    }
}

/// All methods in order, lists laid out. What is wrong with a table is found by who reads it.
pub(super) fn all(methods: &[MethodTable]) -> Vec<Named> {
    methods.iter().flat_map(each).collect()
}

fn each(typed: &MethodTable) -> Vec<Named> {
    let table = &typed.table;
    let name = table.get("name").and_then(Value::as_str).unwrap_or_default();
    let list = table.get("privacy").and_then(|privacy| privacy.get("epsilon")).and_then(Value::as_array);
    match list {
        Some(list) if !list.is_empty() => list.iter().map(|epsilon| one_of(typed, name, epsilon)).collect(),
        _ => {
            let (origin, shared) = (typed.origin, typed.shared.clone());
            vec![Named { origin, name: name.to_owned(), listed: None, table: table.clone(), shared, hand: None }]
        }
    }
}

fn one_of(typed: &MethodTable, name: &str, epsilon: &Value) -> Named {
    let shown = match epsilon {
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    };
    let (own, mut table) = (format!("{name}, ε {shown}"), typed.table.clone());
    table.insert("name".to_owned(), Value::String(own.clone()));
    if let Some(Value::Table(privacy)) = table.get_mut("privacy") {
        privacy.insert("epsilon".to_owned(), epsilon.clone());
    }
    let (origin, shared) = (typed.origin, typed.shared.clone());
    Named { origin, name: own, listed: Some(name.to_owned()), table, shared, hand: None }
}

#[cfg(test)]
mod tests {
    use super::super::meant::Study;

    fn study(epsilon: &str, more: &str) -> String {
        format!(
            "schema = 1\n[study]\nname = 's'\nseeds = [1]\n[data]\nsource = 'adult'\nsplit = {{ half = true }}\n\
             [partition]\nkind = 'even'\nclients = 2\n[model]\nkind = 'logistic'\n[[method]]\nname = 'm'\n\
             algorithm = 'noise-aware'\nrounds = 2\nprivacy = {{ unit = 'example', adjacency = 'substitute', \
             epsilon = {epsilon}, delta = 1e-5, clip = 2.0 }}\n{more}"
        )
    }

    #[test]
    fn a_list_of_epsilon_is_a_method_for_each_and_all_else_is_alike() {
        let read = |epsilon| Study::read("s.toml", &study(epsilon, "")).unwrap().methods;
        let (listed, one) = (read("[0.5, 3, 8.0]"), read("3.0"));
        let names: Vec<&str> = listed.iter().map(|method| method.name.as_str()).collect();
        assert_eq!(names, ["m, ε 0.5", "m, ε 3", "m, ε 8"]);
        let epsilons: Vec<f64> = listed.iter().flat_map(|m| &m.promise).map(|p| p.epsilon.get()).collect();
        assert_eq!(epsilons, [0.5, 3.0, 8.0]);
        let renamed = inference::Method { name: "m".into(), ..listed[1].clone() };
        assert_eq!(renamed, one[0]);
    }

    #[test]
    fn lists_that_are_empty_or_say_a_thing_twice_or_cannot_be_are_refused_at_their_line() {
        let twin = "[[method]]\nname = 'm, ε 3'\nalgorithm = 'noise-aware'\nrounds = 2\n";
        for (epsilon, more, code, words) in [
            ("[]", "", "S004", "epsilon is []"),
            ("[1.0, 1]", "", "S005", "two methods are named \"m, ε 1\""),
            ("[1.0, -2.0]", "", "S004", "epsilon is -2.0"),
            ("[3.0]", twin, "S005", "two methods are named \"m, ε 3\""),
            ("['one']", "", "S001", "epsilon is"),
        ] {
            let faults = Study::read("s.toml", &study(epsilon, more)).unwrap_err();
            let fault = faults.first();
            assert!(fault.code == code && fault.message.contains(words), "{epsilon}: {fault:?}");
            assert!(!fault.place.ends_with(":1:1"), "{fault:?}");
        }
    }
}
