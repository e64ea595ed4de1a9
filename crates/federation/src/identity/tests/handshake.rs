//! Wrong certificates at every port: real handshakes, in memory, at a fixed time.

use super::*;
use crate::identity::certificate::{Signer, uri};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, SanType};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError as Tls, ClientConfig, ClientConnection, Error, PeerIncompatible, ServerConfig, ServerConnection,
};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
struct FixedTime;

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(NOW)))
    }
}

/// A key and its certificates.
struct TestCertificate {
    key: IdentityKey,
    chain: Vec<CertificateDer<'static>>,
}

fn card(authority: &Authority, role: PartyRole, now: u64) -> TestCertificate {
    let key = IdentityKey::generate().unwrap();
    let issued = authority.issue(role, &name("party"), &key.public(), now, PARTY_LIFE).unwrap();
    TestCertificate { key, chain: certificates(&issued.chain).unwrap() }
}

/// A certificate without an authority.
fn self_signed(role: PartyRole) -> TestCertificate {
    let key = IdentityKey::generate().unwrap();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![uri(role, &name("party")).unwrap()];
    let certificate = params.self_signed(&Signer(&key)).unwrap();
    TestCertificate { key, chain: vec![certificate.der().clone()] }
}

/// A server's certificate by the real authority, with another name.
fn misnamed(folders: &TestFolders, authority: &Authority) -> TestCertificate {
    let key = IdentityKey::generate().unwrap();
    let signer = IdentityKey::from_pkcs8(&std::fs::read(folders.folder("ca").join("issuing.key")).unwrap()).unwrap();
    let mut chain = card(authority, PartyRole::Server, NOW).chain;
    let issuer = Issuer::from_ca_cert_der(&chain[1], Signer(&signer)).unwrap();
    let mut params = CertificateParams::default();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.subject_alt_names = vec![SanType::DnsName("server.example.org".try_into().unwrap())];
    chain[0] = params.signed_by(&Signer(&key), &issuer).unwrap().der().clone();
    TestCertificate { key, chain }
}

fn serves(card: &TestCertificate, authority: &Authority) -> ServerConfig {
    server_config(card.chain.clone(), &card.key, std::slice::from_ref(authority.root())).unwrap()
}

fn calls(card: &TestCertificate, authority: &Authority) -> ClientConfig {
    client_config(card.chain.clone(), &card.key, authority.root()).unwrap()
}

/// Which side refused, and why.
#[derive(Debug)]
enum HandshakeRefusal {
    ByServer(Error),
    ByClient(Error),
}

/// Drives a handshake to its end; the two connections if both sides accept.
fn shake(
    mut client: ClientConfig,
    mut server: ServerConfig,
) -> Result<(ClientConnection, ServerConnection), HandshakeRefusal> {
    client.time_provider = Arc::new(FixedTime);
    server.time_provider = Arc::new(FixedTime);
    let mut client = ClientConnection::new(Arc::new(client), server_name().unwrap()).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    while client.wants_write() || server.wants_write() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut unread = bytes.as_slice();
        while !unread.is_empty() {
            server.read_tls(&mut unread).unwrap();
            server.process_new_packets().map_err(HandshakeRefusal::ByServer)?;
        }
        bytes.clear();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut unread = bytes.as_slice();
        while !unread.is_empty() {
            client.read_tls(&mut unread).unwrap();
            client.process_new_packets().map_err(HandshakeRefusal::ByClient)?;
        }
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    Ok((client, server))
}

#[test]
fn the_right_certificates_are_accepted_and_each_side_knows_the_other() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let server = card(&authority, PartyRole::Server, NOW);
    for role in [PartyRole::Site, PartyRole::Node, PartyRole::Viewer] {
        let party = card(&authority, role, NOW);
        let (there, here) = shake(calls(&party, &authority), serves(&server, &authority)).unwrap();
        let peer = Peer::of_chain(here.peer_certificates()).unwrap();
        assert_eq!((peer.role, peer.name, peer.key), (role, name("party"), party.key.public()));
        let host = Peer::of_chain(there.peer_certificates()).unwrap();
        assert_eq!((host.role, host.key), (PartyRole::Server, server.key.public()));
        assert_eq!(here.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        assert_eq!((here.alpn_protocol(), there.alpn_protocol()), (Some(&b"h2"[..]), Some(&b"h2"[..])));
        assert_eq!(there.tls13_tickets_received(), 0, "nothing to resume");
    }
}

#[test]
fn a_certificate_from_before_a_renewal_of_the_authority_stays_good() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let old = card(&authority, PartyRole::Site, NOW);
    for which in [IssuingKey::Keep, IssuingKey::Fresh] {
        Authority::renew(&folders.folder("ca"), which, NOW).unwrap();
        let authority = Authority::open(&folders.folder("ca")).unwrap();
        let (new, server) = (card(&authority, PartyRole::Site, NOW), card(&authority, PartyRole::Server, NOW));
        for party in [&old, &new] {
            shake(calls(party, &authority), serves(&server, &authority)).unwrap();
        }
    }
}

