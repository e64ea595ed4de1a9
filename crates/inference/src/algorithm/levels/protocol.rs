//! The protocol of noise-aware inference by levels: what is asked, what a site answers, and what the server reads.

use super::belief::InputBelief;
use super::classes::{ClassLogits, ClassPoint, ClassReadout, ClassScratch, class_clip};
use super::design::{InputDesign, LEVELS};
use super::gaps::ReadoutGaps;
use super::looks::{CentredInputs, FirstLook, InputSummary, LevelPoint, SparseEntries};
use super::question::{AskedInputs, LevelsQuestion};
use super::readout::{DRAWS, Evidence, LevelPosterior, LevelReadout, NextLevel};
use super::settings::{ServedPrior, first_look_numbers};
use crate::algorithm::{Algorithm, Answer, Answers, Step, encode, misfit, unlike};
use crate::client::Summing;
use crate::linalg::{cholesky, inverse, isometric_weights, packed};
use crate::method::Parts;
use crate::release::Releases;
use crate::solve::Problem;
use crate::warning::Warning;
use crate::{ClientView, Gaussian, PriorTerm, RunError, Stage, Terms, Total, UnitBatch};
use privacy::{Adjacency, Bounded, Gate, GridVector, PrivacyError, Released};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Rounds before the levels.
const LOOKS: usize = 2;

/// Noise-aware logistic regression by levels (`docs/maths/levels.md`).
///
/// Nothing is remembered at a site. The state holds what was released, so that everything served is post-processing of it.
#[derive(Debug)]
pub struct NoiseAwareLevels {
    problem: Problem,
    /// What every round releases.
    releases: Releases,
    design: InputDesign,
    prior: ServedPrior,
    outcomes: LevelOutcomes,
    adjacency: Adjacency,
    /// Deviation of the noise in a release of each client, by stage.
    deviations: Vec<Vec<f64>>,
    summing: Summing,
    /// Declared rows of each client; persons, where these are the unit.
    rows: Vec<u64>,
}

/// What the outcomes of a run are.
#[derive(Debug)]
pub(super) enum LevelOutcomes {
    /// 0 and 1.
    Two,
    /// The numbers of K classes, from 0.
    Classes(ClassLogits),
}

/// The sum of one round over all rows, and the deviation of its noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HeardSum {
    values: Vec<f64>,
    deviation: f64,
}

/// The server's state: a function of releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelsState {
    /// The two looks.
    looks: Vec<HeardSum>,
    /// The levels.
    evidence: Evidence,
    /// Where the next level is asked.
    next: NextLevel,
    /// Natural parameters of what is served.
    served: Vec<f64>,
    /// What of the releases could not be read.
    gaps: ReadoutGaps,
}

impl LevelsState {
    /// Rounds so far.
    fn rounds(&self) -> usize {
        self.looks.len() + self.evidence.len()
    }

    /// A digest of all releases, which seeds draws.
    fn digest(&self) -> Option<[u8; 32]> {
        let released = encode(&(&self.looks, &self.evidence), "releases").ok()?;
        Some(Sha256::digest(released).into())
    }
}

impl NoiseAwareLevels {
    /// For what was agreed with each client.
    pub(super) fn new(
        releases: Releases,
        design: InputDesign,
        prior: ServedPrior,
        outcomes: LevelOutcomes,
        parts: &Parts<'_>,
    ) -> Self {
        let of = |(openings, terms): (&Vec<crate::Opening>, &Terms)| {
            let stages = openings.iter().map(|opening| &opening.terms).chain([terms]);
            stages.map(Terms::noise_deviation).collect()
        };
        Self {
            problem: parts.problem.clone(),
            releases,
            design,
            prior,
            outcomes,
            adjacency: parts.adjacency,
            deviations: parts.openings.iter().zip(parts.terms).map(of).collect(),
            summing: parts.summing,
            rows: parts.rows.to_vec(),
        }
    }

    /// The stated prior.
    fn prior_term(&self) -> Option<PriorTerm> {
        PriorTerm::of(&self.problem.family.gaussian(&self.problem.prior.0)?)
    }

    fn dimension(&self) -> usize {
        self.design.width()
    }

