//! What clients have spent: claimed by the study's accountant, and certified.

use crate::RunError;
use crate::client::Client;
use crate::drive::Drive;
use crate::method::Method;
use crate::plan::{Costs, MethodPlan, Spent};
use crate::results::{ClientSpending, OtherBound};
use crate::settings::Claim;
use privacy::{Event, Ledger, Mechanism, PrivacyError, accounting};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Accountants that are told beside the certified ε of Barker's test.
const OTHERS: [&str; 2] = ["rdp", "barker2019"];

/// Costs that are worked out for one point of a curve, at most.
const FOLLOWED: usize = 16;

/// Costs the ledgers of a run. Clients on equal terms are costed once.
///
/// Where every client has a plan of its own, to cost all of them at every point of a curve would take longer than the run: on the
/// way the sixteen costs are looked at of clients that are furthest on in their plans, which are public. With up to sixteen
/// different ones the result is the largest of all clients; with more it may be under it. At the end each client is costed, by
/// its plan if it came to the end of that.
pub(crate) struct Spending<'a> {
    plan: &'a MethodPlan,
    /// Whose ε is claimed.
    claim: Claim,
    /// Costs that are known already.
    costs: &'a Costs,
    /// The first client on the same terms as each.
    alike: Vec<usize>,
    /// Whether sites promise different things.
    different: bool,
}

impl<'a> Spending<'a> {
    /// Finds out which clients are on equal terms.
    pub(crate) fn new(method: &'a Method, plan: &'a MethodPlan, costs: &'a Costs) -> Self {
        let mut firsts: Vec<usize> = Vec::new();
        let mut alike = Vec::with_capacity(plan.clients.len());
        for (m, client) in plan.clients.iter().enumerate() {
            let first = firsts.iter().copied().find(|&first| plan.clients[first].is_charged_like(client));
            if first.is_none() {
                firsts.push(m);
            }
            alike.push(first.unwrap_or(m));
        }
        let claim = method.promise.as_ref().map_or(Claim::Certified, |promise| promise.accountant);
        Self { plan, claim, costs, alike, different: !method.sites.is_empty() }
    }

    /// The largest certified ε so far of the clients that are looked at; none without privacy.
    pub(crate) fn so_far(&self, drive: &Drive<'_>) -> Result<Option<f64>, RunError> {
        let mut different = BTreeMap::new();
        for (m, (plan, &first)) in self.plan.clients.iter().zip(&self.alike).enumerate() {
            different.entry((first, plan.counts(drive.clients()[m].ledger().events()))).or_insert(m);
        }
        let planned = |m: usize| {
            let (plan, made) = (&self.plan.clients[m], drive.clients()[m].ledger().events().len());
            plan.certified * made as f64 / plan.charges().max(1) as f64
        };
        let mut furthest: Vec<usize> = different.into_values().collect();
        furthest.sort_by(|&a, &b| planned(b).total_cmp(&planned(a)));
        furthest.truncate(FOLLOWED);
        let mut most = None;
        for client in furthest {
            let spent = self.cost(client, drive.clients()[client].ledger())?.certified;
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
    pub(crate) fn of_clients(&self, names: &[&str], drive: &Drive<'_>) -> Result<Vec<ClientSpending>, RunError> {
        let ledgers: Vec<&Ledger> = drive.clients().iter().map(Client::ledger).take(self.plan.clients.len()).collect();
        let costs = ledgers.par_iter().enumerate().map(|(m, ledger)| self.cost(m, ledger));
        let costs = costs.collect::<Vec<_>>();
        let mut all = Vec::with_capacity(self.plan.clients.len());
        for (m, ((name, ledger), cost)) in names.iter().zip(ledgers).zip(costs).enumerate() {
            let charges = ledger.events().len() as u64;
            let Spent { claimed, certified } = cost?;
            let steps = ledger.events().iter().map(|e| e.steps().get()).sum();
            let events = told(ledger.events());
            let head = ledger.head().iter().map(|b| format!("{b:02x}")).collect();
            let delta = self.plan.clients[m].delta.get();
            let own = self.different.then(|| self.plan.clients[m].own_promise());
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
                own,
                by_others,
            });
        }
        Ok(all)
    }

    /// Tests whose noise completes a batch's have a published theorem (Heikkilä et al. 2019), and bounds of two kinds besides.
    fn by_others(&self, client: usize, ledger: &Ledger) -> Result<Vec<OtherBound>, PrivacyError> {
        let plan = &self.plan.clients[client];
        let whole = plan.of_each_stage(&plan.counts(ledger.events()))?;
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
    fn cost(&self, client: usize, ledger: &Ledger) -> Result<Spent, RunError> {
        let plan = &self.plan.clients[client];
        let counts = plan.counts(ledger.events());
        if ledger.events().is_empty() {
            return Ok(Spent { claimed: 0.0, certified: 0.0 });
        }
        if counts == plan.planned() {
            return Ok(Spent { claimed: plan.claimed, certified: plan.certified });
        }
        self.costs.spent(self.claim, &plan.of_each_stage(&counts)?, plan.delta)
    }
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
