//! Made-up data, a function of a seed: what methods are compared on where the answer must be known.

use super::{Federation, RecordId, Row, RowKeys, Rows, Shard, Site};
use crate::DataError;
use crate::draws::standard_normals;
use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Clients with equally many rows, all of one law: section 4.1.5 of Sharma's thesis, for any number of inputs.
///
/// θ ~ N(0, `effect_variance`·I); s uniform between the two deviations; x ~ N(0, I); y = xᵀθ + N(0, s²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyntheticLinear {
    /// M.
    pub clients: usize,
    /// Rows of each client.
    pub rows: usize,
    /// Rows held out.
    pub held_out: usize,
    /// d.
    pub inputs: usize,
    /// Variance of each coordinate of θ.
    pub effect_variance: f64,
    /// The least and the largest deviation of y around xᵀθ.
    pub noise_deviation: (f64, f64),
}

/// What came out.
#[derive(Debug)]
pub struct Drawn {
    /// The clients and the held-out rows.
    pub federation: Federation,
    /// θ.
    pub effects: Vec<f64>,
    /// s², which the model is told.
    pub noise_variance: f64,
}

impl SyntheticLinear {
    /// Draws everything, θ and s included, from the seed. A simulated site without rows is refused: nobody meant it.
    pub fn draw(&self, seed: u64) -> Result<Drawn, DataError> {
        self.draw_at(seed, None)
    }

    /// The same where every coordinate of θ is a stated number, if there is one.
    pub fn draw_at(&self, seed: u64, effect: Option<f64>) -> Result<Drawn, DataError> {
        let mut rng = generator(seed);
        let mut effects = vec![0.0; self.inputs];
        standard_normals(&mut rng, &mut effects);
        effects.iter_mut().for_each(|e| *e = effect.unwrap_or(*e * self.effect_variance.sqrt()));
        let (least, most) = self.noise_deviation;
        let deviation = least + (most - least) * (rng.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0;
        let federation =
            dealt(self.clients, self.rows, self.held_out, |count| rows(count, &effects, deviation, &mut rng))?;
        Ok(Drawn { federation, effects, noise_variance: deviation * deviation })
    }
}

/// Clients with equally many rows of the mixture y ~ ½N(θ₁, v) + ½N(θ₁ + θ₂, v), which have no input that is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyntheticMixture {
    /// M.
    pub clients: usize,
    /// Rows of each client.
    pub rows: usize,
    /// Rows held out.
    pub held_out: usize,
    /// θ.
    pub theta: [f64; 2],
    /// v.
    pub variance: f64,
}

impl SyntheticMixture {
    /// Draws all rows from the seed.
    pub fn draw(&self, seed: u64) -> Result<Federation, DataError> {
        let mut rng = generator(seed);
        let [first, apart] = self.theta;
        dealt(self.clients, self.rows, self.held_out, |count| {
            let mut rows = Rows::new(1, 1)?;
            for _ in 0..count {
                let mut noise = [0.0];
                standard_normals(&mut rng, &mut noise);
                let mean = if rng.next_u64() >> 63 == 0 { first } else { first + apart };
                let outcome = mean + self.variance.sqrt() * noise[0];
                rows.push(Row { numbers: &[0.0], ones: &[], outcome })?;
            }
            Ok(rows)
        })
    }
}

/// A generator of its own for synthetic data: the same seed elsewhere gives other numbers.
fn generator(seed: u64) -> ChaCha20Rng {
    generator_of(b"synthetic", seed)
}

/// A generator for one purpose, whose name has 24 bytes at most: the same seed elsewhere gives other numbers.
pub(super) fn generator_of(purpose: &[u8], seed: u64) -> ChaCha20Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].iter_mut().zip(purpose).for_each(|(byte, letter)| *byte = *letter);
    ChaCha20Rng::from_seed(key)
}

