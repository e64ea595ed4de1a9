//! Methods for linear regression: their limits without noise, what is free and what is not, and noise that adds up.

use crate::common;
use crate::common::redescribed::RedescribedSolver;
use crate::common::{
    Losing, add_remove, by_client, chain, chain_method, conjugate_methods, full_pvi, hybrid, method, private_methods,
    promise, pvi, rows, secure, simulation, site, sites,
};
use inference::algorithm::chain::{BarkerSampler, ChainSettings, TestNoise};
use inference::algorithm::{PviSettings, PviState, Remembered};
use inference::message::Direct;
use inference::settings::{Aggregator, Covariance, Damping, Local, Optimiser, Promise, Rounds, Schedule, SecureNoise};
use inference::solve::{Analytic, Likelihood, LocalSolve, Perturb};
use inference::{Client, Family, Method, Progress, Row, Rows, Simulation, Site, SyntheticLinear, Total};
use privacy::record::Tape;
use privacy::{Epsilon, Released, ShareNoise};

/// Levels and bias are collinear: the prior alone tells them apart, and the damped iteration goes as slowly as it is weak.
const PRIOR: f64 = 30.0;

fn named(name: &str) -> Method {
    conjugate_methods().into_iter().find(|m| m.name == name).unwrap()
}

/// A private solver without privacy, at its limit without noise: so many rounds, each change damped to a fifth.
fn open(solver: impl LocalSolve + 'static, rounds: u64) -> PviSettings {
    let (rounds, damping) = (Rounds::Count(rounds), Damping::new(0.2).unwrap());
    PviSettings { rounds, damping, ..pvi(RedescribedSolver::without_privacy(solver)) }
}

/// A hybrid of so many analytic updates and rounds in all, with plain gradient steps of this size after the opening.
fn open_hybrid(updates: u64, rounds: u64, learning_rate: f64) -> Method {
    let local = Local { optimiser: Optimiser::Sgd, learning_rate, ..common::natural(5) };
    method("hybrid", open(hybrid(updates, 0.5, 1.0, local), rounds), Schedule::Synchronous, None)
}

/// The best mean-field q: the exact mean, and the diagonal of the exact precision.
fn best_mean_field(simulation: &Simulation<'_>) -> inference::Gaussian {
    let family = Family::MeanField { dimension: 5 };
    family.gaussian(&family.natural(&simulation.exact_posterior().unwrap().unwrap())).unwrap()
}

#[test]
fn without_noise_mean_field_updates_reach_the_exact_mean_without_products_of_inputs() {
    let (sites, test) = (sites(), rows(3, 9));
    for schedule in [Schedule::Sequential, Schedule::Synchronous] {
        let method = method("analytic", open(Analytic, 1500), schedule, None);
        let simulation = Simulation { prior: PRIOR.into(), ..simulation(&method, &sites, &test) };
        let kl = simulation.run(&mut ()).unwrap().posterior.kl(&best_mean_field(&simulation));
        assert!(kl < 1e-6, "{schedule:?}: KL {kl}");
    }
}

/// Descent by plain gradients stays where analytic updates led: both have the same fixed point.
#[test]
fn without_noise_a_hybrid_ends_where_its_opening_led() {
    let (sites, test) = (sites(), rows(3, 9));
    let method = open_hybrid(1500, 1520, 1e-4);
    let simulation = Simulation { prior: PRIOR.into(), ..simulation(&method, &sites, &test) };
    let kl = simulation.run(&mut ()).unwrap().posterior.kl(&best_mean_field(&simulation));
    assert!(kl < 1e-6, "KL {kl}");
}

/// Sixteen rows of five inputs ±1, of a design in which every two inputs are orthogonal over all sites, and over none of
/// them: the exact posterior is mean-field, and no site's own is.
fn orthogonal() -> Vec<Site> {
    let sign = |row: usize, mask: usize| if (row & mask).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
    let effects = [1.5, -0.5, 0.25, 2.0, -1.0];
    let of = |range: std::ops::Range<usize>| {
        let mut rows = Rows::new(5, 5).unwrap();
        for row in range {
            let x = [1, 2, 4, 8, 15].map(|mask| sign(row, mask));
            let mean: f64 = x.iter().zip(effects).map(|(x, e)| x * e).sum();
            rows.push(Row { numbers: &x, ones: &[], outcome: mean + 0.3 * (row as f64).sin() }).unwrap();
        }
        site("a site", rows)
    };
    vec![of(0..5), of(5..11), of(11..16)]
}

