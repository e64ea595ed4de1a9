//! The round loop: who is asked when, and how answers are brought together.
//!
//! A driver knows nothing of the method: it carries bytes between a [`Protocol`] and its clients, in the
//! order of the [`Schedule`], adds up where answers are sealed, and hands receipts back. A coordinator
//! in a network does the same over messages.
//!
//! | schedule | a round |
//! |---|---|
//! | sequential | every client in turn, each asked with the newest state |
//! | synchronous | all clients asked at once with one state, their answers folded together |
//! | asynchronous | as many arrivals as clients, drawn at declared rates; answers may be stale |

use crate::algorithm::{Answers, Natural, Protocol};
use crate::client::{Client, SimulationContext, Summing};
use crate::message::{Ask, Delivery, Link, Receipt};
use crate::plan::seed_bytes;
use crate::settings::Schedule;
use crate::warning::Warning;
use crate::{Quantiles, RunError, Terms};
use chacha20::ChaCha20Rng;
use privacy::noise::NoiseContext;
use privacy::noise::Seeded;
use privacy::secure_sum::SecureSum;
use privacy::{Curator, GridVector, Outgoing};
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

/// A run under way: the server's state in bytes, the clients, and counts of what was sent.
pub struct Drive<'a> {
    /// The method.
    protocol: &'a dyn Protocol,
    schedule: Schedule,
    link: &'a dyn Link,
    /// What simulated gates share.
    workshop: SimulationContext,
    clients: Vec<Client<'a>>,
    /// The server's state, in canonical bytes.
    state: Vec<u8>,
    /// Rounds that were completed.
    round: u64,
    /// Exchanges so far.
    messages: u64,
    /// Bytes that clients sent so far.
    bytes: u64,
    /// Who comes next in an asynchronous run.
    order: Order,
    /// How often each client was asked in this round.
    attempts: Vec<u64>,
}

/// Who comes next in an asynchronous run, and what each client is working on.
struct Order {
    rng: ChaCha20Rng,
    /// Declared rates, added up.
    cumulative: Vec<f64>,
    /// The question that each client took up last; none before its first.
    taken: Vec<Option<Ask>>,
}

/// What a round did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// At least one client was asked.
    Moved,
    /// No client's budget covers another answer.
    Spent,
}

impl<'a> Drive<'a> {
    /// A run before its first round. `rates` are the declared rates of an asynchronous schedule, one for each client.
    pub fn new(
        protocol: &'a dyn Protocol,
        schedule: Schedule,
        link: &'a dyn Link,
        workshop: SimulationContext,
        clients: Vec<Client<'a>>,
        rates: &[f64],
    ) -> Result<Self, RunError> {
        let mut sum = 0.0;
        let cumulative = rates
            .iter()
            .map(|r| {
                sum += r;
                sum
            })
            .collect();
        let mut key = [0; 32];
        key[..8].copy_from_slice(&workshop.seed.to_le_bytes());
        key[8..16].copy_from_slice(b"schedule");
        let order = Order { rng: ChaCha20Rng::from_seed(key), cumulative, taken: vec![None; clients.len()] };
        let state = protocol.start()?;
        let attempts = vec![0; clients.len()];
        Ok(Self {
            protocol,
            schedule,
            link,
            workshop,
            clients,
            state,
            round: 0,
            messages: 0,
            bytes: 0,
            order,
            attempts,
        })
    }

    /// One round: every client that can is asked once; in an asynchronous run, as many arrive as there are clients.
    ///
    /// An error ends the round with its message. What was charged stays charged.
    ///
    /// # Errors
    /// What a client or the fold refused. The round is not counted; asked again, it has another attempt and
    /// so other noise.
    pub fn round(&mut self) -> Result<Progress, RunError> {
        let (mut able, query) = (Vec::new(), self.protocol.ask(&self.state)?);
        for client in &self.clients {
            if client.can_answer(self.protocol, &query)? {
                able.push(client.index());
            }
        }
        if able.is_empty() {
            return Ok(Progress::Spent);
        }
        match self.schedule {
            Schedule::Sequential => self.one_by_one(&able)?,
            Schedule::Synchronous => self.all_at_once(&able, query)?,
            Schedule::Asynchronous(_) => self.as_they_come()?,
        }
        // A round that failed is asked again under a new attempt, hence with other noise, also of a curator.
        self.round += 1;
        self.attempts.fill(0);
        Ok(Progress::Moved)
    }

