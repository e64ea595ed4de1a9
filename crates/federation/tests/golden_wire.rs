//! Messages of version 1 as they were written when it was made: they are read today, and are written with the same bytes.

use federation::identity::{IdentityKey, PartyName, PartyRole, PublicKey, Signature};
use federation::log::Position;
use federation::message::{
    Attempt, DeclineReason, Instruction, MemberId, NodeState, RefusalCode, Request, RunOutcome, SealedMessage, Update,
};
use federation::wire::{self, Sender, ServerReply, UnverifiedContent, WireError, proto};
use privacy::secure_sum::Renunciation;
use privacy::{Grid, GridVector};
use prost::Message as _;
use std::path::PathBuf;

const AT: Attempt = Attempt { round: 3, attempt: 1 };
const PLACE: Position = Position { sequence: 300, digest: [0xd1; 32] };

fn letter() -> SealedMessage {
    let signature = Signature::from_bytes(&[0x51; 64]);
    let (from, to) = (MemberId::Site(2), MemberId::Node(1));
    SealedMessage { from, to, at: AT, question: [0x9e; 32], key: vec![0x4b; 32], sealed: vec![0x5e; 20], signature }
}

/// One request of each kind, by its name.
fn requests() -> Vec<(&'static str, Request)> {
    let signature = Signature::from_bytes(&[0x51; 64]);
    let answer = GridVector::new(Grid::new(-24).unwrap(), vec![0, 1, -1, 300, i64::MAX, i64::MIN]);
    let (question, position) = ([0x9e; 32], PLACE);
    let attend = Request::Attend {
        position: Some(PLACE),
        wait: 20_000,
        begun: true,
        unsettled: Some(AT),
        mail: 7,
        closed: false,
    };
    vec![
        ("attend", attend),
        ("agreement", Request::Agree { signature }),
        ("decline", Request::Decline { at: AT, reason: DeclineReason::Lapsed }),
        ("update", Request::Update(Update { at: AT, question, answer, position })),
        ("letters", Request::Letters(vec![letter(), SealedMessage { to: MemberId::Server, ..letter() }])),
        ("contributed", Request::Contributed { at: AT, question, position }),
        ("standing", Request::Standing { at: AT, state: NodeState::Renounced(Renunciation::Lost) }),
        ("renewal", Request::Renew { request: vec![0x30, 0x82, 1, 2] }),
    ]
}

/// One instruction of each kind, by its name.
fn instructions() -> Vec<(&'static str, Instruction)> {
    let (query, signatures) = (vec![1, 2, 3], vec![Signature::from_bytes(&[0x51; 64]); 2]);
    vec![
        ("propose", Instruction::Propose { manifest: vec![1, 0, 0xff] }),
        ("begin", Instruction::Begin { signatures }),
        ("ask", Instruction::Ask { at: AT, query: query.clone() }),
        ("receipt", Instruction::Receipt { at: AT, applied: Some(vec![9, 8]) }),
        ("receipt-late", Instruction::Receipt { at: AT, applied: None }),
        ("held", Instruction::Held { at: AT }),
        ("refusal", Instruction::Refuse(RefusalCode::Conflict)),
        ("rest", Instruction::Rest),
        ("finished", Instruction::Finished(RunOutcome::QuorumLost)),
        ("finished-failed", Instruction::Finished(RunOutcome::SumFailed(MemberId::Node(1)))),
        ("session", Instruction::Session { at: AT, query, close: true }),
        ("mail", Instruction::Mail(vec![(41, letter())])),
        ("certificate", Instruction::Certificate { chain: "-----BEGIN CERTIFICATE-----".into() }),
    ]
}

fn sender(role: PartyRole) -> Sender {
    Sender { role, name: PartyName::new("hospital-a").unwrap(), manifest: Some([0x3a; 32]) }
}

