//! Wrong variants of the system, which the invariants must notice.

use super::super::study::PAIR;
use super::{FaultWorld, RowsOwner};
use crate::common::study::shard;
use federation::coordinator::{Change, Fold, FoldInput};
use federation::identity::{PartyName, PartyRole};
use federation::log::{Log, LogEntry, SimulatedDisk};
use federation::message::{Instruction, MemberId, Update};
use federation::party::{PartyMachine, SiteParty};
use federation::store::ServerStore;
use federation::wire::{self, Sender, ServerReply};
use inference::algorithm::Answers;
use prost::Message as _;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A wrong variant of the system, which the invariants must notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mutant {
    #[default]
    None,
    /// M23: the answer is sent, and only then is its charge kept.
    ChargeAfterRelease,
    /// M24: nothing is synchronised.
    NoSync,
    /// M25: what is sent again has fresh noise.
    FreshNoiseOnResend,
    /// M26: a charge without an answer is taken back at a restart.
    RefundAtRestart,
    /// M27: an answer that comes twice is applied twice.
    AppliedTwice,
    /// M28: the server replies before what it has accepted is durable.
    EarlyReply,
    /// A node keeps no record of its sums.
    NoRecord,
}

impl FaultWorld {
    /// M25: makes the answer again from what was there before it, and sends that.
    pub(super) fn answer_anew(&mut self, party: usize) {
        let Some((disk, reply, to)) = self.actors[party].before.clone() else { return };
        let MemberId::Site(site) = self.actors[party].member else { return };
        let (name, key) = self.keys.sites[site].clone();
        let Ok(log) = Log::open(disk.copy()) else { return };
        let seat = RowsOwner { shard: Arc::new(shard(site)), seed: 12, pair: PAIR };
        let mut other = SiteParty::new(name, key, self.builder.clone(), Box::new(seat), log);
        let Some(signatures) = self.server.as_ref().map(|engine| engine.coordinator().signatures()) else { return };
        let instructions =
            vec![Instruction::Propose { manifest: self.manifest.bytes() }, Instruction::Begin { signatures }];
        let name = PartyName::new("server").unwrap();
        let sender = Sender { role: PartyRole::Server, name, manifest: Some(self.manifest.digest()) };
        let begin =
            wire::sign_reply(&self.keys.server, &sender, &ServerReply { to: [0; 32], seen: None, instructions });
        if other.hear_bytes(&begin.encode_to_vec(), &[0; 32]).is_err() {
            return;
        }
        if let Ok(next) = other.hear_bytes(&reply, &to) {
            self.actors[party].queue.extend(next);
            self.send_next(party);
        }
    }

    /// M27: folds an answer that was folded before.
    pub(super) fn fold_again(&mut self, site: usize, update: &Update) {
        let run = self.manifest.run();
        let (history, saved) = (self.store.history(&run).unwrap(), self.store.load(&run).unwrap());
        let of = FoldInput::Each(vec![(site, update.at)]);
        if history
            .folds
            .iter()
            .any(|fold| matches!(&fold.of, FoldInput::Each(each) if each.contains(&(site, update.at))))
        {
            let answers = Answers::Each(vec![(site, update.answer.clone())]);
            let folded = self.parts.built.protocol.fold(&saved.state, &answers).unwrap();
            let mut header = saved.header.clone();
            let fold = Fold { number: header.folds, round: header.round, of };
            header.folds += 1;
            let change = Change { dirty: true, folds: vec![fold], state: Some(folded.state), ..Change::default() };
            self.store.commit(&run, saved.version, &header, &change).unwrap();
        }
        self.server = None;
    }
}

/// M26: writes the ledger anew without charges that have no answer.
pub(super) fn refund(disk: &SimulatedDisk) {
    let Ok(log) = Log::open(disk.clone()) else { return };
    let (mut answered, mut rounds, mut entries) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let scanned = log.scan(&mut |_, entry| {
        match entry {
            LogEntry::Outbox { turn, .. } => drop(answered.insert((turn.round, turn.attempt))),
            LogEntry::Contributed { turn } => drop(rounds.insert(turn.round)),
            _ => {}
        }
        entries.push(entry.clone());
    });
    if scanned.is_err() {
        return;
    }
    drop(log);
    disk.put("ledger.log", &[]);
    let Ok(mut log) = Log::open(disk.clone()) else { return };
    for entry in entries {
        let unanswered = match &entry {
            LogEntry::Charge { turn, record, .. } => {
                record.sequence > 0 && !answered.contains(&(turn.round, turn.attempt))
            }
            LogEntry::RoundCharged { turn, .. } | LogEntry::Retried { turn } => !rounds.contains(&turn.round),
            LogEntry::Resumed { .. } => true,
            _ => false,
        };
        if !unanswered && log.append(&entry).is_err() {
            return;
        }
    }
}
