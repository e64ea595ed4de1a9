//! Clients that lie: every message of theirs is refused by name, and nothing that is kept changes; a second copy is frozen.

use crate::common::scripted_server::{ScriptedServer, TestServer, ask, update};
use federation::coordinator::{SavedRun, SiteStanding};
use federation::identity::{IdentityKey, PartyName, PartyRole, Signature};
use federation::log::Position;
use federation::message::{
    Attempt, DeclineReason, Instruction, MemberId, NodeState, RefusalCode, Request, SealedMessage, Update,
};
use federation::server::{Call, CallOutcome, CallerIdentity};
use federation::store::ServerStore as _;
use federation::wire::{self, Sender, UnverifiedContent, WireError, proto};
use privacy::secure_sum::Renunciation;
use privacy::{Grid, GridVector};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

const FIRST: Attempt = Attempt { round: 0, attempt: 0 };

fn script() -> ScriptedServer {
    ScriptedServer::new("synchronous/2/0", 3, 0, 2)
}

/// A running server without a secure sum, and an answer that it would take.
fn front() -> (TestServer, Update) {
    let script = script();
    let (mut party, _) = script.running(0);
    let good = update(&script.tell(&mut party, ask(0, 0, &script.question())).unwrap());
    (TestServer::running(script), good)
}

/// A running server of a secure sum.
fn sums() -> TestServer {
    TestServer::running(ScriptedServer::new("sum/2/1", 4, 2, 3))
}

/// The same but for what counts the changes.
fn unversioned(saved: SavedRun) -> SavedRun {
    SavedRun { version: 0, ..saved }
}

/// Refused by this name, and everything is as it was: in the store, and in the server's own head.
fn refused(front: &mut TestServer, caller: CallerIdentity, bytes: &[u8], refusal: RefusalCode, what: &str) {
    let before = front.kept();
    assert_eq!(front.bytes(caller, bytes), [Instruction::Refuse(refusal)], "{what}");
    unchanged(front, &before, what);
}

fn unchanged(front: &TestServer, before: &SavedRun, what: &str) {
    assert_eq!(front.kept(), *before, "{what}");
    assert_eq!(*front.engine.coordinator().header(), before.header, "{what}");
    assert_eq!(front.engine.coordinator().state(), before.state, "{what}");
}

fn refuses(front: &mut TestServer, member: MemberId, request: &Request, refusal: RefusalCode, what: &str) {
    let (caller, bytes) = (front.caller(member).0, front.signed(member, request));
    refused(front, caller, &bytes, refusal, what);
}

/// Nothing to say to it, and nothing changes.
fn ignores(front: &mut TestServer, member: MemberId, request: &Request, what: &str) {
    let before = front.kept();
    assert_eq!(front.request(member, request), [Instruction::Rest], "{what}");
    unchanged(front, &before, what);
}

/// Frozen: its standing changes, and nothing else.
fn freezes(front: &mut TestServer, site: usize, request: &Request, what: &str) {
    let before = front.kept();
    assert_eq!(front.request(MemberId::Site(site), request), [Instruction::Refuse(RefusalCode::Conflict)], "{what}");
    let mut after = front.kept();
    let (seat, was) = (&mut after.header.sites[site], &before.header.sites[site]);
    assert_eq!((seat.standing, seat.asked), (SiteStanding::Frozen, None), "{what}");
    (seat.standing, seat.asked) = (was.standing, was.asked);
    assert_eq!(unversioned(after), unversioned(before), "{what}");
    let before = front.kept();
    let poll = Request::Attend { position: None, wait: 0, begun: true, unsettled: None, mail: 0, closed: false };
    assert_eq!(front.request(MemberId::Site(site), &poll), [Instruction::Refuse(RefusalCode::Frozen)], "{what}");
    unchanged(front, &before, what);
}

