//! Every certificate but the right one, at every port of a server that runs: refused, and nothing that is kept has changed.
#![cfg(unix)]

use crate::cluster;
use crate::cluster::Cluster;
use crate::cluster::caller::{CallResult, agreement, call, content, home, join, kept, own_tls, shown, ward};
use federation::identity::{
    Authority, Home, IdentityKey, Invite, PARTY_LIFE, PartyName, PartyRole, PublicKey, certificates, fingerprint,
    joining_config, request, server_config,
};
use federation::message::{RefusalCode, Request};
use federation::store::{self, PartyRow};
use federation::transport::{self, ConnectionError, Distrust, InviteRefusal};
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
fn issued(authority: &Authority, role: PartyRole, who: &str, key: PublicKey, at: u64) -> Vec<CertificateDer<'static>> {
    certificates(&authority.issue(role, &name(who), &key, at, PARTY_LIFE).unwrap().chain).unwrap()
}

/// An authority that nobody here knows, in a folder of the cluster.
fn stranger(cluster: &Cluster) -> Authority {
    let folder = cluster.folder.join("other");
    Authority::init(&folder, &name("other"), now()).unwrap();
    Authority::open(&folder).unwrap()
}

/// A party of another role with a good certificate under south's name.
fn enrolled(cluster: &Cluster, authority: &Authority, role: PartyRole) -> (IdentityKey, Vec<CertificateDer<'static>>) {
    let key = IdentityKey::generate().unwrap();
    let store = store::open(cluster.folder.join("server/server.sqlite").to_str().unwrap()).unwrap();
    let (sealing, expires) = ((role == PartyRole::Node).then_some([7; 32]), now() + DAY);
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

fn distrusted(fate: &CallResult) -> bool {
    let found = Distrust::OurCertificate;
    matches!(fate, CallResult::Failed(ConnectionError::Tls { found: Distrust::OurTime { .. }, .. }))
        || matches!(fate, CallResult::Failed(ConnectionError::Tls { found: other, .. }) if *other == found)
}

/// Everything that must not change: the store, and the ledgers byte for byte.
type StoredState = (String, Vec<PartyRow>, Vec<Vec<(std::path::PathBuf, Vec<u8>)>>);

fn everything(cluster: &Cluster) -> StoredState {
    let (run, parties, _) = kept(cluster);
    (run, parties, ["north/ledger", "south/ledger"].map(|folder| cluster.files(folder)).to_vec())
}

/// A ward where north has signed and its agent has gone, and south has not signed.
fn half_signed(name: &str) -> Cluster {
    let mut cluster = ward(name, 4);
    cluster.start("north", "", &cluster::caller::agent("north", "automatic.toml"));
    cluster.until_said("north", "signed; waiting for the other parties");
    cluster.signal("north", "TERM");
    assert_eq!(cluster.ended("north"), Some(0), "{}", cluster.log("north"));
    cluster
}

#[test]
fn a_wrong_certificate_is_refused_and_changes_nothing() {
    let cluster = half_signed("parties");
    let authority = Authority::open(&cluster.folder.join("ca")).unwrap();
    let other = stranger(&cluster);
    join(&cluster, "east");
    cluster.told("", "posterity site revoke east --store server/server.sqlite");
    let (viewer, node) =
        (enrolled(&cluster, &authority, PartyRole::Viewer), enrolled(&cluster, &authority, PartyRole::Node));
    let (north, south, east) = (home(&cluster, "north"), home(&cluster, "south"), home(&cluster, "east"));
    let (before, manifest) = (everything(&cluster), kept(&cluster).2);
    let parties = cluster.address(0);

    let key = south.key();
    let say = agreement(&manifest, PartyRole::Site, "south", key);
    let with =
        |chain: Vec<CertificateDer<'static>>, key: &IdentityKey| call(&parties, shown(&cluster, chain, key), &say);
    let of = |authority: &Authority, role, at| issued(authority, role, "south", key.public(), at);
    let turned = |what: &str, fate: CallResult| assert!(distrusted(&fate), "{what}: {fate:?}");
    turned("another authority", with(of(&other, PartyRole::Site, now()), key));
    turned("ended", with(of(&authority, PartyRole::Site, now() - 30 * DAY), key));
    turned("not yet good", with(of(&authority, PartyRole::Site, now() + 20 * DAY), key));
    turned("a server's", with(of(&authority, PartyRole::Server, now()), key));
    let root = IdentityKey::from_pkcs8(&std::fs::read(cluster.folder.join("other/root.key")).unwrap()).unwrap();
    turned("self-signed", with(vec![other.root().clone()], &root));
    turned("none", call(&parties, without(authority.root()), &say));

    let denied = CallResult::Failed(ConnectionError::NotPermitted);
    let stolen = IdentityKey::generate().unwrap();
    let unknown = issued(&authority, PartyRole::Site, "south", stolen.public(), now());
    assert_eq!(call(&parties, shown(&cluster, unknown, &stolen), &say), denied, "another key under the name");
    let revoked = agreement(&manifest, PartyRole::Site, "east", east.key());
    assert_eq!(call(&parties, own_tls(&east), &revoked), denied, "revoked");
    assert_eq!(with(of(&authority, PartyRole::Viewer, now()), key), denied, "a viewer that has not joined");
    assert_eq!(with(of(&authority, PartyRole::Node, now()), key), denied, "a node that has not joined");

    let no = CallResult::Refused(RefusalCode::NotAMember);
    for (role, (key, chain)) in [(PartyRole::Viewer, &viewer), (PartyRole::Node, &node)] {
        for role_said in [PartyRole::Site, role] {
            let say = agreement(&manifest, role_said, "south", key);
            assert_eq!(call(&parties, shown(&cluster, chain.clone(), key), &say), no, "{role} as {role_said}");
        }
    }
    for key in [north.key(), south.key()] {
        let say = agreement(&manifest, PartyRole::Site, "south", key);
        assert_eq!(call(&parties, own_tls(&north), &say), no, "north in the name of south");
    }
    let forged = agreement(&manifest, PartyRole::Site, "south", north.key());
    assert_eq!(
        call(&parties, own_tls(&south), &forged),
        CallResult::Refused(RefusalCode::Signature),
        "signed by another"
    );
    let renewal = Request::Renew { request: request(north.key(), PartyRole::Site, &name("south")).unwrap() };
    let renewal = content(&manifest, PartyRole::Site, "south", north.key(), &renewal);
    assert_ne!(call(&parties, own_tls(&south), &renewal), CallResult::Taken, "a certificate for another's key");
    assert_eq!(everything(&cluster), before);

    // The same words with the right certificate are taken: it was the certificates that were wrong.
    assert_eq!(call(&parties, own_tls(&south), &say), CallResult::Taken);
    assert_ne!(everything(&cluster).0, before.0);
}

#[test]
fn the_other_ports_take_no_wrong_caller_either() {
    let cluster = half_signed("ports");
    let used = join(&cluster, "east");
    let (before, manifest) = (everything(&cluster), kept(&cluster).2);
    for which in [0, 1] {
        assert_ne!(tls_1_2(&cluster.address(which)), Some(0x16), "port {which} answers TLS 1.2 with a handshake");
    }
    let south = home(&cluster, "south");
    let say = agreement(&manifest, PartyRole::Site, "south", south.key());
    let none = joining_config(fingerprint(&south.credentials().unwrap().root)).unwrap();
    let fate = call(&cluster.address(1), none, &say);
    assert!(matches!(fate, CallResult::Failed(_)), "runs have no place where invites are redeemed: {fate:?}");

    let invite = Invite::parse(&used).unwrap();
    let with = |root, secret: Vec<u8>, key: &IdentityKey| {
        let request = request(key, PartyRole::Site, &name("east")).unwrap();
        let request = proto::JoinRequest { version: VERSION, secret, request, sealing: Vec::new() };
        let tls: ClientConfig = joining_config(root).unwrap();
        Runtime::new().unwrap().block_on(transport::join(cluster.address(1), Arc::new(tls), request)).unwrap_err()
    };
    let (thief, secret) = (IdentityKey::generate().unwrap(), invite.secret.bytes().to_vec());
    assert_eq!(with(invite.root, secret.clone(), &thief), ConnectionError::Invite(InviteRefusal::Used), "used");
    assert_eq!(
        with(invite.root, vec![3; secret.len()], &thief),
        ConnectionError::Invite(InviteRefusal::Unknown),
        "none"
    );
    let other = fingerprint(stranger(&cluster).root());
    let error = with(other, secret, &thief);
    assert!(matches!(error, ConnectionError::Tls { found: Distrust::ServersCertificate, .. }), "{error:?}");

    for token in [None, Some("00000000000000000000000000000000")] {
        assert!(cluster.page("/", token).starts_with("HTTP/1.1 401"), "the dashboard without its token");
    }
    assert_eq!(everything(&cluster), before);
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
    let mut cluster = half_signed("server");
    cluster.signal("server", "TERM");
    assert_eq!(cluster.ended("server"), Some(0));
    let before = everything(&cluster);
    let (fake, south) = (TcpListener::bind("127.0.0.1:0").unwrap(), home(&cluster, "south"));
    let heard = std::thread::spawn({
        let fake = fake.try_clone().unwrap();
        move || impostor(&fake, &south)
    });
    std::fs::write(cluster.folder.join("north/server"), fake.local_addr().unwrap().to_string()).unwrap();
    let output = cluster.output("", &cluster::caller::agent("north", "automatic.toml"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("error[F203]") && told.contains("not from the authority") && told.contains("\nhint: "),
        "{told}"
    );
    assert!(!heard.join().unwrap(), "the impostor has heard something");
    assert_eq!(everything(&cluster), before);
}

/// A server with the certificate of a site; true if a caller said anything to it.
fn impostor(port: &TcpListener, site: &Home) -> bool {
    let credentials = site.credentials().unwrap();
    let config = server_config(credentials.chain, site.key(), &[credentials.root]).unwrap();
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
