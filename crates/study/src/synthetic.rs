//! Made-up data, `source = "synthetic-linear"`, `"synthetic-logistic"`, `"synthetic-mixture"` or `"synthetic-conjugate"`: its keys, and the engine that draws
//! rows by the seed.

mod conjugate;
mod logistic;

pub(crate) use self::logistic::DesignAsTyped;

use self::conjugate::ConjugateLaw;
use self::logistic::LogisticLaw;
use super::columns;
use super::dealt::DealtOnce;
use super::engine::{Engine, Work};
use super::fault::{Fault, StudyText};
use super::meant::Study;
use super::simulator::{finished, worked};
use super::state::Finished;
use super::typed::DataAsTyped;
use crate::clock::cpu_seconds;
use crate::digits::hexadecimal;
use crate::error::StudyError;
use inference::describe::Offer;
use inference::plan::Costs;
use inference::public::{PublicNumbers, RowCounts};
use inference::results::{ClientSummary, DataSummary};
use inference::{
    EncodedPrior, Federation, Fits, Linear, Model, ModelSettings, Observer, OneParameter, Partition, Record, Recovery,
    Schema, Simulation, Split, StudyModel, SyntheticConjugate, SyntheticLinear, SyntheticLogistic, SyntheticMixture,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The words for it in a study.
pub(super) const LINEAR: &str = "synthetic-linear";
const LOGISTIC: &str = "synthetic-logistic";
const MIXTURE: &str = "synthetic-mixture";
const CONJUGATE: &str = "synthetic-conjugate";

/// Whether a source is made up.
pub(super) fn is_made(source: &str) -> bool {
    [LINEAR, LOGISTIC, MIXTURE, CONJUGATE].contains(&source)
}

/// `synthetic`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SyntheticAsTyped {
    rows_per_client: usize,
    /// Draws the rows of every run, instead of each run's own seed.
    seed: Option<u64>,
    /// linear, logistic
    inputs: Option<usize>,
    effect_variance: Option<f64>,
    /// linear
    noise_deviation: Option<[f64; 2]>,
    /// linear: every coefficient, in place of its variance.
    effect: Option<f64>,
    /// logistic: the law of the inputs.
    design: Option<DesignAsTyped>,
    correlation: Option<f64>,
    levels: Option<usize>,
    /// mixture: the parameters that rows are drawn at.
    at: Option<[f64; 2]>,
    /// conjugate: the range of a count or a number.
    bounds: Option<[f64; 2]>,
}

impl SyntheticAsTyped {
    /// Whether a linear law has one coefficient.
    pub(super) fn has_one_linear_input(&self) -> bool {
        self.inputs.unwrap_or(1) == 1
    }
}

/// The law of the rows, for any number of clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Synthetic {
    pub(crate) rows_per_client: usize,
    seed: Option<u64>,
    law: Law,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    Linear { inputs: usize, effects: LinearEffects, noise_deviation: (f64, f64) },
    Logistic(LogisticLaw),
    Mixture { theta: [f64; 2], variance: f64 },
    Conjugate(ConjugateLaw),
}

/// Where the coefficients of a linear law come from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LinearEffects {
    /// Each seed draws them with this variance.
    Drawn { variance: f64 },
    /// All are this number.
    Stated(f64),
}

