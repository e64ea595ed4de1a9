//! Sums over rows that linear regression needs: squares, products, outer products of whole rows, or
//! the rows themselves.
//!
//! These are the questions of the algorithm `statistics`. Each question is bounded in its own way;
//! [`RowSums::sensitivity`] states the bound, and `docs/maths/regression.md` proves it.

use crate::data::Row;
use crate::{ClientView, UnitBatch, linalg};
use privacy::{Adjacency, Bounded, Gate, Outgoing, PrivacyError, Shape};
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// What is asked of every row z = (x, y), in public numbers.
///
/// A row's vector is divided by the question's [reach](RowSums::reach), so that its bound is 1 whatever is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RowSums {
    /// z², of values projected to ±c.
    Squares {
        /// c.
        bound: f64,
    },
    /// Every xⱼxₖ, j ≥ k, and every xⱼy, of values projected to ±cⱼ.
    Products {
        /// cⱼ, that of the outcome last.
        bounds: Vec<f64>,
    },
    /// zzᵀ in deviation units, of rows scaled down to a norm of R.
    Outer {
        /// Deviations, that of the outcome last.
        scales: Vec<f64>,
        /// R.
        radius: f64,
    },
    /// z itself, projected to ±c, each row at a place of its own.
    Rows {
        /// c.
        bound: f64,
    },
    /// z itself, projected to ±c, for the means.
    Totals {
        /// c.
        bound: f64,
    },
    /// The same of z − m, before anything is bounded.
    Centred {
        /// m: means as released, that of the outcome last, and 0 for an intercept.
        centre: Vec<f64>,
        /// What is asked of z − m.
        of: Box<RowSums>,
    },
}

impl RowSums {
    /// Numbers of the sum, for d inputs and so many rows.
    pub(crate) fn numbers(&self, d: usize, rows: usize) -> usize {
        match self {
            Self::Squares { .. } | Self::Totals { .. } => d + 1,
            Self::Centred { of, .. } => of.numbers(d, rows),
            Self::Products { .. } => linalg::packed(d) + d,
            Self::Outer { .. } => linalg::packed(d + 1),
            Self::Rows { .. } => rows.saturating_mul(d + 1),
        }
    }

    /// Whether it is one that this program asks: finite positive numbers, as many as there are columns.
    pub(crate) fn is_sound(&self, d: usize) -> bool {
        let positive = |value: &f64| value.is_finite() && *value > 0.0;
        match self {
            Self::Squares { bound } | Self::Rows { bound } | Self::Totals { bound } => positive(bound),
            Self::Centred { centre, of } => {
                let plain = !matches!(**of, Self::Centred { .. } | Self::Totals { .. });
                plain && centre.len() == d + 1 && centre.iter().all(|m| m.is_finite()) && of.is_sound(d)
            }
            Self::Products { bounds } => bounds.len() == d + 1 && bounds.iter().all(positive),
            Self::Outer { scales, radius } => scales.len() == d + 1 && scales.iter().all(positive) && positive(radius),
        }
    }

    /// h: what a bound of 1 stands for, from above. Under substitution a unit moves a sum by at most 2h, under add-remove by h.
    ///
    /// Substitution: values that lie in an interval are moved to its middle, which the server adds again since the number of rows
    /// is public; so 2h is the diagonal of the box of all possible vectors. For products this is Δ₂ of Heikkilä et al. 2017,
    /// supplement, equation (12): 4h² = Σcⱼ⁴ + Σ_{j<k}(2cⱼcₖ)² + Σ(2cⱼc_y)². For outer products ‖zzᵀ − z'z'ᵀ‖² ≤ ‖z‖⁴ + ‖z'‖⁴, so
    /// 2h = √2·R² ([`Bounded::outer_products`]). Add-remove: h is the largest norm of a vector that is not moved.
    pub(crate) fn reach(&self, d: usize, adjacency: Adjacency) -> f64 {
        let replaced = adjacency == Adjacency::Substitute;
        let reach = match self {
            Self::Squares { bound } => bound * bound * ((d + 1) as f64).sqrt() * if replaced { 0.5 } else { 1.0 },
            Self::Products { bounds } => products_reach(bounds, replaced),
            Self::Outer { radius, .. } => radius * radius * if replaced { SQRT_2.recip() } else { 1.0 },
            Self::Rows { bound } | Self::Totals { bound } => bound * ((d + 1) as f64).sqrt(),
            // m is public, and what is asked of z − m is bounded whatever z is.
            Self::Centred { of, .. } => return of.reach(d, adjacency),
        };
        reach * (1.0 + 1e-12)
    }

    /// Δ₂: how far one unit moves the sum, in the units of what is asked.
    pub fn sensitivity(&self, d: usize, adjacency: Adjacency) -> f64 {
        let factor = if adjacency == Adjacency::Substitute { 2.0 } else { 1.0 };
        factor * self.reach(d, adjacency)
    }

    /// What the server adds for each row: the middles of intervals.
    pub(crate) fn middles(&self, d: usize, adjacency: Adjacency) -> Vec<f64> {
        if let Self::Centred { of, .. } = self {
            return of.middles(d, adjacency);
        }
        let mut middles = vec![0.0; self.numbers(d, 1)];
        if adjacency == Adjacency::Substitute {
            match self {
                Self::Squares { bound } => middles.fill(0.5 * bound * bound),
                Self::Products { bounds } => {
                    (0..d).for_each(|j| middles[linalg::place(j, j)] = 0.5 * bounds[j] * bounds[j])
                }
                Self::Outer { .. } | Self::Rows { .. } | Self::Totals { .. } | Self::Centred { .. } => {}
            }
        }
        middles
    }

