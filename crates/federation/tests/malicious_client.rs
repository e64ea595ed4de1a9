//! Clients that lie: every message of theirs is refused by name, and nothing that is kept changes; a second copy is frozen.

use crate::common::hand::{Front, Hand, ask, update};
use federation::coordinator::{Saved, SeatStanding};
use federation::identity::{IdentityKey, PartyName, Role, Signature};
use federation::log::Position;
use federation::message::{Instruction, Letter, Member, NodeState, Reason, Refusal, Request, Try, Update};
use federation::server::Caller;
use federation::wire::{self, Sender, Unverified, WireError, proto};
use privacy::{Grid, GridVector};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

const FIRST: Try = Try { round: 0, attempt: 0 };

fn hand() -> Hand {
    Hand::new("synchronous/2/0", 3, 0, 2)
}

/// A running server without a secure sum, and an answer that it would take.
fn front() -> (Front, Update) {
    let hand = hand();
    let (mut party, _) = hand.running(0);
    let good = update(&hand.tell(&mut party, ask(0, 0, &hand.question())).unwrap());
    (Front::running(hand), good)
}

/// A running server of a secure sum.
fn sums() -> Front {
    Front::running(Hand::new("sum/2/1", 4, 2, 3))
}

/// The same but for what counts the changes.
fn unversioned(saved: Saved) -> Saved {
    Saved { version: 0, ..saved }
}

/// Refused by this name, and everything is as it was: in the store, and in the server's own head.
fn refused(front: &mut Front, caller: Caller, bytes: &[u8], refusal: Refusal, what: &str) {
    let before = front.kept();
    assert_eq!(front.bytes(caller, bytes), [Instruction::Refuse(refusal)], "{what}");
    unchanged(front, &before, what);
}

fn unchanged(front: &Front, before: &Saved, what: &str) {
    assert_eq!(front.kept(), *before, "{what}");
    assert_eq!(*front.engine.coordinator().header(), before.header, "{what}");
    assert_eq!(front.engine.coordinator().state(), before.state, "{what}");
}

fn refuses(front: &mut Front, member: Member, request: &Request, refusal: Refusal, what: &str) {
    let (caller, bytes) = (front.caller(member).0, front.signed(member, request));
    refused(front, caller, &bytes, refusal, what);
}

/// Nothing to say to it, and nothing changes.
fn ignores(front: &mut Front, member: Member, request: &Request, what: &str) {
    let before = front.kept();
    assert_eq!(front.request(member, request), [Instruction::Rest], "{what}");
    unchanged(front, &before, what);
}

/// Frozen: its standing changes, and nothing else.
fn freezes(front: &mut Front, site: usize, request: &Request, what: &str) {
    let before = front.kept();
    assert_eq!(front.request(Member::Site(site), request), [Instruction::Refuse(Refusal::Conflict)], "{what}");
    let mut after = front.kept();
    let (seat, was) = (&mut after.header.seats[site], &before.header.seats[site]);
    assert_eq!((seat.standing, seat.asked), (SeatStanding::Frozen, None), "{what}");
    (seat.standing, seat.asked) = (was.standing, was.asked);
    assert_eq!(unversioned(after), unversioned(before), "{what}");
    let before = front.kept();
    let poll = Request::Attend { position: None, wait: 0, begun: true, unsettled: None, mail: 0, closed: false };
    assert_eq!(front.request(Member::Site(site), &poll), [Instruction::Refuse(Refusal::Frozen)], "{what}");
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
        refuses(&mut front, Member::Site(0), &request, Refusal::Shape, what);
    }
    assert_eq!(front.request(Member::Site(0), &Request::Update(good)), [Instruction::Held { at: FIRST }]);
}

#[test]
fn answers_to_what_was_not_asked_are_refused() {
    let (mut front, good) = front();
    let at = |round, attempt| Request::Update(Update { at: Try { round, attempt }, ..good.clone() });
    let question = Request::Update(Update { question: [7; 32], ..good.clone() });
    for (what, request) in [
        ("the next round", at(1, 0)),
        ("the last round", at(u64::MAX, 0)),
        ("another attempt", at(0, 1)),
        ("the last attempt", at(0, u64::MAX)),
        ("another question", question),
    ] {
        refuses(&mut front, Member::Site(0), &request, Refusal::NotAsked, what);
    }
}

