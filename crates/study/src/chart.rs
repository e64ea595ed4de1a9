//! `[[figure]]` of a kind other than lines: a score over a grid of columns, and single runs of a conjugate model with one parameter.

use super::fault::{Fault, StudyText};
use super::figure::{FigureAsTyped, FigureKind, FigureScore, column};
use super::synthetic::LINEAR;
use super::typed::StudyAsTyped;
use super::unroll::Named;
use inference::OneParameter;
use inference::results::{ChainResult, Curve, Results};
use serde::Deserialize;

/// One of `cells`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeatCellAsTyped {
    at: f64,
    up: f64,
    column: String,
}

/// A number of a single run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Precision of q: its first natural parameter.
    Precision,
    /// Precision of q times its mean: its second natural parameter.
    PrecisionMean,
    /// KL(q ‖ exact posterior).
    Kl,
    /// Certified ε spent so far.
    Epsilon,
    /// Precision of q over that of the exact posterior.
    PrecisionRatio,
}

/// A figure that is not one of lines.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// A score over a grid of columns.
    HeatMap(HeatChart),
    /// A number of single runs along their rounds.
    Rounds(RunChart),
    /// Densities of single runs, beside the exact posterior's.
    Posteriors(RunChart),
    /// A number of every run against the parameter that its rows were drawn with.
    Seeds(RunChart),
    /// Draws of chains.
    Draws(DrawsChart),
}

/// Whose draws are shown: their first two parameters against one another, a panel for each method.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawsChart {
    /// The first parameter.
    pub along: String,
    /// The second one.
    pub up: String,
    /// In the order of the panels.
    pub methods: Vec<String>,
    /// Their column.
    pub column: String,
}

/// What a heat map shows.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatChart {
    /// What is on its horizontal axis.
    pub along: String,
    /// What is on its vertical axis.
    pub up: String,
    /// What the colours are.
    pub score: FigureScore,
    /// Of this method,
    pub method: String,
    /// less that of this one.
    pub minus: Option<String>,
    /// Where each column lies: along, up, its name.
    pub cells: Vec<(f64, f64, String)>,
}

/// Which runs are drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct RunChart {
    /// What is on its horizontal axis.
    pub along: String,
    /// What is drawn; of a density its precision.
    pub quantity: Quantity,
    /// In the order of the legend.
    pub methods: Vec<String>,
    /// Their column.
    pub column: String,
    /// A panel for each; empty for all in one.
    pub seeds: Vec<u64>,
    /// The spent ε at which an upright line is drawn.
    pub epsilon: Option<f64>,
}

/// The runs of one method in one column: of a conjugate model with one parameter, or the draws of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Traced {
    /// The method.
    pub method: String,
    /// The column of the table whose runs are drawn.
    pub column: String,
    /// One for each seed.
    pub curves: Vec<Curve>,
    /// One for each seed: the mean divergence of the last rounds.
    pub kl: Vec<f64>,
    /// One for each seed; none of other models.
    pub parameter: Vec<OneParameter>,
    /// Draws of the first seed, evenly thinned: the first two parameters.
    pub draws: Vec<(f64, f64)>,
}

/// What charts of single runs are drawn from; nothing of methods without draws whose model has more than one parameter.
pub fn traced(column: &str, results: &Results) -> Vec<Traced> {
    let known = results.methods.iter().filter(|method| !method.parameter.is_empty() || method.chain.is_some());
    known
        .map(|method| Traced {
            method: method.name.clone(),
            column: column.to_owned(),
            curves: method.curves.clone(),
            kl: method.kl.as_ref().map(|kl| kl.per_seed.clone()).unwrap_or_default(),
            parameter: method.parameter.clone(),
            draws: method.chain.as_ref().map(pairs_of_draws).unwrap_or_default(),
        })
        .collect()
}

/// The first two parameters of the draws that results keep.
fn pairs_of_draws(chain: &ChainResult) -> Vec<(f64, f64)> {
    let [first, second, ..] = chain.courses.as_slice() else { return Vec::new() };
    let chains = first.traces.iter().zip(&second.traces);
    chains.flat_map(|(first, second)| first.iter().copied().zip(second.iter().copied())).collect()
}

/// The charts of a study, each of cells or runs that it will have.
pub(super) fn all(typed: &StudyAsTyped, names: &[Named], source: &StudyText<'_>) -> Result<Vec<Chart>, Fault> {
    let charts = typed.figures.iter().enumerate().filter(|(_, figure)| figure.kind != FigureKind::Lines);
    charts.map(|(at, figure)| one(figure, (typed, names), (&format!("figure.{at}"), source))).collect()
}

