//! Which methods a reader compares: the best private one, what no privacy reaches, what sites reach alone, a constant.

use crate::svg::Mark;
use inference::comparison::{baseline, behind_constant, comparable};
use inference::results::{MethodResult, PrivacyResult, Results};
use study::digits::shortest;

/// The results with the places of the methods that matter most.
pub(crate) struct Standing<'a> {
    /// Everything.
    pub(crate) results: &'a Results,
    best: Option<usize>,
    open: Option<usize>,
    alone: Option<usize>,
    constant: Option<usize>,
}

/// What a method is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The best of those that promise privacy.
    Best,
    /// Without privacy, all data together.
    NonPrivate,
    /// Every site by itself.
    LocalOnly,
    /// One answer for all rows.
    Constant,
    /// Any other.
    Other,
}

/// A method with its number.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    /// Its number in the results.
    pub(crate) number: usize,
    /// The method.
    pub(crate) method: &'a MethodResult,
    /// Its colour, dashes and shape in every figure.
    pub(crate) mark: Mark,
}

impl<'a> Standing<'a> {
    /// Finds them. The best has the highest main score, and none is best that is behind the constant answer.
    pub(crate) fn of(results: &'a Results) -> Self {
        let named = |algorithm: &str| {
            baseline(&results.methods, algorithm).filter(|number| results.methods[*number].is_comparable())
        };
        let best = best_of(results, |_| true);
        Self { results, best, open: named("non-private"), alone: named("local-only"), constant: named("constant") }
    }

    /// The best private method of each granted ε, the smallest ε first.
    pub(crate) fn best_of_each(&self) -> Vec<(f64, Placed<'a>)> {
        let mut granted: Vec<f64> =
            self.results.methods.iter().filter_map(|m| m.privacy.as_ref()).map(|p| p.epsilon).collect();
        granted.sort_by(f64::total_cmp);
        granted.dedup();
        let at = |epsilon: f64| {
            let best = best_of(self.results, |privacy| privacy.epsilon == epsilon)?;
            Some((epsilon, self.placed(best)))
        };
        granted.into_iter().filter_map(at).collect()
    }

    /// True if errors are those of the encoded outcome.
    pub(crate) fn encoded_scores(&self) -> bool {
        self.results.data.encoded_scores
    }

    /// Whether the exact posterior is known, so that methods have a divergence from it.
    pub(crate) fn divergences(&self) -> bool {
        self.results.methods.iter().any(|method| method.kl.is_some())
    }

    /// All methods with their numbers.
    pub(crate) fn methods(&self) -> impl Iterator<Item = Placed<'a>> + '_ {
        (0..self.results.methods.len()).map(|number| self.placed(number))
    }

    fn placed(&self, number: usize) -> Placed<'a> {
        let before = (0..number).filter(|&other| !self.reference(other)).count();
        let mark = match self.role(number) {
            Role::NonPrivate => Mark::reference(0),
            Role::LocalOnly | Role::Constant => Mark::reference(1),
            Role::Best | Role::Other => Mark::of(before),
        };
        Placed { number, method: &self.results.methods[number], mark }
    }

    /// True for those that the others are measured against.
    pub(crate) fn reference(&self, number: usize) -> bool {
        matches!(self.role(number), Role::NonPrivate | Role::LocalOnly | Role::Constant)
    }

    /// The best private method.
    pub(crate) fn best(&self) -> Option<Placed<'a>> {
        self.best.map(|number| self.placed(number))
    }

    /// The non-private baseline.
    pub(crate) fn open(&self) -> Option<Placed<'a>> {
        self.open.map(|number| self.placed(number))
    }

    /// The local-only baseline.
    pub(crate) fn alone(&self) -> Option<Placed<'a>> {
        self.alone.map(|number| self.placed(number))
    }

    /// The baseline that answers every row alike.
    pub(crate) fn constant(&self) -> Option<Placed<'a>> {
        self.constant.map(|number| self.placed(number))
    }

    /// What the best private method is called: with its ε where private methods have several.
    pub(crate) fn best_label(&self) -> String {
        let best = self.best().and_then(|best| best.method.privacy.as_ref());
        match best.filter(|_| self.best_of_each().len() > 1) {
            Some(privacy) => format!("best private, at ε = {}", shortest(privacy.epsilon)),
            None => "best private".into(),
        }
    }

    /// The best private method, or the first of all, then the baselines: those that a small figure has room for.
    pub(crate) fn leading(&self) -> Vec<Placed<'a>> {
        let first = self.best().or_else(|| self.methods().find(|m| self.role(m.number) == Role::Other));
        let mut leading: Vec<_> = first.into_iter().collect();
        for other in [self.open(), self.alone()].into_iter().flatten() {
            if leading.iter().all(|m| m.number != other.number) {
                leading.push(other);
            }
        }
        leading
    }

    /// What the method with this number is.
    pub(crate) fn role(&self, number: usize) -> Role {
        match Some(number) {
            found if found == self.best => Role::Best,
            found if found == self.open => Role::NonPrivate,
            found if found == self.alone => Role::LocalOnly,
            found if found == self.constant => Role::Constant,
            _ => Role::Other,
        }
    }

    /// True if any method promises privacy.
    pub(crate) fn private(&self) -> bool {
        self.results.methods.iter().any(|m| m.privacy.is_some())
    }

    /// Seeds that were run.
    pub(crate) fn seeds(&self) -> usize {
        let scored = self.results.methods.iter().filter_map(|m| m.scores.main());
        scored.map(|summary| summary.per_seed.len()).max().unwrap_or(0)
    }
}

/// The number of the best private method among those whose promise is wanted: the highest main score, the first
/// among equals.
fn best_of(results: &Results, wanted: impl Fn(&PrivacyResult) -> bool) -> Option<usize> {
    let methods = results.methods.iter().enumerate();
    let private = methods.filter(|(_, m)| !m.baseline && m.privacy.as_ref().is_some_and(&wanted) && comparable(m));
    let worth = private.filter(|(number, _)| behind_constant(&results.methods, *number).is_none());
    worth.fold(None, |best: Option<usize>, (number, method)| {
        let better = best.is_none_or(|best| method.main_score() > results.methods[best].main_score());
        if better { Some(number) } else { best }
    })
}

/// The largest certified and the largest claimed ε over clients.
pub(crate) fn spent(privacy: &PrivacyResult) -> Option<(f64, f64)> {
    let largest = |value: fn(&inference::results::ClientSpending) -> f64| {
        privacy.clients.iter().map(value).fold(f64::NEG_INFINITY, f64::max)
    };
    (!privacy.clients.is_empty()).then(|| (largest(|c| c.certified), largest(|c| c.claimed)))
}
