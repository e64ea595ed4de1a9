//! Every product once, of values projected to ±bound.

use super::{BOUND_KEY, BY_ROWS, Rule, cut};
use crate::algorithm::statistics::StatisticsReading;
use crate::describe::{Descriptor, Limits};
use crate::method::BoundWords;
use crate::solve::RowSums;
use serde::Serialize;
use std::sync::Arc;

/// Section 3.2.1 of Heikkilä et al. 2017, without projection.
///
/// The sensitivity counts every product once: with values in ±c, one replaced row moves the d squares
/// by at most c² each and the other products by at most 2c² each ([`RowSums::sensitivity`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlainProducts {
    /// Assumed bound ±c of encoded inputs and outcome.
    pub bound: f64,
}

/// `rule = "plain"`
pub const DESCRIPTOR: Descriptor<dyn Rule> = Descriptor {
    name: "plain",
    also: &["ssp", "sufficient-statistics-perturbation"],
    about: "Every product of values cut to an assumed bound (Heikkilä et al. 2017).",
    keys: &[BOUND_KEY],
    limits: Limits { units: BY_ROWS, ..Limits::NONE },
    read: |reading| Ok(Arc::new(PlainProducts { bound: super::bound(&reading.keys)? })),
};

impl Rule for PlainProducts {
    fn descriptor(&self) -> &'static Descriptor<dyn Rule> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("products of values within ±{}", self.bound)
    }

    fn asked(&self, _: Option<&[f64]>, _: [f64; 2], d: usize) -> RowSums {
        RowSums::Products { bounds: vec![self.bound; d + 1] }
    }

    fn readings(&self) -> &'static [StatisticsReading] {
        &[StatisticsReading::Naive, StatisticsReading::Ridge]
    }

    fn assumed_bound(&self) -> Option<f64> {
        Some(self.bound)
    }

    fn cuts_values(&self) -> bool {
        true
    }

    fn bounds(&self) -> BoundWords {
        let sums = format!("sums of products, {}", cut(self.bound));
        BoundWords { rows: cut(self.bound), first_sums: sums.clone(), sums }
    }
}
