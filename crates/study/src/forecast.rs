//! What each method will cost every client, from declared numbers; no row is touched.

mod remarks;
mod report;

pub(crate) use self::remarks::{coded, loose_delta, private_rows};

use self::report::{ClientReport, ForecastReport, MethodReport, PrivacyReport, StageReport};
use super::columns;
use super::expected_intervals::ExpectedIntervals;
use super::guidance::{Guidance, guidance};
use super::meant::Study;
use super::sites::{Basis, Sites, span};
use super::warnings;
use super::words::{self, LabelledRow, row};
use crate::digits::{shortest, up};
use crate::error::StudyError;
use crate::load::Folders;
use inference::Method;
use inference::Schema;
use inference::plan::{ClientPlan, MethodPlan, PlannedStage, plan, seed_bytes};
use inference::public::Derived;
use inference::results::{SeveralSites, several_sites};
use inference::settings::{Aggregator, Claim, Noise, Promise, SecureNoise, SecureSumSettings};
use inference::warning::Code;
use inference::warning::public::{clip_out_of_scale, of_plan, of_plan_without_rows};
use privacy::{Sampling, Unit};
use std::ops::Range;

/// What a study will cost.
pub struct Forecast {
    study: Study,
    sites: Sites,
    /// Parameters of the model, where the inputs are known.
    parameters: Option<usize>,
    plans: Vec<(Method, MethodPlan)>,
    /// What intervals each method may expect, where that was asked for; none where it has no forecast.
    expected: Vec<Option<ExpectedIntervals>>,
    guidance: Guidance,
    /// On assumed bounds.
    notes: Vec<String>,
    /// Constants of the schema outside the bounds of their columns.
    outside: Vec<String>,
    /// The gradient of a typical row, where the schema's ranges say it.
    typical: Option<f64>,
}

impl std::fmt::Debug for Forecast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forecast").field("study", &self.study.name).finish_non_exhaustive()
    }
}

impl Forecast {
    /// Plans every method of the study. Of the data, only the schema is looked at.
    pub(crate) fn of(study: &Study, folders: &Folders) -> Result<Self, StudyError> {
        let schema = columns::schema_if_there(study, folders)?;
        match &schema {
            Some(schema) => columns::check(study, schema)?,
            None => {
                columns::person_ids(study, None)?;
                columns::record_ids(study, None)?;
            }
        }
        let sites = Sites::of_study(study, schema.as_ref(), folders)?;
        let study = &sites.settle(study, schema.as_ref())?;
        let width = sites.inputs.map(|inputs| inputs + usize::from(study.model.intercept));
        let classes = schema.as_ref().and_then(Schema::classes);
        let parameters = width.and_then(|width| study.model.parameters(classes, width));
        let mut plans = Vec::new();
        for (index, method) in study.methods.iter().enumerate() {
            sites.check(study, index, method)?;
            let planned = plan(method, sites.of(method).0, parameters.unwrap_or(1));
            plans.push((method.clone(), planned.map_err(|error| study.in_method(index, error.into()))?));
        }
        let guidance = guidance(study, &sites, schema.as_ref());
        let notes = schema.as_ref().map(|schema| notes(study, schema)).unwrap_or_default();
        let typical = schema.as_ref().and_then(|schema| warnings::typical_gradient(study, schema));
        let outside = schema.as_ref().map(columns::outside_bounds).unwrap_or_default();
        let (study, expected) = (study.clone(), Vec::new());
        Ok(Self { study, sites, parameters, plans, expected, guidance, notes, outside, typical })
    }

    /// The same with the intervals that methods may expect.
    pub(crate) fn expecting(self, folders: &Folders) -> Result<Self, StudyError> {
        let schema = columns::schema_if_there(&self.study, folders)?;
        let of = |(method, _): &(Method, _)| ExpectedIntervals::of(&self.study, method, &self.sites, schema.as_ref());
        let expected = self.plans.iter().map(of).collect::<Result<_, _>>()?;
        Ok(Self { expected, ..self })
    }

