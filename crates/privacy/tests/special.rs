//! The assumption behind every bound: functions of the `libm` crate err by at most four units in the last place.

use serde_json::Value;

/// Distance in units of the last place of the reference.
fn ulps(found: f64, expected: f64) -> f64 {
    (found - expected).abs() / (expected.abs().next_up() - expected.abs())
}

fn function(name: &str) -> fn(f64) -> f64 {
    match name {
        "exp" => libm::exp,
        "expm1" => libm::expm1,
        "log" => libm::log,
        "log1p" => libm::log1p,
        "erfc" => libm::erfc,
        "sin" => libm::sin,
        "cos" => libm::cos,
        "atan" => libm::atan,
        "lgamma" => libm::lgamma,
        other => panic!("no function {other}"),
    }
}

#[test]
fn elementary_functions_are_within_their_assumed_error() {
    let vectors: Value = serde_json::from_str(include_str!("vectors/elementary.json")).unwrap();
    for (name, rows) in vectors["functions"].as_object().unwrap() {
        let f = function(name);
        let number = |v: &Value| v.as_f64().unwrap();
        let worst = rows.as_array().unwrap().iter().map(|r| ulps(f(number(&r[0])), number(&r[1]))).fold(0.0, f64::max);
        // The reference is rounded itself, by half a unit.
        assert!(worst <= 3.5, "{name} errs by {worst} units");
    }
}
