//! From protocol buffers to what is meant, or a refusal.

use super::{ServerReply, WireError, proto};
use crate::identity::Signature;
use crate::log::Position;
use crate::message::{
    Attempt, DeclineReason, Instruction, MemberId, NodeState, RefusalCode, Request, RunOutcome, SealedMessage, Update,
};
use privacy::noise::Digest;
use privacy::secure_sum::Renunciation;
use privacy::{Grid, GridVector};
use proto::content::Body;
use proto::instruction::What;

pub(super) fn request(body: Option<&Body>) -> Result<Request, WireError> {
    Ok(match body.ok_or(WireError::Malformed("no body"))? {
        Body::Attend(attend) => Request::Attend {
            position: attend.position.as_ref().map(place).transpose()?,
            wait: attend.wait,
            begun: attend.begun,
            unsettled: attend.unsettled.as_ref().map(of_try),
            mail: attend.mail,
            closed: attend.closed,
        },
        Body::Agreement(agreement) => Request::Agree { signature: Signature::from_bytes(&agreement.signature) },
        Body::Decline(decline) => {
            Request::Decline { at: attempt(decline.at.as_ref())?, reason: one_of(&DeclineReason::ALL, decline.reason)? }
        }
        Body::Update(answer) => Request::Update(update(answer)?),
        Body::Letters(letters) => Request::Letters(letters.letters.iter().map(letter).collect::<Result<_, _>>()?),
        Body::Contributed(done) => Request::Contributed {
            at: attempt(done.at.as_ref())?,
            question: digest(&done.question)?,
            position: place(done.position.as_ref().ok_or(WireError::Malformed("no position"))?)?,
        },
        Body::Standing(one) => Request::Standing { at: attempt(one.at.as_ref())?, state: standing(one)? },
        Body::Renewal(renewal) => Request::Renew { request: renewal.request.clone() },
        Body::Reply(_) => return Err(WireError::Malformed("a reply where a request is expected")),
    })
}

/// How a node stands. Only a renunciation has a reason, and only some reasons name another party.
fn standing(standing: &proto::Standing) -> Result<NodeState, WireError> {
    let other = standing.other.as_ref().map(|other| party(Some(other))).transpose()?;
    let why = match (standing.state, standing.reason, other) {
        (1, 0, None) => return Ok(NodeState::Published),
        (2, 0, None) => Renunciation::Lost,
        (2, 1, None) => Renunciation::TooFew,
        (2, 2, None) => Renunciation::Terms,
        (2, 3, Some(MemberId::Node(with))) => Renunciation::Disagreement { with },
        (2, 4, Some(MemberId::Site(site))) => Renunciation::Incomplete { client: site as u64 },
        _ => return Err(WireError::Malformed("no such standing")),
    };
    Ok(NodeState::Renounced(why))
}

fn update(update: &proto::Update) -> Result<Update, WireError> {
    let grid = Grid::new(update.exponent).map_err(|_| WireError::Malformed("no such grid"))?;
    Ok(Update {
        at: attempt(update.at.as_ref())?,
        question: digest(&update.question)?,
        answer: GridVector::new(grid, update.units.clone()),
        position: place(update.position.as_ref().ok_or(WireError::Malformed("no position"))?)?,
    })
}

pub(super) fn reply(body: Option<&Body>) -> Result<ServerReply, WireError> {
    let Some(Body::Reply(reply)) = body else {
        return Err(WireError::Malformed("a request where a reply is expected"));
    };
    let instructions = reply.instructions.iter().map(|one| instruction(one.what.as_ref()));
    Ok(ServerReply {
        to: digest(&reply.to)?,
        seen: reply.seen.as_ref().map(place).transpose()?,
        instructions: instructions.collect::<Result<_, _>>()?,
    })
}

