//! The command `posterity`: files, plans, terminal and reports around the libraries; no logic.

mod account;
mod account_table;
mod arguments;
mod clock;
mod compare;
mod datasets;
mod explain;
mod export;
mod failure;
mod federation;
mod fit;
mod identity;
mod init;
mod interrupt;
mod ledger;
mod man;
mod provenance;
mod reports;
mod say;
mod schema;
mod studies;
mod terminal;
mod wording;

use arguments::{Arguments, Command, Demonstration, Shelf};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::process::ExitCode;
use study::SkeletonRequest;

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
        Command::Account { question } => account::text(question, arguments.json),
        Command::Export(asked) => export::run(asked, arguments.json),
        Command::Compare { one, other } => compare::run(one, other, arguments.json),
        Command::Man { out } => man::run(out, arguments.json),
        Command::Report(asked) => reports::run(asked, arguments.json),
        Command::Check { study } => studies::check(study, arguments.json),
        Command::Plan { study } => studies::plan(study, arguments.json),
        Command::Simulate(asked) => studies::run(asked, arguments.json),
        Command::Fit(asked) => fit::run(asked, arguments.json),
        Command::Sample(asked) => studies::sample(asked, arguments.json),
        Command::Reproduce(asked) => studies::reproduce(asked, arguments.json),
        Command::Predict(asked) => studies::predict(asked, arguments.json),
        Command::Datasets { asked } => datasets(asked, arguments.json),
        Command::Init { folder, header, outcome, sites } => {
            let (outcome, sites) = (outcome.as_deref(), sites.as_deref());
            init::run(&SkeletonRequest { folder, table: header, outcome, sites }, arguments.json)
        }
        Command::Ledger { asked } => ledger::run(asked, arguments.json),
        Command::Ca { asked } => identity::authority(asked, clock::seconds(), arguments.json),
        Command::Site { asked } => identity::party(asked, clock::seconds(), arguments.json),
        Command::Serve(asked) => federation::commands::serve::serve(asked, arguments.json),
        Command::Study { asked } => federation::study(asked, arguments.json),
        Command::Node { asked } => federation::node(asked, arguments.json),
        Command::Demo { what: Demonstration::Federation(asked) } => {
            federation::commands::demo::federation(asked, arguments.json)
        }
        Command::Agent { asked } => federation::agent(asked, arguments.json),
        Command::Schema { file } => Ok(schema::text(file, arguments.json)),
        Command::Explain { code } => explain::text(code.as_deref(), arguments.json),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "posterity", &mut script);
            Ok(String::from_utf8_lossy(&script).into_owned())
        }
    }
}

/// What is known of data sets, or one of them fetched.
fn datasets(asked: &Shelf, json: bool) -> Result<String, Failure> {
    match asked {
        Shelf::List => Ok(datasets::list(json)),
        Shelf::Show { source, schema } => datasets::show(source, schema.as_deref(), json),
        Shelf::Fetch { name, from, to } => datasets::fetch(name, from.as_deref(), to.as_deref(), json),
    }
}
