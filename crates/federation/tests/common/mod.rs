//! What the federation's tests share: a small study, a world in which parties, lines, disks and stores fail, and parties that are
//! driven by hand.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod local_run;
pub(crate) mod message_kind;
pub(crate) mod random;
pub(crate) mod scripted_server;
pub(crate) mod study;
pub(crate) mod world;
