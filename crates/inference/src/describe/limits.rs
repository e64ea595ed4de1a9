//! What can be combined with what: data that methods and models state, and one function that checks
//! it.
//!
//! A combination is allowed when every part of the method allows it. Parts state [`Limits`]; models
//! state what they offer ([`Offer`]); [`Release`]s state grain, batch and bound. `fits` compares
//! them with the [`Method`] and with the theorems of the privacy crate, and refuses with the reason
//! that the part gives. Nothing here asks which method it is.
//!
//! The order of the checks: the limits of every part with what it needs of the model, what the
//! algorithm itself refuses, rounds, and last the promise with each release.

use super::own_numbers::{self, OwnNumber, unused_clip};
use super::{Conflict, NOT_TOGETHER, PRIVACY_OR_NOT};
use crate::method::Method;
use crate::release::{Bound, Clipped, Release, Releases};
use crate::settings::{
    Aggregator, Batching, Claim, Clip, Covariance, DeltaRule, Noise, Promise, Rates, Rounds, Schedule,
};
use privacy::{
    Adjacency, Event, Mechanism, NoiseMultiplier, PrivacyError, Sampling, Steps, Trust, Unit, sensitivity_factor,
};

/// What a model offers to methods. Nobody else asks which model it is.
///
/// A model returns its offers from [`Model::offers`](crate::Model::offers); a method states its
/// [`Need`]s. A new model that offers a linear predictor works with every method that needs one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// The likelihood is Gaussian with a known variance: sufficient statistics and conjugate updates.
    GaussianLikelihood,
    /// The likelihood depends on xᵀθ alone and has a mean curvature.
    LinearPredictor,
    /// The outcome is 0 or 1 and its log-odds are xᵀθ.
    LogisticLink,
    /// The outcome is one of K classes, whose logits are xᵀθₖ.
    ClassLogits,
    /// Gradients of a batch are taken at one draw of the parameters.
    OneDrawPerBatch,
    /// Every parameter is a real number, so that there are gradients.
    Gradients,
    /// The posterior is near enough to a Gaussian to be served as one.
    GaussianPosterior,
    /// The posterior given sums of sufficient statistics has a closed form in the reader's parameters.
    ConjugatePosterior,
}

impl Offer {
    /// What the offer is, as the end of a sentence "the model has …".
    pub fn words(self) -> &'static str {
        match self {
            Self::GaussianLikelihood => "a Gaussian likelihood (linear models do)",
            Self::LinearPredictor => "a likelihood of xᵀθ (linear and logistic models do)",
            Self::LogisticLink => "log-odds xᵀθ of an outcome with two levels (logistic models do)",
            Self::ClassLogits => "logits xᵀθ of every level of an outcome (softmax models do)",
            Self::OneDrawPerBatch => "one draw of its parameters for a batch (networks do)",
            Self::Gradients => "real parameters, which have gradients",
            Self::ConjugatePosterior => {
                "a conjugate family (beta-binomial, dirichlet-multinomial, gamma-poisson and normal models do)"
            }
            Self::GaussianPosterior => "a posterior with one mode (a mixture's has two)",
        }
    }
}

/// Who is trusted with clipped sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedParty {
    /// Nobody: `aggregator = "none"`.
    Nobody,
    /// `aggregator = "curator"`.
    Curator,
    /// `aggregator = "secure-sum"`.
    SecureSum,
}

/// Who is asked when, without rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// `schedule = "sequential"`.
    Sequential,
    /// `schedule = "synchronous"`.
    Synchronous,
    /// `schedule = "asynchronous"`.
    Asynchronous,
}

/// Whether a method makes sense without noise, and with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivacyNeed {
    /// Both.
    Optional,
    /// It clips and noises: without a promise it has no meaning.
    Required,
    /// It adds no noise, so it cannot promise anything.
    Never,
}

