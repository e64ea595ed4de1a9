//! How often one round is charged, whoever fails in it: once, where sums are opened. Who fails always is named, and ends the run.
#![cfg(feature = "rehearsal")]

use crate::common::local_run::LocalRun;
use crate::common::message_kind::{MessageKind, kind};
use crate::common::scripted_server::{ScriptedServer, TestServer, ask, declined, entries, ledger, owner, said};
use crate::store_changes::{StoreRandom, header};
use federation::agent::MOST_CHARGES;
use federation::coordinator::{CoordinatorPhase, FoldInput, Header, MOST_LOST_ROUNDS, MOST_STRIKES, StrikeReason};
use federation::identity::PartyName;
use federation::log::{Account, Disk, Log, LogEntry};
use federation::message::{
    Attempt, DeclineReason, Instruction, MemberId, NodeState, Request, RunOutcome, SealedMessage,
};
use federation::party::{PartyMachine, PartyPhase};
use federation::sealed_message::SealedChannel;
use federation::server::RunEngine;
use federation::store::ServerStore as _;
use privacy::secure_sum::{Body, Message, Renunciation, SumParty};
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

/// A node says that it will not publish in this attempt.
fn renounce(front: &mut TestServer, node: MemberId, at: Attempt) {
    front.request(node, &Request::Standing { at, state: NodeState::Renounced(Renunciation::Lost) });
}

/// Everybody speaks in turn. When all sites have charged, the bad node says that the attempt has failed.
fn attack(local_run: &mut LocalRun, turns: usize) {
    for _ in 0..turns {
        for member in local_run.members().into_iter().filter(|member| *member != BAD) {
            let (bytes, _) = local_run.next(member);
            local_run.deliver(member, &bytes);
        }
        let at = present(&local_run.front);
        renounce(&mut local_run.front, BAD, at);
        restart(&mut local_run.front);
        local_run.wait();
    }
}

#[test]
fn a_node_that_fails_every_attempt_costs_each_site_one_charge_and_ends_the_run_by_its_name() {
    let mut local_run = LocalRun::new(sum(), owner);
    attack(&mut local_run, 60);
    assert_eq!(local_run.charges(), [1; 4]);
    let ended = RunOutcome::SumFailed(BAD);
    let kept = local_run.front.kept().header;
    assert_eq!(kept.phase, CoordinatorPhase::Finished(ended));
    let counted = (kept.failures.strikes.len(), kept.failures.total.get(&BAD).copied());
    assert_eq!(counted, (MOST_STRIKES, Some(MOST_STRIKES as u64)));
    for site in &local_run.sites {
        assert_eq!(site.standing(), PartyPhase::Finished(ended), "every site is told, and stops");
        assert_eq!(site.failed().as_deref(), Some("node node-0"));
    }
    // A site that was away is told the same by whichever server has the run then.
    let poll = Request::Attend { position: None, wait: 0, begun: true, unsettled: None, mail: 0, closed: false };
    assert_eq!(local_run.front.request(MemberId::Node(1), &poll), [Instruction::Finished(ended)]);
}

/// It loses what it holds again and again, and says so each time: by its own record.
#[test]
fn a_node_that_flaps_costs_each_site_one_charge_and_ends_the_run_by_its_name() {
    let mut local_run = LocalRun::new(sum(), owner);
    let mut last = None;
    for _ in 0..400 {
        local_run.turn();
        if local_run.front.engine.is_finished() {
            break;
        }
        // It goes down whenever it has something new on record: that it has begun, or that it has lost what it held.
        let kept = local_run.node_disks[0].read(&sum_file(&local_run)).unwrap();
        if kept != last {
            local_run.restart_node(0);
            last = kept;
        }
        local_run.wait();
    }
    let header = local_run.front.kept().header;
    assert_eq!(header.phase, CoordinatorPhase::Finished(RunOutcome::SumFailed(BAD)));
    let lost = StrikeReason::Renounced(Renunciation::Lost);
    assert!(header.failures.strikes.iter().all(|strike| (strike.member, strike.reason) == (BAD, lost)));
    assert_eq!(local_run.charges(), [1; 4]);
}

