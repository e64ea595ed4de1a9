//! The contour evaluator against golden values, closed forms, independent numbers and itself.
#![allow(clippy::disallowed_macros, reason = "counts are printed for whoever reads the run")]

use privacy::accounting::pair::{Atoms, Composition, DominatingPair};
use privacy::accounting::{Bounds, Interval, contour};
use privacy::{PrivacyError, Steps};
use serde_json::Value;

fn steps(t: u64) -> Steps {
    Steps::new(t).unwrap()
}

fn once(pair: DominatingPair, t: u64) -> Composition {
    vec![(pair, steps(t))]
}

/// A golden case: the compositions of its directions, and what is known about it.
struct ContourCase {
    id: String,
    directions: Vec<Composition>,
    delta: f64,
    epsilon: f64,
    epsilon_tolerance: f64,
    /// ε, δ(ε) and the relative tolerance of the latter.
    query: Option<(f64, f64, f64)>,
}

/// All golden cases of more than one step that speak of a dominating pair with a density.
fn golden() -> Vec<ContourCase> {
    let all: Value = serde_json::from_str(include_str!("vectors/accounting.json")).unwrap();
    all["cases"].as_array().unwrap().iter().filter_map(case).collect()
}

fn case(value: &Value) -> Option<ContourCase> {
    let id = value["id"].as_str()?;
    let number = |name: &str| value[name].as_f64();
    let tolerance = &value["tolerance"];
    let query =
        || Some((number("query_epsilon")?, number("delta_at_query_epsilon")?, tolerance["delta_rel"].as_f64()?));
    let directions = directions(id.split('-').next()?, value)?;
    (directions[0][0].1 != Steps::ONE).then_some(())?;
    Some(ContourCase {
        id: id.to_owned(),
        directions,
        delta: number("delta")?,
        epsilon: number("epsilon_exact")?,
        epsilon_tolerance: tolerance["epsilon_rel"].as_f64()?,
        query: query(),
    })
}

fn directions(family: &str, value: &Value) -> Option<Vec<Composition>> {
    let number = |name: &str| value[name].as_f64();
    let event = || Some((number("q")?, number("sigma")?, value["T"].as_u64()?));
    let both = |events: &[(f64, f64, u64)]| {
        let remove = |&(q, s, t): &(f64, f64, u64)| (DominatingPair::GaussianRemove { q, s }, steps(t));
        let add = |&(q, s, t): &(f64, f64, u64)| (DominatingPair::GaussianAdd { q, s }, steps(t));
        vec![events.iter().map(remove).collect(), events.iter().map(add).collect()]
    };
    Some(match family {
        "pois" | "tinydelta" => both(&[event()?]),
        "wor" => event().map(|(q, s, t)| vec![once(DominatingPair::GaussianFixed { q, s }, t)])?,
        // The file has noise deviation over C; the pair is in units of the sensitivity 2C.
        "subpair" => event().map(|(q, s, t)| vec![once(DominatingPair::GaussianSubstitute { q, s: s / 2.0 }, t)])?,
        "het" => both(&hundred()),
        _ => return None,
    })
}

/// A hundred different steps, ten times each.
fn hundred() -> Vec<(f64, f64, u64)> {
    (0..100).map(|i| (0.001 + 0.0005 * f64::from(i), 1.0 + 0.03 * f64::from(i), 10)).collect()
}

/// The worse of all directions; a refusal of one refuses all.
fn worst(
    case: &ContourCase,
    cost: impl Fn(&[(DominatingPair, Steps)]) -> Result<Bounds, PrivacyError>,
) -> Result<Bounds, PrivacyError> {
    case.directions.iter().try_fold(Bounds::ZERO, |worst, direction| Ok(worst.max(cost(direction)?)))
}

fn assert_encloses(id: &str, bounds: Bounds, exact: f64, tolerance: f64) {
    assert!(bounds.lower <= exact * (1.0 + tolerance), "{id}: lower {} over {exact}", bounds.lower);
    assert!(bounds.upper >= exact * (1.0 - tolerance), "{id}: upper {} under {exact}", bounds.upper);
}