/// The content within signed bytes: signatures are of today's key, and no part of what is kept.
fn content(signed: &[u8]) -> Vec<u8> {
    proto::Signed::decode(signed).unwrap().content
}

fn read(content: Vec<u8>) -> Result<UnverifiedContent, WireError> {
    UnverifiedContent::of(proto::Signed { content, signature: Vec::new() })
}

fn golden(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/wire-v1"));
    std::fs::read(folder.join(format!("{name}.bin"))).unwrap()
}

#[test]
fn requests_of_version_1_are_read_and_written_as_they_were() {
    let key = IdentityKey::generate().unwrap();
    for (name, request) in requests() {
        let kept = golden(name);
        assert_eq!(
            content(&wire::sign(&key, &sender(PartyRole::Site), &request).0),
            kept,
            "{name} is written otherwise"
        );
        let said = read(kept).unwrap();
        assert_eq!((said.sender(), said.claimed_request()), (&sender(PartyRole::Site), Ok(request)), "{name}");
    }
}

#[test]
fn instructions_of_version_1_are_read_and_written_as_they_were() {
    let key = IdentityKey::generate().unwrap();
    for (name, instruction) in instructions() {
        let kept = golden(name);
        let reply = ServerReply { to: [0x70; 32], seen: Some(PLACE), instructions: vec![instruction] };
        let written = wire::sign_reply(&key, &sender(PartyRole::Server), &reply).content;
        assert_eq!(written, kept, "{name} is written otherwise");
        assert_eq!(read(kept).unwrap().claimed_reply(&[0x70; 32]), Ok(reply), "{name}");
    }
}

/// A program from before members were named reads the number alone, and stops.
#[test]
fn a_sum_that_failed_is_a_failed_run_to_older_programs() {
    let content = proto::Content::decode(golden("finished-failed").as_slice()).unwrap();
    let Some(proto::content::Body::Reply(reply)) = content.body else { panic!("a reply") };
    let Some(proto::instruction::What::Finished(finished)) = reply.instructions[0].what else { panic!("an end") };
    assert_eq!(RunOutcome::ALL[finished.outcome as usize - 1], RunOutcome::Failed);
}

#[test]
fn a_signature_of_version_1_fits_as_it_did() {
    let key = PublicKey(golden("signed-by").try_into().unwrap());
    let said = UnverifiedContent::read(&golden("signed")).unwrap();
    assert_eq!(said.request(&key), Ok(requests()[0].1.clone()));
    let mut other = golden("signed");
    let last = other.len() - 1;
    other[last] ^= 1;
    assert_eq!(UnverifiedContent::read(&other).unwrap().request(&key), Err(WireError::Signature));
}

#[test]
fn every_number_of_the_fixed_lists_is_what_it_was() {
    // New ones are added at the end, and none is ever moved.
    let reasons = [DeclineReason::Spent, DeclineReason::Refused, DeclineReason::Lapsed, DeclineReason::Stopped];
    let outcomes = [RunOutcome::Complete, RunOutcome::Spent, RunOutcome::QuorumLost, RunOutcome::Failed];
    assert_eq!(DeclineReason::ALL[..4], reasons);
    assert_eq!(RunOutcome::ALL[..4], outcomes);
    let refusals = "NoRun OtherManifest NotAMember Shape NotAsked Conflict Frozen Signature Malformed Unavailable";
    let known: Vec<String> = RefusalCode::ALL.iter().take(10).map(|refusal| format!("{refusal:?}")).collect();
    assert_eq!(known.join(" "), refusals);
}

#[test]
fn a_content_of_another_version_is_refused_by_name() {
    for version in [0, 2, u32::MAX] {
        let mut content = proto::Content::decode(golden("update").as_slice()).unwrap();
        content.version = version;
        let error = read(content.encode_to_vec()).err().unwrap();
        assert_eq!(error, WireError::Version(version));
        assert_eq!(error.to_string(), format!("the message is of version {version}, expected 1"));
    }
}