#[test]
fn answers_of_another_shape_grid_or_size_are_refused() {
    let (mut front, good) = front();
    let (grid, units) = (good.answer.grid(), good.answer.units().to_vec());
    let with =
        |grid: Grid, units: Vec<i64>| Request::Update(Update { answer: GridVector::new(grid, units), ..good.clone() });
    let exponent = |change: i32| Grid::new(grid.exponent() + change).unwrap();
    let first = |value: i64| [&[value], &units[1..]].concat();
    let wrong = [
        ("no numbers", with(grid, Vec::new())),
        ("one number less", with(grid, units[1..].to_vec())),
        ("one number more", with(grid, [&units[..], &[0]].concat())),
        ("a million numbers", with(grid, vec![1; 1 << 20])),
        ("a finer grid", with(exponent(1), units.clone())),
        ("a far coarser grid", with(exponent(-60), units.clone())),
        ("the finest grid", with(Grid::new(900).unwrap(), units.clone())),
        ("the coarsest grid", with(Grid::new(-900).unwrap(), units.clone())),
        ("the largest number", with(grid, first(i64::MAX))),
        ("the smallest number", with(grid, first(i64::MIN))),
        ("beyond any gate", with(grid, first((1 << 62) + 1))),
    ];
    for (what, request) in wrong {
        refuses(&mut front, MemberId::Site(0), &request, RefusalCode::Shape, what);
    }
    assert_eq!(front.request(MemberId::Site(0), &Request::Update(good)), [Instruction::Held { at: FIRST }]);
}

#[test]
fn answers_to_what_was_not_asked_are_refused() {
    let (mut front, good) = front();
    let at = |round, attempt| Request::Update(Update { at: Attempt { round, attempt }, ..good.clone() });
    let question = Request::Update(Update { question: [7; 32], ..good.clone() });
    for (what, request) in [
        ("the next round", at(1, 0)),
        ("the last round", at(u64::MAX, 0)),
        ("another attempt", at(0, 1)),
        ("the last attempt", at(0, u64::MAX)),
        ("another question", question),
    ] {
        refuses(&mut front, MemberId::Site(0), &request, RefusalCode::NotAsked, what);
    }
}

#[test]
fn an_accepted_answer_that_comes_again_changes_nothing() {
    let (mut front, good) = front();
    let first = front.request(MemberId::Site(0), &Request::Update(good.clone()));
    let before = front.kept();
    for _ in 0..3 {
        assert_eq!(front.request(MemberId::Site(0), &Request::Update(good.clone())), first);
        unchanged(&front, &before, "a replay");
    }
    // Also when the round is over, and in the next: then with its receipt.
    for site in 1..3 {
        front.request(MemberId::Site(site), &Request::Update(good.clone()));
    }
    let before = front.kept();
    assert_eq!(before.header.round, 1);
    let replies = front.request(MemberId::Site(0), &Request::Update(good));
    assert!(matches!(replies.as_slice(), [Instruction::Receipt { at: FIRST, applied: Some(_) }]));
    unchanged(&front, &before, "a replay of the last round");
}

#[test]
fn other_bytes_for_an_accepted_attempt_freeze_the_site_and_nobody_else() {
    let (mut front, good) = front();
    front.request(MemberId::Site(0), &Request::Update(good.clone()));
    let mut units = good.answer.units().to_vec();
    units[0] += 1;
    let other = Update { answer: GridVector::new(good.answer.grid(), units), ..good.clone() };
    freezes(&mut front, 0, &Request::Update(other), "another answer");
    let (caller, bytes) = (front.caller(MemberId::Site(0)).0, front.signed(MemberId::Site(0), &Request::Update(good)));
    refused(&mut front, caller, &bytes, RefusalCode::Frozen, "the first answer");
}

#[test]
fn an_answer_whose_charge_is_not_after_the_last_that_came_freezes_the_site() {
    for back in 0..2 {
        let (mut front, good) = front();
        for site in 0..3 {
            front.request(MemberId::Site(site), &Request::Update(good.clone()));
        }
        let question = Sha256::digest(&front.kept().query).into();
        let position = Position { sequence: good.position.sequence - back, digest: [4; 32] };
        let stale = Update { at: Attempt { round: 1, attempt: 0 }, question, position, ..good };
        freezes(&mut front, 1, &Request::Update(stale), "a charge of another copy");
    }
}

