//! The table of `reproduce` for a terminal: rows are methods, and every column of the study has a part of its own.

use super::reproduce::Cell;
use crate::report;

/// What stands where there is no number.
const NOTHING: &str = "–";

/// Widths, and whether there is a paper to be seen beside.
struct Shape {
    names: usize,
    published: bool,
    /// One seed was run: there are no quartiles.
    single: bool,
}

/// What a column's methods are compared by.
#[derive(Clone, Copy)]
enum Kind {
    /// Accuracy and log-likelihood, means over seeds.
    Classes,
    /// Mean absolute error, its median and quartiles over seeds, and the coverage of intervals.
    Errors,
    /// Divergence from the exact posterior, its median and tenths over seeds.
    Divergence,
    /// Errors of moments of draws, how often these moved, and what they are worth; means over seeds.
    Moments,
}

/// All columns, one after the other.
pub(super) fn table(cells: &[Cell]) -> String {
    let names = cells.iter().map(|c| c.row.chars().count()).max().unwrap_or(0).max(6);
    let shape =
        Shape { names, published: cells.iter().any(|c| c.paper.is_some()), single: cells.iter().all(|c| c.seeds < 2) };
    let part = |column: &[Cell]| {
        let kind = Kind::of(column);
        let rows = column.chunk_by(|a, b| a.row == b.row);
        let rows: String = rows.filter_map(|row| kind.line(row, &shape)).collect();
        format!("{}\n{}{rows}", column[0].column, kind.head(&shape))
    };
    cells.chunk_by(|a, b| a.column == b.column).map(part).collect::<Vec<_>>().join("\n")
}

impl Kind {
    fn of(column: &[Cell]) -> Self {
        let has = |metric: &str| column.iter().any(|cell| cell.metric == metric);
        match (has("mean_error"), has("kl"), has("absolute_error")) {
            (true, ..) => Self::Moments,
            (false, true, _) => Self::Divergence,
            (false, false, true) => Self::Errors,
            (false, false, false) => Self::Classes,
        }
    }

    fn head(self, shape: &Shape) -> String {
        let heads = match (self, shape.published) {
            (Self::Moments, _) => "error of means     of variances       moved  bulk ESS        ε  messages",
            (Self::Divergence, _) if shape.single => "       KL    paper        ε  messages",
            (Self::Errors, true) if shape.single => "     MAE    paper  coverage        ε  messages",
            (Self::Errors, false) if shape.single => "     MAE  coverage        ε  messages",
            (Self::Divergence, _) => "KL median     10 %      90 %    paper        ε  messages",
            (Self::Errors, true) => "MAE median     25 %     75 %    paper  coverage        ε  messages",
            (Self::Errors, false) => "MAE median     25 %     75 %  coverage        ε  messages",
            (Self::Classes, true) => "accuracy    paper  log-lik.    paper        ε  messages",
            (Self::Classes, false) => "accuracy  log-lik.        ε  messages",
        };
        format!("{:1$}  {heads}\n", "method", shape.names)
    }

    /// The line of one method; none where it has nothing to compare: a constant answer has no posterior.
    fn line(self, row: &[Cell], shape: &Shape) -> Option<String> {
        let of = |metric: &str| row.iter().find(|cell| cell.metric == metric);
        let ours = |metric: &str| number(of(metric).map(|cell| cell.ours));
        let paper = |metric: &str| number(of(metric).and_then(|cell| cell.paper));
        let numbers = match self {
            Self::Divergence => divergence(of("kl")?, shape.single),
            Self::Moments => {
                let means = spread(of("mean_error")?, shape.single);
                let variances = of("variance_error").map_or_else(String::new, |cell| spread(cell, shape.single));
                let worth = of("bulk_ess").map_or_else(|| NOTHING.to_owned(), |cell| format!("{:.0}", cell.ours));
                format!("{means:>14}  {variances:>14}  {:>10}  {worth:>8}", ours("moved"))
            }
            Self::Errors => {
                let found = of("absolute_error")?;
                let [median, quarter, three] = [found.median, found.quarter, found.three_quarters].map(report::error);
                let paper = if shape.published { format!(" {:>8}", number(found.paper)) } else { String::new() };
                let middle =
                    if shape.single { format!("{median:>8}") } else { format!("{median:>10} {quarter:>8} {three:>8}") };
                format!("{middle}{paper}  {:>8}", ours("coverage"))
            }
            Self::Classes if shape.published => {
                let [accuracy, likelihood] =
                    ["accuracy", "log_likelihood"].map(|m| format!("{:>8} {:>8}", ours(m), paper(m)));
                format!("{accuracy}  {likelihood}")
            }
            Self::Classes => format!("{:>8}  {:>8}", ours("accuracy"), ours("log_likelihood")),
        };
        let Cell { row: name, epsilon, messages, .. } = &row[0];
        let epsilon = epsilon.map_or_else(|| "none".to_owned(), |e| format!("{e:.4}"));
        Some(format!("{name:0$}  {numbers}  {epsilon:>7}  {messages:>8.0}\n", shape.names))
    }
}

