//! From a study to its opened data: what can be planned, simulated and sampled.

use crate::check::Check;
use crate::engine::Engine;
use crate::error::StudyError;
use crate::fault::Fault;
use crate::forecast::Forecast;
use crate::meant::Study;
use crate::observer::RunObserver;
use crate::run::{self, Made};
use crate::sample::{self, Sampled};
use crate::schema_rows::SchemaEngine;
use crate::simulator::Simulator;
use crate::synthetic;
use inference::Fits;
use inference::results::Results;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to do with a study that is not simulated.
const SERVED: &str = "serve the study; or add a [partition] and `split` in [data], to simulate it on rows of your own";

/// What to do with a study that is neither simulated nor served.
const FITTED: &str =
    "add [partition] with column = \"hospital\" or clients = 4; or fit the table of one owner with `posterity fit`";

/// Where the files that a study names are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// The study's own folder: paths in it are relative to this one.
    pub study: PathBuf,
    /// Where fetched data sets are kept; none where there is no such folder.
    pub data: Option<PathBuf>,
}

impl Folders {
    /// For the study in this file.
    pub fn of(file: &Path, data: Option<PathBuf>) -> Self {
        Self { study: file.parent().unwrap_or(Path::new("")).to_owned(), data }
    }
}

/// A study with its rows.
pub struct Loaded {
    study: Study,
    engine: Box<dyn Engine>,
    made: Option<Made>,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("study", &self.study.name).finish_non_exhaustive()
    }
}

impl Study {
    /// What the study would run, in words. Header and schema of its data are read, and no row.
    pub fn check(&self, folders: &Folders) -> Result<Check, StudyError> {
        Check::of(self, folders)
    }

    /// What each method will cost every client, for each data set of the study. Of the data, only the schema is looked at.
    pub fn plan(&self, folders: &Folders) -> Result<Vec<Forecast>, StudyError> {
        self.by_data().iter().map(|part| Forecast::of(part, folders)?.expecting(folders)).collect()
    }

    /// Opens the rows of a study with one data set and one partition.
    pub fn load(&self, folders: &Folders) -> Result<Loaded, StudyError> {
        self.check_simulated()?;
        if !self.columns.is_empty() {
            return Err(StudyError::usage(
                format!("{} has several columns, and a run has one data set and one partition", self.file),
                format!("reproduce the study {}", self.file),
            ));
        }
        Loaded::open(self.clone(), folders, &Arc::default())
    }

    /// Refuses a study that does not say which rows belong to which client.
    fn check_simulated(&self) -> Result<(), Fault> {
        if self.simulated {
            return Ok(());
        }
        let place = self.file.clone();
        if self.served.is_some() {
            let message = "the study has no [partition]: it is served to sites that have their rows".to_owned();
            return Err(Fault { code: "F104", place, message, hint: SERVED.to_owned() });
        }
        let message = "the study has no [partition], which says what rows each simulated client has".to_owned();
        Err(Fault { code: "S001", place, message, hint: FITTED.to_owned() })
    }

    /// Opens the rows of each column of a table under its name, or of the one partition under the study's own. All are opened
    /// before the first is run, so that data which do not fit are refused at once.
    pub fn load_columns(&self, folders: &Folders) -> Result<Vec<(String, Loaded)>, StudyError> {
        self.check_simulated()?;
        let fits = Arc::default();
        let alone = || Self { name: format!("{0}, {0}", self.name), ..self.clone() };
        let columns = self.columns.iter().map(|column| (column.name.clone(), self.of_column(column)));
        let columns: Vec<(String, Self)> = columns.collect();
        let columns = if columns.is_empty() { vec![(self.name.clone(), alone())] } else { columns };
        columns.into_iter().map(|(name, one)| Ok((name, Loaded::open(one, folders, &fits)?))).collect()
    }
}

impl Loaded {
    /// On rows of a file, or on made-up ones. Engines share what they fitted.
    fn open(study: Study, folders: &Folders, fits: &Arc<Fits>) -> Result<Self, StudyError> {
        let engine: Box<dyn Engine> = match (&study.data.synthetic, &study.data.drawn) {
            (Some(made), _) => Box::new(synthetic::SyntheticEngine::open(&study, made, fits)?),
            (None, Some(_)) => Box::new(SchemaEngine::open(&study, folders, fits)?),
            (None, None) => Box::new(Simulator::open(&study, folders, fits)?),
        };
        let names = engine.summary()?.clients.into_iter().map(|client| client.name).collect();
        let study = study.settled(&engine.public()?.with_names(Some(names)))?;
        Ok(Self { study, engine, made: None })
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// The same, whose results say when and by which program they were made.
    pub fn made_by(self, made: Made) -> Self {
        Self { made: Some(made), ..self }
    }

    /// Simulates every method and seed that is not finished yet, and writes results and posteriors into a directory.
    ///
    /// Results are written after all work is done, each file whole or not at all; finished work is kept as it comes, so that a
    /// run that was stopped goes on from there.
    ///
    /// # Examples
    /// A run, and a prediction from what it left:
    /// ```
    /// use study::{Folders, Posterior, Study};
    ///
    /// let text = r#"
    ///     schema = 1
    ///     study = { name = "heart", seeds = [1], baselines = false }
    ///     data = { source = "heart", split = { test = 0.2 } }
    ///     partition = { kind = "column", column = "hospital" }
    ///     model = { kind = "logistic" }
    ///     [[method]]
    ///     name = "clear"
    ///     algorithm = "pvi"
    ///     solver = "clear"
    ///     rounds = 1
    ///     local = { optimiser = "natural" }
    /// "#;
    /// let out = std::env::temp_dir().join(format!("study-example-{}", std::process::id()));
    /// let results = Study::read("heart.toml", text)?.load(&Folders::default())?.simulate(&out, &())?;
    /// assert_eq!(results.methods[0].name, "clear");
    ///
    /// let posterior = Posterior::open(&out, None)?.at(None)?;
    /// let patient = "age,sex,cp,trestbps,chol,fbs,restecg,thalach,exang,oldpeak\n63,1,1,145,233,1,2,150,0,2.3\n";
    /// let predictions = posterior.predict(patient.as_bytes())?;
    /// assert!(predictions.csv(&posterior.levels()).starts_with("row,probability"));
    /// std::fs::remove_dir_all(out)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn simulate(&self, out: &Path, observer: &dyn RunObserver) -> Result<Results, StudyError> {
        run::into(&self.study, self.engine.as_ref(), out, self.made.as_ref(), observer)
    }

    /// Runs all methods of the study, and writes draws from their posteriors and diagnostics into a directory.
    pub fn sample(&self, out: &Path, observer: &dyn RunObserver) -> Result<Vec<Sampled>, StudyError> {
        sample::sample(&self.study, self.engine.as_ref(), out, observer)
    }
}
