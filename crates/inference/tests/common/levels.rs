//! Noise-aware levels on made-up data in one place, with noise of its own in every release: no gates and no plan.

use chacha20::ChaCha8Rng;
use inference::algorithm::levels::{
    CentredInputs, DRAWS, Evidence, FirstLook, InputBelief, InputDesign, LEVELS, LevelPlan, LevelPoint, LevelPosterior,
    LevelReadout, NextLevel, PublicNumbers, SparseEntries, SumBound, level_bound, second_look_bound,
};
use inference::{PriorTerm, Row, Rows};
use privacy::Adjacency;
use rand_core::{Rng, SeedableRng};
use std::f64::consts::{PI, SQRT_2};

/// δ of all studies here.
const DELTA: f64 = 1e-5;

/// Uniform and normal numbers of a generator.
pub(crate) struct Noise(ChaCha8Rng);

impl Noise {
    pub(crate) fn of(seed: [u8; 32]) -> Self {
        Self(ChaCha8Rng::from_seed(seed))
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.uniform())).sqrt();
        radius * libm::cos(2.0 * PI * self.uniform())
    }
}

/// How inputs are drawn. All but categories begin as normal numbers of variance 1, each correlated with the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Inputs {
    /// Normal numbers of this correlation.
    Correlated(f64),
    /// Student's t with five degrees of freedom, of variance 1 and correlation .5: rows have one divisor.
    HeavyTails,
    /// Half of the numbers, of correlation .5, are cut to flags of frequencies .05 to .5.
    Flags,
    /// A third of the inputs are numbers with a long tail, the rest are levels of categories of ten, most of them rare.
    Categories,
}

/// A made-up study.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Study {
    pub(crate) inputs: Inputs,
    pub(crate) rows: usize,
    /// Inputs, the intercept left out.
    pub(crate) width: usize,
    /// Releases with noise of their own that are added up.
    pub(crate) sources: usize,
    pub(crate) epsilon: f64,
}

/// μ of Gaussian differential privacy with which ε holds at δ: bisection of its equation (Dong, Roth and Su 2022, Corollary 2.13).
pub(crate) fn gaussian_mu(epsilon: f64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / SQRT_2);
    let delta = |mu: f64| below(0.5 * mu - epsilon / mu) - libm::exp(epsilon) * below(-0.5 * mu - epsilon / mu);
    let (mut low, mut high) = (1e-4, 20.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if delta(middle) > DELTA { high = middle } else { low = middle }
    }
    low
}

impl Study {
    /// ε = 1 with an aggregator.
    pub(crate) fn of(inputs: Inputs, rows: usize, width: usize) -> Self {
        Self { inputs, rows, width, sources: 1, epsilon: 1.0 }
    }

    fn design(&self) -> InputDesign {
        let d = self.width;
        let made = match self.inputs {
            Inputs::Correlated(_) | Inputs::HeavyTails => InputDesign::new(d, vec![], vec![]),
            Inputs::Flags => InputDesign::new(d - d / 2, (d - d / 2..d).collect(), vec![]),
            Inputs::Categories => {
                let numbers = d - d * 2 / 30 * 10;
                InputDesign::new(numbers, vec![], (numbers..d).step_by(10).map(|start| start..start + 10).collect())
            }
        };
        made.unwrap()
    }

    /// Numbers and places of ones of a row, the intercept's last.
    fn row(&self, noise: &mut Noise) -> (Vec<f64>, Vec<u32>) {
        let (d, correlation) = (self.width, if let Inputs::Correlated(r) = self.inputs { r } else { 0.5 });
        let (mut numbers, mut before) = (Vec::with_capacity(d), noise.normal());
        for _ in 0..d {
            numbers.push(before);
            before = correlation * before + (1.0 - correlation * correlation).sqrt() * noise.normal();
        }
        let mut ones = Vec::new();
        match self.inputs {
            Inputs::Correlated(_) => {}
            Inputs::HeavyTails => {
                let square: f64 = (0..5).map(|_| noise.normal().powi(2)).sum();
                numbers.iter_mut().for_each(|x| *x *= (3.0 / square).sqrt());
            }
            Inputs::Flags => {
                let (kept, half) = (d - d / 2, d / 2);
                let most = |k: usize| 0.05 + 0.45 * k as f64 / (half - 1).max(1) as f64;
                let flagged = |k: &usize| 0.5 * libm::erfc(-numbers[2 * k + 1] / SQRT_2) < most(*k);
                ones.extend((0..half).filter(flagged).map(|k| (kept + k) as u32));
                numbers = (0..d).filter(|j| j % 2 == 0 || *j >= 2 * half).map(|j| numbers[j]).collect();
            }
            Inputs::Categories => {
                let design = self.design();
                for block in design.blocks() {
                    let level = (-3.0 * libm::log(noise.uniform())) as usize;
                    ones.push((block.start + level.min(block.len() - 1)) as u32);
                }
                numbers.truncate(design.numbers());
                numbers.iter_mut().for_each(|x| *x = if *x > 1.5 { libm::exp(*x) } else { 0.3 * *x });
            }
        }
        ones.push(d as u32);
        (numbers, ones)
    }

    /// Rows with labels drawn at coefficients from N(0, ¼).
    pub(crate) fn made(&self, seed: [u8; 32]) -> Made {
        let mut noise = Noise::of(seed);
        let theta: Vec<f64> = (0..=self.width).map(|_| 0.5 * noise.normal()).collect();
        let mut rows = Rows::new(self.width + 1, self.design().numbers()).unwrap();
        for _ in 0..self.rows {
            let (numbers, ones) = self.row(&mut noise);
            let row = Row { numbers: &numbers, ones: &ones, outcome: 0.0 };
            let probability = 1.0 / (1.0 + libm::exp(-row.dot(&theta)));
            rows.push(Row { outcome: f64::from(u8::from(noise.uniform() < probability)), ..row }).unwrap();
        }
        Made { theta, rows, seed }
    }
}

