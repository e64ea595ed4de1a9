//! Regression by sufficient statistics: its limit without noise, its sensitivities, its budget, and what drop-outs do.

use crate::common::{Losing, promise, rng, secure, simulation, site, statistics, statistics_methods, uniform};
use inference::algorithm::statistics::rule::{Deviations, InputPerturbation, PlainProducts, Projected, RowNorm};
use inference::algorithm::statistics::{Rule, StatisticsReading, StatisticsSettings};
use inference::method::AlgorithmSettings;
use inference::settings::{Aggregator, Noise, Promise, SecureNoise};
use inference::{Linear, Method, Row, Rows, Simulation, Site, Summing};
use privacy::{Adjacency, Cohort, Epsilon, NoiseMultiplier, ShareNoise};
use std::sync::Arc;

const ROW_NORM: RowNorm = RowNorm { deviations: Deviations::Known, radius: 3.0 };

/// y = x₁ − x₂/2 + uniform noise of variance 1/12, inputs within ±1.
fn linear_rows(count: usize, seed: u64) -> Rows {
    let mut rng = rng(seed);
    let mut rows = Rows::new(2, 2).unwrap();
    for _ in 0..count {
        let x = [uniform(&mut rng), uniform(&mut rng)];
        let outcome = x[0] - 0.5 * x[1] + 0.5 * uniform(&mut rng);
        rows.push(Row { numbers: &x, ones: &[], outcome }).unwrap();
    }
    rows
}

fn linear_sites(count: usize) -> Vec<Site> {
    (0..count).map(|m| site(&format!("site {m}"), linear_rows(300, m as u64))).collect()
}

/// The promise of almost nothing: noise a hundredth of a row.
fn hardly_noised(aggregator: Aggregator) -> Promise {
    let noise = Noise::Multiplier(NoiseMultiplier::new(0.01).unwrap());
    Promise { epsilon: Epsilon::new(1e5).unwrap(), noise, ..promise(1.0, aggregator) }
}

fn of<'a>(method: &'a Method, sites: &'a [Site], test: &'a Rows) -> Simulation<'a> {
    Simulation { model: Arc::new(Linear::known(1.0 / 12.0)), ..simulation(method, sites, test) }
}

#[test]
fn without_much_noise_every_rule_and_reading_finds_the_exact_posterior() {
    let (sites, test) = (linear_sites(3), linear_rows(5, 99));
    let (plain, inputs) = (PlainProducts { bound: 2.0 }, InputPerturbation { bound: 2.0 });
    let asked = RowNorm { deviations: Deviations::Asked { bound: 2.0, share: 0.2 }, radius: 3.0 };
    use StatisticsReading::{Naive, NoiseAware, Ridge};
    for aggregator in [Aggregator::None, Aggregator::Curator, secure(SecureNoise::Nodes, 0, 0)] {
        let promise = hardly_noised(aggregator);
        let cases = [
            (statistics("plain", plain, Naive, promise), Naive),
            (statistics("plain", plain, Ridge, promise), Ridge),
            (statistics("inputs", inputs, Naive, promise), Naive),
            (statistics("row-norm", ROW_NORM, Naive, promise), Naive),
            (statistics("row-norm", ROW_NORM, Ridge, promise), Ridge),
            (statistics("row-norm", ROW_NORM, NoiseAware, promise), NoiseAware),
            (statistics("row-norm, asked", asked, NoiseAware, promise), NoiseAware),
        ];
        for (method, reading) in cases {
            let (rule, by_rows) = (&method.name, method.name == "inputs");
            if by_rows && aggregator != Aggregator::None {
                continue;
            }
            let simulation = of(&method, &sites, &test);
            let exact = simulation.exact_posterior().unwrap().unwrap();
            let record = simulation.run(&mut ()).unwrap();
            for (j, (mean, s)) in record.posterior.mean().iter().zip(exact.deviations()).enumerate() {
                let off = (mean - exact.mean()[j]) / s;
                // Noise in inputs, however little, pulls slopes to 0.
                assert!(
                    off.abs() < if by_rows { 2.0 } else { 0.5 },
                    "{rule} {reading:?} {aggregator:?}: {off} deviations off"
                );
                let ratio = record.posterior.deviations()[j] / s;
                assert!((0.85..1.25).contains(&ratio), "{rule} {reading:?} {aggregator:?}: {ratio} as wide");
            }
            match record.outcome_variance {
                Some(variance) => assert!((variance * 12.0 - 1.0).abs() < 0.15, "{variance}"),
                None => assert_ne!(reading, NoiseAware),
            }
        }
    }
}

