//! Conjugate families by noisy sums: against SciPy, at every gate, and what is refused.

use crate::common::{
    Losing, add_remove, by_person, conjugate_family_methods, method, model_of, promise, rng, rows, secure, simulation,
    site, sites, unclipped, uniform,
};
use inference::algorithm::ConjugateSettings;
use inference::describe::{NOT_TOGETHER, Registry, STRAY, UNREADABLE};
use inference::method::AlgorithmSettings;
use inference::settings::{Aggregator, Noise, Promise, Schedule, SecureNoise};
use inference::{
    ConjugateFamily, Method, Model, NoisyTotals, QUANTILE_LEVELS, Row, Rows, RunError, Simulation, Site, StudyModel,
    SyntheticConjugate,
};
use privacy::{Epsilon, NoiseMultiplier, ShareNoise};
use serde::Deserialize;
use std::sync::Arc;

/// Posteriors by SciPy 1.17.1, by another formula: the likelihood of the noisy sums at every parameter (sums of binomial, Poisson and
/// multinomial chances; for the normal law Gauss–Legendre sums over mean and χ² of the rows), times the prior, integrated by splines over
/// a fine grid of parameters. No conjugate posterior is used.
const VECTORS: &str = include_str!("vectors/conjugate.json");

#[derive(Deserialize)]
struct Vector {
    family: String,
    prior: Vec<f64>,
    rows: u64,
    sums: Vec<f64>,
    variance: f64,
    units: (f64, f64),
    posterior: Vec<VectorMarginal>,
}

#[derive(Deserialize)]
struct VectorMarginal {
    mean: f64,
    deviation: f64,
    quantiles: Vec<f64>,
}

/// A model of this kind with these prior constants, in the order of its keys.
fn model(kind: &str, prior: &[f64], levels: Option<usize>) -> Arc<dyn Model> {
    let names: &[&str] = match kind {
        "beta-binomial" => &["alpha", "beta"],
        "dirichlet-multinomial" => &["concentration"],
        "gamma-poisson" => &["shape", "rate"],
        _ => &["mean", "strength", "shape", "scale"],
    };
    let keys: String = names.iter().zip(prior).map(|(name, value)| format!("{name} = {value:?}\n")).collect();
    let table = format!("kind = \"{kind}\"\nbias = false\n{keys}").parse().unwrap();
    StudyModel::read(&table, &Registry::standard()).unwrap().settings.build(levels, 0)
}

fn family(model: &dyn Model) -> &dyn ConjugateFamily {
    model.conjugate().unwrap()
}

#[test]
fn posteriors_are_those_of_scipy() {
    let vectors: Vec<Vector> = serde_json::from_str(VECTORS).unwrap();
    let mut kinds: Vec<&str> = vectors.iter().map(|vector| vector.family.as_str()).collect();
    kinds.dedup();
    assert_eq!(kinds.len(), 4);
    for vector in &vectors {
        let model = model(&vector.family, &vector.prior, Some(vector.sums.len()));
        let (rows, variance, units) = (vector.rows, vector.variance, vector.units);
        let seen = NoisyTotals { rows, sums: vector.sums.clone(), variance, units };
        let found = family(model.as_ref()).posterior(&seen).unwrap();
        assert_eq!(found.len(), vector.posterior.len());
        for (found, expected) in found.iter().zip(&vector.posterior) {
            let near = |a: f64, b: f64| (a - b).abs() <= 2e-6 * expected.deviation;
            let place = format!("{} {:?}: {found:?}", vector.family, vector.sums);
            assert!(near(found.mean, expected.mean) && near(found.deviation, expected.deviation), "{place}");
            for (level, (a, b)) in QUANTILE_LEVELS.iter().zip(found.quantiles.0.iter().zip(&expected.quantiles)) {
                assert!(near(*a, *b), "{level}: {b}, {place}");
            }
        }
    }
}

/// Outcomes of 300 rows for a family: 0 and 1, levels, counts up to 9, numbers between −1 and 2.
fn outcomes(kind: &str, seed: u64) -> Rows {
    let mut rng = rng(seed);
    let mut rows = Rows::new(1, 1).unwrap();
    for _ in 0..300 {
        let u = 0.5 + 0.5 * uniform(&mut rng);
        let outcome = match kind {
            "beta-binomial" => f64::from(u < 0.3),
            "dirichlet-multinomial" => (3.0 * u * u).floor(),
            "gamma-poisson" => (10.0 * u * u).floor(),
            _ => 3.0 * u - 1.0,
        };
        rows.push(Row { numbers: &[0.0], ones: &[], outcome }).unwrap();
    }
    rows
}

