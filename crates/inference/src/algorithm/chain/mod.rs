//! Markov chains over all sites: a proposal is asked about, sums over rows come back noised, and the
//! chain moves or stays.
//!
//! A chain is a [`Kernel`] that asks sites for sums (of log-ratios, or of slopes) and a server that
//! throws public coins. What a kernel does with an answer is post-processing: the draws are public, and
//! so is everything that is computed from them.
//!
//! | sampler | asks for | source |
//! |---|---|---|
//! | [`Barker`] | a log-ratio; its noise is part of the test's | Heikkilä et al. 2019, Theorems 1 and 2 |
//! | [`Penalty`] | a log-ratio; the test knows its noise | Yıldırım and Ermiş 2019 |
//! | [`Langevin`] | a slope; its noise is part of the temperature | Wang, Fienberg, Smola 2015 |
//! | [`Hamiltonian`] | slopes, then a log-ratio | Räisä, Koskela, Honkela 2021 |
//!
//! `docs/maths/dp-mcmc.md` has the accounting, `docs/maths/correction.md` the correction distribution
//! of Barker's test. Draws are collected and diagnosed in [`crate::chain`].
//!
//! # Examples
//! ```
//! use inference::algorithm::chain::{BarkerSampler, ChainSettings, Start, TestNoise};
//! use inference::method::AlgorithmSettings;
//! use inference::release::Clipped;
//! use inference::settings::{Batching, Covariance};
//! use std::sync::Arc;
//!
//! let settings = ChainSettings {
//!     sampler: Arc::new(BarkerSampler { step: 0.1, noise: TestNoise::Fixed { variance: 2.0 } }),
//!     iterations: 1000,
//!     chains: 2,
//!     warm_up: 100,
//!     counts_as: None,
//!     start: Start::Prior,
//!     batch: Batching::All,
//!     covariance: Covariance::Full,
//! };
//! assert_eq!(settings.questions(), 2000, "one for each iteration of each chain");
//! let releases = settings.releases(5);
//! assert_eq!((releases.main.clipped, releases.main.numbers.of(0)), (Clipped::Ratios, 1));
//! ```

mod climb;
pub mod kernel;
mod noise;
mod settings;
mod summary;
mod walk;

pub use climb::Climb;
pub use kernel::{
    Barker, BarkerSampler, Hamiltonian, HamiltonianSampler, Kernel, KernelQuestion, Langevin, LangevinSampler, Leaps,
    MissingNoise, Penalty, PenaltySampler, Sampler, Taken, TestNoise,
};
pub use noise::ChainNoise;
pub(crate) use settings::DESCRIPTOR;
pub use settings::{ChainSettings, Start};
pub use summary::DrawMoments;
pub use walk::{Coins, Target, Walk};

use super::{Algorithm, Answer, Answers, GlobalVi, Step, unlike};
use crate::model::{Point, Scratch, Sink};
use crate::optimiser::Descent;
use crate::release::{Clipped, Release};
use crate::solve::Problem;
use crate::{ClientView, RunError, Stage, Total};
use privacy::{Batch, Bounded, Gate, Grain, GridVector, Layer, PrivacyError, Released};
use serde::{Deserialize, Serialize};

/// Posterior draws by a kernel whose answers come from all sites.
///
/// One release an answer: of a number, where log-ratios are asked for, or of a gradient. The law of every kernel: if the sites
/// have no rows and no noise, draws are from the prior. A client has no memory.
#[derive(Debug)]
pub struct Chain {
    /// What is learnt. Its family says which moments of the draws are served.
    pub problem: Problem,
    /// The prior of the parameters.
    pub target: Target,
    /// How a chain moves.
    pub kernel: Box<dyn Kernel>,
    /// Whether the kernel asks for slopes and log-ratios, so that slopes are on terms of their own.
    pub asks_both: bool,
    /// T: iterations of each chain.
    pub iterations: u64,
    /// Iterations at the start of each chain that are not served.
    pub warm_up: u64,
    /// Where a chain starts.
    pub start: Beginning,
    /// How each client's sums are scaled.
    pub scales: Vec<RatioScales>,
    /// Seeds public coins.
    pub key: [u8; 32],
}

