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
    assert_eq!(sets.len(), 7);
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
        ("age,ward,ill\nNaN,north,yes\n", "D005", "found `NaN`, expected a finite number", "mend"),
        ("age,wards,ill\n60,north,yes\n", "D004", "`ward` is not in the file", "`wards`"),
        ("age,ward,ill,id\n60,north,yes,1\n", "D004", "`id` is in the file", "kind = \"ignore\""),
        ("age,ward,ill\n60,north\n", "D006", "line 2", "header"),
        ("age,ward,ill\n", "D006", "no rows", "header"),
    ] {
        shown(rows);
        refused(&at, &words, (code, 2), message, hint);
    }
    fs::write(at.join("other.toml"), SCHEMA.replace("scale = 10", "scael = 10")).unwrap();
    let other = ["datasets", "show", "csv:rows.csv", "--schema", "other.toml"];
    refused(&at, &other, ("D003", 2), "other.toml: schema, line 3", "did you mean `scale`?");
    refused(&at, &["datasets", "show", "csv:none.csv"], ("C003", 1), "none.csv", "path");
}

#[test]
fn a_bundled_set_is_written_out_and_a_wrong_file_is_refused() {
    let at = folder("fetch");
    let fetched = object(&at, &["datasets", "fetch", "heart", "--to", "out"]);
    assert_eq!((&fetched["verified"], &fetched["rows"]), (&Value::from(true), &Value::from(920)));
    assert!(at.join("out").join("heart.csv.gz").exists());
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
    let new = at.join("new").join("study");
    let (schema, study) =
        (fs::read_to_string(new.join("schema.toml")).unwrap(), fs::read_to_string(new.join("study.toml")).unwrap());
    assert!(
        schema.contains("{ name = \"the \\\"ward\\\"\", kind = \"ignore\" }") && !schema.contains(secret),
        "{schema}"
    );
    assert!(study.contains("source = \"csv:") && study.contains("rows.csv") && !study.contains(secret), "{study}");
    refused(&at, &words, ("C001", 2), "is not overwritten", "new folder");
    assert_eq!(fs::read_to_string(new.join("schema.toml")).unwrap(), schema);
    fs::remove_file(new.join("schema.toml")).unwrap();
    refused(&at, &words, ("C001", 2), "study.toml", "move the file away");
    assert!(!new.join("schema.toml").exists(), "nothing is written half");
    refused(&at, &["init", "x", "--header", "none.csv"], ("C003", 1), "none.csv", "path");
    fs::write(at.join("empty.csv"), "").unwrap();
    refused(&at, &["init", "x", "--header", "empty.csv"], ("D006", 2), "empty.csv", "header");
    assert!(!at.join("x").exists());
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
