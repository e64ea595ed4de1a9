//! What a policy says of budgets: the promise for all runs together, and whether one run more fits.

use super::{GrantTotals, PAIR, Policy, PolicyError};
use crate::log::{Account, LIFETIME_HINT, RunStanding, counted};
use crate::manifest::{Manifest, RunParts};
use privacy::{
    Delta, Epsilon, Grant, LifetimeCap, Portfolio, PortfolioAccount, PrivacyError, PromisePair, RunUse, Unit,
};
use study::digits::shortest;

impl Policy {
    /// The one relation and unit that the site promises for. A policy of version 1 that names none has those of the first run on
    /// record.
    pub fn pair(&self, account: &Account) -> PromisePair {
        let first = account.first_pair().unwrap_or(PAIR);
        PromisePair { adjacency: self.adjacency.unwrap_or(first.adjacency), unit: self.unit.unwrap_or(first.unit) }
    }

    /// What the site promises for all its runs together.
    pub fn cap(&self, account: &Account) -> Result<LifetimeCap, PrivacyError> {
        let (epsilon, delta) = (Epsilon::new(self.max_epsilon)?, Delta::new(self.max_delta)?);
        Ok(LifetimeCap { epsilon, delta, pair: self.pair(account) })
    }

    /// Every event, and every earlier run, has to be for the policy's relation and unit, or for one that bounds them by a theorem:
    /// sums over several pairs are no bound on anything.
    pub(super) fn check_promise(&self, parts: &RunParts, site: usize, account: &Account) -> Result<(), PolicyError> {
        let (built, allowed) = (&parts.built, self.pair(account));
        let openings = built.openings.get(site).into_iter().flatten().map(|opening| &opening.terms.event);
        for event in built.terms.get(site).map(|terms| &terms.event).into_iter().chain(openings) {
            let hint = "ask for a study with the policy's adjacency and unit; a site that has not taken part in a run yet can change the \
                        pair in its policy";
            check_pair(PromisePair::of(event), allowed, "", hint)?;
        }
        if account.has_several_pairs() && (self.adjacency.is_none() || self.unit.is_none()) {
            return Err(PolicyError::Refused {
                key: "adjacency",
                found: "earlier runs at this site with different relations or units".into(),
                expected: "a policy of schema 2 that names adjacency and unit".into(),
                hint: "`posterity ledger show` names the pair of each run; choose the one that the site promises for",
            });
        }
        for pair in account.runs.iter().filter_map(|run| run.promise()) {
            check_pair(pair, allowed, " in earlier runs at this site", OTHER_PAIR)?;
        }
        Ok(())
    }

    /// All runs together with this one, in the portfolio of the policy's cap; none where the run has no grant.
    pub fn lifetime_with(
        &self,
        manifest: &Manifest,
        parts: &RunParts,
        site: usize,
        account: &Account,
    ) -> Result<Option<PortfolioAccount>, PrivacyError> {
        let portfolio = Portfolio::new(self.cap(account)?);
        let others = account.lifetime(&portfolio, Some(&manifest.run()))?;
        let (Some(grant), Some(pair)) = (parts.built.grants.get(site), parts.pair(site)) else { return Ok(None) };
        others.with(&RunUse::open(pair, grant)).map(Some)
    }

