//! Arbitrary messages of every kind, and damage to bytes.

use federation::identity::{PartyName, PartyRole, Signature};
use federation::log::Position;
use federation::message::{
    Attempt, DeclineReason, Instruction, MemberId, NodeState, RefusalCode, Request, RunOutcome, SealedMessage, Update,
};
use federation::wire::Sender;
use privacy::secure_sum::Renunciation;
use privacy::{Grid, GridVector};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// One change of some bytes. Places are taken modulo the length.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Flip(usize),
    Cut(usize),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Set(usize, u8),
}

pub(crate) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let one = prop_oneof![
        any::<usize>().prop_map(Edit::Flip),
        any::<usize>().prop_map(Edit::Cut),
        (any::<usize>(), vec(any::<u8>(), 1..12)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (any::<usize>(), 1..40_usize).prop_map(|(at, count)| Edit::Remove(at, count)),
        (any::<usize>(), select(vec![0, 1, 0x7f, 0x80, 0xfe, 0xff])).prop_map(|(at, byte)| Edit::Set(at, byte)),
    ];
    vec(one, 1..4)
}

/// The bytes after all changes.
pub(crate) fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        let length = bytes.len().max(1);
        match edit {
            Edit::Flip(bit) => {
                let bit = bit % (length * 8);
                if let Some(byte) = bytes.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            Edit::Cut(at) => bytes.truncate(at % length),
            Edit::Insert(at, more) => {
                let at = at % (bytes.len() + 1);
                bytes.splice(at..at, more.iter().copied());
            }
            Edit::Remove(at, count) => {
                let at = at % length;
                drop(bytes.drain(at.min(bytes.len())..(at + count).min(bytes.len())));
            }
            Edit::Set(at, value) => {
                if let Some(byte) = bytes.get_mut(at % length) {
                    *byte = *value;
                }
            }
        }
    }
    bytes
}

pub(crate) fn sender() -> impl Strategy<Value = Sender> {
    let name = "[a-z][a-z0-9-]{0,10}[a-z0-9]".prop_filter_map("a name", |name| PartyName::new(&name).ok());
    (select(PartyRole::ALL.to_vec()), name, option::of(any::<[u8; 32]>())).prop_map(|(role, name, manifest)| Sender {
        role,
        name,
        manifest,
    })
}

fn at() -> impl Strategy<Value = Attempt> {
    (any::<u64>(), any::<u64>()).prop_map(|(round, attempt)| Attempt { round, attempt })
}

pub(crate) fn position() -> impl Strategy<Value = Position> {
    (any::<u64>(), any::<[u8; 32]>()).prop_map(|(sequence, digest)| Position { sequence, digest })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..80)
}

fn signature() -> impl Strategy<Value = Signature> {
    bytes().prop_map(|bytes| Signature::from_bytes(&bytes))
}

fn member() -> impl Strategy<Value = MemberId> {
    prop_oneof![
        any::<u32>().prop_map(|site| MemberId::Site(site as usize)),
        any::<u32>().prop_map(MemberId::Node),
        Just(MemberId::Server),
    ]
}

fn letter() -> impl Strategy<Value = SealedMessage> {
    (member(), member(), at(), any::<[u8; 32]>(), bytes(), bytes(), signature()).prop_map(
        |(from, to, at, question, key, sealed, signature)| SealedMessage {
            from,
            to,
            at,
            question,
            key,
            sealed,
            signature,
        },
    )
}

fn update() -> impl Strategy<Value = Update> {
    (at(), any::<[u8; 32]>(), -900..=900_i32, vec(any::<i64>(), 0..12), position()).prop_map(
        |(at, question, exponent, units, position)| {
            let answer = GridVector::new(Grid::new(exponent).unwrap(), units);
            Update { at, question, answer, position }
        },
    )
}

pub(crate) fn request() -> impl Strategy<Value = Request> {
    let attend = (option::of(position()), any::<u32>(), any::<bool>(), option::of(at()), any::<u64>(), any::<bool>());
    prop_oneof![
        attend.prop_map(|(position, wait, begun, unsettled, mail, closed)| Request::Attend {
            position,
            wait,
            begun,
            unsettled,
            mail,
            closed
        }),
        signature().prop_map(|signature| Request::Agree { signature }),
        (at(), select(DeclineReason::ALL.to_vec())).prop_map(|(at, reason)| Request::Decline { at, reason }),
        update().prop_map(Request::Update),
        vec(letter(), 0..4).prop_map(Request::Letters),
        (at(), any::<[u8; 32]>(), position()).prop_map(|(at, question, position)| Request::Contributed {
            at,
            question,
            position
        }),
        (at(), state()).prop_map(|(at, state)| Request::Standing { at, state }),
        bytes().prop_map(|request| Request::Renew { request }),
    ]
}

fn state() -> impl Strategy<Value = NodeState> {
    let why = prop_oneof![
        select(vec![Renunciation::Lost, Renunciation::TooFew, Renunciation::Terms]),
        any::<u32>().prop_map(|with| Renunciation::Disagreement { with }),
        any::<u32>().prop_map(|client| Renunciation::Incomplete { client: u64::from(client) }),
    ];
    prop_oneof![Just(NodeState::Published), why.prop_map(NodeState::Renounced)]
}

pub(crate) fn instruction() -> impl Strategy<Value = Instruction> {
    prop_oneof![
        bytes().prop_map(|manifest| Instruction::Propose { manifest }),
        vec(signature(), 0..4).prop_map(|signatures| Instruction::Begin { signatures }),
        (at(), bytes()).prop_map(|(at, query)| Instruction::Ask { at, query }),
        (at(), option::of(bytes())).prop_map(|(at, applied)| Instruction::Receipt { at, applied }),
        at().prop_map(|at| Instruction::Held { at }),
        select(RefusalCode::ALL.to_vec()).prop_map(Instruction::Refuse),
        Just(Instruction::Rest),
        select(RunOutcome::ALL.to_vec()).prop_map(Instruction::Finished),
        member().prop_map(|member| Instruction::Finished(RunOutcome::SumFailed(member))),
        (at(), bytes(), any::<bool>()).prop_map(|(at, query, close)| Instruction::Session { at, query, close }),
        vec((any::<u64>(), letter()), 0..3).prop_map(Instruction::Mail),
        "[ -~]{0,60}".prop_map(|chain| Instruction::Certificate { chain }),
    ]
}
