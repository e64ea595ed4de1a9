//! Noise-aware PVI: every release is read as an observation of a sum, with noise of known variance.

use super::readout::{Scales, keep_newest, mean_of, read_out, scales, shrunk};
use super::{Algorithm, Answer, Answers, Step, check_terms, misfit, unlike};
use crate::model::{Point, Scratch, Sink, seed_of};
use crate::settings::{Curvature, NoiseAware as Settings};
use crate::solve::{Problem, check_solver_terms};
use crate::{RunError, Seat, Total};
use privacy::{Adjacency, Batch, Bounded, Gate, Grain, GridVector, PrivacyError, Released};
use serde::{Deserialize, Serialize};

/// Full-batch variational inference by clipped, whitened residuals (`docs/maths/noise-aware.md`).
///
/// With rᵢ the gradient of E_q[log p(yᵢ | θ)] by the mean, a client answers Σᵢ clip(s∘rᵢ) through its gate: the change
/// of natural parameters sheared about the public mean, so that noise in the precision is not multiplied by μ. The
/// server holds R, a decaying mean of the released sums, and ν, the variance of the noise in it; the data's precision Λ
/// comes from the curvature rule; q is read out with Wiener's weights Λ/(Λ + κν).
///
/// Nothing private is remembered between answers. Its law: R is the decaying mean of the releases, and ν the variance
/// that the same weights give their noise.
#[derive(Debug)]
pub struct NoiseAware {
    /// What is learnt.
    pub problem: Problem,
    /// The rule and its constants.
    pub settings: Settings,
    /// ρ: what one release weighs in the decaying mean.
    pub kept: f64,
    /// Serve the mean of so many last readouts.
    pub average: usize,
    /// Who releases: every client, or the sum over all.
    pub sources: Vec<SourceTerms>,
    /// Declared rows of all clients.
    pub rows: f64,
}

/// What is known beforehand of one source of releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SourceTerms {
    /// Its share of the rows.
    pub weight: f64,
    /// Deviation of the noise in each coordinate of a release.
    pub deviation: f64,
    /// The bound of non-negative vectors in its sums ([`crate::Terms::non_negative_bound`]).
    pub moment_bound: f64,
}

/// The server's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sight {
    sources: Vec<Source>,
    /// Releases so far.
    seen: u64,
    /// Served natural parameters, the newest last.
    served: Vec<Vec<f64>>,
    scales: Scales,
}

/// What one source has said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// R: the decaying mean of its residual sums, in plain coordinates.
    pub residual: Vec<f64>,
    /// ν: the variance of the noise in R.
    pub noise: Vec<f64>,
    /// The same decaying mean of Λμ, which the residuals were sheared by.
    pub pull: Vec<f64>,
    /// The sum of what it said of the curvature: second moments, or precisions.
    pub curvature: Vec<f64>,
    /// How often it said something of it.
    pub looks: u32,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Second moments of the inputs, or residuals.
    pub about: About,
    /// μ.
    pub mean: Vec<f64>,
    /// s of q.
    pub deviation: Vec<f64>,
    /// The whitening.
    pub scales: Scales,
}

/// What a sum is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// x².
    Moments,
    /// Residuals, and with the curvature rule of every round also precisions.
    Residuals,
}

impl NoiseAware {
    fn dimension(&self) -> usize {
        self.problem.family.dimension()
    }

    fn about(&self, state: &Sight) -> About {
        match self.settings.curvature {
            Curvature::Moments { looks, .. } if state.seen < u64::from(looks) * self.sources.len() as u64 => {
                About::Moments
            }
            _ => About::Residuals,
        }
    }

    /// Λ̂: the data's precision, as far as the releases tell it from noise; at the newest served q.
    fn precision(&self, state: &Sight) -> Vec<f64> {
        let d = self.dimension();
        let (mut level, mut variance) = (vec![0.0; d], 0.0);
        for (source, terms) in state.sources.iter().zip(&self.sources).filter(|(s, _)| s.looks > 0) {
            let looks = f64::from(source.looks);
            level.iter_mut().zip(&source.curvature).for_each(|(l, c)| *l += c / looks);
            variance += self.curvature_deviation(terms).powi(2) / looks;
        }
        let per_moment = match self.settings.curvature {
            Curvature::EveryRound { .. } => 1.0,
            Curvature::Moments { .. } => self.mean_curvature(state, &level),
        };
        level.iter_mut().for_each(|l| *l *= per_moment);
        shrunk(&level, per_moment * per_moment * variance)
    }

    /// Deviation of the noise in one release of the curvature, in its own units.
    fn curvature_deviation(&self, terms: &SourceTerms) -> f64 {
        match self.settings.curvature {
            Curvature::Moments { bound, .. } => terms.deviation / per_moment(terms.moment_bound, bound),
            Curvature::EveryRound { weight } => terms.deviation / weight,
        }
    }

