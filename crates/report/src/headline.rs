//! The table of methods.

use super::differences;
use super::numbers::{NOTHING, bound, bytes, count, fixed, seconds};
use super::page::{Table, note, section as titled};
use super::scores::{self, heading, in_table};
use super::standing::{Placed, Role, Standing, spent};
use super::summary::sentence;
use crate::svg::escape;
use inference::Fit;
use inference::results::Summary;
use inference::score::{MAIN, Prominence, Score, ScoreUnit};
use study::digits::shortest;

/// One row for each method, in the study's order.
pub(crate) fn section(standing: &Standing) -> String {
    let mut table = Table::new("Methods, scores on held-out rows", head(standing));
    for placed in standing.methods() {
        table.push(class(standing.role(placed.number)), cells(standing, placed));
    }
    titled(
        "methods",
        "Methods compared",
        &(table.html() + &note(&explained(standing)) + &differences::tables(standing)),
    )
}

fn head(standing: &Standing) -> Vec<String> {
    let mut head = vec!["method".to_owned()];
    head.extend(scores::shown(standing, Prominence::Page).iter().map(|score| heading(score.label, score, '\u{a0}')));
    if standing.private() {
        head.extend(["ε granted", "ε certified", "ε claimed", "δ"].map(str::to_owned));
    }
    head.extend(["messages", "sent", "CPU"].map(str::to_owned));
    head.iter().map(|heading| escape(heading)).collect()
}

/// A mean with its standard deviation below.
fn cell(score: &Score, summary: Option<&Summary>) -> String {
    let shown = summary.map_or_else(|| NOTHING.into(), |summary| in_table(score, summary));
    match shown.split_once(" ± ") {
        Some((mean, deviation)) => format!("{mean}<span class=\"sd\">± {deviation}</span>"),
        None => shown,
    }
}

fn cells(standing: &Standing, placed: Placed) -> Vec<String> {
    let method = placed.method;
    let mut cells = vec![name(standing, placed)];
    let shown = scores::shown(standing, Prominence::Page);
    cells.extend(shown.into_iter().map(|score| cell(score, method.scores.get(score.name))));
    if standing.private() {
        cells.extend(privacy(placed));
    }
    cells.extend([count(method.messages), bytes(method.bytes), seconds(method.cpu_seconds)]);
    cells
}

/// ε granted, certified, claimed, and δ.
fn privacy(placed: Placed) -> Vec<String> {
    let Some(privacy) = &placed.method.privacy else {
        return vec!["<span class=\"none\">none</span>".into(), NOTHING.into(), NOTHING.into(), NOTHING.into()];
    };
    let (certified, claimed) = spent(privacy)
        .map_or((NOTHING.into(), NOTHING.into()), |(certified, claimed)| (bound(certified), bound(claimed)));
    vec![shortest(privacy.epsilon), certified, claimed, shortest(privacy.delta)]
}

/// The mark, the name, how it works and what it is to the reader.
fn name(standing: &Standing, placed: Placed) -> String {
    let method = placed.method;
    let badge = match standing.role(placed.number) {
        Role::Best => format!(" <span class=\"badge best\">{}</span>", escape(&standing.best_label())),
        Role::Other if !method.baseline => String::new(),
        _ => " <span class=\"badge\">baseline</span>".into(),
    };
    let rounds = fixed(method.rounds, 0);
    let rounds = if rounds == "1" { "1 round".into() } else { format!("{rounds} rounds") };
    let rounds = method.fit.map_or(rounds, searched);
    let how = [&method.algorithm, &method.solver, &method.schedule, &rounds].map(String::as_str).join(" · ");
    format!(
        "{} <span class=\"name\">{}</span>{badge}<span class=\"how\">{}</span>",
        placed.mark.swatch(),
        escape(&method.name),
        escape(&how)
    )
}

/// How many steps a baseline took, and whether they led to an optimum.
fn searched(fit: Fit) -> String {
    let steps = if fit.steps == 1 { "1 step".into() } else { format!("{} steps", fit.steps) };
    match fit.converged {
        Some(true) => format!("converged in {steps}"),
        Some(false) => format!("not converged in {steps}: nothing is compared with it"),
        None => format!("{steps}, a fixed number"),
    }
}

fn class(role: Role) -> &'static str {
    match role {
        Role::Best => "best",
        Role::NonPrivate | Role::LocalOnly | Role::Constant => "baseline",
        Role::Other => "",
    }
}

fn explained(standing: &Standing) -> String {
    let mut words = String::new();
    if standing.seeds() > 1 {
        words += "Mean ± standard deviation over seeds. ";
    }
    words += &format!("{} ", MAIN.about);
    if standing.private() {
        words += "ε of the site that spent most: certified is a proven upper bound, rounded up; claimed is what the \
                  study's own accountant says. ";
        words += &match standing.best_of_each().len() > 1 {
            false => format!("Best is the highest {}", MAIN.label),
            true => format!("Best is the highest {}, whatever the ε,", MAIN.label),
        };
        words += " on these held-out rows; choosing by it is slightly optimistic. A method that scores below the constant answer is \
                  never marked. ";
    }
    let shown = scores::shown(standing, Prominence::Page);
    if shown.iter().any(|score| score.unit == ScoreUnit::Outcome) {
        words += if standing.encoded_scores() {
            "Errors are in units of the encoded outcome, as the schema scales it. "
        } else {
            "Errors are in the units of the outcome. "
        };
    }
    for score in shown.into_iter().filter(|score| *score != MAIN && !score.about.is_empty()) {
        words += &format!("{} ", score.about);
    }
    if let Some(constant) = standing.constant() {
        words += &format!("{} answers every row alike, without inputs. ", sentence(&constant.method.name));
    }
    words
        + "Messages and bytes are means over seeds, bytes those that clients send, seeds of a secure sum included; processor time is the sum over seeds."
}
