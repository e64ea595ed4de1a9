//! `posterity fit` as a person or a program meets it: what it prints, what it writes, and what reads that.

use crate::common::room::Room;
use serde_json::Value;

const STUDY: &str = r#"schema = 1
[study]
name = "hearts"
seeds = [1]
[data]
source = "heart"
split = { test = 0.2 }
[partition]
kind = "even"
clients = 1
[model]
kind = "logistic"
[[method]]
name = "open"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 4
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 4
privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-5, clip = 2.5 }
"#;

#[test]
fn a_fit_is_told_written_and_read_by_the_other_commands() {
    let room = Room::new("fit", STUDY);
    let told = room.told(&["fit", "study.toml", "--home", "home"]);
    for words in
        ["method      noise-aware, 4 of 4 rounds", "the first fit of this home", "in total    ε = 1 at δ = 1e-5"]
    {
        assert!(told.contains(words), "{words}\n{told}");
    }
    let out = room.0.join("fits/hearts");
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/new-patients.csv");
    let csv = room.told(&["predict", out.to_str().unwrap(), "--data", data.to_str().unwrap()]);
    assert!(csv.lines().count() > 1, "{csv}");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    let again = room.told(&["report", out.to_str().unwrap(), "--out", "-"]);
    assert!(page == again, "the page that is made again is another");
    assert!(room.told(&["ledger", "verify", "--home", "home"]).starts_with("sound"));
    let second = room.told(&["fit", "study.toml", "--home", "home", "--out", "second", "--with-baselines", "--json"]);
    let second: Value = serde_json::from_str(&second).unwrap();
    assert_eq!(second["results"]["lifetime"]["epsilon"], 2.0);
    assert_eq!(second["results"]["kind"], "fit");
    let private = room.0.join(second["not_for_publication"].as_str().unwrap());
    assert!(std::fs::read_to_string(private).unwrap().contains("Not for publication"));
}

#[test]
fn what_cannot_be_fitted_is_refused_by_its_code() {
    let room = Room::new("fit-refused", STUDY);
    let refused = |words: &[&str]| {
        let output = room.posterity(words);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (exit, error) = refused(&["fit", "study.toml", "--home", "home", "--method", "open"]);
    assert!(exit == Some(2) && error.starts_with("error[F121]"), "{error}");
    let (exit, error) = refused(&["fit", "study.toml", "--home", "home", "--method", "noise"]);
    assert!(exit == Some(2) && error.starts_with("error[F101]"), "{error}");
    assert!(!room.0.join("home").exists());
}
