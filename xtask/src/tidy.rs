//! Holds the line on what no compiler checks: headers, sizes, and words that do not belong into the tree.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines before the tests of a file; one idea fits.
const MOST_LINES: usize = 500;

/// Walks the sources and reports everything at once.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let mut complaints = Vec::new();
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root.join(folder), is_source, &mut files)?;
    }
    for path in &files {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        complaints.extend(complaints_about(&text).into_iter().map(|c| format!("{name}: {c}")));
    }
    let mut documents = Vec::new();
    for entry in fs::read_dir(root).map_err(|e| e.to_string())? {
        documents.push(entry.map_err(|e| e.to_string())?.path());
    }
    documents.retain(|path| is_text(path));
    for folder in ["docs", "studies"] {
        collect(&root.join(folder), is_text, &mut documents)?;
    }
    for path in &documents {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        complaints.extend(unfinished_merges(&text).into_iter().map(|c| format!("{name}: {c}")));
    }
    if complaints.is_empty() {
        println!("▶ {} source files are tidy", files.len());
        Ok(())
    } else {
        Err(complaints.join("\n"))
    }
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "rs")
}

fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "md" || e == "toml")
}

fn collect(folder: &Path, wanted: fn(&Path) -> bool, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() && path.file_name().is_some_and(|n| n != "target") {
            collect(&path, wanted, files)?;
        } else if wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Lines that a merge left behind.
fn unfinished_merges(text: &str) -> Vec<String> {
    let left = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark));
    let lines = text.lines().enumerate().filter(|(_, line)| left(line));
    lines.map(|(number, _)| format!("line {}: an unfinished merge", number + 1)).collect()
}

/// What is wrong with one file.
fn complaints_about(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !text.lines().take(4).any(|l| l.starts_with("//!")) {
        found.push("begins without a sentence that says what it is for".into());
    }
    let code = text.lines().take_while(|l| *l != "#[cfg(test)]").count();
    if code > MOST_LINES {
        found.push(format!("has {code} lines before its tests, {MOST_LINES} is the most"));
    }
    for (number, line) in text.lines().enumerate() {
        // Written in halves, so that this file does not complain about itself.
        for word in [concat!("#[ign", "ore"), concat!("todo", "!("), concat!("unimplemented", "!(")] {
            if line.contains(word) {
                found.push(format!("line {}: `{word}`", number + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_name_what_is_wrong() {
        assert!(complaints_about("//! A file.\nfn f() {}\n").is_empty());
        assert_eq!(complaints_about("fn f() {}\n").len(), 1);
        assert_eq!(complaints_about(&format!("//! Long.\n{}", "x\n".repeat(600))).len(), 1);
        assert_eq!(unfinished_merges("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n").len(), 2);
        assert_eq!(complaints_about(concat!("//! A file.\n#[ign", "ore]\n")).len(), 1);
    }
}
