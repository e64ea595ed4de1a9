//! The opening of a hybrid as typed and as meant.

use super::fault::Fault;
use super::method::At;
use inference::settings::{Hybrid, Solver};
use privacy::NormBound;
use serde::Deserialize;

/// `opening`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpeningAsTyped {
    updates: u64,
    share: f64,
    clip: f64,
}

/// The hybrid solver that a method names.
pub(super) fn solver(at: &At<'_>) -> Result<Solver, Fault> {
    let hint =
        "opening = { updates = 5, share = 0.5, clip = 1.0 }: analytic updates, their share of the budget, their bound";
    let Some(typed) = at.typed.opening else {
        return Err(at.fault("solver", "S011", "a hybrid opens with analytic updates, and `opening` is missing", hint));
    };
    if typed.updates == 0 || !(typed.share > 0.0 && typed.share < 1.0) {
        let why = "an opening has at least one update and a share of the budget over 0 and under 1";
        return Err(at.fault("opening", "S004", why, hint));
    }
    let clip =
        NormBound::new(typed.clip).map_err(|error| at.fault("opening.clip", "S004", &error.to_string(), hint))?;
    Ok(Solver::Hybrid(Hybrid { updates: typed.updates, share: typed.share, clip }))
}
