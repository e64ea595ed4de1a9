//! Noise-aware levels: every stage against the NumPy prototype, and coverage of the whole method on one design.

use crate::common::levels::{Inputs, Study};
use inference::PriorTerm;
use inference::algorithm::levels::{
    CentredInputs, Doubts, Effort, Evidence, FirstLook, InputBelief, InputDesign, InputSummary, LEVELS, LevelPlan,
    LevelReadout, PriorPrecision, PublicNumbers, level_bound, second_look_bound, solve,
};
use privacy::Adjacency;
use serde_json::Value;

/// Numbers of the prototype, with their origin.
const VECTORS: &str = include_str!("vectors/rule_d.json");
/// Rounding of the file, and rounding errors of two eigenvalue solvers.
const EXACT: f64 = 1e-9;
/// The same where steps end by a rule: they end at the same step, from points that differ by rounding.
const SOLVED: f64 = 1e-7;

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn places(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

/// Largest difference, in units of the largest expected number.
fn assert_near(what: &str, found: &[f64], expected: &Value, tolerance: f64) {
    let expected = list(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-12_f64, |most, v| most.max(v.abs()));
    let off = found.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(off <= tolerance * size, "{what}: {found:?}, expected {expected:?}");
}

/// One problem of the file, read up to the belief.
struct Problem {
    given: Value,
    design: InputDesign,
    rows: f64,
    summary: InputSummary,
    inputs: CentredInputs,
    belief: InputBelief,
    prior: PriorTerm,
}

impl Problem {
    fn all() -> Vec<Self> {
        let file: Value = serde_json::from_str(VECTORS).unwrap();
        file["problems"].as_array().unwrap().iter().map(Self::read).collect()
    }

    fn read(given: &Value) -> Self {
        let blocks = given["blocks"].as_array().unwrap().iter().map(places).map(|b| b[0]..b[1]).collect();
        let numbers = given["numbers"].as_u64().unwrap() as usize;
        let design = InputDesign::new(numbers, places(&given["flags"]), blocks).unwrap();
        let rows = given["rows"].as_f64().unwrap();
        let sum = |stage: &str| (list(&given[stage]["sum"]), given[stage]["deviation"].as_f64().unwrap());
        let (first, deviation) = sum("first");
        let summary = FirstLook::new(&design, Adjacency::Substitute).read(&first, deviation, rows).unwrap();
        let inputs = summary.centred();
        let (second, deviation) = sum("second");
        let belief = InputBelief::unweighted(&summary, &inputs, &second, deviation).unwrap();
        let precisions = vec![given["prior"].as_f64().unwrap(); design.width()];
        let prior = PriorTerm::independent(vec![0.0; design.width()], precisions).unwrap();
        Self { given: given.clone(), design, rows, summary, inputs, belief, prior }
    }

    fn readout(&self) -> LevelReadout<'_> {
        LevelReadout { design: &self.design, inputs: &self.inputs, belief: &self.belief, prior: &self.prior }
    }

    /// All levels, each at the prototype's point.
    fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        for level in self.given["levels"].as_array().unwrap() {
            let (point, sum) = (list(&level["point"]), list(&level["sum"]));
            evidence.add(&self.inputs, self.rows, &point, &sum, level["deviation"].as_f64().unwrap()).unwrap();
        }
        evidence
    }
}

#[test]
fn looks_and_beliefs_are_those_of_the_prototype() {
    for problem in Problem::all() {
        let given = &problem.given;
        assert_near("centre", problem.summary.centre(), &given["first"]["centre"], EXACT);
        assert_near("variances", &problem.summary.input_variances(), &given["first"]["variances"], EXACT);
        assert_near("scales", problem.inputs.scales(), &given["scales"], 0.0);
        assert!((problem.inputs.expected_norm() / given["norm"].as_f64().unwrap() - 1.0).abs() < EXACT);
        let (belief, expected) = (&problem.belief, &given["belief"]);
        assert!((belief.correlation_variance() / expected["tau"].as_f64().unwrap() - 1.0).abs() < EXACT);
        assert_near("C", belief.covariance(), &expected["covariance"], EXACT);
        assert_near("V", belief.variance(), &expected["variance"], EXACT);
        let first = list(&given["normals"][0]);
        let drawn = belief.draw(&first).unwrap();
        let sizes: Vec<f64> = drawn.sizes().iter().map(|size| size / problem.rows).collect();
        let mut expected: Vec<f64> =
            (0..problem.design.inputs()).map(|j| given["draw"][j * (j + 3) / 2].as_f64().unwrap()).collect();
        expected.push(1.0);
        assert_near("draw", &sizes, &Value::from(expected), EXACT);
    }
}

#[test]
fn shares_are_those_of_the_prototype_away_from_its_choice_by_data() {
    for problem in Problem::all() {
        let [sources, mu] = ["sources", "mu"].map(|key| problem.given[key].as_f64().unwrap());
        let public = PublicNumbers { rows: problem.rows, sources, mu };
        let plan = LevelPlan::with_first(LevelPlan::first_of(&problem.design, public));
        let expected: Vec<f64> =
            problem.given["levels"].as_array().unwrap().iter().map(|l| l["share"].as_f64().unwrap()).collect();
        assert_near("shares", &plan.levels, &Value::from(expected), EXACT);
        let bounds =
            [FirstLook::new(&problem.design, Adjacency::Substitute).bound(), second_look_bound(&problem.design)];
        for (stage, bound) in ["first", "second"].into_iter().zip(bounds) {
            let deviation = bound.sensitivity(Adjacency::Substitute) * sources.sqrt() / (mu * plan.first_look.sqrt());
            assert!((deviation / problem.given[stage]["deviation"].as_f64().unwrap() - 1.0).abs() < EXACT, "{stage}");
        }
        let deviation = level_bound(&problem.design).sensitivity(Adjacency::Substitute) / (mu * plan.levels[7].sqrt())
            * sources.sqrt();
        assert!((deviation / problem.given["levels"][7]["deviation"].as_f64().unwrap() - 1.0).abs() < EXACT);
    }
}