#[test]
fn golden_epsilons_lie_in_narrow_certified_intervals() {
    let (mut certified, mut refused, mut widest) = (0, Vec::new(), 0.0_f64);
    for case in golden() {
        let Ok(bounds) = worst(&case, |direction| contour::epsilon(direction, case.delta)) else {
            refused.push(case.id);
            continue;
        };
        assert_encloses(&case.id, bounds, case.epsilon, case.epsilon_tolerance);
        let limit = if case.delta >= 1e-10 { 1e-6 } else { 1e-4 };
        assert!(bounds.relative_width() <= limit, "{}: width {}", case.id, bounds.relative_width());
        widest = widest.max(bounds.relative_width());
        certified += 1;
    }
    println!("epsilon: {certified} certified, widest {widest:.1e}, refused {refused:?}");
    assert_eq!((certified, refused), (32, Vec::<String>::new()));
}

#[test]
fn golden_deltas_lie_in_narrow_certified_intervals() {
    let (mut certified, mut refused) = (0, Vec::new());
    for case in golden() {
        let Some((epsilon, exact, tolerance)) = case.query else { continue };
        let Ok(bounds) = worst(&case, |direction| contour::delta(direction, epsilon)) else {
            refused.push(case.id);
            continue;
        };
        assert_encloses(&case.id, bounds, exact, tolerance);
        assert!(bounds.relative_width() <= 1e-6, "{}: width {}", case.id, bounds.relative_width());
        certified += 1;
    }
    println!("delta: {certified} certified, refused {refused:?}");
    assert_eq!((certified, refused), (28, Vec::<String>::new()));
}

/// A peer's certified bounds for Laplace noise: 500 steps suffice for the contour, 100 are refused.
#[test]
fn composed_laplace_noise_meets_the_peer_s_interval() {
    let all: Value = serde_json::from_str(include_str!("vectors/accounting.json")).unwrap();
    let cases = all["cases"].as_array().unwrap().iter().filter(|case| case["eps_upper"].is_number());
    let mut refused = Vec::new();
    for case in cases.filter(|case| case["mechanism"] == "laplace") {
        let number = |name: &str| case[name].as_f64().unwrap();
        let pair = DominatingPair::Laplace { s: number("scale_over_sensitivity") };
        match contour::epsilon(&once(pair, case["T"].as_u64().unwrap()), number("delta")) {
            Ok(bounds) => {
                let peer = Bounds { lower: number("eps_lower"), upper: number("eps_upper") };
                assert!(bounds.intersects(&peer), "{bounds:?} {peer:?}");
                assert!(bounds.relative_width() < 1e-6);
            }
            Err(_) => refused.push(case["id"].clone()),
        }
    }
    assert_eq!(refused, ["laplace-03"]);
}

/// δ at ε, computed in Python on other nodes, with other abscissas, periods and lengths of the contour.
#[test]
fn independent_numbers_lie_in_the_certified_intervals() {
    let mixed = vec![
        (DominatingPair::LaplaceRemove { q: 0.2, s: 2.0 }, steps(200)),
        (DominatingPair::Gaussian { s: 5.0 }, steps(10)),
        (DominatingPair::GaussianRemove { q: 0.05, s: 1.5 }, steps(100)),
    ];
    let cases = [
        (once(DominatingPair::GaussianRemove { q: 1e-5, s: 0.3 }, 100_000), 9.878_848, 1.000_000_371_3e-6),
        (once(DominatingPair::GaussianAdd { q: 0.3, s: 0.5 }, 50), 14.805_965, 9.999_979_263_1e-6),
        (once(DominatingPair::GaussianFixed { q: 0.001, s: 0.5 }, 10_000), 8.993_377, 1.000_000_233_0e-8),
        (mixed, 7.981_938, 9.999_987_084_1e-7),
        (once(DominatingPair::GaussianSubstitute { q: 0.1, s: 0.3 }, 10), 10.634_126, 1.000_000_113_4e-6),
        (once(DominatingPair::GaussianRemove { q: 1e-4, s: 1.0 }, 10_000_000), 2.837_176, 1.000_004_643_5e-12),
        (once(DominatingPair::LaplaceAdd { q: 0.2, s: 0.5 }, 200), 26.227_117, 1.000_000_575_3e-6),
    ];
    for (composition, epsilon, delta) in cases {
        let bounds = contour::delta(&composition, epsilon).unwrap();
        assert_encloses(&format!("{composition:?}"), bounds, delta, 2e-10);
        assert!(bounds.relative_width() < 1e-6, "{composition:?}: {bounds:?}");
    }
}

