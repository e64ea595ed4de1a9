//! What neighbouring means, who is protected, how a batch was drawn, and the sensitivity that follows.
//!
//! These five types decide what a stated ε means. They are chosen once, by name, travel inside the event, and are printed
//! beside every number. The function at the end turns them into a sensitivity; it is a `match` over all combinations, and a
//! combination without a theorem is an error, never a default.

use crate::{PrivacyError, SamplingRate};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which data sets are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// One unit more or one unit less. The number of units is private.
    AddRemove,
    /// One unit replaced by any other. The number of units is public.
    Substitute,
}

/// Who is protected by a stated ε.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// One row; persons with several rows are not protected as a whole.
    Example,
    /// All rows of one client.
    Client,
    /// All rows of one person, however many. The number of persons is public under substitution, that of rows is not.
    Person,
}

/// How the batch of a step was drawn.
///
/// # Examples
///
/// The same rate can mean two laws, and they cost differently:
///
/// ```
/// use privacy::{Sampling, SamplingRate};
///
/// let poisson = Sampling::Poisson { rate: SamplingRate::new(0.01)? };
/// let fixed = Sampling::without_replacement(10, 1000)?;
/// assert_eq!((poisson.rate(), fixed.rate()), (0.01, 0.01));
/// assert!(Sampling::without_replacement(11, 10).is_err());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "SamplingAsStored")]
pub enum Sampling {
    /// Every row takes part.
    None,
    /// Each row independently with probability `rate`; each person with all its rows, where persons are the unit.
    Poisson {
        /// q: the probability that a given row, or person, is in the batch.
        rate: SamplingRate,
    },
    /// A uniform subset of fixed size.
    WithoutReplacement {
        /// Rows in a batch, or persons where these are the unit.
        batch: u64,
        /// Rows or persons in all: a public constant.
        of: u64,
    },
}

/// `Sampling` as it may stand in a file, before it is checked.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SamplingAsStored {
    None,
    Poisson { rate: SamplingRate },
    WithoutReplacement { batch: u64, of: u64 },
}

impl TryFrom<SamplingAsStored> for Sampling {
    type Error = PrivacyError;
    fn try_from(typed: SamplingAsStored) -> Result<Self, PrivacyError> {
        match typed {
            SamplingAsStored::None => Ok(Self::None),
            SamplingAsStored::Poisson { rate } => Ok(Self::Poisson { rate }),
            SamplingAsStored::WithoutReplacement { batch, of } => Self::without_replacement(batch, of),
        }
    }
}

impl Sampling {
    /// A batch of `batch` rows out of `of`, every subset equally likely.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] if the batch is empty or larger than the rows it is drawn from.
    pub fn without_replacement(batch: u64, of: u64) -> Result<Self, PrivacyError> {
        if batch == 0 || batch > of || of > 1 << 53 {
            return Err(PrivacyError::Parameter {
                name: "batch",
                found: format!("{batch} of {of}"),
                expected: "at least one row and at most all of them",
            });
        }
        Ok(Self::WithoutReplacement { batch, of })
    }

    /// The smallest batch and total whose quotient is exactly this rate, by continued fractions.
    pub fn without_replacement_at(rate: SamplingRate) -> Result<Self, PrivacyError> {
        // The rate as the quotient of integers that it is, expanded exactly.
        let (fraction, exponent) = libm::frexp(rate.get());
        let (mut top, mut bottom) =
            (libm::scalbn(fraction, 53) as u128, 1_u128 << 53_i32.saturating_sub(exponent).min(120));
        let (mut before, mut now) = ((0_u128, 1_u128), (1_u128, 0_u128));
        while bottom > 0 && now.1 <= 1 << 53 {
            let whole = top / bottom;
            (top, bottom) = (bottom, top % bottom);
            (before, now) = (now, (whole * now.0 + before.0, whole * now.1 + before.1));
            if now.1 > 0 && now.1 <= 1 << 53 && now.0 as f64 / now.1 as f64 == rate.get() {
                return Self::without_replacement(now.0 as u64, now.1 as u64);
            }
        }
        Err(PrivacyError::Parameter {
            name: "sampling rate",
            found: rate.to_string(),
            expected: "batch / rows, with at most 2^53 rows",
        })
    }

