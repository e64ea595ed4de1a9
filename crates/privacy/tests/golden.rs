//! Every reference case has a test, and the shuffle model's are composed by the certified accountant.
//!
//! Origin of the values: `vectors/accounting.json`, field `source` of each case.

use privacy::accounting::pld::{Pld, VerifiedPld};
use privacy::{
    Accountant, Adjacency, Adversary, Categories, Delta, Epsilon, Event, Gamma, Mechanism, Sampling, SamplingRate,
    Steps, Unit,
};
use serde_json::Value;
use std::collections::BTreeMap;

fn cases() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("vectors/accounting.json")).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn family(case: &Value) -> String {
    case["id"].as_str().unwrap().split('-').next().unwrap().to_owned()
}

#[test]
fn every_family_of_cases_is_tested_somewhere() {
    let tested = BTreeMap::from([
        ("gauss", "pld"),
        ("gausscal", "pld, classic_golden"),
        ("pois", "pld, contour"),
        ("tinydelta", "pld, contour"),
        ("wor", "pld, contour"),
        ("subpair", "pld, contour"),
        ("het", "pld, contour"),
        ("calib", "golden"),
        ("laplace", "pld"),
        ("krr", "pld, classic_golden"),
        ("rr10", "pld"),
        ("rdp", "classic_golden"),
        ("worrdp", "classic_golden"),
        ("rdpeps", "classic_golden"),
        ("dppvi", "classic_golden, golden"),
        ("kov", "classic_golden, golden"),
        ("clones", "shuffle, golden"),
        ("krrstrong", "shuffle, golden"),
        ("krrweak", "shuffle, golden"),
        ("subshuffle", "shuffle, golden"),
    ]);
    let cases = cases();
    assert_eq!(cases.len(), 92);
    assert!(cases.iter().all(|c| tested.contains_key(family(c).as_str())));
}

fn steps(case: &Value, field: &str) -> Steps {
    Steps::new(case[field].as_u64().unwrap()).unwrap()
}

/// The shuffle of a case, or nothing if it speaks of something else.
fn shuffle(case: &Value) -> Option<Event> {
    let number = |field: &str| case[field].as_f64().unwrap();
    let clones = |users| Mechanism::ShuffleClones { users, local_epsilon: Epsilon::new(number("eps0")).unwrap() };
    let response = |adversary| Mechanism::ShuffleRandomisedResponse {
        users: steps(case, "n"),
        categories: Categories::new(case["k"].as_u64().unwrap()).unwrap(),
        gamma: Gamma::new(number("gamma")).unwrap(),
        adversary,
    };
    let (mechanism, sampling) = match family(case).as_str() {
        "clones" => (clones(steps(case, "n")), Sampling::None),
        "krrstrong" => (response(Adversary::Strong), Sampling::None),
        "krrweak" => (response(Adversary::Weak), Sampling::None),
        "subshuffle" => {
            let rate = SamplingRate::new(number("q")).unwrap();
            (clones(steps(case, "n_shuffled")), Sampling::without_replacement_at(rate).unwrap())
        }
        _ => return None,
    };
    Some(Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, steps(case, "n_c")).unwrap())
}

/// (δ, ε) of a case.
fn points(case: &Value) -> Vec<(f64, f64)> {
    let list = |field: &str| case[field].as_array().map(|v| v.iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>());
    match (list("deltas"), list("epsilons")) {
        (Some(deltas), Some(epsilons)) => deltas.into_iter().zip(epsilons).collect(),
        _ => vec![(case["delta"].as_f64().unwrap(), case["epsilon_exact"].as_f64().unwrap())],
    }
}

#[test]
fn shuffles_are_composed_within_a_millionth() {
    let mut count = 0;
    for (case, event) in cases().iter().filter_map(|c| Some((c, shuffle(c)?))) {
        let tolerance = case["tolerance"]["epsilon_rel"].as_f64().unwrap();
        for (delta, exact) in points(case) {
            let found = Pld.epsilon(std::slice::from_ref(&event), Delta::new(delta).unwrap()).unwrap();
            let what = format!("{} at {delta}: {found:?}, {exact}", case["id"]);
            assert!(found.lower <= exact * (1.0 + tolerance) && exact * (1.0 - tolerance) <= found.upper, "{what}");
            assert!(found.relative_width() <= 1e-6, "{what}");
            count += 1;
        }
    }
    assert_eq!(count, 43);
}

#[test]
fn a_shuffle_s_delta_at_given_epsilons_is_enclosed() {
    for (case, event) in cases().iter().filter_map(|c| Some((c, shuffle(c)?))) {
        let tolerance = case["tolerance"]["delta_rel"].as_f64().unwrap_or(1e-5);
        let (Some(epsilons), Some(deltas)) =
            (case["query_epsilons"].as_array(), case["deltas_at_query_epsilons"].as_array())
        else {
            continue;
        };
        for (epsilon, exact) in epsilons.iter().zip(deltas).filter_map(|(e, d)| Some((e.as_f64()?, d.as_f64()?))) {
            let found = Pld.delta(std::slice::from_ref(&event), Epsilon::new(epsilon).unwrap()).unwrap();
            let what = format!("{} at {epsilon}: {found:?}, {exact}", case["id"]);
            assert!(found.lower <= exact * (1.0 + tolerance) && exact * (1.0 - tolerance) <= found.upper, "{what}");
        }
    }
}