#[test]
fn scores_slopes_and_one_solution_are_those_of_the_prototype() {
    for problem in Problem::all() {
        let given = &problem.given;
        let (mean, last) = (problem.belief.mean(), list(&given["last"]));
        let at = mean.at(&last);
        assert_near("G", &at.score(), &given["moments"]["score"], EXACT);
        assert_near("H", &at.slope(&mean), &given["moments"]["slope"], EXACT);
        assert!((at.bound() / given["moments"]["bound"].as_f64().unwrap() - 1.0).abs() < EXACT);
        let prior = PriorPrecision::new(&problem.prior.diagonal(), problem.inputs.centre());
        let evidence = problem.evidence();
        let one =
            solve(&mean, Some(&problem.belief), evidence.levels(), &prior, &last, Effort::full(Doubts::NONE)).unwrap();
        assert_near("point", &one.point, &given["one"]["point"], SOLVED);
        assert_near("covariance", &one.covariance, &given["one"]["covariance"], SOLVED);
    }
}

#[test]
fn levels_move_as_those_of_the_prototype() {
    for problem in Problem::all() {
        let (readout, levels) = (problem.readout(), problem.given["levels"].as_array().unwrap());
        let (mut evidence, mut next) = (Evidence::default(), readout.start());
        for level in levels {
            assert_near("point", &next.point, &level["point"], SOLVED);
            let (sum, deviation) = (list(&level["sum"]), level["deviation"].as_f64().unwrap());
            evidence.add(&problem.inputs, problem.rows, &next.point, &sum, deviation).unwrap();
            next = readout.advance(&evidence, &next).unwrap().0;
            assert_near("fitted prior", &next.precision, &level["precision"], SOLVED);
        }
        assert_near("last point", &next.point, &problem.given["last"], SOLVED);
        assert_eq!(evidence.len(), LEVELS);
    }
}

#[test]
fn posteriors_are_those_of_the_prototype_for_the_same_draws() {
    for problem in Problem::all() {
        let given = &problem.given;
        let normals: Vec<Vec<f64>> = given["normals"].as_array().unwrap().iter().map(list).collect();
        let draws: Vec<_> = normals.iter().map(|normals| problem.belief.draw(normals).unwrap()).collect();
        let (stated, fitted) =
            problem.readout().posteriors(&problem.evidence(), &list(&given["last"]), &draws).unwrap();
        assert_near("mean", &stated.mean, &given["stated"]["mean"], SOLVED);
        assert_near("covariance", &stated.covariance, &given["stated"]["covariance"], SOLVED);
        assert_near("mean of the fitted", &fitted.mean, &given["fitted"]["mean"], SOLVED);
        assert_near("covariance of the fitted", &fitted.covariance, &given["fitted"]["covariance"], SOLVED);
    }
}

#[test]
fn draws_depend_on_the_seed_alone_and_sums_that_do_not_fit_are_refused() {
    let problem = Problem::all().remove(1);
    let draws = |seed: u8| problem.belief.draws([seed; 32], 2);
    assert!(draws(1) == draws(1) && draws(1) != draws(2));
    let mut evidence = Evidence::default();
    let mut sum = vec![1.0; problem.design.width() + 1];
    let zero = vec![0.0; problem.design.width()];
    assert!(evidence.add(&problem.inputs, 10.0, &zero, &sum[1..], 1.0).is_none());
    sum[3] = f64::NAN;
    assert!(evidence.add(&problem.inputs, 10.0, &zero, &sum, 1.0).is_none() && evidence.is_empty());
    assert!(InputBelief::new(&problem.summary, &problem.inputs, &sum, 1.0).is_none());
}

/// 20 data sets of 5,000 rows and 5 inputs at ε = 1 (μ = .268 at δ = 1e-5), coefficients drawn from the prior.
///
/// Of 120 intervals 90 % hold the true coefficient if they are right; the band is wider than three standard errors.
#[test]
fn nine_in_ten_intervals_hold_the_coefficient() {
    let study = Study { epsilon: 1.0, ..Study::of(Inputs::Correlated(0.5), 5000, 5) };
    let (mut held, mut squares) = (0, 0.0);
    for replicate in 0..20 {
        let made = study.made([replicate; 32]);
        let posterior = made.run(&study).posterior(&[replicate; 32]).unwrap();
        for (j, truth) in made.theta.iter().enumerate() {
            let off = posterior.mean[j] - truth;
            held += usize::from(off.abs() < 1.645 * posterior.covariance[j * (j + 3) / 2].sqrt());
            squares += off * off / 120.0;
        }
    }
    let (coverage, error) = (f64::from(held as u32) / 120.0, f64::sqrt(squares));
    assert!((0.8..0.98).contains(&coverage), "{coverage} of the intervals hold, error {error}");
    assert!(error < 0.07, "error of coefficients {error}, coverage {coverage}");
}
