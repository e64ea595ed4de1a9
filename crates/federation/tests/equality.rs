//! A federation is its simulation: the same seeds give the same state, bit for bit, whatever carries the messages; and time that
//! passes changes nothing but time.
#![cfg(feature = "rehearsal")]

use crate::common::study::{ROWS, TestBuilder, TestKeys, shard};
use crate::common::world::{FaultRates, FaultWorld};
use federation::coordinator::CoordinatorPhase;
use federation::manifest::{Manifest, Pace, RunBuilder};
use federation::message::{MemberId, RunOutcome};
use federation::store::ServerStore;
use inference::message::Direct;
use inference::{Client, Drive, SimulationContext};
use privacy::Grant;
use std::sync::Arc;

/// The seed of noise in a world.
const SEED: u64 = 11;

struct EqualityCase {
    keys: Arc<TestKeys>,
    builder: Arc<dyn RunBuilder>,
    manifest: Arc<Manifest>,
}

fn scene(study: &str, sites: usize, nodes: usize, quorum: u64, deadline: Option<u64>) -> EqualityCase {
    let (keys, builder) =
        (Arc::new(TestKeys::new(sites, nodes)), Arc::new(TestBuilder::default()) as Arc<dyn RunBuilder>);
    let rounds = study.split('/').nth(1).and_then(|rounds| rounds.parse().ok()).unwrap();
    let manifest = keys.manifest(study, 1, Pace { rounds, quorum, deadline }, builder.as_ref());
    EqualityCase { keys, builder, manifest }
}

impl EqualityCase {
    fn world(&self, seed: u64, trouble: FaultRates) -> FaultWorld {
        FaultWorld::new(seed, &self.keys, &self.builder, self.manifest.clone(), trouble)
    }

    /// The state after the same rounds in one process.
    fn simulated(&self) -> Vec<u8> {
        let parts = self.manifest.check(self.builder.as_ref()).unwrap();
        let built = &parts.built;
        let shards: Vec<_> = (0..self.manifest.sites.len()).map(shard).collect();
        let sites = shards.iter().zip(&built.terms).zip(built.grants.iter().zip(&built.openings));
        let clients = sites.enumerate().map(|(m, ((shard, terms), (grant, opening)))| {
            assert_eq!(shard.len(), ROWS);
            Client::new(m, shard, terms.clone(), grant.clone()).unwrap().with_openings(opening.clone())
        });
        let workshop = SimulationContext { seed: SEED, run: self.manifest.run(), summing: built.summing, tape: None };
        let schedule = parts.method.schedule;
        let protocol = built.protocol.as_ref();
        let mut drive = Drive::new(protocol, schedule, &Direct, workshop, clients.collect(), &built.rates).unwrap();
        for _ in 0..self.manifest.pace.rounds {
            drive.round().unwrap();
        }
        drive.state().to_vec()
    }
}

fn state(world: &FaultWorld) -> Vec<u8> {
    world.store.load(&world.manifest.run()).unwrap().state
}

#[test]
fn a_federation_has_the_state_of_its_simulation_bit_for_bit() {
    let by_person = [("synchronous/4/0/person", 3, 0), ("sum/4/0/person", 4, 2)];
    let by_row = [("sequential/4/0", 3, 0), ("synchronous/4/0", 4, 0), ("sum/4/0", 4, 2)];
    for (study, sites, nodes) in by_row.into_iter().chain(by_person) {
        let scene = scene(study, sites, nodes, sites as u64, None);
        let mut world = scene.world(1, FaultRates::default());
        world.live(0);
        assert!(state(&world) == scene.simulated(), "{study}");
    }
}

