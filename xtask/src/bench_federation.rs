//! `cargo xtask bench federation`: a server under load, restarts with long ledgers, and a round beside Flower's.

use crate::bench::{field, machine, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The peer, at a fixed version.
const PEER: [&str; 2] = ["flwr==1.41.0", "numpy==2.4.6"];
/// Rounds in Flower: each takes seconds.
const PEER_ROUNDS: &str = "5";
/// How many times lower than Flower's the latency of a round is to be.
const GOAL: f64 = 100.0;

/// Loads: agents, rounds, numbers in an answer.
const SMALL: [[&str; 3]; 1] = [["200", "20", "216"]];
const FULL: [[&str; 3]; 2] = [["1000", "100", "216"], ["1000", "100", "10000"]];

/// Prints loads, restarts, and the latency of a round with three agents beside Flower, if that can be had.
pub(crate) fn federation(root: &Path, full: bool) -> Result<(), String> {
    println!("machine: {}; server and agents in one process, TLS on loopback, SQLite on the disk", machine());
    println!("\nLoad: thin agents, which sign answers made beforehand and keep no ledger");
    println!(
        "{:>7}{:>8}{:>9}{:>11}{:>10}{:>10}{:>10}{:>11}{:>9}{:>6}{:>7}",
        "agents", "rounds", "numbers", "updates/s", "p50 ms", "p99 ms", "max ms", "round ms", "peak MB", "lost", "load"
    );
    for [agents, rounds, numbers] in if full { &FULL[..] } else { &SMALL[..] } {
        print_load(&ours(root, &["--agents", agents, "--rounds", rounds, "--numbers", numbers])?);
    }
    println!("\nRestart");
    for line in ours(root, &["--restart", if full { "100000" } else { "10000" }])?.lines() {
        let of = |name: &str| field(line, name).unwrap_or("?");
        let (records, ready, memory, load) = (of("records"), of("ready_s"), of("memory_mb"), of("load_average"));
        println!("{}: {records} records, ready in {ready} s, {memory} MB more, load {load}", of("what"));
    }
    round(root)
}

/// A synchronous round of three agents with ledgers on the disk, beside three of Flower's without TLS or a database.
fn round(root: &Path) -> Result<(), String> {
    println!(
        "\nOne synchronous round with three agents, 216 numbers: median, and from nothing to the end of the first"
    );
    let line = ours(root, &["--agents", "3", "--rounds", "50", "--numbers", "216", "--kind", "disk"])?;
    let (own, start) = (seconds(&line, "round_p50_ms")? / 1e3, seconds(&line, "start_s")?);
    println!("posterity       {own:>10.4} s {start:>8.2} s   load {}", field(&line, "load_average").unwrap_or("?"));
    let peer = environment(root).and_then(|python| {
        let script = root.join("benches").join("federation_peer.py");
        run(Command::new(python).arg(script).arg(PEER_ROUNDS))
    });
    match peer {
        Err(why) => println!("skipped: Flower (it cannot be installed or run: {why})"),
        Ok(line) => {
            let (theirs, start) = (seconds(&line, "round_p50_s")?, seconds(&line, "start_s")?);
            let load = field(&line, "load_average").unwrap_or("?");
            println!("Flower 1.41.0   {theirs:>10.4} s {start:>8.2} s   load {load}");
            println!("{:.0} times ours (goal ≥ {GOAL})", theirs / own);
        }
    }
    Ok(())
}

fn ours(root: &Path, words: &[&str]) -> Result<String, String> {
    let cargo =
        ["run", "--quiet", "--release", "--package", "posterity-federation", "--example", "federation_load", "--"];
    run(Command::new(env!("CARGO")).args(cargo).args(words).current_dir(root))
}

/// The interpreter of the peer's virtual environment, which is made on first use.
fn environment(root: &Path) -> Result<PathBuf, String> {
    let venv = root.join("target").join("bench-venv-flower");
    let python = venv.join("bin").join("python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PEER))?;
    Ok(python)
}

fn seconds(line: &str, name: &str) -> Result<f64, String> {
    field(line, name).and_then(|text| text.parse().ok()).ok_or_else(|| format!("no {name} in {line:?}"))
}

fn print_load(line: &str) {
    let of = |name: &str| field(line, name).unwrap_or("?");
    println!(
        "{:>7}{:>8}{:>9}{:>11}{:>10}{:>10}{:>10}{:>11}{:>9}{:>6}{:>7}",
        of("agents"),
        of("rounds"),
        of("numbers"),
        of("updates_per_second"),
        of("accept_p50_ms"),
        of("accept_p99_ms"),
        of("accept_max_ms"),
        of("round_p50_ms"),
        of("peak_mb"),
        of("lost"),
        of("load_average")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_a_line() {
        assert_eq!(seconds(r#"{"what":"load","round_p50_ms":31.5}"#, "round_p50_ms"), Ok(31.5));
        assert!(seconds("nothing", "round_p50_ms").unwrap_err().contains("round_p50_ms"));
    }
}
