//! Letters of a secure sum: nobody but their receiver reads a share, and what a letter is bound to is checked, each by itself.

use crate::common::scripted_server::ScriptedServer;
use federation::identity::{IdentityKey, Signature};
use federation::manifest::Manifest;
use federation::message::{Attempt, MemberId, SealedMessage};
use federation::sealed_message::{SealedChannel, SealedMessageError};
use federation::wire::sign_message;
use privacy::Assembly;
use privacy::noise::Digest;
use privacy::secure_sum::{Body, ClientSet, Message, Seed, SumParty, WordVector};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

const AT: Attempt = Attempt { round: 1, attempt: 2 };
const OTHER: Attempt = Attempt { round: 1, attempt: 3 };

/// Four sites, two nodes, and a question.
struct SumFixture {
    script: ScriptedServer,
    assembly: Assembly,
    question: Digest,
}

impl SumFixture {
    fn new() -> Self {
        let script = ScriptedServer::new("sum/2/1", 4, 2, 3);
        let (built, query) = (&script.parts.built, script.question());
        let assembly = built.summing.assembly(built.sum_terms(&query).unwrap().unwrap()).unwrap().unwrap();
        let question = Sha256::digest(&query).into();
        Self { script, assembly, question }
    }

    fn key(&self, member: MemberId) -> &Arc<IdentityKey> {
        match member {
            MemberId::Site(site) => &self.script.keys.sites[site].1,
            MemberId::Node(node) => &self.script.keys.nodes[node as usize].1,
            MemberId::Server => &self.script.keys.server,
        }
    }

    fn channel(&self, own: MemberId) -> SealedChannel<'_> {
        let manifest: &Manifest = &self.script.manifest;
        let (key, digest) = (self.key(own).as_ref(), manifest.digest());
        SealedChannel { own, key, manifest, digest, at: AT, question: self.question }
    }

    fn message(&self, body: Body) -> Message {
        Message { session: self.assembly.session(self.script.manifest.run(), AT.round, AT.attempt), body }
    }

    fn seed(&self, client: u64, node: u32) -> Message {
        self.message(Body::Seed { client, node, seed: Seed::default() })
    }

    /// What a node reads in a letter, by its own keys.
    fn read_at(&self, node: u32, letter: &SealedMessage) -> Result<(SumParty, Message), SealedMessageError> {
        let sealing = &self.script.keys.nodes[node as usize].2;
        self.channel(MemberId::Node(node)).read(letter, &self.assembly, Some(sealing))
    }

    /// The letter, signed by whom it says that it is from.
    fn signed(&self, letter: SealedMessage) -> SealedMessage {
        sign_message(self.key(letter.from), &self.script.manifest.digest(), letter)
    }
}

/// Whether sixteen bytes that stand together in one stand together in the other.
fn shares_bytes(plain: &[u8], other: &[u8]) -> bool {
    plain.windows(16).any(|some| other.windows(16).any(|those| those == some))
}

#[test]
fn a_share_is_sealed_and_no_two_letters_of_it_are_alike() {
    let post = SumFixture::new();
    let dimension = post.assembly.shape().dimension();
    let words: Vec<u8> = (0..8 * dimension).map(|at| (at * 37 % 251) as u8).collect();
    let words: WordVector = postcard::from_bytes(&postcard::to_allocvec(&words).unwrap()).unwrap();
    for message in [post.message(Body::Vector { client: 0, words }), post.seed(0, 0)] {
        let plain = message.encode().unwrap();
        let [one, two] = [(); 2].map(|()| post.channel(MemberId::Site(0)).write(SumParty::Node(0), &message).unwrap());
        for letter in [&one, &two] {
            assert!(Message::decode(&letter.sealed, dimension, 4).is_err(), "a share is in the clear");
            assert!(!shares_bytes(&plain, &letter.sealed) && !shares_bytes(&plain, &letter.key), "a part of it is");
            assert_eq!(post.read_at(0, letter), Ok((SumParty::Client(0), message.clone())));
        }
        assert!(one.key != two.key && one.sealed != two.sealed, "a key was used twice");
        assert!(!shares_bytes(&one.sealed, &two.sealed));
    }
    assert!(shares_bytes(&[7; 20], &[&[1][..], &[7; 16]].concat()), "what is looked for would be found");
}

#[test]
fn a_node_cannot_open_a_letter_that_is_sealed_to_another() {
    let post = SumFixture::new();
    let letter = post.channel(MemberId::Site(2)).write(SumParty::Node(1), &post.seed(2, 1)).unwrap();
    assert!(post.read_at(1, &letter).is_ok());
    assert_eq!(post.read_at(0, &letter), Err(SealedMessageError::Misdirected));
    // Neither as its own, should the site have signed it so, nor with the other's name on its desk.
    let renamed = post.signed(SealedMessage { to: MemberId::Node(0), ..letter.clone() });
    assert_eq!(post.read_at(0, &renamed), Err(SealedMessageError::Unreadable));
    let (channel, own) = (post.channel(MemberId::Node(1)), &post.script.keys.nodes[0].2);
    assert_eq!(channel.read(&letter, &post.assembly, Some(own)), Err(SealedMessageError::Unreadable));
    // And without a key nobody reads a site's letter.
    assert_eq!(channel.read(&letter, &post.assembly, None), Err(SealedMessageError::Misdirected));
}

