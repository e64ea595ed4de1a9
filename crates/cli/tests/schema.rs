//! JSON Schemas as an editor uses them: every file of the repository is valid, and mistakes are found.

use assert_cmd::Command;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn printed(words: &[&str]) -> String {
    let output = Command::cargo_bin("posterity").unwrap().args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn schema(file: &str) -> Value {
    serde_json::from_str(&printed(&["schema", file])).unwrap()
}

/// The part of JSON Schema (draft 7) that the program prints. A word that is not known here fails the test.
fn wrong(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let Value::Object(schema) = schema else { panic!("{at}: {schema} is no schema") };
    let holds = |schema: &Value| wrong(schema, value, at).is_empty();
    let mut found = Vec::new();
    for (word, asked) in schema {
        match word.as_str() {
            "$schema" | "title" | "description" | "default" | "then" | "else" => {}
            "type" if !is_of_type(asked.as_str().unwrap(), value) => found.push(format!("{at}: {value} is no {asked}")),
            "enum" if !asked.as_array().unwrap().contains(value) => found.push(format!("{at}: {value} not in {asked}")),
            "const" if asked != value => found.push(format!("{at}: {value} is not {asked}")),
            "anyOf" if !asked.as_array().unwrap().iter().any(holds) => found.push(format!("{at}: {value} fits none")),
            "allOf" => found.extend(asked.as_array().unwrap().iter().flat_map(|one| wrong(one, value, at))),
            "if" => {
                let branch = if holds(asked) { "then" } else { "else" };
                found.extend(schema.get(branch).map(|one| wrong(one, value, at)).unwrap_or_default());
            }
            "type" | "enum" | "const" | "anyOf" => {}
            other => found.extend(match value {
                Value::Object(table) => of_table(other, asked, schema, table, at),
                Value::Array(list) => of_list(other, asked, list, at),
                _ => of_number(other, asked, value, at),
            }),
        }
    }
    found
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        other => panic!("{other} is no type"),
    }
}

const OF_TABLES: [&str; 3] = ["properties", "required", "additionalProperties"];
const OF_LISTS: [&str; 3] = ["items", "minItems", "maxItems"];
const OF_NUMBERS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

fn of_table(
    word: &str,
    asked: &Value,
    schema: &Map<String, Value>,
    table: &Map<String, Value>,
    at: &str,
) -> Vec<String> {
    let known = |key: &str| schema.get("properties").is_some_and(|known| known.get(key).is_some());
    let in_table = |key: &str| format!("{at}.{key}");
    match word {
        "properties" => {
            let there = table.iter().filter_map(|(key, value)| Some((asked.get(key)?, value, in_table(key))));
            there.flat_map(|(schema, value, at)| wrong(schema, value, &at)).collect()
        }
        "required" => {
            let keys = asked.as_array().unwrap().iter().map(|key| key.as_str().unwrap());
            keys.filter(|key| !table.contains_key(*key)).map(|key| format!("{at}: no {key}")).collect()
        }
        "additionalProperties" => {
            let others = table.iter().filter(|(key, _)| !known(key));
            let one = |(key, value): (&String, &Value)| match asked {
                Value::Bool(false) => vec![format!("{at}: unknown {key}")],
                schema => wrong(schema, value, &in_table(key)),
            };
            others.flat_map(one).collect()
        }
        other => {
            assert!(OF_LISTS.contains(&other) || OF_NUMBERS.contains(&other), "{other} is not known");
            Vec::new()
        }
    }
}

fn of_list(word: &str, asked: &Value, list: &[Value], at: &str) -> Vec<String> {
    let count = || asked.as_u64().unwrap() as usize;
    let length = |fits: bool| if fits { Vec::new() } else { vec![format!("{at}: {} entries", list.len())] };
    match word {
        "items" => {
            let each = list.iter().enumerate();
            each.flat_map(|(index, value)| wrong(asked, value, &format!("{at}.{index}"))).collect()
        }
        "minItems" => length(list.len() >= count()),
        "maxItems" => length(list.len() <= count()),
        other => {
            assert!(OF_TABLES.contains(&other) || OF_NUMBERS.contains(&other), "{other} is not known");
            Vec::new()
        }
    }
}

fn of_number(word: &str, asked: &Value, value: &Value, at: &str) -> Vec<String> {
    let (Some(bound), Some(number)) = (asked.as_f64().filter(|_| OF_NUMBERS.contains(&word)), value.as_f64()) else {
        let known = OF_TABLES.contains(&word) || OF_LISTS.contains(&word) || OF_NUMBERS.contains(&word);
        assert!(known, "{word} is not known");
        return Vec::new();
    };
    let fits = match word {
        "minimum" => number >= bound,
        "maximum" => number <= bound,
        "exclusiveMinimum" => number > bound,
        _ => number < bound,
    };
    if fits { Vec::new() } else { vec![format!("{at}: {number}, {word} {bound}")] }
}

