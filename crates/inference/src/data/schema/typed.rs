//! A schema as typed in TOML, and the checks that make it one as meant.
//!
//! Types that end in `AsTyped` mirror the file; each has a function `meant` that checks it and makes the
//! type of [`super`]. Errors say on which line of the file they were found.

use super::{Column, Kind, Missing, Numeric, Only, Outcome, OutcomeKind, Schema, ToldEffect};
use crate::DataError;
use crate::data::nearest::nearest;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Reads and checks a schema. Everything that is wrong with it is told, each with its line.
pub(super) fn read(text: &str) -> Result<Schema, DataError> {
    let typed: SchemaAsTyped = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| line_of(text, span.start));
        refused(line, error.message(), hint_of(error.message()))
    })?;
    let SchemaAsTyped { outcome, record_id, person_id, only, column: typed } = typed;
    let (outcome_line, outcome) = (line_of(text, outcome.span().start), outcome.into_inner());
    let target = outcome.column.clone();
    let mut found = Findings::default();
    let outcome = found.take(outcome.meant().map_err(|wrong| wrong.at(outcome_line)));
    let columns = found.columns(typed, &target, text);
    let mut id = |key: &str, name: Option<Spanned<String>>| {
        name.and_then(|name| found.take(id_column(key, name, text, &target, &columns)))
    };
    let (record_id, person_id) = (id("record_id", record_id), id("person_id", person_id));
    // A column that is wrong by itself is none of those that `only` may name.
    let only = only.filter(|_| found.0.is_empty()).and_then(|only| found.take(selected(only, text, &columns)));
    let outcome = found.told(outcome)?;
    let schema = Schema { outcome, columns, record_id, person_id, only };
    if schema.inputs(false).is_empty() {
        let hint = "give at least one column the kind `numeric` or `category`".to_owned();
        return Err(refused(None, "no column is an input", hint));
    }
    Ok(schema)
}

/// What is wrong with a schema so far.
#[derive(Default)]
struct Findings(Vec<DataError>);

impl Findings {
    /// What was read, or nothing where it is wrong.
    fn take<T>(&mut self, read: Result<T, DataError>) -> Option<T> {
        read.map_err(|error| self.0.push(error)).ok()
    }

    /// The columns that are right. A name that stands twice is wrong wherever it stands again.
    fn columns(&mut self, typed: Vec<Spanned<ColumnAsTyped>>, target: &str, text: &str) -> Vec<Column> {
        let (mut columns, mut names) = (Vec::new(), vec![target.to_owned()]);
        for column in typed {
            let (line, column) = (line_of(text, column.span().start), column.into_inner());
            if names.contains(&column.name) {
                let what = format!("column `{}` is named twice", column.name);
                self.0.push(Wrong::new(what, "keep one of the two").at(line));
                continue;
            }
            names.push(column.name.clone());
            columns.extend(self.take(column.meant().map_err(|wrong| wrong.at(line))));
        }
        columns
    }

    /// The outcome, if nothing is wrong; else the first thing by its line, with all others.
    fn told(self, outcome: Option<Outcome>) -> Result<Outcome, DataError> {
        let mut all = self.0;
        all.sort_by_key(|error| if let DataError::Schema { line, .. } = error { *line } else { None });
        let mut rest = all.into_iter();
        match (rest.next(), outcome) {
            (None, Some(outcome)) => Ok(outcome),
            (Some(DataError::Schema { line, what, hint, .. }), _) => {
                Err(DataError::Schema { line, what, hint, further: rest.collect() })
            }
            (Some(other), _) => Err(other),
            (None, None) => Err(refused(None, "no outcome", hint_of(""))),
        }
    }
}

/// One thing that is wrong with a schema.
fn refused(line: Option<usize>, what: &str, hint: String) -> DataError {
    DataError::Schema { line, what: what.to_owned(), hint, further: Vec::new() }
}

/// The column of ids of records or persons: one of its own, or an ignored one.
fn id_column(
    key: &str,
    name: Spanned<String>,
    text: &str,
    outcome: &str,
    columns: &[Column],
) -> Result<String, DataError> {
    let line = line_of(text, name.span().start);
    let name = name.into_inner();
    let input = |column: &Column| column.name == name && column.kind != Kind::Ignore;
    if name == outcome || columns.iter().any(input) {
        let what = format!("{key} names `{name}`, which is learnt from");
        let hint = "ids are never learnt from: name another column, or give this one the kind `ignore`";
        return Err(Wrong::new(what, hint).at(line));
    }
    Ok(name)
}

