//! The gate of randomised response: a user's category becomes a report, and only a shuffler opens reports, as counts.
//!
//! Each user answers a category question at random with probability γ. A shuffler forgets who said what. The cost depends on how
//! many users answer, so a round opens with all its reports or not at all (`docs/maths/shuffle.md`).

use crate::batch::{Batch, BatchSampler};
use crate::journal::InMemory;
use crate::ledger::{Allowance, ChargeReceipt};
use crate::noise::{NoiseContext, NoiseSource, NoiseStream, RandomisedResponse};
use crate::{Categories, Event, Gamma, Mechanism, PrivacyError, Released, Sampling};
use std::collections::BTreeSet;

/// k, γ and the users of a shuffle, or a refusal: other mechanisms have no shuffled answers.
///
/// Users that are drawn are as many as the shuffle has: what is charged is what is run.
fn terms(event: &Event) -> Result<(Categories, Gamma, u64), PrivacyError> {
    let Mechanism::ShuffleRandomisedResponse { users, categories, gamma, .. } = event.mechanism() else {
        return Err(PrivacyError::WrongGate {
            what: "an event without shuffled answers",
            gate: "randomised response's",
            hint: "charge a shuffle of randomised responses",
        });
    };
    match event.sampling() {
        Sampling::WithoutReplacement { batch, .. } if *batch != users.get() => Err(PrivacyError::Shape {
            found: format!("{batch} users drawn for a shuffle of {users}"),
            expected: "as many users as are shuffled".into(),
        }),
        _ => Ok((*categories, *gamma, users.get())),
    }
}

/// A user's own gate: it knows k and γ from the event that was charged, and answers as often as that has steps.
///
/// Each answer takes fresh bits of the user's stream, exactly as probable as γ says (`noise::RandomisedResponse`).
pub struct ResponseGate {
    allowance: Allowance,
    response: RandomisedResponse,
    stream: NoiseStream,
    user: u64,
}

/// A randomised answer on its way to the shuffler. It cannot be read: by itself it is less private than what was charged.
pub struct UserReport {
    event: Event,
    user: u64,
    answer: u64,
}

impl ResponseGate {
    /// Refuses an event that this gate could not serve.
    pub fn check(event: &Event) -> Result<(), PrivacyError> {
        terms(event).map(drop)
    }

    /// A gate for simulations: a charge in memory, any noise source. The user is the context's site.
    pub fn simulated(
        receipt: ChargeReceipt<InMemory>,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        let allowance = receipt.into_allowance();
        let (categories, gamma, _) = terms(&allowance.event)?;
        let response = RandomisedResponse::new(categories, gamma);
        Ok(Self { allowance, response, stream: source.stream(context)?, user: context.site })
    }

    /// The answer of one round in place of the true category, which counts from zero.
    pub fn report(&mut self, category: u64) -> Result<UserReport, PrivacyError> {
        self.allowance.take_one()?;
        let answer = self.response.respond(category, &mut self.stream)?;
        Ok(UserReport { event: self.allowance.event.clone(), user: self.user, answer })
    }
}

/// Who is asked in a round, and the counts of their answers: who said what is forgotten.
///
/// Trusted with two things: which users were drawn, where some are, and which report is whose, until it is counted.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, Seeded};
/// use privacy::{
///     Adjacency, Adversary, Categories, Event, Gamma, Grant, Ledger, Mechanism, MemoryJournal, ResponseGate, Sampling,
///     Shuffler, Steps, Unit,
/// };
///
/// let mechanism = Mechanism::ShuffleRandomisedResponse {
///     users: Steps::new(3)?,
///     categories: Categories::new(2)?,
///     gamma: Gamma::new(0.5)?,
///     adversary: Adversary::Outside,
/// };
/// let event = Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE)?;
/// let (mut source, context) = (Seeded::new(1), NoiseContext::default());
/// let mut round = Shuffler::simulated(&event, &mut source, &context)?.round()?;
/// for user in 0..3 {
///     let mut journal = MemoryJournal::default();
///     let receipt = Ledger::open(Grant::Unlimited, &mut journal)?.charge(&event, &mut journal)?;
///     let own = NoiseContext { site: user, ..context };
///     round.add(ResponseGate::simulated(receipt, &mut source, &own)?.report(1)?)?;
/// }
/// // Counts of both categories, once everybody has answered.
/// assert_eq!(round.open()?.get().iter().sum::<u64>(), 3);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub struct Shuffler {
    event: Event,
    sampler: BatchSampler,
    stream: NoiseStream,
    users: usize,
    left: u64,
}

