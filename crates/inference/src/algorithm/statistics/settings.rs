//! Regression by sufficient statistics as a study states it.
//!
//! ```toml
//! algorithm = "statistics"
//! statistics = { rule = "row-norm", bound = 7.5 }
//! ```
//!
//! Everything here is worked out before a run: what the two rounds release, whether the assumed bound
//! agrees with the schema, and how far one row moves each sum.

use super::rule::{UNSTATED_BOUND, cut};
use super::{Rule, Statistics};
use crate::algorithm::Protocol;
use crate::algorithm::pvi::{COVARIANCE_KEY, covariance};
use crate::client::Summing;
use crate::data::Schema;
use crate::describe::{
    Allowed, Conflict, Descriptor, Key, Limits, NOT_TOGETHER, Need, Offer, Otherwise, Pacing, PrivacyNeed, Reading,
    Registered, UNREADABLE, ValueKind, resolve,
};
use crate::method::{AlgorithmSettings, BoundWords, Description, Method, Parts};
use crate::public::{Derived, PublicNumbers};
use crate::regression::{MOST_INPUTS, SyntheticSearch};
use crate::release::{Bound, BudgetShare, Clipped, Numbers, OpeningRelease, Release, Releases};
use crate::settings::{Batching, Covariance, Promise, Rounds};
use crate::solve::{Problem, RowSums};
use crate::{Intervals, MeasuredCoverage, RunError, Terms};
use privacy::{Adjacency, Grain, NoiseMultiplier, PrivacyError, Shape, Unit};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// `algorithm = "statistics"`: a rule with its constants, and how its sums are read.
///
/// # Examples
/// ```
/// use inference::algorithm::statistics::rule::{Deviations, RowNorm};
/// use inference::algorithm::{StatisticsReading, StatisticsSettings};
/// use inference::method::AlgorithmSettings;
/// use inference::settings::Rounds;
/// use std::sync::Arc;
///
/// let rule = RowNorm { deviations: Deviations::Asked { bound: 7.5, share: 0.25 }, radius: 0.866 };
/// let settings = StatisticsSettings { rule: Arc::new(rule), reading: StatisticsReading::NoiseAware };
/// assert_eq!(settings.rounds(), Rounds::Count(2), "standard deviations first");
///
/// let releases = settings.releases(11);
/// assert_eq!(releases.openings[0].release.numbers.of(0), 12, "inputs and outcome");
/// assert_eq!(releases.main.numbers.of(0), 78, "the lower triangle of a 12 by 12 matrix");
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct StatisticsSettings {
    /// What of a row is released, and how it is bounded.
    #[serde(serialize_with = "by_name")]
    pub rule: Arc<dyn Rule>,
    /// How noisy statistics are read.
    pub reading: StatisticsReading,
}

/// What was measured of the noise-aware reading (`docs/maths/regression.md`).
const MEASURED: MeasuredCoverage = MeasuredCoverage {
    least: 84,
    most: 96,
    of: "the coefficients of normal rows (40 replicates of each of 24 cells) and of outcomes drawn with the inputs of wine (10 tables)",
};

/// A rule in canonical bytes: its name and its settings.
fn by_name<S: Serializer>(rule: &Arc<dyn Rule>, to: S) -> Result<S::Ok, S::Error> {
    let bytes = rule.canonical().map_err(serde::ser::Error::custom)?;
    (rule.descriptor().name, bytes).serialize(to)
}

/// How noisy statistics are read: from noisy sums to a posterior.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum StatisticsReading {
    /// The posterior given the *noisy* statistics (Bernstein and Sheldon 2019). For sums of clipped rows.
    NoiseAware,
    /// Eigenvalues clipped at 0 and a ridge as large as the noise.
    Ridge,
    /// The statistics taken at their word, with no more than a repair.
    Naive,
}

impl StatisticsReading {
    /// Its word in a study.
    fn word(self) -> &'static str {
        match self {
            Self::NoiseAware => "noise-aware",
            Self::Ridge => "ridge",
            Self::Naive => "naive",
        }
    }
}

/// `statistics`, beside the keys of its rule.
const STATISTICS: &[Key] = &[
    Key::new("rule", ValueKind::Named(Registered::Rule), "\"row-norm\"")
        .about("what of a row is released, and how it is bounded")
        .otherwise(Otherwise::Word("row-norm")),
    Key::new("reading", ValueKind::Word(&["noise-aware", "ridge", "naive"]), "\"noise-aware\"")
        .about("how the noisy sums are read; only noise-aware intervals count the noise")
        .otherwise(Otherwise::Follows("noise-aware with row-norm, naive with the other rules")),
];

