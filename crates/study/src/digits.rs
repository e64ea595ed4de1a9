//! Digits for people: decimal ones, rounded so that a shown bound still is a bound, and hexadecimal ones of digests.

/// Significant digits of a bound in a table.
const DIGITS: usize = 6;

/// An upper bound in at most six significant digits, never below `value`, which is not negative.
pub fn up(value: f64) -> String {
    rounded(value, true, DIGITS)
}

/// An upper bound in at most so many significant digits (at least one), never below `value`, which is not negative.
pub fn up_to(value: f64, digits: usize) -> String {
    rounded(value, true, digits)
}

/// A lower bound in at most six significant digits, never above `value`, which is not negative.
pub fn down(value: f64) -> String {
    rounded(value, false, DIGITS)
}

/// The shortest decimal that reads back as `value`, for numbers that were given.
pub fn shortest(value: f64) -> String {
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// Two hexadecimal digits for every byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Cuts the exact decimal expansion, and adds one in the last place if something was cut off on the way up.
///
/// A binary64 number has at most 767 significant decimal digits, so 800 of them are the number itself.
fn rounded(value: f64, upwards: bool, most: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let exact = format!("{value:.800e}");
    let (mantissa, exponent) = exact.split_once('e').unwrap_or((&exact, "0"));
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
    let mut exponent: i32 = exponent.parse().unwrap_or(0);
    let cut = digits.split_off(most);
    if upwards && cut.iter().any(|&digit| digit > 0) && carry(&mut digits) {
        digits.insert(0, 1);
        exponent += 1;
    }
    while digits.len() > 1 && digits.last() == Some(&0) {
        digits.pop();
    }
    positioned(&digits, exponent)
}

/// Adds one in the last place; true if the carry left the first place.
fn carry(digits: &mut [u8]) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return false;
        }
        *digit = 0;
    }
    true
}

/// The digits with their point, or with an exponent where the zeros would be many.
fn positioned(digits: &[u8], exponent: i32) -> String {
    let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
    let after = exponent + 1;
    match usize::try_from(after) {
        Ok(before) if before > 0 && after <= 7 => match text.get(before..) {
            None | Some("") => format!("{text:0<before$}"),
            Some(fraction) => format!("{}.{fraction}", &text[..before]),
        },
        _ if (-3..0).contains(&exponent) => format!("0.{}{text}", "0".repeat((-exponent - 1) as usize)),
        _ if digits.len() == 1 => format!("{text}e{exponent}"),
        _ => format!("{}.{}e{exponent}", &text[..1], &text[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_outwards() {
        assert_eq!((down(4.377_178_095), up(4.377_178_095)), ("4.37717".into(), "4.37718".into()));
        assert_eq!((down(0.1), up(0.1)), ("0.1".into(), "0.100001".into()), "the float 0.1 is a little over 0.1");
        assert_eq!((down(0.3), up(0.3)), ("0.299999".into(), "0.3".into()), "the float 0.3 is a little under 0.3");
        assert_eq!((down(0.25), up(0.25)), ("0.25".into(), "0.25".into()), "exact in six digits: unchanged");
        assert_eq!(up(9.999_999), "10");
        assert_eq!((up(1_234_567.5), down(1e-5)), ("1234570".into(), "1e-5".into()));
        assert_eq!(up(1.234_567_8e-10), "1.23457e-10");
        assert_eq!((up(0.0), down(0.0)), ("0".into(), "0".into()));
        assert_eq!(up(f64::INFINITY), "inf");
    }

    #[test]
    fn a_number_that_was_given_is_shown_alike_on_both_sides_of_zero() {
        assert_eq!((shortest(1.5), shortest(-1.5), shortest(-1e-5)), ("1.5".into(), "-1.5".into(), "-1e-5".into()));
    }

    #[test]
    fn what_is_shown_encloses_the_number() {
        let mut x = 1.7e-308_f64;
        while x < 1e300 {
            let (low, high) = (down(x).parse::<f64>().unwrap(), up(x).parse::<f64>().unwrap());
            assert!(low <= x && x <= high, "{x:e} in [{low:e}, {high:e}]");
            assert!((high - low) / x < 1.000_01e-5, "{x:e} in [{low:e}, {high:e}]");
            x *= 1.618_033_988_749_895;
        }
    }

    #[test]
    fn every_byte_has_two_hexadecimal_digits() {
        assert_eq!(hexadecimal(&[0, 10, 255]), "000aff");
    }

    #[test]
    fn given_numbers_read_back() {
        for x in [0.0, 1e-5, 0.01, 1.0, 1234.5, 1e12, 1e-20, 0.1 + 0.2] {
            assert_eq!(shortest(x).parse::<f64>().unwrap(), x);
        }
        assert_eq!((shortest(1e-5), shortest(0.01)), ("1e-5".into(), "0.01".into()));
    }
}
