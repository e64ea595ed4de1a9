//! A server that lies: other terms, other questions, repeated asking, rollback and forged replies. A site refuses before a charge.

use crate::common::hand::{Front, Hand, Owner, ask, declined, entries, fresh, ledger, owner, said, update};
use crate::common::study::Cast;
use federation::agent::Stop;
use federation::identity::{IdentityKey, PartyName};
use federation::log::{Entry, Position, SimulatedDisk};
use federation::manifest::{self, Library, Manifest, ManifestError, NodeMember, SiteMember};
use federation::message::{Instruction, Member, Reason, Refusal, Request, Try};
use federation::party::{Party, PartyError, Standing, Verdict};
use federation::wire;
use privacy::{Event, Grant, Mechanism, NoiseMultiplier, Steps};

fn hand() -> Hand {
    Hand::new("synchronous/2/0", 3, 0, 2)
}

fn sums() -> Hand {
    Hand::new("sum/2/1", 4, 2, 3)
}

/// A change of a manifest, and what it is called.
type Tamper = (&'static str, fn(&mut Manifest));

/// The same event with half its noise.
fn half_the_noise(event: &Event) -> Event {
    let half = NoiseMultiplier::new(event.noise_multiplier().unwrap().get() / 2.0).unwrap();
    let mechanism = Mechanism::Gaussian { noise_multiplier: half };
    Event::new(mechanism, event.adjacency(), event.unit(), *event.sampling(), event.steps()).unwrap()
}

/// One more site, under terms like the first one's.
fn one_more(manifest: &mut Manifest) {
    let cast = Cast::new(0, 9);
    let name = PartyName::new("stranger").unwrap();
    manifest.sites.push(SiteMember { name, key: cast.nodes[8].1.public(), rows: 6 });
    manifest.agreed.push(manifest.agreed[0].clone());
}

/// What a server might change in a manifest without a secure sum.
const LIES: [Tamper; 19] = [
    ("a site without terms", |m| {
        one_more(m);
        m.agreed.pop();
    }),
    ("terms without a site", |m| drop(m.sites.pop())),
    ("no sites", |m| (m.sites, m.agreed) = (Vec::new(), Vec::new())),
    ("a site of another name", |m| m.sites[0].name = PartyName::new("somebody").unwrap()),
    ("a site under another key", |m| m.sites[0].key = Cast::new(0, 9).nodes[8].1.public()),
    ("a site under the server's key", |m| m.sites[1].key = m.server),
    ("one site twice", |m| m.sites[1] = m.sites[0].clone()),
    ("more rounds", |m| m.pace.rounds += 1),
    ("a quorum of nobody", |m| m.pace.quorum = 0),
    ("a quorum of more than all", |m| m.pace.quorum = 4),
    ("less noise", |m| m.agreed[0].event = half_the_noise(&m.agreed[0].event)),
    ("less noise for another site", |m| m.agreed[2].event = half_the_noise(&m.agreed[2].event)),
    ("more steps", |m| m.agreed[0].event = m.agreed[0].event.repeated(Steps::new(9).unwrap())),
    ("another clipping bound", |m| m.agreed[0].clip *= 2.0),
    ("no clipping bound", |m| m.agreed[0].clip = f64::NAN),
    ("no limit of what is spent", |m| m.agreed[0].grant = Grant::Unlimited),
    ("other terms", |m| m.agreed[0].terms[0] ^= 1),
    ("a study of more rounds under the old terms", |m| m.study = "synchronous/3/0".into()),
    ("no study", |m| m.study = "nothing".into()),
];

/// And in one with it.
const LIES_ABOUT_SUMS: [Tamper; 7] = [
    ("one more site", one_more),
    ("a smaller quorum than the sum's", |m| m.pace.quorum = 2),
    ("one node less", |m| drop(m.nodes.pop())),
    ("no nodes", |m| m.nodes.clear()),
    ("one node more", |m| {
        let key = Cast::new(0, 9).nodes[8].1.public();
        m.nodes.push(NodeMember { name: PartyName::new("node-9").unwrap(), key, sealing: [9; 32] });
    }),
    ("less noise", |m| m.agreed[0].event = half_the_noise(&m.agreed[0].event)),
    ("fewer who may drop out", |m| m.study = "sum/2/0".into()),
];

/// A proposal and the beginning of its run, right in everything else: refused, and nothing is on record.
fn is_refused(hand: &Hand, what: &str, manifest: &Manifest) {
    let disk = SimulatedDisk::new();
    let mut party = hand.site(0, &disk, owner(0));
    let before = ledger(&disk);
    let propose = || Instruction::Propose { manifest: manifest.bytes() };
    // Whoever has signed: only the site itself refuses.
    let begin = Instruction::Begin { signatures: hand.signatures(manifest) };
    assert!(hand.tell(&mut party, vec![propose()]).is_err(), "{what}");
    assert!(hand.tell(&mut party, vec![propose(), begin.clone()]).is_err(), "{what}");
    let next = hand.tell(&mut party, [vec![begin], ask(0, 0, &hand.question())].concat()).unwrap();
    assert!(next.is_empty(), "{what}");
    assert_eq!((party.standing(), ledger(&disk)), (Standing::Waiting, before), "{what}");
}

#[test]
fn a_manifest_with_other_sites_rounds_noise_bounds_or_grants_is_refused_before_anything_is_on_record() {
    let hand = hand();
    for (what, tamper) in LIES {
        let mut manifest = Manifest::clone(&hand.manifest);
        tamper(&mut manifest);
        is_refused(&hand, what, &manifest);
    }
}

#[test]
fn a_manifest_with_other_numbers_of_a_secure_sum_is_refused_before_anything_is_on_record() {
    let hand = sums();
    for (what, tamper) in LIES_ABOUT_SUMS {
        let mut manifest = Manifest::clone(&hand.manifest);
        tamper(&mut manifest);
        is_refused(&hand, what, &manifest);
    }
}

#[test]
fn a_curator_is_refused() {
    let (hand, cast) = (hand(), Cast::new(3, 0));
    let curator = cast.manifest("curator/2/0", 1, hand.manifest.pace, hand.library.as_ref());
    is_refused(&hand, "a curator", &curator);
    let why = curator.check(hand.library.as_ref()).err().unwrap();
    assert!(matches!(&why, ManifestError::Study { why } if why.contains("curator")), "{why}");
}

#[test]
fn bytes_that_are_no_manifest_are_refused() {
    let hand = hand();
    let (good, disk) = (hand.manifest.bytes(), SimulatedDisk::new());
    let mut party = hand.site(0, &disk, owner(0));
    let before = ledger(&disk);
    let mut bad: Vec<Vec<u8>> = (0..good.len()).step_by(7).map(|length| good[..length].to_vec()).collect();
    bad.push([good.clone(), vec![0]].concat());
    // The version, 1, in two bytes where one is enough.
    bad.push([vec![0x81, 0], good[1..].to_vec()].concat());
    bad.push([vec![2], good[1..].to_vec()].concat());
    bad.push(vec![0xff; 5 << 20]);
    for bytes in bad {
        let length = bytes.len();
        let heard = hand.tell(&mut party, vec![Instruction::Propose { manifest: bytes }]);
        assert!(matches!(heard, Err(PartyError::Manifest(ManifestError::Malformed { found })) if found == length));
    }
    assert_eq!((party.standing(), ledger(&disk)), (Standing::Waiting, before));
}

#[test]
fn a_run_does_not_begin_before_everybody_has_signed_this_very_manifest() {
    let hand = hand();
    let right = hand.signatures(&hand.manifest);
    let mut other = Manifest::clone(&hand.manifest);
    other.nonce[15] ^= 1;
    let foreign = IdentityKey::generate().unwrap().sign(manifest::DOMAIN, &hand.manifest.digest());
    let purpose = hand.cast.sites[1].1.sign("content", &hand.manifest.digest());
    let replaced = |signature| [&right[..1], &[signature], &right[2..]].concat();
    let wrong = [
        ("nobody's", Vec::new()),
        ("not the server's", right[..3].to_vec()),
        ("not the first site's", right[1..].to_vec()),
        ("one too many", [&right[..], &right[..1]].concat()),
        ("in another order", right.iter().rev().cloned().collect()),
        ("one by a stranger", replaced(foreign)),
        ("one for another purpose", replaced(purpose)),
        ("of another manifest", hand.signatures(&other)),
    ];
    let disk = SimulatedDisk::new();
    let mut party = hand.site(0, &disk, owner(0));
    let agreed = hand.tell(&mut party, vec![Instruction::Propose { manifest: hand.manifest.bytes() }]).unwrap();
    assert!(matches!(said(&agreed).as_slice(), [Request::Agree { .. }]));
    let before = ledger(&disk);
    for (what, signatures) in wrong {
        let heard = hand.tell(&mut party, vec![Instruction::Begin { signatures }]);
        assert!(matches!(heard, Err(PartyError::Manifest(ManifestError::Signature { .. }))), "{what}");
        assert_eq!((party.standing(), ledger(&disk)), (Standing::Signed, before.clone()), "{what}");
    }
    hand.tell(&mut party, vec![Instruction::Begin { signatures: right }]).unwrap();
    assert!(party.agent().is_some() && ledger(&disk) != before);
}

#[test]
fn a_run_that_was_not_signed_does_not_begin() {
    let hand = hand();
    let disk = SimulatedDisk::new();
    let mut party = hand.site(0, &disk, owner(0));
    let before = ledger(&disk);
    let begin = || Instruction::Begin { signatures: hand.signatures(&hand.manifest) };
    assert!(hand.tell(&mut party, vec![begin()]).unwrap().is_empty());
    let mut wary = hand.site(0, &disk, Owner { verdict: |_| Verdict::Wait, ..owner(0) });
    let propose = || Instruction::Propose { manifest: hand.manifest.bytes() };
    let all = [vec![propose(), begin()], ask(0, 0, &hand.question())].concat();
    assert!(hand.tell(&mut wary, all.clone()).unwrap().is_empty());
    let mut unwilling = hand.site(0, &disk, Owner { verdict: |_| Verdict::Refuse("no".into()), ..owner(0) });
    assert!(matches!(hand.tell(&mut unwilling, all), Err(PartyError::Refused(_))));
    assert_eq!(ledger(&disk), before);
}

/// Signatures are no secret: whoever has collected them is not the server for that.
#[test]
fn the_beginning_of_a_run_is_the_word_of_its_server_alone() {
    let (hand, stranger) = (hand(), IdentityKey::generate().unwrap());
    let disk = SimulatedDisk::new();
    // It signs manifests of the server that it knows, and asks somebody about all others.
    let verdict = |manifest: &Manifest| match manifest.nonce[15] {
        0 => Verdict::Sign,
        _ => Verdict::Wait,
    };
    let mut party = hand.site(0, &disk, Owner { verdict, ..owner(0) });
    hand.tell(&mut party, vec![Instruction::Propose { manifest: hand.manifest.bytes() }]).unwrap();
    let before = ledger(&disk);
    let begin = Instruction::Begin { signatures: hand.signatures(&hand.manifest) };
    let all = [vec![begin.clone()], ask(0, 0, &hand.question())].concat();
    assert!(hand.tell_with(&stranger, None, &mut party, all.clone()).unwrap().is_empty());
    let mut own = Manifest::clone(&hand.manifest);
    (own.server, own.nonce[15]) = (stranger.public(), 1);
    let mixed = [vec![Instruction::Propose { manifest: own.bytes() }], all.clone()].concat();
    assert!(hand.tell_with(&stranger, None, &mut party, mixed).unwrap().is_empty());
    assert_eq!((party.standing(), ledger(&disk)), (Standing::Signed, before));
    let answered = hand.tell(&mut party, all).unwrap();
    assert_eq!(update(&answered).at, Try { round: 0, attempt: 0 });
}

/// Questions that are none, for the family of two inputs and an intercept at most.
fn no_questions(good: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let numbers: Vec<f64> = postcard::from_bytes(good).unwrap();
    let with = |value: f64| {
        let mut numbers = numbers.clone();
        numbers[0] = value;
        postcard::to_allocvec(&numbers).unwrap()
    };
    let short = postcard::to_allocvec(&numbers[1..]).unwrap();
    let long = postcard::to_allocvec(&[&numbers[..], &[0.0]].concat()).unwrap();
    let flipped: Vec<f64> = numbers.iter().map(|value| -value).collect();
    vec![
        ("nothing", Vec::new()),
        ("garbage", vec![0xff; 40]),
        ("cut", good[..good.len() - 1].to_vec()),
        ("a byte too many", [good, &[0]].concat()),
        ("too few numbers", short),
        ("too many numbers", long),
        ("no number", with(f64::NAN)),
        ("infinite", with(f64::INFINITY)),
        ("minus infinite", with(f64::NEG_INFINITY)),
        ("huge", with(1e300)),
        ("an improper q", postcard::to_allocvec(&flipped).unwrap()),
        ("a length that is a lie", vec![0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3]),
    ]
}

#[test]
fn questions_that_are_none_are_refused_without_a_charge() {
    let hand = hand();
    let (mut party, disk) = hand.running(0);
    let before = ledger(&disk);
    for (what, query) in no_questions(&hand.question()) {
        let next = hand.tell(&mut party, ask(0, 0, &query)).unwrap();
        assert_eq!((declined(&next), ledger(&disk)), (Reason::Refused, before.clone()), "{what}");
    }
    let beyond = hand.tell(&mut party, ask(2, 0, &hand.question())).unwrap();
    assert_eq!((declined(&beyond), ledger(&disk)), (Reason::Refused, before.clone()));
    let last = hand.tell(&mut party, ask(u64::MAX, u64::MAX, &hand.question())).unwrap();
    assert_eq!((declined(&last), ledger(&disk)), (Reason::Refused, before));
    // And none of this has cost it the right question.
    assert_eq!(update(&hand.tell(&mut party, ask(0, 0, &hand.question())).unwrap()).at.round, 0);
    assert_eq!(hand.charges(&disk), 1);
}

#[test]
fn an_attempt_that_is_asked_again_gets_the_same_bytes_or_none_and_is_charged_once() {
    let hand = hand();
    let (mut party, disk) = hand.running(0);
    let first = hand.tell(&mut party, ask(0, 0, &hand.question())).unwrap();
    let kept = ledger(&disk);
    let other: Vec<f64> = postcard::from_bytes::<Vec<f64>>(&hand.question()).unwrap().iter().map(|v| v * 1.5).collect();
    let other = postcard::to_allocvec(&other).unwrap();
    for query in [hand.question(), other.clone(), Vec::new()] {
        // The same attempt, another one, another round: what has no receipt is what is sent.
        for (round, attempt) in [(0, 0), (0, 1), (1, 0)] {
            assert_eq!(hand.tell(&mut party, ask(round, attempt, &query)).unwrap(), first);
        }
    }
    assert_eq!(ledger(&disk), kept);
    // Even one that the server gives up and asks again has no second answer.
    hand.tell(&mut party, vec![Instruction::Refuse(Refusal::NotAsked)]).unwrap();
    for query in [hand.question(), other] {
        assert_eq!(declined(&hand.tell(&mut party, ask(0, 0, &query)).unwrap()), Reason::Lapsed);
    }
    assert_eq!(hand.charges(&disk), 1);
}

/// Where answers are folded as they come, a round has any number of questions: elsewhere asking stops after three.
#[test]
fn repeated_asking_stops_at_the_budget() {
    let hand = Hand::new("asynchronous/2/0", 3, 0, 1);
    let (mut party, disk) = hand.running(0);
    let (mut answers, mut stopped) = (Vec::new(), false);
    for attempt in 0..60 {
        let next = hand.tell(&mut party, ask(0, attempt, &hand.question())).unwrap();
        if matches!(said(&next).as_slice(), [Request::Update(_)]) {
            assert!(!stopped, "what is spent stays spent");
            answers.push(update(&next).answer);
            let at = Try { round: 0, attempt };
            hand.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]).unwrap();
        } else {
            assert_eq!(declined(&next), Reason::Spent);
            stopped = true;
        }
        assert_eq!(hand.charges(&disk), answers.len(), "a charge for each answer, and no other");
    }
    assert!(stopped && answers.len() >= 2, "{} answers", answers.len());
    assert_ne!(answers[0], answers[1], "the same question, and noise of its own for each answer");
    // Not after a restart either.
    let mut again = hand.site(0, &disk, owner(0));
    hand.tell(&mut again, hand.beginning()).unwrap();
    let next = hand.tell(&mut again, ask(1, 0, &hand.question())).unwrap();
    assert_eq!((declined(&next), hand.charges(&disk)), (Reason::Spent, answers.len()));
}

