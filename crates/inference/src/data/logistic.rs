//! Made-up rows of a logistic model: several designs of inputs, coefficients drawn by the seed.

use super::drawn_labels::{drawn_coefficients, label, uniform};
use super::synthetic::{dealt, generator_of};
use super::{Federation, InputLayout, Row, Rows};
use crate::DataError;
use crate::draws::standard_normals;
use chacha20::ChaCha20Rng;

/// Public bounds of the numbers: as a schema's bounds do, they clamp what lies outside, before labels are drawn.
pub const NUMBER_BOUNDS: f64 = 4.0;

/// Clients with equally many rows of one logistic law.
///
/// θ ~ N(0, `effect_variance`·I) over all inputs and the intercept, which is the last; y = 1 with probability σ(xᵀθ).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyntheticLogistic {
    /// M.
    pub clients: usize,
    /// Rows of each client.
    pub rows: usize,
    /// Rows held out.
    pub held_out: usize,
    /// d, the intercept apart.
    pub inputs: usize,
    /// What the inputs are.
    pub design: Design,
    /// Variance of each coefficient.
    pub effect_variance: f64,
}

/// The law of the inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Design {
    /// Independent standard normals.
    Dense,
    /// Standard normals of which neighbours have this correlation: AR(ρ).
    Correlated(f64),
    /// Categories with so many levels each, of which level k has a probability in proportion to 1/k.
    Dummies(usize),
    /// Independent numbers of Student's t with 5 degrees of freedom, scaled to variance 1.
    HeavyTails,
}

/// What came out.
#[derive(Debug)]
pub struct DrawnLogistic {
    /// The clients and the held-out rows.
    pub federation: Federation,
    /// θ, the intercept last.
    pub coefficients: Vec<f64>,
}

impl SyntheticLogistic {
    /// What the inputs of a row are.
    ///
    /// # Errors
    /// [`DataError::Width`] without inputs, and of dummies that do not fill whole categories.
    pub fn layout(&self) -> Result<InputLayout, DataError> {
        let (d, width) = (self.inputs, self.inputs + 1);
        let layout = match self.design {
            Design::Dummies(levels) if levels == 0 || !d.is_multiple_of(levels) || d == 0 => {
                return Err(DataError::Width { found: format!("{d} dummies in categories of {levels} levels") });
            }
            Design::Dummies(levels) => {
                InputLayout::new(width, 0)?.with_blocks((0..d / levels).map(|c| c * levels..(c + 1) * levels))?
            }
            _ if d == 0 => return Err(DataError::Width { found: "a law without inputs".into() }),
            _ => InputLayout::new(width, d)?,
        };
        Ok(layout.with_intercept())
    }

    /// Draws everything, θ included, from the seed. A simulated site without rows is refused: nobody meant it.
    ///
    /// # Errors
    /// As [`SyntheticLogistic::layout`].
    pub fn draw(&self, seed: u64) -> Result<DrawnLogistic, DataError> {
        let layout = self.layout()?;
        let coefficients = drawn_coefficients(layout.width(), self.effect_variance, seed);
        let mut rng = generator_of(b"synthetic logistic", seed);
        let federation = dealt(self.clients, self.rows, self.held_out, |count| {
            let mut rows = Rows::of(layout.clone());
            for _ in 0..count {
                let (numbers, ones) = self.inputs_of_a_row(&mut rng);
                let row = Row { numbers: &numbers, ones: &ones, outcome: 0.0 };
                let outcome = label(row.dot(&coefficients), &mut rng);
                rows.push(Row { outcome, ..row })?;
            }
            Ok(rows)
        })?;
        Ok(DrawnLogistic { federation, coefficients })
    }

    /// Numbers, and positions that hold a one, the intercept's among them.
    fn inputs_of_a_row(&self, rng: &mut ChaCha20Rng) -> (Vec<f64>, Vec<u32>) {
        let intercept = self.inputs as u32;
        if let Design::Dummies(levels) = self.design {
            let categories = self.inputs / levels;
            let ones = (0..categories).map(|c| (c * levels + level(levels, rng)) as u32).chain([intercept]).collect();
            return (Vec::new(), ones);
        }
        let mut numbers = vec![0.0; self.inputs];
        standard_normals(rng, &mut numbers);
        match self.design {
            Design::Correlated(rho) => {
                for j in 1..numbers.len() {
                    numbers[j] = rho * numbers[j - 1] + (1.0 - rho * rho).sqrt() * numbers[j];
                }
            }
            Design::HeavyTails => numbers.iter_mut().for_each(|x| *x *= heavy_scale(rng)),
            Design::Dense | Design::Dummies(_) => {}
        }
        numbers.iter_mut().for_each(|x| *x = x.clamp(-NUMBER_BOUNDS, NUMBER_BOUNDS));
        (numbers, vec![intercept])
    }
}