    /// h̄ = E h(a) for a ~ N(0, Σⱼ fⱼ(μⱼ² + 1/pⱼ)), fⱼ the mean square of input j: a public stand-in for the mean of h.
    fn mean_curvature(&self, state: &Sight, moments: &[f64]) -> f64 {
        let Some(q) = state.served.last().and_then(|eta| self.problem.family.gaussian(eta)) else { return 0.0 };
        let spread = q.mean().iter().zip(q.deviations()).map(|(m, s)| m * m + s * s);
        let variance = moments.iter().zip(spread).map(|(m2, s2)| m2.max(0.0) / self.rows * s2).sum();
        self.problem.model.mean_curvature(variance).unwrap_or(0.0)
    }

    fn take(
        &self,
        state: &mut Sight,
        about: About,
        from: usize,
        release: &GridVector,
        pull: &[f64],
    ) -> Result<(), RunError> {
        let (d, values) = (self.dimension(), release.values());
        let (Some(source), Some(terms)) = (state.sources.get_mut(from), self.sources.get(from)) else {
            return Err(misfit());
        };
        if values.len() != self.settings.numbers(d) {
            return Err(misfit());
        }
        if let (About::Moments, Curvature::Moments { bound, .. }) = (about, self.settings.curvature) {
            let per_moment = per_moment(terms.moment_bound, bound);
            source.curvature.iter_mut().zip(&values).for_each(|(c, v)| *c += v / per_moment);
            source.looks += 1;
            return Ok(());
        }
        let (residuals, precisions) = values.split_at(d);
        let rho = self.kept;
        for j in 0..d {
            let scale = state.scales.of(j);
            let deviation = rho * terms.deviation / scale;
            source.residual[j] += rho * (residuals[j] / scale - source.residual[j]);
            source.noise[j] = (1.0 - rho) * (1.0 - rho) * source.noise[j] + deviation * deviation;
            source.pull[j] += rho * (terms.weight * pull[j] - source.pull[j]);
        }
        if let Curvature::EveryRound { weight } = self.settings.curvature {
            source.curvature.iter_mut().zip(precisions).for_each(|(c, v)| *c += v / weight);
            source.looks += 1;
        }
        Ok(())
    }

