//! The extension module `posterity._native`: what Python calls, and nothing that computes.
//!
//! Each function turns Python values into checked types, releases the interpreter's lock, calls the Rust crates, and turns
//! the answer into Python values. Errors become exceptions with `code`, `message` and `hint` ([`failure`]).
//!
//! Not supported: interpreters without a lock of their own are run with one, and sub-interpreters are refused by PyO3.

mod accounting;
mod event;
mod failure;
mod profile;

use pyo3::prelude::*;

/// The module. Its names are described in `python/posterity/_native.pyi`.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::accounting::{Bounds, Calibration, StepCount, accountants, calibrate, delta, epsilon, steps};
    #[pymodule_export]
    use crate::event::{Event, read_events};
    #[pymodule_export]
    use crate::profile::{Profile, profile};

    /// The version of the crates.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