/// Made-up rows of so many inputs at three sites.
fn drawn(inputs: usize) -> Vec<Site> {
    let (effect_variance, noise_deviation) = (5.0, (0.5, 0.5));
    let law = SyntheticLinear { clients: 3, rows: 15, held_out: 1, inputs, effect_variance, noise_deviation };
    law.draw(7).unwrap().federation.sites
}

/// KL of what a method without privacy serves from the posterior in closed form.
fn divergence_without_noise(method: &Method, sites: &[Site], width: usize) -> f64 {
    let test = Rows::new(width, width).unwrap();
    let simulation = Simulation { prior: 0.2.into(), ..simulation(method, sites, &test) };
    let exact = simulation.exact_posterior().unwrap().unwrap();
    let built = simulation.build().unwrap();
    let mut drive = simulation.start(&built, &Direct, None).unwrap();
    (0..method.most_rounds()).for_each(|_| assert_eq!(drive.round().unwrap(), Progress::Moved));
    built.problem.family.gaussian(&drive.posterior().unwrap()).unwrap().kl(&exact)
}

#[test]
fn without_noise_analytic_updates_reach_the_exact_posterior_of_one_input_and_of_five() {
    for schedule in [Schedule::Sequential, Schedule::Synchronous] {
        let full = PviSettings { covariance: Covariance::Full, ..open(Analytic, 150) };
        let full = method("full covariance", full, schedule, None);
        let mean_field = method("mean-field", open(Analytic, 400), schedule, None);
        let cases =
            [(&full, drawn(1), 1), (&full, drawn(5), 5), (&mean_field, drawn(1), 1), (&mean_field, orthogonal(), 5)];
        for (method, sites, width) in cases {
            let kl = divergence_without_noise(method, &sites, width);
            assert!(kl < 1e-6, "{schedule:?}, {}, {width}: KL {kl}", method.name);
        }
    }
}

#[test]
fn without_noise_a_hybrid_reaches_the_exact_posterior_of_one_input_and_of_five() {
    let method = open_hybrid(400, 430, 1e-4);
    for (sites, width) in [(drawn(1), 1), (orthogonal(), 5)] {
        let kl = divergence_without_noise(&method, &sites, width);
        assert!(kl < 1e-6, "{width} inputs: KL {kl}");
    }
    // From an opening that is cut short the second stage comes closer, by steps of its own size.
    let short =
        |rounds, learning_rate| divergence_without_noise(&open_hybrid(5, rounds, learning_rate), &orthogonal(), 5);
    let (early, late, still) = (short(6, 2e-3), short(300, 2e-3), short(300, 1e-12));
    assert!(late < 0.1 * early, "from KL {early} to {late}");
    assert!(still > 0.9 * early, "from KL {early} to {still} without steps: another solver made the second stage");
}

#[test]
fn a_likelihood_is_charged_once_and_every_later_answer_is_free() {
    let (sites, test) = (sites(), rows(3, 9));
    for base in conjugate_methods().into_iter().filter(|m| m.algorithm.releases(1).reused) {
        let settings = PviSettings { rounds: Rounds::Count(30), ..full_pvi(Likelihood) };
        let method = method(&base.name, settings, base.schedule, base.promise);
        let simulation = simulation(&method, &sites, &test);
        let built = simulation.build().unwrap();
        assert_eq!((built.plan.rounds, built.plan.messages), (30, 90), "{}", method.name);
        let tape = Tape::record();
        let mut drive = simulation.start(&built, &Direct, Some(&tape)).unwrap();
        while drive.rounds() < 30 {
            assert_eq!(drive.round().unwrap(), Progress::Moved, "{}", method.name);
        }
        assert_eq!((drive.messages(), tape.calls().len()), (90, 3), "{}", method.name);
        let record = simulation.run(&mut ()).unwrap();
        for (client, plan) in record.spending.iter().zip(&built.plan.clients) {
            assert_eq!((client.charges, client.certified), (1, plan.certified), "{}", method.name);
            assert!(client.certified <= 2.0 && plan.charges() == 1, "{}", method.name);
        }
    }
}

/// A likelihood that was paid for goes on in the factor, exactly: t = S/s² however often it is asked.
#[test]
fn free_answers_lead_to_the_released_likelihood_and_stay_there() {
    let (sites, test) = (sites(), rows(3, 9));
    let settings = PviSettings { damping: Damping::NONE, ..full_pvi(Likelihood) };
    let method = method("likelihood", settings, Schedule::Sequential, promise(1.0, Aggregator::None));
    let simulation = simulation(&method, &sites, &test);
    let built = simulation.build().unwrap();
    let mut drive = simulation.start(&built, &Direct, None).unwrap();
    drive.round().unwrap();
    let first = drive.state().to_vec();
    drive.round().unwrap();
    let values = |state: &[u8]| postcard::from_bytes::<PviState>(state).unwrap().total.values();
    let moved = values(&first).iter().zip(values(drive.state())).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(moved < 1e-6, "moved by {moved}");
}

