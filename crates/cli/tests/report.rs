//! The command `posterity report` as a person or a program meets it.

use assert_cmd::Command;
use std::path::PathBuf;
use std::process::Output;

fn posterity(words: &[&str]) -> Output {
    Command::cargo_bin("posterity").unwrap().args(words).env("COLUMNS", "100").output().unwrap()
}

/// A new directory with the sample's results.
fn finished(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("results.json"), include_str!("../../report/tests/results.json")).unwrap();
    folder
}

#[test]
fn a_report_is_made_again_beside_the_results_or_where_it_is_wanted() {
    let folder = finished("report-again");
    let output = posterity(&["report", folder.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("trusted-sum") && text.contains("report.html"), "{text}");
    let beside = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert_eq!(beside, include_str!("../../report/tests/report.html"));

    let elsewhere = folder.join("other.html");
    let results = folder.join("results.json");
    let words = ["report", results.to_str().unwrap(), "--out", elsewhere.to_str().unwrap(), "--json"];
    let told: serde_json::Value = serde_json::from_slice(&posterity(&words).stdout).unwrap();
    assert_eq!(told["report"], elsewhere.to_str().unwrap());
    assert_eq!(std::fs::read_to_string(elsewhere).unwrap(), beside);
    assert_eq!(posterity(&["report", results.to_str().unwrap(), "--out", "-"]).stdout, beside.as_bytes());
}

#[test]
fn what_is_no_file_of_results_is_refused_and_nothing_is_written() {
    let folder = finished("report-refused");
    for (text, complaint) in
        [("{", "EOF"), ("{}", "no schema"), ("{\"schema\":99}", "schema is 99"), ("{\"schema\":1}", "version")]
    {
        std::fs::write(folder.join("results.json"), text).unwrap();
        let output = posterity(&["report", folder.to_str().unwrap()]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.starts_with("error[C020]") && told.contains(complaint) && told.contains("hint: "), "{told}");
        assert!(!folder.join("report.html").exists());
    }
    let output = posterity(&["report", folder.join("nowhere").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
}
