//! Σ ω (e^{iul} − 1) on the grid u = k·du, by rotations with a bounded error.
//!
//! A grid of frequencies is walked by multiplying with one rotation each, instead of a sine and a cosine for every point. The error grows
//! with the number of rotations and is part of the bound; every 32 rotations start from a coarse state.

/// Rotations between two coarse states.
const BLOCK: usize = 32;

/// Nodes that are rotated together.
const TILE: usize = 256;

/// e^{iθ} − 1 = −2 sin²(θ/2) + 2i sin(θ/2) cos(θ/2): no cancellation for small θ.
fn rotation(theta: f64) -> (f64, f64) {
    let (sin, cos) = libm::sincos(0.5 * theta);
    (-2.0 * sin * sin, 2.0 * sin * cos)
}

/// Real and imaginary parts of e^{iθ} − 1 for the nodes of a tile.
struct States {
    re: [f64; TILE],
    im: [f64; TILE],
}

impl States {
    const ZERO: Self = Self { re: [0.0; TILE], im: [0.0; TILE] };

    /// The rotations by scale·l.
    fn new(loss: &[f64], scale: f64) -> Self {
        let mut states = Self::ZERO;
        for (j, l) in loss.iter().enumerate() {
            (states.re[j], states.im[j]) = rotation(scale * l);
        }
        states
    }

    /// v ← v + g + v g: since e^{i(θ+h)} − 1 = v + g + v g.
    fn turn(&mut self, by: &Self, n: usize) {
        for j in 0..n {
            let (vr, vi, gr, gi) = (self.re[j], self.im[j], by.re[j], by.im[j]);
            self.re[j] = (vr + gr) + (vr * gr - vi * gi);
            self.im[j] = (vi + gi) + (vr * gi + vi * gr);
        }
    }

    /// Σ ω v over the tile in four lanes, and the turn to the next angle.
    fn sum_and_turn(&mut self, by: &Self, omega: &[f64; TILE], n: usize) -> (f64, f64) {
        let (mut re, mut im) = ([0.0; 4], [0.0; 4]);
        for start in (0..n).step_by(4) {
            for lane in 0..4 {
                let j = start + lane;
                let (vr, vi, gr, gi) = (self.re[j], self.im[j], by.re[j], by.im[j]);
                re[lane] += omega[j] * vr;
                im[lane] += omega[j] * vi;
                self.re[j] = (vr + gr) + (vr * gr - vi * gi);
                self.im[j] = (vi + gi) + (vr * gi + vi * gr);
            }
        }
        ((re[0] + re[1]) + (re[2] + re[3]), (im[0] + im[1]) + (im[2] + im[3]))
    }
}

/// Σ_j ω_j (e^{i k du l_j} − 1) for k = 0, 1, … as (real, imaginary) into `out`.
///
/// Error. A state after k = b·BLOCK + m turns comes from b coarse and m fine ones. One turn adds at most
/// √2 u(|v| + |g| + |v'| + 2|v||g|) of rounding, and |g| 20u from sincos within 4 ulp and the rounded angle; moduli are
/// kept by the turn, as |1+g| = 1. With |v| ≤ |k du l| the sum of all this is at most
/// `turn_units(n)`·u·|k du l| (docs/maths/contour.md). Adding up a tile and the tiles costs `sum_units` more.
pub(super) fn characteristic(loss: &[f64], omega: &[f64], du: f64, out: &mut [(f64, f64)]) {
    out.fill((0.0, 0.0));
    for (loss, weights) in loss.chunks(TILE).zip(omega.chunks(TILE)) {
        let n = loss.len().next_multiple_of(4);
        let mut omega = [0.0; TILE];
        omega[..weights.len()].copy_from_slice(weights);
        let fine = States::new(loss, du);
        let coarse = States::new(loss, du * BLOCK as f64);
        let mut start = States::ZERO;
        for block in out.chunks_mut(BLOCK) {
            let mut now = States { re: start.re, im: start.im };
            for sum in block {
                let (re, im) = now.sum_and_turn(&fine, &omega, n);
                *sum = (sum.0 + re, sum.1 + im);
            }
            start.turn(&coarse, n);
        }
    }
}

