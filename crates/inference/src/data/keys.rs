//! What tells the rows of a site apart, whatever stands in them: their slots, the ids of their records, and whose they are.

use privacy::{Adjacency, PrivacyError, Unit};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The id of a record: 64 bits of its digest, and nothing that could be read back.
///
/// It decides a row's part and is never sent. Two records with one digest would be in one part, which harms nobody.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RecordId(u64);

impl RecordId {
    /// The id of the record that is called this in its file.
    pub fn of(text: &str) -> Self {
        Self(first_word(&Sha256::digest(text)))
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordId")
    }
}

/// Whose row a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonKey {
    /// The person's slot: its place among the persons of the table, by their first rows. A replaced person keeps it.
    pub slot: u64,
    /// The person's id: it keeps that when others come or go.
    pub id: RecordId,
}

/// The keys of some rows, in their order.
#[derive(Clone, PartialEq, Eq)]
pub struct RowKeys {
    /// The place of each row in its file.
    slots: Vec<u64>,
    /// The id of each row's record, where the schema names a column of them.
    records: Option<Vec<RecordId>>,
    persons: Option<Vec<PersonKey>>,
}

impl fmt::Debug for RowKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowKeys")
    }
}

impl RowKeys {
    /// Rows that have a slot each, their place in a file: a replaced row keeps it.
    pub fn of_slots(slots: Vec<u64>) -> Self {
        Self { slots, records: None, persons: None }
    }

    /// The same rows with the ids of their records: a row keeps its own when another comes or goes.
    pub fn with_records(self, records: Vec<RecordId>) -> Self {
        Self { records: Some(records), ..self }
    }

    /// The same rows with the persons that they belong to.
    pub fn with_persons(self, persons: Vec<PersonKey>) -> Self {
        Self { persons: Some(persons), ..self }
    }

    /// The slots.
    pub fn slots(&self) -> &[u64] {
        &self.slots
    }

    /// Whose each row is, if that is known.
    pub fn persons(&self) -> Option<&[PersonKey]> {
        self.persons.as_deref()
    }

    /// True if every row has the id of its record.
    pub fn has_records(&self) -> bool {
        self.records.is_some()
    }

    /// True if there is a key of each kind for each of so many rows.
    pub(crate) fn fit(&self, rows: usize) -> bool {
        self.slots.len() == rows
            && self.records.as_ref().is_none_or(|records| records.len() == rows)
            && self.persons.as_ref().is_none_or(|persons| persons.len() == rows)
    }

    /// The keys of these rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        Self {
            slots: rows.iter().map(|&row| self.slots[row]).collect(),
            records: self.records.as_ref().map(|records| rows.iter().map(|&row| records[row]).collect()),
            persons: self.persons.as_ref().map(|persons| rows.iter().map(|&row| persons[row]).collect()),
        }
    }

    /// The rows of part k of K, for every k: neighbouring data differ in one part only.
    ///
    /// Under substitution a part is a keyed function of a row's slot: the new row is where the old one was, whatever its
    /// record. (By record, one part would lose a row and another gain one.) Under add-remove it is a keyed function of the
    /// record's id: no other row moves. Never of content or n; and never of slots where rows come and go, because all
    /// later slots shift with them: such parts are refused.
    ///
    /// Where persons are the unit, slot and id are those of a row's person: all rows of a person are in one part.
    pub(crate) fn parts(
        &self,
        (unit, adjacency): (Unit, Adjacency),
        count: usize,
        key: u64,
    ) -> Result<Vec<Vec<usize>>, PrivacyError> {
        let mut parts = vec![Vec::new(); count.max(1)];
        let mut put = |row: usize, id: u64| parts[part_of(id, key, count.max(1))].push(row);
        match (unit, adjacency) {
            (Unit::Person, _) => {
                let id =
                    |person: &PersonKey| if adjacency == Adjacency::Substitute { person.slot } else { person.id.0 };
                self.known_persons()?.iter().enumerate().for_each(|(row, person)| put(row, id(person)));
            }
            (_, Adjacency::Substitute) => self.slots.iter().enumerate().for_each(|(row, &slot)| put(row, slot)),
            (_, Adjacency::AddRemove) => self.records()?.iter().enumerate().for_each(|(row, id)| put(row, id.0)),
        }
        Ok(parts)
    }

    /// Whose each row is, which a promise to persons cannot do without.
    pub(crate) fn known_persons(&self) -> Result<&[PersonKey], PrivacyError> {
        self.persons().ok_or_else(|| PrivacyError::NoTheorem {
            what: "a promise to persons over rows that do not say whose they are".into(),
            why: "the rows of one person could not be summed before they are clipped",
            hint: "name the column of person ids in the schema (person_id = \"patient\"), or promise unit = \"example\"",
        })
    }

    /// The records' ids, which parts under add-remove cannot do without.
    pub(crate) fn records(&self) -> Result<&[RecordId], PrivacyError> {
        self.records.as_deref().ok_or_else(|| PrivacyError::NoTheorem {
            what: "parts under add-remove of rows without record ids".into(),
            why: "a row more or less would move the rows after it to other parts",
            hint: "name the column of record ids in the schema (record_id = \"patient\"), or promise substitution",
        })
    }
}

