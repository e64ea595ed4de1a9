//! From a file's bytes to encoded rows at their sites: schema, table, encoding, splits, partitions.

mod rows;
mod shard;

pub use rows::{Row, Rows};
pub use shard::Shard;
