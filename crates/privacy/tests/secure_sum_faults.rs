//! The secure sum driven by hand: letters doubled, overtaken and lost, clients that drop out, nodes that go down or lie.

use crate::sums::{SumRehearsal, add_up, assembly, contribution, contributor, letters, session, sum_context};
use privacy::noise::{NoiseContext, Seeded};
use privacy::secure_sum::{
    Body, ClientSet, Contributor, Message, Node, NodeProgress, NodeRecord, Renunciation, SumEffect, SumError, SumParty,
};
use privacy::{Assembly, Cohort, PrivacyError, SumNoise};

/// Five clients of which one may drop out, three nodes.
fn terms() -> Assembly {
    assembly(Cohort::new(5, 1, 1).unwrap(), 3, SumNoise::Nodes, 4)
}

fn nothing_lost(_: SumParty, _: &Message) -> bool {
    false
}

/// The seed that a client has for a node.
fn seed_letter(table: &SumRehearsal, client: u64, node: u32) -> Message {
    let all = letters(table.clients[client as usize].unconfirmed());
    all.into_iter().find(|(to, _)| *to == SumParty::Node(node)).unwrap().1
}

#[test]
fn duplicates_and_any_order_change_nothing() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    let mut all: Vec<_> = (0..5).flat_map(|c| letters(table.clients[c].unconfirmed())).collect();
    all.reverse();
    let twice: Vec<_> = all.iter().cloned().chain(all.clone()).collect();
    table.deliver(twice, nothing_lost);
    assert!(table.clients.iter().all(Contributor::is_done) && table.errors.is_empty());
    // Lists and confirmations overtake the close: nodes 1 and 2 have closed before node 0 hears of it.
    let close = table.message(Body::Close);
    let order = [1, 2, 2, 0, 0, 1].map(|node| (SumParty::Node(node), close.clone()));
    table.deliver(order.to_vec(), nothing_lost);
    let again: Vec<_> = table.nodes.iter().flat_map(|node| letters(node.unconfirmed())).collect();
    table.deliver(again, nothing_lost);
    assert_eq!(table.opened, [table.plain(&[0, 1, 2, 3, 4])]);
    assert!(table.errors.is_empty(), "{:?}", table.errors);
}

/// A node's word that a share is held may be lost on the node's side of the line, and its client has no reason to ask.
#[test]
fn a_node_that_gathers_says_again_whose_shares_it_holds() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    let all: Vec<_> = (0..5).flat_map(|c| letters(table.clients[c].unconfirmed())).collect();
    table.deliver(all, |to, _| matches!(to, SumParty::Client(_)));
    assert!(!table.clients.iter().any(Contributor::is_done));
    for _ in ["seeds", "vectors"] {
        let again: Vec<_> = table.nodes.iter().flat_map(|node| letters(node.unconfirmed())).collect();
        table.deliver(again, nothing_lost);
    }
    assert!(table.clients.iter().all(Contributor::is_done) && table.errors.is_empty());
    table.close(nothing_lost);
    assert_eq!(table.opened, [table.plain(&[0, 1, 2, 3, 4])]);
}

#[test]
fn another_message_in_the_place_of_an_earlier_one_is_refused_by_name() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    let other = contributor(&terms(), &table.session, 0, 99);
    table.contribute(&[0]);
    let (_, seed) = letters(other.unconfirmed()).remove(0);
    let from = SumParty::Client(0);
    assert_eq!(table.tell(SumParty::Node(1), seed).unwrap_err(), SumError::Conflict { what: "seed", from });
    let mut forged = contributor(&terms(), &table.session, 0, 99);
    let vector = (1..3)
        .flat_map(|node| {
            letters(forged.handle(SumParty::Node(node), &table.message(Body::SeedHeld { client: 0, node })).unwrap())
        })
        .next()
        .unwrap();
    assert_eq!(table.tell(SumParty::Node(0), vector.1).unwrap_err(), SumError::Conflict { what: "vector", from });
    // The first ones stay, and the sum is theirs.
    table.contribute(&[1, 2, 3]);
    table.close(nothing_lost);
    assert_eq!(table.opened, [table.plain(&[0, 1, 2, 3])]);
    let lie = table.message(Body::Holdings { node: 1, held: ClientSet::none(5) });
    let error = table.tell(SumParty::Node(0), lie).unwrap_err();
    assert_eq!(error, SumError::Conflict { what: "list of clients", from: SumParty::Node(1) });
}

