//! Special functions that the `libm` crate lacks.
