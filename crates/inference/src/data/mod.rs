//! From a file's bytes to encoded rows at their sites: schema, table, encoding, splits, partitions.

mod draw;
mod encode;
mod federation;
mod inputs;
mod keys;
mod layout;
mod line;
mod nearest;
mod partition;
mod rows;
mod schema;
mod shard;
mod split;
mod synthetic;
mod table;

pub use encode::RowReading;
pub use federation::{Federation, Site};
pub use inputs::read_inputs;
pub use keys::{RecordId, RowKeys};
pub use layout::InputLayout;
pub use nearest::nearest;
pub use partition::{Dealt, Partition, Skew};
pub use rows::{Row, Rows};
pub use schema::{Column, Kind, Missing, Numeric, Only, Outcome, OutcomeKind, SCHEMA_KEYS, Schema};
pub use shard::Shard;
pub use split::Split;
pub use synthetic::{Drawn, SyntheticLinear, SyntheticMixture};
pub use table::{Encoded, agree, header, read};

#[cfg(test)]
mod tests {
    use super::*;

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
