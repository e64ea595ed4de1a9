//! Which rows are held out, in a simulation.
//!
//! Scores are computed on held-out rows only. The draw follows from the seed; a study may fix a seed
//! for the split, so that all runs hold out the same rows.
//! Where a table says whose its rows are, persons are held out as a whole.

use crate::data::draw::{Purpose, shuffle, whole};
use crate::data::nearest::nearest;
use crate::data::units::gathered;
use crate::{DataError, Encoded};

/// How rows are split into training and held-out ones. Shares and numbers are of persons where the table says whose its rows
/// are.
#[derive(Debug, Clone, PartialEq)]
pub enum Split {
    /// ⌊test · n⌋ rows are held out, drawn by the seed.
    Fraction {
        /// Share of the rows that is held out.
        test: f64,
    },
    /// A column says it.
    Column {
        /// The column.
        column: String,
        /// Its value in held-out rows; all others are for training.
        test_level: String,
    },
    /// ⌊n/2⌋ rows are held out, drawn by the seed.
    Half,
    /// So many rows are held out, drawn by the seed.
    Rows {
        /// How many.
        test: usize,
    },
}

impl Split {
    /// The column that must be kept when the table is read.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Column { column, .. } => Some(column),
            Self::Fraction { .. } | Self::Half | Self::Rows { .. } => None,
        }
    }

    /// How many of n rows are for training, where that follows from their number.
    pub fn kept(&self, n: usize) -> Option<usize> {
        match self {
            Self::Fraction { test } => Some(n.saturating_sub(whole(test * n as f64))),
            Self::Half => Some(n.saturating_sub(whole(0.5 * n as f64))),
            Self::Rows { test } => Some(n.saturating_sub(*test)),
            Self::Column { .. } => None,
        }
    }

    /// About how many of a part of n rows are for training, where that follows from their numbers.
    pub fn kept_of(&self, part: usize, n: usize) -> Option<usize> {
        match self {
            Self::Rows { test } => Some(part.saturating_sub(whole(*test as f64 * part as f64 / n.max(1) as f64))),
            Self::Fraction { .. } | Self::Half | Self::Column { .. } => self.kept(part),
        }
    }

    /// Training rows and held-out rows, each in the order of the table. Neither is empty, and no person has rows in both.
    ///
    /// # Errors
    /// [`DataError::Split`] where one side would be empty, and a column that was not kept.
    pub fn rows(&self, table: &Encoded, seed: u64) -> Result<(Vec<usize>, Vec<usize>), DataError> {
        let all: Vec<usize> = (0..table.rows.len()).collect();
        let units = gathered(&table.keys, &all);
        let n = units.len();
        let drawn = |n: usize, held_out: usize, seed: u64| {
            let word = if table.keys.persons().is_some() { "persons" } else { "rows" };
            let (train, test) = drawn(n, held_out, seed, word)?;
            Ok((flat(&units, &train), flat(&units, &test)))
        };
        match self {
            Self::Fraction { test } if !(*test > 0.0 && *test < 1.0) => {
                let what = format!("a share of {test} is held out, expected one between 0 and 1");
                Err(DataError::Split { what, hint: "0.2 is usual".into() })
            }
            Self::Fraction { test } => drawn(n, whole(test * n as f64), seed),
            Self::Half => drawn(n, whole(0.5 * n as f64), seed),
            Self::Rows { test } => drawn(n, *test, seed),
            Self::Column { column, test_level } => {
                let values = table.column(column)?;
                let is_test = |row: &usize| values[*row] == *test_level;
                let (test, train): (Vec<usize>, Vec<usize>) = all.iter().partition(|row| is_test(row));
                if let Some(both) = units.iter().find(|rows| rows.iter().any(is_test) && !rows.iter().all(is_test)) {
                    let line = table.line(both[0]);
                    let what =
                        format!("column `{column}` holds out some rows of the person of line {line}, but not all");
                    return Err(DataError::Split { what, hint: "hold out all rows of a person, or none".into() });
                }
                if test.is_empty() || train.is_empty() {
                    return Err(one_sided(column, test_level, values, test.is_empty()));
                }
                Ok((train, test))
            }
        }
    }
}

