//! `[[regret]]`: what derived settings lose against the best of a grid of settings by hand.
//!
//! A method that leaves its settings out is laid out to a grid around them: every combination of some multiples of what was
//! derived, and of some values in its place. The best of the grid is chosen on the first seeds and judged on the others, so
//! that choosing among many does not flatter it.

use super::fault::{Fault, StudyText};
use super::typed::StudyAsTyped;
use super::unroll::Named;
use inference::Method;
use inference::comparison::{BASELINES, Difference};
use inference::describe::{Conflict, Registry};
use inference::public::{Derived, PublicNumbers, Settled, put};
use inference::results::{MethodResult, Results, Summary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Most settings by hand of one method.
const MOST: usize = 12;

/// `[[regret]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegretAsTyped {
    methods: Vec<String>,
    choose: usize,
    #[serde(default)]
    times: BTreeMap<String, Vec<f64>>,
    #[serde(default)]
    values: BTreeMap<String, Vec<Value>>,
}

/// Derived settings of a method, and the same method with each setting of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Regret {
    /// The method that leaves its settings out.
    pub derived: String,
    /// The ε of its promise.
    pub epsilon: Option<f64>,
    /// The same with settings by hand: name of the method, and what is set.
    pub by_hand: Vec<(String, String)>,
    /// The number of seeds on which the best of the grid is chosen.
    pub choose: usize,
}

/// Settings by hand: a point of a grid.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HandSettings {
    /// The name of the method whose settings are derived.
    of: String,
    /// In words.
    label: String,
    /// Multiples of derived settings, by their keys.
    times: Vec<(String, f64)>,
}

impl HandSettings {
    /// The method with everything that was derived, some of it multiplied.
    pub(super) fn settled(
        &self,
        table: &Table,
        derived: Settled,
        registry: &Registry,
        public: &PublicNumbers,
    ) -> Result<Settled, Vec<Conflict>> {
        let mut table = table.clone();
        derived.derived.iter().for_each(|setting| put(&mut table, &setting.key, setting.value.clone()));
        let mut all = derived.derived;
        for (key, times) in &self.times {
            let setting = all.iter_mut().find(|setting| setting.key == *key);
            let Some((setting, value)) =
                setting.and_then(|s| Some((multiplied(&s.value, *times)?, s))).map(|(v, s)| (s, v))
            else {
                let what = format!("{key} is not a number that was derived, of which there could be a multiple");
                return Err(vec![Conflict::new(
                    key,
                    "S004",
                    what,
                    "name a derived number in `times`, or use `values`",
                )]);
            };
            put(&mut table, key, value.clone());
            *setting = Derived::new(key.as_str(), value, format!("{times} times what was derived: {}", setting.why));
        }
        Ok(Settled { method: Method::settled(&table, registry, public)?.method, derived: all })
    }
}

/// A multiple of a number; a count stays one, and at least 1.
fn multiplied(value: &Value, times: f64) -> Option<Value> {
    match value {
        Value::Integer(number) => Some(Value::Integer(((*number as f64 * times).round() as i64).max(1))),
        Value::Float(number) => Some(Value::Float((number * times * 1e6).round() / 1e6)),
        _ => None,
    }
}

/// Methods, and behind each that a `[[regret]]` names, its grid. What is wrong with the table is found by who reads it.
pub(super) fn laid_out(names: Vec<Named>, table: &Table) -> Vec<Named> {
    let typed = table.get("regret").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let grids: Vec<RegretAsTyped> = typed.iter().filter_map(|one| one.clone().try_into().ok()).collect();
    let each = |named: Named| {
        let grid = grids.iter().find(|grid| grid.methods.iter().any(|name| name == typed_name(&named)));
        let points = grid.map_or_else(Vec::new, |grid| points(grid, &named));
        [named].into_iter().chain(points)
    };
    names.into_iter().flat_map(each).collect()
}

/// A method's name without its ε.
fn typed_name(named: &Named) -> &str {
    named.listed.as_deref().unwrap_or(&named.name)
}

/// One thing that a point of a grid sets.
#[derive(Clone)]
enum Set {
    Times(String, f64),
    Value(String, Value),
}

impl Set {
    /// "clip × 0.5", "reading ridge".
    fn words(&self) -> String {
        let short = |key: &str| key.rsplit('.').next().unwrap_or(key).replace('_', " ");
        match self {
            Self::Times(key, times) => format!("{} × {times}", short(key)),
            Self::Value(key, Value::String(word)) => format!("{} {word}", short(key)),
            Self::Value(key, value) => format!("{} {value}", short(key)),
        }
    }
}

/// All combinations, as methods.
fn points(grid: &RegretAsTyped, named: &Named) -> Vec<Named> {
    let times = grid.times.iter().map(|(key, list)| list.iter().map(|n| Set::Times(key.clone(), *n)).collect());
    let values =
        grid.values.iter().map(|(key, list)| list.iter().map(|v| Set::Value(key.clone(), v.clone())).collect());
    let axes: Vec<Vec<Set>> = times.chain(values).collect();
    let combined = axes.iter().fold(vec![Vec::new()], |so_far: Vec<Vec<Set>>, axis| {
        so_far.iter().flat_map(|chosen| axis.iter().map(|set| [chosen.clone(), vec![set.clone()]].concat())).collect()
    });
    combined.iter().map(|sets| point(named, sets)).collect()
}

