//! How often one round can be charged: a node that always fails and a server that asks for ever get three charges, and are named or
//! refused.
#![cfg(feature = "rehearsal")]

use crate::common::company::Company;
use crate::common::hand::{Front, Hand, ask, declined, owner, said};
use crate::kept::{Random, header};
use federation::coordinator::{Header, Phase};
use federation::identity::PartyName;
use federation::message::{Instruction, MOST_ATTEMPTS, Member, NodeState, Outcome, Reason, Request, Try};
use federation::party::{Party, Standing};
use federation::server::Engine;
use std::sync::Arc;

/// The node that answers every session with "failed".
const BAD: Member = Member::Node(0);

/// A study of four sites, of which three make a sum, and two nodes.
fn sum() -> Hand {
    Hand::new("sum/2/1", 4, 2, 3)
}

/// The attempt that is under way.
fn present(front: &Front) -> Try {
    let header = front.engine.coordinator().header();
    Try { round: header.round, attempt: header.session }
}

/// The server's process ends, and another takes up the run.
fn restart(front: &mut Front) {
    let (manifest, programme) = (front.hand.manifest.clone(), front.hand.programme.clone());
    let (key, name) = (front.hand.cast.server.clone(), PartyName::new("server").unwrap());
    front.engine = Engine::open(Arc::new(front.store.clone()), manifest, programme, key, name).unwrap();
}

/// Everybody speaks in turn. When all sites have charged, the bad node says that the attempt has failed.
fn attack(company: &mut Company, turns: usize) {
    for _ in 0..turns {
        for member in company.members().into_iter().filter(|member| *member != BAD) {
            let (bytes, _) = company.next(member);
            company.deliver(member, &bytes);
        }
        let at = present(&company.front);
        company.front.request(BAD, &Request::Standing { at, state: NodeState::Failed });
        restart(&mut company.front);
    }
}

#[test]
fn a_node_that_fails_every_attempt_costs_each_site_three_charges_and_ends_the_run_by_its_name() {
    let mut company = Company::new(sum(), owner);
    attack(&mut company, 60);
    let charges: Vec<usize> = company.disks.iter().map(|disk| company.front.hand.charges(disk)).collect();
    assert!(charges.iter().all(|&charges| (1..=3).contains(&charges)), "{charges:?}");
    let ended = Outcome::SumFailed(BAD);
    let kept = company.front.kept().header;
    assert_eq!(kept.phase, Phase::Finished(ended));
    assert_eq!((kept.failures.round.len(), kept.failures.total.get(&BAD)), (3, Some(&MOST_ATTEMPTS)));
    for site in &company.sites {
        assert_eq!(site.standing(), Standing::Finished(ended), "every site is told, and stops");
        assert_eq!(site.failed().as_deref(), Some("node node-0"));
    }
    // A site that was away is told the same by whichever server has the run then.
    let poll = Request::Attend { position: None, wait: 0, begun: true, unsettled: None, mail: 0, closed: false };
    assert_eq!(company.front.request(Member::Node(1), &poll), [Instruction::Finished(ended)]);
}

#[test]
fn sites_that_drop_out_of_every_attempt_are_named_too() {
    let mut front = Front::running(sum());
    let away = [Member::Site(1), Member::Site(3)];
    for attempt in 0..MOST_ATTEMPTS {
        let at = Try { round: 0, attempt };
        assert_eq!(present(&front), at);
        for site in (0..4).map(Member::Site) {
            front.request(site, &Request::Decline { at, reason: Reason::Lapsed });
        }
    }
    let kept = front.kept().header;
    assert!(matches!(kept.phase, Phase::Finished(Outcome::SumFailed(Member::Site(_)))), "{:?}", kept.phase);
    assert!(away.iter().all(|site| kept.failures.total.get(site) == Some(&MOST_ATTEMPTS)));
}

/// Who has withdrawn is no failure of an attempt: below the quorum the run ends as it always did.
#[test]
fn a_quorum_that_is_lost_in_the_last_attempt_is_a_quorum_that_is_lost() {
    let mut front = Front::running(sum());
    for _ in 1..MOST_ATTEMPTS {
        let at = present(&front);
        front.request(BAD, &Request::Standing { at, state: NodeState::Failed });
    }
    let at = present(&front);
    for site in (0..4).map(Member::Site) {
        front.request(site, &Request::Decline { at, reason: Reason::Refused });
    }
    let phase = front.kept().header.phase;
    assert!(matches!(phase, Phase::Finished(Outcome::QuorumLost | Outcome::Spent)), "{phase:?}");
}

#[test]
fn failures_are_counted_anew_in_every_round_and_stay_in_the_totals() {
    let mut company = Company::new(sum(), owner);
    for round in 0..2 {
        let at = Try { round, attempt: 0 };
        while present(&company.front).round < round {
            for member in company.members() {
                let (bytes, _) = company.next(member);
                company.deliver(member, &bytes);
            }
        }
        company.front.request(BAD, &Request::Standing { at, state: NodeState::Failed });
        let failures = company.front.kept().header.failures;
        assert_eq!((failures.round.len() as u64, failures.total.get(&BAD)), (1, Some(&(round + 1))));
    }
}

/// A server need not keep to three attempts: the site does.
#[test]
fn a_server_that_asks_one_round_for_ever_gets_three_charges_of_it() {
    for study in ["sum/2/1 4 2 3", "synchronous/2/0 3 0 2", "sequential/2/0 3 0 1"] {
        let words: Vec<&str> = study.split(' ').collect();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        let hand = Hand::new(words[0], number(1), number(2), number(3) as u64);
        let (mut party, disk) = hand.running(0);
        for attempt in 0..20 {
            let next = hand.tell(&mut party, ask(0, attempt, &hand.question())).unwrap();
            if attempt >= MOST_ATTEMPTS {
                assert_eq!(declined(&next), Reason::Refused, "{study}");
            }
            // Where each answer goes by itself, it is settled before the next is asked for.
            if matches!(said(&next).as_slice(), [Request::Update(_)]) {
                let at = Try { round: 0, attempt };
                hand.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]).unwrap();
            }
        }
        assert_eq!(hand.charges(&disk) as u64, MOST_ATTEMPTS, "{study}");
        // Not after a restart either; and the next round is another one.
        let mut again = hand.site(0, &disk, owner(0));
        hand.tell(&mut again, hand.beginning()).unwrap();
        let next = hand.tell(&mut again, ask(0, 30, &hand.question())).unwrap();
        assert_eq!((declined(&next), hand.charges(&disk) as u64), (Reason::Refused, MOST_ATTEMPTS), "{study}");
        hand.tell(&mut again, ask(1, 0, &hand.question())).unwrap();
        assert_eq!(hand.charges(&disk) as u64, MOST_ATTEMPTS + 1, "{study}");
    }
}

#[test]
fn a_header_from_before_failures_were_kept_is_read_and_bytes_too_many_are_refused() {
    let new = header(&mut Random(3));
    let old = postcard::to_allocvec(&new).unwrap();
    let read = Header::read(&old).unwrap();
    assert_eq!(read, Header { failures: Default::default(), ..new.clone() });
    let bytes = new.bytes().unwrap();
    assert_eq!(Header::read(&bytes).unwrap(), new);
    assert!(bytes.starts_with(&old) && Header::read(&[bytes.as_slice(), &[0]].concat()).is_err());
    assert!(Header::read(&bytes[..bytes.len() - 1]).is_err());
}
