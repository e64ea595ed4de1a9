//! Partitioned variational inference as a study states it.
//!
//! Keys that other algorithms share with it are constants here: `solver`, `covariance`,
//! `site_intercept`, `readout`. The settings decide, before a run, which cavity clients use: their own
//! factor at local gates, their share of the total where only sums are opened.

use super::{Cavity, Pvi};
use crate::algorithm::Protocol;
use crate::client::Summing;
use crate::describe::{
    ANY_UNIT, Conflict, Descriptor, Key, Keys, Limits, NOT_TOGETHER, Need, Offer, Otherwise, Registered, STRAY,
    ValueKind, resolve,
};
use crate::method::{AlgorithmSettings, Description, Method, Parts};
use crate::public::{Derived, PublicNumbers};
use crate::release::Releases;
use crate::settings::{
    Aggregator, Covariance, DAMPING_KEY, Damping, FactorRule, MOST_ROUNDS_KEY, NoiseReading, ROUNDS_KEY, Readout,
    Repair, Rounds,
};
use crate::solve::LocalSolve;
use crate::{Intervals, MeasuredCoverage, RunError};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// `algorithm = "pvi"`: the settings of partitioned variational inference.
///
/// ```toml
/// [[method]]
/// name = "virtual clients"
/// algorithm = "pvi"
/// solver = "virtual"
/// parts = 100
/// rounds = 15
/// damping = 0.1
/// local = { steps = 5, optimiser = "adam", learning_rate = 0.02 }
/// privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-5, clip = 2.0 }
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct PviSettings {
    /// How a client moves its factor.
    #[serde(serialize_with = "by_name")]
    pub solver: Arc<dyn LocalSolve>,
    /// When it ends.
    pub rounds: Rounds,
    /// How much of a change is kept.
    pub damping: Damping,
    /// Mean-field or full covariance.
    pub covariance: Covariance,
    /// What a client does with its own factor where noise made its precision negative.
    pub factor: FactorRule,
    /// How the served q is read out of the total.
    pub readout: Readout,
    /// Prior precision of a site-specific intercept, which never leaves its site; none without one.
    pub site_intercept: Option<f64>,
}

/// A solver in canonical bytes: its name and its settings.
pub(in crate::algorithm) fn by_name<S: Serializer>(solver: &Arc<dyn LocalSolve>, to: S) -> Result<S::Ok, S::Error> {
    let bytes = solver.canonical().map_err(serde::ser::Error::custom)?;
    (solver.descriptor().name, bytes).serialize(to)
}

/// `solver`
pub(in crate::algorithm) const SOLVER_KEY: Key =
    Key::new("solver", ValueKind::Named(Registered::Solver), "\"dp-optimisation\"")
        .about("how a client solves its local problem, and where noise enters");

/// `covariance`
pub(in crate::algorithm) const COVARIANCE_KEY: Key =
    Key::new("covariance", ValueKind::Word(&["mean-field", "full"]), "\"full\"")
        .about("which Gaussians are served: independent coordinates, or any covariance")
        .otherwise(Otherwise::Word("mean-field"));

/// `site_intercept`
pub(in crate::algorithm) const SITE_INTERCEPT_KEY: Key = Key::new(
    "site_intercept",
    ValueKind::Table(&[
        Key::new("precision", ValueKind::Within { least: 1e-6, most: 1e6 }, "1.0").about("precision of its prior")
    ]),
    "{ precision = 1.0 }",
)
.about("a site-specific intercept, which never leaves its site")
.optional();

/// `readout.repair`
const REPAIR_KEY: Key = Key::new(
    "repair",
    ValueKind::Either(&[
        ValueKind::Word(&["project"]),
        ValueKind::Table(&[Key::new("floor", ValueKind::Positive, "1e-3").about("the least precision that is served")]),
    ]),
    "{ floor = 1e-3 }",
)
.about("what is done with a precision that noise made too small")
.otherwise(Otherwise::Word("project"));

