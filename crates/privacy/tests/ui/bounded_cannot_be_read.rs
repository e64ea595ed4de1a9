//! A sum has no accessor.
fn peek(sum: &privacy::Bounded) -> Vec<i64> {
    sum.units().to_vec()
}

fn main() {}
