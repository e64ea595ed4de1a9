//! A study as meant: data, partition, model and methods, checked, with nothing left to be looked up by name.

use super::agreement::Differences;
use super::chart::{self, Chart};
use super::data::{self, Data};
use super::earlier::study_text;
use super::fault::{Fault, Faults, StudyText};
use super::figure::{self, Figure};
use super::keys::STUDY_KEYS;
use super::own_column;
use super::partition::partitions;
use super::regret::{self, Regret};
use super::served::{self, Served};
use super::short;
use super::synthetic::Synthetic;
use super::typed::{Paper, ShownTable, StudyAsTyped};
use super::unroll::{self, Named};
use crate::data::DeclaredRows;
use crate::error::StudyError;
use crate::sites::declared_each;
use inference::describe::{Conflict, Key, PRIVACY_OR_NOT, Registry, UNKNOWN, validate};
use inference::public::{Derived, PublicNumbers, RowCounts, put};
use inference::{Method, Partition, Split, StudyModel};
use std::path::Path;
use toml::{Table, Value};

/// Version of the shape of a study file.
const SCHEMA: i64 = 1;

/// What a study says of its differences from a paper, checked against its methods and columns.
fn differences(
    typed: &StudyAsTyped,
    names: &[Named],
    name: &str,
    source: &StudyText<'_>,
) -> Result<Differences, Fault> {
    let methods: Vec<&str> = names.iter().map(|named| named.name.as_str()).chain(BASELINES).collect();
    let mut columns: Vec<&str> = typed.columns.iter().map(|column| column.name.as_str()).collect();
    if columns.is_empty() {
        columns.push(name);
    }
    Differences::of(&typed.tolerance, &typed.differs, &methods, &columns, source)
}

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
    /// What it says of numbers that are not as published.
    pub(crate) differences: Differences,
    /// Figures of a table.
    pub figures: Vec<Figure>,
    /// Grids of settings by hand, beside which derived ones are judged.
    pub regrets: Vec<Regret>,
    /// Which table `reproduce` prints: scores, or steps between values of ε.
    pub table: ShownTable,
    /// Figures of other kinds than lines.
    pub charts: Vec<Chart>,
    /// What is learnt.
    pub model: StudyModel,
    /// What is compared.
    pub methods: Vec<Method>,
    /// Who takes part where the study is served.
    pub served: Option<Served>,
    /// Whether the study says how to deal rows to simulated clients: one without is served, and not run.
    pub simulated: bool,
    /// The methods as they were typed: what they leave out is derived where public numbers are known.
    pub(crate) named: Vec<Named>,
    /// What was derived for each method; nothing before [`Study::settled`].
    pub derived: Vec<Vec<Derived>>,
    /// What its names were looked up in.
    pub registry: Registry,
    /// The file's name, as in errors.
    pub file: String,
    /// The text of the file, as it was read.
    pub text: String,
}

/// A column of a table.
#[derive(Debug, Clone)]
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
    /// Of made-up data, in place of the study's law.
    pub(crate) synthetic: Option<Synthetic>,
    /// The study that it is by itself, where it has data or a model of its own.
    pub(crate) own: Option<Box<Study>>,
}

impl Study {
    /// Reads and checks a file, with the posterior that its prior names ([`study_text`]).
    pub fn open(path: &Path) -> Result<Self, StudyError> {
        let text = study_text(path)?;
        let file = path.display().to_string();
        let named = || short::name_at(path);
        Ok(Self::read_named(file, &text, &Registry::standard(), named)?)
    }

    /// Checks a text; `file` is its name in errors. Everything that is wrong with its tables, methods and model is told at once.
    pub fn read(file: impl Into<String>, text: &str) -> Result<Self, Faults> {
        Self::read_with(file, text, &Registry::standard())
    }

    /// The same, with methods and models of one's own in the registry.
    pub fn read_with(file: impl Into<String>, text: &str, registry: &Registry) -> Result<Self, Faults> {
        let file = file.into();
        let name = short::name_of(&file);
        Self::read_named(file, text, registry, || name)
    }

