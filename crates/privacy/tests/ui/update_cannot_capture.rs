//! Optimiser state cannot take in a shard.
fn leak(state: &mut privacy::Released<f64>, slope: &privacy::Released<f64>, loss: f64) {
    state.update(slope, &(), |state, slope, ()| *state += slope * loss);
}

fn main() {}
