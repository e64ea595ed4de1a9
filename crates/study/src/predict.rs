//! Predictions for new rows from the posterior that a run stored.

use super::Fault;
use super::engine::{Predicted, Predictions};
use super::posterior::levels;
use super::posterior::{Posterior, SCHEMA};
use super::predictor;
use crate::digits::shortest;
use crate::error::StudyError;
use inference::Schema;
use inference::describe::Registry;
use inference::{Prediction, nearest};
use serde_json::json;
use std::path::Path;

/// The baseline that has a posterior.
const NON_PRIVATE: &str = "non-private";

impl Posterior {
    /// The posterior of a method in the directory of a finished run; without a name, that of the only method that the study
    /// named. Refused where what the method left is no posterior.
    pub fn open(results: &Path, method: Option<&str>) -> Result<Self, StudyError> {
        Self::open_with(results, method, &Registry::standard())
    }

    /// The same, with models of one's own in the registry.
    pub fn open_with(results: &Path, method: Option<&str>, registry: &Registry) -> Result<Self, StudyError> {
        let posterior = choose(stored(results, registry)?, method, results)?;
        match &posterior.not_served {
            None => Ok(posterior),
            Some(why) => {
                let (code, place) = (why.code.as_str(), results.display().to_string());
                let message = format!("{:?} has no posterior to predict from: {}", posterior.method, why.what);
                Err(Fault { code, place, message, hint: why.hint.clone() }.into())
            }
        }
    }

    /// The posterior for rows of a site: with its own intercept, or an unknown site's. Where the method has no intercepts of
    /// sites there is one posterior for all, and no site to name.
    pub fn at(mut self, site: Option<&str>) -> Result<Self, StudyError> {
        join(&mut self, site)?;
        Ok(self)
    }

    /// Predicts the rows of a CSV, which has the columns of the study's data; an outcome is not needed. To be asked of a
    /// posterior [`at`](Self::at) a site.
    pub fn predict(&self, csv: &[u8]) -> Result<Predictions, StudyError> {
        self.predict_with(csv, &Registry::standard())
    }

    /// The same, with models of one's own in the registry.
    pub fn predict_with(&self, csv: &[u8], registry: &Registry) -> Result<Predictions, StudyError> {
        predictor::predict(self, csv, registry)
    }

    /// The classes of the outcome, in order; none of a number.
    pub fn levels(&self) -> Vec<String> {
        levels(&self.data_schema)
    }

    /// Which posterior was asked, and what its predictions are.
    pub fn about(&self, site: Option<&str>, predictions: &Predictions) -> String {
        about(self, site, predictions)
    }
}

impl Predictions {
    /// As CSV, one line for each row; `levels` name the classes.
    pub fn csv(&self, levels: &[String]) -> String {
        table(self, levels)
    }

    /// As one object, with the posterior and the site that they are of.
    pub fn json(&self, posterior: &Posterior, site: Option<&str>) -> serde_json::Value {
        object(posterior, site, self)
    }
}

/// Puts the intercept of the site that the rows are of behind the shared numbers: its own, or an unknown site's.
fn join(posterior: &mut Posterior, site: Option<&str>) -> Result<(), StudyError> {
    let Some(intercepts) = &posterior.posterior.intercepts else {
        return match site {
            None => Ok(()),
            Some(_) => {
                let message = format!("{:?} has no intercept of each site's own", posterior.method);
                Err(StudyError::usage(message, "leave `site` out: all sites are predicted alike"))
            }
        };
    };
    let names = || intercepts.sites.iter().map(|own| own.site.as_str());
    let (mean, deviation) = match site {
        None => (0.0, intercepts.prior_deviation),
        Some(site) => match intercepts.sites.iter().find(|own| own.site == site) {
            Some(own) => (own.mean, own.deviation),
            None => {
                let close = nearest(site, names()).map_or_else(String::new, |name| format!("did you mean {name:?}? "));
                let listed = names().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
                let message = format!("no site {site:?} took part in {:?}", posterior.study);
                return Err(StudyError::usage(message, format!("{close}`site` is one of {listed}")));
            }
        },
    };
    posterior.posterior.mean.push(mean);
    posterior.posterior.deviation.push(deviation);
    Ok(())
}

/// Which posterior was asked, and what the columns are.
fn about(posterior: &Posterior, site: Option<&str>, predictions: &Predictions) -> String {
    let Posterior { study, method, seed, .. } = posterior;
    let first = predictions.rows.first();
    let what = match first.map(|first| &first.prediction) {
        Some(Prediction::Normal { .. }) => "mean and deviation of",
        Some(Prediction::Classes(_)) => "the probability of each level of",
        Some(Prediction::Probability(_)) | None => "the probability of",
    };
    let interval = match (first.is_some_and(|first| first.interval.is_some()), &posterior.intervals) {
        (true, _) => ", with a 95 % interval".to_owned(),
        (false, Some(intervals)) => intervals.not_shown().map_or_else(String::new, |why| format!(" ({why})")),
        (false, None) => " (interval not shown: the file does not say whether it counts the noise)".to_owned(),
    };
    let at = match (site, &posterior.posterior.intercepts) {
        (Some(site), _) => format!(" at {site}"),
        (None, Some(_)) => " at a site that is not known (`site` names one)".to_owned(),
        (None, None) => String::new(),
    };
    let seed = if posterior.is_released() { String::new() } else { format!(", seed {seed}") };
    format!("from the posterior of {method} in {study}{seed}: {what} {}{interval}{at}", predictions.of)
}

