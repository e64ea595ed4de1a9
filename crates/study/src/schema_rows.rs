//! Rows drawn from a schema, `source = "schema"`: a study that is planned and simulated before anybody has a table.
//!
//! Effects are stated as reports tell them: log odds, or differences in the outcome's units, per change of a number (the
//! schema's `per`, or the round number near its scale) and of a level against the reference of its column. What is not stated has
//! no effect.

mod engine;
mod sites;

pub(crate) use self::engine::SchemaEngine;

use crate::error::StudyError;
use crate::fault::{Fault, StudyText};
use crate::meant::Study;
use crate::typed::StudyAsTyped;
use inference::describe::Offer;
use inference::effects::{Contrast, StatedEffects, contrasts};
use inference::{Kind, Numeric, OutcomeKind, RowLaw, Schema, nearest};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The word for it in a study.
const SOURCE: &str = "schema";

/// How the keys are written.
const EXAMPLE: &str = "drawn = { rows = 2000, effects = { age = 0.3, smoker = { yes = 0.5 } }, intercept = -1.0 }";

/// The effect of a number among those of its table, where it has one of missing cells too.
const CHANGE: &str = "change";

/// `drawn`: the law of rows that are drawn from the schema. Ranges were checked with the other keys of the study.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SchemaRows {
    rows: RowsOfSites,
    #[serde(default)]
    effects: BTreeMap<String, EffectOfColumn>,
    intercept: Option<f64>,
    noise_deviation: Option<f64>,
    #[serde(default)]
    correlation: f64,
    #[serde(default)]
    shares: BTreeMap<String, BTreeMap<String, f64>>,
    #[serde(default)]
    missing: f64,
    /// Draws the rows of every run, instead of each run's own seed.
    seed: Option<u64>,
}

/// `rows`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, a list with the number of each site, or a table from sites to numbers"
)]
enum RowsOfSites {
    All(u64),
    Each(Vec<u64>),
    Named(BTreeMap<String, u64>),
}

/// One of `effects`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a number, or a table from levels to numbers")]
enum EffectOfColumn {
    Number(f64),
    Levels(BTreeMap<String, f64>),
}

/// Whether the rows of a source are drawn from the schema.
pub(super) fn is_drawn(source: &str) -> bool {
    source == SOURCE
}

/// What a study says of rows that are drawn from its schema; none if they come from elsewhere.
pub(super) fn of(study: &StudyAsTyped, source: &StudyText<'_>) -> Result<Option<SchemaRows>, Fault> {
    let data = &study.data;
    let fault = |key: &str, message: &str, hint: &str| Err(source.fault(key, "S011", message.into(), hint));
    let drawn = match (&data.drawn, is_drawn(&data.source)) {
        (None, false) => return Ok(None),
        (Some(_), false) => {
            return fault(
                "data.drawn",
                "drawn goes with source = \"schema\"",
                "leave it out, or draw all rows from the schema",
            );
        }
        (None, true) => return fault("data.source", "rows drawn from the schema need `drawn`", EXAMPLE),
        (Some(drawn), true) => drawn,
    };
    if data.schema.is_none() {
        let message = "rows are to be drawn from the schema, and the study names none";
        return fault("data.source", message, "add schema = \"schema.toml\" to [data]");
    }
    if study.partition.is_none() && study.columns.is_empty() {
        let hint = "add [partition] with clients = 5, or with the column that names the sites";
        return fault(
            "data.source",
            "rows drawn from the schema are simulated, and the study has no [partition]",
            hint,
        );
    }
    let stray = [
        ("declared_rows", data.declared_rows.is_some()),
        ("declared_persons", data.declared_persons.is_some()),
        ("declared_inputs", data.declared_inputs.is_some()),
        ("split.column", data.split.as_ref().is_some_and(|split| split.column.is_some())),
    ];
    if let Some((key, _)) = stray.iter().find(|(_, given)| *given) {
        let message = format!("{key} has no meaning for rows that are drawn from the schema");
        let hint = "leave it out: `drawn` says how many rows there are, and split = { test = 0.2 } which are held out";
        return Err(source.fault(&format!("data.{key}"), "S011", message, hint));
    }
    Ok(Some(drawn.clone()))
}

impl SchemaRows {
    /// Whether a model's coefficients are those that rows are drawn with, so that a posterior can be compared with them.
    pub(super) fn knows_coefficients(&self, study: &Study) -> bool {
        let model = study.model.settings.build(Some(2), 0);
        model.offers().iter().any(|offer| matches!(offer, Offer::LogisticLink | Offer::GaussianLikelihood))
    }

