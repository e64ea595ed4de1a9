//! Noise-aware PVI as a study states it: its rule, its constants, and where their defaults come from.

use super::NoiseAware;
use super::budget::{AveragedRounds, MOST_WEIGHTED_ROUNDS, RoundBudget};
use crate::algorithm::Protocol;
use crate::algorithm::pvi::{
    AVERAGE_KEY, GAUSSIAN, SITE_INTERCEPT_KEY, SOLVER_KEY, WITH_INTERCEPT, by_name, check_own_precision, details,
    site_intercept,
};
use crate::algorithm::source::SourceTerms;
use crate::describe::{
    ANY_UNIT, AT_OWN_GATES, Allowed, Conflict, Descriptor, Key, Keys, Limits, NOT_TOGETHER, Need, Offer, Otherwise,
    Pacing, PrivacyNeed, Reading, STRAY, ValueKind, resolve,
};
use crate::method::{AlgorithmSettings, Description, Method, Parts};
use crate::public::{Derived, PublicNumbers, counted, rounded};
use crate::release::{Clipped, Release, Releases};
use crate::settings::{
    Aggregator, Clip, Covariance, DAMPING_KEY, Damping, MOST_ROUNDS_KEY, Promise, ROUNDS_KEY, Rounds, Schedule,
};
use crate::solve::{LocalSolve, PartSolver};
use crate::{Intervals, MeasuredCoverage, RunError};
use privacy::{Grain, Unit};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// `algorithm = "noise-aware"`
#[derive(Debug, Clone, Serialize)]
pub struct NoiseAwareSettings {
    /// The rule and its constants.
    pub constants: NoiseAwareConstants,
    /// When it ends.
    pub rounds: Rounds,
    /// ρ: what one release weighs in the decaying mean.
    pub damping: Damping,
    /// Serve the mean of so many last readouts.
    pub average: u32,
    /// Prior precision of a site-specific intercept, which never leaves its site; none without one.
    pub site_intercept: Option<f64>,
    /// How the budget is divided over the rounds. Settings that divide it evenly have the bytes that they had before there was a
    /// choice.
    #[serde(skip_serializing_if = "RoundBudget::is_even")]
    pub budget: RoundBudget,
    /// The solver whose parts of a client's rows are clipped; none where every row is clipped by itself, whose settings have the
    /// bytes that they had before there was a choice.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "by_optional_name")]
    pub solver: Option<Arc<dyn LocalSolve>>,
}

/// A solver in canonical bytes, where there is one.
fn by_optional_name<S: Serializer>(solver: &Option<Arc<dyn LocalSolve>>, to: S) -> Result<S::Ok, S::Error> {
    match solver {
        Some(solver) => by_name(solver, to),
        None => to.serialize_none(),
    }
}

/// Constants of noise-aware PVI.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoiseAwareConstants {
    /// Where the data's precision is taken from.
    pub curvature: Curvature,
    /// τ: how far coordinates with little information are scaled up before clipping; 0 is not at all.
    pub whitening: f64,
    /// f₀: the share of the largest precision under which there is no more scaling.
    pub floor: f64,
    /// κ: what the noise variance is multiplied by in the readout; 1 is the theory's.
    pub caution: f64,
}

/// Where the data's precision is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Curvature {
    /// Rule A: second moments of the inputs, asked for first, times the model's mean curvature.
    Moments {
        /// How often each client is asked for them.
        looks: u32,
        /// Bound of a row's x².
        bound: f64,
    },
    /// Rule B: each row's precision is released with its residual in every round, clipped together.
    EveryRound {
        /// What precisions are multiplied by before they are clipped.
        weight: f64,
    },
}

impl NoiseAwareConstants {
    /// What one answer releases for d parameters: of every row, or of every part of the rows.
    pub(crate) fn release(&self, dimension: usize, parts: Option<PartSolver>) -> Release {
        let numbers = match self.curvature {
            Curvature::Moments { .. } => dimension,
            Curvature::EveryRound { .. } => 2 * dimension,
        };
        match parts {
            None => Release::of_all_rows(Grain::Example, numbers, Clipped::Gradients),
            Some(PartSolver { parts, .. }) => {
                Release::of_all_rows(Grain::Part { count: u64::from(parts) }, numbers, Clipped::Change)
            }
        }
    }
}

