//! Where the noise of an agent or a node comes from: the operating system, and in test builds a seed if there is one.

use privacy::noise::OsKeyed;

/// The source of the noise of a party with this secret.
pub(super) fn noise(secret: &[u8; 32]) -> OsKeyed {
    #[cfg(feature = "rehearsal")]
    if let Some(seed) = std::env::var("POSTERITY_REHEARSAL").ok().and_then(|seed| seed.parse().ok()) {
        return OsKeyed::rehearsing(seed);
    }
    OsKeyed::new(*secret)
}