#[test]
fn a_dropout_before_its_seeds_or_between_seeds_and_vector_leaves_the_others_sum() {
    for seeds_sent in [0, 1, 2] {
        let mut table = SumRehearsal::new(&terms(), 1, 0);
        table.contribute(&[0, 2, 3, 4]);
        let seeds: Vec<_> = letters(table.clients[1].unconfirmed()).into_iter().take(seeds_sent).collect();
        table.deliver(seeds, |to, _| matches!(to, SumParty::Client(_)));
        table.close(nothing_lost);
        assert_eq!(table.opened, [table.plain(&[0, 2, 3, 4])], "{seeds_sent} seeds");
    }
}

#[test]
fn a_client_that_is_gone_after_its_upload_is_in_the_sum() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2]);
    let seeds = letters(table.clients[3].unconfirmed());
    table.deliver(seeds, |_, message| matches!(message.body, Body::VectorHeld { .. }));
    assert!(!table.clients[3].is_done());
    table.close(nothing_lost);
    assert_eq!(table.opened, [table.plain(&[0, 1, 2, 3])]);
    let (_, late) = letters(table.clients[4].unconfirmed()).remove(0);
    let error = table.tell(SumParty::Node(0), late).unwrap_err();
    assert_eq!(error, SumError::Late { what: "seed", from: SumParty::Client(4) });
}

#[test]
fn below_the_quorum_nothing_opens_and_the_error_counts_what_is_missing() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2]);
    table.close(nothing_lost);
    assert!(table.opened.is_empty() && table.kept.iter().flatten().all(|kept| kept.progress == NodeProgress::Started));
    assert!(table.errors.iter().all(|error| *error == SumError::TooFew { found: 3, expected: 4 }));
    assert_eq!(table.errors[0].to_string(), "3 of at least 4 contributions arrived: 1 are missing");
    assert_eq!(table.nodes[0].missing(), Some(SumError::TooFew { found: 3, expected: 4 }));
}

#[test]
fn a_node_that_is_down_is_named_by_everyone_who_waits_for_it() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    table.close(|to, _| to == SumParty::Node(2));
    let missing = table.nodes[0].missing().unwrap();
    assert_eq!(missing, SumError::Missing { what: "the list of clients is", nodes: vec![2] });
    assert_eq!(missing.to_string(), "the list of clients is missing from node 2");
    let nodes = vec![0, 1, 2];
    assert_eq!(table.opener.missing(), Some(SumError::Missing { what: "the partial sum is", nodes }));
    assert_eq!(table.nodes[2].missing(), Some(SumError::Gathering));
}

/// Its vector is with one node and a seed is missing at another: nobody else has to do without a sum.
#[test]
fn a_client_whose_seed_a_node_does_not_hold_is_left_out_of_the_sum_and_nobody_else() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3]);
    // Client 4 sends a seed to node 0 alone, and its vector to node 1 all the same, as a client of its own making can.
    let seeds = letters(table.clients[4].unconfirmed());
    table.deliver(seeds, |to, _| to == SumParty::Node(2));
    let held = table.message(Body::SeedHeld { client: 4, node: 2 });
    let vector = letters(table.tell(SumParty::Client(4), held).unwrap());
    assert!(matches!(&vector[..], [(SumParty::Node(1), Message { body: Body::Vector { .. }, .. })]));
    table.deliver(vector, nothing_lost);
    assert!(table.clients[4].is_done(), "its vector is held");
    table.close(nothing_lost);
    assert_eq!((table.opened.clone(), table.errors.clone()), (vec![table.plain(&[0, 1, 2, 3])], vec![]));
}

