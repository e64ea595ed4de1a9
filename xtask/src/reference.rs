//! Pages of the book that are made from the program: its commands, the keys of studies, and its error and warning codes.
//!
//! `cargo xtask reference` writes them; the test command refuses a page that differs from what the program prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "docs/reference";

const COMMANDS: &str = "# Commands\n\n\
    `posterity COMMAND --help` prints the same text. `cargo xtask reference` makes this page from the program.\n";

const CODES: &str = "# Error and warning codes\n\n\
    Every error and every warning has a code. `posterity explain CODE` prints the same text. `cargo xtask reference` makes this \
    page from the program.\n";

/// The kinds of codes, by their first letter.
const KINDS: [(char, &str); 9] = [
    ('C', "Command line and files"),
    ('D', "Data"),
    ('F', "Federation"),
    ('L', "Ledgers"),
    ('P', "Privacy"),
    ('R', "Runs"),
    ('S', "Studies"),
    ('W', "Statistical warnings"),
    ('?', "Others"),
];

/// Writes every page.
pub(crate) fn write(root: &Path, program: &Path) -> Result<(), String> {
    for (path, text) in pages(root, program)? {
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("▶ wrote {}", path.display());
    }
    Ok(())
}

/// Refuses a page that is not what the program prints.
pub(crate) fn check(root: &Path, program: &Path) -> Result<(), String> {
    for (path, text) in pages(root, program)? {
        if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            return Err(format!("{} is out of date: run `cargo xtask reference`", path.display()));
        }
    }
    Ok(())
}

fn pages(root: &Path, program: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let print = |words: &[&str]| printed(program, words);
    let folder = root.join(FOLDER);
    Ok(vec![
        (folder.join("commands.md"), commands(&print)?),
        (folder.join("study.md"), print(&["schema", "study", "--markdown"])?),
        (folder.join("codes.md"), codes(&print)?),
    ])
}

/// What the program prints on standard output, as wide as a page.
fn printed(program: &Path, words: &[&str]) -> Result<String, String> {
    let done = Command::new(program)
        .args(words)
        .env("COLUMNS", "100")
        .output()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(format!("posterity {}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr))),
    }
}

type Print<'a> = &'a dyn Fn(&[&str]) -> Result<String, String>;

/// A section for every command, and one for every command of a command.
fn commands(print: Print<'_>) -> Result<String, String> {
    let mut page = COMMANDS.to_owned();
    let mut waiting = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let mut asked: Vec<&str> = words.iter().map(String::as_str).collect();
        asked.push("--help");
        let help = print(&asked)?;
        let title = [&["posterity"], &asked[..words.len()]].concat().join(" ");
        page += &format!("\n## {title}\n\n```text\n{}\n```\n", trimmed(&help));
        let inner = subcommands(&help).into_iter().rev();
        waiting.extend(inner.map(|name| [words.clone(), vec![name]].concat()));
    }
    Ok(page)
}

/// The text without spaces at the ends of its lines, or empty lines at its end.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The names under `Commands:` of a help text.
fn subcommands(help: &str) -> Vec<String> {
    let section = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A name stands two columns in; what follows of a long description stands further in.
    let names = section.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// A section for every kind of code, and in it one for every code.
fn codes(print: Print<'_>) -> Result<String, String> {
    let list = print(&["explain"])?;
    let mut sections = KINDS.map(|(letter, title)| (letter, format!("\n## {title}\n"), 0));
    for code in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let text = print(&["explain", code])?;
        let (title, body) = text.split_once("\n\n").ok_or_else(|| format!("{code} has no text"))?;
        let own = sections.iter().position(|(letter, ..)| code.starts_with(*letter)).unwrap_or(sections.len() - 1);
        let (_, section, count) = &mut sections[own];
        *section += &format!("\n### {title}\n\n{}\n", escaped(trimmed(body).as_str()));
        *count += 1;
    }
    let found = sections.into_iter().filter(|(.., count)| *count > 0).map(|(_, section, _)| section);
    Ok(format!("{CODES}{}", found.collect::<String>()))
}

/// Text whose angle brackets, stars and underscores are not markup.
fn escaped(text: &str) -> String {
    let mut quoted = false;
    let mut page = String::new();
    for letter in text.chars() {
        quoted ^= letter == '`';
        if !quoted && matches!(letter, '<' | '*' | '_' | '[') {
            page.push('\\');
        }
        page.push(letter);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_a_command_has_a_section() {
        let print = |words: &[&str]| {
            Ok(match words {
                ["--help"] => "About\n\nCommands:\n  one   First\n          and more of it\n  two   Second\n  help  Help\n\nOptions:\n",
                ["two", "--help"] => "Commands:\n  deep  Third\n",
                _ => "Leaf\n",
            }
            .to_owned())
        };
        let page = commands(&print).unwrap();
        let titles: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(titles, ["## posterity", "## posterity one", "## posterity two", "## posterity two deep"]);
    }

    #[test]
    fn codes_stand_under_their_kind_and_none_is_lost() {
        let print = |words: &[&str]| {
            Ok(match words {
                ["explain"] => "P001  a\nX001  b\nC001  c\n".to_owned(),
                words => format!("{}: title\n\ntext of a_key and `a_key`\n", words[1]),
            })
        };
        let page = codes(&print).unwrap();
        let order: Vec<&str> = page.lines().filter(|line| line.starts_with("##")).collect();
        let expected = ["## Command line and files", "### C001: title", "## Privacy", "### P001: title", "## Others"];
        assert_eq!(order[..5], expected);
        assert!(page.contains("text of a\\_key and `a_key`"), "{page}");
    }
}
