//! `posterity sample`: draws from posteriors as files, and how well chains have mixed.

use super::progress::ProgressBars;
use crate::arguments::{RunArguments, SampleArguments};
use crate::failure::Failure;
use inference::chain::LEVELS;
use std::path::PathBuf;
use study::Sampled;

/// R-hat over which chains disagree (Vehtari et al. 2021).
const DISAGREE: f64 = 1.01;

/// Writes draws from the posteriors of a study or of a finished run, and tells how well they have mixed.
pub(crate) fn text(arguments: &SampleArguments, json: bool) -> Result<String, Failure> {
    let (all, out) = sampled(arguments, json)?;
    if json {
        return Ok(format!("{}\n", serde_json::to_string(&all).unwrap_or_default()));
    }
    let tables: Vec<String> = all.iter().map(table).collect();
    Ok(format!("{}\ndiagnostics {}\n", tables.join("\n"), out.join(study::DIAGNOSTICS).display()))
}

/// Draws from the posteriors of a finished run, or of a study that is run now.
fn sampled(asked: &SampleArguments, json: bool) -> Result<(Vec<Sampled>, PathBuf), Failure> {
    if asked.study.is_dir() {
        let out = asked.out.clone().unwrap_or_else(|| asked.study.join("draws"));
        return Ok((study::sample_run(&asked.study, &out, asked.seed)?, out));
    }
    let arguments = RunArguments { study: asked.study.clone(), out: asked.out.clone(), seed: asked.seed };
    let (loaded, out) = super::loaded(&arguments)?;
    let out = out.join("draws");
    Ok((loaded.sample(&out, &ProgressBars::anew(json))?, out))
}

/// A table for people.
fn table(of: &Sampled) -> String {
    let promised = of.epsilon.map_or("no privacy".to_owned(), |epsilon| format!("ε at most {epsilon:.4}, certified"));
    let mut text = format!(
        "method      {}, seed {}: {} of {} draws after the warm-up; {promised}\n",
        of.method,
        of.seed,
        if of.chains == 1 { "1 chain".to_owned() } else { format!("{} chains", of.chains) },
        of.iterations
    );
    let width = of.parameters.iter().map(|p| p.name.chars().count()).max().unwrap_or(0).max(9);
    let [low, _, high] = LEVELS.map(|level| format!("{} %", 100.0 * level));
    text += &format!(
        "{:width$}  {:>10} {:>10} {low:>10} {high:>10} {:>7} {:>8} {:>8} {:>9}\n",
        "parameter", "mean", "deviation", "R-hat", "bulk ESS", "tail ESS", "error"
    );
    let or_dash = |number: Option<f64>, digits: usize| number.map_or("–".to_owned(), |x| format!("{x:.digits$}"));
    for p in &of.parameters {
        text += &format!(
            "{:width$}  {:>10.4} {:>10.4} {:>10.4} {:>10.4} {:>7} {:>8} {:>8} {:>9}\n",
            p.name,
            p.mean,
            p.deviation,
            p.quantiles[0],
            p.quantiles[2],
            or_dash(p.rhat, 3),
            or_dash(p.bulk_ess, 0),
            or_dash(p.tail_ess, 0),
            or_dash(p.error_of_mean, 4)
        );
    }
    for warning in &of.warnings {
        text += &format!("warning     {}: {} ({})\n", warning.code.as_str(), warning.what, warning.hint);
    }
    if of.parameters.iter().any(|p| p.rhat.is_some_and(|rhat| rhat > DISAGREE)) {
        text += "warning     chains disagree, or the halves of one (R-hat over 1.01): do not rely on these draws. Longer chains mix better, \
                 and at the same ε clip more; a larger ε, a smaller counts_as or a better start may serve more\n";
    }
    text += &format!("draws       {}\n", of.folder.display());
    text
}
