//! A server that lies: other terms, other questions, repeated asking, rollback and forged replies. A site refuses before a charge.

use crate::common::scripted_server::{
    ScriptedServer, TestOwner, TestServer, ask, declined, entries, fresh, ledger, owner, said, update,
};
use crate::common::study::TestKeys;
use federation::agent::StopReason;
use federation::identity::{IdentityKey, PartyName};
use federation::log::{LogEntry, Position, SimulatedDisk};
use federation::manifest::{self, Manifest, ManifestError, NodeMember, RunBuilder, SiteMember};
use federation::message::{Attempt, DeclineReason, Instruction, MemberId, RefusalCode, Request};
use federation::party::{PartyError, PartyMachine, PartyPhase, Verdict};
use federation::wire;
use privacy::{Event, Grant, Mechanism, NoiseMultiplier, Steps};

fn script() -> ScriptedServer {
    ScriptedServer::new("synchronous/2/0", 3, 0, 2)
}
fn sums() -> ScriptedServer {
    ScriptedServer::new("sum/2/1", 4, 2, 3)
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
    let keys = TestKeys::new(0, 9);
    let name = PartyName::new("stranger").unwrap();
    manifest.sites.push(SiteMember { name, key: keys.nodes[8].1.public(), rows: 6 });
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
    ("a site under another key", |m| m.sites[0].key = TestKeys::new(0, 9).nodes[8].1.public()),
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
        let key = TestKeys::new(0, 9).nodes[8].1.public();
        m.nodes.push(NodeMember { name: PartyName::new("node-9").unwrap(), key, sealing: [9; 32] });
    }),
    ("less noise", |m| m.agreed[0].event = half_the_noise(&m.agreed[0].event)),
    ("fewer who may drop out", |m| m.study = "sum/2/0".into()),
];

/// A proposal and the beginning of its run, right in everything else: refused, and nothing is on record.
fn is_refused(script: &ScriptedServer, what: &str, manifest: &Manifest) {
    let disk = SimulatedDisk::new();
    let mut party = script.site(0, &disk, owner(0));
    let before = ledger(&disk);
    let propose = || Instruction::Propose { manifest: manifest.bytes() };
    // Whoever has signed: only the site itself refuses.
    let begin = Instruction::Begin { signatures: script.signatures(manifest) };
    assert!(script.tell(&mut party, vec![propose()]).is_err(), "{what}");
    assert!(script.tell(&mut party, vec![propose(), begin.clone()]).is_err(), "{what}");
    let next = script.tell(&mut party, [vec![begin], ask(0, 0, &script.question())].concat()).unwrap();
    assert!(next.is_empty(), "{what}");
    assert_eq!((party.standing(), ledger(&disk)), (PartyPhase::Waiting, before), "{what}");
}

#[test]
fn a_manifest_with_other_sites_rounds_noise_bounds_or_grants_is_refused_before_anything_is_on_record() {
    let script = script();
    for (what, tamper) in LIES {
        let mut manifest = Manifest::clone(&script.manifest);
        tamper(&mut manifest);
        is_refused(&script, what, &manifest);
    }
}

#[test]
fn a_manifest_with_other_numbers_of_a_secure_sum_is_refused_before_anything_is_on_record() {
    let script = sums();
    for (what, tamper) in LIES_ABOUT_SUMS {
        let mut manifest = Manifest::clone(&script.manifest);
        tamper(&mut manifest);
        is_refused(&script, what, &manifest);
    }
}

#[test]
fn a_curator_is_refused() {
    let (script, keys) = (script(), TestKeys::new(3, 0));
    let curator = keys.manifest("curator/2/0", 1, script.manifest.pace, script.builder.as_ref());
    is_refused(&script, "a curator", &curator);
    let why = curator.check(script.builder.as_ref()).err().unwrap();
    assert!(matches!(&why, ManifestError::Study { why } if why.contains("curator")), "{why}");
}

