//! The commands `export`, `compare`, `sample` of a finished run, and `man`.

use crate::common::room::Room;
use serde_json::Value;

/// A small study with a private method that is noise-aware, one that is not, and one without privacy.
const STUDY: &str = r#"
schema = 1
study = { name = "small", seeds = [1, 2] }
data = { source = "heart", split = { test = 0.2 } }
partition = { kind = "column", column = "hospital" }
model = { kind = "logistic" }
[[method]]
name = "aware"
algorithm = "noise-aware-levels"
privacy = { unit = "example", adjacency = "substitute", epsilon = 3.0, delta = 1e-4 }
[[method]]
name = "unaware"
algorithm = "pvi"
solver = "dp-optimisation"
rounds = 1
damping = 0.5
local = { steps = 2, rate = 0.2, optimiser = "adam", learning_rate = 0.05 }
privacy = { unit = "example", adjacency = "substitute", epsilon = 3.0, delta = 1e-4, clip = 1.0 }
"#;

fn run() -> Room {
    let room = Room::new("finished", STUDY);
    room.told(&["simulate", "study.toml", "--out", "one"]);
    room
}

#[test]
fn tables_have_intervals_only_where_these_count_the_noise() {
    let room = run();
    let told = room.told(&["export", "one", "--format", "csv"]);
    assert!(told.contains("effects.csv") && told.contains("scores.csv") && told.contains("privacy.csv"), "{told}");
    let effects = std::fs::read_to_string(room.0.join("one/tables/effects.csv")).unwrap();
    let of = |method: &str| effects.lines().find(|line| line.starts_with(method)).unwrap().split(',').count();
    assert_eq!((of("aware"), of("unaware")), (12, 12));
    // Interval and probability of the sign, or why they are left out.
    let last = |line: &str| line.split(',').skip(7).take(4).map(|cell| !cell.is_empty()).collect::<Vec<_>>();
    let [mut aware, mut unaware] = ["aware,", "unaware,disease,1,age,per 10 years,odds ratio,"]
        .map(|start| effects.lines().filter(move |line| line.starts_with(start)).map(last).peekable());
    assert!(aware.peek().is_some() && aware.all(|cells| cells == [true, true, true, false]), "{effects}");
    assert!(unaware.peek().is_some() && unaware.all(|cells| cells == [false, false, false, true]), "{effects}");
    let object = room.answer(&["export", "one", "--format", "csv", "--table", "privacy", "--json"]);
    assert_eq!(object["privacy"][0]["epsilon"], 3.0);
    let latex = room.told(&["export", "one", "--format", "latex", "--table", "scores"]);
    assert!(latex.starts_with("\\begin{table}") && latex.contains("log\\_likelihood"), "{latex}");
    let page = std::fs::read_to_string(room.0.join("one/report.html")).unwrap();
    assert!(page.contains(">What was learnt<") && page.contains("do not count the noise"), "the page says the same");
}

#[test]
fn runs_of_the_same_rows_are_paired_by_seed_and_others_are_refused_with_the_reason() {
    let room = run();
    let text = STUDY.replace("seeds = [1, 2]", "seeds = [3, 2]").replace("epsilon = 3.0", "epsilon = 1.0");
    std::fs::write(room.0.join("other.toml"), &text).unwrap();
    room.told(&["simulate", "other.toml", "--out", "two"]);
    let told = room.answer(&["compare", "one", "two", "--json"]);
    let same = |row: &&Value| row["method"] == "non-private" && row["score"] == "log_likelihood";
    let row = told["scores"]["rows"].as_array().unwrap().iter().find(same).unwrap();
    assert_eq!(
        (&row["difference"]["mean"], &row["difference"]["seeds"]),
        (&0.0.into(), &1.into()),
        "seed 2 alone: {row}"
    );
    assert_eq!(told["effect_seeds"], serde_json::json!([1, 3]));
    assert_eq!(told["privacy"][0]["promises"][1]["epsilon"], 1.0);
    assert!(room.told(&["compare", "one", "two"]).contains("of seed 1 in the first run and of seed 3"));

    std::fs::write(room.0.join("split.toml"), STUDY.replace("test = 0.2", "test = 0.3")).unwrap();
    room.told(&["simulate", "split.toml", "--out", "three"]);
    let told = room.answer(&["compare", "one", "three", "--json"]);
    assert!(told["scores"]["refused"].as_str().unwrap().contains("differ in split"), "{told}");
    assert!(told["effects"]["rows"].is_array(), "{told}");
    let refused = room.posterity(&["compare", "one", "study.toml"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_finished_run_is_drawn_from_without_running_it_again() {
    let room = run();
    let told = room.answer(&["sample", "one", "--json"]);
    let names: Vec<&str> = told.as_array().unwrap().iter().map(|one| one["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["aware", "non-private", "unaware"]);
    let folder = room.0.join(told[0]["folder"].as_str().unwrap());
    assert!(std::fs::read(folder.join("draws.arrow")).unwrap().starts_with(b"ARROW1"));
    let posterior: Value = std::fs::read_dir(room.0.join("one/posterior"))
        .unwrap()
        .map(|entry| serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap())
        .find(|one: &Value| one["method"] == "aware")
        .unwrap();
    for (j, parameter) in told[0]["parameters"].as_array().unwrap().iter().enumerate() {
        let of = |key: &str| posterior["posterior"][key][j].as_f64().unwrap();
        let (mean, deviation) = (parameter["mean"].as_f64().unwrap(), of("deviation"));
        // 4000 draws: five standard errors of a mean.
        assert!((mean - of("mean")).abs() < 5.0 * deviation / 4000_f64.sqrt(), "{parameter}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let room = Room::new("man", "");
    let pages = room.answer(&["man", "--out", "man", "--json"]);
    let pages: Vec<&str> = pages["pages"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in ["posterity.1", "posterity-compare.1", "posterity-account-epsilon.1"] {
        assert!(pages.iter().any(|page| page.ends_with(name)), "{pages:?}");
    }
    let page = std::fs::read_to_string(room.0.join("man/posterity-export.1")).unwrap();
    assert!(page.starts_with(".ie") && page.contains(".SH OPTIONS") && page.contains("\\-\\-format"), "{page}");
}
