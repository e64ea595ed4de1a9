//! What intervals a study may expect, by ε, from public numbers alone: the lines of a plan that say whether it is worth while.

use crate::digits::shortest;
use crate::error::StudyError;
use crate::meant::Study;
use crate::sites::Sites;
use crate::words::{LabelledRow, row};
use inference::effects::{Contrast, EffectScale, contrasts};
use inference::expected::{ExpectedInterval, ExpectedStudy, INTERVAL, POWER};
use inference::public::{PublicNumbers, RowCounts};
use inference::settings::Promise;
use inference::{Method, OutcomeKind, Schema};
use privacy::Epsilon;
use serde::Serialize;

/// ε for which expectations are told beside the study's own.
const EPSILONS: [f64; 4] = [0.3, 1.0, 3.0, 10.0];

/// More effects than this are listed in the JSON object only.
const MOST_SHOWN: usize = 6;

/// What a method may expect: these names are a contract.
#[derive(Debug, Serialize)]
pub(crate) struct ExpectedIntervals {
    /// What the widths assume of the rows.
    assumes: &'static str,
    /// Nominal share of the intervals.
    interval: f64,
    /// Probability with which the 95 % interval of the smallest effect excludes 0.
    power: f64,
    scale: EffectScale,
    /// The study's own ε.
    epsilon: f64,
    by_epsilon: Vec<AtEpsilon>,
}

/// Expectations at one ε.
#[derive(Debug, Serialize)]
struct AtEpsilon {
    epsilon: f64,
    effects: Vec<ExpectedEffect>,
}

/// One effect: log odds, or differences in the outcome's units.
#[derive(Debug, Serialize)]
struct ExpectedEffect {
    input: String,
    comparison: String,
    /// Posterior standard deviation.
    deviation: f64,
    /// From end to end of the interval.
    width: f64,
    /// As it is shown: the factor by which an odds ratio may be off to either side, or half of the width.
    reach: f64,
    /// The smallest effect that is seen: an odds ratio over 1, or a difference; none where none is.
    smallest: Option<f64>,
}

impl ExpectedIntervals {
    /// For a method with a promise; none where it has no forecast, or rows or inputs are not known.
    ///
    /// # Errors
    /// Effects that a study states for a schema which does not have them.
    pub(crate) fn of(
        study: &Study,
        method: &Method,
        sites: &Sites,
        schema: Option<&Schema>,
    ) -> Result<Option<Self>, StudyError> {
        // What is known of single coefficients is not counted, so that nothing is forecast with it.
        let plain = study.model.prior.coefficients.is_empty() && study.model.prior.earlier.is_none();
        let (Some(schema), Some(promise), true) = (schema, &method.promise, sites.basis.has_rows() && plain) else {
            return Ok(None);
        };
        let Ok(layout) = schema.layout(study.model.intercept) else { return Ok(None) };
        let public = PublicNumbers::new(sites.rows.clone(), RowCounts::Declared, layout);
        let stated = match &study.data.drawn {
            Some(drawn) => Some(drawn.law(study, schema)?.coefficients),
            None => None,
        };
        let own = promise.epsilon.get();
        let mut all: Vec<f64> = EPSILONS.into_iter().chain([own]).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let scale = match schema.outcome().kind {
            OutcomeKind::Classes(_) => EffectScale::OddsRatio,
            OutcomeKind::Number(_) => EffectScale::Difference,
        };
        let at = |epsilon: &f64| {
            let promise = Promise { epsilon: Epsilon::new(*epsilon).ok()?, ..*promise };
            let expected = method.algorithm.expected_posterior(&ExpectedStudy {
                method,
                promise: &promise,
                public: &public,
                prior_precision: study.model.prior.precision,
                coefficients: stated.as_deref(),
            })?;
            let unit = outcome_unit(schema);
            let effect = |contrast: &Contrast| Some(told(contrast, expected.along(&contrast.weights, unit)?, scale));
            let effects = contrasts(schema).iter().map(effect).collect::<Option<_>>()?;
            Some(AtEpsilon { epsilon: *epsilon, effects })
        };
        let by_epsilon: Option<Vec<AtEpsilon>> = all.iter().map(at).collect();
        let assumes = match stated {
            Some(_) => {
                "the effects that the study states, independent numbers of variance 1, and equally frequent levels"
            }
            None => {
                "no effects, independent numbers of variance 1, equally frequent levels, and an outcome in half of the rows"
            }
        };
        Ok(by_epsilon.map(|by_epsilon| Self {
            assumes,
            interval: INTERVAL,
            power: POWER,
            scale,
            epsilon: own,
            by_epsilon,
        }))
    }

