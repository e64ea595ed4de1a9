//! Masks: sixteen fresh bytes that a client and a node expand to the same uniform words.

use super::Session;
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
const BLOCKS: usize = 256;

/// The widest ciphers take so many blocks at once, and fewer one by one: to expand some more is faster.
const AT_ONCE: usize = 64;

/// Masks that are expanded side by side, so that a long vector is walked through once for all of them.
const SIDE_BY_SIDE: usize = 8;

/// The key of one mask. Wiped when dropped, and not printed.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Seed([u8; 16]);

impl Seed {
    /// A fresh seed.
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
    pub(super) fn of(session: &Session) -> Self {
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
    blocks: [aes::Block; BLOCKS],
    streams: Vec<Stream>,
}

impl Masks {
    pub(super) fn new(nonce: Nonce) -> Self {
        Self { nonce, blocks: [aes::Block::default(); BLOCKS], streams: Vec::with_capacity(SIDE_BY_SIDE) }
    }

    /// into + Σ masks, modulo 2^64.
    pub(super) fn add<'a>(&mut self, masks: impl Iterator<Item = Mask<'a>>, into: &mut [u64]) {
        self.expand(masks, into, u64::wrapping_add);
    }

    /// into − Σ masks, modulo 2^64.
    pub(super) fn subtract<'a>(&mut self, masks: impl Iterator<Item = Mask<'a>>, into: &mut [u64]) {
        self.expand(masks, into, u64::wrapping_sub);
    }

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
                let blocks = &mut self.blocks[..part.len().div_ceil(2).next_multiple_of(AT_ONCE)];
                for stream in &mut self.streams {
                    stream.write_keystream_blocks(blocks);
                    join_words(part, blocks, &join);
                }
            }
        }
    }
}

/// Joins words with blocks of two words each.
#[inline(always)]
fn join_words(part: &mut [u64], blocks: &[aes::Block], join: &impl Fn(u64, u64) -> u64) {
    let words = |block: &aes::Block| {
        let both = u128::from_le_bytes(block.0);
        [both as u64, (both >> 64) as u64]
    };
    let (pairs, last) = part.as_chunks_mut::<2>();
    for (pair, block) in pairs.iter_mut().zip(blocks) {
        let [low, high] = words(block);
        *pair = [join(pair[0], low), join(pair[1], high)];
    }
    if let (Some(word), Some(block)) = (last.first_mut(), blocks.get(pairs.len())) {
        *word = join(*word, words(block)[0]);
    }
}

impl Drop for Masks {
    /// Everything that depends on a seed is overwritten by what the zero key gives. (The ciphers' own wiping, byte by
    /// byte at every change of key, takes longer than to expand a hundred words.)
    fn drop(&mut self) {
        let public = Mask { client: 0, node: 0, seed: &Seed::default() };
        self.streams.clear();
        self.streams.extend((0..SIDE_BY_SIDE).map(|_| public.stream(self.nonce)));
        if let Some(stream) = self.streams.first_mut() {
            stream.write_keystream_blocks(&mut self.blocks);
        }
        std::hint::black_box((&self.streams, &self.blocks));
    }
}
