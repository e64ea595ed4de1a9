//! From a stored posterior and the rows of a CSV to predictions in the units of the outcome.

use super::engine::{Predicted, Predictions};
use super::posterior::Posterior;
use super::simulator::scale_of;
use crate::error::StudyError;
use inference::describe::Registry;
use inference::results::NORMAL_95;
use inference::{
    DataError, Gaussian, Intervals, Model, Numeric, OutcomeKind, Prediction, Quantiles, Rows, Schema, holding,
    read_inputs,
};

/// Two-sided 95 % quantile of the normal law.
const REACH: f64 = NORMAL_95;

/// What an error is about.
const FILE: &str = "the rows to predict";

/// Predicts the rows of a CSV from a stored posterior.
pub(crate) fn predict(posterior: &Posterior, csv: &[u8], registry: &Registry) -> Result<Predictions, StudyError> {
    let schema = Schema::from_toml(&posterior.data_schema).map_err(|e| StudyError::data("the schema", e))?;
    let table = read_inputs(csv, &schema, posterior.bias)
        .map_err(|error| StudyError::data(FILE, in_a_run(error, posterior)))?;
    if table.inputs != posterior.inputs {
        let message = "the schema makes other inputs of a row than the posterior was learnt with";
        return Err(StudyError::usage(message, "leave `schema` out: the run stored the schema that fits"));
    }
    let own = posterior.posterior.intercepts.is_some();
    let rows = if own { table.rows.with_a_one() } else { table.rows };
    let improper = || StudyError::usage("the stored posterior is not a proper distribution", "run the study again");
    let model = posterior.model(&schema, registry)?;
    let fits = |q: &Gaussian| q.dimension() == model.parameters(rows.width());
    let q = posterior.posterior.gaussian().filter(fits).ok_or_else(improper)?;
    let predictions = model.predict(&rows, &q);
    let of = predicted(&schema, predictions.first());
    let shown = posterior.intervals.as_ref().is_some_and(Intervals::are_shown);
    let exact = posterior.posterior.quantiles.as_deref();
    let intervals = match (shown, exact) {
        (false, _) => vec![None; predictions.len()],
        (true, None) => intervals(model.as_ref(), &predictions, &rows, &q),
        (true, Some(quantiles)) => exact_intervals(&predictions, quantiles),
    };
    let (centre, scale) = scale_of(&schema);
    let rows =
        table.keys.slots().iter().zip(predictions.into_iter().zip(intervals)).map(|(id, (prediction, interval))| {
            let (prediction, interval) = in_units(prediction, interval, centre, scale);
            Predicted { row: id + 1, prediction, interval }
        });
    Ok(Predictions { of, rows: rows.collect() })
}

/// The same error for somebody who cannot change the schema any more: the run has stored it.
fn in_a_run(mut error: DataError, posterior: &Posterior) -> DataError {
    if let DataError::Cell { hint, .. } = &mut error
        && hint.contains("schema")
    {
        *hint += match posterior.is_released() {
            true => {
                "; the posterior has stored its schema, and another one needs another charged run, so leave the row out"
            }
            false => "; the run has stored its schema, so simulate again after a change, or leave the row out",
        };
    }
    error
}

/// Of a probability the interval of the posterior, where the model has one, of a number that of the predictive, else none. Each holds its point.
fn intervals(model: &dyn Model, predictions: &[Prediction], rows: &Rows, q: &Gaussian) -> Vec<Option<(f64, f64)>> {
    let mut of_scores = model.probability_intervals(rows, q, REACH).unwrap_or_default().into_iter();
    let of = |prediction: &Prediction| match prediction {
        Prediction::Probability(p) => of_scores.next().map(|interval| holding(*p, interval)),
        Prediction::Normal { mean, deviation } => {
            Some(holding(*mean, (mean - REACH * deviation, mean + REACH * deviation)))
        }
        Prediction::Classes(_) => None,
    };
    predictions.iter().map(of).collect()
}