#[test]
fn bytes_that_are_no_manifest_are_refused() {
    let script = script();
    let (good, disk) = (script.manifest.bytes(), SimulatedDisk::new());
    let mut party = script.site(0, &disk, owner(0));
    let before = ledger(&disk);
    let mut bad: Vec<Vec<u8>> = (0..good.len()).step_by(7).map(|length| good[..length].to_vec()).collect();
    bad.push([good.clone(), vec![0]].concat());
    // The version, 2, in two bytes where one is enough; and other versions.
    bad.push([vec![0x82, 0], good[1..].to_vec()].concat());
    bad.extend([1, 3].map(|version| [vec![version], good[1..].to_vec()].concat()));
    bad.push(vec![0xff; 5 << 20]);
    for bytes in bad {
        let length = bytes.len();
        let heard = script.tell(&mut party, vec![Instruction::Propose { manifest: bytes }]);
        assert!(matches!(heard, Err(PartyError::Manifest(ManifestError::Malformed { found })) if found == length));
    }
    assert_eq!((party.standing(), ledger(&disk)), (PartyPhase::Waiting, before));
}

#[test]
fn a_run_does_not_begin_before_everybody_has_signed_this_very_manifest() {
    let script = script();
    let right = script.signatures(&script.manifest);
    let mut other = Manifest::clone(&script.manifest);
    other.nonce[15] ^= 1;
    let foreign = IdentityKey::generate().unwrap().sign(manifest::DOMAIN, &script.manifest.digest());
    let purpose = script.keys.sites[1].1.sign("content", &script.manifest.digest());
    let replaced = |signature| [&right[..1], &[signature], &right[2..]].concat();
    let wrong = [
        ("nobody's", Vec::new()),
        ("not the server's", right[..3].to_vec()),
        ("not the first site's", right[1..].to_vec()),
        ("one too many", [&right[..], &right[..1]].concat()),
        ("in another order", right.iter().rev().cloned().collect()),
        ("one by a stranger", replaced(foreign)),
        ("one for another purpose", replaced(purpose)),
        ("of another manifest", script.signatures(&other)),
    ];
    let disk = SimulatedDisk::new();
    let mut party = script.site(0, &disk, owner(0));
    let agreed = script.tell(&mut party, vec![Instruction::Propose { manifest: script.manifest.bytes() }]).unwrap();
    assert!(matches!(said(&agreed).as_slice(), [Request::Agree { .. }]));
    let before = ledger(&disk);
    for (what, signatures) in wrong {
        let heard = script.tell(&mut party, vec![Instruction::Begin { signatures }]);
        assert!(matches!(heard, Err(PartyError::Manifest(ManifestError::Signature { .. }))), "{what}");
        assert_eq!((party.standing(), ledger(&disk)), (PartyPhase::Signed, before.clone()), "{what}");
    }
    script.tell(&mut party, vec![Instruction::Begin { signatures: right }]).unwrap();
    assert!(party.agent().is_some() && ledger(&disk) != before);
}

#[test]
fn a_run_that_was_not_signed_does_not_begin() {
    let script = script();
    let disk = SimulatedDisk::new();
    let mut party = script.site(0, &disk, owner(0));
    let before = ledger(&disk);
    let begin = || Instruction::Begin { signatures: script.signatures(&script.manifest) };
    assert!(script.tell(&mut party, vec![begin()]).unwrap().is_empty());
    let mut wary = script.site(0, &disk, TestOwner { verdict: |_| Verdict::Wait, ..owner(0) });
    let propose = || Instruction::Propose { manifest: script.manifest.bytes() };
    let all = [vec![propose(), begin()], ask(0, 0, &script.question())].concat();
    assert!(script.tell(&mut wary, all.clone()).unwrap().is_empty());
    let mut unwilling = script.site(0, &disk, TestOwner { verdict: |_| Verdict::Refuse("no".into()), ..owner(0) });
    assert!(matches!(script.tell(&mut unwilling, all), Err(PartyError::Refused(_))));
    assert_eq!(ledger(&disk), before);
}

