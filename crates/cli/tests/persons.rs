//! `unit = "person"` from end to end: a table with three rows a patient, planned, simulated and certified by persons; the same
//! with `unit = "example"`, which is warned of.

use crate::common::room::Room;
use serde_json::Value;

const SCHEMA: &str = r#"
outcome = { column = "ill", levels = ["no", "yes"] }
person_id = "patient"
column = [
  { name = "age", kind = "numeric", centre = 50, scale = 10, bounds = [20, 90] },
  { name = "clinic", kind = "ignore" },
]
"#;

const STUDY: &str = r#"schema = 1
[study]
name = "visits"
seeds = [1]
[data]
source = "csv:visits.csv"
split = { test = 0.2 }
declared_persons = 300
[partition]
kind = "even"
clients = 2
[model]
kind = "logistic"
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 5
privacy = { unit = "person", adjacency = "substitute", epsilon = 3.0, delta = "power-of-ten", clip = 3.0 }
[[method]]
name = "DP optimisation"
algorithm = "pvi"
solver = "dp-optimisation"
schedule = "sequential"
rounds = 3
damping = 0.5
local = { steps = 5, rate = 0.1, optimiser = "adam", learning_rate = 0.05 }
privacy = { unit = "person", adjacency = "substitute", epsilon = 3.0, delta = 1e-4, clip = 3.0 }
"#;

/// 300 patients with three visits each, visit after visit.
fn visits() -> String {
    let line = |patient: usize, visit: usize| {
        let age = 30 + (7 * patient) % 50 + visit;
        let ill = if (patient * 31 + visit) % 97 < age - 25 { "yes" } else { "no" };
        format!("p{patient},{age},c{},{ill}\n", patient % 2)
    };
    let all = (0..3).flat_map(|visit| (0..300).map(move |patient| line(patient, visit)));
    format!("patient,age,clinic,ill\n{}", all.collect::<String>())
}

fn room(name: &str, study: &str, schema: &str) -> Room {
    let room = Room::new(name, study);
    std::fs::write(room.0.join("visits.csv"), visits()).unwrap();
    std::fs::write(room.0.join("visits.toml"), schema).unwrap();
    room
}

fn results(room: &Room) -> Value {
    room.told(&["simulate", "study.toml", "--out", "out"]);
    serde_json::from_str(&std::fs::read_to_string(room.0.join("out/results.json")).unwrap()).unwrap()
}