#[test]
fn an_accepted_answer_that_comes_again_changes_nothing() {
    let (mut front, good) = front();
    let first = front.request(Member::Site(0), &Request::Update(good.clone()));
    let before = front.kept();
    for _ in 0..3 {
        assert_eq!(front.request(Member::Site(0), &Request::Update(good.clone())), first);
        unchanged(&front, &before, "a replay");
    }
    // Also when the round is over, and in the next: then with its receipt.
    for site in 1..3 {
        front.request(Member::Site(site), &Request::Update(good.clone()));
    }
    let before = front.kept();
    assert_eq!(before.header.round, 1);
    let replies = front.request(Member::Site(0), &Request::Update(good));
    assert!(matches!(replies.as_slice(), [Instruction::Receipt { at: FIRST, applied: Some(_) }]));
    unchanged(&front, &before, "a replay of the last round");
}

#[test]
fn other_bytes_for_an_accepted_attempt_freeze_the_site_and_nobody_else() {
    let (mut front, good) = front();
    front.request(Member::Site(0), &Request::Update(good.clone()));
    let mut units = good.answer.units().to_vec();
    units[0] += 1;
    let other = Update { answer: GridVector::new(good.answer.grid(), units), ..good.clone() };
    freezes(&mut front, 0, &Request::Update(other), "another answer");
    let (caller, bytes) = (front.caller(Member::Site(0)).0, front.signed(Member::Site(0), &Request::Update(good)));
    refused(&mut front, caller, &bytes, Refusal::Frozen, "the first answer");
}

#[test]
fn an_answer_whose_charge_is_not_after_the_last_that_came_freezes_the_site() {
    for back in 0..2 {
        let (mut front, good) = front();
        for site in 0..3 {
            front.request(Member::Site(site), &Request::Update(good.clone()));
        }
        let question = Sha256::digest(&front.kept().query).into();
        let position = Position { sequence: good.position.sequence - back, digest: [4; 32] };
        let stale = Update { at: Try { round: 1, attempt: 0 }, question, position, ..good };
        freezes(&mut front, 1, &Request::Update(stale), "a charge of another copy");
    }
}

#[test]
fn nobody_speaks_in_anothers_name() {
    let (mut front, good) = front();
    let request = Request::Update(good);
    let (site, key) = front.caller(Member::Site(0));
    let (other, other_key) = front.caller(Member::Site(1));
    let manifest = Some(front.hand.manifest.digest());
    let say = |key: &IdentityKey, role: Role, name: &PartyName, manifest| {
        wire::sign(key, &Sender { role, name: name.clone(), manifest }, &request).0
    };
    let stranger = IdentityKey::generate().unwrap();
    let unknown = Caller { key: stranger.public(), ..site.clone() };
    let viewer = Caller { role: Role::Viewer, ..site.clone() };
    let (named, own) = (say(&key, Role::Site, &other.name, manifest), say(&key, Role::Site, &site.name, manifest));
    let mut broken = proto::Signed::decode(own.as_slice()).unwrap();
    *broken.signature.last_mut().unwrap() ^= 1;
    let mut changed = proto::Signed::decode(own.as_slice()).unwrap();
    *changed.content.last_mut().unwrap() ^= 1;
    let cases = [
        ("another's name in the content", &site, named, Refusal::NotAMember),
        ("another's content", &site, say(&other_key, Role::Site, &other.name, manifest), Refusal::NotAMember),
        ("another role", &site, say(&key, Role::Node, &site.name, manifest), Refusal::NotAMember),
        ("a viewer", &viewer, say(&key, Role::Viewer, &site.name, manifest), Refusal::NotAMember),
        (
            "a stranger of the same name",
            &unknown,
            say(&stranger, Role::Site, &site.name, manifest),
            Refusal::NotAMember,
        ),
        ("another's key", &site, say(&other_key, Role::Site, &site.name, manifest), Refusal::Signature),
        ("another manifest", &site, say(&key, Role::Site, &site.name, Some([7; 32])), Refusal::OtherManifest),
        ("no manifest", &site, say(&key, Role::Site, &site.name, None), Refusal::OtherManifest),
        ("a broken signature", &site, broken.encode_to_vec(), Refusal::Signature),
        ("a changed content", &site, changed.encode_to_vec(), Refusal::Signature),
    ];
    for (what, caller, bytes, refusal) in cases {
        refused(&mut front, caller.clone(), &bytes, refusal, what);
    }
}

