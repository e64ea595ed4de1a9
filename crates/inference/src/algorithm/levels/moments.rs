//! Expected scores of logistic regression and their slopes, for Gaussian inputs, by Stein's identity.
//!
//! For z = (x, 1) with x ~ N(0, C), a = zᵀθ, σ the logistic function and f = σ', integration by parts turns expectations over
//! d inputs into expectations over one normal variable a: with e the intercept's unit vector and c = Cθ (0 at the intercept)
//!
//! G(θ) = n E[σ(a) z] = n (Eσ e + Ef c),
//! H(θ) = n E[f(a) zzᵀ] = n (Ef S + Ef' (ecᵀ + ceᵀ) + Ef'' ccᵀ),   S = E zzᵀ = C + eeᵀ.
//!
//! Expectations are sums over 15 Gauss-Hermite points. Inputs are not Gaussian, dummies least of all: only differences of G
//! between nearby θ are used, and their error is charged (`readout.rs`).

use crate::linalg::{dot, packed, place, symmetric_times};

/// Points and weights of Gauss-Hermite quadrature for a standard normal variable: point 0, and 7 pairs ±x.
pub(super) const POINTS: [(f64, f64); 8] = [
    (0.0, 0.318_259_518_259_518_15),
    (0.799_129_068_324_548, 0.232_462_293_609_732_25),
    (1.606_710_069_028_729_7, 0.089_417_795_399_844_37),
    (2.432_436_827_009_758, 0.017_365_774_492_137_616),
    (3.289_082_424_398_766_4, 0.001_567_357_503_549_956),
    (4.196_207_711_269_015_5, 5.642_146_405_189_029e-5),
    (5.190_093_591_304_781, 5.975_419_597_920_599e-7),
    (6.363_947_888_829_839, 8.589_649_899_633_252e-10),
];
/// Least variance of a.
const LEAST_SPREAD: f64 = 1e-12;
/// Nearer to 0 than this, tanh(a/2)/(2a) is taken at this.
const NEAR_ZERO: f64 = 1e-4;
/// Least D, in units of n.
const LEAST_SIZE: f64 = 1e-9;

/// n rows of centred inputs with this covariance, an intercept last.
#[derive(Debug, Clone, PartialEq)]
pub struct InputMoments {
    rows: f64,
    /// C, packed, without the intercept.
    covariance: Vec<f64>,
    /// S, packed.
    second: Vec<f64>,
    /// Dⱼ = n Sⱼⱼ.
    sizes: Vec<f64>,
}

impl InputMoments {
    /// C is p × p, packed.
    pub fn new(rows: f64, covariance: Vec<f64>, inputs: usize) -> Self {
        let mut second = covariance.clone();
        second.resize(packed(inputs + 1), 0.0);
        second[place(inputs, inputs)] = 1.0;
        let sizes = (0..=inputs).map(|j| rows * second[place(j, j)].max(LEAST_SIZE)).collect();
        Self { rows, covariance, second, sizes }
    }

    /// d.
    pub fn width(&self) -> usize {
        self.sizes.len()
    }

    /// n.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// D: n times the mean square of each coordinate of z.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }

    /// tr SΣ: mean over inputs of the variance of zᵀθ where θ has the covariance Σ, packed.
    pub fn doubt(&self, covariance: &[f64]) -> f64 {
        let both = dot(&self.second, covariance);
        let diagonal: f64 = (0..self.width()).map(|j| self.second[place(j, j)] * covariance[place(j, j)]).sum();
        2.0 * both - diagonal
    }

    /// C, packed, without the intercept.
    pub(super) fn covariance(&self) -> &[f64] {
        &self.covariance
    }

    /// S = E zzᵀ, packed.
    pub(super) fn second(&self) -> &[f64] {
        &self.second
    }

    /// All expectations at θ, in time O(d²).
    pub fn at(&self, theta: &[f64]) -> Expectations {
        self.about(theta, 0.0)
    }

    /// The same for coefficients that are not known: about the mean θ, with this variance of zᵀθ beside that of the inputs.
    pub fn about(&self, theta: &[f64], doubt: f64) -> Expectations {
        let p = self.width() - 1;
        let mut image = symmetric_times(&self.covariance, &theta[..p]);
        let spread = (dot(&image, &theta[..p]) + doubt).max(LEAST_SPREAD).sqrt();
        image.push(0.0);
        let mut found = Expectations { rows: self.rows, image, probability: 0.0, slopes: [0.0; 3], bound: 0.0 };
        for (point, weight) in POINTS {
            found.add(theta[p] + spread * point, weight);
            if point > 0.0 {
                found.add(theta[p] - spread * point, weight);
            }
        }
        found
    }
}

/// Expectations at one θ.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectations {
    rows: f64,
    /// c, with the intercept.
    image: Vec<f64>,
    /// Eσ.
    probability: f64,
    /// Ef, Ef', Ef''.
    slopes: [f64; 3],
    /// E[tanh(a/2)/(2a)].
    bound: f64,
}