    /// Coordinates of a level's score: d for each contrast of the outcomes.
    fn scores(&self) -> usize {
        match &self.outcomes {
            LevelOutcomes::Two => self.dimension(),
            LevelOutcomes::Classes(logits) => self.dimension() * logits.contrasts.count(),
        }
    }

    /// C of a level.
    fn clip(&self, inputs: &CentredInputs, level: usize) -> f64 {
        match &self.outcomes {
            LevelOutcomes::Two => inputs.clip(level),
            LevelOutcomes::Classes(logits) => class_clip(inputs, logits.contrasts.classes(), level),
        }
    }

    /// n: declared rows of all clients; persons, each of whom counts as one row, where these are the unit.
    fn all_rows(&self) -> f64 {
        self.rows.iter().sum::<u64>() as f64
    }

    /// Numbers that a round releases.
    fn numbers(&self, stage: usize) -> usize {
        match stage {
            0 => first_look_numbers(self.dimension()),
            1 => packed(self.dimension()),
            _ => self.scores() + 1,
        }
    }

    /// The sum of a round over all rows. Where clients did not answer, the rows that are missing are taken to be like the others.
    fn total(&self, stage: usize, answers: &Answers) -> Result<HeardSum, RunError> {
        let noise =
            |client: usize| self.deviations.get(client).and_then(|of| of.get(stage)).copied().ok_or_else(misfit);
        let mut values = vec![0.0; self.numbers(stage)];
        let mut add = |release: &GridVector| {
            let sums = release.values();
            let fits = sums.len() == values.len();
            values.iter_mut().zip(&sums).for_each(|(value, sum)| *value += sum);
            if fits { Ok(()) } else { Err(misfit()) }
        };
        let (mut variance, mut rows) = (0.0, 0.0);
        let of = |client: usize| self.rows.get(client).map(|rows| *rows as f64).ok_or_else(misfit);
        match answers {
            Answers::Each(each) => {
                for (client, release) in each {
                    add(release)?;
                    variance += noise(*client)?.powi(2);
                    rows += of(*client)?;
                }
            }
            Answers::Sum { total, from } => {
                add(total)?;
                variance = noise(0)?.powi(2) * self.summing.times(from.len());
                rows = from.iter().map(|client| of(*client)).sum::<Result<f64, _>>()?;
            }
        }
        if rows <= 0.0 {
            return Err(misfit());
        }
        let missing = self.all_rows() / rows;
        values.iter_mut().for_each(|value| *value *= missing);
        Ok(HeardSum { values, deviation: missing * variance.sqrt() })
    }

    /// What the first look says, and the coordinates that follow from it.
    fn inputs(&self, state: &LevelsState) -> Option<(InputSummary, CentredInputs)> {
        let (look, first) = (FirstLook::new(&self.design, self.adjacency), state.looks.first()?);
        let summary = look.read(first.values.get(..look.bound().length)?, first.deviation, self.all_rows())?;
        let centred = summary.centred();
        Some((summary, centred))
    }

    /// The next point, and what is served, from all levels so far. None if no posterior follows from them.
    fn read(&self, state: &mut LevelsState) -> Option<()> {
        let (summary, inputs) = self.inputs(state)?;
        let second = state.looks.get(1)?;
        let belief = InputBelief::new(&summary, &inputs, &second.values, second.deviation)?;
        let prior = self.prior_term()?;
        if let LevelOutcomes::Classes(logits) = &self.outcomes {
            let (diagonal, d) = (prior.diagonal(), self.dimension());
            let prior = diagonal.get(..d)?;
            let readout = ClassReadout { design: &self.design, inputs: &inputs, belief: &belief, prior, logits };
            return self.read_classes(state, &readout);
        }
        let readout = LevelReadout { design: &self.design, inputs: &inputs, belief: &belief, prior: &prior };
        if state.evidence.len() < LEVELS {
            let (next, solution) = readout.advance(&state.evidence, &state.next)?;
            state.served = self.natural(&readout.uncentred(&solution))?;
            state.next = next;
            return Some(());
        }
        let draws = belief.draws(state.digest()?, DRAWS);
        let (stated, fitted) = readout.posteriors(&state.evidence, &state.next.point, &draws)?;
        let served = match self.prior {
            ServedPrior::Stated => stated,
            ServedPrior::Fitted => fitted,
        };
        state.served = self.natural(&served)?;
        state.gaps.draws = DRAWS - served.draws;
        Some(())
    }

