//! A table of one's own, compared with its schema before anything is planned: what is wrong with it, without a cell of it.

use crate::datasets;
use crate::error::StudyError;
use crate::load::Folders;
use crate::meant::Study;
use crate::simulator::{self, CountedSites};
use inference::{Schema, examine};

/// Whether a table of one's own is there, to be looked at. That of a study without one, and a data set, are not looked at.
pub(crate) fn is_there(study: &Study, folders: &Folders) -> bool {
    study.has_table() && datasets::own_file(&study.data.source, folders).is_some_and(|file| file.exists())
}

/// Refuses what is wrong with the cells of a table that is there, all of it at once: for a simulation everything that the schema does
/// not allow, for a fit what it would refuse. False where no table is looked at.
///
/// # Errors
/// Columns, lines, and what is expected there; never what a cell holds.
pub(crate) fn check(study: &Study, schema: &Schema, folders: &Folders) -> Result<bool, StudyError> {
    if !is_there(study, folders) {
        return Ok(false);
    }
    let source = datasets::open(&study.data.source, study.data.schema.as_deref(), folders)?;
    let exam = examine(&source.csv[..], schema);
    let sound = exam.and_then(|exam| if study.simulated { exam.check_strictly() } else { exam.check() });
    sound.map_err(|error| StudyError::data(source.name.as_str(), error.without_cells()))?;
    Ok(true)
}

/// Refuses a table that cannot be split and dealt as the study says, without a cell of it.
pub(crate) fn deal(study: &Study, folders: &Folders) -> Result<CountedSites, StudyError> {
    simulator::rows(study, folders).map_err(|error| match error {
        StudyError::Data { file, error } => StudyError::data(file, error.without_cells()),
        other => other,
    })
}
