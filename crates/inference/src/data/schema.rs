//! What a table's columns mean, in public constants: kinds, centres, scales, bounds, levels.
//!
//! A schema is never taken from rows: scales and levels that were estimated from them would leak. Take
//! them from a code book, from medical ranges, or from a charged query.

mod keys;
mod typed;

pub use keys::SCHEMA_KEYS;

use crate::{DataError, InputLayout};

/// What the columns of a table mean.
///
/// Read from TOML:
///
/// ```
/// let schema = inference::Schema::from_toml(r#"
///     outcome = { column = "ill", levels = ["no", "yes"] }
///     record_id = "patient"
///     column = [
///         { name = "age", kind = "numeric", centre = 55, scale = 10, bounds = [0, 110], missing = "flag" },
///         { name = "ward", kind = "category", levels = ["a", "b"], missing = "level" },
///         { name = "visit", kind = "ignore" },
///     ]
/// "#)?;
/// assert_eq!(schema.inputs(true), ["age", "age missing", "ward=a", "ward=b", "ward=?", "intercept"]);
/// # Ok::<(), inference::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    outcome: Outcome,
    columns: Vec<Column>,
    /// The column that tells records apart.
    record_id: Option<String>,
    /// The column that tells persons apart.
    person_id: Option<String>,
    /// Which rows belong; all, where it is none.
    only: Option<Only>,
}

/// Which rows of a table belong: those with this level in this column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only {
    /// A column of the schema; one that is ignored is fine.
    pub column: String,
    /// Its value in rows that belong; all others are left out.
    pub level: String,
}

/// What is predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its column.
    pub column: String,
    /// Its values.
    pub kind: OutcomeKind,
    /// Rows without an outcome are left out of a study, instead of being an error.
    pub drop_missing: bool,
    /// Units of measurement of a number, for readers.
    pub units: Option<String>,
}

impl Outcome {
    /// The column for a reader: with the level whose odds are told where it has two, or with its units.
    pub fn words(&self) -> String {
        match (&self.kind, &self.units) {
            (OutcomeKind::Classes(levels), _) if levels.len() == 2 => format!("{} = {}", self.column, levels[1]),
            (_, Some(units)) => format!("{} ({units})", self.column),
            (_, None) => self.column.clone(),
        }
    }

    /// Least and greatest encoded value of a number with bounds; none of classes.
    pub fn encoded_bounds(&self) -> Option<(f64, f64)> {
        let OutcomeKind::Number(number) = &self.kind else { return None };
        number.bounds.map(|(low, high)| (number.encode(low), number.encode(high)))
    }

    /// A value that a row may have, as it would stand in a file.
    pub fn example(&self) -> String {
        match &self.kind {
            OutcomeKind::Classes(levels) => levels.first().cloned().unwrap_or_default(),
            OutcomeKind::Number(number) => number.bounds.map_or(number.centre, |(low, _)| low).to_string(),
        }
    }
}

/// Values of an outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeKind {
    /// One of these levels; encoded as its place, so that two levels are 0 and 1.
    Classes(Vec<String>),
    /// A number between bounds.
    Number(Numeric),
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How its effect is told. It changes no input.
    pub told: ToldEffect,
}

/// How the effect of a column is told to readers; what is left out has a default ([`crate::effects`]).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToldEffect {
    /// A number: by how much it is changed, in its own units; of a logarithm, by which factor.
    pub per: Option<f64>,
    /// A number: its units of measurement.
    pub units: Option<String>,
    /// A category: the place of the level that the others are compared with; the first, where it is none.
    pub reference: Option<usize>,
}

/// What a column is, hence which inputs it becomes: one number, a one among levels, or none.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A number, standardised by public constants.
    Numeric(Numeric),
    /// One of some levels: a one in its place.
    Category {
        /// The levels, in the order of the inputs.
        levels: Vec<String>,
        /// A missing cell is a level of its own, after the others.
        missing_level: bool,
    },
    /// Not an input. It may still name clients or held-out rows.
    Ignore,
}

/// How a number becomes an input: (clamped value, or its logarithm, − centre) / scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numeric {
    /// Subtracted.
    pub centre: f64,
    /// Divided by.
    pub scale: f64,
    /// Values are clamped to these first.
    pub bounds: Option<(f64, f64)>,
    /// Take the natural logarithm after clamping; the bounds are then over 0.
    pub log: bool,
    /// What a missing cell is.
    pub missing: Missing,
}

/// What a missing cell of a numeric column is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Missing {
    /// An error in a study; the centre elsewhere.
    Refused,
    /// The centre, and a one in an input of its own.
    Flag,
    /// This value.
    Fill(f64),
}

impl Numeric {
    /// The input for this value.
    pub fn encode(&self, value: f64) -> f64 {
        let value = self.bounds.map_or(value, |(low, high)| value.clamp(low, high));
        let value = if self.log { libm::log(value) } else { value };
        (value - self.centre) / self.scale
    }
}

