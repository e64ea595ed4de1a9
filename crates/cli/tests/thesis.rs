//! Studies on made-up data: divergences from the exact posterior in results and cells, and faults of their keys.

use crate::common::room::{Room, study};
use serde_json::Value;
use std::path::Path;

/// The hybrid's study with two seeds and four clients.
fn small() -> String {
    study("thesis-hybrid").replace("clients = 20", "clients = 4")
}

fn named<'a>(items: &'a Value, key: &str, name: &str) -> &'a Value {
    items.as_array().unwrap().iter().find(|item| item[key] == name).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn cells_hold_medians_and_tenths_of_the_divergence_and_ledgers_hold_what_was_charged() {
    let room = Room::new("cells", &small());
    let told = room.answer(&["reproduce", "study.toml", "--out", "out", "--json"]);
    let cells: Vec<&Value> = told["cells"].as_array().unwrap().iter().filter(|c| c["metric"] == "kl").collect();
    assert_eq!(cells.len(), 6, "four methods, local only, non-private: {cells:?}");
    for cell in cells {
        let of = |key: &str| cell[key].as_f64().unwrap();
        assert!(of("low") <= of("median") && of("median") <= of("high"), "{cell}");
        assert!(cell["row"] != "non-private" || of("high") < 1e-6, "{cell}");
        assert!(cell["row"] == "non-private" || of("low") > 1e-6, "{cell}");
    }
    let mut folders = std::fs::read_dir(room.0.join("out")).unwrap().map(|entry| entry.unwrap().path());
    let folder = folders.find(|path| path.is_dir()).unwrap();
    let results = std::fs::read_to_string(folder.join("results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let ledger = |name: &str| named(&results["methods"], "name", name)["privacy"]["clients"][0].clone();
    assert_eq!(ledger("likelihood, reused")["charges"], 1);
    let hybrid = ledger("hybrid");
    assert_eq!((&hybrid["charges"], &hybrid["steps"]), (&40.into(), &160.into()));
    let events = hybrid["events"].as_array().unwrap();
    assert!(events.len() == 2 && events[0].as_str().unwrap().starts_with("10 × "), "{events:?}");
    assert!(hybrid["certified"].as_f64().unwrap() <= 10.0);
    let report = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for along in ["messages", "ε", "rounds"] {
        assert!(report.contains(&format!("Divergence against {along}")), "{along}");
    }
}

#[test]
fn figures_of_the_thesis_draw_medians_and_percentiles_against_its_axes() {
    let room = Room::new("figures", &study("thesis-fig4.13"));
    let told = room.answer(&["reproduce", "study.toml", "--out", "out", "--json"]);
    let page = std::fs::read_to_string(room.0.join("out/index.html")).unwrap();
    for along in ["clients M, 10 rows of each", "rows ρ of each of 20 clients"] {
        assert!(page.contains(&format!("KL(q ‖ exact posterior) by {along}")), "{along}");
    }
    // The rule C = 0.5ρ runs over the diagonal of the table.
    let cell = |row: &str, column: &str| {
        let cells = told["cells"].as_array().unwrap().iter();
        let mut found = cells.filter(|c| c["metric"] == "kl" && c["row"] == row && c["column"] == column);
        let cell = found.next().unwrap().clone();
        let of = |key: &str| cell[key].as_f64().unwrap();
        assert!(of("low") <= of("quarter") && of("quarter") <= of("median"), "{cell}");
        assert!(of("median") <= of("three_quarters") && of("three_quarters") <= of("high"), "{cell}");
        of("median")
    };
    for (at, row, column) in [(10, "C = 5.0", "20 clients, 10 rows"), (30, "C = 15.0", "20 clients, 30 rows")] {
        let words = format!("{:.3} at {at}", cell(row, column));
        assert!(page.contains(&words), "{words}");
    }
}

#[test]
fn a_figure_of_cells_that_the_table_has_not_is_refused() {
    let cases = [
        ("method", "method = \"C = 0.5\"", "method = \"C = 0.6\"", "there is no method"),
        ("place", "at = 0.5,", "at = 0.2,", "not one after the other"),
        ("column", "at = 0.5,", "at = 0.5, column = \"left\",", "there is no column"),
    ];
    for (name, from, to, words) in cases {
        let text = study("thesis-fig4.4");
        assert!(text.contains(from), "{from}");
        let output = Room::new(name, &text.replacen(from, to, 1)).posterity(&["check", "study.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("S004") && said.contains(words) && output.status.code() == Some(2), "{name}: {said}");
    }
}

#[test]
fn a_run_shows_the_divergence_and_a_plan_shows_both_stages() {
    let room = Room::new("stages", &small());
    let ran = room.posterity(&["run", "study.toml", "--out", "out"]);
    let said = String::from_utf8_lossy(&ran.stdout);
    let head = said.lines().next().unwrap();
    assert!(head.contains("RMSE") && head.contains("  KL  "), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("median over seeds"), "{said}");
    let shown = room.posterity(&["plan", "study.toml"]);
    let shown = String::from_utf8_lossy(&shown.stdout);
    let hybrid = shown.split("method      hybrid").nth(1).unwrap().split("messages").next().unwrap();
    let plan = room.answer(&["plan", "study.toml", "--json"]);
    let of = |name: &str| named(&plan["methods"], "name", name)["privacy"]["clients"][0].clone();
    let (client, single) = (of("hybrid"), of("analytic"));
    let (stages, alone) = (client["stages"].as_array().unwrap(), single["stages"].as_array().unwrap());
    assert_eq!((stages.len(), alone.len()), (2, 1));
    let numbers = |stage: &Value| (stage["updates"].clone(), stage["releases_per_update"].clone());
    assert_eq!(numbers(&stages[0]), (10.into(), 1.into()));
    assert_eq!(numbers(&stages[1]), (30.into(), 5.into()));
    assert_eq!(stages[1]["noise_multiplier"], client["noise_multiplier"]);
    assert_ne!(stages[0]["noise_multiplier"], stages[1]["noise_multiplier"]);
    assert!(stages.iter().all(|stage| stage["event"].as_str().is_some_and(|event| !event.is_empty())));
    let (opening, then) = hybrid.split_once("then ").unwrap();
    assert!(opening.contains("opening     multiplier") && opening.contains("10 per client, one release"), "{hybrid}");
    assert!(then.contains("30 per client, 5 releases"), "{hybrid}");
    assert!(!shown.split("method      dp optimisation").next().unwrap().contains("opening"), "{shown}");
}

#[test]
fn the_studies_of_the_thesis_are_sound_and_planned_without_data() {
    let room = Room::new("plans", "");
    for name in ["thesis-fig4.4", "thesis-fig4.8", "thesis-fig4.13", "thesis-fig4.17", "thesis-hybrid"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../studies/{name}.toml"));
        room.answer(&["check", path.to_str().unwrap(), "--json"]);
        let plan = room.answer(&["plan", path.to_str().unwrap(), "--json"]);
        for method in plan["methods"].as_array().unwrap() {
            for client in method["privacy"]["clients"].as_array().unwrap() {
                assert!(client["epsilon_certified"].as_f64().unwrap() <= 10.0, "{name}: {method}");
            }
        }
    }
}

#[test]
fn keys_of_made_up_data_and_hybrids_that_do_not_fit_are_refused_with_a_code() {
    let cases = [
        ("source", "source = \"synthetic-linear\"", "source = \"abalone\"", "S011", "synthetic-linear"),
        ("rows", "rows_per_client = 10", "rows_per_client = 0", "S004", "rows_per_client"),
        ("noise", "[0.5, 2.0]", "[2.0, 0.5]", "S004", "noise_deviation"),
        ("bias", "bias = false", "bias = true", "S011", "bias = false"),
        ("share", "share = 0.7", "share = 1.0", "S004", "share"),
        (
            "batch",
            "local = { optimiser = \"adam\", steps = 5, learning_rate = 0.02 }",
            "local = { optimiser = \"adam\", batch = { rows = 3, without_replacement = true }, learning_rate = 0.02 }",
            "S009",
            "fixed size",
        ),
        ("opening", "opening = { updates = 10, share = 0.7, clip = 2.0 }\n", "", "S001", "opening"),
        ("family", "solver = \"likelihood\"\ncovariance = \"full\"", "solver = \"likelihood\"", "S009", "full"),
        (
            "one",
            "solver = \"analytic\"",
            "solver = \"analytic\"\nopening = { updates = 1, share = 0.5, clip = 1.0 }",
            "S011",
            "hybrid",
        ),
    ];
    for (name, from, to, code, words) in cases {
        let text = small();
        assert!(text.contains(from), "{from}");
        let room = Room::new(name, &text.replacen(from, to, 1));
        let output = room.posterity(&["plan", "study.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(code) && said.contains(words), "{name}: {said}");
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
    }
}