    /// The law of the rows.
    ///
    /// # Errors
    /// What the schema does not have: columns, levels, bounds; more than two levels of the outcome; and noise that is stated for
    /// classes, or not stated for a number.
    pub(super) fn law(&self, study: &Study, schema: &Schema) -> Result<RowLaw, StudyError> {
        let drawn_for = DrawnFor { schema, source: StudyText::new(study.file.clone(), &study.text) };
        drawn_for.bounds()?;
        let (noise_deviation, level) = drawn_for.outcome(self)?;
        let intercept = match (study.model.intercept, self.intercept) {
            (true, stated) => Some(stated.unwrap_or(level)),
            (false, None) => None,
            (false, Some(_)) => {
                let message = "an intercept is stated, and the model has none (bias = false)";
                return Err(drawn_for.fault("intercept", message.into(), "leave it out").into());
            }
        };
        let effects = drawn_for.effects(&self.effects)?;
        let stated = StatedEffects { contrasts: effects, intercept };
        let coefficients = stated.coefficients(schema).map_err(|error| StudyError::data("the schema", error))?;
        Ok(RowLaw {
            schema: schema.clone(),
            coefficients,
            noise_deviation,
            correlation: self.correlation,
            shares: drawn_for.shares(&self.shares)?,
            missing: self.missing,
            site_column: study.partition.column().map(str::to_owned),
        })
    }

    /// What is drawn, in words.
    pub(super) fn words(&self, study: &Study) -> String {
        let rows = match &self.rows {
            RowsOfSites::All(rows) => *rows,
            RowsOfSites::Each(each) => each.iter().sum(),
            RowsOfSites::Named(named) => named.values().sum(),
        };
        format!("{rows} {}", described(study))
    }
}

/// Where the rows come from, in words.
fn described(study: &Study) -> String {
    let schema = study.data.schema.as_ref().map_or_else(String::new, |path| format!(" ({})", path.display()));
    format!("rows drawn from the schema{schema}")
}

/// A study and the schema that its rows are drawn from: what is stated is looked up here.
struct DrawnFor<'a> {
    schema: &'a Schema,
    source: StudyText<'a>,
}

