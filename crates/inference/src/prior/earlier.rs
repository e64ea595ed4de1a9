//! An earlier posterior as today's prior: matched by the names of coefficients and by how inputs and outcome were encoded.

use super::term::PriorTerm;
use super::units::encoding;
use crate::data::Kind;
use crate::describe::{Conflict, Key, Keys, NOT_TOGETHER, Otherwise, VALUE, ValueKind};
use crate::{Gaussian, OutcomeKind, Schema, linalg};
use toml::{Table, Value};

/// A posterior in public numbers, with what is needed to tell whether it is of the same coefficients.
///
/// A study names a posterior file by `from`. Where the study is opened, the file's numbers take the place of its name, so that
/// everybody who reads the study's text has the same prior.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierPosterior {
    /// Where it is from, for people: study and method.
    pub source: String,
    /// Whether it was released by a federation or a fit: a charge was made for it, and it may be shown to sites.
    pub released: bool,
    /// Kind of the model.
    pub kind: String,
    /// Names of its coefficients.
    pub names: Vec<String>,
    /// How numbers and the outcome were encoded ([`encodings`]).
    pub encoding: Vec<String>,
    /// Means, in the order of the names.
    pub mean: Vec<f64>,
    /// Standard deviations.
    pub deviation: Vec<f64>,
    /// Lower triangle of the precision, row by row, where coefficients are correlated.
    pub precision: Option<Vec<f64>>,
}

/// `prior.posterior`
pub(super) const EARLIER: &[Key] = &[
    Key::new("source", ValueKind::Text, "\"heart, noise-aware\"").about("study and method, for people"),
    Key::new("released", ValueKind::Flag, "true")
        .about("whether a federation or a fit released it; others are not shown to sites")
        .otherwise(Otherwise::Flag(false)),
    Key::new("kind", ValueKind::Text, "\"logistic\"").about("kind of its model"),
    Key::new("names", ValueKind::Texts, "[\"age\", \"intercept\"]").about("names of its coefficients"),
    Key::new("encoding", ValueKind::Texts, "[\"age: centre 55, scale 10\"]")
        .about("how numbers and the outcome were encoded"),
    Key::new("mean", ValueKind::Numbers { length: 0 }, "[0.2, -1.0]").about("posterior means, encoded"),
    Key::new("deviation", ValueKind::Positives { length: 0 }, "[0.1, 0.3]")
        .about("posterior standard deviations, encoded"),
    Key::new("precision", ValueKind::Numbers { length: 0 }, "[100.0, 5.0, 12.0]")
        .about("lower triangle of the posterior precision, row by row, where coefficients are correlated")
        .optional(),
];

/// How numbers and the outcome of a schema are encoded, a line for each: what has to agree where coefficients are carried over.
/// Levels and flags are among the names of coefficients.
pub fn encodings(schema: &Schema) -> Vec<String> {
    let of = |column: &crate::Column| match &column.kind {
        Kind::Numeric(numeric) => Some(encoding(&column.name, numeric)),
        Kind::Category { .. } | Kind::Ignore => None,
    };
    let outcome = schema.outcome();
    let last = match &outcome.kind {
        OutcomeKind::Number(number) => format!("outcome {}", encoding(&outcome.column, number)),
        OutcomeKind::Classes(levels) => format!("outcome {}: {}", outcome.column, levels.join(" < ")),
    };
    schema.columns().iter().filter_map(of).chain([last]).collect()
}

