//! Calibration: how often what was predicted with some probability came true.

use super::numbers::{count, fixed};
use super::page::{figure, note, section as titled};
use super::posterior::REACH;
use super::standing::{Placed, Standing};
use crate::svg::{Axis, Mark, Plot, Series, escape};
use inference::results::CalibrationBin;

/// A figure of the leading methods; nothing for regression.
pub(crate) fn section(standing: &Standing) -> String {
    let leading: Vec<Placed> = standing.leading().into_iter().filter(|m| !m.method.calibration.is_empty()).collect();
    if leading.is_empty() {
        return String::new();
    }
    let mut series = vec![Series::line("as predicted", vec![(0.0, 0.0), (1.0, 1.0)], Mark::line(6, true))];
    let seeds = standing.seeds().max(1);
    series.extend(leading.iter().enumerate().map(|(index, placed)| line(*placed, (index == 0).then_some(seeds))));
    let axis = |label: &str| Axis::between(label, -0.02, 1.02);
    let title = "Observed frequency against predicted probability";
    let plot = Plot { title: title.into(), x: axis("predicted probability"), y: axis("observed frequency"), series };
    let words: Vec<String> = leading.iter().map(|placed| gap(*placed)).collect();
    let legend: String =
        leading.iter().map(|m| format!("<span>{} {}</span>\n", m.mark.swatch(), escape(&m.method.name))).collect();
    let pooled = if seeds > 1 { " of all seeds" } else { "" };
    let shared = if seeds > 1 { ", with the rows of one seed, since seeds share rows" } else { "" };
    let remark = format!(
        "Held-out rows{pooled}, in bins of predicted probability; the dashed diagonal is perfect calibration. The band is a 95 % \
         interval (Wilson) for the observed frequency of {}{shared}. Mean distance from the diagonal: {}.",
        leading[0].method.name,
        words.join(", ")
    );
    let figures = figure(&plot.figure("calibration-plot", &words.join(", ")), title);
    let body = format!(
        "<div class=\"legend\">\n{legend}</div>\n<div class=\"figures single\">\n{figures}</div>\n{}",
        note(&remark)
    );
    titled("calibration", "Calibration", &body)
}

/// The points of a method, with a band where there is a number of seeds to share the rows among.
fn line(placed: Placed, seeds: Option<usize>) -> Series {
    let bins = placed.method.calibration.iter().filter(|bin| bin.rows > 0);
    let points = bins.clone().map(|bin| (bin.predicted, bin.observed)).collect();
    let mut series = Series::line(&placed.method.name, points, placed.mark);
    if let Some(seeds) = seeds {
        series.band = bins.map(|bin| wilson(bin, seeds)).collect();
    }
    series
}

/// Wilson's 95 % interval of a frequency, of as many rows as one seed has: pooled seeds hold out the same rows again, or some of
/// them, so that counting every row of every seed would make the interval too narrow.
fn wilson(bin: &CalibrationBin, seeds: usize) -> (f64, f64, f64) {
    let (n, p, z) = (bin.rows as f64 / seeds as f64, bin.observed, REACH);
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let reach = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    (bin.predicted, (centre - reach).max(0.0), (centre + reach).min(1.0))
}

/// Mean distance between predicted and observed, every row counted once.
fn gap(placed: Placed) -> String {
    let bins = &placed.method.calibration;
    let rows: f64 = bins.iter().map(|bin| bin.rows as f64).sum();
    let distance: f64 = bins.iter().map(|bin| bin.rows as f64 * (bin.predicted - bin.observed).abs()).sum();
    format!("{} {} ({} rows)", placed.method.name, fixed(distance / rows, 3), count(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_is_wilsons_and_more_seeds_do_not_narrow_it() {
        let bin = |rows: usize| CalibrationBin { predicted: 0.5, observed: 0.5, rows };
        let (_, low, high) = wilson(&bin(100), 1);
        // Of 50 in 100: 0.404 to 0.596.
        assert!((low - 0.403_8).abs() < 1e-4 && (high - 0.596_2).abs() < 1e-4, "{low} {high}");
        assert_eq!(wilson(&bin(500), 5), wilson(&bin(100), 1));
        let (_, low, high) = wilson(&CalibrationBin { predicted: 0.01, observed: 0.0, rows: 10 }, 1);
        assert!(low.abs() < 1e-12 && high > 0.2, "none in ten is not never: {high}");
    }
}
