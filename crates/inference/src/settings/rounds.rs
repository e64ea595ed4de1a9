//! When a method ends, and how much of every change it keeps.

use super::Damping;
use crate::describe::{Conflict, Key, Keys, Otherwise, STRAY, VALUE, ValueKind};
use serde::Serialize;

/// When a method ends.
///
/// With [`Rounds::UntilSpent`] every client goes on until its own ledger refuses the next update. How
/// many updates that takes is known before the run ([`crate::plan`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Rounds {
    /// After so many rounds.
    Count(u64),
    /// When no client's budget covers another update, or after so many rounds.
    UntilSpent {
        /// Most rounds.
        at_most: u64,
    },
}

/// Rounds of a method that goes on until its budget is spent, where the study sets no limit.
const MOST_ROUNDS: u64 = 10_000;

/// `rounds`
pub const ROUNDS_KEY: Key =
    Key::new("rounds", ValueKind::Either(&[ValueKind::AT_LEAST_ONE, ValueKind::Word(&["until-spent"])]), "20")
        .about("how many rounds are made, or until the budget is spent");

/// `at_most`
pub const MOST_ROUNDS_KEY: Key = Key::new("at_most", ValueKind::AT_LEAST_ONE, "500")
    .about("most rounds of a method that goes on until the budget is spent")
    .otherwise(Otherwise::Number(MOST_ROUNDS as f64));

/// `damping`
pub const DAMPING_KEY: Key = Key::new("damping", ValueKind::Fraction, "0.1")
    .about("ρ: how much of every change is kept; 1 keeps it whole")
    .otherwise(Otherwise::Number(1.0));

impl Rounds {
    /// From `rounds` and `at_most`; where both are left out so many, if that is given.
    pub fn read_or(keys: &Keys<'_>, starting: Option<u64>) -> Result<Self, Conflict> {
        match starting {
            Some(rounds) if !keys.has("rounds") && !keys.has("at_most") => Ok(Self::Count(rounds)),
            _ => Self::read(keys),
        }
    }

    /// From `rounds` and `at_most`.
    pub fn read(keys: &Keys<'_>) -> Result<Self, Conflict> {
        if keys.maybe_word("rounds").is_some() {
            return Ok(Self::UntilSpent { at_most: keys.count("at_most")? });
        }
        if keys.has("at_most") {
            let what = "at_most goes with rounds = \"until-spent\"";
            return Err(keys.conflict("at_most", STRAY, what, "leave at_most out"));
        }
        Ok(Self::Count(keys.count("rounds")?))
    }

    /// In words.
    pub fn words(self) -> String {
        match self {
            Self::Count(1) => "1 round".to_owned(),
            Self::Count(rounds) => format!("{rounds} rounds"),
            Self::UntilSpent { at_most } => format!("until the budget is spent, at most {at_most} rounds"),
        }
    }
}

impl Damping {
    /// From `damping`; where it is left out this, if it is given, else the key's default.
    pub fn read(keys: &Keys<'_>, otherwise: Option<f64>) -> Result<Self, Conflict> {
        let rho = match (keys.maybe_number("damping")?, otherwise) {
            (Some(rho), _) | (None, Some(rho)) => rho,
            (None, None) => keys.number("damping")?,
        };
        Self::new(rho).ok_or_else(|| {
            let what = format!("damping is {rho}, expected a number over 0 and at most 1");
            keys.conflict("damping", VALUE, what, "1 keeps every change whole; 0.1 keeps a tenth")
        })
    }

    /// "damping 0.1", without the digits that its grid adds.
    pub fn words(self) -> String {
        format!("damping {}", (self.get() * 1e6).round() / 1e6)
    }
}
