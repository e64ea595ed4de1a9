//! What was learnt, in the reader's units: a forest plot and a table of odds ratios or differences.

use super::numbers::{NOTHING, count, effect, probability};
use super::page::{Table, figure, folded, note, paragraph, section as titled};
use super::scores;
use super::standing::{Placed, Role, Standing};
use crate::svg::{Forest, ForestPoint, ForestRow, Mark, Scale, escape};
use inference::Intervals;
use inference::effects::{Effect, EffectScale, Effects};

/// Effects in one figure.
const DRAWN: usize = 40;
/// Figures of an outcome with many levels.
const FIGURES: usize = 4;
/// Rows of a table; the rest is in the results.
const LISTED: usize = 500;

/// One method's effects as they may be shown.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    /// Name of the method.
    pub(crate) name: &'a str,
    /// Its effects.
    pub(crate) effects: &'a Effects,
    /// What its intervals are worth; none where the results do not say it.
    pub(crate) stated: Option<&'a Intervals>,
    /// Colour and shape.
    pub(crate) mark: Mark,
}

impl<'a> Told<'a> {
    /// Of a method of a simulation; none where it has no effects.
    fn of(placed: Placed<'a>) -> Option<Self> {
        let method = placed.method;
        let stated = method.intervals.as_ref();
        Some(Self { name: &method.name, effects: method.effects.as_ref()?, stated, mark: placed.mark })
    }

    /// Whether its intervals may be shown.
    fn intervals(&self) -> bool {
        self.stated.is_some_and(Intervals::are_shown)
    }

    /// What there is to say of these effects in two sentences.
    pub(crate) fn found(&self) -> String {
        let all = self.effects.effects.len();
        let clear = self.effects.effects.iter().filter(|one| one.lower > 0.0 || one.upper < 0.0).count();
        let most = if self.intervals() { clear.min(3) } else { 3 };
        let named: Vec<String> = self.leading().into_iter().take(most).map(|one| self.phrase(one)).collect();
        let named = named.join("; ");
        match (self.intervals(), clear) {
            (true, 0) => {
                format!("None of {all} comparisons is clear: all 95 % intervals contain \u{201c}no effect\u{201d}.")
            }
            (true, 1) => format!(
                "One of {all} comparisons is clear: its 95 % interval excludes \u{201c}no effect\u{201d}. It is {named}."
            ),
            (true, clear) => format!(
                "Of {all} comparisons {clear} are clear: their 95 % intervals exclude \u{201c}no effect\u{201d}. Clearest: {named}."
            ),
            (false, _) => {
                format!("The most pronounced of {all} comparisons: {named}. How sure these are is not known.")
            }
        }
    }

    /// The effects farthest from none, in standard deviations, the farthest first.
    pub(crate) fn leading(&self) -> Vec<&'a Effect> {
        let mut all: Vec<&Effect> = self.effects.effects.iter().collect();
        all.sort_by(|a, b| farness(b).total_cmp(&farness(a)));
        all
    }

    /// "exang: 1 against 0, 2.95 times the odds (2.1 to 4.2)"
    pub(crate) fn phrase(&self, one: &Effect) -> String {
        let [at, low, high] = one.shown(self.effects.scale).map(effect);
        let size = match self.effects.scale {
            EffectScale::OddsRatio => format!("{at} times the odds"),
            EffectScale::Difference => {
                let sign = if one.mean > 0.0 { "+" } else { "" };
                format!("{sign}{at}{}", self.effects.units.as_ref().map_or(String::new(), |units| format!(" {units}")))
            }
        };
        let interval = if self.intervals() { format!(" (95 % interval {low} to {high})") } else { String::new() };
        format!("{}, {size}{interval}", one.words())
    }
}

fn farness(one: &Effect) -> f64 {
    if one.mean == 0.0 { 0.0 } else { one.mean.abs() / one.deviation }
}

/// The best private method, or the first, beside the non-private one; then tables of all others. Nothing where no method has effects.
pub(crate) fn section(standing: &Standing) -> String {
    let leading: Vec<Told> = standing.leading().into_iter().filter_map(Told::of).collect();
    let Some(first) = leading.first() else { return String::new() };
    let others = standing.methods().filter_map(Told::of).filter(|other| other.name != first.name);
    let more: String = others.map(|other| folded(&format!("The same of {}", other.name), &table(&other))).collect();
    let seeds = match standing.seeds() {
        0 | 1 => String::new(),
        seeds => format!("Effects are those of the first of {seeds} simulated runs. "),
    };
    let body = format!("{}{}", told(&leading, &seeds), more);
    titled("learnt", "What was learnt", &body)
}

