//! Floats as the integers that they are in units of 2^−1200: tests of roundings compare without rounding.

use num_bigint::BigUint;

/// One, in units of 2^−1200, as a shift.
pub(crate) const ONE: u32 = 1200;

/// x·2^1200 of a finite number that is not negative, exactly.
pub(crate) fn fixed(x: f64) -> BigUint {
    let (fraction, exponent) = libm::frexp(x);
    BigUint::from(libm::scalbn(fraction, 53) as u64) << (exponent + ONE.cast_signed() - 53).unsigned_abs()
}

#[test]
fn a_float_is_an_integer_of_small_units() {
    assert_eq!(fixed(0.0), BigUint::ZERO);
    assert_eq!(fixed(1.0), BigUint::from(1_u32) << ONE);
    assert_eq!(fixed(0.375), BigUint::from(3_u32) << (ONE - 3));
    assert_eq!(fixed(f64::from_bits(1)), BigUint::from(1_u32) << (ONE - 1074));
    assert!(fixed(0.1_f64.next_up()) > fixed(0.1));
}
