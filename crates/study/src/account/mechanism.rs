//! From mechanisms as typed, by a person or in a file, to checked events of the privacy library.

use super::typed::{AdjacencyAsTyped, AdversaryAsTyped, MechanismAsTyped, MechanismKind, SamplingAsTyped, UnitAsTyped};
use crate::error::StudyError;
use privacy::{
    Adjacency, Adversary, Event, Mechanism, NoiseMultiplier, PrivacyError, Sampling, Steps, Unit, VarianceSlack,
};

/// A checked number from its text; an error shows the text, not what became of it.
pub fn number<T>(name: &'static str, text: &str) -> Result<T, StudyError>
where
    T: TryFrom<f64, Error = PrivacyError>,
{
    let value = text.trim().parse().unwrap_or(f64::NAN);
    T::try_from(value).map_err(|error| match error {
        PrivacyError::Parameter { expected, .. } => PrivacyError::Parameter { name, found: cut(text), expected }.into(),
        other => other.into(),
    })
}

/// Letters of what was typed that a message repeats.
const ECHOED: usize = 40;

/// What was typed, as a message repeats it: its beginning if it is long.
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(ECHOED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reads a list of flat objects.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<MechanismAsTyped>, StudyError> {
    let list: Vec<serde_json::Value> = serde_json::from_str(text).map_err(|error| StudyError::Events {
        message: format!("{file} is not a JSON list of mechanisms: {error}"),
        hint: r#"for example [{"mechanism": "gaussian", "noise_multiplier": 1.1, "steps": 100, "adjacency": "substitute"}]"#
            .into(),
    })?;
    let entries: Vec<_> = list
        .into_iter()
        .enumerate()
        .map(|(index, value)| entry(value).map_err(|e| e.in_entry(index)))
        .collect::<Result<_, _>>()?;
    once(text)?;
    Ok(entries)
}

/// Refuses a key that stands twice in an object. A list of JSON values keeps the last one and forgets the others, so a
/// list of which all entries are sound is read again without that detour: only a key that stands twice can be amiss.
fn once(text: &str) -> Result<(), StudyError> {
    let read: Result<Vec<MechanismAsTyped>, _> = serde_json::from_str(text);
    read.map(|_| ()).map_err(|error| StudyError::Events {
        message: format!("the list of events: {error}"),
        hint: "a key stands once in an object; write another object for another mechanism".into(),
    })
}

/// One object of the list.
fn entry(value: serde_json::Value) -> Result<MechanismAsTyped, StudyError> {
    serde_json::from_value(value).map_err(|error| StudyError::Events {
        message: error.to_string(),
        hint: "an object has the keys of accounting, such as noise_multiplier or noise-multiplier".into(),
    })
}

/// Checks every mechanism of a plan and joins it with its setting.
pub(crate) fn events(entries: &[MechanismAsTyped]) -> Result<Vec<Event>, StudyError> {
    let events = match entries {
        [] => {
            return Err(StudyError::Events {
                message: "the list of events is empty".into(),
                hint: "nothing happened, which costs nothing; write one object per mechanism".into(),
            });
        }
        [only] => vec![only.event()?],
        many => many
            .iter()
            .enumerate()
            .map(|(index, entry)| entry.event().map_err(|e| e.in_entry(index)))
            .collect::<Result<_, _>>()?,
    };
    let named = entries.iter().filter(|entry| entry.names_relation()).count();
    if named > 0 && named < entries.len() {
        return Err(StudyError::Events {
            message: "some events name a relation and some do not".into(),
            hint: "add \"adjacency\" to the approximate events: the relation in which their (ε, δ) holds".into(),
        });
    }
    Ok(events)
}

impl MechanismKind {
    /// The names of the values that have a meaning for it, besides the mechanism itself.
    fn takes(self) -> &'static [&'static str] {
        match self {
            Self::Gaussian | Self::Laplace => &["noise-multiplier", "steps", "sampling", "rate", "adjacency", "unit"],
            Self::RandomisedResponse => &["categories", "gamma", "steps", "adjacency"],
            Self::ShuffleClones => &["users", "local-epsilon", "steps", "rate", "adjacency"],
            Self::ShuffleKrr => &["users", "categories", "gamma", "adversary", "steps", "rate", "adjacency"],
            Self::Approximate => &["step-epsilon", "step-delta", "steps", "adjacency", "unit"],
            Self::Barker => &["batch", "rows", "steps", "adjacency"],
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Laplace => "laplace",
            Self::RandomisedResponse => "randomised-response",
            Self::ShuffleClones => "shuffle-clones",
            Self::ShuffleKrr => "shuffle-krr",
            Self::Approximate => "approximate",
            Self::Barker => "barker",
        }
    }
}

impl MechanismAsTyped {
    /// The names of the values that were given.
    pub fn given(&self) -> Vec<&'static str> {
        let all = [
            ("mechanism", self.mechanism.is_some()),
            ("noise-multiplier", self.noise_multiplier.is_some()),
            ("steps", self.steps.is_some()),
            ("sampling", self.sampling.is_some()),
            ("rate", self.rate.is_some()),
            ("adjacency", self.adjacency.is_some()),
            ("unit", self.unit.is_some()),
            ("categories", self.categories.is_some()),
            ("gamma", self.gamma.is_some()),
            ("users", self.users.is_some()),
            ("local-epsilon", self.local_epsilon.is_some()),
            ("adversary", self.adversary.is_some()),
            ("step-epsilon", self.step_epsilon.is_some()),
            ("step-delta", self.step_delta.is_some()),
            ("batch", self.batch.is_some()),
            ("rows", self.rows.is_some()),
        ];
        all.iter().filter(|(_, given)| *given).map(|(flag, _)| *flag).collect()
    }

    /// The kind, after a check that every flag given has a meaning for it.
    fn kind(&self) -> Result<MechanismKind, StudyError> {
        let missing =
            || StudyError::usage("no `mechanism` is named", "for example `mechanism = gaussian`, or a list of events");
        let kind = self.mechanism.ok_or_else(missing)?;
        match self.given().into_iter().find(|flag| *flag != "mechanism" && !kind.takes().contains(flag)) {
            None => Ok(kind),
            Some(flag) => {
                let takes: Vec<String> = kind.takes().iter().map(|name| format!("`{}`", key(name))).collect();
                let message = format!("`{}` has no meaning for {}", key(flag), kind.name());
                Err(StudyError::usage(message, format!("it takes {}", takes.join(", "))))
            }
        }
    }

    /// True if the neighbouring relation is stated, or follows from the mechanism.
    pub(crate) fn names_relation(&self) -> bool {
        self.adjacency.is_some() || self.mechanism != Some(MechanismKind::Approximate)
    }

    /// True for noise whose multiplier is left out.
    pub(crate) fn lacks_noise(&self) -> bool {
        matches!(self.mechanism, Some(MechanismKind::Gaussian | MechanismKind::Laplace))
            && self.noise_multiplier.is_none()
    }

    /// The checked event.
    pub(crate) fn event(&self) -> Result<Event, StudyError> {
        let kind = self.kind()?;
        let steps: Steps = self.need("steps", &self.steps)?;
        let unit = match self.unit {
            Some(UnitAsTyped::Client) => Unit::Client,
            Some(UnitAsTyped::Person) => Unit::Person,
            Some(UnitAsTyped::Example) | None => Unit::Example,
        };
        Ok(Event::new(self.mechanism(kind)?, self.relation(kind)?, unit, self.sampling()?, steps)?)
    }

    /// The mechanism with its own numbers.
    fn mechanism(&self, kind: MechanismKind) -> Result<Mechanism, StudyError> {
        Ok(match kind {
            MechanismKind::Gaussian => Mechanism::Gaussian { noise_multiplier: self.multiplier()? },
            MechanismKind::Laplace => Mechanism::Laplace { noise_multiplier: self.multiplier()? },
            MechanismKind::RandomisedResponse => Mechanism::RandomisedResponse {
                categories: self.need("categories", &self.categories)?,
                gamma: self.need("gamma", &self.gamma)?,
            },
            MechanismKind::Approximate => Mechanism::Approximate {
                epsilon: self.need("step-epsilon", &self.step_epsilon)?,
                delta: self.need("step-delta", &self.step_delta)?,
            },
            MechanismKind::ShuffleClones => Mechanism::ShuffleClones {
                users: self.need("users", &self.users)?,
                local_epsilon: self.need("local-epsilon", &self.local_epsilon)?,
            },
            MechanismKind::ShuffleKrr => Mechanism::ShuffleRandomisedResponse {
                users: self.need("users", &self.users)?,
                categories: self.need("categories", &self.categories)?,
                gamma: self.need("gamma", &self.gamma)?,
                adversary: match self.adversary.ok_or_else(|| absent("adversary"))? {
                    AdversaryAsTyped::Strong => Adversary::Strong,
                    AdversaryAsTyped::Weak => Adversary::Weak,
                    AdversaryAsTyped::Outside => Adversary::Outside,
                },
            },
            MechanismKind::Barker => Mechanism::BarkerTest {
                batch: self.need("batch", &self.batch)?,
                slack: VarianceSlack::new(1.0)?, // as in the paper, and in every chain that is run here
            },
        })
    }

    fn multiplier(&self) -> Result<NoiseMultiplier, StudyError> {
        self.need("noise-multiplier", &self.noise_multiplier)
    }

    /// The relation: stated for noise on sums; an answer of a person is replaced, not left out.
    ///
    /// (ε, δ) of a step holds in a relation that this command need not know: any one stands for it in the event.
    fn relation(&self, kind: MechanismKind) -> Result<Adjacency, StudyError> {
        match (self.adjacency, kind) {
            (Some(AdjacencyAsTyped::AddRemove), _) => Ok(Adjacency::AddRemove),
            (Some(AdjacencyAsTyped::Substitute), _) => Ok(Adjacency::Substitute),
            (None, MechanismKind::Gaussian | MechanismKind::Laplace) => Err(absent("adjacency")),
            (None, _) => Ok(Adjacency::Substitute),
        }
    }

    /// How rows are drawn: a rate goes with a sampling, and a sampling with a rate.
    fn sampling(&self) -> Result<Sampling, StudyError> {
        if self.mechanism == Some(MechanismKind::Barker) {
            let (batch, rows): (Steps, Steps) = (self.need("batch", &self.batch)?, self.need("rows", &self.rows)?);
            return Ok(Sampling::without_replacement(batch.get(), rows.get())?);
        }
        match (self.sampling, &self.rate) {
            // The users of a shuffle are a share of all users, drawn without replacement.
            (_, rate @ Some(_))
                if matches!(self.mechanism, Some(MechanismKind::ShuffleClones | MechanismKind::ShuffleKrr)) =>
            {
                Ok(Sampling::without_replacement_at(self.need("rate", rate)?)?)
            }
            (None | Some(SamplingAsTyped::None), None) => Ok(Sampling::None),
            (None | Some(SamplingAsTyped::None), Some(_)) => Err(StudyError::usage(
                "`rate` is given, but no sampling that it could be the rate of",
                "add `sampling = poisson` (each row on its own) or `sampling = without-replacement` (fixed size)",
            )),
            (Some(SamplingAsTyped::Poisson), rate) => Ok(Sampling::Poisson { rate: self.need("rate", rate)? }),
            (Some(SamplingAsTyped::WithoutReplacement), rate) => {
                Ok(Sampling::without_replacement_at(self.need("rate", rate)?)?)
            }
        }
    }

    /// A number that the mechanism cannot do without.
    fn need<T>(&self, flag: &'static str, text: &Option<String>) -> Result<T, StudyError>
    where
        T: TryFrom<f64, Error = PrivacyError>,
    {
        number(flag, text.as_ref().ok_or_else(|| absent(flag))?)
    }
}

/// The key of a value: as in a file of events and in a study.
fn key(name: &str) -> String {
    name.replace('-', "_")
}

/// A value that is missing, and what it would say.
fn absent(flag: &str) -> StudyError {
    let hint = match flag {
        "adjacency" => {
            "name the neighbours: `adjacency = add-remove` (one unit more or less) or substitute (one unit replaced)"
        }
        "noise-multiplier" => {
            "standard deviation of the noise / sensitivity, such as 1.1; a calibration finds it for a budget"
        }
        "steps" => "how often it is done, such as 1; a search for steps finds how many fit a budget",
        "rate" => "the share of the rows in a step, such as 0.01",
        "batch" => "rows in the batch of one test, such as 1000",
        "rows" => "rows that a batch is drawn from, such as 1000000",
        "adversary" => {
            "strong knows who answered at random, weak knows it of the others only, outside sees the shuffled answers alone"
        }
        _ => "the reference of accounting tells what each mechanism needs",
    };
    StudyError::usage(format!("`{}` is missing", key(flag)), hint)
}
