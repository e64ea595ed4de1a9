//! What plans cost, each worked out once: for all clients on equal terms, all seeds of a study, plan, ledgers and report.

use super::{ClientPlan, certified, claimant};
use crate::RunError;
use crate::algorithm::encode;
use crate::settings::Claim;
use privacy::{Delta, Event, PrivacyError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Costs that are known so far. They follow from public constants alone, so that whoever has the same ones may share them.
///
/// To cost a plan takes longer than to carry out many a round, and where every site has its own number of rows, every site
/// has a plan of its own. The work is the same on one thread and on many: who asks for what another is working out waits.
#[derive(Debug, Default)]
pub struct Costs {
    /// Plans of clients, by their constants.
    plans: Memo<Result<ClientPlan, RunError>>,
    /// ε of charges, by charges and δ.
    spent: Memo<Result<Spent, PrivacyError>>,
    /// How many of both were worked out.
    worked_out: AtomicU64,
}

/// ε of some charges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spent {
    /// By the accountant of the claim.
    pub(crate) claimed: f64,
    /// The certified upper bound.
    pub(crate) certified: f64,
}

impl Costs {
    /// How many plans, or parts of plans, were costed so far.
    pub fn worked_out(&self) -> u64 {
        self.worked_out.load(Ordering::Relaxed)
    }

    /// The client's plan for these constants.
    pub(super) fn plan(
        &self,
        constants: &impl Serialize,
        work: impl FnOnce() -> Result<ClientPlan, RunError>,
    ) -> Result<ClientPlan, RunError> {
        self.plans.get(encode(constants, "constants of a plan")?, || self.counted(work))
    }

    /// ε of these charges at δ, by both accountants.
    pub(crate) fn spent(&self, claim: Claim, charges: &[Event], delta: Delta) -> Result<Spent, RunError> {
        let work = || {
            let certified = certified(charges, delta)?;
            let claimed = match (claim, charges.first()) {
                (Claim::Moments, Some(first)) => claimant(claim, first).epsilon(charges, delta)?.upper,
                (Claim::Certified, _) | (_, None) => certified,
            };
            Ok(Spent { claimed, certified })
        };
        let key = encode(&(claim, charges, delta), "charges")?;
        Ok(self.spent.get(key, || self.counted(work))?)
    }

    /// Counts what was worked out, for tests that nothing is costed twice.
    fn counted<T>(&self, work: impl FnOnce() -> T) -> T {
        self.worked_out.fetch_add(1, Ordering::Relaxed);
        work()
    }
}

/// Answers by their questions' canonical bytes.
#[derive(Debug)]
struct Memo<T>(Mutex<BTreeMap<Vec<u8>, Arc<OnceLock<T>>>>);

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Memo<T> {
    /// The answer to a question; worked out by the first who asks, while others wait.
    fn get(&self, key: Vec<u8>, work: impl FnOnce() -> T) -> T {
        let answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        answer.get_or_init(work).clone()
    }
}
