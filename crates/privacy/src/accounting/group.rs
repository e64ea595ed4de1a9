//! Groups of rows, and rows that are in several clients.
//!
//! A stated ε protects one unit. This module answers what it means for k units together, and for a person whose rows are at several
//! clients (`docs/maths/group-and-overlap.md`).

use super::{Accountant, Bounds, Interval};
use crate::{Delta, Epsilon, Event, Mechanism, NoiseMultiplier, PrivacyError, Steps};

/// (ε, δ) for a group of k units, from (ε, δ) for one: (kε, δ(e^{kε} − 1)/(e^ε − 1)), rounded up.
///
/// Dwork, Roth 2014, Theorem 2.2, with δ summed over the k − 1 data sets in between: δ Σ_{i<k} e^{iε}. Where the plan is
/// known, `of_group` and an accountant give less.
///
/// # Examples
///
/// ```
/// use privacy::accounting::group::group_privacy;
/// use privacy::{Delta, Epsilon, Steps};
///
/// let (epsilon, delta) = group_privacy(Epsilon::new(0.5)?, Delta::new(1e-6)?, Steps::new(2)?)?;
/// assert!(epsilon.get() >= 1.0 && delta.get() > 2e-6);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
///
/// # Errors
///
/// [`PrivacyError::Uncertified`] if δ of the group would not be under 1.
pub fn group_privacy(epsilon: Epsilon, delta: Delta, size: Steps) -> Result<(Epsilon, Delta), PrivacyError> {
    let (e, k) = (Interval::exact(epsilon.get()), Interval::exact(size.get() as f64));
    let factor = if epsilon.get() == 0.0 { k } else { (k * e).exp_m1() / e.exp_m1() };
    let failure = if delta.get() == 0.0 { 0.0 } else { (Interval::exact(delta.get()) * factor).hi };
    if failure >= 1.0 {
        return Err(PrivacyError::Uncertified {
            accountant: "group",
            why: format!("δ of a group of {size} is not under 1"),
            hint: "account the plan for the group with its noise multiplier divided by the size",
        });
    }
    Ok((Epsilon::new(if size == Steps::ONE { e.hi } else { (k * e).hi })?, Delta::new(failure)?))
}

/// The plan as a group of k units sees it: k units move an unsampled sum by at most k sensitivities, so z becomes z/k.
///
/// Gaussian and Laplace noise without sampling; other events are refused, since k rows of a sampled batch or of a
/// finite pair are not one pair with less noise.
///
/// # Errors
///
/// [`PrivacyError::NoTheorem`] for events whose noise does not scale with the group.
pub fn of_group(plan: &[Event], size: Steps) -> Result<Vec<Event>, PrivacyError> {
    let scaled = |event: &Event| {
        let smaller = |z: &NoiseMultiplier| {
            let z = (Interval::exact(z.get()) / Interval::exact(size.get() as f64)).lo;
            NoiseMultiplier::new(z)
        };
        let mechanism = match event.mechanism() {
            Mechanism::Gaussian { noise_multiplier } if event.sampling().rate() >= 1.0 => {
                Mechanism::Gaussian { noise_multiplier: smaller(noise_multiplier)? }
            }
            Mechanism::Laplace { noise_multiplier } if event.sampling().rate() >= 1.0 => {
                Mechanism::Laplace { noise_multiplier: smaller(noise_multiplier)? }
            }
            _ => {
                return Err(PrivacyError::NoTheorem {
                    what: format!("a group of {size} in {event}"),
                    why: "only unsampled Gaussian and Laplace noise scale with the group",
                    hint: "compute (ε, δ) for one unit and apply group privacy to it",
                });
            }
        };
        Event::new(mechanism, event.adjacency(), event.unit(), *event.sampling(), event.steps())
    };
    plan.iter().map(scaled).collect()
}

/// Most different plans that are combined.
const MOST_KINDS: usize = 256;

/// Most combinations of clients that are accounted.
const MOST_COMBINATIONS: usize = 4096;

