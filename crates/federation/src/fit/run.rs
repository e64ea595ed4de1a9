//! The run of a fit: an agent and a coordinator as state machines, side by side in one process.
//!
//! The ledger of the home is all that is kept. What the coordinator knows is made again from the answers in it: they are replayed,
//! never computed again.

use super::{FitError, FitObserver};
use crate::agent::{Agent, AgentOpening};
use crate::coordinator::{Coordinator, CoordinatorPhase};
use crate::identity::IdentityKey;
use crate::log::{FolderDisk, Log, LogEntry};
use crate::manifest;
use crate::message::{Attempt, DeclineReason, Instruction, MemberId, Request, RunOutcome};
use crate::wire::UnverifiedContent;
use inference::chain::Collected;
use privacy::noise::Digest;
use std::sync::Arc;

/// The only site.
const SITE: MemberId = MemberId::Site(0);

/// A fit under way.
pub(super) struct FitRun {
    pub(super) agent: Agent<FolderDisk>,
    pub(super) coordinator: Coordinator,
    key: Arc<IdentityKey>,
    /// What was drawn, where the method draws.
    pub(super) drawn: Collected,
    /// Posterior means after the last round, and before it.
    means: [Option<Vec<f64>>; 2],
    /// Whether the ledger says that the run is over.
    closed: bool,
}

impl FitRun {
    /// Begins the run, or takes it up from the ledger.
    pub(super) fn open(opening: AgentOpening, log: Log<FolderDisk>) -> Result<Self, FitError> {
        let (manifest, parts, key) = (opening.manifest.clone(), opening.parts.clone(), opening.key.clone());
        let (mut coordinator, _) = Coordinator::new(manifest.clone(), parts.clone(), key.clone(), vec![None])?;
        coordinator.sign(SITE, &key.sign(manifest::DOMAIN, &manifest.digest()));
        let agent = Agent::open(opening, log)?;
        let drawn = Collected::new(&parts.method);
        let mut run = Self { agent, coordinator, key, drawn, means: [None, None], closed: false };
        run.replay()?;
        Ok(run)
    }

    /// Rounds that are in the state. There is one site, so every answer that was folded is one.
    pub(super) fn rounds(&self) -> u64 {
        self.coordinator.header().folds
    }

    /// Posterior means before the last round, if there were two.
    pub(super) fn before(&self) -> Option<&[f64]> {
        self.means.iter().flatten().nth(1).map(Vec::as_slice)
    }

    /// Tells the coordinator again what the ledger says that it was told.
    fn replay(&mut self) -> Result<(), FitError> {
        let run = self.agent.manifest().run();
        let mut said = Vec::new();
        let mut closed = false;
        self.agent.log().scan(&mut |_, entry| match entry {
            LogEntry::Outbox { turn, bytes } if turn.run == run => said.push((*turn, Some(bytes.clone()))),
            LogEntry::Lapsed { turn } if turn.run == run => said.push((*turn, None)),
            LogEntry::Closed { run: ended } if *ended == run => closed = true,
            _ => {}
        })?;
        self.closed = closed;
        for (turn, bytes) in said {
            match bytes {
                Some(bytes) => self.tell(&bytes)?,
                None => {
                    let at = Attempt { round: turn.round, attempt: turn.attempt };
                    let decline = Request::Decline { at, reason: DeclineReason::Lapsed };
                    self.coordinator.handle(SITE, &decline, Digest::default());
                }
            }
        }
        Ok(())
    }

    /// Rounds until the run is over. Between two of them it can be stopped: everything that counts is durable.
    pub(super) fn drive(&mut self, observer: &dyn FitObserver) -> Result<RunOutcome, FitError> {
        let of = self.coordinator.manifest().pace.rounds;
        loop {
            observer.round(self.rounds(), of);
            let ended = match self.coordinator.header().phase {
                CoordinatorPhase::Finished(outcome) => Some(outcome),
                CoordinatorPhase::Signing | CoordinatorPhase::Running => None,
            };
            if let Some(outcome) = ended.filter(|_| self.closed || self.agent.finished().is_some()) {
                return Ok(outcome);
            }
            if observer.stops() {
                return Err(FitError::Stopped);
            }
            self.step()?;
        }
    }

    /// The agent asks what there is to do, and does it. A step that writes nothing and changes nothing would be repeated without
    /// end: it is refused.
    fn step(&mut self) -> Result<(), FitError> {
        let before = (self.agent.log().head(), self.coordinator.header().clone());
        let attend = self.agent.attend(0);
        let instructions = self.coordinator.handle(SITE, &attend, Digest::default()).reply;
        let idle = instructions.iter().all(|one| matches!(one, Instruction::Rest | Instruction::Refuse(_)));
        for instruction in &instructions {
            for bytes in self.agent.handle(instruction)? {
                self.tell(&bytes)?;
            }
        }
        let after = (self.agent.log().head(), self.coordinator.header().clone());
        match self.agent.stopped() {
            Some(stop) => Err(broken(stop.to_string())),
            None if idle || before == after => Err(broken("there is nothing left to do, and the run is not over")),
            None => Ok(()),
        }
    }

    /// Tells the coordinator what the agent has signed.
    fn tell(&mut self, bytes: &[u8]) -> Result<(), FitError> {
        let content = UnverifiedContent::read(bytes).map_err(|error| broken(error.to_string()))?;
        let request = content.request(&self.key.public()).map_err(|error| broken(error.to_string()))?;
        let folds = self.rounds();
        self.coordinator.handle(SITE, &request, content.digest());
        if self.rounds() > folds {
            self.look()?;
        }
        Ok(())
    }

    /// Takes note of what a round has left.
    fn look(&mut self) -> Result<(), FitError> {
        let built = &self.coordinator.parts().built;
        let state = self.coordinator.state();
        self.drawn.take(built.protocol.last_draw(state)?);
        let eta = built.protocol.posterior(state).ok();
        let mean = eta.and_then(|eta| built.problem.family.gaussian(&eta)).map(|q| q.mean().to_vec());
        let [last, _] = std::mem::take(&mut self.means);
        self.means = [mean, last];
        Ok(())
    }
}

fn broken(why: impl std::fmt::Display) -> FitError {
    FitError::refused(
        "F124",
        format!("the fit cannot go on: {why}"),
        "report this as a bug; what was charged stays charged",
    )
}
