//! What the machines of a secure sum refuse by name, and stay as they were: false senders, other sessions, late contributions,
//! and records that do not follow.

use crate::sums::{SumRehearsal, assembly, contribution, contributor, letters, session, sum_context};
use privacy::noise::{NoiseContext, Seeded};
use privacy::secure_sum::{
    Body, ClientSet, Contributor, Message, Node, NodeProgress, NodeRecord, Opener, SumEffect, SumError, SumParty,
    SumSession,
};
use privacy::{Assembly, Cohort, PrivacyError, SumNoise};
use std::collections::{BTreeSet, VecDeque};

/// Five clients of which one may drop out, three nodes.
fn terms() -> Assembly {
    assembly(Cohort::new(5, 1, 1).unwrap(), 3, SumNoise::Nodes, 4)
}

/// Everybody who could send something.
fn everybody() -> Vec<SumParty> {
    let all = (0..5).map(SumParty::Client).chain((0..3).map(SumParty::Node));
    all.chain([SumParty::Opener, SumParty::Coordinator]).collect()
}

fn kind(body: &Body) -> &'static str {
    match body {
        Body::Seed { .. } => "seed",
        Body::SeedHeld { .. } => "seed held",
        Body::Vector { .. } => "vector",
        Body::VectorHeld { .. } => "vector held",
        Body::Close => "close",
        Body::Holdings { .. } => "holdings",
        Body::Confirmation { .. } => "confirmation",
        Body::Partial(_) => "partial",
    }
}

/// All that a party shows of its state.
fn face(table: &SumRehearsal, party: SumParty) -> String {
    match party {
        SumParty::Client(client) => {
            let one = &table.clients[client as usize];
            format!("{} {:?}", one.is_done(), letters(one.unconfirmed()).iter().map(encoded).collect::<Vec<_>>())
        }
        SumParty::Node(node) => {
            let one = &table.nodes[node as usize];
            let again: Vec<_> = letters(one.unconfirmed()).iter().map(encoded).collect();
            format!("{:?} {again:?}", one.missing())
        }
        SumParty::Opener => format!("{:?}", table.opener.missing()),
        SumParty::Coordinator => String::new(),
    }
}

fn encoded((to, message): &(SumParty, Message)) -> (String, Vec<u8>) {
    (to.to_string(), message.encode().unwrap())
}

/// A whole session, in which before every letter others like it are handed in that must be refused.
///
/// The total is then that of the honest letters, and every kind of letter was tried.
fn accompanied(mut intrude: impl FnMut(&mut SumRehearsal, SumParty, SumParty, &Message)) {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    let mut kinds = BTreeSet::new();
    let of_clients = (0..5).flat_map(|c| letters(table.clients[c].unconfirmed()));
    let mut post: VecDeque<_> = of_clients.map(|(to, message)| (message.body.sender(), to, message)).collect();
    for closing in [false, true] {
        if closing {
            let close = table.message(Body::Close);
            post.extend((0..3).map(|node| (SumParty::Coordinator, SumParty::Node(node), close.clone())));
        }
        while let Some((from, to, message)) = post.pop_front() {
            let before = face(&table, to);
            intrude(&mut table, from, to, &message);
            assert_eq!(face(&table, to), before, "{to} has changed");
            kinds.insert(kind(&message.body));
            for effect in table.hand(from, to, message).unwrap() {
                match effect {
                    SumEffect::Send { to: next, message } => post.push_back((to, next, message)),
                    SumEffect::Opened { total, .. } => table.opened.push(total.into_inner().units().to_vec()),
                    SumEffect::Persist(_) => {}
                }
            }
        }
    }
    assert_eq!(table.opened, [table.plain(&[0, 1, 2, 3, 4])]);
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

#[test]
fn every_kind_of_message_is_refused_from_all_but_the_party_that_it_names() {
    accompanied(|table, from, to, message| {
        for other in everybody().into_iter().filter(|other| *other != from) {
            let error = table.hand(other, to, message.clone()).unwrap_err();
            assert_eq!(error, SumError::FalseSender { claimed: from, from: other });
            assert!(!error.ends_the_attempt());
        }
    });
    let error = SumError::FalseSender { claimed: SumParty::Node(2), from: SumParty::Client(1) };
    assert_eq!(error.to_string(), "a message that claims to be from node 2 came from client 1");
}

#[test]
fn what_others_send_in_a_clients_name_is_not_held() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    for client in 0..5 {
        for (to, message) in whole_contribution(&table.session, client) {
            assert!(table.hand(SumParty::Client((client + 1) % 5), to, message.clone()).is_err());
            assert!(table.hand(SumParty::Node(0), to, message).is_err());
        }
    }
    table.close(|_, _| false);
    assert!(
        table.errors.iter().all(|error| *error == SumError::TooFew { found: 0, expected: 4 }),
        "{:?}",
        table.errors
    );
    assert_eq!(table.errors.len(), 3);
}

