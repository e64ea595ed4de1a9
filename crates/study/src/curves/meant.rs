//! Figures of accounting as meant: places along the axis, and for each line and place a checked plan.

use super::formula::{Formula, Unfit};
use super::grid;
use super::typed::{
    AccountingFigureAsTyped, AccountingLineAsTyped, Along, CurvesAsTyped, GridAsTyped, RangeAsTyped, ValuesAsTyped,
};
use crate::account::{MechanismAsTyped, Plan, PlanAsTyped, accountant_names};
use crate::digits::shortest;
use crate::error::StudyError;
use crate::{Fault, StudyText, check_name, check_version};
use inference::nearest;
use privacy::{Delta, Epsilon};
use std::path::Path;

/// What a line consists of.
const ONE: &str =
    "plan = { mechanism = \"gaussian\", … } with an accountant; or formula = { name = \"collusion-factor\", … }";

/// Most places of a grid: FFTs of finite laws grow with them.
const MOST_DOTS: usize = 5000;

/// Most places of a figure.
const MOST: usize = 1000;

/// A file of figures.
#[derive(Debug)]
pub struct Curves {
    pub(super) name: String,
    pub(super) figures: Vec<AccountingFigure>,
}

/// One figure.
#[derive(Debug)]
pub(super) struct AccountingFigure {
    pub(super) title: String,
    pub(super) along: Along,
    pub(super) places: Vec<f64>,
    pub(super) lines: Vec<AccountingLine>,
}

/// One line.
#[derive(Debug)]
pub(super) struct AccountingLine {
    pub(super) name: String,
    pub(super) source: LineSource,
    /// `file:line:column`, for what the accountant refuses.
    pub(super) place: String,
}

/// Where a line's numbers come from.
#[derive(Debug)]
pub(super) enum LineSource {
    /// At every place a plan and a question, and who answers.
    Accounted {
        /// The method of accounting.
        accountant: String,
        /// One for each place.
        points: Vec<AccountingPoint>,
    },
    /// A formula at the places of the figure.
    Formula(Formula),
}

/// A plan, and what is asked of it.
#[derive(Debug)]
pub(super) struct AccountingPoint {
    pub(super) plan: Plan,
    pub(super) asked: CurveQuestion,
}

/// What is asked of an accountant.
#[derive(Debug, Clone, Copy)]
pub(super) enum CurveQuestion {
    /// δ at this ε.
    DeltaAt(Epsilon),
    /// ε at this δ.
    EpsilonAt(Delta),
}

impl Curves {
    /// Reads and checks a file.
    pub fn open(path: &Path) -> Result<Self, StudyError> {
        let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
        Self::read(path.display().to_string(), &text)
    }

    /// Its name, which becomes a directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks a text; `file` is its name in errors.
    pub fn read(file: String, text: &str) -> Result<Self, StudyError> {
        let source = StudyText::new(file, text);
        check_version(&source)?;
        let typed: CurvesAsTyped = toml::from_str(text).map_err(|error| source.unreadable(&error))?;
        check_name(&typed.study.name, &source)?;
        let figures = typed.curves.iter().enumerate().map(|(at, figure)| of_figure(figure, at, &source));
        Ok(Self { name: typed.study.name.clone(), figures: figures.collect::<Result<_, _>>()? })
    }
}

fn of_figure(
    typed: &AccountingFigureAsTyped,
    at: usize,
    source: &StudyText<'_>,
) -> Result<AccountingFigure, StudyError> {
    let key = |rest: &str| format!("curves.{at}.{rest}");
    let places = places(typed, &key("values"), source)?;
    let own = matches!(typed.along, Along::Epsilon | Along::Delta) || typed.along.is_of_formulas();
    let delta = match (typed.delta, own) {
        (None, true) => None,
        (Some(delta), false) => Some(Delta::new(delta).map_err(StudyError::from)?),
        (Some(_), true) => {
            let message = format!("delta has no meaning where {} is along the axis", typed.along.words());
            return Err(source.fault(&key("delta"), "S011", message, "leave it out").into());
        }
        (None, false) => {
            let message = format!("delta is missing: ε by {} is that at one δ", typed.along.words());
            return Err(source.fault(&key("along"), "S011", message, "delta = 1e-6, for example").into());
        }
    };
    let names: Vec<&str> = typed.lines.iter().map(|line| line.name.as_str()).collect();
    if let Some(twice) = (1..names.len()).find(|&index| names[..index].contains(&names[index])) {
        let message = format!("two lines are named {:?}", names[twice]);
        let hint = "lines are told apart by their names";
        return Err(source.fault(&key(&format!("line.{twice}.name")), "S005", message, hint).into());
    }
    let lines = typed
        .lines
        .iter()
        .enumerate()
        .map(|(index, line)| of_line(line, typed.along, &places, delta, (&key(&format!("line.{index}")), source)));
    let lines = lines.collect::<Result<Vec<_>, _>>()?;
    let first = lines.first().map(|line| line.upwards(typed.along));
    if let Some(at) = lines.iter().position(|line| Some(line.upwards(typed.along)) != first) {
        let message = format!("{:?} and {:?} do not draw the same number", lines[0].name, lines[at].name);
        let hint = "plans and formulas of one figure have one vertical axis; draw another figure";
        return Err(source.fault(&key(&format!("line.{at}")), "S011", message, hint).into());
    }
    Ok(AccountingFigure { title: typed.title.clone(), along: typed.along, places, lines })
}

