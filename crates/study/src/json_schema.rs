//! JSON Schemas (draft 7) made from keys and the registry: editors complete and check studies by them.

use inference::describe::{Key, Otherwise, Registered, Registry, ValueKind};
use serde_json::{Map, Value, json};

/// The dialect that editors of TOML know.
const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// The schema of a file whose outermost table has these keys.
pub fn of_file(title: &str, keys: &[Key], registry: &Registry) -> Value {
    let mut schema = table(keys, registry);
    schema.insert("$schema".to_owned(), json!(DIALECT));
    schema.insert("title".to_owned(), json!(title));
    Value::Object(schema)
}

/// A table: its keys, those of whatever it names, and what is required.
fn table(keys: &[Key], registry: &Registry) -> Map<String, Value> {
    let mut properties: Map<String, Value> = Map::new();
    let mut conditions = Vec::new();
    for key in keys.iter().filter(|key| !key.is_refused()) {
        insert(&mut properties, key, property(key, registry));
        let ValueKind::Named(kind) = key.kind else { continue };
        for entry in registry.of(kind) {
            let summary = entry.summary();
            for own in summary.keys {
                insert(&mut properties, own, property(own, registry));
            }
            let required = required(summary.keys);
            if !required.is_empty() {
                conditions.push(json!({
                    "if": { "properties": { key.name: { "const": summary.name } }, "required": [key.name] },
                    "then": { "required": required },
                }));
            }
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
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn kind(kind: &ValueKind, registry: &Registry) -> Map<String, Value> {
    let schema = match kind {
        ValueKind::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
        ValueKind::Share => json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
        ValueKind::Fraction => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        ValueKind::Within { least, most } => json!({ "type": "number", "minimum": least, "maximum": most }),
        ValueKind::Count { least, most: u64::MAX } => json!({ "type": "integer", "minimum": least }),
        ValueKind::Count { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueKind::Word(words) => json!({ "type": "string", "enum": words }),
        ValueKind::Flag => json!({ "type": "boolean" }),
        ValueKind::Text => json!({ "type": "string" }),
        ValueKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
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
        ValueKind::Counts { least, .. } => json!({
            "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": least },
        }),
        ValueKind::Table(keys) => Value::Object(table(keys, registry)),
        ValueKind::Tables(keys) => json!({ "type": "array", "items": table(keys, registry) }),
        ValueKind::Map(values) => {
            json!({ "type": "object", "additionalProperties": self::kind(values, registry) })
        }
        ValueKind::Named(named) => json!({ "type": "string", "enum": names(*named, registry) }),
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

fn names(kind: Registered, registry: &Registry) -> Vec<&'static str> {
    registry.names(kind)
}
