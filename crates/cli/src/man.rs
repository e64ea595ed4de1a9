//! `posterity man`: manual pages of all commands, made from the command line's own description.

use crate::arguments::Arguments;
use crate::failure::Failure;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Writes a page for the program and one for every command, and tells where.
pub(crate) fn run(out: &Path, json: bool) -> Result<String, Failure> {
    std::fs::create_dir_all(out).map_err(|source| Failure::file("cannot make", out, source))?;
    let mut written = Vec::new();
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    write(&program, "posterity", out, &mut written)?;
    let pages: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    if json {
        return Ok(format!("{}\n", serde_json::json!({ "pages": pages })));
    }
    Ok(format!("{} manual pages in {}\n", pages.len(), out.display()))
}

/// The page of a command, then those of its commands. A page is named by all words: `posterity-account-epsilon`.
fn write(command: &Command, name: &str, out: &Path, written: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let path = out.join(format!("{name}.1"));
    let unusable = |source| Failure::file("cannot write", &path, source);
    let mut page = Vec::new();
    let page_of = Man::new(command.clone()).title(name).source(concat!("Posterity ", env!("CARGO_PKG_VERSION")));
    page_of.manual("Posterity").render(&mut page).map_err(unusable)?;
    std::fs::write(&path, page).map_err(unusable)?;
    written.push(path);
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        write(inner, &format!("{name}-{}", inner.get_name()), out, written)?;
    }
    Ok(())
}