#[test]
fn a_node_that_hides_a_seed_leaves_its_client_out_and_one_that_hides_it_from_some_is_found_out() {
    for found_out in [false, true] {
        let mut table = SumRehearsal::new(&terms(), 1, 0);
        table.contribute(&[0, 1, 2, 3, 4]);
        let mut fewer = ClientSet::none(5);
        [0, 1, 2, 3].into_iter().for_each(|client| assert!(fewer.insert(client)));
        let lie = table.message(Body::Holdings { node: 2, held: fewer });
        let told = [0, 1].map(|node| (SumParty::Node(node), lie.clone()));
        table.deliver(told[usize::from(found_out)..].to_vec(), nothing_lost);
        // What node 2 says by itself does not come through where it has lied.
        table.close(|_, message| matches!(&message.body, Body::Holdings { node: 2, .. }) && !found_out);
        let disagreement = |error: &SumError| matches!(error, SumError::Disagreement { .. });
        assert!(table.errors.iter().any(disagreement) && table.opened.is_empty(), "{:?}", table.errors);
    }
}

/// Without a record, a node that has said that it will not publish would take up what it had prepared.
#[test]
fn a_renounced_attempt_stays_so_over_restarts_and_the_next_one_opens() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    table.close(|_, message| matches!(message.body, Body::Confirmation { .. }));
    assert!(matches!(table.kept[1], Some(NodeRecord { progress: NodeProgress::Prepared(_), .. })));
    assert_eq!(table.nodes[1].renounced(), None, "it may still publish");
    let lie = table.message(Body::Confirmation { node: 2, digest: [9; 32] });
    let error = table.tell(SumParty::Node(1), lie).unwrap_err();
    assert_eq!(error, SumError::Disagreement { node: 1, other: 2 });
    let Some(SumEffect::Persist(renounced)) = table.nodes[1].renounced() else { panic!("it renounces") };
    let why = Renunciation::Disagreement { with: 2 };
    assert_eq!(renounced.progress, NodeProgress::Renounced(why));
    let prepared = table.kept[1].clone();
    renounced.clone().replace(&mut table.kept[1]).unwrap();
    let refused = PrivacyError::Sum(SumError::Renounced { node: 1, round: 1, attempt: 0, why });
    assert_eq!(table.restart(1).unwrap_err(), refused);
    assert!(prepared.clone().unwrap().replace(&mut table.kept[1]).is_err(), "nor is an older record kept");
    // The mutant that keeps no such record takes the attempt up again.
    table.kept[1] = prepared;
    assert!(table.restart(1).is_ok());
    // A later attempt is another matter, of the same question alone.
    let start = |query: [u8; 32]| {
        let context = NoiseContext { query, ..sum_context(1, 1) };
        Node::start(&terms(), &session(&terms(), 1, 1), 1, Some(&renounced), &mut Seeded::new(5), &context).map(drop)
    };
    assert!(start([0; 32]).is_ok());
    assert_eq!(start([1; 32]).unwrap_err(), PrivacyError::Sum(SumError::OtherQuestion { node: 1, round: 1 }));
}

