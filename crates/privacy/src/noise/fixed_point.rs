//! The exponential function on big integers, with a proved error.
//!
//! Comparisons with e^{−x²/2} are made to as many bits as they take. The error of truncated arithmetic is counted, unit by unit, in
//! the comment above the function.

use num_bigint::BigUint;

/// Guard bits beyond those that the squarings consume.
const GUARD: u64 = 32;

/// Encloses e^(−z) for z = numerator / 2^scale: returns (lower, upper) in units of 2^−bits, at most 3 units apart.
///
/// e^(−z) = (e^(−z/2^m))^(2^m) with m so large that z/2^m < 2^−16; the inner factor by its alternating Taylor series.
/// All arithmetic is truncated at W = bits + m + 32 bits. Errors in units of 2^−W: the argument is off by less than
/// 1, hence a term by e_k ≤ 2^−16·e_(k−1) + 2 ≤ 3; the series stops at a term that truncates to zero, so what is left
/// out is below 3; K terms give E ≤ 3(K + 1). A squaring takes E to at most 2E + 2, m squarings to (E + 2)·2^m.
pub(super) fn exp_neg(numerator: &BigUint, scale: u64, bits: u64) -> (BigUint, BigUint) {
    let halvings = (numerator.bits() + 16).saturating_sub(scale);
    let width = bits + halvings + GUARD;
    let argument = shifted(numerator, width, scale + halvings);
    let (mut value, terms) = taylor(&argument, width);
    for _ in 0..halvings {
        value = (&value * &value) >> width;
    }
    let error = BigUint::from(3 * (terms + 1) + 2) << halvings;
    let drop = halvings + GUARD;
    let lower = if value > error { (&value - &error) >> drop } else { BigUint::ZERO };
    (lower, ((value + error) >> drop) + 1_u32)
}

/// The alternating series of e^(−argument / 2^width), in units of 2^−width, and how many terms it took.
fn taylor(argument: &BigUint, width: u64) -> (BigUint, u64) {
    let mut term = BigUint::from(1_u32) << width;
    let (mut plus, mut minus) = (term.clone(), BigUint::ZERO);
    let mut order = 0_u64;
    while term != BigUint::ZERO {
        order += 1;
        term = ((&term * argument) >> width) / order;
        if order % 2 == 1 {
            minus += &term;
        } else {
            plus += &term;
        }
    }
    (plus - minus, order)
}

/// ⌊x · 2^(up − down)⌋.
fn shifted(x: &BigUint, up: u64, down: u64) -> BigUint {
    if up >= down { x << (up - down) } else { x >> (down - up) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ⌊e^(−z)·10^50⌋ from a 90-digit decimal computation.
    const KNOWN: [(u32, u64, &str); 5] = [
        (1, 0, "36787944117144232159552377016146086744581113103176"),
        (1, 1, "60653065971263342360379953499118045344191813548718"),
        (53, 3, "132678043102699148099756248609429070995086022626"),
        (92, 0, "11089390193"),
        (1, 40, "99999999999909050529822748535239123732595137161666"),
    ];

    #[test]
    fn the_exponential_encloses_known_digits() {
        let ten = BigUint::from(10_u32).pow(50);
        for (numerator, scale, digits) in KNOWN {
            let (lower, upper) = exp_neg(&BigUint::from(numerator), scale, 400);
            assert!(&upper - &lower <= BigUint::from(3_u32));
            let known: BigUint = digits.parse().unwrap();
            assert_eq!((&lower * &ten) >> 400, known, "e^-{numerator}/2^{scale}");
            assert_eq!((&upper * &ten) >> 400, known);
        }
    }

    #[test]
    fn zero_is_enclosed() {
        let one = BigUint::from(1_u32) << 64;
        let (lower, upper) = exp_neg(&BigUint::ZERO, 0, 64);
        assert!(lower <= one && one <= upper);
    }
}
