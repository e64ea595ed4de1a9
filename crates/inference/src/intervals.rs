//! What the intervals of a posterior are worth: whether they count the noise that was added for privacy.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a method says of the intervals of its posterior. Every algorithm states it; nothing assumes it.
///
/// ```
/// use inference::Intervals;
/// assert!(Intervals::count_noise("88 to 94 %").are_shown());
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
    /// The posterior takes noisy numbers at their word, and its intervals are too narrow by an unknown amount.
    IgnoreNoise,
    /// The noise is counted, and the prior was fitted to the releases: for prediction, not for intervals.
    FittedPrior,
}

impl Intervals {
    /// Those of a posterior that counts the noise, with what was measured of them.
    pub const fn count_noise(measured: &'static str) -> Self {
        Self::CountNoise { measured: Cow::Borrowed(measured) }
    }

    /// Whether they may be drawn and printed.
    pub fn are_shown(&self) -> bool {
        self.not_shown().is_none()
    }

    /// Why they are not shown; none where they are.
    pub fn not_shown(&self) -> Option<&'static str> {
        match self {
            Self::WithoutNoise | Self::CountNoise { .. } => None,
            Self::IgnoreNoise => Some("interval not shown: does not count the noise"),
            Self::FittedPrior => Some("interval not shown: the prior was fitted to the releases, for prediction"),
        }
    }

    /// What a reader should know, in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::WithoutNoise => "Its intervals have no noise to count.".to_owned(),
            Self::CountNoise { measured } => format!("Its intervals count the noise; {measured}."),
            Self::IgnoreNoise => "Its intervals are not shown: they do not count the noise.".to_owned(),
            Self::FittedPrior => {
                "Its intervals are not shown: the prior was fitted to the releases, for prediction.".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_shown_where_noise_is_counted_or_absent() {
        let all =
            [Intervals::WithoutNoise, Intervals::count_noise("90 %"), Intervals::IgnoreNoise, Intervals::FittedPrior];
        assert_eq!(all.each_ref().map(Intervals::are_shown), [true, true, false, false]);
        for one in &all {
            let text = serde_json::to_string(one).unwrap();
            assert_eq!(&serde_json::from_str::<Intervals>(&text).unwrap(), one, "{text}");
            assert_eq!(one.are_shown(), !one.sentence().contains("not shown"));
        }
    }
}