/// One contribution, split with fresh seeds in each attempt: all of them open the same sum of clients, with other noise of nodes.
#[test]
fn a_contribution_is_split_again_in_every_attempt_and_is_the_same_one() {
    for noise in [SumNoise::Nodes, SumNoise::Clients] {
        let terms = assembly(Cohort::new(5, 1, 1).unwrap(), 3, noise, 4);
        let (mut sums, mut sent): (Vec<Vec<i64>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
        let mut clients = SumRehearsal::new(&terms, 1, 0).clients;
        for attempt in 0..3 {
            let mut table = SumRehearsal::new(&terms, 1, attempt);
            for (client, one) in (0..).zip(&mut clients).filter(|_| attempt > 0) {
                let context = sum_context(1, attempt);
                one.again(&table.session, &mut Seeded::new(7 + client), &context).unwrap();
            }
            table.clients = clients;
            for client in 0..5 {
                let seeds = letters(table.clients[client].unconfirmed());
                sent.extend(seeds.iter().map(|(_, message)| postcard::to_allocvec(&message.body).unwrap()));
            }
            table.contribute(&[0, 1, 2, 3, 4]);
            table.close(nothing_lost);
            let noise = add_up(std::iter::once(&table.plain(&[])), 4);
            let clean = table.opened[0].iter().zip(&noise).map(|(total, noise)| total.wrapping_sub(*noise)).collect();
            sums.push(clean);
            clients = table.clients;
        }
        assert!(sums[0] == sums[1] && sums[1] == sums[2], "with shares of clients, one share a round and no more");
        let distinct: std::collections::BTreeSet<_> = sent.iter().collect();
        assert_eq!((sent.len(), distinct.len()), (3 * 5 * 2, 3 * 5 * 2), "no seed is used twice");
    }
}

#[test]
fn a_node_that_tells_different_things_to_different_nodes_is_found_out() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3]);
    // Node 2 claims to node 0 alone that it holds the seed of client 4, whose vector nobody has.
    let mut more = ClientSet::none(5);
    (0..5).for_each(|client| assert!(more.insert(client)));
    let lie = table.message(Body::Holdings { node: 2, held: more });
    table.deliver(vec![(SumParty::Node(0), lie)], nothing_lost);
    table.close(nothing_lost);
    let disagreement = |error: &SumError| matches!(error, SumError::Disagreement { .. });
    assert!(table.errors.iter().any(disagreement) && table.opened.is_empty(), "{:?}", table.errors);
    assert!(table.nodes.iter().all(|node| node.missing().is_some()), "a node has published");
}

#[test]
fn messages_of_another_round_attempt_run_or_terms_are_refused_by_name() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    let (original, original_session) = (seed_letter(&table, 0, 1), table.session);
    let other_terms = assembly(Cohort::new(50, 1, 1).unwrap(), 3, SumNoise::Nodes, 4);
    let sessions = [
        ("round", session(&terms(), 2, 0)),
        ("attempt", session(&terms(), 1, 1)),
        ("run", terms().session([1; 16], 1, 0)),
        ("terms", session(&other_terms, 1, 0)),
    ];
    for (what, session) in sessions {
        let replayed = Message { session, ..original.clone() };
        let error = table.tell(SumParty::Node(1), replayed.clone()).unwrap_err();
        assert!(matches!(&error, SumError::OtherSession { what: found, .. } if *found == what), "{error}");
        assert!(
            table.tell(SumParty::Opener, replayed.clone()).is_err()
                && table.tell(SumParty::Client(0), replayed).is_err()
        );
    }
    assert!(table.tell(SumParty::Node(1), Message { session: original_session, ..original }).is_ok());
}

#[test]
fn a_node_takes_only_what_is_for_it() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    let misdirected = [
        (2, seed_letter(&table, 0, 1)),
        (1_u32, table.message(Body::SeedHeld { client: 0, node: 1 })),
        (1, table.message(Body::Confirmation { node: 1, digest: [0; 32] })),
        (1, table.message(Body::Confirmation { node: 7, digest: [0; 32] })),
    ];
    for (node, message) in misdirected {
        let error = table.tell(SumParty::Node(node), message).unwrap_err();
        assert!(matches!(error, SumError::Misdirected { .. }), "{error}");
    }
    let wide = assembly(Cohort::new(5, 1, 1).unwrap(), 3, SumNoise::Nodes, 5);
    let wide = SumRehearsal::new(&wide, 1, 0);
    let mut one = contributor(&wide.assembly, &wide.session, 0, 3);
    let long = (1..3)
        .flat_map(|node| {
            letters(one.handle(SumParty::Node(node), &wide.message(Body::SeedHeld { client: 0, node })).unwrap())
        })
        .next()
        .unwrap();
    let long = Message { session: table.session, ..long.1 };
    let error = table.tell(SumParty::Node(0), long).unwrap_err();
    assert_eq!(error, SumError::Size { what: "a vector", found: 5, expected: 4 });
    let six = table.message(Body::Holdings { node: 1, held: ClientSet::none(6) });
    let error = table.tell(SumParty::Node(0), six).unwrap_err();
    assert_eq!(error, SumError::Size { what: "a set of clients", found: 6, expected: 5 });
}