/// The places of a figure, in order.
fn places(typed: &AccountingFigureAsTyped, key: &str, source: &StudyText<'_>) -> Result<Vec<f64>, Fault> {
    let wrong = |message: String, hint: &str| Err(source.fault(key, "S004", message, hint));
    let places = match &typed.values {
        ValuesAsTyped::List(list) => list.clone(),
        ValuesAsTyped::Range(RangeAsTyped { from, to, points }) if (2..=MOST).contains(points) => {
            let by_powers = typed.along == Along::Delta;
            let at = |index: usize| {
                let share = index as f64 / (points - 1) as f64;
                if by_powers { from.powf(1.0 - share) * to.powf(share) } else { from * (1.0 - share) + to * share }
            };
            (0..*points).map(at).collect()
        }
        ValuesAsTyped::Range(RangeAsTyped { points, .. }) => {
            return wrong(format!("points is {points}, expected 2 to {MOST}"), "points = 20, for example");
        }
    };
    let rising = places.windows(2).all(|two| two[0] < two[1]) && places.iter().all(|place| place.is_finite());
    if !rising || places.is_empty() || places.len() > MOST {
        let message = format!("values are {}, expected up to {MOST} numbers that rise", shown(&places));
        return wrong(message, "values = [1, 2, 4], or values = { from = 0.1, to = 2, points = 20 }");
    }
    Ok(places)
}

/// The first few numbers of a list.
fn shown(list: &[f64]) -> String {
    let first: Vec<String> = list.iter().take(4).map(|value| shortest(*value)).collect();
    let more = if list.len() > 4 { ", …" } else { "" };
    format!("[{}{more}]", first.join(", "))
}

fn of_line(
    typed: &AccountingLineAsTyped,
    along: Along,
    places: &[f64],
    delta: Option<Delta>,
    (key, source): (&str, &StudyText<'_>),
) -> Result<AccountingLine, StudyError> {
    let fault =
        |part: &str, code, message: String, hint: &str| source.fault(&format!("{key}{part}"), code, message, hint);
    let name = typed.name.clone();
    let plan = match (&typed.plan, &typed.formula) {
        (Some(plan), None) => plan,
        (None, Some(formula)) if typed.accountant.is_none() && typed.grid.is_none() => {
            let unfit = |Unfit(message, hint)| fault(".formula", "S011", message, hint);
            let place = source.at(&format!("{key}.formula"));
            return Ok(AccountingLine {
                name,
                source: LineSource::Formula(Formula::of(formula, along).map_err(unfit)?),
                place,
            });
        }
        (None, None) => return Err(fault("", "S011", format!("{name:?} has neither a plan nor a formula"), ONE).into()),
        _ => return Err(fault(".formula", "S011", format!("{name:?} has a formula and more than that"), ONE).into()),
    };
    let accountant = typed.accountant.clone().unwrap_or_else(|| "pld".into());
    let names = accountant_names();
    if !names.contains(&accountant.as_str()) {
        let hint = match nearest(&accountant, names.iter().copied()) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("one of {}", names.join(", ")),
        };
        return Err(fault(".accountant", "S002", format!("there is no accountant {accountant:?}"), &hint).into());
    }
    if along.is_of_formulas() {
        let message = format!("a plan has no {}", along.words());
        return Err(fault(".plan", "S011", message, "a formula may: name = \"collusion-factor\"").into());
    }
    if let Some((number, Some(_))) = along.key(&mut plan.clone()) {
        let message = format!("{number} is along the axis, and stands in the plan of {name:?}, too");
        return Err(fault(&format!(".plan.{number}"), "S011", message, "leave it out of the plan").into());
    }
    let grid = typed.grid.as_ref();
    if grid.is_some_and(|grid| !(grid.reach > 0.0 && grid.reach <= 50.0 && (2..=MOST_DOTS).contains(&grid.points))) {
        let message = format!("a grid needs a reach up to 50 and 2 to {MOST_DOTS} points");
        return Err(fault(".grid", "S004", message, "grid = { reach = 0.25, points = 200 }").into());
    }
    let place = source.at(&format!("{key}.plan"));
    let refused = |error| StudyError::Line { place: place.clone(), name: name.clone(), error: Box::new(error) };
    let point = |&at: &f64| {
        let asked = match (along, delta) {
            (Along::Epsilon, _) => CurveQuestion::DeltaAt(Epsilon::new(at)?),
            (_, Some(delta)) => CurveQuestion::EpsilonAt(delta),
            (_, None) => CurveQuestion::EpsilonAt(Delta::new(at)?),
        };
        let mut mechanism = plan.clone();
        if let Some((_, number)) = along.key(&mut mechanism) {
            *number = Some(along.number(at, plan)?);
        }
        Ok(AccountingPoint { plan: planned(mechanism, grid)?, asked })
    };
    let points = places.iter().map(|at| point(at).map_err(refused)).collect::<Result<_, _>>()?;
    Ok(AccountingLine { name, source: LineSource::Accounted { accountant, points }, place })
}

impl AccountingLine {
    /// Label of the vertical axis, given what is along the horizontal one.
    pub(super) fn upwards(&self, along: Along) -> &'static str {
        match (&self.source, along) {
            (LineSource::Formula(formula), _) => formula.upwards(),
            (_, Along::Epsilon) => "δ",
            _ => "ε",
        }
    }
}

/// The plan of one mechanism, or of the pair that a grid makes of it.
fn planned(mechanism: MechanismAsTyped, grid: Option<&GridAsTyped>) -> Result<Plan, StudyError> {
    let plan = Plan::of(&PlanAsTyped { mechanisms: vec![mechanism], overlap: None, group: None })?;
    let Some(grid) = grid else { return Ok(plan) };
    Plan::new(plan.events.iter().map(|event| grid::on_grid(event, grid)).collect::<Result<_, _>>()?)
}
