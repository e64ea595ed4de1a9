//! Outward-rounded interval arithmetic for closed forms.
//!
//! Every operation encloses the exact result. Elementary functions come from the `libm` crate and are assumed to be
//! within `ULPS` = 4 units in the last place; `tests/special.rs` checks that assumption against references of 60 digits.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Assumed error of an elementary function, in units in the last place, with room to spare.
pub(crate) const ULPS: u32 = 4;

/// A closed interval of reals that contains the exact value.
///
/// # Examples
///
/// ```
/// use privacy::accounting::Interval;
///
/// let third = Interval::exact(1.0) / Interval::exact(3.0);
/// assert!(third.lo < third.hi && third.hi - third.lo < 1e-15);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Not above the true value.
    pub lo: f64,
    /// Not below the true value.
    pub hi: f64,
}

/// The next float below: one rounding step outwards.
fn down(x: f64) -> f64 {
    x.next_down()
}

/// The next float above: one rounding step outwards.
fn up(x: f64) -> f64 {
    x.next_up()
}

/// a + b, rounded up. What rounding to the nearest lost is known exactly (Knuth's two-sum): where it lost something, the next
/// number is taken. So four times 0.25 is exactly 1.
///
/// # Examples
///
/// ```
/// use privacy::accounting::add_up;
///
/// assert_eq!(add_up(0.75, 0.25), 1.0);
/// assert!(add_up(1.0, 1e-30) > 1.0);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub fn add_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let of_b = sum - a;
    let lost = (a - (sum - of_b)) + (b - of_b);
    if lost > 0.0 { sum.next_up() } else { sum }
}

impl Interval {
    /// The interval of one floating-point number, which is taken as it is.
    pub fn exact(x: f64) -> Self {
        Self { lo: x, hi: x }
    }

    /// Both ends, in order.
    pub fn new(lo: f64, hi: f64) -> Self {
        Self { lo, hi }
    }

    /// An increasing elementary function at both ends, widened by its assumed error.
    fn increasing(self, f: fn(f64) -> f64) -> Self {
        let (mut lo, mut hi) = (f(self.lo), f(self.hi));
        for _ in 0..ULPS {
            (lo, hi) = (down(lo), up(hi));
        }
        Self::outward(lo, hi)
    }

    /// e^x, widened by the stated error of `libm::exp`.
    pub fn exp(self) -> Self {
        let wide = self.increasing(libm::exp);
        Self { lo: wide.lo.max(0.0), hi: wide.hi }
    }

    /// e^x − 1, without the cancellation near 0.
    pub fn exp_m1(self) -> Self {
        let wide = self.increasing(libm::expm1);
        Self { lo: wide.lo.max(-1.0), hi: wide.hi }
    }

    /// log x; −∞ where x may be 0 or less.
    pub fn ln(self) -> Self {
        self.increasing(|x| if x > 0.0 { libm::log(x) } else { f64::NEG_INFINITY })
    }

    /// log(1 + x); −∞ where x may be −1 or less.
    pub fn ln_1p(self) -> Self {
        self.increasing(|x| if x > -1.0 { libm::log1p(x) } else { f64::NEG_INFINITY })
    }

    /// An end that is not a number says nothing: it becomes infinite.
    fn outward(lo: f64, hi: f64) -> Self {
        Self { lo: if lo.is_nan() { f64::NEG_INFINITY } else { lo }, hi: if hi.is_nan() { f64::INFINITY } else { hi } }
    }

    /// √x; the lower end of a negative interval is 0.
    pub fn sqrt(self) -> Self {
        Self { lo: down(self.lo.max(0.0).sqrt()).max(0.0), hi: up(self.hi.max(0.0).sqrt()) }
    }

    /// The complementary error function, widened by the stated error of `libm::erfc`.
    pub fn erfc(self) -> Self {
        let wide = (-self).increasing(|x| libm::erfc(-x));
        Self { lo: wide.lo.max(0.0), hi: wide.hi.min(2.0) }
    }

    /// Standard normal distribution function Φ.
    pub fn phi(self) -> Self {
        (-self * Self::sqrt_half()).erfc() * Self::exact(0.5)
    }

    /// √½, enclosed: Φ(x) = ½ erfc(−x√½).
    fn sqrt_half() -> Self {
        let x = std::f64::consts::FRAC_1_SQRT_2;
        Self { lo: down(x), hi: up(x) }
    }

    /// The intersection with values that are not negative.
    pub fn clamp_positive(self) -> Self {
        Self { lo: self.lo.max(0.0), hi: self.hi.max(0.0) }
    }
}

impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self { lo: -self.hi, hi: -self.lo }
    }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self::outward(down(self.lo + o.lo), up(self.hi + o.hi))
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self + -o
    }
}

impl Mul for Interval {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        // 0 · ∞ is 0 here: the exact factors are finite, an infinite end only says that no bound is known.
        let times = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let all = [times(self.lo, o.lo), times(self.lo, o.hi), times(self.hi, o.lo), times(self.hi, o.hi)];
        if all.iter().any(|x| x.is_nan()) {
            return Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
        }
        let (lo, hi) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
        Self { lo: down(lo), hi: up(hi) }
    }
}

impl Div for Interval {
    type Output = Self;
    /// Division by an interval that contains zero is the whole line.
    fn div(self, o: Self) -> Self {
        if o.lo <= 0.0 && o.hi >= 0.0 {
            return Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
        }
        self * Self { lo: down(1.0 / o.hi), hi: up(1.0 / o.lo) }
    }
}
