//! Outer products of whole rows, in units of standard deviations, clipped by their norm.
//!
//! The default rule. Scaling a whole row keeps the relation between outcome and inputs, and the
//! sensitivity does not grow with the number of products: √2·R² under substitution, whatever d is.

use super::{BOUND_KEY, BY_ROWS, Rule, cut};
use crate::algorithm::statistics::StatisticsReading;
use crate::describe::{ANY_UNIT, Conflict, Descriptor, Key, Limits, Otherwise, Reading, STRAY, VALUE, ValueKind};
use crate::method::BoundWords;
use crate::regression::{DEFAULT_RADIUS, DEFAULT_SHARE};
use crate::release::BudgetShare;
use crate::solve::RowSums;
use serde::Serialize;
use std::sync::Arc;

/// Rows z = (x, y) scaled down to a norm of R; zzᵀ is released (`docs/maths/regression.md`).
///
/// - z: inputs and outcome, each divided by its standard deviation.
/// - w = min(1, R·√(d + 1)/‖z‖): what a row is multiplied by.
/// - Released: Σ w² zzᵀ, the lower triangle packed isometrically.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RowNorm {
    /// Where the standard deviations come from.
    pub deviations: Deviations,
    /// R: the norm of a row to which it is scaled down, times √(d + 1).
    pub radius: f64,
}

/// Where the standard deviations of inputs and outcome come from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Deviations {
    /// From the study: all values are in units of their standard deviations, more or less.
    Known,
    /// From a first round.
    Asked {
        /// Assumed bounds ±c.
        bound: f64,
        /// The share of μ² (Gaussian differential privacy), between 0 and 1.
        share: f64,
    },
}

/// `rule = "row-norm"`
pub const DESCRIPTOR: Descriptor<dyn Rule> = Descriptor {
    name: "row-norm",
    also: &[],
    about: "Outer products of whole rows, clipped by their norm in units of standard deviations; the default rule.",
    keys: &[
        BOUND_KEY,
        Key::new("deviations", ValueKind::Word(&["asked", "known"]), "\"known\"")
            .about("where standard deviations come from: a first round, or the schema's scales")
            .otherwise(Otherwise::Word("asked")),
        Key::new("share", ValueKind::Share, "0.2")
            .about("the share of the budget for standard deviations")
            .otherwise(Otherwise::Number(DEFAULT_SHARE)),
        Key::new("radius", ValueKind::Positive, "0.7")
            .about("R: the norm to which rows are scaled down, times √(d + 1)")
            .otherwise(Otherwise::Number(DEFAULT_RADIUS)),
    ],
    limits: Limits { units: ANY_UNIT, ..Limits::NONE },
    read,
};

/// Refuses a bound or a share where the standard deviations are known.
fn read(reading: &Reading<'_>) -> Result<Arc<dyn Rule>, Conflict> {
    let keys = &reading.keys;
    let known = keys.word("deviations")? == "known";
    if let Some(stray) = ["bound", "share"].into_iter().find(|key| known && keys.has(key)) {
        let what = format!("statistics.{stray} has no meaning where the standard deviations are known");
        return Err(keys.conflict(stray, STRAY, what, format!("leave {stray} out")));
    }
    let deviations = match known {
        true => Deviations::Known,
        false => Deviations::Asked { bound: super::bound(keys)?, share: keys.number("share")? },
    };
    Ok(Arc::new(RowNorm { deviations, radius: keys.number("radius")? }))
}

impl RowNorm {
    /// How rows are bounded, in words, with R to four digits.
    fn scaled_down(&self) -> String {
        let radius = (self.radius * 1e4).round() / 1e4;
        format!("rows scaled down to a norm of {radius}·√(d + 1) in units of their standard deviations")
    }
}

impl Rule for RowNorm {
    fn descriptor(&self) -> &'static Descriptor<dyn Rule> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let radius = (self.radius * 1e4).round() / 1e4;
        let deviations = match self.deviations {
            Deviations::Known => "known".to_owned(),
            Deviations::Asked { bound, share } => format!("asked for first within ±{bound} ({share} of the budget)"),
        };
        format!("outer products of rows of norm up to {radius}·√(d + 1), standard deviations {deviations}")
    }

    fn asked(&self, deviations: Option<&[f64]>, _: [f64; 2], d: usize) -> RowSums {
        match (self.deviations, deviations) {
            (Deviations::Asked { bound, .. }, None) => RowSums::Squares { bound },
            (_, known) => {
                let scales = known.map_or_else(|| vec![1.0; d + 1], <[f64]>::to_vec);
                RowSums::Outer { scales, radius: self.radius * ((d + 1) as f64).sqrt() }
            }
        }
    }

    fn deviations_share(&self) -> Option<BudgetShare> {
        match self.deviations {
            Deviations::Known => None,
            Deviations::Asked { share, .. } => Some(BudgetShare::OfMu(share)),
        }
    }

    fn readings(&self) -> &'static [StatisticsReading] {
        &[StatisticsReading::NoiseAware, StatisticsReading::Ridge, StatisticsReading::Naive]
    }

    fn assumed_bound(&self) -> Option<f64> {
        match self.deviations {
            Deviations::Known => None,
            Deviations::Asked { bound, .. } => Some(bound),
        }
    }

    /// Variances are sums of squares divided by the number of rows.
    fn limits(&self) -> Limits {
        match self.deviations {
            Deviations::Known => DESCRIPTOR.limits,
            Deviations::Asked { .. } => Limits { units: BY_ROWS, ..DESCRIPTOR.limits },
        }
    }

    fn bounds(&self) -> BoundWords {
        let scaled = self.scaled_down();
        let (rows, first_sums) = match self.deviations {
            Deviations::Known => (scaled.clone(), String::new()),
            Deviations::Asked { bound, .. } => {
                let squares = format!("sums of squares, {}", cut(bound));
                (format!("{} for the standard deviations, then {scaled}", cut(bound)), squares)
            }
        };
        BoundWords { rows, sums: format!("sums of outer products, {scaled}"), first_sums }
    }

    fn check(&self) -> Result<(), Conflict> {
        let over_zero = |x: f64| x.is_finite() && x > 0.0;
        let asked = match self.deviations {
            Deviations::Known => true,
            Deviations::Asked { bound, share } => over_zero(bound) && share > 0.0 && share < 1.0,
        };
        if asked && over_zero(self.radius) {
            return Ok(());
        }
        let what = "bound and radius are finite numbers over 0, and share is between 0 and 1";
        Err(Conflict::new("statistics", VALUE, what, "for example bound = 7.5, share = 0.2, radius = 0.7"))
    }
}
