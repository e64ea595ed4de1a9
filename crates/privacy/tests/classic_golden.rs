//! Golden values for the classic accountants: calibration, Rényi divergence, composition, randomised response.

use privacy::accounting::calibrate::calibrate;
use privacy::accounting::classical::Classical;
use privacy::accounting::composition::{Advanced, Basic};
use privacy::accounting::gdp::Gdp;
use privacy::accounting::moments::Moments;
use privacy::accounting::optimal::Optimal;
use privacy::accounting::rdp::without_replacement::{FixedBatch, Theorem};
use privacy::accounting::rdp::{Conversion, Rdp, renyi_divergence};
use privacy::accounting::steps::steps;
use privacy::{
    Accountant, Adjacency, Categories, Delta, Epsilon, Event, Gamma, Mechanism, NoiseMultiplier, Order, Sampling,
    SamplingRate, Steps, Unit,
};
use serde_json::Value;

/// All cases whose id begins with the family's name.
fn family(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("vectors/accounting.json")).unwrap();
    let of_family = |case: &&Value| case["id"].as_str().unwrap().split('-').next() == Some(name);
    let cases: Vec<Value> = all["cases"].as_array().unwrap().iter().filter(of_family).cloned().collect();
    assert!(!cases.is_empty(), "no cases of {name}");
    cases
}

fn number(case: &Value, field: &str) -> f64 {
    match &case[field] {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap_or_else(|| panic!("{} has no {field}", case["id"])),
    }
}

/// An upper bound that is not above the value by more than a relative tolerance, nor below it by more.
#[track_caller]
fn assert_close(case: &Value, found: f64, expected: f64, relative: f64) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{}: {found} against {expected}", case["id"]);
}

fn poisson(case: &Value, steps: u64) -> Event {
    Event::new(
        Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(number(case, "sigma")).unwrap() },
        Adjacency::AddRemove,
        Unit::Example,
        Sampling::Poisson { rate: SamplingRate::new(number(case, "q")).unwrap() },
        Steps::new(steps).unwrap(),
    )
    .unwrap()
}

/// 1.1, 1.2, … 10.9, then 11 to 63, then 128, 256, 512, 1024.
fn listed_orders() -> Vec<Order> {
    let fine = (11..=109).map(|k| f64::from(k) / 10.0);
    let whole = (11..64).chain([128, 256, 512, 1024]).map(f64::from);
    fine.chain(whole).map(|x| Order::new(x).unwrap()).collect()
}

#[test]
fn renyi_divergence_of_poisson_sampling_at_integer_and_real_orders() {
    for case in family("rdp") {
        let order = Order::new(number(&case, "order")).unwrap();
        assert_close(&case, renyi_divergence(&poisson(&case, 1), order).unwrap(), number(&case, "rdp"), 1e-9);
    }
}

#[test]
fn renyi_divergence_of_fixed_batches_by_both_theorems() {
    for case in family("worrdp") {
        let q = SamplingRate::new(number(&case, "q")).unwrap();
        let batch = FixedBatch::new(q, NoiseMultiplier::new(number(&case, "sigma")).unwrap());
        let order = number(&case, "order") as u64;
        let nine = batch.divergence(order, Theorem::Nine);
        let better = batch.divergence(order, Theorem::TwentySeven);
        assert_close(&case, nine, number(&case, "wang2019_theorem9"), 1e-9);
        assert_close(&case, better, number(&case, "wang2019_theorem27_ternary_tightened"), 1e-9);
        let event = Event::new(
            Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(number(&case, "sigma")).unwrap() },
            Adjacency::Substitute,
            Unit::Example,
            Sampling::without_replacement_at(q).unwrap(),
            Steps::ONE,
        )
        .unwrap();
        let by_event = renyi_divergence(&event, Order::new(order as f64).unwrap()).unwrap();
        assert!(by_event <= nine.min(better));
    }
}

#[test]
fn epsilon_by_both_conversions_and_at_the_best_order() {
    for case in family("rdpeps") {
        let plan = [poisson(&case, number(&case, "T") as u64)];
        let delta = Delta::new(number(&case, "delta")).unwrap();
        let epsilon = |rdp: Rdp| rdp.epsilon(&plan, delta).unwrap().upper;
        for (conversion, field, order) in [
            (Conversion::Mironov2017, "epsilon_mironov2017", "order_mironov"),
            (Conversion::Canonne2020, "epsilon_canonne2020", "order_canonne"),
        ] {
            let (found, expected) = (epsilon(Rdp::with_orders(listed_orders(), conversion)), number(&case, field));
            // At fractional orders the peer's series is too large (rdp-09 to rdp-12); the exact value is below it.
            let exact_peer = number(&case, order).fract() == 0.0;
            assert_close(&case, found, expected, if exact_peer { 1e-8 } else { 3e-4 });
            assert!(found <= expected * (1.0 + 1e-9));
        }
        let best = epsilon(Rdp::default());
        assert_close(&case, best, number(&case, "epsilon_canonne_continuous_order"), 1e-8);
    }
}

