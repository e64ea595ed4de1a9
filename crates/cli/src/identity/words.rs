//! Durations as people type them.

use crate::failure::Failure;

/// Seconds of a duration such as `24h`, from one minute to 30 days.
pub(super) fn seconds(typed: &str) -> Result<u64, Failure> {
    let wrong = || {
        let message = format!("--valid is {typed:?}, expected a duration from 1m to 30d");
        Failure::usage(message, "give a number and m, h or d, such as 30m, 24h or 7d")
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
    fn times_have_a_number_and_a_unit() {
        for (typed, expected) in [("1m", 60), ("24h", 86_400), ("7d", 604_800), ("30d", 2_592_000)] {
            assert_eq!(seconds(typed).unwrap(), expected);
        }
        for typed in ["", "m", "24", "0h", "31d", "-1h", "+1h", "1.5h", "1w", "99999999999999999999d", "1é"] {
            assert_eq!(seconds(typed).unwrap_err().code(), "C001", "{typed}");
        }
    }
}
