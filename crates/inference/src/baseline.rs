//! What every result is shown beside, without privacy: one answer for all rows, each site alone, all
//! rows in one place.
//!
//! A private posterior is worth having where it beats what a site can do with its own rows, and its
//! price is the distance to the fit of all rows in one place. Fits are made once for a study and shared
//! by its methods and seeds ([`Fits`]).

use crate::algorithm::PviSettings;
use crate::fit::{Fit, Fitted, optimum};
use crate::fits::{Fits, key};
use crate::method::Method;
use crate::record::{Record, SiteScores};
use crate::results::CurvePoint;
use crate::score::{Prominence, Scores, calibration, scores};
use crate::settings::{
    Batching, Chart, Covariance, Damping, FactorRule, Gradients, Local, NoiseReading, Optimiser, Readout, Repair,
    Rounds, Schedule, SitePromises,
};
use crate::simulate::Simulation;
use crate::solve::Clear;
use crate::{
    DataError, EncodedPrior, Exact, Family, Gaussian, Linear, Model, Prediction, RowKeys, Rows, RunError, Shard, Site,
};
use privacy::SamplingRate;
use privacy::noise::Digest;
use rayon::prelude::*;
use std::sync::Arc;

/// Most parameters of which a full covariance is kept: a Newton step takes as many operations as their cube. Of a mean-field
/// q they would be Jacobi steps, which diverge where inputs depend on each other as one-hot codes do.
const MOST_CORRELATED: usize = 300;

/// Adam on drawn rows, where a full covariance is too large or a model has no statistics in closed form.
const BY_STEPS: Local = Local {
    steps: 1000,
    batch: Batching::All,
    optimiser: Optimiser::Adam,
    learning_rate: 0.02,
    keep_state: false,
    chart: Chart::LogDeviation,
    gradients: Gradients::Full,
};

/// Rows of such a step, on average.
const ROWS_OF_A_STEP: f64 = 250.0;

/// Most turns between coefficients and the outcome's variance; with thousands of rows two or three do.
const MOST_TURNS: usize = 100;

/// The same where each turn is a fit by steps, whose draws are not exact either.
const FEW_TURNS: usize = 3;

/// A variance that moves by less than this share stays where it is.
const SAME_VARIANCE: f64 = 1e-9;

