//! What a site has spent after so many answers: costly to compute, so each number is computed once.

use super::error::StudyRunError;
use inference::Built;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use study::StudyError;

/// Costs of one run that are known already. Sites on equal terms are costed once.
#[derive(Debug, Default)]
pub struct SpentCache {
    /// (first site on the same terms, answers) → ε.
    known: Mutex<BTreeMap<(usize, u64), f64>>,
}

impl SpentCache {
    /// Certified ε at the promise's δ after so many charged answers of a site. Always of the same run.
    pub fn after(&self, built: &Built, site: usize, answers: u64) -> Result<f64, StudyRunError> {
        let first = first_alike(built, site);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(epsilon) = known().get(&(first, answers)) {
            return Ok(*epsilon);
        }
        let epsilon = epsilon_after(built, first, answers)?;
        known().insert((first, answers), epsilon);
        Ok(epsilon)
    }
}

/// Certified ε at the promise's δ after so many charged answers of a site.
pub(super) fn epsilon_after(built: &Built, site: usize, answers: u64) -> Result<f64, StudyRunError> {
    let plan = built.plan.clients.get(site);
    let missing = || StudyError::usage(format!("the plan has no site {site}"), "sites are counted from 0");
    Ok(plan.ok_or_else(missing)?.spent(answers)?)
}

/// The first site on the same terms.
fn first_alike(built: &Built, site: usize) -> usize {
    let clients = &built.plan.clients;
    let first = clients.get(site).and_then(|own| clients.iter().position(|other| own.is_charged_like(other)));
    first.unwrap_or(site)
}