/// `readout.average`
pub(in crate::algorithm) const AVERAGE_KEY: Key =
    Key::new("average", ValueKind::Count { least: 1, most: u32::MAX as u64 }, "5")
        .about("serve the mean of the natural parameters of so many last rounds")
        .otherwise(Otherwise::Number(1.0));

/// `readout`
const READOUT_KEYS: &[Key] = &[
    REPAIR_KEY,
    AVERAGE_KEY,
    Key::new("noise", ValueKind::Word(&["plain", "aware"]), "\"aware\"")
        .about("whether the readout counts the noise of the total, which DP optimisation with Adam knows")
        .otherwise(Otherwise::Word("plain")),
];

/// `readout` of algorithms that repair a total and average nothing.
pub(in crate::algorithm) const REPAIR_TABLE: Key =
    Key::new("readout", ValueKind::Table(&[REPAIR_KEY]), "{ repair = { floor = 1e-3 } }")
        .about("how the served posterior is read out of the total")
        .optional();

/// `algorithm = "pvi"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "pvi",
    also: &["dp-pvi", "partitioned-variational-inference"],
    about: "Partitioned variational inference: every client refines a factor of its own (Ashman et al. 2022).",
    keys: &[
        SOLVER_KEY,
        ROUNDS_KEY.otherwise(Otherwise::Follows("10 with dp-optimisation; required with other solvers")),
        MOST_ROUNDS_KEY,
        DAMPING_KEY,
        COVARIANCE_KEY,
        Key::new("factor", ValueKind::Word(&["free", "project", "reset", "absolute"]), "\"project\"")
            .about("what a client does with its released factor where noise made its precision negative")
            .otherwise(Otherwise::Word("free")),
        Key::new("readout", ValueKind::Table(READOUT_KEYS), "{ repair = \"project\", average = 5 }")
            .about("how the served posterior is read out of the total")
            .optional(),
        SITE_INTERCEPT_KEY,
    ],
    limits: Limits { units: ANY_UNIT, needs: &[GAUSSIAN], ..Limits::NONE },
    read: |reading| {
        let keys = &reading.keys;
        let readout = keys.table("readout", READOUT_KEYS);
        let solver = resolve::solver(reading, keys.word("solver")?)?;
        Ok(Arc::new(PviSettings {
            rounds: Rounds::read_or(keys, solver.starting_rounds())?,
            solver,
            damping: Damping::read(keys, None)?,
            covariance: covariance(keys)?,
            factor: match keys.word("factor")? {
                "project" => FactorRule::Project,
                "reset" => FactorRule::Reset,
                "absolute" => FactorRule::Absolute,
                _ => FactorRule::Free,
            },
            readout: Readout {
                repair: repair(&readout)?,
                average: readout.small_count("average")?,
                noise: if readout.word("noise")? == "aware" { NoiseReading::Aware } else { NoiseReading::Plain },
            },
            site_intercept: site_intercept(keys)?,
        }))
    },
};

/// What is served as a Gaussian must be near one.
pub(in crate::algorithm) const GAUSSIAN: Need = Need {
    offer: Offer::GaussianPosterior,
    key: "algorithm",
    whose: "a Gaussian q needs",
    hint: "use algorithm = \"chain\"",
};
/// A site-specific intercept is a coefficient of one more input.
const LINEAR: Need = Need {
    offer: Offer::LinearPredictor,
    key: "site_intercept",
    whose: "a site-specific intercept needs",
    hint: "leave site_intercept out",
};

/// What an algorithm with a site-specific intercept needs of a model.
pub(in crate::algorithm) const WITH_INTERCEPT: &[Need] = &[GAUSSIAN, LINEAR];

/// A site-specific intercept is one more coordinate of a mean-field q.
pub(in crate::algorithm) const INTERCEPT_COVARIANCE: crate::describe::Allowed<Covariance> = crate::describe::Allowed {
    values: &[Covariance::MeanField],
    because: "with a site-specific intercept q is mean-field",
};

