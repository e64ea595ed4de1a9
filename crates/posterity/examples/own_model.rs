//! A model of one's own: Poisson regression of counts, with a log link, on a table that is made up here.
//! Planned, simulated, run by two agents, held against all laws. `cargo run --release -p posterity --example own_model`.

use posterity::inference::describe::{Descriptor, Limits, Registry};
use posterity::inference::{GeneralisedLinear, LinearPredictor, Model, ModelSettings, OutcomeNeed};
use posterity::inference::{Prediction, Pull, ResponseDistribution};
use posterity::{Folders, Posterior, Study, federation::loopback, testing};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, serde::Serialize)]
struct Counts;

const MINE: Descriptor<dyn ModelSettings> = Descriptor {
    name: "poisson",
    also: &["count", "log-linear"],
    about: "Poisson regression of a count, with a log link.",
    keys: &[],
    limits: Limits::NONE,
    read: |_| Ok(Arc::new(Counts)),
};

impl ModelSettings for Counts {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &MINE
    }
    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::Number
    }
    fn build(&self, _: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(GeneralisedLinear(*self))
    }
}

impl ResponseDistribution for Counts {
    fn log_density(&self, count: f64, a: f64) -> f64 {
        count * a - a.exp() - (1..=count as u64).map(|k| (k as f64).ln()).sum::<f64>()
    }
    /// E eᵃ = exp(m + v/2) for a ~ N(m, v).
    fn expected(&self, count: f64, a: LinearPredictor) -> Pull {
        let rate = (a.mean + 0.5 * a.variance).exp();
        Pull { residual: count - rate, curvature: rate }
    }
    fn predict(&self, a: LinearPredictor) -> Prediction {
        let rate = (a.mean + 0.5 * a.variance).exp();
        Prediction::Normal { mean: rate, deviation: (rate + rate * rate * a.variance.exp_m1()).sqrt() }
    }
}

const SCHEMA: &str = r#"outcome = { column = "visits", centre = 0, scale = 1, bounds = [0, 40] }
column = [{ name = "age", kind = "numeric", centre = 50, scale = 20, bounds = [0, 100] }]"#;
const STUDY: &str = r#"schema = 1
study = { name = "own-model", seeds = [1] }
data = { source = "csv:visits.csv", split = { test = 0.2 } }
partition = { kind = "even", clients = 2 }
federation = { sites = [{ name = "north", rows = 400 }, { name = "south", rows = 400 }] }
model = { kind = "poisson" }
method = [{ name = "mine", algorithm = "noise-aware", schedule = "synchronous", rounds = 10,
    privacy = { unit = "example", adjacency = "substitute", epsilon = 3.0, delta = 1e-4, clip = 3.0 } }]"#;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("posterity-own-model-{}", std::process::id()));
    let (registry, folders) = (Registry::standard().with(&MINE), Folders { study: folder.clone(), data: None });
    let rate = |age: u64| (0.5 + 0.8 * (age as f64 - 50.0) / 20.0).exp();
    let row = |(age, spread): (u64, u64)| format!("{age},{:.0}\n", rate(age) * spread as f64 / 50.0);
    let rows: String = (0..1000).map(|i| row((20 + i * 7 % 60, i * 37 % 100))).collect();
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("visits.csv"), format!("age,visits\n{rows}"))?;
    std::fs::write(folder.join("visits.toml"), SCHEMA)?;
    let study = Study::read_with("own-model.toml", STUDY, &registry)?;
    println!("{}", study.plan(&folders)?[0].json());
    let simulated = study.load(&folders)?.simulate(&folder.join("simulated"), &())?;
    println!("simulated: held-out log-likelihood {:.3}", simulated.methods[0].main_score());
    let served = loopback::run(&study, &folders, None, &folder.join("federation"))?;
    println!("two agents: {} after {} rounds", served.outcome.word(), served.rounds);
    let posterior = Posterior::open_with(&served.results, Some("mine"), &registry)?.at(None)?;
    println!("{}", posterior.predict_with(b"age\n30\n70\n", &registry)?.csv(&[]));
    testing::laws(&study.methods[0], &Counts.build(None, 1));
    println!("all laws hold");
    Ok(std::fs::remove_dir_all(folder)?)
}
