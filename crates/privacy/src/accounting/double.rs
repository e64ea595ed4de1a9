//! Numbers of about 106 bits, against which tests hold floating point.

/// A number as the sum of two, the second at most half a unit in the last place of the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Double(pub(crate) f64, pub(crate) f64);

/// ln 2 to 106 bits.
const LN_2: Double = Double(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

/// 2π to 106 bits.
pub(crate) const TAU: Double = Double(std::f64::consts::TAU, 2.449_293_598_294_706_4e-16);

impl Double {
    /// A float, which is exact.
    pub(crate) fn of(x: f64) -> Self {
        Self(x, 0.0)
    }

    /// The sum, with the rounding error of the leading part kept.
    pub(crate) fn plus(self, o: Self) -> Self {
        let sum = self.0 + o.0;
        let part = sum - self.0;
        let error = (self.0 - (sum - part)) + (o.0 - part) + self.1 + o.1;
        let high = sum + error;
        Self(high, error - (high - sum))
    }

    /// The difference, as the sum with the negative.
    pub(crate) fn minus(self, o: Self) -> Self {
        self.plus(Self(-o.0, -o.1))
    }

    /// The product, with its rounding error by a fused multiplication.
    pub(crate) fn times(self, o: Self) -> Self {
        let product = self.0 * o.0;
        let error = self.0.mul_add(o.0, -product) + self.0 * o.1 + self.1 * o.0;
        let high = product + error;
        Self(high, error - (high - product))
    }

    /// Quotient, by two digits of the quotient and what is left over.
    pub(crate) fn over(self, o: Self) -> Self {
        let first = self.0 / o.0;
        let rest = self.minus(o.times(Self::of(first)));
        let second = rest.0 / o.0;
        let rest = rest.minus(o.times(Self::of(second)));
        Self::of(first).plus(Self::of(second)).plus(Self::of(rest.0 / o.0))
    }

    /// e^x for |x| < 700: 2^k times the 512th power of a short series.
    pub(crate) fn exp(self) -> Self {
        let k = (self.0 / LN_2.0).round();
        let rest = self.minus(LN_2.times(Self::of(k)));
        let small = Self(rest.0 / 512.0, rest.1 / 512.0);
        let (mut term, mut sum) = (small, small);
        for i in 2..12 {
            term = term.times(small).over(Self::of(f64::from(i)));
            sum = sum.plus(term);
        }
        // (1 + s)² − 1 = 2s + s², which keeps the digits of s.
        for _ in 0..9 {
            sum = Self(2.0 * sum.0, 2.0 * sum.1).plus(sum.times(sum));
        }
        let value = sum.plus(Self::of(1.0));
        let power = libm::scalbn(1.0, k as i32);
        Self(value.0 * power, value.1 * power)
    }

    /// log x for x > 0: two steps of Newton's method.
    pub(crate) fn ln(self) -> Self {
        let mut y = Self::of(libm::log(self.0));
        for _ in 0..2 {
            let negative = Self(-y.0, -y.1);
            y = y.plus(self.times(negative.exp()).minus(Self::of(1.0)));
        }
        y
    }

    /// cos x and sin x for |x| ≤ 4, by their power series.
    pub(crate) fn cos_sin(self) -> (Self, Self) {
        let (mut cos, mut sin, mut term) = (Self::of(1.0), Self::of(0.0), Self::of(1.0));
        for i in 1..60 {
            term = term.times(self).over(Self::of(f64::from(i)));
            let signed = if i % 4 >= 2 { Self(-term.0, -term.1) } else { term };
            if i % 2 == 0 {
                cos = cos.plus(signed);
            } else {
                sin = sin.plus(signed);
            }
        }
        (cos, sin)
    }

    /// x − this, for an x that is close to it.
    pub(crate) fn off(self, x: f64) -> f64 {
        let difference = Self::of(x).minus(self);
        difference.0 + difference.1
    }
}

#[test]
fn functions_have_about_106_bits() {
    // By mpmath at 60 digits.
    let close = |x: Double, high: f64, low: f64| x.off(high) + low;
    let e = Double::of(1.0).exp();
    assert!(close(e, std::f64::consts::E, 1.445_646_891_729_250_2e-16).abs() < 1e-30);
    assert!((e.ln().off(1.0)).abs() < 1e-30);
    let third = Double::of(1.0).over(Double::of(3.0));
    assert!(third.times(Double::of(3.0)).off(1.0).abs() < 1e-31);
    let (cos, sin) = Double(TAU.0 / 4.0, TAU.1 / 4.0).cos_sin();
    assert!(cos.0.abs() < 1e-30 && sin.off(1.0).abs() < 1e-30);
    let far = Double::of(-300.25).exp().ln();
    assert!(far.off(-300.25).abs() < 1e-27);
}
