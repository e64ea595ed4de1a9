//! Tables of a finished run for other programs and for papers: effects, scores and privacy, as CSV, LaTeX or JSON.

mod latex;

use crate::digits::shortest;
use crate::run_results::RunResults;
use inference::Intervals;
use inference::results::{MethodResult, PrivacyResult};
use inference::score::Scores;
use serde_json::{Value, json};

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum ExportCell {
    /// Words.
    Text(String),
    /// A number.
    Number(f64),
    /// No value.
    Nothing,
}

impl From<&str> for ExportCell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for ExportCell {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<f64> for ExportCell {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Nothing }
    }
}

impl<T: Into<Self>> From<Option<T>> for ExportCell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nothing, Into::into)
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportTable {
    /// "effects", "parameters", "scores" or "privacy".
    pub name: &'static str,
    /// One sentence about it.
    pub caption: String,
    /// Names of the columns.
    pub columns: &'static [&'static str],
    /// Its rows.
    pub rows: Vec<Vec<ExportCell>>,
}

/// The tables of a run that have rows.
pub fn tables(run: &RunResults) -> Vec<ExportTable> {
    let mut found = vec![effects(run), parameters(run)];
    match run {
        RunResults::Simulation(results) => {
            found.extend([scores(run, &results.methods), privacy(run, &results.methods)])
        }
        RunResults::Fit(fit) => found.push(ExportTable {
            name: "privacy",
            caption: "What was promised, and what it cost".to_owned(),
            columns: PRIVACY,
            rows: vec![vec![
                (&fit.method).into(),
                (&fit.privacy.unit).into(),
                (&fit.privacy.adjacency).into(),
                "none".into(),
                fit.privacy.epsilon.into(),
                fit.privacy.delta.into(),
                fit.privacy.spent_epsilon.into(),
                (&fit.privacy.promise).into(),
                made_by(run),
            ]],
        }),
    }
    found.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

const EFFECTS: &[&str] = &[
    "method",
    "outcome",
    "levels",
    "input",
    "comparison",
    "scale",
    "estimate",
    "lower",
    "upper",
    "probability_over_null",
    "interval_left_out",
    "made_by",
];

/// Who made a run, in every line of its tables: a table is often read without the page that says it.
fn made_by(run: &RunResults) -> ExportCell {
    match run {
        RunResults::Simulation(_) => "simulation: protects nobody",
        RunResults::Fit(_) => "fit",
    }
    .into()
}

/// Odds ratios or differences; without intervals and probabilities where these are not to be relied on, and with the reason.
fn effects(run: &RunResults) -> ExportTable {
    let mut rows = Vec::new();
    for method in run.methods() {
        let Some(effects) = method.effects else { continue };
        for one in &effects.effects {
            let [estimate, lower, upper] = one.shown(effects.scale);
            let scale = match effects.scale {
                inference::effects::EffectScale::OddsRatio => "odds ratio",
                inference::effects::EffectScale::Difference => "difference",
            };
            let sure = |value: f64| method.shows_intervals().then_some(value);
            rows.push(vec![
                method.method.into(),
                (&effects.outcome).into(),
                one.of.as_ref().or(effects.level.as_ref()).into(),
                (&one.input).into(),
                (&one.comparison).into(),
                scale.into(),
                estimate.into(),
                sure(lower).into(),
                sure(upper).into(),
                sure(one.positive).into(),
                method.intervals.and_then(Intervals::not_shown).into(),
                made_by(run),
            ]);
        }
    }
    let caption = "Effects with 95 % intervals. Intervals are left out where they do not count the noise that was added for privacy, or did not hold \
                   where that was measured.";
    ExportTable { name: "effects", caption: caption.to_owned(), columns: EFFECTS, rows }
}

const PARAMETERS: &[&str] =
    &["method", "parameter", "mean", "standard_deviation", "median", "lower", "upper", "interval_left_out", "made_by"];

/// Parameters of posteriors that are known by their quantiles, with 95 % intervals where these are to be relied on.
fn parameters(run: &RunResults) -> ExportTable {
    let mut rows = Vec::new();
    for method in run.methods() {
        for one in method.coefficients {
            let Some(quantiles) = one.quantiles else { continue };
            let (lower, upper) = quantiles.ends();
            let sure = |value: f64| method.shows_intervals().then_some(value);
            rows.push(vec![
                method.method.into(),
                (&one.name).into(),
                one.mean.into(),
                sure(one.deviation).into(),
                sure(quantiles.median()).into(),
                sure(lower).into(),
                sure(upper).into(),
                method.intervals.and_then(Intervals::not_shown).into(),
                made_by(run),
            ]);
        }
    }
    let caption = "Parameters with 95 % intervals, of posteriors that are known by their quantiles.";
    ExportTable { name: "parameters", caption: caption.to_owned(), columns: PARAMETERS, rows }
}

const SCORES: &[&str] = &[
    "method",
    "score",
    "mean",
    "standard_deviation",
    "seeds",
    "less_non_private",
    "standard_error_of_difference",
    "made_by",
];

/// Every score of every method, with its paired difference to the non-private baseline.
fn scores(run: &RunResults, methods: &[MethodResult]) -> ExportTable {
    let mut rows = Vec::new();
    for method in methods {
        let open = method.compared.iter().find(|compared| compared.baseline == "non-private");
        for (score, summary) in method.scores.iter() {
            let difference = open.and_then(|open| Scores::get(&open.differences, score.name));
            rows.push(vec![
                (&method.name).into(),
                score.name.into(),
                summary.mean.into(),
                (summary.per_seed.len() > 1).then_some(summary.sd).into(),
                (summary.per_seed.len() as f64).into(),
                difference.map(|difference| difference.mean).into(),
                difference.and_then(|difference| difference.standard_error).into(),
                made_by(run),
            ]);
        }
    }
    let caption = "Scores on held-out rows. Differences are paired over seeds. No guarantee covers these numbers.";
    ExportTable { name: "scores", caption: caption.to_owned(), columns: SCORES, rows }
}

const PRIVACY: &[&str] =
    &["method", "unit", "adjacency", "aggregator", "epsilon", "delta", "certified_epsilon", "promise", "made_by"];

/// A promise as a fit tells it: not as a sentence about a method.
fn bare<'a>(method: &str, promise: &'a str) -> &'a str {
    let told = promise.strip_prefix(method).and_then(|rest| rest.strip_prefix(" promises "));
    told.map_or(promise, |told| told.strip_suffix('.').unwrap_or(told))
}