/// The rows that belong: one level of one declared column.
fn selected(typed: Spanned<BTreeMap<String, String>>, text: &str, columns: &[Column]) -> Result<Only, DataError> {
    let line = line_of(text, typed.span().start);
    let typed = typed.into_inner();
    let wrong = |what: String, hint: String| Err(Wrong::new(what, hint).at(line));
    let Some((column, level)) = typed.iter().next().filter(|_| typed.len() == 1) else {
        let what = format!("only names {} columns, expected one", typed.len());
        return wrong(what, "for example only = { colour = \"red\" }".into());
    };
    let Some(found) = columns.iter().find(|other| other.name == *column) else {
        let declare = format!("declare it: {{ name = \"{column}\", kind = \"ignore\" }}");
        let close = nearest(column, columns.iter().map(|column| column.name.as_str()));
        let hint =
            close.map_or_else(|| declare.clone(), |close| format!("did you mean `{close}`? Otherwise {declare}"));
        return wrong(format!("only names `{column}`, which is none of the columns"), hint);
    };
    if let Kind::Category { levels, .. } = &found.kind
        && !levels.contains(level)
    {
        let close = nearest(level, levels.iter().map(String::as_str));
        let hint = close.map_or_else(|| "name one of its levels".into(), |close| format!("did you mean `{close}`?"));
        return wrong(format!("only wants `{level}`, which is no level of column `{column}`"), hint);
    }
    Ok(Only { column: column.clone(), level: level.clone() })
}

/// The file as typed.
/// Spans are kept where a message may have to name a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaAsTyped {
    outcome: Spanned<OutcomeAsTyped>,
    record_id: Option<Spanned<String>>,
    person_id: Option<Spanned<String>>,
    only: Option<Spanned<BTreeMap<String, String>>>,
    #[serde(default)]
    column: Vec<Spanned<ColumnAsTyped>>,
}

/// `outcome`: `levels` of classes, or the constants of a number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutcomeAsTyped {
    column: String,
    /// Classes.
    levels: Option<Vec<String>>,
    centre: Option<f64>,
    scale: Option<f64>,
    /// A number.
    bounds: Option<[f64; 2]>,
    /// "drop", or nothing.
    missing: Option<String>,
    /// Of a number, for readers.
    units: Option<String>,
}

/// One column. Which of these may be there depends on `kind`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnAsTyped {
    name: String,
    /// "numeric", "category" or "ignore".
    kind: String,
    /// Of a category.
    levels: Option<Vec<String>>,
    /// Of a number: subtracted.
    centre: Option<f64>,
    /// Of a number: divided by.
    scale: Option<f64>,
    /// Of a number: values are clamped to these first.
    bounds: Option<[f64; 2]>,
    /// Of a number: whether its logarithm is taken.
    log: Option<bool>,
    /// What a missing cell is.
    missing: Option<MissingAsTyped>,
    /// Of a number: how much of it an effect is told for.
    per: Option<f64>,
    /// Of a number: its units of measurement.
    units: Option<String>,
    /// Of a category: the level that the others are compared with.
    reference: Option<String>,
}

/// `missing = "flag"`, or `missing = { fill = 0.0 }`.
#[derive(Deserialize)]
#[serde(untagged)]
enum MissingAsTyped {
    Rule(String),
    Fill { fill: f64 },
}

/// Something wrong in a place that is not known yet; [`Wrong::at`] adds the line.
struct Wrong {
    what: String,
    hint: String,
}

impl Wrong {
    /// What is wrong, and what to do about it.
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }

    /// The error, with its line.
    fn at(self, line: usize) -> DataError {
        refused(Some(line), &self.what, self.hint)
    }
}

