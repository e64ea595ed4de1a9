//! A writer of the OpenMetrics text format, version 1.0.0: families with their type and help, samples with labels, an end.

use std::fmt::Write;

/// What an answer in this format calls itself.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// Only grows; its samples end in `_total`.
    Counter,
    /// Moves both ways.
    Gauge,
    /// Counts of observations below bounds.
    Histogram,
    /// A constant 1 whose labels are what is said; its sample ends in `_info`.
    Info,
}

impl MetricKind {
    fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}

/// The text as it grows.
#[derive(Default)]
pub(super) struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a family: its samples follow, and no other family's come between. A name that ends in `_seconds` has that
    /// unit.
    pub(super) fn family(&mut self, name: &str, kind: MetricKind, help: &str) {
        let _ = writeln!(self.text, "# TYPE {name} {}", kind.word());
        if name.ends_with("_seconds") {
            let _ = writeln!(self.text, "# UNIT {name} seconds");
        }
        let _ = writeln!(self.text, "# HELP {name} {}", escaped(help));
    }

    /// A sample of the family that was begun last. Names are constants of this program; values of labels are escaped.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        for (place, (label, value)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{}\"", escaped(value));
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {}", number(value));
    }

    /// The whole text, with its end.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }
}

/// A number as the format spells it.
pub(super) fn number(value: f64) -> String {
    match value {
        v if v == f64::INFINITY => "+Inf".into(),
        v if v == f64::NEG_INFINITY => "-Inf".into(),
        v if v.is_nan() => "NaN".into(),
        v => v.to_string(),
    }
}

/// A text in which the three letters with a meaning stand for themselves.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => safe.push_str("\\\\"),
            '"' => safe.push_str("\\\""),
            '\n' => safe.push_str("\\n"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_its_type_unit_help_and_samples_and_the_text_an_end() {
        let mut text = Exposition::default();
        text.family("wait_seconds", MetricKind::Gauge, "How \"long\".");
        text.sample("wait_seconds", &[("site", "a\\b\"c\nd"), ("run", "0f")], 0.25);
        text.sample("wait_seconds", &[], f64::INFINITY);
        let expected = "# TYPE wait_seconds gauge\n# UNIT wait_seconds seconds\n# HELP wait_seconds How \\\"long\\\".\n\
                        wait_seconds{site=\"a\\\\b\\\"c\\nd\",run=\"0f\"} 0.25\nwait_seconds +Inf\n# EOF\n";
        assert_eq!(text.finish(), expected);
    }
}
