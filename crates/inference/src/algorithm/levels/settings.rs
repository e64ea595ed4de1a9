//! Noise-aware inference by levels as a study states it: two looks at the inputs, eleven levels, and shares of the budget.

use super::design::{InputDesign, LEVELS, LevelPlan, PublicNumbers as LevelNumbers, SumBound, VectorSet, level_norm};
use super::forecast;
use super::protocol::{LevelOutcomes, NoiseAwareLevels};
use crate::algorithm::Protocol;
use crate::algorithm::pvi::GAUSSIAN;
use crate::describe::{
    Allowed, Conflict, Descriptor, Key, Limits, NOT_TOGETHER, Need, Offer, Otherwise, Pacing, PrivacyNeed, Reading,
    ValueKind,
};
use crate::expected::{ExpectedPosterior, ExpectedStudy};
use crate::linalg::packed;
use crate::method::{AlgorithmSettings, BoundWords, Description, Method, Parts};
use crate::plan::gaussian_mu;
use crate::public::{Derived, PublicNumbers, counted};
use crate::release::{Bound, BudgetShare, Clipped, OpeningRelease, Release, Releases};
use crate::settings::{Aggregator, Covariance, Promise, Rounds};
use crate::{Intervals, MeasuredCoverage, RunError};
use privacy::{Adjacency, Grain, NormBound, Unit};
use serde::Serialize;
use std::sync::Arc;

/// `algorithm = "noise-aware-levels"`
#[derive(Debug, Clone, Serialize)]
pub struct LevelsSettings {
    /// a: what level 0 takes of the budget of all levels.
    pub first_share: f64,
    /// Under which prior the posterior is served.
    pub prior: ServedPrior,
    /// Between which data sets privacy is promised: it decides how rows are sent.
    pub adjacency: Adjacency,
}

/// Under which prior a posterior is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ServedPrior {
    /// The study's: for coefficients and their intervals.
    Stated,
    /// One whose precision is fitted to the releases, never below the study's: for prediction. Its intervals do not hold.
    Fitted,
}

/// `first_share`
pub(super) const FIRST_SHARE_KEY: Key = Key {
    name: "first_share",
    about: "what level 0 takes of the budget of all levels",
    kind: ValueKind::Share,
    otherwise: Otherwise::Follows("rows, sources, inputs and ε: between 1/11 and 0.4"),
    example: "0.1",
};

/// `prior`
pub(super) const SERVED_PRIOR_KEY: Key = Key {
    name: "prior",
    about: "under which prior the posterior is served: the study's, or one with a fitted precision (for prediction; its \
            intervals do not hold)",
    kind: ValueKind::Word(&["stated", "fitted"]),
    otherwise: Otherwise::Word("stated"),
    example: "\"stated\"",
};

const LEVEL_KEYS: &[Key] = &[FIRST_SHARE_KEY, SERVED_PRIOR_KEY];

/// What was measured of its intervals: `posterity reproduce coverage-grid --replicates 100` and `coverage-real --replicates 20`.
const MEASURED: MeasuredCoverage = MeasuredCoverage {
    least: 81,
    most: 97,
    of: "the coefficients of made-up rows (86 to 94 % or near the non-private ones in 241 of 270 cells), and 86 to 92 % with the inputs \
         of four data sets",
};

const OF_TWO_LEVELS: Need = Need {
    offer: Offer::LogisticLink,
    key: "algorithm",
    whose: "inference by levels needs",
    hint: "use model kind \"logistic\", or algorithm = \"noise-aware\"",
};

/// `algorithm = "noise-aware-levels"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "noise-aware-levels",
    also: &["levels", "rule-d"],
    about: "Noise-aware inference by levels: two looks at the inputs, then scores at eleven points, all read as noisy observations \
            of one statistic, so that intervals count the noise.",
    keys: &[Key {
        name: "levels",
        about: "how the budget is shared and the posterior read out",
        kind: ValueKind::Table(LEVEL_KEYS),
        otherwise: Otherwise::Nothing,
        example: "{ prior = \"stated\" }",
    }],
    limits: Limits {
        privacy: PrivacyNeed::Required,
        covariances: Allowed { values: &[Covariance::Full], because: "its q has a full covariance" },
        schedules: Allowed {
            values: &[Pacing::Synchronous],
            because: "every level asks all sites about the same point",
        },
        units: Allowed {
            values: &[Unit::Example, Unit::Person],
            because: "it bounds what a row does, or a person, not what a whole client can change",
        },
        needs: &[GAUSSIAN, OF_TWO_LEVELS],
        site_intercept: false,
        ..Limits::NONE
    },
    read,
};

fn read(reading: &Reading<'_>) -> Result<Arc<dyn AlgorithmSettings>, Conflict> {
    Ok(Arc::new(LevelsSettings::read(&reading.table("levels", LEVEL_KEYS))?))
}

/// Numbers of the first look, for d parameters: three for each at most. What a design does not use stays 0 but for its noise.
pub(super) fn first_look_numbers(dimension: usize) -> usize {
    3 * dimension
}

impl LevelsSettings {
    /// From the table `levels`.
    pub(super) fn read(reading: &Reading<'_>) -> Result<Self, Conflict> {
        let keys = &reading.keys;
        let fitted = keys.word("prior")? == "fitted";
        Ok(Self {
            first_share: keys.maybe_number("first_share")?.unwrap_or(1.0 / LEVELS as f64),
            prior: if fitted { ServedPrior::Fitted } else { ServedPrior::Stated },
            adjacency: reading.promise.map_or(Adjacency::Substitute, |promise| promise.adjacency),
        })
    }

