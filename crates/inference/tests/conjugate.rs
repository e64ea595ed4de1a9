//! Methods for linear regression: their limits without noise, what is free and what is not, and noise that adds up.

use crate::common;
use crate::common::{Losing, conjugate_methods, open_pvi, private_methods, promise, rows, simulation, site, sites};
use inference::algorithm::{PviState, Remembered};
use inference::message::Direct;
use inference::settings::{
    Aggregator, Batching, Chain, Covariance, Damping, Hybrid, Local, Method, Optimiser, Promise, Rounds, Sampler,
    Schedule, Scheme, Solver, Start, TestNoise,
};
use inference::{Client, Family, Progress, Row, Rows, Simulation, Site, SyntheticLinear, Total};
use privacy::record::Tape;
use privacy::{Adjacency, NormBound, Released};

/// Levels and bias are collinear: the prior alone tells them apart, and the damped iteration goes as slowly as it is weak.
const PRIOR: f64 = 30.0;

fn named(name: &str) -> Method {
    conjugate_methods().into_iter().find(|m| m.name == name).unwrap()
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
        let method = Method {
            solver: Solver::Analytic,
            rounds: Rounds::Count(1500),
            damping: Damping::new(0.2).unwrap(),
            local: common::whole_step(),
            ..open_pvi(schedule)
        };
        let simulation = Simulation { prior_precision: PRIOR, ..simulation(&method, &sites, &test) };
        let kl = simulation.run(&mut ()).unwrap().posterior.kl(&best_mean_field(&simulation));
        assert!(kl < 1e-6, "{schedule:?}: KL {kl}");
    }
}

/// Descent by plain gradients stays where analytic updates led: both have the same fixed point.
#[test]
fn without_noise_a_hybrid_ends_where_its_opening_led() {
    let (sites, test) = (sites(), rows(3, 9));
    let hybrid = Hybrid { updates: 1500, share: 0.5, clip: NormBound::new(1.0).unwrap() };
    let plain = Local { optimiser: Optimiser::Sgd, learning_rate: 1e-4, ..common::natural(5) };
    let method = Method {
        solver: Solver::Hybrid(hybrid),
        rounds: Rounds::Count(1520),
        damping: Damping::new(0.2).unwrap(),
        local: plain,
        ..open_pvi(Schedule::Synchronous)
    };
    let simulation = Simulation { prior_precision: PRIOR, ..simulation(&method, &sites, &test) };
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
    let simulation = Simulation { prior_precision: 0.2, ..simulation(method, sites, &test) };
    let exact = simulation.exact_posterior().unwrap().unwrap();
    let built = simulation.build().unwrap();
    let mut drive = simulation.start(&built, &Direct, None).unwrap();
    let Rounds::Count(rounds) = method.rounds else { panic!("{}", method.name) };
    (0..rounds).for_each(|_| assert_eq!(drive.round().unwrap(), Progress::Moved));
    built.problem.family.gaussian(&drive.posterior().unwrap()).unwrap().kl(&exact)
}

#[test]
fn without_noise_analytic_updates_reach_the_exact_posterior_of_one_input_and_of_five() {
    for schedule in [Schedule::Sequential, Schedule::Synchronous] {
        let full = Method {
            solver: Solver::Analytic,
            covariance: Covariance::Full,
            rounds: Rounds::Count(150),
            damping: Damping::new(0.2).unwrap(),
            local: common::whole_step(),
            ..open_pvi(schedule)
        };
        let mean_field = Method { covariance: Covariance::MeanField, rounds: Rounds::Count(400), ..full.clone() };
        let cases =
            [(&full, drawn(1), 1), (&full, drawn(5), 5), (&mean_field, drawn(1), 1), (&mean_field, orthogonal(), 5)];
        for (method, sites, width) in cases {
            let kl = divergence_without_noise(method, &sites, width);
            assert!(kl < 1e-6, "{schedule:?}, {:?}, {width}: KL {kl}", method.covariance);
        }
    }
}

#[test]
fn without_noise_a_hybrid_reaches_the_exact_posterior_of_one_input_and_of_five() {
    let hybrid = Hybrid { updates: 400, share: 0.5, clip: NormBound::new(1.0).unwrap() };
    let method = Method {
        solver: Solver::Hybrid(hybrid),
        rounds: Rounds::Count(430),
        damping: Damping::new(0.2).unwrap(),
        local: Local { optimiser: Optimiser::Sgd, learning_rate: 1e-4, ..common::natural(5) },
        ..open_pvi(Schedule::Synchronous)
    };
    for (sites, width) in [(drawn(1), 1), (orthogonal(), 5)] {
        let kl = divergence_without_noise(&method, &sites, width);
        assert!(kl < 1e-6, "{width} inputs: KL {kl}");
    }
    // From an opening that is cut short the second stage comes closer, by steps of its own size.
    let short = |rounds, learning_rate| {
        let solver = Solver::Hybrid(Hybrid { updates: 5, ..hybrid });
        let local = Local { learning_rate, ..method.local };
        let method = Method { solver, local, rounds: Rounds::Count(rounds), ..method.clone() };
        divergence_without_noise(&method, &orthogonal(), 5)
    };
    let (early, late, still) = (short(6, 2e-3), short(300, 2e-3), short(300, 1e-12));
    assert!(late < 0.1 * early, "from KL {early} to {late}");
    assert!(still > 0.9 * early, "from KL {early} to {still} without steps: another solver made the second stage");
}

