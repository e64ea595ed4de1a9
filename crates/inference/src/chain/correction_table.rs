//! Placeholder.

use super::Component;

/// C and its mixture.
pub(super) const TABLES: [(f64, &[Component]); 0] = [];
