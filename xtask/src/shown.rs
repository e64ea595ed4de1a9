//! Everything shown is run: commands in the documents are executed, and the output shown under them must be theirs.
//!
//! In README.md and docs/: each line of a fenced `sh` block is a command. If a fenced `text` block follows, it must
//! equal what the commands print; a last line `…` stands for the rest of it. `posterity` stands for the program of the build
//! that is asked for, and so does `cargo run --release --`; the test command itself is passed over.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command that runs this check: running it again would not end.
const TEST_COMMAND: &str = "cargo xtask test";

/// How the main job is called by those who have only just come.
const FRESH: &str = "cargo run --release --";

/// Which build of the program the commands are given.
#[derive(Clone, Copy)]
pub(crate) enum Build {
    /// As it is shown, which takes a build of its own.
    Release,
    /// That which the tests have.
    Tested,
}

/// One fenced block of a document.
#[derive(Debug, PartialEq)]
struct Block {
    language: String,
    text: String,
    line: usize,
}

/// The program of the tests' build.
pub(crate) fn program(root: &Path) -> PathBuf {
    root.join("target/debug").join(format!("posterity{}", std::env::consts::EXE_SUFFIX))
}

/// Runs all documents.
pub(crate) fn run(root: &Path, build: Build) -> Result<(), String> {
    check_readme_starts_with_two_commands(root)?;
    // A run goes on where it stopped: what another build left here would be shown as this one's.
    let _ = fs::remove_dir_all(root.join("target/shown"));
    let mut commands = 0;
    for path in documents(root)? {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        commands += run_document(root, &path, &blocks(&text), build)?;
    }
    println!("▶ {commands} commands of the documents run, all as shown");
    Ok(())
}

fn documents(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn check_readme_starts_with_two_commands(root: &Path) -> Result<(), String> {
    let text = fs::read_to_string(root.join("README.md")).map_err(|e| format!("README.md: {e}"))?;
    let first_two: Vec<String> =
        blocks(&text).into_iter().filter(|b| b.language == "sh").take(2).map(|b| b.text.trim().to_owned()).collect();
    match first_two.as_slice() {
        [main, test] if main.starts_with("cargo run") && !main.contains('\n') && test == TEST_COMMAND => Ok(()),
        other => Err(format!("README.md must begin with the main job and `{TEST_COMMAND}`, found {other:?}")),
    }
}

fn run_document(root: &Path, path: &Path, blocks: &[Block], build: Build) -> Result<usize, String> {
    let mut count = 0;
    for (i, block) in blocks.iter().enumerate().filter(|(_, b)| b.language == "sh") {
        let place = format!("{}:{}", path.strip_prefix(root).unwrap_or(path).display(), block.line);
        let mut printed = String::new();
        for command in block.text.lines().filter(|l| !l.trim().is_empty() && *l != TEST_COMMAND) {
            printed += &output(root, command, build).map_err(|e| format!("{place}: `{command}` {e}"))?;
            count += 1;
        }
        let shown = blocks.get(i + 1).filter(|b| b.language == "text");
        if let Some(wrong) = shown.filter(|b| !is_shown_by(&b.text, &printed)) {
            return Err(format!("{place}: shown\n{}\nprinted\n{printed}", wrong.text));
        }
    }
    Ok(count)
}

/// Whether the block is what was printed, or its beginning where the block ends with a line `…`.
fn is_shown_by(block: &str, printed: &str) -> bool {
    match block.trim_end().strip_suffix("\n…") {
        Some(beginning) => printed.strip_prefix(beginning).is_some_and(|rest| rest.starts_with('\n')),
        None => block.trim_end() == printed.trim_end(),
    }
}

/// Standard output of a command line; its failure is an error unless the line says so by `|| true`.
fn output(root: &Path, command: &str, build: Build) -> Result<String, String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let (folder, command) = match build {
        Build::Release => ("release", command.to_owned()),
        Build::Tested => ("debug", command.replace(FRESH, "posterity")),
    };
    let programs = root.join("target").join(folder);
    let done = Command::new("sh")
        .args(["-c", &command])
        .current_dir(root)
        .env("PATH", format!("{}:{path}", programs.display()))
        .output()
        .map_err(|e| format!("does not start: {e}"))?;
    if !done.status.success() {
        return Err(format!("failed: {}", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The fenced blocks of a document, in order.
fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (open.as_mut(), line.strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(Block { language: language.trim().into(), text: String::new(), line: number + 1 });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.text += line;
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_their_language_and_line() {
        let found = blocks("a\n```sh\nx\ny\n```\nb\n```text\nz\n```\n");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], Block { language: "sh".into(), text: "x\ny\n".into(), line: 2 });
        assert_eq!(found[1].language, "text");
    }

    #[test]
    fn a_block_may_end_before_the_output_does() {
        assert!(is_shown_by("a\nb\n", "a\nb\n\n"));
        assert!(is_shown_by("a\n…\n", "a\nb\n"));
        assert!(!is_shown_by("a\n…\n", "ab\nb\n"));
        assert!(!is_shown_by("a\n", "a\nb\n"));
    }

    #[test]
    fn output_that_is_not_as_shown_is_an_error() {
        let root = std::env::temp_dir();
        let page = |shown: &str| blocks(&format!("```sh\necho 1\n```\n```text\n{shown}\n```\n"));
        assert_eq!(run_document(&root, Path::new("page"), &page("1"), Build::Tested), Ok(1));
        assert!(run_document(&root, Path::new("page"), &page("2"), Build::Tested).is_err());
        assert!(run_document(&root, Path::new("page"), &blocks("```sh\nfalse\n```\n"), Build::Tested).is_err());
    }
}
