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
    ],
    limits: Limits { units: BY_ROWS, ..Limits::NONE },
    read: |reading| {
        Ok(Arc::new(Projected { bound: super::bound(&reading.keys)?, share: reading.keys.number("share")? }))
    },
};

impl Rule for Projected {
    fn descriptor(&self) -> &'static Descriptor<dyn Rule> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let Self { bound, share } = self;
        format!(
            "products projected to fractions of standard deviations, asked for first within ±{bound} ({share} of the budget)"
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

    fn deviations(&self, variances: &[f64], _: f64) -> Vec<f64> {
        variances.iter().map(|v| if *v > 0.0 { v.sqrt() } else { NEGATIVE }).collect()
    }

    fn readings(&self) -> &'static [StatisticsReading] {
        &[StatisticsReading::Naive, StatisticsReading::Ridge]
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