/// A data set and its true coefficients, the intercept's last.
pub(crate) struct Made {
    pub(crate) theta: Vec<f64>,
    pub(crate) rows: Rows,
    seed: [u8; 32],
}

impl Made {
    /// All releases of a study, with fresh noise.
    pub(crate) fn run(&self, study: &Study) -> Fitted {
        let mut seed = self.seed;
        seed[31] ^= 0xa5;
        let (design, mu) = (study.design(), gaussian_mu(study.epsilon));
        let public = PublicNumbers { rows: self.rows.len() as f64, sources: study.sources as f64, mu };
        let plan = LevelPlan::with_first(LevelPlan::first_of(&design, public));
        let releasing =
            Releasing { rows: &self.rows, deviation: public.sources.sqrt() / mu, plan, noise: Noise::of(seed) };
        releasing.run(design)
    }
}

/// Sums over rows with noise.
pub(crate) struct Releasing<'a> {
    pub(crate) rows: &'a Rows,
    /// Noise of a release that has sensitivity 1 and the whole budget.
    pub(crate) deviation: f64,
    pub(crate) plan: LevelPlan,
    pub(crate) noise: Noise,
}

/// What was released, read.
pub(crate) struct Fitted {
    design: InputDesign,
    inputs: CentredInputs,
    pub(crate) belief: InputBelief,
    evidence: Evidence,
    next: NextLevel,
    prior: PriorTerm,
}

impl Releasing<'_> {
    /// A sum over rows with noise, and the standard deviation of the noise.
    pub(crate) fn release(
        &mut self,
        bound: SumBound,
        share: f64,
        mut add: impl FnMut(&Row<'_>, &mut [f64]),
    ) -> (Vec<f64>, f64) {
        let mut sum = vec![0.0; bound.length];
        self.rows.iter().for_each(|row| add(&row, &mut sum));
        let deviation = bound.sensitivity(Adjacency::Substitute) * self.deviation / share.sqrt();
        sum.iter_mut().for_each(|v| *v += deviation * self.noise.normal());
        (sum, deviation)
    }

    pub(crate) fn belief(&mut self, design: &InputDesign) -> (CentredInputs, InputBelief) {
        let look = FirstLook::new(design, Adjacency::Substitute);
        let mut entries = SparseEntries::default();
        let (sum, deviation) = self.release(look.bound(), self.plan.first_look, |row, sum| {
            look.row(row, &mut entries);
            entries.positions.iter().zip(&entries.values).for_each(|(p, v)| sum[*p as usize] += v);
        });
        let summary = look.read(&sum, deviation, self.rows.len() as f64).unwrap();
        let inputs = summary.centred();
        let mut y = vec![0.0; inputs.width()];
        let (sum, deviation) = self.release(second_look_bound(design), self.plan.second_look, |row, sum| {
            inputs.second_look_row(row, &mut y);
            let mut entries = sum.iter_mut();
            for i in 0..y.len() {
                for (j, entry) in (0..=i).zip(&mut entries) {
                    *entry += if i == j { 1.0 } else { SQRT_2 } * y[i] * y[j];
                }
            }
        });
        let belief = InputBelief::new(&summary, &inputs, &sum, deviation).unwrap();
        (inputs, belief)
    }

    fn level(&mut self, design: &InputDesign, inputs: &CentredInputs, point: &[f64], level: usize) -> (Vec<f64>, f64) {
        let (bound, theta) = (level_bound(design), inputs.uncentred(point));
        let at = LevelPoint { inputs, theta: &theta, clip: inputs.clip(level) };
        let mut vector = vec![0.0; bound.length];
        self.release(bound, self.plan.levels[level], |row, sum| {
            at.row(row, &mut vector);
            sum.iter_mut().zip(&vector).for_each(|(sum, v)| *sum += v);
        })
    }

    /// Both looks and all levels.
    fn run(mut self, design: InputDesign) -> Fitted {
        let (inputs, belief) = self.belief(&design);
        let precisions = vec![4.0; design.width()];
        let prior = PriorTerm::independent(vec![0.0; design.width()], precisions).unwrap();
        let next = NextLevel { point: vec![0.0; design.width()], precision: prior.diagonal() };
        let mut fitted = Fitted { design, inputs, belief, evidence: Evidence::of_shortened_rows(), next, prior };
        for level in 0..LEVELS {
            let (sum, deviation) = self.level(&fitted.design, &fitted.inputs, &fitted.next.point, level);
            let (rows, point) = (self.rows.len() as f64, &fitted.next.point);
            fitted.evidence.add(&fitted.inputs, rows, point, &sum, deviation).unwrap();
            fitted.next = fitted.readout().advance(&fitted.evidence, &fitted.next).unwrap().0;
        }
        fitted
    }
}

impl Fitted {
    fn readout(&self) -> LevelReadout<'_> {
        LevelReadout { design: &self.design, inputs: &self.inputs, belief: &self.belief, prior: &self.prior }
    }

    /// What is served under the stated prior N(0, ¼).
    pub(crate) fn posterior(&self, seed: &[u8; 32]) -> Option<LevelPosterior> {
        let draws = self.belief.draws(*seed, DRAWS);
        Some(self.readout().posteriors(&self.evidence, &self.next.point, &draws)?.0)
    }
}
