//! A study whose answers have as many numbers as one likes, and cost next to nothing to make.

use federation::identity::{IdentityKey, PartyName};
use federation::manifest::{Manifest, Pace, RunBuilder, RunParts, SiteMember, VERSION, agreed};
use inference::algorithm::PviSettings;
use inference::settings::{
    Aggregator, Claim, Clip, Covariance, Damping, DeltaRule, FactorRule, Local, Noise, NoiseReading, Promise, Readout,
    Repair, Rounds, Schedule, SitePromises,
};
use inference::solve::Perturb;
use inference::{InputLayout, Logistic, Method, Row, RowKeys, Rows, Shard, build};
use privacy::{Adjacency, Delta, Epsilon, Filter, Grant, NormBound, Unit};
use std::error::Error;
use std::sync::Arc;

/// Rows of every site.
const ROWS: usize = 4;

/// Everybody's keys, what they have agreed, and the parts of the run.
pub(crate) struct LoadStudy {
    pub(crate) server: Arc<IdentityKey>,
    pub(crate) sites: Vec<(PartyName, Arc<IdentityKey>)>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) parts: Arc<RunParts>,
    pub(crate) shard: Arc<Shard>,
}

/// Synchronous rounds of partitioned variational inference, mean field, perturbed: two numbers in an answer for each input.
fn method(rounds: u64) -> Result<Method, Box<dyn Error>> {
    let promise = Promise {
        unit: Unit::Example,
        adjacency: Adjacency::Substitute,
        epsilon: Epsilon::new(2.0)?,
        delta: DeltaRule::Fixed(Delta::new(1e-5)?),
        clip: Some(Clip::Fixed(NormBound::new(1.0)?)),
        noise: Noise::Calibrated,
        aggregator: Aggregator::None,
        accountant: Claim::Certified,
    };
    let settings = PviSettings {
        solver: Arc::new(Perturb { local: Local::whole_step() }),
        rounds: Rounds::Count(rounds),
        damping: Damping::new(0.5).ok_or("no such damping")?,
        covariance: Covariance::MeanField,
        factor: FactorRule::Free,
        readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
        site_intercept: None,
    };
    let (name, schedule) = ("load".into(), Schedule::Synchronous);
    Ok(Method { name, algorithm: Arc::new(settings), schedule, promise: Some(promise), sites: SitePromises::default() })
}

impl LoadStudy {
    /// A study of so many sites, rounds, and numbers in an answer.
    pub(crate) fn new(sites: usize, rounds: u64, numbers: usize) -> Result<Self, Box<dyn Error>> {
        let (inputs, method) = (numbers.div_ceil(2), method(rounds)?);
        let rows = vec![ROWS as u64; sites];
        let mut built =
            build(&method, &rows, Arc::new(Logistic::default()), &InputLayout::new(inputs, inputs)?, &1.0.into(), 7)?;
        // A grant that is quick to cost: what is measured is the federation, and not the accountant.
        let grant = Grant::Limited { epsilon: Epsilon::new(9.0)?, delta: Delta::new(1e-5)?, filter: Filter::Zcdp };
        built.grants.iter_mut().for_each(|one| *one = grant.clone());
        let parts = Arc::new(RunParts { method, built });
        let server = Arc::new(IdentityKey::generate()?);
        let sites = (0..sites).map(site).collect::<Result<Vec<_>, _>>()?;
        let members = sites.iter().map(|(name, key)| SiteMember { name: name.clone(), key: key.public(), rows: 4 });
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce)?;
        let manifest = Manifest {
            version: VERSION,
            nonce,
            study: "load".into(),
            schema: String::new(),
            method: "load".into(),
            sites: members.collect(),
            nodes: Vec::new(),
            server: server.public(),
            pace: Pace { rounds, quorum: 1, deadline: None },
            agreed: agreed(&parts.built)?,
        };
        Ok(Self { server, sites, manifest: Arc::new(manifest), parts, shard: Arc::new(shard(inputs)?) })
    }

    /// How many numbers are in an answer.
    pub(crate) fn numbers(&self) -> usize {
        self.parts.built.terms.first().map_or(0, |terms| terms.shape.dimension())
    }
}

fn site(number: usize) -> Result<(PartyName, Arc<IdentityKey>), Box<dyn Error>> {
    Ok((PartyName::new(&format!("site-{number}"))?, Arc::new(IdentityKey::generate()?)))
}

/// The same few rows for every site.
fn shard(inputs: usize) -> Result<Shard, Box<dyn Error>> {
    let mut rows = Rows::new(inputs, inputs)?;
    for row in 0..ROWS {
        let numbers: Vec<f64> = (0..inputs).map(|input| 0.1 * ((row + input) % 5) as f64 - 0.2).collect();
        rows.push(Row { numbers: &numbers, ones: &[], outcome: f64::from(u8::from(row % 2 == 0)) })?;
    }
    Ok(Shard::new(rows, RowKeys::of_slots((0..ROWS as u64).collect()))?)
}

/// Hands the parts out that were built once: a thousand sites of one process need not each build them.
pub(crate) struct SharedParts(pub(crate) Arc<RunParts>);

impl RunBuilder for SharedParts {
    fn open(&self, _: &Manifest) -> Result<Arc<RunParts>, String> {
        Ok(self.0.clone())
    }
}