impl DrawnFor<'_> {
    /// A fault at a key of `drawn`.
    fn fault(&self, key: &str, message: String, hint: impl Into<String>) -> Fault {
        self.source.fault(&format!("data.drawn.{key}"), "S011", message, hint)
    }

    /// Refuses numbers without a range.
    fn bounds(&self) -> Result<(), Fault> {
        let unbounded = |kind: &Kind| matches!(kind, Kind::Numeric(Numeric { bounds: None, .. }));
        let Some(column) = self.schema.columns().iter().find(|column| unbounded(&column.kind)) else { return Ok(()) };
        let message = format!("column `{}` has no bounds in the schema, so no range to draw from", column.name);
        Err(self.source.fault("data.schema", "S011", message, "add bounds = [low, high] to the column"))
    }

    /// Noise of the outcome, and the intercept where none is stated.
    fn outcome(&self, drawn: &SchemaRows) -> Result<(f64, f64), Fault> {
        let name = &self.schema.outcome().column;
        match (&self.schema.outcome().kind, drawn.noise_deviation) {
            (OutcomeKind::Classes(levels), _) if levels.len() > 2 => {
                let message = format!(
                    "rows are drawn for an outcome of two levels or a number, and `{name}` has {}",
                    levels.len()
                );
                let hint = "combine levels of the outcome to two, or simulate with a table (source = \"csv:PATH\")";
                Err(self.source.fault("data.source", "S011", message, hint))
            }
            (OutcomeKind::Classes(_), Some(_)) => {
                let message =
                    format!("noise_deviation is stated, and `{name}` has levels: they are drawn by their odds");
                Err(self.fault("noise_deviation", message, "leave it out"))
            }
            (OutcomeKind::Classes(_), None) => Ok((0.0, 0.0)),
            (OutcomeKind::Number(_), None) => {
                let message = format!("`{name}` is a number, and how far it is from its expectation is not stated");
                let hint = "add noise_deviation to drawn: its standard deviation given the inputs, in its units";
                Err(self.fault("noise_deviation", message, hint))
            }
            (OutcomeKind::Number(number), Some(deviation)) => Ok((deviation, number.centre)),
        }
    }

    /// One effect for each contrast of the schema; 0 where it is not stated.
    fn effects(&self, stated: &BTreeMap<String, EffectOfColumn>) -> Result<Vec<f64>, Fault> {
        let asked = contrasts(self.schema);
        let mut effects = vec![0.0; asked.len()];
        for (name, effect) in stated {
            self.column(name)?;
            match effect {
                EffectOfColumn::Number(value) => {
                    let at = self.contrast(&asked, name, None)?;
                    effects[at] = *value;
                }
                EffectOfColumn::Levels(levels) => {
                    for (level, value) in levels {
                        let at = self.contrast(&asked, name, Some(level))?;
                        effects[at] = *value;
                    }
                }
            }
        }
        Ok(effects)
    }

    /// Refuses a column that is no input.
    fn column(&self, name: &str) -> Result<(), Fault> {
        let inputs = || self.schema.columns().iter().filter(|column| column.kind != Kind::Ignore);
        if inputs().any(|column| column.name == name) {
            return Ok(());
        }
        let names: Vec<&str> = inputs().map(|column| column.name.as_str()).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("inputs are {}", names.join(", ")),
        };
        Err(self.fault(&format!("effects.{name}"), format!("`{name}` is no input of the schema"), hint))
    }

    /// The place of the contrast that an effect is stated for.
    fn contrast(&self, asked: &[Contrast], name: &str, level: Option<&str>) -> Result<usize, Fault> {
        let of_column = || asked.iter().filter(|contrast| contrast.input == name);
        let number = of_column().any(|contrast| contrast.level.is_none());
        let wanted = level.filter(|level| !(number && *level == CHANGE));
        let found = asked.iter().position(|contrast| contrast.input == name && contrast.level.as_deref() == wanted);
        if let Some(found) = found {
            return Ok(found);
        }
        let levels: Vec<&str> = of_column().filter_map(|contrast| contrast.level.as_deref()).collect();
        let reference = of_column().find_map(|contrast| contrast.reference.clone()).unwrap_or_default();
        let (key, message, hint) = match level {
            None => {
                let example =
                    levels.first().map_or_else(String::new, |level| format!("{name} = {{ {level:?} = 0.5 }}"));
                let message =
                    format!("`{name}` is a category, and its effects are those of levels against {reference:?}");
                (format!("effects.{name}"), message, example)
            }
            Some(level) => {
                let close = nearest(level, levels.iter().copied()).map(|close| format!("did you mean `{close}`?"));
                let known = match (number, levels.is_empty()) {
                    (true, true) => format!("state its effect as a number: {name} = 0.3"),
                    (true, false) => format!("{name} = {{ change = 0.3, missing = 0.1 }}"),
                    (false, _) => format!("levels are {}, against {reference:?}", levels.join(", ")),
                };
                let what = if level == reference { "is the reference of" } else { "is no level of" };
                (format!("effects.{name}.{level}"), format!("`{level}` {what} `{name}`"), close.unwrap_or(known))
            }
        };
        Err(self.fault(&key, message, hint))
    }

    /// Shares of levels, in the order of the levels; a level that is not named takes nothing.
    fn shares(&self, stated: &BTreeMap<String, BTreeMap<String, f64>>) -> Result<BTreeMap<String, Vec<f64>>, Fault> {
        let mut found = BTreeMap::new();
        for (name, shares) in stated {
            let column = self.schema.columns().iter().find(|column| column.name == *name);
            let Some(Kind::Category { levels, .. }) = column.map(|column| &column.kind) else {
                let categories = self.schema.columns().iter().filter(|c| matches!(c.kind, Kind::Category { .. }));
                let close = nearest(name, categories.map(|column| column.name.as_str()));
                let hint = close
                    .map_or_else(|| "only levels of a category have shares".into(), |c| format!("did you mean `{c}`?"));
                return Err(self.fault(
                    &format!("shares.{name}"),
                    format!("`{name}` is no category of the schema"),
                    hint,
                ));
            };
            if let Some(level) = shares.keys().find(|level| !levels.contains(level)) {
                let close = nearest(level, levels.iter().map(String::as_str));
                let hint = close
                    .map_or_else(|| format!("levels are {}", levels.join(", ")), |c| format!("did you mean `{c}`?"));
                let message = format!("`{level}` is no level of `{name}`");
                return Err(self.fault(&format!("shares.{name}.{level}"), message, hint));
            }
            if shares.is_empty() {
                return Err(self.fault(&format!("shares.{name}"), "no level has a share".into(), "leave it out"));
            }
            found.insert(name.clone(), levels.iter().map(|level| shares.get(level).copied().unwrap_or(0.0)).collect());
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
