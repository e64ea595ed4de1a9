//! Expected scores of softmax regression and their slopes, for Gaussian inputs, in contrasts.
//!
//! Let z = (x, 1) with x ~ N(0, C), a = Θz the K − 1 contrasts of the logits, p the probabilities, w = U(diag p − ppᵀ)Uᵀ, and
//! e the intercept's unit vector. With Σ = ΘCΘᵀ = LLᵀ and F = CΘᵀL⁻ᵀ, the inputs are z = e + Fg + r, where a = b + Lg, g is
//! standard normal, and r ~ N(0, C − FFᵀ) is independent of g. By Stein's identity, and by this decomposition,
//!
//! G_a(Θ) = n (E(Up)_a e + Σ_b E w_ab Cθ_b),
//! H_ab(Θ) = n (E w_ab (C − FFᵀ) + E[w_ab (e + Fg)(e + Fg)ᵀ]).
//!
//! Expectations over g are sums over fixed points (`cubature.rs`). H is positive semidefinite whatever the points are, since
//! their weights are.

use super::super::moments::InputMoments;
use super::contrasts::Contrasts;
use super::cubature::NormalPoints;
use crate::linalg::{cholesky, dot, packed, place, solve_lower, symmetric_times};
use crate::model::softmax::softmax;

/// Least variance of a contrast of logits, and added in units of their mean variance: Σ has a factor.
const LEAST_SPREAD: f64 = 1e-12;
const RELATIVE_SPREAD: f64 = 1e-9;
/// Points and weights of Gauss-Legendre quadrature on the unit interval.
const ALONG: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

/// Classes, and points for expectations over their logits.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassLogits {
    /// U.
    pub contrasts: Contrasts,
    /// Of K − 1 variables.
    pub points: NormalPoints,
}

impl ClassLogits {
    /// For K classes.
    pub fn new(classes: usize) -> Self {
        let contrasts = Contrasts::new(classes);
        let points = NormalPoints::new(contrasts.count());
        Self { contrasts, points }
    }
}

/// n rows of inputs with the outcomes of K classes.
#[derive(Debug, Clone, Copy)]
pub struct ClassMoments<'a> {
    /// The inputs.
    pub inputs: &'a InputMoments,
    /// The classes.
    pub logits: &'a ClassLogits,
}