    /// The question of this moment, for this client. Its attempt counts up, so that a question that is asked
    /// again gets other noise.
    fn ask_now(&self, client: usize) -> Result<Ask, RunError> {
        let query = self.protocol.ask(&self.state)?;
        Ok(Ask { round: self.round, attempt: self.attempts[client], query })
    }

    /// Every client in turn: the next one is asked with the state that the last one's answer made.
    fn one_by_one(&mut self, able: &[usize]) -> Result<(), RunError> {
        for &client in able {
            let ask = self.ask_now(client)?;
            self.exchange(client, &ask)?;
        }
        Ok(())
    }

    /// One client answers, and its answer is folded by itself.
    fn exchange(&mut self, client: usize, ask: &Ask) -> Result<(), RunError> {
        self.attempts[client] += 1;
        let terms = self.clients[client].terms_for(self.protocol, &ask.query)?.clone();
        let delivery = self.link.ask(&mut self.clients[client], self.protocol, ask, &self.workshop)?;
        self.messages += 1;
        match delivery {
            Delivery::Clear(answer, bytes) => {
                self.bytes += bytes;
                self.fold(&Answers::Each(vec![(client, answer)]), &[client])
            }
            Delivery::Sealed(sealed) => {
                let total = self.open(ask, &terms, vec![sealed])?;
                self.fold(&Answers::Sum { total, from: vec![client] }, &[])
            }
            Delivery::Lost => Ok(()),
        }
    }

    /// All answer the same question, in parallel; results do not depend on how many threads there are.
    fn all_at_once(&mut self, able: &[usize], query: Vec<u8>) -> Result<(), RunError> {
        let ask = Ask { round: self.round, attempt: self.attempts[0], query };
        let Some(&first) = able.first() else { return Ok(()) };
        let terms = self.clients[first].terms_for(self.protocol, &ask.query)?.clone();
        self.attempts.iter_mut().for_each(|attempt| *attempt += 1);
        let (protocol, link, workshop) = (self.protocol, self.link, &self.workshop);
        let answer = |client: &mut Client<'a>| link.ask(client, protocol, &ask, workshop);
        let mut is_able = vec![false; self.clients.len()];
        able.iter().for_each(|&client| is_able[client] = true);
        let asked = self.clients.iter_mut().filter(|c| is_able[c.index()]);
        // A tape is heard in one order only; to hand one answer to another thread takes longer than to make it.
        let deliveries: Vec<Result<Delivery, RunError>> = if workshop.tape.is_some() || able.len() == 1 {
            asked.map(answer).collect()
        } else {
            asked.collect::<Vec<_>>().into_par_iter().map(answer).collect()
        };
        let (mut each, mut sealed, mut from) = (Vec::new(), Vec::new(), Vec::new());
        for (&client, delivery) in able.iter().zip(deliveries) {
            self.messages += 1;
            match delivery? {
                Delivery::Clear(answer, bytes) => {
                    self.bytes += bytes;
                    each.push((client, answer));
                }
                Delivery::Sealed(outgoing) => {
                    sealed.push(outgoing);
                    from.push(client);
                }
                Delivery::Lost => {}
            }
        }
        if self.workshop.summing != Summing::Nobody {
            let total = self.open(&ask, &terms, sealed)?;
            return self.fold(&Answers::Sum { total, from }, &[]);
        }
        let from: Vec<usize> = each.iter().map(|(client, _)| *client).collect();
        self.fold(&Answers::Each(each), &from)
    }

