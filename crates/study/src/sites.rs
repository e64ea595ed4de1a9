//! The clients of a study as declared: how many, and how many training rows each has, from public numbers alone.

use super::data::DeclaredRows;
use super::fault::{Fault, StudyText};
use super::meant::Study;
use crate::datasets::{self, Set};
use crate::error::StudyError;
use crate::load::Folders;
use crate::own_table::{self, is_there};
use crate::simulator::CountedSites;
use crate::synthetic::client_name;
use inference::Method;
use inference::public::{PublicNumbers, RowCounts};
use inference::settings::{Aggregator, Batching, DeltaRule, Promise, Schedule};
use inference::{InputLayout, Partition, Schema, Skew, Split};
use privacy::{Adjacency, Unit};
use std::collections::BTreeMap;

/// Clients as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sites {
    /// Training rows of each client; 1 where they are not known, and one client where their number is not.
    pub(crate) rows: Vec<u64>,
    pub(crate) basis: Basis,
    /// The same of persons, whose rows these are: as declared, else 1 each.
    persons: (Vec<u64>, Basis),
    /// The names of the clients in their order, where these are known.
    names: Option<Vec<String>>,
    /// Inputs of an encoded row, without the bias.
    pub(crate) inputs: Option<usize>,
}

/// Where the numbers come from, and so how they may be spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The rows of known data: exact, whatever the seed.
    Known,
    /// Known data of which some rows are left out, by a draw or for want of an outcome: about these.
    Estimated,
    /// The rows of a table that is there, counted because their number is public.
    Counted,
    /// The study says so.
    Declared,
    /// Only the number of clients is known.
    Clients,
    /// Only this is declared, and no more: training rows of all clients together.
    Total(u64),
}

impl Basis {
    /// True if the rows of each client are known or declared.
    pub(crate) fn has_rows(self) -> bool {
        matches!(self, Self::Known | Self::Estimated | Self::Counted | Self::Declared)
    }

    /// True if it is known how many clients there are.
    pub(crate) fn has_clients(self) -> bool {
        !matches!(self, Self::Total(_))
    }

    /// The word before a number of rows.
    pub(crate) fn about(self) -> &'static str {
        if self == Self::Known { "" } else { "about " }
    }

    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Estimated => "estimated",
            Self::Counted => "counted",
            Self::Declared | Self::Total(_) => "declared",
            Self::Clients => "not declared",
        }
    }
}

impl Sites {
    /// From the study's own declaration, else from what is public about known data.
    pub(crate) fn declared(study: &Study, schema: Option<&Schema>) -> Result<Self, Fault> {
        if let (Some(made), Partition::Even { clients }) = (&study.data.synthetic, &study.partition) {
            let rows = vec![made.rows_per_client as u64; *clients];
            let persons = (vec![1; *clients], Basis::Clients);
            let names = Some((0..*clients).map(client_name).collect());
            return Ok(Self { rows, basis: Basis::Known, persons, names, inputs: Some(made.inputs()) });
        }
        let inputs = study.data.declared_inputs.or_else(|| schema.map(|schema| schema.inputs(false).len()));
        let (rows, basis) = match (&study.data.drawn, schema) {
            (Some(drawn), Some(schema)) => drawn_rows(study, schema, &drawn.sites(study, schema)?),
            _ => counted(study, schema)?,
        };
        if rows.is_empty() || rows.contains(&0) {
            return Err(none_left(study, rows.len()));
        }
        let persons = persons(study, rows.len())?;
        let names = names(study, schema)?.filter(|names| names.len() == rows.len());
        Ok(Self { rows, basis, persons, names, inputs })
    }

    /// The same; where rows are not declared and the table is there, they are counted if their number is public.
    pub(crate) fn of_study(study: &Study, schema: Option<&Schema>, folders: &Folders) -> Result<Self, StudyError> {
        let declared = Self::declared(study, schema);
        let lacking = match &declared {
            Ok(sites) => !sites.basis.has_rows(),
            Err(fault) => fault.code == UNDECLARED,
        };
        if lacking && let Some((rows, names)) = count(study, schema, folders)? {
            let persons = persons(study, rows.len())?;
            let inputs = study.data.declared_inputs.or_else(|| schema.map(|schema| schema.inputs(false).len()));
            return Ok(Self { rows, basis: Basis::Counted, persons, names, inputs });
        }
        let declared = declared?;
        if declared.names.is_none() && study.methods.iter().any(|m| !m.sites.is_empty()) && is_there(study, folders) {
            let names = own_table::deal(study, folders)?.1.filter(|names| names.len() == declared.rows.len());
            return Ok(Self { names, ..declared });
        }
        Ok(declared)
    }

