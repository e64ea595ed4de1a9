//! How an agent begins a run, or takes it up again from what its disk holds.

use super::contribution::ChargedRound;
use super::{Agent, RoundCharges};
use crate::identity::{IdentityKey, PartyRole, Signature};
use crate::log::{Disk, Log, LogEntry, LogError, NewRun, RunAttempt, RunId};
use crate::manifest::{Manifest, RunParts};
use crate::message::Attempt;
use crate::wire::Sender;
use inference::{Member, Shard};
use privacy::noise::{Digest, OsKeyed};
use privacy::{Grant, Ledger, LifetimeCap};
use std::sync::Arc;

/// Everything that an agent needs for a run, but its log.
pub struct AgentOpening {
    /// The manifest, which the site has checked and signed.
    pub manifest: Arc<Manifest>,
    /// The signatures of all, which the site has checked.
    pub signatures: Vec<Signature>,
    /// The run's parts, as the site has built them for itself.
    pub parts: Arc<RunParts>,
    /// The site's number in the manifest.
    pub site: usize,
    /// The site's rows.
    pub shard: Arc<Shard>,
    /// Digest of the site's data as they are now: noise is bound to it.
    pub data_version: Digest,
    /// The site's key.
    pub key: Arc<IdentityKey>,
    /// Where its noise comes from.
    pub source: OsKeyed,
    /// What the site promises for all its runs together.
    pub cap: LifetimeCap,
}

impl<D: Disk> Agent<D> {
    /// Begins the run, with the manifest and the opening of its ledger as the first records; or takes it up again.
    ///
    /// A charge that has no answer on record is answered under when the server asks again. An answer without a receipt is the
    /// one to send.
    pub fn open(opening: AgentOpening, mut log: Log<D>) -> Result<Self, LogError> {
        let (manifest, built) = (&opening.manifest, &opening.parts.built);
        let (run, digest) = (manifest.run(), manifest.digest());
        let missing = || LogError::NoSuchSite { site: opening.site };
        let terms = built.terms.get(opening.site).ok_or_else(missing)?.clone();
        let grant = built.grants.get(opening.site).ok_or_else(missing)?.clone();
        let name = manifest.sites.get(opening.site).ok_or_else(missing)?.name.clone();
        claim(&mut log, name.as_str())?;
        let ledger = open_ledger(&mut log, run, digest, &opening, grant)?;
        let first = built.openings.get(opening.site).cloned().unwrap_or_default();
        let snapshot = log.snapshot(&run)?;
        let past = AttemptHistory::of(&log, run)?;
        let (memory, draft) = snapshot.map_or_else(Default::default, |snapshot| (snapshot.memory, snapshot.draft));
        // Of an answer that was never sent there is no draft: it is made anew, and two would be known for one charge.
        let draft = draft.filter(|(round, attempt, _)| {
            past.unsent.is_none_or(|unsent| (unsent.round, unsent.attempt) != (*round, *attempt))
        });
        let at = draft.as_ref().map(|(round, attempt, _)| Attempt { round: *round, attempt: *attempt });
        let member = Member::new(opening.site, terms, ledger)
            .with_openings(first)
            .remembering(memory, draft.map(|(_, _, draft)| draft));
        let sender = Sender { role: PartyRole::Site, name, manifest: Some(digest) };
        let AgentOpening { manifest, parts, site, shard, data_version, key, source, .. } = opening;
        let mut agent = Self {
            site,
            run,
            manifest,
            sender,
            parts,
            shard,
            data_version,
            key,
            source,
            log,
            member,
            outbox: past.outbox,
            contribution: None,
            round: past.round,
            unsent: past.unsent,
            mail: 0,
            last: past.last,
            charges: past.charges,
            stopped: None,
            finished: None,
        };
        agent.catch_up(at, past.settled)?;
        Ok(agent)
    }

    /// What a crash kept from being done: memory that was not kept after a receipt.
    fn catch_up(&mut self, drafted: Option<Attempt>, settled: Option<(Attempt, Vec<u8>)>) -> Result<(), LogError> {
        if let Some((at, applied)) = settled
            && drafted == Some(at)
            && self.member.settle(self.parts.built.protocol.as_ref(), &applied).is_ok()
        {
            self.keep_memory(None)?;
        }
        Ok(())
    }
}

