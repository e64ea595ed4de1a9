//! The certified accountant against reference values, and the laws that a two-sided answer keeps.

use privacy::accounting::Pld;
use privacy::{
    Accountant, Adjacency, Bounds, Categories, Delta, Epsilon, Event, Gamma, Mechanism, NoiseMultiplier, PrivacyError,
    Sampling, SamplingRate, Steps, Unit,
};
use serde_json::Value;

/// Reference cases that the accountant may refuse: none.
const REFUSED: [&str; 0] = [];

fn cases() -> Vec<Value> {
    let text = include_str!("vectors/accounting.json");
    let file: Value = serde_json::from_str(text).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn case(id: &str) -> Value {
    cases().into_iter().find(|c| c["id"] == id).unwrap()
}

fn event(mechanism: Mechanism, adjacency: Adjacency, sampling: Sampling, steps: u64) -> Event {
    Event::new(mechanism, adjacency, Unit::Example, sampling, Steps::new(steps).unwrap()).unwrap()
}

fn gaussian(z: f64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(z).unwrap() }
}

fn laplace(z: f64) -> Mechanism {
    Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(z).unwrap() }
}

fn randomised_response(k: u64, gamma: f64) -> Mechanism {
    Mechanism::RandomisedResponse { categories: Categories::new(k).unwrap(), gamma: Gamma::new(gamma).unwrap() }
}

fn poisson(q: f64) -> Sampling {
    Sampling::Poisson { rate: SamplingRate::new(q).unwrap() }
}

fn number(case: &Value, key: &str) -> Option<f64> {
    case[key].as_f64()
}

/// The plan of a reference case, or nothing if it speaks of something else.
fn plan(case: &Value) -> Option<Vec<Event>> {
    use Adjacency::{AddRemove, Substitute};
    let get = |key: &str| number(case, key).unwrap();
    let steps = case["T"].as_u64().unwrap_or(1);
    Some(match case["id"].as_str().unwrap().split('-').next().unwrap() {
        "gauss" => vec![event(gaussian(get("sigma")), AddRemove, Sampling::None, steps)],
        "pois" | "tinydelta" => vec![event(gaussian(get("sigma")), AddRemove, poisson(get("q")), steps)],
        "wor" => {
            let rate = SamplingRate::new(get("q")).unwrap();
            let sampling = Sampling::without_replacement_at(rate).unwrap();
            vec![event(gaussian(get("sigma")), Substitute, sampling, steps)]
        }
        // σ is in units of C there, and substitution moves the sum by 2C.
        "subpair" => vec![event(gaussian(get("sigma") / 2.0), Substitute, poisson(get("q")), steps)],
        "laplace" => vec![event(laplace(get("scale_over_sensitivity")), AddRemove, Sampling::None, steps)],
        "krr" => {
            let mechanism = randomised_response(case["k"].as_u64().unwrap(), get("gamma"));
            vec![event(mechanism, Substitute, Sampling::None, 1)]
        }
        "rr10" => vec![event(randomised_response(4, 0.5), Substitute, Sampling::None, 10)],
        "het" => (0..100)
            .map(|i| {
                let (z, q) = (1.0 + 0.03 * f64::from(i), 0.001 + 0.0005 * f64::from(i));
                event(gaussian(z), AddRemove, poisson(q), 10)
            })
            .collect(),
        _ => return None,
    })
}

/// What a reference case says of ε: a lower and an upper end.
fn reference_epsilon(case: &Value) -> (f64, f64) {
    let tolerance = &case["tolerance"];
    let relative = tolerance["epsilon_rel"].as_f64().or(tolerance["rel"].as_f64());
    let value = number(case, "epsilon_exact").or(number(case, "epsilon_pure"));
    match (value, relative) {
        (Some(e), Some(t)) => (e * (1.0 - t), e * (1.0 + t)),
        _ => (number(case, "eps_lower").unwrap(), number(case, "eps_upper").unwrap()),
    }
}

/// What it says of δ at a given ε, if it does.
fn reference_delta(case: &Value) -> Option<(f64, f64, f64)> {
    if let (Some(e), Some(lower)) = (number(case, "eps_q"), number(case, "delta_lower")) {
        return Some((e, lower, number(case, "delta_upper")?));
    }
    let tolerance = &case["tolerance"];
    let t = tolerance["delta_rel"].as_f64().or(tolerance["rel"].as_f64())?;
    let delta = number(case, "delta_at_query_epsilon")?;
    Some((number(case, "query_epsilon")?, delta * (1.0 - t), delta * (1.0 + t)))
}

