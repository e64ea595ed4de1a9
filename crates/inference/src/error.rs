//! Errors of this room, in two kinds: data that do not fit, and a run that cannot go on.

use crate::describe::Conflict;
use privacy::PrivacyError;

/// Data, schemas and partitions that do not fit together.
///
/// Meant for the owner of the data, at home: texts may name a line and a column, and what was found there. In an agent
/// these errors are shown locally, before joining, and never sent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The shape of a row or table.
    #[error("expected rows of the declared width, found {found}")]
    Width {
        /// What was found.
        found: String,
    },
    /// A client without rows.
    #[error("a client has no rows, expected at least one")]
    EmptyClient,
    /// A schema that cannot be understood.
    #[error("schema{}: {what}", place(*line))]
    Schema {
        /// Line of the schema, counted from one.
        line: Option<usize>,
        /// What was found.
        what: String,
        /// What would be right.
        hint: String,
        /// What else is wrong with the same schema, in the order of its lines.
        further: Vec<DataError>,
    },
    /// A column that is in one of header and schema only, or twice.
    #[error("column `{column}` {what}")]
    Column {
        /// The column.
        column: String,
        /// What is wrong with it.
        what: &'static str,
        /// What to do.
        hint: String,
    },
    /// A cell outside the schema.
    #[error("line {line}, column `{column}`: found {}, expected {expected}", cell(found))]
    Cell {
        /// Line of the file, counted from one.
        line: u64,
        /// The column.
        column: String,
        /// What was found.
        found: String,
        /// What the schema allows.
        expected: String,
        /// What to do.
        hint: String,
    },
    /// Cells of one column outside the schema, with what else is wrong with the same table.
    #[error("column `{column}`: {}, expected {expected}", cells(*count, *of, lines, found.as_deref()))]
    Cells {
        /// The column.
        column: String,
        /// How many there are.
        count: u64,
        /// Of so many cells that were looked at.
        of: u64,
        /// The lines of the first ones, counted from one.
        lines: Box<[u64]>,
        /// What was found in the first; none where cells are not shown.
        found: Option<Box<str>>,
        /// What the schema allows.
        expected: Box<str>,
        /// What to do.
        hint: Box<str>,
        /// What else is wrong with the same table.
        further: Box<[DataError]>,
    },
    /// A file that is no table.
    #[error("{}{what}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
    Table {
        /// Line of the file, counted from one, where it is known.
        line: Option<u64>,
        /// What was found.
        what: String,
    },
    /// A record id that is missing, or that two rows have. The id itself is not named.
    #[error("line {line}, column `{column}`: {what}")]
    Record {
        /// Line of the file, counted from one.
        line: u64,
        /// The column of record ids.
        column: String,
        /// What is wrong with it.
        what: String,
    },
    /// A split into training and held-out rows that leaves one of them empty.
    #[error("split: {what}")]
    Split {
        /// What was found.
        what: String,
        /// What is possible.
        hint: String,
    },
    /// A partition that these rows do not allow.
    #[error("partition: {what}")]
    Partition {
        /// What was found.
        what: String,
        /// What is possible.
        hint: String,
    },
}

/// A cell in a message: its text between marks, or that there is none.
fn cell(found: &str) -> String {
    if found.is_empty() { "an empty cell".to_owned() } else { format!("`{found}`") }
}

/// So many cells, where the first of them are, and what is in the very first.
fn cells(count: u64, of: u64, lines: &[u64], found: Option<&str>) -> String {
    let named: Vec<String> = lines.iter().map(u64::to_string).collect();
    let more = if count > lines.len() as u64 { ", …" } else { "" };
    let lines = format!("line{} {}{more}", if count == 1 { "" } else { "s" }, named.join(", "));
    let first = match (count, found) {
        (_, None) => String::new(),
        (1, Some(found)) => format!(", found {}", cell(found)),
        (_, Some(found)) => format!(", the first is {}", cell(found)),
    };
    let is = if count == 1 { "is" } else { "are" };
    format!("{count} of {of} cells {is} not allowed ({lines}{first})")
}

impl DataError {
    /// A stable code, explained by the command line.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Width { .. } => "D001",
            Self::EmptyClient => "D002",
            Self::Schema { .. } => "D003",
            Self::Column { .. } => "D004",
            Self::Cell { .. } | Self::Cells { .. } => "D005",
            Self::Table { .. } => "D006",
            Self::Split { .. } => "D007",
            Self::Partition { .. } => "D008",
            Self::Record { .. } => "D011",
        }
    }

    /// The error, and what else is wrong in the same place: everything about a schema is told at once.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        let further: &[Self] = match self {
            Self::Schema { further, .. } => further,
            Self::Cells { further, .. } => further,
            _ => &[],
        };
        std::iter::once(self).chain(further)
    }

    /// The same without what was found in a cell, for a terminal or a log that others read, too.
    #[must_use]
    pub fn without_cells(self) -> Self {
        let hint = "correct the table; or say in the schema what is allowed, if that is public knowledge: levels, bounds, missing = …";
        match self {
            Self::Cell { line, column, expected, .. } => Self::Cells {
                column,
                count: 1,
                of: 1,
                lines: [line].into(),
                found: None,
                expected: expected.into(),
                hint: hint.into(),
                further: Box::default(),
            },
            Self::Cells { column, count, of, lines, expected, further, .. } => {
                let further = Vec::from(further).into_iter().map(Self::without_cells).collect();
                Self::Cells { column, count, of, lines, found: None, expected, hint: hint.into(), further }
            }
            Self::Partition { what, .. } => {
                Self::Partition { what, hint: "compare [partition] with the table".to_owned() }
            }
            Self::Split { what, .. } => Self::Split { what, hint: "compare `split` with the table".to_owned() },
            other => other,
        }
    }

    /// What to do next.
    pub fn hint(&self) -> &str {
        match self {
            Self::Width { .. } => "encode all rows with one schema",
            Self::EmptyClient => "take fewer clients, or hold out fewer rows",
            Self::Schema { hint, .. }
            | Self::Column { hint, .. }
            | Self::Cell { hint, .. }
            | Self::Split { hint, .. }
            | Self::Partition { hint, .. } => hint,
            Self::Cells { hint, .. } => hint,
            Self::Table { .. } => {
                "expected comma-separated text in UTF-8 with a header, and one line as long as it for every row; gzipped or not"
            }
            Self::Record { .. } => {
                "every row has an id of its own; without such a column leave record_id out of the schema"
            }
        }
    }
}

/// The place in a schema, where it is known.
fn place(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

/// Why a run stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A gate, ledger or accountant refused.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// A message or stored state that is not what was sent.
    #[error("a message does not decode: {what}")]
    Message {
        /// Which one.
        what: &'static str,
    },
    /// Settings that do not fit together, at the key that says so.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// Numbers that a computation cannot work with.
    #[error("{what}")]
    Unusable {
        /// What was found, and what would do.
        what: String,
    },
    /// An optimisation that left the proper distributions.
    #[error("the optimisation diverged: q is not a proper distribution any more")]
    Diverged,
    /// The observer asked the run to stop.
    #[error("the run was stopped")]
    Stopped,
}