/// A family's name, its model, and the bounds that a study would have.
type Family = (&'static str, Arc<dyn Model>, Option<[f64; 2]>);

/// Each family.
fn families() -> Vec<Family> {
    vec![
        ("beta-binomial", model("beta-binomial", &[1.0, 2.0], None), None),
        ("dirichlet-multinomial", model("dirichlet-multinomial", &[0.5], Some(3)), None),
        ("gamma-poisson", model("gamma-poisson", &[1.0, 0.1], None), Some([0.0, 9.0])),
        ("normal", model("normal", &[0.0, 0.1, 3.0, 2.0], None), Some([-1.0, 2.0])),
    ]
}

fn private(bounds: Option<[f64; 2]>, promise: Promise) -> Method {
    method("conjugate", ConjugateSettings { bounds }, Schedule::Synchronous, Promise { clip: None, ..promise })
}

/// The promise of almost nothing: noise a hundredth of a row.
fn hardly_noised(aggregator: Aggregator) -> Promise {
    let noise = Noise::Multiplier(NoiseMultiplier::new(0.01).unwrap());
    Promise { epsilon: Epsilon::new(1e5).unwrap(), noise, ..promise(1.0, aggregator) }
}

fn of<'a>(method: &'a Method, model: &Arc<dyn Model>, sites: &'a [Site], test: &'a Rows) -> Simulation<'a> {
    Simulation { model: model.clone(), ..simulation(method, sites, test) }
}

#[test]
fn without_much_noise_every_family_finds_the_posterior_of_the_rows_at_every_gate() {
    for (kind, model, bounds) in families() {
        let sites: Vec<Site> = (0..3).map(|m| site(&format!("site {m}"), outcomes(kind, m))).collect();
        let test = outcomes(kind, 99);
        let all: Vec<f64> = (0..3).flat_map(|m| outcomes(kind, m).outcomes().to_vec()).collect();
        let exact = family(model.as_ref()).exact(&all).unwrap();
        let shares = secure(SecureNoise::Clients(ShareNoise::DiscreteGaussian), 0, 1);
        for aggregator in [Aggregator::None, Aggregator::Curator, secure(SecureNoise::Nodes, 0, 0), shares] {
            let method = private(bounds, hardly_noised(aggregator));
            let record = of(&method, &model, &sites, &test).run(&mut ()).unwrap();
            let quantiles = record.quantiles.as_ref().unwrap();
            for (j, exact) in exact.iter().enumerate() {
                let near = |a: f64, b: f64| (a - b).abs() < 0.02 * exact.deviation;
                assert!(near(record.posterior.mean()[j], exact.mean), "{kind} {aggregator:?}: {exact:?}");
                assert!(near(record.posterior.deviations()[j], exact.deviation), "{kind} {aggregator:?}: {exact:?}");
                for (a, b) in quantiles[j].0.iter().zip(exact.quantiles.0) {
                    assert!(near(*a, b), "{kind} {aggregator:?}: {a} {b}");
                }
            }
            let open = of(&method, &model, &sites, &test).non_private().unwrap();
            assert_eq!(open.quantiles.unwrap().len(), exact.len());
            assert_eq!(open.fit.unwrap().converged, Some(true));
        }
    }
}

/// A site that is lost leaves its rows out of the sum and out of n: the posterior is that of the others.
#[test]
fn rows_of_a_lost_site_are_not_counted() {
    let (kind, model, bounds) = families().swap_remove(3);
    let sites: Vec<Site> = (0..3).map(|m| site(&format!("site {m}"), outcomes(kind, m))).collect();
    let test = outcomes(kind, 99);
    let method = private(bounds, hardly_noised(Aggregator::None));
    let simulation = of(&method, &model, &sites, &test);
    let built = simulation.build().unwrap();
    let lost = Losing(|_, client| client == 1);
    let mut drive = simulation.start(&built, &lost, None).unwrap();
    drive.round().unwrap();
    let others: Vec<f64> = [0, 2].into_iter().flat_map(|m| outcomes(kind, m).outcomes().to_vec()).collect();
    let exact = family(model.as_ref()).exact(&others).unwrap();
    let found = drive.quantiles().unwrap().unwrap();
    for (found, exact) in found.iter().zip(exact) {
        assert!((found.median() - exact.quantiles.median()).abs() < 0.02 * exact.deviation);
    }
}

/// How often 90 % intervals hold the parameters: of the posterior, and of one that takes the noisy sums at their word.
fn coverage(model: &Arc<dyn Model>, bounds: Option<[f64; 2]>, replicates: u64, plug_in: bool) -> f64 {
    let (family, rows, deviation) = (family(model.as_ref()), 60_u64, 12.0);
    let settings: Arc<dyn ConjugateFamily> = match family.asks(bounds).unwrap() {
        inference::RowStatistics::Value { .. } => Arc::new(inference::BetaBinomial { alpha: 1.0, beta: 2.0 }),
        other => panic!("{other:?}"),
    };
    let (mut held, mut all) = (0.0, 0.0);
    for seed in 0..replicates {
        let law = SyntheticConjugate { clients: 1, rows: 1, held_out: 60, family: settings.clone(), bounds };
        let drawn = law.draw(seed).unwrap();
        let sum: f64 = drawn.federation.test.outcomes().iter().sum();
        let noise: f64 = (0..12).map(|k| uniform(&mut rng(1000 * seed + k))).sum::<f64>() * 0.5;
        let sums =
            vec![(sum + deviation * noise).clamp(if plug_in { 0.0 } else { -1e9 }, if plug_in { 60.0 } else { 1e9 })];
        let variance = if plug_in { 0.0 } else { deviation * deviation };
        let found = family.posterior(&NoisyTotals { rows, sums, variance, units: (0.0, 1.0) }).unwrap();
        for (found, theta) in found.iter().zip(&drawn.theta) {
            let (low, high) = found.quantiles.interval(0.9).unwrap();
            held += f64::from(low <= *theta && *theta <= high);
            all += 1.0;
        }
    }
    held / all
}