impl ClassMoments<'_> {
    /// K − 1.
    pub(super) fn count(&self) -> usize {
        self.logits.contrasts.count()
    }

    /// d(K − 1).
    pub(super) fn parameters(&self) -> usize {
        self.count() * self.inputs.width()
    }

    /// All expectations at Θ, contrast after contrast. None if a number is not finite.
    pub fn at(&self, theta: &[f64]) -> Option<ClassExpectations> {
        let (count, d, u) = (self.count(), self.inputs.width(), &self.logits.contrasts);
        let mut images = Vec::with_capacity(theta.len());
        for one in theta.chunks(d) {
            images.extend(symmetric_times(self.inputs.covariance(), &one[..d - 1]));
            images.push(0.0);
        }
        let factor = spread(&images, theta, count, d)?;
        let mut found = ClassExpectations {
            images,
            factor,
            intercepts: theta.chunks(d).map(|one| one[d - 1]).collect(),
            contrasts: vec![0.0; count],
            curvature: vec![0.0; packed(count)],
            secant: 0.0,
        };
        let mut drawn = DrawnLogits::new(u);
        for (g, weight) in self.logits.points.iter() {
            drawn.take(&found, g, u);
            let shares = ALONG.iter().map(|(along, share)| share * drawn.trace(*along));
            found.secant += weight * shares.sum::<f64>();
            u.add_curvature(weight, &drawn.probabilities, &drawn.contrasts, &mut found.curvature);
            found.contrasts.iter_mut().zip(&drawn.contrasts).for_each(|(sum, v)| *sum += weight * v);
        }
        Some(found)
    }

    /// G at the point of these expectations.
    pub fn score(&self, at: &ClassExpectations) -> Vec<f64> {
        let (d, n) = (self.inputs.width(), self.inputs.rows());
        let mut score = vec![0.0; at.images.len()];
        for (a, line) in score.chunks_mut(d).enumerate() {
            for (b, image) in at.images.chunks(d).enumerate() {
                let w = n * at.curvature_of(a, b);
                line.iter_mut().zip(image).for_each(|(g, c)| *g += w * c);
            }
            line[d - 1] = n * at.contrasts[a];
        }
        score
    }

    /// H at the point of these expectations.
    pub fn slope(&self, at: &ClassExpectations) -> ClassSlope<'_> {
        let (count, d, u) = (self.count(), self.inputs.width(), &self.logits.contrasts);
        // Line j is L⁻¹ times the images of input j: row j of F, and 0 beside; the intercept's is (0, …, 0, 1).
        let mut loadings = vec![0.0; d * (count + 1)];
        for (j, line) in loadings.chunks_mut(count + 1).enumerate() {
            (0..count).for_each(|b| line[b] = at.images[b * d + j]);
            solve_lower(&at.factor, &mut line[..count]);
            line[count] = f64::from(u8::from(j + 1 == d));
        }
        let (pairs, square) = (packed(count), packed(count + 1));
        let (mut drawn, mut weights, mut moments) = (DrawnLogits::new(u), vec![0.0; pairs], vec![0.0; pairs * square]);
        let mut products = vec![0.0; square];
        for (g, weight) in self.logits.points.iter() {
            drawn.take(at, g, u);
            weights.fill(0.0);
            u.add_curvature(weight, &drawn.probabilities, &drawn.contrasts, &mut weights);
            let with_one = |i: usize| if i < count { g[i] } else { 1.0 };
            for i in 0..=count {
                (0..=i).for_each(|j| products[place(i, j)] = with_one(i) * with_one(j));
            }
            for (w, into) in weights.iter().zip(moments.chunks_mut(square)) {
                into.iter_mut().zip(&products).for_each(|(sum, product)| *sum += w * product);
            }
        }
        let mut left = self.inputs.second().to_vec();
        for i in 0..d {
            let own = &loadings[i * (count + 1)..][..=count];
            for j in 0..=i {
                left[place(i, j)] -= dot(own, &loadings[j * (count + 1)..][..=count]);
            }
        }
        ClassSlope { moments: *self, curvature: at.curvature.clone(), left, loadings, weighed: moments }
    }
}

/// L of Σ_ab = θ_aᵀCθ_b, packed.
fn spread(images: &[f64], theta: &[f64], count: usize, d: usize) -> Option<Vec<f64>> {
    let mut covariance = Vec::with_capacity(packed(count));
    for (a, image) in images.chunks(d).enumerate() {
        covariance.extend(theta.chunks(d).take(a + 1).map(|one| dot(image, one)));
    }
    let mean = (0..count).map(|a| covariance[place(a, a)]).sum::<f64>() / count as f64;
    (0..count).for_each(|a| covariance[place(a, a)] += LEAST_SPREAD + RELATIVE_SPREAD * mean);
    cholesky(&covariance, count)
}

/// Probabilities at one point.
struct DrawnLogits {
    /// Contrasts of the logits, then of the probabilities.
    contrasts: Vec<f64>,
    logits: Vec<f64>,
    probabilities: Vec<f64>,
}

impl DrawnLogits {
    fn new(u: &Contrasts) -> Self {
        let classes = vec![0.0; u.classes()];
        Self { contrasts: vec![0.0; u.count()], logits: classes.clone(), probabilities: classes }
    }

    /// a = b + Lg.
    fn take(&mut self, at: &ClassExpectations, g: &[f64], u: &Contrasts) {
        for (a, value) in self.contrasts.iter_mut().enumerate() {
            *value = at.intercepts[a] + dot(&at.factor[place(a, 0)..=place(a, a)], &g[..=a]);
        }
        u.spread(&self.contrasts, &mut self.logits);
        self.probabilities.copy_from_slice(&self.logits);
        softmax(&mut self.probabilities);
        u.of(&self.probabilities, &mut self.contrasts);
    }

    /// Trace of diag p − ppᵀ at a share of the logits: 1 − ‖p‖².
    fn trace(&self, along: f64) -> f64 {
        let mut p: Vec<f64> = self.logits.iter().map(|a| along * a).collect();
        softmax(&mut p);
        1.0 - dot(&p, &p)
    }
}

