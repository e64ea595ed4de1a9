//! Noise-aware inference by levels for several classes as a study states it.

use super::super::design::{InputDesign, LEVELS, MODEL_ERROR, MOST_FIRST};
use super::super::protocol::{LevelOutcomes, NoiseAwareLevels};
use super::super::settings::{FIRST_SHARE_KEY, LevelsSettings, SERVED_PRIOR_KEY, ServedPrior};
use super::moments::ClassLogits;
use super::row::{class_level_bound, first_residual};
use crate::algorithm::Protocol;
use crate::algorithm::pvi::GAUSSIAN;
use crate::describe::{
    Allowed, Conflict, Descriptor, Key, Limits, NOT_TOGETHER, Need, Offer, Otherwise, Pacing, PrivacyNeed, Reading,
    ValueKind,
};
use crate::method::{AlgorithmSettings, BoundWords, Description, Method, Parts};
use crate::plan::gaussian_mu;
use crate::public::{Derived, PublicNumbers};
use crate::release::{Numbers, Releases};
use crate::settings::{Covariance, Promise, Rounds};
use crate::{Intervals, MeasuredCoverage, PriorTerm, RunError};
use privacy::Unit;
use serde::Serialize;
use std::f64::consts::SQRT_2;
use std::sync::Arc;

/// `algorithm = "noise-aware-classes"`
#[derive(Debug, Clone, Serialize)]
pub struct ClassLevelsSettings {
    /// What it shares with two outcomes.
    pub levels: LevelsSettings,
    /// K: how many classes the outcome has.
    pub classes: usize,
}

const CLASS_KEYS: &[Key] = &[
    Key {
        name: "classes",
        about: "how many levels the outcome has",
        kind: ValueKind::Count { least: 2, most: 1_000 },
        otherwise: Otherwise::Follows("the schema's outcome"),
        example: "3",
    },
    FIRST_SHARE_KEY,
    SERVED_PRIOR_KEY,
];

/// What was measured of its intervals (`docs/maths/levels.md`).
const MEASURED: MeasuredCoverage = MeasuredCoverage {
    least: 87,
    most: 89,
    of: "the coefficients of made-up rows with three classes and five inputs, at ε = 1 and 3",
};

const OF_CLASSES: Need = Need {
    offer: Offer::ClassLogits,
    key: "algorithm",
    whose: "inference by levels of classes needs",
    hint: "use model kind \"softmax\", or algorithm = \"noise-aware-levels\" for an outcome with two levels",
};

/// `algorithm = "noise-aware-classes"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "noise-aware-classes",
    also: &["levels-of-classes"],
    about: "Noise-aware inference by levels for an outcome of several classes: two looks at the inputs, then scores of all classes \
            at eleven points, read as noisy observations of one statistic, so that intervals count the noise.",
    keys: &[Key {
        name: "levels",
        about: "how many classes there are, how the budget is shared and the posterior read out",
        kind: ValueKind::Table(CLASS_KEYS),
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
        units: Allowed { values: &[Unit::Example], because: "it clips the scores of rows" },
        needs: &[GAUSSIAN, OF_CLASSES],
        site_intercept: false,
        ..Limits::NONE
    },
    read,
};

fn read(reading: &Reading<'_>) -> Result<Arc<dyn AlgorithmSettings>, Conflict> {
    let levels = reading.table("levels", CLASS_KEYS);
    Ok(Arc::new(ClassLevelsSettings {
        levels: LevelsSettings::read(&levels)?,
        classes: levels.keys.maybe_count("classes")?.map_or(2, |classes| classes as usize),
    }))
}

/// a = q₀(q₁ − q₀)/ω² between 1/11 and .4: the share of level 0 that makes the precision a/(q₀² + aω²) + (1 − a)/q₁² largest.
///
/// q₀² = ρ²(1 − 1/K) m/(μ²n) is the noise of level 0, (q₁/q₀)² = 2/(1 − 1/K) that of the others in units of it, and ω² a guess at the
/// error of the input model at level 0, .036·(2/K)·n/d. For two classes it is the share of two outcomes.
pub fn class_first_share(design: &InputDesign, classes: usize, public: super::super::PublicNumbers) -> f64 {
    let residual = first_residual(classes);
    let noise =
        design.usual_squared_norm() * residual * residual * public.sources / (public.mu * public.mu * public.rows);
    let error = MODEL_ERROR * 4.0 / classes as f64 * public.rows / design.width() as f64;
    (noise * (SQRT_2 / residual - 1.0) / error).clamp(1.0 / LEVELS as f64, MOST_FIRST)
}

impl ClassLevelsSettings {
    /// d, of all parameters.
    fn width(&self, dimension: usize) -> usize {
        (dimension / self.classes.max(2)).max(1)
    }

