//! The data of a study as meant: where rows come from, and which of them are held out.

use super::fault::{Fault, StudyText};
use super::labels::{self, Labels};
use super::meant::TableColumn;
use super::schema_rows::{self, SchemaRows};
use super::served::Served;
use super::synthetic::{self, Synthetic};
use super::typed::{DataAsTyped, RowsAsTyped, SplitAsTyped, StudyAsTyped, TableColumnAsTyped};
use inference::StudyModel;
use inference::{Partition, Split};
use serde::Deserialize;
use std::path::PathBuf;

/// Where rows come from, and which of them are held out.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// A bundled or fetched name, or `csv:path`.
    pub source: String,
    /// The schema, where it is not the one beside the rows.
    pub schema: Option<PathBuf>,
    /// Which rows are held out.
    pub split: Split,
    /// Where in the file it stands.
    pub(crate) split_key: String,
    /// Draws the split of every run; without it each run's seed does.
    pub split_seed: Option<u64>,
    /// Rows of the source: declared, never counted.
    pub declared_rows: Option<DeclaredRows>,
    /// Persons of the source: declared, never counted. What methods that protect persons are planned for.
    pub declared_persons: Option<DeclaredRows>,
    /// Inputs of a row, where the schema does not say it.
    pub declared_inputs: Option<usize>,
    /// The law of made-up rows.
    pub(crate) synthetic: Option<Synthetic>,
    /// The law of rows that are drawn from the schema.
    pub(crate) drawn: Option<SchemaRows>,
    /// Which coefficients labels are drawn with, where they are not those of the source.
    pub(crate) labels: Option<Labels>,
    /// What scores of a number are told in.
    pub scores_in: ScoresIn,
}

/// What errors, widths of intervals and log-likelihoods of a number are told in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoresIn {
    /// The outcome's own units.
    #[default]
    Units,
    /// Units of the encoded outcome, as the schema scales it.
    Encoded,
}

/// Declared numbers of rows, or of persons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredRows {
    /// Of all clients together.
    All(u64),
    /// Of each client.
    Each(Vec<u64>),
}

/// The share of the rows that a simulation holds out where the study does not say which.
pub(crate) const HELD_OUT: f64 = 0.2;

/// Source and split of a column's own.
type OwnData = (Option<String>, Option<(Split, Option<u64>)>);

/// The data of a study, with the partitions of all of its columns. `only` is who takes part in a study that is not run but
/// served: its rows are those that sites declare, and none is held out.
pub(super) fn of(
    study: &StudyAsTyped,
    model: &StudyModel,
    only: Option<&Served>,
    source: &StudyText<'_>,
    first: &Partition,
    columns: &[TableColumn],
) -> Result<Data, Fault> {
    let typed = &study.data;
    let partitions: Vec<&Partition> = columns.iter().map(|column| &column.partition).chain([first]).collect();
    let by_person = only.is_some_and(|served| served.by_person);
    let served = |by_person_too: bool| {
        only.filter(|_| by_person == by_person_too).map(|served| DeclaredRows::Each(served.rows()))
    };
    let declared_rows = declared(typed.declared_rows.as_ref(), "declared_rows", source)?.or_else(|| served(false));
    let declared_persons =
        declared(typed.declared_persons.as_ref(), "declared_persons", source)?.or_else(|| served(true));
    if typed.scores_in == ScoresIn::Encoded && !model.settings.outcome().is_number() {
        let message = "only scores of an outcome that is a number have units".to_owned();
        return Err(source.fault("data.scores_in", "S011", message, "leave it out"));
    }
    let simulated = study.partition.is_some() || !columns.is_empty();
    if !simulated {
        of_simulation(typed, only.is_some(), source)?;
    }
    let (split, split_seed) = match &typed.split {
        Some(typed) => (split(typed, source, "data.split")?, split_seed(typed, source, "data.split")?),
        None if simulated => (Split::Fraction { test: HELD_OUT }, None),
        None => (Split::Rows { test: 0 }, None),
    };
    Ok(Data {
        source: typed.source.clone(),
        schema: typed.schema.clone(),
        split,
        split_key: "data.split".to_owned(),
        split_seed,
        declared_rows,
        declared_persons,
        declared_inputs: typed.declared_inputs,
        synthetic: synthetic::of(typed, model, &partitions, source)?,
        drawn: schema_rows::of(study, source)?,
        labels: labels::of(typed.labels.as_ref(), model, made_up(&typed.source), source)?,
        scores_in: typed.scores_in,
    })
}

/// Whether the rows of a source are made up by the program.
fn made_up(source: &str) -> bool {
    synthetic::is_made(source) || schema_rows::is_drawn(source)
}

/// A declared number, or one of each client, of which none is 0.
fn declared(typed: Option<&RowsAsTyped>, key: &str, source: &StudyText<'_>) -> Result<Option<DeclaredRows>, Fault> {
    let (declared, none) = match typed {
        None => return Ok(None),
        Some(RowsAsTyped::All(rows)) => (DeclaredRows::All(*rows), *rows == 0),
        Some(RowsAsTyped::Each(rows)) => (DeclaredRows::Each(rows.clone()), rows.is_empty() || rows.contains(&0)),
    };
    if none {
        let message = format!("{key} has a client without rows");
        return Err(source.fault(&format!("data.{key}"), "S004", message, "every client has at least one"));
    }
    Ok(Some(declared))
}

