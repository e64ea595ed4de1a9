//! Mean and variance of the entries of w² zzᵀ, w = min(1, R/‖z‖), for Gaussian rows in the eigenbasis of their covariance.
//!
//! z ~ N(0, diag ω), Q = ‖z‖² = Σ ωₖgₖ² with g standard normal, f(q) = min(1, R²/q) = w². Weighting by gᵢ² is the same as two
//! more degrees of freedom in coordinate i, so with H(t) = E exp(tQ) = Π (1 − 2tωₖ)^(−1/2) and rᵢ = 1/(1 − 2tωᵢ)
//!
//! E[gᵢ² exp(tQ)] = H rᵢ,   E[gᵢ²gⱼ² exp(tQ)] = H rᵢrⱼ (1 + 2δᵢⱼ).
//!
//! What clipping takes away, 1 − f, has the Laplace transform F(t) = ∫ (1 − f(q)) exp(−tq) dq, so by its inversion
//! E[(1 − f(Q)) gᵢ²] = (1/2πi) ∫ F H rᵢ dt over a path from −i∞ to i∞ that passes the real axis between 0 and the first
//! branch point t₁ = 1/(2 max ω). Bent to the right into a parabola t = t₁ − μ(1 + iu)² the integrand falls like exp(−R² Re t),
//! and the trapezoidal rule converges exponentially (Weideman and Trefethen 2007, Math. Comp. 76): two dozen
//! points give six digits.

use crate::linalg::{self, place};
use std::f64::consts::PI;

/// Where the path passes the real axis, in units of t₁: the first at which the integrand is not too large is taken.
const VERTICES: [f64; 4] = [0.5, 0.3, 0.15, 0.05];
/// Logarithm of the largest integrand: digits are lost to cancellation above it.
const LARGE: f64 = 14.0;
/// The error of the trapezoidal rule is about e^(−this), relative to the largest integrand.
const DIGITS: f64 = 16.0;
/// Points at most.
const POINTS: usize = 400;
/// The sum ends at a point that adds less than this.
const SMALL: f64 = 1e-8;
/// Least variance in units of ωᵢωⱼ, and what is added to a singular covariance: above the error of the sum.
const LEAST_VARIANCE: f64 = 1e-5;

/// Moments of one row's w² zzᵀ: entries off the diagonal have mean zero and are correlated with no other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowMoments {
    /// mᵢ = E[w² zᵢ²].
    pub(super) means: Vec<f64>,
    /// vᵢⱼ = Var[w² zᵢzⱼ], packed.
    pub(super) variances: Vec<f64>,
    /// ∂mᵢ/∂ωₖ, row by row.
    pub(super) slopes: Vec<f64>,
}

impl RowMoments {
    /// C = Cov[w² zᵢ², w² zⱼ²], packed: E[w⁴ zᵢ²zⱼ²] − mᵢmⱼ, and E[w⁴ zᵢ²zⱼ²] is the variance of the entry (i, j).
    ///
    /// Where all rows are scaled the entries add up to R², and C has no inverse: a little is added to its diagonal.
    pub(super) fn diagonal_covariance(&self) -> Vec<f64> {
        let mut joint = self.variances.clone();
        for i in 0..self.means.len() {
            (0..i).for_each(|j| joint[place(i, j)] -= self.means[i] * self.means[j]);
            joint[place(i, i)] *= 1.0 + LEAST_VARIANCE;
        }
        joint
    }
}

/// Moments for these eigenvalues, positive, and R² = `squared`, infinite where no row is scaled.
pub(super) fn moments(omega: &[f64], squared: f64) -> RowMoments {
    let p = omega.len();
    let mut sums = Sums::new(p);
    let most = omega.iter().fold(f64::MIN_POSITIVE, |m, v| v.max(m));
    let branch = 0.5 / most;
    // log of H exp(−tR²) where the path passes the axis.
    let size = |vertex: f64| {
        let spread: f64 = omega.iter().map(|w| libm::log1p(-vertex * w / most)).sum();
        -0.5 * spread - vertex * branch * squared
    };
    if size(VERTICES[0]) < -2.0 * DIGITS {
        return sums.moments(omega);
    }
    let vertex = VERTICES.into_iter().find(|v| size(*v) < LARGE).unwrap_or(VERTICES[3]);
    let mu = branch * (1.0 - vertex);
    // With a step of 2π/D the error is e^(−Da) times the integrand on a path moved by a. One way 0 is in reach. The other way
    // lies the branch point, of order n at most: there a = 1 − n/D is best, and gives exp(−D + n + n log(D/n)).
    let (strip, order) = ((1.0 / (1.0 - vertex)).sqrt() - 1.0, p as f64 + 4.0);
    let step = 2.0 * PI / (DIGITS / strip).max(order + DIGITS + (2.0 * DIGITS * order).sqrt());
    let mut ratios = Ratios { re: vec![0.0; p], im: vec![0.0; p] };
    for k in 0..POINTS {
        let u = (k as f64 + 0.5) * step;
        let t = Complex(branch - mu * (1.0 - u * u), -2.0 * mu * u);
        let h = ratios.fill(omega, t);
        let (once, twice) = transforms(t, squared);
        let weight = Complex(1.0, u).times(h).scaled(2.0 * mu * step / PI);
        sums.take(&ratios, t, weight.times(once), weight.times(twice));
        if weight.times(once).size() + weight.times(twice).size() < SMALL {
            break;
        }
    }
    sums.moments(omega)
}

