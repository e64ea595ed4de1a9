//! `cargo xtask bench inference`: our private step beside PyTorch's and Opacus's, a whole run, and how its cost grows.

use crate::bench::{field, machine, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The peers, at fixed versions.
const PEERS: [&str; 2] = ["torch==2.15.0", "opacus==1.6.0"];
/// Where PyTorch keeps builds without GPU libraries, which are a tenth of the size.
const CPU_BUILDS: &str = "https://download.pytorch.org/whl/cpu";

/// How often our steps and theirs take turns: on a shared machine a ratio is as good as the moment it was taken in.
const TURNS: usize = 5;

/// Takes turns with the peers, if they can be had, then makes the runs; prints tables of both.
pub(crate) fn inference(root: &Path) -> Result<(), String> {
    println!("machine: {}", machine());
    let python = match environment(root) {
        Ok(python) => Some(python),
        Err(why) => {
            println!("skipped: PyTorch, vmap; PyTorch, by hand; Opacus (no virtual environment with them: {why})");
            None
        }
    };
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        turns.push(Turn { ours: ours(root, "step")?, theirs: python.as_deref().map_or(Ok(String::new()), peers)? });
    }
    print_steps(&turns);
    print_runs(&ours(root, "run")?);
    print_growth_header();
    ["clients", "rows", "width", "parts", "averaged"].iter().try_for_each(|kind| {
        print_growth(&ours(root, kind)?);
        Ok(())
    })
}

/// Lines of both sides, taken one right after the other.
struct Turn {
    ours: String,
    theirs: String,
}

/// Our lines for the cases whose names start so.
fn ours(root: &Path, cases: &str) -> Result<String, String> {
    let cargo = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "posterity-inference",
        "--example",
        "inference_speed",
        "--",
        cases,
    ];
    run(Command::new(env!("CARGO")).args(cargo).current_dir(root))
}

/// The interpreter of the peers' virtual environment, which is made on first use.
fn environment(root: &Path) -> Result<PathBuf, String> {
    let venv = root.join("target").join("bench-venv-torch");
    let python = venv.join("bin").join("python");
    if !venv.join("complete").exists() {
        install(&venv, &python)?;
    }
    println!("peers: {}, a virtual environment of {:.1} GB", PEERS.join(", "), gigabytes(&venv));
    Ok(python)
}

fn peers(python: &Path) -> Result<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/step_peers.py");
    run(Command::new(python).args(["-W", "ignore"]).arg(script).env("OMP_NUM_THREADS", "1"))
}

/// Tries the small build first, and the one of the package index where that cannot be reached.
fn install(venv: &Path, python: &Path) -> Result<(), String> {
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    let pip = |more: &[&str]| {
        run(Command::new(python).args(["-m", "pip", "install", "--quiet", "--no-cache-dir"]).args(more))
    };
    let small = pip(&["--retries", "0", "--timeout", "15", "--index-url", CPU_BUILDS, PEERS[0]]);
    if small.is_ok() {
        pip(&PEERS[1..])?
    } else {
        pip(&PEERS)?
    };
    fs::write(venv.join("complete"), "").map_err(|e| format!("{}: {e}", venv.display()))
}

/// Size of a folder's files, links not followed.
fn gigabytes(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => gigabytes(&entry.path()),
        Ok(data) => data.len() as f64 / 1e9,
        Err(_) => 0.0,
    };
    entries.map(size).sum()
}

fn number(line: &str, name: &str) -> f64 {
    field(line, name).and_then(|x| x.parse().ok()).unwrap_or(f64::NAN)
}

fn case<'a>(lines: &'a str, name: &str) -> &'a str {
    lines.lines().find(|line| field(line, "case") == Some(name)).unwrap_or("")
}

/// What a peer's time is to be divided by ours, if there is a goal.
fn goal(peer: &str, variant: &str) -> &'static str {
    match (peer, variant) {
        ("PyTorch, vmap", "network") => "≥ 30",
        ("Opacus", "network") => "≥ 8",
        ("PyTorch, vmap", _) => "≥ 100",
        ("PyTorch, by hand", "one sample") => "≥ 15",
        _ => "",
    }
}