    /// q: the probability that a given row is in the batch. One where every row takes part.
    pub fn rate(&self) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Poisson { rate } => rate.get(),
            Self::WithoutReplacement { batch, of } => *batch as f64 / *of as f64,
        }
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddRemove => "add-remove",
            Self::Substitute => "substitute",
        })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Example => "example",
            Self::Client => "client",
            Self::Person => "person",
        })
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no sampling"),
            Self::Poisson { rate } => write!(f, "Poisson batches at rate {rate}"),
            Self::WithoutReplacement { .. } => write!(f, "batches without replacement at rate {}", self.rate()),
        }
    }
}

/// What one clipped vector of a sum was computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grain {
    /// From one example: the sum has one vector per example.
    Example,
    /// From all rows of a client: the sum is one vector.
    Whole,
    /// From one of `count` parts of a client's rows, assigned by a keyed function of the row's slot or id.
    Part {
        /// K, the number of parts: a public constant that does not depend on the rows.
        count: u64,
    },
    /// From all rows of one person, summed before they are clipped: the sum has one vector per person.
    Person,
}

impl Grain {
    /// The grain of a sum with one clipped vector per unit, where the method itself speaks of examples: rows are summed by
    /// person where persons are protected. Whole changes and parts stay what they are.
    pub fn for_unit(self, unit: Unit) -> Self {
        match (self, unit) {
            (Self::Example, Unit::Person) => Self::Person,
            _ => self,
        }
    }

    /// True if the sum has one clipped vector for each drawn unit, so that sampling amplifies.
    pub fn is_by_unit(self) -> bool {
        matches!(self, Self::Example | Self::Person)
    }
}

/// Where noise enters, hence whose messages the adversary sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// At the client: every message is seen.
    Local,
    /// At a curator or under a secure sum: only the noised total is seen.
    Aggregate,
}

