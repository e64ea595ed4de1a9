//! One event of every kind, for the laws of the accountants.

use privacy::{
    Adjacency, Adversary, Categories, Delta, Epsilon, Event, FinitePair, Gamma, Mechanism, NoiseMultiplier, Sampling,
    SamplingRate, ShareDeviation, Steps, Unit, VarianceSlack,
};

pub(crate) fn z(x: f64) -> NoiseMultiplier {
    NoiseMultiplier::new(x).unwrap()
}

pub(crate) fn of(mechanism: Mechanism, adjacency: Adjacency, sampling: Sampling, steps: u64) -> Event {
    Event::new(mechanism, adjacency, Unit::Example, sampling, Steps::new(steps).unwrap()).unwrap()
}

pub(crate) fn poisson(q: f64) -> Sampling {
    Sampling::Poisson { rate: SamplingRate::new(q).unwrap() }
}

pub(crate) fn gaussian(m: f64, steps: u64) -> Event {
    Event::gaussian(z(m), Adjacency::Substitute, Steps::new(steps).unwrap())
}

pub(crate) fn sampled(m: f64, q: f64, adjacency: Adjacency, steps: u64) -> Event {
    of(Mechanism::Gaussian { noise_multiplier: z(m) }, adjacency, poisson(q), steps)
}

pub(crate) fn fixed(m: f64, batch: u64, rows: u64, steps: u64) -> Event {
    let sampling = Sampling::without_replacement(batch, rows).unwrap();
    of(Mechanism::Gaussian { noise_multiplier: z(m) }, Adjacency::Substitute, sampling, steps)
}

pub(crate) fn laplace(m: f64, steps: u64) -> Event {
    of(Mechanism::Laplace { noise_multiplier: z(m) }, Adjacency::Substitute, Sampling::None, steps)
}

pub(crate) fn discrete(m: f64, steps: u64) -> Event {
    of(Mechanism::DiscreteGaussian { noise_multiplier: z(m) }, Adjacency::Substitute, Sampling::None, steps)
}

pub(crate) fn shares(m: f64, steps: u64) -> Event {
    let mechanism = Mechanism::DiscreteGaussianSum {
        noise_multiplier: z(m),
        shares: Steps::new(10).unwrap(),
        share_deviation: ShareDeviation::new(2.0).unwrap(),
        dimension: Steps::new(100).unwrap(),
    };
    of(mechanism, Adjacency::Substitute, Sampling::None, steps)
}

/// The same on the grid of a study.
pub(crate) fn fine_shares(m: f64, steps: u64) -> Event {
    let mechanism = Mechanism::DiscreteGaussianSum {
        noise_multiplier: z(m),
        shares: Steps::new(10).unwrap(),
        share_deviation: ShareDeviation::new(1e5).unwrap(),
        dimension: Steps::new(100).unwrap(),
    };
    of(mechanism, Adjacency::Substitute, Sampling::None, steps)
}

/// Shares of deviation 2 on 100 coordinates: μ = 40.
pub(crate) fn skellam(m: f64, steps: u64) -> Event {
    let mechanism = Mechanism::SkellamSum {
        noise_multiplier: z(m),
        shares: Steps::new(10).unwrap(),
        share_deviation: ShareDeviation::new(2.0).unwrap(),
        dimension: Steps::new(100).unwrap(),
    };
    of(mechanism, Adjacency::Substitute, Sampling::None, steps)
}

/// A Barker test on a batch drawn from twenty times as many rows, at full clip.
pub(crate) fn barker(batch: u64, steps: u64) -> Event {
    let slack = VarianceSlack::new(1.0).unwrap();
    let mechanism = Mechanism::BarkerTest { batch: Steps::new(batch).unwrap(), slack };
    let sampling = Sampling::without_replacement(batch, 20 * batch).unwrap();
    of(mechanism, Adjacency::Substitute, sampling, steps)
}

/// The same on all rows.
pub(crate) fn barker_on_all(rows: u64, steps: u64) -> Event {
    let slack = VarianceSlack::new(1.5).unwrap();
    let mechanism = Mechanism::BarkerTest { batch: Steps::new(rows).unwrap(), slack };
    of(mechanism, Adjacency::Substitute, Sampling::None, steps)
}

pub(crate) fn response(gamma: f64, steps: u64) -> Event {
    let (categories, gamma) = (Categories::new(4).unwrap(), Gamma::new(gamma).unwrap());
    of(Mechanism::RandomisedResponse { categories, gamma }, Adjacency::Substitute, Sampling::None, steps)
}

/// Shuffled answers of 200 users, or of 200 drawn from 2000.
pub(crate) fn shuffled(adversary: Adversary, sampled: bool, steps: u64) -> Event {
    let (users, categories, gamma) = (Steps::new(200).unwrap(), Categories::new(4).unwrap(), Gamma::new(0.5).unwrap());
    let mechanism = Mechanism::ShuffleRandomisedResponse { users, categories, gamma, adversary };
    let sampling = if sampled { Sampling::without_replacement(200, 2000).unwrap() } else { Sampling::None };
    of(mechanism, Adjacency::Substitute, sampling, steps)
}

pub(crate) fn clones(sampled: bool, steps: u64) -> Event {
    let (users, local_epsilon) = (Steps::new(300).unwrap(), Epsilon::new(2.0).unwrap());
    let sampling = if sampled { Sampling::without_replacement(300, 30_000).unwrap() } else { Sampling::None };
    of(Mechanism::ShuffleClones { users, local_epsilon }, Adjacency::Substitute, sampling, steps)
}

pub(crate) fn finite(steps: u64) -> Event {
    let pair = FinitePair::new(vec![(0.5, 0.4), (0.3, 0.3), (0.2, 0.3)]).unwrap();
    of(Mechanism::Finite(pair), Adjacency::Substitute, Sampling::None, steps)
}

pub(crate) fn approximate(epsilon: f64, delta: f64, steps: u64) -> Event {
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
    of(Mechanism::Approximate { epsilon, delta }, Adjacency::Substitute, Sampling::None, steps)
}

pub(crate) fn open() -> Event {
    of(Mechanism::Open, Adjacency::Substitute, Sampling::None, 1)
}

pub(crate) fn delta() -> Delta {
    Delta::new(1e-3).unwrap()
}