impl Simulation<'_> {
    /// Each site fits its own rows. Where held-out rows belong to sites, each is predicted by its own site's fit; else every
    /// fit is scored on all of them, and scores are averaged over sites.
    ///
    /// # Errors
    /// [`RunError::Unusable`] without sites or where sites and held-out rows differ in width.
    pub fn local_only(&self) -> Result<Record, RunError> {
        self.local_only_by(&Fits::default(), self.data)
    }

    /// The same with fits that may be there already. The source is a digest of the rows that slots are places in.
    ///
    /// Sites fit in parallel; results do not depend on how many threads there are.
    pub fn local_only_by(&self, fits: &Fits, source: Digest) -> Result<Record, RunError> {
        let fit = |site: &Site| {
            let slots = site.shard.keys().slots();
            let fitted = self.fit(fits, source, slots, || Ok(site.shard.rows().clone()))?;
            let predictions = self.predictions(&fitted);
            Ok((fitted, predictions))
        };
        let fits: Vec<(Fitted, Vec<Prediction>)> = self.sites.par_iter().map(fit).collect::<Result<_, RunError>>()?;
        let outcomes = self.test.outcomes();
        let exact = self.exact_at(1.0)?;
        let divergence = |exact: &Gaussian| fits.iter().map(|(f, _)| f.q.kl(exact)).sum::<f64>() / fits.len() as f64;
        let kl = exact.as_ref().map(divergence);
        let fit = fits.iter().map(|(fitted, _)| fitted.fit).reduce(Fit::and);
        let (Fitted { q, .. }, mut predictions) = fits.first().cloned().ok_or_else(no_sites)?;
        if self.sites.iter().any(|site| !site.own.is_empty()) {
            for (site, (_, fit)) in self.sites.iter().zip(&fits) {
                site.own.iter().for_each(|&row| predictions[row] = fit[row].clone());
            }
            let (scores, sites) = (scores(&predictions, outcomes), self.at_sites(&predictions));
            return Ok(Record { fit, ..self.record(q, &predictions, scores, sites, kl)? });
        }
        let each: Vec<Scores<f64>> = fits.iter().map(|(_, fit)| scores(fit, outcomes)).collect();
        let mean = Scores::mean(&each.iter().collect::<Vec<_>>());
        let alone = |(site, scores): (&Site, Scores<f64>)| SiteScores { site: site.name.clone(), scores };
        let sites = self.sites.iter().zip(each).map(alone).collect();
        Ok(Record { fit, ..self.record(q, &predictions, mean, sites, kl)? })
    }

    /// One answer for every row, without inputs: the share of each class, or mean and deviation, of all training outcomes.
    /// By the shares every row gets the majority class. The record's posterior is the prior, for want of any.
    ///
    /// # Errors
    /// [`RunError::Unusable`] where there are no parameters to have a prior.
    pub fn constant(&self) -> Result<Record, RunError> {
        let outcomes: Vec<f64> = self.sites.iter().flat_map(|site| site.shard.rows().outcomes()).copied().collect();
        let n = outcomes.len() as f64;
        let mean = outcomes.iter().sum::<f64>() / n;
        let variance = outcomes.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n;
        let family = Family::MeanField { dimension: self.model.parameters(self.test.width()) };
        let prior = match &self.prior {
            EncodedPrior::Same(precision) => family.gaussian(&family.prior(*precision)),
            EncodedPrior::Stated(term) => term.gaussian(),
        };
        let prior = prior.filter(|prior| prior.dimension() == family.dimension()).ok_or_else(no_sites)?;
        let share = |class: usize| outcomes.iter().filter(|y| **y == class as f64).count() as f64 / n;
        let answer = |prediction| match prediction {
            Prediction::Probability(_) => Prediction::Probability(mean),
            Prediction::Classes(p) => Prediction::Classes((0..p.len()).map(share).collect()),
            Prediction::Normal { .. } => Prediction::Normal { mean, deviation: variance.sqrt().max(f64::EPSILON) },
        };
        let predictions: Vec<Prediction> = self.model.predict(self.test, &prior).into_iter().map(answer).collect();
        let scores = scores(&predictions, self.test.outcomes());
        self.record(prior, &predictions, scores, self.at_sites(&predictions), None)
    }

    /// All rows in one place: the fit that no federation can beat but by chance.
    ///
    /// # Errors
    /// As [`Simulation::local_only`].
    pub fn non_private(&self) -> Result<Record, RunError> {
        self.non_private_by(&Fits::default(), self.data)
    }

    /// The same with a fit that may be there already. The source is a digest of the rows that slots are places in.
    pub fn non_private_by(&self, fits: &Fits, source: Digest) -> Result<Record, RunError> {
        let mut slots: Vec<u64> = self.sites.iter().flat_map(|site| site.shard.keys().slots()).copied().collect();
        slots.sort_unstable();
        let fitted = self.fit(fits, source, &slots, || self.pooled())?;
        let predictions = self.predictions(&fitted);
        let Fitted { q, fit, outcome_variance, quantiles } = fitted;
        let scores = scores(&predictions, self.test.outcomes());
        let kl = self.exact_at(1.0)?.map(|exact| q.kl(&exact));
        let record = self.record(q, &predictions, scores, self.at_sites(&predictions), kl)?;
        Ok(Record { fit: Some(fit), outcome_variance, quantiles, ..record })
    }

    /// The posterior that the method is after in closed form, where the likelihood is Gaussian and s² is known:
    /// η = η₀ + τ·Σ (xy, −½xxᵀ)/s². τ is 1, or N₀/N where the data count as N₀ of their N rows.
    pub fn exact_posterior(&self) -> Result<Option<Gaussian>, RunError> {
        self.exact_at(self.temper())
    }

    /// Mean and variances of that posterior, where they are known to many digits.
    ///
    /// For a Gaussian likelihood those of [`Simulation::exact_posterior`], for a mixture by quadrature; `None`
    /// for all other models.
    pub fn exact_moments(&self) -> Result<Option<Exact>, RunError> {
        if let Some(q) = self.exact_posterior()? {
            return Ok(Some(Exact { mean: q.mean().to_vec(), variances: q.variances() }));
        }
        let rows = self.pooled()?;
        let EncodedPrior::Same(precision) = self.prior else { return Ok(None) };
        let precisions = self.model.precisions(self.model.parameters(rows.width()), precision);
        Ok(self.model.exact(&rows, &precisions, self.temper()))
    }

    /// The exact posterior at a temper τ; none where the likelihood is not Gaussian.
    fn exact_at(&self, temper: f64) -> Result<Option<Gaussian>, RunError> {
        if self.model.outcome_variance().is_none() || !self.model.knows_outcome_variance() {
            return Ok(None);
        }
        let rows = self.pooled()?;
        let family = Family::Full { dimension: self.model.parameters(rows.width()) };
        let term = self.prior.term(self.model.as_ref(), family.dimension());
        let Some(prior) = term.and_then(|term| term.natural(family)) else { return Ok(None) };
        let all: Vec<usize> = (0..rows.len()).collect();
        let Some(at) = family.gaussian(&prior) else { return Ok(None) };
        let statistics = self.model.statistics(&rows, &all, &at, family);
        let eta: Vec<f64> = prior.iter().zip(&statistics).map(|(p, s)| p + temper * s).collect();
        Ok(family.gaussian(&eta))
    }

    /// τ.
    fn temper(&self) -> f64 {
        let rows: usize = self.sites.iter().map(|site| site.shard.len()).sum();
        let counted = self.method.algorithm.draws().and_then(|draws| draws.counts_as);
        counted.map_or(1.0, |counted| counted as f64 / rows as f64)
    }

    /// All rows in the order of their slots: whoever deals them out, the pool is the same.
    fn pooled(&self) -> Result<Rows, RunError> {
        let slots = |site: usize| self.sites[site].shard.keys().slots().iter().enumerate();
        let rows = (0..self.sites.len()).flat_map(|site| slots(site).map(move |(row, slot)| (*slot, site, row)));
        let mut rows: Vec<(u64, usize, usize)> = rows.collect();
        rows.sort_unstable();
        let mut pooled = Rows::of(self.test.layout().clone());
        rows.iter()
            .try_for_each(|&(_, site, row)| pooled.push(self.sites[site].shard.rows().row(row)))
            .map_err(misfit)?;
        Ok(pooled)
    }

    /// The fit of these rows, made now if it is not there. Where it is by draws it follows from the seed too.
    fn fit(
        &self,
        fits: &Fits,
        source: Digest,
        slots: &[u64],
        rows: impl FnOnce() -> Result<Rows, RunError>,
    ) -> Result<Fitted, RunError> {
        let width = self.test.width();
        let by_steps = self.model.parameters(width) > MOST_CORRELATED || self.model.draws_once();
        let drawn_by = by_steps.then_some((self.seed, self.data));
        let settings = format!("{:?} {:?} {drawn_by:?}", self.model, self.prior);
        let mut failed = None;
        let made = fits.of(key(source, &settings, width, slots), || {
            let fitted = rows().and_then(|rows| self.with_variance(&rows, by_steps));
            fitted.map_err(|error| failed = Some(error)).ok()
        });
        made.ok_or_else(|| failed.unwrap_or_else(no_sites))
    }

    /// What a fit says of the held-out rows.
    fn predictions(&self, fitted: &Fitted) -> Vec<Prediction> {
        match fitted.outcome_variance {
            Some(variance) => Linear::known(variance).predict(self.test, &fitted.q),
            None => self.model.predict(self.test, &fitted.q),
        }
    }

    /// The fit, and the variance of the outcome where the model does not know it: a baseline learns what methods learn.
    ///
    /// q(θ) given s², and s² given q(θ), in turn: each raises the free energy of q(θ)·q(s²), until s² stays where it is.
    fn with_variance(&self, rows: &Rows, by_steps: bool) -> Result<Fitted, RunError> {
        let most = if by_steps { FEW_TURNS } else { MOST_TURNS };
        if let Some(family) = self.model.conjugate() {
            return Fitted::exact(family, rows.outcomes()).ok_or_else(|| RunError::Unusable {
                what: "no posterior follows from these rows: expected two at least for a variance".into(),
            });
        }
        let fit = |of: &Self, rows: &Rows| if by_steps { of.fit_by_steps(rows) } else { of.newton(rows) };
        let (mut fitted, mut last) = (fit(self, rows)?, self.model.outcome_variance());
        for _ in 0..most {
            let Some(variance) = self.model.learnt_variance(rows, &fitted.q) else { break };
            let given = Simulation { model: Arc::new(Linear::known(variance)), ..self.clone() };
            let again = fit(&given, rows)?;
            fitted = Fitted { fit: fitted.fit.and(again.fit), outcome_variance: Some(variance), ..again };
            if last.is_some_and(|last| (variance / last - 1.0).abs() < SAME_VARIANCE) {
                break;
            }
            last = Some(variance);
        }
        Ok(fitted)
    }

    /// The optimum of a full covariance. Where there is none to be found, the prior, which has not converged.
    fn newton(&self, rows: &Rows) -> Result<Fitted, RunError> {
        let dimension = self.model.parameters(rows.width());
        let prior = self.prior.term(self.model.as_ref(), dimension).ok_or_else(other_prior)?;
        if let Some(fitted) = optimum(self.model.as_ref(), rows, &prior) {
            return Ok(fitted);
        }
        let family = Family::Full { dimension };
        let q = prior.natural(family).and_then(|natural| family.gaussian(&natural)).ok_or_else(no_sites)?;
        Ok(Fitted { q, fit: Fit { steps: 0, converged: Some(false) }, outcome_variance: None, quantiles: None })
    }

    /// The mean-field optimum: PVI of one site, all rows in it, without privacy.
    fn fit_by_steps(&self, rows: &Rows) -> Result<Fitted, RunError> {
        let rate = SamplingRate::new((ROWS_OF_A_STEP / rows.len() as f64).min(1.0))?;
        let method = Method {
            name: "all rows in one place".into(),
            algorithm: Arc::new(PviSettings {
                solver: Arc::new(Clear { local: Local { batch: Batching::Poisson(rate), ..BY_STEPS } }),
                rounds: Rounds::Count(1),
                damping: Damping::NONE,
                covariance: Covariance::MeanField,
                factor: FactorRule::Free,
                readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
                site_intercept: None,
            }),
            schedule: Schedule::Sequential,
            promise: None,
            sites: SitePromises::default(),
        };
        let shard = Shard::new(rows.clone(), RowKeys::of_slots((0..rows.len() as u64).collect())).map_err(misfit)?;
        let site = Site { name: method.name.clone(), shard, own: Vec::new() };
        let run = Simulation { method: &method, sites: &[site], ..self.clone() }.run(&mut ())?;
        Ok(Fitted {
            q: run.posterior,
            fit: Fit { steps: BY_STEPS.steps, converged: None },
            outcome_variance: None,
            quantiles: None,
        })
    }

    /// The record of a fit: one point, no messages, no spending.
    fn record(
        &self,
        posterior: Gaussian,
        predictions: &[Prediction],
        scores: Scores<f64>,
        sites: Vec<SiteScores>,
        kl: Option<f64>,
    ) -> Result<Record, RunError> {
        let point = CurvePoint {
            round: 1,
            messages: 0,
            epsilon: None,
            scores: scores.clone().shown_in(Prominence::Leading),
            kl,
            natural: None,
            mean_error: None,
            variance_error: None,
        };
        Ok(Record {
            seed: self.seed,
            rounds: 1,
            messages: 0,
            bytes: 0,
            curve: vec![point],
            scores,
            sites,
            kl,
            parameter: None,
            recovery: None,
            posterior,
            quantiles: None,
            chains: Vec::new(),
            warm_up: 0,
            intercepts: Vec::new(),
            outcome_variance: None,
            calibration: calibration(predictions, self.test.outcomes()),
            checks: self.checks(predictions),
            noise_multiplier: None,
            clip: None,
            spending: Vec::new(),
            fit: None,
            last_moves: Vec::new(),
            warnings: Vec::new(),
        })
    }
}

/// Nothing to fit.
fn no_sites() -> RunError {
    RunError::Unusable { what: "no fit without rows: expected at least one site with rows".into() }
}

/// A prior of other coefficients.
fn other_prior() -> RunError {
    RunError::Unusable {
        what: "the prior is stated for another number of coefficients than the rows have inputs".into(),
    }
}

/// Sites and held-out rows that were encoded differently.
fn misfit(_: DataError) -> RunError {
    RunError::Unusable { what: "sites and held-out rows differ in width".into() }
}