/// The file of a node's record of this run.
fn sum_file(local_run: &LocalRun) -> String {
    format!("sum-{}", study::digits::hexadecimal(&local_run.front.script.manifest.run()))
}

/// Its part is published, and the other node's never will be: nothing opens, and the round has cost every site one charge.
#[test]
fn a_node_that_is_gone_after_another_has_published_loses_the_round_and_three_of_them_end_the_run() {
    let mut local_run = LocalRun::new(ScriptedServer::new("sum/5/1", 4, 2, 3), owner);
    let is_part = |request: &Request| matches!(request, Request::Letters(letters) if letters.iter().any(|letter| kind(letter) == MessageKind::Part));
    for _ in 0..600 {
        for member in local_run.members() {
            let (bytes, said) = local_run.next(member);
            match is_part(&said) && member == BAD {
                true => {
                    let at = present(&local_run.front);
                    renounce(&mut local_run.front, BAD, at);
                }
                false => local_run.deliver(member, &bytes),
            }
        }
    }
    let header = local_run.front.kept().header;
    assert_eq!(header.phase, CoordinatorPhase::Finished(RunOutcome::SumFailed(BAD)));
    assert_eq!((header.failures.lost.len(), header.round, header.folds), (MOST_LOST_ROUNDS, 2, 0));
    assert!(header.failures.lost.iter().all(|lost| (&lost.published, &lost.missing) == (&[1].into(), &[0].into())));
    assert_eq!(local_run.charges(), [MOST_LOST_ROUNDS; 4], "one event for each lost round, and no more");
}

/// It has published in an attempt that another has renounced: no attempt of the round can open.
#[test]
fn a_round_whose_part_is_published_in_an_earlier_attempt_is_lost() {
    let mut front = TestServer::running(sum());
    let at = present(&front);
    renounce(&mut front, BAD, at);
    front.engine.tick(0);
    front.engine.tick(2_000);
    assert_eq!(present(&front), Attempt { round: 0, attempt: 1 });
    front.request(MemberId::Node(1), &Request::Standing { at, state: NodeState::Published });
    let header = front.kept().header;
    assert_eq!((header.round, header.folds, header.failures.lost.len()), (1, 0, 1));
    assert_eq!(header.failures.lost[0].missing, [0].into());
}

/// A site that sends its vector and keeps a seed back can end nothing: it is left out of the sum of the others.
#[test]
fn a_site_that_contributes_half_is_left_out_and_the_others_sum_opens_in_the_first_attempt() {
    const HALF: MemberId = MemberId::Site(3);
    let mut local_run = LocalRun::new(sum(), owner);
    let run = local_run.front.script.manifest.run();
    let mut withheld = false;
    for _ in 0..200 {
        for member in local_run.members() {
            let (bytes, said) = local_run.next(member);
            let Request::Letters(letters) = &said else {
                local_run.deliver(member, &bytes);
                continue;
            };
            // Its vector goes to node 1 and its one seed to node 0: that seed never leaves it, and it goes on as if it were held.
            if member == HALF && letters.iter().any(|letter| letter.to == BAD) {
                withheld = true;
                let (at, question) = (letters[0].at, letters[0].question);
                let held = held_by(&local_run.front.script, BAD, HALF, at, question);
                local_run.tell(HALF, vec![Instruction::Mail(vec![(0, held)])]);
            } else {
                local_run.deliver(member, &bytes);
            }
        }
        if local_run.front.engine.coordinator().header().round > 0 {
            break;
        }
    }
    let history = local_run.front.store.history(&run).unwrap();
    let Some(FoldInput::Sum { from, .. }) = history.folds.first().map(|fold| &fold.of) else { panic!("none opened") };
    assert_eq!((from.as_slice(), withheld), (&[0, 1, 2][..], true));
    let header = local_run.front.kept().header;
    assert!(header.failures.strikes.is_empty() && header.failures.lost.is_empty());
    assert_eq!(local_run.charges()[..3], [1; 3]);
}

