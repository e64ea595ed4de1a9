//! The rounded Gaussian against its exact probabilities, with any number of draws.

use super::statistics::{ChiSquare, IntegerCells, low_bits};
use chacha20::ChaCha20Rng;
use privacy::noise::RoundedGaussian;
use rand_core::SeedableRng;

/// Deviations from half a unit of the grid to 2^30 units.
pub(crate) const DEVIATIONS: [f64; 6] = [0.5, 1.0, 5.0, 300.0, 1_048_576.0, 1_073_741_824.0];

/// Pearson's statistic of the values and, from s = 300 on, where they are uniform, of the low six bits.
pub(crate) fn judge(s: f64, draws: usize, seed: u8) -> (ChiSquare, Option<ChiSquare>) {
    let sampler = RoundedGaussian::new(s).expect("a valid deviation");
    let stream = |seed| {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let sampler = &sampler;
        (0..draws).map(move |_| sampler.sample(&mut rng))
    };
    let values = IntegerCells::rounded_gaussian(s).judge(stream(seed));
    (values, (s >= 300.0).then(|| low_bits(stream(seed))))
}
