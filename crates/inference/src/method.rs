//! A method as meant: an algorithm with its settings, who is asked when, and what is promised.
//!
//! [`Method::read`] makes one of a table of a study. [`AlgorithmSettings`] is the trait by which the
//! planner, the builder, reports and the command line ask an algorithm about itself; nothing outside
//! an algorithm's own file asks which one it is.

mod description;

pub use description::{BoundWords, Description, DrawPlan};

use crate::algorithm::{Protocol, SiteProblem, SourceTerms};
use crate::client::Summing;
use crate::describe::{
    Canonical, Conflict, Descriptor, Key, Keys, Limits, Offer, Otherwise, Pacing, Reading, Registered, Registry,
    ValueKind, fits, resolve, validate,
};
use crate::expected::{ExpectedPosterior, ExpectedStudy};
use crate::public::{Derived, PublicNumbers};
use crate::release::Releases;
use crate::settings::{
    Aggregator, Covariance, DeltaRule, PRIVACY_KEYS, Promise, Rates, Rounds, Schedule, SitePromises,
};
use crate::solve::Problem;
use crate::{Family, InputLayout, Intervals, Opening, RunError, Schema, Terms};
use privacy::{Adjacency, Event, Grain, Grid, PrivacyError, Shape, Unit};
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use toml::Table;

/// One method of a study.
///
/// # Examples
/// Algorithms by their settings, without a study file:
/// ```
/// use inference::Method;
/// use inference::algorithm::{CommitteePrior, CommitteeSettings, GlobalViSettings};
/// use inference::method::AlgorithmSettings;
/// use inference::settings::{Covariance, Local, Optimiser, Repair, Rounds, Schedule, SitePromises};
/// use inference::solve::Clear;
/// use std::sync::Arc;
///
/// let method = |name: &str, algorithm: Arc<dyn AlgorithmSettings>, schedule| Method {
///     name: name.to_owned(),
///     algorithm,
///     schedule,
///     promise: None,
///     sites: SitePromises::default(),
/// };
/// let committee = CommitteeSettings {
///     solver: Arc::new(Clear { local: Local::whole_step() }),
///     prior: CommitteePrior::Split,
///     covariance: Covariance::Full,
///     repair: Repair::Project,
/// };
/// let global = GlobalViSettings {
///     local: Local { optimiser: Optimiser::Adam, learning_rate: 0.05, ..Local::whole_step() },
///     rounds: Rounds::Count(200),
/// };
/// let committee = method("committee", Arc::new(committee), Schedule::Synchronous);
/// let global = method("global", Arc::new(global), Schedule::Synchronous);
/// assert!(committee.check().is_ok() && global.check().is_ok());
/// assert_eq!((committee.most_rounds(), global.most_rounds()), (1, 200));
/// assert_eq!(committee.family(3).len(), 9, "three means and six numbers of a covariance");
/// ```
#[derive(Debug, Clone)]
pub struct Method {
    /// Name as in the study.
    pub name: String,
    /// What is asked, solved, released and learnt.
    pub algorithm: Arc<dyn AlgorithmSettings>,
    /// Who is asked when.
    pub schedule: Schedule,
    /// What is promised to whom; none for a method without privacy, chosen by name.
    pub promise: Option<Promise>,
    /// What single sites promise in place of it.
    pub sites: SitePromises,
}

/// Everything that is asked of an algorithm before it runs. Implemented by its settings, in its own
/// file.
///
/// Most methods of the trait have a default that suits an algorithm without peculiarities. What must
/// be stated: the descriptor, the name of its part, a description, when it ends, what it releases, and
/// how it is built.
pub trait AlgorithmSettings: fmt::Debug + Canonical + Send + Sync {
    /// How it is found and read.
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings>;

    /// The name of its solver, sampler or rule; of what it sends where it has none of these.
    fn part(&self) -> &'static str;

