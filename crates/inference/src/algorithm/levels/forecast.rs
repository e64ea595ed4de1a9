//! The posterior that levels may be expected to give, before there are rows: the method's own readout of what a typical design
//! would release on average, with the noise of the plan.
//!
//! Typical are independent inputs: numbers of variance 1, which is what the schema's scale is for, levels that are equally frequent,
//! flags in a tenth of the rows. Where nothing else is stated there are no effects, and both outcomes are equally frequent.
//!
//! A stage with share φ of μ² and sensitivity Δ has noise of standard deviation Δ√m/(μ√φ), with m the sources of noise. Level k is
//! divided by the mean weight κ_k, so that n_k = (C_k Δ√m/(s κ_k μ√φ_k))² in units of the score. With 1/ν = Σ 1/n_k the posterior
//! precision is P = P₀ + H(1.15 H + ν)⁻¹H, and H = n·Ef·S without effects (`solve.rs`). What the looks leave unknown of the
//! inputs' covariance is integrated as in a run. Level 0 is asked at 0, the others at the coefficients to which they move.

use super::belief::InputBelief;
use super::design::{InputDesign, LEVELS, LevelPlan, PublicNumbers, SumBound, WEIGHT, level_bound, second_look_bound};
use super::looks::{CentredInputs, FirstLook, InputSummary};
use super::readout::{DRAWS, Evidence, LevelReadout};
use super::settings::{LevelsSettings, ServedPrior};
use crate::draws::standard_normals;
use crate::expected::{ExpectedPosterior, ExpectedStudy};
use crate::linalg::place;
use crate::plan::gaussian_mu;
use crate::settings::Noise;
use chacha20::ChaCha8Rng;
use privacy::Adjacency;
use rand_core::{Rng, SeedableRng};

/// Share of the rows in which a flag is set.
const FLAGGED: f64 = 0.1;
/// Typical rows over which weights are averaged.
const ROWS: usize = 512;
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
    let numbers = PublicNumbers { rows: public.all_rows(), sources, mu: gaussian_mu(promise, &public.rows)? };
    let own = study.method.promise.as_ref().is_some_and(|own| own.epsilon == promise.epsilon);
    let first = if own { settings.first_share } else { LevelPlan::first_of(&design, numbers) };
    let typical = TypicalDesign::new(&design, numbers, LevelPlan::with_first(first), promise.adjacency)?;
    let prior = vec![study.prior_precision; design.width()];
    let covariance = typical.covariance(&prior, study.coefficients)?;
    Some(ExpectedPosterior { covariance, width: design.width(), prior_precision: study.prior_precision })
}

/// A typical design with the noise of a plan, and what the looks say of it.
struct TypicalDesign<'a> {
    design: &'a InputDesign,
    numbers: PublicNumbers,
    plan: LevelPlan,
    adjacency: Adjacency,
    inputs: CentredInputs,
    belief: InputBelief,
}

impl<'a> TypicalDesign<'a> {
    fn new(design: &'a InputDesign, numbers: PublicNumbers, plan: LevelPlan, adjacency: Adjacency) -> Option<Self> {
        let look = FirstLook::new(design, adjacency);
        let deviation = deviation(&look.bound(), adjacency, numbers, plan.first_look);
        let read = look.read(&vec![0.0; look.bound().length], deviation, numbers.rows)?;
        let variances = vec![1.0; design.numbers()];
        let summary = InputSummary { centre: centre(design), variances, ..read };
        let inputs = summary.centred();
        let (bound, d, rho) = (second_look_bound(design), design.width(), inputs.expected_norm());
        // Rows of the expected norm ρ are shortened to it: n·(s∘z)(s∘z)ᵀ/ρ² on average.
        let (variances, mut sum) = (typical_variances(design), vec![0.0; bound.length]);
        let s = inputs.scales();
        (0..d).for_each(|j| sum[place(j, j)] = numbers.rows * s[j] * s[j] * variances[j] / (rho * rho));
        for block in design.blocks() {
            let f = 1.0 / block.len() as f64;
            let pairs = block.clone().flat_map(|i| (block.start..i).map(move |j| (i, j)));
            pairs.for_each(|(i, j)| sum[place(i, j)] = -numbers.rows * s[i] * s[j] * f * f / (rho * rho));
        }
        let noise = self::deviation(&bound, adjacency, numbers, plan.second_look);
        let belief = InputBelief::new(&summary, &inputs, &sum, noise)?;
        Some(Self { design, numbers, plan, adjacency, inputs, belief })
    }

