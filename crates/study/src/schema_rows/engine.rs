//! The engine of rows that are drawn from a schema: each seed draws a table, which is simulated as a table in a file is.

use super::described;
use crate::columns::Columns;
use crate::datasets::{self, DataSource};
use crate::dealt::DealtOnce;
use crate::digits::hexadecimal;
use crate::engine::{Engine, Work};
use crate::error::StudyError;
use crate::labels::TrueCoefficients;
use crate::load::Folders;
use crate::meant::Study;
use crate::simulator::Simulator;
use crate::state::Finished;
use inference::plan::Costs;
use inference::public::PublicNumbers;
use inference::results::DataSummary;
use inference::warning::Warning;
use inference::{Fits, Observer, Record, RowLaw};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// What results and reports say of such rows.
const MADE_UP: &str = "The rows are made up: they were drawn from the schema's ranges and levels, with the effects that the \
                       study states. Nothing here was learnt from people.";

/// The law of the rows, and the tables that were drawn by it.
pub(crate) struct SchemaEngine {
    study: Study,
    law: RowLaw,
    sites: Vec<(String, usize)>,
    schema_text: String,
    first_seed: u64,
    costs: Arc<Costs>,
    fits: Arc<Fits>,
    tables: DealtOnce<Simulator>,
}

impl SchemaEngine {
    /// Reads the schema and draws the table of the first seed, so that what cannot be drawn is refused before anything is written.
    pub(crate) fn open(study: &Study, folders: &Folders, fits: &Arc<Fits>) -> Result<Self, StudyError> {
        let Some(drawn) = &study.data.drawn else {
            return Err(StudyError::usage("the study draws no rows", "source = \"schema\""));
        };
        Columns::of(study, folders)?;
        let (schema_text, schema) = datasets::schema_of(&study.data.source, study.data.schema.as_deref(), folders)?;
        let opened = Self {
            law: drawn.law(study, &schema)?,
            sites: drawn.sites(study, &schema)?,
            study: study.clone(),
            schema_text,
            first_seed: study.seeds.first().copied().unwrap_or(1),
            costs: Arc::default(),
            fits: fits.clone(),
            tables: DealtOnce::new(),
        };
        opened.table(opened.first_seed)?;
        Ok(opened)
    }

    /// The table of a seed.
    pub(super) fn table(&self, seed: u64) -> Result<Arc<Simulator>, StudyError> {
        self.tables.of(seed, || {
            let by = self.study.data.drawn.as_ref().and_then(|drawn| drawn.seed).unwrap_or(seed);
            let name = described(&self.study);
            let csv = self.law.csv(&self.sites, by).map_err(|error| StudyError::data(name.as_str(), error))?;
            let source = DataSource {
                name,
                csv: csv.into_bytes().into(),
                schema: self.law.schema.clone(),
                schema_text: self.schema_text.clone(),
            };
            let known = self.study.knows_coefficients();
            let truth = known.then(|| TrueCoefficients::Stated(self.law.coefficients.clone()));
            Simulator::of_source(&self.study, source, truth, (&self.fits, &self.costs))
        })
    }

    fn first(&self) -> Result<Arc<Simulator>, StudyError> {
        self.table(self.first_seed)
    }
}

impl Engine for SchemaEngine {
    fn data_digest(&self) -> String {
        let seed = self.study.data.drawn.as_ref().and_then(|drawn| drawn.seed);
        let law = format!("{:?} {:?} {seed:?}", self.law, self.sites);
        hexadecimal(&Sha256::new().chain_update(law).chain_update(&self.schema_text).finalize())
    }

    fn summary(&self) -> Result<DataSummary, StudyError> {
        Ok(DataSummary { made_up: Some(MADE_UP.to_owned()), ..self.first()?.summary()? })
    }

    fn public(&self) -> Result<PublicNumbers, StudyError> {
        self.first()?.public()
    }

    fn costs(&self) -> Arc<Costs> {
        self.costs.clone()
    }

    fn data_schema(&self) -> Option<String> {
        Some(self.schema_text.clone())
    }

    fn warnings(&self) -> Vec<Warning> {
        self.first().map(|table| table.warnings()).unwrap_or_default()
    }

    fn record(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Record, StudyError> {
        self.table(seed)?.record(work, seed, observer)
    }

    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, StudyError> {
        self.table(seed)?.run(work, seed, observer)
    }
}
