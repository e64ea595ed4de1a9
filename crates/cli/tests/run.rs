//! `posterity simulate` from end to end: a small study of a person's own, resumed, predicted from; and bad input, which is
//! refused with a code, a hint and its place before anything is written.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

const SCHEMA: &str = r#"
outcome = { column = "sick", levels = ["no", "yes"] }
column = [
  { name = "age", kind = "numeric", centre = 50.0, scale = 10.0 },
  { name = "sex", kind = "category", levels = ["f", "m"] },
  { name = "site", kind = "ignore" },
]
"#;

const STUDY: &str = r#"schema = 1
[study]
name = "small"
seeds = [1, 2]
[data]
source = "csv:rows.csv"
split = { test = 0.2 }
[partition]
kind = "column"
column = "site"
[model]
kind = "logistic"
[[method]]
name = "DP optimisation"
algorithm = "pvi"
solver = "dp-optimisation"
schedule = "sequential"
rounds = 2
damping = 0.5
local = { steps = 2, batch = "all", optimiser = "adam", learning_rate = 0.05 }
privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-5, clip = 1.0 }
"#;

fn rows() -> String {
    let row = |i: usize| {
        let (sex, sick) = (if i.is_multiple_of(2) { "f" } else { "m" }, if i.is_multiple_of(4) { "yes" } else { "no" });
        format!("{},{sex},s{},{sick}\n", 40 + i, i % 3)
    };
    "age,sex,site,sick\n".to_owned() + &(1..=30).map(row).collect::<String>()
}

/// A folder of this test's own with rows, schema and study; gone when it goes.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-run-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Self(path);
        folder.write("rows.csv", &rows()).write("rows.toml", SCHEMA).write("study.toml", STUDY);
        folder
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.0.join(name), text).unwrap();
        self
    }

    fn posterity(&self, words: &[&str]) -> Output {
        Command::cargo_bin("posterity").unwrap().current_dir(&self.0).args(words).output().unwrap()
    }

    fn run(&self) -> Output {
        self.posterity(&["simulate", "study.toml", "--out", "out"])
    }

    /// The study with a change is refused with this code; the message has these words, and nothing was written.
    fn refuses(&self, code: &str, words: &[&str]) {
        let output = self.run();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("error[{code}]")) && said.contains("hint: "), "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "{word} is not in\n{said}"));
        assert!(!self.0.join("out").exists(), "something was written");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_study_runs_reports_goes_on_and_predicts() {
    let folder = Folder::new("whole");
    let output = folder.run();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.trim_end().ends_with("report.html"), "{said}");
    let results = json(&folder.0.join("out/results.json"));
    let names: Vec<&str> = results["methods"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["DP optimisation", "majority class", "local only", "non-private"]);
    let spent = &results["methods"][0]["privacy"]["clients"];
    assert_eq!(spent.as_array().unwrap().len(), 3);
    assert!(spent.as_array().unwrap().iter().all(|c| c["certified"].as_f64().unwrap() <= 1.0), "{spent}");
    assert_eq!(results["methods"][2]["posterior"], serde_json::json!([]), "no site's own fit stands for all");
    let local = folder.posterity(&["predict", "out", "--method", "local only", "--data", "rows.csv"]);
    assert_eq!(local.status.code(), Some(2));
    let again = folder.run();
    assert!(String::from_utf8_lossy(&again.stderr).contains("kept from before"));
    let mut same = json(&folder.0.join("out/results.json"));
    assert_eq!(same["methods"][0]["accuracy"], results["methods"][0]["accuracy"]);
    same.as_object_mut().unwrap().remove("study");
    folder.write("new.csv", "age,sex,site\n61,f,s9\n35,m,s9\n");
    let predicted = folder.posterity(&["predict", "out", "--method", "DP optimisation", "--data", "new.csv", "--json"]);
    let predicted: Value = serde_json::from_slice(&predicted.stdout).unwrap();
    assert_eq!(predicted["predictions"].as_array().unwrap().len(), 2);
    let p = predicted["predictions"][0]["probability"].as_f64().unwrap();
    assert!(p > 0.0 && p < 1.0);
    let report = folder.posterity(&["report", "out", "--out", "-"]);
    assert!(String::from_utf8_lossy(&report.stdout).contains("</html>"));
}

