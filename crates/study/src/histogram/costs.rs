//! What a histogram study costs a user: ε by rounds, for whoever may look.

use super::meant::Histogram;
use crate::digits::up_to;
use crate::error::StudyError;
use privacy::accounting::by_name;
use privacy::{Adversary, Bounds, Event, PrivacyError, Steps};
use serde::Serialize;

/// Somebody who looks, and ε after some numbers of rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Who.
    pub against: &'static str,
    /// What they see.
    pub sees: &'static str,
    /// True for the one that users' ledgers are charged for.
    pub charged: bool,
    /// (rounds, upper end of the certified ε, lower end).
    pub by_rounds: Vec<(u64, f64, f64)>,
    /// Why there are no numbers.
    pub refused: Option<String>,
}

impl Cost {
    /// ε of all rounds, from above.
    pub fn epsilon(&self) -> Option<f64> {
        self.by_rounds.last().map(|point| point.1)
    }

    /// The same for people.
    pub fn shown(&self) -> String {
        self.epsilon().map_or_else(|| "–".into(), |epsilon| up_to(epsilon, 4))
    }
}

/// What an adversary is called and sees.
pub(super) const fn words(adversary: Adversary) -> (&'static str, &'static str) {
    match adversary {
        Adversary::Strong => {
            ("strong adversary", "counts, all other answers, and who answered at random, the user included")
        }
        Adversary::Weak => ("weak adversary", "counts, all other answers, and who of the others answered at random"),
        Adversary::Outside => ("outside adversary", "the counts that are published; all other users' true categories"),
    }
}

/// 1, 2, 4, … rounds, and all of them.
fn places(rounds: Steps) -> Vec<u64> {
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(2));
    powers.take_while(|&power| power < rounds.get()).chain([rounds.get()]).collect()
}

/// All costs at the study's δ. The charged one must have an answer; others say why they have none.
pub(super) fn all(study: &Histogram) -> Result<Vec<Cost>, StudyError> {
    let adversaries: &[Adversary] =
        if study.sampled() { &[Adversary::Outside] } else { &[Adversary::Strong, Adversary::Weak] };
    let mut costs = Vec::new();
    for &adversary in adversaries {
        let charged = adversary == study.charged_for();
        costs.push(cost(study, words(adversary), charged, &|rounds| study.shuffled(adversary, rounds))?);
    }
    let clones = ("clones", "counts, of reports of which only the local ε is known");
    costs.push(cost(study, clones, false, &|rounds| study.clones(rounds))?);
    let alone = ("no shuffler", "every answer of a user who is asked in every round, with the user's name");
    costs.push(cost(study, alone, false, &|rounds| study.local(rounds))?);
    Ok(costs)
}

fn cost(
    study: &Histogram,
    (against, sees): (&'static str, &'static str),
    charged: bool,
    event: &dyn Fn(Steps) -> Result<Event, PrivacyError>,
) -> Result<Cost, StudyError> {
    let at = |rounds: u64| {
        let bounds = certified(&event(Steps::new(rounds)?)?, study)?;
        Ok((rounds, bounds.upper, bounds.lower))
    };
    let answers: Result<Vec<(u64, f64, f64)>, PrivacyError> = places(study.rounds).into_iter().map(at).collect();
    match answers {
        Ok(by_rounds) => Ok(Cost { against, sees, charged, by_rounds, refused: None }),
        Err(error) if charged => Err(error.into()),
        Err(error) => Ok(Cost { against, sees, charged, by_rounds: Vec::new(), refused: Some(error.to_string()) }),
    }
}

/// ε of an event at the study's δ.
fn certified(event: &Event, study: &Histogram) -> Result<Bounds, PrivacyError> {
    match by_name("pld") {
        Some(pld) => pld.epsilon(std::slice::from_ref(event), study.delta),
        None => Ok(Bounds::at_most(f64::INFINITY)),
    }
}
