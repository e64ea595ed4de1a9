//! Studies of federations and what stands ready at a site, from the command line.

use crate::common::room::{Room, study};
use std::path::Path;

/// A study that is served and not simulated: no file of rows is anywhere near it.
const SERVED: &str = r#"
schema = 1
[study]
name = "ward"
seeds = [1]
[data]
source = "csv:at-the-sites.csv"
schema = "ward.toml"
[federation]
sites = [{ name = "north", rows = 300 }, { name = "south", rows = 200 }]
[model]
kind = "logistic"
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 12
privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-5, clip = 2.0 }
"#;

const SCHEMA: &str = "outcome = { column = \"ill\", levels = [\"no\", \"yes\"] }\n\
                      column = [{ name = \"age\", kind = \"numeric\", centre = 55, scale = 10 }]\n";

fn room(name: &str) -> Room {
    let room = Room::new(name, SERVED);
    std::fs::write(room.0.join("ward.toml"), SCHEMA).unwrap();
    room
}

/// Exit code and standard error of a command that must fail.
fn refused(room: &Room, words: &[&str]) -> (i32, String) {
    let output = room.posterity(words);
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_served_study_is_checked_and_planned_without_rows_and_not_run() {
    let room = room("served");
    let told = room.told(&["check", "study.toml"]);
    assert!(told.contains("2 sites as declared: north (300 rows), south (200 rows)"), "{told}");
    assert!(told.contains("served, and not simulated") && !told.contains("for comparison"), "{told}");
    let plan = room.answer(&["plan", "study.toml", "--json"]);
    assert_eq!((&plan["rows"][0], &plan["rows"][1], &plan["rows_are"]), (&300.into(), &200.into(), &"declared".into()));
    let checked = room.answer(&["check", "study.toml", "--json"]);
    assert_eq!(checked["federation"]["sites"][1]["rows"], 200);
    let (code, told) = refused(&room, &["run", "study.toml"]);
    assert!(code == 2 && told.starts_with("error[F104]: study.toml"), "{told}");
    assert!(room.told(&["explain", "F104"]).contains("[partition]"));
}

#[test]
fn the_heart_federation_is_sound_and_can_be_simulated() {
    let room = Room::new("heart", &study("heart-federation").replace("seeds = [1, 2]", "seeds = [1]"));
    let told = room.told(&["check", "study.toml"]);
    assert!(told.contains("compute nodes alice, bob; a round goes on with 3"), "{told}");
    let results = room.answer(&["run", "study.toml", "--out", "out", "--json"]);
    let rows: Vec<u64> =
        results["data"]["clients"].as_array().unwrap().iter().map(|c| c["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [234, 234, 99, 169], "as [federation] declares");
}

#[test]
fn a_fault_in_the_table_has_its_line_and_a_hint() {
    let room = Room::new("fault", &SERVED.replace("rows = 200 }]", "rows = 200 }]\nquorum = 5"));
    let (code, told) = refused(&room, &["check", "study.toml"]);
    assert!(
        code == 2 && told.contains("error[F102]: study.toml:11:1: quorum is 5") && told.contains("hint:"),
        "{told}"
    );
}

#[test]
fn the_first_policy_of_a_site_is_printed() {
    let room = room("policy");
    let text = room.told(&["agent", "policy", "init"]);
    assert!(text.contains("max_epsilon = ") && text.contains("approval = \"manual\""), "{text}");
    assert_eq!(room.answer(&["agent", "policy", "init", "--json"])["policy"], text);
}

#[test]
fn a_sites_file_is_looked_at_on_its_own_terminal() {
    let room = room("check");
    std::fs::write(room.0.join("rows.csv"), "age,ill,room\n50,yes,1\nold,no,2\n60,maybe,3\n70,no,4\n").unwrap();
    let words = ["agent", "check", "--data", "rows.csv", "--schema", "ward.toml"];
    let told = room.told(&words);
    for part in ["4 rows", "2 lines with a value", "age: 1 line", "ill: 1 line", "line 3", "line 4", "room"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let object = room.answer(&[&words[..], &["--json"]].concat());
    assert_eq!((&object["rows"], &object["problems"], &object["not_used"][0]), (&4.into(), &2.into(), &"room".into()));
    std::fs::write(room.0.join("rows.csv"), "height,ill\n50,yes\n").unwrap();
    let (code, told) = refused(&room, &words);
    assert!(code == 2 && told.contains("error[D004]: rows.csv"), "{told}");
    assert!(Path::new(&room.0).join("ward.toml").exists());
}