    /// What a method is planned for: training rows of each client, or persons where these are protected.
    pub(crate) fn of(&self, method: &Method) -> (&[u64], Basis) {
        match method.unit() {
            Unit::Person => (&self.persons.0, self.persons.1),
            Unit::Example | Unit::Client => (&self.rows, self.basis),
        }
    }

    /// The name of a client, or its number, counted from 1.
    pub(crate) fn name(&self, client: usize) -> String {
        let known = self.names.as_ref().and_then(|names| names.get(client)).cloned();
        known.unwrap_or_else(|| (client + 1).to_string())
    }

    /// The study with what its methods leave out derived from these numbers; as it is where rows or inputs are not known.
    pub(crate) fn settle(&self, study: &Study, schema: Option<&Schema>) -> Result<Study, StudyError> {
        let (rows, rows_are) = match self.basis {
            Basis::Total(rows) => (vec![rows], RowCounts::Declared),
            Basis::Clients => (self.rows.clone(), RowCounts::Unknown),
            Basis::Known | Basis::Estimated | Basis::Counted => (self.rows.clone(), RowCounts::Counted),
            Basis::Declared => (self.rows.clone(), RowCounts::Declared),
        };
        let inputs = match (schema, self.inputs) {
            (Some(schema), _) if study.data.synthetic.is_none() => schema.layout(study.model.intercept),
            (_, Some(inputs)) => InputLayout::new(inputs + usize::from(study.model.intercept), inputs),
            (_, None) => return Ok(study.clone()),
        };
        let inputs = inputs.map_err(|error| StudyError::data("the schema", error))?;
        let inputs = if study.model.intercept { inputs.with_intercept() } else { inputs };
        let public = PublicNumbers::new(rows, rows_are, inputs).with_names(self.names.clone());
        study.settled(&schema.map_or(public.clone(), |schema| public.with_schema(schema)))
    }

    /// Refuses a method whose cost depends on rows or clients that are not known.
    pub(crate) fn check(&self, study: &Study, index: usize, method: &Method) -> Result<(), Fault> {
        let Some(promise) = &method.promise else { return Ok(()) };
        let by_rows = matches!(
            method.algorithm.releases(1).main.batch,
            Batching::PoissonOf { .. } | Batching::WithoutReplacement(_)
        ) || promise.delta == DeltaRule::PowerOfTenBelowRows
            || promise.delta == DeltaRule::LeftOut && is_public(method);
        let summed = matches!(promise.aggregator, Aggregator::SecureSum(_));
        let by_clients = summed || matches!(method.schedule, Schedule::Asynchronous(_));
        let at = study.path(index, "");
        let (_, basis) = self.of(method);
        if by_rows && !basis.has_rows() && method.unit() == Unit::Person {
            let message = "its batch or δ depends on the persons of each client, which are not declared".to_owned();
            let hint = "under [data] add declared_persons = N, the persons of all clients together, or a list with those of each";
            return Err(StudyText::new(study.file.clone(), &study.text).fault(&at, UNDECLARED, message, hint));
        }
        if by_rows && !basis.has_rows() {
            return Err(fault(study, &at, "its batch or δ depends on the rows of each client, which are not declared"));
        }
        if by_clients && !basis.has_clients() {
            return Err(fault(study, &at, "its cost depends on the number of clients, which is not declared"));
        }
        Ok(())
    }

    /// In words: facts as facts, estimates as estimates.
    pub(crate) fn words(&self) -> String {
        let rows = words(&self.rows, self.basis, "training rows");
        match self.persons {
            (_, Basis::Clients) => rows,
            (ref persons, basis) if self.basis == Basis::Clients => words(persons, basis, "training persons"),
            (ref persons, basis) => format!("{rows}; {}", words(persons, basis, "training persons")),
        }
    }
}

