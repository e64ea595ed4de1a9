//! A study that is small enough to be run a hundred thousand times: three or four sites, two inputs, all schedules.

use federation::identity::{IdentityKey, PartyName, SealingKey};
use federation::manifest::{Manifest, NodeMember, Pace, RunBuilder, RunParts, SiteMember, VERSION, agreed};
use inference::algorithm::{Curvature, NoiseAwareConstants, NoiseAwareSettings, PviSettings, RoundBudget};
use inference::method::AlgorithmSettings;
use inference::settings::{
    Aggregator, Batching, Claim, Clip, Covariance, Damping, DeltaRule, FactorRule, Gradients, Local, Noise,
    NoiseReading, Optimiser, Promise, Rates, Readout, Repair, Rounds, Schedule, SecureNoise, SecureSumSettings,
    SitePromise, SitePromises,
};
use inference::solve::{Descend, LocalSolve, Perturb};
use inference::{Built, InputLayout, Logistic, Method, PersonKey, RecordId, Row, RowKeys, Rows, Shard, build};
use privacy::{Adjacency, Delta, Epsilon, Filter, Grant, LifetimeCap, NormBound, Order, PromisePair, Unit};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The seed of public coins.
pub(crate) const SEED: u64 = 7;

/// ε that is granted: the planned answers and about as many that a crash burns.
pub(crate) const GRANTED: f64 = 5.0;

/// The relation and the unit of most of these studies.
pub(crate) const PAIR: PromisePair = PromisePair { adjacency: Adjacency::Substitute, unit: Unit::Example };

/// What the sites of these studies promise for all their runs: enough for several.
pub(crate) fn cap(pair: PromisePair) -> LifetimeCap {
    LifetimeCap { epsilon: Epsilon::new(100.0).unwrap(), delta: Delta::new(1e-3).unwrap(), pair }
}

/// Rows of every site.
pub(crate) const ROWS: usize = 6;

/// The method of a name: a schedule, `sum` or `changes` for a secure sum over two nodes, of levels or of changes, or `curator` for one who sees
/// every sum.
pub(crate) fn method(name: &str, rounds: u64, dropouts: u64) -> Method {
    let schedule = match name {
        "sequential" => Schedule::Sequential,
        "asynchronous" => Schedule::Asynchronous(Rates::Equal),
        _ => Schedule::Synchronous,
    };
    let aggregator = match name {
        "sum" | "changes" => {
            Aggregator::SecureSum(SecureSumSettings { nodes: 2, noise: SecureNoise::Nodes, colluders: 0, dropouts })
        }
        "curator" => Aggregator::Curator,
        _ => Aggregator::None,
    };
    let algorithm: Arc<dyn AlgorithmSettings> = match name {
        "sum" | "curator" => {
            let curvature = Curvature::Moments { looks: 1, bound: 2.0 };
            Arc::new(NoiseAwareSettings {
                constants: NoiseAwareConstants { curvature, whitening: 0.5, floor: 0.05, caution: 3.0 },
                rounds: Rounds::Count(rounds),
                damping: Damping::new(0.5).unwrap(),
                average: 1,
                site_intercept: None,
                budget: RoundBudget::Even,
                solver: None,
            })
        }
        _ => pvi(Perturb { local: Local::whole_step() }, rounds),
    };
    Method {
        name: name.into(),
        algorithm,
        schedule,
        promise: Some(promise(aggregator)),
        sites: SitePromises::default(),
    }
}

/// DP optimisation of a network, whose gates let through half as many numbers as an answer has.
pub(crate) fn aligned(rounds: u64) -> Method {
    let local = Local {
        batch: Batching::All,
        optimiser: Optimiser::Adam,
        gradients: Gradients::Aligned,
        ..Local::whole_step()
    };
    let algorithm = pvi(Descend { local }, rounds);
    Method {
        name: "aligned".into(),
        algorithm,
        schedule: Schedule::Synchronous,
        promise: Some(promise(Aggregator::None)),
        sites: SitePromises::default(),
    }
}

/// Partitioned variational inference by a solver.
fn pvi(solver: impl LocalSolve + 'static, rounds: u64) -> Arc<dyn AlgorithmSettings> {
    Arc::new(PviSettings {
        solver: Arc::new(solver),
        rounds: Rounds::Count(rounds),
        damping: Damping::new(0.5).unwrap(),
        covariance: Covariance::MeanField,
        factor: FactorRule::Free,
        readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
        site_intercept: None,
    })
}

fn promise(aggregator: Aggregator) -> Promise {
    Promise {
        unit: Unit::Example,
        adjacency: Adjacency::Substitute,
        epsilon: Epsilon::new(2.0).unwrap(),
        delta: DeltaRule::Fixed(Delta::new(1e-5).unwrap()),
        clip: Some(Clip::Fixed(NormBound::new(1.0).unwrap())),
        noise: Noise::Calibrated,
        aggregator,
        accountant: Claim::Certified,
    }
}

/// Builds the methods above, each once: `name/rounds/dropouts`, `/add-remove` where rows may come and go, `/person` where
/// all rows of a person are protected, and `/own` where the first sites have numbers of their own.
#[derive(Default)]
pub(crate) struct TestBuilder(Mutex<BTreeMap<StudyKey, Arc<RunParts>>>);

/// A study, and the declared rows of its sites.
type StudyKey = (String, Vec<u64>);

