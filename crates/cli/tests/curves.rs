//! Curves against ε: a list of ε in one method, drawn as one line of a figure.

use crate::common::room::Room;
use std::path::Path;

const STUDY: &str = r#"
schema = 1
[study]
name = "curve"
seeds = [1, 2]
[data]
source = "heart"
split = { test = 0.2 }
[partition]
kind = "column"
column = "hospital"
[model]
kind = "logistic"
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 5
privacy = { unit = "example", adjacency = "substitute", epsilon = [8, 0.1, 1.0], delta = 1e-5, clip = 3.0 }
[[method]]
name = "in the clear"
algorithm = "noise-aware"
rounds = 5
[[figure]]
along = "ε"
score = "log-likelihood"
methods = ["noise-aware", "non-private"]
[[figure]]
along = "ε"
score = "accuracy"
range = [0.5, 0.9]
[[figure.line]]
name = "one by one"
points = [{ at = 0.1, method = "noise-aware, ε 0.1" }, { at = 1, method = "noise-aware, ε 1" }]
"#;

#[test]
fn a_list_of_epsilon_is_run_one_by_one_and_drawn_as_one_line_beside_the_level_without_privacy() {
    let room = Room::new("drawn", STUDY);
    let told = room.answer(&["reproduce", "study.toml", "--out", "out", "--json"]);
    let page = std::fs::read_to_string(room.0.join("out/index.html")).unwrap();
    let cell = |row: &str, metric: &str| {
        let mut cells = told["cells"].as_array().unwrap().iter();
        cells.find(|c| c["row"] == row && c["metric"] == metric).unwrap_or_else(|| panic!("{row}")).clone()
    };
    let mean = |row: &str, metric: &str| format!("{:.3}", cell(row, metric)["ours"].as_f64().unwrap());
    for epsilon in [0.1, 1.0, 8.0] {
        let row = format!("noise-aware, ε {epsilon}");
        let spent = cell(&row, "log_likelihood")["epsilon"].as_f64().unwrap();
        assert!(spent <= epsilon && spent > 0.99 * epsilon, "{row}: {spent}");
    }
    let at = |epsilon: &str| mean(&format!("noise-aware, ε {epsilon}"), "log_likelihood") + " at " + epsilon;
    let line = format!("noise-aware: {}, {}, {}; ", at("0.1"), at("1"), at("8"));
    let level = mean("non-private", "log_likelihood");
    assert!(page.contains(&(line + &format!("non-private: {level} at 0.1, {level} at 8."))), "{told}");
    let accuracies = [mean("noise-aware, ε 0.1", "accuracy"), mean("noise-aware, ε 1", "accuracy")];
    assert!(page.contains(&format!("one by one: {} at 0.1, {} at 1.", accuracies[0], accuracies[1])), "{told}");
    assert!(page.contains("Held-out accuracy by ε") && page.contains("log-likelihood, nats per row: mean"));
}

#[test]
fn figures_of_lists_that_are_not_there_are_refused() {
    for (name, from, to, code, words) in [
        (
            "unlisted",
            "[\"noise-aware\", ",
            "[\"in the clear\", ",
            "S004",
            "no method \"in the clear\" with a list of ε",
        ),
        ("alone", "[\"noise-aware\", \"non-private\"]", "[\"non-private\"]", "S004", "with a list of ε"),
        ("score", "\"log-likelihood\"", "\"likelihood\"", "S002", "did you mean \"log-likelihood\""),
        ("range", "[0.5, 0.9]", "[0.9, 0.5]", "S004", "two numbers in order"),
        ("column", "methods = [", "column = \"left\"\nmethods = [", "S004", "there is no column \"left\""),
        ("whole", "method = \"noise-aware, ε 1\"", "method = \"noise-aware\"", "S004", "there is no method"),
    ] {
        assert!(STUDY.contains(from), "{from}");
        let output = Room::new(name, &STUDY.replacen(from, to, 1)).posterity(&["check", "study.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(code) && said.contains(words) && output.status.code() == Some(2), "{name}: {said}");
    }
}

#[test]
fn the_curve_of_all_methods_has_the_settings_of_the_published_figure() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../studies/{name}.toml"));
        let text = std::fs::read_to_string(path).unwrap();
        let methods =
            text.find("[model]").unwrap()..text.find("# Read off").or_else(|| text.find("[[figure]]")).unwrap();
        text[methods].to_owned()
    };
    let list = "epsilon = [0.1, 0.3, 0.5, 1, 2, 3, 8]";
    assert_eq!(read("epsilon-curve").replace(list, "epsilon = 1.0"), read("tmlr-fig1"));
    let room = Room::new("sound", "");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/epsilon-curve.toml");
    room.answer(&["check", path.to_str().unwrap(), "--json"]);
}
