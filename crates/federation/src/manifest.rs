//! The manifest: everything that is agreed for a run, in canonical bytes that every party signs before the first charge.

use crate::identity::{PartyName, PartyRole, PublicKey, Signature};
use crate::log::RunId;
use crate::message::{MemberId, RunOutcome};
use inference::Method;
use inference::settings::{Rounds, Schedule};
use inference::{Built, Summing};
use privacy::PromisePair;
use privacy::noise::Digest;
use privacy::{Cohort, Event, Grant};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use study::digits::hexadecimal;

/// The version of manifests that this program writes, and the only one that it reads.
pub const VERSION: u32 = 2;

/// Longest manifest in bytes: study and schema are texts that people wrote.
pub const MOST_BYTES: usize = 1 << 22;

/// What a domain-separated signature of a manifest is over.
pub const DOMAIN: &str = "manifest";

/// Everything that is agreed for a run.
///
/// Study and schema are the very texts; every party builds its own parts from them. What follows from them for each site
/// ([`SiteTerms`]) stands beside, for people to read, and is refused where it is not what a party finds for itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`VERSION`].
    pub version: u32,
    /// Drawn at random, so that a study that is run twice is two runs.
    pub nonce: [u8; 16],
    /// The study, in TOML.
    pub study: String,
    /// The schema of the rows, in TOML.
    pub schema: String,
    /// Which of the study's methods is run.
    pub method: String,
    /// The sites, whose order is that of clients.
    pub sites: Vec<SiteMember>,
    /// The compute nodes; none without a secure sum.
    pub nodes: Vec<NodeMember>,
    /// The server's key.
    pub server: PublicKey,
    /// How the run is paced.
    pub pace: Pace,
    /// What is agreed for each site.
    pub agreed: Vec<SiteTerms>,
}

/// A site of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteMember {
    /// Name, as in its certificate.
    pub name: PartyName,
    /// Key, as in its certificate.
    pub key: PublicKey,
    /// Its declared number of rows; of persons, where the method protects these.
    pub rows: u64,
}

/// A compute node of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeMember {
    /// Name, as in its certificate.
    pub name: PartyName,
    /// Key, as in its certificate.
    pub key: PublicKey,
    /// Its key for shares (X25519).
    pub sealing: [u8; 32],
}

/// What tells one holder of a name from another, for people to read out to each other: the first half of SHA-256 over its keys,
/// in hexadecimal digits. A node's key for shares is no part of its certificate, and is in here.
pub fn fingerprint(role: PartyRole, key: &PublicKey, sealing: Option<&[u8; 32]>) -> String {
    let digest = Sha256::new()
        .chain_update(b"posterity 1 fingerprint\0")
        .chain_update(role.word())
        .chain_update([0])
        .chain_update(key.0)
        .chain_update(sealing.map_or(&[][..], |sealing| &sealing[..]))
        .finalize();
    hexadecimal(&digest).chars().take(32).collect()
}

impl SiteMember {
    /// What its owner reads out.
    pub fn fingerprint(&self) -> String {
        fingerprint(PartyRole::Site, &self.key, None)
    }
}

impl NodeMember {
    /// What its owner reads out.
    pub fn fingerprint(&self) -> String {
        fingerprint(PartyRole::Node, &self.key, Some(&self.sealing))
    }
}

/// How a run is paced: nothing here changes what an answer costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Rounds to make.
    pub rounds: u64,
    /// Fewest sites with which a synchronous round is folded when its deadline has passed, and below which a run ends.
    pub quorum: u64,
    /// Seconds after which a round does without stragglers; none: it waits.
    pub deadline: Option<u64>,
}

/// What is agreed for a site: for people, and checked by every party.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteTerms {
    /// What each answer is charged as: noise multiplier, relation, unit, sampling and steps.
    pub event: Event,
    /// C: the clipping bound.
    pub clip: f64,
    /// What the site may spend in this run.
    pub grant: Grant,
    /// SHA-256 of all its terms, opening included.
    pub terms: Digest,
}

/// A study as a party has built it for itself.
pub struct RunParts {
    /// The method that is run.
    pub method: Method,
    /// The protocol, terms, grants and plan of the method.
    pub built: Built,
}

impl RunParts {
    /// The relation and the unit of what a site is promised; none for a site that is not in the run.
    pub fn pair(&self, site: usize) -> Option<PromisePair> {
        self.built.terms.get(site).map(|terms| PromisePair::of(&terms.event))
    }
}

/// Builds the parts of a run from a manifest's texts. The program's own reader of studies is one; tests have others.
pub trait RunBuilder: Send + Sync {
    /// The parts, or why there are none.
    fn open(&self, manifest: &Manifest) -> Result<Arc<RunParts>, String>;
}

