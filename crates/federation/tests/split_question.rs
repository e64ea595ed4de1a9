//! A server that asks different parties of one secure sum different questions: no sum is opened that mixes their answers.

use crate::common::message_kind::{MessageKind, kind};
use crate::common::scripted_server::{ScriptedServer, owner, said};
use federation::identity::{IdentityKey, Signature};
use federation::log::SimulatedDisk;
use federation::message::{Attempt, Instruction, MemberId, NodeState, Request, SealedMessage};
use federation::party::{NodeParty, PartyMachine, SiteParty};
use federation::sealed_message::SealedChannel;
use federation::wire::sign_message;
use privacy::secure_sum::{Message, Opener, SumEffect};
use sha2::{Digest as _, Sha256};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

const AT: Attempt = Attempt { round: 0, attempt: 0 };

/// A server that carries letters, and says to each what it likes.
struct Relay {
    script: ScriptedServer,
    sites: Vec<SiteParty<SimulatedDisk>>,
    nodes: Vec<NodeParty<SimulatedDisk>>,
    /// The nodes' disks.
    disks: [SimulatedDisk; 2],
    queue: VecDeque<SealedMessage>,
    /// Letters to the server: the parts of a sum.
    parts: Vec<SealedMessage>,
    /// Sites that say that their shares are held.
    contributed: usize,
    /// Nodes that say that the attempt is over for them.
    failed: usize,
    number: u64,
}

impl Relay {
    fn new(study: &str, quorum: u64) -> Self {
        let script = ScriptedServer::new(study, 4, 2, quorum);
        let mut sites: Vec<_> = (0..4).map(|m| script.site(m, &SimulatedDisk::new(), owner(m))).collect();
        let disks = [SimulatedDisk::new(), SimulatedDisk::new()];
        let mut nodes: Vec<_> = disks.iter().enumerate().map(|(k, disk)| script.node(k, disk)).collect();
        sites.iter_mut().for_each(|site| drop(script.tell(site, script.beginning()).unwrap()));
        nodes.iter_mut().for_each(|node| drop(script.tell(node, script.beginning()).unwrap()));
        let (queue, parts) = (VecDeque::new(), Vec::new());
        Self { script, sites, nodes, disks, queue, parts, contributed: 0, failed: 0, number: 0 }
    }

    /// The first question, and another that an honest server might have asked.
    fn questions(&self) -> (Vec<u8>, Vec<u8>) {
        (self.script.question(), self.script.other_question())
    }

    fn tell(&mut self, member: MemberId, instruction: Instruction) {
        let party: &mut dyn PartyMachine = match member {
            MemberId::Site(site) => &mut self.sites[site],
            MemberId::Node(node) => &mut self.nodes[node as usize],
            MemberId::Server => return,
        };
        let next = self.script.tell(party, vec![instruction]).unwrap();
        for request in said(&next) {
            match request {
                Request::Letters(letters) => self.queue.extend(letters),
                Request::Contributed { .. } => self.contributed += 1,
                Request::Standing { state: NodeState::Renounced(_), .. } => self.failed += 1,
                _ => {}
            }
        }
    }

    /// Carries all letters, after the server has had its hands on each.
    fn carry(&mut self, meddle: &dyn Fn(&mut SealedMessage)) {
        while let Some(mut letter) = self.queue.pop_front() {
            meddle(&mut letter);
            self.number += 1;
            match letter.to {
                MemberId::Server => self.parts.push(letter),
                to => self.tell(to, Instruction::Mail(vec![(self.number, letter)])),
            }
        }
    }

    /// One attempt: these questions to the sites, those to the nodes. Whose answers are in the sum, if one opens.
    fn attempt(
        &mut self,
        sites: [Option<&[u8]>; 4],
        nodes: [&[u8]; 2],
        meddle: &dyn Fn(&mut SealedMessage),
    ) -> Option<Vec<u64>> {
        let session = |query: &[u8], close| Instruction::Session { at: AT, query: query.to_vec(), close };
        for (node, query) in (0..).zip(nodes) {
            self.tell(MemberId::Node(node), session(query, false));
        }
        for (site, query) in sites.into_iter().enumerate() {
            if let Some(query) = query {
                self.tell(MemberId::Site(site), Instruction::Ask { at: AT, query: query.to_vec() });
            }
        }
        self.carry(meddle);
        for (node, query) in (0..).zip(nodes) {
            self.tell(MemberId::Node(node), session(query, true));
        }
        self.carry(meddle);
        self.opened(nodes[0]).or_else(|| self.opened(nodes[1]))
    }