/// Where chains start: at a point that costs nothing, or at one that is learnt first and paid for.
#[derive(Debug)]
pub enum Beginning {
    /// At the prior's mean.
    Origin,
    /// At a draw from the prior.
    Prior,
    /// At a draw from a variational posterior, which is learnt first.
    Learnt {
        /// How.
        by: GlobalVi,
        /// In so many rounds.
        rounds: u64,
    },
    /// Where steps along slopes of the log-posterior led, which are released as those on a chain's way are.
    Climbed {
        /// In so many rounds.
        rounds: u64,
        /// Of so much each.
        rate: f64,
    },
}

/// What is asked: on the way to a beginning, or by the kernel. Public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ChainQuestion {
    /// Gradients at a variational posterior.
    Learning(super::global_vi::GlobalPoint),
    /// A step of the chain.
    Step(KernelQuestion),
}

/// How sums of one client are scaled: public constants, from which the noise of all answers together
/// has the variance that the test knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioScales {
    /// B: the bound of a row's log-ratio. What is summed is r/B, clipped to 1.
    pub ratio_bound: f64,
    /// What a sum over a batch is multiplied by to stand for all rows, tempered.
    pub weight: f64,
}

/// Where a run stands. All of it is public: the walk, the draws so far, and what was learnt first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainState {
    /// The variational posterior that chains start from, if they do.
    learnt: Option<Descent>,
    /// The way uphill to where chains start, if they do so.
    climb: Option<Climb>,
    /// Where the present chain stands.
    walk: Walk,
    /// Moments of the draws that are served.
    summary: DrawMoments,
    /// Questions answered, which number the coins.
    questions: u64,
    /// Draws of all chains, and the last of them.
    done: u64,
    /// The last draw.
    last: Vec<f64>,
}

impl Chain {
    /// The walk at the beginning of a chain.
    fn beginning(&self, learnt: Option<&Descent>, climb: Option<&Climb>, coins: &mut Coins) -> Walk {
        let theta = match (&self.start, learnt.map(Descent::point), climb) {
            (Beginning::Prior, ..) => self.target.draw(coins),
            (Beginning::Learnt { .. }, Some(at), _) => {
                let normals = coins.normals(at.mean.len());
                at.mean.iter().zip(at.deviation).zip(normals).map(|((m, s), z)| m + s * z).collect()
            }
            (Beginning::Climbed { .. }, _, Some(climb)) => climb.top(),
            _ => self.target.prior.mean().to_vec(),
        };
        self.kernel.begin(&self.target, theta, coins)
    }

    /// How a state goes on learning where chains start, if it does.
    fn learning<'a>(&'a self, state: &ChainState) -> Option<&'a GlobalVi> {
        match &self.start {
            Beginning::Learnt { by, rounds } if state.questions < *rounds => Some(by),
            _ => None,
        }
    }

    /// How a state goes on uphill, if it does: the size of a step, and whether it is in the second half of the way.
    fn climbing(&self, state: &ChainState) -> Option<(f64, bool)> {
        match self.start {
            Beginning::Climbed { rounds, rate } if state.questions < rounds => {
                Some((rate, 2 * state.questions >= rounds))
            }
            _ => None,
        }
    }

    /// The question of this moment; on the way uphill, for the slope.
    fn question(&self, state: &ChainState) -> KernelQuestion {
        match (self.climbing(state), &state.climb) {
            (Some(_), Some(climb)) => KernelQuestion::Slope { at: climb.theta().to_vec() },
            _ => self.kernel.ask(&state.walk),
        }
    }

    /// The (tempered) sum over all rows of all sites, noise included.
    ///
    /// Each client's sum is multiplied by its weight, 1/rate times N₀/N, and log-ratios by their bound, in
    /// units of which they were clipped.
    fn heard(&self, question: &KernelQuestion, answers: &Answers) -> Result<Vec<f64>, RunError> {
        let unknown = || RunError::Message { what: "an answer of an unknown client or another dimension" };
        let expected = self.numbers(question);
        let mut sum = vec![0.0; expected];
        let mut add = |client: usize, values: &[f64]| {
            let scales = self.scales.get(client).filter(|_| values.len() == expected).ok_or_else(unknown)?;
            let bound = if matches!(question, KernelQuestion::Ratio { .. }) { scales.ratio_bound } else { 1.0 };
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += scales.weight * bound * value);
            Ok::<_, RunError>(())
        };
        match answers {
            // Where only a sum is opened, all clients are on the same terms.
            Answers::Sum { total, .. } => add(0, &total.values())?,
            Answers::Each(each) => each.iter().try_for_each(|(client, answer)| add(*client, &answer.values()))?,
        }
        Ok(sum)
    }

    /// Length of a sum.
    fn numbers(&self, question: &KernelQuestion) -> usize {
        match question {
            KernelQuestion::Ratio { .. } => 1,
            KernelQuestion::Slope { .. } => self.target.dimension(),
        }
    }

    /// Whether all clients' answers are there: a test of a part of the data would be another chain.
    fn complete(&self, answers: &Answers) -> bool {
        let found = match answers {
            Answers::Sum { from, .. } => from.len(),
            Answers::Each(each) => each.len(),
        };
        found == self.scales.len()
    }
}

