//! `prior` of a study's `[model]`: one precision, coefficients in units of inputs and outcome, or an earlier posterior.

use super::earlier::{EARLIER, EarlierPosterior};
use super::units::{CoefficientPrior, ConvertedPrior, INTERCEPT, StatedRange, converted};
use super::{EncodedPrior, PriorTerm};
use crate::Schema;
use crate::describe::{Conflict, Key, Keys, NOT_TOGETHER, Otherwise, STRAY, UNREADABLE, VALUE, ValueKind};
use crate::model::StudyModel;
use toml::{Table, Value};

/// `prior.coefficients.NAME`
const COEFFICIENT: &[Key] = &[
    Key::new("mean", ValueKind::ANY_NUMBER, "0.02")
        .about("prior mean of the effect: log odds, or the outcome's units, per unit of the column")
        .otherwise(Otherwise::Number(0.0)),
    Key::new("sd", ValueKind::Positive, "0.1")
        .about("prior standard deviation of the effect, in the same units")
        .optional(),
    Key::new("odds_ratio", ValueKind::Positives { length: 2 }, "[0.8, 1.5]")
        .about("in place of mean and sd: a central 95 % range of the odds ratio")
        .optional(),
    Key::new("per", ValueKind::Positive, "10")
        .about("the change of a number that the effect is of, in units of the column; of a logarithm, the factor")
        .otherwise(Otherwise::Follows("one unit of the column, or of its logarithm")),
];

/// `prior`
pub(crate) const PRIOR_KEYS: &[Key] = &[
    Key::new("precision", ValueKind::Positive, "1.0")
        .about("one over the prior's variance, for encoded coefficients that have no prior of their own")
        .otherwise(Otherwise::Number(1.0)),
    Key::new("coefficients", ValueKind::Map(&ValueKind::Table(COEFFICIENT)), "{ age = { mean = 0.02, sd = 0.1 } }")
        .about("priors of single coefficients by name, in the units of the column and of the outcome")
        .optional(),
    Key::new("from", ValueKind::Text, "\"runs/heart/posterior/first.json\"")
        .about("a posterior file whose mean and covariance are the prior; relative to the study's folder")
        .optional(),
    Key::new("posterior", ValueKind::Table(EARLIER), "{ source = \"heart, first\", kind = \"logistic\", names = [\"age\"], encoding = [\"age: centre 55, scale 10\"], mean = [0.2], deviation = [0.1] }")
        .about("the same in numbers, which take the place of `from` where the study is opened")
        .optional(),
    Key::new("discount", ValueKind::Fraction, "0.5")
        .about("what the precision of an earlier posterior is multiplied by")
        .otherwise(Otherwise::Number(1.0)),
    Key::new("correlations", ValueKind::Flag, "true")
        .about("whether the correlations of an earlier posterior are kept; mean-field methods need false")
        .otherwise(Otherwise::Flag(true)),
];

/// The prior of a study's coefficients, as it states it.
///
/// # Examples
/// An effect of 0.02 per year, where the schema divides ages by 10 years:
/// ```
/// use inference::describe::Registry;
/// use inference::{EncodedPrior, Schema, StudyModel};
/// let table = toml::from_str(r#"
///     kind = "logistic"
///     prior = { precision = 4.0, coefficients = { age = { mean = 0.02, sd = 0.1 } } }
/// "#)?;
/// let model = StudyModel::read(&table, &Registry::standard()).map_err(|all| all[0].what.clone())?;
/// let schema = Schema::from_toml(r#"
///     outcome = { column = "ill", levels = ["no", "yes"] }
///     column = [{ name = "age", kind = "numeric", centre = 55, scale = 10 }]
/// "#)?;
/// let EncodedPrior::Stated(prior) = model.encoded_prior(&schema, true)? else { return Err("no prior of its own".into()) };
/// assert_eq!(prior.mean(), [0.2, 0.0], "age, intercept");
/// assert_eq!(prior.diagonal(), [1.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StudyPrior {
    /// Precision of the prior N(0, 1/precision) of encoded coefficients that have none of their own.
    pub precision: f64,
    /// Priors of single coefficients.
    pub coefficients: Vec<CoefficientPrior>,
    /// An earlier posterior in place of both.
    pub earlier: Option<EarlierPosterior>,
    /// What its precision is multiplied by, where the study says so.
    pub discount: Option<f64>,
    /// Whether its correlations are kept.
    pub correlations: bool,
}

