//! Somebody who calls a server with whatever certificate and words it likes.

use super::Cluster;
use federation::identity::{Home, IdentityKey, PartyName, PartyRole, client_config};
use federation::manifest::{DOMAIN, Manifest};
use federation::message::{Instruction, RefusalCode, Request};
use federation::store::{self, PartyRow};
use federation::transport::{Connection, ConnectionError};
use federation::wire::{self, Sender, UnverifiedContent, proto};
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

/// A cluster with a study, rows, policies and an authority, and no processes yet.
pub(crate) fn plot(name: &str, rounds: u32) -> Cluster {
    let cluster = Cluster::new(name);
    let write = |path: &str, text: &str| std::fs::write(cluster.folder.join(path), text).unwrap();
    write("study.toml", &STUDY.replace("ROUNDS", &rounds.to_string()));
    write("schema.toml", SCHEMA);
    for (site, rows) in [("north", 60), ("south", 50)] {
        let row = |at: u32| format!("{},{}\n", 30 + at, if at.is_multiple_of(3) { "no" } else { "yes" });
        write(&format!("{site}.csv"), &format!("age,ill\n{}", (0..rows).map(row).collect::<String>()));
    }
    let policy = federation::policy::DEFAULT;
    write("manual.toml", policy);
    write("automatic.toml", &policy.replace("approval = \"manual\"", "approval = \"automatic\""));
    cluster.told("", "posterity ca init ca");
    cluster
}

/// A server that waits for signatures of two sites, which have joined and do not run.
pub(crate) fn ward(name: &str, rounds: u32) -> Cluster {
    let mut cluster = plot(name, rounds);
    cluster.start("server", "", &serve(&cluster));
    cluster.until_said("server", "waiting for site north, site south to join");
    for site in ["north", "south"] {
        join(&cluster, site);
    }
    cluster.until_said("server", "waiting for signatures");
    cluster
}

/// The command of the ward's server.
pub(crate) fn serve(cluster: &Cluster) -> String {
    let [parties, enrolment, page] = [0, 1, 2].map(|which| cluster.address(which));
    format!(
        "posterity serve study.toml --ca ca --home server --listen {parties} --enrol {enrolment} --dashboard {page} --out out"
    )
}

/// Invites a site.
pub(crate) fn invite(cluster: &Cluster, site: &str) -> String {
    let store = "--store server/server.sqlite";
    let line = format!("posterity site invite {site} --ca ca {store} --server {} --json", cluster.address(1));
    let invite: serde_json::Value = serde_json::from_str(&cluster.told("", &line)).unwrap();
    invite["invite"].as_str().unwrap().to_owned()
}

/// Invites a site and lets it join; gives the invite, which is of no use any more.
pub(crate) fn join(cluster: &Cluster, site: &str) -> String {
    let invite = invite(cluster, site);
    cluster.told("", &format!("echo {invite} | posterity agent join - --home {site}"));
    invite
}

/// The command of a site's agent.
pub(crate) fn agent(site: &str, policy: &str) -> String {
    format!("posterity agent run --home {site} --data {site}.csv --policy {policy}")
}

/// All that the server keeps of its run and of parties, and the run's manifest.
pub(crate) fn kept(cluster: &Cluster) -> (String, Vec<PartyRow>, Manifest) {
    let store = store::open(cluster.folder.join("server/server.sqlite").to_str().unwrap()).unwrap();
    let row = store.runs().unwrap().remove(0);
    let manifest = Manifest::read(&row.manifest).unwrap();
    let run = (store.load(&row.run).unwrap(), store.history(&row.run).unwrap(), store.runs().unwrap().len());
    let heads: Vec<_> = manifest.sites.iter().map(|site| store.head(&site.key).unwrap()).collect();
    (format!("{run:?} {heads:?}"), store.parties().unwrap(), manifest)
}

/// The home of a party of the cluster.
pub(crate) fn home(cluster: &Cluster, who: &str) -> Home {
    Home::open(&cluster.folder.join(who)).unwrap()
}

/// TLS of a party with its own papers.
pub(crate) fn own_tls(home: &Home) -> ClientConfig {
    let credentials = home.credentials().unwrap();
    client_config(credentials.chain, home.key(), &credentials.root).unwrap()
}

/// TLS with another chain and key, trusting the cluster's authority.
pub(crate) fn shown(cluster: &Cluster, chain: Vec<CertificateDer<'static>>, key: &IdentityKey) -> ClientConfig {
    client_config(chain, key, &home(cluster, "north").credentials().unwrap().root).unwrap()
}

/// A signature of the manifest, said by a site of this name and signed by this key: taken at its word, it would change the run.
pub(crate) fn agreement(manifest: &Manifest, role: PartyRole, name: &str, key: &IdentityKey) -> proto::Signed {
    let signature = key.sign(DOMAIN, &manifest.digest());
    content(manifest, role, name, key, &Request::Agree { signature })
}

/// A request of this sender, signed by this key.
pub(crate) fn content(
    m: &Manifest,
    role: PartyRole,
    name: &str,
    key: &IdentityKey,
    request: &Request,
) -> proto::Signed {
    let sender = Sender { role, name: PartyName::new(name).unwrap(), manifest: Some(m.digest()) };
    proto::Signed::decode(wire::sign(key, &sender, request).0.as_slice()).unwrap()
}

/// What a call came to.
#[derive(Debug, PartialEq)]
pub(crate) enum CallResult {
    /// No exchange took place.
    Failed(ConnectionError),
    /// The server says no.
    Refused(RefusalCode),
    /// The server has taken it.
    Taken,
}

/// Calls an address once with this TLS and this content.
pub(crate) fn call(address: &str, tls: ClientConfig, content: &proto::Signed) -> CallResult {
    let (_sender, tls) = watch::channel(Arc::new(tls));
    let mut line = Connection::new(address.to_owned(), tls, 1);
    let reply = Runtime::new().unwrap().block_on(line.exchange(content.clone(), Duration::ZERO));
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return CallResult::Failed(error),
    };
    let to = wire::content_digest(&content.encode_to_vec()).unwrap();
    let reply = UnverifiedContent::of(reply).unwrap().claimed_reply(&to).unwrap();
    let refusal = reply.instructions.iter().find_map(|one| match one {
        Instruction::Refuse(refusal) => Some(*refusal),
        _ => None,
    });
    refusal.map_or(CallResult::Taken, CallResult::Refused)
}