    /// Whether rows are pushed as outer products that keep √2 times the bound.
    fn is_cone(&self, adjacency: Adjacency) -> bool {
        matches!(self.apart().1, Self::Outer { .. }) && adjacency == Adjacency::Substitute
    }

    /// Refuses a shape in which nothing is left for the rows: to be asked before the charge.
    pub(crate) fn check_shape(&self, shape: &Shape, adjacency: Adjacency) -> Result<(), PrivacyError> {
        if self.is_cone(adjacency) { Bounded::check_outer_products(shape) } else { Ok(()) }
    }

    /// m, and what is asked of z − m; no m where it is asked of z.
    pub(crate) fn apart(&self) -> (&[f64], &Self) {
        match self {
            Self::Centred { centre, of } => (centre, of),
            plain => (&[], plain),
        }
    }

    /// The sum over a site's rows, through its gate once.
    pub(crate) fn send(&self, d: usize, seat: &ClientView<'_>, gate: &mut dyn Gate) -> Result<Outgoing, PrivacyError> {
        let rows = seat.shard.rows();
        let adjacency = seat.terms.event.adjacency();
        let mut units = UnitBatch::default();
        seat.draw(gate, &mut units)?;
        let cone = self.is_cone(adjacency);
        let mut sum = match cone {
            true => units.outer_products(*gate.shape())?,
            false => units.sum(*gate.shape())?,
        };
        let per_reach = self.reach(d, adjacency).recip();
        let middles = self.middles(d, adjacency);
        let (mut z, mut vector) = (Vec::new(), Vec::new());
        let (centre, asked) = self.apart();
        for (place, &i) in units.rows().iter().enumerate() {
            columns_of(&rows.row(i), d, &mut z);
            z.iter_mut().zip(centre).for_each(|(z, m)| *z -= m);
            if let (true, Self::Outer { scales, .. }) = (cone, asked) {
                z.iter_mut().zip(scales).for_each(|(z, s)| *z *= per_reach.sqrt() / s);
                sum.push_outer(&z)?;
                continue;
            }
            asked.vector(&mut z, &mut vector);
            vector.iter_mut().zip(&middles).for_each(|(v, middle)| *v = (*v - middle) * per_reach);
            if matches!(asked, Self::Rows { .. }) {
                let first = place * (d + 1);
                let places: Vec<u32> = (first..first + d + 1).map(|p| p as u32).collect();
                sum.push_sparse(&places, &vector)?;
            } else {
                sum.push(&vector)?;
            }
        }
        gate.send(&sum)
    }

    /// A row's vector, in the units of the data.
    fn vector(&self, z: &mut [f64], into: &mut Vec<f64>) {
        into.clear();
        match self {
            Self::Squares { bound } => into.extend(z.iter().map(|z| z.clamp(-bound, *bound)).map(|z| z * z)),
            Self::Products { bounds } => {
                z.iter_mut().zip(bounds).for_each(|(z, c)| *z = z.clamp(-c, *c));
                let (x, y) = z.split_at(z.len().saturating_sub(1));
                (0..x.len()).for_each(|j| into.extend(x[..=j].iter().map(|other| other * x[j])));
                into.extend(x.iter().zip(y.iter().cycle()).map(|(x, y)| x * y));
            }
            Self::Outer { scales, radius } => {
                z.iter_mut().zip(scales).for_each(|(z, s)| *z /= s);
                let norm = z.iter().map(|z| z * z).sum::<f64>().sqrt();
                let weight = if norm > *radius { radius / norm } else { 1.0 };
                z.iter_mut().for_each(|z| *z *= weight);
                for j in 0..z.len() {
                    into.extend(z[..j].iter().map(|other| SQRT_2 * other * z[j]));
                    into.push(z[j] * z[j]);
                }
            }
            Self::Rows { bound } | Self::Totals { bound } => into.extend(z.iter().map(|z| z.clamp(-bound, *bound))),
            Self::Centred { of, .. } => of.vector(z, into),
        }
    }
}

/// h of products of values within ±cⱼ, that of the outcome last.
fn products_reach(bounds: &[f64], replaced: bool) -> f64 {
    let (inputs, outcome) = bounds.split_at(bounds.len().saturating_sub(1));
    let squares: Vec<f64> = inputs.iter().map(|c| c * c).collect();
    let of_outcome: f64 = outcome.iter().map(|c| c * c).sum();
    let sum: f64 = squares.iter().sum();
    let diagonal: f64 = squares.iter().map(|s| s * s).sum();
    let off_diagonal = 0.5 * (sum * sum - diagonal);
    // Half the box's diagonal, or the norm of its farthest corner: squares are of one sign, the others of both.
    let of_squares = if replaced { 0.25 } else { 1.0 };
    (of_squares * diagonal + off_diagonal + sum * of_outcome).sqrt()
}

/// (x, y) in full.
fn columns_of(row: &Row<'_>, d: usize, into: &mut Vec<f64>) {
    into.clear();
    into.resize(d + 1, 0.0);
    row.entries().for_each(|(j, x)| into[j] = x);
    into[d] = row.outcome;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sensitivity_is_that_of_the_worst_pair_of_rows_and_never_under_it() {
        // Squares move from 0 to a², products from a corner of the box to the opposite sign: none moves further.
        let (d, a, b) = (4_usize, 1.3, 0.7);
        let squares = 4.0 * (a * a) * (a * a);
        let products = 6.0 * (2.0 * a * a) * (2.0 * a * a) + 4.0 * (2.0 * a * b) * (2.0 * a * b);
        let bounds = vec![a, a, a, a, b];
        let found = RowSums::Products { bounds }.sensitivity(d, Adjacency::Substitute).powi(2);
        assert!(found >= squares + products && found - squares - products < 1e-9, "{found}");
    }
}