/// δ(ε) of one Gaussian step with deviation 1/μ, for any real ε (Balle and Wang 2018, Theorem 8).
fn gaussian_delta(mu: f64, epsilon: f64) -> Interval {
    let (mu, epsilon) = (Interval::exact(mu), Interval::exact(epsilon));
    let (half, shift) = (mu * Interval::exact(0.5), epsilon / mu);
    (half - shift).phi() - epsilon.exp() * (-half - shift).phi()
}

#[test]
fn gaussian_steps_agree_with_their_closed_form() {
    for (s, t, epsilon) in [(5.0, 100, 9.0), (1.0, 2, 3.0), (40.0, 1, 0.05), (20.0, 1_000_000, 1400.0)] {
        let exact = gaussian_delta((t as f64).sqrt() / s, epsilon);
        let bounds = contour::delta(&once(DominatingPair::Gaussian { s }, t), epsilon).unwrap();
        assert!(bounds.intersects(&Bounds { lower: exact.lo, upper: exact.hi }), "{s} {t}: {bounds:?} {exact:?}");
        assert!(bounds.relative_width() < 1e-7, "{s} {t}: {bounds:?}");
    }
}

/// Gaussian steps after binary answers of loss ±a: δ(ε) = Σ_k P(k) δ_G(ε − (2k−n)a), and 1 where a loss is infinite.
#[test]
fn atoms_in_a_mixed_composition_agree_with_their_exact_sum() {
    let (n, mu, epsilon) = (20_i32, 10.0_f64.sqrt() / 5.0, 9.0);
    for leak in [0.0_f64, 1e-8] {
        let (p, q) = (0.6 * (1.0 - leak), 0.4 * (1.0 - leak));
        let atoms = Atoms::from_outcomes([(leak, 0.0), (p, q), (q, p)].into_iter());
        let composition =
            vec![(DominatingPair::Gaussian { s: 5.0 }, steps(10)), (DominatingPair::Finite(atoms), steps(20))];
        let mut exact = -(f64::from(n) * (-leak).ln_1p()).exp_m1();
        let (mut choose, loss) = (1.0, (0.6_f64 / 0.4).ln());
        for k in 0..=n {
            let inner = gaussian_delta(mu, epsilon - f64::from(2 * k - n) * loss);
            exact += choose * p.powi(k) * q.powi(n - k) * 0.5 * (inner.lo + inner.hi);
            choose *= f64::from(n - k) / f64::from(k + 1);
        }
        let bounds = contour::delta(&composition, epsilon).unwrap();
        assert_encloses("atoms", bounds, exact, 1e-10);
        assert!(bounds.relative_width() < 1e-7, "{bounds:?} {exact}");
    }
}

#[test]
fn rare_heavy_steps_are_cut_and_stay_certified() {
    let (q, s) = (1e-4, 1.0);
    let bounds = contour::epsilon(&once(DominatingPair::GaussianRemove { q, s }, 100_000), 1e-10).unwrap();
    assert_encloses("W2", bounds, 0.235_459_66, 1e-7);
    assert!(bounds.relative_width() < 1e-6, "{bounds:?}");
    let other = once(DominatingPair::GaussianAdd { q, s }, 100_000);
    assert!(contour::within(&other, bounds.lower, 1e-10).unwrap());
}

#[test]
fn splitting_the_steps_changes_nothing() {
    for pair in [
        DominatingPair::GaussianRemove { q: 0.02, s: 1.2 },
        DominatingPair::GaussianSubstitute { q: 0.1, s: 0.8 },
        DominatingPair::GaussianFixed { q: 0.05, s: 1.5 },
    ] {
        let whole = contour::epsilon(&once(pair.clone(), 1000), 1e-6).unwrap();
        let parts = vec![(pair.clone(), steps(300)), (pair.clone(), steps(1)), (pair.clone(), steps(699))];
        assert!(whole.intersects(&contour::epsilon(&parts, 1e-6).unwrap()), "{pair:?}");
    }
}

#[test]
fn both_ends_of_epsilon_have_certain_signs() {
    for pair in [DominatingPair::GaussianRemove { q: 0.01, s: 0.7 }, DominatingPair::GaussianAdd { q: 0.2, s: 2.0 }] {
        for delta in [1e-3, 1e-9, 1e-18] {
            let composition = once(pair.clone(), 2000);
            let epsilon = contour::epsilon(&composition, delta).unwrap();
            assert!(contour::delta(&composition, epsilon.lower).unwrap().upper >= delta);
            assert!(contour::delta(&composition, epsilon.upper).unwrap().lower <= delta);
            assert!(contour::within(&composition, epsilon.upper * (1.0 + 1e-6), delta).unwrap());
            assert!(!contour::within(&composition, epsilon.lower * (1.0 - 1e-6), delta).unwrap());
        }
    }
}