/// Signatures are no secret: whoever has collected them is not the server for that.
#[test]
fn the_beginning_of_a_run_is_the_word_of_its_server_alone() {
    let (script, stranger) = (script(), IdentityKey::generate().unwrap());
    let disk = SimulatedDisk::new();
    // It signs manifests of the server that it knows, and asks somebody about all others.
    let verdict = |manifest: &Manifest| match manifest.nonce[15] {
        0 => Verdict::Sign,
        _ => Verdict::Wait,
    };
    let mut party = script.site(0, &disk, TestOwner { verdict, ..owner(0) });
    script.tell(&mut party, vec![Instruction::Propose { manifest: script.manifest.bytes() }]).unwrap();
    let before = ledger(&disk);
    let begin = Instruction::Begin { signatures: script.signatures(&script.manifest) };
    let all = [vec![begin.clone()], ask(0, 0, &script.question())].concat();
    assert!(script.tell_with(&stranger, None, &mut party, all.clone()).unwrap().is_empty());
    let mut own = Manifest::clone(&script.manifest);
    (own.server, own.nonce[15]) = (stranger.public(), 1);
    let mixed = [vec![Instruction::Propose { manifest: own.bytes() }], all.clone()].concat();
    assert!(script.tell_with(&stranger, None, &mut party, mixed).unwrap().is_empty());
    assert_eq!((party.standing(), ledger(&disk)), (PartyPhase::Signed, before));
    let answered = script.tell(&mut party, all).unwrap();
    assert_eq!(update(&answered).at, Attempt { round: 0, attempt: 0 });
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
    let script = script();
    let (mut party, disk) = script.running(0);
    let before = ledger(&disk);
    for (what, query) in no_questions(&script.question()) {
        let next = script.tell(&mut party, ask(0, 0, &query)).unwrap();
        assert_eq!((declined(&next), ledger(&disk)), (DeclineReason::Refused, before.clone()), "{what}");
    }
    let beyond = script.tell(&mut party, ask(2, 0, &script.question())).unwrap();
    assert_eq!((declined(&beyond), ledger(&disk)), (DeclineReason::Refused, before.clone()));
    let last = script.tell(&mut party, ask(u64::MAX, u64::MAX, &script.question())).unwrap();
    assert_eq!((declined(&last), ledger(&disk)), (DeclineReason::Refused, before));
    // And none of this has cost it the right question.
    assert_eq!(update(&script.tell(&mut party, ask(0, 0, &script.question())).unwrap()).at.round, 0);
    assert_eq!(script.charges(&disk), 1);
}

#[test]
fn an_attempt_that_is_asked_again_gets_the_same_bytes_or_none_and_is_charged_once() {
    let script = script();
    let (mut party, disk) = script.running(0);
    let first = script.tell(&mut party, ask(0, 0, &script.question())).unwrap();
    let kept = ledger(&disk);
    let other: Vec<f64> =
        postcard::from_bytes::<Vec<f64>>(&script.question()).unwrap().iter().map(|v| v * 1.5).collect();
    let other = postcard::to_allocvec(&other).unwrap();
    for query in [script.question(), other.clone(), Vec::new()] {
        // The same attempt, another one, another round: what has no receipt is what is sent.
        for (round, attempt) in [(0, 0), (0, 1), (1, 0)] {
            assert_eq!(script.tell(&mut party, ask(round, attempt, &query)).unwrap(), first);
        }
    }
    assert_eq!(ledger(&disk), kept);
    // Even one that the server gives up and asks again has no second answer.
    script.tell(&mut party, vec![Instruction::Refuse(RefusalCode::NotAsked)]).unwrap();
    for query in [script.question(), other] {
        assert_eq!(declined(&script.tell(&mut party, ask(0, 0, &query)).unwrap()), DeclineReason::Lapsed);
    }
    assert_eq!(script.charges(&disk), 1);
}

