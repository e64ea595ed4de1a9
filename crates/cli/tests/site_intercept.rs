//! An intercept of each site's own, from a study to predictions, and what it cannot be combined with.

use crate::common::room::{Room, study};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The study of four hospitals with two seeds, its last methods left out.
fn small() -> String {
    let text = study("heart-sites");
    let methods: Vec<&str> = text.split("[[method]]").collect();
    methods[..4].join("[[method]]")
}

#[test]
fn every_hospital_is_shown_and_predicted_by_its_own_intercept() {
    let room = Room::new("run", &small());
    let told = room.told(&["reproduce", "study.toml", "--out", "out"]);
    for words in
        ["all patients, log-likelihood at each site", "20 at Long Beach, log-likelihood at each site", "va_long_beach"]
    {
        assert!(told.contains(words), "{told}");
    }
    let page = std::fs::read_to_string(room.0.join("out/index.html")).unwrap();
    assert!(page.contains("Methods compared") && !page.contains("<th>paper</th>"), "nobody published these numbers");
    assert!(!told.contains("paper"), "{told}");
    let folders: Vec<PathBuf> = std::fs::read_dir(room.0.join("out")).unwrap().map(|f| f.unwrap().path()).collect();
    let results = folders.iter().find(|f| f.display().to_string().contains("all-patients")).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/new-patients.csv");
    let predict = |method: &str, site: &[&str]| {
        let words =
            ["predict", results.to_str().unwrap(), "--data", data.to_str().unwrap(), "--method", method, "--json"];
        room.posterity(&[&words[..], site].concat())
    };
    let method = "noise-aware, site intercept, ε 1";
    let first = |site: &[&str]| -> f64 {
        let output = predict(method, site);
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        object["predictions"][0]["probability"].as_f64().unwrap()
    };
    let chances = [first(&[]), first(&["--site", "switzerland"]), first(&["--site", "hungary"])];
    assert!(chances[0] != chances[1] && chances[1] > chances[2], "93 and 36 % of their patients are ill: {chances:?}");
    let refused = |method: &str, site: &str, words: &str| {
        let output = predict(method, &["--site", site]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains("C001") && told.contains(words), "{told}");
    };
    refused(method, "hungry", "did you mean \\\"hungary\\\"?");
    refused("PVI", "hungary", "leave --site out");
}

#[test]
fn what_it_cannot_be_combined_with_is_refused_with_its_line() {
    let study = small();
    let own = "site_intercept = { precision = 1.0 }";
    let changed = |from: &str, to: &str| {
        assert!(study.contains(from), "{from}");
        study.replace(from, to)
    };
    let private = "clip = 2.5 }";
    let cases = [
        ("aggregator", changed(private, "clip = 2.5, aggregator = \"curator\" }"), "S009", "use aggregator = \"none\""),
        ("precision", changed(own, "site_intercept = { precision = 0.0 }"), "S004", "from 1e-6 to 1e6"),
        ("network", changed("kind = \"logistic\"", "kind = \"network\""), "S009", ""),
        ("full", changed(own, &format!("{own}\ncovariance = \"full\"")), "S009", ""),
        (
            "committee",
            changed("algorithm = \"pvi\"", "algorithm = \"committee\""),
            "S011",
            "site_intercept has no meaning here",
        ),
        ("word", changed(own, "site_intercept = true"), "S001", "expected { precision = 1.0 }"),
        ("only moments", changed("rounds = 15", "rounds = 1"), "S009", "none is left for residuals"),
        ("nobody there", changed("va_long_beach = 20", "va_long_beach = 0"), "S004", "leave it at least one"),
        ("unknown site", changed("va_long_beach = 20", "va = 20"), "D", ""),
    ];
    for (name, text, code, words) in cases {
        let room = Room::new(&name.replace(' ', "-"), &text);
        let output = room.posterity(&["reproduce", "study.toml", "--out", "out"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) || code == "D", "{name}: {told}");
        assert!(told.contains(code) && told.contains(words) && !told.contains("panicked"), "{name}: {told}");
    }
}