/// The values that go, and why no others do.
///
/// `because` completes the refusal: `chain cannot be combined with schedule = "sequential": every step
/// of a chain is asked of all sites at once`.
#[derive(Debug, Clone, Copy)]
pub struct Allowed<T: 'static> {
    /// The values.
    pub values: &'static [T],
    /// The reason, as a sentence without a full stop.
    pub because: &'static str,
}

/// What a method needs of a model, and what for.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// What the model must offer.
    pub offer: Offer,
    /// The key that asks for it.
    pub key: &'static str,
    /// Who asks for it, with its verb: "aligned gradients need".
    pub whose: &'static str,
    /// What to do where the model does not offer it.
    pub hint: &'static str,
}

/// With what a method can be combined.
///
/// A part starts from [`Limits::NONE`] and overrides what it restricts:
///
/// ```text
/// limits: Limits { privacy: PrivacyNeed::Required, ..Limits::NONE }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// With a promise, without, or both.
    pub privacy: PrivacyNeed,
    /// Which families q may be of.
    pub covariances: Allowed<Covariance>,
    /// Which schedules.
    pub schedules: Allowed<Pacing>,
    /// Which aggregators.
    pub trust: Allowed<TrustedParty>,
    /// Which units of privacy.
    pub units: Allowed<Unit>,
    /// Which neighbouring relations.
    pub relations: Allowed<Adjacency>,
    /// Which numbers of the promise sites may have of their own.
    pub own_numbers: Allowed<OwnNumber>,
    /// What it needs of a model.
    pub needs: &'static [Need],
    /// Whether sites may have an intercept of their own.
    pub site_intercept: bool,
}

impl Limits {
    /// No limit.
    pub const NONE: Self = Self {
        privacy: PrivacyNeed::Optional,
        covariances: Allowed { values: &[Covariance::MeanField, Covariance::Full], because: "" },
        schedules: Allowed { values: &[Pacing::Sequential, Pacing::Synchronous, Pacing::Asynchronous], because: "" },
        trust: Allowed { values: &[TrustedParty::Nobody, TrustedParty::Curator, TrustedParty::SecureSum], because: "" },
        units: Allowed {
            values: &[Unit::Example, Unit::Client],
            because: "it does not sum the rows of a person before it clips",
        },
        relations: Allowed { values: &[Adjacency::Substitute, Adjacency::AddRemove], because: "" },
        own_numbers: Allowed { values: &[OwnNumber::Budget, OwnNumber::Clip, OwnNumber::ClipInSum], because: "" },
        needs: &[],
        site_intercept: true,
    };
}

/// Rows, clients and persons: the units of a method that draws and sums by [`crate::UnitBatch`], or clips whole changes, or
/// parts of rows that are dealt by unit.
pub const ANY_UNIT: Allowed<Unit> = Allowed { values: &[Unit::Example, Unit::Client, Unit::Person], because: "" };

impl Covariance {
    /// Its word in a study.
    pub fn word(self) -> &'static str {
        match self {
            Self::MeanField => "mean-field",
            Self::Full => "full",
        }
    }
}

impl Pacing {
    /// Its word in a study.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
        }
    }
}

impl TrustedParty {
    /// Its word in a study.
    pub fn word(self) -> &'static str {
        match self {
            Self::Nobody => "none",
            Self::Curator => "curator",
            Self::SecureSum => "secure-sum",
        }
    }
}

/// Its word in a study.
fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Example => "example",
        Unit::Client => "client",
        Unit::Person => "person",
    }
}

/// Its word in a study.
fn relation_word(relation: Adjacency) -> &'static str {
    match relation {
        Adjacency::Substitute => "substitute",
        Adjacency::AddRemove => "add-remove",
    }
}

impl<T: Copy + PartialEq> Allowed<T> {
    /// Refuses a value that is not among those allowed, with the reason and the values that are.
    fn check(
        &self,
        found: T,
        word: fn(T) -> &'static str,
        key: &str,
        code: &'static str,
        who: &str,
    ) -> Result<(), Conflict> {
        if self.values.contains(&found) {
            return Ok(());
        }
        let name = key.rsplit('.').next().unwrap_or(key);
        let allowed: Vec<String> = self.values.iter().map(|value| format!("\"{}\"", word(*value))).collect();
        let what = format!("{who} cannot be combined with {name} = \"{}\": {}", word(found), self.because);
        Err(Conflict::new(key, code, what, format!("use {name} = {}", allowed.join(" or "))))
    }
}