    /// What the server can open as the answer to a question.
    fn opened(&self, query: &[u8]) -> Option<Vec<u64>> {
        let built = &self.script.parts.built;
        let assembly = built.summing.assembly(built.sum_terms(query).unwrap().unwrap()).unwrap().unwrap();
        let session = assembly.session(self.script.manifest.run(), AT.round, AT.attempt);
        let mut opener = Opener::new(&assembly, &session).unwrap();
        let channel = SealedChannel {
            own: MemberId::Server,
            key: &self.script.keys.server,
            manifest: &self.script.manifest,
            digest: self.script.manifest.digest(),
            at: AT,
            question: Sha256::digest(query).into(),
        };
        for letter in &self.parts {
            let Ok((from, message)) = channel.read(letter, &assembly, None) else { continue };
            for effect in opener.handle(from, &message).unwrap_or_default() {
                if let SumEffect::Opened { contributors, .. } = effect {
                    return Some(contributors.iter().collect());
                }
            }
        }
        None
    }
}

fn leave(_: &mut SealedMessage) {}

#[test]
fn one_question_for_all_opens_one_sum_of_all() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, _) = relay.questions();
    let opened = relay.attempt([Some(&first); 4], [&first; 2], &leave);
    assert_eq!((opened, relay.contributed), (Some(vec![0, 1, 2, 3]), 4));
}

#[test]
fn a_site_that_was_asked_something_else_is_not_in_the_sum() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, other) = relay.questions();
    let opened = relay.attempt([Some(&first), Some(&other), Some(&first), Some(&first)], [&first; 2], &leave);
    assert_eq!((opened, relay.contributed), (Some(vec![0, 2, 3]), 3));
}

#[test]
fn nor_is_it_if_the_server_writes_another_question_on_its_letters() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, other) = relay.questions();
    let question = Sha256::digest(&first).into();
    let rename = move |letter: &mut SealedMessage| letter.question = question;
    let opened = relay.attempt([Some(&first), Some(&other), Some(&first), Some(&first)], [&first; 2], &rename);
    assert_eq!((opened, relay.contributed), (Some(vec![0, 2, 3]), 3));
}

#[test]
fn below_the_quorum_nothing_opens_however_the_questions_are_split() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, other) = relay.questions();
    let half = [Some(&first[..]), Some(&first[..]), Some(&other[..]), Some(&other[..])];
    assert_eq!(relay.attempt(half, [&first; 2], &leave), None);
    assert!(relay.parts.is_empty() && relay.failed > 0, "no node publishes anything");
}

#[test]
fn nodes_that_were_told_different_questions_publish_nothing() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, other) = relay.questions();
    assert_eq!(relay.attempt([Some(&first); 4], [&first, &other], &leave), None);
    assert!(relay.parts.is_empty());
    // The other question for the same attempt changes nothing that is under way.
    let session = Instruction::Session { at: AT, query: first, close: true };
    relay.tell(MemberId::Node(1), session);
    relay.carry(&leave);
    assert!(relay.parts.is_empty());
}

#[test]
fn a_site_that_has_sent_no_shares_is_not_in_the_sum() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, _) = relay.questions();
    let opened = relay.attempt([Some(&first), Some(&first), Some(&first), None], [&first; 2], &leave);
    assert_eq!(opened, Some(vec![0, 1, 2]));
}

