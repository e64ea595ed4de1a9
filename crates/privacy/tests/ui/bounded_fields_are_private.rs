//! A sum cannot be taken apart.
fn peek(sum: privacy::Bounded) -> Vec<i64> {
    let privacy::Bounded { units, .. } = sum;
    units.to_vec()
}

fn main() {}
