//! Masks: sixteen fresh bytes that a client and a node expand to the same uniform words.
//!
//! A client sends K − 1 seeds and one vector instead of K vectors. A node expands the seed of each client once, when the set of clients is
//! fixed. The expansion is bound to session, client and node, so that a replayed seed is useless elsewhere.

use super::SumSession;
use aes::Aes128Enc;
use aes::cipher::array::Array;
use aes::cipher::{InnerIvInit, KeyInit, StreamCipherCore};
use ctr::CtrCore;
use ctr::flavors::Ctr32BE;
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// AES blocks that are expanded at a time: they and the words that they are added to stay in the innermost cache.
const BLOCKS: usize = 128;

/// The widest ciphers take so many blocks at once, and fewer one by one: to expand some more is faster.
const AT_ONCE: usize = 64;

/// Masks that are expanded side by side, so that a long vector is walked through once for all of them.
const SIDE_BY_SIDE: usize = 8;

/// The key of one mask. Wiped when dropped, and not printed.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Seed([u8; 16]);

impl Seed {
    /// A fresh seed of 128 bits, from the stream of the session.
    pub(super) fn draw(rng: &mut impl Rng) -> Self {
        let mut bytes = [0; 16];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a seed")
    }
}

/// AES-128 in counter mode, with a 32-bit counter in the last four bytes.
type Stream = CtrCore<Aes128Enc, Ctr32BE>;

/// What masks of one session are bound to: the first 96 bits of H(session).
#[derive(Debug, Clone, Copy)]
pub(super) struct Nonce([u8; 12]);

impl Nonce {
    /// The nonce of a session: it differs wherever run, round, attempt or terms differ.
    pub(super) fn of(session: &SumSession) -> Self {
        let mut first = [0; 12];
        first.copy_from_slice(&session.digest()[..12]);
        Self(first)
    }
}

/// One mask: whose, for whom, and its key.
pub(super) struct Mask<'a> {
    pub(super) client: u64,
    pub(super) node: u32,
    pub(super) seed: &'a Seed,
}

impl Mask<'_> {
    /// The key stream of the mask, at its first block.
    fn stream(&self, nonce: Nonce) -> Stream {
        let mut start = [0_u8; 16];
        start[..8].copy_from_slice(&self.client.to_le_bytes());
        start[8..12].copy_from_slice(&self.node.to_le_bytes());
        start.iter_mut().zip(nonce.0).for_each(|(s, n)| *s ^= n);
        Stream::inner_iv_init(Aes128Enc::new(&Array(self.seed.0)), &Array(start))
    }
}

/// Expands the seeds of one session.
///
/// mask = AES-128-CTR under the seed, from the counter (H(session)₁₂ ⊕ (client ‖ node)) ‖ 0, as little-endian words.
/// The block function is a pseudo-random function of its input, and no two inputs of one session are equal: 96 bits
/// name client and node, 32 count blocks. A seed that is replayed for another client, node, attempt, round, run or
/// manifest therefore expands to other words (for another session, unless 96 bits of SHA-256 collide).
pub(super) struct Masks {
    nonce: Nonce,
    blocks: [[aes::Block; BLOCKS]; 2],
    streams: Vec<Stream>,
}

impl Masks {
    /// An expander with buffers for one session.
    pub(super) fn new(nonce: Nonce) -> Self {
        Self { nonce, blocks: [[aes::Block::default(); BLOCKS]; 2], streams: Vec::with_capacity(SIDE_BY_SIDE) }
    }

    /// into + Σ masks, modulo 2^64.
    pub(super) fn add<'a>(&mut self, masks: impl Iterator<Item = Mask<'a>>, into: &mut [u64]) {
        self.expand(masks, into, u64::wrapping_add);
    }

    /// into − Σ masks, modulo 2^64.
    pub(super) fn subtract<'a>(&mut self, masks: impl Iterator<Item = Mask<'a>>, into: &mut [u64]) {
        self.expand(masks, into, u64::wrapping_sub);
    }

    /// Joins all masks into the words, a few masks and one stretch of words at a time.
    fn expand<'a>(
        &mut self,
        mut masks: impl Iterator<Item = Mask<'a>>,
        into: &mut [u64],
        join: impl Fn(u64, u64) -> u64,
    ) {
        loop {
            self.streams.clear();
            let some = masks.by_ref().take(SIDE_BY_SIDE);
            self.streams.extend(some.map(|mask| mask.stream(self.nonce)));
            if self.streams.is_empty() {
                return;
            }
            for part in into.chunks_mut(2 * BLOCKS) {
                let used = part.len().div_ceil(2).next_multiple_of(AT_ONCE);
                for streams in self.streams.chunks_mut(2) {
                    if streams.len() == 1 {
                        self.blocks[1].fill(aes::Block::default());
                    }
                    for (stream, blocks) in streams.iter_mut().zip(&mut self.blocks) {
                        stream.write_keystream_blocks(&mut blocks[..used]);
                    }
                    join_words(part, &self.blocks, &join);
                }
            }
        }
    }
}

