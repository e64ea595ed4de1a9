//! The clients of a study as declared: how many, and how many training rows each has, from public numbers alone.

use super::fault::{Fault, Source};
use super::meant::{DeclaredRows, Study};
use inference::settings::{Batching, DeltaRule, Method};
use inference::{Partition, Skew, Split};

/// Public numbers of bundled data.
struct Known {
    name: &'static str,
    rows: u64,
    /// Inputs after encoding, without the bias, where the schema leaves no choice.
    inputs: Option<usize>,
    /// A column with the rows of its levels, in the order of their names.
    column: Option<(&'static str, &'static [(&'static str, u64)])>,
}

/// Bundled data, as their attribution page counts them.
const KNOWN: [Known; 5] = [
    Known {
        name: "adult",
        rows: 48_842,
        inputs: Some(108),
        column: Some(("split", &[("test", 16_281), ("train", 32_561)])),
    },
    Known {
        name: "heart",
        rows: 920,
        inputs: None,
        column: Some((
            "hospital",
            &[("cleveland", 303), ("hungary", 294), ("switzerland", 123), ("va_long_beach", 200)],
        )),
    },
    Known { name: "wine", rows: 6_497, inputs: None, column: Some(("colour", &[("red", 1_599), ("white", 4_898)])) },
    Known { name: "abalone", rows: 4_177, inputs: None, column: None },
    Known { name: "digits", rows: 1_797, inputs: Some(64), column: None },
];

/// Clients as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sites {
    /// Training rows of each client; 1 where they are not known.
    pub(crate) rows: Vec<u64>,
    /// False if only the number of clients is known.
    pub(crate) rows_known: bool,
    /// Inputs of an encoded row, without the bias.
    pub(crate) inputs: Option<usize>,
}

impl Sites {
    /// From the study's own declaration, else from what is public about bundled data.
    pub(crate) fn declared(study: &Study) -> Result<Self, Fault> {
        let known = KNOWN.iter().find(|known| known.name == study.data.source);
        let inputs = study.data.declared_inputs.or(known.and_then(|known| known.inputs));
        if let (Some(made), Partition::Even { clients }) = (&study.data.synthetic, &study.partition) {
            let rows = vec![made.rows_per_client as u64; *clients];
            return Ok(Self { rows, rows_known: true, inputs: Some(made.inputs) });
        }
        match rows(study, known) {
            Some(rows) if !rows.contains(&0) => Ok(Self { rows, rows_known: true, inputs }),
            Some(_) => Err(fault(study, "partition", "a client would have no training rows")),
            None => match study.partition {
                Partition::Even { clients } | Partition::Skewed(Skew { clients, .. }) => {
                    Ok(Self { rows: vec![1; clients], rows_known: false, inputs })
                }
                Partition::Column { .. } => {
                    let why = "clients are the values of a column, and how many rows each of them has is not declared";
                    let hint = "add declared_rows = [120, 80, 45], a list with the rows of each client, under [data]";
                    Err(Fault { hint: hint.to_owned(), ..fault(study, "data", why) })
                }
            },
        }
    }

    /// Refuses a method whose cost depends on rows that are not known.
    pub(crate) fn check(&self, study: &Study, index: usize, method: &Method) -> Result<(), Fault> {
        let by_rows = matches!(method.local.batch, Batching::PoissonOf { .. } | Batching::WithoutReplacement(_));
        let delta_by_rows =
            method.promise.as_ref().is_some_and(|promise| promise.delta == DeltaRule::PowerOfTenBelowRows);
        if self.rows_known || method.promise.is_none() || !(by_rows || delta_by_rows) {
            return Ok(());
        }
        Err(fault(study, &format!("method.{index}"), "its batch or δ depends on the rows, which are not declared"))
    }
}

fn fault(study: &Study, path: &str, message: &str) -> Fault {
    let source = Source::new(study.file.clone(), &study.text);
    let hint = "add declared_rows = N, or a list with the rows of each client, under [data]";
    source.fault(path, "S012", message.to_owned(), hint)
}

/// Training rows of each client, where they follow from public numbers.
fn rows(study: &Study, known: Option<&Known>) -> Option<Vec<u64>> {
    if let Some(DeclaredRows::Each(each)) = &study.data.declared_rows {
        return each.iter().map(|&rows| kept(&study.data.split, rows, None)).collect();
    }
    if let Partition::Column { column } = &study.partition {
        let (_, levels) = known?.column.filter(|(name, _)| name == column)?;
        return levels.iter().map(|(_, rows)| kept(&study.data.split, *rows, None)).collect();
    }
    let rows = match study.data.declared_rows {
        Some(DeclaredRows::All(rows)) => rows,
        _ => known?.rows,
    };
    Some(dealt(&study.partition, kept(&study.data.split, rows, known)?))
}

/// Rows that are left for training.
fn kept(split: &Split, rows: u64, known: Option<&Known>) -> Option<u64> {
    match split {
        Split::Fraction { test } => Some(rows - (rows as f64 * test).floor() as u64),
        Split::Half => Some(rows - rows / 2),
        Split::Column { column, test_level } => {
            let (_, levels) = known?.column.filter(|(name, _)| name == column)?;
            Some(levels.iter().filter(|(level, _)| level != test_level).map(|(_, rows)| rows).sum())
        }
    }
}

/// Rows of each client. Skewed: ⌊(1 − ρ)n/M⌋ for the first half, ⌊(1 + ρ)n/M⌋ for the others.
fn dealt(partition: &Partition, rows: u64) -> Vec<u64> {
    match *partition {
        Partition::Even { clients } => {
            let clients = clients as u64;
            (0..clients).map(|at| rows / clients + u64::from(at < rows % clients)).collect()
        }
        Partition::Skewed(Skew { clients, rho, .. }) => {
            let clients = clients as u64;
            let share = |factor: f64| (factor * rows as f64 / clients as f64).floor() as u64;
            (0..clients).map(|at| share(if at < clients / 2 { 1.0 - rho } else { 1.0 + rho })).collect()
        }
        Partition::Column { .. } => Vec::new(),
    }
}
