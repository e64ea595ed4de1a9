//! The local optimisation: how many steps, on which rows, by which optimiser.
//!
//! Two tables of keys read into one type. [`LOCAL_KEY`] is for solvers that take noisy steps on drawn
//! rows; [`WHOLE_KEY`] is for solvers that optimise without noise on all rows at once, and refuses the
//! keys of batches with that reason.

use crate::describe::{Conflict, Key, Keys, NOT_TOGETHER, Otherwise, STRAY, VALUE, ValueKind};
use privacy::SamplingRate;
use serde::Serialize;

/// The local optimisation of one update: `steps` steps of `optimiser`, each on a batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Local {
    /// T: steps of one update.
    pub steps: u64,
    /// How a step's rows are drawn.
    pub batch: Batching,
    /// How q moves.
    pub optimiser: Optimiser,
    /// Step size.
    pub learning_rate: f64,
    /// Whether moments of the optimiser are kept from one update of a client to its next.
    pub keep_state: bool,
    /// Coordinates of the spread.
    pub chart: Chart,
    /// Which gradients are clipped, noised and released.
    pub gradients: Gradients,
}

/// Which gradients DP optimisation clips, noises and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Gradients {
    /// By the means and by the log deviations, clipped together.
    Full,
    /// By the means alone; those by the log deviations follow from the release, where a model draws its parameters once
    /// for a batch (Jälkö et al. 2022, arXiv:2210.15961).
    Aligned,
}

impl Gradients {
    /// Numbers of a released sum for d parameters.
    pub fn numbers(self, dimension: usize) -> usize {
        match self {
            Self::Full => dimension.saturating_mul(2),
            Self::Aligned => dimension,
        }
    }
}

/// How a step's rows are drawn.
///
/// How a batch is drawn decides what a step costs, so that it travels into the event of the ledger.
/// Poisson batches under substitution have the tight accountant of `docs/maths/poisson-substitution.md`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Batching {
    /// All rows.
    All,
    /// Each row with this probability.
    Poisson(SamplingRate),
    /// Each row with probability max(at_least, ⌈fraction·N⌉)/N, N the declared number of rows.
    PoissonOf {
        /// Share of the rows.
        fraction: f64,
        /// Expected rows at least.
        at_least: u64,
    },
    /// A uniform subset of so many rows.
    WithoutReplacement(u64),
}

/// How q moves in a local step.
///
/// The first three move (μ, log s) of a mean-field q along gradients. [`Optimiser::Natural`] moves
/// natural parameters, of any family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Optimiser {
    /// Plain gradient steps.
    Sgd,
    /// Duchi et al. 2011.
    Adagrad,
    /// Kingma and Ba 2015.
    Adam,
    /// Natural gradients in closed form, on all rows: only in the clear.
    Natural,
}

/// Coordinates of the spread that an optimiser moves.
///
/// The gradient by log s² is half of that by log s. The workshop paper optimises log s², so that its
/// published learning rates belong to that chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Chart {
    /// log s.
    LogDeviation,
    /// log s².
    LogVariance,
}

/// `rate` and `batch`: how the rows of a step are drawn.
const BATCH_KEYS: [Key; 2] = [
    Key::new("rate", ValueKind::Fraction, "0.05")
        .about("each row is in a step with this probability")
        .otherwise(Otherwise::Follows("all rows, unless batch says otherwise")),
    Key::new(
        "batch",
        ValueKind::Either(&[
            ValueKind::Word(&["all"]),
            ValueKind::Table(&[
                Key::new("fraction", ValueKind::Fraction, "0.02").about("share of the rows"),
                Key::new("at_least", ValueKind::AT_LEAST_ONE, "20")
                    .about("expected rows at least")
                    .otherwise(Otherwise::Number(1.0)),
            ]),
            ValueKind::Table(&[
                Key::new("rows", ValueKind::AT_LEAST_ONE, "100").about("rows of a step"),
                Key::new("without_replacement", ValueKind::Flag, "true").about("must be true"),
            ]),
        ]),
        "\"all\"",
    )
    .about("all rows, a fraction of the rows but at least so many, or a fixed number without replacement")
    .otherwise(Otherwise::Word("all")),
];

/// `local.steps`
const STEPS: Key =
    Key::new("steps", ValueKind::AT_LEAST_ONE, "10").about("steps of one update").otherwise(Otherwise::Number(1.0));

/// `local.learning_rate`
const LEARNING_RATE: Key =
    Key::new("learning_rate", ValueKind::Positive, "0.05").about("step size").otherwise(Otherwise::Number(1.0));

/// `local.keep_state`
const KEEP_STATE: Key = Key::new("keep_state", ValueKind::Flag, "true")
    .about("whether moments of the optimiser are kept from one update of a client to its next")
    .otherwise(Otherwise::Flag(false));

/// `local.chart`
const CHART: Key = Key::new("chart", ValueKind::Word(&["log-deviation", "log-variance"]), "\"log-deviation\"")
    .about("coordinates of the spread that the optimiser moves")
    .otherwise(Otherwise::Word("log-deviation"));

