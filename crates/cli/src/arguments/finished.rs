//! The arguments of the commands that read a finished run: `export`, `compare`, `predict`, `report` and `sample`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Shown by `posterity compare --help`.
pub(super) const COMPARE_HELP: &str = "\
Scores are compared if both runs are simulations of the same rows, split and partition; differences are
second less first, paired by the seeds that both have. Effects are compared if the outcome is the same.
What cannot be compared is listed with the reason. Exit code 2 if neither can be compared.";

/// Shown by `posterity sample --help`.
pub(super) const SAMPLE_HELP: &str = "\
Methods with Markov chains write the draws of their chains. All other methods write independent draws
from their Gaussian posterior. A finished run is not run again: draws come from its stored posteriors.";

/// The arguments of `posterity export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Directory of a finished run or fit, or its results.json
    #[arg(value_name = "RUN")]
    pub(crate) results: PathBuf,
    /// Format of the tables
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: ExportFormat,
    /// Print this table only, instead of writing files
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) table: Option<ExportName>,
    /// Folder for the files [default: tables beside the results]
    #[arg(long, value_name = "DIR", conflicts_with = "table")]
    pub(crate) out: Option<PathBuf>,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Comma-separated values, numbers in all their digits
    Csv,
    /// LaTeX tables that need no package, numbers in four digits
    Latex,
}

/// The tables of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportName {
    /// Odds ratios or differences, with intervals where these count the noise
    Effects,
    /// Parameters of a model without inputs, with quantiles of their posteriors
    Parameters,
    /// Scores on held-out rows; a fit has none
    Scores,
    /// Promises and certified costs
    Privacy,
}

/// The arguments of `posterity predict`.
#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    /// Directory of a finished run
    #[arg(value_name = "RESULTS_DIR")]
    pub(crate) results: PathBuf,
    /// Rows to predict, with the columns of the study's data; the outcome may be absent
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) data: PathBuf,
    /// Schema to read the rows with, instead of the one stored with the run
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Method whose posterior to use; required if the study has several
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// Site of the rows, for methods with site intercepts; if omitted, the site is unknown and its intercept follows the prior
    #[arg(long, value_name = "NAME")]
    pub(crate) site: Option<String>,
}

/// The arguments of `posterity sample`.
#[derive(Debug, Args)]
pub(crate) struct SampleArguments {
    /// The study, or the directory of a finished run or fit
    #[arg(value_name = "STUDY.toml|RUN")]
    pub(crate) study: PathBuf,
    /// Output directory [default: draws in runs/NAME, or in the directory of the run]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Use this seed instead of the study's seeds
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// The arguments of `posterity report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Directory of a run, or its results.json
    #[arg(value_name = "DIR|FILE")]
    pub(crate) results: PathBuf,
    /// Output file [default: report.html beside the results]; - writes to standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