fn of_toml(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_bundled_study_is_valid() {
    let (schema, studies) = (schema("study"), files("studies"));
    assert!(studies.len() >= 28, "{}", studies.len());
    for (path, text) in studies {
        assert_eq!(wrong(&schema, &of_toml(&text), ""), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn every_bundled_schema_and_the_default_policy_are_valid() {
    let (schema_file, policy) = (schema("schema"), schema("policy"));
    let schemas = files("data");
    assert!(schemas.len() >= 3, "{}", schemas.len());
    for (path, text) in schemas {
        assert_eq!(wrong(&schema_file, &of_toml(&text), ""), Vec::<String>::new(), "{}", path.display());
    }
    let default = of_toml(&printed(&["agent", "policy", "init"]));
    assert_eq!(wrong(&policy, &default, ""), Vec::<String>::new());
}

#[test]
fn mistakes_in_a_study_are_found() {
    let schema = schema("study");
    let learning = std::fs::read_to_string(root().join("studies/adult-c.toml")).unwrap();
    let histogram = std::fs::read_to_string(root().join("studies/histogram.toml")).unwrap();
    let figure = std::fs::read_to_string(root().join("studies/paper3-fig1.toml")).unwrap();
    for (text, typed, mistake, words) in [
        (&learning, "seeds =", "sedes =", "unknown sedes"),
        (&learning, "[data]", "[privacy]\nepsilno = 1.0\n[data]", "unknown epsilno"),
        (&learning, "[data]", "[privacy]\nclip = 1.0\n[data]", "unknown clip"),
        (&learning, "\"logistic\"", "\"logistik\"", ".model.kind"),
        (&learning, "epsilon = 1.0", "epsilon = 0.0", ".method.0.privacy"),
        (&learning, "[model]", "[modle]", "no model"),
        (&learning, "algorithm = \"pvi\"", "", "no algorithm"),
        (&learning, "solver = \"dp-optimisation\"", "", "no solver"),
        (&histogram, "users =", "user =", "no users"),
        (&histogram, "seeds =", "baselines = false\n#", "no seeds"),
        (&histogram, "[histogram]", "[data]\nsource = 'heart'\n[histogram]", "unknown data"),
        (&figure, "along =", "allong =", "no along"),
        (&figure, "name =", "seeds = [1]\nname =", "unknown seeds"),
    ] {
        let edited = text.replacen(typed, mistake, 1);
        assert_ne!(&edited, text, "{typed}");
        let found = wrong(&schema, &of_toml(&edited), "");
        assert!(found.iter().any(|one| one.contains(words)), "{mistake}: {found:?}");
    }
}

#[test]
fn mistakes_in_a_schema_or_policy_are_found() {
    let data = std::fs::read_to_string(root().join("data/heart.toml")).unwrap();
    let policy = printed(&["agent", "policy", "init"]);
    for (file, text, typed, mistake, words) in [
        ("schema", &data, "outcome =", "outcom =", "no outcome"),
        ("schema", &data, "kind = \"numeric\"", "kind = \"number\"", ".kind"),
        ("schema", &data, "centre =", "center =", "unknown center"),
        ("policy", &policy, "max_epsilon = 6.0", "max_epsilon = 0", ".max_epsilon"),
        ("policy", &policy, "approval = \"manual\"", "approval = \"by hand\"", ".approval"),
        ("policy", &policy, "minimum_rows =", "minimum_row =", "no minimum_rows"),
    ] {
        let edited = text.replacen(typed, mistake, 1);
        assert_ne!(&edited, text, "{typed}");
        let found = wrong(&schema(file), &of_toml(&edited), "");
        assert!(found.iter().any(|one| one.contains(words)), "{mistake}: {found:?}");
    }
}

#[test]
fn the_reference_of_studies_has_a_section_for_everything_that_is_shipped() {
    use inference::describe::{Registered, Registry};
    let page = printed(&["schema", "study", "--markdown"]);
    let registry = Registry::standard();
    for kind in [Registered::Algorithm, Registered::Solver, Registered::Sampler, Registered::Rule, Registered::Model] {
        for name in registry.names(kind) {
            assert!(page.contains(&format!("\n### `{name}`\n")), "{name}");
        }
    }
    let written = std::fs::read_to_string(root().join("docs/reference/study.md")).unwrap();
    assert_eq!(written, page, "run `cargo xtask reference`");
    let object: Value = serde_json::from_str(&printed(&["schema", "study", "--markdown", "--json"])).unwrap();
    assert_eq!(object["markdown"], page);
}
