//! Conjugate families as a study states them.
//!
//! ```toml
//! algorithm = "conjugate"
//! ```
//!
//! Prior and family are the model's. The bounds of a count or a number are the schema's, unless the study states them.

use super::Conjugate;
use crate::algorithm::Protocol;
use crate::conjugate::RowStatistics;
use crate::data::Schema;
use crate::describe::{
    Allowed, Conflict, Descriptor, Key, Limits, Need, Offer, Otherwise, Pacing, PrivacyNeed, Reading, STRAY,
    UNREADABLE, VALUE, ValueKind,
};
use crate::method::{AlgorithmSettings, BoundWords, Description, Method, Parts};
use crate::public::{Derived, PublicNumbers};
use crate::release::{Bound, Clipped, Numbers, Release, Releases};
use crate::settings::{Batching, Promise, Rounds};
use crate::{Intervals, MeasuredCoverage, RunError};
use privacy::{Adjacency, Grain, Unit};
use serde::Serialize;
use std::sync::Arc;
use toml::Value;

/// `algorithm = "conjugate"`: the public bounds of the outcome, where it is a count or a number.
///
/// # Examples
/// ```
/// use inference::algorithm::ConjugateSettings;
/// use inference::method::AlgorithmSettings;
/// use privacy::Adjacency;
///
/// let counts = ConjugateSettings { bounds: Some([0.0, 40.0]) };
/// assert_eq!(counts.releases(1).main.numbers.of(0), 1, "one sum");
/// assert_eq!(counts.sensitivities(1, Adjacency::Substitute)[0].1, 40.0, "a row moves it by 40 at most");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConjugateSettings {
    /// Least and greatest encoded outcome; none of an outcome with levels.
    pub bounds: Option<[f64; 2]>,
}

/// What was measured of every family (`docs/maths/conjugate.md`).
const MEASURED: MeasuredCoverage = MeasuredCoverage {
    least: 86,
    most: 93,
    of: "the parameters of rows that follow the model (200 replicates of each of 48 cells)",
};

/// `conjugate`
const CONJUGATE: &[Key] = &[Key::new("bounds", ValueKind::Numbers { length: 2 }, "[0.0, 40.0]")
    .about("least and greatest outcome, as encoded, of a count or a number: values beyond are held to them")
    .otherwise(Otherwise::Follows("the bounds of the outcome in the schema"))];

/// `algorithm = "conjugate"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "conjugate",
    also: &["conjugate-posterior", "noisy-sufficient-statistics"],
    about: "The exact posterior of a conjugate family given one noisy sum of sufficient statistics over all clients.",
    keys: &[Key::new("conjugate", ValueKind::Table(CONJUGATE), "{ bounds = [0.0, 40.0] }")
        .about("the public bounds of the outcome")
        .otherwise(Otherwise::Follows("those of the schema"))],
    limits: Limits {
        privacy: PrivacyNeed::Required,
        covariances: Allowed {
            values: &[crate::settings::Covariance::MeanField],
            because: "it serves the marginal posterior of every parameter",
        },
        schedules: Allowed { values: &[Pacing::Synchronous], because: "it asks all clients for one sum at once" },
        units: Allowed {
            values: &[Unit::Example],
            because: "the posterior counts rows, each of which is bounded by itself",
        },
        relations: Allowed {
            values: &[Adjacency::Substitute],
            because: "the posterior depends on the number of rows, which is private where rows come and go",
        },
        needs: &[Need {
            offer: Offer::ConjugatePosterior,
            key: "algorithm",
            whose: "a conjugate posterior needs",
            hint: "use model kind \"beta-binomial\", \"dirichlet-multinomial\", \"gamma-poisson\" or \"normal\"; or another algorithm",
        }],
        site_intercept: false,
        ..Limits::NONE
    },
    read,
};

/// Bounds in order, if the study states them.
fn read(reading: &Reading<'_>) -> Result<Arc<dyn AlgorithmSettings>, Conflict> {
    let inner = reading.table("conjugate", CONJUGATE);
    let stated = inner.keys.maybe_numbers("bounds")?.and_then(|bounds| <[f64; 2]>::try_from(bounds).ok());
    if let Some([low, high]) =
        stated.filter(|[low, high]| !RowStatistics::Moments { low: *low, high: *high }.is_sound())
    {
        let what = format!("bounds is [{low}, {high}], expected the lower end first");
        return Err(inner.keys.conflict("bounds", VALUE, what, "for example bounds = [0.0, 40.0]"));
    }
    Ok(Arc::new(ConjugateSettings { bounds: stated }))
}