    /// The key that names that part.
    fn part_key(&self) -> &'static str {
        "solver"
    }

    /// The key that says how rows are drawn.
    fn batch_key(&self) -> &'static str {
        "local.batch"
    }

    /// What it does, for plans and reports: a line for the method, then lines for its details.
    fn describe(&self) -> Description;

    /// When it ends.
    fn rounds(&self) -> Rounds;

    /// What the intervals of its posterior are worth where noise is added, by these settings.
    fn intervals(&self) -> Intervals;

    /// Which Gaussians are served.
    fn covariance(&self) -> Covariance {
        Covariance::MeanField
    }

    /// What a client with so many parameters, its own included, releases.
    fn releases(&self, dimension: usize) -> Releases;

    /// What it can be combined with, and whose limits these are: its own, and those of its parts.
    fn limits(&self) -> Vec<(&'static str, Limits)> {
        vec![(self.descriptor().name, self.descriptor().limits)]
    }

    /// Refuses what is truly its own matter; everything else is checked by its limits and releases.
    fn check(&self, _method: &Method) -> Result<(), Conflict> {
        Ok(())
    }

    /// Refuses clients and parameters for which it has no meaning.
    fn check_size(&self, _method: &Method, _rows: &[u64], _dimension: usize) -> Result<(), Conflict> {
        Ok(())
    }

    /// Refuses a shape in which nothing is left for the rows.
    fn check_shape(&self, _shape: &Shape, _adjacency: Adjacency) -> Result<(), PrivacyError> {
        Ok(())
    }

    /// Refuses planned noise with which it has no meaning.
    fn check_noise(&self, _terms: &[Terms], _summing: Summing, _rows: &[u64]) -> Result<(), RunError> {
        Ok(())
    }

    /// Refuses inputs with an intercept where it would be cut, and without one where it is needed.
    fn check_intercept(&self, _there: bool) -> Result<(), Conflict> {
        Ok(())
    }

    /// Prior precision of a site-specific intercept, if sites have one.
    fn site_intercept(&self) -> Option<f64> {
        None
    }

    /// Numbers of a message of a client for so many shared parameters, where that is not a released sum.
    fn message_numbers(&self, _dimension: usize) -> Option<usize> {
        None
    }

    /// How its draws are counted, where it draws from the posterior.
    fn draws(&self) -> Option<DrawPlan> {
        None
    }

    /// Whether a weight, a rate or a divisor of it goes by declared rows; `summed` where only sums are opened.
    fn weighs_by_rows(&self, _summed: bool) -> bool {
        false
    }

    /// Whether what is served approaches a limit round by round, so that movement in the last round is worth a warning.
    fn approaches(&self) -> bool {
        false
    }

    /// Whether clients at local gates keep factors whose sum is the server's total: the state is then a
    /// [`PviState`](crate::algorithm::PviState), a client's memory a [`Remembered`](crate::algorithm::Remembered), and the law of
    /// factors holds.
    fn keeps_factors(&self) -> bool {
        false
    }

    /// Whether every row's own contribution is clipped to the promise's bound, so that the schema's ranges say what it should be.
    fn clips_rows(&self) -> bool {
        false
    }

    /// What a theorem asks for beside the accounting of one such update, and why it holds, a sentence each.
    fn conditions(&self, _event: &Event) -> Vec<String> {
        Vec::new()
    }

    /// What bounds a row's part of the sums, in words.
    fn bounded(&self, promise: &Promise) -> BoundWords {
        BoundWords::clipped(promise)
    }

    /// What the sums of the k-th opening are, in words; the bound is put in place of `{}`.
    fn opening_words(&self, _k: usize, promise: &Promise) -> String {
        self.bounded(promise).first_sums
    }

    /// What a reader of a plan should know, by the schema.
    fn notes(&self, _schema: &Schema) -> Vec<String> {
        Vec::new()
    }

    /// What each round releases, and how far one unit moves it, where that is worth a line of a plan.
    fn sensitivities(&self, _dimension: usize, _adjacency: Adjacency) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What its settings should be for these public numbers, where a study leaves them out, with the reason for each.
    fn derived(&self, _method: &Method, _public: &PublicNumbers) -> Vec<Derived> {
        Vec::new()
    }

    /// Whether [`AlgorithmSettings::derived`] has a clip, so that a study may leave it out.
    fn derives_clip(&self) -> bool {
        false
    }

    /// The posterior to expect before there are rows, from public numbers alone; none where the method has no forecast.
    fn expected_posterior(&self, _study: &ExpectedStudy<'_>) -> Option<ExpectedPosterior> {
        None
    }

    /// The parts that carry it out.
    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError>;
}

