//! Times one secure sum and prints one JSON object: `secure_sum_speed CLIENTS DIMENSION NODES nodes|clients`.
//!
//! All shares are split, added, expanded and opened in this thread, by the machines that a network would drive. Gates make
//! the contributions beforehand, some megabytes at a time, and are timed apart; so is the drawing of noise. The opened total
//! is compared with the plain sum of the same integers. One process measures one sum, so that its peak memory is its own.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // an example prints and looks at the clock

use aes::Aes128Enc;
use aes::cipher::{InnerIvInit, KeyInit, StreamCipherCore};
use ctr::{CtrCore, flavors::Ctr32BE};
use privacy::noise::{DiscreteGaussian, NoiseContext, NoiseSource, Seeded};
use privacy::secure_sum::{Assembly, Body, ClientSet, Contributor, Message, SumEffect, SumNoise, node_noise};
use privacy::{
    Adjacency, Bounded, Cohort, CuratorGate, Event, Gate, Grain, Grant, Grid, Ledger, Mechanism, MemoryJournal,
    NoiseMultiplier, NormBound, Outgoing, Sampling, SecureSum, Shape, ShareGate, ShareNoise, Steps, Unit,
};
use rand_core::Rng;
use std::error::Error;
use std::time::Instant;

/// Noise multiplier.
const Z: f64 = 1.0;
/// Seed of all noise and masks.
const SEED: u64 = 7;
/// Coordinates that gates prepare at a time.
const AHEAD: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [clients, dimension, nodes, noise] = words.as_slice() else {
        return Err("usage: secure_sum_speed CLIENTS DIMENSION NODES nodes|clients".into());
    };
    let noise = if noise == "clients" { SumNoise::Clients } else { SumNoise::Nodes };
    let assembly = terms(clients.parse()?, dimension.parse()?, nodes.parse()?, noise)?;
    let rate = keystream_rate();
    let measured = measure(&assembly)?;
    let expanded =
        2 * 8 * assembly.cohort().clients() * u64::from(assembly.nodes() - 1) * assembly.shape().dimension() as u64;
    let (up, down) = bytes(&assembly)?;
    println!(
        "{{\"clients\":{clients},\"dimension\":{dimension},\"noise\":\"{}\",\"wall\":{:.4},\"cpu\":{:.4},\"floor\":{:.4},\
         \"rate\":{:.2},\"noise_cpu\":{:.4},\"gates_cpu\":{:.4},\"client_up\":{up},\"node_in\":{down},\"megabytes\":{}}}",
        if noise == SumNoise::Nodes { "nodes" } else { "clients" },
        measured.sum.wall,
        measured.sum.cpu,
        expanded as f64 / rate,
        rate / 1e9,
        measured.noise.cpu,
        measured.gates.cpu,
        peak_megabytes().unwrap_or(0),
    );
    Ok(())
}

/// Terms of a sum with no colluders and no drop-outs.
fn terms(clients: u64, dimension: usize, nodes: u32, noise: SumNoise) -> Result<Assembly, Box<dyn Error>> {
    let (cohort, bound, z) = (Cohort::new(clients, 0, 0)?, NormBound::new(1.0)?, NoiseMultiplier::new(Z)?);
    let shape = Shape::new(dimension, bound, Grain::Whole, Grid::for_noise(bound, 2.0 * Z)?)?;
    let event = match noise {
        SumNoise::Clients => {
            cohort.event(ShareNoise::DiscreteGaussian, &shape, z, Adjacency::Substitute, Unit::Client, Steps::ONE)?
        }
        SumNoise::Nodes => {
            let mechanism = Mechanism::Gaussian { noise_multiplier: z };
            Event::new(mechanism, Adjacency::Substitute, Unit::Client, Sampling::None, Steps::ONE)?
        }
    };
    Ok(Assembly::new(cohort, nodes, noise, &event, shape)?)
}

/// Seconds of one kind of work.
#[derive(Default)]
struct Clock {
    wall: f64,
    cpu: f64,
}

impl Clock {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let done = work();
        self.wall += wall.elapsed().as_secs_f64();
        self.cpu += cpu_seconds() - cpu;
        done
    }
}

/// What was measured of one sum.
#[derive(Default)]
struct Measured {
    /// Splitting, adding, expanding and opening.
    sum: Clock,
    /// Drawing noise, of nodes or of clients.
    noise: Clock,
    /// Everything else that gates and ledgers do.
    gates: Clock,
}

fn measure(assembly: &Assembly) -> Result<Measured, Box<dyn Error>> {
    let mut measured = Measured::default();
    let context = NoiseContext { site: u64::MAX, ..NoiseContext::default() };
    let mut sum = measured.noise.time(|| SecureSum::new(assembly, &context, &mut Seeded::new(SEED), None))?;
    let mut expected = vec![0_i64; assembly.shape().dimension()];
    let clients: Vec<u64> = (0..assembly.cohort().clients()).collect();
    for some in clients.chunks((AHEAD / assembly.shape().dimension()).max(1)) {
        let inputs: Vec<Vec<i64>> = some.iter().map(|&client| units(assembly, client)).collect();
        let outgoing = measured.gates.time(|| {
            some.iter()
                .zip(&inputs)
                .map(|(&client, units)| gate(assembly, client, units))
                .collect::<Result<Vec<_>, _>>()
        })?;
        inputs.iter().for_each(|units| add(&mut expected, units));
        if assembly.noise() == SumNoise::Clients {
            let noise =
                measured.noise.time(|| some.iter().map(|&c| share(assembly, c)).collect::<Result<Vec<_>, _>>())?;
            noise.iter().for_each(|noise| add(&mut expected, noise));
        }
        measured.sum.time(|| outgoing.into_iter().try_for_each(|one| sum.add(one)))?;
    }
    let total = measured.sum.time(|| sum.open())?;
    let session = assembly.session(context.run, context.round, context.attempt);
    for node in 0..assembly.nodes() {
        add(&mut expected, &node_noise(assembly, &session, node, &mut Seeded::new(SEED), &context)?);
    }
    assert_eq!(total.get().units(), expected, "the opened total is not the sum of what went in");
    if assembly.noise() == SumNoise::Clients {
        measured.gates.cpu -= measured.noise.cpu; // the gates drew the same noise once more
    }
    Ok(measured)
}

