//! Noise-aware PVI: every release is read as an observation of a sum, with noise of known variance.

mod budget;
mod dealt;
mod settings;

pub use budget::RoundBudget;
pub(crate) use settings::DESCRIPTOR;
pub use settings::{Curvature, NoiseAwareConstants, NoiseAwareSettings};

use super::home::{Natural, SiteProblem};
use super::own::{InterceptConstants, InterceptState};
use super::readout::{Whitening, keep_newest, mean_of, read_out, scales};
use super::sheared::Sheared;
use super::source::{Hearing, ReleaseSource, SourceTerms, precision, told};
use super::{Algorithm, Answer, Answers, Step, misfit, unlike};
use crate::model::{Point, Scratch, seed_of};
use crate::optimiser::is_within_limits;
use crate::solve::{PartSolver, Problem};
use crate::{ClientView, RunError, Stage, Total, UnitBatch};
use privacy::{Adjacency, Bounded, Gate, GridVector, Outgoing, PrivacyError, Released};
use serde::{Deserialize, Serialize};

/// Full-batch variational inference by clipped, whitened residuals (`docs/maths/noise-aware.md`).
///
/// With rᵢ the gradient of E_q[log p(yᵢ | θ)] by the mean, a client answers Σᵢ clip(s∘rᵢ) through its gate: the change
/// of natural parameters sheared about the public mean, so that noise in the precision is not multiplied by μ. The
/// server holds R, a decaying mean of the released sums, and ν, the variance of the noise in it; the data's precision Λ
/// comes from the curvature rule; q is read out with Wiener's weights Λ/(Λ + κν).
///
/// Nothing private is remembered between answers: a site keeps what its gate released of its own intercept, if it has one.
/// Its law: R is the decaying mean of the releases, and ν the variance
/// that the same weights give their noise.
#[derive(Debug)]
pub struct NoiseAware {
    /// What is learnt together.
    pub problem: Problem,
    /// The problem of a site that has an intercept of its own; none where sites have none.
    pub home: Option<SiteProblem>,
    /// The rule and its constants.
    pub settings: NoiseAwareConstants,
    /// ρ: what one release weighs in the decaying mean.
    pub kept: f64,
    /// Serve the mean of so many last readouts.
    pub average: usize,
    /// How the parts of a client's rows are solved; none where every row is clipped by itself.
    pub parts: Option<PartSolver>,
    /// Who releases, every client or the sum over all, and with what noise: one entry for all rounds, or one for each stage of a
    /// budget that differs by rounds (the looks at second moments, then round by round).
    pub stages: Vec<Vec<SourceTerms>>,
    /// Declared rows of all clients; persons, where these are the unit.
    pub rows: f64,
    /// Where persons are the unit: the place of the intercept, if there is one, whose second moment is the number of rows.
    pub counts_rows: Option<usize>,
}

/// The server's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseAwareState {
    sources: Vec<ReleaseSource>,
    /// Releases so far.
    seen: u64,
    /// Rounds so far, where the noise differs by rounds; else 0.
    rounds: u64,
    /// Served natural parameters, the newest last.
    served: Vec<Vec<f64>>,
    scales: Whitening,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelQuestion {
    /// Second moments of the inputs, or residuals.
    pub about: SumKind,
    /// μ.
    pub mean: Vec<f64>,
    /// s of q.
    pub deviation: Vec<f64>,
    /// The whitening.
    pub scales: Whitening,
    /// What a precision is of a second moment at this q; 1 where precisions are released.
    pub curvature: f64,
}

/// No mean curvature of an honest server is larger.
pub(super) const MOST_CURVATURE: f64 = 1e9;

/// What a sum is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SumKind {
    /// x².
    Moments,
    /// Residuals, and with the curvature rule of every round also precisions.
    Residuals,
    /// Residuals of this round, counted from 1, where every round has a noise of its own.
    ResidualsOf(u8),
}

impl SumKind {
    /// The stage whose noise the answers have.
    fn stage(self) -> usize {
        match self {
            Self::Moments | Self::Residuals => 0,
            Self::ResidualsOf(round) => usize::from(round),
        }
    }
}