/// Why a manifest is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The bytes are not a canonical manifest of this version.
    #[error("found {found} bytes that are not a manifest of version {VERSION}")]
    Malformed {
        /// How many bytes.
        found: usize,
    },
    /// The study cannot be built.
    #[error("the study of the manifest cannot be run: {why}")]
    Study {
        /// Why the study cannot be built.
        why: String,
    },
    /// What the manifest says is not what follows from its study.
    #[error("the manifest and its study differ in {what} of {whom}")]
    Differs {
        /// What differs.
        what: &'static str,
        /// The site, or "all sites".
        whom: String,
    },
    /// A member is there twice, or missing.
    #[error("the member list of the manifest is not valid: {what}")]
    Members {
        /// What is wrong with the list.
        what: String,
    },
    /// A signature is missing or wrong.
    #[error("the signature of {whom} is not valid for the manifest")]
    Signature {
        /// The member whose signature is missing or wrong.
        whom: String,
    },
}

impl Manifest {
    /// Canonical bytes.
    pub fn bytes(&self) -> Vec<u8> {
        // Serialising to memory fails only for types without a fixed form, which these are not.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Reads canonical bytes, all of them, of this version.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        let malformed = ManifestError::Malformed { found: bytes.len() };
        if bytes.len() > MOST_BYTES {
            return Err(malformed);
        }
        let Ok((manifest, [])) = postcard::take_from_bytes::<Self>(bytes) else { return Err(malformed) };
        if manifest.version != VERSION || manifest.bytes() != bytes {
            return Err(malformed);
        }
        Ok(manifest)
    }

    /// SHA-256 of the canonical bytes: what is signed, and what every message names.
    pub fn digest(&self) -> Digest {
        Sha256::digest(self.bytes()).into()
    }

    /// The run's name: the first bytes of the digest, so that nothing that is bound to a run is of use in another.
    pub fn run(&self) -> RunId {
        let digest = self.digest();
        std::array::from_fn(|i| digest.get(i).copied().unwrap_or(0))
    }

    /// Builds the run's parts and holds the manifest against them: other numbers of sites, noise, bounds, rounds or
    /// grants than follow from the study are refused.
    pub fn check(&self, builder: &dyn RunBuilder) -> Result<Arc<RunParts>, ManifestError> {
        self.check_members()?;
        let parts = builder.open(self).map_err(|why| ManifestError::Study { why })?;
        let differs = |what, whom: &str| Err(ManifestError::Differs { what, whom: whom.into() });
        if agreed(&parts.built)? != self.agreed {
            let own = agreed(&parts.built)?;
            let site = own.iter().zip(&self.agreed).position(|(own, said)| own != said);
            let whom = site.and_then(|m| self.sites.get(m)).map_or("all sites", |site| site.name.as_str());
            return differs("the privacy cost", whom);
        }
        let (cohort, nodes) = match parts.built.summing {
            Summing::Nobody => (None, 0),
            Summing::Curator => {
                let why = "a curator would see every site's sum; use `aggregator = \"secure-sum\"`, or none".into();
                return Err(ManifestError::Study { why });
            }
            Summing::Secure { cohort, nodes, .. } => (Some(cohort), nodes as usize),
        };
        if nodes > 0 && parts.method.schedule != Schedule::Synchronous {
            let why = "a secure sum needs the answers of one round; use `schedule = \"synchronous\"`".into();
            return Err(ManifestError::Study { why });
        }
        if nodes != self.nodes.len() {
            return differs("the number of compute nodes", "the secure sum");
        }
        if cohort.map_or(0, |cohort: Cohort| cohort.quorum()) > self.pace.quorum {
            return differs("the quorum", "the secure sum");
        }
        let (Rounds::Count(rounds) | Rounds::UntilSpent { at_most: rounds }) = parts.method.algorithm.rounds();
        if self.pace.rounds > rounds {
            return differs("the number of rounds", "all sites");
        }
        Ok(parts)
    }

