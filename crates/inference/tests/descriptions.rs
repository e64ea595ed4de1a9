//! What the registry says of its entries holds: names, examples, owners of keys; and readers tell everything at once.

use crate::common::{model_of, private_methods, rows, simulation, sites};
use inference::describe::{
    Conflict, Entry, Key, NOT_TOGETHER, Offer, PrivacyNeed, Registered, Registry, STRAY, UNKNOWN, UNREADABLE, VALUE,
    ValueKind, validate,
};
use inference::method::METHOD_KEYS;
use inference::{Method, Model, ModelSettings, RunError, Simulation, restored, stored};
use std::collections::BTreeSet;
use std::sync::Arc;
use toml::{Table, Value};

const KINDS: [Registered; 5] =
    [Registered::Algorithm, Registered::Solver, Registered::Sampler, Registered::Rule, Registered::Model];

fn registry() -> Registry {
    Registry::standard()
}

/// Every entry of the registry.
fn entries(registry: &Registry) -> Vec<Entry> {
    KINDS.into_iter().flat_map(|kind| registry.of(kind).copied().collect::<Vec<_>>()).collect()
}

/// A value as TOML has it.
fn value(text: &str) -> Value {
    let table: Table = format!("value = {text}").parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    table["value"].clone()
}

/// A key with its own example.
fn example(key: &Key) -> (String, Value) {
    (key.name.to_owned(), value(key.example))
}

/// Keys with those of the tables inside them.
fn nested(keys: &[Key]) -> Vec<Key> {
    let inside = |kind: &ValueKind| match kind {
        ValueKind::Table(keys) => nested(keys),
        ValueKind::Either(kinds) => kinds
            .iter()
            .flat_map(|kind| if let ValueKind::Table(keys) = kind { nested(keys) } else { vec![] })
            .collect(),
        _ => Vec::new(),
    };
    keys.iter().flat_map(|key| [*key].into_iter().chain(inside(&key.kind)).collect::<Vec<_>>()).collect()
}

/// The keys that an entry cannot do without, as chosen or by their examples; of a key that names something, what it then
/// needs too.
fn required(registry: &Registry, keys: &[Key], chosen: &Table) -> Table {
    let mut table = Table::new();
    for key in keys.iter().filter(|key| key.is_required()) {
        let value = chosen.get(key.name).cloned().unwrap_or_else(|| value(key.example));
        if let ValueKind::Named(kind) = key.kind {
            let named = registry.find(kind, value.as_str().unwrap()).unwrap();
            table.extend(required(registry, named.summary().keys, chosen));
        }
        table.insert(key.name.to_owned(), value);
    }
    table
}

/// The least table of a method with this algorithm, and with privacy where one of `needs` asks for it.
fn least(registry: &Registry, algorithm: &Entry, beside: Table, needs: PrivacyNeed) -> Table {
    let summary = algorithm.summary();
    let mut table = required(registry, summary.keys, &beside);
    table.extend(beside);
    table.extend([("name".to_owned(), "m".into()), ("algorithm".to_owned(), summary.name.into())]);
    if needs == PrivacyNeed::Required {
        table.extend(METHOD_KEYS.iter().filter(|key| key.name == "privacy").map(example));
    }
    table
}

/// Whether the table of a method is read, with the clip of the example or without it.
fn reads(registry: &Registry, table: &Table) -> Result<Method, Vec<Conflict>> {
    let mut unclipped = table.clone();
    if let Some(Value::Table(privacy)) = unclipped.get_mut("privacy") {
        privacy.remove("clip");
    }
    Method::read(table, registry).or_else(|found| Method::read(&unclipped, registry).map_err(|_| found))
}

fn find(registry: &Registry, kind: Registered, name: &str) -> Entry {
    *registry.find(kind, name).unwrap()
}

#[test]
fn names_are_unique_in_their_kind_and_other_names_lead_to_them() {
    let registry = registry();
    for kind in KINDS {
        let summaries: Vec<_> = registry.of(kind).map(Entry::summary).collect();
        let names: BTreeSet<&str> = summaries.iter().map(|summary| summary.name).collect();
        assert_eq!(names.len(), summaries.len(), "{kind:?}");
        let mut others = BTreeSet::new();
        for summary in &summaries {
            for also in summary.also {
                assert!(!names.contains(also) && others.insert(*also), "{kind:?}: {also} has two meanings");
                let conflict = registry.find(kind, also).unwrap_err();
                assert!(conflict.hint.contains(&format!("{:?}", summary.name)), "{also}: {}", conflict.hint);
                assert!(conflict.hint.contains(summary.about), "{also}: {}", conflict.hint);
            }
            assert!(summary.about.ends_with('.'), "{}: no sentence", summary.name);
        }
    }
}

