//! From a stored posterior and the rows of a CSV to predictions in the units of the outcome.

use super::engine::{Predicted, Predictions};
use super::posterior::Posterior;
use super::simulator::{likelihood, scale_of};
use crate::failure::Failure;
use flate2::read::MultiGzDecoder;
use inference::{
    DataError, Gaussian, Kind, Numeric, OutcomeKind, Prediction, Reading, Rows, Schema, credible, header, nearest, read,
};
use std::io::Read;

/// Two-sided 95 % quantile of the normal law.
const REACH: f64 = 1.959_963_984_540_054;

/// What an error is about.
const FILE: &str = "the rows to predict";

/// Predicts the rows of a CSV from a stored posterior.
pub(crate) fn predict(posterior: &Posterior, csv: &[u8]) -> Result<Predictions, Failure> {
    let schema =
        Schema::from_toml(&posterior.data_schema).map_err(|e| Failure::data("the schema", e))?.without_record_id();
    let inputs = inputs_only(csv, &schema).map_err(|error| Failure::data(FILE, error))?;
    let table = read(&inputs[..], &schema, posterior.bias, &[], Reading::Strict);
    let table = table.map_err(|error| Failure::data(FILE, error))?;
    if table.inputs != posterior.inputs {
        let message = "the schema makes other inputs of a row than the posterior was learnt with";
        return Err(Failure::usage(message, "leave --schema out: the run stored the schema that fits"));
    }
    let improper = || Failure::usage("the stored posterior is not a proper distribution", "run the study again");
    let q = gaussian(posterior).ok_or_else(improper)?;
    let predictions = likelihood(posterior.model.likelihood()).predict(&table.rows, &q);
    let intervals = intervals(&predictions, &table.rows, &q);
    let (centre, scale) = scale_of(&schema);
    let rows =
        table.keys.slots().iter().zip(predictions.into_iter().zip(intervals)).map(|(id, (prediction, interval))| {
            let (prediction, interval) = in_units(prediction, interval, centre, scale);
            Predicted { row: id + 1, prediction, interval }
        });
    Ok(Predictions { of: predicted(&schema), rows: rows.collect() })
}

fn gaussian(posterior: &Posterior) -> Option<Gaussian> {
    let q = &posterior.posterior;
    match &q.precision {
        Some(precision) => Gaussian::from_precision(q.mean.clone(), precision),
        None => Gaussian::new_diagonal(q.mean.clone(), q.deviation.iter().map(|s| s * s).collect()),
    }
}

/// Of a probability the interval of the posterior, of a number that of the predictive.
fn intervals(predictions: &[Prediction], rows: &Rows, q: &Gaussian) -> Vec<(f64, f64)> {
    let either = |(prediction, credible): (&Prediction, (f64, f64))| match *prediction {
        Prediction::Probability(_) => credible,
        Prediction::Normal { mean, deviation } => (mean - REACH * deviation, mean + REACH * deviation),
    };
    predictions.iter().zip(credible(rows, q, REACH)).map(either).collect()
}

/// Numbers in the units of the outcome; probabilities have none.
fn in_units(prediction: Prediction, interval: (f64, f64), centre: f64, scale: f64) -> (Prediction, (f64, f64)) {
    match prediction {
        Prediction::Normal { mean, deviation } => (
            Prediction::Normal { mean: centre + scale * mean, deviation: scale * deviation },
            (centre + scale * interval.0, centre + scale * interval.1),
        ),
        probability => (probability, interval),
    }
}

/// The outcome, with the level whose probability is given.
fn predicted(schema: &Schema) -> String {
    let outcome = schema.outcome();
    match &outcome.kind {
        OutcomeKind::Classes(levels) => format!("{} = {}", outcome.column, levels.last().map_or("", String::as_str)),
        OutcomeKind::Number(Numeric { .. }) => outcome.column.clone(),
    }
}

/// The columns that are inputs, with an outcome that any row may have: predictions look at nothing else, so an id, a
/// name of a site or an outcome may stand in the file or not.
fn inputs_only(csv: &[u8], schema: &Schema) -> Result<Vec<u8>, DataError> {
    let places = places(&header(csv)?, schema)?;
    let plain: Box<dyn Read + '_> =
        if csv.starts_with(&[0x1f, 0x8b]) { Box::new(MultiGzDecoder::new(csv)) } else { Box::new(csv) };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(plain);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let unwritten = |error: &dyn std::fmt::Display| DataError::Table { line: None, what: error.to_string() };
    let (outcome, example) = (schema.outcome(), schema.outcome().example());
    for (number, record) in reader.records().enumerate() {
        let record = record.map_err(|error| broken(&error))?;
        let cells = places.iter().map(|place| record.get(*place).unwrap_or_default());
        let last = if number == 0 { &outcome.column } else { &example };
        writer.write_record(cells.chain([last.as_str()])).map_err(|e| unwritten(&e))?;
    }
    writer.into_inner().map_err(|e| unwritten(&e))
}

