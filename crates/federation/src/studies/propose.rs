//! From a study and the keys of its parties to the manifest that all of them sign.

use super::error::StudyRunError;
use super::run_parts::{build, choose, read_schema, refuse};
use crate::identity::{PartyName, PublicKey};
use crate::manifest::{self, Manifest, NodeMember, Pace, RunParts, SiteMember};
use crate::store::{PartyRow, RunRow};
use inference::Summing;
use inference::settings::Rounds;
use sha2::{Digest as _, Sha256};
use study::Served;
use study::Study;

/// The keys of those who take part, as their certificates say.
pub struct MemberKeys {
    /// Keys of sites, by name.
    pub sites: Vec<(PartyName, PublicKey)>,
    /// Of compute nodes the key, and the one for shares (X25519).
    pub nodes: Vec<(PartyName, PublicKey, [u8; 32])>,
    /// The server's own.
    pub server: PublicKey,
}

/// Who serves the study, as it says; one that does not say so is refused.
pub fn served(study: &Study) -> Result<&Served, StudyRunError> {
    study.served.as_ref().ok_or_else(|| {
        let hint =
            "add the sites, for example: sites = [{ name = \"north\", rows = 200 }, { name = \"south\", rows = 150 }]";
        refuse(format!("{} has no [federation]", study.file), hint)
    })
}

/// The parts of a run of this study: everything about it that can be wrong before anybody has joined is refused here.
///
/// The schema's text is beside the study, and no row is read: the server has none.
pub fn parts(study: &Study, schema: &str, method: Option<&str>) -> Result<RunParts, StudyRunError> {
    let served = served(study)?;
    let method = choose(study, method)?;
    let parts = build(study, &read_schema(schema)?, method, served.names(), &served.rows())?;
    manifest::agreed(&parts.built).map_err(|error| refuse(error.to_string(), "report this as a bug"))?;
    Ok(parts)
}

/// The manifest of a run of this study with these parts. Keys of parties that the study does not name are left aside; one that
/// is missing is refused.
pub fn manifest(
    study: &Study,
    schema: &str,
    parts: &RunParts,
    members: &MemberKeys,
    nonce: [u8; 16],
) -> Result<Manifest, StudyRunError> {
    let served = served(study)?;
    Ok(Manifest {
        version: manifest::VERSION,
        nonce,
        study: study.text.clone(),
        schema: schema.to_owned(),
        method: parts.method.name.clone(),
        sites: sites(served, members)?,
        nodes: nodes(served, members, parts)?,
        server: members.server,
        pace: pace(served, parts),
        agreed: manifest::agreed(&parts.built).map_err(|error| refuse(error.to_string(), "report this as a bug"))?,
    })
}

/// What tells a run from all others of the same study: the runs before it, and when everybody joined. Two servers on one
/// store that propose at the same moment so propose the same run, and the store keeps it once.
pub fn nonce(parties: &[PartyRow], runs: &[RunRow]) -> [u8; 16] {
    let mut digest = Sha256::new().chain_update(b"posterity 1 nonce\0");
    let mut known: Vec<_> = parties.iter().map(|row| (row.role.word(), &row.name, row.key.0, row.expires)).collect();
    known.sort_unstable();
    for (role, name, key, expires) in known {
        digest.update(format!("{role} {name} {expires}\0"));
        digest.update(key);
    }
    let mut before: Vec<_> = runs.iter().map(|row| row.run).collect();
    before.sort_unstable();
    before.iter().for_each(|run| digest.update(run));
    let digest: [u8; 32] = digest.finalize().into();
    std::array::from_fn(|at| digest.get(at).copied().unwrap_or_default())
}

fn sites(served: &Served, members: &MemberKeys) -> Result<Vec<SiteMember>, StudyRunError> {
    let site = |site: &study::ServedSite| {
        let found = members.sites.iter().find(|(name, _)| *name == site.name);
        let (name, key) = found.ok_or_else(|| unknown("site", &site.name))?;
        Ok(SiteMember { name: name.clone(), key: *key, rows: site.rows })
    };
    served.sites.iter().map(site).collect()
}

/// The nodes of a secure sum; none where the method has no sum, even if another method of the study does.
fn nodes(served: &Served, members: &MemberKeys, parts: &RunParts) -> Result<Vec<NodeMember>, StudyRunError> {
    if !matches!(parts.built.summing, Summing::Secure { .. }) {
        return Ok(Vec::new());
    }
    let node = |node: &PartyName| {
        let found = members.nodes.iter().find(|(name, ..)| name == node);
        let (name, key, sealing) = found.ok_or_else(|| unknown("node", node))?;
        Ok(NodeMember { name: name.clone(), key: *key, sealing: *sealing })
    };
    served.nodes.iter().map(node).collect()
}

fn unknown(role: &str, name: &PartyName) -> StudyRunError {
    let message = format!("the study names the {role} {name}, which has no certificate");
    StudyRunError::refused("F103", message, "invite it first, then let it join")
}

/// Rounds to make: as many as the plan covers, and no more than the method asks for.
pub(crate) fn rounds(parts: &RunParts) -> u64 {
    let (Rounds::Count(asked) | Rounds::UntilSpent { at_most: asked }) = parts.method.algorithm.rounds();
    parts.built.plan.rounds.min(asked)
}

/// Rounds as planned; a quorum of all sites but those that may drop out of a secure sum, where the study names none.
fn pace(served: &Served, parts: &RunParts) -> Pace {
    let least = match &parts.built.summing {
        Summing::Secure { cohort, .. } => cohort.quorum(),
        Summing::Nobody | Summing::Curator => served.sites.len() as u64,
    };
    Pace { rounds: rounds(parts), quorum: served.quorum.unwrap_or(least), deadline: served.deadline }
}
