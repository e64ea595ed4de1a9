//! Small made-up federations, on which laws are tried.

use crate::plan::Costs;
use crate::{
    Built, InputLayout, Method, Model, PersonKey, RecordId, Row, RowKeys, Rows, RunError, Shard, Simulation, Site,
};
use chacha20::ChaCha20Rng;
use privacy::Grant;
use rand_core::{Rng, SeedableRng};
use std::sync::{Arc, LazyLock};

/// What plans cost, once for all laws: they run the same methods, and most of their time would go into costing these again.
static COSTS: LazyLock<Arc<Costs>> = LazyLock::new(Arc::default);

/// A generator for tests.
pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Uniform in (−1, 1).
pub fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / 4_503_599_627_370_496.0 - 1.0
}

/// Two numbers, a category of two levels, and an intercept; outcomes 0 or 1 that depend on them.
pub fn rows(count: usize, seed: u64) -> Rows {
    let mut rng = rng(seed);
    let layout = InputLayout::new(5, 2).and_then(|layout| layout.with_blocks(std::iter::once(2..4))).unwrap();
    let mut rows = Rows::of(layout.with_intercept());
    for _ in 0..count {
        let x = [uniform(&mut rng), uniform(&mut rng)];
        let level = 2 + u32::from(uniform(&mut rng) > 0.3);
        let score = 2.0 * x[0] - x[1] + f64::from(level) - 2.5 + uniform(&mut rng);
        rows.push(Row { numbers: &x, ones: &[level, 4], outcome: f64::from(score > 0.0) }).unwrap();
    }
    rows
}

/// A site of its own rows, which are records 0, 1, 2 and so on.
pub fn site(name: &str, rows: Rows) -> Site {
    let records: Vec<u64> = (0..rows.len() as u64).collect();
    site_of_records(name, rows, &records)
}

/// A site whose rows are these records, two in a row of each person. Sites of other names have other persons.
pub fn site_of_records(name: &str, rows: Rows, records: &[u64]) -> Site {
    // FNV-1a: numbers of other names are far away.
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let first = hash >> 1;
    let persons: Vec<PersonKey> = (0..rows.len() as u64).map(|row| person(first + row / 2)).collect();
    site_of_persons(name, rows, records, &persons)
}

/// The person of this number, in its own slot.
pub fn person(number: u64) -> PersonKey {
    PersonKey { slot: number, id: RecordId::of(&format!("person {number}")) }
}

/// A site whose rows are these records of these persons.
pub fn site_of_persons(name: &str, rows: Rows, records: &[u64], persons: &[PersonKey]) -> Site {
    let ids = records.iter().map(|record| RecordId::of(&record.to_string())).collect();
    let keys = RowKeys::of_slots((0..rows.len() as u64).collect()).with_records(ids).with_persons(persons.to_vec());
    Site { name: name.into(), shard: Shard::new(rows, keys).unwrap(), own: Vec::new() }
}

/// Three sites of different sizes.
pub fn sites() -> Vec<Site> {
    [40, 25, 60].iter().zip(1..).map(|(&n, seed)| site(&format!("site {seed}"), rows(n, seed))).collect()
}

/// A simulation of the method on these sites.
pub fn simulation<'a>(method: &'a Method, model: &Arc<dyn Model>, sites: &'a [Site], test: &'a Rows) -> Simulation<'a> {
    let (model, costs) = (model.clone(), COSTS.clone());
    Simulation { method, sites, test, model, prior: 1.0.into(), seed: 11, data: [0; 32], costs }
}

/// The method's parts.
///
/// # Panics
/// Where the method is refused, with its name, what is refused and the hint.
pub fn built(simulation: &Simulation<'_>) -> Built {
    simulation.build().unwrap_or_else(|error| {
        let hint = if let RunError::Conflict(conflict) = &error { conflict.hint.as_str() } else { "" };
        panic!("{}: {error} {hint}", simulation.method.name)
    })
}

/// The method's parts, with ledgers that take any number of charges: opening one costs more than a round.
pub fn unlimited(simulation: &Simulation<'_>) -> Built {
    let mut built = built(simulation);
    built.grants.fill(Grant::Unlimited);
    built
}
