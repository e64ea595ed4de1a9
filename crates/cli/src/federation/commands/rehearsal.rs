//! Where the noise of an agent or a node comes from: the operating system, and in test builds a seed if there is one.

use privacy::noise::OsKeyed;

#[cfg(feature = "rehearsal")]
pub(super) use compared::compare;

/// The source of the noise of a party with this secret.
pub(super) fn noise(secret: &[u8; 32]) -> OsKeyed {
    #[cfg(feature = "rehearsal")]
    if let Some(seed) = compared::seed() {
        tracing::warn!("rehearsal: the noise is seeded, so nothing that this party sends is private");
        return OsKeyed::rehearsing(seed);
    }
    OsKeyed::new(*secret)
}

#[cfg(feature = "rehearsal")]
mod compared {
    //! A federation of separate processes, held against the simulation of the same rows with the same seed in this one.

    use crate::failure::Failure;
    use crate::federation::net::failure;
    use federation::manifest::{Manifest, RunBuilder};
    use federation::store::{self, StoreError};
    use federation::studies::{SiteFiles, Studies};
    use inference::message::Direct;
    use inference::{Client, Drive, SimulationContext};
    use std::path::Path;

    pub(super) fn seed() -> Option<u64> {
        std::env::var("POSTERITY_REHEARSAL").ok().and_then(|seed| seed.parse().ok())
    }

    /// Says whether the state of the run in this store is that of the simulation, bit for bit.
    pub(crate) fn compare(database: &Path, dealt: &SiteFiles) -> Result<String, Failure> {
        let Some(seed) = seed() else {
            return Ok("not compared with a simulation: POSTERITY_REHEARSAL is not set".into());
        };
        let store = store::open(&database.display().to_string())?;
        let row = store.runs()?.into_iter().next().ok_or(StoreError::NoRun)?;
        let different = |why: String| failure("F207", why, "the federation and its simulation differ");
        let manifest = Manifest::read(&row.manifest).map_err(|error| different(error.to_string()))?;
        let studies = Studies::default();
        let parts = studies.open(&manifest).map_err(different)?;
        let built = &parts.built;
        let mut shards = Vec::new();
        for (site, file) in dealt.sites.iter().enumerate() {
            shards.push(studies.open_rows(&file.path, &manifest, &parts, site)?.shard);
        }
        let mut clients = Vec::new();
        for (m, shard) in shards.iter().enumerate() {
            let client = Client::new(m, shard, built.terms[m].clone(), built.grants[m].clone())?;
            clients.push(client.with_openings(built.openings[m].clone()));
        }
        let workshop = SimulationContext { seed, run: manifest.run(), summing: built.summing, tape: None };
        let (protocol, schedule) = (built.protocol.as_ref(), parts.method.schedule);
        let mut drive = Drive::new(protocol, schedule, &Direct, workshop, clients, &built.rates)?;
        for _ in 0..manifest.pace.rounds {
            drive.round()?;
        }
        match drive.state() == store.load(&row.run)?.state {
            true => Ok("the posterior equals that of the simulation, bit for bit".into()),
            false => Err(different("the posterior differs from that of the simulation".into())),
        }
    }
}