/// Where answers are folded as they come, a round has any number of questions: elsewhere asking stops after three.
#[test]
fn repeated_asking_stops_at_the_budget() {
    let script = ScriptedServer::new("asynchronous/2/0", 3, 0, 1);
    let (mut party, disk) = script.running(0);
    let (mut answers, mut stopped) = (Vec::new(), false);
    for attempt in 0..60 {
        let next = script.tell(&mut party, ask(0, attempt, &script.question())).unwrap();
        if matches!(said(&next).as_slice(), [Request::Update(_)]) {
            assert!(!stopped, "what is spent stays spent");
            answers.push(update(&next).answer);
            let at = Attempt { round: 0, attempt };
            script.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]).unwrap();
        } else {
            assert_eq!(declined(&next), DeclineReason::Spent);
            stopped = true;
        }
        assert_eq!(script.charges(&disk), answers.len(), "a charge for each answer, and no other");
    }
    assert!(stopped && answers.len() >= 2, "{} answers", answers.len());
    assert_ne!(answers[0], answers[1], "the same question, and noise of its own for each answer");
    // Not after a restart either.
    let mut again = script.site(0, &disk, owner(0));
    script.tell(&mut again, script.beginning()).unwrap();
    let next = script.tell(&mut again, ask(1, 0, &script.question())).unwrap();
    assert_eq!((declined(&next), script.charges(&disk)), (DeclineReason::Spent, answers.len()));
}

#[test]
fn a_server_that_goes_back_to_an_earlier_round_gets_nothing() {
    let script = script();
    let (mut party, disk) = script.running(0);
    let at = update(&script.tell(&mut party, ask(1, 3, &script.question())).unwrap()).at;
    script.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]).unwrap();
    let before = ledger(&disk);
    for (round, attempt) in [(0, 0), (0, 9), (1, 0), (1, 2), (1, 3)] {
        let next = script.tell(&mut party, ask(round, attempt, &script.question())).unwrap();
        assert_eq!((declined(&next), ledger(&disk)), (DeclineReason::Lapsed, before.clone()), "{round} {attempt}");
    }
    let mut again = script.site(0, &disk, owner(0));
    script.tell(&mut again, script.beginning()).unwrap();
    let next = script.tell(&mut again, ask(0, 0, &script.question())).unwrap();
    assert_eq!((declined(&next), ledger(&disk)), (DeclineReason::Lapsed, before));
}

#[test]
fn a_site_whose_ledger_lacks_what_the_server_has_seen_answers_no_more() {
    let script = script();
    let unknown = [Position { sequence: 9, digest: [7; 32] }, Position { sequence: 1, digest: [7; 32] }];
    for seen in unknown {
        let (mut party, disk) = script.running(0);
        let before = ledger(&disk);
        let rested =
            script.tell_with(&script.keys.server, Some(seen), &mut party, ask(0, 0, &script.question())).unwrap();
        let stopped = PartyPhase::Stopped(StopReason::RolledBack { sequence: seen.sequence });
        assert_eq!((declined(&rested), party.standing()), (DeclineReason::Stopped, stopped));
        let later = script.tell(&mut party, ask(1, 0, &script.question())).unwrap();
        assert_eq!((declined(&later), ledger(&disk)), (DeclineReason::Stopped, before));
    }
}

