//! The fault simulator: twenty thousand worlds in which everything fails, and the wrong variants that it must notice.
//!
//! `POSTERITY_FULL=1` looks at a hundred thousand worlds, `POSTERITY_SCHEDULES=1000000 cargo test -p posterity-federation --test faults` at any
//! number of them, `POSTERITY_SCHEDULE=n` at the one that failed.

mod common;

use common::random::SeededRandom;
use common::study::{TestBuilder, TestKeys};
use common::world::{FaultRates, FaultWorld, Mutant};
use federation::manifest::{Manifest, Pace, RunBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Events with trouble in a world with a secure sum, and in any other.
const TROUBLED: (u64, u64) = (400, 100);

/// Worlds of the test command, and of `POSTERITY_FULL=1`.
const SCHEDULES: (u64, u64) = (20_000, 100_000);

/// A study and who takes part, made once for all worlds.
struct FaultCase {
    keys: Arc<TestKeys>,
    builder: Arc<dyn RunBuilder>,
    manifest: Arc<Manifest>,
}

impl FaultCase {
    fn new(study: &str, sites: usize, nodes: usize, quorum: u64, deadline: Option<u64>) -> Self {
        let keys = Arc::new(TestKeys::new(sites, nodes));
        let builder: Arc<dyn RunBuilder> = Arc::new(TestBuilder::default());
        let rounds = study.split('/').nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(2);
        let manifest = keys.manifest(study, 1, Pace { rounds, quorum, deadline }, builder.as_ref());
        Self { keys, builder, manifest }
    }

    /// Events with trouble: those must not be over before a sum is closed, compared and opened.
    fn troubled(&self) -> u64 {
        if self.manifest.nodes.is_empty() { TROUBLED.1 } else { TROUBLED.0 }
    }

    fn world(&self, seed: u64, trouble: FaultRates, mutant: Mutant) -> FaultWorld {
        FaultWorld::with_mutant(seed, &self.keys, &self.builder, self.manifest.clone(), trouble, mutant)
    }
}

fn scenes() -> Vec<FaultCase> {
    vec![
        FaultCase::new("sequential/2/0", 3, 0, 1, None),
        FaultCase::new("synchronous/2/0", 3, 0, 3, None),
        FaultCase::new("sequential/2/0", 2, 0, 1, Some(4)),
        FaultCase::new("asynchronous/3/0", 2, 0, 1, None),
        FaultCase::new("synchronous/1/0", 4, 0, 2, Some(2)),
        FaultCase::new("synchronous/3/0", 3, 0, 2, Some(3)),
        FaultCase::new("asynchronous/2/0", 3, 0, 1, None),
        FaultCase::new("sum/2/1", 4, 2, 3, Some(5)),
    ]
}

/// Trouble of one world: each kind is there or not.
fn trouble(seed: u64) -> FaultRates {
    let mut random = SeededRandom::new(seed ^ 0x0074_726f_7562_6c65);
    let mut some = |often: u64| if random.once_in(2) { often * (1 + random.word() % 3) } else { 0 };
    FaultRates {
        lose: some(6),
        double: some(5),
        party_down: some(25),
        party_disk: some(20),
        disk_full: some(60),
        server_down: some(40),
        commit_fails: some(25),
        cut: some(40),
        stale_server: some(40),
        node_renounces: some(60),
        node_withholds: some(60),
        other_question: some(90),
    }
}

/// What a world did, or how it failed.
fn outcome(scene: &FaultCase, seed: u64, mutant: Mutant) -> Result<u64, String> {
    let mut world = scene.world(seed, trouble(seed), mutant);
    let lived = catch_unwind(AssertUnwindSafe(|| {
        world.live(scene.troubled());
        world.events
    }));
    lived.map_err(|panic| match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_owned(),
        (None, None) => "a panic".into(),
    })
}

#[test]
fn every_invariant_holds_after_every_event_of_every_world() {
    let scenes = scenes();
    if let Some(one) = number("POSTERITY_SCHEDULE") {
        let scene = &scenes[(one % scenes.len() as u64) as usize];
        let mut world = scene.world(one, trouble(one), Mutant::None);
        println!("{:?}", world.trouble);
        world.told = true;
        world.live(scene.troubled());
        return;
    }
    let full = std::env::var_os("POSTERITY_FULL").is_some();
    let all = number("POSTERITY_SCHEDULES").unwrap_or(if full { SCHEDULES.1 } else { SCHEDULES.0 });
    let (next, events) = (AtomicU64::new(0), AtomicU64::new(0));
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let failed: Vec<(u64, String)> = std::thread::scope(|scope| {
        let work = || {
            let mut failed = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= all || failed.len() > 3 {
                    return failed;
                }
                match outcome(&scenes[(seed % scenes.len() as u64) as usize], seed, Mutant::None) {
                    Ok(count) => drop(events.fetch_add(count, Ordering::Relaxed)),
                    Err(why) => failed.push((seed, why)),
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    std::panic::set_hook(quiet);
    println!("{all} worlds, {} events", events.into_inner());
    assert!(failed.is_empty(), "run again with POSTERITY_SCHEDULE=n: {failed:#?}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The invariant that a failed world names.
fn invariant(why: &str) -> &str {
    why.split([':', ' ']).find(|word| word.starts_with("INV")).unwrap_or("another")
}

fn is_caught(mutant: Mutant, by: &[&str]) {
    is_caught_in(&FaultCase::new("synchronous/3/0", 3, 0, 2, Some(3)), mutant, by);
}

/// Some world must break one of the named invariants by the mutant alone: without it the same world keeps all of them.
fn is_caught_in(scene: &FaultCase, mutant: Mutant, by: &[&str]) {
    let mut others = Vec::new();
    for seed in 0..200 {
        let Err(why) = outcome(scene, seed, mutant) else { continue };
        if by.contains(&invariant(&why)) {
            assert_eq!(outcome(scene, seed, Mutant::None).err(), None, "world {seed} without {mutant:?}");
            return;
        }
        others.push(invariant(&why).to_owned());
    }
    panic!("{mutant:?} breaks none of {by:?} in 200 worlds, but {others:?}");
}

#[test]
fn mutant_m23_a_charge_after_the_release_is_caught() {
    is_caught(Mutant::ChargeAfterRelease, &["INV1", "INV12"]);
}

#[test]
fn mutant_m24_a_ledger_that_is_never_synchronised_is_caught() {
    is_caught(Mutant::NoSync, &["INV1", "INV12"]);
}

#[test]
fn mutant_m25_fresh_noise_on_what_is_sent_again_is_caught() {
    is_caught(Mutant::FreshNoiseOnResend, &["INV3"]);
}

#[test]
fn mutant_m26_a_refund_at_a_restart_is_caught() {
    is_caught(Mutant::RefundAtRestart, &["INV1", "INV12"]);
}

#[test]
fn mutant_m27_an_answer_that_is_applied_twice_is_caught() {
    is_caught(Mutant::AppliedTwice, &["INV4", "INV6"]);
}

#[test]
fn mutant_m28_a_reply_before_its_commit_is_durable_is_caught() {
    is_caught(Mutant::EarlyReply, &["INV5", "INV12"]);
}

#[test]
fn mutant_a_node_that_keeps_no_record_is_caught() {
    is_caught_in(&FaultCase::new("sum/2/1", 4, 2, 3, Some(5)), Mutant::NoRecord, &["INV3"]);
}
