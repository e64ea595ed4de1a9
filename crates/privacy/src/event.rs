//! What happened, as a value: mechanism, relation, unit, sampling and how often. What it costs is a function of it.
//!
//! An event names everything that its cost depends on, and nothing else. Gates emit events, ledgers store them, accountants
//! read them. ε is not stored: a better accountant may later prove a smaller one from the same events.

use crate::mechanism::{Mechanism, covered};
use crate::{Adjacency, NoiseMultiplier, PrivacyError, Sampling, Steps, Unit};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mechanism in its setting. It exists only where a theorem joins mechanism, relation and sampling.
///
/// # Examples
///
/// ```
/// use privacy::{Adjacency, Event, Mechanism, NoiseMultiplier, Sampling, SamplingRate, Steps, Unit};
///
/// let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.1)? };
/// let poisson = Sampling::Poisson { rate: SamplingRate::new(0.01)? };
/// let event = Event::new(mechanism.clone(), Adjacency::AddRemove, Unit::Example, poisson, Steps::new(1000)?)?;
/// assert_eq!(event.noise_multiplier(), Some(NoiseMultiplier::new(1.1)?));
///
/// // No theorem joins batches of fixed size with add-remove, so the event does not exist.
/// let fixed = Sampling::without_replacement(10, 1000)?;
/// let refused = Event::new(mechanism, Adjacency::AddRemove, Unit::Example, fixed, Steps::ONE).unwrap_err();
/// assert_eq!(refused.code(), "P002");
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EventAsTyped")]
pub struct Event {
    mechanism: Mechanism,
    adjacency: Adjacency,
    unit: Unit,
    sampling: Sampling,
    steps: Steps,
}

/// `Event` as it may stand in a file, before it is checked.
#[derive(Deserialize)]
struct EventAsTyped {
    mechanism: Mechanism,
    adjacency: Adjacency,
    unit: Unit,
    sampling: Sampling,
    steps: Steps,
}

impl TryFrom<EventAsTyped> for Event {
    type Error = PrivacyError;
    fn try_from(t: EventAsTyped) -> Result<Self, PrivacyError> {
        Self::new(t.mechanism, t.adjacency, t.unit, t.sampling, t.steps)
    }
}

impl Event {
    /// Joins the five, or says why no theorem does.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::NoTheorem`] if no theorem joins the mechanism with this relation and sampling. The hint names the
    /// nearest combination that has one.
    pub fn new(
        mechanism: Mechanism,
        adjacency: Adjacency,
        unit: Unit,
        sampling: Sampling,
        steps: Steps,
    ) -> Result<Self, PrivacyError> {
        covered(&mechanism, adjacency, unit, &sampling)?;
        Ok(Self { mechanism, adjacency, unit, sampling, steps })
    }

    /// The Gaussian mechanism on every row, protecting one example.
    pub fn gaussian(z: NoiseMultiplier, adjacency: Adjacency, steps: Steps) -> Self {
        Self {
            mechanism: Mechanism::Gaussian { noise_multiplier: z },
            adjacency,
            unit: Unit::Example,
            sampling: Sampling::None,
            steps,
        }
    }

    /// The randomised answer that was given.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// Which data sets count as neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// Who is protected: a row, a person with all its rows, or a client with all its rows.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// How the rows of each step were drawn. Accountants charge for the law of the draw, not for the rows.
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// How often the mechanism is used, each time on a fresh batch and with fresh noise.
    pub fn steps(&self) -> Steps {
        self.steps
    }

    /// The same event, used `steps` times.
    pub fn repeated(&self, steps: Steps) -> Self {
        Self { steps, ..self.clone() }
    }

    /// Alike events as one of many steps: T steps cost what T single ones do, in any order.
    pub fn merged(events: &[Self]) -> Result<Vec<Self>, PrivacyError> {
        let mut kinds: Vec<(Self, u64)> = Vec::new();
        for event in events {
            let (one, steps) = (event.repeated(Steps::ONE), event.steps().get());
            match kinds.iter_mut().find(|(kind, _)| *kind == one) {
                Some((_, count)) => *count = count.saturating_add(steps),
                None => kinds.push((one, steps)),
            }
        }
        kinds.into_iter().map(|(event, steps)| Ok(event.repeated(Steps::new(steps)?))).collect()
    }

