//! The units of a promise among a site's rows: rows one by one, or all rows of each person together.
//!
//! A method that sums by units draws them with one call and pushes one vector for each row, in the order of
//! [`UnitBatch::rows`]: where persons are protected the sum adds up the rows of a person before it clips.

use crate::data::keys::PersonKey;
use crate::{ClientView, RowKeys};
use privacy::{Batch, Bounded, Gate, PrivacyError, Shape, Unit};
use std::collections::BTreeMap;

/// Rows by person, persons in the order of their first rows.
#[derive(Debug, Clone)]
pub(crate) struct Persons {
    /// Rows, all of one person together.
    rows: Vec<usize>,
    /// Where in them each person's begin, and after the last their end.
    starts: Vec<usize>,
}

impl Persons {
    /// Of rows that are these persons'.
    pub(crate) fn of(keys: &[PersonKey]) -> Self {
        let mut places: BTreeMap<u64, usize> = BTreeMap::new();
        let mut each: Vec<Vec<usize>> = Vec::new();
        for (row, person) in keys.iter().enumerate() {
            let place = *places.entry(person.slot).or_insert(each.len());
            match each.get_mut(place) {
                Some(rows) => rows.push(row),
                None => each.push(vec![row]),
            }
        }
        let mut starts = vec![0];
        starts.extend(each.iter().scan(0, |end, rows| {
            *end += rows.len();
            Some(*end)
        }));
        Self { rows: each.concat(), starts }
    }

    /// How many persons there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of person k.
    fn rows_of(&self, k: usize) -> &[usize] {
        &self.rows[self.starts[k]..self.starts[k + 1]]
    }
}

/// These rows by person, persons in the order of their first rows; one by one where it is not known whose they are.
///
/// Tables are split and dealt by these: a person is held out as a whole, and is at one site.
pub(crate) fn gathered(keys: &RowKeys, rows: &[usize]) -> Vec<Vec<usize>> {
    let Some(all) = keys.persons() else { return rows.iter().map(|&row| vec![row]).collect() };
    let own: Vec<PersonKey> = rows.iter().map(|&row| all[row]).collect();
    let persons = Persons::of(&own);
    (0..persons.len()).map(|k| persons.rows_of(k).iter().map(|&place| rows[place]).collect()).collect()
}

/// The units of one step that a gate drew, with their rows. Which they are is as private as the rows.
///
/// Buffers are kept from step to step.
#[derive(Default)]
pub struct UnitBatch {
    batch: Batch,
    /// Rows of the drawn persons, and how many each has; unused where rows are the units.
    persons: Option<(Vec<usize>, Vec<usize>)>,
}

impl UnitBatch {
    /// The rows of all drawn units, those of one unit together.
    pub fn rows(&self) -> &[usize] {
        self.persons.as_ref().map_or_else(|| self.batch.rows(), |(rows, _)| rows)
    }

    /// The rows of each drawn unit, unit by unit.
    pub fn each(&self) -> impl Iterator<Item = &[usize]> {
        let (mut rest, units) = (self.rows(), self.batch.rows().len());
        (0..units).map(move |k| {
            let size = self.persons.as_ref().map_or(1, |(_, sizes)| sizes[k]);
            let (own, after) = rest.split_at(size);
            rest = after;
            own
        })
    }

    /// An empty sum that takes one vector for each of [`UnitBatch::rows`], in their order, and clips one for each unit.
    pub fn sum(&self, shape: Shape) -> Result<Bounded, PrivacyError> {
        match &self.persons {
            None => Bounded::examples(shape, &self.batch),
            Some((_, sizes)) => Bounded::persons(shape, &self.batch, sizes),
        }
    }

    /// The same of vectors without negative coordinates ([`Bounded::non_negative`]).
    pub fn non_negative_sum(&self, shape: Shape) -> Result<Bounded, PrivacyError> {
        match &self.persons {
            None => Bounded::non_negative(shape, &self.batch),
            Some((_, sizes)) => Bounded::non_negative_persons(shape, &self.batch, sizes),
        }
    }

    /// The same of outer products ([`Bounded::outer_products`]).
    pub fn outer_products(&self, shape: Shape) -> Result<Bounded, PrivacyError> {
        match &self.persons {
            None => Bounded::outer_products(shape, &self.batch),
            Some((_, sizes)) => Bounded::outer_products_of_persons(shape, &self.batch, sizes),
        }
    }

    /// Starts a sum again at zero for these units, keeping its buffers.
    pub fn begin(&self, sum: &mut Bounded) -> Result<(), PrivacyError> {
        match &self.persons {
            None => sum.begin(&self.batch),
            Some((_, sizes)) => sum.begin_persons(&self.batch, sizes),
        }
    }
}

impl ClientView<'_> {
    /// Draws the units of the next step in the way that the charged event names, with their rows.
    pub fn draw(&self, gate: &mut dyn Gate, into: &mut UnitBatch) -> Result<(), PrivacyError> {
        let unit = self.terms.event.unit();
        gate.batch(self.shard.count(unit)?, &mut into.batch)?;
        if unit != Unit::Person {
            into.persons = None;
            return Ok(());
        }
        let persons = self.shard.persons()?;
        let (rows, sizes) = into.persons.get_or_insert_default();
        rows.clear();
        sizes.clear();
        for &k in into.batch.rows() {
            let own = persons.rows_of(k);
            rows.extend_from_slice(own);
            sizes.push(own.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordId;

    #[test]
    fn rows_are_gathered_by_person_in_the_order_of_their_first_rows() {
        let keys = [7, 2, 7, 9, 2, 7].map(|slot| PersonKey { slot, id: RecordId::of(&slot.to_string()) });
        let persons = Persons::of(&keys);
        let each: Vec<&[usize]> = (0..persons.len()).map(|k| persons.rows_of(k)).collect();
        assert_eq!(each, [&[0, 2, 5][..], &[1, 4], &[3]]);
        assert_eq!(Persons::of(&[]).len(), 0);
    }
}
