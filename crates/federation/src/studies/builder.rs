//! The reader of studies: every party builds a run's parts for itself, from the texts of the manifest.

use super::error::StudyRunError;
use super::run_parts::{build, choose, read_schema, refuse};
use crate::manifest::{Manifest, RunBuilder, RunParts};
use inference::describe::Registry;
use std::sync::Arc;
use study::{Served, ServedSite, Study};

/// Reads studies and builds their runs, with the methods and models of a registry.
///
/// Every party has one of its own: a study whose methods or model its registry does not have is refused.
///
/// # Examples
/// A server, site or node that knows what is shipped; `Registry::standard().with(&MINE)` knows one more.
/// ```
/// use federation::studies::Studies;
/// use inference::describe::Registry;
/// let studies = Studies::new(Registry::standard());
/// let refused = studies.read("s.toml", "schema = 1\n[histogram]\n").unwrap_err();
/// assert_eq!(refused.code(), "F101");
/// ```
#[derive(Debug, Clone)]
pub struct Studies {
    registry: Registry,
}

impl Default for Studies {
    /// With everything that is shipped, and nothing else.
    fn default() -> Self {
        Self::new(Registry::standard())
    }
}

impl Studies {
    /// Studies of these methods and models.
    pub fn new(registry: Registry) -> Self {
        Self { registry }
    }

    /// What names of studies are looked up in.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Reads the study of a manifest.
    pub fn of(&self, manifest: &Manifest) -> Result<Study, StudyRunError> {
        self.read("the manifest's study", &manifest.study)
    }

    fn parts(&self, manifest: &Manifest) -> Result<RunParts, StudyRunError> {
        let study = self.of(manifest)?;
        let method = choose(&study, Some(&manifest.method))?;
        check_members(study.served.as_ref(), manifest)?;
        let rows: Vec<u64> = manifest.sites.iter().map(|site| site.rows).collect();
        let names = manifest.sites.iter().map(|site| site.name.to_string()).collect();
        build(&study, &read_schema(&manifest.schema)?, method, names, &rows)
    }
}

impl RunBuilder for Studies {
    fn open(&self, manifest: &Manifest) -> Result<Arc<RunParts>, String> {
        self.parts(manifest).map(Arc::new).map_err(|error| error.line())
    }
}

/// The members are those that the study names: what people read in it is what is run.
fn check_members(served: Option<&Served>, manifest: &Manifest) -> Result<(), StudyRunError> {
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
