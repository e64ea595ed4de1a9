//! A Gaussian prior by its mean m₀ and precision P₀: the term ½(θ − m₀)ᵀP₀(θ − m₀) that every solver adds.

use crate::family::{as_natural, as_precision};
use crate::{Family, Gaussian, linalg};
use serde::Serialize;

/// A proper Gaussian prior of d coefficients, by mean and precision.
///
/// A precision without off-diagonal entries is kept as its diagonal, so that independent coefficients stay independent in every
/// computation, to the last bit.
///
/// # Examples
/// ```
/// use inference::PriorTerm;
/// let prior = PriorTerm::independent(vec![1.0, 0.0], vec![4.0, 1.0]).ok_or("improper")?;
/// assert_eq!(prior.pull(&[1.5, -1.0]), [2.0, -1.0], "P₀(θ − m₀)");
/// assert_eq!(prior.distance(&[1.5, -1.0]), 2.0, "(θ − m₀)ᵀP₀(θ − m₀)");
/// assert!(PriorTerm::correlated(vec![0.0, 0.0], vec![1.0, 2.0, 1.0]).is_none(), "not positive definite");
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriorTerm {
    /// m₀.
    mean: Vec<f64>,
    /// P₀.
    precision: TermPrecision,
}

/// P₀, with or without entries off the diagonal.
#[derive(Debug, Clone, PartialEq, Serialize)]
enum TermPrecision {
    /// The diagonal; all else is 0.
    Diagonal(Vec<f64>),
    /// Lower triangle, packed row by row.
    Full(Vec<f64>),
}

impl PriorTerm {
    /// N(mⱼ, 1/pⱼ) in each coordinate; none unless means are finite and precisions are finite and over 0.
    pub fn independent(mean: Vec<f64>, precisions: Vec<f64>) -> Option<Self> {
        let finite = mean.iter().all(|m| m.is_finite());
        let proper = precisions.iter().all(|p| *p > 0.0 && p.is_finite());
        let fits = finite && proper && mean.len() == precisions.len();
        fits.then_some(Self { mean, precision: TermPrecision::Diagonal(precisions) })
    }

    /// N(m₀, P₀⁻¹) by the lower triangle of P₀, packed row by row; none unless it is positive definite.
    pub fn correlated(mean: Vec<f64>, precision: Vec<f64>) -> Option<Self> {
        let d = mean.len();
        Gaussian::from_precision(mean.clone(), &precision)?;
        let alone = (0..d).all(|i| precision[linalg::place(i, 0)..linalg::place(i, i)].iter().all(|p| *p == 0.0));
        let diagonal = || (0..d).map(|j| precision[linalg::place(j, j)]).collect();
        let precision = if alone { TermPrecision::Diagonal(diagonal()) } else { TermPrecision::Full(precision) };
        Some(Self { mean, precision })
    }

    /// N(0, 1/pⱼ) in each coordinate, whose precisions were checked.
    pub(crate) fn about_zero(precisions: Vec<f64>) -> Self {
        Self { mean: vec![0.0; precisions.len()], precision: TermPrecision::Diagonal(precisions) }
    }

    /// A Gaussian as a prior.
    pub fn of(q: &Gaussian) -> Option<Self> {
        match q.packed_precision() {
            Some(precision) => Self::correlated(q.mean().to_vec(), precision),
            None => Self::independent(q.mean().to_vec(), q.precision_diagonal()),
        }
    }

    /// The prior of these natural parameters; none where they are not those of a proper Gaussian.
    pub(crate) fn of_natural(family: Family, natural: &[f64]) -> Option<Self> {
        let d = family.dimension();
        let second = natural.get(d..).filter(|_| natural.len() == family.len())?;
        let mean = match natural[..d].iter().all(|v| *v == 0.0) {
            true => vec![0.0; d],
            false => family.gaussian(natural)?.mean().to_vec(),
        };
        match family {
            Family::MeanField { .. } => Self::independent(mean, second.iter().map(|half| -2.0 * half).collect()),
            Family::Full { .. } => Self::correlated(mean, as_precision(second, d)),
        }
    }

