//! Times the private step, a whole run, and how a run's cost grows, and prints one JSON object per line.
//!
//! CPU time of all threads, and the most memory that was ever resident. The argument is a case, or the start of the names
//! of several, each of which then runs in a process of its own.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // an example prints, reads files and looks at the clock

mod watch;

use chacha20::ChaCha8Rng;
use inference::algorithm::{Curvature, NoiseAwareConstants, NoiseAwareSettings, PviSettings, RoundBudget};
use inference::message::Direct;
use inference::method::AlgorithmSettings;
use inference::settings::{
    Aggregator, Batching, Chart, Claim, Clip, Covariance, Damping, DeltaRule, FactorRule, Gradients, Local, Noise,
    NoiseReading, Optimiser, Promise, Readout, Repair, Rounds, Schedule, SitePromises,
};
use inference::solve::{Average, Descend, LocalSolve, Virtual};
use inference::{
    Descent, Expectation, Federation, Logistic, Method, Model, Network, Output, Partition, Row, RowKeys, RowReading,
    Rows, RunError, Schema, Scratch, Shard, Simulation, Site, Split, read,
};
use privacy::noise::{NoiseContext, Seeded};
use privacy::{
    Adjacency, Batch, Bounded, Delta, Epsilon, Event, Gate as _, Grain, Grant, Grid, Ledger, LocalGate, Mechanism,
    MemoryJournal, NoiseMultiplier, NormBound, Released, Sampling, SamplingRate, Shape, Steps, Unit,
};
use rand_core::{Rng as _, SeedableRng as _};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use watch::{Watch, megabytes};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Inputs of the step and of most runs: six numbers and eight categories, as adult has them.
const WIDTH: usize = 108;
const DENSE: usize = 6;
const ONES: usize = 8;
const CLIP: f64 = 2.0;

/// What a growing run is made of; every case changes one thing.
#[derive(Clone, Copy)]
struct Size {
    clients: usize,
    rows: usize,
    width: usize,
    parts: u32,
    /// Local steps, for the record alone.
    steps: u64,
}

const BASE: Size = Size { clients: 10, rows: 2000, width: WIDTH, parts: 0, steps: 50 };
const SMALL: Size = Size { rows: 50, ..BASE };

fn main() -> Outcome<()> {
    let named = std::env::args().nth(1).unwrap_or_default();
    if CASES.contains(&named.as_str()) {
        return one_case(&named);
    }
    CASES.iter().filter(|case| case.starts_with(&named)).try_for_each(|case| in_its_own_process(case))
}

const CASES: [&str; 25] = [
    "step/closed form",
    "step/one sample",
    "step/network",
    "step/aligned",
    "run/sequential",
    "run/synchronous",
    "run/noise-aware",
    "clients/10",
    "clients/100",
    "clients/1000",
    "clients/10000",
    "rows/200",
    "rows/2000",
    "rows/20000",
    "rows/200000",
    "width/27",
    "width/108",
    "width/432",
    "width/1728",
    "parts/1",
    "parts/10",
    "parts/100",
    "parts/1000",
    "averaged/10",
    "averaged/100",
];

fn in_its_own_process(case: &str) -> Outcome<()> {
    let done = Command::new(std::env::current_exe()?).arg(case).status()?;
    if done.success() { Ok(()) } else { Err(format!("{case} failed").into()) }
}

fn one_case(case: &str) -> Outcome<()> {
    let (kind, of) = case.split_once('/').ok_or("a case has two parts")?;
    let count = || of.parse::<usize>();
    match kind {
        "step" if of == "closed form" => step(case, &Logistic::default(), Gradients::Full),
        "step" if of == "network" => step(case, &network(), Gradients::Full),
        "step" if of == "aligned" => step(case, &network(), Gradients::Aligned),
        "step" => {
            let expectation = Expectation::MonteCarlo { draws: 1 };
            step(case, &Logistic { expectation, ..Logistic::default() }, Gradients::Full)
        }
        "run" if of == "noise-aware" => whole_run(case, &noise_aware()?),
        "run" if of == "sequential" => {
            whole_run(case, &Method { schedule: Schedule::Sequential, ..descent(20, 50, 50)? })
        }
        "run" => whole_run(case, &descent(20, 50, 50)?),
        "clients" => growing(case, Size { clients: count()?, steps: 10, ..SMALL }, &descent(3, 10, 10)?),
        "rows" => growing(case, Size { rows: count()?, ..BASE }, &descent(10, 50, 50)?),
        "width" => growing(case, Size { width: count()?, ..BASE }, &descent(10, 50, 50)?),
        "parts" => {
            let parts = u32::try_from(count()?)?;
            growing(case, Size { parts, steps: 5, ..BASE }, &in_parts(Virtual { parts, local: five_steps() })?)
        }
        "averaged" => {
            let parts = u32::try_from(count()?)?;
            growing(case, Size { parts, steps: 5, ..BASE }, &in_parts(Average { parts, local: five_steps() })?)
        }
        _ => Err(format!("no case {case}").into()),
    }
}