#[test]
fn nobody_says_what_is_not_its_to_say() {
    let (mut front, good) = front();
    let (question, position) = (good.question, good.position);
    let standing = Request::Standing { at: FIRST, state: NodeState::Failed };
    let contributed = Request::Contributed { at: FIRST, question, position };
    let renew = Request::Renew { request: vec![1, 2, 3] };
    let decline = Request::Decline { at: FIRST, reason: Reason::Spent };
    let answer = Request::Update(good);
    for request in [&standing, &contributed, &Request::Letters(Vec::new()), &renew] {
        refuses(&mut front, Member::Site(0), request, Refusal::Malformed, "a site");
    }
    for request in [&answer, &decline, &standing] {
        refuses(&mut front, Member::Server, request, Refusal::Malformed, "the server itself");
    }
    let mut front = sums();
    for request in [&answer, &standing] {
        refuses(&mut front, Member::Site(0), request, Refusal::Malformed, "a site of a sum");
    }
    for request in [&answer, &contributed, &decline, &renew] {
        refuses(&mut front, Member::Node(0), request, Refusal::Malformed, "a node");
    }
}

#[test]
fn a_reply_is_no_request() {
    let (mut front, _) = front();
    let (caller, key) = front.caller(Member::Site(0));
    let reply = front.hand.reply(&key, [0; 32], None, vec![Instruction::Rest]);
    let mut signed = proto::Signed::decode(reply.as_slice()).unwrap();
    let mut content = proto::Content::decode(signed.content.as_slice()).unwrap();
    (content.role, content.name) = (Role::Site.word().into(), caller.name.to_string());
    signed.content = content.encode_to_vec();
    signed.signature = key.sign("content", &Sha256::digest(&signed.content)).bytes().to_vec();
    refused(&mut front, caller, &signed.encode_to_vec(), Refusal::Malformed, "a reply");
}

#[test]
fn an_agreement_with_a_wrong_signature_is_refused() {
    let mut front = Front::signing(hand());
    let digest = front.hand.manifest.digest();
    let keys = front.hand.cast.clone();
    let wrong = [
        ("nothing", Signature::from_bytes(&[])),
        ("zeros", Signature::from_bytes(&[0; 64])),
        ("another site's", keys.sites[1].1.sign(federation::manifest::DOMAIN, &digest)),
        ("for another purpose", keys.sites[0].1.sign("content", &digest)),
        ("of another manifest", keys.sites[0].1.sign(federation::manifest::DOMAIN, &[7; 32])),
    ];
    for (what, signature) in wrong {
        refuses(&mut front, Member::Site(0), &Request::Agree { signature }, Refusal::Signature, what);
    }
}

#[test]
fn a_refusal_to_answer_what_was_not_asked_changes_nothing() {
    let (mut front, good) = front();
    for reason in Reason::ALL {
        for (round, attempt) in [(0, 1), (1, 0), (u64::MAX, u64::MAX)] {
            let request = Request::Decline { at: Try { round, attempt }, reason };
            ignores(&mut front, Member::Site(0), &request, "another attempt");
        }
    }
    // Nor does one that comes after the answer.
    front.request(Member::Site(0), &Request::Update(good));
    for reason in Reason::ALL {
        ignores(&mut front, Member::Site(0), &Request::Decline { at: FIRST, reason }, "after the answer");
    }
}

/// A letter of a site that the server would carry.
fn letter(front: &Front) -> Letter {
    let question = Sha256::digest(&front.kept().query).into();
    let (from, to, signature) = (Member::Site(0), Member::Node(0), Signature::from_bytes(&[5; 64]));
    Letter { from, to, at: FIRST, question, key: vec![1; 32], sealed: vec![2; 40], signature }
}

