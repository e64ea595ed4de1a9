//! `posterity predict`: predictions for new rows from the posterior that a run stored.

use super::Fault;
use super::engine::Predictor;
use super::likelihood;
use super::posterior::{Posterior, SCHEMA};
use crate::arguments::PredictArguments;
use crate::digits::shortest;
use crate::failure::Failure;
use inference::Prediction;
use std::path::Path;

/// Predictions as CSV, one line for each row, or as one JSON object.
pub(crate) fn text(arguments: &PredictArguments, predictor: &Predictor, json: bool) -> Result<String, Failure> {
    let mut posterior = choose(stored(&arguments.results)?, arguments.method.as_deref(), &arguments.results)?;
    let read = |path: &Path| std::fs::read(path).map_err(|source| Failure::file("cannot read", path, source));
    if let Some(schema) = &arguments.schema {
        posterior.data_schema = String::from_utf8_lossy(&read(schema)?).into_owned();
    }
    let predictions = predictor(&posterior, &read(&arguments.data)?)?;
    Ok(if json { object(&posterior, &predictions) } else { table(&posterior, &predictions) })
}

fn refuse(place: &Path, message: String, hint: String) -> Failure {
    Fault { code: "S013", place: place.display().to_string(), message, hint }.into()
}

/// All posteriors of a run, by name of the method.
fn stored(results: &Path) -> Result<Vec<Posterior>, Failure> {
    let folder = results.join("posterior");
    let nothing = || refuse(results, "no posteriors here".into(), "name the directory of a finished run".into());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|_| nothing())? {
        let path = entry.map_err(|source| Failure::file("cannot read", &folder, source))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            found.push(read(&path)?);
        }
    }
    found.sort_by(|a: &Posterior, b| a.method.cmp(&b.method));
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

fn read(path: &Path) -> Result<Posterior, Failure> {
    let text = std::fs::read_to_string(path).map_err(|source| Failure::file("cannot read", path, source))?;
    let broken = |why: String| refuse(path, format!("not a posterior: {why}"), "run the study again".into());
    let posterior: Posterior = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
    let classes = match likelihood::levels(&posterior.data_schema).len() {
        0 => None,
        classes => Some(classes),
    };
    let model = likelihood::model(&posterior.model.clone().likelihood(), classes, posterior.seed);
    let numbers = model.parameters(posterior.inputs.len());
    let fits = posterior.posterior.mean.len() == numbers && posterior.posterior.deviation.len() == numbers;
    match posterior.schema {
        SCHEMA if fits => Ok(posterior),
        SCHEMA => Err(broken("its numbers and its inputs differ in length".into())),
        other => Err(broken(format!("schema is {other}, expected {SCHEMA}"))),
    }
}

/// The posterior of the named method, or the only one of a method that the study named.
fn choose(mut all: Vec<Posterior>, method: Option<&str>, results: &Path) -> Result<Posterior, Failure> {
    let names: Vec<String> = all.iter().map(|posterior| posterior.method.clone()).collect();
    let own = |name: &String| !["local only", "non-private"].contains(&name.as_str());
    let at = match method {
        Some(method) => names.iter().position(|name| name == method),
        None if names.iter().filter(|name| own(name)).count() == 1 => names.iter().position(own),
        None => None,
    };
    let hint = || format!("--method with one of: {}", names.join(", "));
    match (at, method) {
        (Some(at), _) => Ok(all.swap_remove(at)),
        (None, Some(method)) => Err(refuse(results, format!("there is no method {method:?}"), hint())),
        (None, None) => Err(refuse(results, "the study has several methods".into(), hint())),
    }
}

/// Header and one line for each row.
fn table(posterior: &Posterior, predictions: &[Prediction]) -> String {
    let mut text = match predictions.first() {
        Some(Prediction::Normal { .. }) => "mean,deviation\n".to_owned(),
        Some(Prediction::Classes(_)) => {
            line(likelihood::levels(&posterior.data_schema).iter().map(|level| cell(level)))
        }
        _ => "probability\n".to_owned(),
    };
    for prediction in predictions {
        text += &match prediction {
            Prediction::Probability(p) => format!("{}\n", shortest(*p)),
            Prediction::Classes(p) => line(p.iter().map(|p| shortest(*p))),
            Prediction::Normal { mean, deviation } => format!("{},{}\n", shortest(*mean), shortest(*deviation)),
        };
    }
    text
}

/// Cells as one line.
fn line(cells: impl Iterator<Item = String>) -> String {
    format!("{}\n", cells.collect::<Vec<_>>().join(","))
}

/// A name as a cell, in quotes where it has to be.
fn cell(name: &str) -> String {
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

fn object(posterior: &Posterior, predictions: &[Prediction]) -> String {
    let rows: Vec<serde_json::Value> = predictions
        .iter()
        .map(|prediction| match prediction {
            Prediction::Probability(p) => serde_json::json!({ "probability": p }),
            Prediction::Classes(p) => serde_json::json!({ "probabilities": p }),
            Prediction::Normal { mean, deviation } => serde_json::json!({ "mean": mean, "deviation": deviation }),
        })
        .collect();
    let object = serde_json::json!({ "study": posterior.study, "method": posterior.method, "predictions": rows });
    format!("{object}\n")
}

#[cfg(test)]
mod tests {
    use super::super::posterior::{Marginals, StoredModel};
    use super::*;

    fn posterior(method: &str) -> Posterior {
        Posterior {
            schema: SCHEMA,
            study: "s".into(),
            method: method.into(),
            seed: 1,
            model: StoredModel::Linear { noise_variance: 1.0 },
            bias: false,
            inputs: vec!["a".into()],
            data_schema: "stored".into(),
            posterior: Marginals { mean: vec![1.0], deviation: vec![0.5], precision: None },
        }
    }

    #[test]
    fn the_studys_own_method_is_chosen_where_there_is_one() {
        let here = Path::new("runs/s");
        let all = || vec![posterior("a"), posterior("local only"), posterior("non-private")];
        assert_eq!(choose(all(), None, here).unwrap().method, "a");
        assert_eq!(choose(all(), Some("non-private"), here).unwrap().method, "non-private");
        let refused = choose(all(), Some("b"), here).unwrap_err();
        assert!(refused.hint().contains("a, local only"), "{}", refused.hint());
        assert!(choose(vec![posterior("a"), posterior("b")], None, here).is_err());
    }

    #[test]
    fn a_stored_posterior_and_a_csv_reach_the_predictor() {
        let root = std::env::temp_dir().join(format!("posterity-predict-{}", std::process::id()));
        std::fs::create_dir_all(root.join("posterior")).unwrap();
        std::fs::write(root.join("posterior/a.json"), serde_json::to_string(&posterior("a")).unwrap()).unwrap();
        std::fs::write(root.join("rows.csv"), "a\n1\n").unwrap();
        let data = root.join("rows.csv");
        let arguments = PredictArguments { results: root.clone(), data, schema: None, method: None };
        let predictor = |posterior: &Posterior, csv: &[u8]| {
            assert_eq!((posterior.data_schema.as_str(), csv), ("stored", b"a\n1\n".as_slice()));
            Ok(vec![Prediction::Normal { mean: 1.0, deviation: 1.25 }])
        };
        assert_eq!(text(&arguments, &predictor, false).unwrap(), "mean,deviation\n1,1.25\n");
        assert!(text(&arguments, &predictor, true).unwrap().contains("\"deviation\":1.25"));
        std::fs::remove_dir_all(root).unwrap();
    }
}
