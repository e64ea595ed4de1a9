//! Server, sites and nodes as real processes, killed at random moments and at every named place: nothing is lost, nothing is
//! spent twice, and the run comes to its end.
//!
//! `cargo test -p posterity-federation --features rehearsal --test kill`; `POSTERITY_KILLS=500` for more kills, and
//! `POSTERITY_SEED=n` for other victims.
#![cfg(all(unix, feature = "rehearsal"))]

#[path = "kill/child.rs"]
mod child;
mod common;
#[path = "common/postgres.rs"]
mod postgres;
#[path = "kill/postmortem.rs"]
mod postmortem;
#[path = "kill/processes.rs"]
mod processes;
#[path = "kill/run_folder.rs"]
mod run_folder;

use federation::store;
use postgres::Postgres;
use processes::{KillCampaign, PASSED, ProcessKind, RunProcesses};
use run_folder::RunFolder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Kills of each test, unless told otherwise.
const KILLS: u64 = 40;

/// Schedules with and without a deadline, and a secure sum over two nodes.
const SCENES: [&str; 4] =
    ["synchronous/40/0 3 0 3 -", "sum/8/1 4 2 3 2", "sequential/20/0 3 0 1 -", "asynchronous/40/0 3 0 1 -"];

/// Most runs of a test: a place that nobody comes by would be waited for in vain.
fn most_runs(kills: u64) -> usize {
    12 + kills as usize / 4
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn campaign(kinds: &[ProcessKind]) -> KillCampaign {
    let seed = number("POSTERITY_SEED").unwrap_or(1);
    println!("victims by POSTERITY_SEED={seed}");
    KillCampaign::new(seed, number("POSTERITY_KILLS").unwrap_or(KILLS), kinds)
}

/// A folder that is removed when its test ends well.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kill-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// What the processes of the other tests do; by itself it does nothing.
#[test]
fn a_process_of_a_federation() {
    if std::env::var_os("POSTERITY_PART").is_some() {
        child::play();
    }
}

#[test]
fn every_place_is_passed_by_somebody() {
    let passed: BTreeSet<&str> = PASSED.iter().flat_map(|(_, places)| places.iter().copied()).collect();
    assert_eq!(passed, federation::failpoint::PLACES.into_iter().collect());
}

#[test]
fn kills_at_random_and_at_every_place_lose_nothing() {
    let mut campaign = campaign(&[ProcessKind::Server, ProcessKind::Site, ProcessKind::Node]);
    for (run, scene) in SCENES.into_iter().cycle().take(most_runs(campaign.wanted)).enumerate() {
        let folder = folder(&format!("sqlite-{run}"));
        let stage = RunFolder::build(&folder, scene);
        let place = folder.join("server.sqlite").display().to_string();
        stage.enrol(store::serve(&place).unwrap().as_ref());
        let mut processes = RunProcesses::start(&stage, 1, &place, &mut campaign);
        processes.perform(&mut campaign, None);
        let fallen = processes.fallen;
        drop(processes);
        postmortem::hold(&stage, store::open(&place).unwrap().as_ref(), fallen);
        std::fs::remove_dir_all(&folder).unwrap();
        println!("run {run}, {scene}: {} kills so far, places left: {:?}", campaign.made, campaign.open);
        if campaign.is_over() {
            return;
        }
    }
    panic!("{} kills, and nobody came by {:?}", campaign.made, campaign.open);
}

#[test]
fn two_servers_on_postgresql_lose_nothing_either() {
    let Some(mut database) = Postgres::or_skip() else { return };
    let mut campaign = campaign(&[ProcessKind::Server, ProcessKind::Site, ProcessKind::Node]);
    for (run, scene) in SCENES.into_iter().cycle().take(most_runs(campaign.wanted)).enumerate() {
        let folder = folder(&format!("postgres-{run}"));
        let stage = RunFolder::build(&folder, scene);
        let place = database.database(&format!("kills_{run}"));
        stage.enrol(store::serve(&place).unwrap().as_ref());
        let mut processes = RunProcesses::start(&stage, 2, &place, &mut campaign);
        processes.perform(&mut campaign, Some(&mut database));
        let fallen = processes.fallen;
        drop(processes);
        postmortem::hold(&stage, store::open(&place).unwrap().as_ref(), fallen);
        std::fs::remove_dir_all(&folder).unwrap();
        println!("run {run}, {scene}: {} kills so far, places left: {:?}", campaign.made, campaign.open);
        if campaign.is_over() {
            return;
        }
    }
    panic!("{} kills, and nobody came by {:?}", campaign.made, campaign.open);
}