/// What an algorithm is built from: the model, and what was agreed with every client. All of it is
/// public, and fixed before the run.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// The model, the family and the prior.
    pub problem: &'a Problem,
    /// What the inputs that all sites share are.
    pub inputs: &'a InputLayout,
    /// The problem of a site with an intercept of its own; none where sites have none.
    pub home: Option<&'a SiteProblem>,
    /// What was agreed with each client.
    pub terms: &'a [Terms],
    /// What was agreed for the first answers of each client, where that differs.
    pub openings: &'a [Vec<Opening>],
    /// Declared rows of each client; persons, where these are the unit.
    pub rows: &'a [u64],
    /// Who adds up.
    pub summing: Summing,
    /// Between which data sets privacy is promised.
    pub adjacency: Adjacency,
    /// Seeds public coins.
    pub seed: u64,
}

/// Grid exponent of changes that are computed from released values: 2^-24 is far below any noise that made them.
const SENDING: i32 = 24;

impl Parts<'_> {
    /// Who is protected; rows, where nobody is.
    pub fn unit(&self) -> Unit {
        self.terms.first().map_or(Unit::Example, |terms| terms.event.unit())
    }

    /// The grid on which changes computed from released values travel.
    pub fn sending(&self) -> Result<Grid, RunError> {
        Ok(Grid::new(SENDING)?)
    }

    /// The finest grid of an answer.
    pub fn finest(&self) -> Result<Grid, RunError> {
        Ok(Grid::new(self.terms.iter().map(|t| i32::from(t.shape.grid())).fold(SENDING, i32::max))?)
    }

    /// Where releases come from, and the noise in them, for every opening and for what follows: every client, or the sum over
    /// all.
    pub(crate) fn sources_by_stage(&self) -> Vec<Vec<SourceTerms>> {
        let stages = self.openings.first().map_or(0, Vec::len);
        let opening = |k: usize| -> Vec<Terms> {
            self.openings.iter().filter_map(|of| of.get(k)).map(|opening| opening.terms.clone()).collect()
        };
        let before = (0..stages).map(|k| self.sources_on(&opening(k)));
        before.chain([self.sources_on(self.terms)]).collect()
    }

    /// The same on given terms of every client.
    fn sources_on(&self, terms: &[Terms]) -> Vec<SourceTerms> {
        let one = |terms: &Terms, weight: f64, times: f64| {
            let (deviation, moment_bound) = (times * terms.noise_deviation(), terms.non_negative_bound());
            SourceTerms { weight, deviation, moment_bound }
        };
        match (self.summing, terms.first()) {
            (Summing::Nobody, _) => terms.iter().map(|t| one(t, t.weight, 1.0)).collect(),
            (_, None) => Vec::new(),
            (_, Some(first)) => vec![one(first, 1.0, self.summing.times(terms.len()).sqrt())],
        }
    }
}

/// `privacy = "none"`: a method without privacy, by name.
pub const NO_PRIVACY: &str = "none";