    /// What the plan of each method warns of, by its code; δ and private numbers of rows have lines of their own.
    pub(crate) fn coded(&self) -> Vec<String> {
        let of = |(method, plan): &(Method, MethodPlan)| {
            let with_rows = self.sites.basis.has_rows();
            let planned = if with_rows { of_plan(method, plan) } else { of_plan_without_rows(method, plan) };
            let planned =
                planned.iter().filter(|w| matches!(w.code, Code::LargeEpsilon | Code::TooManyRounds)).cloned();
            let clip = self.typical.and_then(|typical| clip_out_of_scale(method, typical));
            planned.chain(clip).map(|warning| coded(&method.name, &warning)).collect::<Vec<_>>()
        };
        self.plans.iter().flat_map(of).collect()
    }

    /// A warning of each method whose δ promises almost nothing to the rows or clients that there are.
    pub(crate) fn loose(&self) -> Vec<String> {
        let of = |(method, plan): &(Method, MethodPlan)| {
            let promise = method.promise.as_ref()?;
            let loose = plan.clients.iter().filter(|client| client.delta_is_loose()).min_by_key(|client| client.among);
            let basis = self.sites.of(method).1;
            let of = |c: &ClientPlan| loose_delta(&method.name, promise.unit, c.delta.get(), c.among, basis);
            loose.filter(|_| basis.has_rows() || promise.unit == Unit::Client).and_then(of)
        };
        self.plans.iter().filter_map(of).collect()
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.coded();
        let private = self.plans.iter().filter(|(method, _)| method.promise.is_some());
        warnings.extend(private.filter_map(|(method, _)| private_rows(method)));
        warnings.extend(self.loose());
        warnings.extend(self.outside.iter().cloned());
        let compared = |unit: Unit| {
            let mut methods = self.plans.iter().map(|(method, _)| method).filter(|method| method.unit() == unit);
            methods.all(|method| self.sites.of(method).1.has_rows())
        };
        let by_rows = self.plans.iter().any(|(method, _)| method.unit() != Unit::Person);
        if by_rows && !self.sites.basis.has_rows() {
            let text = "rows of each client are not declared: δ was not compared with one over their number";
            warnings.push(text.to_owned());
        }
        if !compared(Unit::Person) {
            let text = "persons of each client are not declared (declared_persons): δ was not compared with one over their number";
            warnings.push(text.to_owned());
        }
        if self.parameters.is_none() {
            let what = if self.sites.inputs.is_none() { "inputs are not declared" } else { "classes are not known" };
            warnings.push(format!("{what}: bytes are not known, and noise shares are sized for one"));
        }
        warnings
    }

    /// The plan in labelled lines; one without a label continues the line above, one without anything is empty.
    pub fn rows(&self) -> Vec<LabelledRow> {
        let mut rows = vec![row("study", self.study.name.clone()), row("clients", self.sites.words())];
        if let Some(parameters) = self.parameters {
            let s = if parameters == 1 { "" } else { "s" };
            rows.push(row("model", format!("{}: {parameters} parameter{s}", self.study.model.describe())));
        }
        for (at, (method, plan)) in self.plans.iter().enumerate() {
            rows.push(row("", ""));
            rows.push(row("method", method.name.clone()));
            rows.push(row("does", words::method(method)));
            let derived = self.derived(at).iter().enumerate();
            rows.extend(derived.map(|(k, of)| row(if k == 0 { "derived" } else { "" }, words::derived(of))));
            if let Some(promise) = &method.promise {
                rows.extend(cost(method, promise, &plan.clients));
                rows.extend(self.own_promises(method, promise, &plan.clients));
                rows.extend(self.parameters.and_then(|d| sensitivity(method, promise, d)));
                rows.extend(total(promise, plan.clients.len()));
                let event = plan.clients.first().map(|client| &client.event);
                let conditions = event.map_or_else(Vec::new, |event| method.algorithm.conditions(event));
                let labelled = conditions.into_iter().enumerate();
                rows.extend(labelled.map(|(k, of)| row(if k == 0 { "theorem" } else { "" }, of)));
            }
            rows.push(row("messages", self.messages(method, plan)));
            rows.extend(self.expected_of(at).iter().flat_map(|expected| expected.rows()));
        }
        if self.study.is_short() {
            rows.extend(self.remarks());
            return rows;
        }
        rows.push(row("", ""));
        rows.push(row("suggested", format!("algorithm = {:?}, {}", self.guidance.algorithm, self.guidance.settings)));
        let papers = &self.guidance.papers;
        let aggregator = if papers.aggregator { " with an aggregator" } else { "" };
        rows.push(row("literature", format!("{}{aggregator}, because {}", papers.solver, papers.why)));
        rows.push(row("", "(Heikkilä et al. 2022, section 5)"));
        rows.extend(self.remarks());
        rows
    }