/// Refuses a method whose parts do not go together, or that needs what a model does not offer.
///
/// `offers` is what the model offers; none where the model is not known yet.
pub(crate) fn fits(method: &Method, offers: Option<&[Offer]>) -> Result<(), Conflict> {
    sums_only(method, offers)?;
    for (name, limits) in method.algorithm.limits() {
        one(method, name, &limits)?;
        for need in offers.map_or(&[][..], |_| limits.needs) {
            if offers.is_some_and(|offers| !offers.contains(&need.offer)) {
                let what = format!("{} a model that has {}", need.whose, need.offer.words());
                return Err(Conflict::new(need.key, NOT_TOGETHER, what, need.hint));
            }
        }
    }
    method.algorithm.check(method)?;
    let releases = method.algorithm.releases(1);
    rounds(method)?;
    persons(method, offers, &releases)?;
    match &method.promise {
        Some(promise) => promised(method, promise, &releases),
        None => Ok(()),
    }
}

/// Refuses a model that offers its conjugate family and nothing else to a method that does not ask for it: its parameters have bounds
/// and a prior that is no Gaussian, which no other method knows.
fn sums_only(method: &Method, offers: Option<&[Offer]>) -> Result<(), Conflict> {
    let asks = |(_, limits): &(&str, Limits)| limits.needs.iter().any(|need| need.offer == Offer::ConjugatePosterior);
    if offers != Some(&[Offer::ConjugatePosterior]) || method.algorithm.limits().iter().any(asks) {
        return Ok(());
    }
    let name = method.algorithm.descriptor().name;
    let what = format!(
        "the model is learnt from sums of its sufficient statistics, which algorithm \"{name}\" does not ask for"
    );
    Err(Conflict::new("algorithm", NOT_TOGETHER, what, "use algorithm = \"conjugate\""))
}

/// One set of limits against the method's choices. `name` is that of the algorithm, or of its part.
fn one(method: &Method, name: &str, limits: &Limits) -> Result<(), Conflict> {
    let own = method.algorithm.descriptor().name == name;
    let key = if own { "algorithm" } else { method.algorithm.part_key() };
    let who = &format!("{} \"{name}\"", key.rsplit('.').next().unwrap_or(key));
    match (limits.privacy, &method.promise) {
        (PrivacyNeed::Required, None) => {
            let what = format!("{who} clips and noises, but no privacy is promised");
            return Err(Conflict::new(
                key,
                PRIVACY_OR_NOT,
                what,
                "add privacy = { … }, or choose a method without noise",
            ));
        }
        (PrivacyNeed::Never, Some(_)) => {
            let what = format!("{who} adds no noise, so it cannot promise privacy");
            return Err(Conflict::new("privacy", PRIVACY_OR_NOT, what, "leave privacy out, or choose another solver"));
        }
        _ => {}
    }
    limits.covariances.check(method.algorithm.covariance(), Covariance::word, "covariance", NOT_TOGETHER, who)?;
    limits.schedules.check(method.schedule.pacing(), Pacing::word, "schedule", NOT_TOGETHER, who)?;
    if let Some(promise) = &method.promise {
        limits.trust.check(promise.aggregator.party(), TrustedParty::word, "privacy.aggregator", "S007", who)?;
        limits.units.check(promise.unit, unit_word, "privacy.unit", "S008", who)?;
        limits.relations.check(promise.adjacency, relation_word, "privacy.adjacency", "S008", who)?;
        own_numbers::check(method, promise, &limits.own_numbers, who)?;
    }
    if method.algorithm.site_intercept().is_some() && !limits.site_intercept {
        let what = format!("{who} has no site-specific intercept");
        return Err(Conflict::new("site_intercept", NOT_TOGETHER, what, "leave site_intercept out"));
    }
    Ok(())
}