#[test]
fn of_letters_with_forged_signatures_nothing_is_contributed_published_or_opened() {
    for (forged, contributed, parts) in [
        (MessageKind::Share, 0, 0),
        (MessageKind::Held, 0, 0),
        (MessageKind::List, 4, 0),
        (MessageKind::Confirmation, 4, 0),
        (MessageKind::Part, 4, 2),
    ] {
        for forger in 0..3 {
            let mut relay = Relay::new("sum/2/1", 3);
            let (first, _) = relay.questions();
            let (keys, digest, met) = (relay.script.keys.clone(), relay.script.manifest.digest(), Cell::new(0));
            let forge = |letter: &mut SealedMessage| {
                if kind(letter) == forged {
                    met.set(met.get() + 1);
                    letter.signature = match forger {
                        0 => Signature::from_bytes(&[0; 64]),
                        1 => sign_message(&keys.server, &digest, letter.clone()).signature,
                        _ => sign_message(&IdentityKey::generate().unwrap(), &digest, letter.clone()).signature,
                    };
                }
            };
            assert_eq!(relay.attempt([Some(&first); 4], [&first; 2], &forge), None, "{forged:?}");
            assert_eq!((relay.contributed, relay.parts.len()), (contributed, parts), "{forged:?}");
            assert!(met.get() > 0, "{forged:?} are written");
        }
    }
}

#[test]
fn the_relay_reads_no_share() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, _) = relay.questions();
    let shares = Cell::new(0);
    let look = |letter: &mut SealedMessage| {
        if kind(letter) == MessageKind::Share {
            shares.set(shares.get() + 1);
            assert!(Message::decode(&letter.sealed, 1 << 10, 4).is_err(), "a share is in the clear");
        }
    };
    assert!(relay.attempt([Some(&first); 4], [&first; 2], &look).is_some());
    assert_eq!(shares.get(), 8);
}

/// A node comes back, and a server that has kept all letters to it carries them once more; what the node publishes.
fn published_again(relay: &mut Relay, query: &[u8], kept: &[SealedMessage]) -> Vec<Vec<u8>> {
    let mut node = relay.script.node(0, &relay.disks[0]);
    relay.script.tell(&mut node, relay.script.beginning()).unwrap();
    relay.nodes[0] = node;
    relay.parts.clear();
    for close in [false, true] {
        relay.tell(MemberId::Node(0), Instruction::Session { at: AT, query: query.to_vec(), close });
        let wanted =
            if close { MessageKind::List..=MessageKind::Part } else { MessageKind::Share..=MessageKind::Share };
        for letter in kept.iter().filter(|letter| letter.to == MemberId::Node(0) && wanted.contains(&kind(letter))) {
            relay.number += 1;
            relay.tell(MemberId::Node(0), Instruction::Mail(vec![(relay.number, letter.clone())]));
        }
        relay.carry(&leave);
    }
    relay.parts.iter().filter(|part| part.from == MemberId::Node(0)).map(|part| part.sealed.clone()).collect()
}

#[test]
fn a_node_that_comes_back_publishes_the_very_part_that_it_had_published_or_nothing() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, _) = relay.questions();
    let kept = RefCell::new(Vec::new());
    let opened = relay.attempt([Some(&first); 4], [&first; 2], &|letter| kept.borrow_mut().push(letter.clone()));
    assert!(opened.is_some());
    let part = relay.parts.iter().find(|part| part.from == MemberId::Node(0)).unwrap().sealed.clone();
    for _ in 0..4 {
        let again = published_again(&mut relay, &first, &kept.borrow());
        assert!(!again.is_empty() && again.iter().all(|other| *other == part), "one part of a session, ever");
    }
}

#[test]
fn a_node_that_comes_back_without_its_record_would_publish_another_part() {
    let mut relay = Relay::new("sum/2/1", 3);
    let (first, _) = relay.questions();
    let kept = RefCell::new(Vec::new());
    relay.attempt([Some(&first); 4], [&first; 2], &|letter| kept.borrow_mut().push(letter.clone()));
    let part = relay.parts.iter().find(|part| part.from == MemberId::Node(0)).unwrap().sealed.clone();
    // This is what a lost or restored home would cost, and why a node without its records does not start.
    relay.disks[0] = SimulatedDisk::new();
    let again = published_again(&mut relay, &first, &kept.borrow());
    assert!(!again.is_empty() && again.iter().all(|other| *other != part), "the check above can fail");
}
