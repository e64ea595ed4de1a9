//! How scores are printed: headings, cells and phrases, from what each score says of itself.

use super::numbers::{fixed, percent, spread};
use super::standing::Standing;
use inference::results::Summary;
use inference::score::{Prominence, Score, ScoreUnit};

/// Scores of some method that are shown in such a place, in their order.
pub(crate) fn shown(standing: &Standing, place: Prominence) -> Vec<&'static Score> {
    let mut found: Vec<&'static Score> = Vec::new();
    for (score, _) in standing.results.methods.iter().flat_map(|method| method.scores.iter()) {
        if score.is_shown_in(place) && !found.contains(&score) {
            found.push(score);
        }
    }
    found.sort_by_key(|score| score.place());
    found
}

/// A heading with the sign of per cent behind it, where the score is a share.
pub(crate) fn heading(name: &str, score: &Score, blank: char) -> String {
    if score.unit == ScoreUnit::Share { format!("{name}{blank}%") } else { name.to_owned() }
}

/// The label with a capital.
pub(crate) fn capital(score: &Score) -> String {
    super::summary::sentence(score.label)
}

/// The label and the unit, for an axis.
pub(crate) fn axis(score: &Score) -> String {
    score.unit.words().map_or_else(|| score.label.to_owned(), |unit| format!("{}, {unit}", score.label))
}

/// The label with a capital and the unit in brackets, for a caption.
pub(crate) fn caption(score: &Score) -> String {
    score.unit.words().map_or_else(|| capital(score), |unit| format!("{} ({unit})", capital(score)))
}

/// Mean and standard deviation in a table of methods.
pub(crate) fn in_table(score: &Score, summary: &Summary) -> String {
    spread(summary, score.factor(), score.digits.table)
}

/// Mean and standard deviation in a tile or a table of sites.
pub(crate) fn in_text(score: &Score, summary: &Summary) -> String {
    spread(summary, score.factor(), score.digits.text)
}

/// The mean in a sentence: "84.1 % accuracy", "mean absolute error 0.512".
pub(crate) fn phrase(score: &Score, mean: f64) -> String {
    match score.unit {
        ScoreUnit::Share => format!("{} {}", percent(mean), score.label),
        _ => format!("{} {}", score.label, fixed(mean, score.digits.text)),
    }
}

/// The unit behind a number, with a blank between them; nothing where there is none.
pub(crate) fn behind(score: &Score) -> String {
    score.unit.words().map(|unit| format!(" {unit}")).unwrap_or_default()
}
