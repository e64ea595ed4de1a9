//! A site's own intercept in noise-aware PVI: a source of one coordinate that only the site listens to.

use super::home::{Natural, SiteProblem};
use super::noise_aware::{Curvature, NoiseAwareConstants as Settings};
use super::noise_aware::{LevelQuestion, MOST_CURVATURE, SumKind};
use super::readout::{Whitening, read_out, scales};
use super::source::{Hearing, ReleaseSource, SourceTerms, precision, told};
use privacy::StudyConstant;
use serde::{Deserialize, Serialize};

/// What a site has heard of its own intercept: a function of questions and of what its gate released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterceptState {
    source: ReleaseSource,
    /// What the newest question was about, and its curvature.
    about: SumKind,
    curvature: f64,
}

/// Constants of the study that a site reads its own intercept by.
#[derive(Debug, Clone)]
pub(super) struct InterceptConstants {
    pub(super) home: SiteProblem,
    pub(super) settings: Settings,
    /// ρ.
    pub(super) kept: f64,
    /// As the server knows the site's releases of second moments.
    pub(super) looks: SourceTerms,
    /// As the server knows the site's releases of this round.
    pub(super) terms: SourceTerms,
}

impl StudyConstant for InterceptConstants {}

impl InterceptConstants {
    /// The scale of the own coordinate: by the site's share of the rows, which is what it has of the precision of an
    /// intercept that all share.
    fn scale(&self) -> Whitening {
        scales(&[1.0, self.terms.weight], self.settings.whitening, self.settings.floor).after(1)
    }

    /// A release without the own coordinate: the last of the residuals or moments, and the last of the precisions.
    pub(super) fn shared(&self, mut release: Vec<f64>) -> Vec<f64> {
        if let Curvature::EveryRound { .. } = self.settings.curvature {
            let half = release.len() / 2;
            release.remove(half.saturating_sub(1));
        }
        release.pop();
        release
    }
}

impl InterceptState {
    /// Nothing heard yet.
    pub(super) fn new() -> Self {
        Self { source: ReleaseSource::silent(1), about: SumKind::Residuals, curvature: 0.0 }
    }

    /// Whether it is one that [`InterceptState::hear`] makes.
    pub(super) fn is_sound(&self) -> bool {
        let ReleaseSource { residual, noise, pull, curvature, .. } = &self.source;
        let finite = [residual, noise, pull, curvature].iter().all(|one| matches!(one[..], [v] if v.is_finite()));
        finite && noise[0] >= 0.0 && (0.0..=MOST_CURVATURE).contains(&self.curvature)
    }

    /// Remembers what the newest question says of the curvature.
    pub(super) fn hear_question(&mut self, question: &LevelQuestion, (): &()) {
        (self.about, self.curvature) = (question.about, question.curvature);
    }

    /// The question as the site asks it of its rows: with its own coordinate, the last.
    pub(super) fn join(question: &mut LevelQuestion, own: &Self, home: &InterceptConstants) {
        let [first, second] = own.natural(home);
        let variance = 1.0 / (-2.0 * second);
        question.mean.push(first * variance);
        question.deviation.push(variance.sqrt());
        question.scales.extend(home.scale());
    }

    /// Takes the own coordinate of a release in.
    #[expect(clippy::ptr_arg, reason = "the signature that `Released::update` takes")]
    pub(super) fn hear(&mut self, release: &Vec<f64>, home: &InterceptConstants) {
        let [first, second] = self.natural(home);
        let pull = [first / (-2.0 * second) * self.precision(home)];
        let halves = match home.settings.curvature {
            Curvature::EveryRound { .. } => 2,
            Curvature::Moments { .. } => 1,
        };
        let values: Vec<f64> = release.chunks(release.len() / halves).filter_map(|half| half.last().copied()).collect();
        // Of its own intercept the site has all rows.
        let (scales, terms) = (&home.scale(), &SourceTerms { weight: 1.0, ..home.terms });
        let by = Hearing { settings: &home.settings, kept: home.kept, terms, about: self.about, scales, pull: &pull };
        self.source.hear(&values, &by);
    }

    /// Λ̂ of the own coordinate.
    fn precision(&self, home: &InterceptConstants) -> f64 {
        let told = told([(&self.source, &home.looks)].into_iter(), 1, home.settings.curvature);
        precision(told, self.curvature).first().copied().unwrap_or(0.0)
    }

    /// q of the own intercept, read out as all coordinates are.
    pub(super) fn natural(&self, home: &InterceptConstants) -> Natural {
        let ReleaseSource { residual, noise, pull, .. } = &self.source;
        let first: Vec<f64> = residual.iter().zip(pull).map(|(r, p)| r + p).collect();
        let eta = read_out(&home.home.prior(), &first, &[self.precision(home)], noise, home.settings.caution);
        [eta[0], eta[1]]
    }
}
