//! `algorithm = "chain"` in a study: what is said of it, that it runs, and what is refused with its line.

use crate::common;
use crate::common::room::Room;
use serde_json::Value;

const STUDY: &str = r#"schema = 1
[study]
name = "chains"
seeds = [1]
[data]
source = "heart"
split = { test = 0.2 }
[partition]
kind = "column"
column = "hospital"
[model]
kind = "logistic"
bias = true
prior = { precision = 1.0 }
[[method]]
name = "draws"
algorithm = "chain"
chain = { sampler = "penalty", iterations = 300, step = 0.1 }
privacy = { unit = "example", adjacency = "substitute", epsilon = 4.0, delta = 1e-5, aggregator = "secure-sum" }
"#;

fn with(name: &str, found: &str, replaced: &str) -> Room {
    assert!(STUDY.contains(found), "{found}");
    Room::new(name, &STUDY.replace(found, replaced))
}

fn said(room: &Room, command: &[&str]) -> String {
    let output = room.posterity(command);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_chain_over_four_hospitals_is_told_in_its_own_words_and_runs() {
    let room = Room::new("chain-runs", STUDY);
    let checked = said(&room, &["check", "study.toml"]);
    for words in [
        "penalty test of proposals 0.1 away",
        "1 chain of 300 iterations, 30 of them warm-up",
        "all rows in every step",
    ] {
        assert!(checked.contains(words), "{words}: {checked}");
    }
    assert!(!checked.contains("sgd") && !checked.contains("clipped to 1,"), "{checked}");
    let planned = said(&room, &["plan", "study.toml"]);
    assert!(planned.contains("sums of log-ratios, each clipped to a bound that follows from the noise"), "{planned}");
    said(&room, &["run", "study.toml", "--out", "out"]);
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(room.0.join("out/results.json")).unwrap()).unwrap();
    let method = &results["methods"][0];
    assert_eq!((method["algorithm"].as_str(), method["rounds"].as_f64()), (Some("chain"), Some(300.0)));
    let spent = method["privacy"]["clients"][0]["certified"].as_f64().unwrap();
    assert!(spent > 3.9 && spent <= 4.0, "{spent}");
    assert_eq!(method["chain"]["iterations"].as_u64(), Some(270), "the warm-up is left out");
    let page = std::fs::read_to_string(room.0.join("out/report.html")).unwrap();
    assert!(page.contains("1 chain of 270 draws") && page.contains("Course of chol"), "{page}");
}

/// The draws of a study as files, and what is said of them.
#[test]
fn draws_are_written_for_other_programs_and_described() {
    let room = Room::new("sampled", &STUDY.replace("iterations = 300", "iterations = 60, chains = 2"));
    let told = said(&room, &["sample", "study.toml", "--out", "out"]);
    assert!(told.contains("draws, seed 1: 2 chains of 54 draws") && told.contains("R-hat"), "{told}");
    let named = told.lines().find_map(|line| line.strip_prefix("draws       ")).unwrap();
    let folder = room.0.join(named);
    for chain in ["chain-1.csv", "chain-2.csv"] {
        let text = std::fs::read_to_string(folder.join(chain)).unwrap();
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 55, "a header and 54 draws");
    }
    assert!(std::fs::read(folder.join("draws.arrow")).unwrap().starts_with(b"ARROW1"));
    let told: Value =
        serde_json::from_str(&std::fs::read_to_string(room.0.join("out/draws/diagnostics.json")).unwrap()).unwrap();
    let (epsilon, first) = (told[0]["epsilon"].as_f64().unwrap(), &told[0]["parameters"][0]);
    assert!(epsilon > 3.9 && epsilon <= 4.0, "{told}");
    assert!(first["name"].is_string() && first["bulk_ess"].is_number(), "{told}");
}

/// Paper II's figure, made short: errors against the exact posterior, and all three theorems.
#[test]
fn a_private_chain_on_a_mixture_is_told_with_its_errors_and_theorems() {
    let text = common::room::study("paper2-fig3")
        .replace("1000000", "50000")
        .replace("iterations = 20000", "iterations = 400")
        .replace("seeds = [1, 2]", "seeds = [1]")
        .replace("epsilon = 0.031, delta", "epsilon = 0.2, delta");
    let room = Room::new("mixture", &text);
    let told = said(&room, &["reproduce", "study.toml", "--out", "out"]);
    assert!(told.contains("error of means") && told.contains("DP SGLD, ε 1"), "{told}");
    let line = told.lines().find(|line| line.starts_with("DP Barker: 400 releases")).unwrap();
    assert!(line.contains("certified;") && line.contains("by rdp") && line.contains("by barker2019"), "{line}");
    let page = std::fs::read_to_string(room.0.join("out/index.html")).unwrap();
    assert!(page.contains("Error of means against ε") && page.contains("by barker2019"), "{page}");
}