/// A node's word that it holds the share of a site, as a site that plays the node to itself would write it.
fn held_by(script: &ScriptedServer, node: MemberId, site: MemberId, at: Attempt, question: [u8; 32]) -> SealedMessage {
    let (MemberId::Node(number), MemberId::Site(client)) = (node, site) else { panic!("a node and a site") };
    let built = &script.parts.built;
    let terms = built.sum_terms(&script.question()).unwrap().unwrap();
    let session = built.summing.assembly(terms).unwrap().unwrap().session(script.manifest.run(), at.round, at.attempt);
    let channel = SealedChannel {
        own: node,
        key: &script.keys.nodes[number as usize].1,
        manifest: &script.manifest,
        digest: script.manifest.digest(),
        at,
        question,
    };
    let body = Body::SeedHeld { client: client as u64, node: number };
    channel.write(SumParty::Client(client as u64), &Message { session, body }).unwrap()
}

/// A site that goes down sits out the attempt that it was in, and makes its contribution anew for the next: under the same charge.
#[test]
fn a_site_that_restarts_in_a_round_is_in_its_sum_again_and_has_charged_it_once() {
    let mut local_run = LocalRun::new(sum(), owner);
    while local_run.charges() != [1; 4] {
        local_run.turn();
    }
    local_run.restart_site(2, owner(2));
    let at = present(&local_run.front);
    renounce(&mut local_run.front, BAD, at);
    for _ in 0..200 {
        local_run.wait();
        local_run.turn();
        if present(&local_run.front).round > 0 {
            break;
        }
    }
    let history = local_run.front.store.history(&local_run.front.script.manifest.run()).unwrap();
    assert!(matches!(&history.folds[0].of, FoldInput::Sum { from, .. } if from.contains(&2)), "{:?}", history.folds);
    let kept = entries(&local_run.disks[2]);
    let count = |wanted: fn(&LogEntry) -> bool| kept.iter().filter(|entry| wanted(entry)).count();
    let of_first = |entry: &LogEntry| entry.turn().is_some_and(|turn| turn.round == 0);
    assert_eq!(count(|entry| matches!(entry, LogEntry::RoundCharged { turn, .. } if turn.round == 0)), 1);
    assert!(kept.iter().any(|entry| of_first(entry) && matches!(entry, LogEntry::Resumed { .. })), "{kept:?}");
    let log = Log::open(local_run.disks[2].copy()).unwrap();
    let account = Account::of(&log).unwrap();
    assert_eq!(account.runs[0].resumed, 1);
}

/// A site that restarts is not in an attempt twice, whatever the server says.
#[test]
fn no_site_takes_part_in_an_attempt_a_second_time_after_a_restart() {
    let script = sum();
    let (mut party, disk) = script.running(0);
    let shares = |next: &[Vec<u8>]| matches!(said(next).as_slice(), [Request::Letters(_)]);
    for attempt in 0..3 {
        assert!(shares(&script.tell(&mut party, ask(0, attempt, &script.question())).unwrap()), "{attempt}");
    }
    for life in 0..2 {
        let mut again = script.site(0, &disk, owner(0));
        script.tell(&mut again, script.beginning()).unwrap();
        for attempt in 0..3 + life {
            let next = script.tell(&mut again, ask(0, attempt, &script.question())).unwrap();
            assert_eq!(declined(&next), DeclineReason::Lapsed, "{attempt}");
        }
        assert!(shares(&script.tell(&mut again, ask(0, 3 + life, &script.question())).unwrap()));
    }
    assert_eq!(script.charges(&disk), 1);
}