#[test]
fn a_node_that_restarts_before_it_has_confirmed_has_lost_the_attempt_and_draws_no_noise_again() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    let lost = SumError::Lost { node: 1, round: 1, attempt: 0 };
    assert_eq!(table.restart(1).unwrap_err(), PrivacyError::Sum(lost.clone()));
    assert!(lost.to_string().contains("node 1 went down during attempt 0 of round 1"));
    // Another attempt starts, with other noise: the first one's never left the node.
    let (next, context) = (session(&terms(), 1, 1), sum_context(1, 1));
    let started = Node::start(&terms(), &next, 1, table.kept[1].as_ref(), &mut Seeded::new(5), &context);
    assert!(started.is_ok());
}

#[test]
fn a_node_that_restarts_after_it_has_confirmed_goes_on_with_the_same_bytes() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    // Node 1 hears no confirmation: it is prepared, and goes down.
    table.close(|to, message| to == SumParty::Node(1) && matches!(message.body, Body::Confirmation { .. }));
    assert!(matches!(table.kept[1], Some(NodeRecord { progress: NodeProgress::Prepared(_), .. })));
    assert!(table.opened.is_empty());
    table.restart(1).unwrap();
    let again: Vec<_> = [0, 2].iter().flat_map(|&node: &usize| letters(table.nodes[node].unconfirmed())).collect();
    table.deliver(again, nothing_lost);
    assert_eq!(table.opened, [table.plain(&[0, 1, 2, 3, 4])]);
}

#[test]
fn a_node_that_restarts_after_it_has_published_says_the_very_same_again() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    table.close(|to, _| to == SumParty::Opener);
    let partial =
        |node: &Node| letters(node.unconfirmed()).into_iter().find(|(to, _)| *to == SumParty::Opener).unwrap();
    let before = partial(&table.nodes[1]).1.encode().unwrap();
    table.restart(1).unwrap();
    assert_eq!(partial(&table.nodes[1]).1.encode().unwrap(), before);
    let again: Vec<_> = table.nodes.iter().map(partial).collect();
    table.deliver(again.iter().cloned().chain(again.clone()).collect(), nothing_lost);
    assert_eq!(table.opened, [table.plain(&[0, 1, 2, 3, 4])], "once");
}

#[test]
fn a_round_that_was_published_is_not_opened_in_another_attempt() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    table.close(nothing_lost);
    let start = |round, attempt| {
        let (next, context) = (session(&terms(), round, attempt), sum_context(round, attempt));
        Node::start(&terms(), &next, 0, table.kept[0].as_ref(), &mut Seeded::new(5), &context).map(drop)
    };
    let published = SumError::Published { node: 0, round: 1, attempt: 0 };
    assert_eq!(start(1, 1).unwrap_err(), PrivacyError::Sum(published));
    assert_eq!(start(0, 7).unwrap_err(), PrivacyError::Sum(SumError::Past { node: 0, round: 1, attempt: 0 }));
    assert!(start(2, 0).is_ok(), "the next round");
}

#[test]
fn what_is_kept_stands_before_what_is_sent() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    let close = table.message(Body::Close);
    let lists: Vec<_> =
        [1, 2].into_iter().flat_map(|n| table.tell(SumParty::Node(n), close.clone()).unwrap()).collect();
    let to_node_0 = letters(lists).into_iter().filter(|(to, _)| *to == SumParty::Node(0));
    to_node_0.for_each(|(_, message)| assert!(table.tell(SumParty::Node(0), message).unwrap().is_empty()));
    let effects = table.tell(SumParty::Node(0), close).unwrap();
    let position = |wanted: fn(&SumEffect) -> bool| effects.iter().position(wanted).unwrap();
    let kept =
        position(|e| matches!(e, SumEffect::Persist(record) if matches!(record.progress, NodeProgress::Prepared(_))));
    let said =
        position(|e| matches!(e, SumEffect::Send { message, .. } if matches!(message.body, Body::Confirmation { .. })));
    assert!(kept < said, "{effects:?}");
}

