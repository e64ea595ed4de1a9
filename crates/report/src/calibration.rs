//! Calibration: how often what was predicted with some probability came true.

use super::numbers::{count, fixed};
use super::page::{figure, note, section as titled};
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
    series.extend(leading.iter().enumerate().map(|(index, placed)| line(*placed, index == 0)));
    let axis = |label: &str| Axis::between(label, -0.02, 1.02);
    let title = "Observed frequency against predicted probability";
    let plot = Plot { title: title.into(), x: axis("predicted probability"), y: axis("observed frequency"), series };
    let words: Vec<String> = leading.iter().map(|placed| gap(*placed)).collect();
    let legend: String =
        leading.iter().map(|m| format!("<span>{} {}</span>\n", m.mark.swatch(), escape(&m.method.name))).collect();
    let remark = format!(
        "Held-out rows of the first seed, in bins of predicted probability; the dashed diagonal is perfect calibration. The band \
         shows what chance alone allows around {} in 95 of 100 bins. Mean distance from the diagonal: {}.",
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

fn line(placed: Placed, banded: bool) -> Series {
    let bins = placed.method.calibration.iter().filter(|bin| bin.rows > 0);
    let points = bins.clone().map(|bin| (bin.predicted, bin.observed)).collect();
    let mut series = Series::line(&placed.method.name, points, placed.mark);
    if banded {
        series.band = bins.map(chance).collect();
    }
    series
}

/// The observed frequency with 1.96 binomial deviations on either side, inside 0 to 1.
fn chance(bin: &CalibrationBin) -> (f64, f64, f64) {
    let reach = 1.96 * (bin.observed * (1.0 - bin.observed) / bin.rows as f64).sqrt();
    (bin.predicted, (bin.observed - reach).max(0.0), (bin.observed + reach).min(1.0))
}

/// Mean distance between predicted and observed, every row counted once.
fn gap(placed: Placed) -> String {
    let bins = &placed.method.calibration;
    let rows: f64 = bins.iter().map(|bin| bin.rows as f64).sum();
    let distance: f64 = bins.iter().map(|bin| bin.rows as f64 * (bin.predicted - bin.observed).abs()).sum();
    format!("{} {} ({} rows)", placed.method.name, fixed(distance / rows, 3), count(rows))
}
