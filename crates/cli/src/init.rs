//! `posterity init`: skeletons of a study and a schema from the names in a table's header.

use crate::failure::Failure;
use std::path::Path;
use study::Skeleton;

/// Writes them into a folder that has neither.
pub(crate) fn run(folder: &Path, table: &Path, json: bool) -> Result<String, Failure> {
    let Skeleton { written, columns, outcome } = study::init(folder, table)?;
    if json {
        return Ok(format!("{}\n", serde_json::json!({ "written": written, "columns": columns, "outcome": outcome })));
    }
    let paths: String = written.iter().map(|path| format!("wrote       {}\n", path.display())).collect();
    let others = columns.saturating_sub(1);
    let study = folder.join("study.toml");
    Ok(format!(
        "\
{paths}next        1. schema.toml: the levels of the outcome (taken to be {outcome:?}, the last column), and what the other {others}
               columns are; they are ignored until then
            2. study.toml: which rows belong to which client ([partition]), and the privacy budget (epsilon, delta)
            3. posterity check {}
",
        study.display()
    ))
}