/// ε of a person whose rows are in at most `overlap` of the clients.
///
/// Parallel composition (McSherry 2009, Theorem 4) for an overlap of one: the largest of the clients' costs. For an
/// overlap of k the person is exposed to the plans of the clients that hold his rows, in sequence: the largest cost
/// of any k of them together. Clients with equal plans are counted, not listed.
pub fn overlapping(
    accountant: &dyn Accountant,
    clients: &[Vec<Event>],
    overlap: Steps,
    delta: Delta,
) -> Result<Bounds, PrivacyError> {
    let mut kinds: Vec<(&[Event], u64)> = Vec::new();
    for plan in clients {
        match kinds.iter_mut().find(|(known, _)| *known == plan.as_slice()) {
            Some((_, count)) => *count += 1,
            None => kinds.push((plan, 1)),
        }
    }
    if kinds.len() > MOST_KINDS && overlap.get() > 1 {
        return Err(too_many());
    }
    let mut worst = Bounds::ZERO;
    if overlap.get() == 1 {
        for (plan, _) in kinds {
            worst = worst.max(accountant.epsilon(plan, delta)?);
        }
        return Ok(worst);
    }
    for plan in combinations(&kinds, overlap.get().min(clients.len() as u64))? {
        worst = worst.max(accountant.epsilon(&plan, delta)?);
    }
    Ok(worst)
}

/// (ε, δ) of a person whose rows are at up to k sites, where site m promises (ε_m, δ_m) by noise of its own: the sum of the k largest ε_m
/// and the sum of the k largest δ_m, rounded up.
///
/// Given what was released before, every release of a site is a mechanism on its own rows, so that the releases of k sites compose in
/// sequence, and simple composition (Dwork, Roth 2014, Theorem 3.16) adds up what the sites promise. No k sites add up to more than the
/// k largest. `overlapping` gives less where the plans themselves are at hand.
///
/// # Examples
///
/// ```
/// use privacy::accounting::group::at_several_sites;
/// use privacy::{Delta, Epsilon};
///
/// let site = |epsilon, delta| Ok::<_, privacy::PrivacyError>((Epsilon::new(epsilon)?, Delta::new(delta)?));
/// let (epsilon, delta) = at_several_sites(&[site(0.5, 1e-6)?, site(2.0, 1e-5)?, site(1.0, 1e-6)?], 2)?;
/// assert!((3.0..3.000_001).contains(&epsilon.get()) && (1.1e-5..1.100_001e-5).contains(&delta.get()));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
///
/// # Errors
///
/// [`PrivacyError::Parameter`] if the δ of so many sites add up to 1 or more.
pub fn at_several_sites(promises: &[(Epsilon, Delta)], k: usize) -> Result<(Epsilon, Delta), PrivacyError> {
    let largest = |of: fn(&(Epsilon, Delta)) -> f64| {
        let mut all: Vec<f64> = promises.iter().map(of).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all.into_iter().take(k).fold(Interval::exact(0.0), |sum, one| sum + Interval::exact(one)).hi
    };
    Ok((Epsilon::new(largest(|(epsilon, _)| epsilon.get()))?, Delta::new(largest(|(_, delta)| delta.get()))?))
}

/// The same where the sites share the noise of one sum: replacing the person's rows site by site passes through k − 1 data sets in
/// between, so that (Σε_m, Σ_i δ_i·e^{ε_1 + … + ε_{i−1}}), by the argument of group privacy (Dwork, Roth 2014, Theorem 2.2). Every order of the sites
/// is a proof; the largest ε comes last here, which costs least.
///
/// # Errors
///
/// [`PrivacyError::Parameter`] if δ would not be under 1.
pub fn at_several_sites_of_a_sum(promises: &[(Epsilon, Delta)], k: usize) -> Result<(Epsilon, Delta), PrivacyError> {
    let (epsilon, _) = at_several_sites(promises, k)?;
    let mut smallest_first: Vec<f64> = promises.iter().map(|(epsilon, _)| epsilon.get()).collect();
    smallest_first.sort_by(f64::total_cmp);
    let most_delta = promises.iter().map(|(_, delta)| delta.get()).fold(0.0, f64::max);
    let taken = smallest_first.split_off(smallest_first.len().saturating_sub(k));
    let (mut before, mut delta) = (Interval::exact(0.0), Interval::exact(0.0));
    for own in taken {
        delta = delta + Interval::exact(most_delta) * (before.exp_m1() + Interval::exact(1.0));
        before = before + Interval::exact(own);
    }
    Ok((epsilon, Delta::new(delta.hi)?))
}