    /// The same for several classes.
    fn read_classes(&self, state: &mut LevelsState, readout: &ClassReadout<'_>) -> Option<()> {
        let served = if state.evidence.len() < LEVELS {
            let (next, served) = readout.advance(&state.evidence, &state.next)?;
            state.next = next;
            served
        } else {
            let draws = readout.belief.draws(state.digest()?, DRAWS);
            let served = readout.posterior(&state.evidence, &state.next.point, &draws, self.prior)?;
            state.gaps.draws = DRAWS - served.draws;
            served
        };
        let q = Gaussian::from_precision(served.mean, &served.precision)?;
        state.served = self.problem.family.natural(&q);
        Some(())
    }

    fn natural(&self, posterior: &LevelPosterior) -> Option<Vec<f64>> {
        let d = posterior.mean.len();
        let precision = inverse(&cholesky(&posterior.covariance, d)?, d);
        let q = Gaussian::from_precision(posterior.mean.clone(), &precision)?;
        Some(self.problem.family.natural(&q))
    }

    /// The sum that a question asks for: one vector for each row, or the mean of those of a person's rows.
    ///
    /// A mean of vectors is no longer than the longest of them, has no negative coordinate if they have none, and is positive
    /// semi-definite if they are: the bounds are those of rows, and the mean weight of a unit is its row's.
    fn sum(
        &self,
        question: &LevelsQuestion,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Bounded, PrivacyError> {
        let rows = seat.shard.rows();
        let mut units = UnitBatch::default();
        seat.draw(gate, &mut units)?;
        let (shape, d) = (*gate.shape(), self.dimension());
        let replaced = self.adjacency == Adjacency::Substitute;
        let mut sum = match question {
            LevelsQuestion::FirstLook if replaced => units.non_negative_sum(shape)?,
            LevelsQuestion::SecondLook(_) if replaced => units.outer_products(shape)?,
            _ => units.sum(shape)?,
        };
        let weighed = units.each().flat_map(|own| own.iter().map(|&row| (row, 1.0 / own.len() as f64)));
        match question {
            LevelsQuestion::FirstLook => {
                let (look, mut entries) = (FirstLook::new(&self.design, self.adjacency), SparseEntries::default());
                for (i, weight) in weighed {
                    look.row(&rows.row(i), &mut entries);
                    entries.values.iter_mut().for_each(|value| *value *= weight);
                    sum.push_sparse(&entries.positions, &entries.values)?;
                }
            }
            LevelsQuestion::SecondLook(asked) => {
                let (inputs, mut row) = (asked.inputs(), vec![0.0; d]);
                for (i, weight) in weighed {
                    inputs.second_look_row(&rows.row(i), &mut row);
                    row.iter_mut().for_each(|value| *value *= weight.sqrt());
                    match replaced {
                        true => sum.push_outer(&row)?,
                        false => sum.push(&packed_product(&row))?,
                    }
                }
            }
            LevelsQuestion::Level { level, inputs, theta } => {
                let (inputs, mut row) = (&inputs.inputs(), vec![0.0; self.scores() + 1]);
                let (clip, mut scratch) = (self.clip(inputs, usize::from(*level)), ClassScratch::default());
                for (i, weight) in weighed {
                    match &self.outcomes {
                        LevelOutcomes::Two => LevelPoint { inputs, theta, clip }.row(&rows.row(i), &mut row),
                        LevelOutcomes::Classes(logits) => {
                            let point = ClassPoint { inputs, contrasts: &logits.contrasts, theta, clip };
                            point.row(&rows.row(i), &mut scratch, &mut row);
                        }
                    }
                    row.iter_mut().for_each(|value| *value *= weight);
                    sum.push(&row)?;
                }
            }
        }
        Ok(sum)
    }
}

/// xxᵀ in isometric packing.
fn packed_product(x: &[f64]) -> Vec<f64> {
    let entries = (0..x.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
    entries.zip(isometric_weights(x.len())).map(|((i, j), weight)| weight * x[i] * x[j]).collect()
}

impl Algorithm for NoiseAwareLevels {
    type State = LevelsState;
    type Query = LevelsQuestion;
    type Memory = ();

    fn start(&self) -> LevelsState {
        let mut precision = self.prior_term().map_or_else(Vec::new, |prior| prior.diagonal());
        precision.truncate(self.dimension());
        LevelsState {
            looks: Vec::new(),
            evidence: Evidence::of_shortened_rows(),
            next: NextLevel { point: vec![0.0; self.scores()], precision },
            served: self.problem.prior.0.clone(),
            gaps: ReadoutGaps::default(),
        }
    }

    fn ask(&self, state: &LevelsState) -> LevelsQuestion {
        let inputs = self.inputs(state).map(|(_, inputs)| inputs);
        match (state.looks.len(), inputs) {
            (1, Some(inputs)) => LevelsQuestion::SecondLook(AskedInputs::of(&inputs)),
            (LOOKS, Some(inputs)) => LevelsQuestion::Level {
                level: state.evidence.len().min(LEVELS - 1) as u8,
                theta: state.next.point.chunks(self.dimension()).flat_map(|one| inputs.uncentred(one)).collect(),
                inputs: AskedInputs::of(&inputs),
            },
            _ => LevelsQuestion::FirstLook,
        }
    }

    fn stage(&self, query: &LevelsQuestion) -> Option<Stage> {
        Some(match query {
            LevelsQuestion::FirstLook => Stage::Opening(0),
            LevelsQuestion::SecondLook(_) => Stage::Opening(1),
            LevelsQuestion::Level { level, .. } if usize::from(*level) + 1 < LEVELS => Stage::Opening(level + 2),
            LevelsQuestion::Level { .. } => Stage::Main,
        })
    }

    fn check(&self, query: &LevelsQuestion, (): &(), seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        let d = self.dimension();
        let sound = match query {
            LevelsQuestion::FirstLook => true,
            LevelsQuestion::SecondLook(inputs) => inputs.is_sound(d),
            LevelsQuestion::Level { level, inputs, theta } => {
                let point = theta.len() == self.scores() && theta.iter().all(|t| t.is_finite());
                point && inputs.is_sound(d) && usize::from(*level) < LEVELS
            }
        };
        if !sound {
            return Err(unlike("a look, or one of the levels with finite centres, scales over 0 and a finite point"));
        }
        self.releases.check(seat)?;
        match (query, self.adjacency) {
            (LevelsQuestion::SecondLook(_), Adjacency::Substitute) => Bounded::check_outer_products(&seat.terms.shape),
            _ => Ok(()),
        }
    }

    fn answer(
        &self,
        query: &Released<LevelsQuestion>,
        (): &(),
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<()>, PrivacyError> {
        let sum = self.sum(query.get(), seat, gate)?;
        Ok(Answer { outgoing: gate.send(&sum)?, draft: () })
    }

    fn fold(&self, mut state: LevelsState, answers: &Answers) -> Result<Step<LevelsState>, RunError> {
        let heard = self.total(state.rounds(), answers)?;
        match state.looks.len() {
            LOOKS => {
                let inputs = self.inputs(&state).map(|(_, inputs)| inputs).ok_or_else(misfit)?;
                let (point, sum) = (&state.next.point, &heard.values);
                let clip = self.clip(&inputs, state.evidence.len());
                let added = state.evidence.add_clipped(&inputs, self.all_rows(), point, sum, heard.deviation, clip);
                added.ok_or_else(misfit)?;
                // A level that cannot be read stays evidence: the next one is asked at the same point, and read with it.
                if self.read(&mut state).is_none() {
                    state.gaps.levels.push(state.evidence.len() - 1);
                }
            }
            _ => state.looks.push(heard),
        }
        let applied = match answers {
            // A receipt says that an answer was kept, and nothing else.
            Answers::Each(each) => each.iter().map(|(_, answer)| Total::zeros(0, answer.grid())).collect(),
            Answers::Sum { total, .. } => vec![Total::zeros(0, total.grid())],
        };
        Ok(Step { state, applied })
    }

    fn fits(&self, state: &LevelsState, client: usize, answer: &GridVector) -> bool {
        client < self.rows.len() && answer.units().len() == self.numbers(state.rounds())
    }

    fn settle(&self, (): (), _: &Released<Total>) -> Result<(), PrivacyError> {
        Ok(())
    }

    fn posterior(&self, state: &LevelsState) -> Vec<f64> {
        state.served.clone()
    }

    fn warning(&self, state: &LevelsState) -> Option<Warning> {
        state.gaps.warning()
    }
}