impl Algorithm for Chain {
    type State = ChainState;
    type Query = ChainQuestion;
    type Memory = ();

    fn start(&self) -> ChainState {
        let learnt = match &self.start {
            Beginning::Learnt { by, .. } => Some(by.start()),
            Beginning::Origin | Beginning::Prior | Beginning::Climbed { .. } => None,
        };
        let climb = matches!(self.start, Beginning::Climbed { .. }).then(|| Climb::new(self.target.prior.mean()));
        let walk = self.beginning(learnt.as_ref(), climb.as_ref(), &mut Coins::at(&self.key, 0));
        ChainState {
            learnt,
            climb,
            walk,
            summary: DrawMoments::new(self.problem.family),
            questions: 0,
            done: 0,
            last: Vec::new(),
        }
    }

    fn ask(&self, state: &ChainState) -> ChainQuestion {
        match (self.learning(state), &state.learnt) {
            (Some(by), Some(learnt)) => ChainQuestion::Learning(by.ask(learnt)),
            _ => ChainQuestion::Step(self.question(state)),
        }
    }

    /// Values that the parameters may have; sums of clipped examples.
    fn check(&self, query: &ChainQuestion, (): &(), seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        let query = match (query, &self.start) {
            (ChainQuestion::Learning(at), Beginning::Learnt { by, .. }) => return by.check(at, &(), seat),
            (ChainQuestion::Learning(_), _) => return Err(unlike("a step of a chain")),
            (ChainQuestion::Step(question), _) => question,
        };
        Release::of_all_rows(Grain::Example, self.numbers(query), Clipped::Gradients).check(seat)?;
        let known = |theta: &[f64]| {
            theta.len() == self.target.supports.len() && theta.iter().zip(&self.target.supports).all(|(t, s)| s.has(*t))
        };
        let fits = match query {
            KernelQuestion::Ratio { from, to } => known(from) && known(to),
            KernelQuestion::Slope { at } => known(at),
        };
        fits.then_some(()).ok_or_else(|| unlike("finite values of all parameters"))
    }

    fn stage(&self, query: &ChainQuestion) -> Option<Stage> {
        Some(match query {
            ChainQuestion::Learning(_) => Stage::Opening(0),
            ChainQuestion::Step(KernelQuestion::Slope { .. }) if self.asks_both => Stage::Opening(0),
            _ => Stage::Main,
        })
    }