/// Means far from 0: values are bounded about the released means, and the sums are moved back. Without that, thresholds in
/// deviations about 0 are wide, or cut what is far out.
#[test]
fn means_that_are_not_0_are_asked_for_and_taken_back() {
    let far = |count, seed| {
        let mut rng = rng(seed);
        let mut rows = Rows::new(2, 2).unwrap();
        for _ in 0..count {
            let x = [3.0 + uniform(&mut rng), -2.0 + 0.5 * uniform(&mut rng)];
            rows.push(Row { numbers: &x, ones: &[], outcome: x[0] - 0.5 * x[1] + 0.1 * uniform(&mut rng) }).unwrap();
        }
        rows
    };
    let sites: Vec<Site> = (0..3).map(|m| site(&format!("site {m}"), far(300, m))).collect();
    let test = far(5, 99);
    for aggregator in [Aggregator::None, Aggregator::Curator] {
        let rule = Projected { bound: 6.0, share: 0.3, means: Some(0.2) };
        let method = statistics("means", rule, StatisticsReading::Naive, hardly_noised(aggregator));
        let simulation = of(&method, &sites, &test);
        let record = simulation.run(&mut ()).unwrap();
        assert_eq!(record.rounds, 3, "means, standard deviations, products");
        let exact = simulation.exact_posterior().unwrap().unwrap();
        for (j, (mean, exact)) in record.posterior.mean().iter().zip(exact.mean()).enumerate() {
            assert!((mean - exact).abs() < 0.05, "{aggregator:?}, {j}: {mean}, exactly {exact}");
        }
    }
}

/// Found by review: a run of less than ten rounds was told the mean divergence of what it served and of the prior.
#[test]
fn the_divergence_of_one_round_is_that_of_what_is_served() {
    let (sites, test) = (linear_sites(3), linear_rows(5, 99));
    let method = statistics("once", ROW_NORM, StatisticsReading::Ridge, promise(1.0, Aggregator::Curator));
    let simulation = of(&method, &sites, &test);
    let exact = simulation.exact_posterior().unwrap().unwrap();
    let record = simulation.run(&mut ()).unwrap();
    assert_eq!(record.kl, Some(record.posterior.kl(&exact)));
}

/// Heikkilä et al. 2017, supplement, equation (12): Δ² = d(2d − 1)c⁴ + 4d c⁴ for equal bounds; and of the deviations'
/// query c⁴(d + 1), where the paper's code took c².
#[test]
fn sensitivities_are_those_of_the_paper_and_outer_products_have_less() {
    let (d, c) = (11_usize, 7.5_f64);
    fn of(rule: impl Rule + 'static, d: usize, adjacency: Adjacency) -> Vec<(&'static str, f64)> {
        let settings = StatisticsSettings { rule: Arc::new(rule), reading: StatisticsReading::Naive };
        settings.sensitivities(d, adjacency)
    }
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    let plain = of(PlainProducts { bound: c }, d, Adjacency::Substitute);
    near(plain[0].1, ((d * (2 * d - 1) + 4 * d) as f64).sqrt() * c * c);
    let projected = of(Projected { bound: c, share: 0.3, means: None }, d, Adjacency::Substitute);
    assert_eq!(projected.len(), 2);
    near(projected[0].1, c * c * 12.0_f64.sqrt());
    near(projected[1].1, ((d * (2 * d - 1) + 4 * d) as f64).sqrt());
    // Means first: a value moves by 2c at most. What is asked about them afterwards is bounded as before.
    let centred = of(Projected { bound: c, share: 0.3, means: Some(0.1) }, d, Adjacency::Substitute);
    near(centred[0].1, 2.0 * c * 12.0_f64.sqrt());
    assert_eq!(centred[1..], projected[..]);
    let row = of(RowNorm { deviations: Deviations::Known, radius: 0.7 }, d, Adjacency::Substitute);
    near(row[0].1, 2.0_f64.sqrt() * 0.49 * 12.0);
    let removed = of(RowNorm { deviations: Deviations::Known, radius: 0.7 }, d, Adjacency::AddRemove);
    near(removed[0].1, 0.49 * 12.0);
}

