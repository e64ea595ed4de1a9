//! Which run a server serves: the one that is kept, or a new one for those who have joined; and whether its results find a place.

use super::serve::{Server, StoredProposal, blocking};
use crate::clock;
use crate::failure::Failure;
use crate::federation::net::failure;
use crate::say;
use federation::coordinator::CoordinatorPhase;
use federation::identity::{PartyName, PartyRole};
use federation::manifest::Manifest;
use federation::server::RunEngine;
use federation::store::{PartyRow, RunRow, StoreError};
use federation::studies::{self, MemberKeys, check_room};
use std::sync::Arc;
use study::digits::hexadecimal;

impl Server {
    /// The newest run of this study and method that is kept; one that is over only if no other is wished for.
    pub(super) async fn kept(&self, runs: &[RunRow]) -> Result<Option<StoredProposal>, Failure> {
        let Some((row, manifest)) = self.newest(runs) else { return Ok(None) };
        let (store, run) = (self.store.clone(), row.run);
        let phase = blocking(move || Ok(store.load(&run)?.header.phase)).await?;
        if self.is_to_follow(phase) {
            return Ok(None);
        }
        let parts = manifest
            .check(&self.studies)
            .map_err(|error| failure("F101", error.to_string(), "serve the study that this run was proposed from"))?;
        Ok(Some(StoredProposal { manifest: Arc::new(manifest), parts, created: row.created }))
    }

    /// The newest run of this study, method and server.
    fn newest<'a>(&self, runs: &'a [RunRow]) -> Option<(&'a RunRow, Manifest)> {
        runs.iter().find_map(|row| {
            let manifest = Manifest::read(&row.manifest).ok()?;
            let same = manifest.study == self.study.text
                && manifest.server == self.home.key().public()
                && self.asked.method.as_ref().is_none_or(|method| *method == manifest.method);
            same.then_some((row, manifest))
        })
    }

    /// Whether another run is to follow one that stands so.
    fn is_to_follow(&self, phase: CoordinatorPhase) -> bool {
        self.asked.again && matches!(phase, CoordinatorPhase::Finished(_))
    }

    /// Whether the results will find their place, before anything is waited for or spent.
    pub(super) fn check_out(&self) -> Result<(), Failure> {
        let rows = self.store.runs()?;
        let run = match self.newest(&rows) {
            Some((row, _)) if !self.is_to_follow(self.store.load(&row.run)?.header.phase) => Some(&row.run),
            _ => None,
        };
        Ok(check_room(&self.out, run)?)
    }

    /// The keys of all parties of the study; or who is missing, in words.
    pub(super) fn members(&self, parties: &[PartyRow]) -> Result<MemberKeys, String> {
        let served = studies::served(&self.study).map_err(|failure| failure.to_string())?;
        let find = |role: PartyRole, name: &PartyName| {
            let named = |row: &&PartyRow| row.role == role && row.name == *name && row.revoked.is_none();
            parties.iter().find(named).ok_or_else(|| format!("{role} {name}"))
        };
        let sites =
            served.sites.iter().map(|site| find(PartyRole::Site, &site.name).map(|row| (row.name.clone(), row.key)));
        let nodes = served.nodes.iter().map(|node| {
            let row = find(PartyRole::Node, node)?;
            Ok((row.name.clone(), row.key, row.sealing.unwrap_or_default()))
        });
        let (sites, nodes): (Vec<Result<_, String>>, Vec<Result<_, String>>) = (sites.collect(), nodes.collect());
        let of_sites = sites.iter().filter_map(|one| one.as_ref().err().cloned());
        let missing: Vec<String> = of_sites.chain(nodes.iter().filter_map(|one| one.as_ref().err().cloned())).collect();
        if !missing.is_empty() {
            return Err(missing.join(", "));
        }
        let (sites, nodes) = (sites.into_iter().flatten().collect(), nodes.into_iter().flatten().collect());
        Ok(MemberKeys { sites, nodes, server: self.home.key().public() })
    }

    /// Keeps a new run; none if another server on the same store has just done so.
    pub(super) async fn propose(
        &self,
        members: &MemberKeys,
        nonce: [u8; 16],
    ) -> Result<Option<StoredProposal>, Failure> {
        check_room(&self.out, None)?;
        let manifest = studies::manifest(&self.study, &self.schema, &self.parts, members, nonce)?;
        let (manifest, parts, created) = (Arc::new(manifest), self.parts.clone(), clock::seconds());
        let (store, key) = (self.store.clone(), self.home.key().clone());
        let (signed, built) = (manifest.clone(), parts.clone());
        let created_run = blocking(move || match RunEngine::create(&store, signed, built, key, created) {
            Ok(run) => Ok(Some(run)),
            Err(StoreError::Exists) => Ok(None),
            Err(error) => Err(error.into()),
        });
        let Some(run) = created_run.await? else { return Ok(None) };
        say::line(format!("proposing run {} to {} sites", hexadecimal(&run), manifest.sites.len()));
        Ok(Some(StoredProposal { manifest, parts, created }))
    }
}
