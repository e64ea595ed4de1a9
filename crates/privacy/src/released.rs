//! Values that have passed a gate, and the only two ways to compute on without leaving the type: `map` and `update`.
//!
//! Differential privacy survives any computation that looks at released values only. The type holds programs to that: a function
//! that is given to `map` or `update` is a plain `fn`, which can capture nothing, and its second argument must be a constant
//! of the study. A step of an optimiser is therefore visibly post-processing.

use crate::{Delta, Epsilon, Gamma, Mu, NoiseMultiplier, NormBound, Order, Rho, SamplingRate, Steps};
use serde::{Deserialize, Serialize};

/// A value that was released, or computed from released values and study constants only.
///
/// Post-processing keeps differential privacy. `map` and `update` take plain `fn`s, which cannot capture a shard, and
/// constants whose type says that they come from the study.
///
/// It is read from a message or a store that holds released values, by `Deserialize`: what was sent is public. To write
/// private numbers out and read them back as released would be a forgery, like implementing [`StudyConstant`] for one;
/// an auditor looks at what is decoded into this type.
///
/// # Examples
///
/// ```
/// use privacy::{NormBound, Released};
///
/// let start = Released::zeros(2);
/// let bound = NormBound::new(0.5)?;
/// let moved = start.map(&bound, |vector, bound| vector.iter().map(|x| x + bound.get()).collect::<Vec<_>>());
/// assert_eq!(moved.get(), &[0.5, 0.5]);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Released<T>(T);

/// Marks types that hold constants of a study and nothing else.
///
/// Implement it for parameter types that are parsed from a study. It is not implemented for plain numbers, vectors or
/// tuples, and another crate cannot do that either, so a private number does not get into `map` or `update` by accident.
/// Whoever wraps one in a parameter type on purpose can: an auditor greps for `impl StudyConstant` and looks at what is
/// handed to `map` and `update`.
pub trait StudyConstant {}

macro_rules! study_constants {
    ($($name:ty),*) => { $(impl StudyConstant for $name {})* };
}
study_constants!((), Delta, Epsilon, Gamma, Mu, NoiseMultiplier, NormBound, Order, Rho, SamplingRate, Steps);

impl<T> Released<T> {
    /// Only gates make one from private values.
    pub(crate) fn by_gate(value: T) -> Self {
        Self(value)
    }

    /// The value. It is public: to read, print or send it costs nothing more.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// The value, taken out of its type. What is computed with it from then on is no longer tracked.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// A new released value from this one and constants of the study.
    pub fn map<U, P: StudyConstant>(self, constants: &P, f: fn(T, &P) -> U) -> Released<U> {
        Released(f(self.0, constants))
    }

    /// Changes a released state in place, by another released value.
    pub fn update<U, P: StudyConstant>(&mut self, by: &Released<U>, constants: &P, f: fn(&mut T, &U, &P)) {
        f(&mut self.0, &by.0, constants);
    }

    /// For gates that write into a buffer.
    pub(crate) fn slot(&mut self) -> &mut T {
        &mut self.0
    }
}

impl Released<Vec<f64>> {
    /// The vector of zeros: what is known before anything was released.
    pub fn zeros(dimension: usize) -> Self {
        Self(vec![0.0; dimension])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_and_update_stay_released() {
        let half = SamplingRate::new(0.5).unwrap();
        let slope = Released::by_gate(vec![2.0, -4.0]);
        let mut moved = Released::zeros(2);
        moved.update(&slope, &half, |m, s, rate| {
            m.iter_mut().zip(s).for_each(|(m, s)| *m -= rate.get() * s);
        });
        assert_eq!(moved.get(), &[-1.0, 2.0]);
        let norm = moved.map(&(), |m, ()| m.iter().map(|x| x * x).sum::<f64>());
        assert_eq!(norm.into_inner(), 5.0);
    }
}
