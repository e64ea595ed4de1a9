//! Everything that reads foreign bytes: what is valid reads back as it was, and nothing whatever makes a reader panic.

use crate::common;
use crate::decoding;

use crate::common::scripted_server::{ScriptedServer, ask, said};
use crate::decoding::{Edit, edited, edits, instruction, request, sender};
use federation::identity::{
    Address, Authority, IdentityKey, Invite, InviteSecret, PARTY_LIFE, PartyName, PartyRole, Peer, certificates,
    requested_key, validity,
};
use federation::log::{Disk, SimulatedDisk};
use federation::manifest::Manifest;
use federation::message::{Attempt, Instruction, MemberId, Request, SealedMessage};
use federation::node::{ComputeNode, NodeError, NodeOpening};
use federation::sealed_message::SealedChannel;
use federation::wire::{self, ServerReply, UnverifiedContent};
use privacy::Assembly;
use proptest::prelude::*;
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, OnceLock};
use study::digits::hexadecimal;

const AT: Attempt = Attempt { round: 0, attempt: 0 };

/// Valid bytes of every kind, made once.
struct Samples {
    script: ScriptedServer,
    assembly: Assembly,
    query: Vec<u8>,
    letter: SealedMessage,
    record: Vec<u8>,
    file: String,
    certificate: Vec<u8>,
    chain: String,
    csr: Vec<u8>,
    invite: String,
}

fn samples() -> &'static Samples {
    static SAMPLES: OnceLock<Samples> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let script = ScriptedServer::new("sum/2/1", 4, 2, 3);
        let (built, query) = (&script.parts.built, script.question());
        let assembly = built.summing.assembly(built.sum_terms(&query).unwrap().unwrap()).unwrap().unwrap();
        let (mut site, _) = script.running(0);
        let written = said(&script.tell(&mut site, ask(0, 0, &query)).unwrap());
        let [Request::Letters(letters)] = written.as_slice() else { panic!("{written:?}") };
        let disk = SimulatedDisk::new();
        let mut node = script.node(0, &disk);
        script.tell(&mut node, script.beginning()).unwrap();
        let session = Instruction::Session { at: AT, query: query.clone(), close: false };
        script.tell(&mut node, vec![session]).unwrap();
        let file = format!("sum-{}", hexadecimal(&script.manifest.run()));
        let record = disk.read(&file).unwrap().unwrap();
        let letter = letters[0].clone();
        let (certificate, chain, csr) = credentials();
        Samples { script, assembly, query, letter, record, file, certificate, chain, csr, invite: invite() }
    })
}

/// A certificate, its chain in PEM, and a request for one.
fn credentials() -> (Vec<u8>, String, Vec<u8>) {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("decoders-{}", std::process::id()));
    let (name, now) = (PartyName::new("hospital-a").unwrap(), 1_790_000_000);
    Authority::init(&folder, &name, now).unwrap();
    let authority = Authority::open(&folder).unwrap();
    let key = IdentityKey::generate().unwrap();
    let issued = authority.issue(PartyRole::Site, &name, &key.public(), now, PARTY_LIFE).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let certificate = certificates(&issued.chain).unwrap()[0].to_vec();
    (certificate, issued.chain.clone(), federation::identity::request(&key, PartyRole::Site, &name).unwrap())
}

fn invite() -> String {
    let invite = Invite {
        server: Address::new("server.example.org:8444").unwrap(),
        secret: InviteSecret::of_bytes(&[7; 16]).unwrap(),
        root: [9; 32],
        role: PartyRole::Node,
        name: PartyName::new("node-1").unwrap(),
    };
    invite.text().to_string()
}

/// Reads bytes as a message of the wire, all the way.
fn read_wire(bytes: &[u8]) {
    let _ = wire::content_digest(bytes);
    if let Ok(said) = UnverifiedContent::read(bytes) {
        let _ = (said.claimed_request(), said.claimed_reply(&[0; 32]), said.is_update(), said.digest());
        let key = IdentityKey::generate().map(|key| key.public());
        let _ = key.map(|key| (said.request(&key), said.reply(&key, &[0; 32])));
    }
}

