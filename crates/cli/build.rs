//! Tells the program which commit it was built from, for the provenance of results; `unknown` where there is no repository.

use std::path::Path;
use std::process::Command;

fn main() {
    // Whoever packages the program without its repository can say so.
    println!("cargo:rerun-if-env-changed=POSTERITY_COMMIT");
    let said = std::env::var("POSTERITY_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = said.or_else(found).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=POSTERITY_COMMIT={commit}");
}

/// What git says, in this package's folder.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// The commit of the repository that has this file. A release is built anew when that moves, and says where files differ from it;
/// a build for development is not, and says that it is one.
fn found() -> Option<String> {
    println!("cargo:rerun-if-changed=build.rs");
    // A copy inside somebody else's repository is not of its commit.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    if std::env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return Some(format!("{commit}+development"));
    }
    let repository = ["HEAD", "logs/HEAD"].map(|file| git(&["rev-parse", "--git-path", file]));
    let sources = ["cli", "federation", "inference", "privacy", "report", "study"].map(|room| format!("../{room}/src"));
    for path in repository.into_iter().flatten().chain(sources).filter(|path| Path::new(path).exists()) {
        println!("cargo:rerun-if-changed={path}");
    }
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no", "--", ".."]).is_none_or(|files| !files.is_empty());
    Some(if changed { format!("{commit}+changes") } else { commit })
}