impl RunBuilder for TestBuilder {
    fn open(&self, manifest: &Manifest) -> Result<Arc<RunParts>, String> {
        let rows: Vec<u64> = manifest.sites.iter().map(|site| site.rows).collect();
        let mut known = self.0.lock().unwrap();
        let entry = (manifest.study.clone(), rows);
        if let Some(parts) = known.get(&entry) {
            return Ok(parts.clone());
        }
        let mut words = entry.0.split('/');
        let (Some(name), Some(rounds), Some(dropouts)) = (words.next(), words.next(), words.next()) else {
            return Err("no such study".into());
        };
        let number = |word: &str| word.parse::<u64>().map_err(|error| error.to_string());
        let mut method = method(name, number(rounds)?, number(dropouts)?);
        if let (Some(word), Some(promise)) = (words.next(), &mut method.promise) {
            match word {
                "add-remove" => promise.adjacency = Adjacency::AddRemove,
                "person" => promise.unit = Unit::Person,
                "own" => method.sites = own_numbers(promise, manifest)?,
                _ => return Err("no such study".into()),
            }
        }
        let built = build(
            &method,
            &entry.1,
            Arc::new(Logistic::default()),
            &InputLayout::new(2, 2).unwrap(),
            &1.0.into(),
            SEED,
        );
        let built = built.map_err(|error| error.to_string())?;
        // Where sites have numbers of their own, each has the grant of its plan.
        let built = if method.sites.is_empty() { quickly_granted(built) } else { built };
        let parts = Arc::new(RunParts { method, built });
        known.insert(entry, parts.clone());
        Ok(parts)
    }
}

/// A grant that is quick to cost: worlds open and replay hundreds of thousands of ledgers.
fn quickly_granted(mut built: Built) -> Built {
    let (epsilon, delta) = (Epsilon::new(GRANTED).unwrap(), Delta::new(1e-5).unwrap());
    built.grants.iter_mut().for_each(|grant| {
        *grant = Grant::Limited { epsilon, delta, filter: Filter::Renyi { order: Order::new(6.0).unwrap() } }
    });
    built
}

/// ε = .5 at the first site, and ε = 4 with half of the clip at the second; where sites share one noise, clips alone.
fn own_numbers(promise: &Promise, manifest: &Manifest) -> Result<SitePromises, String> {
    let names: Vec<String> = manifest.sites.iter().map(|site| site.name.to_string()).collect();
    let alone = promise.aggregator == Aggregator::None;
    let own = |epsilon: f64, clip: f64| SitePromise {
        epsilon: Epsilon::new(epsilon).ok().filter(|_| alone),
        delta: None,
        clip: NormBound::new(clip).ok(),
    };
    let own: SitePromises = names.iter().cloned().zip([own(0.5, 1.0), own(4.0, 0.5)]).collect();
    own.placed(&names).map_err(|conflict| conflict.what)
}

/// The rows of a site, two of each person.
pub(crate) fn shard(site: usize) -> Shard {
    let mut rows = Rows::new(2, 2).unwrap();
    for row in 0..ROWS {
        let x = [0.3 * row as f64 - 0.7, 0.2 * site as f64 - 0.1];
        rows.push(Row { numbers: &x, ones: &[], outcome: f64::from(row % 2 == site % 2) }).unwrap();
    }
    let keys = RowKeys::of_slots((0..ROWS as u64).collect());
    let person = |row: u64| PersonKey { slot: row / 2, id: RecordId::of(&(row / 2).to_string()) };
    Shard::new(rows, keys.with_persons((0..ROWS as u64).map(person).collect())).unwrap()
}

/// The keys of everybody.
pub(crate) struct TestKeys {
    pub(crate) server: Arc<IdentityKey>,
    pub(crate) sites: Vec<(PartyName, Arc<IdentityKey>)>,
    pub(crate) nodes: Vec<(PartyName, Arc<IdentityKey>, Arc<SealingKey>)>,
}

/// A key that signs quickly, where the build allows that.
#[cfg(feature = "rehearsal")]
fn identity(number: u64) -> IdentityKey {
    IdentityKey::rehearsing(number)
}

/// A key.
#[cfg(not(feature = "rehearsal"))]
fn identity(_: u64) -> IdentityKey {
    IdentityKey::generate().unwrap()
}

impl TestKeys {
    pub(crate) fn new(sites: usize, nodes: usize) -> Self {
        let mut number = 0;
        let mut key = || {
            number += 1;
            Arc::new(identity(number))
        };
        let name = |kind: &str, number: usize| PartyName::new(&format!("{kind}-{number}")).unwrap();
        Self {
            server: key(),
            sites: (0..sites).map(|m| (name("site", m), key())).collect(),
            nodes: (0..nodes)
                .map(|k| (name("node", k), key(), Arc::new(SealingKey::of_bytes(&[k as u8 + 1; 32]).unwrap())))
                .collect(),
        }
    }

    /// A manifest for this cast.
    pub(crate) fn manifest(&self, study: &str, nonce: u64, pace: Pace, builder: &dyn RunBuilder) -> Arc<Manifest> {
        let sites = self.sites.iter();
        let nodes = self.nodes.iter();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&nonce.to_le_bytes());
        let mut manifest = Manifest {
            version: VERSION,
            nonce: bytes,
            study: study.into(),
            schema: String::new(),
            method: study.split('/').next().unwrap_or_default().into(),
            sites: sites
                .map(|(name, key)| SiteMember { name: name.clone(), key: key.public(), rows: ROWS as u64 })
                .collect(),
            nodes: nodes
                .map(|(name, key, sealing)| NodeMember {
                    name: name.clone(),
                    key: key.public(),
                    sealing: sealing.public(),
                })
                .collect(),
            server: self.server.public(),
            pace,
            agreed: Vec::new(),
        };
        manifest.agreed = agreed(&builder.open(&manifest).unwrap().built).unwrap();
        Arc::new(manifest)
    }
}