/// The family by its word.
pub(in crate::algorithm) fn covariance(keys: &Keys<'_>) -> Result<Covariance, Conflict> {
    Ok(if keys.word("covariance")? == "full" { Covariance::Full } else { Covariance::MeanField })
}

/// `repair = "project"`, or `repair = { floor = 1e-3 }`.
pub(in crate::algorithm) fn repair(readout: &Keys<'_>) -> Result<Repair, Conflict> {
    match readout.is_table("repair") {
        true => Ok(Repair::Floor(readout.table("repair", &[]).number("floor")?)),
        false => Ok(Repair::Project),
    }
}

/// The prior precision of a site-specific intercept, where the study has one.
pub(in crate::algorithm) fn site_intercept(keys: &Keys<'_>) -> Result<Option<f64>, Conflict> {
    keys.has("site_intercept").then(|| keys.table("site_intercept", &[]).number("precision")).transpose()
}

/// Refuses a prior of a site-specific intercept that is next to nothing, or next to a constant.
pub(in crate::algorithm) fn check_own_precision(site_intercept: Option<f64>) -> Result<(), Conflict> {
    match site_intercept {
        Some(precision) if !(1e-6..=1e6).contains(&precision) => {
            let what = format!("site_intercept.precision is {precision}, expected a number from 1e-6 to 1e6");
            Err(Conflict::new("site_intercept.precision", crate::describe::VALUE, what, "for example 1.0"))
        }
        _ => Ok(()),
    }
}

/// The details that stand behind schedule and rounds.
pub(in crate::algorithm) fn details(damping: Damping, covariance: Covariance, own: Option<f64>) -> Vec<String> {
    let full = (covariance == Covariance::Full).then(|| "full covariance".to_owned());
    let own = own.map(|precision| format!("site-specific intercept with prior precision {precision}"));
    [damping.words()].into_iter().chain(full).chain(own).collect()
}

/// How a total becomes a served posterior, where that is not the default.
pub(in crate::algorithm) fn repair_words(repair: Repair) -> Option<String> {
    match repair {
        Repair::Project => None,
        Repair::Floor(floor) => Some(format!("precision at least {floor}")),
    }
}

/// What was measured of the noise-aware readout: `posterity reproduce coverage-methods`.
const MEASURED: MeasuredCoverage =
    MeasuredCoverage { least: 80, most: 100, of: "the coefficients of made-up rows (20 replicates of six cells)" };

