//! The library of studies: every party builds a run's parts for itself, from the texts of the manifest.

use super::run_parts::{build, choose, read_schema, read_study, refuse};
use crate::failure::Failure;
use federation::manifest::{Manifest, RunBuilder, RunParts};
use std::sync::Arc;
use study::{Served, ServedSite};

/// Builds runs of studies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Studies;

impl RunBuilder for Studies {
    fn open(&self, manifest: &Manifest) -> Result<Arc<RunParts>, String> {
        open(manifest).map(Arc::new).map_err(|failure| format!("{failure} ({})", failure.hint()))
    }
}

fn open(manifest: &Manifest) -> Result<RunParts, Failure> {
    let study = read_study("the manifest's study", &manifest.study)?;
    let method = choose(&study, Some(&manifest.method))?;
    check_members(study.served.as_ref(), manifest)?;
    let rows: Vec<u64> = manifest.sites.iter().map(|site| site.rows).collect();
    build(&study, &read_schema(&manifest.schema)?, method, &rows)
}

/// The members are those that the study names: what people read in it is what is run.
fn check_members(served: Option<&Served>, manifest: &Manifest) -> Result<(), Failure> {
    let Some(served) = served else {
        return Err(refuse("the study has no [federation]", "add [federation] with the sites and their declared rows"));
    };
    let sites = manifest.sites.iter().map(|site| ServedSite { name: site.name.clone(), rows: site.rows });
    if !served.sites.iter().cloned().eq(sites) {
        let message = "the sites or declared rows of the manifest differ from those of its study";
        return Err(refuse(message, "propose the run again from the study"));
    }
    let summed = !manifest.nodes.is_empty();
    if summed && !served.nodes.iter().eq(manifest.nodes.iter().map(|node| &node.name)) {
        return Err(refuse(
            "the compute nodes of the manifest differ from those of its study",
            "propose the run again from the study",
        ));
    }
    Ok(())
}
