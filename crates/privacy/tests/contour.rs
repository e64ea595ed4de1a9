//! The contour evaluator against golden values, closed forms and itself.

use privacy::accounting::contour;
use privacy::accounting::pair::Pair;
use privacy::{PrivacyError, Steps};
use serde_json::Value;

fn steps(t: u64) -> Steps {
    Steps::new(t).unwrap()
}

/// A golden case: the compositions of both directions, and what is known about it.
struct Case {
    id: String,
    directions: Vec<Vec<(Pair, Steps)>>,
    delta: f64,
    epsilon: f64,
    epsilon_tolerance: f64,
    query: Option<(f64, f64, f64)>,
}

fn golden() -> Vec<Case> {
    let text = include_str!("vectors/accounting.json");
    let all: Value = serde_json::from_str(text).unwrap();
    all["cases"].as_array().unwrap().iter().filter_map(case).collect()
}

fn case(value: &Value) -> Option<Case> {
    let id = value["id"].as_str()?.to_owned();
    let number = |name: &str| value[name].as_f64();
    let pairs: Vec<Vec<(f64, f64, u64, u8)>>;
    let one = |kind| Some((number("q")?, number("sigma")?, value["T"].as_u64()?, kind));
    match id.split('-').next()? {
        "pois" | "tinydelta" => pairs = vec![vec![one(0)?], vec![one(1)?]],
        "wor" => pairs = vec![vec![one(2)?]],
        // The file has noise deviation over C; the pair is in units of the sensitivity 2C.
        "subpair" => pairs = vec![vec![(number("q")?, number("sigma")? / 2.0, value["T"].as_u64()?, 3)]],
        "het" => {
            let grid = |kind| (0..100).map(|i| (0.001 + 0.0005 * i as f64, 1.0 + 0.03 * i as f64, 10, kind)).collect();
            pairs = vec![grid(0), grid(1)];
        }
        _ => return None,
    }
    let pair = |&(q, s, t, kind): &(f64, f64, u64, u8)| {
        let pair = match kind {
            0 => Pair::GaussianRemove { q, s },
            1 => Pair::GaussianAdd { q, s },
            2 => Pair::GaussianFixed { q, s },
            _ => Pair::GaussianSubstitute { q, s },
        };
        (pair, steps(t))
    };
    let tolerance = &value["tolerance"];
    let query =
        || Some((number("query_epsilon")?, number("delta_at_query_epsilon")?, tolerance["delta_rel"].as_f64()?));
    Some(Case {
        id: id.clone(),
        directions: pairs.iter().map(|direction| direction.iter().map(pair).collect()).collect(),
        delta: number("delta")?,
        epsilon: number("epsilon_exact")?,
        epsilon_tolerance: tolerance["epsilon_rel"].as_f64()?,
        query: query(),
    })
    .filter(|case| case.directions[0][0].1 != Steps::ONE)
}

#[test]
fn golden_epsilons_lie_in_the_certified_intervals() {
    let (mut certified, mut refused, mut worst) = (0, Vec::new(), 0.0_f64);
    for case in golden() {
        let found: Result<Vec<_>, PrivacyError> =
            case.directions.iter().map(|direction| contour::epsilon(direction, case.delta)).collect();
        let bounds = match found {
            Ok(all) => all.into_iter().reduce(|a, b| a.max(b)).unwrap(),
            Err(error) => {
                println!("{}: {error}", case.id);
                refused.push(case.id);
                continue;
            }
        };
        let (exact, tolerance) = (case.epsilon, case.epsilon_tolerance);
        println!("{} {exact} [{}, {}] {:.1e}", case.id, bounds.lower, bounds.upper, bounds.relative_width());
        assert!(bounds.lower <= exact * (1.0 + tolerance), "{}: lower {} over {exact}", case.id, bounds.lower);
        assert!(bounds.upper >= exact * (1.0 - tolerance), "{}: upper {} under {exact}", case.id, bounds.upper);
        let limit = if case.delta >= 1e-10 { 1e-6 } else { 1e-4 };
        assert!(bounds.relative_width() <= limit, "{}: width {}", case.id, bounds.relative_width());
        worst = worst.max(bounds.relative_width());
        certified += 1;
    }
    println!("{certified} certified, widest {worst:.1e}, refused {refused:?}");
}

#[test]
fn golden_deltas_lie_in_the_certified_intervals() {
    let (mut certified, mut refused) = (0, Vec::new());
    for case in golden() {
        let Some((epsilon, exact, tolerance)) = case.query else { continue };
        let found: Result<Vec<_>, PrivacyError> =
            case.directions.iter().map(|direction| contour::delta(direction, epsilon)).collect();
        let bounds = match found {
            Ok(all) => all.into_iter().reduce(|a, b| a.max(b)).unwrap(),
            Err(error) => {
                println!("{}: {error}", case.id);
                refused.push(case.id);
                continue;
            }
        };
        println!("{} {exact} [{}, {}] {:.1e}", case.id, bounds.lower, bounds.upper, bounds.relative_width());
        assert!(bounds.lower <= exact * (1.0 + tolerance), "{}: lower {} over {exact}", case.id, bounds.lower);
        assert!(bounds.upper >= exact * (1.0 - tolerance), "{}: upper {} under {exact}", case.id, bounds.upper);
        certified += 1;
    }
    println!("{certified} certified, refused {refused:?}");
}
