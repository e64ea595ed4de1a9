//! What a study asks of the columns of its data, told from schema and header: no row is read.

use super::fault::{Fault, StudyText};
use super::meant::Study;
use crate::datasets;
use crate::digits::shortest;
use crate::error::StudyError;
use crate::load::Folders;
use inference::describe::{Entry, Registered};
use inference::{EncodedPrior, Kind, Missing, Numeric, OutcomeKind, OutcomeNeed, Schema, agree, nearest};
use privacy::Unit;
use std::io::ErrorKind;

/// Header and schema of a study's data, which agree with each other and with the study.
pub(crate) struct Columns {
    /// Names in the header; none of a study that is only served, whose files are at the sites.
    pub(crate) header: Option<usize>,
    /// What the columns mean.
    pub(crate) schema: Schema,
}

impl Columns {
    /// Reads both and compares; paths are looked for in these folders.
    pub(crate) fn of(study: &Study, folders: &Folders) -> Result<Self, StudyError> {
        if !study.has_table() {
            let (_, schema) = datasets::schema_of(&study.data.source, study.data.schema.as_deref(), folders)?;
            check(study, &schema)?;
            return Ok(Self { header: None, schema });
        }
        let (header, schema) = match (&study.data.synthetic, &study.data.drawn) {
            (Some(made), _) => made.columns()?,
            (None, drawn) => {
                let (_, schema) = datasets::schema_of(&study.data.source, study.data.schema.as_deref(), folders)?;
                // What is drawn is checked by the schema before its columns are.
                match drawn {
                    Some(drawn) => {
                        drawn.sites(study, &schema)?;
                        (drawn.law(study, &schema)?.header(), schema)
                    }
                    None => (datasets::header_of(&study.data.source, folders)?, schema),
                }
            }
        };
        let named = named(study);
        in_header(study, &header, &named)?;
        let keep: Vec<&str> = named.iter().map(|(_, column)| *column).collect();
        agree(&header, &schema, &keep).map_err(|error| StudyError::data(study.data.source.as_str(), error))?;
        check(study, &schema)?;
        Ok(Self { header: Some(header.len()), schema })
    }

    /// In words.
    pub(crate) fn words(&self, bias: bool) -> String {
        let (inputs, and) = (self.schema.inputs(false).len(), if bias { " and the intercept" } else { "" });
        let plural = if inputs == 1 { "" } else { "s" };
        let found =
            self.header.map_or_else(String::new, |header| format!("{header} in the header, all in the schema, "));
        format!("{found}{inputs} input{plural}{and}")
    }
}

/// The columns that the study itself names, each with its key: those of the split and of the partitions.
fn named(study: &Study) -> Vec<(String, &str)> {
    let split = study.data.split.column().map(|column| (format!("{}.column", study.data.split_key), column));
    let first = study.partition.column().map(|column| ("partition.column".to_owned(), column));
    let several = study.columns.iter().enumerate().filter_map(|(at, column)| {
        column.partition.column().map(|name| (format!("column.{at}.partition.column"), name))
    });
    split.into_iter().chain(first).chain(several).collect()
}

/// Refuses a column of the study that the header lacks, at its line in the study.
fn in_header(study: &Study, header: &[String], named: &[(String, &str)]) -> Result<(), Fault> {
    let Some((key, column)) = named.iter().find(|(_, column)| header.iter().all(|name| name != column)) else {
        return Ok(());
    };
    let names = header.iter().map(String::as_str);
    let hint = match nearest(column, names.clone()) {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!("the header has {}", names.collect::<Vec<_>>().join(", ")),
    };
    let message = format!("column `{column}` is not in the file {}", study.data.source);
    Err(StudyText::new(study.file.clone(), &study.text).fault(key, "D004", message, hint))
}

