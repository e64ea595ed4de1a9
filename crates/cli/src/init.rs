//! `posterity init`: skeletons of a study and a schema from the names in a table's header.

use crate::failure::Failure;
use study::{Skeleton, SkeletonRequest};

/// Writes them into a folder that has neither.
pub(crate) fn run(asked: &SkeletonRequest<'_>, json: bool) -> Result<String, Failure> {
    let Skeleton { written, columns, outcome, sites } = study::init(asked)?;
    if json {
        let object = serde_json::json!({ "written": written, "columns": columns, "outcome": outcome, "sites": sites });
        return Ok(format!("{object}\n"));
    }
    let paths: String = written.iter().map(|path| format!("wrote       {}\n", path.display())).collect();
    let others = columns.saturating_sub(1);
    let study = asked.folder.join("study.toml");
    let study = study.display();
    let taken = if asked.outcome.is_some() { "" } else { ", the last column" };
    let partition = match sites {
        Some(_) => "epsilon, the privacy budget of each row",
        None => "the column that names the sites ([partition]), and epsilon, the privacy budget of each row",
    };
    Ok(format!(
        "\
{paths}next        1. schema.toml: the levels of the outcome ({outcome:?}{taken}), and what the other {others} columns are; they are
               ignored until then
            2. study.toml: {partition}
            3. posterity check {study}
            4. posterity simulate {study}
"
    ))
}