#[test]
fn letters_in_anothers_name_to_nowhere_or_too_long_are_refused_with_all_that_came_with_them() {
    let mut front = sums();
    let good = letter(&front);
    let wrong = [
        ("another site's", Letter { from: Member::Site(1), ..good.clone() }),
        ("a node's", Letter { from: Member::Node(1), ..good.clone() }),
        ("the server's", Letter { from: Member::Server, ..good.clone() }),
        ("to itself", Letter { to: Member::Site(0), ..good.clone() }),
        ("to another site", Letter { to: Member::Site(1), ..good.clone() }),
        ("to the server", Letter { to: Member::Server, ..good.clone() }),
        ("to no node", Letter { to: Member::Node(2), ..good.clone() }),
        ("to the last node", Letter { to: Member::Node(u32::MAX), ..good.clone() }),
        ("to no site", Letter { to: Member::Site(4_000_000_000), ..good.clone() }),
        ("of a megabyte", Letter { sealed: vec![0; 1 << 20], ..good.clone() }),
        ("with a key of a megabyte", Letter { key: vec![0; 1 << 20], ..good.clone() }),
        ("with a signature of a megabyte", Letter { signature: Signature::from_bytes(&[0; 1 << 20]), ..good.clone() }),
    ];
    for (what, bad) in wrong {
        let alone = Request::Letters(vec![bad.clone()]);
        refuses(&mut front, Member::Site(0), &alone, Refusal::Malformed, what);
        // A good one before it is not kept either, nor remembered without being kept.
        let together = Request::Letters(vec![good.clone(), bad]);
        refuses(&mut front, Member::Site(0), &together, Refusal::Malformed, what);
    }
    let node = Letter { from: Member::Node(0), to: Member::Node(0), ..good.clone() };
    refuses(&mut front, Member::Node(0), &Request::Letters(vec![node]), Refusal::Malformed, "a node to itself");
}

#[test]
fn letters_of_another_attempt_and_too_many_letters_are_not_kept() {
    let mut front = sums();
    let good = letter(&front);
    let old = Letter { at: Try { round: 0, attempt: 1 }, ..good.clone() };
    let other = Letter { question: [7; 32], ..good.clone() };
    ignores(&mut front, Member::Site(0), &Request::Letters(vec![old, other]), "another attempt");
    let many = |from: u8| (from..from + 100).map(|n| Letter { sealed: vec![n; 40], ..good.clone() }).collect();
    front.request(Member::Site(0), &Request::Letters(many(0)));
    assert_eq!(front.kept().letters.len(), 4);
    ignores(&mut front, Member::Site(0), &Request::Letters(many(100)), "more");
    ignores(&mut front, Member::Site(0), &Request::Letters(many(0)), "the same again");
}

#[test]
fn contributions_that_were_not_asked_for_change_nothing_and_two_of_one_attempt_freeze() {
    let mut front = sums();
    let question = Sha256::digest(&front.kept().query).into();
    let position = Position { sequence: 5, digest: [5; 32] };
    let other = Request::Contributed { at: FIRST, question: [7; 32], position };
    ignores(&mut front, Member::Site(0), &other, "another question");
    let later = Request::Contributed { at: Try { round: 0, attempt: 3 }, question, position };
    ignores(&mut front, Member::Site(0), &later, "another attempt");
    let good = Request::Contributed { at: FIRST, question, position };
    let held = front.request(Member::Site(0), &good);
    assert_eq!(held, [Instruction::Held { at: FIRST }]);
    let before = front.kept();
    assert_eq!(front.request(Member::Site(0), &good), held);
    unchanged(&front, &before, "a replay");
    let position = Position { sequence: 6, digest: [6; 32] };
    freezes(&mut front, 0, &Request::Contributed { at: FIRST, question, position }, "two copies");
}

#[test]
fn a_message_that_is_too_long_is_refused_before_it_is_read() {
    let long = vec![0; 65 << 20];
    assert_eq!(Unverified::read(&long).err(), Some(WireError::Malformed("it is too long")));
    // Two gigabytes that are claimed and not there: field 1 of Signed, of length 2^31.
    let claimed = [0x0a, 0x80, 0x80, 0x80, 0x80, 0x08, 1, 2, 3];
    assert_eq!(Unverified::read(&claimed).err(), Some(WireError::Malformed("no signed content")));
}

/// What a gate could have let through is folded, however large: a poisoner within the grid is a stated limit. Nothing breaks.
#[test]
fn the_largest_answers_of_all_sites_are_folded_without_a_crash() {
    let (mut front, good) = front();
    let units = |sign: i64| vec![sign << 62; good.answer.units().len()];
    for (site, sign) in [(0, 1), (1, -1), (2, 1)] {
        let answer = GridVector::new(good.answer.grid(), units(sign));
        front.request(Member::Site(site), &Request::Update(Update { answer, ..good.clone() }));
    }
    let kept = front.kept();
    assert_eq!((kept.header.round, kept.header.folds), (1, 1));
    // An honest site answers the question that follows, or refuses it without a charge.
    let hand = hand();
    let (mut party, disk) = hand.running(0);
    let next = hand.tell(&mut party, ask(1, 0, &kept.query)).unwrap();
    let answered = Unverified::read(&next[0]).unwrap().is_update();
    assert_eq!(hand.charges(&disk), usize::from(answered));
}