/// What was found, for a reader who knows nothing of privacy: the outcome, the clearest effects, and how well rows are predicted.
/// None where no method has effects.
pub(crate) fn plain(standing: &Standing) -> Option<String> {
    let leading = standing.leading();
    let first = leading.iter().copied().find_map(Told::of)?;
    let data = &standing.results.data;
    let sites = data.clients.len();
    let sites = if sites > 1 { format!(" at {sites} sites") } else { String::new() };
    let rows = count(data.train_rows as f64);
    let mut words = format!("What goes with {}? Learnt from {rows} rows{sites}. ", named(first.effects));
    words += &first.found();
    let constant = standing.constant();
    let shown = leading.iter().chain(constant.as_ref());
    let predicted: Vec<String> = shown.filter_map(|placed| predicts(standing, placed)).collect();
    if !predicted.is_empty() {
        words += &format!(" On rows that were not learnt from: {}.", predicted.join(", "));
    }
    Some(words)
}

/// "84.1 % accuracy without privacy"
fn predicts(standing: &Standing, placed: &Placed) -> Option<String> {
    let (score, summary) = placed.method.scores.familiar()?;
    let whose = match standing.role(placed.number) {
        Role::Best => "with privacy".to_owned(),
        Role::NonPrivate => "without".to_owned(),
        Role::LocalOnly => "by each site alone".to_owned(),
        Role::Constant => "by the same answer for every row".to_owned(),
        Role::Other => format!("by {}", placed.method.name),
    };
    Some(format!("{} {whose}", scores::phrase(score, summary.mean)))
}

/// Words, legend, figures and the first method's table.
pub(crate) fn told(shown: &[Told], also: &str) -> String {
    let Some(first) = shown.first() else { return String::new() };
    let legend: String =
        shown.iter().map(|m| format!("<span>{} {}</span>\n", m.mark.swatch(), escape(m.name))).collect();
    let legend = if shown.len() > 1 { format!("<div class=\"legend\">\n{legend}</div>\n") } else { String::new() };
    let figures: String =
        groups(first.effects).iter().take(FIGURES).enumerate().map(|(n, of)| plot(shown, n, of)).collect();
    format!(
        "{}{legend}<div class=\"figures single\">\n{figures}</div>\n{}{}",
        paragraph(&meaning(first.effects)),
        folded_if_long(first),
        note(&format!("{also}{}", remarks(shown)))
    )
}

/// The first method's table; folded where the figure does not show all of it either.
fn folded_if_long(told: &Told) -> String {
    match told.effects.effects.len() {
        all if all > DRAWN => folded(&format!("All {all} comparisons of {}", told.name), &table(told)),
        _ => table(told),
    }
}

/// What the numbers are.
fn meaning(effects: &Effects) -> String {
    let outcome = named(effects);
    match (effects.scale, &effects.level) {
        (EffectScale::OddsRatio, Some(_)) => format!(
            "Odds ratios of {outcome}. Over 1, the comparison goes with higher odds of it; under 1, with lower odds. All other \
             inputs are held fixed."
        ),
        (EffectScale::OddsRatio, None) => format!(
            "Odds ratios of the levels of {outcome}, each against the first level. Over 1, the comparison goes with higher odds. All \
             other inputs are held fixed."
        ),
        (EffectScale::Difference, _) => format!(
            "Differences in {outcome}. Over 0, the comparison goes with a larger outcome; under 0, with a smaller one. All other \
             inputs are held fixed."
        ),
    }
}

/// The outcome with its level or units.
pub(crate) fn named(effects: &Effects) -> String {
    match (&effects.level, &effects.units) {
        (Some(level), _) => format!("{} = {level}", effects.outcome),
        (None, Some(units)) => format!("{} ({units})", effects.outcome),
        (None, None) => effects.outcome.clone(),
    }
}

/// What to know when reading them.
fn remarks(shown: &[Told]) -> String {
    let lines = match shown.iter().any(Told::intervals) {
        true => "; lines are 95 % intervals, which hold the value with that probability if the model is right",
        false => "",
    };
    let mut words = format!(
        "Points are posterior medians{lines}. These are associations in the model, not causes. A level is compared with the reference \
         level of its column, which the schema names."
    );
    let unknown = |one: &Effect| one.comparison.starts_with("missing against");
    if let Some(one) = shown.iter().flat_map(|told| &told.effects.effects).find(|one| unknown(one)) {
        words += &format!(
            " \u{201c}{}\u{201d} compares rows without a value of {} with rows that have {}.",
            one.comparison,
            one.input,
            one.reference.as_deref().unwrap_or("one")
        );
    }
    let apart: Vec<&str> = shown.iter().filter(|m| m.intervals() && !m.effects.covariances).map(|m| m.name).collect();
    if !apart.is_empty() {
        words += &format!(
            " The posterior of {} has no correlations between coefficients; comparisons of levels add up variances.",
            apart.join(" and ")
        );
    }
    words
}

/// The pairs of outcome levels that effects are told for; one without a name where there are two levels or numbers.
fn groups(effects: &Effects) -> Vec<Option<String>> {
    let mut found: Vec<Option<String>> = Vec::new();
    for one in &effects.effects {
        if !found.contains(&one.of) {
            found.push(one.of.clone());
        }
    }
    found
}

