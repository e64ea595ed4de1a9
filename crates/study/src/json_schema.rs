//! JSON Schemas (draft 7) made from keys and the registry: editors complete and check studies by them.

use crate::curves::CURVES_KEYS;
use crate::histogram::HISTOGRAM_KEYS;
use crate::keys::STUDY_KEYS;
use inference::describe::{EntrySummary, Key, Otherwise, Registry, ValueKind};
use serde_json::{Map, Value, json};

/// The dialect that editors of TOML know.
const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// The schema of a file whose outermost table has these keys.
pub fn of_file(title: &str, keys: &[Key], registry: &Registry) -> Value {
    titled(title, table(keys, registry))
}

fn titled(title: &str, mut schema: Map<String, Value>) -> Value {
    schema.insert("$schema".to_owned(), json!(DIALECT));
    schema.insert("title".to_owned(), json!(title));
    Value::Object(schema)
}

/// The schema of study files of every kind: those that learn, histograms and accounting figures.
///
/// Every key of every kind is among its properties, so that editors offer it; which of them must or may be there depends on
/// the table that only one kind has.
pub fn of_study(registry: &Registry) -> Value {
    let mut schema = table(STUDY_KEYS, registry);
    let others = [("curves", CURVES_KEYS), ("histogram", HISTOGRAM_KEYS)];
    let has = |name: &str| json!({ "required": [name] });
    let mut conditions: Vec<Value> =
        others.iter().map(|(own, keys)| json!({ "if": has(own), "then": table(keys, registry) })).collect();
    let any: Vec<Value> = others.iter().map(|(own, _)| has(own)).collect();
    conditions.push(json!({ "if": { "anyOf": any }, "else": { "required": required(STUDY_KEYS) } }));
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for key in others.iter().flat_map(|(_, keys)| *keys) {
            if !properties.contains_key(key.name) {
                properties.insert(key.name.to_owned(), property(key, registry));
            }
        }
    }
    schema.remove("required");
    schema.insert("allOf".to_owned(), Value::Array(conditions));
    titled("A study of Posterity", schema)
}

/// A table: its keys, those of whatever it names and of what these name, and what is required.
fn table(keys: &[Key], registry: &Registry) -> Map<String, Value> {
    let mut properties: Map<String, Value> = Map::new();
    let mut conditions = Vec::new();
    let (mut waiting, mut laid_out) = (keys.to_vec(), Vec::new());
    let mut at = 0;
    while let Some(key) = waiting.get(at).copied() {
        at += 1;
        if key.is_refused() {
            continue;
        }
        insert(&mut properties, &key, property(&key, registry));
        let ValueKind::Named(kind) = key.kind else { continue };
        if laid_out.contains(&kind) {
            continue;
        }
        laid_out.push(kind);
        for entry in registry.of(kind) {
            let summary = entry.summary();
            waiting.extend(summary.keys);
            conditions.extend(condition(&key, &summary));
        }
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required(keys)));
    schema.insert("additionalProperties".to_owned(), json!(false));
    if !conditions.is_empty() {
        schema.insert("allOf".to_owned(), Value::Array(conditions));
    }
    schema
}

/// What must stand beside a key that names this; none where nothing must.
fn condition(key: &Key, named: &EntrySummary) -> Option<Value> {
    let required = required(named.keys);
    let by_default = matches!(key.otherwise, Otherwise::Word(word) if word == named.name);
    let present: &[&str] = if by_default { &[] } else { &[key.name] };
    (!required.is_empty()).then(|| {
        json!({
            "if": { "properties": { key.name: { "const": named.name } }, "required": present },
            "then": { "required": required },
        })
    })
}

/// Puts a key in; where another of that name is there already, either may stand.
fn insert(properties: &mut Map<String, Value>, key: &Key, schema: Value) {
    match properties.get_mut(key.name) {
        None => {
            properties.insert(key.name.to_owned(), schema);
        }
        Some(there) if *there == schema => {}
        Some(there) => match there.get_mut("anyOf").and_then(Value::as_array_mut) {
            Some(several) if several.contains(&schema) => {}
            Some(several) => several.push(schema),
            None => *there = json!({ "anyOf": [there.clone(), schema] }),
        },
    }
}

fn required(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().filter(|key| key.is_required()).map(|key| key.name).collect()
}

