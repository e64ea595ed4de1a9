//! Sums at a real server: every answer that is in an opened total is counted, whatever its site has said by then.
#![cfg(feature = "rehearsal")]

use crate::common::hand::{Front, Hand, entries, owner};
use federation::coordinator::{Folded, SeatStanding};
use federation::log::{Entry, SimulatedDisk};
use federation::message::{Instruction, Member, Refusal, Request, Try};
use federation::party::{Party, SiteParty};
use federation::store::Store as _;
use federation::wire::{self, Unverified};
use privacy::secure_sum::Message;
use std::collections::{BTreeSet, VecDeque};

const AT: Try = Try { round: 0, attempt: 0 };

/// The site that is silent at the wrong moment.
const QUIET: usize = 3;

/// A server, and everybody who takes part in a sum of four sites at two nodes.
struct Company {
    front: Front,
    disks: Vec<SimulatedDisk>,
    sites: Vec<SiteParty<SimulatedDisk>>,
    nodes: Vec<Box<dyn Party>>,
    queues: Vec<VecDeque<Vec<u8>>>,
    /// What one site has to say of its shares, held back on its way.
    held_back: Option<Vec<u8>>,
}

impl Company {
    fn new() -> Self {
        let front = Front::running(Hand::pressed("sum/2/1", 4, 2, 3, Some(5)));
        let disks: Vec<SimulatedDisk> = (0..4).map(|_| SimulatedDisk::new()).collect();
        let sites = disks.iter().enumerate().map(|(m, disk)| front.hand.site(m, disk, owner(m))).collect();
        let node = |k| Box::new(front.hand.node(k, &SimulatedDisk::new())) as Box<dyn Party>;
        let nodes = (0..2).map(node).collect();
        Self { front, disks, sites, nodes, queues: vec![VecDeque::new(); 6], held_back: None }
    }

    /// One member says what it has to say; the word of the quiet site on its shares does not come through.
    fn speak(&mut self, number: usize) {
        let (member, party): (Member, &mut dyn Party) = match number.checked_sub(4) {
            None => (Member::Site(number), &mut self.sites[number]),
            Some(node) => (Member::Node(node as u32), self.nodes[node].as_mut()),
        };
        let bytes = self.queues[number].pop_front().unwrap_or_else(|| party.attend(0));
        let said = Unverified::read(&bytes).unwrap().claimed_request().unwrap();
        if member == Member::Site(QUIET) && matches!(said, Request::Contributed { .. }) {
            self.held_back = Some(bytes);
            return;
        }
        let reply = self.front.reply(self.front.caller(member).0, &bytes);
        self.queues[number].extend(party.hear(&reply, &wire::content_digest(&bytes).unwrap()).unwrap());
    }

    /// All speak in turn until the sum of the first round is opened; the quiet site is cut off when its shares are held.
    fn open_first_sum(&mut self) {
        for turn in 0..400 {
            let cut_off = self.held_back.is_some();
            (0..6).filter(|number| !(cut_off && *number == QUIET)).for_each(|number| self.speak(number));
            self.front.engine.tick(turn * 1000);
            if self.front.engine.coordinator().header().round > 0 {
                break;
            }
        }
        let history = self.front.store.history(&self.front.hand.manifest.run()).unwrap();
        let Some(Folded::Sum { from, .. }) = history.folds.first().map(|fold| &fold.of) else { panic!("none opened") };
        assert_eq!((from.as_slice(), self.held_back.is_some()), (&[0, 1, 2, QUIET][..], true));
    }

    fn answers(&self) -> Vec<u64> {
        let seats = &self.front.engine.coordinator().header().seats;
        assert_eq!(*seats, self.front.kept().header.seats);
        seats.iter().map(|seat| seat.answers).collect()
    }

    fn hears(&mut self, bytes: &[u8]) -> Vec<Instruction> {
        self.front.bytes(self.front.caller(Member::Site(QUIET)).0, bytes)
    }
}

#[test]
fn an_answer_in_an_opened_sum_counts_though_its_site_went_down_before_it_said_so() {
    let mut company = Company::new();
    company.open_first_sum();
    assert_eq!(company.answers(), [1; 4]);
    assert_eq!(company.front.hand.charges(&company.disks[QUIET]), 1);
}

#[test]
fn a_word_that_comes_after_the_sum_was_opened_counts_nothing_twice_and_two_of_them_freeze() {
    let mut company = Company::new();
    company.open_first_sum();
    let late = company.held_back.clone().unwrap();
    for _ in 0..2 {
        assert_eq!(company.hears(&late), [Instruction::Held { at: AT }]);
        assert_eq!(company.answers(), [1; 4]);
    }
    let Ok(Request::Contributed { at, question, position }) = Unverified::read(&late).unwrap().claimed_request() else {
        panic!("a word on shares was held back")
    };
    let seat = company.front.kept().header.seats[QUIET].clone();
    assert_eq!(seat.seen, Some(position), "the place of the log is countersigned");
    let mut other = position;
    other.sequence += 1;
    let other = Request::Contributed { at, question, position: other };
    let refused = company.front.request(Member::Site(QUIET), &other);
    assert_eq!(refused, [Instruction::Refuse(Refusal::Conflict)]);
    assert_eq!(company.front.kept().header.seats[QUIET].standing, SeatStanding::Frozen);
}

#[test]
fn a_site_that_is_back_hears_that_its_answer_is_in_the_total() {
    let mut company = Company::new();
    company.open_first_sum();
    let poll = company.sites[QUIET].attend(0);
    let heard = company.hears(&poll);
    let receipt = Instruction::Receipt { at: AT, applied: Some(Vec::new()) };
    assert!(heard.contains(&receipt), "{heard:?}");
    company.speak(QUIET);
    let unsettled = |company: &mut Company| {
        let poll = company.sites[QUIET].attend(0);
        let Ok(Request::Attend { unsettled, .. }) = Unverified::read(&poll).unwrap().claimed_request() else {
            panic!("a poll was expected")
        };
        unsettled
    };
    assert_ne!(unsettled(&mut company), Some(AT), "it asks no more for what it knows");
    let kept = entries(&company.disks[QUIET]);
    let fate: Vec<&Entry> = kept.iter().filter(|entry| entry.turn().is_some_and(|turn| turn.round == 0)).collect();
    let burnt = |entry: &&Entry| matches!(entry, Entry::Lapsed { .. });
    assert!(!fate.iter().any(burnt) && fate.iter().any(|entry| matches!(entry, Entry::Contributed { .. })));
}

#[test]
fn what_the_server_keeps_of_shares_is_sealed() {
    let mut company = Company::new();
    let mut kept = BTreeSet::new();
    for number in (0..4).cycle().take(16) {
        company.speak(number);
        for (at, letter) in company.front.kept().letters {
            if let (Member::Site(_), Member::Node(_)) = (letter.from, letter.to) {
                kept.insert(at);
                assert_eq!(letter.key.len(), 32);
                assert!(Message::decode(&letter.sealed, 1 << 10, 4).is_err(), "a share is kept in the clear");
            }
        }
    }
    assert!(kept.len() >= 4, "letters were looked at");
}
