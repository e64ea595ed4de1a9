//! A chain of draws as a study states it: which test moves it, how far, how long, and from where.
//!
//! The noise of a chain follows from ε and the number of its iterations; a study states iterations and
//! the planner finds the noise, or refuses iterations that the budget does not pay for.
//!
//! ```toml
//! algorithm = "chain"
//! chain = { sampler = "barker", iterations = 20000, step = 0.1, batch = 1000, counts_as = 100 }
//! ```

use super::noise::{self, ChainNoise};
use super::{Beginning, Chain, Sampler, Target};
use crate::algorithm::pvi::COVARIANCE_KEY;
use crate::algorithm::{GlobalVi, Protocol};
use crate::client::Summing;
use crate::describe::{
    AT_OWN_GATES, Allowed, Conflict, Descriptor, Key, Keys, Limits, NOT_TOGETHER, Need, Offer, Otherwise, Pacing,
    Reading, Registered, STRAY, VALUE, ValueKind, resolve,
};
use crate::method::{AlgorithmSettings, BoundWords, Description, DrawPlan, Method, Parts};
use crate::release::{Bound, BudgetShare, Clipped, Numbers, OpeningRelease, Release, Releases};
use crate::settings::{Aggregator, Batching, Covariance, Local, Noise, Optimiser, Promise, Rounds};
use crate::solve::{Prior, Problem};
use crate::{Intervals, PriorTerm, RunError, Terms};
use privacy::{Adjacency, Event, Grain, Unit};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// `algorithm = "chain"`: the sampler, how long it runs, and from where.
///
/// Several chains are run one after the other and all paid from one budget: they tell whether the
/// chain has mixed, at the price of noise.
#[derive(Debug, Clone, Serialize)]
pub struct ChainSettings {
    /// How a chain moves.
    #[serde(serialize_with = "by_name")]
    pub sampler: Arc<dyn Sampler>,
    /// T: iterations of each chain.
    pub iterations: u64,
    /// How many chains, one after the other, all paid from one budget.
    pub chains: u32,
    /// Iterations at the start of each chain that the served posterior leaves out.
    pub warm_up: u64,
    /// N₀: as how many rows the data of all sites count, where that is fewer than they are (a tempered posterior).
    pub counts_as: Option<u64>,
    /// Where a chain starts.
    pub start: Start,
    /// How the rows of a test are drawn.
    pub batch: Batching,
    /// Which moments of the draws are served.
    pub covariance: Covariance,
}

/// Where a chain starts.
///
/// The first two cost nothing. The others learn a good start with noisy gradients, which saves warm-up
/// iterations and costs a share of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Start {
    /// At the prior's mean.
    Origin,
    /// At a draw from the prior.
    Prior,
    /// At a draw from a variational posterior, learnt first by noisy gradients and paid for.
    Variational {
        /// Its rounds.
        rounds: u64,
        /// The share of ε and δ that they may cost by themselves, between 0 and 1.
        share: f64,
        /// Step size.
        learning_rate: f64,
    },
    /// Where steps along gradients led, for samplers with leaps: these are released and paid for as the leaps are.
    Climbed {
        /// Their number.
        rounds: u64,
        /// Step size.
        learning_rate: f64,
    },
}

/// A sampler in canonical bytes: its name and its settings.
fn by_name<S: Serializer>(sampler: &Arc<dyn Sampler>, to: S) -> Result<S::Ok, S::Error> {
    let bytes = sampler.canonical().map_err(serde::ser::Error::custom)?;
    (sampler.descriptor().name, bytes).serialize(to)
}

/// Draws of a chain that can be told anything of.
const FEWEST_DRAWS: u64 = 4;

/// Leaps, Langevin steps and variational starts follow gradients.
const SLOPES: Need = Need {
    offer: Offer::Gradients,
    key: "chain.sampler",
    whose: "steps along gradients need",
    hint: "use sampler = \"barker\" or \"penalty\" with start = \"prior\" or \"origin\"",
};

/// Questions of a run that ends.
const MOST_QUESTIONS: u64 = 1_000_000_000;

/// `chain.start` as a table.
const START: &[Key] = &[
    Key::new("rounds", ValueKind::AT_LEAST_ONE, "20").about("rounds that lead to the start"),
    Key::new("share", ValueKind::Share, "0.2")
        .about("share of the budget that a variational start may cost; left out, a sampler with leaps climbs there")
        .optional(),
    Key::new("learning_rate", ValueKind::Positive, "0.1").about("step size on the way to the start"),
];