/// A round that is open: the users who are asked, and what has come of them.
pub struct ShuffledRound {
    event: Event,
    asked: BTreeSet<u64>,
    counts: Vec<u64>,
}

impl Shuffler {
    /// A shuffler for the rounds of this event.
    pub fn simulated(
        event: &Event,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        let (_, _, shuffled) = terms(event)?;
        let users = match event.sampling() {
            Sampling::WithoutReplacement { of, .. } => *of,
            _ => shuffled,
        };
        let sampler = BatchSampler::new(event.sampling());
        let (stream, left) = (source.stream(context)?, event.steps().get());
        Ok(Self { event: event.clone(), sampler, stream, users: users as usize, left })
    }

    /// The next round, with its users drawn as the event says: no more rounds than were charged.
    pub fn round(&mut self) -> Result<ShuffledRound, PrivacyError> {
        let covered = self.event.steps().get();
        self.left = self.left.checked_sub(1).ok_or(PrivacyError::ReceiptSpent { covered })?;
        let (categories, _, _) = terms(&self.event)?;
        let mut drawn = Batch::default();
        self.sampler.draw(&mut self.stream.branch(), self.users, 0, &mut drawn)?;
        let asked = drawn.rows().iter().map(|&user| user as u64).collect();
        Ok(ShuffledRound { event: self.event.clone(), asked, counts: vec![0; categories.get() as usize] })
    }
}

