//! A whole run of one method with one seed, in one process, from shards to scores.
//!
//! A simulation plays sites, server and aggregator in one process, with the same protocol, ledgers and
//! gates as a federation, and with noise from a seed. Seeded noise protects nobody: a simulation is not
//! a release. Baselines without privacy are in the same type ([`Simulation::non_private`],
//! [`Simulation::local_only`]).

use crate::algorithm::{Natural, Protocol, encode};
use crate::build::{Built, build_with};
use crate::chain::Collected;
use crate::client::{Client, SimulationContext};
use crate::drive::{Drive, Progress};
use crate::last_rounds::{LastRounds, natural_pair};
use crate::message::{Direct, Link};
use crate::method::Method;
use crate::plan::Costs;
use crate::record::{Observer, Record, SiteIntercept, SiteScores};
use crate::results::CurvePoint;
use crate::score::{HeldOut, PredictiveChecks, calibration, on_the_way, scores, scores_at};
use crate::spending::Spending;
use crate::warning::public::{approaches, moves, of_plan};
use crate::{
    EncodedPrior, Exact, Gaussian, Linear, Model, Prediction, Rows, RunError, Site, Terms, persons_at_one_site,
};
use privacy::noise::Digest;
use privacy::record::Tape;
use privacy::{Grant, PrivacyError, Unit};
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most points of a curve: scoring takes longer than many a round.
const MOST_POINTS: u64 = 60;

/// One method, the sites, and what to score on.
///
/// # Examples
/// Three simulated sites with rows of a linear law, PVI without privacy, and the exact posterior:
/// ```
/// use inference::describe::Registry;
/// use inference::plan::Costs;
/// use inference::{Linear, Method, Simulation, SyntheticLinear};
/// use std::sync::Arc;
///
/// let law = SyntheticLinear {
///     clients: 3,
///     rows: 40,
///     held_out: 20,
///     inputs: 2,
///     effect_variance: 1.0,
///     noise_deviation: (1.0, 1.0),
/// };
/// let drawn = law.draw(7)?;
/// let table = toml::from_str(r#"
///     name = "pvi"
///     algorithm = "pvi"
///     solver = "clear"
///     covariance = "full"
///     rounds = 1
///     local = { optimiser = "natural" }
/// "#)?;
/// let method = Method::read(&table, &Registry::standard()).map_err(|all| all[0].what.clone())?;
/// let simulation = Simulation {
///     method: &method,
///     sites: &drawn.federation.sites,
///     test: &drawn.federation.test,
///     model: Arc::new(Linear::known(drawn.noise_variance)),
///     prior: 1.0.into(),
///     seed: 1,
///     data: [0; 32],
///     costs: Arc::new(Costs::default()),
/// };
/// let record = simulation.run(&mut ())?;
/// assert_eq!((record.rounds, record.messages), (1, 3));
/// assert!(record.kl.is_some_and(|kl| kl < 1e-3), "one round of a conjugate model is exact up to the grid");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Simulation<'a> {
    /// The method.
    pub method: &'a Method,
    /// The sites. Where the method has an intercept of each site's own, the last input is its 1
    /// ([`crate::Federation::with_own_input`]).
    pub sites: &'a [Site],
    /// Held-out rows.
    pub test: &'a Rows,
    /// p(y | x, θ).
    pub model: Arc<dyn Model>,
    /// p(θ): a precision by itself is that of N(0, 1/precision).
    pub prior: EncodedPrior,
    /// Seeds batches, noise and schedule.
    pub seed: u64,
    /// Digest of the data as they were dealt: noise is bound to it.
    pub data: Digest,
    /// Costs that are known: shared by the seeds of a study, each plan is costed once.
    pub costs: Arc<Costs>,
}