impl Synthetic {
    fn source(&self) -> &'static str {
        match self.law {
            Law::Linear { .. } => LINEAR,
            Law::Logistic(_) => LOGISTIC,
            Law::Mixture { .. } => MIXTURE,
            Law::Conjugate(_) => CONJUGATE,
        }
    }

    /// How many inputs rows have, the intercept of a logistic law among them; those of a mixture and of a conjugate
    /// family have one that nobody looks at.
    pub(super) fn inputs(&self) -> usize {
        match self.law {
            Law::Linear { inputs, .. } => inputs,
            Law::Logistic(law) => law.inputs + 1,
            Law::Mixture { .. } | Law::Conjugate(_) => 1,
        }
    }

    /// Names of the columns of inputs, each with its line of a schema.
    fn input_columns(&self) -> Vec<(String, String)> {
        if let Law::Logistic(law) = self.law {
            return law.columns();
        }
        let line = |name: &str| format!("{{ name = {name:?}, kind = \"numeric\", centre = 0, scale = 1 }}");
        let names = (1..=self.inputs()).map(|input| format!("x{input}"));
        names.map(|name| (name.clone(), line(&name))).collect()
    }

    /// The schema that a file of such rows would have.
    fn schema_text(&self) -> String {
        let outcome = match self.law {
            Law::Logistic(_) => "outcome = { column = \"y\", levels = [\"0\", \"1\"] }".to_owned(),
            Law::Conjugate(law) => law.outcome(),
            _ => "outcome = { column = \"y\", bounds = [-1e9, 1e9], centre = 0, scale = 1 }".to_owned(),
        };
        let columns: Vec<String> = self.input_columns().into_iter().map(|(_, line)| line).collect();
        format!("record_id = \"row\"\n{outcome}\ncolumn = [{}]\n", columns.join(", "))
    }

    fn schema(&self) -> Result<Schema, StudyError> {
        Schema::from_toml(&self.schema_text()).map_err(|error| StudyError::data(self.source(), error))
    }

    /// Levels of the outcome; none of numbers.
    fn classes(&self) -> Option<usize> {
        match self.law {
            Law::Logistic(_) => Some(2),
            Law::Conjugate(law) => law.levels,
            _ => None,
        }
    }

    /// Whether the coefficients that labels were drawn with are known.
    pub(super) fn knows_coefficients(&self) -> bool {
        matches!(self.law, Law::Logistic(_) | Law::Conjugate(_))
    }

    /// Whether rows have an intercept.
    pub(super) fn has_intercept(&self) -> bool {
        matches!(self.law, Law::Logistic(_))
    }

    /// Header and schema that a file of such rows would have.
    pub(super) fn columns(&self) -> Result<(Vec<String>, Schema), StudyError> {
        let names = self.input_columns().into_iter().map(|(name, _)| name);
        let header = ["row".to_owned(), "y".to_owned()].into_iter().chain(names).collect();
        Ok((header, self.schema()?))
    }
}

/// How the keys of each source are written.
const LINEAR_KEYS: &str =
    "synthetic = { rows_per_client = 10, inputs = 1, effect_variance = 5.0, noise_deviation = [0.5, 2.0] }";
const MIXTURE_KEYS: &str = "synthetic = { rows_per_client = 1000, at = [0.0, 1.0] }";

/// The law that a study names; none if its rows come from a file.
pub(super) fn of(
    data: &DataAsTyped,
    model: &StudyModel,
    partitions: &[&Partition],
    source: &StudyText<'_>,
) -> Result<Option<Synthetic>, Fault> {
    let hint = keys_of(&data.source);
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    let typed = match (&data.synthetic, is_made(&data.source)) {
        (None, false) => return Ok(None),
        (Some(typed), true) => typed,
        (None, true) => return fault("data", "S011", "made-up rows need `synthetic`", hint),
        (Some(_), false) => {
            let message = "synthetic goes with source = \"synthetic-linear\", \"synthetic-logistic\", \"synthetic-mixture\" or \"synthetic-conjugate\"";
            return fault("data.synthetic", "S011", message, "leave it out");
        }
    };
    if !partitions.iter().all(|partition| matches!(partition, Partition::Even { .. })) {
        return fault("partition", "S011", "made-up rows are dealt out evenly", "kind = \"even\"");
    }
    stated(typed, &data.source, model, source, "data.synthetic").map(Some)
}

/// The name of a client of made-up rows, counted from 0.
pub(crate) fn client_name(client: usize) -> String {
    format!("client {client}")
}

/// How the keys of a source are written.
fn keys_of(source: &str) -> &'static str {
    match source {
        MIXTURE => MIXTURE_KEYS,
        LOGISTIC => logistic::KEYS,
        CONJUGATE => conjugate::KEYS,
        _ => LINEAR_KEYS,
    }
}