/// What was measured of rule A: `posterity reproduce coverage-methods`.
const MEASURED_A: MeasuredCoverage =
    MeasuredCoverage { least: 31, most: 100, of: "the coefficients of made-up rows (20 replicates of twelve cells)" };
/// What was measured of rule B there.
const MEASURED_B: MeasuredCoverage = MeasuredCoverage { least: 25, most: 94, ..MEASURED_A };
/// Default bound of second moments, as a share of the clip.
const MOMENTS_OF_CLIP: f64 = 0.7;
/// Bound of second moments where nothing is clipped.
const UNBOUNDED: f64 = 1000.0;
/// Rounds where a study leaves them out.
const ROUNDS: u64 = 15;
/// Readouts whose mean is served.
const AVERAGE: u32 = 6;
/// ρ where each client noises its own sums.
const DAMPING_ALONE: f64 = 0.15;
/// ρ where clients share one noise, or there is none.
const DAMPING_SHARED: f64 = 0.25;

// Chosen on Adult, on other splits than those of the studies; used unchanged on every other data set
// (docs/maths/noise-aware.md).
const CONSTANTS: &[Key] = &[
    Key {
        name: "curvature",
        about: "where the data's precision is taken from: second moments asked for first, or precisions of every round",
        kind: ValueKind::Word(&["moments", "every-round"]),
        otherwise: Otherwise::Word("moments"),
        example: "\"moments\"",
    },
    Key {
        name: "looks",
        about: "moments: how often each client is asked for them",
        kind: ValueKind::Count { least: 1, most: u32::MAX as u64 },
        otherwise: Otherwise::Number(1.0),
        example: "1",
    },
    Key {
        name: "moment_bound",
        about: "moments: bound of a row's squared inputs",
        kind: ValueKind::Positive,
        otherwise: Otherwise::Follows("0.7 times the clip"),
        example: "2.0",
    },
    Key {
        name: "weight",
        about: "every-round: what precisions are multiplied by before they are clipped",
        kind: ValueKind::Positive,
        otherwise: Otherwise::Number(2.0),
        example: "2.0",
    },
    Key {
        name: "whitening",
        about: "how far coordinates with little information are scaled up before clipping; 0 is not at all",
        kind: ValueKind::Within { least: 0.0, most: 1.0 },
        otherwise: Otherwise::Number(0.6),
        example: "0.6",
    },
    Key {
        name: "floor",
        about: "the share of the largest precision under which there is no more scaling",
        kind: ValueKind::Positive,
        otherwise: Otherwise::Number(0.1),
        example: "0.1",
    },
    Key {
        name: "caution",
        about: "what the noise variance is multiplied by in the readout; 1 is the theory's",
        kind: ValueKind::Positive,
        otherwise: Otherwise::Number(3.0),
        example: "3.0",
    },
    Key {
        name: "budget",
        about: "moments: how the budget is divided over the rounds, evenly or by what each weighs in the served mean",
        kind: ValueKind::Word(&["even", "weighted"]),
        otherwise: Otherwise::Word("even"),
        example: "\"weighted\"",
    },
];

const READOUT: &[Key] = &[Key { otherwise: Otherwise::Number(AVERAGE as f64), ..AVERAGE_KEY }];

/// `algorithm = "noise-aware"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "noise-aware",
    also: &["noise-aware-pvi"],
    about: "Noise-aware PVI: every release is read as an observation of a sum, with noise of known variance.",
    keys: &[
        ROUNDS_KEY.otherwise(Otherwise::Number(ROUNDS as f64)),
        MOST_ROUNDS_KEY,
        Key { otherwise: Otherwise::Follows("0.15, or 0.25 where clients share one noise"), ..DAMPING_KEY },
        Key {
            name: "noise_aware",
            about: "the rule and its constants",
            kind: ValueKind::Table(CONSTANTS),
            otherwise: Otherwise::Nothing,
            example: "{ curvature = \"moments\" }",
        },
        Key {
            name: "readout",
            about: "how the served posterior is read out",
            kind: ValueKind::Table(READOUT),
            otherwise: Otherwise::Nothing,
            example: "{ average = 6 }",
        },
        Key {
            about: "whose parts of a client's rows are clipped (average, virtual, or perturb: all at once); left out, every row is",
            example: "\"average\"",
            ..SOLVER_KEY
        }
        .optional(),
        SITE_INTERCEPT_KEY,
    ],
    limits: Limits {
        covariances: Allowed { values: &[Covariance::MeanField], because: "its q is mean-field" },
        schedules: Allowed {
            values: &[Pacing::Sequential, Pacing::Synchronous],
            because: "it takes answers to its last question only",
        },
        units: ANY_UNIT,
        own_numbers: Allowed { values: AT_OWN_GATES, because: "where only sums are opened, all levels are in units of one clip" },
        needs: &[GAUSSIAN],
        ..Limits::NONE
    },
    read,
};

