//! How far a run is: a moving line on a terminal, one plain line for each finished piece elsewhere. No colours.

use indicatif::{ProgressBar, ProgressStyle};
use inference::Observer;
use inference::results::CurvePoint;
use std::io::{IsTerminal, Write};

/// Shows the progress of one piece of work.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    /// Said at the end, where there is no terminal.
    line: String,
    quiet: bool,
}

impl Progress {
    /// For a method and seed; silent if a program reads the output.
    pub(crate) fn new(method: &str, seed: u64, quiet: bool) -> Self {
        let line = format!("{method}, seed {seed}");
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(0).with_prefix(line.clone());
            let style = ProgressStyle::with_template("{prefix}  {bar:24}  round {pos}/{len}  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, line, quiet }
    }

    /// The piece is done, or was found done.
    pub(crate) fn done(self, words: &str) {
        match self.bar {
            Some(bar) => bar.finish_and_clear(),
            None if self.quiet => {}
            // Standard error may be closed; then there is nobody to tell.
            None => drop(writeln!(std::io::stderr(), "{}: {words}", self.line)),
        }
    }
}

impl Observer for Progress {
    fn round(&mut self, point: &CurvePoint, of: u64, budget_left: f64) {
        let Some(bar) = &self.bar else { return };
        bar.set_length(of);
        bar.set_position(point.round);
        bar.set_message(match point.epsilon {
            Some(epsilon) => format!("ε {epsilon:.3}, {:.0} % left", 100.0 * budget_left),
            None => "no privacy".to_owned(),
        });
    }
}
