//! The statistical warnings of a simulation, gathered from its parts: the checks themselves are `inference::warning`.

use super::columns;
use super::data::DeclaredRows;
use super::engine::Work;
use super::meant::Study;
use super::state::Finished;
use inference::comparison::behind_constant;
use inference::effects::{Effects, effects};
use inference::results::{DataSummary, MethodResult};
use inference::warning::public::{ServedPosterior, clip_out_of_scale, of_served};
use inference::warning::{Code, Warning, over_seeds, rows};
use inference::{EncodedPrior, Kind, Method, Numeric, OutcomeKind, Partition, PriorTerm, Schema, Split};

/// What is known of a study beside its runs.
pub(crate) struct StudyContext<'a> {
    study: &'a Study,
    names: &'a [String],
    schema: Option<Schema>,
}

impl<'a> StudyContext<'a> {
    /// From the study, the names of its coefficients, and the schema of its rows in TOML.
    pub(crate) fn new(study: &'a Study, names: &'a [String], schema: Option<&str>) -> Self {
        Self { study, names, schema: schema.and_then(|text| Schema::from_toml(text).ok()) }
    }

    /// Warnings of one method over all seeds, but for those that need the others' scores.
    pub(crate) fn of_method(&self, work: Work<'_>, runs: &[Finished]) -> Vec<Warning> {
        let seeds: Vec<Vec<Warning>> = runs.iter().map(|run| self.of_run(work, run)).collect();
        let Work::Method(method) = work else { return over_seeds(&seeds) };
        let typical = self.schema.as_ref().and_then(|schema| typical_gradient(self.study, schema));
        let clip = typical.and_then(|typical| clip_out_of_scale(method, typical));
        over_seeds(&seeds).into_iter().chain(clip).collect()
    }

    fn of_run(&self, work: Work<'_>, run: &Finished) -> Vec<Warning> {
        let mut found = run.warnings.clone();
        if let Work::Method(method) = work {
            found.extend(self.of_served(method, run));
        }
        found
    }

    fn of_served(&self, method: &Method, run: &Finished) -> Vec<Warning> {
        let prior = prior_term(self.study, self.schema.as_ref(), run.posterior.mean.len());
        let served = ServedPosterior {
            names: self.names,
            prior: prior.as_ref(),
            mean: &run.posterior.mean,
            last_moves: &run.last_moves,
            intervals: &method.intervals(),
            draws: method.algorithm.draws().is_some().then_some(run.chain.as_ref()),
        };
        of_served(&served).iter().cloned().collect()
    }

    /// What the posterior of a run says about the columns, in the reader's units.
    pub(crate) fn effects(&self, run: &Finished) -> Option<Effects> {
        effects(self.schema.as_ref()?, self.study.model.settings.effect_scale()?, &run.posterior.gaussian()?)
    }

    /// Why the Gaussian of a run is not served as a posterior; none where it is.
    pub(crate) fn refused(&self, work: Work<'_>, run: &Finished) -> Option<Warning> {
        self.of_run(work, run).into_iter().find(|warning| warning.code == Code::FewDraws)
    }
}

/// The prior of so many parameters; none where it is stated in units and there is no schema to tell them.
pub fn prior_term(study: &Study, schema: Option<&Schema>, parameters: usize) -> Option<PriorTerm> {
    let (model, stated) = (study.model.settings.build(schema.and_then(Schema::classes), 0), &study.model.prior);
    let prior = match schema {
        Some(schema) => columns::prior(study, schema).ok()?,
        None if stated.coefficients.is_empty() && stated.earlier.is_none() => EncodedPrior::Same(stated.precision),
        None => return None,
    };
    prior.term(model.as_ref(), parameters)
}

/// Adds to each method what only its comparison with the constant answer tells.
pub(crate) fn compare(methods: &mut [MethodResult]) {
    for number in 0..methods.len() {
        if !methods[number].baseline
            && let Some(behind) = behind_constant(methods, number)
        {
            methods[number].warnings.splice(0..0, rows::behind_constant(&behind));
        }
    }
}

/// What the rows as they were found warn of, all methods alike.
pub(crate) fn of_data(study: &Study, data: &DataSummary) -> Vec<Warning> {
    let small = rows::small_sites(data.clients.iter().map(|c| (c.name.as_str(), c.rows as u64)));
    declared(study, data).into_iter().chain(declared_persons(study, data)).chain(small).collect()
}

/// Declared persons beside those who have training rows, where each client's were declared as such or all are trained on.
fn declared_persons(study: &Study, data: &DataSummary) -> Option<Warning> {
    let marked = matches!(study.data.split, Split::Column { .. });
    let declared = study.data.declared_persons.as_ref().filter(|_| marked)?;
    let found = data.clients.iter().map(|client| Some(client.persons? as u64)).collect::<Option<Vec<_>>>()?;
    match declared {
        DeclaredRows::All(all) => rows::persons_differ("all sites together", *all, found.iter().sum()),
        DeclaredRows::Each(each) => {
            let mut pairs = data.clients.iter().zip(each).zip(&found);
            pairs.find_map(|((client, declared), found)| rows::persons_differ(&client.name, *declared, *found))
        }
    }
}

/// Declared rows beside those found: of all clients, or of the first client that differs.
fn declared(study: &Study, data: &DataSummary) -> Option<Warning> {
    let marked = matches!(study.data.split, Split::Column { .. });
    let cut = matches!(&study.partition, Partition::Column { at_most, .. } if !at_most.is_empty());
    let all = data.train_rows + if marked { 0 } else { data.test_rows };
    let declared = study.data.declared_rows.as_ref().filter(|_| !cut && study.data.synthetic.is_none())?;
    match declared {
        DeclaredRows::All(rows) => rows::rows_differ("all sites together", *rows, all as u64),
        DeclaredRows::Each(each) => {
            let total = rows::rows_differ("all sites together", each.iter().sum(), all as u64);
            let owned = marked || data.clients.iter().map(|c| c.test_rows).sum::<usize>() == data.test_rows;
            let found =
                |client: &inference::results::ClientSummary| client.rows + if marked { 0 } else { client.test_rows };
            let differs = || {
                let mut pairs = data.clients.iter().zip(each).filter(|_| owned);
                pairs.find_map(|(client, rows)| rows::rows_differ(&client.name, *rows, found(client) as u64))
            };
            total.or_else(differs)
        }
    }
}

/// Root mean square of a row's gradient by the coefficients at the prior's mean, where values are spread evenly over the schema's
/// ranges. None where an input has no range, and for models whose gradients the inputs alone do not scale.
pub fn typical_gradient(study: &Study, schema: &Schema) -> Option<f64> {
    let of_outcome = match &schema.outcome().kind {
        OutcomeKind::Number(number) => mean_square(number).map(f64::sqrt),
        OutcomeKind::Classes(_) => None,
    };
    let outcome = study.model.settings.typical_residual(of_outcome)?;
    let mut squares = f64::from(u8::from(study.model.intercept));
    for column in schema.columns() {
        squares += match &column.kind {
            Kind::Numeric(number) => mean_square(number)?,
            Kind::Category { .. } => 1.0,
            Kind::Ignore => 0.0,
        };
    }
    Some(outcome * squares.sqrt()).filter(|typical| *typical > 0.0)
}

/// Mean square of an encoded value that is uniform between its bounds: (a² + ab + b²)/3.
fn mean_square(number: &Numeric) -> Option<f64> {
    let (low, high) = number.bounds?;
    let (a, b) = (number.encode(low), number.encode(high));
    Some((a * a + a * b + b * b) / 3.0)
}