impl NoiseAware {
    fn dimension(&self) -> usize {
        self.problem.family.dimension()
    }

    /// Who releases the second moments, and with what noise; the same for all rounds where the budget is even.
    fn sources(&self) -> &[SourceTerms] {
        self.at(0)
    }

    /// Who releases in a stage, and with what noise.
    fn at(&self, stage: usize) -> &[SourceTerms] {
        self.stages.get(stage).or(self.stages.last()).map_or(&[], Vec::as_slice)
    }

    /// Whether every round has a noise of its own.
    fn is_staged(&self) -> bool {
        self.stages.len() > 1
    }

    /// The stage of the next round. An even budget has one.
    fn stage_of(&self, state: &NoiseAwareState) -> usize {
        match self.settings.curvature {
            Curvature::Moments { looks, .. } if self.is_staged() => {
                let past = (state.rounds + 1).saturating_sub(u64::from(looks));
                usize::try_from(past).unwrap_or(usize::MAX).min(self.stages.len() - 1)
            }
            _ => 0,
        }
    }

    fn about(&self, state: &NoiseAwareState) -> SumKind {
        if self.is_staged() {
            let stage = u8::try_from(self.stage_of(state)).unwrap_or(u8::MAX);
            return if stage == 0 { SumKind::Moments } else { SumKind::ResidualsOf(stage) };
        }
        match self.settings.curvature {
            Curvature::Moments { looks, .. } if state.seen < u64::from(looks) * self.sources().len() as u64 => {
                SumKind::Moments
            }
            _ => SumKind::Residuals,
        }
    }

    /// Λ̂ of all sources, at the newest served q.
    fn precision(&self, state: &NoiseAwareState) -> Vec<f64> {
        let told = self.told(state);
        let per_moment = self.per_moment(state, &told.0);
        precision(told, per_moment)
    }

    fn told(&self, state: &NoiseAwareState) -> (Vec<f64>, f64) {
        told(state.sources.iter().zip(self.sources()), self.dimension(), self.settings.curvature)
    }

    /// What a precision is of what was told of it: the mean curvature of second moments, else 1.
    fn per_moment(&self, state: &NoiseAwareState, told: &[f64]) -> f64 {
        match self.settings.curvature {
            Curvature::EveryRound { .. } => 1.0,
            Curvature::Moments { .. } => self.mean_curvature(state, told),
        }
    }

    /// h̄ = E h(a) for a ~ N(0, Σⱼ fⱼ(μⱼ² + 1/pⱼ)), fⱼ the mean square of input j: a public stand-in for the mean of h.
    fn mean_curvature(&self, state: &NoiseAwareState, moments: &[f64]) -> f64 {
        let Some(q) = state.served.last().and_then(|eta| self.problem.family.gaussian(eta)) else { return 0.0 };
        let spread = q.mean().iter().zip(q.deviations()).map(|(m, s)| m * m + s * s);
        // Persons have one row or more: how many, only releases may say.
        let counted = self.counts_rows.and_then(|place| moments.get(place));
        let rows = counted.map_or(self.rows, |rows| rows.max(self.rows));
        let variance = moments.iter().zip(spread).map(|(m2, s2)| m2.max(0.0) / rows * s2).sum();
        self.problem.model.mean_curvature(variance).unwrap_or(0.0)
    }

    fn take(
        &self,
        state: &mut NoiseAwareState,
        about: SumKind,
        from: usize,
        release: &GridVector,
        pull: &[f64],
    ) -> Result<(), RunError> {
        let share = self.parts.map_or(1.0, |parts| 1.0 / parts.weight);
        let values: Vec<f64> = release.values().iter().map(|v| share * v).collect();
        let at = self.at(about.stage());
        let (Some(source), Some(terms)) = (state.sources.get_mut(from), at.get(from)) else {
            return Err(misfit());
        };
        if values.len() != self.settings.release(self.dimension(), self.parts).numbers.of(0) {
            return Err(misfit());
        }
        let (settings, kept) = (&self.settings, self.kept);
        source.hear(&values, &Hearing { settings, kept, terms, about, scales: &state.scales, pull });
        Ok(())
    }