/// `chain`, beside the keys of its sampler.
const CHAIN: &[Key] = &[
    Key::new("sampler", ValueKind::Named(Registered::Sampler), "\"barker\"").about("how a chain moves"),
    Key::new("iterations", ValueKind::AT_LEAST_ONE, "20000").about("iterations of each chain"),
    Key::new("chains", ValueKind::Count { least: 1, most: u32::MAX as u64 }, "4")
        .about("how many chains, all paid from one budget")
        .otherwise(Otherwise::Number(1.0)),
    Key::new("warm_up", ValueKind::Count { least: 0, most: u64::MAX }, "2000")
        .about("iterations at the start of each chain that are not served")
        .otherwise(Otherwise::Follows("a tenth of the iterations")),
    Key::new("batch", ValueKind::AT_LEAST_ONE, "1000")
        .about("rows of a test, drawn without replacement")
        .otherwise(Otherwise::Follows("all rows")),
    Key::new("counts_as", ValueKind::AT_LEAST_ONE, "100")
        .about("as how many rows the data count (a tempered posterior)")
        .otherwise(Otherwise::Follows("as many as there are")),
    Key::new(
        "start",
        ValueKind::Either(&[ValueKind::Word(&["prior", "origin"]), ValueKind::Table(START)]),
        "\"prior\"",
    )
    .about("where a chain starts: a draw from the prior, the origin, or a place that is learnt first")
    .otherwise(Otherwise::Word("prior")),
];

/// `algorithm = "chain"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "chain",
    also: &["dp-mcmc", "mcmc"],
    about: "Draws from the posterior by a Markov chain whose test noise is the privacy mechanism.",
    keys: &[
        Key::new("chain", ValueKind::Table(CHAIN), "{ sampler = \"barker\", iterations = 20000, step = 0.1 }")
            .about("the sampler and how long it runs"),
        COVARIANCE_KEY.otherwise(Otherwise::Word("full")),
    ],
    limits: Limits {
        schedules: Allowed {
            values: &[Pacing::Synchronous],
            because: "every step of a chain is asked of all sites at once",
        },
        units: Allowed { values: &[Unit::Example], because: "chains are accounted for one replaced row" },
        relations: Allowed { values: &[Adjacency::Substitute], because: "chains are accounted for one replaced row" },
        own_numbers: Allowed {
            values: AT_OWN_GATES,
            because: "where only sums are opened, all log-ratios and gradients are in units of one noise",
        },
        site_intercept: false,
        ..Limits::NONE
    },
    read,
};

/// Settings from `chain` and `covariance`; a tenth of the iterations is warm-up unless a study says
/// otherwise.
fn read(reading: &Reading<'_>) -> Result<Arc<dyn AlgorithmSettings>, Conflict> {
    let inner = reading.table("chain", CHAIN);
    let keys = &inner.keys;
    let sampler = resolve::sampler(&inner, keys.word("sampler")?)?;
    let iterations = keys.count("iterations")?;
    let full = reading.keys.word("covariance")? == "full";
    Ok(Arc::new(ChainSettings {
        start: start(keys, sampler.as_ref())?,
        sampler,
        iterations,
        chains: keys.small_count("chains")?,
        warm_up: keys.maybe_count("warm_up")?.unwrap_or(iterations / 10),
        counts_as: keys.maybe_count("counts_as")?,
        batch: keys.maybe_count("batch")?.map_or(Batching::All, Batching::WithoutReplacement),
        covariance: if full { Covariance::Full } else { Covariance::MeanField },
    }))
}

/// The start by its word, or a table of a start that is learnt: with a share of the budget a
/// variational posterior, without one a climb, which only samplers with leaps can pay for.
fn start(keys: &Keys<'_>, sampler: &dyn Sampler) -> Result<Start, Conflict> {
    if !keys.is_table("start") {
        return Ok(if keys.word("start")? == "origin" { Start::Origin } else { Start::Prior });
    }
    let start = keys.table("start", START);
    let (rounds, learning_rate) = (start.count("rounds")?, start.number("learning_rate")?);
    match start.maybe_number("share")? {
        Some(share) => Ok(Start::Variational { rounds, share, learning_rate }),
        None if sampler.leaps().is_some() => Ok(Start::Climbed { rounds, learning_rate }),
        None => {
            let what = "start.share, the part of the budget that the start may cost, is missing";
            Err(keys.conflict("start", STRAY, what, "for example share = 0.5"))
        }
    }
}