#[test]
fn nobody_speaks_in_anothers_name() {
    let (mut front, good) = front();
    let request = Request::Update(good);
    let (site, key) = front.caller(MemberId::Site(0));
    let (other, other_key) = front.caller(MemberId::Site(1));
    let manifest = Some(front.script.manifest.digest());
    let say = |key: &IdentityKey, role: PartyRole, name: &PartyName, manifest| {
        wire::sign(key, &Sender { role, name: name.clone(), manifest }, &request).0
    };
    let stranger = IdentityKey::generate().unwrap();
    let unknown = CallerIdentity { key: stranger.public(), ..site.clone() };
    let viewer = CallerIdentity { role: PartyRole::Viewer, ..site.clone() };
    let (named, own) =
        (say(&key, PartyRole::Site, &other.name, manifest), say(&key, PartyRole::Site, &site.name, manifest));
    let mut broken = proto::Signed::decode(own.as_slice()).unwrap();
    *broken.signature.last_mut().unwrap() ^= 1;
    let mut changed = proto::Signed::decode(own.as_slice()).unwrap();
    *changed.content.last_mut().unwrap() ^= 1;
    let cases = [
        ("another's name in the content", &site, named, RefusalCode::NotAMember),
        ("another's content", &site, say(&other_key, PartyRole::Site, &other.name, manifest), RefusalCode::NotAMember),
        ("another role", &site, say(&key, PartyRole::Node, &site.name, manifest), RefusalCode::NotAMember),
        ("a viewer", &viewer, say(&key, PartyRole::Viewer, &site.name, manifest), RefusalCode::NotAMember),
        (
            "a stranger of the same name",
            &unknown,
            say(&stranger, PartyRole::Site, &site.name, manifest),
            RefusalCode::NotAMember,
        ),
        ("another's key", &site, say(&other_key, PartyRole::Site, &site.name, manifest), RefusalCode::Signature),
        ("another manifest", &site, say(&key, PartyRole::Site, &site.name, Some([7; 32])), RefusalCode::OtherManifest),
        ("no manifest", &site, say(&key, PartyRole::Site, &site.name, None), RefusalCode::OtherManifest),
        ("a broken signature", &site, broken.encode_to_vec(), RefusalCode::Signature),
        ("a changed content", &site, changed.encode_to_vec(), RefusalCode::Signature),
    ];
    for (what, caller, bytes, refusal) in cases {
        refused(&mut front, caller.clone(), &bytes, refusal, what);
    }
}

#[test]
fn nobody_says_what_is_not_its_to_say() {
    let (mut front, good) = front();
    let (question, position) = (good.question, good.position);
    let standing = Request::Standing { at: FIRST, state: NodeState::Renounced(Renunciation::Lost) };
    let contributed = Request::Contributed { at: FIRST, question, position };
    let renew = Request::Renew { request: vec![1, 2, 3] };
    let decline = Request::Decline { at: FIRST, reason: DeclineReason::Spent };
    let answer = Request::Update(good);
    for request in [&standing, &contributed, &Request::Letters(Vec::new()), &renew] {
        refuses(&mut front, MemberId::Site(0), request, RefusalCode::Malformed, "a site");
    }
    for request in [&answer, &decline, &standing] {
        refuses(&mut front, MemberId::Server, request, RefusalCode::Malformed, "the server itself");
    }
    let mut front = sums();
    for request in [&answer, &standing] {
        refuses(&mut front, MemberId::Site(0), request, RefusalCode::Malformed, "a site of a sum");
    }
    for request in [&answer, &contributed, &decline, &renew] {
        refuses(&mut front, MemberId::Node(0), request, RefusalCode::Malformed, "a node");
    }
}

#[test]
fn a_reply_is_no_request() {
    let (mut front, _) = front();
    let (caller, key) = front.caller(MemberId::Site(0));
    let reply = front.script.reply(&key, [0; 32], None, vec![Instruction::Rest]);
    let mut signed = proto::Signed::decode(reply.as_slice()).unwrap();
    let mut content = proto::Content::decode(signed.content.as_slice()).unwrap();
    (content.role, content.name) = (PartyRole::Site.word().into(), caller.name.to_string());
    signed.content = content.encode_to_vec();
    signed.signature = key.sign("content", &Sha256::digest(&signed.content)).bytes().to_vec();
    refused(&mut front, caller, &signed.encode_to_vec(), RefusalCode::Malformed, "a reply");
}

#[test]
fn an_agreement_with_a_wrong_signature_is_refused() {
    let mut front = TestServer::signing(script());
    let digest = front.script.manifest.digest();
    let keys = front.script.keys.clone();
    let wrong = [
        ("nothing", Signature::from_bytes(&[])),
        ("zeros", Signature::from_bytes(&[0; 64])),
        ("another site's", keys.sites[1].1.sign(federation::manifest::DOMAIN, &digest)),
        ("for another purpose", keys.sites[0].1.sign("content", &digest)),
        ("of another manifest", keys.sites[0].1.sign(federation::manifest::DOMAIN, &[7; 32])),
    ];
    for (what, signature) in wrong {
        refuses(&mut front, MemberId::Site(0), &Request::Agree { signature }, RefusalCode::Signature, what);
    }
}

