//! Chains of released draws: what they are, how well they have mixed, and the noise that a private acceptance test adds.
//!
//! | file | idea |
//! |---|---|
//! | `draws` | the parameters that a run of chains released |
//! | `correction` | V_cor, with N(0, C) + V_cor nearly logistic: the rest of the noise of Barker's test |
//! | `diagnostics` | R-hat, effective sample sizes and Monte Carlo errors of draws |
//! | `effective` | the effective sample size of chains, by their autocovariances |
//! | `shown` | what a report shows of draws |
//! | `ranks` | draws replaced by normal scores of their ranks |
//! | `beta` | quantiles of the beta distribution |

pub(crate) mod beta;
mod collected;
mod correction;
mod correction_table;
mod diagnostics;
mod draws;
mod effective;
mod ranks;
mod shown;

pub use collected::Collected;
pub use correction::{AcceptanceError, Component, Correction};
pub use diagnostics::{Convergence, Diagnostics, LEVELS, diagnose};
pub use draws::Draws;
pub use shown::{kept, shown};
