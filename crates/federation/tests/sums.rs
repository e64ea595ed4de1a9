//! Sums at a real server: every answer that is in an opened total is counted, whatever its site has said by then.
#![cfg(feature = "rehearsal")]

use crate::common::local_run::LocalRun;
use crate::common::scripted_server::{ScriptedServer, entries, owner};
use federation::coordinator::{FoldInput, SiteStanding};
use federation::log::LogEntry;
use federation::message::{Attempt, Instruction, MemberId, RefusalCode, Request};
use federation::party::PartyMachine;
use federation::store::ServerStore as _;
use federation::wire::UnverifiedContent;
use privacy::secure_sum::Message;
use std::collections::BTreeSet;

const AT: Attempt = Attempt { round: 0, attempt: 0 };

/// The site that is silent at the wrong moment.
const QUIET: usize = 3;

/// A sum of four sites at two nodes, of which one site is silent at the wrong moment.
struct SilentSiteCase {
    local_run: LocalRun,
    /// What the quiet site has to say of its shares, held back on its way.
    held_back: Option<Vec<u8>>,
}

impl SilentSiteCase {
    fn new() -> Self {
        let local_run = LocalRun::new(ScriptedServer::pressed("sum/2/1", 4, 2, 3, Some(5)), owner);
        Self { local_run, held_back: None }
    }

    /// One member says what it has to say; the word of the quiet site on its shares does not come through.
    fn speak(&mut self, member: MemberId) {
        let (bytes, said) = self.local_run.next(member);
        match said {
            Request::Contributed { .. } if member == MemberId::Site(QUIET) => self.held_back = Some(bytes),
            _ => self.local_run.deliver(member, &bytes),
        }
    }

    /// All speak in turn until the sum of the first round is opened; the quiet site is cut off when its shares are held.
    fn open_first_sum(&mut self) {
        for turn in 0..400 {
            for member in self.local_run.members() {
                if self.held_back.is_none() || member != MemberId::Site(QUIET) {
                    self.speak(member);
                }
            }
            let front = &mut self.local_run.front;
            front.engine.tick(turn * 1000);
            if front.engine.coordinator().header().round > 0 {
                break;
            }
        }
        let history = self.local_run.front.store.history(&self.local_run.front.script.manifest.run()).unwrap();
        let Some(FoldInput::Sum { from, .. }) = history.folds.first().map(|fold| &fold.of) else {
            panic!("none opened")
        };
        assert_eq!((from.as_slice(), self.held_back.is_some()), (&[0, 1, 2, QUIET][..], true));
    }

    fn answers(&self) -> Vec<u64> {
        let sites = &self.local_run.front.engine.coordinator().header().sites;
        assert_eq!(*sites, self.local_run.front.kept().header.sites);
        sites.iter().map(|seat| seat.answers).collect()
    }

    fn hears(&mut self, bytes: &[u8]) -> Vec<Instruction> {
        self.local_run.front.bytes(self.local_run.front.caller(MemberId::Site(QUIET)).0, bytes)
    }
}

#[test]
fn an_answer_in_an_opened_sum_counts_though_its_site_went_down_before_it_said_so() {
    let mut scene = SilentSiteCase::new();
    scene.open_first_sum();
    assert_eq!(scene.answers(), [1; 4]);
    assert_eq!(scene.local_run.front.script.charges(&scene.local_run.disks[QUIET]), 1);
}

#[test]
fn a_word_that_comes_after_the_sum_was_opened_counts_nothing_twice_and_two_of_them_freeze() {
    let mut scene = SilentSiteCase::new();
    scene.open_first_sum();
    let late = scene.held_back.clone().unwrap();
    for _ in 0..2 {
        assert_eq!(scene.hears(&late), [Instruction::Held { at: AT }]);
        assert_eq!(scene.answers(), [1; 4]);
    }
    let Ok(Request::Contributed { at, question, position }) = UnverifiedContent::read(&late).unwrap().claimed_request()
    else {
        panic!("a word on shares was held back")
    };
    let seat = scene.local_run.front.kept().header.sites[QUIET].clone();
    assert_eq!(seat.seen, Some(position), "the place of the log is countersigned");
    let mut other = position;
    other.sequence += 1;
    let other = Request::Contributed { at, question, position: other };
    let refused = scene.local_run.front.request(MemberId::Site(QUIET), &other);
    assert_eq!(refused, [Instruction::Refuse(RefusalCode::Conflict)]);
    assert_eq!(scene.local_run.front.kept().header.sites[QUIET].standing, SiteStanding::Frozen);
}

#[test]
fn a_site_that_is_back_hears_that_its_answer_is_in_the_total() {
    let mut scene = SilentSiteCase::new();
    scene.open_first_sum();
    let poll = scene.local_run.sites[QUIET].attend(0);
    let heard = scene.hears(&poll);
    let receipt = Instruction::Receipt { at: AT, applied: Some(Vec::new()) };
    assert!(heard.contains(&receipt), "{heard:?}");
    scene.speak(MemberId::Site(QUIET));
    let unsettled = |scene: &mut SilentSiteCase| {
        let poll = scene.local_run.sites[QUIET].attend(0);
        let Ok(Request::Attend { unsettled, .. }) = UnverifiedContent::read(&poll).unwrap().claimed_request() else {
            panic!("a poll was expected")
        };
        unsettled
    };
    assert_ne!(unsettled(&mut scene), Some(AT), "it asks no more for what it knows");
    let kept = entries(&scene.local_run.disks[QUIET]);
    let fate: Vec<&LogEntry> = kept.iter().filter(|entry| entry.turn().is_some_and(|turn| turn.round == 0)).collect();
    let burnt = |entry: &&LogEntry| matches!(entry, LogEntry::Lapsed { .. });
    assert!(!fate.iter().any(burnt) && fate.iter().any(|entry| matches!(entry, LogEntry::Contributed { .. })));
}

#[test]
fn what_the_server_keeps_of_shares_is_sealed() {
    let mut scene = SilentSiteCase::new();
    let mut kept = BTreeSet::new();
    for member in (0..4).map(MemberId::Site).cycle().take(16) {
        scene.speak(member);
        for (at, letter) in scene.local_run.front.kept().letters {
            if let (MemberId::Site(_), MemberId::Node(_)) = (letter.from, letter.to) {
                kept.insert(at);
                assert_eq!(letter.key.len(), 32);
                assert!(Message::decode(&letter.sealed, 1 << 10, 4).is_err(), "a share is kept in the clear");
            }
        }
    }
    assert!(kept.len() >= 4, "letters were looked at");
}
