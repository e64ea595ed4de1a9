//! Linear regression by sufficient statistics: one sum over all clients, noised once, after a round
//! for standard deviations if asked.
//!
//! A linear model with Gaussian noise needs two sums of the rows, Σxxᵀ and Σxy. The server asks for
//! bounded forms of them once and reads the posterior off the noisy answer. Two choices make the
//! method: the [`Rule`], which says what of a row is released and how it is bounded, and the
//! [`StatisticsReading`], which says what is made of the noisy sums.
//!
//! | rule | released | source |
//! |---|---|---|
//! | `row-norm` | outer products of rows scaled down to a norm | `docs/maths/regression.md` |
//! | `plain` | products of values cut to ±c | section 3.2.1 of Heikkilä et al. 2017 |
//! | `projected` | products after projection to fractions of standard deviations | Algorithm 2 of the same |
//! | `inputs` | every row by itself, noised | the baseline of the same |

pub mod rule;
mod settings;

pub use rule::Rule;
pub(crate) use settings::DESCRIPTOR;
pub use settings::{StatisticsReading, StatisticsSettings};

use super::reading::{Noisy, ServedRegression, shrunk_deviations};
use super::{Algorithm, Answer, Answers, Step, misfit, unlike};
use crate::client::Summing;
use crate::release::{Clipped, Release};
use crate::solve::{Problem, RowSums};
use crate::{ClientView, RunError, Stage, Terms, Total, linalg};
use privacy::{Adjacency, Gate, Grain, GridVector, PrivacyError, Released};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Algorithm 2 of Heikkilä et al. 2017, its plain form, input perturbation, and the sum of outer products of clipped rows.
///
/// Its law: the state is a function of the sums that were released. Clients have no memory. Missing
/// answers make a smaller sum, and the number of rows in it is the declared one of those that
/// answered.
#[derive(Debug)]
pub struct Statistics {
    /// What is learnt: a linear model, and a q with full covariance.
    pub problem: Problem,
    /// What of a row is released.
    pub rule: Arc<dyn Rule>,
    /// How noisy statistics are read.
    pub reading: StatisticsReading,
    /// Between which data sets privacy is promised.
    pub adjacency: Adjacency,
    /// What was agreed with each client, round by round.
    pub terms: Vec<Vec<Terms>>,
    /// Who adds up.
    pub summing: Summing,
    /// Declared rows of each client.
    pub rows: Vec<u64>,
    /// Projection thresholds of inputs and outcome, in deviations: found on synthetic data.
    pub thresholds: [f64; 2],
    /// The place of the intercept, if there is one: its mean is not asked for.
    pub intercept: Option<usize>,
}

/// What the server knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StatisticsState {
    /// Deviations of inputs and outcome, as released.
    pub deviations: Option<Vec<f64>>,
    /// What is served, after the last round.
    pub served: Option<ServedRegression>,
    /// Means of inputs and outcome, as released.
    pub means: Option<Vec<f64>>,
}

/// A sum over rows with the noise in it, in the units of what was asked.
struct Heard {
    /// In the units of what was asked.
    sum: Vec<f64>,
    /// Declared rows of the clients that are in it.
    rows: u64,
    /// Deviation of the noise of each number.
    noise: f64,
}

impl Statistics {
    /// d: inputs, the intercept included.
    fn d(&self) -> usize {
        self.problem.family.dimension()
    }

    /// What is asked with these means and deviations.
    ///
    /// About means an intercept keeps its place: it is 1 in every row, and is bounded by that.
    fn question(&self, means: Option<&[f64]>, deviations: Option<&[f64]>) -> RowSums {
        let mut asked = self.rule.asked(deviations, self.thresholds, self.d());
        match (self.rule.means_share().and(self.rule.assumed_bound()), means) {
            (None, _) => asked,
            (Some(bound), None) => RowSums::Totals { bound },
            (Some(_), Some(means)) => {
                if let (RowSums::Products { bounds }, Some(place)) = (&mut asked, self.intercept) {
                    bounds.iter_mut().skip(place).take(1).for_each(|bound| *bound = 1.0);
                }
                RowSums::Centred { centre: means.to_vec(), of: Box::new(asked) }
            }
        }
    }

    /// The round in which this is asked, from 0.
    fn round(&self, asked: &RowSums) -> usize {
        let about_means = usize::from(self.rule.means_share().is_some());
        match asked.apart().1 {
            RowSums::Totals { .. } => 0,
            RowSums::Squares { .. } => about_means,
            _ => about_means + usize::from(self.rule.deviations_share().is_some()),
        }
    }