    /// What a site needs to know of its own intercept, where it answers in this stage.
    fn at_home_of(&self, client: usize, stage: usize) -> Option<InterceptConstants> {
        let (home, looks, terms) = (self.home.clone()?, *self.sources().get(client)?, *self.at(stage).get(client)?);
        Some(InterceptConstants { home, settings: self.settings, kept: self.kept, looks, terms })
    }

    /// The sum over all rows, clipped unit by unit, that a question asks for.
    fn sum(
        &self,
        problem: &Problem,
        question: &LevelQuestion,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Bounded, PrivacyError> {
        if let (Some(parts), Curvature::EveryRound { weight }) = (&self.parts, self.settings.curvature) {
            return dealt::sum_of_parts(parts, problem, question, weight, seat, *gate.shape());
        }
        let rows = seat.shard.rows();
        let mut units = UnitBatch::default();
        seat.draw(gate, &mut units)?;
        if let (SumKind::Moments, Curvature::Moments { bound, .. }) = (question.about, self.settings.curvature) {
            let mut sum = match seat.terms.event.adjacency() {
                Adjacency::Substitute => units.non_negative_sum(*gate.shape())?,
                Adjacency::AddRemove => units.sum(*gate.shape())?,
            };
            problem.model.moments(rows, units.rows(), seat.terms.non_negative_bound() / bound, &mut sum)?;
            return Ok(sum);
        }
        let mut sum = units.sum(*gate.shape())?;
        let at = Point { mean: &question.mean, deviation: &question.deviation };
        let mut sheared = Sheared::new(question, self.settings.curvature, &mut sum);
        problem.model.gradients(rows, units.rows(), at, seed_of(at.mean), &mut Scratch::default(), &mut sheared)?;
        Ok(sum)
    }

    fn serve(&self, state: &mut NoiseAwareState) {
        let d = self.dimension();
        let precision = self.precision(state);
        let total = |of: fn(&ReleaseSource) -> &Vec<f64>| -> Vec<f64> {
            (0..d).map(|j| state.sources.iter().map(|s| of(s)[j]).sum()).collect()
        };
        let (residual, noise, pull) = (total(|s| &s.residual), total(|s| &s.noise), total(|s| &s.pull));
        let first: Vec<f64> = residual.iter().zip(&pull).map(|(r, p)| r + p).collect();
        state.scales = scales(&precision, self.settings.whitening, self.settings.floor);
        let eta = read_out(&self.problem.prior.0, &first, &precision, &noise, self.settings.caution);
        keep_newest(&mut state.served, eta, self.average);
    }
}

impl Algorithm for NoiseAware {
    type State = NoiseAwareState;
    type Query = LevelQuestion;
    /// What a site heard of its own intercept: public, by its type.
    type Memory = Option<Released<InterceptState>>;

    fn start(&self) -> NoiseAwareState {
        NoiseAwareState {
            sources: vec![ReleaseSource::silent(self.dimension()); self.sources().len()],
            seen: 0,
            rounds: 0,
            served: vec![self.problem.prior.0.clone()],
            scales: Whitening::none(self.dimension()),
        }
    }

    fn ask(&self, state: &NoiseAwareState) -> LevelQuestion {
        let newest = state.served.last().unwrap_or(&self.problem.prior.0);
        let (mean, deviation) = self.problem.family.gaussian(newest).map_or_else(
            || (vec![0.0; self.dimension()], vec![1.0; self.dimension()]),
            |q| (q.mean().to_vec(), q.deviations()),
        );
        let curvature = self.per_moment(state, &self.told(state).0);
        LevelQuestion { about: self.about(state), mean, deviation, scales: state.scales.clone(), curvature }
    }