#[test]
fn a_lost_answer_is_not_paid_for_twice_and_nothing_of_it_is_in_the_factor() {
    let (sites, test) = (sites(), rows(3, 9));
    let method = named("likelihood");
    let simulation = simulation(&method, &sites, &test);
    let built = simulation.build().unwrap();
    let mut drive = simulation.start(&built, &Losing(|round, _| round == 0), None).unwrap();
    for _ in 0..3 {
        assert_eq!(drive.round().unwrap(), Progress::Moved);
    }
    let factor = |c: &Client<'_>| {
        let memory: Option<Released<Remembered>> = postcard::from_bytes(c.memory()).unwrap();
        memory.unwrap().into_inner().factor.unwrap()
    };
    let factors: Vec<Total> = drive.clients().iter().map(factor).collect();
    let state: PviState = postcard::from_bytes(drive.state()).unwrap();
    assert_eq!(Total::sum(&factors), Some(state.total));
    assert!(drive.clients().iter().all(|c| c.ledger().events().len() == 1));
}

/// Coordinate k of the total after one round, for as many seeds as are asked.
fn totals(method: &Method, seeds: u64) -> Vec<Vec<f64>> {
    let (sites, test) = (sites(), rows(2, 1));
    let simulation = simulation(method, &sites, &test);
    let mut built = simulation.build().unwrap();
    built.grants.fill(privacy::Grant::Unlimited);
    let one = |seed| {
        let simulation = Simulation { seed, ..simulation.clone() };
        let mut drive = simulation.start(&built, &Direct, None).unwrap();
        drive.round().unwrap();
        postcard::from_bytes::<PviState>(drive.state()).unwrap().total.values()
    };
    (0..seeds).map(one).collect()
}

fn mean_and_variance(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (mean, values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0))
}

/// Clients as units, whose changes are damped so.
fn of_clients(promise: Promise, damping: Damping) -> Method {
    let settings = PviSettings { damping, ..pvi(Perturb { local: common::natural(2) }) };
    method("by client", settings, Schedule::Synchronous, by_client(promise))
}

/// Noise by shares of clients, of whom one may be lost.
fn shares() -> Aggregator {
    secure(SecureNoise::Clients(ShareNoise::DiscreteGaussian), 0, 1)
}

/// Equations 3.4 and 3.6 of the thesis, not 3.7: noise of the applied sum has variance (ρ·z·Δ)², spread over the shares
/// of those who can be relied on.
#[test]
fn noise_of_a_damped_sum_of_shares_has_the_variance_that_is_accounted() {
    let rho = Damping::new(0.25).unwrap();
    // Three clients of whom one may be lost and one share is the adversary's own: three shares are sized for one.
    for (aggregator, surplus) in [(shares(), 3.0), (Aggregator::Curator, 1.0)] {
        let method = of_clients(add_remove(promise(2.0, aggregator)), rho);
        let (sites, test) = (sites(), rows(2, 1));
        let built = simulation(&method, &sites, &test).build().unwrap();
        let expected = (rho.get() * built.terms[0].noise_deviation()).powi(2) * surplus;
        let all = totals(&method, 150);
        let found: f64 = (0..10).map(|k| mean_and_variance(all.iter().map(|t| t[k])).1).sum::<f64>() / 10.0;
        // 1490 degrees of freedom: five standard errors of a variance.
        assert!((found / expected - 1.0).abs() < 0.19, "{aggregator:?}: {found} against {expected}");
    }
}

/// Section 4.3 of the thesis clips each client's noisy share of the precision at 0, and its ε does not hold then. Here a share
/// is what the mechanism made of it: the opened total is the sum of the clipped changes, and neither larger nor smaller.
#[test]
fn mutant_noisy_shares_clipped_at_zero_are_caught_as_a_bias_of_the_opened_sum() {
    let of = |epsilon: f64| {
        let promise = Promise { epsilon: Epsilon::new(epsilon).unwrap(), ..promise(2.0, shares()) };
        of_clients(promise, Damping::NONE)
    };
    let (seeds, noisy) = (300, of(0.5));
    let (all, exact) = (totals(&noisy, seeds), &totals(&of(1e5), 1)[0]);
    let unbiased = |value: &dyn Fn(&[f64], usize) -> f64, k: usize| {
        let (mean, variance) = mean_and_variance(all.iter().map(|total| value(total, k)));
        (mean - exact[k]).abs() < 5.0 * (variance / seeds as f64).sqrt()
    };
    assert!((0..10).all(|k| unbiased(&|total, k| total[k], k)));
    // −½Λ: a precision that is held at 0 or more is a number that is held at 0 or less.
    assert!(!(5..10).any(|k| unbiased(&|total, k| total[k].min(0.0), k)), "clipped shares went unnoticed");
}