    /// Means from noisy sums, within the assumed bound; that of an intercept is left at 0.
    fn means(&self, heard: &Heard) -> Vec<f64> {
        let bound = self.rule.assumed_bound().unwrap_or(f64::MAX);
        let mean = |(j, sum): (usize, &f64)| {
            let mean = (sum / heard.rows.max(1) as f64).clamp(-bound, bound);
            if self.intercept == Some(j) { 0.0 } else { mean }
        };
        heard.sum.iter().enumerate().map(mean).collect()
    }

    /// Σxxᵀ packed and Σxy of x = x′ + m, y = y′ + m_y, from those of x′ and y′:
    ///
    /// ```text
    /// Σxⱼxₖ = Σx′ⱼx′ₖ + mⱼΣx′ₖ + mₖΣx′ⱼ + N mⱼmₖ
    /// ```
    ///
    /// Σx′ is among the products with an intercept; without one the means are taken at their word, and it is 0.
    fn moved(&self, products: &mut [f64], with_outcome: &mut [f64], centre: &[f64], rows: u64) {
        let (d, n) = (self.d(), rows as f64);
        let firsts: Vec<f64> = match self.intercept {
            Some(b) => (0..d)
                .map(|j| if j == b { n } else { products[linalg::place(j.max(b), j.min(b))] })
                .chain([with_outcome[b]])
                .collect(),
            None => vec![0.0; d + 1],
        };
        for j in 0..d {
            for k in 0..=j {
                products[linalg::place(j, k)] +=
                    centre[j] * firsts[k] + centre[k] * firsts[j] + n * centre[j] * centre[k];
            }
            with_outcome[j] += centre[d] * firsts[j] + centre[j] * firsts[d] + n * centre[j] * centre[d];
        }
        if let Some(b) = self.intercept {
            products[linalg::place(b, b)] = n;
        }
    }

    /// A total in the units of what was asked, the rows that are in it, and the deviation of its noise.
    ///
    /// Values that lie in an interval were moved to its middle before they were summed
    /// ([`RowSums`]); the middles are added again here, times the public number of rows.
    fn heard(&self, asked: &RowSums, answers: &Answers) -> Result<Heard, RunError> {
        let d = self.d();
        let terms = self.terms.get(self.round(asked)).ok_or_else(misfit)?;
        let (totals, from): (Vec<&GridVector>, Vec<usize>) = match answers {
            Answers::Each(each) => each.iter().map(|(client, answer)| (answer, *client)).unzip(),
            Answers::Sum { total, from } => (vec![total], from.clone()),
        };
        let numbers = asked.numbers(d, 1);
        if totals.iter().any(|total| total.units().len() != numbers) || from.iter().any(|&m| m >= terms.len()) {
            return Err(misfit());
        }
        let rows: u64 = from.iter().map(|&m| self.rows[m]).sum();
        let variance: f64 = match answers {
            Answers::Each(_) => from.iter().map(|&m| terms[m].noise_deviation().powi(2)).sum(),
            Answers::Sum { .. } => {
                terms.first().map_or(0.0, |t| t.noise_deviation().powi(2) * self.summing.times(from.len()))
            }
        };
        let reach = asked.reach(d, self.adjacency);
        let middles = asked.middles(d, self.adjacency);
        let mut sum = vec![0.0; numbers];
        totals.iter().for_each(|total| sum.iter_mut().zip(total.values()).for_each(|(s, v)| *s += v * reach));
        sum.iter_mut().zip(middles).for_each(|(s, middle)| *s += rows as f64 * middle);
        Ok(Heard { sum, rows, noise: reach * variance.sqrt() })
    }

    /// Deviations from noisy sums of squares.
    fn deviations(&self, heard: &Heard) -> Vec<f64> {
        let variances: Vec<f64> = heard.sum.iter().map(|s| s / heard.rows as f64).collect();
        self.rule.deviations(&variances, heard.noise / heard.rows as f64)
    }

    /// The statistics, with what is known of their noise.
    fn noisy(&self, asked: &RowSums, heard: Heard) -> Noisy {
        let d = self.d();
        match asked.apart() {
            (_, RowSums::Outer { scales, radius }) => {
                Noisy::outer(&heard.sum, scales, *radius, heard.rows, heard.noise)
            }
            (centre, _) => {
                let mut products = heard.sum;
                let mut with_outcome = products.split_off(linalg::packed(d));
                if !centre.is_empty() {
                    self.moved(&mut products, &mut with_outcome, centre, heard.rows);
                }
                Noisy::products(products, with_outcome, heard.noise)
            }
        }
    }

