//! Predictive checks: in groups of held-out rows, the mean outcome that was predicted beside the one that was found.

use super::HeldOut;
use crate::Prediction;
use serde::{Deserialize, Serialize};

/// Groups of rows by what was predicted for them, of equal size.
const TENTHS: usize = 10;

/// One group of held-out rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckGroup {
    /// Name of the site, or number of the tenth: the first has the lowest predictions.
    pub name: String,
    /// Rows, of all seeds together.
    pub rows: usize,
    /// Mean of what was predicted: the frequency of the outcome's second level, or the outcome.
    pub predicted: f64,
    /// Mean of what was found.
    pub observed: f64,
    /// Standard deviation that the predictive distributions give the observed mean of one seed's rows, each row by itself.
    pub deviation: f64,
}

impl CheckGroup {
    /// Predicted and observed rows, in this order. None of no rows.
    fn of(name: String, rows: &[(f64, f64, f64)]) -> Option<Self> {
        let n = rows.len() as f64;
        let sum = |of: fn(&(f64, f64, f64)) -> f64| rows.iter().map(of).sum::<f64>();
        (!rows.is_empty()).then(|| Self {
            name,
            rows: rows.len(),
            predicted: sum(|row| row.0) / n,
            observed: sum(|row| row.2) / n,
            deviation: sum(|row| row.1).sqrt() / n,
        })
    }

    /// How many standard deviations what was found lies from what was predicted.
    pub fn distance(&self) -> f64 {
        (self.observed - self.predicted) / self.deviation
    }
}

/// The checks of a method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PredictiveChecks {
    /// Tenths of the rows, by what was predicted.
    pub tenths: Vec<CheckGroup>,
    /// Each client's own held-out rows.
    pub sites: Vec<CheckGroup>,
}

impl PredictiveChecks {
    /// Checks of held-out rows, some of which are these clients' own. Empty where the outcome has more than two levels.
    pub fn of<'a>(held_out: &HeldOut<'_>, sites: impl Iterator<Item = (&'a str, &'a [usize])>) -> Self {
        let rows: Option<Vec<(f64, f64, f64)>> = held_out.rows().map(|(p, y)| moments(p, y)).collect();
        let Some(rows) = rows else { return Self::default() };
        let mut sorted = rows.clone();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let end = |tenth: usize| tenth * sorted.len() / TENTHS;
        let tenth = |k: usize| CheckGroup::of((k + 1).to_string(), &sorted[end(k)..end(k + 1)]);
        let at = |(name, own): (&str, &[usize])| {
            let own: Vec<(f64, f64, f64)> = own.iter().filter_map(|&row| rows.get(row).copied()).collect();
            CheckGroup::of(name.to_owned(), &own)
        };
        Self { tenths: (0..TENTHS).filter_map(tenth).collect(), sites: sites.filter_map(at).collect() }
    }

    /// One of all seeds: groups of one name together.
    ///
    /// Seeds share rows, so that more of them do not make an observed mean surer: the standard deviation stays that of one seed's
    /// rows, the mean over seeds.
    #[must_use]
    pub fn pooled(seeds: &[&Self]) -> Self {
        let pool = |groups: fn(&Self) -> &[CheckGroup]| {
            let all: Vec<&CheckGroup> = seeds.iter().flat_map(|seed| groups(seed)).collect();
            let mut names: Vec<&str> = Vec::new();
            all.iter().for_each(|group| {
                if !names.contains(&group.name.as_str()) {
                    names.push(&group.name);
                }
            });
            names.into_iter().map(|name| together(name, all.iter().filter(|group| group.name == name))).collect()
        };
        Self { tenths: pool(|seed| &seed.tenths), sites: pool(|seed| &seed.sites) }
    }

    /// The same of an outcome in its own units.
    #[must_use]
    pub fn in_units(&self, centre: f64, scale: f64) -> Self {
        let of = |group: &CheckGroup| CheckGroup {
            predicted: centre + scale * group.predicted,
            observed: centre + scale * group.observed,
            deviation: scale * group.deviation,
            ..group.clone()
        };
        Self { tenths: self.tenths.iter().map(of).collect(), sites: self.sites.iter().map(of).collect() }
    }
}

/// Mean and variance of what was predicted, and what was found; none of an outcome of several levels.
fn moments(prediction: &Prediction, outcome: f64) -> Option<(f64, f64, f64)> {
    match prediction {
        Prediction::Probability(p) => Some((*p, p * (1.0 - p), f64::from(u8::from(outcome >= 0.5)))),
        Prediction::Normal { mean, deviation } => Some((*mean, deviation * deviation, outcome)),
        Prediction::Classes(_) => None,
    }
}

/// Groups of one name as one.
fn together<'a>(name: &str, groups: impl Iterator<Item = &'a &'a CheckGroup> + Clone) -> CheckGroup {
    let rows: usize = groups.clone().map(|group| group.rows).sum();
    let mean = |of: fn(&CheckGroup) -> f64| {
        groups.clone().map(|group| group.rows as f64 * of(group)).sum::<f64>() / rows.max(1) as f64
    };
    let (predicted, observed) = (mean(|group| group.predicted), mean(|group| group.observed));
    CheckGroup { name: name.to_owned(), rows, predicted, observed, deviation: mean(|group| group.deviation) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_compare_what_was_predicted_with_what_was_found() {
        let predictions: Vec<Prediction> = (0..20).map(|i| Prediction::Probability(f64::from(i) / 20.0)).collect();
        let outcomes: Vec<f64> = (0..20).map(|i| f64::from(u8::from(i >= 10))).collect();
        let held_out = HeldOut { predictions: &predictions, outcomes: &outcomes };
        let own = [0, 19];
        let found = PredictiveChecks::of(&held_out, [("north", &own[..]), ("empty", &[][..])].into_iter());
        assert_eq!((found.tenths.len(), found.sites.len()), (10, 1));
        let last = &found.tenths[9];
        assert!((last.predicted - 0.925).abs() < 1e-12 && last.observed == 1.0 && last.rows == 2, "{last:?}");
        assert!((last.deviation - (0.9_f64 * 0.1 + 0.95 * 0.05).sqrt() / 2.0).abs() < 1e-12);
        assert!((found.sites[0].predicted - 0.475).abs() < 1e-12 && found.sites[0].observed == 0.5);
        let pooled = PredictiveChecks::pooled(&[&found, &found]);
        assert_eq!((pooled.sites[0].rows, pooled.sites[0].deviation), (4, found.sites[0].deviation));
        assert_eq!(pooled.tenths.len(), 10);
    }

    #[test]
    fn numbers_have_units_and_several_levels_no_checks() {
        let normal = [Prediction::Normal { mean: 1.0, deviation: 2.0 }];
        let found = PredictiveChecks::of(&HeldOut { predictions: &normal, outcomes: &[3.0] }, std::iter::empty());
        let told = found.in_units(10.0, 5.0);
        let one = &told.tenths[0];
        assert_eq!((one.predicted, one.observed, one.deviation, one.distance()), (15.0, 25.0, 10.0, 1.0));
        let classes = [Prediction::Classes(vec![0.2, 0.3, 0.5])];
        let none = PredictiveChecks::of(&HeldOut { predictions: &classes, outcomes: &[2.0] }, std::iter::empty());
        assert_eq!(none, PredictiveChecks::default());
    }
}