fn refuse(place: &Path, message: String, hint: String) -> StudyError {
    Fault { code: "S013", place: place.display().to_string(), message, hint }.into()
}

/// All posteriors of a run, by name of the method.
pub(super) fn stored(results: &Path, registry: &Registry) -> Result<Vec<Posterior>, StudyError> {
    let folder = results.join("posterior");
    let nothing = || {
        super::unfinished(results).unwrap_or_else(|| {
            refuse(results, "no posteriors here".into(), "name the directory of a finished run".into())
        })
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|_| nothing())? {
        let path = entry.map_err(|source| StudyError::file("cannot read", &folder, source))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            found.push(read(&path, registry)?);
        }
    }
    found.sort_by(|a: &Posterior, b| a.method.cmp(&b.method));
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

fn read(path: &Path, registry: &Registry) -> Result<Posterior, StudyError> {
    let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
    let broken = |why: String| refuse(path, format!("not a posterior: {why}"), "run the study again".into());
    let posterior: Posterior = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
    let schema = Schema::from_toml(&posterior.data_schema).map_err(|error| broken(error.to_string()))?;
    let model = posterior.model(&schema, registry)?;
    let numbers = model.parameters(posterior.inputs.len());
    let fits = posterior.posterior.mean.len() == numbers && posterior.posterior.deviation.len() == numbers;
    match posterior.schema {
        SCHEMA if fits || posterior.not_served.is_some() => Ok(posterior),
        SCHEMA => Err(broken("its numbers and its inputs differ in length".into())),
        other => Err(broken(format!("schema is {other}, expected {SCHEMA}"))),
    }
}

/// The posterior of the named method, or the only one of a method that the study named.
fn choose(mut all: Vec<Posterior>, method: Option<&str>, results: &Path) -> Result<Posterior, StudyError> {
    let names: Vec<String> = all.iter().map(|posterior| posterior.method.clone()).collect();
    let at = match method {
        Some(method) => names.iter().position(|name| name == method),
        None if names.iter().filter(|name| *name != NON_PRIVATE).count() == 1 => {
            names.iter().position(|name| name != NON_PRIVATE)
        }
        None => None,
    };
    let listed = names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    match (at, method) {
        (Some(at), _) => Ok(all.swap_remove(at)),
        (None, Some(method)) => {
            let close = nearest(method, names.iter().map(String::as_str));
            let close = close.map_or_else(String::new, |name| format!("did you mean {name:?}? "));
            let message = format!("{} has no posterior of a method {method:?}", results.display());
            Err(StudyError::usage(message, format!("{close}`method` is one of {listed}")))
        }
        (None, None) => {
            let message = format!("{} has posteriors of several methods", results.display());
            Err(StudyError::usage(message, format!("add `method` with one of {listed}")))
        }
    }
}

/// Header and one line for each row.
fn table(predictions: &Predictions, levels: &[String]) -> String {
    let Some(first) = predictions.rows.first() else { return "row\n".to_owned() };
    let mut header: Vec<String> = vec!["row".into()];
    match first.prediction {
        Prediction::Normal { .. } => header.extend(["mean".into(), "deviation".into()]),
        Prediction::Classes(_) => header.extend(levels.iter().map(|level| cell(level))),
        Prediction::Probability(_) => header.push("probability".into()),
    }
    if first.interval.is_some() {
        header.extend(["lower".into(), "upper".into()]);
    }
    let mut text = line(&header);
    for Predicted { row, prediction, interval } in &predictions.rows {
        let mut cells = vec![row.to_string()];
        cells.extend(numbers(prediction).into_iter().chain(interval.iter().flat_map(|i| [i.0, i.1])).map(shortest));
        text += &line(&cells);
    }
    text
}

/// A prediction's own columns.
fn numbers(prediction: &Prediction) -> Vec<f64> {
    match prediction {
        Prediction::Probability(p) => vec![*p],
        Prediction::Classes(p) => p.clone(),
        Prediction::Normal { mean, deviation } => vec![*mean, *deviation],
    }
}
/// Cells as one line.
fn line(cells: &[String]) -> String {
    format!("{}\n", cells.join(","))
}

