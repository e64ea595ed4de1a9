//! What a plan warns of, in one line each.

use crate::digits::shortest;
use crate::sites::Basis;
use inference::Method;
use inference::warning::Warning;
use privacy::Unit;

/// Code of the warning about δ.
const LOOSE_DELTA: &str = "S014";

/// A warning where δ promises almost nothing to one of so many units.
pub(crate) fn loose_delta(method: &str, unit: Unit, delta: f64, among: u64, basis: Basis) -> Option<String> {
    let (units, one, about) = match unit {
        Unit::Example => ("rows of a client", "one row", basis.about()),
        Unit::Person => ("persons of a client", "all rows of one person", basis.about()),
        Unit::Client => ("clients", "all rows of one client", ""),
    };
    (delta * among as f64 >= 1.0).then(|| {
        let delta = shortest(delta);
        format!(
            "{LOOSE_DELTA}: {method}: δ = {delta} is not under 1 / {about}{among} ({units}): at this δ, publishing {one} \
             outright would still satisfy the guarantee; use a much smaller δ"
        )
    })
}

/// A warning of a method in one line.
pub(crate) fn coded(method: &str, warning: &Warning) -> String {
    format!("{}: {method}: {}; {}", warning.code.as_str(), warning.what, warning.hint)
}

/// A warning where something public is computed from rows whose number the relation keeps private.
pub(crate) fn private_rows(method: &Method) -> Option<String> {
    method.goes_by_private_rows().then(|| {
        let name = &method.name;
        let units = if method.unit() == Unit::Person { "persons" } else { "rows" };
        format!(
            "{name}: under add-remove the number of {units} is private, but rates, weights or δ depend on it: the \
             guarantee holds for declared numbers, and a simulation declares the true ones"
        )
    })
}
