//! The gate of a Barker test: what it lets through, and what not. Each case was found by somebody who tried.
use privacy::noise::{NoiseContext, Seeded};
use privacy::{
    Adjacency, BarkerGate, Batch, Bounded, Event, Gate, Grain, Grant, Grid, Ledger, Mechanism, MemoryJournal,
    NormBound, PrivacyError, Released, Sampling, Shape, Steps, Unit, VarianceSlack,
};

fn event(batch: u64, unit: Unit, sampling: Sampling) -> Event {
    let mechanism =
        Mechanism::BarkerTest { batch: Steps::new(batch).unwrap(), slack: VarianceSlack::new(1.0).unwrap() };
    Event::new(mechanism, Adjacency::Substitute, unit, sampling, Steps::new(2000).unwrap()).unwrap()
}

fn shape(exponent: i32) -> Shape {
    Shape::new(1, NormBound::new(1.0).unwrap(), Grain::Example, Grid::new(exponent).unwrap()).unwrap()
}

fn gate(event: &Event, shape: Shape) -> Result<BarkerGate, PrivacyError> {
    let mut journal = MemoryJournal::default();
    let mut ledger = Ledger::open(Grant::Unlimited, &mut journal).unwrap();
    let receipt = ledger.charge(event, &mut journal).unwrap();
    BarkerGate::simulated(receipt, shape, &mut Seeded::new(3), &NoiseContext::default(), None)
}

fn one(gate: &mut BarkerGate, rows: &[f64]) -> Result<f64, PrivacyError> {
    let mut batch = Batch::default();
    gate.batch(rows.len(), &mut batch)?;
    let mut sum = Bounded::examples(*gate.shape(), &batch)?;
    let drawn: Vec<f64> = batch.rows().iter().map(|&i| rows[i]).collect();
    sum.push_numbers(&drawn)?;
    let mut out = Released::zeros(1);
    gate.release(&sum, &mut out)?;
    Ok(out.get()[0])
}

/// b of the event is 20, rows are 40, nothing is drawn: noise of variance 20 at least was charged, and .2 was added.
#[test]
fn all_rows_are_as_many_as_the_event_says() {
    let mut gate = gate(&event(20, Unit::Example, Sampling::None), shape(20)).unwrap();
    assert!(matches!(one(&mut gate, &[0.5; 40]), Err(PrivacyError::Shape { .. })));
}

/// N(Σu, b(1 + L − s²)): of equal numbers 40, of ±1 in turn 20.
#[test]
fn noise_makes_up_the_spread_of_a_batch() {
    let turns: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    for (rows, expected) in [(vec![0.5; 20], (10.0, 40.0)), (turns, (0.0, 20.0))] {
        let mut gate = gate(&event(20, Unit::Example, Sampling::None), shape(20)).unwrap();
        let all: Vec<f64> = (0..2000).map(|_| one(&mut gate, &rows).unwrap()).collect();
        let mean = all.iter().sum::<f64>() / 2000.0;
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1999.0;
        // Five standard errors of each.
        assert!((mean - expected.0).abs() < 5.0 * (expected.1 / 2000.0_f64).sqrt(), "{mean}");
        assert!((variance / expected.1 - 1.0).abs() < 5.0 * (2.0_f64 / 2000.0).sqrt(), "{variance}");
    }
}

/// Mutant: a batch's ticket that stays good after its release.
#[test]
fn a_batch_is_released_once() {
    let mut gate = gate(&event(20, Unit::Example, Sampling::None), shape(20)).unwrap();
    let mut batch = Batch::default();
    gate.batch(20, &mut batch).unwrap();
    let mut sum = Bounded::examples(*gate.shape(), &batch).unwrap();
    sum.push_numbers(&[0.5; 20]).unwrap();
    let mut out = Released::zeros(1);
    assert!(gate.release(&sum, &mut out).is_ok() && gate.release(&sum, &mut out).is_err());
}

/// Clipping each row does not bound what a client can do.
#[test]
fn a_client_is_not_the_unit_of_a_test() {
    let event = event(20, Unit::Client, Sampling::None);
    assert!(BarkerGate::check(&event, &shape(20)).is_err(), "{event}");
}

/// Whether a release is refused must not depend on the rows, and what it says of it least of all.
#[test]
fn no_release_is_refused_for_what_the_rows_are() {
    let event = event(20, Unit::Example, Sampling::None);
    // √20·B is within what noise may have, √40·B is not.
    let (bound, grid) = (NormBound::new(0.75).unwrap(), Grid::new(38).unwrap());
    let shape = Shape::new(1, bound, Grain::Example, grid).unwrap();
    assert!(BarkerGate::check(&event, &shape).is_err());
}

/// A batch that was drawn is paid for, whatever becomes of it: else one draws again until a row is in.
#[test]
fn a_batch_is_not_drawn_again_for_nothing() {
    let sampling = Sampling::without_replacement(20, 1000).unwrap();
    let mut gate = gate(&event(20, Unit::Example, sampling), shape(20)).unwrap();
    let (mut batch, mut out, mut drawn) = (Batch::default(), Released::zeros(1), 0);
    for _ in 0..3000 {
        if gate.batch(1000, &mut batch).is_err() {
            break;
        }
        drawn += 1;
        if batch.rows().contains(&7) {
            break;
        }
        // Vectors in place of numbers: refused, and the ticket is void.
        let mut sum = Bounded::examples(*gate.shape(), &batch).unwrap();
        sum.push(&[0.0]).unwrap();
        assert!(gate.release(&sum, &mut out).is_err());
    }
    assert!(drawn <= 1, "{drawn} batches drawn for no step of the receipt, until row 7 was in");
}
