//! Partitioned variational inference: q(θ) ∝ p(θ) Π_m t_m(θ); a client refines its t_m.
//!
//! The server keeps the total Σ_m η(t_m) as exact integers and serves a readout of it. A client is
//! asked with η of q, solves its local problem with the cavity q/t_m, and sends the change of its
//! factor. The server keeps ρ of the change, and the receipt tells the client so, exactly: the total
//! is the sum of the factors at all times, as an integer equality.
//!
//! Which solver, which gate and which cavity are chosen by the settings; the code below does not
//! branch on them beyond [`Cavity`].

mod settings;

pub(crate) use settings::DESCRIPTOR;
pub use settings::PviSettings;
pub(super) use settings::{
    AVERAGE_KEY, COVARIANCE_KEY, GAUSSIAN, REPAIR_TABLE, SITE_INTERCEPT_KEY, SOLVER_KEY, WITH_INTERCEPT, by_name,
    check_own_precision, covariance, details, repair, repair_words, site_intercept,
};

use super::home::{Natural, SiteProblem, join, part};
use super::readout::{keep_newest, mean_of, read_out};
use super::{Algorithm, Answer, Answers, Step, StepNoise, misfit, released, unlike};
use crate::family::MOST_NATURAL;
use crate::optimiser::is_within_limits;
use crate::settings::{Damping, FactorRule, Readout};
use crate::solve::{Kept, LocalSolve, Prior, Problem, Solved, Task};
use crate::{ClientView, Family, Gaussian, RunError, Terms, Total};
use privacy::{Gate, Grid, GridVector, Outgoing, PrivacyError, Released, StudyConstant};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Algorithm 1 of Ashman et al. 2022 (arXiv:2202.12275), once for all its private forms: they differ in the solver, the
/// gate and the cavity.
///
/// - q: the served posterior, a readout of prior and total.
/// - t_m: the factor of client m, [`Remembered::factor`].
/// - ρ: damping, part of [`Pvi::kept`].
/// - w_m: the client's share of the total, where only sums are opened ([`Terms::weight`]).
#[derive(Debug)]
pub struct Pvi {
    /// What is learnt.
    pub problem: Problem,
    /// The problem of a site that has an intercept of its own; none where sites have none.
    pub home: Option<SiteProblem>,
    /// How a client moves its factor.
    pub solver: Arc<dyn LocalSolve>,
    /// What a client leaves out of q.
    pub cavity: Cavity,
    /// What a client does with its factor before it sends the change.
    pub factor: FactorRule,
    /// What is kept of an answer: damping; where only sums are opened, times the solver's weight.
    pub kept: Damping,
    /// From total to served q.
    pub readout: Readout,
    /// The noise that each client's updates add, where the readout minds it; none otherwise.
    pub wander: Vec<StepNoise>,
    /// The finest grid of an answer.
    pub finest: Grid,
    /// The grid on which changes computed from released values travel.
    pub sending: Grid,
}

/// A client's own factor, as far as it is public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cavity {
    /// The sum of the client's released changes: where every answer is released at a local gate.
    OwnFactor,
    /// Its share of the public total, (q/p)^w: where only sums are opened. A factor of the client's own would carry noise
    /// that is not public into its next answer (`docs/maths/state-between-rounds.md`).
    ShareOfTotal,
}

/// The server's state: exact integers, and the last readouts. A function of released values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PviState {
    /// Σ of everything that was applied.
    pub total: Total,
    /// Served natural parameters, the newest last.
    pub served: Vec<Vec<f64>>,
    /// Of each client that the readout minds: the variance of the noise in the means, by its factor.
    pub noise: Vec<Vec<f64>>,
}

/// What a client keeps: public, by its type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// t_m: the sum of what was applied of this client's changes.
    pub factor: Option<Total>,
    /// What its solver keeps.
    pub kept: Kept,
    /// The factor of the site's own intercept; zero where it has none.
    pub own: Natural,
}

impl Pvi {
    /// What is solved at a site.
    fn local(&self) -> &Problem {
        self.home.as_ref().map_or(&self.problem, |home| &home.problem)
    }

