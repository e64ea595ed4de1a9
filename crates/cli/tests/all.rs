//! Every file of tests of commands that need nobody else, as one program: what they share is built and linked once.

mod common;

mod account;
mod account_findings;
mod accounting_figures;
mod chain;
mod charts;
mod conjugate;
mod curves;
mod datasets;
mod finished_runs;
mod fit;
mod histogram;
mod own_tables;
mod pairs;
mod papers;
mod persons;
mod report;
mod run;
mod schema;
mod sets;
mod site_intercept;
mod site_promises;
mod statistics_findings;
mod study;
mod support;
mod thesis;
