//! The lemmas under the bounds of Barker tests (`docs/maths/dp-mcmc.md`), one by one and numerically.

use crate::batches::{Release, SplitMix, hockey_stick, member};

/// A pair of neighbouring batches by its letters: the others have mean m and variance V0, and one row is u1 or u2, u1 > u2.
#[derive(Debug, Clone, Copy)]
struct BatchNeighbours {
    b: f64,
    slack: f64,
    m: f64,
    v0: f64,
    u: [f64; 2],
}

impl BatchNeighbours {
    /// At the largest V0 = 1 − m².
    fn worst(b: f64, slack: f64, m: f64, u: [f64; 2]) -> Self {
        let u = if u[0] > u[1] { u } else { [u[1], u[0]] };
        Self { b, slack, m, v0: 1.0 - m * m, u }
    }

    fn random(b: f64, slack: f64, numbers: &mut SplitMix) -> Self {
        let mut any = || numbers.end_or_between(-1.0, 1.0);
        let (m, u) = (any(), [any(), any()]);
        Self::worst(b, slack, m, u)
    }

    fn p(&self) -> f64 {
        (self.b - 1.0) / self.b
    }

    /// u1 − u2.
    fn d(&self) -> f64 {
        self.u[0] - self.u[1]
    }

    /// M_k: means of the batches.
    fn mean(&self, k: usize) -> f64 {
        self.p() * self.m + self.u[k] / self.b
    }

    /// v_k, by Lemma 1(a).
    fn variance(&self, k: usize) -> f64 {
        let away = self.u[k] - self.m;
        1.0 + self.slack - self.p() * self.v0 - self.p() / self.b * away * away
    }

    fn release(&self, k: usize) -> Release {
        Release { mean: self.b.sqrt() * self.mean(k), variance: self.variance(k) }
    }

    /// w = v2 − v1, and e = σ − M1 − M2.
    fn changes(&self) -> (f64, f64) {
        let e = self.u[0] + self.u[1] - self.mean(0) - self.mean(1);
        (self.variance(1) - self.variance(0), e)
    }
}

const SETTINGS: [(f64, f64); 8] =
    [(7.0, 1.0), (10.0, 1.0), (20.0, 1.0), (20.0, 3.0), (100.0, 1.0406), (1000.0, 1.0), (1000.0, 3.0), (1e4, 1.0)];

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-13 * (1.0 + a.abs())
}

/// Lemma 1 against means and variances of real batches.
#[test]
fn lemma_1_identities() {
    let mut numbers = SplitMix(1);
    for _ in 0..2000 {
        let b = 7 + (60.0 * numbers.unit()) as usize;
        let slack = numbers.between(1.0, 3.0);
        let others: Vec<f64> = (0..b - 1).map(|_| numbers.end_or_between(-1.0, 1.0)).collect();
        let m = others.iter().sum::<f64>() / others.len() as f64;
        let v0 = others.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / others.len() as f64;
        let u = [numbers.between(0.0, 1.0), numbers.between(-1.0, 0.0)];
        let real = BatchNeighbours { b: b as f64, slack, m, v0, u };
        let worst = BatchNeighbours::worst(b as f64, slack, m, u);
        let tau = real.p() * (1.0 - m * m - v0);
        assert!(tau >= -1e-15);
        for (k, &changed) in u.iter().enumerate() {
            let release = Release::of(&others, changed, slack);
            assert!(close(real.variance(k), release.variance) && close(real.release(k).mean, release.mean));
            let least = slack + (1.0 - changed * changed) / real.b + real.mean(k).powi(2);
            assert!(close(worst.variance(k), least) && close(real.variance(k), least + tau));
        }
        let ((w, e), d, alpha) = (worst.changes(), worst.d(), numbers.between(1.01, 0.5 * real.b));
        assert!(close(w, d / real.b * e) && close(real.changes().0, w));
        let t = worst.mean(1) - (alpha - 1.0) * d / real.b;
        let mixed = alpha * worst.variance(1) + (1.0 - alpha) * worst.variance(0);
        let lemma = slack + ((1.0 - u[1] * u[1]) + (alpha - 1.0) * d * (u[0] + u[1])) / real.b + t * t
            - alpha * (alpha - 1.0) * d * d / (real.b * real.b);
        assert!(close(mixed, lemma), "{mixed} {lemma}");
        assert!(close(e, u[0] + u[1] - 2.0 * t - (2.0 * alpha - 1.0) * d / real.b));
    }
}

