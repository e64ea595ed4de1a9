//! `posterity node run`: a compute node of secure sums.

use super::agent::ended;
use super::rehearsal::noise;
use super::surroundings::Around;
use crate::failure::Failure;
use crate::federation::library::Studies;
use crate::federation::net::{client, home_of, logs, of_drive, of_home, runtime, stopped};
use federation::drive::drive;
use federation::identity::Role;
use federation::log::{FolderDisk, LogError};
use federation::manifest::Manifest;
use federation::party::{NodeParty, NodeSeat, Verdict};
use federation::transport::Line;
use privacy::noise::OsKeyed;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use zeroize::Zeroizing;

/// Runs a node until its run is over or it is stopped.
pub(crate) fn run(folder: &Path, json: bool) -> Result<String, Failure> {
    logs();
    let home = Arc::new(home_of(folder, Role::Node)?);
    let papers = home.papers().map_err(of_home)?;
    let disk = FolderDisk::open(&home.folder().join("sums")).map_err(LogError::from)?;
    let (name, sealing) = (papers.party.name.clone(), home.sealing().map_err(of_home)?.clone());
    let owner = Box::new(Keeper(home.noise_secret().map_err(of_home)?.clone()));
    let party = NodeParty::new(name.clone(), home.key().clone(), sealing, Arc::new(Studies), owner, disk);
    let (sender, tls) = watch::channel(client(&home)?);
    let standing = runtime()?.block_on(async {
        let mut line = Line::new(papers.server.as_str().to_owned(), tls, u64::from(std::process::id()));
        let mut around = Around::new(home, Role::Node, name.clone(), sender);
        drive(Box::new(party), &mut line, &mut around, stopped()).await
    });
    ended("node", name.as_str(), standing.map_err(of_drive)?, json)
}

/// A node's keeper: it takes part in every study that names it.
struct Keeper(Zeroizing<[u8; 32]>);

impl NodeSeat for Keeper {
    fn consider(&mut self, _: &Manifest) -> Verdict {
        Verdict::Sign
    }

    fn noise(&mut self) -> OsKeyed {
        noise(&self.0)
    }
}
