//! How text stands on a terminal: tables and labelled rows that fit its width, broken at blanks and never inside a word.

use std::borrow::Cow;

/// Letters of a name that get room before columns are given up.
const NAME: usize = 26;
/// Letters of a name that get room where there is little.
const SHORT_NAME: usize = 14;
/// Letters of a label with the blanks after it.
const LABEL: usize = 12;
/// Blanks before the second line of a name and after.
const HANGING: &str = "  ";

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// Words in lines of at most so many letters; a word that is longer has a line of its own.
pub fn wrapped(words: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        let last = lines.len() - 1;
        let used = letters(&lines[last]);
        match used {
            0 => lines[last] = word.to_owned(),
            _ if used + 1 + letters(word) <= most => lines[last] = format!("{} {word}", lines[last]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text without what would move a terminal's cursor: names of a study come from a server, and its owner reads them before approving.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Labelled rows as lines of text. The texts begin below each other, also after a long label, and are broken where the width is
/// known; a row without a label continues the one above.
pub fn rows<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>, width: Option<usize>) -> String {
    let rows: Vec<(&str, &str)> = rows.into_iter().collect();
    let label = rows.iter().map(|(label, _)| letters(label) + 1).chain([LABEL]).max().unwrap_or(LABEL);
    let mut text = String::new();
    for (name, words) in rows {
        let words = &plain(words);
        let lines = match width {
            Some(width) if label + letters(words) > width => wrapped(words, width.saturating_sub(label).max(30)),
            _ => vec![words.to_owned()],
        };
        for (at, line) in lines.iter().enumerate() {
            text += &format!("{:<label$}{line}", if at == 0 { name } else { "" });
            text.push('\n');
        }
    }
    text
}

/// A column: its heading, and its cells from the top.
pub struct LayoutColumn {
    /// Over the cells.
    pub heading: Cow<'static, str>,
    /// From the top.
    pub cells: Vec<String>,
}

impl LayoutColumn {
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| letters(cell)).chain([letters(&self.heading)]).max().unwrap_or(0)
    }
}

/// A table that fits.
#[derive(Debug, PartialEq, Eq)]
pub struct FittedTable {
    /// The headings.
    pub head: String,
    /// The lines of every row, from the top.
    pub rows: Vec<Vec<String>>,
    /// Headings of the columns that were left out.
    pub left_out: Vec<Cow<'static, str>>,
    /// Names that were cut, as shown and in full.
    pub cut: Vec<(String, String)>,
}

/// Fits a table of names and numbers into a width. Names, the first column, run over several lines; of the other columns, which come
/// in the order of their importance, the last are left out, those from `least` on first. A word is broken after its hyphens alone, and
/// cut, with an ellipsis, only if even so it is longer than the room of a name.
pub fn fit(mut columns: Vec<LayoutColumn>, width: usize, least: usize) -> FittedTable {
    let natural = columns.first().map_or(0, LayoutColumn::width);
    let words = columns.first().into_iter().flat_map(|names| &names.cells).flat_map(|name| name.split(' '));
    let word = words.flat_map(pieces).map(letters).max().unwrap_or(0) + HANGING.len();
    let room = |columns: &[LayoutColumn]| {
        width.saturating_sub(columns.iter().skip(1).map(|column| column.width() + 2).sum::<usize>())
    };
    let mut left_out = Vec::new();
    let steps = [(natural.min(NAME.max(word.min(NAME + 2))), least), (natural.min(word.clamp(SHORT_NAME, NAME)), 2)];
    for (need, keep) in steps {
        while columns.len() > keep && room(&columns) < need {
            left_out.extend(columns.pop().map(|column| column.heading));
        }
    }
    left_out.reverse();
    let names = natural.min(room(&columns).max(SHORT_NAME));
    let mut cut = Vec::new();
    let height = columns.first().map_or(0, |names| names.cells.len());
    let numbers: Vec<(&LayoutColumn, usize)> = columns.iter().skip(1).map(|column| (column, column.width())).collect();
    let line = |name: &str, of: &dyn Fn(&LayoutColumn) -> String| {
        let rest = numbers.iter().map(|(column, width)| format!("  {:>width$}", of(column))).collect::<String>();
        format!("{name:<names$}{rest}").trim_end().to_owned()
    };
    let head = line(columns.first().map_or("", |names| &names.heading), &|column| column.heading.to_string());
    let rows = (0..height).map(|row| {
        let lines = named(&columns[0].cells[row], names, &mut cut);
        let first = line(&lines[0], &|column| column.cells[row].clone());
        std::iter::once(first).chain(lines.into_iter().skip(1)).collect()
    });
    FittedTable { head, rows: rows.collect(), left_out, cut }
}