impl Simulation<'_> {
    /// Runs to the end: builds the method, makes rounds until they are over or every budget is spent, and
    /// scores what is served.
    ///
    /// # Errors
    /// A method that does not fit the model or the sites, a plan that no budget covers, a posterior that is
    /// no Gaussian any more, and [`RunError::Stopped`] where the observer says so.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Record, RunError> {
        let built = self.build()?;
        let drive = self.start(&built, &Direct, None)?;
        self.finish(&built, drive, observer)
    }

    /// The method's parts for these sites. Refused where it needs ids of records or persons that a site's rows do not have, or
    /// promises persons something that have rows at two sites.
    ///
    /// # Errors
    /// What [`crate::build`] refuses, and rows without record ids where parts follow from these.
    pub fn build(&self) -> Result<Built, RunError> {
        if self.method.needs_record_ids() {
            self.sites.iter().try_for_each(|site| site.shard.keys().records().map(|_| ()))?;
        }
        let unit = self.method.unit();
        if unit == Unit::Person {
            persons_at_one_site(self.sites)?;
        }
        let count = |site: &Site| Ok(site.shard.count(unit)? as u64);
        let rows: Vec<u64> = self.sites.iter().map(count).collect::<Result<_, PrivacyError>>()?;
        let shared = self.test.layout().without(self.method.own_parameters());
        build_with(&self.costs, self.method, &rows, self.model.clone(), &shared, &self.prior, self.seed)
    }

    /// The run before its first round, over a link of one's choice.
    pub fn start<'b>(
        &'b self,
        built: &'b Built,
        link: &'b dyn Link,
        tape: Option<&Tape>,
    ) -> Result<Drive<'b>, RunError> {
        self.start_with(built.protocol.as_ref(), built, link, tape)
    }

    /// The same with another protocol in place of the method's own, for tests of the driver.
    pub fn start_with<'b>(
        &'b self,
        protocol: &'b dyn Protocol,
        built: &'b Built,
        link: &'b dyn Link,
        tape: Option<&Tape>,
    ) -> Result<Drive<'b>, RunError> {
        let clients = self.clients(built)?;
        let workshop = SimulationContext {
            seed: self.seed,
            run: self.run_id(built)?,
            summing: built.summing,
            tape: tape.cloned(),
        };
        Drive::new(protocol, self.method.schedule, link, workshop, clients, &built.rates)
    }

    /// The clients, with their ledgers open. To cost a plan takes longer than many an answer: what a plan has certified is not
    /// costed again, and of others equal ones once.
    fn clients<'b>(&'b self, built: &'b Built) -> Result<Vec<Client<'b>>, RunError> {
        let firsts = first_alike(&built.grants)?;
        let all = self.sites.par_iter().zip(&built.terms).zip(&built.grants).zip(&firsts).enumerate();
        let opened: Vec<_> = all
            .map(|(m, (((site, terms), grant), &first))| {
                let known = built.plan.clients.get(m).and_then(|plan| plan.certified_plan.as_ref());
                let open = || Client::certified(m, &site.shard, terms.clone(), grant.clone(), known);
                let opened = (first == m).then(open);
                (site, terms, first, opened.transpose())
            })
            .collect();
        let mut clients: Vec<Client<'b>> = Vec::with_capacity(opened.len());
        for (m, (site, terms, first, opened)) in opened.into_iter().enumerate() {
            clients.push(match opened? {
                Some(client) => client,
                None => clients[first].alike(m, &site.shard, terms.clone())?,
            });
        }
        let opened = clients.into_iter().zip(&built.openings);
        Ok(opened.map(|(client, openings)| client.with_openings(openings.clone())).collect())
    }

    /// Binds noise to everything that defines the run: settings, model, prior, the clients on their terms, the seed of
    /// noise, and the data. Two methods of one name, or a study before and after an edit, share none.
    fn run_id(&self, built: &Built) -> Result<[u8; 16], RunError> {
        let model = format!("{:?}", self.model);
        let clients: Vec<(&str, &Terms)> = self.sites.iter().map(|s| s.name.as_str()).zip(&built.terms).collect();
        let manifest = (self.method, model, &self.prior, (clients, &built.openings), ("seeded", self.seed), self.data);
        let digest = Sha256::digest(encode(&manifest, "a manifest")?);
        Ok(std::array::from_fn(|i| digest[i]))
    }

    /// Makes the rounds. The curve has at most [`MOST_POINTS`] points, evenly spaced in rounds; the record
    /// has the scores of the last state.
    fn finish(&self, built: &Built, mut drive: Drive<'_>, observer: &mut dyn Observer) -> Result<Record, RunError> {
        let spending = Spending::new(self.method, &built.plan, &self.costs);
        let of = self.method.most_rounds();
        let every = of.div_ceil(MOST_POINTS).max(1);
        let exact = self.exact_posterior()?;
        let moments = self.exact_moments()?;
        let known = (exact.as_ref(), moments.as_ref());
        let mut last_rounds = LastRounds::default();
        let mut seen = self.look(built, &drive, known)?;
        let mut curve = vec![self.point(&seen, &drive, &spending)?];
        let mut drawn = Collected::new(self.method);
        let mut before = None;
        while drive.rounds() < of {
            if observer.stops() {
                return Err(RunError::Stopped);
            }
            let last = approaches(self.method).then(|| drive.state().to_vec());
            if drive.round()? == Progress::Spent {
                break;
            }
            before = last;
            if drawn.draws() {
                drawn.take(drive.last_draw()?);
            }
            if let Some(exact) = &exact {
                last_rounds.take(&served(built, &drive)?, exact);
            }
            if drive.rounds().is_multiple_of(every) {
                seen = self.look(built, &drive, known)?;
                let point = self.point(&seen, &drive, &spending)?;
                observer.round(&point, of, spending.left(&drive));
                curve.push(point);
            }
        }
        if curve.last().is_some_and(|p| p.round != drive.rounds()) {
            seen = self.look(built, &drive, known)?;
            curve.push(self.point(&seen, &drive, &spending)?);
        }
        let names: Vec<&str> = self.sites.iter().map(|s| s.name.as_str()).collect();
        let spent = spending.of_clients(&names, &drive)?;
        // At the end it is the largest of all.
        curve.iter_mut().last().into_iter().for_each(|end| end.epsilon = largest(spent.iter().map(|c| c.certified)));
        let last_moves = last_moves(built, before.as_deref(), &drive, &seen.posterior)?;
        Ok(Record {
            seed: self.seed,
            rounds: drive.rounds(),
            messages: drive.messages(),
            bytes: drive.bytes(),
            curve,
            scores: scores(&seen.predictions, self.test.outcomes()),
            sites: self.at_sites(&seen.predictions),
            kl: last_rounds.divergence(),
            parameter: last_rounds.parameter(self.seed, exact.as_ref()),
            recovery: None,
            calibration: calibration(&seen.predictions, self.test.outcomes()),
            checks: self.checks(&seen.predictions),
            posterior: seen.posterior,
            quantiles: drive.quantiles()?,
            chains: drawn.into_chains(),
            warm_up: self.method.algorithm.draws().map_or(0, |draws| draws.warm_up),
            intercepts: seen.intercepts,
            outcome_variance: seen.outcome_variance,
            noise_multiplier: largest(built.plan.clients.iter().map(|c| c.noise_multiplier())),
            clip: largest(built.plan.clients.iter().map(|c| c.shape.bound().get())),
            spending: spent,
            fit: None,
            last_moves,
            warnings: of_plan(self.method, &built.plan).iter().cloned().chain(drive.warning()?).collect(),
        })
    }

    /// What is served now, and how it does.
    fn look(
        &self,
        built: &Built,
        drive: &Drive<'_>,
        (exact, moments): (Option<&Gaussian>, Option<&Exact>),
    ) -> Result<ServedView, RunError> {
        let posterior = served(built, drive)?;
        let against = Against {
            kl: exact.map(|exact| posterior.kl(exact)),
            natural: exact.and_then(|_| natural_pair(&posterior)),
            ..Against::of(&posterior, moments)
        };
        let outcome_variance = drive.outcome_variance()?;
        let Some(home) = &built.home else {
            let predictions = match outcome_variance {
                Some(noise_variance) => Linear::known(noise_variance).predict(self.test, &posterior),
                None => self.model.predict(self.test, &posterior),
            };
            return Ok(ServedView { posterior, predictions, intercepts: Vec::new(), against, outcome_variance });
        };
        // A row of no site, or of one that nobody knows, has an intercept from the prior.
        let mut predictions = self.model.predict(self.test, &at_home(&posterior, home.prior())?.0);
        let mut intercepts = Vec::new();
        for (client, site) in self.sites.iter().enumerate() {
            let own = drive.at_home(client)?.unwrap_or_else(|| home.prior());
            let (q, [mean, deviation]) = at_home(&posterior, own)?;
            let here = self.model.predict(&self.test.select(&site.own), &q);
            site.own.iter().zip(here).for_each(|(&row, prediction)| predictions[row] = prediction);
            intercepts.push(SiteIntercept { site: site.name.clone(), mean, deviation });
        }
        Ok(ServedView { posterior, predictions, intercepts, against, outcome_variance })
    }

    /// One point of the curve: scores, messages and the largest certified ε so far.
    fn point(&self, seen: &ServedView, drive: &Drive<'_>, spending: &Spending<'_>) -> Result<CurvePoint, RunError> {
        let scores = on_the_way(&seen.predictions, self.test.outcomes());
        let (round, messages, epsilon) = (drive.rounds(), drive.messages(), spending.so_far(drive)?);
        let Against { kl, natural, mean_error, variance_error } = seen.against;
        Ok(CurvePoint { round, messages, epsilon, scores, kl, natural, mean_error, variance_error })
    }

    /// Predicted against observed outcomes, in tenths of all held-out rows and at the sites that own some.
    pub(crate) fn checks(&self, predictions: &[Prediction]) -> PredictiveChecks {
        let sites = self.sites.iter().map(|site| (site.name.as_str(), site.own.as_slice()));
        PredictiveChecks::of(&HeldOut { predictions, outcomes: self.test.outcomes() }, sites)
    }

    /// Scores of the predictions of all held-out rows at each site that owns some of them.
    pub(crate) fn at_sites(&self, predictions: &[Prediction]) -> Vec<SiteScores> {
        let owners = self.sites.iter().filter(|site| !site.own.is_empty());
        let outcomes = self.test.outcomes();
        owners
            .map(|site| SiteScores { site: site.name.clone(), scores: scores_at(&site.own, predictions, outcomes) })
            .collect()
    }
}

