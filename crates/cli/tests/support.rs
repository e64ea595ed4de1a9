//! Figure 2 of the TMLR paper on SUPPORT, whose rows are not bundled: sound without them, and a clear error asks for them.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

fn study() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/tmlr-fig2.toml")
}

/// A directory of this test's own, gone when it goes.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-support-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::cargo_bin("posterity").unwrap();
        command.current_dir(&self.0).args(words);
        command
    }

    /// As somebody who fetched nothing.
    fn without_data(&self, words: &[&str]) -> Output {
        self.command(words).env("POSTERITY_DATA", self.0.join("nothing")).output().unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn without_its_rows_the_study_is_sound_and_a_run_says_how_to_fetch_them() {
    let room = Room::new("absent");
    let checked = room.without_data(&["check", study().to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stderr));
    let run = room.without_data(&["reproduce", "tmlr-fig2", "--out", "out"]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.code() != Some(0) && said.contains("support2 was not fetched yet"), "{said}");
    assert!(said.contains("hint: posterity datasets fetch support2"), "{said}");
}

/// Skipped by name where nobody fetched the rows.
#[test]
fn with_its_rows_usual_settings_beat_the_majority_on_disease_classes() {
    let room = Room::new("present");
    let text = std::fs::read_to_string(study()).unwrap();
    let (head, tail) = (text.find("[[column]]").unwrap(), text.find("[model]").unwrap());
    let model = &text[tail..text.find("[[method]]").unwrap()];
    let method = &text[text.rfind("[[method]]").unwrap()..];
    let partition = "[partition]\nkind = \"column\"\ncolumn = \"dzclass\"\n";
    std::fs::write(
        room.0.join("study.toml"),
        format!("{}{partition}{model}{method}", text[..head].replace("[1, 2, 3, 4, 5]", "[1]")),
    )
    .unwrap();
    let run = room.command(&["reproduce", "study.toml", "--out", "out", "--json"]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    if said.contains("support2 was not fetched yet") {
        eprintln!("skipped: with_its_rows_usual_settings_beat_the_majority_on_disease_classes (no support2)");
        return;
    }
    assert_eq!(run.status.code(), Some(0), "{said}");
    let told: Value = serde_json::from_slice(&run.stdout).unwrap();
    let score = |row: &str| {
        let mut cells = told["cells"].as_array().unwrap().iter();
        let cell =
            cells.find(|c| c["row"] == row && c["metric"] == "log_likelihood").unwrap_or_else(|| panic!("{row}"));
        cell["ours"].as_f64().unwrap()
    };
    let ours = score("noise-aware, moments, trusted");
    assert!(ours > score("majority class") + 0.05 && ours < score("non-private"), "{told}");
}
