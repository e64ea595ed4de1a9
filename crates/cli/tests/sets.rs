//! Tables over several data sets: columns with their own rows, chosen by level and held out by count.

use crate::common::room::Room;
use serde_json::Value;

const STUDY: &str = r#"
schema = 1
[study]
name = "sets"
seeds = [1, 2]
[data]
source = "wine-red"
split = { test_rows = 1500 }
scores_in = "encoded"
[[column]]
name = "red"
partition = { kind = "even", clients = 3 }
[[column]]
name = "snails"
source = "abalone-scaled"
split = { test_rows = 4000, seed = 7 }
partition = { kind = "even", clients = 4 }
[model]
kind = "linear"
bias = false
[[method]]
name = "likelihood"
algorithm = "pvi"
solver = "likelihood"
covariance = "full"
schedule = "synchronous"
rounds = 1
local = { optimiser = "natural" }
privacy = { unit = "example", adjacency = "substitute", epsilon = [1, 1000], delta = 1e-4, clip = 200.0 }
[paper.absolute_error]
non-private = { red = 1.0 }
[[figure]]
along = "ε"
score = "absolute-error"
methods = ["likelihood", "non-private"]
[[figure]]
along = "ε"
score = "coverage"
column = "snails"
methods = ["likelihood"]
"#;

fn refused(room: &Room, words: &[&str], code: &str, said: &str) {
    let output = room.posterity(words);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && text.contains(&format!("error[{code}]")), "{words:?}: {text}");
    assert!(text.contains(said), "{words:?}: {text}");
}

#[test]
fn check_and_plan_speak_of_every_columns_data() {
    let room = Room::new("told", STUDY);
    let told = room.told(&["check", "study.toml"]);
    for words in
        ["sets, red", "wine-red, 1500 rows held out", "abalone-scaled, 4000 rows held out, drawn once by seed 7"]
    {
        assert!(told.contains(words), "{told}");
    }
    let told = room.answer(&["check", "study.toml", "--json"]);
    let inputs = |at: usize| told["data"][at]["inputs"].as_array().unwrap().len();
    assert_eq!((inputs(0), inputs(1)), (11, 7), "{told}");
    let told = room.told(&["plan", "study.toml"]);
    assert!(told.contains("3 with 33 training rows each, 99 together"), "{told}");
    assert!(told.contains("4 with 44 to 45 training rows each, 177 together"), "{told}");
    let told = room.answer(&["plan", "study.toml", "--json"]);
    assert_eq!((&told["columns"][0]["rows"][2], &told["columns"][1]["parameters"]), (&33.into(), &7.into()), "{told}");
    refused(&room, &["run", "study.toml"], "C001", "posterity reproduce study.toml");
}

#[test]
fn every_column_is_run_on_its_own_rows() {
    let room = Room::new("run", STUDY);
    let told = room.answer(&["reproduce", "study.toml", "--out", "out", "--json"]);
    let folder = |column: &str| {
        let of =
            |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(column).then(|| entry.path());
        let entries = std::fs::read_dir(room.0.join("out")).unwrap();
        entries.filter_map(Result::ok).find_map(of).unwrap()
    };
    for (column, source, rows, held_out) in [("red", "wine-red", 99, 1500), ("snails", "abalone-scaled", 177, 4000)] {
        let results = std::fs::read_to_string(folder(column).join("results.json")).unwrap();
        let data = serde_json::from_str::<Value>(&results).unwrap()["data"].clone();
        assert_eq!(data["source"], source);
        assert_eq!((&data["train_rows"], &data["test_rows"]), (&rows.into(), &held_out.into()), "{data}");
        assert!(told["cells"].as_array().unwrap().iter().any(|cell| cell["column"] == column), "{told}");
    }
    let text = room.told(&["reproduce", "study.toml", "--out", "out"]);
    let spaced = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(spaced.contains("MAE median 25 % 75 % paper coverage rank corr. ε messages"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("non-private") && line.contains(" 1.0000 ")), "{text}");
    assert!(!text.contains("KL") && !text.contains("accuracy"), "{text}");
    let page = std::fs::read_to_string(room.0.join("out/index.html")).unwrap();
    for title in
        ["Mean absolute error by ε: red", "Mean absolute error by ε: snails", "Coverage of 90 % intervals by ε<"]
    {
        assert!(page.contains(title), "{title}");
    }
    let cell = |row: &str, metric: &str| {
        let mut cells = told["cells"].as_array().unwrap().iter();
        cells.find(|c| c["row"] == row && c["metric"] == metric && c["column"] == "snails").unwrap().clone()
    };
    let median = cell("likelihood, ε 1000", "absolute_error")["median"].as_f64().unwrap();
    assert!(page.contains(&format!("{median:.3} at 1000")), "{median}");
    let coverage = cell("non-private", "coverage")["ours"].as_f64().unwrap();
    assert!((0.5..=1.0).contains(&coverage), "{coverage}");
}

