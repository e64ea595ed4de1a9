//! Parameters with finitely many values: chains reach a posterior that is a table, and what needs gradients is refused.

use crate::common::{chain, chain_method, promise, simulation, site, sized};
use inference::algorithm::chain::{
    BarkerSampler, ChainSettings, HamiltonianSampler, LangevinSampler, PenaltySampler, Sampler, Start, TestNoise,
};
use inference::describe::Offer;
use inference::settings::{Aggregator, Promise};
use inference::{
    EncodedPrior, Family, Gaussian, InputLayout, Method, Model, Point, Prediction, PriorTerm, Row, Rows, RunError,
    Scratch, Simulation, Sink, Site, Support,
};
use privacy::{Epsilon, PrivacyError};
use std::sync::Arc;

/// y ~ N(0.5a − 0.7b, 1), a one of 0, 1, 2, 3 and b of 0, 1.
#[derive(Debug)]
struct Levels;

const SUPPORTS: [Support; 2] = [Support::UpTo(3), Support::UpTo(1)];
const BARKER: BarkerSampler = BarkerSampler { step: 1.0, noise: TestNoise::Fixed { variance: 1.0 } };
const PENALTY: PenaltySampler = PenaltySampler { step: 1.0, variance: 0.5 };

impl Model for Levels {
    fn offers(&self) -> &'static [Offer] {
        &[]
    }

    fn parameters(&self, _: usize) -> usize {
        2
    }

    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], _: &mut Scratch, into: &mut Vec<f64>) {
        into.clear();
        let mean = 0.5 * theta[0] - 0.7 * theta[1];
        into.extend(which.iter().map(|&i| -0.5 * (rows.outcomes()[i] - mean).powi(2)));
    }

    fn supports(&self, _: usize) -> Vec<Support> {
        SUPPORTS.to_vec()
    }

    fn gradients(
        &self,
        _: &Rows,
        _: &[usize],
        _: Point<'_>,
        _: u64,
        _: &mut Scratch,
        _: &mut dyn Sink,
    ) -> Result<(), PrivacyError> {
        panic!("there are no gradients")
    }

    fn statistics(&self, _: &Rows, _: &[usize], _: &Gaussian, _: Family) -> Vec<f64> {
        panic!("there is no factor")
    }

    fn predict(&self, rows: &Rows, _: &Gaussian) -> Vec<Prediction> {
        vec![Prediction::Normal { mean: 0.0, deviation: 1.0 }; rows.len()]
    }
}

fn outcomes() -> Rows {
    let mut rows = Rows::new(1, 1).unwrap();
    for outcome in [0.9, 0.1, 0.6, -0.2, 1.1, 0.4] {
        rows.push(Row { numbers: &[0.0], ones: &[], outcome }).unwrap();
    }
    rows
}

fn method(sampler: impl Sampler + 'static, start: Start, private: bool) -> Method {
    let settings = ChainSettings { warm_up: 100, start, ..chain(sampler, sized(10_000, 40_000)) };
    // So much that nothing is clipped.
    let generous = Promise { epsilon: Epsilon::new(1e9).unwrap(), ..promise(100.0, Aggregator::None) };
    let name = format!("{}, private {private}", settings.sampler.describe());
    chain_method(&name, settings, private.then_some(generous))
}

fn of<'a>(method: &'a Method, sites: &'a [Site], test: &'a Rows) -> Simulation<'a> {
    Simulation { model: Arc::new(Levels), ..simulation(method, sites, test) }
}

fn cell(theta: &[f64]) -> usize {
    (2.0 * theta[0] + theta[1]) as usize
}

/// p(a, b | y), by enumeration.
fn table() -> Vec<f64> {
    let all = (0..4).flat_map(|a| (0..2).map(move |b| [f64::from(a), f64::from(b)]));
    let weights: Vec<f64> = all.map(|theta| libm::exp(Levels.log_likelihood(&outcomes(), &theta))).collect();
    weights.iter().map(|w| w / weights.iter().sum::<f64>()).collect()
}

/// Pearson's statistic of eight cells: over 24.3 with probability .001.
fn chi_square(chain: &[f64], thin: usize, table: &[f64]) -> f64 {
    let mut counts = vec![0.0; table.len()];
    let draws = chain.chunks(2).skip(100).step_by(thin);
    let n = draws.len() as f64;
    draws.for_each(|theta| counts[cell(theta)] += 1.0);
    counts.iter().zip(table).map(|(found, p)| (found - n * p).powi(2) / (n * p)).sum()
}

#[test]
fn chains_reach_the_table() {
    let (sites, test) = ([site("one", outcomes())], outcomes());
    let both = |private| [method(BARKER, Start::Prior, private), method(PENALTY, Start::Prior, private)];
    for method in [both(false), both(true)].concat() {
        let record = of(&method, &sites, &test).run(&mut ()).unwrap();
        let found = chi_square(&record.chains[0], 20, &table());
        assert!(found < 24.3, "{}: {found}", method.name);
    }
}

#[test]
fn without_data_draws_are_from_the_prior() {
    let (sites, test) = ([site("empty", Rows::new(1, 1).unwrap())], outcomes());
    for method in [method(BARKER, Start::Prior, false), method(PENALTY, Start::Prior, false)] {
        let record = of(&method, &sites, &test).run(&mut ()).unwrap();
        let found = chi_square(&record.chains[0], 20, &[0.125; 8]);
        assert!(found < 24.3, "{}: {found}", method.name);
    }
}

/// The last case was found by a second look: only the sampler was asked whether it needs gradients, not the start.
#[test]
fn what_needs_gradients_is_refused() {
    let (sites, test) = ([site("one", outcomes())], outcomes());
    let hamiltonian = HamiltonianSampler { step: 0.4, leaps: 4, variance: 1.0, share: 0.5 };
    let learnt = Start::Variational { rounds: 2, share: 0.3, learning_rate: 0.1 };
    for method in [
        method(LangevinSampler { step: 0.1 }, Start::Prior, true),
        method(hamiltonian, Start::Prior, true),
        method(BARKER, learnt, true),
    ] {
        let Some(RunError::Conflict(conflict)) = of(&method, &sites, &test).build().err() else {
            panic!("{}", method.name)
        };
        assert_eq!((conflict.key.as_str(), conflict.code), ("chain.sampler", "S009"), "{}", method.name);
        assert!(conflict.what.contains(Offer::Gradients.words()), "{conflict}");
    }
    assert!(of(&method(PENALTY, Start::Origin, true), &sites, &test).build().is_ok());
}

/// A prior of a parameter that a chain draws uniformly from its values would be ignored.
#[test]
fn a_prior_that_is_stated_for_single_parameters_is_refused() {
    let stated = EncodedPrior::Stated(PriorTerm::independent(vec![1.0, 0.0], vec![4.0, 1.0]).unwrap());
    let method = method(BARKER, Start::Prior, false);
    let inputs = InputLayout::new(1, 1).unwrap();
    let built = |prior| inference::build(&method, &[6], Arc::new(Levels), &inputs, prior, 1);
    let Some(RunError::Conflict(conflict)) = built(&stated).err() else { panic!("the prior is ignored") };
    assert_eq!((conflict.key.as_str(), conflict.code), ("prior", "S009"));
    assert!(conflict.what.contains("parameter 1 has finitely many values"), "{conflict}");
    assert!(built(&EncodedPrior::Same(1.0)).is_ok());
}
