//! What a site's owner hears of earlier grants when another run is proposed: all of them, and none too small.

use crate::common::scripted_server::{ScriptedServer, ask, entries, owner, said};
use crate::common::study::{GRANTED, PAIR, cap, shard};
use federation::log::{Account, Log, LogEntry, LogError, NewRun, RunAttempt, RunStanding, SimulatedDisk};
use federation::manifest::{Manifest, Pace, RunParts};
use federation::message::{DeclineReason, Instruction, Request};
use federation::party::{PartyError, SiteOwner, SiteParty, Verdict};
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use privacy::{
    Adjacency, Delta, Epsilon, Event, Filter, Grant, Ledger, LifetimeCap, NoiseMultiplier, Portfolio, PrivacyError,
    RunUse, Steps,
};
use std::sync::{Arc, Mutex};

/// What an owner is told of all runs, proposal by proposal.
type SeenGrants = Arc<Mutex<Vec<Account>>>;

/// An owner who writes that down.
struct RecordingOwner(SeenGrants);

impl SiteOwner for RecordingOwner {
    fn consider(&mut self, _: &Manifest, _: &RunParts, _: usize, account: &Account) -> Verdict {
        self.0.lock().unwrap().push(account.clone());
        Verdict::Sign
    }
    fn cap(&self, _: &Account) -> Result<LifetimeCap, PrivacyError> {
        Ok(cap(PAIR))
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
        for account in told.lock().unwrap().iter() {
            let granted = account.granted();
            assert!((epsilon..=epsilon * 1.000_001).contains(&granted.epsilon), "run {earlier}: {granted:?}");
            assert!((delta..=delta * 1.000_001).contains(&granted.delta), "run {earlier}: {granted:?}");
            assert_eq!(account.first_pair(), (earlier > 0).then_some(PAIR), "run {earlier}");
            assert!(account.runs.iter().all(|run| run.standing == RunStanding::Open && run.is_reserved()));
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
    // The owner is asked again, and may have changed their mind; what the run itself has reserved is not held against it.
    let (told, portfolio) = (told.lock().unwrap(), Portfolio::new(cap(PAIR)));
    let [account] = told.as_slice() else { panic!("{told:?}") };
    let others = account.lifetime(&portfolio, Some(&script.manifest.run())).unwrap();
    assert!(again.agent().is_some() && others == portfolio.account());
    assert_ne!(account.lifetime(&portfolio, None).unwrap().gauges(), others.gauges());
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

/// A run of the guide's kind: unsampled Gaussian noise, (1, 1e-5) in all.
fn new_run(number: u8, epsilon: f64) -> (NewRun, Event) {
    let event = Event::gaussian(NoiseMultiplier::new(7.462).unwrap(), Adjacency::Substitute, Steps::new(4).unwrap());
    let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(1e-5).unwrap());
    let grant = Grant::Limited { epsilon, delta, filter: Filter::Plan(vec![event.clone()]) };
    (NewRun { run: [number; 16], manifest: [0; 32], pair: PAIR, grant, bytes: Vec::new() }, event)
}

/// The last of a budget is taken once: the check and the record are one step of the log's writer, and an open run reserves all of
/// its grant. What a closed run has not charged is free again, and a closed run is charged no more.
#[test]
fn the_last_of_a_budget_is_taken_once_and_closing_gives_back_what_was_not_charged() {
    let small = LifetimeCap { epsilon: Epsilon::new(1.4).unwrap(), delta: Delta::new(1e-4).unwrap(), pair: PAIR };
    let mut log = Log::open(SimulatedDisk::new()).unwrap();
    let ((first, event), (second, _), (third, _)) = (new_run(1, 1.01), new_run(2, 1.01), new_run(3, 1.01));
    log.accept(first.clone(), small).unwrap();
    log.accept(second.clone(), small).unwrap();
    log.accept(second.clone(), small).unwrap();
    let head = log.head();
    assert_eq!(head.sequence, 3, "the cap, and each run once");
    let refused = log.accept(third.clone(), small).unwrap_err();
    assert!(matches!(&refused, LogError::Lifetime { .. }), "{refused}");
    assert!(refused.to_string().contains("ε = 1.4 at δ = 1e-4") && !refused.hint().is_empty(), "{refused}");
    assert_eq!(log.head(), head, "nothing is written for a run that is refused");
    // A process that starts now reads the reservations from the records.
    let mut log = Log::open(log.into_disk()).unwrap();
    assert!(log.accept(third.clone(), small).is_err());
    let turn = RunAttempt { run: first.run, round: 0, attempt: 0 };
    let mut ledger = Ledger::open(first.grant.clone(), &mut log.journal(turn, [0; 32])).unwrap();
    ledger.charge(&event.repeated(Steps::ONE), &mut log.journal(turn, [0; 32])).unwrap();
    assert!(log.accept(third.clone(), small).is_err(), "a charge lies inside its reservation");
    log.append(&LogEntry::Closed { run: first.run }).unwrap();
    let burnt = ledger.charge(&event.repeated(Steps::ONE), &mut log.journal(turn, [0; 32])).unwrap_err();
    assert!(burnt.to_string().contains("closed on record"), "{burnt}");
    log.accept(third, small).unwrap();
    let account = Account::of(&log).unwrap();
    let used = account.lifetime(&Portfolio::new(small), None).unwrap();
    assert!(used.fitting().is_some() && account.cap == Some(small));
    // Counting whole grants, as open runs do, three would be over the cap.
    let whole = account
        .runs
        .iter()
        .fold(Portfolio::new(small).account(), |sum, _| sum.with(&RunUse::open(PAIR, &first.grant)).unwrap());
    assert!(whole.fitting().is_none());
}

/// A site that has left a run by its own ledger says so when it is asked, and charges nothing, whatever process asks.
#[test]
fn a_site_that_has_closed_a_run_answers_no_more_after_a_restart() {
    let script = ScriptedServer::new("synchronous/2/0", 3, 0, 2);
    let (party, disk) = script.running(0);
    drop(party);
    let run = script.manifest.run();
    Log::open(disk.clone()).unwrap().append(&LogEntry::Closed { run }).unwrap();
    let (mut party, _) = site(&script, &disk);
    script.tell(&mut party, script.beginning()).unwrap();
    let heard = said(&script.tell(&mut party, ask(0, 0, &script.question())).unwrap());
    assert!(matches!(heard.as_slice(), [Request::Decline { reason: DeclineReason::Stopped, .. }]), "{heard:?}");
    assert_eq!(script.charges(&disk), 0);
    let account = Account::of(&Log::open(disk).unwrap()).unwrap();
    let used = account.lifetime(&Portfolio::new(cap(PAIR)), None).unwrap();
    assert_eq!(used.counts_as().unwrap().epsilon, 0.0, "nothing was charged, so nothing counts");
}
