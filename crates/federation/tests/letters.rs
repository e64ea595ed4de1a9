//! Letters of a secure sum: nobody but their receiver reads a share, and what a letter is bound to is checked, each by itself.

use crate::common::hand::Hand;
use federation::identity::{IdentityKey, Signature};
use federation::letter::{Correspondence, LetterError};
use federation::manifest::Manifest;
use federation::message::{Letter, Member, Try};
use federation::wire::sign_letter;
use privacy::Assembly;
use privacy::noise::Digest;
use privacy::secure_sum::{Body, ClientSet, Message, Seed, SumParty, WordVector};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

const AT: Try = Try { round: 1, attempt: 2 };
const OTHER: Try = Try { round: 1, attempt: 3 };

/// Four sites, two nodes, and a question.
struct Post {
    hand: Hand,
    assembly: Assembly,
    question: Digest,
}

impl Post {
    fn new() -> Self {
        let hand = Hand::new("sum/2/1", 4, 2, 3);
        let (built, query) = (&hand.programme.built, hand.question());
        let assembly = built.summing.assembly(built.sum_terms(&query).unwrap().unwrap()).unwrap().unwrap();
        let question = Sha256::digest(&query).into();
        Self { hand, assembly, question }
    }

    fn key(&self, member: Member) -> &Arc<IdentityKey> {
        match member {
            Member::Site(site) => &self.hand.cast.sites[site].1,
            Member::Node(node) => &self.hand.cast.nodes[node as usize].1,
            Member::Server => &self.hand.cast.server,
        }
    }

    fn desk(&self, own: Member) -> Correspondence<'_> {
        let manifest: &Manifest = &self.hand.manifest;
        let (key, digest) = (self.key(own).as_ref(), manifest.digest());
        Correspondence { own, key, manifest, digest, at: AT, question: self.question }
    }

    fn message(&self, body: Body) -> Message {
        Message { session: self.assembly.session(self.hand.manifest.run(), AT.round, AT.attempt), body }
    }

    fn seed(&self, client: u64, node: u32) -> Message {
        self.message(Body::Seed { client, node, seed: Seed::default() })
    }

    /// What a node reads in a letter, by its own keys.
    fn read_at(&self, node: u32, letter: &Letter) -> Result<(SumParty, Message), LetterError> {
        let sealing = &self.hand.cast.nodes[node as usize].2;
        self.desk(Member::Node(node)).read(letter, &self.assembly, Some(sealing))
    }

    /// The letter, signed by whom it says that it is from.
    fn signed(&self, letter: Letter) -> Letter {
        sign_letter(self.key(letter.from), &self.hand.manifest.digest(), letter)
    }
}

/// Whether sixteen bytes that stand together in one stand together in the other.
fn shares_bytes(plain: &[u8], other: &[u8]) -> bool {
    plain.windows(16).any(|some| other.windows(16).any(|those| those == some))
}

