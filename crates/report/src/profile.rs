//! A privacy profile as a plot.

use crate::svg::{Axis, Mark, Plot, Scale, Series};
use study::account::Profile;

/// Upper bounds as lines, lower bounds as dashes in the same colour, δ on a logarithmic axis.
pub fn profile_svg(profile: &Profile) -> String {
    let line = |name: &str, ends: &mut dyn Iterator<Item = Option<f64>>, mark| {
        let points = profile.epsilons.iter().zip(ends).map(|(e, delta)| (e.get(), delta.unwrap_or(f64::NAN)));
        Series::line(name, points.collect(), mark)
    };
    let mut series = Vec::new();
    for (number, column) in profile.columns.iter().enumerate() {
        series.push(line(&column.accountant, &mut column.ends(|b| b.upper), Mark::line(number, false)));
        if column.two_sided {
            series.push(line("", &mut column.ends(|b| b.lower), Mark::line(number, true)));
        }
    }
    let (x, y) = (Axis::new("ε", Scale::Linear), Axis::new("δ", Scale::Log));
    Plot { title: profile.plan.words(), x, y, series }.document()
}
