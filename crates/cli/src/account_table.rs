//! The answer for people: a short table that says what is promised, to whom and under which conventions.

use crate::terminal;
use privacy::{Adjacency, Event, Mechanism, Sampling, Unit};
use report::layout;
use study::account::{AccountAnswer, Found, Plan, words};
use study::digits::{down, shortest, up};

/// Events of a file that are listed one by one; the rest is counted.
const LISTED: usize = 8;

/// Rows of a label and its text; a row without a label continues the one above.
pub(crate) type TableRows = Vec<(&'static str, String)>;

/// The table as text.
pub(crate) fn of(answer: &AccountAnswer) -> String {
    let mut rows = found(answer);
    rows.extend(mechanism(&answer.plan, answer.found));
    rows.extend(worst_cases(answer).map(|words| ("", words)));
    rows.push(("sampling", sampling(&answer.plan)));
    rows.push(("neighbours", neighbours(&answer.plan)));
    rows.push(("unit", protected(&answer.plan)));
    if answer.plan.overlap.get() > 1 {
        let text = format!("a person may be at up to {} clients that each run this plan", answer.plan.overlap);
        rows.push(("overlap", text));
    }
    rows.push(("accountant", format!("{}: {}", answer.accountant.name, answer.accountant)));
    lines(&rows)
}

/// Rows as lines of text.
pub(crate) fn lines(rows: &TableRows) -> String {
    layout::rows(rows.iter().map(|(label, text)| (*label, text.as_str())), terminal::width())
}

/// The number that was asked for, and how sure it is.
fn found(answer: &AccountAnswer) -> TableRows {
    let delta = shortest(answer.delta.upper);
    let epsilon = up(answer.epsilon.upper);
    let mut rows = match answer.found {
        Found::Epsilon => vec![("ε", format!("{epsilon} at δ = {delta}"))],
        Found::Delta => vec![("δ", format!("{} at ε = {}", up(answer.delta.upper), shortest(answer.epsilon.upper)))],
        Found::NoiseMultiplier(z, budget) => {
            let (z, budget) = (up(z.get()), shortest(budget.get()));
            vec![("multiplier", format!("{z} keeps ε within {budget} at δ = {delta}")), ("ε", epsilon)]
        }
        Found::Steps(budget) => {
            let budget = shortest(budget.get());
            vec![("steps", format!("{} within ε = {budget} at δ = {delta}", fitting(answer))), ("ε", epsilon)]
        }
    };
    let letter = if answer.found == Found::Delta { "δ" } else { "ε" };
    rows.push(("", certainty(letter, answer)));
    if answer.verified {
        rows.push(("", format!("verified: {} intervals intersect", answer.plan.evaluators())));
    }
    rows
}

/// How many steps fit, in words.
fn fitting(answer: &AccountAnswer) -> String {
    match answer.plan.steps() {
        _ if answer.is_most_asked() => "at least 10^12 (the largest that is asked) fit".into(),
        1 => "1 fits".into(),
        steps => format!("{steps} fit"),
    }
}

/// Whether the truth is enclosed, bounded from above only, or what a paper says of it; and whose truth it is.
fn certainty(letter: &str, answer: &AccountAnswer) -> String {
    let (lower, upper) = (down(answer.cost().lower), up(answer.cost().upper));
    let name = answer.accountant.name;
    match (answer.two_sided, answer.of_worst_pair()) {
        (false, _) if answer.accountant.published_only => {
            format!("as published ({name}): {letter} = {upper} by the authors' formula; not certified by this program")
        }
        (false, _) => format!("certified, upper bound only ({name}): the true {letter} is at most {upper}"),
        (true, false) => format!("certified: the true {letter} lies in [{lower}, {upper}]"),
        (true, true) => {
            let whose = format!("{letter} of the worst case that the theorem allows (dominating pair)");
            format!("certified: {whose} lies in [{lower}, {upper}]")
        }
    }
}

/// What is done, and what its numbers mean.
fn mechanism(plan: &Plan, found: Found) -> TableRows {
    // A multiplier that was found is rounded up: more noise keeps the promise too.
    let show = if matches!(found, Found::NoiseMultiplier(..)) { up } else { shortest };
    let [event] = plan.events.as_slice() else { return listed(plan) };
    let times = if event.steps().get() == 1 { "once".to_owned() } else { format!("{} times", event.steps()) };
    match event.mechanism() {
        Mechanism::Gaussian { noise_multiplier } => {
            noise(format!("Gaussian noise on a clipped sum, {times}"), "deviation", event, |factor| {
                show(factor * noise_multiplier.get())
            })
        }
        Mechanism::Laplace { noise_multiplier } => {
            noise(format!("Laplace noise on a clipped sum, {times}"), "scale", event, |factor| {
                show(factor * noise_multiplier.get())
            })
        }
        other => vec![("mechanism", format!("{other}, {times}"))],
    }
}

/// Whose the dominating pair is, where an interval is printed for one that may not be reached.
fn worst_cases(answer: &AccountAnswer) -> Option<String> {
    let [event] = answer.plan.events.as_slice() else { return None };
    let pair = event.dominating_pair().filter(|_| answer.of_worst_pair())?;
    Some(format!("dominating pair: {pair}"))
}

/// Noise and the convention of its multiplier.
fn noise(words: String, width: &str, event: &Event, times: impl Fn(f64) -> String) -> TableRows {
    let unit = event.unit();
    let (change, reach, factor) = match event.adjacency() {
        Adjacency::AddRemove => ("more or less", "C", 1.0),
        Adjacency::Substitute => ("replaced", "2C", 2.0),
    };
    let convention = format!("one {unit} {change} moves a sum of {unit}s clipped to C by {reach}");
    vec![
        ("mechanism", words),
        ("multiplier", format!("{} = noise {width} / sensitivity", times(1.0))),
        ("", format!("{convention}: here the noise {width} is {} C", times(factor))),
    ]
}

/// Several events, one to a row.
fn listed(plan: &Plan) -> TableRows {
    let mut rows: TableRows = plan.events.iter().take(LISTED).map(|event| ("", words(event))).collect();
    if let Some(rest) = plan.events.len().checked_sub(LISTED + 1) {
        rows.push(("", format!("… and {} more", rest + 1)));
    }
    if let Some(first) = rows.first_mut() {
        first.0 = "mechanisms";
    }
    rows.push(("multiplier", "noise deviation (Laplace: scale) / sensitivity of the relation below".into()));
    rows
}

/// How rows are drawn; or clients where they are the unit, or users where each gives one answer.
fn sampling(plan: &Plan) -> String {
    let (one, all) = match plan.unit() {
        _ if plan.asks_people() => ("user", "users"),
        Unit::Example => ("row", "rows"),
        Unit::Person => ("person", "persons"),
        Unit::Client => ("client", "clients"),
    };
    match plan.common(|event| *event.sampling()) {
        Some(Sampling::None) => format!("none: every {one} takes part in every step"),
        Some(Sampling::Poisson { rate }) => {
            format!("poisson: each {one} is in a step with probability {}, independently", shortest(rate.get()))
        }
        Some(fixed @ Sampling::WithoutReplacement { .. }) => {
            let share = shortest(fixed.rate());
            format!("without-replacement: each step uses a fixed share of {share} of the {all}, drawn at random")
        }
        None => "mixed: see the mechanisms above".into(),
    }
}

/// Which data sets are neighbours.
fn neighbours(plan: &Plan) -> String {
    let unit = plan.unit();
    match plan.adjacency() {
        Some(Adjacency::AddRemove) => format!("add-remove: one {unit} more or less; how many there are is private"),
        Some(Adjacency::Substitute) => format!("substitute: one {unit} replaced by any other; how many is public"),
        None => "not named: the relation in which ε and δ of each step hold".into(),
    }
}

/// Who is protected.
fn protected(plan: &Plan) -> String {
    let (one, many) = match plan.unit() {
        Unit::Example if plan.asks_people() => ("one user's answer is", "users' answers"),
        Unit::Example => ("one row is", "rows"),
        Unit::Person => ("all rows of one person are", "persons with all their rows"),
        Unit::Client => ("all rows of one client are", "clients with all their rows"),
    };
    match plan.group.get() {
        1 => format!("{}: {one} protected", plan.unit()),
        size => format!("{}: any {size} {many} are protected together", plan.unit()),
    }
}
