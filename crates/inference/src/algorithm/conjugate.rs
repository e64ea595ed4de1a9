//! Conjugate families by noisy sufficient statistics: one sum over all clients, noised once, and the exact posterior given it.
//!
//! Section 3.2 of Heikkilä's dissertation (2023); Bernstein and Sheldon 2018 (arXiv:1809.02188) for posteriors that count the noise. The
//! server asks for one sum ([`RowStatistics`]), whose sensitivity follows from public bounds. What is served is p(θ | r) and no plug-in:
//! [`ConjugateFamily::posterior`](crate::ConjugateFamily::posterior), with quantiles of every parameter.

mod settings;

pub use settings::ConjugateSettings;
pub(crate) use settings::DESCRIPTOR;

use super::{Algorithm, Answer, Answers, Step, misfit, unlike};
use crate::client::Summing;
use crate::conjugate::{ExactMarginal, NoisyTotals, Quantiles, RowStatistics};
use crate::release::{Clipped, Release};
use crate::solve::Problem;
use crate::warning::{Code, Warning};
use crate::{ClientView, Gaussian, RunError, Stage, Terms, Total, UnitBatch};
use privacy::{Gate, Grain, GridVector, PrivacyError, Released};
use serde::{Deserialize, Serialize};

/// One sum of sufficient statistics, and the posterior given it.
///
/// Its law: the state is a function of the sums that were released. Clients have no memory. Missing answers make a smaller sum, and the
/// number of rows in it is the declared one of those that answered.
#[derive(Debug)]
pub struct Conjugate {
    /// What is learnt: a model with a conjugate family.
    pub problem: Problem,
    /// What is summed.
    pub asked: RowStatistics,
    /// What was agreed with each client.
    pub terms: Vec<Terms>,
    /// Who adds up.
    pub summing: Summing,
    /// Declared rows of each client.
    pub rows: Vec<u64>,
}

/// What the server knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConjugateState {
    /// Every parameter, after the release.
    pub served: Option<Vec<ExactMarginal>>,
    /// Whether no posterior could be computed from the release: the prior is served then.
    pub is_unread: bool,
}

/// What a scaled vector keeps of its bound, so that rounding to the grid never lengthens it beyond.
const KEPT: f64 = 1.0 - 1e-12;

impl Conjugate {
    /// The total in the units of the statistics, the rows that are in it, and the variance of its noise.
    fn heard(&self, answers: &Answers) -> Result<NoisyTotals, RunError> {
        let (totals, from): (Vec<&GridVector>, Vec<usize>) = match answers {
            Answers::Each(each) => each.iter().map(|(client, answer)| (answer, *client)).unzip(),
            Answers::Sum { total, from } => (vec![total], from.clone()),
        };
        let numbers = self.asked.numbers();
        if totals.iter().any(|total| total.units().len() != numbers) || from.iter().any(|&m| m >= self.terms.len()) {
            return Err(misfit());
        }
        let rows: u64 = from.iter().map(|&m| self.rows[m]).sum();
        let variance: f64 = match answers {
            Answers::Each(_) => from.iter().map(|&m| self.terms[m].noise_deviation().powi(2)).sum(),
            Answers::Sum { .. } => {
                self.terms.first().map_or(0.0, |t| t.noise_deviation().powi(2) * self.summing.times(from.len()))
            }
        };
        let reach = self.asked.reach() / KEPT;
        let mut sums: Vec<f64> = self.asked.centre().iter().map(|centre| rows as f64 * centre).collect();
        totals.iter().for_each(|total| sums.iter_mut().zip(total.values()).for_each(|(s, v)| *s += v * reach));
        Ok(NoisyTotals { rows, sums, variance: reach * reach * variance, units: self.asked.units() })
    }
}

impl Algorithm for Conjugate {
    type State = ConjugateState;
    type Query = RowStatistics;
    type Memory = ();

    fn start(&self) -> ConjugateState {
        ConjugateState::default()
    }

    fn ask(&self, _: &ConjugateState) -> RowStatistics {
        self.asked
    }

    /// Only what this study's family asks.
    fn check(&self, query: &RowStatistics, (): &(), seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        if *query != self.asked || !query.is_sound() {
            return Err(unlike("the sums that this study's model needs, within its bounds"));
        }
        Release::of_all_rows(Grain::Example, query.numbers(), Clipped::Statistics).check(seat)
    }

    fn stage(&self, _: &RowStatistics) -> Option<Stage> {
        Some(Stage::Main)
    }

    fn answer(
        &self,
        query: &Released<RowStatistics>,
        (): &(),
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<()>, PrivacyError> {
        let (asked, rows) = (query.get(), seat.shard.rows());
        let mut units = UnitBatch::default();
        seat.draw(gate, &mut units)?;
        let mut sum = match asked.is_non_negative() {
            true => units.non_negative_sum(*gate.shape())?,
            false => units.sum(*gate.shape())?,
        };
        let (scale, centre, mut vector) = (KEPT / asked.reach(), asked.centre(), Vec::new());
        for &i in units.rows() {
            asked.of(rows.outcomes()[i], &mut vector);
            vector.iter_mut().zip(&centre).for_each(|(v, centre)| *v = (*v - centre) * scale);
            sum.push(&vector)?;
        }
        Ok(Answer { outgoing: gate.send(&sum)?, draft: () })
    }

    /// The posterior given the sum; the prior stays where none follows from it.
    fn fold(&self, _: ConjugateState, answers: &Answers) -> Result<Step<ConjugateState>, RunError> {
        let applied = answers.noted();
        let seen = self.heard(answers)?;
        let served = self.problem.model.conjugate().and_then(|family| family.posterior(&seen));
        let is_unread = served.is_none();
        Ok(Step { state: ConjugateState { served, is_unread }, applied })
    }

    /// As many numbers as were asked for, of a client that the study knows.
    fn fits(&self, _: &ConjugateState, client: usize, answer: &GridVector) -> bool {
        client < self.rows.len() && answer.units().len() == self.asked.numbers()
    }

    fn settle(&self, (): (), _: &Released<Total>) -> Result<(), PrivacyError> {
        Ok(())
    }

    /// The Gaussian with the posterior's mean and variances; before the release, with the prior's.
    fn posterior(&self, state: &ConjugateState) -> Vec<f64> {
        let moments: Vec<(f64, f64)> = match &state.served {
            Some(served) => served.iter().map(|one| (one.mean, one.deviation * one.deviation)).collect(),
            None => self.problem.model.conjugate().map_or_else(Vec::new, |family| family.prior()),
        };
        let (mean, variances) = moments.into_iter().unzip();
        let q = Gaussian::new_diagonal(mean, variances).filter(|q| q.dimension() == self.problem.family.dimension());
        q.map_or_else(|| self.problem.prior.0.clone(), |q| self.problem.family.natural(&q))
    }

    /// A prior that is served is no answer.
    fn warning(&self, state: &ConjugateState) -> Option<Warning> {
        let what = "no posterior could be computed from the noisy sums: what is served is the prior".to_owned();
        let hint = "run the study with a larger ε or more rows".to_owned();
        state.is_unread.then_some(Warning { code: Code::PartlyRead, what, hint })
    }

    fn quantiles(&self, state: &ConjugateState) -> Option<Vec<Quantiles>> {
        Some(state.served.as_ref()?.iter().map(|one| one.quantiles).collect())
    }
}
