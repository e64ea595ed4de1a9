//! Four hospitals learn who has heart disease: the study is read, planned and simulated, a patient is predicted, and a plan is
//! accounted for. `cargo run --release -p posterity --example heart`.

use posterity::account::{self, AccountCosts, Plan};
use posterity::{
    Adjacency, Delta, Event, Folders, Mechanism, NoiseMultiplier, Posterior, Sampling, Steps, Study, Unit,
};

const STUDY: &str = r#"
schema = 1
study = { name = "heart", seeds = [1] }
data = { source = "heart", split = { test = 0.2 } }
partition = { kind = "column", column = "hospital" }
model = { kind = "logistic", bias = true, prior = { precision = 1.0 } }
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = 5
privacy = { unit = "example", adjacency = "substitute", epsilon = 3.0, delta = 1e-4, clip = 2.5 }
"#;

const PATIENT: &str = "age,sex,cp,trestbps,chol,fbs,restecg,thalach,exang,oldpeak\n63,1,1,145,233,1,2,150,0,2.3\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (study, folders) = (Study::read("heart.toml", STUDY)?, Folders::default());
    for plan in study.plan(&folders)? {
        println!("{}", plan.json());
    }

    let out = std::env::temp_dir().join(format!("posterity-heart-{}", std::process::id()));
    let results = study.load(&folders)?.simulate(&out, &())?;
    for method in &results.methods {
        println!("{}: held-out log-likelihood {:.3}", method.name, method.main_score());
    }
    std::fs::write(out.join("report.html"), posterity::report::html(&results))?;

    let posterior = Posterior::open(&out, Some("noise-aware"))?.at(None)?;
    println!("{}", posterior.predict(PATIENT.as_bytes())?.csv(&posterior.levels()));

    let noise = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.1)? };
    let event = Event::new(noise, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::new(10)?)?;
    let answer = account::epsilon(Plan::new(vec![event])?, Delta::new(1e-5)?, &AccountCosts::new("pld")?)?;
    println!("ten releases with noise multiplier 1.1 cost ε = {:.4} at δ = 1e-5", answer.epsilon.upper);
    std::fs::remove_dir_all(out)?;
    Ok(())
}