    /// A factor is on the grid of the total, and so small that the change which takes it back can be sent: 1/kept of it
    /// where a rule asks for that change.
    fn check_factor(&self, factor: &Total) -> Result<(), PrivacyError> {
        let kept = match self.factor {
            FactorRule::Free => 1.0,
            FactorRule::Project | FactorRule::Reset => self.kept.get(),
            // It takes back twice the factor, beside the change itself.
            FactorRule::Absolute => 0.25 * self.kept.get(),
        };
        let like = factor.is_like(&Total::zeros(self.problem.family.len(), self.finest));
        let small = like && factor.values().iter().all(|v| v.abs() <= MOST_NATURAL * kept);
        small.then_some(()).ok_or_else(|| PrivacyError::Shape {
            found: "a receipt or a factor of other numbers, another grid, or too large a size".into(),
            expected: "one number for each of q's natural parameters, on the grid of the total".into(),
        })
    }

    /// The served natural parameters of a total: prior plus total, repaired.
    fn read_out(&self, total: &Total) -> Vec<f64> {
        let prior = &self.problem.prior.0;
        let raw: Vec<f64> = prior.iter().zip(total.values()).map(|(p, t)| p + t).collect();
        self.problem.family.repair(&raw, prior, self.readout.repair)
    }

    /// Takes the noise of these answers into account: each leaves its noise in its client's factor, at the
    /// precisions of the q that was served. For the noise-aware readout only.
    fn mind(&self, state: &mut PviState, answers: &Answers) {
        let Answers::Each(each) = answers else { return };
        let q = self.problem.family.gaussian(&self.ask(state));
        let precision: Vec<f64> = q.map_or_else(Vec::new, |q| q.deviations().iter().map(|s| 1.0 / (s * s)).collect());
        for (client, _) in each {
            if let (Some(noise), Some(wander)) = (state.noise.get_mut(*client), self.wander.get(*client)) {
                wander.add(noise, &precision, self.kept.get());
            }
        }
    }

    /// q read as an observation: its means have noise of variance v, so its Λμ has noise of variance
    /// ν = Λ²v, where Λ is the data's precision.
    ///
    /// Λμ and Λ are then weighed by W = Λ/(Λ + ν), coordinate by coordinate: Wiener's weights
    /// (`docs/maths/noise-aware.md`).
    fn read_noise(&self, eta: Vec<f64>, noise: &[Vec<f64>]) -> Vec<f64> {
        let (prior, d) = (&self.problem.prior.0, self.problem.family.dimension());
        let first: Vec<f64> = (0..d).map(|j| eta[j] - prior[j]).collect();
        let precision: Vec<f64> = (0..d).map(|j| (2.0 * (prior[d + j] - eta[d + j])).max(0.0)).collect();
        let of_means = |j: usize| noise.iter().map(|v| v[j]).sum::<f64>();
        let variance: Vec<f64> = precision.iter().enumerate().map(|(j, l)| l * l * of_means(j)).collect();
        read_out(prior, &first, &precision, &variance, 1.0)
    }

    /// The local task, of released values: start at q, leave out the client's own factor.
    ///
    /// Own factor: cavity = η(q) − η(t_m). Share of the total: cavity = (1 − w)η(q) + wη(p), that is
    /// q · (q/p)^(−w).
    fn task(&self, q: &Released<Vec<f64>>, memory: &Released<Remembered>, terms: &Terms) -> Released<Task> {
        let mut task = q.clone().map(&(), |q, ()| Task { cavity: q.clone(), start: q });
        match self.cavity {
            Cavity::OwnFactor => {
                task.update(memory, &(), leave_out_factor);
                let outset = Outset { prior: self.problem.prior.clone(), start: self.problem.start() };
                task = task.map(&outset, set_out);
            }
            Cavity::ShareOfTotal => {
                // cavity = q − w(q − p) = (1 − w)q + wp
                task = task.map(terms, |task, terms| scale_cavity(task, 1.0 - terms.weight));
                let prior = Released::zeros(0).map(&self.problem.prior, |_, prior: &Prior| prior.0.clone());
                task.update(&prior, terms, |task, prior, terms| {
                    task.cavity.iter_mut().zip(prior).for_each(|(c, p)| *c += terms.weight * p);
                });
            }
        }
        task
    }

