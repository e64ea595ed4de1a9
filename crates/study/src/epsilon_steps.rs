//! What every ε of a list gains on the one before it, and what is left to the non-private fit.

use super::meant::Study;
use inference::comparison::{BASELINES, Difference, baseline};
use inference::results::{MethodResult, Results};
use serde::Serialize;

/// One ε of a method in one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpsilonStep {
    /// The column of the table: which data and sites.
    pub column: String,
    /// The method, without its ε.
    pub method: String,
    /// The ε whose gain over the one before it is told.
    pub epsilon: f64,
    /// Mean held-out log-likelihood.
    pub score: f64,
    /// Its log-likelihood less that at the next smaller ε, paired over seeds; none of the smallest.
    pub step: Option<Difference>,
    /// The same less that of the non-private fit.
    pub to_non_private: Option<Difference>,
    /// The same less that of the constant answer.
    pub to_constant: Option<Difference>,
}

impl EpsilonStep {
    /// Whether more budget made it worse, by at least two standard errors.
    pub fn falls(&self) -> bool {
        self.step.is_some_and(|step| step.mean < 0.0 && step.seen == Some(true))
    }
}

/// The steps of one column: those of every method with a list of ε, in the order of ε.
pub fn epsilon_steps(study: &Study, column: &str, results: &Results) -> Vec<EpsilonStep> {
    let found = |name: &str| results.methods.iter().find(|method| method.name == name);
    let mut lists: Vec<&str> = Vec::new();
    for listed in study.named.iter().filter_map(|named| named.listed.as_deref()) {
        if !lists.contains(&listed) {
            lists.push(listed);
        }
    }
    let of_list = |list: &&str| {
        let named = study.named.iter().filter(|named| named.listed.as_deref() == Some(*list) && named.hand.is_none());
        let mut each: Vec<(f64, &MethodResult)> =
            named.filter_map(|named| Some((named.epsilon()?, found(&named.name)?))).collect();
        each.sort_by(|a, b| a.0.total_cmp(&b.0));
        steps(list, &each, column, results)
    };
    lists.iter().flat_map(of_list).collect()
}

/// The steps of one list.
fn steps(list: &str, each: &[(f64, &MethodResult)], column: &str, results: &Results) -> Vec<EpsilonStep> {
    let less = |one: &MethodResult, other: &MethodResult| Difference::paired(one.scores.main()?, other.scores.main()?);
    let to = |one: &MethodResult, algorithm: &str| less(one, &results.methods[baseline(&results.methods, algorithm)?]);
    let step = |at: usize| Some(less(each[at].1, each.get(at.checked_sub(1)?)?.1)).flatten();
    let of = |(at, (epsilon, method)): (usize, &(f64, &MethodResult))| EpsilonStep {
        column: column.to_owned(),
        method: list.to_owned(),
        epsilon: *epsilon,
        score: method.main_score(),
        step: step(at),
        to_non_private: to(method, BASELINES[0]),
        to_constant: to(method, BASELINES[2]),
    };
    each.iter().enumerate().map(of).collect()
}

/// How many steps are downwards, in a sentence.
pub fn steps_count(steps: &[EpsilonStep]) -> String {
    let all = steps.iter().filter(|step| step.step.is_some()).count();
    let down: Vec<&EpsilonStep> = steps.iter().filter(|step| step.falls()).collect();
    let behind = steps.iter().filter(|step| step.to_constant.is_some_and(|to| to.mean < 0.0)).count();
    format!(
        "{} of {all} steps to a larger ε lose by two standard errors or more; {behind} of {} cells are behind the constant answer.",
        down.len(),
        steps.len()
    )
}
