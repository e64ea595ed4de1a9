//! Bayesian committee machine: every client fits a posterior of its own, once, and their product is
//! served.
//!
//! One round, no memory. It is the simplest baseline of federated learning: what it loses against
//! partitioned VI is what talking to each other is worth.

use super::pvi::{COVARIANCE_KEY, GAUSSIAN, REPAIR_TABLE, SOLVER_KEY, by_name, covariance, repair, repair_words};
use super::{Algorithm, Answer, Answers, Protocol, Step, misfit, released};
use crate::describe::{
    ANY_UNIT, Allowed, Conflict, Descriptor, Key, Limits, Otherwise, TrustedParty, ValueKind, resolve,
};
use crate::method::{AlgorithmSettings, Description, Method, Parts};
use crate::release::{Clipped, Releases};
use crate::settings::{Covariance, Damping, Repair, Rounds};
use crate::solve::{Kept, LocalSolve, Problem, Task};
use crate::{ClientView, Intervals, RunError, Total};
use privacy::{Gate, Grid, GridVector, Outgoing, PrivacyError, Released, StudyConstant};
use serde::Serialize;
use std::sync::Arc;

/// Tresp 2000, as in section 4 of Heikkilä et al. 2022. Members start from p (the product is divided by p^(M−1)) or from
/// p^(1/M). Either way a member sends what its rows add to its prior, and q = p · Π of these.
///
/// With η_m the natural parameters of member m's posterior and p_m its prior:
///
/// ```text
/// η(q) = η(p) + Σ_m (η_m − η(p_m)),    p_m = p or p^(1/M)
/// ```
#[derive(Debug)]
pub struct Committee {
    /// What is learnt.
    pub problem: Problem,
    /// How a member fits its posterior.
    pub solver: Arc<dyn LocalSolve>,
    /// Which prior a member has.
    pub prior: CommitteePrior,
    /// M.
    pub members: usize,
    /// What makes the product proper.
    pub repair: Repair,
    /// The finest grid of an answer.
    pub finest: Grid,
    /// The grid on which changes computed from released values travel.
    pub sending: Grid,
}

/// Which prior the members of a committee start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CommitteePrior {
    /// p itself; the product is divided by p^(M−1).
    Same,
    /// p^(1/M).
    Split,
}

/// `algorithm = "committee"`
#[derive(Debug, Clone, Serialize)]
pub struct CommitteeSettings {
    /// How a member fits its posterior.
    #[serde(serialize_with = "by_name")]
    pub solver: Arc<dyn LocalSolve>,
    /// Which prior a member has.
    pub prior: CommitteePrior,
    /// Mean-field or full covariance.
    pub covariance: Covariance,
    /// What makes the product proper.
    pub repair: Repair,
}

/// `algorithm = "committee"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "committee",
    also: &["bcm", "bayesian-committee-machine"],
    about: "Bayesian committee machine: every client fits a posterior once, and their product is served (Tresp 2000).",
    keys: &[
        SOLVER_KEY,
        COVARIANCE_KEY,
        REPAIR_TABLE,
        Key::new("prior", ValueKind::Word(&["same", "split"]), "\"split\"")
            .about("which prior the members start from: the study's own, or its M-th root")
            .otherwise(Otherwise::Word("split")),
        Key::new("rounds", ValueKind::Count { least: 1, most: 1 }, "1")
            .about("a committee has one round")
            .otherwise(Otherwise::Number(1.0)),
    ],
    limits: Limits {
        trust: Allowed { values: &[TrustedParty::Nobody], because: "members send their own posteriors" },
        units: ANY_UNIT,
        needs: &[GAUSSIAN],
        site_intercept: false,
        ..Limits::NONE
    },
    read: |reading| {
        let keys = &reading.keys;
        Ok(Arc::new(CommitteeSettings {
            solver: resolve::solver(reading, keys.word("solver")?)?,
            prior: if keys.word("prior")? == "same" { CommitteePrior::Same } else { CommitteePrior::Split },
            covariance: covariance(keys)?,
            repair: repair(&keys.table("readout", &[]))?,
        }))
    },
};

