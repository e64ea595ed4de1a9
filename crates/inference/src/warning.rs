//! Statistical warnings: what a reader of results should know, under a code, with where it was read
//! from.
//!
//! A warning is either a function of public numbers or it was read from rows. The two never mix:
//! [`PublicWarnings`] can hold the former only, and it is the type that served runs show, store and send.
//! What is read from rows stays in simulations and on a site's own terminal.

pub mod public;
pub mod rows;

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a warning was read from, and so who may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WarningSource {
    /// From the study, the schema, declared numbers and released values: anybody may see it.
    Public,
    /// From rows or scores on them: for a simulation, and for a site's own terminal. It never leaves a site.
    Rows,
}

impl fmt::Display for WarningSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Rows => "rows",
        })
    }
}

/// What is warned of. A code has one source, so that nobody has to decide twice whether a warning may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Code {
    /// A warning in results of a program that had no codes yet.
    #[serde(rename = "W000")]
    Earlier,
    /// The method is behind the constant answer.
    #[serde(rename = "W001")]
    BehindConstant,
    /// The served mean still moved in the last round.
    #[serde(rename = "W002")]
    StillMoving,
    /// Chains that hardly moved, or whose draws are worth few.
    #[serde(rename = "W003")]
    FewDraws,
    /// A coefficient is far outside its prior.
    #[serde(rename = "W004")]
    BeyondPrior,
    /// Other numbers of rows are declared than were found.
    #[serde(rename = "W005")]
    RowsDiffer,
    /// A site has few rows.
    #[serde(rename = "W006")]
    SmallSite,
    /// A file ends in mid-line.
    #[serde(rename = "W007")]
    CutOff,
    /// The clipping bound is far from what the schema's ranges imply.
    #[serde(rename = "W008")]
    ClipOutOfScale,
    /// ε is over 10.
    #[serde(rename = "W009")]
    LargeEpsilon,
    /// More rounds than budget or patience allow.
    #[serde(rename = "W010")]
    TooManyRounds,
    /// Something public goes by numbers of rows that are private.
    #[serde(rename = "W011")]
    PrivateRowCounts,
    /// Numbers of the rows are far from the schema's bounds, centre or scale.
    #[serde(rename = "W012")]
    OffScale,
    /// Persons have several rows, and rows are protected one by one.
    #[serde(rename = "W013")]
    RepeatedPersons,
    /// Some of the releases could not be read when they came, or not at all.
    #[serde(rename = "W014")]
    PartlyRead,
    /// δ is not under one over the number of rows.
    #[serde(rename = "S014")]
    LooseDelta,
    /// A baseline did not converge.
    #[serde(rename = "S017")]
    NotConverged,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 17] = [
        Self::Earlier,
        Self::BehindConstant,
        Self::StillMoving,
        Self::FewDraws,
        Self::BeyondPrior,
        Self::RowsDiffer,
        Self::SmallSite,
        Self::CutOff,
        Self::ClipOutOfScale,
        Self::LargeEpsilon,
        Self::TooManyRounds,
        Self::PrivateRowCounts,
        Self::OffScale,
        Self::RepeatedPersons,
        Self::PartlyRead,
        Self::LooseDelta,
        Self::NotConverged,
    ];

    /// The code as `posterity explain` takes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Earlier => "W000",
            Self::BehindConstant => "W001",
            Self::StillMoving => "W002",
            Self::FewDraws => "W003",
            Self::BeyondPrior => "W004",
            Self::RowsDiffer => "W005",
            Self::SmallSite => "W006",
            Self::CutOff => "W007",
            Self::ClipOutOfScale => "W008",
            Self::LargeEpsilon => "W009",
            Self::TooManyRounds => "W010",
            Self::PrivateRowCounts => "W011",
            Self::OffScale => "W012",
            Self::RepeatedPersons => "W013",
            Self::PartlyRead => "W014",
            Self::LooseDelta => "S014",
            Self::NotConverged => "S017",
        }
    }

    /// Where warnings of this code are read from. An earlier one may be of either kind, and is held back.
    pub fn source(self) -> WarningSource {
        match self {
            Self::Earlier
            | Self::BehindConstant
            | Self::RowsDiffer
            | Self::SmallSite
            | Self::CutOff
            | Self::OffScale
            | Self::RepeatedPersons
            | Self::NotConverged => WarningSource::Rows,
            Self::StillMoving
            | Self::FewDraws
            | Self::BeyondPrior
            | Self::ClipOutOfScale
            | Self::LargeEpsilon
            | Self::TooManyRounds
            | Self::PrivateRowCounts
            | Self::PartlyRead
            | Self::LooseDelta => WarningSource::Public,
        }
    }
}

