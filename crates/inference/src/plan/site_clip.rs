//! Clips of single sites under one noise: the same noise is a larger multiplier for a site with a smaller clip, whose ε follows.

use super::{ClientPlan, Costing, PlannedStage};
use crate::RunError;
use crate::describe::{Conflict, NOT_TOGETHER};
use crate::release::{Bound, Release};
use privacy::{Epsilon, NormBound, PrivacyError, Shape, Trust, event_under_bound};

impl Costing<'_> {
    /// What a client clips to in place of the method's bound, where only sums are opened.
    pub(super) fn clip_in_sum(&self, client: usize) -> Option<NormBound> {
        self.constants.0.sites.of(client).clip.filter(|_| self.trust == Trust::Aggregate)
    }

    /// The plan of a client that clips to a bound of its own, from that of a client with the method's: as many updates with the same
    /// noise, at the multiplier σ/Δ_m. What they cost is what the client grants.
    ///
    /// # Errors
    /// A bound that the grid of the sums cannot hold, and a method whose kinds of updates alternate, which a ledger does not take as
    /// one plan.
    pub(super) fn under_clip(&self, shared: &ClientPlan, clip: NormBound) -> Result<ClientPlan, RunError> {
        if shared.alternates {
            let what = "updates of two kinds that alternate are charged one by one, for one clip of all sites";
            return Err(Conflict::new("privacy.sites", NOT_TOGETHER, what, "leave clip of the site out").into());
        }
        let openings = shared.openings.iter().zip(&self.releases.openings);
        let openings = openings.map(|(stage, opening)| under_bound(stage, &opening.release, clip));
        let main = PlannedStage { updates: shared.updates, event: shared.event.clone(), shape: shared.shape };
        let PlannedStage { event, shape, .. } = under_bound(&main, &self.releases.main, clip)?;
        let plan = ClientPlan { openings: openings.collect::<Result<_, _>>()?, event, shape, ..shared.clone() };
        let plan = self.costed(plan)?;
        Ok(ClientPlan { epsilon: Epsilon::new(plan.certified.max(plan.claimed))?, ..plan })
    }
}

/// A stage whose vectors are clipped to another bound, under the same noise; as it is, where it has a bound of its own.
fn under_bound(stage: &PlannedStage, release: &Release, clip: NormBound) -> Result<PlannedStage, PrivacyError> {
    if release.bound != Bound::Clip {
        return Ok(stage.clone());
    }
    let shape = Shape::new(stage.shape.dimension(), clip, stage.shape.grain(), stage.shape.grid())?;
    let event = event_under_bound(&stage.event, &stage.shape, &shape)?;
    Ok(PlannedStage { updates: stage.updates, event, shape })
}
