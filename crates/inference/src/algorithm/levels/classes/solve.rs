//! The posterior of contrasts for one covariance of the inputs: a mode and a precision.
//!
//! As for two outcomes (`levels/solve.rs`), t given Θ is about N(G(Θ), 1.15·H(Θ)). To find the mode, H in the metric A is taken for
//! the Kronecker product E w ⊗ nS: along the eigenvectors of E w the problem falls into K − 1 problems of d coefficients. The
//! precision at the mode is that of the whole H.

use super::super::belief::InputBelief;
use super::super::descent::{Descent, along};
use super::super::solve::{Effort, LEAST_NOISE, MODEL_ERROR, ReleasedLevel, SPREAD};
use super::moments::{ClassExpectations, ClassMoments};
use crate::linalg::{Eigen, cholesky, dot, inverse, place, sandwich, solve_lower, solve_upper, symmetric_times};

/// A Gaussian for contrasts of coefficients of z, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSolution {
    /// Mode.
    pub point: Vec<f64>,
    /// P, packed.
    pub precision: Vec<f64>,
}

/// Mode and precision under a prior of each contrast, packed; with what is not known of the inputs charged to the levels as for two
/// outcomes. None if a number is not finite, or so large that a matrix has no factor.
pub fn solve_classes(
    moments: ClassMoments<'_>,
    belief: Option<&InputBelief>,
    levels: &[ReleasedLevel],
    prior: &[f64],
    start: &[f64],
    effort: Effort,
) -> Option<ClassSolution> {
    let levels = levels.iter().map(|level| ObservedClasses::new(moments, level)).collect::<Option<Vec<_>>>()?;
    let mut here = ClassIterate::new(moments, start.to_vec())?;
    let mut noise = Vec::new();
    for _ in 0..effort.outer {
        let (variance, statistic) = weigh(moments, belief, &levels, &here);
        let objective = ClassObjective::new(moments, prior, statistic, &here, &variance)?;
        objective.descend(&mut here, effort.inner)?;
        noise = variance;
    }
    let precision = precision(moments, &here, prior, &noise)?;
    Some(ClassSolution { point: here.theta, precision })
}

/// P₀ + HAH with A = (1.15 H + ν)⁻¹, packed: HAH = H/1.15 − (ν − νAν)/1.15².
fn precision(moments: ClassMoments<'_>, here: &ClassIterate, prior: &[f64], noise: &[f64]) -> Option<Vec<f64>> {
    let (size, d) = (moments.parameters(), moments.inputs.width());
    let slope = moments.slope(&here.at).packed();
    let mut sum: Vec<f64> = slope.iter().map(|h| SPREAD * h).collect();
    noise.iter().enumerate().for_each(|(j, v)| sum[place(j, j)] += v);
    let spread = inverse(&cholesky(&sum, size)?, size);
    let square = SPREAD * SPREAD;
    let mut precision = slope;
    for i in 0..size {
        for j in 0..=i {
            let own = if i == j { noise[i] } else { 0.0 };
            let at = place(i, j);
            precision[at] = precision[at] / SPREAD - (own - noise[i] * spread[at] * noise[j]) / square;
        }
        let (first, line) = (i - i % d, i % d);
        (0..=line).for_each(|j| precision[place(i, first + j)] += prior[place(line, j)]);
    }
    Some(precision)
}

/// A point with its expectations.
struct ClassIterate {
    theta: Vec<f64>,
    at: ClassExpectations,
    score: Vec<f64>,
}

impl ClassIterate {
    fn new(moments: ClassMoments<'_>, theta: Vec<f64>) -> Option<Self> {
        let at = moments.at(&theta)?;
        let score = moments.score(&at);
        Some(Self { theta, at, score })
    }
}

/// A level, with what the inputs say at its point.
struct ObservedClasses<'a> {
    level: &'a ReleasedLevel,
    /// G(Θ_k).
    score: Vec<f64>,
    /// E w there, packed.
    curvature: Vec<f64>,
}

impl<'a> ObservedClasses<'a> {
    fn new(moments: ClassMoments<'_>, level: &'a ReleasedLevel) -> Option<Self> {
        let at = moments.at(&level.point)?;
        Some(Self { level, score: moments.score(&at), curvature: at.curvature().to_vec() })
    }

