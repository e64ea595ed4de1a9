//! What every result is shown beside, without privacy: one answer for all rows, each site alone, all rows in one place.

use crate::record::{Record, Scores, SiteScores};
use crate::results::CurvePoint;
use crate::score::{calibration, scores};
use crate::settings::{
    Batching, Chain, Chart, Covariance, Damping, FactorRule, Gradients, Local, Method, NoiseReading, Optimiser,
    Readout, Repair, Rounds, Schedule, Scheme, Solver,
};
use crate::simulate::Simulation;
use crate::solve::{Prior, Problem, Task, optimum};
use crate::{DataError, Exact, Family, Gaussian, Keys, Prediction, Rows, RunError, Shard, Site};
use privacy::SamplingRate;

/// Natural gradients until nothing moves, on all rows. With a full covariance these are Newton steps; of a mean-field q
/// they would be Jacobi steps, which diverge where inputs depend on each other as one-hot codes do.
const TO_THE_END: Local = Local {
    steps: 25,
    batch: Batching::All,
    optimiser: Optimiser::Natural,
    learning_rate: 0.8,
    keep_state: false,
    chart: Chart::LogDeviation,
    gradients: Gradients::Full,
};

/// Most parameters of which a full covariance is kept: a Newton step takes as many operations as their cube.
const MOST_CORRELATED: usize = 300;

/// Adam on drawn rows, where a full covariance is too large or a model has no statistics in closed form.
const BY_STEPS: Local = Local { steps: 1000, optimiser: Optimiser::Adam, learning_rate: 0.02, ..TO_THE_END };

/// Rows of such a step, on average.
const ROWS_OF_A_STEP: f64 = 250.0;