/// So many clients with so many rows each, then the held-out ones, all as they come.
pub(super) fn dealt(
    clients: usize,
    count: usize,
    held_out: usize,
    mut rows: impl FnMut(usize) -> Result<Rows, DataError>,
) -> Result<Federation, DataError> {
    if count == 0 {
        return Err(DataError::EmptyClient);
    }
    let mut sites = Vec::with_capacity(clients);
    for client in 1..=clients {
        let records = (0..count).map(|row| RecordId::of(&format!("{client} {row}"))).collect();
        let keys = RowKeys::of_slots((0..count as u64).collect()).with_records(records);
        let shard = Shard::new(rows(count)?, keys)?;
        sites.push(Site { name: format!("client {client}"), shard, own: Vec::new() });
    }
    Ok(Federation { sites, test: rows(held_out)? })
}

/// Rows of the law, with these coefficients.
fn rows(count: usize, effects: &[f64], deviation: f64, rng: &mut ChaCha20Rng) -> Result<Rows, DataError> {
    let d = effects.len();
    let mut rows = Rows::new(d, d)?;
    let mut normals = vec![0.0; d + 1];
    for _ in 0..count {
        standard_normals(rng, &mut normals);
        let (numbers, noise) = normals.split_at(d);
        let mean: f64 = numbers.iter().zip(effects).map(|(x, e)| x * e).sum();
        rows.push(Row { numbers, ones: &[], outcome: mean + deviation * noise[0] })?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: SyntheticLinear = SyntheticLinear {
        clients: 3,
        rows: 4000,
        held_out: 5,
        inputs: 2,
        effect_variance: 5.0,
        noise_deviation: (0.5, 2.0),
    };

    #[test]
    fn rows_follow_the_model_and_the_seed_alone() {
        let (one, again, other) = (MANY.draw(3).unwrap(), MANY.draw(3).unwrap(), MANY.draw(4).unwrap());
        assert_eq!(one.effects, again.effects);
        assert_ne!(one.effects, other.effects);
        assert_eq!((one.federation.sites.len(), one.federation.test.len()), (3, 5));
        for (site, same) in one.federation.sites.iter().zip(&again.federation.sites) {
            assert_eq!((site.shard.rows(), site.shard.len()), (same.shard.rows(), 4000));
            let residual = |row: Row<'_>| row.outcome - row.dot(&one.effects);
            let variance = site.shard.rows().iter().map(|row| residual(row).powi(2)).sum::<f64>() / 4000.0;
            // Five standard errors of a variance: √(2/4000) of it each.
            assert!((variance / one.noise_variance - 1.0).abs() < 0.112, "{variance}");
            let squares = site.shard.rows().iter().map(|row| row.numbers[1].powi(2)).sum::<f64>() / 4000.0;
            assert!((squares - 1.0).abs() < 0.112, "{squares}");
        }
        let deviation = one.noise_variance.sqrt();
        assert!((0.5..=2.0).contains(&deviation), "{deviation}");
    }

    #[test]
    fn halves_of_a_mixture_lie_as_far_apart_as_it_says() {
        let law = SyntheticMixture { clients: 2, rows: 20_000, held_out: 3, theta: [-1.0, 3.0], variance: 2.0 };
        let made = law.draw(5).unwrap();
        assert_eq!((made.sites.len(), made.test.len()), (2, 3));
        let y = made.sites[1].shard.rows().outcomes();
        let mean = y.iter().sum::<f64>() / 20_000.0;
        let variance = y.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / 20_000.0;
        // Mean −1 + 3/2, variance 2 + 9/4: five standard errors of each.
        assert!((mean - 0.5).abs() < 0.073 && (variance - 4.25).abs() < 0.21, "{mean} {variance}");
        assert_ne!(made.sites[0].shard.rows(), made.sites[1].shard.rows());
    }

    #[test]
    fn clients_without_rows_and_rows_without_inputs_are_refused() {
        assert!(SyntheticLinear { rows: 0, ..MANY }.draw(1).is_err());
        assert!(SyntheticLinear { inputs: 0, ..MANY }.draw(1).is_err());
    }
}