impl AlgorithmSettings for CommitteeSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        self.solver.descriptor().name
    }

    fn describe(&self) -> Description {
        let prior = match self.prior {
            CommitteePrior::Same => "same prior",
            CommitteePrior::Split => "split prior",
        };
        Description {
            algorithm: format!("committee, {prior}, {}", self.solver.describe()),
            details: (self.covariance == Covariance::Full).then(|| "full covariance".to_owned()).into_iter().collect(),
            local: self.solver.describe_local(),
            readout: repair_words(self.repair),
        }
    }

    fn intervals(&self) -> Intervals {
        Intervals::IgnoreNoise
    }

    fn rounds(&self) -> Rounds {
        Rounds::Count(1)
    }

    fn covariance(&self) -> Covariance {
        self.covariance
    }

    fn releases(&self, dimension: usize) -> Releases {
        self.solver.releases(self.covariance.family(dimension))
    }

    fn limits(&self) -> Vec<(&'static str, Limits)> {
        vec![(DESCRIPTOR.name, DESCRIPTOR.limits), (self.solver.descriptor().name, self.solver.limits())]
    }

    /// Refuses solvers that move a factor of q (statistics, openings, reused likelihoods): members have no
    /// factor.
    fn check(&self, method: &Method) -> Result<(), Conflict> {
        let releases = self.releases(1);
        if !releases.openings.is_empty() || releases.reused || releases.main.clipped == Clipped::Statistics {
            let what = "a committee's members fit posteriors of their own, and this solver moves a factor of q: it belongs to pvi";
            return Err(Conflict::new("solver", crate::describe::NOT_TOGETHER, what, "use algorithm = \"pvi\""));
        }
        self.solver.check(method.most_rounds())
    }

    fn message_numbers(&self, dimension: usize) -> Option<usize> {
        Some(self.covariance.family(dimension).len())
    }

    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        Ok(Box::new(Committee {
            problem: parts.problem.clone(),
            solver: self.solver.clone(),
            prior: self.prior,
            members: parts.terms.len(),
            repair: self.repair,
            finest: parts.finest()?,
            sending: parts.sending()?,
        }))
    }
}

/// Natural parameters of the start of a member's search, and of a member's prior. Public constants.
struct Priors {
    /// Where a member's search begins.
    start: Vec<f64>,
    /// p, or p^(1/M).
    member: Vec<f64>,
}

impl StudyConstant for Priors {}

/// From η at the end minus η at the start to η at the end minus η of the member's prior.
fn from_member_prior(mut change: Vec<f64>, priors: &Priors) -> Vec<f64> {
    change.iter_mut().zip(priors.start.iter().zip(&priors.member)).for_each(|(c, (start, own))| *c += start - own);
    change
}

impl Committee {
    /// Both priors of this committee.
    fn priors(&self) -> Priors {
        let share = match self.prior {
            CommitteePrior::Same => 1.0,
            CommitteePrior::Split => 1.0 / self.members as f64,
        };
        let member = self.problem.prior.0.iter().map(|p| p * share).collect();
        Priors { member, start: self.problem.start().0 }
    }
}

impl Algorithm for Committee {
    type State = Total;
    type Query = ();
    type Memory = ();

    fn start(&self) -> Total {
        Total::zeros(self.problem.family.len(), self.finest)
    }

    fn ask(&self, _: &Total) {}

    /// The question is empty.
    fn check(&self, (): &(), (): &(), seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        self.solver.releases(self.problem.family).check(seat)
    }

    /// The member's posterior less its prior: the task's cavity is the member's prior.
    fn answer(
        &self,
        query: &Released<()>,
        (): &(),
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<()>, PrivacyError> {
        let priors = self.priors();
        let task = query.clone().map(&priors, |(), p| Task { cavity: p.member.clone(), start: p.start.clone() });
        let none = query.clone().map(&(), |(), ()| Kept::Nothing);
        let solved = self.solver.solve(&self.problem, &task, &none, seat, gate)?;
        let (change, _) = released(solved, self.solver.weight(), gate)?;
        let added = change.map(&priors, from_member_prior);
        Ok(Answer { outgoing: Outgoing::post_processed(&added, self.sending)?, draft: () })
    }

    /// Adds what every member's rows said, exactly and undamped.
    fn fold(&self, mut state: Total, answers: &Answers) -> Result<Step<Total>, RunError> {
        let each: Vec<_> = match answers {
            Answers::Each(each) => each.iter().map(|(_, change)| change).collect(),
            Answers::Sum { total, .. } => vec![total],
        };
        let applied: Vec<Total> = each
            .into_iter()
            .map(|change| state.damped(change, Damping::NONE).ok_or_else(misfit))
            .collect::<Result<_, _>>()?;
        applied.iter().for_each(|a| state.add(a));
        Ok(Step { state, applied })
    }

    fn fits(&self, state: &Total, _: usize, answer: &GridVector) -> bool {
        state.takes(answer)
    }

    fn settle(&self, (): (), _: &Released<Total>) -> Result<(), PrivacyError> {
        Ok(())
    }

    /// Prior plus total, repaired.
    fn posterior(&self, state: &Total) -> Vec<f64> {
        let prior = &self.problem.prior.0;
        let raw: Vec<f64> = prior.iter().zip(state.values()).map(|(p, t)| p + t).collect();
        self.problem.family.repair(&raw, prior, self.repair)
    }
}