#[test]
fn every_site_is_scored_on_its_own_rows_beside_a_constant_answer() {
    let folder = Folder::new("sites");
    assert_eq!(folder.run().status.code(), Some(0));
    let results = json(&folder.0.join("out/results.json"));
    let held_out: u64 =
        results["data"]["clients"].as_array().unwrap().iter().map(|c| c["test_rows"].as_u64().unwrap()).sum();
    assert_eq!(Some(held_out), results["data"]["test_rows"].as_u64());
    for method in results["methods"].as_array().unwrap() {
        let names: Vec<&str> =
            method["sites"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["s0", "s1", "s2"], "{}", method["name"]);
    }
    // A quarter of the rows is ill, so the majority class is "no", and its score is the share of "no" among held-out rows.
    let constant = &results["methods"][1];
    assert_eq!((&constant["algorithm"], &constant["baseline"]), (&"constant".into(), &true.into()));
    assert_eq!(constant["auc"]["mean"], 0.5);
    assert!(constant["accuracy"]["mean"].as_f64().unwrap() > 0.5 && constant["posterior"] == serde_json::json!([]));
    let page = std::fs::read_to_string(folder.0.join("out/report.html")).unwrap();
    assert!(page.contains("Scores at each site") && page.contains("majority class"));
    assert!(page.contains("This is a simulation: its noise follows from the published seed"));
    for words in ["date", "commit", "data_digest"].map(|key| results["provenance"][key].as_str().unwrap()) {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_run_that_was_stopped_is_told_and_goes_on() {
    let folder = Folder::new("stopped");
    assert_eq!(folder.run().status.code(), Some(0));
    std::fs::remove_file(folder.0.join("out/results.json")).unwrap();
    let output = folder.posterity(&["report", "out"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("S013") && said.contains("8 pieces of work are done") && said.contains("--out out"),
        "{said}"
    );
    assert_eq!(folder.run().status.code(), Some(0));
    assert_eq!(folder.posterity(&["report", "out"]).status.code(), Some(0));
}

#[test]
fn a_method_that_is_not_there_is_answered_with_the_nearest() {
    let folder = Folder::new("nearest");
    assert_eq!(folder.run().status.code(), Some(0));
    folder.write("new.csv", "patient,age,sex\n7,61,f\n8,35,m\n");
    let output = folder.posterity(&["predict", "out", "--method", "DP optimization", "--data", "new.csv"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("error[C001]") && said.contains("did you mean \"DP optimisation\"?"), "{said}");
    let output = folder.posterity(&["predict", "out", "--data", "new.csv"]);
    let (said, about) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("row,probability\n1,") && said.lines().count() == 3, "{said}");
    assert!(about.contains("seed 1: the probability of sick = yes"), "{about}");
    assert!(about.contains("interval not shown: does not count the noise"), "{about}");
}

#[test]
fn the_same_seed_gives_the_same_results_in_two_directories() {
    let folder = Folder::new("twice");
    let run = |out: &str| {
        assert_eq!(folder.posterity(&["simulate", "study.toml", "--out", out, "--seed", "5"]).status.code(), Some(0));
        let results = json(&folder.0.join(out).join("results.json"));
        (results["methods"][0]["curves"].clone(), results["methods"][0]["posterior"].clone())
    };
    assert_eq!(run("one"), run("two"));
}

#[test]
fn a_label_outside_the_schema_is_refused_with_its_line() {
    let folder = Folder::new("label");
    folder.write("rows.csv", &rows().replacen("s1,no", "s1,maybe", 1)).refuses("D005", &["line 2", "sick", "maybe"]);
}

#[test]
fn a_missing_column_is_refused_by_its_name() {
    let folder = Folder::new("column");
    folder.write("rows.csv", &rows().replacen("age,", "ago,", 1)).refuses("D004", &["age"]);
}

#[test]
fn a_cell_that_is_no_number_is_refused_with_its_line() {
    let folder = Folder::new("nan");
    folder.write("rows.csv", &rows().replacen("\n42,", "\nNaN,", 1)).refuses("D005", &["line 3", "age", "NaN"]);
}

#[test]
fn more_clients_than_rows_are_refused() {
    let folder = Folder::new("empty");
    let study = STUDY.replace("kind = \"column\"\ncolumn = \"site\"", "kind = \"even\"\nclients = 100");
    folder.write("study.toml", &study).refuses("D008", &["100"]);
}

#[test]
fn one_client_with_one_row_takes_part() {
    let folder = Folder::new("one");
    let lone = rows() + "44,f,alone,no\n" + "45,f,alone,no\n";
    folder.write("rows.csv", &lone);
    let output = folder.posterity(&["simulate", "study.toml", "--out", "out", "--seed", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_skew_that_the_rows_do_not_allow_is_refused() {
    let folder = Folder::new("skew");
    let skew = "kind = \"skewed\"\nclients = 2\nrho = 0.5\nkappa = -9.0";
    folder
        .write("study.toml", &STUDY.replace("kind = \"column\"\ncolumn = \"site\"", skew))
        .refuses("D008", &["κ = -9"]);
}

#[test]
fn an_epsilon_of_zero_is_refused_with_its_line() {
    let folder = Folder::new("epsilon");
    folder
        .write("study.toml", &STUDY.replace("epsilon = 1.0", "epsilon = 0.0"))
        .refuses("S004", &["study.toml:21", "epsilon"]);
}

#[test]
fn a_loose_delta_is_a_warning_that_stays_with_the_results() {
    let folder = Folder::new("delta");
    folder.write("study.toml", &STUDY.replace("delta = 1e-5", "delta = 0.2"));
    assert_eq!(folder.posterity(&["simulate", "study.toml", "--out", "out", "--seed", "1"]).status.code(), Some(0));
    let warnings = json(&folder.0.join("out/results.json"))["methods"][0]["warnings"].to_string();
    assert!(warnings.contains("1/n"), "{warnings}");
}

/// Found: a copy that stopped in the middle of a site's name made up a site, and nobody said so.
#[test]
fn a_cut_file_small_sites_and_other_declared_rows_are_warned_of_with_their_source() {
    let folder = Folder::new("warned");
    let columns = ["age,sex,sick,site".to_owned()];
    let turned = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{},{},{},clinic-{}", cells[0], cells[1], cells[3], cells[2])
    };
    let lines: Vec<String> = columns.into_iter().chain(rows().lines().skip(1).map(turned)).collect();
    let cut = format!("{}\n71,f,no,cli", lines.join("\n"));
    let study = STUDY.replace("split = { test = 0.2 }", "split = { test = 0.2 }\ndeclared_rows = [10, 10, 11]");
    folder.write("rows.csv", &cut).write("study.toml", &study.replace("epsilon = 1.0", "epsilon = 12.0"));
    let output = folder.posterity(&["simulate", "study.toml", "--out", "out", "--seed", "1"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let results = json(&folder.0.join("out/results.json"));
    let coded = |of: &Value| -> Vec<(String, String)> {
        let text = |warning: &Value, key: &str| warning[key].as_str().unwrap().to_owned();
        of["warnings"].as_array().unwrap().iter().map(|w| (text(w, "code"), text(w, "source"))).collect()
    };
    let rows = |code: &str| (code.to_owned(), "rows".to_owned());
    assert_eq!(coded(&results), [rows("W005"), rows("W006"), rows("W007")], "{said}");
    assert!(said.contains("its last line is the only row of a site \"cli\""), "{said}");
    let of_method = coded(&results["methods"][0]);
    assert!(of_method.contains(&("W009".into(), "public".into())), "{of_method:?}");
    assert!(std::fs::read_to_string(folder.0.join("out/report.html")).unwrap().contains("W007, rows"));
}

#[test]
fn a_method_named_like_a_baseline_or_not_at_all_is_refused() {
    let folder = Folder::new("names");
    for name in ["non-private", "Local only", "", "two\\nlines"] {
        let study = STUDY.replace("name = \"DP optimisation\"", &format!("name = \"{name}\""));
        folder.write("study.toml", &study).refuses("S005", &["study.toml:14"]);
    }
}

#[test]
fn results_of_another_study_are_not_overwritten() {
    let folder = Folder::new("other");
    assert_eq!(folder.run().status.code(), Some(0));
    folder.write("study.toml", &STUDY.replace("name = \"small\"", "name = \"another\""));
    let output = folder.run();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("S013") && said.contains("small"), "{said}");
}

#[test]
fn a_number_is_predicted_and_scored_in_its_own_units() {
    let folder = Folder::new("units");
    let schema = SCHEMA.replace(
        "outcome = { column = \"sick\", levels = [\"no\", \"yes\"] }",
        "outcome = { column = \"sick\", bounds = [0.0, 2000.0], centre = 1000.0, scale = 100.0 }",
    );
    let study = STUDY.replace("kind = \"logistic\"", "kind = \"linear\"");
    let rows = rows().replace(",yes\n", ",1100\n").replace(",no\n", ",900\n");
    folder.write("rows.toml", &schema).write("study.toml", &study).write("rows.csv", &rows);
    let output = folder.run();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let results = json(&folder.0.join("out/results.json"));
    let point = &results["methods"][3]["curves"][0]["points"][0];
    assert_eq!(point["absolute_error"], results["methods"][3]["absolute_error"]["per_seed"][0], "one unit for both");
    assert_eq!(results["methods"][1]["name"], "mean of the target");
    let error = results["methods"][3]["absolute_error"]["mean"].as_f64().unwrap();
    assert!((20.0..300.0).contains(&error), "{error}");
    let words = ["predict", "out", "--method", "non-private", "--data", "rows.csv", "--json"];
    let predicted: Value = serde_json::from_slice(&folder.posterity(&words).stdout).unwrap();
    let mean = predicted["predictions"][0]["mean"].as_f64().unwrap();
    assert!((700.0..1300.0).contains(&mean), "{mean}");
}

#[test]
fn softmax_and_network_models_run_and_predict() {
    let softmax = Folder::new("softmax");
    softmax.write("study.toml", &STUDY.replace("\"logistic\"", "\"softmax\""));
    assert!(softmax.run().status.success());
    let results = json(&softmax.0.join("out/results.json"));
    let names: Vec<&str> =
        results["methods"][0]["posterior"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"no: age") && names.contains(&"yes: intercept") && names.len() == 8, "{names:?}");
    let predicted = softmax.posterity(&["predict", "out", "--method", "DP optimisation", "--data", "rows.csv"]);
    let predicted = String::from_utf8(predicted.stdout).unwrap();
    let mut lines = predicted.lines();
    assert_eq!(lines.next(), Some("row,no,yes"));
    let sum: f64 = lines.next().unwrap().split(',').skip(1).map(|p| p.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6 && lines.count() == 29, "{predicted}");

    let network = Folder::new("network");
    let aligned = STUDY.replace("\"logistic\"", "\"network\"\nhidden = [3]");
    network
        .write("study.toml", &aligned.replace("learning_rate = 0.05", "learning_rate = 0.05, gradients = \"aligned\""));
    assert!(network.run().status.success());
    let predicted =
        network.posterity(&["predict", "out", "--method", "DP optimisation", "--data", "rows.csv", "--json"]);
    let predicted: Value = serde_json::from_slice(&predicted.stdout).unwrap();
    assert!(predicted["predictions"][0]["probability"].as_f64().is_some_and(|p| p > 0.0 && p < 1.0));
}

#[test]
fn a_typo_in_a_study_is_refused_with_the_nearest_key() {
    let folder = Folder::new("typo");
    folder.write("study.toml", &STUDY.replace("damping", "dampning")).refuses("S002", &["study.toml:19", "damping"]);
}