    /// A change that was released, or follows from what was, on its way to the server: counted from q, not from where the
    /// search began.
    fn sent(
        &self,
        mut change: Released<Vec<f64>>,
        q: &Released<Vec<f64>>,
        task: &Released<Task>,
        memory: Released<Remembered>,
    ) -> Result<Answer<Option<Released<Remembered>>>, PrivacyError> {
        let mut ahead = task.clone().map(&(), |task, ()| task.start);
        ahead.update(q, &(), |start, q, ()| start.iter_mut().zip(q).for_each(|(s, q)| *s -= q));
        change.update(&ahead, &(), |change, ahead, ()| change.iter_mut().zip(ahead).for_each(|(c, a)| *c += a));
        let holding = Holding { rule: self.factor, kept: self.kept, family: self.problem.family };
        change.update(&memory, &holding, hold);
        Ok(Answer { outgoing: Outgoing::post_processed(&change, self.sending)?, draft: Some(memory) })
    }
}

impl Algorithm for Pvi {
    type State = PviState;
    type Query = Vec<f64>;
    type Memory = Option<Released<Remembered>>;

    fn start(&self) -> PviState {
        let total = Total::zeros(self.problem.family.len(), self.finest);
        PviState {
            served: vec![self.read_out(&total)],
            noise: vec![vec![0.0; self.problem.family.dimension()]; self.wander.len()],
            total,
        }
    }

    fn ask(&self, state: &PviState) -> Vec<f64> {
        state.served.last().cloned().unwrap_or_else(|| self.read_out(&state.total))
    }

    /// q is proper: finite, of the family's dimension, with a positive precision, and neither so large nor so flat that
    /// the change from it could not be sent. The remembered factor is one that [`Pvi::settle`] makes.
    fn check(&self, query: &Vec<f64>, memory: &Self::Memory, seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        let family = self.problem.family;
        self.solver.releases(self.local().family).check(seat)?;
        memory.iter().try_for_each(|memory| check_own(memory.get().own))?;
        if self.home.is_some() && self.cavity == Cavity::ShareOfTotal {
            return Err(unlike("answers at a local gate, where a site has an intercept of its own"));
        }
        memory.iter().filter_map(|memory| memory.get().factor.as_ref()).try_for_each(|t| self.check_factor(t))?;
        let small = query.iter().all(|v| v.abs() <= MOST_NATURAL);
        let spread = |q: Gaussian| q.deviations().into_iter().all(is_within_limits);
        let proper = small && family.gaussian(query).is_some_and(spread);
        proper.then_some(()).ok_or_else(|| unlike("the natural parameters of a proper q, one for each of the family's"))
    }

