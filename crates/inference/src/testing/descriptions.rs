//! Descriptions do not lie: what a client's gate takes has the grain, the number and the length that
//! `releases` states.
//!
//! Planning and charging go by the description, so that a wrong one would charge for other releases than
//! are made. Gates refuse such sums by themselves; this law finds a description that promises more or
//! fewer of them.

use super::{Altered, Reply, rows, simulation, sites, unlimited};
use crate::algorithm::Protocol;
use crate::message::Direct;
use crate::release::{Bound, Release};
use crate::{ClientView, Method, Model, Progress};
use privacy::{Batch, Bounded, Gate, Outgoing, PrivacyError, Released, Shape, Unit};
use std::sync::{Arc, Mutex, PoisonError};

/// A gate that notes the shape of every sum that passes.
struct Watching<'a> {
    inner: &'a mut dyn Gate,
    seen: Vec<Shape>,
}

impl Gate for Watching<'_> {
    fn shape(&self) -> &Shape {
        self.inner.shape()
    }
    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        self.inner.batch(rows, into)
    }
    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        self.inner.release(sum, into)?;
        self.seen.push(*sum.shape());
        Ok(())
    }
    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        let outgoing = self.inner.send(sum)?;
        self.seen.push(*sum.shape());
        Ok(outgoing)
    }
}

/// Every answer of a client passes its gate as often, with sums of the grain and length, as the description of its stage states;
/// and a bound that the description fixes is the bound of the sums.
///
/// # Panics
/// Where the law does not hold.
pub fn releases_what_it_describes(method: &Method, model: &Arc<dyn Model>) {
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
    let built = unlimited(&simulation);
    let releases = method.algorithm.releases(built.problem.family.dimension() + method.own_parameters());
    let answers = Mutex::new(0_u64);
    let watched =
        |inner: &dyn Protocol, query: &[u8], memory: &[u8], seat: &ClientView<'_>, gate: &mut dyn Gate| -> Reply {
            let described = releases.at(seat.terms.stage);
            let mut gate = Watching { inner: gate, seen: Vec::new() };
            let reply = inner.answer(query, memory, seat, &mut gate)?;
            let unit = method.unit();
            is_as_described(&method.name, (described, unit), &gate.seen, seat.shard.count(unit)? as u64);
            *answers.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            Ok(reply)
        };
    let protocol = Altered::answering(built.protocol.as_ref(), &watched);
    let mut drive = simulation.start_with(&protocol, &built, &Direct, None).unwrap();
    while drive.rounds() < 4 && drive.round().unwrap() == Progress::Moved {}
    drop(drive);
    assert!(answers.into_inner().is_ok_and(|answers| answers > 0), "{}: nobody answered", method.name);
}

/// The sums that passed, against the description of their stage.
fn is_as_described(name: &str, (described, unit): (&Release, Unit), seen: &[Shape], rows: u64) {
    assert_eq!(seen.len() as u64, described.sums, "{name}: another number of sums than described");
    for shape in seen {
        assert_eq!(shape.grain(), described.grain.for_unit(unit), "{name}: another grain than described");
        assert_eq!(shape.dimension(), described.numbers.of(rows), "{name}: another length than described");
        if let Bound::Fixed(bound) = described.bound {
            assert!(shape.bound() == bound, "{name}: another bound than described");
        }
    }
}