fn read(reading: &Reading<'_>) -> Result<Arc<dyn AlgorithmSettings>, Conflict> {
    let (keys, constants) = (&reading.keys, reading.keys.table("noise_aware", CONSTANTS));
    let each = reading.promise.is_some_and(|promise| promise.aggregator == Aggregator::None);
    let damping = if each { DAMPING_ALONE } else { DAMPING_SHARED };
    Ok(Arc::new(NoiseAwareSettings {
        constants: NoiseAwareConstants {
            curvature: curvature(&constants, reading)?,
            whitening: constants.number("whitening")?,
            floor: constants.number("floor")?,
            caution: constants.number("caution")?,
        },
        rounds: Rounds::read_or(keys, Some(ROUNDS))?,
        damping: Damping::read(keys, Some(damping))?,
        average: keys.table("readout", READOUT).small_count("average")?,
        site_intercept: site_intercept(keys)?,
        budget: if constants.word("budget")? == "weighted" { RoundBudget::Weighted } else { RoundBudget::Even },
        solver: keys.maybe_word("solver").map(|name| resolve::solver(reading, name)).transpose()?,
    }))
}

fn curvature(constants: &Keys<'_>, reading: &Reading<'_>) -> Result<Curvature, Conflict> {
    let every_round = constants.word("curvature")? == "every-round";
    let strays: &[&str] = if every_round { &["looks", "moment_bound", "budget"] } else { &["weight"] };
    if let Some(stray) = strays.iter().find(|key| constants.has(key)) {
        let what = format!("noise_aware.{stray} has no meaning for this curvature");
        return Err(constants.conflict(stray, STRAY, what, format!("leave {stray} out")));
    }
    if every_round {
        return Ok(Curvature::EveryRound { weight: constants.number("weight")? });
    }
    let clip = match reading.promise.and_then(|promise| promise.clip) {
        Some(Clip::Fixed(bound)) => MOMENTS_OF_CLIP * bound.get(),
        Some(Clip::TimesRate(_)) | None => UNBOUNDED,
    };
    let bound = constants.maybe_number("moment_bound")?.unwrap_or(clip);
    Ok(Curvature::Moments { looks: constants.small_count("looks")?, bound })
}

const OF_LINES: Need = Need {
    offer: Offer::LinearPredictor,
    key: "algorithm",
    whose: "the rule of second moments needs",
    hint: "use noise_aware = { curvature = \"every-round\" }",
};

impl NoiseAwareSettings {
    /// How the parts of a client's rows are solved; none where every row is clipped by itself.
    fn parts(&self) -> Option<PartSolver> {
        self.solver.as_ref().and_then(|solver| solver.of_parts())
    }

    /// Refuses solvers without parts, and what is known of rows and not of parts.
    fn check_parts(&self, method: &Method) -> Result<(), Conflict> {
        let Some(solver) = &self.solver else { return Ok(()) };
        let refuse = |key, what: &str, hint| Err(Conflict::new(key, NOT_TOGETHER, what, hint));
        if solver.of_parts().is_none() {
            let what =
                "noise-aware PVI clips rows, or what average, virtual and perturb clip, and this solver clips steps";
            return refuse("solver", what, "use solver = \"average\", \"virtual\" or \"perturb\", or leave solver out");
        }
        if let Curvature::Moments { .. } = self.constants.curvature {
            let what = "second moments are bounded row by row, and parts are clipped as a whole";
            return refuse("noise_aware.curvature", what, "use noise_aware = { curvature = \"every-round\" }");
        }
        if self.site_intercept.is_some() {
            let what = "parts solve the problem that all sites share, without a site-specific intercept";
            return refuse("site_intercept", what, "leave site_intercept out, or leave solver out");
        }
        solver.check(method.most_rounds())
    }

