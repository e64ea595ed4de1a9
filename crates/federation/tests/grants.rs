//! What a site's owner hears of earlier grants when another run is proposed: all of them, and none too small.

use crate::common::scripted_server::{ScriptedServer, ask, entries, owner, said};
use crate::common::study::{GRANTED, shard};
use federation::log::{Log, LogEntry, LogError, SimulatedDisk};
use federation::manifest::{Manifest, Pace, RunParts};
use federation::message::{Instruction, Request};
use federation::party::{PartyError, SiteOwner, SiteParty, Verdict};
use federation::policy::{GrantTotals, PAIR, PromiseScope};
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use std::sync::{Arc, Mutex};

/// What an owner is told of earlier grants, proposal by proposal.
type SeenGrants = Arc<Mutex<Vec<GrantTotals>>>;

/// An owner who writes that down.
struct RecordingOwner(SeenGrants);

impl SiteOwner for RecordingOwner {
    fn consider(&mut self, _: &Manifest, _: &RunParts, _: usize, granted: GrantTotals) -> Verdict {
        self.0.lock().unwrap().push(granted);
        Verdict::Sign
    }
    fn rows(&mut self, _: &Manifest, _: &RunParts, _: usize) -> Result<(Arc<Shard>, Digest), String> {
        Ok((Arc::new(shard(0)), [1; 32]))
    }
    fn noise(&mut self) -> OsKeyed {
        OsKeyed::new([3; 32])
    }
}

/// The same people and study in another run.
fn run(script: &ScriptedServer, nonce: u64) -> ScriptedServer {
    let pace = Pace { rounds: 2, quorum: 2, deadline: None };
    let manifest = script.keys.manifest("synchronous/2/0", nonce, pace, script.builder.as_ref());
    let parts = manifest.check(script.builder.as_ref()).unwrap();
    ScriptedServer { keys: script.keys.clone(), builder: script.builder.clone(), manifest, parts }
}

/// The site over its disk, and what its owner is told.
fn site(script: &ScriptedServer, disk: &SimulatedDisk) -> (SiteParty<SimulatedDisk>, SeenGrants) {
    let (told, (name, key)) = (SeenGrants::default(), script.keys.sites[0].clone());
    let seat = Box::new(RecordingOwner(Arc::clone(&told)));
    (SiteParty::new(name, key, script.builder.clone(), seat, Log::open(disk.clone()).unwrap()), told)
}

#[test]
fn a_proposal_comes_with_what_all_earlier_runs_were_granted() {
    let (first, disk) = (ScriptedServer::new("synchronous/2/0", 3, 0, 2), SimulatedDisk::new());
    for earlier in 0..4_u32 {
        let script = run(&first, 10 + u64::from(earlier));
        let (mut party, told) = site(&script, &disk);
        // A proposal that is not begun grants nothing, however often it comes.
        let proposed = Instruction::Propose { manifest: script.manifest.bytes() };
        for _ in 0..2 {
            let heard = said(&script.tell(&mut party, vec![proposed.clone()]).unwrap());
            assert!(matches!(heard.as_slice(), [Request::Agree { .. }]));
        }
        script.tell(&mut party, script.beginning()).unwrap();
        assert!(party.agent().is_some());
        // The first charge puts the relation and the unit of the run on record.
        script.tell(&mut party, ask(0, 0, &script.question())).unwrap();
        assert_eq!(script.charges(&disk), 1);
        let (epsilon, delta) = (GRANTED * f64::from(earlier), 1e-5 * f64::from(earlier));
        for GrantTotals { epsilon: found_epsilon, delta: found_delta, promised } in told.lock().unwrap().iter() {
            assert!((epsilon..=epsilon * 1.000_001).contains(found_epsilon), "run {earlier}: {found_epsilon}");
            assert!((delta..=delta * 1.000_001).contains(found_delta), "run {earlier}: {found_delta}");
            let pair = (earlier > 0).then_some(PAIR);
            assert_eq!(
                *promised,
                pair.map_or(PromiseScope::Nothing, |pair| PromiseScope::Nothing.and(pair)),
                "run {earlier}"
            );
        }
        assert_eq!(told.lock().unwrap().len(), 3, "the owner is asked at every proposal");
    }
}

#[test]
fn a_run_that_was_accepted_is_not_held_against_itself() {
    let (script, disk) = (ScriptedServer::new("synchronous/2/0", 3, 0, 2), SimulatedDisk::new());
    let (mut party, _) = site(&script, &disk);
    script.tell(&mut party, script.beginning()).unwrap();
    drop(party);
    let (mut again, told) = site(&script, &disk);
    script.tell(&mut again, script.beginning()).unwrap();
    // The owner is asked again, and may have changed their mind.
    assert!(again.agent().is_some() && *told.lock().unwrap() == [GrantTotals::NOTHING], "{told:?}");
}

/// A ledger says whose it is: that of another site is not taken for this one's, whatever it has spent.
#[test]
fn a_ledger_of_another_site_is_refused_as_a_run_begins() {
    let script = ScriptedServer::new("synchronous/2/0", 3, 0, 2);
    let (_, disk) = script.running(0);
    assert!(
        matches!(&entries(&disk)[0], LogEntry::Owner { name } if *name == script.manifest.sites[0].name.to_string())
    );
    let mut other = script.site(1, &disk.copy(), owner(1));
    let refused = script.tell(&mut other, script.beginning()).unwrap_err();
    assert!(matches!(refused, PartyError::Log(LogError::OtherSite { .. })), "{refused}");
}