impl ChainSettings {
    /// Questions on the way to a start, and of all iterations of all chains.
    pub fn questions(&self) -> u64 {
        let before = match self.start {
            Start::Variational { rounds, .. } | Start::Climbed { rounds, .. } => rounds,
            Start::Origin | Start::Prior => 0,
        };
        let each = self.sampler.leaps().map_or(1, |leaps| u64::from(leaps.count) + 1);
        before.saturating_add(each.saturating_mul(self.iterations).saturating_mul(u64::from(self.chains)))
    }

    /// Whether gradients are asked for, of which the study states the bound.
    fn asks_slopes(&self) -> bool {
        self.sampler.ratio_variance().is_none()
            || self.sampler.leaps().is_some()
            || matches!(self.start, Start::Variational { .. })
    }

    /// One sum of clipped gradients over a batch.
    fn slopes(numbers: usize, batch: Batching) -> Release {
        let (grain, numbers) = (Grain::Example, Numbers::Fixed(numbers));
        Release { grain, sums: 1, numbers, batch, clipped: Clipped::Gradients, bound: Bound::Clip }
    }

    /// The start, in words.
    fn start_words(&self) -> String {
        match self.start {
            Start::Origin => "from the origin".to_owned(),
            Start::Prior => "from a draw of the prior".to_owned(),
            Start::Variational { rounds, share, .. } => {
                format!("from a variational posterior of {rounds} rounds ({share} of the budget)")
            }
            Start::Climbed { rounds, .. } => format!("from where {rounds} steps along gradients lead"),
        }
    }

