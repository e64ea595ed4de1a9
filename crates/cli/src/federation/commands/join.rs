//! `posterity agent join`, `posterity node join`: an invite becomes a key that never leaves this folder, and a certificate for it.

use crate::failure::Failure;
use crate::federation::net::{failure, of_home, of_invite, of_line, of_tls, runtime};
use federation::identity::{Address, Expected, Home, Invite, Role, joining_config};
use federation::transport;
use federation::wire::{self, proto};
use std::path::Path;
use std::sync::Arc;

/// Joins as this role, into this folder.
pub(crate) fn join(invite: &str, role: Role, folder: &Path, json: bool) -> Result<String, Failure> {
    let invite = Invite::parse(invite.trim()).map_err(of_invite)?;
    if invite.role != role {
        let message = format!("the invite is for a {}, and a {role} would join", invite.role);
        let hint = match invite.role {
            Role::Node => "posterity node join",
            _ => "posterity agent join",
        };
        return Err(failure("F202", message, hint));
    }
    let home = match Home::is_in(folder) {
        true => Home::open(folder),
        false => {
            if role == Role::Node {
                super::node::prepare(folder)?;
            }
            Home::create(folder, role)
        }
    };
    let home = home.map_err(of_home)?;
    let request = proto::JoinRequest {
        version: wire::VERSION,
        secret: invite.secret.bytes().to_vec(),
        request: home.request(role, &invite.name).map_err(of_home)?,
        sealing: match role {
            Role::Node => home.sealing().map_err(of_home)?.public().to_vec(),
            _ => Vec::new(),
        },
    };
    let tls = Arc::new(joining_config(invite.root).map_err(of_tls)?);
    let joined = runtime()?.block_on(transport::join(invite.server.as_str().to_owned(), tls, request));
    let reply = joined.map_err(|error| of_line(&error))?;
    let server = address(&reply.server, &invite.server)?;
    let expected = Expected { root: invite.root, role, name: &invite.name };
    let papers = home.joined(expected, &reply.chain, &reply.authority, &server).map_err(of_home)?;
    Ok(match json {
        true => format!(
            "{}\n",
            serde_json::json!({ "role": role.word(), "name": invite.name.as_str(), "home": folder, "server": server.as_str(),
                "key": papers.party.key.short(), "expires": papers.party.expires })
        ),
        false => format!(
            "{role} {} has joined. Its key {} was made in {} and stays there.\nserver      {}\n",
            invite.name,
            papers.party.key.short(),
            folder.display(),
            server.as_str()
        ),
    })
}

/// Where the server is: one that listens on all addresses of its machine is where the invite found it.
fn address(told: &str, invited: &Address) -> Result<Address, Failure> {
    let unusable = |why: String| failure("F203", why, "ask who keeps the server");
    let told = Address::new(told).map_err(unusable)?;
    if ["0.0.0.0", "[::]", "::"].contains(&told.host()) {
        return Address::new(&format!("{}:{}", invited.host(), told.port())).map_err(unusable);
    }
    Ok(told)
}
