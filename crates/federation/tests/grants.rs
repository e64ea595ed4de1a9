//! What a site's owner hears of earlier grants when another run is proposed: all of them, and none too small.

use crate::common::hand::{Hand, ask, entries, owner, said};
use crate::common::study::{GRANTED, shard};
use federation::log::{Entry, Log, LogError, SimulatedDisk};
use federation::manifest::{Manifest, Pace, Programme};
use federation::message::{Instruction, Request};
use federation::party::{PartyError, SiteParty, SiteSeat, Verdict};
use federation::policy::{Granted, PAIR, Promised};
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use std::sync::{Arc, Mutex};

/// What an owner is told of earlier grants, proposal by proposal.
type Told = Arc<Mutex<Vec<Granted>>>;

/// An owner who writes that down.
struct Listener(Told);

impl SiteSeat for Listener {
    fn consider(&mut self, _: &Manifest, _: &Programme, _: usize, granted: Granted) -> Verdict {
        self.0.lock().unwrap().push(granted);
        Verdict::Sign
    }
    fn rows(&mut self, _: &Manifest, _: &Programme, _: usize) -> Result<(Arc<Shard>, Digest), String> {
        Ok((Arc::new(shard(0)), [1; 32]))
    }
    fn noise(&mut self) -> OsKeyed {
        OsKeyed::new([3; 32])
    }
}

/// The same people and study in another run.
fn run(hand: &Hand, nonce: u64) -> Hand {
    let pace = Pace { rounds: 2, quorum: 2, deadline: None };
    let manifest = hand.cast.manifest("synchronous/2/0", nonce, pace, hand.library.as_ref());
    let programme = manifest.check(hand.library.as_ref()).unwrap();
    Hand { cast: hand.cast.clone(), library: hand.library.clone(), manifest, programme }
}

/// The site over its disk, and what its owner is told.
fn site(hand: &Hand, disk: &SimulatedDisk) -> (SiteParty<SimulatedDisk>, Told) {
    let (told, (name, key)) = (Told::default(), hand.cast.sites[0].clone());
    let seat = Box::new(Listener(Arc::clone(&told)));
    (SiteParty::new(name, key, hand.library.clone(), seat, Log::open(disk.clone()).unwrap()), told)
}

#[test]
fn a_proposal_comes_with_what_all_earlier_runs_were_granted() {
    let (first, disk) = (Hand::new("synchronous/2/0", 3, 0, 2), SimulatedDisk::new());
    for earlier in 0..4_u32 {
        let hand = run(&first, 10 + u64::from(earlier));
        let (mut party, told) = site(&hand, &disk);
        // A proposal that is not begun grants nothing, however often it comes.
        let proposed = Instruction::Propose { manifest: hand.manifest.bytes() };
        for _ in 0..2 {
            let heard = said(&hand.tell(&mut party, vec![proposed.clone()]).unwrap());
            assert!(matches!(heard.as_slice(), [Request::Agree { .. }]));
        }
        hand.tell(&mut party, hand.beginning()).unwrap();
        assert!(party.agent().is_some());
        // The first charge puts the relation and the unit of the run on record.
        hand.tell(&mut party, ask(0, 0, &hand.question())).unwrap();
        assert_eq!(hand.charges(&disk), 1);
        let (epsilon, delta) = (GRANTED * f64::from(earlier), 1e-5 * f64::from(earlier));
        for Granted { epsilon: found_epsilon, delta: found_delta, promised } in told.lock().unwrap().iter() {
            assert!((epsilon..=epsilon * 1.000_001).contains(found_epsilon), "run {earlier}: {found_epsilon}");
            assert!((delta..=delta * 1.000_001).contains(found_delta), "run {earlier}: {found_delta}");
            let pair = (earlier > 0).then_some(PAIR);
            assert_eq!(*promised, pair.map_or(Promised::Nothing, |pair| Promised::Nothing.and(pair)), "run {earlier}");
        }
        assert_eq!(told.lock().unwrap().len(), 3, "the owner is asked at every proposal");
    }
}

#[test]
fn a_run_that_was_accepted_is_not_held_against_itself() {
    let (hand, disk) = (Hand::new("synchronous/2/0", 3, 0, 2), SimulatedDisk::new());
    let (mut party, _) = site(&hand, &disk);
    hand.tell(&mut party, hand.beginning()).unwrap();
    drop(party);
    let (mut again, told) = site(&hand, &disk);
    hand.tell(&mut again, hand.beginning()).unwrap();
    // The owner is asked again, and may have changed their mind.
    assert!(again.agent().is_some() && *told.lock().unwrap() == [Granted::NOTHING], "{told:?}");
}

/// A ledger says whose it is: that of another site is not taken for this one's, whatever it has spent.
#[test]
fn a_ledger_of_another_site_is_refused_as_a_run_begins() {
    let hand = Hand::new("synchronous/2/0", 3, 0, 2);
    let (_, disk) = hand.running(0);
    assert!(matches!(&entries(&disk)[0], Entry::Owner { name } if *name == hand.manifest.sites[0].name.to_string()));
    let mut other = hand.site(1, &disk.copy(), owner(1));
    let refused = hand.tell(&mut other, hand.beginning()).unwrap_err();
    assert!(matches!(refused, PartyError::Log(LogError::OtherSite { .. })), "{refused}");
}