    /// Refuses a start without rounds or with a share outside its range, and a climb of a sampler that has
    /// no leaps.
    fn check_start(&self) -> Result<(), Conflict> {
        let startable = match self.start {
            Start::Origin | Start::Prior => true,
            Start::Variational { share, learning_rate, rounds } => {
                share > 0.0 && share < 1.0 && learning_rate > 0.0 && rounds > 0
            }
            Start::Climbed { learning_rate, rounds } => learning_rate > 0.0 && rounds > 0,
        };
        if !startable {
            let what = "a start that is learnt has rounds and a learning rate over 0, a variational one a share of the budget between 0 and 1";
            return Err(Conflict::new(
                "chain.start",
                VALUE,
                what,
                "start = { rounds = 20, share = 0.2, learning_rate = 0.1 }",
            ));
        }
        let leaps = self.sampler.leaps().is_some();
        match self.start {
            Start::Climbed { .. } if !leaps => {
                let what =
                    "a start without a share of the budget is paid for as leaps are, which this sampler does not have";
                Err(Conflict::new("chain.start", NOT_TOGETHER, what, "state a share, or use sampler = \"hamiltonian\""))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a noise multiplier of one's own, a completed test under an aggregator, and a variational
    /// start of a sampler with leaps.
    fn check_promise(&self, promise: &Promise) -> Result<(), Conflict> {
        if promise.noise != Noise::Calibrated {
            let what = "a chain's noise follows from ε and its iterations";
            return Err(Conflict::new("privacy.noise_multiplier", STRAY, what, "leave noise_multiplier out"));
        }
        if self.sampler.completes() && promise.aggregator != Aggregator::None {
            let what =
                "no site knows the variance of all sites' batches: under an aggregator the test's noise is fixed";
            return Err(Conflict::new("chain.noise", NOT_TOGETHER, what, "use noise = \"fixed\""));
        }
        if matches!(self.start, Start::Variational { .. }) && self.sampler.leaps().is_some() {
            let what = "a sampler with leaps starts from the prior, the origin, or where gradients led: no share of the budget";
            return Err(Conflict::new("chain.start", NOT_TOGETHER, what, "leave share out of start"));
        }
        Ok(())
    }

    /// The noise in the answers of clients with these terms and numbers of rows.
    fn noise<'a>(&self, terms: &'a [Terms], summing: Summing, rows: &[u64]) -> ChainNoise<'a> {
        let all = rows.iter().sum::<u64>() as f64;
        ChainNoise { terms, summing, temper: self.counts_as.map_or(1.0, |rows| rows as f64 / all) }
    }

    /// Where chains start: a variational posterior is mean-field, and its gradients are of all rows, tempered as the chain is.
    fn beginning(&self, problem: &Problem, noise: &ChainNoise<'_>) -> Beginning {
        match self.start {
            Start::Origin => Beginning::Origin,
            Start::Prior => Beginning::Prior,
            Start::Climbed { rounds, learning_rate } => Beginning::Climbed { rounds, rate: learning_rate },
            Start::Variational { rounds, learning_rate, .. } => {
                let family = Covariance::MeanField.family(problem.family.dimension());
                // A start: of a prior with correlations, the nearest that a mean-field family has.
                let nearest = problem.family.gaussian(&problem.prior.0).map(|prior| family.natural(&prior));
                let prior = term(problem).natural(family).or(nearest);
                let prior = Prior(prior.unwrap_or_else(|| family.prior_of_each(&term(problem).diagonal())));
                let problem = Problem { model: problem.model.clone(), family, prior };
                let inverse_rates = vec![noise.temper; noise.terms.len()];
                let local = Local { learning_rate, optimiser: Optimiser::Adam, ..Local::whole_step() };
                Beginning::Learnt { by: GlobalVi { problem, local, inverse_rates }, rounds }
            }
        }
    }
}

impl AlgorithmSettings for ChainSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        self.sampler.descriptor().name
    }

    fn part_key(&self) -> &'static str {
        "chain.sampler"
    }

    fn batch_key(&self) -> &'static str {
        "chain.batch"
    }

    fn describe(&self) -> Description {
        let chains = if self.chains == 1 { "1 chain".to_owned() } else { format!("{} chains", self.chains) };
        let counts = self.counts_as.map(|rows| format!("data count as {rows} rows"));
        let moments = (self.covariance == Covariance::Full).then(|| "full covariance".to_owned());
        let warm_up = if self.warm_up == 0 { "no".to_owned() } else { format!("{} of them", self.warm_up) };
        let length = format!("{chains} of {} iterations, {warm_up} warm-up", self.iterations);
        Description {
            algorithm: format!("chain, {}", self.sampler.describe()),
            details: [length, self.start_words()].into_iter().chain(counts).chain(moments).collect(),
            local: format!("{} in every step", self.batch.words()),
            readout: None,
        }
    }

    fn intervals(&self) -> Intervals {
        Intervals::IgnoreNoise
    }

    fn rounds(&self) -> Rounds {
        Rounds::Count(self.questions())
    }

    fn covariance(&self) -> Covariance {
        self.covariance
    }

    /// The main release is a log-ratio, or a slope where the sampler asks for nothing else. Slopes of a
    /// sampler with leaps, and gradients of a variational start, are on terms of their own.
    fn releases(&self, dimension: usize) -> Releases {
        let main = match self.sampler.ratio_variance() {
            Some(_) => {
                let (clipped, bound) = (Clipped::Ratios, Bound::Unit);
                Release { numbers: Numbers::Fixed(1), clipped, bound, ..Self::slopes(1, self.batch) }
            }
            None => Self::slopes(dimension, self.batch),
        };
        let opening = match (self.sampler.leaps(), self.start) {
            (Some(leaps), start) => {
                let iterations = self.iterations.saturating_mul(u64::from(self.chains));
                let before = if let Start::Climbed { rounds, .. } = start { rounds } else { 0 };
                let answers = iterations.saturating_mul(u64::from(leaps.count)).saturating_add(before);
                let release = Self::slopes(dimension, Batching::All);
                Some(OpeningRelease { answers, share: BudgetShare::OfMu(1.0 - leaps.share), release })
            }
            (None, Start::Variational { rounds, share, .. }) => {
                let release = Self::slopes(dimension.saturating_mul(2), Batching::All);
                Some(OpeningRelease { answers: rounds, share: BudgetShare::OfBudget(share), release })
            }
            (None, _) => None,
        };
        let (alternates, completes) = (self.sampler.leaps().is_some(), self.sampler.completes());
        Releases { openings: opening.into_iter().collect(), main, alternates, reused: false, completes }
    }

    /// Those of the chain and of its sampler; a model needs gradients only where slopes are asked for.
    fn limits(&self) -> Vec<(&'static str, Limits)> {
        let needs = match self.asks_slopes() {
            true => &[SLOPES][..],
            false => &[],
        };
        let sampler = self.sampler.descriptor();
        vec![(DESCRIPTOR.name, Limits { needs, ..DESCRIPTOR.limits }), (sampler.name, sampler.limits)]
    }

    /// Refuses chains without draws, more questions than a run can end with, and whatever the sampler, the
    /// start or the promise refuses.
    fn check(&self, method: &Method) -> Result<(), Conflict> {
        let Self { iterations, chains, warm_up, .. } = *self;
        if chains == 0 {
            return Err(Conflict::new(
                "chain.chains",
                VALUE,
                "chains is 0, expected one or more",
                "for example chains = 4",
            ));
        }
        if iterations.saturating_sub(warm_up) < FEWEST_DRAWS {
            let what = format!(
                "{iterations} iterations with a warm-up of {warm_up} leave fewer than {FEWEST_DRAWS} draws, which say nothing"
            );
            return Err(Conflict::new("chain.iterations", VALUE, what, "use more iterations, or a shorter warm-up"));
        }
        if self.questions() > MOST_QUESTIONS {
            let what =
                format!("{} questions of all chains together, expected at most {MOST_QUESTIONS}", self.questions());
            return Err(Conflict::new("chain.iterations", VALUE, what, "use fewer chains or iterations"));
        }
        self.sampler.check(self.batch)?;
        self.check_start()?;
        match &method.promise {
            Some(promise) => self.check_promise(promise),
            None if self.batch != Batching::All && self.sampler.completes() => Err(Conflict::new(
                "chain.noise",
                NOT_TOGETHER,
                "without privacy there is no noise that could make up for a batch's own",
                "ask all rows, or use noise = \"fixed\", for a test that is too wide by the batch's own variance",
            )),
            None => Ok(()),
        }
    }

    /// Refuses data that count as more rows than there are, and a completed test of several sites.
    fn check_size(&self, method: &Method, rows: &[u64], _: usize) -> Result<(), Conflict> {
        let all = rows.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
        if let Some(found) = self.counts_as.filter(|found| *found > all) {
            let what = format!("data that count as {found} rows, expected at most the {all} that there are");
            return Err(Conflict::new("chain.counts_as", VALUE, what, "leave counts_as out for the posterior itself"));
        }
        if method.promise.is_some() && self.sampler.completes() && rows.len() > 1 {
            let what = "no site knows the variance of all sites' batches: with several sites the test's noise is fixed";
            return Err(Conflict::new("chain.noise", NOT_TOGETHER, what, "use noise = \"fixed\""));
        }
        Ok(())
    }

    fn check_noise(&self, terms: &[Terms], summing: Summing, rows: &[u64]) -> Result<(), RunError> {
        self.sampler.kernel(&self.noise(terms, summing, rows)).map(|_| ())
    }

    fn draws(&self) -> Option<DrawPlan> {
        let Self { iterations, chains, warm_up, counts_as, .. } = *self;
        Some(DrawPlan { iterations, chains, warm_up, counts_as })
    }

    fn conditions(&self, event: &Event) -> Vec<String> {
        self.sampler.ratio_variance().map_or_else(Vec::new, |variance| noise::conditions(variance, event))
    }

    fn bounded(&self, promise: &Promise) -> BoundWords {
        const RATIO: &str = "a bound that follows from the noise";
        let clipped = BoundWords::clipped(promise);
        match (self.sampler.ratio_variance(), self.asks_slopes()) {
            (None, _) => clipped,
            (Some(_), slopes) => BoundWords {
                rows: match slopes {
                    true => format!("gradients {}, log-ratios to {RATIO}", clipped.rows),
                    false => format!("log-ratios clipped to {RATIO}"),
                },
                sums: format!("sums of log-ratios, each clipped to {RATIO}"),
                first_sums: clipped.first_sums,
            },
        }
    }

    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        let problem = parts.problem.clone();
        let target = Target { prior: term(&problem), supports: problem.model.supports(problem.family.dimension()) };
        let noise = self.noise(parts.terms, parts.summing, parts.rows);
        let scales = (0..parts.terms.len()).map(|m| noise.scales(m, self.sampler.as_ref())).collect();
        let seed = parts.seed.to_le_bytes();
        let key = Sha256::new().chain_update(b"coins of a chain").chain_update(seed).finalize().into();
        let (iterations, warm_up, start) = (self.iterations, self.warm_up, self.beginning(&problem, &noise));
        let (kernel, asks_both) = (self.sampler.kernel(&noise)?, self.sampler.leaps().is_some());
        Ok(Box::new(Chain { problem, target, kernel, asks_both, iterations, warm_up, start, scales, key }))
    }
}

/// The prior of the parameters.
fn term(problem: &Problem) -> PriorTerm {
    // Natural parameters of a prior are proper; an improper one would be refused by what it builds.
    let diagonal = |j: usize| -2.0 * problem.prior.0[problem.family.diagonal(j)];
    let independent = || PriorTerm::about_zero((0..problem.family.dimension()).map(diagonal).collect());
    problem.prior_term().unwrap_or_else(independent)
}