#[test]
fn a_refusal_to_answer_what_was_not_asked_changes_nothing() {
    let (mut front, good) = front();
    for reason in DeclineReason::ALL {
        for (round, attempt) in [(0, 1), (1, 0), (u64::MAX, u64::MAX)] {
            let request = Request::Decline { at: Attempt { round, attempt }, reason };
            ignores(&mut front, MemberId::Site(0), &request, "another attempt");
        }
    }
    // Nor does one that comes after the answer.
    front.request(MemberId::Site(0), &Request::Update(good));
    for reason in DeclineReason::ALL {
        ignores(&mut front, MemberId::Site(0), &Request::Decline { at: FIRST, reason }, "after the answer");
    }
}

/// A letter of a site that the server would carry.
fn letter(front: &TestServer) -> SealedMessage {
    let question = Sha256::digest(&front.kept().query).into();
    let (from, to, signature) = (MemberId::Site(0), MemberId::Node(0), Signature::from_bytes(&[5; 64]));
    SealedMessage { from, to, at: FIRST, question, key: vec![1; 32], sealed: vec![2; 40], signature }
}

#[test]
fn letters_in_anothers_name_to_nowhere_or_too_long_are_refused_with_all_that_came_with_them() {
    let mut front = sums();
    let good = letter(&front);
    let wrong = [
        ("another site's", SealedMessage { from: MemberId::Site(1), ..good.clone() }),
        ("a node's", SealedMessage { from: MemberId::Node(1), ..good.clone() }),
        ("the server's", SealedMessage { from: MemberId::Server, ..good.clone() }),
        ("to itself", SealedMessage { to: MemberId::Site(0), ..good.clone() }),
        ("to another site", SealedMessage { to: MemberId::Site(1), ..good.clone() }),
        ("to the server", SealedMessage { to: MemberId::Server, ..good.clone() }),
        ("to no node", SealedMessage { to: MemberId::Node(2), ..good.clone() }),
        ("to the last node", SealedMessage { to: MemberId::Node(u32::MAX), ..good.clone() }),
        ("to no site", SealedMessage { to: MemberId::Site(4_000_000_000), ..good.clone() }),
        ("of a megabyte", SealedMessage { sealed: vec![0; 1 << 20], ..good.clone() }),
        ("with a key of a megabyte", SealedMessage { key: vec![0; 1 << 20], ..good.clone() }),
        (
            "with a signature of a megabyte",
            SealedMessage { signature: Signature::from_bytes(&[0; 1 << 20]), ..good.clone() },
        ),
    ];
    for (what, bad) in wrong {
        let alone = Request::Letters(vec![bad.clone()]);
        refuses(&mut front, MemberId::Site(0), &alone, RefusalCode::Malformed, what);
        // A good one before it is not kept either, nor remembered without being kept.
        let together = Request::Letters(vec![good.clone(), bad]);
        refuses(&mut front, MemberId::Site(0), &together, RefusalCode::Malformed, what);
    }
    let node = SealedMessage { from: MemberId::Node(0), to: MemberId::Node(0), ..good.clone() };
    refuses(&mut front, MemberId::Node(0), &Request::Letters(vec![node]), RefusalCode::Malformed, "a node to itself");
}

#[test]
fn letters_of_another_attempt_and_too_many_letters_are_not_kept() {
    let mut front = sums();
    let good = letter(&front);
    let old = SealedMessage { at: Attempt { round: 0, attempt: 1 }, ..good.clone() };
    let other = SealedMessage { question: [7; 32], ..good.clone() };
    ignores(&mut front, MemberId::Site(0), &Request::Letters(vec![old, other]), "another attempt");
    let many = |from: u8| (from..from + 100).map(|n| SealedMessage { sealed: vec![n; 40], ..good.clone() }).collect();
    front.request(MemberId::Site(0), &Request::Letters(many(0)));
    assert_eq!(front.kept().letters.len(), 4);
    ignores(&mut front, MemberId::Site(0), &Request::Letters(many(100)), "more");
    ignores(&mut front, MemberId::Site(0), &Request::Letters(many(0)), "the same again");
}

