//! Agents of the load: real ones over ledgers in memory or on the disk, and thin ones that sign prepared answers.

use crate::measure::{Clocks, thread_seconds};
use crate::study::{LoadStudy, SharedParts};
use federation::identity::{IdentityKey, PartyName, PartyRole};
use federation::log::{Account, Disk, DiskError, FolderDisk, Log, Position};
use federation::manifest::{self, Manifest, RunParts};
use federation::message::{Attempt, Instruction, RefusalCode, Request, RunOutcome, Update};
use federation::party::{PartyError, PartyMachine, PartyPhase, SiteOwner, SiteParty, Verdict};
use federation::wire::{self, Sender, UnverifiedContent, proto};
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use privacy::{Adjacency, Delta, Epsilon, GridVector, LifetimeCap, PrivacyError, PromisePair, Unit};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// What agents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentKind {
    /// They sign answers that were made beforehand, and keep nothing: the load of a server by itself.
    Thin,
    /// Agents as at sites, with ledgers in memory.
    Memory,
    /// Agents as at sites, with ledgers on the disk.
    Disk,
}

/// The agent of a site.
pub(crate) fn party(
    study: &LoadStudy,
    site: usize,
    kind: AgentKind,
    folder: &Path,
) -> Result<Box<dyn PartyMachine>, Box<dyn Error>> {
    let (name, key) = study.sites.get(site).cloned().ok_or("no such site")?;
    let seat = Box::new(LoadOwner { shard: study.shard.clone(), secret: [site as u8; 32] });
    let builder = Arc::new(SharedParts(study.parts.clone()));
    Ok(match kind {
        AgentKind::Thin => Box::new(ThinAgent::new(study, site, name, key)?),
        AgentKind::Memory => {
            let log = Log::open(MemoryDisk::default())?;
            Box::new(SiteParty::new(name, key, builder, seat, log))
        }
        AgentKind::Disk => {
            let log = Log::open(FolderDisk::open(&folder.join(format!("site-{site}")))?)?;
            Box::new(SiteParty::new(name, key, builder, seat, log))
        }
    })
}

/// Rows of a site, and a policy that agrees to everything.
struct LoadOwner {
    shard: Arc<Shard>,
    secret: [u8; 32],
}

/// A cap that no run of a load test reaches.
pub(super) fn cap() -> Result<LifetimeCap, PrivacyError> {
    let pair = PromisePair { adjacency: Adjacency::Substitute, unit: Unit::Example };
    Ok(LifetimeCap { epsilon: Epsilon::new(1e6)?, delta: Delta::new(0.5)?, pair })
}

impl SiteOwner for LoadOwner {
    fn consider(&mut self, _: &Manifest, _: &RunParts, _: usize, _: &Account) -> Verdict {
        Verdict::Sign
    }

    fn cap(&self, _: &Account) -> Result<LifetimeCap, PrivacyError> {
        cap()
    }

    fn rows(&mut self, _: &Manifest, _: &RunParts, _: usize) -> Result<(Arc<Shard>, Digest), String> {
        Ok((self.shard.clone(), [0; 32]))
    }

    fn noise(&mut self) -> OsKeyed {
        OsKeyed::new(self.secret)
    }
}

/// Files in memory: nothing is ever durable.
#[derive(Default)]
struct MemoryDisk(BTreeMap<String, Vec<u8>>);