    /// Σ of the coefficients of x, packed.
    fn covariance(&self, prior: &[f64], coefficients: Option<&[f64]>) -> Option<Vec<f64>> {
        let d = self.design.width();
        let mut theta = coefficients.map_or_else(|| vec![0.0; d], <[f64]>::to_vec);
        if theta.len() != d {
            return None;
        }
        // In centred coordinates the intercept takes Σ m̂ⱼθⱼ.
        theta[d - 1] += self.inputs.centre().iter().zip(&theta).map(|(m, t)| m * t).sum::<f64>();
        let moments = self.belief.mean();
        let (rows, there) = (self.numbers.rows, moments.at(&theta).score());
        let (typical, mut evidence) = (self.typical_rows(), Evidence::default());
        for level in 0..LEVELS {
            let point = if level == 0 { vec![0.0; d] } else { theta.clone() };
            let (clip, here) = (self.inputs.clip(level), moments.at(&point).score());
            let weight = self.mean_weight(&typical, &point, clip);
            let score = there.iter().zip(&here).zip(self.inputs.scales());
            let mut sum: Vec<f64> = score.map(|((t, g), s)| weight * (t - g) * s / clip).collect();
            sum.push(WEIGHT * rows * (weight - 0.5));
            let noise = deviation(&level_bound(self.design), self.adjacency, self.numbers, self.plan.levels[level]);
            evidence.add(&self.inputs, rows, &point, &sum, noise)?;
        }
        let readout = LevelReadout { design: self.design, inputs: &self.inputs, belief: &self.belief, prior };
        let (solution, _) = readout.integrated(&evidence, prior, &theta, &self.belief.draws(SEED, DRAWS))?;
        Some(readout.uncentred(&solution).covariance)
    }

    /// z of some typical rows.
    fn typical_rows(&self) -> Vec<Vec<f64>> {
        let mut rng = ChaCha8Rng::from_seed(SEED);
        let centre = self.inputs.centre();
        let row = |_| {
            let mut z: Vec<f64> = centre.iter().map(|m| -m).chain([1.0]).collect();
            standard_normals(&mut rng, &mut z[..self.design.numbers()]);
            let mut uniform = || (rng.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0;
            self.design.flags().iter().for_each(|&j| z[j] += f64::from(u8::from(uniform() < FLAGGED)));
            for block in self.design.blocks() {
                z[block.start + (uniform() * block.len() as f64) as usize] += 1.0;
            }
            z
        };
        (0..ROWS).map(row).collect()
    }

    /// κ: mean of c = min(1, C/(‖s∘z‖·max(σ, 1 − σ))) over typical rows.
    fn mean_weight(&self, rows: &[Vec<f64>], point: &[f64], clip: f64) -> f64 {
        let weight = |z: &Vec<f64>| {
            let norm = z.iter().zip(self.inputs.scales()).map(|(z, s)| (z * s) * (z * s)).sum::<f64>().sqrt();
            let a: f64 = z.iter().zip(point).map(|(z, t)| z * t).sum();
            let sigma = 1.0 / (1.0 + libm::exp(-a));
            (clip / (norm * sigma.max(1.0 - sigma))).min(1.0)
        };
        rows.iter().map(weight).sum::<f64>() / rows.len() as f64
    }
}

/// m̂: 0 of numbers, frequencies of flags and levels.
fn centre(design: &InputDesign) -> Vec<f64> {
    let mut centre = vec![0.0; design.inputs()];
    design.flags().iter().for_each(|&j| centre[j] = FLAGGED);
    design.blocks().iter().for_each(|block| centre[block.clone()].fill(1.0 / block.len() as f64));
    centre
}

/// Variances of the inputs, and 1 for the intercept.
fn typical_variances(design: &InputDesign) -> Vec<f64> {
    let centre = centre(design);
    let of = |j: usize| if j < design.numbers() { 1.0 } else { centre[j] * (1.0 - centre[j]) };
    (0..design.inputs()).map(of).chain([1.0]).collect()
}

/// Δ√m/(μ√φ).
fn deviation(bound: &SumBound, adjacency: Adjacency, numbers: PublicNumbers, share: f64) -> f64 {
    bound.sensitivity(adjacency) * numbers.sources.sqrt() / (numbers.mu * share.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MU: f64 = 0.27;

    fn deviations(design: &InputDesign, rows: f64, mu: f64, theta: Option<&[f64]>) -> Vec<f64> {
        let numbers = PublicNumbers { rows, sources: 1.0, mu };
        let plan = LevelPlan::with_first(LevelPlan::first_of(design, numbers));
        let typical = TypicalDesign::new(design, numbers, plan, Adjacency::Substitute).unwrap();
        let covariance = typical.covariance(&vec![1.0; design.width()], theta).unwrap();
        (0..design.width()).map(|j| covariance[place(j, j)].sqrt()).collect()
    }

    /// P = P₀ + H(1.15 H + ν)⁻¹H by hand, for numbers alone: H = n/4 on the diagonal.
    #[test]
    fn without_noise_the_rows_are_left_and_with_noise_the_prior() {
        let design = InputDesign::new(4, vec![], vec![]).unwrap();
        for (j, s) in deviations(&design, 1e4, 1e6, None).iter().enumerate() {
            let rows_alone = 1.0 / f64::sqrt(1.0 + 0.25e4 / 1.15);
            assert!((s / rows_alone - 1.0).abs() < 0.02, "{j}: {s} {rows_alone}");
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
