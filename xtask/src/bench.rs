//! `cargo xtask bench accounting`: our accountant and its peers on the same cases, in one run, on this machine.

use std::env;
use std::path::Path;
use std::process::Command;

/// The peers, at fixed versions.
const PEERS: [&str; 2] = ["dp-accounting==0.6.0", "prv-accountant==0.2.0"];

/// What is said before anything is installed or run.
pub(crate) const HELP: &str = "\
usage: cargo xtask bench accounting | inference | secure-sum [--full] | chain | federation [--full]
accounting: our accountant beside dp-accounting and prv-accountant on the same cases, with their answers side by side.
inference:  the private step beside PyTorch and Opacus, whole runs, and how their cost grows (peers in
target/bench-venv-torch, gigabytes).
chain:      iterations of a private Barker chain beside NumPy, and that they do not grow with the rows (NumPy in
target/bench-venv-numpy); a minute or two.
secure-sum: whole sums with ten nodes beside the paper's seconds; no peers, a minute (--full: some ten, 10^9 coordinates).
federation: a server under the load of many agents, restarts with long ledgers, and a round beside Flower (in
target/bench-venv-flower); some minutes (--full: a thousand agents, 4 GB of temporary files).
The first two take several minutes. The first time one needs Python 3 and the network, and installs the two peers into
target/bench-venv; nothing is installed elsewhere, and removing that folder undoes it.";

/// Installs the peers, runs both sides, and prints the lines side by side.
pub(crate) fn accounting(root: &Path) -> Result<(), String> {
    let venv = root.join("target").join("bench-venv");
    let python = venv.join("bin").join("python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PEERS))?;
    }
    println!("machine: {}", machine());
    let ours = run(Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--package", "posterity-privacy", "--example", "accounting_speed"])
        .current_dir(root))?;
    let theirs = run(Command::new(&python).arg(root.join("benches").join("peers.py")))?;
    print_table(&ours, &theirs);
    Ok(())
}

/// Standard output of a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|e| format!("{command:?} does not start: {e}"))?;
    if !done.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

pub(crate) fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or(": unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores, {}", model.trim_start_matches([' ', '\t', ':']), env::consts::OS)
}

/// One field of a flat JSON object, as text.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let start = line.find(&format!("\"{name}\":"))? + name.len() + 3;
    let rest = line[start..].trim_start();
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split([',', '}']).next().map(str::trim),
    }
}

fn print_table(ours: &str, theirs: &str) {
    println!("{:<5}{:<19}{:>12}{:>12}  answer", "case", "who", "CPU ms", "times ours");
    let number = |line: &str, name: &str| field(line, name).and_then(|x| x.parse::<f64>().ok());
    for own in ours.lines() {
        let case = field(own, "case").unwrap_or("?");
        let own_seconds = seconds(own);
        print_row(case, own, own_seconds, "");
        for peer in theirs.lines().filter(|l| field(l, "case") == Some(case)) {
            let ends = (number(own, "lower"), number(own, "upper"), number(peer, "upper"));
            let word =
                if let (Some(lower), Some(upper), Some(theirs)) = ends { verdict(lower, upper, theirs) } else { "" };
            print_row(case, peer, own_seconds, word);
        }
    }
}

/// How a peer's upper bound compares with our certified interval. One number is a noise multiplier, of which less is better.
fn verdict(lower: f64, upper: f64, theirs: f64) -> &'static str {
    match theirs {
        t if lower == upper && t < lower => "  less noise than ours",
        _ if lower == upper => "  more noise than ours",
        t if t < lower => "  WRONG: below our certified lower bound",
        t if t < upper => "  inside our interval",
        _ => "  wider",
    }
}

fn seconds(line: &str) -> f64 {
    field(line, "seconds").and_then(|s| s.parse().ok()).unwrap_or(f64::NAN)
}

fn print_row(case: &str, line: &str, own_seconds: f64, word: &str) {
    let answer = match (field(line, "lower"), field(line, "upper"), field(line, "error")) {
        (Some(lower), Some(upper), _) => format!("[{lower}, {upper}]"),
        (None, Some(upper), _) => format!("≤ {upper}"),
        (_, _, error) => error.unwrap_or("no answer").to_owned(),
    };
    let who = field(line, "peer").unwrap_or("?");
    let times = seconds(line) / own_seconds;
    let answer = if answer.ends_with("stopped") { format!("{answer} (both figures are lower bounds)") } else { answer };
    match seconds(line).is_nan() {
        true => println!("{case:<5}{who:<19}{:>12}{:>12}  {answer}", "-", "-"),
        false => println!("{case:<5}{who:<19}{:>12.3}{times:>12.1}  {answer}{word}", seconds(line) * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_from_flat_objects() {
        let line = r#"{"upper": 1.5, "case": "W1", "peer": "a b", "seconds": 0.25}"#;
        assert_eq!(field(line, "case"), Some("W1"));
        assert_eq!(field(line, "peer"), Some("a b"));
        assert_eq!(field(line, "upper"), Some("1.5"));
        assert_eq!(seconds(line), 0.25);
        assert_eq!(field(line, "lower"), None);
    }

    #[test]
    fn the_help_says_what_is_installed_where_and_how_long_it_takes() {
        for words in ["bench accounting", "minutes", "target/", "Python"] {
            assert!(HELP.contains(words), "{words}");
        }
        assert!(PEERS.iter().all(|peer| HELP.contains(peer.split('=').next().unwrap())));
    }

    #[test]
    fn a_peer_is_wider_inside_or_wrong() {
        assert!(verdict(1.0, 2.0, 0.9).contains("WRONG"));
        assert!(verdict(1.0, 2.0, 1.5).contains("inside"));
        assert!(verdict(1.0, 2.0, 2.1).contains("wider"));
        assert!(verdict(1.0, 1.0, 0.9).contains("less") && verdict(1.0, 1.0, 1.1).contains("more"));
    }
}