/// √(3/χ²₅): a standard normal times this is Student's t with 5 degrees of freedom over √(5/3), its deviation.
fn heavy_scale(rng: &mut ChaCha20Rng) -> f64 {
    let mut normals = [0.0; 5];
    standard_normals(rng, &mut normals);
    (3.0 / normals.iter().map(|z| z * z).sum::<f64>()).sqrt()
}

/// One of so many levels, the k-th with a probability in proportion to 1/k.
fn level(levels: usize, rng: &mut ChaCha20Rng) -> usize {
    let total: f64 = (1..=levels).map(|k| 1.0 / k as f64).sum();
    let mut left = uniform(rng) * total;
    for k in 1..levels {
        left -= 1.0 / k as f64;
        if left < 0.0 {
            return k - 1;
        }
    }
    levels - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: SyntheticLogistic = SyntheticLogistic {
        clients: 2,
        rows: 10_000,
        held_out: 7,
        inputs: 6,
        design: Design::Dense,
        effect_variance: 0.25,
    };

    /// Means of xᵢxⱼ over all rows.
    fn moment(drawn: &DrawnLogistic, i: usize, j: usize) -> f64 {
        let sites = drawn.federation.sites.iter().flat_map(|site| site.shard.rows().iter());
        sites.map(|row| row.to_dense(7)).map(|x| x[i] * x[j]).sum::<f64>() / 20_000.0
    }

    #[test]
    fn designs_have_their_moments_and_every_row_an_intercept() {
        for (design, neighbours, slack) in
            [(Design::Dense, 0.0, 0.05), (Design::Correlated(0.8), 0.8, 0.06), (Design::HeavyTails, 0.0, 0.06)]
        {
            let drawn = SyntheticLogistic { design, ..MANY }.draw(3).unwrap();
            // Five standard errors of a second moment or more; clamping takes 1 % of the variance of a heavy tail.
            assert!((moment(&drawn, 2, 2) - 1.0).abs() < slack, "{design:?}");
            assert!((moment(&drawn, 2, 3) - neighbours).abs() < slack, "{design:?}");
            assert_eq!((moment(&drawn, 6, 6), drawn.coefficients.len()), (1.0, 7));
        }
        let fourth = |design| {
            let drawn = SyntheticLogistic { design, ..MANY }.draw(3).unwrap();
            let rows: Vec<f64> = drawn.federation.sites[0].shard.rows().iter().map(|row| row.numbers[0]).collect();
            assert!(rows.iter().all(|x| x.abs() <= NUMBER_BOUNDS));
            rows.iter().map(|x| x.powi(4)).sum::<f64>() / 10_000.0
        };
        assert!(fourth(Design::Dense) < 3.5 && fourth(Design::HeavyTails) > 4.0);
    }

    #[test]
    fn a_row_of_dummies_has_one_level_of_each_category() {
        let drawn = SyntheticLogistic { design: Design::Dummies(3), ..MANY }.draw(3).unwrap();
        let layout = drawn.federation.test.layout();
        assert_eq!((layout.blocks(), layout.intercept(), layout.numbers()), ([0..3, 3..6].as_slice(), Some(6), 0));
        let rows = drawn.federation.sites[0].shard.rows();
        for row in rows.iter() {
            assert!(matches!(row.ones, [0..=2, 3..=5, 6]), "{:?}", row.ones);
        }
        // 1 : ½ : ⅓.
        let share = rows.iter().filter(|row| row.ones[0] == 2).count() as f64 / 10_000.0;
        assert!((share - 2.0 / 11.0).abs() < 0.02, "{share}");
    }

    #[test]
    fn labels_follow_the_model_and_everything_the_seed() {
        let (one, again, other) = (MANY.draw(3).unwrap(), MANY.draw(3).unwrap(), MANY.draw(4).unwrap());
        assert_eq!((&one.coefficients, &one.federation.test), (&again.coefficients, &again.federation.test));
        assert_ne!(one.coefficients, other.coefficients);
        // Σ (y − σ(xᵀθ))x is 0 but for chance: within five standard deviations, √(n/4) at most.
        let mut score = vec![0.0; 7];
        for row in one.federation.sites.iter().flat_map(|site| site.shard.rows().iter()) {
            let residual = row.outcome - 1.0 / (1.0 + (-row.dot(&one.coefficients)).exp());
            score.iter_mut().zip(row.to_dense(7)).for_each(|(s, x)| *s += residual * x);
        }
        assert!(score.iter().all(|s| s.abs() < 5.0 * f64::sqrt(5_000.0)), "{score:?}");
    }

    #[test]
    fn laws_without_inputs_or_with_broken_categories_are_refused() {
        assert!(SyntheticLogistic { inputs: 0, ..MANY }.draw(1).is_err());
        assert!(SyntheticLogistic { design: Design::Dummies(4), ..MANY }.draw(1).is_err());
        assert!(SyntheticLogistic { design: Design::Dummies(0), ..MANY }.draw(1).is_err());
        assert!(SyntheticLogistic { rows: 0, ..MANY }.draw(1).is_err());
    }
}
