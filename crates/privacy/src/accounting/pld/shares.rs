//! Sums of discrete Gaussian shares: Gaussian noise but for a small distance, which is paid for in δ.
//!
//! `docs/maths/discrete-noise.md` has the proofs.

use super::{NAME, Pld};
use crate::accounting::rdp::gaussian::{pi, sum_gap};
use crate::accounting::zcdp::Zcdp;
use crate::accounting::{Accountant, Bounds, Interval, check_one_relation};
use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError, Steps};

/// Most times that δ is divided between the Gaussian and the distance.
const MOST_DIVISIONS: usize = 20;

/// Room above an ε within which the next one must stay, as a share of it.
const ROOM: f64 = 1e-9;

/// A plan and a plan of Gaussian noise beside it, from whose answers those of the first are not far.
pub(super) struct Ideal<'a> {
    plan: &'a [Event],
    gaussian: Vec<Event>,
    /// η: total variation between the answers of the two plans, on the same data, from above.
    distance: f64,
}

impl<'a> Ideal<'a> {
    /// `None` if the plan has no sums of discrete Gaussian shares.
    pub(super) fn of(plan: &'a [Event]) -> Result<Option<Self>, PrivacyError> {
        check_one_relation(plan)?;
        let mut divergence = Interval::exact(0.0);
        let mut gaussian = Vec::with_capacity(plan.len());
        let mut stood_in = false;
        for event in plan {
            let Mechanism::DiscreteGaussianSum { noise_multiplier, shares, share_deviation, dimension } =
                event.mechanism()
            else {
                gaussian.push(event.clone());
                continue;
            };
            stood_in = true;
            let numbers = Interval::exact(event.steps().get() as f64) * Interval::exact(dimension.get() as f64);
            divergence = divergence + numbers * of_a_coordinate(*shares, share_deviation.get());
            let mechanism = Mechanism::Gaussian { noise_multiplier: *noise_multiplier };
            gaussian.push(Event::new(mechanism, event.adjacency(), event.unit(), *event.sampling(), event.steps())?);
        }
        // Pinsker's inequality.
        let distance = (divergence * Interval::exact(0.5)).sqrt().hi.min(1.0);
        Ok(stood_in.then_some(Self { plan, gaussian, distance }))
    }

    /// δ at ε: the Gaussian plan's and (1 + e^ε)·η, or what zCDP says.
    pub(super) fn delta(&self, epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        let by_distance = Pld.delta(&self.gaussian, epsilon).map(|gaussian| {
            let upper = Interval::exact(gaussian.upper) + self.price(epsilon.get());
            Bounds::at_most(upper.hi).at_most_one()
        });
        smaller(by_distance, Zcdp.delta(self.plan, epsilon))
    }

    /// ε at δ, whose parts for the Gaussian plan and for (1 + e^ε)·η are found by turns; or what zCDP says.
    pub(super) fn epsilon(&self, delta: Delta) -> Result<Bounds, PrivacyError> {
        smaller(self.divided(delta), Zcdp.epsilon(self.plan, delta))
    }

    /// ε at δ less the distance of shares from Gaussian noise; refused where nothing of δ is left.
    fn divided(&self, delta: Delta) -> Result<Bounds, PrivacyError> {
        let mut found = Pld.epsilon(&self.gaussian, delta)?.upper;
        for _ in 0..MOST_DIVISIONS {
            let ceiling = found * (1.0 + ROOM);
            let left = (Interval::exact(delta.get()) - self.price(ceiling)).lo;
            if left.is_nan() || left <= 0.0 {
                break;
            }
            found = Pld.epsilon(&self.gaussian, Delta::new(left)?)?.upper;
            if found <= ceiling {
                return Ok(Bounds::at_most(found));
            }
        }
        Err(PrivacyError::Uncertified {
            accountant: NAME,
            why: format!("discrete shares are {:.1e} from Gaussian noise, too far for δ = {delta}", self.distance),
            hint: "choose a larger δ or a finer grid, or use `zcdp`",
        })
    }

    /// (1 + e^ε)·η: P(E) ≤ P'(E) + η ≤ e^ε Q'(E) + δ' + η ≤ e^ε (Q(E) + η) + δ' + η.
    fn price(&self, epsilon: f64) -> Interval {
        (Interval::exact(1.0) + Interval::exact(epsilon).exp()) * Interval::exact(self.distance)
    }
}

/// The smaller of two upper bounds, where there are two; else the first refusal.
fn smaller(a: Result<Bounds, PrivacyError>, b: Result<Bounds, PrivacyError>) -> Result<Bounds, PrivacyError> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(if b.upper < a.upper { b } else { a }),
        (Err(_), Ok(bounds)) => Ok(bounds),
        (a, Err(_)) => a,
    }
}

