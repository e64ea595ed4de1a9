//! The state of a run, made again from the answers that were accepted.

use super::{AcceptedAnswer, Fold, FoldInput};
use inference::algorithm::{Answers, Protocol};

/// Is told of a fold, of what was folded, and of the state after it; refuses in words.
pub type SeeFold<'a> = dyn FnMut(&Fold, &Answers, &[u8]) -> Result<(), String> + 'a;

/// Folds all that was folded, from the start, and gives the last state. `see` is told of every fold, what was folded, and the
/// state after it.
///
/// # Errors
///
/// In words: an answer that was folded and is not there, folds out of order, or what the protocol refuses.
pub fn refold(
    protocol: &dyn Protocol,
    accepted: &[AcceptedAnswer],
    folds: &[Fold],
    see: &mut SeeFold<'_>,
) -> Result<Vec<u8>, String> {
    let mut state = protocol.start().map_err(|error| error.to_string())?;
    for (number, fold) in (0_u64..).zip(folds) {
        if fold.number != number {
            return Err(format!("fold {} stands where fold {number} should", fold.number));
        }
        let answers = match &fold.of {
            FoldInput::Each(attempts) => {
                let answer = |(site, at): &(usize, crate::message::Attempt)| {
                    let kept = accepted.iter().find(|one| (one.site, one.update.at) == (*site, *at));
                    kept.map(|one| (*site, one.update.answer.clone())).ok_or("an answer that was applied is not stored")
                };
                Answers::Each(attempts.iter().map(answer).collect::<Result<_, _>>()?)
            }
            FoldInput::Sum { total, from } => Answers::Sum { total: total.clone(), from: from.clone() },
        };
        state = protocol.fold(&state, &answers).map_err(|error| error.to_string())?.state;
        see(fold, &answers, &state)?;
    }
    Ok(state)
}
