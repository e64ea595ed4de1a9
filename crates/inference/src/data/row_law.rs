//! Rows made up from a schema alone: a table for planning, before anybody has one.
//!
//! Numbers have the schema's centre and scale within its bounds, categories their levels, and the outcome follows from known
//! coefficients. What is drawn are the cells of a file, which the ordinary reader then reads: splits, partitions and encoding are
//! those of a real table.

use super::drawn_labels::{label, uniform};
use super::encode::{Encoder, RowReading};
use super::schema::{Kind, Missing, Numeric};
use super::synthetic::generator_of;
use super::{OutcomeKind, Schema};
use crate::DataError;
use crate::draws::standard_normals;
use crate::normal_quantile::normal_quantile;
use chacha20::ChaCha20Rng;
use std::collections::BTreeMap;
use std::f64::consts::FRAC_1_SQRT_2;

/// A centre so far outside the bounds that the normal law has less than this within them: values are uniform there.
const LEAST_MASS: f64 = 1e-6;

/// The law of made-up rows.
#[derive(Debug, Clone, PartialEq)]
pub struct RowLaw {
    /// What the columns mean. Every number has bounds.
    pub schema: Schema,
    /// θ of the encoded inputs, in the order of [`Schema::inputs`], with the intercept's last where there is one.
    pub coefficients: Vec<f64>,
    /// Standard deviation of an outcome that is a number about its expectation, in its units.
    pub noise_deviation: f64,
    /// ρ: correlation of every two numbers before they are brought into their bounds.
    pub correlation: f64,
    /// How often the levels of a category occur, in the order of the levels; equally often where it is not here.
    pub shares: BTreeMap<String, Vec<f64>>,
    /// How often a cell is empty whose column has a rule for that.
    pub missing: f64,
    /// The column that names the sites, where there is one.
    pub site_column: Option<String>,
}

impl RowLaw {
    /// The names of the columns, in the order of their cells.
    pub fn header(&self) -> Vec<String> {
        let schema = &self.schema;
        let columns = schema.columns().iter().map(|column| column.name.as_str());
        let ids = [schema.record_id(), schema.person_id()].into_iter().flatten();
        let mut names: Vec<String> = Vec::new();
        for name in ids.chain(columns).chain([schema.outcome().column.as_str()]) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Comma-separated text of so many rows of each site, a function of the seed. Inputs do not depend on the coefficients.
    ///
    /// Numbers have a Gaussian copula with correlation ρ, by one common factor; each is normal with the schema's centre and scale,
    /// of the logarithm where the schema takes one, truncated to the bounds. y = 1 with probability σ(xᵀθ); a number is xᵀθ in the
    /// outcome's units plus noise, clamped to the outcome's bounds. Records and persons are the rows, counted from one.
    ///
    /// # Errors
    /// [`DataError::Width`] where θ is not as long as a row, [`DataError::Schema`] where a number has no bounds or the outcome has
    /// more than two levels.
    pub fn csv(&self, sites: &[(String, usize)], seed: u64) -> Result<String, DataError> {
        let mut drawing = Drawing::new(self, seed)?;
        let header = self.header();
        let mut text = line(header.iter().map(String::as_str));
        for (site, rows) in sites {
            for _ in 0..*rows {
                let cells = drawing.row(site)?;
                text += &line(header.iter().map(|name| cells.get(name.as_str()).map_or("", String::as_str)));
            }
        }
        Ok(text)
    }
}

/// A line of a file; cells with commas, quotes or blanks at their ends are quoted.
fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = |cell: &'a str| match cell.contains([',', '"']) || cell.trim() != cell {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// A law being drawn from.
struct Drawing<'a> {
    law: &'a RowLaw,
    encoder: Encoder<'a>,
    inputs: ChaCha20Rng,
    outcomes: ChaCha20Rng,
    rows: u64,
}