/// Two different ε, and two clips: at gates of their own, and under the one noise of a secure sum.
#[test]
fn sites_with_promises_of_their_own_have_the_state_of_their_simulation_bit_for_bit() {
    for (study, sites, nodes) in
        [("sequential/4/0/own", 3, 0), ("synchronous/4/0/own", 3, 0), ("changes/4/0/own", 4, 2)]
    {
        let scene = scene(study, sites, nodes, sites as u64, None);
        let agreed = &scene.manifest.agreed;
        let granted = |m: usize| match &agreed[m].grant {
            Grant::Limited { epsilon, .. } => epsilon.get(),
            Grant::Unlimited => f64::INFINITY,
        };
        let clips: Vec<f64> = agreed.iter().map(|site| site.clip).collect();
        assert!(clips[..3] == [1.0, 0.5, 1.0] && granted(1) != granted(2) && granted(2) == 2.0, "{study}: {agreed:?}");
        let mut world = scene.world(1, FaultRates::default());
        world.live(0);
        assert!(state(&world) == scene.simulated(), "{study}");
    }
}

#[test]
fn messages_that_are_lost_doubled_and_overtaken_change_nothing() {
    for (study, sites, nodes) in [("sequential/3/0", 3, 0), ("synchronous/3/0", 3, 0), ("sum/3/0", 4, 2)] {
        let scene = scene(study, sites, nodes, sites as u64, None);
        let simulated = scene.simulated();
        for seed in 0..20 {
            let mut world = scene.world(seed, FaultRates { lose: 4, double: 3, cut: 30, ..FaultRates::default() });
            world.live(300);
            assert!(state(&world) == simulated, "{study}, seed {seed}");
        }
    }
}

#[test]
fn a_server_that_goes_down_changes_nothing() {
    for study in ["sequential/3/0", "synchronous/3/0"] {
        let scene = scene(study, 3, 0, 3, None);
        let simulated = scene.simulated();
        for seed in 0..20 {
            let mut world = scene.world(seed, FaultRates { server_down: 12, commit_fails: 9, ..FaultRates::default() });
            world.live(200);
            assert!(state(&world) == simulated, "{study}, seed {seed}");
        }
    }
}

/// The first site hears of its question, and is cut off for an hour; then it is back, as if nothing had happened.
fn an_hour_away(world: &mut FaultWorld) {
    while world.server.as_ref().is_none_or(|engine| engine.coordinator().header().round < 1) {
        world.event();
    }
    world.cut(0, true);
    let back = world.now + 3_600_000;
    while world.now < back {
        world.now += 60_000;
        world.event();
    }
    world.cut(0, false);
    world.live(0);
}

#[test]
fn an_agent_that_comes_back_after_an_hour_changes_nothing_but_time() {
    for (study, sites, nodes) in [("sequential/4/0", 3, 0), ("synchronous/4/0", 3, 0), ("sum/4/0", 4, 2)] {
        let scene = scene(study, sites, nodes, sites as u64, None);
        let mut world = scene.world(5, FaultRates::default());
        an_hour_away(&mut world);
        assert!(state(&world) == scene.simulated(), "{study}");
    }
}

#[test]
fn with_a_deadline_the_others_go_on_and_the_late_answer_is_not_lost() {
    for (study, sites, nodes, quorum) in
        [("synchronous/4/0", 3, 0, 2), ("sum/4/1", 4, 2, 3), ("asynchronous/4/0", 3, 0, 1)]
    {
        let scene = scene(study, sites, nodes, quorum, Some(30));
        let mut world = scene.world(5, FaultRates::default());
        an_hour_away(&mut world);
        let header = world.store.load(&world.manifest.run()).unwrap().header;
        assert_eq!(header.phase, CoordinatorPhase::Finished(RunOutcome::Complete), "{study}");
        assert!(world.actors.iter().all(|actor| matches!(actor.member, MemberId::Site(_) | MemberId::Node(_))));
        let others = header.sites.iter().skip(1).map(|seat| seat.answers).min().unwrap();
        assert!(others >= 3 && header.sites[0].answers < 8, "{study}: {:?}", header.sites);
    }
}
