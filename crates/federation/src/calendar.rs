//! Times for people and logs: a second since 1970 as a date in UTC, and how long a span is.

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The last second of the year 9999: later ones are shown as it.
const LAST: u64 = 253_402_300_799;

/// A moment in UTC, to the minute.
pub fn moment(seconds: u64) -> String {
    let seconds = seconds.min(LAST);
    let (year, month, day) = date(seconds / DAY);
    let (hour, minute) = (seconds % DAY / HOUR, seconds % HOUR / MINUTE);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// A moment as RFC 3339 has it, to the second: what a log collector and `results.json` expect.
pub fn timestamp(seconds: u64) -> String {
    let seconds = seconds.min(LAST);
    let (year, month, day) = date(seconds / DAY);
    let (hour, minute, second) = (seconds % DAY / HOUR, seconds % HOUR / MINUTE, seconds % MINUTE);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A span of time in its largest unit of which there are at least two.
pub fn span(seconds: u64) -> String {
    match seconds {
        s if s < 2 * MINUTE => format!("{s} s"),
        s if s < 2 * HOUR => format!("{} min", s / MINUTE),
        s if s < 2 * DAY => format!("{} h", s / HOUR),
        s => format!("{} days", s / DAY),
    }
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
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (1_790_000_000, "2026-09-21 14:13 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
            (LAST, "9999-12-31 23:59 UTC"),
            (u64::MAX, "9999-12-31 23:59 UTC"),
        ] {
            assert_eq!(moment(seconds), text);
        }
        assert_eq!(timestamp(1_735_689_599), "2024-12-31T23:59:59Z");
        let mut last = (1969, 12, 31);
        for days in 0..200_000 {
            let next = date(days);
            assert!(next > last && next.1 <= 12 && next.2 <= 31, "{next:?} after {last:?}");
            last = next;
        }
    }
}