    /// Notes and warnings.
    fn remarks(&self) -> impl Iterator<Item = LabelledRow> {
        let notes = self.notes.iter().map(|text| row("note", text.clone()));
        notes.chain(self.warnings().into_iter().map(|text| row("warning", text)))
    }

    /// What was derived for a method.
    pub(crate) fn derived(&self, method: usize) -> &[Derived] {
        self.study.derived.get(method).map_or(&[], Vec::as_slice)
    }

    /// What intervals a method may expect.
    fn expected_of(&self, method: usize) -> Option<&ExpectedIntervals> {
        self.expected.get(method).and_then(Option::as_ref)
    }

    /// Whether rows were counted for it.
    pub(crate) fn is_counted(&self) -> bool {
        self.sites.basis == Basis::Counted
    }

    /// The study with nothing left out.
    pub(crate) fn study(&self) -> &Study {
        &self.study
    }

    /// What each site promises for itself, and what rows at several sites add up to; nothing where all promise the same.
    fn own_promises(&self, method: &Method, promise: &Promise, clients: &[ClientPlan]) -> Vec<LabelledRow> {
        if method.sites.is_empty() {
            return Vec::new();
        }
        let own = |(m, client): (usize, &ClientPlan)| {
            let name = self.sites.name(m);
            let (clip, noise) = (shortest(client.shape.bound().get()), up(client.noise_multiplier()));
            let cost = format!("ε at most {} at δ {}", up(client.certified), shortest(client.delta.get()));
            (if m == 0 { "sites" } else { "" }, format!("{name}: {cost}, clip {clip}, noise multiplier {noise}"))
        };
        let mut lines: Vec<(&str, String)> = clients.iter().enumerate().take(MOST_SITES).map(own).collect();
        if let Some(more) = clients.len().checked_sub(MOST_SITES).filter(|more| *more > 0) {
            lines.push(("", format!("and {more} more")));
        }
        lines.extend(words::several_sites(&several(promise, clients)).into_iter().map(|line| ("", line)));
        lines.into_iter().map(|(label, line)| row(label, line)).collect()
    }

    /// How many messages clients send, and of how many bytes.
    fn messages(&self, method: &Method, plan: &MethodPlan) -> String {
        let most = if method.promise.is_some() { "at most " } else { "" };
        let whose = if self.sites.basis.has_clients() { "" } else { " of each client" };
        let up_to = if plan.clients.iter().any(|client| !client.openings.is_empty()) { "up to " } else { "" };
        let bytes = match method.promise.as_ref().map(|promise| promise.aggregator) {
            _ if self.parameters.is_none() => String::new(),
            Some(Aggregator::SecureSum(SecureSumSettings { nodes, .. })) => {
                let seeds = seed_bytes(nodes);
                let (all, others) = (plan.bytes_per_message, nodes.saturating_sub(1));
                format!(
                    " of {up_to}{all} bytes: {} of numbers to one node, {seeds} of seeds to {others} more",
                    all - seeds
                )
            }
            _ => format!(" of {up_to}{} bytes", plan.bytes_per_message),
        };
        format!("{most}{}{whose}{bytes}", plan.messages)
    }

    /// The plan as one object.
    pub fn json(&self) -> String {
        let methods = self.plans.iter().enumerate().map(|(at, (method, plan))| self.method(at, method, plan)).collect();
        let report = ForecastReport {
            study: &self.study.name,
            clients: self.sites.basis.has_clients().then_some(self.sites.rows.len()),
            rows: self.sites.basis.has_rows().then_some(&self.sites.rows),
            rows_are: self.sites.basis.name(),
            parameters: self.parameters,
            methods,
            guidance: &self.guidance,
            notes: &self.notes,
            warnings: self.warnings(),
        };
        format!("{}\n", serde_json::to_string(&report).unwrap_or_default())
    }