#[test]
fn contributions_that_were_not_asked_for_change_nothing_and_two_of_one_attempt_freeze() {
    let mut front = sums();
    let question = Sha256::digest(&front.kept().query).into();
    let position = Position { sequence: 5, digest: [5; 32] };
    let other = Request::Contributed { at: FIRST, question: [7; 32], position };
    ignores(&mut front, MemberId::Site(0), &other, "another question");
    let later = Request::Contributed { at: Attempt { round: 0, attempt: 3 }, question, position };
    ignores(&mut front, MemberId::Site(0), &later, "another attempt");
    let good = Request::Contributed { at: FIRST, question, position };
    let held = front.request(MemberId::Site(0), &good);
    assert_eq!(held, [Instruction::Held { at: FIRST }]);
    let before = front.kept();
    assert_eq!(front.request(MemberId::Site(0), &good), held);
    unchanged(&front, &before, "a replay");
    let position = Position { sequence: 6, digest: [6; 32] };
    freezes(&mut front, 0, &Request::Contributed { at: FIRST, question, position }, "two copies");
}

#[test]
fn a_message_that_is_too_long_is_refused_before_it_is_read() {
    let long = vec![0; 65 << 20];
    assert_eq!(UnverifiedContent::read(&long).err(), Some(WireError::Malformed("it is too long")));
    // Two gigabytes that are claimed and not there: field 1 of Signed, of length 2^31.
    let claimed = [0x0a, 0x80, 0x80, 0x80, 0x80, 0x08, 1, 2, 3];
    assert_eq!(UnverifiedContent::read(&claimed).err(), Some(WireError::Malformed("no signed content")));
}

/// What a gate could have let through is folded, however large: a poisoner within the grid is a stated limit. Nothing breaks.
#[test]
fn the_largest_answers_of_all_sites_are_folded_without_a_crash() {
    let (mut front, good) = front();
    let units = |sign: i64| vec![sign << 62; good.answer.units().len()];
    for (site, sign) in [(0, 1), (1, -1), (2, 1)] {
        let answer = GridVector::new(good.answer.grid(), units(sign));
        front.request(MemberId::Site(site), &Request::Update(Update { answer, ..good.clone() }));
    }
    let kept = front.kept();
    assert_eq!((kept.header.round, kept.header.folds), (1, 1));
    // An honest site answers the question that follows, or refuses it without a charge.
    let script = script();
    let (mut party, disk) = script.running(0);
    let next = script.tell(&mut party, ask(1, 0, &kept.query)).unwrap();
    let answered = UnverifiedContent::read(&next[0]).unwrap().is_update();
    assert_eq!(script.charges(&disk), usize::from(answered));
}

/// In a secure sum an answer can be in the total before its site says so: a copy of its ledger from before the charge is
/// found out by the polls that came with the charge.
#[test]
fn how_far_a_ledger_is_stands_in_every_poll_of_a_secure_sum_and_is_kept() {
    let mut front = sums();
    let poll = |sequence: u64| {
        let position = Some(Position { sequence, digest: [sequence as u8; 32] });
        Request::Attend { position, wait: 0, begun: true, unsettled: None, mail: 0, closed: false }
    };
    let key = front.script.keys.sites[0].1.public();
    for (sequence, known) in [(3, 3), (7, 7), (5, 7), (7, 7)] {
        front.request(MemberId::Site(0), &poll(sequence));
        let kept = front.kept().header.sites[0].known().map(|known| known.sequence);
        assert_eq!((kept, front.store.head(&key).unwrap().map(|head| head.sequence)), (Some(known), Some(known)));
    }
    // The server tells it to the site, which stops if its own ledger ends before.
    let bytes = front.signed(MemberId::Site(0), &poll(1));
    let said = UnverifiedContent::read(&bytes).unwrap();
    let (answers, _) = front.engine.take(&[Call::new(front.caller(MemberId::Site(0)).0, &said)]);
    let [CallOutcome::Reply(draft)] = answers.as_slice() else { panic!("{answers:?}") };
    let server = front.script.keys.server.public();
    let reply = UnverifiedContent::of(draft.sign()).unwrap().reply(&server, &said.digest()).unwrap();
    assert_eq!(reply.seen.map(|seen| seen.sequence), Some(7));
}
