//! What each method reaches at each site, as a table for the terminal.

use inference::results::{Results, SiteResult};
use inference::score::MAIN;

/// More sites than this have no table here; the report has them all.
const SHOWN: usize = 8;

/// The main score on each site's own held-out rows, "local only" that of its own fit. Nothing where held-out rows belong
/// to no site, or there are many sites.
pub(super) fn table(column: &str, results: &Results) -> String {
    let clients = &results.data.clients;
    if clients.len() > SHOWN || clients.iter().all(|client| client.test_rows == 0) {
        return String::new();
    }
    let methods: Vec<_> = results.methods.iter().filter(|method| !method.sites.is_empty()).collect();
    let width = methods.iter().map(|method| method.name.chars().count()).max().unwrap_or(0).max(6);
    let cells: Vec<usize> = clients.iter().map(|client| client.name.chars().count().max(8)).collect();
    let mut text = format!("{column}, {} at each site\n{:<width$}", MAIN.label, "method");
    clients.iter().zip(&cells).for_each(|(client, cell)| text += &format!("  {:>cell$}", client.name));
    text.push('\n');
    for method in methods {
        text += &format!("{:<width$}", method.name);
        for (client, cell) in clients.iter().zip(&cells) {
            let found: Option<&SiteResult> = method.sites.iter().find(|site| site.name == client.name);
            let score =
                found.and_then(|site| site.scores.main()).map_or_else(|| "–".to_owned(), |s| format!("{:.4}", s.mean));
            text += &format!("  {score:>cell$}");
        }
        text.push('\n');
    }
    text.push('\n');
    text
}
