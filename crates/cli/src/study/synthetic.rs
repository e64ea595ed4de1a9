//! Made-up data, `source = "synthetic-linear"`: its keys, and the engine that draws rows, effects and noise by the seed.

use super::engine::{Engine, Work};
use super::fault::{Fault, Source};
use super::meant::Study;
use super::simulator::{finished, worked};
use super::state::Finished;
use super::typed::{DataAsTyped, ModelAsTyped, ModelKind};
use crate::clock::cpu_seconds;
use crate::failure::Failure;
use inference::results::{ClientSummary, DataSummary};
use inference::{Drawn, Linear, Observer, Partition, Record, Schema, Simulation, Split, SyntheticLinear};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The word for it in a study.
pub(super) const SOURCE: &str = "synthetic-linear";

/// `synthetic`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SyntheticAsTyped {
    rows_per_client: usize,
    #[serde(default = "one")]
    inputs: usize,
    effect_variance: f64,
    noise_deviation: [f64; 2],
}

fn one() -> usize {
    1
}

/// The law of the rows, for any number of clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Synthetic {
    pub(crate) rows_per_client: usize,
    pub(crate) inputs: usize,
    effect_variance: f64,
    noise_deviation: (f64, f64),
}

impl Synthetic {
    fn names(&self) -> Vec<String> {
        (1..=self.inputs).map(|input| format!("x{input}")).collect()
    }

    /// Header and schema that a file of such rows would have.
    pub(super) fn columns(&self) -> Result<(Vec<String>, Schema), Failure> {
        let column = |name: &String| format!("{{ name = {name:?}, kind = \"numeric\", centre = 0, scale = 1 }}");
        let columns: Vec<String> = self.names().iter().map(column).collect();
        let outcome = "outcome = { column = \"y\", bounds = [-1e9, 1e9], centre = 0, scale = 1 }";
        let text = format!("record_id = \"row\"\n{outcome}\ncolumn = [{}]\n", columns.join(", "));
        let header = [&["row".to_owned(), "y".to_owned()], self.names().as_slice()].concat();
        let schema = Schema::from_toml(&text).map_err(|error| Failure::data(SOURCE, error))?;
        Ok((header, schema))
    }
}

/// The law that a study names; none if its rows come from a file.
pub(super) fn of(
    data: &DataAsTyped,
    model: &ModelAsTyped,
    partitions: &[&Partition],
    source: &Source<'_>,
) -> Result<Option<Synthetic>, Fault> {
    let hint = "synthetic = { rows_per_client = 10, inputs = 1, effect_variance = 5.0, noise_deviation = [0.5, 2.0] }";
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    let typed = match (&data.synthetic, data.source == SOURCE) {
        (None, false) => return Ok(None),
        (Some(typed), true) => typed,
        (None, true) => return fault("data", "S011", "made-up rows need `synthetic`", hint),
        (Some(_), false) => {
            return fault(
                "data.synthetic",
                "S011",
                "synthetic goes with source = \"synthetic-linear\"",
                "leave it out",
            );
        }
    };
    if model.kind != ModelKind::Linear || model.bias || model.noise_variance.is_some() {
        let message = "made-up rows follow a linear model without bias, whose noise variance is drawn with them";
        return fault("model", "S011", message, "kind = \"linear\" with bias = false, without noise_variance");
    }
    if !partitions.iter().all(|partition| matches!(partition, Partition::Even { .. })) {
        return fault("partition", "S011", "made-up rows are dealt out evenly", "kind = \"even\"");
    }
    let (variance, [least, most]) = (typed.effect_variance, typed.noise_deviation);
    let positive = |number: f64| number.is_finite() && number > 0.0;
    let spread = [variance, least, most].into_iter().all(positive) && least <= most;
    if typed.rows_per_client == 0 || typed.inputs == 0 || !spread {
        let message = "rows, inputs, variance and deviations are over 0, and the second deviation is not the smaller";
        return fault("data.synthetic", "S004", message, hint);
    }
    let (rows_per_client, inputs) = (typed.rows_per_client, typed.inputs);
    Ok(Some(Synthetic { rows_per_client, inputs, effect_variance: variance, noise_deviation: (least, most) }))
}

/// Made-up data and what is to be done with them.
pub(super) struct Made {
    law: SyntheticLinear,
    inputs: Vec<String>,
    prior_precision: f64,
    first_seed: u64,
}

impl Made {
    /// The data of a study. Held-out rows are so many that the split has the share or the number that it asks for.
    pub(super) fn open(study: &Study, made: &Synthetic) -> Result<Self, Failure> {
        let Partition::Even { clients } = study.partition else {
            return Err(Failure::usage("made-up rows are dealt out evenly", "kind = \"even\""));
        };
        let Synthetic { rows_per_client: rows, inputs, effect_variance, noise_deviation } = *made;
        let of_share = |share: f64| (share / (1.0 - share) * (clients * rows) as f64).round() as usize;
        let held_out = match study.data.split {
            Split::Fraction { test } => of_share(test),
            Split::Half => of_share(0.5),
            Split::Rows { test } => test,
            Split::Column { .. } => {
                let hint = "split = { test = 0.2 }, { test_rows = 500 } or { half = true }";
                return Err(Failure::usage("made-up rows have no column to split by", hint));
            }
        };
        let law = SyntheticLinear { clients, rows, held_out, inputs, effect_variance, noise_deviation };
        let first_seed = study.seeds.first().copied().unwrap_or(1);
        Ok(Self { law, inputs: made.names(), prior_precision: study.model.prior_precision, first_seed })
    }

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(format!("{SOURCE} {:?}", self.law)).into()
    }

    fn draw(&self, seed: u64) -> Result<Drawn, Failure> {
        self.law.draw(seed).map_err(|error| Failure::data(SOURCE, error))
    }
}

impl Engine for Made {
    fn data_digest(&self) -> String {
        self.digest().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn summary(&self) -> Result<DataSummary, Failure> {
        let federation = self.draw(self.first_seed)?.federation;
        let client = |name: &String| ClientSummary { name: name.clone(), rows: self.law.rows, test_rows: 0 };
        Ok(DataSummary {
            source: SOURCE.to_owned(),
            inputs: self.inputs.clone(),
            train_rows: self.law.clients * self.law.rows,
            test_rows: federation.test.len(),
            clients: federation.sites.iter().map(|site| client(&site.name)).collect(),
            encoded_scores: false,
        })
    }

    fn data_schema(&self) -> Option<String> {
        None
    }

    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, Failure> {
        let start = cpu_seconds();
        let record = self.record(work, seed, observer)?;
        Ok(finished(record, work.site_intercept(), cpu_seconds() - start))
    }

    fn record(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Record, Failure> {
        let mut drawn = self.draw(seed)?;
        if work.site_intercept().is_some() {
            drawn.federation = drawn.federation.with_own_input();
        }
        worked(work, observer, |method| Simulation {
            method,
            sites: &drawn.federation.sites,
            test: &drawn.federation.test,
            model: Arc::new(Linear { noise_variance: drawn.noise_variance }),
            prior_precision: self.prior_precision,
            seed,
            data: self.digest(),
        })
    }
}
