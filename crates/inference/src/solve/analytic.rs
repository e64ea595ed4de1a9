//! Analytic updates of linear regression: sufficient statistics of each row, clipped, released once an update.

use super::statistics::{FactorReading, release as release_sum, to_change};
use super::{Kept, LocalSolve, Problem, Solved, Task};
use crate::describe::{
    ANY_UNIT, Allowed, Conflict, Descriptor, Key, Limits, NOT_TOGETHER, Need, Offer, Otherwise, PrivacyNeed,
    TrustedParty,
};
use crate::release::{Clipped, Release, Releases};
use crate::settings::{Local, WHOLE_KEY};
use crate::{ClientView, Family};
use privacy::{Gate, Grain, PrivacyError, Released};
use serde::Serialize;
use std::sync::Arc;

/// Section 4.2.2 of Sharma's thesis, for any number of inputs (`docs/maths/analytic-updates.md`).
///
/// The client's new factor is read off a released sum of clipped vectors, one for each row: (xy, xxᵀ) where q has a full
/// covariance, (x(y − xᵀμ), x²) where q is mean-field. Unlike equation 4.21 nothing is done to a noisy precision here:
/// the server repairs the total, so that noise of many clients averages out first.
///
/// With s² the known variance of the outcome, the factor that unclipped statistics give is exact:
/// Λ = Σxxᵀ/s² and Λμ = Σxy/s². Clipping shrinks it; noise makes it vary.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Analytic;

/// `local` may be stated, as the one natural step that it is.
pub(super) const LOCAL: Key =
    Key { otherwise: Otherwise::Follows("one natural step"), example: "{ optimiser = \"natural\" }", ..WHOLE_KEY };

/// Solvers that read a client's factor off its own sums of sufficient statistics.
pub(super) const LIMITS: Limits = Limits {
    privacy: PrivacyNeed::Required,
    trust: Allowed {
        values: &[TrustedParty::Nobody],
        because: "the client reads its factor off sums that it releases itself",
    },
    needs: &[Need {
        offer: Offer::GaussianLikelihood,
        key: "solver",
        whose: "this solver needs",
        hint: "use solver = \"dp-optimisation\"",
    }],
    units: ANY_UNIT,
    site_intercept: false,
    ..Limits::NONE
};

/// `solver = "analytic"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "analytic",
    also: &["conjugate"],
    about: "Linear regression: releases each client's clipped sufficient statistics in every update.",
    keys: &[LOCAL],
    limits: LIMITS,
    read: |reading| {
        check_whole_step(reading.keys.has("local").then(|| Local::read_whole(&reading.keys)).transpose()?)?;
        Ok(Arc::new(Analytic))
    },
};

/// Refuses a local optimisation that is not the one that these solvers make.
pub(super) fn check_whole_step(local: Option<Local>) -> Result<(), Conflict> {
    if local.is_none_or(|local| local.is_whole_step()) {
        return Ok(());
    }
    let what = "an analytic update is one whole natural step";
    Err(Conflict::new("local", NOT_TOGETHER, what, "leave local out, and damp instead"))
}

/// What an update releases: each row's statistics, as many numbers as the family has.
pub(super) fn release(family: Family) -> Release {
    Release::of_all_rows(Grain::Example, family.len(), Clipped::Statistics)
}

impl LocalSolve for Analytic {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &DESCRIPTOR
    }

    fn describe_local(&self) -> String {
        Local::whole_step().words()
    }

    fn releases(&self, family: Family) -> Releases {
        release(family).into()
    }

    /// Releases statistics at the task's mean and reads the change off them.
    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let reading = FactorReading::of(problem)?;
        let mut change = release_sum(problem, task, seat, gate)?;
        change.update(task, &reading, to_change);
        Ok(Solved::Released { change, kept: Released::zeros(0).map(&(), |_, ()| Kept::Nothing) })
    }
}
