//! What a chain needs beside its kernel.

mod correction;
mod correction_table;
pub use correction::{Component, Correction};
