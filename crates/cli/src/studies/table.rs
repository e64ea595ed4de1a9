//! The table of `reproduce` for a terminal: rows are methods, and every column of the study has a part of its own.

use inference::score::{Middle, Prominence, Score, ScoredOutcome};
use report::layout::{FittedTable, LayoutColumn, fit, wrapped};
use std::borrow::Cow;
use study::{Cell, DIVERGENCE};

/// What stands where there is no number.
const NOTHING: &str = "–";

/// What all columns have in common.
struct TableShape {
    /// There is a paper to be seen beside.
    published: bool,
    /// One seed was run: there are no quartiles.
    single: bool,
}

/// One number of a line under its heading.
type Number = (Cow<'static, str>, String);

/// What a column's methods are compared by.
enum CellKind {
    /// Scores on held-out rows, their means, or medians and quartiles, over seeds. Where an outcome is a number, those of numbers alone.
    HeldOut(Vec<&'static Score>),
    /// Divergence from the exact posterior, its median and tenths over seeds.
    Divergence,
    /// Errors of moments of draws, how often these moved, and what they are worth; means over seeds.
    Moments,
}

/// Columns that are kept while names still have room: the name, the score and the paper's.
const LEAST: usize = 3;

/// All columns, one after the other, in lines of at most so many letters.
pub(super) fn table(cells: &[Cell], width: Option<usize>) -> String {
    let shape =
        TableShape { published: cells.iter().any(|c| c.paper.is_some()), single: cells.iter().all(|c| c.seeds < 2) };
    let part = |column: &[Cell]| {
        let kind = CellKind::of(column);
        let rows: Vec<(&str, Vec<Number>)> =
            column.chunk_by(|a, b| a.row == b.row).filter_map(|row| kind.line(row, &shape)).collect();
        format!("{}\n{}", column[0].column, laid_out(&rows, width))
    };
    cells.chunk_by(|a, b| a.column == b.column).map(part).collect::<Vec<_>>().join("\n")
}

/// Lines of names and numbers as a table that fits.
fn laid_out(rows: &[(&str, Vec<Number>)], width: Option<usize>) -> String {
    let mut columns = vec![LayoutColumn {
        heading: "method".into(),
        cells: rows.iter().map(|(name, _)| (*name).to_owned()).collect(),
    }];
    let headings = rows.first().into_iter().flat_map(|(_, numbers)| numbers).map(|(heading, _)| heading.clone());
    for (at, heading) in headings.enumerate() {
        let cells =
            rows.iter().map(|(_, numbers)| numbers.get(at).map_or_else(String::new, |(_, number)| number.clone()));
        columns.push(LayoutColumn { heading, cells: cells.collect() });
    }
    let FittedTable { head, rows, left_out, cut } = fit(columns, width.unwrap_or(usize::MAX), LEAST);
    let mut text = head + "\n";
    rows.iter().flatten().for_each(|line| text += &format!("{line}\n"));
    let mut remarks: Vec<String> = cut.iter().map(|(shown, full)| format!("{shown} is {full}")).collect();
    if !left_out.is_empty() {
        remarks.push(format!("more: {} in the report and in a wider terminal", left_out.join(", ")));
    }
    for line in remarks.iter().flat_map(|words| wrapped(words, width.unwrap_or(usize::MAX))) {
        text += &format!("{line}\n");
    }
    text
}

impl CellKind {
    fn of(column: &[Cell]) -> Self {
        let has = |metric: &str| column.iter().any(|cell| cell.metric == metric);
        match (has("mean_error"), has(DIVERGENCE)) {
            (true, _) => Self::Moments,
            (false, true) => Self::Divergence,
            (false, false) => Self::HeldOut(scores(column)),
        }
    }

    /// The line of one method; none where it has nothing to compare: a constant answer has no posterior.
    fn line<'a>(&self, row: &'a [Cell], shape: &TableShape) -> Option<(&'a str, Vec<Number>)> {
        let of = |metric: &str| row.iter().find(|cell| cell.metric == metric);
        let ours = |metric: &str| number(of(metric).map(|cell| cell.ours));
        let mut numbers = match self {
            Self::Divergence => divergence(of(DIVERGENCE)?, shape.single),
            Self::Moments => {
                let variances = of("variance_error").map_or_else(String::new, |cell| spread(cell, shape.single));
                let worth = of("bulk_ess").map_or_else(|| NOTHING.to_owned(), |cell| format!("{:.0}", cell.ours));
                let means = spread(of("mean_error")?, shape.single);
                vec![
                    ("error of means".into(), means),
                    ("of variances".into(), variances),
                    ("moved".into(), ours("moved")),
                    ("bulk ESS".into(), worth),
                ]
            }
            Self::HeldOut(scores) => {
                scores.iter().find(|score| of(score.name).is_some())?;
                scores.iter().flat_map(|score| held_out(score, of(score.name), shape)).collect()
            }
        };
        let Cell { row: name, epsilon, messages, .. } = &row[0];
        numbers.push(("ε".into(), epsilon.map_or_else(|| "none".to_owned(), |e| format!("{e:.4}"))));
        numbers.push(("messages".into(), format!("{messages:.0}")));
        Some((name.as_str(), numbers))
    }
}

/// The scores of a column; where the outcome is a number, those of numbers alone.
fn scores(column: &[Cell]) -> Vec<&'static Score> {
    let mut found: Vec<&'static Score> = Score::shown_in(Prominence::Reproduced).collect();
    found.retain(|score| column.iter().any(|cell| cell.metric == score.name));
    if found.iter().any(|score| score.outcome == ScoredOutcome::Number) {
        found.retain(|score| score.outcome == ScoredOutcome::Number);
    }
    found
}