#[test]
fn nobody_closes_confirms_or_publishes_for_another() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    let close = table.message(Body::Close);
    assert!(table.hand(SumParty::Client(3), SumParty::Node(0), close).is_err());
    assert_eq!(table.nodes[0].missing(), Some(SumError::Gathering));
    // Node 2 is down, and node 1 speaks in its place, with what node 2 would have said.
    let mut honest = SumRehearsal::new(&terms(), 1, 0);
    honest.contribute(&[0, 1, 2, 3, 4]);
    honest.close(|_, _| false);
    table.close(|to, _| to == SumParty::Node(2));
    for (to, message) in letters(honest.nodes[2].unconfirmed()) {
        let refused = table.hand(SumParty::Node(1), to, message);
        assert_eq!(refused, Err(SumError::FalseSender { claimed: SumParty::Node(2), from: SumParty::Node(1) }));
    }
    let waits = |what, nodes| Some(SumError::Missing { what, nodes });
    assert_eq!(table.nodes[0].missing(), waits("the list of clients is", vec![2]));
    assert_eq!(table.opener.missing(), waits("the partial sum is", vec![0, 1, 2]));
}

/// Other sessions than the one that is open, each with what differs.
fn other_sessions() -> [(&'static str, SumSession); 4] {
    let other_terms = assembly(Cohort::new(50, 1, 1).unwrap(), 3, SumNoise::Nodes, 4);
    [
        ("round", session(&terms(), 2, 0)),
        ("attempt", session(&terms(), 1, 1)),
        ("run", terms().session([1; 16], 1, 0)),
        ("terms", session(&other_terms, 1, 0)),
    ]
}

#[test]
fn every_kind_of_message_of_another_session_is_refused_by_name() {
    accompanied(|table, from, to, message| {
        for (what, session) in other_sessions() {
            let error = table.hand(from, to, Message { session, ..message.clone() }).unwrap_err();
            assert!(matches!(&error, SumError::OtherSession { what: found, .. } if *found == what), "{error}");
            assert!(!error.ends_the_attempt());
        }
    });
}

#[test]
fn a_session_of_other_terms_is_joined_by_nobody_and_a_contribution_of_another_round_or_run_not_split() {
    let (own, context, source) = (terms(), sum_context(1, 0), &mut Seeded::new(3));
    let (_, other) = other_sessions()[3];
    let refused = [
        Node::start(&own, &other, 0, None, source, &context).err(),
        Opener::new(&own, &other).err(),
        Contributor::new(&own, &other, contribution(&own, 0, 1, 3), source, &context).err(),
    ];
    for error in refused {
        assert!(matches!(&error, Some(PrivacyError::Sum(SumError::OtherSession { what: "terms", .. }))), "{error:?}");
    }
    for (what, session) in [&other_sessions()[0], &other_sessions()[2]] {
        let error = Contributor::new(&own, session, contribution(&own, 0, 1, 3), source, &context).err().unwrap();
        assert_eq!(error.code(), "P010", "{what}: {error}");
    }
}

/// All letters of a client, its vector last.
fn whole_contribution(session: &SumSession, client: u64) -> Vec<(SumParty, Message)> {
    let mut one = contributor(&terms(), session, client, 3);
    let mut all = letters(one.unconfirmed());
    for (to, message) in all.clone() {
        let Body::Seed { client, node, .. } = message.body else { panic!("a seed") };
        let held = Message { session: *session, body: Body::SeedHeld { client, node } };
        all.extend(letters(one.handle(to, &held).unwrap()));
    }
    assert_eq!(all.len(), 3);
    all
}

fn late(table: &mut SumRehearsal) {
    for (to, message) in whole_contribution(&table.session, 4) {
        let what = kind(&message.body);
        let before = face(table, to);
        assert_eq!(table.tell(to, message).unwrap_err(), SumError::Late { what, from: SumParty::Client(4) });
        assert_eq!(face(table, to), before);
    }
}

#[test]
fn a_contribution_that_comes_after_the_close_is_refused_in_every_phase_and_is_not_in_the_total() {
    let is_list = |message: &Message| matches!(message.body, Body::Holdings { .. });
    let is_confirmation = |message: &Message| matches!(message.body, Body::Confirmation { .. });
    for phase in ["comparing", "prepared", "restarted", "published"] {
        let mut table = SumRehearsal::new(&terms(), 1, 0);
        table.contribute(&[0, 1, 2, 3]);
        table.close(|_, message| match phase {
            "comparing" => is_list(message),
            "prepared" | "restarted" => is_confirmation(message),
            _ => false,
        });
        assert_eq!(table.opened.is_empty(), phase != "published");
        if phase == "restarted" {
            let context = sum_context(1, 0);
            for number in 0..3 {
                let kept = table.kept[number as usize].as_ref();
                let source = &mut Seeded::new(5);
                table.nodes[number as usize] =
                    Node::start(&table.assembly, &table.session, number, kept, source, &context).unwrap().0;
            }
        }
        late(&mut table);
        let again: Vec<_> = table.nodes.iter().flat_map(|node| letters(node.unconfirmed())).collect();
        table.deliver(again, |_, _| false);
        late(&mut table);
        assert_eq!(table.opened, [table.plain(&[0, 1, 2, 3])], "{phase}");
        assert!(table.errors.is_empty(), "{phase}: {:?}", table.errors);
    }
}

#[test]
fn after_an_abort_every_message_meets_the_reason_of_it() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2]);
    table.close(|_, _| false);
    let reason = SumError::TooFew { found: 3, expected: 4 };
    for (to, message) in whole_contribution(&table.session, 3) {
        let before = face(&table, to);
        assert_eq!(table.tell(to, message).unwrap_err(), reason);
        assert_eq!(face(&table, to), before);
    }
    table.close(|_, _| false);
    assert!(table.opened.is_empty() && table.nodes.iter().all(|node| node.missing() == Some(reason.clone())));

    // The opener: two nodes that publish over different sets, and then a third.
    let mut honest = SumRehearsal::new(&terms(), 1, 0);
    honest.contribute(&[0, 1, 2, 3, 4]);
    honest.close(|to, _| to == SumParty::Opener);
    let mut partials: Vec<_> = honest.nodes.iter().flat_map(|node| letters(node.unconfirmed())).collect();
    partials.retain(|(to, _)| *to == SumParty::Opener);
    let Body::Partial(second) = &mut partials[1].1.body else { panic!("a partial sum") };
    second.set = ClientSet::none(5);
    (0..4).for_each(|client| assert!(second.set.insert(client)));
    honest.deliver(partials, |_, _| false);
    let reason = SumError::Disagreement { node: 0, other: 1 };
    assert_eq!((honest.errors, honest.opened.len()), (vec![reason.clone(), reason], 0));
}

