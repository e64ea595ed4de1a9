//! A model as a study states it: its settings, its stored form, the names of its coefficients.
//!
//! `[model]` names a kind, whose keys stand beside it, an intercept and a prior. What a posterior file
//! stores is the same keys ([`stored`]), so that a prediction builds the same model ([`restored`]).

use super::Model;
use crate::conjugate::ConjugateFamily;
use crate::data::{OutcomeKind, Schema};
use crate::describe::{
    Canonical, Conflict, Descriptor, Key, Keys, Otherwise, Reading, Registered, Registry, ValueKind, resolve, validate,
};
use crate::effects::EffectScale;
use crate::prior::{PRIOR_KEYS, StudyPrior};
use privacy::Unit;
use std::fmt;
use std::sync::Arc;
use toml::{Table, Value};

/// Which outcomes a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeNeed {
    /// A number.
    Number,
    /// Two levels.
    TwoLevels,
    /// Two or more levels.
    Levels,
    /// A whole number from 0 to a bound, as it is.
    Count,
}

impl OutcomeNeed {
    /// Whether an outcome of so many levels is one of these; none is a number.
    pub fn takes(self, levels: Option<usize>) -> bool {
        match (self, levels) {
            (Self::Number | Self::Count, None) | (Self::TwoLevels, Some(2)) => true,
            (Self::Levels, Some(levels)) => levels >= 2,
            _ => false,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Number => "an outcome that is a number",
            Self::TwoLevels => "an outcome of two levels",
            Self::Levels => "an outcome of levels",
            Self::Count => "an outcome that is a count: a number with bounds from 0, centre 0 and scale 1",
        }
    }

    /// Whether outcomes are numbers.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Number | Self::Count)
    }

    /// Whether the outcome of a schema is one of these.
    pub fn takes_outcome(self, schema: &Schema) -> bool {
        let counts = match &schema.outcome().kind {
            OutcomeKind::Number(number) => {
                let from_0 = number.bounds.is_some_and(|(low, _)| low == 0.0);
                from_0 && number.centre == 0.0 && number.scale == 1.0 && !number.log
            }
            OutcomeKind::Classes(_) => false,
        };
        self.takes(schema.classes()) && (self != Self::Count || counts)
    }
}

/// The settings of a model, from which it is made once the outcome is known. Implemented in the model's own file.
pub trait ModelSettings: fmt::Debug + Canonical + Send + Sync {
    /// How it is found and read.
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings>;

    /// What it is, in words.
    fn describe(&self) -> String {
        self.descriptor().name.to_owned()
    }

    /// Which outcomes it is for.
    fn outcome(&self) -> OutcomeNeed;

    /// The model for an outcome of so many levels; none is a number. The seed is where means start that must differ.
    fn build(&self, levels: Option<usize>, seed: u64) -> Arc<dyn Model>;

    /// The keys of a study that read these settings again: what is stored beside a posterior.
    fn keys(&self) -> Table {
        Table::new()
    }

    /// Names of the coefficients, given those of the inputs and of the outcome's levels; none where they have no names.
    fn names(&self, inputs: &[String], _levels: &[String]) -> Vec<String> {
        inputs.to_vec()
    }

    /// The scale on which a linear predictor's coefficients are told to readers; none where coefficients are no effects of inputs.
    fn effect_scale(&self) -> Option<EffectScale> {
        None
    }

    /// Root mean square of a row's residual at the prior's mean, given that of the outcome, by which the inputs scale its
    /// gradient; none where the inputs alone do not scale it.
    fn typical_residual(&self, _outcome: Option<f64>) -> Option<f64> {
        None
    }

    /// The same model with another variance of the outcome around its mean, where it has one.
    fn with_outcome_variance(&self, _variance: f64) -> Option<Arc<dyn ModelSettings>> {
        None
    }

    /// The variance of each component of a mixture, from which rows can be made up; none of other models.
    fn component_variance(&self) -> Option<f64> {
        None
    }

    /// The method of a study that names none and promises this, as the TOML of a `[[method]]` without name and privacy; none
    /// where a study has to choose. What it leaves out must have a default, or follow from public numbers.
    fn default_method(&self, _of: DefaultSetting) -> Option<&'static str> {
        None
    }

    /// Its conjugate family for an outcome of so many levels, from which rows can be made up; none of other models.
    fn conjugate_family(&self, _levels: Option<usize>) -> Option<Arc<dyn ConjugateFamily>> {
        None
    }

    /// Whether the prior is stated by its own keys, so that a study's `prior` has no meaning.
    fn states_its_prior(&self) -> bool {
        false
    }

    /// Whether it looks at inputs, so that an intercept may be among them.
    fn has_inputs(&self) -> bool {
        true
    }
}

/// What a server opens of its sites' answers, which decides how much noise is in their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedAnswers {
    /// Every site's own, noised by itself.
    OfEachSite,
    /// Only their sum, with the noise of one: there is an aggregator.
    SumOnly,
}

/// What a study promises, as far as a model's default method depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultSetting {
    /// Who is protected.
    pub unit: Unit,
    /// What is opened.
    pub opened: OpenedAnswers,
}

