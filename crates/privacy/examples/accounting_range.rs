//! `cargo run --release -p posterity-privacy --example accounting_range -- 2000 [SEED]`: random plans over the whole range.
//!
//! Prints how many were certified and refused, the widest interval and the memory used; fails on a contradiction.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // an example prints and looks at the clock

#[path = "../tests/common/range.rs"]
mod range;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>().unwrap_or(0));
    let (count, seed) = (numbers.next().unwrap_or(2000), numbers.next().unwrap_or(42));
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut tally = range::RangeTally::default();
    for _ in 0..count {
        tally.ask(&range::draw(&mut rng));
    }
    let megabytes = range::peak_megabytes().map_or("unknown".into(), |m| m.to_string());
    println!("{count} plans, seed {seed}: {} certified, {} refused", tally.certified, tally.refused.len());
    println!("widest interval {:.1e} ({}), peak memory {megabytes} MB", tally.widest, tally.widest_at);
    tally.refused.iter().for_each(|refusal| println!("refused: {refusal}"));
    tally.contradictions.iter().for_each(|found| println!("CONTRADICTION: {found}"));
    if tally.contradictions.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