fn one(
    figure: &FigureAsTyped,
    (typed, names): (&StudyAsTyped, &[Named]),
    (path, source): (&str, &StudyText<'_>),
) -> Result<Chart, Fault> {
    if let Some(key) = figure.stray() {
        let message = format!("{key} does not belong to this kind of figure");
        return Err(source.fault(&format!("{path}.{key}"), "S011", message, "leave it out"));
    }
    let made = match figure.kind {
        FigureKind::Lines | FigureKind::HeatMap => heat_map(figure, typed, names).map(Chart::HeatMap),
        FigureKind::Rounds => runs(figure, typed, names).and_then(along_rounds).map(Chart::Rounds),
        FigureKind::Posteriors => runs(figure, typed, names).and_then(of_seeds).map(Chart::Posteriors),
        FigureKind::Seeds => runs(figure, typed, names).and_then(over_seeds).map(Chart::Seeds),
        FigureKind::Draws => draws(figure, typed, names).map(Chart::Draws),
    };
    made.map_err(|(message, hint)| source.fault(path, "S004", message, hint))
}

/// What is wrong, and a hint.
type Wrong = (String, &'static str);

const HEAT: &str = "up = \"κ\", method = \"pvi\", cells = [{ at = 0.0, up = 0.5, column = \"A\" }]";
const RUNS: &str = "methods = [\"C = 5\"], quantity = \"precision\", seeds = [1]; a study of several columns names one";
const DRAWS: &str = "along = \"θ₁\", up = \"θ₂\", methods = [\"DP Barker\"]; a study of several columns names one";
const MADE: &str = "single runs are drawn of source = \"synthetic-linear\" with one input";

fn heat_map(figure: &FigureAsTyped, typed: &StudyAsTyped, names: &[Named]) -> Result<HeatChart, Wrong> {
    let wrong = |message: &str| (message.to_owned(), HEAT);
    let (Some(up), Some(method)) = (figure.up.clone(), figure.method.clone()) else {
        return Err(wrong("a heat map has `up` and `method`"));
    };
    for name in [Some(&method), figure.minus.as_ref()].into_iter().flatten() {
        known(name, names).map_err(|message| (message, HEAT))?;
    }
    let cell = |cell: &HeatCellAsTyped| {
        let named = column(Some(&cell.column), typed).map_err(|message| (message, HEAT))?;
        let finite = cell.at.is_finite() && cell.up.is_finite();
        finite.then_some((cell.at, cell.up, named)).ok_or_else(|| wrong("a place of a cell is not finite"))
    };
    let cells = figure.cells.iter().map(cell).collect::<Result<Vec<_>, Wrong>>()?;
    let twice = |at: usize| cells[..at].iter().any(|cell| (cell.0, cell.1) == (cells[at].0, cells[at].1));
    match (cells.is_empty(), (0..cells.len()).any(twice)) {
        (true, _) => Err(wrong("a heat map without cells")),
        (_, true) => Err(wrong("two cells lie at one place")),
        _ => Ok(HeatChart {
            along: figure.along.clone(),
            up,
            score: figure.score.unwrap_or_default(),
            method,
            minus: figure.minus.clone(),
            cells,
        }),
    }
}

/// The runs that a figure names: methods and seeds that the study has, of made-up rows with one input.
fn runs(figure: &FigureAsTyped, typed: &StudyAsTyped, names: &[Named]) -> Result<RunChart, Wrong> {
    let single = typed.data.synthetic.as_ref().is_some_and(|law| law.has_one_linear_input());
    if typed.data.source != LINEAR || !single {
        return Err((format!("the rows are of source = {:?}, or have several inputs", typed.data.source), MADE));
    }
    if figure.methods.is_empty() {
        return Err(("a figure of runs without methods".into(), RUNS));
    }
    figure.methods.iter().try_for_each(|name| known(name, names)).map_err(|message| (message, RUNS))?;
    if let Some(seed) = figure.seeds.iter().find(|seed| !typed.study.seeds.contains(seed)) {
        return Err((format!("seed {seed} is not one of the study's"), RUNS));
    }
    let column = column(figure.column.as_ref(), typed).map_err(|message| (message, RUNS))?;
    Ok(RunChart {
        along: figure.along.clone(),
        quantity: figure.quantity.unwrap_or(Quantity::Precision),
        methods: figure.methods.clone(),
        column,
        seeds: figure.seeds.clone(),
        epsilon: figure.epsilon,
    })
}

/// The draws that a figure names: of methods of the study, which may turn out to draw nothing.
fn draws(figure: &FigureAsTyped, typed: &StudyAsTyped, names: &[Named]) -> Result<DrawsChart, Wrong> {
    let wrong = |message: String| (message, DRAWS);
    let up = figure.up.clone().ok_or_else(|| wrong("draws have `up`, the second parameter".into()))?;
    if figure.methods.is_empty() {
        return Err(wrong("a figure of draws without methods".into()));
    }
    figure.methods.iter().try_for_each(|name| known(name, names)).map_err(wrong)?;
    let column = column(figure.column.as_ref(), typed).map_err(wrong)?;
    Ok(DrawsChart { along: figure.along.clone(), up, methods: figure.methods.clone(), column })
}

fn known(name: &str, names: &[Named]) -> Result<(), String> {
    let there = names.iter().any(|named| named.name == name);
    there.then_some(()).ok_or_else(|| format!("there is no method {name:?}"))
}

fn along_rounds(chart: RunChart) -> Result<RunChart, Wrong> {
    match chart.quantity {
        Quantity::PrecisionRatio => Err(("a ratio is drawn of every seed, not along rounds".into(), RUNS)),
        _ => of_seeds(chart),
    }
}

fn of_seeds(chart: RunChart) -> Result<RunChart, Wrong> {
    if chart.seeds.is_empty() { Err(("seeds is empty: which runs are drawn".into(), RUNS)) } else { Ok(chart) }
}

fn over_seeds(chart: RunChart) -> Result<RunChart, Wrong> {
    let hint = "quantity = \"precision-ratio\", or \"kl\"";
    match chart.quantity {
        Quantity::Kl | Quantity::PrecisionRatio => Ok(chart),
        _ => Err(("of every seed the ratio of precisions or the divergence is drawn".into(), hint)),
    }
}
