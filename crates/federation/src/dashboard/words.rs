//! Numbers and times for people: as many digits as mean something, bounds rounded outwards, a dash for what is not there.

pub(super) use crate::calendar::{moment, span};
use study::digits::{shortest, up_to};

/// What stands where there is nothing to say.
pub(super) const NOTHING: &str = "–";

/// Significant digits of an upper bound.
const DIGITS: usize = 4;

/// A number with so many digits after the point and a true minus sign.
pub(super) fn fixed(value: f64, places: usize) -> String {
    if !value.is_finite() {
        return NOTHING.into();
    }
    let text = format!("{value:.places$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|b| b == b'0' || b == b'.') => zero.to_owned(),
        Some(positive) => format!("−{positive}"),
        None => text,
    }
}

/// An upper bound: the decimal that reads back as it where that is short, and otherwise rounded up.
pub(super) fn bound(value: f64) -> String {
    match value {
        v if v == f64::INFINITY => "∞".into(),
        v if v.is_nan() => NOTHING.into(),
        v if shortest(v).len() <= DIGITS + 1 => shortest(v),
        v => up_to(v, DIGITS),
    }
}

/// A number that was given.
pub(super) fn given(value: f64) -> String {
    if value.is_finite() { shortest(value) } else { bound(value) }
}

/// A whole number of things, with its noun: "1 site", "2 sites".
pub(super) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// How long ago something was.
pub(super) fn ago(seconds: Option<u64>) -> String {
    match seconds {
        None => "not yet".into(),
        Some(0..2) => "just now".into(),
        Some(seconds) => format!("{} ago", span(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_counts_read_well() {
        assert_eq!(
            [0, 1, 59, 119, 120, 7199, 7200, 200_000].map(|s| ago(Some(s))),
            ["just now", "just now", "59 s ago", "119 s ago", "2 min ago", "119 min ago", "2 h ago", "2 days ago"]
        );
        assert_eq!(
            (ago(None), counted(1, "site"), counted(3, "site")),
            ("not yet".into(), "1 site".into(), "3 sites".into())
        );
    }

    #[test]
    fn a_bound_is_never_shown_smaller_than_it_is() {
        assert_eq!(
            (bound(0.998_01), bound(2.0), bound(0.25), bound(1.1)),
            ("0.9981".into(), "2".into(), "0.25".into(), "1.1".into())
        );
        assert_eq!((bound(f64::INFINITY), bound(f64::NAN), given(1e-5)), ("∞".into(), "–".into(), "1e-5".into()));
        assert_eq!(
            (fixed(-0.314_49, 3), fixed(-0.0001, 2), fixed(f64::NAN, 1)),
            ("−0.314".into(), "0.00".into(), "–".into())
        );
    }
}