/// Everything that node 0 keeps in a first attempt that fails after it has confirmed, and in a second that opens.
fn kept_in_two_attempts() -> Vec<NodeRecord> {
    let mut records: Vec<NodeRecord> = Vec::new();
    for attempt in 0..2 {
        let mut table = SumRehearsal::new(&terms(), 1, attempt);
        records.extend(table.kept[0].clone());
        table.contribute(&[0, 1, 2, 3, 4]);
        table.close(|_, message| matches!(message.body, Body::Confirmation { .. }));
        records.extend(table.kept[0].clone());
        if attempt == 1 {
            let again = table.nodes.iter().flat_map(|node| letters(node.unconfirmed())).collect();
            table.deliver(again, |_, _| false);
            records.extend(table.kept[0].clone());
        }
    }
    assert_eq!(records.iter().map(progress).collect::<Vec<_>>(), [0, 1, 0, 1, 2]);
    records
}

fn progress(record: &NodeRecord) -> u8 {
    match record.progress {
        NodeProgress::Started => 0,
        NodeProgress::Prepared(_) => 1,
        NodeProgress::Published(_) | NodeProgress::Renounced(_) => 2,
    }
}

/// All orders of some numbers.
fn orders(of: &[usize]) -> Vec<Vec<usize>> {
    let Some(&last) = of.last() else { return vec![Vec::new()] };
    let shorter = orders(&of[..of.len() - 1]);
    let places = |order: Vec<usize>| {
        (0..=order.len()).map(move |place| {
            let mut longer = order.clone();
            longer.insert(place, last);
            longer
        })
    };
    shorter.into_iter().flat_map(places).collect()
}

#[test]
fn records_in_any_order_leave_the_last_one_and_a_round_that_was_published_stays_so() {
    let records = kept_in_two_attempts();
    let all = orders(&[0, 1, 2, 3, 4]);
    assert_eq!(all.len(), 120);
    for order in all {
        let mut kept = None;
        for &i in order.iter().chain(&order) {
            let before = kept.clone();
            if records[i].clone().replace(&mut kept).is_err() {
                assert_eq!(kept, before, "a refused record was kept");
            }
        }
        assert_eq!(kept.as_ref(), Some(&records[4]), "{order:?}");
        let (third, context) = (session(&terms(), 1, 2), sum_context(1, 2));
        let refused = Node::start(&terms(), &third, 0, kept.as_ref(), &mut Seeded::new(5), &context).err();
        assert_eq!(refused, Some(PrivacyError::Sum(SumError::Published { node: 0, round: 1, attempt: 1 })));
    }
}