    /// What all runs together would count as, held against the policy's cap and against the declared rows.
    pub(super) fn check_budget(
        &self,
        manifest: &Manifest,
        parts: &RunParts,
        site: usize,
        account: &Account,
    ) -> Result<(), PolicyError> {
        let (rows, run) = (manifest.sites.get(site).map_or(0, |site| site.rows), manifest.run());
        let Some(Grant::Limited { epsilon, delta, .. }) = parts.built.grants.get(site) else {
            return Err(PolicyError::Refused {
                key: "max_epsilon",
                found: "no limit on the budget".into(),
                expected: format!("at most {}", self.max_epsilon),
                hint: "a served study must promise (ε, δ) to every site",
            });
        };
        // What an older program has accepted is counted, and not refused a second time.
        if account.run(&run).is_some_and(|known| !known.is_reserved()) {
            return Ok(());
        }
        let others = account.runs.iter().filter(|other| other.run != run);
        let open = others.clone().filter(|other| other.standing == RunStanding::Open).count() as u64;
        if open >= self.max_open_runs {
            return Err(PolicyError::Refused {
                key: "max_open_runs",
                found: format!("{open} open runs beside this one"),
                expected: format!("at most {} with this one", self.max_open_runs),
                hint: "wait until a run ends, or allow more open runs; each reserves its whole grant",
            });
        }
        let after = self.lifetime_with(manifest, parts, site, account).map_err(|error| self.unknown(&error))?;
        if let Some(after) = after.filter(|after| after.fitting().is_none()) {
            let is_delta = 4.0 * delta.get() > self.max_delta;
            return Err(PolicyError::Refused {
                key: if is_delta { "max_delta" } else { "max_epsilon" },
                found: format!(
                    "{} for all runs together; this one asks for ε = {} at δ = {}",
                    counted(&after),
                    shortest(epsilon.get()),
                    shortest(delta.get())
                ),
                expected: format!("at most ε = {} at δ = {}", shortest(self.max_epsilon), shortest(self.max_delta)),
                hint: match is_delta {
                    true => {
                        "max_delta should be at least four times the δ of a study, and stay under one over the number of rows"
                    }
                    false => LIFETIME_HINT,
                },
            });
        }
        let granted = others.fold(GrantTotals::NOTHING, |sum, other| sum.and(other.epsilon, other.delta));
        self.check_delta(granted.and(epsilon.get(), delta.get()).delta, rows)
    }

    /// A refusal where what runs cost together is not known.
    fn unknown(&self, error: &PrivacyError) -> PolicyError {
        PolicyError::Refused {
            key: "max_epsilon",
            found: format!("runs at this site whose costs do not add up ({error})"),
            expected: format!("at most {} for all runs together", self.max_epsilon),
            hint: OTHER_PAIR,
        }
    }

    /// At δ = 1/n a guarantee for one row would still hold if one of n rows were published outright, however large `max_delta` is.
    pub(super) fn check_delta(&self, delta: f64, rows: u64) -> Result<(), PolicyError> {
        let is_loose = match self.unit.unwrap_or(PAIR.unit) {
            Unit::Example | Unit::Person => delta * rows as f64 >= 1.0,
            Unit::Client => false,
        };
        let units = self.counted();
        if !is_loose {
            return Ok(());
        }
        Err(PolicyError::Refused {
            key: "max_delta",
            found: format!("δ = {} for all runs together, with {rows} declared {units} of this site", shortest(delta)),
            expected: format!("less than 1 / {rows}, whatever max_delta is"),
            hint: "ask for a study with a δ well under one over the number of rows: at this δ, publishing one row outright would \
                   still satisfy the guarantee",
        })
    }

    /// What declared numbers are of: persons, where the policy protects them.
    pub(super) fn counted(&self) -> &'static str {
        if self.unit == Some(Unit::Person) { "persons" } else { "rows" }
    }
}

/// What to do where earlier runs were for another relation or unit.
const OTHER_PAIR: &str = "costs add up only for one relation and unit. Set the policy to the pair of the earlier runs; or join with a new home \
     folder, and subtract the earlier grants from max_epsilon and max_delta";

/// Refuses a relation or a unit that bounds nothing of the policy's.
fn check_pair(found: PromisePair, allowed: PromisePair, of: &str, hint: &'static str) -> Result<(), PolicyError> {
    if found.check_bounds(allowed).is_ok() {
        return Ok(());
    }
    let (key, found, expected) = match found.adjacency == allowed.adjacency {
        false => ("adjacency", found.adjacency.to_string(), allowed.adjacency.to_string()),
        true => ("unit", found.unit.to_string(), allowed.unit.to_string()),
    };
    Err(PolicyError::Refused { key, found: format!("{found}{of}"), expected, hint })
}