    /// The rounds, where the budget is divided by their weights.
    fn weighted(&self) -> Option<AveragedRounds> {
        match (self.budget, self.constants.curvature, self.rounds) {
            (RoundBudget::Weighted, Curvature::Moments { looks, .. }, Rounds::Count(rounds))
                if u64::from(looks) < rounds =>
            {
                Some(AveragedRounds { rounds, looks, kept: self.damping.get(), average: self.average })
            }
            _ => None,
        }
    }

    /// Refuses weights of rounds where they are not known before the run, or where a round is not one question to all sites.
    fn check_budget(&self, method: &Method) -> Result<(), Conflict> {
        let refuse = |what: &str, hint: &str| Err(Conflict::new("noise_aware.budget", NOT_TOGETHER, what, hint));
        match (self.budget, self.constants.curvature, self.rounds) {
            (RoundBudget::Even, ..) => Ok(()),
            (_, Curvature::EveryRound { .. }, _) => {
                refuse("a weighted budget is for the rule of second moments", "use budget = \"even\"")
            }
            (_, _, Rounds::UntilSpent { .. }) => {
                refuse("rounds until the budget is spent have no weights beforehand", "give a number of rounds")
            }
            (_, _, Rounds::Count(rounds)) if rounds > MOST_WEIGHTED_ROUNDS => refuse(
                &format!("{rounds} rounds, expected at most {MOST_WEIGHTED_ROUNDS} with a weighted budget"),
                "use fewer rounds, or budget = \"even\"",
            ),
            _ if method.schedule != Schedule::Synchronous => refuse(
                "a weighted budget gives every round a noise of its own, so that a round asks all sites at once",
                "use schedule = \"synchronous\", or budget = \"even\"",
            ),
            _ => Ok(()),
        }
    }
}

/// x under which three times the noise in the readout shrinks too much.
const LITTLE_INFORMATION: f64 = 1_500.0;

/// A study that states its clip was set by hand.
const BY_HAND: &[&str] = &["privacy.clip"];

impl NoiseAwareSettings {
    /// Settings for public numbers (`docs/explanation/settings.md`).
    fn for_numbers(&self, method: &Method, promise: &Promise, public: &PublicNumbers) -> Vec<Derived> {
        let k = public.nonzero_inputs();
        let moments = matches!(self.constants.curvature, Curvature::Moments { .. });
        let clip = if moments { public.clip(1.0, "") } else { public.clip(0.75, ", clipped with their precisions") };
        let (usual, whose) = match promise.aggregator {
            Aggregator::None => (DAMPING_ALONE, "every site adds its own noise"),
            Aggregator::Curator | Aggregator::SecureSum(_) => (DAMPING_SHARED, "sites share one noise"),
        };
        let damping = match 4.0 / k < usual {
            true => Derived::new("damping", rounded(4.0 / k), format!("4 / {k}: each row has {k} non-zero inputs")),
            false => Derived::new("damping", usual, whose),
        };
        let x = public.information(promise);
        let (caution, side) = if x < LITTLE_INFORMATION { (1.0, "under") } else { (3.0, "at least") };
        let caution = Derived::new(
            "noise_aware.caution",
            caution,
            format!("{} · ε / √sources is {x:.0}, {side} {LITTLE_INFORMATION}", counted(promise.unit)),
        );
        let rounds = Derived::new("rounds", ROUNDS as i64, "the decaying mean has settled by then");
        let average = Derived::new("readout.average", i64::from(AVERAGE), "the noise of the last rounds averages out");
        let countable = moments && method.schedule == Schedule::Synchronous && matches!(self.rounds, Rounds::Count(_));
        let why = "a round has noise by what it weighs in the served mean, which lowers the noise in it";
        let budget = countable.then(|| Derived::new("noise_aware.budget", "weighted", why).unless(BY_HAND));
        let rest = [damping, caution, average].map(|setting| setting.unless(BY_HAND));
        let clip = clip.filter(|_| self.solver.is_none());
        clip.into_iter().chain([rounds]).chain(rest).chain(budget).collect()
    }
}