/// KL(S ‖ W) from above, for S the sum of n discrete Gaussians of σ and W = round(N(0, s²)), s² = nσ².
///
/// For σ ≥ 1: τ + κ/(24s²) + 1/(84s⁴), with τ of Proposition 14 of Kairouz, Liu, Steinke 2021 (`sum_gap`) and κ = 8.1π²σ²e^{−2π²σ²}, by which
/// the variance of a discrete Gaussian may be short of σ². Under σ = 1 nothing is claimed: infinity.
fn of_a_coordinate(shares: Steps, sigma: f64) -> Interval {
    let exact = Interval::exact;
    if sigma < 1.0 {
        return exact(f64::INFINITY);
    }
    let variance = exact(sigma) * exact(sigma);
    let total = exact(shares.get() as f64) * variance;
    let square = pi() * pi() * variance;
    let short = exact(8.1) * square * (-(exact(2.0) * square)).exp();
    sum_gap(shares.get(), sigma) + short / (exact(24.0) * total) + exact(1.0) / (exact(84.0) * total * total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, NoiseMultiplier, Sampling, ShareDeviation, Unit};

    /// P(k) of n discrete Gaussian shares, for k from −reach to reach.
    fn sum_of_shares(n: usize, sigma: f64, reach: i64) -> Vec<f64> {
        let one: Vec<f64> = (-reach..=reach).map(|k| (-((k * k) as f64) / (2.0 * sigma * sigma)).exp()).collect();
        let mass: f64 = one.iter().sum();
        let one: Vec<f64> = one.into_iter().map(|p| p / mass).collect();
        let mut sum = one.clone();
        for _ in 1..n {
            let at = |k: i64| one.get((k + reach) as usize).copied().unwrap_or(0.0);
            let convolved = |k: i64| (-reach..=reach).map(|j| sum[(j + reach) as usize] * at(k - j)).sum();
            sum = (-reach..=reach).map(convolved).collect();
        }
        sum
    }

    /// P(W = k) of a rounded Gaussian.
    fn rounded(s: f64, k: i64) -> f64 {
        let tail = |x: f64| 0.5 * libm::erfc(x / (s * std::f64::consts::SQRT_2));
        tail(k.abs() as f64 - 0.5) - tail(k.abs() as f64 + 0.5)
    }

    fn shares(n: u64, sigma: f64, z: f64, dimension: u64, steps: u64) -> Event {
        let mechanism = Mechanism::DiscreteGaussianSum {
            noise_multiplier: NoiseMultiplier::new(z).unwrap(),
            shares: Steps::new(n).unwrap(),
            share_deviation: ShareDeviation::new(sigma).unwrap(),
            dimension: Steps::new(dimension).unwrap(),
        };
        let steps = Steps::new(steps).unwrap();
        Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, steps).unwrap()
    }

    /// Found by review: no exact δ is near enough to the bound to notice if a factor of it were lost.
    #[test]
    fn the_distance_counts_every_coordinate_of_every_release_and_its_price_both_sides() {
        let kl = |n: f64, sigma: f64, tau: f64| {
            let (s2, square) = (n * sigma * sigma, std::f64::consts::PI.powi(2) * sigma * sigma);
            tau + 8.1 * square * (-2.0 * square).exp() / (24.0 * s2) + 1.0 / (84.0 * s2 * s2)
        };
        // n = 2: τ = 10 e^{−π²σ²}; a seventh of the whole at σ = 1.
        let tau = 10.0 * (-std::f64::consts::PI.powi(2)).exp();
        let found = of_a_coordinate(Steps::new(2).unwrap(), 1.0).hi;
        assert!((found / kl(2.0, 1.0, tau) - 1.0).abs() < 1e-12, "{found}");
        let plan = [shares(50, 40.0, 4.0, 7, 3), shares(99, 60.0, 9.0, 78, 12)];
        let ideal = Ideal::of(&plan).unwrap().unwrap();
        let sum = 21.0 * kl(50.0, 40.0, 0.0) + 936.0 * kl(99.0, 60.0, 0.0);
        assert!((ideal.distance / (0.5 * sum).sqrt() - 1.0).abs() < 1e-12, "{}", ideal.distance);
        let price = ideal.price(1.5);
        assert!((price.hi / ((1.0 + 1.5_f64.exp()) * ideal.distance) - 1.0).abs() < 1e-12);
        assert!(price.hi >= price.lo && price.lo > 0.0);
        let gaussian = Pld.delta(&ideal.gaussian, Epsilon::new(1.5).unwrap()).unwrap().upper;
        let all = Pld.delta(&plan, Epsilon::new(1.5).unwrap()).unwrap().upper;
        assert!((all / (gaussian + price.hi) - 1.0).abs() < 1e-12, "{all}");
    }

    #[test]
    fn the_divergence_is_not_under_the_exact_one_and_near_it_for_large_shares() {
        for (n, sigma) in [(1, 1.0), (1, 2.5), (2, 1.0), (3, 1.5), (5, 2.0), (8, 1.0), (10, 3.0)] {
            let s = sigma * (n as f64).sqrt();
            let sum = sum_of_shares(n, sigma, (9.0 * s) as i64);
            let reach = (sum.len() / 2) as i64;
            let terms = sum.iter().zip(-reach..).filter(|(p, _)| **p > 1e-16);
            let exact: f64 = terms.map(|(p, k)| p * (p / rounded(s, k)).ln()).sum();
            let bound = of_a_coordinate(Steps::new(n as u64).unwrap(), sigma).hi;
            // τ is far from tight for σ = 1 and more than one share.
            let most = if sigma < 1.5 && n > 1 { f64::INFINITY } else { 10.0 };
            assert!(bound >= exact && bound <= most * exact, "n {n}, σ {sigma}: {bound} against {exact}");
        }
        assert_eq!(of_a_coordinate(Steps::ONE, 0.9).hi, f64::INFINITY);
    }

    /// δ of a sum that moves by one sensitivity, added up from its probabilities, in one coordinate.
    #[test]
    fn the_bound_holds_for_sums_whose_loss_can_be_added_up() {
        for (n, sigma, moved) in [(2, 8.0, 12_i64), (4, 10.0, 7), (3, 6.0, 20), (4, 20.0, 30)] {
            let s = sigma * (n as f64).sqrt();
            let sum = sum_of_shares(n, sigma, (12.0 * s) as i64);
            let at = |k: i64| usize::try_from(k).ok().and_then(|k| sum.get(k)).copied().unwrap_or(0.0);
            let plan = [shares(n as u64, sigma, s / moved as f64, 1, 1)];
            for epsilon in [0.1, 0.5, 1.0, 2.0] {
                let pairs = (0..sum.len() as i64).map(|k| at(k) - f64::exp(epsilon) * at(k - moved));
                let exact: f64 = pairs.filter(|excess| *excess > 0.0).sum();
                let bound = Pld.delta(&plan, Epsilon::new(epsilon).unwrap()).unwrap().upper;
                assert!(bound >= exact, "n {n}, σ {sigma}, ε {epsilon}: {bound} against {exact}");
                assert!(bound <= exact + 1e-2, "n {n}, σ {sigma}, ε {epsilon}: {bound} against {exact}");
            }
        }
    }

    #[test]
    fn shares_on_a_fine_grid_cost_what_gaussian_noise_costs() {
        let delta = Delta::new(1e-6).unwrap();
        let plan = [shares(99, 1e5, 4.0, 1, 1), shares(99, 1e5, 20.0, 78, 12)];
        let gaussian = |z: f64, steps: u64| {
            let (z, steps) = (NoiseMultiplier::new(z).unwrap(), Steps::new(steps).unwrap());
            Event::gaussian(z, Adjacency::Substitute, steps)
        };
        let (found, ideal) = (Pld.epsilon(&plan, delta).unwrap(), [gaussian(4.0, 1), gaussian(20.0, 12)]);
        let ideal = Pld.epsilon(&ideal, delta).unwrap().upper;
        assert!(found.upper > ideal && found.upper < ideal * (1.0 + 1e-4), "{} against {ideal}", found.upper);
        assert!(found.upper < 0.95 * Zcdp.epsilon(&plan, delta).unwrap().upper);
        assert_eq!(found.lower, 0.0, "no lower end is proved");
        assert!(!Pld.two_sided(&plan));
    }

    /// Where the distance is too large for δ, zCDP answers; beside noise that zCDP does not know, nobody does.
    #[test]
    fn shares_on_a_coarse_grid_cost_what_zcdp_says() {
        let delta = Delta::new(1e-6).unwrap();
        let coarse = shares(10, 2.0, 4.0, 100, 3);
        let found = Pld.epsilon(std::slice::from_ref(&coarse), delta).unwrap();
        assert_eq!(found, Zcdp.epsilon(std::slice::from_ref(&coarse), delta).unwrap());
        let approximate =
            Mechanism::Approximate { epsilon: Epsilon::new(0.1).unwrap(), delta: Delta::new(1e-9).unwrap() };
        let other = Event::new(approximate, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap();
        let refused = Pld.epsilon(&[coarse, other], delta).unwrap_err();
        assert!(refused.to_string().contains("too far"), "{refused}");
    }
}