    fn method<'b>(&'b self, at: usize, method: &'b Method, plan: &MethodPlan) -> MethodReport<'b> {
        MethodReport {
            expected: self.expected_of(at),
            derived: self.derived(at).iter().map(words::derived_object).collect(),
            name: &method.name,
            algorithm: method.algorithm.descriptor().name,
            solver: method.algorithm.part(),
            schedule: words::schedule(method.schedule),
            rounds: plan.rounds,
            messages: plan.messages,
            bytes_per_message: self.parameters.map(|_| plan.bytes_per_message),
            privacy: method.promise.as_ref().map(|promise| PrivacyReport {
                unit: promise.unit,
                adjacency: promise.adjacency,
                epsilon: plan.clients.iter().map(|c| c.epsilon.get()).reduce(f64::max).unwrap_or(promise.epsilon.get()),
                aggregator: words::aggregator(promise.aggregator),
                secure_sum: words::secure_sum(promise.aggregator),
                accountant: words::accountant(promise.accountant),
                clients: plan.clients.iter().enumerate().map(|(m, client)| self.client(method, client, m)).collect(),
                several_sites: if method.sites.is_empty() { Vec::new() } else { several(promise, &plan.clients) },
            }),
        }
    }

    fn client(&self, method: &Method, plan: &ClientPlan, client: usize) -> ClientReport {
        let by_person = method.unit() == Unit::Person;
        let own = !method.sites.is_empty();
        ClientReport {
            site: own.then(|| self.sites.name(client)),
            epsilon_granted: own.then_some(plan.epsilon.get()),
            rows: self.sites.rows.get(client).copied().filter(|_| self.sites.basis.has_rows()),
            persons: Some(plan.among).filter(|_| by_person && self.sites.of(method).1.has_rows()),
            delta: plan.delta.get(),
            noise_multiplier: plan.noise_multiplier(),
            clip: plan.shape.bound().get(),
            rate: plan.event.sampling().rate(),
            releases_per_update: plan.event.steps().get(),
            updates: plan.updates,
            epsilon_certified: plan.certified,
            epsilon_claimed: plan.claimed,
            stages: plan.stages().iter().map(StageReport::from).collect(),
        }
    }
}

/// Most sites that a plan lists one by one.
const MOST_SITES: usize = 24;

/// What somebody with rows at several sites is promised.
fn several(promise: &Promise, clients: &[ClientPlan]) -> Vec<SeveralSites> {
    let promises: Vec<(f64, f64)> = clients.iter().map(|c| (c.epsilon.get(), c.delta.get())).collect();
    several_sites(&promises, promise.aggregator != Aggregator::None)
}

/// The noise in a sum that is opened, beside that of one curator.
fn total(promise: &Promise, clients: usize) -> Option<LabelledRow> {
    let Aggregator::SecureSum(sum) = promise.aggregator else { return None };
    let (times, whose) = match sum.noise {
        SecureNoise::Nodes => (f64::from(sum.nodes), format!("each of the {} nodes adds all of it", sum.nodes)),
        SecureNoise::Clients(_) => {
            let least =
                (clients as u64).saturating_sub(sum.colluders.saturating_add(sum.dropouts).saturating_add(1)).max(1);
            (clients as f64 / least as f64, format!("{least} of {clients} clients' shares would be enough"))
        }
    };
    Some(row("total", format!("noise standard deviation {} times that of a curator: {whose}", up(times.sqrt()))))
}

