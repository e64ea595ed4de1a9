//! Privacy parameters as types that cannot hold an invalid value, also not through serde.
//!
//! Each type has a private field and one constructor that checks the range; serde and the command line go through the same
//! constructor. Code that holds an [`Epsilon`] need not ask whether it is a number. Ranges are those for which the
//! arithmetic and the theorems of this crate are valid, not what would be wise to use.

use crate::PrivacyError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Defines a checked number: private field, one constructor, and `Deserialize` that goes through it.
macro_rules! checked {
    ($(#[$doc:meta])* $name:ident($inner:ty), $plain:literal, $expected:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name($inner);

        impl $name {
            #[doc = concat!("Checks the value: ", $expected, ".")]
            pub fn new(value: $inner) -> Result<Self, PrivacyError> {
                let valid: fn($inner) -> bool = $valid;
                if valid(value) {
                    Ok(Self(value))
                } else {
                    Err(PrivacyError::Parameter {
                        name: $plain,
                        found: value.to_string(),
                        expected: $expected,
                    })
                }
            }

            /// The plain number, which is known to be in its range.
            pub fn get(self) -> $inner {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = PrivacyError;
            fn try_from(value: f64) -> Result<Self, PrivacyError> {
                Self::new(from_f64::<$inner>(value).ok_or_else(|| PrivacyError::Parameter {
                    name: $plain,
                    found: value.to_string(),
                    expected: $expected,
                })?)
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.0 as f64
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0.shown())
            }
        }
    };
}

/// A number type that a JSON number may become without loss.
trait FromFloat: Sized {
    /// The number as this type, or none where it would be changed on the way.
    fn from_float(value: f64) -> Option<Self>;

    /// The shortest text that reads back as the number.
    fn shown(self) -> String;
}

impl FromFloat for f64 {
    fn from_float(value: f64) -> Option<f64> {
        Some(value)
    }

    fn shown(self) -> String {
        if self == 0.0 || (1e-3..1e7).contains(&self) { self.to_string() } else { format!("{self:e}") }
    }
}

impl FromFloat for u64 {
    fn from_float(value: f64) -> Option<u64> {
        // 2^53: above it a JSON number may have been rounded on its way here.
        ((0.0..=9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0).then_some(value as u64)
    }

    fn shown(self) -> String {
        self.to_string()
    }
}

/// The same for the type of the field that the macro defines.
fn from_f64<T: FromFloat>(value: f64) -> Option<T> {
    T::from_float(value)
}

checked! {
    /// ε of (ε, δ)-differential privacy: finite and not negative.
    ///
    /// For every event E and every pair of neighbouring data sets, P(E) ≤ e^ε P'(E) + δ. An answer without noise has no ε:
    /// it is the event [`crate::Mechanism::Open`], not an infinite number.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::Epsilon;
    ///
    /// assert_eq!(Epsilon::new(1.5)?.get(), 1.5);
    /// assert!(Epsilon::new(f64::INFINITY).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    Epsilon(f64), "epsilon", "a finite number, 0 or more", |x| x.is_finite() && x >= 0.0
}
checked! {
    /// δ of (ε, δ)-differential privacy: 0 ≤ δ < 1. Whether 0 has a meaning depends on the mechanism.
    ///
    /// Choose it well below one over the number of units: at δ = 1/n, publishing one row outright would satisfy the
    /// guarantee.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::Delta;
    ///
    /// assert_eq!(Delta::new(1e-5)?.to_string(), "1e-5");
    /// assert!(Delta::new(1.0).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    Delta(f64), "delta", "a number from 0 up to, not including, 1", |x| (0.0..1.0).contains(&x)
}
checked! {
    /// ρ of zero-concentrated differential privacy.
    ///
    /// Rényi divergences of every order α are at most ρα (Bun, Steinke 2016). ρ of several steps adds up.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::{Adjacency, Event, NoiseMultiplier, Steps, accounting::zcdp};
    ///
    /// // Gaussian noise: ρ = T/(2z²).
    /// let plan = [Event::gaussian(NoiseMultiplier::new(2.0)?, Adjacency::Substitute, Steps::new(4)?)];
    /// assert!((zcdp::rho(&plan)?.get() - 0.5).abs() < 1e-12);
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    Rho(f64), "rho", "a finite number, 0 or more", |x| x.is_finite() && x >= 0.0
}
checked! {
    /// μ of Gaussian differential privacy.
    ///
    /// To tell two neighbouring data sets apart is at least as hard as to tell N(0, 1) from N(μ, 1) by one draw (Dong,
    /// Roth, Su 2022).
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::Mu;
    ///
    /// assert_eq!(Mu::new(0.5)?.get(), 0.5);
    /// assert!(Mu::new(-0.5).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    Mu(f64), "mu", "a finite number, 0 or more", |x| x.is_finite() && x >= 0.0
}
checked! {
    /// C, the Euclidean norm that a clipped vector never exceeds.
    ///
    /// It is declared before any row is read. What is enforced is the same bound in whole grid units, rounded down
    /// ([`crate::Shape::bound_units`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::NormBound;
    ///
    /// assert_eq!(NormBound::new(3.3)?.get(), 3.3);
    /// assert!(NormBound::new(0.0).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    NormBound(f64), "clipping bound", "a finite number over 0", |x| x.is_finite() && x > 0.0
}
checked! {
    /// z = noise standard deviation / sensitivity of the named relation (Laplace: scale / sensitivity).
    ///
    /// It is a multiple of the sensitivity and not of the clipping bound: under substitution the two differ by a factor
    /// of two. No noise at all is [`crate::Mechanism::Open`], never z = 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::NoiseMultiplier;
    ///
    /// // Rows clipped to C = 1 and replaced move a sum by 2C: z = 1.1 is noise of standard deviation 2.2.
    /// let z = NoiseMultiplier::new(1.1)?;
    /// assert_eq!(z.get() * 2.0, 2.2);
    /// assert!(NoiseMultiplier::new(0.0).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    NoiseMultiplier(f64), "noise multiplier", "a number from 1e-6 to 1e12", |x| (1e-6..=1e12).contains(&x)
}
checked! {
    /// Standard deviation of a noise share, in grid units: at least ½, where the theorems on sums of shares begin.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::ShareDeviation;
    ///
    /// assert!(ShareDeviation::new(1000.0).is_ok());
    /// assert!(ShareDeviation::new(0.4).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    ShareDeviation(f64), "standard deviation of a noise share", "a number from 0.5 to 2^40", |x| (0.5..=1_099_511_627_776.0).contains(&x)
}
checked! {
    /// q, the probability that a given example is in the batch, or batch / rows without replacement.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::SamplingRate;
    ///
    /// assert_eq!(SamplingRate::new(0.02)?.get(), 0.02);
    /// assert!(SamplingRate::new(1.5).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    SamplingRate(f64), "sampling rate", "a number from 1e-9 to 1", |x| (1e-9..=1.0).contains(&x)
}
checked! {
    /// α, an order of Rényi divergence.
    ///
    /// Orders are real numbers: the accountant looks for the best one unless a list is given
    /// ([`crate::accounting::rdp::Rdp::with_orders`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::Order;
    ///
    /// assert!(Order::new(1.5).is_ok());
    /// assert!(Order::new(1.0).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    Order(f64), "Rényi order", "a finite number over 1", |x| x.is_finite() && x > 1.0
}
checked! {
    /// γ of k-randomised response: with probability γ the answer is uniform over all categories.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::Gamma;
    ///
    /// assert_eq!(Gamma::new(0.25)?.get(), 0.25);
    /// assert!(Gamma::new(0.0).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    Gamma(f64), "gamma", "a number from 1e-100 to 1", |x| (1e-100..=1.0).contains(&x)
}
checked! {
    /// T, how often a mechanism is used: one to 10^12 times.
    ///
    /// It also counts other things that are at least one, such as users of a shuffle or shares of a sum.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::Steps;
    ///
    /// assert_eq!(Steps::new(10_000)?.get(), 10_000);
    /// assert!(Steps::new(0).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    Steps(u64), "steps", "a whole number from 1 to 10^12", |x| (1..=1_000_000_000_000).contains(&x)
}
checked! {
    /// k, the number of categories of a randomised response.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::Categories;
    ///
    /// assert_eq!(Categories::new(4)?.get(), 4);
    /// assert!(Categories::new(1).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    Categories(u64), "categories", "a whole number from 2 to 10^9", |x| (2..=1_000_000_000).contains(&x)
}
checked! {
    /// L, the least variance of a Barker test in units of its clipping bound: C/ρ² − 1, with theorems from 1 to 3.
    ///
    /// # Examples
    ///
    /// ```
    /// use privacy::VarianceSlack;
    ///
    /// assert!(VarianceSlack::new(1.0).is_ok());
    /// assert!(VarianceSlack::new(0.5).is_err());
    /// # Ok::<(), privacy::PrivacyError>(())
    /// ```
    VarianceSlack(f64), "variance slack", "a number from 1 to 3", |x| (1.0..=3.0).contains(&x)
}

impl Steps {
    /// One use: a single release.
    pub const ONE: Self = Self(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_do_not_exist() {
        assert!(Epsilon::new(f64::NAN).is_err());
        assert!(Epsilon::new(f64::INFINITY).is_err());
        assert!(Epsilon::new(-0.1).is_err());
        assert!(Delta::new(1.0).is_err());
        assert!(Delta::new(0.0).is_ok());
        assert!(NormBound::new(0.0).is_err());
        assert!(NoiseMultiplier::new(0.0).is_err());
        assert!(SamplingRate::new(1.0 + 1e-15).is_err());
        assert!(SamplingRate::new(0.0).is_err());
        assert!(Order::new(1.0).is_err());
        assert!(Steps::new(0).is_err());
        assert!(Categories::new(1).is_err());
        assert!(VarianceSlack::new(0.99).is_err() && VarianceSlack::new(3.01).is_err());
        assert!(VarianceSlack::new(f64::NAN).is_err() && VarianceSlack::new(1.0).is_ok());
    }

    #[test]
    fn serde_goes_through_the_constructor() {
        assert!(serde_json::from_str::<Delta>("1.5").is_err());
        assert!(serde_json::from_str::<Delta>("null").is_err());
        assert!(serde_json::from_str::<Steps>("2.5").is_err());
        assert!(serde_json::from_str::<Steps>("-1").is_err());
        assert!(serde_json::from_str::<Steps>("1e400").is_err());
        assert!(serde_json::from_str::<SamplingRate>("1.01").is_err());
        assert_eq!(serde_json::from_str::<Steps>("10000").unwrap().get(), 10_000);
        let z = NoiseMultiplier::new(1.1).unwrap();
        let text = serde_json::to_string(&z).unwrap();
        assert_eq!(serde_json::from_str::<NoiseMultiplier>(&text).unwrap(), z);
    }

    #[test]
    fn an_error_names_what_was_found_and_expected() {
        let error = SamplingRate::new(1.5).unwrap_err();
        assert_eq!(error.to_string(), "sampling rate is 1.5, expected a number from 1e-9 to 1");
        assert_eq!(error.code(), "P001");
    }
}