#[test]
fn wrong_certificates_of_clients_are_refused() {
    let folders = TestFolders::new();
    let (authority, stranger) = (folders.authority("ca", NOW - 30 * DAY), folders.authority("other", NOW));
    let server = card(&authority, PartyRole::Server, NOW);
    let refusal = |party: &TestCertificate| match shake(calls(party, &authority), serves(&server, &authority)) {
        Err(HandshakeRefusal::ByServer(Error::InvalidCertificate(why))) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(&card(&stranger, PartyRole::Site, NOW)), Tls::UnknownIssuer);
    assert_eq!(refusal(&card(&folders.namesake("same", "ca", NOW), PartyRole::Site, NOW)), Tls::BadSignature);
    assert_eq!(refusal(&self_signed(PartyRole::Site)), Tls::UnknownIssuer);
    let expired = refusal(&card(&authority, PartyRole::Site, NOW - 8 * DAY));
    assert!(matches!(expired, Tls::ExpiredContext { .. }), "{expired:?}");
    let early = refusal(&card(&authority, PartyRole::Site, NOW + 2 * 3600));
    assert!(matches!(early, Tls::NotValidYetContext { .. }), "{early:?}");
    let purpose = refusal(&card(&authority, PartyRole::Server, NOW));
    assert!(matches!(purpose, Tls::InvalidPurposeContext { .. }), "{purpose:?}");
}

#[test]
fn a_clock_that_is_a_little_behind_does_not_matter() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let server = card(&authority, PartyRole::Server, NOW);
    let party = card(&authority, PartyRole::Site, NOW + 3599);
    shake(calls(&party, &authority), serves(&server, &authority)).unwrap();
}

#[test]
fn a_client_without_a_certificate_is_refused() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let server = card(&authority, PartyRole::Server, NOW);
    let mut chain = server.chain.clone();
    chain.push(authority.root().clone());
    let full = TestCertificate { key: server.key, chain };
    let refused = shake(joining_config(fingerprint(authority.root())).unwrap(), serves(&full, &authority));
    assert!(matches!(refused, Err(HandshakeRefusal::ByServer(Error::NoCertificatesPresented))), "{refused:?}");
}

#[test]
fn an_intermediate_of_another_party_makes_no_certificate() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (server, site) = (card(&authority, PartyRole::Server, NOW), card(&authority, PartyRole::Site, NOW));
    let key = IdentityKey::generate().unwrap();
    let mut ca = CertificateParams::default();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = Issuer::new(ca, Signer(&site.key));
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![uri(PartyRole::Site, &name("forged")).unwrap()];
    let leaf = params.signed_by(&Signer(&key), &issuer).unwrap().der().clone();
    let forged = TestCertificate { key, chain: [vec![leaf], site.chain].concat() };
    let refused = shake(calls(&forged, &authority), serves(&server, &authority));
    assert!(matches!(refused, Err(HandshakeRefusal::ByServer(Error::InvalidCertificate(_)))), "{refused:?}");
}

#[test]
fn wrong_certificates_of_servers_are_refused() {
    let folders = TestFolders::new();
    let (authority, stranger) = (folders.authority("ca", NOW - 30 * DAY), folders.authority("other", NOW));
    let site = card(&authority, PartyRole::Site, NOW);
    let refusal = |server: &TestCertificate| match shake(calls(&site, &authority), serves(server, &authority)) {
        Err(HandshakeRefusal::ByClient(Error::InvalidCertificate(why))) => why,
        other => panic!("{other:?}"),
    };
    for role in [PartyRole::Site, PartyRole::Node, PartyRole::Viewer] {
        let why = refusal(&card(&authority, role, NOW));
        assert!(matches!(why, Tls::InvalidPurposeContext { .. }), "{role}: {why:?}");
    }
    assert_eq!(refusal(&card(&stranger, PartyRole::Server, NOW)), Tls::UnknownIssuer);
    assert_eq!(refusal(&card(&folders.namesake("same", "ca", NOW), PartyRole::Server, NOW)), Tls::BadSignature);
    assert_eq!(refusal(&self_signed(PartyRole::Server)), Tls::UnknownIssuer);
    let expired = refusal(&card(&authority, PartyRole::Server, NOW - 8 * DAY));
    assert!(matches!(expired, Tls::ExpiredContext { .. }), "{expired:?}");
    let early = refusal(&card(&authority, PartyRole::Server, NOW + 2 * 3600));
    assert!(matches!(early, Tls::NotValidYetContext { .. }), "{early:?}");
    let misnamed = refusal(&misnamed(&folders, &authority));
    assert!(matches!(misnamed, Tls::NotValidForNameContext { .. }), "{misnamed:?}");
}

