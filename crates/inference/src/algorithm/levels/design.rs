//! Public constants of the method: kinds of inputs, shares of the budget, norms and sensitivities of the releases.
//!
//! Every release is normalised by public or released numbers, so that its bound is a constant of the study. Rows are sent in a
//! form whose norm alone gives the sensitivity, which gates enforce in integers: see [`VectorSet`] and [`super::FirstLook`].
//! The share of level 0 is computed from the design and not from the first look, so that all shares are fixed before the first
//! release.

use super::super::readout::scales;
use crate::InputLayout;
use privacy::Adjacency;
use std::f64::consts::SQRT_2;
use std::ops::Range;

/// Scores that are released, after the two looks.
pub const LEVELS: usize = 11;
/// Share of μ² for each of the looks.
const LOOK_SHARE: f64 = 0.06;
/// How much larger the share of a level is than that of the level before, from level 1 on.
const GROWTH: f64 = 1.1;
/// Largest share of level 0 among the levels.
pub(super) const MOST_FIRST: f64 = 0.4;
/// ω² = this·n/d: guess at the squared error of the input model at level 0, in units of the score.
pub(super) const MODEL_ERROR: f64 = 0.018;
/// Shares of the first look for dummies, squares and means.
const WITHIN_FIRST: [f64; 3] = [0.6, 0.25, 0.15];
/// Exponent of the scales: s = (D/max D)^−¼, about.
const WHITENING: f64 = 0.25;
/// Added to D/max D before the power.
const SCALE_FLOOR: f64 = 0.1;
/// Coordinate of a level's weight c, in units of its clip.
pub(super) const WEIGHT: f64 = 0.4;
/// Norm of the rows in the second look, in units of ρ.
pub(super) const SECOND_RADIUS: f64 = 0.7;
/// Clip of the levels from 1 on, in units of ρ.
pub(super) const LEVEL_RADIUS: f64 = 0.5;
/// Factor over all rounding errors of the few operations that lead to a bound or a multiplier.
const OUTWARDS: f64 = 1.0 + 16.0 * f64::EPSILON;

/// Which inputs are numbers, flags and dummies of a category. The intercept is the last input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputDesign {
    numbers: usize,
    flags: Vec<usize>,
    blocks: Vec<Range<usize>>,
}

impl InputDesign {
    /// Numbers are inputs 0..`numbers`; flags and blocks fill the places from there to the intercept, each once. A row has exactly
    /// one level of each block. None if a place is left out or taken twice, if a block is empty, or if there is no input.
    pub fn new(numbers: usize, flags: Vec<usize>, blocks: Vec<Range<usize>>) -> Option<Self> {
        let mut places: Vec<usize> = flags.iter().copied().chain(blocks.iter().cloned().flatten()).collect();
        places.sort_unstable();
        let filled = places.iter().enumerate().all(|(k, &place)| place == numbers + k);
        let increasing = flags.windows(2).all(|pair| pair[0] < pair[1]);
        let sound = filled && increasing && blocks.iter().all(|block| !block.is_empty());
        (sound && numbers + places.len() > 0).then_some(Self { numbers, flags, blocks })
    }

    /// The inputs of a layout whose last input is the intercept. None if it has none, or nothing beside it.
    pub fn of_layout(layout: &InputLayout) -> Option<Self> {
        layout.intercept().filter(|intercept| intercept + 1 == layout.width())?;
        Self::new(layout.numbers(), layout.flags().collect(), layout.blocks().to_vec())
    }

    /// How many inputs are numbers.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// Places of flags, increasing.
    pub fn flags(&self) -> &[usize] {
        &self.flags
    }

    /// Places of the dummies of each category.
    pub fn blocks(&self) -> &[Range<usize>] {
        &self.blocks
    }

    /// p: how many inputs there are, without the intercept.
    pub fn inputs(&self) -> usize {
        self.numbers + self.flags.len() + self.blocks.iter().map(Range::len).sum::<usize>()
    }

    /// d: how many coefficients there are. The intercept's is the last.
    pub fn width(&self) -> usize {
        self.inputs() + 1
    }

    /// For each input the number of the group in which its covariances follow from frequencies: its block, or itself.
    pub(super) fn groups(&self) -> Vec<usize> {
        let mut groups: Vec<usize> = (0..self.inputs()).collect();
        for block in &self.blocks {
            block.clone().for_each(|j| groups[j] = block.start);
        }
        groups
    }