    /// Solves the task and sends the change: sealed where only sums are opened, else released at the gate,
    /// held by the factor rule and counted from q. With a site-specific intercept its coordinate stays here.
    fn answer(
        &self,
        query: &Released<Vec<f64>>,
        memory: &Self::Memory,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<Self::Memory>, PrivacyError> {
        let memory = match memory {
            Some(memory) => memory.clone(),
            None => Released::zeros(0).map(&(), |_, ()| Remembered::default()),
        };
        let task = self.task(query, &memory, seat.terms);
        let kept = memory.clone().map(&(), |m, ()| m.kept);
        let solved = match &self.home {
            None => self.solver.solve(&self.problem, &task, &kept, seat, gate)?,
            Some(home) => {
                let mut task = task.clone();
                task.update(&memory, home, come_home);
                self.solver.solve(&home.problem, &task, &kept, seat, gate)?
            }
        };
        if let (Cavity::ShareOfTotal, Solved::Sum(sum)) = (self.cavity, &solved) {
            return Ok(Answer { outgoing: gate.send(sum)?, draft: Some(memory) });
        }
        let (mut change, kept) = released(solved, self.solver.weight(), gate)?;
        let mut memory = memory;
        memory.update(&kept, &(), |m, kept, ()| m.kept.clone_from(kept));
        if self.home.is_some() {
            memory.update(&change, &self.kept, keep_own);
            check_own(memory.get().own)?;
            change = change.map(&(), without_own);
        }
        self.sent(change, query, &task, memory)
    }

    /// Where the solver kept released statistics, a new change follows from them without rows.
    fn answer_from_memory(
        &self,
        query: &Released<Vec<f64>>,
        memory: &Self::Memory,
        terms: &Terms,
    ) -> Result<Option<Answer<Self::Memory>>, PrivacyError> {
        let (Cavity::OwnFactor, Some(memory)) = (self.cavity, memory) else { return Ok(None) };
        let task = self.task(query, memory, terms);
        let kept = memory.clone().map(&(), |m, ()| m.kept);
        let change = self.solver.solve_from_memory(&self.problem, &task, &kept);
        change.map(|change| self.sent(change, query, &task, memory.clone())).transpose()
    }

    /// Adds ρ of every change to the total, exactly, and reads the newest q out of it.
    fn fold(&self, mut state: PviState, answers: &Answers) -> Result<Step<PviState>, RunError> {
        let damped = |change| state.total.damped(change, self.kept).ok_or_else(misfit);
        let applied: Vec<Total> = match answers {
            Answers::Each(each) => each.iter().map(|(_, change)| damped(change)).collect::<Result<_, _>>()?,
            Answers::Sum { total, .. } => vec![damped(total)?],
        };
        applied.iter().for_each(|a| state.total.add(a));
        self.mind(&mut state, answers);
        let newest = self.read_out(&state.total);
        keep_newest(&mut state.served, newest, self.readout.average as usize);
        Ok(Step { state, applied })
    }

    fn fits(&self, state: &PviState, _: usize, answer: &GridVector) -> bool {
        state.total.takes(answer)
    }

    fn folds_late_answers(&self) -> bool {
        true
    }

    /// Adds what the server applied to the client's factor; refused where the factor could then not be taken
    /// back.
    fn settle(&self, draft: Self::Memory, applied: &Released<Total>) -> Result<Self::Memory, PrivacyError> {
        let Some(mut memory) = draft else { return Ok(None) };
        if self.cavity == Cavity::OwnFactor {
            self.check_factor(applied.get())?;
            memory.update(applied, &(), |memory, applied, ()| match &mut memory.factor {
                Some(factor) => factor.add(applied),
                None => memory.factor = Some(applied.clone()),
            });
            memory.get().factor.iter().try_for_each(|t| self.check_factor(t))?;
        }
        Ok(Some(memory))
    }

    /// The mean of the last readouts, or the noise-aware readout of it.
    fn posterior(&self, state: &PviState) -> Vec<f64> {
        let mean = mean_of(&state.served, self.problem.family.len());
        if state.noise.is_empty() { mean } else { self.read_noise(mean, &state.noise) }
    }

    fn at_home(&self, _: usize, memory: &Self::Memory) -> Option<Natural> {
        let own = memory.as_ref().map_or([0.0; 2], |memory| memory.get().own);
        self.home.as_ref().map(|home| with_factor(home, own))
    }
}

/// q of the site's own intercept: its prior times its factor.
fn with_factor(home: &SiteProblem, own: Natural) -> Natural {
    let prior = home.prior();
    [prior[0] + own[0], prior[1] + own[1]]
}

/// The site's own coordinate joins the task: its cavity is its prior, since nobody else has a factor of it.
fn come_home(task: &mut Task, memory: &Remembered, home: &SiteProblem) {
    join(&mut task.cavity, home.prior());
    join(&mut task.start, with_factor(home, memory.own));
}

/// Keeps of the own coordinate's change what the server keeps of the others. Its precision is projected to at least 0.
#[expect(clippy::ptr_arg, reason = "the signature that `Released::update` takes")]
fn keep_own(memory: &mut Remembered, change: &Vec<f64>, kept: &Damping) {
    let change = part(&mut change.clone());
    let [first, second] = memory.own;
    memory.own = [first + kept.get() * change[0], (second + kept.get() * change[1]).min(0.0)];
}

/// A change of the shared coordinates alone.
fn without_own(mut change: Vec<f64>, (): &()) -> Vec<f64> {
    part(&mut change);
    change
}

/// A factor of the site's own intercept is one that [`keep_own`] makes.
fn check_own([first, second]: Natural) -> Result<(), PrivacyError> {
    let sound = first.abs() <= MOST_NATURAL && (-MOST_NATURAL..=0.0).contains(&second);
    sound.then_some(()).ok_or(PrivacyError::Diverged)
}

/// Where learning begins: the prior, and the model's own start where it has one.
struct Outset {
    /// η of p, which is served before anything was learnt.
    prior: Prior,
    /// Where the model wants a search to begin.
    start: Prior,
}

impl StudyConstant for Outset {}

/// As long as nothing was learnt, the search begins where the model wants it. The first changes lead from the prior to
/// where it ended: factors take up the way to the start too.
fn set_out(mut task: Task, outset: &Outset) -> Task {
    if task.start == outset.prior.0 {
        task.start.clone_from(&outset.start.0);
    }
    task
}

/// Constants of the rule that a client applies to its own released factor.
struct Holding {
    /// What is done with a negative precision.
    rule: FactorRule,
    /// How much of the change the server will keep.
    kept: Damping,
    family: Family,
}

impl StudyConstant for Holding {}

/// Changes a released change so that the factor that it leads to obeys the rule. The sum is then no longer that of the
/// mechanism, but a function of it: this is right at a local gate only, where the release was made before.
#[expect(clippy::ptr_arg, reason = "the signature that `Released::update` takes")]
fn hold(change: &mut Vec<f64>, memory: &Remembered, holding: &Holding) {
    let Family::MeanField { dimension: d } = holding.family else { return };
    let factor = memory.factor.as_ref().map_or_else(|| vec![0.0; 2 * d], Total::values);
    let (kept, rule) = (holding.kept.get(), holding.rule);
    if rule == FactorRule::Free {
        return;
    }
    for j in 0..d {
        let half = factor[d + j] + kept * change[d + j];
        if half > 0.0 {
            let wanted = if rule == FactorRule::Absolute { -half } else { 0.0 };
            change[d + j] = (wanted - factor[d + j]) / kept;
            if rule == FactorRule::Reset {
                change[j] = -factor[j] / kept;
            }
        }
    }
}

/// Takes the client's factor out of the cavity.
fn leave_out_factor(task: &mut Task, memory: &Remembered, (): &()) {
    if let Some(factor) = &memory.factor {
        task.cavity.iter_mut().zip(factor.values()).for_each(|(c, t)| *c -= t);
    }
}

/// Multiplies the cavity's natural parameters by a public constant.
fn scale_cavity(mut task: Task, by: f64) -> Task {
    task.cavity.iter_mut().for_each(|c| *c *= by);
    task
}

#[cfg(test)]
mod tests {
    use super::*;
    use privacy::GridVector;

