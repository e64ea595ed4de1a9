//! The server's own certificates for its three ports, made anew long before they end, whatever the server waits for.

use crate::clock;
use crate::failure::Failure;
use crate::federation::net::{failure, of_tls};
use federation::dashboard::Metrics;
use federation::identity::{
    Authority, IdentityKey, PARTY_LIFE, PartyName, PartyRole, certificates, dashboard_config, enrolment_config,
    server_config,
};
use rustls::ServerConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often they are made anew.
pub(super) const RENEWAL: Duration = Duration::from_secs(600);

/// Who makes them, for which key and name.
pub(super) struct Certificates {
    pub(super) authority: Arc<Authority>,
    pub(super) key: Arc<IdentityKey>,
    pub(super) name: PartyName,
    /// Who is told when they end.
    pub(super) metrics: Arc<Metrics>,
}

/// The TLS of the three ports: what stands here counts from the next connection on.
pub(super) struct Tls {
    pub(super) parties: watch::Sender<Arc<ServerConfig>>,
    pub(super) enrolment: watch::Sender<Arc<ServerConfig>>,
    pub(super) dashboard: watch::Sender<Arc<ServerConfig>>,
}

impl Certificates {
    pub(super) fn tls(&self) -> Result<Tls, Failure> {
        let [parties, enrolment, dashboard] = self.configs()?.map(|config| watch::channel(config).0);
        Ok(Tls { parties, enrolment, dashboard })
    }

    /// A fresh certificate, for three ports.
    fn configs(&self) -> Result<[Arc<ServerConfig>; 3], Failure> {
        let key = &self.key;
        let issued =
            self.authority.issue(PartyRole::Server, &self.name, &key.public(), clock::seconds(), PARTY_LIFE)?;
        let unreadable =
            |_| failure("F201", "the authority issued a certificate that cannot be read", "report this as a bug");
        let chain = certificates(&issued.chain).map_err(unreadable)?;
        let root = self.authority.root();
        let parties = server_config(chain.clone(), key, std::slice::from_ref(root)).map_err(of_tls)?;
        let enrolment = enrolment_config(chain.clone(), key, root).map_err(of_tls)?;
        let page = dashboard_config(chain, key).map_err(of_tls)?;
        self.metrics.certified(issued.expires);
        Ok([Arc::new(parties), Arc::new(enrolment), Arc::new(page)])
    }

    /// Makes them anew. Where that fails the old ones stay, and somebody is told.
    fn renew(&self, tls: &Tls) {
        match self.configs() {
            Ok([parties, enrolment, dashboard]) => {
                tls.parties.send_replace(parties);
                tls.enrolment.send_replace(enrolment);
                tls.dashboard.send_replace(dashboard);
            }
            Err(error) => {
                tracing::warn!(%error, hint = error.hint(), "cannot renew the server's certificate; the old one stays in use")
            }
        }
    }

    /// Makes them anew from time to time, for ever.
    pub(super) async fn keep(self, tls: Arc<Tls>, every: Duration) {
        let mut tick = tokio::time::interval(every);
        tick.tick().await;
        loop {
            tick.tick().await;
            self.renew(&tls);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An authority that was made at this time, in a folder that goes when the test does.
    fn made(name: &str, now: u64) -> (std::path::PathBuf, Certificates) {
        let folder = std::env::temp_dir().join(format!("posterity-certificates-{}-{name}", std::process::id()));
        let called = PartyName::new("consortium").unwrap();
        Authority::init(&folder, &called, now).unwrap();
        let key = Arc::new(IdentityKey::generate().unwrap());
        let authority = Arc::new(Authority::open(&folder).unwrap());
        let metrics = Arc::new(Metrics::default());
        (folder, Certificates { authority, key, name: PartyName::new("server").unwrap(), metrics })
    }

    #[tokio::test]
    async fn all_three_ports_have_new_certificates_from_time_to_time() {
        let (folder, certificates) = made("kept", clock::seconds());
        let tls = Arc::new(certificates.tls().unwrap());
        let mut seen = [tls.parties.subscribe(), tls.enrolment.subscribe(), tls.dashboard.subscribe()];
        let task = tokio::spawn(certificates.keep(tls, Duration::from_millis(5)));
        for port in &mut seen {
            port.changed().await.unwrap();
            port.changed().await.unwrap();
        }
        task.abort();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_renewal_that_fails_leaves_the_old_certificates_in_place() {
        let (folder, good) = made("good", clock::seconds());
        let (old, ended) = made("ended", clock::seconds() - 91 * 86_400);
        let tls = good.tls().unwrap();
        let before = tls.parties.borrow().clone();
        assert!(ended.tls().is_err(), "nobody starts with an authority that has ended");
        ended.renew(&tls);
        assert!(Arc::ptr_eq(&before, &tls.parties.borrow()));
        good.renew(&tls);
        assert!(!Arc::ptr_eq(&before, &tls.parties.borrow()));
        for folder in [folder, old] {
            std::fs::remove_dir_all(folder).unwrap();
        }
    }
}
