//! Noise-aware PVI without noise finds the best mean-field approximation of a conjugate posterior, by both rules.

mod common;

use common::{open_pvi, rows, simulation, sites};
use inference::settings::{Batching, Curvature, Damping, Local, Method, NoiseAware, Rounds, Schedule, Scheme};
use inference::{Family, Linear, Model, Rows, Simulation};
use std::sync::Arc;

/// Levels and bias are collinear: the prior alone tells them apart, and the damped iteration goes as slowly as it is weak.
const PRIOR: f64 = 30.0;

fn open(curvature: Curvature, schedule: Schedule) -> Method {
    let settings = NoiseAware { curvature, whitening: 0.5, floor: 0.05, caution: 3.0 };
    let base = open_pvi(schedule);
    Method {
        name: format!("{curvature:?} {schedule:?}"),
        scheme: Scheme::NoiseAware(settings),
        rounds: Rounds::Count(2000),
        damping: Damping::new(0.2).unwrap(),
        local: Local { batch: Batching::All, ..base.local },
        ..base
    }
}

#[test]
fn without_noise_both_rules_reach_the_best_mean_field_posterior() {
    let model: Arc<dyn Model> = Arc::new(Linear { noise_variance: 0.25 });
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
                Simulation { model: model.clone(), prior_precision: PRIOR, ..simulation(&method, &sites, &test) };
            let kl = simulation.run(&mut ()).unwrap().posterior.kl(&best);
            assert!(kl < 1e-6, "{}: KL {kl}", method.name);
        }
    }
}