    /// Natural parameters (Λμ, −½Λ) of two coordinates, of which the change makes the second one's precision negative.
    #[test]
    fn a_change_leads_to_the_factor_that_the_rule_names() {
        let grid = privacy::Grid::new(20).unwrap();
        let held = |values: [f64; 4]| {
            let units = values.map(|value| (value * grid.in_units(1.0)) as i64).to_vec();
            let factor = Total::zeros(4, grid).damped(&GridVector::new(grid, units), Damping::NONE);
            Remembered { factor, ..Remembered::default() }
        };
        let (before, released) = ([1.0, 2.0, -0.5, -0.25], [0.5, -2.0, -1.0, 3.5]);
        let family = Family::MeanField { dimension: 2 };
        let kept = Damping::new(0.5).unwrap();
        for (rule, first, half) in [
            (FactorRule::Free, 1.0, 1.5),
            (FactorRule::Project, 1.0, 0.0),
            (FactorRule::Reset, 0.0, 0.0),
            (FactorRule::Absolute, 1.0, -1.5),
        ] {
            let mut change = released.to_vec();
            hold(&mut change, &held(before), &Holding { rule, kept, family });
            let after: Vec<f64> = before.iter().zip(&change).map(|(t, c)| t + 0.5 * c).collect();
            assert_eq!((after[0], after[2]), (1.25, -1.0), "{rule:?}: a factor that is proper stays as it is");
            assert_eq!((after[1], after[3]), (first, half), "{rule:?}");
        }
    }
}