/// The golden check: an enclosure may not miss the reference, and may not be wide.
fn agrees(found: Bounds, reference: (f64, f64), width: f64) -> bool {
    found.lower <= reference.1 && reference.0 <= found.upper && found.relative_width() <= width
}

fn epsilon(plan: &[Event], delta: f64) -> Result<Bounds, PrivacyError> {
    Pld.epsilon(plan, Delta::new(delta).unwrap())
}

fn delta(plan: &[Event], epsilon: f64) -> Result<Bounds, PrivacyError> {
    Pld.delta(plan, Epsilon::new(epsilon).unwrap())
}

/// ε of all cases within 1e-6, but for the heaviest tail (q = 1e-4, z = 0.5, 1e5 steps).
fn width(id: &str) -> f64 {
    if id == "pois-01" { 2e-5 } else { 1e-6 }
}

/// Checks a slice of the cases; returns how many ε and δ were certified and which were refused.
fn check(part: usize, parts: usize) -> (usize, Vec<String>) {
    let (mut certified, mut refused) = (0, Vec::new());
    for (_, c) in cases().iter().enumerate().filter(|(i, _)| i % parts == part) {
        let Some(plan) = plan(c) else { continue };
        let id = c["id"].as_str().unwrap();
        let at = if id.starts_with("krr") { 0.0 } else { number(c, "delta").unwrap() };
        match epsilon(&plan, at) {
            Ok(found) => assert!(agrees(found, reference_epsilon(c), width(id)), "{id}: {found:?}"),
            Err(e) => refused.push(format!("{id} epsilon: {e}")),
        }
        certified += 1;
        let Some((at, low, high)) = reference_delta(c) else { continue };
        match delta(&plan, at) {
            Ok(found) => assert!(agrees(found, (low, high), 25.0 * width(id)), "{id} delta: {found:?} {low} {high}"),
            Err(e) => refused.push(format!("{id} delta: {e}")),
        }
        certified += 1;
    }
    (certified - refused.len(), refused)
}

#[expect(clippy::disallowed_macros, reason = "a test may say what it counted")]
fn check_and_count(part: usize, least: usize) {
    let (certified, refused) = check(part, 2);
    println!("{certified} certified, {} refused: {refused:?}", refused.len());
    let unexpected: Vec<_> = refused.iter().filter(|r| !REFUSED.iter().any(|known| r.starts_with(known))).collect();
    assert!(unexpected.is_empty(), "refused: {unexpected:?}");
    assert!(certified >= least, "{certified} certified, {} refused", refused.len());
}

#[test]
fn reference_values_of_even_cases_are_enclosed() {
    check_and_count(0, 38);
}

#[test]
fn reference_values_of_odd_cases_are_enclosed() {
    check_and_count(1, 38);
}

/// Mutant M29: an accountant that halves the rate or forgets a step does not pass the golden check.
#[test]
fn the_golden_check_catches_half_a_rate_and_a_forgotten_step() {
    use Adjacency::AddRemove;
    for id in ["pois-10", "pois-18", "pois-24"] {
        let c = case(id);
        let (z, q) = (number(&c, "sigma").unwrap(), number(&c, "q").unwrap());
        let (steps, at) = (c["T"].as_u64().unwrap(), number(&c, "delta").unwrap());
        let passes = |q: f64, steps: u64| {
            let plan = [event(gaussian(z), AddRemove, poisson(q), steps)];
            agrees(epsilon(&plan, at).unwrap(), reference_epsilon(&c), width(id))
        };
        assert!(passes(q, steps) && !passes(q / 2.0, steps) && !passes(q, steps - 1), "{id}");
    }
    let gauss = case("gauss-04");
    let forgotten = [event(gaussian(number(&gauss, "sigma").unwrap()), AddRemove, Sampling::None, 9)];
    assert!(!agrees(epsilon(&forgotten, 1e-5).unwrap(), reference_epsilon(&gauss), 1e-9));
}

#[test]
fn calibrated_deviations_give_the_epsilon_they_were_calibrated_for() {
    for c in cases().iter().filter(|c| c["id"].as_str().unwrap().starts_with("gausscal")) {
        let (e, d) = (number(c, "epsilon").unwrap(), number(c, "delta").unwrap());
        let sigma = number(c, "sigma_analytic").unwrap();
        let at = |z: f64| epsilon(&[event(gaussian(z), Adjacency::AddRemove, Sampling::None, 1)], d).unwrap();
        assert!(at(sigma * (1.0 + 1e-9)).upper <= e && at(sigma * (1.0 - 1e-9)).lower >= e, "{}", c["id"]);
    }
}