impl OutcomeAsTyped {
    /// Classes need two levels at least, a number its bounds: an unbounded outcome could not be clipped.
    fn meant(self) -> Result<Outcome, Wrong> {
        let drop_missing = match self.missing.as_deref() {
            None => false,
            Some("drop") => true,
            Some(other) => {
                let what = format!("outcome: missing = \"{other}\"");
                return Err(Wrong::new(what, "leave it out, or say \"drop\": rows without an outcome are left out"));
            }
        };
        let numeric = self.centre.is_some() || self.scale.is_some() || self.bounds.is_some() || self.units.is_some();
        let kind = match (self.levels, self.bounds) {
            (Some(levels), _) if !numeric => OutcomeKind::Classes(checked_levels(&self.column, levels, 2)?),
            (None, Some(bounds)) => {
                let (centre, scale) = (self.centre.unwrap_or(0.0), self.scale.unwrap_or(1.0));
                let missing = Missing::Refused;
                let numeric = Numeric { centre, scale, bounds: Some((bounds[0], bounds[1])), log: false, missing };
                OutcomeKind::Number(checked_numeric(&self.column, numeric)?)
            }
            _ => {
                let what = format!("outcome `{}` is neither classes nor a number", self.column);
                return Err(Wrong::new(what, "give `levels = [...]`, or `bounds = [low, high]` for a number"));
            }
        };
        Ok(Outcome { column: self.column, kind, drop_missing, units: self.units })
    }
}

impl ColumnAsTyped {
    /// The column by its kind; a word that is no kind is answered with the nearest one.
    fn meant(self) -> Result<Column, Wrong> {
        let kind = match self.kind.as_str() {
            "numeric" => self.numeric()?,
            "category" => self.category()?,
            "ignore" => self.ignored()?,
            other => {
                let close = nearest(other, ["numeric", "category", "ignore"]);
                let hint = close.map_or_else(String::new, |kind| format!("did you mean `{kind}`? "));
                let what = format!("column `{}` has the kind `{other}`", self.name);
                return Err(Wrong::new(what, format!("{hint}kinds are numeric, category and ignore")));
            }
        };
        let told = self.told(&kind)?;
        Ok(Column { name: self.name, kind, told })
    }

    /// How an effect is told: a change over 0 of a number, a factor over 1 of a logarithm, one of a category's levels.
    fn told(&self, kind: &Kind) -> Result<ToldEffect, Wrong> {
        let wrong = |what: String, hint: String| Err(Wrong::new(format!("column `{}`: {what}", self.name), hint));
        match (kind, self.per) {
            (Kind::Numeric(numeric), Some(per)) => {
                let least = if numeric.log { 1.0 } else { 0.0 };
                if !(per.is_finite() && per > least) {
                    let what =
                        if numeric.log { "a factor, over 1: per = 2 is per doubling" } else { "a number over 0" };
                    return wrong(format!("per = {per}"), format!("an effect is told for {what}"));
                }
            }
            (_, Some(per)) => return wrong(format!("per = {per}"), "only the effect of a number has a unit".into()),
            (_, None) => {}
        }
        if let Some(units) = self.units.as_deref().filter(|_| !matches!(kind, Kind::Numeric(_))) {
            return wrong(format!("units = \"{units}\""), "only a number has units".into());
        }
        let reference = match (kind, self.reference.as_deref()) {
            (_, None) => None,
            (Kind::Category { levels, .. }, Some(wanted)) => match levels.iter().position(|level| level == wanted) {
                Some(place) => Some(place),
                None => {
                    let close = nearest(wanted, levels.iter().map(String::as_str));
                    let close = close.map_or_else(String::new, |level| format!("did you mean `{level}`? "));
                    return wrong(format!("reference = \"{wanted}\""), format!("{close}it is one of the levels"));
                }
            },
            (_, Some(wanted)) => {
                return wrong(format!("reference = \"{wanted}\""), "only a category has a reference level".into());
            }
        };
        Ok(ToldEffect { per: self.per, units: self.units.clone(), reference })
    }