/// Refuses what only a simulation has, in a study without one; numbers that sites declare elsewhere, where it is served.
fn of_simulation(typed: &DataAsTyped, served: bool, source: &StudyText<'_>) -> Result<(), Fault> {
    let stray = [
        ("split", typed.split.is_some()),
        ("declared_rows", served && typed.declared_rows.is_some()),
        ("declared_persons", served && typed.declared_persons.is_some()),
        ("labels", typed.labels.is_some()),
    ];
    match stray.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((key, _)) => {
            let message = format!("{key} belongs to a simulation, and the study has no [partition]");
            let hint = match served {
                true => "add a [partition] to run it too; or leave this out: sites declare their rows in [federation]",
                false => "add a [partition] to simulate it too; or leave this out: a fit uses all rows",
            };
            Err(source.fault(&format!("data.{key}"), "S011", message, hint))
        }
    }
}

/// Source and split of a column, where it has its own.
pub(super) fn of_column(
    at: usize,
    column: &TableColumnAsTyped,
    data: &DataAsTyped,
    source: &StudyText<'_>,
) -> Result<OwnData, Fault> {
    let path = |key: &str| format!("column.{at}.{key}");
    let declared = data.declared_rows.is_some() || data.declared_persons.is_some() || data.declared_inputs.is_some();
    let of_one = data.schema.is_some() || declared;
    if column.source.is_some() && (of_one || data.synthetic.is_some()) {
        let message =
            "schema, declared_rows, declared_persons, declared_inputs and synthetic of [data] are those of one source"
                .to_owned();
        let hint = "leave them out where columns have sources of their own; a file's schema stands beside it";
        return Err(source.fault(&path("source"), "S011", message, hint));
    }
    if column.source.as_deref().is_some_and(made_up) {
        let message = "made-up rows are those of a whole study".to_owned();
        return Err(source.fault(&path("source"), "S011", message, "name it under [data], for all columns"));
    }
    let split = match &column.split {
        None => None,
        Some(typed) => Some((split(typed, source, &path("split"))?, split_seed(typed, source, &path("split"))?)),
    };
    Ok((column.source.clone(), split))
}

/// The law of a column's made-up rows, where it has its own.
pub(super) fn law_of_column(
    at: usize,
    column: &TableColumnAsTyped,
    data: &DataAsTyped,
    model: &StudyModel,
    source: &StudyText<'_>,
) -> Result<Option<Synthetic>, Fault> {
    let Some(typed) = &column.synthetic else { return Ok(None) };
    let path = format!("column.{at}.synthetic");
    if !synthetic::is_made(&data.source) {
        let message = "synthetic goes with a made-up source of the study".to_owned();
        return Err(source.fault(&path, "S011", message, "leave it out"));
    }
    synthetic::stated(typed, &data.source, model, source, &path).map(Some)
}

fn split_seed(typed: &SplitAsTyped, source: &StudyText<'_>, at: &str) -> Result<Option<u64>, Fault> {
    if typed.seed.is_some() && typed.column.is_some() {
        let message = "a column says which rows are held out: there is nothing to draw".to_owned();
        return Err(source.fault(&format!("{at}.seed"), "S011", message, "leave seed out"));
    }
    Ok(typed.seed)
}

fn split(typed: &SplitAsTyped, source: &StudyText<'_>, at: &str) -> Result<Split, Fault> {
    let forms = [typed.test.is_some(), typed.test_rows.is_some(), typed.half.is_some(), typed.column.is_some()];
    let several = forms.iter().filter(|given| **given).count() != 1 || typed.half == Some(false);
    if several || typed.test_level.is_some() && typed.column.is_none() {
        return Err(source.fault(
            at,
            "S011",
            "split is not one of its four forms".into(),
            "{ test = 0.2 }, { test_rows = 500 }, { half = true } or { column = \"split\", test_level = \"test\" }",
        ));
    }
    match (typed.test, typed.test_rows, &typed.column) {
        (Some(test), ..) if test > 0.0 && test < 1.0 => Ok(Split::Fraction { test }),
        (Some(test), ..) => {
            let message = format!("test is {test}, expected a share of the rows between 0 and 1");
            Err(source.fault(&format!("{at}.test"), "S004", message, "for example split = { test = 0.2 }"))
        }
        (None, Some(0), _) => {
            let message = "test_rows is 0, expected at least one row".to_owned();
            Err(source.fault(&format!("{at}.test_rows"), "S004", message, "for example split = { test_rows = 500 }"))
        }
        (None, Some(test), _) => Ok(Split::Rows { test }),
        (None, None, Some(column)) => {
            let test_level = typed.test_level.clone().unwrap_or_else(|| "test".to_owned());
            Ok(Split::Column { column: column.clone(), test_level })
        }
        (None, None, None) => Ok(Split::Half),
    }
}
