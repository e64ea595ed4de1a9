//! A histogram through a shuffler as a person meets it: checked, planned, run and refused.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The bundled study with fewer users, so that it is quick.
fn small() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/histogram.toml");
    std::fs::read_to_string(path).unwrap().replace("users = 10000", "users = 600")
}

/// A directory of this test's own, gone when it goes.
struct Room(PathBuf);

impl Room {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("posterity-histogram-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("study.toml"), text).unwrap();
        Self(path)
    }

    fn asked(&self, words: &[&str]) -> Output {
        Command::cargo_bin("posterity").unwrap().current_dir(&self.0).args(words).output().unwrap()
    }

    fn answered(&self, words: &[&str]) -> String {
        let output = self.asked(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.answered(words)).unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// ε of all rounds against each who may look.
fn costs(told: &Value) -> Vec<(String, f64)> {
    let last = |cost: &Value| cost["by_rounds"].as_array().unwrap().last().unwrap()[1].as_f64().unwrap();
    told["costs"].as_array().unwrap().iter().map(|c| (c["against"].as_str().unwrap().to_owned(), last(c))).collect()
}

#[test]
fn check_and_plan_say_who_is_asked_and_what_it_costs() {
    let room = Room::new("plan", &small());
    let told = room.answered(&["check", "study.toml"]);
    assert!(told.contains("asked       all 600 users, in each of 4 rounds\n"), "{told}");
    assert!(told.contains("true, or at random with γ = 0.5; alone of ε = 2.1973\n"), "{told}");
    let plan = room.json(&["plan", "study.toml", "--json"]);
    let costs = costs(&plan);
    let names: Vec<&str> = costs.iter().map(|cost| cost.0.as_str()).collect();
    assert_eq!(names, ["strong adversary", "weak adversary", "clones", "no shuffler"]);
    let [strong, weak, clones, alone] = [0, 1, 2, 3].map(|at| costs[at].1);
    assert!(weak < clones && clones < strong && strong < alone, "{costs:?}");
    // Four answers of ε₀ = log 9 add up to at most 4 log 9.
    assert!(alone <= 4.0 * 9.0_f64.ln() + 1e-6 && !room.0.join("runs").exists());
    // The same numbers as `account` says.
    let flags =
        "--delta 1e-6 --mechanism shuffle-krr --users 600 --categories 8 --gamma 0.5 --adversary weak --steps 4 --json";
    let words: Vec<&str> = ["account", "epsilon"].into_iter().chain(flags.split(' ')).collect();
    assert_eq!(room.json(&words)["epsilon"].as_f64().unwrap(), weak);
}

#[test]
fn a_run_writes_estimates_costs_a_ledger_and_a_page() {
    let room = Room::new("run", &small());
    let found = room.json(&["run", "study.toml", "--json"]);
    let categories = found["categories"].as_array().unwrap();
    assert_eq!(categories.len(), 8);
    let sum = |key: &str| categories.iter().map(|c| c[key].as_f64().unwrap()).sum::<f64>();
    assert!((sum("truth") - 1.0).abs() < 1e-9 && (sum("estimate") - 1.0).abs() < 1e-9, "debiased shares add up to one");
    assert!(found["coverage"].as_f64().unwrap() > 0.8, "{found}");
    let counts = found["counts"].as_array().unwrap();
    assert!(
        counts.len() == 4
            && counts.iter().all(|c| c.as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>() == 600)
    );
    let read = |name: &str| std::fs::read_to_string(room.0.join("runs/histogram").join(name)).unwrap();
    let ledger: Value = serde_json::from_str(&read("ledger.json")).unwrap();
    let (opened, charged) = (&ledger[0]["entry"]["Opened"]["limited"], &ledger[1]["entry"]["Charged"]);
    let terms = &charged["mechanism"]["shuffle-randomised-response"];
    let number = |value: &Value| value.as_f64().unwrap();
    assert_eq!((number(&terms["users"]), number(&terms["gamma"]), number(&charged["steps"])), (600.0, 0.5, 4.0));
    assert_eq!(terms["adversary"], "weak");
    // What is granted is what is printed for the charged adversary: its cost, rounded up to four digits.
    let (granted, cost) = (opened["epsilon"].as_f64().unwrap(), costs(&found)[1].1);
    assert!(granted >= cost && granted < cost * 1.001, "{granted} {cost}");
    let page = read("report.html");
    assert!(page.contains("on foot") && page.contains("weak adversary") && !page.contains("<script"), "{page}");
    assert_eq!(page.matches("<svg xmlns").count(), 2);
    assert!(read("histogram.csv").starts_with("category,truth,estimate,standard_error,low,high\n\"car\",0.35,"));
    let again = room.answered(&["run", "study.toml"]);
    assert!(again.contains("95 % interval") && again.contains("weak adversary (charged)"), "{again}");
    assert_eq!(read("report.html"), page, "the same study, the same bytes");
}

#[test]
fn of_sampled_users_only_the_outside_adversary_is_claimed() {
    let text = small().replace("gamma = 0.5", "local_epsilon = 2.0\nusers_per_round = 60");
    let room = Room::new("sampled", &text);
    let told = room.answered(&["plan", "study.toml"]);
    assert!(told.contains("60 of 600 users, drawn anew without replacement, in each of 4 rounds"), "{told}");
    let costs = costs(&room.json(&["plan", "study.toml", "--json"]));
    let names: Vec<&str> = costs.iter().map(|cost| cost.0.as_str()).collect();
    assert_eq!(names, ["outside adversary", "clones", "no shuffler"]);
    assert!(costs[0].1 < costs[1].1 && costs[1].1 < 2.0 && costs[2].1 > 6.0, "{costs:?}");
    let found = room.json(&["run", "study.toml", "--json", "--seed", "9"]);
    assert_eq!(found["seeds"], serde_json::json!([9]));
}

#[test]
fn a_histogram_that_cannot_be_is_refused_with_its_line() {
    for (name, old, new, code, words) in [
        ("key", "rounds = 4", "round = 4", "S002", "did you mean `rounds`?"),
        ("rounds", "rounds = 4", "rounds = 0", "S004", "expected a whole number from 1 to 10^12"),
        ("gamma", "gamma = 0.5", "gamma = 1.5", "S004", "expected a number over 0 and under 1"),
        ("useless", "gamma = 0.5", "gamma = 1.0", "S004", "expected a number over 0 and under 1"),
        ("both", "gamma = 0.5", "gamma = 0.5\nlocal_epsilon = 1.0", "S011", "say the same twice"),
        ("neither", "gamma = 0.5", "", "S011", "neither gamma nor local_epsilon"),
        ("local", "gamma = 0.5", "local_epsilon = -1.0", "S004", "expected a number over 0"),
        ("sum", "0.35, 0.2", "0.45, 0.2", "S004", "add up to 1.1"),
        ("negative", "0.35, 0.2", "0.75, -0.2", "S004", "shares from 0 to 1"),
        ("shares", "0.35, 0.2", "0.55", "S004", "7 shares for 8 categories"),
        ("twice", "\"bus\"", "\"car\"", "S005", "\"car\", which is empty or there twice"),
        ("users", "users = 600", "users = 0", "S004", "users is 0"),
        ("drawn", "users = 600", "users = 600\nusers_per_round = 601", "S004", "expected 1 to 600"),
        ("delta", "delta = 1e-6", "delta = 0.0", "S004", "delta is 0"),
        ("seeds", "seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "seeds = []", "S005", "there is no seed"),
    ] {
        let text = small();
        assert!(text.contains(old), "{old}");
        let room = Room::new(name, &text.replacen(old, new, 1));
        for command in ["check", "plan", "run"] {
            let output = room.asked(&[command, "study.toml"]);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{name}: {said}");
            assert!(said.starts_with(&format!("error[{code}]: study.toml:")), "{name}: {said}");
            assert!(
                said.contains(words) && said.contains("\nhint: ") && !room.0.join("runs").exists(),
                "{name}: {said}"
            );
        }
    }
    let one = small();
    let (from, to) = (one.find("categories").unwrap(), one.find("gamma").unwrap());
    let one = format!("{}categories = [\"car\"]\ntruth = [1.0]\n{}", &one[..from], &one[to..]);
    let said = String::from_utf8(Room::new("one", &one).asked(&["check", "study.toml"]).stderr).unwrap();
    assert!(said.contains("error[S004]") && said.contains("there is 1 category, expected 2 or more"), "{said}");
}

#[test]
fn other_commands_and_other_files_are_left_alone() {
    let room = Room::new("other", &small());
    for command in ["sample", "reproduce"] {
        let said = String::from_utf8(room.asked(&[command, "study.toml"]).stderr).unwrap();
        assert!(said.starts_with("error[S016]: study.toml: a histogram has no"), "{said}");
        assert!(said.contains("hint: posterity simulate study.toml"), "{said}");
    }
    let said = String::from_utf8(room.asked(&["run", "study.toml", "--out", "."]).stderr).unwrap();
    assert!(said.starts_with("error[S013]"), "{said}");
}