    /// n'_k at Θ: n_k + n²V(w̄(Θ − Θ_k))² + η² D·mean((G(Θ_k) − G(Θ))²/D), w̄ the mean of E w at both points.
    fn charged(&self, moments: ClassMoments<'_>, belief: Option<&InputBelief>, here: &ClassIterate) -> Vec<f64> {
        let (d, sizes) = (moments.inputs.width(), moments.inputs.sizes());
        let moved = self.score.iter().zip(&here.score).enumerate();
        let moved: f64 = moved.map(|(k, (a, b))| (a - b) * (a - b) / sizes[k % d]).sum();
        let error = MODEL_ERROR * MODEL_ERROR * moved / moments.parameters() as f64;
        let away: Vec<f64> = here.theta.iter().zip(&self.level.point).map(|(a, b)| a - b).collect();
        let least = LEAST_NOISE * moments.inputs.rows();
        let mut charged = Vec::with_capacity(away.len());
        for (a, noise) in self.level.noise.chunks(d).enumerate() {
            let mut weighed = vec![0.0; d];
            for (b, one) in away.chunks(d).enumerate() {
                let at = place(a.max(b), a.min(b));
                let w = 0.5 * (self.curvature[at] + here.at.curvature()[at]);
                weighed.iter_mut().zip(one).for_each(|(sum, x)| *sum += w * x);
            }
            let squares: Vec<f64> = weighed.iter().map(|x| x * x).collect();
            let unknown = belief.map_or_else(|| vec![0.0; d], |belief| belief.product_variance(&squares));
            let all = noise.iter().zip(&unknown).zip(sizes);
            charged.extend(all.map(|((noise, unknown), size)| (noise + unknown + error * size).max(least)));
        }
        charged
    }
}

/// ν and t̄.
fn weigh(
    moments: ClassMoments<'_>,
    belief: Option<&InputBelief>,
    levels: &[ObservedClasses<'_>],
    here: &ClassIterate,
) -> (Vec<f64>, Vec<f64>) {
    let (mut weights, mut sums) = (vec![0.0; moments.parameters()], vec![0.0; moments.parameters()]);
    for seen in levels {
        let observed = seen.level.score.iter().zip(&seen.score);
        for (k, (noise, (u, g))) in seen.charged(moments, belief, here).iter().zip(observed).enumerate() {
            weights[k] += 1.0 / noise;
            sums[k] += (u + g) / noise;
        }
    }
    let statistic = sums.iter().zip(&weights).map(|(sum, weight)| sum / weight).collect();
    (weights.iter().map(|weight| 1.0 / weight).collect(), statistic)
}

/// An objective with t̄ and A fixed. A is block-diagonal along the eigenvectors of E w.
struct ClassObjective<'a> {
    moments: ClassMoments<'a>,
    prior: &'a [f64],
    statistic: Vec<f64>,
    /// E w at the point where A was taken.
    eigen: Eigen,
    /// A along each eigenvector, packed.
    spreads: Vec<Vec<f64>>,
    /// n²ω²SAS along each, packed.
    bounds: Vec<Vec<f64>>,
}

impl<'a> ClassObjective<'a> {
    /// A = (1.15 ω nS + ν)⁻¹ along each eigenvector, ν the mean over contrasts.
    fn new(
        moments: ClassMoments<'a>,
        prior: &'a [f64],
        statistic: Vec<f64>,
        here: &ClassIterate,
        noise: &[f64],
    ) -> Option<Self> {
        let (d, n, count) = (moments.inputs.width(), moments.inputs.rows(), moments.count());
        let eigen = Eigen::of(here.at.curvature(), count);
        let mean = |j: usize| noise.iter().skip(j).step_by(d).sum::<f64>() / count as f64;
        let second = moments.inputs.second();
        let (mut spreads, mut bounds) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for value in &eigen.values {
            let size = n * value.max(0.0);
            let mut sum: Vec<f64> = second.iter().map(|s| SPREAD * size * s).collect();
            (0..d).for_each(|j| sum[place(j, j)] += mean(j));
            let spread = inverse(&cholesky(&sum, d)?, d);
            bounds.push(sandwich(second, &spread, d).iter().map(|v| size * size * v).collect());
            spreads.push(spread);
        }
        Some(Self { moments, prior, statistic, eigen, spreads, bounds })
    }

    /// Along eigenvectors: contrast a of v becomes Σ_b (vector a)_b·v_b.
    fn turned(&self, v: &[f64]) -> Vec<f64> {
        self.mixed(v, |a, b| self.eigen.entry(a, b))
    }

    fn back(&self, v: &[f64]) -> Vec<f64> {
        self.mixed(v, |a, b| self.eigen.entry(b, a))
    }

    fn mixed(&self, v: &[f64], weight: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let d = self.moments.inputs.width();
        let mut mixed = vec![0.0; v.len()];
        for (a, into) in mixed.chunks_mut(d).enumerate() {
            for (b, one) in v.chunks(d).enumerate() {
                into.iter_mut().zip(one).for_each(|(sum, x)| *sum += weight(a, b) * x);
            }
        }
        mixed
    }