    /// True if the worst case of the theorem is a pair of neighbouring data sets of this very mechanism, so that a
    /// two-sided ε is the mechanism's own. Otherwise the pair bounds every mechanism of its kind, this one may cost
    /// less, and [`Event::dominating_pair`] says whose pair it is.
    pub fn reaches_its_pair(&self) -> bool {
        match (&self.mechanism, &self.sampling) {
            (Mechanism::Gaussian { .. } | Mechanism::Laplace { .. }, Sampling::WithoutReplacement { .. }) => {
                self.sampling.rate() >= 1.0
            }
            (mechanism, _) => matches!(
                mechanism,
                Mechanism::Gaussian { .. } | Mechanism::Laplace { .. } | Mechanism::RandomisedResponse { .. }
            ),
        }
    }

    /// Whose dominating pair stands for the event, where the mechanism itself may not reach it.
    ///
    /// Batches without replacement under substitution are the case that papers get wrong. Their accountants use the
    /// pair of Poisson batches, (1−q)N(0, ·) + qN(Δ, ·) against (1−q)N(0, ·) + qN(−Δ, ·), which is not the worst case
    /// of a batch of fixed size. The pair that is proved (Zhu, Dong, Wang 2022, Proposition 30) costs more: with
    /// q = 0.02, noise of standard deviation 2C, 1000 steps and δ = 1e-5, ε is 4.72 and not 2.60.
    pub fn dominating_pair(&self) -> Option<&'static str> {
        match (&self.mechanism, &self.sampling) {
            _ if self.reaches_its_pair() => None,
            (Mechanism::Approximate { .. }, _) => Some("the worst mechanism that has these ε and δ"),
            (Mechanism::ShuffleClones { .. }, _) => {
                Some("the clones of Feldman et al. 2023, which bound every such report")
            }
            (Mechanism::ShuffleRandomisedResponse { .. }, _) => {
                Some("that of Koskela et al. 2023, which bounds every such adversary")
            }
            (_, Sampling::WithoutReplacement { .. }) => {
                Some("Zhu et al. 2022, Proposition 30, which bounds every batch of this share")
            }
            _ => None,
        }
    }

    /// The noise multiplier, for mechanisms that have one; sums of shares report that of the total.
    pub fn noise_multiplier(&self) -> Option<NoiseMultiplier> {
        match &self.mechanism {
            Mechanism::Gaussian { noise_multiplier }
            | Mechanism::Laplace { noise_multiplier }
            | Mechanism::DiscreteGaussian { noise_multiplier }
            | Mechanism::DiscreteGaussianSum { noise_multiplier, .. }
            | Mechanism::SkellamSum { noise_multiplier, .. } => Some(*noise_multiplier),
            _ => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} steps of {} with {} under {} of {}s",
            self.steps, self.mechanism, self.sampling, self.adjacency, self.unit
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adversary, Categories, Epsilon, Gamma, SamplingRate, ShareDeviation, VarianceSlack};

    fn event(mechanism: Mechanism, adjacency: Adjacency, sampling: Sampling) -> Result<Event, PrivacyError> {
        Event::new(mechanism, adjacency, Unit::Example, sampling, Steps::ONE)
    }

    #[test]
    fn combinations_without_a_theorem_are_refused_by_name() {
        let z = NoiseMultiplier::new(1.0).unwrap();
        let gaussian = Mechanism::Gaussian { noise_multiplier: z };
        let laplace = Mechanism::Laplace { noise_multiplier: z };
        let fixed = Sampling::without_replacement(1, 10).unwrap();
        let poisson = Sampling::Poisson { rate: SamplingRate::new(0.1).unwrap() };
        assert!(event(gaussian.clone(), Adjacency::Substitute, fixed).is_ok());
        assert!(event(gaussian.clone(), Adjacency::Substitute, poisson).is_ok());
        let refused = event(gaussian, Adjacency::AddRemove, fixed).unwrap_err();
        assert_eq!(refused.code(), "P002");
        assert!(refused.hint().unwrap().contains("substitute"));
        assert!(event(laplace.clone(), Adjacency::Substitute, poisson).is_err());
        assert!(event(laplace, Adjacency::AddRemove, poisson).is_ok());
    }

    #[test]
    fn a_shuffle_is_covered_under_substitution_of_a_user() {
        let users = Steps::new(100).unwrap();
        let clones = Mechanism::ShuffleClones { users, local_epsilon: Epsilon::new(3.0).unwrap() };
        let response = Mechanism::ShuffleRandomisedResponse {
            users,
            categories: Categories::new(4).unwrap(),
            gamma: Gamma::new(0.25).unwrap(),
            adversary: Adversary::Weak,
        };
        let of_users = Sampling::without_replacement(100, 10_000).unwrap();
        let poisson = Sampling::Poisson { rate: SamplingRate::new(0.1).unwrap() };
        assert!(event(clones.clone(), Adjacency::Substitute, Sampling::None).is_ok());
        assert!(event(clones.clone(), Adjacency::Substitute, of_users).is_ok());
        assert!(event(clones.clone(), Adjacency::Substitute, poisson).is_err());
        assert!(event(clones, Adjacency::AddRemove, Sampling::None).is_err());
        assert!(event(response.clone(), Adjacency::Substitute, Sampling::None).is_ok());
        assert!(event(response.clone(), Adjacency::Substitute, of_users).is_err());
        let Mechanism::ShuffleRandomisedResponse { users, categories, gamma, .. } = response.clone() else { panic!() };
        let outside = Mechanism::ShuffleRandomisedResponse { users, categories, gamma, adversary: Adversary::Outside };
        assert!(event(outside.clone(), Adjacency::Substitute, of_users).is_ok());
        assert!(event(outside, Adjacency::Substitute, poisson).is_err());
        assert!(response.to_string().ends_with("against the weak adversary"));
    }

    #[test]
    fn a_barker_test_is_covered_on_the_very_batch_that_is_drawn() {
        let (batch, slack) = (Steps::new(100).unwrap(), VarianceSlack::new(1.0).unwrap());
        let test = Mechanism::BarkerTest { batch, slack };
        let drawn = |b| Sampling::without_replacement(b, 10_000).unwrap();
        let poisson = Sampling::Poisson { rate: SamplingRate::new(0.01).unwrap() };
        for sampling in [Sampling::None, drawn(100)] {
            assert!(event(test.clone(), Adjacency::Substitute, sampling).is_ok());
            assert!(event(test.clone(), Adjacency::AddRemove, sampling).is_err());
        }
        for sampling in [poisson, drawn(99), drawn(101)] {
            let refused = event(test.clone(), Adjacency::Substitute, sampling).unwrap_err();
            assert!(refused.code() == "P002" && refused.hint().is_some(), "{refused}");
        }
        let text = r#"{"barker-test":{"batch":100,"slack":0.5}}"#;
        assert!(serde_json::from_str::<Mechanism>(text).unwrap_err().to_string().contains("variance slack"));
    }

    /// A ledger keeps hashes of bytes in which a mechanism is its place in the list.
    #[test]
    fn mechanisms_keep_their_places_in_a_ledgers_bytes() {
        let z = NoiseMultiplier::new(1.0).unwrap();
        let (shares, share_deviation, dimension) = (Steps::ONE, ShareDeviation::new(1.0).unwrap(), Steps::ONE);
        let places = [
            (0, Mechanism::Gaussian { noise_multiplier: z }),
            (3, Mechanism::DiscreteGaussianSum { noise_multiplier: z, shares, share_deviation, dimension }),
            (9, Mechanism::Open),
            (10, Mechanism::SkellamSum { noise_multiplier: z, shares, share_deviation, dimension }),
            (11, Mechanism::BarkerTest { batch: Steps::ONE, slack: VarianceSlack::new(1.0).unwrap() }),
        ];
        for (place, mechanism) in places {
            assert_eq!(postcard::to_allocvec(&mechanism).unwrap()[0], place, "{mechanism}");
        }
    }

    #[test]
    fn an_event_from_a_file_is_checked() {
        let text = r#"{"mechanism":{"gaussian":{"noise_multiplier":1.0}},"adjacency":"add-remove","unit":"example",
            "sampling":{"without-replacement":{"batch":1,"of":2}},"steps":3}"#;
        let error = serde_json::from_str::<Event>(text).unwrap_err().to_string();
        assert!(error.contains("no theorem covers"), "{error}");
    }

    #[test]
    fn canonical_bytes_round_trip() {
        let z = NoiseMultiplier::new(1.5).unwrap();
        let rate = SamplingRate::new(0.25).unwrap();
        let event = Event::new(
            Mechanism::Gaussian { noise_multiplier: z },
            Adjacency::Substitute,
            Unit::Example,
            Sampling::Poisson { rate },
            Steps::new(12).unwrap(),
        )
        .unwrap();
        let bytes = postcard::to_allocvec(&event).unwrap();
        assert_eq!(postcard::from_bytes::<Event>(&bytes).unwrap(), event);
    }
}
