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
    complaints.extend(stale_mutants(root, &files)?);
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
    complaints.extend(tests_without_a_program(&files));
    complaints.extend(crate::documents::complaints(root, &files)?);
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

/// Files of tests that no program of tests names: they would never be run.
fn tests_without_a_program(files: &[PathBuf]) -> Vec<String> {
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let mut forgotten = Vec::new();
    for path in files {
        let Some((folder, name)) = path.parent().filter(|folder| folder.ends_with("tests")).zip(path.file_stem())
        else {
            continue;
        };
        let name = name.to_string_lossy();
        let manifest = text(&folder.with_file_name("Cargo.toml"));
        if manifest.is_empty() {
            continue; // a folder within the sources
        }
        let mut others = files.iter().filter(|other| other.parent() == Some(folder) && *other != path);
        let is_program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
        if !is_program && !others.any(|other| text(other).contains(&format!("\nmod {name};\n"))) {
            forgotten.push(format!("{}: no program of tests names it", path.display()));
        }
    }
    forgotten
}

/// Tests that `docs/mutants.md` or SECURITY.md names and nobody has written, and places in the code that have another name by now: a mutant
/// that is listed is one that a reader can make, and that is caught.
fn stale_mutants(root: &Path, files: &[PathBuf]) -> Result<Vec<String>, String> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let texts = files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let (table, sources) = (read(&root.join("docs/mutants.md"))?, texts.concat());
    let mut found = unwritten(&table, &sources);
    found.extend(renamed(&table, files, &texts));
    found.extend(unknown_tests(&read(&root.join("SECURITY.md"))?, &sources));
    Ok(found)
}

/// Names of tests in SECURITY.md that no source has. A code span of three or more small words is taken for one.
fn unknown_tests(text: &str, sources: &str) -> Vec<String> {
    let is_name = |span: &&str| {
        let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        span.matches('_').count() >= 2 && span.chars().all(small)
    };
    let tests = text.split('`').skip(1).step_by(2).filter(is_name);
    let missing = tests.filter(|test| !sources.contains(&format!("fn {test}(")));
    missing.map(|test| format!("SECURITY.md: there is no test {test}")).collect()
}

/// Places in the table's second column, `Type::item` or `module::item`, that no file of the sources has.
fn renamed(table: &str, files: &[PathBuf], texts: &[String]) -> Vec<String> {
    let has = |owner: &str, item: &str| {
        let declares = |text: &str| {
            let forms = [format!("fn {item}("), format!("fn {item}<"), format!("const {item}:")];
            forms.iter().any(|form| text.contains(form))
        };
        let within = |path: &Path| path.with_extension("").iter().rev().take(2).any(|part| part == owner);
        let names = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == owner);
        files.iter().zip(texts).any(|(path, text)| declares(text) && (within(path) || names(text)))
    };
    let mut found = Vec::new();
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let places = row.split('|').nth(2).unwrap_or_default().split('`').skip(1).step_by(2);
        for (path, item) in places.filter_map(|place| place.rsplit_once("::")) {
            let owner = path.rsplit("::").next().unwrap_or(path);
            if !has(owner, item) {
                found.push(format!("docs/mutants.md: there is no {owner}::{item}"));
            }
        }
    }
    found
}

/// Rows of the table whose tests are not among the sources, or that name none.
fn unwritten(table: &str, sources: &str) -> Vec<String> {
    let mut found = Vec::new();
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let tests: Vec<&str> = row.split('|').nth(3).unwrap_or_default().split('`').skip(1).step_by(2).collect();
        if tests.is_empty() {
            found.push(format!("docs/mutants.md: no test in {row}"));
        }
        let missing = tests.iter().filter(|test| !sources.contains(&format!("fn {test}(")));
        found.extend(missing.map(|test| format!("docs/mutants.md: there is no test {test}")));
    }
    found
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

    #[test]
    fn a_file_of_tests_that_nobody_names_is_found() {
        let folder = std::env::temp_dir().join(format!("posterity-tidy-{}", std::process::id()));
        let tests = folder.join("tests");
        fs::create_dir_all(&tests).unwrap();
        fs::write(folder.join("Cargo.toml"), "[[test]]\nname = \"all\"\n").unwrap();
        fs::write(tests.join("all.rs"), "//! All.\n\nmod named;\n").unwrap();
        fs::write(tests.join("named.rs"), "//! One.\n").unwrap();
        fs::write(tests.join("forgotten.rs"), "//! Another.\n").unwrap();
        let found = tests_without_a_program(&["all.rs", "named.rs", "forgotten.rs"].map(|name| tests.join(name)));
        fs::remove_dir_all(folder).unwrap();
        assert!(found.len() == 1 && found[0].contains("forgotten.rs"), "{found:?}");
    }

    #[test]
    fn a_mutant_whose_test_is_not_there_is_found() {
        let table = "| mutant | code | tests |\n|---|---|---|\n| M1 | `a` | `one`, `two` |\n| M2 | `b` | |\n";
        assert_eq!(unwritten(table, "fn one() {} fn two() {}").len(), 1);
        assert_eq!(unwritten(table, "fn one() {}").len(), 2);
        let text = "`a_test_here`, `a_test_gone`, `site.toml`, `two_words` and `Type::a_b_c`";
        assert_eq!(unknown_tests(text, "fn a_test_here() {}"), ["SECURITY.md: there is no test a_test_gone"]);
    }

    #[test]
    fn a_mutant_of_code_that_was_renamed_is_found() {
        let table =
            "| mutant | code | tests |\n|---|---|---|\n| M1 | `Gate::send`, `open`, `a::gate::LIMIT`: less | `one` |\n";
        let (files, text) = ([PathBuf::from("src/gate.rs")], "impl Gate { fn send(&self) {} }\nconst LIMIT: u8 = 1;\n");
        assert!(renamed(table, &files, &[text.to_owned()]).is_empty());
        assert_eq!(renamed(table, &files, &[text.replace("Gate", "Door")]).len(), 1);
        assert_eq!(renamed(table, &files, &[text.replace("fn send", "fn sent")]).len(), 1);
        assert_eq!(renamed(table, &[PathBuf::from("src/door.rs")], &[text.to_owned()]).len(), 1);
    }
}