impl AlgorithmSettings for NoiseAwareSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        self.solver.as_ref().map_or("residuals", |solver| solver.descriptor().name)
    }

    fn describe(&self) -> Description {
        let rule = match self.constants.curvature {
            Curvature::Moments { .. } => "moments",
            Curvature::EveryRound { .. } => "curvature of every round",
        };
        Description {
            algorithm: match &self.solver {
                None => format!("noise-aware by {rule}, residuals of all rows"),
                Some(solver) => format!("noise-aware by {rule}, {}", solver.describe()),
            },
            details: details(self.damping, Covariance::MeanField, self.site_intercept)
                .into_iter()
                .chain((!self.budget.is_even()).then(|| "budget weighted by rounds".to_owned()))
                .collect(),
            local: self.solver.as_ref().map_or("all rows in every round".into(), |solver| solver.describe_local()),
            readout: (self.average > 1).then(|| format!("mean of the last {} rounds", self.average)),
        }
    }

    fn intervals(&self) -> Intervals {
        match self.constants.curvature {
            Curvature::Moments { .. } => Intervals::count_noise(&MEASURED_A),
            Curvature::EveryRound { .. } => Intervals::count_noise(&MEASURED_B),
        }
    }

    fn rounds(&self) -> Rounds {
        self.rounds
    }

    /// With a weighted budget every round is a stage of its own: the looks together, then the rounds, the last as the main one.
    fn releases(&self, dimension: usize) -> Releases {
        let release = self.constants.release(dimension, self.parts());
        let openings = self.weighted().map(|rounds| rounds.openings(release)).unwrap_or_default();
        Releases { openings, ..release.into() }
    }

    fn limits(&self) -> Vec<(&'static str, Limits)> {
        let needs = match (self.constants.curvature, self.site_intercept) {
            (Curvature::Moments { .. }, _) => &[GAUSSIAN, OF_LINES][..],
            (Curvature::EveryRound { .. }, Some(_)) => WITH_INTERCEPT,
            (Curvature::EveryRound { .. }, None) => DESCRIPTOR.limits.needs,
        };
        // Without noise parts say what rows say.
        let free = |limits| Limits { privacy: PrivacyNeed::Optional, ..limits };
        let of_parts = self.solver.as_ref().map(|solver| (solver.descriptor().name, free(solver.limits())));
        [(DESCRIPTOR.name, Limits { needs, ..DESCRIPTOR.limits })].into_iter().chain(of_parts).collect()
    }

    fn check(&self, method: &Method) -> Result<(), Conflict> {
        check_own_precision(self.site_intercept)?;
        self.check_budget(method)?;
        self.check_parts(method)?;
        match self.constants.curvature {
            Curvature::Moments { looks, .. } if u64::from(looks) >= method.most_rounds() => {
                let what = "every round asks for second moments, and none is left for residuals";
                Err(Conflict::new("noise_aware.looks", NOT_TOGETHER, what, "use more rounds, or fewer looks"))
            }
            _ => Ok(()),
        }
    }

    fn site_intercept(&self) -> Option<f64> {
        self.site_intercept
    }

    fn weighs_by_rows(&self, _: bool) -> bool {
        true
    }

    fn approaches(&self) -> bool {
        true
    }

    fn clips_rows(&self) -> bool {
        self.solver.is_none()
    }

    fn derived(&self, method: &Method, public: &PublicNumbers) -> Vec<Derived> {
        method.promise.as_ref().map(|promise| self.for_numbers(method, promise, public)).unwrap_or_default()
    }

    fn derives_clip(&self) -> bool {
        self.solver.is_none()
    }

    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        Ok(Box::new(NoiseAware {
            problem: parts.problem.clone(),
            home: parts.home.cloned(),
            settings: self.constants,
            kept: self.damping.get(),
            average: self.average as usize,
            stages: sources(parts, self.parts()),
            parts: self.parts(),
            rows: parts.rows.iter().sum::<u64>() as f64,
            counts_rows: parts.inputs.intercept().filter(|_| parts.unit() == Unit::Person),
        }))
    }
}

/// Who releases, with what noise: that of a mean, where the sum over parts stands for one.
fn sources(parts: &Parts<'_>, solver: Option<PartSolver>) -> Vec<Vec<SourceTerms>> {
    let share = solver.map_or(1.0, |solver| 1.0 / solver.weight);
    let scaled = |source: SourceTerms| SourceTerms { deviation: share * source.deviation, ..source };
    parts.sources_by_stage().into_iter().map(|stage| stage.into_iter().map(scaled).collect()).collect()
}
