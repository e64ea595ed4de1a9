//! Axes: from values to pixels, with round ticks.

/// How values are laid along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// In proportion.
    Linear,
    /// By powers of ten; values that are not positive leave a gap.
    Log,
}

/// One axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// What it measures.
    pub(crate) label: String,
    /// How.
    pub(crate) scale: Scale,
    /// First and last value; all that is drawn fits without it.
    pub(crate) range: Option<(f64, f64)>,
}

impl Axis {
    /// An axis on which everything fits.
    pub(crate) fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale, range: None }
    }

    /// A linear axis from `low` to `high`.
    pub(crate) fn between(label: impl Into<String>, low: f64, high: f64) -> Self {
        Self { label: label.into(), scale: Scale::Linear, range: Some((low, high)) }
    }

    /// The ruler of this axis for these values, over the pixels `from` to `to`.
    pub(super) fn ruler(&self, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Ruler {
        match self.range {
            Some((low, high)) => Ruler::spanning(self.scale, [low, high].into_iter(), from, to),
            None => Ruler::spanning(self.scale, values, from, to),
        }
    }
}

/// The range of an axis, in transformed units, and its pixels.
pub(super) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Ruler {
    /// Spans all finite values; an empty or single-valued range is widened so that it can be drawn.
    fn spanning(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let along = values.map(|v| transformed(scale, v)).filter(|v| v.is_finite());
        let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = match (low < high, low.is_finite()) {
            (true, _) => (low, high),
            (false, true) => (low - 0.5, low + 0.5),
            (false, false) => (0.0, 1.0),
        };
        match scale {
            Scale::Linear => Self { scale, low, high, from, to },
            Scale::Log => Self { scale, low: low.floor(), high: high.ceil(), from, to },
        }
    }

    /// The pixel of a value, if it can be shown.
    pub(super) fn pixel(&self, value: f64) -> Option<f64> {
        let share = (transformed(self.scale, value) - self.low) / (self.high - self.low);
        share.is_finite().then_some(self.from + share * (self.to - self.from))
    }

    /// Round values along the axis with their labels, about `count` of them.
    pub(super) fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        let step = match self.scale {
            Scale::Linear => round_step((self.high - self.low) / count),
            Scale::Log => round_step((self.high - self.low) / count).max(1.0),
        };
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|index| self.tick(index as f64 * step, step)).collect()
    }

    fn tick(&self, at: f64, step: f64) -> (f64, String) {
        match self.scale {
            Scale::Linear => {
                let places = (-step.log10().floor()).max(0.0) as usize;
                (at, format!("{at:.places$}"))
            }
            Scale::Log if (-2.0..=3.0).contains(&at) => (10_f64.powf(at), format!("{}", 10_f64.powf(at))),
            Scale::Log => (10_f64.powf(at), format!("1e{at:.0}")),
        }
    }
}

fn transformed(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
    }
}

/// The next of 1, 2, 5, 10, … times a power of ten.
fn round_step(at_least: f64) -> f64 {
    let power = 10_f64.powf(at_least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= at_least * 0.999_999).unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (at_least, step) in [(0.3, 0.5), (1.0, 1.0), (0.11, 0.2), (7.0, 10.0), (30.0, 50.0)] {
            assert!((round_step(at_least) / step - 1.0_f64).abs() < 1e-12, "{at_least}");
        }
    }

    #[test]
    fn powers_of_ten_near_one_are_written_out() {
        let ruler = Axis::new("x", Scale::Log).ruler([2e-4, 8.0].into_iter(), 0.0, 50.0);
        let labels: Vec<String> = ruler.ticks(5.0).into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["1e-4", "1e-3", "0.01", "0.1", "1", "10"]);
    }

    #[test]
    fn a_range_that_was_named_is_kept() {
        let ruler = Axis::between("x", 0.0, 4.0).ruler([-100.0, 100.0].into_iter(), 0.0, 40.0);
        assert_eq!((ruler.pixel(1.0), ruler.pixel(4.0)), (Some(10.0), Some(40.0)));
        assert_eq!(ruler.ticks(4.0).last().map(|(at, label)| (*at, label.as_str())), Some((4.0, "4")));
    }
}
