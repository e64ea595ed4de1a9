//! Somebody who calls a server with whatever certificate and words it likes.

use super::Town;
use federation::identity::{Home, IdentityKey, PartyName, Role, client_config};
use federation::manifest::{DOMAIN, Manifest};
use federation::message::{Instruction, Refusal, Request};
use federation::store::{self, PartyRow};
use federation::transport::{Line, LineError};
use federation::wire::{self, Sender, Unverified, proto};
use prost::Message as _;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A study of two sites, without compute nodes.
const STUDY: &str = r#"
schema = 1
[study]
name = "ward"
seeds = [1]
[data]
source = "csv:at-the-sites.csv"
schema = "schema.toml"
[federation]
sites = [{ name = "north", rows = 60 }, { name = "south", rows = 50 }]
[model]
kind = "logistic"
[[method]]
name = "noise-aware"
algorithm = "noise-aware"
schedule = "synchronous"
rounds = ROUNDS
privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-5, clip = 2.0 }
"#;

const SCHEMA: &str = "outcome = { column = \"ill\", levels = [\"no\", \"yes\"] }\n\
                      column = [{ name = \"age\", kind = \"numeric\", centre = 55, scale = 10 }]\n";

/// A town with a study, rows, policies and an authority, and nobody in it.
pub(crate) fn plot(name: &str, rounds: u32) -> Town {
    let town = Town::new(name);
    let write = |path: &str, text: &str| std::fs::write(town.folder.join(path), text).unwrap();
    write("study.toml", &STUDY.replace("ROUNDS", &rounds.to_string()));
    write("schema.toml", SCHEMA);
    for (site, rows) in [("north", 60), ("south", 50)] {
        let row = |at: u32| format!("{},{}\n", 30 + at, if at.is_multiple_of(3) { "no" } else { "yes" });
        write(&format!("{site}.csv"), &format!("age,ill\n{}", (0..rows).map(row).collect::<String>()));
    }
    let policy = federation::policy::DEFAULT;
    write("manual.toml", policy);
    write("automatic.toml", &policy.replace("approval = \"manual\"", "approval = \"automatic\""));
    town.told("", "posterity ca init ca");
    town
}

/// A server that waits for signatures of two sites, which have joined and do not run.
pub(crate) fn ward(name: &str, rounds: u32) -> Town {
    let mut town = plot(name, rounds);
    town.start("server", "", &serve(&town));
    town.until_said("server", "waiting for site north, site south to join");
    for site in ["north", "south"] {
        join(&town, site);
    }
    town.until_said("server", "waiting for signatures");
    town
}

/// The command of the ward's server.
pub(crate) fn serve(town: &Town) -> String {
    let [parties, enrolment, page] = [0, 1, 2].map(|which| town.address(which));
    format!(
        "posterity serve study.toml --ca ca --home server --listen {parties} --enrol {enrolment} --dashboard {page} --out out"
    )
}

/// Invites a site.
pub(crate) fn invite(town: &Town, site: &str) -> String {
    let store = "--store server/server.sqlite";
    let line = format!("posterity site invite {site} --ca ca {store} --server {} --json", town.address(1));
    let invite: serde_json::Value = serde_json::from_str(&town.told("", &line)).unwrap();
    invite["invite"].as_str().unwrap().to_owned()
}

/// Invites a site and lets it join; gives the invite, which is of no use any more.
pub(crate) fn join(town: &Town, site: &str) -> String {
    let invite = invite(town, site);
    town.told("", &format!("echo {invite} | posterity agent join - --home {site}"));
    invite
}

/// The command of a site's agent.
pub(crate) fn agent(site: &str, policy: &str) -> String {
    format!("posterity agent run --home {site} --data {site}.csv --policy {policy}")
}

/// All that the server keeps of its run and of parties, and the run's manifest.
pub(crate) fn kept(town: &Town) -> (String, Vec<PartyRow>, Manifest) {
    let store = store::open(town.folder.join("server/server.sqlite").to_str().unwrap()).unwrap();
    let row = store.runs().unwrap().remove(0);
    let manifest = Manifest::read(&row.manifest).unwrap();
    let run = (store.load(&row.run).unwrap(), store.history(&row.run).unwrap(), store.runs().unwrap().len());
    let heads: Vec<_> = manifest.sites.iter().map(|site| store.head(&site.key).unwrap()).collect();
    (format!("{run:?} {heads:?}"), store.parties().unwrap(), manifest)
}

/// A home of the town.
pub(crate) fn home(town: &Town, who: &str) -> Home {
    Home::open(&town.folder.join(who)).unwrap()
}

/// TLS of a party with its own papers.
pub(crate) fn papers(home: &Home) -> ClientConfig {
    let papers = home.papers().unwrap();
    client_config(papers.chain, home.key(), &papers.root).unwrap()
}

/// TLS with another chain and key, believing the town's authority.
pub(crate) fn shown(town: &Town, chain: Vec<CertificateDer<'static>>, key: &IdentityKey) -> ClientConfig {
    client_config(chain, key, &home(town, "north").papers().unwrap().root).unwrap()
}

/// A signature of the manifest, said by a site of this name and signed by this key: taken at its word, it would change the run.
pub(crate) fn agreement(manifest: &Manifest, role: Role, name: &str, key: &IdentityKey) -> proto::Signed {
    let signature = key.sign(DOMAIN, &manifest.digest());
    content(manifest, role, name, key, &Request::Agree { signature })
}

/// A request of this sender, signed by this key.
pub(crate) fn content(m: &Manifest, role: Role, name: &str, key: &IdentityKey, request: &Request) -> proto::Signed {
    let sender = Sender { role, name: PartyName::new(name).unwrap(), manifest: Some(m.digest()) };
    proto::Signed::decode(wire::sign(key, &sender, request).0.as_slice()).unwrap()
}

/// What a call came to.
#[derive(Debug, PartialEq)]
pub(crate) enum Fate {
    /// No exchange took place.
    Failed(LineError),
    /// The server says no.
    Refused(Refusal),
    /// The server has taken it.
    Taken,
}

/// Calls an address once with this TLS and this content.
pub(crate) fn call(address: &str, tls: ClientConfig, content: &proto::Signed) -> Fate {
    let (_sender, tls) = watch::channel(Arc::new(tls));
    let mut line = Line::new(address.to_owned(), tls, 1);
    let reply = Runtime::new().unwrap().block_on(line.exchange(content.clone(), Duration::ZERO));
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return Fate::Failed(error),
    };
    let to = wire::content_digest(&content.encode_to_vec()).unwrap();
    let reply = Unverified::of(reply).unwrap().claimed_reply(&to).unwrap();
    let refusal = reply.instructions.iter().find_map(|one| match one {
        Instruction::Refuse(refusal) => Some(*refusal),
        _ => None,
    });
    refusal.map_or(Fate::Taken, Fate::Refused)
}
