//! A client's side: seeds first, and the vector only when every seed is held.
//!
//! A site that crashes in the middle has dropped out of the attempt: its seeds are nowhere kept. A contribution is made once a round;
//! each later attempt splits it again with fresh seeds ([`Contributor::again`]), under the charge of the round.

use super::mask::{Mask, Masks, Nonce, Seed};
use super::message::{Body, Message, SumEffect, SumParty, WordVector};
use super::{Assembly, SumError, SumNoise, SumSession};
use crate::gate::check_match;
use crate::noise::{NoiseContext, NoiseSource, NoiseStream};
use crate::outgoing::Contribution;
use crate::{Outgoing, PrivacyError};
use zeroize::{Zeroize, Zeroizing};

/// Splits one contribution into K shares: the vector less K − 1 masks, and the masks as seeds.
///
/// Any K − 1 of them are uniform and independent of the vector; all K add up to it. The vector is sent when the K − 1 seeds are
/// held: a client that drops out before that leaves nothing behind that must be undone.
/// One that goes down has dropped out of the attempt: its seeds are nowhere kept, and others in their place are refused.
pub struct Contributor {
    session: SumSession,
    nonce: Nonce,
    client: u64,
    vector_node: u32,
    /// Input and noise share, modulo 2^64: kept for later attempts of the round, and wiped when this is dropped.
    value: Zeroizing<Vec<i64>>,
    /// Of this attempt: wiped when the vector is held.
    seeds: Vec<SeedDelivery>,
    done: bool,
}

/// A seed and whether its node has it.
struct SeedDelivery {
    node: u32,
    seed: Seed,
    held: bool,
}

impl Contributor {
    /// A client that takes part in a session on its own terms.
    ///
    /// Other terms than the session's (a server that claims more clients, say), a contribution for other terms, another
    /// round or a site that is no client: refused before anything is split.
    pub fn new(
        assembly: &Assembly,
        session: &SumSession,
        outgoing: Outgoing,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        assembly.check(session)?;
        let one = outgoing.into_contribution()?;
        check_contribution(assembly, session, &one)?;
        let mut stream = source.stream(&session.context("seeds", one.place.site(), context))?;
        Ok(Self::split(assembly, session, Nonce::of(session), one, &mut stream))
    }

