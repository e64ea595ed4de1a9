//! What the intervals of a posterior are worth: whether they count the noise that was added for privacy, and what was measured of them.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Least share of the true coefficients, in percent, that intervals of nominal 90 % must have held in every measured cell if
/// they are to be shown as intervals.
///
/// Non-private posteriors held 84 % or more in cells of the same size; a method that is four points below them is worth showing with
/// its number, and one that is far below is not.
pub const LEAST_HELD: u8 = 80;

/// How often intervals of nominal 90 % held the true coefficients of simulated rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredCoverage {
    /// In the worst cell, in percent.
    pub least: u8,
    /// In the cell that held most, in percent.
    pub most: u8,
    /// Of what: "the coefficients of made-up rows (20 replicates of twelve cells)".
    pub of: &'static str,
}

impl MeasuredCoverage {
    /// "90 % intervals held 86 to 94 % of the coefficients of made-up rows"
    fn words(&self) -> String {
        format!("90 % intervals held {} to {} % of {}", self.least, self.most, self.of)
    }
}

/// What a method says of the intervals of its posterior. Every algorithm states it; nothing assumes it, and everything that shows or
/// writes an interval asks [`are_shown`](Self::are_shown).
///
/// ```
/// use inference::{Intervals, MeasuredCoverage};
/// let of = "the coefficients of made-up rows";
/// assert!(Intervals::count_noise(&MeasuredCoverage { least: 88, most: 94, of }).are_shown());
/// assert!(!Intervals::count_noise(&MeasuredCoverage { least: 31, most: 100, of }).are_shown());
/// assert_eq!(Intervals::IgnoreNoise.not_shown(), Some("interval not shown: does not count the noise"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Intervals {
    /// No noise was added: there is none to count.
    WithoutNoise,
    /// The noise is part of what the posterior is uncertain of.
    CountNoise {
        /// How often intervals held the truth, where that was measured, and how.
        measured: Cow<'static, str>,
    },
    /// The posterior counts the noise, but its intervals did not hold the truth as often as they should where that was measured.
    DoNotHold {
        /// How often they did, and how that was measured.
        measured: Cow<'static, str>,
    },
    /// The posterior takes noisy numbers at their word, and its intervals are too narrow by an unknown amount.
    IgnoreNoise,
    /// The noise is counted, and the prior was fitted to the releases: for prediction, not for intervals.
    FittedPrior,
}

impl Intervals {
    /// Those of a posterior that counts the noise: [`DoNotHold`](Self::DoNotHold) where less than [`LEAST_HELD`] was measured.
    pub fn count_noise(coverage: &MeasuredCoverage) -> Self {
        let measured = Cow::Owned(coverage.words());
        if coverage.least < LEAST_HELD { Self::DoNotHold { measured } } else { Self::CountNoise { measured } }
    }

    /// Whether they may be drawn and printed.
    pub fn are_shown(&self) -> bool {
        self.not_shown().is_none()
    }

    /// Why they are not shown; none where they are.
    pub fn not_shown(&self) -> Option<&'static str> {
        match self {
            Self::WithoutNoise | Self::CountNoise { .. } => None,
            Self::DoNotHold { .. } => Some("interval not shown: too often wrong where it was measured"),
            Self::IgnoreNoise => Some("interval not shown: does not count the noise"),
            Self::FittedPrior => Some("interval not shown: the prior was fitted to the releases, for prediction"),
        }
    }

    /// What a reader should know, in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::WithoutNoise => "Its intervals have no noise to count.".to_owned(),
            Self::CountNoise { measured } => {
                format!("Its intervals count the noise that was added for privacy. In simulations {measured}.")
            }
            Self::DoNotHold { measured } => format!(
                "Its intervals are not shown: they are meant to count the noise that was added for privacy, but in simulations {measured}."
            ),
            Self::IgnoreNoise => {
                "Its intervals are not shown: they do not count the noise that was added for privacy, and would be too narrow."
                    .to_owned()
            }
            Self::FittedPrior => {
                "Its intervals are not shown: the prior was fitted to the releases, for prediction.".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(least: u8) -> Intervals {
        Intervals::count_noise(&MeasuredCoverage { least, most: 95, of: "the coefficients of made-up rows" })
    }

    #[test]
    fn intervals_are_shown_where_they_held_or_there_is_no_noise() {
        let all = [Intervals::WithoutNoise, held(LEAST_HELD), held(LEAST_HELD - 1)];
        let all: Vec<_> = all.into_iter().chain([Intervals::IgnoreNoise, Intervals::FittedPrior]).collect();
        let shown: Vec<bool> = all.iter().map(Intervals::are_shown).collect();
        assert_eq!(shown, [true, true, false, false, false]);
        for one in &all {
            let text = serde_json::to_string(one).unwrap();
            assert_eq!(&serde_json::from_str::<Intervals>(&text).unwrap(), one, "{text}");
            assert_eq!(one.are_shown(), !one.sentence().contains("not shown"));
        }
    }

    #[test]
    fn what_was_measured_is_said_whether_it_held_or_not() {
        for least in [25, 90] {
            let words = format!("90 % intervals held {least} to 95 % of the coefficients");
            assert!(held(least).sentence().contains(&words), "{}", held(least).sentence());
        }
    }
}