/// `algorithm = "statistics"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "statistics",
    also: &["sufficient-statistics", "ssp"],
    about: "Linear regression from one noisy sum of sufficient statistics over all clients.",
    keys: &[
        Key::new("statistics", ValueKind::Table(STATISTICS), "{ rule = \"row-norm\", bound = 7.5 }")
            .about("the rule and its constants")
            .otherwise(Otherwise::Follows("the row-norm rule")),
        COVARIANCE_KEY.about("always full").otherwise(Otherwise::Word("full")),
    ],
    limits: Limits {
        privacy: PrivacyNeed::Required,
        schedules: Allowed { values: &[Pacing::Synchronous], because: "it asks all clients for one sum at once" },
        units: Allowed {
            values: &[Unit::Example, Unit::Person],
            because: "sufficient statistics bound what a row does, or a person, not what a whole client can change",
        },
        needs: &[Need {
            offer: Offer::GaussianLikelihood,
            key: "algorithm",
            whose: "sufficient statistics need",
            hint: "use algorithm = \"noise-aware\", \"pvi\" or \"global-vi\"",
        }],
        site_intercept: false,
        ..Limits::NONE
    },
    read,
};

/// Refuses a mean-field covariance; reads the rule and, where the study does not name one, its first
/// reading.
fn read(reading: &Reading<'_>) -> Result<Arc<dyn AlgorithmSettings>, Conflict> {
    if covariance(&reading.keys)? != Covariance::Full {
        let what = "a posterior by sufficient statistics has a full covariance";
        let hint = "leave covariance out, or use covariance = \"full\"";
        return Err(Conflict::new("covariance", NOT_TOGETHER, what, hint));
    }
    let inner = reading.table("statistics", STATISTICS);
    let rule = resolve::rule(&inner, inner.keys.word("rule")?)?;
    let reading = match inner.keys.maybe_word("reading") {
        Some("noise-aware") => StatisticsReading::NoiseAware,
        Some("ridge") => StatisticsReading::Ridge,
        Some(_) => StatisticsReading::Naive,
        None => rule.readings().first().copied().unwrap_or(StatisticsReading::Naive),
    };
    Ok(Arc::new(StatisticsSettings { rule, reading }))
}

/// Part of a bound within which it is called equal to the schema's: both are rounded by hand.
const ALIKE: f64 = 1e-3;

impl StatisticsSettings {
    /// One sum over all rows, or one vector for each row where rows are noised by themselves.
    fn release(asked: &RowSums, d: usize) -> Release {
        let numbers = match asked {
            RowSums::Rows { .. } => Numbers::PerRow(d + 1),
            _ => Numbers::Fixed(asked.numbers(d, 1)),
        };
        let (grain, batch) = (Grain::Example, Batching::All);
        Release { grain, sums: 1, numbers, batch, clipped: Clipped::Statistics, bound: Bound::Unit }
    }

    /// What the rounds before the last one ask, with the share of the budget that each may cost.
    fn openings(&self, d: usize) -> Vec<(RowSums, BudgetShare)> {
        let bound = self.rule.assumed_bound().unwrap_or(1.0);
        let means = self.rule.means_share().map(|share| (RowSums::Totals { bound }, share));
        let deviations = self.rule.deviations_share().map(|share| (self.rule.asked(None, [1.0; 2], d), share));
        means.into_iter().chain(deviations).collect()
    }

    /// What the last round asks, with standard deviations of one.
    fn last(&self, d: usize) -> RowSums {
        self.rule.asked(Some(&vec![1.0; d + 1]), [1.0; 2], d)
    }
}

