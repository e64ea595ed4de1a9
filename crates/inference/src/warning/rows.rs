//! Warnings that are read from rows or from scores on them: for simulations, and for a site's own terminal.

use super::{Code, Warning};
use crate::RowKeys;
use crate::comparison::Comparison;
use crate::score::MAIN;
use crate::{Encoded, Kind, Numeric, Schema};
use std::collections::BTreeMap;

/// Rows under which a site is called small: with fewer, one row is a tenth of everything that the site can say.
pub const FEW_ROWS: u64 = 10;

/// The largest share of a column's numbers that may lie outside the schema's bounds.
const MOST_OUTSIDE: f64 = 0.25;

/// The largest root mean square of an input: centred and scaled values have about 1.
const LARGEST_INPUT: f64 = 10.0;

/// Columns that one warning describes.
const MOST_COLUMNS: usize = 3;

/// A method that is behind the constant answer ([`crate::comparison::behind_constant`]).
pub fn behind_constant(compared: &Comparison) -> Option<Warning> {
    let difference = compared.main()?;
    let error = difference.standard_error.map(|error| format!(", standard error {error:.4}")).unwrap_or_default();
    Some(Warning {
        code: Code::BehindConstant,
        what: format!(
            "its held-out {} is {:.4} {} below that of {}, which uses no input{error}",
            MAIN.label,
            -difference.mean,
            MAIN.unit.words().unwrap_or_default(),
            compared.to
        ),
        hint: "do not predict with it; try a larger ε, fewer rounds, more rows or an aggregator".into(),
    })
}

/// Declared rows beside those found, where they differ.
pub fn rows_differ(whose: &str, declared: u64, found: u64) -> Option<Warning> {
    (declared != found).then(|| Warning {
        code: Code::RowsDiffer,
        what: format!("{declared} rows are declared for {whose}, and {found} were found"),
        hint: "noise, batches and δ are planned for the declared number; declare the rows that the file has".into(),
    })
}

/// Declared persons beside those found, where they differ.
pub fn persons_differ(whose: &str, declared: u64, found: u64) -> Option<Warning> {
    (declared != found).then(|| Warning {
        code: Code::RowsDiffer,
        what: format!("{declared} persons are declared for {whose}, and {found} were found"),
        hint: "noise, batches and δ are planned for the declared number; declare the persons that the file has".into(),
    })
}

/// Sites of fewer than [`FEW_ROWS`] rows, in one warning.
pub fn small_sites<'a>(sites: impl IntoIterator<Item = (&'a str, u64)>) -> Option<Warning> {
    let small: Vec<String> = sites
        .into_iter()
        .filter(|(_, rows)| *rows < FEW_ROWS)
        .map(|(name, rows)| format!("{name} has {rows} {}", if rows == 1 { "row" } else { "rows" }))
        .collect();
    let shown = small.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let more =
        if small.len() > 3 { format!(", and {} more sites are as small", small.len() - 3) } else { String::new() };
    (!small.is_empty()).then(|| Warning {
        code: Code::SmallSite,
        what: format!("{shown}{more}: fewer than {FEW_ROWS}"),
        hint: "its noise is larger than what it can say; join it with another site, or look whether its file is whole"
            .into(),
    })
}

/// Columns whose numbers are far from the schema's bounds, centre or scale, in one warning.
///
/// The table keeps the columns of the schema's numbers as text; a column that it does not keep is passed over.
pub fn off_scale(table: &Encoded, schema: &Schema) -> Option<Warning> {
    let found = schema.columns().iter().filter_map(|column| match &column.kind {
        Kind::Numeric(numeric) => off_scale_column(&column.name, numeric, table.column(&column.name).ok()?),
        _ => None,
    });
    let found: Vec<String> = found.collect();
    let rest = found.len().saturating_sub(MOST_COLUMNS);
    let more = if rest > 0 { format!("; {rest} more columns are like these") } else { String::new() };
    (!found.is_empty()).then(|| Warning {
        code: Code::OffScale,
        what: found.iter().take(MOST_COLUMNS).cloned().collect::<Vec<_>>().join("; ") + &more,
        hint: "check the units, and correct bounds, centre and scale in the schema from public knowledge".into(),
    })
}

fn off_scale_column(name: &str, numeric: &Numeric, cells: &[String]) -> Option<String> {
    let values: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).filter(|x: &f64| x.is_finite()).collect();
    let share = |count: usize| count as f64 / values.len() as f64;
    if let Some((low, high)) = numeric.bounds {
        let outside = share(values.iter().filter(|value| !(low..=high).contains(*value)).count());
        if outside > MOST_OUTSIDE {
            let percent = 100.0 * outside;
            return Some(format!("{percent:.0} % of `{name}` lies outside its bounds [{low}, {high}] and is clamped"));
        }
    }
    let squares: f64 = values.iter().map(|value| numeric.encode(*value).powi(2)).sum();
    let size = (squares / values.len() as f64).sqrt();
    (size > LARGEST_INPUT)
        .then(|| format!("`{name}` is about {size:.0} after centre and scale (root mean square), where 1 is usual"))
}

