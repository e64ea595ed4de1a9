//! Coverage of coefficients, cell by cell: a study with known coefficients, each method beside the non-private posterior of the same
//! replicates.

use inference::recovery::{Recovery, RecoveryResult};
use inference::results::{Results, Summary};
use serde::Serialize;

/// The nominal level by which cells are judged.
pub const JUDGED: f64 = 0.9;

/// Coverage at [`JUDGED`] that is called honest.
const HONEST: (f64, f64) = (0.86, 0.94);

/// How far a method may be from the non-private posterior of the same replicates and still be called honest.
const NEAR: f64 = 0.04;

/// A share over replicates, with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoverageShare {
    /// Mean over replicates.
    pub mean: f64,
    /// Standard error of the mean: coefficients of one replicate are not independent, so it is that of replicates. None of one
    /// replicate.
    pub error: Option<f64>,
}

impl CoverageShare {
    fn of(summary: &Summary) -> Self {
        let n = summary.per_seed.len();
        Self { mean: summary.mean, error: (n > 1).then(|| summary.sd / (n as f64).sqrt()) }
    }
}

/// One method on one column of a study with known coefficients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoverageCell {
    /// The data.
    pub column: String,
    /// The method.
    pub method: String,
    /// Seeds, each with coefficients or labels, rows and noise of its own.
    pub replicates: usize,
    /// Coverage of intervals of 50, 80, 90 and 95 %.
    pub covered: [CoverageShare; 4],
    /// Coverage of the non-private posterior at 90 %.
    pub non_private: CoverageShare,
    /// Mean error of the method's coefficients divided by that of the non-private posterior.
    pub error_ratio: f64,
}

impl CoverageCell {
    /// Nominal levels of [`CoverageCell::covered`].
    pub fn nominal() -> [f64; 4] {
        Recovery::nominal()
    }

    /// Coverage at [`JUDGED`].
    pub fn judged(&self) -> CoverageShare {
        self.covered[2]
    }

    /// Whether coverage at 90 % is within 86 to 94 %, or within 4 points of the non-private posterior.
    pub fn is_honest(&self) -> bool {
        let covered = self.judged().mean;
        // Half a hundred-thousandth for what decimals cannot say.
        let slack = 5e-6;
        let inside = covered >= HONEST.0 - slack && covered <= HONEST.1 + slack;
        inside || (covered - self.non_private.mean).abs() <= NEAR + slack
    }
}

/// The cells of one column: every method that is no baseline, where the coefficients are known and the non-private posterior is there.
pub fn coverage_cells(column: &str, results: &Results) -> Vec<CoverageCell> {
    let Some(beside) = results.methods.iter().find(|m| m.algorithm == "non-private").and_then(|m| m.recovery.as_ref())
    else {
        return Vec::new();
    };
    let known = results.methods.iter().filter(|method| !method.baseline);
    known.filter_map(|method| cell(column, &method.name, method.recovery.as_ref()?, beside)).collect()
}

fn cell(column: &str, method: &str, found: &RecoveryResult, beside: &RecoveryResult) -> Option<CoverageCell> {
    let mut covered = [CoverageShare { mean: 0.0, error: None }; 4];
    for (at, nominal) in Recovery::nominal().into_iter().enumerate() {
        covered[at] = CoverageShare::of(found.at(nominal)?);
    }
    Some(CoverageCell {
        column: column.to_owned(),
        method: method.to_owned(),
        replicates: found.root_squared_error.per_seed.len(),
        covered,
        non_private: CoverageShare::of(beside.at(JUDGED)?),
        error_ratio: found.root_squared_error.mean / beside.root_squared_error.mean,
    })
}

/// How many of the cells are honest, in a sentence.
pub fn coverage_count(cells: &[CoverageCell]) -> String {
    let honest = cells.iter().filter(|cell| cell.is_honest()).count();
    format!(
        "{honest} of {} cells cover 86 to 94 % at nominal 90 %, or are within 4 points of the non-private posterior.",
        cells.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell_of(covered: f64, non_private: f64) -> CoverageCell {
        let share = |mean| CoverageShare { mean, error: Some(0.01) };
        CoverageCell {
            column: "dense".into(),
            method: "levels".into(),
            replicates: 4,
            covered: [share(0.5), share(0.8), share(covered), share(0.95)],
            non_private: share(non_private),
            error_ratio: 1.5,
        }
    }

    #[test]
    fn a_cell_is_honest_by_its_own_coverage_or_beside_the_non_private_posterior() {
        let honest = [(0.86, 0.9), (0.94, 0.9), (0.97, 0.97), (0.82, 0.86), (0.98, 0.94)];
        assert!(honest.iter().all(|(c, n)| cell_of(*c, *n).is_honest()));
        let not = [(0.85, 0.9), (0.95, 0.9), (0.3, 0.9), (1.0, 0.95)];
        assert!(not.iter().all(|(c, n)| !cell_of(*c, *n).is_honest()));
        let cells: Vec<CoverageCell> = [(0.9, 0.9), (0.5, 0.9)].map(|(c, n)| cell_of(c, n)).into();
        assert!(coverage_count(&cells).starts_with("1 of 2 cells"));
    }

    #[test]
    fn standard_errors_are_those_of_replicates() {
        let share = CoverageShare::of(&Summary::of(vec![0.8, 1.0, 0.9, 0.9]));
        // The deviation of four values is √(.02/3), and its quarter's root a half.
        assert!(
            (share.mean - 0.9).abs() < 1e-12
                && share.error.is_some_and(|e| (e - f64::sqrt(0.02 / 3.0) / 2.0).abs() < 1e-12)
        );
        assert_eq!(CoverageShare::of(&Summary::of(vec![0.8])).error, None);
    }
}