    /// Natural parameters in this family. A mean-field family has none for a prior with correlations.
    pub(crate) fn natural(&self, family: Family) -> Option<Vec<f64>> {
        let d = self.mean.len();
        if d != family.dimension() {
            return None;
        }
        match (&self.precision, family) {
            (TermPrecision::Diagonal(precisions), _) => {
                let mut natural = family.prior_of_each(precisions);
                let first = precisions.iter().zip(&self.mean).map(|(p, m)| p * m);
                natural.iter_mut().zip(first).for_each(|(to, value)| *to = value);
                Some(natural)
            }
            (TermPrecision::Full(_), Family::MeanField { .. }) => None,
            (TermPrecision::Full(precision), Family::Full { .. }) => Some(
                linalg::symmetric_times(precision, &self.mean).into_iter().chain(as_natural(precision, d)).collect(),
            ),
        }
    }

    /// The distribution; none where rounding leaves none.
    pub fn gaussian(&self) -> Option<Gaussian> {
        match &self.precision {
            TermPrecision::Diagonal(precisions) => {
                Gaussian::new_diagonal(self.mean.clone(), precisions.iter().map(|p| 1.0 / p).collect())
            }
            TermPrecision::Full(precision) => Gaussian::from_precision(self.mean.clone(), precision),
        }
    }

    /// d.
    pub fn dimension(&self) -> usize {
        self.mean.len()
    }

    /// m₀.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The diagonal of P₀.
    pub fn diagonal(&self) -> Vec<f64> {
        match &self.precision {
            TermPrecision::Diagonal(precisions) => precisions.clone(),
            TermPrecision::Full(precision) => (0..self.mean.len()).map(|j| precision[linalg::place(j, j)]).collect(),
        }
    }

    /// P₀ where it has entries off the diagonal: its lower triangle, packed row by row.
    pub fn off_diagonal(&self) -> Option<&[f64]> {
        match &self.precision {
            TermPrecision::Diagonal(_) => None,
            TermPrecision::Full(precision) => Some(precision),
        }
    }

    /// P₀(θ − m₀): the slope of the term.
    pub fn pull(&self, theta: &[f64]) -> Vec<f64> {
        let away: Vec<f64> = theta.iter().zip(&self.mean).map(|(t, m)| t - m).collect();
        match &self.precision {
            TermPrecision::Diagonal(precisions) => precisions.iter().zip(&away).map(|(p, a)| p * a).collect(),
            TermPrecision::Full(precision) => linalg::symmetric_times(precision, &away),
        }
    }

    /// (θ − m₀)ᵀP₀(θ − m₀): twice the term.
    pub fn distance(&self, theta: &[f64]) -> f64 {
        let pull = self.pull(theta);
        pull.iter().zip(theta.iter().zip(&self.mean)).map(|(p, (t, m))| p * (t - m)).sum()
    }

    /// Adds P₀ to a packed matrix.
    pub(crate) fn add_to(&self, packed: &mut [f64]) {
        match &self.precision {
            TermPrecision::Diagonal(precisions) => {
                precisions.iter().enumerate().for_each(|(j, p)| packed[linalg::place(j, j)] += p);
            }
            TermPrecision::Full(precision) => packed.iter_mut().zip(precision).for_each(|(to, p)| *to += p),
        }
    }

