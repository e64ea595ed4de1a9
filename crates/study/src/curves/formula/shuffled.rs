//! δ of shuffled answers with Gaussian noise, by sums on a lattice.

use super::phi;
use privacy::Bounds;

/// Step of the lattice of likelihood ratios.
const STEP: f64 = 0.005;

/// How far out, in standard deviations, a user's answer is followed: what lies beyond is worth less than 1e-9.
const REACH: f64 = 6.5;

/// What rounding may have taken from sums of up to 10⁵ products of positive numbers, as a share.
const ROUNDING: f64 = 1e-10;

/// The law of L = (1/n) Σ W_i with W_i = e^{Z_i/σ − 1/2σ²}, Z_i standard normal, on a lattice.
///
/// Koskela, Heikkilä, Honkela 2023, appendix C.2: of n users all have the value 0 under Q, and one has 1 under P. L is the
/// ratio dP/dQ of the shuffled answers, so H_{e^ε}(P ‖ Q) = E[(L − e^ε)₊]. The paper takes 5·10⁷ draws for it.
///
/// Each W up to `REACH` is replaced by the two ends of its cell with the same mean: an upper law in convex order, which independent sums
/// keep. It exceeds the truth by at most (h/4)·max_cell P(W in cell): only where the kink of (· − e^ε)₊ lies in the cell does a
/// replacement matter, then by at most h/4n, for each of n users. The tail of W adds E[W; Z > REACH] = Φ(1/σ − REACH) at most.
pub(super) struct MeanRatio {
    users: f64,
    /// P(ΣW = jh).
    law: Vec<f64>,
    /// What the truth may lie below.
    slack: f64,
    /// What the tail may add.
    tail: f64,
}

impl MeanRatio {
    pub(super) fn new(users: u64, deviation: f64) -> Self {
        let (one, widest) = cells(deviation);
        let mut law = one.clone();
        for _ in 1..users {
            law = sum_of(&law, &one);
        }
        Self { users: users as f64, law, slack: 0.25 * STEP * widest, tail: phi(1.0 / deviation - REACH) }
    }

    /// E[(L − c)₊], enclosed. No W is less than its replacement less h, so that a second lower end is that of the lattice at c + h, which
    /// is the better one where the value is small.
    pub(super) fn excess(&self, c: f64) -> Bounds {
        let (sum, shifted) = (self.over(c), self.over(c + STEP));
        let lower = (sum * (1.0 - ROUNDING) - self.slack - self.tail).max(shifted * (1.0 - ROUNDING));
        Bounds::between(lower, sum * (1.0 + ROUNDING) + self.tail)
    }

    /// E[(L − c)₊] of the lattice.
    fn over(&self, c: f64) -> f64 {
        let over = |(at, p): (usize, &f64)| (at as f64 * STEP / self.users - c).max(0.0) * p;
        self.law.iter().enumerate().map(over).sum()
    }
}

/// The upper law of one W on the lattice, and the largest probability of a cell.
///
/// With z the places of the cell's ends, P(cell) = Φ(z₂) − Φ(z₁) and E[W; cell] = Φ(z₂ − 1/σ) − Φ(z₁ − 1/σ).
fn cells(deviation: f64) -> (Vec<f64>, f64) {
    let shift = 1.0 / deviation;
    let place = |w: f64| if w > 0.0 { (w.ln() + 0.5 * shift * shift) * deviation } else { f64::NEG_INFINITY };
    let top = (REACH * shift - 0.5 * shift * shift).exp();
    let count = (top / STEP).ceil() as usize;
    let (mut law, mut widest) = (vec![0.0; count + 1], 0.0_f64);
    for cell in 0..count {
        let (low, high) = (cell as f64 * STEP, (cell + 1) as f64 * STEP);
        let (from, to) = (place(low), place(high));
        // Differences of upper tails on the right, so that small probabilities keep their digits.
        let between = |a: f64, b: f64| if a > 0.0 { phi(-a) - phi(-b) } else { phi(b) - phi(a) };
        let (mass, mean) = (between(from, to), between(from - shift, to - shift));
        let upper = ((mean - low * mass) / STEP).clamp(0.0, mass);
        law[cell] += mass - upper;
        law[cell + 1] += upper;
        widest = widest.max(mass);
    }
    // What lies beyond counts as 0 here, and as the tail elsewhere.
    law[0] += (1.0 - law.iter().sum::<f64>()).max(0.0);
    (law, widest)
}

/// The law of the sum of two independent numbers on the lattice.
fn sum_of(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; a.len() + b.len() - 1];
    for (at, &p) in a.iter().enumerate().filter(|(_, p)| **p > 0.0) {
        for (total, &q) in sum[at..].iter_mut().zip(b) {
            *total += p * q;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one user the answer is Gaussian noise itself: δ(ε) = Φ(1/2σ − εσ) − e^ε Φ(−1/2σ − εσ) (Balle, Wang 2018).
    #[test]
    fn of_one_user_it_is_the_analytic_gaussian() {
        for deviation in [1.5, 2.0, 5.0] {
            let mean = MeanRatio::new(1, deviation);
            for epsilon in [0.0_f64, 0.1, 0.5, 1.0] {
                let (half, far) = (0.5 / deviation, epsilon * deviation);
                let exact = phi(half - far) - epsilon.exp() * phi(-half - far);
                let found = mean.excess(epsilon.exp());
                assert!(found.lower <= exact && exact <= found.upper, "{deviation} {epsilon}: {found:?} {exact}");
                assert!(found.upper - found.lower < 2e-5, "{found:?}");
            }
        }
    }

    /// Of more users: SciPy's quadrature of the double integral for n = 2, σ = 2.
    #[test]
    fn of_two_users_it_is_a_double_integral() {
        let mean = MeanRatio::new(2, 2.0);
        for (epsilon, exact) in REFERENCE {
            let found = mean.excess(f64::exp(epsilon));
            assert!(found.lower <= exact + 1e-9 && exact <= found.upper + 1e-9, "{epsilon}: {found:?} {exact}");
        }
    }

    /// ε and E[(L − e^ε)₊].
    const REFERENCE: [(f64, f64); 3] =
        [(0.0, 0.14402832476240607), (0.25, 0.059802832710352714), (0.5, 0.018326594760939723)];

    #[test]
    fn more_users_hide_more() {
        let at = |users| MeanRatio::new(users, 2.0).excess(f64::exp(0.2));
        let found = [1, 2, 3, 4].map(at);
        assert!(found.windows(2).all(|two| two[1].upper < two[0].lower), "{found:?}");
    }
}
