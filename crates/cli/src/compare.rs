//! `posterity compare`: two finished runs beside each other, as text or as one object.

use crate::failure::Failure;
use crate::terminal;
use report::layout::{FittedTable, LayoutColumn, fit};
use std::borrow::Cow;
use std::path::Path;
use study::digits::{shortest, up};
use study::run_comparison::{
    Compared, EffectDifference, PrivacyBeside, PromiseBeside, RunComparison, ScoreDifference, compare,
};

/// The comparison, or why there is none.
pub(crate) fn run(one: &Path, other: &Path, json: bool) -> Result<String, Failure> {
    let compared = compare(one, other)?;
    if json {
        return Ok(format!("{}\n", serde_json::to_string(&compared).unwrap_or_default()));
    }
    Ok(text(&compared, &one.display().to_string(), &other.display().to_string()))
}

fn text(compared: &RunComparison, one: &str, other: &str) -> String {
    let [first, second] = &compared.studies;
    let runs = [
        ("first".to_owned(), format!("{one} (study {first})")),
        ("second".to_owned(), format!("{other} (study {second})")),
    ];
    let mut text = terminal::rows(&runs);
    text += "\n";
    text += &part("scores", &compared.scores, scores);
    if !compared.privacy.is_empty() {
        text += &format!("{}\n", privacy(&compared.privacy));
    }
    text += &part("effects", &compared.effects, effects);
    if let [Some(one), Some(other)] = compared.effect_seeds
        && one != other
        && matches!(compared.effects, Compared::Rows(_))
    {
        let words = format!("effects are of seed {one} in the first run and of seed {other} in the second");
        text += &terminal::rows(&[("note".to_owned(), words)]);
    }
    text
}

/// A table, or a line that says why there is none.
fn part<T>(name: &'static str, rows: &Compared<T>, table: fn(&[T]) -> String) -> String {
    match rows {
        Compared::Rows(rows) => format!("{}\n", table(rows)),
        Compared::Refused(why) => terminal::rows(&[(name.to_owned(), format!("not compared: {why}"))]) + "\n",
    }
}

fn scores(rows: &[ScoreDifference]) -> String {
    let number = |value: f64| format!("{value:.4}");
    let name = |row: &ScoreDifference| match row.method == row.other {
        true => format!("{}, {}", row.method, row.score),
        false => format!("{} | {}, {}", row.method, row.other, row.score),
    };
    let difference = |row: &ScoreDifference| {
        let error = row.difference.standard_error.map_or(String::new(), |error| format!(" ± {error:.4}"));
        let unseen = if row.difference.seen == Some(false) { " ≈" } else { "" };
        format!("{:+.4}{error}{unseen}", row.difference.mean)
    };
    let seeds = rows.iter().map(|row| row.difference.seeds).max().unwrap_or(0);
    let columns = vec![
        column("score", rows.iter().map(name)),
        column("second less first", rows.iter().map(difference)),
        column("first", rows.iter().map(|row| number(row.means[0]))),
        column("second", rows.iter().map(|row| number(row.means[1]))),
    ];
    format!("{}paired over {seeds} seeds ± standard error; ≈ no difference can be seen\n", table(columns))
}

fn privacy(rows: &[PrivacyBeside]) -> String {
    let promise = |promise: &Option<PromiseBeside>| match promise {
        None => "none".to_owned(),
        Some(p) => format!("ε {} δ {}", shortest(p.epsilon), shortest(p.delta)),
    };
    let certified =
        |promise: &Option<PromiseBeside>| promise.as_ref().and_then(|p| p.certified).map_or_else(|| "–".to_owned(), up);
    let columns = vec![
        column("privacy", rows.iter().map(|row| row.method.clone())),
        column("first", rows.iter().map(|row| promise(&row.promises[0]))),
        column("second", rows.iter().map(|row| promise(&row.promises[1]))),
        column("certified ε, first", rows.iter().map(|row| certified(&row.promises[0]))),
        column("second", rows.iter().map(|row| certified(&row.promises[1]))),
    ];
    let terms = |row: &PrivacyBeside| match &row.promises {
        [Some(one), Some(other)] if one.terms != other.terms => {
            Some(format!("{}: first {}; second {}\n", row.method, one.terms, other.terms))
        }
        _ => None,
    };
    table(columns) + &rows.iter().filter_map(terms).collect::<String>()
}

fn effects(rows: &[EffectDifference]) -> String {
    let value = |mean: f64, deviation: f64| format!("{mean:.3} ({deviation:.3})");
    let columns = vec![
        column("effect", rows.iter().map(|row| format!("{}, {}", row.method, row.effect))),
        column("second less first", rows.iter().map(|row| format!("{:+.3}", row.difference))),
        column("in std. dev.", rows.iter().map(|row| format!("{:+.1}", row.in_deviations))),
        column("first", rows.iter().map(|row| value(row.means[0], row.deviations[0]))),
        column("second", rows.iter().map(|row| value(row.means[1], row.deviations[1]))),
    ];
    format!(
        "{}log odds or units of the outcome, posterior mean (standard deviation); runs that share rows are not independent\n",
        table(columns)
    )
}

fn column(heading: &'static str, cells: impl Iterator<Item = String>) -> LayoutColumn {
    LayoutColumn { heading: Cow::Borrowed(heading), cells: cells.map(|cell| report::layout::plain(&cell)).collect() }
}

fn table(columns: Vec<LayoutColumn>) -> String {
    let FittedTable { head, rows, .. } = fit(columns, terminal::found().width, 2);
    let lines: String = rows.iter().flatten().map(|line| format!("{line}\n")).collect();
    format!("{head}\n{lines}")
}