/// Another question in a charged round, or a round of before, is declined by name, and the ledger stays as it is.
#[test]
fn another_question_in_a_charged_round_and_an_earlier_round_are_declined_by_name_without_a_charge() {
    let script = ScriptedServer::new("sum/3/1", 4, 2, 3);
    let (mut party, disk) = script.running(0);
    script.tell(&mut party, ask(1, 0, &script.question())).unwrap();
    let (kept, other) = (ledger(&disk), script.other_question());
    for (round, query, reason) in [
        (1, &other, DeclineReason::OtherQuestion),
        (0, &other, DeclineReason::Behind),
        (0, &script.question(), DeclineReason::Behind),
    ] {
        for attempt in [0, 1, 9] {
            let next = script.tell(&mut party, ask(round, attempt, query)).unwrap();
            assert_eq!((declined(&next), ledger(&disk)), (reason, kept.clone()), "{round} {attempt}");
        }
        let mut again = script.site(0, &disk, owner(0));
        script.tell(&mut again, script.beginning()).unwrap();
        assert_eq!(declined(&script.tell(&mut again, ask(round, 12, query)).unwrap()), reason, "after a restart");
    }
    assert_eq!(script.charges(&disk), 1);
}

#[test]
fn sites_that_drop_out_of_every_attempt_end_the_run_too() {
    let mut front = TestServer::running(sum());
    for attempt in 0..MOST_STRIKES as u64 {
        let at = Attempt { round: 0, attempt };
        assert_eq!(present(&front), at);
        for site in (0..4).map(MemberId::Site) {
            front.request(site, &Request::Decline { at, reason: DeclineReason::Lapsed });
        }
        front.engine.tick(attempt * 200_000);
        front.engine.tick(attempt * 200_000 + 61_000);
    }
    let kept = front.kept().header;
    // Each has made as many fail as the others: nobody is named.
    assert_eq!(kept.phase, CoordinatorPhase::Finished(RunOutcome::Failed));
    assert!((0..4).map(MemberId::Site).all(|site| kept.failures.total.get(&site) == Some(&(MOST_STRIKES as u64))));
}

/// Who has withdrawn is no failure of an attempt: below the quorum the run ends as it always did.
#[test]
fn a_quorum_that_is_lost_in_a_later_attempt_is_a_quorum_that_is_lost() {
    let mut front = TestServer::running(sum());
    let at = present(&front);
    renounce(&mut front, BAD, at);
    front.engine.tick(0);
    front.engine.tick(1_000);
    let at = present(&front);
    assert_eq!(at.attempt, 1);
    for site in (0..4).map(MemberId::Site) {
        front.request(site, &Request::Decline { at, reason: DeclineReason::Refused });
    }
    let phase = front.kept().header.phase;
    assert!(matches!(phase, CoordinatorPhase::Finished(RunOutcome::QuorumLost | RunOutcome::Spent)), "{phase:?}");
}

#[test]
fn another_attempt_begins_after_a_renunciation_and_a_wait_that_doubles_and_never_by_time_alone() {
    let mut front = TestServer::running(sum());
    let mut now = 0;
    for attempt in 0..8 {
        // Nothing but a renunciation ends it.
        for _ in 0..3 {
            front.engine.tick(now);
            now += 3_600_000;
        }
        let at = Attempt { round: 0, attempt };
        assert_eq!(present(&front), at);
        renounce(&mut front, BAD, at);
        let wait = 1000 * (1_u64 << attempt).min(60);
        front.engine.tick(now);
        front.engine.tick(now + wait - 1);
        assert_eq!(present(&front), at, "{wait}");
        now += wait;
        front.engine.tick(now);
        assert_eq!(present(&front).attempt, attempt + 1, "{wait}");
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
fn a_header_is_read_as_it_was_kept_and_bytes_too_many_are_refused() {
    let new = header(&mut StoreRandom(3));
    let old = postcard::to_allocvec(&new).unwrap();
    let read = Header::read(&old).unwrap();
    assert_eq!(read, Header { failures: Default::default(), ..new.clone() });
    let bytes = new.bytes().unwrap();
    assert_eq!(Header::read(&bytes).unwrap(), new);
    assert!(bytes.starts_with(&old) && Header::read(&[bytes.as_slice(), &[0]].concat()).is_err());
    assert!(Header::read(&bytes[..bytes.len() - 1]).is_err());
}
