//! The registry: which algorithms, solvers, samplers, rules and models there are.
//!
//! A registry is a value, not a global: a study, a server and an agent are each given one. What is
//! compiled into a program and not listed in its registry does not exist for its studies. Names are
//! unique within a [kind](Registered); other names that the literature uses are kept in
//! [`Descriptor::also`], so that a study which uses one is told the name that works.

use super::{Conflict, Key, Limits, Reading, UNKNOWN, VALUE};
use crate::algorithm::chain::Sampler;
use crate::algorithm::statistics::Rule;
use crate::data::nearest;
use crate::method::AlgorithmSettings;
use crate::model::ModelSettings;
use crate::solve::LocalSolve;
use std::fmt;
use std::sync::Arc;

/// How a part of a method, or a model, is found, described and read: the value that its own file
/// states.
///
/// `T` is the trait object that its settings become, such as `dyn LocalSolve`. The function `read` may
/// rely on [`validate`](super::validate): every key that is there has a value of its kind.
pub struct Descriptor<T: ?Sized + 'static> {
    /// Its name in studies.
    pub name: &'static str,
    /// Names under which others know it; a study that uses one is told ours.
    pub also: &'static [&'static str],
    /// What it is, in a sentence.
    pub about: &'static str,
    /// The keys that it adds to the table which names it.
    pub keys: &'static [Key],
    /// What it can be combined with.
    pub limits: Limits,
    /// Its settings from validated keys.
    pub read: fn(&Reading<'_>) -> Result<Arc<T>, Conflict>,
}

impl<T: ?Sized> fmt::Debug for Descriptor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Descriptor({})", self.name)
    }
}

/// The kinds of things that a study names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registered {
    /// `algorithm = …` of a method.
    Algorithm,
    /// `solver = …` of a method.
    Solver,
    /// `sampler = …` of a chain.
    Sampler,
    /// `rule = …` of sufficient statistics.
    Rule,
    /// `kind = …` of a model.
    Model,
}

impl Registered {
    /// Its noun.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Algorithm => "algorithm",
            Self::Solver => "solver",
            Self::Sampler => "sampler",
            Self::Rule => "rule",
            Self::Model => "model",
        }
    }

    /// Its noun with an article.
    pub fn article(self) -> &'static str {
        match self {
            Self::Algorithm => "an algorithm",
            Self::Solver => "a solver",
            Self::Sampler => "a sampler",
            Self::Rule => "a rule",
            Self::Model => "a model",
        }
    }
}