#[test]
fn a_record_that_does_not_follow_is_refused_by_name() {
    let records = kept_in_two_attempts();
    let published = &records[4];
    let refused = |record: NodeRecord| {
        let mut kept = Some(published.clone());
        let error = record.replace(&mut kept).unwrap_err();
        assert_eq!(kept.as_ref(), Some(published));
        error
    };
    let at = |round, attempt| NodeRecord { session: session(&terms(), round, attempt), ..records[2].clone() };
    let past = SumError::Past { node: 0, round: 1, attempt: 1 };
    assert_eq!((refused(at(1, 0)), refused(at(0, 9)), refused(at(1, 1))), (past.clone(), past.clone(), past));
    assert_eq!(refused(at(1, 2)), SumError::Published { node: 0, round: 1, attempt: 1 });
    assert!(matches!(refused(NodeRecord { node: 1, ..at(2, 0) }), SumError::Misdirected { .. }));
    for (what, session) in [other_sessions()[2], ("terms", SumSession { attempt: 1, ..other_sessions()[3].1 })] {
        let error = refused(NodeRecord { session, ..published.clone() });
        assert!(matches!(&error, SumError::OtherSession { what: found, .. } if *found == what), "{error}");
        // Neither does a node start from it.
        let own = (terms(), self::session(&terms(), 1, 1));
        let last = NodeRecord { session, ..published.clone() };
        let error = Node::start(&own.0, &own.1, 0, Some(&last), &mut Seeded::new(5), &sum_context(1, 1)).err();
        assert!(matches!(&error, Some(PrivacyError::Sum(SumError::OtherSession { .. }))), "{what}: {error:?}");
    }
    let NodeProgress::Published(mut other) = published.progress.clone() else { panic!("published") };
    other.digest = [9; 32];
    let other = NodeRecord { progress: NodeProgress::Published(other), ..published.clone() };
    assert_eq!(refused(other), SumError::Conflict { what: "partial sum", from: SumParty::Node(0) });
    let mut kept = Some(published.clone());
    at(2, 0).replace(&mut kept).unwrap();
    assert_eq!(kept, Some(at(2, 0)), "the next round");
}

#[test]
fn of_a_machine_that_was_overtaken_by_a_later_attempt_nothing_leaves() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    table.close(|_, message| matches!(message.body, Body::Confirmation { .. }));
    // Node 0 begins another attempt, and by mistake its first machine is still there when the confirmations arrive.
    let (second, context) = (session(&terms(), 1, 1), NoiseContext { attempt: 1, ..sum_context(1, 0) });
    let last = table.kept[0].clone();
    let (_, effects) = Node::start(&terms(), &second, 0, last.as_ref(), &mut Seeded::new(5), &context).unwrap();
    let [SumEffect::Persist(started)] = effects.as_slice() else { panic!("a start is kept first: {effects:?}") };
    started.clone().replace(&mut table.kept[0]).unwrap();
    let again: Vec<_> = table.nodes[1..].iter().flat_map(|node| letters(node.unconfirmed())).collect();
    table.deliver(again, |to, _| to != SumParty::Node(0) && to != SumParty::Opener);
    assert_eq!(table.errors, [SumError::Past { node: 0, round: 1, attempt: 1 }]);
    assert_eq!(table.opener.missing(), Some(SumError::Missing { what: "the partial sum is", nodes: vec![0, 1, 2] }));
}

#[test]
fn what_is_said_again_is_kept_first_again() {
    for published in [false, true] {
        let mut table = SumRehearsal::new(&terms(), 1, 0);
        table.contribute(&[0, 1, 2, 3, 4]);
        table.close(|_, message| !published && matches!(message.body, Body::Confirmation { .. }));
        for (node, kept) in table.nodes.iter().zip(&table.kept) {
            // The disk was full when this was to be kept, and nothing after it was sent: nor is it now, before it is kept.
            let effects = node.unconfirmed();
            let rests_on_it = |effect: &SumEffect| {
                let SumEffect::Send { message, .. } = effect else { return false };
                matches!(message.body, Body::Confirmation { .. } | Body::Partial(_))
            };
            let kept_at = effects.iter().position(|e| matches!(e, SumEffect::Persist(r) if Some(r) == kept.as_ref()));
            assert!(kept_at < effects.iter().position(rests_on_it) && kept_at.is_some(), "{effects:?}");
        }
    }
}