    /// The same, with what a study is called that does not say it.
    fn read_named(
        file: String,
        text: &str,
        registry: &Registry,
        named: impl FnOnce() -> String,
    ) -> Result<Self, Faults> {
        let source = StudyText::new(file.clone(), text);
        check_version(&source)?;
        let table: Table = toml::from_str(text).map_err(|error| source.unreadable(&error))?;
        let (model, names, methods) = sound(&table, registry, &source)?;
        let mut typed: StudyAsTyped = toml::from_str(text).map_err(|error| source.unreadable(&error))?;
        let name = typed.study.name.get_or_insert_with(named).clone();
        check_names(&name, &typed, &names, &source)?;
        let served = served::of(&typed, &source)?;
        let (first, mut columns) = partitions(&typed, &model, served.as_ref(), &source)?;
        own_column::read(&table, &typed.columns, &mut columns, &source, registry)?;
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
            regrets: regret::all(&typed, &names, &source)?,
            differences: differences(&typed, &names, &name, &source)?,
            charts: chart::all(&typed, &names, &source)?,
            paper: typed.paper,
            model,
            methods,
            named: names,
            derived: Vec::new(),
            name,
            table: typed.study.table,
            seeds: typed.study.seeds,
            baselines: typed.study.baselines,
            registry: registry.clone(),
            file,
            text: text.to_owned(),
        })
    }

    /// The same study, with everything that its methods leave out derived from public numbers.
    pub fn settled(&self, public: &PublicNumbers) -> Result<Self, StudyError> {
        let public = &self.with_declared(public);
        let source = StudyText::new(self.file.clone(), &self.text);
        let (mut methods, mut derived, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for (named, method) in self.named.iter().zip(&self.methods) {
            let (mut table, delta) = (named.table.clone(), short::delta(self, method, public));
            delta.iter().for_each(|delta| put(&mut table, &delta.key, delta.value.clone()));
            let settled = Method::settled(&table, &self.registry, public);
            let settled = settled.and_then(|settled| match &named.hand {
                Some(hand) => hand.settled(&table, settled, &self.registry, public),
                None => Ok(settled),
            });
            match settled {
                Ok(settled) => {
                    methods.push(settled.method);
                    derived.push(delta.into_iter().chain(settled.derived).collect());
                }
                Err(conflicts) => found.extend(conflicts.iter().map(|conflict| of_method(named, &source, conflict))),
            }
        }
        Faults::of(found)?;
        Ok(Self { methods, derived, ..self.clone() })
    }

    /// Whether the coefficients that its labels were drawn with are known, so that intervals can be checked.
    pub fn knows_coefficients(&self) -> bool {
        let drawn = self.data.drawn.as_ref().is_some_and(|drawn| drawn.knows_coefficients(self));
        drawn || self.data.labels.is_some() || self.data.synthetic.is_some_and(|made| made.knows_coefficients())
    }

    /// Public numbers with what the study declares in place of what was counted, and with its model.
    fn with_declared(&self, public: &PublicNumbers) -> PublicNumbers {
        let mut public = public.clone();
        public.residual = self.model.settings.typical_residual(Some(1.0));
        if public.rows_are == RowCounts::Agreed {
            return public;
        }
        let each = |declared: &DeclaredRows| declared_each(self, declared, public.rows.len());
        let (rows, persons) =
            (self.data.declared_rows.as_ref().map(each), self.data.declared_persons.as_ref().map(each));
        if let Some(rows) = rows {
            (public.rows, public.rows_are) = (rows, RowCounts::Declared);
        }
        public.persons = persons.or(public.persons);
        public
    }

    /// Whether its rows are made up by the program, and at no site.
    pub fn is_made_up(&self) -> bool {
        self.data.synthetic.is_some() || self.data.drawn.is_some()
    }

    /// The study of one column of the table: its partition, its data, and no other column.
    pub(crate) fn of_column(&self, column: &TableColumn) -> Self {
        let (name, partition) = (format!("{}, {}", self.name, column.name), column.partition.clone());
        if let Some(own) = &column.own {
            return Self { name, seeds: self.seeds.clone(), ..(**own).clone() };
        }
        let mut one = Self { name, partition, columns: Vec::new(), ..self.clone() };
        if let Some(source) = &column.source {
            one.data.source.clone_from(source);
        }
        if let Some((split, seed)) = &column.split {
            (one.data.split, one.data.split_seed) = (split.clone(), *seed);
            let index = self.columns.iter().position(|other| other.name == column.name).unwrap_or(0);
            one.data.split_key = format!("column.{index}.split");
        }
        one.data.synthetic = column.synthetic.or(one.data.synthetic);
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
        let named = self.named.iter().find(|named| named.name == method.name);
        let with = |origin| self.named.iter().filter(|other| other.origin == origin).count();
        named.is_some_and(|named| with(named.origin) > 1)
    }

    /// Where a key of a method stands in the file.
    pub(crate) fn path(&self, method: usize, key: &str) -> String {
        self.named.get(method).map_or_else(String::new, |named| named.path(key))
    }

    /// Whether the method is the model's default one, because the study lists none.
    pub fn is_short(&self) -> bool {
        self.named.iter().any(|named| named.origin == short::Origin::Default)
    }

    /// Whether there is a table to look into: a study that is only served leaves its rows at the sites.
    pub fn has_table(&self) -> bool {
        self.simulated || self.served.is_none()
    }

    /// An error with the method that it is about, and its line.
    pub(crate) fn in_method(&self, method: usize, error: StudyError) -> StudyError {
        let place = StudyText::new(self.file.clone(), &self.text).at(&self.path(method, ""));
        let name = self.methods.get(method).map_or_else(String::new, |method| method.name.clone());
        StudyError::Method { place, name, error: Box::new(error) }
    }

    /// The studies of the columns, where these have data of their own; else the study itself.
    pub(crate) fn by_data(&self) -> Vec<Self> {
        let own = self
            .columns
            .iter()
            .any(|c| c.source.is_some() || c.split.is_some() || c.synthetic.is_some() || c.own.is_some());
        if own { self.columns.iter().map(|column| self.of_column(column)).collect() } else { vec![self.clone()] }
    }
}