/// `local.gradients`
const GRADIENTS: Key = Key::new("gradients", ValueKind::Word(&["full", "aligned"]), "\"full\"")
    .about("which gradients are released: by means and log standard deviations, or by means alone")
    .otherwise(Otherwise::Word("full"));

/// `local.optimiser`
const OPTIMISER: Key =
    Key::new("optimiser", ValueKind::Word(&["sgd", "adagrad", "adam", "natural"]), "\"adam\"").about("how q moves");

/// Keys of noisy steps whose settings can be derived.
const DERIVED_LOCAL_KEYS: &[Key] = &[
    STEPS,
    BATCH_KEYS[0],
    BATCH_KEYS[1],
    OPTIMISER.otherwise(Otherwise::Word("adam")),
    LEARNING_RATE,
    KEEP_STATE,
    CHART,
    GRADIENTS,
];

/// Keys of noisy steps on drawn rows.
const LOCAL_KEYS: &[Key] =
    &[STEPS, BATCH_KEYS[0], BATCH_KEYS[1], OPTIMISER, LEARNING_RATE, KEEP_STATE, CHART, GRADIENTS];

/// `local.batch` of a search on all rows: it may be stated.
const ALL_ROWS: Key = Key::new("batch", ValueKind::Word(&["all"]), "\"all\"")
    .about("this solver uses all rows in every step")
    .otherwise(Otherwise::Word("all"));

/// `local.rate`, there to be refused with its reason.
const NO_RATE: Key = Key::new("rate", ValueKind::Refused("this solver uses all rows in every step"), "1.0")
    .about("nothing: this solver uses all rows in every step")
    .optional();

/// Keys of a search without noise.
const WHOLE_KEYS: &[Key] = &[STEPS, NO_RATE, ALL_ROWS, OPTIMISER, LEARNING_RATE, CHART];

/// `local` where noisy steps are taken along gradients of drawn rows.
pub const LOCAL_KEY: Key = Key::new(
    "local",
    ValueKind::Table(LOCAL_KEYS),
    "{ steps = 10, rate = 0.05, optimiser = \"adam\", learning_rate = 0.05 }",
)
.about("the local optimisation");

/// `local` where noisy steps are taken and their settings can be derived from public numbers.
pub const DERIVED_LOCAL_KEY: Key = Key { kind: ValueKind::Table(DERIVED_LOCAL_KEYS), ..LOCAL_KEY }
    .otherwise(Otherwise::Follows("with privacy, public numbers: Adam on a tenth of the rows or more"));

/// `local` where a client optimises without noise on all its rows at once.
pub const WHOLE_KEY: Key =
    Key::new("local", ValueKind::Table(WHOLE_KEYS), "{ steps = 10, optimiser = \"adam\", learning_rate = 0.02 }")
        .about("the local optimisation, on all rows at once");

impl Batching {
    /// From `rate` and `batch`.
    ///
    /// # Errors
    /// `rate` beside `batch`, a rate that is none, and a fixed size that is not drawn without replacement.
    pub fn read(keys: &Keys<'_>) -> Result<Self, Conflict> {
        let rate = keys.maybe_number("rate")?;
        if let Some(rate) = rate {
            if keys.has("batch") {
                let what = "rate and batch both say how rows are drawn";
                return Err(keys.conflict("batch", STRAY, what, "leave one of them out"));
            }
            let rate = SamplingRate::new(rate).map_err(|error| Conflict::of_privacy("local.rate", &error))?;
            return Ok(Self::Poisson(rate));
        }
        if !keys.is_table("batch") {
            return Ok(Self::All);
        }
        let batch = keys.table("batch", BATCH_TABLE);
        if batch.has("rows") {
            if !batch.flag("without_replacement")? {
                let what = "batches of fixed size are drawn without replacement";
                return Err(keys.conflict("batch", VALUE, what, "add without_replacement = true, or state a rate"));
            }
            return Ok(Self::WithoutReplacement(batch.count("rows")?));
        }
        Ok(Self::PoissonOf { fraction: batch.number("fraction")?, at_least: batch.count("at_least")? })
    }

    /// Whether its rate follows from the number of rows.
    pub fn goes_by_rows(self) -> bool {
        matches!(self, Self::PoissonOf { .. })
    }

    /// Which rows a step takes, in words.
    pub fn words(self) -> String {
        match self {
            Self::All => "all rows".to_owned(),
            Self::Poisson(rate) => format!("each row with probability {rate}"),
            Self::PoissonOf { fraction, at_least } => {
                format!("each row at random, {fraction} of them but at least {at_least} expected")
            }
            Self::WithoutReplacement(rows) => format!("{rows} rows without replacement"),
        }
    }
}

/// Both tables that may stand under `batch`: values were validated against one of them.
const BATCH_TABLE: &[Key] = &[Key::new("at_least", ValueKind::AT_LEAST_ONE, "20")
    .about("expected rows at least")
    .otherwise(Otherwise::Number(1.0))];

