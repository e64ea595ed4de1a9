//! Privacy profiles: δ as a function of ε, by one or several accountants, as CSV or JSON.

use super::{AccountCosts, Plan, cut, number};
use crate::digits::shortest;
use crate::error::StudyError;
use privacy::{Bounds, Epsilon, PrivacyError};

/// Most points of a profile.
const MOST: usize = 10_000;

/// δ by several accountants at every ε.
#[derive(Debug)]
pub struct Profile {
    /// What is accounted.
    pub plan: Plan,
    /// The places.
    pub epsilons: Vec<Epsilon>,
    /// One for each accountant.
    pub columns: Vec<ProfileColumn>,
}

/// δ by one accountant at every ε; nothing where it cannot be certified.
#[derive(Debug)]
pub struct ProfileColumn {
    /// Its name.
    pub accountant: String,
    /// Lower bounds are proved, whatever the range of ε.
    pub two_sided: bool,
    /// Bounds at every ε.
    pub delta: Vec<Option<Bounds>>,
}

impl ProfileColumn {
    /// One end of all bounds.
    pub fn ends(&self, end: fn(&Bounds) -> f64) -> impl Iterator<Item = Option<f64>> {
        self.delta.iter().map(move |delta| delta.as_ref().map(end))
    }
}

/// Two curves of one accountant would be one.
fn distinct(names: &[String]) -> Result<(), StudyError> {
    match names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
        Some((_, name)) => {
            Err(StudyError::usage(format!("`accountant` names {name} twice"), "name each accountant once"))
        }
        None => Ok(()),
    }
}

/// MIN:MAX:COUNT as that many values, evenly spaced.
pub fn epsilons(text: &str) -> Result<Vec<Epsilon>, StudyError> {
    let hint = "write MIN:MAX:COUNT with COUNT from 2 to 10000, such as 0:4:81";
    let bad = || StudyError::usage(format!("`epsilons` is {}", cut(text)), hint);
    let [first, last, count] = text.split(':').collect::<Vec<_>>()[..] else { return Err(bad()) };
    let (first, last): (Epsilon, Epsilon) = (number("epsilons", first)?, number("epsilons", last)?);
    let count: usize = count.parse().map_err(|_| bad())?;
    if first >= last {
        let sign = if first > last { '>' } else { '=' };
        return Err(StudyError::usage(format!("`epsilons` is {}, where MIN {sign} MAX", cut(text)), hint));
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
fn column(name: &str, plan: &Plan, epsilons: &[Epsilon]) -> Result<ProfileColumn, StudyError> {
    let asked = AccountCosts::new(name)?;
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
        _ => Ok(ProfileColumn { accountant: name.to_owned(), two_sided: asked.two_sided(plan)?, delta }),
    }
}

impl Profile {
    /// Asks each accountant, by its name, for δ at every ε.
    pub fn of(plan: Plan, epsilons: Vec<Epsilon>, accountants: &[String]) -> Result<Self, StudyError> {
        distinct(accountants)?;
        let columns = accountants.iter().map(|name| column(name, &plan, &epsilons)).collect::<Result<_, _>>()?;
        Ok(Self { plan, epsilons, columns })
    }

    /// One row per ε; columns of upper bounds, and of lower bounds where there are any. Numbers read back exactly.
    pub fn csv(&self) -> String {
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

    /// One object; null where nothing can be certified.
    pub fn json(&self) -> String {
        let curve = |column: &ProfileColumn| {
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