/// Joins words with the sums of two masks. Apart, so that the compiler sees that nothing overlaps, and adds in vectors.
#[inline(never)]
fn join_words(part: &mut [u64], [one, two]: &[[aes::Block; BLOCKS]; 2], join: impl Fn(u64, u64) -> u64) {
    let (one, _) = aes::Block::slice_as_flattened(one).as_chunks::<8>();
    let (two, _) = aes::Block::slice_as_flattened(two).as_chunks::<8>();
    for ((into, one), two) in part.iter_mut().zip(one).zip(two) {
        *into = join(*into, u64::from_le_bytes(*one).wrapping_add(u64::from_le_bytes(*two)));
    }
}

impl Drop for Masks {
    /// Everything that depends on a seed is overwritten by what the zero key gives. (The ciphers' own wiping, byte by
    /// byte at every change of key, takes longer than to expand a hundred words.)
    fn drop(&mut self) {
        let public = Aes128Enc::new(&Array([0; 16]));
        self.streams.clear();
        self.streams.extend((0..SIDE_BY_SIDE).map(|_| Stream::inner_iv_init(public.clone(), &Array([0; 16]))));
        if let Some(stream) = self.streams.first_mut() {
            self.blocks.iter_mut().for_each(|blocks| stream.write_keystream_blocks(blocks));
        }
        std::hint::black_box((&self.streams, &self.blocks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{NoiseContext, NoiseSource, Seeded};

    const WORDS: usize = 1_000_000;

    fn session() -> SumSession {
        SumSession { run: [1; 16], round: 2, attempt: 3, manifest: [4; 32] }
    }

    fn seeds(count: usize) -> Vec<Seed> {
        let mut stream = Seeded::new(1).stream(&NoiseContext::default()).unwrap();
        (0..count).map(|_| Seed::draw(&mut stream)).collect()
    }

    fn mask(session: &SumSession, seed: &Seed, client: u64, node: u32, words: usize) -> Vec<u64> {
        let mut into = vec![0; words];
        Masks::new(Nonce::of(session)).add([Mask { client, node, seed }].into_iter(), &mut into);
        into
    }

    /// How many deviations Pearson's statistic of the bytes lies from its mean, 255.
    fn chi_square(words: &[u64]) -> f64 {
        let mut counts = [0_u64; 256];
        words.iter().flat_map(|word| word.to_le_bytes()).for_each(|byte| counts[usize::from(byte)] += 1);
        let expected = words.len() as f64 * 8.0 / 256.0;
        let statistic: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
        (statistic - 255.0) / 510.0_f64.sqrt()
    }

    /// How many deviations the number of equal bits lies from half, for the worst of the 64 places.
    fn worst_bit(a: &[u64], b: &[u64]) -> f64 {
        let deviation = (a.len() as f64).sqrt() / 2.0;
        (0..64)
            .map(|bit| {
                let equal = a.iter().zip(b).filter(|(a, b)| (*a ^ *b) >> bit & 1 == 0).count();
                ((equal as f64 - a.len() as f64 / 2.0) / deviation).abs()
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn the_shares_at_all_nodes_but_one_are_uniform_and_independent_of_the_vector() {
        // Four nodes; node 0 gets the vector, nodes 1 to 3 seeds. The vector is as far from uniform as can be.
        let (session, seeds, value) = (session(), seeds(3), 12_345);
        let masks: Vec<Vec<u64>> = (1..).zip(&seeds).map(|(node, seed)| mask(&session, seed, 8, node, WORDS)).collect();
        let mut vector = vec![value; WORDS];
        let all = (1..).zip(&seeds).map(|(node, seed)| Mask { client: 8, node, seed });
        Masks::new(Nonce::of(&session)).subtract(all, &mut vector);
        let shares = [&vector, &masks[0], &masks[1], &masks[2]];
        for (i, a) in shares.iter().enumerate() {
            assert!(chi_square(a).abs() < 6.0, "share {i}");
            for (j, b) in shares.iter().enumerate().skip(i + 1) {
                assert!(worst_bit(a, b) < 6.0, "shares {i} and {j}");
            }
        }
        // Without node 3: what the three others have adds up to a uniform vector. With it: to the value.
        let sum = |shares: &[&Vec<u64>]| -> Vec<u64> {
            (0..WORDS).map(|i| shares.iter().fold(0_u64, |sum, share| sum.wrapping_add(share[i]))).collect()
        };
        assert!(chi_square(&sum(&shares[..3])).abs() < 6.0);
        assert_eq!(sum(&shares), vec![value; WORDS]);
        // The check itself can fail: a mask of 63 bits, and one that repeats another's bit.
        assert!(chi_square(&masks[0].iter().map(|word| word >> 1).collect::<Vec<_>>()) > 6.0);
        assert!(worst_bit(&masks[0], &masks[0].iter().map(|word| word ^ 6).collect::<Vec<_>>()) > 6.0);
    }

    #[test]
    fn a_seed_that_is_replayed_anywhere_else_expands_to_other_words() {
        let (here, seed) = (session(), &seeds(1)[0]);
        let original = mask(&here, seed, 1, 2, 3);
        let elsewhere = [
            mask(&SumSession { run: [9; 16], ..here }, seed, 1, 2, 3),
            mask(&SumSession { round: 9, ..here }, seed, 1, 2, 3),
            mask(&SumSession { attempt: 9, ..here }, seed, 1, 2, 3),
            mask(&SumSession { manifest: [9; 32], ..here }, seed, 1, 2, 3),
            mask(&here, seed, 2, 2, 3),
            mask(&here, seed, 1, 1, 3),
        ];
        for other in elsewhere {
            assert!(original.iter().all(|word| !other.contains(word)));
        }
        assert_eq!(mask(&here, seed, 1, 2, 3), original);
    }

    #[test]
    fn masks_are_the_same_in_any_company_and_for_any_length() {
        let (session, seeds) = (session(), seeds(19));
        let long: Vec<Vec<u64>> = (0..).zip(&seeds).map(|(c, seed)| mask(&session, seed, c, 0, 1000)).collect();
        for (count, words) in [(1, 1), (2, 2), (3, 127), (8, 128), (9, 257), (19, 1000)] {
            let mut into = vec![7; words];
            let some = (0..).zip(&seeds[..count]).map(|(client, seed)| Mask { client, node: 0, seed });
            Masks::new(Nonce::of(&session)).add(some, &mut into);
            let expected = |i: usize| long[..count].iter().fold(7_u64, |sum, mask| sum.wrapping_add(mask[i]));
            assert!(into.iter().enumerate().all(|(i, word)| *word == expected(i)), "{count} masks, {words} words");
        }
    }

    /// By whichever instructions the machine has: the example of FIPS 197, appendix B.
    #[test]
    fn the_cipher_is_aes_128() {
        use aes::cipher::BlockCipherEncrypt;
        let number = |text: &str| u128::from_str_radix(text, 16).unwrap().to_be_bytes();
        let mut block = Array(number("3243f6a8885a308d313198a2e0370734"));
        Aes128Enc::new(&Array(number("2b7e151628aed2a6abf7158809cf4f3c"))).encrypt_block(&mut block);
        assert_eq!(block.0, number("3925841d02dc09fbdc118597196a0b32"));
    }

    #[test]
    fn a_mask_is_aes_in_counter_mode_as_others_know_it() {
        use aes::cipher::BlockCipherEncrypt;
        let (session, seed) = (session(), &seeds(1)[0]);
        let words = mask(&session, seed, 0x0102, 3, 4);
        let cipher = Aes128Enc::new(&Array(seed.0));
        for (counter, pair) in (0_u32..).zip(words.chunks(2)) {
            let mut block = [0_u8; 16];
            block[..12].copy_from_slice(&session.digest()[..12]);
            block[0] ^= 0x02;
            block[1] ^= 0x01;
            block[8] ^= 3;
            block[12..].copy_from_slice(&counter.to_be_bytes());
            let mut block = Array(block);
            cipher.encrypt_block(&mut block);
            let bytes: Vec<u8> = pair.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(bytes, block.0);
        }
    }
}
