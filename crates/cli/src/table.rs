//! The answer for people: a short table that says what is promised, to whom and under which conventions.

use crate::account::{Answer, Found, two_sided};
use crate::digits::{down, shortest, up};
use crate::plan::Plan;
use privacy::{Adjacency, Bounds, Event, Mechanism, Sampling, Unit};

/// Events of a file that are listed one by one; the rest is counted.
const LISTED: usize = 8;

/// Rows of a label and its text; a row without a label continues the one above.
pub(crate) type Rows = Vec<(&'static str, String)>;

/// The table as text.
pub(crate) fn of(answer: &Answer) -> String {
    let mut rows = found(answer);
    rows.extend(mechanism(&answer.plan, answer.found));
    rows.push(("sampling", sampling(&answer.plan)));
    rows.push(("neighbours", neighbours(&answer.plan)));
    rows.push(("unit", protected(&answer.plan)));
    if answer.plan.overlap.get() > 1 {
        let text = format!("a person may be at up to {} clients that each run this plan", answer.plan.overlap);
        rows.push(("overlap", text));
    }
    rows.push(("accountant", format!("{}: {}", answer.accountant, method(answer.accountant))));
    lines(&rows)
}

/// Rows as lines of text.
pub(crate) fn lines(rows: &Rows) -> String {
    rows.iter().map(|(label, text)| format!("{label:<12}{text}\n")).collect()
}

/// The number that was asked for, and how sure it is.
fn found(answer: &Answer) -> Rows {
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
            let steps = answer.plan.steps();
            vec![("steps", format!("{steps} fit within ε = {} at δ = {delta}", shortest(budget.get()))), ("ε", epsilon)]
        }
    };
    let letter = if answer.found == Found::Delta { "δ" } else { "ε" };
    rows.push(("", certainty(letter, answer.cost(), answer.accountant)));
    rows
}

/// Whether the truth is enclosed or bounded from above only.
fn certainty(letter: &str, cost: Bounds, accountant: &str) -> String {
    if two_sided(cost) {
        format!("certified: the true {letter} lies in [{}, {}]", down(cost.lower), up(cost.upper))
    } else {
        format!("upper bound only ({accountant}): the true {letter} is at most {}", up(cost.upper))
    }
}

/// What is done, and what its numbers mean.
fn mechanism(plan: &Plan, found: Found) -> Rows {
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
        other => {
            let mut rows = vec![("mechanism", format!("{other}, {times}"))];
            rows.extend(worst_case(other).map(|words| ("", words.to_owned())));
            rows
        }
    }
}

/// Of whom an interval speaks, where the mechanism is known in part only.
fn worst_case(mechanism: &Mechanism) -> Option<&'static str> {
    match mechanism {
        Mechanism::Approximate { .. } => Some("an interval is for the worst mechanism that has these ε and δ"),
        Mechanism::ShuffleClones { .. } => {
            Some("an interval is for the clones pair of Feldman et al. 2023, which bounds every such report")
        }
        Mechanism::ShuffleRandomisedResponse { .. } => {
            Some("an interval is for the pair of Koskela et al. 2023, which bounds every such adversary")
        }
        _ => None,
    }
}

/// Noise and the convention of its multiplier.
fn noise(words: String, width: &str, event: &Event, times: impl Fn(f64) -> String) -> Rows {
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
fn listed(plan: &Plan) -> Rows {
    let mut rows: Rows = plan.events.iter().take(LISTED).map(|event| ("", event.to_string())).collect();
    if let Some(rest) = plan.events.len().checked_sub(LISTED + 1) {
        rows.push(("", format!("… and {} more", rest + 1)));
    }
    if let Some(first) = rows.first_mut() {
        first.0 = "mechanisms";
    }
    rows.push(("multiplier", "noise deviation (Laplace: scale) / sensitivity of the relation below".into()));
    rows
}

/// How rows are drawn, or users where each gives one answer.
fn sampling(plan: &Plan) -> String {
    let (one, all) = if plan.asks_people() { ("user", "users") } else { ("row", "rows") };
    match plan.common(|event| *event.sampling()) {
        Some(Sampling::None) => format!("none: every {one} takes part in every step"),
        Some(Sampling::Poisson { rate }) => {
            format!("poisson: each {one} is in a step on its own with probability {}", shortest(rate.get()))
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
    let (unit, meaning) = match plan.unit() {
        Unit::Example if plan.asks_people() => ("example", "one user's answer"),
        Unit::Example => ("example", "one row"),
        Unit::Client => ("client", "all rows of one client"),
    };
    match plan.group.get() {
        1 => format!("{unit}: {meaning} is protected"),
        size => format!("{unit}: any {size} of them together are protected, each {meaning}"),
    }
}

/// The method, in words.
fn method(accountant: &str) -> &'static str {
    match accountant {
        "pld" => "privacy loss distribution, certified from both sides",
        "rdp" => "Rényi divergences",
        "moments" => "moments at integer orders up to 32",
        "zcdp" => "zero-concentrated differential privacy",
        "gdp" => "Gaussian differential privacy",
        "classical" => "the classical Gaussian mechanism, for ε under 1",
        "basic" => "basic composition, sums of ε and δ",
        "advanced" => "advanced composition",
        "optimal" => "optimal composition of (ε, δ)",
        _ => "as named",
    }
}
