//! `posterity site`: invites, lists and revokes the parties of a federation.

use super::arguments::InviteArguments;
use super::words::seconds;
use crate::failure::Failure;
use federation::calendar::moment;
use federation::identity::{Address, Authority, AuthorityError, Invite, InviteSecret, PartyName, PartyRole};
use federation::manifest::fingerprint;
use federation::store::{InviteRow, PartyRow, ServerStore};
use privacy::PrivacyError;
use serde_json::{Value, json};
use study::digits::hexadecimal;

/// An invite as meant, before it is known to a store.
#[derive(Debug)]
pub(crate) struct NewInvite {
    invite: Invite,
    expires: u64,
}

/// A name as typed.
pub(crate) fn named(text: &str) -> Result<PartyName, Failure> {
    PartyName::new(text)
        .map_err(|message| Failure::usage(message, "use a short name without spaces, such as hospital-a"))
}

/// An invite as typed, with a fresh secret and the root of the authority.
pub(crate) fn meant(asked: &InviteArguments, now: u64) -> Result<NewInvite, Failure> {
    let name = named(&asked.name)?;
    let server = Address::new(&asked.server).map_err(|message| {
        Failure::usage(message, "give the address of the enrolment port, as the new party reaches it")
    })?;
    let expires = now.saturating_add(seconds(&asked.valid)?);
    let facts = Authority::facts(&asked.ca)?;
    if facts.issuing_until <= now {
        return Err(AuthorityError::Ended { which: "issuing", until: facts.issuing_until }.into());
    }
    let secret = InviteSecret::generate().ok_or(PrivacyError::Randomness)?;
    Ok(NewInvite { invite: Invite { server, secret, root: facts.fingerprint, role: asked.role.role(), name }, expires })
}

/// How much is said of an invite beside the line itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InviteFormat {
    /// One JSON object.
    Object,
    /// The line, then whom it is for and until when.
    Explained,
    /// The line alone, for another program's standard input.
    Alone,
}

impl InviteFormat {
    /// By the flags of the command; an object has everything, quiet or not.
    pub(crate) fn of(json: bool, quiet: bool) -> Self {
        match (json, quiet) {
            (true, _) => Self::Object,
            (false, true) => Self::Alone,
            (false, false) => Self::Explained,
        }
    }
}

/// Keeps an invite in the store, and shows it: the only time that its secret is seen.
pub(crate) fn invite(
    store: &dyn ServerStore,
    wanted: &NewInvite,
    now: u64,
    shown: InviteFormat,
) -> Result<String, Failure> {
    let NewInvite { invite, expires } = wanted;
    let (role, name) = (invite.role, &invite.name);
    let holds = |row: &PartyRow| row.role == role && row.name == *name && standing(row, now) == "good";
    if store.parties()?.iter().any(holds) {
        let hint = format!("choose another name, or free this one: posterity site revoke {name} --role {role}");
        return Err(Failure::party(format!("a {role} named {name} has already joined"), hint));
    }
    store.invite(&InviteRow { secret: invite.secret.digest(), role, name: name.clone(), expires: *expires })?;
    let line = invite.text();
    Ok(match shown {
        InviteFormat::Alone => format!("{}\n", line.as_str()),
        InviteFormat::Object => {
            let object = json!({
                "invite": line.as_str(),
                "role": role.word(),
                "name": name.as_str(),
                "server": invite.server.as_str(),
                "expires": expires,
            });
            format!("{object}\n")
        }
        InviteFormat::Explained => format!(
            "{}\n\nThis invite is for the {role} {name}. It works once, until {}. Anyone who holds it can join under that name.\n\
             Send it over a trusted channel.\n",
            line.as_str(),
            moment(*expires)
        ),
    })
}

/// Lists who has joined.
pub(crate) fn list(store: &dyn ServerStore, now: u64, json: bool) -> Result<String, Failure> {
    let parties = store.parties()?;
    if json {
        let rows: Vec<Value> = parties.iter().map(|row| object(row, now)).collect();
        return Ok(format!("{}\n", json!({ "parties": rows })));
    }
    if parties.is_empty() {
        return Ok("No party has joined yet. Create an invite with `posterity site invite`.\n".into());
    }
    let width = parties.iter().map(|row| row.name.as_str().len()).max().unwrap_or_default().max(4);
    let mut text =
        format!("{:6}  {:width$}  {:32}  {:20}  standing\n", "role", "name", "fingerprint", "certificate until");
    for row in &parties {
        let (until, standing) = (moment(row.expires), standing(row, now));
        // A role or a name is padded as a text, not as what it is.
        let (role, name) = (row.role.word(), row.name.as_str());
        text += &format!("{role:6}  {name:width$}  {}  {until:20}  {standing}\n", fingerprint_of(row));
    }
    Ok(text)
}

/// Revokes a party.
pub(crate) fn revoke(
    store: &dyn ServerStore,
    role: PartyRole,
    name: &PartyName,
    now: u64,
    json: bool,
) -> Result<String, Failure> {
    if !store.revoke(role, name, now)? {
        let message = format!("no {role} named {name} has joined, or it is already revoked");
        return Err(Failure::party(message, "`posterity site list` shows all parties; choose the role with --role"));
    }
    if json {
        return Ok(format!("{}\n", json!({ "role": role.word(), "name": name.as_str(), "revoked": now })));
    }
    Ok(format!("The {role} {name} is revoked: the server refuses it and renews none of its certificates.\n"))
}

fn object(row: &PartyRow, now: u64) -> Value {
    json!({
        "role": row.role.word(),
        "name": row.name.as_str(),
        "fingerprint": fingerprint_of(row),
        "key": hexadecimal(&row.key.0),
        "expires": row.expires,
        "revoked": row.revoked,
        "standing": standing(row, now),
    })
}

/// What the party's owner reads out by `posterity agent fingerprint` or `posterity node fingerprint`: the same digits.
fn fingerprint_of(row: &PartyRow) -> String {
    fingerprint(row.role, &row.key, row.sealing.as_ref())
}

/// How a party stands, in a word.
fn standing(row: &PartyRow, now: u64) -> &'static str {
    match row.revoked {
        Some(_) => "revoked",
        None if row.expires < now => "ended",
        None => "good",
    }
}
