//! Where random bits for noise come from: a keyed stream per release attempt.
//!
//! Two releases must never share noise: their difference would be free of it. Every attempt at a release therefore has a key of its
//! own, derived from everything that names the attempt. An agent's key also has fresh bytes of the operating system in it; a
//! simulation's key has a seed instead, and its noise protects nobody.

use crate::PrivacyError;
use chacha20::ChaCha20Rng;
use hkdf::Hkdf;
use rand_core::{Infallible, Rng, SeedableRng, TryCryptoRng, TryRng};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

/// A SHA-256 digest: of ledger records, questions, terms and data versions.
pub type Digest = [u8; 32];

/// What a noise key is bound to, so that two different releases never share one.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, NoiseSource, Seeded};
/// use rand_core::Rng;
///
/// let mut source = Seeded::new(1);
/// let first = NoiseContext { round: 1, ..NoiseContext::default() };
/// let second = NoiseContext { round: 2, ..first };
/// assert_ne!(source.stream(&first)?.next_u64(), source.stream(&second)?.next_u64());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NoiseContext {
    /// The run. Noise of one run is independent of that of any other, even under one site secret.
    pub run: [u8; 16],
    /// The site within the run: its number among the clients.
    pub site: u64,
    /// The round within the run, counted by the coordinator.
    pub round: u64,
    /// The attempt within the round.
    pub attempt: u64,
    /// Digest of the question that is answered.
    pub query: Digest,
    /// Digest of the last record of the site's ledger.
    pub ledger_head: Digest,
    /// Digest of the site's data as they are now.
    pub data_version: Digest,
}

impl NoiseContext {
    /// Fixed-width bytes: different contexts never collide.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(136);
        bytes.extend(self.run);
        for word in [self.site, self.round, self.attempt] {
            bytes.extend(word.to_le_bytes());
        }
        for digest in [self.query, self.ledger_head, self.data_version] {
            bytes.extend(digest);
        }
        bytes
    }
}

/// A ChaCha20 stream under a fresh key. The key and the state are wiped when it is dropped.
///
/// There is no way to copy, print, save or restore one: a stream that ran twice would repeat its noise.
pub struct NoiseStream(ChaCha20Rng);

impl NoiseStream {
    /// A stream of its own, for draws whose number depends on private rows: this one moves on by 32 bytes always.
    pub(crate) fn branch(&mut self) -> Self {
        let mut key = Zeroizing::new([0_u8; 32]);
        self.fill_bytes(key.as_mut());
        Self(ChaCha20Rng::from_seed(*key))
    }
}

impl TryRng for NoiseStream {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }
    fn try_fill_bytes(&mut self, into: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(into)
    }
}

impl TryCryptoRng for NoiseStream {}

/// Gives each release attempt a stream of its own.
pub trait NoiseSource {
    /// A stream under a key that is bound to the context.
    fn stream(&mut self, context: &NoiseContext) -> Result<NoiseStream, PrivacyError>;
}

/// Keys from the operating system, hedged with a site secret and the context. The only source that an agent takes.
///
/// key = HKDF-SHA256(salt: 32 fresh bytes of the operating system, secret: the site's, info: the context). If the
/// operating system repeats itself (a cloned machine), another context still gives other noise.
pub struct OsKeyed {
    secret: Zeroizing<[u8; 32]>,
    #[cfg(feature = "rehearsal")]
    rehearsed: Option<Seeded>,
}

impl OsKeyed {
    /// A source for the site that holds this secret.
    pub fn new(site_secret: [u8; 32]) -> Self {
        Self {
            secret: Zeroizing::new(site_secret),
            #[cfg(feature = "rehearsal")]
            rehearsed: None,
        }
    }

    /// A stream under a key from fresh bytes, the site's secret and the context.
    fn keyed(&self, fresh: &[u8; 32], context: &NoiseContext) -> Result<NoiseStream, PrivacyError> {
        derive(fresh, self.secret.as_ref(), context)
    }

    /// The noise of a simulation in the place of the system's, so that a test can hold a whole federation against one. It
    /// exists in test builds only: with optimisation and no debug assertions, this feature does not compile.
    #[cfg(feature = "rehearsal")]
    pub fn rehearsing(seed: u64) -> Self {
        Self { secret: Zeroizing::default(), rehearsed: Some(Seeded::new(seed)) }
    }
}

#[cfg(all(feature = "rehearsal", not(debug_assertions)))]
compile_error!("seeded noise in an agent is for test builds: the feature `rehearsal` needs debug assertions");