/// rᵢ at one t.
struct Ratios {
    /// Real parts.
    re: Vec<f64>,
    /// Imaginary parts.
    im: Vec<f64>,
}

impl Ratios {
    /// H at t; each root is the one with a positive real part, which no point of the path takes across its cut.
    fn fill(&mut self, omega: &[f64], t: Complex) -> Complex {
        let mut h = Complex(1.0, 0.0);
        for (j, w) in omega.iter().enumerate() {
            let r = Complex(1.0 - 2.0 * t.0 * w, -2.0 * t.1 * w).inverse();
            (self.re[j], self.im[j]) = (r.0, r.1);
            h = h.times(r.root());
        }
        h
    }
}

/// ∫ (1 − f) e^(−tq) dq and ∫ (1 − f²) e^(−tq) dq over q > R².
///
/// With z = tR²: e^(−z)/t − R² E₁(z) and e^(−z)/t − R² E₂(z), where E₂(z) = e^(−z) − z E₁(z).
fn transforms(t: Complex, squared: f64) -> (Complex, Complex) {
    let z = t.scaled(squared);
    let decay = Complex(libm::cos(z.1), -libm::sin(z.1)).scaled(libm::exp(-z.0));
    let first = decay.times(scaled_exponential_integral(z));
    let all = decay.times(t.inverse());
    let second = decay.less(z.times(first));
    (all.less(first.scaled(squared)), all.less(second.scaled(squared)))
}

/// e^z E₁(z), Re z > 0.
///
/// Within a distance of 3 of the origin by E₁(z) = −γ − log z − Σ (−z)ᵏ/(k·k!); beyond by the continued fraction
/// 1/(z + 1 − 1/(z + 3 − 4/(z + 5 − …))) (Abramowitz and Stegun 5.1.11 and 5.1.22).
fn scaled_exponential_integral(z: Complex) -> Complex {
    /// γ.
    const EULER: f64 = 0.577_215_664_901_532_9;
    if z.size() < 3.0 {
        let (mut term, mut sum) = (Complex(1.0, 0.0), Complex(-EULER - libm::log(z.size()), -libm::atan2(z.1, z.0)));
        for k in 1..30 {
            term = term.times(z).scaled(-1.0 / f64::from(k));
            sum = sum.less(term.scaled(1.0 / f64::from(k)));
        }
        return sum.times(Complex(libm::cos(z.1), libm::sin(z.1)).scaled(libm::exp(z.0)));
    }
    /// Levels of the continued fraction.
    const LEVELS: i32 = 24;
    let mut tail = Complex(z.0 + f64::from(2 * LEVELS + 1), z.1);
    for k in (1..=LEVELS).rev() {
        let part = tail.inverse().scaled(f64::from(k * k));
        tail = Complex(z.0 + f64::from(2 * k - 1), z.1).less(part);
    }
    tail.inverse()
}

/// Expectations, 1 less what clipping takes away.
struct Sums {
    /// E[f gᵢ²].
    means: Vec<f64>,
    /// E[f² gᵢ²gⱼ²]/(1 + 2δᵢⱼ), packed.
    squares: Vec<f64>,
    /// ∂E[f gᵢ²]/∂ωⱼ /(1 + 2δᵢⱼ), packed.
    slopes: Vec<f64>,
}

impl Sums {
    /// Of rows that no bound scales.
    fn new(p: usize) -> Self {
        Self { means: vec![1.0; p], squares: vec![1.0; linalg::packed(p)], slopes: vec![0.0; linalg::packed(p)] }
    }