/// Error of a state in units of round-off times |k du l|, for k < n.
pub(super) fn turn_units(n: usize) -> f64 {
    3.0 * BLOCK as f64 + 1.5 * (n / BLOCK) as f64 + 64.0
}

/// Error of the summation over `nodes` nodes in units of round-off, relative to Σ ω|v|.
pub(super) fn sum_units(nodes: usize) -> f64 {
    (TILE / 4 + 4 + nodes / TILE) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::contour::segment::U;
    use crate::accounting::double::{Double, TAU};

    #[test]
    fn sums_agree_with_direct_ones_within_the_stated_error() {
        let loss: Vec<f64> = (0..600).map(|j| 0.003 * f64::from(j) - 0.4).collect();
        let omega: Vec<f64> = (0..600).map(|j| 1.0 / (1.0 + f64::from(j))).collect();
        let (du, n) = (0.37, 500);
        let mut out = vec![(0.0, 0.0); n];
        characteristic(&loss, &omega, du, &mut out);
        let scale: f64 = loss.iter().zip(&omega).map(|(l, w)| w * l.abs()).sum();
        for (k, sum) in out.iter().enumerate() {
            let u = k as f64 * du;
            let direct = loss.iter().zip(&omega).fold((0.0, 0.0), |(re, im), (l, w)| {
                let (a, b) = rotation(u * l);
                (re + w * a, im + w * b)
            });
            let allowed = U * scale * u * (turn_units(n) + 2.0 * sum_units(600) + 40.0);
            assert!((sum.0 - direct.0).abs() <= allowed && (sum.1 - direct.1).abs() <= allowed, "{k}");
        }
    }

    /// One node of weight 1, for which nothing is summed: all that is off is the turning.
    #[test]
    fn turns_stay_within_their_units() {
        let n = 3000;
        for (l, du) in [(0.7, 0.01), (-0.3, 0.11), (2.9, 0.37)] {
            let mut out = vec![(0.0, 0.0); n];
            characteristic(&[l], &[1.0], du, &mut out);
            let mut most = 0.0_f64;
            for (k, sum) in out.iter().enumerate().skip(1) {
                let angle = Double::of(k as f64).times(Double::of(du)).times(Double::of(l));
                let whole = (angle.0 / std::f64::consts::TAU).round();
                let (cos, sin) = angle.minus(TAU.times(Double::of(whole))).cos_sin();
                let off = cos.minus(Double::of(1.0)).off(sum.0).hypot(sin.off(sum.1));
                most = most.max(off / (U * angle.0.abs()));
                assert!(off <= U * angle.0.abs() * turn_units(n), "{l} {du} {k}: {off:e}");
            }
            assert!(most > 0.3, "{l} {du}: {most}: the turning must show");
        }
    }

    /// The first turn of many nodes: their states are single rotations, and all that is off is the sum.
    #[test]
    fn sums_stay_within_their_units() {
        let (du, many) = (0.1, 5000_u32);
        let loss: Vec<f64> = (0..many).map(|j| 0.9 * libm::sin(f64::from(j))).collect();
        let omega: Vec<f64> = (0..many).map(|j| 1.0 + 0.5 * libm::cos(0.7 * f64::from(j))).collect();
        let mut out = vec![(0.0, 0.0); 2];
        characteristic(&loss, &omega, du, &mut out);
        let (mut re, mut size) = (Double::of(0.0), 0.0);
        for (l, w) in loss.iter().zip(&omega) {
            let term = rotation(du * l).0;
            re = re.plus(Double::of(term).times(Double::of(*w)));
            size += (w * term).abs();
        }
        let off = re.off(out[1].0).abs();
        assert!(off > 0.0 && off <= U * sum_units(loss.len()) * size, "{off:e} {size}");
    }
}
