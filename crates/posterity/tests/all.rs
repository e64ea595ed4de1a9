//! Every file of tests, as one program: what they share is built and linked once.

mod loopback;
mod own;