#[test]
fn one_who_joins_believes_the_root_of_the_invite_alone() {
    let folders = TestFolders::new();
    let (authority, stranger) = (folders.authority("ca", NOW - 30 * DAY), folders.authority("other", NOW));
    let pinned = || joining_config(fingerprint(authority.root())).unwrap();
    let enrolment = |card: &TestCertificate, root: &Authority| {
        enrolment_config(card.chain.clone(), &card.key, root.root()).unwrap()
    };
    let (server, other) = (card(&authority, PartyRole::Server, NOW), card(&stranger, PartyRole::Server, NOW));
    let (there, here) = shake(pinned(), enrolment(&server, &authority)).unwrap();
    assert_eq!(Peer::of_chain(there.peer_certificates()).unwrap().role, PartyRole::Server);
    assert_eq!(Peer::of_chain(here.peer_certificates()), Err(CertificateError::Missing));

    let refusal = |config: ServerConfig| match shake(pinned(), config) {
        Err(HandshakeRefusal::ByClient(Error::InvalidCertificate(why))) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(enrolment(&other, &stranger)), Tls::UnknownIssuer, "another root");
    assert_eq!(refusal(enrolment(&other, &authority)), Tls::UnknownIssuer, "the right root over another chain");
    assert_eq!(refusal(dashboard_config_as_h2(&server)), Tls::UnknownIssuer, "no root");
    let site = refusal(enrolment(&card(&authority, PartyRole::Site, NOW), &authority));
    assert!(matches!(site, Tls::InvalidPurposeContext { .. }), "{site:?}");
    let expired = refusal(enrolment(&card(&authority, PartyRole::Server, NOW - 8 * DAY), &authority));
    assert!(matches!(expired, Tls::ExpiredContext { .. }), "{expired:?}");
    let misnamed = refusal(enrolment(&misnamed(&folders, &authority), &authority));
    assert!(matches!(misnamed, Tls::NotValidForNameContext { .. }), "{misnamed:?}");
}

/// A server that asks for no certificate, and sends no root.
fn dashboard_config_as_h2(card: &TestCertificate) -> ServerConfig {
    let mut config = dashboard_config(card.chain.clone(), &card.key).unwrap();
    assert_eq!(config.alpn_protocols, [b"http/1.1".to_vec()]);
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

#[test]
fn a_port_of_another_protocol_is_refused() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (server, site) = (card(&authority, PartyRole::Server, NOW), card(&authority, PartyRole::Site, NOW));
    let dashboard = dashboard_config(server.chain.clone(), &server.key).unwrap();
    let refused = shake(calls(&site, &authority), dashboard);
    assert!(matches!(refused, Err(HandshakeRefusal::ByServer(Error::NoApplicationProtocol))), "{refused:?}");
}

#[test]
fn the_key_of_another_certificate_is_refused_before_any_handshake() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let (one, other) = (card(&authority, PartyRole::Site, NOW), card(&authority, PartyRole::Site, NOW));
    assert_eq!(client_config(one.chain.clone(), &other.key, authority.root()).unwrap_err(), TlsError::OtherKey);
    assert_eq!(enrolment_config(one.chain, &other.key, authority.root()).unwrap_err(), TlsError::OtherKey);
}

/// The first message of a client; with the versions that it names, or none as before 1.3.
fn hello(versions: &[u8]) -> Vec<u8> {
    let mut extensions = vec![0, 10, 0, 4, 0, 2, 0, 29]; // groups: X25519
    extensions.extend([0, 13, 0, 6, 0, 4, 8, 7, 4, 3]); // signatures: Ed25519, ECDSA
    if !versions.is_empty() {
        let length = versions.len() as u8;
        extensions.extend([0, 43, 0, length + 1, length]);
        extensions.extend(versions);
    }
    let mut body = vec![3, 3];
    body.extend([5; 32]); // random
    body.extend([0, 0, 4, 0xc0, 0x2b, 0x13, 0x01, 1, 0]); // no session, two suites, no compression
    body.extend([0, extensions.len() as u8]);
    body.extend(extensions);
    let mut record = vec![22, 3, 1, 0, body.len() as u8 + 4, 1, 0, 0, body.len() as u8];
    record.extend(body);
    record
}

#[test]
fn a_client_of_tls_1_2_is_refused_at_every_port() {
    let folders = TestFolders::new();
    let authority = folders.authority("ca", NOW);
    let server = card(&authority, PartyRole::Server, NOW);
    let ports = [
        serves(&server, &authority),
        enrolment_config(server.chain.clone(), &server.key, authority.root()).unwrap(),
        dashboard_config(server.chain.clone(), &server.key).unwrap(),
    ];
    for port in ports.map(Arc::new) {
        let answer = |versions: &[u8]| {
            let mut connection = ServerConnection::new(Arc::clone(&port)).unwrap();
            connection.read_tls(&mut hello(versions).as_slice()).unwrap();
            connection.process_new_packets().unwrap_err()
        };
        let version = |error: &Error| {
            matches!(
                error,
                Error::PeerIncompatible(
                    PeerIncompatible::SupportedVersionsExtensionRequired
                        | PeerIncompatible::Tls12NotOfferedOrEnabled
                        | PeerIncompatible::Tls12NotOffered
                        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
                        | PeerIncompatible::ServerDoesNotSupportTls12Or13
                )
            )
        };
        for versions in [&[][..], &[3, 3]] {
            let error = answer(versions);
            assert!(version(&error), "{versions:?}: {error:?}");
        }
        let newer = answer(&[3, 4]);
        assert!(!version(&newer), "the version is why the others were refused: {newer:?}");
    }
}