/// Keys that every method has, beside those of its algorithm.
pub const METHOD_KEYS: &[Key] = &[
    Key::new("name", ValueKind::Text, "\"noise-aware\"").about("the name in results"),
    Key::new("algorithm", ValueKind::Named(Registered::Algorithm), "\"noise-aware\"")
        .about("what the server asks and how it learns from the answers"),
    Key::new("schedule", ValueKind::Word(&["sequential", "synchronous", "asynchronous"]), "\"synchronous\"")
        .about("who is asked when")
        .otherwise(Otherwise::Follows("the first that the algorithm goes with; with an aggregator, synchronous")),
    Key::new("rates", ValueKind::Word(&["equal", "inverse-rows"]), "\"equal\"")
        .about("how often clients come back in an asynchronous schedule")
        .otherwise(Otherwise::Word("equal")),
    Key::new(
        "privacy",
        ValueKind::Either(&[ValueKind::Table(PRIVACY_KEYS), ValueKind::Word(&[NO_PRIVACY])]),
        "{ epsilon = 1.0, clip = 2.0 }",
    )
    .about("what is promised to whom; \"none\" is a method without privacy in a study that has a [privacy] of its own")
    .otherwise(Otherwise::Follows("[privacy] of the study; without one the method is non-private")),
];

impl Method {
    /// What the intervals of its posterior are worth: without a promise there is no noise to count.
    pub fn intervals(&self) -> Intervals {
        if self.promise.is_none() { Intervals::WithoutNoise } else { self.algorithm.intervals() }
    }

    /// Reads and checks a `[[method]]`.
    ///
    /// What the method needs of a model is not checked yet: see [`Method::check_model`].
    ///
    /// # Errors
    /// Everything that is wrong with it, at once: conflicts of the keys ([`validate`]); or, where every key
    /// is sound by itself, the first reason why they do not go together.
    pub fn read(table: &Table, registry: &Registry) -> Result<Self, Vec<Conflict>> {
        let mut found = validate(table, METHOD_KEYS, registry);
        let privacy = table.get("privacy").and_then(toml::Value::as_table);
        if let Some(former) = privacy.and_then(Promise::former_words) {
            found.retain(|conflict| conflict.key != former.key);
            found.push(former);
        }
        // A promise needs an ε, unless a key that nobody knows was meant to be it.
        let known = |name: &String| PRIVACY_KEYS.iter().any(|key| key.name == name);
        if privacy.is_some_and(|privacy| !privacy.contains_key("epsilon") && privacy.keys().all(known)) {
            found.extend(Keys::new(table, METHOD_KEYS).table("privacy", PRIVACY_KEYS).number("epsilon").err());
        }
        if !found.is_empty() {
            return Err(found);
        }
        let one = |conflict: Conflict| vec![conflict];
        let keys = Keys::new(table, METHOD_KEYS);
        let (promise, sites) = match keys.is_table("privacy") {
            true => {
                let privacy = keys.table("privacy", PRIVACY_KEYS);
                (Some(Promise::read(&privacy).map_err(one)?), SitePromises::read(&privacy).map_err(one)?)
            }
            false => (None, SitePromises::default()),
        };
        let reading = Reading { keys, promise: promise.as_ref(), registry };
        let algorithm = resolve::algorithm(&reading, keys.word("algorithm").map_err(one)?).map_err(one)?;
        let schedule = schedule(&keys, algorithm.as_ref(), promise.as_ref()).map_err(one)?;
        let method = Self { name: keys.word("name").map_err(one)?.to_owned(), algorithm, schedule, promise, sites };
        fits(&method, None).map_err(one)?;
        Ok(method)
    }

    /// Refuses a method whose parts do not go together.
    ///
    /// # Errors
    /// The first conflict: a limit of a part, what the algorithm itself refuses, rounds without an end, or a
    /// release that no theorem covers under the promise.
    pub fn check(&self) -> Result<(), Conflict> {
        fits(self, None)
    }

    /// Refuses a method that needs what a model does not offer, and whatever [`Method::check`] refuses.
    ///
    /// # Errors
    /// The first conflict, at the key that asks for the offer.
    pub fn check_model(&self, offers: &[Offer]) -> Result<(), Conflict> {
        fits(self, Some(offers))
    }