/// More steps, more sampling, less noise or a smaller δ never cost less for certain.
#[test]
fn no_certified_contradiction_of_monotonicity_over_the_range() {
    let (mut certified, mut refused) = (0, 0);
    for q in [1e-5, 1e-3, 0.1, 0.9] {
        for s in [0.3, 1.0, 30.0, 1000.0] {
            let mut last: Option<Bounds> = None;
            for (t, delta) in [(10, 0.4), (100, 1e-3), (1000, 1e-6), (100_000, 1e-10), (10_000_000, 1e-20)] {
                let at = |q: f64, s: f64| contour::epsilon(&once(DominatingPair::GaussianRemove { q, s }, t), delta);
                let Ok(bounds) = at(q, s) else {
                    refused += 1;
                    continue;
                };
                certified += 1;
                assert!(bounds.lower <= bounds.upper && bounds.upper.is_finite());
                assert!(last.is_none_or(|before| before.lower <= bounds.upper), "{q} {s} {t}");
                for harder in [at(1.1 * q, s), at(q, 0.9 * s)].into_iter().flatten() {
                    assert!(bounds.lower <= harder.upper, "{q} {s} {t}: {bounds:?} {harder:?}");
                }
                last = Some(bounds);
            }
        }
    }
    println!("range: {certified} certified, {refused} refused");
    assert!(certified >= 60, "{certified} certified, {refused} refused");
}

#[test]
fn what_costs_nothing_costs_nothing() {
    let nothing: Composition = Vec::new();
    assert_eq!(contour::epsilon(&nothing, 1e-5).unwrap(), Bounds::ZERO);
    assert_eq!(contour::delta(&nothing, 0.0).unwrap(), Bounds::ZERO);
    assert!(contour::within(&nothing, 0.0, 0.0).unwrap());
    let little = once(DominatingPair::GaussianRemove { q: 1e-5, s: 2.0 }, 10);
    assert_eq!(contour::epsilon(&little, 1e-3).unwrap(), Bounds::ZERO);
    // The largest loss of the other direction is −T log(1−q).
    let bounded = once(DominatingPair::GaussianAdd { q: 0.5, s: 0.1 }, 10);
    assert_eq!(contour::delta(&bounded, 6.94).unwrap(), Bounds::ZERO);
    assert!(contour::within(&bounded, 6.94, 1e-30).unwrap());
}

#[test]
fn refusals_are_typed_and_say_what_to_do() {
    let coin = || DominatingPair::Finite(Atoms::from_outcomes([(0.6, 0.4), (0.4, 0.6)].into_iter()));
    let leaky = DominatingPair::Finite(Atoms::from_outcomes([(0.1, 0.0), (0.5, 0.6), (0.4, 0.4)].into_iter()));
    for composition in [
        once(coin(), 10_000),
        once(DominatingPair::GaussianRemove { q: 0.01, s: 1.0 }, 2),
        once(DominatingPair::Laplace { s: 10.0 }, 100),
        vec![(leaky, Steps::ONE), (DominatingPair::Gaussian { s: 1.0 }, steps(10))],
    ] {
        let error = contour::epsilon(&composition, 1e-5).unwrap_err();
        assert_eq!(error.code(), "P004", "{composition:?}");
        assert!(error.hint().is_some());
    }
    let typical = once(DominatingPair::GaussianRemove { q: 0.01, s: 1.0 }, 1000);
    assert_eq!(contour::delta(&typical, -1.0).unwrap_err().code(), "P001");
    assert_eq!(contour::epsilon(&typical, 1.5).unwrap_err().code(), "P001");
}

/// The noise multiplier at which q = 0.01, T = 10⁴ costs (1, 1e-5) is 3.812 816 830 7.
#[test]
fn a_calibrated_multiplier_is_decided_on_both_sides() {
    let at = |z: f64| once(DominatingPair::GaussianRemove { q: 0.01, s: z }, 10_000);
    assert!(contour::within(&at(3.812_816_832), 1.0, 1e-5).unwrap());
    assert!(!contour::within(&at(3.812_816_829), 1.0, 1e-5).unwrap());
}
