//! Every file of tests of servers, agents and nodes as processes, as one program, beside the other commands' tests and not among them.

mod cluster;
mod common;

mod authority;
mod federation;
mod federation_demo;
mod federation_flood;
mod federation_life;
mod federation_matrix;
mod federation_setup;
mod federation_start;
mod ledger;
