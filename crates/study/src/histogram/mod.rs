//! Histograms of randomised answers through a shuffler: what a file with `[histogram]` asks for, costs and finds.

mod costs;
mod keys;
mod meant;
mod run;

pub use costs::Cost;
pub(crate) use keys::HISTOGRAM_KEYS;
pub use meant::Histogram;
pub use run::{Category, HistogramResults, percent, run};

use crate::digits::{shortest, up_to};
use crate::error::StudyError;

impl Histogram {
    /// What would run, as one object.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "study": self.name, "seeds": self.seeds, "users": self.users, "users_per_round": self.per_round,
            "categories": self.categories, "gamma": self.gamma, "local_epsilon": self.local_epsilon(),
            "rounds": self.rounds, "delta": self.delta,
        })
    }

    /// What would run, in words.
    pub fn text(&self) -> String {
        let mut text = row("study", &format!("{} is sound: a histogram through a shuffler", self.name));
        text += &self.described();
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        text + &row("seeds", &seeds.join(", "))
    }

    /// What it would cost a user, for whoever may look, without asking anybody.
    pub fn plan(&self) -> Result<Vec<Cost>, StudyError> {
        costs::all(self)
    }

    /// Users, categories, answers and rounds, in words.
    pub fn described(&self) -> String {
        described(self)
    }

    /// ε of all rounds for whoever may look, in words; the charged one is marked.
    pub fn priced(&self, costs: &[Cost]) -> String {
        priced(self, costs)
    }

    /// δ of every promise.
    pub fn delta(&self) -> privacy::Delta {
        self.delta
    }
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
