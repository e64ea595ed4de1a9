//! How often one round can be charged: a node that always fails and a server that asks for ever get three charges, and are named or
//! refused.
#![cfg(feature = "rehearsal")]

use crate::common::local_run::LocalRun;
use crate::common::scripted_server::{ScriptedServer, TestServer, ask, declined, owner, said};
use crate::store_changes::{StoreRandom, header};
use federation::agent::MOST_CHARGES;
use federation::coordinator::{CoordinatorPhase, Header};
use federation::identity::PartyName;
use federation::message::{
    Attempt, DeclineReason, Instruction, MOST_ATTEMPTS, MemberId, NodeState, Request, RunOutcome,
};
use federation::party::{PartyMachine, PartyPhase};
use federation::server::RunEngine;
use privacy::secure_sum::Renunciation;
use std::sync::Arc;

/// The node that answers every session with "failed".
const BAD: MemberId = MemberId::Node(0);

/// A study of four sites, of which three make a sum, and two nodes.
fn sum() -> ScriptedServer {
    ScriptedServer::new("sum/2/1", 4, 2, 3)
}

/// The attempt that is under way.
fn present(front: &TestServer) -> Attempt {
    let header = front.engine.coordinator().header();
    Attempt { round: header.round, attempt: header.session }
}

/// The server's process ends, and another takes up the run.
fn restart(front: &mut TestServer) {
    let (manifest, parts) = (front.script.manifest.clone(), front.script.parts.clone());
    let (key, name) = (front.script.keys.server.clone(), PartyName::new("server").unwrap());
    front.engine = RunEngine::open(Arc::new(front.store.clone()), manifest, parts, key, name).unwrap();
}

/// Everybody speaks in turn. When all sites have charged, the bad node says that the attempt has failed.
fn attack(local_run: &mut LocalRun, turns: usize) {
    for _ in 0..turns {
        for member in local_run.members().into_iter().filter(|member| *member != BAD) {
            let (bytes, _) = local_run.next(member);
            local_run.deliver(member, &bytes);
        }
        let at = present(&local_run.front);
        local_run.front.request(BAD, &Request::Standing { at, state: NodeState::Renounced(Renunciation::Lost) });
        restart(&mut local_run.front);
    }
}

#[test]
fn a_node_that_fails_every_attempt_costs_each_site_three_charges_and_ends_the_run_by_its_name() {
    let mut local_run = LocalRun::new(sum(), owner);
    attack(&mut local_run, 60);
    let charges: Vec<usize> = local_run.disks.iter().map(|disk| local_run.front.script.charges(disk)).collect();
    assert!(charges.iter().all(|&charges| (1..=3).contains(&charges)), "{charges:?}");
    let ended = RunOutcome::SumFailed(BAD);
    let kept = local_run.front.kept().header;
    assert_eq!(kept.phase, CoordinatorPhase::Finished(ended));
    assert_eq!((kept.failures.round.len(), kept.failures.total.get(&BAD)), (3, Some(&MOST_ATTEMPTS)));
    for site in &local_run.sites {
        assert_eq!(site.standing(), PartyPhase::Finished(ended), "every site is told, and stops");
        assert_eq!(site.failed().as_deref(), Some("node node-0"));
    }
    // A site that was away is told the same by whichever server has the run then.
    let poll = Request::Attend { position: None, wait: 0, begun: true, unsettled: None, mail: 0, closed: false };
    assert_eq!(local_run.front.request(MemberId::Node(1), &poll), [Instruction::Finished(ended)]);
}

#[test]
fn sites_that_drop_out_of_every_attempt_are_named_too() {
    let mut front = TestServer::running(sum());
    let away = [MemberId::Site(1), MemberId::Site(3)];
    for attempt in 0..MOST_ATTEMPTS {
        let at = Attempt { round: 0, attempt };
        assert_eq!(present(&front), at);
        for site in (0..4).map(MemberId::Site) {
            front.request(site, &Request::Decline { at, reason: DeclineReason::Lapsed });
        }
    }
    let kept = front.kept().header;
    assert!(
        matches!(kept.phase, CoordinatorPhase::Finished(RunOutcome::SumFailed(MemberId::Site(_)))),
        "{:?}",
        kept.phase
    );
    assert!(away.iter().all(|site| kept.failures.total.get(site) == Some(&MOST_ATTEMPTS)));
}

