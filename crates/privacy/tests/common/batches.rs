//! Releases of Barker tests computed from their batches in plain arithmetic, as the reference for the accountants.
#![allow(dead_code)] // each test binary uses its own part

/// Pseudo-random numbers of a fixed seed (splitmix64).
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    /// From 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Often an end of the range: worst cases are there.
    pub(crate) fn end_or_between(&mut self, low: f64, high: f64) -> f64 {
        match (6.0 * self.unit()) as u32 {
            0 => low,
            1 => high,
            _ => self.between(low, high),
        }
    }
}

/// One release: N(mean, variance).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Release {
    /// N(√b ū, 1 + L − s²) of a batch.
    pub(crate) fn of(others: &[f64], u: f64, slack: f64) -> Self {
        let b = others.len() as f64 + 1.0;
        let mean = (others.iter().sum::<f64>() + u) / b;
        let spread = others.iter().chain([&u]).map(|x| (x - mean) * (x - mean)).sum::<f64>() / b;
        Self { mean: b.sqrt() * mean, variance: 1.0 + slack - spread }
    }

    /// H_γ(self ‖ other) at γ = e^log.
    pub(crate) fn hockey_stick(&self, other: &Self, log: f64) -> f64 {
        let theta = (self.mean - other.mean).abs() / self.variance.sqrt();
        hockey_stick(theta, other.variance / self.variance, log)
    }

    /// D_α(self ‖ other) (Gil, Alajaji, Linder 2013).
    pub(crate) fn renyi(&self, other: &Self, order: f64) -> f64 {
        let (v1, v2) = (self.variance, other.variance);
        let mixed = order * v2 + (1.0 - order) * v1;
        if mixed <= 0.0 {
            return f64::INFINITY;
        }
        let moved = (self.mean - other.mean) * (self.mean - other.mean);
        0.5 * (v2 / v1).ln() - 0.5 / (order - 1.0) * (mixed / v2).ln() + 0.5 * order * moved / mixed
    }

    fn density(&self, x: f64) -> f64 {
        let z = (x - self.mean) / self.variance.sqrt();
        (-0.5 * z * z).exp() / (std::f64::consts::TAU * self.variance).sqrt()
    }
}

fn phi(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// G_γ(θ, η) = H_γ(N(0, 1) ‖ N(θ, η)) at γ = e^log, by the roots of the quadratic log ratio.
pub(crate) fn hockey_stick(theta: f64, eta: f64, log: f64) -> f64 {
    if log < 0.0 {
        // H_γ(P ‖ Q) = 1 − γ + γ H_{1/γ}(Q ‖ P).
        return -libm::expm1(log) + log.exp() * hockey_stick(theta / eta.sqrt(), 1.0 / eta, -log);
    }
    let q = |x: f64| phi((x - theta) / eta.sqrt());
    let (a, b) = ((1.0 - eta) / eta, theta / eta);
    let c = theta * b + eta.ln() - 2.0 * log;
    if a.abs() < 1e-13 {
        if b == 0.0 {
            return 0.0;
        }
        let s = 0.5 * c / b;
        return phi(s) - log.exp() * q(s);
    }
    let inside = b * b - a * c;
    if inside <= 0.0 {
        return 0.0;
    }
    let far = b + inside.sqrt();
    let (s, t) = (c / far, far / a);
    // η < 1: left of s and right of t. η > 1: t < s, and between them.
    let right = phi(-t) - log.exp() * phi((theta - t) / eta.sqrt());
    let left = phi(s) - log.exp() * q(s);
    let value = if a > 0.0 { left + right } else { left - (phi(t) - log.exp() * q(t)) };
    value.max(0.0)
}

/// (θ(m), ξ(m)) of the dominating family.
pub(crate) fn member(b: f64, slack: f64, m: f64) -> (f64, f64) {
    let below = b * (slack + m * m);
    ((4.0 / below).sqrt(), 4.0 * m / below)
}

/// D_α of the pair of batches of ±1 that comes closest to Theorem 1 at L = 1.
pub(crate) fn sharpest(b: u64, order: f64) -> f64 {
    let size = b as f64;
    // b M2 = 2·ups − b with `ups` ones among the others; wanted is 2(α − 1).
    let ups = ((2.0 * (order - 1.0) + size) / 2.0).round() as usize;
    let others: Vec<f64> = (0..b as usize - 1).map(|i| if i < ups { 1.0 } else { -1.0 }).collect();
    let [p, q] = [1.0, -1.0].map(|u| Release::of(&others, u, 1.0));
    p.renyi(&q, order)
}

/// The release of a batch of b out of n rows: `ups` of the others are +1, the rest −1, and one row is u. (Weight, release.)
pub(crate) fn drawn(b: u64, n: u64, ups: u64, u: f64, slack: f64) -> Vec<(f64, Release)> {
    let mut out = Vec::new();
    for (rows, share) in [(b - 1, b as f64 / n as f64), (b, 1.0 - b as f64 / n as f64)] {
        for k in 0..=rows.min(ups) {
            let weight = share * hypergeometric(n - 1, ups, rows, k);
            if weight > 0.0 {
                let mut values: Vec<f64> = (0..rows).map(|i| if i < k { 1.0 } else { -1.0 }).collect();
                let last = if rows < b { u } else { values.pop().unwrap() };
                out.push((weight, Release::of(&values, last, slack)));
            }
        }
    }
    out
}

/// P(k of `marked` among `drawn` of `all`).
fn hypergeometric(all: u64, marked: u64, drawn: u64, k: u64) -> f64 {
    if k > marked || drawn < k || drawn - k > all - marked {
        return 0.0;
    }
    let ln_choose = |n: u64, k: u64| {
        let ln = |n: u64| libm::lgamma(n as f64 + 1.0);
        ln(n) - ln(k) - ln(n - k)
    };
    (ln_choose(marked, k) + ln_choose(all - marked, drawn - k) - ln_choose(all, drawn)).exp()
}

/// ∫ (p − γq)₊ of two mixtures at γ = e^log, by the trapezoid rule.
pub(crate) fn hockey_stick_of_mixtures(p: &[(f64, Release)], q: &[(f64, Release)], log: f64) -> f64 {
    let density = |mixture: &[(f64, Release)], x: f64| mixture.iter().map(|(w, r)| w * r.density(x)).sum::<f64>();
    let step = 1e-3;
    let sum: f64 = (-20_000..=20_000)
        .map(|k| f64::from(k) * step)
        .map(|x| (density(p, x) - log.exp() * density(q, x)).max(0.0))
        .sum();
    sum * step
}