    /// A finite mean, a positive deviation and a scale for each parameter; moments where the rule has them.
    fn check(&self, query: &LevelQuestion, memory: &Self::Memory, seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        let d = self.dimension();
        let own = self.home.iter().len();
        self.settings.release(d + own, self.parts).check(seat)?;
        let mean = query.mean.len() == d && query.mean.iter().all(|m| m.is_finite());
        // Parts search from q, where rows are only looked at there.
        let usable = |s: f64| s.is_finite() && s > 0.0 && (self.parts.is_none() || is_within_limits(s));
        let spread = query.deviation.len() == d && query.deviation.iter().all(|s| usable(*s));
        let about = match query.about {
            SumKind::Moments => matches!(self.settings.curvature, Curvature::Moments { .. }),
            SumKind::Residuals => !self.is_staged(),
            SumKind::ResidualsOf(round) => (1..self.stages.len()).contains(&usize::from(round)),
        };
        let curved = (0.0..=MOST_CURVATURE).contains(&query.curvature);
        if memory.as_ref().is_some_and(|own| !own.get().is_sound()) {
            return Err(PrivacyError::Diverged);
        }
        (mean && spread && about && curved && query.scales.len() == d)
            .then_some(())
            .ok_or_else(|| unlike("a finite mean, a positive deviation and a scale of each parameter"))
    }

    /// By the question where the noise differs by rounds; an even budget has no stages.
    fn stage(&self, query: &LevelQuestion) -> Option<Stage> {
        let stage = query.about.stage();
        let opening = u8::try_from(stage).ok().filter(|_| stage + 1 < self.stages.len());
        self.is_staged().then_some(opening.map_or(Stage::Main, Stage::Opening))
    }