    /// C of a sum whose rows lie in this set and have this norm, rounded up.
    fn bound(&self, set: VectorSet, norm: f64) -> Bound {
        let bound = SumBound { length: 0, set, norm }.gate_bound(self.adjacency);
        // A norm of a few units is a legal bound.
        NormBound::new(bound).map_or(Bound::Unit, Bound::Fixed)
    }

    fn release(&self, numbers: usize, clipped: Clipped, bound: Bound) -> Release {
        Release { bound, ..Release::of_all_rows(Grain::Example, numbers, clipped) }
    }

    /// What a level releases.
    fn level(&self, dimension: usize) -> Release {
        self.release(dimension + 1, Clipped::Gradients, self.bound(VectorSet::Ball, level_norm()))
    }
}

impl AlgorithmSettings for LevelsSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        "scores"
    }

    fn describe(&self) -> Description {
        let prior = match self.prior {
            ServedPrior::Stated => None,
            ServedPrior::Fitted => Some("under a prior whose precision is fitted to the releases".to_owned()),
        };
        Description {
            algorithm: format!("noise-aware by levels: two looks at the inputs, {LEVELS} levels of scores"),
            details: vec!["full covariance".into()],
            local: "all rows in every round".into(),
            readout: prior,
        }
    }

    fn intervals(&self) -> Intervals {
        match self.prior {
            ServedPrior::Stated => Intervals::count_noise(&MEASURED),
            ServedPrior::Fitted => Intervals::FittedPrior,
        }
    }

    fn rounds(&self) -> Rounds {
        Rounds::Count(LEVELS as u64 + 2)
    }

    fn covariance(&self) -> Covariance {
        Covariance::Full
    }

    fn releases(&self, dimension: usize) -> Releases {
        let plan = LevelPlan::with_first(self.first_share);
        let opening = |share, release| OpeningRelease { answers: 1, share: BudgetShare::OfMu(share), release };
        let looks = [
            opening(
                plan.first_look,
                self.release(
                    first_look_numbers(dimension),
                    Clipped::Statistics,
                    self.bound(VectorSet::NonNegative, 1.0),
                ),
            ),
            opening(
                plan.second_look,
                self.release(packed(dimension), Clipped::Statistics, self.bound(VectorSet::OuterProducts, 1.0)),
            ),
        ];
        let early = plan.levels.iter().take(LEVELS - 1).map(|share| opening(*share, self.level(dimension)));
        Releases { openings: looks.into_iter().chain(early).collect(), ..self.level(dimension).into() }
    }

    fn weighs_by_rows(&self, _: bool) -> bool {
        true
    }

    fn check_intercept(&self, there: bool) -> Result<(), Conflict> {
        if there {
            return Ok(());
        }
        let what = "inference by levels centres the inputs, and the model has no intercept to take up their means";
        Err(Conflict::new("algorithm", NOT_TOGETHER, what, "give the model an intercept"))
    }

    fn bounded(&self, promise: &Promise) -> BoundWords {
        let rows = match promise.unit {
            Unit::Person => {
                "the rows of a person are averaged, so that each person counts as one row, and shortened to a bound"
            }
            Unit::Example | Unit::Client => "every row's part of a sum is shortened to a bound",
        };
        let rows = format!("{rows} that follows from the first look");
        BoundWords { rows, sums: "sums of scores".into(), first_sums: "sums of scores".into() }
    }

    fn opening_words(&self, k: usize, promise: &Promise) -> String {
        match k {
            0 => "frequencies, means and squares of the inputs".into(),
            1 => "second moments of the inputs".into(),
            _ => self.bounded(promise).first_sums,
        }
    }

    fn derived(&self, method: &Method, public: &PublicNumbers) -> Vec<Derived> {
        let Some(promise) = &method.promise else { return Vec::new() };
        let (Some(design), Some(mu)) =
            (InputDesign::of_layout(&public.inputs), gaussian_mu(promise, &method.sites, &public.rows))
        else {
            return Vec::new();
        };
        let rows = public.all_rows();
        let sources = if promise.aggregator == Aggregator::None { public.rows.len() as f64 } else { 1.0 };
        let share = LevelPlan::first_of(&design, LevelNumbers { rows, sources, mu });
        let share = (share * 1e4).round() / 1e4;
        let units = counted(promise.unit);
        let why = format!(
            "{rows} {units}, {} parameters, {sources} source{} of noise: what noise and the error of the input model leave to level 0",
            design.width(),
            if sources == 1.0 { "" } else { "s" },
        );
        vec![Derived::new("levels.first_share", share, why)]
    }

    fn expected_posterior(&self, study: &ExpectedStudy<'_>) -> Option<ExpectedPosterior> {
        forecast::expected(self, study)
    }

    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        let Some(design) = InputDesign::of_layout(parts.inputs) else {
            self.check_intercept(parts.inputs.intercept().is_some())?;
            let what = "there is no input to learn a coefficient of";
            return Err(Conflict::new("algorithm", NOT_TOGETHER, what, "name columns in the schema").into());
        };
        Ok(Box::new(NoiseAwareLevels::new(
            self.releases(design.width()),
            design,
            self.prior,
            LevelOutcomes::Two,
            parts,
        )))
    }
}