/// The rows of these units, in the order of the table.
fn flat(units: &[Vec<usize>], which: &[usize]) -> Vec<usize> {
    let mut rows: Vec<usize> = which.iter().flat_map(|&unit| units[unit].iter().copied()).collect();
    rows.sort_unstable();
    rows
}

/// So many units for testing, by a shuffle; `word` is what they are.
fn drawn(n: usize, held_out: usize, seed: u64, word: &str) -> Result<(Vec<usize>, Vec<usize>), DataError> {
    if held_out == 0 || held_out >= n {
        let what = format!("{held_out} of {n} {word} would be held out, expected at least one of them on each side");
        return Err(DataError::Split { what, hint: format!("hold out another share or number, or take more {word}") });
    }
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut order, seed, Purpose::Split);
    let mut train = order.split_off(held_out);
    train.sort_unstable();
    order.sort_unstable();
    Ok((train, order))
}

/// A column that puts all rows on one side.
fn one_sided(column: &str, level: &str, values: &[String], none: bool) -> DataError {
    let what = if none { "no row has" } else { "every row has" };
    let hint = match nearest(level, values.iter().map(String::as_str)) {
        Some(close) if none => format!("did you mean `{close}`?"),
        _ => "name the value that marks held-out rows".into(),
    };
    DataError::Split { what: format!("{what} `{level}` in column `{column}`"), hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::table;

    #[test]
    fn the_count_is_exact_and_every_row_is_on_one_side() {
        let table = table(101, 30);
        for (split, held_out) in [(Split::Fraction { test: 0.2 }, 20), (Split::Half, 50), (Split::Rows { test: 7 }, 7)]
        {
            let (train, test) = split.rows(&table, 7).unwrap();
            assert_eq!((test.len(), split.kept(101)), (held_out, Some(101 - held_out)));
            let mut all = [train, test].concat();
            all.sort_unstable();
            assert_eq!(all, (0..101).collect::<Vec<_>>());
            assert_eq!(split.rows(&table, 7), split.rows(&table, 7));
            assert_ne!(split.rows(&table, 7), split.rows(&table, 8));
        }
        let parts = [30, 71].map(|part| Split::Rows { test: 50 }.kept_of(part, 101).unwrap());
        assert_eq!((parts, Split::Half.kept_of(30, 101)), ([16, 36], Some(15)));
    }

    #[test]
    fn persons_are_held_out_as_a_whole() {
        let mut table = table(90, 30);
        table.keys = crate::data::tests::of_persons(90, 3);
        let (train, test) = Split::Fraction { test: 0.2 }.rows(&table, 7).unwrap();
        assert_eq!((train.len(), test.len()), (72, 18), "6 of 30 persons with three rows each");
        assert!(test.iter().all(|row| (0..3).all(|k| test.contains(&(row / 3 * 3 + k)))));
        let error = Split::Rows { test: 30 }.rows(&table, 7).unwrap_err();
        assert!(error.to_string().contains("30 of 30 persons"), "{error}");
        // Row i is of site i mod 3, so every person has rows at each site.
        let by_site = Split::Column { column: "site".into(), test_level: "s1".into() };
        assert!(by_site.rows(&table, 7).unwrap_err().to_string().contains("but not all"));
    }

    #[test]
    fn a_column_decides_and_empty_sides_are_errors() {
        let table = table(12, 5);
        let by = |level: &str| Split::Column { column: "site".into(), test_level: level.into() };
        let (train, test) = by("s1").rows(&table, 0).unwrap();
        assert_eq!((train.len(), test.as_slice()), (8, &[1, 4, 7, 10][..]));
        assert!(by("S1_").rows(&table, 0).unwrap_err().hint().contains("`s1`"));
        for share in [0.0, 1.0, -0.1, f64::NAN, 0.01] {
            let error = Split::Fraction { test: share }.rows(&table, 0).unwrap_err();
            assert_eq!(error.code(), "D007", "{share}");
        }
        for test in [0, 12, 13] {
            let error = Split::Rows { test }.rows(&table, 0).unwrap_err();
            assert!(error.to_string().contains(&format!("{test} of 12 rows")), "{error}");
        }
    }
}