/// The share of deviations is one of μ²: 1/z² of both rounds together is that of one release.
#[test]
fn the_two_rounds_cost_what_one_release_would() {
    let asked = RowNorm { deviations: Deviations::Asked { bound: 4.0, share: 0.2 }, radius: 0.8 };
    let plan = |rule: RowNorm, aggregator| {
        let method = statistics("planned", rule, StatisticsReading::Ridge, promise(1.0, aggregator));
        inference::plan::plan(&method, &[40, 25, 60], 5).unwrap().clients.remove(0)
    };
    let skellam = secure(SecureNoise::Clients(ShareNoise::Skellam), 0, 1);
    for aggregator in [Aggregator::None, Aggregator::Curator, skellam] {
        let (two, one) = (plan(asked, aggregator), plan(ROW_NORM, aggregator));
        let opening = two.openings[0].noise_multiplier();
        let squared = |z: f64| 1.0 / (z * z);
        let sum = squared(opening) + squared(two.noise_multiplier());
        assert!((sum / squared(one.noise_multiplier()) - 1.0).abs() < 1e-3, "{aggregator:?}");
        assert!((squared(opening) / sum - 0.2).abs() < 1e-9);
        assert!(two.certified <= 2.0 && two.certified > 1.99, "{}", two.certified);
    }
}

/// Found by review: much noise makes a coarse grid, on which roundings of thousands of inputs can take the whole bound. The plan says
/// so, and no client is charged for what it could not send.
#[test]
fn thousands_of_inputs_on_a_coarse_grid_are_refused_by_the_plan() {
    let noise = Noise::Multiplier(NoiseMultiplier::new(2000.0).unwrap());
    let plan = |inputs, adjacency| {
        let promise = Promise { noise, adjacency, ..promise(1.0, Aggregator::Curator) };
        let method = statistics("wide", ROW_NORM, StatisticsReading::Ridge, promise);
        inference::plan::plan(&method, &[40, 25], inputs)
    };
    assert!(plan(5457, Adjacency::Substitute).is_ok());
    let error = plan(5458, Adjacency::Substitute).unwrap_err().to_string();
    assert!(error.contains("5459 entries") && error.contains("rounding errors"), "{error}");
    assert!(plan(5458, Adjacency::AddRemove).is_ok(), "vectors of any sign have no roundings to mind");
}

#[test]
fn a_sum_without_a_drop_out_is_that_of_the_others_and_beyond_the_quorum_nothing_opens() {
    let (sites, test) = (linear_sites(4), linear_rows(5, 99));
    let others: Vec<Site> = [0, 1, 3].into_iter().map(|m| site("other", linear_rows(300, m))).collect();
    let at = |dropouts| {
        let promise = hardly_noised(secure(SecureNoise::Nodes, 0, dropouts));
        statistics("dropping", PlainProducts { bound: 2.0 }, StatisticsReading::Naive, promise)
    };
    let (one, none) = (at(1), at(0));
    let (here, left) = (of(&one, &sites, &test), of(&one, &others, &test));
    let built = here.build().unwrap();
    let mut drive = here.start(&built, &Losing(|_, client| client == 2), None).unwrap();
    drive.round().unwrap();
    let found = built.problem.family.gaussian(&drive.posterior().unwrap()).unwrap();
    let exact = left.exact_posterior().unwrap().unwrap();
    for (j, s) in exact.deviations().iter().enumerate() {
        assert!(((found.mean()[j] - exact.mean()[j]) / s).abs() < 0.5, "coordinate {j}");
        assert!((found.deviations()[j] / s - 1.0).abs() < 0.05, "the rows of the lost client count");
    }
    let strict = of(&none, &sites, &test);
    let built = strict.build().unwrap();
    let error = strict.start(&built, &Losing(|_, client| client == 2), None).unwrap().round().unwrap_err();
    assert!(error.to_string().contains('3') && error.to_string().contains('4'), "{error}");
}