/// Persons with several rows where a promise is made to single rows; none where everybody has one.
pub fn repeated_persons(keys: &RowKeys) -> Option<Warning> {
    let mut rows: BTreeMap<u64, u64> = BTreeMap::new();
    keys.persons()?.iter().for_each(|person| *rows.entry(person.slot).or_default() += 1);
    let several = rows.values().filter(|&&rows| rows > 1).count();
    let most = rows.values().copied().max().filter(|most| *most > 1)?;
    Some(Warning {
        code: Code::RepeatedPersons,
        what: format!(
            "{several} of {} persons have several rows, up to {most}, and unit = \"example\" protects each row by itself: for \
             all rows of such a person together ε is up to {most} times as large",
            rows.len()
        ),
        hint: "use unit = \"person\", which protects all rows of a person at once".into(),
    })
}

/// The same without a number, for a terminal whose output may be kept in a log.
pub fn repeated_persons_unnumbered() -> Warning {
    Warning {
        code: Code::RepeatedPersons,
        what: "some persons have several rows, and unit = \"example\" protects each row by itself: for all k rows of a person \
               together ε is up to k times as large"
            .into(),
        hint: "use unit = \"person\", which protects all rows of a person at once".into(),
    }
}

/// The last line of a table, as far as it shows whether the file is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastLine {
    /// It ends with a line break.
    pub ended: bool,
    /// It has as many cells as the header, and the schema allows each.
    pub fits: bool,
    /// It is the only row of its site.
    pub alone: bool,
}

/// A file that seems to have been cut off: its last line has no end and does not fit, or it made up a site of its own.
///
/// Many a whole file has no line break at its end, so that alone says nothing.
pub fn cut_off(last: LastLine, site: Option<&str>) -> Option<Warning> {
    if last.ended || (last.fits && !last.alone) {
        return None;
    }
    let what = match site.filter(|_| last.alone) {
        Some(site) => format!("the file ends in mid-line, and its last line is the only row of a site {site:?}"),
        None => "the file ends in mid-line, and its last line is not as the schema says".to_owned(),
    };
    Some(Warning {
        code: Code::CutOff,
        what,
        hint: "compare the file with the one that it was copied from; a copy that stopped half-way ends like this"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Difference;

    #[test]
    fn rows_that_are_declared_and_found_are_compared() {
        assert_eq!(rows_differ("all sites", 10, 10), None);
        assert!(rows_differ("all sites", 11, 10).unwrap().what.contains("11 rows are declared for all sites, and 10"));
    }

    #[test]
    fn numbers_far_from_bounds_or_scale_are_told_by_column() {
        let warned = |age: &str, ages: &[&str]| {
            let text = format!(
                "outcome = {{ column = \"y\", levels = [\"0\", \"1\"] }}\ncolumn = [{{ name = \"age\", kind = \"numeric\", {age} }}]"
            );
            let schema = Schema::from_toml(&text).unwrap();
            let rows: String = ages.iter().map(|age| format!("{age},1\n")).collect();
            let csv = format!("age,y\n{rows}");
            let table = crate::read(csv.as_bytes(), &schema, true, &["age"], crate::RowReading::Strict).unwrap();
            off_scale(&table, &schema).map(|warning| warning.what)
        };
        let four = ["40", "55", "60", "70"];
        assert_eq!(warned("centre = 55, scale = 10, bounds = [50, 80]", &four), None, "a quarter may lie outside");
        let narrow = warned("centre = 55, scale = 10, bounds = [50, 65]", &four);
        assert_eq!(narrow.as_deref(), Some("50 % of `age` lies outside its bounds [50, 65] and is clamped"));
        let raw = warned("centre = 0, scale = 1", &four);
        assert_eq!(
            raw.as_deref(),
            Some("`age` is about 57 after centre and scale (root mean square), where 1 is usual")
        );
        assert_eq!(warned("centre = 55, scale = 10, missing = \"flag\"", &["", ""]), None, "no numbers");
    }

    #[test]
    fn nine_rows_are_few_and_ten_are_not() {
        assert_eq!(small_sites([("north", 10)]), None);
        let found = small_sites([("a", 9), ("b", 10), ("c", 1), ("d", 2), ("e", 3)]).unwrap();
        assert_eq!(found.what, "a has 9 rows, c has 1 row, d has 2 rows, and 1 more sites are as small: fewer than 10");
    }

    #[test]
    fn a_missing_line_break_alone_is_no_sign_of_a_cut() {
        let whole = LastLine { ended: false, fits: true, alone: false };
        assert_eq!(cut_off(whole, None), None);
        assert_eq!(cut_off(LastLine { ended: true, fits: false, alone: true }, Some("nor")), None);
        assert!(cut_off(LastLine { fits: false, ..whole }, None).is_some());
        assert!(cut_off(LastLine { alone: true, ..whole }, Some("nor")).unwrap().what.contains("\"nor\""));
    }

    #[test]
    fn how_far_a_method_is_behind_is_said() {
        let difference = Difference { mean: -0.0108, standard_error: Some(0.002), seeds: 3, seen: Some(true) };
        let differences = [(MAIN, difference)].into_iter().collect();
        let compared = Comparison { to: "majority class".into(), baseline: "constant".into(), differences };
        let found = behind_constant(&compared).unwrap();
        assert!(found.what.contains("0.0108 nats per row below that of majority class"), "{}", found.what);
    }
}