impl Disk for MemoryDisk {
    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, DiskError> {
        Ok(self.0.get(file).cloned())
    }
    fn append(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError> {
        self.0.entry(file.to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }
    fn sync(&mut self, _: &str) -> Result<(), DiskError> {
        Ok(())
    }
    fn truncate(&mut self, file: &str, length: u64) -> Result<(), DiskError> {
        self.0.entry(file.to_owned()).or_default().truncate(length as usize);
        Ok(())
    }
    fn replace(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError> {
        self.0.insert(file.to_owned(), bytes.to_vec());
        Ok(())
    }
}

/// Signs the same numbers in every round.
struct ThinAgent {
    sender: Sender,
    key: Arc<IdentityKey>,
    answer: GridVector,
    charges: u64,
    begun: bool,
    unsettled: Option<(Attempt, Vec<u8>)>,
    finished: Option<RunOutcome>,
}

impl ThinAgent {
    fn new(study: &LoadStudy, site: usize, name: PartyName, key: Arc<IdentityKey>) -> Result<Self, Box<dyn Error>> {
        let shape = study.parts.built.terms.get(site).ok_or("a site has no terms")?.shape;
        let answer = GridVector::new(shape.grid(), units(site, shape.dimension()));
        let sender = Sender { role: PartyRole::Site, name, manifest: None };
        Ok(Self { sender, key, answer, charges: 0, begun: false, unsettled: None, finished: None })
    }

    fn sign(&self, request: &Request) -> Vec<u8> {
        wire::sign(&self.key, &self.sender, request).0
    }

    fn follow(&mut self, instruction: Instruction) -> Option<Vec<u8>> {
        match instruction {
            Instruction::Propose { manifest } if self.sender.manifest.is_none() => {
                let digest: Digest = Sha256::digest(&manifest).into();
                self.sender.manifest = Some(digest);
                Some(self.sign(&Request::Agree { signature: self.key.sign(manifest::DOMAIN, &digest) }))
            }
            Instruction::Begin { .. } => {
                self.begun = true;
                None
            }
            Instruction::Ask { at, query } if self.unsettled.is_none() => {
                self.charges += 1;
                let position = Position { sequence: self.charges, digest: [1; 32] };
                let question = Sha256::digest(&query).into();
                let update = Update { at, question, answer: self.answer.clone(), position };
                let bytes = self.sign(&Request::Update(update));
                self.unsettled = Some((at, bytes.clone()));
                Some(bytes)
            }
            Instruction::Receipt { at, .. } => {
                self.unsettled.take_if(|(known, _)| *known == at);
                None
            }
            Instruction::Finished(outcome) => {
                self.finished = Some(outcome);
                None
            }
            _ => None,
        }
    }
}

/// Numbers of the size of noise. Those of neighbours cancel, so that the state stays where it is however long the run.
fn units(site: usize, dimension: usize) -> Vec<i64> {
    let sign = if site.is_multiple_of(2) { 1 } else { -1 };
    (0..dimension as i64).map(|place| sign * ((place * 7_919 + (site as i64 / 2) * 104_729) % (1 << 20))).collect()
}

impl PartyMachine for ThinAgent {
    fn attend(&mut self, wait: u32) -> Vec<u8> {
        let unsettled = self.unsettled.as_ref().map(|(at, _)| *at);
        self.sign(&Request::Attend { position: None, wait, begun: self.begun, unsettled, mail: 0, closed: false })
    }

    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError> {
        Ok(self.unsettled.iter().map(|(_, bytes)| bytes.clone()).collect())
    }

    fn hear(&mut self, reply: proto::Signed, to: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        let Ok(reply) = UnverifiedContent::of(reply).and_then(|reply| reply.claimed_reply(to)) else {
            return Ok(Vec::new());
        };
        Ok(reply.instructions.into_iter().filter_map(|one| self.follow(one)).collect())
    }

    fn renew(&mut self, request: Vec<u8>) -> Vec<u8> {
        self.sign(&Request::Renew { request })
    }

    fn certificate(&mut self) -> Option<String> {
        None
    }

    fn refused(&mut self) -> Option<RefusalCode> {
        None
    }

    fn standing(&self) -> PartyPhase {
        match self.finished {
            Some(outcome) => PartyPhase::Finished(outcome),
            None if self.begun => PartyPhase::Running,
            None if self.sender.manifest.is_some() => PartyPhase::Signed,
            None => PartyPhase::Waiting,
        }
    }
}

/// An agent whose answers are timed: from the bytes being ready to the reply being read.
pub(crate) struct TimedAgent {
    pub(crate) party: Box<dyn PartyMachine>,
    pub(crate) clocks: Arc<Clocks>,
    pub(crate) sent: Option<(Digest, Instant)>,
}

impl PartyMachine for TimedAgent {
    fn attend(&mut self, wait: u32) -> Vec<u8> {
        self.party.attend(wait)
    }

    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError> {
        self.party.again()
    }

    fn hear(&mut self, reply: proto::Signed, to: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        if let Some((_, at)) = self.sent.take_if(|(digest, _)| digest == to) {
            self.clocks.accepted(at.elapsed());
        }
        let before = thread_seconds();
        let next = self.party.hear(reply, to);
        let mut answers =
            next.iter().flatten().filter(|bytes| UnverifiedContent::read(bytes).is_ok_and(|said| said.is_update()));
        let digest = answers.next_back().and_then(|bytes| wire::content_digest(bytes).ok());
        self.clocks.worked(thread_seconds() - before);
        self.sent = digest.map(|digest| (digest, Instant::now())).or(self.sent.take());
        next
    }

    fn renew(&mut self, request: Vec<u8>) -> Vec<u8> {
        self.party.renew(request)
    }

    fn certificate(&mut self) -> Option<String> {
        self.party.certificate()
    }

    fn refused(&mut self) -> Option<RefusalCode> {
        self.party.refused()
    }

    fn standing(&self) -> PartyPhase {
        self.party.standing()
    }
}
