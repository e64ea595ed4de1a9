//! Noise-aware PVI without noise finds the best mean-field approximation of a conjugate posterior, by both rules; the noise
//! that the readout of DP optimisation counts on is the noise that there is.

use crate::common::{
    adam, method, noise_aware, noise_aware_readout, private_methods, promise, rows, simulation, site, sites, whole_step,
};
use inference::algorithm::{Curvature, NoiseAwareSettings, PviSettings, PviState};
use inference::message::Direct;
use inference::settings::{Aggregator, Damping, Local, Rounds, Schedule};
use inference::solve::{Average, LocalSolve, Virtual};
use inference::{Family, Linear, Method, Model, Progress, Row, Rows, Simulation};
use std::sync::Arc;

/// Levels and bias are collinear: the prior alone tells them apart, and the damped iteration goes as slowly as it is weak.
const PRIOR: f64 = 30.0;

fn open(curvature: Curvature, schedule: Schedule) -> Method {
    let (rounds, damping) = (Rounds::Count(2000), Damping::new(0.2).unwrap());
    let settings = NoiseAwareSettings { rounds, damping, ..noise_aware(curvature) };
    method(&format!("{curvature:?} {schedule:?}"), settings, schedule, None)
}

#[test]
fn without_noise_both_rules_reach_the_best_mean_field_posterior() {
    let model: Arc<dyn Model> = Arc::new(Linear::known(0.25));
    let (sites, test) = (sites(), rows(3, 9));
    let mut all = Rows::new(5, 2).unwrap();
    [40, 25, 60].iter().zip(1..).for_each(|(&n, seed)| rows(n, seed).iter().for_each(|r| all.push(r).unwrap()));
    let full = Family::Full { dimension: 5 };
    let prior = full.prior(PRIOR);
    let which: Vec<usize> = (0..all.len()).collect();
    let statistics = model.statistics(&all, &which, &full.gaussian(&prior).unwrap(), full);
    let exact: Vec<f64> = prior.iter().zip(&statistics).map(|(p, s)| p + s).collect();
    let mean_field = Family::MeanField { dimension: 5 };
    let best = mean_field.gaussian(&mean_field.natural(&full.gaussian(&exact).unwrap())).unwrap();
    for curvature in [Curvature::Moments { looks: 1, bound: 3.0 }, Curvature::EveryRound { weight: 1.0 }] {
        for schedule in [Schedule::Sequential, Schedule::Synchronous] {
            let method = open(curvature, schedule);
            let simulation =
                Simulation { model: model.clone(), prior: PRIOR.into(), ..simulation(&method, &sites, &test) };
            let kl = simulation.run(&mut ()).unwrap().posterior.kl(&best);
            assert!(kl < 1e-6, "{}: KL {kl}", method.name);
        }
    }
}

/// By parts too, in one natural step, whether each stands for all rows or is a client of its own.
#[test]
fn without_noise_parts_reach_the_posterior_that_rows_reach() {
    let model: Arc<dyn Model> = Arc::new(Linear { noise_variance: 0.25, is_open: false });
    let (sites, test) = (sites(), rows(3, 9));
    let reached = |method: &Method| {
        let simulation = Simulation { model: model.clone(), prior: PRIOR.into(), ..simulation(method, &sites, &test) };
        simulation.run(&mut ()).unwrap().posterior
    };
    let by_rows = reached(&open(Curvature::EveryRound { weight: 1.0 }, Schedule::Synchronous));
    let (rounds, damping) = (Rounds::Count(2000), Damping::new(0.2).unwrap());
    let average: Arc<dyn LocalSolve> = Arc::new(Average { parts: 5, local: whole_step() });
    let clients: Arc<dyn LocalSolve> = Arc::new(Virtual { parts: 5, local: whole_step() });
    for (solver, schedule) in [(average, Schedule::Sequential), (clients, Schedule::Synchronous)] {
        let solver = Some(solver);
        let by_parts = noise_aware(Curvature::EveryRound { weight: 1.0 });
        let settings = NoiseAwareSettings { rounds, damping, solver, ..by_parts };
        let kl = reached(&method("by parts", settings, schedule, None)).kl(&by_rows);
        assert!(kl < 1e-6, "KL {kl}");
    }
}

