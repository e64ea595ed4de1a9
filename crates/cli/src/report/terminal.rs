//! The table at the end of a run, for a terminal: as many columns as fit, the best private method and the baselines marked.

use super::numbers::{NOTHING, bound, bytes, count, divergence, seconds, spread};
use super::standing::{Placed, Role, Standing, spent};
use super::summary;
use crate::table::{Rows, lines};
use inference::results::Results;
use std::io::IsTerminal;

/// Letters of a method's name where not everything fits.
const NAME: usize = 26;
/// Letters of a method's name where there is little room.
const SHORT_NAME: usize = 14;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Letters in a line.
    pub(crate) width: usize,
    /// Whether colours are wanted.
    pub(crate) colour: bool,
}

impl Terminal {
    /// The terminal of standard output: COLUMNS letters or 100, coloured if it is one and NO_COLOR is not set.
    pub(crate) fn found() -> Self {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let width = set("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(100);
        Self { width, colour: set("NO_COLOR").is_none() && std::io::stdout().is_terminal() }
    }
}

/// A column: its heading, and its cells from the top.
type Column = (&'static str, Vec<String>);

/// The table, then the summary in plain words.
pub(crate) fn table(results: &Results, terminal: Terminal) -> String {
    let standing = Standing::of(results);
    let columns = fitting(columns(&standing), terminal.width, usize::from(standing.divergences()));
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let mut text = line(columns.iter().map(|(heading, _)| *heading), &widths) + "\n";
    for placed in standing.methods() {
        let cells = columns.iter().map(|(_, cells)| cells[placed.number].as_str());
        text += &painted(&line(cells, &widths), standing.role(placed.number), terminal.colour);
        text.push('\n');
    }
    let room = terminal.width.saturating_sub(12).max(30);
    let mut remarks: Rows = Vec::new();
    for (label, words) in [("signs", legend(&standing)), ("in words", summary::words(&standing))] {
        let lines = wrapped(&words, room).into_iter().enumerate();
        remarks.extend(lines.map(|(index, line)| (if index == 0 { label } else { "" }, line)));
    }
    text + "\n" + &lines(&remarks)
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
        signs.push("± deviation between seeds");
    }
    signs.push(if standing.classes() {
        "log-lik. in nats per held-out row"
    } else {
        "MAE, RMSE mean absolute and root mean squared error on held-out rows"
    });
    if standing.coverage() {
        signs.push("coverage of 90 % intervals by held-out outcomes");
    }
    if standing.divergences() {
        signs.push("KL of q from the exact posterior in nats, median over seeds");
    }
    signs.join("; ")
}

/// All columns, the most important ones first.
fn columns(standing: &Standing) -> Vec<Column> {
    let cells = |of: &dyn Fn(Placed) -> String| standing.methods().map(of).collect::<Vec<_>>();
    let epsilon = |m: Placed, which: fn((f64, f64)) -> f64| {
        m.method.privacy.as_ref().and_then(spent).map_or(NOTHING.to_owned(), |both| bound(which(both)))
    };
    let mut columns = vec![("method", cells(&|m| name(standing, m)))];
    if standing.classes() {
        let accuracy = |m: Placed| m.method.accuracy.as_ref().map_or(NOTHING.to_owned(), |s| spread(s, 100.0, 2));
        columns.push(("accuracy %", cells(&accuracy)));
    } else {
        let error = |m: Placed| m.method.absolute_error.as_ref().map_or(NOTHING.to_owned(), |s| spread(s, 1.0, 3));
        let squared =
            |m: Placed| m.method.root_squared_error.as_ref().map_or(NOTHING.to_owned(), |s| spread(s, 1.0, 3));
        columns.push(("MAE", cells(&error)));
        columns.push(("RMSE", cells(&squared)));
    }
    if standing.divergences() {
        let middle = |m: Placed| m.method.kl.as_ref().map_or(NOTHING.to_owned(), |s| divergence(s.quantile(0.5)));
        columns.push(("KL", cells(&middle)));
    }
    columns.push(("log-lik.", cells(&|m| spread(&m.method.log_likelihood, 1.0, 4))));
    if standing.private() {
        columns.push(("ε certified", cells(&|m| epsilon(m, |both| both.0))));
    }
    if standing.coverage() {
        let coverage = |m: Placed| m.method.coverage.as_ref().map_or(NOTHING.to_owned(), |s| spread(s, 100.0, 1));
        columns.push(("coverage %", cells(&coverage)));
    }
    columns.push(("messages", cells(&|m| count(m.method.messages))));
    if standing.private() {
        columns.push(("ε claimed", cells(&|m| epsilon(m, |both| both.1))));
    }
    columns.push(("sent", cells(&|m| bytes(m.method.bytes))));
    columns.push(("CPU", cells(&|m| seconds(m.method.cpu_seconds))));
    columns
}

/// The name with a sign: a star for the best private method, a dot for baselines.
fn name(standing: &Standing, placed: Placed) -> String {
    let sign = match standing.role(placed.number) {
        Role::Best => '*',
        Role::NonPrivate | Role::LocalOnly | Role::Constant => '.',
        Role::Other => ' ',
    };
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    format!("{sign} {}", placed.method.name.chars().map(plain).collect::<String>())
}

/// Leaves out the last columns and shortens names, in steps, until the rest fits. A divergence, if there is one, is kept
/// beside the others.
fn fitting(mut columns: Vec<Column>, most: usize, divergence: usize) -> Vec<Column> {
    let wide = |columns: &[Column]| columns.iter().map(|column| width(column) + 2).sum::<usize>() > most + 2;
    for (letters, at_least) in [(NAME, 5), (SHORT_NAME, 4)] {
        if wide(&columns) {
            shorten(&mut columns, letters);
        }
        while columns.len() > at_least + divergence && wide(&columns) {
            columns.pop();
        }
    }
    columns
}

/// Names of at most so many letters.
fn shorten(columns: &mut [Column], letters: usize) {
    for cell in columns.iter_mut().take(1).flat_map(|(_, cells)| cells.iter_mut()) {
        if cell.chars().count() > letters {
            *cell = cell.chars().take(letters - 1).chain(['…']).collect();
        }
    }
}

fn width((heading, cells): &Column) -> usize {
    cells.iter().map(|cell| cell.chars().count()).chain([heading.chars().count()]).max().unwrap_or(0)
}

/// Names to the left, numbers to the right.
fn line<'a>(cells: impl Iterator<Item = &'a str>, widths: &[usize]) -> String {
    let padded = cells
        .zip(widths)
        .enumerate()
        .map(|(index, (cell, width))| if index == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") });
    padded.collect::<String>().trim_end().to_owned()
}

/// Bold green for the best, dim for baselines.
fn painted(line: &str, role: Role, colour: bool) -> String {
    match role {
        Role::Best if colour => format!("\u{1b}[1;32m{line}\u{1b}[0m"),
        Role::NonPrivate | Role::LocalOnly | Role::Constant if colour => format!("\u{1b}[2m{line}\u{1b}[0m"),
        _ => line.to_owned(),
    }
}

/// Words in lines of at most so many letters, unless one word is longer.
fn wrapped(words: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split_whitespace() {
        let last = lines.len() - 1;
        let used = lines[last].chars().count();
        match used {
            0 => lines[last] = word.to_owned(),
            _ if used + 1 + word.chars().count() <= most => lines[last] = format!("{} {word}", lines[last]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