    /// A number needs `centre` and `scale`; where a missing cell has no rule, it is refused.
    fn numeric(&self) -> Result<Kind, Wrong> {
        self.refuse("levels", self.levels.is_some(), "only a category has levels")?;
        let (Some(centre), Some(scale)) = (self.centre, self.scale) else {
            let what = format!("column `{}` lacks its centre or its scale", self.name);
            return Err(Wrong::new(what, "give public constants, such as centre = 55 and scale = 10; 0 and 1 keep it"));
        };
        let missing = match &self.missing {
            None => Missing::Refused,
            Some(MissingAsTyped::Rule(rule)) if rule == "flag" => Missing::Flag,
            Some(MissingAsTyped::Fill { fill }) => Missing::Fill(*fill),
            Some(MissingAsTyped::Rule(other)) => {
                let what = format!("column `{}`: missing = \"{other}\"", self.name);
                return Err(Wrong::new(what, "for a number it is \"flag\" or { fill = value }"));
            }
        };
        let bounds = self.bounds.map(|[low, high]| (low, high));
        let numeric = Numeric { centre, scale, bounds, log: self.log.unwrap_or(false), missing };
        Ok(Kind::Numeric(checked_numeric(&self.name, numeric)?))
    }

    /// A category needs its levels, all of them: they are inputs whether a row has them or not.
    fn category(&self) -> Result<Kind, Wrong> {
        let numeric = self.centre.is_some() || self.scale.is_some() || self.bounds.is_some() || self.log.is_some();
        self.refuse("constants of a number", numeric, "a category has levels only")?;
        let Some(levels) = self.levels.clone() else {
            let what = format!("category `{}` lacks its levels", self.name);
            return Err(Wrong::new(what, "list them from the code book: levels = [\"a\", \"b\"]"));
        };
        let levels = checked_levels(&self.name, levels, 1)?;
        let missing_level = match &self.missing {
            None => false,
            Some(MissingAsTyped::Rule(rule)) if rule == "level" => true,
            Some(_) => {
                let what = format!("column `{}` has a rule for missing numbers", self.name);
                return Err(Wrong::new(what, "for a category it is missing = \"level\", or nothing"));
            }
        };
        Ok(Kind::Category { levels, missing_level })
    }

    /// An ignored column has a name and nothing else.
    fn ignored(&self) -> Result<Kind, Wrong> {
        let any = self.levels.is_some() || self.centre.is_some() || self.scale.is_some() || self.bounds.is_some();
        let any = any || self.log.is_some() || self.missing.is_some();
        let any = any || self.per.is_some() || self.units.is_some() || self.reference.is_some();
        self.refuse("more than a name", any, "give it another kind, or leave the rest out")?;
        Ok(Kind::Ignore)
    }

    /// Refuses keys that a column of this kind cannot have.
    fn refuse(&self, what: &str, present: bool, hint: &str) -> Result<(), Wrong> {
        let what = format!("{} column `{}` has {what}", self.kind, self.name);
        if present { Err(Wrong::new(what, hint)) } else { Ok(()) }
    }
}

/// Levels that can be told apart.
fn checked_levels(column: &str, levels: Vec<String>, least: usize) -> Result<Vec<String>, Wrong> {
    if levels.len() < least {
        let what = format!("column `{column}` has {} levels, expected at least {least}", levels.len());
        return Err(Wrong::new(what, "list every level that may occur"));
    }
    for (place, level) in levels.iter().enumerate() {
        if level.trim().is_empty() || level.trim() != level {
            let what = format!("column `{column}` has the level \"{level}\"");
            return Err(Wrong::new(what, "a level has no spaces around it; for empty cells say missing = \"level\""));
        }
        if levels[..place].contains(level) {
            return Err(Wrong::new(format!("column `{column}` has the level `{level}` twice"), "keep one of the two"));
        }
    }
    Ok(levels)
}

/// Constants with which every number becomes a finite input.
fn checked_numeric(column: &str, numeric: Numeric) -> Result<Numeric, Wrong> {
    let wrong = |what: String, hint: &str| Err(Wrong::new(format!("column `{column}`: {what}"), hint));
    if !(numeric.centre.is_finite() && numeric.scale.is_finite() && numeric.scale > 0.0) {
        let what = format!("centre {} and scale {}", numeric.centre, numeric.scale);
        return wrong(what, "the centre is a number, the scale a number over 0");
    }
    if let Some((low, high)) = numeric.bounds
        && !(low.is_finite() && high.is_finite() && low < high)
    {
        return wrong(format!("bounds [{low}, {high}]"), "the lower bound comes first and is less than the upper one");
    }
    if numeric.log && numeric.bounds.is_none_or(|(low, _)| low <= 0.0) {
        return wrong("a logarithm without bounds over 0".into(), "give bounds = [low, high] with low over 0");
    }
    if let Missing::Fill(value) = numeric.missing
        && !(value.is_finite() && numeric.encode(value).is_finite())
    {
        return wrong(format!("missing cells filled with {value}"), "fill with a number");
    }
    Ok(numeric)
}