/// Code of a plan that lacks declared rows or clients: a check can do without.
pub(crate) const UNDECLARED: &str = "S012";

/// Whether the number of rows is public: nothing is promised, or a row is replaced by another.
fn is_public(method: &Method) -> bool {
    let by_row = |promise: &Promise| (promise.unit, promise.adjacency) == (Unit::Example, Adjacency::Substitute);
    method.promise.as_ref().is_none_or(by_row)
}

/// The training rows of each client by the study's first seed, where its table is there and every method takes their number as
/// public.
fn count(study: &Study, schema: Option<&Schema>, folders: &Folders) -> Result<Option<CountedSites>, StudyError> {
    let declared = study.data.declared_rows.is_some();
    if declared || !is_there(study, folders) || !study.methods.iter().all(is_public) {
        return Ok(None);
    }
    schema.map(|schema| own_table::check(study, schema, folders)).transpose()?;
    own_table::deal(study, folders).map(Some)
}

/// The names of the clients, where they are known without the rows: those of the sites that a study is served to, or of its partition.
fn names(study: &Study, schema: Option<&Schema>) -> Result<Option<Vec<String>>, Fault> {
    if let Some(served) = study.served.as_ref().filter(|_| !study.simulated) {
        return Ok(Some(served.names()));
    }
    if let (Some(drawn), Some(schema), Partition::Column { .. }) = (&study.data.drawn, schema, &study.partition) {
        return Ok(Some(drawn.sites(study, schema)?.into_iter().map(|(name, _)| name).collect()));
    }
    let of_column = |column| {
        let levels = datasets::find(&study.data.source).and_then(|set| set.levels_of(column))?;
        Some(levels.iter().map(|(name, _)| (*name).to_owned()).collect())
    };
    Ok(study.partition.names().or_else(|| study.partition.column().and_then(of_column)))
}

/// So many of these, in words.
fn words(numbers: &[u64], basis: Basis, of: &str) -> String {
    let (all, about) = (numbers.len(), basis.about());
    match basis {
        Basis::Clients => format!("{all}, rows not declared"),
        Basis::Total(number) => format!("a number not declared, about {number} {of} together as declared"),
        Basis::Known | Basis::Estimated | Basis::Counted | Basis::Declared => {
            let total: u64 = numbers.iter().sum();
            let declared = match basis {
                Basis::Declared => ", as declared",
                Basis::Counted => ", as counted",
                _ => "",
            };
            if let [number] = numbers {
                return format!("1 with {about}{number} {of}{declared}");
            }
            format!("{all} with {about}{} {of} each, {about}{total} together{declared}", span(numbers))
        }
    }
}

/// One number, or the smallest and the largest.
pub(crate) fn span(numbers: &[u64]) -> String {
    match (numbers.iter().min(), numbers.iter().max()) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
        (least, _) => least.unwrap_or(&0).to_string(),
    }
}

fn fault(study: &Study, path: &str, message: &str) -> Fault {
    let hint = match &study.partition {
        Partition::Column { column, .. } => format!(
            "under [data] add declared_rows = [N, N]: the rows of each {column}, in alphabetical order of the names; a total, \
             declared_rows = N, is enough for a method whose batch size and δ do not depend on row counts"
        ),
        _ => {
            "under [data] add declared_rows = N, the rows of all clients together, or a list with those of each".into()
        }
    };
    StudyText::new(study.file.clone(), &study.text).fault(path, UNDECLARED, message.to_owned(), hint)
}

/// What is wrong where a client would have no training rows: too many held out, or too many clients.
fn none_left(study: &Study, clients: usize) -> Fault {
    let source = StudyText::new(study.file.clone(), &study.text);
    let (split, name) = (&study.data.split, &study.data.source);
    match (split, all_rows(study)) {
        (Split::Rows { test }, Some(rows)) if *test as u64 >= rows => {
            let message = format!("test_rows is {test}, and {name} has {rows} rows");
            let at = format!("{}.test_rows", study.data.split_key);
            source.fault(&at, "S004", message, "hold out fewer rows, or a share of them: split = { test = 0.2 }")
        }
        (_, rows) => {
            let of = rows.map_or_else(String::new, |rows| format!(" of {rows} rows"));
            let message = format!("{name}: with {clients} clients one of them would have no training rows{of}");
            source.fault("partition", "S004", message, "fewer clients, or hold out fewer rows")
        }
    }
}