    /// Input perturbation: products of rows that were noised one by one.
    fn of_noised_rows(&self, bound: f64, answers: &Answers) -> Result<Noisy, RunError> {
        let (d, Answers::Each(each)) = (self.d(), answers) else { return Err(misfit()) };
        let reach = RowSums::Rows { bound }.reach(d, self.adjacency);
        let (mut products, mut with_outcome) = (vec![0.0; linalg::packed(d)], vec![0.0; d]);
        for (_, answer) in each {
            let values = answer.values();
            if !values.len().is_multiple_of(d + 1) {
                return Err(misfit());
            }
            for z in values.chunks_exact(d + 1) {
                for j in 0..d {
                    let x = reach * z[j];
                    (0..=j).for_each(|k| products[linalg::place(j, k)] += x * reach * z[k]);
                    with_outcome[j] += x * reach * z[d];
                }
            }
        }
        Ok(Noisy::products(products, with_outcome, 0.0))
    }
}

impl Algorithm for Statistics {
    type State = StatisticsState;
    type Query = RowSums;
    type Memory = ();

    fn start(&self) -> StatisticsState {
        StatisticsState::default()
    }

    fn ask(&self, state: &StatisticsState) -> RowSums {
        self.question(state.means.as_deref(), state.deviations.as_deref())
    }

    /// Only what this study's rule asks: its kind and its constants, with any deviations.
    fn check(&self, query: &RowSums, (): &(), seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        let (ones, twos) = (vec![1.0; self.d() + 1], vec![2.0; self.d() + 1]);
        let (centre, asked) = query.apart();
        let means = (!centre.is_empty()).then_some(centre);
        let by = |deviations: Option<&[f64]>| self.question(means, deviations);
        let scaled = by(Some(&ones)) != by(Some(&twos));
        let (first, last) = (by(None), by(Some(&ones)));
        let alike = match (asked, first.apart().1, last.apart().1) {
            (RowSums::Squares { .. } | RowSums::Totals { .. }, first, _) => asked == first,
            (RowSums::Rows { .. }, _, last) => asked == last,
            (RowSums::Products { .. }, _, last @ RowSums::Products { .. }) => scaled || asked == last,
            (RowSums::Outer { radius, .. }, _, RowSums::Outer { radius: own, .. }) => radius == own,
            _ => false,
        };
        // A rule without means has no centre, and one with means asks for nothing else before them.
        let alike =
            alike && means.is_some() == (self.rule.means_share().is_some() && *query != self.question(None, None));
        if !alike || !query.is_sound(self.d()) {
            return Err(unlike("what this study's rule asks, with deviations over 0"));
        }
        let numbers = query.numbers(self.d(), seat.shard.len());
        Release::of_all_rows(Grain::Example, numbers, Clipped::Statistics).check(seat)?;
        query.check_shape(&seat.terms.shape, seat.terms.event.adjacency())
    }

    fn stage(&self, query: &RowSums) -> Option<Stage> {
        let round = self.round(query);
        let opening = u8::try_from(round).ok().filter(|_| round + 1 < self.terms.len());
        Some(opening.map_or(Stage::Main, Stage::Opening))
    }

    fn answer(
        &self,
        query: &Released<RowSums>,
        (): &(),
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<()>, PrivacyError> {
        Ok(Answer { outgoing: query.get().send(self.d(), seat, gate)?, draft: () })
    }

    /// Rounds before the last one give means and standard deviations; the last one gives the served posterior.
    fn fold(&self, mut state: StatisticsState, answers: &Answers) -> Result<Step<StatisticsState>, RunError> {
        let asked = self.ask(&state);
        let applied = answers.noted();
        let noisy = match asked {
            RowSums::Rows { bound } => self.of_noised_rows(bound, answers)?,
            _ => {
                let heard = self.heard(&asked, answers)?;
                match asked.apart().1 {
                    RowSums::Totals { .. } => state.means = Some(self.means(&heard)),
                    RowSums::Squares { .. } => state.deviations = Some(self.deviations(&heard)),
                    _ => state.served = Some(self.noisy(&asked, heard).read(self.reading, &self.problem)?),
                }
                return Ok(Step { state, applied });
            }
        };
        state.served = Some(noisy.read(self.reading, &self.problem)?);
        Ok(Step { state, applied })
    }

    /// As many numbers as were asked for, of a client that the study knows.
    fn fits(&self, state: &StatisticsState, client: usize, answer: &GridVector) -> bool {
        let numbers = answer.units().len();
        client < self.rows.len()
            && match self.ask(state) {
                RowSums::Rows { .. } => numbers.is_multiple_of(self.d() + 1),
                asked => numbers == asked.numbers(self.d(), 1),
            }
    }

    fn settle(&self, (): (), _: &Released<Total>) -> Result<(), PrivacyError> {
        Ok(())
    }

    fn posterior(&self, state: &StatisticsState) -> Vec<f64> {
        state.served.as_ref().map_or_else(|| self.problem.prior.0.clone(), |served| served.natural.clone())
    }

    fn outcome_variance(&self, state: &StatisticsState) -> Option<f64> {
        state.served.as_ref().and_then(|served| served.variance)
    }
}
