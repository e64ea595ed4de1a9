//! Hybrid: analytic updates open, DP optimisation goes on from where they led.

use super::{Analytic, Descend, Kept, LocalSolve, Problem, Solved, Task, analytic, descend};
use crate::describe::{Conflict, Descriptor, Key, Limits, NOT_TOGETHER, ValueKind};
use crate::release::{Bound, BudgetShare, OpeningRelease, Release, Releases};
use crate::settings::{LOCAL_KEY, Local};
use crate::{ClientView, Family, Stage};
use privacy::{Gate, NormBound, PrivacyError, Released};
use serde::Serialize;
use std::sync::Arc;

/// Section 4.2.3 of Sharma's thesis. Which of the two is next follows from how much was charged: the ledger's plan
/// has both, in this order, and the terms of an answer say where in it the answer is.
///
/// Analytic updates are cheap and crude: they bring q near the posterior of a linear model for a
/// share of the budget. Gradients then refine it without the error that clipped statistics leave.
#[derive(Debug, Clone, Serialize)]
pub struct Hybrid {
    /// Analytic updates of each client.
    pub updates: u64,
    /// The share of ε and δ that they may cost by themselves, between 0 and 1; DP optimisation gets what is left then.
    pub share: f64,
    /// C of a row's sufficient statistics. The promise's bound is that of gradients.
    pub clip: NormBound,
    /// What comes after the opening.
    pub descend: Descend,
}

/// `opening`
const OPENING: &[Key] = &[
    Key::new("updates", ValueKind::AT_LEAST_ONE, "5").about("analytic updates of each client"),
    Key::new("share", ValueKind::Share, "0.5").about("their share of the budget"),
    Key::new("clip", ValueKind::Positive, "1.0").about("bound of a row's sufficient statistics"),
];

/// `solver = "hybrid"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "hybrid",
    also: &[],
    about: "Linear regression: analytic updates first, then DP optimisation from where they led.",
    keys: &[
        LOCAL_KEY,
        Key::new("opening", ValueKind::Table(OPENING), "{ updates = 5, share = 0.5, clip = 1.0 }")
            .about("the analytic updates that come first"),
    ],
    limits: Limits { covariances: descend::MEAN_FIELD, ..analytic::LIMITS },
    read: |reading| {
        let opening = reading.keys.table("opening", OPENING);
        let clip = NormBound::new(opening.number("clip")?);
        Ok(Arc::new(Hybrid {
            updates: opening.count("updates")?,
            share: opening.number("share")?,
            clip: clip.map_err(|error| Conflict::of_privacy("opening.clip", &error))?,
            descend: Descend { local: Local::read(&reading.keys)? },
        }))
    },
};

impl LocalSolve for Hybrid {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let Self { updates, share, clip, .. } = self;
        format!("hybrid of {updates} analytic updates (clipped to {clip}, {share} of the budget) and dp-optimisation")
    }

    fn describe_local(&self) -> String {
        self.descend.describe_local()
    }

    /// Statistics for the opening, at a bound of their own; then what DP optimisation releases.
    fn releases(&self, family: Family) -> Releases {
        let release = Release { bound: Bound::Fixed(self.clip), ..analytic::release(family) };
        let opening = OpeningRelease { answers: self.updates, share: BudgetShare::OfBudget(self.share), release };
        Releases { openings: vec![opening], ..self.descend.releases(family) }
    }

    /// At least one analytic update, and at least one round after those.
    fn check(&self, most_rounds: u64) -> Result<(), Conflict> {
        self.descend.local.check_full_gradients()?;
        if !(self.share > 0.0 && self.share < 1.0) {
            let what = format!("opening.share is {}, expected a share of the budget over 0 and under 1", self.share);
            return Err(Conflict::new("opening.share", crate::describe::VALUE, what, "for example share = 0.5"));
        }
        if self.updates == 0 || self.updates >= most_rounds {
            let what = "a hybrid has at least one analytic update, and at least one round after those";
            return Err(Conflict::new("opening.updates", NOT_TOGETHER, what, "use fewer updates, or more rounds"));
        }
        self.descend.check(most_rounds)
    }

    /// The stage of the terms says which of the two is due.
    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        match seat.terms.stage {
            Stage::Opening(_) => Analytic.solve(problem, task, kept, seat, gate),
            Stage::Main => self.descend.solve(problem, task, kept, seat, gate),
        }
    }
}
