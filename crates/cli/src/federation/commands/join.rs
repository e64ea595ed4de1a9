//! `posterity agent join`, `posterity node join`: an invite becomes a key that never leaves this folder, and a certificate for it.

use crate::failure::Failure;
use crate::federation::net::{command, failure, of_home, of_invite, of_line, of_tls, runtime};
use federation::identity::{Address, Credentials, ExpectedIdentity, Home, Invite, PartyRole, joining_config};
use federation::transport::{self, ConnectionError};
use federation::wire::{self, proto};
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Joins as this role, into this folder; the invite `-` is the first line of the standard input.
pub(crate) fn join(invite: &str, role: PartyRole, folder: &Path, json: bool) -> Result<String, Failure> {
    let mut line = Zeroizing::new(invite.to_owned());
    if invite == "-" {
        line.clear();
        let read = std::io::stdin().read_line(&mut line);
        read.map_err(|source| Failure::file("cannot read", Path::new("-"), source))?;
    }
    let invite = Invite::parse(line.trim()).map_err(of_invite)?;
    if invite.role != role {
        let message = format!("the invite is for a {}, but this command joins a {role}", invite.role);
        return Err(failure("F202", message, format!("use `posterity {} join` for it", command(invite.role))));
    }
    let (folder_was_there, was_there) = (folder.exists(), Home::is_in(folder).map_err(of_home)?);
    if !was_there && role == PartyRole::Node {
        super::node::prepare(folder)?;
    }
    let home = if was_there { Home::open(folder) } else { Home::create(folder, role) }.map_err(of_home)?;
    let fingerprint = super::agent::fingerprint_of(&home, role)?;
    let joined = redeem(&home, &invite, role);
    if let Err(JoinFailure::Refused(_)) = &joined
        && !was_there
    {
        // Nobody has taken note of these keys. What cannot be removed is no worse than what was there to remove.
        let _ = home.discard();
        super::node::forget(folder);
        if !folder_was_there {
            let _ = std::fs::remove_dir(folder);
        }
    }
    let (credentials, server) = joined.map_err(JoinFailure::failure)?;
    Ok(match json {
        true => format!(
            "{}\n",
            serde_json::json!({ "role": role.word(), "name": invite.name.as_str(), "home": folder, "server": server.as_str(),
                "fingerprint": fingerprint, "expires": credentials.party.expires })
        ),
        false => format!(
            "The {role} {} has joined. Its key was created in {} and never leaves this folder.\nfingerprint {fingerprint}\nserver      {}\n",
            invite.name,
            folder.display(),
            server.as_str()
        ),
    })
}

/// Why the party has not joined, and whether its key may be enrolled all the same.
enum JoinFailure {
    /// The server has not enrolled the key.
    Refused(Failure),
    /// It may have: the same key may join again with the same invite.
    Unsure(Failure),
}

impl JoinFailure {
    fn failure(self) -> Failure {
        match self {
            Self::Refused(failure) | Self::Unsure(failure) => failure,
        }
    }
}

/// Shows the invite at the server, and keeps the certificate that comes back.
fn redeem(home: &Home, invite: &Invite, role: PartyRole) -> Result<(Credentials, Address), JoinFailure> {
    let refused = |error| JoinFailure::Refused(of_home(error));
    let request = proto::JoinRequest {
        version: wire::VERSION,
        secret: invite.secret.bytes().to_vec(),
        request: home.request(role, &invite.name).map_err(refused)?,
        sealing: match role {
            PartyRole::Node => home.sealing().map_err(refused)?.public().to_vec(),
            _ => Vec::new(),
        },
    };
    let tls = Arc::new(joining_config(invite.root).map_err(|error| JoinFailure::Refused(of_tls(error)))?);
    let runtime = runtime().map_err(JoinFailure::Refused)?;
    let reply =
        runtime.block_on(transport::join(invite.server.as_str().to_owned(), tls, request)).map_err(|error| {
            let nobody_heard = matches!(error, ConnectionError::Connect { .. });
            match error.is_worth_retrying() && !nobody_heard {
                true => JoinFailure::Unsure(of_line(&error)),
                false => JoinFailure::Refused(of_line(&error)),
            }
        })?;
    let server = address(&reply.server, &invite.server).map_err(JoinFailure::Unsure)?;
    let expected = ExpectedIdentity { root: invite.root, role, name: &invite.name };
    let credentials = home.joined(expected, &reply.chain, &reply.authority, &server);
    Ok((credentials.map_err(|error| JoinFailure::Unsure(of_home(error)))?, server))
}

/// Where the server is: one that listens on all addresses of its machine is where the invite found it.
fn address(told: &str, invited: &Address) -> Result<Address, Failure> {
    let unusable = |why: String| failure("F203", why, "ask the server's operator");
    let told = Address::new(told).map_err(unusable)?;
    if ["0.0.0.0", "[::]", "::"].contains(&told.host()) {
        return Address::new(&format!("{}:{}", invited.host(), told.port())).map_err(unusable);
    }
    Ok(told)
}
