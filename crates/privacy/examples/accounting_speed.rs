//! Times the certified accountant on the cases W1 to W6 and prints one JSON object per line.
//!
//! CPU time of this thread (wall time where the system does not tell), per call, over as many calls as take half a second.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // an example prints and looks at the clock

use privacy::accounting::calibrate::calibrate;
use privacy::accounting::pld::Pld;
use privacy::{
    Accountant, Adjacency, Delta, Epsilon, Event, Mechanism, NoiseMultiplier, PrivacyError, Sampling, SamplingRate,
    Steps, Unit,
};
use std::time::Instant;

/// A question and the enclosure that answers it.
type Case = fn() -> Result<(f64, f64), PrivacyError>;

fn main() {
    let cases: [(&str, Case); 6] = [
        ("W1", || epsilon(&[poisson(0.01, 1.0, 10_000)?], 1e-5)),
        ("W2", || epsilon(&[poisson(1e-4, 1.0, 100_000)?], 1e-10)),
        ("W3", many),
        ("W4", calibrated),
        ("W5", fixed_size),
        ("W6", clones),
    ];
    for (name, case) in cases {
        let seconds = seconds_per_call(case);
        match case() {
            Ok((lower, upper)) => println!(
                r#"{{"case":"{name}","peer":"posterity","lower":{lower},"upper":{upper},"seconds":{seconds}}}"#
            ),
            Err(error) => println!(r#"{{"case":"{name}","peer":"posterity","error":"{error}","seconds":{seconds}}}"#),
        }
    }
}

/// CPU seconds of one call. The system counts in steps of some milliseconds, so calls are repeated.
fn seconds_per_call(case: Case) -> f64 {
    let (wall, start) = (Instant::now(), cpu_nanoseconds());
    let mut calls = 0;
    while calls < 3 || wall.elapsed().as_secs_f64() < 0.5 {
        let _ = std::hint::black_box(case());
        calls += 1;
    }
    let total = match (start, cpu_nanoseconds()) {
        (Some(start), Some(end)) => (end - start) as f64 * 1e-9,
        _ => wall.elapsed().as_secs_f64(),
    };
    total / f64::from(calls)
}

/// Nanoseconds that this thread has run, where the system keeps count.
fn cpu_nanoseconds() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn poisson(rate: f64, z: f64, steps: u64) -> Result<Event, PrivacyError> {
    let sampling = Sampling::Poisson { rate: SamplingRate::new(rate)? };
    gaussian(z, Adjacency::AddRemove, sampling, steps)
}

fn gaussian(z: f64, adjacency: Adjacency, sampling: Sampling, steps: u64) -> Result<Event, PrivacyError> {
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(z)? };
    Event::new(mechanism, adjacency, Unit::Example, sampling, Steps::new(steps)?)
}

fn epsilon(plan: &[Event], delta: f64) -> Result<(f64, f64), PrivacyError> {
    let bounds = Pld.epsilon(plan, Delta::new(delta)?)?;
    Ok((bounds.lower, bounds.upper))
}

fn many() -> Result<(f64, f64), PrivacyError> {
    let one = |i: u32| poisson(0.001 + 0.0005 * f64::from(i), 1.0 + 0.03 * f64::from(i), 10);
    let plan = (0..100).map(one).collect::<Result<Vec<_>, _>>()?;
    epsilon(&plan, 1e-5)
}

fn calibrated() -> Result<(f64, f64), PrivacyError> {
    let plan = |z: NoiseMultiplier| Ok(vec![poisson(0.01, z.get(), 10_000)?]);
    let z = calibrate(&Pld, &plan, Epsilon::new(1.0)?, Delta::new(1e-5)?)?;
    Ok((z.get(), z.get()))
}

fn fixed_size() -> Result<(f64, f64), PrivacyError> {
    let sampling = Sampling::without_replacement(1_000, 50_000)?;
    epsilon(&[gaussian(1.0, Adjacency::Substitute, sampling, 1_000)?], 1e-5)
}

fn clones() -> Result<(f64, f64), PrivacyError> {
    let mechanism = Mechanism::ShuffleClones { users: Steps::new(10_000)?, local_epsilon: Epsilon::new(4.0)? };
    let event = Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::new(16)?)?;
    epsilon(&[event], 1e-5)
}