/// All rows of the source, as declared or as is public.
fn all_rows(study: &Study) -> Option<u64> {
    match &study.data.declared_rows {
        Some(DeclaredRows::All(rows)) => Some(*rows),
        Some(DeclaredRows::Each(each)) => Some(each.iter().sum()),
        None => datasets::find(&study.data.source).map(|set| set.rows),
    }
}

/// Training rows of each client, and where they come from.
fn counted(study: &Study, schema: Option<&Schema>) -> Result<(Vec<u64>, Basis), Fault> {
    // A schema of the study's own may choose among the rows, and nobody knows how many it takes.
    let chosen = study.data.schema.is_some() && schema.is_some_and(|schema| schema.only().is_some());
    let set = datasets::find(&study.data.source).filter(|_| !chosen);
    let split = &study.data.split;
    match (&study.data.declared_rows, &study.partition) {
        (Some(DeclaredRows::Each(each)), partition) => listed(study, "declared_rows", each, clients(partition, set)),
        (declared, Partition::Column { column, at_most }) => {
            match (set.and_then(|set| set.levels_of(column)), declared) {
                (Some(levels), _) => Ok(by_level(levels, split, at_most)),
                (None, Some(DeclaredRows::All(rows))) => Ok((vec![1], Basis::Total(trained(split, *rows)))),
                (None, _) => by_person(study, column),
            }
        }
        (Some(DeclaredRows::All(rows)), partition) => Ok((dealt(partition, trained(split, *rows)), Basis::Declared)),
        (None, partition) => Ok(match set.and_then(|set| public(set, split, schema)) {
            Some((rows, basis)) => (dealt(partition, rows), basis),
            None => (vec![1; clients(partition, set).unwrap_or(1)], Basis::Clients),
        }),
    }
}

/// Clients that are the values of a column, with rows that nobody declares: a study that protects persons declares these instead.
fn by_person(study: &Study, column: &str) -> Result<(Vec<u64>, Basis), Fault> {
    let protects = study.methods.iter().any(|method| method.unit() == Unit::Person);
    match &study.data.declared_persons {
        Some(DeclaredRows::Each(each)) => Ok((vec![1; each.len()], Basis::Clients)),
        Some(DeclaredRows::All(_)) => Ok((vec![1], Basis::Clients)),
        None if protects => {
            let message = format!("how many persons each {column} has is not declared");
            let hint = format!(
                "under [data] add declared_persons = [N, N]: the persons of each {column}, in alphabetical order of the names; a \
                 total, declared_persons = N, is enough for a method whose batch size does not depend on them"
            );
            Err(StudyText::new(study.file.clone(), &study.text).fault("data", UNDECLARED, message, hint))
        }
        None => Err(fault(study, "data", &format!("how many rows each {column} has is not declared"))),
    }
}

/// Training rows of each client, where so many are drawn for each site.
fn drawn_rows(study: &Study, schema: &Schema, sites: &[(String, usize)]) -> (Vec<u64>, Basis) {
    let (split, partition) = (&study.data.split, &study.partition);
    let levels: Vec<(&str, u64)> = sites.iter().map(|(name, rows)| (name.as_str(), *rows as u64)).collect();
    match partition {
        Partition::Column { at_most, .. } => by_level(&levels, split, at_most),
        _ => {
            let rows = trained(split, levels.iter().map(|(_, rows)| rows).sum());
            let basis = if schema.outcome().drop_missing { Basis::Estimated } else { Basis::Known };
            (dealt(partition, rows), basis)
        }
    }
}

/// Training rows or persons of each of so many clients, as declared; an even share of a total where clients are values of a
/// column.
pub(crate) fn declared_each(study: &Study, declared: &DeclaredRows, clients: usize) -> Vec<u64> {
    let split = &study.data.split;
    match (declared, &study.partition) {
        (DeclaredRows::Each(each), _) => {
            let all = each.iter().sum();
            each.iter().map(|&rows| kept_of(split, rows, all).unwrap_or(rows)).collect()
        }
        (DeclaredRows::All(all), Partition::Column { .. }) => {
            vec![trained(split, *all) / clients.max(1) as u64; clients]
        }
        (DeclaredRows::All(all), partition) => dealt(partition, trained(split, *all)),
    }
}

