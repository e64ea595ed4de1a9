//! The names of a method's choices, as in a study and in `results.json`, and sentences made of them.

use super::meant::Study;
use crate::digits::{shortest, up};
use inference::public::Derived;
use inference::results::{SecureSumResult, SeveralSites};
use inference::settings::{
    Aggregator, Claim, DeltaRule, Noise, Promise, Schedule, SecureNoise, SecureSumSettings, SitePromise,
};
use inference::{Method, Partition, Skew, Split};
use privacy::{Adjacency, ShareNoise, Unit};
use toml::Value;

/// The name of its solver, sampler or rule; with what sites have of their own.
pub fn does(method: &Method) -> String {
    let own = if method.algorithm.site_intercept().is_some() { ", site intercept" } else { "" };
    format!("{}{own}", method.algorithm.part())
}

/// The schedule's name.
pub fn schedule(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::Sequential => "sequential",
        Schedule::Synchronous => "synchronous",
        Schedule::Asynchronous(_) => "asynchronous",
    }
}

/// The aggregator's name.
pub fn aggregator(aggregator: Aggregator) -> &'static str {
    match aggregator {
        Aggregator::None => "none",
        Aggregator::Curator => "curator",
        Aggregator::SecureSum(_) => "secure-sum",
    }
}

/// The noise of a secure sum, as a study names it.
pub fn sum_noise(noise: SecureNoise) -> &'static str {
    match noise {
        SecureNoise::Nodes => "nodes",
        SecureNoise::Clients(ShareNoise::DiscreteGaussian) => "discrete-gaussian",
        SecureNoise::Clients(ShareNoise::Skellam) => "skellam",
    }
}

/// Who takes part in a secure sum, for results and plans; none without one.
pub fn secure_sum(aggregator: Aggregator) -> Option<SecureSumResult> {
    let Aggregator::SecureSum(SecureSumSettings { nodes, noise, colluders, dropouts }) = aggregator else {
        return None;
    };
    Some(SecureSumResult { nodes, noise: sum_noise(noise).to_owned(), colluders, dropouts })
}

/// The accountant's name.
pub fn accountant(claim: Claim) -> &'static str {
    match claim {
        Claim::Certified => "certified",
        Claim::Moments => "moments",
    }
}

/// What is asked, how it is solved and when it ends.
pub fn method(method: &Method) -> String {
    let about = method.algorithm.describe();
    let mut words = vec![about.algorithm, method.schedule.words().to_owned()];
    if method.algorithm.draws().is_none() {
        words.push(method.algorithm.rounds().words());
    }
    words.extend(about.details);
    words.join(", ")
}

/// What is promised to whom, such as "(1, 1e-5)-DP per row (replace-one); no trusted party".
pub fn promise(promise: &Promise) -> String {
    let (delta, rule) = match promise.delta {
        DeltaRule::Fixed(delta) => (delta.to_string(), ""),
        DeltaRule::PowerOfTenBelowRows if promise.unit == Unit::Person => {
            ("δ".to_owned(), ", δ = the power of ten below 1 / persons")
        }
        DeltaRule::PowerOfTenBelowRows => ("δ".to_owned(), ", δ = the power of ten below 1 / rows"),
        DeltaRule::LeftOut if promise.unit == Unit::Person => {
            ("δ".to_owned(), ", δ follows from the number of persons, which is not declared")
        }
        DeltaRule::LeftOut => ("δ".to_owned(), ", δ follows from the number of rows, which is not known yet"),
    };
    let whom = match (promise.unit, promise.adjacency) {
        (Unit::Example, Adjacency::Substitute) => "row (replace-one)",
        (Unit::Example, Adjacency::AddRemove) => "row (add-or-remove)",
        (Unit::Person, Adjacency::Substitute) => "person (replace all their rows, however many)",
        (Unit::Person, Adjacency::AddRemove) => "person (add or remove all their rows)",
        (Unit::Client, Adjacency::Substitute) => "client (replace all its rows)",
        (Unit::Client, Adjacency::AddRemove) => "client (add or remove all its rows; it answers either way)",
    };
    format!("({}, {delta})-DP per {whom}{rule}; {}", promise.epsilon, trusted(promise.aggregator))
}

/// The same with what single sites promise for themselves.
pub fn promised(method: &Method, promise: &Promise) -> String {
    format!("{}{}", self::promise(promise), own_promises(method))
}

/// Most sites that are named with their own promises in one sentence.
const NAMED_SITES: usize = 8;

