//! `cargo xtask bench chain`: iterations of a private Barker chain, beside the same chain in NumPy, as the rows grow.

use crate::bench::{field, machine, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The peer, at a fixed version.
const PEER: &str = "numpy==2.4.6";
/// Numbers of rows.
const ROWS: [&str; 3] = ["100000", "1000000", "10000000"];
/// How often ours and theirs take turns: on a shared machine a ratio is as good as the moment it was taken in.
const TURNS: usize = 5;

/// Takes turns with NumPy, if it can be had, and prints a table.
pub(crate) fn chain(root: &Path) -> Result<(), String> {
    println!("machine: {}; one core", machine());
    let python =
        environment(root).map_err(|why| println!("skipped: NumPy (no virtual environment with it: {why})")).ok();
    println!(
        "\nOne iteration of Barker's chain on the mixture: 1,000 rows of N without replacement, ratios clipped, noise that"
    );
    println!("completes to C = 2, data that count as 100 rows; CPU time, median of {TURNS} turns of 20,000 iterations");
    println!(
        "{:<12}{:>10}{:>8}{:>14}{:>12}{:>16}{:>10}",
        "who", "N", "µs", "iterations/s", "times ours", "lowest, highest", "goal"
    );
    let mut ours = Vec::new();
    for rows in ROWS {
        let (mut own, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            own.push(microseconds(&posterity(root, rows)?)?);
            if let Some(python) = &python {
                theirs.push(microseconds(&numpy(root, python, rows)?)?);
            }
        }
        let ratios: Vec<f64> = theirs.iter().zip(&own).map(|(theirs, own)| theirs / own).collect();
        print_line("posterity", rows, &own, &[], "≥ 34000/s");
        if python.is_some() {
            print_line("NumPy", rows, &theirs, &ratios, "≥ 5");
        }
        ours.push(median(&own));
    }
    let (least, most) = (ours.iter().copied().fold(f64::MAX, f64::min), ours.iter().copied().fold(0.0, f64::max));
    println!("\nslowest over fastest as N grows a hundredfold: {:.2} (goal ≤ 5)", most / least);
    Ok(())
}

fn posterity(root: &Path, rows: &str) -> Result<String, String> {
    let cargo =
        ["run", "--quiet", "--release", "--package", "posterity-inference", "--example", "chain_speed", "--", rows];
    run(Command::new(env!("CARGO")).args(cargo).current_dir(root))
}

fn numpy(root: &Path, python: &Path, rows: &str) -> Result<String, String> {
    let script = root.join("benches").join("chain_peers.py");
    run(Command::new(python).arg(script).arg(rows).env("OMP_NUM_THREADS", "1"))
}

/// The interpreter of the peer's virtual environment, which is made on first use.
fn environment(root: &Path) -> Result<PathBuf, String> {
    let venv = root.join("target").join("bench-venv-numpy");
    let python = venv.join("bin").join("python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", PEER]))?;
    println!("peer: {PEER}");
    Ok(python)
}

fn microseconds(line: &str) -> Result<f64, String> {
    field(line, "microseconds").and_then(|x| x.parse().ok()).ok_or_else(|| format!("no time in {line:?}"))
}

fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn median(numbers: &[f64]) -> f64 {
    sorted(numbers).get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print_line(who: &str, rows: &str, times: &[f64], ratios: &[f64], goal: &str) {
    let (time, ratios) = (median(times), sorted(ratios));
    let (ratio, range) = match (ratios.first(), ratios.last()) {
        (Some(low), Some(high)) => (format!("{:.1}", median(&ratios)), format!("{low:.1}, {high:.1}")),
        _ => (String::new(), String::new()),
    };
    println!("{who:<12}{rows:>10}{time:>8.1}{:>14.0}{ratio:>12}{range:>16}{goal:>10}", 1e6 / time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_their_middle_is_taken() {
        assert_eq!(microseconds(r#"{"peer":"posterity","rows":5,"microseconds":31.5}"#), Ok(31.5));
        assert!(microseconds("nothing").is_err());
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert!(median(&[]).is_nan());
    }
}
