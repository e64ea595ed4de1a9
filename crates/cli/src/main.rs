//! The command `posterity`: files, plans, terminal and reports around the library; no mathematics.

mod account;
mod arguments;
mod clock;
mod curves;
mod datasets;
mod draws;
mod explain;
mod failure;
mod federation;
mod fetch;
mod histogram;
mod identity;
mod init;
mod interrupt;
mod layout;
mod ledger;
mod mechanism;
mod plan;
mod profile;
mod provenance;
mod registry;
mod report;
mod say;
mod study;
mod table;
mod unzip;
mod warning_codes;

use arguments::{Arguments, Command, Demonstration, Question, Shelf};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::usage(&error, std::env::args_os().any(|word| word == "--json")),
    };
    match run(&arguments) {
        Ok(text) => failure::print(&text),
        Err(failure) => failure.report(arguments.json),
    }
}

/// What is asked, answered as the text for standard output.
fn run(arguments: &Arguments) -> Result<String, Failure> {
    match &arguments.command {
        Command::Account { question } => account(question, arguments.json),
        Command::Report(asked) => report::run(asked, arguments.json),
        Command::Check { study } => study::check(study, arguments.json),
        Command::Plan { study } => study::plan(study, arguments.json),
        Command::Simulate(asked) => study::run(asked, arguments.json),
        Command::Sample(asked) => study::sample(asked, arguments.json),
        Command::Reproduce(asked) => study::reproduce(asked, arguments.json),
        Command::Predict(asked) => study::predict(asked, arguments.json),
        Command::Datasets { asked } => datasets(asked, arguments.json),
        Command::Init { folder, header } => init::run(folder, header, arguments.json),
        Command::Ledger { asked } => ledger::run(asked, arguments.json),
        Command::Ca { asked } => identity::authority(asked, clock::seconds(), arguments.json),
        Command::Site { asked } => identity::party(asked, clock::seconds(), arguments.json),
        Command::Serve(asked) => federation::commands::serve::serve(asked, arguments.json),
        Command::Node { asked } => federation::node(asked, arguments.json),
        Command::Demo { what: Demonstration::Federation(asked) } => {
            federation::commands::demo::federation(asked, arguments.json)
        }
        Command::Agent { asked } => federation::agent(asked, arguments.json),
        Command::Explain { code } => explain::text(code.as_deref(), arguments.json),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "posterity", &mut script);
            Ok(String::from_utf8_lossy(&script).into_owned())
        }
    }
}

/// The answer of an accountant: an object, or a table for people.
fn account(question: &Question, json: bool) -> Result<String, Failure> {
    let answer = match question {
        Question::Epsilon { delta, asked } => account::epsilon(delta, asked)?,
        Question::Delta { epsilon, asked } => account::delta(epsilon, asked)?,
        Question::Calibrate { budget, asked } => account::calibrate(budget, asked)?,
        Question::Steps { budget, asked } => account::steps(budget, asked)?,
        Question::Profile(asked) => return profile::run(asked, json),
    };
    Ok(if json { answer.json() } else { table::of(&answer) })
}

/// What is known of data sets, or one of them fetched.
fn datasets(asked: &Shelf, json: bool) -> Result<String, Failure> {
    match asked {
        Shelf::List => Ok(datasets::list(json)),
        Shelf::Show { source, schema } => datasets::show(source, schema.as_deref(), json),
        Shelf::Fetch { name, from, to } => fetch::run(name, from.as_deref(), to.as_deref(), json),
    }
}