/// The part of an id: SHA-256 of key and id, reduced. The bias of the reduction is under 2^-40 for any real K.
fn part_of(id: u64, key: u64, count: usize) -> usize {
    let digest = Sha256::new().chain_update(key.to_le_bytes()).chain_update(id.to_le_bytes()).finalize();
    (first_word(&digest) % count as u64) as usize
}

/// The first eight bytes, as a number.
fn first_word(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows 0..n with records named after a letter and their number.
    fn keys(n: u64) -> RowKeys {
        let records = (0..n).map(|row| RecordId::of(&format!("p{row}"))).collect();
        RowKeys::of_slots((0..n).collect()).with_records(records)
    }

    /// The part of every row.
    fn places(keys: &RowKeys, adjacency: Adjacency) -> Vec<usize> {
        let parts = keys.parts((Unit::Example, adjacency), 7, 5).unwrap();
        let place = |row| parts.iter().position(|part| part.contains(&row)).unwrap();
        (0..keys.slots.len()).map(place).collect()
    }

    #[test]
    fn a_row_more_or_less_moves_no_other_row_under_add_remove() {
        let before = places(&keys(40), Adjacency::AddRemove);
        assert_eq!((0..7).filter(|part| before.contains(part)).count(), 7, "parts are used");
        for gone in 0..40 {
            let rest: Vec<usize> = (0..40).filter(|row| *row != gone).collect();
            // The file without that row: later rows are one slot earlier.
            let after = RowKeys { slots: (0..39).collect(), ..keys(40).select(&rest) };
            let expected: Vec<usize> = rest.iter().map(|&row| before[row]).collect();
            assert_eq!(places(&after, Adjacency::AddRemove), expected, "without row {gone}");
        }
    }

    #[test]
    fn a_replaced_row_stays_in_its_part_whatever_its_record() {
        let (mut replaced, before) = (keys(40), places(&keys(40), Adjacency::Substitute));
        replaced.records.as_mut().unwrap()[11] = RecordId::of("somebody else");
        assert_eq!(places(&replaced, Adjacency::Substitute), before);
        let by_record = |keys| places(keys, Adjacency::AddRemove)[11];
        assert_ne!(by_record(&replaced), by_record(&keys(40)), "the new record would be elsewhere");
    }

    #[test]
    fn all_rows_of_a_person_are_in_one_part_and_others_stay_where_they_are() {
        let person = |slot: u64, name: &str| PersonKey { slot, id: RecordId::of(name) };
        let rows = |persons: &[PersonKey]| {
            RowKeys::of_slots((0..persons.len() as u64).collect()).with_persons(persons.to_vec())
        };
        let all: Vec<PersonKey> = (0..60).map(|row| person(row % 20, &format!("p{}", row % 20))).collect();
        for adjacency in [Adjacency::Substitute, Adjacency::AddRemove] {
            let place = |keys: &RowKeys, row| {
                let parts = keys.parts((Unit::Person, adjacency), 7, 5).unwrap();
                parts.iter().position(|part| part.contains(&row)).unwrap()
            };
            let keys = rows(&all);
            assert!((0..60).all(|row| place(&keys, row) == place(&keys, row % 20)), "a person is in one part");
            assert!((0..20).any(|row| place(&keys, row) != place(&keys, 0)), "parts are used");
            // Person 3 is somebody else, with one row in place of three: nobody else moves.
            let rest: Vec<usize> = (0..60).filter(|row| row % 20 != 3 || *row == 3).collect();
            let mut other: Vec<PersonKey> = rest.iter().map(|&row| all[row]).collect();
            other[3] = person(3, "somebody else");
            let after = rows(&other);
            let moved = rest.iter().enumerate().filter(|(now, before)| place(&after, *now) != place(&keys, **before));
            let moved: Vec<usize> = moved.map(|(now, _)| now).collect();
            assert!(moved.is_empty() || adjacency == Adjacency::AddRemove && moved == [3], "{moved:?}");
        }
    }

    #[test]
    fn parts_of_rows_that_come_and_go_need_records() {
        let slots = RowKeys::of_slots((0..9).collect());
        let of = |unit, adjacency| slots.parts((unit, adjacency), 3, 5);
        let error = of(Unit::Example, Adjacency::AddRemove).unwrap_err();
        assert!(error.hint().unwrap().contains("record_id"), "{error}");
        assert!(of(Unit::Example, Adjacency::Substitute).is_ok());
        for adjacency in [Adjacency::Substitute, Adjacency::AddRemove] {
            assert!(of(Unit::Person, adjacency).unwrap_err().hint().unwrap().contains("person_id"));
        }
        assert_eq!(format!("{:?}", RecordId::of("p1")), "RecordId");
    }
}