    /// Shares of the first look that go to dummies, squares and means: parts that the design does not have get nothing.
    pub(super) fn within_first(&self) -> [f64; 3] {
        let (dummies, numbers) = (self.inputs() > self.numbers, self.numbers > 0);
        let kept = [dummies, numbers, numbers].map(|there| f64::from(u8::from(there)));
        let total: f64 = WITHIN_FIRST.iter().zip(kept).map(|(share, kept)| share * kept).sum();
        std::array::from_fn(|k| WITHIN_FIRST[k] * kept[k] / total)
    }

    /// ρ² of a design whose numbers have variance 1, whose levels are equally frequent and whose flags are set in half of the rows.
    pub(super) fn usual_squared_norm(&self) -> f64 {
        let mut variances = vec![1.0; self.width()];
        self.flags.iter().for_each(|&j| variances[j] = 0.25);
        for block in &self.blocks {
            let frequency = 1.0 / block.len() as f64;
            variances[block.clone()].fill(frequency * (1.0 - frequency));
        }
        let scales = input_scales(&variances);
        variances.iter().zip(scales).map(|(variance, s)| s * s * variance).sum()
    }
}

/// s = 2^round(−¼ log₂((D/max D + .1)/1.1)): powers of two that bring coordinates of small variance D nearer to the others.
pub(super) fn input_scales(variances: &[f64]) -> Vec<f64> {
    let whitening = scales(variances, WHITENING, SCALE_FLOOR);
    (0..variances.len()).map(|j| whitening.of(j)).collect()
}

/// Numbers that everybody knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublicNumbers {
    /// n: declared rows of all sites.
    pub rows: f64,
    /// m: how many releases with noise of their own are added up; 1 with an aggregator.
    pub sources: f64,
    /// μ of Gaussian differential privacy for all releases together.
    pub mu: f64,
}

/// Shares of μ² that the releases take. They add up to 1, but for rounding.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelPlan {
    /// φ of frequencies, squares and means.
    pub first_look: f64,
    /// φ of second moments.
    pub second_look: f64,
    /// φ of each level.
    pub levels: [f64; LEVELS],
}

impl LevelPlan {
    /// Levels take what the looks leave: level 0 the share a of it, the others in proportion to 1.1^k.
    pub fn with_first(first: f64) -> Self {
        let (left, mut levels) = (1.0 - 2.0 * LOOK_SHARE, [1.0; LEVELS]);
        (1..LEVELS).for_each(|k| levels[k] = levels[k - 1] * if k == 1 { 1.0 } else { GROWTH });
        let later: f64 = levels[1..].iter().sum();
        levels[1..].iter_mut().for_each(|share| *share *= left * (1.0 - first) / later);
        levels[0] = left * first;
        Self { first_look: LOOK_SHARE, second_look: LOOK_SHARE, levels }
    }

    /// a = q²d/(.018 n) between 1/11 and .4, with q² = R²m/(μ²n) and R the clip of the levels.
    ///
    /// It is the maximum of a/(q² + aω²) + (1 − a)/(4q²), the precision of level 0, whose clip and noise are half, and of the
    /// others; ω² is a guess at the model error that level 0 is charged with.
    pub fn first_of(design: &InputDesign, public: PublicNumbers) -> f64 {
        let PublicNumbers { rows, sources, mu } = public;
        let squared_clip = LEVEL_RADIUS * LEVEL_RADIUS * design.usual_squared_norm();
        let noise = squared_clip * sources / (mu * mu * rows);
        let model_error = MODEL_ERROR * rows / design.width() as f64;
        (noise / model_error).clamp(1.0 / LEVELS as f64, MOST_FIRST)
    }
}
/// Where the vectors lie that rows contribute to a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorSet {
    /// Anywhere in a ball: to replace one moves the sum by two radii at most.
    Ball,
    /// In the part of a ball without negative coordinates: by √2 radii, since ‖a − b‖² ≤ ‖a‖² + ‖b‖².
    NonNegative,
    /// Outer products in a ball, packed isometrically: by √2 radii, since ⟨aaᵀ, bbᵀ⟩ = (aᵀb)² ≥ 0.
    OuterProducts,
}

/// What bounds a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SumBound {
    /// Coordinates of the sum.
    pub length: usize,
    /// Where the vectors of rows lie.
    pub set: VectorSet,
    /// Largest norm of a row's vector.
    pub norm: f64,
}

impl SumBound {
    /// Δ: how far one row moves the sum at most, rounded up.
    pub fn sensitivity(&self, adjacency: Adjacency) -> f64 {
        let radii = match (adjacency, self.set) {
            (Adjacency::AddRemove, _) => 1.0,
            (Adjacency::Substitute, VectorSet::Ball) => 2.0,
            (Adjacency::Substitute, VectorSet::NonNegative | VectorSet::OuterProducts) => SQRT_2,
        };
        radii * self.norm * OUTWARDS
    }

