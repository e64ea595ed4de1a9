//! The local optimisation: how many steps, on which rows, by which optimiser.

use crate::describe::{Conflict, Key, Keys, NOT_TOGETHER, Otherwise, STRAY, VALUE, ValueKind};
use privacy::SamplingRate;
use serde::Serialize;

/// The local optimisation.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Chart {
    /// log s.
    LogDeviation,
    /// log s².
    LogVariance,
}

/// `rate` and `batch`: how the rows of a step are drawn.
const BATCH_KEYS: [Key; 2] = [
    Key {
        name: "rate",
        about: "each row is in a step with this probability",
        kind: ValueKind::Fraction,
        otherwise: Otherwise::Follows("all rows, unless batch says otherwise"),
        example: "0.05",
    },
    Key {
        name: "batch",
        about: "all rows, a fraction of the rows but at least so many, or a fixed number without replacement",
        kind: ValueKind::Either(&[
            ValueKind::Word(&["all"]),
            ValueKind::Table(&[
                Key {
                    name: "fraction",
                    about: "share of the rows",
                    kind: ValueKind::Fraction,
                    otherwise: Otherwise::Required,
                    example: "0.02",
                },
                Key {
                    name: "at_least",
                    about: "expected rows at least",
                    kind: ValueKind::AT_LEAST_ONE,
                    otherwise: Otherwise::Number(1.0),
                    example: "20",
                },
            ]),
            ValueKind::Table(&[
                Key {
                    name: "rows",
                    about: "rows of a step",
                    kind: ValueKind::AT_LEAST_ONE,
                    otherwise: Otherwise::Required,
                    example: "100",
                },
                Key {
                    name: "without_replacement",
                    about: "must be true",
                    kind: ValueKind::Flag,
                    otherwise: Otherwise::Required,
                    example: "true",
                },
            ]),
        ]),
        otherwise: Otherwise::Word("all"),
        example: "\"all\"",
    },
];

const STEPS: Key = Key {
    name: "steps",
    about: "steps of one update",
    kind: ValueKind::AT_LEAST_ONE,
    otherwise: Otherwise::Number(1.0),
    example: "10",
};

const LEARNING_RATE: Key = Key {
    name: "learning_rate",
    about: "step size",
    kind: ValueKind::Positive,
    otherwise: Otherwise::Number(1.0),
    example: "0.05",
};

const KEEP_STATE: Key = Key {
    name: "keep_state",
    about: "whether moments of the optimiser are kept from one update of a client to its next",
    kind: ValueKind::Flag,
    otherwise: Otherwise::Flag(false),
    example: "true",
};

const CHART: Key = Key {
    name: "chart",
    about: "coordinates of the spread that the optimiser moves",
    kind: ValueKind::Word(&["log-deviation", "log-variance"]),
    otherwise: Otherwise::Word("log-deviation"),
    example: "\"log-deviation\"",
};

const GRADIENTS: Key = Key {
    name: "gradients",
    about: "which gradients are released: by means and log standard deviations, or by means alone",
    kind: ValueKind::Word(&["full", "aligned"]),
    otherwise: Otherwise::Word("full"),
    example: "\"full\"",
};

const OPTIMISER: Key = Key {
    name: "optimiser",
    about: "how q moves",
    kind: ValueKind::Word(&["sgd", "adagrad", "adam", "natural"]),
    otherwise: Otherwise::Required,
    example: "\"adam\"",
};

const LOCAL_KEYS: &[Key] =
    &[STEPS, BATCH_KEYS[0], BATCH_KEYS[1], OPTIMISER, LEARNING_RATE, KEEP_STATE, CHART, GRADIENTS];

const ALL_ROWS: Key = Key {
    name: "batch",
    about: "this solver uses all rows in every step",
    kind: ValueKind::Word(&["all"]),
    otherwise: Otherwise::Word("all"),
    example: "\"all\"",
};

const NO_RATE: Key = Key {
    name: "rate",
    about: "nothing: this solver uses all rows in every step",
    kind: ValueKind::Refused("this solver uses all rows in every step"),
    otherwise: Otherwise::Nothing,
    example: "1.0",
};

const WHOLE_KEYS: &[Key] = &[STEPS, NO_RATE, ALL_ROWS, OPTIMISER, LEARNING_RATE, CHART];

/// `local` where noisy steps are taken along gradients of drawn rows.
pub const LOCAL_KEY: Key = Key {
    name: "local",
    about: "the local optimisation",
    kind: ValueKind::Table(LOCAL_KEYS),
    otherwise: Otherwise::Required,
    example: "{ steps = 10, rate = 0.05, optimiser = \"adam\", learning_rate = 0.05 }",
};

/// `local` where a client optimises without noise on all its rows at once.
pub const WHOLE_KEY: Key = Key {
    name: "local",
    about: "the local optimisation, on all rows at once",
    kind: ValueKind::Table(WHOLE_KEYS),
    otherwise: Otherwise::Required,
    example: "{ steps = 10, optimiser = \"adam\", learning_rate = 0.02 }",
};

impl Batching {
    /// From `rate` and `batch`.
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
const BATCH_TABLE: &[Key] = &[Key {
    name: "at_least",
    about: "expected rows at least",
    kind: ValueKind::AT_LEAST_ONE,
    otherwise: Otherwise::Number(1.0),
    example: "20",
}];

impl Local {
    /// From the table of [`LOCAL_KEY`].
    pub fn read(method: &Keys<'_>) -> Result<Self, Conflict> {
        let keys = &method.table("local", LOCAL_KEYS);
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

fn optimiser(keys: &Keys<'_>) -> Result<Optimiser, Conflict> {
    Ok(match keys.word("optimiser")? {
        "sgd" => Optimiser::Sgd,
        "adagrad" => Optimiser::Adagrad,
        "natural" => Optimiser::Natural,
        _ => Optimiser::Adam,
    })
}

fn chart(keys: &Keys<'_>) -> Result<Chart, Conflict> {
    Ok(if keys.word("chart")? == "log-variance" { Chart::LogVariance } else { Chart::LogDeviation })
}
