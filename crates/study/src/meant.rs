//! A study as meant: data, partition, model and methods, checked, with nothing left to be looked up by name.

use super::data::{self, Data};
use super::fault::{Fault, Faults, StudyText};
use super::figure::{self, Figure};
use super::keys::STUDY_KEYS;
use super::served::{self, Served};
use super::typed::{Paper, PartitionAsTyped, PartitionKind, StudyAsTyped, TableColumnAsTyped};
use super::unroll::{self, Named};
use crate::error::StudyError;
use inference::describe::{Conflict, Key, Registry, validate};
use inference::public::{Derived, PublicNumbers};
use inference::{Method, Partition, Skew, Split, StudyModel};
use std::path::Path;
use toml::{Table, Value};

/// Version of the shape of a study file.
const SCHEMA: i64 = 1;

/// Names of the baselines that runs add.
pub(super) const BASELINES: [&str; 4] = ["majority class", "mean of the target", "local only", "non-private"];

/// Those of them that cost nothing, and stay where a study leaves baselines out.
pub(super) const CONSTANTS: [&str; 2] = ["majority class", "mean of the target"];

/// Everything that a study chose.
///
/// # Examples
/// A study is read with everything that is wrong with it told at once, and planned without a row:
/// ```
/// use study::{Folders, Study};
///
/// let text = r#"
///     schema = 1
///     study = { name = "heart", seeds = [1] }
///     data = { source = "heart", split = { test = 0.2 } }
///     partition = { kind = "column", column = "hospital" }
///     model = { kind = "logistic" }
///     [[method]]
///     name = "perturbed"
///     algorithm = "pvi"
///     solver = "perturb"
///     rounds = 3
///     local = { optimiser = "natural" }
///     privacy = { unit = "example", adjacency = "substitute", epsilon = 3.0, delta = 1e-4, clip = 2.0 }
/// "#;
/// let study = Study::read("heart.toml", text)?;
/// assert_eq!(study.plan(&Folders::default())?.len(), 1, "one data set");
///
/// let faults = Study::read("heart.toml", &text.replace("rounds = 3", "rounds = 0").replace("logistic", "logit"));
/// let faults = faults.expect_err("two mistakes");
/// let places: Vec<&str> = faults.iter().map(|fault| fault.place.as_str()).collect();
/// assert_eq!(places.len(), 2, "{places:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Study {
    /// Names the directory of its results.
    pub name: String,
    /// In the order in which they are run.
    pub seeds: Vec<u64>,
    /// Whether sites alone and all rows in one place are fitted beside the methods.
    pub baselines: bool,
    /// Where rows come from.
    pub data: Data,
    /// That of the first column, in a table with several.
    pub partition: Partition,
    /// The columns of a table; empty for a study with one partition.
    pub columns: Vec<TableColumn>,
    /// Published numbers.
    pub(crate) paper: Paper,
    /// Figures of a table.
    pub figures: Vec<Figure>,
    /// What is learnt.
    pub model: StudyModel,
    /// What is compared.
    pub methods: Vec<Method>,
    /// Who takes part where the study is served.
    pub served: Option<Served>,
    /// Whether the study says how to deal rows to simulated clients: one without is served, and not run.
    pub simulated: bool,
    /// The tables of the methods as they were typed: what they leave out is derived where public numbers are known.
    pub(crate) tables: Vec<Table>,
    /// What was derived for each method; nothing before [`Study::settled`].
    pub derived: Vec<Vec<Derived>>,
    /// Of each method its place among the `[[method]]`s of the file: a list of ε is several methods.
    pub(crate) places: Vec<usize>,
    /// What its names were looked up in.
    pub registry: Registry,
    /// The file's name, as in errors.
    pub file: String,
    /// The text of the file, as it was read.
    pub text: String,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// How rows are dealt to clients.
    pub partition: Partition,
    /// In place of the study's.
    pub source: Option<String>,
    /// In place of the study's: how rows are held out, and by which seed.
    pub split: Option<(Split, Option<u64>)>,
    /// Of made-up data, in place of the study's number.
    pub rows_per_client: Option<usize>,
}

impl Study {
    /// Reads and checks a file.
    pub fn open(path: &Path) -> Result<Self, StudyError> {
        let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
        Ok(Self::read(path.display().to_string(), &text)?)
    }