/// Microseconds of one step: batch, gradients, clipping, exact noise, Adam. The median over stretches of many steps.
fn step(case: &str, model: &dyn Model, gradients: Gradients) -> Outcome<()> {
    const ROWS: usize = 2000;
    let d = model.parameters(WIDTH);
    let stretch_of: u32 = if d > WIDTH { 500 } else { 5_000 };
    let numbers = if gradients == Gradients::Aligned { d } else { 2 * d };
    let (rows, local, bound) = (synthetic(ROWS, WIDTH, 1)?, adam(1, Batching::All), NormBound::new(CLIP)?);
    let shape = Shape::new(numbers, bound, Grain::Example, Grid::for_noise(bound, 2.0 * CLIP)?)?;
    let (mut gate, mut q) = (gate(shape, 0.05)?, Descent::new(&vec![0.1; d], &vec![0.5; d], &local));
    let (mut batch, mut released, mut scratch) = (Batch::default(), Released::zeros(numbers), Scratch::default());
    let mut slope = vec![0.0; 2 * d];
    gate.batch(ROWS, &mut batch)?;
    let mut sum = Bounded::examples(shape, &batch)?;
    let mut stretches = Vec::new();
    for stretch in 0..9 {
        let watch = Watch::start();
        for step in 0..stretch_of {
            sum.begin(&batch)?;
            let seed = u64::from(stretch * stretch_of + step);
            model.gradients(&rows, batch.rows(), q.point(), seed, &mut scratch, &mut sum)?;
            gate.release(&sum, &mut released)?;
            slope[..numbers].copy_from_slice(released.get());
            if gradients == Gradients::Aligned {
                // The draw of the step, s∘ε, times the noised gradients by the means.
                let (by_mean, by_log) = slope.split_at_mut(d);
                let shift = scratch.per_parameter.iter().zip(by_mean);
                by_log.iter_mut().zip(shift).for_each(|(l, (shift, g))| *l = shift * *g);
            }
            q.step(&slope, &local);
            gate.batch(ROWS, &mut batch)?;
        }
        stretches.push(watch.cpu_seconds() * 1e6 / f64::from(stretch_of));
    }
    stretches.sort_by(f64::total_cmp);
    println!(r#"{{"case":"{case}","microseconds":{:.2}}}"#, stretches[stretches.len() / 2]);
    Ok(())
}

/// The papers' network of 50 hidden units.
fn network() -> Network {
    Network { hidden: vec![50], output: Output::Binary, draws: 1, seed: 1 }
}

fn gate(shape: Shape, rate: f64) -> Outcome<LocalGate> {
    let sampling = Sampling::Poisson { rate: SamplingRate::new(rate)? };
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? };
    let event = Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, Steps::new(1_000_000_000)?)?;
    let mut journal = MemoryJournal::default();
    let mut ledger = Ledger::open(Grant::Unlimited, &mut journal)?;
    let receipt = ledger.charge(&event, &mut journal)?;
    Ok(LocalGate::simulated(receipt, shape, &mut Seeded::new(1), &NoiseContext::default())?)
}

/// 10 clients on adult, half of it held out; reading the file apart.
fn whole_run(case: &str, method: &Method) -> Outcome<()> {
    let watch = Watch::start();
    let federation = adult()?;
    let reading = watch.cpu_seconds();
    let simulation = simulation(method, &federation);
    let record = simulation.run(&mut ())?;
    let cost = cost_of(&simulation)?;
    println!(
        r#"{{"case":"{case}",{cost},"reading":{reading:.3},"accuracy":{:.4},"epsilon":{:.4}}}"#,
        record.scores.get("accuracy").unwrap_or(&f64::NAN),
        record.spending.first().map_or(f64::NAN, |s| s.certified)
    );
    Ok(())
}

