//! The posterior that levels may be expected to give, before there are rows: the method's own readout of what typical rows would
//! release on average, with the noise of the plan.
//!
//! Typical are independent inputs: numbers of variance 1, which is what the schema's scale is for, levels that are equally frequent,
//! flags in a tenth of the rows. Where nothing else is stated there are no effects, and both outcomes are equally frequent.
//!
//! A stage with share φ of μ² and sensitivity Δ has noise of standard deviation Δ√m/(μ√φ), with m the sources of noise. Level k is
//! divided by the mean weight κ_k, so that n_k = (C_k Δ√m/(s κ_k μ√φ_k))² in units of the score. With 1/ν = Σ 1/n_k the posterior
//! precision is P = P₀ + H(1.15 H + ν)⁻¹H, and H = n·Ef·S without effects (`solve.rs`). Sums are those of some typical rows, shortened
//! as rows are, times n over their number; labels are replaced by their probabilities. Level 0 is asked at 0, and each later one a
//! standard deviation away from the coefficients, which is about where noise leaves it: the readout charges that distance with the
//! error of its input model. What the looks leave unknown of the inputs' covariance is integrated as in a run.

use super::belief::InputBelief;
use super::design::{InputDesign, LEVELS, LevelPlan, PublicNumbers, SumBound, level_bound, second_look_bound};
use super::looks::{CentredInputs, FirstLook, LevelPoint, SparseEntries};
use super::readout::{DRAWS, Evidence, LevelReadout, NextLevel};
use super::settings::{LevelsSettings, ServedPrior};
use super::solve::Solution;
use crate::draws::standard_normals;
use crate::expected::{ExpectedPosterior, ExpectedStudy};
use crate::linalg::place;
use crate::plan::gaussian_mu;
use crate::settings::Noise;
use crate::{PriorTerm, Row};
use chacha20::ChaCha8Rng;
use privacy::Adjacency;
use rand_core::{Rng, SeedableRng};
use std::f64::consts::SQRT_2;

/// Share of the rows in which a flag is set.
const FLAGGED: f64 = 0.1;
/// Pairs of typical rows, of which one has the other's numbers with opposite signs.
const PAIRS: usize = 1024;
/// More coefficients than this are not forecast: it would take longer than a plan should.
const MOST_COEFFICIENTS: usize = 150;
/// Seeds typical rows and draws: a forecast is the same for all.
const SEED: [u8; 32] = [17; 32];

/// The posterior to expect under the stated prior. None for a fitted prior, whose intervals are not shown, for a noise multiplier
/// that was given, and for more than 150 coefficients.
pub(super) fn expected(settings: &LevelsSettings, study: &ExpectedStudy<'_>) -> Option<ExpectedPosterior> {
    let (promise, public) = (study.promise, study.public);
    let design = InputDesign::of_layout(&public.inputs).filter(|design| design.width() <= MOST_COEFFICIENTS)?;
    if settings.prior == ServedPrior::Fitted || promise.noise != Noise::Calibrated {
        return None;
    }
    let summing = crate::build::summing(study.method, public.rows.len()).ok()?;
    let sources = public.sources(promise) * summing.times(public.rows.len());
    let numbers = PublicNumbers {
        rows: public.all_rows(),
        sources,
        mu: gaussian_mu(promise, &study.method.sites, &public.rows)?,
    };
    let own = study.method.promise.as_ref().is_some_and(|own| own.epsilon == promise.epsilon);
    let first = if own { settings.first_share } else { LevelPlan::first_of(&design, numbers) };
    let forecast =
        LevelForecast { design: &design, numbers, plan: LevelPlan::with_first(first), adjacency: promise.adjacency };
    let precisions = vec![study.prior_precision; design.width()];
    let prior = PriorTerm::independent(vec![0.0; design.width()], precisions)?;
    let covariance = forecast.covariance(&prior, study.coefficients)?;
    Some(ExpectedPosterior { covariance, width: design.width(), prior_precision: study.prior_precision })
}

/// A design with public numbers and a plan.
struct LevelForecast<'a> {
    design: &'a InputDesign,
    numbers: PublicNumbers,
    plan: LevelPlan,
    adjacency: Adjacency,
}

