//! The ledgers: for each method and site what was charged, and the digest that names the ledger's last record.

use super::numbers::{bound, count};
use super::page::{Table, folded, note, section as titled};
use super::standing::Standing;
use crate::svg::escape;
use inference::results::{ClientSpending, PrivacyResult};
use study::digits::shortest;

/// A folded table for each private method; nothing without any.
pub(crate) fn section(standing: &Standing) -> String {
    let mut body = String::new();
    for placed in standing.methods() {
        if let Some(privacy) = placed.method.privacy.as_ref().filter(|privacy| !privacy.clients.is_empty()) {
            let sites = privacy.clients.len();
            let heading = format!("{}: {sites} {}", placed.method.name, if sites == 1 { "ledger" } else { "ledgers" });
            body += &folded(&heading, &table(&placed.method.name, privacy));
        }
    }
    if body.is_empty() {
        return String::new();
    }
    let words = "Ledgers of the first seed. The head is the digest of the last record. Anyone who holds the ledger can recompute \
                 it, and changing any record changes it.";
    titled("ledger", "Ledger of every site", &(body + &note(words)))
}

fn table(method: &str, privacy: &PrivacyResult) -> String {
    let head = ["site", "ε certified", "ε claimed", "δ", "charges", "releases", "events", "head"];
    let mut table = Table::new(&format!("Ledgers of {method}"), head.into_iter().map(escape).collect());
    for client in &privacy.clients {
        table.push("", cells(client));
    }
    table.html()
}

fn cells(client: &ClientSpending) -> Vec<String> {
    let events: Vec<String> = client.events.iter().map(|event| escape(event)).collect();
    vec![
        escape(&client.name),
        bound(client.certified),
        bound(client.claimed),
        shortest(client.delta),
        count(client.charges as f64),
        count(client.steps as f64),
        format!("<span class=\"events\">{}</span>", events.join("<br>")),
        format!("<code class=\"digest\">{}</code>", escape(&client.head)),
    ]
}
