//! A plan as meant: its events, how often one person may be in it, and how many units it protects together.

use super::mechanism;
use super::typed::{MechanismAsTyped, PlanAsTyped};
use crate::error::StudyError;
use privacy::accounting::group::of_group;
use privacy::{Adjacency, Event, Mechanism, NoiseMultiplier, PrivacyError, Sampling, Steps, Unit};

/// What is accounted.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What happens at one client; never empty.
    pub events: Vec<Event>,
    /// False if only (ε, δ) of each step is known, and not in which relation it holds.
    relation_named: bool,
    /// The same person may be at so many clients that each run the events.
    pub overlap: Steps,
    /// So many units are protected together.
    pub group: Steps,
}

impl Plan {
    /// The plan of these events at one client, each person at one client and each unit by itself.
    pub fn new(events: Vec<Event>) -> Result<Self, StudyError> {
        if events.is_empty() {
            mechanism::events(&[])?;
        }
        privacy::accounting::check_one_relation(&events)?;
        Ok(Self { events, relation_named: true, overlap: Steps::ONE, group: Steps::ONE })
    }

    /// The plan as meant.
    pub fn of(typed: &PlanAsTyped) -> Result<Self, StudyError> {
        let count = |name, text: &Option<String>| match text {
            Some(text) => mechanism::number(name, text),
            None => Ok(Steps::ONE),
        };
        let events = mechanism::events(&typed.mechanisms)?;
        privacy::accounting::check_one_relation(&events)?;
        Ok(Self {
            events,
            relation_named: typed.mechanisms.iter().any(MechanismAsTyped::names_relation),
            overlap: count("overlap", &typed.overlap)?,
            group: count("group", &typed.group)?,
        })
    }

    /// Uses of all events together, at one client.
    pub fn steps(&self) -> u64 {
        self.events.iter().fold(0, |total, event| total.saturating_add(event.steps().get()))
    }

    /// What all events have in common, if they have it.
    pub fn common<T: PartialEq>(&self, of: impl Fn(&Event) -> T) -> Option<T> {
        let first = of(self.events.first()?);
        self.events.iter().all(|event| of(event) == first).then_some(first)
    }

    /// Which data sets are neighbours, if that was said.
    pub fn adjacency(&self) -> Option<Adjacency> {
        self.common(Event::adjacency).filter(|_| self.relation_named)
    }

    /// Who is protected.
    pub fn unit(&self) -> Unit {
        self.common(Event::unit).unwrap_or(Unit::Example)
    }

    /// True if every event's worst case is one of its own mechanism.
    pub fn reaches_its_pair(&self) -> bool {
        self.events.iter().all(Event::reaches_its_pair)
    }

    /// The evaluators of `pld` whose intervals `--verify` compares.
    ///
    /// Sampled noise in several steps has no closed form and always has the two others; of any other plan it is only
    /// known that two of the three answered.
    pub fn evaluators(&self) -> &'static str {
        let sampled =
            self.events.iter().any(|event| event.sampling().rate() < 1.0 && event.noise_multiplier().is_some());
        let single = self.steps().saturating_mul(self.overlap.get()) == 1;
        if sampled && !single { "contour and FFT" } else { "two evaluators' (closed form, contour or FFT)" }
    }

    /// True if every event is an answer of people, not a sum over rows.
    pub fn asks_people(&self) -> bool {
        self.events.iter().all(|event| event.mechanism().asks_people())
    }

    /// The plan in one line.
    pub fn words(&self) -> String {
        match self.events.as_slice() {
            [event] if self.relation_named => words(event),
            [event] => format!("{} of {}", counted(event.steps()), event.mechanism()),
            events => format!("{} events under one relation for one {}", events.len(), self.unit()),
        }
    }

    /// The same plan with this noise multiplier on the marked events.
    pub(crate) fn with_noise(&self, marked: &[bool], z: NoiseMultiplier) -> Result<Self, PrivacyError> {
        let noised = |(event, marked): (&Event, &bool)| if *marked { noised(event, z) } else { Ok(event.clone()) };
        let events = self.events.iter().zip(marked).map(noised).collect::<Result<_, _>>()?;
        Ok(Self { events, ..self.clone() })
    }

    /// What a group is charged for: its events at every client that may hold the same people.
    ///
    /// A person at K clients is exposed to the K plans in sequence, so each event happens K times as often.
    pub(crate) fn charged(&self) -> Result<Vec<Event>, PrivacyError> {
        let often = |event: &Event| {
            let steps = Steps::new(event.steps().get().saturating_mul(self.overlap.get()))?;
            Ok(event.repeated(steps))
        };
        let events = self.events.iter().map(often).collect::<Result<Vec<_>, PrivacyError>>()?;
        if self.group == Steps::ONE { Ok(events) } else { of_group(&events, self.group) }
    }

    /// The same plan with so many steps of its one event.
    pub(crate) fn repeated(&self, steps: Steps) -> Self {
        Self { events: self.events.iter().map(|event| event.repeated(steps)).collect(), ..self.clone() }
    }
}

/// An event in words.
pub fn words(event: &Event) -> String {
    let text = event.to_string();
    match text.strip_prefix("1 steps ") {
        Some(rest) => format!("1 step {rest}"),
        None => text,
    }
}

/// So many steps, in words.
fn counted(steps: Steps) -> String {
    if steps == Steps::ONE { "1 step".into() } else { format!("{steps} steps") }
}

/// The same event with another noise multiplier.
fn noised(event: &Event, z: NoiseMultiplier) -> Result<Event, PrivacyError> {
    let mechanism = match event.mechanism() {
        Mechanism::Laplace { .. } => Mechanism::Laplace { noise_multiplier: z },
        _ => Mechanism::Gaussian { noise_multiplier: z },
    };
    Event::new(mechanism, event.adjacency(), event.unit(), *event.sampling(), event.steps())
}

/// The name of the event's mechanism on the command line.
pub(crate) fn mechanism_name(event: &Event) -> &'static str {
    event.mechanism().name()
}

/// The name of the event's sampling on the command line.
pub(crate) fn sampling_name(event: &Event) -> &'static str {
    match event.sampling() {
        Sampling::None => "none",
        Sampling::Poisson { .. } => "poisson",
        Sampling::WithoutReplacement { .. } => "without-replacement",
    }
}

/// The share of rows in a step, where rows are drawn.
pub(crate) fn sampled_rate(event: &Event) -> Option<f64> {
    (*event.sampling() != Sampling::None).then(|| event.sampling().rate())
}
