//! How far a run is: one moving line with the time left on a terminal, one plain line for each finished piece elsewhere.

use crate::interrupt;
use indicatif::{ProgressBar, ProgressStyle};
use inference::results::CurvePoint;
use inference::score::MAIN;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use study::{Piece, RunObserver};

/// Parts of a piece that the line counts.
const PARTS: u64 = 1000;

/// Shows the progress of all pieces of work together, and passes on that somebody wants the run to stop.
pub(crate) struct ProgressBars {
    /// A program reads the output: nothing is shown.
    quiet: bool,
    /// Finished pieces are kept: Ctrl-C is a request to stop, and the same command goes on.
    keeps: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bar: Option<ProgressBar>,
    finished: usize,
    pieces: usize,
    /// Parts that were counted of each piece that is not finished.
    parts: BTreeMap<(String, u64), u64>,
}

impl ProgressBars {
    /// Of a run whose finished pieces are kept.
    pub(crate) fn kept(quiet: bool) -> Self {
        Self { quiet, keeps: true, state: Mutex::default() }
    }

    /// Of a run that begins anew each time.
    pub(crate) fn anew(quiet: bool) -> Self {
        Self { quiet, keeps: false, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said where somebody stops a run whose finished pieces are kept.
    pub(crate) fn stopped(&self) -> String {
        self.state().stopped()
    }

    /// What Ctrl-C says, where it is a request.
    fn listen(&self, state: &State) {
        if self.keeps {
            interrupt::during(Some(state.stopped()));
        }
    }
}

impl State {
    fn stopped(&self) -> String {
        let kept = of(self.finished, self.pieces);
        format!("stopped: {kept} of work are done and kept; the same command goes on from there")
    }
}

fn of(finished: usize, pieces: usize) -> String {
    format!("{finished} of {pieces} pieces")
}

impl RunObserver for ProgressBars {
    fn begins(&self, pieces: usize) {
        let mut state = self.state();
        let bar = (!self.quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(pieces as u64 * PARTS).with_message(of(0, pieces));
            let style = ProgressStyle::with_template("{msg}  {bar:24}  {percent} %  {eta} left  {prefix}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        *state = State { bar, pieces, ..State::default() };
        self.listen(&state);
    }

    fn round(&self, piece: Piece<'_>, point: &CurvePoint, of: u64) {
        let mut state = self.state();
        let Some(bar) = state.bar.clone() else { return };
        let parts = PARTS * point.round.min(of) / of.max(1);
        let counted = state.parts.entry((piece.name.to_owned(), piece.seed)).or_default();
        bar.inc(parts.saturating_sub(*counted));
        *counted = parts.max(*counted);
    }

    fn finished(&self, piece: Piece<'_>, score: Option<f64>, kept: bool) {
        let Piece { name, seed } = piece;
        let mut state = self.state();
        state.finished += 1;
        let done = if kept { "kept from before" } else { "done" };
        let score = score.map_or_else(String::new, |score| format!(", {} {score:.4}", MAIN.label));
        let words = format!("{name}, seed {seed}: {done}{score}");
        let counted = state.parts.remove(&(name.to_owned(), seed)).unwrap_or(0);
        match &state.bar {
            Some(bar) => {
                bar.inc(PARTS.saturating_sub(counted));
                bar.set_message(of(state.finished, state.pieces));
                bar.set_prefix(words);
            }
            None if self.quiet => {}
            // Standard error may be closed; then there is nobody to tell.
            None => drop(writeln!(std::io::stderr(), "{words}")),
        }
        self.listen(&state);
    }

    fn ends(&self) {
        self.state().bar.iter().for_each(ProgressBar::finish_and_clear);
        if self.keeps {
            interrupt::during(None);
        }
    }

    fn stops(&self) -> bool {
        self.keeps && interrupt::asked()
    }
}