/// CPU seconds of planning, of opening the ledgers, and of a whole run with both; and the most memory so far.
fn cost_of(simulation: &Simulation<'_>) -> Outcome<String> {
    let planning = seconds_per_call(|| simulation.build().map(drop))?;
    let built = simulation.build()?;
    let opening = seconds_per_call(|| simulation.start(&built, &Direct, None).map(drop))?;
    let seconds = seconds_per_call(|| simulation.run(&mut ()).map(drop))?;
    let memory = megabytes("VmHWM:");
    Ok(format!(r#""seconds":{seconds:.4},"planning":{planning:.4},"opening":{opening:.4},"megabytes":{memory:.1}"#))
}

/// The system counts in steps of some milliseconds, so calls are repeated: the mean of all that fit into half a second.
fn seconds_per_call(mut call: impl FnMut() -> Result<(), RunError>) -> Outcome<f64> {
    let (watch, mut calls) = (Watch::start(), 0);
    while calls == 0 || watch.wall.elapsed().as_secs_f64() < 0.5 {
        call()?;
        calls += 1;
    }
    Ok(watch.cpu_seconds() / f64::from(calls))
}

fn adult() -> Outcome<Federation> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let schema = Schema::from_toml(&fs::read_to_string(data.join("adult.toml"))?)?;
    let file = fs::File::open(data.join("adult.csv.gz"))?;
    let table = read(file, &schema, true, &[], RowReading::Strict)?;
    Ok(Federation::new(&table, &Split::Half, &Partition::Even { clients: 10 }, 1)?)
}

/// A run on made-up rows. Making them counts for memory and not for time.
fn growing(case: &str, size: Size, method: &Method) -> Outcome<()> {
    let site = |m: usize| -> Outcome<Site> {
        let keys = RowKeys::of_slots((0..size.rows as u64).collect());
        let shard = Shard::new(synthetic(size.rows, size.width, m as u64)?, keys)?;
        Ok(Site { name: m.to_string(), shard, own: Vec::new() })
    };
    let sites = (0..size.clients).map(site).collect::<Outcome<Vec<_>>>()?;
    let federation = Federation { sites, test: synthetic(1000, size.width, u64::MAX)? };
    let cost = cost_of(&simulation(method, &federation))?;
    let Size { clients, rows, width, parts, steps } = size;
    println!(
        r#"{{"case":"{case}","clients":{clients},"rows":{rows},"width":{width},"parts":{parts},"steps":{steps},{cost}}}"#
    );
    Ok(())
}

fn simulation<'a>(method: &'a Method, federation: &'a Federation) -> Simulation<'a> {
    let (sites, test) = (federation.sites.as_slice(), &federation.test);
    Simulation {
        method,
        sites,
        test,
        model: Arc::new(Logistic::default()),
        prior: 1.0.into(),
        seed: 1,
        data: [0; 32],
        costs: Arc::default(),
    }
}

/// DP optimisation of so many rounds, steps, and expected rows a step.
fn descent(rounds: u64, steps: u64, batch: u64) -> Outcome<Method> {
    let local = adam(steps, Batching::PoissonOf { fraction: 0.0, at_least: batch });
    pvi(rounds, Descend { local })
}

/// Noise-aware PVI by second moments, with an aggregator and the settings of Figure 1 of the TMLR paper's study.
fn noise_aware() -> Outcome<Method> {
    let curvature = Curvature::Moments { looks: 1, bound: 3.0 };
    let settings = NoiseAwareSettings {
        constants: NoiseAwareConstants { curvature, whitening: 0.6, floor: 0.1, caution: 3.0 },
        rounds: Rounds::Count(15),
        damping: Damping::new(0.25).ok_or("a damping")?,
        average: 6,
        site_intercept: None,
        budget: RoundBudget::Even,
        solver: None,
    };
    method(settings, Promise { aggregator: Aggregator::Curator, ..promise(5.0)? })
}

/// Three rounds in which every part is solved in the clear by five natural-gradient steps.
fn in_parts(solver: impl LocalSolve + 'static) -> Outcome<Method> {
    pvi(3, solver)
}

fn five_steps() -> Local {
    Local { optimiser: Optimiser::Natural, learning_rate: 0.5, ..adam(5, Batching::All) }
}

fn adam(steps: u64, batch: Batching) -> Local {
    let (optimiser, chart) = (Optimiser::Adam, Chart::LogDeviation);
    Local { steps, batch, optimiser, learning_rate: 1e-3, keep_state: false, chart, gradients: Gradients::Full }
}

fn promise(clip: f64) -> Outcome<Promise> {
    Ok(Promise {
        unit: Unit::Example,
        adjacency: Adjacency::Substitute,
        epsilon: Epsilon::new(1.0)?,
        delta: DeltaRule::Fixed(Delta::new(1e-5)?),
        clip: Some(Clip::Fixed(NormBound::new(clip)?)),
        noise: Noise::Calibrated,
        aggregator: Aggregator::None,
        accountant: Claim::Certified,
    })
}

fn method(algorithm: impl AlgorithmSettings + 'static, promise: Promise) -> Outcome<Method> {
    let (schedule, promise) = (Schedule::Synchronous, Some(promise));
    Ok(Method {
        name: "measured".into(),
        algorithm: Arc::new(algorithm),
        schedule,
        promise,
        sites: SitePromises::default(),
    })
}

/// Damped PVI of so many rounds.
fn pvi(rounds: u64, solver: impl LocalSolve + 'static) -> Outcome<Method> {
    let settings = PviSettings {
        solver: Arc::new(solver),
        rounds: Rounds::Count(rounds),
        damping: Damping::new(0.1).ok_or("a damping")?,
        covariance: Covariance::MeanField,
        factor: FactorRule::Free,
        readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
        site_intercept: None,
    };
    method(settings, promise(CLIP)?)
}

/// Six numbers between −1 and 1, and eight ones, one in each block of the other inputs.
fn synthetic(count: usize, width: usize, seed: u64) -> Outcome<Rows> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Rows::new(width, DENSE)?;
    let block = (width - DENSE) / ONES;
    for _ in 0..count {
        let numbers: [f64; DENSE] = std::array::from_fn(|_| f64::from(rng.next_u32()) / f64::from(1_u32 << 31) - 1.0);
        let ones: [u32; ONES] = std::array::from_fn(|b| (DENSE + b * block + rng.next_u32() as usize % block) as u32);
        rows.push(Row { numbers: &numbers, ones: &ones, outcome: f64::from(rng.next_u32() % 2) })?;
    }
    Ok(rows)
}