/// A served posterior, and what it predicts for the held-out rows.
struct ServedView {
    /// The shared posterior.
    posterior: Gaussian,
    /// Of all held-out rows, each at its own site where it has one.
    predictions: Vec<Prediction>,
    /// Of each site, where sites have their own.
    intercepts: Vec<SiteIntercept>,
    /// Distances from the exact posterior.
    against: Against,
    /// The variance of the outcome, where the method learnt it.
    outcome_variance: Option<f64>,
}

/// A served posterior against the exact one, as far as that is known.
#[derive(Debug, Clone, Copy)]
struct Against {
    /// KL(served ‖ exact), in nats.
    kl: Option<f64>,
    /// Precision, and precision times mean, of the only parameter.
    natural: Option<[f64; 2]>,
    /// Mean absolute difference of the means.
    mean_error: Option<f64>,
    /// Mean absolute difference of the variances.
    variance_error: Option<f64>,
}

impl Against {
    /// Mean distances of means and variances, parameter by parameter.
    fn of(posterior: &Gaussian, exact: Option<&Exact>) -> Self {
        let distance = |ours: &[f64], exact: &[f64]| {
            ours.iter().zip(exact).map(|(a, b)| (a - b).abs()).sum::<f64>() / exact.len() as f64
        };
        Self {
            kl: None,
            natural: None,
            mean_error: exact.map(|exact| distance(posterior.mean(), &exact.mean)),
            variance_error: exact.map(|exact| distance(&posterior.variances(), &exact.variances)),
        }
    }
}

