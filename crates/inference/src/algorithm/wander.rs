//! How far the noise of local steps has moved the means: its variance, factor by factor, from public numbers.

use crate::Terms;
use crate::optimiser::adam_noise;
use crate::settings::Local;

/// What one update of a client adds to its factor's noise, all of it known beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepNoise {
    /// Variance of a mean after the T steps of an update, if gradients were noise alone.
    variance: f64,
    /// η·T/σ_g: how far an update goes towards its optimum for each unit of precision.
    pull: f64,
}

impl StepNoise {
    /// That of a client on these terms. Adam divides gradients by their size, which is at least that of their noise, so a
    /// step of noise has at most the deviation η, whatever the clip and the multiplier are.
    ///
    /// σ_g = (noise deviation)/rate: the noise in an estimate of the whole gradient.
    pub(crate) fn of(terms: &Terms, local: &Local) -> Self {
        let gradient = terms.noise_deviation() * terms.inverse_rate();
        let reach = local.learning_rate * local.steps as f64;
        Self {
            variance: local.learning_rate * local.learning_rate * adam_noise(local.steps, local.keep_state),
            pull: if gradient > 0.0 { reach / gradient } else { f64::INFINITY },
        }
    }

    /// v ← (1 − ρa)²v + ρ²·new, with a = 1 − exp(−Λ·η·T/σ_g) the part of the way to its optimum that an update goes: that
    /// part of the factor's old noise is replaced, the rest stays.
    ///
    /// ρ: damping. Λ: the precisions of q.
    pub(crate) fn add(&self, noise: &mut [f64], precision: &[f64], rho: f64) {
        for (v, l) in noise.iter_mut().zip(precision) {
            let left = 1.0 + rho * libm::expm1(-l * self.pull);
            *v = left * left * *v + rho * rho * self.variance;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_adds_up_where_nothing_pulls_and_settles_where_the_optimum_is_reached() {
        let wander = StepNoise { variance: 0.04, pull: 1.0 };
        let (mut noise, rho) = (vec![0.0; 2], 0.25);
        for _ in 0..40 {
            wander.add(&mut noise, &[0.0, 1e9], rho);
        }
        assert!((noise[0] - 40.0 * rho * rho * 0.04).abs() < 1e-12, "a walk: {noise:?}");
        assert!((noise[1] - rho / (2.0 - rho) * 0.04).abs() < 1e-7, "a decaying mean: {noise:?}");
    }
}
