//! `posterity datasets` and `posterity init` as a person or a program meets them: files, codes, hints and exit codes.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A folder for one test, empty at its start.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("datasets-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Runs the command in a folder that is also where fetched data are kept and where programs are looked for.
fn posterity(at: &Path, words: &[&str]) -> Output {
    let mut command = Command::cargo_bin("posterity").unwrap();
    command.args(words).current_dir(at).env("POSTERITY_DATA", at.join("kept")).env("PATH", at).output().unwrap()
}

fn answer(at: &Path, words: &[&str]) -> String {
    let output = posterity(at, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn object(at: &Path, words: &[&str]) -> Value {
    serde_json::from_str(&answer(at, &[words, &["--json"]].concat())).unwrap()
}

/// Runs a command that must fail, for people and for programs; these words must be in the message, these in the hint.
fn refused(at: &Path, words: &[&str], (code, exit): (&str, i32), message: &str, hint: &str) {
    let output = posterity(at, words);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(exit), "{words:?}\n{text}");
    assert!(output.stdout.is_empty() && text.starts_with(&format!("error[{code}]: ")), "{words:?}\n{text}");
    let output = posterity(at, &[words, &["--json"]].concat());
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    let error = &error["error"];
    assert_eq!(error["code"], code);
    assert!(error["message"].as_str().unwrap().contains(message), "{words:?}\n{error}");
    assert!(error["hint"].as_str().unwrap().contains(hint), "{words:?}\n{error}");
}

const SCHEMA: &str = r#"outcome = { column = "ill", levels = ["no", "yes"] }
column = [
  { name = "age", kind = "numeric", centre = 50, scale = 10 },
  { name = "ward", kind = "category", levels = ["north", "south"] },
]
"#;

#[test]
fn all_sets_are_listed_and_bundled_ones_shown() {
    let at = folder("list");
    let text = answer(&at, &["datasets", "list"]);
    let listed = object(&at, &["datasets", "list"]);
    let sets = listed["datasets"].as_array().unwrap();
    assert_eq!(sets.len(), 10);
    for set in sets {
        let name = set["name"].as_str().unwrap();
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
        assert!(
            set["address"].as_str().unwrap().starts_with("https://") && set["sha256"].as_str().unwrap().len() == 64
        );
        let shown = object(&at, &["datasets", "show", name]);
        assert_eq!(shown["available"], set["bundled"], "{name}");
        if shown["available"] == true {
            assert_eq!(shown["rows_used"], set["rows"], "{name}");
        } else {
            assert!(set["fetch"].as_str().unwrap().contains("--from"), "{name}");
            assert!(answer(&at, &["datasets", "show", name]).contains("to fetch"), "{name}");
        }
    }
    assert_eq!(object(&at, &["datasets", "show", "adult"])["inputs"].as_array().unwrap().len(), 108);
    assert!(answer(&at, &["datasets", "show", "heart"]).contains("chol missing"));
    refused(&at, &["datasets", "show", "adlt"], ("D009", 2), "adlt", "did you mean `adult`");
}

#[test]
fn a_file_of_ones_own_is_checked_against_its_schema() {
    let at = folder("own");
    fs::write(at.join("rows.toml"), SCHEMA).unwrap();
    let shown = |rows: &str| fs::write(at.join("rows.csv"), rows).unwrap();
    let words = ["datasets", "show", "csv:rows.csv"];
    shown("age,ward,ill\n60,north,yes\n40,south,no\n");
    assert_eq!(object(&at, &words)["rows_used"], 2);
    for (rows, code, message, hint) in [
        ("age,ward,ill\n60,north,yes\n40,south,maybe\n", "D005", "rows.csv: line 3, column `ill`", "add the level"),
        ("age,ward,ill\n60,nroth,yes\n", "D005", "line 2, column `ward`", "`north`"),
        ("age,ward,ill\nNaN,north,yes\n", "D005", "found `NaN`, expected a finite number", "correct the cell"),
        ("age,wards,ill\n60,north,yes\n", "D004", "`ward` is not in the file", "`wards`"),
        ("age,ward,ill,id\n60,north,yes,1\n", "D004", "`id` is in the file", "kind = \"ignore\""),
        ("age,ward,ill\n60,north\n", "D006", "line 2", "header"),
        ("age,ward,ill\n", "D006", "no rows", "header"),
        ("age;ward;ill\n60;north;yes\n", "D006", "line 1: the columns are separated by `;`", "comma-separated"),
        ("age,ward,ill\n60,\"north,yes\n40,south,no\n", "D006", "line 2: a quote is not closed", "one line"),
    ] {
        shown(rows);
        refused(&at, &words, (code, 2), message, hint);
    }
    fs::write(at.join("other.toml"), SCHEMA.replace("scale = 10", "scael = 10")).unwrap();
    let other = ["datasets", "show", "csv:rows.csv", "--schema", "other.toml"];
    refused(&at, &other, ("D003", 2), "other.toml: schema, line 3", "did you mean `scale`?");
    refused(&at, &["datasets", "show", "csv:none.csv"], ("C003", 2), "none.csv", "path");
}

#[test]
fn a_bundled_set_is_written_out_and_a_wrong_file_is_refused() {
    let at = folder("fetch");
    let fetched = object(&at, &["datasets", "fetch", "heart", "--to", "out"]);
    assert_eq!((&fetched["verified"], &fetched["rows"]), (&Value::from(true), &Value::from(920)));
    assert!(at.join("out").join("heart.csv.gz").exists());
    let said = answer(&at, &["datasets", "fetch", "heart"]);
    assert!(said.starts_with("bundled     heart is in the program") && !at.join("kept").exists(), "{said}");
    assert_eq!(object(&at, &["datasets", "fetch", "heart"])["bundled"], true);
    assert_eq!(fs::read_dir(at.join("out")).unwrap().count(), 1, "no half file is left");
    let wrong = ["datasets", "fetch", "support2", "--from", "out/heart.csv.gz"];
    refused(&at, &wrong, ("D009", 2), "no column `race`", "hbiostat.org");
    refused(&at, &["datasets", "fetch", "wine", "--from", "out/heart.csv.gz"], ("D009", 2), "SHA-256", "bundled");
    assert!(!at.join("kept").exists(), "nothing is stored on an error");
}

/// No test touches the network: the folder with programs is empty, or has a `curl` that hands out a file.
#[test]
fn what_cannot_be_downloaded_says_how_to_get_it() {
    let at = folder("offline");
    refused(&at, &["datasets", "fetch", "support2"], ("D010", 1), "curl does not start", "--from");
    refused(&at, &["datasets", "fetch", "flchain"], ("D010", 1), "no file to download", "write.csv");
    assert!(!at.join("kept").exists());
}

#[cfg(unix)]
#[test]
fn a_download_is_converted_checked_and_stored() {
    use std::os::unix::fs::PermissionsExt as _;
    let at = folder("download");
    let curl = |script: &str| {
        fs::write(at.join("curl"), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(at.join("curl"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let words = ["datasets", "fetch", "support2"];
    curl("echo 'could not resolve host' >&2; exit 6");
    refused(&at, &words, ("D010", 1), "could not resolve host", "--from");
    let header = "age,death,sex,hospdead,slos,d.time,dzgroup,dzclass,num.co,edu,income,scoma,race,hday,diabetes,dementia,\
                  ca,meanbp,wblc,hrt,resp,temp,pafi,alb,bili,crea,sod,ph,glucose,bun,urine,adlp,adls,adlsc";
    let row = "63,0,male,0,5,2029,Lung Cancer,Cancer,0,11,$11-$25k,0,other,1,0,0,metastatic,97,6,69,22,36,388,1.8,0.2,\
               1.2,141,7.46,NA,NA,NA,7,7,7";
    fs::write(at.join("raw.csv"), format!("{header}\n{}", format!("{row}\n").repeat(9_105))).unwrap();
    curl("case \"$*\" in *=https*support2csv.zip) while IFS= read -r line; do echo \"$line\"; done < raw.csv;; esac");
    let fetched = object(&at, &words);
    assert_eq!((&fetched["verified"], &fetched["rows"]), (&Value::from(false), &Value::from(9_105)));
    let shown = object(&at, &["datasets", "show", "support2"]);
    assert_eq!((&shown["available"], &shown["rows_used"]), (&Value::from(true), &Value::from(9_105)));
    fs::write(at.join("raw.csv"), format!("{header}\n{row}\n{}", row.replace("male", "mael"))).unwrap();
    refused(&at, &["datasets", "fetch", "support2", "--from", "raw.csv"], ("D009", 2), "2 rows", "hbiostat.org");
}

#[test]
fn init_reads_names_only_and_overwrites_nothing() {
    let at = folder("init");
    let secret = "31415926";
    fs::write(at.join("rows.csv"), format!("age,\"the \"\"ward\"\"\",ill\n{secret},\u{0},\n")).unwrap();
    let words = ["init", "new/study", "--header", "rows.csv"];
    let written = object(&at, &words);
    assert_eq!((written["written"].as_array().unwrap().len(), &written["columns"]), (2, &Value::from(3)));
    assert_eq!(written["outcome"], "ill");
    let new = at.join("new").join("study");
    let (schema, study) =
        (fs::read_to_string(new.join("schema.toml")).unwrap(), fs::read_to_string(new.join("study.toml")).unwrap());
    assert!(
        schema.contains("{ name = \"the \\\"ward\\\"\", kind = \"ignore\" }") && !schema.contains(secret),
        "{schema}"
    );
    assert!(study.contains("source = \"csv:../../rows.csv\"") && !study.contains(secret), "{study}");
    assert!(study.contains("\n# column = \"the \\\"ward\\\"\" "), "a site column is suggested: {study}");
    refused(&at, &words, ("C001", 2), "is not overwritten", "new folder");
    assert_eq!(fs::read_to_string(new.join("schema.toml")).unwrap(), schema);
    fs::remove_file(new.join("schema.toml")).unwrap();
    refused(&at, &words, ("C001", 2), "study.toml", "move the file away");
    assert!(!new.join("schema.toml").exists(), "nothing is written half");
    refused(&at, &["init", "x", "--header", "none.csv"], ("C003", 2), "none.csv", "path");
    fs::write(at.join("empty.csv"), "").unwrap();
    refused(&at, &["init", "x", "--header", "empty.csv"], ("D006", 2), "empty.csv", "header");
    assert!(!at.join("x").exists());
}

/// The whole way from a header to a posterior: only the schema is filled in.
#[test]
fn init_with_outcome_and_sites_is_a_study_that_runs() {
    let at = folder("short");
    let row = |k: usize| {
        format!("{},{},{}\n", if k.is_multiple_of(3) { "yes" } else { "no" }, 40 + k % 30, ["a", "b"][k % 2])
    };
    fs::write(at.join("rows.csv"), format!("ill,age,ward\n{}", (0..400).map(row).collect::<String>())).unwrap();
    let init = ["init", "--header", "rows.csv", "--outcome", "ill", "--sites", "ward"];
    refused(&at, &["init", "--header", "rows.csv", "--outcome", "il"], ("C001", 2), "no column \"il\"", "ill");
    refused(
        &at,
        &["init", "--header", "rows.csv", "--sites", "ill", "--outcome", "ill"],
        ("C001", 2),
        "both",
        "another",
    );
    let said = answer(&at, &init);
    assert!(said.contains("posterity check") && said.contains("(\"ill\")"), "{said}");
    let schema = fs::read_to_string(at.join("schema.toml")).unwrap();
    let filled = schema
        .replace("[\"0\", \"1\"] }\n\n# The column of ids", "[\"no\", \"yes\"] }\n\n# The column of ids")
        .replace("\"age\", kind = \"ignore\"", "\"age\", kind = \"numeric\", centre = 55, scale = 10");
    fs::write(at.join("schema.toml"), filled).unwrap();
    let said = answer(&at, &["check", "study.toml"]);
    assert!(said.contains("and rows were counted") && said.contains("privacy.delta = 1e-5: "), "{said}");
    let plan = object(&at, &["plan", "study.toml"]);
    assert_eq!((&plan["rows_are"], plan["clients"].as_u64()), (&Value::from("counted"), Some(2)));
    let derived = plan["methods"][0]["derived"].as_array().unwrap();
    assert_eq!((&derived[0]["key"], derived[0]["value"].as_f64()), (&Value::from("privacy.delta"), Some(1e-5)));
    let results = object(&at, &["simulate", "study.toml", "--seed", "1", "--out", "out"]);
    assert_eq!(results["methods"][0]["name"], "private");
    answer(&at, &["fit", "study.toml", "--home", "home", "--out", "fitted"]);
}

/// The skeleton is a schema as it stands: it complains only that nothing is an input yet, and works once one is.
#[test]
fn the_skeleton_becomes_a_schema_with_one_word() {
    let at = folder("skeleton");
    fs::write(at.join("rows.csv"), "age,ward,ill\n60,north,1\n").unwrap();
    answer(&at, &["init", "new", "--header", "rows.csv"]);
    let words = ["datasets", "show", "csv:rows.csv", "--schema", "new/schema.toml"];
    refused(&at, &words, ("D003", 2), "no column is an input", "numeric");
    let path = at.join("new").join("schema.toml");
    let numeric = "{ name = \"age\", kind = \"numeric\", centre = 50, scale = 10 }";
    let text = fs::read_to_string(&path).unwrap().replace("{ name = \"age\", kind = \"ignore\" }", numeric);
    fs::write(&path, text).unwrap();
    assert_eq!(object(&at, &words)["inputs"], serde_json::json!(["age"]));
}

/// A study of a file, from the skeleton on: `check` compares header, schema, study and cells.
#[test]
fn check_compares_header_schema_study_and_cells() {
    let at = folder("check");
    let table = |lines: &str| fs::write(at.join("rows.csv"), format!("age,hospital,patient,ill\n{lines}")).unwrap();
    let sound: String = (0..40).map(|i| format!("{},h{},p{i},{}\n", 40 + i, i % 2, i % 3 / 2)).collect();
    table("not a row\n");
    answer(&at, &["init", "new", "--header", "rows.csv"]);
    let (schema, study) = (at.join("new").join("schema.toml"), at.join("new").join("study.toml"));
    let change = |path: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{from}\n{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    };
    change(
        &schema,
        "{ name = \"age\", kind = \"ignore\" }",
        "{ name = \"age\", kind = \"numeric\", centre = 50, scale = 10 }",
    );
    let method = "[[method]]\nname = \"DP optimisation\"\nalgorithm = \"pvi\"\nsolver = \"dp-optimisation\"\nrounds = 20\n\
                  local = { steps = 10, rate = 0.05, optimiser = \"adam\", learning_rate = 0.05 }\n\
                  privacy = { epsilon = 1.0, delta = 1e-5, clip = 2.0 }\n#";
    change(&study, "[privacy]\nepsilon = 1.0", method);
    let check = ["check", "new/study.toml"];
    refused(&at, &check, ("D006", 2), "line 2: found 1 cells", "header");
    table(&sound);
    let said = answer(&at, &check);
    let columns = "columns     4 in the header, all in the schema, 1 input and the intercept; every cell fits the schema, and rows";
    assert!(said.contains(columns), "{said}");
    assert_eq!(object(&at, &check)["inputs"], serde_json::json!(["age", "intercept"]));
    change(&study, "clients = 4 ", "column = \"hospitl\" #");
    refused(&at, &check, ("D004", 2), "study.toml:7:1: column `hospitl` is not in the file", "`hospital`");
    refused(&at, &["simulate", "new/study.toml"], ("D004", 2), "study.toml:7:1", "`hospital`");
    change(&study, "hospitl", "hospital");
    answer(&at, &check);
    change(&study, "[data]\n", "[data]\nsplit = { column = \"fold\" }\n");
    refused(&at, &check, ("D004", 2), "`fold` is not in the file", "the header has age");
    change(&study, "split = { column = \"fold\" }", "split = { test = 0.2 }");
    change(&study, "kind = \"logistic\"", "kind = \"linear\"");
    refused(&at, &check, ("C001", 2), "needs an outcome that is a number, and `ill` has 2 levels", "logistic");
    change(&study, "kind = \"linear\"", "kind = \"logistic\"");

    let plan = ["plan", "new/study.toml"];
    table("not a row\n");
    refused(&at, &plan, ("D006", 2), "line 2", "header");
    table(&sound);
    change(&study, "epsilon = 1.0", "adjacency = \"add-remove\", epsilon = 1.0");
    refused(&at, &plan, ("S012", 2), "how many rows each hospital has", "declared_rows = [N, N]");
    change(&study, "adjacency = \"add-remove\", ", "");
    change(&study, "[data]", "[data]\ndeclared_rows = 5000");
    let said = answer(&at, &plan);
    assert!(
        said.contains("clients     a number not declared, about 4000 training rows together as declared"),
        "{said}"
    );
    assert!(said.contains("messages    at most 20 of each client of 32 bytes"), "{said}");
    change(&study, "delta = 1e-5", "delta = \"power-of-ten\"");
    refused(&at, &plan, ("S012", 2), "depends on the rows of each client", "declared_rows = [N, N]");
    change(&study, "declared_rows = 5000", "declared_rows = [3000, 50]");
    let said = answer(&at, &plan);
    assert!(said.contains("2 with about 40 to 2400 training rows each, about 2440 together, as declared"), "{said}");
    change(&study, "delta = \"power-of-ten\"", "delta = 0.1");
    let warning = "warning     S014: DP optimisation: δ = 0.1 is not under 1 / about 40 (rows of a client)";
    assert!(answer(&at, &plan).contains(warning) && answer(&at, &check).contains(warning));

    fs::remove_file(at.join("rows.csv")).unwrap();
    refused(&at, &check, ("C003", 2), "rows.csv", "relative to the folder of the study");
    refused(&at, &["check", "new"], ("C003", 2), "cannot read new", "new/study.toml");
    refused(&at, &["report", "new"], ("C003", 2), "new/results.json", "finished run");
    answer(&at, &plan);
}

/// Rows that may come and go, dealt to parts: refused until the schema says which column holds their records' ids.
#[test]
fn parts_under_add_remove_run_with_record_ids() {
    let at = folder("records");
    let rows: String = (0..60).map(|i| format!("p{i},{},{}\n", 30 + i, ["no", "yes"][usize::from(i > 29)])).collect();
    fs::write(at.join("rows.csv"), format!("patient,age,ill\n{rows}")).unwrap();
    let schema = |id: &str| {
        let age = "{ name = \"age\", kind = \"numeric\", centre = 60, scale = 20 }";
        let text = format!("outcome = {{ column = \"ill\", levels = [\"no\", \"yes\"] }}\n{id}\ncolumn = [{age}");
        let ignored = if id.is_empty() { ", { name = \"patient\", kind = \"ignore\" }" } else { "" };
        fs::write(at.join("rows.toml"), format!("{text}{ignored}]\n")).unwrap();
    };
    let study = r#"schema = 1
[study]
name = "records"
seeds = [1]
[data]
source = "csv:rows.csv"
split = { test = 0.2 }
[partition]
kind = "even"
clients = 2
[model]
kind = "logistic"
[[method]]
name = "virtual"
algorithm = "pvi"
solver = "virtual"
parts = 4
rounds = 2
local = { batch = "all", optimiser = "natural" }
privacy = { unit = "example", adjacency = "add-remove", epsilon = 4.0, delta = 1e-3, clip = 2.0 }
"#;
    fs::write(at.join("study.toml"), study).unwrap();
    schema("");
    for command in ["check", "plan", "run"] {
        let words = [command, "study.toml"];
        refused(&at, &words, ("S015", 2), "study.toml:20", "record_id");
    }
    assert!(!at.join("runs").exists(), "nothing is written");
    schema("record_id = \"patient\"");
    assert!(
        answer(&at, &["check", "study.toml"]).contains("3 in the header, all in the schema, 1 input and the intercept")
    );
    answer(&at, &["plan", "study.toml"]);
    answer(&at, &["run", "study.toml"]);
    let results = fs::read_to_string(at.join("runs/records/results.json")).unwrap();
    assert!(!results.contains("p17"), "no id leaves");
    fs::write(at.join("new.csv"), "age\n50\n").unwrap();
    fs::write(at.join("with-ids.csv"), "patient,age\np1,50\n").unwrap();
    let predict = |data| answer(&at, &["predict", "runs/records", "--method", "virtual", "--data", data]);
    assert_eq!(predict("new.csv"), predict("with-ids.csv"));
    fs::write(at.join("rows.csv"), format!("patient,age,ill\n{rows}p17,40,no\n")).unwrap();
    let run = ["run", "study.toml", "--out", "again"];
    refused(&at, &run, ("D011", 2), "line 62, column `patient`: the record id is that of line 19", "an id of its own");
}

#[test]
fn a_row_without_a_site_is_an_error_with_its_line() {
    let at = folder("siteless");
    let heart = "age,hospital,ill\n60,a,yes\n40,,no\n50,b,no\n50,a,no\n41,b,yes\n";
    fs::write(at.join("rows.csv"), heart).unwrap();
    let schema = SCHEMA.replace(
        "{ name = \"ward\", kind = \"category\", levels = [\"north\", \"south\"] }",
        "{ name = \"hospital\", kind = \"ignore\" }",
    );
    fs::write(at.join("rows.toml"), schema).unwrap();
    let study = "schema = 1\n[study]\nname = \"s\"\nseeds = [1]\n[data]\nsource = \"csv:rows.csv\"\nsplit = { test = 0.2 }\n\
                 [partition]\nkind = \"column\"\ncolumn = \"hospital\"\n[model]\nkind = \"logistic\"\n\
                 [[method]]\nname = \"PVI\"\nalgorithm = \"pvi\"\nsolver = \"clear\"\nrounds = 1\nlocal = { optimiser = \"natural\" }\n";
    fs::write(at.join("study.toml"), study).unwrap();
    let message = "line 3, column `hospital`: found an empty cell, expected the name of the client";
    refused(&at, &["run", "study.toml"], ("D005", 2), message, "fill in the cell");
}

/// Bounds that cut most rows, or a scale that is far off, are told in a simulation and at a site, and are no error.
#[test]
fn numbers_far_from_the_schema_are_warned_of() {
    let at = folder("off-scale");
    let rows: String = (0..60).map(|i| format!("{},{}\n", 30 + i, ["no", "yes"][usize::from(i % 3 == 0)])).collect();
    fs::write(at.join("rows.csv"), format!("age,ill\n{rows}")).unwrap();
    let study = "schema = 1\n[study]\nname = \"s\"\nseeds = [1]\n[data]\nsource = \"csv:rows.csv\"\nsplit = { test = 0.2 }\n\
                 [partition]\nkind = \"even\"\nclients = 2\n[model]\nkind = \"logistic\"\n\
                 [[method]]\nname = \"PVI\"\nalgorithm = \"pvi\"\nsolver = \"clear\"\nrounds = 1\nlocal = { optimiser = \"natural\" }\n";
    fs::write(at.join("study.toml"), study).unwrap();
    let schema = |age: &str| {
        let age = format!("{{ name = \"age\", kind = \"numeric\", {age} }}");
        let text = format!("outcome = {{ column = \"ill\", levels = [\"no\", \"yes\"] }}\ncolumn = [{age}]\n");
        fs::write(at.join("rows.toml"), text).unwrap();
    };
    let told = |out: &str| {
        let site = answer(&at, &["agent", "check", "--data", "rows.csv", "--schema", "rows.toml"]);
        (answer(&at, &["simulate", "study.toml", "--out", out]), site)
    };
    schema("centre = 60, scale = 15, bounds = [18, 100]");
    let (simulated, site) = told("fits");
    assert!(!simulated.contains("W012") && !site.contains("W012"), "{simulated}{site}");
    schema("centre = 60, scale = 15, bounds = [55, 65]");
    let (simulated, site) = told("narrow");
    let narrow = "82 % of `age` lies outside its bounds [55, 65] and is clamped";
    assert!(
        simulated.contains(narrow) && simulated.contains("W012, rows") && site.contains(narrow),
        "{simulated}{site}"
    );
    schema("centre = 0, scale = 1");
    let (simulated, site) = told("raw");
    let raw = "`age` is about 62 after centre and scale";
    assert!(simulated.contains(raw) && site.contains(raw), "{simulated}{site}");
    refused(&at, &["simulate", "study.toml", "--out", "rows.csv"], ("S013", 2), "a file, not a directory", "--out");
}
