//! What a study would run, in plain words, with what its reader should know.

use super::columns::{self, Columns};
use super::forecast::{Forecast, coded, loose_delta, notes, private_rows};
use super::meant::Study;
use super::own_table;
use super::sites::{Sites, UNDECLARED};
use super::warnings;
use super::words::{self, LabelledRow, row};
use crate::datasets;
use crate::error::StudyError;
use crate::load::Folders;
use inference::settings::DeltaRule;
use inference::warning::public::{clip_out_of_scale, large_epsilon};
use inference::{ConvertedPrior, Method};
use privacy::Unit;
use serde_json::json;

/// What a study would run: its data as header and schema say, its methods, and what its reader should know.
pub struct Check {
    study: Study,
    parts: Vec<Part>,
    notes: Vec<String>,
    warnings: Vec<String>,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Check")
            .field("study", &self.study.name)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

impl Check {
    /// Reads header and schema of a study's data. Where a table of one's own is there, its cells are compared with the schema.
    pub(crate) fn of(study: &Study, folders: &Folders) -> Result<Self, StudyError> {
        let of = |part| Part::of(part, folders);
        let parts: Vec<Part> = study.by_data().into_iter().map(of).collect::<Result<_, _>>()?;
        let warnings = once(parts.iter().flat_map(Part::warnings));
        let notes = once(parts.iter().flat_map(|part| notes(&part.study, &part.columns.schema)));
        Ok(Self { study: study.clone(), parts, notes, warnings })
    }

    /// In labelled lines; one without a label continues the line above.
    pub fn rows(&self) -> Vec<LabelledRow> {
        let Self { study, parts, notes, warnings } = self;
        let mut rows = vec![row("study", format!("{} is sound", study.name))];
        for part in parts {
            if parts.len() > 1 {
                rows.push(row("column", part.study.name.clone()));
            }
            rows.push(row("data", words::data(&part.study)));
            let read = match (part.counted, part.examined) {
                (true, _) => "every cell fits the schema, and rows were counted",
                (false, true) => "every cell fits the schema",
                (false, false) => "no row was read",
            };
            rows.push(row("columns", format!("{}; {read}", part.columns.words(study.model.intercept))));
            if part.study.simulated {
                rows.push(row("clients", words::partition(&part.study.partition)));
            }
        }
        rows.extend(study.served.iter().map(|served| row("federation", served.words())));
        rows.push(row("model", study.model.describe()));
        rows.extend(self.priors().into_iter().map(|words| row("prior", words)));
        rows.push(row("seeds", study.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")));
        let settled = settled(study, parts);
        for (at, method) in settled.methods.iter().enumerate() {
            rows.push(row("method", method.name.clone()));
            rows.extend(described(method).into_iter().map(|text| row("", text)));
            let derived = settled.derived.get(at).into_iter().flatten();
            rows.extend(derived.map(|of| row("", words::derived(of))));
        }
        if study.simulated {
            rows.push(row("always", always(study)));
        }
        rows.extend(notes.iter().map(|text| row("note", text.clone())));
        rows.extend(warnings.iter().map(|text| row("warning", text.clone())));
        rows
    }

    /// Stated priors of single coefficients, as stated and as encoded; once, where data sets share a schema.
    fn priors(&self) -> Vec<String> {
        let of = |part: &Part| {
            let intercept = columns::has_intercept(&part.study);
            let told = part.study.model.converted_priors(&part.columns.schema, intercept).unwrap_or_default();
            told.iter().map(ConvertedPrior::words).collect::<Vec<_>>()
        };
        once(self.parts.iter().flat_map(of))
    }

    /// As one object.
    pub fn json(&self) -> serde_json::Value {
        object(&self.study, &self.parts, &self.notes, &self.warnings)
    }
}

/// The study with what its methods leave out, where one data set and one partition say it.
fn settled<'a>(study: &'a Study, parts: &'a [Part]) -> &'a Study {
    match parts {
        [one] => one.settled.as_ref().unwrap_or(study),
        _ => study,
    }
}

/// What is run beside the methods.
fn always(study: &Study) -> &'static str {
    if study.baselines {
        "for comparison: a constant answer, local only (each client by itself), non-private"
    } else {
        "for comparison: a constant answer; local only and non-private are left out (baselines = false)"
    }
}

/// All of them in order, each once.
fn once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// A study of one data set, with what its header and schema say.
struct Part {
    study: Study,
    columns: Columns,
    /// What the plan warns of, or what can be said without one.
    coded: Vec<String>,
    /// The study with what its methods leave out; none of several partitions, and where rows are not declared.
    settled: Option<Study>,
    /// Whether the rows of its table were counted.
    counted: bool,
    /// Whether the cells of its table were compared with the schema.
    examined: bool,
    /// Whether its rows are here.
    fetched: bool,
}

impl Part {
    fn of(study: Study, folders: &Folders) -> Result<Self, StudyError> {
        let columns = Columns::of(&study, folders)?;
        let examined = own_table::check(&study, &columns.schema, folders)?;
        let each = study.by_column();
        let planned: Vec<Plannable> =
            each.iter().map(|column| plannable(column, folders, &columns)).collect::<Result<_, _>>()?;
        let coded = planned.iter().flat_map(|planned| planned.coded.clone()).collect();
        let counted = planned.iter().any(|planned| planned.counted);
        let settled = planned.into_iter().next().and_then(|planned| planned.settled).filter(|_| each.len() == 1);
        let fetched = datasets::find(&study.data.source).is_none_or(|set| datasets::is_here(set, folders));
        if examined && !counted && study.simulated {
            each.iter().try_for_each(|column| own_table::deal(column, folders).map(drop))?;
        }
        Ok(Self { study, columns, coded, settled, counted, examined, fetched })
    }