/// Texts of a list.
fn texts(table: &Table, name: &str) -> Vec<String> {
    let list = table.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

impl EarlierPosterior {
    /// From a table that was validated.
    pub(super) fn read(table: &Table) -> Result<Self, Conflict> {
        let keys = Keys::new(table, EARLIER);
        let numbers = |name| Ok(keys.maybe_numbers(name)?.unwrap_or_default());
        let earlier = Self {
            source: keys.word("source")?.to_owned(),
            released: keys.flag("released")?,
            kind: keys.word("kind")?.to_owned(),
            names: texts(table, "names"),
            encoding: texts(table, "encoding"),
            mean: numbers("mean")?,
            deviation: numbers("deviation")?,
            precision: keys.maybe_numbers("precision")?,
        };
        match earlier.gaussian().filter(|q| q.dimension() == earlier.names.len()) {
            Some(_) => Ok(earlier),
            None => {
                let what = format!(
                    "{} means of {} coefficients with these deviations and precisions are no Gaussian",
                    earlier.mean.len(),
                    earlier.names.len()
                );
                Err(Conflict::new(
                    "posterior",
                    VALUE,
                    what,
                    "name a posterior file by from = \"…\", and leave posterior out",
                ))
            }
        }
    }

    /// As the table that [`super::StudyPrior`] reads.
    pub fn table(&self) -> Table {
        let texts = |list: &[String]| Value::Array(list.iter().cloned().map(Value::String).collect());
        let numbers = |list: &[f64]| Value::Array(list.iter().copied().map(Value::Float).collect());
        let mut table = Table::from_iter([
            ("source".to_owned(), Value::String(self.source.clone())),
            ("released".to_owned(), Value::Boolean(self.released)),
            ("kind".to_owned(), Value::String(self.kind.clone())),
            ("names".to_owned(), texts(&self.names)),
            ("encoding".to_owned(), texts(&self.encoding)),
            ("mean".to_owned(), numbers(&self.mean)),
            ("deviation".to_owned(), numbers(&self.deviation)),
        ]);
        if let Some(precision) = &self.precision {
            table.insert("precision".to_owned(), numbers(precision));
        }
        table
    }

    /// The distribution; none where the numbers are not those of a proper one.
    fn gaussian(&self) -> Option<Gaussian> {
        if self.deviation.len() != self.mean.len() {
            return None;
        }
        match &self.precision {
            Some(precision) => Gaussian::from_precision(self.mean.clone(), precision),
            None => Gaussian::new_diagonal(self.mean.clone(), self.deviation.iter().map(|s| s * s).collect()),
        }
    }

    /// The prior of these coefficients, in their order.
    ///
    /// # Errors
    /// Another kind of model, other coefficients, and inputs or an outcome that are encoded otherwise: the numbers would mean
    /// something else.
    pub(super) fn matched(&self, kind: &str, names: &[String], schema: &Schema) -> Result<PriorTerm, Conflict> {
        let refused = |what: String, hint: &str| Err(Conflict::new("", NOT_TOGETHER, what, hint));
        if self.kind != kind {
            let what =
                format!("the earlier posterior ({}) is of a {} model, and this one is {kind}", self.source, self.kind);
            return refused(what, "name a posterior of the same kind of model");
        }
        let lacking = names.iter().find(|name| !self.names.contains(name));
        let stray = self.names.iter().find(|name| !names.contains(name));
        if let Some(name) = lacking.or(stray) {
            let whose = if lacking.is_some() { "the earlier posterior" } else { "this study" };
            let what =
                format!("{whose} has no coefficient {name:?}: both need the same inputs and levels ({})", self.source);
            return refused(what, "use the schema and the intercept of the earlier study");
        }
        let today = encodings(schema);
        if let Some(own) = today.iter().find(|own| !self.encoding.contains(own)) {
            let before = own.split(": ").next().unwrap_or_default();
            let found = self.encoding.iter().find(|line| line.split(": ").next() == Some(before));
            let found = found.map_or("nothing", String::as_str);
            let what = format!("the earlier posterior ({}) has \"{found}\", and this schema \"{own}\"", self.source);
            return refused(
                what,
                "use the centres, scales and levels of the earlier schema: coefficients are in their units",
            );
        }
        let places: Vec<usize> =
            names.iter().filter_map(|name| self.names.iter().position(|other| other == name)).collect();
        self.in_order(&places)
            .map_or_else(|| refused("the earlier posterior is no Gaussian".into(), "name another one"), Ok)
    }

    /// The prior with its coefficients in the order of these places.
    fn in_order(&self, places: &[usize]) -> Option<PriorTerm> {
        let mean = places.iter().map(|&j| self.mean[j]).collect();
        match &self.precision {
            None => PriorTerm::independent(
                mean,
                places.iter().map(|&j| 1.0 / (self.deviation[j] * self.deviation[j])).collect(),
            ),
            Some(precision) => {
                let entry = |i: usize, j: usize| precision[linalg::place(i.max(j), i.min(j))];
                let pairs = (0..places.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
                PriorTerm::correlated(mean, pairs.map(|(i, j)| entry(places[i], places[j])).collect())
            }
        }
    }
}