/// A forest plot of one group.
fn plot(shown: &[Told], number: usize, of: &Option<String>) -> String {
    let Some(first) = shown.first() else { return String::new() };
    let mut kept: Vec<&Effect> = first.leading().into_iter().filter(|one| one.of == *of).collect();
    let all = kept.len();
    kept.truncate(DRAWN);
    let drawn: Vec<&Effect> =
        first.effects.effects.iter().filter(|one| kept.iter().any(|k| std::ptr::eq(*k, *one))).collect();
    let (scale, label) = match first.effects.scale {
        EffectScale::OddsRatio => (Scale::Log, "odds ratio".to_owned()),
        EffectScale::Difference => (Scale::Linear, format!("difference in {}", named(first.effects))),
    };
    let of = of.as_ref().map_or_else(|| named(first.effects), |of| format!("{}: {of}", first.effects.outcome));
    let part = if all > DRAWN { format!(", the {DRAWN} of {all} farthest from no effect") } else { String::new() };
    let forest = Forest { title: format!("Effects on {of}"), label, scale, rows: rows(shown, &drawn) };
    let surest: Vec<String> = kept.iter().take(3).map(|one| first.phrase(one)).collect();
    let described = format!("Farthest from no effect: {}.", surest.join("; "));
    figure(&forest.figure(&format!("effects-{number}"), &described), &format!("Effects on {of}{part}"))
}

/// Rows of the plot; levels stand under the name of their column and its reference.
fn rows(shown: &[Told], drawn: &[&Effect]) -> Vec<ForestRow> {
    let mut rows = Vec::new();
    let mut before: Option<(&str, &str)> = None;
    for one in drawn {
        let here = one.reference.as_deref().map(|reference| (one.input.as_str(), reference));
        let several = here.is_some()
            && drawn.iter().filter(|o| here == o.reference.as_deref().map(|r| (o.input.as_str(), r))).count() > 1;
        if let Some((input, reference)) = here.filter(|_| several && before != here) {
            rows.push(ForestRow::Heading(format!("{input}, against {reference}")));
        }
        before = here;
        let name = match &one.level {
            Some(level) if several => level.clone(),
            Some(level) => format!("{}: {level} against {}", one.input, one.reference.as_deref().unwrap_or_default()),
            None => format!("{}, {}", one.input, one.comparison),
        };
        let seen: Vec<(&Told, &Effect)> = shown.iter().filter_map(|told| Some((told, same(told, one)?))).collect();
        let words: Vec<String> =
            seen.iter().map(|(told, own)| format!("{}: {}", told.name, told.phrase(own))).collect();
        let points = seen.iter().map(|(told, own)| point(told, own)).collect();
        rows.push(ForestRow::Effect { name, under: several, words: words.join("; "), points });
    }
    rows
}

/// The same comparison in another method's effects.
fn same<'a>(told: &Told<'a>, one: &Effect) -> Option<&'a Effect> {
    told.effects
        .effects
        .iter()
        .find(|other| other.input == one.input && other.comparison == one.comparison && other.of == one.of)
}

fn point(told: &Told, one: &Effect) -> ForestPoint {
    let [at, low, high] = one.shown(told.effects.scale);
    ForestPoint { at, ends: told.intervals().then_some((low, high)), mark: told.mark }
}

/// What the intervals of a method are worth, in a sentence.
pub(crate) fn worth(stated: Option<&Intervals>) -> String {
    match stated {
        Some(intervals) => intervals.sentence(),
        None => "Its intervals are not shown: these results do not say whether they count the noise.".to_owned(),
    }
}

/// All effects of one method.
pub(crate) fn table(told: &Told) -> String {
    let effects = told.effects;
    let (size, sure) = match effects.scale {
        EffectScale::OddsRatio => ("odds ratio", "probability of higher odds"),
        EffectScale::Difference => ("difference", "probability of an increase"),
    };
    let several = groups(effects).len() > 1;
    let mut head = vec!["input".to_owned(), "comparison".to_owned()];
    head.extend(several.then(|| escape(&format!("levels of {}", effects.outcome))));
    head.push(size.to_owned());
    head.extend(told.intervals().then(|| ["95 % interval", sure].map(str::to_owned)).into_iter().flatten());
    let mut table = Table::new(&format!("Effects on {}, {}", named(effects), told.name), head);
    for one in effects.effects.iter().take(LISTED) {
        let [at, low, high] = one.shown(effects.scale).map(effect);
        let mut cells = vec![escape(&one.input), escape(&one.comparison)];
        cells.extend(several.then(|| one.of.as_ref().map_or_else(|| NOTHING.into(), |of| escape(of))));
        cells.push(at);
        cells.extend(
            told.intervals()
                .then(|| [format!("{low} to {high}"), escape(&probability(one.positive))])
                .into_iter()
                .flatten(),
        );
        table.push("", cells);
    }
    let rest = effects.effects.len().saturating_sub(LISTED);
    let more = if rest > 0 { note(&format!("And {rest} more, in results.json.")) } else { String::new() };
    table.html() + &note(&format!("{}: {}", told.name, worth(told.stated))) + &more
}