/// The same where the posterior is known by its quantiles and is no Gaussian: of a probability, which is a parameter, they are its own; a
/// predictive of a number is no normal law, and has none.
fn exact_intervals(predictions: &[Prediction], quantiles: &[Quantiles]) -> Vec<Option<(f64, f64)>> {
    let of = |prediction: &Prediction| match (prediction, quantiles) {
        (Prediction::Probability(_), [own]) => Some(own.ends()),
        _ => None,
    };
    predictions.iter().map(of).collect()
}

/// Numbers in the units of the outcome; probabilities have none.
fn in_units(
    prediction: Prediction,
    interval: Option<(f64, f64)>,
    centre: f64,
    scale: f64,
) -> (Prediction, Option<(f64, f64)>) {
    match prediction {
        Prediction::Normal { mean, deviation } => (
            Prediction::Normal { mean: centre + scale * mean, deviation: scale * deviation },
            interval.map(|(lower, upper)| (centre + scale * lower, centre + scale * upper)),
        ),
        probability => (probability, interval),
    }
}

/// The outcome, with the level whose probability is given where it is that of one.
fn predicted(schema: &Schema, first: Option<&Prediction>) -> String {
    let outcome = schema.outcome();
    match (&outcome.kind, first) {
        (OutcomeKind::Number(Numeric { .. }), _) | (_, Some(Prediction::Classes(_))) => outcome.column.clone(),
        (OutcomeKind::Classes(levels), _) => {
            format!("{} = {}", outcome.column, levels.last().map_or("", String::as_str))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::posterior::{Marginals, SCHEMA};
    use super::*;

    const COLUMNS: &str = "column = [{ name = \"age\", kind = \"numeric\", centre = 50, scale = 10 },\n\
                           { name = \"site\", kind = \"ignore\" }]\n";

    fn posterior(model: &str, outcome: &str) -> Posterior {
        Posterior {
            outside_epsilon: String::new(),
            schema: SCHEMA,
            study: "s".into(),
            method: "m".into(),
            seed: 1,
            model: toml::from_str(model).unwrap(),
            bias: false,
            inputs: vec!["age".into()],
            data_schema: format!("outcome = {outcome}\n{COLUMNS}"),
            posterior: Marginals { mean: vec![1.0], deviation: vec![0.5], precision: None, ..Marginals::default() },
            intervals: Some(Intervals::WithoutNoise),
            not_served: None,
        }
    }

    fn logistic() -> Posterior {
        posterior("kind = 'logistic'", "{ column = \"ill\", levels = [\"no\", \"yes\"] }")
    }

    #[test]
    fn ids_sites_and_outcomes_may_stand_in_the_file_or_not() {
        let plain = logistic().predict(b"age\n60\n40\n").unwrap();
        assert_eq!((plain.of.as_str(), plain.rows.len(), plain.rows[1].row), ("ill = yes", 2, 2));
        let Prediction::Probability(p) = plain.rows[0].prediction else { panic!() };
        assert!(plain.rows[0].interval.is_some_and(|(lower, upper)| lower < p && p < upper));
        for csv in ["patient,age,ill\n7, 60 ,\n8,40,perhaps\n", "site,age\nx,60\ny,40\n"] {
            assert_eq!(logistic().predict(csv.as_bytes()).unwrap(), plain, "{csv}");
        }
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut zip, b"age\n60\n40\n").unwrap();
        assert_eq!(logistic().predict(&zip.finish().unwrap()).unwrap(), plain);
    }

    #[test]
    fn a_number_has_its_units_and_its_interval() {
        let linear = posterior(
            "kind = 'linear'\nnoise_variance = 0.75",
            "{ column = \"kg\", bounds = [0, 200], centre = 70, scale = 10 }",
        );
        let found = linear.predict(b"age\n60\n").unwrap();
        // x = 1: mean 1, variance 0.25 + 0.75 = 1, in kilograms 80 and 10.
        assert_eq!(found.of, "kg");
        assert_eq!(found.rows[0].prediction, Prediction::Normal { mean: 80.0, deviation: 10.0 });
        assert!((found.rows[0].interval.unwrap().0 - (80.0 - 10.0 * REACH)).abs() < 1e-9);
    }

    /// Every model that has intervals, on rows from ordinary to absurd.
    #[test]
    fn a_point_lies_in_its_interval_for_every_model() {
        let number = "{ column = \"kg\", bounds = [0, 200], centre = 70, scale = 10 }";
        let classes = "{ column = \"ill\", levels = [\"no\", \"yes\"] }";
        let models = [
            ("kind = 'logistic'", classes),
            ("kind = 'logistic'\npredictive = 'probit'", classes),
            ("kind = 'logistic'\npredictive = { draws = 9 }", classes),
            ("kind = 'linear'\nnoise_variance = 0.5", number),
        ];
        let csv = "age\n60\n50\n-1e300\n1e12\n1250\n-1150\n50.000001\n";
        for (model, outcome) in models {
            for (mean, deviation) in [(1.0, 0.5), (-40.0, 10.0), (1e3, 1e-9), (-2.0, 1e4), (0.0, 1e-300)] {
                let mut stored = posterior(model, outcome);
                (stored.posterior.mean, stored.posterior.deviation) = (vec![mean], vec![deviation]);
                let Ok(found) = stored.predict(csv.as_bytes()) else { continue };
                for row in found.rows {
                    let (Prediction::Probability(point) | Prediction::Normal { mean: point, .. }) = row.prediction
                    else {
                        panic!("{row:?}")
                    };
                    let (lower, upper) = row.interval.unwrap();
                    assert!(lower <= point && point <= upper, "{model:?} {mean} {deviation}: {row:?}");
                }
            }
        }
    }

    #[test]
    fn several_classes_have_a_probability_each_and_networks_no_interval() {
        let outcome = "{ column = \"stage\", levels = [\"I\", \"II\", \"III\"] }";
        let mut softmax = posterior("kind = 'softmax'", outcome);
        softmax.posterior =
            Marginals { mean: vec![-1.0, 0.0, 2.0], deviation: vec![0.5; 3], precision: None, ..Marginals::default() };
        let found = softmax.predict(b"age\n60\n").unwrap();
        let Prediction::Classes(p) = &found.rows[0].prediction else { panic!() };
        assert!(p[0] < p[1] && p[1] < p[2] && (p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{p:?}");
        assert_eq!((found.of.as_str(), found.rows[0].interval), ("stage", None));
        let model = "kind = 'network'\nhidden = [2]\npredictive = { draws = 3 }";
        let mut network = posterior(model, "{ column = \"ill\", levels = [\"no\", \"yes\"] }");
        assert!(network.predict(b"age\n60\n").is_err(), "one number for five weights");
        network.posterior =
            Marginals { mean: vec![0.5; 5], deviation: vec![0.1; 5], precision: None, ..Marginals::default() };
        let found = network.predict(b"age\n60\n").unwrap();
        assert_eq!((found.of.as_str(), found.rows[0].interval), ("ill = yes", None));
    }

    #[test]
    fn a_column_that_is_not_there_is_named_with_those_that_are_needed() {
        for (csv, words) in [("ages\n60\n", "is it `ages`"), ("weight\n60\n", "the columns needed are age;")] {
            let refused = logistic().predict(csv.as_bytes()).unwrap_err();
            assert_eq!(refused.code(), "D004");
            assert!(refused.hint().contains(words) && !refused.hint().contains("ill"), "{}", refused.hint());
        }
        let short = logistic().predict(b"age,site\n60,x\n40\n").unwrap_err();
        assert!(short.to_string().contains("line 3: found 1 cells, expected 2"), "{short}");
        let cell = logistic().predict(b"age\nold\n").unwrap_err();
        assert!(cell.to_string().contains("line 2, column `age`: found `old`"), "{cell}");
    }

    #[test]
    fn a_schema_of_other_inputs_is_refused() {
        let mut other = logistic();
        other.inputs = vec!["age".into(), "height".into()];
        assert_eq!(other.predict(b"age\n60\n").unwrap_err().code(), "C001");
    }
}