fn property(key: &Key, registry: &Registry) -> Value {
    let mut schema = kind(&key.kind, registry);
    let text = match key.otherwise {
        Otherwise::Required | Otherwise::Nothing => format!("{}. Example: {}", sentence(key.about), key.example),
        other => format!("{}. Default: {}. Example: {}", sentence(key.about), other.words(), key.example),
    };
    schema.insert("description".to_owned(), json!(text));
    match key.otherwise {
        Otherwise::Number(number) => schema.insert("default".to_owned(), json!(number)),
        Otherwise::Word(word) => schema.insert("default".to_owned(), json!(word)),
        Otherwise::Flag(flag) => schema.insert("default".to_owned(), json!(flag)),
        Otherwise::Required | Otherwise::Follows(_) | Otherwise::Nothing => None,
    };
    Value::Object(schema)
}

/// The first letter in upper case.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn kind(kind: &ValueKind, registry: &Registry) -> Map<String, Value> {
    let schema = match kind {
        ValueKind::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
        ValueKind::Share => json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
        ValueKind::Fraction => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        ValueKind::Within { least: f64::MIN, most: f64::MAX } => json!({ "type": "number" }),
        ValueKind::Within { least, most } => json!({ "type": "number", "minimum": least, "maximum": most }),
        ValueKind::Count { least, most: u64::MAX } => json!({ "type": "integer", "minimum": least }),
        ValueKind::Count { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueKind::Word(words) => json!({ "type": "string", "enum": words }),
        ValueKind::Flag => json!({ "type": "boolean" }),
        ValueKind::Text => json!({ "type": "string" }),
        ValueKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        ValueKind::Numbers { length: 0 } => json!({ "type": "array", "minItems": 1, "items": { "type": "number" } }),
        ValueKind::Numbers { length } => json!({
            "type": "array", "minItems": length, "maxItems": length, "items": { "type": "number" },
        }),
        ValueKind::Positives { length: 0 } => json!({
            "type": "array", "minItems": 1, "items": { "type": "number", "exclusiveMinimum": 0 },
        }),
        ValueKind::Positives { length } => json!({
            "type": "array", "minItems": length, "maxItems": length,
            "items": { "type": "number", "exclusiveMinimum": 0 },
        }),
        ValueKind::Counts { least, most } => json!({
            "type": "array", "minItems": 1, "items": self::kind(&ValueKind::Count { least: *least, most: *most }, registry),
        }),
        ValueKind::Table(keys) => Value::Object(table(keys, registry)),
        ValueKind::Tables(keys) => json!({ "type": "array", "items": table(keys, registry) }),
        ValueKind::Map(values) => {
            json!({ "type": "object", "additionalProperties": self::kind(values, registry) })
        }
        ValueKind::Named(named) => json!({ "type": "string", "enum": registry.names(*named) }),
        ValueKind::Refused(_) => json!({ "not": {} }),
        ValueKind::Either(kinds) => {
            let each: Vec<Value> = kinds.iter().map(|one| Value::Object(self::kind(one, registry))).collect();
            json!({ "anyOf": each })
        }
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inference::describe::Registered;

    /// The names of all properties, at any depth.
    fn properties(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(table) => {
                if let Some(Value::Object(own)) = table.get("properties") {
                    found.extend(own.keys().cloned());
                }
                table.values().for_each(|value| properties(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| properties(value, found)),
            _ => {}
        }
    }

    fn names(keys: &[Key], found: &mut Vec<&'static str>) {
        for key in keys {
            found.push(key.name);
            let kinds = if let ValueKind::Either(kinds) = key.kind { kinds } else { &[key.kind] };
            for kind in kinds {
                if let ValueKind::Table(inner) | ValueKind::Tables(inner) = kind {
                    names(inner, found);
                }
            }
        }
    }

    #[test]
    fn every_key_of_every_kind_and_of_everything_registered_is_in_the_schema() {
        let registry = Registry::standard();
        let mut there = Vec::new();
        properties(&of_study(&registry), &mut there);
        let mut wanted = Vec::new();
        [STUDY_KEYS, CURVES_KEYS, HISTOGRAM_KEYS].iter().for_each(|keys| names(keys, &mut wanted));
        for kind in
            [Registered::Algorithm, Registered::Solver, Registered::Sampler, Registered::Rule, Registered::Model]
        {
            registry.of(kind).for_each(|entry| names(entry.summary().keys, &mut wanted));
        }
        assert!(wanted.len() > 100, "{}", wanted.len());
        for key in wanted {
            assert!(there.iter().any(|name| name == key), "{key}");
        }
    }

    #[test]
    fn what_is_named_brings_its_keys_and_so_does_what_that_names() {
        let schema = of_study(&Registry::standard());
        let method = &schema["properties"]["method"]["items"]["properties"];
        assert!(method["solver"]["anyOf"].is_array() || method["solver"]["enum"].is_array(), "{method}");
        assert!(method["local"].is_object(), "a key of solvers, which an algorithm names");
    }
}