#[test]
fn a_server_that_goes_back_to_an_earlier_round_gets_nothing() {
    let hand = hand();
    let (mut party, disk) = hand.running(0);
    let at = update(&hand.tell(&mut party, ask(1, 3, &hand.question())).unwrap()).at;
    hand.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]).unwrap();
    let before = ledger(&disk);
    for (round, attempt) in [(0, 0), (0, 9), (1, 0), (1, 2), (1, 3)] {
        let next = hand.tell(&mut party, ask(round, attempt, &hand.question())).unwrap();
        assert_eq!((declined(&next), ledger(&disk)), (Reason::Lapsed, before.clone()), "{round} {attempt}");
    }
    let mut again = hand.site(0, &disk, owner(0));
    hand.tell(&mut again, hand.beginning()).unwrap();
    let next = hand.tell(&mut again, ask(0, 0, &hand.question())).unwrap();
    assert_eq!((declined(&next), ledger(&disk)), (Reason::Lapsed, before));
}

#[test]
fn a_site_whose_ledger_lacks_what_the_server_has_seen_answers_no_more() {
    let hand = hand();
    let unknown = [Position { sequence: 9, digest: [7; 32] }, Position { sequence: 1, digest: [7; 32] }];
    for seen in unknown {
        let (mut party, disk) = hand.running(0);
        let before = ledger(&disk);
        let rested = hand.tell_with(&hand.cast.server, Some(seen), &mut party, ask(0, 0, &hand.question())).unwrap();
        let stopped = Standing::Stopped(Stop::RolledBack { sequence: seen.sequence });
        assert_eq!((declined(&rested), party.standing()), (Reason::Stopped, stopped));
        let later = hand.tell(&mut party, ask(1, 0, &hand.question())).unwrap();
        assert_eq!((declined(&later), ledger(&disk)), (Reason::Stopped, before));
    }
}