/// Lemma 2: every divergence is largest at the largest variance of the others.
#[test]
fn lemma_2_the_others_vary_most_in_the_worst_case() {
    let mut numbers = SplitMix(2);
    for _ in 0..3000 {
        let (b, slack) = SETTINGS[(8.0 * numbers.unit()) as usize];
        let worst = BatchNeighbours::random(b, slack, &mut numbers);
        let less = BatchNeighbours { v0: worst.v0 * numbers.unit(), ..worst };
        let order = numbers.between(1.01, 0.3 * b);
        let at = |p: &BatchNeighbours, order: f64| p.release(0).renyi(&p.release(1), order);
        assert!(at(&less, order) <= at(&worst, order) * (1.0 + 1e-9) + 1e-14, "{worst:?} {less:?}");
        let log = numbers.between(-1.0, 3.0) * 2.0 / (b * slack).sqrt();
        let at = |p: &BatchNeighbours| p.release(0).hockey_stick(&p.release(1), log);
        assert!(at(&less) <= at(&worst) + 1e-14, "{worst:?} {less:?}");
    }
}

/// Points of a grid and random ones, ends included.
fn points(b: f64, slack: f64, numbers: &mut SplitMix) -> Vec<BatchNeighbours> {
    let grid = |k: u32| f64::from(k) / 5.0 - 1.0;
    let mut out: Vec<BatchNeighbours> = (0..11 * 11 * 11)
        .map(|i| BatchNeighbours::worst(b, slack, grid(i % 11), [grid(i / 11 % 11), grid(i / 121)]))
        .collect();
    out.extend((0..6000).map(|_| BatchNeighbours::random(b, slack, numbers)));
    out.retain(|point| point.d() > 1e-9);
    out
}

/// Theorem 1 with the steps of its proof: the bounds of g, (★) in both cases, and the bound itself.
#[test]
fn theorem_1_and_its_margins() {
    let mut numbers = SplitMix(3);
    for (b, slack) in SETTINGS {
        for point in points(b, slack, &mut numbers) {
            let order = numbers.end_or_between(1.0 + 1e-3, (b - 4.0) / 2.0);
            let ((w, e), d) = (point.changes(), point.d());
            let (v1, v2) = (point.variance(0), point.variance(1));
            let mixed = order * v2 + (1.0 - order) * v1;
            let least = if w < 0.0 { mixed } else { v1 };
            let room = slack - 4.0 * order * order / (b * b);
            let margin = 4.0 / (d * d) * least - room * (1.0 + e * e / (2.0 * b * v2));
            assert!(margin >= -1e-12 * (1.0 + 4.0 / (d * d)), "{point:?} α {order}: (★) {margin}");
            let g = 0.5 * (v2 / v1).ln() - 0.5 / (order - 1.0) * (mixed / v2).ln();
            let bound = order / 4.0 * w * w / (v2 * least);
            assert!((-1e-12..=bound + 1e-12).contains(&g), "{point:?} α {order}: g {g} {bound}");
            let divergence = point.release(0).renyi(&point.release(1), order);
            assert!(divergence <= 2.0 * order / (b * room) * (1.0 + 1e-9) + 1e-12, "{point:?} α {order}");
        }
    }
}

