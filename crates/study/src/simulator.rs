//! The engine of `simulate`: opened data, and the simulator of the inference room behind the frame's contract.

use super::columns;
use super::data::ScoresIn;
use super::dealt::DealtOnce;
use super::engine::{Engine, Work};
use super::labels::TrueCoefficients;
use super::meant::Study;
use super::posterior::{Intercepts, Marginals, OwnIntercept};
use super::state::Finished;
use crate::clock::cpu_seconds;
use crate::datasets::{self, DataSource};
use crate::digits::hexadecimal;
use crate::error::StudyError;
use crate::load::Folders;
use crate::unzipped::unzipped;
use inference::plan::Costs;
use inference::public::{PublicNumbers, RowCounts};
use inference::results::{ClientSummary, DataSummary};
use inference::warning::Warning;
use inference::warning::rows::{self, LastLine};
use inference::{
    Encoded, EncodedPrior, Federation, Fits, Gaussian, Kind, Method, Model, Observer, OutcomeKind, Partition, Record,
    Recovery, RowReading, Schema, Simulation, SiteIntercept, Split, persons_at_one_site, read,
};
use privacy::Unit;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A study's data, encoded, and what is to be done with them.
pub(crate) struct Simulator {
    source: String,
    digest: [u8; 32],
    schema: String,
    table: Encoded,
    split: Split,
    split_seed: Option<u64>,
    partition: Partition,
    model: Arc<dyn Model>,
    prior: EncodedPrior,
    /// The coefficients that labels are drawn with, where the study draws them.
    truth: Option<TrueCoefficients>,
    first_seed: u64,
    /// What one of the encoded outcome is in scores: the outcome's scale, or 1.
    unit: f64,
    /// What the encoded outcome 0 is in scores: the outcome's centre, or 0.
    centre: f64,
    encoded_scores: bool,
    /// The farthest encoded value by the schema's bounds.
    reach: Option<(String, f64)>,
    /// Least and greatest encoded outcome of a number.
    outcome_bounds: Option<(f64, f64)>,
    /// Levels of the outcome by the schema; none where it is a number.
    classes: Option<usize>,
    costs: Arc<Costs>,
    dealt: DealtOnce<Federation>,
    fits: Arc<Fits>,
    /// Whether the file seems to have been cut off, numbers are far from the schema's, and persons have rows that are protected
    /// one by one.
    warnings: Vec<Warning>,
}

impl Simulator {
    /// Opens a study's data; its files are looked for in these folders. A first federation is dealt, so that data which do not fit
    /// the study are refused before anything is written.
    pub(crate) fn open(study: &Study, folders: &Folders, fits: &Arc<Fits>) -> Result<Self, StudyError> {
        let source = datasets::open(&study.data.source, study.data.schema.as_deref(), folders)?;
        columns::Columns::of(study, folders)?;
        Self::of_source(study, source, None, (fits, &Arc::default()))
    }

    /// The same on opened data. Where labels are those of known coefficients, these are given. Fits and costs are shared with others.
    pub(crate) fn of_source(
        study: &Study,
        source: DataSource,
        stated: Option<TrueCoefficients>,
        (fits, costs): (&Arc<Fits>, &Arc<Costs>),
    ) -> Result<Self, StudyError> {
        let (split, partition) = (study.data.split.clone(), study.partition.clone());
        let keep: Vec<&str> = [split.column(), partition.column()].into_iter().flatten().collect();
        let table = source.read(study.model.intercept, &keep)?;
        let first_seed = study.seeds.first().copied().unwrap_or(1);
        let encoded_scores = study.data.scores_in == ScoresIn::Encoded;
        let digest = Sha256::new().chain_update(&source.csv).chain_update(&source.schema_text).finalize();
        let model = study.model.settings.build(source.schema.classes(), first_seed);
        let prior = columns::prior(study, &source.schema)?;
        let truth = match stated {
            Some(stated) => Some(stated),
            None => truth(study, model.as_ref(), &table, &prior)?,
        };
        let opened = Self {
            warnings: cut_off(&source.csv, &table, &partition)
                .into_iter()
                .chain(off_scale(&source)?)
                .chain(repeated(study, &table))
                .collect(),
            digest: digest.into(),
            source: source.name,
            schema: source.schema_text,
            table,
            split,
            split_seed: study.data.split_seed,
            partition,
            model,
            truth,
            prior,
            centre: if encoded_scores { 0.0 } else { scale_of(&source.schema).0 },
            unit: if encoded_scores { 1.0 } else { scale_of(&source.schema).1 },
            encoded_scores,
            outcome_bounds: source.schema.outcome().encoded_bounds(),
            reach: Some(source.schema.reach()).filter(|(_, reach)| reach.is_finite()).map(|(c, r)| (c.to_owned(), r)),
            classes: source.schema.classes(),
            first_seed,
            costs: costs.clone(),
            dealt: DealtOnce::new(),
            fits: fits.clone(),
        };
        let federation = opened.federation(opened.first_seed)?;
        if study.methods.iter().any(|method| method.unit() == Unit::Person) {
            persons_at_one_site(&federation.sites)?;
        }
        Ok(opened)
    }

