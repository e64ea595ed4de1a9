//! A table of one's own and a study of it, as somebody meets them who has never used the program: wrong cells, wrong columns, and
//! several studies of several tables.

use crate::common::room::Room;
use std::fs;
use std::path::Path;

const SCHEMA: &str = r#"outcome = { column = "ill", levels = ["no", "yes"] }
column = [
  { name = "age", kind = "numeric", centre = 50, scale = 20, bounds = [10, 90] },
  { name = "ward", kind = "category", levels = ["a", "b"] },
]
"#;

/// A short study of these data.
const SHORT: &str = r#"[data]
source = "csv:rows.csv"
[partition]
clients = 2
[model]
kind = "logistic"
[privacy]
epsilon = 1.0
"#;

fn rows(count: usize) -> String {
    let row = |i: usize| format!("{},{},{}\n", 20 + i % 60, ["a", "b"][i % 2], ["no", "yes"][i / 3 % 2]);
    format!("age,ward,ill\n{}", (0..count).map(row).collect::<String>())
}

/// A room with a table, its schema and a short study of it.
fn room(name: &str, study: &str) -> Room {
    let room = Room::new(name, study);
    fs::write(room.0.join("rows.csv"), rows(120)).unwrap();
    fs::write(room.0.join("rows.toml"), SCHEMA).unwrap();
    room
}

/// Standard error of a command that is refused with this code.
fn refused(room: &Room, words: &[&str], code: &str) -> String {
    let output = room.posterity(words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
    assert!(said.contains(&format!("error[{code}]")), "{words:?}: {said}");
    assert!(output.stdout.is_empty(), "{words:?}");
    said
}

#[test]
fn check_and_plan_list_all_faults_of_a_table_and_show_no_cell_of_it() {
    let room = room("faults", SHORT);
    let broken = rows(120).replacen("21,b,no", "old,b,no", 1).replacen("22,a,no", "22,z9,no", 1).replacen(
        "23,b,yes",
        "23,b,maybe",
        1,
    );
    fs::write(room.0.join("rows.csv"), broken).unwrap();
    for words in [["check", "study.toml"], ["plan", "study.toml"]] {
        let said = refused(&room, &words, "D005");
        for part in [
            "column `age`: 1 of 120",
            "line 3",
            "column `ward`: 1 of 120",
            "one of `a`, `b`",
            "column `ill`: 1 of 120",
            "`no`, `yes`",
        ] {
            assert!(said.contains(part), "{words:?}, {part}: {said}");
        }
        for cell in ["old", "z9", "maybe"] {
            assert!(!said.contains(cell), "{words:?}, {cell}: {said}");
        }
    }
    fs::write(room.0.join("rows.csv"), "age,ward,ill\n").unwrap();
    assert!(refused(&room, &["check", "study.toml"], "D006").contains("the table has no rows"));
    fs::write(room.0.join("rows.csv"), rows(120)).unwrap();
    let said = room.told(&["check", "study.toml"]);
    assert!(said.contains("is sound") && said.contains("every cell fits the schema, and rows were counted"), "{said}");
    let many = SHORT.replace("clients = 2", "clients = 900");
    fs::write(room.0.join("study.toml"), many).unwrap();
    refused(&room, &["check", "study.toml"], "D008");
}

/// Under add-remove rows are not counted, but a fault of the table is still none that a study is sound with.
#[test]
fn check_compares_cells_also_where_rows_must_not_be_counted() {
    let study = SHORT.replace("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-4\nadjacency = \"add-remove\"");
    let study = study.replace("[partition]", "declared_rows = 120\n[partition]");
    let room = room("add-remove", &study);
    let said = room.told(&["check", "study.toml"]);
    assert!(said.contains("; every cell fits the schema\n"), "{said}");
    fs::write(room.0.join("rows.csv"), rows(120).replacen("21,b,no", "old,b,no", 1)).unwrap();
    assert!(!refused(&room, &["check", "study.toml"], "D005").contains("old"));
}

#[test]
fn check_warns_of_a_delta_that_promises_nothing_to_counted_rows() {
    let room = room("delta", &SHORT.replace("epsilon = 1.0", "epsilon = 1.0\ndelta = 0.5"));
    for words in [["check", "study.toml"], ["plan", "study.toml"]] {
        let said = room.told(&words);
        assert!(said.contains("S014: private: δ = 0.5 is not under 1 /"), "{words:?}: {said}");
        assert_eq!(said.matches("S014").count(), 1, "{said}");
    }
}

#[test]
fn the_outcome_cannot_be_the_column_of_the_sites() {
    let room = room("outcome-sites", &SHORT.replace("clients = 2", "column = \"ill\""));
    for words in [["check", "study.toml"], ["plan", "study.toml"], ["simulate", "study.toml"]] {
        let said = refused(&room, &words, "S004");
        assert!(said.contains("both the outcome and the column of the sites"), "{said}");
    }
}

#[test]
fn constants_outside_the_bounds_of_their_column_are_warned_of() {
    let room = room("constants", SHORT);
    let schema = SCHEMA.replace(
        "centre = 50, scale = 20, bounds = [10, 90]",
        "centre = 600, scale = 20, bounds = [10, 90], missing = { fill = 500 }",
    );
    fs::write(room.0.join("rows.toml"), schema).unwrap();
    for words in [["check", "study.toml"], ["plan", "study.toml"]] {
        let said = room.told(&words).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains("fills missing cells of `age` with 500, outside its bounds, 10 to 90: they count as 90"),
            "{said}"
        );
        assert!(said.contains("centre of `age`, 600, is outside its bounds"), "{said}");
    }
}

