//! Histograms of randomised answers through a shuffler: `check`, `plan` and `simulate` of a file with `[histogram]`.

mod costs;
mod meant;
mod page;
mod run;

pub(crate) use meant::Histogram;
pub(crate) use run::run;

use crate::failure::Failure;
use costs::Cost;
use federation::digits::{shortest, up_to};

/// `posterity check`: what would run.
pub(crate) fn check(study: &Histogram, json: bool) -> String {
    if json {
        let object = serde_json::json!({
            "study": study.name, "seeds": study.seeds, "users": study.users, "users_per_round": study.per_round,
            "categories": study.categories, "gamma": study.gamma, "local_epsilon": study.local_epsilon(),
            "rounds": study.rounds, "delta": study.delta,
        });
        return format!("{object}\n");
    }
    let mut text = row("study", &format!("{} is sound: a histogram through a shuffler", study.name));
    text += &described(study);
    let seeds: Vec<String> = study.seeds.iter().map(u64::to_string).collect();
    text + &row("seeds", &seeds.join(", "))
}

/// `posterity plan`: what it would cost a user, without asking anybody.
pub(crate) fn plan(study: &Histogram, json: bool) -> Result<String, Failure> {
    let costs = costs::all(study)?;
    if json {
        let object = serde_json::json!({ "study": study.name, "delta": study.delta, "costs": costs });
        return Ok(format!("{object}\n"));
    }
    Ok(format!("{}{}", described(study), priced(study, &costs)))
}

/// Users, categories, answers and rounds.
fn described(study: &Histogram) -> String {
    let asked = match study.sampled() {
        true => format!("{} of {} users, drawn anew without replacement", study.per_round, study.users),
        false => format!("all {} users", study.users),
    };
    let local = up_to(study.local_epsilon(), 5);
    let mut text = row("asked", &format!("{asked}, in each of {} rounds", study.rounds));
    text += &row("categories", &format!("{}: {}", study.categories.len(), study.categories.join(", ")));
    text += &row("answers", &format!("true, or at random with γ = {}; alone of ε = {local}", study.gamma));
    text
}

/// ε of all rounds for whoever may look, the charged one marked.
fn priced(study: &Histogram, costs: &[Cost]) -> String {
    let delta = shortest(study.delta.get());
    let mut text =
        format!("\nε of one user in all rounds at δ = {delta}, certified, the user's answer replaced by any other\n");
    for cost in costs {
        let mark = if cost.charged { " (charged)" } else { "" };
        let sees = cost.refused.as_deref().unwrap_or(cost.sees);
        text += &format!("{:<10}{:<28}{sees}\n", cost.shown(), format!("{}{mark}", cost.against));
    }
    text
}

fn row(label: &str, text: &str) -> String {
    format!("{label:<12}{text}\n")
}
