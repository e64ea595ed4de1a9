//! Stated priors: the closed form of a conjugate model, yesterday's posterior as today's prior, and what is refused.

use crate::common::{full_pvi, method, pvi, rows, simulation, site, sites, whole_step};
use inference::settings::{Damping, Rounds, Schedule};
use inference::solve::Clear;
use inference::{EncodedPrior, Family, Gaussian, Linear, Method, PriorTerm, Rows, RunError, Simulation, Site};
use std::sync::Arc;

const VARIANCE: f64 = 0.25;
const FULL: Family = Family::Full { dimension: 5 };

/// Conjugate PVI: one undamped round of exact factors.
fn clear(full: bool, rounds: u64) -> Method {
    let solver = Clear { local: whole_step() };
    let settings = if full { full_pvi(solver) } else { pvi(solver) };
    let settings =
        inference::algorithm::PviSettings { rounds: Rounds::Count(rounds), damping: Damping::NONE, ..settings };
    method("clear", settings, Schedule::Sequential, None)
}

fn independent() -> PriorTerm {
    PriorTerm::independent(vec![0.5, -1.0, 0.25, 0.0, 2.0], vec![4.0, 1.0, 0.5, 9.0, 2.0]).unwrap()
}

fn correlated() -> PriorTerm {
    let entry = |i: usize, j: usize| if i == j { 3.0 + i as f64 } else { 0.4 - 0.1 * (i + j) as f64 };
    let packed = (0..5).flat_map(|i| (0..=i).map(move |j| entry(i, j))).collect();
    PriorTerm::correlated(vec![0.5, -1.0, 0.25, 0.0, 2.0], packed).unwrap()
}

/// The rows of [`sites`].
fn rows_of_sites() -> Vec<Rows> {
    [40, 25, 60].iter().zip(1..).map(|(&count, seed)| rows(count, seed)).collect()
}

/// N(Λ⁻¹(P₀m₀ + Xᵀy/s²), Λ⁻¹), Λ = P₀ + XᵀX/s², from the rows one by one.
fn closed_form(prior: &PriorTerm, sites: &[Rows]) -> Gaussian {
    let mut eta = FULL.natural(&prior.gaussian().unwrap());
    for rows in sites {
        for i in 0..rows.len() {
            let (x, y) = (rows.row(i).to_dense(5), rows.outcomes()[i]);
            let mut at = 5;
            for a in 0..5 {
                eta[a] += x[a] * y / VARIANCE;
                for b in 0..=a {
                    eta[at] -= x[a] * x[b] / VARIANCE * if a == b { 0.5 } else { 1.0 };
                    at += 1;
                }
            }
        }
    }
    FULL.gaussian(&eta).unwrap()
}

fn with<'a>(method: &'a Method, prior: PriorTerm, sites: &'a [Site], test: &'a Rows) -> Simulation<'a> {
    let model = Arc::new(Linear::known(VARIANCE));
    Simulation { model, prior: EncodedPrior::Stated(prior), ..simulation(method, sites, test) }
}

#[test]
fn a_stated_prior_gives_the_conjugate_posterior_to_baselines_and_to_pvi() {
    let (sites, test) = (sites(), rows(3, 9));
    for prior in [independent(), correlated()] {
        let exact = closed_form(&prior, &rows_of_sites());
        let method = clear(true, 1);
        let simulation = with(&method, prior, &sites, &test);
        assert!(simulation.exact_posterior().unwrap().unwrap().kl(&exact) < 1e-9);
        assert!(simulation.non_private().unwrap().posterior.kl(&exact) < 1e-9);
        assert!(simulation.run(&mut ()).unwrap().posterior.kl(&exact) < 1e-6, "up to the grid");
    }
}

/// A site by itself starts from the stated prior too.
#[test]
fn local_fits_have_the_stated_prior() {
    let (sites, test) = (sites(), rows(3, 9));
    let method = clear(true, 1);
    let alone = with(&method, correlated(), &sites[..1], &test).local_only().unwrap();
    assert!(alone.posterior.kl(&closed_form(&correlated(), &rows_of_sites()[..1])) < 1e-9);
}

/// Yesterday's posterior as today's prior is the posterior of both days' rows.
#[test]
fn posteriors_add_up_over_days() {
    let (first, second) = (vec![site("first", rows(70, 4))], vec![site("second", rows(50, 5))]);
    let (both, test) = (vec![site("first", rows(70, 4)), site("second", rows(50, 5))], rows(3, 9));
    let method = clear(true, 1);
    let fitted = |prior: PriorTerm, sites: &[Site]| with(&method, prior, sites, &test).non_private().unwrap().posterior;
    let yesterday = fitted(independent(), &first);
    let today = fitted(PriorTerm::of(&yesterday).unwrap(), &second);
    assert!(today.kl(&fitted(independent(), &both)) < 1e-9);
}

#[test]
fn correlations_are_refused_where_a_method_would_ignore_them() {
    let (sites, test) = (sites(), rows(3, 9));
    let method = clear(false, 1);
    match with(&method, correlated(), &sites, &test).build().map(|_| ()) {
        Err(RunError::Conflict(conflict)) => assert!(conflict.what.contains("would be ignored"), "{conflict}"),
        other => panic!("{other:?}"),
    }
    assert!(with(&method, independent(), &sites, &test).build().is_ok());
    let short = PriorTerm::independent(vec![0.0; 4], vec![1.0; 4]).unwrap();
    assert!(with(&method, short, &sites, &test).build().is_err());
}
