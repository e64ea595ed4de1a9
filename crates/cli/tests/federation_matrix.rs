//! Every certificate but the right one, at every port of a server that runs: refused, and nothing that is kept has changed.
#![cfg(unix)]

use crate::town;
use crate::town::Town;
use crate::town::caller::{Fate, agreement, call, content, home, join, kept, papers, shown, ward};
use federation::identity::{
    Authority, Home, IdentityKey, Invite, PARTY_LIFE, PartyName, PublicKey, Role, certificates, fingerprint,
    joining_config, request, server_config,
};
use federation::message::{Refusal, Request};
use federation::store::{self, PartyRow};
use federation::transport::{self, Distrust, InviteRefusal, LineError};
use federation::wire::{VERSION, proto};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;

const DAY: u64 = 24 * 3600;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn name(text: &str) -> PartyName {
    PartyName::new(text).unwrap()
}

/// What an authority issues to a key, at this time and for a week.
fn issued(authority: &Authority, role: Role, who: &str, key: PublicKey, at: u64) -> Vec<CertificateDer<'static>> {
    certificates(&authority.issue(role, &name(who), &key, at, PARTY_LIFE).unwrap().chain).unwrap()
}

/// An authority that nobody here knows, in a folder of the town.
fn stranger(town: &Town) -> Authority {
    let folder = town.folder.join("other");
    Authority::init(&folder, &name("other"), now()).unwrap();
    Authority::open(&folder).unwrap()
}

/// A party of another role with a good certificate under south's name.
fn enrolled(town: &Town, authority: &Authority, role: Role) -> (IdentityKey, Vec<CertificateDer<'static>>) {
    let key = IdentityKey::generate().unwrap();
    let store = store::open(town.folder.join("server/server.sqlite").to_str().unwrap()).unwrap();
    let (sealing, expires) = ((role == Role::Node).then_some([7; 32]), now() + DAY);
    store.enrol(&PartyRow { role, name: name("south"), key: key.public(), sealing, expires, revoked: None }).unwrap();
    let chain = issued(authority, role, "south", key.public(), now());
    (key, chain)
}

/// A caller that believes this root and shows nothing.
fn without(root: &CertificateDer<'static>) -> ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    builder.with_root_certificates(roots).with_no_client_auth()
}

fn distrusted(fate: &Fate) -> bool {
    let found = Distrust::OurCertificate;
    matches!(fate, Fate::Failed(LineError::Tls { found: Distrust::OurTime { .. }, .. }))
        || matches!(fate, Fate::Failed(LineError::Tls { found: other, .. }) if *other == found)
}

/// Everything that must not change: the store, and the ledgers byte for byte.
type Everything = (String, Vec<PartyRow>, Vec<Vec<(std::path::PathBuf, Vec<u8>)>>);

fn everything(town: &Town) -> Everything {
    let (run, parties, _) = kept(town);
    (run, parties, ["north/ledger", "south/ledger"].map(|folder| town.files(folder)).to_vec())
}

/// A ward where north has signed and its agent has gone, and south has not signed.
fn half_signed(name: &str) -> Town {
    let mut town = ward(name, 4);
    town.start("north", "", &town::caller::agent("north", "automatic.toml"));
    town.until_said("north", "signed; waiting for the others");
    town.signal("north", "TERM");
    assert_eq!(town.ended("north"), Some(0), "{}", town.log("north"));
    town
}

