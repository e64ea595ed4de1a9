//! Made-up data, `source = "synthetic-linear"` or `"synthetic-mixture"`: its keys, and the engine that draws rows by the seed.

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
use inference::public::PublicNumbers;
use inference::results::{ClientSummary, DataSummary};
use inference::{
    Federation, Fits, InputLayout, Linear, Model, Observer, Partition, Record, Schema, Simulation, Split, StudyModel,
    SyntheticLinear, SyntheticMixture,
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The words for it in a study.
const LINEAR: &str = "synthetic-linear";
const MIXTURE: &str = "synthetic-mixture";

/// Whether a source is made up.
pub(super) fn is_made(source: &str) -> bool {
    [LINEAR, MIXTURE].contains(&source)
}

/// `synthetic`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SyntheticAsTyped {
    rows_per_client: usize,
    /// Draws the rows of every run, instead of each run's own seed.
    seed: Option<u64>,
    /// linear
    inputs: Option<usize>,
    effect_variance: Option<f64>,
    noise_deviation: Option<[f64; 2]>,
    /// mixture: the parameters that rows are drawn at.
    at: Option<[f64; 2]>,
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
    Linear { inputs: usize, effect_variance: f64, noise_deviation: (f64, f64) },
    Mixture { theta: [f64; 2], variance: f64 },
}

impl Synthetic {
    fn source(&self) -> &'static str {
        if matches!(self.law, Law::Linear { .. }) { LINEAR } else { MIXTURE }
    }

    /// How many inputs rows have; those of a mixture have one that nobody looks at.
    pub(super) fn inputs(&self) -> usize {
        if let Law::Linear { inputs, .. } = self.law { inputs } else { 1 }
    }

    fn names(&self) -> Vec<String> {
        (1..=self.inputs()).map(|input| format!("x{input}")).collect()
    }

    /// Header and schema that a file of such rows would have.
    pub(super) fn columns(&self) -> Result<(Vec<String>, Schema), StudyError> {
        let column = |name: &String| format!("{{ name = {name:?}, kind = \"numeric\", centre = 0, scale = 1 }}");
        let columns: Vec<String> = self.names().iter().map(column).collect();
        let outcome = "outcome = { column = \"y\", bounds = [-1e9, 1e9], centre = 0, scale = 1 }";
        let text = format!("record_id = \"row\"\n{outcome}\ncolumn = [{}]\n", columns.join(", "));
        let header = [&["row".to_owned(), "y".to_owned()], self.names().as_slice()].concat();
        let schema = Schema::from_toml(&text).map_err(|error| StudyError::data(self.source(), error))?;
        Ok((header, schema))
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
    let hint = if data.source == MIXTURE { MIXTURE_KEYS } else { LINEAR_KEYS };
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    let typed = match (&data.synthetic, is_made(&data.source)) {
        (None, false) => return Ok(None),
        (Some(typed), true) => typed,
        (None, true) => return fault("data", "S011", "made-up rows need `synthetic`", hint),
        (Some(_), false) => {
            let message = "synthetic goes with source = \"synthetic-linear\" or \"synthetic-mixture\"";
            return fault("data.synthetic", "S011", message, "leave it out");
        }
    };
    if !partitions.iter().all(|partition| matches!(partition, Partition::Even { .. })) {
        return fault("partition", "S011", "made-up rows are dealt out evenly", "kind = \"even\"");
    }
    let law = if data.source == MIXTURE { mixture(typed, model, source)? } else { linear(typed, model, source)? };
    if typed.rows_per_client == 0 {
        return fault("data.synthetic", "S004", "rows_per_client is 0", hint);
    }
    Ok(Some(Synthetic { rows_per_client: typed.rows_per_client, seed: typed.seed, law }))
}

fn linear(typed: &SyntheticAsTyped, model: &StudyModel, source: &StudyText<'_>) -> Result<Law, Fault> {
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    if !model.settings.build(None, 0).offers().contains(&Offer::GaussianLikelihood) || model.intercept {
        let message =
            "made-up rows follow a linear model without an intercept, whose noise variance is drawn with them";
        return fault("model", "S011", message, "kind = \"linear\" with bias = false");
    }
    let (Some(variance), Some([least, most]), None) = (typed.effect_variance, typed.noise_deviation, typed.at) else {
        let message = "rows of a linear law have effect_variance and noise_deviation, and no `at`";
        return fault("data.synthetic", "S011", message, LINEAR_KEYS);
    };
    let inputs = typed.inputs.unwrap_or(1);
    let positive = |number: f64| number.is_finite() && number > 0.0;
    let spread = [variance, least, most].into_iter().all(positive) && least <= most;
    if inputs == 0 || !spread {
        let message = "rows, inputs, variance and deviations are over 0, and the second deviation is not the smaller";
        return fault("data.synthetic", "S004", message, LINEAR_KEYS);
    }
    Ok(Law::Linear { inputs, effect_variance: variance, noise_deviation: (least, most) })
}