/// Refuses gradients of a network where persons are the unit: they are clipped without being formed, by norms of rows.
fn persons(method: &Method, offers: Option<&[Offer]>, releases: &Releases) -> Result<(), Conflict> {
    let never_formed = offers.is_some_and(|offers| offers.contains(&Offer::OneDrawPerBatch));
    let clips_rows = |release: &Release| release.grain.is_by_unit() && release.clipped == Clipped::Gradients;
    if method.unit() == Unit::Person && never_formed && releases.all().any(clips_rows) {
        let what = "a network's gradients are clipped by the norms of single rows (ghost clipping), which do not bound a \
                    person's sum";
        let hint = "use unit = \"example\", or a solver that clips whole changes or parts, such as \"average\"";
        return Err(Conflict::new("privacy.unit", "S008", what, hint));
    }
    Ok(())
}

/// Refuses rounds without a meaning, by the method's own promise.
fn rounds(method: &Method) -> Result<(), Conflict> {
    if method.most_rounds() == 0 {
        return Err(Conflict::new(
            "rounds",
            super::VALUE,
            "a method has at least one round",
            "for example rounds = 20",
        ));
    }
    let until_spent = matches!(method.algorithm.rounds(), Rounds::UntilSpent { .. });
    match &method.promise {
        None if until_spent => Err(Conflict::new(
            "rounds",
            PRIVACY_OR_NOT,
            "without privacy there is no budget to spend",
            "give a number of rounds",
        )),
        Some(promise) if until_spent && promise.noise == Noise::Calibrated => Err(Conflict::new(
            "rounds",
            NOT_TOGETHER,
            "rounds until the budget is spent need a noise_multiplier: there is nothing to calibrate it for",
            "add noise_multiplier to privacy, or give a number of rounds",
        )),
        _ => Ok(()),
    }
}

/// What no release can keep, whatever the method.
fn promised(method: &Method, promise: &Promise, releases: &Releases) -> Result<(), Conflict> {
    let zero_delta = matches!(promise.delta, DeltaRule::Fixed(delta) if delta.get() == 0.0);
    if promise.epsilon.get() == 0.0 || zero_delta {
        let key = if zero_delta { "privacy.delta" } else { "privacy.epsilon" };
        let what = "ε and δ are over 0: Gaussian noise cannot promise 0 of either";
        return Err(Conflict::new(key, super::VALUE, what, "for example epsilon = 1.0, delta = 1e-5"));
    }
    let by_rates = method.schedule == Schedule::Asynchronous(Rates::InverseRows);
    if promise.unit == Unit::Client && (promise.delta == DeltaRule::PowerOfTenBelowRows || by_rates) {
        let key = if by_rates { "rates" } else { "privacy.delta" };
        let what = "the unit is the client, whose number of rows is private: neither δ nor rates may depend on it";
        return Err(Conflict::new(key, "S008", what, "state δ as a number, and use rates = \"equal\""));
    }
    let aggregated = promise.aggregator != Aggregator::None;
    if aggregated && method.schedule != Schedule::Synchronous {
        let what = "an aggregator adds up all clients at once";
        return Err(Conflict::new("schedule", "S007", what, "use schedule = \"synchronous\""));
    }
    if aggregated && method.algorithm.site_intercept().is_some() {
        let what =
            "a site-specific intercept passes the site's own gate and never leaves it: there is no sum to add it to";
        return Err(Conflict::new("site_intercept", NOT_TOGETHER, what, "use aggregator = \"none\", or leave it out"));
    }
    releases.all().try_for_each(|release| one_release(promise, release, method.algorithm.batch_key()))?;
    clip(promise, releases, method.algorithm.derives_clip())?;
    own_numbers::of_sites(method, promise, releases)
}

