//! What the federation's tests share: a small study, a world in which parties, lines, disks and stores fail, and parties that are
//! driven by hand.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod company;
pub(crate) mod dice;
pub(crate) mod hand;
pub(crate) mod letter;
pub(crate) mod study;
pub(crate) mod world;
