//! Pairs of method and seed run side by side: results do not show it, and what was finished when somebody stopped is kept.

use assert_cmd::Command;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Two methods on a bundled table, without the keys that each test adds.
const STUDY: &str = r#"
[data]
source = "heart"
split = { test = 0.2, seed = 3 }

[partition]
kind = "column"
column = "hospital"

[model]
kind = "logistic"
bias = true
prior = { precision = 1.0 }

[[method]]
name = "PVI"
algorithm = "pvi"
solver = "clear"
schedule = "synchronous"
rounds = 3
damping = 0.2
local = { steps = 5, rate = 0.2, optimiser = "adam", learning_rate = 0.05 }

[[method]]
name = "private"
algorithm = "pvi"
solver = "dp-optimisation"
schedule = "synchronous"
rounds = 3
damping = 0.2
local = { steps = 5, rate = 0.2, optimiser = "adam", learning_rate = 0.05 }
privacy = { unit = "example", adjacency = "substitute", epsilon = 3.0, delta = 1e-4, clip = 1.0 }
"#;

/// A folder of this test's own with the study in it, gone when it goes.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, about: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("posterity-pairs-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("study.toml"), format!("schema = 1\n[study]\nname = \"{name}\"\n{about}\n{STUDY}"))
            .unwrap();
        Self(folder)
    }

    fn command(&self, threads: &str, out: &str) -> std::process::Command {
        let program = Command::cargo_bin("posterity").unwrap().get_program().to_owned();
        let mut command = std::process::Command::new(program);
        command.current_dir(&self.0).env("RAYON_NUM_THREADS", threads).args(["run", "study.toml", "--out", out]);
        command
    }

    fn run(&self, threads: &str, out: &str) -> Value {
        let output = self.command(threads, out).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        results(&self.0.join(out))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The results without the time that they took, and when they were written.
fn results(out: &Path) -> Value {
    let mut results: Value = serde_json::from_slice(&std::fs::read(out.join("results.json")).unwrap()).unwrap();
    for method in results["methods"].as_array_mut().unwrap() {
        assert!(method.as_object_mut().unwrap().remove("cpu_seconds").is_some());
    }
    assert!(results["provenance"].as_object_mut().unwrap().remove("date").is_some());
    results
}

fn names(results: &Value) -> Vec<&str> {
    results["methods"].as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap()).collect()
}

#[test]
fn several_threads_leave_the_results_of_one_bit_for_bit() {
    let place = Place::new("threads", "seeds = [1, 2, 3]");
    let (one, four) = (place.run("1", "one"), place.run("4", "four"));
    assert_eq!(one, four);
    assert_eq!(names(&one), ["PVI", "private", "majority class", "local only", "non-private"]);
    for file in std::fs::read_dir(place.0.join("one/posterior")).unwrap().map(|file| file.unwrap()) {
        let other = place.0.join("four/posterior").join(file.file_name());
        assert_eq!(std::fs::read(file.path()).unwrap(), std::fs::read(other).unwrap());
    }
    // The split and the hospitals are the same whatever the seed: the fits are too, and they say how they ended.
    for baseline in &one["methods"].as_array().unwrap()[3..] {
        assert_eq!(baseline["fit"]["converged"], true, "{baseline}");
        let each = baseline["log_likelihood"]["per_seed"].as_array().unwrap();
        assert!(each.iter().all(|value| value == &each[0]), "{each:?}");
    }
}

#[test]
fn a_study_may_leave_out_the_baselines_that_are_fitted() {
    let place = Place::new("without", "seeds = [1]\nbaselines = false");
    assert_eq!(names(&place.run("2", "out")), ["PVI", "private", "majority class"]);
    let check =
        Command::cargo_bin("posterity").unwrap().current_dir(&place.0).args(["check", "study.toml"]).output().unwrap();
    let said = String::from_utf8(check.stdout).unwrap();
    assert!(said.contains("a constant answer; local only and non-private are left out"), "{said}");
}

#[cfg(unix)]
#[test]
fn who_stops_a_run_is_told_that_the_same_command_goes_on_and_it_does() {
    use std::os::unix::process::ExitStatusExt;
    let seeds: Vec<String> = (1..=400).map(|seed| seed.to_string()).collect();
    let place = Place::new("stopped", &format!("seeds = [{}]\nbaselines = false", seeds.join(", ")));
    let mut child = place.command("2", "out").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("done, log-likelihood"), "{line}");
    let stopped = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(130), None), "{rest}");
    let last = rest.lines().last().unwrap();
    assert!(last.starts_with("stopped: ") && last.ends_with("the same command goes on from there"), "{rest}");
    let kept = std::fs::read_dir(place.0.join("out/state")).unwrap().count();
    assert!(kept > 0 && !place.0.join("out/results.json").exists());

    let mut again = place.command("2", "out").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(again.stderr.take().unwrap());
    let kept = said.lines().map_while(Result::ok).any(|line| line.contains("kept from before"));
    again.kill().unwrap();
    again.wait().unwrap();
    assert!(kept, "what was finished is not run again");
}
