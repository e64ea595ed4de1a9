//! Sums of outer products zzᵀ, whose inner products are never negative.
//!
//! **Packing.** A symmetric matrix of d rows is the vector of its p = d(d+1)/2 entries Aᵢⱼ, j ≤ i, row by row, those off the
//! diagonal times √2: the inner product of two packed matrices is that of the matrices.
//!
//! **Theorem.** With B = ⌊C·2^k⌋, let q and q' be integer vectors of length ⌊√2·B⌋ − S at most, each within S of
//! a multiple, not negative, of a packed outer product, or of a sum of such products. Then ‖q − q'‖ ≤ 2B.
//!
//! Proof. Write q = M + e and q' = M' + e' with ‖e‖, ‖e'‖ ≤ S and ⟨M, M'⟩ ≥ 0, which is a sum of multiples of
//! ⟨zzᵀ, z'z'ᵀ⟩ = (zᵀz')². For T = ⌊√2·B⌋ − S,
//! ⟨q, q'⟩ = ⟨M, M'⟩ + ⟨e, q'⟩ + ⟨q, e'⟩ − ⟨e, e'⟩ ≥ −2ST − S², so ‖q − q'‖² ≤ 2T² + 4ST + 2S² = 2(T + S)² ≤ 4B².
//!
//! ‖q‖ ≤ T is checked in integers, for each row or person. That S is ⌈3√p/2⌉ + 1 is shown at [`slack`].
//!
//! Second moments are sums of zzᵀ. Replacing one such matrix by another moves the sum by at most √2 times the larger norm, and not
//! by twice: they lie in a cone whose members have inner products of at least zero. The bound is larger by √2 for the same
//! sensitivity (`docs/maths/sensitivity.md`).

use super::{Bounded, Clipper, Reach, add};
use crate::batch::Batch;
use crate::{PrivacyError, Shape};
use std::f64::consts::SQRT_2;
use zeroize::Zeroizing;

impl Bounded {
    /// An empty sum over the rows of a batch, of outer products, each clipped to √2 times the bound less a few grid units.
    ///
    /// To replace one moves the sum no further than to replace a vector of length C of any sign. Gates take it as they
    /// take a sum of [`Bounded::non_negative`]: for substitution only, and not for Poisson batches.
    /// The shape has d(d+1)/2 coordinates for rows of d entries, and a bound of more units than rounding can take.
    pub fn outer_products(shape: Shape, batch: &Batch) -> Result<Self, PrivacyError> {
        Self::examples(shape, batch)?.in_cone()
    }

    /// The same sum, of outer products.
    pub(super) fn in_cone(mut self) -> Result<Self, PrivacyError> {
        let (bound, grid) = (cone_bound(&self.shape)?, self.shape.grid());
        self.clip = Clipper::new(bound, grid.in_units(1.0), grid.unit());
        self.reach = Reach::Cone;
        self.products = Zeroizing::new(vec![0.0; self.shape.dimension()]);
        Ok(self)
    }

    /// Refuses a shape that [`Bounded::outer_products`] would refuse, for those who ask before they charge.
    ///
    /// The roundings grow with the number of entries, the bound does not: of thousands of them it may have nothing left.
    pub fn check_outer_products(shape: &Shape) -> Result<(), PrivacyError> {
        cone_bound(shape).map(drop)
    }

    /// Adds zzᵀ, packed by rows of its lower triangle, entries off the diagonal times √2.
    ///
    /// A product over the bound is shrunk as a whole, as if z had been: a linear relation between the entries of z stays.
    /// A row with an entry that is not finite, or so large that a product is not, contributes exactly zero, silently.
    pub fn push_outer(&mut self, z: &[f64]) -> Result<(), PrivacyError> {
        if self.reach != Reach::Cone || entries(z.len()) != self.products.len() {
            return Err(PrivacyError::Shape {
                found: format!("the outer product of a row of {} entries", z.len()),
                expected: format!("{}, {}", self.reach, self.shape),
            });
        }
        self.count_one()?;
        let mut rest = &mut self.products[..];
        for (i, &row) in z.iter().enumerate() {
            let (products, later) = rest.split_at_mut(i + 1);
            let off_diagonal = SQRT_2 * row;
            products.iter_mut().zip(z).for_each(|(product, other)| *product = off_diagonal * other);
            products[i] = row * row;
            rest = later;
        }
        if self.persons.is_some() {
            self.add_products();
            return Ok(());
        }
        self.clip.vector(&self.products, &mut self.scratch);
        add(&mut self.units, &self.scratch);
        Ok(())
    }
}

/// T = ⌊√2·B⌋ − S, or a refusal where that is not over 0.
fn cone_bound(shape: &Shape) -> Result<u64, PrivacyError> {
    let (p, bound) = (shape.dimension(), shape.non_negative_bound_units());
    if !shape.grain().is_by_unit() || entries(rows_of(p)) != p {
        return Err(PrivacyError::Shape {
            found: shape.to_string(),
            expected: "outer products of examples or persons, d(d+1)/2 coordinates".into(),
        });
    }
    if bound <= slack(p) {
        return Err(PrivacyError::NoTheorem {
            what: format!("outer products of {} entries within {bound} grid units", rows_of(p)),
            why: "with so many coordinates, rounding errors can use up the whole bound",
            hint: "use fewer inputs, a smaller noise multiplier (which makes the grid finer), or adjacency add-remove",
        });
    }
    Ok(bound - slack(p))
}

/// S = ⌈3√p/2⌉ + 1: units that rounding moves a clipped product of p entries by, at most.
///
/// [`Clipper::vector`] rounds an entry to the nearest integer (½), and where it shrinks, by one factor under 1 for all
/// entries, rounds toward zero after (1). Beside these are relative errors of under 2^−50 in all: 2^−53 each for √2, the two
/// products, the factor's product and the half unit taken off; of entries whose length is under 2^41 that is
/// 2^−9 units; and products under the range of f64, 2^−1074 each, which are under 2^−170 units on any grid.
///
/// In sums of persons the relative errors are of the products of single rows and of their compensated summation: under
/// 2^−50·Σ‖z‖² in all. Σ‖z‖² is the trace of the sum A, at most √d·‖A‖ for rows of d entries, so they are under √d·2^−9 units:
/// a quarter of a unit for the largest shape.
fn slack(p: usize) -> u64 {
    let squared = 9 * p as u64; // of 3√p
    let root = squared.isqrt();
    (root + u64::from(root * root < squared)).div_ceil(2) + 1
}

/// d(d+1)/2: the entries of a symmetric d × d matrix on and above the diagonal.
fn entries(d: usize) -> usize {
    d.saturating_mul(d.saturating_add(1)) / 2
}

/// The largest d of which [`entries`] are not more than p.
fn rows_of(p: usize) -> usize {
    ((8 * p + 1).isqrt() - 1) / 2
}

#[cfg(test)]
mod tests;
