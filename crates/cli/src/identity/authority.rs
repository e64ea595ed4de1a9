//! `posterity ca`: makes, renews and shows the authority of a federation.

use crate::failure::Failure;
use federation::calendar::moment;
use federation::identity::{Authority, AuthorityFacts, IssuingKey, PartyName};
use serde_json::json;
use std::path::Path;
use study::digits::hexadecimal;

/// Makes an authority.
pub(crate) fn init(folder: &Path, name: &str, now: u64, json: bool) -> Result<String, Failure> {
    let name = PartyName::new(name).map_err(|message| Failure::usage(message, "name the federation with --name"))?;
    let facts = Authority::init(folder, &name, now)?;
    Ok(told("created", folder, &facts, now, json))
}

/// Makes a new issuing certificate.
pub(crate) fn renew(folder: &Path, new_key: bool, now: u64, json: bool) -> Result<String, Failure> {
    let facts = Authority::renew(folder, if new_key { IssuingKey::Fresh } else { IssuingKey::Keep }, now)?;
    Ok(told("renewed", folder, &facts, now, json))
}

/// Shows an authority.
pub(crate) fn show(folder: &Path, now: u64, json: bool) -> Result<String, Failure> {
    Ok(told("status", folder, &Authority::facts(folder)?, now, json))
}

fn told(what: &str, folder: &Path, facts: &AuthorityFacts, now: u64, json: bool) -> String {
    let fingerprint = hexadecimal(&facts.fingerprint);
    if json {
        let object = json!({
            "folder": folder.display().to_string(),
            "fingerprint": fingerprint,
            "root_until": facts.root_until,
            "issuing_until": facts.issuing_until,
            "root_key": facts.root_key.as_ref().map(|path| path.display().to_string()),
        });
        return format!("{object}\n");
    }
    let ended = |until| if until <= now { "  (expired)" } else { "" };
    let mut text = format!(
        "Certificate authority {what}: {}\n  fingerprint  {fingerprint}\n  root until   {}{}\n  issues until {}{}\n",
        folder.display(),
        moment(facts.root_until),
        ended(facts.root_until),
        moment(facts.issuing_until),
        ended(facts.issuing_until),
    );
    if let Some(path) = &facts.root_key {
        text += &format!(
            "\nMove {} to offline storage now. It is not encrypted, and anyone who holds it can impersonate every party.\n\
             Only `posterity ca renew` needs it again.\n",
            path.display()
        );
    }
    text
}
