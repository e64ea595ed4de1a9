//! A solver of one's own: a step that would move a mean farther than `reach` standard deviations of the prior is shortened.
//! Planned, simulated, run by two agents, held against all laws. `cargo run --release -p posterity --example own_method`.

use posterity::inference::describe::{Descriptor, Key, Limits, Otherwise, PrivacyNeed, Registry, ValueKind};
use posterity::inference::release::{Clipped, Release, Releases};
use posterity::inference::solve::{Kept, LocalSolve, Problem, Solved, Task};
use posterity::inference::{ClientView, Family, settings::Local, settings::WHOLE_KEY};
use posterity::privacy::{Gate, Grain, PrivacyError, Released};
use posterity::{Folders, Posterior, Study, federation::loopback, testing};

#[derive(Debug, serde::Serialize)]
struct TrustRegion(Local, f64);
const FAR: &str = "how far a step may move a mean, in standard deviations of the prior";
const KEY: Key =
    Key { name: "reach", about: FAR, kind: ValueKind::Positive, otherwise: Otherwise::Required, example: "1" };
const MINE: Descriptor<dyn LocalSolve> = Descriptor {
    name: "trust-region",
    also: &[],
    about: "Solves without noise, shortens the step to a trust region, clips the whole change and noises it once.",
    keys: &[WHOLE_KEY, KEY],
    limits: Limits { privacy: PrivacyNeed::Required, ..Limits::NONE },
    read: |from| Ok(std::sync::Arc::new(TrustRegion(Local::read_whole(&from.keys)?, from.keys.number("reach")?))),
};
impl LocalSolve for TrustRegion {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &MINE
    }
    fn describe_local(&self) -> String {
        format!("{}, within {} standard deviations of the prior", self.0.words(), self.1)
    }
    fn releases(&self, family: Family) -> Releases {
        Release::of_all_rows(Grain::Whole, family.len(), Clipped::Change).into()
    }
    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let mut change = seat.optimum(problem, task.get(), &self.0);
        change.edit(&(problem, task.get(), self.1), |change, (problem, task, reach)| {
            let end = task.start.iter().zip(&*change).map(|(s, c)| s + c).collect();
            let q = [&problem.prior.0, &task.start, &end].map(|natural| problem.family.gaussian(natural));
            if let [Some(prior), Some(from), Some(to)] = q {
                let moves = from.mean().iter().zip(to.mean()).map(|(a, b)| (b - a).abs());
                let most = moves.zip(prior.deviations()).map(|(moved, s)| moved / s).fold(*reach, f64::max);
                change.iter_mut().for_each(|c| *c *= reach / most);
            }
        });
        Ok(Solved::Sum(change.clipped(*gate.shape())?))
    }
}

const STUDY: &str = r#"schema = 1
study = { name = "own-method", seeds = [1] }
data = { source = "heart", split = { test = 0.2 } }
partition = { kind = "even", clients = 2 }
federation = { sites = [{ name = "north", rows = 368 }, { name = "south", rows = 368 }] }
model = { kind = "logistic" }
method = [{ name = "mine", algorithm = "pvi", solver = "trust-region", reach = 0.5, rounds = 5, damping = 0.5,
    local = { optimiser = "natural", steps = 5, learning_rate = 0.5 },
    privacy = { unit = "example", adjacency = "substitute", epsilon = 3.0, delta = 1e-4, clip = 0.1 } }]"#;
const PATIENT: &str = "age,sex,cp,trestbps,chol,fbs,restecg,thalach,exang,oldpeak\n63,1,1,145,233,1,2,150,0,2.3\n";

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("posterity-own-method-{}", std::process::id()));
    let (registry, folders) = (Registry::standard().with(&MINE), Folders::default());
    let study = Study::read_with("own-method.toml", STUDY, &registry)?;
    println!("{}", study.plan(&folders)?[0].json());
    let simulated = study.load(&folders)?.simulate(&folder.join("simulated"), &())?;
    println!("simulated: held-out log-likelihood {:.3}", simulated.methods[0].main_score());
    let served = loopback::run(&study, &folders, None, &folder.join("federation"))?;
    println!("two agents: {} after {} rounds", served.outcome.word(), served.rounds);
    let posterior = Posterior::open_with(&served.results, Some("mine"), &registry)?.at(None)?;
    println!("{}", posterior.predict_with(PATIENT.as_bytes(), &registry)?.csv(&posterior.levels()));
    testing::laws(&study.methods[0], &study.model.settings.build(Some(2), 1));
    Ok(std::fs::remove_dir_all(folder)?)
}