/// Equation 4.21 clips each client's noisy precision at 0, which moves the sum upwards. Here the total is unbiased.
#[test]
fn mutant_noisy_precisions_clipped_at_zero_are_caught_as_a_bias_of_the_total() {
    let of = |epsilon: f64| {
        let promise = Promise { epsilon: Epsilon::new(epsilon).unwrap(), ..promise(1.0, Aggregator::None) };
        let settings = PviSettings { damping: Damping::NONE, ..full_pvi(Analytic) };
        method("analytic", settings, Schedule::Synchronous, promise)
    };
    // Rows of the test data are longer than the bound: the clipped sum is the limit of little noise.
    let (all, exact) = (totals(&of(0.05), 300), totals(&of(1e5), 1));
    let unbiased = |value: fn(f64) -> f64| {
        // Λ of the first input: −2 of the first number after Λμ.
        let precisions = all.iter().map(|t| value(-2.0 * t[5]));
        let (mean, variance) = mean_and_variance(precisions);
        (mean + 2.0 * exact[0][5]).abs() < 5.0 * (variance / 300.0).sqrt()
    };
    assert!(unbiased(|precision| precision));
    assert!(!unbiased(|precision| precision.max(0.0)), "the clipping of equation 4.21 went unnoticed");
}

#[test]
fn the_divergence_of_a_run_is_that_of_its_last_rounds_and_only_where_there_is_an_exact_posterior() {
    let (sites, test) = (sites(), rows(3, 9));
    let settings = PviSettings { rounds: Rounds::Count(40), ..full_pvi(Analytic) };
    let method = method("analytic", settings, Schedule::Synchronous, promise(1.0, Aggregator::None));
    let linear = simulation(&method, &sites, &test);
    let exact = linear.exact_posterior().unwrap().unwrap();
    let record = linear.run(&mut ()).unwrap();
    let last: Vec<f64> = record.curve.iter().rev().take(10).map(|point| point.kl.unwrap()).collect();
    assert_eq!(last[0], record.posterior.kl(&exact));
    assert!((record.kl.unwrap() - last.iter().sum::<f64>() / 10.0).abs() < 1e-12 * record.kl.unwrap());
    assert!(linear.non_private().unwrap().kl.unwrap() < 1e-9);
    assert!(linear.local_only().unwrap().kl.unwrap() > 1.0);
    let logistic = private_methods().remove(0);
    assert_eq!(simulation(&logistic, &sites, &test).run(&mut ()).unwrap().kl, None);
}

/// Found: runs of tempered chains were measured against the posterior of all rows.
#[test]
fn data_that_count_as_fewer_rows_have_the_tempered_posterior() {
    let (sites, test) = (sites(), rows(3, 9));
    let barker = BarkerSampler { step: 0.2, noise: TestNoise::Fixed { variance: 2.0 } };
    let of = |counts_as| {
        let settings = ChainSettings { counts_as, ..chain(barker, 4) };
        chain_method("a chain", settings, promise(1.0, Aggregator::None))
    };
    let all: u64 = sites.iter().map(|site| site.shard.len() as u64).sum();
    let exact = |counts_as| {
        let method = of(counts_as);
        let model = std::sync::Arc::new(inference::Linear::known(0.25));
        let simulation = Simulation { model, ..simulation(&method, &sites, &test) };
        (simulation.exact_posterior().unwrap().unwrap(), simulation.exact_moments().unwrap().unwrap())
    };
    let ((whole, _), (tempered, moments)) = (exact(None), exact(Some(all / 3)));
    assert_eq!((tempered.mean(), tempered.variances()), (&moments.mean[..], moments.variances));
    let (share, family) = ((all / 3) as f64 / all as f64, Family::Full { dimension: 5 });
    let prior = family.prior(1.0);
    for ((tempered, whole), prior) in family.natural(&tempered).iter().zip(family.natural(&whole)).zip(prior) {
        assert!((tempered - prior - share * (whole - prior)).abs() < 1e-9, "{tempered} {whole} {prior}");
    }
}