/// Who has withdrawn is no failure of an attempt: below the quorum the run ends as it always did.
#[test]
fn a_quorum_that_is_lost_in_the_last_attempt_is_a_quorum_that_is_lost() {
    let mut front = TestServer::running(sum());
    for _ in 1..MOST_ATTEMPTS {
        let at = present(&front);
        front.request(BAD, &Request::Standing { at, state: NodeState::Renounced(Renunciation::Lost) });
    }
    let at = present(&front);
    for site in (0..4).map(MemberId::Site) {
        front.request(site, &Request::Decline { at, reason: DeclineReason::Refused });
    }
    let phase = front.kept().header.phase;
    assert!(matches!(phase, CoordinatorPhase::Finished(RunOutcome::QuorumLost | RunOutcome::Spent)), "{phase:?}");
}

#[test]
fn failures_are_counted_anew_in_every_round_and_stay_in_the_totals() {
    let mut local_run = LocalRun::new(sum(), owner);
    for round in 0..2 {
        let at = Attempt { round, attempt: 0 };
        while present(&local_run.front).round < round {
            for member in local_run.members() {
                let (bytes, _) = local_run.next(member);
                local_run.deliver(member, &bytes);
            }
        }
        local_run.front.request(BAD, &Request::Standing { at, state: NodeState::Renounced(Renunciation::Lost) });
        let failures = local_run.front.kept().header.failures;
        assert_eq!((failures.round.len() as u64, failures.total.get(&BAD)), (1, Some(&(round + 1))));
    }
}

/// A server need not keep to three attempts: the site does. Where only sums are opened, the round is charged once.
#[test]
fn a_server_that_asks_one_round_for_ever_gets_three_charges_of_it_and_one_where_sums_are_opened() {
    for (study, most) in
        [("sum/2/1 4 2 3", 1), ("synchronous/2/0 3 0 2", MOST_CHARGES), ("sequential/2/0 3 0 1", MOST_CHARGES)]
    {
        let words: Vec<&str> = study.split(' ').collect();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        let script = ScriptedServer::new(words[0], number(1), number(2), number(3) as u64);
        let (mut party, disk) = script.running(0);
        for attempt in 0..20 {
            let next = script.tell(&mut party, ask(0, attempt, &script.question())).unwrap();
            if most > 1 && attempt >= most {
                assert_eq!(declined(&next), DeclineReason::Refused, "{study}");
            }
            // Where each answer goes by itself, it is settled before the next is asked for.
            if matches!(said(&next).as_slice(), [Request::Update(_)]) {
                let at = Attempt { round: 0, attempt };
                script.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]).unwrap();
            }
        }
        assert_eq!(script.charges(&disk) as u64, most, "{study}");
        // Not after a restart either; and the next round is another one.
        let mut again = script.site(0, &disk, owner(0));
        script.tell(&mut again, script.beginning()).unwrap();
        let next = script.tell(&mut again, ask(0, 30, &script.question())).unwrap();
        assert_eq!(script.charges(&disk) as u64, most, "{study}");
        assert!(most == 1 || declined(&next) == DeclineReason::Refused, "{study}");
        script.tell(&mut again, ask(1, 0, &script.question())).unwrap();
        assert_eq!(script.charges(&disk) as u64, most + 1, "{study}");
    }
}

#[test]
fn a_header_from_before_failures_were_kept_is_read_and_bytes_too_many_are_refused() {
    let new = header(&mut StoreRandom(3));
    let old = postcard::to_allocvec(&new).unwrap();
    let read = Header::read(&old).unwrap();
    assert_eq!(read, Header { failures: Default::default(), ..new.clone() });
    let bytes = new.bytes().unwrap();
    assert_eq!(Header::read(&bytes).unwrap(), new);
    assert!(bytes.starts_with(&old) && Header::read(&[bytes.as_slice(), &[0]].concat()).is_err());
    assert!(Header::read(&bytes[..bytes.len() - 1]).is_err());
}
