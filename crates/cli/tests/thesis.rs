//! Studies on made-up data: divergences from the exact posterior in results and cells, and faults of their keys.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The hybrid's study with two seeds and four clients.
fn small() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/thesis-hybrid.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let (head, rest) = text.split_once("seeds = [").unwrap();
    let rest = rest.split_once(']').unwrap().1;
    format!("{head}seeds = [1, 2]{rest}").replace("clients = 20", "clients = 4")
}

/// A directory of this test's own, gone when it goes.
struct Room(PathBuf);

impl Room {
    fn new(name: &str, study: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-thesis-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("study.toml"), study).unwrap();
        Self(path)
    }

    fn posterity(&self, words: &[&str]) -> Output {
        Command::cargo_bin("posterity").unwrap().current_dir(&self.0).args(words).output().unwrap()
    }

    fn answer(&self, words: &[&str]) -> Value {
        let output = self.posterity(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}\n{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
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
    assert!(report.contains("Divergence against messages") && report.contains("Divergence against ε"));
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
        ("opening", "opening = { updates = 10, share = 0.7, clip = 2.0 }\n", "", "S011", "opening"),
        ("family", "solver = \"likelihood\"\ncovariance = \"full\"", "solver = \"likelihood\"", "R002", "full"),
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
