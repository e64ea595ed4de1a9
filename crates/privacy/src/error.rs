//! The one error type of this crate: a code, what was found, what was expected, and a hint.
//!
//! Texts are for people: they say what was found, what was expected, and in a hint what to do, in terms of parameters and
//! their meanings. A command line, a server or a notebook adds where the parameter stands. Codes are stable and
//! have a description each.
//!
//! An error must never carry a number that depends on rows. Where it could (the size of a drawn batch, say), the text uses
//! words.

use crate::SumError;

/// Everything that can be refused in this room.
///
/// No variant carries a number that depends on private rows: parameters, plans and budgets are public.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PrivacyError {
    /// A parameter outside its range.
    ///
    /// Constructors of checked types return it, also when they are read from a file.
    #[error("{name} is {found}, expected {expected}")]
    Parameter {
        /// The parameter's plain name.
        name: &'static str,
        /// The value that was given.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A mechanism, relation and sampling that no theorem joins.
    ///
    /// It is not a matter of taste: nothing in this crate would know what to charge.
    #[error("no theorem covers {what}: {why}")]
    NoTheorem {
        /// The combination, in words.
        what: String,
        /// Why it is refused.
        why: &'static str,
        /// What to use instead.
        hint: &'static str,
    },
    /// An accountant was given an event that it does not know.
    ///
    /// Another accountant may support it: the hint names one.
    #[error("the {accountant} accountant does not support {event}")]
    Unsupported {
        /// Name of the accountant.
        accountant: &'static str,
        /// The event, in words.
        event: String,
        /// What to use instead.
        hint: &'static str,
    },
    /// An accountant knows the event but cannot stand behind a number for it.
    ///
    /// It is a property of the arithmetic or of the theorem, not of the data.
    #[error("no certified answer from the {accountant} accountant: {why}")]
    Uncertified {
        /// Name of the accountant.
        accountant: &'static str,
        /// What could not be certified.
        why: String,
        /// Other numbers or another accountant to try.
        hint: &'static str,
    },
    /// Events of one plan speak of different relations or units.
    ///
    /// ε for a row and ε for a client, or for two relations, are different promises.
    #[error("a plan mixes {first} with {second}: their costs do not add up")]
    MixedRelations {
        /// Relation and unit of the first event.
        first: String,
        /// Relation and unit of the event that differs.
        second: String,
    },
    /// The charge would exceed the site's budget. Nothing was spent.
    ///
    /// The ledger is unchanged, and a smaller charge may be tried.
    #[error("{event} would exceed the budget: {cost}, granted {granted}")]
    Budget {
        /// The event that was refused, in words.
        event: String,
        /// What the ledger would hold with it.
        cost: String,
        /// The ε and δ that the grant allows.
        granted: String,
        /// How many steps of this event still fit.
        fits: u64,
    },
    /// The event is not the next one of the plan that the ledger was opened for.
    ///
    /// A fixed plan is certified for its events in their order and for no others.
    #[error("{event} does not match the next event of the plan: {expected}")]
    OffPlan {
        /// The event that was asked for.
        event: String,
        /// The event that the plan has next.
        expected: String,
    },
    /// A journal did not append the record, or the records of one do not follow each other.
    ///
    /// Whether the record was written is unknown: the ledger stays closed until it is replayed from the journal.
    #[error("the charge was not recorded in the journal: {why}")]
    Journal {
        /// What the journal said.
        why: String,
    },
    /// All releases that the receipt covers were made.
    ///
    /// The gate stays shut; the releases that were made are what was charged for.
    #[error("the receipt covers {covered} releases, and all of them have been made")]
    ReceiptSpent {
        /// How many the receipt covered.
        covered: u64,
    },
    /// The sum and the gate were made for different shapes.
    ///
    /// It also names a batch of another gate, or rows that do not match the sampling of the event.
    #[error("the sum has {found}, but the gate expects {expected}")]
    Shape {
        /// Shape of the sum.
        found: String,
        /// Shape the gate expects.
        expected: String,
    },
    /// A second change was pushed where the whole change is one vector, or a part too many.
    #[error("this sum accepts {expected} and no more")]
    TooMany {
        /// How many the shape allows, in words: the size of a drawn batch is private.
        expected: String,
    },
    /// What was asked cannot happen at this gate.
    ///
    /// Gates refuse what they were not charged for, before any noise is used.
    #[error("{what} is not possible at a {gate} gate")]
    WrongGate {
        /// The step that was asked of the gate.
        what: &'static str,
        /// The kind of gate.
        gate: &'static str,
        /// Where it can happen.
        hint: &'static str,
    },
    /// A secure sum has too few contributions to be opened.
    ///
    /// With fewer shares the total would have less noise than was charged.
    #[error("{found} contributions arrived, but the sum opens with at least {expected}")]
    Quorum {
        /// How many contributions arrived.
        found: u64,
        /// The least that the noise was sized for.
        expected: u64,
    },
    /// A secure sum refused a message, or an attempt at it failed.
    #[error(transparent)]
    Sum(SumError),
    /// The operating system gave no random bytes.
    #[error("the operating system did not provide random bytes")]
    Randomness,
    /// Post-processing of released values gave a change that cannot be sent.
    ///
    /// It depends on released values only.
    #[error("the optimisation diverged: its update is not finite or is too large to send")]
    Diverged,
}