/// One combination.
fn point(named: &Named, sets: &[Set]) -> Named {
    let label = sets.iter().map(Set::words).collect::<Vec<_>>().join(", ");
    let (name, mut table) = (format!("{}: {label}", named.name), named.table.clone());
    table.insert("name".to_owned(), Value::String(name.clone()));
    let mut times = Vec::new();
    for set in sets {
        match set {
            Set::Times(key, number) => times.push((key.clone(), *number)),
            Set::Value(key, value) => put(&mut table, key, value.clone()),
        }
    }
    let hand = Some(HandSettings { of: named.name.clone(), label, times });
    Named { name, table, hand, ..named.clone() }
}

/// The regrets of a study, one for each method that is judged.
pub(super) fn all(typed: &StudyAsTyped, names: &[Named], source: &StudyText<'_>) -> Result<Vec<Regret>, Fault> {
    let mut regrets = Vec::new();
    for (at, grid) in typed.regrets.iter().enumerate() {
        let path = format!("regret.{at}");
        let fault =
            |key: &str, message: String, hint: &str| source.fault(&format!("{path}.{key}"), "S004", message, hint);
        let size: usize = grid.times.values().map(Vec::len).chain(grid.values.values().map(Vec::len)).product();
        if size == 0 || size > MOST || grid.times.len() + grid.values.len() == 0 {
            let message = format!("the grid has {size} settings, expected 1 to {MOST}");
            return Err(fault("times", message, "for example times = { \"privacy.clip\" = [0.5, 1, 2] }"));
        }
        if (grid.choose == 0) != (size == 1) || grid.choose + 1 >= typed.study.seeds.len() {
            let message = format!("{} of {} seeds choose", grid.choose, typed.study.seeds.len());
            let hint = "let some seeds choose, and leave two or more to judge; of a grid of one none has to choose";
            return Err(fault("choose", message, hint));
        }
        for name in &grid.methods {
            let derived: Vec<&Named> = names.iter().filter(|n| n.hand.is_none() && typed_name(n) == name).collect();
            if derived.is_empty() {
                return Err(fault("methods", format!("there is no method {name:?}"), "name a [[method]] of the study"));
            }
            regrets.extend(derived.iter().map(|named| regret(named, names, grid.choose)));
        }
    }
    Ok(regrets)
}

fn regret(named: &Named, names: &[Named], choose: usize) -> Regret {
    let of = |other: &Named| other.hand.as_ref().filter(|hand| hand.of == named.name).map(|h| h.label.clone());
    let by_hand = names.iter().filter_map(|other| Some((other.name.clone(), of(other)?))).collect();
    Regret { derived: named.name.clone(), epsilon: named.epsilon(), by_hand, choose }
}

/// What derived settings lose in one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegretCell {
    /// The column of the table: which data and sites.
    pub column: String,
    /// The method that leaves its settings out.
    pub method: String,
    /// Its mean log-likelihood on the seeds that judge.
    pub derived: f64,
    /// The best settings of the grid, chosen on the first seeds.
    pub best: String,
    /// Log-likelihood of these less that of the derived settings, on the seeds that judge.
    pub regret: Difference,
    /// The same of the settings that are best on the seeds that judge: chosen and judged on the same seeds, so too large.
    pub chosen_afterwards: f64,
    /// The derived settings less the constant answer, on the worst of all seeds.
    pub least_over_constant: Option<f64>,
}

/// Main scores of methods, seed by seed.
type SeedScores<'a> = BTreeMap<&'a str, &'a [f64]>;

/// The regrets of one column. A method whose score is not a number has none.
pub fn regret_cells(regrets: &[Regret], column: &str, results: &Results) -> Vec<RegretCell> {
    fn seeds(method: &MethodResult) -> Option<&[f64]> {
        Some(&method.scores.main()?.per_seed)
    }
    let scores = results.methods.iter().filter_map(|method| Some((method.name.as_str(), seeds(method)?))).collect();
    let constant = results.methods.iter().find(|method| method.algorithm == BASELINES[2]).and_then(seeds);
    regrets.iter().filter_map(|regret| cell(regret, column, &scores, constant)).collect()
}

fn cell(regret: &Regret, column: &str, scores: &SeedScores<'_>, constant: Option<&[f64]>) -> Option<RegretCell> {
    let derived = *scores.get(regret.derived.as_str())?;
    let split = |seeds: &[f64]| {
        let (first, others) = seeds.split_at(regret.choose.min(seeds.len()));
        (Summary::of(first.to_vec()), Summary::of(others.to_vec()))
    };
    let by_hand = regret.by_hand.iter().filter_map(|(name, label)| Some((label, split(scores.get(name.as_str())?))));
    let grid: Vec<(&String, (Summary, Summary))> = by_hand.collect();
    let finite = |summary: &Summary| if summary.mean.is_finite() { summary.mean } else { f64::NEG_INFINITY };
    let (label, (_, judged)) = grid.iter().max_by(|a, b| finite(&a.1.0).total_cmp(&finite(&b.1.0)))?;
    let (_, ours) = split(derived);
    let afterwards = grid.iter().map(|(_, (_, judged))| finite(judged)).fold(f64::NEG_INFINITY, f64::max);
    let over = constant.map(|constant| derived.iter().zip(constant).map(|(a, b)| a - b));
    Some(RegretCell {
        column: column.to_owned(),
        method: regret.derived.clone(),
        derived: ours.mean,
        best: (*label).clone(),
        regret: Difference::paired(judged, &ours)?,
        chosen_afterwards: afterwards - ours.mean,
        least_over_constant: over.map(|over| over.fold(f64::INFINITY, f64::min)),
    })
}

#[cfg(test)]
mod tests;