/// One line of the registry: a descriptor of one of the five kinds.
#[derive(Debug, Clone, Copy)]
pub enum Entry {
    /// An algorithm.
    Algorithm(&'static Descriptor<dyn AlgorithmSettings>),
    /// A local solver.
    Solver(&'static Descriptor<dyn LocalSolve>),
    /// A sampler of a chain.
    Sampler(&'static Descriptor<dyn Sampler>),
    /// A rule of sufficient statistics.
    Rule(&'static Descriptor<dyn Rule>),
    /// A model.
    Model(&'static Descriptor<dyn ModelSettings>),
}

/// The public part of a descriptor, whatever it describes: what a reference or a listing shows.
#[derive(Debug, Clone, Copy)]
pub struct EntrySummary {
    /// Its name in studies.
    pub name: &'static str,
    /// Other names of it.
    pub also: &'static [&'static str],
    /// A sentence.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// What it goes with.
    pub limits: Limits,
}

impl Entry {
    /// Which kind of thing it is.
    pub fn kind(&self) -> Registered {
        match self {
            Self::Algorithm(_) => Registered::Algorithm,
            Self::Solver(_) => Registered::Solver,
            Self::Sampler(_) => Registered::Sampler,
            Self::Rule(_) => Registered::Rule,
            Self::Model(_) => Registered::Model,
        }
    }

    /// What can be said of it without reading a study.
    pub fn summary(&self) -> EntrySummary {
        match self {
            Self::Algorithm(of) => summary(of),
            Self::Solver(of) => summary(of),
            Self::Sampler(of) => summary(of),
            Self::Rule(of) => summary(of),
            Self::Model(of) => summary(of),
        }
    }
}

/// What every descriptor has, whatever it describes.
fn summary<T: ?Sized>(of: &Descriptor<T>) -> EntrySummary {
    EntrySummary { name: of.name, also: of.also, about: of.about, keys: of.keys, limits: of.limits }
}

macro_rules! entry {
    ($($variant:ident: $settings:ty),*) => {
        $(impl From<&'static Descriptor<$settings>> for Entry {
            fn from(descriptor: &'static Descriptor<$settings>) -> Self {
                Self::$variant(descriptor)
            }
        })*
    };
}

entry!(
    Algorithm: dyn AlgorithmSettings,
    Solver: dyn LocalSolve,
    Sampler: dyn Sampler,
    Rule: dyn Rule,
    Model: dyn ModelSettings
);

/// Everything that studies can name. An agent has what is compiled into it, and of that what its policy allows.
///
/// # Examples
/// ```
/// use inference::describe::{Registered, Registry};
/// let registry = Registry::standard();
/// assert!(registry.names(Registered::Solver).contains(&"perturb"));
/// ```
///
/// A part of one's own is added by [`Registry::with`]; see the example `own_method` of the facade.
#[derive(Debug, Clone)]
pub struct Registry {
    entries: Vec<Entry>,
}

impl Registry {
    /// What this crate ships: one line for each.
    pub fn standard() -> Self {
        use crate::algorithm::chain::kernel::{barker, hamiltonian, langevin, penalty};
        use crate::algorithm::statistics::rule;
        use crate::algorithm::{
            chain, committee, conjugate, global_vi, global_vi_at_clients, levels, noise_aware, pvi, statistics,
        };
        use crate::{model, solve};
        Self {
            entries: vec![
                Entry::Algorithm(&pvi::DESCRIPTOR),
                Entry::Algorithm(&noise_aware::DESCRIPTOR),
                Entry::Algorithm(&levels::DESCRIPTOR),
                Entry::Algorithm(&levels::classes::DESCRIPTOR),
                Entry::Algorithm(&statistics::DESCRIPTOR),
                Entry::Algorithm(&conjugate::DESCRIPTOR),
                Entry::Algorithm(&chain::DESCRIPTOR),
                Entry::Algorithm(&committee::DESCRIPTOR),
                Entry::Algorithm(&global_vi::DESCRIPTOR),
                Entry::Algorithm(&global_vi_at_clients::DESCRIPTOR),
                Entry::Solver(&solve::clear::DESCRIPTOR),
                Entry::Solver(&solve::descend::DESCRIPTOR),
                Entry::Solver(&solve::perturb::DESCRIPTOR),
                Entry::Solver(&solve::average::DESCRIPTOR),
                Entry::Solver(&solve::virtual_clients::DESCRIPTOR),
                Entry::Solver(&solve::analytic::DESCRIPTOR),
                Entry::Solver(&solve::likelihood::DESCRIPTOR),
                Entry::Solver(&solve::hybrid::DESCRIPTOR),
                Entry::Sampler(&barker::DESCRIPTOR),
                Entry::Sampler(&penalty::DESCRIPTOR),
                Entry::Sampler(&langevin::DESCRIPTOR),
                Entry::Sampler(&hamiltonian::DESCRIPTOR),
                Entry::Rule(&rule::row_norm::DESCRIPTOR),
                Entry::Rule(&rule::plain::DESCRIPTOR),
                Entry::Rule(&rule::projected::DESCRIPTOR),
                Entry::Rule(&rule::inputs::DESCRIPTOR),
                Entry::Model(&model::linear::DESCRIPTOR),
                Entry::Model(&model::logistic::DESCRIPTOR),
                Entry::Model(&model::softmax::DESCRIPTOR),
                Entry::Model(&model::network::DESCRIPTOR),
                Entry::Model(&model::mixture::DESCRIPTOR),
                Entry::Model(&model::beta_binomial::DESCRIPTOR),
                Entry::Model(&model::dirichlet_multinomial::DESCRIPTOR),
                Entry::Model(&model::gamma_poisson::DESCRIPTOR),
                Entry::Model(&model::normal::DESCRIPTOR),
            ],
        }
    }

    /// The same with one more. One of the same kind and name is replaced.
    #[must_use]
    pub fn with(mut self, entry: impl Into<Entry>) -> Self {
        let entry = entry.into();
        let same = |other: &Entry| other.kind() == entry.kind() && other.summary().name == entry.summary().name;
        self.entries.retain(|other| !same(other));
        self.entries.push(entry);
        self
    }

    /// All entries of one kind, in the order of the registry.
    pub fn of(&self, kind: Registered) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.kind() == kind)
    }

    /// The names of one kind, in the order of the registry.
    pub fn names(&self, kind: Registered) -> Vec<&'static str> {
        self.of(kind).map(|entry| entry.summary().name).collect()
    }

