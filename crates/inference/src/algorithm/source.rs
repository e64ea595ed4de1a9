//! What one source of releases has said: sums, the noise in them, and what they tell of the curvature.

use super::noise_aware::SumKind;
use super::noise_aware::{Curvature, NoiseAwareConstants as Settings};
use super::readout::{Whitening, shrunk};
use serde::{Deserialize, Serialize};

/// What is known beforehand of one source of releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SourceTerms {
    /// Its share of the rows.
    pub weight: f64,
    /// Deviation of the noise in each coordinate of a release.
    pub deviation: f64,
    /// The bound of non-negative vectors in its sums ([`crate::Terms::non_negative_bound`]).
    pub moment_bound: f64,
}

impl SourceTerms {
    /// What a row's x² is multiplied by, so that its own bound becomes that of the sum.
    pub(super) fn per_moment(&self, bound: f64) -> f64 {
        self.moment_bound / bound
    }

    /// Deviation of the noise in one release of the curvature, in its own units.
    fn curvature_deviation(&self, curvature: Curvature) -> f64 {
        match curvature {
            Curvature::Moments { bound, .. } => self.deviation / self.per_moment(bound),
            Curvature::EveryRound { weight } => self.deviation / weight,
        }
    }
}

/// What one source has said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseSource {
    /// R: the decaying mean of its residual sums, in plain coordinates.
    pub residual: Vec<f64>,
    /// ν: the variance of the noise in R.
    pub noise: Vec<f64>,
    /// The same decaying mean of Λμ, which the residuals were sheared by.
    pub pull: Vec<f64>,
    /// The sum of what it said of the curvature: second moments, or precisions.
    pub curvature: Vec<f64>,
    /// How often it said something of it.
    pub looks: u32,
}

/// How a release is taken in.
pub(super) struct Hearing<'a> {
    pub(super) settings: &'a Settings,
    /// ρ.
    pub(super) kept: f64,
    pub(super) terms: &'a SourceTerms,
    pub(super) about: SumKind,
    pub(super) scales: &'a Whitening,
    /// Λμ of all sources together, at the q that was asked about.
    pub(super) pull: &'a [f64],
}

impl ReleaseSource {
    /// One that has said nothing yet.
    pub(super) fn silent(dimension: usize) -> Self {
        let zeros = vec![0.0; dimension];
        Self { residual: zeros.clone(), noise: zeros.clone(), pull: zeros.clone(), curvature: zeros, looks: 0 }
    }

    /// Takes in a released sum of as many numbers as the settings say.
    pub(super) fn hear(&mut self, values: &[f64], by: &Hearing<'_>) {
        let (curvature, terms, rho) = (by.settings.curvature, by.terms, by.kept);
        if let (SumKind::Moments, Curvature::Moments { bound, .. }) = (by.about, curvature) {
            let per_moment = terms.per_moment(bound);
            self.curvature.iter_mut().zip(values).for_each(|(c, v)| *c += v / per_moment);
            self.looks += 1;
            return;
        }
        let (residuals, precisions) = values.split_at(self.residual.len());
        for (j, residual) in residuals.iter().enumerate() {
            let scale = by.scales.of(j);
            let deviation = rho * terms.deviation / scale;
            self.residual[j] += rho * (residual / scale - self.residual[j]);
            self.noise[j] = (1.0 - rho) * (1.0 - rho) * self.noise[j] + deviation * deviation;
            self.pull[j] += rho * (terms.weight * by.pull[j] - self.pull[j]);
        }
        if let Curvature::EveryRound { weight } = curvature {
            self.curvature.iter_mut().zip(precisions).for_each(|(c, v)| *c += v / weight);
            self.looks += 1;
        }
    }
}

/// What sources told of the curvature in its own units, and the variance of the noise in each coordinate of it.
pub(super) fn told<'a>(
    sources: impl Iterator<Item = (&'a ReleaseSource, &'a SourceTerms)>,
    dimension: usize,
    curvature: Curvature,
) -> (Vec<f64>, f64) {
    let (mut level, mut variance) = (vec![0.0; dimension], 0.0);
    for (source, terms) in sources.filter(|(source, _)| source.looks > 0) {
        let looks = f64::from(source.looks);
        level.iter_mut().zip(&source.curvature).for_each(|(l, c)| *l += c / looks);
        variance += terms.curvature_deviation(curvature).powi(2) / looks;
    }
    (level, variance)
}

/// Λ̂ of what was told: the data's precision, as far as it can be told from noise.
pub(super) fn precision((mut level, variance): (Vec<f64>, f64), per_moment: f64) -> Vec<f64> {
    level.iter_mut().for_each(|l| *l *= per_moment);
    shrunk(&level, per_moment * per_moment * variance)
}
