//! `algorithm = "chain"` in a study: what is said of it, that it runs, and what is refused with its line.

mod common;

use common::room::Room;
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
    let spent = method["privacy"]["clients"][0]["certified"].as_f64();
    assert!(spent.is_none_or(|epsilon| epsilon <= 4.0), "{spent:?}");
}

#[test]
fn what_a_chain_cannot_be_is_refused_with_its_line() {
    let cases = [
        ("step = 0.1", "step = 0.0", "S004", "finite number over 0"),
        ("iterations = 300", "iterations = 300, leaps = 3", "S011", "no meaning for this sampler"),
        ("iterations = 300", "iterations = 300, counts_as = 0", "S004", "counts_as is 0"),
        ("sampler = \"penalty\"", "sampler = \"hamiltonian\"", "S011", "leaps"),
        ("sampler = \"penalty\"", "variance = 3.0, sampler = \"barker\"", "S009", "1, 1.5 or 2"),
        ("epsilon = 4.0", "clip = 2.0, epsilon = 4.0", "S011", "follows from the noise"),
        ("adjacency = \"substitute\"", "adjacency = \"add-remove\"", "S009", "one replaced row"),
        ("chain = { sampler = \"penalty\", iterations = 300, step = 0.1 }", "rounds = 3", "S011", "`chain`"),
        ("algorithm = \"chain\"", "damping = 0.5\nalgorithm = \"chain\"", "S011", "nothing of that kind"),
    ];
    for (number, (found, replaced, code, words)) in cases.into_iter().enumerate() {
        let room = with(&format!("chain-refused-{number}"), found, replaced);
        let output = room.posterity(&["check", "study.toml"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{replaced}: {text}");
        assert!(text.contains(&format!("error[{code}]: study.toml:")) && text.contains(words), "{replaced}: {text}");
    }
}
