//! The best Gaussian for rows in one place, without privacy: to the mode by Newton's steps, then to the optimum of the free
//! energy by natural gradients, each step with a line search, until the gradient is nothing.

use crate::family::as_precision;
use crate::{ConjugateFamily, Gaussian, Model, PriorTerm, Quantiles, Rows, linalg};
use serde::{Deserialize, Serialize};

/// How the search for an optimum ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fit {
    /// Steps taken: of several searches, those of the longest.
    pub steps: u64,
    /// Whether the search ended at an optimum, by the length of the gradient there. None where nobody looked: so many
    /// steps were asked for, and they were taken.
    pub converged: Option<bool>,
}

impl Fit {
    /// What is said of two searches together: the more steps, and converged only if both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let converged = match (self.converged, other.converged) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        Self { steps: self.steps.max(other.steps), converged }
    }
}

/// A posterior of rows in one place, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The posterior.
    pub q: Gaussian,
    /// How the search ended.
    pub fit: Fit,
    /// The variance of the outcome around its mean, where it was learnt too.
    pub outcome_variance: Option<f64>,
    /// Quantiles of every parameter, where the posterior is no Gaussian; `q` has its moments then.
    pub quantiles: Option<Vec<Quantiles>>,
}

impl Fitted {
    /// The exact posterior of a conjugate family.
    pub(crate) fn exact(family: &dyn ConjugateFamily, outcomes: &[f64]) -> Option<Self> {
        let marginals = family.exact(outcomes)?;
        let (mean, variances) = marginals.iter().map(|one| (one.mean, one.deviation * one.deviation)).unzip();
        let quantiles = Some(marginals.iter().map(|one| one.quantiles).collect());
        let fit = Fit { steps: 1, converged: Some(true) };
        Some(Self { q: Gaussian::new_diagonal(mean, variances)?, fit, outcome_variance: None, quantiles })
    }
}

/// A search has ended where the natural gradient is no longer than this: no step would move a mean by more than a
/// millionth of its own deviation, whatever the inputs' units.
const TOLERANCE: f64 = 1e-6;

/// The same for a mode that a second search starts from.
const NEAR: f64 = 0.1;

/// Most steps of one search. Newton's takes ten or so; that of a mixture goes by expectation-maximisation.
const MOST_STEPS: u64 = 200;

/// How often a step is halved before the search is given up.
const HALVINGS: u32 = 50;

/// Part of the rise that a straight line would have which a step must have (Armijo 1966).
const RISE: f64 = 1e-4;

/// The Gaussian of full covariance that maximises Σ E_q[log p(yᵢ | xᵢ, θ)] − KL(q ‖ prior), where the model has such
/// expectations; else the mode of the posterior with the curvature there. None only if rows and model do not fit.
pub(crate) fn optimum(model: &dyn Model, rows: &Rows, prior: &PriorTerm) -> Option<Fitted> {
    let at_mode = Search { model, rows, prior, wide: false };
    let start = at_mode.look(at_mode.start(), None)?;
    let wide = Search { wide: true, ..at_mode };
    let (mode, steps, converged) = at_mode.climb(start, if model.has_expectations() { NEAR } else { TOLERANCE });
    if !model.has_expectations() {
        return mode.fitted(steps, converged);
    }
    let Some(start) = wide.look(mode.mean.clone(), Some(mode.precision.clone())) else {
        return mode.fitted(steps, false);
    };
    let (end, more, converged) = wide.climb(start, TOLERANCE);
    end.fitted(steps + more, converged)
}

/// The mode of the posterior, with the precision that its curvature there implies (Laplace's approximation).
pub fn mode(model: &dyn Model, rows: &Rows, prior: &PriorTerm) -> Option<Fitted> {
    let search = Search { model, rows, prior, wide: false };
    let (end, steps, converged) = search.climb(search.look(search.start(), None)?, TOLERANCE);
    end.fitted(steps, converged)
}

/// What is searched on.
#[derive(Clone, Copy)]
struct Search<'a> {
    model: &'a dyn Model,
    rows: &'a Rows,
    /// The prior.
    prior: &'a PriorTerm,
    /// Expectations are taken under q; otherwise at its mean, and q has the precision that follows.
    wide: bool,
}

/// A place of the search. The natural gradient there is (Λ* − Λ, g) in the coordinates of q.
struct FitPoint {
    /// μ.
    mean: Vec<f64>,
    /// Λ, packed, and its Cholesky factor.
    precision: Vec<f64>,
    factor: Vec<f64>,
    /// Λ*: the prior's precision and the data's at q.
    target: Vec<f64>,
    /// g: the objective's gradient by the mean.
    gradient: Vec<f64>,
    /// The objective: the free energy, or the log-posterior where q has no width.
    value: f64,
    /// The squared length of the natural gradient, gᵀΣg + ½ tr (Σ(Λ* − Λ))²: the rise of the objective along it.
    rise: f64,
}

impl FitPoint {
    /// The Gaussian at this place, and how the search came here.
    fn fitted(&self, steps: u64, converged: bool) -> Option<Fitted> {
        let q = Gaussian::from_precision(self.mean.clone(), &self.precision)?;
        Some(Fitted { q, fit: Fit { steps, converged: Some(converged) }, outcome_variance: None, quantiles: None })
    }
}