    /// P₀Θ.
    fn pull(&self, theta: &[f64]) -> Vec<f64> {
        theta.chunks(self.moments.inputs.width()).flat_map(|one| symmetric_times(self.prior, one)).collect()
    }
}

impl Descent for ClassObjective<'_> {
    type Point = ClassIterate;

    /// A(t̄ − G) and the objective.
    fn at(&self, here: &ClassIterate) -> (Vec<f64>, f64) {
        let missing: Vec<f64> = self.statistic.iter().zip(&here.score).map(|(t, g)| t - g).collect();
        let parts = self.turned(&missing);
        let parts = parts.chunks(self.moments.inputs.width()).zip(&self.spreads);
        let weighed = self.back(&parts.flat_map(|(one, spread)| symmetric_times(spread, one)).collect::<Vec<f64>>());
        let objective = 0.5 * dot(&here.theta, &self.pull(&here.theta)) + 0.5 * dot(&missing, &weighed);
        (weighed, objective)
    }

    /// (P₀ + γ²BAB)⁻¹(HA(t̄ − G) − P₀Θ), B = E w ⊗ nS, γB as large as the mean curvature between 0 and Θ.
    fn step(&self, here: &ClassIterate, weighed: &[f64]) -> Option<Vec<f64>> {
        let d = self.moments.inputs.width();
        let mut slope = self.moments.slope(&here.at).times(weighed);
        slope.iter_mut().zip(self.pull(&here.theta)).for_each(|(g, p)| *g -= p);
        let mut step = self.turned(&slope);
        let ratio = (here.at.secant() / self.eigen.values.iter().sum::<f64>()).max(1.0);
        for (one, bound) in step.chunks_mut(d).zip(&self.bounds) {
            let curvature: Vec<f64> = self.prior.iter().zip(bound).map(|(p, b)| p + ratio * ratio * b).collect();
            let factor = cholesky(&curvature, d)?;
            solve_lower(&factor, one);
            solve_upper(&factor, one);
        }
        Some(self.back(&step))
    }

    fn moved(&self, here: &ClassIterate, step: &[f64], length: f64) -> Option<ClassIterate> {
        ClassIterate::new(self.moments, along(&here.theta, step, length))
    }
}

#[cfg(test)]
mod tests {
    use super::super::moments::ClassLogits;
    use super::*;
    use crate::algorithm::levels::moments::InputMoments;
    use crate::algorithm::levels::solve::centred_precision;
    use crate::algorithm::levels::{Doubts, PriorPrecision, solve};

    /// Levels without noise of their own at a few points, of statistics that are exactly those of Θ.
    #[test]
    fn exact_statistics_are_met_and_two_classes_are_a_logistic_model() {
        let inputs = InputMoments::new(20_000.0, vec![0.81, 0.45, 0.74], 2);
        let logits = ClassLogits::new(2);
        let moments = ClassMoments { inputs: &inputs, logits: &logits };
        let (truth, root) = ([0.5, -0.4, 0.3], 2_f64.sqrt());
        let single: Vec<f64> = truth.iter().map(|t| root * t).collect();
        let score = |theta: &[f64]| moments.score(&moments.at(theta).unwrap());
        let level = |point: Vec<f64>| {
            let score = score(&truth).iter().zip(score(&point)).map(|(t, g)| t - g).collect();
            ReleasedLevel { score, noise: vec![800.0; 3], point }
        };
        let levels = [level(vec![0.0; 3]), level(vec![0.4, -0.4, 0.2])];
        // The same for coefficients √2 times as large, whose scores are 1/√2 of these.
        let singles = levels.clone().map(|level| ReleasedLevel {
            point: level.point.iter().map(|t| root * t).collect(),
            score: level.score.iter().map(|u| u / root).collect(),
            noise: vec![400.0; 3],
        });
        let prior = centred_precision(&[1.0; 3], &[0.0; 2]);
        let found = solve_classes(moments, None, &levels, &prior, &[0.0; 3], Effort::full(Doubts::NONE)).unwrap();
        let prior = PriorPrecision::new(&[0.5; 3], &[0.0; 2]);
        let one = solve(&inputs, None, &singles, &prior, &[0.0; 3], Effort::full(Doubts::NONE)).unwrap();
        let covariance = inverse(&cholesky(&found.precision, 3).unwrap(), 3);
        for j in 0..3 {
            assert!((found.point[j] - truth[j]).abs() < 0.01, "{found:?}");
            assert!((root * found.point[j] - one.point[j]).abs() < 2e-3, "{found:?} {one:?}");
            let (a, b) = (2.0 * covariance[place(j, j)], one.covariance[place(j, j)]);
            assert!((a / b - 1.0).abs() < 0.01, "{j}: {a} {b}");
        }
        assert!((one.point[0] - single[0]).abs() < 0.02);
    }
}
