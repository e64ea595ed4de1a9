//! `posterity agent preview`: what would leave a site, in plain words, before somebody approves it. No row is read.

use super::approve;
use crate::account_table::{TableRows, lines};
use crate::failure::Failure;
use crate::federation::net::{failure, home, of_home};
use federation::identity::{Home, PartyRole};
use federation::log::{Account, FolderView, Log};
use federation::manifest::Manifest;
use federation::message::MemberId;
use federation::policy::Policy;
use federation::preview::{PolicyPreview, RunPreview};
use federation::studies::Studies;
use privacy::Unit;
use serde_json::{Value, json};
use std::path::Path;
use study::digits::{hexadecimal, shortest, up};

/// The answer, as text or as one object.
pub(crate) fn run(digits: &str, folder: &Path, policy: Option<&Path>, json: bool) -> Result<String, Failure> {
    let home = home(folder)?;
    let manifest = approve::manifest(digits, home.folder())?;
    let parts = manifest.check(&Studies::default()).map_err(|error| {
        failure("F206", error.to_string(), "ask the server's operator which version of the program proposed it")
    })?;
    let credentials = home.credentials().map_err(of_home)?;
    let member = manifest.member(PartyRole::Site, &credentials.party.name, &home.key().public());
    let not_in_it = || {
        let message = "the manifest does not list this site, or lists another key for it";
        failure("F206", message, "ask the server's operator to propose the study with this site's present key")
    };
    let Some(MemberId::Site(site)) = member else { return Err(not_in_it()) };
    let preview = RunPreview::of(&manifest, &parts, site).ok_or_else(not_in_it)?;
    let of_policy = match policy {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::file("cannot read", path, error))?;
            Some(PolicyPreview::of(&Policy::read(&text)?, &manifest, &parts, site, &account(&home)?))
        }
    };
    if json {
        return Ok(format!("{}\n", object(&manifest, &preview, of_policy.as_ref())));
    }
    let mut rows = rows(&preview);
    rows.extend(of_policy.iter().flat_map(budget));
    let digest = hexadecimal(&manifest.digest());
    rows.push(("to approve", format!("posterity agent approve {digest} --home {}", folder.display())));
    Ok(lines(&rows))
}

/// What the ledger says of all runs. A site that has taken part in nothing may have none.
fn account(home: &Home) -> Result<Account, Failure> {
    let view = FolderView::open(&home.folder().join("ledger")).map_err(federation::log::LogError::from)?;
    Ok(Account::of(&Log::view(view)?)?)
}

/// The preview in plain words.
fn rows(preview: &RunPreview) -> TableRows {
    let counted = if preview.pair.unit == Unit::Person { "persons" } else { "rows" };
    let model = preview.model.as_deref().unwrap_or("a model that the study does not name");
    let mut rows: TableRows = vec![("study", format!("{model}, fitted by the method {}", preview.method))];
    let sites: Vec<String> = preview.sites.iter().map(|(name, rows)| format!("{name} ({rows} {counted})")).collect();
    rows.push(("sites", sites.join(", ")));
    let answers: u64 = preview.answers.iter().map(|answers| answers.count).fold(0, u64::saturating_add);
    let leaves = format!(
        "at most {answers} answers in {} rounds, at most {} numbers in all, each with noise",
        preview.rounds,
        preview.numbers()
    );
    rows.push(("would leave", leaves));
    for answers in &preview.answers {
        let cost =
            answers.epsilon.map_or_else(|| "no certified ε".to_owned(), |epsilon| format!("ε = {}", up(epsilon)));
        let text = format!("{} answers of {} numbers: {}; {cost} each", answers.count, answers.numbers, answers.event);
        rows.push(("", text));
    }
    let nodes: Vec<&str> = preview.nodes.iter().map(|node| node.as_str()).collect();
    let to = match nodes.is_empty() {
        true => "the server, which sees every answer of this site; all members see the posterior".to_owned(),
        false => format!(
            "the nodes {}, in shares; the server and all members see sums over all sites and the posterior",
            nodes.join(", ")
        ),
    };
    rows.push(("to", to));
    rows.push(("columns", preview.columns.as_ref().map_or_else(|| "unknown".to_owned(), |names| names.join(", "))));
    if !preview.ignored.is_empty() {
        rows.push(("not read", preview.ignored.join(", ")));
    }
    rows.push(("stays", "the rows, the key and the ledger with its totals".to_owned()));
    let promise = match preview.promise {
        Some((epsilon, delta)) => {
            format!("ε = {} at δ = {} for the whole run, {}", shortest(epsilon), shortest(delta), preview.pair)
        }
        None => "none".to_owned(),
    };
    rows.push(("promise", promise));
    rows
}

/// What it would do to the site's lifetime budget, and whether the policy allows it.
fn budget(preview: &PolicyPreview) -> TableRows {
    let counts =
        preview.counts_as.map_or_else(|| "more than any ε".to_owned(), |epsilon| format!("ε = {}", up(epsilon)));
    let (most, delta) = (shortest(preview.max_epsilon), shortest(preview.max_delta));
    let mut rows: TableRows =
        vec![("budget", format!("all runs together would count as {counts} of {most} at δ = {delta}"))];
    rows.push(("policy", preview.refusal.as_ref().map_or_else(|| "allows the run".to_owned(), ToString::to_string)));
    rows
}

fn object(manifest: &Manifest, preview: &RunPreview, policy: Option<&PolicyPreview>) -> Value {
    let answers = preview.answers.iter().map(|answers| {
        json!({ "count": answers.count, "numbers": answers.numbers, "event": answers.event.to_string(), "epsilon": answers.epsilon })
    });
    let (epsilon, delta) = preview.promise.unzip();
    let names = |names: &[federation::identity::PartyName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "digest": hexadecimal(&manifest.digest()),
        "model": preview.model,
        "method": preview.method,
        "sites": preview.sites.iter().map(|(name, rows)| json!({ "name": name.to_string(), "declared": rows })).collect::<Vec<_>>(),
        "nodes": names(&preview.nodes),
        "rounds": preview.rounds,
        "answers": answers.collect::<Vec<_>>(),
        "numbers": preview.numbers(),
        "columns": preview.columns,
        "ignored": preview.ignored,
        "adjacency": preview.pair.adjacency.to_string(),
        "unit": preview.pair.unit.to_string(),
        "epsilon": epsilon,
        "delta": delta,
        "lifetime": policy.map(|policy| json!({
            "counts_as": policy.counts_as,
            "max_epsilon": policy.max_epsilon,
            "max_delta": policy.max_delta,
            "refusal": policy.refusal.as_ref().map(ToString::to_string),
        })),
    })
}