/// Expectations at one Θ.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassExpectations {
    /// Cθ_a, 0 at the intercept, contrast after contrast.
    images: Vec<f64>,
    /// L, packed.
    factor: Vec<f64>,
    /// b.
    intercepts: Vec<f64>,
    /// E Up.
    contrasts: Vec<f64>,
    /// E w, packed.
    curvature: Vec<f64>,
    /// Trace of the mean of E w between 0 and Θ.
    secant: f64,
}

impl ClassExpectations {
    /// E w, packed.
    pub fn curvature(&self) -> &[f64] {
        &self.curvature
    }

    fn curvature_of(&self, a: usize, b: usize) -> f64 {
        self.curvature[place(a.max(b), a.min(b))]
    }

    /// How much larger the mean curvature between 0 and Θ is than E w, by their traces.
    ///
    /// For two classes the mean curvature is that of Jaakkola and Jordan's bound, tanh(a/2)/(2a): steps by it do not run away.
    pub(super) fn secant(&self) -> f64 {
        self.secant
    }
}

/// H at one Θ: products with it, and all of it.
#[derive(Debug, Clone)]
pub struct ClassSlope<'a> {
    moments: ClassMoments<'a>,
    /// E w, packed.
    curvature: Vec<f64>,
    /// C − FFᵀ, packed, 0 at the intercept.
    left: Vec<f64>,
    /// (F, e), line by line.
    loadings: Vec<f64>,
    /// E[w_ab (g, 1)(g, 1)ᵀ], packed, for each pair a ≥ b.
    weighed: Vec<f64>,
}

impl ClassSlope<'_> {
    fn pair(&self, a: usize, b: usize) -> (f64, &[f64]) {
        let (at, square) = (place(a.max(b), a.min(b)), packed(self.moments.count() + 1));
        (self.curvature[at], &self.weighed[at * square..(at + 1) * square])
    }

    /// HV.
    pub fn times(&self, v: &[f64]) -> Vec<f64> {
        let (count, d, n) = (self.moments.count(), self.moments.inputs.width(), self.moments.inputs.rows());
        let within: Vec<Vec<f64>> = v.chunks(d).map(|one| symmetric_times(&self.left, one)).collect();
        let along: Vec<Vec<f64>> = v
            .chunks(d)
            .map(|one| {
                let mut sum = vec![0.0; count + 1];
                for (x, line) in one.iter().zip(self.loadings.chunks(count + 1)) {
                    sum.iter_mut().zip(line).for_each(|(s, f)| *s += x * f);
                }
                sum
            })
            .collect();
        let mut product = vec![0.0; v.len()];
        for (a, into) in product.chunks_mut(d).enumerate() {
            let mut seen = vec![0.0; count + 1];
            for b in 0..count {
                let (w, weighed) = self.pair(a, b);
                into.iter_mut().zip(&within[b]).for_each(|(sum, x)| *sum += n * w * x);
                let moved = symmetric_times(weighed, &along[b]);
                seen.iter_mut().zip(moved).for_each(|(sum, x)| *sum += n * x);
            }
            for (value, line) in into.iter_mut().zip(self.loadings.chunks(count + 1)) {
                *value += dot(line, &seen);
            }
        }
        product
    }

    /// H, packed: contrast after contrast.
    pub fn packed(&self) -> Vec<f64> {
        let (count, d, n) = (self.moments.count(), self.moments.inputs.width(), self.moments.inputs.rows());
        let mut h = vec![0.0; packed(self.moments.parameters())];
        for a in 0..count {
            for b in 0..=a {
                let (w, weighed) = self.pair(a, b);
                let seen: Vec<Vec<f64>> =
                    self.loadings.chunks(count + 1).map(|line| symmetric_times(weighed, line)).collect();
                for i in 0..d {
                    let line = &self.loadings[i * (count + 1)..][..=count];
                    for j in 0..if a == b { i + 1 } else { d } {
                        let left = self.left[place(i.max(j), i.min(j))];
                        h[place(a * d + i, b * d + j)] = n * (w * left + dot(line, &seen[j]));
                    }
                }
            }
        }
        h
    }
}

#[cfg(test)]
mod tests;