/// A ledger that was restored from an old copy is found out with the very reply that begins the run again.
#[test]
fn a_restored_ledger_is_found_out_before_the_first_question_is_answered() {
    let hand = hand();
    let (mut party, disk) = hand.running(0);
    let old = disk.copy();
    let seen = update(&hand.tell(&mut party, ask(0, 0, &hand.question())).unwrap()).position;
    let before = ledger(&old);
    let mut restored = hand.site(0, &old, owner(0));
    let all = [hand.beginning(), ask(1, 0, &hand.question())].concat();
    let next = hand.tell_with(&hand.cast.server, Some(seen), &mut restored, all).unwrap();
    // Its signature of the manifest, and a refusal: no answer.
    assert!(matches!(
        said(&next).as_slice(),
        [Request::Agree { .. }, Request::Decline { reason: Reason::Stopped, .. }]
    ));
    assert_eq!(restored.standing(), Standing::Stopped(Stop::RolledBack { sequence: seen.sequence }));
    assert_eq!(ledger(&old), before);
}

#[test]
fn replies_that_are_forged_or_to_another_request_are_left_unread() {
    let hand = hand();
    let (mut party, disk) = hand.running(0);
    let before = ledger(&disk);
    let to = wire::content_digest(&party.attend(0)).unwrap();
    let asking = ask(0, 0, &hand.question());
    let stranger = IdentityKey::generate().unwrap();
    let site = &hand.cast.sites[1].1;
    let good = hand.reply(&hand.cast.server, to, None, asking.clone());
    let mut broken = good.clone();
    *broken.last_mut().unwrap() ^= 1;
    let forged = [
        hand.reply(&stranger, to, None, asking.clone()),
        hand.reply(site, to, None, asking.clone()),
        hand.reply(&hand.cast.server, [7; 32], None, asking.clone()),
        hand.reply(&stranger, to, Some(Position { sequence: 99, digest: [1; 32] }), Vec::new()),
        hand.reply(&stranger, to, None, vec![Instruction::Refuse(Refusal::Frozen)]),
        broken,
        good[..good.len() - 1].to_vec(),
        Vec::new(),
        vec![0xff; 100],
    ];
    for bytes in &forged {
        assert!(party.hear(bytes, &to).unwrap().is_empty());
        assert_eq!((party.standing(), ledger(&disk)), (Standing::Running, before.clone()));
    }
    let first = party.hear(&good, &to).unwrap();
    let at = update(&first).at;
    hand.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]).unwrap();
    let settled = ledger(&disk);
    // The old reply again: it is to a poll that the site has not made since.
    let now = wire::content_digest(&party.attend(0)).unwrap();
    assert_ne!(now, to);
    assert!(party.hear(&good, &now).unwrap().is_empty());
    // And if the very poll were still awaited, its attempt is over.
    assert_eq!(declined(&party.hear(&good, &to).unwrap()), Reason::Lapsed);
    assert_eq!(ledger(&disk), settled);
}