/// Codes of the warnings about the data.
fn codes(results: &Value) -> Vec<&str> {
    let all = results["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter_map(|warning| warning["code"].as_str()).collect()
}

#[test]
fn three_rows_a_patient_are_planned_simulated_and_certified_by_persons() {
    let room = room("persons", STUDY, SCHEMA);
    let results = results(&room);
    let clients = results["data"]["clients"].as_array().unwrap();
    let counts: Vec<(u64, u64)> =
        clients.iter().map(|c| (c["persons"].as_u64().unwrap(), c["rows"].as_u64().unwrap())).collect();
    assert_eq!(counts, [(120, 360), (120, 360)], "60 of 300 patients are held out, with all their visits");
    for method in &results["methods"].as_array().unwrap()[..2] {
        let privacy = &method["privacy"];
        assert_eq!(privacy["unit"], "person");
        for client in privacy["clients"].as_array().unwrap() {
            let certified = client["certified"].as_f64().unwrap();
            assert!(certified > 2.0 && certified <= 3.0, "{client}");
        }
    }
    assert!(!codes(&results).contains(&"W013"), "{}", results["warnings"]);
    // 120 persons, 360 rows: the power of ten below one over the persons.
    assert_eq!(results["methods"][0]["privacy"]["delta"].as_f64(), Some(1e-3));
    let told = room.told(&["plan", "study.toml"]);
    for words in ["training persons", "per person (replace all their rows", "of the persons", "1 / persons"] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
    let plan = room.answer(&["plan", "study.toml", "--json"]);
    assert_eq!(plan["methods"][0]["privacy"]["clients"][0]["persons"].as_u64(), Some(120), "{plan}");
}

#[test]
fn the_same_by_rows_is_warned_of() {
    let study = STUDY.replace("unit = \"person\"", "unit = \"example\"").replace("declared_persons = 300\n", "");
    let results = results(&room("rows", &study, SCHEMA));
    let warning = results["warnings"].as_array().unwrap().iter().find(|w| w["code"] == "W013").unwrap();
    let what = warning["what"].as_str().unwrap();
    assert!(what.contains("300 of 300 persons have several rows, up to 3"), "{what}");
    // One visit each is nothing to warn of.
    let each_its_own = SCHEMA
        .replace("person_id = \"patient\"\n", "")
        .replace("{ name = \"clinic\"", "{ name = \"patient\", kind = \"ignore\" },\n  { name = \"clinic\"");
    assert!(!codes(&self::results(&room("no-ids", &study, &each_its_own))).contains(&"W013"));
}

#[test]
fn a_promise_to_persons_without_ids_or_across_sites_is_refused() {
    let without = SCHEMA.replace("person_id = \"patient\"\n", "");
    let refused = |room: &Room, exit: i32, code: &str, words: &str| {
        let output = room.posterity(&["simulate", "study.toml", "--out", "out"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(exit), "{said}");
        assert!(said.contains(code) && said.contains(words), "{said}");
        assert!(!room.0.join("out").exists(), "something was written");
    };
    let columns = without.replace("column = [", "column = [\n  { name = \"patient\", kind = \"ignore\" },");
    refused(&room("nobody", STUDY, &columns), 2, "S015", "person_id");
    let by_clinic = STUDY.replace("kind = \"even\"\nclients = 2", "kind = \"column\"\ncolumn = \"clinic\"");
    let split = room("two-clinics", &by_clinic, SCHEMA);
    std::fs::write(split.0.join("visits.csv"), format!("{}p0,50,c1,no\n", visits())).unwrap();
    refused(&split, 3, "P002", "two sites");
}

/// Data, model, ε and a unit: a whole study, checked, planned, simulated and fitted by persons.
const SHORT: &str = r#"[data]
source = "csv:visits.csv"
declared_persons = 300
[partition]
column = "clinic"
[model]
kind = "logistic"
[privacy]
epsilon = 1.0
unit = "person"
"#;

#[test]
fn a_short_study_by_persons_is_checked_planned_simulated_and_fitted() {
    let room = room("short", SHORT, SCHEMA);
    for (words, expected) in [
        (&["check", "study.toml"][..], "each person counts as one row"),
        (&["plan", "study.toml"], "training persons"),
        (&["fit", "study.toml", "--home", "home", "--out", "fit"], "per person (replace all their rows"),
    ] {
        let told = room.told(words);
        assert!(told.contains(expected) && told.contains("1e-5"), "{told}");
        assert!(!told.contains("900"), "the number of rows is told by {words:?}:\n{told}");
    }
    let simulated = results(&room);
    assert_eq!(simulated["methods"][0]["algorithm"], "noise-aware-levels");
    let fitted: Value =
        serde_json::from_str(&std::fs::read_to_string(room.0.join("fit/results.json")).unwrap()).unwrap();
    assert_eq!((&fitted["persons"], &fitted["rows"]), (&Value::from(300), &Value::Null));
    room.told(&["export", "fit", "--format", "csv"]);
    let csv = std::fs::read_to_string(room.0.join("fit/tables/privacy.csv")).unwrap();
    assert!(csv.contains("person") && !csv.contains("900"), "{csv}");
}

/// The owner is warned of repeated ids on the terminal, without a count, and the warning is in no file.
#[test]
fn a_fit_by_rows_of_repeated_persons_warns_its_owner() {
    let study = SHORT.replace("unit = \"person\"\n", "").replace("declared_persons = 300\n", "");
    let room = room("short-rows", &study, SCHEMA);
    let output = room.posterity(&["fit", "study.toml", "--home", "home", "--out", "fit"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && said.contains("W013") && said.contains("some persons have several rows"),
        "{said}"
    );
    for count in ["300", "up to 3"] {
        assert!(!said.contains(count), "a count of persons is told:\n{said}");
    }
    let text = std::fs::read_to_string(room.0.join("fit/results.json")).unwrap();
    assert!(!text.contains("W013"));
}
