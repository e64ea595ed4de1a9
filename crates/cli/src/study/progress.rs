//! How far a run is: one moving line with the time left on a terminal, one plain line for each finished piece elsewhere.

use super::engine::Work;
use indicatif::{ProgressBar, ProgressStyle};
use inference::Observer;
use inference::results::CurvePoint;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts of a piece that the line counts.
const PARTS: u64 = 1000;

/// Shows the progress of all pieces of work together.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    finished: AtomicUsize,
    pieces: usize,
    quiet: bool,
}

/// The progress of one piece.
pub(crate) struct Piece<'a> {
    of: &'a Progress,
    parts: u64,
}

impl Progress {
    /// For so many pieces; silent if a program reads the output.
    pub(crate) fn new(pieces: usize, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(pieces as u64 * PARTS).with_message(of(0, pieces));
            let style = ProgressStyle::with_template("{msg}  {bar:24}  {percent} %  {eta} left  {prefix}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, finished: AtomicUsize::new(0), pieces, quiet }
    }

    /// One more piece begins.
    pub(crate) fn piece(&self) -> Piece<'_> {
        Piece { of: self, parts: 0 }
    }

    /// A piece is done, or was found done.
    pub(crate) fn done(&self, work: &Work<'_>, seed: u64, words: &str) {
        let finished = self.finished.fetch_add(1, Ordering::AcqRel) + 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(of(finished, self.pieces));
                bar.set_prefix(format!("{}, seed {seed}: {words}", work.name()));
            }
            None if self.quiet => {}
            // Standard error may be closed; then there is nobody to tell.
            None => drop(writeln!(std::io::stderr(), "{}, seed {seed}: {words}", work.name())),
        }
    }

    /// Everything is done, or nothing more will be.
    pub(crate) fn end(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    /// What is said where somebody stops a run whose finished pieces are kept.
    pub(crate) fn stopped(&self) -> String {
        let kept = of(self.finished.load(Ordering::Acquire), self.pieces);
        format!("stopped: {kept} of work are done and kept; the same command goes on from there")
    }
}

fn of(finished: usize, pieces: usize) -> String {
    format!("{finished} of {pieces} pieces")
}

impl Observer for Piece<'_> {
    fn round(&mut self, point: &CurvePoint, of: u64, _: f64) {
        let Some(bar) = &self.of.bar else { return };
        let parts = PARTS * point.round.min(of) / of.max(1);
        bar.inc(parts.saturating_sub(self.parts));
        self.parts = self.parts.max(parts);
    }
}

/// What was not counted round by round.
impl Drop for Piece<'_> {
    fn drop(&mut self) {
        self.of.bar.iter().for_each(|bar| bar.inc(PARTS.saturating_sub(self.parts)));
    }
}