#[test]
fn a_share_is_sealed_and_no_two_letters_of_it_are_alike() {
    let post = Post::new();
    let dimension = post.assembly.shape().dimension();
    let words: Vec<u8> = (0..8 * dimension).map(|at| (at * 37 % 251) as u8).collect();
    let words: WordVector = postcard::from_bytes(&postcard::to_allocvec(&words).unwrap()).unwrap();
    for message in [post.message(Body::Vector { client: 0, words }), post.seed(0, 0)] {
        let plain = message.encode().unwrap();
        let [one, two] = [(); 2].map(|()| post.desk(Member::Site(0)).write(SumParty::Node(0), &message).unwrap());
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
    let post = Post::new();
    let letter = post.desk(Member::Site(2)).write(SumParty::Node(1), &post.seed(2, 1)).unwrap();
    assert!(post.read_at(1, &letter).is_ok());
    assert_eq!(post.read_at(0, &letter), Err(LetterError::Misdirected));
    // Neither as its own, should the site have signed it so, nor with the other's name on its desk.
    let renamed = post.signed(Letter { to: Member::Node(0), ..letter.clone() });
    assert_eq!(post.read_at(0, &renamed), Err(LetterError::Unreadable));
    let (desk, own) = (post.desk(Member::Node(1)), &post.hand.cast.nodes[0].2);
    assert_eq!(desk.read(&letter, &post.assembly, Some(own)), Err(LetterError::Unreadable));
    // And without a key nobody reads a site's letter.
    assert_eq!(desk.read(&letter, &post.assembly, None), Err(LetterError::Misdirected));
}

#[test]
fn a_letter_is_read_by_its_receiver_in_its_attempt_and_for_its_question_alone() {
    let post = Post::new();
    let held = ClientSet::none(4);
    let list = post.message(Body::Holdings { node: 1, held });
    for good in [
        post.desk(Member::Site(0)).write(SumParty::Node(0), &post.seed(0, 0)).unwrap(),
        post.desk(Member::Node(1)).write(SumParty::Node(0), &list).unwrap(),
    ] {
        assert!(post.read_at(0, &good).is_ok());
        // Everything inside is as it should be, and so is the signature: what is written on the letter must fit by itself.
        for wrong in [
            Letter { at: OTHER, ..good.clone() },
            Letter { at: Try { round: 0, ..AT }, ..good.clone() },
            Letter { question: [7; 32], ..good.clone() },
            Letter { to: Member::Node(1), ..good.clone() },
            Letter { to: Member::Server, ..good.clone() },
        ] {
            assert_eq!(post.read_at(0, &post.signed(wrong)), Err(LetterError::Misdirected));
        }
    }
}

#[test]
fn what_is_sealed_is_bound_to_manifest_attempt_question_sender_and_receiver() {
    let post = Post::new();
    let (message, desk) = (post.seed(0, 0), || post.desk(Member::Site(0)));
    let good = desk().write(SumParty::Node(0), &message).unwrap();
    assert!(post.read_at(0, &good).is_ok());
    // Sealed for something else, and then labelled and signed by its sender as if it were for this.
    let labelled = |letter: Letter| {
        let Letter { from, to, at, question, .. } = good.clone();
        post.signed(Letter { from, to, at, question, ..letter })
    };
    let written = |desk: Correspondence<'_>| desk.write(SumParty::Node(0), &message).unwrap();
    for (what, letter) in [
        ("another attempt", written(Correspondence { at: OTHER, ..desk() })),
        ("another round", written(Correspondence { at: Try { round: 0, ..AT }, ..desk() })),
        ("another question", written(Correspondence { question: [7; 32], ..desk() })),
        ("another manifest", written(Correspondence { digest: [7; 32], ..desk() })),
        ("another site", written(post.desk(Member::Site(1)))),
    ] {
        assert_eq!(post.read_at(0, &labelled(letter)), Err(LetterError::Unreadable), "{what}");
    }
    // Two nodes of one key for shares: even then a letter to one is none to the other.
    let mut manifest = Manifest::clone(&post.hand.manifest);
    manifest.nodes[1].sealing = manifest.nodes[0].sealing;
    let twin = Correspondence { manifest: &manifest, ..desk() }.write(SumParty::Node(1), &message).unwrap();
    assert_eq!(post.read_at(0, &labelled(twin)), Err(LetterError::Unreadable), "another node");
    assert!(post.read_at(0, &labelled(good.clone())).is_ok());
}

#[test]
fn a_letter_that_its_sender_has_not_signed_is_left_unread() {
    let post = Post::new();
    let manifest = post.hand.manifest.digest();
    let confirmation = post.message(Body::Confirmation { node: 1, digest: [9; 32] });
    for good in [
        post.desk(Member::Site(0)).write(SumParty::Node(0), &post.seed(0, 0)).unwrap(),
        post.desk(Member::Node(1)).write(SumParty::Node(0), &confirmation).unwrap(),
    ] {
        let signed = |key: Member, digest: &Digest| sign_letter(post.key(key), digest, good.clone()).signature;
        let mut changed = good.signature.bytes().to_vec();
        changed[5] ^= 1;
        for (what, signature) in [
            ("nothing", Signature::from_bytes(&[])),
            ("zeros", Signature::from_bytes(&[0; 64])),
            ("one bit changed", Signature::from_bytes(&changed)),
            ("another site", signed(Member::Site(3), &manifest)),
            ("another node", signed(Member::Node(0), &manifest)),
            ("the server", signed(Member::Server, &manifest)),
            ("for another manifest", signed(good.from, &[7; 32])),
        ] {
            let forged = Letter { signature, ..good.clone() };
            assert_eq!(post.read_at(0, &forged), Err(LetterError::Forged), "{what}");
        }
        let mut sealed = good.sealed.clone();
        sealed[3] ^= 1;
        assert_eq!(post.read_at(0, &Letter { sealed, ..good.clone() }), Err(LetterError::Forged), "other content");
        let unknown = Letter { from: Member::Site(9), ..good.clone() };
        assert_eq!(post.read_at(0, &unknown), Err(LetterError::Forged), "from nobody");
        assert!(post.read_at(0, &good).is_ok());
    }
}
