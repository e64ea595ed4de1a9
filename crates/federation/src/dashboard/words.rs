//! Numbers and times for people: as many digits as mean something, bounds rounded outwards, a dash for what is not there.

use crate::digits::{shortest, up_to};

/// What stands where there is nothing to say.
pub(super) const NOTHING: &str = "–";

/// Significant digits of an upper bound.
const DIGITS: usize = 4;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

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

/// A span of time in its largest units.
pub(super) fn span(seconds: u64) -> String {
    match seconds {
        s if s < 2 * MINUTE => format!("{s} s"),
        s if s < 2 * HOUR => format!("{} min", s / MINUTE),
        s if s < 2 * DAY => format!("{} h", s / HOUR),
        s => format!("{} days", s / DAY),
    }
}

/// How long ago something was.
pub(super) fn ago(seconds: Option<u64>) -> String {
    match seconds {
        None => "not yet".into(),
        Some(0..2) => "just now".into(),
        Some(seconds) => format!("{} ago", span(seconds)),
    }
}

/// A moment in UTC, to the minute.
pub(super) fn moment(seconds: u64) -> String {
    let (year, month, day) = date(seconds / DAY);
    let (hour, minute) = (seconds % DAY / HOUR, seconds % HOUR / MINUTE);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last of a year; 400 of them have 146 097 days.
fn date(days: u64) -> (u64, u64, u64) {
    const FOUR_CENTURIES: u64 = 146_097;
    // Days from 0000-03-01 to 1970-01-01.
    let days = days.saturating_add(719_468);
    let (cycle, day) = (days / FOUR_CENTURIES, days % FOUR_CENTURIES);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, every five months have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * cycle + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_that_of_the_calendar() {
        assert_eq!(moment(0), "1970-01-01 00:00 UTC");
        assert_eq!(moment(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(moment(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(moment(4_107_542_400), "2100-03-01 00:00 UTC");
        let mut last = (1969, 12, 31);
        for days in 0..200_000 {
            let next = date(days);
            assert!(next > last && next.1 <= 12 && next.2 <= 31, "{next:?} after {last:?}");
            last = next;
        }
        assert!(moment(u64::MAX).ends_with("UTC"));
    }

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