/// The middle of a score, its quartiles where that is a median, and the paper's.
fn held_out(score: &Score, cell: Option<&Cell>, shape: &TableShape) -> Vec<Number> {
    let error = |of: fn(&Cell) -> f64| cell.map_or_else(|| NOTHING.to_owned(), |cell| report::error(of(cell)));
    let mut numbers: Vec<Number> = match (score.middle, shape.single) {
        (Middle::Mean, _) => vec![(score.short.into(), number(cell.map(|cell| cell.ours)))],
        (Middle::Median, true) => vec![(score.short.into(), error(|cell| cell.median))],
        (Middle::Median, false) => vec![
            (format!("{} median", score.short).into(), error(|cell| cell.median)),
            ("25 %".into(), error(|cell| cell.quarter)),
            ("75 %".into(), error(|cell| cell.three_quarters)),
        ],
    };
    let beside = shape.published && score.is_shown_in(Prominence::Leading);
    numbers.extend(beside.then(|| ("paper".into(), number(cell.and_then(|cell| cell.paper)))));
    numbers
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
fn divergence(kl: &Cell, single: bool) -> Vec<Number> {
    let [median, low, high] = [kl.median, kl.low, kl.high].map(report::divergence);
    let paper = ("paper".into(), kl.paper.map_or_else(|| NOTHING.to_owned(), |p| format!("{p:.1}")));
    match single {
        true => vec![("KL".into(), median), paper],
        false => vec![("KL median".into(), median), ("10 %".into(), low), ("90 %".into(), high), paper],
    }
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
            agreement: None,
            why: None,
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
        let beside = table(&cells(Some(1.02)).concat(), None);
        let expected = "red\n\
                        method  MAE median    25 %    75 %   paper  coverage       ε  messages\n\
                        mine        1.0000  0.9000  1.1000  1.0200    0.8900  1.0000       200\n\
                        none        1.0000  0.9000  1.1000       –    0.8900    none       200\n";
        assert_eq!(beside, expected);
        let alone = table(&cells(None).concat(), None);
        assert!(alone.contains("1.0000  0.9000  1.1000    0.8900  1.0000       200\n"), "{alone}");
        assert!(!alone.contains("paper"));
    }

    #[test]
    fn a_long_name_runs_over_lines_and_no_word_is_split() {
        let name = "partitioned variational inference with natural gradients, trusted sum";
        let cells =
            [cell(name, "accuracy", (0.85, 0.8, Some(0.84))), cell(name, "log_likelihood", (-0.31, -0.3, None))];
        for width in [60, 80, 120, 170] {
            let text = table(&cells, Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
            let mut words = text.split_whitespace();
            assert!(name.split(' ').all(|word| words.any(|found| found == word)), "{width}\n{text}");
            assert!(text.contains("0.8500") && text.contains("0.8400"), "{width}\n{text}");
        }
    }

    #[test]
    fn of_one_seed_there_is_a_value_and_no_spread() {
        let one = |metric, value, paper| Cell { seeds: 1, ..cell("mine", metric, (value, value, paper)) };
        let expected = "red\n\
                        method     MAE  coverage       ε  messages\n\
                        mine    1.0000    0.8900  1.0000       200\n";
        assert_eq!(table(&[one("absolute_error", 1.0, None), one("coverage", 0.89, None)], None), expected);
        let expected = "red\n\
                        method     KL  paper       ε  messages\n\
                        mine    2.000    3.0  1.0000       200\n";
        assert_eq!(table(&[one("kl", 2.0, Some(3.0))], None), expected);
    }

    #[test]
    fn classes_have_means_and_divergences_their_tenths() {
        let cells =
            [cell("mine", "accuracy", (0.85, 0.8, Some(0.84))), cell("mine", "log_likelihood", (-0.31, -0.3, None))];
        let expected = "red\n\
                        method  accuracy   paper  log-lik.  paper       ε  messages\n\
                        mine      0.8500  0.8400   -0.3100      –  1.0000       200\n";
        assert_eq!(table(&cells, None), expected);
        let cells = [
            cell("mine", "log_likelihood", (-1.0, -1.0, None)),
            cell("mine", "kl", (9.0, 2.0, None)),
            cell("none", "log_likelihood", (-2.0, -2.0, None)),
        ];
        let expected = "red\n\
                        method  KL median   10 %   90 %  paper       ε  messages\n\
                        mine        2.000  1.000  4.000      –  1.0000       200\n";
        assert_eq!(table(&cells, None), expected, "a constant answer has no posterior to compare");
    }
}
