//! How many log-ratios of rows are clipped: the mixture of Heikkilä et al. 2019, section 4, by quadrature.

use privacy::Bounds;
use std::f64::consts::TAU;

/// Variance of each half of the mixture.
const VARIANCE: f64 = 2.0;

/// Where a chain stands: the θ that the paper's rows are drawn with.
const PLACE: [f64; 2] = [0.0, 1.0];

/// Rows are followed from 6 standard deviations under the lower half to as many over the upper one.
const REACH: f64 = 8.5;

/// How far out, in standard deviations, proposals are followed: e^{−r²/2} is 1e-7 beyond.
const FARTHEST: f64 = 5.7;

/// P(|log p(x | θ′) − log p(x | θ)| > B) for x ~ ½N(θ₁, 2) + ½N(θ₁ + θ₂, 2), θ = (0, 1) and θ′ ~ N(θ, v·I).
///
/// The condition that it breaks is (19), or (23) where the posterior is tempered. Rows, directions and lengths of proposals lie on a
/// grid, and the places where a log-ratio crosses ±B are found between neighbours along each direction. The bounds are those of the value and of
/// twice the change that half the grid makes: an estimate of the quadrature's error, not a proof.
pub(super) fn clipped(bound: f64, variance: f64) -> Option<Bounds> {
    if !(variance > 0.0 && variance.is_finite()) {
        return None;
    }
    let (coarse, fine) = (share(bound, variance, 1), share(bound, variance, 2));
    let slack = 2.0 * (fine - coarse).abs();
    Some(Bounds { lower: (fine - slack).max(0.0), upper: (fine + slack).min(1.0) })
}

/// The share on a grid of this fineness.
fn share(bound: f64, variance: f64, fineness: usize) -> f64 {
    let (rows, directions, lengths) = (60 * fineness, 16 * fineness, 40 * fineness);
    let deviation = variance.sqrt();
    let width = (2.0 * REACH + PLACE[1]) / rows as f64;
    let row = |at: usize| {
        let x = PLACE[0] - REACH + (at as f64 + 0.5) * width;
        let here = log_density(x, PLACE);
        let beyond = (0..directions).map(|turn| {
            let (sin, cos) = ((turn as f64 + 0.5) / directions as f64 * TAU).sin_cos();
            let excess = |length: f64| {
                let there = [PLACE[0] + deviation * length * cos, PLACE[1] + deviation * length * sin];
                (log_density(x, there) - here).abs() - bound
            };
            outside(excess, lengths)
        });
        here.exp() * beyond.sum::<f64>() / directions as f64
    };
    let mass = |at: usize| log_density(PLACE[0] - REACH + (at as f64 + 0.5) * width, PLACE).exp();
    (0..rows).map(row).sum::<f64>() / (0..rows).map(mass).sum::<f64>()
}

/// P(excess(R) > 0) for R² ~ χ² of two degrees of freedom, whose tail is e^{−r²/2}.
fn outside(excess: impl Fn(f64) -> f64, lengths: usize) -> f64 {
    let step = FARTHEST / lengths as f64;
    let tail = |r: f64| (-0.5 * r * r).exp();
    let (mut total, mut before) = (0.0, excess(0.0));
    for at in 1..=lengths {
        let (left, right) = ((at - 1) as f64 * step, at as f64 * step);
        let now = excess(right);
        let crossing = left + step * before / (before - now);
        total += match (before > 0.0, now > 0.0) {
            (true, true) => tail(left) - tail(right),
            (false, true) => tail(crossing) - tail(right),
            (true, false) => tail(left) - tail(crossing),
            (false, false) => 0.0,
        };
        before = now;
    }
    total + if before > 0.0 { tail(FARTHEST) } else { 0.0 }
}

/// log p(x | θ).
fn log_density(x: f64, [first, second]: [f64; 2]) -> f64 {
    let half = |mean: f64| (-0.5 * (x - mean) * (x - mean) / VARIANCE).exp();
    (0.5 * (half(first) + half(first + second)) / (TAU * VARIANCE).sqrt()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against draws of rows and proposals.
    #[test]
    fn shares_are_those_of_draws() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut normal = || (-2.0 * uniform().ln()).sqrt() * (TAU * uniform()).cos();
        for (bound, variance) in [(0.316, 0.1_f64), (0.316, 0.01)] {
            let draws = 100_000;
            let hit = (0..draws).filter(|draw| {
                let x = f64::from(draw % 2) + VARIANCE.sqrt() * normal();
                let there = [variance.sqrt() * normal(), 1.0 + variance.sqrt() * normal()];
                (log_density(x, there) - log_density(x, PLACE)).abs() > bound
            });
            let drawn = hit.count() as f64 / f64::from(draws);
            let found = clipped(bound, variance).unwrap();
            let slack = 4.0 * (drawn / f64::from(draws)).sqrt();
            assert!(found.lower - slack <= drawn && drawn <= found.upper + slack, "{found:?} {drawn}");
            assert!(found.upper - found.lower < 0.1 * found.upper, "{found:?}");
        }
    }

    #[test]
    fn wider_proposals_and_tighter_bounds_clip_more() {
        let at = |bound, variance| clipped(bound, variance).unwrap().upper;
        assert!(at(0.3, 0.001) < at(0.3, 0.01) && at(0.3, 0.01) < at(0.3, 0.1) && at(0.1, 0.01) > at(0.3, 0.01));
        assert!(clipped(0.3, 0.0).is_none());
    }
}