impl NoiseSource for OsKeyed {
    #[allow(clippy::disallowed_methods)] // the one place that asks the operating system
    fn stream(&mut self, context: &NoiseContext) -> Result<NoiseStream, PrivacyError> {
        #[cfg(feature = "rehearsal")]
        if let Some(seeded) = &mut self.rehearsed {
            // A simulation deals its data itself and knows no versions of them.
            return seeded.stream(&NoiseContext { data_version: Digest::default(), ..*context });
        }
        let mut fresh = Zeroizing::new([0_u8; 32]);
        getrandom::fill(fresh.as_mut()).map_err(|_| PrivacyError::Randomness)?;
        self.keyed(&fresh, context)
    }
}

/// Keys from a number: for simulations and tests, where a run must be repeatable. An agent's gate cannot take it.
pub struct Seeded {
    seed: u64,
}

impl Seeded {
    /// A source that gives the same stream for the same seed and context, always.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }
}

impl NoiseSource for Seeded {
    fn stream(&mut self, context: &NoiseContext) -> Result<NoiseStream, PrivacyError> {
        derive(b"seeded", &self.seed.to_le_bytes(), context)
    }
}

/// HKDF-SHA256 with fixed-width context bytes as info, expanded to one ChaCha20 key.
fn derive(salt: &[u8], secret: &[u8], context: &NoiseContext) -> Result<NoiseStream, PrivacyError> {
    let mut key = Zeroizing::new([0_u8; 32]);
    Hkdf::<Sha256>::new(Some(salt), secret)
        .expand(&context.bytes(), key.as_mut())
        .map_err(|_| PrivacyError::Randomness)?;
    Ok(NoiseStream(ChaCha20Rng::from_seed(*key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(source: &mut dyn NoiseSource, context: &NoiseContext) -> u64 {
        source.stream(context).unwrap().next_u64()
    }

    #[test]
    fn every_field_of_the_context_changes_the_key() {
        let base = NoiseContext::default();
        let contexts = [
            base,
            NoiseContext { run: [1; 16], ..base },
            NoiseContext { site: 1, ..base },
            NoiseContext { round: 1, ..base },
            NoiseContext { attempt: 1, ..base },
            NoiseContext { query: [1; 32], ..base },
            NoiseContext { ledger_head: [1; 32], ..base },
            NoiseContext { data_version: [1; 32], ..base },
        ];
        // The same salt and secret: a cloned machine whose operating system repeats itself.
        let words: Vec<u64> = contexts.iter().map(|c| derive(&[9; 32], &[3; 32], c).unwrap().next_u64()).collect();
        for (i, a) in words.iter().enumerate() {
            assert!(words[i + 1..].iter().all(|b| a != b), "context {i} shares its key");
        }
    }

    #[test]
    fn the_operating_system_never_gives_the_same_stream_twice() {
        let context = NoiseContext::default();
        let mut source = OsKeyed::new([5; 32]);
        assert_ne!(first(&mut source, &context), first(&mut source, &context));
    }

    /// Two sites whose operating systems give the same bytes, as copies of one machine image may.
    #[test]
    fn sites_of_different_secrets_share_no_stream() {
        let first = |secret| OsKeyed::new([secret; 32]).keyed(&[9; 32], &NoiseContext::default()).unwrap().next_u64();
        assert_ne!(first(1), first(2));
        assert_eq!(first(1), first(1));
    }

    /// By whichever instructions the machine has: RFC 8439, appendix A.1, test vectors 1 and 2.
    #[test]
    fn the_generator_is_chacha20() {
        let mut bytes = [0; 80];
        ChaCha20Rng::from_seed([0; 32]).fill_bytes(&mut bytes);
        let first = u128::from_str_radix("76b8e0ada0f13d90405d6ae55386bd28", 16).unwrap();
        let second = u128::from_str_radix("9f07e7be5551387a98ba977c732d080d", 16).unwrap();
        assert_eq!((&bytes[..16], &bytes[64..]), (&first.to_be_bytes()[..], &second.to_be_bytes()[..]));
    }

    #[test]
    fn a_seed_repeats_itself() {
        let context = NoiseContext { round: 4, ..NoiseContext::default() };
        assert_eq!(first(&mut Seeded::new(1), &context), first(&mut Seeded::new(1), &context));
        assert_ne!(first(&mut Seeded::new(1), &context), first(&mut Seeded::new(2), &context));
    }
}