#[test]
fn a_wrong_receipt_stops_the_site_and_its_memory_stays() {
    let hand = hand();
    let query = hand.question();
    let (mut party, disk) = hand.running(0);
    let at = update(&hand.tell(&mut party, ask(0, 0, &query)).unwrap()).at;
    let (memory, before) = (party.agent().unwrap().member().memory().to_vec(), ledger(&disk));
    // One for an attempt that was never made is nothing.
    let other = Try { round: 1, attempt: 0 };
    hand.tell(&mut party, vec![Instruction::Receipt { at: other, applied: Some(vec![0xff; 9]) }]).unwrap();
    assert_eq!((party.standing(), ledger(&disk)), (Standing::Running, before.clone()));
    hand.tell(&mut party, vec![Instruction::Receipt { at, applied: Some(vec![0xff; 9]) }]).unwrap();
    assert_eq!(party.standing(), Standing::Stopped(Stop::Receipt { round: 0 }));
    assert_eq!((party.agent().unwrap().member().memory(), ledger(&disk)), (&memory[..], before.clone()));
    let next = hand.tell(&mut party, ask(1, 0, &query)).unwrap();
    assert_eq!((declined(&next), ledger(&disk)), (Reason::Stopped, before));
}

/// The check of a manifest as it would be if the server's numbers were taken as they are.
fn check_without_comparing(manifest: &Manifest, library: &dyn Library) -> bool {
    let own = library.open(manifest).is_ok();
    own && manifest.sites.len() == manifest.agreed.len() && manifest.pace.quorum <= manifest.sites.len() as u64
}