#[test]
fn a_wrong_certificate_is_refused_and_changes_nothing() {
    let town = half_signed("parties");
    let authority = Authority::open(&town.folder.join("ca")).unwrap();
    let other = stranger(&town);
    join(&town, "east");
    town.told("", "posterity site revoke east --store server/server.sqlite");
    let (viewer, node) = (enrolled(&town, &authority, Role::Viewer), enrolled(&town, &authority, Role::Node));
    let (north, south, east) = (home(&town, "north"), home(&town, "south"), home(&town, "east"));
    let (before, manifest) = (everything(&town), kept(&town).2);
    let parties = town.address(0);

    let key = south.key();
    let say = agreement(&manifest, Role::Site, "south", key);
    let with = |chain: Vec<CertificateDer<'static>>, key: &IdentityKey| call(&parties, shown(&town, chain, key), &say);
    let of = |authority: &Authority, role, at| issued(authority, role, "south", key.public(), at);
    let turned = |what: &str, fate: Fate| assert!(distrusted(&fate), "{what}: {fate:?}");
    turned("another authority", with(of(&other, Role::Site, now()), key));
    turned("ended", with(of(&authority, Role::Site, now() - 30 * DAY), key));
    turned("not yet good", with(of(&authority, Role::Site, now() + 20 * DAY), key));
    turned("a server's", with(of(&authority, Role::Server, now()), key));
    let root = IdentityKey::from_pkcs8(&std::fs::read(town.folder.join("other/root.key")).unwrap()).unwrap();
    turned("self-signed", with(vec![other.root().clone()], &root));
    turned("none", call(&parties, without(authority.root()), &say));

    let denied = Fate::Failed(LineError::NotPermitted);
    let stolen = IdentityKey::generate().unwrap();
    let unknown = issued(&authority, Role::Site, "south", stolen.public(), now());
    assert_eq!(call(&parties, shown(&town, unknown, &stolen), &say), denied, "another key under the name");
    let revoked = agreement(&manifest, Role::Site, "east", east.key());
    assert_eq!(call(&parties, papers(&east), &revoked), denied, "revoked");
    assert_eq!(with(of(&authority, Role::Viewer, now()), key), denied, "a viewer that has not joined");
    assert_eq!(with(of(&authority, Role::Node, now()), key), denied, "a node that has not joined");

    let no = Fate::Refused(Refusal::NotAMember);
    for (role, (key, chain)) in [(Role::Viewer, &viewer), (Role::Node, &node)] {
        for role_said in [Role::Site, role] {
            let say = agreement(&manifest, role_said, "south", key);
            assert_eq!(call(&parties, shown(&town, chain.clone(), key), &say), no, "{role} as {role_said}");
        }
    }
    for key in [north.key(), south.key()] {
        let say = agreement(&manifest, Role::Site, "south", key);
        assert_eq!(call(&parties, papers(&north), &say), no, "north in the name of south");
    }
    let forged = agreement(&manifest, Role::Site, "south", north.key());
    assert_eq!(call(&parties, papers(&south), &forged), Fate::Refused(Refusal::Signature), "signed by another");
    let renewal = Request::Renew { request: request(north.key(), Role::Site, &name("south")).unwrap() };
    let renewal = content(&manifest, Role::Site, "south", north.key(), &renewal);
    assert_ne!(call(&parties, papers(&south), &renewal), Fate::Taken, "a certificate for another's key");
    assert_eq!(everything(&town), before);

    // The same words with the right certificate are taken: it was the certificates that were wrong.
    assert_eq!(call(&parties, papers(&south), &say), Fate::Taken);
    assert_ne!(everything(&town).0, before.0);
}