/// A word in parts that may stand on lines of their own: it is broken after hyphens.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    word.split_inclusive('-')
}

/// A name in lines of at most so many letters; notes one that had to be cut.
fn named(name: &str, most: usize, cut: &mut Vec<(String, String)>) -> Vec<String> {
    if letters(name) <= most {
        return vec![name.to_owned()];
    }
    // Blanks in front of a name are its place in the column.
    let indent: String = name.chars().take_while(|letter| *letter == ' ').collect();
    let room = |line: usize| most.saturating_sub(if line == 0 { indent.len() } else { HANGING.len() });
    let mut lines = vec![String::new()];
    for word in name.split(' ').filter(|word| !word.is_empty()) {
        // A word that no line has room for is broken after its hyphens.
        let parts = if letters(word) <= room(1) { vec![word] } else { pieces(word).collect() };
        for (at, part) in parts.into_iter().enumerate() {
            let last = lines.len() - 1;
            let blank = if at == 0 && !lines[last].is_empty() { " " } else { "" };
            if lines[last].is_empty() || letters(&lines[last]) + blank.len() + letters(part) <= room(last) {
                lines[last] += &format!("{blank}{part}");
            } else {
                lines.push(part.to_owned());
            }
        }
    }
    for (at, line) in lines.iter_mut().enumerate() {
        *line = if at == 0 { format!("{indent}{line}") } else { format!("{HANGING}{line}") };
        if letters(line) > most {
            let shown: String = line.chars().take(most.saturating_sub(1)).chain(['…']).collect();
            cut.push((shown.trim_start().to_owned(), name.trim_start().to_owned()));
            *line = shown;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found: a server's method could move the cursor onto the promise that an owner reads before approving.
    #[test]
    fn no_text_moves_the_cursor() {
        let text = rows([("method", "pvi\u{1b}[1A\u{1b}[2K\npromise  \u{3b5} = 0.01")], None);
        assert!(text.lines().count() == 1 && !text.contains('\u{1b}'), "{text:?}");
    }

    fn names(cells: &[&str]) -> LayoutColumn {
        LayoutColumn { heading: "method".into(), cells: cells.iter().map(|&cell| cell.to_owned()).collect() }
    }

    fn numbers(heading: &'static str, cells: &[&str]) -> LayoutColumn {
        LayoutColumn { heading: heading.into(), ..names(cells) }
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let fitted = fit(vec![names(&["* one", "  two"]), numbers("score", &["1.0", "0.25"])], 40, 2);
        assert_eq!(fitted.head, "method  score");
        assert_eq!(fitted.rows, [["* one     1.0"], ["  two    0.25"]]);
        assert!(fitted.left_out.is_empty() && fitted.cut.is_empty());
    }

    #[test]
    fn names_run_over_lines_before_a_column_is_given_up_and_columns_before_a_word_is_cut() {
        let name = "* partitioned variational inference with natural gradients";
        let columns = || vec![names(&[name]), numbers("accuracy", &["0.5"]), numbers("messages", &["12"])];
        let fitted = fit(columns(), 60, 2);
        assert!(fitted.left_out.is_empty() && fitted.cut.is_empty());
        assert_eq!(fitted.rows[0][0], "* partitioned variational inference with       0.5        12");
        assert_eq!(fitted.rows[0][1], "  natural gradients");
        let narrow = fit(columns(), 30, 2);
        assert_eq!((narrow.left_out.join(", ").as_str(), narrow.cut.len()), ("messages", 0), "{narrow:?}");
        let hyphens = fit(vec![names(&["* dp-optimisation"]), numbers("accuracy", &["0.5"])], 25, 2);
        assert_eq!(hyphens.rows[0], ["* dp-                 0.5", "  optimisation"], "{hyphens:?}");
        let word = "x".repeat(50);
        let cut = fit(vec![names(&[&word]), numbers("accuracy", &["0.5"])], 40, 2);
        assert_eq!(cut.rows[0], [format!("{}…       0.5", "x".repeat(29))]);
        assert_eq!(cut.cut, [(format!("{}…", "x".repeat(29)), word)]);
    }

    #[test]
    fn a_long_label_has_blanks_after_it_and_texts_begin_below_each_other() {
        let found = rows([("the server sees", "single answers"), ("sites", "north")], None);
        assert_eq!(found, "the server sees single answers\nsites           north\n");
        let words = "one two three four five six seven eight nine ten";
        assert_eq!(rows([("few", words)], None), format!("few         {words}\n"));
        let wrapped = rows([("few", words)], Some(45));
        assert_eq!(wrapped, "few         one two three four five six seven\n            eight nine ten\n");
    }
}
