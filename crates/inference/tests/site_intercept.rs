//! An intercept of each site's own: the same as a coefficient of the site's dummy where all rows are in one place, and it
//! never leaves the site.

use crate::common::{
    OWN_PRECISION, algorithm_of, method, natural, noise_aware, private_methods, pvi, rows, simulation, sites,
};
use inference::algorithm::{Curvature, InterceptState, NoiseAwareSettings, PviSettings};
use inference::message::Direct;
use inference::settings::{Damping, Rounds, Schedule};
use inference::solve::Clear;
use inference::{
    Client, ClientView, Family, Gaussian, Linear, Method, Model, Progress, Record, Row, Rows, Simulation, Site,
    SiteIntercept,
};
use privacy::Released;
use std::sync::Arc;

/// Levels and intercepts are collinear: priors alone tell them apart, and the damped iteration goes as slowly as they are
/// weak.
const SHARED: f64 = 30.0;
const OWN: f64 = 20.0;

fn linear() -> Arc<dyn Model> {
    Arc::new(Linear::known(0.25))
}

/// Mean-field posterior of all rows in one place: four shared inputs, then a dummy for each of the three sites.
fn in_one_place() -> Gaussian {
    let mut all = Rows::new(7, 2).unwrap();
    for (site, (&n, seed)) in [40, 25, 60].iter().zip(1..).enumerate() {
        for row in rows(n, seed).iter() {
            all.push(Row { ones: &[row.ones[0], 4 + site as u32], ..row }).unwrap();
        }
    }
    let (full, mean_field) = (Family::Full { dimension: 7 }, Family::MeanField { dimension: 7 });
    let variances = [[1.0 / SHARED; 4].as_slice(), &[1.0 / OWN; 3]].concat();
    let prior = Gaussian::new_diagonal(vec![0.0; 7], variances).unwrap();
    let which: Vec<usize> = (0..all.len()).collect();
    let statistics = linear().statistics(&all, &which, &prior, full);
    let exact: Vec<f64> = full.natural(&prior).iter().zip(&statistics).map(|(p, s)| p + s).collect();
    mean_field.gaussian(&mean_field.natural(&full.gaussian(&exact).unwrap())).unwrap()
}

fn run(method: &Method, sites: &[Site], test: &Rows) -> Record {
    let simulation = simulation(method, sites, test);
    Simulation { model: linear(), prior: SHARED.into(), ..simulation }.run(&mut ()).unwrap()
}

#[test]
fn without_privacy_it_is_the_coefficient_of_the_sites_dummy() {
    let (sites, test, whole) = (sites(), rows(3, 9), in_one_place());
    let (damping, site_intercept) = (Damping::new(0.2).unwrap(), Some(OWN));
    let solver = Clear { local: natural(1) };
    let pvi = PviSettings { rounds: Rounds::Count(600), damping, site_intercept, ..pvi(solver) };
    let pvi = method("pvi", pvi, Schedule::Sequential, None);
    let by = |curvature| {
        let rounds = Rounds::Count(2000);
        let settings = NoiseAwareSettings { rounds, damping, site_intercept, ..noise_aware(curvature) };
        method("noise-aware", settings, Schedule::Sequential, None)
    };
    for method in [pvi, by(Curvature::Moments { looks: 1, bound: 3.0 }), by(Curvature::EveryRound { weight: 1.0 })] {
        let record = run(&method, &sites, &test);
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{method:?} {found} {expected}");
        let shared = record.posterior.mean().iter().zip(record.posterior.deviations());
        assert_eq!((record.posterior.dimension(), record.intercepts.len()), (4, 3));
        let own = record.intercepts.iter().map(|SiteIntercept { mean, deviation, .. }| (mean, *deviation));
        for ((found, expected), s) in shared.chain(own).zip(whole.mean()).zip(whole.deviations()) {
            near(*found.0, *expected);
            near(found.1, s);
        }
    }
}

