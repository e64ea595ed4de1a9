//! From a file's bytes to encoded rows at their sites: schema, table, encoding, splits, partitions.
//!
//! | step | type | file |
//! |---|---|---|
//! | what columns mean, in public constants | [`Schema`] | `schema` |
//! | lines of a CSV, gzipped or not | `Lines` | `line` |
//! | one line to one encoded row | [`RowReading`] | `encode` |
//! | a whole table | [`Encoded`], [`read`] | `table` |
//! | what in a table its schema does not allow | [`TableExam`], [`examine`] | `examine` |
//! | encoded rows, stored hybrid | [`Rows`], [`Row`] | `rows` |
//! | what tells rows apart | [`RowKeys`], [`RecordId`] | `keys` |
//! | which rows are held out | [`Split`] | `split` |
//! | which rows go to which client | [`Partition`] | `partition` |
//! | sites with their rows | [`Federation`], [`Site`], [`Shard`] | `federation`, `shard` |
//!
//! Nothing is estimated from rows: centres, scales, bounds and levels are constants of the schema. A
//! study reads strictly and stops at the first cell that the schema does not cover. An agent reads
//! leniently, because an error or a count would tell about a row ([`RowReading`]).
//!
//! # Examples
//! A small table, encoded and dealt to two sites:
//! ```
//! use inference::{Federation, Partition, RowReading, Schema, Split, read};
//! use std::collections::BTreeMap;
//!
//! let schema = Schema::from_toml(r#"
//!     outcome = { column = "ill", levels = ["no", "yes"] }
//!     column = [
//!         { name = "age", kind = "numeric", centre = 50, scale = 10, bounds = [0, 110] },
//!         { name = "ward", kind = "category", levels = ["a", "b"] },
//!         { name = "site", kind = "ignore" },
//!     ]
//! "#)?;
//! let csv = "site,age,ward,ill\nnorth,60,a,yes\nnorth,40,b,no\nsouth,70,b,yes\nsouth,30,a,no\n";
//! let table = read(csv.as_bytes(), &schema, true, &["site"], RowReading::Strict)?;
//! assert_eq!(table.inputs, ["age", "ward=a", "ward=b", "intercept"]);
//! assert_eq!(table.rows.row(0).to_dense(4), [1.0, 1.0, 0.0, 1.0]);
//!
//! let by_site = Partition::Column { column: "site".into(), at_most: BTreeMap::new() };
//! let federation = Federation::new(&table, &Split::Rows { test: 1 }, &by_site, 7)?;
//! assert_eq!(federation.sites.iter().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["north", "south"]);
//! assert_eq!(federation.test.len(), 1);
//! # Ok::<(), inference::DataError>(())
//! ```

mod draw;
mod drawn_labels;
mod encode;
mod examine;
mod federation;
mod inputs;
mod keys;
mod layout;
mod line;
mod logistic;
mod nearest;
mod partition;
mod row_law;
mod rows;
mod schema;
mod shard;
mod split;
mod synthetic;
mod synthetic_conjugate;
mod table;
mod units;

pub use drawn_labels::drawn_coefficients;
pub use encode::RowReading;
pub use examine::{ColumnExam, TableExam, examine};
pub use federation::{Federation, Site, persons_at_one_site};
pub use inputs::read_inputs;
pub use keys::{PersonKey, RecordId, RowKeys};
pub use layout::InputLayout;
pub use logistic::{Design, DrawnLogistic, NUMBER_BOUNDS, SyntheticLogistic};
pub use nearest::nearest;
pub use partition::{Dealt, Partition, Skew};
pub use row_law::RowLaw;
pub use rows::{Row, Rows};
pub use schema::{Column, Kind, Missing, Numeric, Only, Outcome, OutcomeKind, SCHEMA_KEYS, Schema, ToldEffect};
pub use shard::Shard;
pub use split::Split;
pub use synthetic::{Drawn, SyntheticLinear, SyntheticMixture};
pub use synthetic_conjugate::{DrawnConjugate, SyntheticConjugate};
pub use table::{Encoded, agree, header, read};
pub use units::UnitBatch;

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of n rows, of which so many in a row are each person's.
    pub(crate) fn of_persons(n: u64, each: u64) -> RowKeys {
        let person = |row: u64| PersonKey { slot: row / each, id: RecordId::of(&(row / each).to_string()) };
        RowKeys::of_slots((0..n).collect()).with_persons((0..n).map(person).collect())
    }

    /// A table of n rows, of which the first so many are positive, at sites s0, s1, s2 in turn.
    pub(crate) fn table(n: usize, ones: usize) -> Encoded {
        let mut rows = Rows::new(1, 1).unwrap();
        for i in 0..n {
            rows.push(Row { numbers: &[i as f64], ones: &[], outcome: f64::from(u8::from(i < ones)) }).unwrap();
        }
        let site = (0..n).map(|i| format!("s{}", i % 3)).collect();
        let columns = [("site".to_owned(), site)].into();
        Encoded { rows, keys: RowKeys::of_slots((0..n as u64).collect()), inputs: vec!["x".into()], columns }
    }
}
