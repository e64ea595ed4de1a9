//! How somebody watches a run, and stops it.

use crate::engine::Work;
use inference::Observer;
use inference::results::CurvePoint;

/// A method or a baseline with one seed: what a run does as a whole, and keeps when it is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The method or the baseline.
    pub name: &'a str,
    /// The seed.
    pub seed: u64,
}

impl<'a> Piece<'a> {
    /// The piece of some work with a seed.
    pub(crate) fn of(work: &'a Work<'_>, seed: u64) -> Self {
        Self { name: work.name(), seed }
    }
}

/// Watches a run, and may stop it. Pieces run side by side, so that calls come from several threads.
///
/// All methods have defaults: `()` watches nothing and lets every run go on.
pub trait RunObserver: Sync {
    /// A run of so many pieces begins.
    fn begins(&self, _pieces: usize) {}

    /// A round of a piece is over: the point that it reached, among at most `of` rounds. Of long runs not every round is told.
    fn round(&self, _piece: Piece<'_>, _point: &CurvePoint, _of: u64) {}

    /// A piece is finished, with this value of the main score ([`inference::score::MAIN`]); none where only draws were made. `kept` if an earlier run
    /// had finished it.
    fn finished(&self, _piece: Piece<'_>, _score: Option<f64>, _kept: bool) {}

    /// Nothing more comes: the run is over, failed, or was stopped.
    fn ends(&self) {}

    /// Whether the run is to stop. Asked before each piece and each round; the run then ends with
    /// [`StudyError::Stopped`](crate::StudyError::Stopped), and what was finished is kept.
    fn stops(&self) -> bool {
        false
    }
}

impl RunObserver for () {}

/// Tells an observer of a run about one of its pieces.
pub(crate) struct Watched<'a> {
    pub(crate) piece: Piece<'a>,
    pub(crate) observer: &'a dyn RunObserver,
}

impl Observer for Watched<'_> {
    fn round(&mut self, point: &CurvePoint, of: u64, _: f64) {
        self.observer.round(self.piece, point, of);
    }

    fn stops(&mut self) -> bool {
        self.observer.stops()
    }
}