#[test]
fn errors_are_in_units_of_the_outcome_unless_the_study_says_encoded() {
    let error = |text: &str, name: &str| {
        let room = Room::new(name, text);
        room.answer(&["reproduce", "study.toml", "--out", "out", "--json", "--seed", "1"])["cells"].clone()
    };
    let (encoded, units) = (error(STUDY, "encoded"), error(&STUDY.replace("scores_in = \"encoded\"\n", ""), "units"));
    for (a, b) in encoded.as_array().unwrap().iter().zip(units.as_array().unwrap()) {
        let scale = if a["column"] == "red" { 0.5 } else { 2.8 };
        let [a, b] = [a, b].map(|cell| (cell["metric"].clone(), cell["ours"].as_f64().unwrap()));
        let expected = match a.0.as_str().unwrap() {
            "absolute_error" => a.1 * scale,
            "log_likelihood" => a.1 - f64::ln(scale),
            _ => a.1,
        };
        assert!((b.1 - expected).abs() <= 1e-9 * expected.abs(), "{a:?} {b:?}");
    }
}

#[test]
fn columns_that_cannot_be_are_refused_before_anything_is_run() {
    let own = "source = \"abalone-scaled\"";
    for (name, from, to, code, words) in [
        ("levels", own, "source = \"adult\"", "C001", "needs an outcome that is a number"),
        ("name", own, "source = \"abalonee\"", "D009", "did you mean `abalone`"),
        ("made up", own, "source = \"synthetic-linear\"", "S011", "under [data]"),
        ("schema", "[data]\n", "[data]\nschema = \"mine.toml\"\n", "S011", "are those of one source"),
        ("declared", "[data]\n", "[data]\ndeclared_rows = 9\n", "S011", "are those of one source"),
        ("two forms", "test_rows = 4000", "test_rows = 4000, half = true", "S011", "one of its four forms"),
        ("level", "test_rows = 4000", "test_rows = 4000, test_level = \"x\"", "S011", "one of its four forms"),
        ("none", "test_rows = 4000", "test_rows = 0", "S004", "at least 1"),
        ("all", "test_rows = 4000", "test_rows = 4177", "D007", "4177 of 4177 rows"),
    ] {
        assert!(STUDY.contains(from), "{from}");
        let room = Room::new(name, &STUDY.replacen(from, to, 1));
        refused(&room, &["reproduce", "study.toml", "--out", "out"], code, words);
        assert!(!room.0.join("out").exists(), "{name}: something was run");
    }
}

#[test]
fn rows_held_out_by_count_are_taken_from_all_sites_and_chosen_rows_are_not_counted_without_them() {
    let (head, method) = (STUDY.split_once("[data]").unwrap().0, STUDY.split_once("[[method]]").unwrap().1);
    let method = method.split_once("[paper").unwrap().0;
    let study = |data: &str| format!("{head}[data]\n{data}\n[model]\nkind = \"linear\"\n[[method]]{method}");
    let by = "[partition]\nkind = \"column\"\ncolumn = \"colour\"";
    let room = Room::new("count", &study(&format!("source = \"wine\"\nsplit = {{ test_rows = 6400 }}\n{by}")));
    let told = room.told(&["plan", "study.toml"]);
    assert!(told.contains("2 with about 24 to 74 training rows each"), "{told}");
    let even = "[partition]\nkind = \"even\"\nclients = 4";
    let own = "source = \"wine\"\nschema = \"red.toml\"\nsplit = { test_rows = 500 }";
    let room = Room::new("chosen", &study(&format!("{own}\n{even}")));
    std::fs::write(room.0.join("red.toml"), include_str!("../../../data/wine-red.toml")).unwrap();
    let told = room.told(&["plan", "study.toml"]);
    assert!(told.contains("clients     4, rows not declared"), "{told}");
}

#[test]
fn a_file_of_ones_own_is_read_from_the_studys_folder_and_chosen_from_by_level() {
    let schema = "outcome = { column = \"y\", bounds = [0, 10], centre = 5, scale = 1 }\nonly = { ward = \"a\" }\n\
                  column = [\n{ name = \"x\", kind = \"numeric\", centre = 0, scale = 1 },\n\
                  { name = \"ward\", kind = \"ignore\" },\n]\n";
    let rows: String =
        (0..60).map(|i| format!("{},{},{}\n", i % 7, if i % 3 == 0 { "b" } else { "a" }, i % 10)).collect();
    let study = STUDY.replace("abalone-scaled", "csv:mine.csv").replace("test_rows = 4000", "test_rows = 20");
    let room = Room::new("own", "");
    let folder = room.0.join("inner");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in [("study.toml", study), ("mine.toml", schema.into()), ("mine.csv", format!("x,ward,y\n{rows}"))]
    {
        std::fs::write(folder.join(name), text).unwrap();
    }
    room.answer(&["reproduce", "inner/study.toml", "--out", "out", "--json"]);
    std::fs::write(folder.join("mine.toml"), schema.replace("\"a\"", "\"A\"")).unwrap();
    refused(&room, &["reproduce", "inner/study.toml", "--out", "other"], "D004", "did you mean `a`");
}