    /// Splits the same contribution again, for a later attempt of the same round on the same terms.
    ///
    /// The seeds are fresh: with those of an earlier attempt, the vectors of both would differ by public masks only. The contribution
    /// is not made anew, so that all nodes together learn one share of client noise a round, however many attempts they force.
    /// What the earlier attempt has not sent is forgotten.
    ///
    /// # Errors
    ///
    /// [`SumError::OtherSession`] for another run, round or terms, and for an attempt that is not later. Nothing changes then.
    pub fn again(
        &mut self,
        session: &SumSession,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<(), PrivacyError> {
        SumSession { attempt: session.attempt, ..self.session }.check(session)?;
        if session.attempt <= self.session.attempt {
            let (found, expected) = (session.attempt.to_string(), format!("one after {}", self.session.attempt));
            return Err(SumError::OtherSession { what: "attempt", found, expected }.into());
        }
        let mut stream = source.stream(&session.context("seeds", self.client, context))?;
        (self.session, self.nonce, self.done) = (*session, Nonce::of(session), false);
        for sealed in &mut self.seeds {
            (sealed.seed, sealed.held) = (Seed::draw(&mut stream), false);
        }
        Ok(())
    }

    /// Splits a contribution that was checked.
    pub(super) fn split(
        assembly: &Assembly,
        session: &SumSession,
        nonce: Nonce,
        one: Contribution,
        stream: &mut NoiseStream,
    ) -> Self {
        let client = one.place.site();
        let mut value = one.input;
        value.iter_mut().zip(one.noise.iter()).for_each(|(v, noise)| *v = v.wrapping_add(*noise));
        let vector_node = assembly.vector_node(client);
        let sealed = |node| SeedDelivery { node, seed: Seed::draw(stream), held: false };
        let seeds = assembly.nodes_but(vector_node).map(sealed).collect();
        Self { session: *session, nonce, client, vector_node, value, seeds, done: false }
    }

    /// What is not known to be held: at first all seeds. To be sent at the beginning, and again after a silence; the
    /// bytes are always the same.
    pub fn unconfirmed(&self) -> Vec<SumEffect> {
        if self.done {
            return Vec::new();
        }
        if self.seeds.iter().all(|s| s.held) {
            return vec![self.vector()];
        }
        let missing = self.seeds.iter().filter(|s| !s.held);
        missing.map(|s| self.seed(s)).collect()
    }

    /// Takes an answer from a node that the transport has authenticated.
    pub fn handle(&mut self, from: SumParty, message: &Message) -> Result<Vec<SumEffect>, SumError> {
        message.check(&self.session, from)?;
        match message.body {
            Body::SeedHeld { client, node } if client == self.client => self.seed_held(node),
            Body::VectorHeld { client, node } if client == self.client && node == self.vector_node => {
                // A node that claims to hold what it was not sent is no reason to forget it.
                if self.seeds.iter().all(|s| s.held) {
                    self.seeds.iter_mut().for_each(|sealed| sealed.seed.zeroize());
                    self.done = true;
                }
                Ok(Vec::new())
            }
            _ => Err(SumError::Misdirected {
                what: "a message",
                found: "another party".into(),
                expected: format!("client {}, by its own nodes", self.client),
            }),
        }
    }

    /// True when the vector is held: the contribution is complete.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Notes that a node holds its seed. The last one lets the vector go.
    fn seed_held(&mut self, node: u32) -> Result<Vec<SumEffect>, SumError> {
        let Some(sealed) = self.seeds.iter_mut().find(|s| s.node == node) else {
            return Err(SumError::Misdirected {
                what: "a confirmation of a seed",
                found: format!("node {node}"),
                expected: "a node that was sent one".into(),
            });
        };
        let first = !std::mem::replace(&mut sealed.held, true);
        let complete = first && self.seeds.iter().all(|s| s.held);
        Ok(if complete { vec![self.vector()] } else { Vec::new() })
    }

    /// The message that brings a node its seed.
    fn seed(&self, sealed: &SeedDelivery) -> SumEffect {
        let (client, node) = (self.client, sealed.node);
        self.send(node, Body::Seed { client, node, seed: sealed.seed.clone() })
    }

    /// value − Σ masks: made again from the same seeds whenever it is sent.
    fn vector(&self) -> SumEffect {
        let mut words: Vec<u64> = self.value.iter().map(|&unit| unit as u64).collect();
        let masks = self.seeds.iter().map(|s| Mask { client: self.client, node: s.node, seed: &s.seed });
        Masks::new(self.nonce).subtract(masks, &mut words);
        self.send(self.vector_node, Body::Vector { client: self.client, words: WordVector::new(words) })
    }

    /// A message to a node, bound to the session.
    fn send(&self, node: u32, body: Body) -> SumEffect {
        SumEffect::Send { to: SumParty::Node(node), message: Message { session: self.session, body } }
    }
}

/// A contribution must be charged for the event, have the shape, and carry the noise that the terms name; and it must be
/// one of the cohort's clients', for the session's round.
pub(super) fn check_contribution(
    assembly: &Assembly,
    session: &SumSession,
    one: &Contribution,
) -> Result<(), PrivacyError> {
    check_match(one, assembly.event(), assembly.shape())?;
    let cohort = match assembly.noise() {
        SumNoise::Nodes => None,
        SumNoise::Clients => Some(*assembly.cohort()),
    };
    if one.cohort != cohort {
        return Err(PrivacyError::WrongGate {
            what: "a contribution with other noise than the sum's, or sized for another cohort",
            gate: "secure sum",
            hint: "use curator gates where the nodes add the noise, and share gates of this cohort where the clients do",
        });
    }
    let (client, clients) = (one.place.site(), assembly.cohort().clients());
    if !one.place.is_of(&session.run, session.round) || client >= clients {
        return Err(PrivacyError::Shape {
            found: format!("a contribution of site {client}, or of another round"),
            expected: format!("one of {clients} clients, for round {}", session.round),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Seeded;

    #[test]
    fn seeds_are_wiped_when_the_vector_is_held_and_a_later_attempt_draws_others() {
        let session = SumSession { run: [1; 16], round: 2, attempt: 3, manifest: [4; 32] };
        let mut stream = Seeded::new(1).stream(&NoiseContext::default()).unwrap();
        let seeds = vec![SeedDelivery { node: 1, seed: Seed::draw(&mut stream), held: false }];
        let (nonce, value) = (Nonce::of(&session), Zeroizing::new(vec![5, 7]));
        let mut one = Contributor { session, nonce, client: 0, vector_node: 0, value, seeds, done: false };
        let told = |node, body| (SumParty::Node(node), Message { session, body });
        let (node, seed_held) = told(1, Body::SeedHeld { client: 0, node: 1 });
        assert_eq!(one.handle(node, &seed_held).unwrap().len(), 1, "the vector");
        assert!(*one.value == [5, 7] && one.seeds[0].seed != Seed::default(), "it may have to be sent again");
        let (node, vector_held) = told(0, Body::VectorHeld { client: 0, node: 0 });
        assert!(one.handle(node, &vector_held).unwrap().is_empty());
        assert!(one.seeds[0].seed == Seed::default() && one.unconfirmed().is_empty());
        let (mut source, context) = (Seeded::new(2), NoiseContext::default());
        for (other, taken) in [
            (session, false),
            (SumSession { attempt: 2, ..session }, false),
            (SumSession { round: 3, attempt: 4, ..session }, false),
            (SumSession { attempt: 4, ..session }, true),
        ] {
            assert_eq!(one.again(&other, &mut source, &context).is_ok(), taken, "{other:?}");
        }
        assert!(*one.value == [5, 7] && one.seeds[0].seed != Seed::default() && !one.is_done());
        assert_eq!(one.unconfirmed().len(), 1, "the seed goes out again, and the vector waits for it");
    }

    /// Does not compile with buffers that are left as they are.
    #[test]
    fn a_contribution_is_wiped_when_it_is_dropped() {
        fn wiped<T: zeroize::ZeroizeOnDrop>(_: &T) {}
        let _: fn(&Contribution) = |one| {
            wiped(&one.input);
            wiped(&one.noise);
        };
        let _: fn(&Contributor) = |one| wiped(&one.value);
    }
}