    /// One sum of a batch: log-ratios in units of their bound, or gradients at θ without spread.
    fn answer(
        &self,
        query: &Released<ChainQuestion>,
        (): &(),
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<()>, PrivacyError> {
        let question = match (query.get(), &self.start) {
            (ChainQuestion::Learning(at), Beginning::Learnt { by, .. }) => return by.answer_at(at, seat, gate),
            (ChainQuestion::Learning(_), _) => return Err(unlike("a step of a chain")),
            (ChainQuestion::Step(question), _) => question,
        };
        let (rows, model) = (seat.shard.rows(), &self.problem.model);
        let (mut batch, mut scratch) = (Batch::default(), Scratch::default());
        gate.batch(rows.len(), &mut batch)?;
        let mut sum = Bounded::examples(*gate.shape(), &batch)?;
        match question {
            KernelQuestion::Ratio { from, to } => {
                let mut ratios = Vec::new();
                model.log_ratios(rows, batch.rows(), (from, to), &mut scratch, &mut ratios);
                let scale = self.scales.get(seat.index).map_or(0.0, |scales| 1.0 / scales.ratio_bound);
                ratios.iter_mut().for_each(|ratio| *ratio *= scale);
                sum.push_numbers(&ratios)?;
            }
            KernelQuestion::Slope { at } => {
                let none = vec![0.0; at.len()];
                let at = Point { mean: at, deviation: &none };
                model.gradients(rows, batch.rows(), at, 0, &mut scratch, &mut Means(&mut sum))?;
            }
        }
        Ok(Answer { outgoing: gate.send(&sum)?, draft: () })
    }

    /// Where an answer is missing, the same is asked again.
    fn fold(&self, mut state: ChainState, answers: &Answers) -> Result<Step<ChainState>, RunError> {
        let (learning, climbing, question) = (self.learning(&state), self.climbing(&state), self.question(&state));
        let applied = answers.noted();
        state.questions += 1;
        if let (Some(by), Some(learnt)) = (learning, state.learnt.take()) {
            let learnt = by.fold(learnt, answers)?.state;
            state.walk = self.beginning(Some(&learnt), None, &mut Coins::at(&self.key, state.questions));
            state.learnt = Some(learnt);
            return Ok(Step { state, applied });
        }
        if !self.complete(answers) {
            return Ok(Step { state, applied });
        }
        let heard = self.heard(&question, answers)?;
        let mut coins = Coins::at(&self.key, state.questions);
        if let (Some((rate, counts)), Some(climb)) = (climbing, &mut state.climb) {
            let slope =
                self.target.prior_slope(climb.theta()).zip(&heard).map(|(prior, heard)| prior + heard).collect();
            climb.step(slope, rate, counts);
            state.walk = self.beginning(None, state.climb.as_ref(), &mut coins);
            return Ok(Step { state, applied });
        }
        let (draw, next) = match self.kernel.take(&self.target, state.walk, &heard, &mut coins) {
            Taken::On(walk) => return Ok(Step { state: ChainState { walk, ..state }, applied }),
            Taken::At(theta) => (theta, None),
            Taken::Moving(walk) => (walk.theta.clone(), Some(walk)),
        };
        if state.done % self.iterations >= self.warm_up {
            state.summary.add(&draw);
        }
        state.done += 1;
        state.last.clone_from(&draw);
        state.walk = match (state.done % self.iterations, next) {
            (0, _) => self.beginning(state.learnt.as_ref(), state.climb.as_ref(), &mut coins),
            (_, Some(walk)) => walk,
            (_, None) => self.kernel.begin(&self.target, draw, &mut coins),
        };
        Ok(Step { state, applied })
    }

    /// A number or a slope, by the question that is open.
    fn fits(&self, state: &ChainState, client: usize, answer: &GridVector) -> bool {
        match (self.learning(state), &state.learnt) {
            (Some(by), Some(learnt)) => by.fits(learnt, client, answer),
            _ => client < self.scales.len() && answer.units().len() == self.numbers(&self.question(state)),
        }
    }

    /// There is no memory.
    fn settle(&self, (): (), _: &Released<Total>) -> Result<(), PrivacyError> {
        Ok(())
    }

    fn last_draw(&self, state: &ChainState) -> Option<(u64, Vec<f64>)> {
        Some((state.done, state.last.clone()))
    }

    /// The Gaussian with the moments of the draws; the prior before there are enough.
    fn posterior(&self, state: &ChainState) -> Vec<f64> {
        let moments = state.summary.natural(self.problem.family, &self.target.prior.diagonal());
        moments.unwrap_or_else(|| self.problem.prior.0.clone())
    }
}

/// Gradients by the parameters, where they have no deviation.
struct Means<'a>(&'a mut Bounded);

impl Sink for Means<'_> {
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        let values = &values[..values.len() / 2];
        let dense = values.len() - positions.len();
        let places: Vec<u32> = (0..dense as u32).chain(positions.iter().copied()).collect();
        self.0.push_sparse(&places, values)
    }

    fn by_deviations(&self) -> bool {
        false
    }

    fn add_layers(&mut self, layers: &[Layer<'_>], _: &[f64]) -> Result<(), PrivacyError> {
        self.0.push_layers(layers, None)
    }
}