    /// The entry of this kind and name.
    ///
    /// # Errors
    /// A conflict at the key that names this kind. Its hint is our name where the study used another
    /// name of the same thing, the nearest name where it may be misspelt, and all names otherwise.
    pub fn find(&self, kind: Registered, name: &str) -> Result<&Entry, Conflict> {
        if let Some(found) = self.of(kind).find(|entry| entry.summary().name == name) {
            return Ok(found);
        }
        let key = if kind == Registered::Model { "kind" } else { kind.noun() };
        let what = format!("there is no {} {name:?}", kind.noun());
        let alias = self.of(kind).map(Entry::summary).find(|summary| summary.also.contains(&name));
        let names = self.names(kind);
        let hint = match (alias, nearest(name, names.iter().copied())) {
            (Some(known), _) => format!("it is called {:?} here: {}", known.name, known.about),
            (None, Some(near)) => format!("did you mean {near:?}?"),
            (None, None) => format!("one of {}", names.join(", ")),
        };
        Err(Conflict::new(key, UNKNOWN, what, hint))
    }

    /// Names of the entries of this kind that have a key of this name. [`validate`](super::validate) uses
    /// it to say to which method a stray key belongs.
    pub fn owners(&self, kind: Registered, key: &str) -> Vec<&'static str> {
        let has = |entry: &&Entry| entry.summary().keys.iter().any(|own| own.name == key);
        self.of(kind).filter(has).map(|entry| entry.summary().name).collect()
    }
}

/// Reads what a key of kind [`Registered`] names; the name was validated before.
macro_rules! resolve {
    ($name:ident, $variant:ident, $kind:expr, $settings:ty) => {
        /// The settings of what is named, read from the same table.
        pub(crate) fn $name(reading: &Reading<'_>, name: &str) -> Result<Arc<$settings>, Conflict> {
            match reading.registry.find($kind, name)? {
                Entry::$variant(descriptor) => {
                    (descriptor.read)(&Reading { keys: reading.keys.by(descriptor.keys), ..*reading })
                }
                _ => Err(Conflict::new($kind.noun(), VALUE, "the registry has another kind of that name", "")),
            }
        }
    };
}

/// From names to settings.
pub(crate) mod resolve {
    use super::*;
    resolve!(algorithm, Algorithm, Registered::Algorithm, dyn AlgorithmSettings);
    resolve!(solver, Solver, Registered::Solver, dyn LocalSolve);
    resolve!(sampler, Sampler, Registered::Sampler, dyn Sampler);
    resolve!(rule, Rule, Registered::Rule, dyn Rule);
    resolve!(model, Model, Registered::Model, dyn ModelSettings);
}