impl<'a> Drawing<'a> {
    fn new(law: &'a RowLaw, seed: u64) -> Result<Self, DataError> {
        let schema = &law.schema;
        let width = schema.inputs(false).len();
        if !(width..=width + 1).contains(&law.coefficients.len()) {
            let found = format!("{} coefficients of {width} inputs", law.coefficients.len());
            return Err(DataError::Width { found });
        }
        let refused = |what: String, hint: &str| DataError::Schema {
            line: None,
            what,
            hint: hint.to_owned(),
            further: Vec::new(),
        };
        if schema.classes().is_some_and(|classes| classes > 2) {
            let what =
                format!("rows cannot be drawn for `{}`, which has more than two levels", schema.outcome().column);
            return Err(refused(what, "rows are drawn for an outcome of two levels, or for a number"));
        }
        let unbounded = |kind: &Kind| matches!(kind, Kind::Numeric(Numeric { bounds: None, .. }));
        if let Some(column) = schema.columns().iter().find(|column| unbounded(&column.kind)) {
            let what = format!("column `{}` has no bounds, so no range to draw from", column.name);
            return Err(refused(what, "add bounds = [low, high] to the column in the schema"));
        }
        let (encoder, _) = Encoder::new(schema, law.coefficients.len() > width, RowReading::Strict)?;
        let (inputs, outcomes) = (generator_of(b"schema rows", seed), generator_of(b"schema outcomes", seed));
        Ok(Self { law, encoder, inputs, outcomes, rows: 0 })
    }

    /// The cells of the next row, by column.
    fn row(&mut self, site: &str) -> Result<BTreeMap<&'a str, String>, DataError> {
        self.rows += 1;
        let (schema, number) = (&self.law.schema, self.rows.to_string());
        let ids = [schema.record_id(), schema.person_id()].into_iter().flatten().map(|id| (id, number.clone()));
        let mut cells: BTreeMap<&str, String> = ids.collect();
        let mut common = [0.0];
        standard_normals(&mut self.inputs, &mut common);
        for column in schema.columns() {
            let cell = self.cell(&column.name, &column.kind, common[0]);
            cells.entry(&column.name).or_insert(cell);
        }
        if let Some(only) = schema.only() {
            cells.insert(&only.column, only.level.clone());
        }
        if let Some(column) = &self.law.site_column {
            cells.insert(column, site.to_owned());
        }
        let outcome = self.outcome(&cells)?;
        cells.insert(&schema.outcome().column, outcome);
        Ok(cells)
    }

    /// The cell of a column, given the factor that all numbers share.
    fn cell(&mut self, name: &str, kind: &Kind, common: f64) -> String {
        let (mut own, rho) = ([0.0], self.law.correlation);
        let (ruled, drawn) = match kind {
            Kind::Ignore => return String::new(),
            Kind::Numeric(numeric) => {
                standard_normals(&mut self.inputs, &mut own);
                let z = rho.sqrt() * common + (1.0 - rho).sqrt() * own[0];
                (numeric.missing != Missing::Refused, truncated(numeric, z).to_string())
            }
            Kind::Category { levels, missing_level } => {
                let at = level(self.law.shares.get(name).map(Vec::as_slice), levels.len(), uniform(&mut self.inputs));
                (*missing_level, levels.get(at).cloned().unwrap_or_default())
            }
        };
        let empty = uniform(&mut self.inputs) < self.law.missing;
        if ruled && empty { String::new() } else { drawn }
    }

    /// The outcome's cell: the cells are encoded as the reader encodes them.
    fn outcome(&mut self, cells: &BTreeMap<&str, String>) -> Result<String, DataError> {
        let schema = &self.law.schema;
        let inputs: Vec<&str> =
            schema.columns().iter().map(|c| cells.get(c.name.as_str()).map_or("", String::as_str)).collect();
        let mut rows = super::Rows::of(schema.layout(self.law.coefficients.len() > schema.inputs(false).len())?);
        self.encoder.push(self.rows + 1, &inputs, &schema.outcome().example(), &mut rows)?;
        let predictor = rows.row(0).dot(&self.law.coefficients);
        Ok(match &schema.outcome().kind {
            OutcomeKind::Classes(levels) => levels[label(predictor, &mut self.outcomes) as usize].clone(),
            OutcomeKind::Number(number) => {
                let mut noise = [0.0];
                standard_normals(&mut self.outcomes, &mut noise);
                let value = number.centre + number.scale * predictor + self.law.noise_deviation * noise[0];
                in_bounds(significant(value), number.bounds).to_string()
            }
        })
    }
}

