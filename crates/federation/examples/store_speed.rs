//! How many answers a second a store keeps, one by one and in groups: `cargo run --release -p posterity-federation --example store_speed`.

#[path = "../tests/common/postgres.rs"]
mod postgres;
#[path = "../tests/common/store_changes.rs"]
mod store_changes;

use federation::coordinator::Change;
use federation::identity::PublicKey;
use federation::log::Position;
use federation::message::Attempt;
use federation::store::{self, ServerStore, StoreError};
use postgres::Postgres;
use std::time::{Duration, Instant};
use store_changes::{StoreRandom, accepted, header, row, saved};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("posterity-store-speed-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let file = folder.join("server.db");
    let measured = measure("SQLite", &*store::serve(&file.to_string_lossy())?);
    std::fs::remove_dir_all(&folder)?;
    measured?;
    if let Some(server) = Postgres::or_skip() {
        measure("PostgreSQL", &*store::serve(&server.url())?)?;
    }
    Ok(())
}

/// Prints a line for each size of an answer and of a group.
fn measure(name: &str, store: &dyn ServerStore) -> Result<(), StoreError> {
    let mut random = StoreRandom(1);
    for (run, (numbers, group)) in (1..).zip([(216, 1), (216, 100), (10_000, 1), (10_000, 100)]) {
        let row = row(run, 0);
        store.create(&row, &saved(&mut random))?;
        let (mut version, mut waits) = (0, Vec::new());
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(3) {
            let change = answers(version, group, numbers, &mut random);
            let header = header(&mut random);
            let before = Instant::now();
            version = store.commit(&row.run, version, &header, &change)?;
            waits.push(before.elapsed());
        }
        let total: Duration = waits.iter().sum();
        waits.sort_unstable();
        let median = waits.get(waits.len() / 2).copied().unwrap_or_default();
        let commits = waits.len() as f64 / total.as_secs_f64();
        let kept = commits * group as f64;
        println!(
            "{name:10} {numbers:6} numbers, {group:3} in a commit: {commits:7.0} commits/s, {kept:7.0} answers/s, median {:.2} ms",
            median.as_secs_f64() * 1000.0
        );
    }
    Ok(())
}

/// A group of answers, with the places of the sites' logs and a new state of the same size.
fn answers(round: u64, group: u64, numbers: usize, random: &mut StoreRandom) -> Change {
    let each = (0..group).map(|attempt| accepted(0, Attempt { round, attempt }, numbers, random)).collect::<Vec<_>>();
    let place = |site: u64| (PublicKey([site as u8; 32]), Position { sequence: round + 1, digest: [0; 32] });
    let receipts = each.iter().map(|one| federation::coordinator::AnswerReceipt {
        site: one.site,
        at: one.update.at,
        applied: Some(vec![0; 3 * numbers]),
    });
    Change {
        dirty: true,
        receipts: receipts.collect(),
        accepted: each,
        state: Some(vec![0; 8 * numbers]),
        heads: (0..group).map(place).collect(),
        ..Change::default()
    }
}