    /// Takes away the part of one point. ∂H/∂ωₖ = t H rₖ and ∂rₖ/∂ωₖ = 2t rₖ².
    fn take(&mut self, ratios: &Ratios, t: Complex, once: Complex, twice: Complex) {
        let mut at = 0;
        for i in 0..self.means.len() {
            let r = Complex(ratios.re[i], ratios.im[i]);
            let (one, two) = (once.times(r), twice.times(r));
            let slope = one.times(t);
            self.means[i] -= one.0;
            let entries = self.squares[at..=at + i].iter_mut().zip(&mut self.slopes[at..=at + i]);
            for ((square, by), (re, im)) in entries.zip(ratios.re.iter().zip(&ratios.im)) {
                *square -= two.0 * re - two.1 * im;
                *by -= slope.0 * re - slope.1 * im;
            }
            at += i + 1;
        }
    }

    /// m = ω E[f g²]; without clipping m = ω and vᵢⱼ = ωᵢωⱼ(1 + δᵢⱼ), the moments of Wishart's distribution.
    fn moments(self, omega: &[f64]) -> RowMoments {
        let p = omega.len();
        let means: Vec<f64> = self.means.iter().zip(omega).map(|(m, w)| m * w).collect();
        let (mut variances, mut slopes) = (self.squares, vec![0.0; p * p]);
        for i in 0..p {
            for j in 0..=i {
                let (at, times) = (place(i, j), if i == j { 3.0 } else { 1.0 });
                let second = times * omega[i] * omega[j] * variances[at];
                let mean = if i == j { means[i] } else { 0.0 };
                variances[at] = (second - mean * mean).max(LEAST_VARIANCE * omega[i] * omega[j]);
                slopes[i * p + j] = times * omega[i] * self.slopes[at];
                slopes[j * p + i] = times * omega[j] * self.slopes[at];
            }
            slopes[i * p + i] += self.means[i];
        }
        RowMoments { means, variances, slopes }
    }
}

/// Real and imaginary part.
#[derive(Debug, Clone, Copy)]
struct Complex(f64, f64);