#[test]
fn messages_have_one_spelling_and_no_more_bytes_than_any_could_have() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3]);
    table.close(|to, _| to == SumParty::Opener);
    let all = table.nodes.iter().flat_map(|node| letters(node.unconfirmed()));
    for (_, message) in all.chain(letters(table.clients[4].unconfirmed())) {
        let bytes = message.encode().unwrap();
        assert_eq!(Message::decode(&bytes, 4, 5).unwrap(), message);
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Message::decode(&longer, 4, 5).is_err(), "trailing bytes");
        assert!(Message::decode(&bytes[..bytes.len() - 1], 4, 5).is_err(), "truncated");
    }
    let error = Message::decode(&[0; 5000], 4, 5).unwrap_err();
    assert_eq!(error, SumError::Malformed { found: 5000, why: "it is longer than any" });
}

#[test]
fn nothing_that_is_printed_contains_a_share() {
    let mut table = SumRehearsal::new(&terms(), 1, 0);
    table.contribute(&[0, 1, 2, 3, 4]);
    table.close(|to, _| to == SumParty::Opener);
    let effects = table.nodes[1].unconfirmed();
    let printed = format!("{effects:?} {:?}", table.clients[0].unconfirmed());
    let (_, partial) = letters(effects).into_iter().find(|(to, _)| *to == SumParty::Opener).unwrap();
    let Body::Partial(partial) = partial.body else { panic!("a partial sum") };
    let bytes = postcard::to_allocvec(&partial.words).unwrap();
    for word in bytes[1..].chunks(8) {
        let word = u64::from_le_bytes(word.try_into().unwrap());
        assert!(!printed.contains(&word.to_string()) && !printed.contains(&(word as i64).to_string()), "{printed}");
    }
}

#[test]
fn a_client_sends_its_vector_only_when_every_seed_is_held() {
    let terms = terms();
    let session = session(&terms, 1, 0);
    let mut one = contributor(&terms, &session, 0, 3);
    let held = |one: &mut Contributor, node| {
        one.handle(SumParty::Node(node), &Message { session, body: Body::SeedHeld { client: 0, node } }).unwrap()
    };
    let early = Message { session, body: Body::VectorHeld { client: 0, node: 0 } };
    assert!(one.handle(SumParty::Node(0), &early).unwrap().is_empty());
    assert!(!one.is_done(), "nothing was sent yet");
    assert!(held(&mut one, 1).is_empty() && held(&mut one, 1).is_empty());
    let sent = letters(held(&mut one, 2));
    assert!(matches!(&sent[..], [(SumParty::Node(0), Message { body: Body::Vector { client: 0, .. }, .. })]));
    assert_eq!(letters(one.unconfirmed()), sent, "a repetition has the same bytes");
}

#[test]
fn mutant_m21_a_server_that_claims_more_clients_is_refused_before_anything_is_split() {
    for noise in [SumNoise::Nodes, SumNoise::Clients] {
        let own = assembly(Cohort::new(5, 1, 1).unwrap(), 3, noise, 4);
        let claimed = assembly(Cohort::new(500, 1, 1).unwrap(), 3, noise, 4);
        let context = sum_context(1, 0);
        let offer = session(&claimed, 1, 0);
        let outgoing = contribution(&own, 0, 1, 3);
        let refused = Contributor::new(&own, &offer, outgoing, &mut Seeded::new(3), &context).err().unwrap();
        assert!(matches!(&refused, PrivacyError::Sum(SumError::OtherSession { what: "terms", .. })), "{refused}");
        // The mutant takes the server's terms for its own. A share that was sized for them is refused by an honest sum.
        let outgoing = contribution(&claimed, 0, 1, 3);
        let honest = session(&own, 1, 0);
        let taken = Contributor::new(&own, &honest, outgoing, &mut Seeded::new(3), &context);
        assert_eq!(taken.is_err(), noise == SumNoise::Clients, "noise of nodes does not depend on N");
    }
}
