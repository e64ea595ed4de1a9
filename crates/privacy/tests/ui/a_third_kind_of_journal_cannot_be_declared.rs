//! How well a journal keeps its records is one of two words.
enum Probably {}
impl privacy::Durability for Probably {}

fn main() {}
