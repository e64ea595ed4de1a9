//! What a method promises: to whom, at what noise, and who adds up.
//!
//! A promise is (ε, δ) for a [unit](privacy::Unit) under a [relation](privacy::Adjacency). The noise
//! multiplier either follows from it, as the least with which all planned updates fit, or is given,
//! and then the number of updates follows.

use super::SITE_PROMISE_KEYS;
use crate::describe::{Conflict, Key, Keys, Otherwise, STRAY, TrustedParty, UNKNOWN, VALUE, ValueKind};
use privacy::{Adjacency, Delta, Epsilon, NoiseMultiplier, NormBound, PrivacyError, ShareNoise, Unit};
use serde::Serialize;
use toml::{Table, Value};

/// What is promised, and the noise that keeps it.
///
/// # Examples
/// Read from a table of the study, with its defaults:
/// ```
/// use inference::describe::Keys;
/// use inference::settings::{Aggregator, Claim, Noise, PRIVACY_KEYS, Promise};
///
/// let table = toml::from_str(r#"
///     unit = "example"
///     adjacency = "substitute"
///     epsilon = 1.0
///     delta = 1e-5
///     clip = 2.0
/// "#)?;
/// let promise = Promise::read(&Keys::new(&table, PRIVACY_KEYS)).map_err(|conflict| conflict.what)?;
/// assert_eq!((promise.noise, promise.aggregator), (Noise::Calibrated, Aggregator::None));
/// assert_eq!((promise.accountant, promise.clip_words()), (Claim::Certified, "clipped to 2".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Promise {
    /// Who is protected.
    pub unit: Unit,
    /// From what.
    pub adjacency: Adjacency,
    /// ε granted to each client.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: DeltaRule,
    /// Clipping bound; none where the bounds of all sums follow from other settings.
    pub clip: Option<Clip>,
    /// Noise.
    pub noise: Noise,
    /// Who adds up.
    pub aggregator: Aggregator,
    /// Who says how many updates fit, and what is claimed.
    pub accountant: Claim,
}

/// δ of a client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum DeltaRule {
    /// This one.
    Fixed(Delta),
    /// 10^⌊log₁₀(1/N)⌋ for a client of N declared rows.
    PowerOfTenBelowRows,
    /// Left out: it follows from public numbers, and nothing is planned before they are known
    /// ([`delta_below`](crate::public::delta_below)).
    LeftOut,
}

/// C of a client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Clip {
    /// This one.
    Fixed(NormBound),
    /// This, times the sampling rate: a bound on gradients that are scaled by rows / batch.
    TimesRate(NormBound),
}

/// Noise deviation divided by sensitivity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Noise {
    /// This one: the number of updates follows from ε.
    Multiplier(NoiseMultiplier),
    /// The smallest with which all rounds fit into ε.
    Calibrated,
}

/// Who adds up, and who adds noise.
///
/// Who is trusted decides how much noise is in the sum of M clients: M times the variance of one
/// without an aggregator, once with a curator, K times with K nodes that each add all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Aggregator {
    /// Nobody is trusted: each client noises what it sends.
    None,
    /// One trusted party adds up and noises the total.
    Curator,
    /// Clients hand shares of their sums to compute nodes; only the noised total is opened.
    SecureSum(SecureSumSettings),
}

/// Who takes part in a secure sum, and where its noise comes from.
///
/// One honest node among K suffices for the secrecy of single sums. T_c and T_d size the shares of
/// clients' noise, so that what the honest clients contribute covers the promise
/// (`docs/maths/secure-sum.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SecureSumSettings {
    /// K: compute nodes, of which one is honest.
    pub nodes: u32,
    /// Where the noise comes from.
    pub noise: SecureNoise,
    /// T_c: clients that may tell the adversary their noise.
    pub colluders: u64,
    /// T_d: clients that may never arrive.
    pub dropouts: u64,
}

/// Where the noise of a secure sum comes from.
///
/// Node noise keeps amplification by sampling. Shares are charged for all rows, because no theorem
/// covers sampled batches with discrete shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum SecureNoise {
    /// Each node adds all of it.
    Nodes,
    /// Each client adds a share.
    Clients(ShareNoise),
}

impl Aggregator {
    /// True where clients noise their shares, which are charged for all rows.
    pub fn by_shares(&self) -> bool {
        matches!(self, Self::SecureSum(SecureSumSettings { noise: SecureNoise::Clients(_), .. }))
    }
}

