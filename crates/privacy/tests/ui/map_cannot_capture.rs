//! Post-processing cannot bring a shard along.
fn leak(released: privacy::Released<Vec<f64>>, rows: Vec<f64>) -> privacy::Released<Vec<f64>> {
    released.map(&(), |_, ()| rows.clone())
}

fn main() {}
