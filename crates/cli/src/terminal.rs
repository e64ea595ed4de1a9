//! What is known of the terminal, and of the folders of this user: the environment is read here.

use report::Terminal;
use report::layout;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use study::Folders;

/// Letters in a line of standard output: COLUMNS, or the width of the terminal. None where the output is no terminal and nobody
/// has said how wide it is to be.
pub(crate) fn width() -> Option<usize> {
    let typed = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    typed.filter(|columns| *columns > 0).or_else(|| {
        let is_terminal = std::io::stdout().is_terminal();
        is_terminal.then(terminal_size::terminal_size).flatten().map(|(width, _)| usize::from(width.0))
    })
}

/// The terminal of standard output: as wide as it is, or 100 letters where that is not known; coloured if it is a terminal
/// and NO_COLOR is not set.
pub(crate) fn found() -> Terminal {
    let plain = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
    Terminal { width: width().unwrap_or(100), colour: !plain && std::io::stdout().is_terminal() }
}

/// Rows of a label and its text, as lines that fit the terminal.
pub(crate) fn rows(rows: &[study::words::LabelledRow]) -> String {
    layout::rows(rows.iter().map(|(label, text)| (label.as_str(), text.as_str())), width())
}

/// Where the files of a study are: its own folder, and the one of fetched data sets.
pub(crate) fn folders(study: &Path) -> Folders {
    Folders::of(study, data_directory())
}

/// `$POSTERITY_DATA`, or `~/.local/share/posterity`.
fn data_directory() -> Option<PathBuf> {
    let named = std::env::var_os("POSTERITY_DATA").filter(|path| !path.is_empty()).map(PathBuf::from);
    named.or_else(|| std::env::home_dir().map(|home| home.join(".local").join("share").join("posterity")))
}
