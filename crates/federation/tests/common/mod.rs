//! What the federation's tests share: a small study, a server by hand, and a world in which parties, lines, disks and stores fail.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod hand;
pub(crate) mod study;
pub(crate) mod world;