/// A row is predicted by the intercept of its own site, and one of no site by the prior's.
#[test]
fn held_out_rows_are_predicted_at_home() {
    let test = rows(4, 9);
    let at = |own: [&[usize]; 3]| -> Vec<Site> {
        sites().into_iter().zip(own).map(|(site, own)| Site { own: own.to_vec(), ..site }).collect()
    };
    let (rounds, site_intercept) = (Rounds::Count(60), Some(OWN_PRECISION));
    let settings = PviSettings { rounds, site_intercept, ..pvi(Clear { local: natural(2) }) };
    let method = method("at home", settings, Schedule::Sequential, None);
    let (nowhere, first, second) =
        (run(&method, &at([&[], &[], &[]]), &test), run(&method, &at([&[0, 1, 2, 3], &[], &[]]), &test), {
            run(&method, &at([&[], &[0, 1, 2, 3], &[]]), &test)
        });
    assert_eq!(first.intercepts, second.intercepts);
    let mean = |record: &Record| record.intercepts.iter().map(|own| own.mean).collect::<Vec<_>>();
    assert!((mean(&first)[0] - mean(&first)[1]).abs() > 1e-3, "{:?}", first.intercepts);
    let scores = [&nowhere, &first, &second].map(|record| *record.scores.main().unwrap());
    assert!(scores[0] != scores[1] && scores[1] != scores[2], "{scores:?}");
    assert_eq!(first.sites[0].scores, first.scores);
}

/// What the server holds and what travels has no coordinate for it; what the site keeps has.
#[test]
fn it_never_leaves_its_site() {
    let (sites, test) = (sites(), rows(3, 9));
    let methods = private_methods().into_iter().filter(|method| method.algorithm.site_intercept().is_some());
    let mut tried = 0;
    for method in methods {
        let simulation = simulation(&method, &sites, &test);
        let built = simulation.build().unwrap();
        let mut drive = simulation.start(&built, &Direct, None).unwrap();
        assert_eq!(drive.round().unwrap(), Progress::Moved);
        assert_eq!(drive.posterior().unwrap().len(), 8, "{}", method.name);
        let home = built.home.as_ref().unwrap();
        let at_home = |client: &Client<'_>| built.protocol.at_home(client.index(), client.memory()).unwrap().unwrap();
        let learnt = drive.clients().iter().any(|client| at_home(client) != home.prior());
        assert!(learnt, "{}: nothing was learnt", method.name);
        for client in drive.clients() {
            if algorithm_of(&method) == "noise-aware" {
                let kept: Option<Released<InterceptState>> = postcard::from_bytes(client.memory()).unwrap();
                assert!(kept.is_some());
            }
        }
        tried += 1;
    }
    assert_eq!(tried, 6);
}

/// A memory that no release makes is refused before anything is charged, and never a panic.
#[test]
fn a_spoilt_memory_of_it_is_refused() {
    let (sites, test) = (sites(), rows(3, 9));
    let method = private_methods().into_iter().find(|method| method.name == "site intercept, moments").unwrap();
    let simulation = simulation(&method, &sites, &test);
    let built = simulation.build().unwrap();
    let mut drive = simulation.start(&built, &Direct, None).unwrap();
    (0..2).for_each(|_| assert_eq!(drive.round().unwrap(), Progress::Moved));
    let client = &drive.clients()[0];
    let query = built.protocol.ask(drive.state()).unwrap();
    let seat = ClientView { index: 0, shard: &sites[0].shard, terms: &built.terms[0] };
    assert!(built.protocol.check(&query, client.memory(), &seat).is_ok());
    let kept = serde_json::to_value(postcard::from_bytes::<Option<Released<InterceptState>>>(client.memory()).unwrap())
        .unwrap();
    for key in ["residual", "noise", "pull", "curvature"] {
        for wrong in [serde_json::json!([]), serde_json::json!([1.0, 1.0]), serde_json::json!([-1e308])] {
            let mut spoilt = kept.clone();
            if key != "noise" && wrong[0] == -1e308 {
                continue; // a number like any other
            }
            spoilt["source"][key] = wrong.clone();
            let memory =
                postcard::to_allocvec(&serde_json::from_value::<Option<Released<InterceptState>>>(spoilt).unwrap())
                    .unwrap();
            assert!(built.protocol.check(&query, &memory, &seat).is_err(), "{key} {wrong}");
        }
    }
}