    /// How many parameters a site has for itself.
    pub fn own_parameters(&self) -> usize {
        usize::from(self.algorithm.site_intercept().is_some())
    }

    /// Rounds after which the schedule ends in any case.
    pub fn most_rounds(&self) -> u64 {
        match self.algorithm.rounds() {
            Rounds::Count(rounds) => rounds,
            Rounds::UntilSpent { at_most } => at_most,
        }
    }

    /// The family of what is served, for so many parameters.
    pub fn family(&self, dimension: usize) -> Family {
        self.algorithm.covariance().family(dimension)
    }

    /// Who is protected; rows, where nobody is.
    pub fn unit(&self) -> Unit {
        self.promise.map_or(Unit::Example, |promise| promise.unit)
    }

    /// True if a row or person more or less, which is private under add-remove, changes a rate, a weight or δ of this method.
    pub fn goes_by_private_rows(&self) -> bool {
        let Some(promise) = &self.promise else { return false };
        let private = promise.unit != Unit::Client && promise.adjacency == Adjacency::AddRemove;
        let batch = self.algorithm.releases(1).main.batch.goes_by_rows();
        let delta = promise.delta == DeltaRule::PowerOfTenBelowRows;
        let rates = self.schedule == Schedule::Asynchronous(Rates::InverseRows);
        let summed = promise.aggregator != Aggregator::None;
        private && (batch || delta || rates || self.algorithm.weighs_by_rows(summed))
    }

    /// True if rows are dealt to parts and may come and go, so that a part must follow from a row's record id.
    pub fn needs_record_ids(&self) -> bool {
        let by_parts = matches!(self.algorithm.releases(1).main.grain, Grain::Part { .. });
        by_parts && self.promise.is_some_and(|p| p.unit == Unit::Example && p.adjacency == Adjacency::AddRemove)
    }
}

impl PartialEq for Method {
    /// Methods are equal where their canonical bytes are.
    fn eq(&self, other: &Self) -> bool {
        matches!((self.canonical(), other.canonical()), (Ok(ours), Ok(theirs)) if ours == theirs)
    }
}

impl Serialize for Method {
    /// Name, algorithm by name and bytes, schedule and promise, with those of single sites where there are any: what runs are told
    /// apart by.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.algorithm.canonical().map_err(serde::ser::Error::custom)?;
        let shared = (&self.name, self.algorithm.descriptor().name, bytes, self.schedule, self.promise);
        match self.sites.is_empty() {
            true => shared.serialize(serializer),
            false => (shared, &self.sites).serialize(serializer),
        }
    }
}

/// The schedule that the study names, or the first that the algorithm goes with: all at once where somebody adds up.
fn schedule(
    keys: &Keys<'_>,
    algorithm: &dyn AlgorithmSettings,
    promise: Option<&Promise>,
) -> Result<Schedule, Conflict> {
    let goes_with = algorithm.descriptor().limits.schedules.values;
    let summed = promise.is_some_and(|promise| promise.aggregator != Aggregator::None);
    let usual = match goes_with.first() {
        _ if summed && goes_with.contains(&Pacing::Synchronous) => Pacing::Synchronous.word(),
        first => first.map_or("sequential", |pacing| pacing.word()),
    };
    let word = keys.maybe_word("schedule").unwrap_or(usual);
    if word != Pacing::Asynchronous.word() && keys.has("rates") {
        return Err(keys.conflict(
            "rates",
            crate::describe::STRAY,
            "only an asynchronous schedule has rates",
            "leave rates out",
        ));
    }
    Ok(match word {
        "synchronous" => Schedule::Synchronous,
        "asynchronous" if keys.word("rates")? == "inverse-rows" => Schedule::Asynchronous(Rates::InverseRows),
        "asynchronous" => Schedule::Asynchronous(Rates::Equal),
        _ => Schedule::Sequential,
    })
}
