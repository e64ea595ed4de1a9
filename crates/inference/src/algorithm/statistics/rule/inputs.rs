//! Each row by itself, projected to ±bound and noised: local privacy, the baseline of all rules.

use super::{BOUND_KEY, BY_ROWS, Rule, cut};
use crate::algorithm::statistics::StatisticsReading;
use crate::describe::{Allowed, Descriptor, Limits, TrustedParty};
use crate::method::BoundWords;
use crate::solve::RowSums;
use privacy::Adjacency;
use serde::Serialize;
use std::sync::Arc;

/// Input perturbation, the baseline of Heikkilä et al. 2017.
///
/// Every row leaves its site noised, so that nobody needs to be trusted and the noise in the products
/// is of the order of the data. The sums are made of noisy rows, and no reading knows their noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InputPerturbation {
    /// Assumed bound ±c of encoded inputs and outcome.
    pub bound: f64,
}

/// `rule = "inputs"`
pub const DESCRIPTOR: Descriptor<dyn Rule> = Descriptor {
    name: "inputs",
    also: &["input-perturbation"],
    about: "Noises every row by itself: local privacy, for comparison.",
    keys: &[BOUND_KEY],
    limits: Limits {
        trust: Allowed { values: &[TrustedParty::Nobody], because: "input perturbation noises each row where it is" },
        relations: Allowed {
            values: &[Adjacency::Substitute],
            because: "input perturbation shows how many rows there are",
        },
        units: BY_ROWS,
        ..Limits::NONE
    },
    read: |reading| Ok(Arc::new(InputPerturbation { bound: super::bound(&reading.keys)? })),
};

impl Rule for InputPerturbation {
    fn descriptor(&self) -> &'static Descriptor<dyn Rule> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("each row noised by itself, values within ±{}", self.bound)
    }

    fn asked(&self, _: Option<&[f64]>, _: [f64; 2], _: usize) -> RowSums {
        RowSums::Rows { bound: self.bound }
    }

    /// Noise in rows is no noise in their sums.
    fn readings(&self) -> &'static [StatisticsReading] {
        &[StatisticsReading::Naive]
    }

    fn assumed_bound(&self) -> Option<f64> {
        Some(self.bound)
    }

    fn cuts_values(&self) -> bool {
        true
    }

    fn bounds(&self) -> BoundWords {
        let sums = format!("each row, {}", cut(self.bound));
        BoundWords { rows: cut(self.bound), first_sums: sums.clone(), sums }
    }
}
