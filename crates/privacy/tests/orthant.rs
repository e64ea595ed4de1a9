//! Found by review: √2·C for vectors of which no two have a negative inner product has no theorem where rows are drawn by coins.

use privacy::accounting::Pld;
use privacy::noise::{NoiseContext, Seeded};
use privacy::{
    Accountant, Adjacency, Batch, Bounded, Delta, Event, Gate, Grain, Grant, Grid, Ledger, LocalGate, Mechanism,
    MemoryJournal, NoiseMultiplier, NormBound, PrivacyError, Released, Sampling, SamplingRate, Shape, Steps, Unit,
};

const RATE: f64 = 0.01;
const Z: f64 = 0.5;

fn event() -> Event {
    let sampling = Sampling::Poisson { rate: SamplingRate::new(RATE).unwrap() };
    event_of(Adjacency::Substitute, sampling)
}

fn event_of(adjacency: Adjacency, sampling: Sampling) -> Event {
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(Z).unwrap() };
    Event::new(mechanism, adjacency, Unit::Example, sampling, Steps::ONE).unwrap()
}

/// A kind of sum over a batch.
type SumConstructor = fn(Shape, &Batch) -> Result<Bounded, PrivacyError>;

/// Whether a gate for this event takes a sum of this kind.
fn is_taken(kind: SumConstructor, event: &Event) -> bool {
    let bound = NormBound::new(1.0).unwrap();
    let shape = Shape::new(3, bound, Grain::Example, Grid::for_noise(bound, 2.0 * Z).unwrap()).unwrap();
    let mut journal = MemoryJournal::default();
    let receipt = Ledger::open(Grant::Unlimited, &mut journal).unwrap().charge(event, &mut journal).unwrap();
    let mut gate = LocalGate::simulated(receipt, shape, &mut Seeded::new(3), &NoiseContext::default()).unwrap();
    let mut batch = Batch::default();
    gate.batch(1000, &mut batch).unwrap();
    let sum = kind(shape, &batch).unwrap();
    gate.release(&sum, &mut Released::zeros(3)).is_ok()
}

/// `docs/maths/poisson-substitution.md` needs ‖u‖, ‖v‖ ≤ C; a sum of [`Bounded::non_negative`] has ‖u‖ ≤ √2·C.
#[test]
fn a_non_negative_sum_of_a_poisson_batch_is_refused() {
    assert!(is_taken(Bounded::non_negative, &event_of(Adjacency::Substitute, Sampling::None)));
    assert!(!is_taken(Bounded::non_negative, &event()), "released as if ‖v‖ ≤ C");
}

/// The mutant `check_sum` without its first check.
#[test]
fn a_non_negative_sum_is_refused_under_add_remove() {
    assert!(!is_taken(Bounded::non_negative, &event_of(Adjacency::AddRemove, Sampling::None)));
}

/// What holds for vectors without negative coordinates holds for outer products, for the same reasons.
#[test]
fn a_sum_of_outer_products_is_taken_for_substitution_without_coins_only() {
    let fixed = Sampling::without_replacement(10, 1000).unwrap();
    assert!(is_taken(Bounded::outer_products, &event_of(Adjacency::Substitute, Sampling::None)));
    assert!(is_taken(Bounded::outer_products, &event_of(Adjacency::Substitute, fixed)));
    assert!(!is_taken(Bounded::outer_products, &event()), "released as if ‖v‖ ≤ C");
    assert!(!is_taken(Bounded::outer_products, &event_of(Adjacency::AddRemove, Sampling::None)));
}

/// The reason for the refusal: one row of length √2·C replaced by one of zeros. The true δ at
/// the certified ε is over the δ that it was certified for.
#[test]
fn root_two_of_the_bound_by_poisson_coins_costs_more_than_is_certified() {
    let delta = 1e-8;
    let epsilon = Pld.epsilon(&[event()], Delta::new(delta).unwrap()).unwrap().upper;
    let s = 2.0 * Z;
    let phi = |x: f64, m: f64| (-(x - m) * (x - m) / (2.0 * s * s)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt());
    let h = 1e-3;
    let real: f64 = (-30_000..30_000)
        .map(|i| f64::from(i) * h)
        .map(|x| {
            ((1.0 - RATE) * phi(x, 0.0) + RATE * phi(x, 2.0_f64.sqrt()) - epsilon.exp() * phi(x, 0.0)).max(0.0) * h
        })
        .sum();
    assert!(real > 100.0 * delta, "{real}");
}