impl StudyPrior {
    /// One precision for every coefficient.
    pub fn of_precision(precision: f64) -> Self {
        Self { precision, coefficients: Vec::new(), earlier: None, discount: None, correlations: true }
    }

    /// From `prior` of a `[model]` that was validated.
    pub(crate) fn read(table: Option<&Table>) -> Result<Self, Conflict> {
        let Some(table) = table else { return Ok(Self::of_precision(1.0)) };
        let keys = Keys::new(table, PRIOR_KEYS);
        if keys.has("from") {
            let what = "the prior is a posterior file, which is read where the study is opened from its own file";
            let hint = "open the study by its path; a study that is sent as text has the numbers in prior = { posterior = { … } }";
            return Err(Conflict::new("from", UNREADABLE, what, hint));
        }
        let earlier = table.get("posterior").and_then(Value::as_table).map(EarlierPosterior::read).transpose()?;
        let stray = match earlier {
            Some(_) => ["precision", "coefficients"].into_iter().find(|name| keys.has(name)),
            None => ["discount", "correlations"].into_iter().find(|name| keys.has(name)),
        };
        if let Some(name) = stray {
            let what = match earlier {
                Some(_) => format!("an earlier posterior is the prior of every coefficient, so {name} has no meaning"),
                None => format!("{name} belongs to an earlier posterior, and the prior has none"),
            };
            return Err(Conflict::new(name, STRAY, what, format!("leave {name} out")));
        }
        let stated = table.get("coefficients").and_then(Value::as_table).into_iter().flatten();
        let one = |(name, value): (&String, &Value)| coefficient(name, value.as_table()?);
        Ok(Self {
            precision: keys.number("precision")?,
            coefficients: stated.filter_map(one).collect::<Result<_, _>>()?,
            earlier,
            discount: keys.maybe_number("discount")?,
            correlations: keys.flag("correlations")?,
        })
    }

    /// In words, without a schema.
    pub(crate) fn describe(&self) -> String {
        match (&self.earlier, self.coefficients.len()) {
            (None, 0) => format!("prior precision {}", self.precision),
            (None, 1) => format!("prior stated for 1 coefficient, precision {} for others", self.precision),
            (None, stated) => {
                format!("prior stated for {stated} coefficients, precision {} for others", self.precision)
            }
            (Some(earlier), _) => {
                let discount = self.discount.map_or_else(String::new, |by| format!(", its precision times {by}"));
                let alone = if self.correlations { "" } else { ", without correlations" };
                format!("prior from an earlier posterior ({}{discount}{alone})", earlier.source)
            }
        }
    }
}

/// One of `coefficients`; none of a table without values.
fn coefficient(name: &str, table: &Table) -> Option<Result<CoefficientPrior, Conflict>> {
    let keys = Keys::new(table, COEFFICIENT);
    let at = format!("coefficients.{name}");
    let read = || -> Result<CoefficientPrior, Conflict> {
        let (sd, odds) = (keys.maybe_number("sd")?, keys.maybe_numbers("odds_ratio")?);
        let range = match (sd, odds.as_deref()) {
            (Some(sd), None) => StatedRange::Normal { mean: keys.number("mean")?, sd },
            (None, Some(&[low, high])) if low < high && !keys.has("mean") => StatedRange::OddsRatio { low, high },
            (None, Some(&[low, high])) if low >= high => {
                let what = format!("odds_ratio is [{low}, {high}], expected the lower end first");
                return Err(Conflict::new("odds_ratio", VALUE, what, "for example odds_ratio = [0.8, 1.5]"));
            }
            (None, None) => {
                let what = "sd is missing: how sure the prior is";
                return Err(Conflict::new("", UNREADABLE, what, "mean = 0.02, sd = 0.1; or odds_ratio = [0.8, 1.5]"));
            }
            _ => {
                let what = "odds_ratio stands in place of mean and sd";
                return Err(Conflict::new("odds_ratio", STRAY, what, "state either odds_ratio, or mean and sd"));
            }
        };
        Ok(CoefficientPrior { name: name.to_owned(), range, per: keys.maybe_number("per")? })
    };
    Some(read().map_err(|conflict| conflict.under(&at)))
}

