//! Draws of weights: s∘ε of θ = μ + s∘ε, functions of public seeds that both sides of a release know.

use super::Point;
use crate::draws;
use chacha20::ChaCha8Rng;
use privacy::Layer;
use rand_core::SeedableRng;

/// sⱼεₖⱼ, draw by draw: as many normal numbers as there are draws and parameters, whatever the rows hold.
///
/// None is larger than a clipped sum takes, however wide q is: after the charge nothing is refused.
pub(crate) fn shifts(at: Point<'_>, seed: u64, draws: usize, shift: &mut Vec<f64>) {
    shift.clear();
    shift.resize(draws * at.mean.len(), 0.0);
    draws::standard_normals(&mut ChaCha8Rng::seed_from_u64(seed), shift);
    shift.iter_mut().zip(at.deviation.iter().cycle()).for_each(|(e, s)| *e = within(*e * s));
}

/// The nearest number of a size that is taken; of what is no number, one of that size.
fn within(shift: f64) -> f64 {
    if shift.abs() <= Layer::MOST_WEIGHT { shift } else { Layer::MOST_WEIGHT.copysign(shift) }
}

/// A seed from public numbers, so that every question gets draws of its own: FNV-1a of their bits, word by word.
pub(crate) fn seed_of(public: &[f64]) -> u64 {
    public.iter().fold(0xcbf2_9ce4_8422_2325, |seed, x| (seed ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3))
}