/// One release against the theorems of the privacy crate: is there a sensitivity for its grain under
/// this unit, relation and trust, is there an accountant for its sampling, and does the moments
/// accountant cover it where a study claims by that one.
fn one_release(promise: &Promise, release: &Release, batch_key: &str) -> Result<(), Conflict> {
    let sampled = release.batch != Batching::All;
    if promise.aggregator.by_shares() && release.grain.is_by_unit() && sampled {
        let what = "noise shares are charged for all rows: no amplification by sampling is proved for them";
        return Err(Conflict::new(batch_key, "S007", what, "use all rows in every step, or noise = \"nodes\""));
    }
    let trust = if promise.aggregator == Aggregator::None { Trust::Local } else { Trust::Aggregate };
    let grain = release.grain.for_unit(promise.unit);
    let factor = |relation| sensitivity_factor(grain, promise.unit, relation, trust);
    factor(promise.adjacency).map_err(|error| match factor(Adjacency::Substitute) {
        Ok(_) => {
            let hint = "use adjacency = \"substitute\", or an aggregator";
            Conflict::new("privacy.adjacency", "S008", reason(&error), hint)
        }
        Err(_) => {
            let hint =
                "use unit = \"example\", or a solver that clips the whole change of a client, such as \"perturb\"";
            Conflict::new("privacy.unit", "S008", reason(&error), hint)
        }
    })?;
    let event = stand_in(promise, release).map_err(|error| {
        let hint = "use adjacency = \"substitute\", or draw every row with a probability";
        Conflict::new(batch_key, NOT_TOGETHER, reason(&error), hint)
    })?;
    if promise.accountant == Claim::Moments
        && let DeltaRule::Fixed(delta) = promise.delta
        && crate::plan::claimant(Claim::Moments, &event).epsilon(&[event], delta).is_err()
    {
        let what = "the moments accountant covers Gaussian noise on all rows, or on rows drawn with a probability under \
                    adjacency = \"add-remove\", and nothing else";
        let hint = "use accountant = \"certified\"";
        return Err(Conflict::new("privacy.accountant", NOT_TOGETHER, what, hint));
    }
    Ok(())
}

/// Why no theorem covers a combination, without the numbers of a stand-in.
fn reason(error: &PrivacyError) -> String {
    match error {
        PrivacyError::NoTheorem { why, .. } => why.to_string(),
        other => other.to_string(),
    }
}

/// An event of the release's kind: which theorem covers it does not depend on the numbers.
fn stand_in(promise: &Promise, release: &Release) -> Result<Event, PrivacyError> {
    let sampling = match release.batch {
        Batching::All => Sampling::None,
        Batching::WithoutReplacement(_) => Sampling::without_replacement(1, 2)?,
        Batching::Poisson(rate) if rate.get() == 1.0 => Sampling::None,
        Batching::Poisson(rate) => Sampling::Poisson { rate },
        Batching::PoissonOf { .. } => Sampling::Poisson { rate: privacy::SamplingRate::new(0.5)? },
    };
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? };
    Event::new(mechanism, promise.adjacency, promise.unit, sampling, Steps::ONE)
}

/// A clipping bound is stated where one is used, unless it can be derived, and nowhere else.
fn clip(promise: &Promise, releases: &Releases, derived: bool) -> Result<(), Conflict> {
    let used: Vec<&Release> = releases.all().filter(|release| release.bound == Bound::Clip).collect();
    match promise.clip {
        None if !used.is_empty() && !derived => {
            let what = "`clip`, the largest norm of one row's gradient or of a change, is missing";
            Err(Conflict::new("privacy", super::UNREADABLE, what, "for example clip = 2.0"))
        }
        Some(_) if used.is_empty() => Err(unused_clip("privacy.clip", releases)),
        Some(Clip::TimesRate(_)) if used.iter().any(|release| release.clipped != Clipped::Gradients) => {
            let what = "times_rate bounds gradients that are scaled by rows / batch, and this method clips other sums";
            Err(Conflict::new("privacy.clip", NOT_TOGETHER, what, "for example clip = 2.0"))
        }
        _ => Ok(()),
    }
}