    /// C of the shape that a gate is built with: gates take 2C for the sensitivity under substitution, and C under add-remove.
    pub fn gate_bound(&self, adjacency: Adjacency) -> f64 {
        match adjacency {
            Adjacency::AddRemove => self.sensitivity(adjacency),
            Adjacency::Substitute => 0.5 * self.sensitivity(adjacency),
        }
    }
}

/// Second look: outer products of rows of norm 1, d(d + 1)/2 numbers.
pub fn second_look_bound(design: &InputDesign) -> SumBound {
    let d = design.width();
    SumBound { length: crate::linalg::packed(d), set: VectorSet::OuterProducts, norm: 1.0 }
}

/// A level: a score of norm 1, and .4(c − ½) for a weight 0 ≤ c ≤ 1. The norm is √(1 + .2²) at most.
///
/// That the weight is sent about its middle makes the sensitivity under substitution 2√1.04 and not 2√1.16.
pub fn level_bound(design: &InputDesign) -> SumBound {
    SumBound { length: design.width() + 1, set: VectorSet::Ball, norm: level_norm() }
}

/// √(1 + .2²), rounded up.
pub(super) fn level_norm() -> f64 {
    let half = 0.5 * WEIGHT;
    (1.0 + half * half).sqrt() * OUTWARDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;

    /// A design with blocks from the first to before the second place.
    fn made(numbers: usize, flags: &[usize], blocks: &[(usize, usize)]) -> Option<InputDesign> {
        InputDesign::new(numbers, flags.to_vec(), blocks.iter().map(|(start, end)| *start..*end).collect())
    }

    fn public(rows: f64) -> PublicNumbers {
        PublicNumbers { rows, sources: 1.0, mu: 0.27 }
    }

    #[test]
    fn places_are_filled_once() {
        let mixed = made(2, &[2, 6], &[(3, 6), (7, 9)]).unwrap();
        assert_eq!((mixed.inputs(), mixed.width()), (9, 10));
        assert_eq!(mixed.groups(), [0, 1, 2, 3, 3, 3, 6, 7, 7]);
        let gap = made(2, &[2], &[(4, 6)]);
        let twice = made(2, &[2, 3], &[(3, 6)]);
        assert_eq!(
            [gap, twice, made(2, &[3, 2], &[]), made(2, &[2], &[(3, 3)]), made(0, &[], &[])],
            [const { None }; 5]
        );
    }

    #[test]
    fn a_schema_gives_numbers_flags_and_blocks() {
        let schema = Schema::from_toml(
            "outcome = { column = \"y\", levels = [\"no\", \"yes\"] }\ncolumn = [\n  \
             { name = \"age\", kind = \"numeric\", centre = 0, scale = 1, missing = \"flag\" },\n  \
             { name = \"ward\", kind = \"category\", levels = [\"a\", \"b\"], missing = \"level\" },\n  \
             { name = \"visit\", kind = \"ignore\" },\n  \
             { name = \"dose\", kind = \"numeric\", centre = 0, scale = 1 },\n]\n",
        )
        .unwrap();
        let design = InputDesign::of_layout(&schema.layout(true).unwrap()).unwrap();
        assert_eq!(design, made(2, &[2], &[(3, 6)]).unwrap());
        assert_eq!(design.width(), schema.inputs(true).len());
    }

    #[test]
    fn shares_add_up_to_one() {
        for (rows, first) in [(1e6, 0.88 / 11.0), (1e2, 0.88 * 0.4)] {
            let five = made(5, &[], &[]).unwrap();
            let plan = LevelPlan::with_first(LevelPlan::first_of(&five, public(rows)));
            assert!((plan.levels[0] - first).abs() < 1e-12, "{}", plan.levels[0]);
            assert!((2..LEVELS).all(|k| (plan.levels[k] / plan.levels[k - 1] - 1.1).abs() < 1e-12));
            let shares = plan.levels.iter().chain([&plan.first_look, &plan.second_look]);
            assert!((shares.sum::<f64>() - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn bounds_are_rounded_outwards() {
        let design = made(3, &[], &[(3, 5)]).unwrap();
        let (look, level) = (second_look_bound(&design), level_bound(&design));
        assert_eq!((look.length, level.length), (21, 7));
        assert!(look.sensitivity(Adjacency::Substitute) > SQRT_2 && look.sensitivity(Adjacency::AddRemove) > 1.0);
        let squared = level.sensitivity(Adjacency::Substitute).powi(2);
        assert!(squared > 4.16 && squared < 4.16 * (1.0 + 1e-13));
        assert_eq!(level.gate_bound(Adjacency::Substitute), level.gate_bound(Adjacency::AddRemove));
    }
}
