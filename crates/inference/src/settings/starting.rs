//! Starting values of noisy steps, and how they follow from public numbers where a study leaves them out.
//!
//! What they lose against the best of a grid was measured (`docs/explanation/settings.md`).

use super::{Batching, Chart, Gradients, Local, Optimiser};
use crate::public::{Derived, PublicNumbers, rounded};
use privacy::SamplingRate;

/// Step size of Adam in updates of many steps.
const LEARNING_RATE: f64 = 0.02;

/// The probability with which a row is in a step.
const RATE: f64 = 0.1;

/// Rows that a batch of the smallest site should have, on average.
const LEAST_BATCH: f64 = 20.0;

/// The largest rate that is derived: above it batches save nothing.
const MOST_RATE: f64 = 0.5;

/// Where both are stated, a study was set by hand: what it leaves out of `local` has its documented default.
const BY_HAND: &[&str] = &["privacy.clip", "local"];

impl Local {
    /// So many steps of Adam on drawn rows.
    pub(crate) fn starting(steps: u64, keep_state: bool) -> Self {
        Self {
            steps,
            batch: SamplingRate::new(RATE).map_or(Batching::All, Batching::Poisson),
            optimiser: Optimiser::Adam,
            learning_rate: LEARNING_RATE,
            keep_state,
            chart: Chart::LogDeviation,
            gradients: Gradients::Full,
        }
    }

    /// What `local` should be for these numbers; `starting` has steps, step size and state.
    pub(crate) fn derived(&self, starting: &Self, public: &PublicNumbers) -> Vec<Derived> {
        let mut all = Vec::new();
        if starting.steps > 1 {
            let why = "few long updates: every message of a site is made of many noisy steps";
            all.push(Derived::new("local.steps", starting.steps as i64, why).unless(BY_HAND));
        }
        let (rows, least) = (public.least_rows(), LEAST_BATCH / public.least_rows() as f64);
        let rate = rounded(least.clamp(RATE, MOST_RATE));
        let why = if least > RATE {
            format!("the smallest site has {rows} rows, of which a step should have {LEAST_BATCH}")
        } else {
            format!("at a given ε the noise of the mean step hardly depends on it; a step has {RATE} of the rows")
        };
        all.push(Derived::new("local.rate", rate, why).or(&["local.batch"]).unless(BY_HAND));
        all.push(Derived::new(
            "local.optimiser",
            "adam",
            "its steps have the same size whatever the scale of the inputs",
        ));
        if self.optimiser == Optimiser::Adam {
            let why = "Adam moves a coefficient by about this much in a step";
            all.push(Derived::new("local.learning_rate", starting.learning_rate, why).unless(BY_HAND));
        }
        if starting.keep_state {
            let why = "Adam's moments average the noise of earlier updates";
            all.push(Derived::new("local.keep_state", true, why).unless(BY_HAND));
        }
        all
    }
}