#[test]
fn calibration_of_the_gaussian_mechanism() {
    for case in family("gausscal") {
        let (epsilon, delta) = (number(&case, "epsilon"), number(&case, "delta"));
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        let plan_of = |z| Ok(vec![Event::gaussian(z, Adjacency::Substitute, Steps::ONE)]);
        let z = calibrate(&Gdp, &plan_of, epsilon, delta).unwrap();
        assert_close(&case, z.get(), number(&case, "sigma_analytic"), 2e-9);
        assert!(z.get() >= number(&case, "sigma_analytic") * (1.0 - 1e-12));
        if case["classical_valid_eps_lt_1"] == true {
            let z = calibrate(&Classical, &plan_of, epsilon, delta).unwrap();
            assert_close(&case, z.get(), number(&case, "sigma_classical"), 2e-9);
        } else {
            let z = NoiseMultiplier::new(number(&case, "sigma_classical")).unwrap();
            assert_eq!(Classical.epsilon(&plan_of(z).unwrap(), delta).unwrap_err().code(), "P004");
        }
    }
}

#[test]
fn composition_of_approximate_mechanisms() {
    for case in family("kov") {
        let mechanism = Mechanism::Approximate {
            epsilon: Epsilon::new(number(&case, "eps")).unwrap(),
            delta: Delta::new(number(&case, "delta")).unwrap(),
        };
        let k = Steps::new(number(&case, "k") as u64).unwrap();
        let plan = [Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, k).unwrap()];
        let at = |delta: f64| Delta::new(delta).unwrap();

        let total = at(number(&case, "advanced_delta"));
        assert_close(&case, Basic.epsilon(&plan, total).unwrap().upper, number(&case, "basic"), 1e-10);
        let advanced = Advanced.epsilon(&plan, total).unwrap().upper;
        assert_close(&case, advanced, number(&case, "advanced_DR"), 1e-10);
        let back = Advanced.delta(&plan, Epsilon::new(advanced).unwrap()).unwrap().upper;
        assert_close(&case, back, total.get(), 1e-9);

        let corner = number(&case, "eps_opt");
        let failure = Optimal.delta(&plan, Epsilon::new(corner).unwrap()).unwrap();
        assert_close(&case, failure.upper, number(&case, "delta_total"), 1e-10);
        assert_close(&case, failure.lower, number(&case, "delta_total"), 1e-10);
        let epsilon = Optimal.epsilon(&plan, at(number(&case, "delta_total"))).unwrap();
        assert_close(&case, epsilon.upper, corner, 1e-10);
        assert_close(&case, epsilon.lower, corner, 1e-10);
        // Between corners the same product gives less than the theorem's grid.
        assert!(Optimal.epsilon(&plan, total).unwrap().upper <= corner * (1.0 + 1e-10));
    }
}

#[test]
fn randomised_response_is_pure() {
    for case in family("krr") {
        let mechanism = Mechanism::RandomisedResponse {
            categories: Categories::new(number(&case, "k") as u64).unwrap(),
            gamma: Gamma::new(number(&case, "gamma")).unwrap(),
        };
        let plan = [Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap()];
        let accountants: [&dyn Accountant; 2] = [&Basic, &Optimal];
        for accountant in accountants {
            let epsilon = accountant.epsilon(&plan, Delta::new(0.0).unwrap()).unwrap().upper;
            assert_close(&case, epsilon, number(&case, "epsilon_exact"), 1e-12);
        }
    }
}

#[test]
fn steps_within_the_budget_of_the_workshop() {
    for case in family("dppvi") {
        let (epsilon, delta) = (number(&case, "eps_max"), number(&case, "delta"));
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        let plan_of = |t: Steps| Ok(vec![poisson(&case, t.get())]);
        let most = |accountant: &dyn Accountant| steps(accountant, &plan_of, epsilon, delta).unwrap().get() as f64;
        assert_eq!(most(&Moments), number(&case, "moments_lambda_le_32"), "{}", case["id"]);
        let listed = Rdp::with_orders(listed_orders(), Conversion::Canonne2020);
        let improved = number(&case, "rdp_improved_default_orders");
        assert_eq!(most(&listed), improved, "{}", case["id"]);
        let best = most(&Rdp::default());
        assert!(improved <= best && best <= number(&case, "exact_pld_remove"), "{}: {best}", case["id"]);
    }
}

/// Rényi bounds are upper bounds, and not far from the exact value where the pair itself is integrated.
#[test]
fn renyi_bounds_are_never_below_the_exact_value() {
    let delta = |case: &Value| Delta::new(number(case, "delta")).unwrap();
    let gaussian = |z: f64| Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(z).unwrap() };
    let check = |case: &Value, event: Event, most: f64| {
        let exact = number(case, "epsilon_exact");
        let found = Rdp::default().epsilon(&[event], delta(case)).unwrap().upper;
        // A single step is not what moments are good at.
        let most = if number(case, "T") < 100.0 { 10.0 } else { most };
        assert!(found >= exact && found <= most * exact, "{}: {found} against {exact}", case["id"]);
    };
    for case in family("pois").into_iter().chain(family("tinydelta")) {
        check(&case, poisson(&case, number(&case, "T") as u64), 1.35);
    }
    for (name, per_sensitivity, most) in [("subpair", 0.5, 1.2), ("wor", 1.0, 1.2)] {
        for case in family(name) {
            let rate = SamplingRate::new(number(&case, "q")).unwrap();
            let sampling = match name {
                "wor" => Sampling::without_replacement_at(rate).unwrap(),
                _ => Sampling::Poisson { rate },
            };
            let mechanism = gaussian(number(&case, "sigma") * per_sensitivity);
            let steps = Steps::new(number(&case, "T") as u64).unwrap();
            check(&case, Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, steps).unwrap(), most);
        }
    }
}