impl Complex {
    /// The product of two complex numbers.
    fn times(self, other: Self) -> Self {
        Self(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
    }

    /// Times a real number.
    fn scaled(self, by: f64) -> Self {
        Self(self.0 * by, self.1 * by)
    }

    /// The difference.
    fn less(self, other: Self) -> Self {
        Self(self.0 - other.0, self.1 - other.1)
    }

    /// The absolute value.
    fn size(self) -> f64 {
        (self.0 * self.0 + self.1 * self.1).sqrt()
    }

    /// One over it.
    fn inverse(self) -> Self {
        let squared = self.0 * self.0 + self.1 * self.1;
        Self(self.0 / squared, -self.1 / squared)
    }

    /// The square root with a real part that is not negative.
    fn root(self) -> Self {
        let larger = ((self.size() + self.0.abs()) * 0.5).sqrt();
        if larger == 0.0 {
            return Self(0.0, 0.0);
        }
        let smaller = 0.5 * self.1.abs() / larger;
        let (re, im) = if self.0 >= 0.0 { (larger, smaller) } else { (smaller, larger) };
        Self(re, if self.1 < 0.0 { -im } else { im })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::standard_normals;
    use chacha20::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Means and variances over many rows.
    fn simulated(radius: f64, omega: &[f64], rows: usize) -> (Vec<f64>, Vec<f64>) {
        let p = omega.len();
        let mut rng = ChaCha8Rng::from_seed([9; 32]);
        let (mut first, mut second) = (vec![0.0; linalg::packed(p)], vec![0.0; linalg::packed(p)]);
        let mut z = vec![0.0; p];
        for _ in 0..rows {
            standard_normals(&mut rng, &mut z);
            z.iter_mut().zip(omega).for_each(|(z, w)| *z *= w.sqrt());
            let weight = (radius * radius / z.iter().map(|v| v * v).sum::<f64>()).min(1.0);
            for i in 0..p {
                for j in 0..=i {
                    let entry = weight * z[i] * z[j];
                    first[place(i, j)] += entry / rows as f64;
                    second[place(i, j)] += entry * entry / rows as f64;
                }
            }
        }
        let variances = first.iter().zip(&second).map(|(a, b)| b - a * a).collect();
        ((0..p).map(|i| first[place(i, i)]).collect(), variances)
    }

    #[test]
    fn moments_are_those_of_simulated_rows() {
        let cases: [(f64, &[f64]); 6] = [
            (1.0, &[1.0, 1.0]),
            (2.0, &[3.0, 0.1, 0.02]),
            (0.3, &[1.0, 0.5]),
            (3.0, &[0.2, 0.5, 1.0, 1.0, 1.5, 4.0]),
            (3.3, &[1.0; 11]),
            (100.0, &[1.0, 0.5, 2.0]),
        ];
        for (radius, omega) in cases {
            let rows = 200_000;
            let found = moments(omega, radius * radius);
            let (means, variances) = simulated(radius, omega, rows);
            for (i, (a, b)) in found.means.iter().zip(&means).enumerate() {
                let slack = 4.5 * (found.variances[place(i, i)] / rows as f64).sqrt();
                assert!((a - b).abs() < slack, "R = {radius}, ω = {omega:?}: mean {i} is {a}, simulated {b}");
            }
            for (a, b) in found.variances.iter().zip(&variances) {
                assert!((a / b - 1.0).abs() < 0.03, "R = {radius}, ω = {omega:?}: variance {a}, simulated {b}");
            }
        }
    }

    /// Where all ω are one, Q is χ² and everything is an integral over its density.
    #[test]
    fn moments_of_equal_eigenvalues_are_integrals_over_chi_square() {
        for (p, radius) in [(2_usize, 1.0), (2, 2.5), (4, 1.7), (11, 3.0), (11, 4.5), (30, 2.0)] {
            let found = moments(&vec![1.0; p], radius * radius);
            // E[f gᵢ²] = E[f Q]/p; E[f² gᵢ⁴] = 3 E[f² Q²]/(p(p + 2)).
            let (steps, end) = (400_000, 150.0);
            let (mut mass, mut once, mut twice) = (0.0, 0.0, 0.0);
            for k in 0..steps {
                let q = (f64::from(k) + 0.5) * end / f64::from(steps);
                let density = libm::exp((0.5 * p as f64 - 1.0) * libm::log(q) - 0.5 * q);
                let held = q.min(radius * radius);
                mass += density;
                once += density * held;
                twice += density * held * held;
            }
            let mean = once / mass / p as f64;
            let variance = 3.0 * twice / mass / (p * (p + 2)) as f64 - mean * mean;
            assert!((found.means[0] / mean - 1.0).abs() < 1e-6, "p = {p}, R = {radius}: {} {mean}", found.means[0]);
            assert!(
                (found.variances[0] / variance - 1.0).abs() < 1e-4,
                "p = {p}, R = {radius}: {} {variance}",
                found.variances[0]
            );
        }
    }

    #[test]
    fn slopes_are_those_of_the_means() {
        for (radius, omega) in
            [(2.0, vec![3.0, 0.1, 0.5]), (3.0, vec![1.0, 1.2, 0.8, 2.0, 0.4]), (50.0, vec![1.0, 2.0])]
        {
            let (p, here) = (omega.len(), moments(&omega, radius * radius));
            for k in 0..p {
                let moved = |by: f64| {
                    let mut there = omega.clone();
                    there[k] += by;
                    moments(&there, radius * radius).means
                };
                let (more, less) = (moved(1e-4), moved(-1e-4));
                for i in 0..p {
                    let expected = (more[i] - less[i]) / 2e-4;
                    let found = here.slopes[i * p + k];
                    assert!((found - expected).abs() < 1e-4, "R = {radius}: ∂m{i}/∂ω{k} = {found}, not {expected}");
                }
            }
        }
    }

    /// E₁ on the real axis: Abramowitz and Stegun, table 5.1; off it, the two ways agree where they meet.
    #[test]
    fn the_exponential_integral_is_that_of_the_tables() {
        for (x, expected) in [(0.5, 0.559_773_594_8), (1.0, 0.219_383_934_4), (2.0, 0.048_900_510_7)] {
            let found = scaled_exponential_integral(Complex(x, 0.0)).0 * libm::exp(-x);
            assert!((found - expected).abs() < 1e-9, "{x}: {found}");
        }
        for angle in [0.0, 0.4, -0.9, 1.2] {
            let at = |size: f64| scaled_exponential_integral(Complex(size * libm::cos(angle), size * libm::sin(angle)));
            let gap = at(3.0 - 1e-10).less(at(3.0 + 1e-10)).size();
            assert!(gap < 1e-7, "{angle}: {gap}");
        }
    }
}