impl ShuffledRound {
    /// The users who have not answered yet.
    pub fn awaited(&self) -> impl Iterator<Item = u64> + '_ {
        self.asked.iter().copied()
    }

    /// Counts a report of a user who was asked and has not answered, made for this very event.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Shape`] for a report of other terms, of a user who was not asked, and for a second report.
    pub fn add(&mut self, report: UserReport) -> Result<(), PrivacyError> {
        if report.event != self.event || !self.asked.remove(&report.user) {
            return Err(PrivacyError::Shape {
                found: "a report for other terms, of a user who was not asked, or a second one".into(),
                expected: "one report of each user of the round".into(),
            });
        }
        if let Some(count) = self.counts.get_mut(report.answer as usize) {
            *count += 1;
        }
        Ok(())
    }

    /// How often each category was answered, once every user has answered: with fewer reports each would cost more.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Shape`] while reports are missing: a smaller shuffle would cost more than was charged.
    pub fn open(self) -> Result<Released<Vec<u64>>, PrivacyError> {
        match self.asked.len() {
            0 => Ok(Released::by_gate(self.counts)),
            missing => Err(PrivacyError::Shape {
                found: format!("{missing} reports missing"),
                expected: "a report of every user of the shuffle".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Seeded;
    use crate::{Adjacency, Adversary, Grant, Ledger, MemoryJournal, Steps, Unit};

    fn event(users: u64, of: Option<u64>, gamma: f64, rounds: u64) -> Event {
        let mechanism = Mechanism::ShuffleRandomisedResponse {
            users: Steps::new(users).unwrap(),
            categories: Categories::new(3).unwrap(),
            gamma: Gamma::new(gamma).unwrap(),
            adversary: Adversary::Outside,
        };
        let sampling = of.map_or(Sampling::None, |of| Sampling::without_replacement(users, of).unwrap());
        let steps = Steps::new(rounds).unwrap();
        Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, steps).unwrap()
    }

    fn gate(event: &Event, user: u64) -> ResponseGate {
        let mut journal = MemoryJournal::default();
        let mut ledger = Ledger::open(Grant::Unlimited, &mut journal).unwrap();
        let receipt = ledger.charge(event, &mut journal).unwrap();
        let context = NoiseContext { site: user, ..NoiseContext::default() };
        ResponseGate::simulated(receipt, &mut Seeded::new(7), &context).unwrap()
    }

    fn shuffler(event: &Event) -> Shuffler {
        Shuffler::simulated(event, &mut Seeded::new(8), &NoiseContext::default()).unwrap()
    }

    #[test]
    fn a_round_opens_with_one_report_of_each_user_and_no_sooner() {
        let event = event(3, None, 0.5, 1);
        let mut gates: Vec<ResponseGate> = (0..4).map(|user| gate(&event, user)).collect();
        let mut round = shuffler(&event).round().unwrap();
        assert_eq!(round.awaited().collect::<Vec<_>>(), [0, 1, 2]);
        round.add(gates[0].report(2).unwrap()).unwrap();
        assert!(round.add(gates[3].report(2).unwrap()).is_err(), "nobody asked the fourth");
        assert!(round.add(gate(&event, 0).report(2).unwrap()).is_err(), "a second report");
        let other = super::tests::event(3, None, 0.6, 1);
        assert!(round.add(gate(&other, 1).report(2).unwrap()).is_err(), "another γ");
        round.add(gates[1].report(0).unwrap()).unwrap();
        assert_eq!(round.asked.len(), 1);
        let open = |round: ShuffledRound| round.open();
        let early = shuffler(&event).round().unwrap();
        assert!(open(early).is_err());
        round.add(gates[2].report(1).unwrap()).unwrap();
        assert_eq!(open(round).unwrap().get().iter().sum::<u64>(), 3);
    }

    #[test]
    fn answers_and_rounds_end_with_what_was_charged() {
        let event = event(2, None, 0.5, 2);
        let (mut gate, mut shuffler) = (gate(&event, 0), shuffler(&event));
        for _ in 0..2 {
            assert!(gate.report(0).is_ok() && shuffler.round().is_ok());
        }
        assert!(matches!(gate.report(0), Err(PrivacyError::ReceiptSpent { covered: 2 })));
        assert!(matches!(shuffler.round(), Err(PrivacyError::ReceiptSpent { covered: 2 })));
    }

    #[test]
    fn users_are_drawn_as_the_event_says() {
        let mut shuffler = shuffler(&event(3, Some(10), 0.5, 3000));
        let mut often = [0_u32; 10];
        for _ in 0..3000 {
            let asked: Vec<u64> = shuffler.round().unwrap().awaited().collect();
            assert_eq!(asked.len(), 3);
            asked.iter().for_each(|&user| often[user as usize] += 1);
        }
        // 900 expected, deviation 25.
        assert!(often.iter().all(|&n| (750..1050).contains(&n)), "{often:?}");
        // Drawn at another number than is shuffled, nothing is served.
        let mechanism = event(3, Some(10), 0.5, 1).mechanism().clone();
        let sampling = Sampling::without_replacement(4, 10).unwrap();
        let other = Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, Steps::ONE).unwrap();
        assert!(ResponseGate::check(&other).is_err());
        let gaussian = Event::gaussian(crate::NoiseMultiplier::new(1.0).unwrap(), Adjacency::Substitute, Steps::ONE);
        assert!(matches!(ResponseGate::check(&gaussian), Err(PrivacyError::WrongGate { .. })));
    }

    /// P(answer = c) = γ/3, plus 1 − γ for the truth: chi-square with two degrees of freedom, under 27.6 but once in 10⁶.
    #[test]
    fn what_is_counted_has_the_law_that_was_charged() {
        let (gamma, n) = (0.3, 60_000_u64);
        let event = event(1, None, gamma, n);
        let (mut gate, mut shuffler, mut counts) = (gate(&event, 0), shuffler(&event), [0_u64; 3]);
        for _ in 0..n {
            let mut round = shuffler.round().unwrap();
            round.add(gate.report(1).unwrap()).unwrap();
            round.open().unwrap().get().iter().zip(&mut counts).for_each(|(one, all)| *all += one);
        }
        let square = |gamma: f64| {
            let expected = [gamma / 3.0, 1.0 - gamma + gamma / 3.0, gamma / 3.0].map(|p| p * n as f64);
            counts.iter().zip(expected).map(|(&c, e)| (c as f64 - e).powi(2) / e).sum::<f64>()
        };
        assert!(square(gamma) < 27.6, "{counts:?}");
        assert!(square(0.25) > 100.0, "mutant: another γ than was charged is noticed: {counts:?}");
    }
}