impl AlgorithmSettings for PviSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        self.solver.descriptor().name
    }

    fn describe(&self) -> Description {
        let factor = match self.factor {
            FactorRule::Free => None,
            FactorRule::Project => Some("clients hold their factors at precision 0 or more".to_owned()),
            FactorRule::Reset => Some("clients reset a factor's coordinate where its precision is negative".to_owned()),
            FactorRule::Absolute => Some("clients take the absolute value of a factor's negative precision".to_owned()),
        };
        let average = (self.readout.average > 1).then(|| format!("mean of the last {} rounds", self.readout.average));
        let noise = (self.readout.noise == NoiseReading::Aware).then(|| "noise-aware readout".to_owned());
        let readout: Vec<String> =
            factor.into_iter().chain(repair_words(self.readout.repair)).chain(average).chain(noise).collect();
        Description {
            algorithm: format!("pvi, {}", self.solver.describe()),
            details: details(self.damping, self.covariance, self.site_intercept),
            local: self.solver.describe_local(),
            readout: (!readout.is_empty()).then(|| readout.join(", ")),
        }
    }

    fn intervals(&self) -> Intervals {
        match self.readout.noise {
            NoiseReading::Aware => Intervals::count_noise(&MEASURED),
            NoiseReading::Plain => Intervals::IgnoreNoise,
        }
    }

    fn rounds(&self) -> Rounds {
        self.rounds
    }

    fn covariance(&self) -> Covariance {
        self.covariance
    }

    fn releases(&self, dimension: usize) -> Releases {
        self.solver.releases(self.covariance.family(dimension))
    }

    /// Its own, and those of its solver. With a site-specific intercept q is mean-field, and the model needs
    /// a linear predictor.
    fn limits(&self) -> Vec<(&'static str, Limits)> {
        let own = match self.site_intercept {
            None => DESCRIPTOR.limits,
            Some(_) => Limits { needs: WITH_INTERCEPT, covariances: INTERCEPT_COVARIANCE, ..DESCRIPTOR.limits },
        };
        vec![(DESCRIPTOR.name, own), (self.solver.descriptor().name, self.solver.limits())]
    }

    /// Refuses a rule for factors where only sums are opened, a reused likelihood until the budget is spent
    /// (it never is), and the noise-aware readout of a solver whose noise is not known.
    fn check(&self, method: &Method) -> Result<(), Conflict> {
        self.solver.check(method.most_rounds())?;
        let summed = method.promise.is_some_and(|promise| promise.aggregator != Aggregator::None);
        if summed && self.factor != FactorRule::Free {
            let what = "where only sums are opened, a client has no factor of its own";
            return Err(Conflict::new("factor", STRAY, what, "leave factor out; readout.repair mends the total"));
        }
        if self.factor != FactorRule::Free && self.covariance == Covariance::Full {
            let what =
                "a rule for factors holds coordinate by coordinate, and with a full covariance these are correlated";
            return Err(Conflict::new("factor", NOT_TOGETHER, what, "leave factor out, or use a mean-field q"));
        }
        if self.releases(1).reused && matches!(self.rounds, Rounds::UntilSpent { .. }) {
            let what = "a likelihood is paid for once and then answers for free: the budget is never spent";
            return Err(Conflict::new("rounds", NOT_TOGETHER, what, "give a number of rounds"));
        }
        check_own_precision(self.site_intercept)?;
        if self.readout.noise == NoiseReading::Aware && !self.solver.tracks_noise() {
            let what = "the noise-aware readout is for PVI by DP optimisation with Adam, whose noise it knows";
            return Err(Conflict::new("readout.noise", NOT_TOGETHER, what, "leave noise out of the readout"));
        }
        Ok(())
    }

    fn site_intercept(&self) -> Option<f64> {
        self.site_intercept
    }

    fn message_numbers(&self, dimension: usize) -> Option<usize> {
        Some(self.covariance.family(dimension).len())
    }

    fn weighs_by_rows(&self, summed: bool) -> bool {
        summed
    }

    fn keeps_factors(&self) -> bool {
        true
    }

    fn approaches(&self) -> bool {
        !self.releases(1).reused
    }

    fn clips_rows(&self) -> bool {
        self.solver.takes_noisy_steps()
    }

    /// What the solver says.
    fn derived(&self, method: &Method, public: &PublicNumbers) -> Vec<Derived> {
        method.promise.as_ref().map(|promise| self.solver.derived(promise, public)).unwrap_or_default()
    }

    fn derives_clip(&self) -> bool {
        self.solver.starting_rounds().is_some()
    }

    /// The cavity follows from who adds up. Where only sums are opened the solver's weight is part of what
    /// is kept, since nobody else divides by K.
    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        let own = parts.summing == Summing::Nobody;
        let (cavity, weight) =
            if own { (Cavity::OwnFactor, 1.0) } else { (Cavity::ShareOfTotal, self.solver.weight()) };
        let kept = Damping::new(self.damping.get() * weight).ok_or_else(|| {
            let what = "damping divided by the number of parts is under 2^-21";
            Conflict::new("damping", crate::describe::VALUE, what, "use less damping or fewer parts")
        })?;
        let wander = match self.readout.noise {
            NoiseReading::Plain => Vec::new(),
            NoiseReading::Aware => parts.terms.iter().filter_map(|t| self.solver.noise_of_means(t)).collect(),
        };
        Ok(Box::new(Pvi {
            problem: parts.problem.clone(),
            home: parts.home.cloned(),
            solver: self.solver.clone(),
            cavity,
            factor: self.factor,
            kept,
            readout: self.readout,
            wander,
            finest: parts.finest()?,
            sending: parts.sending()?,
        }))
    }
}