/// One warning. In JSON: `code`, `source`, `what`, `hint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Warning {
    /// What kind of thing it is; `posterity explain` tells more of it.
    pub code: Code,
    /// What was found, in a sentence without its full stop.
    pub what: String,
    /// What to do about it; empty in a warning of an earlier program.
    pub hint: String,
}

impl Warning {
    /// Where it was read from, which its code says.
    pub fn source(&self) -> WarningSource {
        self.code.source()
    }
}

/// A warning as a file has it: with its code, or a plain text from before there were codes.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Coded { code: Code, source: WarningSource, what: String, hint: String },
    Text(String),
}

impl From<Written> for Warning {
    /// The source follows from the code, whatever the file says.
    fn from(written: Written) -> Self {
        match written {
            Written::Coded { code, what, hint, .. } => Self { code, what, hint },
            Written::Text(what) => Self { code: Code::Earlier, what, hint: String::new() },
        }
    }
}

impl From<Warning> for Written {
    fn from(Warning { code, what, hint }: Warning) -> Self {
        Self::Coded { code, source: code.source(), what, hint }
    }
}

/// Warnings that anybody may see. What a served run shows, stores or sends takes these and no others: the only way to make
/// them leaves out every warning that was read from rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Warning>")]
pub struct PublicWarnings(Vec<Warning>);

impl PublicWarnings {
    /// Those of public source.
    pub fn of(all: impl IntoIterator<Item = Warning>) -> Self {
        Self(all.into_iter().filter(|warning| warning.source() == WarningSource::Public).collect())
    }

    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Warning> {
        self.0.iter()
    }
}

impl From<Vec<Warning>> for PublicWarnings {
    fn from(all: Vec<Warning>) -> Self {
        Self::of(all)
    }
}

/// One warning for each code, of warnings that several seeds gave: the first, with the number of seeds.
pub fn over_seeds(seeds: &[Vec<Warning>]) -> Vec<Warning> {
    let mut found: Vec<(Warning, usize)> = Vec::new();
    for warnings in seeds {
        for (place, warning) in warnings.iter().enumerate() {
            if warnings[..place].iter().any(|before| before.code == warning.code) {
                continue;
            }
            match found.iter_mut().find(|(first, _)| first.code == warning.code) {
                Some((_, count)) => *count += 1,
                None => found.push((warning.clone(), 1)),
            }
        }
    }
    let all = seeds.len();
    let told = |(mut warning, count): (Warning, usize)| {
        if count < all {
            warning.what += &format!(" (in {count} of {all} seeds)");
        }
        warning
    };
    found.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(code: Code) -> Warning {
        Warning { code, what: code.as_str().to_lowercase(), hint: "do".into() }
    }

    #[test]
    fn a_warning_states_its_source_in_json_and_an_earlier_text_is_read() {
        let text = serde_json::to_string(&warning(Code::SmallSite)).unwrap();
        assert_eq!(text, r#"{"code":"W006","source":"rows","what":"w006","hint":"do"}"#);
        for code in Code::ALL {
            let text = serde_json::to_string(&warning(code)).unwrap();
            assert!(text.contains(&format!("\"{}\"", code.as_str())), "{text}");
            assert_eq!(serde_json::from_str::<Warning>(&text).unwrap(), warning(code));
        }
        let earlier: Warning = serde_json::from_str("\"the score was still rising\"").unwrap();
        assert_eq!((earlier.code, earlier.source()), (Code::Earlier, WarningSource::Rows));
    }

    #[test]
    fn only_public_warnings_become_public_whoever_wrote_the_file() {
        let all = Code::ALL.map(warning).to_vec();
        let public = PublicWarnings::of(all.clone());
        assert!(public.iter().all(|warning| warning.source() == WarningSource::Public) && public.iter().count() == 9);
        let read: PublicWarnings = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert_eq!(read, public);
        let forged = r#"[{"code":"W006","source":"public","what":"5 rows","hint":""}]"#;
        assert_eq!(serde_json::from_str::<PublicWarnings>(forged).unwrap(), PublicWarnings::default());
    }

    #[test]
    fn seeds_that_warn_alike_warn_once() {
        let (moving, draws) = (warning(Code::StillMoving), warning(Code::FewDraws));
        let found = over_seeds(&[vec![moving.clone(), moving.clone()], vec![moving.clone(), draws.clone()]]);
        assert_eq!(found[0], moving);
        assert_eq!(found[1].what, "w003 (in 1 of 2 seeds)");
        assert!(over_seeds(&[]).is_empty());
    }
}
