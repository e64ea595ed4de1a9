//! Privacy profiles: δ as a function of ε, by one or several accountants, as CSV, SVG or JSON.

use crate::account::Costs;
use crate::arguments::Profile;
use crate::failure::Failure;
use crate::mechanism::{cut, number};
use crate::plan::Plan;
use federation::digits::shortest;
use federation::svg::{Axis, Mark, Plot, Scale, Series};
use privacy::{Bounds, Epsilon, PrivacyError};
use std::path::PathBuf;

/// Most points of a profile.
const MOST: usize = 10_000;

/// δ by several accountants at every ε.
struct Curves {
    plan: Plan,
    epsilons: Vec<Epsilon>,
    columns: Vec<Column>,
}

/// δ by one accountant at every ε; nothing where it cannot be certified.
struct Column {
    accountant: String,
    /// Lower bounds are proved, whatever the range of ε.
    two_sided: bool,
    delta: Vec<Option<Bounds>>,
}

impl Column {
    /// One end of all bounds.
    fn ends(&self, end: fn(&Bounds) -> f64) -> impl Iterator<Item = Option<f64>> {
        self.delta.iter().map(move |delta| delta.as_ref().map(end))
    }
}

/// Computes the profile and writes what was asked for; what goes to standard output is returned.
pub(crate) fn run(asked: &Profile, json: bool) -> Result<String, Failure> {
    distinct(&asked.accountant)?;
    let (epsilons, plan) = (epsilons(&asked.epsilons)?, Plan::of(&asked.plan)?);
    let columns = asked.accountant.iter().map(|name| column(name, &plan, &epsilons)).collect::<Result<_, _>>()?;
    let curves = Curves { plan, epsilons, columns };
    let standard = PathBuf::from("-");
    let csv = asked.csv.as_ref().or((asked.svg.is_none() && !json).then_some(&standard));
    let mut out = if json { curves.json() } else { String::new() };
    for (path, render) in [(csv, Curves::csv as fn(&Curves) -> String), (asked.svg.as_ref(), Curves::svg)] {
        match path {
            None => {}
            Some(path) if path != &standard => {
                std::fs::write(path, render(&curves)).map_err(|source| Failure::file("cannot write", path, source))?
            }
            Some(_) if out.is_empty() => out = render(&curves),
            Some(_) => {
                return Err(Failure::usage("only one of CSV, SVG and JSON fits on standard output", "name a file"));
            }
        }
    }
    Ok(out)
}

/// Two curves of one accountant would be one.
fn distinct(names: &[String]) -> Result<(), Failure> {
    match names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
        Some((_, name)) => Err(Failure::usage(format!("--accountant names {name} twice"), "name each accountant once")),
        None => Ok(()),
    }
}

/// MIN:MAX:COUNT as that many values, evenly spaced.
fn epsilons(text: &str) -> Result<Vec<Epsilon>, Failure> {
    let hint = "write MIN:MAX:COUNT with COUNT from 2 to 10000, such as 0:4:81";
    let bad = || Failure::usage(format!("--epsilons is {}", cut(text)), hint);
    let [first, last, count] = text.split(':').collect::<Vec<_>>()[..] else { return Err(bad()) };
    let (first, last): (Epsilon, Epsilon) = (number("epsilons", first)?, number("epsilons", last)?);
    let count: usize = count.parse().map_err(|_| bad())?;
    if first >= last {
        let sign = if first > last { '>' } else { '=' };
        return Err(Failure::usage(format!("--epsilons is {}, where MIN {sign} MAX", cut(text)), hint));
    }
    if !(2..=MOST).contains(&count) {
        return Err(bad());
    }
    let at = |index: usize| {
        let share = index as f64 / (count - 1) as f64;
        Epsilon::new(first.get() * (1.0 - share) + last.get() * share)
    };
    Ok((0..count).map(at).collect::<Result<_, _>>()?)
}

/// One accountant at every ε. A point that it cannot certify is left out, unless it can certify none.
fn column(name: &str, plan: &Plan, epsilons: &[Epsilon]) -> Result<Column, Failure> {
    let asked = Costs::new(name)?;
    let (mut delta, mut refused) = (Vec::with_capacity(epsilons.len()), None);
    for &epsilon in epsilons {
        match asked.delta(plan, epsilon) {
            Ok(bounds) => delta.push(Some(bounds)),
            Err(error @ PrivacyError::Uncertified { .. }) => {
                refused = Some(error);
                delta.push(None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    match refused {
        Some(error) if delta.iter().all(Option::is_none) => Err(error.into()),
        _ => Ok(Column { accountant: name.to_owned(), two_sided: asked.two_sided(plan)?, delta }),
    }
}

impl Curves {
    /// One row per ε; columns of upper bounds, and of lower bounds where there are any. Numbers read back exactly.
    fn csv(&self) -> String {
        let mut columns = vec![("epsilon".to_owned(), self.epsilons.iter().map(|e| Some(e.get())).collect::<Vec<_>>())];
        for column in &self.columns {
            columns.push((format!("{}_upper", column.accountant), column.ends(|b| b.upper).collect()));
            if column.two_sided {
                columns.push((format!("{}_lower", column.accountant), column.ends(|b| b.lower).collect()));
            }
        }
        let header = columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(",");
        let cell = |values: &[Option<f64>], row: usize| values[row].map(shortest).unwrap_or_default();
        let line = |row| columns.iter().map(|(_, values)| cell(values, row)).collect::<Vec<_>>().join(",");
        let lines = (0..self.epsilons.len()).map(line).collect::<Vec<_>>().join("\n");
        format!("{header}\n{lines}\n")
    }

    /// Upper bounds as lines, lower bounds as dashes in the same colour, δ on a logarithmic axis.
    fn svg(&self) -> String {
        let line = |name: &str, ends: &mut dyn Iterator<Item = Option<f64>>, mark| {
            let points = self.epsilons.iter().zip(ends).map(|(e, delta)| (e.get(), delta.unwrap_or(f64::NAN)));
            Series::line(name, points.collect(), mark)
        };
        let mut series = Vec::new();
        for (number, column) in self.columns.iter().enumerate() {
            series.push(line(&column.accountant, &mut column.ends(|b| b.upper), Mark::line(number, false)));
            if column.two_sided {
                series.push(line("", &mut column.ends(|b| b.lower), Mark::line(number, true)));
            }
        }
        let (x, y) = (Axis::new("ε", Scale::Linear), Axis::new("δ", Scale::Log));
        Plot { title: self.plan.words(), x, y, series }.document()
    }

    /// One object; null where nothing can be certified.
    fn json(&self) -> String {
        let curve = |column: &Column| {
            let ends = |end| column.ends(end).collect::<Vec<_>>();
            let (delta, delta_lower) = (ends(|b| b.upper), ends(|b| b.lower));
            serde_json::json!({ "accountant": column.accountant, "delta": delta, "delta_lower": delta_lower })
        };
        let (plan, profiles) = (&self.plan, self.columns.iter().map(curve).collect::<Vec<_>>());
        let (adjacency, unit) = (plan.adjacency(), plan.unit());
        let object = serde_json::json!({
            "plan": plan.words(), "adjacency": adjacency, "unit": unit, "epsilon": self.epsilons, "profiles": profiles,
        });
        format!("{object}\n")
    }
}