/// Reads bytes as a manifest. What is read is written as the same bytes.
fn read_manifest(bytes: &[u8]) {
    if let Ok(manifest) = Manifest::read(bytes) {
        assert_eq!(manifest.bytes(), bytes);
        let _ = (manifest.run(), manifest.members().count(), manifest.check_signatures(&[]));
    }
}

/// Reads bytes as what names and papers are made of.
fn read_papers(bytes: &[u8]) {
    let _ = (Peer::of_der(bytes), validity(bytes), requested_key(bytes));
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = (Invite::parse(text), Address::new(text), PartyName::new(text), certificates(text));
    }
}

/// A node of the sum reads a letter that was signed by whom it says.
fn read_letter(letter: SealedMessage) {
    let Samples { script, assembly, query, .. } = samples();
    let digest = script.manifest.digest();
    let key = match letter.from {
        MemberId::Site(site) => &script.keys.sites[site].1,
        MemberId::Node(node) => &script.keys.nodes[node as usize].1,
        MemberId::Server => &script.keys.server,
    };
    let signed = wire::sign_message(key, &digest, letter);
    let (_, own, sealing) = &script.keys.nodes[0];
    let question = Sha256::digest(query).into();
    let channel =
        SealedChannel { own: MemberId::Node(0), key: own, manifest: &script.manifest, digest, at: AT, question };
    let _ = channel.read(&signed, assembly, Some(sealing));
    let _ = channel.read(&signed, assembly, None);
}

/// A node over a record takes its run up again and goes on; so does one over a record whose checksum was made to fit.
fn read_record(bytes: &[u8]) {
    open_record(bytes);
    if let Some((head, content)) = bytes.split_at_checked(16) {
        let fitting = crc32c::crc32c(content).to_le_bytes();
        open_record(&[&head[..12], &fitting, content].concat());
    }
}

fn opened(bytes: &[u8]) -> Result<ComputeNode<SimulatedDisk>, NodeError> {
    let Samples { script, file, .. } = samples();
    let disk = SimulatedDisk::new();
    disk.put(file, bytes);
    let (_, key, sealing) = script.keys.nodes[0].clone();
    let (manifest, parts, source) = (script.manifest.clone(), script.parts.clone(), common::scripted_server::fresh());
    ComputeNode::open(NodeOpening { manifest, parts, number: 0, key, sealing, source }, disk)
}

fn open_record(bytes: &[u8]) {
    let Ok(mut node) = opened(bytes) else { return };
    for (round, close) in [(0, false), (0, true), (1, false)] {
        let at = Attempt { round, attempt: 0 };
        let _ = node.handle(&Instruction::Session { at, query: samples().query.clone(), close });
        let _ = node.again();
    }
}

/// A record that was altered could let a session be opened again, with other noise.
#[test]
fn a_node_does_not_go_on_from_a_record_in_which_a_bit_was_flipped() {
    let record = &samples().record;
    assert!(opened(record).is_ok());
    for bit in 0..record.len() * 8 {
        let mut bad = record.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(opened(&bad).err(), Some(NodeError::Damaged), "bit {bit}");
    }
}