/// How far one unit can move a sum of vectors clipped to C, as a multiple of C.
///
/// | clipped | unit | add-remove | substitute |
/// |---|---|---|---|
/// | each example | example | C | 2C |
/// | each person's sum | person | C | 2C |
/// | whole change, or one of K parts | example or person | 2C | 2C |
/// | whole change | client | C, under a curator or secure sum only | 2C |
///
/// An example or a person inside a whole change can move that change anywhere within its ball of radius C, hence by 2C.
/// A client that joins or leaves is visible at a local gate (its message is missing), so add-remove of a client
/// has a meaning only where the total alone is seen: its change becomes 0, and it still answers. See `docs/maths/sensitivity.md` and, for
/// persons, `docs/maths/persons.md`.
///
/// # Examples
///
/// ```
/// use privacy::{Adjacency, Grain, Trust, Unit, sensitivity_factor};
///
/// let row = |adjacency| sensitivity_factor(Grain::Example, Unit::Example, adjacency, Trust::Local);
/// assert_eq!(row(Adjacency::AddRemove)?, 1);
/// assert_eq!(row(Adjacency::Substitute)?, 2);
///
/// // Clipping each example of a client does not bound the client.
/// assert!(sensitivity_factor(Grain::Example, Unit::Client, Adjacency::Substitute, Trust::Local).is_err());
/// // Nor does it bound a person, who may have any number of rows.
/// assert!(sensitivity_factor(Grain::Example, Unit::Person, Adjacency::Substitute, Trust::Local).is_err());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
///
/// # Errors
///
/// [`PrivacyError::NoTheorem`] where clipping does not bound the unit, or where a missing message would be visible.
pub fn sensitivity_factor(grain: Grain, unit: Unit, adjacency: Adjacency, trust: Trust) -> Result<u64, PrivacyError> {
    use {Adjacency::*, Trust::*};
    match (grain, unit, adjacency, trust) {
        (Grain::Example, Unit::Example, AddRemove, _) => Ok(1),
        (Grain::Example, Unit::Example, Substitute, _) => Ok(2),
        (Grain::Person, Unit::Person, AddRemove, _) => Ok(1),
        (Grain::Person, Unit::Person, Substitute, _) => Ok(2),
        (Grain::Whole | Grain::Part { .. }, Unit::Example | Unit::Person, _, _) => Ok(2),
        (Grain::Whole, Unit::Client, Substitute, _) => Ok(2),
        (Grain::Whole, Unit::Client, AddRemove, Aggregate) => Ok(1),
        (Grain::Whole, Unit::Client, AddRemove, Local) => Err(PrivacyError::NoTheorem {
            what: "a client that joins or leaves at a local gate".into(),
            why: "a missing message is visible whatever noise the others carry",
            hint: "use substitution, or a curator or secure sum",
        }),
        (Grain::Example, Unit::Person, _, _) => Err(PrivacyError::NoTheorem {
            what: "a person as the unit of a sum that clips examples".into(),
            why: "a person may have several rows, and clipping each of them does not bound their sum",
            hint: "sum the rows of each person and clip the sums",
        }),
        (Grain::Person, Unit::Example, _, _) => Err(PrivacyError::NoTheorem {
            what: "an example as the unit of a sum that clips persons".into(),
            why: "rows come and go inside a person's vector, which no accountant of batches of rows covers",
            hint: "account for persons, or clip each example",
        }),
        (Grain::Example | Grain::Part { .. } | Grain::Person, Unit::Client, _, _) => Err(PrivacyError::NoTheorem {
            what: "a client as the unit of a sum that clips examples, persons or parts".into(),
            why: "clipping each of a client's vectors does not bound their sum",
            hint: "clip the whole change of a client",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensitivity_is_the_table() {
        use {Adjacency::*, Trust::*};
        let part = Grain::Part { count: 7 };
        let of = |g, u, a, t| sensitivity_factor(g, u, a, t).ok();
        for trust in [Local, Aggregate] {
            assert_eq!(of(Grain::Example, Unit::Example, AddRemove, trust), Some(1));
            assert_eq!(of(Grain::Example, Unit::Example, Substitute, trust), Some(2));
            for adjacency in [AddRemove, Substitute] {
                assert_eq!(of(Grain::Whole, Unit::Example, adjacency, trust), Some(2));
                assert_eq!(of(part, Unit::Example, adjacency, trust), Some(2));
                assert_eq!(of(Grain::Example, Unit::Client, adjacency, trust), None);
                assert_eq!(of(part, Unit::Client, adjacency, trust), None);
                assert_eq!(of(Grain::Whole, Unit::Person, adjacency, trust), Some(2));
                assert_eq!(of(part, Unit::Person, adjacency, trust), Some(2));
                assert_eq!(of(Grain::Example, Unit::Person, adjacency, trust), None);
                assert_eq!(of(Grain::Person, Unit::Example, adjacency, trust), None);
                assert_eq!(of(Grain::Person, Unit::Client, adjacency, trust), None);
            }
            assert_eq!(of(Grain::Person, Unit::Person, AddRemove, trust), Some(1));
            assert_eq!(of(Grain::Person, Unit::Person, Substitute, trust), Some(2));
            assert_eq!(of(Grain::Whole, Unit::Client, Substitute, trust), Some(2));
        }
        assert_eq!(of(Grain::Whole, Unit::Client, AddRemove, Local), None);
        assert_eq!(of(Grain::Whole, Unit::Client, AddRemove, Aggregate), Some(1));
    }

    #[test]
    fn a_rate_becomes_the_simplest_fraction_that_equals_it() {
        for (rate, batch, of) in [(0.02, 1, 50), (0.25, 1, 4), (1.0, 1, 1), (0.3, 3, 10), (1e-5, 1, 100_000)] {
            let sampling = Sampling::without_replacement_at(SamplingRate::new(rate).unwrap()).unwrap();
            assert_eq!(sampling, Sampling::WithoutReplacement { batch, of });
            assert_eq!(sampling.rate(), rate);
        }
        // Found by review: in floating point the expansion lost this one.
        for rate in [0.031_234_567_890_1, 1e-9, 0.1 + 0.2, 1.0 - f64::EPSILON] {
            let sampling = Sampling::without_replacement_at(SamplingRate::new(rate).unwrap()).unwrap();
            assert_eq!(sampling.rate(), rate);
        }
        assert!(Sampling::without_replacement(5, 4).is_err());
        assert!(Sampling::without_replacement(0, 4).is_err());
    }

    #[test]
    fn sampling_from_a_file_is_checked() {
        assert!(serde_json::from_str::<Sampling>(r#"{"without-replacement":{"batch":9,"of":3}}"#).is_err());
        assert!(serde_json::from_str::<Sampling>(r#"{"poisson":{"rate":2}}"#).is_err());
        assert!(serde_json::from_str::<Sampling>(r#"{"poisson":{"rate":0.5}}"#).is_ok());
    }
}
