//! `posterity schema`: JSON Schemas of the files that people write, and the reference of studies.

use crate::arguments::SchemaFile;
use federation::policy::POLICY_KEYS;
use inference::SCHEMA_KEYS;
use inference::describe::Registry;
use study::{STUDY_KEYS, json_schema, reference};

/// The schema as indented JSON, or the page.
pub(crate) fn text(file: &SchemaFile, json: bool) -> String {
    let registry = Registry::standard();
    let schema = match file {
        SchemaFile::Study { markdown: true } => {
            let page = reference::page(STUDY_KEYS, &registry);
            return if json { format!("{}\n", serde_json::json!({ "markdown": page })) } else { page };
        }
        SchemaFile::Study { markdown: false } => json_schema::of_study(&registry),
        SchemaFile::Schema => json_schema::of_file("A data schema of Posterity", SCHEMA_KEYS, &registry),
        SchemaFile::Policy => json_schema::of_file("A site policy of Posterity", POLICY_KEYS, &registry),
    };
    format!("{schema:#}\n")
}
