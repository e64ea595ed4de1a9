//! Products after projection to fractions of standard deviations that a first round asks for.

use super::{BOUND_KEY, BY_ROWS, Rule, cut};
use crate::RunError;
use crate::algorithm::statistics::StatisticsReading;
use crate::describe::{Descriptor, Key, Limits, Otherwise, ValueKind};
use crate::method::BoundWords;
use crate::regression::{SyntheticSearch, Thresholds};
use crate::release::BudgetShare;
use crate::solve::RowSums;
use serde::Serialize;
use std::sync::Arc;

/// Algorithm 2 of Heikkilä et al. 2017.
///
/// The first round asks for standard deviations of inputs and outcome within ±c. The second projects
/// values to ±(threshold · deviation), usually far less than ±c: a biased sum with much less noise.
/// Thresholds are found on synthetic data, so that they cost nothing
/// ([`SyntheticSearch`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Projected {
    /// Assumed bounds ±c, for the standard deviations.
    pub bound: f64,
    /// The share of ε and δ that the standard deviations may cost by themselves, between 0 and 1.
    pub share: f64,
    /// The share that means may cost, in a round before; none where values are taken as they are.
    ///
    /// The paper takes data that are centred, and says that means "can be estimated like the marginal stds at the cost of some added noise".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub means: Option<f64>,
}

/// The paper's standard deviation where noise made a variance negative.
const NEGATIVE: f64 = 0.5;

/// Seeds the synthetic data on which projection thresholds are found: a constant of the program.
const SYNTHETIC: [u8; 32] = *b"projection thresholds, synthetic";

/// `rule = "projected"`
pub const DESCRIPTOR: Descriptor<dyn Rule> = Descriptor {
    name: "projected",
    also: &[],
    about: "Products after projection to fractions of noisy standard deviations (Heikkilä et al. 2017, Algorithm 2).",
    keys: &[
        BOUND_KEY,
        Key::new("share", ValueKind::Share, "0.3")
            .about("the share of the budget for standard deviations")
            .otherwise(Otherwise::Number(0.3)),
        Key::new("means", ValueKind::Share, "0.1")
            .about("the share of the budget for means, about which values are then bounded; left out, values are taken as they are")
            .optional(),
    ],
    limits: Limits { units: BY_ROWS, ..Limits::NONE },
    read: |reading| {
        let keys = &reading.keys;
        Ok(Arc::new(Projected {
            bound: super::bound(keys)?,
            share: keys.number("share")?,
            means: keys.maybe_number("means")?,
        }))
    },
};

impl Rule for Projected {
    fn descriptor(&self) -> &'static Descriptor<dyn Rule> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let Self { bound, share, means } = self;
        let about = means.map_or_else(String::new, |means| format!(", about means, asked for before ({means})"));
        format!(
            "products projected to fractions of standard deviations, asked for first within ±{bound} ({share} of the budget){about}"
        )
    }

    fn asked(&self, deviations: Option<&[f64]>, [of_inputs, of_outcome]: [f64; 2], d: usize) -> RowSums {
        let Some(deviations) = deviations else { return RowSums::Squares { bound: self.bound } };
        let threshold = |(j, s): (usize, &f64)| s * if j < d { of_inputs } else { of_outcome };
        RowSums::Products { bounds: deviations.iter().enumerate().map(threshold).collect() }
    }

    fn deviations_share(&self) -> Option<BudgetShare> {
        Some(BudgetShare::OfBudget(self.share))
    }

    fn means_share(&self) -> Option<BudgetShare> {
        self.means.map(BudgetShare::OfBudget)
    }

    fn deviations(&self, variances: &[f64], _: f64) -> Vec<f64> {
        variances.iter().map(|v| if *v > 0.0 { v.sqrt() } else { NEGATIVE }).collect()
    }

    /// A ridge as large as the noise is for sums that were not moved to other means.
    fn readings(&self) -> &'static [StatisticsReading] {
        match self.means {
            None => &[StatisticsReading::Naive, StatisticsReading::Ridge],
            Some(_) => &[StatisticsReading::Naive],
        }
    }

    fn thresholds(&self, search: &SyntheticSearch) -> Result<[f64; 2], RunError> {
        let Thresholds { inputs, outcome } = search.thresholds(SYNTHETIC)?;
        Ok([inputs, outcome])
    }

    fn assumed_bound(&self) -> Option<f64> {
        Some(self.bound)
    }

    fn bounds(&self) -> BoundWords {
        BoundWords {
            rows: format!("{} for the standard deviations, then projected to fractions of these", cut(self.bound)),
            sums: "sums of products, values projected to fractions of their standard deviations".to_owned(),
            first_sums: format!("sums of squares, {}", cut(self.bound)),
        }
    }
}
