//! What one answer of a client releases: planned, charged, checked and described from this one value.
//!
//! A solver or an algorithm states its [`Releases`] before a run. The planner makes events and shapes
//! of them, the builder makes terms, a site checks its terms against them before it charges its
//! ledger, and `plan` prints them. A method states them once, in its own file.

use crate::settings::Batching;
use crate::{ClientView, Stage};
use privacy::{Adjacency, Grain, NormBound, PrivacyError, Unit};
use serde::Serialize;

/// The sums of one answer.
///
/// Gates do not read this: they take grain, bound and unit from [`privacy::Bounded`] and refuse sums that differ from what was
/// agreed. A description that lies makes a method that cannot answer.
///
/// # Examples
/// ```
/// use inference::release::{Clipped, Release};
/// use privacy::Grain;
/// let change = Release::of_all_rows(Grain::Whole, 10, Clipped::Change);
/// assert_eq!(change.sums, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Release {
    /// What one clipped vector is computed from.
    pub grain: Grain,
    /// How many sums one answer releases.
    pub sums: u64,
    /// The length of each.
    pub numbers: Numbers,
    /// How the rows of a sum are drawn.
    pub batch: Batching,
    /// What the clipped vectors are.
    pub clipped: Clipped,
    /// What they are clipped to.
    pub bound: Bound,
}

/// The length of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Numbers {
    /// The same for all clients.
    Fixed(usize),
    /// So many for each row of a client, or person where these are the unit.
    PerRow(usize),
}

impl Numbers {
    /// The length for a client of so many rows.
    pub fn of(self, rows: u64) -> usize {
        match self {
            Self::Fixed(numbers) => numbers,
            Self::PerRow(numbers) => numbers.saturating_mul(usize::try_from(rows).unwrap_or(usize::MAX)),
        }
    }
}

/// What a clipped vector is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Clipped {
    /// The gradient of a row's log-likelihood.
    Gradients,
    /// The change of a factor.
    Change,
    /// Sufficient statistics of a row.
    Statistics,
    /// The log-ratio of a row's likelihood at two places.
    Ratios,
}

impl Clipped {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Gradients => "gradients",
            Self::Change => "changes",
            Self::Statistics => "sufficient statistics",
            Self::Ratios => "log-ratios",
        }
    }
}

/// What a vector is clipped to: C, in the notation of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Bound {
    /// The clip that the promise states.
    Clip,
    /// This bound.
    Fixed(NormBound),
    /// One, in units that the method chooses.
    Unit,
}

/// All that a client releases, in order.
///
/// Most methods have [`Releases::main`] alone. Every stage is charged as an event of its own: a hybrid solver
/// opens with analytic updates, a rule of sufficient statistics with a round for standard deviations,
/// a Hamiltonian chain alternates gradients and tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Releases {
    /// Its first answers, where these are of other kinds, kind by kind in their order.
    pub openings: Vec<OpeningRelease>,
    /// The others.
    pub main: Release,
    /// Whether answers of the two kinds alternate, instead of the one after the other.
    pub alternates: bool,
    /// Whether the first release answers all later questions, which then cost nothing.
    pub reused: bool,
    /// Whether the noise makes up for the spread of the batch (Barker's test).
    pub completes: bool,
}

/// Answers of one kind before the main ones, with the part of the budget that they may cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OpeningRelease {
    /// How many answers.
    pub answers: u64,
    /// What they may cost.
    pub share: BudgetShare,
    /// What each releases.
    pub release: Release,
}

/// What of the budget an opening may cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum BudgetShare {
    /// Of ε and δ, by itself: by simple composition the rest is left for what follows. The whole is then costed together.
    OfBudget(f64),
    /// Of μ² (Gaussian differential privacy): n releases with noise z·√(n/f) and m with z·√(m/(1 − f)) cost what one at z does.
    OfMu(f64),
}

impl Release {
    /// One sum over all rows, clipped to the promise's bound.
    pub fn of_all_rows(grain: Grain, numbers: usize, clipped: Clipped) -> Self {
        Self { grain, sums: 1, numbers: Numbers::Fixed(numbers), batch: Batching::All, clipped, bound: Bound::Clip }
    }

    /// Refuses terms that were agreed for other sums, by public numbers alone; and, where parts of rows are summed and rows may
    /// come and go, rows without record ids; where persons are the unit, rows that do not say whose they are.
    ///
    /// # Errors
    /// [`PrivacyError::Shape`] for sums of another length, grain or number, and
    /// [`PrivacyError::NoTheorem`] for parts under add-remove without record ids.
    pub fn check(&self, seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        let (shape, covered) = (&seat.terms.shape, seat.terms.event.steps().get());
        let unit = seat.terms.event.unit();
        let expected = self.numbers.of(seat.shard.count(unit)? as u64);
        if shape.dimension() != expected {
            return Err(PrivacyError::Shape {
                found: format!("agreed sums of {} numbers", shape.dimension()),
                expected: format!("{expected}, as many as the method releases"),
            });
        }
        let grain = self.grain.for_unit(unit);
        if shape.grain() != grain || covered < self.sums {
            return Err(PrivacyError::Shape {
                found: format!("{} in {covered} agreed releases", in_words(shape.grain())),
                expected: format!("{} in {}", in_words(grain), self.sums),
            });
        }
        match (self.grain, unit, seat.terms.event.adjacency()) {
            (_, Unit::Person, _) => seat.shard.keys().known_persons().map(|_| ()),
            (Grain::Part { .. }, _, Adjacency::AddRemove) => seat.shard.keys().records().map(|_| ()),
            _ => Ok(()),
        }
    }
}

impl From<Release> for Releases {
    fn from(main: Release) -> Self {
        Self { openings: Vec::new(), main, alternates: false, reused: false, completes: false }
    }
}

impl Releases {
    /// Refuses terms that were agreed for other sums than those of their stage.
    pub fn check(&self, seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        self.at(seat.terms.stage).check(seat)
    }

    /// What the answers of a stage release; those after all openings, where there is no such opening.
    pub fn at(&self, stage: Stage) -> &Release {
        match stage {
            Stage::Opening(k) => self.openings.get(usize::from(k)).map_or(&self.main, |opening| &opening.release),
            Stage::Main => &self.main,
        }
    }

    /// What every stage releases, in order.
    pub fn all(&self) -> impl Iterator<Item = &Release> {
        self.openings.iter().map(|opening| &opening.release).chain([&self.main])
    }

    /// Answers before the main ones.
    pub fn opened(&self) -> u64 {
        self.openings.iter().fold(0, |sum, opening| sum.saturating_add(opening.answers))
    }

    /// The length of the longest sum of a client with so many rows.
    pub fn most_numbers(&self, rows: u64) -> usize {
        self.all().map(|release| release.numbers.of(rows)).max().unwrap_or(0)
    }
}

/// The grain of a sum, for refusals.
fn in_words(grain: Grain) -> String {
    match grain {
        Grain::Example => "clipped examples".into(),
        Grain::Whole => "one whole change".into(),
        Grain::Part { count } => format!("changes of {count} parts"),
        Grain::Person => "clipped persons".into(),
    }
}
