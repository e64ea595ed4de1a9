//! `posterity account`: what is typed becomes a plan and a question, and the answer a table, a curve or an object.

use crate::account_table;
use crate::arguments::{AccountArguments, AccountQuestion, Budget, PlanArguments, ProfileArguments};
use crate::failure::{Failure, input};
use privacy::{Delta, Epsilon};
use std::io::Read;
use std::path::{Path, PathBuf};
use study::account::{self, AccountCosts, MechanismAsTyped, Plan, PlanAsTyped, Profile, number, read_events};

/// The answer of an accountant: an object, or a table for people.
pub(crate) fn text(question: &AccountQuestion, json: bool) -> Result<String, Failure> {
    let answer = match question {
        AccountQuestion::Epsilon { delta, asked } => {
            let (delta, plan): (Delta, _) = (number("delta", delta)?, Plan::of(&typed(&asked.plan)?)?);
            account::epsilon(plan, delta, &costs(asked)?)?
        }
        AccountQuestion::Delta { epsilon, asked } => {
            let (epsilon, plan): (Epsilon, _) = (number("epsilon", epsilon)?, Plan::of(&typed(&asked.plan)?)?);
            account::delta(plan, epsilon, &costs(asked)?)?
        }
        AccountQuestion::Calibrate { budget, asked } => {
            let (epsilon, delta) = meant(budget)?;
            account::calibrate(&typed(&asked.plan)?, epsilon, delta, &costs(asked)?)?
        }
        AccountQuestion::Steps { budget, asked } => {
            let (epsilon, delta) = meant(budget)?;
            if asked.plan.events.is_some() {
                let hint = "name one mechanism by flags and leave --steps out";
                return Err(Failure::usage("there is no number of steps to find", hint));
            }
            account::steps(&typed(&asked.plan)?, epsilon, delta, &costs(asked)?)?
        }
        AccountQuestion::Profile(asked) => return profile(asked, json),
    };
    Ok(if json { answer.json() } else { account_table::of(&answer) })
}

fn meant(budget: &Budget) -> Result<(Epsilon, Delta), Failure> {
    Ok((number("epsilon", &budget.epsilon)?, number("delta", &budget.delta)?))
}

/// The accountant that was asked for, verified if that was asked for too.
fn costs(asked: &AccountArguments) -> Result<AccountCosts, Failure> {
    let costs = AccountCosts::new(&asked.accountant)?;
    Ok(if asked.verify { costs.verified()? } else { costs })
}

/// The plan of the flags, or of the file of events.
fn typed(plan: &PlanArguments) -> Result<PlanAsTyped, Failure> {
    let flags = MechanismAsTyped::from(&plan.mechanism);
    let mechanisms = match (&plan.events, flags.given().first()) {
        (None, _) => vec![flags],
        (Some(path), None) => read(path)?,
        (Some(_), Some(flag)) => {
            let message = format!("--{flag} and --events cannot be given together");
            return Err(Failure::usage(message, format!("write \"{flag}\" into the objects of the file")));
        }
    };
    Ok(PlanAsTyped { mechanisms, overlap: plan.overlap.clone(), group: plan.group.clone() })
}

/// Reads a list of events; `-` is standard input.
fn read(path: &Path) -> Result<Vec<MechanismAsTyped>, Failure> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|source| Failure::file("cannot read", path, source))?;
    Ok(read_events(&input(path), &text)?)
}

/// Computes a profile and writes what was asked for; what goes to standard output is returned.
fn profile(asked: &ProfileArguments, json: bool) -> Result<String, Failure> {
    let (epsilons, plan) = (account::epsilons(&asked.epsilons)?, Plan::of(&typed(&asked.plan)?)?);
    let curves = Profile::of(plan, epsilons, &asked.accountant)?;
    let standard = PathBuf::from("-");
    let csv = asked.csv.as_ref().or((asked.svg.is_none() && !json).then_some(&standard));
    let mut out = if json { curves.json() } else { String::new() };
    for (path, render) in [(csv, Profile::csv as fn(&Profile) -> String), (asked.svg.as_ref(), report::profile_svg)] {
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