    fn answer(
        &self,
        query: &Released<LevelQuestion>,
        memory: &Self::Memory,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<Self::Memory>, PrivacyError> {
        let Some(home) = self.at_home_of(seat.index, query.get().about.stage()) else {
            let sum = self.sum(&self.problem, query.get(), seat, gate)?;
            return Ok(Answer { outgoing: gate.send(&sum)?, draft: None });
        };
        let mut own = memory.clone().unwrap_or_else(|| Released::zeros(0).map(&(), |_, ()| InterceptState::new()));
        own.update(query, &(), InterceptState::hear_question);
        let mut question = query.clone();
        question.update(&own, &home, InterceptState::join);
        let sum = self.sum(&home.home.problem, question.get(), seat, gate)?;
        let mut release = Released::zeros(0);
        gate.release(&sum, &mut release)?;
        own.update(&release, &home, InterceptState::hear);
        let shared = release.map(&home, |release, home| home.shared(release));
        let outgoing = Outgoing::post_processed(&shared, seat.terms.shape.grid())?;
        Ok(Answer { outgoing, draft: Some(own) })
    }

    fn fold(&self, mut state: NoiseAwareState, answers: &Answers) -> Result<Step<NoiseAwareState>, RunError> {
        let about = self.about(&state);
        let newest = state.served.last().and_then(|eta| self.problem.family.gaussian(eta)).ok_or_else(misfit)?;
        let pull: Vec<f64> = newest.mean().iter().zip(&self.precision(&state)).map(|(m, l)| m * l).collect();
        let sums: Vec<(usize, &GridVector)> = match answers {
            Answers::Each(each) => each.iter().map(|(client, release)| (*client, release)).collect(),
            Answers::Sum { total, .. } => vec![(0, total)],
        };
        for (source, release) in &sums {
            self.take(&mut state, about, *source, release, &pull)?;
            state.seen += 1;
        }
        state.rounds += u64::from(self.is_staged());
        self.serve(&mut state);
        // A receipt says that an answer was kept, and nothing else.
        let applied = sums.iter().map(|(_, release)| Total::zeros(0, release.grid())).collect();
        Ok(Step { state, applied })
    }

    fn fits(&self, _: &NoiseAwareState, client: usize, answer: &GridVector) -> bool {
        let numbers = self.settings.release(self.dimension(), self.parts).numbers.of(0);
        client < self.sources().len() && answer.units().len() == numbers
    }

    fn settle(&self, draft: Self::Memory, _: &Released<Total>) -> Result<Self::Memory, PrivacyError> {
        Ok(draft)
    }

    fn posterior(&self, state: &NoiseAwareState) -> Vec<f64> {
        mean_of(&state.served, self.problem.family.len())
    }

    fn at_home(&self, client: usize, memory: &Self::Memory) -> Option<Natural> {
        let home = self.at_home_of(client, 0)?;
        Some(memory.as_ref().map_or_else(|| home.home.prior(), |own| own.get().natural(&home)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Prior;
    use crate::{Family, Linear};
    use std::sync::Arc;

    fn method(curvature: Curvature, sources: &[(f64, f64)]) -> NoiseAware {
        let family = Family::MeanField { dimension: 2 };
        let model = Arc::new(Linear::known(0.5));
        let source = |&(weight, deviation): &(f64, f64)| SourceTerms { weight, deviation, moment_bound: 2.0 };
        NoiseAware {
            problem: Problem { model, family, prior: Prior(family.prior(1.0)) },
            home: None,
            settings: NoiseAwareConstants { curvature, whitening: 0.5, floor: 0.05, caution: 1.0 },
            kept: 0.25,
            average: 1,
            parts: None,
            stages: vec![sources.iter().map(source).collect()],
            rows: 100.0,
            counts_rows: None,
        }
    }

    fn release(values: &[f64]) -> GridVector {
        let units: Vec<i64> = values.iter().map(|v| (v * 1024.0) as i64).collect();
        serde_json::from_value(serde_json::json!({ "grid": 10, "units": units })).unwrap()
    }

    #[test]
    fn moments_are_asked_first_once_of_every_source_and_read_in_their_own_units() {
        let method = method(Curvature::Moments { looks: 1, bound: 4.0 }, &[(0.5, 3.0), (0.5, 3.0)]);
        let mut state = method.start();
        for client in 0..2 {
            assert_eq!(method.ask(&state).about, SumKind::Moments);
            state = method.fold(state, &Answers::Each(vec![(client, release(&[40.0, 2.0]))])).unwrap().state;
        }
        assert_eq!(method.ask(&state).about, SumKind::Residuals);
        // Sent at half size (2/4): 80 and 4 of each of two sources, deviation 6 each; curvature 1/0.5.
        let shrunk = |m2: f64| 2.0 * m2 * m2 * m2 / (m2 * m2 + 72.0);
        let precision = method.precision(&state);
        assert!((precision[0] - shrunk(160.0)).abs() < 1e-9 && (precision[1] - shrunk(8.0)).abs() < 1e-9);
        assert_eq!((method.ask(&state).scales.of(0), method.ask(&state).scales.of(1)), (1.0, 4.0));
    }

    /// The law: R is the decaying mean of the releases, and ν what the same weights make of their noise.
    #[test]
    fn the_state_is_the_decaying_mean_of_releases_and_the_variance_of_its_noise() {
        let method = method(Curvature::EveryRound { weight: 2.0 }, &[(0.7, 3.0), (0.3, 5.0)]);
        let said = [[8.0, -4.0], [2.0, 6.0], [1.0, 1.0]];
        let (mut state, mut scales) = (method.start(), Vec::new());
        for values in said {
            scales.push(method.ask(&state).scales.clone());
            let one = release(&[values[0], values[1], 20.0, 1.0]);
            state = method.fold(state, &Answers::Each(vec![(0, one.clone()), (1, one)])).unwrap().state;
        }
        assert!(scales[2].of(1) > 1.0, "nothing was whitened");
        let weights = [0.25 * 0.75 * 0.75, 0.25 * 0.75, 0.25];
        for j in [0, 1] {
            let mean: f64 = (0..3).map(|k| weights[k] * said[k][j] / scales[k].of(j)).sum();
            for (source, deviation) in state.sources.iter().zip([3.0_f64, 5.0]) {
                let noise: f64 = (0..3).map(|k| (weights[k] * deviation / scales[k].of(j)).powi(2)).sum();
                assert!((source.residual[j] - mean).abs() < 1e-12 && (source.noise[j] - noise).abs() < 1e-12);
                assert_eq!((source.looks, source.curvature[0]), (3, 30.0));
            }
        }
    }

    #[test]
    fn answers_of_another_length_or_client_are_refused() {
        let method = method(Curvature::EveryRound { weight: 2.0 }, &[(1.0, 3.0)]);
        for (client, values) in [(0, vec![1.0; 2]), (1, vec![1.0; 4])] {
            assert!(method.fold(method.start(), &Answers::Each(vec![(client, release(&values))])).is_err());
        }
    }
}