/// The model of a study: a likelihood, an intercept or not, and the prior.
#[derive(Debug, Clone)]
pub struct StudyModel {
    /// The likelihood.
    pub settings: Arc<dyn ModelSettings>,
    /// Whether an intercept is among the inputs.
    pub intercept: bool,
    /// What is known of the coefficients before any row.
    pub prior: StudyPrior,
}

/// `[model]`, beside the keys of its kind.
pub const MODEL_KEYS: &[Key] = &[
    Key::new("kind", ValueKind::Named(Registered::Model), "\"logistic\"").about("the likelihood"),
    Key::new("bias", ValueKind::Flag, "true")
        .about("whether an intercept is added to the inputs")
        .otherwise(Otherwise::Flag(true)),
    Key::new("prior", ValueKind::Table(PRIOR_KEYS), "{ precision = 1.0 }")
        .about("the prior of the coefficients: N(0, 1/precision) for each, or what is known of them")
        .otherwise(Otherwise::Follows("{ precision = 1.0 }")),
];

impl StudyModel {
    /// Reads and checks a `[model]`.
    ///
    /// # Errors
    /// Everything that is wrong with its keys, at once; and an intercept of a model that looks at no inputs.
    pub fn read(table: &Table, registry: &Registry) -> Result<Self, Vec<Conflict>> {
        let found = validate(table, MODEL_KEYS, registry);
        if !found.is_empty() {
            return Err(found);
        }
        let one = |conflict: Conflict| vec![conflict];
        let keys = Keys::new(table, MODEL_KEYS);
        let reading = Reading { keys, promise: None, registry };
        let settings = resolve::model(&reading, keys.word("kind").map_err(one)?).map_err(one)?;
        let intercept = keys.flag("bias").map_err(one)?;
        if intercept && !settings.has_inputs() {
            let what =
                format!("a {} looks at no inputs, so there is no intercept among them", settings.descriptor().name);
            return Err(vec![Conflict::new("", crate::describe::STRAY, what, "bias = false")]);
        }
        if settings.states_its_prior() && table.contains_key("prior") {
            let own: Vec<&str> = settings.descriptor().keys.iter().map(|key| key.name).collect();
            let what = format!("the prior of a {} model is stated by {}", settings.descriptor().name, own.join(", "));
            return Err(vec![Conflict::new("prior", crate::describe::STRAY, what, "leave prior out")]);
        }
        let prior = StudyPrior::read(table.get("prior").and_then(Value::as_table));
        let prior = prior.map_err(|conflict| vec![conflict.under("prior")])?;
        Ok(Self { settings, intercept, prior })
    }

    /// In words.
    pub fn describe(&self) -> String {
        if self.settings.states_its_prior() {
            return self.settings.describe();
        }
        let intercept = if self.intercept { "with intercept" } else { "without intercept" };
        format!("{}, {intercept}, {}", self.settings.describe(), self.prior.describe())
    }

    /// The number of parameters for rows of this width; none where it depends on levels that are not known.
    pub fn parameters(&self, levels: Option<usize>, width: usize) -> Option<usize> {
        let known = levels.is_some() || self.settings.outcome() != OutcomeNeed::Levels;
        known.then(|| self.settings.build(levels, 0).parameters(width))
    }

    /// Names of the coefficients, given those of the inputs and the schema of the rows.
    pub fn names(&self, inputs: &[String], schema: Option<&Schema>) -> Vec<String> {
        let levels = match schema.map(|schema| &schema.outcome().kind) {
            Some(OutcomeKind::Classes(levels)) => levels.clone(),
            _ => Vec::new(),
        };
        self.settings.names(inputs, &levels)
    }
}

/// The keys that read a model's settings again, its kind among them.
pub fn stored(settings: &dyn ModelSettings) -> Table {
    let mut table = settings.keys();
    table.insert("kind".to_owned(), Value::String(settings.descriptor().name.to_owned()));
    table
}

/// Settings from [`stored`] keys.
///
/// # Errors
/// The first conflict: a kind that the registry does not have, or keys that are not its own.
pub fn restored(table: &Table, registry: &Registry) -> Result<Arc<dyn ModelSettings>, Conflict> {
    let keys = &MODEL_KEYS[..1];
    match validate(table, keys, registry).into_iter().next() {
        Some(conflict) => Err(conflict),
        None => {
            let reading = Reading { keys: Keys::new(table, keys), promise: None, registry };
            resolve::model(&reading, reading.keys.word("kind")?)
        }
    }
}

/// `draws = N` in a table, or a closed form by its word.
pub(super) fn by_draws(keys: &Keys<'_>, name: &'static str) -> Result<Option<u32>, Conflict> {
    keys.is_table(name).then(|| keys.table(name, &[]).small_count("draws")).transpose()
}

/// `{ draws = 100 }`
pub(super) const DRAWS: &[Key] =
    &[Key::new("draws", ValueKind::Count { least: 1, most: u32::MAX as u64 }, "100").about("number of draws")];

/// `{ draws = N }` as a value.
pub(super) fn draws_value(draws: u32) -> Value {
    Value::Table(Table::from_iter([("draws".to_owned(), Value::Integer(i64::from(draws)))]))
}