impl Expectations {
    /// f = σ(1 − σ), f' = f(1 − 2σ), f'' = f(1 − 6f).
    fn add(&mut self, a: f64, weight: f64) {
        let s = 1.0 / (1.0 + libm::exp(-a));
        let f = s * (1.0 - s);
        self.probability += weight * s;
        let slopes = [f, f * (1.0 - 2.0 * s), f * (1.0 - 6.0 * f)];
        self.slopes.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += weight * slope);
        let away = if a.abs() < NEAR_ZERO { NEAR_ZERO } else { a };
        self.bound += weight * libm::tanh(0.5 * away) / (2.0 * away);
    }

    /// G.
    pub fn score(&self) -> Vec<f64> {
        let mut score: Vec<f64> = self.image.iter().map(|c| self.rows * self.slopes[0] * c).collect();
        if let Some(intercept) = score.last_mut() {
            *intercept = self.rows * self.probability;
        }
        score
    }

    /// H, packed, for the same inputs.
    pub fn slope(&self, inputs: &InputMoments) -> Vec<f64> {
        let ([first, second, third], n, c) = (self.slopes, self.rows, &self.image);
        let last = c.len() - 1;
        let mut h: Vec<f64> = inputs.second.iter().map(|v| n * first * v).collect();
        for i in 0..last {
            let line = &mut h[place(i, 0)..=place(i, i)];
            line.iter_mut().zip(c).for_each(|(h, other)| *h += n * third * c[i] * other);
        }
        h[place(last, 0)..].iter_mut().zip(c).for_each(|(h, c)| *h += n * second * c);
        h
    }

    /// h̄ = Ef: mean slope of the logistic function.
    pub fn mean_slope(&self) -> f64 {
        self.slopes[0]
    }

    /// J = this·S: the curvature of Jaakkola and Jordan's bound on the logistic likelihood, from which steps do not run away.
    pub fn bound(&self) -> f64 {
        self.rows * self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::standard_normals;
    use chacha20::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// 15 points are exact for polynomials up to degree 29: E x^(2k) = (2k − 1)!!.
    #[test]
    fn the_points_have_the_moments_of_a_normal_variable() {
        let mut expected = 1.0;
        for k in 0..15 {
            let pairs: f64 = POINTS[1..].iter().map(|(x, w)| 2.0 * w * x.powi(2 * k)).sum();
            let found = pairs + if k == 0 { POINTS[0].1 } else { 0.0 };
            assert!((found / expected - 1.0).abs() < 1e-12, "moment {}: {found} {expected}", 2 * k);
            expected *= f64::from(2 * k + 1);
        }
    }

    #[test]
    fn scores_and_slopes_are_those_of_gaussian_inputs() {
        let factor = [[0.9, 0.0], [0.5, 0.7]];
        let covariance = vec![0.81, 0.45, 0.74];
        let (inputs, theta) = (InputMoments::new(1.0, covariance, 2), [0.8, -1.1, 0.4]);
        let (count, mut rng) = (200_000, ChaCha8Rng::from_seed([5; 32]));
        let (mut normals, mut score, mut slope) = (vec![0.0; 2 * count], [0.0; 3], [0.0; 6]);
        standard_normals(&mut rng, &mut normals);
        for g in normals.chunks(2) {
            let z = [factor[0][0] * g[0], factor[1][0] * g[0] + factor[1][1] * g[1], 1.0];
            let s = 1.0 / (1.0 + libm::exp(-dot(&z, &theta)));
            (0..3).for_each(|j| score[j] += s * z[j] / count as f64);
            (0..3).for_each(|i| (0..=i).for_each(|j| slope[place(i, j)] += s * (1.0 - s) * z[i] * z[j] / count as f64));
        }
        let at = inputs.at(&theta);
        assert!(at.score().iter().zip(score).all(|(x, y)| (x - y).abs() < 0.006), "{:?} {score:?}", at.score());
        assert!(at.slope(&inputs).iter().zip(slope).all(|(x, y)| (x - y).abs() < 0.004), "{slope:?}");
    }

    /// H is the derivative of G, and J is at least as large.
    #[test]
    fn the_slope_is_the_derivative_of_the_score() {
        let inputs = InputMoments::new(50.0, vec![0.81, 0.45, 0.74], 2);
        let theta = [0.3, -0.6, 0.2];
        let (at, h) = (inputs.at(&theta), inputs.at(&theta).slope(&inputs));
        for j in 0..3 {
            let moved = |by: f64| {
                let mut theta = theta;
                theta[j] += by;
                inputs.at(&theta).score()
            };
            for (i, (up, down)) in moved(1e-4).into_iter().zip(moved(-1e-4)).enumerate() {
                let (found, exact) = ((up - down) / 2e-4, h[place(i.max(j), i.min(j))]);
                assert!((found - exact).abs() < 1e-5 * 50.0, "{i} {j}: {found} {exact}");
            }
        }
        assert!(at.bound() >= 50.0 * at.mean_slope());
    }
}