/// "; north: ε = 0.5, clip = 1", site by site, or how many sites they are.
fn own_promises(method: &Method) -> String {
    let all: Vec<(&str, &SitePromise)> = method.sites.iter().collect();
    if all.len() > NAMED_SITES {
        return format!("; {} sites have a promise of their own", all.len());
    }
    let one = |(name, own): &(&str, &SitePromise)| {
        let numbers = [
            own.epsilon.map(|epsilon| format!("ε = {epsilon}")),
            own.delta.map(|delta| format!("δ = {delta}")),
            own.clip.map(|clip| format!("clip = {clip}")),
        ];
        format!("; {name}: {}", numbers.into_iter().flatten().collect::<Vec<_>>().join(", "))
    };
    all.iter().map(one).collect()
}

/// Somebody with rows at several sites, in words; nothing where all sites promise the same.
pub fn several_sites(found: &[SeveralSites]) -> Vec<String> {
    let one = |at: &SeveralSites| {
        format!("rows at {} sites: ε at most {}, δ at most {}", at.sites, up(at.epsilon), up(at.delta))
    };
    found.iter().map(one).collect()
}

fn trusted(aggregator: Aggregator) -> String {
    match aggregator {
        Aggregator::None => "no trusted party".to_owned(),
        Aggregator::Curator => "a curator is trusted with the clipped sums".to_owned(),
        Aggregator::SecureSum(SecureSumSettings { nodes, noise: SecureNoise::Nodes, dropouts, .. }) => format!(
            "at least one of {nodes} compute nodes must be honest; each adds all the noise; {}",
            responding(dropouts)
        ),
        Aggregator::SecureSum(SecureSumSettings { nodes, noise: SecureNoise::Clients(share), colluders, dropouts }) => {
            let law = match share {
                ShareNoise::DiscreteGaussian => "discrete Gaussian",
                ShareNoise::Skellam => "Skellam",
            };
            let colluding = match colluders {
                0 => "no client may collude".to_owned(),
                some => format!("at most {} may collude", clients(some)),
            };
            format!(
                "at least one of {nodes} compute nodes must be honest, and {colluding}; every client adds a {law} share \
                 of the noise; {}",
                responding(dropouts)
            )
        }
    }
}

fn clients(count: u64) -> String {
    if count == 1 { "1 client".to_owned() } else { format!("{count} clients") }
}

/// Whose answers a sum needs.
fn responding(dropouts: u64) -> String {
    match dropouts {
        0 => "all clients must respond".to_owned(),
        some => format!("at most {} may be missing", clients(some)),
    }
}

/// Bound and noise as chosen.
pub fn noise(method: &Method, promise: &Promise) -> String {
    let clip = method.algorithm.bounded(promise).rows;
    let noise = match promise.noise {
        Noise::Multiplier(z) => format!("noise multiplier {z}"),
        Noise::Calibrated => "noise calibrated to the budget".to_owned(),
    };
    format!("{clip}, {noise}, {} accountant", accountant(promise.accountant))
}

/// The data and what is held out.
pub fn data(study: &Study) -> String {
    if !study.has_table() {
        return "at the sites: this study is served, and not simulated".to_owned();
    }
    if !study.simulated {
        return format!("{}, all rows: this study is fitted, and not simulated", study.data.source);
    }
    let held_out = match &study.data.split {
        Split::Fraction { test } => format!("{} of the rows held out", shortest(*test)),
        Split::Half => "half of the rows held out".to_owned(),
        Split::Rows { test } => format!("{test} rows held out"),
        Split::Column { column, test_level } => format!("rows with {column} = {test_level} held out"),
    };
    let by = study.data.split_seed.map_or_else(String::new, |seed| format!(", drawn once by seed {seed}"));
    let source = study.data.drawn.as_ref().map_or_else(|| study.data.source.clone(), |drawn| drawn.words(study));
    format!("{source}, {held_out}{by}")
}

/// How rows are dealt out.
pub fn partition(partition: &Partition) -> String {
    match partition {
        Partition::Even { clients: 1 } => "1".to_owned(),
        Partition::Even { clients } => format!("{clients} of equal size"),
        Partition::Column { column, at_most } => {
            let cut = at_most.iter().map(|(name, most)| format!(", at most {most} training rows at {name}"));
            format!("one for each {column}{}", cut.collect::<String>())
        }
        Partition::Skewed(Skew { clients, rho, kappa }) => {
            format!("{clients}, skewed (rho {}, kappa {})", shortest(*rho), kappa)
        }
    }
}

/// A setting that was left out, with what it became and why, in one line.
pub fn derived(of: &Derived) -> String {
    let value = match &of.value {
        Value::Float(number) => shortest(*number),
        other => other.to_string(),
    };
    format!("{} = {value}: {}", of.key, of.why)
}

/// The same as an object.
pub fn derived_object(of: &Derived) -> serde_json::Value {
    serde_json::json!({ "key": of.key, "value": of.value, "why": of.why })
}

/// One line of a table for people: a label, and its text.
pub type LabelledRow = (String, String);

/// One row of a table.
pub fn row(label: &str, text: impl Into<String>) -> LabelledRow {
    (label.to_owned(), text.into())
}
