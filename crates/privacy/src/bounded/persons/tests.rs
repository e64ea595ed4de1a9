//! One person for another, whatever their rows and however many, moves a sum by twice the bound at most.

use super::*;
use crate::bounded::norm_squared;
use crate::noise::{NoiseContext, Seeded};
use crate::{
    Adjacency, Event, Gate, Grant, Grid, Ledger, LocalGate, Mechanism, MemoryJournal, NoiseMultiplier, NormBound,
    Sampling, Steps, Unit,
};
use chacha20::ChaCha20Rng;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand_core::SeedableRng as _;

/// Rows of one person.
type Person = Vec<Vec<f64>>;

fn batch_of(units: usize) -> Batch {
    let (mut batch, mut rng) = (Batch::default(), ChaCha20Rng::from_seed([0; 32]));
    crate::batch::BatchSampler::new(&Sampling::None).draw(&mut rng, units, 1, &mut batch).unwrap();
    batch
}

fn shape(dimension: usize, grain: Grain) -> Shape {
    Shape::new(dimension, NormBound::new(1.0).unwrap(), grain, Grid::new(12).unwrap()).unwrap()
}

/// What is summed of a row, and where its vectors lie.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Any,
    NonNegative,
    Outer,
}

const KINDS: [Kind; 3] = [Kind::Any, Kind::NonNegative, Kind::Outer];

/// An empty sum for persons of rows of two entries.
fn sum_of(kind: Kind, rows: &[usize]) -> Bounded {
    let batch = batch_of(rows.len());
    match kind {
        Kind::Any => Bounded::persons(shape(2, Grain::Person), &batch, rows),
        Kind::NonNegative => Bounded::non_negative_persons(shape(2, Grain::Person), &batch, rows),
        Kind::Outer => Bounded::outer_products_of_persons(shape(3, Grain::Person), &batch, rows),
    }
    .unwrap()
}

fn push(sum: &mut Bounded, kind: Kind, row: &[f64]) {
    match kind {
        Kind::Any | Kind::NonNegative => sum.push(row).unwrap(),
        Kind::Outer => sum.push_outer(row).unwrap(),
    }
}

/// The sum of these persons.
fn summed(kind: Kind, persons: &[Person]) -> Vec<i64> {
    let sizes: Vec<usize> = persons.iter().map(Vec::len).collect();
    let mut sum = sum_of(kind, &sizes);
    persons.iter().flatten().for_each(|row| push(&mut sum, kind, row));
    assert!(sum.is_complete());
    sum.units().to_vec()
}

/// The same, clipped row by row: what a person as the unit must not have.
fn clipped_by_row(kind: Kind, persons: &[Person]) -> Vec<i64> {
    let rows: Vec<Person> = persons.iter().flatten().map(|row| vec![row.clone()]).collect();
    summed(kind, &rows)
}

/// ‖difference‖² against (factor·B)², in integers.
fn is_within(one: &[i64], other: &[i64], factor: u64) -> bool {
    let between: Vec<i64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
    norm_squared(&between) <= u128::from(factor * shape(2, Grain::Person).bound_units()).pow(2)
}

fn any_entry() -> impl Strategy<Value = f64> {
    prop_oneof![
        12 => -3.0..3.0_f64,
        2 => prop::num::f64::ANY,
        1 => Just(5e-324), 1 => Just(0.0), 1 => Just(1e160), 1 => Just(-1e150), 1 => Just(f64::NAN)
    ]
}

fn any_person() -> impl Strategy<Value = Person> {
    prop::collection::vec(prop::collection::vec(any_entry(), 2), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(10), ..ProptestConfig::default() })]

    /// Replaced rows, other rows and another number of them: 2C. A person more or less: C, of vectors of any sign.
    #[test]
    fn a_person_moves_the_sum_by_its_sensitivity(
        others in prop::collection::vec(any_person(), 0..3),
        pair in [any_person(), any_person()],
        at in 0..3_usize,
    ) {
        for kind in KINDS {
            let with = |person: &Person| {
                let mut persons = others.clone();
                persons.insert(at.min(others.len()), person.clone());
                summed(kind, &persons)
            };
            prop_assert!(is_within(&with(&pair[0]), &with(&pair[1]), 2), "{kind:?}");
            if kind == Kind::Any {
                prop_assert!(is_within(&with(&pair[0]), &summed(kind, &others), 1));
            }
        }
    }
}

#[test]
fn clipping_each_row_would_let_a_person_move_the_sum_further() {
    for kind in KINDS {
        let person = |row: [f64; 2]| vec![row.to_vec(); 4];
        let pair = [person([3.0, 0.0]), person([0.0, 3.0])];
        let [one, other] = pair.clone().map(|person| clipped_by_row(kind, &[person]));
        assert!(!is_within(&one, &other, 2), "{kind:?}: the law would not notice");
        let [one, other] = pair.map(|person| summed(kind, &[person]));
        assert!(is_within(&one, &other, 2) && one != other, "{kind:?}");
    }
}

