//! `posterity init`: skeletons of a study and a schema from the names in a table's header.

use crate::failure::Failure;
use std::path::Path;
use study::Skeleton;

/// Writes them into a folder that has neither.
pub(crate) fn run(folder: &Path, table: &Path, json: bool) -> Result<String, Failure> {
    let Skeleton { written, columns } = study::init(folder, table)?;
    if json {
        return Ok(format!("{}\n", serde_json::json!({ "written": written, "columns": columns })));
    }
    let paths: String = written.iter().map(|path| format!("wrote       {}\n", path.display())).collect();
    Ok(format!("{paths}next        say in the schema what the {columns} columns are; they are ignored until then\n"))
}