impl LevelForecast<'_> {
    /// Δ√m/(μ√φ).
    fn deviation(&self, bound: &SumBound, share: f64) -> f64 {
        let PublicNumbers { sources, mu, .. } = self.numbers;
        bound.sensitivity(self.adjacency) * sources.sqrt() / (mu * share.sqrt())
    }

    /// Σ of the coefficients of x, packed.
    fn covariance(&self, prior: &PriorTerm, coefficients: Option<&[f64]>) -> Option<Vec<f64>> {
        let (d, rows) = (self.design.width(), TypicalRows::new(self.design));
        let truth = coefficients.map_or_else(|| vec![0.0; d], <[f64]>::to_vec);
        if truth.len() != d {
            return None;
        }
        let (inputs, belief) = self.looks(&rows)?;
        let mut centred = truth.clone();
        centred[d - 1] += inputs.centre().iter().zip(&truth).map(|(m, t)| m * t).sum::<f64>();
        let readout = LevelReadout { design: self.design, inputs: &inputs, belief: &belief, prior };
        let (mut evidence, mut next) = (Evidence::of_shortened_rows(), readout.start());
        for level in 0..LEVELS {
            let theta = inputs.uncentred(&next.point);
            let asked = LevelPoint { inputs: &inputs, theta: &theta, clip: inputs.clip(level) };
            let sum = self.scaled(rows.scores(&asked, &truth));
            let noise = self.deviation(&level_bound(self.design), self.plan.levels[level]);
            evidence.add(&inputs, self.numbers.rows, &next.point, &sum, noise)?;
            let (after, solution) = readout.advance(&evidence, &next)?;
            next = NextLevel { point: typically_off(&centred, &solution, level), ..after };
        }
        let (solution, _) = readout.integrated(&evidence, &prior.diagonal(), &centred, &belief.draws(SEED, DRAWS))?;
        Some(readout.uncentred(&solution).covariance)
    }

    /// What both looks say of typical rows.
    fn looks(&self, rows: &TypicalRows) -> Option<(CentredInputs, InputBelief)> {
        let look = FirstLook::new(self.design, self.adjacency);
        let (mut sum, mut entries) = (vec![0.0; look.bound().length], SparseEntries::default());
        for row in rows.iter() {
            look.row(&row, &mut entries);
            entries.positions.iter().zip(&entries.values).for_each(|(place, value)| sum[*place as usize] += value);
        }
        let noise = self.deviation(&look.bound(), self.plan.first_look);
        let summary = look.read(&self.scaled(sum), noise, self.numbers.rows)?;
        let (inputs, bound, d) = (summary.centred(), second_look_bound(self.design), self.design.width());
        let (mut sum, mut y) = (vec![0.0; bound.length], vec![0.0; d]);
        for row in rows.iter() {
            inputs.second_look_row(&row, &mut y);
            for i in 0..d {
                let line = &mut sum[place(i, 0)..=place(i, i)];
                line.iter_mut().zip(&y).for_each(|(sum, other)| *sum += y[i] * other);
            }
        }
        let noise = self.deviation(&bound, self.plan.second_look);
        let belief = InputBelief::new(&summary, &inputs, &self.scaled(sum), noise)?;
        Some((inputs, belief))
    }

    /// A sum over typical rows as one over n rows.
    fn scaled(&self, mut sum: Vec<f64>) -> Vec<f64> {
        let times = self.numbers.rows / (2 * PAIRS) as f64;
        sum.iter_mut().for_each(|value| *value *= times);
        sum
    }
}

/// Rows of a typical design.
struct TypicalRows {
    rows: Vec<(Vec<f64>, Vec<u32>)>,
}

impl TypicalRows {
    /// Normal numbers in pairs of opposite signs, so that their means are 0. The levels of a category and a flag follow a sequence
    /// i·a mod 1 with an a of its own, so that all frequencies are right.
    fn new(design: &InputDesign) -> Self {
        let mut rng = ChaCha8Rng::from_seed(SEED);
        let mut turns =
            |count: usize| -> Vec<f64> { (0..count).map(|_| (rng.next_u64() >> 11) as f64 * 2f64.powi(-53)).collect() };
        let (of_flags, of_blocks) = (turns(design.flags().len()), turns(design.blocks().len()));
        let at = |row: usize, turn: f64| (row as f64 * (turn + SQRT_2)).fract();
        let (mut rows, mut numbers) = (Vec::with_capacity(2 * PAIRS), vec![0.0; design.numbers()]);
        for row in 0..2 * PAIRS {
            match row.is_multiple_of(2) {
                true => standard_normals(&mut rng, &mut numbers),
                false => numbers.iter_mut().for_each(|x| *x = -*x),
            }
            let flags = design.flags().iter().zip(&of_flags).filter(|(_, turn)| at(row, **turn) < FLAGGED);
            let flags = flags.map(|(flag, _)| *flag);
            let level =
                |block: &std::ops::Range<usize>, turn: f64| block.start + (at(row, turn) * block.len() as f64) as usize;
            let levels = design.blocks().iter().zip(&of_blocks).map(|(block, turn)| level(block, *turn));
            let mut ones: Vec<u32> = flags.chain(levels).chain([design.inputs()]).map(|place| place as u32).collect();
            ones.sort_unstable();
            rows.push((numbers.clone(), ones));
        }
        Self { rows }
    }

    fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(numbers, ones)| Row { numbers, ones, outcome: 0.0 })
    }

    /// The sum of a level, expected over labels that follow these coefficients.
    fn scores(&self, asked: &LevelPoint<'_>, truth: &[f64]) -> Vec<f64> {
        let (mut sum, mut one) = (vec![0.0; truth.len() + 1], vec![0.0; truth.len() + 1]);
        for row in self.iter() {
            let probability = 1.0 / (1.0 + libm::exp(-row.dot(truth)));
            for (outcome, weight) in [(1.0, probability), (0.0, 1.0 - probability)] {
                asked.row(&Row { outcome, ..row }, &mut one);
                sum.iter_mut().zip(&one).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        sum
    }
}

/// θ, with each coordinate off by its standard deviation so far: where noise typically leaves the point of the next level. Signs
/// alternate, so that no direction is favoured.
fn typically_off(theta: &[f64], solution: &Solution, level: usize) -> Vec<f64> {
    let sign = |j: usize| if (j + level).is_multiple_of(2) { 1.0 } else { -1.0 };
    let off = |j: usize| sign(j) * solution.covariance[place(j, j)].max(0.0).sqrt();
    theta.iter().enumerate().map(|(j, t)| t + off(j)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MU: f64 = 0.27;

    fn deviations(design: &InputDesign, rows: f64, mu: f64, theta: Option<&[f64]>) -> Vec<f64> {
        let numbers = PublicNumbers { rows, sources: 1.0, mu };
        let plan = LevelPlan::with_first(LevelPlan::first_of(design, numbers));
        let forecast = LevelForecast { design, numbers, plan, adjacency: Adjacency::Substitute };
        let covariance = forecast.covariance(&PriorTerm::about_zero(vec![1.0; design.width()]), theta).unwrap();
        (0..design.width()).map(|j| covariance[place(j, j)].sqrt()).collect()
    }

    /// P = P₀ + H(1.15 H + ν)⁻¹H by hand, for numbers alone: H = n/4 on the diagonal.
    #[test]
    fn without_noise_the_rows_are_left_and_with_noise_the_prior() {
        let design = InputDesign::new(4, vec![], vec![]).unwrap();
        for (j, s) in deviations(&design, 1e4, 1e6, None).iter().enumerate() {
            let rows_alone = 1.0 / f64::sqrt(1.0 + 0.25e4 / 1.15);
            // Long rows are shortened in both looks, so that numbers seem to vary less than they do.
            assert!((0.98..1.3).contains(&(s / rows_alone)), "{j}: {s} {rows_alone}");
        }
        assert!(deviations(&design, 50.0, 1e-4, None).iter().all(|s| (s - 1.0).abs() < 0.02));
    }

    #[test]
    fn more_rows_and_a_larger_budget_narrow_all_intervals() {
        let design = InputDesign::new(2, vec![2], vec![3..6, 6..8]).unwrap();
        let base = deviations(&design, 2e3, MU, None);
        for other in [deviations(&design, 1e4, MU, None), deviations(&design, 2e3, 4.0 * MU, None)] {
            assert!(other.iter().zip(&base).all(|(new, old)| new < old), "{other:?} {base:?}");
        }
        // A rare outcome says less.
        let mut rare = vec![0.0; 9];
        rare[8] = -3.0;
        let rare = deviations(&design, 1e5, 1.0, Some(&rare));
        assert!(rare[0] > 1.3 * deviations(&design, 1e5, 1.0, None)[0], "{rare:?}");
        assert_eq!(rare, deviations(&design, 1e5, 1.0, Some(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -3.0])));
    }
}