#[test]
fn the_full_profile_of_composed_approximate_mechanisms_is_not_above_the_theorem_s_grid() {
    for case in cases().iter().filter(|c| family(c) == "kov") {
        let mechanism = Mechanism::Approximate {
            epsilon: Epsilon::new(case["eps"].as_f64().unwrap()).unwrap(),
            delta: Delta::new(case["delta"].as_f64().unwrap()).unwrap(),
        };
        let event =
            Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, steps(case, "k")).unwrap();
        let total: f64 = case["delta_total"].as_str().unwrap().parse().unwrap();
        let bound = case["eps_opt"].as_f64().unwrap();
        let found = Pld.epsilon(&[event], Delta::new(total).unwrap()).unwrap();
        assert!(found.lower <= bound * (1.0 + 1e-9), "{}: {found:?}, {bound}", case["id"]);
        assert!(found.upper >= 0.9 * bound, "{}: {found:?}, {bound}", case["id"]);
    }
}

#[test]
fn steps_within_the_workshop_s_budget_are_exact() {
    for case in cases().iter().filter(|c| family(c) == "dppvi") {
        let number = |field: &str| case[field].as_f64().unwrap();
        let mechanism =
            Mechanism::Gaussian { noise_multiplier: privacy::NoiseMultiplier::new(number("sigma")).unwrap() };
        let sampling = Sampling::Poisson { rate: SamplingRate::new(number("q")).unwrap() };
        let plan = |steps: Steps| {
            Ok(vec![Event::new(mechanism.clone(), Adjacency::AddRemove, Unit::Example, sampling, steps)?])
        };
        let (epsilon, delta) = (Epsilon::new(number("eps_max")).unwrap(), Delta::new(number("delta")).unwrap());
        let most = privacy::accounting::steps::steps(&Pld, &plan, epsilon, delta).unwrap();
        assert_eq!(most.get(), case["exact_pld_remove"].as_u64().unwrap(), "{}", case["id"]);
    }
}

/// Gaussian noise in the setting of a case, or nothing if it speaks of something else.
fn sampled_gaussian(case: &Value) -> Option<Event> {
    let number = |field: &str| case[field].as_f64();
    let rate = SamplingRate::new(number("q")?).ok()?;
    let (z, adjacency, sampling) = match family(case).as_str() {
        "pois" | "tinydelta" => (number("sigma")?, Adjacency::AddRemove, Sampling::Poisson { rate }),
        "wor" => (number("sigma")?, Adjacency::Substitute, Sampling::without_replacement_at(rate).ok()?),
        "subpair" => (0.5 * number("sigma")?, Adjacency::Substitute, Sampling::Poisson { rate }),
        _ => return None,
    };
    let mechanism = Mechanism::Gaussian { noise_multiplier: privacy::NoiseMultiplier::new(z).ok()? };
    Event::new(mechanism, adjacency, Unit::Example, sampling, steps(case, "T")).ok()
}

/// The contour integral, the grid and, for one step, the closed form are asked; no two of them may be apart.
#[test]
fn evaluators_meet_on_every_case_where_two_of_them_answer() {
    let (mut met, mut alone) = (0, Vec::new());
    for (case, event) in cases().iter().filter_map(|c| Some((c, sampled_gaussian(c)?))) {
        let delta = Delta::new(case["delta"].as_f64().unwrap()).unwrap();
        let exact = case["epsilon_exact"].as_f64().unwrap();
        match VerifiedPld.epsilon(&[event], delta) {
            Ok(found) => {
                assert!(found.lower <= exact * (1.0 + 1e-8) && exact * (1.0 - 1e-8) <= found.upper, "{}", case["id"]);
                met += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("only one evaluator"), "{}: {error}", case["id"]);
                alone.push(case["id"].as_str().unwrap().to_owned());
            }
        }
    }
    assert!(met >= 30, "{met} met, alone: {alone:?}");
}

#[test]
fn the_calibrated_multiplier_is_the_exact_one_on_the_safe_side() {
    for case in cases().iter().filter(|c| family(c) == "calib") {
        let number = |field: &str| case[field].as_f64().unwrap();
        let sampling = Sampling::Poisson { rate: SamplingRate::new(number("q")).unwrap() };
        let plan = |z: privacy::NoiseMultiplier| {
            let mechanism = Mechanism::Gaussian { noise_multiplier: z };
            Ok(vec![Event::new(mechanism, Adjacency::AddRemove, Unit::Example, sampling, steps(case, "T"))?])
        };
        let (epsilon, delta) = (Epsilon::new(number("epsilon")).unwrap(), Delta::new(number("delta")).unwrap());
        let z = privacy::accounting::calibrate::calibrate(&Pld, &plan, epsilon, delta).unwrap().get();
        let exact = number("sigma_exact");
        assert!(z >= exact * (1.0 - 1e-11) && z <= exact * (1.0 + 1e-8), "{z} {exact}");
        assert!(Pld.epsilon(&plan(privacy::NoiseMultiplier::new(z).unwrap()).unwrap(), delta).unwrap().upper <= 1.0);
    }
}