#[test]
fn a_letter_is_read_by_its_receiver_in_its_attempt_and_for_its_question_alone() {
    let post = SumFixture::new();
    let held = ClientSet::none(4);
    let list = post.message(Body::Holdings { node: 1, held });
    for good in [
        post.channel(MemberId::Site(0)).write(SumParty::Node(0), &post.seed(0, 0)).unwrap(),
        post.channel(MemberId::Node(1)).write(SumParty::Node(0), &list).unwrap(),
    ] {
        assert!(post.read_at(0, &good).is_ok());
        // Everything inside is as it should be, and so is the signature: what is written on the letter must fit by itself.
        for wrong in [
            SealedMessage { at: OTHER, ..good.clone() },
            SealedMessage { at: Attempt { round: 0, ..AT }, ..good.clone() },
            SealedMessage { question: [7; 32], ..good.clone() },
            SealedMessage { to: MemberId::Node(1), ..good.clone() },
            SealedMessage { to: MemberId::Server, ..good.clone() },
        ] {
            assert_eq!(post.read_at(0, &post.signed(wrong)), Err(SealedMessageError::Misdirected));
        }
    }
}

#[test]
fn what_is_sealed_is_bound_to_manifest_attempt_question_sender_and_receiver() {
    let post = SumFixture::new();
    let (message, channel) = (post.seed(0, 0), || post.channel(MemberId::Site(0)));
    let good = channel().write(SumParty::Node(0), &message).unwrap();
    assert!(post.read_at(0, &good).is_ok());
    // Sealed for something else, and then labelled and signed by its sender as if it were for this.
    let labelled = |letter: SealedMessage| {
        let SealedMessage { from, to, at, question, .. } = good.clone();
        post.signed(SealedMessage { from, to, at, question, ..letter })
    };
    let written = |channel: SealedChannel<'_>| channel.write(SumParty::Node(0), &message).unwrap();
    for (what, letter) in [
        ("another attempt", written(SealedChannel { at: OTHER, ..channel() })),
        ("another round", written(SealedChannel { at: Attempt { round: 0, ..AT }, ..channel() })),
        ("another question", written(SealedChannel { question: [7; 32], ..channel() })),
        ("another manifest", written(SealedChannel { digest: [7; 32], ..channel() })),
        ("another site", written(post.channel(MemberId::Site(1)))),
    ] {
        assert_eq!(post.read_at(0, &labelled(letter)), Err(SealedMessageError::Unreadable), "{what}");
    }
    // Two nodes of one key for shares: even then a letter to one is none to the other.
    let mut manifest = Manifest::clone(&post.script.manifest);
    manifest.nodes[1].sealing = manifest.nodes[0].sealing;
    let twin = SealedChannel { manifest: &manifest, ..channel() }.write(SumParty::Node(1), &message).unwrap();
    assert_eq!(post.read_at(0, &labelled(twin)), Err(SealedMessageError::Unreadable), "another node");
    assert!(post.read_at(0, &labelled(good.clone())).is_ok());
}

#[test]
fn a_letter_that_its_sender_has_not_signed_is_left_unread() {
    let post = SumFixture::new();
    let manifest = post.script.manifest.digest();
    let confirmation = post.message(Body::Confirmation { node: 1, digest: [9; 32] });
    for good in [
        post.channel(MemberId::Site(0)).write(SumParty::Node(0), &post.seed(0, 0)).unwrap(),
        post.channel(MemberId::Node(1)).write(SumParty::Node(0), &confirmation).unwrap(),
    ] {
        let signed = |key: MemberId, digest: &Digest| sign_message(post.key(key), digest, good.clone()).signature;
        let mut changed = good.signature.bytes().to_vec();
        changed[5] ^= 1;
        for (what, signature) in [
            ("nothing", Signature::from_bytes(&[])),
            ("zeros", Signature::from_bytes(&[0; 64])),
            ("one bit changed", Signature::from_bytes(&changed)),
            ("another site", signed(MemberId::Site(3), &manifest)),
            ("another node", signed(MemberId::Node(0), &manifest)),
            ("the server", signed(MemberId::Server, &manifest)),
            ("for another manifest", signed(good.from, &[7; 32])),
        ] {
            let forged = SealedMessage { signature, ..good.clone() };
            assert_eq!(post.read_at(0, &forged), Err(SealedMessageError::Forged), "{what}");
        }
        let mut sealed = good.sealed.clone();
        sealed[3] ^= 1;
        assert_eq!(
            post.read_at(0, &SealedMessage { sealed, ..good.clone() }),
            Err(SealedMessageError::Forged),
            "other content"
        );
        let unknown = SealedMessage { from: MemberId::Site(9), ..good.clone() };
        assert_eq!(post.read_at(0, &unknown), Err(SealedMessageError::Forged), "from nobody");
        assert!(post.read_at(0, &good).is_ok());
    }
}
