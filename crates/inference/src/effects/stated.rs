//! From stated effects to coefficients of the encoded inputs: the way back from what a reader is told.

use super::contrasts;
use crate::{DataError, InputLayout, OutcomeKind, Schema};

/// Effects as a planner states them: one number for each of [`contrasts`], and the level of the outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedEffects {
    /// Log odds of the last level, or differences in the outcome's units; one for each contrast of the schema.
    pub contrasts: Vec<f64>,
    /// Log odds, or the expected outcome in its units, of a row with numbers at their centres and categories at their references.
    /// None where the model has no intercept.
    pub intercept: Option<f64>,
}

impl StatedEffects {
    /// θ, in the order of [`Schema::inputs`], in units of the encoded outcome.
    ///
    /// The levels of a category and the intercept have one coefficient more than the outcome can tell: θ + a on a category's levels
    /// and −a on the intercept predict the same. Among all such θ it is the shortest, which is where a prior with mean 0 and one
    /// precision leaves them.
    ///
    /// # Errors
    /// [`DataError::Width`] where there are more or fewer effects than contrasts.
    pub fn coefficients(&self, schema: &Schema) -> Result<Vec<f64>, DataError> {
        let (asked, layout) = (contrasts(schema), schema.layout(self.intercept.is_some())?);
        if asked.len() != self.contrasts.len() {
            let found = format!("{} effects of {} contrasts", self.contrasts.len(), asked.len());
            return Err(DataError::Width { found });
        }
        let (centre, unit) = match &schema.outcome().kind {
            OutcomeKind::Classes(_) => (0.0, 1.0),
            OutcomeKind::Number(number) => (number.centre, number.scale),
        };
        let mut theta = vec![0.0; layout.width()];
        for (contrast, effect) in asked.iter().zip(&self.contrasts) {
            // The first place is the number's, the flag's or the level's; the reference keeps its 0.
            if let Some((place, weight)) = contrast.weights.first() {
                theta[*place] = effect / (unit * weight);
            }
        }
        if let (Some(place), Some(intercept)) = (layout.intercept(), self.intercept) {
            theta[place] = (intercept - centre) / unit;
            shorten(&mut theta, &layout, place);
        }
        Ok(theta)
    }
}

/// Moves a_b from the levels of block b to the intercept, so that Σ (θ − a_b)² + (θ₀ + Σ a_b)² is least.
///
/// With L_b levels whose coefficients sum to S_b, and A = Σ a_b: a_b = (S_b − θ₀ − A)/L_b and A = Σ (S_b − θ₀)/L_b / (1 + Σ 1/L_b).
fn shorten(theta: &mut [f64], layout: &InputLayout, intercept: usize) {
    let start = theta[intercept];
    let excess = |theta: &[f64], block: &std::ops::Range<usize>| theta[block.clone()].iter().sum::<f64>() - start;
    let (mut moved, mut share) = (0.0, 1.0);
    for block in layout.blocks() {
        moved += excess(theta, block) / block.len() as f64;
        share += 1.0 / block.len() as f64;
    }
    let all = moved / share;
    for block in layout.blocks() {
        let shift = (excess(theta, block) - all) / block.len() as f64;
        theta[block.clone()].iter_mut().for_each(|t| *t -= shift);
    }
    theta[intercept] += all;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gaussian;
    use crate::effects::{EffectScale, effects};

    const SCHEMA: &str = r#"
        outcome = { column = "ill", levels = ["no", "yes"] }
        column = [
            { name = "age", kind = "numeric", centre = 55, scale = 20, bounds = [18, 100], per = 10, missing = "flag" },
            { name = "ward", kind = "category", levels = ["a", "b", "c"], reference = "b" },
            { name = "crp", kind = "numeric", centre = 2, scale = 0.5, bounds = [0.1, 500], log = true },
            { name = "smoker", kind = "category", levels = ["no", "yes"], missing = "level" },
        ]
    "#;

    #[test]
    fn what_is_stated_is_what_readers_are_told() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let stated = StatedEffects { contrasts: vec![0.3, 0.2, -0.4, 0.7, 0.1, 0.5, -0.2], intercept: Some(-1.0) };
        let theta = stated.coefficients(&schema).unwrap();
        let q = Gaussian::new_diagonal(theta.clone(), vec![1.0; theta.len()]).unwrap();
        let told = effects(&schema, EffectScale::OddsRatio, &q).unwrap();
        for (told, stated) in told.effects.iter().zip(&stated.contrasts) {
            assert!((told.mean - stated).abs() < 1e-12, "{}: {} {stated}", told.words(), told.mean);
        }
        // A row at the centres and references: levels "b" and "no", and the intercept.
        let names = schema.inputs(true);
        let at = |name: &str| theta[names.iter().position(|n| n == name).unwrap()];
        assert!((at("ward=b") + at("smoker=no") + at("intercept") + 1.0).abs() < 1e-12);
        // The shortest: no part along a direction that predicts nothing.
        for levels in [&["ward=a", "ward=b", "ward=c"][..], &["smoker=no", "smoker=yes", "smoker=?"]] {
            let along: f64 = levels.iter().map(|name| at(name)).sum();
            assert!((along - at("intercept")).abs() < 1e-12, "{along}");
        }
        assert!(StatedEffects { contrasts: vec![0.0; 3], intercept: None }.coefficients(&schema).is_err());
    }

    #[test]
    fn effects_on_a_number_are_in_its_units() {
        let schema = Schema::from_toml(
            "outcome = { column = \"weight\", bounds = [20, 200], centre = 70, scale = 10 }\n\
             column = [{ name = \"height\", kind = \"numeric\", centre = 170, scale = 8, per = 5 }]",
        );
        let stated = StatedEffects { contrasts: vec![4.0], intercept: Some(75.0) };
        let theta = stated.coefficients(&schema.unwrap()).unwrap();
        // 4 kg per 5 cm are .4·8/5 per encoded centimetre.
        assert!((theta[0] - 0.64).abs() < 1e-12 && (theta[1] - 0.5).abs() < 1e-12, "{theta:?}");
    }
}
