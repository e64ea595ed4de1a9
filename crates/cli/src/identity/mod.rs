//! `posterity ca` and `posterity site`: the authority of a federation, and who takes part in it.

mod arguments;
mod authority;
mod party;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use arguments::{AuthorityCommand, PartyCommand};

use crate::failure::Failure;

/// Answers `posterity ca`, at this time in seconds since 1970.
pub(crate) fn authority(asked: &AuthorityCommand, now: u64, json: bool) -> Result<String, Failure> {
    match asked {
        AuthorityCommand::Init { folder, name } => authority::init(folder, name, now, json),
        AuthorityCommand::Renew { folder, new_key } => authority::renew(folder, *new_key, now, json),
        AuthorityCommand::Show { folder } => authority::show(folder, now, json),
    }
}

/// Answers `posterity site`, at this time in seconds since 1970.
pub(crate) fn party(asked: &PartyCommand, now: u64, json: bool) -> Result<String, Failure> {
    let store = |name: &str| federation::store::open(name);
    match asked {
        PartyCommand::Invite(invited) => {
            let meant = party::meant(invited, now)?;
            party::invite(store(&invited.store)?.as_ref(), &meant, now, party::InviteFormat::of(json, invited.quiet))
        }
        PartyCommand::List { store: name } => party::list(store(name)?.as_ref(), now, json),
        PartyCommand::Revoke { name, role, store: at } => {
            let name = party::named(name)?;
            party::revoke(store(at)?.as_ref(), role.role(), &name, now, json)
        }
    }
}