/// Whose number is claimed. The certified bound is always shown beside it, and never above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Claim {
    /// The certified loss distribution.
    Certified,
    /// The moments accountant of Abadi et al. 2016, as in the workshop paper.
    Moments,
}

/// Most compute nodes: the privacy crate's limit.
const MOST_NODES: u64 = 256;

/// Compute nodes where a study does not say how many.
const NODES: f64 = 2.0;

/// `privacy`
pub const PRIVACY_KEYS: &[Key] = &[
    Key::new("unit", ValueKind::Word(&["example", "person", "client"]), "\"example\"")
        .about("who is protected: one row, all rows of a person (person_id of the schema), or all rows of a client")
        .otherwise(Otherwise::Word("example")),
    Key::new("adjacency", ValueKind::Word(&["substitute", "add-remove"]), "\"substitute\"")
        .about("from what: a row (person, client) replaced by any other, their number being public, or one more or less")
        .otherwise(Otherwise::Word("substitute")),
    Key::new("epsilon", ValueKind::Either(&[ValueKind::Positive, ValueKind::Positives { length: 0 }]), "1.0")
        .about("ε granted to each client, usually between 0.1 and 10; a list makes a method of each value")
        .otherwise(Otherwise::Follows("required, here or in [privacy] of the study")),
    Key::new("delta", ValueKind::Either(&[ValueKind::Share, ValueKind::Word(&["power-of-ten"])]), "1e-5")
        .about("δ, well under one over the number of rows; or the power of ten below 1 / rows")
        .otherwise(Otherwise::Follows(
            "the largest power of ten that is at most 1 / (10 n), and at most 1e-5; n is the public or declared number of \
             rows, persons or clients",
        )),
    Key::new(
        "clip",
        ValueKind::Either(&[
            ValueKind::Positive,
            ValueKind::Table(&[Key::new("times_rate", ValueKind::Positive, "75.0")
                .about("the bound, to be multiplied by the sampling rate")]),
        ]),
        "2.0",
    )
    .about("largest norm of one row's gradient or of a change; times_rate bounds gradients scaled by rows / batch")
    .otherwise(Otherwise::Follows("required where the method clips to a bound of the study's")),
    Key::new("noise_multiplier", ValueKind::Positive, "2.0")
        .about("standard deviation of the noise divided by the sensitivity")
        .otherwise(Otherwise::Follows("the least with which all rounds fit into ε")),
    Key::new("aggregator", ValueKind::Word(&["none", "curator", "secure-sum"]), "\"none\"")
        .about("who adds up: nobody is trusted, a curator, or a secure sum over compute nodes")
        .otherwise(Otherwise::Word("none")),
    Key::new("nodes", ValueKind::Count { least: 2, most: MOST_NODES }, "2")
        .about(
            "secure-sum: compute nodes, run by different organisations (one alone would see the sum of every client)",
        )
        .otherwise(Otherwise::Number(NODES)),
    Key::new("noise", ValueKind::Word(&["nodes", "discrete-gaussian", "skellam"]), "\"nodes\"")
        .about("secure-sum: who adds the noise, each node all of it or every client a share")
        .otherwise(Otherwise::Word("nodes")),
    Key::new("colluders", ValueKind::Count { least: 0, most: u64::MAX }, "1")
        .about("secure-sum: clients that may tell their share of the noise")
        .otherwise(Otherwise::Number(0.0)),
    Key::new("dropouts", ValueKind::Count { least: 0, most: u64::MAX }, "1")
        .about("secure-sum: clients that may never arrive")
        .otherwise(Otherwise::Number(0.0)),
    Key::new("accountant", ValueKind::Word(&["certified", "moments"]), "\"certified\"")
        .about("whose ε is claimed; the certified one is always shown")
        .otherwise(Otherwise::Word("certified")),
    Key::new("sites", ValueKind::Map(&ValueKind::Table(SITE_PROMISE_KEYS)), "{ north = { epsilon = 0.5 } }")
        .about("what single sites promise in place of this, by their names")
        .otherwise(Otherwise::Follows("all sites promise the same")),
];

impl Promise {
    /// Answers `aggregator = "shares"`, as earlier versions had it, with what to write now.
    pub(crate) fn former_words(privacy: &Table) -> Option<Conflict> {
        let old = match privacy.get("aggregator")? {
            Value::Table(table) => table.contains_key("shares"),
            value => value.as_str() == Some("shares"),
        };
        let what = "aggregator is \"shares\", as an earlier version had it; noise shares now belong to a secure sum";
        let hint = "use aggregator = \"secure-sum\", nodes = 2, noise = \"discrete-gaussian\" (or \"skellam\"), \
                    colluders = 0, dropouts = 0, each as a key of privacy";
        old.then(|| Conflict::new("privacy.aggregator", UNKNOWN, what, hint))
    }

