//! How rows are dealt to clients: the `[partition]` of a study, or the partitions of its columns.

use super::data;
use super::fault::{Fault, StudyText};
use super::meant::{TableColumn, repeated};
use super::served::Served;
use super::typed::{PartitionAsTyped, PartitionKind, StudyAsTyped, TableColumnAsTyped};
use inference::{Partition, Skew, StudyModel};

/// One partition, or those of the columns. In a study that is only served there is a client for each site.
pub(super) fn partitions(
    typed: &StudyAsTyped,
    model: &StudyModel,
    served: Option<&Served>,
    source: &StudyText<'_>,
) -> Result<(Partition, Vec<TableColumn>), Fault> {
    let column = |(at, c): (usize, &TableColumnAsTyped)| {
        let partition = partition(&c.partition, source, &format!("column.{at}.partition"))?;
        if c.rows_per_client == Some(0) || c.rows_per_client.is_some() && typed.data.synthetic.is_none() {
            let message = "rows_per_client is over 0, and belongs to made-up data".to_owned();
            return Err(source.fault(&format!("column.{at}.rows_per_client"), "S011", message, "leave it out"));
        }
        let synthetic = data::law_of_column(at, c, &typed.data, model, source)?;
        let (source, split) = data::of_column(at, c, &typed.data, source)?;
        Ok(TableColumn {
            own: None,
            name: c.name.clone(),
            partition,
            source,
            split,
            rows_per_client: c.rows_per_client,
            synthetic,
        })
    };
    let columns: Vec<TableColumn> = typed.columns.iter().enumerate().map(column).collect::<Result<_, Fault>>()?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if let Some(twice) = repeated(&names) {
        let message = format!("two columns are named {twice:?}");
        return Err(source.fault("column", "S005", message, "results are told apart by their names"));
    }
    match (&typed.partition, columns.first()) {
        (Some(one), None) => Ok((partition(one, source, "partition")?, columns)),
        (None, Some(first)) => Ok((first.partition.clone(), columns)),
        (Some(_), Some(_)) => {
            let message = "a study has one [partition], or several [[column]]s".to_owned();
            Err(source.fault("partition", "S011", message, "leave one of them out"))
        }
        (None, None) => {
            if typed.data.synthetic.is_none() {
                return Ok((Partition::Even { clients: served.map_or(1, |served| served.sites.len()) }, columns));
            }
            let message = "`partition` is missing".to_owned();
            Err(source.fault("", "S001", message, "add a [partition] with clients = 10"))
        }
    }
}

/// One partition, from the keys of its table at `at`.
fn partition(typed: &PartitionAsTyped, source: &StudyText<'_>, at: &str) -> Result<Partition, Fault> {
    let clients = || match typed.clients {
        Some(0) | None => Err(source.fault(
            &format!("{at}.clients"),
            "S004",
            "clients is missing or 0".into(),
            "for example clients = 10",
        )),
        Some(clients) => Ok(usize::try_from(clients).unwrap_or(usize::MAX)),
    };
    let stray = |key: &str| {
        let message = format!("{key} has no meaning for this kind of partition");
        Err(source.fault(&format!("{at}.{key}"), "S011", message, "leave it out, or change `kind`"))
    };
    let skew = typed.rho.is_some() || typed.kappa.is_some();
    let kind = match (typed.kind, typed.clients) {
        (Some(kind), _) => kind,
        (None, _) if typed.column.is_some() => PartitionKind::Column,
        (None, _) if skew => PartitionKind::Skewed,
        (None, Some(_)) => PartitionKind::Even,
        (None, None) => {
            let message = "[partition] names neither a column nor a number of clients".to_owned();
            return Err(source.fault(at, "S011", message, "for example column = \"hospital\", or clients = 10"));
        }
    };
    match kind {
        PartitionKind::Even | PartitionKind::Skewed if typed.column.is_some() => stray("column"),
        PartitionKind::Even | PartitionKind::Column if skew => stray(if typed.rho.is_some() { "rho" } else { "kappa" }),
        PartitionKind::Even | PartitionKind::Skewed if typed.at_most.is_some() => stray("at_most"),
        PartitionKind::Column if typed.clients.is_some() => stray("clients"),
        PartitionKind::Even => Ok(Partition::Even { clients: clients()? }),
        PartitionKind::Column => match &typed.column {
            Some(column) => {
                if let Some(name) = typed.at_most.iter().flatten().find(|(_, rows)| **rows == 0).map(|(name, _)| name) {
                    let message = format!("at_most leaves {name} without training rows");
                    return Err(source.fault(
                        &format!("{at}.at_most.{name}"),
                        "S004",
                        message,
                        "leave it at least one",
                    ));
                }
                let at_most = typed.at_most.iter().flatten();
                let at_most = at_most.map(|(name, rows)| (name.clone(), usize::try_from(*rows).unwrap_or(usize::MAX)));
                Ok(Partition::Column { column: column.clone(), at_most: at_most.collect() })
            }
            None => {
                let hint = "for example column = \"hospital\"";
                Err(source.fault(&format!("{at}.column"), "S011", "column is missing".into(), hint))
            }
        },
        PartitionKind::Skewed => skewed(typed, clients()?, source, at),
    }
}

/// Half the clients small and half large: ρ within [0, 1), κ at most 1, an even number of clients.
fn skewed(typed: &PartitionAsTyped, clients: usize, source: &StudyText<'_>, at: &str) -> Result<Partition, Fault> {
    let (rho, kappa) = (typed.rho.unwrap_or(f64::NAN), typed.kappa.unwrap_or(f64::NAN));
    let (key, found, expected) = if !(0.0..1.0).contains(&rho) {
        ("rho", rho, "a number from 0 up to, not including, 1")
    } else if !kappa.is_finite() || kappa > 1.0 {
        ("kappa", kappa, "a number up to 1")
    } else if clients % 2 == 1 {
        ("clients", clients as f64, "an even number: half of them are small")
    } else {
        return Ok(Partition::Skewed(Skew { clients, rho, kappa }));
    };
    let message =
        format!("{key} is {}, expected {expected}", if found.is_nan() { "missing".into() } else { found.to_string() });
    Err(source.fault(&format!("{at}.{key}"), "S004", message, "for example clients = 10, rho = 0.7, kappa = -3.0"))
}