/// A mean over seeds, and its standard error where there are several.
fn spread(cell: &Cell, single: bool) -> String {
    let error = cell.sd / (cell.seeds as f64).sqrt();
    if single { format!("{:.4}", cell.ours) } else { format!("{:.3} ± {error:.3}", cell.ours) }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.4}"))
}

/// The middle and the tenths of a divergence from the exact posterior, and the paper's.
fn divergence(kl: &Cell, single: bool) -> String {
    let [median, low, high] = [kl.median, kl.low, kl.high].map(report::divergence);
    let paper = kl.paper.map_or_else(|| NOTHING.to_owned(), |p| format!("{p:.1}"));
    if single { format!("{median:>9} {paper:>8}") } else { format!("{median:>9} {low:>8}  {high:>8} {paper:>8}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(row: &str, metric: &'static str, (ours, median, paper): (f64, f64, Option<f64>)) -> Cell {
        let (column, epsilon) = ("red".to_owned(), (row != "none").then_some(1.0));
        let (low, high, quarter, three_quarters) = (0.5 * median, 2.0 * median, 0.9 * median, 1.1 * median);
        Cell {
            row: row.to_owned(),
            column,
            metric,
            paper,
            seeds: 25,
            ours,
            sd: 0.1,
            median,
            low,
            high,
            quarter,
            three_quarters,
            epsilon,
            messages: 200.0,
        }
    }

    #[test]
    fn errors_have_medians_quartiles_and_coverage() {
        let cells = |paper| {
            [("mine", paper), ("none", None)].map(|(row, paper)| {
                [
                    cell(row, "log_likelihood", (-1.0, -1.0, None)),
                    cell(row, "absolute_error", (9.0, 1.0, paper)),
                    cell(row, "coverage", (0.89, 0.5, None)),
                ]
            })
        };
        let beside = table(&cells(Some(1.02)).concat());
        let expected = "red\n\
                        method  MAE median     25 %     75 %    paper  coverage        ε  messages\n\
                        mine        1.0000   0.9000   1.1000   1.0200    0.8900   1.0000       200\n\
                        none        1.0000   0.9000   1.1000        –    0.8900     none       200\n";
        assert_eq!(beside, expected);
        let alone = table(&cells(None).concat());
        assert!(alone.contains("1.0000   0.9000   1.1000    0.8900   1.0000       200\n"), "{alone}");
        assert!(!alone.contains("paper"));
    }

    #[test]
    fn of_one_seed_there_is_a_value_and_no_spread() {
        let one = |metric, value, paper| Cell { seeds: 1, ..cell("mine", metric, (value, value, paper)) };
        let expected = "red\n\
                        method       MAE  coverage        ε  messages\n\
                        mine      1.0000    0.8900   1.0000       200\n";
        assert_eq!(table(&[one("absolute_error", 1.0, None), one("coverage", 0.89, None)]), expected);
        let expected = "red\n\
                        method         KL    paper        ε  messages\n\
                        mine        2.000      3.0   1.0000       200\n";
        assert_eq!(table(&[one("kl", 2.0, Some(3.0))]), expected);
    }

    #[test]
    fn classes_have_means_and_divergences_their_tenths() {
        let cells =
            [cell("mine", "accuracy", (0.85, 0.8, Some(0.84))), cell("mine", "log_likelihood", (-0.31, -0.3, None))];
        let expected = "red\n\
                        method  accuracy    paper  log-lik.    paper        ε  messages\n\
                        mine      0.8500   0.8400   -0.3100        –   1.0000       200\n";
        assert_eq!(table(&cells), expected);
        let cells = [
            cell("mine", "log_likelihood", (-1.0, -1.0, None)),
            cell("mine", "kl", (9.0, 2.0, None)),
            cell("none", "log_likelihood", (-2.0, -2.0, None)),
        ];
        let expected = "red\n\
                        method  KL median     10 %      90 %    paper        ε  messages\n\
                        mine        2.000    1.000     4.000        –   1.0000       200\n";
        assert_eq!(table(&cells), expected, "a constant answer has no posterior to compare");
    }
}