    /// Checks a text; `file` is its name in errors. Everything that is wrong with its tables, methods and model is told at once.
    pub fn read(file: impl Into<String>, text: &str) -> Result<Self, Faults> {
        Self::read_with(file, text, &Registry::standard())
    }

    /// The same, with methods and models of one's own in the registry.
    pub fn read_with(file: impl Into<String>, text: &str, registry: &Registry) -> Result<Self, Faults> {
        let file = file.into();
        let source = StudyText::new(file.clone(), text);
        check_version(&source)?;
        let table: Table = toml::from_str(text).map_err(|error| source.unreadable(&error))?;
        let names = unroll::all(&tables(&table, "method"));
        let (model, methods) = sound(&table, &names, registry, &source)?;
        let typed: StudyAsTyped = toml::from_str(text).map_err(|error| source.unreadable(&error))?;
        check_names(&typed, &names, &source)?;
        let served = served::of(&typed, &source)?;
        let (first, columns) = partitions(&typed, served.as_ref(), &source)?;
        let simulated = typed.partition.is_some() || !columns.is_empty();
        if let Some(served) = &served {
            served::check(served, simulated.then_some(&first), (&names, &methods), &source)?;
        }
        let only = served.as_ref().filter(|_| !simulated);
        Ok(Self {
            data: data::of(&typed, &model, only, &source, &first, &columns)?,
            served,
            simulated,
            partition: first,
            columns,
            figures: figure::all(&typed, &names, &source)?,
            paper: typed.paper,
            model,
            methods,
            tables: names.iter().map(|named| named.table.clone()).collect(),
            derived: Vec::new(),
            places: names.iter().map(|named| named.index).collect(),
            name: typed.study.name,
            seeds: typed.study.seeds,
            baselines: typed.study.baselines,
            registry: registry.clone(),
            file,
            text: text.to_owned(),
        })
    }

    /// The same study, with everything that its methods leave out derived from public numbers.
    pub fn settled(&self, public: &PublicNumbers) -> Result<Self, StudyError> {
        let source = StudyText::new(self.file.clone(), &self.text);
        let (mut methods, mut derived, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for ((table, method), place) in self.tables.iter().zip(&self.methods).zip(&self.places) {
            match Method::settled(table, &self.registry, public) {
                Ok(settled) => {
                    methods.push(settled.method);
                    derived.push(settled.derived);
                }
                Err(conflicts) => found.extend(conflicts.iter().map(|conflict| {
                    source.conflict(&format!("method.{place}"), &format!("method {:?}: ", method.name), conflict)
                })),
            }
        }
        Faults::of(found)?;
        Ok(Self { methods, derived, ..self.clone() })
    }

    /// Whether its rows are made up by the program, and at no site.
    pub fn is_made_up(&self) -> bool {
        self.data.synthetic.is_some()
    }

    /// The study of one column of the table: its partition, its data, and no other column.
    pub(crate) fn of_column(&self, column: &TableColumn) -> Self {
        let (name, partition) = (format!("{}, {}", self.name, column.name), column.partition.clone());
        let mut one = Self { name, partition, columns: Vec::new(), ..self.clone() };
        if let Some(source) = &column.source {
            one.data.source.clone_from(source);
        }
        if let Some((split, seed)) = &column.split {
            (one.data.split, one.data.split_seed) = (split.clone(), *seed);
            let index = self.columns.iter().position(|other| other.name == column.name).unwrap_or(0);
            one.data.split_key = format!("column.{index}.split");
        }
        if let (Some(made), Some(rows)) = (&mut one.data.synthetic, column.rows_per_client) {
            made.rows_per_client = rows;
        }
        one
    }

    /// The studies of all columns, or of the one partition.
    pub(crate) fn by_column(&self) -> Vec<Self> {
        let several: Vec<Self> = self.columns.iter().map(|column| self.of_column(column)).collect();
        if several.is_empty() { vec![self.clone()] } else { several }
    }

    /// Whether a method is one of several that a list of ε was laid out to.
    pub fn is_of_list(&self, method: &Method) -> bool {
        let place = self.methods.iter().position(|other| other.name == method.name).map(|at| self.places.get(at));
        let with = |place| self.places.iter().filter(|other| Some(*other) == place).count();
        place.is_some_and(|place| with(place) > 1)
    }

    /// An error with the method that it is about, and its line.
    pub(crate) fn in_method(&self, method: usize, error: StudyError) -> StudyError {
        let index = self.places.get(method).copied().unwrap_or(method);
        let place = StudyText::new(self.file.clone(), &self.text).at(&format!("method.{index}"));
        let name = self.methods.get(method).map_or_else(String::new, |method| method.name.clone());
        StudyError::Method { place, name, error: Box::new(error) }
    }

    /// The studies of the columns, where these have data of their own; else the study itself.
    pub(crate) fn by_data(&self) -> Vec<Self> {
        let own = self.columns.iter().any(|column| column.source.is_some() || column.split.is_some());
        if own { self.columns.iter().map(|column| self.of_column(column)).collect() } else { vec![self.clone()] }
    }
}

/// The tables of a list; none where there is no such list.
fn tables(table: &Table, key: &str) -> Vec<Table> {
    let list = table.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|value| value.as_table().cloned()).collect()
}