fn privacy(run: &RunResults, methods: &[MethodResult]) -> ExportTable {
    let row = |(name, privacy): (&String, &PrivacyResult)| {
        vec![
            name.into(),
            (&privacy.unit).into(),
            (&privacy.adjacency).into(),
            (&privacy.aggregator).into(),
            privacy.epsilon.into(),
            privacy.delta.into(),
            privacy.clients.iter().map(|client| client.certified).reduce(f64::max).into(),
            bare(name, &privacy.promise).into(),
            made_by(run),
        ]
    };
    let private = methods.iter().filter_map(|method| Some((&method.name, method.privacy.as_ref()?)));
    let caption = "What each method would promise if it were served, and what it would cost the site that spends most";
    ExportTable { name: "privacy", caption: caption.to_owned(), columns: PRIVACY, rows: private.map(row).collect() }
}

impl ExportTable {
    /// As CSV with a header; numbers in all their digits, no value as an empty cell.
    pub fn csv(&self) -> String {
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let cell = |cell: &ExportCell| match cell {
            ExportCell::Text(text) => quoted(text),
            ExportCell::Number(number) => shortest(*number),
            ExportCell::Nothing => String::new(),
        };
        let head = line(self.columns.iter().map(|&name| name.to_owned()).collect());
        head + &self.rows.iter().map(|row| line(row.iter().map(cell).collect())).collect::<String>()
    }

    /// As a LaTeX `table` that needs no package.
    pub fn latex(&self) -> String {
        latex::table(self)
    }

    /// As a list of objects.
    pub fn json(&self) -> Value {
        let value = |cell: &ExportCell| match cell {
            ExportCell::Text(text) => json!(text),
            ExportCell::Number(number) => json!(number),
            ExportCell::Nothing => Value::Null,
        };
        let row = |row: &Vec<ExportCell>| -> Value {
            self.columns
                .iter()
                .zip(row)
                .map(|(name, cell)| ((*name).to_owned(), value(cell)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        self.rows.iter().map(row).collect()
    }
}

/// A text as a cell, in quotes where it has to be.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ExportTable {
        let row = |name: &str, number: f64| vec![name.into(), number.into(), ExportCell::Nothing];
        let rows = vec![row("a, \"b\" & c_1", 1.0 / 3.0), row("x", f64::NAN)];
        ExportTable { name: "scores", caption: "50 % of it".into(), columns: &["method", "mean_value", "none"], rows }
    }

    #[test]
    fn csv_reads_back_to_the_same_numbers_and_names() {
        let text = table().csv();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!((&rows[0][0], rows[0][1].parse::<f64>().unwrap()), ("a, \"b\" & c_1", 1.0 / 3.0));
        assert_eq!((&rows[1][1], &rows[1][2]), ("", ""));
    }

    #[test]
    fn json_has_an_object_for_each_row() {
        let rows = table().json();
        assert_eq!((&rows[0]["mean_value"], &rows[1]["mean_value"]), (&json!(1.0 / 3.0), &Value::Null));
    }

    #[test]
    fn latex_escapes_what_it_would_read_as_commands() {
        let text = table().latex();
        assert!(text.contains("a, \"b\" \\& c\\_1 & 0.3333 & --- \\\\"), "{text}");
        assert!(text.contains("\\caption{50 \\% of it}") && text.contains("{lrr}"), "{text}");
    }
}