impl ConjugateSettings {
    /// What is summed of a model with so many parameters: each family sums as many statistics as it has parameters.
    fn asked(&self, parameters: usize) -> RowStatistics {
        match (self.bounds, parameters) {
            (Some([low, high]), 0 | 1) => RowStatistics::Value { low, high },
            (Some([low, high]), _) => RowStatistics::Moments { low, high },
            (None, 0 | 1) => RowStatistics::Value { low: 0.0, high: 1.0 },
            (None, several) => RowStatistics::Level { levels: u32::try_from(several).unwrap_or(u32::MAX) },
        }
    }
}

impl AlgorithmSettings for ConjugateSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        "sums"
    }

    fn describe(&self) -> Description {
        Description {
            algorithm: "conjugate posterior given one noisy sum of sufficient statistics".into(),
            details: Vec::new(),
            local: "all rows once".into(),
            readout: None,
        }
    }

    fn rounds(&self) -> Rounds {
        Rounds::Count(1)
    }

    fn intervals(&self) -> Intervals {
        Intervals::count_noise(&MEASURED)
    }

    fn releases(&self, dimension: usize) -> Releases {
        let numbers = Numbers::Fixed(self.asked(dimension).numbers());
        let (grain, batch) = (Grain::Example, Batching::All);
        Release { grain, sums: 1, numbers, batch, clipped: Clipped::Statistics, bound: Bound::Unit }.into()
    }

    fn weighs_by_rows(&self, _: bool) -> bool {
        true
    }

    fn bounded(&self, _: &Promise) -> BoundWords {
        let rows = match self.bounds {
            Some([low, high]) => format!("outcomes held to the public bounds {low} to {high}"),
            None => "every row counted once, at its level".to_owned(),
        };
        BoundWords {
            rows,
            sums: "sums of sufficient statistics in units of half their sensitivity".into(),
            first_sums: String::new(),
        }
    }

    /// Wide bounds cost noise, which nobody sees in a posterior that counts it.
    fn notes(&self, schema: &Schema) -> Vec<String> {
        let (Some([low, high]), true) = (self.bounds, schema.classes().is_none()) else { return Vec::new() };
        vec![format!(
            "noise is scaled to the range {low} to {high} of the encoded outcome, and outcomes beyond are held to it"
        )]
    }

    fn sensitivities(&self, dimension: usize, _: Adjacency) -> Vec<(&'static str, f64)> {
        let asked = self.asked(dimension);
        let words = match asked {
            RowStatistics::Value { .. } => "the sum of outcomes",
            RowStatistics::Level { .. } => "counts of levels",
            RowStatistics::Moments { .. } => "sums of values and of squares, in units of half the range",
        };
        vec![(words, asked.sensitivity())]
    }

    /// The schema's bounds.
    fn derived(&self, _: &Method, public: &PublicNumbers) -> Vec<Derived> {
        let bounds = public.outcome.map(|(low, high)| {
            let value = Value::Array(vec![Value::Float(low), Value::Float(high)]);
            Derived::new("conjugate.bounds", value, "the bounds of the outcome in the schema, as encoded")
        });
        bounds.into_iter().collect()
    }

    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        let problem = parts.problem;
        let Some(asked) = problem.model.conjugate().and_then(|family| family.asks(self.bounds)) else {
            let conflict = match self.bounds {
                Some(_) => {
                    let what = "the outcome has levels, which have no bounds";
                    Conflict::new("conjugate.bounds", STRAY, what, "leave bounds out")
                }
                None => {
                    let what = "the bounds of the outcome are missing, and no schema with bounds is known";
                    Conflict::new("conjugate", UNREADABLE, what, "conjugate = { bounds = [0.0, 40.0] }")
                }
            };
            return Err(conflict.into());
        };
        Ok(Box::new(Conjugate {
            problem: problem.clone(),
            asked,
            terms: parts.terms.to_vec(),
            summing: parts.summing,
            rows: parts.rows.to_vec(),
        }))
    }
}
