//! Taint: at a gate that makes marks of everything, whatever a client sends and remembers is a function
//! of the marks alone.
//!
//! Types exclude a release without a gate, but not a number that was computed beside it. Here the gate
//! releases a fixed number in place of every sum. Two sites with different rows must then send and
//! remember the same bytes; where they do not, something private went past the gate.

use super::{built, rows, simulation, site, sites};
use crate::release::Numbers;
use crate::{Built, ClientView, Method, Model, Shard, Terms};
use privacy::{Batch, Bounded, Gate, Grid, Mechanism, OpenGate, Outgoing, PrivacyError, Released, Shape};
use std::sync::Arc;

/// A number that only the tainted gate makes.
pub const MARK: f64 = 0.777_123;

/// A mark as a constant.
struct Mark(f64);

impl privacy::StudyConstant for Mark {}

/// Marks of one sign for the means and of the other for the spreads, so that precision grows.
fn marks(values: Vec<f64>, mark: &Mark) -> Vec<f64> {
    (0..values.len()).map(|i| if 2 * i < values.len() { mark.0 } else { -mark.0 }).collect()
}

/// Releases and sends marks, whatever goes in.
pub struct Tainted {
    /// Of the sums that it takes.
    shape: Shape,
    /// A gate without noise, which draws batches.
    inner: Box<dyn Gate>,
    /// What is released in place of every number.
    mark: f64,
}

impl Gate for Tainted {
    fn shape(&self) -> &Shape {
        &self.shape
    }
    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        self.inner.batch(rows, into)
    }
    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        self.inner.release(sum, into)?;
        *into = into.clone().map(&Mark(self.mark), marks);
        Ok(())
    }
    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        let sent = Released::zeros(sum.shape().dimension()).map(&Mark(self.mark), marks);
        Outgoing::post_processed(&sent, Grid::new(20)?)
    }
}

/// A tainted gate on the same terms as a client's: open inside, since what it lets through is overwritten.
pub fn tainted(shape: Shape, mark: f64) -> Tainted {
    Tainted { shape, inner: Box::new(open_gate(shape)), mark }
}

/// A gate that adds no noise, for a hundred releases.
pub fn open_gate(shape: Shape) -> OpenGate {
    let event = privacy::Event::new(
        Mechanism::Open,
        privacy::Adjacency::Substitute,
        privacy::Unit::Example,
        privacy::Sampling::None,
        privacy::Steps::new(100).unwrap(),
    )
    .unwrap();
    let mut journal = privacy::MemoryJournal::default();
    let mut ledger = privacy::Ledger::open(privacy::Grant::Unlimited, &mut journal).unwrap();
    let receipt = ledger.charge(&event, &mut journal).unwrap();
    let context = privacy::noise::NoiseContext::default();
    OpenGate::new(receipt, shape, &mut privacy::noise::Seeded::new(1), &context).unwrap()
}

/// What a client sends and drafts to remember in its first answer, at a gate that makes marks of everything; and what it
/// sends for free after that, if it does.
fn answer_of(built: &Built, shard: &Shard, terms: &Terms) -> (Vec<i64>, Vec<u8>, Option<Vec<i64>>) {
    let seat = ClientView { index: 0, shard, terms };
    let query = built.protocol.ask(&built.protocol.start().unwrap()).unwrap();
    let mut gate = tainted(terms.shape, MARK);
    let (outgoing, draft) = built.protocol.answer(&query, &[], &seat, &mut gate).unwrap();
    let units = |outgoing: Outgoing| outgoing.released().unwrap().get().units().to_vec();
    let free = built.protocol.answer_from_memory(&query, &draft, &seat).unwrap();
    (units(outgoing), draft, free.map(|(outgoing, _)| units(outgoing)))
}

/// What a client sends, remembers and sends for free is a function of what its gate made: other rows, the same answer.
///
/// # Panics
/// Where the law does not hold.
pub fn sends_what_its_gate_made(method: &Method, model: &Arc<dyn Model>) {
    let (sites, test) = (sites(), rows(2, 1));
    let alike = site("of as many rows", rows(sites[0].shard.len(), 77));
    let built = built(&simulation(method, model, &sites, &test));
    let releases = method.algorithm.releases(1);
    let by_rows = matches!(releases.main.numbers, Numbers::PerRow(_));
    let openings = built.openings[0].iter().map(|opening| &opening.terms);
    let query = built.protocol.ask(&built.protocol.start().unwrap()).unwrap();
    let stage = built.protocol.stage(&query).unwrap();
    // The terms of one client for both: only the rows differ, where their number is not what is sent.
    for terms in openings.chain([&built.terms[0]]) {
        if stage.is_some_and(|stage| stage != terms.stage) {
            continue;
        }
        let other = if by_rows { &alike.shard } else { &sites[1].shard };
        let first = answer_of(&built, &sites[0].shard, terms);
        assert!(first.0.iter().any(|&u| u != 0), "{}: nothing was sent", method.name);
        assert!(first == answer_of(&built, other, terms), "{}: other rows, other answer", method.name);
        assert_eq!(first.2.is_some(), releases.reused, "{}", method.name);
    }
}