    fn check_members(&self) -> Result<(), ManifestError> {
        let members = |what: String| Err(ManifestError::Members { what });
        let (sites, quorum) = (self.sites.len(), self.pace.quorum);
        if sites == 0 || sites != self.agreed.len() || quorum == 0 || quorum > sites as u64 {
            return members(format!("{sites} sites, {} sets of terms, a quorum of {quorum}", self.agreed.len()));
        }
        let mut names: Vec<&str> = self.sites.iter().map(|site| site.name.as_str()).collect();
        let mut keys: Vec<&PublicKey> = self.sites.iter().map(|site| &site.key).collect();
        names.extend(self.nodes.iter().map(|node| node.name.as_str()));
        keys.extend(self.nodes.iter().map(|node| &node.key));
        keys.push(&self.server);
        names.sort_unstable();
        keys.sort_unstable();
        if let Some(twice) =
            names.windows(2).find_map(|two| matches!(two, [a, b] if a == b).then(|| two.first())).flatten()
        {
            return members(format!("{twice} is listed twice"));
        }
        if keys.windows(2).any(|two| matches!(two, [a, b] if a == b)) {
            return members("two members have the same key".into());
        }
        Ok(())
    }

    /// All members, in the order in which signatures are kept: sites, nodes, the server.
    pub fn members(&self) -> impl Iterator<Item = (MemberId, &PublicKey)> {
        let sites = self.sites.iter().enumerate().map(|(m, site)| (MemberId::Site(m), &site.key));
        let nodes = (0..).zip(&self.nodes).map(|(k, node)| (MemberId::Node(k), &node.key));
        sites.chain(nodes).chain([(MemberId::Server, &self.server)])
    }

    /// The member with this role, name and key; none if it is not in the manifest, or under another key.
    pub fn member(&self, role: PartyRole, name: &PartyName, key: &PublicKey) -> Option<MemberId> {
        match role {
            PartyRole::Site => {
                let place = self.sites.iter().position(|site| site.name == *name && site.key == *key);
                place.map(MemberId::Site)
            }
            PartyRole::Node => {
                let place = self.nodes.iter().position(|node| node.name == *name && node.key == *key);
                place.and_then(|k| u32::try_from(k).ok()).map(MemberId::Node)
            }
            PartyRole::Server => (self.server == *key).then_some(MemberId::Server),
            PartyRole::Viewer => None,
        }
    }

    /// The key of a member.
    pub fn key(&self, member: MemberId) -> Option<&PublicKey> {
        match member {
            MemberId::Site(site) => self.sites.get(site).map(|site| &site.key),
            MemberId::Node(node) => self.nodes.get(node as usize).map(|node| &node.key),
            MemberId::Server => Some(&self.server),
        }
    }

    /// The name of a member.
    pub fn name(&self, member: MemberId) -> String {
        match member {
            MemberId::Site(site) => {
                self.sites.get(site).map_or_else(|| format!("number {site}"), |s| s.name.to_string())
            }
            MemberId::Node(node) => {
                self.nodes.get(node as usize).map_or_else(|| format!("number {node}"), |n| n.name.to_string())
            }
            MemberId::Server => "the server".into(),
        }
    }

    /// A member by its role and name: "node berlin".
    pub fn title(&self, member: MemberId) -> String {
        match member {
            MemberId::Site(_) => format!("site {}", self.name(member)),
            MemberId::Node(_) => format!("node {}", self.name(member)),
            MemberId::Server => self.name(member),
        }
    }

    /// The member because of whom a run has ended so, by its role and name.
    pub fn blamed(&self, outcome: RunOutcome) -> Option<String> {
        match outcome {
            RunOutcome::SumFailed(member) => Some(self.title(member)),
            RunOutcome::Complete | RunOutcome::Spent | RunOutcome::QuorumLost | RunOutcome::Failed => None,
        }
    }

    /// Refuses unless every member has signed these very bytes.
    pub fn check_signatures(&self, signatures: &[Signature]) -> Result<(), ManifestError> {
        let digest = self.digest();
        let mut given = signatures.iter();
        for (member, key) in self.members() {
            let fits = given.next().is_some_and(|signature| key.verify(DOMAIN, &digest, signature).is_ok());
            if !fits {
                return Err(ManifestError::Signature { whom: self.name(member) });
            }
        }
        if given.next().is_some() {
            return Err(ManifestError::Signature { whom: "a party that it does not list".into() });
        }
        Ok(())
    }
}

/// What follows for each site from the parts of a run.
pub fn agreed(built: &Built) -> Result<Vec<SiteTerms>, ManifestError> {
    let unwritable = || ManifestError::Study { why: "its terms have no canonical bytes".into() };
    let sites = built.terms.iter().zip(&built.openings).zip(&built.grants);
    sites
        .map(|((terms, opening), grant)| {
            let bytes = postcard::to_allocvec(&(terms, opening)).map_err(|_| unwritable())?;
            Ok(SiteTerms {
                event: terms.event.clone(),
                clip: terms.shape.bound().get(),
                grant: grant.clone(),
                terms: Sha256::digest(bytes).into(),
            })
        })
        .collect()
}
