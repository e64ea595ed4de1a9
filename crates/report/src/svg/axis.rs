//! Axes: from values to pixels, with round ticks.

/// A logarithmic axis of more decades than this ends at powers of ten.
const DECADES: f64 = 4.0;

/// One of no more decades than this has ticks between the powers.
const FEW_DECADES: f64 = 2.4;

/// How values are laid along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// In proportion.
    Linear,
    /// By powers of ten; values that are not positive leave a gap.
    Log,
}

/// One axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// How.
    pub scale: Scale,
    /// First and last value; all that is drawn fits without it.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// An axis on which everything fits.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale, range: None }
    }

    /// A linear axis from `low` to `high`.
    pub fn between(label: impl Into<String>, low: f64, high: f64) -> Self {
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
            Scale::Log if high - low > DECADES => Self { scale, low: low.floor(), high: high.ceil(), from, to },
            Scale::Log => {
                let low = round_powers(low.floor()).into_iter().rev().find(|at| *at <= low + 1e-9).unwrap_or(low);
                let high = round_powers(high.floor()).into_iter().find(|at| *at >= high - 1e-9).unwrap_or(high);
                Self { scale, low, high, from, to }
            }
        }
    }

    /// The pixel of a value, if it can be shown.
    pub(super) fn pixel(&self, value: f64) -> Option<f64> {
        let share = (transformed(self.scale, value) - self.low) / (self.high - self.low);
        share.is_finite().then_some(self.from + share * (self.to - self.from))
    }

    /// Round values along the axis with their labels, about `count` of them.
    pub(super) fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        if self.scale == Scale::Log && self.high - self.low <= FEW_DECADES {
            return self.ticks_between_powers();
        }
        let step = match self.scale {
            Scale::Linear => round_step((self.high - self.low) / count),
            Scale::Log => round_step((self.high - self.low) / count).max(1.0),
        };
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|index| self.tick(index as f64 * step, step)).collect()
    }

    /// 1, 2 and 5 times every power of ten.
    fn ticks_between_powers(&self) -> Vec<(f64, String)> {
        let powers = self.low.floor() as i32..=self.high.floor() as i32;
        let all = powers.flat_map(|power| [1, 2, 5].map(|times| (times, power)));
        let inside = all.filter_map(|(times, power)| {
            let value: f64 = format!("{times}e{power}").parse().ok()?;
            let at = value.log10();
            let label = if (-2..=3).contains(&power) { value.to_string() } else { format!("{times}e{power}") };
            (self.low - 1e-9..=self.high + 1e-9).contains(&at).then_some((value, label))
        });
        inside.collect()
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

/// Logarithms of 1, 2, 5 and 10 times a power of ten.
fn round_powers(power: f64) -> [f64; 4] {
    [1.0_f64, 2.0, 5.0, 10.0].map(|times| power + times.log10())
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
    fn a_short_logarithmic_axis_is_no_longer_than_it_must_be() {
        let labels = |values: [f64; 2]| {
            let ruler = Axis::new("x", Scale::Log).ruler(values.into_iter(), 0.0, 50.0);
            assert!(values.iter().all(|value| (-1e-6..=50.0 + 1e-6).contains(&ruler.pixel(*value).unwrap())));
            ruler.ticks(5.0).into_iter().map(|(_, label)| label).collect::<Vec<String>>().join(" ")
        };
        assert_eq!(labels([0.1, 3.0]), "0.1 0.2 0.5 1 2 5");
        assert_eq!(labels([0.93, 95.0]), "0.5 1 2 5 10 20 50 100");
        assert_eq!(labels([0.9, 900.0]), "1 10 100 1000", "from 0.5");
        assert_eq!(labels([3e-5, 4e-4]), "2e-5 5e-5 1e-4 2e-4 5e-4");
    }

    #[test]
    fn a_range_that_was_named_is_kept() {
        let ruler = Axis::between("x", 0.0, 4.0).ruler([-100.0, 100.0].into_iter(), 0.0, 40.0);
        assert_eq!((ruler.pixel(1.0), ruler.pixel(4.0)), (Some(10.0), Some(40.0)));
        assert_eq!(ruler.ticks(4.0).last().map(|(at, label)| (*at, label.as_str())), Some((4.0, "4")));
    }
}
