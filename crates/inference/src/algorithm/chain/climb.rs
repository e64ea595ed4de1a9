//! The way uphill to where chains start: Adam along noisy slopes of the log-posterior.

use crate::optimiser::OptimiserState;
use crate::settings::Optimiser;
use serde::{Deserialize, Serialize};

/// Where the way has come, and the mean of its places in the second half, which noise moves less than the last of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Climb {
    /// Where the way has come.
    theta: Vec<f64>,
    /// Adam's moments.
    moments: OptimiserState,
    /// Σθ over the second half of the way.
    sum: Vec<f64>,
    /// How many places are in it.
    counted: u64,
}

impl Climb {
    /// At the prior's mean.
    pub(super) fn new(mean: &[f64]) -> Self {
        let moments = OptimiserState::new(Optimiser::Adam, mean.len());
        Self { moments, sum: vec![0.0; mean.len()], theta: mean.to_vec(), counted: 0 }
    }

    /// Where the next slope is asked for.
    pub(super) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// A step along a slope; its end counts where it is in the second half of the way.
    pub(super) fn step(&mut self, mut slope: Vec<f64>, rate: f64, counts: bool) {
        self.moments.direct(&mut slope);
        self.theta.iter_mut().zip(&slope).for_each(|(t, s)| *t += rate * s);
        if counts {
            self.counted += 1;
            self.sum.iter_mut().zip(&self.theta).for_each(|(sum, t)| *sum += t);
        }
    }

    /// Where chains start.
    pub(super) fn top(&self) -> Vec<f64> {
        match self.counted {
            0 => self.theta.clone(),
            counted => self.sum.iter().map(|sum| sum / counted as f64).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_parabola_is_reached() {
        let mut climb = Climb::new(&[0.0; 2]);
        for round in 0..400 {
            let slope = climb.theta().iter().zip([3.0, -1.0]).map(|(t, top)| 50.0 * (top - t)).collect();
            climb.step(slope, 0.05, round >= 200);
        }
        let top = climb.top();
        assert!((top[0] - 3.0).abs() < 0.02 && (top[1] + 1.0).abs() < 0.02, "{top:?}");
    }
}