#[test]
fn rows_are_summed_before_they_are_clipped() {
    // Each row is over the bound; together they are (0.25, 0.5), which is not.
    let person = vec![vec![2.0, 0.5], vec![-1.75, 0.0]];
    assert_eq!(summed(Kind::Any, &[person]), [1024, 2048]);
    // 4,096 units to one. A person without rows is nobody, and the next one is clipped by itself.
    assert_eq!(summed(Kind::Any, &[vec![], vec![vec![0.5, 0.0]], vec![], vec![vec![0.0, 9.0]; 3]])[0], 2048);
    let broken = vec![vec![0.5, 0.5], vec![f64::NAN, 0.0]];
    assert_eq!(summed(Kind::Any, &[broken, vec![vec![0.25, 0.0]]]), [1024, 0]);
}

#[test]
fn persons_of_one_row_are_examples_bit_by_bit_however_they_are_pushed() {
    let rows = [[0.3, -0.7, 0.0, 2.5], [0.1, 0.2, 0.3, 0.4], [-1e9, 3.0, 1.0, 0.0]];
    let batch = batch_of(rows.len());
    let pushes: [fn(&mut Bounded, &[f64]); 3] = [
        |sum, row| sum.push(row).unwrap(),
        |sum, row| sum.push_sparse(&[0, 1, 2, 3], row).unwrap(),
        |sum, row| sum.push_halves(&[1], row).unwrap(),
    ];
    for push in pushes {
        let mut examples = Bounded::examples(shape(4, Grain::Example), &batch).unwrap();
        let mut persons = Bounded::persons(shape(4, Grain::Person), &batch, &[1; 3]).unwrap();
        rows.iter().for_each(|row| push(&mut examples, row));
        rows.iter().for_each(|row| push(&mut persons, row));
        assert_eq!(examples.units(), persons.units());
    }
}

#[test]
fn compensated_sums_of_many_rows_stay_in_the_cone() {
    // A plain sum of 100,000 products of these rows is off by more than a grid unit, and this one by none.
    let row = [0.1_f64, -0.3];
    let mut persons = PersonSums {
        rows: Zeroizing::default(),
        person: 0,
        pushed: 0,
        sum: Zeroizing::new(vec![0.0]),
        rounded: Zeroizing::new(vec![0.0]),
    };
    let (mut plain, value) = (0.0, row[0] * row[1]);
    for _ in 0..10_000_000 {
        persons.add(std::iter::once((0, value)));
        plain += value;
    }
    let exact = 10_000_000.0 * value;
    let error = |sum: f64| ((sum - exact) / exact).abs();
    assert!(error(persons.sum[0]) < 1e-15 && error(plain) > 1e-12, "{} {plain}", persons.sum[0]);
}

#[test]
fn what_is_no_sum_of_persons_is_refused() {
    let (batch, by_person) = (batch_of(2), shape(2, Grain::Person));
    assert!(Bounded::persons(shape(2, Grain::Example), &batch, &[1, 1]).is_err());
    assert!(Bounded::persons(by_person, &batch, &[1]).is_err(), "rows of one of two persons");
    assert!(Bounded::examples(by_person, &batch).is_err());
    assert!(Bounded::whole(by_person, &[0.0, 0.0]).is_err());
    let mut sum = Bounded::persons(by_person, &batch, &[1, 2]).unwrap();
    assert!(sum.begin(&batch).is_err());
    for _ in 0..3 {
        sum.push(&[0.0, 0.0]).unwrap();
    }
    assert!(matches!(sum.push(&[0.0, 0.0]), Err(PrivacyError::TooMany { .. })));
    let mut one = Bounded::persons(shape(1, Grain::Person), &batch, &[1, 2]).unwrap();
    assert!(matches!(one.push_numbers(&[0.0]), Err(PrivacyError::Shape { .. })));
    assert!(matches!(one.push_layers(&[], None), Err(PrivacyError::NoTheorem { .. })));
}

/// A local gate for one release of persons.
fn gate(sampling: Sampling) -> LocalGate {
    let noise = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0).unwrap() };
    let event = Event::new(noise, Adjacency::Substitute, Unit::Person, sampling, Steps::ONE).unwrap();
    let mut journal = MemoryJournal::default();
    let receipt = Ledger::open(Grant::Unlimited, &mut journal).unwrap().charge(&event, &mut journal).unwrap();
    let context = NoiseContext::default();
    LocalGate::simulated(receipt, shape(2, Grain::Person), &mut Seeded::new(1), &context).unwrap()
}

#[test]
fn a_gate_draws_persons_and_takes_all_rows_of_them_or_none() {
    for pushed in 0..=4 {
        let (mut gate, mut batch) = (gate(Sampling::without_replacement(2, 5).unwrap()), Batch::default());
        gate.batch(5, &mut batch).unwrap();
        assert_eq!(batch.rows().len(), 2);
        let mut sum = Bounded::persons(*gate.shape(), &batch, &[3, 1]).unwrap();
        (0..pushed).for_each(|_| sum.push(&[0.5, 0.0]).unwrap());
        // Three rows end at a person, and are refused all the same: one before them may be missing.
        assert_eq!(gate.send(&sum).is_ok(), pushed == 0 || pushed == 4, "{pushed} of 4 rows");
    }
}
