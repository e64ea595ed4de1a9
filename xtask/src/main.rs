//! Tasks of the repository. `cargo xtask test`: everything that a change must pass, on a machine with the Rust toolchain and nothing else.

mod bench;
mod bench_chain;
mod bench_federation;
mod bench_inference;
mod bench_secure_sum;
mod documents;
mod python;
mod reference;
mod shown;
mod tidy;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test(),
        ["test", "--python"] => python::test(&root()),
        ["tidy"] => tidy::check(&root()),
        ["shown"] => build_release().and_then(|()| shown::run(&root(), shown::Build::Release)),
        ["shown", "--debug"] => {
            cargo(&["build", "--locked"]).and_then(|()| shown::run(&root(), shown::Build::Tested))
        }
        ["reference"] => {
            cargo(&["build", "--locked"]).and_then(|()| reference::write(&root(), &shown::program(&root())))
        }
        ["bench", "accounting"] => bench::accounting(&root()),
        ["bench", "inference"] => bench_inference::inference(&root()),
        ["bench", "chain"] => bench_chain::chain(&root()),
        ["bench", "federation"] => bench_federation::federation(&root(), false),
        ["bench", "federation", "--full"] => bench_federation::federation(&root(), true),
        ["bench", "secure-sum"] => bench_secure_sum::secure_sum(&root(), false),
        ["bench", "secure-sum", "--full"] => bench_secure_sum::secure_sum(&root(), true),
        ["bench", .., "--help" | "-h"] => {
            println!("{}", bench::HELP);
            Ok(())
        }
        ["bench", ..] => Err(bench::HELP.into()),
        _ => Err(
            "usage: cargo xtask test [--python] | tidy | shown [--debug] | reference | bench accounting | inference | secure-sum | chain | \
             federation"
                .into(),
        ),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Formatting, lints, tidiness, documentation, what the documents show, and all tests, in the order of their cost.
///
/// Tests hold federations against simulations, and kill processes at named places: with seeds in the place of the system's
/// noise (`rehearsal`), which no release build can have. The documents' commands are given the same build, for a second one
/// takes long: `cargo xtask shown` runs them with the release. Examples are looked at by the lints and not built.
fn test() -> Result<(), String> {
    const WORKSPACE: [&str; 4] = ["--workspace", "--locked", "--features", "rehearsal"];
    // Not `--lib`: it would take the extension module of Python for a library that has tests.
    const PROGRAMS: [&str; 2] = ["--bins", "--tests"];
    cargo(&["fmt", "--all", "--check"])?;
    tidy::check(&root())?;
    cargo(&[&["clippy", "--all-targets"], &WORKSPACE[..], &["--", "-D", "warnings"]].concat())?;
    cargo(&[&["doc", "--no-deps"], &WORKSPACE[..]].concat())?;
    cargo(&[&["test", "--no-run"], &WORKSPACE[..], &PROGRAMS].concat())?;
    reference::check(&root(), &shown::program(&root()))?;
    shown::run(&root(), shown::Build::Tested)?;
    cargo(&[&["test", "--no-fail-fast"], &WORKSPACE[..], &PROGRAMS].concat())?;
    cargo(&[&["test", "--doc"], &WORKSPACE[..]].concat())
}

fn build_release() -> Result<(), String> {
    cargo(&["build", "--release", "--locked"])
}

/// Runs cargo in the repository, with documentation warnings as errors, and says how long it took. Nothing is kept for
/// incremental builds: to write that down costs a build from nothing more than a third of its time.
fn cargo(arguments: &[&str]) -> Result<(), String> {
    println!("▶ cargo {}", arguments.join(" "));
    let start = Instant::now();
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root())
        .env("RUSTDOCFLAGS", "-D warnings")
        .env("CARGO_INCREMENTAL", "0")
        .status()
        .map_err(|e| format!("cargo does not start: {e}"))?;
    println!("▶ {:.0} s: cargo {}", start.elapsed().as_secs_f64(), arguments.first().unwrap_or(&""));
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", arguments.join(" "))) }
}

/// The repository: the folder above this crate.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
