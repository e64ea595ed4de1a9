//! Warnings in the server's log about certificates that expire soon or have expired, before a party is locked out.

use federation::calendar::{moment, span};
use federation::identity::{Authority, AuthorityFacts, PARTY_LATE};
use federation::store::{PartyRow, ServerStore};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often certificates are looked at.
const LOOK: Duration = Duration::from_secs(600);

/// How long before its end the issuing certificate is spoken of: somebody has to fetch the root's key.
const ISSUING_LATE: u64 = 14 * 86_400;

/// How long before its end the root is spoken of: everybody has to join anew.
const ROOT_LATE: u64 = 90 * 86_400;

/// A certificate to warn about: when it expires, how early to warn, and what to do.
struct ExpiringCertificate {
    whose: String,
    ends: u64,
    late: u64,
    help: &'static str,
}

/// Warns once before a certificate expires, and once after.
#[derive(Default)]
pub(super) struct ExpiryWarnings {
    /// Whether it was said to have ended, by whose certificate it is.
    said: BTreeMap<String, bool>,
}

impl ExpiryWarnings {
    /// Looks from time to time, for ever.
    pub(super) async fn keep(mut self, store: Arc<dyn ServerStore>, authority: PathBuf, clock: fn() -> u64) {
        let mut tick = tokio::time::interval(LOOK);
        loop {
            tick.tick().await;
            let (store, authority) = (store.clone(), authority.clone());
            let found = tokio::task::spawn_blocking(move || (store.parties(), Authority::facts(&authority))).await;
            let Ok((parties, facts)) = found else { continue };
            let watched = watched(&parties.unwrap_or_default(), facts.ok().as_ref());
            for (words, hint) in self.news(&watched, clock()) {
                tracing::warn!(hint, "{words}");
            }
        }
    }

    /// What is new to say at this second since 1970, and what helps.
    fn news(&mut self, all: &[ExpiringCertificate], now: u64) -> Vec<(String, &'static str)> {
        let mut news = Vec::new();
        for ExpiringCertificate { whose, ends, late, help } in all {
            let over = *ends <= now;
            if !over && ends - now >= *late {
                self.said.remove(whose);
                continue;
            }
            if self.said.insert(whose.clone(), over) == Some(over) {
                continue;
            }
            news.push(match over {
                true => (format!("the certificate of {whose} expired at {}", moment(*ends)), *help),
                false => {
                    (format!("the certificate of {whose} expires in {}, at {}", span(ends - now), moment(*ends)), *help)
                }
            });
        }
        news
    }
}

/// The certificates of all parties that are not revoked, and those of the authority.
fn watched(parties: &[PartyRow], facts: Option<&AuthorityFacts>) -> Vec<ExpiringCertificate> {
    let parties = parties.iter().filter(|row| row.revoked.is_none()).map(|row| ExpiringCertificate {
        whose: format!("{} {}", row.role, row.name),
        ends: row.expires,
        late: PARTY_LATE,
        help: "start the party: it renews its certificate while it runs; after the certificate has expired, create a new invite and let it join again",
    });
    let authority = facts.into_iter().flat_map(|facts| {
        let issuing = "put root.key back, run `posterity ca renew`, and restart the server";
        let root = "create a new authority in time; all parties must join again";
        [
            ExpiringCertificate {
                whose: "the issuer".into(),
                ends: facts.issuing_until,
                late: ISSUING_LATE,
                help: issuing,
            },
            ExpiringCertificate { whose: "the root".into(), ends: facts.root_until, late: ROOT_LATE, help: root },
        ]
    });
    parties.chain(authority).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use federation::identity::{IdentityKey, PartyName, PartyRole};

    const NOW: u64 = 1_790_000_000;

    fn row(name: &str, expires: u64, revoked: Option<u64>) -> PartyRow {
        let (key, name) = (IdentityKey::generate().unwrap().public(), PartyName::new(name).unwrap());
        PartyRow { role: PartyRole::Site, name, key, sealing: None, expires, revoked }
    }

    #[test]
    fn the_end_of_a_certificate_is_told_before_it_comes_and_when_it_has_come_once_each() {
        let mut expiry = ExpiryWarnings::default();
        let facts = AuthorityFacts {
            fingerprint: [0; 32],
            root_until: NOW + 9 * ROOT_LATE,
            issuing_until: NOW + ISSUING_LATE,
            root_key: None,
        };
        let rows = [row("north", NOW + PARTY_LATE + 10, None), row("gone", NOW - 5, Some(NOW - 9))];
        let mut say = |rows: &[PartyRow], now: u64| {
            expiry.news(&watched(rows, Some(&facts)), now).into_iter().map(|(words, _)| words).collect::<Vec<_>>()
        };
        assert!(say(&rows, NOW).is_empty(), "nothing ends soon, and who was revoked is not waited for");
        let soon = say(&rows, NOW + 11);
        assert_eq!(soon.len(), 2, "{soon:?}");
        assert!(soon[0].starts_with("the certificate of site north expires in 47 h"), "{soon:?}");
        assert!(soon[1].starts_with("the certificate of the issuer expires in 13 days"), "{soon:?}");
        assert!(say(&rows, NOW + 12).is_empty(), "once is enough");
        let over = say(&rows, NOW + PARTY_LATE + 10);
        assert!(
            over.len() == 1 && over[0].starts_with("the certificate of site north expired at 2026-09-23"),
            "{over:?}"
        );
        let renewed = [row("north", NOW + 4 * PARTY_LATE, None)];
        assert!(say(&renewed, NOW + PARTY_LATE + 20).is_empty());
        assert_eq!(say(&renewed, NOW + 3 * PARTY_LATE + 30).len(), 1, "a renewed one may be late again");
    }
}
