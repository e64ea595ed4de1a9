//! A plain number is not a constant of the study.
fn leak(released: privacy::Released<f64>, loss: f64) -> privacy::Released<f64> {
    released.map(&loss, |value, loss| value + loss)
}

fn main() {}
