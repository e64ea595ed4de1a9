//! What a party's driver finds around it on this machine: certificates that are renewed in time, and lines for people.

use crate::clock;
use crate::federation::net::{client, renewal_is_due};
use crate::say;
use federation::calendar::span;
use federation::drive::DriverHooks;
use federation::identity::{Home, PARTY_LATE, PartyName, PartyRole};
use federation::message::RefusalCode;
use federation::party::PartyPhase;
use federation::transport::ConnectionError;
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often the age of the certificate is looked at.
const LOOK: Duration = Duration::from_secs(60);

/// A party's surroundings.
pub(super) struct PartyHooks {
    pub(super) home: Arc<Home>,
    pub(super) role: PartyRole,
    pub(super) name: PartyName,
    pub(super) tls: watch::Sender<Arc<ClientConfig>>,
    looked: Option<Instant>,
    complained: bool,
    /// The coming end of the certificate was told.
    warned: bool,
    /// Because of whom the run has ended.
    pub(super) ended_by: Option<String>,
}

/// Seconds that are left of a certificate that should have been renewed by now; none where there is time enough.
fn late(ends: u64, now: u64) -> Option<u64> {
    Some(ends.saturating_sub(now)).filter(|left| *left < PARTY_LATE)
}

impl PartyHooks {
    pub(super) fn new(
        home: Arc<Home>,
        role: PartyRole,
        name: PartyName,
        tls: watch::Sender<Arc<ClientConfig>>,
    ) -> Self {
        Self { home, role, name, tls, looked: None, complained: false, warned: false, ended_by: None }
    }
}

impl DriverHooks for PartyHooks {
    fn renewal(&mut self) -> Option<Vec<u8>> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return None;
        }
        self.looked = Some(Instant::now());
        if let Some(left) =
            self.home.credentials().ok().and_then(|credentials| late(credentials.party.expires, clock::seconds()))
            && !std::mem::replace(&mut self.warned, true)
        {
            let hint = "check that the server can be reached; after the certificate has expired, ask for a new invite and join again";
            tracing::warn!(
                hint,
                "the certificate of this party expires in {} and has not been renewed yet",
                span(left)
            );
        }
        renewal_is_due(&self.home).then(|| self.home.request(self.role, &self.name).ok()).flatten()
    }

    fn renewed(&mut self, chain: &str) {
        match self.home.renewed(chain).map_err(|error| error.to_string()) {
            Ok(credentials) => {
                self.warned = false;
                tracing::info!(expires = credentials.party.expires, "the certificate was renewed");
                if let Ok(config) = client(&self.home) {
                    self.tls.send_replace(config);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the server sent a certificate that is not for this party; it was ignored")
            }
        }
    }

    fn tell(&mut self, standing: PartyPhase) {
        self.complained = false;
        let words = match standing {
            PartyPhase::Waiting => "waiting for a study".to_owned(),
            PartyPhase::Signed => "signed; waiting for the other parties".to_owned(),
            PartyPhase::Running => "taking part in the run".to_owned(),
            PartyPhase::Finished(outcome) => {
                format!("the run has ended: {}", super::run_monitor::outcome(outcome, self.ended_by.as_deref()))
            }
            PartyPhase::Stopped(stop) => format!("stopped: {stop}\nhint: {}", stop.hint()),
        };
        say::line(format!("{} {}: {words}", self.role, self.name));
    }

    fn ended_by(&mut self, member: &str) {
        self.ended_by = Some(member.to_owned());
    }

    fn refused(&mut self, refusal: RefusalCode) {
        if refusal != RefusalCode::NoRun {
            say::line(format!("{} {}: the server refused the request: {refusal}", self.role, self.name));
        }
    }

    fn lost(&mut self, error: &ConnectionError) {
        if !std::mem::replace(&mut self.complained, true) {
            tracing::warn!(%error, hint = error.hint(), "cannot reach the server; trying again");
        }
    }
}