/// A ledger that was restored from an old copy is found out with the very reply that begins the run again.
#[test]
fn a_restored_ledger_is_found_out_before_the_first_question_is_answered() {
    let script = script();
    let (mut party, disk) = script.running(0);
    let old = disk.copy();
    let seen = update(&script.tell(&mut party, ask(0, 0, &script.question())).unwrap()).position;
    let before = ledger(&old);
    let mut restored = script.site(0, &old, owner(0));
    let all = [script.beginning(), ask(1, 0, &script.question())].concat();
    let next = script.tell_with(&script.keys.server, Some(seen), &mut restored, all).unwrap();
    // Its signature of the manifest, and a refusal: no answer.
    assert!(matches!(
        said(&next).as_slice(),
        [Request::Agree { .. }, Request::Decline { reason: DeclineReason::Stopped, .. }]
    ));
    assert_eq!(restored.standing(), PartyPhase::Stopped(StopReason::RolledBack { sequence: seen.sequence }));
    assert_eq!(ledger(&old), before);
}

#[test]
fn replies_that_are_forged_or_to_another_request_are_left_unread() {
    let script = script();
    let (mut party, disk) = script.running(0);
    let before = ledger(&disk);
    let to = wire::content_digest(&party.attend(0)).unwrap();
    let asking = ask(0, 0, &script.question());
    let stranger = IdentityKey::generate().unwrap();
    let site = &script.keys.sites[1].1;
    let good = script.reply(&script.keys.server, to, None, asking.clone());
    let mut broken = good.clone();
    *broken.last_mut().unwrap() ^= 1;
    let forged = [
        script.reply(&stranger, to, None, asking.clone()),
        script.reply(site, to, None, asking.clone()),
        script.reply(&script.keys.server, [7; 32], None, asking.clone()),
        script.reply(&stranger, to, Some(Position { sequence: 99, digest: [1; 32] }), Vec::new()),
        script.reply(&stranger, to, None, vec![Instruction::Refuse(RefusalCode::Frozen)]),
        broken,
        good[..good.len() - 1].to_vec(),
        Vec::new(),
        vec![0xff; 100],
    ];
    for bytes in &forged {
        assert!(party.hear_bytes(bytes, &to).unwrap().is_empty());
        assert_eq!((party.standing(), ledger(&disk)), (PartyPhase::Running, before.clone()));
    }
    let first = party.hear_bytes(&good, &to).unwrap();
    let at = update(&first).at;
    script.tell(&mut party, vec![Instruction::Receipt { at, applied: None }]).unwrap();
    let settled = ledger(&disk);
    // The old reply again: it is to a poll that the site has not made since.
    let now = wire::content_digest(&party.attend(0)).unwrap();
    assert_ne!(now, to);
    assert!(party.hear_bytes(&good, &now).unwrap().is_empty());
    // And if the very poll were still awaited, its attempt is over.
    assert_eq!(declined(&party.hear_bytes(&good, &to).unwrap()), DeclineReason::Lapsed);
    assert_eq!(ledger(&disk), settled);
}

#[test]
fn a_wrong_receipt_stops_the_site_and_its_memory_stays() {
    let script = script();
    let query = script.question();
    let (mut party, disk) = script.running(0);
    let at = update(&script.tell(&mut party, ask(0, 0, &query)).unwrap()).at;
    let (memory, before) = (party.agent().unwrap().member().memory().to_vec(), ledger(&disk));
    // One for an attempt that was never made is nothing.
    let other = Attempt { round: 1, attempt: 0 };
    script.tell(&mut party, vec![Instruction::Receipt { at: other, applied: Some(vec![0xff; 9]) }]).unwrap();
    assert_eq!((party.standing(), ledger(&disk)), (PartyPhase::Running, before.clone()));
    script.tell(&mut party, vec![Instruction::Receipt { at, applied: Some(vec![0xff; 9]) }]).unwrap();
    assert_eq!(party.standing(), PartyPhase::Stopped(StopReason::Receipt { round: 0 }));
    assert_eq!((party.agent().unwrap().member().memory(), ledger(&disk)), (&memory[..], before.clone()));
    let next = script.tell(&mut party, ask(1, 0, &query)).unwrap();
    assert_eq!((declined(&next), ledger(&disk)), (DeclineReason::Stopped, before));
}

