//! The certified accountant over its whole range: intervals or typed refusals, and no contradiction.

#[path = "common/range.rs"]
mod range;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

#[test]
fn random_plans_are_answered_or_refused_without_contradiction() {
    let mut rng = ChaCha20Rng::from_seed([42; 32]);
    let mut tally = range::Tally::default();
    for _ in 0..60 {
        tally.ask(&range::draw(&mut rng));
    }
    assert!(tally.contradictions.is_empty(), "{:#?}", tally.contradictions);
    assert!(tally.certified >= 54, "{} certified, refused: {:#?}", tally.certified, tally.refused);
    assert!(range::peak_megabytes().is_none_or(|m| m < 256), "{:?} MB", range::peak_megabytes());
}
