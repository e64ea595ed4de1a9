//! How many rows are drawn for each site.

use super::{DrawnFor, RowsOfSites, SchemaRows};
use crate::fault::{Fault, StudyText};
use crate::meant::Study;
use inference::{Kind, Partition, Schema, nearest};

impl SchemaRows {
    /// The rows of each site, in alphabetical order of the names; where rows are dealt out by number, all of them without a name.
    ///
    /// # Errors
    /// Sites that the schema cannot name: rows of each site without a column, and a column that is no category and has no names.
    pub(crate) fn sites(&self, study: &Study, schema: &Schema) -> Result<Vec<(String, usize)>, Fault> {
        let drawn_for = DrawnFor { schema, source: StudyText::new(study.file.clone(), &study.text) };
        let sites = match (&study.partition, &self.rows) {
            (Partition::Column { column, .. }, rows) => drawn_for.named(column, rows, self)?,
            (_, RowsOfSites::All(rows)) => vec![(String::new(), *rows)],
            (_, RowsOfSites::Each(_) | RowsOfSites::Named(_)) => {
                let message = "rows are those of each site, and [partition] deals all rows out by number";
                let hint = "[partition] with the column that names the sites, such as column = \"clinic\"; or rows = N for all";
                return Err(drawn_for.fault("rows", message.into(), hint));
            }
        };
        let mut sites: Vec<(String, usize)> =
            sites.into_iter().map(|(name, rows)| (name, usize::try_from(rows).unwrap_or(usize::MAX))).collect();
        sites.sort();
        Ok(sites)
    }
}

impl DrawnFor<'_> {
    /// The sites that a column names.
    fn named(&self, column: &str, rows: &RowsOfSites, drawn: &SchemaRows) -> Result<Vec<(String, u64)>, Fault> {
        match self.schema.columns().iter().find(|known| known.name == column).map(|known| &known.kind) {
            Some(Kind::Category { levels, .. }) => self.levels(column, levels, rows, drawn),
            Some(Kind::Ignore) => match rows {
                RowsOfSites::Named(named) => Ok(named.iter().map(|(name, rows)| (name.clone(), *rows)).collect()),
                RowsOfSites::Each(each) => Ok(numbered(each)),
                RowsOfSites::All(_) => {
                    let message = format!("the schema does not say which sites `{column}` names");
                    Err(self.fault("rows", message, "give the rows of each: rows = { north = 1200, south = 800 }"))
                }
            },
            Some(Kind::Numeric(_)) => {
                let message = format!("`{column}` is a number, and cannot name sites");
                Err(self.source.fault("partition.column", "S011", message, "name a category or an ignored column"))
            }
            None => {
                let names: Vec<&str> = self.schema.columns().iter().map(|column| column.name.as_str()).collect();
                let hint = match nearest(column, names.iter().copied()) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => format!("add {{ name = {column:?}, kind = \"ignore\" }} to the schema"),
                };
                let message = format!("column `{column}` is not in the schema");
                Err(self.source.fault("partition.column", "D004", message, hint))
            }
        }
    }

    /// One site for each level: rows as stated, or shared out.
    fn levels(
        &self,
        column: &str,
        levels: &[String],
        rows: &RowsOfSites,
        drawn: &SchemaRows,
    ) -> Result<Vec<(String, u64)>, Fault> {
        let with_names = |each: &[u64]| levels.iter().cloned().zip(each.iter().copied()).collect();
        match rows {
            RowsOfSites::All(all) => {
                let shares = self.shares(&drawn.shares)?.remove(column).unwrap_or_else(|| vec![1.0; levels.len()]);
                let sites: Vec<(String, u64)> = with_names(&shared_out(*all, &shares));
                match sites.iter().find(|(_, rows)| *rows == 0) {
                    None => Ok(sites),
                    Some((name, _)) => {
                        Err(self.fault("rows", format!("site {name:?} would have no rows"), "draw more rows"))
                    }
                }
            }
            RowsOfSites::Each(each) if each.len() == levels.len() => Ok(with_names(each)),
            RowsOfSites::Each(each) => {
                let message = format!("rows has {} numbers, and `{column}` has {} levels", each.len(), levels.len());
                Err(self.fault("rows", message, "one number for each level, in the order of the schema"))
            }
            RowsOfSites::Named(named) => match named.keys().find(|name| !levels.contains(name)) {
                None => Ok(named.iter().map(|(name, rows)| (name.clone(), *rows)).collect()),
                Some(unknown) => {
                    let close = nearest(unknown, levels.iter().map(String::as_str));
                    let hint = close.map_or_else(
                        || format!("levels are {}", levels.join(", ")),
                        |c| format!("did you mean `{c}`?"),
                    );
                    Err(self.fault(&format!("rows.{unknown}"), format!("`{unknown}` is no level of `{column}`"), hint))
                }
            },
        }
    }
}

/// Sites without names, with numbers that sort as they are counted.
fn numbered(each: &[u64]) -> Vec<(String, u64)> {
    let digits = each.len().to_string().len();
    each.iter().enumerate().map(|(at, rows)| (format!("site {:0digits$}", at + 1), *rows)).collect()
}

/// So many rows in these shares: whole numbers that add up, each within one of its share.
fn shared_out(rows: u64, shares: &[f64]) -> Vec<u64> {
    let total: f64 = shares.iter().sum();
    let (mut passed, mut given) = (0.0, 0);
    let mut each = Vec::with_capacity(shares.len());
    for share in shares {
        passed += share / total;
        let until = ((passed * rows as f64).round() as u64).min(rows);
        each.push(until - given);
        given = until;
    }
    each
}
