//! The table at the end of a run, for a terminal: as many columns as fit, the best private method and the baselines marked.

use super::differences;
use super::numbers::{NOTHING, bound, bytes, count, divergence, seconds};
use super::scores::{self, heading, in_table};
use super::standing::{Placed, Role, Standing, spent};
use super::summary;
use crate::layout::{self, FittedTable, LayoutColumn, fit};
use inference::results::Results;
use inference::score::{MAIN, Prominence, Score};
use std::borrow::Cow;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Letters in a line.
    pub width: usize,
    /// Whether colours are wanted.
    pub colour: bool,
}

/// Columns that are kept while names still have room: the name, the scores and what was spent.
const LEAST: usize = 5;

/// The table, then the summary in plain words.
pub fn table(results: &Results, terminal: Terminal) -> String {
    let standing = Standing::of(results);
    let least = LEAST + usize::from(standing.divergences());
    let columns = columns(&standing).into_iter().map(|(heading, cells)| LayoutColumn { heading, cells });
    let FittedTable { head, rows, left_out, cut } = fit(columns.collect(), terminal.width, least);
    let mut text = head + "\n";
    for (placed, lines) in standing.methods().zip(rows) {
        let role = standing.role(placed.number);
        lines.iter().for_each(|line| text += &(painted(line, role, terminal.colour) + "\n"));
    }
    text += &compared(&standing, terminal);
    let mut remarks = vec![("signs", legend(&standing))];
    if !cut.is_empty() {
        let full: Vec<String> = cut.into_iter().map(|(shown, full)| format!("{shown} is {full}")).collect();
        remarks.push(("names", full.join("; ")));
    }
    if !left_out.is_empty() {
        let more = format!("{} in the report and in a wider terminal", left_out.join(", "));
        remarks.push(("more", more));
    }
    remarks.push(("in words", summary::words(&standing)));
    remarks.extend(standing.results.data.made_up.clone().map(|words| ("made up", words)));
    if standing.private() {
        remarks.push(("simulation", summary::SIMULATION.to_owned()));
    }
    let remarks = remarks.iter().map(|(label, words)| (*label, words.as_str()));
    text + "\n" + &layout::rows(remarks, Some(terminal.width))
}

/// The differences to the baselines, below the table; nothing where nothing can be compared.
fn compared(standing: &Standing, terminal: Terminal) -> String {
    let Some((names, differences)) = differences::cells(standing) else { return String::new() };
    let cells = names.iter().map(|name| format!("  {}", layout::plain(name))).collect();
    let names = [LayoutColumn { heading: "difference".into(), cells }];
    let columns =
        names.into_iter().chain(differences.into_iter().map(|(heading, cells)| LayoutColumn { heading, cells }));
    let FittedTable { head, rows, .. } = fit(columns.collect(), terminal.width, 2);
    let lines: String = rows.iter().flatten().map(|line| format!("{line}\n")).collect();
    format!("\n{head}\n{lines}")
}

/// What the signs of the table mean.
fn legend(standing: &Standing) -> String {
    let mut signs = Vec::new();
    match standing.best_of_each().len() {
        0 => {}
        1 => signs.push("* best private method"),
        _ => signs.push("* best private method, whatever its ε"),
    }
    signs.push(". baseline without privacy");
    if standing.seeds() > 1 {
        signs.push("± standard deviation over seeds");
    }
    let shown = scores::shown(standing, Prominence::Terminal);
    signs.extend(shown.iter().map(|score| score.legend).filter(|legend| !legend.is_empty()));
    let differences = differences::legend(standing);
    signs.extend(differences.as_deref());
    if standing.divergences() {
        signs.push("KL of q from the exact posterior in nats, median over seeds");
    }
    signs.join("; ")
}

/// All columns, the most important ones first.
fn columns(standing: &Standing) -> Vec<(Cow<'static, str>, Vec<String>)> {
    let cells = |of: &dyn Fn(Placed) -> String| standing.methods().map(of).collect::<Vec<_>>();
    let epsilon = |m: Placed, which: fn((f64, f64)) -> f64| {
        m.method.privacy.as_ref().and_then(spent).map_or(NOTHING.to_owned(), |both| bound(which(both)))
    };
    let scored = |score: &'static Score| {
        let of = |m: Placed| m.method.scores.get(score.name).map_or(NOTHING.to_owned(), |s| in_table(score, s));
        (Cow::Owned(heading(score.short, score, ' ')), cells(&of))
    };
    let shown = scores::shown(standing, Prominence::Terminal);
    let (before, after): (Vec<_>, Vec<_>) = shown.into_iter().partition(|score| score.place() < MAIN.place());
    let mut columns = vec![("method".into(), cells(&|m| name(standing, m)))];
    columns.extend(before.into_iter().map(scored));
    if standing.divergences() {
        let middle = |m: Placed| m.method.kl.as_ref().map_or(NOTHING.to_owned(), |s| divergence(s.quantile(0.5)));
        columns.push(("KL".into(), cells(&middle)));
    }
    let mut after = after.into_iter().map(scored);
    columns.extend(after.next());
    if standing.private() {
        columns.push(("ε certified".into(), cells(&|m| epsilon(m, |both| both.0))));
    }
    columns.extend(after);
    columns.push(("messages".into(), cells(&|m| count(m.method.messages))));
    if standing.private() {
        columns.push(("ε claimed".into(), cells(&|m| epsilon(m, |both| both.1))));
    }
    columns.push(("sent".into(), cells(&|m| bytes(m.method.bytes))));
    columns.push(("CPU".into(), cells(&|m| seconds(m.method.cpu_seconds))));
    columns
}

/// The name with a sign: a star for the best private method, a dot for baselines.
fn name(standing: &Standing, placed: Placed) -> String {
    let sign = match standing.role(placed.number) {
        Role::Best => '*',
        Role::NonPrivate | Role::LocalOnly | Role::Constant => '.',
        Role::Other => ' ',
    };
    format!("{sign} {}", layout::plain(&placed.method.name))
}

/// Bold green for the best, dim for baselines.
fn painted(line: &str, role: Role, colour: bool) -> String {
    match role {
        Role::Best if colour => format!("\u{1b}[1;32m{line}\u{1b}[0m"),
        Role::NonPrivate | Role::LocalOnly | Role::Constant if colour => format!("\u{1b}[2m{line}\u{1b}[0m"),
        _ => line.to_owned(),
    }
}