/// A conflict of a method, at its line in the file.
fn of_method(named: &Named, source: &StudyText<'_>, conflict: &Conflict) -> Fault {
    let hint = match conflict.code {
        PRIVACY_OR_NOT => short::without_privacy(&conflict.hint, &named.shared),
        _ => conflict.hint.clone(),
    };
    let message = format!("method {:?}: {}", named.name, conflict.what);
    source.fault(&named.path(&conflict.key), conflict.code, message, hint)
}

/// The model and all methods; everything that is wrong with any table of the study, where it is not sound.
fn sound(
    table: &Table,
    registry: &Registry,
    source: &StudyText<'_>,
) -> Result<(StudyModel, Vec<Named>, Vec<Method>), Faults> {
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
    let typed = short::methods(table, model.as_ref().ok(), source);
    // A table whose name is misspelt is not missing too.
    let misspelt = found.iter().any(|fault| fault.code == UNKNOWN);
    found.extend(typed.as_ref().err().filter(|_| !misspelt).cloned());
    let (names, mut methods) = (regret::laid_out(unroll::all(&typed.unwrap_or_default()), table), Vec::new());
    for named in &names {
        let fault = |conflict: &Conflict| of_method(named, source, conflict);
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
        (Ok(model), Ok(())) => Ok((model, names, methods)),
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
        None => Ok(()),
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
fn check_names(name: &str, typed: &StudyAsTyped, methods: &[Named], source: &StudyText<'_>) -> Result<(), Fault> {
    check_name(name, source)?;
    check_seeds(&typed.study.seeds, source)?;
    if methods.is_empty() {
        let hint = "add a [[method]] to compare, or leave `method` out and add [privacy] with epsilon = 1.0";
        return Err(source.fault("method", "S005", "there is no method".into(), hint));
    }
    let names: Vec<&str> = methods.iter().map(|method| method.name.as_str()).collect();
    let taken = |name: &str| name.trim().is_empty() || BASELINES.contains(&name.trim().to_lowercase().as_str());
    if let Some(at) = names.iter().position(|name| taken(name)) {
        let message = format!("a method is named {:?}", names[at]);
        let hint =
            format!("results are told apart by their names, and the baselines have theirs: {}", BASELINES.join(", "));
        return Err(source.fault(&methods[at].path("name"), "S005", message, hint));
    }
    if let Some(at) = names.iter().position(|name| name.chars().any(char::is_control)) {
        let message = format!("a method is named {:?}", names[at]);
        let hint = "leave out line breaks and other control characters: a name is shown on terminals, also before a run is approved";
        return Err(source.fault(&methods[at].path("name"), "S005", message, hint));
    }
    match repeated(&names) {
        Some(twice) => {
            let last = names.iter().rposition(|name| name == twice).unwrap_or(0);
            let message = format!("two methods are named {twice:?}");
            Err(source.fault(&methods[last].path("name"), "S005", message, "results are told apart by their names"))
        }
        None => Ok(()),
    }
}

/// The first thing that is in a list twice.
pub(super) fn repeated<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter().enumerate().find(|(at, item)| list[..*at].contains(item)).map(|(_, item)| item)
}
