//! The results of a finished run, whichever command made them.

use crate::error::StudyError;
use crate::fit_results::FitResults;
use crate::run::read_results;
use crate::store::unfinished;
use inference::Intervals;
use inference::effects::Effects;
use inference::results::{Coefficient, Results};
use std::path::Path;

/// Results of a simulation or of a fit.
#[derive(Debug, Clone, PartialEq)]
pub enum RunResults {
    /// Of `simulate`: scores, baselines and numbers that no ε covers.
    Simulation(Box<Results>),
    /// Of `fit`: what follows from releases.
    Fit(Box<FitResults>),
}

/// What one method says about the columns.
#[derive(Debug, Clone, Copy)]
pub struct MethodEffects<'a> {
    /// The method.
    pub method: &'a str,
    /// In the reader's units; none where its coefficients are no effects of columns.
    pub effects: Option<&'a Effects>,
    /// As encoded.
    pub coefficients: &'a [Coefficient],
    /// What its intervals are worth; none in results of a program that did not say so yet.
    pub intervals: Option<&'a Intervals>,
    /// Whether the program added it for comparison.
    pub baseline: bool,
}

impl MethodEffects<'_> {
    /// Whether its intervals may be shown: where nothing is said of them they are not.
    pub fn shows_intervals(&self) -> bool {
        self.intervals.is_some_and(Intervals::are_shown)
    }
}

impl RunResults {
    /// Reads the results of a run's directory, or their file.
    pub fn open(path: &Path) -> Result<Self, StudyError> {
        if let Some(stopped) = unfinished(path) {
            return Err(stopped);
        }
        Ok(match FitResults::open(path)? {
            Some(fit) => Self::Fit(Box::new(fit)),
            None => Self::Simulation(Box::new(read_results(path)?)),
        })
    }

    /// Name of the study.
    pub fn study(&self) -> &str {
        match self {
            Self::Simulation(results) => &results.study,
            Self::Fit(results) => &results.study,
        }
    }

    /// The algorithm of a method.
    pub fn algorithm(&self, method: &str) -> Option<&str> {
        match self {
            Self::Fit(fit) => (fit.method == method).then_some(fit.algorithm.as_str()),
            Self::Simulation(results) => {
                results.methods.iter().find(|found| found.name == method).map(|found| found.algorithm.as_str())
            }
        }
    }

    /// Largest certified ε of a site under a method; none without privacy.
    pub fn certified(&self, method: &str) -> Option<f64> {
        match self {
            Self::Fit(fit) => (fit.method == method).then_some(fit.privacy.spent_epsilon),
            Self::Simulation(results) => {
                let found = results.methods.iter().find(|found| found.name == method)?;
                found.privacy.as_ref()?.clients.iter().map(|client| client.certified).reduce(f64::max)
            }
        }
    }

    /// Every method with a posterior.
    pub fn methods(&self) -> Vec<MethodEffects<'_>> {
        match self {
            Self::Fit(fit) => vec![MethodEffects {
                method: &fit.method,
                effects: fit.effects.as_ref(),
                coefficients: &fit.posterior,
                intervals: fit.intervals.as_ref(),
                baseline: false,
            }],
            Self::Simulation(results) => {
                let served = results.methods.iter().filter(|method| !method.posterior.is_empty());
                served
                    .map(|method| MethodEffects {
                        method: &method.name,
                        effects: method.effects.as_ref(),
                        coefficients: &method.posterior,
                        intervals: method.intervals.as_ref(),
                        baseline: method.baseline,
                    })
                    .collect()
            }
        }
    }
}
