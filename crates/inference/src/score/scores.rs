//! Values of scores, in the order of the list, written under the scores' own names.

use super::{HeldOut, MAIN, Prominence, Score};
use crate::results::Summary;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A value for each score that there is one of: a number, its [`Summary`] over seeds, or a difference to another method.
///
/// As data it is a map from names to values. What has no value is left out, and read from a map that says `null`; names that are
/// not in the list are passed over.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores<T>(Vec<(&'static Score, T)>);

impl<T> Default for Scores<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FromIterator<(&'static Score, T)> for Scores<T> {
    fn from_iter<I: IntoIterator<Item = (&'static Score, T)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T> Scores<T> {
    /// Every score with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Score, &T)> {
        self.0.iter().map(|(score, value)| (*score, value))
    }

    /// The value of the score with this name.
    ///
    /// ```
    /// use inference::Prediction;
    /// use inference::score::scores;
    /// let found = scores(&[Prediction::Probability(0.9), Prediction::Probability(0.4)], &[1.0, 1.0]);
    /// assert_eq!((found.get("accuracy"), found.get("coverage")), (Some(&0.5), None));
    /// ```
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(score, _)| score.name == name).map(|(_, value)| value)
    }

    /// Gives a score its value, in its place in the list; others than those of the list come last.
    pub fn insert(&mut self, score: &'static Score, value: T) {
        self.remove(score.name);
        self.0.push((score, value));
        self.0.sort_by_key(|(score, _)| score.place());
    }

    /// Takes the value of the score with this name.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        let at = self.0.iter().position(|(score, _)| score.name == name)?;
        Some(self.0.remove(at).1)
    }

    /// The value of [`MAIN`].
    pub fn main(&self) -> Option<&T> {
        self.get(MAIN.name)
    }

    /// The first leading score that is not [`MAIN`]: what people know best of such an outcome.
    pub fn familiar(&self) -> Option<(&'static Score, &T)> {
        self.iter().find(|(score, _)| score.prominence == Prominence::Leading && **score != *MAIN)
    }

    /// Those that are shown in such a place.
    #[must_use]
    pub fn shown_in(self, place: Prominence) -> Self {
        self.0.into_iter().filter(|(score, _)| score.is_shown_in(place)).collect()
    }

    /// The same scores with other values; those without one are left out.
    pub fn map<U>(&self, mut of: impl FnMut(&'static Score, &T) -> Option<U>) -> Scores<U> {
        self.iter().filter_map(|(score, value)| Some((score, of(score, value)?))).collect()
    }
}

impl Scores<f64> {
    /// These scores of held-out rows.
    pub fn of(scores: impl IntoIterator<Item = &'static Score>, held_out: &HeldOut<'_>) -> Self {
        scores.into_iter().filter_map(|score| Some((score, (score.compute)(held_out)?))).collect()
    }

    /// Scores that all of these have, with all of their values.
    fn gathered(each: &[&Self]) -> Vec<(&'static Score, Vec<f64>)> {
        let all = |score: &Score| each.iter().map(|one| one.get(score.name).copied()).collect::<Option<Vec<f64>>>();
        let first = each.first().map(|first| first.iter()).into_iter().flatten();
        first.filter_map(|(score, _)| Some((score, all(score)?))).collect()
    }

    /// One of several: of each score the mean.
    #[must_use]
    pub fn mean(each: &[&Self]) -> Self {
        let n = each.len() as f64;
        Self::gathered(each).into_iter().map(|(score, values)| (score, values.iter().sum::<f64>() / n)).collect()
    }

    /// One for each seed, summarised.
    pub fn summarised(seeds: &[&Self]) -> Scores<Summary> {
        Self::gathered(seeds).into_iter().map(|(score, values)| (score, Summary::of(values))).collect()
    }

    /// Scores of an encoded outcome in the outcome's own unit: see [`Score::in_units`].
    #[must_use]
    pub fn in_units(&self, scale: f64) -> Self {
        self.map(|score, value| Some(score.in_units(*value, scale)))
    }
}

impl<T: Serialize> Serialize for Scores<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.iter().try_for_each(|(score, value)| map.serialize_entry(score.name, value))?;
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Scores<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ScoresVisitor(PhantomData))
    }
}

struct ScoresVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ScoresVisitor<T> {
    type Value = Scores<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from names of scores to values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scores<T>, A::Error> {
        let mut found = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            match Score::named(&name) {
                Some(score) => found.extend(map.next_value::<Option<T>>()?.map(|value| (score, value))),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        found.sort_by_key(|(score, _)| score.place());
        Ok(Scores(found))
    }
}