    /// The lines of a plan: what is expected at the study's ε, then by ε.
    pub(crate) fn rows(&self) -> Vec<LabelledRow> {
        let Some(own) = self.by_epsilon.iter().find(|at| at.epsilon == self.epsilon) else { return Vec::new() };
        let what = match self.scale {
            EffectScale::OddsRatio => {
                "an odds ratio is known within a factor of r (90 %), and seen if it is at least s (80 %)"
            }
            EffectScale::Difference => "a difference is known within ± r (90 %), and seen if it is at least s (80 %)",
        };
        let mut lines = vec![what.to_owned(), format!("for {}", self.assumes)];
        let shown = shown(&own.effects);
        let names: Vec<String> = shown.iter().map(|k| own.effects[*k].words()).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max("r and s at ε".len());
        let heads = self.by_epsilon.iter().map(|at| format!("{:>12}", shortest(at.epsilon)));
        lines.push(format!("{:<width$}{}", "r and s at ε", heads.collect::<String>()));
        for (k, name) in shown.iter().zip(&names) {
            let cells = self.by_epsilon.iter().filter_map(|at| at.effects.get(*k)).map(|effect| {
                let smallest = effect.smallest.map_or_else(|| "none".to_owned(), rounded);
                format!("{:>12}", format!("{}, {smallest}", rounded(effect.reach)))
            });
            lines.push(format!("{name:<width$}{}", cells.collect::<String>()));
        }
        if own.effects.len() > shown.len() {
            lines.push(format!("and {} more effects, which --json lists", own.effects.len() - shown.len()));
        }
        lines.into_iter().enumerate().map(|(k, line)| row(if k == 0 { "expects" } else { "" }, line)).collect()
    }
}

impl ExpectedEffect {
    fn words(&self) -> String {
        format!("{}, {}", self.input, self.comparison)
    }
}

/// Places of the effects that are shown: all, or the first of each of some columns.
fn shown(effects: &[ExpectedEffect]) -> Vec<usize> {
    let all = effects.len() <= MOST_SHOWN;
    let is_first = |k: &usize| all || *k == 0 || effects[*k].input != effects[*k - 1].input;
    (0..effects.len()).filter(is_first).take(MOST_SHOWN).collect()
}

/// What one of the encoded outcome is in the outcome's units; 1 of classes.
fn outcome_unit(schema: &Schema) -> f64 {
    match &schema.outcome().kind {
        OutcomeKind::Classes(_) => 1.0,
        OutcomeKind::Number(number) => number.scale,
    }
}

fn told(contrast: &Contrast, interval: ExpectedInterval, scale: EffectScale) -> ExpectedEffect {
    ExpectedEffect {
        input: contrast.input.clone(),
        comparison: contrast.comparison.clone(),
        deviation: interval.deviation,
        width: 2.0 * interval.reach(),
        reach: scale.shown(interval.reach()),
        smallest: interval.smallest.map(|smallest| scale.shown(smallest)),
    }
}

/// Three digits, or two after the point.
fn rounded(number: f64) -> String {
    match number {
        n if n >= 1000.0 => format!("{n:.0e}"),
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n => format!("{n:.2}"),
    }
}

#[cfg(test)]
mod tests;
