//! `posterity study bundle` and `posterity ledger verify --bundle`: a finished run as one file, and what can be checked of it.

use crate::account_table::{TableRows, lines};
use crate::failure::Failure;
use crate::federation::net::{failure, home_of};
use federation::bundle::{self, BundleError, VerifiedBundle};
use federation::identity::PartyRole;
use federation::log::RunId;
use federation::store::{self, ServerStore};
use federation::studies::Studies;
use serde_json::{Value, json};
use std::path::Path;
use study::digits::{hexadecimal, shortest, up};

/// Writes a finished run into one file.
pub(crate) fn write(
    digits: &str,
    folder: &Path,
    place: Option<&str>,
    out: &Path,
    json: bool,
) -> Result<String, Failure> {
    let home = home_of(folder, PartyRole::Server)?;
    let place = place.map_or_else(|| folder.join("server.sqlite").display().to_string(), str::to_owned);
    let store: Box<dyn ServerStore> = store::open(&place)?;
    let run = run_of(digits, store.as_ref())?;
    let bytes = bundle::bundle(store.as_ref(), &run, home.key()).map_err(of_bundle)?;
    // What was written is checked before anybody gets it.
    let verified = bundle::verify(&bytes, &Studies::default()).map_err(of_bundle)?;
    study::write_whole(out, &bytes).map_err(|error| Failure::file("cannot write", out, error))?;
    Ok(match json {
        true => format!(
            "{}\n",
            json!({ "run": hexadecimal(&run), "file": out.display().to_string(), "bytes": bytes.len() })
        ),
        false => {
            let answers = verified.content.answers.len();
            format!("{}: run {}, {answers} answers, {} bytes\n", out.display(), hexadecimal(&run), bytes.len())
        }
    })
}

/// Checks a finished run's file. Needs neither server nor rows.
pub(crate) fn verify(path: &Path, json: bool) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file("cannot read", path, error))?;
    let verified = bundle::verify(&bytes, &Studies::default()).map_err(of_bundle)?;
    Ok(if json { format!("{}\n", object(&verified)) } else { lines(&rows(&verified)) })
}

/// The one run of a store whose name begins so.
fn run_of(digits: &str, store: &dyn ServerStore) -> Result<RunId, Failure> {
    let wanted = digits.to_ascii_lowercase();
    let runs: Vec<RunId> = store.runs()?.into_iter().map(|row| row.run).collect();
    let found: Vec<&RunId> =
        runs.iter().filter(|run| !wanted.is_empty() && hexadecimal(*run).starts_with(&wanted)).collect();
    if let [run] = found.as_slice() {
        return Ok(**run);
    }
    let message = match found.len() {
        0 => format!("the store has no run whose name begins with {digits:?}"),
        several => format!("{several} runs of the store have names that begin with {digits:?}"),
    };
    let names: Vec<String> = runs.iter().map(|run| hexadecimal(run)).collect();
    let hint = match names.is_empty() {
        true => "the store has no runs".to_owned(),
        false => format!("give enough digits to select one run: {}", names.join(", ")),
    };
    Err(failure("F209", message, hint))
}

fn of_bundle(error: BundleError) -> Failure {
    match error {
        BundleError::Store(error) => error.into(),
        error => failure("F209", error.to_string(), error.hint()),
    }
}

fn rows(verified: &VerifiedBundle) -> TableRows {
    let VerifiedBundle { content, manifest, sites, .. } = verified;
    let ended = content.outcome.word();
    let rounds = content.folds.last().map_or(0, |fold| fold.round + 1);
    let mut rows: TableRows = vec![
        ("sound", format!("run {}, method {}", hexadecimal(&manifest.run()), manifest.method)),
        ("", format!("the manifest {} is signed by", hexadecimal(&manifest.digest()))),
        ("", format!("{} sites, {} nodes and the server", manifest.sites.len(), manifest.nodes.len())),
        (
            "",
            format!(
                "{} answers and {} updates give the posterior, bit for bit",
                content.answers.len(),
                content.folds.len()
            ),
        ),
        ("ended", format!("{ended} after {rounds} of {} rounds", manifest.pace.rounds)),
    ];
    for ((member, known), spending) in manifest.sites.iter().zip(&content.sites).zip(sites) {
        let head = known.head.map_or_else(
            || "no place of its ledger".to_owned(),
            |head| format!("ledger at record {} {}", head.sequence, hexadecimal(&head.digest)),
        );
        let spent = format!(
            "{} answers, ε = {} of {} at δ = {}; {head}",
            known.answers,
            up(spending.spent),
            up(spending.granted),
            shortest(spending.delta)
        );
        rows.push(("site", format!("{}: {spent}", member.name)));
        rows.extend(spending.events.iter().map(|event| ("", event.to_string())));
    }
    rows.push((
        "not shown",
        "whether the server has left out answers, and how the run ended, rest on its signature".to_owned(),
    ));
    rows
}

fn object(verified: &VerifiedBundle) -> Value {
    let VerifiedBundle { content, manifest, sites, .. } = verified;
    let site = |((member, known), spending): (
        (&federation::manifest::SiteMember, &bundle::BundledSite),
        &bundle::SiteSpending,
    )| {
        json!({
            "name": member.name.to_string(),
            "answers": known.answers,
            "granted_epsilon": spending.granted,
            "delta": spending.delta,
            "spent_epsilon": spending.spent,
            "events": spending.events.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "ledger": known.head.map(|head| json!({ "sequence": head.sequence, "digest": hexadecimal(&head.digest) })),
        })
    };
    json!({
        "sound": true,
        "run": hexadecimal(&manifest.run()),
        "manifest": hexadecimal(&manifest.digest()),
        "method": manifest.method,
        "outcome": content.outcome.word(),
        "answers": content.answers.len(),
        "updates": content.folds.len(),
        "sites": manifest.sites.iter().zip(&content.sites).zip(sites).map(site).collect::<Vec<_>>(),
    })
}
