//! What may cross from a site to the outside: only gates make one.
//!
//! At a local gate a message is public, and this type is a released vector on its grid. Under a curator or a secure sum it is a
//! sealed contribution: this module gives no way to read it, and its buffers are wiped when it is dropped.

use crate::noise::NoiseContext;
use crate::{Cohort, Event, Grid, PrivacyError, Released, Shape};
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// An integer vector and the grid it lives on.
///
/// # Examples
///
/// ```
/// use privacy::{Grid, GridVector};
///
/// let vector = GridVector::new(Grid::new(2)?, vec![3, -8]);
/// assert_eq!(vector.values(), [0.75, -2.0]);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridVector {
    grid: Grid,
    units: Vec<i64>,
}

impl GridVector {
    /// A vector as it was sent or received: there is nothing in it that a gate has not let through.
    pub fn new(grid: Grid, units: Vec<i64>) -> Self {
        Self { grid, units }
    }

    /// The grid that the units are counted on: one unit is a public power of two.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Coordinates in grid units, as they travel.
    pub fn units(&self) -> &[i64] {
        &self.units
    }

    /// Coordinates as real numbers: units times a power of two, without rounding for up to 53 bits.
    pub fn values(&self) -> Vec<f64> {
        self.units.iter().map(|&u| self.grid.value(u)).collect()
    }
}

/// 2^62: largest coordinate of a vector that is sent after post-processing.
const MOST_UNITS: f64 = (1_u64 << 62) as f64;

/// A client's answer, ready to travel.
///
/// At a local or open gate it is a released vector. Under a secure sum or a curator it is a contribution that only the
/// sum can use: it cannot be read, printed or serialised here.
///
/// # Examples
///
/// ```
/// use privacy::{Grid, Outgoing, Released};
///
/// let outgoing = Outgoing::post_processed(&Released::zeros(2), Grid::new(10)?)?;
/// assert_eq!(outgoing.released()?.get().units(), [0, 0]);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub struct Outgoing(OutgoingContent);

/// What travels: a released vector, or a contribution that only a sum can open.
enum OutgoingContent {
    Clear(Released<GridVector>),
    Contribution(Contribution),
}

/// One client's part of a sum that is opened as a whole. Its numbers are wiped when it is dropped.
pub(crate) struct Contribution {
    pub(crate) event: Event,
    pub(crate) shape: Shape,
    pub(crate) input: Zeroizing<Vec<i64>>,
    /// The client's noise share; empty where a curator adds the noise.
    pub(crate) noise: Zeroizing<Vec<i64>>,
    /// Run, round and site: a sum takes one contribution of each site, for its own round.
    pub(crate) place: ContributionPlace,
    /// The cohort that the noise share was sized for; none where a curator adds the noise.
    pub(crate) cohort: Option<Cohort>,
}

/// Where a contribution belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContributionPlace {
    run: [u8; 16],
    round: u64,
    site: u64,
}

impl ContributionPlace {
    /// Run, round and site of a noise context.
    pub(crate) fn of(context: &NoiseContext) -> Self {
        Self { run: context.run, round: context.round, site: context.site }
    }

    /// The site that the contribution comes from.
    pub(crate) fn site(&self) -> u64 {
        self.site
    }

    /// True if it is of this round of this run.
    pub(crate) fn is_of(&self, run: &[u8; 16], round: u64) -> bool {
        (&self.run, self.round) == (run, round)
    }

    /// True if both are of one round of one run.
    pub(crate) fn same_round(&self, other: &Self) -> bool {
        (self.run, self.round) == (other.run, other.round)
    }
}

impl Outgoing {
    /// A vector that a gate has noised, or that was computed from released values.
    pub(crate) fn clear(vector: GridVector) -> Self {
        Self(OutgoingContent::Clear(Released::by_gate(vector)))
    }

    /// A contribution to a sum. It stays sealed until the sum is opened.
    pub(crate) fn contribution(contribution: Contribution) -> Self {
        Self(OutgoingContent::Contribution(contribution))
    }

    /// A vector computed from released values, put on a grid for sending (nearest unit; post-processing).
    ///
    /// A coordinate that is not finite, or over 2^62 units, is an error: it would not be what was computed.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Diverged`]. It depends on released values only, so that it may be told to anyone.
    pub fn post_processed(vector: &Released<Vec<f64>>, grid: Grid) -> Result<Self, PrivacyError> {
        let units = vector.get().iter().map(|&x| {
            let units = libm::rint(grid.in_units(x));
            (units.abs() <= MOST_UNITS).then_some(units as i64)
        });
        match units.collect() {
            Some(units) => Ok(Self::clear(GridVector::new(grid, units))),
            None => Err(PrivacyError::Diverged),
        }
    }

    /// The released vector, or an error for a contribution to a sum.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::WrongGate`] for a contribution to a sum: it stays sealed.
    pub fn released(self) -> Result<Released<GridVector>, PrivacyError> {
        match self.0 {
            OutgoingContent::Clear(vector) => Ok(vector),
            OutgoingContent::Contribution(_) => Err(PrivacyError::WrongGate {
                what: "reading a single contribution",
                gate: "summing",
                hint: "add it to the sum, which opens as a whole",
            }),
        }
    }

    /// The contribution, or an error for a vector that was released already: adding it would count it as noiseless.
    pub(crate) fn into_contribution(self) -> Result<Contribution, PrivacyError> {
        match self.0 {
            OutgoingContent::Contribution(contribution) => Ok(contribution),
            OutgoingContent::Clear(_) => Err(PrivacyError::WrongGate {
                what: "adding an answer that was already released to a noised sum",
                gate: "local",
                hint: "add up released vectors as they are",
            }),
        }
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            OutgoingContent::Clear(vector) => write!(f, "Outgoing({vector:?})"),
            OutgoingContent::Contribution(c) => write!(f, "Outgoing(a contribution of {})", c.shape),
        }
    }
}