    fn warnings(&self) -> Vec<String> {
        let sites = Sites::declared(&self.study, Some(&self.columns.schema)).ok();
        let sites = sites.filter(|sites| sites.basis.has_rows());
        let of = |method| private_rows(method).into_iter().chain(too_large(sites.as_ref(), method));
        let of_methods = self.study.methods.iter().flat_map(of);
        columns::not_here(&self.study)
            .filter(|_| !self.fetched)
            .into_iter()
            .chain(self.coded.iter().cloned())
            .chain(of_methods)
            .chain(columns::outside_bounds(&self.columns.schema))
            .collect()
    }

    fn object(&self) -> serde_json::Value {
        let inputs = self.columns.schema.inputs(self.study.model.intercept);
        json!({
            "study": self.study.name, "source": self.study.data.source, "columns": self.columns.header,
            "inputs": inputs,
        })
    }
}

/// What a plan says of a study, as far as there is one.
struct Plannable {
    coded: Vec<String>,
    /// The study with what its methods leave out.
    settled: Option<Study>,
    /// Whether rows were counted for it.
    counted: bool,
}

/// Refuses what a plan would refuse, where rows and clients are known or declared; what the plan warns of, and what it derives.
/// Without declared rows, what ε and clip alone warn of.
fn plannable(study: &Study, folders: &Folders, columns: &Columns) -> Result<Plannable, StudyError> {
    match Forecast::of(study, folders) {
        Ok(forecast) => Ok(Plannable {
            coded: forecast.coded().into_iter().chain(forecast.loose()).collect(),
            counted: forecast.is_counted(),
            settled: Some(forecast.study().clone()),
        }),
        Err(failure) if failure.code() != UNDECLARED => Err(failure),
        Err(_) => {
            let typical = warnings::typical_gradient(study, &columns.schema);
            let of = |method: &Method| {
                let clip = typical.and_then(|typical| clip_out_of_scale(method, typical));
                let all = large_epsilon(method).into_iter().chain(clip);
                all.map(|warning| coded(&method.name, &warning)).collect::<Vec<_>>()
            };
            let coded = study.methods.iter().flat_map(of).collect();
            Ok(Plannable { coded, settled: None, counted: false })
        }
    }
}

/// A method in a few lines.
fn described(method: &Method) -> Vec<String> {
    let mut lines = vec![words::method(method), method.algorithm.describe().local];
    lines.extend(method.algorithm.describe().readout);
    match &method.promise {
        None => lines.push("no privacy, for comparison only".to_owned()),
        Some(promise) => lines.extend([words::promised(method, promise), words::noise(method, promise)]),
    }
    lines
}

fn object(study: &Study, parts: &[Part], notes: &[String], warnings: &[String]) -> serde_json::Value {
    let settled = settled(study, parts);
    let methods: Vec<_> = settled
        .methods
        .iter()
        .enumerate()
        .map(|(at, m)| {
            let derived = settled.derived.get(at).into_iter().flatten().map(words::derived_object);
            json!({
                "name": m.name,
                "algorithm": m.algorithm.descriptor().name,
                "solver": m.algorithm.part(),
                "schedule": words::schedule(m.schedule),
                "private": m.promise.is_some(),
                "words": described(m),
                "derived": derived.collect::<Vec<_>>(),
            })
        })
        .collect();
    let mut object = json!({
        "study": study.name, "seeds": study.seeds, "methods": methods, "notes": notes, "warnings": warnings,
    });
    if let Some(served) = &study.served {
        object["federation"] = served.object();
    }
    match parts {
        [one] => {
            object["columns"] = one.columns.header.into();
            object["inputs"] = one.columns.schema.inputs(study.model.intercept).into();
        }
        several => object["data"] = several.iter().map(Part::object).collect(),
    }
    object
}

/// A δ that is too large for the rows that are known or declared to be there.
fn too_large(sites: Option<&Sites>, method: &Method) -> Option<String> {
    let (sites, promise) = (sites?, method.promise.as_ref()?);
    let DeltaRule::Fixed(delta) = promise.delta else { return None };
    let (numbers, basis) = sites.of(method);
    let among = match promise.unit {
        Unit::Example | Unit::Person => {
            numbers.iter().copied().filter(|&rows| delta.get() * rows as f64 >= 1.0).min()?
        }
        Unit::Client => numbers.len() as u64,
    };
    loose_delta(&method.name, promise.unit, delta.get(), among, basis)
}