impl From<SumError> for PrivacyError {
    /// Too few contributions have one name, in whatever way they are added up.
    fn from(error: SumError) -> Self {
        match error {
            SumError::TooFew { found, expected } => Self::Quorum { found, expected },
            other => Self::Sum(other),
        }
    }
}

impl PrivacyError {
    /// Stable code, as printed by the command line and explained by the guide.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Parameter { .. } => "P001",
            Self::NoTheorem { .. } => "P002",
            Self::Unsupported { .. } => "P003",
            Self::Uncertified { .. } => "P004",
            Self::MixedRelations { .. } => "P005",
            Self::Budget { .. } => "P006",
            Self::OffPlan { .. } => "P007",
            Self::Journal { .. } => "P008",
            Self::ReceiptSpent { .. } => "P009",
            Self::Shape { .. } => "P010",
            Self::TooMany { .. } => "P011",
            Self::WrongGate { .. } => "P012",
            Self::Quorum { .. } => "P013",
            Self::Randomness => "P014",
            Self::Diverged => "P015",
            Self::Sum(_) => "P016",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Sum(error) => error.hint(),
            Self::Parameter { .. } | Self::Randomness => return None,
            Self::NoTheorem { hint, .. }
            | Self::Unsupported { hint, .. }
            | Self::Uncertified { hint, .. }
            | Self::WrongGate { hint, .. } => hint,
            Self::MixedRelations { .. } => "account for each relation and unit in a separate plan",
            Self::Budget { fits, .. } => {
                return Some(match fits {
                    0 => "not one step of it fits; use more noise, or grant a larger ε or δ".to_owned(),
                    _ => format!("{fits} of its steps still fit; or use more noise, or grant a larger ε or δ"),
                });
            }
            Self::OffPlan { .. } => {
                "charge the events of a fixed plan in order; to choose events during the run, open the ledger with an adaptive filter"
            }
            Self::Journal { .. } => "nothing was released; repair the journal, replay the ledger and charge again",
            Self::ReceiptSpent { .. } => "charge the ledger for further steps before the next release",
            Self::Shape { .. } => "build the sum and the gate from the same shape and batch",
            Self::Diverged => "lower the learning rate, or apply less of each update (damping)",
            Self::TooMany { .. } => "push as many vectors as the batch or the shape declares",
            Self::Quorum { .. } => {
                "raise dropouts (how many clients may be missing); the noise shares are then sized for it"
            }
        };
        Some(text.to_owned())
    }
}
