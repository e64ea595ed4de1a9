//! From a study and its schema to the parts of a federation's run, by the code that `posterity simulate` uses.

use super::builder::Studies;
use super::error::StudyRunError;
use crate::manifest::RunParts;
use inference::Method;
use inference::public::{PublicNumbers, RowCounts};
use inference::settings::{Aggregator, Schedule};
use inference::{Schema, nearest};
use study::Study;
use study::StudyKind;
use study::columns;

/// A study that cannot be served, and what could be.
pub(crate) fn refuse(message: impl Into<String>, hint: impl Into<String>) -> StudyRunError {
    StudyRunError::refused("F101", message, hint)
}

impl Studies {
    /// Reads a study for serving; `file` is its name in errors. Only posteriors that are learnt from rows at sites are served.
    pub fn read(&self, file: &str, text: &str) -> Result<Study, StudyRunError> {
        match StudyKind::of(text) {
            StudyKind::Learning => {}
            StudyKind::Histogram => {
                return Err(refuse(
                    format!("{file} is a histogram, which a federation cannot run"),
                    "simulate the study",
                ));
            }
            StudyKind::Curves => {
                return Err(refuse(
                    format!("{file} is an accounting figure, which has no sites"),
                    "reproduce the figure",
                ));
            }
        }
        let study = Study::read_with(file, text, self.registry())?;
        check_rows(&study)?;
        Ok(study)
    }
}

/// Refuses a study that is not of one table that somebody holds.
pub(crate) fn check_rows(study: &Study) -> Result<(), StudyRunError> {
    let file = &study.file;
    if !study.columns.is_empty() {
        return Err(refuse(format!("{file} has several columns, but a run has one"), "use one [partition], or none"));
    }
    if study.is_made_up() {
        return Err(refuse(format!("{file} has generated rows, which no site holds"), "simulate the study"));
    }
    Ok(())
}

/// The method of this name; without one, the only one that promises privacy.
pub(super) fn choose<'a>(study: &'a Study, name: Option<&str>) -> Result<&'a Method, StudyRunError> {
    let method = match name {
        Some(name) => named(study, name)?,
        None => match study.methods.iter().filter(|method| method.promise.is_some()).collect::<Vec<_>>()[..] {
            [one] => one,
            [] => return Err(refuse("no method of the study is private", "add privacy = { … } to one of them")),
            ref several => {
                let private: Vec<&str> = several.iter().map(|method| method.name.as_str()).collect();
                let message = "the study has several private methods, but a run has one";
                return Err(refuse(message, format!("choose one by its name: {}", listed(&private))));
            }
        },
    };
    check_method(method)?;
    Ok(method)
}

/// Names of methods, quoted.
fn listed(of: &[&str]) -> String {
    of.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// The method of this name.
pub(crate) fn named<'a>(study: &'a Study, name: &str) -> Result<&'a Method, StudyRunError> {
    let all: Vec<&str> = study.methods.iter().map(|method| method.name.as_str()).collect();
    study.methods.iter().find(|method| method.name == name).ok_or_else(|| {
        let close = nearest(name, all.iter().copied());
        let close = close.map_or_else(String::new, |close| format!("did you mean {close:?}? "));
        refuse(format!("there is no method {name:?} in the study"), format!("{close}The methods are {}", listed(&all)))
    })
}

/// Refuses a method that no site would answer, or whose sums nobody could open.
fn check_method(method: &Method) -> Result<(), StudyRunError> {
    let (why, hint) = match method.promise.as_ref().map(|promise| promise.aggregator) {
        None => (
            "is non-private, and a site never answers without noise",
            "choose another method, or add privacy = { … } to this one",
        ),
        Some(Aggregator::Curator) => (
            "trusts a curator, who would see every site's sum",
            "use aggregator = \"secure-sum\", or none, so that every site adds noise to its own answers",
        ),
        Some(Aggregator::SecureSum(_)) if method.schedule != Schedule::Synchronous => {
            ("opens sums over all sites, which must answer in the same round", "use schedule = \"synchronous\"")
        }
        Some(Aggregator::None | Aggregator::SecureSum(_)) => return Ok(()),
    };
    Err(refuse(format!("method {:?} {why}", method.name), hint))
}

/// Schema of a run, from its text.
pub fn read_schema(text: &str) -> Result<Schema, StudyRunError> {
    Schema::from_toml(text).map_err(|error| StudyRunError::data("the schema", error))
}

/// Refuses a prior whose numbers no charge was made for: they would be shown to every party, and be part of what is released.
fn check_prior(study: &Study) -> Result<(), StudyRunError> {
    match &study.model.prior.earlier {
        Some(earlier) if !earlier.released => Err(refuse(
            format!("the prior is the posterior of a simulation ({}), which no ε covers", earlier.source),
            "name a posterior that a fit or a federation released; or state what you know by prior = { coefficients = { … } }",
        )),
        _ => Ok(()),
    }
}

/// The parts of a run for sites of these names with these agreed numbers of rows, or of persons where the method protects these.
pub(crate) fn build(
    study: &Study,
    schema: &Schema,
    method: &Method,
    names: Vec<String>,
    rows: &[u64],
) -> Result<RunParts, StudyRunError> {
    columns::check(study, schema)?;
    check_prior(study)?;
    let seed = study.seeds.first().copied().unwrap_or(1);
    let model = study.model.settings.build(schema.classes(), seed);
    let inputs = schema.layout(study.model.intercept).map_err(|error| StudyRunError::data("the schema", error))?;
    let agreed = PublicNumbers::new(rows.to_vec(), RowCounts::Agreed, inputs.clone()).with_schema(schema);
    let public = PublicNumbers { persons: Some(rows.to_vec()), ..agreed }.with_names(Some(names));
    let settled = study.settled(&public)?;
    let method = settled.methods.iter().find(|other| other.name == method.name).unwrap_or(method);
    let built = inference::build(method, rows, model, &inputs, &columns::prior(study, schema)?, seed)?;
    Ok(RunParts { method: method.clone(), built })
}