    /// From `privacy`, whose values were validated.
    ///
    /// # Errors
    /// A number that the privacy crate refuses, keys of a secure sum without one, and colluders where nodes
    /// add the noise.
    pub fn read(keys: &Keys<'_>) -> Result<Self, Conflict> {
        let at = |key: &str, error: PrivacyError| Conflict {
            code: VALUE,
            ..Conflict::of_privacy(&format!("privacy.{key}"), &error)
        };
        let bound = |bound: f64| NormBound::new(bound).map_err(|error| at("clip", error));
        let delta = match keys.maybe_word("delta") {
            Some(_) => DeltaRule::PowerOfTenBelowRows,
            None if !keys.has("delta") => DeltaRule::LeftOut,
            None => DeltaRule::Fixed(Delta::new(keys.number("delta")?).map_err(|error| at("delta", error))?),
        };
        let clip = match (keys.has("clip"), keys.is_table("clip")) {
            (false, _) => None,
            (true, true) => Some(Clip::TimesRate(bound(keys.table("clip", &[]).number("times_rate")?)?)),
            (true, false) => Some(Clip::Fixed(bound(keys.number("clip")?)?)),
        };
        let noise = match keys.maybe_number("noise_multiplier")? {
            None => Noise::Calibrated,
            Some(z) => Noise::Multiplier(NoiseMultiplier::new(z).map_err(|error| at("noise_multiplier", error))?),
        };
        Ok(Self {
            unit: match keys.word("unit")? {
                "client" => Unit::Client,
                "person" => Unit::Person,
                _ => Unit::Example,
            },
            adjacency: if keys.word("adjacency")? == "add-remove" {
                Adjacency::AddRemove
            } else {
                Adjacency::Substitute
            },
            epsilon: Epsilon::new(keys.number("epsilon")?).map_err(|error| at("epsilon", error))?,
            delta,
            clip,
            noise,
            aggregator: Aggregator::read(keys)?,
            accountant: if keys.word("accountant")? == "moments" { Claim::Moments } else { Claim::Certified },
        })
    }

    /// What vectors are clipped to, in words.
    pub fn clip_words(&self) -> String {
        match self.clip {
            None => "a bound that follows from public numbers, once these are known".to_owned(),
            Some(Clip::Fixed(bound)) => format!("clipped to {bound}"),
            Some(Clip::TimesRate(bound)) => format!("clipped to {bound} times the sampling rate"),
        }
    }
}

impl Aggregator {
    /// From `aggregator` and the keys of a secure sum.
    fn read(keys: &Keys<'_>) -> Result<Self, Conflict> {
        let word = keys.word("aggregator")?;
        if word != "secure-sum" {
            let stray = ["nodes", "noise", "colluders", "dropouts"].into_iter().find(|key| keys.has(key));
            return match stray {
                Some(key) => {
                    let hint = format!("leave {key} out, or use aggregator = \"secure-sum\"");
                    Err(keys.conflict(key, STRAY, format!("{key} belongs to a secure sum"), hint))
                }
                None if word == "curator" => Ok(Self::Curator),
                None => Ok(Self::None),
            };
        }
        let noise = match keys.word("noise")? {
            "discrete-gaussian" => SecureNoise::Clients(ShareNoise::DiscreteGaussian),
            "skellam" => SecureNoise::Clients(ShareNoise::Skellam),
            _ => SecureNoise::Nodes,
        };
        if noise == SecureNoise::Nodes && keys.has("colluders") {
            let what = "colluders tell their shares of the noise, and here the nodes add it";
            let hint = "leave colluders out, or let clients add the noise";
            return Err(keys.conflict("colluders", STRAY, what, hint));
        }
        Ok(Self::SecureSum(SecureSumSettings {
            nodes: keys.small_count("nodes")?,
            noise,
            colluders: keys.count("colluders")?,
            dropouts: keys.count("dropouts")?,
        }))
    }

    /// Who is trusted, without details.
    pub fn party(&self) -> TrustedParty {
        match self {
            Self::None => TrustedParty::Nobody,
            Self::Curator => TrustedParty::Curator,
            Self::SecureSum(_) => TrustedParty::SecureSum,
        }
    }
}