fn key() -> &'static Arc<IdentityKey> {
    static KEY: OnceLock<Arc<IdentityKey>> = OnceLock::new();
    KEY.get_or_init(|| Arc::new(IdentityKey::generate().unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_request_reads_back_as_it_was_said(sender in sender(), request in request()) {
        let (bytes, digest) = wire::sign(key(), &sender, &request);
        let said = UnverifiedContent::read(&bytes).unwrap();
        prop_assert_eq!(said.sender(), &sender);
        prop_assert_eq!((said.digest(), wire::content_digest(&bytes).unwrap()), (digest, digest));
        prop_assert_eq!(said.request(&key().public()), Ok(request.clone()));
        prop_assert_eq!(said.is_update(), matches!(request, Request::Update(_)));
        prop_assert!(said.claimed_reply(&[0; 32]).is_err());
    }

    #[test]
    fn any_reply_reads_back_as_it_was_said(
        sender in sender(),
        to in any::<[u8; 32]>(),
        seen in proptest::option::of(decoding::position()),
        instructions in proptest::collection::vec(instruction(), 0..4),
    ) {
        let reply = ServerReply { to, seen, instructions };
        let said = UnverifiedContent::of(wire::sign_reply(key(), &sender, &reply)).unwrap();
        prop_assert_eq!(said.reply(&key().public(), &to), Ok(reply));
        prop_assert!(said.claimed_request().is_err());
    }

    #[test]
    fn a_message_with_any_edit_is_not_believed(
        sender in sender(),
        request in request(),
        changes in edits(),
    ) {
        let (bytes, digest) = wire::sign(key(), &sender, &request);
        let changed = edited(&bytes, &changes);
        read_wire(&changed);
        // What is still believed is what was signed.
        if let Ok(said) = UnverifiedContent::read(&changed)
            && let Ok(believed) = said.request(&key().public())
        {
            prop_assert_eq!((said.digest(), believed), (digest, request));
        }
    }

    #[test]
    fn no_reply_with_edits_makes_a_reader_panic(
        sender in sender(),
        instructions in proptest::collection::vec(instruction(), 0..4),
        changes in edits(),
    ) {
        let reply = ServerReply { to: [0; 32], seen: None, instructions };
        read_wire(&edited(&wire::sign_reply(key(), &sender, &reply).encode_to_vec(), &changes));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_wire(&bytes);
        read_manifest(&bytes);
        read_papers(&bytes);
        read_record(&bytes);
        let good = samples().letter.clone();
        read_letter(SealedMessage { sealed: bytes.clone(), ..good.clone() });
        read_letter(SealedMessage { key: bytes.clone(), ..good.clone() });
        read_letter(SealedMessage { from: MemberId::Node(1), key: Vec::new(), sealed: bytes, ..good });
    }

    #[test]
    fn no_manifest_with_edits_makes_a_reader_panic(changes in edits()) {
        read_manifest(&edited(&samples().script.manifest.bytes(), &changes));
    }

    #[test]
    fn no_letter_with_edits_makes_a_node_panic(changes in edits()) {
        let good = &samples().letter;
        read_letter(SealedMessage { sealed: edited(&good.sealed, &changes), ..good.clone() });
        read_letter(SealedMessage { key: edited(&good.key, &changes), ..good.clone() });
    }

    #[test]
    fn no_record_with_edits_makes_a_node_panic(changes in edits()) {
        read_record(&edited(&samples().record, &changes));
    }

    #[test]
    fn no_papers_with_edits_make_a_reader_panic(changes in edits()) {
        let Samples { certificate, chain, csr, invite, .. } = samples();
        for bytes in [certificate, csr, chain.as_bytes(), invite.as_bytes()] {
            read_papers(&edited(bytes, &changes));
        }
        let text: String = String::from_utf8_lossy(&edited(chain.as_bytes(), &changes)).into_owned();
        let _ = certificates(&text);
    }

    #[test]
    fn a_request_for_a_certificate_with_a_flipped_bit_is_for_nobody_else(bit in any::<usize>()) {
        let csr = &samples().csr;
        // Around what is signed a bit may be spelt otherwise; the key is within.
        if let Ok(key) = requested_key(&edited(csr, &[Edit::Flip(bit)])) {
            prop_assert_eq!(Ok(key), requested_key(csr));
        }
    }
}

#[test]
fn the_samples_are_good() {
    let Samples { script, letter, record, certificate, csr, invite, chain, .. } = samples();
    assert_eq!(Manifest::read(&script.manifest.bytes()).as_ref(), Ok(script.manifest.as_ref()));
    assert_eq!(Peer::of_der(certificate).unwrap().name.as_str(), "hospital-a");
    assert!(requested_key(csr).is_ok() && Invite::parse(invite).is_ok() && certificates(chain).is_ok());
    assert!(!letter.sealed.is_empty() && !record.is_empty());
    read_record(record);
    read_letter(letter.clone());
}
