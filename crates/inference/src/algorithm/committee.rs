//! Bayesian committee machine: every client fits a posterior of its own, once, and their product is served.

use super::{Algorithm, Answer, Answers, Step, check_terms, misfit, released};
use crate::settings::{CommitteePrior, Damping, Repair};
use crate::solve::{Kept, LocalSolve, Problem, Task};
use crate::{RunError, Seat, Total};
use privacy::{Gate, Grid, GridVector, Outgoing, PrivacyError, Released, StudyConstant};

/// Tresp 2000, as in section 4 of Heikkilä et al. 2022. Members start from p (the product is divided by p^(M−1)) or from
/// p^(1/M). Either way a member sends what its rows add to its prior, and q = p · Π of these.
#[derive(Debug)]
pub struct Committee {
    /// What is learnt.
    pub problem: Problem,
    /// How a member fits its posterior.
    pub solver: Box<dyn LocalSolve>,
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

/// Natural parameters: where members start to look, and of a member's prior.
struct Priors {
    start: Vec<f64>,
    member: Vec<f64>,
}

impl StudyConstant for Priors {}

/// From η at the end minus η at the start to η at the end minus η of the member's prior.
fn from_member_prior(mut change: Vec<f64>, priors: &Priors) -> Vec<f64> {
    change.iter_mut().zip(priors.start.iter().zip(&priors.member)).for_each(|(c, (start, own))| *c += start - own);
    change
}

impl Committee {
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
    fn check(&self, (): &(), (): &(), seat: &Seat<'_>) -> Result<(), PrivacyError> {
        check_terms(self.solver.numbers(self.problem.family), seat)?;
        self.solver.check(seat)
    }

    fn answer(
        &self,
        query: &Released<()>,
        (): &(),
        seat: &Seat<'_>,
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

    fn posterior(&self, state: &Total) -> Vec<f64> {
        let prior = &self.problem.prior.0;
        let raw: Vec<f64> = prior.iter().zip(state.values()).map(|(p, t)| p + t).collect();
        self.problem.family.repair(&raw, prior, self.repair)
    }
}
