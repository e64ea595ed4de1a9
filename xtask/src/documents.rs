//! Checks of the documents that need no build: the book has all its pages, CONTRIBUTING.md and SECURITY.md name paths that
//! exist, and CONTRIBUTING.md types that exist.

use std::fs;
use std::path::{Path, PathBuf};

/// The pages of the book, and the paths and types of CONTRIBUTING.md and SECURITY.md, that are not as they should be.
pub(crate) fn complaints(root: &Path, sources: &[PathBuf]) -> Result<Vec<String>, String> {
    let read = |name: &str| fs::read_to_string(root.join(name)).map_err(|e| format!("{name}: {e}"));
    let mut pages = Vec::new();
    collect(&root.join("docs"), Path::new(""), &mut pages)?;
    let mut found = about_the_book(&read("docs/SUMMARY.md")?, &pages);
    let recipes = read("CONTRIBUTING.md")?;
    for document in ["CONTRIBUTING.md", "SECURITY.md"] {
        let named = paths_named(&read(document)?).into_iter().filter(|path| !root.join(path).exists());
        found.extend(named.map(|path| format!("{document}: there is no {path}")));
    }
    let mut missing = types_named(&recipes);
    for path in sources {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        text.lines().filter_map(type_defined).for_each(|name| missing.retain(|other| other != name));
    }
    found.extend(missing.iter().map(|name| format!("CONTRIBUTING.md: there is no type {name}")));
    Ok(found)
}

/// The code spans of a text outside its blocks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2))
}

/// The types that a text names in code spans: `Gate`, and `Registry` of `Registry::standard`.
fn types_named(text: &str) -> Vec<String> {
    let named = |span: &str| {
        let name = span.split("::").next().unwrap_or(span);
        let is_type = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.contains(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric());
        is_type.then(|| name.to_owned())
    };
    spans(text).filter_map(named).collect()
}

/// The type that a line of source begins to define.
fn type_defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    matches!(words.next()?, "struct" | "enum" | "trait" | "type").then_some(())?;
    words.next()?.split(|c: char| !c.is_ascii_alphanumeric()).next()
}

/// The Markdown files under a folder, by their paths from the first one.
fn collect(folder: &Path, prefix: &Path, pages: &mut Vec<String>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path: PathBuf = entry.map_err(|e| e.to_string())?.path();
        let name = prefix.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            collect(&path, &name, pages)?;
        } else if name.extension().is_some_and(|e| e == "md") && name != Path::new("SUMMARY.md") {
            pages.push(name.display().to_string());
        }
    }
    pages.sort();
    Ok(())
}

/// Pages that the summary lists and that do not exist, twice or more, or that exist and are not listed.
fn about_the_book(summary: &str, pages: &[String]) -> Vec<String> {
    let targets = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut listed: Vec<&str> =
        targets.map(|target| target.trim_start_matches("./")).filter(|t| !t.is_empty()).collect();
    listed.sort_unstable();
    let mut found = Vec::new();
    found.extend(
        listed.windows(2).filter(|two| two[0] == two[1]).map(|two| format!("docs/SUMMARY.md: {} twice", two[0])),
    );
    let missing = listed.iter().filter(|page| !pages.iter().any(|p| p == *page));
    found.extend(missing.map(|page| format!("docs/SUMMARY.md: there is no docs/{page}")));
    let forgotten = pages.iter().filter(|page| !listed.contains(&page.as_str()));
    found.extend(forgotten.map(|page| format!("docs/{page} is not in docs/SUMMARY.md")));
    found
}

/// The paths in code spans of a text, with `{a,b}` written out. A span is a path if it has a slash and no character that a
/// path of this repository cannot have; capitals (`data/NAME.toml`) stand for a name to choose, and such a path is passed over.
fn paths_named(text: &str) -> Vec<String> {
    let is_path = |span: &&str| {
        span.contains('/')
            && span.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "/._-{},".contains(c))
    };
    spans(text).filter(is_path).flat_map(expanded).collect()
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expanded(pattern: &str) -> Vec<String> {
    let Some((before, (inside, after))) =
        pattern.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![pattern.to_owned()];
    };
    inside.split(',').flat_map(|choice| expanded(&format!("{before}{choice}{after}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_in_the_summary_once_and_exists() {
        let pages = ["a.md", "b/c.md"].map(str::to_owned);
        assert!(about_the_book("- [A](a.md)\n  - [C](./b/c.md)\n- [Draft]()\n", &pages).is_empty());
        assert_eq!(about_the_book("- [A](a.md)\n- [B](b.md)\n- [A](a.md)\n", &pages).len(), 3);
    }

    #[test]
    fn types_are_found_where_they_are_named_and_where_they_are_defined() {
        let text = "`Gate` and `Registry::standard`, not `DESCRIPTOR`, `clip`, `F2`, `LogEntry { a }`, or\n```sh\n`Other`\n```";
        assert_eq!(types_named(text), ["Gate", "Registry"]);
        let lines =
            ["pub trait Gate: Send {", "    pub(crate) struct Gate<'a>(u8);", "enum Gate {", "let gate = Gate::new();"];
        assert_eq!(lines.map(type_defined), [Some("Gate"), Some("Gate"), Some("Gate"), None]);
    }

    #[test]
    fn paths_are_found_in_code_spans_and_braces_are_written_out() {
        let text =
            "`src/{a,b}.rs` and `x/y`, not `Name/z`, `one`, `a | b/c`.\n```sh\n`c/d`\n```\nthen `e/{f,g}/{h,i}.md`";
        let expected = ["src/a.rs", "src/b.rs", "x/y", "e/f/h.md", "e/f/i.md", "e/g/h.md", "e/g/i.md"];
        assert_eq!(paths_named(text), expected);
    }
}
