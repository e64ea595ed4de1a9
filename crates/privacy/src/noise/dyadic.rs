//! A finite positive f64 as the dyadic rational that it is.
//!
//! A parameter arrives as f64. Samplers take it at its word: an odd integer times a power of two, with which they compute exactly.

/// mantissa · 2^exponent, exactly, with an odd mantissa below 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dyadic {
    pub(super) mantissa: u64,
    pub(super) exponent: i32,
}

impl Dyadic {
    /// The exact value of a finite number over 0.
    pub(super) fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        let zeros = mantissa.trailing_zeros();
        Self { mantissa: mantissa >> zeros, exponent: exponent + zeros as i32 }
    }

    /// (t, s) with value = t / s, for values whose terms both fit: 2^−74 ≤ value < 2^127 suffices.
    pub(super) fn ratio(self) -> (u128, u128) {
        let mantissa = u128::from(self.mantissa);
        if self.exponent >= 0 { (mantissa << self.exponent, 1) } else { (mantissa, 1 << -self.exponent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_its_mantissa_times_a_power_of_two() {
        for value in [1.0, 0.1, 3.0, 300.0, 1e-310, f64::MIN_POSITIVE, 2_f64.powi(40), 1e300] {
            let Dyadic { mantissa, exponent } = Dyadic::of(value);
            assert!(mantissa % 2 == 1 && mantissa < 1 << 53);
            // Two steps, so that the power of two is a normal number.
            let half = exponent / 2;
            assert_eq!(mantissa as f64 * 2_f64.powi(half) * 2_f64.powi(exponent - half), value);
        }
        assert_eq!(Dyadic::of(0.75).ratio(), (3, 4));
        assert_eq!(Dyadic::of(12.0).ratio(), (12, 1));
    }
}