#[test]
fn mutant_m21_a_site_that_takes_the_servers_numbers_is_caught() {
    let hand = hand();
    let mut passed = 0;
    for (_, tamper) in LIES {
        let mut manifest = Manifest::clone(&hand.manifest);
        tamper(&mut manifest);
        passed += usize::from(check_without_comparing(&manifest, hand.library.as_ref()));
        assert!(
            manifest.check(hand.library.as_ref()).is_err()
                || manifest.sites[0].key != hand.manifest.sites[0].key
                || manifest.sites[0].name != hand.manifest.sites[0].name
        );
    }
    assert!(passed >= 8, "only {passed} of the lies would have passed");
}

/// Two agents over copies of one disk, with noise of this source, and the same question for both.
fn two_of_one(hand: &Hand, noise: fn() -> privacy::noise::OsKeyed) -> [Vec<Vec<u8>>; 2] {
    let (_, disk) = hand.running(0);
    [disk.copy(), disk.copy()].map(|copy| {
        let mut party = hand.site(0, &copy, Owner { noise, ..owner(0) });
        hand.tell(&mut party, hand.beginning()).unwrap();
        hand.tell(&mut party, ask(0, 0, &hand.question())).unwrap()
    })
}

#[test]
fn two_copies_of_one_site_have_different_noise_and_the_server_freezes_it() {
    let hand = hand();
    let [one, other] = two_of_one(&hand, fresh);
    assert_ne!(update(&one).answer, update(&other).answer);
    assert_eq!((update(&one).at, update(&one).question), (update(&other).at, update(&other).question));
    let mut front = Front::running(hand);
    let (caller, _) = front.caller(Member::Site(0));
    let held = front.bytes(caller.clone(), &one[0]);
    assert_eq!(held, [Instruction::Held { at: Try { round: 0, attempt: 0 } }]);
    assert_eq!(front.bytes(caller.clone(), &other[0]), [Instruction::Refuse(Refusal::Conflict)]);
    // Whichever of them comes now.
    assert_eq!(front.bytes(caller.clone(), &one[0]), [Instruction::Refuse(Refusal::Frozen)]);
    assert_eq!(front.bytes(caller, &other[0]), [Instruction::Refuse(Refusal::Frozen)]);
}