/// The check of a manifest as it would be if the server's numbers were taken as they are.
fn check_without_comparing(manifest: &Manifest, builder: &dyn RunBuilder) -> bool {
    let own = builder.open(manifest).is_ok();
    own && manifest.sites.len() == manifest.agreed.len() && manifest.pace.quorum <= manifest.sites.len() as u64
}

#[test]
fn mutant_m21_a_site_that_takes_the_servers_numbers_is_caught() {
    let script = script();
    let mut passed = 0;
    for (_, tamper) in LIES {
        let mut manifest = Manifest::clone(&script.manifest);
        tamper(&mut manifest);
        passed += usize::from(check_without_comparing(&manifest, script.builder.as_ref()));
        assert!(
            manifest.check(script.builder.as_ref()).is_err()
                || manifest.sites[0].key != script.manifest.sites[0].key
                || manifest.sites[0].name != script.manifest.sites[0].name
        );
    }
    assert!(passed >= 8, "only {passed} of the lies would have passed");
}

/// Two agents over copies of one disk, with noise of this source, and the same question for both.
fn two_of_one(script: &ScriptedServer, noise: fn() -> privacy::noise::OsKeyed) -> [Vec<Vec<u8>>; 2] {
    let (_, disk) = script.running(0);
    [disk.copy(), disk.copy()].map(|copy| {
        let mut party = script.site(0, &copy, TestOwner { noise, ..owner(0) });
        script.tell(&mut party, script.beginning()).unwrap();
        script.tell(&mut party, ask(0, 0, &script.question())).unwrap()
    })
}

#[test]
fn two_copies_of_one_site_have_different_noise_and_the_server_freezes_it() {
    let script = script();
    let [one, other] = two_of_one(&script, fresh);
    assert_ne!(update(&one).answer, update(&other).answer);
    assert_eq!((update(&one).at, update(&one).question), (update(&other).at, update(&other).question));
    let mut front = TestServer::running(script);
    let (caller, _) = front.caller(MemberId::Site(0));
    let held = front.bytes(caller.clone(), &one[0]);
    assert_eq!(held, [Instruction::Held { at: Attempt { round: 0, attempt: 0 } }]);
    assert_eq!(front.bytes(caller.clone(), &other[0]), [Instruction::Refuse(RefusalCode::Conflict)]);
    // Whichever of them comes now.
    assert_eq!(front.bytes(caller.clone(), &one[0]), [Instruction::Refuse(RefusalCode::Frozen)]);
    assert_eq!(front.bytes(caller, &other[0]), [Instruction::Refuse(RefusalCode::Frozen)]);
}

/// M12, M13: a source that hangs on nothing but its context gives two copies the same noise.
#[cfg(feature = "rehearsal")]
#[test]
fn mutant_m12_m13_a_generator_that_is_copied_with_its_site_repeats_itself() {
    let script = script();
    let [one, other] = two_of_one(&script, || privacy::noise::OsKeyed::rehearsing(5));
    assert_eq!(update(&one).answer, update(&other).answer, "the check above can fail");
}

#[test]
fn an_accepted_run_is_on_record_once_with_everybodys_signatures() {
    let script = script();
    let (mut party, disk) = script.running(0);
    let before = ledger(&disk);
    script.tell(&mut party, script.beginning()).unwrap();
    let mut again = script.site(0, &disk, owner(0));
    script.tell(&mut again, script.beginning()).unwrap();
    assert_eq!(ledger(&disk), before);
    let accepted: Vec<LogEntry> =
        entries(&disk).into_iter().filter(|e| matches!(e, LogEntry::AcceptedGrant { .. })).collect();
    assert_eq!(accepted.len(), 1);
    let LogEntry::AcceptedGrant { bytes, .. } = &accepted[0] else { panic!() };
    let kept: (Vec<u8>, Vec<federation::identity::Signature>) = postcard::from_bytes(bytes).unwrap();
    Manifest::read(&kept.0).unwrap().check_signatures(&kept.1).unwrap();
}