#[test]
fn a_likelihood_is_charged_once_and_every_later_answer_is_free() {
    let (sites, test) = (sites(), rows(3, 9));
    for method in conjugate_methods().into_iter().filter(|m| m.solver == Solver::Likelihood) {
        let method = Method { rounds: Rounds::Count(30), ..method };
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
    let method = Method { damping: Damping::NONE, ..named("likelihood") };
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
fn totals(method: &Method, seeds: u64, damping: Damping) -> Vec<Vec<f64>> {
    let (sites, test) = (sites(), rows(2, 1));
    let method = Method { damping, ..method.clone() };
    let simulation = simulation(&method, &sites, &test);
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

/// Equations 3.4 and 3.6 of the thesis, not 3.7: noise of the applied sum has variance (ρ·z·Δ)², spread over the shares
/// of those who can be relied on.
#[test]
fn noise_of_a_damped_sum_of_shares_has_the_variance_that_is_accounted() {
    let rho = Damping::new(0.25).unwrap();
    for name in ["by client, shares", "by client, curator"] {
        let mut method = private_methods().into_iter().find(|m| m.name == name).unwrap();
        let (sites, test) = (sites(), rows(2, 1));
        if let Some(promise) = &mut method.promise {
            promise.adjacency = Adjacency::AddRemove;
        }
        let built = simulation(&method, &sites, &test).build().unwrap();
        // Three clients of whom one may be lost and one share is the adversary's own: three shares are sized for one.
        let surplus: f64 = if name.contains("shares") { 3.0 } else { 1.0 };
        let expected = (rho.get() * built.terms[0].noise_deviation()).powi(2) * surplus;
        let all = totals(&method, 150, rho);
        let found: f64 = (0..10).map(|k| mean_and_variance(all.iter().map(|t| t[k])).1).sum::<f64>() / 10.0;
        // 1490 degrees of freedom: five standard errors of a variance.
        assert!((found / expected - 1.0).abs() < 0.19, "{name}: {found} against {expected}");
    }
}

/// Section 4.3 of the thesis clips each client's noisy share of the precision at 0, and its ε does not hold then. Here a share
/// is what the mechanism made of it: the opened total is the sum of the clipped changes, and neither larger nor smaller.
#[test]
fn mutant_noisy_shares_clipped_at_zero_are_caught_as_a_bias_of_the_opened_sum() {
    let of = |epsilon: f64| {
        let mut method = private_methods().into_iter().find(|m| m.name == "by client, shares").unwrap();
        let promise = method.promise.unwrap();
        method.promise = Some(Promise { epsilon: privacy::Epsilon::new(epsilon).unwrap(), ..promise });
        method
    };
    let (seeds, noisy) = (300, of(0.5));
    let (all, exact) = (totals(&noisy, seeds, Damping::NONE), &totals(&of(1e5), 1, Damping::NONE)[0]);
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
    let noisy = Promise { epsilon: privacy::Epsilon::new(0.05).unwrap(), ..promise(1.0, Aggregator::None) };
    let method = Method { promise: Some(noisy), ..named("analytic") };
    // Rows of the test data are longer than the bound: the clipped sum is the limit of little noise.
    let clipped = Promise { epsilon: privacy::Epsilon::new(1e5).unwrap(), ..noisy };
    let clipped = Method { promise: Some(clipped), ..method.clone() };
    let (all, exact) = (totals(&method, 300, Damping::NONE), totals(&clipped, 1, Damping::NONE));
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
    let method = Method { rounds: Rounds::Count(40), ..named("analytic") };
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
    let barker = Sampler::Barker { step: 0.2, noise: TestNoise::Fixed { variance: 2.0 } };
    let of = |counts_as| {
        let settings = Chain { sampler: barker, iterations: 4, chains: 1, warm_up: 0, counts_as, start: Start::Prior };
        Method {
            scheme: Scheme::Chain(settings),
            ..common::chain("a chain", barker, Start::Prior, Batching::All, promise(1.0, Aggregator::None))
        }
    };
    let all: u64 = sites.iter().map(|site| site.shard.len() as u64).sum();
    let exact = |counts_as| {
        let method = of(counts_as);
        let model = std::sync::Arc::new(inference::Linear { noise_variance: 0.25 });
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