    /// A client arrives with the answer to the question that it took up last, gets its receipt, and takes up the next.
    fn as_they_come(&mut self) -> Result<(), RunError> {
        for client in 0..self.clients.len() {
            if self.order.taken[client].is_none() {
                self.order.taken[client] = Some(self.ask_now(client)?);
            }
        }
        for _ in 0..self.clients.len() {
            let client = self.order.next();
            let Some(ask) = self.order.taken[client].take() else { continue };
            if !self.clients[client].can_answer(self.protocol, &ask.query)? {
                self.order.taken[client] = Some(ask);
                continue;
            }
            self.exchange(client, &ask)?;
            self.order.taken[client] = Some(self.ask_now(client)?);
        }
        Ok(())
    }

    /// Opens the sum of sealed answers that were given on these terms.
    fn open(&mut self, ask: &Ask, terms: &Terms, sealed: Vec<Outgoing>) -> Result<GridVector, RunError> {
        let run = self.workshop.run;
        let context = NoiseContext { site: u64::MAX, ..ask.context(run, u64::MAX, [0; 32]) };
        let tape = self.workshop.tape.as_ref();
        let dimension = terms.shape.dimension() as u64;
        let seeds = match self.workshop.summing {
            Summing::Secure { nodes, .. } => seed_bytes(nodes),
            Summing::Nobody | Summing::Curator => 0,
        };
        self.bytes += (8 * dimension + seeds) * sealed.len() as u64;
        let source = &mut Seeded::new(self.workshop.seed);
        let total = match self.workshop.summing.assembly(terms)? {
            Some(assembly) => {
                let mut sum = SecureSum::new(&assembly, &context, source, tape)?;
                sealed.into_iter().try_for_each(|one| sum.add(one))?;
                sum.open()?
            }
            None => {
                let (event, shape) = terms.summed();
                let mut curator = Curator::new(event, *shape, source, &context, tape)?;
                sealed.into_iter().try_for_each(|one| curator.add(one))?;
                curator.open()
            }
        };
        Ok(total.into_inner())
    }

    /// Folds answers into the state, and hands each client its receipt.
    fn fold(&mut self, answers: &Answers, from: &[usize]) -> Result<(), RunError> {
        let folded = self.protocol.fold(&self.state, answers)?;
        self.state = folded.state;
        for (&client, applied) in from.iter().zip(&folded.applied) {
            self.link.settle(&mut self.clients[client], self.protocol, &Receipt::of(applied)?)?;
        }
        Ok(())
    }

    /// The server's state, in canonical bytes.
    pub fn state(&self) -> &[u8] {
        &self.state
    }

    /// The natural parameters that are served.
    pub fn posterior(&self) -> Result<Vec<f64>, RunError> {
        self.protocol.posterior(&self.state)
    }

    /// How many draws there are, and the last of them, where the method draws.
    pub fn last_draw(&self) -> Result<Option<(u64, Vec<f64>)>, RunError> {
        self.protocol.last_draw(&self.state)
    }

    /// Quantiles of every parameter, where the served posterior is no Gaussian.
    pub fn quantiles(&self) -> Result<Option<Vec<Quantiles>>, RunError> {
        self.protocol.quantiles(&self.state)
    }

    /// What is to be warned of in what is served.
    pub(crate) fn warning(&self) -> Result<Option<Warning>, RunError> {
        self.protocol.warning(&self.state)
    }

    /// The variance of the outcome around its mean, where the method learns it.
    pub(crate) fn outcome_variance(&self) -> Result<Option<f64>, RunError> {
        self.protocol.outcome_variance(&self.state)
    }

    /// What a client has learnt for itself: it stays with it, but a simulation scores it.
    pub(crate) fn at_home(&self, client: usize) -> Result<Option<Natural>, RunError> {
        self.protocol.at_home(client, self.clients[client].memory())
    }

    /// The clients.
    pub fn clients(&self) -> &[Client<'a>] {
        &self.clients
    }

    /// Rounds made.
    pub fn rounds(&self) -> u64 {
        self.round
    }

    /// Exchanges between server and clients.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Bytes that clients sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Order {
    /// The next client to arrive, at the declared rates.
    fn next(&mut self) -> usize {
        let all = self.cumulative.last().copied().unwrap_or(0.0);
        let u = (self.rng.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0 * all;
        self.cumulative.partition_point(|&c| c <= u).min(self.cumulative.len().saturating_sub(1))
    }
}
