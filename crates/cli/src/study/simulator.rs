//! The engine of `run`: opened data, and the simulator of the inference room behind the frame's contract.

use super::engine::{Engine, Work};
use super::likelihood;
use super::meant::Study;
use super::posterior::{Marginals, Posterior};
use super::state::Finished;
use crate::clock::cpu_seconds;
use crate::datasets;
use crate::failure::Failure;
use inference::results::{ClientSummary, DataSummary};
use inference::{
    Encoded, Federation, Gaussian, Model, Observer, OutcomeKind, Partition, Prediction, Reading, Schema, Simulation,
    Split, header, read,
};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// A study's data, encoded, and what is to be done with them.
pub(crate) struct Simulator {
    source: String,
    digest: String,
    schema: String,
    table: Encoded,
    split: Split,
    partition: Partition,
    model: Arc<dyn Model>,
    prior_precision: f64,
    first_seed: u64,
    /// The outcome's scale: what one is of the encoded outcome.
    unit: f64,
}

impl Simulator {
    /// Opens a study's data; paths are relative to `base`. A first federation is dealt, so that data which do not fit
    /// the study are refused before anything is written.
    pub(crate) fn open(study: &Study, base: &Path) -> Result<Self, Failure> {
        let source = datasets::open(&study.data.source, study.data.schema.as_deref(), base)?;
        let (split, partition) = (study.data.split.clone(), study.partition.clone());
        let keep: Vec<&str> = [split.column(), partition.column()].into_iter().flatten().collect();
        let table = source.read(study.model.bias, &keep)?;
        let classes = source.schema.classes();
        likelihood::check_outcome(&study.model.kind, &source.name, classes)?;
        let first_seed = study.seeds.first().copied().unwrap_or(1);
        let digest = Sha256::new().chain_update(&source.csv).chain_update(&source.schema_text).finalize();
        let opened = Self {
            digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            source: source.name,
            schema: source.schema_text,
            table,
            split,
            partition,
            model: likelihood::model(&study.model.kind, classes, first_seed),
            prior_precision: study.model.prior_precision,
            unit: scale_of(&source.schema).1,
            first_seed,
        };
        opened.federation(opened.first_seed)?;
        Ok(opened)
    }

    fn federation(&self, seed: u64) -> Result<Federation, Failure> {
        Federation::new(&self.table, &self.split, &self.partition, seed)
            .map_err(|error| Failure::data(self.source.as_str(), error))
    }
}

impl Engine for Simulator {
    fn data_digest(&self) -> String {
        self.digest.clone()
    }

    fn summary(&self) -> Result<DataSummary, Failure> {
        let federation = self.federation(self.first_seed)?;
        let clients = federation.sites.iter();
        let clients: Vec<ClientSummary> =
            clients.map(|s| ClientSummary { name: s.name.clone(), rows: s.shard.len() }).collect();
        Ok(DataSummary {
            source: self.source.clone(),
            inputs: self.table.inputs.clone(),
            train_rows: clients.iter().map(|c| c.rows).sum(),
            test_rows: federation.test.len(),
            clients,
        })
    }

    fn data_schema(&self) -> String {
        self.schema.clone()
    }

    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, Failure> {
        let federation = self.federation(seed)?;
        let start = cpu_seconds();
        let simulation = |method| Simulation {
            method,
            sites: &federation.sites,
            test: &federation.test,
            model: self.model.clone(),
            prior_precision: self.prior_precision,
            seed,
        };
        let record = match work {
            Work::Method(method) => simulation(method).run(observer)?,
            Work::LocalOnly(method) => simulation(method).local_only()?,
            Work::NonPrivate(method) => simulation(method).non_private()?,
        };
        let posterior = marginals(&record.posterior);
        Ok(in_units(Finished::of(record, posterior, cpu_seconds() - start), self.unit))
    }
}

/// Predicts the rows of a CSV from a stored posterior.
pub(crate) fn predict(posterior: &Posterior, csv: &[u8]) -> Result<Vec<Prediction>, Failure> {
    let wrong = |error| Failure::data("the rows to predict", error);
    let schema = Schema::from_toml(&posterior.data_schema).map_err(|e| Failure::data("the stored schema", e))?;
    let known = header(csv).map_err(wrong)?.iter().any(|column| *column == schema.outcome().column);
    let rows = if known { csv.to_vec() } else { with_outcome(csv, &schema)? };
    let table = read(&rows[..], &schema, posterior.bias, &[], Reading::Strict).map_err(wrong)?;
    let q = &posterior.posterior;
    let gaussian = match &q.precision {
        Some(precision) => Gaussian::from_precision(q.mean.clone(), precision),
        None => Gaussian::new_diagonal(q.mean.clone(), q.deviation.iter().map(|s| s * s).collect()),
    };
    let improper = || Failure::usage("the stored posterior is not a proper distribution", "run the study again");
    let model = likelihood::model(&posterior.model.clone().likelihood(), schema.classes(), posterior.seed);
    let gaussian = gaussian.filter(|q| q.dimension() == model.parameters(table.rows.width()));
    let encoded = model.predict(&table.rows, &gaussian.ok_or_else(improper)?);
    let (centre, scale) = scale_of(&schema);
    let decoded = |prediction| match prediction {
        Prediction::Normal { mean, deviation } => {
            Prediction::Normal { mean: centre + scale * mean, deviation: scale * deviation }
        }
        probability => probability,
    };
    Ok(encoded.into_iter().map(decoded).collect())
}

/// Centre and scale of an outcome that is a number, 0 and 1 otherwise. Of a logarithm, they are the logarithm's.
fn scale_of(schema: &Schema) -> (f64, f64) {
    match &schema.outcome().kind {
        OutcomeKind::Number(number) => (number.centre, number.scale),
        OutcomeKind::Classes(_) => (0.0, 1.0),
    }
}

/// Scores in the units of the outcome: errors times its scale, log-densities less the scale's logarithm.
fn in_units(mut finished: Finished, scale: f64) -> Finished {
    finished.absolute_error = finished.absolute_error.map(|error| error * scale);
    finished.log_likelihood -= scale.ln();
    finished.curve.iter_mut().for_each(|point| point.log_likelihood -= scale.ln());
    finished
}

/// The rows with an outcome that any row may have: predictions do not look at it.
fn with_outcome(csv: &[u8], schema: &Schema) -> Result<Vec<u8>, Failure> {
    let broken =
        |e: &dyn std::fmt::Display| Failure::usage(format!("the rows to predict: {e}"), "give a CSV with a header");
    let (outcome, example) = (schema.outcome(), schema.outcome().example());
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv);
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (line, record) in reader.records().enumerate() {
        let mut record = record.map_err(|e| broken(&e))?;
        record.push_field(if line == 0 { &outcome.column } else { &example });
        writer.write_record(&record).map_err(|e| broken(&e))?;
    }
    writer.into_inner().map_err(|e| broken(&e))
}

fn marginals(q: &Gaussian) -> Marginals {
    Marginals { mean: q.mean().to_vec(), deviation: q.deviations(), precision: q.packed_precision() }
}
