//! Vectors of persons: the vectors of a person's rows are summed, and the sum is clipped once.
//!
//! A person may have any number of rows, and replacing a person replaces all of them, their number included. The sum of a
//! person's vectors is one vector of length C at most, so a replaced person moves the total by 2C and one that comes or goes by
//! C, as an example does where each example is clipped (`docs/maths/persons.md`).
//!
//! Rows are pushed in the order of the persons of the batch, all rows of one person together, by the same calls as rows of
//! examples. How many rows each person has is told beforehand. A sum to which too few rows were pushed is refused by gates:
//! rows of one person would have been clipped together with those of the next.

use super::{Bounded, add};
use crate::batch::Batch;
use crate::{Grain, PrivacyError, Shape};
use zeroize::Zeroizing;

/// The persons of a batch, and the vector of the one whose rows are being pushed.
pub(super) struct PersonSums {
    /// How many rows each person of the batch has, in its order.
    rows: Zeroizing<Vec<usize>>,
    /// Which person is open.
    person: usize,
    /// How many of its rows were pushed.
    pushed: usize,
    /// The sum of their vectors.
    sum: Zeroizing<Vec<f64>>,
    /// What rounding took from each coordinate of the sum, by Kahan's compensated summation.
    rounded: Zeroizing<Vec<f64>>,
}

impl PersonSums {
    /// Adds numbers at places. The error of r additions is (2u + O(ru²))·Σ|v|, u = 2^−53 (Higham 2002, section 4.3).
    fn add(&mut self, vector: impl Iterator<Item = (usize, f64)>) {
        for (place, value) in vector {
            let (sum, rounded) = (&mut self.sum[place], &mut self.rounded[place]);
            let value = value - *rounded;
            let total = *sum + value;
            *rounded = (total - *sum) - value;
            *sum = total;
        }
    }

    /// Counts a row, and says whether it was the last of its person.
    fn count(&mut self) -> bool {
        self.pushed += 1;
        self.rows.get(self.person).is_some_and(|&rows| self.pushed == rows)
    }

    /// Goes on to the next person who has a row.
    fn open_next(&mut self, first: usize) {
        self.sum.fill(0.0);
        self.rounded.fill(0.0);
        self.pushed = 0;
        self.person = (first..self.rows.len()).find(|&k| self.rows[k] > 0).unwrap_or(self.rows.len());
    }
}

impl Bounded {
    /// An empty sum over the persons of a batch that a gate drew: one vector per person, the clipped sum of those of its rows.
    ///
    /// `rows` says how many rows each person of the batch has, in its order. These are pushed in that order, person by
    /// person; how many there are is private, so a person without rows is no error.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Shape`] if the shape does not clip persons, or if `rows` are not those of as many persons.
    pub fn persons(shape: Shape, batch: &Batch, rows: &[usize]) -> Result<Self, PrivacyError> {
        let mut sum = Self::empty(shape, 0);
        let zeros = || Zeroizing::new(vec![0.0; shape.dimension()]);
        let (rows_of, sum_of, rounded) = (Zeroizing::default(), zeros(), zeros());
        sum.persons = Some(Box::new(PersonSums { rows: rows_of, person: 0, pushed: 0, sum: sum_of, rounded }));
        sum.begin_persons(batch, rows)?;
        Ok(sum)
    }

    /// The same of vectors without negative coordinates, whose sums have none either; see [`Bounded::non_negative`].
    pub fn non_negative_persons(shape: Shape, batch: &Batch, rows: &[usize]) -> Result<Self, PrivacyError> {
        Ok(Self::persons(shape, batch, rows)?.in_orthant())
    }

    /// The same of outer products, whose sums are positive semi-definite, so that inner products of these are not negative
    /// either; see [`Bounded::outer_products`].
    pub fn outer_products_of_persons(shape: Shape, batch: &Batch, rows: &[usize]) -> Result<Self, PrivacyError> {
        Self::persons(shape, batch, rows)?.in_cone()
    }

    /// Starts the sum again at zero for the persons of the next batch, keeping its buffers.
    pub fn begin_persons(&mut self, batch: &Batch, rows: &[usize]) -> Result<(), PrivacyError> {
        let persons = self.persons.as_mut().filter(|_| self.shape.grain() == Grain::Person);
        let Some(persons) = persons.filter(|_| rows.len() == batch.rows().len()) else {
            return Err(PrivacyError::Shape {
                found: "a batch of persons, or rows of another number of them".into(),
                expected: self.shape.to_string(),
            });
        };
        persons.rows.clear();
        persons.rows.extend_from_slice(rows);
        persons.open_next(0);
        let room = rows.iter().fold(0_u64, |sum, &rows| sum.saturating_add(rows as u64));
        self.restart(batch, room);
        Ok(())
    }

    /// Adds the vector of a counted row to its person's, which is clipped and added to the sum after its last row.
    pub(super) fn add_row(&mut self, vector: impl Iterator<Item = (usize, f64)>) {
        let Some(persons) = self.persons.as_mut() else { return };
        persons.add(vector);
        if persons.count() {
            self.clip.vector(&persons.sum, &mut self.scratch);
            self.reach.hold(&mut self.scratch);
            add(&mut self.units, &self.scratch);
            persons.open_next(persons.person + 1);
        }
    }

    /// The same for the outer product of a counted row.
    pub(super) fn add_products(&mut self) {
        let products = std::mem::take(&mut self.products);
        self.add_row(products.iter().copied().enumerate());
        self.products = products;
    }

    /// False if rows of persons are missing: a vector is open, or boundaries between persons may be wrong. For gates only.
    pub(crate) fn is_complete(&self) -> bool {
        self.persons.is_none() || self.pushed == self.room || self.pushed == 0
    }
}

#[cfg(test)]
mod tests;