/// The model and all methods; everything that is wrong with any table of the study, where it is not sound.
fn sound(
    table: &Table,
    names: &[Named],
    registry: &Registry,
    source: &StudyText<'_>,
) -> Result<(StudyModel, Vec<Method>), Faults> {
    let lists = table.get("method").is_none_or(|list| list.as_array().is_some_and(|l| l.iter().all(Value::is_table)));
    let read_elsewhere =
        |name: &str| name == "model" && table.get(name).is_some_and(Value::is_table) || name == "method" && lists;
    let keys: Vec<Key> = STUDY_KEYS.iter().filter(|key| !read_elsewhere(key.name)).copied().collect();
    let rest: Table =
        table.iter().filter(|(name, _)| !read_elsewhere(name)).map(|(k, v)| (k.clone(), v.clone())).collect();
    let mut found: Vec<Fault> =
        validate(&rest, &keys, registry).iter().map(|conflict| source.conflict("", "", conflict)).collect();
    let empty = Table::new();
    let model = StudyModel::read(table.get("model").and_then(Value::as_table).unwrap_or(&empty), registry);
    if let (Err(conflicts), true) = (&model, table.contains_key("model")) {
        found.extend(conflicts.iter().map(|conflict| source.conflict("model", "", conflict)));
    }
    let offers = model.as_ref().ok().map(|model| (model.settings.build(None, 0).offers(), model.intercept));
    let mut methods = Vec::new();
    for named in names {
        let at = format!("method.{}", named.index);
        let subject = format!("method {:?}: ", named.name);
        let fault = |conflict: &Conflict| source.conflict(&at, &subject, conflict);
        match Method::read(&named.table, registry) {
            Err(conflicts) => found.extend(conflicts.iter().map(fault)),
            Ok(method) => {
                let fits = offers.map_or(Ok(()), |(offers, intercept)| {
                    method.check_model(offers)?;
                    method.algorithm.check_intercept(intercept)
                });
                found.extend(fits.err().as_ref().map(fault));
                methods.push(method);
            }
        }
    }
    found.sort_by_key(Fault::line_and_column);
    // Methods that were laid out from one list say the same things.
    let mut told: Vec<(String, &'static str)> = Vec::new();
    found.retain(|fault| {
        let key = (fault.place.clone(), fault.code);
        let new = !told.contains(&key);
        told.push(key);
        new
    });
    match (model, Faults::of(found)) {
        (Ok(model), Ok(())) => Ok((model, methods)),
        (_, Err(faults)) => Err(faults),
        (Err(_), Ok(())) => Err(source.fault("model", "S001", "the model cannot be read".into(), "").into()),
    }
}

/// The version is read first: other versions may have other keys.
pub(crate) fn check_version(source: &StudyText<'_>) -> Result<(), Fault> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: Option<i64>,
    }
    let version: Version = toml::from_str(source.text()).map_err(|error| source.unreadable(&error))?;
    match version.schema {
        Some(SCHEMA) => Ok(()),
        Some(other) => {
            let message = format!("schema is {other}, expected {SCHEMA}");
            Err(source.fault("schema", "S003", message, "this program reads studies of schema = 1"))
        }
        None => {
            Err(source.fault("schema", "S003", "schema is missing".into(), "begin the file with the line schema = 1"))
        }
    }
}

