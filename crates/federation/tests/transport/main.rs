//! The transport over loopback: who is let in, what is too much, and what happens when things break.

#[path = "../common/proxy.rs"]
mod proxy;

mod broken;
mod certificates;
mod driver;
mod flood;
mod life;
mod limits;
mod party;
mod raw;
