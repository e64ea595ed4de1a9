//! From what is meant to protocol buffers.

use super::{ServerReply, proto};
use crate::identity::Signature;
use crate::log::Position;
use crate::message::{
    Attempt, DeclineReason, Instruction, MemberId, NodeState, RefusalCode, Request, RunOutcome, SealedMessage, Update,
};
use privacy::secure_sum::Renunciation;
use proto::content::Body;
use proto::instruction::What;

pub(super) fn request(request: &Request) -> Body {
    match request {
        Request::Attend { position, wait, begun, unsettled, mail, closed } => Body::Attend(proto::Attend {
            position: position.as_ref().map(place),
            wait: *wait,
            begun: *begun,
            unsettled: unsettled.map(attempt),
            mail: *mail,
            closed: *closed,
        }),
        Request::Agree { signature } => Body::Agreement(proto::Agreement { signature: signature.bytes().to_vec() }),
        Request::Decline { at, reason } => {
            Body::Decline(proto::Decline { at: Some(attempt(*at)), reason: number(&DeclineReason::ALL, reason) })
        }
        Request::Update(answer) => Body::Update(update(answer)),
        Request::Letters(letters) => Body::Letters(proto::Letters { letters: letters.iter().map(letter).collect() }),
        Request::Contributed { at, question, position } => Body::Contributed(proto::Contributed {
            at: Some(attempt(*at)),
            question: question.to_vec(),
            position: Some(place(position)),
        }),
        Request::Standing { at, state } => Body::Standing(standing(*at, *state)),
        Request::Renew { request } => Body::Renewal(proto::Renewal { request: request.clone() }),
    }
}

fn standing(at: Attempt, state: NodeState) -> proto::Standing {
    let site = |client: u64| MemberId::Site(usize::try_from(client).unwrap_or(usize::MAX));
    let (state, reason, other) = match state {
        NodeState::Published => (1, 0, None),
        NodeState::Renounced(why) => match why {
            Renunciation::Lost => (2, 0, None),
            Renunciation::TooFew => (2, 1, None),
            Renunciation::Terms => (2, 2, None),
            Renunciation::Disagreement { with } => (2, 3, Some(MemberId::Node(with))),
            Renunciation::Incomplete { client } => (2, 4, Some(site(client))),
        },
    };
    proto::Standing { at: Some(attempt(at)), state, reason, other: other.map(party) }
}

fn update(update: &Update) -> proto::Update {
    proto::Update {
        at: Some(attempt(update.at)),
        question: update.question.to_vec(),
        exponent: update.answer.grid().exponent(),
        units: update.answer.units().to_vec(),
        position: Some(place(&update.position)),
    }
}

pub(super) fn reply(reply: &ServerReply) -> Body {
    Body::Reply(proto::Reply {
        to: reply.to.to_vec(),
        seen: reply.seen.as_ref().map(place),
        instructions: reply
            .instructions
            .iter()
            .map(|one| proto::Instruction { what: Some(instruction(one)) })
            .collect(),
    })
}

fn instruction(instruction: &Instruction) -> What {
    match instruction {
        Instruction::Propose { manifest } => What::Proposal(proto::Proposal { manifest: manifest.clone() }),
        Instruction::Begin { signatures } => {
            let signatures = signatures.iter().map(Signature::bytes).map(<[u8]>::to_vec).collect();
            What::Begin(proto::Begin { signatures })
        }
        Instruction::Ask { at, query } => What::Ask(proto::Ask { at: Some(attempt(*at)), query: query.clone() }),
        Instruction::Receipt { at, applied } => What::Receipt(proto::Receipt {
            at: Some(attempt(*at)),
            kept: applied.is_some(),
            applied: applied.clone().unwrap_or_default(),
        }),
        Instruction::Held { at } => What::Held(proto::Held { at: Some(attempt(*at)) }),
        Instruction::Refuse(refusal) => What::Refusal(proto::Refusal { reason: number(&RefusalCode::ALL, refusal) }),
        Instruction::Rest => What::Rest(proto::Rest {}),
        Instruction::Finished(outcome) => What::Finished(finished(*outcome)),
        Instruction::Session { at, query, close } => {
            What::Session(proto::Session { at: Some(attempt(*at)), query: query.clone(), close: *close })
        }
        Instruction::Mail(mail) => {
            let one = |(number, content): &(u64, SealedMessage)| proto::Delivery {
                number: *number,
                letter: Some(letter(content)),
            };
            What::Mail(proto::Mail { deliveries: mail.iter().map(one).collect() })
        }
        Instruction::Certificate { chain } => What::Certificate(proto::Certificate { chain: chain.clone() }),
    }
}

/// Who does not know that members are named here still reads that the run has failed.
fn finished(outcome: RunOutcome) -> proto::Finished {
    match outcome {
        RunOutcome::SumFailed(member) => {
            proto::Finished { outcome: number(&RunOutcome::ALL, &RunOutcome::Failed), failed: Some(party(member)) }
        }
        other => proto::Finished { outcome: number(&RunOutcome::ALL, &other), failed: None },
    }
}

pub(super) fn letter(letter: &SealedMessage) -> proto::Letter {
    proto::Letter {
        from: Some(party(letter.from)),
        to: Some(party(letter.to)),
        at: Some(attempt(letter.at)),
        question: letter.question.to_vec(),
        key: letter.key.clone(),
        sealed: letter.sealed.clone(),
        signature: letter.signature.bytes().to_vec(),
    }
}

fn party(member: MemberId) -> proto::Party {
    match member {
        MemberId::Site(site) => proto::Party { kind: 1, number: u32::try_from(site).unwrap_or(u32::MAX) },
        MemberId::Node(number) => proto::Party { kind: 2, number },
        MemberId::Server => proto::Party { kind: 3, number: 0 },
    }
}

fn attempt(at: Attempt) -> proto::Try {
    proto::Try { round: at.round, attempt: at.attempt }
}

fn place(position: &Position) -> proto::Position {
    proto::Position { sequence: position.sequence, digest: position.digest.to_vec() }
}

/// The number of one of a fixed list, from 1.
fn number<T: PartialEq>(all: &[T], one: &T) -> u32 {
    (1..).zip(all).find(|(_, each)| *each == one).map_or(0, |(number, _)| number)
}
