//! `[privacy.sites.NAME]` from end to end: planned, simulated, certified, told by results and report, and refused by line and hint.

use crate::common::room::Room;
use serde_json::Value;

const STUDY: &str = r#"
[study]
name = "heart"
seeds = [1]
baselines = false
[data]
source = "heart"
[partition]
column = "hospital"
[model]
kind = "logistic"
[privacy]
epsilon = 1.0
delta = 1e-5
[privacy.sites.cleveland]
epsilon = 0.5
[privacy.sites.hungary]
epsilon = 4.0
delta = 1e-6
[[method]]
name = "own"
algorithm = "pvi"
solver = "perturb"
schedule = "synchronous"
rounds = 2
local = { optimiser = "natural", learning_rate = 1.0, batch = "all", steps = 1 }
privacy = { clip = 1.0 }
"#;

/// What a site granted, and the certified cost of its ledger.
fn of_sites(results: &Value) -> Vec<(String, f64, f64, f64)> {
    let clients = results["methods"][0]["privacy"]["clients"].as_array().unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let one = |c: &Value| {
        let name = c["name"].as_str().unwrap().to_owned();
        (name, number(&c["own"]["epsilon"]), number(&c["certified"]), number(&c["delta"]))
    };
    clients.iter().map(one).collect()
}

#[test]
fn sites_with_promises_of_their_own_are_planned_simulated_and_told() {
    let room = Room::new("own-promises", STUDY);
    let told = room.told(&["plan", "study.toml"]);
    for words in
        ["cleveland: ε at most", "hungary: ε at most", "rows at 2 sites: ε at most 5", "rows at 4 sites: ε at most 6.5"]
    {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
    let plan = room.answer(&["plan", "study.toml", "--json"]);
    let sites: Vec<&str> = plan["methods"][0]["privacy"]["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["site"].as_str().unwrap())
        .collect();
    assert_eq!(sites, ["cleveland", "hungary", "switzerland", "va_long_beach"]);

    room.told(&["simulate", "study.toml", "--out", "out"]);
    let read = |file: &str| std::fs::read_to_string(room.0.join("out").join(file)).unwrap();
    let results: Value = serde_json::from_str(&read("results.json")).unwrap();
    let granted =
        [("cleveland", 0.5, 1e-5), ("hungary", 4.0, 1e-6), ("switzerland", 1.0, 1e-5), ("va_long_beach", 1.0, 1e-5)];
    for ((name, own, certified, delta), expected) in of_sites(&results).into_iter().zip(granted) {
        assert_eq!((name.as_str(), own, delta), expected);
        assert!(certified <= own && certified > 0.99 * own, "{name}: {certified}");
    }
    assert_eq!(results["methods"][0]["privacy"]["epsilon"].as_f64(), Some(4.0), "the largest");
    let several = &results["methods"][0]["privacy"]["several_sites"];
    assert_eq!((several[0]["sites"].as_u64(), several[1]["sites"].as_u64()), (Some(2), Some(4)));
    let page = read("report.html");
    for words in ["cleveland: ε = 0.5 at δ = 1e-5", "hungary: ε = 4 at δ = 1e-6", "rows at 2 sites: ε at most 5"] {
        assert!(page.contains(words), "{words} is not on the page");
    }
}

/// With one noise for all sites, a site's own clip is its ε.
#[test]
fn with_a_curator_a_clip_of_a_sites_own_decides_its_epsilon() {
    let clips = STUDY
        .replace("delta = 1e-5\n", "delta = 1e-5\naggregator = \"curator\"\n")
        .replace("[privacy.sites.cleveland]\nepsilon = 0.5", "[privacy.sites.cleveland]\nclip = 0.5")
        .replace("epsilon = 4.0\ndelta = 1e-6", "clip = 2.0");
    let room = Room::new("own-clips", &clips);
    let plan = room.answer(&["plan", "study.toml", "--json"]);
    let clients = plan["methods"][0]["privacy"]["clients"].as_array().unwrap();
    let of = |key: &str| clients.iter().map(|c| c[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("clip"), [0.5, 2.0, 1.0, 1.0]);
    let epsilon = of("epsilon_granted");
    assert!(epsilon[0] < 0.55 && epsilon[1] > 1.9 && epsilon[2] == 1.0, "{epsilon:?}");
    room.told(&["simulate", "study.toml", "--out", "out"]);
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(room.0.join("out/results.json")).unwrap()).unwrap();
    let spent: Vec<f64> = of_sites(&results).iter().map(|(_, _, certified, _)| *certified).collect();
    assert_eq!(spent, of("epsilon_certified"));
}

#[test]
fn promises_of_no_site_and_of_no_noise_of_its_own_are_refused_at_their_line() {
    let refused = |study: &str, code: &str, line: &str, words: &str| {
        let room = Room::new(&format!("refused-{code}"), study);
        let output = room.posterity(&["plan", "study.toml"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(code) && said.contains(line) && said.contains(words), "{said}");
    };
    refused(
        &STUDY.replace("sites.cleveland", "sites.cleveland2"),
        "S002",
        "study.toml:1",
        "did you mean \"cleveland\"?",
    );
    let curator = STUDY.replace("delta = 1e-5\n", "delta = 1e-5\naggregator = \"curator\"\n");
    refused(&curator, "S007", "study.toml:1", "state clip for this site");
}