/// The shared posterior with a site's own intercept behind it, and that one's mean and deviation.
fn at_home(posterior: &Gaussian, [first, second]: Natural) -> Result<(Gaussian, [f64; 2]), RunError> {
    let (mean, variance) = (first / (-2.0 * second), 1.0 / (-2.0 * second));
    let means = posterior.mean().iter().copied().chain([mean]).collect();
    let variances = posterior.deviations().iter().map(|s| s * s).chain([variance]).collect();
    Ok((Gaussian::new_diagonal(means, variances).ok_or_else(diverged)?, [mean, variance.sqrt()]))
}

/// For each grant, the number of the first that is equal.
fn first_alike(grants: &[Grant]) -> Result<Vec<usize>, RunError> {
    let mut known = BTreeMap::new();
    let first = |(m, grant)| Ok(*known.entry(encode(grant, "a grant")?).or_insert(m));
    grants.iter().enumerate().map(first).collect()
}

/// The proper Gaussian that is served.
fn served(built: &Built, drive: &Drive<'_>) -> Result<Gaussian, RunError> {
    let eta = drive.posterior()?;
    built.problem.family.gaussian(&eta).ok_or_else(diverged)
}

/// How far the served means moved in the last round, of which `before` is the state before it.
fn last_moves(built: &Built, before: Option<&[u8]>, drive: &Drive<'_>, now: &Gaussian) -> Result<Vec<f64>, RunError> {
    let Some(before) = before.filter(|_| drive.rounds() > 1) else { return Ok(Vec::new()) };
    let eta = built.protocol.posterior(before)?;
    let before = built.problem.family.gaussian(&eta).ok_or_else(diverged)?;
    Ok(moves(before.mean(), now.mean(), &now.deviations()))
}

/// The served numbers are those of no Gaussian.
fn diverged() -> RunError {
    RunError::Diverged
}

/// The largest; none of nothing.
fn largest(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    numbers.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use privacy::{Delta, Epsilon, Filter};

    #[test]
    fn equal_grants_are_found_wherever_they_stand() {
        let of = |epsilon: f64| {
            let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(1e-5).unwrap());
            Grant::Limited { epsilon, delta, filter: Filter::Zcdp }
        };
        let grants = [of(1.0), Grant::Unlimited, of(1.0), of(2.0), Grant::Unlimited, of(2.0)];
        assert_eq!(first_alike(&grants).unwrap(), [0, 1, 0, 3, 1, 3]);
    }
}