#[test]
fn a_slip_is_told_the_nearest_name_and_a_word_from_elsewhere_all_names() {
    let registry = registry();
    for kind in KINDS {
        for name in registry.names(kind) {
            let conflict = registry.find(kind, &name[..name.len() - 1]).unwrap_err();
            assert_eq!((conflict.code, conflict.hint), (UNKNOWN, format!("did you mean {name:?}?")));
        }
        let conflict = registry.find(kind, "quite another thing").unwrap_err();
        assert!(registry.names(kind).iter().all(|name| conflict.hint.contains(name)), "{}", conflict.hint);
    }
}

#[test]
fn the_example_of_every_key_is_a_value_that_the_key_takes() {
    let registry = registry();
    let summaries: Vec<_> = entries(&registry).iter().map(Entry::summary).collect();
    let all = summaries.iter().flat_map(|summary| nested(summary.keys)).chain(nested(METHOD_KEYS));
    let mut tried = 0;
    for key in all.chain(nested(inference::MODEL_KEYS)).filter(|key| !key.is_refused()) {
        let (name, value) = example(&key);
        let table = Table::from_iter([(name, value.clone())]);
        if let ValueKind::Named(kind) = key.kind {
            assert!(registry.find(kind, value.as_str().unwrap()).is_ok(), "{}: {}", key.name, key.example);
        } else {
            let found = validate(&table, &[key], &registry);
            assert!(found.is_empty(), "{} = {}: {found:?}", key.name, key.example);
        }
        assert!(!key.about.is_empty() && !key.about.ends_with('.'), "{}: {}", key.name, key.about);
        tried += 1;
    }
    assert!(tried > 80, "{tried} keys only");
}

#[test]
fn the_examples_of_the_required_keys_of_every_entry_are_a_method() {
    let registry = registry();
    let of = |algorithm: &str, beside: Table, needs| {
        let table = least(&registry, &find(&registry, Registered::Algorithm, algorithm), beside, needs);
        let read = reads(&registry, &table).unwrap_or_else(|found| panic!("{table}: {found:?}"));
        assert_eq!(read.algorithm.descriptor().name, algorithm);
    };
    let inner = |table: &str, key: &str, entry: &Entry, outer: Table| {
        let mut all = outer;
        all.extend(required(&registry, entry.summary().keys, &Table::new()));
        all.insert(key.to_owned(), entry.summary().name.into());
        Table::from_iter([(table.to_owned(), Value::Table(all))])
    };
    let bound = Table::from_iter([("bound".to_owned(), Value::Float(7.5))]);
    for entry in entries(&registry) {
        let (summary, needs) = (entry.summary(), entry.summary().limits.privacy);
        match entry.kind() {
            Registered::Algorithm if summary.name == "statistics" => {
                of(summary.name, summary.keys.iter().map(example).collect(), PrivacyNeed::Required);
            }
            Registered::Algorithm => of(summary.name, Table::new(), PrivacyNeed::Required),
            Registered::Solver => {
                let covariance = summary.limits.covariances.values[0].word();
                // Rounds follow from the solver where it has a number of its own.
                let chosen =
                    [("solver", summary.name.into()), ("covariance", covariance.into()), ("rounds", 20.into())];
                let chosen = chosen.map(|(key, value): (&str, Value)| (key.to_owned(), value));
                of("pvi", chosen.clone().into_iter().collect(), needs);
                of("pvi", chosen.into_iter().chain(summary.keys.iter().map(example)).collect(), needs);
            }
            Registered::Sampler => {
                let iterations = Table::from_iter([("iterations".to_owned(), Value::Integer(100))]);
                of("chain", inner("chain", "sampler", &entry, iterations), PrivacyNeed::Required);
            }
            Registered::Rule => {
                of("statistics", inner("statistics", "rule", &entry, bound.clone()), PrivacyNeed::Required)
            }
            Registered::Model => drop(model(&registry, &entry, Table::new())),
        }
    }
}

/// The settings of a model that is stated by these keys.
fn model(registry: &Registry, entry: &Entry, keys: Table) -> Arc<dyn ModelSettings> {
    let mut table = keys;
    table.insert("kind".to_owned(), entry.summary().name.into());
    restored(&table, registry).unwrap_or_else(|conflict| panic!("{table}: {conflict}"))
}