#[test]
fn the_other_ports_take_no_wrong_caller_either() {
    let town = half_signed("ports");
    let used = join(&town, "east");
    let (before, manifest) = (everything(&town), kept(&town).2);
    for which in [0, 1] {
        assert_ne!(tls_1_2(&town.address(which)), Some(0x16), "port {which} answers TLS 1.2 with a handshake");
    }
    let south = home(&town, "south");
    let say = agreement(&manifest, Role::Site, "south", south.key());
    let none = joining_config(fingerprint(&south.papers().unwrap().root)).unwrap();
    let fate = call(&town.address(1), none, &say);
    assert!(matches!(fate, Fate::Failed(_)), "runs have no place where invites are redeemed: {fate:?}");

    let invite = Invite::parse(&used).unwrap();
    let with = |root, secret: Vec<u8>, key: &IdentityKey| {
        let request = request(key, Role::Site, &name("east")).unwrap();
        let request = proto::JoinRequest { version: VERSION, secret, request, sealing: Vec::new() };
        let tls: ClientConfig = joining_config(root).unwrap();
        Runtime::new().unwrap().block_on(transport::join(town.address(1), Arc::new(tls), request)).unwrap_err()
    };
    let (thief, secret) = (IdentityKey::generate().unwrap(), invite.secret.bytes().to_vec());
    assert_eq!(with(invite.root, secret.clone(), &thief), LineError::Invite(InviteRefusal::Used), "used");
    assert_eq!(with(invite.root, vec![3; secret.len()], &thief), LineError::Invite(InviteRefusal::Unknown), "none");
    let other = fingerprint(stranger(&town).root());
    let error = with(other, secret, &thief);
    assert!(matches!(error, LineError::Tls { found: Distrust::ServersCertificate, .. }), "{error:?}");

    for token in [None, Some("00000000000000000000000000000000")] {
        assert!(town.page("/", token).starts_with("HTTP/1.1 401"), "the dashboard without its token");
    }
    assert_eq!(everything(&town), before);
}

/// The first byte of the answer to a hello of TLS 1.2: 0x16 begins a handshake, 0x15 an alert; none if there is no answer.
fn tls_1_2(address: &str) -> Option<u8> {
    let suites = [0xc0, 0x2b, 0xc0, 0x2f, 0xcc, 0xa9, 0xcc, 0xa8];
    // Signatures by Ed25519 and ECDSA, and two groups: nothing is missing but version 1.3.
    let extensions = [
        &[0x00, 0x0d, 0x00, 0x06, 0x00, 0x04, 0x08, 0x07, 0x04, 0x03][..],
        &[0x00, 0x0a, 0x00, 0x06, 0x00, 0x04, 0x00, 0x1d, 0x00, 0x17],
        &[0x00, 0x0b, 0x00, 0x02, 0x01, 0x00],
    ]
    .concat();
    let mut hello = vec![0x03, 0x03];
    hello.extend([9; 32]);
    hello.extend([0, 0, suites.len() as u8]);
    hello.extend(suites);
    hello.extend([1, 0, 0, extensions.len() as u8]);
    hello.extend(extensions);
    let mut record = vec![0x16, 0x03, 0x01, 0, hello.len() as u8 + 4, 1, 0, 0, hello.len() as u8];
    record.extend(hello);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(&record).unwrap();
    let mut first = [0];
    stream.read(&mut first).ok().filter(|read| *read == 1).map(|_| first[0])
}

#[test]
fn an_agent_takes_no_site_for_its_server() {
    let mut town = half_signed("server");
    town.signal("server", "TERM");
    assert_eq!(town.ended("server"), Some(0));
    let before = everything(&town);
    let (fake, south) = (TcpListener::bind("127.0.0.1:0").unwrap(), home(&town, "south"));
    let heard = std::thread::spawn({
        let fake = fake.try_clone().unwrap();
        move || impostor(&fake, &south)
    });
    std::fs::write(town.folder.join("north/server"), fake.local_addr().unwrap().to_string()).unwrap();
    let output = town.output("", &town::caller::agent("north", "automatic.toml"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("error[F203]") && told.contains("not of the authority") && told.contains("\nhint: "),
        "{told}"
    );
    assert!(!heard.join().unwrap(), "the impostor has heard something");
    assert_eq!(everything(&town), before);
}

/// A server with the certificate of a site; true if a caller said anything to it.
fn impostor(port: &TcpListener, site: &Home) -> bool {
    let papers = site.papers().unwrap();
    let config = server_config(papers.chain, site.key(), &[papers.root]).unwrap();
    let mut tls = rustls::ServerConnection::new(Arc::new(config)).unwrap();
    let mut stream = port.accept().unwrap().0;
    while tls.is_handshaking() {
        if tls.complete_io(&mut stream).is_err() {
            return false;
        }
    }
    let mut byte = [0];
    rustls::Stream::new(&mut tls, &mut stream).read(&mut byte).is_ok_and(|read| read > 0)
}