/// Where the inputs stand in the file; one that does not is refused with the names of all.
fn places(header: &[String], schema: &Schema) -> Result<Vec<usize>, DataError> {
    let inputs = || schema.columns().iter().filter(|c| c.kind != Kind::Ignore).map(|c| c.name.as_str());
    let found = |name: &str| header.iter().position(|other| other == name);
    let Some(lacking) = inputs().find(|name| found(name).is_none()) else {
        return Ok(inputs().filter_map(found).collect());
    };
    let needed = inputs().collect::<Vec<_>>().join(", ");
    let unknown = header.iter().map(String::as_str).filter(|name| inputs().all(|other| other != *name));
    let hint = match nearest(lacking, unknown) {
        Some(close) => format!("is it `{close}` in the file? The columns needed are {needed}"),
        None => format!("the columns needed are {needed}; others are not looked at"),
    };
    Err(DataError::Column { column: lacking.to_owned(), what: "is not in the file", hint })
}

/// What the reader of lines stumbled over.
fn broken(error: &csv::Error) -> DataError {
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("found {len} cells, expected {expected_len} as in the header")
        }
        _ => error.to_string(),
    };
    DataError::Table { line: error.position().map(csv::Position::line), what }
}

#[cfg(test)]
mod tests {
    use super::super::posterior::{Marginals, SCHEMA, StoredModel};
    use super::*;

    const COLUMNS: &str = "column = [{ name = \"age\", kind = \"numeric\", centre = 50, scale = 10 },\n\
                           { name = \"site\", kind = \"ignore\" }]\n";

    fn posterior(model: StoredModel, outcome: &str) -> Posterior {
        Posterior {
            schema: SCHEMA,
            study: "s".into(),
            method: "m".into(),
            seed: 1,
            model,
            bias: false,
            inputs: vec!["age".into()],
            data_schema: format!("outcome = {outcome}\n{COLUMNS}"),
            posterior: Marginals { mean: vec![1.0], deviation: vec![0.5], precision: None },
        }
    }

    fn logistic() -> Posterior {
        posterior(
            StoredModel::Logistic { draws: None, probit: false },
            "{ column = \"ill\", levels = [\"no\", \"yes\"] }",
        )
    }

    #[test]
    fn ids_sites_and_outcomes_may_stand_in_the_file_or_not() {
        let plain = predict(&logistic(), b"age\n60\n40\n").unwrap();
        assert_eq!((plain.of.as_str(), plain.rows.len(), plain.rows[1].row), ("ill = yes", 2, 2));
        let Prediction::Probability(p) = plain.rows[0].prediction else { panic!() };
        assert!(plain.rows[0].interval.0 < p && p < plain.rows[0].interval.1);
        for csv in ["patient,age,ill\n7, 60 ,\n8,40,perhaps\n", "site,age\nx,60\ny,40\n"] {
            assert_eq!(predict(&logistic(), csv.as_bytes()).unwrap(), plain, "{csv}");
        }
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut zip, b"age\n60\n40\n").unwrap();
        assert_eq!(predict(&logistic(), &zip.finish().unwrap()).unwrap(), plain);
    }

    #[test]
    fn a_number_has_its_units_and_its_interval() {
        let linear = posterior(
            StoredModel::Linear { noise_variance: 0.75 },
            "{ column = \"kg\", bounds = [0, 200], centre = 70, scale = 10 }",
        );
        let found = predict(&linear, b"age\n60\n").unwrap();
        // x = 1: mean 1, variance 0.25 + 0.75 = 1, in kilograms 80 and 10.
        assert_eq!(found.of, "kg");
        assert_eq!(found.rows[0].prediction, Prediction::Normal { mean: 80.0, deviation: 10.0 });
        assert!((found.rows[0].interval.0 - (80.0 - 10.0 * REACH)).abs() < 1e-9);
    }

    #[test]
    fn a_column_that_is_not_there_is_named_with_those_that_are_needed() {
        for (csv, words) in [("ages\n60\n", "is it `ages`"), ("weight\n60\n", "the columns needed are age;")] {
            let refused = predict(&logistic(), csv.as_bytes()).unwrap_err();
            assert_eq!(refused.code(), "D004");
            assert!(refused.hint().contains(words) && !refused.hint().contains("ill"), "{}", refused.hint());
        }
        let short = predict(&logistic(), b"age,site\n60,x\n40\n").unwrap_err();
        assert!(short.to_string().contains("line 3: found 1 cells, expected 2"), "{short}");
        let cell = predict(&logistic(), b"age\nold\n").unwrap_err();
        assert!(cell.to_string().contains("line 2, column `age`: found `old`"), "{cell}");
    }

    #[test]
    fn a_schema_of_other_inputs_is_refused() {
        let mut other = logistic();
        other.inputs = vec!["age".into(), "height".into()];
        assert_eq!(predict(&other, b"age\n60\n").unwrap_err().code(), "C001");
    }
}