#[test]
fn keys_of_one_algorithm_on_another_are_refused_with_their_owners() {
    let registry = registry();
    let mut tried = 0;
    for algorithm in registry.of(Registered::Algorithm) {
        let table = least(&registry, algorithm, Table::new(), PrivacyNeed::Required);
        let solver = table.get("solver").and_then(Value::as_str);
        let own: BTreeSet<&str> = METHOD_KEYS
            .iter()
            .chain(algorithm.summary().keys)
            .chain(solver.into_iter().flat_map(|name| find(&registry, Registered::Solver, name).summary().keys))
            .map(|key| key.name)
            .collect();
        for other in registry.of(Registered::Algorithm).chain(registry.of(Registered::Solver)) {
            for key in other.summary().keys.iter().filter(|key| !own.contains(key.name)) {
                let mut table = table.clone();
                table.extend([example(key)]);
                let found = Method::read(&table, &registry).unwrap_err();
                let told =
                    found.iter().find(|conflict| conflict.key == key.name).unwrap_or_else(|| panic!("{found:?}"));
                let (kind, owners) = (other.kind().noun(), registry.owners(other.kind(), key.name));
                let named = told.what.contains(kind) && told.what.contains(&format!("{:?}", owners[0]));
                assert!(told.code == STRAY && named, "{told:?}: {kind} {owners:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 50, "{tried} keys only");
}

/// What types cannot say any more: a full covariance of global VI, a solver of a chain.
#[test]
fn choices_that_an_algorithm_does_not_have_are_refused_at_their_key() {
    let registry = registry();
    for (algorithm, key, word) in [
        ("global-vi", "covariance", "full"),
        ("global-vi-at-clients", "covariance", "full"),
        ("noise-aware", "covariance", "full"),
        ("chain", "solver", "perturb"),
        ("statistics", "schedule", "sequential"),
    ] {
        let entry = find(&registry, Registered::Algorithm, algorithm);
        let mut beside = Table::from_iter([(key.to_owned(), Value::String(word.to_owned()))]);
        if algorithm == "statistics" {
            beside.extend(entry.summary().keys.iter().map(example));
        }
        let found = reads(&registry, &least(&registry, &entry, beside, PrivacyNeed::Required)).unwrap_err();
        assert!(found.iter().any(|conflict| conflict.key == key), "{algorithm}: {found:?}");
    }
}

/// Rules for factors and parts where they would not be sound, or have no meaning: each at its key, with the reason.
#[test]
fn rules_for_factors_and_parts_are_refused_where_they_are_not_sound() {
    let promise = "{ unit = 'example', adjacency = 'substitute', epsilon = 1.0, delta = 1e-5, clip = 2.0 }";
    let shared = promise.replace(" }", ", aggregator = 'curator' }");
    let nodes = promise.replace(" }", ", aggregator = 'secure-sum', nodes = 3 }");
    let local = "local = { steps = 2, optimiser = 'natural' }";
    let pvi = |rest: &str, promise: &str| format!("algorithm = 'pvi'\nrounds = 3\n{rest}\nprivacy = {promise}");
    let aware = |rest: &str| format!("algorithm = 'noise-aware'\n{rest}\nprivacy = {promise}");
    let parts = "parts = 4\nfactor = 'absolute'";
    let every = "noise_aware = { curvature = 'every-round' }";
    let kept = local.replace(" }", ", keep_state = true }");
    for (table, key, reason) in [
        (pvi(&format!("solver = 'virtual'\n{parts}\n{local}"), &shared), "factor", "no factor of its own"),
        (pvi(&format!("solver = 'average'\n{parts}\n{local}"), &nodes), "factor", "no factor of its own"),
        (pvi(&format!("solver = 'average'\n{parts}\n{kept}"), promise), "local.keep_state", "keep_state"),
        (pvi(&format!("solver = 'virtual'\n{parts}\n{kept}"), promise), "local.keep_state", "keep_state"),
        (
            pvi(&format!("solver = 'average'\n{parts}\ncovariance = 'full'\n{local}"), promise),
            "factor",
            "coordinate by coordinate",
        ),
        (aware(&format!("solver = 'virtual'\nparts = 4\n{local}")), "noise_aware.curvature", "row by row"),
        (aware(&format!("solver = 'dp-optimisation'\n{every}")), "solver", "clips steps"),
        (
            aware(&format!("solver = 'average'\nparts = 4\n{local}\n{every}\nsite_intercept = {{ precision = 1.0 }}")),
            "site_intercept",
            "that all sites share",
        ),
        (aware(&format!("solver = 'average'\nparts = 4\n{kept}\n{every}")), "local.keep_state", "keep_state"),
    ] {
        let table: Table = format!("name = 'm'\n{table}").parse().unwrap();
        let found = Method::read(&table, &registry()).and_then(|method| method.check().map_err(|one| vec![one]));
        let found = found.expect_err("it was taken");
        assert!(found.iter().any(|c| c.key == key && c.what.contains(reason)), "{table}: {found:?}");
    }
}

#[test]
fn everything_that_is_wrong_with_a_table_is_told_at_once() {
    let text = r#"
        name = "three faults and one inside"
        algorithm = "pvi"
        solver = "perturb"
        local = { optimiser = "adam", steps = 0 }
        damping = 7.0
        colour = "red"
        privacy = { unit = "exmple", adjacency = "substitute", delta = 1e-5, clip = 2.0 }
    "#;
    let found = Method::read(&text.parse().unwrap(), &registry()).unwrap_err();
    let told: BTreeSet<(&str, &str)> = found.iter().map(|conflict| (conflict.key.as_str(), conflict.code)).collect();
    let expected = [
        ("colour", UNKNOWN),
        ("damping", VALUE),
        ("local.steps", VALUE),
        ("privacy", UNREADABLE),
        ("privacy.unit", UNKNOWN),
    ];
    assert_eq!(told, BTreeSet::from(expected), "{found:?}");
    let missing = found.iter().find(|conflict| conflict.code == UNREADABLE).unwrap();
    assert!(missing.what.contains("`epsilon`"), "{found:?}");
    let slip = found.iter().find(|conflict| conflict.key == "privacy.unit").unwrap();
    assert!(slip.hint.starts_with("who is protected: one row"), "whom a slip protects is not guessed: {}", slip.hint);
}

#[test]
fn stored_models_are_restored_to_the_same_bytes() {
    let registry = registry();
    for entry in registry.of(Registered::Model) {
        let examples: Vec<Table> = entry.summary().keys.iter().map(|key| Table::from_iter([example(key)])).collect();
        let all: Table = entry.summary().keys.iter().map(example).collect();
        for keys in examples.into_iter().chain([Table::new(), all]) {
            let settings = model(&registry, entry, keys);
            let table = stored(settings.as_ref());
            // Through the text of a file, and back.
            let again = restored(&table.to_string().parse().unwrap(), &registry).unwrap();
            assert_eq!(again.canonical().unwrap(), settings.canonical().unwrap(), "{table}");
            assert_eq!(stored(again.as_ref()), table);
        }
    }
}

/// Every model of the registry, for an outcome of two levels where it takes one.
fn models(registry: &Registry) -> Vec<(&'static str, Arc<dyn Model>)> {
    let built = |entry: &Entry| {
        let settings = model(registry, entry, Table::new());
        let levels = [None, Some(2)].into_iter().find(|levels| settings.outcome().takes(*levels)).unwrap();
        (entry.summary().name, settings.build(levels, 1))
    };
    registry.of(Registered::Model).map(built).collect()
}

#[test]
fn a_method_that_needs_what_a_model_lacks_is_refused_at_its_key() {
    let (registry, sites, test) = (registry(), sites(), rows(2, 1));
    let models = models(&registry);
    let refusal = |method: &Method, name: &str| {
        let model = models.iter().find(|(kind, _)| *kind == name).unwrap().1.clone();
        match (Simulation { model, ..simulation(method, &sites, &test) }).build().err() {
            Some(RunError::Conflict(conflict)) => Some((conflict.key, conflict.code)),
            other => other.map(|error| panic!("{error}")),
        }
    };
    for (method, model, key) in [
        ("analytic", "logistic", "solver"),
        ("hybrid", "softmax", "solver"),
        ("statistics, plain", "network", "algorithm"),
        ("noise-aware, moments", "softmax", "algorithm"),
        ("network of classes, aligned", "linear", "local.gradients"),
        ("site intercept, average", "network", "site_intercept"),
        ("perturb", "mixture", "algorithm"),
        ("global vi", "mixture", "algorithm"),
        ("levels", "linear", "algorithm"),
        ("committee, same prior", "mixture", "algorithm"),
    ] {
        let method = private_methods().into_iter().find(|m| m.name == method).unwrap();
        assert_eq!(refusal(&method, model), Some((key.to_owned(), NOT_TOGETHER)), "{} on {model}", method.name);
    }
    for method in private_methods() {
        assert!(method.check_model(model_of(&method).offers()).is_ok(), "{}", method.name);
        let needed = method.algorithm.limits().into_iter().flat_map(|(_, limits)| limits.needs).count();
        assert_eq!(method.check_model(&[]).is_err(), needed > 0, "{}", method.name);
    }
    let offered: BTreeSet<String> =
        models.iter().flat_map(|(_, model)| model.offers()).map(|offer: &Offer| format!("{offer:?}")).collect();
    assert_eq!(offered.len(), 8, "an offer that no model makes: {offered:?}");
}
