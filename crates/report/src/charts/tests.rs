//! Charts of made-up cells and runs.

use super::*;
use inference::score::Score;

fn cell(row: &str, column: &str, ours: f64) -> Cell {
    Cell {
        row: row.into(),
        column: column.into(),
        metric: "accuracy",
        paper: None,
        seeds: 5,
        ours,
        sd: 0.01,
        median: ours,
        low: ours,
        high: ours,
        quarter: ours,
        three_quarters: ours,
        epsilon: None,
        messages: 1.0,
        agreement: None,
        why: None,
    }
}

fn point(round: u64, natural: [f64; 2]) -> CurvePoint {
    CurvePoint {
        round,
        messages: round,
        epsilon: Some(2.0 * round as f64),
        scores: std::iter::empty::<(&'static Score, f64)>().collect(),
        kl: Some(0.5 / (round + 1) as f64),
        natural: Some(natural),
        mean_error: None,
        variance_error: None,
    }
}

/// Two seeds of one method: q has half the exact precision, and the exact mean.
fn traced() -> Vec<Traced> {
    let parameter = |seed, truth| OneParameter { seed, truth: Some(truth), exact: [8.0, 16.0], served: [4.0, 8.0] };
    let curve = |seed| Curve { seed, points: vec![point(0, [0.2, 0.0]), point(3, [3.0, 5.0]), point(6, [4.0, 8.0])] };
    vec![Traced {
        method: "C < 5".into(),
        column: "all".into(),
        curves: vec![curve(1), curve(2)],
        kl: vec![0.25, 0.5],
        parameter: vec![parameter(1, 2.0), parameter(2, -1.0)],
        draws: Vec::new(),
    }]
}

fn runs(quantity: Quantity, seeds: &[u64]) -> RunChart {
    RunChart {
        along: "round".into(),
        quantity,
        methods: vec!["C < 5".into(), "left out".into()],
        column: "all".into(),
        seeds: seeds.to_vec(),
        epsilon: None,
    }
}

#[test]
fn a_heat_map_shows_one_method_less_another_in_percentage_points() {
    let map = Chart::HeatMap(HeatChart {
        along: "ρ".into(),
        up: "κ".into(),
        score: FigureScore::HeldOut(Score::named("accuracy").unwrap()),
        method: "a".into(),
        minus: Some("b".into()),
        cells: vec![(0.0, 0.5, "x".into()), (0.9, 0.5, "y".into()), (0.9, -1.5, "not run".into())],
    });
    let cells = [cell("a", "x", 0.85), cell("b", "x", 0.80), cell("a", "y", 0.80), cell("b", "y", 0.81)];
    let html = charts(&[map], &cells, &[]);
    assert!(html.contains("Held-out accuracy: a minus b, percentage points"), "{html}");
    assert!(
        html.contains("+5.0 at ρ 0, κ 0.5; -1.0 at ρ 0.9, κ 0.5.") && html.contains("Differences of means"),
        "{html}"
    );
    assert_eq!(html.matches("fill-opacity").count(), 2, "a column without cells is blank: {html}");
}

#[test]
fn natural_parameters_run_along_rounds_to_the_exact_posteriors() {
    let html = charts(&[Chart::Rounds(runs(Quantity::Precision, &[1, 2, 9]))], &[], &traced());
    assert!(html.contains("Precision of q by rounds<") && html.contains("seed 1: θ = 2.00"), "{html}");
    assert_eq!(html.matches("<figure>").count(), 2, "a seed that was not run has no panel: {html}");
    assert!(html.contains("C &lt; 5 ends at 4.000; exact posterior ends at 8.000."), "{html}");
    let second = charts(&[Chart::Rounds(runs(Quantity::PrecisionMean, &[1]))], &[], &traced());
    assert!(second.contains("C &lt; 5 ends at 8.000; exact posterior ends at 16.000."), "{second}");
    let kl = charts(&[Chart::Rounds(runs(Quantity::Kl, &[1]))], &[], &traced());
    assert!(kl.contains("C &lt; 5 ends at 0.071.") && !kl.contains("exact posterior ends"), "{kl}");
}

#[test]
fn an_upright_line_stands_where_an_epsilon_is_spent() {
    let asked = |epsilon| RunChart { epsilon: Some(epsilon), ..runs(Quantity::Precision, &[1]) };
    let plot = along(&asked(5.0), 1, &traced()).unwrap();
    let line = plot.series.last().unwrap();
    assert_eq!((line.name.as_str(), line.points.as_slice()), ("ε = 5 spent", [(3.0, 0.2), (3.0, 8.0)].as_slice()));
    let never = along(&asked(50.0), 1, &traced()).unwrap();
    assert_eq!(never.series.last().unwrap().name, EXACT);
}

/// ∫ density = 1, its peak is at the mean, and q's is lower and wider by √2.
#[test]
fn densities_are_those_of_the_averaged_natural_parameters() {
    let plot = densities(&runs(Quantity::Precision, &[2]), 2, &traced()).unwrap();
    assert_eq!(plot.title, "seed 2: θ = -1.00");
    let [exact, q] = plot.series.as_slice() else { panic!("{:?}", plot.series.len()) };
    for series in [exact, q] {
        let step = series.points[1].0 - series.points[0].0;
        let area: f64 = series.points.iter().map(|point| point.1 * step).sum();
        assert!((area - 1.0).abs() < 1e-3, "{}: {area}", series.name);
        let peak = series.points.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!((peak.0 - 2.0).abs() <= step, "{peak:?}");
    }
    let height = |series: &Series| series.points.iter().map(|point| point.1).fold(0.0, f64::max);
    assert!((height(exact) / height(q) - 2_f64.sqrt()).abs() < 1e-2);
    let html = charts(&[Chart::Posteriors(runs(Quantity::Precision, &[1, 2]))], &[], &traced());
    assert!(html.contains("Densities of single runs<") && html.matches("<figure>").count() == 2, "{html}");
    let mut two = traced();
    two.push(Traced { column: "other".into(), ..two[0].clone() });
    let named = charts(&[Chart::Posteriors(runs(Quantity::Precision, &[1]))], &[], &two);
    assert!(named.contains("Densities of single runs: all"), "of several columns it is named: {named}");
    assert!(!html.contains("NaN"));
}

#[test]
fn every_seed_is_a_point_over_its_coefficient() {
    let ratio = charts(&[Chart::Seeds(runs(Quantity::PrecisionRatio, &[]))], &[], &traced());
    assert!(ratio.contains("C &lt; 5: 2 points from 0.500 to 0.500."), "{ratio}");
    assert!(ratio.contains("as precise as the exact posterior"), "{ratio}");
    let kl = charts(&[Chart::Seeds(runs(Quantity::Kl, &[]))], &[], &traced());
    assert!(kl.contains("C &lt; 5: 2 points from 0.250 to 0.500.") && !kl.contains("as precise as"), "{kl}");
    assert!(charts(&[Chart::Seeds(runs(Quantity::Kl, &[]))], &[], &[]).is_empty(), "nothing without runs");
}

#[test]
fn draws_of_every_method_have_a_panel_with_the_same_axes() {
    let of = |method: &str, draws| Traced { method: method.into(), draws, ..traced()[0].clone() };
    let runs = [of("a", vec![(0.0, 1.0), (2.0, 3.0)]), of("b < c", vec![(-1.0, 9.0)]), of("none", Vec::new())];
    let methods = ["b < c", "a", "none", "left out"].map(str::to_owned).to_vec();
    let asked = DrawsChart { along: "θ₁".into(), up: "θ₂".into(), methods, column: "all".into() };
    let html = charts(&[Chart::Draws(asked.clone())], &[], &runs);
    assert!(html.contains("Draws of θ₁ and θ₂<") && html.contains("b &lt; c: 1 points from 9.000 to 9.000."), "{html}");
    assert_eq!(html.matches("<figure>").count(), 2, "a method that drew nothing has no panel: {html}");
    assert!(charts(&[Chart::Draws(DrawsChart { column: "other".into(), ..asked })], &[], &runs).is_empty());
}