    /// Digest of the rows, their schema, and how they are split and dealt.
    fn dealt(&self) -> [u8; 32] {
        let labels = self.truth.as_ref().map_or_else(String::new, |truth| format!(" {truth:?}"));
        let how = format!("{:?} {:?} {:?}{labels}", self.split, self.split_seed, self.partition);
        Sha256::new().chain_update(self.digest).chain_update(how).finalize().into()
    }

    /// Digest of rows and labels: what fits are kept by. Drawn labels are those of a seed.
    fn labelled(&self, seed: u64) -> [u8; 32] {
        match &self.truth {
            None => self.digest,
            Some(_) => Sha256::new().chain_update(self.dealt()).chain_update(seed.to_le_bytes()).finalize().into(),
        }
    }

    fn federation(&self, seed: u64) -> Result<Arc<Federation>, StudyError> {
        let split = (&self.split, self.split_seed.unwrap_or(seed));
        let deal = || {
            let dealt = Federation::of_split(&self.table, split, &self.partition, seed)?;
            match self.truth.as_ref().filter(|truth| truth.replaces_labels()) {
                None => Ok(dealt),
                Some(truth) => dealt.with_drawn_labels(&truth.of_seed(seed), seed),
            }
        };
        self.dealt.of(seed, || deal().map_err(|error| StudyError::data(self.source.as_str(), error)))
    }
}

/// The training rows of each client, and the names of the clients where these are known.
pub(crate) type CountedSites = (Vec<u64>, Option<Vec<String>>);

/// The training rows of each client by the study's first seed, with its name where the study has clients.
pub(crate) fn rows(study: &Study, folders: &Folders) -> Result<CountedSites, StudyError> {
    let source = datasets::open(&study.data.source, study.data.schema.as_deref(), folders)?;
    columns::Columns::of(study, folders)?;
    if !study.simulated {
        // A fit makes a row of each line.
        let table = read(&source.csv[..], &source.schema, study.model.intercept, &[], RowReading::Lenient);
        let table = table.map_err(|error| StudyError::data(source.name.as_str(), error))?;
        return Ok((vec![table.rows.len() as u64], None));
    }
    let (split, partition) = (&study.data.split, &study.partition);
    let keep: Vec<&str> = [split.column(), partition.column()].into_iter().flatten().collect();
    let table = source.read(study.model.intercept, &keep)?;
    let seed = study.seeds.first().copied().unwrap_or(1);
    let split = (split, study.data.split_seed.unwrap_or(seed));
    let dealt = Federation::of_split(&table, split, partition, seed);
    let dealt = dealt.map_err(|error| StudyError::data(source.name.as_str(), error))?;
    let rows = dealt.sites.iter().map(|site| site.shard.len() as u64).collect();
    Ok((rows, Some(dealt.sites.into_iter().map(|site| site.name).collect())))
}

impl Engine for Simulator {
    fn data_digest(&self) -> String {
        hexadecimal(&self.digest)
    }

    fn summary(&self) -> Result<DataSummary, StudyError> {
        let federation = self.federation(self.first_seed)?;
        let clients = federation.sites.iter();
        let clients: Vec<ClientSummary> = clients
            .map(|s| ClientSummary {
                name: s.name.clone(),
                rows: s.shard.len(),
                test_rows: s.own.len(),
                persons: s.shard.person_count(),
            })
            .collect();
        Ok(DataSummary {
            source: self.source.clone(),
            outcome: Schema::from_toml(&self.schema).ok().map(|schema| schema.outcome().words()),
            inputs: self.table.inputs.clone(),
            train_rows: clients.iter().map(|c| c.rows).sum(),
            test_rows: federation.test.len(),
            clients,
            encoded_scores: self.encoded_scores,
            made_up: None,
        })
    }

    fn public(&self) -> Result<PublicNumbers, StudyError> {
        let federation = self.federation(self.first_seed)?;
        let rows = federation.sites.iter().map(|site| site.shard.len() as u64).collect();
        let public = PublicNumbers::new(rows, RowCounts::Counted, self.table.rows.layout().clone());
        Ok(PublicNumbers { reach: self.reach.clone(), outcome: self.outcome_bounds, classes: self.classes, ..public })
    }

    fn costs(&self) -> Arc<Costs> {
        self.costs.clone()
    }

    fn data_schema(&self) -> Option<String> {
        Some(self.schema.clone())
    }

    fn warnings(&self) -> Vec<Warning> {
        self.warnings.clone()
    }

    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, StudyError> {
        let start = cpu_seconds();
        let record = self.record(work, seed, observer)?;
        Ok(in_units(finished(record, work.site_intercept(), cpu_seconds() - start)?, self.centre, self.unit))
    }