impl Schema {
    /// Reads and checks a schema. Errors name the line.
    ///
    /// # Errors
    /// [`DataError::Schema`] with the line: text that is no TOML, unknown keys, a column that is named twice,
    /// constants with which a number could become infinite, and a schema without inputs.
    pub fn from_toml(text: &str) -> Result<Self, DataError> {
        typed::read(text)
    }

    /// What is predicted.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The other columns, in the order of the schema.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column that tells which record a row is, if there is one. It is never an input, and its cells never leave.
    pub fn record_id(&self) -> Option<&str> {
        self.record_id.as_deref()
    }

    /// The column that tells whose row a row is, if there is one: a person may have several. It is never an input, and its
    /// cells never leave.
    pub fn person_id(&self) -> Option<&str> {
        self.person_id.as_deref()
    }

    /// Which rows of a table belong; all, where the schema does not say.
    pub fn only(&self) -> Option<&Only> {
        self.only.as_ref()
    }

    /// True if the schema says what the column of this name is.
    pub fn names(&self, name: &str) -> bool {
        let column = self.columns.iter().any(|column| column.name == name);
        column || self.outcome.column == name || self.record_id() == Some(name) || self.person_id() == Some(name)
    }

    /// How many classes the outcome has; none if it is a number.
    pub fn classes(&self) -> Option<usize> {
        match &self.outcome.kind {
            OutcomeKind::Classes(levels) => Some(levels.len()),
            OutcomeKind::Number(_) => None,
        }
    }

    /// How many inputs are numbers. They come first.
    pub fn dense(&self) -> usize {
        self.columns.iter().filter(|column| matches!(column.kind, Kind::Numeric(_))).count()
    }

    /// Names of the inputs: numbers first, then flags and levels in the order of the columns, then the bias.
    pub fn inputs(&self, bias: bool) -> Vec<String> {
        let numeric = self.columns.iter().filter(|column| matches!(column.kind, Kind::Numeric(_)));
        let numbers = numeric.map(|column| column.name.clone());
        let ones = self.columns.iter().flat_map(Column::ones);
        numbers.chain(ones).chain(bias.then(|| "intercept".to_owned())).collect()
    }
}

impl Schema {
    /// What the inputs are, in the order of their names ([`Schema::inputs`]).
    pub fn layout(&self, intercept: bool) -> Result<InputLayout, DataError> {
        let (mut blocks, mut first) = (Vec::new(), self.dense());
        for column in &self.columns {
            let end = first + column.ones_count();
            if matches!(column.kind, Kind::Category { .. }) && end > first {
                blocks.push(first..end);
            }
            first = end;
        }
        let layout = InputLayout::new(first + usize::from(intercept), self.dense())?.with_blocks(blocks)?;
        Ok(if intercept { layout.with_intercept() } else { layout })
    }
}

impl Schema {
    /// The column whose encoded values reach farthest from 0, the outcome among them, and how far: infinitely without bounds.
    /// Levels, flags and the intercept are ones.
    pub fn reach(&self) -> (&str, f64) {
        let of_outcome = match &self.outcome.kind {
            OutcomeKind::Number(number) => number.reach(),
            OutcomeKind::Classes(_) => 1.0,
        };
        let mut widest = (self.outcome.column.as_str(), of_outcome);
        for column in &self.columns {
            let found = match &column.kind {
                Kind::Numeric(number) => number.reach(),
                Kind::Category { .. } => 1.0,
                Kind::Ignore => continue,
            };
            if found > widest.1 {
                widest = (&column.name, found);
            }
        }
        widest
    }
}

impl Numeric {
    /// The largest absolute value of a bounded column after encoding; infinite without bounds.
    fn reach(&self) -> f64 {
        self.bounds.map_or(f64::INFINITY, |(low, high)| self.encode(low).abs().max(self.encode(high).abs()))
    }
}

impl Column {
    /// Names of the inputs of this column that are stored as ones.
    fn ones(&self) -> Vec<String> {
        match &self.kind {
            Kind::Numeric(Numeric { missing: Missing::Flag, .. }) => vec![format!("{} missing", self.name)],
            Kind::Numeric(_) | Kind::Ignore => Vec::new(),
            Kind::Category { levels, missing_level } => {
                let own = missing_level.then(|| format!("{}=?", self.name));
                levels.iter().map(|level| format!("{}={level}", self.name)).chain(own).collect()
            }
        }
    }

    /// How many inputs of this column are stored as ones.
    pub(crate) fn ones_count(&self) -> usize {
        match &self.kind {
            Kind::Numeric(numeric) => usize::from(numeric.missing == Missing::Flag),
            Kind::Category { levels, missing_level } => levels.len() + usize::from(*missing_level),
            Kind::Ignore => 0,
        }
    }
}
