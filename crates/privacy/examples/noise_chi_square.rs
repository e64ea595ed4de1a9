//! Pearson's statistic of many rounded Gaussians: `cargo run --release -p posterity-privacy --example noise_chi_square -- 100000000`.
//!
//! Fails if a statistic lies more than six deviations from its mean.
#![allow(clippy::disallowed_macros, dead_code, missing_docs)]

#[path = "../tests/common/rounded_gaussian.rs"]
mod rounded_gaussian;
#[path = "../tests/common/statistics.rs"]
mod statistics;

use statistics::{ChiSquare, LIMIT};
use std::process::ExitCode;

fn report(name: &str, s: f64, result: ChiSquare) -> bool {
    let z = result.z();
    println!("{s:>12} {name:<8} chi2 {:>9.1}  df {:>4}  z {z:>+6.2}", result.statistic, result.degrees);
    z.abs() < LIMIT
}

fn main() -> ExitCode {
    let draws = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    println!("{draws} draws for each deviation");
    let mut good = true;
    for (seed, s) in rounded_gaussian::DEVIATIONS.into_iter().enumerate() {
        let (values, bits) = rounded_gaussian::judge(s, draws, seed as u8 + 100);
        good &= report("values", s, values);
        good &= bits.is_none_or(|bits| report("low bits", s, bits));
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