/// The law that a table `synthetic` states, of a study or of one of its columns.
pub(super) fn stated(
    typed: &SyntheticAsTyped,
    made: &str,
    model: &StudyModel,
    source: &StudyText<'_>,
    at: &str,
) -> Result<Synthetic, Fault> {
    let of_logistic = typed.design.is_some() || typed.correlation.is_some() || typed.levels.is_some();
    if ![LOGISTIC, CONJUGATE].contains(&made) && of_logistic {
        let message = "design, correlation and levels belong to source = \"synthetic-logistic\"".to_owned();
        return Err(source.fault(at, "S011", message, keys_of(made)));
    }
    if made != CONJUGATE && typed.bounds.is_some() {
        let message = "bounds belong to source = \"synthetic-conjugate\"".to_owned();
        return Err(source.fault(at, "S011", message, keys_of(made)));
    }
    let law = match made {
        CONJUGATE => Law::Conjugate(conjugate::law(typed, model, source, at)?),
        MIXTURE => mixture(typed, model, source)?,
        LOGISTIC => Law::Logistic(logistic::law(typed, model, source, at)?),
        _ => linear(typed, model, source)?,
    };
    if typed.rows_per_client == 0 {
        return Err(source.fault(at, "S004", "rows_per_client is 0".into(), keys_of(made)));
    }
    Ok(Synthetic { rows_per_client: typed.rows_per_client, seed: typed.seed, law })
}

fn linear(typed: &SyntheticAsTyped, model: &StudyModel, source: &StudyText<'_>) -> Result<Law, Fault> {
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    if !model.settings.build(None, 0).offers().contains(&Offer::GaussianLikelihood) || model.intercept {
        let message =
            "made-up rows follow a linear model without an intercept, whose noise variance is drawn with them";
        return fault("model", "S011", message, "kind = \"linear\" with bias = false");
    }
    let effects = match (typed.effect_variance, typed.effect) {
        (Some(variance), None) => Some(LinearEffects::Drawn { variance }),
        (None, Some(effect)) => Some(LinearEffects::Stated(effect)),
        _ => None,
    };
    let (Some(effects), Some([least, most]), None) = (effects, typed.noise_deviation, typed.at) else {
        let message = "rows of a linear law have effect_variance or effect, and noise_deviation, and no `at`";
        return fault("data.synthetic", "S011", message, LINEAR_KEYS);
    };
    let inputs = typed.inputs.unwrap_or(1);
    let positive = |number: f64| number.is_finite() && number > 0.0;
    let known = match effects {
        LinearEffects::Drawn { variance } => positive(variance),
        LinearEffects::Stated(effect) => effect.is_finite(),
    };
    let spread = known && positive(least) && positive(most) && least <= most;
    if inputs == 0 || !spread {
        let message = "rows, inputs, variance and deviations are over 0, and the second deviation is not the smaller";
        return fault("data.synthetic", "S004", message, LINEAR_KEYS);
    }
    Ok(Law::Linear { inputs, effects, noise_deviation: (least, most) })
}

fn mixture(typed: &SyntheticAsTyped, model: &StudyModel, source: &StudyText<'_>) -> Result<Law, Fault> {
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    let Some(variance) = model.settings.component_variance() else {
        let message = "rows of a mixture are for a mixture model";
        return fault("model", "S011", message, "kind = \"mixture\" with bias = false");
    };
    let of_linear = typed.effect_variance.is_some() || typed.effect.is_some() || typed.noise_deviation.is_some();
    let others = typed.inputs.is_some() || of_linear;
    let Some(theta) = typed.at.filter(|_| !others) else {
        let message = "rows of a mixture have `at`, the parameters that they are drawn at, and nothing of a linear law";
        return fault("data.synthetic", "S011", message, MIXTURE_KEYS);
    };
    if !theta.iter().all(|t| t.is_finite()) {
        return fault("data.synthetic", "S004", "at has finite numbers", MIXTURE_KEYS);
    }
    Ok(Law::Mixture { theta, variance })
}