/// A name that can be a directory.
pub(crate) fn check_name(name: &str, source: &StudyText<'_>) -> Result<(), Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let message = format!("name is {name:?}, expected letters, digits, - and _");
        return Err(source.fault("study.name", "S005", message, "the name becomes the directory of the results"));
    }
    Ok(())
}

/// At least one seed, and none twice.
pub(crate) fn check_seeds(seeds: &[u64], source: &StudyText<'_>) -> Result<(), Fault> {
    if seeds.is_empty() {
        return Err(source.fault("study.seeds", "S005", "there is no seed".into(), "for example seeds = [1, 2, 3]"));
    }
    if let Some(twice) = repeated(seeds) {
        let message = format!("seed {twice} is there twice");
        return Err(source.fault("study.seeds", "S005", message, "one run of a seed says all that the seed can say"));
    }
    Ok(())
}

/// Names and seeds: something to run, each thing once, and a name that can be a directory.
fn check_names(typed: &StudyAsTyped, methods: &[Named], source: &StudyText<'_>) -> Result<(), Fault> {
    check_name(&typed.study.name, source)?;
    check_seeds(&typed.study.seeds, source)?;
    if typed.methods.is_empty() {
        return Err(source.fault("method", "S005", "there is no method".into(), "add a [[method]] to compare"));
    }
    let names: Vec<&str> = methods.iter().map(|method| method.name.as_str()).collect();
    let taken = |name: &str| name.trim().is_empty() || BASELINES.contains(&name.trim().to_lowercase().as_str());
    if let Some(at) = names.iter().position(|name| taken(name)) {
        let message = format!("a method is named {:?}", names[at]);
        let hint =
            format!("results are told apart by their names, and the baselines have theirs: {}", BASELINES.join(", "));
        return Err(source.fault(&format!("method.{}.name", methods[at].index), "S005", message, hint));
    }
    if let Some(at) = names.iter().position(|name| name.chars().any(char::is_control)) {
        let message = format!("a method is named {:?}", names[at]);
        let hint = "leave out line breaks and other control characters: a name is shown on terminals, also before a run is approved";
        return Err(source.fault(&format!("method.{}.name", methods[at].index), "S005", message, hint));
    }
    match repeated(&names) {
        Some(twice) => {
            let last = names.iter().rposition(|name| name == twice).map_or(0, |at| methods[at].index);
            let message = format!("two methods are named {twice:?}");
            Err(source.fault(&format!("method.{last}.name"), "S005", message, "results are told apart by their names"))
        }
        None => Ok(()),
    }
}

/// The first thing that is in a list twice.
fn repeated<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter().enumerate().find(|(at, item)| list[..*at].contains(item)).map(|(_, item)| item)
}

/// One partition, or those of the columns. In a study that is only served there is a client for each site.
fn partitions(
    typed: &StudyAsTyped,
    served: Option<&Served>,
    source: &StudyText<'_>,
) -> Result<(Partition, Vec<TableColumn>), Fault> {
    let column = |(at, c): (usize, &TableColumnAsTyped)| {
        let partition = partition(&c.partition, source, &format!("column.{at}.partition"))?;
        if c.rows_per_client == Some(0) || c.rows_per_client.is_some() && typed.data.synthetic.is_none() {
            let message = "rows_per_client is over 0, and belongs to made-up data".to_owned();
            return Err(source.fault(&format!("column.{at}.rows_per_client"), "S011", message, "leave it out"));
        }
        let (source, split) = data::of_column(at, c, &typed.data, source)?;
        Ok(TableColumn { name: c.name.clone(), partition, source, split, rows_per_client: c.rows_per_client })
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
            if let Some(served) = served {
                return Ok((Partition::Even { clients: served.sites.len() }, columns));
            }
            let message = "`partition` is missing".to_owned();
            Err(source.fault("", "S001", message, "add a [partition], for example kind = \"even\" with clients = 10"))
        }
    }
}

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
    match typed.kind {
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
