//! How a run is accepted: the lifetime budget is checked and the whole grant is reserved in one go, by the log's only writer.

use super::{Account, Disk, Log, LogEntry, LogError, RunId};
use privacy::noise::Digest;
use privacy::{Grant, LifetimeCap, Portfolio, PortfolioAccount, PromisePair, RunUse};
use study::digits::{shortest, up};

/// A run that a site is about to take part in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The run.
    pub run: RunId,
    /// Digest of its manifest.
    pub manifest: Digest,
    /// For which neighbours it promises.
    pub pair: PromisePair,
    /// Everything that it may charge.
    pub grant: Grant,
    /// Manifest and signatures.
    pub bytes: Vec<u8>,
}

impl<D: Disk> Log<D> {
    /// Accepts a run: durable when this returns. A run that is on record already is left as it is.
    ///
    /// Nobody else writes to this log between the check and the record, so that two runs cannot both take the last of a budget.
    ///
    /// # Errors
    ///
    /// [`LogError::Lifetime`] if no member of the cap's portfolio has room for the whole grant beside all other runs.
    pub fn accept(&mut self, new: NewRun, cap: LifetimeCap) -> Result<(), LogError> {
        let account = Account::of(self)?;
        if account.run(&new.run).is_some() {
            return Ok(());
        }
        let refused = |error: privacy::PrivacyError| LogError::Lifetime {
            counts: format!("an unknown cost ({error})"),
            cap: words_of(&cap),
        };
        let others = account.lifetime(&Portfolio::new(cap), None).map_err(refused)?;
        let after = others.with(&RunUse::open(new.pair, &new.grant)).map_err(refused)?;
        if after.fitting().is_none() {
            return Err(LogError::Lifetime { counts: counted(&after), cap: words_of(&cap) });
        }
        if account.cap != Some(cap) {
            self.append(&LogEntry::Policy { cap })?;
        }
        let NewRun { run, manifest, pair, grant, bytes } = new;
        self.append(&LogEntry::AcceptedGrant { run, manifest, pair, grant, bytes }).map(drop)
    }
}

/// A cap in words.
fn words_of(cap: &LifetimeCap) -> String {
    format!("ε = {} at δ = {}", shortest(cap.epsilon.get()), shortest(cap.delta.get()))
}

/// What an account counts as, in words.
pub(crate) fn counted(account: &PortfolioAccount) -> String {
    let delta = shortest(account.portfolio().cap().delta.get());
    match account.counts_as() {
        Some(gauge) => format!("ε = {} at δ = {delta} (by {})", up(gauge.epsilon), gauge.member),
        None => format!("more than any ε at δ = {delta}"),
    }
}
