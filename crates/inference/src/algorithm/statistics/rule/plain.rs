//! Every product once, of values projected to ±bound.

use super::{BOUND_KEY, Rule, cut};
use crate::algorithm::statistics::StatisticsReading;
use crate::describe::{Descriptor, Limits};
use crate::method::Bounds;
use crate::solve::Asked;
use serde::Serialize;
use std::sync::Arc;

/// Section 3.2.1 of Heikkilä et al. 2017, without projection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Plain {
    /// Assumed bound ±c of encoded inputs and outcome.
    pub bound: f64,
}

/// `rule = "plain"`
pub const DESCRIPTOR: Descriptor<dyn Rule> = Descriptor {
    name: "plain",
    also: &["ssp", "sufficient-statistics-perturbation"],
    about: "Every product of values cut to an assumed bound (Heikkilä et al. 2017).",
    keys: &[BOUND_KEY],
    limits: Limits::NONE,
    read: |reading| Ok(Arc::new(Plain { bound: reading.keys.number("bound")? })),
};

impl Rule for Plain {
    fn descriptor(&self) -> &'static Descriptor<dyn Rule> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("products of values within ±{}", self.bound)
    }

    fn asked(&self, _: Option<&[f64]>, _: [f64; 2], d: usize) -> Asked {
        Asked::Products { bounds: vec![self.bound; d + 1] }
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

    fn bounds(&self) -> Bounds {
        let sums = format!("sums of products, {}", cut(self.bound));
        Bounds { rows: cut(self.bound), first_sums: sums.clone(), sums }
    }
}