impl StudyModel {
    /// The prior of the coefficients of a table with this schema; with an intercept among its inputs or not. Keys of conflicts are
    /// those of `[model]`.
    ///
    /// # Errors
    /// A stated coefficient that is not there, units that do not fit, a model whose coefficients have no units, and an earlier
    /// posterior of other coefficients or another encoding.
    pub fn encoded_prior(&self, schema: &Schema, intercept: bool) -> Result<EncodedPrior, Conflict> {
        let prior = &self.prior;
        if prior.earlier.is_none() && prior.coefficients.is_empty() {
            return Ok(EncodedPrior::Same(prior.precision));
        }
        let names = self.prior_names(schema, intercept)?;
        if let Some(earlier) = &prior.earlier {
            let key = |conflict: Conflict| conflict.under("prior.posterior");
            let term = earlier.matched(self.settings.descriptor().name, &names, schema).map_err(key)?;
            let term = if prior.correlations { term } else { term.without_correlations() };
            return Ok(EncodedPrior::Stated(term.discounted(prior.discount.unwrap_or(1.0))));
        }
        let (mut mean, mut precisions) = (vec![0.0; names.len()], vec![prior.precision; names.len()]);
        for (place, one) in self.conversions(schema, &names)? {
            mean[place] = one.encoded_mean;
            precisions[place] = 1.0 / (one.encoded_sd * one.encoded_sd);
        }
        let improper =
            || Conflict::new("prior", VALUE, "the prior is no Gaussian", "state finite means and sds over 0");
        PriorTerm::independent(mean, precisions).map(EncodedPrior::Stated).ok_or_else(improper)
    }

    /// The stated priors of single coefficients, as stated and as encoded, in the order of the study.
    ///
    /// # Errors
    /// As [`StudyModel::encoded_prior`].
    pub fn converted_priors(&self, schema: &Schema, intercept: bool) -> Result<Vec<ConvertedPrior>, Conflict> {
        if self.prior.coefficients.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.prior_names(schema, intercept)?;
        Ok(self.conversions(schema, &names)?.into_iter().map(|(_, one)| one).collect())
    }

    fn conversions(&self, schema: &Schema, names: &[String]) -> Result<Vec<(usize, ConvertedPrior)>, Conflict> {
        let inputs = schema.inputs(names.last().is_some_and(|last| last == INTERCEPT));
        let scale = self.settings.effect_scale().filter(|_| inputs == names).ok_or_else(|| {
            let what = format!(
                "coefficients of a {} model have no units to state a prior in",
                self.settings.descriptor().name
            );
            let hint =
                "state one precision for all: prior = { precision = 1.0 }; or use kind = \"logistic\" or \"linear\"";
            Conflict::new("prior.coefficients", NOT_TOGETHER, what, hint)
        })?;
        let one = |stated| converted(stated, names, schema, scale).map_err(|conflict| conflict.under("prior"));
        self.prior.coefficients.iter().map(one).collect()
    }

    /// Names of the coefficients; refused where they have none to be found by.
    fn prior_names(&self, schema: &Schema, intercept: bool) -> Result<Vec<String>, Conflict> {
        let inputs = schema.inputs(intercept);
        let names = self.names(&inputs, Some(schema));
        let known = self.settings.build(schema.classes(), 0).parameters(inputs.len()) == names.len();
        if known && self.settings.has_inputs() {
            return Ok(names);
        }
        let what =
            format!("parameters of a {} model have no names to state a prior by", self.settings.descriptor().name);
        Err(Conflict::new("prior", NOT_TOGETHER, what, "state one precision for all: prior = { precision = 1.0 }"))
    }
}

#[cfg(test)]
mod tests;