fn print_steps(turns: &[Turn]) {
    println!("\nOne private step: 108 inputs, 2,000 rows, 100 expected rows; µs of CPU time, median of {TURNS} turns");
    println!("{:<13}{:<18}{:>8}{:>12}{:>16}{:>8}", "variant", "who", "µs", "times ours", "lowest, highest", "goal");
    for variant in ["one sample", "closed form", "network", "aligned"] {
        let own = |turn: &Turn| number(case(&turn.ours, &format!("step/{variant}")), "microseconds");
        print_step(variant, "posterity", &turns.iter().map(|turn| (own(turn), own(turn))).collect::<Vec<_>>());
        for who in ["PyTorch, vmap", "PyTorch, by hand", "Opacus"] {
            let of_peer = |turn: &Turn| number(peer(&turn.theirs, who, variant), "microseconds");
            let pairs: Vec<_> = turns.iter().map(|turn| (of_peer(turn), own(turn))).collect();
            match turns.first().and_then(|turn| field(peer(&turn.theirs, who, variant), "error")) {
                Some(error) => println!("{variant:<13}{who:<18}{error}"),
                None if pairs.iter().any(|(theirs, _)| theirs.is_nan()) => {}
                None => print_step(variant, who, &pairs),
            }
        }
    }
}

fn peer<'a>(lines: &'a str, who: &str, variant: &str) -> &'a str {
    let is = |line: &&str| field(line, "peer") == Some(who) && field(line, "variant") == Some(variant);
    lines.lines().find(is).unwrap_or("")
}

/// One line of the table, from somebody's time and ours in each turn.
fn print_step(variant: &str, who: &str, pairs: &[(f64, f64)]) {
    let times = sorted(pairs.iter().map(|(theirs, _)| *theirs));
    let ratios = sorted(pairs.iter().map(|(theirs, own)| theirs / own));
    let (middle, last) = (pairs.len() / 2, pairs.len() - 1);
    let range = format!("{:.0}, {:.0}", ratios[0], ratios[last]);
    let goal = goal(who, variant);
    println!("{variant:<13}{who:<18}{:>8.1}{:>12.1}{range:>16}{goal:>8}", times[middle], ratios[middle]);
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn print_runs(ours: &str) {
    println!("\nA whole run: adult, half held out, 10 clients, ε = 1: 20 rounds × 50 steps of 50 expected rows,");
    println!("or noise-aware PVI (second moments, aggregator): 15 rounds of all rows;");
    println!("exact noise, planning, accounting and an evaluation each round included; reading the file apart");
    println!("{:<14}{:>12}{:>8}{:>10}{:>8}{:>14}", "schedule", "CPU s", "goal", "peak MB", "goal", "reading CPU s");
    for (schedule, goal) in [("sequential", "≤ 0.25"), ("synchronous", "≤ 0.25"), ("noise-aware", "≤ 0.1")] {
        let line = case(ours, &format!("run/{schedule}"));
        let (seconds, memory, reading) = (number(line, "seconds"), number(line, "megabytes"), number(line, "reading"));
        println!("{schedule:<14}{seconds:>12.3}{goal:>8}{memory:>10.1}{:>8}{reading:>14.3}", "< 100");
    }
}

fn print_growth_header() {
    println!(
        "\nHow cost grows: synchronous runs on made-up rows; planning and opening of ledgers are parts of the run"
    );
    println!(
        "{:<16}{:>8}{:>8}{:>7}{:>7}{:>10}{:>12}{:>11}{:>9}",
        "case", "clients", "rows", "inputs", "parts", "run CPU s", "planning s", "opening s", "peak MB"
    );
}

fn print_growth(ours: &str) {
    for line in ours.lines() {
        let text = |name| field(line, name).unwrap_or("?");
        println!(
            "{:<16}{:>8}{:>8}{:>7}{:>7}{:>10.3}{:>12.4}{:>11.4}{:>9.1}",
            text("case"),
            text("clients"),
            text("rows"),
            text("width"),
            text("parts"),
            number(line, "seconds"),
            number(line, "planning"),
            number(line, "opening"),
            number(line, "megabytes")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_case_and_what_is_missing_is_no_number() {
        let lines = "{\"case\":\"run/a\",\"seconds\":0.5}\n{\"case\":\"run/b\",\"seconds\":2}";
        assert_eq!(number(case(lines, "run/b"), "seconds"), 2.0);
        assert!(number(case(lines, "run/c"), "seconds").is_nan() && number(lines, "megabytes").is_nan());
    }

    #[test]
    fn goals_are_those_of_the_same_algorithm() {
        assert_eq!(goal("PyTorch, by hand", "one sample"), "≥ 15");
        assert_eq!((goal("PyTorch, vmap", "network"), goal("Opacus", "network")), ("≥ 30", "≥ 8"));
        assert_eq!((goal("Opacus", "one sample"), goal("PyTorch, vmap", "one sample")), ("", "≥ 100"));
    }
}