    fn serve(&self, state: &mut Sight) {
        let d = self.dimension();
        let precision = self.precision(state);
        let total = |of: fn(&Source) -> &Vec<f64>| -> Vec<f64> {
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
    type State = Sight;
    type Query = Question;
    type Memory = ();

    fn start(&self) -> Sight {
        let zeros = vec![0.0; self.dimension()];
        let source =
            Source { residual: zeros.clone(), noise: zeros.clone(), pull: zeros.clone(), curvature: zeros, looks: 0 };
        Sight {
            sources: vec![source; self.sources.len()],
            seen: 0,
            served: vec![self.problem.prior.0.clone()],
            scales: Scales::none(self.dimension()),
        }
    }

    fn ask(&self, state: &Sight) -> Question {
        let newest = state.served.last().unwrap_or(&self.problem.prior.0);
        let (mean, deviation) = self.problem.family.gaussian(newest).map_or_else(
            || (vec![0.0; self.dimension()], vec![1.0; self.dimension()]),
            |q| (q.mean().to_vec(), q.deviations()),
        );
        Question { about: self.about(state), mean, deviation, scales: state.scales.clone() }
    }

    /// A finite mean, a positive deviation and a scale for each parameter; moments where the rule has them.
    fn check(&self, query: &Question, (): &(), seat: &Seat<'_>) -> Result<(), PrivacyError> {
        let d = self.dimension();
        check_terms(self.settings.numbers(d), seat)?;
        check_solver_terms(seat, Grain::Example, 1)?;
        let mean = query.mean.len() == d && query.mean.iter().all(|m| m.is_finite());
        let spread = query.deviation.len() == d && query.deviation.iter().all(|s| s.is_finite() && *s > 0.0);
        let about = query.about == About::Residuals || matches!(self.settings.curvature, Curvature::Moments { .. });
        (mean && spread && about && query.scales.len() == d)
            .then_some(())
            .ok_or_else(|| unlike("a finite mean, a positive deviation and a scale of each parameter"))
    }

    fn answer(
        &self,
        query: &Released<Question>,
        (): &(),
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<()>, PrivacyError> {
        let (rows, question) = (seat.shard.rows(), query.get());
        let mut batch = Batch::default();
        gate.batch(rows.len(), &mut batch)?;
        let sum = match (question.about, self.settings.curvature) {
            (About::Moments, Curvature::Moments { bound, .. }) => {
                let mut sum = match seat.terms.event.adjacency() {
                    Adjacency::Substitute => Bounded::non_negative(*gate.shape(), &batch)?,
                    Adjacency::AddRemove => Bounded::examples(*gate.shape(), &batch)?,
                };
                let scale = per_moment(seat.terms.non_negative_bound(), bound);
                self.problem.model.moments(rows, batch.rows(), scale, &mut sum)?;
                sum
            }
            (_, curvature) => {
                let mut sum = Bounded::examples(*gate.shape(), &batch)?;
                let at = Point { mean: &question.mean, deviation: &question.deviation };
                let mut sheared = Sheared::new(question, curvature, &mut sum);
                let seed = seed_of(at.mean);
                self.problem.model.gradients(rows, batch.rows(), at, seed, &mut Scratch::default(), &mut sheared)?;
                sum
            }
        };
        Ok(Answer { outgoing: gate.send(&sum)?, draft: () })
    }

    fn fold(&self, mut state: Sight, answers: &Answers) -> Result<Step<Sight>, RunError> {
        let about = self.about(&state);
        let newest = state.served.last().and_then(|eta| self.problem.family.gaussian(eta)).ok_or_else(misfit)?;
        let pull: Vec<f64> = newest.mean().iter().zip(&self.precision(&state)).map(|(m, l)| m * l).collect();
        match answers {
            Answers::Each(each) => {
                for (client, release) in each {
                    self.take(&mut state, about, *client, release, &pull)?;
                    state.seen += 1;
                }
            }
            Answers::Sum(sum) => {
                self.take(&mut state, about, 0, sum, &pull)?;
                state.seen += 1;
            }
        }
        self.serve(&mut state);
        Ok(Step { state, applied: Vec::new() })
    }

    fn settle(&self, (): (), _: &Released<Total>) -> Result<(), PrivacyError> {
        Ok(())
    }

    fn posterior(&self, state: &Sight) -> Vec<f64> {
        mean_of(&state.served, self.problem.family.len())
    }
}

/// Turns a row's gradient by (μ, log s) into the whitened residual, and where the rule asks for it its precision
/// −(∂/∂ log s)/s², on the way to the clipped sum.
struct Sheared<'a> {
    sum: &'a mut Bounded,
    dimension: usize,
    /// What each coordinate is multiplied by: as many as numbers are sent.
    factors: Vec<f64>,
    places: Vec<u32>,
    scaled: Vec<f64>,
}

impl<'a> Sheared<'a> {
    fn new(question: &Question, curvature: Curvature, sum: &'a mut Bounded) -> Self {
        let mut factors: Vec<f64> = (0..question.mean.len()).map(|j| question.scales.of(j)).collect();
        if let Curvature::EveryRound { weight } = curvature {
            factors.extend(question.deviation.iter().map(|s| -weight / (s * s)));
        }
        Self { sum, dimension: question.mean.len(), factors, places: Vec::new(), scaled: Vec::new() }
    }
}

impl Sink for Sheared<'_> {
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        let (d, stored) = (self.dimension, values.len() / 2);
        let dense = (stored - positions.len()) as u32;
        self.places.clear();
        self.places.extend((0..dense).chain(positions.iter().copied()));
        self.scaled.clear();
        let halves = values.chunks(stored.max(1)).zip(self.factors.chunks(d.max(1)));
        for (values, factors) in halves {
            self.scaled.extend(self.places.iter().zip(values).map(|(p, v)| factors[*p as usize] * v));
        }
        match self.factors.len() == d {
            true => self.sum.push_sparse(&self.places, &self.scaled),
            false => self.sum.push_halves(positions, &self.scaled),
        }
    }
}

/// What a row's x² is multiplied by, so that its own bound becomes that of the sum.
fn per_moment(bound_of_sum: f64, bound: f64) -> f64 {
    bound_of_sum / bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Prior;
    use crate::{Family, Linear};
    use std::sync::Arc;

    fn method(curvature: Curvature, sources: &[(f64, f64)]) -> NoiseAware {
        let family = Family::MeanField { dimension: 2 };
        let model = Arc::new(Linear { noise_variance: 0.5 });
        let source = |&(weight, deviation): &(f64, f64)| SourceTerms { weight, deviation, moment_bound: 2.0 };
        NoiseAware {
            problem: Problem { model, family, prior: Prior(family.prior(1.0)) },
            settings: Settings { curvature, whitening: 0.5, floor: 0.05, caution: 1.0 },
            kept: 0.25,
            average: 1,
            sources: sources.iter().map(source).collect(),
            rows: 100.0,
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
            assert_eq!(method.ask(&state).about, About::Moments);
            state = method.fold(state, &Answers::Each(vec![(client, release(&[40.0, 2.0]))])).unwrap().state;
        }
        assert_eq!(method.ask(&state).about, About::Residuals);
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