/// F⁻¹(Φ(z)) for the truncated normal law F of a column, to seven digits.
fn truncated(numeric: &Numeric, z: f64) -> f64 {
    let (low, high) = numeric.bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let cumulative = |x: f64| 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
    let [from, to] = [numeric.encode(low), numeric.encode(high)];
    let (below, within) = (cumulative(from), cumulative(to) - cumulative(from));
    let share = cumulative(z);
    let encoded = match within < LEAST_MASS {
        true => from + share * (to - from),
        false => normal_quantile((below + share * within).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)),
    };
    let value = numeric.centre + numeric.scale * encoded.clamp(from, to);
    in_bounds(significant(if numeric.log { libm::exp(value) } else { value }), numeric.bounds)
}

/// Seven digits of a number: cells that people can read.
fn significant(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn in_bounds(value: f64, bounds: Option<(f64, f64)>) -> f64 {
    bounds.map_or(value, |(low, high)| value.clamp(low, high))
}

/// The level at this place of the cumulated shares; of equal ones, where they are not stated.
fn level(shares: Option<&[f64]>, levels: usize, at: f64) -> usize {
    let Some(shares) = shares else { return ((at * levels as f64) as usize).min(levels.saturating_sub(1)) };
    let mut left = at * shares.iter().sum::<f64>();
    let passed = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    passed.unwrap_or(levels.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Encoded, read};

    const SCHEMA: &str = r#"
        record_id = "visit"
        outcome = { column = "ill", levels = ["no", "yes"] }
        column = [
            { name = "site", kind = "ignore" },
            { name = "age", kind = "numeric", centre = 50, scale = 15, bounds = [40, 100] },
            { name = "ward", kind = "category", levels = ["a, first", "b", "c"], missing = "level" },
            { name = "crp", kind = "numeric", centre = 2, scale = 1, bounds = [0.5, 500], log = true, missing = "flag" },
        ]
    "#;

    fn law(schema: &str) -> RowLaw {
        let schema = Schema::from_toml(schema).unwrap();
        let width = schema.inputs(true).len();
        let coefficients = (0..width).map(|j| 0.3 * libm::cos(j as f64)).collect();
        RowLaw {
            schema,
            coefficients,
            noise_deviation: 0.0,
            correlation: 0.0,
            shares: BTreeMap::new(),
            missing: 0.0,
            site_column: Some("site".into()),
        }
    }

    fn drawn(law: &RowLaw, rows: usize, seed: u64) -> Encoded {
        let text = law.csv(&[("north".into(), rows / 4), ("south".into(), rows - rows / 4)], seed).unwrap();
        read(text.as_bytes(), &law.schema, true, &["site"], RowReading::Strict).unwrap()
    }

    #[test]
    fn rows_are_read_as_a_table_is_and_follow_the_seed() {
        let law = law(SCHEMA);
        assert_eq!(law.header(), ["visit", "site", "age", "ward", "crp", "ill"]);
        let table = drawn(&law, 400, 3);
        assert_eq!((table.rows.len(), table.keys.has_records()), (400, true));
        let sites = table.column("site").unwrap();
        assert_eq!(sites.iter().filter(|site| *site == "north").count(), 100);
        assert_eq!(table.rows, drawn(&law, 400, 3).rows);
        assert_ne!(table.rows, drawn(&law, 400, 4).rows);
    }

    #[test]
    fn numbers_are_truncated_normals_and_levels_have_their_shares() {
        let shares = [("ward".to_owned(), vec![1.0, 2.0, 1.0])].into();
        let law = RowLaw { shares, missing: 0.25, correlation: 0.6, ..law(SCHEMA) };
        let table = drawn(&law, 20_000, 5);
        let rows = || table.rows.iter().map(|row| row.to_dense(8));
        let mean = |of: &dyn Fn(&[f64]) -> f64| rows().map(|x| of(&x)).sum::<f64>() / 20_000.0;
        // E[z | z > −⅔] = φ(⅔)/Φ(⅔) = .4273, but for the upper bound; five standard errors of a mean are under .04.
        assert!((mean(&|x| x[0]) - 0.4273).abs() < 0.04, "{}", mean(&|x| x[0]));
        assert!(rows().all(|x| (-2.0 / 3.0 - 1e-6..=10.0 / 3.0 + 1e-6).contains(&x[0])));
        // Inputs: age, crp, ward a, b, c, ?, crp missing, intercept. A quarter of the cells is empty where a rule allows it.
        assert!((mean(&|x| x[3]) - 0.375).abs() < 0.02 && (mean(&|x| x[5]) - 0.25).abs() < 0.02);
        assert!((mean(&|x| x[6]) - 0.25).abs() < 0.02);
        assert!(mean(&|x| (x[0] - 0.43) * x[1] * (1.0 - x[6])) > 0.2, "numbers are correlated");
    }

    #[test]
    fn labels_follow_the_coefficients_and_inputs_do_not() {
        let law = law(SCHEMA);
        let table = drawn(&law, 20_000, 7);
        let mut score = vec![0.0; 8];
        for row in table.rows.iter() {
            let residual = row.outcome - 1.0 / (1.0 + (-row.dot(&law.coefficients)).exp());
            score.iter_mut().zip(row.to_dense(8)).for_each(|(s, x)| *s += residual * x);
        }
        // Five standard deviations, √(n/4) at most for inputs of size 1.
        assert!(score.iter().all(|s| s.abs() < 5.0 * f64::sqrt(5000.0)), "{score:?}");
        let other = RowLaw { coefficients: vec![0.0; 8], ..law.clone() };
        let other = drawn(&other, 100, 7);
        let law = drawn(&law, 100, 7);
        assert!(law.rows.iter().zip(other.rows.iter()).all(|(a, b)| a.numbers == b.numbers && a.ones == b.ones));
        assert!(law.rows.iter().zip(other.rows.iter()).any(|(a, b)| a.outcome != b.outcome));
    }

    #[test]
    fn a_number_has_its_noise_and_stays_in_its_bounds() {
        let schema = SCHEMA.replace("levels = [\"no\", \"yes\"]", "bounds = [0, 200], centre = 100, scale = 10");
        let law = RowLaw { noise_deviation: 5.0, ..law(&schema) };
        let table = drawn(&law, 5000, 2);
        let off = |row: super::super::Row<'_>| row.outcome - row.dot(&law.coefficients);
        let spread = (table.rows.iter().map(|row| off(row).powi(2)).sum::<f64>() / 5000.0).sqrt();
        // .5 encoded; five standard errors of a standard deviation.
        assert!((spread - 0.5).abs() < 5.0 * 0.5 / f64::sqrt(10_000.0), "{spread}");
        let wild = RowLaw { noise_deviation: 1e4, ..law };
        assert!(drawn(&wild, 100, 2).rows.iter().all(|row| row.outcome.abs() <= 10.0));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let refused = |law: &RowLaw| law.csv(&[("north".into(), 1)], 1).unwrap_err();
        let unbounded = law(&SCHEMA.replace(", bounds = [40, 100]", ""));
        let error = refused(&unbounded);
        assert!(error.to_string().contains("`age` has no bounds") && error.hint().contains("bounds = "), "{error}");
        let three = law(&SCHEMA.replace("[\"no\", \"yes\"]", "[\"no\", \"yes\", \"dead\"]"));
        assert!(refused(&three).to_string().contains("more than two levels"));
        assert!(refused(&RowLaw { coefficients: vec![1.0], ..law(SCHEMA) }).to_string().contains("coefficients"));
    }
}
