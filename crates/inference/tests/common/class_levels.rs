//! Noise-aware levels of several classes on made-up data in one place, with noise of its own in every release.

use super::levels::{Noise, Releasing, gaussian_mu};
use inference::algorithm::levels::classes::{
    ClassLogits, ClassPoint, ClassPosterior, ClassReadout, ClassScratch, class_clip, class_first_share,
    class_level_bound,
};
use inference::algorithm::levels::{
    DRAWS, Evidence, InputDesign, LEVELS, LevelPlan, NextLevel, PublicNumbers, ServedPrior,
};
use inference::{Row, Rows};

/// A made-up study of normal inputs, each of correlation .5 with the one before, and coefficients of contrasts from N(0, ¼).
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassStudy {
    pub(crate) rows: usize,
    pub(crate) inputs: usize,
    pub(crate) classes: usize,
    pub(crate) sources: usize,
    pub(crate) epsilon: f64,
}

/// A data set and its true coefficients, class after class.
pub(crate) struct MadeClasses {
    pub(crate) theta: Vec<f64>,
    pub(crate) rows: Rows,
    seed: [u8; 32],
}

impl ClassStudy {
    pub(crate) fn made(&self, seed: [u8; 32]) -> MadeClasses {
        let (mut noise, d) = (Noise::of(seed), self.inputs + 1);
        let theta: Vec<f64> = (0..self.classes * d).map(|_| 0.5 * noise.normal()).collect();
        let mut rows = Rows::new(d, self.inputs).unwrap();
        for _ in 0..self.rows {
            let (mut numbers, mut before) = (Vec::with_capacity(self.inputs), noise.normal());
            for _ in 0..self.inputs {
                numbers.push(before);
                before = 0.5 * before + 0.75_f64.sqrt() * noise.normal();
            }
            let row = Row { numbers: &numbers, ones: &[self.inputs as u32], outcome: 0.0 };
            let odds: Vec<f64> = theta.chunks(d).map(|one| libm::exp(row.dot(one))).collect();
            let mut left = noise.uniform() * odds.iter().sum::<f64>();
            let class = odds.iter().position(|odds| {
                left -= odds;
                left < 0.0
            });
            rows.push(Row { outcome: class.unwrap_or(0) as f64, ..row }).unwrap();
        }
        MadeClasses { theta, rows, seed }
    }
}

impl MadeClasses {
    /// Releases everything with fresh noise, and reads it under the prior N(0, ¼).
    pub(crate) fn posterior(&self, study: &ClassStudy, served: ServedPrior) -> Option<ClassPosterior> {
        let mut seed = self.seed;
        seed[31] ^= 0xa5;
        let (design, mu) = (InputDesign::new(study.inputs, vec![], vec![])?, gaussian_mu(study.epsilon));
        let public = PublicNumbers { rows: study.rows as f64, sources: study.sources as f64, mu };
        let plan = LevelPlan::with_first(class_first_share(&design, study.classes, public));
        let mut releasing =
            Releasing { rows: &self.rows, deviation: public.sources.sqrt() / mu, plan, noise: Noise::of(seed) };
        let (inputs, belief) = releasing.belief(&design);
        let (logits, prior) = (ClassLogits::new(study.classes), vec![4.0; design.width()]);
        let readout =
            ClassReadout { design: &design, inputs: &inputs, belief: &belief, prior: &prior, logits: &logits };
        let d = design.width();
        let (mut evidence, mut scratch) = (Evidence::of_shortened_rows(), ClassScratch::default());
        let mut next = NextLevel { point: vec![0.0; d * (study.classes - 1)], precision: prior.clone() };
        for level in 0..LEVELS {
            let theta: Vec<f64> = next.point.chunks(d).flat_map(|one| inputs.uncentred(one)).collect();
            let clip = class_clip(&inputs, study.classes, level);
            let at = ClassPoint { inputs: &inputs, contrasts: &logits.contrasts, theta: &theta, clip };
            let (bound, share) = (class_level_bound(d, study.classes), releasing.plan.levels[level]);
            let mut vector = vec![0.0; bound.length];
            let (sum, deviation) = releasing.release(bound, share, |row, sum| {
                at.row(row, &mut scratch, &mut vector);
                sum.iter_mut().zip(&vector).for_each(|(sum, v)| *sum += v);
            });
            evidence.add_clipped(&inputs, public.rows, &next.point, &sum, deviation, clip)?;
            next = readout.advance(&evidence, &next)?.0;
        }
        readout.posterior(&evidence, &next.point, &belief.draws(self.seed, DRAWS), served)
    }
}