/// Training persons of each of so many clients, where they are declared.
fn persons(study: &Study, clients: usize) -> Result<(Vec<u64>, Basis), Fault> {
    let split = &study.data.split;
    match (&study.data.declared_persons, &study.partition) {
        (None, _) => Ok((vec![1; clients], Basis::Clients)),
        (Some(DeclaredRows::Each(each)), _) => listed(study, "declared_persons", each, Some(clients)),
        (Some(DeclaredRows::All(all)), Partition::Column { .. }) => {
            Ok((vec![1; clients], Basis::Total(trained(split, *all))))
        }
        (Some(DeclaredRows::All(all)), partition) => Ok((dealt(partition, trained(split, *all)), Basis::Declared)),
    }
}

/// How many clients a partition has, where that is known without its rows.
fn clients(partition: &Partition, set: Option<&Set>) -> Option<usize> {
    match partition {
        Partition::Even { clients } | Partition::Skewed(Skew { clients, .. }) => Some(*clients),
        Partition::Column { column, .. } => set?.levels_of(column).map(<[_]>::len),
    }
}

/// A list of rows, one number for each client.
fn listed(study: &Study, key: &str, each: &[u64], clients: Option<usize>) -> Result<(Vec<u64>, Basis), Fault> {
    if let Some(clients) = clients.filter(|clients| *clients != each.len()) {
        let message = format!("{key} is a list of {}, expected one number for each of {clients} clients", each.len());
        let source = StudyText::new(study.file.clone(), &study.text);
        return Err(source.fault(
            &format!("data.{key}"),
            UNDECLARED,
            message,
            "declare one number for each client, or the total",
        ));
    }
    let (split, all) = (&study.data.split, each.iter().sum());
    Ok((each.iter().map(|&rows| kept_of(split, rows, all).unwrap_or(rows)).collect(), Basis::Declared))
}

/// The clients of a column whose values are known. A drawn split leaves about its share at each of them.
fn by_level(levels: &[(&str, u64)], split: &Split, at_most: &BTreeMap<String, usize>) -> (Vec<u64>, Basis) {
    let most = |name: &str| at_most.get(name).map_or(u64::MAX, |most| *most as u64);
    let all = levels.iter().map(|(_, rows)| rows).sum();
    match levels.iter().map(|(name, rows)| Some(kept_of(split, *rows, all)?.min(most(name)))).collect() {
        Some(rows) => (rows, Basis::Estimated),
        None => (vec![1; levels.len()], Basis::Clients),
    }
}

/// Training rows of a known set, and whether that is exact.
fn public(set: &Set, split: &Split, schema: Option<&Schema>) -> Option<(u64, Basis)> {
    let rows = match split {
        Split::Column { column, test_level } => {
            let levels = set.levels_of(column)?.iter();
            levels.filter(|(level, _)| level != test_level).map(|(_, rows)| rows).sum()
        }
        drawn => kept(drawn, set.rows)?,
    };
    let dropped = schema.is_none_or(|schema| schema.outcome().drop_missing);
    Some((rows, if dropped { Basis::Estimated } else { Basis::Known }))
}

/// Training rows of so many declared ones. Where a column marks the held-out rows, the training rows are declared.
fn trained(split: &Split, rows: u64) -> u64 {
    kept(split, rows).unwrap_or(rows)
}

fn kept(split: &Split, rows: u64) -> Option<u64> {
    split.kept(usize::try_from(rows).ok()?).map(|rows| rows as u64)
}

/// About the training rows of a part of them.
fn kept_of(split: &Split, part: u64, all: u64) -> Option<u64> {
    split.kept_of(usize::try_from(part).ok()?, usize::try_from(all).ok()?).map(|rows| rows as u64)
}

/// The training rows of each client.
fn dealt(partition: &Partition, rows: u64) -> Vec<u64> {
    let sizes = usize::try_from(rows).ok().and_then(|rows| partition.sizes(rows));
    sizes.unwrap_or_default().into_iter().map(|rows| rows as u64).collect()
}
