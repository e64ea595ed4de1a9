//! Numbers for people: as many digits as mean something, bounds rounded outwards, a dash for what is not a number.

use inference::results::Summary;
use study::digits::up_to;

/// What stands where there is no number.
pub(crate) const NOTHING: &str = "–";

/// A share in per cent, with one digit after the point.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", 100.0 * share) } else { NOTHING.into() }
}

/// A probability in per cent; what is nearly sure is not called sure.
pub(crate) fn probability(share: f64) -> String {
    match share {
        s if !s.is_finite() => NOTHING.into(),
        s if s > 0.999 => "> 99.9 %".into(),
        s if s < 0.001 => "< 0.1 %".into(),
        s => percent(s),
    }
}

/// An effect: about three significant digits, or its order of magnitude where it is very large or small.
pub(crate) fn effect(value: f64) -> String {
    match value.abs() {
        v if v.is_finite() && v > 0.0 && !(1e-3..1e4).contains(&v) => format!("{value:.1e}").replace('-', "−"),
        v if v >= 100.0 => fixed(value, 0),
        v if v >= 10.0 => fixed(value, 1),
        v if v >= 0.095 || v == 0.0 => fixed(value, 2),
        _ => fixed(value, 3),
    }
}

/// A number with so many digits after the point and a true minus sign.
pub(crate) fn fixed(value: f64, places: usize) -> String {
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

/// A mean with its deviation, where there is more than one seed; `scale` is 100 for per cent.
pub(crate) fn spread(summary: &Summary, scale: f64, places: usize) -> String {
    let mean = fixed(scale * summary.mean, places);
    if summary.per_seed.len() > 1 && mean != NOTHING {
        format!("{mean} ± {}", fixed(scale * summary.sd, places))
    } else {
        mean
    }
}

/// A divergence: three digits after the point, or its order of magnitude where these would say nothing.
pub fn divergence(value: f64) -> String {
    match value.abs() {
        v if v.is_finite() && v > 0.0 && !(5e-4..1e4).contains(&v) => format!("{value:.1e}").replace('-', "−"),
        _ => fixed(value, 3),
    }
}

/// An error in the table of `reproduce`: four digits after the point, none of one that is large.
pub fn error(value: f64) -> String {
    fixed(value, if value.abs() < 100.0 { 4 } else { 0 })
}

/// An upper bound in four significant digits.
pub(crate) fn bound(value: f64) -> String {
    if value == f64::INFINITY { "∞".into() } else { up_to(value, 4) }
}

/// A count, with thin spaces between thousands.
pub(crate) fn count(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.into();
    }
    let digits = format!("{:.0}", value.abs());
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of bytes with its unit.
pub(crate) fn bytes(value: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut unit = 0;
    let mut value = value;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let places = usize::from(unit > 0 && value < 99.95);
    format!("{} {}", fixed(value, places), units[unit])
}

/// A time in seconds, or in minutes and hours where that is easier to read.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        v if v < 1.0 => format!("{} ms", fixed(1000.0 * v, 0)),
        v if v < 120.0 => format!("{} s", fixed(v, 1)),
        v if v < 7200.0 => format!("{} min", fixed(v / 60.0, 1)),
        v => format!("{} h", fixed(v / 3600.0, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            (percent(0.84482), fixed(-0.31449, 3), fixed(-0.0001, 2)),
            ("84.5 %".into(), "−0.314".into(), "0.00".into())
        );
        assert_eq!((count(1_234_567.2), count(12.0)), ("1\u{202f}234\u{202f}567".into(), "12".into()));
        assert_eq!(
            (bytes(0.0), bytes(880.0), bytes(140_800.0), bytes(1.5e6)),
            ("0 B".into(), "880 B".into(), "141 kB".into(), "1.5 MB".into())
        );
        assert_eq!(
            (seconds(0.0341), seconds(61.0), seconds(600.0)),
            ("34 ms".into(), "61.0 s".into(), "10.0 min".into())
        );
        assert_eq!((fixed(f64::NAN, 2), bound(f64::INFINITY), count(f64::NAN)), ("–".into(), "∞".into(), "–".into()));
        assert_eq!(
            [22.3456, 0.0, 3.2e-15, 123_456.0, f64::NAN].map(divergence),
            ["22.346", "0.000", "3.2e−15", "1.2e5", "–"].map(String::from)
        );
        assert_eq!([0.98, 10_448.55, f64::NAN].map(error), ["0.9800", "10449", "–"].map(String::from));
    }

    #[test]
    fn a_bound_is_never_shown_smaller_than_it_is() {
        assert_eq!((bound(0.998_01), bound(0.998)), ("0.9981".into(), "0.998".into()));
    }

    #[test]
    fn one_seed_has_no_deviation() {
        assert_eq!(spread(&Summary::of(vec![0.5]), 100.0, 1), "50.0");
        assert_eq!(spread(&Summary::of(vec![0.5, 0.7]), 1.0, 2), "0.60 ± 0.14");
    }
}