/// Lemma 3: G grows in θ; falls in η up to 1 for γ ≥ 1; and is largest at η = 1 in the range of growing variances.
#[test]
fn lemma_3_monotonicity() {
    let mut numbers = SplitMix(4);
    for _ in 0..20_000 {
        let (theta, log) = (numbers.between(0.0, 1.0), numbers.between(-1.0, 2.0));
        let (eta, more) = (numbers.between(0.3, 2.5), numbers.between(0.0, 0.3));
        let (low, high) = (hockey_stick(theta, eta, log), hockey_stick(theta + more, eta, log));
        assert!(low <= high + 1e-14, "F1 at θ {theta}, η {eta}, log γ {log}: {low} {high}");
        let (less, log) = (numbers.between(0.05, 1.0), log.abs());
        let (low, high) =
            (hockey_stick(theta, less + (1.0 - less) * numbers.unit(), log), hockey_stick(theta, less, log));
        assert!(low <= high + 1e-14, "F2 at θ {theta}, η {less}, log γ {log}: {low} {high}");
    }
    for (b, slack) in SETTINGS.into_iter().filter(|setting| setting.0 >= 20.0) {
        let f = 4.0 * (b - 1.0) / b / (b * (1.0 + slack));
        let (theta, most) = (2.0 / (b * slack).sqrt(), f / (1.0 - f));
        assert!(most <= 0.79 * theta * theta);
        for _ in 0..2000 {
            let (x, log) = (numbers.end_or_between(0.0, most), numbers.end_or_between(0.0, 6.0) * theta);
            let (equal, larger) = (hockey_stick(theta, 1.0, log), hockey_stick(theta, 1.0 + x, log));
            assert!(larger <= equal + 1e-14, "F3 at b {b}, L {slack}, x {x}, log γ {log}: {larger} {equal}");
        }
    }
}

/// F3 needs γ ≥ 1 and the small θ and x of the theorem: it is not a general truth, and the check can fail.
#[test]
fn mutant_a_larger_variance_is_not_always_harmless() {
    assert!(hockey_stick(0.1, 1.5, 0.0) > hockey_stick(0.1, 1.0, 0.0) * 1.5);
    let theta = 2.0 / 1000_f64.sqrt();
    assert!(hockey_stick(theta, 1.0 - 2.0 / 1000.0, 3.0 * theta) > 1.03 * hockey_stick(theta, 1.0, 3.0 * theta));
}

/// Theorem 2: every pair of neighbours is under one member of the family, in θ and in ξ.
#[test]
fn theorem_2_every_pair_lies_under_a_member() {
    let mut numbers = SplitMix(5);
    for (b, slack) in SETTINGS.into_iter().filter(|setting| setting.0 >= 20.0) {
        let f = 4.0 * (b - 1.0) / b / (b * (1.0 + slack));
        for point in points(b, slack, &mut numbers) {
            let (w, v1, d) = (point.changes().0, point.variance(0), point.d());
            let (theta, x) = (d / (b * v1).sqrt(), w / v1);
            let room = 1.0 + 1e-12;
            if w >= 0.0 {
                assert!(theta <= member(b, slack, 0.0).0 * room && x <= f / (1.0 - f) * room, "{point:?}");
                continue;
            }
            // L + m² = (L + M²)/r², or m = 1 if that is beyond.
            let (mean, r) = (point.mean(0).abs().min(1.0), d / 2.0);
            let square = (slack + mean * mean) / (r * r) - slack;
            let (most, xi) = member(b, slack, square.max(0.0).sqrt().min(1.0));
            assert!(theta <= most * room && -x <= xi * room + 1e-15, "{point:?}: {theta} {most}, {} {xi}", -x);
        }
    }
}

/// h̄ from below by points of the family, and every point's divergence under it. Corollary 2's pair is above all.
#[test]
fn theorem_2_and_its_corollary() {
    let mut numbers = SplitMix(6);
    for (b, slack) in SETTINGS.into_iter().filter(|setting| setting.0 >= 20.0) {
        let (theta, xi) = (member(b, slack, 0.0).0, member(b, slack, 1.0).1);
        let points = points(b, slack, &mut numbers);
        for place in [0.0, 0.5, 1.0, 2.0, 3.0, 5.0] {
            let log = place * theta;
            let members = (0..=2000).map(|k| member(b, slack, f64::from(k) / 2000.0));
            let family = members.map(|(theta, xi)| hockey_stick(theta, 1.0 - xi, log)).fold(0.0, f64::max);
            let single = hockey_stick(theta, 1.0 - xi, log);
            assert!(family <= single, "b {b}, L {slack}, {place}: {family} {single}");
            for point in &points {
                let (p, q) = (point.release(0), point.release(1));
                let found = p.hockey_stick(&q, log).max(q.hockey_stick(&p, log));
                assert!(found <= family * (1.0 + 1e-6) + 1e-15, "{point:?}, {place}: {found} over {family}");
            }
        }
    }
}