/// Whose log this is stands in it, before anything else that a site writes: that of another site is refused.
fn claim<D: Disk>(log: &mut Log<D>, name: &str) -> Result<(), LogError> {
    let mut owner = None;
    log.scan(&mut |_, entry| {
        if let LogEntry::Owner { name } = entry {
            owner = Some(name.clone());
        }
    })?;
    match owner {
        None => log.append(&LogEntry::Owner { name: name.into() }).map(drop),
        Some(found) if found == name => Ok(()),
        Some(found) => Err(LogError::OtherSite { found, expected: name.into() }),
    }
}

/// The run's ledger: opened on record, or replayed from it.
fn open_ledger<D: Disk>(
    log: &mut Log<D>,
    run: RunId,
    digest: Digest,
    opening: &AgentOpening,
    grant: Grant,
) -> Result<Ledger, LogError> {
    let signed = (opening.manifest.bytes(), &opening.signatures);
    let bytes = postcard::to_allocvec(&signed).map_err(|_| LogError::Unwritten)?;
    let pair = opening.parts.pair(opening.site).ok_or(LogError::NoSuchSite { site: opening.site })?;
    log.accept(NewRun { run, manifest: digest, pair, grant: grant.clone(), bytes }, opening.cap)?;
    let charges = log.charges(&run)?;
    if charges.is_empty() {
        let turn = RunAttempt { run, round: 0, attempt: 0 };
        return Ledger::open(grant, &mut log.journal(turn, Digest::default())).map_err(|_| LogError::Unwritten);
    }
    Ledger::replay(&charges).map_err(|why| LogError::Ledger { why: why.to_string() })
}

/// What a log says of a run's attempts.
#[derive(Default)]
struct AttemptHistory {
    last: Option<Attempt>,
    charges: RoundCharges,
    outbox: Option<(Attempt, Vec<u8>)>,
    settled: Option<(Attempt, Vec<u8>)>,
    /// The last charge, where no answer to it was ever sent.
    unsent: Option<Attempt>,
    /// The round of a sum that was charged last.
    round: Option<ChargedRound>,
}

impl AttemptHistory {
    fn of<D: Disk>(log: &Log<D>, run: RunId) -> Result<Self, LogError> {
        let mut past = Self::default();
        log.scan(&mut |_, entry| {
            let Some(turn) = entry.turn().filter(|turn| turn.run == run) else { return };
            let at = Attempt { round: turn.round, attempt: turn.attempt };
            match entry {
                // The first record of a run's account is its grant, and for no attempt.
                LogEntry::Charge { record, .. } if record.sequence == 0 => {}
                LogEntry::Charge { .. } => {
                    past.charges.note(at.round);
                    (past.last, past.unsent) = (Some(at), Some(at));
                }
                LogEntry::RoundCharged { question, .. } => {
                    let question = *question;
                    (past.last, past.round) = (Some(at), Some(ChargedRound { round: at.round, question }));
                }
                LogEntry::Retried { .. } => past.last = Some(at),
                LogEntry::Resumed { .. } => {
                    past.last = Some(at);
                    past.unsent = past.unsent.and(Some(at));
                }
                // Nothing was released for it, and nothing left the site before the outbox was kept: it may be asked again.
                LogEntry::Free { .. } => {}
                LogEntry::Outbox { bytes, .. } => {
                    past.last = Some(at);
                    (past.outbox, past.unsent) = (Some((at, bytes.clone())), None);
                }
                LogEntry::Contributed { .. } => past.unsent = None,
                LogEntry::Settled { applied, .. } => (past.settled, past.outbox) = (Some((at, applied.clone())), None),
                LogEntry::Lapsed { .. } => {
                    (past.last, past.outbox, past.unsent) = (past.last.max(Some(at)), None, None)
                }
                LogEntry::Accepted { .. }
                | LogEntry::AcceptedGrant { .. }
                | LogEntry::Closed { .. }
                | LogEntry::Owner { .. }
                | LogEntry::Policy { .. } => {}
            }
        })?;
        Ok(past)
    }
}