impl Local {
    /// From the table of [`LOCAL_KEY`].
    pub fn read(method: &Keys<'_>) -> Result<Self, Conflict> {
        Self::of(&method.table("local", LOCAL_KEYS))
    }

    /// From the table of [`DERIVED_LOCAL_KEY`]; where it is left out these, if they are given.
    pub fn read_or(method: &Keys<'_>, starting: Option<Self>) -> Result<Self, Conflict> {
        match starting {
            Some(starting) if !method.has("local") => Ok(starting),
            None if !method.has("local") => Self::read(method),
            _ => Self::of(&method.table("local", DERIVED_LOCAL_KEYS)),
        }
    }

    /// From a table of noisy steps.
    fn of(keys: &Keys<'_>) -> Result<Self, Conflict> {
        Ok(Self {
            steps: keys.count("steps")?,
            batch: Batching::read(keys)?,
            optimiser: optimiser(keys)?,
            learning_rate: keys.number("learning_rate")?,
            keep_state: keys.flag("keep_state")?,
            chart: chart(keys)?,
            gradients: if keys.word("gradients")? == "aligned" { Gradients::Aligned } else { Gradients::Full },
        })
    }

    /// From the table of [`WHOLE_KEY`].
    pub fn read_whole(method: &Keys<'_>) -> Result<Self, Conflict> {
        let keys = &method.table("local", WHOLE_KEYS);
        Ok(Self {
            steps: keys.count("steps")?,
            optimiser: optimiser(keys)?,
            learning_rate: keys.number("learning_rate")?,
            chart: chart(keys)?,
            ..Self::whole_step()
        })
    }

    /// One whole natural step on all rows.
    pub fn whole_step() -> Self {
        Self {
            steps: 1,
            batch: Batching::All,
            optimiser: Optimiser::Natural,
            learning_rate: 1.0,
            keep_state: false,
            chart: Chart::LogDeviation,
            gradients: Gradients::Full,
        }
    }

    /// Whether it is one whole natural step.
    pub fn is_whole_step(&self) -> bool {
        (self.optimiser, self.steps, self.learning_rate) == (Optimiser::Natural, 1, 1.0)
    }

    /// Refuses natural steps on drawn rows.
    pub fn check_batch(&self) -> Result<(), Conflict> {
        if self.optimiser != Optimiser::Natural || self.batch == Batching::All {
            return Ok(());
        }
        let key = if matches!(self.batch, Batching::Poisson(_)) { "local.rate" } else { "local.batch" };
        Err(Conflict::new(key, NOT_TOGETHER, "natural steps use all rows", "leave rate and batch out"))
    }

    /// Refuses natural steps where every step's gradient is clipped and noised.
    pub fn check_gradients(&self) -> Result<(), Conflict> {
        if self.optimiser != Optimiser::Natural {
            return Ok(());
        }
        let what = "natural steps are taken without noise, but here every step's gradient is clipped and noised";
        Err(Conflict::new("local.optimiser", NOT_TOGETHER, what, "use sgd, adagrad or adam"))
    }

    /// Refuses gradients by the means alone, where no step is made locally.
    pub fn check_full_gradients(&self) -> Result<(), Conflict> {
        if self.gradients == Gradients::Full {
            return Ok(());
        }
        let what = "aligned gradients belong to local steps of DP optimisation, of pvi or a committee";
        Err(Conflict::new("local.gradients", NOT_TOGETHER, what, "use gradients = \"full\""))
    }

    /// In words.
    pub fn words(&self) -> String {
        if self.is_whole_step() {
            return "1 natural-gradient step, all rows".to_owned();
        }
        let optimiser = match self.optimiser {
            Optimiser::Sgd => "SGD",
            Optimiser::Adagrad => "Adagrad",
            Optimiser::Adam => "Adam",
            Optimiser::Natural => "natural gradients",
        };
        let steps = if self.steps == 1 { "1 step".to_owned() } else { format!("{} steps", self.steps) };
        let kept = if self.keep_state { ", state kept" } else { "" };
        let aligned = if self.gradients == Gradients::Aligned { ", aligned gradients" } else { "" };
        format!(
            "{steps} of {optimiser} with learning rate {}, {}{kept}{aligned}",
            self.learning_rate,
            self.batch.words()
        )
    }
}

/// The optimiser by its word.
fn optimiser(keys: &Keys<'_>) -> Result<Optimiser, Conflict> {
    Ok(match keys.word("optimiser")? {
        "sgd" => Optimiser::Sgd,
        "adagrad" => Optimiser::Adagrad,
        "natural" => Optimiser::Natural,
        _ => Optimiser::Adam,
    })
}

/// The chart by its word.
fn chart(keys: &Keys<'_>) -> Result<Chart, Conflict> {
    Ok(if keys.word("chart")? == "log-variance" { Chart::LogVariance } else { Chart::LogDeviation })
}