/// A name as a cell, in quotes where it has to be.
fn cell(name: &str) -> String {
    if name.contains([',', '"']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

fn object(posterior: &Posterior, site: Option<&str>, predictions: &Predictions) -> serde_json::Value {
    let levels = levels(&posterior.data_schema);
    let one = |Predicted { row, prediction, interval }: &Predicted| {
        let mut object = match prediction {
            Prediction::Probability(p) => json!({ "row": row, "probability": p }),
            Prediction::Classes(p) => {
                let each: serde_json::Map<_, _> = levels.iter().cloned().zip(p.iter().map(|p| json!(p))).collect();
                json!({ "row": row, "probabilities": each })
            }
            Prediction::Normal { mean, deviation } => json!({ "row": row, "mean": mean, "deviation": deviation }),
        };
        if let Some((lower, upper)) = interval {
            (object["lower"], object["upper"]) = (json!(lower), json!(upper));
        }
        object
    };
    json!({
        "study": posterior.study,
        "method": posterior.method,
        "seed": posterior.seed,
        "site": site,
        "of": predictions.of,
        "intervals": posterior.intervals,
        "predictions": predictions.rows.iter().map(one).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::posterior::{Intercepts, Marginals, OwnIntercept};
    use super::*;

    /// The schema of a table with one input.
    const STORED: &str = "outcome = { column = 'y', bounds = [-5, 5], centre = 0, scale = 1 }\n\
                          column = [{ name = 'a', kind = 'numeric', centre = 0, scale = 1 }]\n";

    fn posterior(method: &str) -> Posterior {
        Posterior {
            outside_epsilon: String::new(),
            schema: SCHEMA,
            study: "s".into(),
            method: method.into(),
            seed: 1,
            model: toml::from_str("kind = 'linear'").unwrap(),
            bias: false,
            inputs: vec!["a".into()],
            data_schema: STORED.into(),
            posterior: Marginals { mean: vec![1.0], deviation: vec![0.5], precision: None, ..Marginals::default() },
            intervals: None,
            not_served: None,
        }
    }

    #[test]
    fn the_studys_own_method_is_chosen_where_there_is_one() {
        let here = Path::new("runs/s");
        let all = || vec![posterior("alpha"), posterior("non-private")];
        assert_eq!(choose(all(), None, here).unwrap().method, "alpha");
        assert_eq!(choose(all(), Some("non-private"), here).unwrap().method, "non-private");
        let refused = choose(all(), Some("Alfa"), here).unwrap_err();
        assert_eq!(refused.code(), "C001");
        assert_eq!(refused.hint(), "did you mean \"alpha\"? `method` is one of \"alpha\", \"non-private\"");
        let several = choose(vec![posterior("a, ε 1"), posterior("b")], None, here).unwrap_err();
        assert_eq!(several.hint(), "add `method` with one of \"a, ε 1\", \"b\"");
    }

    #[test]
    fn rows_of_a_site_have_its_own_intercept_and_others_the_priors() {
        let mut own = posterior("own");
        let site = |site: &str, mean| OwnIntercept { site: site.into(), mean, deviation: 0.25 };
        let sites = vec![site("north", -1.0), site("south", 2.0)];
        own.posterior.intercepts = Some(Intercepts { prior_deviation: 0.5, sites });
        let joined = |site| {
            let mut joined = own.clone();
            join(&mut joined, site).map(|()| (joined.posterior.mean[1], joined.posterior.deviation[1]))
        };
        assert_eq!(joined(Some("south")).unwrap(), (2.0, 0.25));
        assert_eq!(joined(None).unwrap(), (0.0, 0.5));
        let refused = joined(Some("sout")).unwrap_err();
        assert_eq!(refused.hint(), "did you mean \"south\"? `site` is one of \"north\", \"south\"");
        assert_eq!(join(&mut posterior("shared"), Some("north")).unwrap_err().code(), "C001");
    }

    #[test]
    fn a_stored_posterior_is_found_again_and_predictions_are_told_as_text_and_as_an_object() {
        let root = std::env::temp_dir().join(format!("posterity-predict-{}", std::process::id()));
        std::fs::create_dir_all(root.join("posterior")).unwrap();
        std::fs::write(root.join("posterior/a.json"), serde_json::to_string(&posterior("a")).unwrap()).unwrap();
        let found = Posterior::open(&root, None).unwrap().at(None).unwrap();
        assert_eq!(found.data_schema, STORED);
        let prediction = Prediction::Normal { mean: 1.0, deviation: 1.25 };
        let rows = vec![Predicted { row: 1, prediction, interval: Some((-1.5, 3.5)) }];
        let predictions = Predictions { of: "y".into(), rows };
        assert_eq!(predictions.csv(&found.levels()), "row,mean,deviation,lower,upper\n1,1,1.25,-1.5,3.5\n");
        let object = predictions.json(&found, None);
        assert_eq!((&object["seed"], &object["of"]), (&json!(1), &json!("y")));
        assert_eq!(object["predictions"][0]["deviation"], 1.25);
        std::fs::remove_dir_all(root).unwrap();
    }
}