    /// The prior of coefficients θ' with θⱼ = factorⱼ·θ'ⱼ, all factors over 0.
    pub(crate) fn in_units(&self, factor: impl Fn(usize) -> f64) -> Self {
        let mean = self.mean.iter().enumerate().map(|(j, m)| m / factor(j)).collect();
        let precision = match &self.precision {
            TermPrecision::Diagonal(precisions) => {
                let one = |(j, p): (usize, &f64)| p * factor(j) * factor(j);
                TermPrecision::Diagonal(precisions.iter().enumerate().map(one).collect())
            }
            TermPrecision::Full(precision) => {
                let pairs = (0..self.mean.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
                let one = |((i, j), p): ((usize, usize), &f64)| p * factor(i) * factor(j);
                TermPrecision::Full(pairs.zip(precision).map(one).collect())
            }
        };
        Self { mean, precision }
    }

    /// The same with P₀ times this number: a prior to a power (Ibrahim and Chen 2000), whose mean stays.
    #[must_use]
    pub fn discounted(mut self, by: f64) -> Self {
        let (TermPrecision::Diagonal(entries) | TermPrecision::Full(entries)) = &mut self.precision;
        entries.iter_mut().for_each(|p| *p *= by);
        self
    }

    /// Independent coefficients with the same means and standard deviations.
    #[must_use]
    pub fn without_correlations(self) -> Self {
        match self.gaussian().filter(|_| self.off_diagonal().is_some()) {
            Some(q) => {
                let precisions = q.variances().iter().map(|v| 1.0 / v).collect();
                Self { mean: self.mean, precision: TermPrecision::Diagonal(precisions) }
            }
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> PriorTerm {
        PriorTerm::correlated(vec![0.5, -1.0], vec![2.0, 0.6, 1.0]).unwrap()
    }

    #[test]
    fn natural_parameters_come_back() {
        let independent = PriorTerm::independent(vec![0.5, -1.0], vec![2.0, 0.25]).unwrap();
        for family in [Family::MeanField { dimension: 2 }, Family::Full { dimension: 2 }] {
            let again = PriorTerm::of_natural(family, &independent.natural(family).unwrap()).unwrap();
            assert_eq!(again.diagonal(), independent.diagonal());
            assert!(again.off_diagonal().is_none());
            assert!(again.mean().iter().zip(independent.mean()).all(|(a, b)| (a - b).abs() < 1e-14));
            let zero = PriorTerm::about_zero(vec![0.3, 7.0]);
            assert_eq!(zero.natural(family).unwrap(), family.prior_of_each(&[0.3, 7.0]));
            assert_eq!(PriorTerm::of_natural(family, &family.prior_of_each(&[0.3, 7.0])).unwrap(), zero);
        }
        let again = PriorTerm::of_natural(
            Family::Full { dimension: 2 },
            &full().natural(Family::Full { dimension: 2 }).unwrap(),
        );
        let again = again.unwrap();
        assert_eq!(again.off_diagonal(), full().off_diagonal());
        assert!(again.mean().iter().zip(full().mean()).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!(
            full().natural(Family::MeanField { dimension: 2 }).is_none(),
            "correlations are never dropped silently"
        );
    }

    #[test]
    fn pull_and_distance_are_those_of_the_density() {
        let (term, at) = (full(), [1.0, 0.25]);
        let away = [0.5, 1.25];
        assert_eq!(term.pull(&at), [2.0 * away[0] + 0.6 * away[1], 0.6 * away[0] + away[1]]);
        let square = 2.0 * away[0] * away[0] + 2.0 * 0.6 * away[0] * away[1] + away[1] * away[1];
        assert!((term.distance(&at) - square).abs() < 1e-15);
    }

    #[test]
    fn units_discounts_and_marginals_are_those_of_the_distribution() {
        let moved = full().in_units(|j| [4.0, 0.5][j]).gaussian().unwrap();
        let as_it_is = full().gaussian().unwrap();
        for (j, factor) in [4.0, 0.5].into_iter().enumerate() {
            assert!((moved.mean()[j] * factor - as_it_is.mean()[j]).abs() < 1e-15);
            assert!((moved.deviations()[j] * factor - as_it_is.deviations()[j]).abs() < 1e-14);
        }
        let wider = full().discounted(0.25).gaussian().unwrap();
        let alone = full().without_correlations();
        assert!(alone.off_diagonal().is_none());
        for j in 0..2 {
            assert!((wider.deviations()[j] - 2.0 * as_it_is.deviations()[j]).abs() < 1e-14);
            assert!((alone.gaussian().unwrap().deviations()[j] - as_it_is.deviations()[j]).abs() < 1e-14);
        }
    }
}