#[test]
fn intervals_hold_what_they_say_and_mutant_a_plug_in_posterior_is_caught() {
    let (_, model, bounds) = families().swap_remove(0);
    // Four standard errors of 400 replicates.
    let slack = 4.0 * (0.09_f64 / 400.0).sqrt();
    let honest = coverage(&model, bounds, 400, false);
    assert!((honest - 0.9).abs() < slack, "{honest}");
    let plug_in = coverage(&model, bounds, 400, true);
    assert!(plug_in < 0.9 - slack, "a posterior that ignores the noise holds {plug_in}");
}

/// What `record_play.rs` tries at length, on a few neighbours of every family's own rows.
#[test]
fn neighbours_stay_within_the_sensitivity_of_every_family() {
    for method in conjugate_family_methods() {
        inference::testing::stays_within_its_sensitivity(&method, &model_of(&method), 40);
    }
}

/// Noise that no list of counts can hold leaves the prior, and says so.
#[test]
fn a_release_from_which_no_posterior_follows_leaves_the_prior_with_a_warning() {
    let (kind, model, bounds) = families().swap_remove(2);
    let (sites, test) = (vec![site("a", outcomes(kind, 1))], outcomes(kind, 2));
    let noise = Noise::Multiplier(NoiseMultiplier::new(1e6).unwrap());
    let method = private(bounds, Promise { noise, ..promise(1.0, Aggregator::None) });
    let record = of(&method, &model, &sites, &test).run(&mut ()).unwrap();
    assert_eq!(record.quantiles, None);
    assert!((record.posterior.mean()[0] - 10.0).abs() < 1e-9, "the prior's mean");
    assert_eq!(record.warnings.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>(), ["W014"]);
}

#[test]
fn what_has_no_meaning_is_refused_at_its_key() {
    let (sites, test) = (sites(), rows(2, 1));
    let refusal = |method: &Method, model: &Arc<dyn Model>| match of(method, model, &sites, &test).build().err() {
        Some(RunError::Conflict(conflict)) => (conflict.key, conflict.code),
        other => panic!("{other:?}"),
    };
    let nobody = unclipped(Aggregator::None);
    let of_model = |at: usize| families().swap_remove(at).1;
    let bounds = Some([0.0, 9.0]);
    assert_eq!(refusal(&private(bounds, nobody), &of_model(0)), ("conjugate.bounds".into(), STRAY));
    assert_eq!(refusal(&private(None, nobody), &of_model(2)), ("conjugate".into(), UNREADABLE));
    assert_eq!(refusal(&private(None, nobody), &of_model(3)), ("conjugate".into(), UNREADABLE));
    assert_eq!(refusal(&private(None, nobody), &crate::common::logistic()), ("algorithm".into(), NOT_TOGETHER));
    assert_eq!(refusal(&private(None, add_remove(nobody)), &of_model(0)), ("privacy.adjacency".into(), "S008"));
    assert_eq!(refusal(&private(None, by_person(nobody)), &of_model(0)), ("privacy.unit".into(), "S008"));
    // Methods that move a Gaussian q, or a chain, do not know these parameters.
    for other in crate::common::private_methods().iter().filter(|other| other.name.starts_with("chain")) {
        assert_eq!(refusal(other, &of_model(0)), ("algorithm".into(), NOT_TOGETHER), "{}", other.name);
    }
    let prior: toml::Table = "kind = \"beta-binomial\"\nbias = false\nprior = { precision = 1.0 }".parse().unwrap();
    let found = StudyModel::read(&prior, &Registry::standard()).unwrap_err();
    assert_eq!((found[0].key.as_str(), found[0].code), ("prior", STRAY));
    let backwards = "name = 'a'\nalgorithm = 'conjugate'\nconjugate = { bounds = [4.0, 0.0] }\n\
                     privacy = { epsilon = 1.0, unit = 'example' }";
    let found = Method::read(&backwards.parse().unwrap(), &Registry::standard()).unwrap_err();
    assert_eq!(found[0].key, "conjugate.bounds", "{found:?}");
}

#[test]
fn the_methods_of_the_laws_are_of_every_family() {
    let kinds: Vec<String> =
        conjugate_family_methods().iter().map(|method| format!("{:?}", model_of(method))).collect();
    for family in ["BetaBinomial", "DirichletMultinomial", "GammaPoisson", "Normal"] {
        assert!(kinds.iter().any(|kind| kind.contains(family)), "{family}: {kinds:?}");
    }
    let settings = ConjugateSettings { bounds: Some([-3.0, 5.0]) };
    let sensitivity = |d| settings.sensitivities(d, privacy::Adjacency::Substitute)[0].1;
    assert_eq!((sensitivity(1), sensitivity(2)), (8.0, 2.0));
}
