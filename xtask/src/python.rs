//! `cargo xtask test --python`: the wheel, installed into an environment of its own, and everything that is tested through it.

use crate::bench;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the environment has: the builder of wheels, the tests' tools, and what tables and results are exchanged with.
const PACKAGES: [&str; 9] = [
    "arviz==0.23.4",
    "matplotlib==3.11.2",
    "maturin==1.16.0",
    "mypy==2.4.1",
    "pandas==3.1.1",
    "polars==2.1.0",
    "pyarrow==26.0.1",
    "pytest==9.2.0",
    "scikit-learn==1.9.1",
];

/// Where the package is made.
const PACKAGE: &str = "crates/python";

/// Builds the wheel as the tests are built, installs it, and runs the tests of the package, its stubs and its examples.
pub(crate) fn test(root: &Path) -> Result<(), String> {
    let python = environment(root)?;
    let wheel = wheel(root, &python, &["--profile", "dev"])?;
    install(&python, &wheel)?;
    // Not in the folder of the package: what is tested is the wheel.
    let shown = |command: &mut Command| run(command.current_dir(root.join("target/python")));
    let tests = root.join(PACKAGE).join("tests");
    shown(Command::new(&python).args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"]).arg(tests))?;
    let settings = root.join(PACKAGE).join("pyproject.toml");
    shown(Command::new(&python).args(["-m", "mypy.stubtest", "posterity", "--mypy-config-file"]).arg(settings))
}

/// The interpreter of the environment in the target folder; the first time it is made, over the network.
pub(crate) fn environment(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join("target/python/venv");
    let (python, ready) = (folder.join("bin/python"), folder.join("ready"));
    let packages = PACKAGES.join(" ");
    if fs::read_to_string(&ready).is_ok_and(|text| text == packages) {
        return Ok(python);
    }
    bench::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    bench::run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
    fs::write(&ready, packages).map_err(|error| format!("{}: {error}", ready.display()))?;
    Ok(python)
}

/// Builds the wheel, and returns its path.
pub(crate) fn wheel(root: &Path, python: &Path, how: &[&str]) -> Result<PathBuf, String> {
    let out = root.join("target/python/wheels");
    let _ = fs::remove_dir_all(&out);
    let mut build = Command::new(python);
    build.args(["-m", "maturin", "build", "--locked", "--manifest-path"]).arg(root.join(PACKAGE).join("Cargo.toml"));
    build.args(how).arg("--interpreter").arg(python).arg("--out").arg(&out).env("CARGO_INCREMENTAL", "0");
    run(&mut build)?;
    let files = fs::read_dir(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let wheel = files.flatten().map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "whl"));
    wheel.ok_or_else(|| format!("{} has no wheel", out.display()))
}

/// Puts the wheel in the place of an earlier one; what it depends on is there.
fn install(python: &Path, wheel: &Path) -> Result<(), String> {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--force-reinstall"];
    bench::run(Command::new(python).args(pip).arg("--no-deps").arg(wheel)).map(drop)
}

/// Runs a command that shows what it does.
fn run(command: &mut Command) -> Result<(), String> {
    println!("▶ {command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?} does not start: {error}")),
    }
}