impl Simulation<'_> {
    /// Each site fits its own rows. Where held-out rows belong to sites, each is predicted by its own site's fit; else every
    /// fit is scored on all of them, and scores are averaged over sites.
    pub fn local_only(&self) -> Result<Record, RunError> {
        let fits: Vec<(Gaussian, Vec<Prediction>)> =
            self.sites.iter().map(|site| self.fit(site.shard.rows())).collect::<Result<_, _>>()?;
        let outcomes = self.test.outcomes();
        let exact = self.exact_at(1.0)?;
        let divergence = |exact: &Gaussian| fits.iter().map(|(q, _)| q.kl(exact)).sum::<f64>() / fits.len() as f64;
        let kl = exact.as_ref().map(divergence);
        let (q, mut predictions) = fits.first().cloned().ok_or_else(no_sites)?;
        if self.sites.iter().any(|site| !site.own.is_empty()) {
            for (site, (_, fit)) in self.sites.iter().zip(&fits) {
                site.own.iter().for_each(|&row| predictions[row] = fit[row].clone());
            }
            let (scores, sites) = (scores(&predictions, outcomes), self.at_sites(&predictions));
            return self.record(q, &predictions, scores, sites, kl);
        }
        let each: Vec<Scores> = fits.iter().map(|(_, fit)| scores(fit, outcomes)).collect();
        let alone = |(site, scores): (&Site, &Scores)| SiteScores { site: site.name.clone(), scores: *scores };
        let sites = self.sites.iter().zip(&each).map(alone).collect();
        self.record(q, &predictions, mean_of(&each), sites, kl)
    }

    /// One answer for every row, without inputs: the share of each class, or mean and deviation, of all training outcomes.
    /// By the shares every row gets the majority class. The record's posterior is the prior, for want of any.
    pub fn constant(&self) -> Result<Record, RunError> {
        let outcomes: Vec<f64> = self.sites.iter().flat_map(|site| site.shard.rows().outcomes()).copied().collect();
        let n = outcomes.len() as f64;
        let mean = outcomes.iter().sum::<f64>() / n;
        let variance = outcomes.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n;
        let family = Family::MeanField { dimension: self.model.parameters(self.test.width()) };
        let prior = family.gaussian(&family.prior(self.prior_precision)).ok_or_else(no_sites)?;
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

    /// All rows in one place.
    pub fn non_private(&self) -> Result<Record, RunError> {
        let (q, predictions) = self.fit(&self.pooled()?)?;
        let scores = scores(&predictions, self.test.outcomes());
        let kl = self.exact_at(1.0)?.map(|exact| q.kl(&exact));
        self.record(q, &predictions, scores, self.at_sites(&predictions), kl)
    }

    /// The posterior that the method is after in closed form, where the likelihood is Gaussian: η = η₀ + τ·Σ (xy, −½xxᵀ)/s².
    /// τ is 1, or N₀/N where the data count as N₀ of their N rows.
    pub fn exact_posterior(&self) -> Result<Option<Gaussian>, RunError> {
        self.exact_at(self.temper())
    }

    /// Mean and variances of that posterior, where they are known to many digits.
    pub fn exact_moments(&self) -> Result<Option<Exact>, RunError> {
        if let Some(q) = self.exact_posterior()? {
            return Ok(Some(Exact { mean: q.mean().to_vec(), variances: q.variances() }));
        }
        let rows = self.pooled()?;
        let precisions = self.model.precisions(self.model.parameters(rows.width()), self.prior_precision);
        Ok(self.model.exact(&rows, &precisions, self.temper()))
    }

    fn exact_at(&self, temper: f64) -> Result<Option<Gaussian>, RunError> {
        if self.model.outcome_variance().is_none() {
            return Ok(None);
        }
        let one_step = Local { steps: 1, learning_rate: 1.0, ..TO_THE_END };
        self.posterior(&self.pooled()?, temper, &one_step).map(Some)
    }

    /// τ.
    fn temper(&self) -> f64 {
        let rows: usize = self.sites.iter().map(|site| site.shard.len()).sum();
        match self.method.scheme {
            Scheme::Chain(Chain { counts_as: Some(counted), .. }) => counted as f64 / rows as f64,
            _ => 1.0,
        }
    }

    fn pooled(&self) -> Result<Rows, RunError> {
        let mut pooled = Rows::new(self.test.width(), self.test.dense()).map_err(misfit)?;
        for site in self.sites {
            site.shard.rows().iter().try_for_each(|row| pooled.push(row)).map_err(misfit)?;
        }
        Ok(pooled)
    }

    fn fit(&self, rows: &Rows) -> Result<(Gaussian, Vec<Prediction>), RunError> {
        if self.model.parameters(rows.width()) > MOST_CORRELATED || self.model.draws_once() {
            return self.fit_by_steps(rows);
        }
        let q = self.posterior(rows, 1.0, &TO_THE_END)?;
        let predictions = self.model.predict(self.test, &q);
        Ok((q, predictions))
    }

    fn posterior(&self, rows: &Rows, temper: f64, local: &Local) -> Result<Gaussian, RunError> {
        let family = Family::Full { dimension: self.model.parameters(rows.width()) };
        let prior = family.prior_of_each(&self.model.precisions(family.dimension(), self.prior_precision));
        let problem = Problem { model: self.model.clone(), family, prior: Prior(prior.clone()) };
        let start = self.model.initial(family.dimension()).map_or_else(|| prior.clone(), |q| family.natural(&q));
        let task = Task { cavity: prior, start };
        let which: Vec<usize> = (0..rows.len()).collect();
        let change = optimum(&problem, &task, rows, &which, temper, local);
        let eta: Vec<f64> = task.start.iter().zip(&change).map(|(s, c)| s + c).collect();
        family.gaussian(&eta).ok_or_else(no_sites)
    }

    /// The mean-field optimum: PVI of one site, all rows in it, without privacy.
    fn fit_by_steps(&self, rows: &Rows) -> Result<(Gaussian, Vec<Prediction>), RunError> {
        let rate = SamplingRate::new((ROWS_OF_A_STEP / rows.len() as f64).min(1.0))?;
        let method = Method {
            name: "all rows in one place".into(),
            scheme: Scheme::Pvi,
            solver: Solver::Clear,
            schedule: Schedule::Sequential,
            rounds: Rounds::Count(1),
            damping: Damping::NONE,
            covariance: Covariance::MeanField,
            factor: FactorRule::Free,
            readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
            local: Local { batch: Batching::Poisson(rate), ..BY_STEPS },
            site_intercept: None,
            promise: None,
        };
        let shard = Shard::new(rows.clone(), Keys::of_slots((0..rows.len() as u64).collect())).map_err(misfit)?;
        let site = Site { name: method.name.clone(), shard, own: Vec::new() };
        let run = Simulation { method: &method, sites: &[site], ..self.clone() }.run(&mut ())?;
        let predictions = self.model.predict(self.test, &run.posterior);
        Ok((run.posterior, predictions))
    }

    fn record(
        &self,
        posterior: Gaussian,
        predictions: &[Prediction],
        scores: Scores,
        sites: Vec<SiteScores>,
        kl: Option<f64>,
    ) -> Result<Record, RunError> {
        let Scores { accuracy, log_likelihood, absolute_error, .. } = scores;
        let point = CurvePoint {
            round: 1,
            messages: 0,
            epsilon: None,
            accuracy,
            log_likelihood,
            absolute_error,
            kl,
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
            posterior,
            chains: Vec::new(),
            warm_up: 0,
            intercepts: Vec::new(),
            outcome_variance: None,
            calibration: calibration(predictions, self.test.outcomes()),
            noise_multiplier: None,
            clip: None,
            spending: Vec::new(),
            warnings: Vec::new(),
        })
    }
}

fn mean_of(each: &[Scores]) -> Scores {
    let n = each.len() as f64;
    let mean = |f: fn(&Scores) -> Option<f64>| each.iter().map(f).sum::<Option<f64>>().map(|sum| sum / n);
    Scores {
        accuracy: mean(|s| s.accuracy),
        log_likelihood: mean(|s| Some(s.log_likelihood)).unwrap_or(f64::NAN),
        auc: mean(|s| s.auc),
        absolute_error: mean(|s| s.absolute_error),
        root_squared_error: mean(|s| s.root_squared_error),
        coverage: mean(|s| s.coverage),
        width: mean(|s| s.width),
    }
}

fn no_sites() -> RunError {
    RunError::Settings { what: "no fit without rows: expected at least one site with rows".into() }
}

fn misfit(_: DataError) -> RunError {
    RunError::Settings { what: "sites and held-out rows differ in width".into() }
}