/// A row's values are held within bounds before anything else: one row of huge values moves what is served no more than
/// its bound allows.
#[test]
fn a_huge_row_counts_as_one_at_the_bound() {
    let (mut huge, mut bounded) = (linear_rows(50, 1), linear_rows(50, 1));
    huge.push(Row { numbers: &[1e200, -1e200], ones: &[], outcome: 1e200 }).unwrap();
    bounded.push(Row { numbers: &[2.0, -2.0], ones: &[], outcome: 2.0 }).unwrap();
    let test = linear_rows(2, 9);
    let rule = PlainProducts { bound: 2.0 };
    let method = statistics("bounded", rule, StatisticsReading::Naive, hardly_noised(Aggregator::Curator));
    let served = |rows: Rows| {
        let sites = [site("only", rows)];
        of(&method, &sites, &test).run(&mut ()).unwrap().posterior.mean().to_vec()
    };
    assert_eq!(served(huge), served(bounded));
}

/// What the server believes of the noise is what is in the sum: all nodes' noise, or as many shares as came.
#[test]
fn the_server_believes_in_the_noise_that_is_there() {
    let cohort = Cohort::new(10, 2, 3).unwrap();
    let by = |noise| Summing::Secure { cohort, nodes: 3, noise };
    for contributions in [7, 10] {
        assert_eq!(by(SecureNoise::Nodes).times(contributions), 3.0);
        let shares = by(SecureNoise::Clients(ShareNoise::Skellam)).times(contributions);
        assert_eq!(shares, contributions as f64 / 4.0);
        assert_eq!(Summing::Curator.times(contributions), 1.0);
    }
}

/// y = 0.6 x₁ − 0.5 x₂ + noise, all of deviation 1, as it is declared.
fn standard_rows(count: usize, seed: u64) -> Rows {
    let mut rng = rng(seed);
    let mut standard = || 3.0_f64.sqrt() * uniform(&mut rng);
    let mut rows = Rows::new(2, 2).unwrap();
    for _ in 0..count {
        let x = [standard(), standard()];
        let outcome = 0.6 * x[0] - 0.5 * x[1] + 0.39_f64.sqrt() * standard();
        rows.push(Row { numbers: &x, ones: &[], outcome }).unwrap();
    }
    rows
}

/// Real noise of every way to sum, and what the posterior says of it: the squared distance of a slope in the posterior's
/// deviations is 1 on average. Noise believed to be half or twice as large would give about 2 or ½: it is most of the width.
#[test]
fn the_posterior_is_as_wide_as_the_noise_of_every_way_to_sum_makes_it() {
    let test = linear_rows(5, 99);
    let sites =
        |seed: u64| (0..4).map(|m| site(&format!("site {m}"), standard_rows(300, 100 + 4 * seed + m))).collect();
    let ways = [
        Aggregator::None,
        Aggregator::Curator,
        secure(SecureNoise::Nodes, 0, 0),
        secure(SecureNoise::Clients(ShareNoise::DiscreteGaussian), 1, 1),
        secure(SecureNoise::Clients(ShareNoise::Skellam), 1, 1),
    ];
    for aggregator in ways {
        let method = statistics("wide", ROW_NORM, StatisticsReading::NoiseAware, promise(1.0, aggregator));
        let squares = (0..60).flat_map(|seed| {
            let sites: Vec<Site> = sites(seed);
            let model = Arc::new(Linear::known(0.39));
            let record = Simulation { seed, model, ..of(&method, &sites, &test) }.run(&mut ()).unwrap();
            let posterior = record.posterior;
            let at = |(j, truth): (usize, f64)| ((posterior.mean()[j] - truth) / posterior.deviations()[j]).powi(2);
            [(0, 0.6), (1, -0.5)].map(at)
        });
        let (count, sum) = squares.fold((0.0, 0.0), |(count, sum), square| (count + 1.0, sum + square));
        let spread: f64 = sum / count;
        assert!((0.65..1.4).contains(&spread), "{aggregator:?}: {spread}");
    }
}

#[test]
fn every_rule_is_among_the_laws() {
    let names: Vec<String> = statistics_methods().into_iter().map(|m| m.name).collect();
    for rule in ["plain", "projected", "row-norm", "inputs"] {
        assert!(names.iter().any(|name| name.contains(rule)), "{rule}");
    }
}