#[test]
fn nothing_costs_nothing_and_bounded_losses_have_a_pure_epsilon() {
    assert_eq!(epsilon(&[], 1e-5).unwrap(), Bounds::ZERO);
    assert_eq!(delta(&[], 0.0).unwrap(), Bounds::ZERO);
    let twice = [event(laplace(2.0), Adjacency::AddRemove, Sampling::None, 7)];
    let pure = epsilon(&twice, 0.0).unwrap();
    assert!(pure.lower <= 3.5 && 3.5 <= pure.upper && pure.relative_width() < 1e-14);
    assert_eq!(delta(&twice, 3.6).unwrap(), Bounds::ZERO);
    let blind = epsilon(&[event(randomised_response(3, 1.0), Adjacency::Substitute, Sampling::None, 9)], 1e-6).unwrap();
    assert!(blind.lower == 0.0 && blind.upper < 1e-12, "{blind:?}");
    let unbounded = [event(gaussian(1.0), Adjacency::AddRemove, Sampling::None, 1)];
    assert_eq!(epsilon(&unbounded, 0.0).unwrap_err().code(), "P001");
    let sampled = [event(gaussian(1.0), Adjacency::AddRemove, poisson(0.1), 3)];
    assert_eq!(epsilon(&sampled, 0.0).unwrap_err().code(), "P001");
}

#[test]
fn sampled_laplace_noise_costs_less_than_all_of_it_and_more_than_its_share() {
    let cost = |sampling| {
        let plan = [event(laplace(1.0), Adjacency::AddRemove, sampling, 100)];
        epsilon(&plan, 1e-6).unwrap()
    };
    let (sampled, whole) = (cost(poisson(0.1)), cost(Sampling::None));
    assert!(sampled.relative_width() < 2e-6, "{sampled:?}");
    assert!(sampled.upper < 0.2 * whole.lower && sampled.lower > 0.02 * whole.upper, "{sampled:?} {whole:?}");
}

#[test]
fn epsilon_and_delta_are_inverse_to_each_other() {
    let plans = [
        vec![event(gaussian(1.0), Adjacency::AddRemove, poisson(0.05), 20)],
        vec![event(gaussian(0.8), Adjacency::Substitute, poisson(0.3), 2)],
        vec![
            event(gaussian(1.0), Adjacency::Substitute, Sampling::without_replacement(1, 20).unwrap(), 30),
            event(laplace(9.0), Adjacency::Substitute, Sampling::None, 5),
            event(randomised_response(5, 0.9), Adjacency::Substitute, Sampling::None, 3),
        ],
    ];
    for plan in plans {
        let e = epsilon(&plan, 1e-6).unwrap();
        assert!(e.relative_width() < 1e-3, "{e:?}");
        assert!(delta(&plan, e.upper * (1.0 + 1e-4)).unwrap().upper <= 1e-6 * (1.0 + 1e-9));
        assert!(delta(&plan, e.lower * (1.0 - 1e-4)).unwrap().lower >= 1e-6 * (1.0 - 1e-9));
    }
}

#[test]
fn more_steps_and_more_rows_never_certify_a_smaller_cost() {
    let cost = |q: f64, steps| epsilon(&[event(gaussian(0.9), Adjacency::AddRemove, poisson(q), steps)], 1e-5).unwrap();
    let mut before = Bounds::ZERO;
    for steps in [1, 2, 3, 10, 100, 1000] {
        let now = cost(0.02, steps);
        assert!(now.upper >= before.lower && now.lower <= now.upper, "{steps}: {before:?} {now:?}");
        before = now;
    }
    assert!(cost(0.04, 100).lower > cost(0.02, 100).upper);
}

#[test]
fn an_extreme_plan_is_answered_or_refused_but_never_wrong_or_lost() {
    use Adjacency::AddRemove;
    let plans = [
        event(gaussian(0.3), AddRemove, poisson(1e-6), 1_000_000),
        event(gaussian(100.0), AddRemove, poisson(1e-7), 10),
        event(gaussian(0.05), AddRemove, poisson(0.5), 3),
        event(gaussian(1000.0), AddRemove, poisson(0.9), 5),
        event(laplace(0.1), AddRemove, poisson(0.5), 4),
        event(gaussian(1.0), AddRemove, poisson(0.5), 1 << 31),
    ];
    for plan in plans {
        match epsilon(std::slice::from_ref(&plan), 1e-7) {
            Ok(e) => assert!(e.lower >= 0.0 && e.lower <= e.upper && e.upper.is_finite(), "{plan}: {e:?}"),
            Err(e) => assert_eq!(e.code(), "P004", "{plan}: {e}"),
        }
    }
}