fn mixture(typed: &SyntheticAsTyped, model: &StudyModel, source: &StudyText<'_>) -> Result<Law, Fault> {
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    let Some(variance) = model.settings.component_variance() else {
        let message = "rows of a mixture are for a mixture model";
        return fault("model", "S011", message, "kind = \"mixture\" with bias = false");
    };
    let others = typed.inputs.is_some() || typed.effect_variance.is_some() || typed.noise_deviation.is_some();
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
    clients: usize,
    held_out: usize,
    /// That of a mixture; linear rows bring theirs.
    model: Arc<dyn Model>,
    prior_precision: f64,
    costs: Arc<Costs>,
    dealt: DealtOnce<(Federation, Arc<dyn Model>)>,
    fits: Arc<Fits>,
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
        let (model, prior_precision) = (study.model.settings.build(None, 0), study.model.prior_precision);
        let (dealt, fits) = (DealtOnce::new(), fits.clone());
        Ok(Self { made: *made, clients, held_out, model, prior_precision, costs: Arc::default(), dealt, fits })
    }

    fn digest(&self) -> [u8; 32] {
        let law = match self.law() {
            MadeRows::Linear(law) => format!("{law:?}"),
            MadeRows::Mixture(law) => format!("{law:?}"),
        };
        let seed = self.made.seed.map_or_else(String::new, |seed| format!(" {seed}"));
        Sha256::digest(format!("{} {law}{seed}", self.made.source())).into()
    }

    fn law(&self) -> MadeRows {
        let (clients, rows, held_out) = (self.clients, self.made.rows_per_client, self.held_out);
        match self.made.law {
            Law::Linear { inputs, effect_variance, noise_deviation } => {
                MadeRows::Linear(SyntheticLinear { clients, rows, held_out, inputs, effect_variance, noise_deviation })
            }
            Law::Mixture { theta, variance } => {
                MadeRows::Mixture(SyntheticMixture { clients, rows, held_out, theta, variance })
            }
        }
    }

    /// The rows, and the model that they follow.
    fn draw(&self, seed: u64) -> Result<(Federation, Arc<dyn Model>), StudyError> {
        let seed = self.made.seed.unwrap_or(seed);
        let drawn = match self.law() {
            MadeRows::Linear(law) => law.draw(seed).map(|drawn| {
                let model: Arc<dyn Model> = Arc::new(Linear { noise_variance: drawn.noise_variance });
                (drawn.federation, model)
            }),
            MadeRows::Mixture(law) => law.draw(seed).map(|federation| (federation, self.model.clone())),
        };
        drawn.map_err(|error| StudyError::data(self.made.source(), error))
    }
}

/// What draws the rows.
enum MadeRows {
    Linear(SyntheticLinear),
    Mixture(SyntheticMixture),
}

impl Engine for SyntheticEngine {
    fn data_digest(&self) -> String {
        hexadecimal(&self.digest())
    }

    fn summary(&self) -> Result<DataSummary, StudyError> {
        let (rows, clients) = (self.made.rows_per_client, 1..=self.clients);
        let client =
            |client: usize| ClientSummary { name: format!("client {client}"), rows, test_rows: 0, persons: None };
        Ok(DataSummary {
            source: self.made.source().to_owned(),
            inputs: self.made.names(),
            train_rows: self.clients * rows,
            test_rows: self.held_out,
            clients: clients.map(client).collect(),
            encoded_scores: false,
        })
    }

    fn public(&self) -> Result<PublicNumbers, StudyError> {
        let rows = vec![self.made.rows_per_client as u64; self.clients];
        let inputs = InputLayout::new(self.made.inputs(), self.made.inputs());
        Ok(PublicNumbers { rows, inputs: inputs.map_err(|error| StudyError::data(self.made.source(), error))? })
    }

    fn costs(&self) -> Arc<Costs> {
        self.costs.clone()
    }

    fn data_schema(&self) -> Option<String> {
        None
    }

    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, StudyError> {
        let start = cpu_seconds();
        let record = self.record(work, seed, observer)?;
        finished(record, work.site_intercept(), cpu_seconds() - start)
    }

    fn record(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Record, StudyError> {
        let drawn = self.dealt.of(seed, || self.draw(seed))?;
        let (federation, model) = (&drawn.0, &drawn.1);
        let own = work.site_intercept().map(|_| federation.with_own_input());
        let federation = own.as_ref().unwrap_or(federation);
        let drawn_by = self.made.seed.unwrap_or(seed).to_le_bytes();
        let source = Sha256::new().chain_update(self.digest()).chain_update(drawn_by).finalize().into();
        worked(work, observer, (&self.fits, source), |method| Simulation {
            method,
            sites: &federation.sites,
            test: &federation.test,
            model: model.clone(),
            prior_precision: self.prior_precision,
            seed,
            data: self.digest(),
            costs: self.costs.clone(),
        })
    }
}