/// Made-up data and what is to be done with them.
pub(super) struct SyntheticEngine {
    made: Synthetic,
    /// SHA-256 of the law.
    digest: [u8; 32],
    settings: Arc<dyn ModelSettings>,
    clients: usize,
    held_out: usize,
    /// That of a mixture; linear rows bring theirs.
    model: Arc<dyn Model>,
    prior: EncodedPrior,
    costs: Arc<Costs>,
    dealt: DealtOnce<DrawnRows>,
    fits: Arc<Fits>,
}

/// Rows, and what is known of them.
struct DrawnRows {
    federation: Federation,
    model: Arc<dyn Model>,
    /// The parameters that outcomes were drawn with, of a logistic law and of a conjugate family.
    coefficients: Option<Vec<f64>>,
    /// The first coefficient of a linear law.
    effect: Option<f64>,
}

impl SyntheticEngine {
    /// The data of a study. Held-out rows are so many that the split has the share or the number that it asks for.
    pub(super) fn open(study: &Study, made: &Synthetic, fits: &Arc<Fits>) -> Result<Self, StudyError> {
        let Partition::Even { clients } = study.partition else {
            return Err(StudyError::usage("made-up rows are dealt out evenly", "kind = \"even\""));
        };
        let of_share = |share: f64| (share / (1.0 - share) * (clients * made.rows_per_client) as f64).round() as usize;
        let held_out = match study.data.split {
            Split::Fraction { test } => of_share(test),
            Split::Half => of_share(0.5),
            Split::Rows { test } => test,
            Split::Column { .. } => {
                let hint = "split = { test = 0.2 }, { test_rows = 500 } or { half = true }";
                return Err(StudyError::usage("made-up rows have no column to split by", hint));
            }
        };
        let (model, prior) = (
            study.model.settings.build(study.data.synthetic.and_then(|made| made.classes()), 0),
            columns::prior(study, &made.columns()?.1)?,
        );
        let (dealt, fits) = (DealtOnce::new(), fits.clone());
        let settings = study.model.settings.clone();
        let costs = Arc::default();
        let engine =
            Self { made: *made, digest: [0; 32], settings, clients, held_out, model, prior, costs, dealt, fits };
        Ok(Self { digest: engine.law_digest()?, ..engine })
    }

    fn law_digest(&self) -> Result<[u8; 32], StudyError> {
        let law = match self.law()? {
            MadeRows::Linear(law, None) => format!("{law:?}"),
            MadeRows::Linear(law, Some(effect)) => format!("{law:?} at {effect:?}"),
            MadeRows::Logistic(law) => format!("{law:?}"),
            MadeRows::Mixture(law) => format!("{law:?}"),
            MadeRows::Conjugate(law) => format!("{law:?}"),
        };
        let seed = self.made.seed.map_or_else(String::new, |seed| format!(" {seed}"));
        Ok(Sha256::digest(format!("{} {law}{seed}", self.made.source())).into())
    }

    fn law(&self) -> Result<MadeRows, StudyError> {
        let (clients, rows, held_out) = (self.clients, self.made.rows_per_client, self.held_out);
        Ok(match self.made.law {
            Law::Linear { inputs, effects, noise_deviation } => {
                let (effect_variance, effect) = match effects {
                    LinearEffects::Drawn { variance } => (variance, None),
                    LinearEffects::Stated(effect) => (0.0, Some(effect)),
                };
                let law = SyntheticLinear { clients, rows, held_out, inputs, effect_variance, noise_deviation };
                MadeRows::Linear(law, effect)
            }
            Law::Logistic(law) => MadeRows::Logistic(law.of(clients, rows, held_out)),
            Law::Mixture { theta, variance } => {
                MadeRows::Mixture(SyntheticMixture { clients, rows, held_out, theta, variance })
            }
            Law::Conjugate(law) => {
                let none = || StudyError::usage("the model has no conjugate family", conjugate::KEYS);
                let family = self.settings.conjugate_family(law.levels).ok_or_else(none)?;
                MadeRows::Conjugate(SyntheticConjugate { clients, rows, held_out, family, bounds: law.bounds })
            }
        })
    }

