//! What a served run warns of, from its manifest and from what was released.

use crate::manifest::RunParts;
use inference::chain::{Collected, shown};
use inference::results::ChainResult;
use inference::warning::public::{ServedPosterior, approaches, clip_out_of_scale, moves, of_plan, of_served};
use inference::warning::{Code, PublicWarnings, Warning};
use inference::{Method, PriorTerm, Schema};
use study::Study;
use study::warnings;

/// What is known of a run before its first round.
pub struct RunWarnings {
    names: Vec<String>,
    /// The prior, where it could be read.
    prior: Option<PriorTerm>,
    /// About the clipping bound, from the schema's ranges.
    clip: Option<Warning>,
}

/// The end of a run, in released values.
pub struct FinishedRun<'a> {
    /// Posterior means.
    pub mean: &'a [f64],
    /// Posterior standard deviations.
    pub deviations: &'a [f64],
    /// Posterior means before the last round, if there were two rounds.
    pub before: Option<&'a [f64]>,
    /// What was drawn; outer none where the method does not draw.
    pub draws: Option<Option<&'a ChainResult>>,
    /// What the method itself warns of.
    pub of_method: Option<Warning>,
}

impl RunWarnings {
    /// From the texts of a manifest, as far as they could be read.
    pub fn new(
        study: Option<&Study>,
        schema: Option<&Schema>,
        names: &[String],
        RunParts { method, built, .. }: &RunParts,
    ) -> Self {
        let parameters = built.problem.family.dimension();
        let typical = study.zip(schema).and_then(|(study, schema)| warnings::typical_gradient(study, schema));
        Self {
            names: names.to_vec(),
            prior: study.and_then(|study| warnings::prior_term(study, schema, parameters)),
            clip: typical.and_then(|typical| clip_out_of_scale(method, typical)),
        }
    }

    /// Warnings of the plan, and of what was served where the run is over.
    pub fn of(&self, RunParts { method, built, .. }: &RunParts, end: Option<&FinishedRun<'_>>) -> PublicWarnings {
        let about_plan = of_plan(method, &built.plan);
        let planned = about_plan.iter().chain(&self.clip).cloned();
        let Some(FinishedRun { mean, deviations, before, draws, of_method }) = end else {
            return PublicWarnings::of(planned);
        };
        let before = before.filter(|_| approaches(method));
        let last_moves = before.map_or_else(Vec::new, |before| moves(before, mean, deviations));
        let served = ServedPosterior {
            names: &self.names,
            prior: self.prior.as_ref(),
            mean,
            last_moves: &last_moves,
            intervals: &method.intervals(),
            draws: *draws,
        };
        PublicWarnings::of(planned.chain(of_served(&served).iter().cloned()).chain(of_method.clone()))
    }
}

/// Why what a run left is not served as a posterior; none where it is.
pub fn refused(warnings: &PublicWarnings) -> Option<&Warning> {
    warnings.iter().find(|warning| warning.code == Code::FewDraws)
}

/// What chains have drawn; outer none where the method does not draw.
pub fn described(method: &Method, parameters: usize, drawn: Collected) -> Option<Option<ChainResult>> {
    let draws = method.algorithm.draws()?;
    Some(shown(&drawn.into_chains(), draws.warm_up, parameters).ok().flatten())
}