/// The schema of a study's data, if it is there: a plan can do without.
pub(crate) fn schema_if_there(study: &Study, folders: &Folders) -> Result<Option<Schema>, StudyError> {
    if let Some(made) = &study.data.synthetic {
        return Ok(Some(made.columns()?.1));
    }
    match datasets::schema_of(&study.data.source, study.data.schema.as_deref(), folders) {
        Ok((_, schema)) => Ok(Some(schema)),
        Err(StudyError::File { source, .. }) if source.kind() == ErrorKind::NotFound && study.data.drawn.is_none() => {
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// A warning for each constant of the schema that lies outside the bounds of its column: a filled cell is clamped like any other, and
/// inputs are far from 0 around another centre.
pub(crate) fn outside_bounds(schema: &Schema) -> Vec<String> {
    let inputs = schema.columns().iter().filter_map(|column| match &column.kind {
        Kind::Numeric(numeric) => Some((&column.name, numeric)),
        _ => None,
    });
    let outcome = match &schema.outcome().kind {
        OutcomeKind::Number(numeric) => Some((&schema.outcome().column, numeric)),
        OutcomeKind::Classes(_) => None,
    };
    inputs.chain(outcome).flat_map(|(name, numeric)| of_column(name, numeric)).collect()
}

fn of_column(name: &str, numeric: &Numeric) -> Vec<String> {
    let Some((low, high)) = numeric.bounds else { return Vec::new() };
    let centre = if numeric.log { numeric.centre.exp() } else { numeric.centre };
    let fill = match numeric.missing {
        Missing::Fill(fill) => Some(fill).filter(|fill| !(low..=high).contains(fill)),
        Missing::Flag | Missing::Refused => None,
    };
    let bounds = format!("its bounds, {} to {}", shortest(low), shortest(high));
    let filled = |fill: f64| {
        let (fill, taken) = (shortest(fill), shortest(fill.clamp(low, high)));
        format!("the schema fills missing cells of `{name}` with {fill}, outside {bounds}: they count as {taken}")
    };
    let off = || {
        format!("the schema's centre of `{name}`, {}, is outside {bounds}: its input is never near 0", shortest(centre))
    };
    let centre_is_off = !(low..=high).contains(&centre);
    fill.map(filled).into_iter().chain(centre_is_off.then(off)).collect()
}

/// The warning that the rows of a known set are yet to be fetched.
pub(crate) fn not_here(study: &Study) -> Option<String> {
    let set = datasets::find(&study.data.source)?;
    Some(format!("{0} was not fetched yet: fetch the data set {0}", set.name))
}

/// Checks that outcome and prior fit the model, and that rows have ids of records or persons where a method needs them.
pub fn check(study: &Study, schema: &Schema) -> Result<(), StudyError> {
    outcome(study, schema)?;
    sites(study, schema)?;
    prior(study, schema)?;
    if let Some(drawn) = &study.data.drawn {
        drawn.law(study, schema)?;
    }
    person_ids(study, Some(schema))?;
    Ok(record_ids(study, Some(schema))?)
}

/// The prior of the study's coefficients under this schema.
///
/// # Errors
/// What the model refuses of it, and a method that would ignore its correlations.
pub fn prior(study: &Study, schema: &Schema) -> Result<EncodedPrior, StudyError> {
    let source = StudyText::new(study.file.clone(), &study.text);
    let found = study.model.encoded_prior(schema, has_intercept(study));
    let found = found.map_err(|conflict| source.conflict("model", "", &conflict))?;
    for (at, method) in study.methods.iter().enumerate() {
        found.check(method.algorithm.covariance()).map_err(|conflict| {
            let message = format!("method {:?}: {}", method.name, conflict.what);
            source.fault(&study.path(at, &conflict.key), conflict.code, message, conflict.hint)
        })?;
    }
    Ok(found)
}

/// Whether an intercept is among the inputs: generated rows bring their own.
pub(crate) fn has_intercept(study: &Study) -> bool {
    study.data.synthetic.map_or(study.model.intercept, |made| made.has_intercept())
}

/// Refuses the outcome as the column of the sites: every site would have one outcome, and who knows the site would know it.
fn sites(study: &Study, schema: &Schema) -> Result<(), Fault> {
    let outcome = &schema.outcome().column;
    let is_outcome = |(key, column): &(String, &str)| key.contains("partition") && column == outcome;
    let Some((key, _)) = named(study).into_iter().find(is_outcome) else { return Ok(()) };
    let message = format!("`{outcome}` cannot be both the outcome and the column of the sites");
    let hint = "name the column that says where a row comes from, or deal rows evenly: clients = 4";
    Err(StudyText::new(study.file.clone(), &study.text).fault(&key, "S004", message, hint))
}

/// Refuses an outcome that the model is not for.
fn outcome(study: &Study, schema: &Schema) -> Result<(), StudyError> {
    let settings = &study.model.settings;
    if settings.outcome().takes_outcome(schema) {
        return Ok(());
    }
    let (kind, needs) = (settings.descriptor().name, settings.outcome().words());
    let fitting = study.registry.of(Registered::Model).filter_map(|entry| match entry {
        Entry::Model(descriptor) => Some(descriptor.name),
        _ => None,
    });
    let hint = match schema.classes() {
        None if settings.outcome() == OutcomeNeed::Count => {
            "outcome = { column = …, bounds = [0, 40] } in the schema, without centre and scale".to_owned()
        }
        None => "kind = \"linear\" is for a number".to_owned(),
        Some(2) => "kind = \"logistic\" is for two levels".to_owned(),
        Some(_) => "kind = \"softmax\" is for more than two levels".to_owned(),
    };
    let names: Vec<&str> = fitting.collect();
    let message = format!("a {kind} model needs {needs}, and `{}` {}", schema.outcome().column, found(schema));
    let hint = format!("{hint}; or describe the outcome otherwise in the schema. Models are {}", names.join(", "));
    Err(StudyText::new(study.file.clone(), &study.text).fault("model.kind", "C001", message, hint).into())
}

/// What an outcome is, in words.
fn found(schema: &Schema) -> String {
    schema
        .classes()
        .map_or_else(|| "is a number by the schema".to_owned(), |levels| format!("has {levels} levels by the schema"))
}

/// A promise to persons needs to know whose rows are, so the schema has to name the column that tells.
pub(crate) fn person_ids(study: &Study, schema: Option<&Schema>) -> Result<(), Fault> {
    let needs = study.methods.iter().position(|method| method.unit() == Unit::Person);
    let Some(at) = needs.filter(|_| schema.and_then(Schema::person_id).is_none()) else { return Ok(()) };
    let found = if schema.is_some() { "the schema names none" } else { "the schema is not there" };
    let message = format!("unit = \"person\" needs person ids, and {found}");
    let hint = "name their column in the schema, person_id = \"patient\", or use unit = \"example\" for one row";
    let source = StudyText::new(study.file.clone(), &study.text);
    Err(source.fault(&study.path(at, "privacy.unit"), "S015", message, hint))
}

/// Parts of rows that may come and go follow from record ids, so the schema has to name them.
pub(crate) fn record_ids(study: &Study, schema: Option<&Schema>) -> Result<(), Fault> {
    let needs = study.methods.iter().position(|method| method.needs_record_ids());
    let Some(at) = needs.filter(|_| schema.and_then(Schema::record_id).is_none()) else { return Ok(()) };
    let found = if schema.is_some() { "the schema names none" } else { "the schema is not there" };
    let message = format!("parts under add-remove need record ids, and {found}");
    let hint = "name their column in the schema, record_id = \"patient\", or use adjacency = \"substitute\"";
    let source = StudyText::new(study.file.clone(), &study.text);
    Err(source.fault(&study.path(at, "privacy.adjacency"), "S015", message, hint))
}