/// Seeds over which a variance is averaged: 400 coordinates of one seed tell it to a tenth.
const SEEDS: u64 = 12;

/// Rows without inputs have no gradient: what an update moves is noise, and its variance is the one that is tracked.
#[test]
fn the_variance_that_the_readout_of_dp_optimisation_tracks_is_that_of_its_noise() {
    let width = 400;
    let mut nothing = Rows::new(width, width).unwrap();
    for i in 0..50 {
        nothing.push(Row { numbers: &vec![0.0; width], ones: &[], outcome: f64::from(i % 2) }).unwrap();
    }
    let sites = [site("one", nothing.clone())];
    for (keep_state, steps) in [(false, 1), (false, 12), (true, 12)] {
        let local = Local { keep_state, learning_rate: 0.01, ..adam(steps) };
        let settings = PviSettings { damping: Damping::NONE, ..noise_aware_readout(local) };
        let method = method("noise alone", settings, Schedule::Sequential, promise(1.0, Aggregator::None));
        let ratio = |seed| {
            let simulation = Simulation { seed, ..simulation(&method, &sites, &nothing) };
            let built = simulation.build().unwrap();
            let mut drive = simulation.start(&built, &Direct, None).unwrap();
            assert_eq!(drive.round().unwrap(), Progress::Moved);
            let state: PviState = postcard::from_bytes(drive.state()).unwrap();
            let served = built.problem.family.gaussian(state.served.last().unwrap()).unwrap();
            served.mean().iter().map(|m| m * m).sum::<f64>() / width as f64 / state.noise[0][0]
        };
        // Adam's first steps all have the size η, also where moments will be kept: there the first update moves a little more.
        let ratios: Vec<f64> = (0..SEEDS).map(ratio).collect();
        let mean = ratios.iter().sum::<f64>() / SEEDS as f64;
        assert!((0.35..1.4).contains(&mean), "kept {keep_state}, {steps} steps: {ratios:?}");
    }
}

/// Without noise the readout serves what is there, and where noise is all there is, the prior.
#[test]
fn the_readout_of_dp_optimisation_trusts_a_coordinate_as_far_as_its_noise_allows() {
    let (sites, test) = (sites(), rows(3, 9));
    let method = private_methods().into_iter().find(|m| m.name == "dp optimisation, noise-aware readout").unwrap();
    let simulation = simulation(&method, &sites, &test);
    let built = simulation.build().unwrap();
    let mut drive = simulation.start(&built, &Direct, None).unwrap();
    (0..2).for_each(|_| assert_eq!(drive.round().unwrap(), Progress::Moved));
    let state: PviState = postcard::from_bytes(drive.state()).unwrap();
    assert_eq!((state.noise.len(), state.served.len()), (3, 2));
    assert!(state.noise.iter().flatten().all(|v| *v > 0.0));
    let posterior = |noise: f64| {
        let state = PviState { noise: vec![vec![noise; 5]; 3], ..state.clone() };
        built.protocol.posterior(&postcard::to_allocvec(&state).unwrap()).unwrap()
    };
    let plain: Vec<f64> = (0..10).map(|j| (state.served[0][j] + state.served[1][j]) / 2.0).collect();
    let prior = &built.problem.prior.0;
    // Where the data's precision is 0 there is nothing to weigh: the prior.
    let learnt = |j: usize| prior[5 + j % 5] - plain[5 + j % 5] > 0.0;
    let whole: Vec<f64> = (0..10).map(|j| if learnt(j) { plain[j] } else { prior[j] }).collect();
    assert!(posterior(0.0).iter().zip(&whole).all(|(found, whole)| (found - whole).abs() < 1e-12));
    assert!(posterior(1e12).iter().zip(prior).all(|(found, prior)| (found - prior).abs() < 1e-6));
    // W = Λ/(Λ + Λ²v): half of a coordinate whose noise has the variance of its posterior, 1/Λ.
    let j = (0..5).find(|j| learnt(*j)).expect("no coordinate has learnt anything");
    let half = posterior(1.0 / (3.0 * 2.0 * (prior[5 + j] - plain[5 + j])));
    assert!((half[j] - (prior[j] + 0.5 * (plain[j] - prior[j]))).abs() < 1e-9);
}