#[test]
fn a_study_named_study_is_called_after_its_folder_and_keeps_out_of_the_results_of_another() {
    let room = room("names", "");
    for name in ["one", "two"] {
        let folder = room.0.join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("study.toml"), SHORT.replace("csv:rows.csv", "csv:../rows.csv")).unwrap();
    }
    let simulate = |study: &str, out: &str| room.posterity(&["simulate", study, "--seed", "1", "--out", out, "--json"]);
    assert!(simulate("one/study.toml", "out").status.success());
    let said = String::from_utf8_lossy(&simulate("two/study.toml", "out").stderr).into_owned();
    assert!(said.contains("S013") && said.contains("\\\"one\\\"") && said.contains("--out"), "{said}");
    room.told(&["simulate", "two/study.toml", "--seed", "1"]);
    assert!(room.0.join("runs/two/results.json").exists());
    // From inside the folder it has the same name.
    let inside = Room(room.0.join("two"));
    assert!(inside.told(&["check", "study.toml"]).starts_with("study       two is sound"));
}

#[test]
fn tables_of_earlier_results_go_with_these() {
    let room = room("stale", SHORT);
    let study = Path::new("study.toml");
    let simulate = |seed: &str| room.told(&["simulate", study.to_str().unwrap(), "--seed", seed, "--out", "out"]);
    simulate("1");
    room.told(&["export", "out", "--format", "csv"]);
    let tables = room.0.join("out/tables");
    let told = fs::read_to_string(tables.join("privacy.csv")).unwrap();
    assert!(
        told.lines().all(|line| line.ends_with("made_by") || line.ends_with("simulation: protects nobody")),
        "{told}"
    );
    simulate("1");
    assert!(tables.exists(), "the same results again");
    simulate("2");
    assert!(!tables.exists(), "tables of seed 1 beside results of seed 2");
    room.told(&["export", "out", "--format", "csv"]);
    fs::write(room.0.join("study.toml"), SHORT.replace("epsilon = 1.0", "epsilon = 2.0")).unwrap();
    simulate("2");
    assert!(!tables.exists() && room.0.join("out/results.json").exists(), "an edited study replaces its own results");
}

#[test]
fn a_hint_at_a_column_is_no_hint_at_a_flag() {
    let room = room("hints", "");
    fs::write(room.0.join("rows.csv"), "site,ill\n1,2\n").unwrap();
    let said = refused(&room, &["init", "new", "--header", "rows.csv", "--outcome", "ill", "--sites", "Site"], "C001");
    assert!(said.contains("did you mean the column \"site\"?") && !said.contains("--site?"), "{said}");
}

/// What is fitted in a folder of the owner's says nothing of that folder, and a fit has no seed.
#[test]
fn a_fit_publishes_no_folder_and_has_no_seed() {
    let room = room("paths", "");
    let table = room.0.join("rows.csv").display().to_string();
    fs::write(room.0.join("study.toml"), SHORT.replace("csv:rows.csv", &format!("csv:{table}"))).unwrap();
    let told = room.told(&["fit", "study.toml", "--home", "home", "--out", "out"]);
    assert!(told.contains("in total"), "{told}");
    let folder = room.0.file_name().unwrap().to_str().unwrap().to_owned();
    for name in ["study.toml", "results.json", "report.html"] {
        let text = fs::read_to_string(room.0.join("out").join(name)).unwrap();
        assert!(text.contains("csv:rows.csv"), "{name}");
        assert!(!text.contains(&table) && !text.contains(&format!("{folder}/rows.csv")), "{name}");
    }
    fs::write(room.0.join("new.csv"), "age,ward\n50,a\n").unwrap();
    let output = room.posterity(&["predict", "out", "--data", "new.csv"]);
    let about = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(about.contains("from the posterior of private") && !about.contains("seed"), "{about}");
}