/// What a reader should know by the schema of all methods, each thing once.
pub(crate) fn notes(study: &Study, schema: &Schema) -> Vec<String> {
    if study.data.synthetic.is_some() {
        return Vec::new();
    }
    let mut notes: Vec<String> = Vec::new();
    for note in study.methods.iter().flat_map(|method| method.algorithm.notes(schema)) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// How far one unit moves each sum of sufficient statistics.
fn sensitivity(method: &Method, promise: &Promise, d: usize) -> Option<LabelledRow> {
    let of = method.algorithm.sensitivities(d, promise.adjacency);
    if of.is_empty() {
        return None;
    }
    let words: Vec<String> = of.iter().map(|(what, value)| format!("{} for {what}", up(*value))).collect();
    Some(row("sensitivity", words.join(", then ")))
}

/// The number that all share, as `shown`, or the largest with a word that says so.
fn largest<T>(clients: &[T], of: impl Fn(&T) -> f64, shown: fn(f64) -> String) -> String {
    let most = clients.iter().map(&of).fold(0.0, f64::max);
    let same = clients.iter().all(|client| of(client) == most);
    if same { shown(most) } else { format!("up to {}", up(most)) }
}

/// Noise and updates of one stage of every client's plan; `sums` says what the noise is on, by the largest bound.
fn stage_words(promise: &Promise, stages: &[PlannedStage], sums: impl Fn(&str) -> String) -> [String; 2] {
    let calibrated = if promise.noise == Noise::Calibrated { " (calibrated)" } else { "" };
    let multiplier = largest(stages, PlannedStage::noise_multiplier, up);
    let clip = largest(stages, |stage| stage.shape.bound().get(), shortest);
    let releases = stages.first().map_or(0, |stage| stage.event.steps().get());
    let each = if releases == 1 { "one release".to_owned() } else { format!("{releases} releases") };
    let drawn = match stages.first().map(|stage| *stage.event.sampling()) {
        None | Some(Sampling::None) => String::new(),
        Some(_) => {
            let units = if promise.unit == Unit::Person { "persons" } else { "rows" };
            format!(" on {} of the {units}", largest(stages, |stage| stage.event.sampling().rate(), shortest))
        }
    };
    let updates: Vec<u64> = stages.iter().map(|stage| stage.updates).collect();
    [
        format!("multiplier {multiplier}{calibrated} on {}", sums(&clip)),
        format!("{} per client, {each} per update{drawn}", span(&updates)),
    ]
}

/// The kinds of openings, those that follow each other and have the same words together.
fn openings(method: &Method, promise: &Promise, clients: &[ClientPlan]) -> Vec<(String, Range<usize>)> {
    let count = clients.first().map_or(0, |client| client.openings.len());
    let mut kinds: Vec<(String, Range<usize>)> = Vec::new();
    for k in 0..count {
        let words = method.algorithm.opening_words(k, promise);
        match kinds.last_mut() {
            Some((last, range)) if *last == words => range.end = k + 1,
            _ => kinds.push((words, k..k + 1)),
        }
    }
    kinds
}

/// Noise, updates and cost of the clients; of a method with openings, those first.
fn cost(method: &Method, promise: &Promise, clients: &[ClientPlan]) -> Vec<LabelledRow> {
    let stages: Vec<PlannedStage> = clients.iter().filter_map(|client| client.stages().pop()).collect();
    let most = |of: fn(&ClientPlan) -> f64| up(clients.iter().map(of).fold(0.0, f64::max));
    let certified = format!("ε at most {}, certified", most(|client| client.certified));
    let claimed = match promise.accountant {
        Claim::Certified => String::new(),
        Claim::Moments => format!("; at most {} by moments", most(|client| client.claimed)),
    };
    let delta = largest(clients, |client| client.delta.get(), shortest);
    let bounds = method.algorithm.bounded(promise);
    let mut rows = vec![row("promise", words::promise(promise))];
    let mut opened = 0;
    for (words, kinds) in openings(method, promise, clients) {
        let of_kinds = |client: &ClientPlan| client.openings.get(kinds.clone()).unwrap_or_default().to_vec();
        let stages: Vec<PlannedStage> = clients.iter().flat_map(of_kinds).collect();
        let [noise, mut updates] = stage_words(promise, &stages, |clip| words.replace("{}", clip));
        if kinds.len() > 1 {
            updates = format!("{} updates per client, one after the other", kinds.len());
        }
        rows.extend([row(if opened == 0 { "opening" } else { "then" }, noise), row("", updates)]);
        opened += kinds.len();
    }
    let [noise, updates] = stage_words(promise, &stages, |clip| bounds.sums.replace("{}", clip));
    let label = if opened == 0 { "noise" } else { "then" };
    let next = if opened == 0 { "updates" } else { "" };
    rows.extend([row(label, noise), row(next, updates), row("cost", format!("{certified}{claimed}; δ {delta}"))]);
    rows
}