/// A refusal of a search over too many combinations of clients.
fn too_many() -> PrivacyError {
    PrivacyError::Uncertified {
        accountant: "overlap",
        why: format!("the clients' plans can combine in more than {MOST_COMBINATIONS} ways"),
        hint: "give clients of similar size the same plan, or lower the overlap",
    }
}

/// All joint plans of `left` clients, as multisets of the kinds.
fn combinations(kinds: &[(&[Event], u64)], left: u64) -> Result<Vec<Vec<Event>>, PrivacyError> {
    let Some(((plan, count), others)) = kinds.split_first() else {
        return Ok(if left == 0 { vec![Vec::new()] } else { Vec::new() });
    };
    let mut all = Vec::new();
    for taken in 0..=left.min(*count) {
        for mut rest in combinations(others, left - taken)? {
            if taken > 0 {
                let steps = |event: &Event| Steps::new(event.steps().get().saturating_mul(taken));
                for event in *plan {
                    rest.push(event.repeated(steps(event)?));
                }
            }
            all.push(rest);
        }
        if all.len() > MOST_COMBINATIONS {
            return Err(too_many());
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Pld;
    use crate::accounting::composition::Basic;
    use crate::accounting::gdp::Gdp;
    use crate::exact_float::fixed;
    use crate::{Adjacency, Sampling, Unit};

    fn laplace(z: f64, steps: u64) -> Vec<Event> {
        let mechanism = Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(z).unwrap() };
        let steps = Steps::new(steps).unwrap();
        vec![Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, steps).unwrap()]
    }

    /// What is added up is no less than what the accountant proves of the sites' plans together, and of one sum by its group.
    #[test]
    fn promises_of_sites_add_up_to_a_bound_of_their_plans_together() {
        let delta = Delta::new(1e-6).unwrap();
        let plan = |z: f64| vec![Event::gaussian(NoiseMultiplier::new(z).unwrap(), Adjacency::Substitute, Steps::ONE)];
        let plans = [plan(8.0), plan(2.0), plan(5.0)];
        let promises: Vec<(Epsilon, Delta)> =
            plans.iter().map(|plan| (Epsilon::new(Pld.epsilon(plan, delta).unwrap().upper).unwrap(), delta)).collect();
        let e = |m: usize| promises[m].0.get();
        for (k, largest, order) in
            [(1, e(1), vec![1]), (2, e(1) + e(2), vec![2, 1]), (3, e(0) + e(1) + e(2), vec![0, 2, 1])]
        {
            let (epsilon, failure) = at_several_sites(&promises, k).unwrap();
            assert!(epsilon.get() >= largest && epsilon.get() <= largest * (1.0 + 1e-12), "{k}: {epsilon:?}");
            let together: Vec<Event> = order.iter().flat_map(|&m| plans[m].clone()).collect();
            assert!(Pld.epsilon(&together, failure).unwrap().upper <= epsilon.get());
            let overlap = overlapping(&Pld, &plans, Steps::new(k as u64).unwrap(), failure).unwrap();
            assert!(overlap.upper <= epsilon.get());
            let (same, of_sum) = at_several_sites_of_a_sum(&promises, k).unwrap();
            let mut before = 0.0;
            let by_hand: f64 = order
                .iter()
                .map(|&m| {
                    let own = 1e-6 * f64::exp(before);
                    before += e(m);
                    own
                })
                .sum();
            assert!(
                same == epsilon
                    && of_sum.get() >= failure.get() * (1.0 - 1e-12)
                    && (of_sum.get() / by_hand - 1.0).abs() < 1e-12,
                "{k}"
            );
            // One sum: Δ/σ of the sites add up, so that 1/z does.
            let z = 1.0 / order.iter().map(|&m| 1.0 / plans[m][0].noise_multiplier().unwrap().get()).sum::<f64>();
            assert!(Pld.epsilon(&plan(z), of_sum).unwrap().upper <= epsilon.get(), "{k}");
        }
        assert!(at_several_sites(&[(Epsilon::new(1.0).unwrap(), Delta::new(0.6).unwrap()); 2], 2).is_err());
    }

    #[test]
    fn a_group_of_one_is_a_unit_and_of_three_is_a_sum() {
        let (epsilon, delta) = (Epsilon::new(0.5).unwrap(), Delta::new(1e-6).unwrap());
        let (one, _) = group_privacy(epsilon, delta, Steps::ONE).unwrap();
        assert_eq!(one.get(), 0.5);
        let (e, d) = group_privacy(epsilon, delta, Steps::new(3).unwrap()).unwrap();
        assert!((e.get() - 1.5).abs() < 1e-15);
        assert!((d.get() / (1e-6 * (1.0 + f64::exp(0.5) + f64::exp(1.0))) - 1.0).abs() < 1e-13);
        let (_, flat) = group_privacy(Epsilon::new(0.0).unwrap(), delta, Steps::new(3).unwrap()).unwrap();
        assert!((flat.get() - 3e-6).abs() < 1e-18);
        assert!(group_privacy(Epsilon::new(9.0).unwrap(), delta, Steps::new(9).unwrap()).is_err());
    }

    /// z/k without rounding is never less than the multiplier that is accounted.
    #[test]
    fn the_noise_that_a_group_sees_is_rounded_down() {
        for k in 2..500_u64 {
            let z = 10.0 + (k as f64).sqrt();
            let plan = [Event::gaussian(NoiseMultiplier::new(z).unwrap(), Adjacency::Substitute, Steps::ONE)];
            let seen = of_group(&plan, Steps::new(k).unwrap()).unwrap()[0].noise_multiplier().unwrap().get();
            assert!(fixed(seen) * k <= fixed(z), "{z} / {k}");
            assert!(fixed(seen * (1.0 + 2e-15)) * k > fixed(z), "{z} / {k} gives too much away");
        }
    }

    #[test]
    fn through_the_mechanism_a_group_costs_less() {
        let (z, delta) = (NoiseMultiplier::new(10.0).unwrap(), Delta::new(1e-5).unwrap());
        let plan = [Event::gaussian(z, Adjacency::Substitute, Steps::ONE)];
        let three = Steps::new(3).unwrap();
        let direct = Gdp.epsilon(&of_group(&plan, three).unwrap(), delta).unwrap();
        // A δ for one unit small enough that the group's stays within 1e-5.
        let single = Gdp.epsilon(&plan, Delta::new(1e-6).unwrap()).unwrap();
        let (by_formula, failure) =
            group_privacy(Epsilon::new(single.upper).unwrap(), Delta::new(1e-6).unwrap(), three).unwrap();
        assert!(failure.get() <= 1e-5 && direct.upper < by_formula.get());
    }

    #[test]
    fn an_overlap_adds_the_dearest_clients() {
        let clients = [laplace(10.0, 1), laplace(5.0, 1), laplace(10.0, 1), laplace(2.0, 2)];
        let cost = |k: u64| {
            let delta = Delta::new(0.0).unwrap();
            overlapping(&Basic, &clients, Steps::new(k).unwrap(), delta).unwrap().upper
        };
        for (k, expected) in [(1, 1.0), (2, 1.2), (3, 1.3), (4, 1.4), (9, 1.4)] {
            assert!((cost(k) - expected).abs() < 1e-12, "{k}: {}", cost(k));
        }
    }
}
