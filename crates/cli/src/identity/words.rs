//! Times and fingerprints as people read and type them.

use crate::failure::Failure;

/// The last second of the year 9999.
const LAST: u64 = 253_402_300_799;

/// Day and minute of a second since 1970, in UTC.
pub(super) fn moment(seconds: u64) -> String {
    let seconds = seconds.min(LAST);
    let (mut day, minute) = (seconds / 86_400, seconds / 60 % 1440);
    let mut year = 1970;
    while day >= days_of(year) {
        day -= days_of(year);
        year += 1;
    }
    let february = if days_of(year) == 366 { 29 } else { 28 };
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02} {:02}:{:02} UTC", day + 1, minute / 60, minute % 60)
}

fn days_of(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    if leap { 366 } else { 365 }
}

/// Seconds of a time as typed, from a minute to 30 days.
pub(super) fn seconds(typed: &str) -> Result<u64, Failure> {
    let wrong = || {
        let message = format!("--valid is {typed:?}, expected a time from 1m to 30d");
        Failure::usage(message, "a number and m, h or d, such as 30m, 24h or 7d")
    };
    let unit = match typed.chars().last() {
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        _ => return Err(wrong()),
    };
    let digits = typed.get(..typed.len() - 1).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse::<u64>().ok()).ok_or_else(wrong)?;
    number.checked_mul(unit).filter(|seconds| (60..=30 * 86_400).contains(seconds)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_790_000_000, "2026-09-21 14:13 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
            (LAST, "9999-12-31 23:59 UTC"),
            (u64::MAX, "9999-12-31 23:59 UTC"),
        ] {
            assert_eq!(moment(seconds), text);
        }
    }

    #[test]
    fn times_have_a_number_and_a_unit() {
        for (typed, expected) in [("1m", 60), ("24h", 86_400), ("7d", 604_800), ("30d", 2_592_000)] {
            assert_eq!(seconds(typed).unwrap(), expected);
        }
        for typed in ["", "m", "24", "0h", "31d", "-1h", "+1h", "1.5h", "1w", "99999999999999999999d", "1é"] {
            assert_eq!(seconds(typed).unwrap_err().code(), "C001", "{typed}");
        }
    }
}