fn instruction(what: Option<&What>) -> Result<Instruction, WireError> {
    Ok(match what.ok_or(WireError::Malformed("no instruction"))? {
        What::Proposal(proposal) => Instruction::Propose { manifest: proposal.manifest.clone() },
        What::Begin(begin) => {
            let signatures = begin.signatures.iter().map(|bytes| Signature::from_bytes(bytes));
            Instruction::Begin { signatures: signatures.collect() }
        }
        What::Ask(ask) => Instruction::Ask { at: attempt(ask.at.as_ref())?, query: ask.query.clone() },
        What::Receipt(receipt) => Instruction::Receipt {
            at: attempt(receipt.at.as_ref())?,
            applied: receipt.kept.then(|| receipt.applied.clone()),
        },
        What::Held(held) => Instruction::Held { at: attempt(held.at.as_ref())? },
        What::Refusal(refusal) => Instruction::Refuse(one_of(&RefusalCode::ALL, refusal.reason)?),
        What::Rest(_) => Instruction::Rest,
        What::Finished(end) => Instruction::Finished(finished(end)?),
        What::Session(session) => Instruction::Session {
            at: attempt(session.at.as_ref())?,
            query: session.query.clone(),
            close: session.close,
        },
        What::Mail(mail) => Instruction::Mail(mail.deliveries.iter().map(delivery).collect::<Result<_, _>>()?),
        What::Certificate(certificate) => Instruction::Certificate { chain: certificate.chain.clone() },
    })
}

/// How a run ended. A member is named where a sum has failed, and nowhere else.
fn finished(end: &proto::Finished) -> Result<RunOutcome, WireError> {
    match (one_of(&RunOutcome::ALL, end.outcome)?, &end.failed) {
        (outcome, None) => Ok(outcome),
        (RunOutcome::Failed, member) => Ok(RunOutcome::SumFailed(party(member.as_ref())?)),
        (_, Some(_)) => Err(WireError::Malformed("a member is named where no sum has failed")),
    }
}

fn delivery(delivery: &proto::Delivery) -> Result<(u64, SealedMessage), WireError> {
    let content = delivery.letter.as_ref().ok_or(WireError::Malformed("no letter"))?;
    Ok((delivery.number, letter(content)?))
}

fn letter(letter: &proto::Letter) -> Result<SealedMessage, WireError> {
    Ok(SealedMessage {
        from: party(letter.from.as_ref())?,
        to: party(letter.to.as_ref())?,
        at: attempt(letter.at.as_ref())?,
        question: digest(&letter.question)?,
        key: letter.key.clone(),
        sealed: letter.sealed.clone(),
        signature: Signature::from_bytes(&letter.signature),
    })
}

fn party(party: Option<&proto::Party>) -> Result<MemberId, WireError> {
    match party {
        Some(proto::Party { kind: 1, number }) => Ok(MemberId::Site(*number as usize)),
        Some(proto::Party { kind: 2, number }) => Ok(MemberId::Node(*number)),
        Some(proto::Party { kind: 3, number: 0 }) => Ok(MemberId::Server),
        _ => Err(WireError::Malformed("no such party")),
    }
}

fn attempt(at: Option<&proto::Try>) -> Result<Attempt, WireError> {
    at.map(of_try).ok_or(WireError::Malformed("no attempt"))
}

fn of_try(at: &proto::Try) -> Attempt {
    Attempt { round: at.round, attempt: at.attempt }
}

fn place(position: &proto::Position) -> Result<Position, WireError> {
    Ok(Position { sequence: position.sequence, digest: digest(&position.digest)? })
}

pub(super) fn digest(bytes: &[u8]) -> Result<Digest, WireError> {
    bytes.try_into().map_err(|_| WireError::Malformed("no digest"))
}

/// One of a fixed list, by its number from 1.
fn one_of<T: Copy>(all: &[T], number: u32) -> Result<T, WireError> {
    let place = (number as usize).checked_sub(1);
    place.and_then(|place| all.get(place)).copied().ok_or(WireError::Malformed("no such number"))
}