/// M12, M13: a source that hangs on nothing but its context gives two copies the same noise.
#[cfg(feature = "rehearsal")]
#[test]
fn mutant_m12_m13_a_generator_that_is_copied_with_its_site_repeats_itself() {
    let hand = hand();
    let [one, other] = two_of_one(&hand, || privacy::noise::OsKeyed::rehearsing(5));
    assert_eq!(update(&one).answer, update(&other).answer, "the check above can fail");
}

#[test]
fn an_accepted_run_is_on_record_once_with_everybodys_signatures() {
    let hand = hand();
    let (mut party, disk) = hand.running(0);
    let before = ledger(&disk);
    hand.tell(&mut party, hand.beginning()).unwrap();
    let mut again = hand.site(0, &disk, owner(0));
    hand.tell(&mut again, hand.beginning()).unwrap();
    assert_eq!(ledger(&disk), before);
    let accepted: Vec<Entry> = entries(&disk).into_iter().filter(|e| matches!(e, Entry::Accepted { .. })).collect();
    assert_eq!(accepted.len(), 1);
    let Entry::Accepted { bytes, .. } = &accepted[0] else { panic!() };
    let kept: (Vec<u8>, Vec<federation::identity::Signature>) = postcard::from_bytes(bytes).unwrap();
    Manifest::read(&kept.0).unwrap().check_signatures(&kept.1).unwrap();
}