    fn record(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Record, StudyError> {
        let mut federation = self.federation(seed)?;
        if work.site_intercept().is_some() {
            federation = Arc::new(federation.with_own_input());
        }
        let record = worked(work, observer, (&self.fits, self.labelled(seed)), |method| Simulation {
            method,
            sites: &federation.sites,
            test: &federation.test,
            model: self.model.clone(),
            prior: self.prior.clone(),
            seed,
            data: self.dealt(),
            costs: self.costs.clone(),
        })?;
        let known = self.truth.as_ref().filter(|_| work.has_posterior());
        let recovery = known.and_then(|truth| Recovery::of(&record, &truth.of_seed(seed)));
        Ok(Record { recovery, ..record })
    }
}

/// The coefficients that a study draws its labels with.
fn truth(
    study: &Study,
    model: &dyn Model,
    table: &Encoded,
    prior: &EncodedPrior,
) -> Result<Option<TrueCoefficients>, StudyError> {
    let Some(labels) = study.data.labels else { return Ok(None) };
    let found = TrueCoefficients::of(labels, model, &table.rows, prior);
    let none =
        || StudyError::usage("the fit that labels are drawn from was not found", "labels = { drawn = \"prior\" }");
    found.map(Some).ok_or_else(none)
}

/// A warning where the numbers of some columns are far from the schema's bounds, centre or scale.
fn off_scale(source: &DataSource) -> Result<Option<Warning>, StudyError> {
    let numbers = source.schema.columns().iter().filter(|column| matches!(column.kind, Kind::Numeric(_)));
    let names: Vec<&str> = numbers.map(|column| column.name.as_str()).collect();
    Ok(rows::off_scale(&source.read(false, &names)?, &source.schema))
}

/// A warning where the file has no line break at its end and its last row is the only one of its site: a name that was cut off
/// in mid-cell makes up a site of its own.
fn cut_off(csv: &[u8], table: &Encoded, partition: &Partition) -> Option<Warning> {
    let sites = table.column(partition.column()?).ok()?;
    let last = sites.last()?;
    let alone = sites.iter().filter(|site| *site == last).count() == 1;
    let ended = !alone || unzipped(csv).is_ok_and(|text| text.ends_with(b"\n") || text.ends_with(b"\r"));
    rows::cut_off(LastLine { ended, fits: true, alone }, Some(last))
}

/// A warning where persons have several rows and a method protects one row.
fn repeated(study: &Study, table: &Encoded) -> Option<Warning> {
    let by_row = |method: &Method| method.promise.is_some() && method.unit() == Unit::Example;
    study.methods.iter().any(by_row).then(|| rows::repeated_persons(&table.keys)).flatten()
}

/// Does one piece of work on the simulation of its method. Fits may be there already; the source is a digest of the rows that
/// they are of.
pub(super) fn worked<'a, 'b>(
    work: Work<'a>,
    observer: &mut dyn Observer,
    (fits, source): (&Fits, [u8; 32]),
    simulation: impl Fn(&'a Method) -> Simulation<'b>,
) -> Result<Record, StudyError>
where
    'a: 'b,
{
    Ok(match work {
        Work::Method(method) => simulation(method).run(observer)?,
        Work::Constant { beside, .. } => simulation(beside).constant()?,
        Work::LocalOnly(method) => simulation(method).local_only_by(fits, source)?,
        Work::NonPrivate(method) => simulation(method).non_private_by(fits, source)?,
    })
}

/// A record as it is kept.
pub(super) fn finished(record: Record, site_intercept: Option<f64>, cpu_seconds: f64) -> Result<Finished, StudyError> {
    let own = |own: &SiteIntercept| OwnIntercept { site: own.site.clone(), mean: own.mean, deviation: own.deviation };
    let sites = record.intercepts.iter().map(own).collect();
    let intercepts = site_intercept.map(|precision| Intercepts { prior_deviation: precision.sqrt().recip(), sites });
    let posterior = Marginals { intercepts, quantiles: record.quantiles.clone(), ..marginals(&record.posterior) };
    Ok(Finished::of(record, posterior, cpu_seconds)?)
}

/// Centre and scale of an outcome that is a number, 0 and 1 otherwise. Of a logarithm, they are the logarithm's.
pub(super) fn scale_of(schema: &Schema) -> (f64, f64) {
    match &schema.outcome().kind {
        OutcomeKind::Number(number) => (number.centre, number.scale),
        OutcomeKind::Classes(_) => (0.0, 1.0),
    }
}

/// Scores and checks in the units of the outcome.
fn in_units(mut finished: Finished, centre: f64, scale: f64) -> Finished {
    finished.checks = finished.checks.map(|checks| checks.in_units(centre, scale));
    let curve = finished.curve.iter_mut().map(|point| &mut point.scores);
    let sites = finished.sites.iter_mut().map(|site| &mut site.scores);
    for scores in [&mut finished.scores].into_iter().chain(curve).chain(sites) {
        *scores = scores.in_units(scale);
    }
    finished
}

/// A Gaussian in plain numbers.
pub fn marginals(q: &Gaussian) -> Marginals {
    Marginals {
        mean: q.mean().to_vec(),
        deviation: q.deviations(),
        precision: q.packed_precision(),
        ..Marginals::default()
    }
}