/// Found: chains for which ε did not pay were cut short without a word, or served as the prior.
#[test]
fn tests_that_cost_more_than_epsilon_are_refused_with_the_number_that_it_pays_for() {
    let text = common::room::study("paper2-fig3").replace("epsilon = 0.031, delta", "epsilon = 0.02, delta");
    for command in ["plan", "run"] {
        let room = Room::new(&format!("too-dear-{command}"), &text);
        let output = room.posterity(&[command, "study.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{command}");
        assert!(said.contains("pays for") && said.contains("expected 20000"), "{command}: {said}");
    }
}

/// Found: a sampler that rejected every proposal was told as one whose chains disagree, or not at all.
#[test]
fn a_chain_that_never_moved_is_told_as_such() {
    let leaps = "sampler = \"hamiltonian\", leaps = 3, iterations = 10, step = 5.0";
    let text = STUDY.replace("sampler = \"penalty\", iterations = 300, step = 0.1", leaps);
    let room = Room::new("stuck", &text.replace("epsilon = 4.0", "clip = 1.0, epsilon = 4.0"));
    let (sampled, ran) =
        (said(&room, &["sample", "study.toml", "--out", "a"]), said(&room, &["run", "study.toml", "--out", "b"]));
    for told in [&sampled, &ran] {
        assert!(told.contains("did not move at all") && !told.contains("chains disagree"), "{told}");
    }
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(room.0.join("b/results.json")).unwrap()).unwrap();
    let method = &results["methods"][0];
    let codes: Vec<&str> = method["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"W003") && ran.contains("W003, public"), "{codes:?}");
    assert_eq!(method["posterior"].as_array().map(Vec::len), Some(0), "its Gaussian is not served");
    let refused = room.posterity(&["predict", "b", "--method", "draws", "--data", "study.toml"]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{why}");
    assert!(why.starts_with("error[W003]") && why.contains("has no posterior to predict from"), "{why}");
    let events = results["methods"][0]["privacy"]["clients"][0]["events"].as_array().unwrap();
    assert_eq!(events.len(), 2, "one line for each different event: {events:?}");
}

#[test]
fn mixtures_are_for_chains_and_rows_without_inputs() {
    let text = common::room::study("paper2-fig3");
    let cases = [
        ("bias = false", "bias = true", "S011", "no intercept"),
        ("variance = 2.0", "variance = 0.0", "S004", "a finite number over 0"),
        ("at = [0.0, 1.0]", "inputs = 2", "S011", "nothing of a linear law"),
        ("source = \"synthetic-mixture\"", "source = \"synthetic-linear\"", "S011", "linear model"),
        ("batch = 10000, noise = \"fixed\"", "batch = 10000", "S009", "noise = \"fixed\""),
    ];
    for (number, (found, replaced, code, words)) in cases.into_iter().enumerate() {
        assert!(text.contains(found), "{found}");
        let room = Room::new(&format!("mixture-refused-{number}"), &text.replace(found, replaced));
        let output = room.posterity(&["check", "study.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&format!("error[{code}]")) && said.contains(words), "{replaced}: {said}");
    }
}

#[test]
fn what_a_chain_cannot_be_is_refused_with_its_line() {
    let cases = [
        ("step = 0.1", "step = 0.0", "S004", "finite number over 0"),
        ("iterations = 300", "iterations = 300, leaps = 3", "S011", "belongs to sampler \"hamiltonian\""),
        ("iterations = 300", "iterations = 300, counts_as = 0", "S004", "counts_as is 0"),
        ("sampler = \"penalty\"", "sampler = \"hamiltonian\"", "S001", "`leaps`"),
        ("sampler = \"penalty\"", "variance = 3.5, sampler = \"barker\"", "S004", "at most 3.288"),
        ("epsilon = 4.0", "clip = 2.0, epsilon = 4.0", "S011", "follows from other settings"),
        ("adjacency = \"substitute\"", "adjacency = \"add-remove\"", "S008", "one replaced row"),
        ("chain = { sampler = \"penalty\", iterations = 300, step = 0.1 }", "rounds = 3", "S001", "`chain`"),
        ("iterations = 300", "iterations = 300, warm_up = 297", "S004", "fewer than 4 draws"),
        ("iterations = 300", "iterations = 300, chains = 0", "S004", "chains is 0"),
        ("iterations = 300", "iterations = 30000000000", "S004", "fewer chains or iterations"),
        ("iterations = 300", "start = \"zero\", iterations = 300", "S001", "\"origin\", or { rounds = 20"),
        ("iterations = 300", "start = { round = 3 }, iterations = 300", "S002", "did you mean `rounds`?"),
        ("algorithm = \"chain\"", "damping = 0.5\nalgorithm = \"chain\"", "S011", "damping has no meaning here"),
    ];
    for (number, (found, replaced, code, words)) in cases.into_iter().enumerate() {
        let room = with(&format!("chain-refused-{number}"), found, replaced);
        let output = room.posterity(&["check", "study.toml"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{replaced}: {text}");
        assert!(text.contains(&format!("error[{code}]: study.toml:")) && text.contains(words), "{replaced}: {text}");
    }
}
