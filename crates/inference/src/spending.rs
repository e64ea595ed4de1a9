//! What clients have spent: claimed by the study's accountant, and certified.

use crate::RunError;
use crate::drive::Drive;
use crate::plan::{ClientPlan, MethodPlan, certified, claimant};
use crate::results::{ClientSpending, OtherBound};
use crate::settings::{Claim, Method};
use privacy::{Delta, Event, Ledger, Mechanism, PrivacyError, accounting};
use std::collections::BTreeMap;

/// Accountants that are told beside the certified ε of Barker's test.
const OTHERS: [&str; 2] = ["rdp", "barker2019"];

/// Costs the ledgers of a run. Clients on equal terms are costed once.
pub(crate) struct Spending<'a> {
    method: &'a Method,
    plan: &'a MethodPlan,
    /// (client's first equal, charges of each kind) → (claimed, certified).
    known: BTreeMap<(usize, (u64, u64)), (f64, f64)>,
    /// The first client on the same terms as each.
    alike: Vec<usize>,
}

impl<'a> Spending<'a> {
    pub(crate) fn new(method: &'a Method, plan: &'a MethodPlan) -> Self {
        let same = |a: &ClientPlan, b: &ClientPlan| a.opening == b.opening && a.event == b.event && a.delta == b.delta;
        let mut firsts: Vec<usize> = Vec::new();
        let alike = plan.clients.iter().enumerate().map(|(m, client)| {
            match firsts.iter().find(|&&f| same(&plan.clients[f], client)) {
                Some(&first) => first,
                None => {
                    firsts.push(m);
                    m
                }
            }
        });
        let alike = alike.collect();
        Self { method, plan, known: BTreeMap::new(), alike }
    }

    /// The largest certified ε of a client so far; none without privacy.
    pub(crate) fn so_far(&mut self, drive: &Drive<'_>) -> Result<Option<f64>, RunError> {
        let mut most = None;
        for client in 0..self.plan.clients.len() {
            let spent = self.cost(client, drive.clients()[client].ledger())?.1;
            most = Some(most.map_or(spent, |m: f64| m.max(spent)));
        }
        Ok(most)
    }

    /// The share of planned updates that is left, all clients together; 1 without privacy.
    pub(crate) fn left(&self, drive: &Drive<'_>) -> f64 {
        let planned: f64 = self.plan.clients.iter().map(|c| c.charges() as f64).sum();
        let made: f64 = drive.clients().iter().map(|c| c.ledger().events().len() as f64).sum();
        if self.plan.clients.is_empty() || planned == 0.0 { 1.0 } else { 1.0 - made / planned }
    }

    /// What each client spent, in all.
    pub(crate) fn of_clients(&mut self, names: &[&str], drive: &Drive<'_>) -> Result<Vec<ClientSpending>, RunError> {
        let mut all = Vec::with_capacity(self.plan.clients.len());
        for (m, name) in names.iter().enumerate().take(self.plan.clients.len()) {
            let ledger = drive.clients()[m].ledger();
            let charges = ledger.events().len() as u64;
            let (claimed, certified) = self.cost(m, ledger)?;
            let steps = ledger.events().iter().map(|e| e.steps().get()).sum();
            let events = told(ledger.events());
            let head = ledger.head().iter().map(|b| format!("{b:02x}")).collect();
            let delta = self.plan.clients[m].delta.get();
            let by_others = if charges == 0 { Vec::new() } else { self.by_others(m, ledger)? };
            all.push(ClientSpending {
                name: (*name).into(),
                claimed,
                certified,
                delta,
                charges,
                steps,
                events,
                head,
                by_others,
            });
        }
        Ok(all)
    }

    /// Tests whose noise completes a batch's have a published theorem (Heikkilä et al. 2019), and bounds of two kinds besides.
    fn by_others(&self, client: usize, ledger: &Ledger) -> Result<Vec<OtherBound>, PrivacyError> {
        let plan = &self.plan.clients[client];
        let whole = plan.of_each_kind(plan.kinds(ledger.events()))?;
        if !whole.iter().any(|event| matches!(event.mechanism(), Mechanism::BarkerTest { .. })) {
            return Ok(Vec::new());
        }
        let named = OTHERS.iter().filter_map(|name| accounting::by_name(name));
        let answered = named.filter_map(|accountant| {
            let epsilon = accountant.epsilon(&whole, plan.delta).ok()?.upper;
            Some(OtherBound { accountant: accountant.name().to_owned(), epsilon })
        });
        Ok(answered.collect())
    }

    /// By what the ledger has, not by how many: kinds that alternate do not come in the order of the plan.
    fn cost(&mut self, client: usize, ledger: &Ledger) -> Result<(f64, f64), PrivacyError> {
        if ledger.events().is_empty() {
            return Ok((0.0, 0.0));
        }
        let kinds = self.plan.clients[client].kinds(ledger.events());
        let key = (self.alike[client], kinds);
        if let Some(&cost) = self.known.get(&key) {
            return Ok(cost);
        }
        let plan = &self.plan.clients[client];
        let cost = cost_of(self.method, &plan.of_each_kind(kinds)?, plan.delta)?;
        self.known.insert(key, cost);
        Ok(cost)
    }
}

fn cost_of(method: &Method, whole: &[Event], delta: Delta) -> Result<(f64, f64), PrivacyError> {
    let certified = certified(whole, delta)?;
    let claimed = match method.promise.as_ref().map(|promise| promise.accountant) {
        Some(claim @ Claim::Moments) => claimant(claim, &whole[0]).epsilon(whole, delta)?.upper,
        Some(Claim::Certified) | None => certified,
    };
    Ok((claimed, certified))
}

/// One line for each different event, in the order in which they first came, with its count.
fn told(events: &[Event]) -> Vec<String> {
    let mut kinds: Vec<(&Event, usize)> = Vec::new();
    for alike in events.chunk_by(|a, b| a == b) {
        match kinds.iter_mut().find(|(event, _)| **event == alike[0]) {
            Some((_, count)) => *count += alike.len(),
            None => kinds.push((&alike[0], alike.len())),
        }
    }
    kinds.iter().map(|(event, count)| format!("{count} × {event}")).collect()
}
