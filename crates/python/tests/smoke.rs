//! The package as an interpreter loads it: the extension of this build, in an environment of its own, without other packages.
//!
//! Without a Python 3.10 that has the module venv the test is skipped, by name. `cargo xtask test --python` tests the wheel.

#![allow(clippy::disallowed_macros)] // a test that is skipped says so

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the interpreter is asked: the package is found beside its extension, and what it answers is checked.
const SCRIPT: &str = include_str!("smoke.py");

/// The extension that this build has made: beside the program of this test.
fn extension() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let name = format!("{}posterity_native{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    Some(program.parent()?.join(name)).filter(|path| path.exists())
}

/// Runs a program and returns what it said, or why it failed.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// The interpreter of a new environment, or why there is none.
fn environment() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let enough = "import sys; sys.exit(sys.version_info < (3, 10))";
    said(Command::new("python3").args(["-c", enough])).map_err(|why| format!("no Python 3.10 or later: {why}"))?;
    said(Command::new("python3").args(["-m", "venv", "--clear", "--without-pip"]).arg(&folder))?;
    Ok(folder.join("bin/python"))
}

/// Copies the package with its extension to where the interpreter looks for packages.
fn install(python: &Path, extension: &Path) {
    let purelib = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let package = Path::new(&said(Command::new(python).args(["-c", purelib])).unwrap()).join("posterity");
    fs::create_dir_all(&package).unwrap();
    for file in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/python/posterity")).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), package.join(file.file_name())).unwrap();
        }
    }
    fs::copy(extension, package.join("_native.abi3.so")).unwrap();
}

#[test]
fn python_imports_the_package_and_accounts() {
    let found = match extension() {
        Some(extension) => environment().map(|python| (python, extension)),
        None => Err("the build has no extension module".to_owned()),
    };
    let (python, extension) = match found {
        Ok(found) => found,
        Err(why) => {
            eprintln!("skipped: python_imports_the_package_and_accounts ({why})");
            return;
        }
    };
    install(&python, &extension);
    let told = said(Command::new(python).args(["-I", "-W", "error", "-c", SCRIPT]));
    assert_eq!(told, Ok("ok".to_owned()));
}