    /// The rows, and the model that they follow.
    fn draw(&self, seed: u64) -> Result<DrawnRows, StudyError> {
        let (seed, model) = (self.made.seed.unwrap_or(seed), self.model.clone());
        let drawn = match self.law()? {
            MadeRows::Linear(law, effect) => law.draw_at(seed, effect).map(|drawn| {
                let model = Arc::new(Linear::known(drawn.noise_variance));
                let effect = drawn.effects.first().copied();
                DrawnRows { federation: drawn.federation, model, coefficients: None, effect }
            }),
            MadeRows::Logistic(law) => law.draw(seed).map(|drawn| DrawnRows {
                federation: drawn.federation,
                model,
                coefficients: Some(drawn.coefficients),
                effect: None,
            }),
            MadeRows::Mixture(law) => {
                law.draw(seed).map(|federation| DrawnRows { federation, model, coefficients: None, effect: None })
            }
            MadeRows::Conjugate(law) => law.draw(seed).map(|drawn| DrawnRows {
                federation: drawn.federation,
                model,
                coefficients: Some(drawn.theta),
                effect: None,
            }),
        };
        drawn.map_err(|error| StudyError::data(self.made.source(), error))
    }
}

/// What draws the rows.
enum MadeRows {
    Linear(SyntheticLinear, Option<f64>),
    Logistic(SyntheticLogistic),
    Mixture(SyntheticMixture),
    Conjugate(SyntheticConjugate),
}

impl Engine for SyntheticEngine {
    fn data_digest(&self) -> String {
        hexadecimal(&self.digest)
    }

    fn summary(&self) -> Result<DataSummary, StudyError> {
        let (rows, clients) = (self.made.rows_per_client, 1..=self.clients);
        let client = |client: usize| ClientSummary { name: client_name(client), rows, test_rows: 0, persons: None };
        Ok(DataSummary {
            source: self.made.source().to_owned(),
            outcome: None,
            inputs: self.made.schema()?.inputs(self.made.has_intercept()),
            train_rows: self.clients * rows,
            test_rows: self.held_out,
            clients: clients.map(client).collect(),
            encoded_scores: false,
            made_up: None,
        })
    }

    fn public(&self) -> Result<PublicNumbers, StudyError> {
        let rows = vec![self.made.rows_per_client as u64; self.clients];
        let inputs = self.made.schema()?.layout(self.made.has_intercept());
        let inputs = inputs.map_err(|error| StudyError::data(self.made.source(), error))?;
        let outcome = if let Law::Conjugate(law) = self.made.law { law.bounds } else { None };
        let public = PublicNumbers::new(rows, RowCounts::Counted, inputs);
        Ok(PublicNumbers { outcome: outcome.map(Into::into), ..public })
    }

    fn costs(&self) -> Arc<Costs> {
        self.costs.clone()
    }

    fn data_schema(&self) -> Option<String> {
        self.made.knows_coefficients().then(|| self.made.schema_text())
    }

    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, StudyError> {
        let start = cpu_seconds();
        let record = self.record(work, seed, observer)?;
        finished(record, work.site_intercept(), cpu_seconds() - start)
    }

    fn record(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Record, StudyError> {
        let drawn = self.dealt.of(seed, || self.draw(seed))?;
        let (federation, model) = (&drawn.federation, &drawn.model);
        let own = work.site_intercept().map(|_| federation.with_own_input());
        let federation = own.as_ref().unwrap_or(federation);
        let drawn_by = self.made.seed.unwrap_or(seed).to_le_bytes();
        let source = Sha256::new().chain_update(self.digest).chain_update(drawn_by).finalize().into();
        let record = worked(work, observer, (&self.fits, source), |method| Simulation {
            method,
            sites: &federation.sites,
            test: &federation.test,
            model: model.clone(),
            prior: self.prior.clone(),
            seed,
            data: self.digest,
            costs: self.costs.clone(),
        })?;
        let known = drawn.coefficients.as_deref().filter(|_| work.has_posterior());
        let recovery = known.and_then(|truth| Recovery::of(&record, truth));
        let parameter = record.parameter.map(|parameter| OneParameter { truth: drawn.effect, ..parameter });
        Ok(Record { recovery, parameter, ..record })
    }
}