fn add(total: &mut [i64], more: &[i64]) {
    total.iter_mut().zip(more).for_each(|(t, m)| *t = t.wrapping_add(*m));
}

/// A client's integers, small enough that nothing is clipped.
fn units(assembly: &Assembly, client: u64) -> Vec<i64> {
    let shape = assembly.shape();
    let most = (shape.bound_units() as f64 / (shape.dimension() as f64).sqrt()) as i64;
    (0..shape.dimension() as i64).map(|i| (31 * i + 17 * client as i64) % most).collect()
}

fn place(client: u64) -> NoiseContext {
    NoiseContext { site: client, ..NoiseContext::default() }
}

/// A charged contribution.
fn gate(assembly: &Assembly, client: u64, units: &[i64]) -> Result<Outgoing, Box<dyn Error>> {
    let (shape, mut source, mut journal) = (*assembly.shape(), Seeded::new(SEED), MemoryJournal::default());
    let receipt = Ledger::open(Grant::Unlimited, &mut journal)?.charge(assembly.event(), &mut journal)?;
    let values: Vec<f64> = units.iter().map(|&u| shape.grid().value(u)).collect();
    let bounded = Bounded::whole(shape, &values)?;
    Ok(match assembly.noise() {
        SumNoise::Nodes => CuratorGate::new(receipt, shape, &mut source, &place(client))?.send(&bounded)?,
        SumNoise::Clients => {
            ShareGate::new(receipt, shape, assembly.cohort(), &mut source, &place(client))?.send(&bounded)?
        }
    })
}

/// The noise that a share gate of this client and seed draws: after one word for its tickets.
fn share(assembly: &Assembly, client: u64) -> Result<Vec<i64>, Box<dyn Error>> {
    let Mechanism::DiscreteGaussianSum { share_deviation, .. } = assembly.event().mechanism() else {
        return Err("the event is not one of shares".into());
    };
    let mut stream = Seeded::new(SEED).stream(&place(client))?;
    stream.next_u64();
    let mut noise = vec![0; assembly.shape().dimension()];
    DiscreteGaussian::new((share_deviation.get() * share_deviation.get()).next_up())?.fill(&mut stream, &mut noise);
    Ok(noise)
}

/// Bytes that a client sends, and that a node receives from clients and nodes, in canonical messages.
fn bytes(assembly: &Assembly) -> Result<(u64, u64), Box<dyn Error>> {
    let session = assembly.session([0; 16], 0, 0);
    let client = assembly.cohort().clients() - 1;
    let outgoing = gate(assembly, client, &units(assembly, client))?;
    let mut one = Contributor::new(assembly, &session, outgoing, &mut Seeded::new(SEED), &place(client))?;
    let size = |effects: Vec<SumEffect>| -> Result<u64, Box<dyn Error>> {
        let mut total = 0;
        for effect in effects {
            if let SumEffect::Send { message, .. } = effect {
                total += message.encode()?.len() as u64;
            }
        }
        Ok(total)
    };
    let seeds = size(one.unconfirmed())?;
    let mut vector = 0;
    for node in 0..assembly.nodes() {
        let held = Message { session, body: Body::SeedHeld { client, node } };
        vector += one.handle(held.body.sender(), &held).map_or(Ok(0), size)?;
    }
    let nodes = u64::from(assembly.nodes());
    let list = ClientSet::none(assembly.cohort().clients());
    let holdings = Message { session, body: Body::Holdings { node: 0, held: list } }.encode()?.len() as u64;
    let confirmation =
        Message { session, body: Body::Confirmation { node: 0, digest: [0; 32] } }.encode()?.len() as u64;
    let from_clients = assembly.cohort().clients() * (seeds + vector) / nodes;
    Ok((seeds + vector, from_clients + (nodes - 1) * (holdings + confirmation)))
}

/// Bytes of AES-128-CTR keystream in a second of CPU time, into a buffer that stays in the innermost cache.
fn keystream_rate() -> f64 {
    let cipher = Aes128Enc::new(&[1; 16].into());
    let mut stream = CtrCore::<_, Ctr32BE>::inner_iv_init(cipher, &[2; 16].into());
    let mut blocks = [aes::Block::default(); 128];
    let mut clock = Clock::default();
    let rounds = 500_000;
    clock.time(|| {
        for _ in 0..rounds {
            stream.write_keystream_blocks(std::hint::black_box(&mut blocks));
        }
    });
    f64::from(rounds) * 2048.0 / clock.cpu
}

/// CPU time of this thread, where the system keeps count; otherwise the clock on the wall is all there is.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) * 1e-9
}

/// The most memory that this process has used so far, where the system tells.
fn peak_megabytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