    /// Refuses a number of classes that is not the outcome's, and priors that differ between classes.
    fn check_parts(&self, parts: &Parts<'_>, width: usize) -> Result<(), Conflict> {
        let dimension = parts.problem.family.dimension();
        if dimension != self.classes * width {
            let what = format!("levels.classes is {}, and the outcome has {} levels", self.classes, dimension / width);
            let hint = format!("write levels = {{ classes = {} }}, or leave it out", dimension / width);
            return Err(Conflict::new("levels.classes", NOT_TOGETHER, what, hint));
        }
        let prior = parts.problem.family.gaussian(&parts.problem.prior.0).and_then(|prior| PriorTerm::of(&prior));
        let alike = |prior: &PriorTerm| {
            let precision = prior.diagonal();
            let independent = prior.off_diagonal().is_none() && prior.mean().iter().all(|mean| *mean == 0.0);
            independent && precision.chunks(width).all(|one| *one == precision[..width])
        };
        if prior.is_some_and(|prior| alike(&prior)) {
            return Ok(());
        }
        let what =
            "inference by levels of classes takes one prior for all classes, with mean 0 and without correlations";
        let hint = "leave prior.coefficients and prior.from out, or use another algorithm";
        Err(Conflict::new("algorithm", NOT_TOGETHER, what, hint))
    }
}

impl AlgorithmSettings for ClassLevelsSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        self.levels.part()
    }

    fn describe(&self) -> Description {
        let algorithm = format!(
            "noise-aware by levels of {} classes: two looks at the inputs, {LEVELS} levels of scores",
            self.classes
        );
        Description { algorithm, ..self.levels.describe() }
    }

    fn intervals(&self) -> Intervals {
        match self.levels.prior {
            ServedPrior::Stated => Intervals::count_noise(&MEASURED),
            ServedPrior::Fitted => Intervals::FittedPrior,
        }
    }

    fn rounds(&self) -> Rounds {
        self.levels.rounds()
    }

    fn covariance(&self) -> Covariance {
        self.levels.covariance()
    }

    /// Those of two outcomes, with K − 1 contrasts of the scores.
    fn releases(&self, dimension: usize) -> Releases {
        let width = self.width(dimension);
        let mut releases = self.levels.releases(width);
        let numbers = Numbers::Fixed(class_level_bound(width, self.classes).length);
        let looks = releases.openings.len() + 1 - LEVELS;
        releases.openings.iter_mut().skip(looks).for_each(|opening| opening.release.numbers = numbers);
        releases.main.numbers = numbers;
        releases
    }

    fn weighs_by_rows(&self, summed: bool) -> bool {
        self.levels.weighs_by_rows(summed)
    }

    fn check_intercept(&self, there: bool) -> Result<(), Conflict> {
        self.levels.check_intercept(there)
    }

    fn bounded(&self, promise: &Promise) -> BoundWords {
        self.levels.bounded(promise)
    }

    fn opening_words(&self, k: usize, promise: &Promise) -> String {
        self.levels.opening_words(k, promise)
    }

    fn derived(&self, method: &Method, public: &PublicNumbers) -> Vec<Derived> {
        let Some(classes) = public.classes else { return Vec::new() };
        let mut derived =
            vec![Derived::new("levels.classes", classes as i64, format!("the outcome has {classes} levels"))];
        let promise = method.promise.as_ref();
        let mu = promise.and_then(|promise| gaussian_mu(promise, &method.sites, &public.rows));
        if let (Some(promise), Some(mu), Some(design)) = (promise, mu, InputDesign::of_layout(&public.inputs)) {
            let (rows, sources) = (public.all_rows(), public.sources(promise));
            let numbers = super::super::PublicNumbers { rows, sources, mu };
            let share = (class_first_share(&design, classes, numbers) * 1e4).round() / 1e4;
            let why = format!(
                "{rows} rows, {} parameters, {sources} source{} of noise: what noise and the error of the input model leave to level 0",
                classes * design.width(),
                if sources == 1.0 { "" } else { "s" },
            );
            derived.push(Derived::new("levels.first_share", share, why));
        }
        derived
    }

    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        let Some(design) = InputDesign::of_layout(parts.inputs) else {
            self.check_intercept(parts.inputs.intercept().is_some())?;
            let what = "there is no input to learn a coefficient of";
            return Err(Conflict::new("algorithm", NOT_TOGETHER, what, "name columns in the schema").into());
        };
        self.check_parts(parts, design.width())?;
        let (releases, outcomes) =
            (self.releases(self.classes * design.width()), LevelOutcomes::Classes(ClassLogits::new(self.classes)));
        Ok(Box::new(NoiseAwareLevels::new(releases, design, self.levels.prior, outcomes, parts)))
    }
}