impl Search<'_> {
    /// d.
    fn dimension(&self) -> usize {
        self.prior.dimension()
    }

    /// The model's own start, or the prior's mean.
    fn start(&self) -> Vec<f64> {
        self.model.initial(self.dimension()).map_or_else(|| self.prior.mean().to_vec(), |q| q.mean().to_vec())
    }

    /// Everything at a place; none where q is not proper or a number is not finite.
    fn look(&self, mean: Vec<f64>, precision: Option<Vec<f64>>) -> Option<FitPoint> {
        let d = self.dimension();
        let q = precision.as_ref().filter(|_| self.wide).map(|p| Gaussian::from_precision(mean.clone(), p));
        let slopes = match q {
            Some(q) => self.model.expected(self.rows, &q?)?,
            None => self.model.at(self.rows, &mean),
        };
        let (first, second) = slopes.natural.split_at(d);
        let mut target = as_precision(second, d);
        let pulled = linalg::symmetric_times(&target, &mean);
        let own = self.prior.pull(&mean);
        let gradient: Vec<f64> = first.iter().zip(pulled).zip(own).map(|((f, p), own)| f - p - own).collect();
        self.prior.add_to(&mut target);
        let mut value = slopes.value - 0.5 * self.prior.distance(&mean);
        let precision = precision.filter(|_| self.wide).unwrap_or_else(|| target.clone());
        let factor = linalg::cholesky(&precision, d)?;
        if self.wide {
            let covariance = linalg::inverse(&factor, d);
            let precisions = self.prior.diagonal();
            let spread = |j: usize| 0.5 * precisions[j] * covariance[linalg::place(j, j)];
            value -= (0..d).map(|j| spread(j) + libm::log(factor[linalg::place(j, j)])).sum::<f64>();
            value -= self.prior.off_diagonal().map_or(0.0, |precision| off_diagonal(precision, &covariance, d));
        }
        let rise = squared_length(&gradient, &precision, &target, &factor);
        let place = FitPoint { mean, precision, factor, target, gradient, value, rise };
        (place.value.is_finite() && place.rise.is_finite()).then_some(place)
    }

    /// ρ of the way along the natural gradient: Λ' = Λ + ρ(Λ* − Λ) and μ' = μ + ρ Λ'⁻¹g.
    fn step(&self, from: &FitPoint, rho: f64) -> Option<FitPoint> {
        let along = |(now, target): (&f64, &f64)| now + rho * (target - now);
        let (precision, factor) = if self.wide {
            let precision: Vec<f64> = from.precision.iter().zip(&from.target).map(along).collect();
            let factor = linalg::cholesky(&precision, self.dimension())?;
            (Some(precision), factor)
        } else {
            (None, from.factor.clone())
        };
        let mut by = from.gradient.clone();
        linalg::solve_lower(&factor, &mut by);
        linalg::solve_upper(&factor, &mut by);
        let mean = from.mean.iter().zip(&by).map(|(m, by)| m + rho * by).collect();
        self.look(mean, precision)
    }

    /// Steps until the gradient is no longer than the tolerance. A step is halved until the objective rises enough, or the
    /// gradient's squared length falls by half: near the optimum, and where expectations are means over draws, the rise
    /// is lost in rounding.
    fn climb(&self, start: FitPoint, tolerance: f64) -> (FitPoint, u64, bool) {
        let mut at = start;
        for steps in 0..MOST_STEPS {
            if at.rise <= tolerance * tolerance {
                return (at, steps, true);
            }
            let better =
                |rho: f64, to: &FitPoint| to.value >= at.value + RISE * rho * at.rise || to.rise <= 0.5 * at.rise;
            let tried = (0..HALVINGS).map(|k| 0.5_f64.powi(k as i32));
            let found = tried.filter_map(|rho| Some((rho, self.step(&at, rho)?))).find(|(rho, to)| better(*rho, to));
            match found {
                Some((_, to)) => at = to,
                None => return (at, steps, false),
            }
        }
        let converged = at.rise <= tolerance * tolerance;
        (at, MOST_STEPS, converged)
    }
}

/// What entries off the diagonal add to ½ tr PΣ: the sum over i > j of PᵢⱼΣᵢⱼ.
fn off_diagonal(precision: &[f64], covariance: &[f64], d: usize) -> f64 {
    let below = (0..d).flat_map(|i| linalg::place(i, 0)..linalg::place(i, i));
    below.map(|at| precision[at] * covariance[at]).sum()
}

/// gᵀΣg + ½ tr (Σ(Λ* − Λ))², with LLᵀ = Λ: |L⁻¹g|² + ½ |L⁻¹(Λ* − Λ)L⁻ᵀ|².
fn squared_length(gradient: &[f64], precision: &[f64], target: &[f64], factor: &[f64]) -> f64 {
    let d = gradient.len();
    let mut seen = gradient.to_vec();
    linalg::solve_lower(factor, &mut seen);
    let by_mean: f64 = seen.iter().map(|v| v * v).sum();
    if precision == target {
        return by_mean;
    }
    let mut columns: Vec<Vec<f64>> = (0..d)
        .map(|j| {
            let entry = |i: usize| linalg::place(i.max(j), i.min(j));
            let mut column: Vec<f64> = (0..d).map(|i| target[entry(i)] - precision[entry(i)]).collect();
            linalg::solve_lower(factor, &mut column);
            column
        })
        .collect();
    let mut squares = 0.0;
    let mut line = vec![0.0; d];
    for i in 0..d {
        line.iter_mut().zip(&mut columns).for_each(|(to, column)| *to = column[i]);
        linalg::solve_lower(factor, &mut line);
        squares += line.iter().map(|v| v * v).sum::<f64>();
    }
    by_mean + 0.5 * squares
}