impl AlgorithmSettings for StatisticsSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        self.rule.descriptor().name
    }

    fn part_key(&self) -> &'static str {
        "statistics.rule"
    }

    fn describe(&self) -> Description {
        Description {
            algorithm: format!("sufficient statistics, {}, {} reading", self.rule.describe(), self.reading.word()),
            details: vec!["full covariance".into()],
            local: "all rows in every round".into(),
            readout: None,
        }
    }

    fn intervals(&self) -> Intervals {
        match self.reading {
            StatisticsReading::NoiseAware => Intervals::count_noise(&MEASURED),
            StatisticsReading::Ridge | StatisticsReading::Naive => Intervals::IgnoreNoise,
        }
    }

    /// One more where means are asked for first, and one where standard deviations are.
    fn rounds(&self) -> Rounds {
        Rounds::Count(self.openings(1).len() as u64 + 1)
    }

    fn covariance(&self) -> Covariance {
        Covariance::Full
    }

    /// The rounds for means and standard deviations, where there are any, and the last round.
    fn releases(&self, d: usize) -> Releases {
        let opening = |(asked, share): (RowSums, BudgetShare)| OpeningRelease {
            answers: 1,
            share,
            release: Self::release(&asked, d),
        };
        let openings = self.openings(d).into_iter().map(opening).collect();
        Releases { openings, ..Self::release(&self.last(d), d).into() }
    }

    fn limits(&self) -> Vec<(&'static str, Limits)> {
        vec![(DESCRIPTOR.name, DESCRIPTOR.limits), (self.rule.descriptor().name, self.rule.limits())]
    }

    /// Refuses a reading that does not know the noise of the rule's sums.
    fn check(&self, method: &Method) -> Result<(), Conflict> {
        self.rule.check()?;
        if method.unit() == Unit::Person && self.reading == StatisticsReading::NoiseAware {
            let what = "the noise-aware reading counts rows that are clipped one by one, and the number of rows is private \
                        where persons are protected";
            return Err(Conflict::new(
                "statistics.reading",
                NOT_TOGETHER,
                what,
                "use reading = \"ridge\" or \"naive\"",
            ));
        }
        if self.rule.readings().contains(&self.reading) {
            return Ok(());
        }
        let words: Vec<String> = self.rule.readings().iter().map(|reading| format!("\"{}\"", reading.word())).collect();
        let what = format!(
            "rule {} has sums whose noise the {} reading does not know",
            self.rule.descriptor().name,
            self.reading.word()
        );
        let hint = format!("use reading = {}, or rule = \"row-norm\"", words.join(" or "));
        Err(Conflict::new("statistics.reading", NOT_TOGETHER, what, hint))
    }

    /// The noise-aware reading works with about d²/2 unknowns, so that there is a limit of inputs.
    fn check_size(&self, _: &Method, _: &[u64], dimension: usize) -> Result<(), Conflict> {
        if self.rule.assumed_bound() == Some(UNSTATED_BOUND) {
            let what = "the bound that inputs and outcome are assumed to have, as encoded, is missing, and no schema with bounds \
                        for every column is known";
            let hint = "statistics = { bound = 7.5 }; or bounds for every column of the schema; or deviations = \"known\" where \
                        the schema scales by them";
            return Err(Conflict::new("statistics", UNREADABLE, what, hint));
        }
        if self.reading != StatisticsReading::NoiseAware || dimension <= MOST_INPUTS {
            return Ok(());
        }
        let what = format!(
            "{dimension} inputs (an intercept is one), expected at most {MOST_INPUTS} for a noise-aware reading"
        );
        Err(Conflict::new("statistics.reading", NOT_TOGETHER, what, "use statistics = { reading = \"ridge\" }"))
    }

    fn check_shape(&self, shape: &Shape, adjacency: Adjacency) -> Result<(), PrivacyError> {
        self.last(1).check_shape(shape, adjacency)
    }

    /// An intercept is an input that is always 1; a bound under 1 would cut it.
    fn check_intercept(&self, there: bool) -> Result<(), Conflict> {
        match self.rule.assumed_bound() {
            Some(bound) if there && bound < 1.0 && self.rule.cuts_values() => Err(Conflict::new(
                "statistics.bound",
                NOT_TOGETHER,
                "the intercept is an input that is always 1, and a bound under 1 would cut it",
                "use a bound of at least 1, or leave the intercept out of the model (bias = false)",
            )),
            _ => Ok(()),
        }
    }

    fn weighs_by_rows(&self, _: bool) -> bool {
        true
    }

    fn bounded(&self, _: &Promise) -> BoundWords {
        self.rule.bounds()
    }

    /// Sums of values come before those of squares.
    fn opening_words(&self, k: usize, _: &Promise) -> String {
        match (self.openings(1).get(k), self.rule.assumed_bound()) {
            (Some((RowSums::Totals { .. }, _)), Some(bound)) => format!("sums of values, {}", cut(bound)),
            _ => self.rule.bounds().first_sums,
        }
    }

    /// The schema's bounds, rounded up; and the ridge, where there are too many inputs for a noise-aware reading.
    fn derived(&self, _: &Method, public: &PublicNumbers) -> Vec<Derived> {
        let bound = self.rule.assumed_bound().zip(public.reach.as_ref()).map(|(_, (column, reach))| {
            let bound = ((reach * 1e4).ceil() / 1e4).max(1.0);
            Derived::new("statistics.bound", bound, format!("no value is beyond it by the schema (`{column}`)"))
        });
        let inputs = public.inputs.width();
        let many = self.reading == StatisticsReading::NoiseAware && inputs > MOST_INPUTS;
        let ridge = (many && self.rule.readings().contains(&StatisticsReading::Ridge)).then(|| {
            let why = format!(
                "{inputs} inputs, the intercept among them: a noise-aware reading takes {MOST_INPUTS}; intervals are not shown"
            );
            Derived::new("statistics.reading", "ridge", why)
        });
        bound.into_iter().chain(ridge).collect()
    }

    /// A bound that is too small cuts values off, which may be meant: less noise for some bias. One that is too large costs
    /// noise and buys nothing.
    fn notes(&self, schema: &Schema) -> Vec<String> {
        let (Some(bound), (column, reach)) = (self.rule.assumed_bound(), schema.reach()) else { return Vec::new() };
        let up = (reach * 1e4).ceil() / 1e4;
        if !reach.is_finite() {
            return vec![format!("the schema has no bounds for `{column}`: values beyond ±{bound} are cut to it")];
        }
        if bound < reach * (1.0 - ALIKE) {
            let cut =
                format!("values reach ±{up} by the schema (`{column}`): those beyond the assumed ±{bound} are cut");
            return vec![cut];
        }
        if bound > reach * (1.0 + ALIKE) {
            return vec![format!(
                "no value is beyond ±{up} by the schema (`{column}`): statistics = {{ bound = {up} }} needs less noise than {bound}"
            )];
        }
        Vec::new()
    }

    /// How far one row moves each round's sum, for `plan`.
    fn sensitivities(&self, d: usize, adjacency: Adjacency) -> Vec<(&'static str, f64)> {
        let last = self.last(d);
        let scaled = last != self.rule.asked(Some(&vec![2.0; d + 1]), [1.0; 2], d);
        let rounds: Vec<RowSums> = self.openings(d).into_iter().map(|(asked, _)| asked).chain([last]).collect();
        let words = |asked: &RowSums| match asked {
            RowSums::Squares { .. } => "sums of squares",
            RowSums::Products { .. } if scaled => "products in units of the thresholds",
            RowSums::Products { .. } => "products",
            RowSums::Outer { .. } => "outer products in units of standard deviations",
            RowSums::Rows { .. } => "rows",
            RowSums::Totals { .. } | RowSums::Centred { .. } => "sums of values",
        };
        rounds.iter().map(|asked| (words(asked), asked.sensitivity(d, adjacency))).collect()
    }

    /// Thresholds of a rule that projects are found here, on synthetic data, from public numbers.
    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        let opening = |k: usize| -> Vec<Terms> {
            parts.openings.iter().filter_map(|of| of.get(k)).map(|opening| opening.terms.clone()).collect()
        };
        let openings = (0..self.openings(1).len()).map(opening);
        let (problem, terms) = (parts.problem, parts.terms);
        let of = |terms: &Terms| terms.event.noise_multiplier().map_or(0.0, NoiseMultiplier::get);
        let multiplier = terms.first().map_or(0.0, of);
        // The variance in all answers together, in units of the first one's.
        let times: f64 = match parts.summing {
            Summing::Nobody => {
                terms.iter().map(|own| if multiplier > 0.0 { (of(own) / multiplier).powi(2) } else { 1.0 }).sum()
            }
            summing => summing.times(terms.len()),
        };
        let search = SyntheticSearch {
            rows: usize::try_from(parts.rows.iter().sum::<u64>()).unwrap_or(usize::MAX),
            inputs: problem.family.dimension(),
            precision: typical_precision(problem),
            noise_variance: problem.model.outcome_variance().unwrap_or(1.0),
            noise_multiplier: multiplier * times.sqrt(),
        };
        Ok(Box::new(Statistics {
            problem: problem.clone(),
            rule: self.rule.clone(),
            reading: self.reading,
            adjacency: parts.adjacency,
            terms: openings.chain([terms.to_vec()]).collect(),
            summing: parts.summing,
            rows: parts.rows.to_vec(),
            thresholds: self.rule.thresholds(&search)?,
            intercept: parts.inputs.intercept(),
        }))
    }
}

/// The precision of a coefficient that synthetic data are drawn with: that of all coefficients, or their mean where they differ.
fn typical_precision(problem: &Problem) -> f64 {
    let d = problem.family.dimension();
    let of = |j: usize| -2.0 * problem.prior.0[problem.family.diagonal(j)];
    match (1..d).all(|j| of(j) == of(0)) {
        true => of(0),
        false => (0..d).map(of).sum::<f64>() / d as f64,
    }
}