/// What to do about the words of the reader of TOML.
fn hint_of(words: &str) -> String {
    let mut names = words.split('`').skip(1).step_by(2);
    if let Some(found) = names.next().filter(|_| words.starts_with("unknown field"))
        && let Some(close) = nearest(found, names)
    {
        return format!("did you mean `{close}`?");
    }
    if words.ends_with("expected a string") {
        return "words and levels stand in double quotes, numbers among them too: levels = [\"0\", \"1\"]".into();
    }
    "a schema has `outcome` and a list of columns, each with `name` and `kind`".into()
}

/// The line, counted from one, of a place in a text.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTCOME: &str = "outcome = { column = \"y\", levels = [\"0\", \"1\"] }\n";

    fn is_refused(text: &str, line: usize, words: &str) {
        let error = Schema::from_toml(text).unwrap_err();
        let DataError::Schema { line: found, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*found, Some(line), "{text}\n{error}");
        let all = format!("{error} {}", error.hint());
        assert!(all.contains(words), "{text}\n{all}");
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (column, words) in [
            ("{ name = \"a\", kind = \"numerik\", centre = 0, scale = 1 }", "did you mean `numeric`"),
            ("{ name = \"a\", kind = \"numeric\", centre = 0 }", "scale"),
            ("{ name = \"a\", kind = \"numeric\", centre = 0, scale = 0 }", "over 0"),
            ("{ name = \"a\", kind = \"numeric\", centre = nan, scale = 1 }", "NaN"),
            ("{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1, bounds = [2, 1] }", "bounds [2, 1]"),
            ("{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1, log = true }", "low over 0"),
            ("{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1, missing = \"level\" }", "flag"),
            ("{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1, levels = [\"x\"] }", "levels"),
            ("{ name = \"a\", kind = \"category\", levels = [\"x\", \"x\"] }", "twice"),
            ("{ name = \"a\", kind = \"category\", levels = [\"x\", \"\"] }", "missing = \"level\""),
            ("{ name = \"a\", kind = \"category\" }", "lacks its levels"),
            ("{ name = \"a\", kind = \"category\", levels = [\"x\"], missing = { fill = 1 } }", "for a category"),
            ("{ name = \"a\", kind = \"ignore\", centre = 1 }", "more than a name"),
            ("{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1, per = 0 }", "a number over 0"),
            (
                "{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1, bounds = [1, 9], log = true, per = 1 }",
                "doubling",
            ),
            ("{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1, reference = \"x\" }", "only a category"),
            ("{ name = \"a\", kind = \"category\", levels = [\"x\", \"z\"], reference = \"Z\" }", "did you mean `z`"),
            ("{ name = \"a\", kind = \"category\", levels = [\"x\"], units = \"kg\" }", "only a number"),
            ("{ name = \"a\", kind = \"category\", levels = [\"x\"], per = 1 }", "only the effect of a number"),
            ("{ name = \"y\", kind = \"ignore\" }", "named twice"),
            ("{ name = \"a\", kind = \"numeric\", center = 0, scale = 1 }", "did you mean `centre`?"),
            ("{ name = \"a\", kind = \"category\", levels = [0, 1] }", "in double quotes"),
        ] {
            is_refused(&format!("{OUTCOME}# a comment\ncolumn = [\n  {column},\n]\n"), 4, words);
        }
        is_refused("\noutcome = { column = \"y\" }", 2, "levels = [...]");
        is_refused("\noutcome = { column = \"y\", levels = [\"1\"] }", 2, "at least 2");
        is_refused("outcome = 3", 1, "outcome");
        let input = "column = [{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1 }]\n";
        for learnt in ["a", "y"] {
            for key in ["record_id", "person_id"] {
                is_refused(&format!("{OUTCOME}{input}\n{key} = \"{learnt}\""), 4, "never learnt from");
            }
        }
        for (only, words) in [
            ("{ b = \"x\" }", "kind = \"ignore\""),
            ("{ y = \"1\" }", "none of the columns"),
            ("{ }", "names 0 columns, expected one"),
            ("{ a = \"1\", c = \"x\" }", "names 2 columns"),
            ("{ c = \"X\" }", "did you mean `x`?"),
            ("{ a = 1 }", "in double quotes"),
        ] {
            let columns = "column = [{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1 },\n\
                           { name = \"c\", kind = \"category\", levels = [\"x\"] }]";
            is_refused(&format!("{OUTCOME}\nonly = {only}\n{columns}"), 3, words);
        }
        is_refused("[outcome]\ncolumn = \"y\"\nlevels = [\"0\"\n", 3, "");
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once_in_the_order_of_its_lines() {
        let text = "person_id = \"y\"\noutcome = { column = \"y\", levels = [\"1\"] }\ncolumn = [\n\
                    { name = \"a\", kind = \"numerik\" },\n{ name = \"b\", kind = \"ignore\" },\n\
                    { name = \"a\", kind = \"ignore\" }]\nonly = { a = \"x\" }";
        let error = Schema::from_toml(text).unwrap_err();
        let told: Vec<String> = error.all().map(ToString::to_string).collect();
        for (told, words) in told.iter().zip([
            "line 1: person_id names `y`",
            "line 2: column `y` has 1 levels",
            "line 4: column `a` has the kind `numerik`",
            "line 6: column `a` is named twice",
        ]) {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert_eq!(told.len(), 4, "{told:?}");
    }

    /// The keys that a reader knows, from what it says of one that it does not know.
    fn read_keys<T: serde::de::DeserializeOwned>() -> Vec<String> {
        let error = toml::from_str::<T>("no_such_key = 1").err().map(|error| error.message().to_owned());
        let error = error.unwrap_or_default();
        let mut words: Vec<String> = error.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        assert_eq!(words.first().map(String::as_str), Some("no_such_key"), "{error}");
        words.remove(0);
        words.sort();
        words
    }

    #[test]
    fn every_key_that_is_read_is_described_and_no_other() {
        use super::super::keys::{COLUMN, OUTCOME, SCHEMA_KEYS};
        let described = |keys: &[crate::describe::Key]| {
            let mut names: Vec<String> = keys.iter().map(|key| key.name.to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(read_keys::<SchemaAsTyped>(), described(SCHEMA_KEYS));
        assert_eq!(read_keys::<OutcomeAsTyped>(), described(OUTCOME));
        assert_eq!(read_keys::<ColumnAsTyped>(), described(COLUMN));
    }

    #[test]
    fn a_record_id_is_no_input_and_rows_to_predict_may_lack_it() {
        let columns =
            "{ name = \"a\", kind = \"numeric\", centre = 0, scale = 1 }, { name = \"b\", kind = \"ignore\" }";
        for id in ["b", "patient"] {
            let text = format!("{OUTCOME}record_id = \"{id}\"\ncolumn = [{columns}]");
            let schema = Schema::from_toml(&text).unwrap();
            assert_eq!((schema.record_id(), schema.inputs(false)), (Some(id), vec!["a".to_owned()]));
            assert!(schema.names(id));
            let rows = crate::data::read_inputs(&b"a\n2\n"[..], &schema, false).unwrap().rows;
            assert_eq!(rows.row(0).numbers, [2.0]);
        }
    }

    #[test]
    fn a_schema_without_inputs_is_refused() {
        let error = Schema::from_toml(OUTCOME).unwrap_err();
        assert!(error.to_string().contains("no column is an input"), "{error}");
    }

    #[test]
    fn numbers_are_clamped_then_logged_then_standardised() {
        let plain =
            Numeric { centre: 50.0, scale: 10.0, bounds: Some((0.0, 100.0)), log: false, missing: Missing::Flag };
        assert_eq!((plain.encode(70.0), plain.encode(1e9), plain.encode(-1e9)), (2.0, 5.0, -5.0));
        let log = Numeric { centre: 0.0, scale: 1.0, bounds: Some((1.0, 100.0)), log: true, missing: Missing::Flag };
        assert_eq!((log.encode(-3.0), log.encode(100.0)), (0.0, libm::log(100.0)));
    }
}
