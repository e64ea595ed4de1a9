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

/// AES blocks that are expanded at a time: they stay in the innermost cache.
const BLOCKS: usize = 128;

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

/// Expands the seeds of one session.
///
/// mask = AES-128-CTR under the seed, from the nonce H(session)₁₂ ⊕ (client ‖ node), as little-endian words.
/// The block function is a pseudo-random function of its input, and no two inputs of one session are equal: 96 bits
/// name client and node, 32 count blocks. A seed that is replayed for another client, node, attempt, round, run or
/// manifest therefore expands to other words (for another session, unless 96 bits of SHA-256 collide).
pub(super) struct Masks {
    nonce: [u8; 12],
    blocks: [aes::Block; BLOCKS],
}

impl Masks {
    pub(super) fn of(session: &Session) -> Self {
        let mut nonce = [0; 12];
        nonce.copy_from_slice(&session.digest()[..12]);
        Self { nonce, blocks: [aes::Block::default(); BLOCKS] }
    }

    /// into + mask, modulo 2^64.
    pub(super) fn add(&mut self, seed: &Seed, client: u64, node: u32, into: &mut [u64]) {
        self.expand(seed, client, node, into, u64::wrapping_add);
    }

    /// into − mask, modulo 2^64.
    pub(super) fn subtract(&mut self, seed: &Seed, client: u64, node: u32, into: &mut [u64]) {
        self.expand(seed, client, node, into, u64::wrapping_sub);
    }

    #[inline]
    fn expand(&mut self, seed: &Seed, client: u64, node: u32, into: &mut [u64], join: impl Fn(u64, u64) -> u64) {
        let mut start = [0_u8; 16];
        start[..8].copy_from_slice(&client.to_le_bytes());
        start[8..12].copy_from_slice(&node.to_le_bytes());
        start.iter_mut().zip(self.nonce).for_each(|(s, n)| *s ^= n);
        let cipher = Aes128Enc::new(&Array(seed.0));
        let mut stream = CtrCore::<_, Ctr32BE>::inner_iv_init(cipher, &Array(start));
        for part in into.chunks_mut(2 * BLOCKS) {
            let blocks = &mut self.blocks[..part.len().div_ceil(2)];
            stream.write_keystream_blocks(blocks);
            for (pair, block) in part.chunks_mut(2).zip(blocks) {
                let (words, _) = block.as_chunks::<8>();
                pair.iter_mut().zip(words).for_each(|(into, word)| *into = join(*into, u64::from_le_bytes(*word)));
            }
        }
    }
}

impl Drop for Masks {
    fn drop(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.0.zeroize());
    }
}
